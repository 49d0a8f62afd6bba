/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel texts: embedded in the library, or read from a folder while
 * developing. A text is named by its path below cl/, as in an #include. */
#ifndef XL_RUNTIME_SOURCES_H
#define XL_RUNTIME_SOURCES_H

#include "base/error.h"

struct xl__embedded {
    const char *name; /* its path below cl/: "gemm/tiled.cl" */
    const unsigned char *text;
    size_t len;
};
/* Made by cl/embed.cmake; ends with a NULL name. */
extern const struct xl__embedded xl__embedded[];

/* Where texts come from. */
struct xl__kernel_source {
    const char *cl_dir;   /* a folder like cl/; NULL: embedded */
    const char *name;     /* path below cl/; what generated text is called */
    const char *text;     /* generated; NULL: the file's */
    const char *epilogue; /* generated, in place of common/epilogue.clh; NULL: the
                             file itself */
};

/* The text with every line `#include "x.clh"` replaced by that file, once
 * each. */
xl_status xl__kernel_source_load(const struct xl__kernel_source *from,
                                 struct xl__str *out, struct xl__error *e);

#endif
