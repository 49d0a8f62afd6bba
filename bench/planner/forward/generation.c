/* SPDX-License-Identifier: Apache-2.0 */
/* A pass over the prompt, then one for each id that the pass before it chose,
 * which has the largest logit. */
#include "planner/forward/generation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/console.h"
#include "results/json.h"
#include "results/result.h"

/* The ids behind the prompt; *n of them are known in the end. */
static xl_status choose(struct lm_run *r, int *out, size_t *n)
{
    struct lm_model *m = &r->model;
    xl_status status = XL_OK;
    TRY(lm_model_write_ids(m, r->ids, r->n_ids));
    for (*n = 0; *n < r->decoded && !session_stopped(r->s); ++*n) {
        struct lm_pass pass;
        status = *n == 0 ? lm_pass_build(m, r->n_ids, 0, &pass)
                         : lm_pass_build(m, 1, r->n_ids + *n - 1, &pass);
        if (status == XL_OK)
            status = lm_pass_run(m->q, &pass, NULL);
        if (status == XL_OK)
            status = xl_buffer_read(m->q, m->buffer[LM_NEXT], 0, &out[*n],
                                    sizeof *out);
        lm_pass_clear(&pass);
        TRY(status);
    }
fail:
    return status;
}

static json_t *list_json(const int *ids, size_t n)
{
    json_t *out = json_array();
    for (size_t i = 0; i < n; i++)
        json_add(out, json_number(ids[i]));
    return out;
}

static void report(struct lm_run *r, const int *ids, size_t n)
{
    enum { INDENT = 2 };
    struct session *s = r->s;
    struct xl__str text = {0};
    json_t *one = json_object();
    json_put(one, "device",
             json_text(device_fact_text(r->dev, "name", "the device")));
    json_put(one, "weights", json_text(r->weights_name));
    json_put(one, "prompt", list_json(r->ids, r->n_ids));
    json_put(one, "ids", list_json(ids, n));
    if (!s->extra)
        s->extra = json_object();
    if (!json_object_get(s->extra, "generated"))
        json_put(s->extra, "generated", json_array());
    json_add(json_object_get(s->extra, "generated"), one);
    if (!session_tables(s))
        return;
    xl__str_add(&text, "Next ids:");
    for (size_t i = 0; i < n; i++)
        xl__str_printf(&text, " %d", ids[i]);
    text_wrap(stdout, xl__str_text(&text), INDENT,
              text_terminal_columns() - INDENT);
    xl__str_clear(&text);
}

int lm_generate(struct lm_run *r)
{
    struct session *s = r->s;
    size_t n = 0;
    int *ids = NULL;
    xl_queue *q = session_queue(s, r->dev);
    if (!q)
        return EXIT_NO_DEVICE;
    xl_status status =
        lm_model_create(q, r->arch, &r->source, &r->size, &r->model);
    TRY(status);
    ids = xl__calloc(r->decoded, sizeof *ids);
    TRY(ids ? XL_OK : XL_NO_MEMORY);
    TRY(choose(r, ids, &n));
    report(r, ids, n);
fail:
    free(ids);
    const int code = status == XL_OK
                         ? EXIT_FINE
                         : session_fail(s, "choosing ids", status,
                                        lm_source_failure(&r->source, q));
    lm_model_clear(&r->model);
    xl_queue_destroy(q);
    return code;
}
