/* SPDX-License-Identifier: Apache-2.0 */
/* The stub driver's controls for tests: faults, counts of calls, objects that
 * are alive. */
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

#define EXPORT __attribute__((visibility("default")))

enum { FAKE_STEP_NS = 1000 };

static const char *const entry_names[] = {
#define NAME(name) #name,
    STUB_ENTRIES(NAME) STUB_EXTENSIONS(NAME)
#undef NAME
        NULL};

static const char *const kind_names[] = {
    "platform", "device", "context", "queue",     "buffer",
    "program",  "kernel", "event",   "SVM block", "command buffer"};

static atomic_ulong calls[STUB_N_ENTRIES];
static atomic_int live[STUB_N_KINDS];
static atomic_ulong now_steps;
static atomic_int timer_mode;
static bool logs;

static struct {
    int entry; /* -1: none */
    unsigned long at;
    cl_int code;
    atomic_int fired;
} fault = {.entry = -1};

cl_int stub_enter(enum stub_entry entry)
{
    const unsigned long n =
        atomic_fetch_add_explicit(&calls[entry], 1, memory_order_relaxed) + 1;
    if (logs)
        fprintf(stderr, "stub: %s #%lu\n", entry_names[entry], n);
    if ((int)entry != fault.entry || n != fault.at)
        return CL_SUCCESS;
    atomic_store(&fault.fired, 1);
    return fault.code;
}

void stub_log(const char *what, const char *text)
{
    if (logs)
        fprintf(stderr, "stub: %s: %s\n", what, text);
}

void *stub_new(enum stub_kind kind, size_t bytes)
{
    struct stub_object *o = calloc(1, bytes);
    if (!o)
        return NULL;
    o->dispatch = &stub_table;
    o->kind = kind;
    atomic_init(&o->refs, 1);
    stub_count(kind, 1);
    return o;
}

bool stub_is(const void *object, enum stub_kind kind)
{
    const struct stub_object *o = object;
    return o && o->dispatch == &stub_table && o->kind == kind;
}

void stub_retain(void *object)
{
    atomic_fetch_add(&((struct stub_object *)object)->refs, 1);
}

bool stub_release(void *object)
{
    return atomic_fetch_sub(&((struct stub_object *)object)->refs, 1) == 1;
}

void stub_free(void *object)
{
    struct stub_object *o = object;
    stub_count(o->kind, -1);
    o->dispatch = NULL;
    free(o);
}

void stub_count(enum stub_kind kind, int change)
{
    atomic_fetch_add(&live[kind], change);
}

static cl_int finished(cl_command_queue queue, cl_command_type type,
                       double ns, cl_event *event)
{
    cl_event e = event ? stub_new(STUB_EVENT, sizeof *e) : NULL;
    if (event && !e)
        return CL_OUT_OF_HOST_MEMORY;
    if (e) {
        e->context = queue->context;
        e->queue = queue;
        e->type = type;
        atomic_init(&e->status, CL_COMPLETE);
        *event = e;
    }
    if (stub_has_model())
        stub_work(queue, type, ns, e);
    else if (e && atomic_load(&timer_mode) == 0)
        for (cl_ulong i = 0, at = atomic_fetch_add(&now_steps, 4);
             i < XL_N_STAMPS; i++)
            e->stamp_ns[i] = FAKE_STEP_NS * (at + 1 + i);
    return CL_SUCCESS;
}

cl_int stub_done(cl_command_queue queue, cl_command_type type, cl_event *event)
{
    return finished(queue, type, 0, event);
}

cl_int stub_launched(cl_command_queue queue, double ns, cl_event *event)
{
    return finished(queue, CL_COMMAND_NDRANGE_KERNEL, ns, event);
}

static int find_entry(const char *name)
{
    for (int i = 0; i < STUB_N_ENTRIES; i++)
        if (strcmp(entry_names[i], name) == 0)
            return i;
    return -1;
}

static void control_arm(const char *name, unsigned n, cl_int code)
{
    fault.entry = find_entry(name);
    fault.code = code;
    fault.at = fault.entry < 0 ? 0 : atomic_load(&calls[fault.entry]) + n;
    atomic_store(&fault.fired, 0);
}

static int control_fired(void) { return atomic_load(&fault.fired); }

static void control_reset(void)
{
    fault.entry = -1;
    atomic_store(&fault.fired, 0);
    for (int i = 0; i < STUB_N_ENTRIES; i++)
        atomic_store(&calls[i], 0);
}

static long control_live(void)
{
    long n = 0;
    for (int i = 0; i < STUB_N_KINDS; i++)
        n += atomic_load(&live[i]);
    return n;
}

static const char *control_live_text(void)
{
    static char text[256];
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < STUB_N_KINDS; i++) {
        const int n = atomic_load(&live[i]);
        if (n != 0 && at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%d %s",
                                   at ? ", " : "", n, kind_names[i]);
    }
    return text;
}

static unsigned long control_calls(const char *name)
{
    const int i = find_entry(name);
    return i < 0 ? 0 : atomic_load(&calls[i]);
}

static const char *control_entry(unsigned i)
{
    return i < STUB_N_ENTRIES ? entry_names[i] : NULL;
}

static void control_timer(int mode) { atomic_store(&timer_mode, mode); }

static const struct xl_builds *builds;
static unsigned n_logs; /* given out */

static void control_builds(const struct xl_builds *how)
{
    builds = how;
    n_logs = 0;
}

const struct xl_builds *stub_builds(void) { return builds; }

const char *stub_next_log(void)
{
    const unsigned cap = sizeof builds->logs / sizeof *builds->logs;
    const char *log = builds->logs[n_logs];
    if (n_logs + 1 < cap && builds->logs[n_logs + 1])
        n_logs++;
    return log ? log : "";
}

static void (*build_call)(void *arg);
static void *build_arg;

static void control_on_build(void (*call)(void *arg), void *arg)
{
    build_call = call;
    build_arg = arg;
}

void stub_building(void)
{
    if (build_call)
        build_call(build_arg);
}

EXPORT extern const struct xl_control xl_stub_control;
const struct xl_control xl_stub_control = {
    .arm = control_arm,
    .fired = control_fired,
    .reset = control_reset,
    .live = control_live,
    .live_text = control_live_text,
    .calls = control_calls,
    .entry = control_entry,
    .timer = control_timer,
    .builds = control_builds,
    .model = stub_set_model,
    .on_build = control_on_build,
};

/* clang-format off */
static const struct {
    const char *name;
    void (*function)(void);
} by_name[] = {
    {"xlStubFail",  (void (*)(void))control_arm},
    {"xlStubFired", (void (*)(void))control_fired},
    {"xlStubReset", (void (*)(void))control_reset},
    {"xlStubLive",  (void (*)(void))control_live},
    {"xlStubCalls", (void (*)(void))control_calls},
    {"xlStubTimer", (void (*)(void))control_timer},
};
/* clang-format on */

void *stub_control(const char *name)
{
    void *found = NULL;
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (strcmp(by_name[i].name, name) == 0)
            memcpy(&found, &by_name[i].function, sizeof found);
    return found;
}

static __attribute__((constructor)) void read_environment(void)
{
    const char *spec = getenv("XL_STUB_FAIL");
    const char *timer = getenv("XL_STUB_TIMER");
    char name[64];
    unsigned n;
    int code;

    logs = getenv("XL_STUB_LOG") != NULL;
    if (timer && strcmp(timer, "zero") == 0)
        control_timer(1);
    if (spec && sscanf(spec, "%63[^:]:%u:%d", name, &n, &code) == 3)
        control_arm(name, n, code);
}
