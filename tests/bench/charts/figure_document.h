/* SPDX-License-Identifier: Apache-2.0 */
/* A result document made up so that every picture can be drawn from it, with
 * values that are easily worked out. */
#ifndef XL_TESTS_FIGURE_DOCUMENT_H
#define XL_TESTS_FIGURE_DOCUMENT_H

#include <jansson.h>

/* Memory copies 1 TB/s, an FMA of f32 peaks at 10 TFLOP/s: the ridge is at 10
 * flop a byte. */
json_t *figure_document(void);
/* One more row, of JSON members behind op and variant. */
void figure_document_add(json_t *document, const char *op,
                         const char *variant, const char *members);

enum {
    N_CHASED = 11,   /* points of the staircase: 1 KiB to 1 MiB */
    N_STRIDES = 9,   /* of the far curve, and of the near one */
    N_PRODUCTS = 8,  /* two types, four cubes */
    N_SHARES = 3,    /* of softmax: 50 %, 100 %, and one in doubt */
    N_COMMANDS = 3   /* of a pipeline's only way */
};

#endif
