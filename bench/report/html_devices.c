/* SPDX-License-Identifier: Apache-2.0 */
/* A card a device with what is asked most, then every fact of every device in
 * one table; beside each fact, where it comes from. */
#include <crosslane/crosslane.h>

#include "report/html.h"
#include "report/html_page.h"
#include "results/json.h"

/* On the cards, in this order. */
static const struct {
    const char *fact, *title;
} on_card[] = {
    {"arch", "Architecture"},
    {"driver", "Driver"},
    {"cl_version", "OpenCL"},
    {"compute_units", "Compute units"},
    {"clock_hz", "Highest clock"},
    {"subgroup_width", "Sub-group width"},
    {"max_wg_size", "Largest work-group"},
    {"global_mem_bytes", "Memory"},
    {"llc_bytes", "Last-level cache"},
    {"local_mem_bytes", "Local memory"},
    {"peak_f32_flop_per_s", "Peak, f32 FMA"},
    {"peak_matrix_f16_flop_per_s", "Peak, f16 matrix"},
    {"read_bytes_per_s", "Memory, read"},
    {"launch_ns", "Launch"},
    {"timer_ok", "Event clock believed"},
    {"uuid", "UUID"},
    {"pci", "PCI address"},
};

/* What the source of a fact means, in the order of xl_source. */
static const char *const sources[] = {
    [XL_UNKNOWN] = "nobody could say",
    [XL_QUERIED] = "the driver's answer",
    [XL_MEASURED] = "on this device, by a probe",
    [XL_KNOWN] = "documented: the vendor table, with its note",
    [XL_ASSUMED] = "the vendor table's guess",
};
enum { N_SOURCES = sizeof sources / sizeof *sources };

static void add_source(struct xl__str *out, const json_t *fact)
{
    const char *source = json_text_at(fact, "source");
    const char *note = json_text_at(fact, "note");
    const char *about = "";
    for (unsigned i = 0; i < N_SOURCES; i++)
        if (xl__streq(xl_source_name((xl_source)i), source))
            about = sources[i];
    html_add(out, "<small class=\"source\" title=\"%s\">%s%m%s</small>", about,
             *source ? source : "unknown", *note ? " " : "", note);
}

/* -- cards ---------------------------------------------------------------- */

static void card_line(struct xl__str *out, const char *title,
                      const json_t *fact)
{
    struct xl__str value = {0};
    html_fact_value(&value, fact);
    html_add(out, "<div><dt>%m</dt><dd>%s ", title, xl__str_text(&value));
    add_source(out, fact);
    xl__str_add(out, "</dd></div>\n");
    xl__str_clear(&value);
}

static void card(struct xl__str *out, const struct html_page *page,
                 size_t i_device)
{
    const struct html_device *d = &page->devices[i_device];
    html_add(out,
             "<article class=\"card\" aria-labelledby=\"device-%z\">\n"
             "<h3 id=\"device-%z\">%s</h3>\n<p>%s</p>\n<dl>\n",
             i_device, i_device, d->name,
             *d->platform ? d->platform : "platform unknown");
    for (size_t i = 0; i < sizeof on_card / sizeof *on_card; i++) {
        const json_t *fact = html_fact(page, i_device, on_card[i].fact);
        if (fact)
            card_line(out, on_card[i].title, fact);
    }
    xl__str_add(out, "</dl>\n</article>\n");
}

/* -- all facts ------------------------------------------------------------ */

static void fact_line(struct xl__str *out, const struct html_page *page,
                      const char *name, const char *help)
{
    bool is_known = false;
    for (size_t d = 0; d < page->n_devices; d++)
        is_known = is_known || html_fact(page, d, name);
    if (!is_known)
        return;
    html_add(out, "<tr><th scope=\"row\"><code>%m</code> <small>%s</small>"
                  "</th>", name, help);
    for (size_t d = 0; d < page->n_devices; d++) {
        struct xl__str value = {0};
        const json_t *fact = html_fact(page, d, name);
        html_fact_value(&value, fact);
        html_add(out, "<td>%s ", xl__str_text(&value));
        if (fact)
            add_source(out, fact);
        xl__str_add(out, "</td>");
        xl__str_clear(&value);
    }
    xl__str_add(out, "</tr>\n");
}

static void all_facts(struct xl__str *out, const struct html_page *page)
{
    const char *name = NULL, *help = NULL;
    xl__str_add(out, "<details><summary>Every fact that is known, and where "
                     "it comes from</summary>\n");
    html_table_begin(out, "facts", "Facts by device");
    html_column(out, "Fact", false);
    for (size_t d = 0; d < page->n_devices; d++)
        html_column(out, page->devices[d].name, false);
    html_table_body(out);
    for (unsigned i = 0; (name = xl_fact_name(i, &help)) != NULL; i++)
        fact_line(out, page, name, help);
    html_table_end(out);
    xl__str_add(out, "</details>\n");
}

static void legend(struct xl__str *out)
{
    xl__str_add(out, "<dl class=\"legend\">");
    for (unsigned i = XL_QUERIED; i < N_SOURCES; i++)
        html_add(out, "<div><dt>%m</dt><dd>%m</dd></div>\n",
                 xl_source_name((xl_source)i), sources[i]);
    xl__str_add(out, "</dl>\n");
}

void html_devices(struct xl__str *out, const struct html_page *page)
{
    xl__str_add(out, "<section id=\"devices\" aria-labelledby=\"h-devices\">"
                     "\n<h2 id=\"h-devices\">Devices</h2>\n"
                     "<div class=\"cards\">\n");
    for (size_t i = 0; i < page->n_devices; i++)
        card(out, page, i);
    xl__str_add(out, "</div>\n");
    legend(out);
    all_facts(out, page);
    xl__str_add(out, "</section>\n");
}
