/* SPDX-License-Identifier: Apache-2.0 */
/* What limits the rows of the page, and what to do about each: the rows lead
 * here. */
#include <crosslane/crosslane.h>

#include "report/html.h"
#include "report/html_page.h"
#include "results/json.h"

static size_t count_limited(const struct html_page *page, unsigned limiter)
{
    size_t n = 0;
    for (size_t g = 0; g < page->n_groups; g++)
        for (size_t i = 0; i < page->groups[g].n; i++) {
            const json_t *d = json_object_get(
                page->groups[g].rows[i].row->json, "diagnosis");
            n += json_is_object(d) &&
                 html_limiter_of(json_text_at(d, "limiter")) == limiter;
        }
    return n;
}

void html_glossary(struct xl__str *out, const struct html_page *page)
{
    size_t all = 0;
    for (unsigned i = 0; i < XL_N_LIMITERS; i++)
        all += count_limited(page, i);
    if (all == 0)
        return;
    xl__str_add(out, "<section class=\"op\" aria-labelledby=\"h-limits\">\n"
                     "<h3 id=\"h-limits\">What to do about what limits a row"
                     "</h3>\n");
    html_table_begin(out, "", "Limits and advice");
    html_column(out, "Limited by", false);
    html_column(out, "Rows", true);
    html_column(out, "What to do", false);
    html_table_body(out);
    for (unsigned i = 0; i < XL_N_LIMITERS; i++) {
        const size_t n = count_limited(page, i);
        if (n == 0)
            continue;
        xl__str_printf(out, "<tr id=\"limit-%u\">", i);
        html_add(out,
                 "<th scope=\"row\">%s</th><td class=\"n\">%z</td>"
                 "<td>%s</td></tr>\n",
                 xl_limiter_name((xl_limiter)i), n,
                 xl_limiter_advice((xl_limiter)i));
    }
    html_table_end(out);
    xl__str_add(out, "</section>\n");
}
