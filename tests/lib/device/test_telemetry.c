/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of telemetry with simulated sources: folders of files as kernel
 * drivers provide them and a substitute for a vendor's library; and the
 * conditions that rows derive from readings. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/str.h"
#include "device/device.h"
#include "device/telemetry.h"
#include "sampling/conditions.h"
#include "support/simulated_clock.h"
#include "results/telemetry.h"
#include "targets/targets.h"

#define PCI "0000:03:00.0"
#define GPU "/sys/bus/pci/devices/" PCI "/"

static void assert_near(double got, double want)
{
    const double inexact = 1e-9; /* products and quotients of doubles */
    if (!(fabs(got - want) <= inexact * fabs(want)))
        fail_msg("%.17g is not %.17g", got, want);
}

/* -- files ------------------------------------------------------------------ */

struct file {
    const char *path, *text;
};

static const char *tree;

static void write_file(const char *path, const void *bytes, size_t len)
{
    struct xl__str whole = {0}, folder = {0};
    xl__str_printf(&whole, "%s%s", tree, path);
    const char *slash = strrchr(xl__str_text(&whole), '/');
    xl__str_add_n(&folder, whole.text, (size_t)(slash - whole.text));
    assert_int_equal(xl__dir_create(xl__str_text(&folder), NULL), XL_OK);
    assert_int_equal(xl__file_replace(whole.text, bytes, len), XL_OK);
    xl__str_clear(&whole);
    xl__str_clear(&folder);
}

static void put_all(const struct file *files)
{
    tree = test_scratch("telemetry");
    for (; files->path; files++)
        write_file(files->path, files->text, strlen(files->text));
}

static xl_telemetry *open_at(const struct xl__telemetry_target *at)
{
    xl_telemetry *t;
    assert_int_equal(xl__telemetry_create(xl__targets.telemetry, at, &t), XL_OK);
    assert_non_null(t);
    return t;
}

static const struct xl__telemetry_target *gpu_here(void)
{
    static struct xl__telemetry_target at;
    at = (struct xl__telemetry_target){
        .pci = PCI, .root = tree, .library = "none-of-that-name.so"};
    return &at;
}

static void nobody_knows_anything(void **state)
{
    static const struct file nothing[] = {{NULL, NULL}};
    (void)state;
    put_all(nothing);
    xl_telemetry *t = open_at(gpu_here());
    xl_reading r;
    xl_telemetry_read(t, &r);
    for (unsigned i = 0; i < XL_N_SENSORS; i++) {
        assert_true(isnan(r.value[i]));
        assert_null(r.source[i]);
    }
    assert_false(r.has_throttle);
    xl_telemetry_close(t);
}

static const struct file amd[] = {
    {GPU "gpu_busy_percent", "37\n"},
    {GPU "mem_busy_percent", "5\n"},
    {GPU "mem_info_vram_used", "1073741824\n"},
    {GPU "mem_info_vram_total", "25753026560\n"},
    {GPU "pp_dpm_sclk", "0: 500Mhz\n1: 2304Mhz *\n2: 2482Mhz\n"},
    {GPU "pp_dpm_mclk", "0: 96Mhz\n1: 1249Mhz *\n"},
    {GPU "hwmon/hwmon7/temp1_input", "61000\n"},
    {GPU "hwmon/hwmon7/temp2_input", "78000\n"},
    {GPU "hwmon/hwmon7/temp3_input", "not a number\n"},
    {GPU "hwmon/hwmon7/power1_average", "303000000\n"},
    {GPU "hwmon/hwmon7/power1_cap", "327000000\n"},
    {NULL, NULL}};

static void a_table_of_files_is_read(void **state)
{
    (void)state;
    put_all(amd);
    xl_telemetry *t = open_at(gpu_here());
    xl_reading r;
    xl_telemetry_read(t, &r);
    assert_near(r.value[XL_SENSOR_BUSY], 0.37);
    assert_near(r.value[XL_SENSOR_MEMORY_BUSY], 0.05);
    assert_near(r.value[XL_SENSOR_MEMORY_USED], 1073741824);
    assert_near(r.value[XL_SENSOR_CLOCK], 2304e6);
    assert_near(r.value[XL_SENSOR_CLOCK_MAX], 2482e6);
    assert_near(r.value[XL_SENSOR_MEMORY_CLOCK], 1249e6);
    assert_near(r.value[XL_SENSOR_TEMPERATURE], 61);
    assert_near(r.value[XL_SENSOR_POWER], 303);
    assert_near(r.value[XL_SENSOR_POWER_LIMIT], 327);
    assert_string_equal(r.source[XL_SENSOR_TEMPERATURE],
                        "hwmon/hwmon*/temp1_input");
    assert_true(isnan(r.value[XL_SENSOR_MEMORY_TEMPERATURE]));
    assert_false(r.has_throttle);
    xl_telemetry_close(t);
}

/* A file that is there when a device is opened may be gone at a look. */
static void a_file_that_goes_is_unknown(void **state)
{
    struct xl__str path = {0};
    (void)state;
    put_all(amd);
    xl_telemetry *t = open_at(gpu_here());
    xl_reading r;
    xl__str_printf(&path, "%s" GPU "gpu_busy_percent", tree);
    assert_true(xl__file_remove(xl__str_text(&path)));
    xl_telemetry_read(t, &r);
    assert_true(isnan(r.value[XL_SENSOR_BUSY]));
    assert_near(r.value[XL_SENSOR_MEMORY_BUSY], 0.05);
    xl__str_clear(&path);
    xl_telemetry_close(t);
}

static void a_binary_table_tells_what_holds(void **state)
{
    enum { BYTES = 120, AT = 112 };
    static const struct {
        uint64_t status;
        unsigned bits;
    } cases[] = {{0, 0},
                 {1ull << 0, 1u << XL_THROTTLE_POWER},
                 {1ull << 22, 1u << XL_THROTTLE_CURRENT},
                 {1ull << 36, 1u << XL_THROTTLE_THERMAL},
                 {1ull << 47, 1u << XL_THROTTLE_THERMAL},
                 {1ull << 57, 0}};
    (void)state;
    put_all(amd);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char metrics[BYTES] = {BYTES, 0, 1, 3};
        xl_reading r;
        memcpy(metrics + AT, &cases[i].status, sizeof cases[i].status);
        write_file(GPU "gpu_metrics", metrics, sizeof metrics);
        xl_telemetry *t = open_at(gpu_here());
        xl_telemetry_read(t, &r);
        assert_true(r.has_throttle);
        assert_int_equal(r.throttle, cases[i].bits);
        xl_telemetry_close(t);
        metrics[3] = 4; /* another layout: nothing is known of it */
        write_file(GPU "gpu_metrics", metrics, sizeof metrics);
        t = open_at(gpu_here());
        xl_telemetry_read(t, &r);
        assert_false(r.has_throttle);
        xl_telemetry_close(t);
    }
}

enum { PAUSE_NS = 120000000 };

/* Energy and idleness are counters: two looks make power and load. */
static void counters_become_rates(void **state)
{
    static const struct file before[] = {
        {GPU "drm/card0/gt/gt0/rps_act_freq_mhz", "2100\n"},
        {GPU "drm/card0/gt/gt0/rps_RP0_freq_mhz", "2400\n"},
        {GPU "drm/card0/gt/gt0/rc6_residency_ms", "1000\n"},
        {GPU "drm/card0/gt/gt0/throttle_reason_pl1", "1\n"},
        {GPU "drm/card0/gt/gt0/throttle_reason_thermal", "0\n"},
        {GPU "hwmon/hwmon2/energy1_input", "5000000\n"},
        {NULL, NULL}};
    static const char idle[] = GPU "drm/card0/gt/gt0/rc6_residency_ms";
    static const char energy[] = GPU "hwmon/hwmon2/energy1_input";
    (void)state;
    put_all(before);
    xl_telemetry *t = open_at(gpu_here());
    xl_reading a, b;
    xl_telemetry_read(t, &a);
    assert_near(a.value[XL_SENSOR_CLOCK], 2100e6);
    assert_int_equal(a.throttle, 1u << XL_THROTTLE_POWER);
    assert_true(isnan(a.value[XL_SENSOR_BUSY]));
    assert_true(isnan(a.value[XL_SENSOR_POWER]));
    xl__sleep_ns(PAUSE_NS);
    write_file(idle, "1030\n", 5);
    write_file(energy, "29000000\n", 9);
    xl_telemetry_read(t, &b);
    const double span_s = (double)(b.ns - a.ns) * 1e-9;
    assert_near(b.value[XL_SENSOR_POWER], 24 / span_s);
    assert_near(b.value[XL_SENSOR_BUSY], 1 - 0.03 / span_s);
    assert_true(isnan(b.value[XL_SENSOR_OTHERS]));
    /* Begun anew: no power at all, not a negative one. */
    xl__sleep_ns(PAUSE_NS);
    write_file(energy, "1000000\n", 8);
    xl_telemetry_read(t, &b);
    assert_true(isnan(b.value[XL_SENSOR_POWER]));
    xl_telemetry_close(t);
}

/* Another driver of the same maker has other names for the same things. */
static void another_driver_is_read(void **state)
{
    static const struct file files[] = {
        {GPU "tile0/gt0/freq0/act_freq", "2850\n"},
        {GPU "tile0/gt0/freq0/rp0_freq", "2900\n"},
        {GPU "tile0/gt0/freq0/throttle/reason_thermal", "1\n"},
        {GPU "tile0/gt0/freq0/throttle/reason_pl1", "0\n"},
        {GPU "tile0/gt0/gtidle/idle_residency_ms", "77\n"},
        {GPU "hwmon/hwmon0/temp2_input", "66000\n"},
        {GPU "hwmon/hwmon0/power1_max", "190000000\n"},
        {NULL, NULL}};
    (void)state;
    put_all(files);
    xl_telemetry *t = open_at(gpu_here());
    xl_reading r;
    xl_telemetry_read(t, &r);
    assert_near(r.value[XL_SENSOR_CLOCK], 2850e6);
    assert_near(r.value[XL_SENSOR_CLOCK_MAX], 2900e6);
    assert_near(r.value[XL_SENSOR_TEMPERATURE], 66);
    assert_near(r.value[XL_SENSOR_POWER_LIMIT], 190);
    assert_near(r.idle_ns, 77e6);
    assert_int_equal(r.throttle, 1u << XL_THROTTLE_THERMAL);
    xl_telemetry_close(t);
}

static void the_host_is_read(void **state)
{
    static const struct file before[] = {
        {"/proc/stat", "cpu  100 0 100 1000 0 0 0 0 0 0\n"
                       "cpu0 50 0 50 500 0 0 0 0 0 0\n"
                       "cpu1 50 0 50 500 0 0 0 0 0 0\nintr 5\n"},
        {"/proc/self/stat",
         "42 (a) b (c) S 1 1 1 0 -1 4 0 0 0 0 100 20 0 0 20 0\n"},
        {"/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable:  250 kB\n"},
        {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000\n"},
        {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3100000\n"},
        {"/sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "3500000\n"},
        {"/sys/class/hwmon/hwmon0/name", "nvme\n"},
        {"/sys/class/hwmon/hwmon0/temp1_input", "99000\n"},
        {"/sys/class/hwmon/hwmon1/name", "coretemp\n"},
        {"/sys/class/hwmon/hwmon1/temp1_input", "54000\n"},
        {"/sys/class/powercap/intel-rapl:0/name", "package-0\n"},
        {"/sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n"},
        {"/sys/class/powercap/intel-rapl:0:0/name", "core\n"},
        {"/sys/class/powercap/intel-rapl:0:0/energy_uj", "900000\n"},
        {"/sys/class/powercap/intel-rapl:1/name", "package-1\n"},
        {"/sys/class/powercap/intel-rapl:1/energy_uj", "2000000\n"},
        {"/sys/devices/system/cpu/cpu0/thermal_throttle/"
         "package_throttle_total_time_ms", "7\n"},
        {NULL, NULL}};
    static const char later[] = "cpu  115 0 103 1006 0 0 0 0 0 0\n"
                                "cpu0 1 0 1 1 0\ncpu1 1 0 1 1 0\n";
    static const char own[] =
        "42 (a) b (c) S 1 1 1 0 -1 4 0 0 0 0 105 21 0 0 20 0\n";
    (void)state;
    put_all(before);
    const struct xl__telemetry_target at = {.is_host = true, .root = tree};
    xl_telemetry *t = open_at(&at);
    xl_reading a, b;
    xl_telemetry_read(t, &a);
    assert_near(a.value[XL_SENSOR_MEMORY_USED], 750 * 1024);
    assert_near(a.value[XL_SENSOR_CLOCK], 3100e6);
    assert_near(a.value[XL_SENSOR_CLOCK_MAX], 3500e6);
    assert_near(a.value[XL_SENSOR_TEMPERATURE], 54);
    assert_near(a.value[XL_SENSOR_ENERGY], 3);
    assert_near(a.throttle_ns[XL_THROTTLE_THERMAL], 7e6);
    assert_true(a.has_throttle);
    assert_near(a.units, 2);
    xl__sleep_ns(PAUSE_NS);
    write_file("/proc/stat", later, sizeof later - 1);
    write_file("/proc/self/stat", own, sizeof own - 1);
    xl_telemetry_read(t, &b);
    const double all_s = 2 * (double)(b.ns - a.ns) * 1e-9;
    assert_near(b.value[XL_SENSOR_BUSY], 1 - 0.06 / all_s);
    assert_near(b.value[XL_SENSOR_OTHERS], 1 - 0.12 / all_s);
    assert_string_equal(b.source[XL_SENSOR_BUSY], "/proc/stat");
    xl_telemetry_close(t);
}

/* Bytes that no kernel writes: nothing is known, and nothing breaks. */
static void rubbish_is_unknown(void **state)
{
    static const struct file files[] = {
        {"/proc/stat", ""},          {"/proc/self/stat", "1 (x"},
        {"/proc/meminfo", "Mem"},    {"/proc/cpuinfo", "\ncpu MHz"},
        {GPU "pp_dpm_sclk", ":*\n*:\n\n0 500Mhz *"},
        {GPU "gpu_busy_percent", "-3"}, {GPU "gpu_metrics", "\1"},
        {NULL, NULL}};
    (void)state;
    put_all(files);
    for (int is_host = 0; is_host < 2; is_host++) {
        struct xl__telemetry_target at = *gpu_here();
        at.is_host = is_host != 0;
        at.pci = is_host ? NULL : PCI;
        xl_telemetry *t = open_at(&at);
        xl_reading r;
        xl_telemetry_read(t, &r);
        for (unsigned i = 0; i < XL_N_SENSORS; i++)
            assert_true(isnan(r.value[i]));
        assert_true(isnan(r.idle_ns) && isnan(r.own_ns));
        xl_telemetry_close(t);
    }
}

/* -- the vendor's library --------------------------------------------------- */

static const struct xl__telemetry_target h200 = {.pci = "0000:00:06.0",
                                                 .root = "/nowhere",
                                                 .library =
                                                     XL_FAKE_NVML_LIBRARY};

static void library_says(const char *text)
{
    tree = test_scratch("nvml");
    write_file("/answers", text, strlen(text));
    struct xl__str path = {0};
    xl__str_printf(&path, "%s/answers", tree);
    test_setenv("XL_FAKE_NVML", xl__str_text(&path));
    xl__str_clear(&path);
}

static const char full_load[] =
    "clock_sm 1410\nmax_clock_sm 1980\nclock_mem 3201\nmax_clock_mem 3201\n"
    "temperature 61\nmemory_temperature 70\npower_mw 698500\n"
    "power_limit_mw 700000\nenergy_mj 123456\nbusy 100\nmemory_busy 45\n"
    "memory_total 150754820096\nmemory_used 13207024435\nreasons 4\n"
    "violation_power_ns 5000000\nviolation_thermal_ns 0\n";

static void the_library_is_asked(void **state)
{
    (void)state;
    library_says(full_load);
    xl_telemetry *t = open_at(&h200);
    xl_reading r;
    xl_telemetry_read(t, &r);
    assert_near(r.value[XL_SENSOR_CLOCK], 1410e6);
    assert_near(r.value[XL_SENSOR_CLOCK_MAX], 1980e6);
    assert_near(r.value[XL_SENSOR_MEMORY_CLOCK], 3201e6);
    assert_near(r.value[XL_SENSOR_TEMPERATURE], 61);
    assert_near(r.value[XL_SENSOR_MEMORY_TEMPERATURE], 70);
    assert_near(r.value[XL_SENSOR_POWER], 698.5);
    assert_near(r.value[XL_SENSOR_POWER_LIMIT], 700);
    assert_near(r.value[XL_SENSOR_ENERGY], 123.456);
    assert_near(r.value[XL_SENSOR_BUSY], 1);
    assert_near(r.value[XL_SENSOR_MEMORY_BUSY], 0.45);
    assert_near(r.value[XL_SENSOR_MEMORY_USED], 13207024435);
    assert_true(isnan(r.value[XL_SENSOR_PROCESSES]));
    assert_int_equal(r.throttle, 1u << XL_THROTTLE_POWER);
    assert_string_equal(r.throttle_source,
                        "nvmlDeviceGetCurrentClocksThrottleReasons");
    assert_near(r.throttle_ns[XL_THROTTLE_POWER], 5e6);
    assert_true(isnan(r.throttle_ns[XL_THROTTLE_SYNC]));
    xl_telemetry_close(t);
}

static void each_reason_has_its_name(void **state)
{
    static const xl_throttle want[] = {
        XL_THROTTLE_IDLE, XL_THROTTLE_SETTING, XL_THROTTLE_POWER,
        XL_THROTTLE_HARDWARE, XL_THROTTLE_SYNC, XL_THROTTLE_THERMAL,
        XL_THROTTLE_THERMAL, XL_THROTTLE_POWER_BRAKE, XL_THROTTLE_SETTING};
    (void)state;
    for (unsigned i = 0; i < sizeof want / sizeof *want; i++) {
        char text[32];
        snprintf(text, sizeof text, "reasons %u\n", 1u << i);
        library_says(text);
        xl_telemetry *t = open_at(&h200);
        xl_reading r;
        xl_telemetry_read(t, &r);
        assert_int_equal(r.throttle, 1u << want[i]);
        xl_telemetry_close(t);
    }
}

/* Others are counted where our own number is among them. */
static void other_processes_are_counted(void **state)
{
    static const struct {
        unsigned n;
        bool own;
        double others;
    } cases[] = {{3, true, 2}, {1, true, 0}, {2, false, NAN}, {0, false, NAN}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        snprintf(text, sizeof text, "processes %u\nown_pid %u\n", cases[i].n,
                 cases[i].own ? (unsigned)getpid() : 0);
        library_says(text);
        xl_telemetry *t = open_at(&h200);
        xl_reading r;
        xl_telemetry_read(t, &r);
        if (isnan(cases[i].others))
            assert_true(isnan(r.value[XL_SENSOR_PROCESSES]));
        else
            assert_true(r.value[XL_SENSOR_PROCESSES] == cases[i].others);
        xl_telemetry_close(t);
    }
}

static double clock_at(const struct xl__telemetry_target *at)
{
    xl_telemetry *t = open_at(at);
    xl_reading r;
    xl_telemetry_read(t, &r);
    xl_telemetry_close(t);
    return r.value[XL_SENSOR_CLOCK];
}

static void devices_are_found_by_what_they_are(void **state)
{
    struct xl__telemetry_target at = h200;
    (void)state;
    library_says(full_load);
    at.pci = "0000:09:00.0"; /* another device */
    assert_true(isnan(clock_at(&at)));
    at.pci = NULL;
    assert_true(isnan(clock_at(&at)));
    at.uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
    assert_near(clock_at(&at), 1410e6);
    at.is_host = true; /* a CPU is none of the library's */
    assert_true(isnan(clock_at(&at)));
}

static void every_opening_is_closed(void **state)
{
    (void)state;
    void *library = xl__dlopen(XL_FAKE_NVML_LIBRARY);
    int (*n_open)(void);
    void *symbol = xl__dlsym(library, "fake_nvml_open");
    memcpy(&n_open, &symbol, sizeof n_open);
    library_says(full_load);
    xl_telemetry *a = open_at(&h200), *b = open_at(&h200);
    assert_int_equal(n_open(), 2);
    xl_telemetry_close(a);
    xl_telemetry_close(b);
    assert_int_equal(n_open(), 0);
    library_says("init_fails 1\n");
    assert_true(isnan(clock_at(&h200)));
    assert_int_equal(n_open(), 0);
    struct xl__telemetry_target stranger = h200;
    stranger.pci = "0000:09:00.0";
    library_says(full_load);
    (void)clock_at(&stranger);
    assert_int_equal(n_open(), 0);
    xl__dlclose(library);
}

/* -- what rows make of it --------------------------------------------------- */

static xl_reading at_clock(double mhz, unsigned throttle)
{
    xl_reading r;
    xl__reading_init(&r);
    r.value[XL_SENSOR_CLOCK] = mhz * 1e6;
    r.value[XL_SENSOR_CLOCK_MAX] = 1980e6;
    r.has_throttle = true;
    r.throttle = throttle;
    return r;
}

/* The end of a row that was looked at `n` times, ever a second apart. */
static xl_conditions seen(const xl_reading *list, unsigned n)
{
    static const xl_sampling how;
    struct xl__monitor w = {.how = &how};
    xl_conditions out;
    xl__conditions_init(&w.seen);
    for (unsigned i = 0; i < n; i++) {
        xl_reading r = list[i];
        r.ns = (i + 1) * 1000000000ull;
        if (i == 0)
            w.first = r;
        xl__monitor_add(&w, &r);
    }
    xl__monitor_end(&w, &out);
    return out;
}

static xl_row judged(const xl_conditions *c, unsigned warnings)
{
    xl_row row;
    xl_row_init(&row, "gemm", "");
    row.samples.runs = 10;
    row.samples.batch = 1;
    row.samples.median_ns = 1e6;
    row.samples.mad_ns = 1;
    row.samples.overhead_ns = 0;
    row.samples.warnings = warnings;
    row.samples.conditions = *c;
    row.value = 1;
    xl_row_judge(&row, NULL);
    return row;
}

#define BIT(id) (1u << XL_THROTTLE_##id)

static void heat_is_a_verdict(void **state)
{
    const xl_reading list[] = {at_clock(1980, 0), at_clock(1200, BIT(THERMAL)),
                               at_clock(1350, BIT(THERMAL))};
    (void)state;
    const xl_conditions c = seen(list, 3);
    const xl_row row = judged(&c, XL_WARN(CLOCK_DRIFT));
    assert_int_equal(row.verdict, XL_ROW_SUSPICIOUS);
    assert_string_equal(row.reason,
                        "clock fell from 1980 to 1200 MHz: thermal limit");
    assert_near(c.throttle[XL_THROTTLE_THERMAL], 2.0 / 3);
}

static void alarms_are_told_apart(void **state)
{
    static const struct {
        unsigned bits;
        const char *reason;
    } cases[] = {
        {BIT(HARDWARE), "clock at 990 of 1980 MHz: hardware slowdown"},
        {BIT(POWER_BRAKE), "clock at 990 of 1980 MHz: power brake"},
        {BIT(THERMAL) | BIT(POWER),
         "clock at 990 of 1980 MHz: thermal limit, power limit"},
        {BIT(POWER), ""},
        {BIT(SETTING), ""},
        {BIT(IDLE), ""},
        {0, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const xl_reading r = at_clock(990, cases[i].bits);
        const xl_reading twice[] = {r, r};
        const xl_conditions c = seen(twice, 2);
        const xl_row row = judged(&c, 0);
        assert_string_equal(row.reason, cases[i].reason);
        assert_int_equal(row.verdict, *cases[i].reason ? XL_ROW_SUSPICIOUS
                                                       : XL_ROW_OK);
    }
}

/* Once: clocks were just changing. */
static void a_slowdown_of_no_cause_is_seen_twice(void **state)
{
    const xl_reading list[] = {at_clock(1980, 0), at_clock(990, BIT(HARDWARE)),
                               at_clock(990, BIT(HARDWARE))};
    (void)state;
    xl_conditions c = seen(list, 2);
    assert_int_equal(judged(&c, 0).verdict, XL_ROW_OK);
    c = seen(list + 1, 1);
    assert_int_equal(judged(&c, 0).verdict, XL_ROW_OK);
    c = seen(list, 3);
    assert_int_equal(judged(&c, 0).verdict, XL_ROW_SUSPICIOUS);
}

/* A power limit is how full load looks: said, and no alarm, also where the
 * clock drifts on its way there. Without one a drift stays suspicious. */
static void a_power_limit_is_no_alarm(void **state)
{
    const xl_reading list[] = {at_clock(1980, 0), at_clock(1410, BIT(POWER))};
    (void)state;
    xl_conditions c = seen(list, 2);
    xl_row row = judged(&c, XL_WARN(CLOCK_DRIFT));
    assert_int_equal(row.verdict, XL_ROW_OK);
    assert_true(row.warnings & XL_WARN(POWER_LIMIT));
    const xl_reading free_list[] = {at_clock(1980, 0), at_clock(1410, 0)};
    c = seen(free_list, 2);
    row = judged(&c, XL_WARN(CLOCK_DRIFT));
    assert_int_equal(row.verdict, XL_ROW_SUSPICIOUS);
    assert_string_equal(row.reason, "clock fell from 1980 to 1410 MHz");
    assert_false(row.warnings & XL_WARN(POWER_LIMIT));
}

/* A bit that is up while the clock is where it should be holds nothing. */
static void a_high_clock_is_not_held(void **state)
{
    const xl_reading r = at_clock(1965, BIT(HARDWARE) | BIT(POWER));
    (void)state;
    const xl_conditions c = seen(&r, 1);
    const xl_row row = judged(&c, 0);
    assert_int_equal(row.verdict, XL_ROW_OK);
    assert_int_equal(row.warnings, 0);
}

/* A clock that rests is not the one that a row ran at. */
static void a_resting_clock_is_no_ones(void **state)
{
    const xl_reading list[] = {at_clock(345, BIT(IDLE)), at_clock(1980, 0),
                               at_clock(1965, 0), at_clock(345, BIT(IDLE))};
    (void)state;
    xl_conditions c = seen(list, 4);
    assert_near(c.clock_first_hz, 1980e6);
    assert_near(c.clock_lo_hz, 1965e6);
    assert_near(c.clock_hi_hz, 1980e6);
    c = seen(list, 1);
    assert_true(isnan(c.clock_lo_hz));
    assert_int_equal(judged(&c, 0).verdict, XL_ROW_OK);
}

/* Looks miss what lies between them; what the device counts does not. */
static void counters_see_between_looks(void **state)
{
    xl_reading list[] = {at_clock(1400, 0), at_clock(1400, 0)};
    (void)state;
    list[0].throttle_ns[XL_THROTTLE_THERMAL] = 1e9;
    list[1].throttle_ns[XL_THROTTLE_THERMAL] = 1.25e9;
    list[0].value[XL_SENSOR_ENERGY] = 100;
    list[1].value[XL_SENSOR_ENERGY] = 750;
    list[0].idle_ns = list[0].own_ns = 0;
    list[1].idle_ns = 0.5e9;
    list[1].own_ns = 1e9;
    list[0].units = list[1].units = 2;
    const xl_conditions c = seen(list, 2);
    assert_near(c.throttle[XL_THROTTLE_THERMAL], 0.25);
    assert_near(c.power_w, 650);
    assert_near(c.energy_j, 650);
    assert_near(c.others, 0.25);
    const xl_row row = judged(&c, 0);
    assert_string_equal(row.reason,
                        "clock at 1400 of 1980 MHz: thermal limit");
    assert_true(row.warnings & XL_WARN(SHARED));
}

static void an_unknown_clock_can_be_held(void **state)
{
    xl_reading r = at_clock(NAN, BIT(THERMAL));
    (void)state;
    r.value[XL_SENSOR_CLOCK_MAX] = NAN;
    const xl_conditions c = seen(&r, 1);
    const xl_row row = judged(&c, 0);
    assert_int_equal(row.verdict, XL_ROW_SUSPICIOUS);
    assert_string_equal(row.reason, "clock held down: thermal limit");
}

/* Conditions that were not sampled are no reason. */
static void no_look_is_no_verdict(void **state)
{
    xl_conditions c = {0};
    (void)state;
    xl_row row = judged(&c, 0);
    assert_int_equal(row.verdict, XL_ROW_OK);
    xl__conditions_init(&c);
    row = judged(&c, 0);
    assert_int_equal(row.verdict, XL_ROW_OK);
    assert_int_equal(row.warnings, 0);
}

/* Writes a row with the conditions to JSON and reads it. */
static void conditions_in_a_file(const xl_conditions *c, xl_conditions *back)
{
    xl_row row;
    json_t *json = json_object();
    xl_row_init(&row, "gemm", "");
    row.samples.conditions = *c;
    fields_write(row_fields, &row, json);
    assert_true(json_is_object(json_object_get(json, "conditions")) ==
                (c->readings > 0));
    xl_row_init(&row, "", "");
    fields_read(row_fields, json, &row);
    *back = row.samples.conditions;
    json_decref(json);
}

/* What a file has of a row is what the row had. */
static void conditions_come_back_from_files(void **state)
{
    const xl_reading list[] = {at_clock(1980, 0),
                               at_clock(1410, BIT(POWER) | BIT(SYNC))};
    (void)state;
    xl_conditions c = seen(list, 2), back;
    c.temperature_c = 71.5;
    c.processes = 0;
    conditions_in_a_file(&c, &back);
    assert_int_equal(back.readings, 2);
    assert_true(back.clock_first_hz == 1980e6 && back.clock_lo_hz == 1410e6);
    assert_true(back.span_ns == c.span_ns && back.temperature_c == 71.5);
    assert_true(back.processes == 0 && isnan(back.power_w));
    assert_true(isnan(back.energy_j)); /* no counter */
    assert_true(back.has_throttle);
    for (unsigned i = 0; i < XL_N_THROTTLES; i++)
        assert_true(back.throttle[i] == c.throttle[i]);
    c.readings = 0;
    conditions_in_a_file(&c, &back);
    assert_int_equal(back.readings, 0);
    assert_true(isnan(back.clock_lo_hz) && !back.has_throttle);
}

static void tables_say_how_devices_were(void **state)
{
    static const struct {
        double lo, hi, c, w, limit;
        const char *text;
    } cases[] = {
        {1410, 1980, 71, 690.4, 700,
         "1410 to 1980 MHz, up to 71 C, 690 of 700 W"},
        {1980, 1980, 40, NAN, 700, "1980 MHz, up to 40 C"},
        {NAN, NAN, NAN, 15, NAN, "15 W"},
        {2300, 2300, NAN, NAN, NAN, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct measured_row kept[2] = {{.dev = &kept[0]}, {.dev = &kept[1]}};
        const struct result_table rows = {.list = kept, .n = 2};
        xl_conditions *c = &kept[0].row.samples.conditions;
        struct xl__str text = {0};
        c->readings = 1;
        c->clock_lo_hz = cases[i].lo * 1e6;
        c->clock_hi_hz = cases[i].hi * 1e6;
        c->temperature_c = cases[i].c;
        c->power_w = cases[i].w;
        c->power_limit_w = cases[i].limit;
        telemetry_conditions_text(&rows, &kept[0], &text);
        assert_string_equal(xl__str_text(&text), cases[i].text);
        xl__str_reset(&text);
        telemetry_conditions_text(&rows, &kept[1], &text); /* no sample of it */
        assert_string_equal(xl__str_text(&text), "");
        xl__str_clear(&text);
    }
}

/* What a rate explains needs no other cause; what none does, the clock is to
 * blame for. */
static void a_low_clock_is_diagnosed(void **state)
{
    const xl_reading r = at_clock(1320, BIT(POWER));
    xl_samples samples = {.runs = 10, .median_ns = 1e6};
    struct test_device d;
    xl_diagnosis diagnosis;
    (void)state;
    test_device_open(&d, NULL);
    samples.conditions = seen(&r, 1);
    xl_counts work = {.footprint_bytes = 1};
    xl_counts_set_times(&work, &samples);
    assert_near(work.clock, 1320.0 / 1980);
    assert_string_equal(work.held_by,
                        "clock at 1320 of 1980 MHz: power limit");
    xl_diagnose(d.device, &work, &diagnosis);
    assert_int_equal(diagnosis.limiter, XL_LIMITER_THROTTLE);
    assert_near(diagnosis.share, 1.0 / 3);
    assert_near(diagnosis.need_ns[XL_LIMITER_THROTTLE], 1e6 / 3);
    assert_non_null(strstr(diagnosis.evidence, "of 1980 MHz: power limit; "));
    const xl_reading calm = at_clock(1980, BIT(POWER));
    samples.conditions = seen(&calm, 1);
    xl_counts_set_times(&work, &samples);
    assert_near(work.clock, 0);
    assert_string_equal(work.held_by, "");
    test_device_close(&d);
}

/* -- on a device ------------------------------------------------------------ */

static bool never(void *asked)
{
    ++*(unsigned *)asked;
    return false;
}

/* Looks come when they are due, not at every sample, and the caller's own
 * question is asked all the same. */
static void looks_are_rare(void **state)
{
    enum { ASKED = 1000, MOST_LOOKS = 4 };
    struct test_device d;
    struct xl__monitor w;
    unsigned asked = 0;
    const xl_sampling how = {XL_SAMPLING_INIT, .stop = never,
                             .stop_arg = &asked};
    (void)state;
    test_device_open(&d, NULL);
    xl_telemetry_watch(d.device, true);
    xl__monitor_begin(&w, d.device, &how);
    for (unsigned i = 0; i < ASKED; i++)
        assert_false(xl__monitor_poll(&w));
    assert_int_equal(asked, ASKED);
    assert_true(w.seen.readings <= MOST_LOOKS);
    xl__sleep_ns(PAUSE_NS);
    const unsigned before = w.seen.readings;
    (void)xl__monitor_poll(&w);
    assert_true(w.seen.readings == before + 1);
    xl_conditions c;
    xl__monitor_end(&w, &c);
    assert_true(c.span_ns >= PAUSE_NS);
    test_device_close(&d);
}

static xl_status fill(xl_queue *q, void *mem)
{
    enum { WORDS = 4 };
    return xl_buffer_fill(q, mem, 0, 1, WORDS);
}

static double a_millisecond(void *arg, const struct xl_launch *launch)
{
    (void)arg;
    (void)launch;
    return 1e6;
}

/* The whole way: from what the library says to the verdict of a row that was
 * timed. */
static void a_hot_device_gives_a_suspicious_row(void **state)
{
    enum { BYTES = 4096 };
    const xl_sampling how = {XL_SAMPLING_INIT, .min_runs = 3, .max_runs = 3,
                             .max_noise = 1};
    const struct xl_model model = {.takes = a_millisecond,
                                   .clock = &simulated_clock};
    struct test_device d;
    cl_mem mem;
    xl_row row;
    (void)state;
    test_stub()->model(&model);
    library_says("clock_sm 1200\nmax_clock_sm 1980\nreasons 64\n");
    test_device_open(&d, NULL);
    d.device->telemetry = open_at(&h200);
    xl_telemetry_watch(d.device, true);
    assert_status(xl_buffer_create(d.queue, BYTES, &mem), XL_OK, "");
    xl_row_init(&row, "fill", "");
    assert_status(xl_samples_take(d.queue, &how, fill, mem, &row.samples),
                  XL_OK, "");
    clReleaseMemObject(mem);
    row.value = 1;
    xl_row_judge(&row, NULL);
    assert_string_equal(row.reason,
                        "clock at 1200 of 1980 MHz: thermal limit");
    assert_int_equal(row.verdict, XL_ROW_SUSPICIOUS);
    test_device_close(&d);
    test_stub()->model(NULL);
}

static void nobody_looks_unasked(void **state)
{
    struct test_device d;
    struct xl__monitor w;
    const xl_sampling how = {XL_SAMPLING_INIT, .min_runs = 1};
    xl_conditions c;
    (void)state;
    test_device_open(&d, NULL);
    xl__monitor_begin(&w, d.device, &how);
    assert_false(xl__monitor_poll(&w));
    xl__monitor_end(&w, &c);
    assert_int_equal(c.readings, 0);
    test_device_close(&d);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_knows_anything),
        cmocka_unit_test(a_table_of_files_is_read),
        cmocka_unit_test(a_file_that_goes_is_unknown),
        cmocka_unit_test(a_binary_table_tells_what_holds),
        cmocka_unit_test(counters_become_rates),
        cmocka_unit_test(another_driver_is_read),
        cmocka_unit_test(the_host_is_read),
        cmocka_unit_test(rubbish_is_unknown),
        cmocka_unit_test(the_library_is_asked),
        cmocka_unit_test(each_reason_has_its_name),
        cmocka_unit_test(other_processes_are_counted),
        cmocka_unit_test(devices_are_found_by_what_they_are),
        cmocka_unit_test(every_opening_is_closed),
        cmocka_unit_test(heat_is_a_verdict),
        cmocka_unit_test(alarms_are_told_apart),
        cmocka_unit_test(a_slowdown_of_no_cause_is_seen_twice),
        cmocka_unit_test(a_power_limit_is_no_alarm),
        cmocka_unit_test(a_high_clock_is_not_held),
        cmocka_unit_test(a_resting_clock_is_no_ones),
        cmocka_unit_test(counters_see_between_looks),
        cmocka_unit_test(an_unknown_clock_can_be_held),
        cmocka_unit_test(no_look_is_no_verdict),
        cmocka_unit_test(conditions_come_back_from_files),
        cmocka_unit_test(tables_say_how_devices_were),
        cmocka_unit_test(a_low_clock_is_diagnosed),
        cmocka_unit_test(looks_are_rare),
        cmocka_unit_test(a_hot_device_gives_a_suspicious_row),
        cmocka_unit_test(nobody_looks_unasked),
    };
    test_args(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
