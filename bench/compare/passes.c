/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of a run show beyond single rows: by how much whole passes
 * differ, and what the rows of an op have in common. */
#include "compare/passes.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "base/stats.h"

/* The passes of one side, over the rows with the most of them. */
struct passes {
    const struct comparison *c;
    int side;
    size_t most;   /* of a row */
    size_t n_rows; /* with so many */
};

static struct passes find_passes(const struct comparison *c, int side)
{
    struct passes p = {.c = c, .side = side};
    for (size_t i = 0; i < c->n; i++) {
        const size_t n = call_has_interval(c->pairs[i].ratio.call)
                             ? pair_n_values(c, &c->pairs[i], side)
                             : 0;
        p.n_rows = n > p.most ? 0 : p.n_rows;
        p.most = xl__max_size(p.most, n);
        p.n_rows += n > 0 && n == p.most;
    }
    return p;
}

/* What pass k of a row differs by from the mean of its passes; false: it is
 * not one of the rows. */
static bool pass_deviation(const struct passes *of, size_t i, size_t k,
                           double *out)
{
    const struct pair *p = &of->c->pairs[i];
    double mean = 0;
    if (of->most < 2 || !call_has_interval(p->ratio.call) ||
        pair_n_values(of->c, p, of->side) != of->most)
        return false;
    for (size_t j = 0; j < of->most; j++)
        mean += pair_value(of->c, p, of->side, j) / (double)of->most;
    *out = pair_value(of->c, p, of->side, k) - mean;
    return true;
}

/* -- the speed of each pass ----------------------------------------------- */

/* What the rows have in common in each pass, its mean over the passes taken
 * out; `list` has room for a value a row. */
static void find_speeds(const struct passes *of, double *list, double *speed)
{
    double mean = 0;
    for (size_t k = 0; k < of->most; k++) {
        size_t n = 0;
        for (size_t i = 0; i < of->c->n; i++)
            n += pass_deviation(of, i, k, &list[n]);
        speed[k] = xl__median(list, n);
        mean += speed[k] / (double)of->most;
    }
    for (size_t k = 0; k < of->most; k++)
        speed[k] -= mean;
}

/* Few rows would lose noise of their own. */
static bool align_side(struct comparison *c, int side)
{
    enum { FEWEST = 16 };
    const struct passes of = find_passes(c, side);
    double *list = xl__calloc(c->n + 1, sizeof *list);
    double *speed = xl__calloc(of.most + 1, sizeof *speed);
    const bool fine = list && speed;
    if (fine && of.most > 1) {
        find_speeds(&of, list, speed);
        for (size_t k = 0; k < of.most; k++)
            c->drift += speed[k] * speed[k];
        c->drift_df += (unsigned)of.most - 1;
    }
    for (size_t i = 0; fine && !c->is_paired && of.n_rows >= FEWEST &&
                       i < c->n; i++)
        for (size_t k = 0; c->pairs[i].n_values[side] == of.most &&
                           k < of.most; k++)
            c->pairs[i].log_time[side][k] -= speed[k];
    free(list);
    free(speed);
    return fine;
}

bool compare_align_passes(struct comparison *c)
{
    bool fine = align_side(c, 0) && align_side(c, 1);
    for (size_t i = 0; i < c->n && fine; i++)
        if (c->pairs[i].shift.runs > 0)
            fine = pair_set_shift(c, &c->pairs[i]);
    return fine;
}

/* -- what rows have in common --------------------------------------------- */

/* Adds the products of all two rows of an op in a pass, and as many squares:
 * their quotient is the correlation of the rows of an op. */
static void add_products(const struct passes *of, double *products,
                         double *squares)
{
    for (unsigned op = 0; op < of->c->n_ops; op++)
        for (size_t k = 0; k < of->most; k++) {
            double sum = 0, square = 0, n = 0, x = 0;
            for (size_t i = 0; i < of->c->n_compared; i++)
                if (of->c->pairs[i].shift.op == op &&
                    pass_deviation(of, i, k, &x)) {
                    sum += x;
                    square += x * x;
                    n++;
                }
            *products += sum * sum - square;
            *squares += n > 1 ? (n - 1) * square : 0;
        }
}

void compare_noise_input(const struct comparison *c,
                         const struct compare_options *how,
                         struct noise_input *in)
{
    const bool is_given = !isnan(how->assumed);
    const double percent = is_given ? how->assumed : COMPARE_NOISE;
    double runs = 0, products = 0, squares = 0;
    *in = (struct noise_input){.is_alike = c->is_alike && !c->is_paired,
                               .is_given = is_given,
                               .margin = log1p(how->margin / 100),
                               .drift = (double)NAN,
                               .drift_df = c->drift_df};
    in->assumed = log1p(percent / 100) * log1p(percent / 100);
    for (int side = 0; side < 2; side++) {
        const struct passes of = find_passes(c, side);
        add_products(&of, &products, &squares);
    }
    in->common = squares > 0 ? products / squares : (double)NAN;
    /* The rows that most passes were taken of have the smallest `runs`. */
    for (size_t i = 0; i < c->n_compared; i++)
        if (runs <= 0 || c->pairs[i].shift.runs < runs)
            runs = c->pairs[i].shift.runs;
    if (in->drift_df > 0)
        in->drift = c->drift / in->drift_df * runs;
}
