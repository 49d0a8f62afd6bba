/* SPDX-License-Identifier: Apache-2.0 */
/* A file that comes with clbench begins with comments: the licence, then
 * "# Device: NAME", "# Vendor: NAME", "# Facts: captured" or "assembled", and
 * "# Source: ADDRESS", which may go on in further lines. */
#include "results/listings.h"

#include <string.h>

#include "cli/console.h"
#include "cli/table.h"

int listing_choose(struct session *s)
{
    struct xl__str why = {0};
    int code = EXIT_FINE;
    if (!s->set.as)
        return EXIT_FINE;
    if (!embedded_read(device_texts, "listing",
                       "clbench devices --list", s->set.as, &s->listing,
                       &why)) {
        session_message(s, "", xl__str_text(&why));
        code = EXIT_FILE;
    }
    xl__str_clear(&why);
    return code;
}

/* The text after "# LABEL: " with the comment lines that continue it. */
static void read_head(const struct embedded *t, const char *label,
                      struct xl__str *out)
{
    struct xl__str mark = {0};
    xl__str_printf(&mark, "\n# %s: ", label);
    const char *at = strstr((const char *)t->text, xl__str_text(&mark));
    for (at = at ? at + mark.len : NULL; at;) {
        const size_t n = strcspn(at, "\n");
        xl__str_add_n(out, at, n);
        at += n;
        at = strncmp(at, "\n#   ", 5) == 0 ? at + 5 : NULL;
        xl__str_add(out, at ? " " : "");
    }
    xl__str_clear(&mark);
}

static void add_device(struct table *t, const struct embedded *d)
{
    static const char *const labels[] = {"Vendor", "Device", "Facts"};
    table_cell(t, "%.*s", (int)strcspn(d->name, "."), d->name);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        struct xl__str text = {0};
        read_head(d, labels[i], &text);
        table_cell(t, "%s", xl__str_text(&text));
        xl__str_clear(&text);
    }
}

static void print_source(const struct embedded *d, unsigned width)
{
    struct xl__str text = {0};
    xl__str_printf(&text, "%.*s: ", (int)strcspn(d->name, "."), d->name);
    read_head(d, "Source", &text);
    text_wrap(stdout, xl__str_text(&text), 2, width - 2);
    xl__str_clear(&text);
}

void listings_print(void)
{
    static const struct table_column columns[] = {{"--as", false, 0},
                                                  {"vendor", false, 0},
                                                  {"device", false, 20},
                                                  {"facts", false, 0}};
    const unsigned width = text_terminal_columns();
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    for (const struct embedded *d = device_texts; d->name; d++)
        add_device(t, d);
    table_print(stdout, t, width, false);
    table_destroy(t);
    text_wrap(stdout,
              "captured: what a driver answered; assembled: from documents", 2,
              width - 2);
    printf("\nSources\n");
    for (const struct embedded *d = device_texts; d->name; d++)
        print_source(d, width);
}
