/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the page for a terminal. */
#ifndef CLBENCH_SPLIT_TEXT_H
#define CLBENCH_SPLIT_TEXT_H

#include <stdbool.h>

#include "tiling/split_page.h"
#include "cli/table.h"

/* The next cell: "58.0%", "-" when unknown. */
void split_cell_share(struct table *t, double share);
/* split_text_saw.c: the sawtooth, if the page has one. */
void split_text_saw(FILE *to, const struct split_page *p, unsigned columns,
                    bool colour);

#endif
