/* SPDX-License-Identifier: Apache-2.0 */
/* A result document, schema "clbench/1", read from a file or received from a
 * run, and what its rows hold. Everything that shows results after the run
 * starts from here. */
#ifndef CLBENCH_RESULT_FILE_H
#define CLBENCH_RESULT_FILE_H

#include <stdbool.h>

#include <crosslane/measure.h>
#include <jansson.h>

#include "cli/session.h"
#include "results/embedded.h"

extern const struct embedded reference_runs[]; /* NULL name last */

/* A row of a file. */
struct result_row {
    const char *id;     /* borrowed from the document */
    const char *device; /* its UUID, else PCI address, else name; "" unknown */
    const char *verdict;
    const char *variant;
    char *case_id; /* the id without the variant */
    bool is_other; /* another library's */
    double frac;   /* of its roof; NaN: it has none */
    double *ns;    /* samples */
    size_t n;
    const json_t *json; /* all of it, borrowed from the document */
    struct result_row *pass; /* its further passes: samples and value only */
    size_t n_passes;
};

struct result_file {
    const char *path;
    json_t *document;   /* owned */
    const char *device; /* name of the first device */
    struct result_row *rows;
    size_t n_rows, n_devices;
};

/* Read and check a file. On failure false, and *why is a message that begins
 * with the path. The caller clears `out` either way. */
bool result_file_read(const char *path, struct result_file *out, char *why,
                      size_t cap);
/* The same of a run that comes with clbench, by its name, or of a path. */
bool result_file_read_reference(const char *name, struct result_file *out,
                                char *why, size_t cap);
/* The same of a document in memory, whose reference is taken over. `path` is
 * its name in messages and in what is shown. */
bool result_file_from(json_t *document, const char *path,
                      struct result_file *out, char *why, size_t cap);
void result_file_clear(struct result_file *file);

/* Does the file have times of another library, interleaved with this one? */
bool result_has_peers(const struct result_file *file);
/* The entry of "devices" that a row ran on, and its name for people. */
const json_t *result_device(const struct result_file *file,
                            const struct result_row *row);
const char *result_device_name(const struct result_file *file,
                               const struct result_row *row);
/* A fact of an entry of "devices": name, value, unit, source; NULL: none. */
const json_t *result_fact(const json_t *device, const char *name);
/* A number of a row: "value", or of a member: "shape", "m"; NaN: none. */
double result_number(const struct result_row *row, const char *member,
                     const char *name);
/* The identity of a row as the run had it: op, variant, shape, settings. */
void result_identity(const struct result_row *row, xl_row *out);
/* The whole row as the run had it; what the file lacks is unknown. Texts that
 * are pointers live as long as the document. */
void result_row_read(const struct result_row *from, xl_row *out);
/* The entry of "parts" that a row belongs to: title, note; NULL: none. */
const json_t *result_section(const struct result_file *file,
                             const struct result_row *row);
/* What the rows of its section are; ROWS_USUAL without a section. */
enum rows_kind result_rows_kind(const struct result_file *file,
                                const struct result_row *row);
/* Can a time be quoted? Ok or suspicious, and timed. */
bool result_is_timed(const struct result_row *row);

#endif
