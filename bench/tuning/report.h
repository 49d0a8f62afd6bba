/* SPDX-License-Identifier: Apache-2.0 */
/* The results of `clbench tune`, as tables and as rows of the result file. */
#ifndef CLBENCH_TUNING_REPORT_H
#define CLBENCH_TUNING_REPORT_H

#include "tuning/search.h"

void tune_print(const struct session *s, const struct tune_result *results,
                unsigned n);
void tune_print_candidates(const struct session *s,
                           const struct tune_result *r);
/* The rows and the "tuned" member of the result file. */
void tune_record(struct session *s, const struct tune_result *r);
/* Print the tuned sets that apply to the device; an exit_code. */
int tune_list(struct session *s, xl_queue *q);

#endif
