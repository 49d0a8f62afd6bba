/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of pipeline runs on the stub driver, which copies memory and computes
 * nothing: where chunks are stored, what is recorded, and failures of every
 * call, in every mode, with and without a record. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pipeline/execution.h"

static const char stages[] = "qk,softmax,gelu,pv";
static const char sizes[] = "5x64x32";
enum { CHUNKS = 4, MAX_CALLS = 2000 };

struct fixture {
    struct pipe_workload workload;
    struct pipe_host host;
    struct pipe_memory memory;
    struct chunks chunks;
    xl_lib *lib;
};

static void fixture_begin(struct fixture *w)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    char why[256];
    unsigned n = 0;
    memset(w, 0, sizeof *w);
    assert_true(pipe_workload_read(stages, sizes, XL_F16, &w->workload, why,
                                   sizeof why));
    assert_true(pipe_host_init(&w->host, &w->workload, 1));
    assert_true(chunks_make(pipe_units(&w->workload), CHUNKS, 1, &w->chunks));
    assert_int_equal(xl_open(&options, &w->lib), XL_OK);
    assert_int_equal(xl_device_count(w->lib, &n), XL_OK);
}

static xl_status fixture_memory(struct fixture *w, unsigned buffers)
{
    xl_status status = XL_OK;
    TRY(pipe_memory_open(&w->memory, &w->workload, w->lib,
                         xl_device_at(w->lib, 0), &w->host));
    w->memory.is_shared = true;
    w->memory.has_clock = true;
    TRY(pipe_memory_extend(&w->memory));
    TRY(pipe_memory_slots(&w->memory, &w->chunks, buffers));
    for (size_t items = 1; items <= w->workload.items; items++) {
        TRY(pipe_prepare(&w->memory, &w->memory.plain, items));
        TRY(pipe_prepare(&w->memory, &w->memory.clocked, items));
    }
fail:
    return status;
}

static void fixture_end(struct fixture *w)
{
    pipe_memory_close(&w->memory);
    pipe_host_clear(&w->host);
    xl_close(w->lib);
}

static struct pipe_run_args pass_of(struct fixture *w,
                                    const struct pipe_mode *mode,
                                    struct pipe_record *record)
{
    return (struct pipe_run_args){.memory = &w->memory,
                                  .lanes = record ? &w->memory.clocked
                                                  : &w->memory.plain,
                                  .mode = mode,
                                  .chunks = &w->chunks,
                                  .buffers = 2,
                                  .record = record};
}

/* -- slots ---------------------------------------------------------------- */

/* With a slot for each chunk the device has all inputs afterwards; with two,
 * those of the last two chunks. In either case the host has every item of the
 * result slots. */
static void chunks_are_stored_in_their_slots(void **state)
{
    (void)state;
    for (unsigned buffers = 1; buffers <= CHUNKS; buffers++) {
        struct fixture w;
        fixture_begin(&w);
        assert_status(fixture_memory(&w, buffers), XL_OK,
                      pipe_error_detail(&w.memory));
        const unsigned out = pipe_output(&w.workload),
                       in = w.workload.stage[0].src;
        const size_t item = pipe_tensor_bytes(&w.workload, in, 1);
        const size_t item_out = pipe_tensor_bytes(&w.workload, out, 1);
        struct pipe_run_args p = pass_of(&w, pipe_mode("overlapped"), NULL);
        unsigned char *seen = calloc(w.workload.items, item + item_out);
        assert_non_null(seen);
        p.buffers = buffers;
        assert_int_equal(xl_buffer_fill(w.memory.plain.q[LANE_RUN],
                                        w.memory.slots[out], 0, 0, 1),
                         XL_OK);
        assert_status(pipe_run(&p), XL_OK, pipe_error_detail(&w.memory));
        const bool is_cyclic = buffers < CHUNKS;
        const size_t each = w.memory.slots_items / buffers;
        size_t first = 0;
        for (unsigned i = 0; i < CHUNKS; i++) {
            const size_t n = w.chunks.units[i];
            const size_t at = is_cyclic ? i % buffers * each : first;
            assert_true(at + n <= w.memory.slots_items);
            assert_status(xl_buffer_read(w.memory.plain.q[LANE_RUN],
                                         w.memory.slots[in], at * item, seen,
                                         n * item),
                          XL_OK, pipe_error_detail(&w.memory));
            if (i + buffers >= CHUNKS)
                assert_memory_equal(
                    seen, (char *)w.host.at[in] + first * item, n * item);
            assert_status(xl_buffer_read(w.memory.plain.q[LANE_RUN],
                                         w.memory.slots[out], at * item_out,
                                         seen, n * item_out),
                          XL_OK, pipe_error_detail(&w.memory));
            assert_memory_equal(
                seen, (char *)w.memory.pinned.at[out] + first * item_out,
                n * item_out);
            first += n;
        }
        free(seen);
        fixture_end(&w);
    }
}

/* -- records -------------------------------------------------------------- */

static void records_are_complete(void **state)
{
    struct fixture w;
    struct pipe_record record = {.list = NULL};
    (void)state;
    fixture_begin(&w);
    assert_status(fixture_memory(&w, 2), XL_OK, pipe_error_detail(&w.memory));
    for (const struct pipe_mode *m = pipe_modes; m->name; m++) {
        struct pipe_run_args p = pass_of(&w, m, &record);
        size_t n[N_LANES] = {0}, stage[PIPE_STAGES] = {0};
        double bytes = 0;
        assert_status(pipe_run(&p), XL_OK, pipe_error_detail(&w.memory));
        const size_t n_chunks = m->is_cut ? CHUNKS : 1;
        for (size_t i = 0; i < record.n; i++) {
            const struct pipe_command *c = &record.list[i];
            n[c->lane]++;
            stage[c->stage] += c->lane == LANE_RUN;
            bytes += c->bytes;
            assert_true(c->call_ns <= c->return_ns);
            assert_true(record.begin_ns <= c->call_ns);
            assert_true(c->return_ns <= record.end_ns);
            assert_true(c->start_ns <= c->end_ns);
            assert_true(*c->name);
        }
        for (unsigned i = 0; i < w.workload.n_stages; i++)
            assert_true(stage[i] >= n_chunks); /* at least one launch each */
        assert_int_equal(n[LANE_UP], m->moves  ? 3 * n_chunks
                                     : m->maps ? 6
                                               : 0);
        assert_int_equal(n[LANE_DOWN], m->moves ? n_chunks : m->maps ? 2 : 0);
        if (m->moves)
            assert_true(bytes == pipe_bytes(&w.workload, PIPE_HOST));
    }
    pipe_record_clear(&record);
    fixture_end(&w);
}

/* -- faults --------------------------------------------------------------- */

static bool releases(const char *entry)
{
    return strstr(entry, "Release") != NULL;
}

/* Makes one call of a run fail: the run fails, leaks nothing, and the next run
 * succeeds. False: the run makes fewer such calls. */
static bool fail_run(struct fixture *w, struct pipe_run_args *p,
                     const char *entry, unsigned call)
{
    const struct xl_control *stub = test_stub();
    const long before = stub->live();
    stub->reset();
    stub->arm(entry, call, CL_OUT_OF_RESOURCES);
    const xl_status status = pipe_run(p);
    const bool fired = stub->fired() != 0;
    stub->reset();
    if (fired && status == XL_OK && !releases(entry) &&
        strcmp(entry, "clRetainEvent") != 0)
        fail_msg("%s: %s #%u goes unnoticed", p->mode->name, entry, call);
    if (status != XL_OK && !*pipe_error_detail(&w->memory))
        fail_msg("%s: %s #%u has no message", p->mode->name, entry, call);
    *w->memory.why = '\0';
    assert_status(pipe_run(p), XL_OK, pipe_error_detail(&w->memory));
    if (stub->live() != before)
        fail_msg("%s: %s #%u: alive: %s", p->mode->name, entry, call,
                 stub->live_text());
    return fired;
}

static void every_call_of_a_run_fails(void **state)
{
    const struct xl_control *stub = test_stub();
    struct pipe_record record = {.list = NULL};
    struct fixture w;
    unsigned total = 0;
    (void)state;
    fixture_begin(&w);
    assert_status(fixture_memory(&w, 2), XL_OK, pipe_error_detail(&w.memory));
    for (const struct pipe_mode *m = pipe_modes; m->name; m++)
        for (unsigned records = 0; records < 2; records++) {
            struct pipe_run_args p = pass_of(&w, m, records ? &record : NULL);
            assert_status(pipe_run(&p), XL_OK, pipe_error_detail(&w.memory));
            for (unsigned e = 0; stub->entry(e); e++) {
                unsigned call = 1;
                while (fail_run(&w, &p, stub->entry(e), call)) {
                    total++;
                    assert_in_range(++call, 1, MAX_CALLS);
                }
            }
        }
    assert_true(total > 100);
    pipe_record_clear(&record);
    fixture_end(&w);
}

/* The same while the memory is opened. */
static void every_call_of_opening_fails(void **state)
{
    static const char *const entries[] = {
        "clCreateContext",       "clCreateCommandQueue",
        "clCreateBuffer",        "clEnqueueMapBuffer",
        "clEnqueueWriteBuffer",  "clEnqueueUnmapMemObject",
        "clGetCommandQueueInfo", "clFinish"};
    const struct xl_control *stub = test_stub();
    (void)state;
    for (size_t e = 0; e < sizeof entries / sizeof *entries; e++) {
        bool fired = true;
        for (unsigned call = 1; fired; call++) {
            struct fixture w;
            fixture_begin(&w);
            const long before = stub->live();
            stub->reset();
            stub->arm(entries[e], call, CL_OUT_OF_RESOURCES);
            xl_status status =
                pipe_memory_open(&w.memory, &w.workload, w.lib,
                                 xl_device_at(w.lib, 0), &w.host);
            w.memory.is_shared = true;
            status = status == XL_OK ? pipe_memory_extend(&w.memory) : status;
            status = status == XL_OK
                         ? pipe_memory_slots(&w.memory, &w.chunks, 2)
                         : status;
            fired = stub->fired() != 0;
            stub->reset();
            /* pinned memory may be missing */
            const bool is_reported =
                status != XL_OK || *w.memory.no_host_memory;
            if (fired != is_reported)
                fail_msg("%s #%u: %s", entries[e], call,
                         xl_status_name(status));
            if (status != XL_OK && !*pipe_error_detail(&w.memory))
                fail_msg("%s #%u has no message", entries[e], call);
            pipe_memory_close(&w.memory);
            if (stub->live() != before)
                fail_msg("%s #%u: alive: %s", entries[e], call,
                         stub->live_text());
            assert_in_range(call, 1, MAX_CALLS);
            fixture_end(&w);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_stored_in_their_slots),
        cmocka_unit_test(records_are_complete),
        cmocka_unit_test(every_call_of_a_run_fails),
        cmocka_unit_test(every_call_of_opening_fails),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
