/* SPDX-License-Identifier: Apache-2.0 */
/* What `clbench kernel` is asked to do: files and kernels, arguments, launch,
 * counts; its cases, which are the combinations of sizes, and its variants,
 * which are those of -D, for each file that is timed. */
#ifndef CLBENCH_KERNEL_JOB_H
#define CLBENCH_KERNEL_JOB_H

#include "kernel/arguments.h"
#include "kernel/axes.h"
#include "timing/run_cases.h"

enum { KERNEL_ARGS_MOST = 32, KERNEL_DIMS = 3, KERNEL_CASES_MOST = 256 };

/* The launch, as formulas: "round_up(N, 64),M". */
struct launch_text {
    char *dim[KERNEL_DIMS]; /* on the heap */
    unsigned n;             /* 0: not given */
};

/* A file with the kernel to run, FILE.cl[:KERNEL][@GLOBAL[@LOCAL]]. */
struct kernel_source {
    char *path, *kernel; /* on the heap; kernel NULL: the only one */
    char *text;
    size_t len;
    struct launch_text global, local;
};

enum { SOURCE_TESTED, SOURCE_AGAINST, SOURCE_CHECK, N_SOURCES };

struct kernel_job {
    struct session *s;
    struct kernel_source source[N_SOURCES]; /* path NULL: not given */
    struct axes sizes, defines;
    struct argument arg[KERNEL_ARGS_MOST];
    unsigned n_args;
    unsigned n_cases, n_defines; /* combinations */
    /* Of variant i: the combination of -D is i / n_timed, the file
     * i % n_timed. */
    unsigned n_timed;                   /* 2 with --against */
    char *label[BENCH_MAX_CHOICES + 1]; /* NULL-terminated */
    unsigned n_logs;                    /* build logs that were printed */
    struct xl__str title, note;         /* of the section */
};

/* A combination of sizes. Lengths are over these and the -D with one value. */
struct kernel_case {
    struct kernel_job *job;
    struct bindings sizes;
    size_t elems[KERNEL_ARGS_MOST]; /* of a buffer; else 0 */
    uint64_t below[KERNEL_ARGS_MOST];
};

/* One variant of one case, evaluated. */
struct kernel_plan {
    struct bindings names;
    size_t global[KERNEL_DIMS], local[KERNEL_DIMS]; /* local 0: the driver's */
    unsigned dims;
    unsigned char scalar[KERNEL_ARGS_MOST][SCALAR_BYTES_MOST];
    size_t bytes[KERNEL_ARGS_MOST]; /* of a scalar or of local memory */
    double flop, moved_bytes;       /* counted; 0: not given */
};

/* Read the settings and the files. False: *why is the message.
 * kernel_job_clear() in any case. */
bool kernel_job_read(struct session *s, struct kernel_job *out,
                     struct xl__str *why);
void kernel_job_clear(struct kernel_job *job);
/* The number of the variant with this label. */
unsigned kernel_job_variant(const struct kernel_job *job, const char *label);
/* Evaluate combination i of the sizes. */
bool kernel_case_read(struct kernel_job *job, unsigned i,
                      struct kernel_case *out, struct xl__str *why);
/* Evaluate what one file runs in a case with combination `defines` of -D. */
bool kernel_plan_read(const struct kernel_case *c, unsigned defines,
                      const struct kernel_source *source,
                      struct kernel_plan *out, struct xl__str *why);

#endif
