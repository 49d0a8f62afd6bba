/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_cpu's inside: what a call and a set of tunables make together, and how
 * long it takes by the model. */
#ifndef XL_OPS_GEMM_CPU_H
#define XL_OPS_GEMM_CPU_H

#include "ops/gemm/orientation.h"

enum { XL__CPU_AT_TM = XL__GEMM_TM, XL__CPU_AT_RN = XL__GEMM_TN,
       XL__CPU_AT_TK = XL__GEMM_TK, XL__CPU_AT_RM, XL__CPU_AT_VW,
       XL__CPU_AT_FORM, XL__CPU_AT_PLACE, XL__CPU_AT_GROUPS };
/* Who packs B, gemm/cpu.cl's FORM; whether A is packed. */
enum { XL__CPU_AHEAD = 1, XL__CPU_BY_GROUP, XL__CPU_UNPACKED };
enum { XL__CPU_PACKED = 1, XL__CPU_IN_PLACE };
enum { XL__CPU_LEAST_TM = 32, XL__CPU_SLAB = 64 /* gemm/cpu.cl */ };

/* Products of i8 whose sum is exact in f32. */
enum { XL__CPU_EXACT = 1024 };

struct xl__cpu_job {
    const xl_gemm *g;
    struct xl__gemm_oriented s;
    size_t tm, tk, rm, rn, vw, per_unit;
    unsigned form;
    bool in_place;
    bool keeps;        /* sums apart from C between slices of k */
    bool shares_b;     /* all products do */
    size_t value_bytes; /* of what is computed with */
    size_t slice;      /* of k, at most tk */
    size_t lines_m, lines_n, groups_m, groups_n;
    size_t pack_blocks; /* groups that pack the same lines of B */
    size_t panel_values, sum_values, ld; /* of scratch */
    size_t local_bytes;
};

/* And how that divides. False: the tunables do not fit call or device. */
bool xl__cpu_job_init(const struct xl__limits *l, const void *canonical,
                      const struct xl__params *p, struct xl__cpu_job *j);
/* Sets est_ns and bound of a plan whose flop, bytes and steps are known. */
void xl__cpu_estimate(const struct xl__limits *l, const struct xl__cpu_job *j,
                      struct xl__plan *p);
/* Values of the vectors it computes with; 0: no vectors to speak of. */
size_t xl__cpu_vector(const struct xl__limits *l, xl_dtype in);
/* the model's choice. */
void xl__cpu_choose(const struct xl__limits *l, const void *canonical,
                    struct xl__params *out);

#endif
