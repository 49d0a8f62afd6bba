/* SPDX-License-Identifier: Apache-2.0 */
/* Which cases ran on which devices, over all files, and how well. */
#ifndef CLBENCH_PORTABILITY_STUDY_H
#define CLBENCH_PORTABILITY_STUDY_H

#include "results/result_file.h"

struct table;

enum { STUDY_MOST_DEVICES = 16 };

/* What is known of the files. */
struct study {
    const struct result_file *files;
    size_t n_files;
    const char *variant;
    const char *device[STUDY_MOST_DEVICES], *name[STUDY_MOST_DEVICES];
    size_t n_devices;
    const struct result_row **first; /* a row of each case */
    size_t n_cases, cap, n_left_out;
    struct table *table; /* where lines go */
};

/* Devices and cases of all files; false: out of memory. */
bool study_gather(struct study *s);
void study_clear(struct study *s);
/* Of a case on every device: 0, it did not run there; NaN, unknown. False: a
 * device has not even tried it. */
bool study_efficiencies(const struct study *s, size_t i_case, double *roof,
                        double *best);

#endif
