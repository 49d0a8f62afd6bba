/* SPDX-License-Identifier: Apache-2.0 */
/* The facts: a table generated from XL__FACT_MAP and one loop that queries
 * them. A result of the wrong size, or outside the range of real devices, is
 * ignored: drivers return 0, 1 or 2^64 - 1 for an unknown value (GE-03). */
#include "device/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "device/cl_info.h"

const struct xl__fact_info xl__facts[XL__N_FACTS] = {
#define FACT(name, kind, unit, ask, query, factor, help)                      \
    {#name, XL_FACT_##kind,   unit, XL__ASK_##ask,                            \
     query, (double)(factor), help},
    XL__FACT_MAP(FACT)
#undef FACT
};

/* Bytes. */
#define MIB 1048576.0
#define GIB 1073741824.0
#define TIB 1099511627776.0
#define PIB 1125899906842624.0

/* Ranges of real devices. high == 0: no limit. */
static const struct range {
    double low, high;
    bool power_of_2;
} ranges[XL__N_FACTS] = {
    [XL__F_vendor_id] = {1, UINT32_MAX, false},
    [XL__F_compute_units] = {1, 65536, false},
    [XL__F_clock_hz] = {1e8, 1e10, false}, /* GE-03 */
    [XL__F_address_bits] = {32, 64, true},
    [XL__F_global_mem_bytes] = {1, PIB, false},
    [XL__F_max_alloc_bytes] = {1, PIB, false},
    [XL__F_cache_bytes] = {1, TIB, false},
    [XL__F_cache_line_bytes] = {4, 4096, true},
    [XL__F_local_mem_bytes] = {1, GIB, false},
    [XL__F_local_mem_dynamic_bytes] = {1, GIB, false},
    [XL__F_local_banks] = {1, 1024, true},
    [XL__F_max_wg_size] = {1, 65536, false},
    [XL__F_max_wi_sizes] = {1, UINT32_MAX, false},
    [XL__F_subgroup_width] = {1, 1024, true},
    [XL__F_native_vector_f32] = {1, 64, true},
    [XL__F_mem_align_bytes] = {1, 65536, true},
    [XL__F_max_arg_bytes] = {1, MIB, false},
    [XL__F_max_const_bytes] = {1, PIB, false},
    [XL__F_timer_step_ns] = {1, 1e9, false},
};

bool xl__fact_is_sane(enum xl__fact_id id, double value)
{
    const struct range *r = &ranges[id];
    int exponent;
    if (isnan(value))
        return false;
    if (xl__facts[id].kind == XL_FACT_BOOL)
        return value == 0 || value == 1;
    if (r->high == 0)
        return true;
    if (value < r->low || value > r->high)
        return false;
    return !r->power_of_2 || frexp(value, &exponent) == 0.5;
}

/* -- reading -------------------------------------------------------------- */

double xl__num_or(const struct xl__limits *l, enum xl__fact_id id,
                  double otherwise)
{
    double v = xl__num(l, id);
    return isnan(v) ? otherwise : v;
}

bool xl__is(const struct xl__limits *l, enum xl__fact_id id)
{
    return xl__num(l, id) == 1;
}

const char *xl__text(const struct xl__limits *l, enum xl__fact_id id)
{
    return l->used[id].text ? l->used[id].text : "";
}

size_t xl__size_or(const struct xl__limits *l, enum xl__fact_id id,
                   size_t otherwise)
{
    double v = xl__num(l, id);
    if (isnan(v) || v < 0)
        return otherwise;
    return v >= (double)SIZE_MAX ? SIZE_MAX : (size_t)v;
}

bool xl__is_refused(const struct xl__limits *l, size_t rows, size_t cols)
{
    for (unsigned i = 0; i < l->refused.n; i++) {
        const int *tile = l->refused.tile[i];
        if ((size_t)tile[0] == rows && (size_t)tile[1] == cols)
            return true;
    }
    return false;
}

const xl_matrix_op *xl__find_matrix_op(const struct xl__limits *l,
                                       const char *fragments, xl_dtype a,
                                       xl_dtype b)
{
    for (const xl_matrix_op *op = l->matrix_ops; op && op->name; op++) {
        if (op->a == a && op->b == b && xl__streq(op->fragments, fragments))
            return op;
    }
    return NULL;
}

/* -- writing -------------------------------------------------------------- */

static void set_number(struct xl__answer *a, double value, xl_source source,
                       const char *note)
{
    a->value = value;
    a->source = isnan(value) ? XL_UNKNOWN : source;
    a->note = note;
}

static void set_text(struct xl__answer *a, const char *text, xl_source source,
                     const char *note)
{
    char *copy = text && *text ? xl__strdup(text) : NULL;
    free(a->text);
    a->text = copy;
    a->source = copy ? source : XL_UNKNOWN;
    a->note = note;
}

enum xl__fact_id xl__fact_find(const char *name)
{
    unsigned i = 0;
    while (i < XL__N_FACTS && strcmp(xl__facts[i].name, name) != 0)
        i++;
    return (enum xl__fact_id)i;
}

bool xl__fact_is_rate(enum xl__fact_id id)
{
    static const char *const units[] = {"flop/s", "B/s", "1/s", "ns"};
    if (xl__facts[id].ask != XL__ASK_NONE)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(xl__facts[id].unit, units[i]) == 0)
            return true;
    return false;
}

void xl__limits_answer(struct xl__limits *l, enum xl__fact_id id, double value,
                       const char *note)
{
    if (!xl__fact_is_sane(id, value))
        return;
    set_number(&l->queried[id], value, XL_QUERIED, note);
    set_number(&l->used[id], value, XL_QUERIED, note);
}

void xl__limits_answer_text(struct xl__limits *l, enum xl__fact_id id,
                            const char *text, const char *note)
{
    if (!text || !*text)
        return;
    set_text(&l->queried[id], text, XL_QUERIED, note);
    set_text(&l->used[id], text, XL_QUERIED, note);
}

void xl__limits_correct(struct xl__limits *l, enum xl__fact_id id,
                        double value, xl_source source, const char *note)
{
    set_number(&l->used[id], value, source, note);
}

void xl__limits_correct_text(struct xl__limits *l, enum xl__fact_id id,
                             const char *text, xl_source source,
                             const char *note)
{
    set_text(&l->used[id], text, source, note);
}

/* Work-items of a GPU that is known to have sub-groups cannot be alone in
 * them: the kernel that measured did not run as it is written. */
static bool is_contradiction(const struct xl__limits *l, enum xl__fact_id id,
                             double value)
{
    return id == XL__F_subgroup_width && value == 1 &&
           xl__is(l, XL__F_is_gpu) && !xl__is(l, XL__F_is_cpu) &&
           l->used[id].source != XL_MEASURED && xl__num(l, id) > 1;
}

void xl__limits_measure(struct xl__limits *l, enum xl__fact_id id,
                        double value)
{
    if (isnan(value))
        return;
    if (is_contradiction(l, id, value)) {
        set_number(&l->measured[id], value, XL_MEASURED, "GE-32");
        return;
    }
    set_number(&l->measured[id], value, XL_MEASURED, NULL);
    set_number(&l->used[id], value, XL_MEASURED, NULL);
}

static void each_answer(struct xl__limits *l,
                        void (*visit)(struct xl__answer *a))
{
    for (size_t i = 0; i < XL__N_FACTS; i++) {
        visit(&l->used[i]);
        visit(&l->queried[i]);
        visit(&l->measured[i]);
    }
}

static void set_unknown(struct xl__answer *a)
{
    *a = (struct xl__answer){.value = NAN, .source = XL_UNKNOWN};
}

static void free_text(struct xl__answer *a)
{
    free(a->text);
    set_unknown(a);
}

void xl__limits_init(struct xl__limits *l)
{
    each_answer(l, set_unknown);
    l->matrix_ops = NULL;
    l->cooperative[0] = (xl_matrix_op){.name = NULL};
    l->model = (struct xl__model){0};
    l->refused.n = 0;
}

void xl__limits_clear(struct xl__limits *l)
{
    each_answer(l, free_text);
}

static bool copy_answers(struct xl__answer *dst, const struct xl__answer *src)
{
    for (size_t i = 0; i < XL__N_FACTS; i++) {
        dst[i] = src[i];
        dst[i].text = src[i].text ? xl__strdup(src[i].text) : NULL;
        if (src[i].text && !dst[i].text)
            return false;
    }
    return true;
}

bool xl__limits_copy(struct xl__limits *dst, const struct xl__limits *src)
{
    memcpy(dst->cooperative, src->cooperative, sizeof dst->cooperative);
    dst->matrix_ops = src->matrix_ops == src->cooperative ? dst->cooperative
                                                          : src->matrix_ops;
    dst->model = src->model;
    return copy_answers(dst->used, src->used) &&
           copy_answers(dst->queried, src->queried) &&
           copy_answers(dst->measured, src->measured);
}

/* -- queries -------------------------------------------------------------- */

static double query_number(const struct xl__asked *d,
                           const struct xl__fact_info *f)
{
    cl_uint u32;
    cl_ulong u64;
    size_t size;
    switch (f->ask) {
    case XL__ASK_U32:
        return xl__device_u32(d, f->query, &u32) ? u32 * f->factor : NAN;
    case XL__ASK_BOOL:
        return xl__device_u32(d, f->query, &u32) ? (double)u32 : NAN;
    case XL__ASK_U64:
        return xl__device_u64(d, f->query, &u64) ? (double)u64 * f->factor
                                                 : NAN;
    case XL__ASK_SIZE:
        return xl__device_size(d, f->query, &size) ? (double)size * f->factor
                                                   : NAN;
    case XL__ASK_BITS:
        if (!xl__device_u64(d, f->query, &u64))
            return NAN;
        return (u64 & (cl_ulong)f->factor) != 0;
    default:
        return NAN;
    }
}

static void query_list(struct xl__limits *l, enum xl__fact_id id,
                       const struct xl__asked *d)
{
    struct xl__answer *a = &l->queried[id];
    size_t sizes[sizeof a->list / sizeof *a->list];
    unsigned n = 0, cap = sizeof sizes / sizeof *sizes;
    if (!xl__device_sizes(d, xl__facts[id].query, sizes, cap, &n))
        return;
    for (unsigned i = 0; i < n; i++)
        if (!xl__fact_is_sane(id, (double)sizes[i]))
            return;
    for (unsigned i = 0; i < n; i++)
        a->list[i] = (double)sizes[i];
    a->n_list = n;
    a->source = XL_QUERIED;
    l->used[id] = *a;
}

static void query_fact(struct xl__limits *l, enum xl__fact_id id,
                       const struct xl__asked *d)
{
    const struct xl__fact_info *f = &xl__facts[id];
    char *text;
    switch (f->ask) {
    case XL__ASK_NONE:
    case XL__ASK_SPECIAL:
        break;
    case XL__ASK_SIZES:
        query_list(l, id, d);
        break;
    case XL__ASK_TEXT:
        text = xl__device_text(d, f->query);
        xl__limits_answer_text(l, id, text, NULL);
        free(text);
        break;
    default:
        xl__limits_answer(l, id, query_number(d, f), NULL);
        break;
    }
}

xl_status xl__limits_query(struct xl__limits *l,
                           const struct xl__asked *device, struct xl__error *e)
{
    bool answered = false;
    for (size_t i = 0; i < XL__N_FACTS; i++) {
        query_fact(l, (enum xl__fact_id)i, device);
        answered = answered || l->queried[i].source == XL_QUERIED;
    }
    if (!answered)
        return xl__error_set(e, XL_NO_DEVICE,
                             "a device answers none of the queries");
    return XL_OK;
}
