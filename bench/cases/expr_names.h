/* SPDX-License-Identifier: Apache-2.0 */
/* What the names of an expression stand for, as the command line and the case
 * table spell it:
 *
 *   shapes    x=4096x4096:f16,out=4096x1    SHAPE[:TYPE][:t][:padN][:offN]
 *   scalars   eps=1e-5,seed=7:i32           VALUE[:TYPE]
 *   ranges    x=-10:10,i=index              LO:HI or index
 *
 * t: the last two dimensions are stored the other way round; padN: N elements
 * between stored rows; offN: N elements before the first. */
#ifndef CLBENCH_CASES_EXPR_NAMES_H
#define CLBENCH_CASES_EXPR_NAMES_H

#include <stdbool.h>

#include <crosslane/crosslane.h>

#include "base/rng.h"

enum expr_filling {
    FILL_DEFAULT, /* near-normal; integers from a small range; bools alike */
    FILL_RANGE,   /* uniform in lo .. hi, of integers both included */
    FILL_INDEX    /* the element's place in its row */
};

struct expr_name {
    char name[XL_EXPR_MAX_NAME + 1];
    bool is_scalar, is_input, is_result;
    double scalar;
    bool has_dtype;
    xl_dtype dtype;
    unsigned n_dims;
    size_t size[XL_MAX_DIMS];
    bool has_shape; /* else nobody knows n_dims and size yet */
    bool is_found;  /* that shape is its value's, not the user's */
    bool is_transposed;
    size_t pad, off;
    enum expr_filling fill;
    double lo, hi;
    size_t stride[XL_MAX_DIMS]; /* by expr_spec_settle() */
};

struct expr_spec {
    const char *text;
    struct expr_name name[XL_EXPR_MAX_BINDINGS];
    unsigned n;
};

/* Why a spelling will not do; room for any of these. */
enum { EXPR_WHY_CAP = 240 };

/* Read a comma-separated list into the spec, adding names that are new. False:
 * *why says what is wrong. */
bool expr_read_shapes(struct expr_spec *s, const char *list, char *why);
bool expr_read_scalars(struct expr_spec *s, const char *list, char *why);
bool expr_read_ranges(struct expr_spec *s, const char *list, char *why);

/* The entry of a name, given as `len` bytes; NULL: none. */
struct expr_name *expr_find(struct expr_spec *s, const char *name, size_t len);
/* The same, made when there is none; NULL: the list is full, or it is too
 * long for a name. */
struct expr_name *expr_need(struct expr_spec *s, const char *name, size_t len);

/* Strides from sizes and layout; false: a tensor does not fit in 64 bits. */
bool expr_spec_settle(struct expr_spec *s, char *why);
/* How a tensor is stored: rows of cols elements, pad between; off before. */
void expr_stored(const struct expr_name *n, size_t *rows, size_t *cols);
size_t expr_elems(const struct expr_name *n);        /* of the view */
size_t expr_stored_elems(const struct expr_name *n); /* of its memory */
/* Place of element i[0 .. n_dims - 1] behind the first. */
size_t expr_place(const struct expr_name *n, const size_t *i);
/* The index of the view's element `at`, counted with the last dimension
 * fastest. */
void expr_index(const struct expr_name *n, size_t at, size_t *i);

/* One random element; `col` is its place in the stored row. */
double expr_random(const struct expr_name *n, size_t col, struct xl__rng *rng);
/* Every element of a tensor's memory. */
void expr_fill(const struct expr_name *n, void *data, struct xl__rng *rng);

/* Bindings for the library: memory per name, NULL: absent; `first[i]`: the
 * place of the first element, NULL: that of the layout. */
void expr_bindings(const struct expr_spec *s, const cl_mem *mem,
                   const size_t *first, xl_binding *out);

/* "4096x4096"; "1" for no dimensions. */
struct xl__str;
void expr_shape_text(struct xl__str *out, const struct expr_name *n);

/* Which names a text reads and assigns, seen from outside: enough to know what
 * to bind. What is not in the language is left to the library to tell. */

enum { EXPR_MAX_SEEN = 4 * XL_EXPR_MAX_BINDINGS };

struct expr_seen {
    char name[XL_EXPR_MAX_NAME + 1];
    bool is_read_first; /* before any assignment */
    bool is_assigned;
    bool is_whole;      /* one assignment is to all of it, not to a slice */
    bool is_read_later; /* after an assignment */
};

struct expr_scan {
    struct expr_seen name[EXPR_MAX_SEEN];
    unsigned n;
};

/* In the order in which they are met; names beyond the room are left out. */
void expr_scan(const char *text, struct expr_scan *out);

#endif
