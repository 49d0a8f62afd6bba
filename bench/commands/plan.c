/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench plan`: what of a language model fits on which device, and how fast
 * it can answer there at most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/os/paths.h"
#include "cli/console.h"
#include "cli/output_file.h"
#include "cli/table.h"
#include "cli/units.h"
#include "planner/json.h"
#include "planner/output.h"
#include "results/json.h"

static int refuse(struct session *s, const struct xl__str *why)
{
    session_message(s, "", xl__str_text(why));
    return EXIT_USAGE;
}

/* -- the models that are known -------------------------------------------- */

static void model_line(struct table *t, const char *name, const json_t *config)
{
    struct planner_model m;
    struct xl__str params = {0}, active = {0}, why = {0};
    if (planner_read_config(config, &m, &why)) {
        planner_format_params(&params, m.params);
        planner_format_params(&active, m.active);
        table_cell(t, "%s", name);
        table_cell(t, "%s", xl__str_text(&params));
        table_cell(t, "%s", xl__str_text(&active));
        table_cell(t, "%.0f", m.layers);
        table_cell(t, "%.0f x %.0f", m.kv_heads, m.head_dim);
        table_cell(t, "%.0f", m.most_context);
        table_cell(t, "%s", json_text_at(config, "source"));
    }
    xl__str_clear(&params);
    xl__str_clear(&active);
    xl__str_clear(&why);
}

static int list(struct session *s)
{
    static const struct table_column columns[] = {
        {"model", false, 0},   {"weights", true, 0}, {"active", true, 0},
        {"layers", true, 0},   {"KV", true, 0},      {"context", true, 0},
        {"config.json of", false, 12}};
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    json_t *all = planner_models_json(), *config;
    const char *name;
    if (!all || !t) {
        table_destroy(t);
        json_decref(all);
        return session_fail(s, "listing models", XL_NO_MEMORY, "");
    }
    json_object_foreach(all, name, config)
        model_line(t, name, config);
    table_print(stdout, t, text_terminal_columns(), false);
    text_wrap(stdout, "active: weights that one token is multiplied with; KV: "
                      "heads whose keys and values are kept, and their size",
              2, text_terminal_columns() - 2);
    table_destroy(t);
    json_decref(all);
    return EXIT_FINE;
}

/* -- a plan --------------------------------------------------------------- */

/* The user's file, or one in the user's folder. */
static char *picture_path(const char *path)
{
    const size_t len = strlen(path);
    return len > 0 && path[len - 1] == '/' ? xl__path_join(path, "plan.svg")
                                           : xl__strdup(path);
}

static int write_picture(struct session *s, const json_t *plan)
{
    struct xl__str svg = {0};
    char *path = picture_path(s->set.svg);
    int code = EXIT_FINE;
    if (!planner_svg(plan, NULL, &svg) && !svg.broken)
        session_message(s, "warning: ",
                    "--svg: nothing to draw without a "
                    "bandwidth");
    else if (!path || svg.broken)
        code = session_fail(s, "drawing", XL_NO_MEMORY, "");
    else if (!out_file_write(s, "svg", path, svg.text, svg.len))
        code = EXIT_FILE;
    else if (session_tables(s))
        printf("The picture: %s\n", path);
    xl__str_clear(&svg);
    free(path);
    return code;
}

static int show(struct session *s, struct planner *p)
{
    int code = planner_add_devices(s, p);
    if (code != EXIT_FINE || p->n == 0)
        return code != EXIT_FINE ? code : session_result(s);
    json_t *plan = planner_json(p);
    s->extra = json_object();
    json_put(s->extra, "plan", plan);
    if (session_tables(s))
        planner_print(stdout, p, s->set.quiet);
    if (s->set.svg)
        code = write_picture(s, plan);
    return code != EXIT_FINE ? code : session_result(s);
}

static int run_plan(struct session *s)
{
    struct planner p = {.n = 0};
    struct xl__str why = {0};
    if (s->set.list)
        return list(s);
    const int code = planner_read_options(&s->set, &p, &why) ? show(s, &p)
                                                             : refuse(s, &why);
    planner_clear(&p);
    xl__str_clear(&why);
    return code;
}

static const char *const options[] = {
    "model",   "params",    "active",   "experts", "layers",  "kv-heads",
    "head-dim", "weights",  "kv",       "context", "batch",   "training",
    "device",  "all-devices", "from",   "bandwidth", "peak",  "memory",
    "link",    "list",      "svg",      "json",    "seed",    "max-time", NULL};

const struct command cmd_plan = {
    .name = "plan",
    .summary = "what of a language model fits, and how fast at most",
    .about =
        "Says what memory a language model takes - weights, keys and values "
        "of its context, activations -, what of it fits on a device, and the "
        "most tokens a second that the device's measured bandwidth and "
        "arithmetic allow: for each token all weights are read, once for the "
        "whole batch, and each sequence's own cache. The formula is shown "
        "with its numbers, for batches of 1 to 128, with the batch from which "
        "compute is the limit, the largest batch and context that fit, the "
        "time of a prompt and of loading the weights.\n\n"
        "The model is one that --list names, a config.json, or --params, "
        "--layers, --kv-heads and --head-dim. The device is one of this "
        "machine, measured now in some seconds; with --from those of result "
        "files; with --bandwidth, --peak, --memory and --link one that need "
        "not be there.\n\n"
        "  clbench plan --model llama-3.1-8b --weights int4/32\n"
        "  clbench plan --params 14e9 --layers 48 --kv-heads 8 \\\n"
        "      --head-dim 128 --weights int4 --context 32k --batch 8\n"
        "  clbench plan --model ./config.json --from run.json --batch 16\n"
        "  clbench plan --model mixtral-8x7b --bandwidth 1008GB/s \\\n"
        "      --peak 165TFLOP/s --memory 24GB --link 31.5GB/s",
    .options = options,
    .min_words = 0,
    .max_words = 0,
    .run = run_plan,
    .draws_itself = true,
};
