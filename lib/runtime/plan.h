/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: the steps of a call as plain data. A variant's plan() makes it from
 * facts and a descriptor, without a device; plan_cache.c builds its kernels
 * and launch.c enqueues them.
 *
 *   plan  = scratch size, counts, estimate, steps
 *   step  = source, kernel, options, global and local size, arguments
 *   call  = what changes from call to call: memory, scalars, lists
 *
 * An argument of a step is a constant or refers to a slot of the call. */
#ifndef XL_RUNTIME_PLAN_H
#define XL_RUNTIME_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <crosslane/explain.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

#include "device/private_api.h"
#include "runtime/store/sources.h"

enum {
    XL__MAX_STEPS = 16,
    XL__MAX_ARGS = 128,
    XL__MAX_MEMS = 33,   /* memory operands of a call; slot 0 is scratch */
    XL__MAX_VALUES = 96, /* scalars of a call: offsets, alpha, beta, strides
                            of an epilogue */
    XL__MEM_SCRATCH = 0,
    XL__MEM_LIST = XL__MAX_MEMS, /* the device buffer of the call's lists */
    XL__MEM_ZEROS, /* zeros, which the kernels of the plan leave so */
    XL__MAX_LISTS = 3,
    XL__MAX_WORDS = 32 /* ulongs of one XL__ARG_WORDS */
};

struct xl__epilogue_text; /* epilogue.h */

/* The values of one call. An op's bind() fills it; the arguments of steps
 * refer to its slots. */
struct xl__call {
    xl_mem mem[XL__MAX_MEMS];
    union { double f; uint64_t u; } value[XL__MAX_VALUES];
    /* Host arrays of `list_bytes` each. The launch copies them to one device
     * buffer, one after the other. */
    const void *list[XL__MAX_LISTS];
    size_t list_bytes; /* 0: none */
};

enum xl__arg_kind {
    XL__ARG_MEM,       /* mem[slot]; a slot with neither buf nor svm is NULL */
    XL__ARG_VALUE_F32, /* value[slot].f as float */
    XL__ARG_VALUE_F64, /* value[slot].f as double */
    XL__ARG_VALUE_I32, /* value[slot].f as int */
    XL__ARG_VALUE_I64, /* value[slot].f as long */
    XL__ARG_VALUE_U64, /* value[slot].u + as.u as ulong */
    XL__ARG_VALUE_U32, /* value[slot].u as uint */
    XL__ARG_U32,
    XL__ARG_I32,
    XL__ARG_U64,
    XL__ARG_F32,    /* constants */
    XL__ARG_COORDS, /* coordinates of an element, as one ulong. Element e =
                       value[slot].u of memory with rows of `line` elements:
                       e % line + as.at[0] in the low 32 bits, e / line +
                       as.at[1] in the high ones */
    XL__ARG_LOCAL,  /* u bytes of local memory */
    XL__ARG_WORDS   /* the next u arguments, of kinds XL__ARG_U64,
                       XL__ARG_COORDS and XL__ARG_VALUE_U64, as one struct of
                       ulong: some drivers take as long for an argument of 8
                       bytes as for one of 100 (CP-15) */
};

struct xl__arg {
    enum xl__arg_kind kind;
    unsigned slot;
    union { uint64_t u; int64_t i; double f; uint32_t at[2]; } as;
    uint64_t line; /* of XL__ARG_COORDS */
};

struct xl__step;

/* Runs a step by a call of another library, on the queue's thread. Enqueues on
 * `native` and sets *done, which is not NULL on success; else `why` has the
 * reason. */
typedef xl_status (*xl__external)(const struct xl__step *step,
                                  const struct xl__call *call,
                                  cl_command_queue native, cl_event *done,
                                  char *why, size_t why_cap);

struct xl__step {
    const char *source; /* name of an embedded file, or a name for generated
                           text; static */
    const struct xl__embedded *embedded; /* a table with `source`; NULL: the
                                            library's (store/sources.h) */
    const char *text;   /* generated text; NULL: the embedded file's. Borrowed
                           until the plan is built */
    const struct xl__epilogue_text *hook[XL__N_HOOKS]; /* NULL: none */
    const char *kernel;  /* function name; the step's label; static */
    const char *target; /* target for retarget.c, as the vendor table names it;
                           static. NULL: the driver's own */
    char options[640];   /* -D set */
    unsigned dims;
    size_t global[3], local[3]; /* local[0] == 0: the driver chooses */
    size_t local_mem_bytes;     /* static and dynamic together */
    bool is_aid;   /* it prepares operands or joins sums: the last one to be
                      marked as failed, and not what reports describe */
    int slice_dim; /* the dimension along which a long launch may be
                      split between work-groups; -1: none */
    const char *exceeds; /* NULL, or the limit of this struct that its plan()
                            exceeds; static. Such a step is not built */
    unsigned n_args;
    struct xl__arg args[XL__MAX_ARGS];
    xl__external external;            /* NULL: a kernel of this library */
    unsigned char external_desc[256]; /* plain data of the external call */
};

/* A call may take several plans, one after the other. The first has the
 * scratch memory of all. */
struct xl__plan {
    struct xl__plan *next; /* heap; NULL: it is the last */
    void *own;             /* what generated steps borrow; NULL: nothing */
    void (*clear_own)(void *own);
    unsigned n_steps;
    bool has_large; /* xl__plan_permit_large() */
    size_t scratch_bytes, zeros_bytes;
    double flop, bytes;  /* counted, of the call */
    double est_ns;       /* the model's time */
    const char *bound;   /* the model's limiter; static */
    const char *note;    /* what is said besides of the choice; static; NULL */
    xl_tiling tiling;    /* rows 0: not set */
    struct xl__step step[XL__MAX_STEPS]; /* last: plan_cache.h */
};

/* Does `step` rather than `than`, or NULL, stand for a plan in reports? Steps
 * that are no helpers come first, then those with more work-items. */
bool xl__step_leads(const struct xl__step *step, const struct xl__step *than);
/* Free a plan on the heap and those after it; NULL is allowed. */
void xl__plan_destroy(struct xl__plan *plan);
/* The model's time of a plan and those after it. */
double xl__plan_est_ns(const struct xl__plan *plan);

/* Append a step of one dimension, `items` work-items in groups of `wg`; a long
 * launch may be split between groups. */
XL__PRIVATE_API struct xl__step *xl__plan_add(struct xl__plan *p,
                                              const char *source,
                                              const char *kernel, size_t items,
                                              size_t wg);
/* Make a step one of three dimensions, in groups of `wg` along the first, of
 * whose size x is at least the number of work-items. */
void xl__step_set_3d(struct xl__step *s, size_t wg, size_t x, size_t y,
                     size_t z);

/* Append an argument of each kind: enum xl__arg_kind. More than XL__MAX_ARGS
 * set s->exceeds, as options that do not fit do. */
XL__PRIVATE_API void xl__arg_mem(struct xl__step *s, unsigned slot);
void xl__arg_value_f32(struct xl__step *s, unsigned slot);
void xl__arg_value_f64(struct xl__step *s, unsigned slot);
void xl__arg_value_i32(struct xl__step *s, unsigned slot);
void xl__arg_value_i64(struct xl__step *s, unsigned slot);
void xl__arg_value_u64(struct xl__step *s, unsigned slot);
XL__PRIVATE_API void xl__arg_value_u32(struct xl__step *s, unsigned slot);
XL__PRIVATE_API void xl__arg_u32(struct xl__step *s, size_t v);
XL__PRIVATE_API void xl__arg_u64(struct xl__step *s, size_t v);
XL__PRIVATE_API void xl__arg_f32(struct xl__step *s, double v);
void xl__arg_coords(struct xl__step *s, unsigned slot, size_t line,
                    uint32_t at, uint32_t at_line);
XL__PRIVATE_API void xl__arg_local(struct xl__step *s, size_t bytes);
XL__PRIVATE_API void xl__arg_words(struct xl__step *s,
                                   size_t n); /* before the n arguments */
/* Append " -DNAME_CHOICE=1", with the choice in capitals: passes the text of a
 * fact to a kernel. Nothing for an empty text, an unknown fact. */
XL__PRIVATE_API void xl__define_choice(struct xl__step *s, const char *name,
                                       const char *choice);
/* Select the way of common/dot.clh, the fact `dot` or a choice of the caller:
 * "khr" is built as OpenCL C 3.0, which alone has its functions. */
XL__PRIVATE_API void xl__define_dot(struct xl__step *s, const char *way);
/* COOP_... of common/matrix/cooperative.clh, and its version of OpenCL C. */
XL__PRIVATE_API void xl__define_cooperative(struct xl__step *s,
                                            const xl_matrix_op *op);
/* Append " option" to the options. */
XL__PRIVATE_API void xl__step_add_option(struct xl__step *s,
                                         const char *option);
/* Append " -DNAME=value" to the options. */
XL__PRIVATE_API void xl__define(struct xl__step *s, const char *name,
                                long value);
struct xl__defined {
    const char *name;
    size_t value;
};
void xl__define_all(struct xl__step *s, const struct xl__defined *all,
                    size_t n);

struct xl__error;

/* XL_UNSUPPORTED: a step exceeds a limit of its struct; the message says
 * which. */
xl_status xl__plan_check(const struct xl__plan *plan, struct xl__error *e);

struct xl__tuned_sets; /* runtime/tuned/tuned_sets.h */

/* The kernels of a plan as the `sources` of a tuned set: "file:hash",
 * separated by blanks, without generated text and external steps. XL_OVERFLOW:
 * longer than `cap`. */
xl_status xl__plan_sources(const struct xl__tuned_sets *db,
                           const struct xl__plan *plan, char *out, size_t cap,
                           struct xl__error *e);

#endif
