/* SPDX-License-Identifier: Apache-2.0 */
/* The banks of local memory, from what strides cost. */
#ifndef XL_MEASURE_LOCAL_MEMORY_H
#define XL_MEASURE_LOCAL_MEMORY_H

/* Neighbouring items `stride` words apart: the time of one access, in any
 * unit. */
struct xl__stride_cost {
    unsigned stride;
    double ns;
};

/* probe_local.c: the stride, in 4-byte words, at which all items meet in one
 * bank: number of banks times their width. The curve has strides 1, 2, 4 ...
 * and any others, one of the powers beyond the period. NaN: no banks show. */
double xl__bank_period(const struct xl__stride_cost *curve, unsigned n);

/* Words of a bank, from what the period's stride costs: as it is, with every
 * other item one word off, and with items 0..3 words off. NaN: it does not
 * show. */
double xl__bank_width_words(double together, double by_two, double by_four);

#endif
