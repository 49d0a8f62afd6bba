/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a kernel, as --arg gives each, in the order of the kernel:
 *
 *   in|out|inout:TYPE:LENGTH[:FILL]   a buffer of LENGTH elements
 *   local:TYPE:LENGTH                 local memory
 *   TYPE=VALUE                        a scalar; a vector has VALUE in each
 *                                     component
 *
 * TYPE is that of OpenCL C (float, uint, half, float4) or clbench's (f32, u32,
 * f16, bf16). LENGTH and VALUE are formulas; VALUE of a float may be a decimal
 * number. FILL, of what a kernel reads: normal (when not given: nearly normal
 * numbers, integers of deviation 32), zeros, iota (the index), below=FORMULA
 * (random integers from 0 to below it). An `out` buffer is written whole. */
#ifndef CLBENCH_KERNEL_ARGUMENTS_H
#define CLBENCH_KERNEL_ARGUMENTS_H

#include <crosslane/dtype.h>

#include "base/rng.h"
#include "kernel/formula.h"

/* A type of OpenCL C without its width. */
struct element {
    const char *name;  /* "float" */
    const char *alias; /* "f32" */
    size_t bytes;
    enum element_kind { ELEMENT_FLOAT, ELEMENT_SIGNED, ELEMENT_UNSIGNED } kind;
    xl_dtype dtype; /* of a float; XL_N_DTYPES: an integer */
};

/* Find a type, "float4" or "f32"; NULL: none. *width: its components. */
const struct element *element_find(const char *text, size_t len,
                                   unsigned *width);
/* Element i of an array; its text, exact. */
double element_load(const void *data, size_t i, const struct element *e);
void element_text(const void *data, size_t i, const struct element *e,
                  char *out, size_t cap);

enum argument_role { ARG_IN, ARG_OUT, ARG_INOUT, ARG_LOCAL, ARG_SCALAR };
enum argument_fill { FILL_NORMAL, FILL_ZEROS, FILL_IOTA, FILL_BELOW };

struct argument {
    char *text; /* as it was given, on the heap */
    enum argument_role role;
    const struct element *element;
    unsigned width;
    const char *formula; /* LENGTH or VALUE */
    enum argument_fill fill;
    const char *below; /* of FILL_BELOW */
    char *parts;       /* the text, cut into its fields; on the heap */
};

static inline bool argument_is_buffer(const struct argument *a)
{
    return a->role <= ARG_INOUT;
}

/* Components of a vector in memory: three are stored as four. */
static inline size_t argument_stored_width(const struct argument *a)
{
    return a->width == 3 ? 4 : a->width;
}

/* Read one --arg. False: *why is the message. argument_clear() in any case. */
bool argument_read(const char *text, struct argument *out,
                   struct xl__str *why);
void argument_clear(struct argument *a);

/* The elements of a buffer or of local memory, components of vectors counted,
 * at least 1. False: *why is the message. */
bool argument_length(const struct argument *a, const struct bindings *names,
                     size_t *out, struct xl__str *why);
/* The bytes of a scalar; *n: how many. */
enum { SCALAR_BYTES_MOST = 128 };
bool argument_scalar(const struct argument *a, const struct bindings *names,
                     unsigned char out[SCALAR_BYTES_MOST], size_t *n,
                     struct xl__str *why);
/* Check FILL, and its limit: *below is 0 without one. */
bool argument_limit(const struct argument *a, const struct bindings *names,
                    uint64_t *below, struct xl__str *why);
/* Fill n elements. */
void argument_fill(const struct argument *a, uint64_t below, void *data,
                   size_t n, struct xl__rng *rng);

#endif
