/* SPDX-License-Identifier: Apache-2.0 */
/* Typed graphs: the graph of each construct as text, compared with an expected
 * text, with types, shapes and the number of nodes, which counts shared nodes
 * once; offsets and strides of views and outputs; limits. */
#include <stdlib.h>
#include <string.h>

#include "expr/graph/graph.h"
#include "expr/graph/infer.h"
#include "expr/graph/print.h"
#include "support/support.h"
#include "lib/expr/text/expr_bind.h"

#define XY "x:f32[4,5] y:f32[4,5]"
#define HALVES "x:f16[4,5] y:bf16[4,5]"
#define IY "i:i32[4,5] y:i32[4,5]"

/* -- constructs ------------------------------------------------------- */

static const struct test_golden types[] = {
    {"y = x + 1", XY, "y = x + 1: f32[4,5]; 3 nodes"},
    {"y = x * 2.5", HALVES, "y = x * 2.5: f32[4,5]; 3 nodes"},
    {"y = i + 1", IY, "y = i + 1: i32[4,5]; 3 nodes"},
    {"y = i / 2", "i:i32[4,5] y:f32[4,5]",
     "y = cast(i, f32) * 0.5: f32[4,5]; 4 nodes"},
    {"y = i + x", "i:i32[5] x:f16[4,5] y:f32[4,5]",
     "y = cast(i, f32) + x: f32[4,5]; 4 nodes"},
    {"y = a + b", "a:i8[4] b:u8[4] y:i32[4]", "y = a + b: i32[4]; 3 nodes"},
    {"y = b + 1", "b:bool[4] y:u8[4]",
     "y = cast(b, i32) + 1: i32[4]; 4 nodes"},
    {"y = -b", "b:bool[4] y:i32[4]", "y = -cast(b, i32): i32[4]; 3 nodes"},
    {"y = x > 0", "x:f32[4] y:bool[4]", "y = x > 0: bool[4]; 3 nodes"},
    {"y = i == 1.5", "i:i32[4] y:bool[4]",
     "y = cast(i, f32) == 1.5: bool[4]; 4 nodes"},
    {"y = b == true", "b:bool[4] y:bool[4]",
     "y = cast(b, i32) == 1: bool[4]; 4 nodes"},
    {"y = x > 0", "x:f32[4] y:f32[4]",
     "y = cast(x > 0, f32): f32[4]; 4 nodes"},
    {"y = x > 0", "x:f32[4] y:i8[4]", "y = cast(x > 0, i32): i32[4]; 4 nodes"},
    {"y = i", "i:i32[4] y:f16[4]", "y = cast(i, f32): f32[4]; 2 nodes"},
    {"y = 1", "y:f32[4]", "y = 1: f32[]; 1 node"},
    {"y = true", "y:f32[4]", "y = 1: f32[]; 1 node"},
    {"y = true", "y:i32[4]", "y = 1: i32[]; 1 node"},
    {"y = exp(i)", "i:i32[4] y:f32[4]",
     "y = exp(cast(i, f32)): f32[4]; 3 nodes"},
    {"y = abs(i) + floor(i) + sign(i) + relu(i)", IY,
     "y = abs(i) + i + sign(i) + relu(i): i32[4,5]; 7 nodes"},
    {"y = max(i, 0.5)", "i:i32[4] y:f32[4]",
     "y = max(cast(i, f32), 0.5): f32[4]; 4 nodes"},
    {"y = clamp(i, 0, 7)", IY, "y = clamp(i, 0, 7): i32[4,5]; 4 nodes"},
    {"y = mod(i, 3)", IY, "y = mod(i, 3): i32[4,5]; 3 nodes"},
    {"y = where(index(-1) <= index(0), x, 0)", XY,
     "y = where(index(1) <= index(0), x, 0): f32[4,5]; 8 nodes"},
    {"y = index(-1) - index(1)", "y:i32[4,5]", "y = 0: i32[4,5]; 1 node"},
    {"y = std(x, axis=1) * prod(i)", "x:f32[4,5] i:i32[4,5] y:f32[4,1]",
     "y = sqrt(var(x, axis=1)) * cast(prod(i), f32): f32[4,1]; 7 nodes"},
    {"y = i // 3 % -2 << 1", IY,
     "y = mod(i // 3, -2) << 1: i32[4,5]; 7 nodes"},
    {"y = i // 2.0", "i:i32[4] y:f32[4]",
     "y = cast(i, f32) // 2: f32[4]; 4 nodes"},
    {"y = xor(i & 6 | 8, ~i)", IY,
     "y = xor(i & 6 | 8, ~i): i32[4,5]; 7 nodes"},
    {"y = xor(~b, c)", "b:bool[4] c:bool[4] y:bool[4]",
     "y = xor(!b, c): bool[4]; 4 nodes"},
    {"y = (b << 3) - (1 >> b)", "b:bool[4] y:i32[4]",
     "y = (cast(b, i32) << 3) - (1 >> cast(b, i32)): i32[4]; 7 nodes"},
    {"y = isfinite(i) | isinf(i)", "i:i32[4] y:bool[4]",
     "y = true: bool[4]; 1 node"},
    {"y = fma(i, 2, 1)", "i:i32[4] y:f32[4]",
     "y = fma(cast(i, f32), 2, 1): f32[4]; 5 nodes"},
    {"y = where(b, 1, 2.5)", "b:bool[4] y:f32[4]",
     "y = where(b, 1, 2.5): f32[4]; 4 nodes"},
    {"y = where(b, c, false)", "b:bool[4] c:bool[4] y:bool[4]",
     "y = where(b, c, false): bool[4]; 4 nodes"},
    {"y = where(b, i, true)", "b:bool[4] i:i32[4] y:i32[4]",
     "y = where(b, i, 1): i32[4]; 4 nodes"},
    {"y = b & !c | (b != c)", "b:bool[4] c:bool[4] y:bool[4]",
     "y = b & !c | cast(b, i32) != cast(c, i32): bool[4]; 8 nodes"},
    {"y = isnan(i)", "i:i32[4] y:bool[4]", "y = false: bool[4]; 1 node"},
    {"y = isnan(x)", "x:f32[4] y:bool[4]", "y = isnan(x): bool[4]; 2 nodes"},
    {"y = s * x + n", "s:f32 n:i32 x:f32[4] y:f32[4]",
     "y = s * x + cast(n, f32): f32[4]; 6 nodes"},
    {"y = n * i", "n:i32 i:i32[4] y:i32[4]", "y = n * i: i32[4]; 3 nodes"},
    {"y = -2147483648", "y:i32[4]", "y = -2147483648: i32[]; 1 node"},
    {"y = 2147483647 + 1", "y:i32[4]", "y = -2147483648: i32[]; 1 node"},
};

static const struct test_golden casts[] = {
    {"y = cast(x, f16)", XY, "y = cast(x, f16): f32[4,5]; 2 nodes"},
    {"y = cast(x, i8)", "x:f32[4] y:f32[4]",
     "y = cast(cast(cast(x, i32), i8), f32): f32[4]; 4 nodes"},
    {"y = cast(i, bf16)", "i:i32[4] y:f32[4]",
     "y = cast(cast(i, f32), bf16): f32[4]; 3 nodes"},
    {"y = cast(b, u8)", "b:bool[4] y:i32[4]",
     "y = cast(cast(b, i32), u8): i32[4]; 3 nodes"},
    {"y = cast(b, f16)", "b:bool[4] y:f32[4]",
     "y = cast(cast(b, f32), f16): f32[4]; 3 nodes"},
    {"y = cast(x, bool)", "x:f32[4] y:bool[4]",
     "y = x != 0: bool[4]; 3 nodes"},
    {"y = cast(i, bool)", "i:i32[4] y:bool[4]",
     "y = i != 0: bool[4]; 3 nodes"},
    {"y = cast(b, bool)", "b:bool[4] y:bool[4]", "y = b: bool[4]; 1 node"},
    {"y = cast(x, f32)", XY, "y = x: f32[4,5]; 1 node"},
    {"y = cast(x, f16)", "x:f16[4] y:f32[4]", "y = x: f32[4]; 1 node"},
    {"y = cast(x, f16)", "x:bf16[4] y:f32[4]",
     "y = cast(x, f16): f32[4]; 2 nodes"},
    {"y = cast(cast(x, bf16), bf16)", XY,
     "y = cast(x, bf16): f32[4,5]; 2 nodes"},
    {"y = cast(i, i8)", "i:i8[4] y:i32[4]", "y = i: i32[4]; 1 node"},
    {"y = cast(i, u8)", "i:i8[4] y:i32[4]",
     "y = cast(i, u8): i32[4]; 2 nodes"},
    {"y = cast(cast(b, i32), f32)", "b:bool[4] y:f32[4]",
     "y = cast(b, f32): f32[4]; 2 nodes"},
    {"y = cast(300, u8)", "y:i32[4]", "y = 255: i32[]; 1 node"},
    {"y = cast(-2.7, i32)", "y:i32[4]", "y = -2: i32[]; 1 node"},
    {"y = cast(1e9, i8)", "y:i32[4]", "y = 127: i32[]; 1 node"},
    {"y = cast(nan, i32)", "y:i32[4]", "y = 0: i32[]; 1 node"},
    {"y = cast(0.1, bf16)", "y:f32[4]", "y = 0.100097656: f32[]; 1 node"},
    {"y = cast(70000, f16)", "y:f32[4]", "y = inf: f32[]; 1 node"},
};

static const struct test_golden shapes[] = {
    {"y = a + b", "a:f32[4,1] b:f32[5] y:f32[4,5]",
     "y = a + b: f32[4,5]; 3 nodes"},
    {"y = a + b + c", "a:f32[4,1,1] b:f32[3,1] c:f32[1,1,6] y:f32[4,3,6]",
     "y = a + b + c: f32[4,3,6]; 5 nodes"},
    {"y = b", "b:f32[5] y:f32[4,5]", "y = b: f32[5]; 1 node"},
    {"y = b", "b:f32[1,1,5] y:f32[5]", "y = b: f32[1,1,5]; 1 node"},
    {"y = b", "b:f32[] y:f32[2,2]", "y = b: f32[]; 1 node"},
    {"y = sum(x)", "x:f32[4,5] y:f32[]", "y = sum(x): f32[1,1]; 2 nodes"},
    {"y = sum(x)", "x:f32[4,5] y:f32[1]", "y = sum(x): f32[1,1]; 2 nodes"},
    {"y = sum(x, axis=0)", "x:f32[4,5] y:f32[5]",
     "y = sum(x, axis=0): f32[1,5]; 2 nodes"},
    {"y = sum(x, axis=1)", "x:f32[4,5] y:f32[4]",
     "y = sum(x, axis=1): f32[4,1]; 2 nodes"},
    {"y = sum(x, axis=-1)", "x:f32[4,5] y:f32[4,1]",
     "y = sum(x, axis=1): f32[4,1]; 2 nodes"},
    {"y = sum(x, axis=(0, 2))", "x:f32[4,5,6] y:f32[5]",
     "y = sum(x, axis=(0, 2)): f32[1,5,1]; 2 nodes"},
    {"y = sum(x, axis=1)", "x:f32[4,5,6] y:f32[4,6]",
     "y = sum(x, axis=1): f32[4,1,6]; 2 nodes"},
    {"y = sum(x, axis=(-1, 0))", "x:f32[4,5,6] y:f32[1,5,1]",
     "y = sum(x, axis=(0, 2)): f32[1,5,1]; 2 nodes"},
    {"y = sum(x, axis=1)", XY, "y = sum(x, axis=1): f32[4,1]; 2 nodes"},
    {"y = x - mean(x, axis=1)", XY,
     "y = x - mean(x, axis=1): f32[4,5]; 3 nodes"},
    {"y = sum(sum(x, axis=0), axis=1)", "x:f32[4,5] y:f32[]",
     "y = sum(sum(x, axis=0), axis=1): f32[1,1]; 3 nodes"},
    {"y = a", "a:f32[2,3,4,5,6,7] y:f32[2,3,4,5,6,7]",
     "y = a: f32[2,3,4,5,6,7]; 1 node"},
    {"y = x + 1", "x:f32[1000000,1000000] y:f32[1000000,1000000]",
     "y = x + 1: f32[1000000,1000000]; 3 nodes"},
};

static const struct test_golden reductions[] = {
    {"y = sum(i)", "i:i8[4,5] y:i32[]", "y = sum(i): i32[1,1]; 2 nodes"},
    {"y = sum(b)", "b:bool[4] y:i32[]",
     "y = sum(cast(b, i32)): i32[1]; 3 nodes"},
    {"y = mean(i)", "i:i32[4] y:f32[]",
     "y = mean(cast(i, f32)): f32[1]; 3 nodes"},
    {"y = mean(b)", "b:bool[4] y:f32[]",
     "y = mean(cast(b, f32)): f32[1]; 3 nodes"},
    {"y = min(x) + max(x)", "x:f32[4] y:f32[]",
     "y = min(x) + max(x): f32[1]; 4 nodes"},
    {"y = max(b)", "b:bool[4] y:i32[]",
     "y = max(cast(b, i32)): i32[1]; 3 nodes"},
    {"y = argmax(x, axis=1)", "x:f16[4,5] y:i32[4]",
     "y = argmax(x, axis=1): i32[4,1]; 2 nodes"},
    {"y = argmin(b)", "b:bool[4] y:i32[]",
     "y = argmin(cast(b, i32)): i32[1]; 3 nodes"},
    {"y = any(x > 0, axis=1)", "x:f32[4,5] y:bool[4]",
     "y = any(x > 0, axis=1): bool[4,1]; 4 nodes"},
    {"y = all(b)", "b:bool[4] y:i32[]",
     "y = cast(all(b), i32): i32[1]; 3 nodes"},
    {"y = var(x) + norm2(x) + logsumexp(x)", "x:f32[4] y:f32[]",
     "y = var(x) + norm2(x) + logsumexp(x): f32[1]; 6 nodes"},
    {"y = max(x, axis=1) + max(x, 1)", XY,
     "y = max(x, axis=1) + max(x, 1): f32[4,5]; 5 nodes"},
    {"y = sum(x, axis=1)", "x:f32[4,1] y:f32[4]", "y = x: f32[4,1]; 1 node"},
    {"y = var(x, axis=1)", "x:f32[4,1] y:f32[4]",
     "y = x - x: f32[4,1]; 2 nodes"},
    {"y = norm2(x, axis=1)", "x:f32[4,1] y:f32[4]",
     "y = abs(x): f32[4,1]; 2 nodes"},
    {"y = argmax(x, axis=1)", "x:f32[4,1] y:i32[4]",
     "y = 0: i32[4,1]; 1 node"},
    {"y = sum(argmax(x, axis=1))", "x:f32[4,1] y:i32[]",
     "y = 0: i32[1,1]; 1 node"},
    {"y = mean(i)", "i:i32[] y:f32[]", "y = cast(i, f32): f32[]; 2 nodes"},
    {"y = all(b)", "b:bool[1] y:bool[]", "y = b: bool[1]; 1 node"},
    {"y = sum(b, axis=0)", "b:bool[1,5] y:i32[5]",
     "y = cast(b, i32): i32[1,5]; 2 nodes"},
    {"y = logsumexp(x)", "x:f32[1] y:f32[1]", "y = x: f32[1]; 1 node"},
    {"y = sum(2)", "y:i32[]", "y = 2: i32[]; 1 node"},
};

static const struct test_golden rows[] = {
    {"y = softmax(x)", HALVES,
     "y = exp(x - max(max(x, axis=1), -3.4028235e+38)) / max(sum(exp(x - "
     "max(max(x, axis=1), -3.4028235e+38)), axis=1), 0.5): f32[4,5]; 10 "
     "nodes"},
    {"y = softmax(i)", "i:i32[4,5] y:f32[4,5]",
     "y = exp(cast(i - max(i, axis=1), f32)) / max(sum(exp(cast(i - max(i, "
     "axis=1), f32)), axis=1), 0.5): f32[4,5]; 9 nodes"},
    {"y = softmax(x, axis=0)", XY,
     "y = exp(x - max(max(x, axis=0), -3.4028235e+38)) / max(sum(exp(x - "
     "max(max(x, axis=0), -3.4028235e+38)), axis=0), 0.5): f32[4,5]; 10 "
     "nodes"},
    {"y = log_softmax(x)", XY,
     "y = x - max(max(x, axis=1), -3.4028235e+38) - log(max(sum(exp(x - "
     "max(max(x, axis=1), -3.4028235e+38)), axis=1), 0.5)): f32[4,5]; 11 "
     "nodes"},
    {"y = softmax(x, axis=(0, 1))", XY,
     "y = exp(x - max(max(x), -3.4028235e+38)) / max(sum(exp(x - max(max(x), "
     "-3.4028235e+38))), 0.5): f32[4,5]; 10 nodes"},
    {"y = layer_norm(x, g, b, 1e-5)",
     "x:f16[4,5] g:f32[5] b:f32[5] y:f16[4,5]",
     "y = (x - mean(x, axis=1)) * rsqrt(var(x, axis=1) + 1e-05) * g + b: "
     "f32[4,5]; 12 nodes"},
    {"y = layer_norm(x + r, 1, 0, 1e-5)", "x:f16[4,5] r:f16[4,5] y:f16[4,5]",
     "y = (x + r - mean(x + r, axis=1)) * rsqrt(var(x + r, axis=1) + 1e-05) "
     "+ 0: f32[4,5]; 12 nodes"},
    {"y = rms_norm(x, g, eps)", "x:f32[4,5] g:f32[5] eps:f32 y:f32[4,5]",
     "y = x * rsqrt(mean(x * x, axis=1) + eps) * g: f32[4,5]; 9 nodes"},
    {"y = rms_norm(i, 1, 1)", "i:i32[4,5] y:f32[4,5]",
     "y = cast(i, f32) * rsqrt(mean(cast(i, f32) * cast(i, f32), axis=1) + "
     "1): f32[4,5]; 8 nodes"},
};

static const struct test_golden names[] = {
    {"t = x + 1; y = t * t", XY, "y = (x + 1) * (x + 1): f32[4,5]; 4 nodes"},
    {"t = x; t = t + 1; t = t * 2; y = t", XY,
     "y = (x + 1) * 2: f32[4,5]; 5 nodes"},
    {"a = x * z; b = a + z", "x:f32[4] z:f32[4] a:f32[4] b:f32[4]",
     "a = x * z: f32[4]; b = x * z + z: f32[4]; 4 nodes"},
    {"x = x + 1", "x:f32[4]", "x = x + 1: f32[4]; 3 nodes"},
    {"x = x + 1; x = x * 2", "x:f32[4]", "x = (x + 1) * 2: f32[4]; 5 nodes"},
    {"x + 1", "x:f32[4] out:f32[4]", "out = x + 1: f32[4]; 3 nodes"},
    {"y = x; y = y + 1; z = y", "x:f32[4] y:f32[4] z:f32[4]",
     "y = x + 1: f32[4]; z = x + 1: f32[4]; 3 nodes"},
    {"m = mean(x, axis=1); y = x - m", "x:f32[4,5] m:f32[4] y:f32[4,5]",
     "m = mean(x, axis=1): f32[4,1]; y = x - mean(x, axis=1): f32[4,5]; 3 "
     "nodes"},
    {"y = x > 0; z = y & y", "x:f32[4] y:f32[4] z:bool[4]",
     "y = cast(x > 0, f32): f32[4]; z = x > 0: bool[4]; 4 nodes"},
    {"unused = exp(x); y = x", XY, "y = x: f32[4,5]; 1 node"},
    {"a = b; b = a", "a:f32[4] b:f32[4]",
     "a = b: f32[4]; b = b: f32[4]; 1 node"},
    {"t = a; a = b; b = t", "a:f32[4] b:f32[4]",
     "a = b: f32[4]; b = a: f32[4]; 2 nodes"},
};

static const struct test_golden views[] = {
    {"y = x[1:3]", "x:f32[4] y:f32[2]", "y = x[1:3]: f32[2]; 1 node"},
    {"y = transpose(x)", "x:f32[4,5] y:f32[5,4]",
     "y = transpose(x): f32[5,4]; 1 node"},
    {"y = permute(x, 0, 1)", XY, "y = x: f32[4,5]; 1 node"},
    {"y = permute(x, -1, 0)", "x:f32[4,5] y:f32[5,4]",
     "y = transpose(x): f32[5,4]; 1 node"},
    {"y = x[:] + x[0:4, ...] + x", XY, "y = x + x + x: f32[4,5]; 3 nodes"},
    {"y = x[1:3] + x[-3:-1]", "x:f32[4] y:f32[2]",
     "y = x[1:3] + x[1:3]: f32[2]; 2 nodes"},
    {"y = x[-1] - x[0]", "x:f32[4,5] y:f32[5]",
     "y = x[3, :] - x[0, :]: f32[5]; 3 nodes"},
    {"t = x[1:]; y = t[1:] - x[2:]", "x:f32[4] y:f32[2]",
     "y = x[2:] - x[2:]: f32[2]; 2 nodes"},
    {"y = x[:100] + x[-100:]", "x:f32[4] y:f32[4]",
     "y = x + x: f32[4]; 2 nodes"},
    {"y = x[0] + x[1]", "x:f32[2] y:f32[]", "y = x[0] + x[1]: f32[]; 3 nodes"},
    {"y = x[...,0]", "x:f32[4,5] y:f32[4]", "y = x[:, 0]: f32[4]; 1 node"},
    {"y = x[0,...]", "x:f32[4,5] y:f32[5]", "y = x[0, :]: f32[5]; 1 node"},
    {"y = x[...]", XY, "y = x: f32[4,5]; 1 node"},
};

static const struct test_golden slices[] = {
    {"y = x[1:3]", "x:f32[4] y:f32[2]", "y = x[1:3]: f32[2]; 1 node"},
    {"y = x[:, 64:128]", "x:f32[3,256] y:f32[3,64]",
     "y = x[:, 64:128]: f32[3,64]; 1 node"},
    {"y = x[2]", "x:f32[4,5] y:f32[5]", "y = x[2, :]: f32[5]; 1 node"},
    {"y = x[:, 2]", "x:f32[4,5] y:f32[4]", "y = x[:, 2]: f32[4]; 1 node"},
    {"y = x[::2, 1::2]", "x:f32[4,5] y:f32[2,2]",
     "y = x[::2, 1::2]: f32[2,2]; 1 node"},
    {"y = x[1:4:2]", "x:f32[4] y:f32[2]", "y = x[1::2]: f32[2]; 1 node"},
    {"y = x[:3:2]", "x:f32[4] y:f32[2]", "y = x[::2]: f32[2]; 1 node"},
    {"y = x[::3]", "x:f32[8] y:f32[3]", "y = x[::3]: f32[3]; 1 node"},
    {"y = x[:7:3]", "x:f32[8] y:f32[3]", "y = x[::3]: f32[3]; 1 node"},
    {"y = x[:6:3]", "x:f32[8] y:f32[2]", "y = x[:4:3]: f32[2]; 1 node"},
    {"y = x[1, 2, 3]", "x:f32[4,5,6] y:f32[]",
     "y = x[1, 2, 3]: f32[]; 1 node"},
    {"y = x[1, :, 3]", "x:f32[4,5,6] y:f32[5]",
     "y = x[1, :, 3]: f32[5]; 1 node"},
    {"y = x[..., 5:]", "x:f32[4,5,6] y:f32[4,5,1]",
     "y = x[:, :, 5:]: f32[4,5,1]; 1 node"},
    {"y = x[3:, 1]", "x:f32[4,5] y:f32[1]", "y = x[3, 1:2]: f32[1]; 1 node"},
    {"y = permute(x, 1, 0, 2)", "x:f32[4,5,6] y:f32[5,4,6]",
     "y = x[...]: f32[5,4,6]; 1 node"},
    {"y = x[0]", "x:f32[1,5] y:f32[5]", "y = x[0, :]: f32[5]; 1 node"},
    {"y = x[:, 0]", "x:f32[4,1] y:f32[4]", "y = x[:, 0]: f32[4]; 1 node"},
    {"y = x[0, 1:2]", "x:f32[4,5] y:f32[1]", "y = x[0, 1:2]: f32[1]; 1 node"},
    {"y = transpose(x)", "x:f32[4] y:f32[4]", "y = x: f32[4]; 1 node"},
    {"y = x[::-1]", "x:f32[4,5] y:f32[4,5]",
     "y = x[::-1, :]: f32[4,5]; 1 node"},
    {"y = x[-1:0:-2]", "x:f32[4] y:f32[2]", "y = x[::-2]: f32[2]; 1 node"},
    {"y = x[-1:1:-1]", "x:f32[4] y:f32[2]", "y = x[:1:-1]: f32[2]; 1 node"},
    {"y = x[2::-1, 3:0:-1]", "x:f32[4,5] y:f32[3,3]",
     "y = x[2::-1, 3:0:-1]: f32[3,3]; 1 node"},
    {"y = x[9:-9:-3]", "x:f32[8] y:f32[3]", "y = x[::-3]: f32[3]; 1 node"},
    {"y = x[1:0:-9]", "x:f32[8] y:f32[1]", "y = x[1:2]: f32[1]; 1 node"},
    {"y = x[:, None]", "x:f32[4] y:f32[4,1]", "y = x[...]: f32[4,1]; 1 node"},
    {"y = x[1:][1:]", "x:f32[4] y:f32[2]", "y = x[2:]: f32[2]; 1 node"},
    {"y = x[::-1][::-1]", "x:f32[4] y:f32[4]", "y = x: f32[4]; 1 node"},
    {"y = reshape(x, 2, 6)", "x:f32[3,4] y:f32[2,6]",
     "y = x[...]: f32[2,6]; 1 node"},
    {"y = reshape(reshape(x, 12), 3, -1)", "x:f32[3,4] y:f32[3,4]",
     "y = x: f32[3,4]; 1 node"},
    {"y = reshape(transpose(x), 12)", "x:f32[3,4] y:f32[12]",
     "y = transpose(x): f32[4,3]; 2 nodes"},
    {"y = x[k]", "x:f32[4,5] k:i32 y:f32[5]",
     "y = gather(x, k, axis=0): f32[5]; 3 nodes"},
    {"y = x[::-1, i]", "x:f32[4,5] i:i32[2,3] y:f32[4,2,3]",
     "y = gather(x[::-1, :], i, axis=1): f32[4,2,3]; 3 nodes"},
    {"y = gather(exp(x), i)", "x:f32[4,5] i:i8[3] y:f32[3,5]",
     "y = gather(exp(x), i[...], axis=0): f32[3,5]; 5 nodes"},
    {"y = exp(x)[2:]", "x:f32[4] y:f32[2]", "y = exp(x)[2:]: f32[2]; 3 nodes"},
    {"y = transpose(x * 2)[::-1][1:]", "x:f32[4,5] y:f32[4,4]",
     "y = (x * 2)[...]: f32[4,4]; 4 nodes"},
    {"t = exp(x); y = transpose(transpose(t))", "x:f32[4,5] y:f32[4,5]",
     "y = exp(x): f32[4,5]; 2 nodes"},
    {"y = x + a[None] * 2[None, None]", "a:f32 x:f32[4] y:f32[1,4]",
     "y = x + a * 2: f32[1,4]; 5 nodes"},
    {"y = x[-1] - x[0]", "x:f32[4,5] y:f32[5]",
     "y = x[3, :] - x[0, :]: f32[5]; 3 nodes"},
};

static const struct test_golden random_numbers[] = {
    {"y = rand(1)", "y:f32[4,5]", "y = rand(1): f32[4,5]; 2 nodes"},
    {"y = where(rand(1) < 0.5, x, 0)", XY,
     "y = where(rand(1) < 0.5, x, 0): f32[4,5]; 7 nodes"},
    {"y = rand(1) + rand(1) + rand(2) + x", XY,
     "y = rand(1) + rand(1) + rand(2) + x: f32[4,5]; 8 nodes"},
    {"r = rand(7); y = x * r; z = x2 * r",
     "x:f32[4] x2:f32[8] y:f32[4] z:f32[8]",
     "y = x * rand(7): f32[4]; z = x2 * rand(7): f32[8]; 7 nodes"},
    {"y = randn(s) * 0.1 + x", "s:i32 x:f16[4] y:f32[4]",
     "y = randn(s) * 0.1 + x: f32[4]; 6 nodes"},
    {"y = x + (rand(1) + b)", "x:f32[4,5] b:f32[5] y:f32[4,5]",
     "y = x + (rand(1) + b): f32[4,5]; 6 nodes"},
    {"y = rand(1)*rand(2)", "y:f32[]",
     "y = rand(1) * rand(2): f32[]; 5 nodes"},
    {"r = rand(3); z = r + r", "r:f32[4] z:f32[4]",
     "r = rand(3): f32[4]; z = rand(3) + rand(3): f32[4]; 3 nodes"},
    {"y = rand(1) * max(x)", XY, "y = rand(1) * max(x): f32[1,1]; 5 nodes"},
    {"y = sum(x * rand(1))", "x:f32[4] y:f32[]",
     "y = sum(x * rand(1)): f32[1]; 5 nodes"},
    {"y = rand(1 + 2)", "y:f32[4]", "y = rand(3): f32[4]; 2 nodes"},
    {"y[:2] = rand(1); y[2:] = rand(1)", "y:f32[4]",
     "y = rand(1): f32[2]; y = rand(1): f32[2]; 2 nodes"},
    {"y = where(rand(1) < 0.5, rand(1), x)", "x:f32[4] y:f32[4]",
     "y = where(rand(1) < 0.5, rand(1), x): f32[4]; 6 nodes"},
    {"y = layer_norm(x, rand(1), 0, 1)", XY,
     "y = (x - mean(x, axis=1)) * rsqrt(var(x, axis=1) + 1) * rand(1) + 0: "
     "f32[4,5]; 13 nodes"},
};

static void test_types(void **state)
{
    (void)state;
    TEST_GOLDEN(types, false);
    TEST_GOLDEN(casts, false);
}

static void test_shapes(void **state)
{
    (void)state;
    TEST_GOLDEN(shapes, false);
    TEST_GOLDEN(reductions, false);
    TEST_GOLDEN(rows, false);
}

static void test_names(void **state)
{
    (void)state;
    TEST_GOLDEN(names, false);
    TEST_GOLDEN(views, false);
    TEST_GOLDEN(slices, false);
}

static void test_random(void **state)
{
    (void)state;
    TEST_GOLDEN(random_numbers, false);
}

/* -- layout ----------------------------------------------------------- */

static void print_sizes(struct xl__str *out, const size_t *size, unsigned n)
{
    for (unsigned d = 0; d < n; d++)
        xl__str_printf(out, "%s%zu", d > 0 ? "," : "", size[d]);
}

/* "x[2] +1 by 2": a view of two elements with offset 1 and stride 2. */
static void print_layout(struct xl__str *out, const char *name,
                         const struct xl__shape *shape, size_t offset,
                         const size_t *stride)
{
    xl__str_printf(out, "%s%s[", out->len > 0 ? "; " : "", name);
    print_sizes(out, shape->size, shape->n_dims);
    xl__str_printf(out, "] +%zu by ", offset);
    print_sizes(out, stride, shape->n_dims);
}

static const struct test_golden layouts[] = {
    {"y = x[3]", "x:f32[4,5] y:f32[5]", "x[5] +15 by 1; y[5] +0 by 1"},
    {"y = x[:, 1:4:2]", "x:f32[4,5] y:f32[4,2]",
     "x[4,2] +1 by 5,2; y[4,2] +0 by 2,1"},
    {"y = x[-2, ..., 1]", "x:f32[3,4,5] y:f32[4]",
     "x[4] +21 by 5; y[4] +0 by 1"},
    {"y = x[..., 2:3]", "x:f32[4,5] y:f32[4]",
     "x[4,1] +2 by 5,0; y[4,1] +0 by 1,0"},
    {"y = x[1::1000000000000]", "x:f32[4] y:f32[]",
     "x[1] +1 by 0; y[1] +0 by 0"},
    {"y = transpose(x)", "x:f32[4,5] y:f32[5,4]",
     "x[5,4] +0 by 1,5; y[5,4] +0 by 4,1"},
    {"y = permute(x, 2, 0, 1)", "x:f32[3,4,5] y:f32[5,3,4]",
     "x[5,3,4] +0 by 1,20,5; y[5,3,4] +0 by 12,4,1"},
    {"t = x[1:, 2]; y = t[1]", "x:f32[4,5] y:f32[]",
     "x[] +12 by ; y[] +0 by "},
    {"y = x", "x:f32[5] y:f32[4,5]", "x[5] +0 by 1; y[4,5] +0 by 5,1"},
    {"y = x", "x:f32[1,1,5] y:f32[5]",
     "x[1,1,5] +0 by 0,0,1; y[1,1,5] +0 by 0,0,1"},
    {"y = x", "x:f32[4,1,5,1] y:f32[4,5]",
     "x[4,1,5,1] +0 by 5,0,1,0; y[4,1,5,1] +0 by 5,0,1,0"},
    {"y = x", "x:f32[1,3] y:f32[3]", "x[1,3] +0 by 0,1; y[1,3] +0 by 0,1"},
    {"y = x", "x:f32[3,1] y:f32[3,3]", "x[3,1] +0 by 1,0; y[3,3] +0 by 3,1"},
    {"y[1:3] = x", "x:f32[2] y:f32[4]", "x[2] +0 by 1; y[2] +1 by 1"},
    {"y[::2] = x; y[1::2] = x", "x:f32[] y:f32[4]",
     "x[] +0 by ; y[2] +0 by 2; y[2] +1 by 2"},
    {"y[0] = x[0]; y[1, 2:] = x[1, 2:]", "x:f32[2,4] y:f32[2,4]",
     "x[4] +0 by 1; x[2] +6 by 1; y[4] +0 by 1; y[2] +6 by 1"},
    {"y[..., 0] = x; y[..., 1] = -x", "x:f32[3] y:f32[3,2]",
     "x[3] +0 by 1; y[3] +0 by 2; y[3] +1 by 2"},
    {"y[:2, 2:] = x; y[2:, 2:] = x; y[:, :2] = 0", "x:f32[] y:f32[4,4]",
     "x[] +0 by ; y[2,2] +2 by 4,1; y[2,2] +10 by 4,1; y[4,2] +0 by 4,1"},
    {"y[::4] = x; y[1::6] = x", "x:f32[] y:f32[12]",
     "x[] +0 by ; y[3] +0 by 4; y[2] +1 by 6"},
};

static void test_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct xl__signature s;
        struct xl__graph g;
        struct xl__error e = {0};
        struct xl__str got = {0};
        test_bind(layouts[i].spec, &s);
        const xl_status status = test_infer(layouts[i].text, &s, &g, &e);
        assert_status(status, XL_OK, xl__str_text(&e.detail));
        for (unsigned n = 0; n < g.n_nodes; n++)
            if (g.node[n].op == XL__E_INPUT)
                print_layout(&got, s.b[g.node[n].binding].name,
                             &g.node[n].shape, g.node[n].offset,
                             g.node[n].stride);
        for (unsigned o = 0; o < g.n_outputs; o++)
            print_layout(&got, s.b[g.output[o].binding].name,
                         &g.output[o].shape, g.output[o].offset,
                         g.output[o].stride);
        assert_string_equal(xl__str_text(&got), layouts[i].expected);
        xl__str_clear(&got);
        xl__graph_clear(&g);
    }
}

/* A view has the strides of the bound view, also 0. */
static void test_strided(void **state)
{
    struct xl__signature s;
    struct xl__graph g;
    struct xl__error e = {0};
    (void)state;
    test_bind("x:f32[4,5] y:f32[2,5]", &s);
    s.b[0].stride[0] = 0;
    s.b[0].stride[1] = 3;
    assert_status(test_infer("y = x[::2] * 2", &s, &g, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_int_equal(g.node[0].stride[0], 0);
    assert_int_equal(g.node[0].stride[1], 3);
    xl__graph_clear(&g);
}

/* -- limits ----------------------------------------------------------- */

/* x doubled n times; as text that is 2^n names. */
static xl_status infer_doubled(unsigned n, struct xl__error *e)
{
    struct xl__signature s;
    struct xl__tree t = {0};
    struct xl__graph g = {0};
    unsigned sum, unused;
    test_bind("x:f32[4] y:f32[4]", &s);
    const struct xl__tree_node name = {.kind = XL__T_NAME};
    assert_int_equal(xl__tree_name(&t, "x", 1, 0, &unused, e), XL_OK);
    assert_int_equal(xl__tree_name(&t, "y", 1, 0, &unused, e), XL_OK);
    assert_int_equal(xl__tree_add(&t, &name, &sum, e), XL_OK);
    for (unsigned i = 0; i < n; i++) {
        const struct xl__tree_call twice = {.name = "+", .len = 1,
                                            .n_args = 2,
                                            .arg = (unsigned[]){sum, sum}};
        assert_int_equal(xl__tree_call(&t, &twice, &sum, e), XL_OK);
    }
    const struct xl__statement y = {.name = 1, .view = UINT32_MAX,
                                    .value = sum};
    assert_int_equal(xl__tree_assign(&t, &y, e), XL_OK);
    const xl_status status = xl__infer(&t, &s, &g, e);
    if (status == XL_OK)
        assert_int_equal(g.n_nodes, n + 1);
    xl__graph_clear(&g);
    xl__tree_clear(&t);
    return status;
}

/* A shared node is computed once: 2^4000 additions are 4000 nodes. A deep tree
 * needs no deep stack. */
static void test_deep(void **state)
{
    struct xl__error e = {0};
    (void)state;
    assert_status(infer_doubled(4000, &e), XL_OK, xl__str_text(&e.detail));
    xl__error_clear(&e);
}

/* i to the power of 2^31 - 1 is 60 nodes, so that several of them exceed the
 * limit of nodes. */
static void test_too_many(void **state)
{
    struct xl__signature s;
    struct xl__graph g;
    struct xl__error e = {0};
    struct xl__str text = {0};
    (void)state;
    test_bind("i:i32[4] y:i32[4]", &s);
    xl__str_add(&text, "y = i");
    for (int n = 1; n <= 100; n++)
        xl__str_printf(&text, " + (i + %d)^2147483647", n);
    assert_int_equal(test_infer(xl__str_text(&text), &s, &g, &e),
                     XL_BAD_ARGUMENT);
    assert_non_null(strstr(xl__str_text(&e.detail),
                           "more than 4096 operations; split"));
    assert_null(g.node);
    xl__str_clear(&text);
    xl__error_clear(&e);
}

/* The text of a long expression is cut, and a shared node is not printed 2^n
 * times. */
static void test_long_print(void **state)
{
    struct xl__signature s;
    struct xl__graph g;
    struct xl__error e = {0};
    struct xl__str text = {0}, out = {0};
    (void)state;
    test_bind("x:f32[4] y:f32[4]", &s);
    xl__str_add(&text, "t = x");
    for (int n = 0; n < 100; n++)
        xl__str_add(&text, "; t = sin(t) + cos(t)");
    xl__str_add(&text, "; y = t");
    assert_status(test_infer(xl__str_text(&text), &s, &g, &e), XL_OK,
                  xl__str_text(&e.detail));
    xl__str_add(&out, "y = ");
    xl__graph_print(&g, &s, g.output[0].node, &out);
    assert_true(out.len < 300);
    assert_int_equal(strlen(out.text), out.len);
    assert_string_equal(out.text + out.len - 3, "...");
    assert_memory_equal(out.text, "y = sin(", 8);
    xl__str_clear(&text);
    xl__str_clear(&out);
    xl__graph_clear(&g);
}

/* Nodes can be added to a pruned graph, and equal ones are found. */
static void test_pruned(void **state)
{
    struct xl__signature s;
    struct xl__graph g;
    struct xl__error e = {0};
    (void)state;
    test_bind(XY, &s);
    assert_status(test_infer("t = exp(x); y = sin(x) + 1", &s, &g, &e), XL_OK,
                  xl__str_text(&e.detail));
    assert_int_equal(g.n_nodes, 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct xl__node again = g.node[i];
        assert_int_equal(xl__graph_node(&g, &again), i);
    }
    struct xl__node other = g.node[0];
    other.offset = 7;
    assert_int_equal(xl__graph_node(&g, &other), 4);
    xl__graph_clear(&g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),      cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_random),
        cmocka_unit_test(test_layouts),    cmocka_unit_test(test_strided),
        cmocka_unit_test(test_deep),       cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_long_print), cmocka_unit_test(test_pruned),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
