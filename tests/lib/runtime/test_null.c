/* SPDX-License-Identifier: Apache-2.0 */
/* The rule for NULL (crosslane.h), for each function of the public headers:
 * without its handles, and with a queue and nothing else. A function that is
 * in a header and not here fails the test. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <crosslane/measure.h>

#include "support/support.h"

enum { MOST = 256, NAME = 64 };

static const char *called[MOST];
static unsigned n_called, n_wrong;

static const char *begin_call(const char *name)
{
    assert_in_range(n_called, 0, MOST - 1);
    called[n_called++] = name;
    return name;
}

static void expect_refusal(const char *name, xl_status got)
{
    if (got == XL_BAD_ARGUMENT)
        return;
    print_message("%s returned %s\n", name, xl_status_name(got));
    n_wrong++;
}

static void expect_nothing(const char *name, bool is_nothing)
{
    if (is_nothing)
        return;
    print_message("%s(NULL) returned something\n", name);
    n_wrong++;
}

#define REFUSES(name, ...) expect_refusal(begin_call(#name), name(__VA_ARGS__))
#define IGNORES(name, ...) (begin_call(#name), name(__VA_ARGS__))
#define IS_NULL(name, ...)                                                    \
    expect_nothing(begin_call(#name), name(__VA_ARGS__) == NULL)
#define HAS_NO_INDEX(name, ...)                                               \
    expect_nothing(begin_call(#name), name(__VA_ARGS__) == UINT_MAX)
#define IS_EMPTY(name, ...)                                                   \
    expect_nothing(begin_call(#name), *name(__VA_ARGS__) == '\0')
#define HAS_NO_POINTER(name) ((void)begin_call(#name), (void)name)

/* Those that take a queue; q is NULL or a queue. */
static void call_with_queue(xl_queue *q)
{
    REFUSES(xl_buffer_create, q, 4, NULL);
    REFUSES(xl_buffer_enqueue_fill, q, NULL, 0, 0, 1, NULL);
    REFUSES(xl_buffer_enqueue_read, q, NULL, 0, NULL, 4, NULL);
    REFUSES(xl_buffer_enqueue_write, q, NULL, 0, NULL, 4, NULL);
    REFUSES(xl_buffer_fill, q, NULL, 0, 0, 1);
    REFUSES(xl_buffer_read, q, NULL, 0, NULL, 4);
    REFUSES(xl_buffer_write, q, NULL, 0, NULL, 4);
    REFUSES(xl_conv_explain, q, NULL, NULL, 0, NULL);
    REFUSES(xl_conv_prepare, q, NULL);
    REFUSES(xl_conv_prepare_async, q, NULL, 1, NULL, NULL);
    REFUSES(xl_conv_prepare_range, q, NULL, 1);
    REFUSES(xl_conv_run, q, NULL, NULL);
    REFUSES(xl_conv_workspace, q, NULL, NULL);
    REFUSES(xl_expr_compile, q, NULL, NULL, NULL);
    REFUSES(xl_expr_compile_async, q, NULL, NULL, NULL, NULL, NULL);
    REFUSES(xl_expr_compile_terms, q, NULL, NULL, NULL);
    REFUSES(xl_expr_explain, q, NULL, NULL, NULL, 0, NULL);
    REFUSES(xl_expr_kernels, q, NULL, NULL, NULL, NULL);
    REFUSES(xl_expr_result, q, NULL, NULL, NULL, NULL);
    REFUSES(xl_expr_run, q, NULL, NULL, NULL);
    REFUSES(xl_expr_workspace, q, NULL, NULL, NULL);
    REFUSES(xl_gemm_explain, q, NULL, NULL, 0, NULL);
    REFUSES(xl_gemm_prepare, q, NULL);
    REFUSES(xl_kernel_registers, q, NULL, NULL, NULL);
    REFUSES(xl_gemm_prepare_async, q, NULL, 1, NULL, NULL);
    REFUSES(xl_attention_explain, q, NULL, NULL, 0, NULL);
    REFUSES(xl_attention_prepare, q, NULL);
    REFUSES(xl_attention_prepare_async, q, NULL, 1, NULL, NULL);
    REFUSES(xl_attention_prepare_range, q, NULL, 1);
    REFUSES(xl_attention_run, q, NULL, NULL);
    REFUSES(xl_attention_workspace, q, NULL, NULL);
    REFUSES(xl_gemm_prepare_range, q, NULL, 1);
    REFUSES(xl_gemm_run, q, NULL, NULL);
    REFUSES(xl_gemm_run_group, q, NULL, 0, NULL);
    REFUSES(xl_gemm_workspace, q, NULL, NULL);
    REFUSES(xl_groups_watch, q, NULL, NULL, NULL);
    REFUSES(xl_probe_run, q, NULL, NULL, NULL, NULL);
    REFUSES(xl_queue_create_beside, q, NULL);
    REFUSES(xl_samples_take, q, NULL, NULL, NULL, NULL);
    REFUSES(xl_samples_take_interleaved, q, NULL, NULL, 0, NULL);
    REFUSES(xl_softmax_explain, q, NULL, NULL, 0, NULL);
    REFUSES(xl_norm_explain, q, NULL, NULL, 0, NULL);
    REFUSES(xl_norm_prepare, q, NULL);
    REFUSES(xl_norm_prepare_async, q, NULL, 1, NULL, NULL);
    REFUSES(xl_norm_prepare_range, q, NULL, 1);
    REFUSES(xl_norm_run, q, NULL, NULL);
    REFUSES(xl_norm_workspace, q, NULL, NULL);
    REFUSES(xl_qgemm_explain, q, NULL, NULL, 0, NULL);
    REFUSES(xl_qgemm_prepare, q, NULL);
    REFUSES(xl_qgemm_prepare_async, q, NULL, 1, NULL, NULL);
    REFUSES(xl_qgemm_prepare_range, q, NULL, 1);
    REFUSES(xl_qgemm_run, q, NULL, NULL);
    REFUSES(xl_qgemm_workspace, q, NULL, NULL);
    REFUSES(xl_profile_find, q, NULL);
    REFUSES(xl_profile_save, q, NULL, NULL);
    REFUSES(xl_qconvert_explain, q, NULL, NULL, 0, NULL);
    REFUSES(xl_qconvert_prepare, q, NULL);
    REFUSES(xl_qconvert_prepare_async, q, NULL, 1, NULL, NULL);
    REFUSES(xl_qconvert_prepare_range, q, NULL, 1);
    REFUSES(xl_qconvert_run, q, NULL, NULL);
    REFUSES(xl_qconvert_workspace, q, NULL, NULL);
    REFUSES(xl_rotary_explain, q, NULL, NULL, 0, NULL);
    REFUSES(xl_rotary_prepare, q, NULL);
    REFUSES(xl_rotary_prepare_async, q, NULL, 1, NULL, NULL);
    REFUSES(xl_rotary_prepare_range, q, NULL, 1);
    REFUSES(xl_rotary_run, q, NULL, NULL);
    REFUSES(xl_rotary_workspace, q, NULL, NULL);
    REFUSES(xl_softmax_prepare, q, NULL);
    REFUSES(xl_softmax_prepare_async, q, NULL, 1, NULL, NULL);
    REFUSES(xl_softmax_prepare_range, q, NULL, 1);
    REFUSES(xl_softmax_run, q, NULL, NULL);
    REFUSES(xl_softmax_workspace, q, NULL, NULL);
    REFUSES(xl_timeline_record, q, NULL, NULL);
    REFUSES(xl_timeline_drain, q, NULL, NULL);
    REFUSES(xl_tune, q, xl_problem_gemm(NULL), NULL, NULL);
    REFUSES(xl_tune_candidate, q, xl_problem_gemm(NULL), NULL, 0, NULL);
    REFUSES(xl_tuned_list, q, NULL, NULL);
    REFUSES(xl_tuned_save, q, xl_problem_gemm(NULL), NULL, NULL);
}

static void call_without_queue(void)
{
    REFUSES(xl_calibrate, NULL, NULL);
    REFUSES(xl_peaks_measure, NULL, XL_F32);
    REFUSES(xl_peaks_measure_again, NULL, XL_F32);
    REFUSES(xl_peaks_measure_matrix, NULL, XL_F16, false);
    REFUSES(xl_queue_finish, NULL);
    REFUSES(xl_queue_set_scratch_limit, NULL, 0);
    REFUSES(xl_queue_trim, NULL);
    REFUSES(xl_queue_watch, NULL, NULL, NULL);
    REFUSES(xl_record_begin, NULL, 0);
    REFUSES(xl_record_create, NULL, NULL);
    REFUSES(xl_record_end, NULL);
    REFUSES(xl_record_replay, NULL, NULL);
    REFUSES(xl_record_set_mem, NULL, NULL, NULL);
    REFUSES(xl_timeline_record, NULL, "", NULL);
    REFUSES(xl_timeline_enable, NULL, true);
    IS_NULL(xl_queue_cl, NULL);
    IS_NULL(xl_queue_context, NULL);
    IS_NULL(xl_queue_device, NULL);
    IS_EMPTY(xl_error_detail, NULL);
    expect_nothing(begin_call("xl_record_calls"), xl_record_calls(NULL) == 0);
    IGNORES(xl_queue_destroy, NULL);
    IGNORES(xl_record_destroy, NULL);
}

static void call_of_library(void)
{
    REFUSES(xl_cache_clear, NULL, false, NULL);
    REFUSES(xl_cache_export, NULL, NULL, NULL, NULL);
    REFUSES(xl_cache_import, NULL, NULL, NULL, NULL);
    REFUSES(xl_cache_list, NULL, NULL, NULL);
    REFUSES(xl_cache_stats_get, NULL, NULL);
    REFUSES(xl_device_count, NULL, NULL);
    REFUSES(xl_lib_trim, NULL, NULL);
    REFUSES(xl_device_find, NULL, NULL, NULL);
    REFUSES(xl_open, NULL, NULL);
    REFUSES(xl_queue_create, NULL, NULL, NULL);
    REFUSES(xl_queue_wrap, NULL, NULL, NULL);
    IS_NULL(xl_cache_dir, NULL);
    IS_NULL(xl_device_at, NULL, 0);
    IS_NULL(xl_tuned_dir, NULL);
    IS_EMPTY(xl_lib_error, NULL);
    IGNORES(xl_close, NULL);
}

static void call_of_device(void)
{
    REFUSES(xl_device_fact, NULL, NULL, XL_UNKNOWN, NULL);
    REFUSES(xl_roof_measure, NULL, NULL, 0, 0);
    REFUSES(xl_roofline_theoretical, NULL, NULL, NULL);
    REFUSES(xl_roofs_list, NULL, NULL, NULL);
    REFUSES(xl_roofs_load, NULL);
    REFUSES(xl_roofs_remove, NULL, NULL);
    REFUSES(xl_roofs_save, NULL, NULL);
    REFUSES(xl_roofline_bound, NULL, NULL, 0, 0, NULL);
    REFUSES(xl_telemetry_open, NULL, NULL);
    IS_NULL(xl_device_cl, NULL);
    IS_NULL(xl_variant_name, NULL, NULL, 0);
    IS_EMPTY(xl_device_vendor_table, NULL);
    HAS_NO_INDEX(xl_device_index, NULL);
    HAS_NO_INDEX(xl_device_same_as, NULL);
    IGNORES(xl_diagnose, NULL, NULL, NULL);
    IGNORES(xl_telemetry_watch, NULL, true);
}

static void call_of_others(void)
{
    REFUSES(xl_conv_out_size, NULL, NULL, NULL);
    REFUSES(xl_terms_create, NULL);
    IS_NULL(xl_fact_name, ~0U, NULL);
    IS_NULL(xl_member_at, ~0U);
    IS_NULL(xl_device_matrix_op, NULL, 0);
    IS_NULL(xl_probe_at, ~0U);
    IGNORES(xl_counts_set_times, NULL, NULL);
    IGNORES(xl_diagnosis_init, NULL);
    IGNORES(xl_expr_destroy, NULL);
    IGNORES(xl_row_found, NULL, NULL, 0);
    IGNORES(xl_row_init, NULL, NULL, NULL);
    IGNORES(xl_row_judge, NULL, NULL);
    IGNORES(xl_row_param, NULL, NULL, 0);
    IGNORES(xl_row_param_text, NULL, NULL, NULL);
    IGNORES(xl_row_shape, NULL, NULL, 0);
    IGNORES(xl_sensor_name, XL_SENSOR_BUSY, NULL, NULL);
    IGNORES(xl_telemetry_close, NULL);
    IGNORES(xl_telemetry_read, NULL, NULL);
    IGNORES(xl_term_assign, NULL, NULL, 0);
    IGNORES(xl_term_call, NULL, NULL, NULL, 0);
    IGNORES(xl_term_cast, NULL, 0, XL_F32);
    IGNORES(xl_term_integer, NULL, 0);
    IGNORES(xl_term_name, NULL, NULL);
    IGNORES(xl_term_number, NULL, 0);
    IGNORES(xl_term_reduce, NULL, NULL, 0, NULL, 0);
    IGNORES(xl_terms_destroy, NULL);
    HAS_NO_POINTER(xl_candidate_end_name);
    HAS_NO_POINTER(xl_qformat_layout);
    IGNORES(xl_qformat_find, NULL);
    REFUSES(xl_qshape_bytes, NULL, NULL);
    REFUSES(xl_qmat_quantise_host, NULL, NULL, NULL);
    REFUSES(xl_qmat_dequantise_host, NULL, NULL, NULL);
    HAS_NO_POINTER(xl_dtype_bytes);
    HAS_NO_POINTER(xl_dtype_name);
    HAS_NO_POINTER(xl_limiter_advice);
    HAS_NO_POINTER(xl_limiter_name);
    HAS_NO_POINTER(xl_source_name);
    HAS_NO_POINTER(xl_status_name);
    HAS_NO_POINTER(xl_status_text);
    HAS_NO_POINTER(xl_throttle_is_alarm);
    HAS_NO_POINTER(xl_throttle_name);
    HAS_NO_POINTER(xl_verdict_name);
    HAS_NO_POINTER(xl_version);
}

/* -- is each function here? ------------------------------------------------
 */

static bool is_called(const char *name)
{
    unsigned i = 0;
    while (i < n_called && strcmp(called[i], name) != 0)
        i++;
    return i < n_called;
}

/* Functions declared in a header: the word before the first '(' after a line
 * that begins with XL_API. */
static unsigned check_header(const char *text)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, "\nXL_API ")) != NULL;) {
        const char *end = strchr(at, '(');
        char name[NAME];
        at++;
        assert_non_null(end);
        const char *word = end;
        while (word[-1] != ' ' && word[-1] != '*' && word[-1] != '\n')
            word--;
        snprintf(name, sizeof name, "%.*s", (int)(end - word), word);
        if (!is_called(name))
            fail_msg("%s is in a public header and not in this test", name);
        n++;
    }
    return n;
}

static unsigned check_headers(const char *folder)
{
    static char text[1 << 18];
    DIR *dir = opendir(folder);
    unsigned n = 0;
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        const char *end = strrchr(entry->d_name, '.');
        FILE *file = end && strcmp(end, ".h") == 0 ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        const size_t length = fread(text, 1, sizeof text - 1, file);
        text[length] = '\0';
        assert_in_range(length, 1, sizeof text - 2);
        n += check_header(text);
        fclose(file);
    }
    closedir(dir);
    return n;
}

static void every_function(void **state)
{
    const xl_options options = {XL_OPTIONS_INIT, .skip_selfcheck = true,
                                .cache_dir = ""};
    struct test_device t;
    (void)state;
    call_without_queue();
    call_of_library();
    call_of_device();
    call_of_others();
    call_with_queue(NULL);
    test_device_open(&t, &options);
    call_with_queue(t.queue);
    test_device_close(&t);
    assert_int_equal(test_stub()->live(), 0);
    assert_int_equal(n_wrong, 0);
    assert_in_range(
        check_headers(XL_TEST_SOURCE_DIR "/include/crosslane") +
            check_headers(XL_TEST_SOURCE_DIR "/include/crosslane/measure"),
        100, MOST);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_function)};
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
