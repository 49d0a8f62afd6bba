/* SPDX-License-Identifier: Apache-2.0 */
/* The bindings of fuzz_expr.c, selected by the first byte of its input: seven
 * sets of shapes and types with the same names, so that one text has many
 * cases; and the devices to plan for. */
#ifndef XL_FUZZ_EXPR_SHAPES_H
#define XL_FUZZ_EXPR_SHAPES_H

#include "expr/graph/group.h"

enum { SHAPE_SETS = 8, SHAPE_NAMES = 14, DEVICES = 4 };

struct shape {
    const char *name;      /* NULL: the end */
    xl_dtype dtype;
    bool is_scalar;
    unsigned n_dims;
    size_t size[XL_MAX_DIMS];
    size_t stride[XL_MAX_DIMS]; /* all 0: dense */
    char same;             /* those with the same letter are one memory */
};

struct device {
    double is_cpu, units, max_wg, local_bytes, on_chip, width, registers,
        vector;
};

/* clang-format off */
#define VECTOR(name)  {name, XL_F32, false, 1, {37}, {0}, 0}
#define MATRIX(name)  {name, XL_F32, false, 2, {5, 12}, {0}, 0}
#define FLIPPED(name, type) {name, type, false, 2, {12, 5}, {1, 12}, 0}
#define HEADS(name)   {name, XL_F32, false, 4, {2, 3, 4, 8}, {96, 8, 24, 1}, 0}
#define HUGE(name)    {name, XL_F16, false, 2, {65536, 65536}, {0}, 0}
#define SCALAR(name, type) {name, type, true, 0, {0}, {0}, 0}
#define LONG(name)    {name, XL_F32, false, 2, {3, 300}, {301, 1}, 0}

static const struct shape shapes[SHAPE_SETS][SHAPE_NAMES] = {
    {VECTOR("x"), VECTOR("a"), VECTOR("b"), VECTOR("c"), VECTOR("g"),
     VECTOR("m"), VECTOR("v"), VECTOR("p"), VECTOR("y"), VECTOR("z"),
     SCALAR("s", XL_F32), SCALAR("k", XL_I32), VECTOR("out")},

    {{"x", XL_F32, false, 2, {5, 12}, {0}, 'x'}, {"a", XL_F32, false, 1, {12}, {0}, 0},
     {"b", XL_F32, false, 2, {5, 1}, {0}, 0}, MATRIX("c"),
     {"g", XL_F32, false, 1, {12}, {0}, 0}, MATRIX("m"),
     {"v", XL_F32, false, 2, {5, 12}, {0}, 'x'}, MATRIX("p"), MATRIX("y"),
     {"z", XL_F32, false, 2, {5, 1}, {0}, 0}, SCALAR("s", XL_F32),
     SCALAR("k", XL_I32), MATRIX("out")},

    {FLIPPED("x", XL_F16), {"a", XL_BF16, false, 2, {12, 5}, {0}, 0},
     {"b", XL_F32, false, 1, {5}, {3}, 0}, {"c", XL_F32, false, 2, {12, 1}, {0}, 0},
     FLIPPED("g", XL_F32), FLIPPED("m", XL_F16), FLIPPED("v", XL_F32),
     {"p", XL_F32, false, 2, {12, 5}, {7, 1}, 0},
     {"y", XL_BF16, false, 2, {12, 5}, {7, 1}, 0},
     {"z", XL_F16, false, 1, {5}, {0}, 0}, SCALAR("s", XL_F32),
     SCALAR("k", XL_I32), FLIPPED("out", XL_F32)},

    {{"x", XL_I32, false, 2, {8, 9}, {0}, 0}, {"a", XL_U8, false, 1, {9}, {0}, 0},
     {"b", XL_BOOL, false, 2, {8, 9}, {0}, 0}, {"c", XL_I8, false, 2, {8, 1}, {0}, 0},
     {"g", XL_F32, false, 2, {8, 9}, {0}, 0}, {"m", XL_BOOL, false, 1, {9}, {0}, 0},
     {"v", XL_I32, false, 2, {8, 9}, {1, 8}, 0}, {"p", XL_U8, false, 2, {8, 9}, {0}, 0},
     {"y", XL_I32, false, 2, {8, 9}, {0}, 0}, {"z", XL_I8, false, 2, {8, 9}, {0}, 0},
     SCALAR("s", XL_F32), SCALAR("k", XL_I32),
     {"out", XL_F32, false, 2, {8, 9}, {0}, 0}},

    {SCALAR("x", XL_F32), {"a", XL_F32, false, 0, {0}, {0}, 0}, SCALAR("b", XL_I32),
     {"c", XL_I32, false, 1, {1}, {0}, 0}, SCALAR("g", XL_F32),
     SCALAR("m", XL_F32), SCALAR("v", XL_F32), {"p", XL_F32, false, 0, {0}, {0}, 0},
     {"y", XL_F32, false, 2, {1, 1}, {0}, 0}, {"z", XL_I32, false, 0, {0}, {0}, 0},
     SCALAR("s", XL_F32), SCALAR("k", XL_I32),
     {"out", XL_F32, false, 1, {1}, {0}, 0}},

    {HEADS("x"), {"a", XL_F32, false, 2, {4, 8}, {0}, 0}, {"b", XL_F32, false, 2, {4, 1}, {0}, 0},
     {"c", XL_F32, false, 2, {4, 4}, {0}, 0}, {"g", XL_F32, false, 1, {8}, {0}, 0},
     {"m", XL_F32, false, 6, {1, 1, 2, 1, 4, 8}, {0}, 0},
     {"v", XL_F32, false, 3, {3, 1, 8}, {0}, 0},
     {"p", XL_F32, false, 4, {2, 3, 4, 8}, {0}, 0},
     {"y", XL_F32, false, 4, {2, 3, 4, 8}, {0}, 0},
     {"z", XL_F32, false, 2, {2, 3}, {0}, 0}, SCALAR("s", XL_F32),
     SCALAR("k", XL_I32), HEADS("out")},

    {HUGE("x"), {"a", XL_F32, false, 1, {65536}, {0}, 0},
     {"b", XL_F32, false, 2, {65536, 1}, {0}, 0}, HUGE("c"), HUGE("g"), HUGE("m"),
     {"v", XL_F32, false, 2, {65536, 65536}, {1, 65536}, 0}, HUGE("p"),
     {"y", XL_F32, false, 2, {65536, 65536}, {0}, 0},
     {"z", XL_F32, false, 2, {65536, 1}, {0}, 0}, SCALAR("s", XL_F32),
     SCALAR("k", XL_I32), {"out", XL_F32, false, 2, {65536, 65536}, {0}, 0}},

    {LONG("x"), {"a", XL_F32, false, 1, {300}, {2}, 0}, {"b", XL_F32, false, 2, {3, 1}, {0}, 0},
     {"c", XL_F32, false, 2, {3, 300}, {0, 1}, 0}, LONG("g"), LONG("m"), LONG("v"),
     LONG("p"), {"y", XL_F32, false, 2, {3, 300}, {0}, 0},
     {"z", XL_F32, false, 1, {3}, {0}, 0}, SCALAR("s", XL_F32),
     SCALAR("k", XL_I32), LONG("out")},
};

static const struct device devices[DEVICES] = {
    /* cpu units wg   local   chip width registers vector */
    {0,    132, 1024,  49152,  1,   32,   65536,    1},
    {1,      2, 4096, 1048576, 0,   16,      -1,   16},
    {0,      8,   64,   1024,  0,    8,      -1,    4},
    {0,      1,    1,   1024,  1,    1,      -1,    1},
};
/* clang-format on */

#endif
