/* SPDX-License-Identifier: Apache-2.0 */
/* A page holds all it needs: style sheet, script and pictures. It asks no
 * network for anything, and its policy refuses whatever would; the script
 * alone that came with the program may run, named by its digest. */
#include "report/html_frame.h"

#include "report/html.h"

/* SVG brings styles of its own, so those are allowed where they stand. */
void html_begin(struct xl__str *out, const char *title)
{
    html_add(out,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
             "<meta charset=\"utf-8\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\""
             "default-src 'none'; style-src 'unsafe-inline'; "
             "script-src 'sha256-");
    html_embedded(out, "page.js.digest");
    html_add(out,
             "'; base-uri 'none'; form-action 'none'\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<meta name=\"generator\" content=\"clbench\">\n"
             "<title>%m - clbench</title>\n<style>\n", title);
    html_embedded(out, "page.css");
    xl__str_add(out, "</style>\n</head>\n<body>\n"
                     "<a class=\"skip\" href=\"#main\">Skip to the results"
                     "</a>\n");
}

void html_end(struct xl__str *out)
{
    xl__str_add(out, "<script>");
    html_embedded(out, "page.js");
    xl__str_add(out, "</script>\n</body>\n</html>\n");
}
