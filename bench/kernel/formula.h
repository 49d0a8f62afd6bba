/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas over whole numbers, as sizes of a launch and counts of work are
 * given on the command line:
 *
 *   sum      product { (+ | -) product }
 *   product  sign { (* | / | %) sign }       / rounds towards 0
 *   sign     - sign | power
 *   power    value [ ^ sign ]                2^10 is 1024
 *   value    number | NAME | ( sum ) | FUNCTION ( sum { , sum } )
 *   number   1024, 0x400, 1e6
 *
 * Functions: min(a, b), max(a, b), ceil_div(a, b), round_up(a, to), log2(a),
 * the last rounded down. Values are exact in 64 bits with a sign. */
#ifndef CLBENCH_KERNEL_FORMULA_H
#define CLBENCH_KERNEL_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* A name that formulas may use. */
struct binding {
    const char *name, *text; /* text: its value as it was given */
    bool is_number;          /* not each value is one: T=float */
    int64_t value;
};

enum { BINDINGS_MOST = 24 };
struct bindings {
    struct binding at[BINDINGS_MOST];
    unsigned n;
};

/* Evaluate a formula. False: *why is what is wrong, at which column of the
 * text, and what would be right. */
bool formula_value(const char *text, const struct bindings *names,
                   int64_t *out, struct xl__str *why);

/* Append a message. Returns false. */
bool formula_refuse(struct xl__str *why, const char *fmt, ...)
    XL__PRINTF(2, 3);

/* Is it a name: a letter or _, then letters, digits and _? */
bool formula_is_name(const char *text, size_t len);

/* The length of the first item of a list that commas separate outside of
 * parentheses. */
size_t formula_item(const char *list);

#endif
