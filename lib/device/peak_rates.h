/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a device is, as far as its facts tell. */
#ifndef XL_DEVICE_RATES_H
#define XL_DEVICE_RATES_H

#include <crosslane/tensor.h>

#include "device/facts.h"

/* What a device can do by facts alone, never NaN: measured peaks, else units x
 * lanes x clock, else a guess of its class. */
double xl__rate_fma(const struct xl__limits *l);    /* f32 flop/s */
/* The matrix engine's, of products of `in` (XL_F32: rounded to 11 bits); 0:
 * none that is known. */
double xl__rate_matrix(const struct xl__limits *l, xl_dtype in);
/* The same by units and clock alone; 0 where one of them is not known. */
double xl__bound_matrix(const struct xl__limits *l, xl_dtype in);
/* The fact that has its measured peak; XL__N_FACTS: a type it has none of. */
enum xl__fact_id xl__peak_matrix(xl_dtype in);
double xl__rate_memory(const struct xl__limits *l); /* B/s */

#endif
