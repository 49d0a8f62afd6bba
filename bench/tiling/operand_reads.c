/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `clbench gemm --reads`: for square tiles of 8 to 128, the number of
 * times each operand element is read from global memory and the rate that the
 * tile reaches. Reads are computed, since every tile reads its rows of A and
 * columns of B whole; rates are measured with a tuning candidate of that tile,
 * if the device has the resources. */
#include "tiling/operand_reads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/tune.h>

#include "base/error.h"
#include "cli/console.h"
#include "cli/table.h"
#include "cli/units.h"
#include "results/json.h"
#include "results/result.h"
#include "tiling/tiles.h"
#include "timing/run_cases.h"

static const size_t tiles[] = {8, 16, 32, 64, 128};
enum { N_TILES = sizeof tiles / sizeof tiles[0] };
static const char variant[] = "gemm_tiled";

struct reads_run {
    struct session *s;
    xl_device *dev;
    xl_queue *q;
    struct gemm_case c;
    double peak, bandwidth; /* flop/s, B/s; NaN: unknown */
    json_t *json;
    struct table *table;
};

static xl_mat matrix_view(size_t rows, size_t cols, xl_dtype dtype,
                          bool transposed)
{
    return transposed ? xl_mat_cols(NULL, rows, dtype)
                      : xl_mat_rows(NULL, cols, dtype);
}

static xl_gemm gemm_descriptor(const struct gemm_case *c)
{
    return (xl_gemm){XL_GEMM_INIT,
                     .m = c->m,
                     .n = c->n,
                     .k = c->k,
                     .alpha = 1,
                     .a = matrix_view(c->m, c->k, c->in, c->trans & 1),
                     .b =
                         matrix_view(c->k, c->n, gemm_case_b(c), c->trans & 2),
                     .c = matrix_view(c->m, c->n, c->out, false),
                     .variant = variant};
}

/* -- candidate with a given tile ------------------------------------------ */

/* The value of a tunable for a square tile with a square register tile and at
 * most 256 work-items; other tunables keep their value. */
static size_t tunable_value(const char *name, size_t len, size_t tile,
                            size_t old)
{
    enum { ITEMS = 16, DEPTH = 16, VECTOR = 4 };
    const size_t each = tile > ITEMS ? tile / ITEMS : 1;
    const struct {
        const char *name;
        size_t value;
    } set[] = {
        {"TM", tile},  {"TN", tile}, {"TK", DEPTH},
        {"RM", each},  {"RN", each}, {"VW", each < VECTOR ? each : VECTOR},
        {"ST", 1},     {"FORM", 1},  {"PARTS", 1},
    };
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        if (strlen(set[i].name) == len &&
            strncmp(set[i].name, name, len) == 0)
            return set[i].value;
    return old;
}

/* Replaces the tile in the tunables of the model, "model: TM=64 ...". */
static void set_tile(const char *model, size_t tile, char *out, size_t cap)
{
    static const int decimal = 10;
    const char *at = strchr(model, ':');
    struct xl__str text = {0};
    at = at ? at + 1 : model;
    for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
        const size_t len = strcspn(at, "=");
        char *end = NULL;
        const size_t old =
            at[len] ? (size_t)strtoull(at + len + 1, &end, decimal) : 0;
        xl__str_printf(&text, "%s%.*s=%zu", text.len ? " " : "", (int)len, at,
                       tunable_value(at, len, tile, old));
        at = end ? end : at + len;
    }
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

/* Times a tile; *out has the reason if it does not run here. */
static xl_status time_tile(struct reads_run *r, const char *model, size_t tile,
                           xl_candidate_result *out)
{
    const xl_gemm g = gemm_descriptor(&r->c);
    xl_candidate c = {.est_ns = (double)NAN};
    xl__strcpy(c.variant, sizeof c.variant, variant);
    set_tile(model, tile, c.tunables, sizeof c.tunables);
    return xl_tune_candidate(r->q, xl_problem_gemm(&g), &c, 0, out);
}

/* -- the table ------------------------------------------------------------ */

static void add_json(struct reads_run *r, size_t tile,
                     const struct tile_reads *x, const xl_candidate_result *result,
                     double rate)
{
    json_t *out = json_object();
    json_put(out, "tile", json_uint(tile));
    json_put(out, "reads_of_a", json_number(x->per_a));
    json_put(out, "reads_of_b", json_number(x->per_b));
    json_put(out, "bytes", json_number(x->bytes));
    json_put(out, "flop_per_byte", json_number(x->flop_per_byte));
    json_put(out, "flop_per_s", json_number(rate));
    json_put(out, "end", json_string(xl_candidate_end_name(result->end)));
    json_put(out, "why", json_text(*result->why ? result->why : NULL));
    json_add(r->json, out);
}

/* Adds the row of a tile; allowed: roofline of its reads. */
static void add_cells(struct reads_run *r, size_t tile,
                      const struct tile_reads *x, const xl_candidate_result *result,
                      double rate)
{
    char text[UNITS_CAP];
    const double allowed = fmin(r->peak, x->flop_per_byte * r->bandwidth);
    table_cell(r->table, "%zux%zu", tile, tile);
    table_cell(r->table, "%.0f", x->per_a);
    table_cell(r->table, "%.0f", x->per_b);
    units_bytes(text, sizeof text, x->bytes);
    table_cell(r->table, "%s", text);
    table_cell(r->table, "%.4g", x->flop_per_byte);
    units_format(text, sizeof text, allowed, "flop/s");
    table_cell(r->table, "%s", text);
    units_format(text, sizeof text, rate, "flop/s");
    table_cell(r->table, "%s", text);
    table_cell(r->table, "%s", xl_candidate_end_name(result->end));
}

/* Computes the reads of a tile and times it. */
static xl_status measure_tile(struct reads_run *r, const char *model,
                              size_t tile)
{
    xl_status status = XL_OK;
    const size_t mnk[3] = {r->c.m, r->c.n, r->c.k};
    const struct tile_reads x =
        tile_reads(mnk, tile, xl_dtype_bytes(r->c.in));
    xl_candidate_result result = {.end = XL_CANDIDATE_REFUSED, .median_ns = (double)NAN};
    TRY(time_tile(r, model, tile, &result));
    const double rate =
        result.end == XL_CANDIDATE_RIGHT
            ? 2.0 * (double)r->c.m * (double)r->c.n * (double)r->c.k /
                  result.median_ns * 1e9
            : (double)NAN;
    add_json(r, tile, &x, &result, rate);
    add_cells(r, tile, &x, &result, rate);
fail:
    return status;
}

static double fact_of(const xl_device *dev, const char *name)
{
    xl_fact fact;
    return xl_device_fact(dev, name, XL_UNKNOWN, &fact) == XL_OK
               ? fact.value
               : (double)NAN;
}

/* The tunables that the model chooses for the shape. */
static xl_status model_tunables(struct reads_run *r, char *out, size_t cap)
{
    const xl_gemm g = gemm_descriptor(&r->c);
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = 0;
    xl_status status = XL_OK;
    memset(choices, 0, sizeof choices);
    TRY(xl_gemm_explain(r->q, &g, choices, BENCH_MAX_CHOICES, &n));
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++)
        if (choices[i].chosen)
            xl__strcpy(out, cap, choices[i].tunables);
fail:
    return status;
}

static void print_heading(const struct reads_run *r)
{
    char text[UNITS_CAP];
    struct xl__str line = {0}, clean = {0};
    xl__str_printf(&line, "Reads from global memory by tile, on %u: %s",
                   xl_device_index(r->dev),
                   device_fact_text(r->dev, "name", "?"));
    text_cut(&clean, xl__str_text(&line), text_terminal_columns());
    printf("%s\n", xl__str_text(&clean));
    units_format(text, sizeof text, r->bandwidth, "B/s");
    xl__str_reset(&line);
    xl__str_printf(
        &line,
        "%zux%zux%zu %s; reads: of each element of A and of B; allowed: FLOP "
        "a byte times the bandwidth of memory, %s (measured), or the peak. "
        "Where caches serve what tiles share, more is reached.",
        r->c.m, r->c.n, r->c.k, xl_dtype_name(r->c.in), text);
    text_wrap(stdout, xl__str_text(&line), 2, text_terminal_columns() - 2);
    xl__str_clear(&line);
    xl__str_clear(&clean);
}

static xl_status measure_tiles(struct reads_run *r)
{
    char model[sizeof((xl_choice *)0)->tunables] = "";
    xl_status status = XL_OK;
    TRY(xl_peaks_measure(r->q, XL_F32));
    r->peak = fact_of(r->dev, "peak_f32_flop_per_s");
    r->bandwidth = fact_of(r->dev, "copy_bytes_per_s");
    TRY(model_tunables(r, model, sizeof model));
    for (size_t i = 0; i < N_TILES && !session_stopped(r->s); i++)
        TRY(measure_tile(r, model, tiles[i]));
fail:
    return status;
}

static int run_device(struct reads_run *r)
{
    static const struct table_column columns[] = {
        {"tile", false, 0},    {"A reads", true, 0}, {"B reads", true, 0},
        {"bytes", true, 0},    {"FLOP/B", true, 0},  {"allowed", true, 0},
        {"measured", true, 0}, {"", false, 0}};
    r->q = session_queue(r->s, r->dev);
    if (!r->q)
        return EXIT_NO_DEVICE;
    r->table = table_create(columns, sizeof columns / sizeof columns[0]);
    const xl_status status = measure_tiles(r);
    progress_hide(r->s);
    if (session_tables(r->s) && status == XL_OK) {
        print_heading(r);
        table_print(stdout, r->table, text_terminal_columns(),
                    text_has_colour());
        printf("\n");
    }
    const int code = status == XL_OK
                         ? EXIT_FINE
                         : session_fail(r->s, "trying tiles", status,
                                        xl_error_detail(r->q));
    table_destroy(r->table);
    xl_queue_destroy(r->q);
    return code;
}

int operand_reads_run(struct session *s)
{
    struct reads_run r = {.s = s};
    char why[160];
    const char *shape = s->set.n_words == 1 ? s->set.words[0] : "1024";
    if (s->set.n_words > 1 || s->set.shape_files.n > 0) {
        fprintf(stderr, "clbench: --reads takes at most one SHAPE\n");
        return EXIT_USAGE;
    }
    if (!bench_gemm.parse(&s->set, shape, &r.c, why, sizeof why)) {
        fprintf(stderr, "clbench: %s\n", why);
        return EXIT_USAGE;
    }
    int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    s->extra = json_object();
    r.json = json_array();
    json_put(s->extra, "reads", r.json);
    for (unsigned i = 0; i < s->n_devices; i++) {
        r.dev = s->devices[i];
        const int failed = run_device(&r);
        code = failed ? failed : code;
    }
    return code != EXIT_FINE ? code : session_result(s);
}
