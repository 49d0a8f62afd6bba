/* SPDX-License-Identifier: Apache-2.0 */
/* `--reads` of `clbench gemm` and `clbench attention`: bytes that tiles of
 * several sizes read from global memory, computed, and the rates that they
 * reach, measured with tuning candidates. */
#ifndef CLBENCH_TILING_OPERAND_READS_H
#define CLBENCH_TILING_OPERAND_READS_H

#include <crosslane/tune.h>

#include "cli/session.h"
#include "cli/table.h"
#include "results/json.h"
#include "timing/run_cases.h"

/* The report of one shape on one device. */
struct reads_run {
    struct session *s;
    xl_device *dev;
    xl_queue *q;
    const void *c;          /* the op's case */
    double peak, bandwidth; /* flop/s, B/s; NaN: unknown */
    json_t *json;
};

struct reads_op {
    const struct bench_op *op;
    const char *shape; /* without a SHAPE */
    /* Count, time, print; add an object a line to r->json. */
    xl_status (*report)(struct reads_run *r);
};
extern const struct reads_op reads_of_gemm, reads_of_attention;

/* Runs the command; an exit_code. */
int operand_reads_run(struct session *s, const struct reads_op *what);

/* -- for report() --------------------------------------------------------- */

/* The choice of the library; `variant` NULL: among all. */
xl_status reads_choice(struct reads_run *r, const struct bench_op *op,
                       const char *variant, xl_choice *out);
/* The value of a tunable for a tile. */
typedef size_t reads_tunable(const char *name, size_t len, size_t tile,
                             size_t old);
/* Times the variant of `model` with its tunables for a tile; the reason why it
 * does not run here is in *out. */
xl_status reads_time_tile(struct reads_run *r, xl_problem p,
                          const xl_choice *model, reads_tunable *value,
                          size_t tile, xl_candidate_result *out);
/* The rate in flop/s; NaN unless the candidate is right. */
double reads_rate(const xl_candidate_result *result, double flop);
/* The roofline of flop that read these bytes. */
double reads_allowed(const struct reads_run *r, double flop, double bytes);
/* Cells of a number in units, and how the candidate ended. */
void reads_cell(struct table *t, double value, const char *unit);
/* Adds to the object of a line the tile, its rates and how it ended. */
void reads_put_end(json_t *line, size_t tile, double rate,
                   const xl_candidate_result *result);
/* Prints a heading, a note and the table, unless tables are off. */
void reads_print(const struct reads_run *r, const char *heading,
                 const char *note, const struct table *t);

#endif
