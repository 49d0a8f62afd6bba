/* SPDX-License-Identifier: Apache-2.0 */
/* The result document of a run, schema "clbench/1", while it grows. Every file
 * that the run writes is made from it. */
#ifndef CLBENCH_DOCUMENT_H
#define CLBENCH_DOCUMENT_H

#include <stdbool.h>

#include <crosslane/crosslane.h>
#include <crosslane/measure.h>
#include <jansson.h>

#include "cli/session.h"

struct document {
    json_t *rows;
    json_t *sections;   /* "parts" of the file: titles and notes of tables */
    bool is_in_section; /* rows belong to the last one; else to none */
    json_t *passes;     /* further passes, a list for each key of a row */
    json_t *counts;     /* how often a key occurred, by pass */
};

bool document_begin(struct document *d); /* false: out of memory */
void document_clear(struct document *d);
/* Begin a section, to which the rows that follow belong; end it. `note` may be
 * NULL. */
void document_section(struct document *d, enum rows_kind kind,
                      const char *title, const char *note);
void document_section_end(struct document *d);
void document_row(struct document *d, const xl_device *dev, const xl_row *row);
/* Add a further pass over a row, before or after the row. A pass without a
 * valid time is left out. */
void document_pass(struct document *d, const struct session *s,
                   const xl_device *dev, unsigned pass, const xl_row *row);
/* The whole document so far, a new reference; NULL when out of memory.
 * `is_interrupted`: the run has not come to its end. */
json_t *document_json(const struct document *d, const struct session *s,
                      bool is_interrupted);
/* An entry of its "devices", likewise. */
json_t *document_device(const xl_device *dev);
/* The JSON Schema of result documents, likewise. */
json_t *document_schema(void);

#endif
