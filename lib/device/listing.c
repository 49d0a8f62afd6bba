/* SPDX-License-Identifier: Apache-2.0 */
/* Each line becomes the bytes with which a driver answers the query, so that
 * facts of a listed device are made by the same code as all others. Which
 * properties exist, and their types, follows from the list of facts and from
 * the queries of identify.c. */
#include "device/listing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "device/cl_info.h"

struct answer {
    cl_uint query;
    size_t n;
    void *bytes;
};

struct answers {
    struct answer *list;
    size_t n, cap;
};

struct measured {
    enum xl__fact_id id;
    double value;
};

struct xl__listed {
    struct xl__listed *next;
    unsigned line;          /* of its name */
    struct answers answers; /* of the platform, too */
    struct measured measured[XL__N_FACTS];
    unsigned n_measured;
};

/* A platform is listed once with all of its properties and again, by its name,
 * before its devices. */
struct platform {
    struct platform *next;
    char *name;
    struct answers answers;
};

struct reader {
    struct xl__listed *first, **end, *device; /* device: that of the line */
    struct platform *platforms, *platform;    /* likewise */
    unsigned line;
    const char *key, *value; /* of the line; ended by 0 */
    struct xl__error *e;
};

/* -- answers -------------------------------------------------------------- */

static const struct answer *find_answer(const struct answers *a, cl_uint query)
{
    for (size_t i = 0; i < a->n; i++) {
        if (a->list[i].query == query)
            return &a->list[i];
    }
    return NULL;
}

/* The first answer to a query counts. */
static bool add_answer(struct answers *a, cl_uint query, const void *bytes,
                       size_t n)
{
    void *copy;
    if (find_answer(a, query))
        return true;
    copy = xl__calloc(n, 1);
    if (!copy || !xl__grow(&a->list, &a->cap, a->n + 1, sizeof *a->list)) {
        free(copy);
        return false;
    }
    memcpy(copy, bytes, n);
    a->list[a->n++] = (struct answer){query, n, copy};
    return true;
}

static void clear_answers(struct answers *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->list[i].bytes);
    free(a->list);
}

cl_int xl__listed_answer(const struct xl__listed *d, cl_uint query, size_t cap,
                         void *out, size_t *n)
{
    const struct answer *a = find_answer(&d->answers, query);
    if (!a || (out && cap < a->n))
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, a->bytes, a->n);
    if (n)
        *n = a->n;
    return CL_SUCCESS;
}

/* -- properties ----------------------------------------------------------- */

/* Of the platform, and those of the device that are facts as they are. */
static const struct xl__query properties[] = {
    {"CL_PLATFORM_NAME", CL_PLATFORM_NAME, XL__ASK_TEXT},
    {"CL_PLATFORM_VERSION", CL_PLATFORM_VERSION, XL__ASK_TEXT},
#define PROPERTY(name, kind, unit, ask, query, factor, help)                  \
    {#query, query, XL__ASK_##ask},
    XL__FACT_MAP(PROPERTY)
#undef PROPERTY
        {NULL, 0, XL__ASK_NONE},
};

static const struct xl__query *find_property(const char *name)
{
    static const struct xl__query *const tables[] = {properties,
                                                     xl__special_queries};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        for (const struct xl__query *p = tables[t]; p->name; p++) {
            if (p->query && strcmp(p->name, name) == 0)
                return p;
        }
    }
    return NULL;
}

/* -- values --------------------------------------------------------------- */

static const struct {
    const char *name;
    cl_ulong value;
} symbols[] = {
#define SYMBOL(name) {#name, name},
    SYMBOL(CL_TRUE) SYMBOL(CL_FALSE) SYMBOL(CL_NONE) SYMBOL(CL_LOCAL) SYMBOL(
        CL_GLOBAL) SYMBOL(CL_DEVICE_TYPE_DEFAULT) SYMBOL(CL_DEVICE_TYPE_CPU)
        SYMBOL(CL_DEVICE_TYPE_GPU) SYMBOL(CL_DEVICE_TYPE_ACCELERATOR)
            SYMBOL(CL_DEVICE_TYPE_CUSTOM) SYMBOL(CL_FP_DENORM)
                SYMBOL(CL_FP_INF_NAN) SYMBOL(CL_FP_ROUND_TO_NEAREST)
                    SYMBOL(CL_FP_ROUND_TO_ZERO) SYMBOL(CL_FP_ROUND_TO_INF)
                        SYMBOL(CL_FP_FMA) SYMBOL(CL_FP_SOFT_FLOAT)
                            SYMBOL(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT)
                                SYMBOL(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)
                                    SYMBOL(CL_DEVICE_SVM_FINE_GRAIN_BUFFER)
                                        SYMBOL(CL_DEVICE_SVM_FINE_GRAIN_SYSTEM)
                                            SYMBOL(CL_DEVICE_SVM_ATOMICS)
#undef SYMBOL
};

static const char separators[] = " \t,|x";

/* The word at *at: a number or a symbol; *at moves behind it and what
 * separates it from the next. */
static bool read_word(const char **at, cl_ulong *out)
{
    char *end;
    const size_t n = strcspn(*at, " \t,|");
    const char *word = *at;
    *out = strtoull(word, &end, 0);
    if (end == word) {
        for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
            if (strlen(symbols[i].name) == n &&
                strncmp(symbols[i].name, word, n) == 0) {
                *out = symbols[i].value;
                end += n;
            }
        }
    }
    *at = end + strspn(end, separators);
    return end > word && *word != '-';
}

/* Several, up to "(...)", which repeats the value for people. */
static bool read_words(const char *at, cl_ulong *out, size_t cap, size_t *n)
{
    for (*n = 0; *at && *at != '('; ++*n) {
        if (*n == cap || !read_word(&at, &out[*n]))
            return false;
    }
    return *n > 0;
}

/* "OpenCL C:0x400000 OpenCL C:0xc00000" as cl_name_version. */
static size_t read_versions(const char *at, unsigned char *out, size_t cap)
{
    struct {
        cl_uint version;
        char name[64];
    } v = {0, "OpenCL C"};
    size_t n = 0;
    for (; (at = strstr(at, ":0x")) != NULL && n + sizeof v <= cap; at++) {
        v.version = (cl_uint)strtoul(at + 1, NULL, 0);
        memcpy(out + n, &v, sizeof v);
        n += sizeof v;
    }
    return n;
}

/* The answer as bytes; 0: the value is not of the property's type. */
static size_t convert(const struct xl__query *p, const char *value,
                      unsigned char *out, size_t cap)
{
    enum { MOST = 32 };
    cl_ulong word[MOST] = {0}, all = 0;
    size_t n;
    if (p->ask == XL__ASK_VERSIONS)
        return read_versions(value, out, cap);
    if (!read_words(value, word, MOST, &n))
        return 0;
    for (size_t i = 0; i < n; i++)
        all |= word[i];
    if (p->ask == XL__ASK_SIZES) {
        for (size_t i = 0; i < n; i++)
            memcpy(out + i * sizeof(size_t), &(size_t){(size_t)word[i]},
                   sizeof(size_t));
        return n * sizeof(size_t);
    }
    if (p->ask == XL__ASK_U32 || p->ask == XL__ASK_BOOL) {
        memcpy(out, &(cl_uint){(cl_uint)all}, sizeof(cl_uint));
        return all <= UINT32_MAX ? sizeof(cl_uint) : 0;
    }
    if (p->ask == XL__ASK_SIZE) {
        memcpy(out, &(size_t){(size_t)all}, sizeof(size_t));
        return sizeof(size_t);
    }
    memcpy(out, &all, sizeof all);
    return sizeof all;
}

/* -- lines ---------------------------------------------------------------- */

static xl_status fail_line(const struct reader *r, const char *what)
{
    return xl__error_set(r->e, XL_CORRUPT, "line %u: %s: %s", r->line, r->key,
                         what);
}

static xl_status fail_memory(const struct reader *r)
{
    return xl__error_set(r->e, XL_NO_MEMORY, "out of memory for a listing");
}

static xl_status begin_platform(struct reader *r)
{
    struct platform *p = r->platforms;
    while (p && strcmp(p->name, r->value) != 0)
        p = p->next;
    if (!p) {
        p = xl__calloc(1, sizeof *p);
        if (!p)
            return fail_memory(r);
        p->next = r->platforms;
        r->platforms = p;
        p->name = xl__strdup(r->value);
        if (!p->name)
            return fail_memory(r);
    }
    r->platform = p;
    r->device = NULL;
    return XL_OK;
}

static xl_status begin_device(struct reader *r)
{
    struct xl__listed *d = xl__calloc(1, sizeof *d);
    if (!d)
        return fail_memory(r);
    d->line = r->line;
    *r->end = r->device = d;
    r->end = &d->next;
    for (size_t i = 0; r->platform && i < r->platform->answers.n; i++) {
        const struct answer *a = &r->platform->answers.list[i];
        if (!add_answer(&d->answers, a->query, a->bytes, a->n))
            return fail_memory(r);
    }
    return XL_OK;
}

static xl_status read_property(struct reader *r, const struct xl__query *p)
{
    unsigned char bytes[2048];
    xl_status status = XL_OK;
    const bool is_platform = strncmp(p->name, "CL_PLATFORM_", 12) == 0;
    if (p->query == CL_PLATFORM_NAME)
        TRY(begin_platform(r));
    if (p->query == CL_DEVICE_NAME)
        TRY(begin_device(r));
    if (*r->value == '\0' || *r->value == '<')
        return XL_OK;
    struct answers *to = is_platform && r->platform  ? &r->platform->answers
                         : !is_platform && r->device ? &r->device->answers
                                                     : NULL;
    if (!to)
        TRY(fail_line(r, is_platform ? "it must follow CL_PLATFORM_NAME"
                                     : "it must follow CL_DEVICE_NAME"));
    const bool is_text = p->ask == XL__ASK_TEXT;
    const size_t n = is_text ? strlen(r->value) + 1
                             : convert(p, r->value, bytes, sizeof bytes);
    if (n == 0)
        TRY(fail_line(r, "the value must be a number or a CL_ constant that "
                         "it can have"));
    if (!add_answer(to, p->query, is_text ? (const void *)r->value : bytes, n))
        TRY(fail_memory(r));
fail:
    return status;
}

static xl_status read_fact(struct reader *r)
{
    const enum xl__fact_id i = xl__fact_find(r->key);
    char *end;
    const double value = strtod(r->value, &end);
    if (i == XL__N_FACTS)
        return fail_line(
            r,
            "neither a property as in the output of `clinfo --raw` (CL_...) "
            "nor a fact that `clbench devices -v` names");
    if (!r->device)
        return fail_line(r, "it must follow CL_DEVICE_NAME");
    if (xl__facts[i].kind == XL_FACT_TEXT ||
        xl__facts[i].kind == XL_FACT_LIST || end == r->value || *end ||
        !isfinite(value) || !xl__fact_is_sane(i, value))
        return fail_line(r, "a measured value must be a number within the "
                            "range of real devices");
    if (r->device->n_measured == XL__N_FACTS)
        return fail_line(r, "more values than facts");
    r->device->measured[r->device->n_measured++] = (struct measured){i, value};
    return XL_OK;
}

/* `line` without its end; it is cut. */
static xl_status read_line(struct reader *r, char *line)
{
    static const char blanks[] = " \t";
    char *close = *line == '[' ? strchr(line, ']') : NULL;
    char *at = close ? close + 1 : line;
    size_t n = strlen(at);
    while (n > 0 && strchr(" \t\r", at[n - 1]))
        at[--n] = '\0';
    at += strspn(at, blanks);
    if (*at == '\0' || *at == '#')
        return XL_OK;
    r->key = at;
    at += strcspn(at, blanks);
    r->value = at + strspn(at, blanks);
    *at = '\0';
    const struct xl__query *p = find_property(r->key);
    if (p)
        return read_property(r, p);
    return strncmp(r->key, "CL_", 3) == 0 ? XL_OK : read_fact(r);
}

/* -- the whole ------------------------------------------------------------ */

/* Without these nothing can be planned; a listing that was cut lacks some. */
static xl_status check_devices(const struct reader *r)
{
    static const char *const required[] = {
        "CL_DEVICE_TYPE", "CL_DEVICE_MAX_COMPUTE_UNITS",
        "CL_DEVICE_MAX_WORK_GROUP_SIZE", "CL_DEVICE_GLOBAL_MEM_SIZE",
        "CL_DEVICE_LOCAL_MEM_SIZE"};
    for (const struct xl__listed *d = r->first; d; d = d->next) {
        for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
            if (!find_answer(&d->answers, find_property(required[i])->query))
                return xl__error_set(
                    r->e, XL_CORRUPT,
                    "the device of line %u has no %s: the listing is not "
                    "complete",
                    d->line, required[i]);
        }
    }
    return r->first ? XL_OK
                    : xl__error_set(r->e, XL_CORRUPT,
                                    "no device: the output of `clinfo --raw` "
                                    "has a line CL_DEVICE_NAME for each");
}

static xl_status check_text(const char *text, size_t n, struct xl__error *e)
{
    unsigned line = 1;
    if (n > XL__LISTING_BYTES)
        return xl__error_set(e, XL_CORRUPT,
                             "%zu bytes: a listing has at most %d", n,
                             XL__LISTING_BYTES);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && !strchr("\t\r\n", c)) || c == '\0')
            return xl__error_set(e, XL_CORRUPT,
                                 "line %u: a byte 0x%02x, which no text has",
                                 line, c);
        line += c == '\n';
    }
    if (n > 0 && text[n - 1] != '\n')
        return xl__error_set(e, XL_CORRUPT,
                             "line %u: it has no end: the listing was cut",
                             line);
    return XL_OK;
}

static void free_platforms(struct platform *p)
{
    while (p) {
        struct platform *next = p->next;
        clear_answers(&p->answers);
        free(p->name);
        free(p);
        p = next;
    }
}

xl_status xl__listing_read(const char *text, size_t n, struct xl__listed **out,
                           struct xl__error *e)
{
    xl_status status = XL_OK;
    struct reader r = {.e = e};
    char *copy = NULL;
    *out = NULL;
    r.end = &r.first;
    TRY(check_text(text, n, e));
    copy = xl__calloc(n + 1, 1);
    if (!copy)
        TRY(fail_memory(&r));
    memcpy(copy, text, n);
    for (char *line = copy, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        r.line++;
        TRY(read_line(&r, line));
    }
    TRY(check_devices(&r));
    *out = r.first;
    r.first = NULL;
fail:
    free_platforms(r.platforms);
    xl__listing_destroy(r.first);
    free(copy);
    return status;
}

void xl__listing_destroy(struct xl__listed *first)
{
    while (first) {
        struct xl__listed *next = first->next;
        clear_answers(&first->answers);
        free(first);
        first = next;
    }
}

const struct xl__listed *xl__listing_next(const struct xl__listed *d)
{
    return d->next;
}

void xl__listed_measure(const struct xl__listed *d, struct xl__limits *l)
{
    for (unsigned i = 0; i < d->n_measured; i++)
        xl__limits_measure(l, d->measured[i].id, d->measured[i].value);
}
