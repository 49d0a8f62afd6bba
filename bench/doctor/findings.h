/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of `doctor`: each has a level, a description and, where something
 * can be done, an advice. They are printed as they are added, and kept for the
 * JSON document. */
#ifndef CLBENCH_DOCTOR_FINDINGS_H
#define CLBENCH_DOCTOR_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

enum finding_level { FINDING_OK, FINDING_NOTE, FINDING_PROBLEM };

struct finding {
    enum finding_level level;
    const char *section; /* static: "Drivers" */
    char *what, *todo;   /* todo NULL: nothing to do */
};

struct findings {
    FILE *to; /* NULL: not printed */
    unsigned width;
    bool colour;
    struct finding *list;
    size_t n, cap;
};

/* Adds and prints a finding. `section` is static and becomes the heading of
 * consecutive findings; `todo` NULL: nothing to do. */
void findings_add(struct findings *f, enum finding_level level,
                  const char *section, const char *todo, const char *fmt, ...)
    XL__PRINTF(5, 6);
size_t findings_count(const struct findings *f, enum finding_level level);
void findings_clear(struct findings *f);

struct json_t;
/* A list of {part, level, what, todo}. */
struct json_t *findings_json(const struct findings *f);

#endif
