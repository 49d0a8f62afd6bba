/* SPDX-License-Identifier: Apache-2.0 */
/* Between form_map.c, which lays a MAP group out, and form_map_text.c, which
 * writes its kernel. */
#ifndef XL_EXPR_FORM_MAP_H
#define XL_EXPR_FORM_MAP_H

#include "expr/emit.h"

/* The whole text of expr_map. Behind the parameters that all forms have it
 * takes: vectors (of all loops), and of several loops per_row (vectors of the
 * last) with mul_0, shift_0 that divide by it, then mul_d, shift_d for the
 * loops between the first and the last; with geo.turns, turns. */
void xl__map_text(struct xl__emit *m);

#endif
