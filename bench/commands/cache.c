/* SPDX-License-Identifier: Apache-2.0 */
/* `clbench cache`: list, count, clear or verify the compiled programs on disk;
 * export them to a file or import one; list or remove the kept roofs. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/units.h"

static void format_date(int64_t unix_s, char *out, size_t cap)
{
    time_t when = (time_t)unix_s;
    struct tm *utc = gmtime(&when);
    if (!utc || strftime(out, cap, "%Y-%m-%d %H:%M", utc) == 0)
        xl__strcpy(out, cap, "-");
}

static const char *file_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/' || *path == '\\')
            name = path + 1;
    return name;
}

/* The rest of the line of the key that begins with `name`; *len: its length.
 */
static const char *key_line(const char *key, const char *name, size_t *len)
{
    size_t n = strlen(name);
    *len = 0;
    for (const char *at = key; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, n) != 0 || at[n] != ' ')
            continue;
        at += n + strspn(at + n, " ");
        *len = strcspn(at, "\n");
        return at;
    }
    return "";
}

static void add_key_cell(struct table *t, const xl_cache_entry *e,
                         const char *name)
{
    size_t len = 0;
    const char *text = key_line(e->key, name, &len);
    table_cell(t, "%.*s", (int)len, text);
}

static void add_entry_row(const xl_cache_entry *e, void *table)
{
    char date[32], size[UNITS_CAP];
    size_t len = 0;
    const char *source = key_line(e->key, "source", &len);
    format_date(e->used_unix_s, date, sizeof date);
    units_format(size, sizeof size, (double)e->bytes, "B");
    if (len > 0)
        table_cell(table, "%.*s", (int)strcspn(source, " \n"), source);
    else
        table_cell(table, "%s", file_name(e->path));
    add_key_cell(table, e, "options");
    add_key_cell(table, e, "device");
    table_cell(table, "%s", size);
    table_cell(table, "%s", date);
    table_cell(table, "%s%s", e->is_intact ? e->selfcheck : "damaged",
               e->is_system ? ", system" : "");
}

/* Those that were used last come first. */
static int list_entries(struct session *s)
{
    enum { LAST_USED = 4 };
    static const struct table_column columns[] = {
        {"source", false, 12}, {"options", false, 10},  {"device", false, 8},
        {"size", true, 0},     {"last used", false, 0}, {"check", false, 0},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    xl_status status = xl_cache_list(s->lib, add_entry_row, t);
    table_sort_down(t, LAST_USED);
    if (status == XL_OK)
        table_print(stdout, t, text_terminal_columns(), false);
    table_destroy(t);
    return status == XL_OK ? EXIT_FINE
                           : session_fail(s, "listing the cache", status,
                                          xl_lib_error(s->lib));
}

static int print_stats(struct session *s)
{
    xl_cache_stats stats = {0};
    char size[UNITS_CAP], limit[UNITS_CAP];
    xl_status status = xl_cache_stats_get(s->lib, &stats);
    if (status != XL_OK)
        return session_fail(s, "reading the cache", status,
                            xl_lib_error(s->lib));
    units_format(size, sizeof size, (double)stats.bytes, "B");
    units_format(limit, sizeof limit, (double)stats.limit_bytes, "B");
    fprintf(stdout,
            "folder   %s\nentries  %" PRIu64 "\ndamaged  %" PRIu64
            "\nsize     %s of %s\n",
            xl_cache_dir(s->lib), stats.n_entries, stats.n_damaged, size,
            limit);
    return EXIT_FINE;
}

static int clear_entries(struct session *s)
{
    uint64_t n = 0;
    xl_status status = xl_cache_clear(s->lib, s->set.damaged, &n);
    if (status != XL_OK)
        return session_fail(s, "clearing the cache", status,
                            xl_lib_error(s->lib));
    fprintf(stdout, "%" PRIu64 " %s removed\n", n,
            n == 1 ? "entry" : "entries");
    return EXIT_FINE;
}

static void add_roof_row(const xl_kept_roof *roof, void *table)
{
    char rate[UNITS_CAP];
    const char *unit = strstr(roof->fact, "flop") ? "flop/s" : "B/s";
    units_format(rate, sizeof rate, roof->value, unit);
    table_cell(table, "%s", roof->fact);
    table_cell(table, "%s", rate);
    table_cell(table, "%s", roof->device);
    table_cell(table, "%s", roof->date);
    table_cell(table, "%s", roof->conditions);
}

static int list_roofs(struct session *s)
{
    static const struct table_column columns[] = {
        {"roof", false, 0}, {"rate", true, 0},         {"device", false, 8},
        {"seen", false, 0}, {"conditions", false, 12},
    };
    struct table *t =
        table_create(columns, sizeof columns / sizeof columns[0]);
    xl_status status = xl_roofs_list(s->lib, add_roof_row, t);
    if (status == XL_OK)
        table_print(stdout, t, text_terminal_columns(), false);
    table_destroy(t);
    return status == XL_OK ? EXIT_FINE
                           : session_fail(s, "listing roofs", status,
                                          xl_lib_error(s->lib));
}

static int forget_roofs(struct session *s)
{
    uint64_t n = 0;
    xl_status status = xl_roofs_remove(s->lib, &n);
    if (status != XL_OK)
        return session_fail(s, "removing roofs", status, xl_lib_error(s->lib));
    fprintf(stdout, "roofs of %" PRIu64 " %s removed\n", n,
            n == 1 ? "device" : "devices");
    return EXIT_FINE;
}

static void print_damaged(const xl_cache_entry *e, void *arg)
{
    uint64_t *n_damaged = arg;
    if (e->is_intact)
        return;
    ++*n_damaged;
    fprintf(stdout, "damaged  %s\n", e->path);
}

static int verify_entries(struct session *s)
{
    xl_cache_stats stats = {0};
    uint64_t n_damaged = 0;
    xl_status status = xl_cache_list(s->lib, print_damaged, &n_damaged);
    if (status == XL_OK)
        status = xl_cache_stats_get(s->lib, &stats);
    if (status != XL_OK)
        return session_fail(s, "verifying the cache", status,
                            xl_lib_error(s->lib));
    if (n_damaged > 0) {
        fprintf(stdout,
                "%" PRIu64 " of %" PRIu64 " entries damaged; they are not "
                "used, 'clbench cache clear --damaged' removes them\n",
                n_damaged, stats.n_entries);
        return EXIT_FILE;
    }
    fprintf(stdout, "%" PRIu64 " entries, all intact\n", stats.n_entries);
    return EXIT_FINE;
}

static void print_count(uint64_t n, const char *what)
{
    if (n > 0)
        fprintf(stdout, "%" PRIu64 " %s %s\n", n, n == 1 ? "entry" : "entries",
                what);
}

static int export_entries(struct session *s)
{
    xl_cache_copy copy;
    const xl_status status =
        xl_cache_export(s->lib, NULL, s->set.words[1], &copy);
    if (status != XL_OK)
        return session_fail(s, "exporting the cache", status,
                            xl_lib_error(s->lib));
    fprintf(stdout, "%" PRIu64 " %s written to %s\n", copy.n_copied,
            copy.n_copied == 1 ? "entry" : "entries", s->set.words[1]);
    print_count(copy.n_foreign, "of another device, driver or build left out");
    print_count(copy.n_damaged, "damaged and left out");
    return EXIT_FINE;
}

static int import_entries(struct session *s)
{
    xl_cache_copy copy;
    const xl_status status =
        xl_cache_import(s->lib, NULL, s->set.words[1], &copy);
    if (status != XL_OK)
        return session_fail(s, "importing into the cache", status,
                            xl_lib_error(s->lib));
    fprintf(stdout, "%" PRIu64 " %s added to %s\n", copy.n_copied,
            copy.n_copied == 1 ? "entry" : "entries", xl_cache_dir(s->lib));
    print_count(copy.n_known, "there already");
    print_count(copy.n_foreign,
                "of another device, driver, card or build left out");
    return EXIT_FINE;
}

static int run_cache(struct session *s)
{
    static const struct {
        const char *word;
        int (*run)(struct session *s);
        unsigned n_words;
    } actions[] = {
        {"list", list_entries, 1},     {"stats", print_stats, 1},
        {"clear", clear_entries, 1},   {"verify", verify_entries, 1},
        {"export", export_entries, 2}, {"import", import_entries, 2},
        {"roofs", list_roofs, 1},      {"forget-roofs", forget_roofs, 1}};
    const char *word = s->set.words[0];
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (!xl__streq(actions[i].word, word))
            continue;
        if (s->set.n_words != actions[i].n_words) {
            fprintf(stderr, "clbench: cache %s takes %s\n", word,
                    actions[i].n_words == 1 ? "no argument" : "one file");
            return EXIT_USAGE;
        }
        int code = session_open(s);
        if (code != EXIT_FINE)
            return code;
        if (!xl_cache_dir(s->lib)) {
            fprintf(stdout, "the cache is off\n");
            return EXIT_FINE;
        }
        return actions[i].run(s);
    }
    fprintf(stderr, "clbench: unknown action of cache; must be list, stats, "
                    "clear, verify, export, import, roofs or forget-roofs\n");
    return EXIT_USAGE;
}

static const char *const options[] = {"damaged", NULL};

const struct command cmd_cache = {
    .name = "cache",
    .summary = "list, clear or copy compiled programs; kept roofs",
    .words = "list|stats|clear|verify|export|import|roofs|forget-roofs [FILE]",
    .about =
        "Compiled programs and the verdicts of their self-checks are kept in "
        "the user's cache folder, one file for each entry.\n\n"
        "  list    all entries, with their last use and their self-check\n"
        "  stats   folder, number of entries, size and its limit\n"
        "  clear   remove all entries of the user; --damaged: only those\n"
        "  verify  read all entries; exit code 4 when one is damaged\n"
        "  export  write the entries for this machine's devices to FILE\n"
        "  import  add the entries of FILE for this machine's devices\n"
        "  roofs   the highest peaks that runs have seen, by device, driver\n"
        "          and clock state, with date and conditions\n"
        "  forget-roofs  remove them; the next run measures anew\n\n"
        "An application ships such a file so that its first calls need no "
        "compiler.\n\n"
        "XL_CACHE_DIR chooses another folder; 'off' turns the cache off.",
    .options = options,
    .min_words = 1,
    .max_words = 2,
    .run = run_cache,
};
