/* SPDX-License-Identifier: Apache-2.0 */
/* A prompt and some steps of decoding of a model that is made, against the
 * host in double. */
#ifndef XL_TESTS_FORWARD_CHECK_H
#define XL_TESTS_FORWARD_CHECK_H

#include "planner/forward/forward.h"

enum {
    CHECK_BATCH = 2,
    CHECK_PROMPT = 9, /* of both sequences more rows than gate and up share a
                         launch for */
    CHECK_DECODED = 3,
    CHECK_CONTEXT = CHECK_PROMPT + CHECK_DECODED
};

/* The size that the model must have been made with. */
static inline struct lm_size check_size(xl_dtype dtype)
{
    return (struct lm_size){.batch = CHECK_BATCH,
                            .context = CHECK_CONTEXT,
                            .prompt = CHECK_PROMPT,
                            .dtype = dtype,
                            .accuracy = XL_ACCURACY_FAST};
}
/* Fails the test where logits differ. */
void check_forward(struct lm_model *m, const char *name);

#endif
