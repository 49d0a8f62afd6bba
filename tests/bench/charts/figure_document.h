/* SPDX-License-Identifier: Apache-2.0 */
/* A synthetic result document from which every figure can be drawn, with
 * values whose positions are easily computed. */
#ifndef XL_TESTS_FIGURE_DOCUMENT_H
#define XL_TESTS_FIGURE_DOCUMENT_H

#include <jansson.h>

/* Memory copies 1 TB/s, an FMA of f32 peaks at 10 TFLOP/s: the ridge is at 10
 * flop a byte. */
json_t *figure_document(void);
/* Adds a row of op, variant and more JSON members. */
void figure_document_add(json_t *document, const char *op,
                         const char *variant, const char *members);

enum {
    N_CHASED = 11,  /* points of the latency curve: 1 KiB to 1 MiB */
    N_STRIDES = 9,  /* of the curve of the memory, and of the cache */
    N_PRODUCTS = 8, /* two types, four cubes */
    N_SHARES = 3,   /* of softmax: 50 %, 100 %, one suspicious */
    N_COMMANDS = 3  /* of the pipeline's only mode */
};

#endif
