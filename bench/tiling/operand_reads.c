/* SPDX-License-Identifier: Apache-2.0 */
/* Square tiles of 8 to 128: the wider a tile, the fewer times an element is
 * read. Counted by arithmetic, as every tile reads its rows of A and its
 * columns of B whole; timed by trying that tile, where the device has room. */
#include "tiling/operand_reads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/tune.h>

#include "base/error.h"
#include "results/result.h"
#include "tiling/gemm_tiling.h"
#include "results/json.h"
#include "timing/run_cases.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

static const size_t tiles[] = {8, 16, 32, 64, 128};
enum { N_TILES = sizeof tiles / sizeof tiles[0] };
static const char variant[] = "gemm_tiled";

struct reads {
    struct session *s;
    xl_device *dev;
    xl_queue *q;
    struct gemm_case c;
    double peak, bandwidth; /* flop/s, B/s; NaN: unknown */
    json_t *json;
    struct table *table;
};

static xl_mat view(size_t rows, size_t cols, xl_dtype dtype, bool turned)
{
    return turned ? xl_mat_cols(NULL, rows, dtype)
                  : xl_mat_rows(NULL, cols, dtype);
}

static xl_gemm descriptor(const struct gemm_case *c)
{
    return (xl_gemm){.m = c->m,
                     .n = c->n,
                     .k = c->k,
                     .alpha = 1,
                     .a = view(c->m, c->k, c->in, c->trans & 1),
                     .b = view(c->k, c->n, c->in, c->trans & 2),
                     .c = view(c->m, c->n, c->out, false),
                     .variant = variant};
}

/* -- a candidate of a given tile ------------------------------------------ */

/* The value that makes an item's part square, with at most 256 items to a
 * group; the rest stays as it is. */
static size_t wanted(const char *name, size_t len, size_t tile, size_t old)
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

/* The model's tunables, "model: TM=64 ...", with another tile. */
static void retile(const char *model, size_t tile, char *out, size_t cap)
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
                       wanted(at, len, tile, old));
        at = end ? end : at + len;
    }
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

/* The rate that a tile of this size reaches; NaN, with *why, when it does not
 * run here. */
static xl_status try_tile(struct reads *r, const char *model, size_t tile,
                          xl_trial *out)
{
    const xl_gemm g = descriptor(&r->c);
    xl_candidate c = {.est_ns = (double)NAN};
    xl__strcpy(c.variant, sizeof c.variant, variant);
    retile(model, tile, c.tunables, sizeof c.tunables);
    return xl_tune_trial(r->q, "gemm", &g, &c, 0, out);
}

/* -- the table ------------------------------------------------------------ */

static void add_json(struct reads *r, size_t tile, const struct tile_reads *x,
                     const xl_trial *trial, double rate)
{
    json_t *out = json_object();
    json_put(out, "tile", json_uint(tile));
    json_put(out, "reads_of_a", json_number(x->per_a));
    json_put(out, "reads_of_b", json_number(x->per_b));
    json_put(out, "bytes", json_number(x->bytes));
    json_put(out, "flop_per_byte", json_number(x->flop_per_byte));
    json_put(out, "flop_per_s", json_number(rate));
    json_put(out, "end", json_string(xl_trial_end_name(trial->end)));
    json_put(out, "why", json_text(*trial->why ? trial->why : NULL));
    json_add(r->json, out);
}

static void add_cells(struct reads *r, size_t tile, const struct tile_reads *x,
                      const xl_trial *trial, double rate)
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
    table_cell(r->table, "%s", xl_trial_end_name(trial->end));
}

static xl_status one_tile(struct reads *r, const char *model, size_t tile)
{
    xl_status status = XL_OK;
    const size_t mnk[3] = {r->c.m, r->c.n, r->c.k};
    const struct tile_reads x =
        tile_reads(mnk, tile, xl_dtype_bytes(r->c.in));
    xl_trial trial = {.end = XL_TRIAL_REFUSED, .median_ns = (double)NAN};
    TRY(try_tile(r, model, tile, &trial));
    const double rate =
        trial.end == XL_TRIAL_RIGHT
            ? 2.0 * (double)r->c.m * (double)r->c.n * (double)r->c.k /
                  trial.median_ns * 1e9
            : (double)NAN;
    add_json(r, tile, &x, &trial, rate);
    add_cells(r, tile, &x, &trial, rate);
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

static xl_status model_tunables(struct reads *r, char *out, size_t cap)
{
    const xl_gemm g = descriptor(&r->c);
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

static void print_head(const struct reads *r)
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

static xl_status all_tiles(struct reads *r)
{
    char model[sizeof((xl_choice *)0)->tunables] = "";
    xl_status status = XL_OK;
    TRY(xl_peaks_measure(r->q, XL_F32));
    r->peak = fact_of(r->dev, "peak_f32_flop_per_s");
    r->bandwidth = fact_of(r->dev, "copy_bytes_per_s");
    TRY(model_tunables(r, model, sizeof model));
    for (size_t i = 0; i < N_TILES && !session_stopped(r->s); i++)
        TRY(one_tile(r, model, tiles[i]));
fail:
    return status;
}

static int on_device(struct reads *r)
{
    static const struct table_column columns[] = {
        {"tile", false, 0},    {"A reads", true, 0}, {"B reads", true, 0},
        {"bytes", true, 0},    {"FLOP/B", true, 0},  {"allowed", true, 0},
        {"measured", true, 0}, {"", false, 0}};
    r->q = session_queue(r->s, r->dev);
    if (!r->q)
        return EXIT_NO_DEVICE;
    r->table = table_create(columns, sizeof columns / sizeof columns[0]);
    const xl_status status = all_tiles(r);
    progress_hide(r->s);
    if (session_tables(r->s) && status == XL_OK) {
        print_head(r);
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

int reads_run(struct session *s)
{
    struct reads r = {.s = s};
    char why[160];
    const char *word = s->set.n_words == 1 ? s->set.words[0] : "1024";
    if (s->set.n_words > 1 || s->set.shape_files.n > 0) {
        fprintf(stderr, "clbench: --reads wants one SHAPE at most\n");
        return EXIT_USAGE;
    }
    if (!bench_gemm.parse(&s->set, word, &r.c, why, sizeof why)) {
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
        const int failed = on_device(&r);
        code = failed ? failed : code;
    }
    return code != EXIT_FINE ? code : session_result(s);
}
