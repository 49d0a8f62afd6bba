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

/* The file's text with every line `#include "x.clh"` replaced by that file,
 * once each. `cl_dir`: read from that folder and its sub-folders; NULL:
 * embedded. */
xl_status xl__source_load(const char *cl_dir, const char *name,
                          struct xl__str *out, struct xl__error *e);
/* The same for generated text, called `name` in messages. */
xl_status xl__source_expand(const char *cl_dir, const char *name,
                            const char *text, struct xl__str *out,
                            struct xl__error *e);

#endif
