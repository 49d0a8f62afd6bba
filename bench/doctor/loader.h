/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL loader in use and the drivers it is told of, read from files: no
 * driver is touched. */
#ifndef CLBENCH_ICD_H
#define CLBENCH_ICD_H

#include <stdbool.h>
#include <stddef.h>

struct icd {
    char *file;    /* the .icd file; NULL: a library named by a variable */
    char *library; /* what its first line names; NULL: cannot be read, empty */
};

struct icds {
    const char *variable; /* that chose the place; NULL: the usual place */
    const char *place;    /* folder, file or library */
    bool is_read;         /* the place is there and can be read */
    struct icd *list;     /* by file name */
    size_t n, cap;
};

void icds_read(struct icds *out);
void icds_clear(struct icds *icds);

/* Path of the loader this program runs with; free() it. NULL: not known. */
char *icd_loader_path(void);

#endif
