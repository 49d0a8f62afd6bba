/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench model`: run the forward pass of a language model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/console.h"
#include "cli/units.h"
#include "commands.h"
#include "planner/forward/generation.h"
#include "planner/forward/input.h"
#include "planner/forward/measurement.h"
#include "report/report.h"
#include "results/json.h"
#include "results/result.h"

static int refuse(struct session *s, const struct xl__str *why)
{
    session_message(s, "", xl__str_text(why));
    return EXIT_USAGE;
}

/* -- memory --------------------------------------------------------------- */

static bool fits(const struct lm_run *r, const struct lm_arch *a,
                 const struct lm_type *type, size_t context, double memory)
{
    struct lm_bytes bytes;
    struct lm_size size = r->size;
    struct lm_source source = r->source;
    source.type = *type;
    size.context = context;
    size.prompt = size.prompt < context ? size.prompt : context;
    return lm_bytes(a, &source, &size, &bytes) == XL_OK &&
           lm_bytes_sum(&bytes) <= memory;
}

/* What would fit instead: other weights, a shorter context, fewer layers. */
static void suggest(const struct lm_run *r, double memory, struct xl__str *out)
{
    static const char *const types[] = {"q8_0", "q4_0"};
    const char *before = "; this fits: ";
    struct xl__str unused = {0};
    size_t n = r->size.context;
    for (size_t i = 0; !r->source.file && i < sizeof types / sizeof *types;
         i++) {
        struct lm_type type;
        if (lm_type_read(types[i], &type, &unused) &&
            type.bits < r->source.type.bits &&
            fits(r, r->arch, &type, r->size.context, memory)) {
            xl__str_printf(out, "%s--weights %s", before, types[i]);
            before = ", ";
            break;
        }
    }
    while (n > 2 && !fits(r, r->arch, &r->source.type, n, memory))
        n /= 2;
    if (n > 2) {
        xl__str_printf(out, "%s--context %zu", before, n);
        before = ", ";
    }
    struct lm_arch fewer = *r->arch;
    while (fewer.layers > 0 &&
           !fits(r, &fewer, &r->source.type, r->size.context, memory))
        fewer.layers--;
    if (fewer.layers > 0)
        xl__str_printf(out, "%s--layers %zu", before, fewer.layers);
    xl__str_clear(&unused);
}

static void add_bytes(struct xl__str *out, double bytes)
{
    char text[UNITS_CAP];
    units_bytes(text, sizeof text, bytes);
    xl__str_add(out, text);
}

/* Check sizes before anything is allocated. An exit_code. */
static int check_memory(struct lm_run *r)
{
    struct lm_bytes *bytes = &r->bytes;
    xl_fact fact;
    struct xl__str why = {0};
    int code = EXIT_FINE;
    const xl_status status = lm_bytes(r->arch, &r->source, &r->size, bytes);
    if (status != XL_OK) {
        xl__str_printf(&why,
                       "--weights %s: the rows of a matrix of this "
                       "model are not whole blocks of it",
                       r->weights_name);
        code = EXIT_USAGE;
    } else if (xl_device_fact(r->dev, "global_mem_bytes", XL_UNKNOWN, &fact) ==
                   XL_OK &&
               lm_bytes_sum(bytes) > fact.value) {
        xl__str_add(&why, "not enough memory: weights ");
        add_bytes(&why, bytes->weights);
        xl__str_add(&why, ", cache ");
        add_bytes(&why, bytes->cache);
        xl__str_add(&why, ", activations ");
        add_bytes(&why, bytes->activations);
        xl__str_printf(&why, "; %s has ",
                       device_fact_text(r->dev, "name", "the device"));
        add_bytes(&why, fact.value);
        suggest(r, fact.value, &why);
        code = EXIT_USAGE;
    }
    if (code != EXIT_FINE)
        session_message(r->s, "", xl__str_text(&why));
    xl__str_clear(&why);
    return code;
}

/* -- text ----------------------------------------------------------------- */

static void print_paragraph(const struct xl__str *text)
{
    enum { INDENT = 2 };
    struct xl__str clean = {0};
    text_escape(&clean, xl__str_text(text));
    text_wrap(stdout, xl__str_text(&clean), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&clean);
}

static void print_model(const struct lm_run *r, const char *name)
{
    const struct lm_bytes *bytes = &r->bytes;
    const struct lm_arch *a = r->arch;
    struct xl__str text = {0};
    xl__str_printf(&text,
                   "%s, %s family: weights %s, activations and cache "
                   "%s; ",
                   name, a->family->name, r->weights_name,
                   xl_dtype_name(r->size.dtype));
    if (a->layers < a->layers_of_model)
        xl__str_printf(&text, "only %zu of its %zu layers, ", a->layers,
                       a->layers_of_model);
    else
        xl__str_printf(&text, "%zu layers, ", a->layers);
    xl__str_printf(&text, "batch %zu, context %zu tokens. In memory: weights ",
                   r->size.batch, r->size.context);
    add_bytes(&text, bytes->weights);
    if (!r->source.file)
        xl__str_printf(&text, " from seed %llu",
                       (unsigned long long)r->s->set.seed);
    xl__str_add(&text, ", cache ");
    add_bytes(&text, bytes->cache);
    xl__str_add(&text, ", activations ");
    add_bytes(&text, bytes->activations);
    print_paragraph(&text);
    xl__str_clear(&text);
}

static void add_rate(struct xl__str *out, const char *what, double rate,
                     double bound)
{
    char value[UNITS_CAP], most[UNITS_CAP], share[UNITS_CAP];
    units_number(value, sizeof value, rate);
    units_number(most, sizeof most, bound);
    units_percent(share, sizeof share, rate / bound);
    xl__str_printf(out, "%s: %s tokens/s", what, value);
    if (bound > 0)
        xl__str_printf(out, ", %s of the plan's bound of %s", share, most);
    xl__str_add(out, ". ");
}

static void print_rates(const struct lm_run *r)
{
    struct xl__str text = {0};
    if (!isnan(r->prompt_rate))
        add_rate(&text, "Prompt", r->prompt_rate, r->prompt_bound);
    if (!isnan(r->decode_rate))
        add_rate(&text, "Decoding", r->decode_rate, r->decode_bound);
    if (!isnan(r->decode_launches))
        xl__str_printf(&text, "A step has %g launches. ", r->decode_launches);
    if (r->arch->layers < r->arch->layers_of_model)
        xl__str_printf(&text,
                       "These are of %zu of the %zu layers; the bound "
                       "too.",
                       r->arch->layers, r->arch->layers_of_model);
    if (text.len > 0)
        print_paragraph(&text);
    xl__str_clear(&text);
}

/* A bar for each point: '#' for what was measured, '.' up to the bound. */
static void print_points(const struct lm_run *r)
{
    enum { LABELS = 42, LEAST = 10 };
    double most = 0;
    const unsigned columns = text_terminal_columns();
    const unsigned width = columns > LABELS + LEAST ? columns - LABELS : LEAST;
    for (size_t i = 0; i < r->n_points; i++)
        most = fmax(most, fmax(r->point[i].rate, r->point[i].bound));
    if (!(most > 0))
        return;
    printf("\n  Decoding, tokens a second: # measured, . up to the bound\n\n"
           "  batch context\n");
    for (size_t i = 0; i < r->n_points; i++) {
        const struct lm_point *p = &r->point[i];
        char rate[UNITS_CAP] = "-", share[UNITS_CAP] = "";
        struct xl__str bar = {0};
        for (unsigned c = 0; c < width; c++) {
            const double here = (c + 0.5) / width * most;
            xl__str_add(&bar, here < p->rate    ? "#"
                              : here < p->bound ? "."
                                                : " ");
        }
        if (!isnan(p->rate)) {
            units_number(rate, sizeof rate, p->rate);
            units_percent(share, sizeof share, p->rate / p->bound);
        }
        printf("  %5zu %7zu  %s  %9s  %5s\n", p->batch, p->context,
               xl__str_text(&bar), rate, share);
        xl__str_clear(&bar);
    }
    printf("\n");
}

/* -- the command ---------------------------------------------------------- */

static int run_on_device(struct lm_run *r, struct planner *p, unsigned i,
                         const char *name)
{
    struct session *s = r->s;
    r->dev = s->devices[i];
    int code = check_memory(r);
    if (code == EXIT_FINE && r->n_ids == 0)
        code = planner_add_device(s, p, r->dev);
    if (code != EXIT_FINE)
        return code;
    if (session_tables(s))
        print_model(r, name);
    if (r->n_ids > 0)
        return lm_generate(r);
    r->rates = planner_device_rates(&p->dev[i]);
    code = lm_measure(r);
    if (session_tables(s))
        print_rates(r);
    if (session_tables(s) && r->n_points > 0)
        print_points(r);
    return code;
}

static int run_on_devices(struct lm_run *r, struct planner *p,
                          const char *name)
{
    struct session *s = r->s;
    int code = session_open_devices(s);
    for (unsigned i = 0;
         code == EXIT_FINE && i < s->n_devices && !session_stopped(s); i++)
        code = run_on_device(r, p, i, name);
    return code != EXIT_FINE ? code : session_result(s);
}

static int run_model(struct session *s)
{
    static struct lm_arch arch;
    struct gguf file = {0};
    struct lm_run r = {.s = s, .arch = &arch};
    struct planner p = {.n = 0};
    struct xl__str why = {0};
    int code;
    if (!lm_read_options(&r, &file, &arch, &why)) {
        code = refuse(s, &why);
    } else {
        p.weights.peak = planner_peaks(r.size.dtype);
        code = run_on_devices(
            &r, &p, r.source.file ? s->set.plan.gguf : s->set.words[0]);
    }
    free(r.ids);
    gguf_clear(&file);
    planner_clear(&p);
    xl__str_clear(&why);
    return code;
}

static const char *const options[] = {
    "device",   "all-devices",    "gguf",        "weights",  "dtype",
    "context",  "prompt",         "tokens",      "ids",      "batch",
    "contexts", "batches",        "activations", "accuracy", "layers",
    "json",     REPORT_OPTIONS,   "seed",        "quick",    "full",
    "max-time", SAMPLING_OPTIONS, "roofs",       "strict",   NULL};

const struct command cmd_model = {
    .name = "model",
    .summary = "run a language model's forward pass",
    .words = "NAME|config.json|--gguf FILE",
    .about =
        "Runs the forward pass of a language model with this library's own "
        "kernels and prints the tokens a second of a prompt and of decoding, "
        "beside the bound that 'clbench plan' computes from the device's "
        "rates, and the time, bytes and share of the roof of each operation. "
        "The model is one of 'clbench plan --list', or a config.json, of the "
        "families Llama, Mistral, Qwen, Gemma, Phi and GPT-2. Its weights are "
        "made on the device from --seed; nothing is downloaded, and its "
        "output has no meaning. --gguf takes model and weights from a file of "
        "ggml instead, in its formats; with --ids the ids that the model "
        "chooses behind a prompt are printed, to be compared with those of "
        "other programs.\n\n"
        "--weights is f32, f16, bf16, a format of 'clbench qgemm' such as "
        "q8_0 or q4_0, or int4/GROUP. Tables of embeddings, the cache of keys "
        "and values and activations are f16, beside weights of bf16 or f32 "
        "of that type; --dtype changes them; with --activations i8 products "
        "with quantised weights quantise theirs to bytes. Where it is faster, "
        "which is with many rows, such products round weights to the type of "
        "the activations, unless with --accuracy full. What does not fit "
        "into the device's memory is refused, with what would; --layers runs "
        "a part of "
        "the layers. --contexts and --batches also time decoding at each of "
        "their pairs, and draw it beside the bound.\n\n"
        "  clbench model llama-3.1-8b --weights q4_0 --context 4096\n"
        "  clbench model qwen2.5-7b --batch 16 --prompt 2048 --json run.json\n"
        "  clbench model qwen3-8b --contexts 1k,4k,16k --batches 1,4,16\n"
        "  clbench model llama-3.2-1b --weights q8_0 --dtype f32 --layers 4\n"
        "  clbench model --gguf model-q4_k_m.gguf --ids 1,3,2",
    .options = options,
    .dtypes = "f32|f16|bf16",
    .min_words = 0,
    .max_words = 1,
    .run = run_model,
};
