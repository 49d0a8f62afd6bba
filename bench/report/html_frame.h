/* SPDX-License-Identifier: Apache-2.0 */
/* What every HTML page begins and ends with. */
#ifndef CLBENCH_HTML_FRAME_H
#define CLBENCH_HTML_FRAME_H

#include "base/str.h"

/* Up to the body, where a header and <main id="main"> belong; `title` is
 * escaped already. */
void html_begin(struct xl__str *out, const char *title);
/* What follows </main>. */
void html_end(struct xl__str *out);

#endif
