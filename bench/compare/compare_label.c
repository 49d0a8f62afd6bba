/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/compare_label.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "results/result.h"

static const struct result_row *row_of(const struct pair *p)
{
    return p->a ? p->a : p->b;
}

/* "gemm_cpu", whose variant names its op; "cache chase", which does not. */
static void add_kernel(struct xl__str *out, const xl_row *row)
{
    static const char probe[] = "probe_";
    const size_t skip = sizeof probe - 1;
    const size_t n = strlen(row->op);
    const char *op = strncmp(row->op, probe, skip) == 0 ? row->op + skip
                                                        : row->op;
    if (n > 0 && strncmp(row->variant, row->op, n) == 0)
        xl__str_add(out, row->variant);
    else
        xl__str_printf(out, "%s%s%s", op, *row->variant ? " " : "",
                       row->variant);
}

/* The pairs of one op. */
static bool label_op(struct comparison *c, unsigned op)
{
    struct result_table rows = {0};
    struct xl__str text = {0};
    bool fine = true;
    xl_row row;
    for (size_t i = 0; i < c->n && fine; i++)
        if (c->pairs[i].shift.op == op) {
            result_identity(row_of(&c->pairs[i]), &row);
            fine = result_table_add(&rows, NULL, &row);
        }
    for (size_t i = 0, at = 0; i < c->n && fine; i++) {
        if (c->pairs[i].shift.op != op)
            continue;
        struct xl__str words = {0};
        xl__str_reset(&text);
        result_identity(row_of(&c->pairs[i]), &row);
        add_kernel(&text, &row);
        result_table_label(&rows, at++, &words);
        if (strcmp(xl__str_text(&words), "-") != 0)
            xl__str_printf(&text, " %s", xl__str_text(&words));
        xl__str_clear(&words);
        c->pairs[i].label = text.broken ? NULL : xl__strdup(text.text);
        fine = c->pairs[i].label != NULL;
    }
    xl__str_clear(&text);
    result_table_clear(&rows);
    return fine;
}

bool compare_label(struct comparison *c)
{
    bool fine = true;
    for (unsigned op = 0; op < c->n_ops && fine; op++)
        fine = label_op(c, op);
    return fine;
}
