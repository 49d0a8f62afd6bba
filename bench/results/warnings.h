/* SPDX-License-Identifier: Apache-2.0 */
/* Every warning of a row: its code, what it means, and what to do about it. */
#ifndef CLBENCH_WARNINGS_H
#define CLBENCH_WARNINGS_H

#include "cli/args.h"

/* `bit` is an XL_WARN_BIT_ number below XL_N_WARN. Static texts. */
const char *warn_code(unsigned bit); /* "noisy" */
const char *warn_text(unsigned bit); /* what was observed */
/* What the user can do, given the options in use; NULL: nothing. */
const char *warn_advice(unsigned bit, const struct settings *set);

#endif
