/* SPDX-License-Identifier: Apache-2.0 */
/* What is tuned: the shapes of the command line as descriptors without
 * memory. Cases are read as the benchmarks of the ops read them. */
#include <stdio.h>
#include <string.h>

#include "tuning/tune.h"

/* A square each of the sizes at which tiles change, a layer of a language
 * model while it decodes (one and a few rows) and prefills. */
static const char *gemm_shapes[] = {"512",          "1024",
                                    "2048",         "1x4096x4096",
                                    "16x4096x4096", "64x4096x4096",
                                    NULL};
static const char *softmax_shapes[] = {"4096x4096", "16384x1024", "64x100000",
                                       NULL};

static xl_mat view(size_t rows, size_t cols, xl_dtype dtype, bool transposed)
{
    return transposed ? xl_mat_cols(NULL, rows, dtype)
                      : xl_mat_rows(NULL, cols, dtype);
}

static void class_of_gemm(const void *arg, struct tune_class *out)
{
    const struct gemm_case *c = arg;
    xl_gemm *g = &out->desc.gemm;
    snprintf(out->shape, sizeof out->shape, "%zux%zux%zu", c->m, c->n, c->k);
    out->dtype = c->in;
    out->trans = c->trans;
    out->accuracy = c->accuracy;
    out->batch = c->batch.count;
    *g = (xl_gemm){.m = c->m, .n = c->n, .k = c->k, .alpha = c->alpha,
                   .beta = c->beta, .variant = out->variant,
                   .accuracy = c->accuracy};
    if (c->batch.count)
        g->batch = (xl_batch){.count = c->batch.count, .a_step = c->m * c->k,
                              .b_step = c->k * c->n, .c_step = c->m * c->n};
    g->a = view(c->m, c->k, c->in, c->trans & 1);
    g->b = view(c->k, c->n, c->in, c->trans & 2);
    g->c = view(c->m, c->n, c->out, false);
}

static void class_of_softmax(const void *arg, struct tune_class *out)
{
    const struct softmax_case *c = arg;
    const xl_mat rows = view(c->rows, c->cols, c->dtype, false);
    snprintf(out->shape, sizeof out->shape, "%zux%zu", c->rows, c->cols);
    out->dtype = c->dtype;
    out->desc.softmax =
        (xl_softmax){.rows = c->rows, .cols = c->cols, .src = rows,
                     .dst = rows, .variant = out->variant};
}

static const struct op {
    const struct bench_op *bench;
    const char **shapes; /* by default */
    void (*class_of)(const void *c, struct tune_class *out);
} ops[] = {
    {&bench_gemm, gemm_shapes, class_of_gemm},
    {&bench_softmax, softmax_shapes, class_of_softmax},
};
enum { N_OPS = sizeof ops / sizeof ops[0] };

static const struct op *find_op(const char *name)
{
    struct xl__str names = {0};
    for (unsigned i = 0; i < N_OPS; i++)
        if (strcmp(ops[i].bench->name, name) == 0)
            return &ops[i];
    for (unsigned i = 0; i < N_OPS; i++)
        xl__str_printf(&names, "%s%s", i ? ", " : "", ops[i].bench->name);
    fprintf(stderr, "clbench: no op that can be tuned is called '%s'; there "
                    "are: %s; give 'clbench tune OP [SHAPE...]'\n",
            name, xl__str_text(&names));
    xl__str_clear(&names);
    return NULL;
}

static void add(const struct op *op, const char *variant, const void *c,
                struct tune_class *out)
{
    *out = (struct tune_class){.op = op->bench, .c = c, .trans = -1,
                               .variant = variant};
    op->class_of(c, out);
}

/* The words behind the op's name, or the default ones. */
static int read_cases(struct session *s, const struct op *op,
                      struct bench_cases *out)
{
    const struct settings kept = s->set;
    s->set.words++;
    s->set.n_words--;
    if (s->set.n_words == 0 && s->set.shape_files.n == 0) {
        s->set.words = op->shapes;
        while (op->shapes[s->set.n_words])
            s->set.n_words++;
    }
    int code = bench_cases_read(s, op->bench, out);
    s->set = kept;
    return code;
}

int tune_classes_read(struct session *s, struct tune_classes *out)
{
    const struct op *op = find_op(s->set.words[0]);
    out->n = 0;
    if (!op)
        return EXIT_USAGE;
    int code = read_cases(s, op, &out->cases);
    if (code != EXIT_FINE)
        return code;
    if (out->cases.n > TUNE_MAX_CLASSES) {
        fprintf(stderr, "clbench: %zu shapes are too many for one search; "
                        "give at most %d\n",
                out->cases.n, TUNE_MAX_CLASSES);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < out->cases.n; i++)
        add(op, s->set.variant, out->cases.list[i], &out->list[out->n++]);
    return EXIT_FINE;
}

void tune_classes_clear(struct tune_classes *classes)
{
    bench_cases_clear(&classes->cases);
    classes->n = 0;
}

void tune_class_text(const struct tune_class *c, bool is_typed, char *out,
                     size_t cap)
{
    struct xl__str text = {0};
    const char *trans = option_choice(option_find("trans"), c->trans);
    const char *accuracy =
        option_choice(option_find("accuracy"), (int)c->accuracy);
    xl__str_add(&text, c->shape);
    if (is_typed)
        xl__str_printf(&text, " %s", xl_dtype_name(c->dtype));
    if (c->trans > 0)
        xl__str_printf(&text, " %s", trans);
    if (c->accuracy != XL_ACCURACY_FULL)
        xl__str_printf(&text, " %s", accuracy);
    if (c->batch)
        xl__str_printf(&text, " batch=%zu", c->batch);
    xl__strcpy(out, cap, xl__str_text(&text));
    xl__str_clear(&text);
}
