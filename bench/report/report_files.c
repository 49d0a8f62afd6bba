/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a run. The whole document is kept and every file rewritten
 * after each part, so that a crash of a driver loses only the part in which it
 * happened. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "results/document.h"
#include "cli/output_file.h"
#include "report/outputs.h"
#include "report/report.h"
#include "cli/session.h"

struct writer {
    struct session *s;
    struct document document;
    struct outputs outputs;
};

static void render_document(const struct result_file *files, size_t n,
                            struct xl__str *out)
{
    char *text = n > 0 ? json_dumps(files[0].document, JSON_INDENT(1)) : NULL;
    if (text) {
        xl__str_add(out, text);
        xl__str_add(out, "\n");
    } else {
        out->broken = true;
    }
    free(text);
}

const struct renderer render_json = {"json", render_document};

static void *open_writer(struct session *s)
{
    struct writer *w = xl__calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->s = s;
    outputs_begin(&w->outputs, s);
    const bool has_figures = !s->command->draws_itself;
    if (document_begin(&w->document) &&
        outputs_add(&w->outputs, &render_json) &&
        outputs_add_all(&w->outputs, renderers) &&
        (!has_figures || outputs_add_figures(&w->outputs)))
        return w;
    document_clear(&w->document);
    free(w);
    return NULL;
}

/* What the results are called: the file that has them. */
static const char *name_of(const struct session *s)
{
    const char *json = s->set.json;
    return json && !out_file_is_stdout(json) ? json : "";
}

static void write_files(struct writer *w, bool is_end)
{
    char why[512];
    struct result_file file;
    json_t *document = document_json(&w->document, w->s);
    if (results_take(document, name_of(w->s), &file, why, sizeof why))
        outputs_write(&w->outputs, &file, 1, is_end);
    else
        outputs_fail(&w->outputs, XL_NO_MEMORY);
    results_clear(&file);
}

static void part(void *writer, const char *title, const char *note)
{
    struct writer *w = writer;
    document_part(&w->document, title, note);
}

static void add_row(void *writer, xl_device *dev, const xl_row *row)
{
    struct writer *w = writer;
    document_row(&w->document, dev, row);
}

static void part_end(void *writer)
{
    struct writer *w = writer;
    document_part_end(&w->document);
    write_files(w, false);
}

static int close_writer(void *writer)
{
    struct writer *w = writer;
    /* Wrong usage or no device: there is nothing worth an older file. */
    if (w->s->n_devices > 0 || w->s->extra)
        write_files(w, true);
    const int code = outputs_code(&w->outputs);
    document_clear(&w->document);
    free(w);
    return code;
}

const struct report_writer report_files = {
    .name = "files",
    .open = open_writer,
    .part = part,
    .row = add_row,
    .part_end = part_end,
    .close = close_writer,
};
