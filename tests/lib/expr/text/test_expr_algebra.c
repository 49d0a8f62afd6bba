/* SPDX-License-Identifier: Apache-2.0 */
/* Algebraic simplification. Rules: the resulting graph as text, compared with
 * an expected text. Values: random expressions over zeros of both signs,
 * infinities, NaN, subnormals and the ends of i32; the graph must give, bit
 * for bit, what C gives for the expression as written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "expr/graph/group_eval.h"
#include "expr/host/interval.h"
#include "expr/host/operation_value.h"
#include "support/support.h"
#include "lib/expr/text/expr_bind.h"

#define XY "x:f32[4,5] y:f32[4,5]"
#define XZY "x:f32[4,5] z:f32[4,5] y:f32[4,5]"
#define IY "i:i32[4,5] y:i32[4,5]"
#define ABCY "a:f32[1] b:f32[1] c:f32[1] y:f32[1]"
#define ABY "a:f32[1] b:f32[1] y:f32[1]"
#define Y "y:f32[1]"

/* -- rules ------------------------------------------------------------ */

static const struct test_golden sharing[] = {
    {"y = x*z + z*x", XZY, "y = x * z + x * z: f32[4,5]; 4 nodes"},
    {"y = (x+z)*(z+x) - min(x,z)*min(z,x)", XZY,
     "y = (x + z) * (x + z) - min(x, z) * min(x, z): f32[4,5]; 7 nodes"},
    {"y = x - z - (z - x)", XZY, "y = x - z - (z - x): f32[4,5]; 5 nodes"},
    {"y = fma(x, z, 1) + fma(z, x, 1)", XZY,
     "y = fma(x, z, 1) + fma(x, z, 1): f32[4,5]; 5 nodes"},
    {"y = exp(x) + exp(x)", XY, "y = exp(x) + exp(x): f32[4,5]; 3 nodes"},
    {"y = 1 + x; z = x + 1.0", "x:f32[4,5] y:f32[4,5] z:f32[4,5]",
     "y = x + 1: f32[4,5]; z = x + 1: f32[4,5]; 3 nodes"},
    {"y = sin(x)^2 + cos(x)^2", XY,
     "y = sin(x) * sin(x) + cos(x) * cos(x): f32[4,5]; 6 nodes"},
    {"y = x + 0.0 + (x + -0.0)", XY, "y = x + 0 + x: f32[4,5]; 4 nodes"},
    {"y = where(x > 0, 1, nan) + where(x > 0, 1, nan)", XY,
     "y = where(x > 0, 1, nan) + where(x > 0, 1, nan): f32[4,5]; 7 nodes"},
    {"y = where((x > z) == (z < x), x, z)", XZY,
     "y = where(cast(x > z, i32) == cast(z < x, i32), x, z): f32[4,5]; 8 "
     "nodes"},
    {"y = mean(x) + mean(x, axis=(0, 1)) + mean(x, axis=(1, 0)) + mean(x, "
     "axis=-1)",
     XY,
     "y = mean(x) + mean(x) + mean(x) + mean(x, axis=1): f32[4,1]; 6 nodes"},
};

static const struct test_golden exact[] = {
    {"y = x*1 + x/1", XY, "y = x + x: f32[4,5]; 2 nodes"},
    {"y = x + 0", XY, "y = x + 0: f32[4,5]; 3 nodes"},
    {"y = x - 0", XY, "y = x: f32[4,5]; 1 node"},
    {"y = x + -0.0", XY, "y = x: f32[4,5]; 1 node"},
    {"y = 0 - x", XY, "y = 0 - x: f32[4,5]; 3 nodes"},
    {"y = x*0", XY, "y = x * 0: f32[4,5]; 3 nodes"},
    {"y = x - x", XY, "y = x - x: f32[4,5]; 2 nodes"},
    {"y = x / x", XY, "y = x / x: f32[4,5]; 2 nodes"},
    {"y = --x", XY, "y = x: f32[4,5]; 1 node"},
    {"y = x * -1", XY, "y = -x: f32[4,5]; 2 nodes"},
    {"y = x / -1", XY, "y = -x: f32[4,5]; 2 nodes"},
    {"y = abs(abs(x))", XY, "y = abs(x): f32[4,5]; 2 nodes"},
    {"y = abs(-x)", XY, "y = abs(x): f32[4,5]; 2 nodes"},
    {"y = relu(relu(x))", XY, "y = relu(x): f32[4,5]; 2 nodes"},
    {"y = sign(sign(x))", XY, "y = sign(x): f32[4,5]; 2 nodes"},
    {"y = floor(round(x))", XY, "y = round(x): f32[4,5]; 2 nodes"},
    {"y = floor(i)", IY, "y = i: i32[4,5]; 1 node"},
    {"y = floor(x)", "x:i8[4] y:f32[4]", "y = cast(x, f32): f32[4]; 2 nodes"},
    {"y = ceil(cast(i, f32))", "i:i32[4] y:f32[4]",
     "y = cast(i, f32): f32[4]; 2 nodes"},
    {"y = x - -z", XZY, "y = x + z: f32[4,5]; 3 nodes"},
    {"y = x + -z", XZY, "y = x - z: f32[4,5]; 3 nodes"},
    {"y = -x + z", XZY, "y = z - x: f32[4,5]; 3 nodes"},
    {"y = -x * -z", XZY, "y = x * z: f32[4,5]; 3 nodes"},
    {"y = -x - z", XZY, "y = -x - z: f32[4,5]; 4 nodes"},
    {"y = min(x, x) + max(x, x)", XY, "y = x + x: f32[4,5]; 2 nodes"},
    {"y = where(true, x, 1)", XY, "y = x: f32[4,5]; 1 node"},
    {"y = where(false, x, 1)", XY, "y = 1: f32[4,5]; 1 node"},
    {"y = where(b, x, x)", "b:bool[4] x:f32[4] y:f32[4]",
     "y = x: f32[4]; 1 node"},
    {"y = where(b, x, x)", "b:bool[4,1] x:f32[5] y:f32[4,5]",
     "y = where(b, x, x): f32[4,5]; 3 nodes"},
    {"y = sum(where(true, 1, x))", "x:f32[4] y:f32[]",
     "y = 4: f32[1]; 1 node"},
    {"y = !!b", "b:bool[4] y:bool[4]", "y = b: bool[4]; 1 node"},
    {"y = (b & true) | false", "b:bool[4] y:bool[4]",
     "y = b: bool[4]; 1 node"},
    {"y = b & false", "b:bool[4] y:bool[4]", "y = false: bool[4]; 1 node"},
    {"y = b | true", "b:bool[4] y:bool[4]", "y = true: bool[4]; 1 node"},
    {"y = b & b", "b:bool[4] y:bool[4]", "y = b: bool[4]; 1 node"},
    {"y = i + 0 + i*1 - 0", IY, "y = i + i: i32[4,5]; 2 nodes"},
    {"y = i * 0", IY, "y = 0: i32[4,5]; 1 node"},
    {"y = i - i", IY, "y = 0: i32[4,5]; 1 node"},
    {"y = b*2 - b*2", "b:bool[4] y:i32[4]", "y = 0: i32[4]; 1 node"},
    {"y = x / 4", XY, "y = x * 0.25: f32[4,5]; 3 nodes"},
    {"y = x / -0.5", XY, "y = x * -2: f32[4,5]; 3 nodes"},
    {"y = x / 3", XY, "y = x / 3: f32[4,5]; 3 nodes"},
    {"y = x / 0", XY, "y = x / 0: f32[4,5]; 3 nodes"},
    {"y = x / 1e-45", XY, "y = x / 1e-45: f32[4,5]; 3 nodes"},
    {"y = x / inf", XY, "y = x / inf: f32[4,5]; 3 nodes"},
    {"y = 4 / x", XY, "y = 4 / x: f32[4,5]; 3 nodes"},
    {"y = x * 1e-45", XY, "y = x * 1e-45: f32[4,5]; 3 nodes"},
    {"y = x * ones", "x:f32[4] ones:f32[5,4] y:f32[5,4]",
     "y = x * ones: f32[5,4]; 3 nodes"},
    {"y = x * where(true, 1, z)", "x:f32[4] z:f32[5,4] y:f32[5,4]",
     "y = x * 1: f32[5,4]; 3 nodes"},
    {"y = sum((x - mean(x))^2)", "x:f32[4] y:f32[]",
     "y = sum((x - mean(x)) * (x - mean(x))): f32[1]; 5 nodes"},
    {"y = mean((x - mean(x, axis=1))^2, axis=1)", "x:f32[4,5] y:f32[4]",
     "y = mean((x - mean(x, axis=1)) * (x - mean(x, axis=1)), axis=1): "
     "f32[4,1]; 5 nodes"},
    {"y = mean((x - mean(x))^2, axis=1)", "x:f32[4,5] y:f32[4]",
     "y = mean((x - mean(x)) * (x - mean(x)), axis=1): f32[4,1]; 5 nodes"},
    {"y = sum(where(true, 1000000000, i))", "i:i32[4] y:i32[]",
     "y = -294967296: i32[1]; 1 node"},
    {"y = max(where(true, 3, i))", "i:i32[4] y:i32[]",
     "y = 3: i32[1]; 1 node"},
    {"y = prod(where(true, -3, i))", "i:i32[4] y:i32[]",
     "y = 81: i32[1]; 1 node"},
    {"y = prod(where(true, 2, i))", "i:i32[31] y:i32[]",
     "y = -2147483648: i32[1]; 1 node"},
    {"y = prod(where(true, 0.5, x))", "x:f32[4] y:f32[]",
     "y = 0.0625: f32[1]; 1 node"},
    {"y = norm2(where(true, -3, x))", "x:f32[4] y:f32[]",
     "y = 6: f32[1]; 1 node"},
    {"y = var(where(true, -3, x))", "x:f32[4] y:f32[]",
     "y = 0: f32[1]; 1 node"},
    {"y = var(where(true, inf, x))", "x:f32[4] y:f32[]",
     "y = nan: f32[1]; 1 node"},
    {"y = logsumexp(where(true, 0, x))", "x:f32[4] y:f32[]",
     "y = 1.3862944: f32[1]; 1 node"},
    {"y = argmax(where(true, 2, x))", "x:f32[4] y:i32[]",
     "y = 0: i32[1]; 1 node"},
};

static const struct test_golden powers[] = {
    {"y = x^0", XY, "y = 1: f32[4,5]; 1 node"},
    {"y = x^1", XY, "y = x: f32[4,5]; 1 node"},
    {"y = x^2", XY, "y = x * x: f32[4,5]; 2 nodes"},
    {"y = x^3", XY, "y = x * (x * x): f32[4,5]; 3 nodes"},
    {"y = x^5", XY, "y = x * (x * x * (x * x)): f32[4,5]; 4 nodes"},
    {"y = x^16", XY,
     "y = x * x * (x * x) * (x * x * (x * x)) * (x * x * (x * x) * (x * x * "
     "(x * x))): f32[4,5]; 5 nodes"},
    {"y = x^17", XY, "y = x ^ 17: f32[4,5]; 3 nodes"},
    {"y = x^-1", XY, "y = 1 / x: f32[4,5]; 3 nodes"},
    {"y = x^-2", XY, "y = 1 / x * (1 / x): f32[4,5]; 4 nodes"},
    {"y = x^-3", XY, "y = 1 / x * (1 / x * (1 / x)): f32[4,5]; 5 nodes"},
    {"y = x^-5", XY,
     "y = 1 / x * (1 / x * (1 / x) * (1 / x * (1 / x))): f32[4,5]; 6 nodes"},
    {"y = x^-6", XY, "y = x ^ (-6): f32[4,5]; 3 nodes"},
    {"y = x^2.0", XY, "y = x * x: f32[4,5]; 2 nodes"},
    {"y = x^0.5", XY, "y = x ^ 0.5: f32[4,5]; 3 nodes"},
    {"y = x^-0.5", XY, "y = x ^ (-0.5): f32[4,5]; 3 nodes"},
    {"y = x^z", XZY, "y = x ^ z: f32[4,5]; 3 nodes"},
    {"y = 2^x", XY, "y = 2 ^ x: f32[4,5]; 3 nodes"},
    {"y = i^2", IY, "y = i * i: i32[4,5]; 2 nodes"},
    {"y = i^31", IY,
     "y = i * (i * i) * (i * i * (i * i)) * (i * i * (i * i) * (i * i * (i "
     "* i))) * (i * i * (i * i) * (i * i * (i * i)) * (i * i * (i * i) * (i "
     "* i * (i * i)))): i32[4,5]; 9 nodes"},
    {"y = i^0", IY, "y = 1: i32[4,5]; 1 node"},
    {"y = i^-1", "i:i32[4] y:f32[4]", "y = 1 / cast(i, f32): f32[4]; 4 nodes"},
    {"y = i^n", "i:i32[4] n:i32 y:f32[4]",
     "y = cast(i, f32) ^ cast(n, f32): f32[4]; 5 nodes"},
    {"y = b^2", "b:bool[4] y:i32[4]",
     "y = cast(b, i32) * cast(b, i32): i32[4]; 3 nodes"},
    {"y = i^2.0", "i:i32[4] y:f32[4]",
     "y = cast(i, f32) * cast(i, f32): f32[4]; 3 nodes"},
    {"y = 2^10", "y:i32[4]", "y = 1024: i32[]; 1 node"},
    {"y = 2^-1", "y:f32[4]", "y = 0.5: f32[]; 1 node"},
    {"y = (-2)^31", "y:i32[4]", "y = -2147483648: i32[]; 1 node"},
    {"y = pow(x, 3)", XY, "y = x * (x * x): f32[4,5]; 3 nodes"},
    {"y = x^(1+1)", XY, "y = x * x: f32[4,5]; 2 nodes"},
    {"y = -x^2", XY, "y = -(x * x): f32[4,5]; 3 nodes"},
    {"y = (-x)^2", XY, "y = x * x: f32[4,5]; 2 nodes"},
    {"y = x^2^2", XY, "y = x * x * (x * x): f32[4,5]; 3 nodes"},
    {"y = (x^2)^2", XY, "y = x * x * (x * x): f32[4,5]; 3 nodes"},
    {"y = nan^0", Y, "y = 1: f32[]; 1 node"},
};

static const struct test_golden constants[] = {
    {"y = 1/3", Y, "y = 0.33333334: f32[]; 1 node"},
    {"y = 0.1 + 0.2", Y, "y = 0.3: f32[]; 1 node"},
    {"y = 1/0", Y, "y = inf: f32[]; 1 node"},
    {"y = -1/0", Y, "y = -inf: f32[]; 1 node"},
    {"y = 0/0", Y, "y = nan: f32[]; 1 node"},
    {"y = -0.0", Y, "y = -0.0: f32[]; 1 node"},
    {"y = 1/-0.0", Y, "y = -inf: f32[]; 1 node"},
    {"y = -0", Y, "y = 0: f32[]; 1 node"},
    {"y = sqrt(2) * exp(1) + pi", Y, "y = 6.9858236: f32[]; 1 node"},
    {"y = round(2.5) + round(-3.5)", Y, "y = -2: f32[]; 1 node"},
    {"y = 7/2", Y, "y = 3.5: f32[]; 1 node"},
    {"y = mod(-7, 3)", "y:i32[1]", "y = 2: i32[]; 1 node"},
    {"y = fmod(-7, 3)", "y:i32[1]", "y = -1: i32[]; 1 node"},
    {"y = -7 // 2 + (7 // 0) + 7 % 0", "y:i32[1]", "y = -4: i32[]; 1 node"},
    {"y = -2147483648 // -1", "y:i32[1]", "y = -2147483648: i32[]; 1 node"},
    {"y = (1 << 31) + (-8 >> 2) + (3 << 32) + (-3 >> -1)", "y:i32[1]",
     "y = 2147483645: i32[]; 1 node"},
    {"y = xor(12, 10) * 100 + ~(12 | 10) + (12 & 10)", "y:i32[1]",
     "y = 593: i32[]; 1 node"},
    {"y = atan2(1, -1) - acos(-0.5)", Y, "y = 0.26179934: f32[]; 1 node"},
    {"y = i & -1 | 0", IY, "y = i: i32[4,5]; 1 node"},
    {"y = (i & 0) + (i << 0) // 1 + xor(i, 0)", IY,
     "y = i + i: i32[4,5]; 2 nodes"},
    {"y = ~~i", IY, "y = i: i32[4,5]; 1 node"},
    {"y = 65536*65536 + 5", "y:i32[1]", "y = 5: i32[]; 1 node"},
    {"y = 16777216 + 1.0", Y, "y = 16777216: f32[]; 1 node"},
    {"y = 1 < 2 & 3 >= 4 | nan != nan", "y:bool[1]",
     "y = true: bool[]; 1 node"},
    {"y = min(nan, 1)", Y, "y = nan: f32[]; 1 node"},
    {"y = 1e38 * 10", Y, "y = inf: f32[]; 1 node"},
    {"y = where(1 > 2, 3, 4.5)", Y, "y = 4.5: f32[]; 1 node"},
    {"y = clamp(12, 0, 7)", "y:i32[1]", "y = 7: i32[]; 1 node"},
    {"y = fma(2, 3, 4)", Y, "y = 10: f32[]; 1 node"},
    {"y = gelu(0) + sigmoid(0)", Y, "y = 0.5: f32[]; 1 node"},
    {"y = x * (1/0.9) + 2*3", XY, "y = x * 1.1111112 + 6: f32[4,5]; 5 nodes"},
};

static const struct test_golden printing[] = {
    {"y = (a - b) - c", ABCY, "y = a - b - c: f32[1]; 5 nodes"},
    {"y = a - (b - c)", ABCY, "y = a - (b - c): f32[1]; 5 nodes"},
    {"y = a / (b * c)", ABCY, "y = a / (b * c): f32[1]; 5 nodes"},
    {"y = a * b / c", ABCY, "y = a * b / c: f32[1]; 5 nodes"},
    {"y = (a + b) * c", ABCY, "y = (a + b) * c: f32[1]; 5 nodes"},
    {"y = (a^b)^c", ABCY, "y = (a ^ b) ^ c: f32[1]; 5 nodes"},
    {"y = a^b^c", ABCY, "y = a ^ b ^ c: f32[1]; 5 nodes"},
    {"y = (-a)^b", ABY, "y = (-a) ^ b: f32[1]; 4 nodes"},
    {"y = -(a^b)", ABY, "y = -a ^ b: f32[1]; 4 nodes"},
    {"y = -(a + b)", ABY, "y = -(a + b): f32[1]; 4 nodes"},
    {"y = -a * b", ABY, "y = -a * b: f32[1]; 4 nodes"},
    {"y = !(a < b) & (a == b | a != 2)", "a:f32[1] b:f32[1] y:bool[1]",
     "y = !(a < b) & (a == b | a != 2): bool[1]; 9 nodes"},
    {"y = (a < b) == (b < a)", "a:f32[1] b:f32[1] y:bool[1]",
     "y = cast(a < b, i32) == cast(b < a, i32): bool[1]; 7 nodes"},
    {"y = a^-2.5 + -1.5 * b", ABY,
     "y = a ^ (-2.5) + b * -1.5: f32[1]; 7 nodes"},
    {"y = (-2.5)^a", "a:f32[1] y:f32[1]", "y = (-2.5) ^ a: f32[1]; 3 nodes"},
    {"y = 1e-30 * x + 1234567 * x - 0.1", XY,
     "y = x * 1e-30 + x * 1234567 - 0.1: f32[4,5]; 8 nodes"},
    {"y = x * 3.4028235e38 + x * 1e-45", XY,
     "y = x * 3.4028235e+38 + x * 1e-45: f32[4,5]; 6 nodes"},
};

static const struct test_golden fast[] = {
    {"y = x + 0", XY, "y = x: f32[4,5]; 1 node"},
    {"y = x * 0", XY, "y = 0: f32[4,5]; 1 node"},
    {"y = x - x", XY, "y = 0: f32[4,5]; 1 node"},
    {"y = x / 3", XY, "y = x * 0.33333334: f32[4,5]; 3 nodes"},
    {"y = x / 0", XY, "y = x / 0: f32[4,5]; 3 nodes"},
    {"y = x^0.5", XY, "y = sqrt(x): f32[4,5]; 2 nodes"},
    {"y = x^-0.5", XY, "y = rsqrt(x): f32[4,5]; 2 nodes"},
    {"y = 1 / sqrt(x)", XY, "y = rsqrt(x): f32[4,5]; 2 nodes"},
    {"y = 2 / sqrt(x)", XY, "y = 2 / sqrt(x): f32[4,5]; 4 nodes"},
    {"y = x / z", XZY, "y = x / z: f32[4,5]; 3 nodes"},
    {"y = x^17", XY, "y = x ^ 17: f32[4,5]; 3 nodes"},
    {"y = x^2.5", XY, "y = x ^ 2.5: f32[4,5]; 3 nodes"},
    {"y = var(x, axis=1)", "x:f32[4,1] y:f32[4]", "y = 0: f32[4,1]; 1 node"},
};

static void test_sharing(void **state)
{
    (void)state;
    TEST_GOLDEN(sharing, false);
}

static void test_rules(void **state)
{
    (void)state;
    TEST_GOLDEN(exact, false);
    TEST_GOLDEN(powers, false);
    TEST_GOLDEN(constants, false);
}

static void test_fast_rules(void **state)
{
    (void)state;
    TEST_GOLDEN(fast, true);
}

static void test_printing(void **state)
{
    (void)state;
    TEST_GOLDEN(printing, false);
}

/* -- random expressions ----------------------------------------------- */

/* An expression is written and computed at the same time: `text` grows, and
 * each function returns the value in C of what it has written. Every operation
 * of f32 here is exact or correctly rounded, so there is one correct value. */

enum { N_RANDOM = 20000, DEEPEST = 5, SEED = 11 };

struct writer {
    struct xl__rng rng;
    struct xl__str text;
    float x[2];
    int32_t i[2];
    bool b[2];
};

static float write_float(struct writer *w, unsigned depth);
static int32_t write_int(struct writer *w, unsigned depth);
static bool write_bool(struct writer *w, unsigned depth);

static unsigned below(struct writer *w, unsigned n)
{
    return (unsigned)xl__rng_below(&w->rng, n);
}

static void write_text(struct writer *w, const char *text)
{
    xl__str_add(&w->text, text);
}

static float float_leaf(struct writer *w)
{
    static const struct {
        const char *text;
        float value;
    } numbers[] = {
        {"0.0", 0.0f},      {"(-0.0)", -0.0f},   {"1.0", 1.0f},
        {"(-1.0)", -1.0f},  {"2.0", 2.0f},       {"0.25", 0.25f},
        {"3.0", 3.0f},      {"inf", INFINITY},   {"nan", NAN},
        {"1e-45", 0x1p-149f}, {"3e38", 3e38f},   {"(-4.0)", -4.0f},
    };
    if (below(w, 2) == 0) {
        const unsigned at = below(w, 2);
        write_text(w, at ? "x1" : "x0");
        return w->x[at];
    }
    const unsigned at = below(w, sizeof numbers / sizeof *numbers);
    write_text(w, numbers[at].text);
    return numbers[at].value;
}

static float power(float x, int n)
{
    switch (n) {
    case 0:
        return 1;
    case 1:
        return x;
    case 2:
        return x * x;
    case 3:
        return x * (x * x);
    default:
        return n == -1 ? 1 / x : (1 / x) * (1 / x);
    }
}

static float float_unary(struct writer *w, unsigned depth)
{
    static const char *const before[] = {"(-",     "abs(",   "floor(",
                                         "ceil(",  "round(", "trunc(",
                                         "sqrt(",  "cast("};
    static const char *const after[] = {")^-2", ")^-1", ")^0", ")^1", ")^2",
                                        ")^3"};
    const unsigned op = below(w, 9);
    write_text(w, op < 8 ? before[op] : "((");
    const float x = write_float(w, depth);
    if (op == 8) {
        const int n = (int)below(w, 6) - 2;
        write_text(w, after[n + 2]);
        write_text(w, ")");
        return power(x, n);
    }
    write_text(w, op == 7 ? ", f32)" : ")");
    switch (op) {
    case 0:
        return -x;
    case 1:
        return fabsf(x);
    case 2:
        return floorf(x);
    case 3:
        return ceilf(x);
    case 4:
        return rintf(x);
    case 5:
        return truncf(x);
    default:
        return op == 6 ? sqrtf(x) : x;
    }
}

/* Either operand may be an integer. */
static float float_binary(struct writer *w, unsigned depth)
{
    static const char *const between[] = {" + ", " - ", " * ", " / "};
    const unsigned op = below(w, 4), whole = below(w, 6);
    write_text(w, "(");
    const float a = whole == 0 ? (float)write_int(w, depth)
                               : write_float(w, depth);
    write_text(w, between[op]);
    const float b = whole == 1 ? (float)write_int(w, depth)
                               : write_float(w, depth);
    write_text(w, ")");
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    default:
        return a / b;
    }
}

static float float_where(struct writer *w, unsigned depth)
{
    write_text(w, "where(");
    const bool is_first = write_bool(w, depth);
    write_text(w, ", ");
    const float a = write_float(w, depth);
    write_text(w, ", ");
    const float b = write_float(w, depth);
    write_text(w, ")");
    return is_first ? a : b;
}

static float float_cast(struct writer *w, unsigned depth)
{
    const bool is_bool = below(w, 2) != 0;
    write_text(w, "cast(");
    const float x = is_bool ? (float)write_bool(w, depth)
                            : (float)write_int(w, depth);
    write_text(w, ", f32)");
    return x;
}

static float write_float(struct writer *w, unsigned depth)
{
    if (depth == 0)
        return float_leaf(w);
    switch (below(w, 8)) {
    case 0:
        return float_leaf(w);
    case 1:
    case 2:
        return float_unary(w, depth - 1);
    case 3:
        return float_where(w, depth - 1);
    case 4:
        return float_cast(w, depth - 1);
    default:
        return float_binary(w, depth - 1);
    }
}

/* -- integers wrap ---------------------------------------------------- */

static int32_t wrapped(int64_t x)
{
    const int64_t low = x & 0xffffffff;
    return (int32_t)(low > INT32_MAX ? low - ((int64_t)1 << 32) : low);
}

static int32_t int_leaf(struct writer *w)
{
    if (below(w, 2) == 0) {
        const unsigned at = below(w, 2);
        write_text(w, at ? "i1" : "i0");
        return w->i[at];
    }
    const int n = (int)below(w, 7) - 3;
    xl__str_printf(&w->text, n < 0 ? "(%d)" : "%d", n);
    return n;
}

static int32_t cut_off(float x)
{
    if (isnan(x))
        return 0;
    return x >= 2147483648.0f    ? INT32_MAX
           : x <= -2147483648.0f ? INT32_MIN
                                 : (int32_t)x;
}

static int32_t int_unary(struct writer *w, unsigned depth)
{
    static const char *const before[] = {"(-", "abs(", "floor(", "sign(",
                                         "((", "cast(", "cast("};
    static const char *const after[] = {")", ")", ")", ")", ")^2)", ", i32)",
                                        ", i32)"};
    const unsigned op = below(w, 7);
    write_text(w, before[op]);
    const float x = op == 5 ? write_float(w, depth) : 0;
    const int64_t i = op == 6   ? write_bool(w, depth)
                      : op == 5 ? cut_off(x)
                                : write_int(w, depth);
    write_text(w, after[op]);
    switch (op) {
    case 0:
        return wrapped(-i);
    case 1:
        return wrapped(i < 0 ? -i : i);
    case 3:
        return (i > 0) - (i < 0);
    case 4:
        return wrapped(i * i);
    default:
        return (int32_t)i;
    }
}

static int32_t int_binary(struct writer *w, unsigned depth)
{
    static const char *const before[] = {"(", "(", "(", "min(", "max("};
    static const char *const between[] = {" + ", " - ", " * ", ", ", ", "};
    const unsigned op = below(w, 5);
    write_text(w, before[op]);
    const int64_t a = write_int(w, depth);
    write_text(w, between[op]);
    const int64_t b = write_int(w, depth);
    write_text(w, ")");
    switch (op) {
    case 0:
        return wrapped(a + b);
    case 1:
        return wrapped(a - b);
    case 2:
        return wrapped(a * b);
    default:
        return (int32_t)((op == 3) == (a < b) ? a : b);
    }
}

static int32_t write_int(struct writer *w, unsigned depth)
{
    if (depth == 0 || below(w, 5) == 0)
        return int_leaf(w);
    return below(w, 2) ? int_unary(w, depth - 1) : int_binary(w, depth - 1);
}

/* -- bools ------------------------------------------------------------ */

static bool compare(struct writer *w, unsigned depth)
{
    static const char *const between[] = {" < ",  " <= ", " > ",
                                          " >= ", " == ", " != "};
    const bool is_whole = below(w, 2) != 0;
    const unsigned op = below(w, 6);
    write_text(w, "(");
    const double a = is_whole ? (double)write_int(w, depth)
                              : (double)write_float(w, depth);
    write_text(w, between[op]);
    const double b = is_whole ? (double)write_int(w, depth)
                              : (double)write_float(w, depth);
    write_text(w, ")");
    switch (op) {
    case 0:
        return a < b;
    case 1:
        return a <= b;
    case 2:
        return a > b;
    case 3:
        return a >= b;
    default:
        return (op == 4) == (a == b);
    }
}

static bool write_bool(struct writer *w, unsigned depth)
{
    const unsigned leaf = below(w, 4), op = below(w, 5);
    if (depth == 0) {
        write_text(w, (const char *[]){"b0", "b1", "true", "false"}[leaf]);
        return leaf < 2 ? w->b[leaf] : leaf == 2;
    }
    if (op < 2)
        return compare(w, depth - 1);
    write_text(w, (const char *[]){"isnan(", "(!", "("}[op - 2]);
    if (op == 2) {
        const float x = write_float(w, depth - 1);
        write_text(w, ")");
        return isnan(x);
    }
    const bool a = write_bool(w, depth - 1);
    bool b = false;
    if (op == 4) {
        write_text(w, leaf < 2 ? " & " : " | ");
        b = write_bool(w, depth - 1);
    }
    write_text(w, ")");
    return op == 3 ? !a : leaf < 2 ? a & b : a | b;
}

/* -- comparison with the graph ---------------------------------------- */

static double input(const struct writer *w, unsigned binding)
{
    const double values[] = {w->x[0], w->x[1], w->i[0],
                             w->i[1], w->b[0], w->b[1]};
    return values[binding];
}

/* The value of a node of every type, f32 rounded once. */
static void compute(const struct xl__graph *g, const struct writer *w,
                    double *value)
{
    for (unsigned i = 0; i < g->n_nodes; i++) {
        const struct xl__node *n = &g->node[i];
        struct xl__interval arg[XL__EXPR_ARGS] = {{0, 0}};
        for (unsigned a = 0; a < xl__expr_ops[n->op].n_args; a++)
            arg[a].x = value[n->arg[a]];
        if (n->op == XL__E_CONST)
            value[i] = n->value;
        else if (n->op == XL__E_INPUT)
            value[i] = input(w, n->binding);
        else
            value[i] = xl__eval_node(g, i, arg).x;
        if (n->type == XL__V_F32)
            value[i] = (double)(float)value[i];
        else
            value[i] += 0.0; /* no -0 among integers */
    }
}

static void choose_inputs(struct writer *w)
{
    static const float floats[] = {0,        -0.0f,   1,    -1,  0.5f,
                                   -2.75f,   3e38f,   1e-45f, -1e-38f,
                                   INFINITY, -INFINITY, NAN, 16777217.0f};
    static const int32_t ints[] = {0, 1, -1, 7, 65536, INT32_MAX, INT32_MIN};
    for (unsigned at = 0; at < 2; at++) {
        w->x[at] = floats[below(w, sizeof floats / sizeof *floats)];
        w->i[at] = ints[below(w, sizeof ints / sizeof *ints)];
        w->b[at] = below(w, 2) != 0;
    }
}

/* The sum t, which no output needs, uses every name. */
static void check_expression(struct writer *w, unsigned *n_simpler)
{
    struct xl__signature s;
    struct xl__graph g;
    struct xl__error e = {0};
    const unsigned type = below(w, 3);
    choose_inputs(w);
    xl__str_reset(&w->text);
    write_text(w,
               "t = x0 + x1 + i0 + i1 + cast(b0, i32) + cast(b1, i32); y = ");
    const double expected = type == 0   ? (double)write_float(w, DEEPEST)
                            : type == 1 ? write_int(w, DEEPEST)
                                        : write_bool(w, DEEPEST);
    static const char *const specs[] = {
        "x0:f32[] x1:f32[] i0:i32[] i1:i32[] b0:bool[] b1:bool[] y:f32[]",
        "x0:f32[] x1:f32[] i0:i32[] i1:i32[] b0:bool[] b1:bool[] y:i32[]",
        "x0:f32[] x1:f32[] i0:i32[] i1:i32[] b0:bool[] b1:bool[] y:bool[]"};
    test_bind(specs[type], &s);
    assert_status(test_infer(xl__str_text(&w->text), &s, &g, &e), XL_OK,
                  xl__str_text(&e.detail));
    double *value = xl__calloc(g.n_nodes, sizeof *value);
    assert_non_null(value);
    compute(&g, w, value);
    const double got = value[g.output[0].node];
    if (!(got == expected && signbit(got) == signbit(expected)) &&
        !(isnan(got) && isnan(expected)))
        fail_msg("%s\n  is %g and not %g; x0 = %g, x1 = %g, i0 = %d, i1 = %d",
                 xl__str_text(&w->text), got, expected, (double)w->x[0],
                 (double)w->x[1], w->i[0], w->i[1]);
    *n_simpler += g.n_nodes == 1;
    free(value);
    xl__graph_clear(&g);
}

static void test_random_algebra(void **state)
{
    struct writer w = {0};
    unsigned n_simpler = 0;
    (void)state;
    xl__rng_seed(&w.rng, SEED);
    for (unsigned n = 0; n < N_RANDOM; n++)
        check_expression(&w, &n_simpler);
    /* Not all are constants, and some are simplified. */
    assert_in_range(n_simpler, N_RANDOM / 100, N_RANDOM / 2);
    xl__str_clear(&w.text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_fast_rules),
        cmocka_unit_test(test_printing),
        cmocka_unit_test(test_random_algebra),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
