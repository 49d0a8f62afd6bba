/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench split`: how the result of a call is split into tiles, and which
 * compute unit runs each tile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/paths.h"
#include "results/json.h"
#include "cli/output_file.h"
#include "cases/shapes.h"
#include "tiling/json.h"
#include "tiling/measurement.h"
#include "cli/console.h"
#include "tiling/picture.h"
#include "tiling/text.h"

static int report_usage(const char *why)
{
    struct xl__str clean = {0};
    text_escape(&clean, why);
    fprintf(stderr, "clbench: %s\n", xl__str_text(&clean));
    xl__str_clear(&clean);
    return EXIT_USAGE;
}

/* -- arguments -------------------------------------------------------------
 */

static size_t shape_value(const xl_row *row, const char *name,
                          size_t otherwise)
{
    for (unsigned i = 0; i < row->n_shape; i++)
        if (strcmp(row->shape[i].name, name) == 0)
            return (size_t)row->shape[i].value;
    return otherwise;
}

/* The type, rows and columns of the result, from the fields that its rows in
 * reports have. */
static void find_sizes(struct tiling_job *job)
{
    xl_row row;
    xl_row_init(&row, job->op->name, "");
    job->op->describe(job->c, &row);
    job->dtype = row.dtype;
    if (strncmp(job->op->name, bench_conv.name, strlen(bench_conv.name)) == 0)
        return;
    job->m = shape_value(&row, "m", shape_value(&row, "rows", 0));
    job->n = shape_value(&row, "n", shape_value(&row, "cols", 0));
    job->count = shape_value(&row, "batch", 1);
}

static bool read_tile(struct tiling_job *job, char *why, size_t cap)
{
    const char *text = job->s->set.tile;
    size_t tile[2];
    if (!text)
        return true;
    if (job->m == 0) {
        snprintf(why, cap,
                 "--tile is not valid for %s, whose tiles are not rows by "
                 "columns of its result; must be gemm or softmax",
                 job->op->name);
        return false;
    }
    if (!shape_rows(text, tile, why, cap))
        return false;
    if (tile[0] > job->m || tile[1] > job->n) {
        snprintf(why, cap,
                 "invalid value '%zux%zu' for --tile: must not exceed the "
                 "result, %zux%zu",
                 tile[0], tile[1], job->m, job->n);
        return false;
    }
    job->rows = tile[0];
    job->cols = tile[1];
    return true;
}

static bool read_sweep(struct tiling_job *job, struct sweep *sweep, char *why,
                       size_t cap)
{
    if (!job->s->set.sweep)
        return true;
    if (!sweep_read(job->s->set.sweep, sweep, why, cap))
        return false;
    if (sweep->k || sweep->ld || job->op != &bench_gemm) {
        snprintf(why, cap,
                 "invalid value for --sweep: must be m, n or nm of a gemm, "
                 "such as nm=1780:2060");
        return false;
    }
    job->sweep = sweep;
    return true;
}

static bool read_job(struct tiling_job *job, void *c, struct sweep *sweep,
                     char *why, size_t cap)
{
    const struct settings *set = &job->s->set;
    if (!job->op->parse(set, set->words[1], c, why, cap))
        return false;
    job->c = c;
    find_sizes(job);
    if (set->units > TILING_MOST_UNITS) {
        snprintf(why, cap,
                 "invalid value '%zu' for --units: must be at most %d",
                 set->units, TILING_MOST_UNITS);
        return false;
    }
    return read_tile(job, why, cap) && read_sweep(job, sweep, why, cap);
}

/* -- output ----------------------------------------------------------------
 */

static bool is_folder(const char *path)
{
    const size_t len = strlen(path);
    return len > 0 && path[len - 1] == '/';
}

/* The state of a busy machine, which a measured launch depends on. */
static void note_busy(struct session *s, struct tiling_report *p)
{
    struct xl__str text = {0};
    if (!s->state.is_known)
        return;
    run_state_update(&s->state);
    if (s->state.is_busy)
        run_state_format(&s->state, &text);
    xl__strcpy(p->busy, sizeof p->busy, xl__str_text(&text));
    xl__str_clear(&text);
}

/* The file of --svg, or a file in its folder, named by op, shape and device.
 */
static char *picture_path(const struct session *s, const xl_device *dev)
{
    struct xl__str name = {0};
    char *out = NULL;
    if (!is_folder(s->set.svg))
        return xl__strdup(s->set.svg);
    xl__str_printf(&name, "split-%s-%s", s->set.words[0], s->set.words[1]);
    for (size_t i = 0; i < name.len; i++)
        if (strchr("/\\:", name.text[i]))
            name.text[i] = '-';
    if (dev)
        xl__str_printf(&name, "-d%u", xl_device_index(dev));
    xl__str_add(&name, ".svg");
    if (!name.broken)
        out = xl__path_join(s->set.svg, xl__str_text(&name));
    xl__str_clear(&name);
    return out;
}

static int write_picture(struct session *s, const xl_device *dev,
                         const struct tiling_report *p)
{
    struct xl__str svg = {0};
    char *path = picture_path(s, dev);
    tiling_svg(p, &svg);
    const bool is_written =
        path && !svg.broken &&
        out_file_write(s, "svg", path, xl__str_text(&svg), svg.len);
    if (is_written && session_tables(s))
        printf("Picture: %s\n", path);
    xl__str_clear(&svg);
    free(path);
    return is_written ? EXIT_FINE : EXIT_FILE;
}

static int split_on_device(const struct tiling_job *job, xl_device *dev,
                           json_t *json)
{
    struct session *s = job->s;
    struct tiling_report report;
    int code = tiling_measure(job, dev, &report);
    progress_hide(s);
    if (code == EXIT_FINE) {
        note_busy(s, &report);
        json_t *entry = tiling_json(&report);
        json_put(entry, "device",
                 dev ? json_integer(xl_device_index(dev)) : NULL);
        json_add(json, entry);
        if (session_tables(s))
            tiling_print(stdout, &report, text_terminal_columns(),
                       text_has_colour());
        if (s->set.svg)
            code = write_picture(s, dev, &report);
    }
    tiling_report_clear(&report);
    return code;
}

static int split_on_devices(const struct tiling_job *job)
{
    struct session *s = job->s;
    json_t *json = json_array();
    int code = EXIT_FINE;
    s->extra = json_object();
    json_put(s->extra, "split", json);
    if (job->rows > 0 && s->set.units > 0)
        return split_on_device(job, NULL, json);
    code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    if (s->n_devices > 1 && s->set.svg && !is_folder(s->set.svg))
        return report_usage(
            "invalid value for --svg: must be a folder, with a / at "
            "the end, when there are several devices");
    run_state_begin(&s->state, s->devices, s->n_devices);
    const size_t sizes = job->sweep ? sweep_count(job->sweep) : 0;
    progress_begin(s, s->n_devices * (unsigned)(1 + sizes));
    for (unsigned i = 0; i < s->n_devices && !session_interrupted(); i++) {
        const int failed = split_on_device(job, s->devices[i], json);
        code = failed ? failed : code;
    }
    progress_end(s);
    return code != EXIT_FINE ? code : session_result(s);
}

static int run_split(struct session *s)
{
    struct tiling_job job = {.s = s, .count = 1};
    struct sweep sweep;
    char why[256];
    job.op = bench_op_find(s->set.words[0]);
    if (!job.op)
        return EXIT_USAGE;
    void *c = xl__calloc(1, job.op->case_bytes);
    if (!c)
        return session_fail(s, "reading shapes", XL_NO_MEMORY, "");
    const int code = read_job(&job, c, &sweep, why, sizeof why)
                         ? split_on_devices(&job)
                         : report_usage(why);
    free(c);
    return code;
}

static const char *const options[] = {
    "device", "all-devices", "variant", "dtype",    "trans",    "accuracy",
    "batch",  "layout",      "stride",  "pad",      "dilation", "groups",
    "causal", "share",       "window",  "tile",     "units",    "sweep",
    "svg",    "json",        "seed",    "max-time", NULL};

const struct command cmd_split = {
    .name = "split",
    .summary = "tiles, waves, and the compute unit that ran each tile",
    .words = "OP SHAPE",
    .about =
        "Prints how the result of one call is split into tiles and "
        "work-groups, how many waves these make and how full the waves are, "
        "what part of the tiles is beyond the result, and which compute unit "
        "ran which tile and when. The last is measured where a kernel can "
        "read the id of its unit: with a substitute kernel, a launch with the "
        "same number of groups, of work-items and of bytes of local memory, "
        "which runs for the time of the call and records its units. Elsewhere "
        "it is modelled, with a remark. The sawtooth follows: the rate that "
        "whole tiles and whole waves leave at each size; with --sweep, beside "
        "measured rates. The groups of attention with a mask see different "
        "numbers of keys: they are modelled, in the order in which the "
        "variant's groups begin.\n\n"
        "With --tile, --units or both it computes the split for these values "
        "and runs nothing.\n\n"
        "  clbench split gemm 1024x1024x1024\n"
        "  clbench split gemm 4096 --dtype f16 --svg split.svg\n"
        "  clbench split gemm 2048 --tile 256x128 --units 132\n"
        "  clbench split gemm 2048 --dtype f16 --sweep nm=1780:2060:4\n"
        "  clbench split softmax 4096x4096\n"
        "  clbench split attention 1x8x2048x64 --causal --units 16",
    .options = options,
    .min_words = 2,
    .max_words = 2,
    .run = run_split,
    .draws_itself = true,
};
