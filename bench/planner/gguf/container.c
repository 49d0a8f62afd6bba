/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from front to back: header, metadata, descriptions of tensors. Memory
 * is allocated for as many as the rest of the file can have. The layout:
 *
 *     "GGUF", u32 version, u64 tensors, u64 values
 *     value:  text key, u32 type, the value
 *     tensor: text name, u32 dimensions, u64 sizes (columns first), u32 type,
 *             u64 offset of its data
 *     data, from the next multiple of general.alignment on
 *
 * A text is u64 bytes and these; an array u32 type, u64 count, values. */
#include "planner/gguf/container.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* -- reading -------------------------------------------------------------- */

enum {
    MOST_NAME = 64,
    MOST_DIMS = 4,
    MOST_DEPTH = 4,
    LEAST_VALUE = 13,
    LEAST_TENSOR = 24,
    LEAST_ALIGNMENT = 8,
    ALIGNMENT = 32
};

struct reader {
    struct gguf *g;
    size_t at;
    struct xl__str *why; /* of the first failure; it is empty before */
};

static bool refuse_at(const struct reader *r, size_t at, const char *fmt, ...)
    XL__PRINTF(3, 4);

static bool refuse_at(const struct reader *r, size_t at, const char *fmt, ...)
{
    va_list args;
    xl__str_printf(r->why, "'%s', byte %zu: ", r->g->name, at);
    va_start(args, fmt);
    xl__str_vprintf(r->why, fmt, args);
    va_end(args);
    return false;
}

static size_t rest(const struct reader *r)
{
    return r->g->len - r->at;
}

/* The next n bytes; NULL: the file ends before. */
static const unsigned char *next_bytes(struct reader *r, uint64_t n,
                                       const char *what)
{
    const unsigned char *p = r->g->bytes + r->at;
    if (n > rest(r)) {
        (void)refuse_at(r, r->at,
                        "the file ends in %s: %" PRIu64
                        " bytes are needed, %zu are left",
                        what, n, rest(r));
        return NULL;
    }
    if (n > r->g->n_bytes - r->at) {
        r->g->is_cut = true;
        (void)refuse_at(r, r->at, "%s is not read yet", what);
        return NULL;
    }
    r->at += (size_t)n;
    return p;
}

static uint64_t little_endian(const unsigned char *p, size_t n)
{
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static bool read_uint(struct reader *r, size_t bytes, const char *what,
                      uint64_t *out)
{
    const unsigned char *p = next_bytes(r, bytes, what);
    *out = p ? little_endian(p, bytes) : 0;
    return p != NULL;
}

static bool read_u32(struct reader *r, const char *what, uint32_t *out)
{
    uint64_t x;
    const bool is_read = read_uint(r, sizeof *out, what, &x);
    *out = (uint32_t)x;
    return is_read;
}

static bool read_u64(struct reader *r, const char *what, uint64_t *out)
{
    return read_uint(r, sizeof *out, what, out);
}

static bool read_text(struct reader *r, const char *what,
                      struct gguf_text *out)
{
    uint64_t len;
    if (!read_u64(r, what, &len))
        return false;
    out->text = (const char *)next_bytes(r, len, what);
    out->len = (size_t)len;
    return out->text != NULL;
}

/* A count of what takes at least `least` bytes each. */
static bool read_count(struct reader *r, const char *what, size_t least,
                       size_t *out)
{
    const size_t at = r->at;
    uint64_t n;
    if (!read_u64(r, what, &n))
        return false;
    *out = (size_t)n;
    return n <= rest(r) / least ||
           refuse_at(r, at, "%" PRIu64 " %s are more than the file can have",
                     n, what);
}

/* -- metadata ------------------------------------------------------------- */

enum value_type {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    BOOL,
    TEXT,
    ARRAY,
    U64,
    I64,
    F64,
    N_VALUE_TYPES
};
/* Bytes; 0: they vary. */
static const size_t value_bytes[N_VALUE_TYPES] = {
    [U8] = 1,  [I8] = 1,   [U16] = 2, [I16] = 2, [U32] = 4, [I32] = 4,
    [F32] = 4, [BOOL] = 1, [U64] = 8, [I64] = 8, [F64] = 8};

static double number_of(enum value_type type, uint64_t x)
{
    float f;
    double d;
    const uint32_t low = (uint32_t)x;
    switch (type) {
    case I8:
        return (int8_t)x;
    case I16:
        return (int16_t)x;
    case I32:
        return (int32_t)x;
    case I64:
        return (double)(int64_t)x;
    case F32:
        memcpy(&f, &low, sizeof f);
        return (double)f;
    case F64:
        memcpy(&d, &x, sizeof d);
        return d;
    default:
        return (double)x;
    }
}

static bool read_type(struct reader *r, enum value_type *out)
{
    const size_t at = r->at;
    uint32_t type;
    if (!read_u32(r, "the type of a value", &type))
        return false;
    *out = (enum value_type)type;
    return type < N_VALUE_TYPES ||
           refuse_at(r, at, "%" PRIu32 " is not a type of a value", type);
}

/* Step over an array, of which nothing is needed. */
static bool skip_array(struct reader *r, unsigned depth)
{
    static const char what[] = "values of an array";
    const size_t at = r->at;
    enum value_type type;
    size_t n;
    if (depth >= MOST_DEPTH)
        return refuse_at(r, at, "more than %d arrays in each other",
                         MOST_DEPTH);
    if (!read_type(r, &type) ||
        !read_count(r, what, value_bytes[type] > 0 ? value_bytes[type] : 8,
                    &n))
        return false;
    if (value_bytes[type] > 0)
        return next_bytes(r, (uint64_t)n * value_bytes[type], what) != NULL;
    for (size_t i = 0; i < n; i++) {
        struct gguf_text text;
        if (type == TEXT ? !read_text(r, what, &text)
                         : !skip_array(r, depth + 1))
            return false;
    }
    return true;
}

static bool read_value(struct reader *r, struct gguf_value *out)
{
    static const char what[] = "a value of the metadata";
    enum value_type type;
    uint64_t x;
    *out = (struct gguf_value){.number = (double)NAN};
    if (!read_text(r, "a key of the metadata", &out->key) ||
        !read_type(r, &type))
        return false;
    out->at = r->at;
    out->is_array = type == ARRAY;
    if (type == TEXT)
        return read_text(r, what, &out->text);
    if (type == ARRAY)
        return skip_array(r, 0);
    if (!read_uint(r, value_bytes[type], what, &x))
        return false;
    out->number = number_of(type, x);
    return true;
}

/* -- names ---------------------------------------------------------------- */

static int compare_texts(struct gguf_text a, struct gguf_text b)
{
    const int order = memcmp(a.text, b.text, xl__min_size(a.len, b.len));
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_values(const void *a, const void *b)
{
    return compare_texts(((const struct gguf_value *)a)->key,
                         ((const struct gguf_value *)b)->key);
}

static int compare_tensors(const void *a, const void *b)
{
    return compare_texts(((const struct gguf_tensor *)a)->name,
                         ((const struct gguf_tensor *)b)->name);
}

static bool refuse_twice(const struct reader *r, struct gguf_text name)
{
    const char *start = (const char *)r->g->bytes;
    return refuse_at(r, (size_t)(name.text - start), "'%.*s' is there twice",
                     (int)xl__min_size(name.len, MOST_NAME), name.text);
}

const struct gguf_value *gguf_find(const struct gguf *g, const char *key)
{
    const struct gguf_value at = {.key = {key, strlen(key)}};
    return g->n_values == 0 ? NULL
                            : bsearch(&at, g->value, g->n_values, sizeof at,
                                      compare_values);
}

const struct gguf_tensor *gguf_find_tensor(const struct gguf *g,
                                           const char *name)
{
    const struct gguf_tensor at = {.name = {name, strlen(name)}};
    return g->n_tensors == 0 ? NULL
                             : bsearch(&at, g->tensor, g->n_tensors, sizeof at,
                                       compare_tensors);
}

/* -- tensors -------------------------------------------------------------- */

/* The bytes of a tensor of these sizes. */
static bool count_bytes(const struct reader *r, size_t at,
                        struct gguf_tensor *t)
{
    size_t n;
    xl_qbytes bytes;
    const xl_qshape shape = {t->type->format, t->rows, t->cols, 0, 0};
    bool is_fit = t->rows > 0 && t->cols > 0;
    if (is_fit && t->type->is_quantised) {
        is_fit = xl_qshape_bytes(&shape, &bytes) == XL_OK;
        t->bytes = is_fit ? bytes.blocks : 0;
    } else if (is_fit) {
        is_fit = xl__mul(t->rows, t->cols, &n) &&
                 xl__mul(n, xl_dtype_bytes(t->type->dtype), &t->bytes);
    }
    return is_fit ||
           refuse_at(r, at,
                     "tensor '%.*s' of %zu x %zu elements is empty, too "
                     "large, or not of whole blocks of %s",
                     (int)t->name.len, t->name.text, t->rows, t->cols,
                     t->type->name);
}

/* A description; `offset` is that of its data, behind all descriptions. */
static bool read_tensor(struct reader *r, struct gguf_tensor *t,
                        uint64_t *offset)
{
    static const char what[] = "the description of a tensor";
    const size_t start = r->at;
    uint32_t dims, type;
    uint64_t size;
    *t = (struct gguf_tensor){.rows = 1, .cols = 1};
    if (!read_text(r, "the name of a tensor", &t->name))
        return false;
    if (t->name.len == 0 || t->name.len > MOST_NAME)
        return refuse_at(r, start,
                         "the name of a tensor has %zu bytes: must be from 1 "
                         "to %d",
                         t->name.len, MOST_NAME);
    const size_t at = r->at;
    if (!read_u32(r, what, &dims))
        return false;
    if (dims == 0 || dims > MOST_DIMS)
        return refuse_at(
            r, at, "a tensor has %" PRIu32 " dimensions: must be from 1 to %d",
            dims, MOST_DIMS);
    for (uint32_t i = 0; i < dims; i++) {
        if (!read_u64(r, what, &size))
            return false;
        if (size > SIZE_MAX || !xl__mul(i == 0 ? 1 : t->rows, (size_t)size,
                                        i == 0 ? &t->cols : &t->rows))
            return refuse_at(r, at, "the sizes of a tensor overflow");
    }
    const size_t type_at = r->at;
    if (!read_u32(r, what, &type))
        return false;
    t->type = gguf_find_type(type);
    if (!t->type) {
        (void)refuse_at(r, type_at, "tensor '%.*s' has ", (int)t->name.len,
                        t->name.text);
        gguf_list_types(type, r->why);
        return false;
    }
    return count_bytes(r, at, t) && read_u64(r, what, offset);
}

/* Where its data is. */
static bool locate(const struct reader *r, size_t start, size_t alignment,
                   uint64_t offset, struct gguf_tensor *t)
{
    const size_t len = r->g->len;
    if (offset % alignment != 0)
        return refuse_at(r, start,
                         "the data of tensor '%.*s' is at %" PRIu64
                         ", which is not a multiple of %zu",
                         (int)t->name.len, t->name.text, offset, alignment);
    if (start > len || offset > len - start ||
        t->bytes > len - start - (size_t)offset)
        return refuse_at(r, start,
                         "the data of tensor '%.*s', %zu bytes at %" PRIu64
                         ", exceeds the file's %zu bytes",
                         (int)t->name.len, t->name.text, t->bytes, offset,
                         len);
    t->of = r->g;
    t->at = start + (size_t)offset;
    return true;
}

/* -- all ------------------------------------------------------------------ */

static bool read_header(struct reader *r, size_t *n_tensors, size_t *n_values)
{
    static const char magic[] = "GGUF", what[] = "the header";
    const unsigned char *p = next_bytes(r, sizeof magic - 1, what);
    uint32_t version;
    if (!p)
        return false;
    if (memcmp(p, magic, sizeof magic - 1) != 0)
        return refuse_at(r, 0, "the file does not begin with 'GGUF'");
    const size_t at = r->at;
    if (!read_u32(r, what, &version))
        return false;
    if (version > 0 && (version & 0xFFFF) == 0)
        return refuse_at(r, at,
                         "the file is big-endian: must be little-endian");
    if (version != 2 && version != 3)
        return refuse_at(r, at,
                         "version %" PRIu32 " is not supported: must be 2 "
                         "or 3",
                         version);
    return read_count(r, "tensors", LEAST_TENSOR, n_tensors) &&
           read_count(r, "values of metadata", LEAST_VALUE, n_values);
}

static bool read_alignment(const struct reader *r, size_t *out)
{
    const struct gguf_value *v = gguf_find(r->g, "general.alignment");
    *out = ALIGNMENT;
    if (!v)
        return true;
    if (!(v->number >= LEAST_ALIGNMENT && v->number <= 1 << 20 &&
          fmod(v->number, LEAST_ALIGNMENT) == 0))
        return refuse_at(r, v->at,
                         "general.alignment must be a multiple of %d up to "
                         "2^20",
                         LEAST_ALIGNMENT);
    *out = (size_t)v->number;
    return true;
}

static bool read_values(struct reader *r, struct gguf *g, size_t n)
{
    g->value = xl__calloc(n + 1, sizeof *g->value);
    if (!g->value)
        return refuse_at(r, r->at, "out of memory for %zu values", n);
    for (; g->n_values < n; g->n_values++)
        if (!read_value(r, &g->value[g->n_values]))
            return false;
    qsort(g->value, n, sizeof *g->value, compare_values);
    for (size_t i = 1; i < n; i++)
        if (compare_values(&g->value[i - 1], &g->value[i]) == 0)
            return refuse_twice(r, g->value[i].key);
    return true;
}

static bool read_tensors(struct reader *r, struct gguf *g, size_t n,
                         uint64_t *offset)
{
    size_t alignment;
    if (!read_alignment(r, &alignment))
        return false;
    for (; g->n_tensors < n; g->n_tensors++)
        if (!read_tensor(r, &g->tensor[g->n_tensors], &offset[g->n_tensors]))
            return false;
    const size_t start = xl__round_up(r->at, alignment);
    for (size_t i = 0; i < n; i++)
        if (!locate(r, start, alignment, offset[i], &g->tensor[i]))
            return false;
    qsort(g->tensor, n, sizeof *g->tensor, compare_tensors);
    for (size_t i = 1; i < n; i++)
        if (compare_tensors(&g->tensor[i - 1], &g->tensor[i]) == 0)
            return refuse_twice(r, g->tensor[i].name);
    return true;
}

bool gguf_parse(const char *name, const void *bytes, size_t len,
                struct gguf *out, struct xl__str *why)
{
    return gguf_parse_head(name, bytes, len, len, out, why);
}

bool gguf_parse_head(const char *name, const void *bytes, size_t n_bytes,
                     size_t len, struct gguf *out, struct xl__str *why)
{
    struct reader r = {out, 0, why};
    size_t n_tensors, n_values;
    uint64_t *offset = NULL;
    *out = (struct gguf){
        .name = name, .bytes = bytes, .n_bytes = n_bytes, .len = len};
    if (!read_header(&r, &n_tensors, &n_values) ||
        !read_values(&r, out, n_values))
        return false;
    out->tensor = xl__calloc(n_tensors + 1, sizeof *out->tensor);
    offset = xl__calloc(n_tensors + 1, sizeof *offset);
    const bool is_read =
        out->tensor && offset
            ? read_tensors(&r, out, n_tensors, offset)
            : refuse_at(&r, r.at, "out of memory for %zu tensors", n_tensors);
    free(offset);
    return is_read;
}
