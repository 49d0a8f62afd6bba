/* SPDX-License-Identifier: Apache-2.0 */
/* CLBlast as a variant, for those who have it: its C library is opened at run
 * time and handed the caller's queue and buffers, so there is no dependency at
 * build time. The function's address is found while planning and kept in the
 * plan; the library stays open, since closing it would throw its own compiled
 * kernels away. Batches by steps are its StridedBatched calls, those by lists
 * its Batched ones.
 *
 * Refused: f16, because CLBlast sums it in f16 and this call promises sums in
 * f32; bf16, i8, epilogues and a C of another type, which it lacks; SVM; views
 * without a contiguous dimension.
 * Source: CLBlast 1.5, clblast_c.h (interface only). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "ops/path/cost.h"
#include "ops/gemm/gemm.h"

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
static const double bytes_frac = 0.5, gpu_flop_frac = 0.45,
                    cpu_flop_frac = 0.03;

/* Which of its calls. */
enum form { ONE, STEPS, LISTS, N_FORMS };

/* The external call's plain data. */
struct gemm {
    void (*fn)(void); /* of a type that `form` and `is_double` tell */
    bool is_double;
    enum form form;
    int layout, trans_a, trans_b;
    size_t m, n, k, ld_a, ld_b, ld_c, count, step_a, step_b, step_c;
};

static const char *const names[2][N_FORMS] = {
    {"CLBlastSgemm", "CLBlastSgemmStridedBatched", "CLBlastSgemmBatched"},
    {"CLBlastDgemm", "CLBlastDgemmStridedBatched", "CLBlastDgemmBatched"},
};

static const char *name_of(const struct gemm *s)
{
    return names[s->is_double][s->form];
}

static bool find(struct gemm *s)
{
    static const char *const libraries[] = {
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
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *library = xl__dlopen(libraries[i]);
        void *symbol = library ? xl__dlsym(library, name_of(s)) : NULL;
        /* ISO C has no cast from an object's to a function's address. */
        memcpy(&s->fn, &symbol, sizeof s->fn);
        if (symbol)
            return true;
        if (library)
            xl__dlclose(library);
    }
    return false;
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

static bool spell_all(const xl_gemm *g, struct gemm *out)
{
    int plain;
    memset(out, 0, sizeof *out);
    out->is_double = g->a.dtype == XL_F64;
    out->form = g->batch.count == 1 ? ONE : g->batch.a_at ? LISTS : STEPS;
    out->layout = g->c.col_stride == 1 ? ROW_MAJOR : COL_MAJOR;
    out->m = g->m;
    out->n = g->n;
    out->k = g->k;
    out->count = g->batch.count;
    out->step_a = g->batch.a_step;
    out->step_b = g->batch.b_step;
    out->step_c = g->batch.c_step;
    return spell(&g->a, g->m, g->k, out->layout, &out->trans_a, &out->ld_a) &&
           spell(&g->b, g->k, g->n, out->layout, &out->trans_b, &out->ld_b) &&
           spell(&g->c, g->m, g->n, out->layout, &plain, &out->ld_c);
}

/* What its calls promise too; NULL or why not. */
static const char *refuses_types(const struct xl__limits *l,
                                 const struct xl__gemm_canonical *c)
{
    const xl_dtype in = c->g.a.dtype;
    if (c->snippet)
        return "CLBlast has no epilogues";
    if (in != XL_F32 && in != XL_F64 && in != XL_F16)
        return "CLBlast multiplies f32, f64 and f16 alone";
    if (in == XL_F16)
        return "CLBlast sums f16 in f16, this call promises f32";
    if (c->g.c.dtype != in)
        return "CLBlast's C is of A's type";
    if (in == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no double precision";
    return NULL;
}

static const char *refuses(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    struct gemm call;
    const char *other = refuses_types(l, desc);
    if (other)
        return other;
    if (g->a.mem.svm || g->b.mem.svm || g->c.mem.svm)
        return "CLBlast takes buffers, not SVM pointers";
    if (!spell_all(g, &call))
        return "CLBlast needs a contiguous dimension and lines that do not "
               "overlap in each matrix";
    if (!find(&call))
#if defined(_WIN32)
        return "clblast.dll was not found";
#elif defined(__APPLE__)
        return "libclblast.1.dylib was not found";
#else
        return "libclblast.so.1 was not found";
#endif
    return NULL;
}

/* -- the calls ----------------------------------------------------------- */

/* What changes from call to call, as the calls want it. */
struct operands {
    cl_mem a, b, c;
    double alpha, beta;
    size_t off_a, off_b, off_c;
    const cl_ulong *at_a, *at_b, *at_c;
    cl_command_queue *queue;
    cl_event *done;
};

/* Arrays of one entry a product. `real` is the type of the scalars. */
struct arrays {
    size_t *at_a, *at_b, *at_c;
    void *alphas, *betas;
};

static bool make_arrays(const struct gemm *s, const struct operands *o,
                        size_t real_bytes, struct arrays *to)
{
    const size_t n = s->count;
    size_t *at = xl__calloc(n, 3 * sizeof *at + 2 * real_bytes);
    if (!at)
        return false;
    *to = (struct arrays){at, at + n, at + 2 * n, at + 3 * n,
                          (char *)(at + 3 * n) + n * real_bytes};
    for (size_t i = 0; i < n; i++) {
        to->at_a[i] = o->off_a + (size_t)o->at_a[i];
        to->at_b[i] = o->off_b + (size_t)o->at_b[i];
        to->at_c[i] = o->off_c + (size_t)o->at_c[i];
    }
    return true;
}

/* The interface is the same for float and double but for the scalars. */
#define CALLS(real)                                                           \
    typedef int (*real##_one)(int, int, int, size_t, size_t, size_t, real,    \
                              cl_mem, size_t, size_t, cl_mem, size_t, size_t, \
                              real, cl_mem, size_t, size_t,                   \
                              cl_command_queue *, cl_event *);                \
    typedef int (*real##_steps)(                                              \
        int, int, int, size_t, size_t, size_t, real, cl_mem, size_t, size_t,  \
        size_t, cl_mem, size_t, size_t, size_t, real, cl_mem, size_t, size_t, \
        size_t, size_t, cl_command_queue *, cl_event *);                      \
    typedef int (*real##_lists)(int, int, int, size_t, size_t, size_t,        \
                                const real *, cl_mem, const size_t *, size_t, \
                                cl_mem, const size_t *, size_t, const real *, \
                                cl_mem, const size_t *, size_t, size_t,       \
                                cl_command_queue *, cl_event *);              \
    static int real##_call_lists(const struct gemm *s,                        \
                                 const struct operands *o)                    \
    {                                                                         \
        struct arrays x;                                                      \
        if (!make_arrays(s, o, sizeof(real), &x))                             \
            return CL_OUT_OF_HOST_MEMORY;                                     \
        real *alphas = x.alphas, *betas = x.betas;                            \
        for (size_t i = 0; i < s->count; i++) {                               \
            alphas[i] = (real)o->alpha;                                       \
            betas[i] = (real)o->beta;                                         \
        }                                                                     \
        const int code = ((real##_lists)s->fn)(                               \
            s->layout, s->trans_a, s->trans_b, s->m, s->n, s->k, alphas,      \
            o->a, x.at_a, s->ld_a, o->b, x.at_b, s->ld_b, betas, o->c,        \
            x.at_c, s->ld_c, s->count, o->queue, o->done);                    \
        free(x.at_a);                                                         \
        return code;                                                          \
    }                                                                         \
    static int real##_call(const struct gemm *s, const struct operands *o)    \
    {                                                                         \
        if (s->form == LISTS)                                                 \
            return real##_call_lists(s, o);                                   \
        if (s->form == STEPS)                                                 \
            return ((real##_steps)s->fn)(                                     \
                s->layout, s->trans_a, s->trans_b, s->m, s->n, s->k,          \
                (real)o->alpha, o->a, o->off_a, s->ld_a, s->step_a, o->b,     \
                o->off_b, s->ld_b, s->step_b, (real)o->beta, o->c, o->off_c,  \
                s->ld_c, s->step_c, s->count, o->queue, o->done);             \
        return ((real##_one)s->fn)(                                           \
            s->layout, s->trans_a, s->trans_b, s->m, s->n, s->k,              \
            (real)o->alpha, o->a, o->off_a, s->ld_a, o->b, o->off_b, s->ld_b, \
            (real)o->beta, o->c, o->off_c, s->ld_c, o->queue, o->done);       \
    }
CALLS(float)
CALLS(double)
#undef CALLS

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
    struct gemm s;
    const struct operands o = {.a = call->mem[XL__GEMM_A].buf,
                               .b = call->mem[XL__GEMM_B].buf,
                               .c = call->mem[XL__GEMM_C].buf,
                               .alpha = call->value[XL__GEMM_ALPHA].f,
                               .beta = call->value[XL__GEMM_BETA].f,
                               .off_a = (size_t)call->value[XL__GEMM_OFF_A].u,
                               .off_b = (size_t)call->value[XL__GEMM_OFF_B].u,
                               .off_c = (size_t)call->value[XL__GEMM_OFF_C].u,
                               .at_a = call->list[0],
                               .at_b = call->list[1],
                               .at_c = call->list[2],
                               .queue = &native,
                               .done = done};
    memcpy(&s, step->external_desc, sizeof s);
    const int code = s.is_double ? double_call(&s, &o) : float_call(&s, &o);
    if (code == 0)
        return XL_OK;
    snprintf(why, why_cap, "%s returned %d%s", name_of(&s), code,
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
    const double tiles = ceil((double)g->m / tile) *
                         ceil((double)g->n / tile) * (double)g->batch.count;
    return fmin(1, tiles / units);
}

static void estimate(const struct xl__limits *l, const xl_gemm *g,
                     struct xl__plan *p)
{
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__is(l, XL__F_is_cpu) ? cpu_flop_frac : gpu_flop_frac,
        .bytes = p->bytes,
        .bytes_frac = bytes_frac,
        .fill = fill(l, g),
        .launches = 4}; /* it copies operands into shape first */
    xl__estimate(l, &work, p);
}

static xl_status plan(const struct xl__limits *l, const void *desc,
                      const struct xl__params *params, struct xl__plan *p)
{
    const xl_gemm *g = desc;
    struct xl__step *s = &p->step[0];
    struct gemm call;
    (void)params;
    if (!spell_all(g, &call) || !find(&call))
        return XL_UNSUPPORTED;
    p->n_steps = 1;
    p->flop = xl__gemm_flop(g);
    p->bytes = xl__gemm_bytes(g);
    s->kernel = name_of(&call);
    s->external = run;
    s->slice_dim = -1;
    /* One verdict for each spelling of the call: it has kernels for each. */
    xl__define(s, "LAYOUT", call.layout);
    xl__define(s, "TRANS_A", call.trans_a);
    xl__define(s, "TRANS_B", call.trans_b);
    memcpy(s->external_desc, &call, sizeof call);
    estimate(l, g, p);
    return XL_OK;
}

const struct xl__variant xl__gemm_clblast = {
    .name = "gemm_clblast",
    .repeats = "as CLBlast's kernels do: it promises nothing",
    .refuses = refuses,
    .plan = plan,
};
