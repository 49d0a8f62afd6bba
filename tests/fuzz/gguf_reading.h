/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of ggml as `clbench model` does, without a device. */
#ifndef XL_TESTS_GGUF_READING_H
#define XL_TESTS_GGUF_READING_H

#include <stdlib.h>

#include "planner/forward/file_tensors.h"

/* All that is read of it but what is copied to a device. */
static void read_gguf_model(const struct gguf *g, struct xl__str *why)
{
    enum { ROOM = 1 << 16 };
    static float room[ROOM];
    static struct lm_arch arch;
    const bool is_read = lm_file_read_arch(g, 0, &arch, why);
    if (!is_read && why->len == 0)
        abort(); /* refused without a reason */
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensor[i].rows <= ROOM / g->tensor[i].cols)
            (void)gguf_read_rows(&g->tensor[i], 0, g->tensor[i].rows, room);
    for (size_t l = 0; is_read && l <= arch.layers; l++)
        for (unsigned i = 0; i < LM_LAYER_VECTORS; i++) {
            const size_t n = lm_vector_size(&arch, l, (enum lm_vector_id)i);
            if (n > 0 && n <= ROOM)
                (void)lm_file_vector(g, &arch, l, (enum lm_vector_id)i, room);
        }
}

#endif
