/* SPDX-License-Identifier: Apache-2.0 */
/* The child's half of a trial. Each line starts with a mark, so that what
 * drivers print of their own is told apart; it is flushed before each step, so
 * that the parent knows where a driver died. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/crosslane.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "doctor/loader.h"
#include "cli/console.h"
#include "doctor/driver_test.h"
#include "cli/subprocess.h"
#include "results/result.h"

/* A line of fields; NULL ends them. */
static void tell(const char *kind, ...)
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

/* The extension by which loaders tell of themselves, cl_loader_info. */
enum { LOADER_VERSION = 2, LOADER_NAME = 3 };
typedef cl_int (*loader_info)(cl_uint what, size_t cap, void *out,
                              size_t *len);
typedef void *(*function_address)(const char *name);

static void tell_loader(void)
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
        function_address ask;
        memcpy(&ask, &by_name, sizeof ask);
        found = ask("clGetICDLoaderInfoOCLICD");
    }
    if (!found)
        return;
    loader_info info;
    memcpy(&info, &found, sizeof info);
    if (info(LOADER_NAME, sizeof name - 1, name, NULL) == CL_SUCCESS &&
        info(LOADER_VERSION, sizeof version - 1, version, NULL) == CL_SUCCESS)
        tell(CHILD_LINE_LOADER, name, version, NULL);
}

/* -- platforms ------------------------------------------------------------ */

static void tell_platform(cl_platform_id platform)
{
    enum { CAP = 512 };
    char name[CAP] = "", version[CAP] = "", count[32];
    cl_uint n = 0;
    (void)clGetPlatformInfo(platform, CL_PLATFORM_NAME, CAP - 1, name, NULL);
    (void)clGetPlatformInfo(platform, CL_PLATFORM_VERSION, CAP - 1, version,
                            NULL);
    tell(CHILD_LINE_STEP, "listing its devices", NULL);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n) !=
        CL_SUCCESS)
        n = 0;
    snprintf(count, sizeof count, "%u", n);
    tell(CHILD_LINE_PLATFORM, name, version, count, NULL);
}

static void tell_platforms(void)
{
    cl_uint n = 0;
    if (clGetPlatformIDs(0, NULL, &n) != CL_SUCCESS || n == 0)
        return;
    cl_platform_id *list = xl__calloc(n, sizeof(cl_platform_id));
    if (list && clGetPlatformIDs(n, list, &n) == CL_SUCCESS)
        for (cl_uint i = 0; i < n; i++)
            tell_platform(list[i]);
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

/* A word that no buffer holds by chance, as often as two odd groups need. */
static const cl_uint fill_word = 0x5eedc0deu;
enum { FILL_WORDS = 1000 };

/* Compile and run a kernel of the library's. */
static xl_status try_kernel(xl_queue *q)
{
    cl_uint got[FILL_WORDS] = {0};
    cl_mem mem = NULL;
    xl_status status = xl_buffer_create(q, sizeof got, &mem);
    if (status == XL_OK)
        status = xl_buffer_fill(q, mem, 0, fill_word, FILL_WORDS);
    if (status == XL_OK)
        status = xl_buffer_read(q, mem, 0, got, sizeof got);
    for (size_t i = 0; status == XL_OK && i < FILL_WORDS; i++)
        if (got[i] != fill_word)
            status = XL_WRONG_RESULT;
    if (mem)
        (void)clReleaseMemObject(mem);
    return status;
}

static void try_device(xl_lib *lib, xl_device *dev)
{
    char index[32];
    struct xl__str step = {0};
    const char *name = device_fact_text(dev, "name", "?");
    xl_queue *q = NULL;
    snprintf(index, sizeof index, "%u", xl_device_index(dev));
    tell(CHILD_LINE_DEVICE, index, name, device_fact_text(dev, "platform", ""),
         device_fact_text(dev, "driver", ""),
         device_fact_text(dev, "cl_version", ""),
         device_fact_text(dev, "pci", ""), device_type(dev), NULL);
    xl__str_printf(&step, "compiling and running a kernel on %s", name);
    tell(CHILD_LINE_STEP, xl__str_text(&step), NULL);
    xl__str_clear(&step);
    xl_status status = xl_queue_create(lib, dev, &q);
    const char *story = status == XL_OK ? "" : xl_lib_error(lib);
    if (status == XL_OK) {
        status = try_kernel(q);
        story = xl_error_detail(q);
    }
    if (status == XL_OK)
        tell(CHILD_LINE_WORKS, index, NULL);
    else
        tell(CHILD_LINE_FAILS, index, *story ? story : xl_status_text(status),
             NULL);
    xl_queue_destroy(q);
}

static void try_devices(void)
{
    /* No cache of ours: the driver's compiler is to be seen at work. */
    const xl_options options = {.cache_dir = ""};
    xl_lib *lib = NULL;
    unsigned n = 0;
    if (xl_open(&options, &lib) != XL_OK) {
        tell(CHILD_LINE_REFUSAL, "out of memory", NULL);
        return;
    }
    if (xl_device_count(lib, &n) != XL_OK)
        tell(CHILD_LINE_REFUSAL, xl_lib_error(lib), NULL);
    for (unsigned i = 0; i < n; i++)
        try_device(lib, xl_device_at(lib, i));
    tell(CHILD_LINE_STEP, "ending", NULL);
    xl_close(lib);
}

bool trial_is_child(void)
{
    return getenv(CHILD_LIBRARY_VARIABLE) != NULL;
}

void trial_be_child(void)
{
    const char *library = getenv(CHILD_LIBRARY_VARIABLE);
    struct xl__str why = {0};
    tell(CHILD_LINE_STEP, "being loaded", NULL);
    if (library && *library && !child_loads(library, &why)) {
        tell(CHILD_LINE_UNLOADABLE, xl__str_text(&why), NULL);
        xl__str_clear(&why);
        tell(CHILD_LINE_DONE, NULL);
        return;
    }
    tell(CHILD_LINE_STEP, "being started by the loader", NULL);
    tell_platforms();
    tell_loader();
    tell(CHILD_LINE_STEP, "being asked about its devices", NULL);
    try_devices();
    tell(CHILD_LINE_DONE, NULL);
}
