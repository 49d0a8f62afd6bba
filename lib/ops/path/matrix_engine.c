/* SPDX-License-Identifier: Apache-2.0 */
/* The fact `mma` selects the instructions. Its text is defined by the vendor
 * table and by cl/common/matrix.clh. */
#include "ops/path/matrix_engine.h"

#include "device/peak_rates.h"

const char *xl__mma_refused(const struct xl__limits *l, xl_dtype in)
{
    if (!*xl__text(l, XL__F_mma))
        return "no matrix instructions of a sub-group are known for this "
               "device";
    if (in != XL_F16 && in != XL_BF16 && in != XL_I8 && in != XL_F32)
        return "matrix instructions support f16, bf16, i8 and rounded f32 "
               "only";
    return NULL;
}

double xl__mma_rate(const struct xl__limits *l, xl_dtype in)
{
    /* Where four sub-groups have instructions of their own, one's do not
     * keep the engine busy: NV-35. */
    static const double alone = 0.75;
    const double rate = xl__rate_matrix(l, in);
    if (rate == 0)
        return xl__rate_fma(l);
    return rate * (*xl__text(l, XL__F_wgmma) ? alone : 1);
}

void xl__mma_define(struct xl__step *s, const struct xl__limits *l)
{
    xl__define_choice(s, "XL_MMA", xl__text(l, XL__F_mma));
    xl__define_choice(s, "XL_COPY", xl__text(l, XL__F_mma));
}
