/* SPDX-License-Identifier: Apache-2.0 */
/* Two result files against each other: read, match rows, ratio of medians. */
#ifndef CLBENCH_COMPARE_H
#define CLBENCH_COMPARE_H

#include <stdbool.h>

#include <crosslane/measure.h>

/* A row of a file, as far as a comparison needs it. */
struct result_row {
    const char *id;     /* borrowed from the document */
    const char *device; /* its UUID, else PCI address, else name; "" unknown */
    const char *verdict;
    const char *variant;
    char *only_case;    /* the id without the variant */
    bool is_other;      /* another library's: not ours */
    double frac;        /* of its roof; NaN: it has none */
    double *ns;         /* samples */
    size_t n;
    const void *json;   /* all of it: a json_t of the document */
};

struct result_file {
    const char *path;
    void *document; /* json_t */
    const char *device; /* name of the first device */
    struct result_row *rows;
    size_t n_rows, n_devices;
};

/* Read and check; on failure false, *why says what is wrong with the file. */
bool results_read(const char *path, struct result_file *out, char *why,
                  size_t cap);
void results_clear(struct result_file *file);

/* One row of `a` and its match in `b`. ratio = b's median over a's: above 1 is
 * slower. lo and hi are NaN when there are too few samples to tell. */
struct pair {
    const struct result_row *a, *b;
    double a_ns, b_ns, ratio, lo, hi;
    bool is_gated; /* beyond the gate that was asked for */
};

/* The match of row `i` of `a`: same id and device, or the same id alone when
 * each file has one device. NULL: none. */
const struct result_row *results_match(const struct result_file *a, size_t i,
                                       const struct result_file *b);
/* The match by case: whatever the variant, the fastest of `b` for the fastest
 * of `a`; for rows that have no match above. NULL: none. */
const struct result_row *results_match_case(const struct result_file *a,
                                            size_t i,
                                            const struct result_file *b);
/* Has the file times of another library, taken in turns with ours? */
bool result_has_peers(const struct result_file *file);
/* The ratio that was measured round by round for a peer's row: as ratio, lo
 * and hi of a pair; false: none. */
bool result_turns(const struct result_file *file,
                  const struct result_row *theirs, struct pair *out);
/* The name of a row's device, for people. */
const char *result_device_name(const struct result_file *file,
                               const struct result_row *row);
/* What was run, as the row that was written: op, variant, shape, settings. */
void result_identity(const struct result_row *row, xl_row *out);
/* Can a time be quoted? Ok or suspicious, and timed. */
bool result_is_timed(const struct result_row *row);
/* Fill in the times; both rows are timed. */
void pair_measure(struct pair *pair);
/* Is the whole interval beyond `percent` slower? */
bool pair_is_slower(const struct pair *pair, double percent);

#endif
