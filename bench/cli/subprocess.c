/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that run this program again.
 *
 * A child leads a process group, so that the processes that it starts are
 * killed with it. If the parent is killed first, the child ends as well: at
 * once on Linux (PR_SET_PDEATHSIG), elsewhere by alarm(), which persists
 * across exec.
 *
 * The parent polls: poll_child() waits up to 50 ms for output, reads it, and
 * checks whether the child has ended, has been silent for too long, or must
 * stop. Every reading function calls it in a loop. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif
#include "cli/subprocess.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/str.h"

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
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum {
    SLICE_MS = 50,
    CHUNK = 4096,
    MOST_OUTPUT = 256 * 1024,
    EXEC_FAILED = 127,
    ALARM_LATER_S = 10 /* after the watchdog, which reports the cause */
};

static const double ns_per_s = 1e9;
static const double farewell_s = 5; /* for an idle child to end */

struct child {
    struct child_step step;
    pid_t pid;
    int from, to; /* its output; its standard input, -1 when closed */
    uint64_t start_ns, heard_ns;
    struct xl__str heard; /* output that was read and not returned yet */
    bool is_open;         /* more output may come */
    bool has_ended;
    struct child_result result;
};

static bool program_path(char *out, size_t cap)
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

static struct {
    const char *name;
    char *value; /* NULL: it was not set */
} remembered[] = {{"OCL_ICD_FILENAMES", NULL},
                  {"OCL_ICD_VENDORS", NULL},
                  {"OPENCL_LAYERS", NULL}};

void child_save_variables(void)
{
    for (size_t i = 0; i < sizeof remembered / sizeof *remembered; i++) {
        const char *value = getenv(remembered[i].name);
        free(remembered[i].value);
        remembered[i].value = value ? xl__strdup(value) : NULL;
    }
}

static void restore_variables(void)
{
    for (size_t i = 0; i < sizeof remembered / sizeof *remembered; i++) {
        if (remembered[i].value)
            setenv(remembered[i].name, remembered[i].value, 1);
    }
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

/* Without this a hung driver would occupy a core until the alarm. */
static void end_with_parent(pid_t parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXEC_FAILED); /* the parent was killed before prctl() */
#else
    (void)parent;
#endif
}

/* Execute this program, in the child; does not return. */
static void exec_child(const struct child_step *step, pid_t parent,
                       const char *path, int in, int out)
{
    char *argv[CHILD_MOST_ARGS + 2] = {(char *)path};
    for (int i = 0; i < CHILD_MOST_ARGS && step->args[i]; i++)
        argv[i + 1] = (char *)step->args[i];
    setpgid(0, 0);
    end_with_parent(parent);
    signal(SIGINT, SIG_DFL);
    alarm((unsigned)step->longest_s + ALARM_LATER_S);
    restore_variables();
    set_variables(step->variables);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(path, argv);
    _exit(EXEC_FAILED);
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(xl__now_ns() - start_ns) / ns_per_s;
}

/* Read the available output. */
static void read_output(struct child *c)
{
    char bytes[CHUNK];
    ssize_t n;
    while ((n = read(c->from, bytes, sizeof bytes)) > 0) {
        c->heard_ns = xl__now_ns();
        for (ssize_t i = 0; i < n; i++)
            if (bytes[i] == 0)
                bytes[i] = ' ';
        if (c->heard.len < MOST_OUTPUT)
            xl__str_add_n(&c->heard, bytes, (size_t)n);
    }
    c->is_open = n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* The reason to kill the child now; CHILD_EXITED: none. */
static enum child_end reason_to_kill(const struct child *c)
{
    const struct child_step *step = &c->step;
    if (step->stop && step->stop(step->stop_arg))
        return CHILD_STOPPED;
    bool is_late = seconds_since(c->heard_ns) >= step->silence_s ||
                   seconds_since(c->start_ns) >= step->longest_s;
    return is_late ? CHILD_HUNG : CHILD_EXITED;
}

/* Store the result; `state` is from waitpid(). */
static void store_result(struct child *c, enum child_end end, int state)
{
    struct child_result *r = &c->result;
    c->has_ended = true;
    r->took_s = seconds_since(c->start_ns);
    r->end = end;
    kill(-c->pid, SIGKILL);
    if (end != CHILD_EXITED)
        return;
    r->end = WIFSIGNALED(state) ? CHILD_SIGNALLED : CHILD_EXITED;
    r->code = WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state);
    if (r->end == CHILD_EXITED && r->code == EXEC_FAILED)
        r->end = CHILD_NOT_RUN;
}

static void kill_child(struct child *c, enum child_end end)
{
    int state = 0;
    kill(c->pid, SIGKILL); /* it may not lead its group yet */
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &state, 0) < 0 && errno == EINTR)
        ;
    store_result(c, end, state);
}

/* Wait up to SLICE_MS for output and check the child; false once it has ended
 * and its output is read. */
static bool poll_child(struct child *c)
{
    struct pollfd from = {.fd = c->is_open ? c->from : -1, .events = POLLIN};
    int state = 0;
    if (c->has_ended)
        return false;
    (void)poll(&from, 1, SLICE_MS);
    bool has_ended = waitpid(c->pid, &state, WNOHANG) == c->pid;
    if (c->is_open)
        read_output(c);
    enum child_end end = has_ended ? CHILD_EXITED : reason_to_kill(c);
    if (has_ended)
        store_result(c, CHILD_EXITED, state);
    else if (end != CHILD_EXITED)
        kill_child(c, end);
    return !c->has_ended;
}

/* -- starting and ending --------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool make_pipe(int ends[2])
{
    if (pipe(ends) != 0) {
        ends[0] = ends[1] = -1;
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

/* Start the process; false: none was created. */
static bool start_process(struct child *c)
{
    enum { PATH_CAP = 4096 };
    char path[PATH_CAP];
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (program_path(path, sizeof path) && make_pipe(in) && make_pipe(out)) {
        const pid_t parent = getpid();
        (void)fflush(NULL);
        c->pid = fork();
        if (c->pid == 0)
            exec_child(&c->step, parent, path, in[0], out[1]);
    }
    close_fd(&in[0]);
    close_fd(&out[1]);
    c->from = out[0];
    c->to = in[1];
    if (c->pid <= 0)
        return false;
    fcntl(c->from, F_SETFL, O_NONBLOCK);
    c->start_ns = c->heard_ns = xl__now_ns();
    c->is_open = true;
    return true;
}

struct child *child_start(const struct child_step *step)
{
    struct child *c = xl__calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->step = *step;
    c->pid = -1;
    if (start_process(c))
        return c;
    close_fd(&c->from);
    close_fd(&c->to);
    free(c);
    return NULL;
}

/* SIGPIPE is ignored: write() returns an error when the child has ended. */
bool child_write(struct child *c, const char *text, double silence_s)
{
    size_t len = strlen(text);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    ssize_t n = 0;
    while (len > 0 && (n = write(c->to, text, len)) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    signal(SIGPIPE, before);
    c->step.silence_s = silence_s;
    c->heard_ns = xl__now_ns();
    return len == 0;
}

/* Move the first line of the output that was read to `line`; the rest of the
 * output when the child has ended. */
static bool next_line(struct child *c, struct xl__str *line)
{
    struct xl__str *heard = &c->heard;
    if (heard->len == 0)
        return false;
    size_t len = strcspn(heard->text, "\n");
    bool is_whole = heard->text[len] == '\n';
    if (!is_whole && !c->has_ended)
        return false;
    xl__str_add_n(line, heard->text, len);
    len += is_whole;
    memmove(heard->text, heard->text + len, heard->len - len + 1);
    heard->len -= len;
    return true;
}

bool child_read_line(struct child *c, struct xl__str *line)
{
    xl__str_reset(line);
    while (!next_line(c, line))
        if (!poll_child(c) && c->heard.len == 0)
            return false;
    return true;
}

void child_end(struct child *c, struct child_result *out)
{
    close_fd(&c->to);
    while (poll_child(c))
        ;
    close_fd(&c->from);
    *out = c->result;
    out->output = c->heard;
    free(c);
}

void child_discard(struct child *c)
{
    struct child_result result;
    if (!c)
        return;
    c->step.longest_s = seconds_since(c->start_ns) + farewell_s;
    child_end(c, &result);
    child_clear(&result);
}

/* -- two at a time -------------------------------------------------------- */

static void signal_child(const struct child *c, int number)
{
    if (c->has_ended)
        return;
    kill(c->pid, number); /* it may not lead its group yet */
    kill(-c->pid, number);
}

/* Lets a child run for a while; true: it has not ended. */
static bool run_slice(struct child *c)
{
    static const double slice_s = 0.1;
    const uint64_t start_ns = xl__now_ns();
    while (!c->has_ended && seconds_since(start_ns) < slice_s)
        (void)poll_child(c);
    return !c->has_ended;
}

void child_run_alternately(const struct child_step step[2],
                           struct child_result out[2])
{
    struct child *c[2];
    for (int i = 0; i < 2; i++) {
        out[i] = (struct child_result){.end = CHILD_NOT_RUN};
        c[i] = child_start(&step[i]);
        if (c[i])
            signal_child(c[i], SIGSTOP);
    }
    for (bool are_both = c[0] && c[1]; are_both;)
        for (int i = 0; i < 2 && are_both; i++) {
            signal_child(c[i], SIGCONT);
            are_both = run_slice(c[i]);
            signal_child(c[i], SIGSTOP);
        }
    for (int i = 0; i < 2; i++)
        if (c[i]) {
            signal_child(c[i], SIGCONT);
            child_end(c[i], &out[i]);
        }
}

/* -- signals, folders, libraries ------------------------------------------ */

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
    enum { PATTERN_LENGTH = 6 }; /* mkdtemp() requires six */
    struct xl__str path = {0};
    const char *parent = getenv("TMPDIR");
    xl__str_printf(&path, "%s/clbench-", parent && *parent ? parent : "/tmp");
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
    (void)xl__dir_scan(path, remove_file, NULL);
    rmdir(path);
}

bool child_loads(const char *library, struct xl__str *why)
{
    if (xl__dlopen(library))
        return true;
    const char *message = dlerror();
    xl__str_add(why, message ? message : "it does not load");
    return false;
}

#else

struct child *child_start(const struct child_step *step)
{
    (void)step;
    return NULL;
}

bool child_write(struct child *c, const char *text, double silence_s)
{
    (void)c;
    (void)text;
    (void)silence_s;
    return false;
}

bool child_read_line(struct child *c, struct xl__str *line)
{
    (void)c;
    (void)line;
    return false;
}

void child_end(struct child *c, struct child_result *out)
{
    (void)c;
    *out = (struct child_result){.end = CHILD_NOT_RUN};
}

void child_discard(struct child *c)
{
    (void)c;
}

void child_run_alternately(const struct child_step step[2],
                           struct child_result out[2])
{
    for (int i = 0; i < 2; i++)
        child_run(&step[i], &out[i]);
}

void child_save_variables(void) {}

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

void child_run(const struct child_step *step, struct child_result *out)
{
    struct child *c = child_start(step);
    *out = (struct child_result){.end = CHILD_NOT_RUN};
    if (c)
        child_end(c, out);
}

void child_clear(struct child_result *r)
{
    xl__str_clear(&r->output);
}
