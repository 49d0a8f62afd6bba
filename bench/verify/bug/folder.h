/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a report: programs, a host program, inputs, device facts. */
#ifndef CLBENCH_BUG_FOLDER_H
#define CLBENCH_BUG_FOLDER_H

#include "cases/gemm_cases.h"
#include "results/embedded.h"
#include "verify/bug/record.h"

/* A call whose result was wrong. */
struct bug {
    const char *variant, *case_text;
    xl_device *dev;
    const struct record *call;
    const struct check_result *found;
};

/* The end of each host program, which is the same in all; NULL name last. */
extern const struct embedded bug_texts[];

/* The host program: repro.c. */
void bug_host_program(const struct bug *b, struct xl__str *out);
/* The name of the file of a program: "kernel.cl", "kernel_2.cl". */
enum { BUG_NAME_CAP = 32 };
void bug_program_file(const struct bug *b, size_t program,
                      char out[BUG_NAME_CAP]);
/* Its text: source that stands alone, with the macros of the build options;
 * or a binary. And the options that are left. */
void bug_program_text(const struct bug *b, size_t program,
                      struct xl__str *out);
void bug_program_options(const struct bug *b, size_t program,
                         struct xl__str *out);
/* Create the folder, which must not exist, and its files. XL_IO (errno kept),
 * XL_NO_SPACE, XL_NO_MEMORY. */
xl_status bug_folder_write(const struct bug *b, const char *folder);

#endif
