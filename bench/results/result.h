/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of one table: kept until the table is complete, and put into
 * words. */
#ifndef CLBENCH_ROWS_H
#define CLBENCH_ROWS_H

#include <crosslane/crosslane.h>

#include "base/str.h"

struct settings;

struct kept_row {
    const void *dev; /* which device: an identity alone */
    xl_row row;
    /* Which kernel and case, by result_row_id(), and the case alone; turn 0:
     * its first measurement on this device, 1: its second. */
    struct row_key {
        char *id;
        size_t turn;
    } kernel, only_case;
};

struct rows {
    struct kept_row *list;
    size_t n, cap;
    size_t n_repeats; /* rows whose case was on that device before; 0: a case
                         has one kernel a device, so a line may be a case */
};

bool rows_add(struct rows *rows, const void *dev, const xl_row *row);
void rows_clear(struct rows *rows);
/* What all rows share: "f32, trans=nn, alpha=1"; nothing when nothing. */
void rows_common(const struct rows *rows, struct xl__str *out);
/* What sets row `i` apart: "1000x1023x517 f16", or its case's name. */
void rows_case(const struct rows *rows, size_t i, struct xl__str *out);

/* A number that the run found; NaN: it found none of that name. */
double rows_found(const xl_row *row, const char *name);

/* The notes below a table, each told once. */
struct notes {
    char **text;
    size_t n, cap;
};
void notes_clear(struct notes *notes);
/* The number of the note with this text, from 1; 0 when out of memory. */
size_t notes_number(struct notes *notes, const char *text);
/* The reason and the warnings of a row as notes; their numbers, "1,2", are
 * appended to `marks`. */
void notes_of_row(struct notes *notes, const xl_row *row,
                  const struct settings *set, struct xl__str *marks);

struct xl__str;
/* What a row is, whatever device it ran on: op, variant, shape, settings,
 * type. `clbench compare` matches rows by it. */
void result_row_id(struct xl__str *out, const xl_row *row);
/* The text of a device's fact: "name", "platform"; `otherwise` if unknown. */
const char *device_fact_text(const xl_device *dev, const char *name,
                             const char *otherwise);

#endif
