/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a program for a target that the driver does not support, from
 * source to the store and back, on a stub driver whose binaries are texts. The
 * contents of texts and logs are tested in test_retarget.c. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/variants.h"
#include "runtime/program.h"
#include "runtime/context.h"

#define TARGET "sm_90a"
#define TEXT(target)                                                          \
    "//\n.version 9.0\n.target " target ", texmode_independent\n"             \
    ".address_size 64\n.entry gemm_ref(\n)\n{\n\tret;\n}\n"
#define CLEAN                                                                 \
    "ptxas info    : Function properties for gemm_ref\n"                      \
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"    \
    "ptxas info    : Used 168 registers, used 0 barriers\n"
#define SERIAL                                                                \
    "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async "    \
    "instructions are serialized due to ill formed pipeline stage in the "    \
    "function 'gemm_ref'"
#define REFUSED "ptxas fatal   : Ptx assembly aborted due to errors"

enum { REFUSES = CL_BUILD_PROGRAM_FAILURE, MAX_CALLS = 100, N = 8 };

/* The driver as it is: refuses the source, takes its text. */
static const struct xl_builds usual = {REFUSES, TEXT("sm_90"), CL_SUCCESS,
                                       {CLEAN}};

struct world {
    struct test_device at;
    xl_options options;
    struct xl__step step;
    struct xl__error error;
    struct xl__program *program;
    char warnings[4096];
};

static void listen(xl_log_level level, const char *text, void *arg)
{
    struct world *w = arg;
    const size_t n = strlen(w->warnings);
    if (level == XL_LOG_WARNING)
        snprintf(w->warnings + n, sizeof w->warnings - n, "%s\n", text);
}

/* Another process, as far as the library can tell. */
static void begin(struct world *w, const char *cache_dir)
{
    memset(w, 0, sizeof *w);
    w->options = (xl_options){XL_OPTIONS_INIT};
    w->options.log = listen;
    w->options.log_arg = w;
    w->options.skip_selfcheck = true;
    w->options.cache_dir = cache_dir;
    test_device_open(&w->at, &w->options);
    w->step.source = "gemm/reference.cl";
    w->step.kernel = "gemm_ref";
    w->step.target = TARGET;
    strcpy(w->step.options, " -DTEST=1");
    test_stub()->reset();
}

static void end(struct world *w)
{
    xl__error_clear(&w->error);
    test_device_close(&w->at);
    test_stub()->builds(NULL);
}

static xl_status get(struct world *w)
{
    xl__error_reset(&w->error);
    return xl__program_get(w->at.queue->ctx, &w->step, &w->program,
                           &w->error);
}

static const char *detail_of(const struct world *w)
{
    return xl__str_text(&w->error.detail);
}

/* The binary of the program that came out, on the heap. */
static char *binary(const struct world *w)
{
    size_t n;
    char *text =
        (char *)xl__program_binary(w->program->cl, w->at.device->id, &n);
    assert_non_null(text);
    assert_int_equal(n, strlen(text) + 1);
    return text;
}

static void options_are(const struct world *w, const char *want)
{
    char options[256] = "";
    assert_int_equal(clGetProgramBuildInfo(w->program->cl, w->at.device->id,
                                           CL_PROGRAM_BUILD_OPTIONS,
                                           sizeof options, options, NULL),
                     CL_SUCCESS);
    assert_string_equal(options, want);
}

static unsigned long builds(void)
{
    return test_stub()->calls("clBuildProgram");
}

/* -- it works ------------------------------------------------------------- */

static void works(const struct xl_builds *how)
{
    struct world w;
    begin(&w, "");
    test_stub()->builds(how);
    assert_status(get(&w), XL_OK, detail_of(&w));
    char *text = binary(&w);
    assert_string_equal(text, TEXT("sm_90a"));
    free(text);
    assert_string_equal(w.program->build_log, CLEAN);
    assert_false(w.program->from_cache);
    options_are(&w, "-cl-nv-verbose");
    assert_int_equal(builds(), 2);
    /* In memory it is found again. */
    assert_status(get(&w), XL_OK, detail_of(&w));
    assert_int_equal(builds(), 2);
    cl_kernel kernel;
    assert_status(xl__kernel_get(w.at.queue, w.program, "gemm_ref", &kernel),
                  XL_OK, xl_error_detail(w.at.queue));
    end(&w);
}

static void test_works(void **state)
{
    struct xl_builds how = usual;
    (void)state;
    works(&how);
    how.source_code = CL_SUCCESS;
    works(&how);
}

/* A log that the driver's own cache keeps back is had by a text that is new,
 * each time another. */
static void test_empty_log(void **state)
{
    static const struct xl_builds how = {
        REFUSES, TEXT("sm_90"), CL_SUCCESS, {"\n", CLEAN}};
    char *before = NULL;
    struct world w;
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        begin(&w, "");
        test_stub()->builds(&how);
        assert_status(get(&w), XL_OK, detail_of(&w));
        assert_int_equal(builds(), 3);
        assert_string_equal(w.program->build_log, CLEAN);
        options_are(&w, "-cl-nv-verbose");
        char *text = binary(&w);
        const size_t same = strlen(TEXT("sm_90a"));
        assert_memory_equal(text, TEXT("sm_90a"), same);
        assert_memory_equal(text + same, "\n// ", 4);
        assert_true(!before || strcmp(text, before) != 0);
        free(before);
        before = text;
        end(&w);
    }
    free(before);
}

/* What is stored was judged: loading it is one build, whose log is not
 * read; and what the driver does not take is built anew. */
static void test_store(void **state)
{
    static const struct xl_builds silent = {
        REFUSES, TEXT("sm_90"), CL_SUCCESS, {""}};
    char *dir = xl__strdup(test_scratch("rebuild"));
    struct world w;
    (void)state;
    begin(&w, dir);
    test_stub()->builds(&usual);
    assert_status(get(&w), XL_OK, detail_of(&w));
    xl__program_trust(w.at.queue->ctx, w.program, XL__PASSED, NULL);
    end(&w);

    begin(&w, dir);
    test_stub()->builds(&silent);
    assert_status(get(&w), XL_OK, detail_of(&w));
    assert_int_equal(builds(), 1);
    assert_int_equal(test_stub()->calls("clCreateProgramWithSource"), 0);
    assert_true(w.program->from_cache);
    assert_string_equal(w.program->build_log, CLEAN);
    assert_int_equal(w.program->trust, XL__PASSED);
    char *text = binary(&w);
    assert_string_equal(text, TEXT("sm_90a"));
    free(text);
    end(&w);

    begin(&w, dir);
    test_stub()->builds(&usual);
    test_stub()->arm("clBuildProgram", 1, CL_BUILD_PROGRAM_FAILURE);
    assert_status(get(&w), XL_OK, detail_of(&w));
    assert_int_equal(builds(), 3);
    assert_false(w.program->from_cache);
    assert_int_equal(w.program->trust, XL__UNTESTED);
    end(&w);
    free(dir);
}

/* -- it does not ---------------------------------------------------------- */

/* A build that fails: how the message begins, and what else is in it. */
static const struct {
    struct xl_builds how;
    const char *begins, *has;
} failures[] = {
    {{REFUSES, NULL, CL_SUCCESS, {CLEAN}},
     "gemm/reference.cl for sm_90a: the driver returns no binary",
     "stub: this is the build log"},
    {{CL_SUCCESS, NULL, CL_SUCCESS, {CLEAN}},
     "gemm/reference.cl for sm_90a: the driver returns no binary",
     "-DTEST=1"},
    {{REFUSES,
      "\x7f"
      "ELF",
      CL_SUCCESS,
      {CLEAN}},
     "gemm/reference.cl for sm_90a: the driver's binary is not PTX",
     "stub: this is the build log"},
    {{REFUSES, TEXT("sm_80"), CL_SUCCESS, {CLEAN}},
     "gemm/reference.cl for sm_90a: the driver builds for sm_80, from which "
     "there "
     "is no way to sm_90a",
     "-DTEST=1"},
    {{REFUSES, TEXT("sm_90"), CL_BUILD_PROGRAM_FAILURE, {REFUSED}},
     "gemm/reference.cl for sm_90a: CL_BUILD_PROGRAM_FAILURE\n",
     REFUSED},
    {{REFUSES, TEXT("sm_90"), CL_BUILD_PROGRAM_FAILURE, {""}},
     "gemm/reference.cl for sm_90a: CL_BUILD_PROGRAM_FAILURE\n",
     "-DTEST=1"},
    {{REFUSES, TEXT("sm_90"), -9999, {REFUSED}},
     "gemm/reference.cl for sm_90a: an unknown OpenCL code",
     REFUSED},
    {{REFUSES, TEXT("sm_90"), CL_SUCCESS, {CLEAN SERIAL "\n" CLEAN}},
     "gemm/reference.cl for sm_90a: " SERIAL "\n",
     CLEAN SERIAL "\n" CLEAN},
    {{CL_SUCCESS, TEXT("sm_90"), CL_SUCCESS, {SERIAL}},
     "gemm/reference.cl for sm_90a: " SERIAL "\n",
     "-DTEST=1"},
    {{REFUSES, TEXT("sm_90"), CL_SUCCESS, {"\n", CLEAN SERIAL "\n"}},
     "gemm/reference.cl for sm_90a: " SERIAL "\n",
     "-DTEST=1"},
    {{REFUSES, TEXT("sm_90"), CL_BUILD_PROGRAM_FAILURE, {SERIAL}},
     "gemm/reference.cl for sm_90a: " SERIAL "\n",
     "-DTEST=1"},
    {{REFUSES, TEXT("sm_90"), CL_SUCCESS, {" \n", ""}},
     "gemm/reference.cl for sm_90a: the driver returns no build log\n",
     "-DTEST=1"},
};

static void test_failures(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        const long before = test_stub()->live();
        struct world w;
        begin(&w, "");
        test_stub()->builds(&failures[i].how);
        assert_status(get(&w), XL_BUILD_FAILED, detail_of(&w));
        if (strncmp(detail_of(&w), failures[i].begins,
                    strlen(failures[i].begins)) != 0 ||
            !strstr(detail_of(&w), failures[i].has))
            fail_msg("%zu: \"%s\", not \"%s\" with \"%s\"", i, detail_of(&w),
                     failures[i].begins, failures[i].has);
        assert_null(w.at.queue->ctx->programs);
        /* What a healthy driver builds next is not held back by it. */
        test_stub()->builds(&usual);
        assert_status(get(&w), XL_OK, detail_of(&w));
        end(&w);
        assert_int_equal(test_stub()->live(), before);
    }
}

static void test_vendor_without_a_way(void **state)
{
    struct world w;
    (void)state;
    begin(&w, "");
    struct xl__vendor other = *w.at.device->vendor;
    other.rebuild = NULL;
    w.at.device->vendor = &other;
    test_stub()->builds(&usual);
    assert_status(get(&w), XL_UNSUPPORTED, detail_of(&w));
    assert_string_equal(detail_of(&w),
                        "gemm_ref needs the target sm_90a, which is "
                        "not supported on this device");
    assert_int_equal(builds(), 0);
    end(&w);
}

/* Every call is made to fail: the program comes all the same, or a message, and
 * nothing is left alive. */
static void test_faults(void **state)
{
    static const struct xl_builds how = {
        REFUSES, TEXT("sm_90"), CL_SUCCESS, {"", CLEAN}};
    const struct xl_control *stub = test_stub();
    unsigned n_faults = 0;
    (void)state;
    for (unsigned e = 0; stub->entry(e); e++) {
        int fired = 1;
        for (unsigned call = 1; fired && call < MAX_CALLS; call++) {
            const long before = stub->live();
            struct world w;
            begin(&w, "");
            stub->builds(&how);
            stub->arm(stub->entry(e), call, CL_OUT_OF_RESOURCES);
            const xl_status status = get(&w);
            fired = stub->fired();
            n_faults += fired != 0;
            stub->reset();
            if (status == XL_BUILD_FAILED &&
                strcmp(stub->entry(e), "clBuildProgram") == 0)
                fail_msg("#%u: a lack of resources is a verdict", call);
            if (status != XL_OK && (!fired || detail_of(&w)[0] == '\0'))
                fail_msg("%s #%u: a failure without a message", stub->entry(e),
                         call);
            if (status == XL_OK && w.program->build_log[0] == '\0')
                fail_msg("%s #%u: an unread log", stub->entry(e), call);
            end(&w);
            if (stub->live() != before)
                fail_msg("%s #%u: %s", stub->entry(e), call,
                         stub->live_text());
        }
    }
    print_message("%u faults\n", n_faults);
    assert_in_range(n_faults, 10, MAX_CALLS);
}

/* -- keys ----------------------------------------------------------------- */

static bool key_has(const struct world *w, const char *text)
{
    return strstr(w->program->key, text) != NULL;
}

static void test_keys(void **state)
{
    struct world w;
    (void)state;
    begin(&w, "");
    test_stub()->builds(&usual);
    assert_status(get(&w), XL_OK, detail_of(&w));
    const struct xl__program *first = w.program;
    assert_true(key_has(&w, "\ntarget sm_90a\n"));
    assert_false(key_has(&w, "XL_SPIN_LIMIT"));
    test_stub()->builds(NULL);
    w.step.target = NULL;
    assert_status(get(&w), XL_OK, detail_of(&w));
    assert_ptr_not_equal(w.program, first);
    assert_false(key_has(&w, "target"));
    char options[128];
    snprintf(options, sizeof options, "%s  -DTEST=1",
             w.at.device->vendor->build_options);
    options_are(&w, options);
    end(&w);
}

/* The limit goes to the kernels that may wait, and to no other. */
static void test_spin_limit(void **state)
{
    struct world w;
    (void)state;
    test_setenv("XL_SPIN_LIMIT", "1000000");
    begin(&w, "");
    test_stub()->builds(&usual);
    assert_status(get(&w), XL_OK, detail_of(&w));
    assert_true(key_has(&w, " -DTEST=1 -DXL_SPIN_LIMIT=1000000\n"));
    w.step.target = NULL;
    test_stub()->builds(NULL);
    assert_status(get(&w), XL_OK, detail_of(&w));
    assert_false(key_has(&w, "XL_SPIN_LIMIT"));
    assert_string_equal(w.warnings, "");
    end(&w);
    static const char *const wrong[] = {"0", "-1", "many", "10k", "2147483648",
                                        "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        test_setenv("XL_SPIN_LIMIT", wrong[i]);
        begin(&w, "");
        assert_int_equal(w.at.lib->spin_limit, 0);
        assert_non_null(strstr(w.warnings, "XL_SPIN_LIMIT"));
        assert_non_null(strstr(w.warnings, wrong[i]));
        end(&w);
    }
    test_setenv("XL_SPIN_LIMIT", NULL);
    begin(&w, "");
    assert_int_equal(w.at.lib->spin_limit, 0);
    assert_string_equal(w.warnings, "");
    end(&w);
}

/* -- variants ------------------------------------------------------------- */

static xl_status plan_for_target(const struct xl__limits *l, const void *desc,
                                 const struct xl__params *params,
                                 struct xl__plan *p)
{
    const xl_status status = xl__gemm_ref.plan(l, desc, params, p);
    p->step[0].target = TARGET;
    p->est_ns /= 2;
    return status;
}

static const struct xl__variant better = {.name = "gemm_better",
                                          .plan = plan_for_target};

/* Which variant runs; the warnings are in `w`. */
static const char *chosen(struct world *w, const struct xl__rebuild *rebuild,
                          const struct xl_builds *how, xl_choice choices[2])
{
    static const struct xl__variant *const list[] = {&better, &xl__gemm_ref,
                                                     NULL};
    const struct xl__vendor *own = w->at.device->vendor;
    struct xl__vendor vendor = *own;
    const xl_gemm g = {XL_GEMM_INIT,
                       .m = N,
                       .n = N,
                       .k = N,
                       .a = xl_mat_rows(NULL, N, XL_F32),
                       .b = xl_mat_rows(NULL, N, XL_F32),
                       .c = xl_mat_rows(NULL, N, XL_F32),
                       .alpha = 1};
    unsigned n = 0;
    vendor.rebuild = rebuild;
    vendor.variants[XL__OP_GEMM] = list;
    w->at.device->vendor = &vendor;
    test_stub()->builds(how);
    assert_status(xl_gemm_explain(w->at.queue, &g, choices, 2, &n), XL_OK,
                  xl_error_detail(w->at.queue));
    assert_int_equal(n, 2);
    w->at.device->vendor = own;
    return choices[0].chosen ? choices[0].variant : choices[1].variant;
}

/* A variant whose program cannot be had is passed over, and that is said with
 * its reason: in the log and by explain. */
static void test_falls_back(void **state)
{
    static const struct xl_builds healthy = {
        CL_SUCCESS, TEXT("sm_90"), CL_SUCCESS, {CLEAN}};
    static const struct xl_builds serial = {
        CL_SUCCESS, TEXT("sm_90"), CL_SUCCESS, {SERIAL}};
    xl_choice choices[2];
    struct world w;
    (void)state;
    begin(&w, "");
    const struct xl__rebuild *rebuild = w.at.device->vendor->rebuild;
    assert_string_equal(chosen(&w, rebuild, &healthy, choices),
                        "gemm_better");
    assert_float_equal(choices[0].registers, 168, 0);
    assert_float_equal(choices[0].spill_bytes, 0, 0);
    assert_true(isnan(choices[1].registers));
    assert_string_equal(w.warnings, "");
    end(&w);

    begin(&w, "");
    assert_string_equal(chosen(&w, rebuild, &serial, choices), "gemm_ref");
    assert_non_null(strstr(w.warnings, "gemm_better cannot be used"));
    assert_non_null(strstr(w.warnings, SERIAL));
    assert_non_null(strstr(choices[0].why, "are serialized"));
    end(&w);

    begin(&w, "");
    assert_string_equal(chosen(&w, NULL, &healthy, choices), "gemm_ref");
    assert_non_null(strstr(w.warnings, "gemm_better cannot be used"));
    assert_non_null(strstr(w.warnings, "needs the target sm_90a"));
    assert_non_null(strstr(choices[0].why, "needs the target sm_90a"));
    end(&w);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_works),
        cmocka_unit_test(test_empty_log),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_vendor_without_a_way),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_spin_limit),
        cmocka_unit_test(test_falls_back),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
