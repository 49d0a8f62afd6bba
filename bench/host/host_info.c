/* SPDX-License-Identifier: Apache-2.0 */
/* The host and its terminal: on Linux from files in /proc and /etc, on macOS
 * from sysctl, on Windows from calls. What is not available stays unknown. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#endif
#include "host/host_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#ifdef _WIN32
#include <io.h>
#include <windows.h>

bool xl__is_terminal(int fd)
{
    return _isatty(fd) != 0;
}

unsigned xl__terminal_columns(int fd)
{
    DWORD handle = fd == XL__STDOUT ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE;
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(handle), &info))
        return 0;
    return (unsigned)(info.srWindow.Right - info.srWindow.Left + 1);
}

unsigned xl__terminal_lines(int fd)
{
    DWORD handle = fd == XL__STDOUT ? STD_OUTPUT_HANDLE : STD_ERROR_HANDLE;
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(GetStdHandle(handle), &info))
        return 0;
    return (unsigned)(info.srWindow.Bottom - info.srWindow.Top + 1);
}

void xl__write_error(const char *text)
{
    (void)_write(XL__STDERR, text, (unsigned)strlen(text));
}

static void read_system(struct xl__host *out)
{
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    out->n_cores = system.dwNumberOfProcessors;
    if (GlobalMemoryStatusEx(&memory))
        out->memory_bytes = memory.ullTotalPhys;
    const char *cpu = getenv("PROCESSOR_IDENTIFIER");
    const char *machine = getenv("PROCESSOR_ARCHITECTURE");
    xl__strcpy(out->cpu, sizeof out->cpu, cpu ? cpu : "");
    xl__strcpy(out->machine, sizeof out->machine, machine ? machine : "");
    xl__strcpy(out->os, sizeof out->os, "Windows");
}

#else
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

bool xl__is_terminal(int fd)
{
    return isatty(fd) == 1;
}

unsigned xl__terminal_columns(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

unsigned xl__terminal_lines(int fd)
{
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

void xl__write_error(const char *text)
{
    const ssize_t written = write(XL__STDERR, text, strlen(text));
    (void)written;
}

#ifdef __APPLE__
static void read_system(struct xl__host *out)
{
    size_t len = sizeof out->cpu;
    (void)sysctlbyname("machdep.cpu.brand_string", out->cpu, &len, NULL, 0);
    len = sizeof out->memory_bytes;
    (void)sysctlbyname("hw.memsize", &out->memory_bytes, &len, NULL, 0);
    xl__strcpy(out->os, sizeof out->os, "macOS");
    (void)getloadavg(&out->load, 1);
}
#else
/* Copy the value of the first line of `path` that begins with `name`: the text
 * after the mark ('=' or ':'), without quotes and outer blanks. */
static void read_file_value(const char *path, const char *name, char mark,
                            char *out, size_t cap)
{
    char line[512];
    FILE *f = fopen(path, "r");
    while (f && !*out && fgets(line, sizeof line, f)) {
        char *value = strchr(line, mark);
        if (!value || strncmp(line, name, strlen(name)) != 0)
            continue;
        value += 1 + strspn(value + 1, " \t\"");
        value[strcspn(value, "\"\n")] = '\0';
        xl__strcpy(out, cap, value);
    }
    if (f)
        fclose(f);
}

static void read_system(struct xl__host *out)
{
    read_file_value("/proc/cpuinfo", "model name", ':', out->cpu,
                    sizeof out->cpu);
    read_file_value("/etc/os-release", "PRETTY_NAME", '=', out->os,
                    sizeof out->os);
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && bytes > 0)
        out->memory_bytes = (uint64_t)pages * (uint64_t)bytes;
    char text[64] = "";
    FILE *f = fopen("/proc/loadavg", "r");
    if (f && fgets(text, sizeof text, f))
        out->load = strtod(text, NULL);
    if (f)
        fclose(f);
}
#endif

static void read_kernel(struct xl__host *out)
{
    struct utsname names;
    if (uname(&names) < 0)
        return;
    snprintf(out->kernel, sizeof out->kernel, "%.40s %.80s", names.sysname,
             names.release);
    xl__strcpy(out->machine, sizeof out->machine, names.machine);
    if (!*out->os)
        xl__strcpy(out->os, sizeof out->os, names.sysname);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores > 0)
        out->n_cores = (unsigned)cores;
}
#endif

void xl__host_read(struct xl__host *out)
{
    *out = (struct xl__host){.load = -1.0};
    read_system(out);
#ifndef _WIN32
    read_kernel(out);
#endif
}
