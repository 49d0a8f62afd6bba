/* SPDX-License-Identifier: Apache-2.0 */
/* Every vendor table, specific first, generic last. */
#ifndef XL_VENDOR_VENDORS_H
#define XL_VENDOR_VENDORS_H

#include "device/vendor_table.h"
#include "device/telemetry.h"

extern const struct xl__vendor xl__vendor_nvidia, xl__vendor_amd,
    xl__vendor_intel, xl__vendor_narrow_cpu, xl__vendor_cpu,
    xl__vendor_generic;

/* nvidia_matrix.c: set the matrix instructions of a compute capability, times
 * ten, and what they reach. */
void xl__nvidia_matrix_engine(unsigned cc, struct xl__limits *l);
/* amd_matrix.c: set the matrix instructions of an architecture, gfxNNN, and
 * the tiles; nothing where it has none. */
void xl__amd_matrix_engine(const char *arch, struct xl__limits *l);
/* cooperative.c: set the products that the driver states, where the table has
 * no matrix instructions. */
void xl__cooperative_engine(struct xl__limits *l);
/* amd_tiles.c: NULL: those of the class of devices. */
const struct xl__tile_sets *xl__amd_tiles(const char *arch);
/* intel_matrix.c: set the matrix instructions of an architecture, and what
 * they reach, where the driver has them. */
void xl__intel_matrix_engine(const char *arch, struct xl__limits *l);
/* intel_tiles.c */
extern const struct xl__tile_sets xl__intel_narrow_tiles,
    xl__intel_wide_tiles;
/* nvidia_ptx.c */
extern const struct xl__rebuild xl__nvidia_rebuild;
extern const struct xl__use_source xl__nvidia_use;
/* amd_notes.c */
extern const struct xl__use_source xl__amd_use;

extern const struct xl__targets xl__targets;

/* The portable lists; other tables start from these. */
extern const struct xl__variant *const xl__generic_gemm[];
extern const struct xl__variant *const xl__generic_softmax[];
extern const struct xl__variant *const xl__generic_conv[];
extern const struct xl__variant *const xl__generic_conv_data[];
extern const struct xl__variant *const xl__generic_conv_filters[];
extern const struct xl__variant *const xl__generic_attention[];
extern const struct xl__variant *const xl__generic_attention_backward[];
extern const struct xl__variant *const xl__generic_norm[];
extern const struct xl__variant *const xl__generic_norm_backward[];
extern const struct xl__variant *const xl__generic_qconvert[];
extern const struct xl__variant *const xl__generic_qgemm[];
extern const struct xl__variant *const xl__generic_rotary[];
extern const struct xl__variant *const xl__generic_softmax_backward[];

extern const struct xl__telemetry_source xl__nvidia_telemetry,
    xl__amd_telemetry, xl__intel_telemetry, xl__cpu_telemetry;

#endif
