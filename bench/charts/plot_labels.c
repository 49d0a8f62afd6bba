/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that keep clear: whatever is drawn may be noted as boxes, and a label
 * takes the first of a few places around its point that no box reaches
 * into. */
#include "charts/plot.h"

#include <math.h>

static struct plot_box around(double x, double y, double width, double height)
{
    return (struct plot_box){x - width / 2, y - height / 2, x + width / 2,
                             y + height / 2};
}

static void take(struct plot_labels *taken, struct plot_box box)
{
    if (taken->n < PLOT_MOST_BOXES)
        taken->box[taken->n++] = box;
}

void plot_take(struct plot_labels *taken, double x, double y, double width,
               double height)
{
    take(taken, around(x, y, width, height));
}

void plot_take_marks(struct plot_labels *taken, const struct plot *p,
                     const struct plot_series *s)
{
    static const double side = 12;
    for (size_t i = 0; i < s->n; i++)
        plot_take(taken, plot_x(p, s->at[i].x), plot_y(p, s->at[i].y), side,
                  side);
}

/* Where there is no room to note what is taken, nothing more is free. */
static bool is_free(const struct plot *p, const struct plot_labels *taken,
                    const struct plot_box *b)
{
    if (b->left < p->left || b->right > p->left + p->width ||
        b->top < p->top || b->bottom > p->top + p->height ||
        taken->n == PLOT_MOST_BOXES)
        return false;
    for (unsigned i = 0; i < taken->n; i++) {
        const struct plot_box *o = &taken->box[i];
        if (b->left < o->right && o->left < b->right && b->top < o->bottom &&
            o->top < b->bottom)
            return false;
    }
    return true;
}

/* The i-th of the boxes along a line; false: it has no more. */
static bool box_of(double x1, double y1, double x2, double y2, double wide,
                   unsigned i, struct plot_box *out)
{
    const double length = hypot(x2 - x1, y2 - y1);
    const double n = fmax(ceil(length / wide), 1);
    const double at = i / n;
    *out = around(x1 + (x2 - x1) * at, y1 + (y2 - y1) * at, wide, wide);
    return i <= n;
}

void plot_take_line(struct plot_labels *taken, double x1, double y1, double x2,
                    double y2, double wide)
{
    struct plot_box box;
    for (unsigned i = 0; box_of(x1, y1, x2, y2, wide, i, &box); i++)
        take(taken, box);
}

bool plot_is_clear(const struct plot *p, const struct plot_labels *taken,
                   double x1, double y1, double x2, double y2, double wide)
{
    struct plot_box box;
    for (unsigned i = 0; box_of(x1, y1, x2, y2, wide, i, &box); i++)
        if (!is_free(p, taken, &box))
            return false;
    return true;
}

bool plot_label(struct xl__str *out, const struct plot *p,
                struct plot_labels *taken, double x, double y,
                const char *text)
{
    /* From the point: to the text's left end in its widths and pixels, and to
     * its base line. */
    static const struct {
        double widths, dx, dy;
    } places[] = {{0, 9, 4},    {-0.5, 0, -10}, {-1, -9, 4},  {-0.5, 0, 20},
                  {0, 7, -8},   {-1, -7, -8},   {0, 7, 17},   {-1, -7, 17},
                  {-0.5, 0, -24},
                  {-0.5, 0, 34}, {-0.5, 0, -38}, {0, 7, -24},
                  {-1, -7, -24}, {0, 7, -40}, {-1, -7, -40}};
    static const double ascent = 10, descent = 3;
    const double width = svg_text_width(text, svg_small);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const double left = x + places[i].widths * width + places[i].dx;
        const double base = y + places[i].dy;
        const struct plot_box box = {left, base - ascent, left + width,
                                     base + descent};
        if (!is_free(p, taken, &box))
            continue;
        svg_text(out, left, base, svg_small, "start", svg_ink, text);
        take(taken, box);
        return true;
    }
    return false;
}
