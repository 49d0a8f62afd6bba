/* SPDX-License-Identifier: Apache-2.0 */
/* Peak rates of a device, computed from its facts, for the time models. */
#ifndef XL_DEVICE_PEAK_RATES_H
#define XL_DEVICE_PEAK_RATES_H

#include <crosslane/tensor.h>

#include "device/facts.h"
#include "device/private_api.h"

size_t xl__n_units(const struct xl__limits *l); /* at least 1 */
double xl__rate_clock(const struct xl__limits *l); /* Hz */
/* Rates are never NaN: the measured peak, else units x lanes x clock, else a
 * default for the class of device. */
double xl__rate_fma(const struct xl__limits *l);    /* f32 flop/s */
/* Multiply-adds of operands of type `in`, as a share of xl__rate_fma(). */
double xl__relative_rate(const struct xl__limits *l, xl_dtype in);
/* Of the matrix engine, flop/s, for operands of type `in` (XL_F32: rounded to
 * 11 bits); 0: none is known. */
XL__PRIVATE_API double xl__rate_matrix(const struct xl__limits *l,
                                       xl_dtype in);
/* The share of it that one kind of instructions reaches; 0: not known. */
double xl__rate_matrix_op(const struct xl__limits *l, const xl_matrix_op *op);
/* xl__rate_matrix() from units and clock only, without measured peaks; 0 where
 * one of them is not known. */
XL__PRIVATE_API double xl__bound_matrix(const struct xl__limits *l,
                                        xl_dtype in);
/* The fact with the measured peak for operands of this type; XL__N_FACTS: a
 * matrix engine has no such products. */
XL__PRIVATE_API enum xl__fact_id xl__peak_matrix(xl_dtype in);
/* B/s of a copy, on CPUs by stores past the caches (CP-24); where that is not
 * known of reading, else of the class of device. */
double xl__rate_memory(const struct xl__limits *l);

#endif
