/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `image`: the rate of images compared with the same texels in a buffer:
 * neighbourhoods of 2 x 2 texels, by groups that cover a row, a square or a
 * column; with a nearest and a linear filter, and by an image created from a
 * buffer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cl_info.h"
#include "measure/probe.h"

enum {
    WORD = 4,
    TEXEL_WORDS = 4,
    SAMPLES = 4, /* texels of a neighbourhood */
    WG = 256,
    GROUPS = 32,  /* per unit */
    LG_SIDE = 10, /* 16 MiB: beyond first-level caches */
    SIDE = 1 << LG_SIDE,
    N_TEXELS = SIDE * SIDE,
    HOP_X = 80, /* as in probe/image.cl */
    HOP_Y = 37
};

/* Relative error of f32 sums per addition; filter weights of 8 bits are exact
 * here. */
static const double rounding = 6e-8;

enum texel_form { BUFFER, NEAREST, LINEAR, LINE, N_FORMS };
static const char *const form_names[N_FORMS] = {"buffer", "nearest", "linear",
                                                "image1d"};

struct image_run {
    cl_mem out, src[N_FORMS]; /* NULL: not available */
    const char *missing[N_FORMS];
    cl_uint *texels;
    size_t wg, groups;
    unsigned lg_wg;
};

/* A launch: the form and the shape of a group. */
struct image_view {
    const struct image_run *f;
    enum texel_form form;
    unsigned lg_tile; /* log2 of the columns */
};

/* -- expected sums -------------------------------------------------------- */

struct texel_position {
    size_t x, y;
};

static struct texel_position first_texel(const struct image_view *v, size_t id)
{
    const size_t item = id % v->f->wg, group = id / v->f->wg;
    const unsigned lg_across = LG_SIDE - v->lg_tile;
    const size_t column = group & (((size_t)1 << lg_across) - 1);
    return (struct texel_position){
        (column << v->lg_tile) + (item & (((size_t)1 << v->lg_tile) - 1)),
        (group >> lg_across) * (v->f->wg >> v->lg_tile) +
            (item >> v->lg_tile)};
}

/* Adds the words of a texel, as bits and as floats. */
static void add_texel(const struct image_run *f, size_t x, size_t y,
                      cl_uint *bits, double *sum)
{
    const cl_uint *texel = &f->texels[(y * SIDE + x) * TEXEL_WORDS];
    for (unsigned i = 0; i < TEXEL_WORDS; i++) {
        float value;
        memcpy(&value, &texel[i], sizeof value);
        *bits += texel[i];
        *sum += value;
    }
}

static bool is_sum_right(const struct image_view *v, size_t iterations,
                         size_t id, cl_uint seen)
{
    struct texel_position at = first_texel(v, id);
    cl_uint bits = 0;
    double sum = 0;
    float mean;
    for (size_t t = 0; t < iterations; t++) {
        const size_t x = at.x % SIDE, y = at.y % SIDE;
        const size_t right = xl__min_size(x + 1, SIDE - 1);
        const size_t below = xl__min_size(y + 1, SIDE - 1);
        add_texel(v->f, x, y, &bits, &sum);
        add_texel(v->f, right, y, &bits, &sum);
        add_texel(v->f, x, below, &bits, &sum);
        add_texel(v->f, right, below, &bits, &sum);
        at.x += HOP_X;
        at.y += HOP_Y;
    }
    if (v->form != LINEAR)
        return seen == bits;
    memcpy(&mean, &seen, sizeof mean);
    return fabs(mean * SAMPLES - sum) <=
           rounding * (double)(iterations + SAMPLES) * sum;
}

/* -- one launch ----------------------------------------------------------- */

/* Compares the sums of the first and the last item. */
static xl_status check_sums(struct xl__session *p, struct xl__iterated *t,
                            xl_row *row)
{
    xl_status status = XL_OK;
    const struct image_view *v = t->arg;
    const size_t last = v->f->wg * v->f->groups - 1;
    cl_uint seen[2];
    TRY(xl_buffer_read(p->q, v->f->out, 0, &seen[0], WORD));
    TRY(xl_buffer_read(p->q, v->f->out, last * WORD, &seen[1], WORD));
    if (!is_sum_right(v, t->iterations, 0, seen[0]) ||
        !is_sum_right(v, t->iterations, last, seen[1]))
        xl__probe_reject(row, "wrong result: a sum differs from the host's");
fail:
    return status;
}

static struct xl__iterated plan_view(struct image_view *v)
{
    const struct image_run *f = v->f;
    struct xl__iterated t = {
        .call =
            {.mem = {[1] = {.buf = f->out}, [2] = {.buf = f->src[v->form]}}},
        .amount =
            (double)WORD * TEXEL_WORDS * SAMPLES * (double)(f->wg * f->groups),
        .check = check_sums,
        .arg = v};
    struct xl__step *s =
        xl__probe_step(&t.plan, "probe/image.cl", "image_read",
                       f->wg * f->groups, f->wg, true);
    xl__define(s, "WG", (long)f->wg);
    xl__define(s, "FORM", (long)v->form);
    xl__arg_mem(s, 1);
    xl__arg_mem(s, 2);
    xl__arg_u32(s, LG_SIDE);
    xl__arg_u32(s, LG_SIDE);
    xl__arg_u32(s, v->lg_tile);
    xl__arg_u32(s, 0);
    return t;
}

/* Measures a view. *rate: of the buffer, which the other forms are compared
 * with. */
static xl_status measure_view(struct xl__session *p, struct image_view *v,
                              const char *shape, double *rate)
{
    xl_status status = XL_OK;
    struct xl__iterated t = plan_view(v);
    xl_row row = xl__probe_row("probe_image", shape, "B/s");
    xl_row_param_text(&row, "by", form_names[v->form]);
    if (!v->f->src[v->form])
        return xl__probe_unsupported(p, &row, "%s", v->f->missing[v->form]);
    status = xl__iterated_measure(p, &t, &row);
    if (status == XL_BUILD_FAILED)
        return xl__probe_unsupported(p, &row, "the compiler rejects it");
    TRY(status);
    if (v->form == BUFFER)
        *rate = row.value;
    else
        xl_row_found(&row, "over_buffer", row.value / *rate);
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* Measures all forms by rows, (near-)squares and columns. CPUs compute
 * addresses and filters in software, so one shape suffices. */
static xl_status measure_shapes(struct xl__session *p,
                                const struct image_run *f)
{
    static const char *const names[] = {"row", "square", "column"};
    const unsigned lg_tiles[] = {f->lg_wg, (f->lg_wg + 1) / 2, 0};
    const bool cpu = xl__is(&p->q->ctx->device->seen, XL__F_is_cpu);
    const unsigned n = cpu ? 1 : sizeof names / sizeof *names;
    xl_status status = XL_OK;
    for (unsigned i = 0; i < n; i++) {
        double rate = NAN;
        for (unsigned form = 0; form < N_FORMS; form++) {
            struct image_view v = {f, (enum texel_form)form, lg_tiles[i]};
            TRY(measure_view(p, &v, names[i], &rate));
        }
    }
fail:
    return status;
}

/* -- images --------------------------------------------------------------- */

static const cl_image_format texel_format = {CL_RGBA, CL_FLOAT};

/* Creates an image; NULL, without an error, if the driver refuses. */
static cl_mem create_image(struct xl__session *p, const cl_image_desc *desc)
{
    cl_int code;
    const cl_mem image = clCreateImage(p->q->ctx->cl, CL_MEM_READ_ONLY,
                                       &texel_format, desc, NULL, &code);
    return code == CL_SUCCESS ? image : NULL;
}

static xl_status create_square(struct xl__session *p, struct image_run *f)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = SIDE,
                                .image_height = SIDE};
    const size_t origin[3] = {0, 0, 0}, region[3] = {SIDE, SIDE, 1};
    xl_status status = XL_OK;
    f->src[NEAREST] = create_image(p, &desc);
    f->missing[NEAREST] = f->missing[LINEAR] =
        "the driver creates no image of 1024 x 1024 texels of 4 floats";
    if (!f->src[NEAREST])
        return XL_OK;
    CL_TRY(&p->q->error, clEnqueueCopyBufferToImage(p->q->cl, f->src[BUFFER],
                                                    f->src[NEAREST], 0, origin,
                                                    region, 0, NULL, NULL));
    clRetainMemObject(f->src[NEAREST]);
    f->src[LINEAR] = f->src[NEAREST];
fail:
    return status;
}

/* Creates an image of the buffer; no texel is copied. */
static void create_line(struct xl__session *p, struct image_run *f)
{
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                .image_width = N_TEXELS,
                                .buffer = f->src[BUFFER]};
    size_t most = 0;
    f->missing[LINE] = "images of a buffer cannot be so long here";
    if (xl__device_size(&(struct xl__asked){.id = p->q->ctx->device->id},
                        CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, &most) &&
        most >= N_TEXELS)
        f->src[LINE] = create_image(p, &desc);
}

/* Creates texels: floats from 1 to 2 with random bits, so that linear filters
 * work. */
static xl_status create_texels(struct xl__session *p, struct image_run *f)
{
    enum { FRACTION = 0x7fffff, ONE = 0x3f800000 };
    const size_t n = (size_t)N_TEXELS * TEXEL_WORDS;
    xl_status status = XL_OK;
    f->texels = xl__calloc(n, WORD);
    TRY(xl__check_alloc(&p->q->error, f->texels, "texels"));
    for (size_t i = 0; i < n; i++)
        f->texels[i] = (xl__probe_word(p->how->seed, i) & FRACTION) | ONE;
    TRY(xl_buffer_create(p->q, n * WORD, &f->src[BUFFER]));
    TRY(xl_buffer_write(p->q, f->src[BUFFER], 0, f->texels, n * WORD));
    TRY(xl_buffer_create(p->q, f->wg * f->groups * WORD, &f->out));
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static void destroy_run(struct image_run *f)
{
    for (unsigned i = 0; i < N_FORMS; i++)
        xl__buffer_release(f->src[i]);
    xl__buffer_release(f->out);
    free(f->texels);
}

static xl_status run_image_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    struct image_run f = {.groups =
                              GROUPS * xl__size_or(l, XL__F_compute_units, 1)};
    cl_uint has_images = 0;
    if (!xl__device_u32(&(struct xl__asked){.id = p->q->ctx->device->id},
                        CL_DEVICE_IMAGE_SUPPORT, &has_images) ||
        !has_images)
        return xl__error_set(&p->q->error, XL_UNSUPPORTED,
                             "the device has no images");
    while ((size_t)2 << f.lg_wg <= xl__min_size(WG, p->most_wg))
        f.lg_wg++;
    f.wg = (size_t)1 << f.lg_wg;
    TRY(create_texels(p, &f));
    TRY(create_square(p, &f));
    create_line(p, &f);
    TRY(measure_shapes(p, &f));
fail:
    destroy_run(&f);
    return status;
}

const struct xl__probe xl__probe_image = {
    {"image",
     "Useful bytes per second from an image of 1024 x 1024 texels of 4 "
     "floats, 2 x 2 neighbours at a time, and from the same texels in a "
     "buffer: by groups that cover a row, a square or a column, with a "
     "nearest filter, with a linear one that takes all four in one sample, "
     "and by an image of the buffer. Sums are checked. Images are stored so "
     "that columns are near, too; buffers are not. Fooled by a device that "
     "computes image addresses and filters in software, as CPUs do.",
     false},
    run_image_probe};
