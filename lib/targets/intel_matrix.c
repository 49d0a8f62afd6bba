/* SPDX-License-Identifier: Apache-2.0 */
/* Intel's systolic matrix instruction (dpas) by architecture. Fragments
 * "dpas": common/intel/dpas.clh. Sources: IN-15 (shapes, extension), IN-16
 * (rates). What it reaches is computed from the binaries (IN-17), not
 * measured. */
#include "targets/targets.h"

#include <string.h>

#define DPAS(in, out, width, depth, flop)                                     \
    {                                                                         \
        .name = "dpas", .fragments = "dpas", .code = "intel", .a = in,        \
        .b = in, .sum = out, .m = 8, .n = width, .k = depth, .n_most = width, \
        .lanes = width, .flop_per_clock = flop, .note = "IN-16"               \
    }
/* The rows of one of them, by its f16 flop per clock of an execution unit. */
#define TYPES(width, flop)                                                    \
    DPAS(XL_F16, XL_F32, width, 16, flop),                                    \
        DPAS(XL_BF16, XL_F32, width, 16, flop),                               \
        DPAS(XL_I8, XL_I32, width, 32, 2 * (flop)),                           \
    {                                                                         \
        0                                                                     \
    }

static const xl_matrix_op xe_hpg[] = {TYPES(8, 128)};
static const xl_matrix_op xe_hpc[] = {TYPES(16, 512)};
static const xl_matrix_op xe2[] = {TYPES(16, 256)};

/* The cache's bytes per clock of an execution unit: IN-16. */
static const struct xl__dpas_model narrow = {
    .shown = 0.2,
    .load_bytes = 32,
    .begin_clocks = 600,
    .sums_per_clock = 4,
    .bytes_frac = 0.8,
    .locate_clocks = 80,
    .row_clocks = 1.6,
    .registers_option = "-cl-intel-256-GRF-per-thread",
};
static const struct xl__dpas_model wide = {
    .shown = 0.2,
    .load_bytes = 64,
    .begin_clocks = 600,
    .sums_per_clock = 8,
    .bytes_frac = 0.8,
    .locate_clocks = 80,
    .row_clocks = 1.6,
    .registers_option = "-cl-intel-256-GRF-per-thread",
};

static const struct {
    const char *arch;
    const xl_matrix_op *ops;
    const struct xl__dpas_model *model;
} engines[] = {
    {"xe-hpg", xe_hpg, &narrow},
    {"xe-lpg+", xe_hpg, &narrow},
    {"xe-hpc", xe_hpc, &wide},
    {"xe2", xe2, &wide},
};

void xl__intel_matrix_engine(const char *arch, struct xl__limits *l)
{
    if (!xl__has_extension(l,
                           "cl_intel_subgroup_matrix_multiply_accumulate") ||
        !xl__has_extension(l, "cl_intel_subgroups_short") ||
        !xl__has_extension(l, "cl_intel_required_subgroup_size"))
        return;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        if (strcmp(arch, engines[i].arch) == 0) {
            l->matrix_ops = engines[i].ops;
            l->model.dpas = engines[i].model;
        }
    }
}
