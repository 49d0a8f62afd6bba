/* SPDX-License-Identifier: Apache-2.0 */
/* Auditions: times candidates of a call within a budget. xl_open() hands this
 * to the path of every op: ops/path/audition.c. */
#ifndef XL_TUNE_AUDITION_H
#define XL_TUNE_AUDITION_H

#include "runtime/tuned/auditions.h"

/* Time the candidates of a struct xl__op_call, which are selected, on a
 * private queue beside the call's. Within the budget of the library's
 * auditions at most, beyond builds, self-checks and one run each of a small
 * case. XL_UNSUPPORTED: the op has no case of this kind, or no candidate ran.
 * XL_NO_MEMORY, or an OpenCL code. The message is in the error of the call's
 * queue. */
xl_status xl__audition_hold(void *call, struct xl__audition_result *out);

#endif
