/* SPDX-License-Identifier: Apache-2.0 */
/* Probe `cache`: finds caches by latency. The time of a dependent load rises
 * in a step wherever the working set exceeds a cache; cache_levels.c reads
 * sizes and latencies from the steps. Each cache found is then read by all
 * units at once, with a set that fits in it and not in nearer ones. Only the
 * line length is taken from the driver; sizes that it reports are compared
 * afterwards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/files.h"
#include "base/str.h"
#include "measure/memory/cache_levels.h"
#include "measure/memory/pointer_chase.h"

enum {
    WORD = 4,
    SMALLEST = 1 << 10, /* bytes of the smallest set */
    LEAST = 64 << 10,   /* bytes of a buffer, at least */
    UNROLL = 4,         /* accesses per iteration, as in probe/cache.cl */
    CPU_WG = 1,
    GPU_WG = 64,
    CPU_VEC = 16,
    GPU_VEC = 4,
    GPU_GROUPS = 128 /* per unit: more than it holds at once */
};
/* Duration of a launch that reads: its overhead does not show, and it is
 * rarely interrupted. */
static const double read_ns = 3e6;
static const double mib = 1 << 20;
static const double alike = 2;  /* sizes within this factor agree */
static const double unseen = 4; /* a cache that much larger is a different
                                   one */

/* A level that was found, and its rows. */
struct measured_level {
    struct xl__cache_level found;
    char name[16];
    xl_row latency, read;
};

struct measured_levels {
    struct measured_level at[XL__MOST_LEVELS];
    unsigned n;
};

/* The number of caches: all levels but the last, which is memory. */
static unsigned count_caches(const struct measured_levels *all)
{
    return all->n > 0 ? all->n - 1 : 0;
}

/* The facts that a level sets. */
static const struct {
    const char *name;
    int bytes, ns, bytes_per_s; /* facts; -1: none */
} facts[] = {
    {"l1", XL__F_l1_bytes, XL__F_l1_ns, XL__F_l1_bytes_per_s},
    {"l2", XL__F_l2_bytes, XL__F_l2_ns, XL__F_l2_bytes_per_s},
    {"llc", XL__F_llc_bytes, XL__F_llc_ns, -1},
    {"dram", -1, XL__F_dram_ns, -1},
};

/* -- the latency curve ---------------------------------------------------- */

static double curve_point_bytes(const struct xl__session *p, unsigned i)
{
    enum { QUICK_PER_OCTAVE = 2, FULL_PER_OCTAVE = 4 };
    const double per = p->how->quick ? QUICK_PER_OCTAVE : FULL_PER_OCTAVE;
    return SMALLEST * exp2(i / per);
}

/* Measures the curve. *n: its points; 0 if a chase ended at a wrong word. */
static xl_status measure_curve(struct xl__session *p, struct xl__chase *chase,
                               struct xl__cache_point *curve, unsigned *n)
{
    xl_status status = XL_OK;
    bool is_sound = true;
    *n = 0;
    for (unsigned i = 0; i < XL__MOST_POINTS; i++) {
        const double bytes = curve_point_bytes(p, i);
        if (bytes > (double)chase->bytes)
            break;
        TRY(xl__chase_curve_point(
            p, chase, xl__ring_dense((size_t)bytes, chase->line_bytes),
            "probe_cache", bytes, &is_sound));
        curve[(*n)++] = (struct xl__cache_point){bytes, chase->ns};
    }
    *n = is_sound ? *n : 0;
fail:
    return status;
}

/* The largest set: certainly in memory, with enough points for a plateau, if
 * the stated size of the last-level cache is right. */
static size_t find_curve_bytes(const struct xl__limits *l)
{
    enum { TIMES = 8, ENOUGH = 512 << 20 };
    const double llc = xl__num_or(l, XL__F_llc_bytes, 0);
    size_t far = xl__probe_far_bytes(l, false);
    while (far < ENOUGH && (double)far < TIMES * llc)
        far *= 2;
    return far;
}

/* -- latency -------------------------------------------------------------- */

/* Measures the latency again in the middle of the plateau, with full
 * sampling. */
static xl_status measure_latency(struct xl__session *p,
                                 struct xl__chase *chase,
                                 const struct xl__cache_point *curve,
                                 struct measured_level *v)
{
    xl_status status = XL_OK;
    const struct xl__iteration_source w = {xl__chase_sample, chase};
    const unsigned mid = (v->found.first + v->found.last) / 2;
    xl_row ignored;
    xl_row_init(&v->latency, "probe_cache", v->name);
    xl_row_init(&ignored, "", NULL);
    v->latency.unit = "s";
    TRY(xl__chase_point(
        p, chase, xl__ring_dense((size_t)curve[mid].bytes, chase->line_bytes),
        &ignored));
    const size_t iterations = xl__chase_iterations(p, chase);
    TRY(xl__chase_sample(p, chase, iterations, &v->latency));
    v->found.ns = fmin(v->found.ns, chase->ns);
    TRY(xl__iterations_check_scaling(p, &w, iterations, &v->latency));
    if (isfinite(v->found.bytes))
        xl_row_found(&v->latency, "size_bytes", round(v->found.bytes));
fail:
    return status;
}

/* -- bandwidth ------------------------------------------------------------ */

/* All units read the same set, so each unit's own cache holds it, or the one
 * that they share. */
struct cache_sweep {
    cl_mem src, kept;
    size_t vec, wg, blocks, groups;
};

static size_t block_words(const struct cache_sweep *s)
{
    return s->wg * UNROLL * s->vec;
}

/* A quarter of the cache, since other data use it too, and a cache of two
 * halves may hold shared data twice; more where the nearer cache is nearly as
 * large. */
static double choose_set_bytes(double before, double size)
{
    return fmax(size / 4, sqrt(before * size));
}

static struct cache_sweep choose_layout(const struct xl__session *p,
                                        double bytes)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const bool scalar = xl__probe_is_scalar(l);
    const size_t units = xl__size_or(l, XL__F_compute_units, 1);
    struct cache_sweep s = {.vec = scalar ? CPU_VEC : GPU_VEC};
    s.wg = scalar ? CPU_WG : xl__min_size(GPU_WG, p->most_wg);
    s.groups = units * (scalar ? XL__CPU_GROUPS : GPU_GROUPS);
    s.blocks = (size_t)fmax(bytes / (double)(block_words(&s) * WORD), 1);
    return s;
}

/* The sum of item 0 of group 0. */
static cl_uint expected_sum(const struct cache_sweep *s, uint64_t seed,
                            size_t iterations)
{
    cl_uint lap = 0, partial = 0;
    const size_t rest = iterations % s->blocks;
    for (size_t block = 0; block < xl__min_size(iterations, s->blocks);
         block++) {
        for (size_t u = 0; u < UNROLL; u++) {
            const size_t at = (block * UNROLL + u) * s->wg * s->vec;
            for (size_t v = 0; v < s->vec; v++)
                lap += xl__probe_word(seed, at + v);
        }
        partial = block + 1 == rest ? lap : partial;
    }
    return lap * (cl_uint)(iterations / s->blocks) + partial;
}

static void plan_sweep(const struct cache_sweep *s, size_t iterations,
                       cl_uint key, struct xl__plan *plan)
{
    static const double golden = 0.6180339887;
    struct xl__step *step = xl__probe_step(plan, "probe/cache.cl", "sweep",
                                           s->groups * s->wg, s->wg, false);
    plan->bytes = (double)s->groups * (double)iterations *
                  (double)(block_words(s) * WORD);
    xl__define(step, "WG", (long)s->wg);
    xl__define(step, "VEC", (long)s->vec);
    xl__arg_mem(step, 1);
    xl__arg_mem(step, 2);
    xl__arg_u32(step, s->blocks);
    xl__arg_u32(step, (size_t)(golden * (double)s->blocks));
    xl__arg_u32(step, iterations);
    xl__arg_u32(step, key);
}

/* The sample function of a struct xl__iteration_source. */
static xl_status sample_sweep(struct xl__session *p, void *sweep,
                              size_t iterations, xl_row *row)
{
    xl_status status = XL_OK;
    struct cache_sweep *s = sweep;
    const struct xl__call call = {
        .mem = {[1] = {.buf = s->src}, [2] = {.buf = s->kept}}};
    const cl_uint key = expected_sum(s, p->how->seed, iterations);
    struct xl__plan plan;
    cl_uint seen = ~key;
    plan_sweep(s, iterations, key, &plan);
    TRY(xl_buffer_fill(p->q, s->kept, 0, ~key, 1));
    TRY(xl__probe_sample(p, row, &plan, &call, plan.bytes));
    TRY(xl_buffer_read(p->q, s->kept, 0, &seen, sizeof seen));
    if (seen != key)
        xl__probe_reject(row, "wrong result: the sum of the words read");
fail:
    return status;
}

static xl_status measure_read(struct xl__session *p, struct cache_sweep *s,
                              const char *level, xl_row *row)
{
    xl_status status = XL_OK;
    const struct xl__iteration_source w = {sample_sweep, s};
    char name[sizeof row->variant];
    size_t iterations;
    xl__strfmt(name, sizeof name, "%s_read", level);
    *row = xl__probe_row("probe_cache", name, "B/s");
    TRY(xl__iterations_find(p, &w, read_ns, &iterations));
    TRY(sample_sweep(p, s, iterations, row));
    TRY(xl__iterations_check_scaling(p, &w, iterations, row));
    xl_row_found(row, "size_bytes",
                 (double)(s->blocks * block_words(s) * WORD));
    xl_row_judge(row, p->q->ctx->device);
fail:
    return status;
}

/* Repeats the measurement until the row is ok and faster than levels further
 * away, since other load may have disturbed it; keeps the best. */
static xl_status measure_best_read(struct xl__session *p,
                                   struct cache_sweep *s, const char *level,
                                   double further, xl_row *best)
{
    enum { TRIES = 3 };
    xl_status status = XL_OK;
    for (unsigned i = 0; i < TRIES; i++) {
        xl_row row;
        TRY(measure_read(p, s, level, &row));
        if (i == 0 || xl__row_is_better(&row, best))
            *best = row;
        if (best->verdict == XL_ROW_OK && best->value > further)
            break;
    }
fail:
    return status;
}

static xl_status measure_reads(struct xl__session *p,
                               struct measured_levels *all)
{
    xl_status status = XL_OK;
    cl_mem src = NULL, kept = NULL;
    size_t got = 0;
    double further = 0;
    const unsigned n = count_caches(all);
    if (n == 0)
        return XL_OK;
    TRY(xl_buffer_create(p->q, WORD, &kept));
    TRY(xl__probe_buffer(
        p, xl__max_size((size_t)all->at[n - 1].found.bytes, LEAST), &src,
        &got));
    for (unsigned i = n; i-- > 0;) {
        struct measured_level *v = &all->at[i];
        const double before = i > 0 ? all->at[i - 1].found.bytes : 0;
        const double bytes = choose_set_bytes(before, v->found.bytes);
        struct cache_sweep s = choose_layout(p, fmin(bytes, (double)got));
        s.src = src;
        s.kept = kept;
        TRY(measure_best_read(p, &s, v->name, further, &v->read));
        further = fmax(further, v->read.value);
    }
fail:
    xl__buffer_release(src);
    xl__buffer_release(kept);
    return status;
}

/* -- conclusions ---------------------------------------------------------- */

/* The size from driver or vendor table; NaN if there is none. */
static double stated_llc(const struct xl__limits *l)
{
    const struct xl__answer *held = &l->used[XL__F_llc_bytes];
    const bool stated = held->source == XL_QUERIED || held->source == XL_KNOWN;
    return stated ? held->value : NAN;
}

/* Is the device the CPU of this machine? Its driver has no PCI address. */
static bool is_host_cpu(const xl_device *dev)
{
    return dev->id && xl__is(&dev->limits, XL__F_is_cpu) &&
           !*xl__text(&dev->limits, XL__F_pci);
}

/* The text of a file of a cache; "" if there is none. */
static void read_cache_file(unsigned index, const char *name, char *out,
                            size_t cap)
{
    char path[96];
    char *bytes = NULL;
    size_t len = 0;
    xl__strfmt(path, sizeof path,
               "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, name);
    xl__strcpy(out, cap, "");
    if (xl__file_read(path, &bytes, &len) == XL_OK)
        xl__strfmt(out, cap, "%.*s", (int)len, bytes);
    free(bytes);
}

/* The sizes of the caches that the system lists, by level from 1; returns the
 * number of levels, 0: none is listed. Source: Linux,
 * Documentation/ABI/testing/sysfs-devices-system-cpu. */
static unsigned list_caches(const xl_device *dev,
                            double bytes[XL__MOST_LEVELS])
{
    enum { MOST_FILES = 16, KIB = 1024 };
    unsigned n = 0;
    for (unsigned i = 0; i < XL__MOST_LEVELS; i++)
        bytes[i] = NAN;
    for (unsigned i = 0; i < MOST_FILES && is_host_cpu(dev); i++) {
        char level[16], type[32], size[32];
        read_cache_file(i, "level", level, sizeof level);
        read_cache_file(i, "type", type, sizeof type);
        read_cache_file(i, "size", size, sizeof size);
        const unsigned number = (unsigned)strtoul(level, NULL, 10);
        const double kib = strtod(size, NULL);
        if (number < 1 || number > XL__MOST_LEVELS || !(kib > 0) ||
            strncmp(type, "Instruction", 4) == 0)
            continue;
        bytes[number - 1] = kib * KIB;
        n = number > n ? number : n;
    }
    return n;
}

/* A level has the number of the cache that the system lists with its size, and
 * one that it does not list is none. Where nothing is listed levels are
 * numbered as they come. */
static void name_levels(const xl_device *dev, struct measured_levels *all)
{
    const double stated = stated_llc(&dev->seen);
    double listed[XL__MOST_LEVELS];
    struct xl__cache_level found[XL__MOST_LEVELS];
    unsigned number[XL__MOST_LEVELS];
    const unsigned n_listed = list_caches(dev, listed);
    for (unsigned i = 0; i < all->n; i++)
        found[i] = all->at[i].found;
    all->n = xl__cache_levels_match(found, all->n, listed, n_listed, number);
    for (unsigned i = 0; i < all->n; i++) {
        struct measured_level *v = &all->at[i];
        v->found = found[i];
        const bool is_last =
            n_listed > 0 ? number[i] == n_listed : i + 2 == all->n;
        xl__strfmt(v->name, sizeof v->name, "l%u", number[i]);
        if (is_last && !(stated > unseen * v->found.bytes))
            xl__strcpy(v->name, sizeof v->name, "llc");
        if (!isfinite(v->found.bytes))
            xl__strcpy(v->name, sizeof v->name, "dram");
    }
}

static void mark_suspicious(xl_row *row, const char *reason)
{
    if (row->verdict != XL_ROW_OK)
        return;
    xl__row_mark(row, XL_ROW_SUSPICIOUS, "%s", reason);
}

/* A size from a step is accurate within a factor, so a stated size is kept and
 * only a larger difference is reported. */
static void compare_size(const struct xl__limits *l, struct measured_level *v)
{
    const double stated = stated_llc(l);
    const double factor = v->found.bytes / stated;
    char reason[sizeof v->latency.reason];
    if (!xl__streq(v->name, "llc") || isnan(stated) ||
        (factor <= alike && factor >= 1 / alike))
        return;
    xl__strfmt(
        reason, sizeof reason,
        "its step is at %.3g MiB, but %.3g MiB are stated: other load may "
        "use it too",
        v->found.bytes / mib, stated / mib);
    mark_suspicious(&v->latency, reason);
}

static void set_facts(struct xl__limits *l, const struct measured_level *v)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const int bytes = facts[i].bytes, rate = facts[i].bytes_per_s;
        if (!xl__streq(facts[i].name, v->name))
            continue;
        if (bytes >= 0 && (bytes != XL__F_llc_bytes || isnan(stated_llc(l))))
            xl__limits_measure(l, (enum xl__fact_id)bytes,
                               round(v->found.bytes));
        xl__limits_measure(l, (enum xl__fact_id)facts[i].ns, v->found.ns);
        if (rate >= 0 && v->read.verdict < XL_ROW_REJECTED)
            xl__probe_raise_fact(l, (enum xl__fact_id)rate,
                                 xl__probe_peak(&v->read));
    }
}

/* Reports a stated last-level cache that shows no step (CP-18). */
static void report_unseen(struct xl__session *p,
                          const struct measured_levels *all)
{
    const struct xl__limits *l = &p->q->ctx->device->seen;
    const unsigned n = count_caches(all);
    const double stated = stated_llc(l);
    if (isnan(stated) || (n > 0 && xl__streq(all->at[n - 1].name, "llc")))
        return;
    xl_row row = xl__probe_row("probe_cache", "llc", "s");
    xl__probe_unsupported(
        p, &row,
        "%.3g MiB are stated, but the last step is at %.3g MiB: other "
        "load uses the cache too, or a virtual machine gets a share of it",
        stated / mib, n > 0 ? all->at[n - 1].found.bytes / mib : 0);
}

/* Checks that nearer levels are faster; read rates also against memory if its
 * rate is known. */
static void check_order(const struct xl__limits *l,
                        struct measured_levels *all)
{
    xl_row *latency[XL__MOST_LEVELS], *read[XL__MOST_LEVELS];
    double ns[XL__MOST_LEVELS], per_byte[XL__MOST_LEVELS];
    const unsigned n = count_caches(all);
    for (unsigned i = 0; i < all->n; i++) {
        latency[i] = &all->at[i].latency;
        read[i] = i < n ? &all->at[i].read : latency[i];
        ns[i] = latency[i]->value;
        per_byte[i] =
            1 / (i < n ? read[i]->value : xl__num(l, XL__F_read_bytes_per_s));
    }
    (void)xl__cache_levels_check_order(latency, ns, all->n);
    (void)xl__cache_levels_check_order(read, per_byte, all->n);
    if (all->n > 0 && all->at[n].found.is_open)
        mark_suspicious(
            latency[n],
            "the curve still rises at its end: memory is slower than this");
}

static void report_levels(struct xl__session *p, struct measured_levels *all)
{
    struct xl__limits *l = &p->q->ctx->device->seen;
    const unsigned n = count_caches(all);
    check_order(l, all);
    for (unsigned i = 0; i < all->n; i++) {
        if (i == n)
            report_unseen(p, all);
        compare_size(l, &all->at[i]);
        xl__probe_emit(p, &all->at[i].latency);
    }
    for (unsigned i = 0; i < n; i++)
        xl__probe_emit(p, &all->at[i].read);
    for (unsigned i = 0; i < all->n; i++) {
        if (all->at[i].latency.verdict < XL_ROW_REJECTED)
            set_facts(l, &all->at[i]);
    }
}

/* -- the probe ------------------------------------------------------------ */

static xl_status find_levels(struct xl__session *p,
                             struct measured_levels *all)
{
    xl_status status = XL_OK;
    struct xl__chase chase;
    struct xl__cache_point curve[XL__MOST_POINTS];
    struct xl__cache_level found[XL__MOST_LEVELS];
    unsigned n;
    TRY(xl__chase_begin(p, find_curve_bytes(&p->q->ctx->device->seen),
                        &chase));
    TRY(measure_curve(p, &chase, curve, &n));
    if (n == 0)
        goto fail; /* rejected rows have the reason */
    all->n = xl__cache_levels_find(curve, n, found);
    for (unsigned i = 0; i < all->n; i++)
        all->at[i].found = found[i];
    name_levels(p->q->ctx->device, all);
    for (unsigned i = 0; i < all->n; i++)
        TRY(measure_latency(p, &chase, curve, &all->at[i]));
    if (all->n == 0)
        TRY(xl__error_set(&p->q->error, XL_UNSUPPORTED,
                          "no plateau in the time of a load at any size: "
                          "the machine is busy, or its clock is not steady"));
fail:
    xl__chase_end(&chase);
    return status;
}

static xl_status run_cache_probe(struct xl__session *p)
{
    xl_status status = XL_OK;
    struct measured_levels *all = xl__calloc(1, sizeof *all);
    TRY(xl__check_alloc(&p->q->error, all, "rows"));
    TRY(find_levels(p, all));
    TRY(measure_reads(p, all));
    report_levels(p, all);
fail:
    free(all);
    return status;
}

const struct xl__probe xl__probe_cache = {
    {"cache",
     "Caches found by the time of one dependent load: a work-item follows a "
     "random ring of links through sets of 1 KiB and up, and each step of the "
     "time marks the size of a cache, where the step is half done. Random "
     "within 2 MiB at a time, so that address translation has no effect "
     "(probe tlb). Then each cache is read by all units. Fooled by caches "
     "that other load fills at that time, which look smaller, and by two whose "
     "times differ by less than a third, which look like one; the time "
     "includes that of computing an address.",
     true},
    run_cache_probe};
