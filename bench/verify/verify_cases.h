/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of all ops that are compared with the host, as one list for each
 * op, and their sizes as a list that can be changed. */
#ifndef CLBENCH_VERIFY_CASES_H
#define CLBENCH_VERIFY_CASES_H

#include "cli/session.h"
#include "verify/verify.h"

struct verify_op;

/* A case of one op. */
struct verify_case {
    const struct verify_op *op;
    union {
        struct gemm_case gemm;
        struct conv_case conv;
        struct softmax_case softmax;
        struct norm_case norm;
        struct gradient_case gradient;
        struct attention_case attention;
        struct qgemm_case qgemm;
        struct qconvert_case qconvert;
        struct rotary_case rotary;
        struct expr_case expr;
    } as;
};

/* A size of a case, and its least value. */
struct case_size {
    size_t *value, least;
};
enum { CASE_SIZES = 10 };

/* NULL past the last. */
const struct verify_op *verify_op_at(unsigned i);

/* The i-th variant of an op on a device; NULL past the last. */
const char *verify_variant(const struct verify_op *op, const xl_device *dev,
                           unsigned i);

/* The next case of an op that belongs to this run, by --quick, --dtype and
 * --trans, from row *i of its table on; false past the last. */
bool verify_next_case(const struct session *s, const struct verify_op *op,
                      unsigned *i, struct verify_case *out);
const char *verify_case_name(const struct verify_case *c);
/* "gemm 'odd' 67x129x65 f32->f32 nn" */
void verify_case_text(const struct verify_case *c, char *out, size_t cap);

/* The sizes of a case: first those of a shape on the command line, whose
 * number is *n_shape, then others. Returns their number; 0: they are in a
 * text. Any value of at least the least one makes a case that can be tried. */
unsigned verify_case_sizes(struct verify_case *c, struct case_size *out,
                           unsigned *n_shape);
/* "MxNxK", of an op; "": it has none. */
const char *verify_shape_form(const struct verify_op *op);

/* As verify_gemm() and its like. */
xl_status verify_case_run(xl_queue *q, const struct verify_case *c,
                          const char *variant, uint64_t seed,
                          struct check_result *out);

#endif
