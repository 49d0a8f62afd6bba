/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a file of ggml. For any input the file is
 * read as a whole or refused with a reason, and what is read stays in it.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined with the sources of run.sh.
 * Run: fuzz_gguf corpus_gguf */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/gguf_reading.h"
#include "planner/models.h"

/* The shipped models, which are not read here: that file is a build's own. */
const struct model_text model_texts[1];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gguf g;
    struct xl__str why = {0};
    unsigned char *bytes = malloc(size > 0 ? size : 1); /* no slack to read */
    if (!bytes)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    if (gguf_parse("fuzz", bytes, size, &g, &why))
        read_gguf_model(&g, &why);
    else if (why.len == 0)
        abort();
    gguf_clear(&g);
    xl__str_clear(&why);
    free(bytes);
    return 0;
}
