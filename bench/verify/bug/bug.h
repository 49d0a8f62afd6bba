/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench report --bug VARIANT`: a folder that reproduces a wrong result of a
 * variant without crosslane. */
#ifndef CLBENCH_BUG_H
#define CLBENCH_BUG_H

#include "cli/session.h"

/* Look for a case whose result is wrong, with the sizes of a SHAPE if one is
 * given, make its sizes and then the sources of its programs as small as they
 * may be for the result to be wrong, and write the folder. EXIT_WRONG: it is
 * written; EXIT_FINE: no result is wrong. */
int bug_report(struct session *s);

#endif
