/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench gemm --reads`: for square tiles of 8 to 128, the number of times
 * each operand element is read from global memory and the rate that the tile
 * reaches. Every tile reads its rows of A and columns of B whole. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/str.h"
#include "cli/units.h"
#include "tiling/operand_reads.h"
#include "tiling/tiles.h"

static const size_t tiles[] = {8, 16, 32, 64, 128};
enum { N_TILES = sizeof tiles / sizeof tiles[0] };
static const char variant[] = "gemm_tiled";

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
        {"TM", tile}, {"TN", tile}, {"TK", DEPTH},
        {"RM", each}, {"RN", each}, {"VW", each < VECTOR ? each : VECTOR},
        {"ST", 1},    {"FORM", 1},  {"PARTS", 1},
    };
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        if (strlen(set[i].name) == len && strncmp(set[i].name, name, len) == 0)
            return set[i].value;
    return old;
}

static void print_table(const struct reads_run *r, const struct gemm_case *c,
                        const struct table *t)
{
    char text[UNITS_CAP], note[512];
    units_format(text, sizeof text, r->bandwidth, "B/s");
    snprintf(note, sizeof note,
             "%zux%zux%zu %s; reads: of each element of A and of B; allowed: "
             "FLOP a byte times the bandwidth of memory, %s (measured), or "
             "the peak. Where caches serve what tiles share, more is reached.",
             c->m, c->n, c->k, xl_dtype_name(c->in), text);
    reads_print(r, "Reads from global memory by tile", note, t);
}

static xl_status measure_tile(struct reads_run *r, const xl_choice *model,
                              size_t tile, struct table *t)
{
    const struct gemm_case *c = r->c;
    const size_t mnk[3] = {c->m, c->n, c->k};
    const double flop = 2.0 * (double)c->m * (double)c->n * (double)c->k;
    const struct tile_reads x = tile_reads(mnk, tile, xl_dtype_bytes(c->in));
    const xl_gemm g = gemm_descriptor(c);
    xl_candidate_result result;
    xl_status status = XL_OK;
    TRY(reads_time_tile(r, xl_problem_gemm(&g), model, tunable_value, tile,
                        &result));
    const double rate = reads_rate(&result, flop);
    json_t *line = json_object();
    json_put(line, "reads_of_a", json_number(x.per_a));
    json_put(line, "reads_of_b", json_number(x.per_b));
    json_put(line, "bytes", json_number(x.bytes));
    json_put(line, "flop_per_byte", json_number(x.flop_per_byte));
    reads_put_end(line, tile, rate, &result);
    json_add(r->json, line);
    table_cell(t, "%zux%zu", tile, tile);
    table_cell(t, "%.0f", x.per_a);
    table_cell(t, "%.0f", x.per_b);
    reads_cell(t, x.bytes, "B");
    table_cell(t, "%.4g", x.flop_per_byte);
    reads_cell(t, reads_allowed(r, flop, x.bytes), "flop/s");
    reads_cell(t, rate, "flop/s");
    table_cell(t, "%s", xl_candidate_end_name(result.end));
fail:
    return status;
}

static xl_status report_gemm(struct reads_run *r)
{
    static const struct table_column columns[] = {
        {"tile", false, 0},    {"A reads", true, 0}, {"B reads", true, 0},
        {"bytes", true, 0},    {"FLOP/B", true, 0},  {"allowed", true, 0},
        {"measured", true, 0}, {"", false, 0}};
    struct table *t = table_create(columns, sizeof columns / sizeof *columns);
    xl_choice model;
    xl_status status = XL_OK;
    TRY(reads_choice(r, &bench_gemm, variant, &model));
    for (size_t i = 0; i < N_TILES && !session_stopped(r->s); i++)
        TRY(measure_tile(r, &model, tiles[i], t));
    print_table(r, r->c, t);
fail:
    table_destroy(t);
    return status;
}

const struct reads_op reads_of_gemm = {&bench_gemm, "1024", report_gemm};
