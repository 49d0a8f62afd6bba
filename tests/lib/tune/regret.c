/* SPDX-License-Identifier: Apache-2.0 */
/* How good choices are: random shapes of products, convolutions, softmax and
 * expressions, each run by the variant that the library chooses and by every
 * other one that it lists, in an alternating order. Prints, for each op, the
 * time of the best over that of the chosen one, and how far its estimate is
 * from its time. It judges nothing, since times depend on the machine:
 *
 *   regret [OPTION=VALUE...]
 *     device=0       number, or part of its name
 *     cases=60       of each op
 *     op=gemm        one of gemm, conv, softmax, expr; all when not given
 *     seed=1         of shapes
 *     ms=100         the longest run of the variant that is chosen
 *     each=1         seconds that a case is timed
 *     calls=1        that follow each other in a sample: 10 on a GPU, whose
 *                    estimates are of one launch of many
 *     audition=on    off: the model's choices
 *     clblast=no     yes: CLBlast on the same products, beside the choice
 *     only=GUESS     variants whose name begins so take part, no others
 *
 * Tuned sets, profiles and caches are those of the environment. */
#include <crosslane/crosslane.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/rng.h"
#include "base/stats.h"

enum {
    MOST = 16, /* variants */
    ROUNDS = 25,
    FEW_ROUNDS = 5,
    MOST_DRAWS = 1000,
    TEXT = 160
};
static const size_t buffer_bytes = 128 << 20;
static const double ns_per_s = 1e9, ns_per_ms = 1e6;
static const double hopeless = 6; /* times the best: is not timed further */
static const double within = 3;   /* a good estimate */

static struct settings {
    const char *device, *op, *audition, *clblast, *only;
    double cases, seed, ms, each, calls;
} set = {"0", "", "on", "no", "", 60, 1, 100, 1, 1};

/* -- a case ----------------------------------------------------------------*/

struct drawn {
    const struct op *op;
    char text[TEXT];
    union {
        xl_gemm gemm;
        xl_conv conv;
        xl_softmax softmax;
        struct {
            xl_expr *compiled;
            xl_expr_args args;
            xl_binding names[5];
        } expr;
    } u;
};

struct op {
    const char *name, *reference;
    /* False: the shape is too large. */
    bool (*draw)(struct drawn *c);
    xl_status (*run)(struct drawn *c, const char *variant);
    xl_status (*explain)(struct drawn *c, xl_choice *out, unsigned *n);
};

static struct xl__rng rng;
static xl_queue *q;
static cl_mem memory[4];

/* From lo to hi, each power of two as likely as the next. */
static size_t pick(double lo, double hi)
{
    return (size_t)floor(lo * pow((hi + 1) / lo, xl__rng_uniform(&rng)));
}

static size_t one_of(const size_t *values, size_t n)
{
    return values[xl__rng_below(&rng, n)];
}
#define ONE_OF(...)                                                           \
    one_of((const size_t[]){__VA_ARGS__},                                     \
           sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t))

static bool fits(double elems)
{
    return elems * sizeof(float) <= (double)buffer_bytes;
}

static xl_dtype pick_type(void)
{
    return xl__rng_below(&rng, 4) > 0 ? XL_F32 : XL_F16;
}

static bool draw_gemm(struct drawn *c)
{
    const bool is_thin = xl__rng_below(&rng, 4) == 0;
    const size_t m = is_thin ? pick(1, 16) : pick(8, 2048);
    const size_t n = pick(8, 4096), k = pick(8, 4096);
    const bool ta = xl__rng_below(&rng, 2), tb = xl__rng_below(&rng, 2);
    const xl_dtype t = pick_type();
    if (!fits((double)m * (double)k) || !fits((double)k * (double)n) ||
        !fits((double)m * (double)n))
        return false;
    c->u.gemm = (xl_gemm){XL_GEMM_INIT, .m = m, .n = n, .k = k, .alpha = 1};
    c->u.gemm.a =
        ta ? xl_mat_cols(memory[0], m, t) : xl_mat_rows(memory[0], k, t);
    c->u.gemm.b =
        tb ? xl_mat_cols(memory[1], k, t) : xl_mat_rows(memory[1], n, t);
    c->u.gemm.c = xl_mat_rows(memory[2], n, t);
    snprintf(c->text, TEXT, "%zux%zux%zu %s %c%c", m, n, k, xl_dtype_name(t),
             ta ? 't' : 'n', tb ? 't' : 'n');
    return true;
}

static xl_status run_gemm(struct drawn *c, const char *variant)
{
    c->u.gemm.variant = variant;
    return xl_gemm_run(q, &c->u.gemm, NULL);
}

static xl_status explain_gemm(struct drawn *c, xl_choice *out, unsigned *n)
{
    c->u.gemm.variant = NULL;
    return xl_gemm_explain(q, &c->u.gemm, out, MOST, n);
}

static bool draw_conv(struct drawn *c)
{
    const bool nhwc = xl__rng_below(&rng, 2);
    const size_t n = pick(1, 8), side = pick(7, 112),
                 r = ONE_OF(1, 1, 3, 3, 5);
    const size_t in = pick(3, 256), out = pick(8, 256), by = ONE_OF(1, 1, 2);
    const bool is_deep = xl__rng_below(&rng, 5) == 0; /* depthwise */
    const size_t k = is_deep ? in : out;
    const xl_dtype t = pick_type();
    const double elems = (double)(n * side) * (double)side;
    if (!fits(elems * (double)in) || !fits(elems * (double)k))
        return false;
    c->u.conv = (xl_conv){XL_CONV_INIT,
                          .n = n,
                          .c = in,
                          .h = side,
                          .w = side,
                          .k = k,
                          .r = r,
                          .s = r,
                          .groups = is_deep ? in : 1,
                          .stride_h = by,
                          .stride_w = by,
                          .pad_top = r / 2,
                          .pad_bottom = r / 2,
                          .pad_left = r / 2,
                          .pad_right = r / 2,
                          .alpha = 1};
    c->u.conv.in = (xl_images){.mem = {.buf = memory[0]},
                               .layout = nhwc ? XL_NHWC : XL_NCHW,
                               .dtype = t};
    c->u.conv.out = c->u.conv.in;
    c->u.conv.out.mem.buf = memory[2];
    c->u.conv.filters = (xl_filters){.mem = {.buf = memory[1]},
                                     .layout = nhwc ? XL_KRSC : XL_KCRS,
                                     .dtype = t};
    snprintf(c->text, TEXT, "%zux%zux%zux%zu:%zux%zux%zu /%zu%s %s %s", n,
             side, side, in, k, r, r, by, is_deep ? " depthwise" : "",
             xl_dtype_name(t), nhwc ? "nhwc" : "nchw");
    return true;
}

static xl_status run_conv(struct drawn *c, const char *variant)
{
    c->u.conv.variant = variant;
    return xl_conv_run(q, &c->u.conv, NULL);
}

static xl_status explain_conv(struct drawn *c, xl_choice *out, unsigned *n)
{
    c->u.conv.variant = NULL;
    return xl_conv_explain(q, &c->u.conv, out, MOST, n);
}

static bool draw_softmax(struct drawn *c)
{
    const size_t rows = pick(1, 65536), cols = pick(2, 1 << 20);
    const xl_dtype t = pick_type();
    if (!fits((double)rows * (double)cols))
        return false;
    c->u.softmax = (xl_softmax){XL_SOFTMAX_INIT, .rows = rows, .cols = cols,
                                .src = xl_mat_rows(memory[0], cols, t),
                                .dst = xl_mat_rows(memory[2], cols, t)};
    snprintf(c->text, TEXT, "%zux%zu %s", rows, cols, xl_dtype_name(t));
    return true;
}

static xl_status run_softmax(struct drawn *c, const char *variant)
{
    c->u.softmax.variant = variant;
    return xl_softmax_run(q, &c->u.softmax, NULL);
}

static xl_status explain_softmax(struct drawn *c, xl_choice *out, unsigned *n)
{
    c->u.softmax.variant = NULL;
    return xl_softmax_explain(q, &c->u.softmax, out, MOST, n);
}

/* y is rows x cols or, as `ends` says, one of these. */
static const struct expression {
    const char *text;
    enum { WHOLE, ROWS, COLS } ends;
} expressions[] = {
    {"y = a * x + z", WHOLE},
    {"y = gelu(x) * z", WHOLE},
    {"y = exp(x) + sqrt(abs(z))", WHOLE},
    {"y = sum(x * z, axis=-1)", ROWS},
    {"y = max(x, axis=-1) - mean(z, axis=-1)", ROWS},
    {"y = sum(x + z, axis=0)", COLS},
    {"y = softmax(x * a) * z", WHOLE},
    {"y = (x - mean(x, axis=0)) * z", WHOLE},
    {"h = x + z; y = (h - mean(h, axis=-1)) / (a + norm2(h, axis=-1))", WHOLE},
};

static bool draw_expr(struct drawn *c)
{
    const struct expression *e =
        &expressions[xl__rng_below(&rng, sizeof expressions / sizeof *e)];
    const size_t shape[2] = {pick(1, 8192), pick(2, 65536)};
    const size_t ends[2] = {e->ends == COLS ? 1 : shape[0],
                            e->ends == ROWS ? 1 : shape[1]};
    const char *names[] = {"x", "z", "y"};
    xl_expr_args *args = &c->u.expr.args;
    xl_binding *b = c->u.expr.names;
    if (!fits((double)shape[0] * (double)shape[1]))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        const bool is_end = i == 2 && e->ends != WHOLE;
        b[i] = (xl_binding){
            .name = names[i],
            .tensor = xl_tensor_dense(memory[i], XL_F32, is_end ? 1 : 2,
                                      !is_end           ? shape
                                      : e->ends == ROWS ? &ends[0]
                                                        : &ends[1])};
    }
    b[3] = (xl_binding){.name = "a", .is_scalar = true, .scalar = 0.5};
    *args = (xl_expr_args){XL_EXPR_ARGS_INIT, .bindings = b,
                           .n_bindings = strstr(e->text, "a ") ||
                                                 strstr(e->text, "a)") ||
                                                 strstr(e->text, "(a")
                                             ? 4
                                             : 3};
    snprintf(c->text, TEXT, "%zux%zu %s", shape[0], shape[1], e->text);
    if (xl_expr_compile(q, e->text, args, &c->u.expr.compiled) == XL_OK)
        return true;
    fprintf(stderr, "%s: %s\n", c->text, xl_error_detail(q));
    return false;
}

static xl_status run_expr(struct drawn *c, const char *variant)
{
    c->u.expr.args.variant = variant;
    return xl_expr_run(q, c->u.expr.compiled, &c->u.expr.args, NULL);
}

static xl_status explain_expr(struct drawn *c, xl_choice *out, unsigned *n)
{
    c->u.expr.args.variant = NULL;
    return xl_expr_explain(q, c->u.expr.compiled, &c->u.expr.args, out, MOST,
                           n);
}

static const struct op ops[] = {
    {"gemm", "gemm_ref", draw_gemm, run_gemm, explain_gemm},
    {"conv", "conv_ref", draw_conv, run_conv, explain_conv},
    {"softmax", "softmax_ref", draw_softmax, run_softmax, explain_softmax},
    {"expr", "expr_unfused", draw_expr, run_expr, explain_expr},
};

static void release(struct drawn *c)
{
    if (c->op->draw == draw_expr)
        xl_expr_destroy(c->u.expr.compiled);
}

/* -- times -----------------------------------------------------------------*/

struct entrant {
    const char *variant; /* NULL: the choice */
    char name[32];
    bool is_out;
    unsigned n;
    double sample[ROUNDS], ns;
};

static bool time_once(struct drawn *c, struct entrant *e, double *ns)
{
    const uint64_t start = xl__now_ns();
    bool is_good = true;
    for (double i = 0; i < set.calls && is_good; i++)
        is_good = c->op->run(c, e->variant) == XL_OK;
    is_good = is_good && xl_queue_finish(q) == XL_OK;
    *ns = (double)(xl__now_ns() - start) / set.calls;
    return is_good;
}

static double best_ns(const struct entrant *e, unsigned n)
{
    double least = INFINITY;
    for (unsigned i = 0; i < n; i++)
        least = e[i].is_out ? least : fmin(least, e[i].ns);
    return least;
}

static void take_samples(struct drawn *c, struct entrant *e, unsigned n)
{
    const uint64_t start = xl__now_ns();
    for (unsigned i = 0; i < n; i++)
        e[i].n = 0;
    for (unsigned round = 0;
         round < ROUNDS &&
         (round < FEW_ROUNDS ||
          (double)(xl__now_ns() - start) < set.each * ns_per_s);
         round++) {
        for (unsigned k = 0; k < n; k++) {
            struct entrant *at = &e[(k + round) % n];
            if (!at->is_out)
                at->is_out = !time_once(c, at, &at->sample[at->n++]);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        if (!e[i].is_out)
            e[i].ns = xl__median(e[i].sample, e[i].n);
    }
}

/* The first run builds; two more are timed, and who is hopeless is out. */
static void begin(struct drawn *c, struct entrant *e, unsigned n)
{
    double first, ns = INFINITY;
    for (unsigned i = 0; i < n; i++) {
        e[i].is_out = !time_once(c, &e[i], &first) ||
                      !time_once(c, &e[i], &e[i].ns) ||
                      !time_once(c, &e[i], &ns);
        e[i].ns = fmin(e[i].ns, ns);
    }
    for (unsigned i = 1; i < n; i++)
        e[i].is_out |= e[i].ns > hopeless * best_ns(e, n);
}

/* -- results ---------------------------------------------------------------*/

struct sums {
    unsigned n, n_good, n_below, n_clblast;
    double log_ratio, least, log_clblast;
    char worst[TEXT];
};

static bool takes_part(const struct drawn *c, const xl_choice *v)
{
    return isfinite(v->est_ns) && !v->chosen &&
           strncmp(v->variant, set.only, strlen(set.only)) == 0 &&
           c->op != NULL;
}

static void judge(struct drawn *c, const xl_choice *choices,
                  unsigned n_choices, struct sums *s)
{
    static const double good = 0.9;
    struct entrant *e = calloc(MOST + 2, sizeof *e);
    unsigned n = 0, best = 0, clblast = 0;
    double est_ns = NAN, ratio;
    if (!e)
        return;
    for (unsigned i = 0; i < n_choices; i++) {
        if (choices[i].chosen) {
            snprintf(e[0].name, sizeof e[0].name, "%.31s", choices[i].variant);
            est_ns = choices[i].est_ns;
            n = n > 0 ? n : 1;
        }
    }
    for (unsigned i = 0; i < n_choices && n > 0; i++) {
        if (takes_part(c, &choices[i])) {
            e[n].variant = choices[i].variant;
            snprintf(e[n++].name, sizeof e[0].name, "%.31s",
                     choices[i].variant);
        }
    }
    const unsigned n_own = n;
    if (strcmp(set.clblast, "yes") == 0 && strcmp(c->op->name, "gemm") == 0) {
        clblast = n;
        e[n].variant = "gemm_clblast";
        snprintf(e[n++].name, sizeof e[0].name, "%s", "gemm_clblast");
    }
    begin(c, e, n);
    if (e[0].is_out || e[0].ns > set.ms * ns_per_ms) {
        free(e);
        return;
    }
    take_samples(c, e, n);
    ratio = best_ns(e, n_own) / e[0].ns;
    const double once_ns = e[0].ns;
    if (ratio < good) { /* again, in case that it was noise */
        take_samples(c, e, n);
        ratio = fmax(ratio, best_ns(e, n_own) / e[0].ns);
    }
    for (unsigned i = 0; i < n_own; i++)
        best = !e[i].is_out && e[i].ns < e[best].ns ? i : best;
    const double off = est_ns / fmin(once_ns, e[0].ns);
    const bool is_good = off < within && off > 1 / within;
    bool is_below = false;
    for (unsigned i = 1; i < n_own; i++)
        is_below |= !e[i].is_out && strcmp(e[i].name, c->op->reference) == 0 &&
                    e[i].ns < good * e[0].ns && ratio < good;
    printf("%-8s%-46s %-15s %9.1f us  est %5.2f%s  best/chosen %4.2f",
           c->op->name, c->text, e[0].name, e[0].ns / 1e3, off,
           is_good ? " " : "!", ratio);
    if (ratio < good)
        printf(" %s%s", e[best].name, is_below ? ", the reference" : "");
    if (clblast > 0 && !e[clblast].is_out) {
        printf("  clblast/chosen %4.2f", e[clblast].ns / e[0].ns);
        s->log_clblast += log(e[clblast].ns / e[0].ns);
        s->n_clblast++;
    }
    printf("\n");
    fflush(stdout);
    if (s->n == 0 || ratio < s->least)
        snprintf(s->worst, TEXT, "%.140s", c->text);
    s->least = s->n == 0 ? ratio : fmin(s->least, ratio);
    s->log_ratio += log(ratio);
    s->n++;
    s->n_good += is_good;
    s->n_below += is_below;
    free(e);
}

static void measure(const struct op *op, struct sums *s)
{
    static xl_choice choices[MOST];
    for (unsigned i = 0; i < MOST_DRAWS && s->n < (unsigned)set.cases; i++) {
        struct drawn c = {.op = op};
        unsigned n = 0;
        if (!op->draw(&c))
            continue;
        const xl_status status = op->explain(&c, choices, &n);
        double est_ns = 0;
        n = n < MOST ? n : MOST;
        for (unsigned k = 0; k < n; k++)
            est_ns = choices[k].chosen ? choices[k].est_ns : est_ns;
        if (status != XL_OK)
            fprintf(stderr, "%s %s: %s\n", op->name, c.text,
                    xl_error_detail(q));
        else if (est_ns <= within * set.ms * ns_per_ms)
            judge(&c, choices, n, s);
        release(&c);
    }
}

static void print_sums(const char *name, const struct sums *s)
{
    if (s->n == 0)
        return;
    printf("%s: %u cases, best/chosen %.3f by geometric mean, at least %.2f "
           "(%s), %u slower than the reference, %u estimates of %u within "
           "%.0fx\n",
           name, s->n, exp(s->log_ratio / s->n), s->least, s->worst,
           s->n_below, s->n_good, s->n, within);
    if (s->n_clblast > 0)
        printf("%s: time of CLBlast over that of the choice %.2f by geometric "
               "mean of %u\n",
               name, exp(s->log_clblast / s->n_clblast), s->n_clblast);
}

/* -- set up ----------------------------------------------------------------*/

static bool read_option(const char *word)
{
    const struct {
        const char *name, **text;
        double *number;
    } all[] = {
        {"device=", &set.device, NULL},   {"cases=", NULL, &set.cases},
        {"op=", &set.op, NULL},           {"seed=", NULL, &set.seed},
        {"ms=", NULL, &set.ms},           {"each=", NULL, &set.each},
        {"calls=", NULL, &set.calls},     {"audition=", &set.audition, NULL},
        {"clblast=", &set.clblast, NULL}, {"only=", &set.only, NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t len = strlen(all[i].name);
        if (strncmp(word, all[i].name, len) != 0)
            continue;
        if (all[i].text)
            *all[i].text = word + len;
        else
            *all[i].number = atof(word + len);
        return true;
    }
    fprintf(stderr, "regret: unknown option '%s'\n", word);
    return false;
}

/* Words that are small normal numbers as f32 and, each half, as f16. */
static xl_status fill(cl_mem mem)
{
    enum { WORDS = 1 << 20 };
    static uint32_t word[WORDS];
    xl_status status = XL_OK;
    for (size_t i = 0; i < WORDS; i++)
        word[i] = (uint32_t)(xl__rng_next(&rng) & 0x83ff83ffu) | 0x38003800u;
    for (size_t at = 0; status == XL_OK && at < buffer_bytes;
         at += sizeof word)
        status = xl_buffer_write(q, mem, at, word, sizeof word);
    return status;
}

static xl_status open_device(xl_lib **lib)
{
    const bool off = strcmp(set.audition, "off") == 0;
    const xl_options options = {XL_OPTIONS_INIT,
                                .audition = off ? XL_AUDITION_OFF
                                                : XL_AUDITION_BOUNDED};
    xl_device *dev;
    xl_status status = xl_open(&options, lib);
    if (status == XL_OK)
        status = xl_device_find(*lib, set.device, &dev);
    if (status == XL_OK)
        status = xl_queue_create(*lib, dev, &q);
    for (unsigned i = 0; status == XL_OK && i < 4; i++) {
        status = xl_buffer_create(q, buffer_bytes, &memory[i]);
        if (status == XL_OK)
            status = fill(memory[i]);
    }
    return status;
}

int main(int argc, char **argv)
{
    xl_lib *lib = NULL;
    bool is_good = true;
    for (int i = 1; i < argc && is_good; i++)
        is_good = read_option(argv[i]);
    if (!is_good)
        return 2;
    xl__rng_seed(&rng, (uint64_t)set.seed);
    const xl_status status = open_device(&lib);
    if (status != XL_OK) {
        fprintf(stderr, "regret: %s: %s\n", xl_status_name(status),
                lib ? xl_lib_error(lib) : "");
        return 1;
    }
    struct sums sums[sizeof ops / sizeof *ops] = {{0}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        xl__rng_seed(&rng, (uint64_t)set.seed);
        if (*set.op == '\0' || strcmp(set.op, ops[i].name) == 0)
            measure(&ops[i], &sums[i]);
    }
    unsigned n = 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        print_sums(ops[i].name, &sums[i]);
        n += sums[i].n;
    }
    for (unsigned i = 0; i < 4; i++)
        clReleaseMemObject(memory[i]);
    xl_queue_destroy(q);
    xl_close(lib);
    return n > 0 ? 0 : 1;
}
