/* SPDX-License-Identifier: Apache-2.0 */
/* The products of probe/matrix_engine.cl on the host. In bytes all types lie alike: a
 * word of four bytes holds elements along k, and eight words an instruction's
 * k. Source: PTX ISA 9.0, 9.7.14.5 (which words lanes hold) and 9.7.15.5.1
 * (lines in local memory, 128-byte swizzle). */
#include "measure/compute/matrix.h"

#include <math.h>

#include "base/half.h"

/* Sums of 8-bit floats never leave the engine here: each of a turn's 256
 * instructions cuts up to 2^-12 (NV-34) off a sum that grows to its value, so
 * half of 256 2^-12 of it, and a rest. */
/* clang-format off */
const struct xl__matrix_type xl__matrix_types[XL__N_MATRIX_TYPES] = {
    /* in        keep        set         tolerance cut */
    {XL_F16,    0x87ff87ff, 0x38003800, 1e-3,     0},
    {XL_BF16,   0x80ff80ff, 0x3f003f00, 1e-3,     0},
    {XL_F32,    0x80ffe000, 0x3f000000, 1e-3,     0},
    {XL_I8,     0xffffffff, 0,          0,        0},
    {XL_F8E4M3, 0x8f8f8f8f, 0x30303030, 1e-2,     4e-2},
};
/* clang-format on */

enum {
    LANES = 32,
    WORDS_A = 4,
    WORDS_B = 2,   /* of a lane: fragments of an instruction */
    ROWS = 64,     /* of four sub-groups */
    LINE = 32,     /* words, in local memory */
    CHUNK = 4,     /* words that the swizzle moves together */
    FIRST_B = 1024 /* of a sub-group's words of B, their number */
};

struct sum {
    const struct xl__matrix_type *type;
    double value, amount;
};

static double element(xl_dtype in, uint32_t word, unsigned i)
{
    const uint16_t half = (uint16_t)(word >> 16 * (i % 2));
    const uint8_t byte = (uint8_t)(word >> 8 * (i % 4));
    union {
        uint32_t bits;
        float value;
    } whole = {word};
    switch (in) {
    case XL_F16:
        return (double)xl__f16_to_f32(half);
    case XL_BF16:
        return (double)xl__bf16_to_f32(half);
    case XL_I8:
        return byte < 128 ? byte : byte - 256;
    case XL_F8E4M3:
        return (double)xl__e4m3_to_f32(byte);
    default:
        return (double)whole.value;
    }
}

static uint32_t word_of(const struct xl__matrix_type *type, unsigned i)
{
    return (xl__probe_word(0, i) & type->keep) | type->set;
}

/* The elements of words a and b, by their numbers. */
static void add(struct sum *s, unsigned a, unsigned b)
{
    const xl_dtype in = s->type->in;
    const uint32_t x = word_of(s->type, a), y = word_of(s->type, b);
    for (unsigned i = 0; i < 4 / xl_dtype_bytes(in); i++) {
        const double product = element(in, x, i) * element(in, y, i);
        s->value += product;
        s->amount += fabs(product);
    }
}

/* Row l / 4 and column 2 (l % 4) of every chain: k is spread over four lanes,
 * whose words are 16 bytes apart. */
static void add_team(struct sum *s, unsigned lane)
{
    const unsigned row = lane / 4, col = 2 * (lane % 4);
    for (unsigned c = 0; c < XL__MATRIX_CHAINS_A * XL__MATRIX_CHAINS_B; c++) {
        const unsigned a = c / XL__MATRIX_CHAINS_B * WORDS_A;
        const unsigned b = c % XL__MATRIX_CHAINS_B * WORDS_B;
        for (unsigned k = 0; k < 2 * 4; k++) {
            const unsigned far = k / 4, from = k % 4;
            add(s, (a + 2 * far) * LANES + 4 * row + from,
                FIRST_B + (b + far) * LANES + 4 * col + from);
        }
    }
}

static unsigned in_line(unsigned line, unsigned k)
{
    return line * LINE + (k / CHUNK ^ line % 8) * CHUNK + k % CHUNK;
}

/* Sub-group w of four has rows 16 w and on, four of them a slab of A. */
static void add_teams(struct sum *s, unsigned item)
{
    enum { SLABS = 2 };
    const unsigned lane = item % LANES, warp = item / LANES;
    const unsigned row = 16 * warp + lane / 4, col = 2 * (lane % 4);
    for (unsigned k = 0; k < LINE; k++)
        add(s, in_line(row, k), SLABS * ROWS * LINE + in_line(col, k));
}

double xl__matrix_want(enum xl__matrix_way way,
                       const struct xl__matrix_type *type, unsigned item,
                       double *off)
{
    struct sum s = {type, 0, 0};
    if (way == XL__MATRIX_TEAM)
        add_team(&s, item % LANES);
    else
        add_teams(&s, item);
    *off = type->tolerance * s.amount + type->cut * fabs(s.value);
    return s.value;
}
