/* SPDX-License-Identifier: Apache-2.0 */
/* The case table of expressions. Shapes to be verified are odd, so that edges
 * occur, some with gaps, offsets and transposed storage; shapes to be timed
 * are larger than most caches. A reference refers to names by their index in
 * the lists: shapes first, then scalars. */
#include "cases/expr_cases.h"

#include <string.h>

#define V CASE_VERIFY
#define VB (CASE_VERIFY | CASE_BENCH)
#define VQB (CASE_VERIFY | CASE_QUICK | CASE_BENCH)
#define VQBS (CASE_VERIFY | CASE_QUICK | CASE_BENCH | CASE_SUITE)
#define BB (CASE_BENCH | CASE_BIG)

/* Columns: name, use, text,
 *          shapes to be verified,
 *          shapes to be timed,
 *          scalars, ranges, reference, samples */
/* clang-format off */
const struct expr_case expr_cases[] = {
    {"sum", VB, "sum(x)",
     "x=10007,out=1",
     "x=33554432,out=1",
     NULL, "x=-1:1", expr_ref_sum_all, 1},
    {"sum 1e8", BB, "sum(x)",
     NULL,
     "x=1e8,out=1",
     NULL, "x=-1:1", expr_ref_sum_all, 1},
    {"gelu", VB, "gelu(x)",
     "x=61x67,out=61x67:pad3",
     "x=4096x4096,out=4096x4096",
     NULL, "x=-6:6", expr_ref_gelu, 0},
    {"gelu bf16", V, "gelu(x)",
     "x=61x67:bf16:off1,out=61x67:bf16",
     NULL,
     NULL, NULL, expr_ref_gelu, 0},
    {"silu", VB, "silu(x)",
     "x=4099:bf16,out=4099:bf16",
     "x=33554432:bf16,out=33554432:bf16",
     NULL, NULL, expr_ref_silu, 0},
    {"gelu tanh", VB, "gelu_tanh(x)",
     "x=61x67:f16,out=61x67:f16",
     "x=4096x8192:f16,out=4096x8192:f16",
     NULL, NULL, expr_ref_gelu_tanh, 0},
    {"log softmax", VB, "log_softmax(x)",
     "x=37x1031:bf16,out=37x1031",
     "x=8192x2048:bf16,out=8192x2048",
     NULL, NULL, expr_ref_log_softmax, 0},
    {"axpy", VQB, "y = a * x + y",
     "x=1031:off1,y=1031:off3",
     "x=33554432,y=33554432",
     "a=0.7", NULL, expr_ref_axpy, 0},
    {"dequantise", VQB, "(q - z) * s",
     "q=31x257:u8:pad3,z=31x1:u8,s=31x1,out=31x257:f16",
     "q=8192x4096:u8,z=8192x1:u8,s=8192x1,out=8192x4096:f16",
     NULL, "q=0:255,z=100:150,s=0.01:0.05", expr_ref_dequantise, 0},
    {"transposed", VB, "x + transpose(y)",
     "x=67x129,y=129x67,out=67x129",
     "x=4096x4096,y=4096x4096,out=4096x4096",
     NULL, NULL, expr_ref_add_transposed, 0},
    {"smoothed", VB, "t = gelu(x); out = t[2:] + t[1:-1] + t[:-2]",
     "x=61x257:f16,out=59x257",
     "x=8194x4096:f16,out=8192x4096",
     NULL, NULL, expr_ref_smoothed, 0},
    {"swiglu", VQB, "silu(a) * b",
     "a=33x127:f16:pad1,b=33x127:f16,out=33x127:f16",
     "a=4096x8192:f16,b=4096x8192:f16,out=4096x8192:f16",
     NULL, NULL, expr_ref_swiglu, 0},
    {"linear relu", V, "relu(a * b + c)",
     "a=67x129:t,b=129,c=67x1,out=67x129:pad5",
     NULL,
     NULL, NULL, expr_ref_linear_relu, 0},
    {"hypotenuse", V, "sqrt(x^2 + y^2)",
     "x=33x65:f16:off1,y=33x65:f16:pad3,out=33x65:f16",
     NULL,
     NULL, NULL, expr_ref_hypotenuse, 0},
    {"bias gelu", VB, "gelu(x + b) + r",
     "x=45x131:bf16,b=131:bf16,r=45x131:bf16,out=45x131:bf16",
     "x=4096x8192:bf16,b=8192:bf16,r=4096x8192:bf16,out=4096x8192:bf16",
     NULL, NULL, expr_ref_bias_gelu, 0},
    {"softmax", VQB, "softmax(where(m, x * s, -inf))",
     "x=33x127:f16,m=33x127:bool,out=33x127:f16",
     "x=4096x4096:f16,m=4096x4096:bool,out=4096x4096:f16",
     "s=0.125", NULL, expr_ref_softmax, 0},
    {"softmax, rows masked", V, "softmax(where(i <= r, x, -inf))",
     "x=33x127:f16,i=127:i32,r=33x1:i32,out=33x127:f16",
     NULL,
     NULL, "i=index,r=-3:3", expr_ref_masked_softmax, 0},
    {"log softmax, masked", V, "log_softmax(where(i <= r, x, -inf))",
     "x=33x127:f16,i=127:i32,r=33x1:i32,out=33x127",
     NULL,
     NULL, "i=index,r=-3:3", expr_ref_masked_log_softmax, 0},
    {"logsumexp", V, "logsumexp(x, axis=-1)",
     "x=29x515,out=29x1",
     NULL,
     NULL, "x=-30:30", expr_ref_logsumexp, 0},
    {"argmax rows", VB, "argmax(x, axis=-1)",
     "x=53x301:f16,out=53x1:i32",
     "x=8192x4096:f16,out=8192x1:i32",
     NULL, NULL, expr_ref_argmax_rows, 0},
    {"argmin columns", V, "argmin(x, axis=0)",
     "x=301x53:i8:pad2,out=1x53:i32",
     NULL,
     NULL, NULL, expr_ref_argmin_columns, 0},
    {"any above", V, "any(x > c, axis=-1)",
     "x=61x127,out=61x1:bool",
     NULL,
     "c=2.6", NULL, expr_ref_any_above, 0},
    {"sin2 cos2", VQBS, "sin(x)^2 + cos(x)^2",
     "x=10007,out=10007",
     "x=16777216,out=16777216",
     NULL, "x=-10:10", expr_ref_sin2_cos2, 0},
    {"sin2 cos2 1e8", BB, "sin(x)^2 + cos(x)^2",
     NULL,
     "x=1e8,out=1e8",
     NULL, "x=-10:10", expr_ref_sin2_cos2, 0},
    {"mish", V, "x * tanh(softplus(x))",
     "x=4097,out=4097",
     NULL,
     NULL, "x=-8:8", expr_ref_mish, 0},
    {"momentum", VB, "v = mu * v + g; p = p - lr * v",
     "p=2053:bf16,v=2053,g=2053:bf16",
     "p=33554432:bf16,v=33554432,g=33554432:bf16",
     "mu=0.9,lr=0.01", NULL, expr_ref_momentum, 0},
    {"clip norm", VB, "x * min(1, c / norm2(x))",
     "x=8191,out=8191",
     "x=16777216,out=16777216",
     "c=10", NULL, expr_ref_clip_norm, 2},
    {"masks", V, "(x >= lo) & (x < hi) | !m",
     "x=37x101:f16,m=101:bool,out=37x101:bool",
     NULL,
     "lo=-0.5,hi=0.5", NULL, expr_ref_masks, 0},
    {"dropout", VQB, "where(rand(7) < p, 0, x / (1 - p))",
     "x=127x61,out=127x61",
     "x=4096x4096,out=4096x4096",
     "p=0.3", NULL, expr_ref_dropout, 0},
    {"rms norm", VB, "rms_norm(x + r, g, 1e-6)",
     "x=33x515:bf16,r=33x515:bf16,g=515:bf16,out=33x515:bf16",
     "x=8192x4096:bf16,r=8192x4096:bf16,g=4096:bf16,out=8192x4096:bf16",
     NULL, NULL, expr_ref_rms_norm, 0},
    {"layer norm", VQBS, "layer_norm(x, g, b, 1e-5)",
     "x=33x509,g=509,b=509,out=33x509",
     "x=8192x2048,g=2048,b=2048,out=8192x2048",
     NULL, NULL, expr_ref_layer_norm, 0},
    {"quantise", VQB, "cast(clamp(round(x / s), -128, 127), i8)",
     "x=31x257:off5,s=31x1,out=31x257:i8",
     "x=8192x4096,s=8192x1,out=8192x4096:i8",
     NULL, "s=0.01:0.05", expr_ref_quantise, 0},
    {"layer norm residual", VQB, "h = x + r; out = layer_norm(h, g, b, 1e-5)",
     "x=35x513:f16,r=35x513:f16,g=513:f16,b=513:f16,h=35x513:f16,out=35x513:f16",
     "x=8192x2048:f16,r=8192x2048:f16,g=2048:f16,b=2048:f16,h=8192x2048:f16,out=8192x2048:f16",
     NULL, NULL, expr_ref_layer_norm_residual, 0},
    {"mandelbrot", V, "a = zr^2 - zi^2 + cr; b = 2 * zr * zi + ci",
     "zr=47x51,zi=47x51,cr=51,ci=47x1,a=47x51,b=47x51",
     NULL,
     NULL, NULL, expr_ref_mandelbrot, 0},
    {"column stats", VB, "m = mean(x, axis=0); v = var(x, axis=0)",
     "x=1021x67,m=1x67,v=1x67",
     "x=16384x2048,m=1x2048,v=1x2048",
     NULL, "x=-2:3", expr_ref_column_stats, 64},
    {"channel stats", VB, "m = mean(x, axis=(0, 2)); v = var(x, axis=(0, 2))",
     "x=5x7x331,m=1x7x1,v=1x7x1",
     "x=32x256x4096,m=1x256x1,v=1x256x1",
     NULL, "x=-2:3", expr_ref_channel_stats, 64},
    {"gamma", V, "cast(clamp(255 * (x / 255)^g + 0.5, 0, 255), u8)",
     "x=61x83:u8:off1,out=61x83:u8",
     NULL,
     "g=0.45", "x=1:255", expr_ref_gamma, 0},
    {"geglu", VB, "gelu(x[:, :4096]) * x[:, 4096:]",
     "x=3x8192:f16:pad7,out=3x4096:f16",
     "x=4096x8192:f16,out=4096x4096:f16",
     NULL, NULL, expr_ref_geglu, 0},
    {"huber", VB, "d = abs(x - y); mean(where(d <= 1, 0.5 * d^2, d - 0.5))",
     "x=97x103,y=97x103,out=1",
     "x=4096x2048,y=4096x2048,out=1",
     NULL, NULL, expr_ref_huber, 1},
    {"distance", VB, "sqrt((x[:, 0:1] - y[0:1, :])^2 + (x[:, 1:2] - y[1:2, :])^2)",
     "x=59x2,y=2x83,out=59x83",
     "x=4096x2,y=2x4096,out=4096x4096",
     NULL, NULL, expr_ref_distance, 0},
    {"norm relu", VB, "relu((x - mu) * rsqrt(v + 1e-5) * g + b)",
     "x=3x5x7x9,mu=5x1x1,v=5x1x1,g=5x1x1,b=5x1x1,out=3x5x7x9",
     "x=32x128x64x64,mu=128x1x1,v=128x1x1,g=128x1x1,b=128x1x1,out=32x128x64x64",
     NULL, "v=0.1:2", expr_ref_norm_relu, 0},
    {"min max", VB, "(x - min(x, axis=-1)) / (max(x, axis=-1) - min(x, axis=-1))",
     "x=41x263,out=41x263",
     "x=8192x2048,out=8192x2048",
     NULL, NULL, expr_ref_min_max, 0},
    {"cross entropy", VB, "logsumexp(x, axis=-1) - sum(where(i == t, x, 0), axis=-1)",
     "x=29x131,i=131:i32,t=29x1:i32,out=29x1",
     "x=4096x8192,i=8192:i32,t=4096x1:i32,out=4096x1",
     NULL, "i=index,t=0:130", expr_ref_cross_entropy, 0},
    {"adam", VQBS, "m = b1 * m + (1 - b1) * g; v = b2 * v + (1 - b2) * g^2; "
     "p = p - lr * (m / c1) / (sqrt(v / c2) + eps)",
     "p=1027,m=1027,v=1027,g=1027",
     "p=16777216,m=16777216,v=16777216,g=16777216",
     "lr=1e-3,b1=0.9,b2=0.999,c1=0.5,c2=0.3,eps=1e-8", "v=0:1", expr_ref_adam, 0},
    {"horner", VB, "((((((((((0.1 * x - 0.2) * x + 0.3) * x - 0.4) * x + 0.5) * x - 0.6) * x "
     "+ 0.7) * x - 0.8) * x + 0.9) * x - 1) * x + 1.1)",
     "x=3001:off2,out=3001",
     "x=33554432,out=33554432",
     NULL, "x=-1:1", expr_ref_horner, 0},
    {"rope", VQB, "out[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s; "
     "out[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c",
     "x=7x3x34:f16,c=7x1x17,s=7x1x17,out=7x3x34:f16",
     "x=4096x32x128:f16,c=4096x1x64,s=4096x1x64,out=4096x32x128:f16",
     NULL, "c=-1:1,s=-1:1", expr_ref_rope, 0},
    {"gru", VB, "r = sigmoid(xr + hr); z = sigmoid(xz + hz); "
     "n = tanh(xn + r * hn); h = (1 - z) * n + z * h",
     "xr=9x65,hr=9x65,xz=9x65,hz=9x65,xn=9x65,hn=9x65,h=9x65",
     "xr=4096x1024,hr=4096x1024,xz=4096x1024,hz=4096x1024,xn=4096x1024,hn=4096x1024,h=4096x1024",
     NULL, NULL, expr_ref_gru, 0},
    {"lstm", VB, "c = sigmoid(z[:, 512:1024]) * c + sigmoid(z[:, :512]) * tanh(z[:, 1024:1536]); "
     "h = sigmoid(z[:, 1536:]) * tanh(c)",
     "z=5x2048,c=5x512,h=5x512:f16",
     "z=8192x2048,c=8192x512,h=8192x512:f16",
     NULL, NULL, expr_ref_lstm, 0},
    {"black-scholes", VB, "d1 = (log(s / k) + (r + 0.5 * w^2) * t) / (w * sqrt(t)); "
     "d2 = d1 - w * sqrt(t); "
     "n1 = 0.5 + 0.5 * erf(d1 * 0.70710678); "
     "n2 = 0.5 + 0.5 * erf(d2 * 0.70710678); "
     "call = s * n1 - k * exp(-r * t) * n2; "
     "put = call - s + k * exp(-r * t)",
     "s=4001,k=4001,t=4001,call=4001,put=4001",
     "s=16777216,k=16777216,t=16777216,call=16777216,put=16777216",
     "r=0.02,w=0.3", "s=5:30,k=1:100,t=0.25:10", expr_ref_black_scholes, 0},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0},
};
/* clang-format on */

bool expr_case_spec(const struct expr_case *c, bool timed,
                    struct expr_spec *out, char *why)
{
    struct expr_scan seen;
    memset(out, 0, sizeof *out);
    out->text = c->text;
    if (!expr_read_shapes(out, timed ? c->timed : c->small, why) ||
        !expr_read_scalars(out, c->scalars, why) ||
        !expr_read_ranges(out, c->ranges, why))
        return false;
    expr_scan(c->text, &seen);
    for (unsigned i = 0; i < seen.n; i++) {
        const struct expr_seen *s = &seen.name[i];
        struct expr_name *n = expr_find(out, s->name, strlen(s->name));
        if (!n)
            continue;
        n->is_input = s->is_read_first;
        n->is_result = s->is_assigned;
    }
    return expr_spec_settle(out, why);
}
