/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's half of a trial: starts the child with one driver to see, and
 * reads what it told. */
#include "doctor/driver_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/os/paths.h"
#include "cli/subprocess.h"

/* A driver that speaks now and then comes to an end, too, or is stuck. */
static const double longest_silences = 5;

/* -- lines into facts ----------------------------------------------------- */

static void put(char **field, const char *text)
{
    free(*field);
    *field = xl__strdup(text);
}

static void read_step(struct trial *t, char *const *f)
{
    put(&t->step, f[0]);
}

static void read_loader(struct trial *t, char *const *f)
{
    struct xl__str text = {0};
    xl__str_printf(&text, "%s %s", f[0], f[1]);
    free(t->loader);
    t->loader = xl__str_steal(&text);
}

static void read_unloadable(struct trial *t, char *const *f)
{
    put(&t->load_error, f[0]);
}

static void read_platform(struct trial *t, char *const *f)
{
    if (!xl__grow(&t->platforms, &t->platforms_cap, t->n_platforms + 1,
                  sizeof *t->platforms))
        return;
    t->platforms[t->n_platforms++] = (struct trial_platform){
        xl__strdup(f[0]), xl__strdup(f[1]), (unsigned)strtoul(f[2], NULL, 10)};
}

static void read_device(struct trial *t, char *const *f)
{
    if (!xl__grow(&t->devices, &t->devices_cap, t->n_devices + 1,
                  sizeof *t->devices))
        return;
    t->devices[t->n_devices++] =
        (struct trial_device){.index = (unsigned)strtoul(f[0], NULL, 10),
                              .name = xl__strdup(f[1]),
                              .platform = xl__strdup(f[2]),
                              .driver = xl__strdup(f[3]),
                              .cl_version = xl__strdup(f[4]),
                              .pci = xl__strdup(f[5]),
                              .type = xl__strdup(f[6])};
}

/* Both tell of the device that was told of last. */
static void read_works(struct trial *t, char *const *f)
{
    (void)f;
    if (t->n_devices > 0)
        t->devices[t->n_devices - 1].works = true;
}

static void read_fails(struct trial *t, char *const *f)
{
    if (t->n_devices > 0)
        put(&t->devices[t->n_devices - 1].story, f[1]);
}

static void read_refusal(struct trial *t, char *const *f)
{
    put(&t->refusal, f[0]);
}

static void read_done(struct trial *t, char *const *f)
{
    (void)f;
    t->is_done = true;
}

static const struct {
    const char *kind;
    void (*read)(struct trial *t, char *const *fields);
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

/* Drivers leave blanks behind their names. */
static void trim(char *text)
{
    for (size_t len = strlen(text); len > 0 && text[len - 1] == ' '; len--)
        text[len - 1] = 0;
}

/* Cut at its tabs; fields that are not there are empty. */
static void read_line(struct trial *t, char *line)
{
    static char empty[] = "";
    size_t n_mark = strlen(CHILD_LINE_MARK);
    char *fields[CHILD_LINE_MOST_FIELDS];
    if (strncmp(line, CHILD_LINE_MARK, n_mark) != 0) {
        if (line[strspn(line, " \t\r")])
            put(&t->words, line);
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
        trim(fields[i]);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            kinds[i].read(t, fields);
}

static void read_output(struct trial *t, char *at)
{
    while (at && *at) {
        char *end = at + strcspn(at, "\n");
        bool is_last = !*end;
        *end = 0;
        read_line(t, at);
        at = is_last ? end : end + 1;
    }
}

/* -- the child ------------------------------------------------------------ */

/* A folder with one .icd file is what every loader understands. */
static char *folder_of(const struct trial_of *of)
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

void trial_run(const struct trial_of *of, double silence_s,
               bool (*stop)(void *arg), void *stop_arg, struct trial *out)
{
    static const char *const args[] = {"doctor", "--quiet", NULL};
    struct xl__str mark = {0}, vendors = {0}, names = {0};
    struct child_result result;
    char *folder = NULL;
    *out = (struct trial){.end = CHILD_NOT_RUN};
    bool is_alone = of->library || of->nothing;
    if (is_alone && !(folder = folder_of(of)))
        return;
    xl__str_printf(&mark, CHILD_LIBRARY_VARIABLE "=%s",
                   of->library ? of->library : "");
    xl__str_printf(&vendors, "OCL_ICD_VENDORS=%s", folder ? folder : "");
    /* Older loaders know only this one, others only the folder. */
    xl__str_printf(&names, "OCL_ICD_FILENAMES=%s",
                   of->library ? of->library : "");
    const char *const variables[] = {
        xl__str_text(&mark), is_alone ? xl__str_text(&vendors) : NULL,
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

bool trial_failure(const struct trial *t, struct xl__str *story)
{
    const char *step = t->step ? t->step : "being started";
    switch (t->end) {
    case CHILD_EXITED:
        if (t->is_done && t->code == 0)
            return false;
        xl__str_printf(story, "ended the program (exit code %d) while %s",
                       t->code, step);
        break;
    case CHILD_SIGNALLED:
        xl__str_printf(story, "crashed (%s) while %s",
                       child_signal_name(t->code),
                       t->is_done ? "being unloaded" : step);
        break;
    case CHILD_HUNG:
        xl__str_printf(story,
                       "hung: killed after %.0f s without a word, "
                       "while %s",
                       t->took_s, t->is_done ? "being unloaded" : step);
        break;
    case CHILD_STOPPED:
        xl__str_add(story, "was not tried to its end: interrupted");
        break;
    case CHILD_NOT_RUN:
        xl__str_add(story, "was not tried: no child process can be started "
                           "here (it is written for Linux and macOS)");
        break;
    }
    if (t->words && t->end != CHILD_STOPPED)
        xl__str_printf(story, "; its last words: %s", t->words);
    return true;
}

void trial_clear(struct trial *t)
{
    for (size_t i = 0; i < t->n_platforms; i++) {
        free(t->platforms[i].name);
        free(t->platforms[i].version);
    }
    for (size_t i = 0; i < t->n_devices; i++) {
        struct trial_device *d = &t->devices[i];
        char *const texts[] = {d->name, d->platform, d->driver, d->cl_version,
                               d->pci,  d->type,     d->story};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            free(texts[k]);
    }
    free(t->platforms);
    free(t->devices);
    char *const texts[] = {t->step, t->words, t->loader, t->load_error,
                           t->refusal};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
        free(texts[k]);
    *t = (struct trial){.end = CHILD_NOT_RUN};
}
