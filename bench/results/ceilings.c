/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ceilings, and their rates on a device. The roofline of a device
 * is min(peak, intensity * bandwidth); a ceiling is one of its peaks or
 * bandwidths. */
#include "results/ceilings.h"

#include <math.h>

#include <crosslane/crosslane.h>

/* clang-format off */
const struct ceiling ceilings[] = {
    /* fact                         name                probe      memory */
    {"copy_bytes_per_s",            "DRAM",             "bandwidth", true},
    {"llc_bytes_per_s",             "last-level cache", "bandwidth", true},
    {"l2_bytes_per_s",              "second cache",     "cache",     true},
    {"l1_bytes_per_s",              "first cache",      "cache",     true},
    {"local_bytes_per_s",           "local memory",     "local",     true},
    {"peak_f64_flop_per_s",         "FMA f64",          "flops",     false},
    {"peak_f32_flop_per_s",         "FMA f32",          "flops",     false},
    {"peak_f16_flop_per_s",         "FMA f16",          "flops",     false},
    {"peak_matrix_tf32_flop_per_s", "matrix tf32",      "matrix",    false},
    {"peak_matrix_bf16_flop_per_s", "matrix bf16",      "matrix",    false},
    {"peak_matrix_f16_flop_per_s",  "matrix f16",       "matrix",    false},
    {"peak_matrix_i8_flop_per_s",   "matrix i8",        "matrix",    false},
    {"peak_matrix_f8_flop_per_s",   "matrix f8",        "matrix",    false},
    {NULL, NULL, NULL, false},
};
/* clang-format on */

double ceiling_rate(const xl_device *dev, const struct ceiling *c)
{
    xl_fact f;
    return xl_device_fact(dev, c->fact, XL_UNKNOWN, &f) == XL_OK ? f.value
                                                                 : NAN;
}

double ceiling_ridge(const xl_device *dev, const struct ceiling *c)
{
    return c->is_memory ? NAN
                        : ceiling_rate(dev, c) / ceiling_rate(dev, ceilings);
}
