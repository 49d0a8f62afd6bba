/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in expressions, listed. */
#ifndef CLBENCH_EXPR_LIST_H
#define CLBENCH_EXPR_LIST_H

#include "cli/session.h"

/* Print names and texts; the file has them with shapes, scalars and ranges as
 * the command line spells them, as member "cases", for scripts that run the
 * same elsewhere. An exit_code. */
int expr_list(struct session *s);

#endif
