/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: the offset of the device's clock computed from stamps of many kinds,
 * and documents that a viewer can draw. The checker of documents is tested
 * with invalid ones. No device. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/rng.h"
#include "timing/trace.h"

/* -- clocks --------------------------------------------------------------- */

enum { COMMANDS = 40 };

/* A synthetic run: calls of 2 to 10 us, commands of up to 50 us, and a wait at
 * the end. `offset_ns` is the true offset: device minus host. `is_lazy`:
 * "queued" is stamped at the start. */
static void make_run(struct trace_bracket *list, int64_t offset_ns,
                     uint64_t seed, bool is_lazy)
{
    struct xl__rng rng;
    uint64_t host = UINT64_C(1000000000000), busy = host;
    xl__rng_seed(&rng, seed);
    for (unsigned i = 0; i < COMMANDS; i++) {
        struct trace_bracket *b = &list[i];
        b->call_ns = host;
        b->return_ns = host + 2000 + xl__rng_below(&rng, 8000);
        const uint64_t queued =
            host + xl__rng_below(&rng, b->return_ns - host);
        uint64_t start = b->return_ns + 1000 + xl__rng_below(&rng, 5000);
        start = start > busy ? start : busy;
        busy = start + xl__rng_below(&rng, 50000);
        /* Some drivers stamp a command as queued when they start it. */
        b->queued_ns = (is_lazy ? start : queued) + (uint64_t)offset_ns;
        b->start_ns = start + (uint64_t)offset_ns;
        b->end_ns = busy + (uint64_t)offset_ns;
        host = b->return_ns + xl__rng_below(&rng, 1000);
    }
    for (unsigned i = 0; i < COMMANDS; i++)
        list[i].over_ns = busy + 7000;
}

/* The true offset is within the doubt, whatever it is; and where stamps are
 * taken within the call, the doubt is no longer than a call. */
static void clocks_are_found(void **state)
{
    static const int64_t differences[] = {0, 123456789012345, -987654321098,
                                          1, -1};
    struct trace_bracket list[COMMANDS];
    (void)state;
    for (size_t d = 0; d < sizeof differences / sizeof *differences; d++) {
        for (uint64_t seed = 1; seed <= 50; seed++) {
            double doubt = -1;
            make_run(list, differences[d], seed, false);
            int64_t got = trace_clock_offset(list, COMMANDS, &doubt);
            assert_true(doubt >= 0 && doubt <= 2000);
            assert_true(fabs((double)(got - differences[d])) <= doubt + 1);
            make_run(list, differences[d], seed, true);
            got = trace_clock_offset(list, COMMANDS, &doubt);
            assert_true(doubt >= 0 && doubt <= 20000);
            assert_true(fabs((double)(got - differences[d])) <= doubt + 1);
        }
    }
}

/* Clocks that drift within a run leave no common offset: the result is the
 * middle of the bounds, and the doubt half of their distance. */
static void drifting_clocks_have_doubt(void **state)
{
    struct trace_bracket list[2] = {{0, 10, 100, 1005, 1005, 1010},
                                    {20, 30, 100, 1225, 1225, 1230}};
    double doubt = 0;
    (void)state;
    const int64_t got = trace_clock_offset(list, 2, &doubt);
    assert_true(got > 1000 && got < 1240);
    assert_true(doubt > 0);
}

/* -- documents ------------------------------------------------------------ */

enum { MOST_OPEN = 64, MOST_IDS = 512 };
static const double step_us = 1e-3; /* a nanosecond */

static double read_number(const json_t *e, const char *name)
{
    const json_t *x = json_object_get(e, name);
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static const char *read_text(const json_t *e, const char *name)
{
    const char *x = json_string_value(json_object_get(e, name));
    return x ? x : "";
}

static bool on_track(const json_t *e, const json_t *other)
{
    return read_number(e, "pid") == read_number(other, "pid") &&
           read_number(e, "tid") == read_number(other, "tid");
}

static bool is(const json_t *e, const char *kind)
{
    return strcmp(read_text(e, "ph"), kind) == 0;
}

static double end_of(const json_t *e)
{
    return read_number(e, "ts") + read_number(e, "dur");
}

static const char *find_wrong_field(const json_t *e)
{
    if (!strchr("MXbesf", *read_text(e, "ph")) || !*read_text(e, "ph"))
        return "unknown kind";
    if (!*read_text(e, "name") || isnan(read_number(e, "pid")) ||
        isnan(read_number(e, "tid")))
        return "a field is missing";
    if (!is(e, "M") && !(read_number(e, "ts") >= 0))
        return "no time, or one before the first";
    if (is(e, "X") && !(read_number(e, "dur") >= 0))
        return "a length below 0";
    if ((is(e, "b") || is(e, "e") || is(e, "s") || is(e, "f")) &&
        (isnan(read_number(e, "id")) || !*read_text(e, "cat")))
        return "a span or an arrow without its id";
    return NULL;
}

/* Two complete events of a track are disjoint or nested. */
static const char *find_overlap(const json_t *events)
{
    size_t i, j;
    const json_t *a, *b;
    json_array_foreach(events, i, a) {
        json_array_foreach(events, j, b) {
            if (i == j || !is(a, "X") || !is(b, "X") || !on_track(a, b))
                continue;
            const double a0 = read_number(a, "ts"), a1 = end_of(a);
            const double b0 = read_number(b, "ts"), b1 = end_of(b);
            if (b0 > a0 + step_us && b0 < a1 - step_us && b1 > a1 + step_us)
                return "events of a track overlap";
        }
    }
    return NULL;
}

/* Each asynchronous span ends, last begun first ended. */
static const char *find_wrong_span(const json_t *events)
{
    struct { double id; unsigned n; const char *open[MOST_OPEN];
             double at; } list[MOST_IDS];
    size_t n = 0, i;
    const json_t *e;
    json_array_foreach(events, i, e) {
        size_t k = 0;
        if (!is(e, "b") && !is(e, "e"))
            continue;
        while (k < n && list[k].id != read_number(e, "id"))
            k++;
        if (k == n) {
            assert_true(n < MOST_IDS);
            list[n].id = read_number(e, "id");
            list[n].at = -INFINITY;
            list[n++].n = 0;
        }
        if (read_number(e, "ts") < list[k].at)
            return "a span's time runs backwards";
        list[k].at = read_number(e, "ts");
        if (is(e, "b"))
            list[k].open[list[k].n++] = read_text(e, "name");
        else if (list[k].n == 0 ||
                 strcmp(list[k].open[--list[k].n], read_text(e, "name")) != 0)
            return "a span ends that is not open";
    }
    for (size_t k = 0; k < n; k++)
        if (list[k].n > 0)
            return "a span does not end";
    return NULL;
}

/* Is the end of the arrow within a complete event of its track? */
static bool is_in_event(const json_t *events, const json_t *arrow)
{
    size_t i;
    const json_t *e;
    json_array_foreach(events, i, e) if (is(e, "X") && on_track(e, arrow) &&
                                         read_number(arrow, "ts") >=
                                             read_number(e, "ts") - step_us &&
                                         read_number(arrow, "ts") <=
                                             end_of(e) + step_us) return true;
    return false;
}

static const char *find_wrong_arrow(const json_t *events)
{
    size_t i, j;
    const json_t *a, *b;
    json_array_foreach(events, i, a) {
        unsigned n = 0;
        if (!is(a, "s") && !is(a, "f"))
            continue;
        if (!is_in_event(events, a))
            return "an arrow's end is in no event";
        json_array_foreach(events, j, b) {
            if (!is(b, is(a, "s") ? "f" : "s") ||
                read_number(a, "id") != read_number(b, "id"))
                continue;
            n++;
            if (is(a, "s") && read_number(b, "ts") < read_number(a, "ts"))
                return "an arrow points back in time";
        }
        if (n != 1)
            return "an arrow without its other end";
    }
    return NULL;
}

/* The first fault of a document; NULL: it is valid. */
static const char *find_fault(const char *document)
{
    json_t *root = json_loads(document, JSON_REJECT_DUPLICATES, NULL);
    const json_t *events = json_object_get(root, "traceEvents"), *e;
    const char *wrong = json_is_array(events) ? NULL : "no events";
    size_t i;
    json_array_foreach(events, i, e) wrong =
        wrong ? wrong : find_wrong_field(e);
    wrong = wrong ? wrong : find_overlap(events);
    wrong = wrong ? wrong : find_wrong_span(events);
    wrong = wrong ? wrong : find_wrong_arrow(events);
    json_decref(root);
    return wrong;
}

static struct trace_command make_command(uint64_t cause, const int64_t at[4])
{
    return (struct trace_command){.name = "kernel",
                                  .device = 0,
                                  .device_name = "a device",
                                  .queue = "queue",
                                  .engine = "kernels",
                                  .cause = cause,
                                  .queued_ns = at[0],
                                  .submit_ns = at[1],
                                  .start_ns = at[2],
                                  .end_ns = at[3]};
}

/* A run with calls within calls, commands that wait together, two that overlap
 * on one engine, and stamps out of order. */
static void documents_are_valid(void **state)
{
    static const int64_t stamps[][4] = {
        {1000, 1500, 2000, 9000},
        {1200, 2000, 8000, 12000}, /* before the first has ended */
        {1300, 1300, 12000, 12000},
        {9999, 1400, 13000, 12500}, /* not ascending */
        {0, 0, 14000, 15000},       /* not stamped */
        {0, 0, 200, 300},           /* before it was enqueued */
    };
    struct trace *t = trace_new();
    (void)state;
    assert_non_null(t);
    (void)trace_call(t, "run", "in \"quotes\" and \x01", 900, 20000);
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        const uint64_t begin = 1000 + 100 * i;
        const uint64_t call =
            trace_call(t, "enqueue", NULL, begin, begin + 100);
        const struct trace_command c = make_command(call, stamps[i]);
        trace_command(t, &c);
    }
    (void)trace_call(t, "finish", NULL, 1500, 20000);
    char *out = trace_text(t);
    assert_non_null(out);
    assert_null(find_fault(out));
    assert_non_null(strstr(out, "kernels 2")); /* the overlapping one */
    assert_non_null(strstr(out, "\"a device\""));
    free(out);
    trace_free(t);
}

/* The checker finds each fault. */
static void bad_documents_are_found(void **state)
{
#define X(ts, dur) "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"a\","        \
                   "\"ts\":" ts ",\"dur\":" dur "}"
#define OF(kind, ts) "{\"ph\":\"" kind "\",\"pid\":1,\"tid\":1,"              \
                     "\"name\":\"a\",\"cat\":\"c\",\"id\":1,\"ts\":" ts "}"
    static const char *const bad[] = {
        X("0", "5") "," X("3", "5"),
        X("0", "-1"),
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1}",
        OF("b", "1"),
        OF("e", "1"),
        OF("b", "2") "," OF("e", "1"),
        X("0", "9") "," OF("s", "1"),
        X("0", "9") "," OF("s", "5") "," OF("f", "4"),
        X("0", "1") "," OF("s", "1") "," OF("f", "4"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char document[1024];
        snprintf(document, sizeof document, "{\"traceEvents\":[%s]}", bad[i]);
        if (!find_fault(document))
            fail_msg("not found: %s", bad[i]);
    }
    assert_null(
        find_fault("{\"traceEvents\":[" X("0", "5") "," X("1", "4") "]}"));
#undef X
#undef OF
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_are_found),
        cmocka_unit_test(drifting_clocks_have_doubt),
        cmocka_unit_test(documents_are_valid),
        cmocka_unit_test(bad_documents_are_found),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
