/* SPDX-License-Identifier: Apache-2.0 */
/* Every format of a report, in the order of the help. Adding one: a
 * render_x.c, its declaration in render.h, an option of its name, a line
 * here. */
#include "report/render.h"

const struct renderer *const renderers[] = {
    &render_csv,
    &render_markdown,
    &render_html,
    NULL,
};
