/* SPDX-License-Identifier: Apache-2.0 */
/* Element types as a table. */
#include <crosslane/dtype.h>

static const struct {
    size_t bytes;
    const char *name;
} dtypes[XL_N_DTYPES] = {
    [XL_F32] = {4, "f32"},
    [XL_F16] = {2, "f16"},
    [XL_BF16] = {2, "bf16"},
    [XL_F64] = {8, "f64"},
    [XL_I32] = {4, "i32"},
    [XL_I8] = {1, "i8"},
    [XL_U8] = {1, "u8"},
    [XL_BOOL] = {1, "bool"},
    [XL_F8E4M3] = {1, "f8e4m3"},
    [XL_F8E5M2] = {1, "f8e5m2"},
};

static int is_known(xl_dtype dtype)
{
    return (unsigned)dtype < XL_N_DTYPES;
}

size_t xl_dtype_bytes(xl_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].bytes : 0;
}

const char *xl_dtype_name(xl_dtype dtype)
{
    return is_known(dtype) ? dtypes[dtype].name : "?";
}
