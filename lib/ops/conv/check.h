/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a convolution's descriptor. */
#ifndef XL_OPS_CONV_CHECK_H
#define XL_OPS_CONV_CHECK_H

#include <crosslane/conv.h>

#include "base/error.h"

/* struct xl__op's check. */
xl_status xl__conv_check(xl_queue *q, const void *desc, bool with_memory);

#endif
