/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/compare_files.h"

#include "compare/tables.h"
#include "report/markdown.h"
#include "cli/output_file.h"
#include "cli/session.h"

static void compare_markdown(const struct sides *s, const struct gate *gate,
                             struct xl__str *out)
{
    struct markdown page = {out, false};
    const struct display display = display_markdown(&page);
    xl__str_add(out, "# Comparison by clbench\n\n");
    compare_show(s, gate, &display);
}

int compare_write_files(struct session *session, const struct sides *s,
                        const struct gate *gate)
{
    const struct {
        const char *option, *path;
        void (*render)(const struct sides *, const struct gate *,
                       struct xl__str *);
    } files[] = {{"csv", session->set.csv, compare_csv},
                 {"markdown", session->set.markdown, compare_markdown},
                 {"html", session->set.html, compare_html}};
    int code = EXIT_FINE;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct xl__str text = {0};
        if (!files[i].path)
            continue;
        files[i].render(s, gate, &text);
        if (text.broken)
            code = session_fail(session, "writing", XL_NO_MEMORY, "");
        else if (!out_file_write(session, files[i].option, files[i].path,
                                 text.text, text.len))
            code = EXIT_FILE;
        xl__str_clear(&text);
    }
    return code;
}
