/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS reads its variables before main() begins, so that unsetting them
 * wants a new start of the program. Two threads that have just woken up share
 * a core for milliseconds on some kernels, at half the speed; pinned, they
 * cannot. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "fair.h"

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

/* Set when the program was started by itself with what it needs. */
static const char settled[] = "CLBENCH_PEER_SETTLED";

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The name of a variable that a library would obey; "" when none is set. */
static void stray(char *name, size_t cap)
{
    static const char *const beginnings[] = {"OPENBLAS_", "GOTO_", "GOTOBLAS_",
                                             "OMP_", "BLIS_"};
    name[0] = '\0';
    for (char **v = environ; *v; v++)
        for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
            if (begins(*v, beginnings[i]))
                snprintf(name, cap, "%.*s", (int)strcspn(*v, "="), *v);
}

/* The words of the command line, from the system. */
static char **own_words(char **text)
{
    size_t len = 0, n = 0, at = 0;
    if (xl__file_read("/proc/self/cmdline", text, &len) != XL_OK)
        return NULL;
    char **words = xl__calloc(len + 1, sizeof *words);
    for (; words && at < len; at += strlen(*text + at) + 1)
        words[n++] = *text + at;
    return words;
}

static void start_anew(void)
{
    char *text = NULL;
    char **words = own_words(&text);
    if (words)
        (void)execv("/proc/self/exe", words);
    free(words);
    free(text);
    fprintf(stderr, "clbench: warning: the program could not start itself "
                    "anew; set its variables yourself\n");
}

static void name_others(void)
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

void fair_variables(void)
{
    char name[64];
    bool any = false;
    /* PoCL's worker threads, a core each; it asks when it is opened. */
    (void)setenv("POCL_AFFINITY", "1", 0);
    if (getenv(settled))
        return;
    for (stray(name, sizeof name); *name; stray(name, sizeof name)) {
        const char *value = getenv(name);
        fprintf(stderr,
                "clbench: warning: %s=%.64s would change what is compared; "
                "run without it\n",
                name, value ? value : "");
        if (unsetenv(name) != 0)
            break;
        any = true;
    }
    if (any)
        start_anew();
    name_others();
}

void fair_start_with(const char *name, const char *value)
{
    if (!getenv(settled) && setenv(name, value, 1) == 0 &&
        setenv(settled, "1", 1) == 0)
        start_anew();
}

static void pin(int id, const int *core, unsigned n)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < n; i++)
        CPU_SET((size_t)core[i], &set);
    (void)sched_setaffinity(id, sizeof set, &set);
}

static void find_cores(struct fair_threads *t)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (int i = 0; i < CPU_SETSIZE && t->n_cores < FAIR_THREADS; i++)
        if (CPU_ISSET((size_t)i, &set))
            t->core[t->n_cores++] = i;
}

void fair_pin(struct fair_threads *t)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    *t = (struct fair_threads){.id = {(int)getpid()}, .n = 1};
    find_cores(t);
    while (tasks && t->n < FAIR_THREADS && (task = readdir(tasks)) != NULL) {
        const int id = atoi(task->d_name);
        if (id > 0 && id != t->id[0])
            t->id[t->n++] = id;
    }
    if (tasks)
        closedir(tasks);
    for (unsigned i = 1; i < t->n && t->n_cores > 0; i++)
        pin(t->id[i], &t->core[i % t->n_cores], 1);
}

void fair_pin_caller(const struct fair_threads *t, bool is_pinned)
{
    if (t->n_cores > 0)
        pin(t->id[0], t->core, is_pinned ? 1 : t->n_cores);
}

#else

void fair_variables(void) {}

void fair_start_with(const char *name, const char *value)
{
    (void)name;
    (void)value;
}

void fair_pin(struct fair_threads *t)
{
    memset(t, 0, sizeof *t);
}

void fair_pin_caller(const struct fair_threads *t, bool is_pinned)
{
    (void)t;
    (void)is_pinned;
}

#endif
