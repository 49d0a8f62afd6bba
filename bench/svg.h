/* SPDX-License-Identifier: Apache-2.0 */
/* The few elements of SVG 1.1 that a chart needs. Lengths are in pixels, y
 * grows downwards; text is escaped. */
#ifndef CLBENCH_SVG_H
#define CLBENCH_SVG_H

#include "base/str.h"

/* Colours as "#rrggbb". */
enum { SVG_COLOUR_CAP = 8 };
/* From dark blue over green to yellow: 0 to 1, alike in brightness steps. */
void svg_ramp(double at, char out[SVG_COLOUR_CAP]);

void svg_begin(struct xl__str *out, double width, double height,
               const char *title);
void svg_end(struct xl__str *out);
/* `anchor`: "start", "middle" or "end". */
void svg_text(struct xl__str *out, double x, double y, double size,
              const char *anchor, const char *colour, const char *text);
/* Text in lines of at most `letters`; the y behind the last one. */
double svg_paragraph(struct xl__str *out, double x, double y, double size,
                     unsigned letters, const char *text);
/* `tip` is shown when the pointer rests on it; NULL: none. */
void svg_rect(struct xl__str *out, double x, double y, double width,
              double height, const char *colour, const char *tip);
void svg_line(struct xl__str *out, double x1, double y1, double x2, double y2,
              const char *colour);
/* A line through points: begin, then each, then end. */
void svg_path_begin(struct xl__str *out);
void svg_path_point(struct xl__str *out, double x, double y);
void svg_path_end(struct xl__str *out, const char *colour);

#endif
