/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that one standard query does not give: platform, OpenCL C version,
 * UUID, PCI address, architecture, sub-group width, features. Identification
 * prefers numeric ids to names. A vendor's query is made only where the device
 * reports its extension, and its result is used only when size and range are
 * valid (GE-02). */
#include "device/device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "device/cl_info.h"

/* Query codes of the OpenCL registry; some headers do not define all of them.
 */
enum {
    Q_C_ALL_VERSIONS = 0x1066, /* OpenCL 3.0 */
    Q_WG_MULTIPLE = 0x1067,    /* OpenCL 3.0, per device */
    Q_SVM = 0x1053,            /* OpenCL 2.0 */
    Q_MAX_SUBGROUPS = 0x105C,  /* OpenCL 2.1 */
    Q_UUID = 0x106A,           /* cl_khr_device_uuid */
    Q_DOT_PACKED = 0x1075,     /* cl_khr_integer_dot_product */
    Q_PCI = 0x410F,            /* cl_khr_pci_bus_info */
    Q_COMMAND_BUFFER = 0x12A9, /* cl_khr_command_buffer */
    Q_NV_CC_MAJOR = 0x4000,    /* cl_nv_device_attribute_query */
    Q_NV_CC_MINOR = 0x4001,
    Q_NV_WARP = 0x4003,
    Q_NV_EXEC_TIMEOUT = 0x4005,
    Q_NV_PCI_BUS = 0x4008,
    Q_NV_PCI_SLOT = 0x4009,
    Q_NV_PCI_DOMAIN = 0x400A,
    Q_AMD_MAX_WG = 0x4031, /* cl_amd_device_attribute_query */
    Q_AMD_TOPOLOGY = 0x4037,
    Q_AMD_WAVE = 0x4043,
    Q_AMD_LOCAL_BANKS = 0x4048,
    Q_INTEL_SUBGROUPS = 0x4108, /* cl_intel_required_subgroup_size */
    Q_INTEL_IP = 0x4250         /* cl_intel_device_attribute_query */
};

/* clang-format off */
const struct xl__query xl__special_queries[] = {
    {"CL_DEVICE_OPENCL_C_VERSION", CL_DEVICE_OPENCL_C_VERSION, XL__ASK_TEXT},
    {"CL_DEVICE_OPENCL_C_ALL_VERSIONS", Q_C_ALL_VERSIONS, XL__ASK_VERSIONS},
    {"CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE", Q_WG_MULTIPLE, XL__ASK_SIZE},
    {"CL_DEVICE_MAX_NUM_SUB_GROUPS", Q_MAX_SUBGROUPS, XL__ASK_U32},
    {"CL_DEVICE_SVM_CAPABILITIES", Q_SVM, XL__ASK_U64},
    {"CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR", Q_COMMAND_BUFFER, XL__ASK_U64},
    {"CL_DEVICE_DOUBLE_FP_CONFIG", CL_DEVICE_DOUBLE_FP_CONFIG, XL__ASK_U64},
    {"CL_DEVICE_LOCAL_MEM_TYPE", CL_DEVICE_LOCAL_MEM_TYPE, XL__ASK_U32},
    {"CL_DEVICE_MEM_BASE_ADDR_ALIGN", CL_DEVICE_MEM_BASE_ADDR_ALIGN, XL__ASK_U32},
    {"CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV", Q_NV_CC_MAJOR, XL__ASK_U32},
    {"CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV", Q_NV_CC_MINOR, XL__ASK_U32},
    {"CL_DEVICE_WARP_SIZE_NV", Q_NV_WARP, XL__ASK_U32},
    {"CL_DEVICE_KERNEL_EXEC_TIMEOUT_NV", Q_NV_EXEC_TIMEOUT, XL__ASK_BOOL},
    {"CL_DEVICE_MAX_WORK_GROUP_SIZE_AMD", Q_AMD_MAX_WG, XL__ASK_SIZE},
    {"CL_DEVICE_WAVEFRONT_WIDTH_AMD", Q_AMD_WAVE, XL__ASK_U32},
    {"CL_DEVICE_LOCAL_MEM_BANKS_AMD", Q_AMD_LOCAL_BANKS, XL__ASK_U32},
    {"CL_DEVICE_SUB_GROUP_SIZES_INTEL", Q_INTEL_SUBGROUPS, XL__ASK_SIZES},
    {"CL_DEVICE_IP_VERSION_INTEL", Q_INTEL_IP, XL__ASK_U32},
    {"CL_DEVICE_COOPERATIVE_MATRIX_DEFAULT_SUB_GROUP_VARIANTS_KHR",
     XL__Q_COOPERATIVE_VARIANTS, XL__ASK_SIZES},
    {"CL_DEVICE_COOPERATIVE_MATRIX_POINTER_ALIGNMENT_KHR",
     XL__Q_COOPERATIVE_ALIGN, XL__ASK_U32},
    {"CL_DEVICE_COOPERATIVE_MATRIX_STRIDE_MULTIPLE_KHR",
     XL__Q_COOPERATIVE_STRIDE, XL__ASK_U32},
    {NULL, 0, XL__ASK_NONE},
};
/* clang-format on */

bool xl__has_extension(const struct xl__limits *l, const char *name)
{
    const char *list = xl__text(l, XL__F_extensions);
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += n) {
        bool starts = at == list || at[-1] == ' ';
        if (starts && (at[n] == ' ' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* -- platform and language ------------------------------------------------ */

static void query_platform(struct xl__limits *l, const struct xl__asked *dev)
{
    static const struct {
        enum xl__fact_id fact;
        cl_platform_info query;
    } texts[] = {
        {XL__F_platform, CL_PLATFORM_NAME},
        {XL__F_platform_version, CL_PLATFORM_VERSION},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *text = xl__device_platform_text(dev, texts[i].query);
        xl__limits_answer_text(l, texts[i].fact, text, NULL);
        free(text);
    }
}

/* The newest version of the list: CL_DEVICE_OPENCL_C_VERSION is 1.2 on many
 * devices of OpenCL 3.0 (GE-04). */
static void query_c_version(struct xl__limits *l, const struct xl__asked *dev)
{
    enum { MINOR_BITS = 10, PATCH_BITS = 12, MAX_VERSIONS = 64 };
    struct {
        cl_uint version;
        char name[64];
    } all[MAX_VERSIONS];
    size_t n = xl__device_bytes(dev, Q_C_ALL_VERSIONS, all, sizeof all);
    unsigned major = 0, minor = 0;
    char text[48], *plain;
    plain = xl__device_text(dev, CL_DEVICE_OPENCL_C_VERSION);
    if (plain)
        (void)sscanf(plain, "OpenCL C %2u.%2u", &major, &minor);
    free(plain);
    n = n % sizeof *all ? 0 : n / sizeof *all;
    for (size_t i = 0; i < n; i++) {
        unsigned this_major = all[i].version >> (MINOR_BITS + PATCH_BITS);
        unsigned this_minor =
            all[i].version >> PATCH_BITS & ((1U << MINOR_BITS) - 1);
        if (this_major > major ||
            (this_major == major && this_minor > minor)) {
            major = this_major;
            minor = this_minor;
        }
    }
    if (major == 0)
        return;
    xl__strfmt(text, sizeof text, "OpenCL C %u.%u", major, minor);
    xl__limits_answer_text(l, XL__F_cl_c_version, text, NULL);
}

/* -- identity of the physical device -------------------------------------- */

static void query_uuid(struct xl__limits *l, const struct xl__asked *dev)
{
    unsigned char raw[16];
    char text[2 * sizeof raw + 5], *at = text;
    unsigned all_or = 0, all_and = 0xff;
    if (!xl__has_extension(l, "cl_khr_device_uuid") ||
        xl__device_bytes(dev, Q_UUID, raw, sizeof raw) != sizeof raw)
        return;
    for (size_t i = 0; i < sizeof raw; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += sprintf(at, dash ? "-%02x" : "%02x", raw[i]);
        all_or |= raw[i];
        all_and &= raw[i];
    }
    if (all_or != 0 && all_and != 0xff)
        xl__limits_answer_text(l, XL__F_uuid, text, NULL);
}

struct pci {
    cl_uint domain, bus, device, function;
};

/* The slot is the PCI device number: NV-05. */
static bool query_pci_nvidia(const struct xl__asked *dev, struct pci *out)
{
    *out = (struct pci){0};
    if (!xl__device_u32(dev, Q_NV_PCI_BUS, &out->bus) ||
        !xl__device_u32(dev, Q_NV_PCI_SLOT, &out->device))
        return false;
    /* Older drivers have no query for the domain, which is 0 on most machines.
     */
    if (!xl__device_u32(dev, Q_NV_PCI_DOMAIN, &out->domain))
        out->domain = 0;
    return true;
}

static bool query_pci_amd(const struct xl__asked *dev, struct pci *out)
{
    struct {
        cl_uint type;
        unsigned char unused[17], bus, device, function;
    } topology;
    if (xl__device_bytes(dev, Q_AMD_TOPOLOGY, &topology, sizeof topology) !=
            sizeof topology ||
        topology.type != 1) /* 1: PCI Express */
        return false;
    *out = (struct pci){0, topology.bus, topology.device, topology.function};
    return true;
}

static void query_pci(struct xl__limits *l, const struct xl__asked *dev)
{
    enum { LAST_BUS = 0xff, LAST_DEVICE = 0x1f, LAST_FUNCTION = 7 };
    struct pci at;
    char text[40];
    bool known = false;
    if (xl__has_extension(l, "cl_khr_pci_bus_info"))
        known = xl__device_bytes(dev, Q_PCI, &at, sizeof at) == sizeof at;
    if (!known && xl__has_extension(l, "cl_nv_device_attribute_query"))
        known = query_pci_nvidia(dev, &at);
    if (!known && xl__has_extension(l, "cl_amd_device_attribute_query"))
        known = query_pci_amd(dev, &at);
    if (!known || at.bus > LAST_BUS || at.device > LAST_DEVICE ||
        at.function > LAST_FUNCTION)
        return;
    if (!at.domain && !at.bus && !at.device && !at.function)
        return; /* 0000:00:00.0 is the host bridge: the value is unknown */
    xl__strfmt(text, sizeof text, "%04x:%02x:%02x.%x", at.domain, at.bus,
               at.device, at.function);
    xl__limits_answer_text(l, XL__F_pci, text, NULL);
}

/* -- architecture --------------------------------------------------------- */

static bool query_arch_nvidia(const struct xl__limits *l,
                              const struct xl__asked *dev, char *out,
                              size_t cap)
{
    cl_uint major, minor;
    if (!xl__has_extension(l, "cl_nv_device_attribute_query") ||
        !xl__device_u32(dev, Q_NV_CC_MAJOR, &major) ||
        !xl__device_u32(dev, Q_NV_CC_MINOR, &minor) || major == 0 ||
        major > 99 || minor > 9)
        return false;
    xl__strfmt(out, cap, "sm_%u%u", major, minor);
    return true;
}

/* The graphics IP version: IN-01. */
static bool query_arch_intel(const struct xl__limits *l,
                             const struct xl__asked *dev, char *out,
                             size_t cap)
{
    static const struct {
        unsigned first, last; /* major * 1000 + minor */
        const char *name;
    } known[] = {
        {9000, 9999, "gen9"},      {11000, 11999, "gen11"},
        {12000, 12010, "xe-lp"},   {12055, 12057, "xe-hpg"},
        {12060, 12061, "xe-hpc"},  {12070, 12073, "xe-lpg"},
        {12074, 12074, "xe-lpg+"}, {20000, 20999, "xe2"},
        {30000, 30999, "xe3"},     {35000, 35999, "xe3p"},
    };
    enum { MAJOR_SHIFT = 22, MINOR_SHIFT = 14, MINOR_MASK = 0xff };
    cl_uint ip;
    unsigned major, minor;
    if (!xl__has_extension(l, "cl_intel_device_attribute_query") ||
        !xl__device_u32(dev, Q_INTEL_IP, &ip) || ip >> MAJOR_SHIFT == 0)
        return false;
    major = ip >> MAJOR_SHIFT;
    minor = ip >> MINOR_SHIFT & MINOR_MASK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (major * 1000 + minor >= known[i].first &&
            major * 1000 + minor <= known[i].last) {
            xl__strcpy(out, cap, known[i].name);
            return true;
        }
    xl__strfmt(out, cap, "ip-%u.%u", major, minor);
    return true;
}

/* Copy the word after `mark`, lower case, with `prefix` before it. */
static bool copy_word_after(const char *text, const char *mark,
                            const char *prefix, const char *ends, char *out,
                            size_t cap)
{
    const char *at = strstr(text, mark);
    size_t n;
    if (!at)
        return false;
    at += strlen(mark);
    at += strspn(at, " ");
    n = strcspn(at, ends);
    if (n == 0 || strlen(prefix) + n >= cap)
        return false;
    xl__strfmt(out, cap, "%s%.*s", prefix, (int)n, at);
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return true;
}

/* Where no query exists: the compiler's target in a name or version text. */
static bool parse_arch(const struct xl__limits *l, char *out, size_t cap)
{
    const char *name = xl__text(l, XL__F_name);
    const char *version = xl__text(l, XL__F_cl_version);
    /* "gfx942:sramecc+:xnack-": AM-01 */
    if (strncmp(name, "gfx", 3) == 0)
        return copy_word_after(name, "gfx", "gfx", ": ", out, cap);
    /* "PoCL HSTR: cpu-x86_64-pc-linux-gnu-haswell": CP-01 */
    if (copy_word_after(version, "HSTR: cpu-", "", " ", out, cap) ||
        copy_word_after(version, "HSTR: pthread-", "", " ", out, cap) ||
        copy_word_after(version, "HSTR: ", "", " ", out, cap))
        return true;
    /* "OpenCL 3.0 Adreno(TM) 750": GE-07 */
    if (copy_word_after(version, "Adreno(TM) ", "adreno-", " ", out, cap) ||
        copy_word_after(name, "Adreno(TM) ", "adreno-", " ", out, cap))
        return true;
    return copy_word_after(name, "Mali-", "mali-", " ", out, cap);
}

static void query_arch(struct xl__limits *l, const struct xl__asked *dev)
{
    char text[96];
    if (query_arch_nvidia(l, dev, text, sizeof text) ||
        query_arch_intel(l, dev, text, sizeof text) ||
        parse_arch(l, text, sizeof text))
        xl__limits_answer_text(l, XL__F_arch, text, NULL);
}

/* -- widths and features -------------------------------------------------- */

/* The compiler selects one of these widths per kernel; every generation
 * supports 16 (IN-02). */
static double query_intel_subgroup_width(const struct xl__asked *dev)
{
    enum { COMMON = 16, MAX_SIZES = 8 };
    size_t sizes[MAX_SIZES];
    unsigned n = 0;
    if (!xl__device_sizes(dev, Q_INTEL_SUBGROUPS, sizes, MAX_SIZES, &n))
        return 0;
    for (unsigned i = 0; i < n; i++)
        if (sizes[i] == COMMON)
            return COMMON;
    return (double)sizes[n - 1];
}

static void query_subgroup_width(struct xl__limits *l,
                                 const struct xl__asked *dev)
{
    static const struct {
        const char *extension;
        cl_device_info query;
    } plain[] = {
        {"cl_nv_device_attribute_query", Q_NV_WARP},
        {"cl_amd_device_attribute_query", Q_AMD_WAVE},
    };
    cl_uint width;
    size_t multiple;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (xl__has_extension(l, plain[i].extension) &&
            xl__device_u32(dev, plain[i].query, &width)) {
            xl__limits_answer(l, XL__F_subgroup_width, width, NULL);
            return;
        }
    if (xl__is(l, XL__F_is_gpu) &&
        xl__has_extension(l, "cl_intel_required_subgroup_size"))
        xl__limits_answer(l, XL__F_subgroup_width,
                          query_intel_subgroup_width(dev), "IN-02");
    else if (xl__device_size(dev, Q_WG_MULTIPLE, &multiple))
        xl__limits_answer(l, XL__F_subgroup_width, (double)multiple, NULL);
}

static void query_memory(struct xl__limits *l, const struct xl__asked *dev)
{
    enum { BITS_PER_BYTE = 8 };
    cl_uint type, bits, banks;
    size_t items;
    if (xl__device_u32(dev, CL_DEVICE_LOCAL_MEM_TYPE, &type) &&
        (type == CL_LOCAL || type == CL_GLOBAL))
        xl__limits_answer(l, XL__F_has_local_mem, type == CL_LOCAL, NULL);
    if (xl__device_u32(dev, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &bits))
        xl__limits_answer(l, XL__F_mem_align_bytes, bits / BITS_PER_BYTE,
                          NULL);
    if (!xl__has_extension(l, "cl_amd_device_attribute_query"))
        return;
    if (xl__device_u32(dev, Q_AMD_LOCAL_BANKS, &banks))
        xl__limits_answer(l, XL__F_local_banks, banks, NULL);
    /* The limit for kernels with a required work-group size: AM-03. */
    if (xl__device_size(dev, Q_AMD_MAX_WG, &items) &&
        (double)items > xl__num_or(l, XL__F_max_wg_size, 0) && items <= 1024)
        xl__limits_correct(l, XL__F_max_wg_size, (double)items, XL_QUERIED,
                           "AM-03");
}

static void query_features(struct xl__limits *l, const struct xl__asked *dev)
{
    enum { SIMULTANEOUS_USE = 1 << 2 }; /* cl_khr_command_buffer */
    cl_ulong bits;
    cl_uint n;
    bool f64 = xl__has_extension(l, "cl_khr_fp64");
    bool subgroups = xl__has_extension(l, "cl_khr_subgroups") ||
                     xl__has_extension(l, "cl_intel_subgroups");
    if (xl__device_u64(dev, CL_DEVICE_DOUBLE_FP_CONFIG, &bits))
        f64 = f64 || bits != 0;
    xl__limits_answer(l, XL__F_has_f64, f64, NULL);
    xl__limits_answer(l, XL__F_has_f16_arith,
                      xl__has_extension(l, "cl_khr_fp16"), NULL);
    if (xl__device_u32(dev, Q_MAX_SUBGROUPS, &n))
        subgroups = subgroups || n != 0;
    xl__limits_answer(l, XL__F_has_subgroups, subgroups, NULL);
    if (xl__device_u64(dev, Q_SVM, &bits))
        xl__limits_answer(l, XL__F_has_svm,
                          (bits & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0,
                          NULL);
    if (xl__has_extension(l, "cl_khr_command_buffer") &&
        xl__device_u64(dev, Q_COMMAND_BUFFER, &bits))
        xl__limits_answer(l, XL__F_has_command_buffers,
                          (bits & SIMULTANEOUS_USE) != 0, NULL);
    if (xl__has_extension(l, "cl_nv_device_attribute_query") &&
        xl__device_u32(dev, Q_NV_EXEC_TIMEOUT, &n))
        xl__limits_answer(l, XL__F_has_watchdog, n, NULL);
}

/* Some devices report the extension and have no instruction for it (GE-31).
 * Its functions are those of OpenCL C 3.0. */
static void query_dot_products(struct xl__limits *l,
                               const struct xl__asked *dev)
{
    struct {
        cl_bool is_signed, is_unsigned, is_mixed, sat[3];
    } accelerated;
    const char *c_version = xl__text(l, XL__F_cl_c_version);
    unsigned major = 0;
    if (xl__has_extension(l, "cl_khr_integer_dot_product") &&
        sscanf(c_version, "OpenCL C %2u", &major) == 1 && major >= 3 &&
        xl__device_bytes(dev, Q_DOT_PACKED, &accelerated,
                         sizeof accelerated) == sizeof accelerated &&
        accelerated.is_signed == CL_TRUE)
        xl__limits_answer_text(l, XL__F_dot, "khr", NULL);
}

/* A defect of the platform, on the devices of every vendor. */
static void correct_finish(struct xl__limits *l)
{
    if (xl__streq(xl__text(l, XL__F_platform), "rusticl"))
        xl__limits_correct(l, XL__F_finish_waits, 0, XL_KNOWN, "GE-29");
}

void xl__identify(struct xl__limits *l, const struct xl__asked *dev)
{
    query_platform(l, dev);
    query_c_version(l, dev);
    query_uuid(l, dev);
    query_pci(l, dev);
    query_arch(l, dev);
    query_subgroup_width(l, dev);
    query_memory(l, dev);
    query_features(l, dev);
    query_dot_products(l, dev);
    correct_finish(l);
}
