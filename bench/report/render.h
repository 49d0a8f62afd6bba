/* SPDX-License-Identifier: Apache-2.0 */
/* Result documents as other files: one small file per format, render_x.c. The
 * document goes in whole, whether a file holds it or the run that makes it, and
 * text comes out. */
#ifndef CLBENCH_RENDER_H
#define CLBENCH_RENDER_H

#include "base/str.h"
#include "results/result_file.h"

struct renderer {
    const char *name; /* of the format, and of its option: "csv" */
    /* Append it to `out`; out->broken when memory runs out. Every row of every
     * file appears, with its verdict. */
    void (*render)(const struct result_file *files, size_t n,
                   struct xl__str *out);
};

extern const struct renderer render_csv, render_markdown, render_html;
extern const struct renderer *const renderers[]; /* NULL-terminated */

#endif
