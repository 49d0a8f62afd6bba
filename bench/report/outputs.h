/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a command line asks for, each by an option of its format's
 * name: opened before minutes are spent, replaced whole whenever there is
 * more to say. */
#ifndef CLBENCH_OUTPUTS_H
#define CLBENCH_OUTPUTS_H

#include <stdbool.h>

#include "report/render.h"

struct session;
struct settings;

enum { OUTPUTS_MOST = 8 };

struct outputs {
    struct session *s;
    struct output {
        const char *option, *path;
        const struct renderer *format; /* NULL: the folder of figures */
        bool has_failed;               /* the last time, and was told */
    } list[OUTPUTS_MOST];
    size_t n;
};

/* What the result document itself is written by; it stands for the first file
 * alone. */
extern const struct renderer render_json;

/* Was one of them given, or --svg? */
bool outputs_are_wanted(const struct settings *set);
/* Two options that name the same file, standard output too; false: none. */
bool outputs_clash(const struct settings *set, const char **a, const char **b);
/* Is standard output taken by a file, so that nothing else may be there? */
bool outputs_take_stdout(const struct settings *set);

void outputs_begin(struct outputs *o, struct session *s);
/* Add a format, or a NULL-terminated list, when its option was given. False:
 * it cannot be written, and was told. */
bool outputs_add(struct outputs *o, const struct renderer *format);
bool outputs_add_all(struct outputs *o, const struct renderer *const *formats);
/* The same of --svg, every figure as a file in a folder. */
bool outputs_add_figures(struct outputs *o);
/* Write all of them; those that are streams at the end alone. */
void outputs_write(struct outputs *o, const struct result_file *files,
                   size_t n, bool is_end);
/* There is nothing to write from: say so, once for each. */
void outputs_fail(struct outputs *o, xl_status status);
/* An exit_code: of the last writing. */
int outputs_code(const struct outputs *o);

#endif
