/* SPDX-License-Identifier: Apache-2.0 */
/* What goes with child processes: names of signals, a private folder for a
 * short time, a shared library loaded by name. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif
#include "cli/subprocess.h"

#include "base/os/files.h"

#ifndef _WIN32
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
    (void)xl__dir_scan(path, remove_file, NULL);
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
