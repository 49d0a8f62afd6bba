/* SPDX-License-Identifier: Apache-2.0 */
/* CLBlast as a variant, for those who have it: its C library is opened at run
 * time and handed the caller's queue and buffers, so there is no dependency at
 * build time. The function's address is found while planning and kept in the
 * plan; the library stays open, since closing it would throw its own compiled
 * kernels away.
 *
 * Refused: f16, because CLBlast sums it in f16 and this call promises sums in
 * f32; bf16, which it lacks; SVM; views without a contiguous dimension.
 * Source: CLBlast 1.5, clblast_c.h (interface only). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"
#include "ops/cost.h"
#include "ops/gemm.h"
#include "ops/variants.h"

/* clblast_c.h: CLBlastLayout and CLBlastTranspose, passed as int. */
enum { ROW_MAJOR = 101, COL_MAJOR = 102, PLAIN = 111, TRANSPOSED = 112 };
/* CLBlastStatusCode beyond OpenCL's own codes. */
enum {
    STATUS_LAST_CL = -72,
    STATUS_NO_HALF = -2045,
    STATUS_NO_DOUBLE = -2044,
    STATUS_BUFFER_FIRST = -1024,
    STATUS_BUFFER_LAST = -1001
};

/* What its hand-written kernels reach by their own tuning of a GPU; on CPUs it
 * runs GPU kernels, and each item of a group is a loop there. */
static const double gpu_flop_frac = 0.45, cpu_flop_frac = 0.03;

typedef int (*sgemm_fn)(int layout, int trans_a, int trans_b, size_t m,
                        size_t n, size_t k, float alpha, cl_mem a,
                        size_t off_a, size_t ld_a, cl_mem b, size_t off_b,
                        size_t ld_b, float beta, cl_mem c, size_t off_c,
                        size_t ld_c, cl_command_queue *queue, cl_event *event);

/* The external call's plain data. */
struct sgemm {
    sgemm_fn fn;
    int layout, trans_a, trans_b;
    size_t m, n, k, ld_a, ld_b, ld_c;
};

static sgemm_fn find(void)
{
    static const char *const names[] = {
#if defined(_WIN32)
        "clblast.dll",
#elif defined(__APPLE__)
        "libclblast.1.dylib",
        "libclblast.dylib",
#else
        "libclblast.so.1",
        "libclblast.so",
#endif
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = xl__dlopen(names[i]);
        void *symbol = library ? xl__dlsym(library, "CLBlastSgemm") : NULL;
        sgemm_fn fn = NULL;
        /* ISO C has no cast from an object's to a function's address. */
        memcpy(&fn, &symbol, sizeof fn);
        if (fn)
            return fn;
        if (library)
            xl__dlclose(library);
    }
    return NULL;
}

/* -- views as BLAS sees them --------------------------------------------- */

/* A leading dimension, which must reach over a whole line; 0: no such view. */
static size_t leading(size_t stride, size_t line, size_t n_lines)
{
    if (n_lines == 1)
        return xl__max_size(stride, line);
    return stride >= line ? stride : 0;
}

/* Does BLAS have to transpose the view, and what is its leading dimension?
 * false when BLAS has no word for it. */
static bool spell(const xl_mat *mat, size_t rows, size_t cols, int layout,
                  int *trans, size_t *ld)
{
    const bool by_rows = mat->col_stride == 1;
    if (!by_rows && mat->row_stride != 1)
        return false;
    *ld = by_rows ? leading(mat->row_stride, cols, rows)
                  : leading(mat->col_stride, rows, cols);
    *trans = by_rows == (layout == ROW_MAJOR) ? PLAIN : TRANSPOSED;
    return *ld > 0;
}

static bool spell_all(const xl_gemm *g, struct sgemm *out)
{
    int plain;
    out->layout = g->c.col_stride == 1 ? ROW_MAJOR : COL_MAJOR;
    out->m = g->m;
    out->n = g->n;
    out->k = g->k;
    return spell(&g->a, g->m, g->k, out->layout, &out->trans_a, &out->ld_a) &&
           spell(&g->b, g->k, g->n, out->layout, &out->trans_b, &out->ld_b) &&
           spell(&g->c, g->m, g->n, out->layout, &plain, &out->ld_c);
}

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    struct sgemm call;
    (void)l;
    const char *other = xl__gemm_plain_alone(desc);
    if (other)
        return other;
    if (g->a.dtype == XL_BF16 || g->c.dtype == XL_BF16)
        return "CLBlast has no bf16";
    if (g->a.dtype == XL_F32 && g->c.dtype != XL_F32)
        return "CLBlast's C is of A's type";
    if (g->a.dtype != XL_F32)
        return "CLBlast sums f16 in f16, this call promises f32";
    if (g->a.mem.svm || g->b.mem.svm || g->c.mem.svm)
        return "CLBlast takes buffers, not SVM pointers";
    if (!spell_all(g, &call))
        return "CLBlast needs a contiguous dimension and lines that do not "
               "overlap in each matrix";
    if (!find())
#if defined(_WIN32)
        return "clblast.dll was not found";
#elif defined(__APPLE__)
        return "libclblast.1.dylib was not found";
#else
        return "libclblast.so.1 was not found";
#endif
    return NULL;
}

/* -- the call ------------------------------------------------------------ */

/* OpenCL's codes pass; CLBlast's own become ours. */
static xl_status map(int code)
{
    if (code >= STATUS_LAST_CL)
        return code;
    if (code >= STATUS_BUFFER_FIRST && code <= STATUS_BUFFER_LAST)
        return XL_BAD_ARGUMENT;
    return XL_UNSUPPORTED;
}

static xl_status run(const struct xl__step *step, const struct xl__call *call,
                     cl_command_queue native, cl_event *done, char *why,
                     size_t why_cap)
{
    struct sgemm s;
    memcpy(&s, step->external_desc, sizeof s);
    const int code = s.fn(
        s.layout, s.trans_a, s.trans_b, s.m, s.n, s.k,
        (float)call->value[XL__GEMM_ALPHA].f, call->mem[XL__GEMM_A].buf,
        (size_t)call->value[XL__GEMM_OFF_A].u, s.ld_a,
        call->mem[XL__GEMM_B].buf, (size_t)call->value[XL__GEMM_OFF_B].u,
        s.ld_b, (float)call->value[XL__GEMM_BETA].f, call->mem[XL__GEMM_C].buf,
        (size_t)call->value[XL__GEMM_OFF_C].u, s.ld_c, &native, done);
    if (code == 0)
        return XL_OK;
    snprintf(why, why_cap, "CLBlastSgemm returned %d%s", code,
             code == STATUS_NO_HALF || code == STATUS_NO_DOUBLE
                 ? ": the device lacks the precision"
                 : "");
    return map(code);
}

/* Its tiles are of about this size. */
static double fill(const struct xl__limits *l, const xl_gemm *g)
{
    static const double tile = 64;
    const double units = fmax(1, xl__num_or(l, XL__F_compute_units, 1));
    return fmin(1,
                ceil((double)g->m / tile) * ceil((double)g->n / tile) / units);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    const xl_gemm *g = desc;
    struct xl__step *s = &p->step[0];
    struct sgemm call;
    (void)params;
    memset(&call, 0, sizeof call);
    call.fn = find();
    if (!call.fn || !spell_all(g, &call))
        return XL_UNSUPPORTED;
    p->n_steps = 1;
    p->flop = xl__gemm_flop(g);
    p->bytes = xl__gemm_bytes(g);
    s->kernel = "CLBlastSgemm";
    s->external = run;
    s->slice_dim = -1;
    /* One verdict for each spelling of the call: it has kernels for each. */
    xl__define(s, "LAYOUT", call.layout);
    xl__define(s, "TRANS_A", call.trans_a);
    xl__define(s, "TRANS_B", call.trans_b);
    memcpy(s->external_desc, &call, sizeof call);
    const struct xl__work work = {
        .flop = p->flop,
        .flop_frac = xl__is(l, XL__F_is_cpu) ? cpu_flop_frac : gpu_flop_frac,
        .bytes = p->bytes,
        .bytes_frac = 1,
        .fill = fill(l, g),
        .launches = 4}; /* it copies operands into shape first */
    xl__estimate(l, &work, p);
    return XL_OK;
}

const struct xl__variant xl__gemm_clblast = {
    .name = "gemm_clblast",
    .repeats = "as CLBlast's kernels do: it promises nothing",
    .refuses = refuses,
    .plan = plan,
};
