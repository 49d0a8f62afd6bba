/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel texts: embedded in the library, or read from a folder while
 * developing. Base names are unique. */
#ifndef XL_RUNTIME_SOURCES_H
#define XL_RUNTIME_SOURCES_H

#include "base/error.h"

struct xl__embedded {
    const char *name; /* base name */
    const unsigned char *text;
    size_t len;
};
/* Made by cl/embed.cmake; ends with a NULL name. */
extern const struct xl__embedded xl__embedded[];

/* Where texts come from. */
struct xl__source {
    const char *cl_dir;   /* this folder and its sub-folders; NULL: embedded */
    const char *name;     /* of the file; what generated text is called */
    const char *text;     /* generated; NULL: the file's */
    const char *epilogue; /* generated, in place of epilogue.clh; NULL: the
                             file itself */
};

/* The text with every line `#include "x.clh"` replaced by that file, once
 * each. */
xl_status xl__source_load(const struct xl__source *from, struct xl__str *out,
                          struct xl__error *e);

#endif
