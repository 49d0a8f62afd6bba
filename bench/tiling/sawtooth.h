/* SPDX-License-Identifier: Apache-2.0 */
/* The sawtooth: what share of a device's rate whole tiles and whole waves
 * leave, size by size. Plain numbers, no device. */
#ifndef CLBENCH_SAWTOOTH_H
#define CLBENCH_SAWTOOTH_H

#include <stdbool.h>
#include <stddef.h>

/* What stays the same, and which sides are the size. */
struct sawtooth {
    size_t m, n;         /* of a side that does not grow */
    bool grows_m, grows_n;
    size_t rows, cols;   /* of a tile */
    size_t count;        /* products */
    double places;       /* groups that run at a time */
};

struct sawtooth_point {
    size_t size;
    double tiles;
    double waves, fill; /* fill: groups over the waves' places */
    double area;        /* useful share of the tiles' */
    double share;       /* of the device's rate: fill times area */
};

struct sawtooth_point sawtooth_at(const struct sawtooth *s, size_t size);

/* The sizes around `size` that a picture shows: a quarter to both sides. */
struct sawtooth_range {
    size_t from, to;
};
struct sawtooth_range sawtooth_around(size_t size);
/* The best share in from..to, the smallest such size. */
struct sawtooth_point sawtooth_best(const struct sawtooth *s,
                                    struct sawtooth_range r);
/* The least and the most share in a part of a range: what one column of a
 * picture stands for. */
struct sawtooth_span {
    double least, most;
};
struct sawtooth_span sawtooth_span(const struct sawtooth *s,
                                   struct sawtooth_range r, unsigned column,
                                   unsigned columns);

#endif
