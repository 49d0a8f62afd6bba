/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of one table, kept until the table is complete, and their labels:
 * the identity of a row, what all rows share, what distinguishes one, and the
 * notes below the table. */
#ifndef CLBENCH_RESULT_H
#define CLBENCH_RESULT_H

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>

#include "base/str.h"
#include "cli/session.h"
#include "results/fields.h"

struct settings;

/* The members of a row in a result file, of an xl_row: all of them, what
 * identifies the row, and what a pass over it has. */
extern const struct field row_fields[], identity_fields[], timing_fields[];

/* A row, and which kernel and case it is of. */
struct measured_row {
    const void *dev; /* which device; only compared */
    xl_row row;
    /* By result_row_id(), with and without the variant. `repeat` counts the
     * earlier rows of this device with the same id: 0 is its first
     * measurement. */
    struct row_key {
        char *id;
        size_t repeat;
    } kernel_key, case_key;
};

struct result_table {
    enum rows_kind kind;
    struct measured_row *list;
    size_t n, cap;
    size_t n_repeats; /* rows whose case was on that device before; 0: a case
                         has one kernel a device, so a line may be a case */
};

/* Add a copy of the row. False: out of memory. */
bool result_table_add(struct result_table *rows, const void *dev,
                      const xl_row *row);
void result_table_clear(struct result_table *rows);
/* Append what all rows share: "f32, trans=nn, alpha=1"; nothing when
 * nothing. */
void result_table_common(const struct result_table *rows, struct xl__str *out);
/* Append what distinguishes row `i`: "1000x1023x517 f16", or its case's
 * name. */
void result_table_label(const struct result_table *rows, size_t i,
                        struct xl__str *out);

/* Append a row's sizes, as commands read them where they do: "4096^3",
 * "1x14x14x16:32x3x3", "32^3 x10000", "N=1024 TILE=8". */
void result_add_shape(struct xl__str *out, const xl_row *row);

/* Append the sizes and settings of row `i` that are not the same in all rows:
 * "N=512 TILE=8", or their values only, "512 8". */
void result_table_axes(const struct result_table *rows, size_t i,
                       bool is_named, struct xl__str *out);

/* "usual", "expressions", ...; NULL past the last. */
const char *rows_kind_name(unsigned kind);
/* A number that rows of the kind found and for which their table has a column,
 * which labels therefore leave out; NULL past the last. The first one is in
 * all tables of the kind and in no other. */
const char *rows_kind_finding(enum rows_kind kind, unsigned i);

/* A number that the run found, a parameter with is_found; NaN: none of that
 * name. */
double result_finding(const xl_row *row, const char *name);
/* Energy of one run by the counter that was read during the samples, J; NaN:
 * none. */
double result_joules(const xl_row *row);
/* Appends what the run took and was expected to take: "64 groups of 256, 32 a
 * unit; 16 KiB of local memory; 825 us expected; 0.12 J a run, 2.2 GFLOP/J". */
void result_describe_launch(const xl_row *row, struct xl__str *out);

/* The notes below a table, each text once. */
struct notes {
    char **text;
    size_t n, cap;
};
void notes_clear(struct notes *notes);
/* The number of the note with this text, from 1, added if it is new; 0 when
 * out of memory. */
size_t notes_add(struct notes *notes, const char *text);
/* Add the reason and the warnings of a row; their numbers, "1-3,5", are
 * appended to `marks`. */
void notes_add_row(struct notes *notes, const xl_row *row,
                   const struct settings *set, struct xl__str *marks);

/* Append what a row is, whatever device it ran on: op, variant, shape,
 * settings, type. `clbench compare` matches rows by it. */
void result_row_id(struct xl__str *out, const xl_row *row);
/* The text of a device's fact: "name", "platform"; `otherwise` if unknown. */
const char *device_fact_text(const xl_device *dev, const char *name,
                             const char *otherwise);

#endif
