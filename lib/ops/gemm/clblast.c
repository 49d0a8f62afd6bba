/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_clblast: GEMM by CLBlast, if it is installed and the application or the
 * call asks for it (is_clblast in op.h). Its C library is opened at run time
 * and called with the caller's queue and buffers, so that there is no
 * dependency at build time. The function's address is found while planning
 * and kept in the plan. The library stays open, since closing it would discard
 * the kernels that it has compiled. Batches by steps are StridedBatched calls,
 * those by lists Batched calls.
 *
 * Refused: f16, because CLBlast sums it in f16 and GEMM here requires sums in
 * f32; bf16, i8, epilogues and a C of another type, which CLBlast does not
 * support; SVM; views without a contiguous dimension. Source: CLBlast 1.5,
 * clblast_c.h (interface only). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/str.h"
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

/* Share of the memory's rate that its kernels reach. */
static const double bytes_frac = 0.5;

/* Which of its functions is called. */
enum clblast_form { ONE, STEPS, LISTS, N_FORMS };

/* The call's values that the plan keeps. */
struct clblast_call {
    void (*fn)(void); /* of a type that depends on `form` and `is_double` */
    bool is_double;
    enum clblast_form form;
    int layout, trans_a, trans_b;
    size_t m, n, k, ld_a, ld_b, ld_c, count, step_a, step_b, step_c;
};

_Static_assert(sizeof(struct clblast_call) <=
                   sizeof((struct xl__step *)0)->external_desc,
               "the plan keeps it");

static const char *const names[2][N_FORMS] = {
    {"CLBlastSgemm", "CLBlastSgemmStridedBatched", "CLBlastSgemmBatched"},
    {"CLBlastDgemm", "CLBlastDgemmStridedBatched", "CLBlastDgemmBatched"},
};

static const char *name_of(const struct clblast_call *s)
{
    return names[s->is_double][s->form];
}

static bool find_function(struct clblast_call *s)
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

/* -- views as BLAS sees them ---------------------------------------------- */

/* The leading dimension, which must be at least the length of a line (row or
 * column); 0: BLAS has no such view. */
static size_t leading(size_t stride, size_t line, size_t n_lines)
{
    if (n_lines == 1)
        return xl__max_size(stride, line);
    return stride >= line ? stride : 0;
}

/* Describe a view as BLAS does: transposed or not, and its leading dimension.
 * Returns false if BLAS cannot describe it. */
static bool describe_view(const xl_mat *mat, size_t rows, size_t cols,
                          int layout, int *trans, size_t *ld)
{
    const bool by_rows = mat->col_stride == 1;
    if (!by_rows && mat->row_stride != 1)
        return false;
    *ld = by_rows ? leading(mat->row_stride, cols, rows)
                  : leading(mat->col_stride, rows, cols);
    *trans = by_rows == (layout == ROW_MAJOR) ? PLAIN : TRANSPOSED;
    return *ld > 0;
}

static bool describe_views(const xl_gemm *g, struct clblast_call *out)
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
    return describe_view(&g->a, g->m, g->k, out->layout, &out->trans_a,
                         &out->ld_a) &&
           describe_view(&g->b, g->k, g->n, out->layout, &out->trans_b,
                         &out->ld_b) &&
           describe_view(&g->c, g->m, g->n, out->layout, &plain, &out->ld_c);
}

/* NULL, or why its calls do not support the types. */
static const char *refuses_types(const struct xl__limits *l,
                                 const struct xl__gemm_canonical *c)
{
    const xl_dtype in = c->g.a.dtype;
    if (c->snippet)
        return "CLBlast has no epilogues";
    if (xl__gemm_types_refused(&c->g))
        return xl__gemm_types_refused(&c->g);
    if (in != XL_F32 && in != XL_F64 && in != XL_F16)
        return "CLBlast multiplies f32, f64 and f16 only";
    if (in == XL_F16)
        return "CLBlast sums f16 in f16, this call requires f32";
    if (c->g.c.dtype != in)
        return "CLBlast's C is of A's type";
    if (in == XL_F64 && !xl__is(l, XL__F_has_f64))
        return "the device has no double precision";
    return NULL;
}

static const char *refuse_clblast(const struct xl__limits *l, const void *desc)
{
    const xl_gemm *g = desc;
    struct clblast_call call;
    const char *other = refuses_types(l, desc);
    if (other)
        return other;
    if (g->a.mem.svm || g->b.mem.svm || g->c.mem.svm)
        return "CLBlast supports buffers, not SVM pointers";
    if (g->batch.inner > 0)
        return "CLBlast has no batches along two axes";
    if (g->batch.rows)
        return xl__gemm_no_rows;
    if (g->batch.at)
        return "CLBlast reads no offsets from device memory";
    if (!describe_views(g, &call))
        return "CLBlast requires matrices with a contiguous dimension and "
               "without overlapping rows or columns";
    if (!find_function(&call))
#if defined(_WIN32)
        return "clblast.dll was not found";
#elif defined(__APPLE__)
        return "libclblast.1.dylib was not found";
#else
        return "libclblast.so.1 was not found";
#endif
    return NULL;
}

/* -- the calls ------------------------------------------------------------ */

/* The values that change from call to call, as its functions require them. */
struct clblast_args {
    cl_mem a, b, c;
    double alpha, beta;
    size_t off_a, off_b, off_c;
    const cl_ulong *at_a, *at_b, *at_c;
    cl_command_queue *queue;
    cl_event *done;
};

/* Arrays with one entry per product. `real` is the type of the scalars. */
struct clblast_lists {
    size_t *at_a, *at_b, *at_c;
    void *alphas, *betas;
};

static bool make_lists(const struct clblast_call *s,
                       const struct clblast_args *o, size_t real_bytes,
                       struct clblast_lists *to)
{
    const size_t n = s->count;
    size_t *at = xl__calloc(n, 3 * sizeof *at + 2 * real_bytes);
    if (!at)
        return false;
    *to = (struct clblast_lists){at, at + n, at + 2 * n, at + 3 * n,
                                 (char *)(at + 3 * n) + n * real_bytes};
    for (size_t i = 0; i < n; i++) {
        to->at_a[i] = o->off_a + (size_t)o->at_a[i];
        to->at_b[i] = o->off_b + (size_t)o->at_b[i];
        to->at_c[i] = o->off_c + (size_t)o->at_c[i];
    }
    return true;
}

/* The functions of float and double differ in the type of the scalars only. */
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
    static int real##_call_lists(const struct clblast_call *s,                \
                                 const struct clblast_args *o)                \
    {                                                                         \
        struct clblast_lists x;                                               \
        if (!make_lists(s, o, sizeof(real), &x))                              \
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
    static int real##_call(const struct clblast_call *s,                      \
                           const struct clblast_args *o)                      \
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

/* OpenCL's error codes are returned unchanged; CLBlast's own become ours. */
static xl_status map_code(int code)
{
    if (code >= STATUS_LAST_CL)
        return code;
    if (code >= STATUS_BUFFER_FIRST && code <= STATUS_BUFFER_LAST)
        return XL_BAD_ARGUMENT;
    return XL_UNSUPPORTED;
}

static xl_status call_clblast(const struct xl__step *step,
                              const struct xl__call *call,
                              cl_command_queue native, cl_event *done,
                              char *why, size_t why_cap)
{
    struct clblast_call s;
    const struct clblast_args o = {
        .a = call->mem[XL__GEMM_A].buf,
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
    xl__strfmt(why, why_cap, "%s returned %d%s", name_of(&s), code,
               code == STATUS_NO_HALF || code == STATUS_NO_DOUBLE
                   ? ": the device lacks the precision"
                   : "");
    return map_code(code);
}

/* Fraction of the compute units kept busy by tiles of about CLBlast's size. */
static double busy_frac(const struct xl__limits *l, const xl_gemm *g)
{
    static const double tile = 64;
    const double tiles = ceil((double)g->m / tile) *
                         ceil((double)g->n / tile) * (double)g->batch.count;
    return xl__fill(l, tiles);
}

static void estimate_clblast(const struct xl__limits *l, const xl_gemm *g,
                             struct xl__plan *p)
{
    static const double ns_per_s = 1e9;
    const struct xl__cost work = {
        .flop = p->flop,
        .flop_frac = xl__model(l, XL__M_clblast_frac),
        .bytes = p->bytes,
        .bytes_frac = bytes_frac,
        .fill = busy_frac(l, g),
        .chain_ns = (double)g->k * xl__model(l, XL__M_tiled_step_clocks) /
                    xl__rate_clock(l) * ns_per_s,
        .launches = 4}; /* including its copies of operands before the
                           product */
    xl__estimate(l, &work, p);
}

static xl_status plan_clblast(const struct xl__limits *l, const void *desc,
                              const struct xl__params *params,
                              struct xl__plan *p)
{
    const xl_gemm *g = desc;
    struct xl__step *s = &p->step[0];
    struct clblast_call call;
    (void)params;
    if (!describe_views(g, &call) || !find_function(&call))
        return XL_UNSUPPORTED;
    p->n_steps = 1;
    p->flop = xl__gemm_flop(g);
    p->bytes = xl__gemm_bytes(g);
    s->kernel = name_of(&call);
    s->external = call_clblast;
    s->slice_dim = -1;
    /* One self-check for each form of the call: CLBlast has kernels for
     * each. */
    xl__define(s, "LAYOUT", call.layout);
    xl__define(s, "TRANS_A", call.trans_a);
    xl__define(s, "TRANS_B", call.trans_b);
    memcpy(s->external_desc, &call, sizeof call);
    estimate_clblast(l, g, p);
    return XL_OK;
}

const struct xl__variant xl__gemm_clblast = {
    .name = "gemm_clblast",
    .is_clblast = true,
    .repeats = "as CLBlast's kernels do: it promises nothing",
    .refuses = refuse_clblast,
    .plan = plan_clblast,
};
