/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of a device: reads all sources in order, then computes shares and
 * power from counters, as differences from an earlier reading:
 *
 *   busy   = 1 - (idle_ns - idle_ns before) / (span x units)
 *   others = busy - (own_ns - own_ns before) / (span x units)
 *   power  = (energy - energy before) / span */
#include "device/telemetry.h"

#include <math.h>
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/alloc.h"
#include "device/device.h"

enum { MOST_SOURCES = 8, READ_SHARE = 100 };
/* Counters of a system step every 1 to 10 ms; a shorter span has too few steps
 * for a share. */
static const double least_ns = 90e6;
static const double ns_per_s = 1e9;

struct xl_telemetry {
    const struct xl__telemetry_source *source[MOST_SOURCES];
    void *kept[MOST_SOURCES];
    unsigned n;
    xl_reading last;   /* ns 0: none yet */
    xl_reading before; /* the earlier reading of the differences */
    xl_reading mark[2]; /* two earlier readings, the older first: of the
                           window that ends now */
    double cost_ns;    /* time of the last reading */
};

/* -- names ---------------------------------------------------------------- */

static const struct {
    const char *name, *unit, *help;
} sensors[] = {
#define ROW(id, name, unit, help) {name, unit, help},
    XL_SENSOR_MAP(ROW)
#undef ROW
};

static const struct {
    const char *name;
    bool is_alarm;
} throttles[] = {
#define ROW(id, name, is_alarm) {name, is_alarm},
    XL_THROTTLE_MAP(ROW)
#undef ROW
};

const char *xl_sensor_name(xl_sensor sensor, const char **unit,
                           const char **help)
{
    if ((unsigned)sensor >= XL_N_SENSORS)
        return NULL;
    if (unit)
        *unit = sensors[sensor].unit;
    if (help)
        *help = sensors[sensor].help;
    return sensors[sensor].name;
}

const char *xl_throttle_name(xl_throttle throttle)
{
    return (unsigned)throttle < XL_N_THROTTLES ? throttles[throttle].name
                                               : NULL;
}

bool xl_throttle_is_alarm(xl_throttle throttle)
{
    return (unsigned)throttle < XL_N_THROTTLES && throttles[throttle].is_alarm;
}

/* -- a reading ------------------------------------------------------------- */

void xl__reading_init(xl_reading *out)
{
    *out = (xl_reading){.idle_ns = NAN, .own_ns = NAN, .units = 1};
    for (unsigned i = 0; i < XL_N_SENSORS; i++)
        out->value[i] = NAN;
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        out->throttle_ns[i] = NAN;
}

void xl__reading_set(xl_reading *r, xl_sensor sensor, double value,
                     const char *source)
{
    if (!(value >= 0) || r->source[sensor])
        return;
    r->value[sensor] = value;
    r->source[sensor] = source;
}

static double clamp_share(double share)
{
    return fmin(1, fmax(0, share));
}

/* Set shares and power of `r` from the difference of its counters and those of
 * `before`. */
static void set_rates(xl_reading *r, const xl_reading *before)
{
    const double span = (double)(r->ns - before->ns), all = span * r->units;
    const double idle = r->idle_ns - before->idle_ns;
    const double own = r->own_ns - before->own_ns;
    const double energy =
        r->value[XL_SENSOR_ENERGY] - before->value[XL_SENSOR_ENERGY];
    if (before->ns == 0 || !(span >= least_ns))
        return;
    if (idle >= 0)
        xl__reading_set(r, XL_SENSOR_BUSY, clamp_share(1 - idle / all),
                        r->idle_source);
    if (idle >= 0 && own >= 0)
        xl__reading_set(r, XL_SENSOR_OTHERS,
                        clamp_share(1 - (idle + own) / all), r->idle_source);
    /* Negative, and so ignored, when the counter has restarted. */
    xl__reading_set(r, XL_SENSOR_POWER, energy / span * ns_per_s,
                    r->source[XL_SENSOR_ENERGY]);
}

/* -- sources -------------------------------------------------------------- */

xl_status xl__telemetry_create(const struct xl__telemetry_source *const *list,
                               const struct xl__telemetry_target *at,
                               xl_telemetry **out)
{
    xl_telemetry *t = xl__calloc(1, sizeof *t);
    *out = t;
    if (!t)
        return XL_NO_MEMORY;
    for (unsigned i = 0; list[i] && t->n < MOST_SOURCES; i++) {
        const struct xl__telemetry_source *s = list[i];
        void *kept = s->open(s, at);
        if (!kept)
            continue;
        t->source[t->n] = s;
        t->kept[t->n++] = kept;
    }
    return XL_OK;
}

xl_status xl_telemetry_open(const xl_device *dev, xl_telemetry **out)
{
    if (!out)
        return XL_BAD_ARGUMENT;
    *out = NULL;
    if (!dev)
        return XL_BAD_ARGUMENT;
    const char *pci = xl__text(&dev->limits, XL__F_pci);
    const struct xl__telemetry_target at = {
        .pci = *pci ? pci : NULL,
        .uuid = xl__text(&dev->limits, XL__F_uuid),
        /* The driver of a CPU has no PCI address, whatever type it reports. */
        .is_host = dev->id && xl__is(&dev->limits, XL__F_is_cpu) && !*pci,
        .root = ""};
    return xl__telemetry_create(dev->targets->telemetry, &at, out);
}

void xl_telemetry_watch(xl_device *dev, bool on)
{
    if (dev)
        dev->is_watched = on;
}

void xl_telemetry_close(xl_telemetry *t)
{
    if (!t)
        return;
    for (unsigned i = 0; i < t->n; i++)
        t->source[i]->close(t->kept[i]);
    free(t);
}

/* Keeps the last reading for differences if it is old enough. */
static void keep_earlier_reading(xl_telemetry *t, uint64_t now)
{
    if (t->before.ns == 0 || (double)(now - t->last.ns) >= least_ns)
        t->before = t->last;
}

/* The time of all units that a window has at least. */
static const double window_ns = 1e9;

static bool is_window(const xl_reading *from, const xl_reading *to)
{
    return from->ns > 0 &&
           (double)(to->ns - from->ns) * to->units >= window_ns;
}

/* Moves the marks on: the older one is a window old or more, the newer one
 * less. */
static void move_marks(xl_telemetry *t)
{
    if (t->mark[0].ns == 0)
        t->mark[0] = t->mark[1] = t->last;
    if (is_window(&t->mark[1], &t->last)) {
        t->mark[0] = t->mark[1];
        t->mark[1] = t->last;
    }
}

void xl_telemetry_read(xl_telemetry *t, xl_reading *out)
{
    if (!t || !out)
        return;
    const uint64_t now = xl__now_ns();
    keep_earlier_reading(t, now);
    xl__reading_init(&t->last);
    t->last.ns = now;
    for (unsigned i = 0; i < t->n; i++)
        t->source[i]->read(t->kept[i], &t->last);
    t->cost_ns = (double)(xl__now_ns() - now);
    set_rates(&t->last, &t->before);
    move_marks(t);
    *out = t->last;
}

const xl_reading *xl__telemetry_window(const xl_telemetry *t)
{
    return is_window(&t->mark[0], &t->last) ? &t->mark[0] : NULL;
}

const xl_reading *xl__telemetry_recent(xl_telemetry *t, uint64_t due_ns)
{
    const double age = (double)(xl__now_ns() - t->last.ns);
    xl_reading now;
    if (t->last.ns == 0 ||
        (age >= (double)due_ns && age >= READ_SHARE * t->cost_ns))
        xl_telemetry_read(t, &now);
    return &t->last;
}
