/* SPDX-License-Identifier: Apache-2.0 */
/* Which cases an op is timed on: the user's words, or the case table's. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "op_bench.h"

/* The table's wanted cases, copied into `own`. */
static unsigned read_table(const struct session *s, const struct bench_op *op,
                           char *own, const void **cases)
{
    unsigned n = 0;
    bool wanted = false;
    void *c = own;
    for (unsigned i = 0; n < BENCH_MAX_CASES && op->table(s, i, c, &wanted);
         i++) {
        if (!wanted)
            continue;
        cases[n++] = c;
        c = own + n * op->case_bytes;
    }
    return n;
}

int bench_table(struct session *s, const struct bench_op *op)
{
    const void *cases[BENCH_MAX_CASES];
    /* One more, since a case is read before it is known to be wanted. */
    char *own = xl__calloc(BENCH_MAX_CASES + 1, op->case_bytes);
    if (!own)
        return session_fail(s, "reading the table", XL_NO_MEMORY, "");
    const unsigned n = read_table(s, op, own, cases);
    const int code = bench_run(s, op, cases, n, CASES_OF_TABLE);
    free(own);
    return code;
}

/* The words as cases in `own`; false after saying what is wrong. */
static bool read_words(const struct session *s, const struct bench_op *op,
                       char *own, const void **cases)
{
    for (unsigned i = 0; i < s->set.n_words; i++) {
        char why[160];
        void *c = own + i * op->case_bytes;
        if (!op->parse(&s->set, s->set.words[i], c, why, sizeof why)) {
            fprintf(stderr, "clbench: %s\n", why);
            return false;
        }
        cases[i] = c;
    }
    return true;
}

static int words(struct session *s, const struct bench_op *op, char *own)
{
    const void *cases[BENCH_MAX_CASES];
    if (!read_words(s, op, own, cases))
        return EXIT_USAGE;
    const int code = session_open_devices(s);
    if (code != EXIT_FINE)
        return code;
    return bench_run(s, op, cases, s->set.n_words, CASES_OF_USER);
}

int bench_command(struct session *s, const struct bench_op *op)
{
    int code;
    if (s->set.n_words > 0) {
        char *own = calloc(s->set.n_words, op->case_bytes);
        if (!own)
            return session_fail(s, "reading shapes", XL_NO_MEMORY, "");
        code = words(s, op, own);
        free(own);
    } else {
        code = session_open_devices(s);
        if (code == EXIT_FINE)
            code = bench_table(s, op);
    }
    return code != EXIT_FINE ? code : session_result(s);
}
