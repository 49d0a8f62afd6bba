/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `clbench split` as a picture. */
#ifndef CLBENCH_TILING_PICTURE_H
#define CLBENCH_TILING_PICTURE_H

#include "base/str.h"
#include "tiling/measurement.h"

/* Appends a whole SVG file. */
void tiling_svg(const struct tiling_report *p, struct xl__str *out);

#endif
