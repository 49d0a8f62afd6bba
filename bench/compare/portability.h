/* SPDX-License-Identifier: Apache-2.0 */
/* The performance portability of a problem over devices: the harmonic mean of
 * its efficiencies on them, 0 if one device does not run it.
 * Source: Pennycook, Sewall, Lee, A Metric for Performance Portability, PMBS
 * 2016; and FGCS 92, 2019. */
#ifndef CLBENCH_COMPARE_PORTABILITY_H
#define CLBENCH_COMPARE_PORTABILITY_H

#include <stddef.h>

#include "compare/compare.h"

/* The harmonic mean of n efficiencies from 0 to 1. 0: not supported; NaN:
 * unknown, and so is the result. n == 0 gives 0. */
double portability(const double *efficiency, size_t n);

/* Prints the efficiencies of every case of an op that all devices of the files
 * ran: architectural (share of the roof) and application efficiency (share of
 * the fastest known variant), with their means, and those of each op and of
 * all. `variant`: of this variant; NULL: of the library's fastest. False: out
 * of memory. */
bool portability_print(const struct result_file *files, size_t n_files,
                       const char *variant);

#endif
