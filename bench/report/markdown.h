/* SPDX-License-Identifier: Apache-2.0 */
/* A page of Markdown as a display. */
#ifndef CLBENCH_MARKDOWN_H
#define CLBENCH_MARKDOWN_H

#include "base/str.h"
#include "cli/console.h"

struct markdown {
    struct xl__str *out;
    bool is_one_of_many; /* a file among others: its parts stand below it */
};

/* `page` stays the caller's. */
struct display display_markdown(struct markdown *page);

#endif
