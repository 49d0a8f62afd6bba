/* SPDX-License-Identifier: Apache-2.0 */
/* One page of `clbench split`: everything that text, picture and result file
 * are made of. */
#ifndef CLBENCH_SPLIT_PAGE_H
#define CLBENCH_SPLIT_PAGE_H

#include <stdio.h>

#include "base/str.h"
#include "tiling/sawtooth.h"
#include "tiling/split.h"

struct json_t;

/* One size of a sweep, measured. */
struct split_rate {
    size_t size;
    size_t rows, cols; /* the library's tile there */
    double ns, flop_per_s;
};

struct split_page {
    char title[96];       /* "gemm 1024x1024x1024 f32" */
    char where[96];       /* "device 0: ..." or "132 units, no device" */
    char variant[32];     /* "": a tile of the user's */
    xl_tiling tiling;
    unsigned units;       /* the device has */
    struct split_record model, measured; /* measured.n 0: it was not */
    struct split_load model_load, measured_load;
    unsigned beside;      /* groups a unit has room for, in the model */
    xl_watched watched;
    char why_not[160];    /* it was not measured */
    double op_ns;         /* the op's own median; NaN: not timed */
    struct sawtooth saw;
    size_t size;          /* its place on the sawtooth; 0: it has none */
    struct sawtooth_range range;
    struct split_rate *rate; /* of a sweep; NULL: not measured */
    size_t n_rates;
};

void split_page_clear(struct split_page *p);

/* The best rate of the sweep; 0: none. */
double split_best_rate(const struct split_page *p);

/* What every form of the page says in the same words. */
void split_say_source(const struct split_page *p, struct xl__str *out);
void split_say_waves(const struct split_page *p, struct xl__str *out);
void split_say_uneven(const struct split_page *p, struct xl__str *out);
/* The record that the pictures show: measured where there is one. */
const struct split_record *split_shown(const struct split_page *p);

/* split_text.c: for a terminal so many columns wide. */
void split_text(FILE *to, const struct split_page *p, unsigned columns,
                bool colour);
/* split_svg.c: a whole file. */
void split_svg(const struct split_page *p, struct xl__str *out);
/* split_json.c */
struct json_t *split_json(const struct split_page *p);
/* split_read.c: the page that split_json() wrote; false: it is none. Clear it
 * after use. */
bool split_read(const struct json_t *json, struct split_page *out);

#endif
