/* SPDX-License-Identifier: Apache-2.0 */
#include "svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Stops of the ramp, evenly spaced (the viridis colours). */
static const unsigned char stops[][3] = {
    {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
enum { N_STOPS = sizeof stops / sizeof *stops };

void svg_ramp(double at, char out[SVG_COLOUR_CAP])
{
    const double place = fmin(fmax(at, 0), 1) * (N_STOPS - 1);
    const unsigned i = (unsigned)fmin(place, N_STOPS - 2);
    unsigned char mixed[3];
    for (unsigned c = 0; c < 3; c++)
        mixed[c] = (unsigned char)lround(
            stops[i][c] + (place - i) * (stops[i + 1][c] - stops[i][c]));
    snprintf(out, SVG_COLOUR_CAP, "#%02x%02x%02x", mixed[0], mixed[1],
             mixed[2]);
}

static void add_escaped(struct xl__str *out, const char *text, size_t len)
{
    static const char *const names[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    for (size_t i = 0; i < len; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c < sizeof names / sizeof *names && names[c])
            xl__str_add(out, names[c]);
        else
            xl__str_add_n(out, c < ' ' ? " " : &text[i], 1);
    }
}

void svg_begin(struct xl__str *out, double width, double height,
               const char *title)
{
    xl__str_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                   "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
                   "font-family=\"sans-serif\">\n<title>",
                   width, height, width, height);
    add_escaped(out, title, strlen(title));
    xl__str_add(out, "</title>\n");
    svg_rect(out, 0, 0, width, height, "#ffffff", NULL);
}

void svg_end(struct xl__str *out)
{
    xl__str_add(out, "</svg>\n");
}

static void text_of(struct xl__str *out, double x, double y, double size,
                    const char *anchor, const char *colour, const char *text,
                    size_t len)
{
    xl__str_printf(out,
                   "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.4g\" "
                   "text-anchor=\"%s\" fill=\"%s\">",
                   x, y, size, anchor, colour);
    add_escaped(out, text, len);
    xl__str_add(out, "</text>\n");
}

void svg_text(struct xl__str *out, double x, double y, double size,
              const char *anchor, const char *colour, const char *text)
{
    text_of(out, x, y, size, anchor, colour, text, strlen(text));
}

/* As much of the text as fits, up to a blank where there is one. */
static size_t line_of(const char *text, unsigned letters)
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
        const size_t len = line_of(text, letters);
        text_of(out, x, y, size, "start", "#333333", text, len);
        text += len;
        text += *text == ' ';
        y += line_height * size;
    }
    return y;
}

void svg_rect(struct xl__str *out, double x, double y, double width,
              double height, const char *colour, const char *tip)
{
    xl__str_printf(out,
                   "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                   "height=\"%.2f\" fill=\"%s\"",
                   x, y, width, height, colour);
    if (!tip) {
        xl__str_add(out, "/>\n");
        return;
    }
    xl__str_add(out, "><title>");
    add_escaped(out, tip, strlen(tip));
    xl__str_add(out, "</title></rect>\n");
}

void svg_line(struct xl__str *out, double x1, double y1, double x2, double y2,
              const char *colour)
{
    xl__str_printf(out,
                   "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                   "stroke=\"%s\"/>\n",
                   x1, y1, x2, y2, colour);
}

void svg_path_begin(struct xl__str *out)
{
    xl__str_add(out, "<polyline points=\"");
}

void svg_path_point(struct xl__str *out, double x, double y)
{
    xl__str_printf(out, "%.2f,%.2f ", x, y);
}

void svg_path_end(struct xl__str *out, const char *colour)
{
    xl__str_printf(out,
                   "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
                   colour);
}
