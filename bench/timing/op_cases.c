/* SPDX-License-Identifier: Apache-2.0 */
/* Which cases an op is timed on: the user's words and shape files, or the
 * case table's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "timing/run_cases.h"
#include "cases/shape_file.h"

const struct bench_op *bench_op_find(const char *name)
{
    static const struct bench_op *const ops[] = {&bench_gemm, &bench_conv,
                                                 &bench_softmax};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(ops[i]->name, name) == 0)
            return ops[i];
    fprintf(stderr, "clbench: no op is called '%s'; there are: gemm, conv, "
                    "softmax; expressions are explained by 'clbench expr "
                    "TEXT --explain'\n", name);
    return NULL;
}

/* -- a list of cases ------------------------------------------------------ */

/* Room for one more; NULL when out of memory. */
static void *next_case(struct bench_cases *list, const struct bench_op *op)
{
    void *c = NULL;
    if (xl__grow(&list->list, &list->cap, list->n + 1, sizeof *list->list))
        c = xl__calloc(1, op->case_bytes);
    if (c)
        list->list[list->n++] = c;
    return c;
}

static bool no_memory(struct session *s)
{
    (void)session_fail(s, "reading shapes", XL_NO_MEMORY, "");
    return false;
}

static bool add_word(struct session *s, const struct bench_op *op,
                     const char *word, struct bench_cases *out)
{
    char why[160];
    void *c = next_case(out, op);
    if (!c)
        return no_memory(s);
    if (op->parse(&s->set, word, c, why, sizeof why))
        return true;
    session_say(s, "", why);
    return false;
}

static bool add_line(struct session *s, const struct bench_op *op,
                     const struct shape_file *f, size_t i,
                     struct bench_cases *out)
{
    struct settings set = s->set;
    struct xl__str text = {0};
    char why[160];
    void *c = next_case(out, op);
    if (!c)
        return no_memory(s);
    bool is_read = shape_file_settings(f, i, s->command, &set, &text);
    if (is_read && !op->parse(&set, f->line[i].word[0].text, c, why,
                              sizeof why)) {
        is_read = false;
        shape_file_place(f, i, 0, &text);
        xl__str_add(&text, why);
    }
    if (!is_read)
        session_say(s, "", xl__str_text(&text));
    xl__str_clear(&text);
    return is_read;
}

static bool add_file(struct session *s, const struct bench_op *op,
                     const char *name, struct bench_cases *out)
{
    struct xl__str why = {0};
    struct shape_file *f = &out->file[out->n_files++];
    bool is_read = shape_file_read(name, f, &why);
    if (!is_read)
        session_say(s, "", xl__str_text(&why));
    for (size_t i = 0; is_read && i < f->n; i++)
        is_read = add_line(s, op, f, i, out);
    xl__str_clear(&why);
    return is_read;
}

int bench_cases_read(struct session *s, const struct bench_op *op,
                     struct bench_cases *out)
{
    const struct option_list *files = &s->set.shape_files;
    *out = (struct bench_cases){.n = 0};
    for (unsigned i = 0; i < s->set.n_words; i++)
        if (!add_word(s, op, s->set.words[i], out))
            return EXIT_USAGE;
    for (unsigned i = 0; i < files->n; i++)
        if (!add_file(s, op, files->value[i], out))
            return EXIT_FILE;
    return EXIT_FINE;
}

void bench_cases_clear(struct bench_cases *list)
{
    for (size_t i = 0; i < list->n; i++)
        free((void *)list->list[i]);
    for (unsigned i = 0; i < list->n_files; i++)
        shape_file_clear(&list->file[i]);
    free((void *)list->list);
    *list = (struct bench_cases){.n = 0};
}

/* -- the table ------------------------------------------------------------ */

/* The table's wanted cases. */
static bool read_table(const struct session *s, const struct bench_op *op,
                       struct bench_cases *out)
{
    bool wanted = false;
    void *c = xl__calloc(1, op->case_bytes), *kept = c;
    for (unsigned i = 0; kept && op->table(s, i, c, &wanted); i++) {
        kept = wanted ? next_case(out, op) : c;
        if (wanted && kept)
            memcpy(kept, c, op->case_bytes);
    }
    free(c);
    return kept != NULL;
}

int bench_table(struct session *s, const struct bench_op *op)
{
    struct bench_cases cases = {.n = 0};
    int code;
    if (read_table(s, op, &cases))
        code = bench_run(s, op, cases.list, (unsigned)cases.n,
                         CASES_OF_TABLE);
    else
        code = session_fail(s, "reading the table", XL_NO_MEMORY, "");
    bench_cases_clear(&cases);
    return code;
}

int bench_command(struct session *s, const struct bench_op *op)
{
    struct bench_cases cases;
    int code = bench_cases_read(s, op, &cases);
    if (code == EXIT_FINE)
        code = session_open_devices(s);
    /* A file is another table: not each of its shapes is for each device. */
    const enum bench_origin origin =
        s->set.n_words > 0 ? CASES_OF_USER : CASES_OF_TABLE;
    if (code == EXIT_FINE)
        code = cases.n > 0 ? bench_run(s, op, cases.list, (unsigned)cases.n,
                                       origin)
                           : bench_table(s, op);
    bench_cases_clear(&cases);
    return code != EXIT_FINE ? code : session_result(s);
}
