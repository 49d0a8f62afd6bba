/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line. It is drawn at most ten times a second and erased before
 * anything else is written. There is none where standard error is a file, a
 * pipe or a terminal without cursor movement. */
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/clock.h"
#include "host/host_info.h"
#include "base/str.h"
#include "cli/session.h"
#include "cli/console.h"

static const double ns_per_s = 1e9;
enum { MIN_REDRAW_NS = 100000000, SECONDS_A_MINUTE = 60 };

static bool can_draw(const struct session *s)
{
    const char *term = getenv("TERM");
    return !s->set.quiet && xl__is_terminal(XL__STDERR) && term && *term &&
           !xl__streq(term, "dumb");
}

/* The time left; 0: it is not known. */
static double time_left(struct progress *p, double elapsed_s, double bound_s)
{
    double left_s = p->left_s;
    if (left_s <= 0 && !p->is_part && p->done > 0 && p->total > p->done)
        left_s = elapsed_s / p->done * (p->total - p->done);
    if (bound_s > 0 && (left_s <= 0 || left_s > bound_s))
        left_s = bound_s;
    if (p->shown_s > 0)
        left_s =
            fmin(left_s, fmax(0, p->shown_s - (elapsed_s - p->shown_at_s)));
    if (left_s > 0) {
        p->shown_s = left_s;
        p->shown_at_s = elapsed_s;
    }
    return left_s;
}

void progress_text(struct progress *p, double elapsed_s, double bound_s,
                   unsigned columns, char *out, unsigned cap)
{
    struct xl__str line = {0}, cut = {0};
    const double left_s = time_left(p, elapsed_s, bound_s);
    if (p->total > 0 && !p->is_part)
        xl__str_printf(&line, "[%u/%u] ", p->done + 1, p->total);
    else if (p->done > 0 && !p->is_part)
        xl__str_printf(&line, "[%u] ", p->done + 1);
    text_escape(&line, p->what);
    text_cut(&cut, xl__str_text(&line), columns > 16 ? columns - 14 : columns);
    if (left_s > 0 && columns > 16) {
        unsigned long s = (unsigned long)(left_s + 0.5);
        xl__str_printf(&cut, ", %lu:%02lu left", s / SECONDS_A_MINUTE,
                       s % SECONDS_A_MINUTE);
    }
    xl__strcpy(out, cap, xl__str_text(&cut));
    xl__str_clear(&line);
    xl__str_clear(&cut);
}

static void draw_line(struct session *s, uint64_t now)
{
    struct progress *p = &s->progress;
    char text[256];
    double left = 0;
    if (!p->visible && s->block.draw && xl__is_terminal(XL__STDOUT)) {
        s->block.lines = s->block.draw(s->block.arg);
        fflush(stdout);
    }
    if (p->is_part)
        left = ((double)s->plan.end_ns - (double)now) / ns_per_s;
    else if (s->limit_s > 0)
        left = s->limit_s - (double)(now - s->start_ns) / ns_per_s;
    progress_text(p, (double)(now - p->start_ns) / ns_per_s,
                  left > 0 ? left : 0, text_terminal_columns() - 1, text,
                  sizeof text);
    fprintf(stderr, PROGRESS_ERASE "%s",
            session_interrupted() ? FINISHING : text);
    fflush(stderr);
    p->visible = true;
    p->drawn_ns = now;
}

void progress_begin(struct session *s, unsigned total)
{
    progress_end(s);
    s->progress = (struct progress){
        .enabled = can_draw(s), .total = total, .is_part = s->plan.end_ns > 0};
    s->progress.start_ns = xl__now_ns();
}

void progress_step(struct session *s, const char *what)
{
    struct progress *p = &s->progress;
    p->done += p->what[0] != '\0';
    if (p->total > 0 && p->done >= p->total)
        p->done = p->total - 1;
    xl__strcpy(p->what, sizeof p->what, *what ? what : "...");
    if (p->enabled)
        draw_line(s, xl__now_ns());
}

void progress_update(struct session *s, unsigned done, const char *what)
{
    struct progress *p = &s->progress;
    p->done = done;
    xl__strcpy(p->what, sizeof p->what, what);
    progress_tick(s);
}

void progress_tick(struct session *s)
{
    if (!s->progress.enabled || !s->progress.what[0])
        return;
    uint64_t now = xl__now_ns();
    if (now - s->progress.drawn_ns >= MIN_REDRAW_NS)
        draw_line(s, now);
}

void progress_hide(struct session *s)
{
    if (!s->progress.visible)
        return;
    fputs(PROGRESS_ERASE, stderr);
    if (s->block.lines > 0)
        fprintf(stderr, "\033[%uA\033[J", s->block.lines);
    fflush(stderr);
    s->block.lines = 0;
    s->progress.visible = false;
}

void progress_end(struct session *s)
{
    progress_hide(s);
    s->progress = (struct progress){.enabled = false};
}
