/* SPDX-License-Identifier: Apache-2.0 */
/* Readings from NVML, the library that NVIDIA's driver installs. It is loaded
 * when a device is opened, and is optional. The declarations in use are
 * repeated here; each function is optional, since old drivers lack some and
 * new ones refuse others. Source: NVML API reference; values by nvml.h of
 * driver 535. */
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/alloc.h"
#include "base/str.h"
#include "targets/targets.h"

#ifdef _WIN32
#include <process.h>
#define own_pid _getpid
static const char usual_library[] = "nvml.dll";
#else
#include <unistd.h>
#define own_pid getpid
static const char usual_library[] = "libnvidia-ml.so.1";
#endif

typedef void *gpu; /* an opaque handle */
enum { DONE = 0, NO_ARGUMENT = -1 };

struct utilization {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct violation {
    unsigned long long reference_us, violation_ns;
};
struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned type;
    int status;
    union {
        double d;
        unsigned u;
        unsigned long long ull;
    } value;
};

enum {
    CLOCK_SM = 1,
    CLOCK_MEMORY = 2,
    SENSOR_CHIP = 0,
    FIELD_MEMORY_TEMP = 82,
    FIELD_IS_UNSIGNED = 1
};

/* One number each: of shape (gpu, unsigned *), or with an argument between. */
static const struct {
    xl_sensor sensor;
    const char *call;
    int argument;
    double scale;
} numbers[] = {
    {XL_SENSOR_CLOCK, "nvmlDeviceGetClockInfo", CLOCK_SM, 1e6},
    {XL_SENSOR_MEMORY_CLOCK, "nvmlDeviceGetClockInfo", CLOCK_MEMORY, 1e6},
    {XL_SENSOR_CLOCK_MAX, "nvmlDeviceGetMaxClockInfo", CLOCK_SM, 1e6},
    {XL_SENSOR_MEMORY_CLOCK_MAX, "nvmlDeviceGetMaxClockInfo", CLOCK_MEMORY,
     1e6},
    {XL_SENSOR_TEMPERATURE, "nvmlDeviceGetTemperature", SENSOR_CHIP, 1},
    {XL_SENSOR_POWER, "nvmlDeviceGetPowerUsage", NO_ARGUMENT, 1e-3},
    {XL_SENSOR_POWER_LIMIT, "nvmlDeviceGetEnforcedPowerLimit", NO_ARGUMENT,
     1e-3},
};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

/* Bits of the clocks' event reasons. */
static const struct {
    unsigned long long bit;
    xl_throttle throttle;
} reasons[] = {
    {0x001, XL_THROTTLE_IDLE},    {0x002, XL_THROTTLE_SETTING},
    {0x004, XL_THROTTLE_POWER},   {0x008, XL_THROTTLE_HARDWARE},
    {0x010, XL_THROTTLE_SYNC},    {0x020, XL_THROTTLE_THERMAL},
    {0x040, XL_THROTTLE_THERMAL}, {0x080, XL_THROTTLE_POWER_BRAKE},
    {0x100, XL_THROTTLE_SETTING},
};

/* Times that clocks were held down, by policy. */
static const struct {
    int policy;
    xl_throttle throttle;
} policies[] = {
    {0, XL_THROTTLE_POWER}, {1, XL_THROTTLE_THERMAL}, {2, XL_THROTTLE_SYNC}};

struct nvml {
    void *library;
    gpu gpu;
    int (*shutdown)(void);
    union {
        int (*plain)(gpu, unsigned *);
        int (*asked)(gpu, int, unsigned *);
    } number[N_NUMBERS];
    int (*utilization)(gpu, struct utilization *);
    int (*memory)(gpu, struct memory *);
    int (*energy)(gpu, unsigned long long *);
    int (*reasons)(gpu, unsigned long long *);
    const char *reasons_call;
    int (*violation)(gpu, int, struct violation *);
    int (*fields)(gpu, int, struct field *);
    int (*processes)(gpu, unsigned *, struct process *);
};

/* -- opening -------------------------------------------------------------- */

/* A pointer to a function is not a pointer to an object in C: the address is
 * copied as bytes. */
static void load_function(void *library, const char *name, void *function,
                          size_t n)
{
    void *symbol = xl__dlsym(library, name);
    memcpy(function, &symbol, n);
}

#define FIND(n, member, name)                                                 \
    load_function((n)->library, name, &(n)->member, sizeof(n)->member)

static void load_functions(struct nvml *n)
{
    for (unsigned i = 0; i < N_NUMBERS; i++)
        FIND(n, number[i], numbers[i].call);
    FIND(n, utilization, "nvmlDeviceGetUtilizationRates");
    FIND(n, memory, "nvmlDeviceGetMemoryInfo");
    FIND(n, energy, "nvmlDeviceGetTotalEnergyConsumption");
    n->reasons_call = "nvmlDeviceGetCurrentClocksEventReasons";
    FIND(n, reasons, n->reasons_call);
    if (!n->reasons) { /* the name up to driver 530 */
        n->reasons_call = "nvmlDeviceGetCurrentClocksThrottleReasons";
        FIND(n, reasons, n->reasons_call);
    }
    FIND(n, violation, "nvmlDeviceGetViolationStatus");
    FIND(n, fields, "nvmlDeviceGetFieldValues");
    FIND(n, processes, "nvmlDeviceGetComputeRunningProcesses_v3");
}

/* By the PCI address, or by the UUID where the driver returns none. */
static bool find_gpu(struct nvml *n, const struct xl__telemetry_target *at)
{
    int (*by_pci)(const char *, gpu *), (*by_uuid)(const char *, gpu *);
    char uuid[64];
    load_function(n->library, "nvmlDeviceGetHandleByPciBusId_v2", &by_pci,
                  sizeof by_pci);
    load_function(n->library, "nvmlDeviceGetHandleByUUID", &by_uuid,
                  sizeof by_uuid);
    if (at->pci && by_pci && by_pci(at->pci, &n->gpu) == DONE)
        return true;
    if (!at->uuid || !*at->uuid || !by_uuid)
        return false;
    xl__strfmt(uuid, sizeof uuid, "GPU-%s", at->uuid);
    return by_uuid(uuid, &n->gpu) == DONE;
}

static void close_nvml(void *kept)
{
    struct nvml *n = kept;
    if (n->shutdown)
        (void)n->shutdown();
    if (n->library)
        xl__dlclose(n->library);
    free(n);
}

static void *open_nvml(const struct xl__telemetry_source *me,
                       const struct xl__telemetry_target *at)
{
    int (*init)(void);
    struct nvml *n;
    (void)me;
    if (at->is_host || !(n = xl__calloc(1, sizeof *n)))
        return NULL;
    n->library = xl__dlopen(at->library ? at->library : usual_library);
    if (!n->library) {
        close_nvml(n);
        return NULL;
    }
    load_function(n->library, "nvmlInit_v2", &init, sizeof init);
    if (init && init() == DONE)
        FIND(n, shutdown, "nvmlShutdown");
    if (!n->shutdown || !find_gpu(n, at)) {
        close_nvml(n);
        return NULL;
    }
    load_functions(n);
    return n;
}

/* -- reading -------------------------------------------------------------- */

static void read_numbers(const struct nvml *n, xl_reading *out)
{
    for (unsigned i = 0; i < N_NUMBERS; i++) {
        const bool is_plain = numbers[i].argument == NO_ARGUMENT;
        unsigned value;
        if (!n->number[i].plain)
            continue;
        const int status =
            is_plain ? n->number[i].plain(n->gpu, &value)
                     : n->number[i].asked(n->gpu, numbers[i].argument, &value);
        if (status == DONE)
            xl__reading_set(out, numbers[i].sensor, value * numbers[i].scale,
                             numbers[i].call);
    }
}

static void read_load(const struct nvml *n, xl_reading *out)
{
    static const double percent = 0.01, milli = 1e-3;
    static const char load_call[] = "nvmlDeviceGetUtilizationRates",
                      memory_call[] = "nvmlDeviceGetMemoryInfo";
    struct utilization load;
    struct memory memory;
    unsigned long long energy_mj;
    if (n->utilization && n->utilization(n->gpu, &load) == DONE) {
        xl__reading_set(out, XL_SENSOR_BUSY, load.gpu * percent, load_call);
        xl__reading_set(out, XL_SENSOR_MEMORY_BUSY, load.memory * percent,
                         load_call);
    }
    if (n->memory && n->memory(n->gpu, &memory) == DONE) {
        xl__reading_set(out, XL_SENSOR_MEMORY_USED, (double)memory.used,
                         memory_call);
        xl__reading_set(out, XL_SENSOR_MEMORY_TOTAL, (double)memory.total,
                         memory_call);
    }
    if (n->energy && n->energy(n->gpu, &energy_mj) == DONE)
        xl__reading_set(out, XL_SENSOR_ENERGY, (double)energy_mj * milli,
                         "nvmlDeviceGetTotalEnergyConsumption");
}

static void read_memory_temperature(const struct nvml *n, xl_reading *out)
{
    struct field f = {.id = FIELD_MEMORY_TEMP};
    if (n->fields && n->fields(n->gpu, 1, &f) == DONE && f.status == DONE &&
        f.type == FIELD_IS_UNSIGNED && f.value.u > 0)
        xl__reading_set(out, XL_SENSOR_MEMORY_TEMPERATURE, f.value.u,
                         "nvmlDeviceGetFieldValues");
}

static void read_throttles(const struct nvml *n, xl_reading *out)
{
    unsigned long long bits;
    struct violation v;
    if (n->reasons && n->reasons(n->gpu, &bits) == DONE) {
        out->has_throttle = true;
        out->throttle_source = n->reasons_call;
        for (unsigned i = 0; i < sizeof reasons / sizeof *reasons; i++)
            if (bits & reasons[i].bit)
                out->throttle |= 1u << reasons[i].throttle;
    }
    for (unsigned i = 0; i < sizeof policies / sizeof *policies; i++)
        if (n->violation &&
            n->violation(n->gpu, policies[i].policy, &v) == DONE)
            out->throttle_ns[policies[i].throttle] = (double)v.violation_ns;
}

/* Other processes. In a container the ids are those of another system, or the
 * list is empty: then nothing is known. */
static void read_processes(const struct nvml *n, xl_reading *out)
{
    enum { MOST = 128 };
    struct process list[MOST];
    unsigned count = MOST, others = 0;
    if (!n->processes || n->processes(n->gpu, &count, list) != DONE)
        return;
    count = count < MOST ? count : MOST;
    for (unsigned i = 0; i < count; i++)
        others += list[i].pid != (unsigned)own_pid();
    if (count > others)
        xl__reading_set(out, XL_SENSOR_PROCESSES, others,
                         "nvmlDeviceGetComputeRunningProcesses");
}

static void read_nvml(void *kept, xl_reading *out)
{
    const struct nvml *n = kept;
    read_numbers(n, out);
    read_load(n, out);
    read_memory_temperature(n, out);
    read_throttles(n, out);
    read_processes(n, out);
}

const struct xl__telemetry_source xl__nvidia_telemetry = {
    "NVML", NULL, open_nvml, read_nvml, close_nvml};
