/* SPDX-License-Identifier: Apache-2.0 */
/* Registers of a kernel, from the notes of its binary: an ELF file that names
 * each kernel and its counts in MessagePack (AM-16). The keys of a kernel are
 * sorted, so its counts follow its symbol; the file around them is not read.
 */
#include <math.h>
#include <string.h>

#include "targets/targets.h"

static const double lane_bytes = 4; /* of a vector register */

struct span {
    const unsigned char *at, *end;
};

/* What follows `key` in the span, as it is stored: a text with its length in
 * the byte before. Empty: it is not there. */
static struct span find_key(struct span in, const char *key)
{
    const size_t n = strlen(key);
    for (; (size_t)(in.end - in.at) > n; in.at++) {
        if (in.at[0] == (0xa0 | n) && memcmp(in.at + 1, key, n) == 0)
            return (struct span){in.at + 1 + n, in.end};
    }
    return (struct span){in.end, in.end};
}

/* Is it the text NAME.kd? */
static bool is_symbol(struct span in, const char *name)
{
    static const char ending[] = ".kd";
    const size_t n = strlen(name), n_all = n + sizeof ending - 1;
    if (in.at < in.end && in.at[0] == 0xd9) /* a longer text: its length */
        in.at++;
    else if (n_all > 0x1f)
        return false;
    return (size_t)(in.end - in.at) > n_all &&
           (in.at[0] == n_all || in.at[0] == (0xa0 | n_all)) &&
           memcmp(in.at + 1, name, n) == 0 &&
           memcmp(in.at + 1 + n, ending, sizeof ending - 1) == 0;
}

/* An unsigned number of one or two bytes; NaN: something else. */
static double read_count(struct span in)
{
    const size_t n = (size_t)(in.end - in.at);
    if (n > 0 && in.at[0] < 0x80)
        return in.at[0];
    if (n > 1 && in.at[0] == 0xcc)
        return in.at[1];
    if (n > 2 && in.at[0] == 0xcd)
        return in.at[1] * 256.0 + in.at[2];
    return (double)NAN;
}

static void read_use(const unsigned char *bytes, size_t n, const char *kernel,
                     struct xl__kernel_use *out)
{
    static const char symbol[] = ".symbol";
    struct span at = find_key((struct span){bytes, bytes + n}, symbol);
    while (at.at < at.end && !is_symbol(at, kernel))
        at = find_key(at, symbol);
    if (at.at == at.end)
        return;
    const struct span next = find_key(at, symbol);
    const struct span own = {at.at, next.at};
    out->registers = read_count(find_key(own, ".vgpr_count"));
    out->spill_bytes =
        lane_bytes * read_count(find_key(own, ".vgpr_spill_count"));
}

const struct xl__use_source xl__amd_use = {.read_binary = read_use};
