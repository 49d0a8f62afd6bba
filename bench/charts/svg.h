/* SPDX-License-Identifier: Apache-2.0 */
/* The few elements of SVG 1.1 that a chart needs. Lengths are in pixels, y
 * grows downwards; text is escaped. A picture has no background inside a page
 * and takes the page's colour of text; a file of its own brings both, light
 * and dark. It needs no ids, so that several stand in one page. */
#ifndef CLBENCH_SVG_H
#define CLBENCH_SVG_H

#include "base/str.h"

/* Colours as "#rrggbb". */
enum { SVG_COLOUR_CAP = 8 };
/* From dark blue over green to yellow: 0 to 1, alike in brightness steps. */
void svg_ramp(double at, char out[SVG_COLOUR_CAP]);
/* The colour of the group a thing stands in; outside of all, the text's. */
extern const char svg_ink[];

enum { SVG_WIDTH = 720, SVG_SERIES = 8, SVG_SHAPES = 8, SVG_DASHES = 4 };
/* Of text: headings, usual, small. */
extern const double svg_large, svg_medium, svg_small;

/* `about` is for those who do not see it. */
void svg_begin(struct xl__str *out, double width, double height,
               const char *title, const char *about);
void svg_end(struct xl__str *out);

/* What follows has the colour of a series, round and round, ... */
void svg_series(struct xl__str *out, unsigned series);
/* ... or is less than the rest: lines of a grid, text beside the point. */
void svg_grid(struct xl__str *out);
void svg_aside(struct xl__str *out);
void svg_group_end(struct xl__str *out);

/* `anchor`: "start", "middle" or "end". */
void svg_text(struct xl__str *out, double x, double y, double size,
              const char *anchor, const char *colour, const char *text);
/* The same in bold, and turned by degrees around its own start. */
void svg_heading(struct xl__str *out, double x, double y, const char *text);
void svg_text_turned(struct xl__str *out, double x, double y, double size,
                     double degrees, const char *text);
/* Text in lines of at most `letters`; the y behind the last one. */
double svg_paragraph(struct xl__str *out, double x, double y, double size,
                     unsigned letters, const char *text);
/* At most about as wide as this, whatever the typeface. */
double svg_text_width(const char *text, double size);

/* `tip` is shown when the pointer rests on it; NULL: none. */
void svg_rect(struct xl__str *out, double x, double y, double width,
              double height, const char *colour, const char *tip);
/* The same as an outline. */
void svg_outline(struct xl__str *out, double x, double y, double width,
                 double height, const char *tip);
void svg_line(struct xl__str *out, double x1, double y1, double x2, double y2,
              unsigned dash);
/* One of so many shapes, told apart without colour; hollow: its outline. */
void svg_mark(struct xl__str *out, unsigned shape, double x, double y,
              bool is_hollow, const char *tip);
/* A line through points: begin, then each, then end. */
void svg_path_begin(struct xl__str *out);
void svg_path_point(struct xl__str *out, double x, double y);
void svg_path_end(struct xl__str *out, unsigned dash);
/* Very many boxes of one colour and height, by their left ends and middles. */
void svg_strokes_begin(struct xl__str *out, const char *colour, double height);
void svg_stroke(struct xl__str *out, double x, double y, double width);
void svg_strokes_end(struct xl__str *out);

#endif
