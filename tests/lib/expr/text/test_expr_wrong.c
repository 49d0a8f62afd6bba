/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions that parse but are not valid for their bindings. Each is refused
 * with a status, a location with a caret below it, and a message that names
 * the cause. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/graph/infer.h"
#include "support/support.h"
#include "lib/expr/text/expr_bind.h"

#define XY "x:f32[4,5] y:f32[4,5]"
#define IY "i:i32[4] y:i32[4]"
#define BY "b:bool[4] y:bool[4]"

struct wrong {
    const char *text, *spec;
    xl_status status;
    const char *location, *message; /* "line:column"; the message begins so */
};

static const struct wrong wrong_names[] = {
    {"y = x + z", XY, XL_BAD_ARGUMENT, "1:9",
     "'z' is neither bound nor assigned"},
    {"y = xx + 1", "xx1:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "'xx' is neither bound nor assigned; did you mean 'xx1'?"},
    {"y = weigth * 2", "weight:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "'weigth' is neither bound nor assigned; did you mean"},
    {"y = t; t = x", XY, XL_BAD_ARGUMENT, "1:5",
     "'t' is not bound, and is read here before it is assigned"},
    {"y = t * 2; t = x", XY, XL_BAD_ARGUMENT, "1:5",
     "'t' is not bound, and is read here before it is assigned"},
    {"y = x + t\nt = x", XY, XL_BAD_ARGUMENT, "1:9",
     "'t' is not bound, and is read here before it is assigned"},
    {"y = x\nz = q", "x:f32[4,5] y:f32[4,5] z:f32[4,5]", XL_BAD_ARGUMENT,
     "2:5", "'q' is neither bound nor assigned"},
    {"t = x + 1", XY, XL_BAD_ARGUMENT, "1:1",
     "the expression has no output: 't' is not bound"},
    {"t = x", "x:f32[4]", XL_BAD_ARGUMENT, "1:1",
     "the expression has no output: 't' is not bound"},
    {"x + 1", XY, XL_BAD_ARGUMENT, "1:1",
     "the expression has no output: 'out' is not bound"},
    {"ouput = x * 2", "x:f32[4] output:f32[4]", XL_BAD_ARGUMENT, "1:1",
     "the expression has no output: 'ouput' is not bound"},
    {"y = x", "x:f32[4,5] y:f32[4,5] unused:f32[3]", XL_BAD_ARGUMENT, "1:1",
     "'unused' is bound, and the expression does not use it"},
    {"y = 1", XY, XL_BAD_ARGUMENT, "1:1",
     "'x' is bound, and the expression does not use it"},
    {"s = x", "s:f32 x:f32[4]", XL_BAD_ARGUMENT, "1:1",
     "'s' is a scalar and cannot be assigned"},
    {"s = 1", "s:i32", XL_BAD_ARGUMENT, "1:1",
     "'s' is a scalar and cannot be assigned"},
    {"y = s; s = x", "s:f32 x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:8",
     "'s' is a scalar and cannot be assigned"},
    {"y = out", XY, XL_BAD_ARGUMENT, "1:5",
     "'out' is neither bound nor assigned"},
    {"y = X", XY, XL_BAD_ARGUMENT, "1:5", "'X' is neither bound nor assigned"},
    {"y = x; y = y + w", XY, XL_BAD_ARGUMENT, "1:16",
     "'w' is neither bound nor assigned"},
    {"t[0] = x; y = x", XY, XL_BAD_ARGUMENT, "1:1", "'t' is not bound"},
    {"t[0:2] = x", "x:f32[2]", XL_BAD_ARGUMENT, "1:1", "'t' is not bound"},
    {"y = foo_bar_baz", XY, XL_BAD_ARGUMENT, "1:5",
     "'foo_bar_baz' is neither bound nor assigned"},
    {"y = transpose(z)", XY, XL_BAD_ARGUMENT, "1:15",
     "'z' is neither bound nor assigned"},
    {"y = z[0]", XY, XL_BAD_ARGUMENT, "1:5",
     "'z' is neither bound nor assigned"},
    {"# nothing bound\ny = 1 + a", "y:f32[4]", XL_BAD_ARGUMENT, "2:9",
     "'a' is neither bound nor assigned"},
};

static const struct wrong wrong_types[] = {
    {"y = x", "x:f32[4] y:i32[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = x", "x:f16[4] y:u8[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is u8 and its value is f32"},
    {"y = x", "x:f32[4] y:bool[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is f32"},
    {"y = i", "i:i32[4] y:bool[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is i32"},
    {"y = i", "i:u8[4] y:bool[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is i32"},
    {"y = i / 2", IY, XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = i * 1.5", IY, XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = exp(i)", IY, XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = mean(i)", "i:i32[4] y:i32[]", XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = i ^ -1", IY, XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = i ^ i", IY, XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = 1.0", "y:i32[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = 2", "y:bool[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is i32"},
    {"y = pi", "y:i8[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is i8 and its value is f32"},
    {"y = x[0]", "x:f32[4] y:i32[]", XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
    {"y = -b", BY, XL_BAD_ARGUMENT, "1:1", "'y' is bool and its value is i32"},
    {"y = b + b", BY, XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is i32"},
    {"y = sum(b)", BY, XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is i32"},
    {"y = max(b, b)", BY, XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is i32"},
    {"y = x & x", "x:f32[4] y:bool[4]", XL_BAD_ARGUMENT, "1:7",
     "'&' requires bool or integers and was given f32"},
    {"y = b & 1", BY, XL_BAD_ARGUMENT, "1:7",
     "'&' was given a bool and an i32"},
    {"y = i & 1 == 0", IY, XL_BAD_ARGUMENT, "1:7",
     "'&' was given a bool and an i32; comparisons bind more tightly: write "
     "(i & 1) == 0"},
    {"y = xor(i, x)", "i:i32[4] x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "'xor' requires bool or integers and was given f32"},
    {"y = ~x", XY, XL_BAD_ARGUMENT, "1:5",
     "'~' requires integers and was given f32"},
    {"y = i << 2.0", IY, XL_BAD_ARGUMENT, "1:7",
     "'<<' requires integers and was given f32"},
    {"y = b ^ b", BY, XL_BAD_ARGUMENT, "1:7",
     "'^' is a power and was given bools; an exclusive or is xor(x, y)"},
    {"y = !i", "i:i32[4] y:bool[4]", XL_BAD_ARGUMENT, "1:5",
     "'!' requires bool and was given i32"},
    {"y = !x", XY, XL_BAD_ARGUMENT, "1:5",
     "'!' requires bool and was given f32"},
    {"y = any(x)", "x:f32[4] y:bool[]", XL_BAD_ARGUMENT, "1:5",
     "'any' requires bool and was given f32"},
    {"y = all(i)", "i:i32[4] y:bool[]", XL_BAD_ARGUMENT, "1:5",
     "'all' requires bool and was given i32"},
    {"y = where(x, 1, 2)", XY, XL_BAD_ARGUMENT, "1:5",
     "'where' requires bool and was given f32"},
    {"y = where(1, x, 2)", XY, XL_BAD_ARGUMENT, "1:5",
     "'where' requires bool and was given i32"},
    {"y = where(i, i, i)", IY, XL_BAD_ARGUMENT, "1:5",
     "'where' requires bool and was given i32"},
    {"y = !(x + 1) & b", "x:f32[4] b:bool[4] y:bool[4]", XL_BAD_ARGUMENT,
     "1:5", "'!' requires bool and was given f32"},
    {"y = x > 0 & 1", "x:f32[4] y:bool[4]", XL_BAD_ARGUMENT, "1:11",
     "'&' was given a bool and an i32"},
    {"y = x + 3000000000", XY, XL_BAD_ARGUMENT, "1:9",
     "3000000000 does not fit in i32: write 3000000000.0 for f32, or"},
    {"y = 2147483648", "y:i32[4]", XL_BAD_ARGUMENT, "1:5",
     "2147483648 does not fit in i32: write 2147483648.0"},
    {"y = -2147483649", "y:i32[4]", XL_BAD_ARGUMENT, "1:5",
     "-2147483649 does not fit in i32"},
    {"y = -2147483648^2", "y:i32[4]", XL_BAD_ARGUMENT, "1:6",
     "2147483648 does not fit in i32"},
    {"y = cast(x, i64)", "x:f32[4] y:bool[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is i64"},
    {"y = x", "x:f32[4] y:i64[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is i64 and its value is f32: write cast(value, i64)"},
    {"y = x * 1e39", XY, XL_BAD_ARGUMENT, "1:9",
     "1e+39 does not fit in f32; for infinity write inf"},
    {"y = x * -3.5e38", XY, XL_BAD_ARGUMENT, "1:10",
     "3.5e+38 does not fit in f32"},
    {"y = x", "x:f8e4m3[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "'x' is bound as f8e4m3; tensors are f64, f32, f16, bf16, i64, i32,"},
    {"y = x", "x:f32[4] y:f8e5m2[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is bound as f8e5m2; tensors are f64, f32, f16, bf16, i64, i32,"},
    {"y = s * x", "s:f16 x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "'s' is bound as f16; scalars are f64, f32, i64 or i32"},
    {"y = s * x", "s:u8 x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "'s' is bound as u8; scalars are f64, f32, i64 or i32"},
    {"y = where(s, x, 0)", "s:i32 x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "'where' requires bool and was given i32"},
    {"a = x; a[0] = 1", "a:f32[4] x:f32[4]", XL_BAD_ARGUMENT, "1:8",
     "'a' is assigned as a whole"},
    {"y = argmax(x)", "x:f32[4] y:bool[]", XL_BAD_ARGUMENT, "1:1",
     "'y' is bool and its value is i32"},
};

static const struct wrong wrong_shapes[] = {
    {"y = a + b", "a:f32[4] b:f32[3] y:f32[4]", XL_BAD_SHAPE, "1:7",
     "shapes (4,) and (3,) do not broadcast: from the last axis"},
    {"y = a * 2 + b", "a:f32[4,5] b:f32[4] y:f32[4,5]", XL_BAD_SHAPE, "1:11",
     "shapes (4, 5) and (4,) do not broadcast: from the last"},
    {"y = a + b", "a:f32[2,3,4] b:f32[3,3,4] y:f32[2,3,4]", XL_BAD_SHAPE,
     "1:7", "shapes (2, 3, 4) and (3, 3, 4) do not broadcast: from the"},
    {"y = where(a > 0, b, c)", "a:f32[4] b:f32[4] c:f32[5] y:f32[4]",
     XL_BAD_SHAPE, "1:5",
     "shapes (4,) and (5,) do not broadcast: from the last axis"},
    {"y = fma(a, b, c)", "a:f32[4] b:f32[2] c:f32[4] y:f32[4]", XL_BAD_SHAPE,
     "1:5", "shapes (4,) and (2,) do not broadcast: from the last axis"},
    {"y = clamp(a, b, 1)", "a:f32[4] b:f32[3] y:f32[4]", XL_BAD_SHAPE, "1:5",
     "shapes (4,) and (3,) do not broadcast: from the last axis"},
    {"y = a < b", "a:f32[4] b:f32[3] y:bool[4]", XL_BAD_SHAPE, "1:7",
     "shapes (4,) and (3,) do not broadcast: from the last axis"},
    {"y = x", "x:f32[4] y:f32[5]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4,) does not broadcast to 'y'"},
    {"y = x", "x:f32[4,5] y:f32[5]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4, 5) does not broadcast to 'y'"},
    {"y = x", "x:f32[4,5] y:f32[5,4]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4, 5) does not broadcast to 'y'"},
    {"y = x", "x:f32[4] y:f32[]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4,) does not broadcast to 'y'"},
    {"y = x", "x:f32[4] y:f32[1]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4,) does not broadcast to 'y'"},
    {"y = sum(x, axis=1)", "x:f32[4,5] y:f32[5]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4, 1) does not broadcast to 'y'"},
    {"y = sum(x, axis=0)", "x:f32[4,5] y:f32[4]", XL_BAD_SHAPE, "1:1",
     "a value of shape (1, 5) does not broadcast to 'y'"},
    {"y = sum(x, axis=1)", "x:f32[4,5,6] y:f32[6]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4, 1, 6) does not broadcast to 'y'"},
    {"y = x", "x:f32[3,1] y:f32[1,3]", XL_BAD_SHAPE, "1:1",
     "a value of shape (3, 1) does not broadcast to 'y'"},
    {"y = sum(x, axis=1)", "x:f32[4,5] y:f32[3,4]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4, 1) does not broadcast to 'y'"},
    {"m = mean(x, axis=1); y = x - m; z = m[0, 1]",
     "x:f32[4,5] m:f32[4] y:f32[4,5] z:f32[]", XL_BAD_SHAPE, "1:37",
     "index 1 is outside of axis 1, whose size is 1"},
    {"y = x - transpose(x)", XY, XL_BAD_SHAPE, "1:7",
     "shapes (4, 5) and (5, 4) do not broadcast: from the last"},
    {"y = x + x[:, 0]", XY, XL_BAD_SHAPE, "1:7",
     "shapes (4, 5) and (4,) do not broadcast: from the last"},
    {"y = x[1:] - x[:-1] - x", "x:f32[4] y:f32[3]", XL_BAD_SHAPE, "1:20",
     "shapes (3,) and (4,) do not broadcast: from the last axis"},
    {"y[1:3] = x", "x:f32[4] y:f32[4]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4,) does not broadcast to 'y'"},
    {"y[0] = x", "x:f32[4] y:f32[4]", XL_BAD_SHAPE, "1:1",
     "a value of shape (4,) does not broadcast to 'y'"},
    {"y = a + b", "a:f32[4294967296,1] b:f32[1,4294967296] y:f32[]",
     XL_OVERFLOW, "1:7",
     "shape (4294967296, 4294967296) has too many elements"},
    {"y = a * b * c",
     "a:f32[4194304,1,1] b:f32[4194304,1] c:f32[4194304] y:f32[]", XL_OVERFLOW,
     "1:11", "shape (4194304, 4194304, 4194304) has too many elements"},
    {"y = x", "x:f32[4294967296,4294967296] y:f32[]", XL_OVERFLOW, "1:5",
     "shape (4294967296, 4294967296) has too many elements"},
    {"y = 0", "y:f32[4294967296,4294967296]", XL_OVERFLOW, "1:1",
     "shape (4294967296, 4294967296) has too many elements"},
    {"y = argmax(x)", "x:f32[3000000000] y:i32[]", XL_BAD_SHAPE, "1:5",
     "argmax over 3000000000 elements"},
    {"y = argmin(x, axis=(0, 1))", "x:u8[65536,32768] y:i32[]", XL_BAD_SHAPE,
     "1:5", "argmin over 2147483648 elements"},
    {"y = layer_norm(x, g, 0, 1e-5)", "x:f32[4,5] g:f32[4] y:f32[4,5]",
     XL_BAD_SHAPE, "1:19",
     "shapes (4, 5) and (4,) do not broadcast: from the last"},
    {"y = layer_norm(x, 1, b, 1e-5)", "x:f32[4,5] b:f32[6] y:f32[4,5]",
     XL_BAD_SHAPE, "1:22",
     "shapes (4, 5) and (6,) do not broadcast: from the last"},
    {"y = layer_norm(x, 1, 0, x)", XY, XL_BAD_SHAPE, "1:25",
     "eps is a single number and has shape (4, 5) here"},
    {"y = rms_norm(x, g, 1e-5)", "x:f32[5] g:f32[4,5] y:f32[4,5]",
     XL_BAD_SHAPE, "1:17", "shape (4, 5) does not fit rows of shape (5,)"},
    {"y = rms_norm(x, 1, e)", "x:f32[5] e:f32[1] y:f32[5]", XL_BAD_SHAPE,
     "1:20", "eps is a single number and has shape (1,) here"},
    {"y = softmax(s)", "s:f32 y:f32[]", XL_BAD_SHAPE, "1:5",
     "a row function requires"},
    {"y = rms_norm(1, 1, 1)", "y:f32[]", XL_BAD_SHAPE, "1:5",
     "a row function requires"},
    {"y = softmax(x)", "x:f32[] y:f32[]", XL_BAD_SHAPE, "1:5",
     "a row function requires"},
};

static const struct wrong wrong_axes[] = {
    {"y = sum(x, axis=2)", XY, XL_BAD_SHAPE, "1:5",
     "axis 2 is out of range"},
    {"y = sum(x, axis=-3)", XY, XL_BAD_SHAPE, "1:5",
     "axis -3 is out of range"},
    {"y = sum(x, axis=(0, 5))", XY, XL_BAD_SHAPE, "1:5",
     "axis 5 is out of range"},
    {"y = sum(x, axis=(0, 0))", XY, XL_BAD_ARGUMENT, "1:5",
     "axis 0 is named twice"},
    {"y = sum(x, axis=(1, -1))", XY, XL_BAD_ARGUMENT, "1:5",
     "axis -1 is named twice"},
    {"y = max(x, axis=(-1, 0, 1))", XY, XL_BAD_ARGUMENT, "1:5",
     "axis 1 is named twice"},
    {"y = sum(s, axis=0)", "s:f32 y:f32[]", XL_BAD_SHAPE, "1:5",
     "axis 0 is out of range"},
    {"y = sum(3, axis=-1)", "y:f32[]", XL_BAD_SHAPE, "1:5",
     "axis -1 is out of range"},
    {"y = softmax(x, axis=2)", XY, XL_BAD_SHAPE, "1:5",
     "axis 2 is out of range"},
    {"y = softmax(x, axis=(0, -2))", XY, XL_BAD_ARGUMENT, "1:5",
     "axis -2 is named twice"},
    {"y = argmax(x, axis=9)", XY, XL_BAD_SHAPE, "1:5",
     "axis 9 is out of range"},
    {"y = any(x > 0, axis=-4)", "x:f32[2,3,4] y:f32[2,3,4]",
     XL_BAD_SHAPE, "1:5",
     "axis -4 is out of range"},
    {"y = sum(sum(x, axis=0), axis=2)", XY, XL_BAD_SHAPE, "1:5",
     "axis 2 is out of range"},
    {"y = permute(x, 0)", XY, XL_BAD_SHAPE, "1:5",
     "the order names 1 axes and the tensor has 2: each is"},
    {"y = permute(x, 0, 1, 2)", XY, XL_BAD_SHAPE, "1:5",
     "the order names 3 axes and the tensor has 2: each is"},
    {"y = permute(x, 0, 0)", XY, XL_BAD_ARGUMENT, "1:5",
     "axis 0 is named twice"},
    {"y = permute(x, 0, 2)", XY, XL_BAD_SHAPE, "1:5",
     "axis 2 is out of range"},
    {"y = permute(x, -1, 1)", XY, XL_BAD_ARGUMENT, "1:5",
     "axis 1 is named twice"},
    {"y = permute(x, -3, 0)", XY, XL_BAD_SHAPE, "1:5",
     "axis -3 is out of range"},
};

static const struct wrong wrong_views[] = {
    {"y = x[4]", "x:f32[4] y:f32[]", XL_BAD_SHAPE, "1:5",
     "index 4 is outside of axis 0, whose size is 4"},
    {"y = x[-5]", "x:f32[4] y:f32[]", XL_BAD_SHAPE, "1:5",
     "index -5 is outside of axis 0, whose size is 4"},
    {"y = x[0, 5]", "x:f32[4,5] y:f32[]", XL_BAD_SHAPE, "1:5",
     "index 5 is outside of axis 1, whose size is 5"},
    {"y = x[4, 0]", "x:f32[4,5] y:f32[]", XL_BAD_SHAPE, "1:5",
     "index 4 is outside of axis 0, whose size is 4"},
    {"y = x[0, 0, 0]", "x:f32[4,5] y:f32[]", XL_BAD_SHAPE, "1:5",
     "the slice names 3 axes and the tensor has 2"},
    {"y = x[:, :]", "x:f32[4] y:f32[4]", XL_BAD_SHAPE, "1:5",
     "the slice names 2 axes and the tensor has 1"},
    {"y = x[0, ..., 0, 0]", "x:f32[4,5] y:f32[]", XL_BAD_SHAPE, "1:5",
     "the slice names 3 axes and the tensor has 2"},
    {"y = x[0]", "x:f32[] y:f32[]", XL_BAD_SHAPE, "1:5",
     "the slice names 1 axes and the tensor has 0"},
    {"y = s[0]", "s:f32 y:f32[]", XL_BAD_SHAPE, "1:5",
     "the slice names 1 axes and the tensor has 0"},
    {"t = x + 1; y = t[4]", "x:f32[4] y:f32[]", XL_BAD_SHAPE, "1:16",
     "index 4 is outside of axis 0, whose size is 4"},
    {"y = x + exp(x)[:, 0]", "x:f32[4] y:f32[]", XL_BAD_SHAPE, "1:9",
     "the slice names 2 axes and the tensor has 1"},
    {"t = 2; y = t[0]", "y:f32[]", XL_BAD_SHAPE, "1:12",
     "the slice names 1 axes and the tensor has 0"},
    {"r = rand(1); y = r[0]", "y:f32[]", XL_BAD_ARGUMENT, "1:18",
     "rand() or index() has no shape here"},
    {"y = x[None, None, None, None, None, :, None]", "x:f32[4] y:f32[]",
     XL_BAD_SHAPE, "1:5", "the view has more than 6 axes"},
    {"y = reshape(x, 3)", "x:f32[4] y:f32[]", XL_BAD_SHAPE, "1:5",
     "4 elements, of shape (4,), do not have the shape of this reshape"},
    {"y = reshape(x, 3, -1)", "x:f32[4] y:f32[]", XL_BAD_SHAPE, "1:5",
     "4 elements, of shape (4,), do not have"},
    {"y = reshape(x, 9007199254740991, 9007199254740991)", "x:f32[4] y:f32[]",
     XL_BAD_SHAPE, "1:5", "4 elements"},
    {"y = permute(exp(x), 0, 2)", XY, XL_BAD_SHAPE, "1:5",
     "axis 2 is out of range"},
    {"y = x[x]", "x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "an index is an integer and is f32 here: write cast(index, i32)"},
    {"y = gather(x, x > 0)", "x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "an index is an integer and is bool here"},
    {"y = s[k]", "s:f32 k:i32 y:f32[]", XL_BAD_SHAPE, "1:5",
     "a single value has no axis"},
    {"y = x[:, k]", "x:f32[4] k:i32 y:f32[]", XL_BAD_SHAPE, "1:5",
     "axis 1 is out of range"},
    {"y = gather(x, k, axis=(0, 1))", "x:f32[4,5] k:i32 y:f32[]",
     XL_BAD_ARGUMENT, "1:5", "gather takes one axis"},
    {"y = x[k:j]", "x:f32[4] k:i32 j:i32 y:f32[]", XL_BAD_ARGUMENT, "1:5",
     "the size of a slice is known before the run"},
    {"y = x[k:3]", "x:f32[4] k:i32 y:f32[]", XL_BAD_ARGUMENT, "1:5",
     "the size of a slice is known before the run: its bounds differ by a "
     "whole number, as in x[i:i + 4]"},
    {"y = x[s:s + 1]", "x:f32[4] s:f32 y:f32[1]", XL_BAD_ARGUMENT, "1:5",
     "a bound of a slice is a single i32"},
    {"y = s[k:k + 1]", "s:f32 k:i32 y:f32[]", XL_BAD_SHAPE, "1:5",
     "a single value has no axis"},
    {"y = x[:, k:k + 1]", "x:f32[4] k:i32 y:f32[]", XL_BAD_SHAPE, "1:5",
     "axis 1 is out of range"},
    {"y = concat(x, z)", "x:f32[4,5] z:f32[4] y:f32[]", XL_BAD_SHAPE, "1:5",
     "shapes (4, 5) and (4,) differ in more than axis 0"},
    {"y = concat(x, z, axis=1)", "x:f32[4,5] z:f32[5,5] y:f32[]", XL_BAD_SHAPE,
     "1:5", "shapes (4, 5) and (5, 5) differ in more than axis 1"},
    {"y = concat(x, x, axis=(0, 1))", "x:f32[4,5] y:f32[]", XL_BAD_ARGUMENT,
     "1:5", "one axis is named"},
    {"y = concat(s, s)", "s:f32 y:f32[2]", XL_BAD_SHAPE, "1:5",
     "a single value has no axis"},
    {"y = pad(x, k, 1)", "x:f32[4] k:i32 y:f32[6]", XL_BAD_ARGUMENT, "1:5",
     "pad takes two numbers of elements"},
    {"y = pad(x, 1, -1)", "x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "pad takes two numbers of elements"},
    {"y = pad(x, 1, 1, x)", "x:f32[4] y:f32[6]", XL_BAD_SHAPE, "1:5",
     "the value of padding is a single number"},
    {"y = cumsum(x, axis=1)", "x:f32[4] y:f32[4]", XL_BAD_SHAPE, "1:5",
     "axis 1 is out of range"},
    {"y = cumsum(rand(1))", "y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "rand() or index() has no shape here"},
    {"y = max(x[2:2])", "x:f32[4] y:f32[]", XL_BAD_SHAPE, "1:5",
     "max of no elements has no value"},
    {"y = x[2:2]", "x:f32[4] y:f32[4]", XL_BAD_SHAPE, "1:1",
     "a value of shape (0,) does not broadcast to 'y' of shape (4,)"},
    {"y = x[i]", "x:f32[4,1,1,1] i:i32[1,1,1,1] y:f32[]", XL_BAD_SHAPE, "1:5",
     "the result has 7 axes; at most 6"},
    {"y[::-1] = x", "x:f32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:1",
     "a slice that is assigned has a positive step"},
    {"y[0:2] = a; y[1:3] = a", "a:f32[2] y:f32[4]", XL_BAD_ARGUMENT, "1:13",
     "this slice of 'y' overlaps"},
    {"y[0] = 1; y[0] = 2", "y:f32[4]", XL_BAD_ARGUMENT, "1:11",
     "this slice of 'y' overlaps"},
    {"y[-1] = 1; y[3] = 2", "y:f32[4]", XL_BAD_ARGUMENT, "1:12",
     "this slice of 'y' overlaps"},
    {"y[::2] = 1; y[::3] = 2", "y:f32[7]", XL_BAD_ARGUMENT, "1:13",
     "this slice of 'y' overlaps"},
    {"y[:, 0] = 1; y[0, :] = 2", "y:f32[4,5]", XL_BAD_ARGUMENT, "1:14",
     "this slice of 'y' overlaps"},
    {"y[0] = 1; y = 2", "y:f32[4]", XL_BAD_ARGUMENT, "1:11",
     "'y' is assigned as a whole"},
    {"y = 2; y[0] = 1", "y:f32[4]", XL_BAD_ARGUMENT, "1:8",
     "'y' is assigned as a whole"},
    {"y[0] = 1; z = y", "y:f32[4] z:f32[4]", XL_BAD_ARGUMENT, "1:15",
     "'y' is read after slices of it"},
    {"y[0] = 1; z = y[1]", "y:f32[4] z:f32[]", XL_BAD_ARGUMENT, "1:15",
     "'y' is read after slices of it"},
    {"y[0] = 1; y[1] = y[0]", "y:f32[4]", XL_BAD_ARGUMENT, "1:18",
     "'y' is read after slices of it"},
    {"y[4] = 1", "y:f32[4]", XL_BAD_SHAPE, "1:1",
     "index 4 is outside of axis 0, whose size is 4"},
    {"y[0, 0] = 1", "y:f32[4]", XL_BAD_SHAPE, "1:1",
     "the slice names 2 axes and the tensor has 1"},
    {"s[0] = 1", "s:f32", XL_BAD_ARGUMENT, "1:1",
     "'s' is a scalar and cannot be assigned"},
    {"y[::4] = 0; y[2::6] = 1", "y:f32[12]", XL_BAD_ARGUMENT, "1:13",
     "this slice of 'y' overlaps"},
    {"y[0] = x > 0; y[1] = x", "x:f32[] y:bool[4]", XL_BAD_ARGUMENT, "1:15",
     "'y' is bool and its value is f32"},
};

static const struct wrong wrong_random[] = {
    {"y = sum(index(0))", "y:i32[]", XL_BAD_ARGUMENT, "1:5",
     "rand() or index() has no shape here"},
    {"y = index(1)", "y:i32[4]", XL_BAD_SHAPE, "1:5",
     "axis 1 is out of range: axes are 0 to 0"},
    {"y = index(0)", "y:i32[]", XL_BAD_SHAPE, "1:5",
     "axis 0 is out of range: a single value has none"},
    {"y = x * index(-3)", "x:f32[4,5] y:f32[4,5]", XL_BAD_SHAPE, "1:9",
     "axis -3 is out of range: axes are 0 to 1"},
    {"y = index(0.0)", "y:i32[4]", XL_BAD_ARGUMENT, "1:5",
     "index takes an axis, a whole number"},
    {"y = index(n)", "n:i32 y:i32[4]", XL_BAD_ARGUMENT, "1:5",
     "index takes an axis, a whole number"},
    {"y = sum(rand(1))", "y:f32[]", XL_BAD_ARGUMENT, "1:5",
     "rand() or index() has no shape here"},
    {"y = max(rand(1) * 2, axis=0)", "y:f32[]", XL_BAD_ARGUMENT, "1:5",
     "rand() or index() has no shape here"},
    {"y = softmax(rand(1))", "y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "rand() or index() has no shape here"},
    {"y = mean(randn(7)^2)", "y:f32[]", XL_BAD_ARGUMENT, "1:5",
     "rand() or index() has no shape here"},
    {"y = layer_norm(randn(7), 1, 0, 1)", "y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "rand() or index() has no shape here"},
    {"t = rand(1); y = x * any(t > 0.5)", "x:f32[4] y:f32[4]", XL_BAD_ARGUMENT,
     "1:22", "rand() or index() has no shape here"},
    {"y = rand(1.5)", "y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "a seed is a whole number or a scalar that is bound as i32"},
    {"y = rand(x)", XY, XL_BAD_ARGUMENT, "1:5",
     "a seed is a whole number or a scalar that is bound as i32"},
    {"y = rand(i)", "i:i32[4] y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "a seed is a whole number or a scalar that is bound as i32"},
    {"y = rand(s)", "s:f32 y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "a seed is a whole number or a scalar that is bound as i32"},
    {"y = rand(s + 1)", "s:i32 y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "a seed is a whole number or a scalar that is bound as i32"},
    {"y = rand(true)", "y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "a seed is a whole number or a scalar that is bound as i32"},
    {"y = randn(rand(1))", "y:f32[4]", XL_BAD_ARGUMENT, "1:5",
     "a seed is a whole number or a scalar that is bound as i32"},
    {"y = rand(1)", "y:i32[4]", XL_BAD_ARGUMENT, "1:1",
     "'y' is i32 and its value is f32"},
};

/* -- checks ----------------------------------------------------------- */

/* The column of the caret, from 1. */
static unsigned caret_column(const char *detail)
{
    const char *last = strrchr(detail, '\n');
    assert_non_null(last);
    const size_t blanks = strspn(last + 1, " ");
    assert_string_equal(last + 1 + blanks, "^");
    return (unsigned)blanks - 1; /* lines are indented by two */
}

static void check_error(const struct wrong *w)
{
    struct xl__signature s;
    struct xl__graph g = {0};
    struct xl__error e = {0};
    test_bind(w->spec, &s);
    const xl_status status = test_infer(w->text, &s, &g, &e);
    const char *detail = xl__str_text(&e.detail);
    const size_t len = strlen(w->location);
    if (status != w->status || strncmp(detail, w->location, len) != 0 ||
        strncmp(detail + len, ": ", 2) != 0 ||
        strncmp(detail + len + 2, w->message, strlen(w->message)) != 0)
        fail_msg("%s\nis %s: %s\nand not %s: %s: %s", w->text,
                 xl_status_name(status), detail, xl_status_name(w->status),
                 w->location, w->message);
    assert_int_equal(e.status, status);
    assert_int_equal(caret_column(detail),
                     strtoul(strchr(w->location, ':') + 1, NULL, 10));
    assert_null(g.node);
    xl__error_clear(&e);
}

#define CHECK_ALL(table)                                                      \
    for (size_t i_ = 0; i_ < sizeof(table) / sizeof *(table); i_++)           \
    check_error(&(table)[i_])

static void test_wrong_names(void **state)
{
    (void)state;
    CHECK_ALL(wrong_names);
}

static void test_wrong_types(void **state)
{
    (void)state;
    CHECK_ALL(wrong_types);
}

static void test_wrong_shapes(void **state)
{
    (void)state;
    CHECK_ALL(wrong_shapes);
    CHECK_ALL(wrong_axes);
}

static void test_wrong_views(void **state)
{
    (void)state;
    CHECK_ALL(wrong_views);
}

static void test_wrong_random(void **state)
{
    (void)state;
    CHECK_ALL(wrong_random);
}

/* One slice more than the maximum number of outputs. */
static void test_too_many_outputs(void **state)
{
    struct xl__str text = {0};
    char location[32];
    unsigned last = 0;
    (void)state;
    for (unsigned i = 0; i <= XL_EXPR_MAX_BINDINGS; i++) {
        last = (unsigned)text.len + 1;
        xl__str_printf(&text, "y[%u] = 1;", i);
    }
    snprintf(location, sizeof location, "1:%u", last);
    const struct wrong w = {xl__str_text(&text), "y:f32[64]", XL_BAD_ARGUMENT,
                            location, "more than 32 assignments"};
    struct xl__signature s;
    struct xl__graph g;
    struct xl__error e = {0};
    test_bind(w.spec, &s);
    assert_int_equal(test_infer(w.text, &s, &g, &e), w.status);
    assert_memory_equal(xl__str_text(&e.detail), location, strlen(location));
    assert_non_null(strstr(xl__str_text(&e.detail), w.message));
    xl__error_clear(&e);
    xl__str_clear(&text);
}

/* Terms have no text: the message has no location. */
static void test_terms(void **state)
{
    struct xl__tree t = {0};
    struct xl__signature s;
    struct xl__graph g;
    struct xl__error e = {0};
    unsigned unused;
    (void)state;
    test_bind("y:f32[4]", &s);
    const struct xl__tree_node huge = {.kind = XL__T_INTEGER, .value = 3e9};
    assert_int_equal(xl__tree_name(&t, "y", 1, 0, &unused, &e), XL_OK);
    assert_int_equal(xl__tree_add(&t, &huge, &unused, &e), XL_OK);
    const struct xl__statement y = {.view = UINT32_MAX, .value = unused};
    assert_int_equal(xl__tree_assign(&t, &y, &e), XL_OK);
    assert_int_equal(xl__infer(&t, &s, &g, &e), XL_BAD_ARGUMENT);
    assert_string_equal(xl__str_text(&e.detail),
                        "3000000000 does not fit in i32: write 3000000000.0 "
                        "for f32, or bind or cast to i64");
    xl__error_reset(&e);
    t.node[0].kind = XL__T_NUMBER;
    t.node[0].value = 1e39;
    assert_int_equal(xl__infer(&t, &s, &g, &e), XL_BAD_ARGUMENT);
    assert_string_equal(xl__str_text(&e.detail),
                        "1e+39 does not fit in f32; for infinity write inf");
    xl__error_clear(&e);
    xl__tree_clear(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_names),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_wrong_shapes),
        cmocka_unit_test(test_wrong_views),
        cmocka_unit_test(test_wrong_random),
        cmocka_unit_test(test_too_many_outputs),
        cmocka_unit_test(test_terms),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
