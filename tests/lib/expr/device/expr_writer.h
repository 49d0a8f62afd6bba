/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that write random expressions share: expr_leaves.c has names
 * and their layouts, expr_writer.c what is made of them, expr_random.c the
 * statements. */
#ifndef XL_TESTS_EXPR_WRITER_H
#define XL_TESTS_EXPR_WRITER_H

#include "lib/expr/device/expr_case.h"

enum kind { BOOLS, INTS, FLOATS };
enum { MAX_LEAVES = 12, MAX_DEPTH = 5, MAX_OUTPUTS = 8, LEAF_TEXT = 96 };

/* What a name, as written in `text`, stands for. */
struct leaf {
    char text[LEAF_TEXT];
    enum kind kind;
    struct xl__shape shape;
    unsigned binding;  /* CASE_NAMES: a temporary */
    bool is_whole;     /* a name alone */
    bool is_written;   /* was assigned: by no second name, then */
};

struct writer {
    struct expr_case *c;
    struct xl__rng rng;
    struct xl__shape all; /* what everything broadcasts to */
    struct leaf leaf[MAX_LEAVES];
    unsigned n_leaves, n_temps;
};

static inline unsigned below(struct writer *w, unsigned n)
{
    return (unsigned)xl__rng_below(&w->rng, n);
}

static inline bool once_in(struct writer *w, unsigned n)
{
    return below(w, n) == 0;
}

static inline void put(struct writer *w, const char *text)
{
    xl__str_add(&w->c->text, text);
}

/* One of a NULL-terminated list. */
const char *writer_pick(struct writer *w, const char *const *names);

/* -- expr_leaves.c --------------------------------------------------------- */

struct xl__shape shape_meet(struct xl__shape a, struct xl__shape b);
struct xl__shape shape_random(struct writer *w, size_t most);
/* Strides in a random order of the dimensions, with gaps; an input may repeat
 * a dimension. */
struct case_view layout_random(struct writer *w, const struct xl__shape *s,
                               bool is_input);
xl_dtype dtype_random(struct writer *w, enum kind kind);
/* A letter and a number; room for CASE_NAME bytes. */
void name_random(char *to, char letter, unsigned number);

/* Is there room for one more name, and then for the outputs' own? */
bool leaf_has_room(const struct writer *w);
struct leaf *leaf_tensor(struct writer *w, enum kind kind);
/* Write a leaf; any leaf of a kind, or a number. */
struct xl__shape leaf_put(struct writer *w, const struct leaf *l);
struct xl__shape leaf_write(struct writer *w, enum kind kind);
void leaf_number(struct writer *w, enum kind kind);

/* -- expr_writer.c --------------------------------------------------------- */

/* An expression of a kind; its shape. */
struct xl__shape writer_write(struct writer *w, enum kind kind,
                              unsigned depth);

#endif
