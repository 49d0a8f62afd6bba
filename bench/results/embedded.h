/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that come with clbench, each under its bare name; or a file of the
 * user instead of one of them. */
#ifndef CLBENCH_RESULTS_EMBEDDED_H
#define CLBENCH_RESULTS_EMBEDDED_H

#include <stdbool.h>

#include "base/str.h"

/* A text that is compiled into clbench. Its name in messages and options ends
 * at the dot; NULL name last. */
struct embedded {
    const char *name;
    const unsigned char *text;
    size_t len;
};

/* The text of that name, without its ending, on the heap; a name with a dot or
 * a slash is a path. `what` names the kind in messages: "shape file";
 * list_command prints the names, NULL: the message has them. False: *why is
 * the message. */
bool embedded_read(const struct embedded *all, const char *what,
                   const char *list_command, const char *name, char **text,
                   struct xl__str *why);

#endif
