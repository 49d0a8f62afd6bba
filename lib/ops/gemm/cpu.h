/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_cpu's plan parameters: how a call and a set of tunables divide the
 * product, and the model of the time that it takes. */
#ifndef XL_OPS_GEMM_CPU_H
#define XL_OPS_GEMM_CPU_H

#include "ops/gemm/orientation.h"

enum { XL__CPU_AT_TM = XL__GEMM_TM, XL__CPU_AT_RN = XL__GEMM_TN,
       XL__CPU_AT_TK = XL__GEMM_TK, XL__CPU_AT_RM, XL__CPU_AT_VW,
       XL__CPU_AT_FORM, XL__CPU_AT_PLACE, XL__CPU_AT_GROUPS };
/* FORM of gemm/cpu.cl: B is packed by a step before, by each group, or not at
 * all. PLACE: A is packed, or read in place. */
enum { XL__CPU_AHEAD = 1, XL__CPU_BY_GROUP, XL__CPU_UNPACKED };
enum { XL__CPU_PACKED = 1, XL__CPU_IN_PLACE };
enum { XL__CPU_LEAST_TM = 32, XL__CPU_SLAB = 64 /* as in gemm/cpu.cl */ };

/* Largest number of i8 products whose sum is exact in f32. */
enum { XL__CPU_EXACT = 1024 };

struct xl__cpu_job {
    const xl_gemm *g;
    struct xl__gemm_oriented s;
    size_t tm, tk, rm, rn, vw, per_unit;
    unsigned form;
    size_t wide; /* panels of B that a group packs together */
    bool in_place;
    bool keeps;         /* partial sums are kept in scratch between slices of
                           k, not in C */
    bool shares_b;      /* all products of the batch share B */
    size_t value_bytes; /* of a value that is computed with */
    size_t slice;       /* depth of a slice of k, at most tk */
    size_t lines_m, lines_n, groups_m, groups_n;
    size_t pack_blocks; /* groups that pack the same slice of B */
    size_t panel_values, sum_values, ld; /* values in scratch; `ld`: per row
                                            of sums */
    size_t local_bytes;
};

/* Set *j from the call and the tunables. Returns false if the tunables do not
 * fit the call or the device. */
bool xl__cpu_job_init(const struct xl__limits *l, const void *canonical,
                      const struct xl__params *p, struct xl__cpu_job *j);
/* Set est_ns and bound of a plan whose flop, bytes and steps are set. */
void xl__cpu_estimate(const struct xl__limits *l, const struct xl__cpu_job *j,
                      struct xl__plan *p);
/* Values of a vector of the device; 0: it has no vectors. */
size_t xl__cpu_vector(const struct xl__limits *l, xl_dtype in);
/* Choose the tunables with the least time by the model. */
void xl__cpu_choose(const struct xl__limits *l, const void *canonical,
                    struct xl__params *out);

#endif
