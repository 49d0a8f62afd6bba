/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's command queues, which come without a handle of ours: each is
 * wrapped when a call first has it. */
#ifndef XL_CLBLAST_QUEUES_H
#define XL_CLBLAST_QUEUES_H

#include <crosslane/crosslane.h>

struct xl__wrapped;

/* The wrapped queue of a native one, for this thread alone until it is
 * dropped. NULL: the library does not support it. Any thread. */
struct xl__wrapped *xl__wrapped_take(cl_command_queue native, xl_queue **q);
void xl__wrapped_drop(struct xl__wrapped *w);

#endif
