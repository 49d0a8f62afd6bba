/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix instructions of a device as a table. */
#include "cli/matrix_table.h"

#include <stdio.h>

#include "cli/table.h"

static void add_matrix_row(struct table *t, const xl_matrix_op *op)
{
    table_cell(t, "%s", op->name);
    if (op->a == op->b)
        table_cell(t, "%s -> %s", xl_dtype_name(op->a),
                   xl_dtype_name(op->sum));
    else
        table_cell(t, "%s x %s -> %s", xl_dtype_name(op->a),
                   xl_dtype_name(op->b), xl_dtype_name(op->sum));
    if (op->n_most > op->n)
        table_cell(t, "%u x %u..%u x %u", op->m, op->n, op->n_most, op->k);
    else
        table_cell(t, "%u x %u x %u", op->m, op->n, op->k);
    table_cell(t, "%u", op->lanes);
    table_cell(t, "%g", op->flop_per_clock);
    table_cell(t, "%s", op->fragments);
    table_cell(t, "%s", op->code ? op->code : "-");
    table_cell(t, "%s", op->note);
}

void matrix_table_print(const xl_device *dev, unsigned width)
{
    static const struct table_column columns[] = {
        {"method", false, 0}, {"types", false, 0},    {"m x n x k", false, 0},
        {"lanes", true, 0},   {"per clock", true, 0}, {"fragments", false, 5},
        {"code", false, 0},   {"note", false, 0},
    };
    const xl_matrix_op *op = xl_device_matrix_op(dev, 0);
    if (!op)
        return;
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; (op = xl_device_matrix_op(dev, i)) != NULL; i++)
        add_matrix_row(t, op);
    printf("  Matrix instructions, and the flop that a compute unit starts "
           "per clock\n");
    table_print(stdout, t, width, false);
    table_destroy(t);
}
