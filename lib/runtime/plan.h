/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: plain data that says what to run. Made by a variant's plan() with no
 * device at hand; only launch.c turns one into work. */
#ifndef XL_RUNTIME_PLAN_H
#define XL_RUNTIME_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <crosslane/explain.h>
#include <crosslane/queue.h>
#include <crosslane/tensor.h>

enum {
    XL__MAX_STEPS = 8,
    XL__MAX_ARGS = 128,
    XL__MAX_MEMS = 33,   /* memory operands of a call; slot 0 is scratch */
    XL__MAX_VALUES = 33, /* scalars of a call: offsets, alpha, beta */
    XL__MEM_SCRATCH = 0,
    XL__MEM_LIST = XL__MAX_MEMS, /* the call's lists, one after the other */
    XL__MAX_LISTS = 3,
    XL__MAX_WORDS = 32   /* of one struct */
};

struct xl__epilogue_text; /* snippet.h */

/* What changes from call to call while the plan stays: an op's bind() fills
 * it, its variants refer to the slots. */
struct xl__call {
    xl_mem mem[XL__MAX_MEMS];
    union { double f; uint64_t u; } value[XL__MAX_VALUES];
    /* Host arrays of `list_bytes` each, which kernels see as one buffer; the
     * launch copies them to the device. */
    const void *list[XL__MAX_LISTS];
    size_t list_bytes; /* 0: none */
};

enum xl__arg_kind {
    XL__ARG_MEM,       /* mem[slot]; a slot with neither buf nor svm is NULL */
    XL__ARG_VALUE_F32, /* value[slot].f as float */
    XL__ARG_VALUE_F64, /* value[slot].f as double */
    XL__ARG_VALUE_I32, /* value[slot].f as int */
    XL__ARG_VALUE_U64, /* value[slot].u + as.u as ulong */
    XL__ARG_VALUE_U32, /* value[slot].u as uint */
    XL__ARG_U32,
    XL__ARG_I32,
    XL__ARG_U64,
    XL__ARG_F32,    /* constants */
    XL__ARG_COORDS, /* element value[slot].u of memory in lines of `line`
                      elements, as one ulong: its place in the line plus
                      as.at[0] below, the line plus as.at[1] above */
    XL__ARG_LOCAL,  /* u bytes of local memory */
    XL__ARG_WORDS   /* the next u arguments, XL__ARG_U64, XL__ARG_COORDS
                       and XL__ARG_VALUE_U64, as one struct of ulong: some
                       drivers take as long over an argument of 8 bytes as
                       over one of 100 (CP-15) */
};

struct xl__arg {
    enum xl__arg_kind kind;
    unsigned slot;
    union { uint64_t u; int64_t i; double f; uint32_t at[2]; } as;
    uint64_t line; /* of XL__ARG_COORDS */
};

struct xl__step;

/* A step that another library runs. Called on the queue's thread; enqueues on
 * `native` and sets *done (never NULL then). */
typedef xl_status (*xl__external)(const struct xl__step *step,
                                  const struct xl__call *call,
                                  cl_command_queue native, cl_event *done,
                                  char *why, size_t why_cap);

struct xl__step {
    const char *source;  /* base name of an embedded file, or what generated
                            text is called; static */
    const char *text;    /* generated text; NULL: the embedded file's. Borrowed
                            until the plan is ready */
    const struct xl__epilogue_text
        *snippet;        /* in place of common/epilogue.clh; NULL: the
                      file itself */
    const char *kernel;  /* function name; the step's label; static */
    const char *target;  /* the machine it needs, by the vendor table's
                            words, where the driver builds for less; static.
                            NULL: what the driver builds for */
    char options[640];   /* -D set */
    unsigned dims;
    size_t global[3], local[3]; /* local[0] == 0: the driver chooses */
    size_t local_mem_bytes;     /* static and dynamic together */
    bool is_aid;         /* of many variants' plans, and so the last to be
                            blamed for a wrong result */
    int slice_dim;       /* the dimension along which a long launch may be cut
                            at work-group borders; -1: it may not */
    unsigned n_args;
    struct xl__arg args[XL__MAX_ARGS];
    xl__external external; /* NULL: a kernel of ours */
    unsigned char external_desc[256]; /* plain data of the external call */
};

struct xl__plan {
    unsigned n_steps;
    struct xl__step step[XL__MAX_STEPS];
    size_t scratch_bytes;
    double flop, bytes;  /* counted, of the whole call */
    double est_ns;       /* the model's time */
    const char *bound;   /* what limits it by the model; static */
    xl_tiling tiling;    /* rows 0: the plan does not say */
};

/* Append arguments. */
void xl__arg_mem(struct xl__step *s, unsigned slot);
void xl__arg_value_f32(struct xl__step *s, unsigned slot);
void xl__arg_value_f64(struct xl__step *s, unsigned slot);
void xl__arg_value_i32(struct xl__step *s, unsigned slot);
void xl__arg_value_u64(struct xl__step *s, unsigned slot);
void xl__arg_value_u32(struct xl__step *s, unsigned slot);
void xl__arg_u32(struct xl__step *s, size_t v);
void xl__arg_u64(struct xl__step *s, size_t v);
void xl__arg_f32(struct xl__step *s, double v);
void xl__arg_coords(struct xl__step *s, unsigned slot, size_t line,
                    uint32_t at, uint32_t at_line);
void xl__arg_local(struct xl__step *s, size_t bytes);
void xl__arg_words(struct xl__step *s, size_t n); /* then the n arguments */
/* Append " -DWHAT_WAY=1", the way in capitals: a fact's text to a kernel. */
void xl__define_choice(struct xl__step *s, const char *what, const char *way);
/* Append " -DNAME=value" to the options. */
void xl__define(struct xl__step *s, const char *name, long value);

struct xl__error;
struct xl__tuned_sets; /* runtime/tuned/tuned_sets.h */

/* The kernels that a plan runs, as `sources` of a tuned set: "file:hash" by
 * blanks, without generated text and other libraries' kernels. */
xl_status xl__plan_sources(const struct xl__tuned_sets *db,
                           const struct xl__plan *plan, char *out, size_t cap,
                           struct xl__error *e);

#endif
