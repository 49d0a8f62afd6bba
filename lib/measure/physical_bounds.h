/* SPDX-License-Identifier: Apache-2.0 */
/* Rates that no such device can exceed, whatever was measured: units x lanes x
 * the highest clock, and the widest memory that is built. NaN: not known. A
 * row above one is impossible; a row above a measured roof may be right. */
#ifndef XL_MEASURE_PHYSICAL_BOUNDS_H
#define XL_MEASURE_PHYSICAL_BOUNDS_H

struct xl__limits; /* device/facts.h */

/* flop/s of the units that a ceiling of roofline.c is about: of the matrix
 * engine for "matrix ...", else of the FMA units. */
double xl__physical_flop(const struct xl__limits *l, const char *ceiling);
/* B/s of device memory. */
double xl__physical_bytes(const struct xl__limits *l);

#endif
