/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of an NVIDIA H200, with its matrix engines, for tests of plans. */
#ifndef TESTS_SUPPORT_TEST_H200_H
#define TESTS_SUPPORT_TEST_H200_H

#include "support/test_limits.h"
#include "targets/targets.h"

enum { TEST_H200_UNITS = 132 };

/* Sets `l`, which xl__limits_clear() frees. */
static inline void test_h200_limits(struct xl__limits *l)
{
    static const struct test_fact facts[] = {
        {XL__F_is_gpu, 1},
        {XL__F_compute_units, TEST_H200_UNITS},
        {XL__F_max_wg_size, 1024},
        {XL__F_has_local_mem, 1},
        {XL__F_local_mem_bytes, 226 * 1024},
        {XL__F_local_mem_dynamic_bytes, 226 * 1024},
        {XL__F_subgroup_width, 32},
        {XL__F_registers_per_cu, 65536},
        {XL__F_clock_hz, 1.98e9},
        {XL__F_simd_per_cu_f32, 128},
        {XL__F_llc_bytes, 50 << 20},
        {XL__F_copy_bytes_per_s, 4.27e12},
        {XL__F_max_alloc_bytes, 35e9}};
    test_limits(l, facts, sizeof facts / sizeof *facts);
    xl__nvidia_matrix_engine(90, l);
}

#endif
