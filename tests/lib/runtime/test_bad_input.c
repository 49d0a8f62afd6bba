/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of invalid input: each kind has its own status, and a message that
 * names the cause. Runs on the stub driver; the tests named no_driver_* run
 * with an empty folder of drivers. */
#include <float.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "support/support.h"

enum { SIDE = 16, MAX_STORIES = 64 };

/* -- no two failures have the same message ------------------------------------*/

static char messages[MAX_STORIES][256];
static unsigned n_stories;

/* `part` is what a reader must find in the message. */
static void expect(xl_status got, xl_status want, const char *message,
                   const char *part)
{
    assert_status(got, want, message);
    if (strlen(message) < 8 || !strstr(message, part))
        fail_msg("\"%s\" does not say \"%s\"", message, part);
    for (unsigned i = 0; i < n_stories; i++)
        if (strcmp(messages[i], message) == 0)
            fail_msg("a message again: \"%s\"", message);
    assert_in_range(n_stories, 0, MAX_STORIES - 1);
    snprintf(messages[n_stories++], sizeof messages[0], "%s", message);
}

/* -- fixture --------------------------------------------------------------- */

struct fixture {
    struct test_device t;
    cl_mem mem[3];
    xl_gemm gemm;
    xl_softmax softmax;
};

static void set_up(struct fixture *f)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    memset(f, 0, sizeof *f);
    f->gemm = (xl_gemm){XL_GEMM_INIT};
    f->softmax = (xl_softmax){XL_SOFTMAX_INIT};
    n_stories = 0;
    test_device_open(&f->t, &options);
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(f->t.queue,
                                       SIDE * SIDE * sizeof(float),
                                       &f->mem[i]),
                      XL_OK, xl_error_detail(f->t.queue));
    f->gemm.m = f->gemm.n = f->gemm.k = SIDE;
    f->gemm.a = xl_mat_rows(f->mem[0], SIDE, XL_F32);
    f->gemm.b = xl_mat_rows(f->mem[1], SIDE, XL_F32);
    f->gemm.c = xl_mat_rows(f->mem[2], SIDE, XL_F32);
    f->gemm.alpha = 1.0;
    f->softmax.rows = f->softmax.cols = SIDE;
    f->softmax.src = f->gemm.a;
    f->softmax.dst = f->gemm.c;
}

static void tear_down(struct fixture *f)
{
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(f->mem[i]);
    test_device_close(&f->t);
    assert_int_equal(test_stub()->live(), 0);
}

/* Commands since the last reset. */
static unsigned long count_enqueued(void)
{
    const char *entry;
    unsigned long n = 0;
    for (unsigned i = 0; (entry = test_stub()->entry(i)) != NULL; i++) {
        if (strncmp(entry, "clEnqueue", strlen("clEnqueue")) == 0)
            n += test_stub()->calls(entry);
    }
    return n;
}

/* -- GEMM ------------------------------------------------------------------ */

static void zero_m(struct fixture *f) { f->gemm.m = 0; }
static void zero_n(struct fixture *f) { f->gemm.n = 0; }
static void zero_k(struct fixture *f) { f->gemm.k = 0; }
static void c_meets_itself(struct fixture *f)
{
    f->gemm.c.row_stride = SIDE - 1;
}
static void c_is_one_place(struct fixture *f) { f->gemm.c.col_stride = 0; }
static void c_is_a(struct fixture *f) { f->gemm.c.mem = f->gemm.a.mem; }
static void c_is_in_b(struct fixture *f)
{
    f->gemm.m = f->gemm.n = f->gemm.k = 4;
    f->gemm.c.mem = f->gemm.b.mem;
    f->gemm.c.offset = 50;
}
static void stride_overflows(struct fixture *f)
{
    f->gemm.a.row_stride = SIZE_MAX / 4;
}
static void size_overflows(struct fixture *f)
{
    f->gemm.m = SIZE_MAX / 8;
    f->gemm.a.row_stride = f->gemm.c.row_stride = SIDE;
}
static void offset_overflows(struct fixture *f)
{
    f->gemm.b.offset = SIZE_MAX - 10;
}
static void a_too_small(struct fixture *f) { f->gemm.a.offset = 1; }
static void b_too_small(struct fixture *f) { f->gemm.b.row_stride = 2 * SIDE; }
static void c_too_small(struct fixture *f) { f->gemm.c.row_stride = SIDE + 1; }
static void alpha_nan(struct fixture *f) { f->gemm.alpha = (double)NAN; }
static void alpha_infinite(struct fixture *f) { f->gemm.alpha = HUGE_VAL; }
static void beta_nan(struct fixture *f) { f->gemm.beta = (double)NAN; }
static void beta_infinite(struct fixture *f) { f->gemm.beta = -HUGE_VAL; }
static void alpha_large(struct fixture *f) { f->gemm.alpha = 1e300; }
static void beta_large(struct fixture *f) { f->gemm.beta = -3.41e38; }
static void no_memory_a(struct fixture *f) { f->gemm.a.mem.buf = NULL; }
static void both_memories(struct fixture *f) { f->gemm.b.mem.svm = f; }
static void no_dtype(struct fixture *f) { f->gemm.a.dtype = (xl_dtype)77; }
static void no_variant(struct fixture *f) { f->gemm.variant = "gemm_magic"; }

/* clang-format off */
static const struct {
    void (*spoil)(struct fixture *f);
    xl_status want;
    const char *part;
} gemm_rows[] = {
    {zero_m,           XL_BAD_SHAPE,        "0"},
    {zero_n,           XL_BAD_SHAPE,        "0"},
    {zero_k,           XL_BAD_SHAPE,        "0"},
    {c_meets_itself,   XL_OVERLAP,          "C overlaps itself"},
    {c_is_one_place,   XL_OVERLAP,          "C overlaps itself"},
    {c_is_a,           XL_OVERLAP,          "C overlaps A"},
    {c_is_in_b,        XL_OVERLAP,          "C overlaps B"},
    {stride_overflows, XL_OVERFLOW,         "A"},
    {size_overflows,   XL_OVERFLOW,         "64 bits"},
    {offset_overflows, XL_OVERFLOW,         "B"},
    {a_too_small,      XL_BUFFER_TOO_SMALL, "A needs"},
    {b_too_small,      XL_BUFFER_TOO_SMALL, "B needs"},
    {c_too_small,      XL_BUFFER_TOO_SMALL, "C needs"},
    {alpha_nan,        XL_BAD_SCALAR,       "alpha"},
    {alpha_infinite,   XL_BAD_SCALAR,       "alpha"},
    {beta_nan,         XL_BAD_SCALAR,       "beta"},
    {beta_infinite,    XL_BAD_SCALAR,       "beta"},
    {alpha_large,      XL_BAD_SCALAR,       "alpha is 1e+300, which overflow"},
    {beta_large,       XL_BAD_SCALAR,       "beta is -3.41e+38, which overf"},
    {no_memory_a,      XL_BAD_ARGUMENT,     "A"},
    {both_memories,    XL_BAD_ARGUMENT,     "B"},
    {no_dtype,         XL_BAD_ARGUMENT,     "77"},
    {no_variant,       XL_BAD_ARGUMENT,     "gemm_magic"},
};
/* clang-format on */

static void bad_gemm(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    const xl_gemm good = f.gemm;
    for (size_t i = 0; i < sizeof gemm_rows / sizeof *gemm_rows; i++) {
        cl_event done = NULL;
        const xl_sync sync = {XL_SYNC_INIT, .done = &done};
        f.gemm = good;
        gemm_rows[i].spoil(&f);
        test_stub()->reset();
        const xl_status status = xl_gemm_run(f.t.queue, &f.gemm, &sync);
        expect(status, gemm_rows[i].want, xl_error_detail(f.t.queue),
               gemm_rows[i].part);
        assert_null(done);
        assert_int_equal(count_enqueued(), 0);
    }
    /* Nothing of it stays: the same queue computes, and has no message. */
    assert_status(xl_gemm_run(f.t.queue, &good, NULL), XL_OK,
                  xl_error_detail(f.t.queue));
    assert_string_equal(xl_error_detail(f.t.queue), "");
    tear_down(&f);
}

/* What is legal though it looks odd: A and B in one buffer, and views that
 * interleave without sharing an element. */
static void odd_but_good(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    xl_gemm g = f.gemm;
    g.b.mem = g.a.mem;
    assert_status(xl_gemm_run(f.t.queue, &g, NULL), XL_OK,
                  xl_error_detail(f.t.queue));
    g = f.gemm;
    g.m = g.n = g.k = SIDE / 2;
    g.c.mem = g.a.mem;
    g.c.offset = SIDE / 2;
    assert_status(xl_gemm_run(f.t.queue, &g, NULL), XL_OK,
                  xl_error_detail(f.t.queue));
    tear_down(&f);
}

/* -- softmax --------------------------------------------------------------- */

static void zero_rows(struct fixture *f) { f->softmax.rows = 0; }
static void zero_cols(struct fixture *f) { f->softmax.cols = 0; }
static void scale_nan(struct fixture *f) { f->softmax.scale = (double)NAN; }
static void scale_large(struct fixture *f) { f->softmax.scale = 1e39; }
static void scale_small(struct fixture *f) { f->softmax.scale = 1e-39; }
static void dst_shifted(struct fixture *f)
{
    f->softmax.rows = 4;
    f->softmax.dst = f->softmax.src;
    f->softmax.dst.offset = 1;
}
static void mask_of_integers(struct fixture *f)
{
    f->softmax.mask = f->softmax.src;
    f->softmax.mask.dtype = XL_I32;
}
static void f8_rows(struct fixture *f)
{
    f->softmax.src.dtype = f->softmax.dst.dtype = XL_F8E4M3;
}
static void f8_mask(struct fixture *f)
{
    f->softmax.mask = f->softmax.src;
    f->softmax.mask.dtype = XL_F8E5M2;
}
static void dst_too_small(struct fixture *f) { f->softmax.dst.offset = 3; }
static void src_overflows(struct fixture *f)
{
    f->softmax.src.row_stride = SIZE_MAX / 2;
}

/* clang-format off */
static const struct {
    void (*spoil)(struct fixture *f);
    xl_status want;
    const char *part;
} softmax_rows[] = {
    {zero_rows,     XL_BAD_SHAPE,        "0"},
    {zero_cols,     XL_BAD_SHAPE,        "0"},
    {scale_nan,     XL_BAD_SCALAR,       "scale"},
    {scale_large,   XL_BAD_SCALAR,       "scale"},
    {scale_small,   XL_BAD_SCALAR,       "scale"},
    {dst_shifted,   XL_OVERLAP,          "overlaps"},
    {dst_too_small, XL_BUFFER_TOO_SMALL, "needs"},
    {src_overflows, XL_OVERFLOW,         "64 bits"},
    {mask_of_integers, XL_UNSUPPORTED,   "mask of i32"},
    {f8_rows,       XL_UNSUPPORTED,      "from f8e4m3"},
    {f8_mask,       XL_UNSUPPORTED,      "mask of f8e5m2"},
};
/* clang-format on */

static void bad_softmax(void **state)
{
    struct fixture f;

    (void)state;
    set_up(&f);
    const xl_softmax good = f.softmax;
    for (size_t i = 0; i < sizeof softmax_rows / sizeof *softmax_rows; i++) {
        f.softmax = good;
        softmax_rows[i].spoil(&f);
        test_stub()->reset();
        const xl_status status = xl_softmax_run(f.t.queue, &f.softmax, NULL);
        expect(status, softmax_rows[i].want, xl_error_detail(f.t.queue),
               softmax_rows[i].part);
        assert_int_equal(count_enqueued(), 0);
    }
    assert_status(xl_softmax_run(f.t.queue, &good, NULL), XL_OK,
                  xl_error_detail(f.t.queue));
    tear_down(&f);
}

/* -- devices, buffers, NULLs ----------------------------------------------- */

static void bad_device(void **state)
{
    struct fixture f;
    xl_device *device = NULL;
    unsigned n = 0;

    (void)state;
    set_up(&f);
    assert_status(xl_device_count(f.t.lib, &n), XL_OK, "");
    assert_in_range(n, 2, 99);
    static const struct {
        const char *text;
        xl_status want;
    } rows[] = {
        {"99", XL_NO_DEVICE},
        {"18446744073709551616", XL_NO_DEVICE},
        {"abacus", XL_NO_DEVICE},
        {"ffff:ff:ff.f", XL_NO_DEVICE},
        {"", XL_NO_DEVICE},
        {"e", XL_AMBIGUOUS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        device = (xl_device *)&f;
        const xl_status status =
            xl_device_find(f.t.lib, rows[i].text, &device);
        /* The devices there are, one of them for all. */
        expect(status, rows[i].want, xl_lib_error(f.t.lib), "gfx942");
        assert_non_null(strstr(xl_lib_error(f.t.lib), rows[i].text));
        assert_null(device);
    }
    assert_null(xl_device_at(f.t.lib, n));
    tear_down(&f);
}

static void bad_buffer(void **state)
{
    struct fixture f;
    cl_mem mem = NULL;
    char byte = 0;

    (void)state;
    set_up(&f);
    xl_queue *q = f.t.queue;
    xl_status status = xl_buffer_create(q, 0, &mem);
    expect(status, XL_BAD_SHAPE, xl_error_detail(q), "0 bytes");
    test_stub()->reset();
    status = xl_buffer_create(q, SIZE_MAX, &mem);
    expect(status, XL_UNSUPPORTED, xl_error_detail(q), "does not fit");
    assert_int_equal(test_stub()->calls("clCreateBuffer"), 0);
    assert_null(mem);
    status = xl_buffer_read(q, f.mem[0], SIZE_MAX, &byte, 1);
    expect(status, XL_BUFFER_TOO_SMALL, xl_error_detail(q), "do not fit");
    tear_down(&f);
}

static void bad_pointers(void **state)
{
    struct fixture f;
    xl_queue *q = NULL;
    xl_device *device = NULL;
    xl_fact fact;
    unsigned n;

    (void)state;
    set_up(&f);
    assert_int_equal(xl_open(NULL, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_device_count(NULL, &n), XL_BAD_ARGUMENT);
    assert_int_equal(xl_device_count(f.t.lib, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_device_find(f.t.lib, NULL, &device), XL_BAD_ARGUMENT);
    assert_int_equal(xl_queue_wrap(f.t.lib, NULL, &q), XL_BAD_ARGUMENT);
    assert_int_equal(xl_queue_create(f.t.lib, NULL, &q), XL_BAD_ARGUMENT);
    assert_int_equal(xl_gemm_run(NULL, &f.gemm, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_gemm_run(f.t.queue, NULL, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(xl_softmax_run(f.t.queue, NULL, NULL), XL_BAD_ARGUMENT);
    assert_int_equal(
        xl_device_fact(f.t.device, "colour", XL_UNKNOWN, &fact),
        XL_BAD_ARGUMENT);
    assert_string_equal(xl_lib_error(NULL), "");
    assert_string_equal(xl_error_detail(NULL), "");
    assert_null(xl_device_at(NULL, 0));
    xl_close(NULL);
    xl_queue_destroy(NULL);
    tear_down(&f);
}

/* A wait list that does not fit its count is the driver's to refuse. */
static void bad_wait_list(void **state)
{
    struct fixture f;
    const xl_sync sync = {XL_SYNC_INIT, .n_wait = 1, .wait = NULL};

    (void)state;
    set_up(&f);
    const xl_status status = xl_gemm_run(f.t.queue, &f.gemm, &sync);
    assert_int_not_equal(status, XL_OK);
    assert_string_not_equal(xl_error_detail(f.t.queue), "");
    tear_down(&f);
}

/* -- the cache ------------------------------------------------------------- */

struct heard {
    unsigned warnings;
    char last[512];
};

static void listen(xl_log_level level, const char *text, void *arg)
{
    struct heard *h = arg;
    if (level != XL_LOG_WARNING)
        return;
    h->warnings++;
    snprintf(h->last, sizeof h->last, "%s", text);
}

/* A GEMM with this cache folder: it works, whatever the folder is like. */
static struct heard gemm_with_cache(const char *dir)
{
    struct heard h = {0, ""};
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = dir, .log = listen,
                                .log_arg = &h};
    struct test_device t;
    cl_mem mem[3];
    test_device_open(&t, &options);
    for (unsigned i = 0; i < 3; i++)
        assert_status(xl_buffer_create(t.queue, SIDE * SIDE * sizeof(float),
                                       &mem[i]),
                      XL_OK, xl_error_detail(t.queue));
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = SIDE,
                       .n = SIDE,
                       .k = SIDE,
                       .a = xl_mat_rows(mem[0], SIDE, XL_F32),
                       .b = xl_mat_rows(mem[1], SIDE, XL_F32),
                       .c = xl_mat_rows(mem[2], SIDE, XL_F32),
                       .alpha = 1.0};
    assert_status(xl_gemm_run(t.queue, &g, NULL), XL_OK,
                  xl_error_detail(t.queue));
    for (unsigned i = 0; i < 3; i++)
        clReleaseMemObject(mem[i]);
    test_device_close(&t);
    return h;
}

static void unwritable_cache(void **state)
{
    (void)state;
    /* No folder can be made below a file, not even by root. */
    const struct heard h = gemm_with_cache("/dev/null/cache");
    assert_int_equal(h.warnings, 1);
    assert_non_null(strstr(h.last, "/dev/null/cache"));
}

static unsigned n_damaged;

static int damage(const char *path, const struct stat *info, int kind,
                  struct FTW *at)
{
    (void)info;
    (void)at;
    if (kind != FTW_F)
        return 0;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, -1, SEEK_END);
    const int last = fgetc(file);
    fseek(file, -1, SEEK_END);
    fputc(last ^ 1, file);
    fclose(file);
    n_damaged++;
    return 0;
}

static void corrupt_cache(void **state)
{
    char dir[1024];

    (void)state;
    snprintf(dir, sizeof dir, "%s", test_scratch("corrupt"));
    assert_int_equal(gemm_with_cache(dir).warnings, 0);
    test_stub()->reset();
    assert_int_equal(gemm_with_cache(dir).warnings, 0);
    assert_int_equal(test_stub()->calls("clCreateProgramWithSource"), 0);
    assert_int_not_equal(test_stub()->calls("clCreateProgramWithBinary"), 0);
    n_damaged = 0;
    assert_int_equal(nftw(dir, damage, 8, FTW_PHYS), 0);
    assert_int_not_equal(n_damaged, 0);
    test_stub()->reset();
    const struct heard h = gemm_with_cache(dir);
    assert_int_not_equal(h.warnings, 0);
    assert_int_equal(test_stub()->calls("clCreateProgramWithBinary"), 0);
    assert_int_not_equal(test_stub()->calls("clCreateProgramWithSource"), 0);
    /* It was written anew. */
    test_stub()->reset();
    assert_int_equal(gemm_with_cache(dir).warnings, 0);
    assert_int_equal(test_stub()->calls("clCreateProgramWithSource"), 0);
}

/* A limit of no bytes to a file imitates a full disk; test_store.c fills a
 * real one. */
static void no_room_for_cache(void **state)
{
    struct rlimit before, none;

    (void)state;
    const char *dir = test_scratch("full");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const struct heard h = gemm_with_cache(dir);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, old);
    assert_int_equal(h.warnings, 1);
}

/* -- no driver ------------------------------------------------------------- */

static void no_driver_at_all(void **state)
{
    xl_lib *lib = NULL;
    xl_device *device = NULL;
    unsigned n = 7;

    (void)state;
    n_stories = 0;
    assert_status(xl_open(NULL, &lib), XL_OK, "xl_open");
    const xl_status status = xl_device_count(lib, &n);
    expect(status, XL_NO_PLATFORM, xl_lib_error(lib), "driver");
    assert_int_equal(n, 0);
    assert_null(xl_device_at(lib, 0));
    assert_status(xl_device_find(lib, "0", &device), XL_NO_PLATFORM,
                  xl_lib_error(lib));
    assert_string_not_equal(xl_lib_error(lib), "");
    xl_close(lib);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_gemm),
        cmocka_unit_test(odd_but_good),
        cmocka_unit_test(bad_softmax),
        cmocka_unit_test(bad_device),
        cmocka_unit_test(bad_buffer),
        cmocka_unit_test(bad_pointers),
        cmocka_unit_test(bad_wait_list),
        cmocka_unit_test(unwritable_cache),
        cmocka_unit_test(corrupt_cache),
        cmocka_unit_test(no_room_for_cache),
    };
    const struct CMUnitTest without[] = {cmocka_unit_test(no_driver_at_all)};
    if (argc > 1 && strcmp(argv[1], "no_driver") == 0)
        return cmocka_run_group_tests(without, NULL, NULL);
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
