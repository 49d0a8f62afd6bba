/* SPDX-License-Identifier: Apache-2.0 */
/* A substitute for NVIDIA's management library. Its values are the lines "name
 * number" of the file named by XL_FAKE_NVML, which is read at each call; a
 * missing name is a query that the device does not support. It counts how
 * often it is open, and every query before that fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DONE = 0, UNINITIALIZED = 1, NOT_SUPPORTED = 3, NOT_FOUND = 6,
       TOO_SMALL = 7 };

static int n_open;
static int the_gpu;

/* What `nvmlShutdown` has not been called for yet. */
int fake_nvml_open(void);
int fake_nvml_open(void)
{
    return n_open;
}

static int answer(const char *name, double *out)
{
    char line[128], found[64];
    const char *path = getenv("XL_FAKE_NVML");
    FILE *f = path ? fopen(path, "r") : NULL;
    int status = NOT_SUPPORTED;
    double value;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%63s %lf", found, &value) != 2 ||
            strcmp(found, name) != 0)
            continue;
        *out = value;
        status = DONE;
    }
    if (f)
        fclose(f);
    return n_open > 0 ? status : UNINITIALIZED;
}

static int read_integer(const char *name, unsigned *out)
{
    double value = 0;
    const int status = answer(name, &value);
    if (status == DONE)
        *out = (unsigned)value;
    return status;
}

static int large(const char *name, unsigned long long *out)
{
    double value = 0;
    const int status = answer(name, &value);
    if (status == DONE)
        *out = (unsigned long long)value;
    return status;
}

/* -- who it is -------------------------------------------------------------- */

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    double fails = 0;
    n_open++;
    if (answer("init_fails", &fails) == DONE) {
        n_open--;
        return NOT_FOUND;
    }
    return DONE;
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    n_open--;
    return DONE;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **out);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **out)
{
    *out = &the_gpu;
    return strcmp(pci, "0000:00:06.0") == 0 ? DONE : NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **out);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out)
{
    *out = &the_gpu;
    return strcmp(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f") == 0
               ? DONE
               : NOT_FOUND;
}

/* -- its readings ------------------------------------------------------------ */

int nvmlDeviceGetClockInfo(void *gpu, int type, unsigned *mhz);
int nvmlDeviceGetClockInfo(void *gpu, int type, unsigned *mhz)
{
    (void)gpu;
    return read_integer(type == 1   ? "clock_sm"
                        : type == 2 ? "clock_mem"
                                    : "?",
                        mhz);
}

int nvmlDeviceGetMaxClockInfo(void *gpu, int type, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *gpu, int type, unsigned *mhz)
{
    (void)gpu;
    return read_integer(type == 1   ? "max_clock_sm"
                        : type == 2 ? "max_clock_mem"
                                    : "?",
                        mhz);
}

int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *celsius)
{
    (void)gpu;
    return read_integer(sensor == 0 ? "temperature" : "?", celsius);
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *mw);
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *mw)
{
    (void)gpu;
    return read_integer("power_mw", mw);
}

int nvmlDeviceGetEnforcedPowerLimit(void *gpu, unsigned *mw);
int nvmlDeviceGetEnforcedPowerLimit(void *gpu, unsigned *mw)
{
    (void)gpu;
    return read_integer("power_limit_mw", mw);
}

int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *mj);
int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *mj)
{
    (void)gpu;
    return large("energy_mj", mj);
}

int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *out);
int nvmlDeviceGetUtilizationRates(void *gpu, unsigned *out)
{
    (void)gpu;
    const int status = read_integer("busy", &out[0]);
    return status == DONE ? read_integer("memory_busy", &out[1]) : status;
}

int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long *out);
int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long *out)
{
    (void)gpu;
    int status = large("memory_total", &out[0]);
    if (status == DONE)
        status = large("memory_used", &out[2]);
    if (status == DONE)
        out[1] = out[0] - out[2];
    return status;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu,
                                              unsigned long long *out);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu,
                                              unsigned long long *out)
{
    (void)gpu;
    return large("reasons", out);
}

int nvmlDeviceGetViolationStatus(void *gpu, int policy,
                                 unsigned long long *out);
int nvmlDeviceGetViolationStatus(void *gpu, int policy,
                                 unsigned long long *out)
{
    (void)gpu;
    out[0] = 1;
    return large(policy == 0   ? "violation_power_ns"
                 : policy == 1 ? "violation_thermal_ns"
                               : "?",
                 &out[1]);
}

struct field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned type;
    int status;
    unsigned long long value;
};

int nvmlDeviceGetFieldValues(void *gpu, int n, struct field *out);
int nvmlDeviceGetFieldValues(void *gpu, int n, struct field *out)
{
    (void)gpu;
    for (int i = 0; i < n; i++) {
        unsigned value = 0;
        out[i].status = out[i].id == 82
                            ? read_integer("memory_temperature", &value)
                            : NOT_SUPPORTED;
        out[i].type = 1;
        memcpy(&out[i].value, &value, sizeof value);
    }
    return DONE;
}

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

/* "processes N": N of them, of which "own" of the last is this process's. */
int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *n,
                                            struct process *out);
int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *n,
                                            struct process *out)
{
    unsigned there = 0, own = 0;
    (void)gpu;
    const int status = read_integer("processes", &there);
    if (status != DONE)
        return status;
    if (there > *n)
        return TOO_SMALL;
    (void)read_integer("own_pid", &own);
    for (unsigned i = 0; i < there; i++)
        out[i] = (struct process){.pid = i + 1 == there && own ? own : 1};
    *n = there;
    return DONE;
}
