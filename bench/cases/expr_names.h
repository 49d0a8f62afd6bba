/* SPDX-License-Identifier: Apache-2.0 */
/* The names of an expression: shape, type, memory layout and data of each, as
 * the command line and the case table give them, in comma-separated lists:
 *
 *   shapes    x=4096x4096:f16,out=4096x1    SHAPE[:TYPE][:t][:padN][:offN]
 *   scalars   eps=1e-5,seed=7:i32           VALUE[:TYPE]
 *   ranges    x=-10:10,i=index              LO:HI or index
 *
 * t: the last two dimensions are stored transposed; padN: N elements between
 * stored rows; offN: N elements before the first. */
#ifndef CLBENCH_CASES_EXPR_NAMES_H
#define CLBENCH_CASES_EXPR_NAMES_H

#include <stdbool.h>

#include <crosslane/crosslane.h>

#include "base/rng.h"

enum expr_filling {
    FILL_DEFAULT, /* nearly normal; integers and bools from a small range */
    FILL_RANGE,   /* uniform from lo to hi; integers: both included */
    FILL_INDEX    /* the element's position in its row */
};

struct expr_name {
    char name[XL_EXPR_MAX_NAME + 1];
    bool is_scalar, is_input, is_result;
    double scalar;
    bool has_dtype;
    xl_dtype dtype;
    unsigned n_dims;
    size_t size[XL_MAX_DIMS];
    bool has_shape; /* n_dims and size are known */
    bool is_found;  /* the shape is that of its value, not given */
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

/* Size of a message about an invalid list. */
enum { EXPR_WHY_CAP = 240 };

/* Read a comma-separated list into the spec; new names are added. False: *why
 * is the message. */
bool expr_read_shapes(struct expr_spec *s, const char *list, char *why);
bool expr_read_scalars(struct expr_spec *s, const char *list, char *why);
bool expr_read_ranges(struct expr_spec *s, const char *list, char *why);

/* The entry of a name, given as `len` bytes; NULL: none. */
struct expr_name *expr_find(struct expr_spec *s, const char *name, size_t len);
/* Find or add the entry of a name; NULL: the list is full, or the name is too
 * long. */
struct expr_name *expr_need(struct expr_spec *s, const char *name, size_t len);

/* Compute strides from sizes and layout. False: a tensor does not fit in 64
 * bits; *why is the message. */
bool expr_spec_settle(struct expr_spec *s, char *why);
/* The stored matrix: rows of cols elements, pad elements between them. */
void expr_stored(const struct expr_name *n, size_t *rows, size_t *cols);
size_t expr_elems(const struct expr_name *n);        /* of the view */
size_t expr_stored_elems(const struct expr_name *n); /* of its memory */
/* Offset of element i[0 .. n_dims - 1] from the first. */
size_t expr_offset(const struct expr_name *n, const size_t *i);
/* The indices of the view's element number `at`; the last dimension is the
 * fastest. */
void expr_index(const struct expr_name *n, size_t at, size_t *i);

/* One random element; `col` is its index in the stored row. */
double expr_random(const struct expr_name *n, size_t col, struct xl__rng *rng);
/* Fill a tensor's memory. */
void expr_fill(const struct expr_name *n, void *data, struct xl__rng *rng);

/* Make the bindings for the library. mem: the buffer of each name, NULL: none;
 * first: the offset of each first element, NULL: from the layout. */
void expr_bindings(const struct expr_spec *s, const cl_mem *mem,
                   const size_t *first, xl_binding *out);

/* Append "4096x4096"; "1" for no dimensions. */
struct xl__str;
void expr_shape_text(struct xl__str *out, const struct expr_name *n);

/* -- names in a text --------------------------------------------------------
 *
 * The names that an expression reads and assigns, which determine the
 * bindings. Errors in the text are not reported here; the library does that.
 */

enum { EXPR_MAX_SEEN = 4 * XL_EXPR_MAX_BINDINGS };

struct expr_seen {
    char name[XL_EXPR_MAX_NAME + 1];
    bool is_read_first; /* before any assignment */
    bool is_assigned;
    bool is_whole;      /* some assignment is to all of it, not to a slice */
    bool is_read_later; /* after an assignment */
};

struct expr_scan {
    struct expr_seen name[EXPR_MAX_SEEN];
    unsigned n;
};

/* Find the names, in the order of the text; those beyond EXPR_MAX_SEEN are
 * left out. */
void expr_scan(const char *text, struct expr_scan *out);

#endif
