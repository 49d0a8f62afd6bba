/* SPDX-License-Identifier: Apache-2.0 */
/* The host and its terminal, as the operating system describes them. */
#ifndef XL_BASE_HOST_H
#define XL_BASE_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* Unknown: "" or 0; load: negative. */
struct xl__host {
    char cpu[128];    /* "AMD EPYC 9454 48-Core Processor" */
    char os[128];     /* "Debian GNU/Linux 12 (bookworm)" */
    char kernel[128]; /* "Linux 6.1.0-18-amd64" */
    char machine[32]; /* "x86_64" */
    unsigned n_cores; /* logical processors online */
    uint64_t memory_bytes;
    double load; /* runnable processes, mean over the last minute */
};

void xl__host_read(struct xl__host *out);

enum { XL__STDOUT = 1, XL__STDERR = 2 };

bool xl__is_terminal(int fd);
unsigned xl__terminal_columns(int fd); /* 0: not a terminal, or not known */
unsigned xl__terminal_lines(int fd);   /* likewise */
/* Write to standard error, unbuffered; may be called by a signal handler. */
void xl__write_error(const char *text);

#endif
