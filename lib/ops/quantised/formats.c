/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of quantised matrices on the host: the table, the sizes, and
 * each format's two directions for one block. Definitions and sources are
 * beside enum xl_qformat. Scales are rounded to f16 where they are stored;
 * what is computed with the stored ones is said at each function. */
#include <crosslane/qmat.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/numbers.h"
#include "ops/quantised/qgemm.h"

enum { UNIT = 32, NIBBLES = 16, LOW = 15, BLOCK_K = 256 };

/* The scale and zero of a block that has them in memory of their own. */
struct block_scale {
    float scale;
    int zero;
};

typedef bool quantise_fn(const float *x, const struct block_scale *s,
                         uint8_t *b);
typedef void dequantise_fn(const uint8_t *b, const struct block_scale *s,
                           float *x);

/* -- shared --------------------------------------------------------------- */

static float load_half(const uint8_t *b)
{
    return xl__f16_to_f32((uint16_t)(b[0] | b[1] << 8));
}

/* False: it exceeds the type. */
static bool store_half(float x, uint8_t *b)
{
    const uint16_t bits = xl__f32_to_f16(x);
    b[0] = (uint8_t)(bits & 255);
    b[1] = (uint8_t)(bits >> 8);
    return isfinite(xl__f16_to_f32(bits));
}

/* Scales below the least count as 0. */
static float inverse(float x)
{
    static const float least = 0x1p-100f;
    return fabsf(x) < least ? 0 : 1 / x;
}

/* The element of the largest magnitude, the first of several. */
static float largest(const float *x, unsigned n)
{
    float most = 0;
    for (unsigned i = 0; i < n; i++)
        most = fabsf(x[i]) > fabsf(most) ? x[i] : most;
    return most;
}

/* The first of equal ones, which may be 0 and -0. */
static void find_range(const float *x, unsigned n, float *least, float *most)
{
    for (unsigned i = 0; i < n; i++) {
        *least = x[i] < *least ? x[i] : *least;
        *most = x[i] > *most ? x[i] : *most;
    }
}

/* x rounded to an integer from lo to hi. */
static int round_to(float x, int lo, int hi)
{
    return (int)roundf(fminf(fmaxf(x, (float)lo), (float)hi));
}

/* Element i of nibbles halved, and the other direction. */
static int nibble(const uint8_t *q, unsigned i)
{
    return i < NIBBLES ? q[i] & LOW : q[i - NIBBLES] >> 4;
}
static void set_nibble(uint8_t *q, unsigned i, int value)
{
    if (i < NIBBLES)
        q[i] = (uint8_t)((q[i] & ~LOW) | value);
    else
        q[i - NIBBLES] = (uint8_t)((q[i - NIBBLES] & LOW) | value << 4);
}

static int nearest(const float *values, unsigned n, float x)
{
    unsigned best = 0;
    for (unsigned i = 1; i < n; i++)
        best = fabsf(values[i] - x) < fabsf(values[best] - x) ? i : best;
    return (int)best;
}

/* -- Q4_0, Q4_1, Q5_0, Q8_0 ----------------------------------------------- */

/* Elements are divided by the scale before it is rounded, as ggml does. */
static bool quantise_q4_0(const float *x, const struct block_scale *s,
                          uint8_t *b)
{
    const float d = largest(x, UNIT) / -8, by = inverse(d);
    (void)s;
    for (unsigned i = 0; i < UNIT; i++) {
        const double q = (double)x[i] * (double)by + 8.5;
        set_nibble(b + 2, i, (int)fmin(q, LOW));
    }
    return store_half(d, b);
}

static void dequantise_q4_0(const uint8_t *b, const struct block_scale *s,
                            float *x)
{
    const float d = load_half(b);
    (void)s;
    for (unsigned i = 0; i < UNIT; i++)
        x[i] = d * (float)(nibble(b + 2, i) - 8);
}

static bool quantise_q4_1(const float *x, const struct block_scale *s,
                          uint8_t *b)
{
    float least = x[0], most = x[0];
    (void)s;
    find_range(x, UNIT, &least, &most);
    const float d = (most - least) / LOW, by = inverse(d);
    for (unsigned i = 0; i < UNIT; i++)
        set_nibble(b + 4, i,
                   (int)fminf((x[i] - least) * by + 0.5f, (float)LOW));
    return store_half(d, b) && store_half(least, b + 2);
}

static void dequantise_q4_1(const uint8_t *b, const struct block_scale *s,
                            float *x)
{
    const float d = load_half(b), m = load_half(b + 2);
    (void)s;
    for (unsigned i = 0; i < UNIT; i++)
        x[i] = d * (float)nibble(b + 4, i) + m;
}

static bool quantise_q5_0(const float *x, const struct block_scale *s,
                          uint8_t *b)
{
    enum { MOST = 31 };
    const float d = largest(x, UNIT) / -16, by = inverse(d);
    uint32_t high = 0;
    (void)s;
    for (unsigned i = 0; i < UNIT; i++) {
        const int q = (int)fminf(x[i] * by + 16.5f, (float)MOST);
        set_nibble(b + 6, i, q & LOW);
        high |= (uint32_t)(q >> 4) << i;
    }
    for (unsigned i = 0; i < sizeof high; i++)
        b[2 + i] = (uint8_t)(high >> 8 * i);
    return store_half(d, b);
}

static void dequantise_q5_0(const uint8_t *b, const struct block_scale *s,
                            float *x)
{
    const float d = load_half(b);
    (void)s;
    for (unsigned i = 0; i < UNIT; i++) {
        const int high = b[2 + i / 8] >> i % 8 & 1;
        x[i] = d * (float)(nibble(b + 6, i) + 16 * high - 16);
    }
}

static bool quantise_q8_0(const float *x, const struct block_scale *s,
                          uint8_t *b)
{
    enum { MOST = 127 };
    const float d = fabsf(largest(x, UNIT)) / MOST, by = inverse(d);
    (void)s;
    for (unsigned i = 0; i < UNIT; i++)
        b[2 + i] = (uint8_t)round_to(x[i] * by, -MOST, MOST);
    return store_half(d, b);
}

static void dequantise_q8_0(const uint8_t *b, const struct block_scale *s,
                            float *x)
{
    const float d = load_half(b);
    (void)s;
    for (unsigned i = 0; i < UNIT; i++)
        x[i] = d * (float)(int8_t)b[2 + i];
}

/* -- Q4_K, Q6_K ----------------------------------------------------------- */

/* Of Q4_K: the part j's scale and minimum, 6 bits each, in 12 bytes. */
static void unpack_scales(const uint8_t *b, unsigned j, int *s, int *t)
{
    enum { BITS = 63 };
    if (j < 4) {
        *s = b[j] & BITS;
        *t = b[j + 4] & BITS;
    } else {
        *s = (b[j + 4] & LOW) | (b[j - 4] >> 6) << 4;
        *t = b[j + 4] >> 4 | (b[j] >> 6) << 4;
    }
}

/* All bytes are zero before the first part. */
static void pack_scales(uint8_t *b, unsigned j, int s, int t)
{
    if (j < 4) {
        b[j] = (uint8_t)(b[j] | s);
        b[j + 4] = (uint8_t)(b[j + 4] | t);
    } else {
        b[j + 4] = (uint8_t)((s & LOW) | (t & LOW) << 4);
        b[j - 4] = (uint8_t)(b[j - 4] | (s >> 4) << 6);
        b[j] = (uint8_t)(b[j] | (t >> 4) << 6);
    }
}

enum { K_PARTS = 8, K_SCALES = 4, K_ELEMS = 16, K_MOST = 63 };

/* A part's range, with 0, in 15 steps; elements by the stored scales. */
static bool quantise_q4_k(const float *x, const struct block_scale *unused,
                          uint8_t *b)
{
    float scale[K_PARTS], least[K_PARTS], s_most = 0, t_most = 0, zero = 0;
    (void)unused;
    memset(b, 0, K_ELEMS + BLOCK_K / 2);
    for (unsigned j = 0; j < K_PARTS; j++) {
        float lo = 0, hi = 0;
        find_range(x + j * UNIT, UNIT, &lo, &hi);
        scale[j] = (hi - lo) / LOW;
        least[j] = -lo;
    }
    find_range(scale, K_PARTS, &zero, &s_most);
    find_range(least, K_PARTS, &zero, &t_most);
    if (!store_half(s_most / K_MOST, b) || !store_half(t_most / K_MOST, b + 2))
        return false;
    const float d = load_half(b), m = load_half(b + 2);
    for (unsigned j = 0; j < K_PARTS; j++) {
        const int s = round_to(scale[j] * inverse(d), 0, K_MOST);
        const int t = round_to(least[j] * inverse(m), 0, K_MOST);
        const float by = inverse(d * (float)s);
        uint8_t *q = b + K_ELEMS + j / 2 * UNIT;
        pack_scales(b + K_SCALES, j, s, t);
        for (unsigned i = 0; i < UNIT; i++) {
            const int v =
                round_to((x[j * UNIT + i] + m * (float)t) * by, 0, LOW);
            q[i] = (uint8_t)(q[i] | v << 4 * (j % 2));
        }
    }
    return true;
}

static void dequantise_q4_k(const uint8_t *b, const struct block_scale *unused,
                            float *x)
{
    const float d = load_half(b), m = load_half(b + 2);
    (void)unused;
    for (unsigned j = 0; j < K_PARTS; j++) {
        const uint8_t *q = b + K_ELEMS + j / 2 * UNIT;
        int s, t;
        unpack_scales(b + K_SCALES, j, &s, &t);
        for (unsigned i = 0; i < UNIT; i++)
            x[j * UNIT + i] =
                d * (float)s * (float)(q[i] >> 4 * (j % 2) & LOW) -
                m * (float)t;
    }
}

enum { Q6_HIGH = 128, Q6_SCALES = 192, Q6_D = 208, Q6_PARTS = 16 };

/* The byte and shift of the low and high bits of element i of Q6_K. */
struct q6_place {
    unsigned low, low_shift, high, high_shift;
};
static struct q6_place q6_place(unsigned i)
{
    const unsigned half = i / 128, quarter = i / UNIT % 4, at = i % UNIT;
    return (struct q6_place){64 * half + UNIT * (quarter % 2) + at,
                             4 * (quarter / 2), UNIT * half + at, 2 * quarter};
}

static bool quantise_q6_k(const float *x, const struct block_scale *unused,
                          uint8_t *b)
{
    enum { PART = BLOCK_K / Q6_PARTS, MOST = 127 };
    float scale[Q6_PARTS];
    (void)unused;
    memset(b, 0, Q6_SCALES);
    for (unsigned j = 0; j < Q6_PARTS; j++)
        scale[j] = largest(x + j * PART, PART) / -32;
    if (!store_half(largest(scale, Q6_PARTS) / -128, b + Q6_D))
        return false;
    const float d = load_half(b + Q6_D);
    for (unsigned j = 0; j < Q6_PARTS; j++) {
        const int s = round_to(scale[j] * inverse(d), -MOST - 1, MOST);
        const float by = inverse(d * (float)s);
        b[Q6_SCALES + j] = (uint8_t)s;
        for (unsigned i = j * PART; i < (j + 1) * PART; i++) {
            const struct q6_place at = q6_place(i);
            const int q = round_to(x[i] * by, -32, 31) + 32;
            b[at.low] = (uint8_t)(b[at.low] | (q & LOW) << at.low_shift);
            b[Q6_HIGH + at.high] =
                (uint8_t)(b[Q6_HIGH + at.high] | (q >> 4) << at.high_shift);
        }
    }
    return true;
}

static void dequantise_q6_k(const uint8_t *b, const struct block_scale *unused,
                            float *x)
{
    const float d = load_half(b + Q6_D);
    (void)unused;
    for (unsigned i = 0; i < BLOCK_K; i++) {
        const struct q6_place at = q6_place(i);
        const int q = (b[at.low] >> at.low_shift & LOW) |
                      (b[Q6_HIGH + at.high] >> at.high_shift & 3) << 4;
        const int s = (int8_t)b[Q6_SCALES + i / (BLOCK_K / Q6_PARTS)];
        x[i] = d * (float)s * (float)(q - 32);
    }
}

/* -- IQ4_NL, MXFP4 -------------------------------------------------------- */

static const float iq4_values[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

/* Elements by the stored scale. */
static bool quantise_iq4_nl(const float *x, const struct block_scale *s,
                            uint8_t *b)
{
    (void)s;
    if (!store_half(largest(x, UNIT) / -127, b))
        return false;
    const float by = inverse(load_half(b));
    for (unsigned i = 0; i < UNIT; i++)
        set_nibble(b + 2, i, nearest(iq4_values, NIBBLES, x[i] * by));
    return true;
}

static void dequantise_iq4_nl(const uint8_t *b, const struct block_scale *s,
                              float *x)
{
    const float d = load_half(b);
    (void)s;
    for (unsigned i = 0; i < UNIT; i++)
        x[i] = d * iq4_values[nibble(b + 2, i)];
}

static const float mxfp4_values[] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                                     0,  -0.5f, -1, -1.5f, -2, -3, -4, -6};
enum { E8M0_BIAS = 127, E8M0_NAN = 255, E2M1_EXPONENT = 2 };

/* OCP MX 1.0, section 6.3: the exponent of the largest magnitude less that of
 * the largest element. */
static bool quantise_mxfp4(const float *x, const struct block_scale *s,
                           uint8_t *b)
{
    const float most = fabsf(largest(x, UNIT));
    const int e = most == 0 ? 0 : ilogbf(most) - E2M1_EXPONENT + E8M0_BIAS;
    (void)s;
    b[0] = (uint8_t)(e < 0 ? 0 : e);
    for (unsigned i = 0; i < UNIT; i++)
        set_nibble(
            b + 1, i,
            nearest(mxfp4_values, NIBBLES, ldexpf(x[i], E8M0_BIAS - b[0])));
    return true;
}

static void dequantise_mxfp4(const uint8_t *b, const struct block_scale *s,
                             float *x)
{
    (void)s;
    for (unsigned i = 0; i < UNIT; i++)
        x[i] = b[0] == E8M0_NAN
                   ? NAN
                   : ldexpf(mxfp4_values[nibble(b + 1, i)], b[0] - E8M0_BIAS);
}

/* -- INT4, INT8, FP8 ------------------------------------------------------ */

static bool quantise_int4(const float *x, const struct block_scale *s,
                          uint8_t *b)
{
    const float by = inverse(s->scale);
    for (unsigned i = 0; i < UNIT; i += 2) {
        const int low = round_to(x[i] * by + (float)s->zero, 0, LOW);
        const int high = round_to(x[i + 1] * by + (float)s->zero, 0, LOW);
        b[i / 2] = (uint8_t)(low | high << 4);
    }
    return true;
}

static void dequantise_int4(const uint8_t *b, const struct block_scale *s,
                            float *x)
{
    for (unsigned i = 0; i < UNIT; i++)
        x[i] = s->scale * (float)((b[i / 2] >> 4 * (i % 2) & LOW) - s->zero);
}

static bool quantise_int8(const float *x, const struct block_scale *s,
                          uint8_t *b)
{
    enum { MOST = 127 };
    const float by = inverse(s->scale);
    for (unsigned i = 0; i < UNIT; i++)
        b[i] = (uint8_t)round_to(x[i] * by, -MOST, MOST);
    return true;
}

static void dequantise_int8(const uint8_t *b, const struct block_scale *s,
                            float *x)
{
    for (unsigned i = 0; i < UNIT; i++)
        x[i] = s->scale * (float)(int8_t)b[i];
}

static bool quantise_fp8(const float *x, const struct block_scale *s,
                         uint8_t *b)
{
    const float by = inverse(s->scale);
    for (unsigned i = 0; i < UNIT; i++)
        b[i] = xl__f32_to_e4m3(x[i] * by);
    return true;
}

static void dequantise_fp8(const uint8_t *b, const struct block_scale *s,
                           float *x)
{
    for (unsigned i = 0; i < UNIT; i++)
        x[i] = s->scale * xl__e4m3_to_f32(b[i]);
}

/* The scale and zero of n elements. */
static struct block_scale fit_int4(const float *x, size_t n, bool has_zeros)
{
    enum { MIDDLE = 8 };
    float least = 0, most = 0;
    find_range(x, (unsigned)n, &least, &most);
    if (!has_zeros)
        return (struct block_scale){largest(x, (unsigned)n) / -MIDDLE, MIDDLE};
    const float scale = (most - least) / LOW;
    return (struct block_scale){scale,
                                round_to(-least * inverse(scale), 0, LOW)};
}

static struct block_scale fit_int8(const float *x, size_t n, bool has_zeros)
{
    enum { MOST = 127 };
    (void)has_zeros;
    return (struct block_scale){fabsf(largest(x, (unsigned)n)) / MOST, 0};
}

/* Of one row of a block. */
static struct block_scale fit_fp8(const float *x, size_t n, bool has_zeros)
{
    static const float most = 448, least = 0x1p-100f;
    const float scale = fabsf(largest(x, (unsigned)n)) / most;
    (void)has_zeros;
    return (struct block_scale){scale < least ? 0 : scale, 0};
}

/* -- the table ------------------------------------------------------------ */

static const struct format {
    xl_qlayout layout;
    quantise_fn *quantise;
    dequantise_fn *dequantise;
    struct block_scale (*fit)(const float *x, size_t n, bool has_zeros);
} formats[XL_N_QFORMATS] = {
    [XL_Q4_0] = {{"q4_0", UNIT, 18, false, false, XL_F16},
                 quantise_q4_0,
                 dequantise_q4_0,
                 NULL},
    [XL_Q4_1] = {{"q4_1", UNIT, 20, false, false, XL_F16},
                 quantise_q4_1,
                 dequantise_q4_1,
                 NULL},
    [XL_Q5_0] = {{"q5_0", UNIT, 22, false, false, XL_F16},
                 quantise_q5_0,
                 dequantise_q5_0,
                 NULL},
    [XL_Q8_0] = {{"q8_0", UNIT, 34, false, false, XL_F16},
                 quantise_q8_0,
                 dequantise_q8_0,
                 NULL},
    [XL_Q4_K] = {{"q4_k", BLOCK_K, 144, false, false, XL_F16},
                 quantise_q4_k,
                 dequantise_q4_k,
                 NULL},
    [XL_Q6_K] = {{"q6_k", BLOCK_K, 210, false, false, XL_F16},
                 quantise_q6_k,
                 dequantise_q6_k,
                 NULL},
    [XL_IQ4_NL] = {{"iq4_nl", UNIT, 18, false, false, XL_F16},
                   quantise_iq4_nl,
                   dequantise_iq4_nl,
                   NULL},
    [XL_MXFP4] = {{"mxfp4", UNIT, 17, false, false, XL_F16},
                  quantise_mxfp4,
                  dequantise_mxfp4,
                  NULL},
    [XL_INT4] = {{"int4", UNIT, 16, true, true, XL_F16},
                 quantise_int4,
                 dequantise_int4,
                 fit_int4},
    [XL_INT8] = {{"int8", UNIT, 32, true, false, XL_F16},
                 quantise_int8,
                 dequantise_int8,
                 fit_int8},
    [XL_FP8] = {{"fp8", UNIT, 32, true, false, XL_F32},
                quantise_fp8,
                dequantise_fp8,
                fit_fp8},
};

const xl_qlayout *xl_qformat_layout(xl_qformat format)
{
    return (unsigned)format < XL_N_QFORMATS ? &formats[format].layout : NULL;
}

xl_qformat xl_qformat_find(const char *name)
{
    unsigned i = 0;
    while (i < XL_N_QFORMATS &&
           !(name && strcmp(name, formats[i].layout.name) == 0))
        i++;
    return (xl_qformat)i;
}

/* -- whole matrices ------------------------------------------------------- */

size_t xl__qshape_group(const xl_qshape *s)
{
    const bool has_group =
        s->format == XL_INT4 || (s->format == XL_FP8 && s->group > 0);
    return has_group ? s->group : s->cols;
}

size_t xl__qshape_group_rows(const xl_qshape *s)
{
    return s->format != XL_FP8 ? 1
           : s->group_rows > 0 ? xl__min_size(s->group_rows, s->rows)
                               : s->rows;
}

xl_status xl_qshape_bytes(const xl_qshape *s, xl_qbytes *out)
{
    const xl_qlayout *f = s ? xl_qformat_layout(s->format) : NULL;
    xl_qbytes to = {0, 0, 0, 0};
    if (!f || !out)
        return XL_BAD_ARGUMENT;
    const size_t group = xl__qshape_group(s);
    if (s->rows == 0 || s->cols == 0 || s->cols % f->block != 0 ||
        (f->has_scales &&
         (group == 0 || group % f->block != 0 || s->cols % group != 0)))
        return XL_BAD_SHAPE;
    if (!xl__mul(s->cols / f->block, f->block_bytes, &to.blocks) ||
        !xl__mul(to.blocks, s->rows, &to.blocks))
        return XL_OVERFLOW;
    /* Fewer than the blocks. */
    if (f->has_scales)
        to.scales = xl__ceil_div(s->rows, xl__qshape_group_rows(s)) *
                    (s->cols / group) * xl_dtype_bytes(f->scale_dtype);
    if (f->has_zeros)
        to.zeros = s->rows * xl__ceil_div(s->cols / group, 2);
    to.bits = 8 * ((double)to.blocks + (double)to.scales + (double)to.zeros) /
              ((double)s->rows * (double)s->cols);
    *out = to;
    return XL_OK;
}

/* The scale of a group of a row. */
static void *scale_at(const xl_qshape *s, const xl_qdata *data, size_t row,
                      size_t i)
{
    const size_t at = row / xl__qshape_group_rows(s) *
                          (s->cols / xl__qshape_group(s)) +
                      i;
    return (uint8_t *)data->scales +
           at * xl_dtype_bytes(formats[s->format].layout.scale_dtype);
}

/* The scale and zero of a group of a row. */
static struct block_scale load_scale(const xl_qshape *s, const xl_qdata *data,
                                     size_t row, size_t i)
{
    const size_t n = s->cols / xl__qshape_group(s);
    const uint8_t *zeros = data->zeros, *scale = scale_at(s, data, row, i);
    struct block_scale at = {0, 0};
    if (s->format == XL_FP8)
        memcpy(&at.scale, scale, sizeof at.scale);
    else
        at.scale = load_half(scale);
    if (s->format == XL_INT4)
        at.zero =
            zeros
                ? zeros[row * xl__ceil_div(n, 2) + i / 2] >> 4 * (i % 2) & LOW
                : 8;
    return at;
}

static bool store_scale(const xl_qshape *s, const xl_qdata *data, size_t row,
                        size_t i, struct block_scale at)
{
    const size_t n = s->cols / xl__qshape_group(s);
    uint8_t *scale = scale_at(s, data, row, i);
    if (s->format == XL_INT4 && data->zeros) {
        uint8_t *z = (uint8_t *)data->zeros + row * xl__ceil_div(n, 2) + i / 2;
        *z = (uint8_t)(i % 2 ? *z | at.zero << 4 : at.zero);
    }
    if (s->format != XL_FP8)
        return store_half(at.scale, scale);
    memcpy(scale, &at.scale, sizeof at.scale);
    return true;
}

static xl_status check_data(const xl_qshape *s, const xl_qdata *data,
                            const void *elems)
{
    xl_qbytes bytes;
    const xl_status status = xl_qshape_bytes(s, &bytes);
    if (status != XL_OK)
        return status;
    return elems && data && data->blocks && (bytes.scales == 0 || data->scales)
               ? XL_OK
               : XL_BAD_ARGUMENT;
}

/* The scales of groups that begin in a row: of all elements x from that row
 * on that share one the largest. */
static xl_status fit_row(const xl_qshape *s, const float *x, size_t row,
                         const xl_qdata *out)
{
    const struct format *f = &formats[s->format];
    const size_t group = xl__qshape_group(s),
                 rows = xl__qshape_group_rows(s);
    const size_t end = xl__min_size(row + rows, s->rows);
    if (!f->fit || row % rows != 0)
        return XL_OK;
    for (size_t j = 0; j < s->cols; j += group) {
        struct block_scale most = f->fit(x + j, group, out->zeros != NULL);
        for (size_t i = 1; i < end - row; i++) {
            const float *from = x + i * s->cols + j;
            const struct block_scale at = f->fit(from, group, false);
            most.scale = at.scale > most.scale ? at.scale : most.scale;
        }
        if (!store_scale(s, out, row, j / group, most))
            return XL_BAD_SCALAR;
    }
    return XL_OK;
}

xl_status xl_qmat_quantise_host(const xl_qshape *shape, const float *src,
                                const xl_qdata *out)
{
    xl_status status = check_data(shape, out, src);
    if (status != XL_OK)
        return status;
    const struct format *f = &formats[shape->format];
    const size_t block = f->layout.block, group = xl__qshape_group(shape);
    uint8_t *b = out->blocks;
    for (size_t i = 0; i < shape->rows * shape->cols; i++) {
        if (!isfinite(src[i]))
            return XL_BAD_SCALAR;
    }
    for (size_t row = 0; row < shape->rows; row++) {
        struct block_scale s = {0, 0};
        status = fit_row(shape, src, row, out);
        if (status != XL_OK)
            return status;
        for (size_t j = 0; j < shape->cols;
             j += block, src += block, b += f->layout.block_bytes) {
            if (f->fit && j % group == 0)
                s = load_scale(shape, out, row, j / group);
            if (!f->quantise(src, &s, b))
                return XL_BAD_SCALAR;
        }
    }
    return XL_OK;
}

xl_status xl_qmat_dequantise_host(const xl_qshape *shape, const xl_qdata *data,
                                  float *dst)
{
    const xl_status status = check_data(shape, data, dst);
    if (status != XL_OK)
        return status;
    const struct format *f = &formats[shape->format];
    const size_t block = f->layout.block, group = xl__qshape_group(shape);
    const uint8_t *b = data->blocks;
    for (size_t row = 0; row < shape->rows; row++) {
        struct block_scale s = {0, 0};
        for (size_t j = 0; j < shape->cols;
             j += block, dst += block, b += f->layout.block_bytes) {
            if (f->fit && j % group == 0)
                s = load_scale(shape, data, row, j / group);
            f->dequantise(b, &s, dst);
        }
    }
    return XL_OK;
}
