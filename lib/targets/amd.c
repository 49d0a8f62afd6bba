/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's driver: ROCm on Linux, PAL on Windows. The gfx number determines the
 * facts that the driver does not return. Sources: vendor-notes/amd.md. */
#include "targets/targets.h"

#include <math.h>
#include <string.h>

#include "ops/variants.h"

#define MIB (1024.0 * 1024.0)

enum {
    TRANSACTION_BYTES = 32, /* GE-08 */
    BANKS = 32,             /* AM-08 */
    ITEM_REGISTERS = 256    /* AM-07 */
};

/* The first row whose prefix matches applies; 0 in a column: unknown. */
static const struct family {
    const char *prefix;
    double wave;       /* AM-02 */
    double lanes;      /* AM-05 */
    double registers;  /* AM-07 */
    double banks;      /* AM-08 */
    double llc_mib;    /* AM-09 */
    bool counts_pairs; /* AM-04 */
} families[] = {
    {"gfx950", 64, 128, 131072, 64, 256, false},
    {"gfx942", 64, 128, 131072, BANKS, 256, false},
    {"gfx90a", 64, 128, 131072, BANKS, 8, false},
    {"gfx908", 64, 64, 65536, BANKS, 8, false},
    {"gfx1030", 32, 64, 65536, BANKS, 128, true},
    {"gfx10", 32, 64, 65536, BANKS, 0, true},
    {"gfx1100", 32, 128, 98304, BANKS, 96, true},
    {"gfx1101", 32, 128, 98304, BANKS, 0, true},
    {"gfx1151", 32, 128, 98304, BANKS, 0, true},
    {"gfx11", 32, 128, 65536, BANKS, 0, true},
    {"gfx125", 32, 0, 0, 64, 0, false},
    {"gfx12", 32, 128, 98304, BANKS, 0, true},
    {"gfx", 64, 64, 65536, BANKS, 0, false},
};

/* The compiler's built-in for dot products of four bytes: AM-13. */
static const struct dot {
    const char *prefix, *way;
} dots[] = {
    {"gfx906", "sdot4"},  {"gfx908", "sdot4"}, {"gfx90a", "sdot4"},
    {"gfx94", "sdot4"},   {"gfx950", "sdot4"}, {"gfx1011", "sdot4"},
    {"gfx1012", "sdot4"}, {"gfx103", "sdot4"}, {"gfx11", "sudot4"},
    {"gfx120", "sudot4"},
};

static bool matches_amd(const struct xl__limits *l)
{
    return xl__str_contains(xl__text(l, XL__F_platform), "amd") &&
           xl__is(l, XL__F_is_gpu);
}

static void set_known(struct xl__limits *l, enum xl__fact_id id, double value,
                      const char *note)
{
    if (value > 0)
        xl__limits_correct(l, id, value, XL_KNOWN, note);
}

static void correct_by_family(struct xl__limits *l, const struct family *f)
{
    double units = xl__num(l, XL__F_compute_units);
    if (isnan(xl__num(l, XL__F_subgroup_width)))
        set_known(l, XL__F_subgroup_width, f->wave, "AM-02");
    if (isnan(xl__num(l, XL__F_local_banks)))
        set_known(l, XL__F_local_banks, f->banks, "AM-08");
    set_known(l, XL__F_simd_per_cu_f32, f->lanes, "AM-05");
    set_known(l, XL__F_registers_per_cu, f->registers, "AM-07");
    set_known(l, XL__F_registers_per_item, ITEM_REGISTERS, "AM-07");
    set_known(l, XL__F_llc_bytes, f->llc_mib * MIB, "AM-09");
    if (f->counts_pairs && !isnan(units))
        xl__limits_correct(l, XL__F_compute_units, 2 * units, XL_KNOWN,
                           "AM-04");
}

static void correct_dot(struct xl__limits *l, const char *arch)
{
    for (size_t i = 0; i < sizeof dots / sizeof *dots; i++)
        if (strncmp(arch, dots[i].prefix, strlen(dots[i].prefix)) == 0)
            xl__limits_correct_text(l, XL__F_dot, dots[i].way, XL_KNOWN,
                                    "AM-13");
}

static void correct_facts(struct xl__limits *l)
{
    const char *arch = xl__text(l, XL__F_arch);
    const struct xl__answer *items = &l->used[XL__F_max_wi_sizes];
    /* The work-group size is the preferred one, unless identify.c learned the
     * true one: AM-03. */
    if (items->n_list > 0 &&
        items->list[0] > xl__num_or(l, XL__F_max_wg_size, 0))
        xl__limits_correct(l, XL__F_max_wg_size, items->list[0], XL_KNOWN,
                           "AM-03");
    xl__limits_correct_text(l, XL__F_unit_id, "amdgcn", XL_KNOWN, "AM-11");
    xl__limits_correct(l, XL__F_transaction_bytes, TRANSACTION_BYTES,
                       XL_ASSUMED, "GE-08");
    if (xl__str_contains(xl__text(l, XL__F_driver), "(PAL"))
        xl__limits_correct(l, XL__F_has_watchdog, 1, XL_KNOWN, "AM-06");
    correct_dot(l, arch);
    l->model.tiles = xl__amd_tiles(arch);
    xl__amd_matrix_engine(arch, l);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(arch, families[i].prefix, strlen(families[i].prefix)) ==
            0) {
            correct_by_family(l, &families[i]);
            return;
        }
}

static const struct xl__variant *const attention[] = {
    &xl__attention_mma,
    &xl__attention_split,
    &xl__attention_flash,
    &xl__attention_ref,
    NULL,
};

static const struct xl__variant *const qgemm[] = {
    &xl__qgemm_gemm_mma, &xl__qgemm_gemm_simt, &xl__qgemm_gemm_tiled,
    &xl__qgemm_gemv,     &xl__qgemm_ref,       NULL,
};

const struct xl__vendor xl__vendor_amd = {
    .name = "amd",
    .matches = matches_amd,
    .correct = correct_facts,
    .build_options = "-DXL_EXP2_AMDGCN", /* AM-20 */
    .lane_option = "-DXL_LANE_AMDGCN",   /* AM-10 */
    .use = &xl__amd_use,
    .variants = {[XL__OP_GEMM] = xl__generic_gemm,
                 [XL__OP_SOFTMAX] = xl__generic_softmax,
                 [XL__OP_CONV] = xl__generic_conv,
                 [XL__OP_CONV_DATA] = xl__generic_conv_data,
                 [XL__OP_CONV_FILTERS] = xl__generic_conv_filters,
                 [XL__OP_ATTENTION] = attention,
                 [XL__OP_NORM] = xl__generic_norm,
                 [XL__OP_SOFTMAX_BACKWARD] = xl__generic_softmax_backward,
                 [XL__OP_NORM_BACKWARD] = xl__generic_norm_backward,
                 [XL__OP_ATTENTION_BACKWARD] = xl__generic_attention_backward,
                 [XL__OP_QGEMM] = qgemm,
                 [XL__OP_ROTARY] = xl__generic_rotary,
                 [XL__OP_QCONVERT] = xl__generic_qconvert},
};
