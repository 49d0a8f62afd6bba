/* SPDX-License-Identifier: Apache-2.0 */
/* Shape files: one shape a line, as on the command line.
 *
 *   # a comment
 *   8b qkv 512:  512x6144x4096  f16 nt
 *   32x32x32  batch=10000
 *
 * An optional name before the shape ends with a colon. Options of the command
 * follow the shape, without dashes: "batch=8", or only a choice: "f16". */
#ifndef CLBENCH_SHAPE_FILE_H
#define CLBENCH_SHAPE_FILE_H

#include "base/str.h"
#include "cli/command.h"
#include "results/embedded.h"

enum { SHAPE_LINE_WORDS = 8 };

/* One line; the texts belong to the file. */
struct shape_line {
    const char *name; /* NULL: none */
    struct shape_word {
        const char *text;
        unsigned column; /* from 1 */
    } word[SHAPE_LINE_WORDS]; /* the shape first */
    unsigned n_words, number; /* of the line, from 1 */
};

struct shape_file {
    const char *name; /* as given */
    char *text;
    struct shape_line *line;
    size_t n, cap;
};

extern const struct embedded shape_texts[]; /* NULL name last */

/* Read a file, or one that comes with clbench by its bare name: "gemm_llm". A
 * name with a dot or a slash is a path. On failure *why is the message, with
 * the position. shape_file_clear() in any case. */
bool shape_file_read(const char *name, struct shape_file *out,
                     struct xl__str *why);
void shape_file_clear(struct shape_file *f);

/* Add the options of line `i` to *set, except those that are given on the
 * command line, which override the line. False: *why as above. */
bool shape_file_settings(const struct shape_file *f, size_t i,
                         const struct command *c, struct settings *set,
                         struct xl__str *why);
/* "FILE:LINE:COLUMN: " for word `word` of line `i`. */
void shape_file_position(const struct shape_file *f, size_t i, unsigned word,
                         struct xl__str *out);
/* Print the names of those that come with clbench for a command, "gemm_...",
 * each with its title. */
void shape_file_list(FILE *to, const char *command);

#endif
