/* SPDX-License-Identifier: Apache-2.0 */
/* What pictures read out of a document: the rows of one device, their names,
 * and what a mark says of its row. */
#ifndef CLBENCH_FIGURE_DATA_H
#define CLBENCH_FIGURE_DATA_H

#include "charts/figure.h"
#include "charts/plot.h"

/* The next row of `op` (NULL: of any) on `device`, from *at on; NULL: no
 * more. */
const struct result_row *figure_row(const struct result_file *file,
                                    const json_t *device, const char *op,
                                    size_t *at);
/* The entry of a list of the document, "split", that is the device's; one
 * that does not say is that of the only device. */
const json_t *figure_entry(const struct result_file *file,
                           const json_t *device, const char *list);
const char *figure_op(const struct result_row *row);
/* Can it be quoted without a doubt? */
bool figure_is_firm(const struct result_row *row);
/* Its value; its case, "4096 f16"; all that a mark tells. */
double figure_value(const struct result_row *row);
void figure_case(const struct result_row *row, char *out, size_t cap);
void figure_tip(const struct result_row *row, char *out, size_t cap);
/* Interval of the median of its samples as shares of the median: a rate's
 * low and high. NaN: too few samples. */
void figure_interval(const struct result_row *row, double *low, double *high);
/* A curve out of rows: `y` of each timed row of op and variant over a number of
 * its member, "shape" or "params", times a factor; by x. */
struct figure_curve {
    const char *op, *variant;
    const char *member, *name;
    double factor;
    double (*y)(const struct result_row *row);
};
void figure_collect(const struct result_file *file, const json_t *device,
                    const struct figure_curve *curve, struct plot *p,
                    struct plot_series *s);
/* The first row of that op and variant; NULL: none. */
const struct result_row *figure_find(const struct result_file *file,
                                     const json_t *device, const char *op,
                                     const char *variant);
/* What a row without times tells, one that was concluded; NaN: nothing. */
double figure_found(const struct result_file *file, const json_t *device,
                    const char *op, const char *variant);
/* The number of a fact; NaN: unknown. */
double figure_fact(const json_t *device, const char *name);
bool figure_is_measured(const json_t *device, const char *name);
/* One whole picture: its body, drawn before its height was known. */
void figure_write(struct xl__str *out, const struct figure *figure,
                  struct xl__str *body, double height);
/* What the picture tells, in one line, and the device's name below; the y of
 * the next line. */
double figure_headline(struct xl__str *out, const json_t *device,
                       const char *tells);

#endif
