/* SPDX-License-Identifier: Apache-2.0 */
/* What the plans of attention on matrix instructions of four sub-groups share
 * (cl/attention/nvidia/). */
#ifndef XL_OPS_ATTENTION_WGMMA_PLAN_H
#define XL_OPS_ATTENTION_WGMMA_PLAN_H

#include "ops/attention/heads_map.h"
#include "ops/path/matrix_engine.h"

/* The instruction that multiplies the operands; NULL: none. */
const xl_matrix_op *
xl__wgmma_heads_op(const struct xl__limits *l,
                   const struct xl__attention_canonical *c);
/* NULL, or why the type, an option or a length is not supported. */
const char *xl__wgmma_heads_refused(const struct xl__limits *l,
                                    const struct xl__attention_canonical *c);
/* Of `heads`, whose operands have so many bytes, those that are read together:
 * equal sections of all. */
size_t xl__section_heads(const struct xl__limits *l, size_t heads,
                         double bytes);
/* Sets flop, bytes and the estimate of a plan that takes so many clocks of a
 * unit, and copies so many bytes besides. */
void xl__wgmma_heads_estimate(const struct xl__limits *l,
                              const struct xl__attention_canonical *c,
                              double clocks, double copied, unsigned launches,
                              struct xl__plan *p);

#endif
