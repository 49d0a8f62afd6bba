/* SPDX-License-Identifier: Apache-2.0 */
/* The page as a picture. */
#ifndef CLBENCH_TILING_PICTURE_H
#define CLBENCH_TILING_PICTURE_H

#include "base/str.h"
#include "tiling/measurement.h"

/* A whole SVG file. */
void split_svg(const struct split_page *p, struct xl__str *out);

#endif
