/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a pipeline over the stub driver, which moves memory and computes
 * nothing: where chunks come to lie, what is written down of them, and every
 * call made to fail, in every mode, with and without a record. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "pipeline/execution.h"

static const char stages[] = "qk,softmax,gelu,pv";
static const char sizes[] = "5x64x32";
enum { CHUNKS = 4, MAX_CALLS = 2000 };

struct world {
    struct pipe_work work;
    struct pipe_host host;
    struct pipe_site site;
    struct chunks chunks;
    xl_lib *lib;
};

static void world_begin(struct world *w)
{
    const xl_options options = {.skip_selfcheck = true, .cache_dir = ""};
    char why[256];
    unsigned n = 0;
    memset(w, 0, sizeof *w);
    assert_true(pipe_work_read(stages, sizes, XL_F16, &w->work, why,
                               sizeof why));
    assert_true(pipe_host_init(&w->host, &w->work, 1));
    assert_true(chunks_make(pipe_units(&w->work), CHUNKS, 1, &w->chunks));
    assert_int_equal(xl_open(&options, &w->lib), XL_OK);
    assert_int_equal(xl_device_count(w->lib, &n), XL_OK);
}

static xl_status world_site(struct world *w, unsigned buffers)
{
    xl_status status = XL_OK;
    TRY(pipe_site_open(&w->site, &w->work, w->lib, xl_device_at(w->lib, 0),
                       &w->host));
    w->site.is_shared = true;
    w->site.has_clock = true;
    TRY(pipe_site_extend(&w->site));
    TRY(pipe_site_places(&w->site, &w->chunks, buffers));
    for (size_t items = 1; items <= w->work.items; items++) {
        TRY(pipe_prepare(&w->site, &w->site.plain, items));
        TRY(pipe_prepare(&w->site, &w->site.clocked, items));
    }
fail:
    return status;
}

static void world_end(struct world *w)
{
    pipe_site_close(&w->site);
    pipe_host_clear(&w->host);
    xl_close(w->lib);
}

static struct pipe_pass pass_of(struct world *w, const struct pipe_mode *mode,
                                struct pipe_record *record)
{
    return (struct pipe_pass){
        .site = &w->site,
        .lanes = record ? &w->site.clocked : &w->site.plain,
        .mode = mode,
        .chunks = &w->chunks,
        .buffers = 2,
        .record = record};
}

/* -- what goes where ------------------------------------------------------- */

/* With a place for each chunk, the device has all inputs afterwards; with two,
 * the last two chunks. Either way the host has every item of what lay in the
 * result's place. */
static void chunks_lie_in_their_places(void **state)
{
    (void)state;
    for (unsigned buffers = 1; buffers <= CHUNKS; buffers++) {
        struct world w;
        world_begin(&w);
        assert_status(world_site(&w, buffers), XL_OK, pipe_story(&w.site));
        const unsigned out = pipe_output(&w.work), in = w.work.stage[0].src;
        const size_t item = pipe_tensor_bytes(&w.work, in, 1);
        const size_t item_out = pipe_tensor_bytes(&w.work, out, 1);
        struct pipe_pass p = pass_of(&w, pipe_mode("overlapped"), NULL);
        unsigned char *seen = calloc(w.work.items, item + item_out);
        assert_non_null(seen);
        p.buffers = buffers;
        assert_int_equal(xl_buffer_fill(w.site.plain.q[LANE_RUN],
                                        w.site.places[out], 0, 0, 1),
                         XL_OK);
        assert_status(pipe_run(&p), XL_OK, pipe_story(&w.site));
        const bool takes_turns = buffers < CHUNKS;
        const size_t each = w.site.places_items / buffers;
        size_t first = 0;
        for (unsigned i = 0; i < CHUNKS; i++) {
            const size_t n = w.chunks.units[i];
            const size_t at = takes_turns ? i % buffers * each : first;
            assert_true(at + n <= w.site.places_items);
            assert_status(xl_buffer_read(w.site.plain.q[LANE_RUN],
                                         w.site.places[in], at * item, seen,
                                         n * item),
                          XL_OK, pipe_story(&w.site));
            if (i + buffers >= CHUNKS)
                assert_memory_equal(
                    seen, (char *)w.host.at[in] + first * item, n * item);
            assert_status(xl_buffer_read(w.site.plain.q[LANE_RUN],
                                         w.site.places[out], at * item_out,
                                         seen, n * item_out),
                          XL_OK, pipe_story(&w.site));
            assert_memory_equal(
                seen, (char *)w.site.pinned.at[out] + first * item_out,
                n * item_out);
            first += n;
        }
        free(seen);
        world_end(&w);
    }
}

/* -- what is written down -------------------------------------------------- */

static void records_are_whole(void **state)
{
    struct world w;
    struct pipe_record record = {.list = NULL};
    (void)state;
    world_begin(&w);
    assert_status(world_site(&w, 2), XL_OK, pipe_story(&w.site));
    for (const struct pipe_mode *m = pipe_modes; m->name; m++) {
        struct pipe_pass p = pass_of(&w, m, &record);
        size_t n[N_LANES] = {0}, stage[PIPE_STAGES] = {0};
        double bytes = 0;
        assert_status(pipe_run(&p), XL_OK, pipe_story(&w.site));
        const size_t pieces = m->is_cut ? CHUNKS : 1;
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
        for (unsigned i = 0; i < w.work.n_stages; i++)
            assert_true(stage[i] >= pieces); /* launches, at least one each */
        assert_int_equal(n[LANE_UP], m->moves  ? 3 * pieces
                                     : m->maps ? 6
                                               : 0);
        assert_int_equal(n[LANE_DOWN], m->moves ? pieces : m->maps ? 2 : 0);
        if (m->moves)
            assert_true(bytes == pipe_bytes(&w.work, PIPE_HOST));
    }
    pipe_record_clear(&record);
    world_end(&w);
}

/* -- faults ---------------------------------------------------------------- */

static bool releases(const char *entry)
{
    return strstr(entry, "Release") != NULL;
}

/* A call of a run fails: the run does, nothing of it stays, and the next one
 * is as if nothing had been. False: the run makes fewer such calls. */
static bool fail_run(struct world *w, struct pipe_pass *p, const char *entry,
                     unsigned call)
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
    if (status != XL_OK && !*pipe_story(&w->site))
        fail_msg("%s: %s #%u tells no story", p->mode->name, entry, call);
    *w->site.why = '\0';
    assert_status(pipe_run(p), XL_OK, pipe_story(&w->site));
    if (stub->live() != before)
        fail_msg("%s: %s #%u: alive: %s", p->mode->name, entry, call,
                 stub->live_text());
    return fired;
}

static void every_call_of_a_run_fails(void **state)
{
    const struct xl_control *stub = test_stub();
    struct pipe_record record = {.list = NULL};
    struct world w;
    unsigned total = 0;
    (void)state;
    world_begin(&w);
    assert_status(world_site(&w, 2), XL_OK, pipe_story(&w.site));
    for (const struct pipe_mode *m = pipe_modes; m->name; m++)
        for (unsigned looks = 0; looks < 2; looks++) {
            struct pipe_pass p = pass_of(&w, m, looks ? &record : NULL);
            assert_status(pipe_run(&p), XL_OK, pipe_story(&w.site));
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
    world_end(&w);
}

/* And while the site is made. */
static void every_call_of_a_site_fails(void **state)
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
            struct world w;
            world_begin(&w);
            const long before = stub->live();
            stub->reset();
            stub->arm(entries[e], call, CL_OUT_OF_RESOURCES);
            xl_status status =
                pipe_site_open(&w.site, &w.work, w.lib,
                               xl_device_at(w.lib, 0), &w.host);
            w.site.is_shared = true;
            status = status == XL_OK ? pipe_site_extend(&w.site) : status;
            status = status == XL_OK
                         ? pipe_site_places(&w.site, &w.chunks, 2)
                         : status;
            fired = stub->fired() != 0;
            stub->reset();
            /* Memory of the driver's for the host may be missing. */
            const bool is_told = status != XL_OK || *w.site.no_host_memory;
            if (fired != is_told)
                fail_msg("%s #%u: %s", entries[e], call,
                         xl_status_name(status));
            if (status != XL_OK && !*pipe_story(&w.site))
                fail_msg("%s #%u tells no story", entries[e], call);
            pipe_site_close(&w.site);
            if (stub->live() != before)
                fail_msg("%s #%u: alive: %s", entries[e], call,
                         stub->live_text());
            assert_in_range(call, 1, MAX_CALLS);
            world_end(&w);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_lie_in_their_places),
        cmocka_unit_test(records_are_whole),
        cmocka_unit_test(every_call_of_a_run_fails),
        cmocka_unit_test(every_call_of_a_site_fails),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
