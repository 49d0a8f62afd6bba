/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a command line asks for, each by an option of its format's
 * name: checked before the measurement begins, and replaced whole whenever
 * there are more results. */
#ifndef CLBENCH_OUTPUTS_H
#define CLBENCH_OUTPUTS_H

#include <stdbool.h>

#include "base/str.h"
#include "results/result_file.h"

struct session;
struct settings;

/* A format. The document goes in whole, whether a file holds it or the run
 * that makes it, and text comes out. */
struct renderer {
    const char *name; /* of the format, and of its option: "csv" */
    /* Append it to `out`; out->broken when memory runs out. Every row of every
     * file is in it, with its verdict. */
    void (*render)(const struct result_file *files, size_t n,
                   struct xl__str *out);
};
extern const struct renderer *const renderers[]; /* NULL-terminated */
extern const struct renderer render_csv;         /* RFC 4180 */
/* The result document itself; of the first file only. */
extern const struct renderer render_json;

enum { OUTPUTS_MOST = 8 };

struct outputs {
    struct session *s;
    struct output {
        const char *option, *path;
        const struct renderer *format; /* NULL: the folder of figures */
        bool has_failed;               /* the last time, and was reported */
    } list[OUTPUTS_MOST];
    size_t n;
};

/* Is one of the options given, or --svg? */
bool outputs_requested(const struct settings *set);
/* Two options that name the same file, standard output too; false: none. */
bool outputs_clash(const struct settings *set, const char **a, const char **b);
/* Is standard output one of the files, so that nothing else may be written to
 * it? */
bool outputs_use_stdout(const struct settings *set);

void outputs_begin(struct outputs *o, struct session *s);
/* Add a format, or a NULL-terminated list, when its option is given. False: it
 * cannot be written, which was reported. */
bool outputs_add(struct outputs *o, const struct renderer *format);
bool outputs_add_all(struct outputs *o, const struct renderer *const *formats);
/* The same of --svg, every figure as a file in a folder. */
bool outputs_add_figures(struct outputs *o);
/* Write all of them; streams (pipes, standard output) only at the end. */
void outputs_write(struct outputs *o, const struct result_file *files,
                   size_t n, bool is_end);
/* There is no document to write: report `status`, once for each file. */
void outputs_fail(struct outputs *o, xl_status status);
/* An exit_code: of the last writing. */
int outputs_code(const struct outputs *o);

#endif
