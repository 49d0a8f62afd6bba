/* SPDX-License-Identifier: Apache-2.0 */
/* Results as a page of Markdown, and that page as a display. */
#ifndef CLBENCH_MARKDOWN_H
#define CLBENCH_MARKDOWN_H

#include "base/str.h"
#include "cli/display.h"
#include "report/outputs.h"

extern const struct renderer render_markdown;

struct markdown {
    struct xl__str *out;
    bool is_one_of_many; /* a file among others: its sections are below it */
};

/* A display that appends to page->out; the caller keeps `page` as long. */
struct display display_markdown(struct markdown *page);

#endif
