/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the banks of local memory from the cost of strides, for tests without
 * a device. */
#ifndef XL_MEASURE_LOCAL_MEMORY_H
#define XL_MEASURE_LOCAL_MEMORY_H

/* The time of an access when neighbouring items are `stride` words apart, in
 * any unit. */
struct xl__stride_cost {
    unsigned stride;
    double ns;
};

/* The stride, in 4-byte words, at which all items access the same bank: number
 * of banks times their width. The curve has strides 1, 2, 4 ... and any
 * others, and a power of two beyond the period. NaN: no banks are found. */
double xl__bank_period(const struct xl__stride_cost *curve, unsigned n);

/* The width of a bank in words, from the cost of the period's stride: as it
 * is, with every other item one word off, and with items 0..3 words off. NaN:
 * not found. */
double xl__bank_width_words(double together, double by_two, double by_four);

#endif
