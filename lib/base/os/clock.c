/* SPDX-License-Identifier: Apache-2.0 */
/* Time on POSIX systems and Windows. */
#include "base/os/clock.h"

#include <stdbool.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

#ifdef _WIN32
#include <windows.h>

uint64_t xl__now_ns(void)
{
    LARGE_INTEGER ticks, per_s;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_s);
    /* Seconds are computed separately: ticks * 10^9 would overflow in hours.
     */
    uint64_t t = (uint64_t)ticks.QuadPart, f = (uint64_t)per_s.QuadPart;
    return t / f * NS_PER_S + t % f * NS_PER_S / f;
}

uint64_t xl__thread_cpu_ns(void)
{
    enum { NS_PER_FILETIME = 100 };
    FILETIME made, ended, kernel, user;
    if (!GetThreadTimes(GetCurrentThread(), &made, &ended, &kernel, &user))
        return 0;
    uint64_t k = (uint64_t)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime;
    uint64_t u = (uint64_t)user.dwHighDateTime << 32 | user.dwLowDateTime;
    return (k + u) * NS_PER_FILETIME;
}

void xl__sleep_ns(uint64_t ns)
{
    enum { NS_PER_MS = 1000000 };
    Sleep((DWORD)((ns + NS_PER_MS - 1) / NS_PER_MS));
}

#else
#include <errno.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t xl__now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t xl__thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void xl__sleep_ns(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}
#endif

void xl__write_date(char *out, size_t cap)
{
    const time_t now = time(NULL);
    struct tm parts;
#ifdef _WIN32
    const bool known = gmtime_s(&parts, &now) == 0;
#else
    const bool known = gmtime_r(&now, &parts) != NULL;
#endif
    if (!known || strftime(out, cap, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        out[0] = '\0';
}
