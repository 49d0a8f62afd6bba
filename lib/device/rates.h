/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a device is, as far as its facts tell. */
#ifndef XL_DEVICE_RATES_H
#define XL_DEVICE_RATES_H

#include "device/limits.h"

/* What a device can do by facts alone, never NaN: measured peaks, else units x
 * lanes x clock, else a guess of its class. */
double xl__rate_fma(const struct xl__limits *l);    /* f32 flop/s */
double xl__rate_memory(const struct xl__limits *l); /* B/s */

#endif
