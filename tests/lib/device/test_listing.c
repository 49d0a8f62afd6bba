/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of devices that are not here: every listing that comes with clbench is
 * planned for within the limits that it states, without a driver; what would
 * build or run is refused; a bad listing is an error with its line. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "results/listings.h"

static xl_lib *open_listing(const char *text)
{
    xl_lib *lib = NULL;
    const xl_options options = {XL_OPTIONS_INIT, .cache_dir = "",
                                .tuned_dir = "", .listing = text};
    assert_int_equal(xl_open(&options, &lib), XL_OK);
    return lib;
}

static void open_device(struct test_device *t, const char *text)
{
    unsigned n = 0;
    t->lib = open_listing(text);
    assert_status(xl_device_count(t->lib, &n), XL_OK, xl_lib_error(t->lib));
    t->device = xl_device_at(t->lib, 0);
    assert_status(xl_queue_create(t->lib, t->device, &t->queue), XL_OK,
                  xl_lib_error(t->lib));
}

static xl_fact fact(const xl_device *dev, const char *name, xl_source source)
{
    xl_fact out;
    assert_int_equal(xl_device_fact(dev, name, source, &out), XL_OK);
    return out;
}

/* -- plans ---------------------------------------------------------------- */

enum { MOST_CHOICES = 24 };

/* The value that a listing states for a property; "": none. */
static void find_stated(const char *text, const char *name, char *value,
                        size_t cap)
{
    const size_t n = strlen(name);
    const char *at = text;
    value[0] = '\0';
    while ((at = strstr(at, name)) != NULL && at[n] != ' ')
        at += n;
    if (!at)
        return;
    at += n + strspn(at + n, " ");
    snprintf(value, cap, "%.*s", (int)strcspn(at, "\n"), at);
}

static double stated_number(const char *text, const char *name)
{
    char value[256];
    find_stated(text, name, value, sizeof value);
    return *value ? strtod(value, NULL) : (double)NAN;
}

/* The widths that a listing states, one of which must be used. */
static void check_width(const char *text, const xl_device *dev)
{
    static const char *const names[] = {
        "CL_DEVICE_WARP_SIZE_NV", "CL_DEVICE_WAVEFRONT_WIDTH_AMD",
        "CL_DEVICE_SUB_GROUP_SIZES_INTEL",
        "CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE"};
    const double used = fact(dev, "subgroup_width", XL_UNKNOWN).value;
    char value[256];
    if (fact(dev, "is_cpu", XL_UNKNOWN).value > 0) {
        assert_true(used == 1); /* CP-04 */
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool is_stated = false;
        find_stated(text, names[i], value, sizeof value);
        for (char *word = strtok(value, " ,"); word; word = strtok(NULL, " ,"))
            is_stated |= strtod(word, NULL) == used;
        if (is_stated)
            return;
        if (*value)
            fail_msg("%s: used %g", names[i], used);
    }
}

/* Against the numbers of the text, not those that the library read. */
static void check_chosen(const char *text, const xl_choice *c)
{
    double items = 1;
    char sizes[256], *at = sizes;
    find_stated(text, "CL_DEVICE_MAX_WORK_ITEM_SIZES", sizes, sizeof sizes);
    for (unsigned d = 0; d < 3; d++) {
        assert_true(c->wg[d] > 0);
        assert_true((double)c->wg[d] <= strtod(at, &at));
        assert_int_equal(c->global[d] % c->wg[d], 0);
        items *= (double)c->wg[d];
    }
    /* AMD's driver states the preferred size; AM-03. */
    if (!strstr(text, "AMD Accelerated Parallel Processing"))
        assert_true(items <=
                    stated_number(text, "CL_DEVICE_MAX_WORK_GROUP_SIZE"));
    if (!strstr(text, "cl_nv_device_attribute_query")) /* NV-01 */
        assert_true((double)c->local_mem_bytes <=
                    stated_number(text, "CL_DEVICE_LOCAL_MEM_SIZE"));
    assert_true((double)c->scratch_bytes <=
                stated_number(text, "CL_DEVICE_GLOBAL_MEM_SIZE"));
    assert_true(isfinite(c->est_ns) && c->est_ns > 0);
}

static void print_chosen(const char *name, const char *op, const xl_choice *c)
{
    printf("  %-18.*s %-8s %-14s %5zu x %-4zu %7zu B %9.3f ms  %s\n",
           (int)strcspn(name, "."), name, op, c->variant, c->wg[0], c->wg[1],
           c->local_mem_bytes, c->est_ns / 1e6, c->tunables);
}

static void check_explained(const struct embedded *d, const char *op,
                            xl_status status, xl_queue *q, const xl_choice *c,
                            unsigned n)
{
    assert_status(status, XL_OK, xl_error_detail(q));
    assert_in_range(n, 1, MOST_CHOICES);
    for (unsigned i = 0; i < n; i++) {
        if (!c[i].chosen)
            continue;
        print_chosen(d->name, op, &c[i]);
        check_chosen((const char *)d->text, &c[i]);
        return;
    }
    fail_msg("%s, %s: nothing was chosen", d->name, op);
}

static const xl_gemm *a_gemm(xl_dtype dtype)
{
    static xl_gemm g;
    g = (xl_gemm){XL_GEMM_INIT, .m = 1000, .n = 1023, .k = 517,
                  .a = xl_mat_rows(NULL, 517, dtype),
                  .b = xl_mat_rows(NULL, 1023, dtype),
                  .c = xl_mat_rows(NULL, 1023, dtype), .alpha = 1};
    return &g;
}

static void explain_expression(const struct embedded *d, xl_queue *q,
                               xl_choice *c)
{
    const size_t shape[] = {1000, 4096};
    const xl_binding names[] = {
        {.name = "x", .tensor = xl_tensor_dense(NULL, XL_F32, 2, shape)},
        {.name = "y", .tensor = xl_tensor_dense(NULL, XL_F32, 2, shape)}};
    const xl_expr_args args = {XL_EXPR_ARGS_INIT, .bindings = names,
                               .n_bindings = 2};
    unsigned n = MOST_CHOICES;
    xl_expr *e = NULL;
    assert_status(xl_expr_compile(q, "y = softmax(x) + 1", &args, &e), XL_OK,
                  xl_error_detail(q));
    const xl_status status = xl_expr_explain(q, e, &args, c, n, &n);
    check_explained(d, "expr", status, q, c, n);
    assert_int_equal(xl_expr_run(q, e, &args, NULL), XL_UNSUPPORTED);
    xl_expr_destroy(e);
}

/* This machine's sensors are not those of the device. */
static void check_sensors(const xl_device *dev)
{
    xl_telemetry *sensors = NULL;
    xl_reading reading;
    assert_int_equal(xl_telemetry_open(dev, &sensors), XL_OK);
    xl_telemetry_read(sensors, &reading);
    for (unsigned i = 0; i < XL_N_SENSORS; i++)
        assert_true(isnan(reading.value[i]));
    xl_telemetry_close(sensors);
}

static void plan_all(const struct embedded *d)
{
    struct test_device t;
    xl_choice c[MOST_CHOICES];
    unsigned n = MOST_CHOICES;
    const xl_softmax s = {XL_SOFTMAX_INIT, .rows = 1000, .cols = 4099,
                          .src = xl_mat_rows(NULL, 4099, XL_F32),
                          .dst = xl_mat_rows(NULL, 4099, XL_F32), .scale = 1};
    const xl_conv v = {XL_CONV_INIT, .n = 8, .c = 64, .h = 55, .w = 57,
                       .k = 65, .r = 3, .s = 3, .pad_top = 1,
                       .in = {.dtype = XL_F32}, .filters = {.dtype = XL_F32},
                       .out = {.dtype = XL_F32}, .alpha = 1};
    open_device(&t, (const char *)d->text);
    check_width((const char *)d->text, t.device);
    check_sensors(t.device);
    xl_status status = xl_gemm_explain(t.queue, a_gemm(XL_F32), c, n, &n);
    check_explained(d, "gemm", status, t.queue, c, n);
    n = MOST_CHOICES;
    status = xl_gemm_explain(t.queue, a_gemm(XL_F16), c, n, &n);
    check_explained(d, "gemm f16", status, t.queue, c, n);
    n = MOST_CHOICES;
    status = xl_conv_explain(t.queue, &v, c, n, &n);
    check_explained(d, "conv", status, t.queue, c, n);
    n = MOST_CHOICES;
    status = xl_softmax_explain(t.queue, &s, c, n, &n);
    check_explained(d, "softmax", status, t.queue, c, n);
    explain_expression(d, t.queue, c);
    test_device_close(&t);
}

static void every_listing_is_planned_for(void **state)
{
    unsigned n = 0;
    (void)state;
    for (const struct embedded *d = device_texts; d->name; d++, n++)
        plan_all(d);
    assert_true(n >= 12);
}

/* -- facts ---------------------------------------------------------------- */

static const char some_device[] =
    "CL_PLATFORM_NAME  Some Platform\n"
    "CL_DEVICE_NAME  Some GPU\n"
    "CL_DEVICE_TYPE  CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT\n"
    "CL_DEVICE_MAX_COMPUTE_UNITS  8\n"
    "CL_DEVICE_MAX_WORK_GROUP_SIZE  256\n"
    "CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE  64\n"
    "CL_DEVICE_GLOBAL_MEM_SIZE  4294967296\n"
    "CL_DEVICE_LOCAL_MEM_SIZE  32768\n";

/* A text with more lines; valid until the next call. */
static const char *with(const char *lines)
{
    static char text[4096];
    snprintf(text, sizeof text, "%s%s", some_device, lines);
    return text;
}

/* As `clinfo --raw` prints it: platforms first, then the devices of each, with
 * failed queries and properties that are not known. */
static void two_devices_of_a_real_output(void **state)
{
    static const char text[] =
        "#PLATFORMS                       2\n"
        "  CL_PLATFORM_NAME               A\n"
        "  CL_PLATFORM_VERSION            OpenCL 3.0 of A\n"
        "\n"
        "  CL_PLATFORM_NAME               B\n"
        "  CL_PLATFORM_VERSION            OpenCL 1.2 of B\n"
        "\n"
        "[A/*]    CL_PLATFORM_NAME        A\n"
        "[A/*]  #DEVICES                  1\n"
        "[A/0]    CL_DEVICE_NAME          Slow One\r\n"
        "[A/0]    CL_DEVICE_TYPE          CL_DEVICE_TYPE_CPU\n"
        "[A/0]    CL_DEVICE_MAX_COMPUTE_UNITS  2\n"
        "[A/0]    CL_DEVICE_MAX_CLOCK_FREQUENCY  <printDeviceInfo:7: error>\n"
        "[A/0]    CL_DEVICE_MAX_WORK_ITEM_SIZES  4096x2048x64\n"
        "[A/0]    CL_DEVICE_MAX_WORK_GROUP_SIZE  4096\n"
        "[A/0]    CL_DEVICE_GLOBAL_MEM_SIZE  1073741824 (1024MiB)\n"
        "[A/0]    CL_DEVICE_LOCAL_MEM_SIZE  0x8000\n"
        "[A/0]    CL_DEVICE_OF_THE_FUTURE  three | four\n"
        "[A/0]    CL_DEVICE_EXTENSIONS\n"
        "[B/*]    CL_PLATFORM_NAME        B\n"
        "[B/0]    CL_DEVICE_NAME          Fast One\n"
        "[B/0]    CL_DEVICE_TYPE          CL_DEVICE_TYPE_GPU\n"
        "[B/0]    CL_DEVICE_MAX_COMPUTE_UNITS  8\n"
        "[B/0]    CL_DEVICE_MAX_WORK_GROUP_SIZE  256\n"
        "[B/0]    CL_DEVICE_GLOBAL_MEM_SIZE  4294967296\n"
        "[B/0]    CL_DEVICE_LOCAL_MEM_SIZE  32768\n";
    xl_lib *lib = open_listing(text);
    xl_device *slow = NULL;
    unsigned n = 0;
    (void)state;
    assert_status(xl_device_count(lib, &n), XL_OK, xl_lib_error(lib));
    assert_int_equal(n, 2);
    assert_string_equal(fact(xl_device_at(lib, 0), "name", XL_UNKNOWN).text,
                        "Fast One");
    assert_int_equal(xl_device_find(lib, "slow", &slow), XL_OK);
    assert_ptr_equal(slow, xl_device_at(lib, 1));
    assert_string_equal(fact(slow, "name", XL_QUERIED).text, "Slow One");
    assert_string_equal(fact(slow, "platform", XL_QUERIED).text, "A");
    assert_string_equal(fact(slow, "platform_version", XL_QUERIED).text,
                        "OpenCL 3.0 of A");
    assert_true(isnan(fact(slow, "clock_hz", XL_QUERIED).value));
    assert_null(fact(slow, "extensions", XL_QUERIED).text);
    assert_true(fact(slow, "max_wi_sizes", XL_QUERIED).list[1] == 2048);
    assert_true(fact(slow, "global_mem_bytes", XL_QUERIED).value == 1 << 30);
    assert_true(fact(slow, "local_mem_bytes", XL_QUERIED).value == 32768);
    assert_null(xl_device_cl(slow));
    xl_close(lib);
}

/* As on a device that is here, what was measured is shown; it does not select.
 */
static void a_measured_fact_is_shown(void **state)
{
    struct test_device t;
    xl_choice plain[MOST_CHOICES], c[MOST_CHOICES];
    unsigned n = MOST_CHOICES;
    (void)state;
    open_device(&t, some_device);
    assert_int_equal(
        xl_gemm_explain(t.queue, a_gemm(XL_F32), plain, n, &n), XL_OK);
    test_device_close(&t);
    open_device(&t, with("copy_bytes_per_s  4.5e11\nsubgroup_width 32\n"));
    assert_true(fact(t.device, "copy_bytes_per_s", XL_UNKNOWN).value ==
                4.5e11);
    assert_true(fact(t.device, "subgroup_width", XL_UNKNOWN).value == 32);
    assert_true(fact(t.device, "subgroup_width", XL_QUERIED).value == 64);
    n = MOST_CHOICES;
    assert_int_equal(xl_gemm_explain(t.queue, a_gemm(XL_F32), c, n, &n),
                     XL_OK);
    assert_string_equal(c[0].tunables, plain[0].tunables);
    assert_true(c[0].est_ns == plain[0].est_ns);
    test_device_close(&t);
}

/* What a driver would state of cl_khr_cooperative_matrix (GE-37) plans gemm_mma
 * with its shape; without the extension, before OpenCL C 3.0, or with matrices
 * that must be further apart, there is none. */
static void cooperative_matrices(void **state)
{
#define MATRICES(extension, c, align)                                         \
    "CL_DEVICE_EXTENSIONS  cl_khr_fp16 " extension "\n"                       \
    "CL_DEVICE_OPENCL_C_VERSION  OpenCL C " c "\n"                            \
    "CL_DEVICE_COOPERATIVE_MATRIX_POINTER_ALIGNMENT_KHR  " align "\n"         \
    "CL_DEVICE_COOPERATIVE_MATRIX_STRIDE_MULTIPLE_KHR  16\n"                  \
    "CL_DEVICE_COOPERATIVE_MATRIX_DEFAULT_SUB_GROUP_VARIANTS_KHR  "           \
    "16 16 8 0 0 0 0 0  8 16 16 0 0 1 1 0  8 16 32 3 3 5 5 0\n"
    static const char *const others[] = {
        MATRICES("", "3.0", "16"),
        MATRICES("cl_khr_cooperative_matrix", "2.0", "16"),
        MATRICES("cl_khr_cooperative_matrix", "3.0", "64")};
    struct test_device t;
    xl_choice c[MOST_CHOICES];
    (void)state;
    for (size_t i = 0; i <= sizeof others / sizeof *others; i++) {
        unsigned n = MOST_CHOICES;
        const bool has = i == sizeof others / sizeof *others;
        open_device(&t, with(has ? MATRICES("cl_khr_cooperative_matrix", "3.0",
                                            "32")
                                 : others[i]));
        const xl_matrix_op *op = xl_device_matrix_op(t.device, 0);
        assert_int_equal(
            xl_gemm_explain(t.queue, a_gemm(XL_F16), c, n, &n), XL_OK);
        for (unsigned j = 0; j < n; j++) {
            if (strcmp(c[j].variant, "gemm_mma") == 0)
                assert_int_equal(!strstr(c[j].why, "no matrix instr"), has);
        }
        assert_int_equal(op != NULL, has);
        if (has) {
            assert_true(op->a == XL_F16 && op->m == 8 && op->n == 16 &&
                        op->k == 16 && op->lanes == 64);
            op = xl_device_matrix_op(t.device, 1);
            assert_true(op->a == XL_I8 && op->sum == XL_I32 && op->k == 32);
            assert_null(xl_device_matrix_op(t.device, 2));
        }
        test_device_close(&t);
    }
#undef MATRICES
}

/* A GPU that states 64 does not run its work-items alone. */
static void a_contradiction_is_no_fact(void **state)
{
    struct test_device t;
    (void)state;
    open_device(&t, with("subgroup_width  1\n"));
    const xl_fact used = fact(t.device, "subgroup_width", XL_UNKNOWN);
    const xl_fact measured = fact(t.device, "subgroup_width", XL_MEASURED);
    assert_true(used.value == 64);
    assert_int_equal(used.source, XL_QUERIED);
    assert_true(measured.value == 1);
    assert_string_equal(measured.note, "GE-32");
    test_device_close(&t);
}

/* -- what cannot be ------------------------------------------------------- */

static void nothing_runs(void **state)
{
    struct test_device t;
    xl_queue *beside = NULL;
    size_t bytes = 1;
    cl_mem mem = NULL;
    (void)state;
    open_device(&t, some_device);
    assert_int_equal(xl_gemm_prepare(t.queue, a_gemm(XL_F32)), XL_OK);
    assert_int_equal(xl_gemm_workspace(t.queue, a_gemm(XL_F32), &bytes),
                     XL_OK);
    assert_int_equal(xl_buffer_create(t.queue, 16, &mem), XL_UNSUPPORTED);
    assert_non_null(strstr(xl_error_detail(t.queue), "Some GPU"));
    assert_null(mem);
    assert_int_equal(xl_queue_finish(t.queue), XL_UNSUPPORTED);
    assert_int_equal(xl_queue_create_beside(t.queue, &beside), XL_OK);
    xl_queue_destroy(beside);
    assert_int_equal(xl_queue_trim(t.queue), XL_OK);
    test_device_close(&t);
}

static void check_refused(const char *text, const char *line, const char *what)
{
    xl_lib *lib = open_listing(text);
    xl_device *dev = NULL;
    unsigned n = 1;
    if (xl_device_count(lib, &n) != XL_CORRUPT)
        fail_msg("taken, without '%s' or '%s'", line, what);
    assert_int_equal(n, 0);
    if (!strstr(xl_lib_error(lib), line) || !strstr(xl_lib_error(lib), what))
        fail_msg("'%s' lacks '%s' or '%s'", xl_lib_error(lib), line, what);
    assert_int_equal(xl_device_find(lib, "0", &dev), XL_CORRUPT);
    xl_close(lib);
}

static void bad_listings_are_refused(void **state)
{
    static const struct {
        const char *more, *line, *what;
    } bad[] = {
        {"CL_DEVICE_MAX_CLOCK_FREQUENCY  fast\n", "line 9:",
         "CL_DEVICE_MAX_CLOCK_FREQUENCY"},
        {"CL_DEVICE_MAX_CLOCK_FREQUENCY  -5\n", "line 9:",
         "CL_DEVICE_MAX_CLOCK_FREQUENCY"},
        {"CL_DEVICE_MAX_CLOCK_FREQUENCY  99999999999\n", "line 9:",
         "CL_DEVICE_MAX_CLOCK_FREQUENCY"},
        {"colour  7\n", "line 9:", "colour"},
        {"subgroup_width  wide\n", "line 9:", "subgroup_width"},
        {"subgroup_width  48\n", "line 9:", "subgroup_width"},
        {"copy_bytes_per_s  inf\n", "line 9:", "copy_bytes_per_s"},
        {"name  7\n", "line 9:", "name"},
        {"\nCL_DEVICE_VENDOR  \x01\n", "line 10:", "0x01"},
        {"CL_DEVICE_MAX_CLOCK_FREQUENCY  20", "line 9:", "cut"},
        {"CL_DEVICE_NAME  Other\n", "line 9", "CL_DEVICE_TYPE"},
        {"CL_DEVICE_NAME\n", "line 9", "CL_DEVICE_TYPE"},
        {"CL_PLATFORM_NAME  Other\nCL_DEVICE_TYPE  2\n", "line 10:",
         "CL_DEVICE_NAME"},
    };
    static const char human[] = "Number of platforms    1\n";
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(with(bad[i].more), bad[i].line, bad[i].what);
    check_refused("", "", "no device");
    check_refused("# nothing\n\n", "", "no device");
    check_refused(human, "line 1:", "clinfo --raw");
    check_refused("copy_bytes_per_s  1\n", "line 1:", "CL_DEVICE_NAME");
}

static void a_huge_listing_is_refused(void **state)
{
    enum { BYTES = (1 << 20) + 2 };
    char *text = malloc(BYTES);
    (void)state;
    assert_non_null(text);
    memset(text, '\n', BYTES - 1);
    memcpy(text, some_device, sizeof some_device - 1);
    text[BYTES - 1] = '\0';
    check_refused(text, "", "1048577");
    free(text);
}

/* Cut after any byte, a listing is refused or has all that its lines state;
 * never less, silently. */
static void a_cut_listing_is_noticed(void **state)
{
    unsigned n_good = 0;
    (void)state;
    for (size_t n = 0; n < sizeof some_device; n++) {
        char text[sizeof some_device];
        unsigned count = 0;
        memcpy(text, some_device, n);
        text[n] = '\0';
        xl_lib *lib = open_listing(text);
        n_good += xl_device_count(lib, &count) == XL_OK;
        xl_close(lib);
    }
    assert_int_equal(n_good, 1); /* the whole */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_listing_is_planned_for),
        cmocka_unit_test(two_devices_of_a_real_output),
        cmocka_unit_test(a_measured_fact_is_shown),
        cmocka_unit_test(cooperative_matrices),
        cmocka_unit_test(a_contradiction_is_no_fact),
        cmocka_unit_test(nothing_runs),
        cmocka_unit_test(bad_listings_are_refused),
        cmocka_unit_test(a_huge_listing_is_refused),
        cmocka_unit_test(a_cut_listing_is_noticed),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
