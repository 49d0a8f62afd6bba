/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check: programs that are new to a device and driver run a small
 * case of odd sizes on a private queue of the same context, and the results
 * are compared with the host's in double: each element within its bound, then
 * the memory as a whole and what is behind the workspace, so that a store
 * outside of the results is found. The verdict is kept with the programs, so
 * that each is checked once.
 *
 * A bound may be infinite, where a result depends on how sums are rounded.
 * Therefore a case may run twice with complementary patterns in the memory
 * that is not read: whatever the bounds, each element must be written, and be
 * equal bit for bit. */
#include "ops/path/selfcheck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "ops/path/selfcheck_data.h"
#include "runtime/buffer.h"
#include "runtime/context.h"
#include "runtime/program.h"

/* -- the case ------------------------------------------------------------- */

void *xl__case_add_memory(struct xl__selfcheck_case *t, unsigned slot,
                          size_t elems, xl_dtype dtype, int fill)
{
    t->before[slot] = xl__calloc(elems, xl_dtype_bytes(dtype));
    t->bytes[slot] = elems * xl_dtype_bytes(dtype);
    if (t->before[slot])
        memset(t->before[slot], fill, t->bytes[slot]);
    return t->before[slot];
}

struct xl__case_result *xl__case_add_result(struct xl__selfcheck_case *t,
                                            const char *name, unsigned slot,
                                            xl_dtype dtype, size_t first)
{
    struct xl__case_result *all =
        xl__calloc(t->n_results + 1, sizeof *t->result);
    if (!all)
        return NULL;
    if (t->n_results > 0)
        memcpy(all, t->result, t->n_results * sizeof *all);
    free(t->result);
    t->result = all;
    all += t->n_results++;
    *all = (struct xl__case_result){
        .name = name, .slot = slot, .dtype = dtype, .first = first};
    return all;
}

void xl__case_add_dim(struct xl__case_result *r, size_t size, size_t stride)
{
    r->size[r->n_dims] = size;
    r->stride[r->n_dims++] = stride;
}

size_t xl__case_element(const struct xl__case_result *r, const size_t *at)
{
    size_t element = r->first;
    for (unsigned d = 0; d < r->n_dims; d++)
        element += at[d] * r->stride[d];
    return element;
}

static bool is_result(const struct xl__selfcheck_case *t, unsigned slot)
{
    for (unsigned r = 0; r < t->n_results; r++) {
        if (t->result[r].slot == slot)
            return true;
    }
    return false;
}

xl_status xl__case_upload(xl_queue *q, struct xl__selfcheck_case *t,
                          bool is_sample)
{
    xl_status status = XL_OK;
    xl_mem *mem = t->call.mem;
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        if (!t->before[i])
            continue;
        TRY(xl_buffer_create(q, t->bytes[i], &mem[i].buf));
        if (is_sample && !is_result(t, i)) {
            TRY(xl_buffer_write(q, mem[i].buf, 0, t->before[i], t->bytes[i]));
            continue;
        }
        t->after[i] = xl__calloc(t->bytes[i], 1);
        t->first[i] = t->n_passes > 1 ? xl__calloc(t->bytes[i], 1) : NULL;
        if (!t->after[i] || (t->n_passes > 1 && !t->first[i]))
            TRY(xl__error_set(&q->error, XL_NO_MEMORY, "data of the case"));
    }
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        if (t->same_as[i] > 0)
            mem[i].buf = mem[t->same_as[i]].buf;
    }
fail:
    return status;
}

xl_status xl__case_reset(xl_queue *q, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        if (t->after[i])
            TRY(xl_buffer_write(q, t->call.mem[i].buf, 0, t->before[i],
                                t->bytes[i]));
    }
fail:
    return status;
}

xl_status xl__case_download(xl_queue *q, struct xl__selfcheck_case *t)
{
    xl_status status = XL_OK;
    TRY(xl_queue_finish(q));
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        if (t->after[i])
            TRY(xl_buffer_read(q, t->call.mem[i].buf, 0, t->after[i],
                               t->bytes[i]));
    }
fail:
    return status;
}

void xl__case_clear(struct xl__selfcheck_case *t)
{
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        if (t->before[i])
            xl__buffer_release(t->call.mem[i].buf);
        free(t->before[i]);
        free(t->after[i]);
        free(t->first[i]);
    }
    free(t->result);
    if (t->own)
        (t->clear_own ? t->clear_own : free)(t->own);
}

/* -- the comparison ------------------------------------------------------- */

struct comparison {
    struct xl__selfcheck_case *t;
    unsigned pass, result;
    const struct xl__case_result *r; /* that result */
    size_t elem_bytes;
    size_t n_sure, n_written;
    struct xl__str *why;
};

/* "C(3, 4) of 65 x 65": without the dimensions of size 1. */
static void print_element(const struct comparison *c, const size_t *at)
{
    struct xl__str sizes = {0};
    xl__str_printf(c->why, "%s(", c->r->name);
    for (unsigned d = 0; d < c->r->n_dims; d++) {
        if (c->r->size[d] == 1 && d + 1 < c->r->n_dims)
            continue;
        xl__str_printf(c->why, "%s%zu", sizes.len ? ", " : "", at[d]);
        xl__str_printf(&sizes, "%s%zu", sizes.len ? " x " : "", c->r->size[d]);
    }
    xl__str_printf(c->why, ") of %s", xl__str_text(&sizes));
    xl__str_clear(&sizes);
}

/* Returns true for the elements of the sample. They are scattered by a hash,
 * so that no row, column or position within tiles is left out. */
static bool is_sampled(const struct comparison *c, const size_t *at)
{
    static const uint64_t odd = 0x9e3779b97f4a7c15u; /* 2^64 by golden ratio */
    uint64_t i = 0;
    for (unsigned d = 0; d < c->r->n_dims; d++)
        i = i * c->r->size[d] + at[d];
    return c->t->every <= 1 || (i * odd >> 32) % c->t->every == 0;
}

static bool compare_element(struct comparison *c, const size_t *at)
{
    const struct xl__case_result *r = c->r;
    double error = 0;
    if (!is_sampled(c, at))
        return true;
    const size_t i = xl__case_element(r, at), byte = i * c->elem_bytes;
    const unsigned char *after = c->t->after[r->slot];
    const double expected = c->t->expect(c->t, c->result, at, &error);
    const double got = xl__dtype_load(after, i, r->dtype);
    c->n_sure += !isinf(error);
    c->n_written +=
        memcmp(after + byte, c->t->before[r->slot] + byte, c->elem_bytes) != 0;
    if (!xl__case_agrees(got, expected, error, r->dtype)) {
        print_element(c, at);
        xl__str_printf(c->why, " is %.9g, not %.9g (within %.3g)", got,
                       expected, error);
        return false;
    }
    if (c->pass == XL__PASS_REPEATED &&
        memcmp(after + byte, c->t->first[r->slot] + byte, c->elem_bytes)) {
        print_element(c, at);
        xl__str_add(c->why, " was not written, or a second run gave another "
                            "value");
        return false;
    }
    return true;
}

static bool restore_element(struct comparison *c, const size_t *at)
{
    const size_t byte = xl__case_element(c->r, at) * c->elem_bytes;
    memcpy(c->t->after[c->r->slot] + byte, c->t->before[c->r->slot] + byte,
           c->elem_bytes);
    return true;
}

/* Calls `visit` for every element of a result until it returns false: all rows
 * of a block of columns, then the next block. */
static bool visit_elements(struct comparison *c,
                           bool (*visit)(struct comparison *c,
                                         const size_t *at))
{
    const struct xl__case_result *r = c->r;
    const unsigned last = r->n_dims - 1;
    size_t rows = 1;
    for (unsigned d = 0; d < last; d++)
        rows *= r->size[d];
    for (size_t first = 0; first < r->size[last]; first += XL__CASE_BLOCK) {
        const size_t end = xl__min_size(r->size[last], first + XL__CASE_BLOCK);
        for (size_t row = 0; row < rows; row++) {
            size_t at[XL_MAX_DIMS], rest = row;
            for (unsigned d = last; d-- > 0; rest /= r->size[d])
                at[d] = rest % r->size[d];
            for (at[last] = first; at[last] < end; at[last]++) {
                if (!visit(c, at))
                    return false;
            }
        }
    }
    return true;
}

static bool visit_results(struct comparison *c,
                          bool (*visit)(struct comparison *c,
                                        const size_t *at))
{
    bool ok = true;
    for (unsigned i = 0; ok && i < c->t->n_results; i++) {
        c->result = i;
        c->r = &c->t->result[i];
        c->elem_bytes = xl_dtype_bytes(c->r->dtype);
        ok = visit_elements(c, visit);
    }
    return ok;
}

/* Restores the elements of the results: any difference from the memory before
 * the run is then outside of them. */
static bool check_others(struct comparison *c)
{
    const struct xl__selfcheck_case *t = c->t;
    visit_results(c, restore_element);
    for (unsigned i = 0; i < XL__CASE_MEMS; i++) {
        const size_t n = t->bytes[i] - (i == 0 ? t->loose_bytes : 0);
        if (!t->after[i] || memcmp(t->after[i], t->before[i], n) == 0)
            continue;
        size_t byte = 0;
        while (t->after[i][byte] == t->before[i][byte])
            byte++;
        xl__str_printf(c->why,
                       "memory outside of the results was written: byte %zu "
                       "of operand %u",
                       byte, i);
        return false;
    }
    return true;
}

bool xl__case_compare(struct xl__selfcheck_case *t, unsigned pass, char *why,
                      size_t why_cap)
{
    struct xl__str text = {0};
    struct comparison c = {.t = t, .pass = pass, .why = &text};
    bool ok = visit_results(&c, compare_element);
    if (ok && t->n_passes <= 1 && c.n_sure + c.n_written == 0) {
        xl__str_add(&text, "no element of a result was written");
        ok = false;
    }
    for (unsigned i = 0; i < XL__CASE_MEMS && pass == XL__PASS_FIRST; i++) {
        if (t->first[i])
            memcpy(t->first[i], t->after[i], t->bytes[i]);
    }
    ok = ok && check_others(&c);
    if (!ok)
        xl__strcpy(why, why_cap, xl__str_text(&text));
    xl__str_clear(&text);
    return ok;
}

/* -- the run -------------------------------------------------------------- */

enum { GUARD = 256, GUARD_FILL = 0xff }; /* bytes behind the workspace */

struct run {
    xl_queue *q; /* private */
    const struct xl__checked *what;
    struct xl__selfcheck_case data;
    struct xl__cached_plan ready; /* of the case */
    cl_mem workspace;             /* with its guard; NULL: none */
};

/* Whether the steps of the case use the programs that are to be checked. */
static bool has_same_programs(const struct run *r)
{
    const struct xl__cached_plan *target = r->what->ready;
    for (unsigned i = 0; i < target->plan.n_steps; i++) {
        if (i >= r->ready.plan.n_steps ||
            r->ready.program[i] != target->program[i])
            return false;
    }
    return true;
}

static xl_status build_case(struct run *r)
{
    xl_status status = XL_OK;
    struct xl__error *e = &r->q->error;
    status = r->what->make_case(r->what->provider, &r->q->ctx->device->limits,
                                &r->data, &r->ready.plan);
    if (status != XL_OK)
        TRY(xl__error_set(e, status, "no case"));
    r->data.every = xl__case_sample_step(r->ready.plan.flop);
    if (r->what->ready->plan.has_large)
        xl__plan_permit_large(r->q->ctx->device, &r->ready.plan);
    TRY(xl__cached_plan_build(r->q, &r->ready));
    if (!has_same_programs(r))
        TRY(xl__error_set(e, XL_UNSUPPORTED, "the case has other programs"));
    TRY(xl__case_upload(r->q, &r->data, false));
fail:
    return status;
}

/* The workspace and its guard are NaN, of all types, so that what is read
 * before it is written shows too. */
static xl_status guard_workspace(struct run *r)
{
    xl_status status = XL_OK;
    const size_t n = r->ready.plan.scratch_bytes;
    unsigned char *fill = NULL;
    /* Of an expression it is among the case's memory. */
    if (n == 0 || r->data.before[XL__MEM_SCRATCH])
        return XL_OK;
    fill = xl__calloc(n + GUARD, 1);
    TRY(xl__check_alloc(&r->q->error, fill, "a workspace"));
    memset(fill, GUARD_FILL, n + GUARD);
    TRY(xl_buffer_create(r->q, n + GUARD, &r->workspace));
    TRY(xl_buffer_write(r->q, r->workspace, 0, fill, n + GUARD));
    r->data.call.mem[XL__MEM_SCRATCH].buf = r->workspace;
fail:
    free(fill);
    return status;
}

static xl_status check_guard(const struct run *r, bool *trusted, char *why,
                             size_t why_cap)
{
    xl_status status = XL_OK;
    unsigned char guard[GUARD];
    size_t byte = 0;
    if (!r->workspace)
        return XL_OK;
    TRY(xl_buffer_read(r->q, r->workspace, r->ready.plan.scratch_bytes, guard,
                       GUARD));
    while (byte < GUARD && guard[byte] == GUARD_FILL)
        byte++;
    *trusted = byte == GUARD;
    if (!*trusted)
        xl__strfmt(why, why_cap,
                   "memory behind the workspace was written: byte %zu", byte);
fail:
    return status;
}

/* All runs, until one is wrong. */
static xl_status run_case(struct run *r, bool *trusted, char *why,
                          size_t why_cap)
{
    xl_status status = XL_OK;
    struct xl__selfcheck_case *t = &r->data;
    TRY(build_case(r));
    TRY(guard_workspace(r));
    *trusted = true;
    for (unsigned pass = 0; *trusted && (pass == 0 || pass < t->n_passes);
         pass++) {
        status = t->fill ? t->fill(t, pass) : XL_OK;
        if (status != XL_OK)
            TRY(xl__error_set(&r->q->error, status, "no data"));
        TRY(xl__case_reset(r->q, t));
        TRY(xl__launch(r->q, &r->ready, &t->call, NULL));
        TRY(xl__case_download(r->q, t));
        *trusted = xl__case_compare(t, pass, why, why_cap);
        if (*trusted)
            TRY(check_guard(r, trusted, why, why_cap));
    }
fail:
    return status;
}

/* "gemm_mma TM=64 TN=64, gemm_turn + gemm_mma: C(3, 4) of ..." */
static void print_failure(const struct run *r, const char *why,
                          struct xl__str *detail)
{
    const struct xl__plan *p = &r->ready.plan;
    xl__str_add(detail, r->data.label);
    for (unsigned i = 0; p->n_steps > 1 && i < p->n_steps; i++)
        xl__str_printf(detail, "%s%s", i ? " + " : ", ", p->step[i].kernel);
    xl__str_printf(detail, ": %s", why);
}

static xl_status check_programs(xl_queue *q, struct run *r, bool *trusted,
                                char *why, size_t why_cap)
{
    xl_status status = xl_queue_create_beside(q, &r->q);
    struct xl__str detail = {0};
    if (status != XL_OK)
        return xl__error_set(&q->error, status,
                             "self-check of %s: no private queue: %s",
                             r->what->name, xl_status_name(status));
    status = run_case(r, trusted, why, why_cap);
    if (status == XL_OK && !*trusted)
        print_failure(r, why, &detail);
    if (status == XL_OK)
        xl__cached_plan_set_trust(q->ctx, r->what->ready, *trusted,
                                  xl__str_text(&detail));
    else
        xl__error_set(&q->error, status, "self-check of %s: %s", r->what->name,
                      xl_error_detail(r->q));
    xl__str_clear(&detail);
    return status;
}

xl_status xl__selfcheck(xl_queue *q, const struct xl__checked *what,
                        bool *trusted, char *why, size_t why_cap)
{
    *trusted = q->ctx->lib->skip_selfcheck;
    if (*trusted)
        return XL_OK;
    struct xl__program *const *p = what->ready->program;
    const unsigned n_programs = what->ready->plan.n_steps;
    const enum xl__trust known =
        xl__programs_begin_check(q->ctx, p, n_programs);
    *trusted = known == XL__PASSED;
    if (*trusted)
        return XL_OK;
    if (known == XL__FAILED) {
        xl__strcpy(why, why_cap, "gave wrong results on this driver before");
        return XL_OK;
    }
    xl_status status = XL_NO_MEMORY;
    struct run *r = xl__calloc(1, sizeof *r);
    if (r) {
        r->what = what;
        status = check_programs(q, r, trusted, why, why_cap);
        xl__case_clear(&r->data);
        xl__buffer_release(r->workspace);
        xl__cached_plan_clear(&r->ready);
        xl_queue_destroy(r->q);
    } else {
        xl__error_set(&q->error, status, "a self-check");
    }
    *trusted = *trusted && status == XL_OK;
    xl__programs_end_check(q->ctx, p, n_programs);
    free(r);
    return status;
}
