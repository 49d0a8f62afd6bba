/* SPDX-License-Identifier: Apache-2.0 */
/* Pins threads to cores and clears environment variables, so that libraries on
 * the same cores can be compared. OpenBLAS reads its variables before main(),
 * so unsetting them requires that the program starts again. Two threads that
 * have just been woken share a core for milliseconds on some kernels, at half
 * the speed; pinned threads do not. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "thread_pinning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include "base/os/files.h"
#include "base/alloc.h"

extern char **environ;

/* Set when the program has restarted itself with the variables it needs. */
static const char restarted_mark[] = "CLBENCH_PEER_SETTLED";

static bool starts_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The name of a set variable that a library reads; "" when none is set. */
static void find_variable(char *name, size_t cap)
{
    static const char *const beginnings[] = {"OPENBLAS_", "GOTO_", "GOTOBLAS_",
                                             "OMP_", "BLIS_"};
    name[0] = '\0';
    for (char **v = environ; *v; v++)
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
            if (starts_with(*v, beginnings[i]))
                snprintf(name, cap, "%.*s", (int)strcspn(*v, "="), *v);
}

/* The arguments of the command line, from the system. */
static char **read_command_line(char **text)
{
    size_t len = 0, n = 0, at = 0;
    if (xl__file_read("/proc/self/cmdline", text, &len) != XL_OK)
        return NULL;
    char **words = xl__calloc(len + 1, sizeof *words);
    for (; words && at < len; at += strlen(*text + at) + 1)
        words[n++] = *text + at;
    return words;
}

static void restart_program(void)
{
    char *text = NULL;
    char **words = read_command_line(&text);
    if (words)
        (void)execv("/proc/self/exe", words);
    free(words);
    free(text);
    fprintf(stderr, "clbench: warning: the program cannot restart itself; "
                    "unset the variables named above\n");
}

static void warn_about_others(void)
{
    static const char *const others[] = {
        "POCL_MAX_PTHREAD_COUNT", "POCL_MAX_COMPUTE_UNITS",
        "POCL_KERNELLIB_NAME", "POCL_CPU_MAX_CU_COUNT", "LP_NUM_THREADS"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (getenv(others[i]))
            fprintf(stderr,
                    "clbench: warning: %s=%.64s changes what is compared\n",
                    others[i], getenv(others[i]));
}

void pinning_clear_variables(void)
{
    char name[64];
    bool any = false;
    /* A core for each of PoCL's worker threads; read when PoCL is opened. */
    (void)setenv("POCL_AFFINITY", "1", 0);
    if (getenv(restarted_mark))
        return;
    for (find_variable(name, sizeof name); *name;
         find_variable(name, sizeof name)) {
        const char *value = getenv(name);
        fprintf(stderr,
                "clbench: warning: %s=%.64s would change what is compared; "
                "restarting without it\n",
                name, value ? value : "");
        if (unsetenv(name) != 0)
            break;
        any = true;
    }
    if (any)
        restart_program();
    warn_about_others();
}

void pinning_restart_with(const char *name, const char *value)
{
    if (!getenv(restarted_mark) && setenv(name, value, 1) == 0 &&
        setenv(restarted_mark, "1", 1) == 0)
        restart_program();
}

static void pin_thread(int id, const int *core, unsigned n)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < n; i++)
        CPU_SET((size_t)core[i], &set);
    (void)sched_setaffinity(id, sizeof set, &set);
}

static void find_cores(struct pinned_threads *t)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (int i = 0; i < CPU_SETSIZE && t->n_cores < PINNED_THREADS; i++)
        if (CPU_ISSET((size_t)i, &set))
            t->core[t->n_cores++] = i;
}

void pinning_pin_threads(struct pinned_threads *t)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    *t = (struct pinned_threads){.id = {(int)getpid()}, .n = 1};
    find_cores(t);
    while (tasks && t->n < PINNED_THREADS && (task = readdir(tasks)) != NULL) {
        const int id = atoi(task->d_name);
        if (id > 0 && id != t->id[0])
            t->id[t->n++] = id;
    }
    if (tasks)
        closedir(tasks);
    for (unsigned i = 1; i < t->n && t->n_cores > 0; i++)
        pin_thread(t->id[i], &t->core[i % t->n_cores], 1);
}

void pinning_pin_caller(const struct pinned_threads *t, bool is_pinned)
{
    if (t->n_cores > 0)
        pin_thread(t->id[0], t->core, is_pinned ? 1 : t->n_cores);
}

#else

void pinning_clear_variables(void) {}

void pinning_restart_with(const char *name, const char *value)
{
    (void)name;
    (void)value;
}

void pinning_pin_threads(struct pinned_threads *t)
{
    memset(t, 0, sizeof *t);
}

void pinning_pin_caller(const struct pinned_threads *t, bool is_pinned)
{
    (void)t;
    (void)is_pinned;
}

#endif
