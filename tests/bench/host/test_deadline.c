/* SPDX-License-Identifier: Apache-2.0 */
/* A deadline ends a process whose main thread is held up, waits for its lock,
 * and does nothing once it is over. */
#include "support/support.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "host/deadline.h"

enum { LATE = 7, HELD = 8 };
static const uint64_t brief_ns = 100000000, held_up_ns = 10000000000;

static void end(void *code)
{
    _Exit(*(const int *)code);
}

/* The exit code of a process that does `run`. */
static int code_of(void (*run)(void))
{
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run();
        _Exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void be_held_up(void)
{
    int code = LATE;
    (void)deadline_begin(xl__now_ns() + brief_ns, end, &code);
    xl__sleep_ns(held_up_ns);
}

static void hold_the_lock(void)
{
    int code = LATE;
    struct deadline *d = deadline_begin(xl__now_ns() + brief_ns, end, &code);
    deadline_lock(d);
    xl__sleep_ns(3 * brief_ns);
    code = HELD;
    deadline_unlock(d);
    xl__sleep_ns(held_up_ns);
}

static void be_in_time(void)
{
    int code = LATE;
    struct deadline *d = deadline_begin(xl__now_ns() + brief_ns, end, &code);
    deadline_end(d);
    xl__sleep_ns(3 * brief_ns);
}

static void ends_what_is_held_up(void **state)
{
    (void)state;
    assert_int_equal(code_of(be_held_up), LATE);
}

static void waits_for_the_lock(void **state)
{
    (void)state;
    assert_int_equal(code_of(hold_the_lock), HELD);
}

static void does_nothing_once_over(void **state)
{
    (void)state;
    assert_int_equal(code_of(be_in_time), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_what_is_held_up),
        cmocka_unit_test(waits_for_the_lock),
        cmocka_unit_test(does_nothing_once_over),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
