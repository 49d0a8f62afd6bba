/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check of the programs of a plan. What is checked provides a case:
 * memory by slot of a call, a plan of the same programs, the elements of each
 * result and their values by the host. selfcheck.c runs and judges it. */
#ifndef XL_OPS_SELFCHECK_H
#define XL_OPS_SELFCHECK_H

#include "base/dtype.h"
#include "runtime/launch.h"

/* Multiply-adds of a case on the host, and bytes of its memory, at most. */
enum {
    XL__CASE_MEMS = XL__MAX_MEMS,
    XL__CASE_TERMS = 1 << 26,
    XL__CASE_BYTES = 1 << 23,
    XL__CASE_BLOCK = 64, /* columns: see `expect` */
    XL__CASE_LABEL = 320
};

/* The elements of a result: a box in the memory of a slot. A stride may be 0,
 * and where it is negative it wraps. */
struct xl__case_result {
    const char *name; /* "C" */
    unsigned slot;
    xl_dtype dtype;
    unsigned n_dims;
    size_t first, size[XL_MAX_DIMS], stride[XL_MAX_DIMS]; /* elements */
};

struct xl__selfcheck_case {
    struct xl__call
        call; /* values set; mem is filled in when it is uploaded */
    /* By slot: the memory before the run and after it, on the heap. before is
     * NULL: unused; after is NULL: an operand that is not read back. */
    unsigned char *before[XL__CASE_MEMS], *after[XL__CASE_MEMS];
    size_t bytes[XL__CASE_MEMS];
    unsigned same_as[XL__CASE_MEMS]; /* slot with its memory; 0: its own */
    size_t loose_bytes; /* at the end of slot 0: may have any contents */
    struct xl__case_result *result; /* on the heap */
    unsigned n_results;
    size_t every; /* compare one element in so many; at most 1: all */
    /* The value of an element at an index of the box, and the bound of a
     * device's error. Elements come in blocks of columns (the last dimension),
     * so that what is decoded for a row or for the columns of a block can be
     * kept. */
    double (*expect)(const struct xl__selfcheck_case *t, unsigned result,
                     const size_t *at, double *error);
    /* More than one run: fills `before` for run i. A run of XL__PASS_REPEATED
     * gives the same elements as the first, bit for bit. NULL: one run with
     * the memory as it was made. */
    xl_status (*fill)(struct xl__selfcheck_case *t, unsigned pass);
    unsigned n_passes;
    unsigned char *first[XL__CASE_MEMS]; /* after the first of several runs */
    bool is_timed;  /* set before it is made: it is run, not compared */
    const void *of; /* what the case is of, for `expect` */
    void *own;      /* on the heap; freed with the case by clear_own() */
    void (*clear_own)(void *own); /* NULL: free() */
    char label[XL__CASE_LABEL];   /* the programs, in the text of a failure */
};

enum { XL__PASS_FIRST, XL__PASS_REPEATED };

/* Memory of n elements for a slot, filled with a byte; NULL: no memory. */
void *xl__case_add_memory(struct xl__selfcheck_case *t, unsigned slot,
                          size_t elems, xl_dtype dtype, int fill);
/* One more result; NULL: no memory. */
struct xl__case_result *xl__case_add_result(struct xl__selfcheck_case *t,
                                            const char *name, unsigned slot,
                                            xl_dtype dtype, size_t first);
/* Its next dimension, from the outermost on. */
void xl__case_add_dim(struct xl__case_result *r, size_t size, size_t stride);
/* The element at an index of the box, in the memory of the slot. */
size_t xl__case_element(const struct xl__case_result *r, const size_t *at);

/* Make buffers of all slots, and write those that are not read back. Of a
 * sample only results are read back, else all memory, so that a store outside
 * of the results is found anywhere. */
xl_status xl__case_upload(xl_queue *q, struct xl__selfcheck_case *t,
                          bool is_sample);
/* Write what is read back, before a run; wait for the run, and read it. */
xl_status xl__case_reset(xl_queue *q, struct xl__selfcheck_case *t);
xl_status xl__case_download(xl_queue *q, struct xl__selfcheck_case *t);
/* Whether all elements are right and no other memory changed; else `why` has
 * the first difference. Overwrites t->after. */
bool xl__case_compare(struct xl__selfcheck_case *t, unsigned pass, char *why,
                      size_t why_cap);
void xl__case_clear(struct xl__selfcheck_case *t);

/* What is checked. */
struct xl__checked {
    const char *name; /* "gemm_mma": in messages */
    const struct xl__cached_plan *ready;
    void *provider;
    /* Fills in a case and its plan, whose first steps are the programs of
     * `ready`. Both are zero; they are cleared whatever the status. */
    xl_status (*make_case)(void *provider, const struct xl__limits *l,
                           struct xl__selfcheck_case *t,
                           struct xl__plan *plan);
};

/* Whether these programs agree with the host. Runs the case, on a private
 * queue, if there is no verdict yet, and keeps the verdict with the programs.
 * Sets *trusted; the reason of a failure goes to the log and to `why`. Errors
 * are those of the run; they leave no verdict. */
xl_status xl__selfcheck(xl_queue *q, const struct xl__checked *what,
                        bool *trusted, char *why, size_t why_cap);

#endif
