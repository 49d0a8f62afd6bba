/* SPDX-License-Identifier: Apache-2.0 */
/* One expression with its bindings and memory, run on a device and compared
 * byte by byte with the host's evaluation of the same graph. Every buffer is
 * filled with random bytes first, so guard zones and the gaps of strided views
 * have them: bytes that no output covers must not change. */
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
    unsigned char *before, *after; /* a run: as uploaded, as read back */
    cl_mem mem;
};

struct expr_case {
    struct xl__rng rng;
    uint64_t seed;
    bool fast_math;
    bool loses_nan; /* this driver may return anything in place of NaN, and a
                       self-check may find that it does */
    struct xl__str text;
    char name[CASE_NAMES][CASE_NAME];
    xl_binding binding[CASE_NAMES];
    unsigned buffer[CASE_NAMES];
    enum case_fill fill[CASE_NAMES];
    unsigned n;
    struct case_buffer mem[CASE_NAMES];
    unsigned n_buffers;
    /* Of the last comparison: elements, and those of them whose error bound is
     * tight (finite, and small compared with the value). */
    size_t n_elems, n_tight;
};

void case_init(struct expr_case *c, uint64_t seed, const char *text);
void case_clear(struct expr_case *c);

/* Bind a name: a tensor in its own buffer, at a random offset (case_tensor);
 * one in another binding's buffer, behind what is there (case_beside); the
 * same view as another's (case_alias); a scalar. Each returns the binding's
 * number. */
unsigned case_tensor(struct expr_case *c, const char *name, xl_dtype dtype,
                     const struct case_view *view);
unsigned case_beside(struct expr_case *c, const char *name, unsigned other,
                     const struct case_view *view);
unsigned case_alias(struct expr_case *c, const char *name, unsigned other);
unsigned case_scalar(struct expr_case *c, const char *name, xl_dtype dtype,
                     double value);
/* A dense tensor; `size` ends with 0. */
unsigned case_dense(struct expr_case *c, const char *name, xl_dtype dtype,
                    const size_t *size);
#define CASE_SIZES(...) ((const size_t[XL_MAX_DIMS + 1]){__VA_ARGS__})

/* Bind everything and fill the host's memory, by "name dtype sizes" or "name
 * dtype sizes/strides", "name = value" (2i: an i32), "name @other" (the same
 * view), separated by semicolons. "-" is no dimension; a dtype that ends in !
 * has NaN and infinities among its values, in ~ wide ones. */
void case_bind(struct expr_case *c, const char *bind);

/* Fill the host's memory, by each binding's fill. Call once, after binding. */
bool case_fill(struct expr_case *c);

/* Compile, run with this variant, compare. False: the failure is printed to
 * stderr. */
bool case_right(struct expr_case *c, xl_queue *q, const char *variant);
/* The single steps of case_right(). */
bool case_upload(struct expr_case *c, xl_queue *q);
void case_release(struct expr_case *c); /* the device's memory */
bool case_compare(struct expr_case *c, xl_queue *q);
/* Is the status XL_OK? Otherwise print `what` and the error to stderr. */
bool case_works(const struct expr_case *c, xl_queue *q, xl_status status,
                const char *what);
void case_args(struct expr_case *c, const char *variant, xl_expr_args *out);

/* Load element `i` of an array of any dtype, as the language reads it; store
 * the nearest value. */
double case_load(const void *data, size_t i, xl_dtype dtype);
void case_store(void *data, size_t i, xl_dtype dtype, double x);

#endif
