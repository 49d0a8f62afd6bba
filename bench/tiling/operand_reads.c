/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of `--reads`: devices, peaks, candidates of a tile, tables. */
#include "tiling/operand_reads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/console.h"
#include "cli/units.h"
#include "results/result.h"

/* -- candidates ----------------------------------------------------------- */

xl_status reads_choice(struct reads_run *r, const struct bench_op *op,
                       const char *variant, xl_choice *out)
{
    const struct case_run work = {.c = r->c,
                                  .variant = variant,
                                  .data =
                                      &(const struct bench_data){.seed = 0}};
    xl_choice choices[BENCH_MAX_CHOICES];
    unsigned n = BENCH_MAX_CHOICES;
    xl_status status = XL_OK;
    memset(choices, 0, sizeof choices);
    memset(out, 0, sizeof *out);
    TRY(op->explain(r->q, &work, choices, &n));
    for (unsigned i = 0; i < n && i < BENCH_MAX_CHOICES; i++)
        if (choices[i].chosen)
            *out = choices[i];
fail:
    return status;
}

/* Replaces the tile in the tunables of the model, "model: TM=64 ...". */
static void set_tile(const char *model, reads_tunable *value, size_t tile,
                     char *out, size_t cap)
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
                       value(at, len, tile, old));
        at = end ? end : at + len;
    }
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}

xl_status reads_time_tile(struct reads_run *r, xl_problem p,
                          const xl_choice *model, reads_tunable *value,
                          size_t tile, xl_candidate_result *out)
{
    xl_candidate c = {.est_ns = (double)NAN};
    *out = (xl_candidate_result){.end = XL_CANDIDATE_REFUSED,
                                 .median_ns = (double)NAN};
    xl__strcpy(c.variant, sizeof c.variant, model->variant);
    set_tile(model->tunables, value, tile, c.tunables, sizeof c.tunables);
    return xl_tune_candidate(r->q, p, &c, 0, out);
}

double reads_rate(const xl_candidate_result *result, double flop)
{
    return result->end == XL_CANDIDATE_RIGHT ? flop / result->median_ns * 1e9
                                             : (double)NAN;
}

double reads_allowed(const struct reads_run *r, double flop, double bytes)
{
    return fmin(r->peak, flop / bytes * r->bandwidth);
}

/* -- output --------------------------------------------------------------- */

void reads_cell(struct table *t, double value, const char *unit)
{
    char text[UNITS_CAP];
    if (strcmp(unit, "B") == 0)
        units_bytes(text, sizeof text, value);
    else
        units_format(text, sizeof text, value, unit);
    table_cell(t, "%s", text);
}

void reads_put_end(json_t *line, size_t tile, double rate,
                   const xl_candidate_result *result)
{
    json_put(line, "tile", json_uint(tile));
    json_put(line, "flop_per_s", json_number(rate));
    json_put(line, "end", json_string(xl_candidate_end_name(result->end)));
    json_put(line, "why", json_text(*result->why ? result->why : NULL));
}

void reads_print(const struct reads_run *r, const char *heading,
                 const char *note, const struct table *t)
{
    struct xl__str line = {0}, clean = {0};
    progress_hide(r->s);
    if (!session_tables(r->s))
        return;
    xl__str_printf(&line, "%s, on %u: %s", heading, xl_device_index(r->dev),
                   device_fact_text(r->dev, "name", "?"));
    text_cut(&clean, xl__str_text(&line), text_terminal_columns());
    printf("%s\n", xl__str_text(&clean));
    text_wrap(stdout, note, 2, text_terminal_columns() - 2);
    table_print(stdout, t, text_terminal_columns(), text_has_colour());
    printf("\n");
    xl__str_clear(&line);
    xl__str_clear(&clean);
}

/* -- the command ---------------------------------------------------------- */

static double fact_of(const xl_device *dev, const char *name)
{
    xl_fact fact;
    return xl_device_fact(dev, name, XL_UNKNOWN, &fact) == XL_OK ? fact.value
                                                                 : (double)NAN;
}

static int run_device(struct reads_run *r, const struct reads_op *what)
{
    r->q = session_queue(r->s, r->dev);
    if (!r->q)
        return EXIT_NO_DEVICE;
    xl_status status = xl_peaks_measure(r->q, XL_F32);
    r->peak = fact_of(r->dev, "peak_f32_flop_per_s");
    r->bandwidth = fact_of(r->dev, "copy_bytes_per_s");
    if (status == XL_OK)
        status = what->report(r);
    progress_hide(r->s);
    const int code = status == XL_OK
                         ? EXIT_FINE
                         : session_fail(r->s, "trying tiles", status,
                                        xl_error_detail(r->q));
    xl_queue_destroy(r->q);
    return code;
}

int operand_reads_run(struct session *s, const struct reads_op *what)
{
    struct reads_run r = {.s = s};
    char why[160];
    const char *shape = s->set.n_words == 1 ? s->set.words[0] : what->shape;
    if (s->set.n_words > 1 || s->set.shape_files.n > 0) {
        fprintf(stderr, "clbench: --reads takes at most one SHAPE\n");
        return EXIT_USAGE;
    }
    void *c = xl__calloc(1, what->op->case_bytes);
    if (!c)
        return session_fail(s, "reading shapes", XL_NO_MEMORY, "");
    r.c = c;
    int code = EXIT_USAGE;
    if (what->op->parse(&s->set, shape, c, why, sizeof why))
        code = session_open_devices(s);
    else
        fprintf(stderr, "clbench: %s\n", why);
    if (code == EXIT_FINE) {
        s->extra = json_object();
        r.json = json_array();
        json_put(s->extra, "reads", r.json);
        for (unsigned i = 0; i < s->n_devices; i++) {
            r.dev = s->devices[i];
            const int failed = run_device(&r, what);
            code = failed ? failed : code;
        }
    }
    free(c);
    return code != EXIT_FINE ? code : session_result(s);
}
