/* SPDX-License-Identifier: Apache-2.0 */
/* Where the parts of a report are shown: the terminal, or a page. What is said
 * comes as it is; a display escapes what it must. */
#ifndef CLBENCH_DISPLAY_H
#define CLBENCH_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>

struct table;

struct display {
    void *arg;
    unsigned width; /* columns that a table may take; 0: all it wants */
    void (*title)(void *arg, const char *text);
    void (*text)(void *arg, const char *text); /* as text_wrap() has it */
    void (*table)(void *arg, const struct table *t);
    void (*note)(void *arg, size_t number, const char *text);
    void (*gap)(void *arg); /* between tables, and behind the part */
};

/* Standard output, as wide as it is now; `colour` stays the display's. */
struct display display_terminal(bool *colour);

#endif
