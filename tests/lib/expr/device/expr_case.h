/* SPDX-License-Identifier: Apache-2.0 */
/* One expression with its bindings and memory: given to the device, and
 * compared byte by byte with the host's evaluation of the same graph. Every
 * buffer has guard zones of random bytes, and so have the gaps of strided
 * views: what no output covers must be as it was. */
#ifndef XL_TESTS_EXPR_CASE_H
#define XL_TESTS_EXPR_CASE_H

#include <crosslane/crosslane.h>

#include "base/rng.h"
#include "base/str.h"
#include "expr/graph/graph.h"

enum { CASE_NAMES = 24, CASE_NAME = 8 };

/* Values of a tensor's elements. */
enum case_fill {
    FILL_PLAIN,    /* of ordinary size, with ties and zeros */
    FILL_SPECIALS, /* the same with NaN and infinities among them */
    FILL_WIDE      /* magnitudes from 2^-20 to 2^20, both signs */
};

/* A layout; strides NULL: dense. */
struct case_view {
    unsigned n_dims;
    size_t size[XL_MAX_DIMS];
    size_t stride[XL_MAX_DIMS];
    bool is_strided;
};

struct case_buffer {
    size_t bytes;
    unsigned char *before, *after; /* the device's work: between them */
    cl_mem mem;
};

struct expr_case {
    struct xl__rng rng;
    uint64_t seed;
    bool fast_math;
    bool loses_nan; /* this driver: where NaN is due, anything may come */
    struct xl__str text;
    char name[CASE_NAMES][CASE_NAME];
    xl_binding binding[CASE_NAMES];
    unsigned buffer[CASE_NAMES];
    enum case_fill fill[CASE_NAMES];
    unsigned n;
    struct case_buffer mem[CASE_NAMES];
    unsigned n_buffers;
    /* Of the last comparison: elements, and those among them whose bound says
     * something (finite, and small beside the value). */
    size_t n_elems, n_tight;
};

void case_init(struct expr_case *c, uint64_t seed, const char *text);
void case_clear(struct expr_case *c);

/* Bind a name: a tensor in memory of its own, at an odd place; one behind
 * what another binding's buffer holds; the same view as another's; a scalar.
 * Each returns the binding's number. */
unsigned case_tensor(struct expr_case *c, const char *name, xl_dtype dtype,
                     const struct case_view *view);
unsigned case_beside(struct expr_case *c, const char *name, unsigned other,
                     const struct case_view *view);
unsigned case_alias(struct expr_case *c, const char *name, unsigned other);
unsigned case_scalar(struct expr_case *c, const char *name, xl_dtype dtype,
                     double value);
/* Dense, sizes up to the first 0. */
unsigned case_dense(struct expr_case *c, const char *name, xl_dtype dtype,
                    const size_t *size);
#define CASE_SIZES(...) ((const size_t[XL_MAX_DIMS + 1]){__VA_ARGS__})

/* Bind everything and fill the host's memory, by "name dtype sizes" or "name
 * dtype sizes/strides", "name = value" (2i: an i32), "name @other" (the same
 * view), parted by semicolons. "-" is no dimension; a dtype that ends in ! has
 * NaN and infinities among its values, in ~ wide ones. */
void case_bind(struct expr_case *c, const char *bind);

/* Fill the host's memory, by each binding's fill. Once, after binding. */
bool case_fill(struct expr_case *c);

/* Compile, run by this variant, compare; false with the story on stderr. */
bool case_right(struct expr_case *c, xl_queue *q, const char *variant);
/* The steps of it, for who wants to do something in between. */
bool case_upload(struct expr_case *c, xl_queue *q);
void case_release(struct expr_case *c); /* the device's memory */
bool case_compare(struct expr_case *c, xl_queue *q);
/* Is it XL_OK? Else the story is told. */
bool case_works(const struct expr_case *c, xl_queue *q, xl_status status,
                const char *what);
void case_args(struct expr_case *c, const char *variant, xl_expr_args *out);

/* Element `i` of an array of any dtype, as the language reads it; and the
 * nearest one it stores. */
double case_load(const void *data, size_t i, xl_dtype dtype);
void case_store(void *data, size_t i, xl_dtype dtype, double x);

#endif
