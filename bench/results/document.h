/* SPDX-License-Identifier: Apache-2.0 */
/* The document of a run, schema "clbench/1", while it grows: every file that
 * the run leaves is made from it. */
#ifndef CLBENCH_DOCUMENT_H
#define CLBENCH_DOCUMENT_H

#include <stdbool.h>

#include <crosslane/crosslane.h>
#include <jansson.h>

struct session;

struct document {
    json_t *rows;
    json_t *parts;   /* the tables: titles and notes */
    bool is_in_part; /* rows belong to the last one; else to none */
};

bool document_begin(struct document *d); /* false: out of memory */
void document_clear(struct document *d);
void document_part(struct document *d, const char *title, const char *note);
void document_part_end(struct document *d);
void document_row(struct document *d, const xl_device *dev,
                  const xl_row *row);
/* All of it as of now, a new reference; NULL when out of memory. */
json_t *document_json(const struct document *d, const struct session *s);

#endif
