/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a file of tuned sets. For any input the file
 * is parsed as a whole or rejected with a reason; a parsed file is unchanged
 * when it is written and parsed again.
 *
 * Build: clang -fsanitize=fuzzer,address,undefined with lib/base/alloc.c,
 * lib/base/str.c and lib/runtime/tuned/tuned_file.c. Run: fuzz_tune
 * corpus_tune */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tuned/tuned_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct xl__tuned_file *file)
{
    struct xl__tuned_file again;
    struct xl__str text = {0}, second = {0}, why = {0};
    xl__tuned_file_format(file, &text);
    if (text.broken ||
        xl__tuned_file_parse(text.text, text.len, &again, &why) != XL_OK)
        abort();
    xl__tuned_file_format(&again, &second);
    if (again.n_sets != file->n_sets || text.len != second.len ||
        memcmp(text.text, second.text, text.len) != 0)
        abort();
    xl__tuned_file_clear(&again);
    xl__str_clear(&text);
    xl__str_clear(&second);
    xl__str_clear(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xl__tuned_file file;
    struct xl__str why = {0};
    char *bytes = malloc(size > 0 ? size : 1); /* no slack to read */
    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    const xl_status status = xl__tuned_file_parse(bytes, size, &file, &why);
    if (status == XL_OK)
        check_again(&file);
    else if (why.len == 0)
        abort();
    xl__tuned_file_clear(&file);
    xl__str_clear(&why);
    free(bytes);
    return 0;
}
