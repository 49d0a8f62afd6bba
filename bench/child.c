/* SPDX-License-Identifier: Apache-2.0 */
/* This program, once more, in a process of its own. The child leads a process
 * group, so that what it starts dies with it; an alarm() survives exec and
 * ends it even when this program was killed first. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif
#include "child.h"

#include <stddef.h>

#ifndef _WIN32
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "base/clock.h"
#include "base/files.h"

enum {
    SLICE_MS = 50,
    CHUNK = 4096,
    MOST_OUTPUT = 256 * 1024,
    EXEC_FAILED = 127,
    ALARM_LATER_S = 10 /* than the watchdog, which can say what happened */
};

static const double ns_per_s = 1e9;

static bool own_path(char *out, size_t cap)
{
#ifdef __APPLE__
    uint32_t len = (uint32_t)cap;
    return _NSGetExecutablePath(out, &len) == 0;
#else
    ssize_t n = readlink("/proc/self/exe", out, cap - 1);
    if (n <= 0)
        return false;
    out[n] = 0;
    return true;
#endif
}

static void set_variables(const char *const *variables)
{
    for (; *variables; variables++) {
        char name[64];
        const char *equals = strchr(*variables, '=');
        if (!equals) {
            unsetenv(*variables);
            continue;
        }
        size_t len = (size_t)(equals - *variables);
        if (len >= sizeof name)
            continue;
        memcpy(name, *variables, len);
        name[len] = 0;
        setenv(name, equals + 1, 1);
    }
}

/* In the child: never returns. */
static void become(const struct child_step *step, const char *path, int out)
{
    enum { MOST_ARGS = 15 };
    char *argv[MOST_ARGS + 2] = {(char *)path};
    for (int i = 0; i < MOST_ARGS && step->args[i]; i++)
        argv[i + 1] = (char *)step->args[i];
    int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    alarm((unsigned)step->longest_s + ALARM_LATER_S);
    set_variables(step->variables);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(path, argv);
    _exit(EXEC_FAILED);
}

/* What there is to read now; false at its end. */
static bool take(int fd, struct xl__str *output, bool *heard)
{
    char bytes[CHUNK];
    ssize_t n;
    while ((n = read(fd, bytes, sizeof bytes)) > 0) {
        *heard = true;
        for (ssize_t i = 0; i < n; i++)
            if (bytes[i] == 0)
                bytes[i] = ' ';
        if (output->len < MOST_OUTPUT)
            xl__str_add_n(output, bytes, (size_t)n);
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static double since(uint64_t start_ns)
{
    return (double)(xl__now_ns() - start_ns) / ns_per_s;
}

/* Why it must be killed now; CHILD_EXITED: it need not. */
static enum child_end must_end(const struct child_step *step,
                               uint64_t start_ns, uint64_t heard_ns)
{
    if (step->stop && step->stop(step->stop_arg))
        return CHILD_STOPPED;
    bool is_late = since(heard_ns) >= step->silence_s ||
                   since(start_ns) >= step->longest_s;
    return is_late ? CHILD_HUNG : CHILD_EXITED;
}

static void watch(const struct child_step *step, pid_t pid, int fd,
                  struct child_result *out)
{
    uint64_t start_ns = xl__now_ns(), heard_ns = start_ns;
    int state = 0;
    bool is_open = true;
    for (;;) {
        struct pollfd from = {.fd = is_open ? fd : -1, .events = POLLIN};
        bool heard = false;
        (void)poll(&from, 1, SLICE_MS);
        bool has_ended = waitpid(pid, &state, WNOHANG) == pid;
        is_open = is_open && take(fd, &out->output, &heard);
        if (heard)
            heard_ns = xl__now_ns();
        if (has_ended)
            break;
        out->end = must_end(step, start_ns, heard_ns);
        if (out->end == CHILD_EXITED)
            continue;
        kill(pid, SIGKILL); /* it may not lead its group yet */
        kill(-pid, SIGKILL);
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
            ;
        break;
    }
    out->took_s = since(start_ns);
    kill(-pid, SIGKILL);
    if (out->end != CHILD_EXITED)
        return;
    out->end = WIFSIGNALED(state) ? CHILD_SIGNALLED : CHILD_EXITED;
    out->code = WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state);
    if (out->end == CHILD_EXITED && out->code == EXEC_FAILED)
        out->end = CHILD_NOT_RUN;
}

static bool make_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

void child_run(const struct child_step *step, struct child_result *out)
{
    enum { PATH_CAP = 4096 };
    char path[PATH_CAP];
    int ends[2];
    *out = (struct child_result){.end = CHILD_NOT_RUN};
    if (!own_path(path, sizeof path) || !make_pipe(ends))
        return;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become(step, path, ends[1]);
    close(ends[1]);
    if (pid > 0) {
        out->end = CHILD_EXITED;
        watch(step, pid, ends[0], out);
    }
    close(ends[0]);
}

const char *child_signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},
        {SIGILL, "SIGILL"},   {SIGFPE, "SIGFPE"},   {SIGTRAP, "SIGTRAP"},
        {SIGSYS, "SIGSYS"},   {SIGPIPE, "SIGPIPE"}, {SIGKILL, "SIGKILL"},
        {SIGTERM, "SIGTERM"}, {SIGALRM, "SIGALRM"}};
    static char other[32];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    snprintf(other, sizeof other, "signal %d", number);
    return other;
}

char *child_folder_make(void)
{
    enum { PATTERN_LENGTH = 6 }; /* as mkdtemp() asks */
    struct xl__str path = {0};
    const char *parent = getenv("TMPDIR");
    xl__str_printf(&path, "%s/clbench-",
                   parent && *parent ? parent : "/tmp");
    for (int i = 0; i < PATTERN_LENGTH; i++)
        xl__str_add(&path, "X");
    if (!path.broken && mkdtemp(path.text))
        return xl__str_steal(&path);
    xl__str_clear(&path);
    return NULL;
}

static bool remove_file(const char *path, void *arg)
{
    (void)arg;
    (void)xl__file_remove(path);
    return true;
}

void child_folder_remove(const char *path)
{
    (void)xl__dir_walk(path, remove_file, NULL);
    rmdir(path);
}

bool child_loads(const char *library, struct xl__str *why)
{
    if (xl__dlopen(library))
        return true;
    const char *story = dlerror();
    xl__str_add(why, story ? story : "it does not load");
    return false;
}

#else
#include "base/files.h"

void child_run(const struct child_step *step, struct child_result *out)
{
    (void)step;
    *out = (struct child_result){.end = CHILD_NOT_RUN};
}

const char *child_signal_name(int number)
{
    (void)number;
    return "a signal";
}

char *child_folder_make(void)
{
    return NULL;
}

void child_folder_remove(const char *path)
{
    (void)path;
}

bool child_loads(const char *library, struct xl__str *why)
{
    if (xl__dlopen(library))
        return true;
    xl__str_add(why, "it does not load");
    return false;
}
#endif

void child_clear(struct child_result *r)
{
    xl__str_clear(&r->output);
}
