/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTML page shows, gathered from its documents: devices, each once
 * however many files have it, and rows by op. The sections of the page are
 * functions of html_report.c, html_summary.c and html_tables.c. */
#ifndef CLBENCH_HTML_PAGE_H
#define CLBENCH_HTML_PAGE_H

#include "base/str.h"
#include "report/html.h"
#include "report/outputs.h"
#include "results/result.h"
#include "results/result_file.h"

extern const struct renderer render_html;

/* A device, and what ran on it in one file. */
struct html_run {
    const struct result_file *file;
    const json_t *json; /* the entry of "devices" */
    size_t i_device;
};

/* The same hardware with the same driver. */
struct html_device {
    const char *name, *platform, *driver;
    const json_t *json; /* of the first file that has it */
    size_t n_rows, n_verdict[HTML_VERDICTS + 1]; /* by html_verdict_rank() */
};

struct html_row {
    const struct result_row *row;
    size_t i_run;
    char *label;   /* "1024 f32": what distinguishes it in its group */
    bool is_point; /* of a curve */
    bool is_mixed; /* rows of several runs are in its group */
};

/* All rows of an op and a kind. */
struct html_group {
    const char *op;
    struct result_table table; /* the rows as the run had them, of runs */
    struct html_row *rows;
    size_t n, cap;
    char *common; /* what all rows share: "trans=nn"; "" when nothing */
};

/* What a page shows of its files; NULL: all. */
struct html_choice {
    const json_t *device; /* an entry of "devices" */
    const char *op;       /* rows of this op, and the devices that have any */
};

struct html_page {
    struct html_choice choice;
    const struct result_file *files;
    size_t n_files;
    struct html_run *runs;
    size_t n_runs, runs_cap;
    struct html_device *devices;
    size_t n_devices, devices_cap;
    struct html_group *groups;
    size_t n_groups, groups_cap;
    size_t n_rows;
};

/* False when memory runs out; the caller clears the page either way. The files
 * must live as long as the page. */
bool html_page_gather(struct html_page *page, const struct result_file *files,
                      size_t n, struct html_choice choice);
void html_page_clear(struct html_page *page);
/* Has the page anything of the file? Without a choice also where the file has
 * no device. */
bool html_page_has(const struct html_page *page,
                   const struct result_file *file);

/* The frame of a page, and which of its sections it has. */
struct html_layout {
    const char *title; /* escaped already */
    const char *links; /* markup: <li> elements before those of the sections */
    const char *intro; /* markup: before the first section */
    bool has_devices, has_pictures, has_rows, has_environments;
};
void html_page_write(struct xl__str *out, const struct html_page *page,
                     const struct html_layout *layout);

/* "GEMM" of "gemm", "Probe: bandwidth" of "probe_bandwidth". */
void html_op_title(struct xl__str *out, const char *op);
bool html_op_is_probe(const char *op);
/* What distinguishes a run from the others of the page: its device where there
 * are several, its file where another has that device too. Not yet escaped. */
void html_run_name(struct xl__str *out, const struct html_page *page,
                   size_t i_run);
/* When a file was made, "2025-01-31 12:00 UTC"; text that is not a date as it
 * is; nothing when the file has none. */
void html_date(struct xl__str *out, const struct result_file *file);
/* A file's name without its folders; "This run" when it has none. */
const char *html_file_name(const struct result_file *file);
/* A fact of a device, from the most reliable of the files: a measured value
 * before a reported one. NULL: no file has it. */
const json_t *html_fact(const struct html_page *page, size_t i_device,
                        const char *name);
/* The row with the highest rate of this library in a group, of one type if
 * `dtype` is given: a row that is ok before one that is suspicious. NULL:
 * there is no rate. */
const struct html_row *html_best_row(const struct html_page *page,
                                     const struct html_group *group,
                                     size_t i_device, const char *dtype);

/* Sections with files of their own. */
void html_summary(struct xl__str *out, const struct html_page *page);
void html_rows(struct xl__str *out, const struct html_page *page);

#endif
