/* SPDX-License-Identifier: Apache-2.0 */
/* What `doctor` found: each line says how it stands and, where something can
 * be done, what. Printed as it is found, kept for the JSON document. */
#ifndef CLBENCH_FINDINGS_H
#define CLBENCH_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/str.h"

enum finding_level { FINDING_OK, FINDING_NOTE, FINDING_PROBLEM };

struct finding {
    enum finding_level level;
    const char *part;  /* static: "drivers" */
    char *what, *todo; /* todo NULL: nothing to do */
};

struct findings {
    FILE *to; /* NULL: not printed */
    unsigned width;
    bool colour;
    struct finding *list;
    size_t n, cap;
};

/* `part` is static and heads its findings; `todo` NULL: nothing to do. */
void findings_add(struct findings *f, enum finding_level level,
                  const char *part, const char *todo, const char *fmt, ...)
    XL__PRINTF(5, 6);
size_t findings_count(const struct findings *f, enum finding_level level);
void findings_clear(struct findings *f);

struct json_t;
/* A list of {part, level, what, todo}. */
struct json_t *findings_json(const struct findings *f);

#endif
