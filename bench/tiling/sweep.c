/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep is a run over cases that differ in a size, each row with what its
 * plan says of tiles, groups and lines. report_one.c shows them. */
#include "tiling/sweep.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tiling/tiles.h"
#include "timing/run_cases.h"

enum { MOST_SIZES = 4096 };

/* -- "n=1780:2060:4" ------------------------------------------------------ */

static bool wrong(const char *text, const char *what, char *why, size_t cap)
{
    snprintf(why, cap,
             "sweep '%s': %s; give WHAT=FROM:TO[:STEP], WHAT being m, n, k, "
             "several of them, or ld",
             text, what);
    return false;
}

static bool read_what(const char *text, size_t len, struct sweep *out)
{
    if (len == 2 && strncmp(text, "ld", len) == 0)
        return out->ld = true;
    for (size_t i = 0; i < len; i++) {
        bool *side = text[i] == 'm'   ? &out->m
                     : text[i] == 'n' ? &out->n
                     : text[i] == 'k' ? &out->k
                                      : NULL;
        if (!side || *side)
            return false;
        *side = true;
    }
    return len > 0;
}

/* Whole numbers parted by colons; how many there were, 0: something else. */
static unsigned read_numbers(const char *text, size_t *out, unsigned most)
{
    static const int decimal = 10;
    unsigned n = 0;
    for (char *end; n < most && isdigit((unsigned char)*text); text = end + 1) {
        out[n++] = (size_t)strtoull(text, &end, decimal);
        if (!*end)
            return n;
        if (*end != ':')
            break;
    }
    return 0;
}

bool sweep_read(const char *text, struct sweep *out, char *why, size_t cap)
{
    const size_t len = strcspn(text, "=");
    size_t number[3] = {0, 0, 1};
    *out = (struct sweep){.m = false};
    if (!read_what(text, len, out))
        return wrong(text, "nothing of that name can grow", why, cap);
    if (!text[len] || read_numbers(text + len + 1, number, 3) < 2)
        return wrong(text, "a range is missing", why, cap);
    out->from = number[0];
    out->to = number[1];
    out->step = number[2];
    if (out->from == 0 || out->step == 0 || out->to < out->from)
        return wrong(text, "the range is empty", why, cap);
    if (sweep_count(out) > MOST_SIZES)
        return wrong(text, "more than 4096 sizes", why, cap);
    return true;
}

size_t sweep_count(const struct sweep *sweep)
{
    return (sweep->to - sweep->from) / sweep->step + 1;
}

/* -- its cases ------------------------------------------------------------ */

/* The lines of A, B and C, in elements. */
static void lines(const struct gemm_case *c, size_t line[3])
{
    line[0] = c->trans & 1 ? c->m : c->k;
    line[1] = c->trans & 2 ? c->k : c->n;
    line[2] = c->n;
}

bool sweep_apply(const struct sweep *sweep, size_t i, struct gemm_case *c)
{
    const size_t size = sweep->from + i * sweep->step;
    c->m = sweep->m ? size : c->m;
    c->n = sweep->n ? size : c->n;
    c->k = sweep->k ? size : c->k;
    size_t line[3];
    if (!sweep->ld)
        return true;
    lines(c, line);
    if (size < line[0] || size < line[1] || size < line[2])
        return false;
    c->pad_a = size - line[0];
    c->pad_b = size - line[1];
    c->pad_c = size - line[2];
    return true;
}

/* The lines of all three matrices begin at multiples of this. */
static size_t alignment(const struct gemm_case *c)
{
    size_t line[3];
    lines(c, line);
    const size_t all[3] = {
        tile_alignment(line[0] + c->pad_a, xl_dtype_bytes(c->in)),
        tile_alignment(line[1] + c->pad_b, xl_dtype_bytes(c->in)),
        tile_alignment(line[2] + c->pad_c, xl_dtype_bytes(c->out))};
    return xl__min_size(xl__min_size(all[0], all[1]), all[2]);
}

/* The tile that is computed whole, whatever of it is there: a group's; of a
 * group that is one thread, a register tile, since it leaves out the others.
 * False: the variant has none. */
static bool whole_tile(const xl_choice *choice, size_t *rows, size_t *cols)
{
    const bool is_thread = choice->wg[0] * choice->wg[1] * choice->wg[2] == 1;
    return tile_tunable(choice->tunables, is_thread ? "RM" : "TM", rows) &&
           tile_tunable(choice->tunables, is_thread ? "RN" : "TN", cols);
}

/* What the plan says of the three effects. Groups that stay until all tiles
 * are done make as many waves as their tiles. */
static void tell_tiling(const void *arg, const xl_device *dev,
                        const xl_choice *choice, xl_row *row)
{
    const struct gemm_case *c = arg;
    const xl_tiling *t = &choice->tiling;
    const double groups = (double)(t->rows > 0 ? split_pieces(t) : t->groups);
    size_t tm, tn;
    xl_fact units = {.value = (double)NAN};
    if (whole_tile(choice, &tm, &tn))
        xl_row_found(row, "area", tile_cover(c->m, c->n, tm, tn).area);
    (void)xl_device_fact(dev, "compute_units", XL_UNKNOWN, &units);
    if (groups > 0 && units.value > 0) {
        const struct tile_waves w = tile_waves(groups, units.value);
        xl_row_found(row, "waves", w.waves);
        xl_row_found(row, "fill", w.fill);
    }
    xl_row_found(row, "align_bytes", (double)alignment(c));
}

/* -- the run -------------------------------------------------------------- */

/* A case, and what it is called where its shape does not tell it apart. */
struct step {
    struct gemm_case c;
    char name[24];
};

static void name_step(const struct sweep *sweep, size_t i, struct step *step)
{
    snprintf(step->name, sizeof step->name, "ld=%zu",
             sweep->from + i * sweep->step);
    step->c.name = step->name;
    step->c.use |= CASE_NAMED;
}

static int make_cases(struct session *s, const struct sweep *sweep,
                      struct gemm_case *base, struct bench_cases *out)
{
    const size_t n = sweep_count(sweep);
    out->list = xl__calloc(n, sizeof *out->list);
    if (!out->list)
        return session_fail(s, "preparing the sweep", XL_NO_MEMORY, "");
    for (; out->n < n; out->n++) {
        struct step *step = xl__calloc(1, sizeof *step);
        out->list[out->n] = step;
        if (!step)
            return session_fail(s, "preparing the sweep", XL_NO_MEMORY, "");
        step->c = *base;
        if (sweep->ld)
            name_step(sweep, out->n, step);
        if (sweep_apply(sweep, out->n, &step->c))
            continue;
        fprintf(stderr,
                "clbench: sweep '%s': a leading dimension of %zu is less than "
                "a line of %zux%zux%zu; begin at the longest side\n",
                s->set.sweep, sweep->from + out->n * sweep->step, base->m,
                base->n, base->k);
        out->n++;
        return EXIT_USAGE;
    }
    return EXIT_FINE;
}

/* The shape that grows: the user's, or a cube of which all sides do. */
static int find_base(struct session *s, struct sweep *sweep,
                     struct gemm_case *base)
{
    enum { USUAL = 2048 };
    char why[160], cube[24];
    const char *word = cube;
    if (s->set.n_words > 1 || s->set.shape_files.n > 0) {
        fprintf(stderr, "clbench: --sweep wants one SHAPE at most\n");
        return EXIT_USAGE;
    }
    snprintf(cube, sizeof cube, "%zu",
             sweep->ld && sweep->from > USUAL ? USUAL : sweep->from);
    if (s->set.n_words == 1)
        word = s->set.words[0];
    else if (!sweep->ld)
        sweep->m = sweep->n = sweep->k = true;
    if (bench_gemm.parse(&s->set, word, base, why, sizeof why))
        return EXIT_FINE;
    fprintf(stderr, "clbench: %s\n", why);
    return EXIT_USAGE;
}

static int run_cases(struct session *s, const struct bench_cases *cases)
{
    struct bench_op op = bench_gemm;
    op.title = "GEMM, sweep";
    op.note = "area: useful share of the tiles; fill: share of the waves' "
              "places that have a group, one a compute unit; rows: multiples "
              "of so many bytes begin each; rest: rate over area and fill, "
              "the best being 100%";
    op.chosen = tell_tiling;
    /* Many rows, and what counts is how they differ. */
    s->set.quick = !s->set.full;
    int code = session_open_devices(s);
    if (code == EXIT_FINE)
        code = bench_run(s, &op, cases->list, (unsigned)cases->n,
                         CASES_OF_USER);
    return code;
}

int sweep_run(struct session *s)
{
    struct sweep sweep;
    struct bench_cases cases = {.n = 0};
    struct gemm_case base = {.name = NULL};
    char why[256];
    if (!sweep_read(s->set.sweep, &sweep, why, sizeof why)) {
        fprintf(stderr, "clbench: %s\n", why);
        return EXIT_USAGE;
    }
    int code = find_base(s, &sweep, &base);
    if (code == EXIT_FINE)
        code = make_cases(s, &sweep, &base, &cases);
    if (code == EXIT_FINE)
        code = run_cases(s, &cases);
    bench_cases_clear(&cases);
    return code != EXIT_FINE ? code : session_result(s);
}
