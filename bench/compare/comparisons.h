/* SPDX-License-Identifier: Apache-2.0 */
/* From words of the command line to comparisons: each word is a side, one file
 * or several of the same, "a1.json,a2.json". */
#ifndef CLBENCH_COMPARE_SIDES_H
#define CLBENCH_COMPARE_SIDES_H

#include "compare/compare.h"

enum { SIDES_MOST_FILES = 64, SIDES_MOST_WORDS = 16, SIDES_MOST = 24 };

struct sides {
    struct result_file files[SIDES_MOST_FILES];
    char *paths[SIDES_MOST_FILES];
    size_t n_files;
    struct side word[SIDES_MOST_WORDS];
    size_t n_words;
    struct comparison list[SIDES_MOST]; /* each over the first word */
    size_t n;
    bool is_table; /* a line a case, a column a comparison */
    double margin; /* percent */
};

/* Read every file; false: *why says what is wrong. Cleared either way. */
bool sides_read(struct sides *s, const char *const *words, size_t n,
                char *why, size_t cap);
/* Two runs, on the same devices or one each: row by row. Else, or where other
 * libraries ran as well: every library and device as a side of its own over
 * the first. False: out of memory. */
bool sides_compare(struct sides *s, const struct compare_options *how);
void sides_clear(struct sides *s);

#endif
