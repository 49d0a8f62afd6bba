/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a convolution's descriptor. */
#ifndef XL_OPS_CONV_CHECK_H
#define XL_OPS_CONV_CHECK_H

#include <crosslane/conv.h>

#include "base/error.h"

/* The operands of the call, in the order in which the check adds them. */
enum { XL__CONV_IN_REGION, XL__CONV_FILTERS_REGION, XL__CONV_OUT_REGION };

/* struct xl__op's check. */
xl_status xl__conv_check(xl_queue *q, const void *desc, bool with_memory);

#endif
