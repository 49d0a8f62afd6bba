/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a report but the host program. */
#include "verify/bug/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/os/files.h"
#include "cli/units.h"

/* -- programs --------------------------------------------------------------
 */

void bug_program_file(const struct bug *b, size_t program,
                      char out[BUG_NAME_CAP])
{
    const char *ending = b->call->program[program].binary ? "bin" : "cl";
    if (program == 0)
        snprintf(out, BUG_NAME_CAP, "kernel.%s", ending);
    else
        snprintf(out, BUG_NAME_CAP, "kernel_%zu.%s", program + 1, ending);
}

/* The next option, of *len bytes; NULL: there is none. */
static const char *next_option(const char **at, size_t *len)
{
    const char *option = *at + strspn(*at, " ");
    *len = strcspn(option, " ");
    *at = option + *len;
    return *len ? option : NULL;
}

static bool is_macro(const char *option, size_t len)
{
    return len > 2 && strncmp(option, "-D", 2) == 0;
}

void bug_program_options(const struct bug *b, size_t program,
                         struct xl__str *out)
{
    const struct recorded_program *p = &b->call->program[program];
    const char *at = p->options, *option;
    size_t len;
    while ((option = next_option(&at, &len)) != NULL)
        if (p->binary || !is_macro(option, len))
            xl__str_printf(out, "%s%.*s", out->len ? " " : "", (int)len,
                           option);
}

void bug_program_text(const struct bug *b, size_t program, struct xl__str *out)
{
    const struct recorded_program *p = &b->call->program[program];
    const char *at = p->options, *option;
    size_t len;
    if (p->binary) {
        xl__str_add_n(out, (const char *)p->binary, p->n_bytes);
        return;
    }
    while ((option = next_option(&at, &len)) != NULL) {
        const size_t name = strcspn(option, " =");
        if (!is_macro(option, len))
            continue;
        if (name < len)
            xl__str_printf(out, "#define %.*s %.*s\n", (int)name - 2,
                           option + 2, (int)(len - name - 1),
                           option + name + 1);
        else
            xl__str_printf(out, "#define %.*s 1\n", (int)len - 2, option + 2);
    }
    xl__str_add(out, p->source);
}

/* -- inputs and device -----------------------------------------------------
 */

static void add_inputs(const struct bug *b, struct xl__str *out)
{
    uint64_t word;
    for (size_t i = 0; i < b->call->n_buffers; i++) {
        const struct recorded_buffer *x = &b->call->buffer[i];
        if (!recorded_is_filled(x, &word))
            xl__str_add_n(out, (const char *)x->before, x->bytes);
    }
}

static void add_facts(const struct bug *b, struct xl__str *out)
{
    const char *name;
    char text[UNITS_CAP];
    for (unsigned i = 0; (name = xl_fact_name(i, NULL)) != NULL; i++) {
        xl_fact f;
        if (xl_device_fact(b->dev, name, XL_UNKNOWN, &f) != XL_OK ||
            f.source == XL_UNKNOWN)
            continue;
        xl__str_printf(out, "%s: ", name);
        if (f.kind == XL_FACT_TEXT)
            xl__str_add(out, f.text ? f.text : "-");
        else if (f.kind == XL_FACT_BOOL)
            xl__str_add(out, f.value > 0 ? "yes" : "no");
        for (unsigned k = 0; f.kind == XL_FACT_LIST && k < f.n_list; k++)
            xl__str_printf(out, "%s%.17g", k ? ", " : "", f.list[k]);
        if (f.kind == XL_FACT_NUMBER) {
            units_format(text, sizeof text, f.value, f.unit);
            xl__str_printf(out, "%.17g (%s)", f.value, text);
        }
        xl__str_printf(out, ", %s\n", xl_source_name(f.source));
    }
}

static void add_extensions(const struct bug *b, struct xl__str *out)
{
    enum { MOST = 16384 };
    char text[MOST] = "";
    if (clGetDeviceInfo(xl_device_cl(b->dev), CL_DEVICE_EXTENSIONS,
                        sizeof text, text, NULL) == CL_SUCCESS)
        xl__str_printf(out, "extensions: %s\n", text);
}

static const char *fact_text(const struct bug *b, const char *name)
{
    xl_fact f;
    return xl_device_fact(b->dev, name, XL_UNKNOWN, &f) == XL_OK && f.text
               ? f.text
               : "unknown";
}

static void add_readme(const struct bug *b, struct xl__str *out)
{
    xl__str_printf(
        out,
        "A wrong result, reproduced without crosslane:\n\n"
        "  cc repro.c -lOpenCL -o repro\n  ./repro\n\n"
        "The exit code of ./repro is 1 where the result is wrong, 0 "
        "where it is right and 2\nwhere it cannot run. ./repro NAME "
        "runs on the first device with NAME in its name.\n\n"
        "found by:  crosslane %s, variant %s\n"
        "case:      %s\n"
        "element:   %s\n"
        "device:    %s\n"
        "driver:    %s\n"
        "platform:  %s, %s\n\n",
        xl_version(), b->variant, b->case_text, b->found->why,
        fact_text(b, "name"), fact_text(b, "driver"), fact_text(b, "platform"),
        fact_text(b, "platform_version"));
    for (size_t i = 0; i < b->call->n_programs; i++) {
        char name[BUG_NAME_CAP];
        struct xl__str options = {0};
        bug_program_file(b, i, name);
        bug_program_options(b, i, &options);
        xl__str_printf(out,
                       "%s: built with \"%s\"; kernels in this order:", name,
                       xl__str_text(&options));
        for (size_t k = 0; k < b->call->n_launches; k++)
            if (b->call->launch[k].program == i)
                xl__str_printf(out, " %s", b->call->launch[k].kernel);
        xl__str_add(out, "\n");
        xl__str_clear(&options);
    }
    xl__str_add(out,
                "inputs.bin: buffers before the call, but those that "
                "repeat 8 bytes\ndevice.txt: facts about the device, with "
                "their sources\n");
}

/* -- the folder ------------------------------------------------------------
 */

static xl_status write_file(const char *folder, const char *name,
                            struct xl__str *text)
{
    struct xl__str path = {0};
    xl__str_printf(&path, "%s/%s", folder, name);
    const xl_status status =
        path.broken || text->broken
            ? XL_NO_MEMORY
            : xl__file_replace(xl__str_text(&path), xl__str_text(text),
                               text->len);
    const int code = errno;
    xl__str_clear(&path);
    xl__str_clear(text);
    errno = code;
    return status;
}

xl_status bug_folder_write(const struct bug *b, const char *folder)
{
    xl_status status = XL_OK;
    struct xl__str text = {0};
    char name[BUG_NAME_CAP];
    if (xl__path_access(folder) != XL__ABSENT) {
        errno = EEXIST;
        return XL_IO;
    }
    TRY(xl__dir_create_shared(folder));
    for (size_t i = 0; i < b->call->n_programs; i++) {
        bug_program_file(b, i, name);
        bug_program_text(b, i, &text);
        TRY(write_file(folder, name, &text));
    }
    add_inputs(b, &text);
    TRY(write_file(folder, "inputs.bin", &text));
    bug_host_program(b, &text);
    TRY(write_file(folder, "repro.c", &text));
    add_facts(b, &text);
    add_extensions(b, &text);
    TRY(write_file(folder, "device.txt", &text));
    add_readme(b, &text);
    TRY(write_file(folder, "README.txt", &text));
fail:
    return status;
}
