/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the elements of SVG 1.1 that a chart needs. Lengths are in pixels, y
 * grows downwards; text is escaped. A picture has no background inside a page
 * and takes the page's colour of text; as a file it has both, light and dark.
 * It has no ids, so that one page can contain several. */
#ifndef CLBENCH_SVG_H
#define CLBENCH_SVG_H

#include "base/str.h"

/* Colours as "#rrggbb". */
enum { SVG_COLOUR_CAP = 8 };
/* The colour of a value 0 to 1, from dark blue over green to yellow, in equal
 * steps of brightness. */
void svg_ramp(double at, char out[SVG_COLOUR_CAP]);
/* The colour of the enclosing group; outside of groups, that of text. */
extern const char svg_ink[];

enum {
    SVG_WIDTH = 560,
    SVG_LETTERS = 80 /* of a line of small text */,
    SVG_SERIES = 8,
    SVG_SHAPES = 8,
    SVG_DASHES = 4
};
/* Sizes of text: headings, and all else. */
extern const double svg_large, svg_small;

/* The element, and its text alternative for screen readers: `about`. */
void svg_begin(struct xl__str *out, double width, double height,
               const char *title, const char *about);
void svg_end(struct xl__str *out);

/* Groups, each ended by svg_group_end(): in the colour of a series (modulo
 * SVG_SERIES), ... */
void svg_series(struct xl__str *out, unsigned series);
/* ... or fainter than the rest: lines of a grid, secondary text. */
void svg_grid(struct xl__str *out);
void svg_aside(struct xl__str *out);
void svg_group_end(struct xl__str *out);

/* `anchor`: "start", "middle" or "end". */
void svg_text(struct xl__str *out, double x, double y, double size,
              const char *anchor, const char *colour, const char *text);
/* In bold and in lines; the y below the last one. */
double svg_heading(struct xl__str *out, double x, double y, const char *text);
/* Rotated by degrees around its own start. */
void svg_text_rotated(struct xl__str *out, double x, double y, double size,
                      double degrees, const char *text);
/* Text in lines of at most `letters`; the y below the last one. */
double svg_paragraph(struct xl__str *out, double x, double y, double size,
                     unsigned letters, const char *text);
/* An upper bound of its width, whatever the typeface. */
double svg_text_width(const char *text, double size);

/* `tip` is shown when the pointer rests on it; NULL: none. */
void svg_rect(struct xl__str *out, double x, double y, double width,
              double height, const char *colour, const char *tip);
/* The same as an outline. */
void svg_outline(struct xl__str *out, double x, double y, double width,
                 double height, const char *tip);
void svg_line(struct xl__str *out, double x1, double y1, double x2, double y2,
              unsigned dash);
/* One of SVG_SHAPES shapes, distinct without colour; hollow: its outline. */
void svg_mark(struct xl__str *out, unsigned shape, double x, double y,
              bool is_hollow, const char *tip);
/* A line through points: begin, then each, then end. */
void svg_path_begin(struct xl__str *out);
void svg_path_point(struct xl__str *out, double x, double y);
void svg_path_end(struct xl__str *out, unsigned dash);
/* Very many boxes of one colour and height as one element, by their left ends
 * and middles. */
void svg_strokes_begin(struct xl__str *out, const char *colour, double height);
void svg_stroke(struct xl__str *out, double x, double y, double width);
void svg_strokes_end(struct xl__str *out);

#endif
