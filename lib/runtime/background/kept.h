/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of what a descriptor points to, for a call in the background: the
 * caller may free its own, and release its memory objects, at once. */
#ifndef XL_RUNTIME_KEPT_H
#define XL_RUNTIME_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include <crosslane/epilogue.h>
#include <crosslane/expr.h>

/* All zero: nothing is kept. */
struct xl__kept {
    void **block;
    cl_mem *mem;
    size_t n_blocks, cap_blocks, n_mems, cap_mems;
    bool is_broken; /* memory ran out: a copy is missing */
};

/* A copy, freed by xl__kept_clear(); NULL for NULL, and when out of memory. */
void *xl__keep(struct xl__kept *k, const void *from, size_t bytes);
const char *xl__keep_text(struct xl__kept *k, const char *text);
/* Retain a memory object until xl__kept_clear(). What is no memory object is
 * left for the call to refuse. */
void xl__keep_mem(struct xl__kept *k, xl_mem *m);
/* Copies of bindings, their names and their memory; NULL where they are more
 * than any call takes. */
const xl_binding *xl__keep_bindings(struct xl__kept *k, const xl_binding *from,
                                    unsigned n);
void xl__keep_epilogue(struct xl__kept *k, xl_epilogue *e);
void xl__kept_clear(struct xl__kept *k);

#endif
