/* SPDX-License-Identifier: Apache-2.0 */
/* What crosslane.h states of opening a library: when the environment and the
 * options are read, that no driver is called, what the log is given, versions,
 * and devices that are searched again. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "support/support.h"

enum { MANY = 4, N_BUILDS = 8, PAUSE_NS = 200000 };

static xl_lib *open_lib(const xl_options *options)
{
    xl_lib *lib = NULL;
    assert_status(xl_open(options, &lib), XL_OK, "xl_open");
    return lib;
}

static void versions_agree(void **state)
{
    char text[32];
    (void)state;
    snprintf(text, sizeof text, "%d.%d.%d", XL_VERSION_MAJOR, XL_VERSION_MINOR,
             XL_VERSION_PATCH);
    assert_string_equal(xl_version(), text);
    assert_string_equal(xl_version(), XL_VERSION_TEXT);
}

/* -- what is read, and when ------------------------------------------------
 */

static const char *const variables[] = {
    "XL_CL_DIR",      "XL_CACHE_DIR",    "XL_TUNED_DIR", "XL_SPIN_LIMIT",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME"};

static void calls_no_driver(void **state)
{
    const struct xl_control *stub = test_stub();
    const char *entry;
    (void)state;
    stub->reset();
    xl_close(open_lib(NULL));
    for (unsigned i = 0; (entry = stub->entry(i)) != NULL; i++) {
        if (stub->calls(entry) != 0)
            fail_msg("xl_open() calls %s", entry);
    }
}

/* A product, whose kernels are read and whose tuned sets are looked up. */
static xl_status use(xl_lib *lib)
{
    enum { SIDE = 16 };
    xl_queue *q = NULL;
    cl_mem mem = NULL;
    xl_status status = xl_queue_create(lib, xl_device_at(lib, 0), &q);
    if (status == XL_OK)
        status = xl_buffer_create(q, 2 * SIDE * SIDE * sizeof(float), &mem);
    const xl_mat a = xl_mat_rows(mem, SIDE, XL_F32);
    xl_mat c = a;
    c.offset = SIDE * SIDE;
    const xl_gemm g = {XL_GEMM_INIT, .m = SIDE, .n = SIDE, .k = SIDE,
                       .alpha = 1,   .a = a,    .b = a,    .c = c};
    if (status == XL_OK)
        status = xl_gemm_run(q, &g, NULL);
    if (mem)
        clReleaseMemObject(mem);
    xl_queue_destroy(q);
    return status;
}

/* Variables that change after xl_open() have no effect on the library. */
static void environment_is_read_once(void **state)
{
    enum { N = sizeof variables / sizeof *variables };
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true};
    char was[N][1024], dir[512], tuned[1024];
    bool is_set[N];
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        const char *value = getenv(variables[i]);
        is_set[i] = value != NULL;
        snprintf(was[i], sizeof was[i], "%s", value ? value : "");
    }
    snprintf(dir, sizeof dir, "%s", test_scratch("open"));
    snprintf(tuned, sizeof tuned, "%s/tuned", dir);
    test_setenv("XL_CACHE_DIR", dir);
    test_setenv("XL_TUNED_DIR", tuned);
    xl_lib *lib = open_lib(&options);
    for (unsigned i = 0; i < N; i++)
        test_setenv(variables[i], "/dev/null/none");
    assert_string_equal(xl_cache_dir(lib), dir);
    assert_string_equal(xl_tuned_dir(lib), tuned);
    assert_status(use(lib), XL_OK, xl_lib_error(lib));
    assert_string_equal(xl_cache_dir(lib), dir);
    assert_string_equal(xl_tuned_dir(lib), tuned);
    xl_close(lib);
    for (unsigned i = 0; i < N; i++)
        test_setenv(variables[i], is_set[i] ? was[i] : NULL);
}

/* The texts of the options are the caller's again when xl_open() returns. */
static void options_are_copied(void **state)
{
    char cache[2048], tuned[2048], cl[1024];
    const char *dir = test_scratch("options");
    (void)state;
    snprintf(cache, sizeof cache, "%s/cache", dir);
    snprintf(tuned, sizeof tuned, "%s/tuned", dir);
    snprintf(cl, sizeof cl, "%s/cl", XL_TEST_SOURCE_DIR);
    const xl_options options = {
        XL_OPTIONS_INIT,       .cl_dir = cl,
        .cache_dir = cache,    .system_cache_dir = cache,
        .tuned_dir = tuned,    .system_tuned_dir = tuned,
        .skip_selfcheck = true};
    xl_lib *lib = open_lib(&options);
    memset(cl, 'x', sizeof cl - 1);
    memset(tuned, 'x', sizeof tuned - 1);
    memset(cache, 'x', sizeof cache - 1);
    assert_status(use(lib), XL_OK, xl_lib_error(lib));
    assert_non_null(strstr(xl_cache_dir(lib), "/cache"));
    assert_non_null(strstr(xl_tuned_dir(lib), "/tuned"));
    xl_close(lib);
}

static void count_set(const xl_tuned_entry *entry, void *n)
{
    (void)entry;
    ++*(unsigned *)n;
}

/* "off" in the environment is "" in the options: no cache, no tuned sets, not
 * even the library's own. */
static void off(void **state)
{
    const char *cache = getenv("XL_CACHE_DIR");
    char was[1024];
    xl_cache_stats stats;
    (void)state;
    snprintf(was, sizeof was, "%s", cache ? cache : "");
    for (unsigned by_option = 0; by_option < 2; by_option++) {
        const char *none = by_option ? "" : NULL;
        const xl_options options = {XL_OPTIONS_INIT, .cache_dir = none,
                                    .tuned_dir = none};
        struct test_device t;
        unsigned n = 0;
        test_setenv("XL_CACHE_DIR", by_option ? was : "off");
        test_setenv("XL_TUNED_DIR", by_option ? NULL : "off");
        test_device_open(&t, &options);
        assert_null(xl_cache_dir(t.lib));
        assert_status(xl_tuned_list(t.queue, count_set, &n), XL_OK,
                      xl_error_detail(t.queue));
        assert_int_equal(n, 0);
        test_device_close(&t);
    }
    test_setenv("XL_CACHE_DIR", was);
    test_setenv("XL_TUNED_DIR", NULL);
    xl_lib *lib = open_lib(NULL);
    assert_status(xl_cache_stats_get(lib, &stats), XL_OK, xl_lib_error(lib));
    assert_int_equal(stats.limit_bytes, 256 << 20);
    xl_close(lib);
}

/* -- devices ---------------------------------------------------------------
 */

/* A search that fails is made again by the next call. */
static void searched_again(void **state)
{
    unsigned n = 7;
    (void)state;
    xl_lib *lib = open_lib(NULL);
    test_stub()->arm("clGetDeviceIDs", 1, CL_OUT_OF_HOST_MEMORY);
    assert_int_not_equal(xl_device_count(lib, &n), XL_OK);
    assert_true(test_stub()->fired());
    assert_int_equal(n, 0);
    assert_string_not_equal(xl_lib_error(lib), "");
    test_stub()->reset();
    assert_status(xl_device_count(lib, &n), XL_OK, xl_lib_error(lib));
    assert_true(n >= 1);
    assert_string_equal(xl_lib_error(lib), "");
    assert_null(xl_device_at(lib, n));
    assert_string_equal(xl_lib_error(lib), "");
    xl_close(lib);
}

/* A queue of the caller is wrapped without a search. */
static void wrapped_without_a_search(void **state)
{
    struct test_device t;
    xl_queue *q = NULL;
    (void)state;
    test_device_open(&t, NULL);
    xl_lib *lib = open_lib(NULL);
    test_stub()->reset();
    assert_status(xl_queue_wrap(lib, xl_queue_cl(t.queue), &q), XL_OK,
                  xl_lib_error(lib));
    assert_int_equal(test_stub()->calls("clGetDeviceIDs"), 0);
    assert_ptr_equal(xl_queue_cl(q), xl_queue_cl(t.queue));
    assert_ptr_equal(xl_queue_context(q), xl_queue_context(t.queue));
    assert_ptr_equal(xl_device_cl(xl_queue_device(q)), xl_device_cl(t.device));
    xl_queue *const kept = t.queue; /* the wrapped one retains its queue */
    t.queue = NULL;
    xl_queue_destroy(kept);
    assert_status(xl_queue_finish(q), XL_OK, xl_error_detail(q));
    xl_queue_destroy(q);
    xl_close(lib);
    test_device_close(&t);
    assert_int_equal(test_stub()->live(), 0);
}

/* -- the log ---------------------------------------------------------------
 */

struct heard {
    int within; /* calls that have not returned */
    unsigned n;
    bool is_well_formed;
};

static void hear(xl_log_level level, const char *text, void *arg)
{
    struct heard *h = arg;
    const size_t length = strlen(text);
    const int others = __atomic_fetch_add(&h->within, 1, __ATOMIC_RELAXED);
    if (others != 0 || length == 0 || text[length - 1] == '\n' ||
        (level != XL_LOG_INFO && level != XL_LOG_WARNING))
        h->is_well_formed = false;
    h->n++;
    xl__sleep_ns(PAUSE_NS); /* so that another one would fall into it */
    __atomic_fetch_sub(&h->within, 1, __ATOMIC_RELAXED);
}

struct talker {
    pthread_t thread;
    xl_queue *q;
    unsigned number;
};

/* Expressions that the stub's kernels do not compute: each is a warning. */
static void *talk(void *arg)
{
    const struct talker *x = arg;
    const size_t size[1] = {64};
    xl_binding b[2] = {
        {.name = "x", .tensor = xl_tensor_dense(NULL, XL_F32, 1, size)},
        {.name = "y", .tensor = xl_tensor_dense(NULL, XL_F32, 1, size)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = b,
                               .n_bindings = 2};
    for (unsigned i = 0; i < N_BUILDS; i++) {
        xl_expr *e = NULL;
        char text[64];
        snprintf(text, sizeof text, "y = x * %u",
                 2 + x->number * N_BUILDS + i);
        (void)xl_expr_compile(x->q, text, &args, &e);
        xl_expr_destroy(e);
    }
    return NULL;
}

/* Messages of several threads come one at a time, each a text without a
 * newline at its end. */
static void log_is_serial(void **state)
{
    struct heard h = {.is_well_formed = true};
    const xl_options options = {XL_OPTIONS_INIT, .log = hear, .log_arg = &h,
                                .cache_dir = ""};
    struct talker all[MANY];
    struct test_device t;
    (void)state;
    test_device_open(&t, &options);
    for (unsigned i = 0; i < MANY; i++) {
        all[i].number = i;
        assert_status(xl_queue_create_beside(t.queue, &all[i].q), XL_OK,
                      xl_lib_error(t.lib));
    }
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(pthread_create(&all[i].thread, NULL, talk, &all[i]),
                         0);
    for (unsigned i = 0; i < MANY; i++) {
        pthread_join(all[i].thread, NULL);
        xl_queue_destroy(all[i].q);
    }
    test_device_close(&t);
    assert_true(h.n >= MANY * N_BUILDS);
    assert_true(h.is_well_formed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_agree),
        cmocka_unit_test(calls_no_driver),
        cmocka_unit_test(environment_is_read_once),
        cmocka_unit_test(options_are_copied),
        cmocka_unit_test(off),
        cmocka_unit_test(searched_again),
        cmocka_unit_test(wrapped_without_a_search),
        cmocka_unit_test(log_is_serial),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
