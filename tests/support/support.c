/* SPDX-License-Identifier: Apache-2.0 */
/* See support.h. */
#include "support/support.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/clock.h"

void test_args(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
}

static const struct xl_control *find_control(const char *path,
                                             const char *symbol)
{
    /* Opened once by the loader, this gives the same copy. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct xl_control *control =
        library ? dlsym(library, symbol) : NULL;
    if (!control)
        fail_msg("%s: %s", path, dlerror());
    return control;
}

const struct xl_control *test_stub(void)
{
    static const struct xl_control *control;
    cl_uint n;
    if (!control) {
        /* The loader asks on its own when it starts: not to be counted. */
        (void)clGetPlatformIDs(0, NULL, &n);
        control = find_control(XL_STUB_LIBRARY, "xl_stub_control");
    }
    return control;
}

const struct xl_control *test_layer(void)
{
    static const struct xl_control *control;
    cl_uint n;
    if (!control) {
        (void)clGetPlatformIDs(0, NULL, &n);
        control = find_control(XL_LAYER_LIBRARY, "xl_layer_control");
    }
    return control;
}

void test_setenv(const char *name, const char *value)
{
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
}

const char *test_scratch(const char *name)
{
    static char path[1024];
    char command[sizeof path * 2 + 64];
    const char *base = getenv("XL_CACHE_DIR");

    snprintf(path, sizeof path, "%s-%s-%ld", base ? base : "/tmp/xl-test",
             name, (long)getpid());
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -m 700 -p '%s'",
             path, path);
    if (system(command) != 0)
        fail_msg("cannot make %s", path);
    return path;
}

/* Numbers into text, as the least of a few rounds: others only make it
 * slower. */
bool test_is_sampled(size_t i, size_t n)
{
    const char *few = getenv("XL_TEST_FEW");

    if (getenv("XL_TEST_FULL"))
        return true;
    return i % (few ? strtoul(few, NULL, 10) * n : n) == 0;
}

double test_slowness(void)
{
    enum { ROUNDS = 9, LINES = 2000, LONGEST = 96 };
    static const double idle_ns = 300.0 * LINES;
    double least_ns = INFINITY;
    char line[LONGEST];

    for (unsigned r = 0; r < ROUNDS; r++) {
        const uint64_t start = xl__thread_cpu_ns();
        for (unsigned i = 0; i < LINES; i++)
            snprintf(line, sizeof line, "%u of %u is %.6g", i, r, i / 7.0);
        least_ns = fmin(least_ns, (double)(xl__thread_cpu_ns() - start));
    }
    return fmax(1, least_ns / idle_ns);
}

bool test_is_within(double most_ns, double (*measure)(void *arg), void *arg)
{
    enum { TRIES = 10 };
    unsigned n = 0;

    while (n < TRIES && measure(arg) > most_ns * test_slowness())
        n++;
    return n < TRIES;
}

void test_device_open(struct test_device *t, const xl_options *options)
{
    unsigned n = 0;

    memset(t, 0, sizeof *t);
    assert_status(xl_open(options, &t->lib), XL_OK, "xl_open");
    assert_status(xl_device_count(t->lib, &n), XL_OK, xl_lib_error(t->lib));
    t->device = xl_device_at(t->lib, 0);
    assert_non_null(t->device);
    assert_status(xl_queue_create(t->lib, t->device, &t->queue), XL_OK,
                  xl_lib_error(t->lib));
}

bool test_has_engine(xl_device *dev, const char *variant)
{
    return !strstr(variant, "_mma") || xl_device_matrix_op(dev, 0);
}

void test_device_close(struct test_device *t)
{
    xl_queue_destroy(t->queue);
    xl_close(t->lib);
    memset(t, 0, sizeof *t);
}
static struct {
    struct test_device *device;
    const xl_options *options;
} group;

void test_of_group_(struct test_device *t, const xl_options *options)
{
    group.device = t;
    group.options = options;
}

int test_open_group_(void **state)
{
    (void)state;
    test_device_open(group.device, group.options);
    return 0;
}

int test_close_group_(void **state)
{
    (void)state;
    test_device_close(group.device);
    return 0;
}

void test_status_(xl_status got, xl_status want, const char *message,
                  const char *file, int line)
{
    if (got == want)
        return;
    print_error("got %s (%d), want %s: %s\n", xl_status_name(got), got,
                xl_status_name(want), message);
    _fail(file, line);
}

void test_compare_floats(xl_queue *q, cl_mem mem, const float *want, size_t n,
                         const char *name)
{
    float *got = malloc(n * sizeof *got);
    assert_non_null(got);
    assert_status(xl_buffer_read(q, mem, 0, got, n * sizeof *got), XL_OK,
                  xl_error_detail(q));
    for (size_t i = 0; i < n; i++)
        if (!(got[i] == want[i] || (isnan(got[i]) && isnan(want[i]))))
            fail_msg("%s: element %zu is %g, not %g", name, i, (double)got[i],
                     (double)want[i]);
    free(got);
}

void test_kernel_path(const char *folder, const char *name, char *path,
                      size_t cap)
{
    snprintf(path, cap, "%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700); /* it may exist */
        *at = '/';
    }
}
