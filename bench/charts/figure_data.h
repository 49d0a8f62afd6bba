/* SPDX-License-Identifier: Apache-2.0 */
/* What figures read from a document: the rows of one device, their labels,
 * curves of rows, facts; and the frame of a figure. NaN is "unknown"
 * throughout. */
#ifndef CLBENCH_FIGURE_DATA_H
#define CLBENCH_FIGURE_DATA_H

#include "charts/figure.h"
#include "charts/plot.h"

/* The next timed row of `op` (NULL: of any) on `device`, from *at on, which is
 * advanced; NULL: no more. */
const struct result_row *figure_row(const struct result_file *file,
                                    const json_t *device, const char *op,
                                    size_t *at);
/* The device's entry in a list of the document, such as "split". An entry that
 * does not name a device is that of the only device. */
const json_t *figure_entry(const struct result_file *file,
                           const json_t *device, const char *list);
const char *figure_op(const struct result_row *row);
/* Is its verdict ok? Marks of other rows are hollow. */
bool figure_is_firm(const struct result_row *row);
double figure_value(const struct result_row *row);
/* The case of a row, "4096 f16", and the text of its mark's tooltip. */
void figure_case(const struct result_row *row, char *out, size_t cap);
void figure_tip(const struct result_row *row, char *out, size_t cap);
/* The 95 % interval of the median of its samples, as factors of a rate: low
 * and high. NaN: too few samples. */
void figure_interval(const struct result_row *row, double *low, double *high);
/* A curve of rows: y(row) of each timed row of op and variant over the number
 * `name` of its member ("shape" or "params") times `factor`, by x. */
struct figure_curve {
    const char *op, *variant;
    const char *member, *name;
    double factor;
    double (*y)(const struct result_row *row);
};
void figure_collect(const struct result_file *file, const json_t *device,
                    const struct figure_curve *curve, struct plot *p,
                    struct plot_series *s);
/* The first timed row of that op and variant; NULL: none. */
const struct result_row *figure_find(const struct result_file *file,
                                     const json_t *device, const char *op,
                                     const char *variant);
/* The value of a row without times, which a probe derived from others. */
double figure_found(const struct result_file *file, const json_t *device,
                    const char *op, const char *variant);
/* The number of a fact. */
double figure_fact(const json_t *device, const char *name);
bool figure_is_measured(const json_t *device, const char *name);
/* Append a whole figure around its body, and clear the body. The body is drawn
 * first, since only then the height is known. */
void figure_write(struct xl__str *out, const struct figure *figure,
                  struct xl__str *body, double height);
/* The result of the figure in one line, and the device's name below; returns
 * the y of the next line. */
double figure_headline(struct xl__str *out, const json_t *device,
                       const char *headline);

/* Draw a plot below y, from its left to the right edge: legend, axes, which
 * are widened, lines and marks. Returns the y below it. */
double figure_plot(struct xl__str *out, struct plot *p, double y,
                   const struct plot_series *s, unsigned n);

#endif
