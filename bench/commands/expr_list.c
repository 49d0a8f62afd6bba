/* SPDX-License-Identifier: Apache-2.0 */
/* See expr_list.h. */
#include "commands/expr_list.h"

#include <stdio.h>

#include "cases/expr_cases.h"
#include "results/json.h"
#include "cli/console.h"

static json_t *case_json(const struct expr_case *c)
{
    json_t *out = json_object();
    json_put(out, "name", json_text(c->name));
    json_put(out, "text", json_text(c->text));
    json_put(out, "small", json_text(c->small));
    json_put(out, "timed", json_text(c->timed));
    json_put(out, "scalars", json_text(c->scalars));
    json_put(out, "ranges", json_text(c->ranges));
    return out;
}

int expr_list(struct session *s)
{
    enum { INDENT = 4 };
    json_t *cases = json_array();
    for (const struct expr_case *c = expr_cases; c->name; c++) {
        json_add(cases, case_json(c));
        if (!session_tables(s))
            continue;
        printf("%s%s\n", c->name, c->timed ? "" : "  (verify alone)");
        text_wrap(stdout, c->text, INDENT, text_terminal_columns());
    }
    s->extra = json_object();
    json_put(s->extra, "cases", cases);
    return EXIT_FINE;
}
