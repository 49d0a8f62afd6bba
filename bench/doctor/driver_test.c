/* SPDX-License-Identifier: Apache-2.0 */
/* Tests OpenCL drivers in a child process of clbench.
 *
 *     parent                                child
 *     driver_test_run() -- starts -->       driver_test_child_main()
 *       environment: CLBENCH_DOCTOR_CHILD,    loads the library, lists
 * platforms OCL_ICD_VENDORS with one .icd file    and devices, runs a kernel
 * on each read_output()   <-- lines on stdout --  "@clbench
 * device\t0\tname..."
 *
 * The child writes each line before the step that it announces and flushes it,
 * so that the parent reports the step during which a driver crashed or hung.
 * The mark at the start of a line separates it from the output of the driver
 * itself. */
#include "doctor/driver_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "base/alloc.h"
#include "base/os/files.h"
#include "base/os/paths.h"
#include "cli/console.h"
#include "cli/subprocess.h"
#include "doctor/loader.h"
#include "results/result.h"

/* A driver that writes output now and then must also end within this many
 * silence limits. */
static const double longest_silences = 5;

/* -- the parent: reading lines -------------------------------------------- */

static void set_text(char **field, const char *text)
{
    free(*field);
    *field = xl__strdup(text);
}

static void read_step(struct driver_test *t, char *const *f)
{
    set_text(&t->step, f[0]);
}

static void read_loader(struct driver_test *t, char *const *f)
{
    struct xl__str text = {0};
    xl__str_printf(&text, "%s %s", f[0], f[1]);
    free(t->loader);
    t->loader = xl__str_steal(&text);
}

static void read_unloadable(struct driver_test *t, char *const *f)
{
    set_text(&t->load_error, f[0]);
}

static void read_platform(struct driver_test *t, char *const *f)
{
    if (!xl__grow(&t->platforms, &t->platforms_cap, t->n_platforms + 1,
                  sizeof *t->platforms))
        return;
    t->platforms[t->n_platforms++] = (struct driver_test_platform){
        xl__strdup(f[0]), xl__strdup(f[1]), (unsigned)strtoul(f[2], NULL, 10)};
}

static void read_device(struct driver_test *t, char *const *f)
{
    if (!xl__grow(&t->devices, &t->devices_cap, t->n_devices + 1,
                  sizeof *t->devices))
        return;
    t->devices[t->n_devices++] =
        (struct driver_test_device){.index = (unsigned)strtoul(f[0], NULL, 10),
                                    .name = xl__strdup(f[1]),
                                    .platform = xl__strdup(f[2]),
                                    .driver = xl__strdup(f[3]),
                                    .cl_version = xl__strdup(f[4]),
                                    .pci = xl__strdup(f[5]),
                                    .type = xl__strdup(f[6])};
}

/* Both refer to the last device that was listed. */
static void read_works(struct driver_test *t, char *const *f)
{
    (void)f;
    if (t->n_devices > 0)
        t->devices[t->n_devices - 1].works = true;
}

static void read_fails(struct driver_test *t, char *const *f)
{
    if (t->n_devices > 0)
        set_text(&t->devices[t->n_devices - 1].reason, f[1]);
}

static void read_refusal(struct driver_test *t, char *const *f)
{
    set_text(&t->refusal, f[0]);
}

static void read_done(struct driver_test *t, char *const *f)
{
    (void)f;
    t->is_done = true;
}

static const struct {
    const char *kind;
    void (*read)(struct driver_test *t, char *const *fields);
} kinds[] = {
    {CHILD_LINE_STEP, read_step},
    {CHILD_LINE_LOADER, read_loader},
    {CHILD_LINE_UNLOADABLE, read_unloadable},
    {CHILD_LINE_PLATFORM, read_platform},
    {CHILD_LINE_DEVICE, read_device},
    {CHILD_LINE_WORKS, read_works},
    {CHILD_LINE_FAILS, read_fails},
    {CHILD_LINE_REFUSAL, read_refusal},
    {CHILD_LINE_DONE, read_done},
};

/* Removes blanks at the end: some drivers pad their names. */
static void trim_end(char *text)
{
    for (size_t len = strlen(text); len > 0 && text[len - 1] == ' '; len--)
        text[len - 1] = 0;
}

/* Splits a line at its tabs; missing fields are empty. A line without the mark
 * is output of the driver. */
static void read_line(struct driver_test *t, char *line)
{
    static char empty[] = "";
    size_t n_mark = strlen(CHILD_LINE_MARK);
    char *fields[CHILD_LINE_MOST_FIELDS];
    if (strncmp(line, CHILD_LINE_MARK, n_mark) != 0) {
        if (line[strspn(line, " \t\r")])
            set_text(&t->last_line, line);
        return;
    }
    char *at = line + n_mark, *kind = at;
    for (size_t i = 0; i < CHILD_LINE_MOST_FIELDS; i++) {
        at += strcspn(at, "\t");
        fields[i] = *at ? at + 1 : empty;
        if (*at)
            *at++ = 0;
    }
    for (size_t i = 0; i < CHILD_LINE_MOST_FIELDS; i++)
        trim_end(fields[i]);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            kinds[i].read(t, fields);
}

/* Reads all lines of the child. */
static void read_output(struct driver_test *t, char *at)
{
    while (at && *at) {
        char *end = at + strcspn(at, "\n");
        bool is_last = !*end;
        *end = 0;
        read_line(t, at);
        at = is_last ? end : end + 1;
    }
}

/* -- the parent: starting the child --------------------------------------- */

/* Creates a folder with one .icd file, which every loader can read. NULL: it
 * cannot be created. */
static char *create_icd_folder(const struct driver_test_target *of)
{
    struct xl__str line = {0};
    char *folder = child_folder_make();
    char *file = folder ? xl__path_join(folder, "one.icd") : NULL;
    if (file && of->library) {
        xl__str_printf(&line, "%s\n", of->library);
        (void)xl__file_replace(file, xl__str_text(&line), line.len);
    }
    xl__str_clear(&line);
    free(file);
    return folder;
}

void driver_test_run(const struct driver_test_target *of, double silence_s,
                     bool (*stop)(void *arg), void *stop_arg,
                     struct driver_test *out)
{
    static const char *const args[] = {"doctor", "--quiet", NULL};
    struct xl__str mark = {0}, vendors = {0}, names = {0};
    struct child_result result;
    char *folder = NULL;
    *out = (struct driver_test){.end = CHILD_NOT_RUN};
    bool is_restricted = of->library || of->nothing;
    if (is_restricted && !(folder = create_icd_folder(of)))
        return;
    xl__str_printf(&mark, CHILD_LIBRARY_VARIABLE "=%s",
                   of->library ? of->library : "");
    xl__str_printf(&vendors, "OCL_ICD_VENDORS=%s", folder ? folder : "");
    /* Some loaders read only this variable, others only the folder. */
    xl__str_printf(&names, "OCL_ICD_FILENAMES=%s",
                   of->library ? of->library : "");
    const char *const variables[] = {
        xl__str_text(&mark), is_restricted ? xl__str_text(&vendors) : NULL,
        xl__str_text(&names), "OPENCL_VENDOR_PATH", NULL};
    const struct child_step step = {
        .args = args, .variables = variables, .silence_s = silence_s,
        .longest_s = longest_silences * silence_s, .stop = stop,
        .stop_arg = stop_arg};
    child_run(&step, &result);
    out->end = result.end;
    out->code = result.code;
    out->took_s = result.took_s;
    read_output(out, result.output.text);
    child_clear(&result);
    xl__str_clear(&mark);
    xl__str_clear(&vendors);
    xl__str_clear(&names);
    if (folder)
        child_folder_remove(folder);
    free(folder);
}

bool driver_test_failure(const struct driver_test *t, struct xl__str *reason)
{
    const char *step = t->step ? t->step : "being started";
    switch (t->end) {
    case CHILD_EXITED:
        if (t->is_done && t->code == 0)
            return false;
        xl__str_printf(reason, "ended the program (exit code %d) while %s",
                       t->code, step);
        break;
    case CHILD_SIGNALLED:
        xl__str_printf(reason, "crashed (%s) while %s",
                       child_signal_name(t->code),
                       t->is_done ? "being unloaded" : step);
        break;
    case CHILD_HUNG:
        xl__str_printf(reason,
                       "hung: killed after %.0f s without output "
                       "while %s",
                       t->took_s, t->is_done ? "being unloaded" : step);
        break;
    case CHILD_STOPPED:
        xl__str_add(reason, "was not tested to the end: interrupted");
        break;
    case CHILD_NOT_RUN:
        xl__str_add(reason, "was not tested: child processes are supported on "
                            "Linux and macOS only");
        break;
    }
    if (t->last_line && t->end != CHILD_STOPPED)
        xl__str_printf(reason, "; last line of its output: %s", t->last_line);
    return true;
}

void driver_test_clear(struct driver_test *t)
{
    for (size_t i = 0; i < t->n_platforms; i++) {
        free(t->platforms[i].name);
        free(t->platforms[i].version);
    }
    for (size_t i = 0; i < t->n_devices; i++) {
        struct driver_test_device *d = &t->devices[i];
        char *const texts[] = {d->name, d->platform, d->driver, d->cl_version,
                               d->pci,  d->type,     d->reason};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            free(texts[k]);
    }
    free(t->platforms);
    free(t->devices);
    char *const texts[] = {t->step, t->last_line, t->loader, t->load_error,
                           t->refusal};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        free(texts[k]);
    *t = (struct driver_test){.end = CHILD_NOT_RUN};
}

/* -- the child: writing lines --------------------------------------------- */

/* Writes a line; NULL ends the list of fields. */
static void write_line(const char *kind, ...)
{
    struct xl__str line = {0};
    va_list fields;
    va_start(fields, kind);
    xl__str_printf(&line, "\n%s%s", CHILD_LINE_MARK, kind);
    for (const char *f; (f = va_arg(fields, const char *)) != NULL;) {
        xl__str_add(&line, "\t");
        text_escape(&line, f);
    }
    va_end(fields);
    fprintf(stdout, "%s\n", xl__str_text(&line));
    (void)fflush(stdout);
    xl__str_clear(&line);
}

/* -- the loader ----------------------------------------------------------- */

/* Extension cl_loader_info: queries for name and version of the loader. */
enum { LOADER_VERSION = 2, LOADER_NAME = 3 };
typedef cl_int (*loader_info)(cl_uint what, size_t cap, void *out,
                              size_t *len);
typedef void *(*function_address)(const char *name);

/* Writes name and version of the loader, if it has the extension. */
static void write_loader(void)
{
    char name[128] = "", version[64] = "";
    char *path = icd_loader_path();
    void *loader = path ? xl__dlopen(path) : NULL;
    free(path);
    if (!loader)
        return;
    void *found = xl__dlsym(loader, "clGetICDLoaderInfoOCLICD");
    void *by_name = xl__dlsym(loader, "clGetExtensionFunctionAddress");
    if (!found && by_name) {
        function_address get_address;
        memcpy(&get_address, &by_name, sizeof get_address);
        found = get_address("clGetICDLoaderInfoOCLICD");
    }
    if (!found)
        return;
    loader_info info;
    memcpy(&info, &found, sizeof info);
    if (info(LOADER_NAME, sizeof name - 1, name, NULL) == CL_SUCCESS &&
        info(LOADER_VERSION, sizeof version - 1, version, NULL) == CL_SUCCESS)
        write_line(CHILD_LINE_LOADER, name, version, NULL);
}

/* -- platforms ------------------------------------------------------------ */

/* Writes a platform and its number of devices. */
static void write_platform(cl_platform_id platform)
{
    enum { CAP = 512 };
    char name[CAP] = "", version[CAP] = "", count[32];
    cl_uint n = 0;
    (void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, CAP - 1, name, NULL);
    (void)clGetPlatformInfo(platform, CL_PLATFORM_VERSION, CAP - 1, version,
                            NULL);
    write_line(CHILD_LINE_STEP, "listing its devices", NULL);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n) !=
        CL_SUCCESS)
        n = 0;
    snprintf(count, sizeof count, "%u", n);
    write_line(CHILD_LINE_PLATFORM, name, version, count, NULL);
}

static void write_platforms(void)
{
    cl_uint n = 0;
    if (clGetPlatformIDs(0, NULL, &n) != CL_SUCCESS || n == 0)
        return;
    cl_platform_id *list = xl__calloc(n, sizeof(cl_platform_id));
    if (list && clGetPlatformIDs(n, list, &n) == CL_SUCCESS)
        for (cl_uint i = 0; i < n; i++)
            write_platform(list[i]);
    free(list);
}

/* -- devices -------------------------------------------------------------- */

static const char *device_type(const xl_device *dev)
{
    static const char *const types[][2] = {{"is_gpu", "GPU"},
                                           {"is_accelerator", "accelerator"},
                                           {"is_cpu", "CPU"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        xl_fact fact;
        if (xl_device_fact(dev, types[i][0], XL_UNKNOWN, &fact) == XL_OK &&
            fact.value > 0)
            return types[i][1];
    }
    return "device";
}

/* A value that uninitialised memory is unlikely to hold; the number of words
 * makes the last work-group partial. */
static const cl_uint fill_value = 0x5eedc0deu;
enum { FILL_WORDS = 1000 };

/* Compiles and runs a fill kernel of the library, and checks its result. */
static xl_status test_kernel(xl_queue *q)
{
    cl_uint got[FILL_WORDS] = {0};
    cl_mem mem = NULL;
    xl_status status = xl_buffer_create(q, sizeof got, &mem);
    if (status == XL_OK)
        status = xl_buffer_fill(q, mem, 0, fill_value, FILL_WORDS);
    if (status == XL_OK)
        status = xl_buffer_read(q, mem, 0, got, sizeof got);
    for (size_t i = 0; status == XL_OK && i < FILL_WORDS; i++)
        if (got[i] != fill_value)
            status = XL_WRONG_RESULT;
    if (mem)
        (void)clReleaseMemObject(mem);
    return status;
}

/* Writes a device, tests it and writes the result. */
static void test_device(xl_lib *lib, xl_device *dev)
{
    char index[32];
    struct xl__str step = {0};
    const char *name = device_fact_text(dev, "name", "?");
    xl_queue *q = NULL;
    snprintf(index, sizeof index, "%u", xl_device_index(dev));
    write_line(CHILD_LINE_DEVICE, index, name,
               device_fact_text(dev, "platform", ""),
               device_fact_text(dev, "driver", ""),
               device_fact_text(dev, "cl_version", ""),
               device_fact_text(dev, "pci", ""), device_type(dev), NULL);
    xl__str_printf(&step, "compiling and running a kernel on %s", name);
    write_line(CHILD_LINE_STEP, xl__str_text(&step), NULL);
    xl__str_clear(&step);
    xl_status status = xl_queue_create(lib, dev, &q);
    const char *reason = status == XL_OK ? "" : xl_lib_error(lib);
    if (status == XL_OK) {
        status = test_kernel(q);
        reason = xl_error_detail(q);
    }
    if (status == XL_OK)
        write_line(CHILD_LINE_WORKS, index, NULL);
    else
        write_line(CHILD_LINE_FAILS, index,
                   *reason ? reason : xl_status_text(status), NULL);
    xl_queue_destroy(q);
}

/* Tests all devices of the library. */
static void test_devices(void)
{
    /* No program cache, so that the compiler of the driver runs. */
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = ""};
    xl_lib *lib = NULL;
    unsigned n = 0;
    if (xl_open(&options, &lib) != XL_OK) {
        write_line(CHILD_LINE_REFUSAL, "out of memory", NULL);
        return;
    }
    if (xl_device_count(lib, &n) != XL_OK)
        write_line(CHILD_LINE_REFUSAL, xl_lib_error(lib), NULL);
    for (unsigned i = 0; i < n; i++)
        test_device(lib, xl_device_at(lib, i));
    write_line(CHILD_LINE_STEP, "ending", NULL);
    xl_close(lib);
}

bool driver_test_is_child(void)
{
    return getenv(CHILD_LIBRARY_VARIABLE) != NULL;
}

void driver_test_child_main(void)
{
    const char *library = getenv(CHILD_LIBRARY_VARIABLE);
    struct xl__str why = {0};
    write_line(CHILD_LINE_STEP, "being loaded", NULL);
    if (library && *library && !child_loads(library, &why)) {
        write_line(CHILD_LINE_UNLOADABLE, xl__str_text(&why), NULL);
        xl__str_clear(&why);
        write_line(CHILD_LINE_DONE, NULL);
        return;
    }
    write_line(CHILD_LINE_STEP, "being started by the loader", NULL);
    write_platforms();
    write_loader();
    write_line(CHILD_LINE_STEP, "being asked about its devices", NULL);
    test_devices();
    write_line(CHILD_LINE_DONE, NULL);
}
