/* SPDX-License-Identifier: Apache-2.0 */
/* Retargets programs, for instructions that NVIDIA's driver does not enable
 * for OpenCL programs. Its binaries are PTX, which names its target machine
 * (NV-27). Two things are changed: the `.target` line and, where registers
 * move between warps, a directive of the entry (NV-29). Then the assembler's
 * log is checked (NV-28), which also has the registers of kernels.
 * Grammar: PTX ISA 9.0, sections 4, 5.4 and 11. */
#include "targets/targets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN "the driver's binary is not PTX: "
#define WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* -- tokens ------------------------------------------------------------ */

/* Returns the end of a comment that begins at `at`, else `at`. */
static const char *skip_comment(const char *at)
{
    const char *end = NULL;
    if (strncmp(at, "//", 2) == 0)
        return at + strcspn(at, "\n");
    if (strncmp(at, "/*", 2) == 0)
        end = strstr(at + 2, "*/");
    return end ? end + 2 : at;
}

/* The first `word` before `end` outside of comments; `end` if there is none.
 */
static const char *find_word(const char *at, const char *end, const char *word)
{
    const size_t n = strlen(word);
    while (at < end && strncmp(at, word, n) != 0) {
        const char *next = skip_comment(at);
        at = next > at ? next : at + 1;
    }
    return at < end ? at : end;
}

static bool has_word(const char *at, const char *end, const char *word)
{
    return find_word(at, end, word) < end;
}

/* -- the target ----------------------------------------------------------- */

/* Appends the text up to the target, and the new target; *rest is what
 * follows. */
static xl_status add_target(const char *text, const char *target,
                            struct xl__str *out, const char **rest,
                            struct xl__error *e)
{
    static const char directive[] = ".target";
    const char *end = text + strlen(text);
    const char *at = find_word(text, end, directive);
    if (at == end)
        return xl__error_set(e, XL_BUILD_FAILED, FOREIGN "no .target in it");
    at += strlen(directive);
    at += strspn(at, " \t");
    const size_t n = strspn(at, WORD), wanted = strlen(target);
    const bool is_base = n > 0 && strncmp(at, target, n) == 0;
    const bool is_it = is_base && n == wanted;
    const bool is_less = is_base && n + 1 == wanted && target[n] == 'a';
    if (!is_it && !is_less)
        return xl__error_set(e, XL_BUILD_FAILED,
                             "the driver builds for %.*s, from which there "
                             "is no way to %s",
                             (int)n, at, target);
    xl__str_add_n(out, text, (size_t)(at - text));
    xl__str_add(out, target);
    *rest = at + n;
    return XL_OK;
}

/* -- registers that move between warps ------------------------------------ */

static const char moves[] = "setmaxnreg";

/* Appends one entry from its `.entry` on: the text before the thread count,
 * the directive where it is missing, the rest. */
static xl_status add_entry(const char *at, const char *end,
                           struct xl__str *out, struct xl__error *e)
{
    const char *body = find_word(at, end, "{");
    const char *count = find_word(at, body, ".reqntid");
    if (!has_word(body, end, moves)) {
        xl__str_add_n(out, at, (size_t)(end - at));
        return XL_OK;
    }
    if (count == body)
        return xl__error_set(e, XL_BUILD_FAILED,
                             "%s in a kernel without reqd_work_group_size",
                             moves);
    xl__str_add_n(out, at, (size_t)(count - at));
    if (!has_word(at, body, ".minnctapersm") &&
        !has_word(at, body, ".maxnreg"))
        xl__str_add(out, ".minnctapersm 1\n");
    xl__str_add_n(out, count, (size_t)(end - count));
    return XL_OK;
}

/* Append the rest of a text, function by function. */
static xl_status add_functions(const char *at, struct xl__str *out,
                               struct xl__error *e)
{
    xl_status status = XL_OK;
    const char *end = at + strlen(at);
    while (at < end) {
        const char *entry = find_word(at, end, ".entry");
        if (has_word(at, entry, moves))
            TRY(xl__error_set(e, XL_BUILD_FAILED,
                              "%s outside of a kernel's own code", moves));
        xl__str_add_n(out, at, (size_t)(entry - at));
        at = find_word(find_word(entry, end, "{"), end, ".func");
        at = find_word(find_word(entry, at, "{"), at, ".entry");
        TRY(add_entry(entry, at, out, e));
    }
fail:
    return status;
}

/* -- the two hooks -------------------------------------------------------- */

/* A PTX text begins with its version, after comments, and ends with a 0 or the
 * binary; bytes after the 0 are ignored (NV-27). */
static xl_status add_text(const char *binary, size_t n, struct xl__str *out,
                          struct xl__error *e)
{
    const char *zero = n > 0 ? memchr(binary, 0, n) : NULL;
    const size_t len = zero ? (size_t)(zero - binary) : n;
    xl__str_add_n(out, binary, len);
    if (out->broken)
        return xl__error_set(e, XL_NO_MEMORY, "a program's text");
    const char *text = xl__str_text(out), *at = text, *before;
    do {
        before = at;
        at += strspn(at, " \t\r\n");
        at = skip_comment(at);
    } while (at > before);
    return strncmp(at, ".version", strlen(".version")) == 0
               ? XL_OK
               : xl__error_set(e, XL_BUILD_FAILED,
                               FOREIGN "no .version in front");
}

static xl_status retarget(const char *binary, size_t n, const char *target,
                          struct xl__str *out, struct xl__error *e)
{
    xl_status status = XL_OK;
    struct xl__str text = {0};
    const char *rest = NULL;
    TRY(add_text(binary, n, &text, e));
    TRY(add_target(xl__str_text(&text), target, out, &rest, e));
    TRY(add_functions(rest, out, e));
fail:
    xl__str_clear(&text);
    return status;
}

/* Whether " bytes spill stores" or the like is here, after a number other than
 * 0. */
static bool spills(const char *line, const char *at)
{
    if (strncmp(at, " bytes spill", strlen(" bytes spill")) != 0)
        return false;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtoull(at, NULL, 10) > 0;
}

/* Of one line, anywhere in it: NV-28. */
static bool is_fault(const char *line, const char *at)
{
    static const char *const faults[] = {
        "instructions are serialized",
        "'setmaxnreg' ignored",
        "Insufficient registers",
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (strncmp(at, faults[i], strlen(faults[i])) == 0)
            return true;
    }
    return spills(line, at);
}

static const char *find_fault(const char *log)
{
    const char *line = log;
    for (const char *at = log; *at; at++) {
        if (*at == '\n')
            line = at + 1;
        else if (is_fault(line, at))
            return line;
    }
    return NULL;
}

/* The number behind a text that is between `text` and `end`; NaN: none is. */
static double number_behind(const char *text, const char *end,
                            const char *before)
{
    const char *at = strstr(text, before);
    return at && at < end ? strtod(at + strlen(before), NULL) : (double)NAN;
}

/* A kernel's figures are the lines behind its name, NV-28: those of other
 * functions follow. */
static void read_use(const char *log, const char *kernel,
                     struct xl__kernel_use *out)
{
    static const char begin[] = "Function properties for ";
    const size_t n = strlen(kernel);
    const char *at = log;
    while ((at = strstr(at, begin)) != NULL) {
        at += sizeof begin - 1;
        if (strncmp(at, kernel, n) == 0 && (at[n] == '\n' || at[n] == '\r'))
            break;
    }
    if (!at)
        return;
    const char *next = strstr(at, begin);
    const char *end = next ? next : at + strlen(at);
    out->registers = number_behind(at, end, " Used ");
    out->spill_bytes = number_behind(at, end, "bytes stack frame, ");
}

const struct xl__use_source xl__nvidia_use = {
    .read_log = read_use, .log_mark = "Function properties for "};

const struct xl__rebuild xl__nvidia_rebuild = {
    .retarget = retarget,
    .build_options = "-cl-nv-verbose", /* NV-28 */
    .comment = "//",
    .fault = find_fault,
};
