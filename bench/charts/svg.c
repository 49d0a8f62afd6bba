/* SPDX-License-Identifier: Apache-2.0 */
/* Writes SVG elements. Colours are set by groups: a group has a class, its
 * class a colour, and its elements are drawn in "currentColor". So a page can
 * change all colours, and a viewer without style sheets shows black on white.
 */
#include "charts/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/console.h"

const char svg_ink[] = "currentColor";
const double svg_large = 16, svg_small = 12;

/* Colours that remain distinct with colour blindness, a dark set for light
 * backgrounds and a light set for dark ones; the contrast of each with its
 * background is at least 3:1. */
static const char style[] =
    "<style>"
    "svg.xlfig{max-width:100%;height:auto;"
    "font-family:system-ui,\"Segoe UI\",\"DejaVu Sans\",sans-serif}"
    "svg.xlfig:root{color:#1d2530;background:#fff}"
    ".xlfig .grid{opacity:.16}.xlfig .aside{opacity:.72}"
    ".xlfig .s0{color:#0069b4}.xlfig .s1{color:#cf5200}"
    ".xlfig .s2{color:#00805a}.xlfig .s3{color:#b5408f}"
    ".xlfig .s4{color:#8a6a00}.xlfig .s5{color:#1687b8}"
    ".xlfig .s6{color:#a11d2b}.xlfig .s7{color:#687180}"
    "@media screen and (prefers-color-scheme:dark){"
    "svg.xlfig:root{color:#e4e8ee;background:#14181e}"
    ".xlfig .grid{opacity:.22}"
    ".xlfig .s0{color:#5fb0f5}.xlfig .s1{color:#ff9248}"
    ".xlfig .s2{color:#35c996}.xlfig .s3{color:#ee8dcb}"
    ".xlfig .s4{color:#e8c14a}.xlfig .s5{color:#8fdcff}"
    ".xlfig .s6{color:#ff8078}.xlfig .s7{color:#a5aebb}}"
    "</style>\n";

/* Stops of the ramp, evenly spaced (the viridis colours). */
static const unsigned char stops[][3] = {
    {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
enum { N_STOPS = sizeof stops / sizeof *stops };

void svg_ramp(double at, char out[SVG_COLOUR_CAP])
{
    const double position = fmin(fmax(at, 0), 1) * (N_STOPS - 1);
    const unsigned i = (unsigned)fmin(position, N_STOPS - 2);
    unsigned char mixed[3];
    for (unsigned c = 0; c < 3; c++)
        mixed[c] = (unsigned char)lround(
            stops[i][c] + (position - i) * (stops[i + 1][c] - stops[i][c]));
    snprintf(out, SVG_COLOUR_CAP, "#%02x%02x%02x", mixed[0], mixed[1],
             mixed[2]);
}

/* -- text ----------------------------------------------------------------- */

/* U+FFFE and U+FFFF, which XML does not allow, in UTF-8. */
static bool is_not_xml(const char *text)
{
    return strncmp(text, "\xEF\xBF\xBE", 3) == 0 ||
           strncmp(text, "\xEF\xBF\xBF", 3) == 0;
}

/* Text for XML: control characters and bytes that are not UTF-8 as escapes. */
static void add_escaped(struct xl__str *out, const char *text)
{
    static const char *const names[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    struct xl__str clean = {0};
    text_escape(&clean, text);
    for (const char *at = xl__str_text(&clean); *at; at++) {
        const unsigned char c = (unsigned char)*at;
        if (c < sizeof names / sizeof *names && names[c])
            xl__str_add(out, names[c]);
        else if (is_not_xml(at))
            at += 2;
        else
            xl__str_add_n(out, at, 1);
    }
    out->broken = out->broken || clean.broken;
    xl__str_clear(&clean);
}

double svg_text_width(const char *text, double size)
{
    static const double per_letter = 0.62;
    return per_letter * size * (double)text_columns(text);
}

void svg_text(struct xl__str *out, double x, double y, double size,
              const char *anchor, const char *colour, const char *text)
{
    xl__str_printf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.4g\"", x, y,
                   size);
    if (strcmp(anchor, "start") != 0)
        xl__str_printf(out, " text-anchor=\"%s\"", anchor);
    if (colour != svg_ink)
        xl__str_printf(out, " fill=\"%s\"", colour);
    xl__str_add(out, ">");
    add_escaped(out, text);
    xl__str_add(out, "</text>\n");
}

void svg_text_rotated(struct xl__str *out, double x, double y, double size,
                      double degrees, const char *text)
{
    xl__str_printf(out,
                   "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.4g\" "
                   "transform=\"rotate(%.2f %.1f %.1f)\">",
                   x, y, size, degrees, x, y);
    add_escaped(out, text);
    xl__str_add(out, "</text>\n");
}

/* The length of the first line: up to the last blank that fits, if any. */
static size_t find_line_end(const char *text, unsigned letters)
{
    size_t len = strlen(text);
    if (len <= letters)
        return len;
    for (len = letters; len > 0 && text[len] != ' ';)
        len--;
    return len > 0 ? len : letters;
}

double svg_paragraph(struct xl__str *out, double x, double y, double size,
                     unsigned letters, const char *text)
{
    static const double line_height = 1.35;
    while (*text) {
        struct xl__str line = {0};
        const size_t len = find_line_end(text, letters);
        xl__str_add_n(&line, text, len);
        svg_text(out, x, y, size, "start", svg_ink, xl__str_text(&line));
        xl__str_clear(&line);
        text += len;
        text += *text == ' ';
        y += line_height * size;
    }
    return y;
}

double svg_heading(struct xl__str *out, double x, double y, const char *text)
{
    const unsigned letters = (unsigned)(SVG_LETTERS * svg_small / svg_large);
    xl__str_add(out, "<g font-weight=\"600\">\n");
    y = svg_paragraph(out, x, y, svg_large, letters, text);
    svg_group_end(out);
    return y;
}

/* -- the element, and groups ---------------------------------------------- */

void svg_begin(struct xl__str *out, double width, double height,
               const char *title, const char *about)
{
    xl__str_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"xlfig\" "
                   "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
                   "font-family=\"sans-serif\" fill=\"currentColor\" "
                   "role=\"img\" aria-label=\"",
                   width, height, width, height);
    add_escaped(out, title);
    xl__str_add(out, "\">\n<title>");
    add_escaped(out, title);
    xl__str_add(out, "</title>\n<desc>");
    add_escaped(out, about);
    xl__str_add(out, "</desc>\n");
    xl__str_add(out, style);
}

void svg_end(struct xl__str *out)
{
    xl__str_add(out, "</svg>\n");
}

void svg_series(struct xl__str *out, unsigned series)
{
    xl__str_printf(out, "<g class=\"s%u\">\n", series % SVG_SERIES);
}

void svg_grid(struct xl__str *out)
{
    xl__str_add(out, "<g class=\"grid\">\n");
}

void svg_aside(struct xl__str *out)
{
    xl__str_add(out, "<g class=\"aside\">\n");
}

void svg_group_end(struct xl__str *out)
{
    xl__str_add(out, "</g>\n");
}

/* -- shapes --------------------------------------------------------------- */

/* The end of an element, with its tooltip if there is one. */
static void add_tip(struct xl__str *out, const char *tip, const char *element)
{
    if (!tip) {
        xl__str_add(out, "/>\n");
        return;
    }
    xl__str_add(out, "><title>");
    add_escaped(out, tip);
    xl__str_printf(out, "</title></%s>\n", element);
}

void svg_rect(struct xl__str *out, double x, double y, double width,
              double height, const char *colour, const char *tip)
{
    xl__str_printf(out,
                   "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                   "height=\"%.2f\"",
                   x, y, width, height);
    if (colour != svg_ink)
        xl__str_printf(out, " fill=\"%s\"", colour);
    add_tip(out, tip, "rect");
}

void svg_outline(struct xl__str *out, double x, double y, double width,
                 double height, const char *tip)
{
    xl__str_printf(out,
                   "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                   "height=\"%.2f\" fill=\"none\" stroke=\"currentColor\" "
                   "stroke-width=\"1.6\" pointer-events=\"all\"",
                   x, y, width, height);
    add_tip(out, tip, "rect");
}

static void add_dash(struct xl__str *out, unsigned dash)
{
    static const char *const patterns[SVG_DASHES] = {NULL, "6 4", "2 3",
                                                     "9 3 2 3"};
    const char *pattern = patterns[dash % SVG_DASHES];
    if (pattern)
        xl__str_printf(out, " stroke-dasharray=\"%s\"", pattern);
}

void svg_line(struct xl__str *out, double x1, double y1, double x2, double y2,
              unsigned dash)
{
    xl__str_printf(out,
                   "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                   "stroke=\"currentColor\"",
                   x1, y1, x2, y2);
    add_dash(out, dash);
    xl__str_add(out, "/>\n");
}

void svg_mark(struct xl__str *out, unsigned shape, double x, double y,
              bool is_hollow, const char *tip)
{
    /* Relative to the middle, of about equal area. */
    static const char *const shapes[SVG_SHAPES] = {
        "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
        "m-4-4h8v8h-8z",
        "m0-5.2 4.9 8.6h-9.8z",
        "m0-5.7 5.7 5.7-5.7 5.7-5.7-5.7z",
        "m0 5.2 4.9-8.6h-9.8z",
        "m-1.8-5.2h3.6v3.4h3.4v3.6h-3.4v3.4h-3.6v-3.4h-3.4v-3.6h3.4z",
        "m0-5.8 1.6 4.2 4.2 1.6-4.2 1.6-1.6 4.2-1.6-4.2-4.2-1.6 4.2-1.6z",
        "m-5.6-2.6h11.2v5.2h-11.2z"};
    xl__str_printf(out, "<path d=\"M%.1f %.1f%s\"", x, y,
                   shapes[shape % SVG_SHAPES]);
    if (is_hollow)
        xl__str_add(out, " fill=\"none\" stroke=\"currentColor\" "
                         "stroke-width=\"1.6\" pointer-events=\"all\"");
    add_tip(out, tip, "path");
}

void svg_path_begin(struct xl__str *out)
{
    xl__str_add(out, "<polyline points=\"");
}

void svg_path_point(struct xl__str *out, double x, double y)
{
    xl__str_printf(out, "%.1f,%.1f ", x, y);
}

void svg_path_end(struct xl__str *out, unsigned dash)
{
    xl__str_add(out, "\" fill=\"none\" stroke=\"currentColor\" "
                     "stroke-width=\"2\" stroke-linejoin=\"round\"");
    add_dash(out, dash);
    xl__str_add(out, "/>\n");
}

void svg_strokes_begin(struct xl__str *out, const char *colour, double height)
{
    xl__str_printf(out, "<path stroke=\"%s\" stroke-width=\"%.2f\" d=\"",
                   colour, height);
}

void svg_stroke(struct xl__str *out, double x, double y, double width)
{
    xl__str_printf(out, "M%.1f %.1fh%.1f", x, y, width);
}

void svg_strokes_end(struct xl__str *out)
{
    xl__str_add(out, "\"/>\n");
}
