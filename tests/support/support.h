/* SPDX-License-Identifier: Apache-2.0 */
/* Support for test programs: CMocka with its headers in order, a filter in the
 * first argument, the stub driver's controls, and a library with a queue. */
#ifndef XL_TESTS_SUPPORT_H
#define XL_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <crosslane/crosslane.h>

#include "stub/control.h"

/* Take the filter from the command line; call before the tests run. */
void test_args(int argc, char **argv);

/* The controls of the stub driver (of the fault layer): the loader's own copy
 * of it. Fails the test when there is none. */
const struct xl_control *test_stub(void);
const struct xl_control *test_layer(void);

/* Set an environment variable, or remove it with NULL. */
void test_setenv(const char *name, const char *value);

/* A folder of this process's own, below XL_CACHE_DIR; made anew, empty. Lives
 * until the next call. */
const char *test_scratch(const char *name);

/* Whether case i is in a run of every n-th case. XL_TEST_FULL: every case is;
 * XL_TEST_FEW=m: an m-th of those that are otherwise. */
bool test_is_sampled(size_t i, size_t n);

/* How many times as long as on an idle core of 2023 the host takes for plain C:
 * 1 at the least. What a test allows in CPU time is allowed so many times. */
double test_slowness(void);

/* Is what measure(arg) returns, ns of CPU time, within `most_ns` so many
 * times? It is measured again where it is not, ten times at most: a neighbour
 * may take the caches for a while. */
bool test_is_within(double most_ns, double (*measure)(void *arg), void *arg);

/* An open library on device 0 with a queue of ours; fails the test when that
 * does not work. */
struct test_device {
    xl_lib *lib;
    xl_device *device;
    xl_queue *queue;
};
void test_device_open(struct test_device *t, const xl_options *options);
/* False: the variant is one of a matrix engine, which the device lacks. */
bool test_has_engine(xl_device *dev, const char *variant);
void test_device_close(struct test_device *t);

/* Run tests on a device that is open from the first to the last. */
#define test_run_on_device(tests, t, options)                                 \
    (test_of_group_((t), (options)),                                          \
     cmocka_run_group_tests(tests, test_open_group_, test_close_group_))
void test_of_group_(struct test_device *t, const xl_options *options);
int test_open_group_(void **state);
int test_close_group_(void **state);

/* Fail with the status by name and the message. */
#define assert_status(got, want, message)                                       \
    do {                                                                      \
        const xl_status got_ = (got); /* before the message is asked for */     \
        test_status_(got_, (want), (message), __FILE__, __LINE__);              \
    } while (0)
void test_status_(xl_status got, xl_status want, const char *message,
                  const char *file, int line);

/* Fails, with the name of the case, at the first of `n` floats of the buffer
 * that is not want[i]; a NaN equals a NaN. */
void test_compare_floats(xl_queue *q, cl_mem mem, const float *want, size_t n,
                         const char *name);

/* The path of a kernel in a copy of cl/, "gemm/tiled.cl" below `folder`; makes the
 * folders on the way. */
void test_kernel_path(const char *folder, const char *name, char *path,
                      size_t cap);

#endif
