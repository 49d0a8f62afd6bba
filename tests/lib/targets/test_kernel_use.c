/* SPDX-License-Identifier: Apache-2.0 */
/* Registers and spills of a kernel: as texts of ptxas 13.0.88 and notes of
 * clang 19 for gfx90a, then what explain returns of them on stub drivers of
 * three vendors and of one that states nothing; and the same of a kernel that
 * the application built. */
#include "support/support.h"

#include <math.h>
#include <string.h>

#include <crosslane/measure.h>

#include "targets/targets.h"

#define KERNEL "gemm_ref"

static bool is(double got, double wanted)
{
    return isnan(wanted) ? isnan(got) : fabs(got - wanted) <= 0;
}

static void has(const struct xl__kernel_use *use, double registers,
                double spill_bytes)
{
    if (!is(use->registers, registers) || !is(use->spill_bytes, spill_bytes))
        fail_msg("%g registers, %g B spilled; not %g and %g", use->registers,
                 use->spill_bytes, registers, spill_bytes);
}

/* -- a build log ---------------------------------------------------------- */

static struct xl__kernel_use of_log(const char *log, const char *kernel)
{
    struct xl__kernel_use use = {NAN, NAN};
    xl__nvidia_use.read_log(log, kernel, &use);
    return use;
}

static void test_logs(void **state)
{
    static const char log[] =
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'add_one_more' for 'sm_90'\n"
        "ptxas info    : Function properties for add_one_more\n"
        "    288 bytes stack frame, 548 bytes spill stores, 588 bytes spill "
        "loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 288 bytes "
        "cumulative stack size\n"
        "ptxas info    : Compile time = 28.593 ms\n"
        "ptxas info    : Function properties for foo\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Compiling entry function 'add_one' for 'sm_90'\n"
        "ptxas info    : Function properties for add_one\r\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 8 registers, used 0 barriers\n";
    struct xl__kernel_use use = of_log(log, "add_one_more");
    (void)state;
    has(&use, 255, 548);
    use = of_log(log, "add_one");
    has(&use, 8, 0);
    /* A function that is called has no registers of its own. */
    use = of_log(log, "foo");
    has(&use, NAN, 0);
    use = of_log(log, "add");
    has(&use, NAN, NAN);
    use = of_log("stub: this is the build log\n", "add_one");
    has(&use, NAN, NAN);
    use = of_log("", "");
    has(&use, NAN, NAN);
}

/* -- the notes of a binary ------------------------------------------------ */

#define SYMBOL(length, name) "\xa7.symbol" length name ".kd"
#define COUNTS(registers, spilled)                                            \
    "\xb3.uses_dynamic_stack\xc2\xab.vgpr_count" registers                    \
    "\xb1.vgpr_spill_count" spilled "\xaf.wavefront_size@"
#define LONG_NAME "a_kernel_whose_name_takes_more_than_31_bytes"
/* The stub driver has the kernels of its texts: "name(". */
#define NOTES                                                                 \
    "\x7f" "ELF " KERNEL "() .symbol \xab.vgpr_count\x01"                     \
    SYMBOL("\xa7", "none") "\xb8.uniform"                                     \
    SYMBOL("\xaf", "gemm_ref_two") COUNTS("\x03", "\x05")                     \
    SYMBOL("\xab", KERNEL) COUNTS("\x20", "9")                                \
    SYMBOL("\xd9\x2f", LONG_NAME) COUNTS("\xcc\xe8", "\xcd\x01\x02")

static struct xl__kernel_use of_notes(size_t n, const char *kernel)
{
    static const char notes[] = NOTES;
    struct xl__kernel_use use = {NAN, NAN};
    /* A copy of its own, so that a reading behind its end is found. */
    unsigned char *copy = test_malloc(n + 1);
    memcpy(copy, notes, n);
    xl__amd_use.read_binary(copy, n, kernel, &use);
    test_free(copy);
    return use;
}

static void test_notes(void **state)
{
    const size_t all = sizeof NOTES - 1;
    struct xl__kernel_use use = of_notes(all, KERNEL);
    (void)state;
    has(&use, 0x20, 4 * '9');
    use = of_notes(all, "gemm_ref_two");
    has(&use, 3, 4 * 5);
    use = of_notes(all, LONG_NAME);
    has(&use, 0xe8, 4 * 0x102);
    static const char *const absent[] = {"none", "gemm", "", "gemm_ref_tw"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        use = of_notes(all, absent[i]);
        has(&use, NAN, NAN);
    }
    /* Cut anywhere: no figures, or the right ones. */
    for (size_t n = 0; n < all; n++) {
        use = of_notes(n, LONG_NAME);
        assert_true(isnan(use.registers) || is(use.registers, 0xe8));
        assert_true(isnan(use.spill_bytes) || is(use.spill_bytes, 4 * 0x102));
    }
}

/* -- explain -------------------------------------------------------------- */

static const struct {
    const char *vendor;
    double registers, spill_bytes;
} stated[] = {
    {"nvidia", NAN, NAN}, /* its log has no figures */
    {"intel", 128, 640},
    {"amd", 0x20, 4 * '9'},
    {"cpu", NAN, NAN},
};
enum { N_STATED = sizeof stated / sizeof *stated };

static void test_explain(void **state)
{
    static const struct xl_builds how = {
        CL_SUCCESS, NOTES, CL_SUCCESS, {""}};
    const xl_options options = {
        XL_OPTIONS_INIT, .skip_selfcheck = true, .cache_dir = ""};
    const xl_mat side = xl_mat_rows(NULL, 64, XL_F32);
    const xl_gemm g = {XL_GEMM_INIT, .m = 64,    .n = 64,  .k = 64,
                       .alpha = 1,   .variant = KERNEL,
                       .a = side,    .b = side,  .c = side};
    xl_lib *lib = NULL;
    (void)state;
    assert_status(xl_open(&options, &lib), XL_OK, "xl_open");
    for (unsigned i = 0; i < N_STATED; i++) {
        xl_device *dev = xl_device_at(lib, i);
        xl_queue *q = NULL;
        xl_choice choice;
        unsigned n = 0, at = 0;
        while (strcmp(xl_device_vendor_table(dev), stated[at].vendor) != 0)
            assert_true(++at < N_STATED);
        assert_status(xl_queue_create(lib, dev, &q), XL_OK, xl_lib_error(lib));
        test_stub()->builds(&how);
        assert_status(xl_gemm_explain(q, &g, &choice, 1, &n), XL_OK,
                      xl_error_detail(q));
        test_stub()->builds(NULL);
        assert_string_equal(choice.variant, KERNEL);
        const struct xl__kernel_use use = {choice.registers,
                                           choice.spill_bytes};
        has(&use, stated[at].registers, stated[at].spill_bytes);
        /* The stub's is that of each kernel. */
        assert_int_equal(choice.private_bytes,
                         strcmp(stated[at].vendor, "cpu") == 0 ? 0 : 64);
        xl_queue_destroy(q);
    }
    xl_close(lib);
}

#define ENTRY(kernel) ".entry " kernel "(\n)\n{\n\tret;\n}\n"
#define LINES_OF(kernel, registers)                                           \
    "ptxas info    : Function properties for " kernel "\n"                    \
    "ptxas info    : Used " registers " registers, used 1 barriers\n"

/* Of a plan of three steps, those of the product, though steps that order A
 * and that join sums have more work-items. */
static void test_several_steps(void **state)
{
    static const struct xl_builds how = {
        CL_SUCCESS,
        ".version 9.0\n.target sm_90\n" ENTRY("qgemm_order")
            ENTRY("qgemm_wgmma") ENTRY("gemm_skinny_join"),
        CL_SUCCESS,
        {LINES_OF("qgemm_order", "24") LINES_OF("qgemm_wgmma", "168")
             LINES_OF("gemm_skinny_join", "16")}};
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    enum { ROWS = 64, SIDE = 4096, STEPS = 3, GROUP = 416 };
    const xl_qgemm g = {XL_QGEMM_INIT,
                        .m = ROWS,
                        .a = xl_mat_rows(NULL, SIDE, XL_F16),
                        .w.shape = {XL_Q4_0, SIDE, SIDE, 0, 0},
                        .c = xl_mat_rows(NULL, SIDE, XL_F16),
                        .variant = "qgemm_wgmma"};
    xl_lib *lib = NULL;
    xl_queue *q = NULL;
    xl_choice choice;
    unsigned n = 0, at = 0;
    (void)state;
    assert_status(xl_open(&options, &lib), XL_OK, "xl_open");
    while (strcmp(xl_device_vendor_table(xl_device_at(lib, at)), "nvidia"))
        assert_true(++at < N_STATED);
    assert_status(xl_queue_create(lib, xl_device_at(lib, at), &q), XL_OK,
                  xl_lib_error(lib));
    test_stub()->builds(&how);
    assert_status(xl_qgemm_explain(q, &g, &choice, 1, &n), XL_OK,
                  xl_error_detail(q));
    test_stub()->builds(NULL);
    assert_int_equal(choice.n_steps, STEPS);
    assert_int_equal(choice.wg[0], GROUP);
    const struct xl__kernel_use use = {choice.registers, choice.spill_bytes};
    has(&use, 168, NAN);
    xl_queue_destroy(q);
    xl_close(lib);
}

/* -- a kernel of the application ------------------------------------------ */

#define FIGURES                                                               \
    "ptxas info    : Function properties for " KERNEL "\n"                    \
    "    288 bytes stack frame, 548 bytes spill stores, 588 bytes spill "     \
    "loads\nptxas info    : Used 255 registers, used 1 barriers\n"

/* Builds a program of the application, which the driver makes a text, and
 * reads its kernel's registers. */
static void reads_own(xl_queue *q, double registers, double spill_bytes,
                      unsigned long n_builds)
{
    const char *source = "a source";
    struct xl__kernel_use use = {0, 0};
    cl_int code;
    cl_program program = clCreateProgramWithSource(xl_queue_context(q), 1,
                                                   &source, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clBuildProgram(program, 0, NULL, "-DOWN", NULL, NULL),
                     CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(program, KERNEL, &code);
    assert_int_equal(code, CL_SUCCESS);
    const long live = test_stub()->live();
    test_stub()->reset();
    assert_status(xl_kernel_registers(q, kernel, &use.registers,
                                      &use.spill_bytes),
                  XL_OK, xl_error_detail(q));
    has(&use, registers, spill_bytes);
    assert_int_equal(test_stub()->calls("clBuildProgram"), n_builds);
    assert_int_equal(test_stub()->live(), live);
    /* What the driver fails to answer is not an error, but the kernel is. */
    test_stub()->arm("clBuildProgram", 1, CL_OUT_OF_RESOURCES);
    assert_status(xl_kernel_registers(q, kernel, &use.registers,
                                      &use.spill_bytes),
                  XL_OK, xl_error_detail(q));
    if (n_builds > 0)
        has(&use, NAN, NAN);
    assert_int_equal(test_stub()->live(), live);
    test_stub()->reset();
    assert_int_equal(clReleaseKernel(kernel), CL_SUCCESS);
    assert_int_equal(clReleaseProgram(program), CL_SUCCESS);
}

static void test_own_kernel(void **state)
{
    static const struct xl_builds how = {
        CL_SUCCESS, NOTES, CL_SUCCESS, {FIGURES}};
    xl_options options = {XL_OPTIONS_INIT, .cache_dir = ""};
    xl_lib *lib = NULL;
    (void)state;
    assert_status(xl_open(&options, &lib), XL_OK, "xl_open");
    for (unsigned i = 0; i < N_STATED; i++) {
        xl_device *dev = xl_device_at(lib, i);
        xl_queue *q = NULL;
        unsigned at = 0;
        while (strcmp(xl_device_vendor_table(dev), stated[at].vendor) != 0)
            assert_true(++at < N_STATED);
        assert_status(xl_queue_create(lib, dev, &q), XL_OK, xl_lib_error(lib));
        test_stub()->builds(&how);
        if (at == 0) /* the log of a second build has figures */
            reads_own(q, 255, 548, 1);
        else
            reads_own(q, stated[at].registers, stated[at].spill_bytes, 0);
        test_stub()->builds(NULL);
        double registers = 0, spill_bytes = 0;
        assert_int_equal(xl_kernel_registers(q, NULL, &registers,
                                             &spill_bytes),
                         XL_BAD_ARGUMENT);
        assert_true(isnan(registers) && isnan(spill_bytes));
        xl_queue_destroy(q);
    }
    xl_close(lib);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_several_steps),
        cmocka_unit_test(test_own_kernel),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
