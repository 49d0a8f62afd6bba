/* SPDX-License-Identifier: Apache-2.0 */
/* The comparisons of one command line. Each argument names a result set: one
 * file, or several repeated runs joined by commas, "a1.json,a2.json". */
#ifndef CLBENCH_COMPARISONS_H
#define CLBENCH_COMPARISONS_H

#include "compare/compare.h"

enum {
    COMPARISONS_MAX_FILES = 64,
    COMPARISONS_MAX_SETS = 16,
    COMPARISONS_MAX = 24
};

struct comparisons {
    struct result_file files[COMPARISONS_MAX_FILES];
    char *paths[COMPARISONS_MAX_FILES];
    size_t n_files;
    struct result_set set[COMPARISONS_MAX_SETS]; /* one for each argument */
    size_t n_sets;
    struct comparison list[COMPARISONS_MAX]; /* all with the same baseline */
    size_t n;
    bool is_paired; /* the sets are the sides of `clbench ab` */
    bool is_table; /* one line for each case, one column for each comparison */
    double margin; /* percent */
    const char *same_kernel; /* of the devices side by side; NULL: not given */
};

/* Reads every file of the n arguments. The sides of files of `clbench ab` in a
 * single argument are two sets. False: *why has the message. Call
 * comparisons_clear() in either case. */
bool comparisons_read(struct comparisons *s, const char *const *names,
                      size_t n, char *why, size_t cap);
/* Adds a set: a run that comes with clbench, by its name, or a file. Likewise.
 */
bool comparisons_add_reference(struct comparisons *s, const char *name,
                               char *why, size_t cap);
/* Makes the sides of a document of `clbench ab` two sets. Likewise. */
bool comparisons_read_sides(struct comparisons *s, const json_t *both,
                            char *why, size_t cap);
/* Builds the comparisons. Two result sets on the same devices, without peer
 * libraries: one comparison, row by row. Else: every library and device of
 * every set is compared with the first one, case by case. False: out of
 * memory. */
bool comparisons_make(struct comparisons *s,
                      const struct compare_options *how);
void comparisons_clear(struct comparisons *s);

#endif
