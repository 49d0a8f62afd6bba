/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `constant`: constant memory compared with the same words in global
 * memory: one word for all items, adjacent words, words far apart; tables of
 * growing size; and whether a table of the largest reported size is read
 * correctly. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "measure/probe.h"

enum {
    WORD = 4,
    UNROLL = 8, /* as in probe/constant.cl */
    GAP = 33,
    WG = 256,
    GPU_GROUPS = 16, /* per unit */
    HOP = 37,
    USUAL_BYTES = 64 << 10, /* the minimum of a full profile */
    MOST_BYTES = 4 << 20,   /* CPUs report all their memory */
    MOST_SPAN = 256 << 10,
    FIRST_SPAN = 1 << 10,
    SHORT_LG = 10, /* log2 of the words in which patterns are compared */
    SLACK = (UNROLL - 1) * GAP
};

struct constant_table {
    cl_mem out, mem;
    size_t words, wg, groups;
};

/* The kernel's arguments for a launch. */
struct table_scan {
    const struct constant_table *table;
    bool is_global;
    unsigned lg_span, stride;
    size_t base;
};

/* -- one launch ----------------------------------------------------------- */

static cl_uint expected_sum(const struct table_scan *x, uint64_t seed,
                            size_t iterations, size_t item)
{
    const size_t mask = ((size_t)1 << x->lg_span) - 1;
    size_t at = (item * x->stride) & mask;
    cl_uint sum = (cl_uint)item;
    for (size_t t = 0; t < iterations; t++, at = (at + HOP) & mask) {
        for (size_t u = 0; u < UNROLL; u++)
            sum += xl__probe_word(seed, x->base + at + u * GAP);
    }
    return sum;
}

/* Compares the sums of the first and the last item. */
static xl_status check_sums(struct xl__session *p, struct xl__iterated *t,
                            xl_row *row)
{
    xl_status status = XL_OK;
    const struct table_scan *x = t->arg;
    const size_t last = x->table->wg * x->table->groups - 1;
    cl_uint seen[2];
    TRY(xl_buffer_read(p->q, x->table->out, 0, &seen[0], WORD));
    TRY(xl_buffer_read(p->q, x->table->out, last * WORD, &seen[1], WORD));
    if (seen[0] != expected_sum(x, p->how->seed, t->iterations, 0) ||
        seen[1] !=
            expected_sum(x, p->how->seed, t->iterations, x->table->wg - 1))
        xl__probe_reject(row, "wrong result: a sum differs from the host's");
fail:
    return status;
}

static struct xl__iterated plan_scan(struct table_scan *x)
{
    const struct constant_table *f = x->table;
    struct xl__iterated t = {
        .call = {.mem = {[1] = {.buf = f->out}, [2] = {.buf = f->mem}}},
        .amount = (double)WORD * UNROLL * (double)(f->wg * f->groups),
        .check = check_sums,
        .arg = x};
    struct xl__step *s =
        xl__probe_step(&t.plan, "probe/constant.cl", "constant_read",
                       f->wg * f->groups, f->wg, true);
    xl__define(s, "WG", (long)f->wg);
    xl__define(s, "SPACE", x->is_global);
    xl__arg_mem(s, 1);
    xl__arg_mem(s, 2);
    xl__arg_u32(s, x->base);
    xl__arg_u32(s, x->lg_span);
    xl__arg_u32(s, x->stride);
    xl__arg_u32(s, HOP);
    xl__arg_u32(s, 0);
    return t;
}

static xl_status measure_scan(struct xl__session *p, struct table_scan *x,
                              xl_row *row)
{
    struct xl__iterated t = plan_scan(x);
    return xl__iterated_measure(p, &t, row);
}

static void init_row(xl_row *row, const char *variant)
{
    *row = xl__probe_row("probe_constant", variant, "B/s");
}

/* -- comparisons ---------------------------------------------------------- */

/* Measures a pattern in both memories; global memory first, so that the second
 * row has the ratio. */
static xl_status compare_memories(struct xl__session *p,
                                  const struct constant_table *f,
                                  const char *variant, unsigned stride)
{
    xl_status status = XL_OK;
    double rate = NAN;
    for (unsigned i = 0; i < 2; i++) {
        struct table_scan x = {.table = f,
                               .is_global = i == 0,
                               .lg_span = SHORT_LG,
                               .stride = stride};
        xl_row row;
        init_row(&row, variant);
        xl_row_param_text(&row, "in", i == 0 ? "global" : "constant");
        TRY(measure_scan(p, &x, &row));
        if (i > 0)
            xl_row_found(&row, "over_global", row.value / rate);
        rate = row.value;
        xl__probe_emit(p, &row);
    }
fail:
    return status;
}

static xl_status measure_patterns(struct xl__session *p,
                                  const struct constant_table *f)
{
    enum { OWN_LINE = 33 };
    xl_status status = XL_OK;
    TRY(compare_memories(p, f, "same", 0));
    TRY(compare_memories(p, f, "neighbours", 1));
    TRY(compare_memories(p, f, "apart", OWN_LINE));
fail:
    return status;
}

/* Measures one word for all items from tables of growing size. CPUs have no
 * special path to constants. */
static xl_status measure_sizes(struct xl__session *p,
                               const struct constant_table *f)
{
    xl_status status = XL_OK;
    if (xl__is(&p->q->ctx->device->seen, XL__F_is_cpu))
        return XL_OK;
    const unsigned more = p->how->quick ? 2 : 1;
    unsigned lg_span = xl__floor_log2(FIRST_SPAN / WORD);
    for (; ((size_t)1 << lg_span) + SLACK <= f->words &&
           (size_t)WORD << lg_span <= MOST_SPAN;
         lg_span += more) {
        struct table_scan x = {.table = f, .lg_span = lg_span};
        xl_row row;
        init_row(&row, "table");
        xl_row_shape(&row, "bytes", (double)((size_t)WORD << lg_span));
        TRY(measure_scan(p, &x, &row));
        xl__probe_emit(p, &row);
    }
fail:
    return status;
}

/* Reads the end of a table of the largest size: the right sum proves that all
 * of it is there. */
static xl_status check_largest(struct xl__session *p,
                               const struct constant_table *f)
{
    xl_status status = XL_OK;
    const size_t span = (size_t)1 << SHORT_LG;
    struct table_scan x = {.table = f,
                           .lg_span = SHORT_LG,
                           .stride = 1,
                           .base = f->words - span - SLACK};
    xl_row read, row;
    init_row(&read, "");
    init_row(&row, "largest");
    TRY(measure_scan(p, &x, &read));
    row.value = (double)(f->words * WORD);
    row.unit = "B";
    if (read.verdict == XL_ROW_REJECTED)
        xl__probe_reject(&row, read.reason);
    xl__probe_emit(p, &row);
fail:
    return status;
}

/* -- the probe ------------------------------------------------------------ */

static xl_status create_table(struct xl__session *p, struct constant_table *f)
{
    xl_status status = XL_OK;
    cl_uint *words = xl__calloc(f->words, WORD);
    TRY(xl__check_alloc(&p->q->error, words, "a table"));
    for (size_t i = 0; i < f->words; i++)
        words[i] = xl__probe_word(p->how->seed, i);
    TRY(xl_buffer_create(p->q, f->words * WORD, &f->mem));
    TRY(xl_buffer_write(p->q, f->mem, 0, words, f->words * WORD));
    TRY(xl_buffer_create(p->q, f->wg * f->groups * WORD, &f->out));
fail:
    free(words);
    return status;
}

static xl_status run_constant_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool scalar = xl__probe_is_scalar(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    const size_t bytes = xl__size_or(l, XL__F_max_const_bytes, USUAL_BYTES);
    struct constant_table f = {
        .words = xl__min_size(bytes, MOST_BYTES) / WORD,
        .wg = scalar ? 1 : xl__min_size(WG, p->most_wg),
        .groups = units * (scalar ? XL__CPU_GROUPS : GPU_GROUPS)};
    if (f.words < ((size_t)1 << SHORT_LG) + SLACK)
        return xl__error_set(&p->q->error, XL_UNSUPPORTED,
                             "constant memory of %zu B is too small for a "
                             "comparison",
                             bytes);
    TRY(create_table(p, &f));
    TRY(measure_patterns(p, &f));
    TRY(measure_sizes(p, &f));
    TRY(check_largest(p, &f));
fail:
    xl__buffer_release(f.mem);
    xl__buffer_release(f.out);
    return status;
}

const struct xl__probe xl__probe_constant = {
    {"constant",
     "Useful bytes per second from a table in constant memory, and from the "
     "same table in global memory: all items of a group read the same word, "
     "neighbours read neighbouring words, or each reads its own line; then "
     "the same word from tables of growing size; and the largest possible "
     "table, read to its end. Sums are checked. On a CPU both are ordinary "
     "memory. Fooled by a compiler that reads a word once for many items, "
     "which is correct, and by caches that hold the table in global memory "
     "just as near.",
     false},
    run_constant_probe};
