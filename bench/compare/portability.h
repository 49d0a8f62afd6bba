/* SPDX-License-Identifier: Apache-2.0 */
/* The performance portability of a problem over devices: the harmonic mean of
 * its efficiencies on them, 0 as soon as one does not run it.
 * Source: Pennycook, Sewall, Lee, A Metric for Performance Portability, PMBS
 * 2016; and FGCS 92, 2019. */
#ifndef CLBENCH_PORTABILITY_H
#define CLBENCH_PORTABILITY_H

#include <stddef.h>

#include "compare/compare.h"

/* `efficiency`: of 1; 0: not supported; NaN: unknown, and so is the result. 0
 * devices give 0. */
double portability(const double *efficiency, size_t n);

/* Print, for every case of an op that all devices of the files ran, its
 * efficiencies: architectural, the share of the roof, and by application, the
 * share of the best variant known there, with their means, and those of each
 * op and of all. `variant`: of this one; NULL:
 * of the library's fastest. False: out of memory. */
bool portability_print(const struct result_file *files, size_t n_files,
                       const char *variant);

#endif
