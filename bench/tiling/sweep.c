/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `clbench gemm --sweep`: one case for each size of a range, each row
 * with the useful area, waves and alignment that its plan gives.
 * report/columns.c prints these columns. */
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

/* Sets the message for an invalid sweep. Returns false. */
static bool report_invalid(const char *text, const char *what, char *why,
                           size_t cap)
{
    snprintf(why, cap,
             "invalid value '%s' for --sweep: %s; must be "
             "WHAT=FROM:TO[:STEP], WHAT being m, n, k, several of them, or ld",
             text, what);
    return false;
}

/* Reads "nmk" or "ld". */
static bool read_names(const char *text, size_t len, struct sweep *out)
{
    if (len == 2 && strncmp(text, "ld", len) == 0)
        return out->ld = true;
    for (size_t i = 0; i < len; i++) {
        bool *grows = text[i] == 'm'   ? &out->m
                      : text[i] == 'n' ? &out->n
                      : text[i] == 'k' ? &out->k
                                       : NULL;
        if (!grows || *grows)
            return false;
        *grows = true;
    }
    return len > 0;
}

/* Reads integers separated by colons. Returns their number, 0: invalid. */
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
    if (!read_names(text, len, out))
        return report_invalid(text, "unknown size", why, cap);
    if (!text[len] || read_numbers(text + len + 1, number, 3) < 2)
        return report_invalid(text, "a range is missing", why, cap);
    out->from = number[0];
    out->to = number[1];
    out->step = number[2];
    if (out->from == 0 || out->step == 0 || out->to < out->from)
        return report_invalid(text, "the range is empty", why, cap);
    if (sweep_count(out) > MOST_SIZES)
        return report_invalid(text, "more than 4096 sizes", why, cap);
    return true;
}

size_t sweep_count(const struct sweep *sweep)
{
    return (sweep->to - sweep->from) / sweep->step + 1;
}

/* -- its cases ------------------------------------------------------------ */

/* Lengths of the contiguous rows of A, B and C, in elements. */
static void row_lengths(const struct gemm_case *c, size_t line[3])
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
    row_lengths(c, line);
    if (size < line[0] || size < line[1] || size < line[2])
        return false;
    c->pad_a = size - line[0];
    c->pad_b = size - line[1];
    c->pad_c = size - line[2];
    return true;
}

/* The alignment of the rows of all three matrices, in bytes. */
static size_t row_alignment(const struct gemm_case *c)
{
    size_t line[3];
    row_lengths(c, line);
    const size_t all[3] = {
        tile_alignment(line[0] + c->pad_a, xl_dtype_bytes(c->in)),
        tile_alignment(line[1] + c->pad_b, xl_dtype_bytes(gemm_case_b(c))),
        tile_alignment(line[2] + c->pad_c, xl_dtype_bytes(c->out))};
    return xl__min_size(xl__min_size(all[0], all[1]), all[2]);
}

/* The tile that is computed whole even beyond the edge of the result: that of
 * a group; of a group with one work-item its register tile, since the others
 * are skipped. False: the variant has no tiles. */
static bool whole_tile(const xl_choice *choice, size_t *rows, size_t *cols)
{
    const bool is_thread = choice->wg[0] * choice->wg[1] * choice->wg[2] == 1;
    return tile_tunable(choice->tunables, is_thread ? "RM" : "TM", rows) &&
           tile_tunable(choice->tunables, is_thread ? "RN" : "TN", cols);
}

/* Adds area, waves and alignment to a row. Persistent groups make as many
 * waves as their tiles. */
static void report_tiling(const void *arg, const xl_device *dev,
                          const xl_choice *choice, xl_row *row)
{
    const struct gemm_case *c = arg;
    const xl_tiling *t = &choice->tiling;
    const double groups =
        (double)(t->rows > 0 ? tiling_n_pieces(t) : t->groups);
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
    xl_row_found(row, "align_bytes", (double)row_alignment(c));
}

/* -- the run -------------------------------------------------------------- */

/* A case, and its name if the shape does not identify it. */
struct sweep_case {
    struct gemm_case c;
    char name[24];
};

static void name_case(const struct sweep *sweep, size_t i,
                      struct sweep_case *step)
{
    snprintf(step->name, sizeof step->name, "ld=%zu",
             sweep->from + i * sweep->step);
    step->c.name = step->name;
    step->c.use |= CASE_NAMED;
}

/* Creates one case for each size. An exit_code. */
static int make_cases(struct session *s, const struct sweep *sweep,
                      struct gemm_case *base, struct bench_cases *out)
{
    const size_t n = sweep_count(sweep);
    out->list = xl__calloc(n, sizeof *out->list);
    if (!out->list)
        return session_fail(s, "preparing the sweep", XL_NO_MEMORY, "");
    for (; out->n < n; out->n++) {
        struct sweep_case *step = xl__calloc(1, sizeof *step);
        out->list[out->n] = step;
        if (!step)
            return session_fail(s, "preparing the sweep", XL_NO_MEMORY, "");
        step->c = *base;
        if (sweep->ld)
            name_case(sweep, out->n, step);
        if (sweep_apply(sweep, out->n, &step->c))
            continue;
        fprintf(stderr,
                "clbench: invalid value '%s' for --sweep: a leading dimension "
                "of %zu is less than a row of %zux%zux%zu; begin at the "
                "largest size\n",
                s->set.sweep, sweep->from + out->n * sweep->step, base->m,
                base->n, base->k);
        out->n++;
        return EXIT_USAGE;
    }
    return EXIT_FINE;
}

/* The base shape: that of the user, or a cube of which all sizes grow. */
static int find_base(struct session *s, struct sweep *sweep,
                     struct gemm_case *base)
{
    enum { USUAL = 2048 };
    char why[160], cube[24];
    const char *shape = cube;
    if (s->set.n_words > 1 || s->set.shape_files.n > 0) {
        fprintf(stderr, "clbench: --sweep takes at most one SHAPE\n");
        return EXIT_USAGE;
    }
    snprintf(cube, sizeof cube, "%zu",
             sweep->ld && sweep->from > USUAL ? USUAL : sweep->from);
    if (s->set.n_words == 1)
        shape = s->set.words[0];
    else if (!sweep->ld)
        sweep->m = sweep->n = sweep->k = true;
    if (bench_gemm.parse(&s->set, shape, base, why, sizeof why))
        return EXIT_FINE;
    fprintf(stderr, "clbench: %s\n", why);
    return EXIT_USAGE;
}

static int run_cases(struct session *s, const struct bench_cases *cases)
{
    struct bench_op op = bench_gemm;
    op.title = "GEMM, sweep";
    op.kind = ROWS_OF_A_SWEEP;
    op.note = "area: useful share of the tiles; fill: share of the slots of "
              "all waves that have a group, one for each compute unit; rows: "
              "alignment in bytes; rest: rate over area and fill, the best "
              "being 100%";
    op.chosen = report_tiling;
    /* many rows; their differences matter */
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
