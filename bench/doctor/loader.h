/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL loader (ICD loader) in use and the drivers it is configured to
 * load, read from files without loading a driver. */
#ifndef CLBENCH_DOCTOR_LOADER_H
#define CLBENCH_DOCTOR_LOADER_H

#include <stdbool.h>
#include <stddef.h>

struct icd {
    char *file;    /* the .icd file; NULL: a library named by a variable */
    char *library; /* named by its first line; NULL: unreadable or empty */
};

struct icds {
    const char *variable; /* that sets the location; NULL: the default */
    const char *location; /* folder, file or library */
    bool is_read;         /* the location exists and can be read */
    struct icd *list;     /* by file name */
    size_t n, cap;
};

void icds_read(struct icds *out);
void icds_clear(struct icds *icds);

/* Path of the loader that this process uses; the caller frees it. NULL:
 * unknown. */
char *icd_loader_path(void);

#endif
