/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of the runs of a comparison show of its noise. */
#ifndef CLBENCH_COMPARE_PASSES_H
#define CLBENCH_COMPARE_PASSES_H

#include "compare/compare.h"

/* Takes from each pass what all its rows have in common: the speed of the
 * machine at that time is no noise of a row. Pairs are measured. False: out of
 * memory. */
bool compare_align_passes(struct comparison *c);
/* Sets what noise_judge() needs beside the rows. The compared pairs come
 * first. */
void compare_noise_input(const struct comparison *c,
                         const struct compare_options *how,
                         struct noise_input *in);

#endif
