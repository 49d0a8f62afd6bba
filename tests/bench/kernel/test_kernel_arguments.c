/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `clbench kernel`: formulas, axes, arguments, launches
 * and counts, their values and their mistakes. No device, no driver. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "kernel/check.h"
#include "kernel/job.h"

static struct bindings some_names(void)
{
    return (struct bindings){.n = 3,
                             .at = {{"N", "1000", true, 1000},
                                    {"TILE", "16", true, 16},
                                    {"T", "float", false, 0}}};
}

/* -- formulas ------------------------------------------------------------- */

static void formulas_have_the_values_of_arithmetic(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"7", 7},
        {" 2 + 3 * 4 ", 14},
        {"(2 + 3) * 4", 20},
        {"10 - 4 - 3", 3},
        {"7 / 2", 3},
        {"-7 / 2", -3},
        {"7 % 4 * 2", 6},
        {"2 ^ 3 ^ 2", 512},
        {"-2 ^ 2", -4},
        {"2 ^ -0", 1},
        {"0 ^ 0", 1},
        {"(-1) ^ 1000000000000000001", -1},
        {"0x40", 64},
        {"0XfF", 255},
        {"1e6", 1000000},
        {"N*TILE+1", 16001},
        {"ceil_div(N, TILE)", 63},
        {"round_up(N, TILE)", 1008},
        {"round_up(N, 8)", 1000},
        {"min(N, max(3, TILE))", 16},
        {"log2(N)", 9},
        {"log2(1024)", 10},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775807 - 1", INT64_MIN},
    };
    const struct bindings names = some_names();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct xl__str why = {0};
        int64_t value = 0;
        if (!formula_value(cases[i].text, &names, &value, &why) ||
            value != cases[i].value)
            fail_msg("%s is %lld, not %lld; %s", cases[i].text,
                     (long long)value, (long long)cases[i].value,
                     xl__str_text(&why));
        xl__str_clear(&why);
    }
}

/* A mistake is found at its column. */
static void formulas_refuse(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "column 1: a number or a name is missing"},
        {"2 +", "column 4"},
        {"2 3", "column 3: unexpected '3'"},
        {"(2", "column 3: ')'"},
        {"2)", "column 2: unexpected ')'"},
        {"1.5*N", "column 1: not a whole number"},
        {"nan", "unknown name 'nan'; the names are N, TILE, T"},
        {"12K", "column 1: not a whole number"},
        {"N*M", "column 3: unknown name 'M'; the names are N, TILE, T"},
        {"N*T", "column 3: T is 'float'"},
        {"N/(TILE-16)", "column 2: division by 0"},
        {"N%0", "column 2: division by 0"},
        {"ceil_div(N, 0)", "division by 0"},
        {"ceil_div(-1, 2)", "negative"},
        {"log2(0)", "log2 of 0"},
        {"min(1)", "column 1: min takes 2 arguments"},
        {"min(1, 2, 3)", "')' expected after the arguments of min"},
        {"sqrt(2)", "unknown function 'sqrt'"},
        {"2^-1", "negative power"},
        {"2^63", "does not fit in 64 bits"},
        {"1e19", "does not fit in 64 bits"},
        {"9223372036854775808", "does not fit in 64 bits"},
        {"9223372036854775807+1", "does not fit in 64 bits"},
        {"1e18*10", "does not fit in 64 bits"},
        {"-(-9223372036854775807-1)", "does not fit in 64 bits"},
        {"(-9223372036854775807-1)/-1", "does not fit in 64 bits"},
        {"round_up(9223372036854775807, 2)", "does not fit in 64 bits"},
    };
    const struct bindings names = some_names();
    char deep[200];
    struct xl__str why = {0};
    int64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        xl__str_reset(&why);
        if (formula_value(cases[i].text, &names, &value, &why) ||
            !strstr(xl__str_text(&why), cases[i].why))
            fail_msg("'%s': \"%s\" lacks \"%s\"", cases[i].text,
                     xl__str_text(&why), cases[i].why);
    }
    static const char nesting[] = {'(', '-'};
    for (size_t i = 0; i < sizeof nesting; i++) {
        memset(deep, nesting[i], sizeof deep - 2);
        memcpy(deep + sizeof deep - 2, "1", 2);
        xl__str_reset(&why);
        assert_false(formula_value(deep, &names, &value, &why));
        assert_non_null(strstr(xl__str_text(&why), "too deeply"));
    }
    xl__str_clear(&why);
}

/* -- axes ----------------------------------------------------------------- */

static void axes_are_all_combinations(void **state)
{
    const struct option_list lists = {{"B=x,A=1,2", "D=min(1,2),3", "C,"}, 3};
    const struct option_list right = {{"B=x,A=1,2", "D=min(1,2),3", "C"}, 3};
    struct axes a;
    struct xl__str why = {0};
    struct bindings bound = {.n = 0};
    (void)state;
    assert_false(axes_read(&lists, &a, &why));
    assert_non_null(strstr(xl__str_text(&why), "a value of C is empty"));
    axes_clear(&a);
    assert_true(axes_read(&right, &a, &why));
    assert_int_equal(a.n, 4);
    assert_int_equal(axes_combinations(&a, 64), 4);
    assert_int_equal(axes_combinations(&a, 3), 4); /* more than 3 */
    static const char *const want[4][4] = {{"x", "1", "min(1,2)", "1"},
                                           {"x", "1", "3", "1"},
                                           {"x", "2", "min(1,2)", "1"},
                                           {"x", "2", "3", "1"}};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k < 4; k++)
            assert_string_equal(axes_value(&a, i, k), want[i][k]);
    assert_true(axes_bind_defines(&a, 2, &bound, &why));
    assert_false(bound.at[0].is_number);
    assert_int_equal(bound.at[1].value, 2);
    assert_int_equal(bound.at[2].value, 1);
    bound.n = 0;
    assert_true(axes_bind_constants(&a, &bound, &why));
    assert_int_equal(bound.n, 2);
    assert_string_equal(bound.at[1].name, "C");
    axes_clear(&a);
    xl__str_clear(&why);
}

static void sizes_are_formulas_over_those_before(void **state)
{
    static const struct {
        const char *list, *why;
    } wrong[] = {{"N=0", "N is 0"},
                 {"N=-4", "N is -4"},
                 {"N=M,M=2", "'M'"},
                 {"2=3", "'2' is not a name"},
                 {"N=1,N=2", "N is given twice"},
                 {"=3", "is not a name"},
                 {"N=", "is empty"},
                 {"N=nan", "--size N: 'nan'"}};
    const struct option_list right = {{"N=64,M=N*N+1"}, 1};
    struct axes a;
    struct xl__str why = {0};
    struct bindings bound = {.n = 0};
    (void)state;
    assert_true(axes_read(&right, &a, &why));
    assert_true(axes_bind_sizes(&a, 0, &bound, &why));
    assert_int_equal(bound.at[1].value, 4097);
    axes_clear(&a);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct option_list list = {{wrong[i].list}, 1};
        bound.n = 0;
        xl__str_reset(&why);
        if ((axes_read(&list, &a, &why) &&
             axes_bind_sizes(&a, 0, &bound, &why)) ||
            !strstr(xl__str_text(&why), wrong[i].why))
            fail_msg("'%s': \"%s\" lacks \"%s\"", wrong[i].list,
                     xl__str_text(&why), wrong[i].why);
        axes_clear(&a);
    }
    xl__str_clear(&why);
}

/* -- arguments ------------------------------------------------------------ */

static struct argument read_argument(const char *text)
{
    struct argument a;
    struct xl__str why = {0};
    if (!argument_read(text, &a, &why))
        fail_msg("%s", xl__str_text(&why));
    return a;
}

static void arguments_have_roles_types_and_lengths(void **state)
{
    static const struct {
        const char *text, *type;
        enum argument_role role;
        unsigned width;
        size_t elems;
    } cases[] = {
        {"in:float:N", "float", ARG_IN, 1, 1000},
        {"out:f64:N*TILE", "double", ARG_OUT, 1, 16000},
        {"inout:uchar:N:zeros", "uchar", ARG_INOUT, 1, 1000},
        {"in:float4:N/4", "float", ARG_IN, 4, 1000},
        {"in:float3:10", "float", ARG_IN, 3, 40},
        {"in:half16:2:iota", "half", ARG_IN, 16, 32},
        {"in:bf16:2", "bf16", ARG_IN, 1, 2},
        {"in:u32:N:below=TILE*2", "uint", ARG_IN, 1, 1000},
        {"local:i64:TILE", "long", ARG_LOCAL, 1, 16},
    };
    const struct bindings names = some_names();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct argument a = read_argument(cases[i].text);
        struct xl__str why = {0};
        size_t elems = 0;
        assert_string_equal(a.element->name, cases[i].type);
        assert_int_equal(a.role, cases[i].role);
        assert_int_equal(a.width, cases[i].width);
        assert_true(argument_length(&a, &names, &elems, &why));
        assert_int_equal(elems, cases[i].elems);
        argument_clear(&a);
    }
}

static void arguments_refuse(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"float", "must be in|out|inout"},
        {"in:float", "too few fields"},
        {"in:float:N:zeros:1", "too many fields"},
        {"local:float:N:zeros", "too many fields"},
        {"in:flaot:N", "unknown type 'flaot'"},
        {"in:float5:N", "unknown type 'float5'"},
        {"in:float:N:ones", "unknown data 'ones'"},
        {"out:float:N:zeros", "use inout"},
        {"image=3", "unknown type 'image'"},
        {"in:float:N-1000", "the length is 0"},
        {"in:float:1e19", "length '1e19', column 1"},
        {"in:double16:1e18", "do not fit"},
        {"in:float:N:below=0", "below=0; must be 1 or more"},
        {"in:float:N:below=M", "below 'M', column 1"},
        {"int=2^31", "2147483648 is no value of int"},
        {"uchar=-1", "-1 is no value of uchar"},
        {"ulong=-1", "-1 is no value of ulong"},
        {"float=nan", "value 'nan', column 1"},
        {"float=", "a number or a name is missing"},
        {"int=2.5", "not a whole number"},
    };
    const struct bindings names = some_names();
    struct xl__str why = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct argument a;
        unsigned char bytes[SCALAR_BYTES_MOST];
        size_t n;
        uint64_t below;
        xl__str_reset(&why);
        const bool is_right =
            argument_read(cases[i].text, &a, &why) &&
            (a.role == ARG_SCALAR
                 ? argument_scalar(&a, &names, bytes, &n, &why)
                 : argument_length(&a, &names, &n, &why) &&
                       argument_limit(&a, &names, &below, &why));
        if (is_right || !strstr(xl__str_text(&why), cases[i].why) ||
            !strstr(xl__str_text(&why), cases[i].text))
            fail_msg("'%s': \"%s\" lacks \"%s\"", cases[i].text,
                     xl__str_text(&why), cases[i].why);
        argument_clear(&a);
    }
    xl__str_clear(&why);
}

static void scalars_have_the_bytes_of_their_type(void **state)
{
    static const struct {
        const char *text;
        unsigned char bytes[16];
        size_t n;
    } cases[] = {
        {"float=2.5", {0, 0, 0x20, 0x40}, 4},
        {"float=-N", {0, 0, 0x7a, 0xc4}, 4},
        {"half=-1.5", {0, 0xbe}, 2},
        {"double=1e3", {0, 0, 0, 0, 0, 0x40, 0x8f, 0x40}, 8},
        {"uint=N*TILE", {0x80, 0x3e, 0, 0}, 4},
        {"short=-2", {0xfe, 0xff}, 2},
        {"char4=3", {3, 3, 3, 3}, 4},
        {"char3=3", {3, 3, 3, 3}, 4},
        {"ulong=0x123456789", {0x89, 0x67, 0x45, 0x23, 1, 0, 0, 0}, 8},
    };
    const struct bindings names = some_names();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct argument a = read_argument(cases[i].text);
        struct xl__str why = {0};
        unsigned char bytes[SCALAR_BYTES_MOST];
        size_t n = 0;
        if (!argument_scalar(&a, &names, bytes, &n, &why))
            fail_msg("%s", xl__str_text(&why));
        assert_int_equal(n, cases[i].n);
        assert_memory_equal(bytes, cases[i].bytes, n);
        argument_clear(&a);
    }
}

static void data_is_as_asked_for(void **state)
{
    enum { N = 1000 };
    static const char *const texts[] = {
        "in:float:N",         "in:char:N",      "in:uchar:N",
        "in:ulong:N:iota",    "in:half:N:iota", "in:int:N:zeros",
        "in:ushort:N:below=7"};
    const struct bindings names = some_names();
    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct argument a = read_argument(texts[t]);
        struct xl__str why = {0};
        struct xl__rng rng;
        uint64_t below;
        double data[N], sum = 0;
        xl__rng_seed(&rng, 1);
        assert_true(argument_limit(&a, &names, &below, &why));
        argument_fill(&a, below, data, N, &rng);
        for (size_t i = 0; i < N; i++) {
            const double x = element_load(data, i, a.element);
            sum += fabs(x);
            if (a.fill == FILL_IOTA)
                assert_true(x == (double)i);
            else
                assert_true(fabs(x) < 128);
            if (a.element->kind == ELEMENT_UNSIGNED)
                assert_true(x >= 0);
            if (a.fill == FILL_BELOW)
                assert_true(x < 7);
        }
        /* Of random data some elements are not 0. */
        assert_true((sum > 0) == (a.fill != FILL_ZEROS));
        argument_clear(&a);
    }
}

/* 256 roundings of f32 are 2^8 2^-24; of f16 with 4 of its own, 4 2^-11. */
static void tolerances_follow_from_the_types(void **state)
{
    unsigned width;
    (void)state;
    assert_true(kernel_tolerance(element_find("float", 5, &width)) ==
                ldexp(1, -16));
    assert_true(kernel_tolerance(element_find("half", 4, &width)) ==
                ldexp(1, -16) + ldexp(1, -9));
    assert_true(kernel_tolerance(element_find("f64", 3, &width)) ==
                ldexp(1, -45));
    assert_true(kernel_tolerance(element_find("uint", 4, &width)) == 0);
}

/* -- the whole ------------------------------------------------------------ */

/* A file with a text that nothing builds here; its name. */
static const char *write_file(void)
{
    static char path[512];
    static const char text[] = "kernel void f(global float *x) { }";
    snprintf(path, sizeof path, "%s/f.cl", test_scratch("kernel"));
    assert_int_equal(xl__file_replace(path, text, strlen(text)), XL_OK);
    return path;
}

static struct session session_of(const char **word)
{
    return (struct session){
        .set = {
            .words = word,
            .n_words = 1,
            .kernel = {
                .tolerance = NAN,
                .global = "round_up(N, TILE)",
                .local = "TILE",
                .flop = "2*N",
                .bytes = "8*N*TILE",
                .sizes = {{"N=100,200"}, 1},
                .defines = {{"TILE=8,16", "T=float,half"}, 2},
                .args = {{"in:float:N", "int=TILE", "local:int:TILE"}, 3}}}};
}

static void a_job_is_cases_and_variants(void **state)
{
    const char *word = write_file();
    struct session s = session_of(&word);
    struct xl__str why = {0}, check = {0};
    struct kernel_job *job = calloc(1, sizeof *job);
    struct kernel_case *c = calloc(1, sizeof *c);
    struct kernel_plan *plan = calloc(1, sizeof *plan);
    (void)state;
    assert_true(job && c && plan);
    xl__str_printf(&check, "%s:g@N,2", word);
    s.set.kernel.against = s.set.kernel.check = xl__str_text(&check);
    if (!kernel_job_read(&s, job, &why))
        fail_msg("%s", xl__str_text(&why));
    assert_int_equal(job->n_cases, 2);
    assert_int_equal(job->n_defines, 4);
    assert_string_equal(job->label[0], "TILE=8 T=float, tested");
    assert_string_equal(job->label[7], "TILE=16 T=half, against");
    assert_null(job->label[8]);
    assert_string_equal(job->source[SOURCE_CHECK].kernel, "g");
    assert_true(kernel_case_read(job, 1, c, &why));
    assert_int_equal(c->elems[0], 200);
    assert_true(
        kernel_plan_read(c, 2, &job->source[SOURCE_TESTED], plan, &why));
    assert_int_equal(plan->dims, 1);
    assert_int_equal(plan->global[0], 208);
    assert_int_equal(plan->local[0], 16);
    assert_int_equal(plan->bytes[2], 64);
    assert_true(plan->flop == 400 && plan->moved_bytes == 8 * 200 * 16);
    assert_true(
        kernel_plan_read(c, 2, &job->source[SOURCE_CHECK], plan, &why));
    assert_int_equal(plan->dims, 2);
    assert_int_equal(plan->global[1], 2);
    assert_int_equal(plan->local[0], 0); /* the driver's */
    kernel_job_clear(job);
    free(job);
    free(c);
    free(plan);
    xl__str_clear(&check);
    xl__str_clear(&why);
}

static void a_job_refuses(void **state)
{
    const char *word = write_file();
    const struct {
        const char *global, *local, *flop, *check, *why;
    } cases[] = {
        {NULL, NULL, NULL, NULL, "missing --global"},
        {"N", "16", NULL, NULL, "16 does not divide the launch 100"},
        {"N,1", "10", NULL, NULL, "--local has 1 of the 2 dimensions"},
        {"N,1,1,1", NULL, NULL, NULL, "more than 3 dimensions"},
        {"N*0", NULL, NULL, NULL, "'N*0' is 0; must be 1 or more"},
        {"N", NULL, "N/0", NULL, "--flop: 'N/0', column 2: division by 0"},
        {"N", NULL, "-N", NULL, "--flop: '-N' is -100"},
        {"N*T", NULL, NULL, NULL, "--global: 'N*T', column 3: T is 'float'"},
        {"N", NULL, NULL, "/none.cl", "--check '/none.cl': No such file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session s = session_of(&word);
        struct xl__str why = {0};
        struct kernel_job *job = calloc(1, sizeof *job);
        assert_non_null(job);
        s.set.kernel.global = cases[i].global;
        s.set.kernel.local = cases[i].local;
        s.set.kernel.flop = cases[i].flop;
        s.set.kernel.check = cases[i].check;
        if (kernel_job_read(&s, job, &why) ||
            !strstr(xl__str_text(&why), cases[i].why))
            fail_msg("%zu: \"%s\" lacks \"%s\"", i, xl__str_text(&why),
                     cases[i].why);
        kernel_job_clear(job);
        free(job);
        xl__str_clear(&why);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_have_the_values_of_arithmetic),
        cmocka_unit_test(formulas_refuse),
        cmocka_unit_test(axes_are_all_combinations),
        cmocka_unit_test(sizes_are_formulas_over_those_before),
        cmocka_unit_test(arguments_have_roles_types_and_lengths),
        cmocka_unit_test(arguments_refuse),
        cmocka_unit_test(scalars_have_the_bytes_of_their_type),
        cmocka_unit_test(data_is_as_asked_for),
        cmocka_unit_test(tolerances_follow_from_the_types),
        cmocka_unit_test(a_job_is_cases_and_variants),
        cmocka_unit_test(a_job_refuses),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
