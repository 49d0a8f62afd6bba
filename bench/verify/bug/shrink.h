/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the sources of a recorded call smaller, as far as its launches leave
 * the same bytes in the wrong result's buffer. */
#ifndef CLBENCH_BUG_SHRINK_H
#define CLBENCH_BUG_SHRINK_H

#include "cli/session.h"
#include "verify/bug/folder.h"

/* Replace the sources of the programs of `call`, which is that of b, with the
 * macros of their options, by smaller ones. Where that fails, or where the
 * launches do not repeat their result, the sources stay. */
void bug_shrink_sources(struct session *s, struct record *call,
                        const struct bug *b);

#endif
