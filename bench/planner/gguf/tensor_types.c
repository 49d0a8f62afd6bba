/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of tensors and their values. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/error.h"
#include "planner/gguf/container.h"

/* clang-format off */
static const struct gguf_type types[] = {
    {.id = 0, .name = "f32", .dtype = XL_F32},
    {.id = 1, .name = "f16", .dtype = XL_F16},
    {.id = 30, .name = "bf16", .dtype = XL_BF16},
    {2, "q4_0", true, XL_F32, XL_Q4_0}, {3, "q4_1", true, XL_F32, XL_Q4_1},
    {6, "q5_0", true, XL_F32, XL_Q5_0}, {8, "q8_0", true, XL_F32, XL_Q8_0},
    {12, "q4_k", true, XL_F32, XL_Q4_K}, {14, "q6_k", true, XL_F32, XL_Q6_K},
    {20, "iq4_nl", true, XL_F32, XL_IQ4_NL},
    {39, "mxfp4", true, XL_F32, XL_MXFP4},
};
/* Those that have no format of the library, for messages. */
static const struct {
    uint32_t id;
    const char *name;
} others[] = {
    {7, "q5_1"}, {9, "q8_1"}, {10, "q2_k"}, {11, "q3_k"}, {13, "q5_k"},
    {15, "q8_k"}, {16, "iq2_xxs"}, {17, "iq2_xs"}, {18, "iq3_xxs"},
    {19, "iq1_s"}, {21, "iq3_s"}, {22, "iq2_s"}, {23, "iq4_xs"}, {24, "i8"},
    {25, "i16"}, {26, "i32"}, {27, "i64"}, {28, "f64"}, {29, "iq1_m"},
    {34, "tq1_0"}, {35, "tq2_0"}, {40, "nvfp4"},
};
/* clang-format on */
enum {
    N_TYPES = sizeof types / sizeof *types,
    N_OTHERS = sizeof others / sizeof *others
};

const struct gguf_type *gguf_find_type(uint32_t id)
{
    for (unsigned i = 0; i < N_TYPES; i++)
        if (types[i].id == id)
            return &types[i];
    return NULL;
}

void gguf_list_types(uint32_t id, struct xl__str *why)
{
    const char *name = "unknown";
    for (unsigned i = 0; i < N_OTHERS; i++)
        if (others[i].id == id)
            name = others[i].name;
    xl__str_printf(why,
                   "the format %s (%" PRIu32 "), which is not supported: must "
                   "be one of",
                   name, id);
    for (unsigned i = 0; i < N_TYPES; i++)
        xl__str_printf(why, " %s", types[i].name);
}

xl_status gguf_read_rows(const struct gguf_tensor *t, size_t first,
                         size_t rows, float *out)
{
    xl_status status = XL_OK;
    const size_t row = gguf_row_bytes(t);
    const xl_qshape shape = {t->type->format, rows, t->cols, 0, 0};
    unsigned char *data = xl__calloc(rows, row);
    TRY(data ? XL_OK : XL_NO_MEMORY);
    TRY(gguf_read(t, first * row, rows * row, data));
    if (t->type->is_quantised) {
        const xl_qdata from = {.blocks = data};
        TRY(xl_qmat_dequantise_host(&shape, &from, out));
    }
    for (size_t i = 0; !t->type->is_quantised && i < rows * t->cols; i++)
        out[i] = (float)xl__dtype_load(data, i, t->type->dtype);
fail:
    free(data);
    return status;
}
