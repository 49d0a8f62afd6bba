/* SPDX-License-Identifier: Apache-2.0 */
/* Which names a text reads and assigns, seen from outside: enough to know what
 * to bind. What is not in the language is left to the library to tell. */
#ifndef CLBENCH_EXPR_SCAN_H
#define CLBENCH_EXPR_SCAN_H

#include <stdbool.h>

#include <crosslane/crosslane.h>

enum { EXPR_MAX_SEEN = 4 * XL_EXPR_MAX_BINDINGS };

struct expr_seen {
    char name[XL_EXPR_MAX_NAME + 1];
    bool is_read_first; /* before any assignment */
    bool is_assigned;
    bool is_whole;      /* one assignment is to all of it, not to a slice */
    bool is_read_later; /* after an assignment */
};

struct expr_scan {
    struct expr_seen name[EXPR_MAX_SEEN];
    unsigned n;
};

/* In the order in which they are met; names beyond the room are left out. */
void expr_scan(const char *text, struct expr_scan *out);

#endif
