/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of a queue: a ring of the events of its launches, whose times
 * are read later. */
#ifndef XL_RUNTIME_TIMELINE_H
#define XL_RUNTIME_TIMELINE_H

#include <crosslane/queue.h>

enum { XL__TIMELINE_CAP = 4096 };

struct xl__timeline {
    bool on;
    struct {
        cl_event event;
        const char *label;
    } * ring; /* NULL until on */
    unsigned first, n;
};

/* Record an event, which is retained; without effect while off. */
void xl__timeline_add(struct xl__timeline *t, const char *label,
                      cl_event event);
void xl__timeline_clear(struct xl__timeline *t);

#endif
