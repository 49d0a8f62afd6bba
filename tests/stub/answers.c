/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the answer files described in answers.h. The first answer for a key
 * is used. */
#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_CAP = 16384, MAX_SIZES = 16 };

static size_t put_text(const char *from, unsigned char *to)
{
    const size_t n = strlen(from) + 1;
    memcpy(to, from, n);
    return n;
}

static size_t put_u32(const char *from, unsigned char *to)
{
    const cl_uint x = (cl_uint)strtoul(from, NULL, 0);
    memcpy(to, &x, sizeof x);
    return sizeof x;
}

static size_t put_u64(const char *from, unsigned char *to)
{
    const cl_ulong x = strtoull(from, NULL, 0);
    memcpy(to, &x, sizeof x);
    return sizeof x;
}

static size_t put_sizes(const char *from, unsigned char *to)
{
    size_t n = 0;
    while (n < MAX_SIZES) {
        char *end;
        const size_t x = (size_t)strtoull(from, &end, 0);
        if (end == from)
            break;
        memcpy(to + n * sizeof x, &x, sizeof x);
        from = end;
        n++;
    }
    return n * sizeof(size_t);
}

static size_t put_hex(const char *from, unsigned char *to)
{
    size_t n = 0;
    unsigned byte;
    while (sscanf(from + 2 * n, "%2x", &byte) == 1)
        to[n++] = (unsigned char)byte;
    return n;
}

/* clang-format off */
static const struct {
    const char *type;
    size_t (*put)(const char *from, unsigned char *to);
} types[] = {
    {"s", put_text}, {"u32", put_u32}, {"u64", put_u64},
    {"sz", put_sizes}, {"zN", put_sizes}, {"hex", put_hex},
};
/* clang-format on */

/* Bytes of a value, or 0 when the type is unknown. */
static size_t convert_answer(const char *type, const char *from,
                             unsigned char *to)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].type, type) == 0)
            return types[i].put(from, to);
    return 0;
}

static struct answer *read_line(char *line)
{
    const bool named = (line[0] == 'P' || line[0] == 'K') && line[1] == ' ';
    const char whose = named ? line[0] : (char)ANSWER_DEVICE;
    char type[8];
    unsigned key;
    int at = 0;

    line[strcspn(line, "\r\n")] = '\0';
    if (sscanf(line + (named ? 2 : 0), "%x %7s%n", &key, type, &at) != 2)
        return NULL;
    const char *value = line + (named ? 2 : 0) + at;
    value += strspn(value, " ");
    struct answer *a = calloc(1, sizeof *a + strlen(value) + 1 +
                                     MAX_SIZES * sizeof(size_t));
    if (!a)
        return NULL;
    a->whose = whose;
    a->key = key;
    if (strcmp(type, "err") == 0)
        a->err = (cl_int)strtol(value, NULL, 0);
    else
        a->n_bytes = convert_answer(type, value, a->bytes);
    if (a->err == CL_SUCCESS && a->n_bytes == 0) {
        free(a);
        return NULL;
    }
    return a;
}

struct answer *answers_read(const char *path)
{
    struct answer *first = NULL, **last = &first;
    FILE *file = fopen(path, "r");
    char *line = malloc(LINE_CAP);
    unsigned number = 0;

    if (!file || !line)
        fprintf(stderr, "answers: cannot read %s\n", path);
    while (file && line && fgets(line, LINE_CAP, file)) {
        number++;
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0')
            continue;
        struct answer *a = read_line(line);
        if (!a) {
            fprintf(stderr, "answers: %s:%u is no answer\n", path, number);
            continue;
        }
        *last = a;
        last = &a->next;
    }
    free(line);
    if (file)
        fclose(file);
    return first;
}

void answers_free(struct answer *list)
{
    while (list) {
        struct answer *next = list->next;
        free(list);
        list = next;
    }
}

cl_int answer_bytes(const void *value, size_t n, size_t cap, void *out,
                    size_t *n_out)
{
    if (out && cap < n)
        return CL_INVALID_VALUE;
    if (out && n > 0)
        memcpy(out, value, n);
    if (n_out)
        *n_out = n;
    return CL_SUCCESS;
}

cl_int answer_give(const struct answer *list, char whose, cl_uint key,
                   size_t cap, void *out, size_t *n_out)
{
    for (const struct answer *a = list; a; a = a->next)
        if (a->whose == whose && a->key == key)
            return a->err ? a->err
                          : answer_bytes(a->bytes, a->n_bytes, cap, out,
                                         n_out);
    return ANSWER_NONE;
}
