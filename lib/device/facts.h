/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a device: one list, and for each fact the driver's value, the
 * measured value and the value in use. */
#ifndef XL_DEVICE_FACTS_H
#define XL_DEVICE_FACTS_H

#include <stdint.h>

#include <crosslane/device.h>

#include "base/error.h"
#include "device/model.h"
#include "device/private_api.h"

struct xl__asked; /* device/cl_info.h */

/* How to query the driver. XL__ASK_NONE: only a probe or the vendor table has
 * the value. */
enum xl__ask {
    XL__ASK_NONE,
    XL__ASK_U32,
    XL__ASK_U64,
    XL__ASK_SIZE,
    XL__ASK_BOOL,
    XL__ASK_BITS,  /* is the bit `factor` set in the result? */
    XL__ASK_SIZES, /* a list */
    XL__ASK_TEXT,
    XL__ASK_VERSIONS, /* a list of cl_name_version */
    XL__ASK_SPECIAL /* needs its own code, in identify.c: pci, uuid */
};

/* The only list of facts; everything else is generated from it.
 * XX(name, kind, unit, ask, CL_DEVICE_ query or 0, factor, help) */
/* clang-format off */
#define XL__FACT_MAP(XX)                                                      \
 XX(name,                 TEXT,   "",       TEXT, CL_DEVICE_NAME,                1, "device name as the driver gives it") \
 XX(platform,             TEXT,   "",       SPECIAL, 0,                          1, "platform name") \
 XX(platform_version,     TEXT,   "",       SPECIAL, 0,                          1, "platform version") \
 XX(vendor,               TEXT,   "",       TEXT, CL_DEVICE_VENDOR,              1, "hardware vendor as the driver gives it") \
 XX(driver,               TEXT,   "",       TEXT, CL_DRIVER_VERSION,             1, "driver version") \
 XX(cl_version,           TEXT,   "",       TEXT, CL_DEVICE_VERSION,             1, "OpenCL version of the device") \
 XX(cl_c_version,         TEXT,   "",       SPECIAL, 0,                          1, "newest OpenCL C it compiles") \
 XX(uuid,                 TEXT,   "",       SPECIAL, 0,                          1, "cl_khr_device_uuid") \
 XX(pci,                  TEXT,   "",       SPECIAL, 0,                          1, "PCI address, domain:bus:device.function") \
 XX(arch,                 TEXT,   "",       SPECIAL, 0,                          1, "architecture: sm_90, gfx942, xe-hpg, ...") \
 XX(extensions,           TEXT,   "",       TEXT, CL_DEVICE_EXTENSIONS,          1, "extension string") \
 XX(vendor_id,            NUMBER, "1",      U32,  CL_DEVICE_VENDOR_ID,           1, "vendor id; a hint only (GE-01)") \
 XX(is_gpu,               BOOL,   "",       BITS, CL_DEVICE_TYPE,                CL_DEVICE_TYPE_GPU, "the driver reports a GPU") \
 XX(is_cpu,               BOOL,   "",       BITS, CL_DEVICE_TYPE,                CL_DEVICE_TYPE_CPU, "the driver reports a CPU") \
 XX(is_accelerator,       BOOL,   "",       BITS, CL_DEVICE_TYPE,                CL_DEVICE_TYPE_ACCELERATOR, "the driver reports an accelerator") \
 XX(compute_units,        NUMBER, "1",      U32,  CL_DEVICE_MAX_COMPUTE_UNITS,   1, "compute units: SM, CU, Xe core, core") \
 XX(clock_hz,             NUMBER, "Hz",     U32,  CL_DEVICE_MAX_CLOCK_FREQUENCY, 1000000, "highest clock") \
 XX(address_bits,         NUMBER, "1",      U32,  CL_DEVICE_ADDRESS_BITS,        1, "address size") \
 XX(global_mem_bytes,     NUMBER, "B",      U64,  CL_DEVICE_GLOBAL_MEM_SIZE,     1, "device memory") \
 XX(max_alloc_bytes,      NUMBER, "B",      U64,  CL_DEVICE_MAX_MEM_ALLOC_SIZE,  1, "largest single buffer") \
 XX(cache_bytes,          NUMBER, "B",      U64,  CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 1, "cache as the driver counts it") \
 XX(llc_bytes,            NUMBER, "B",      NONE, 0,                             1, "last-level cache") \
 XX(cache_line_bytes,     NUMBER, "B",      U32,  CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 1, "cache line") \
 XX(transaction_bytes,    NUMBER, "B",      NONE, 0,                             1, "smallest memory transaction") \
 XX(local_mem_bytes,      NUMBER, "B",      U64,  CL_DEVICE_LOCAL_MEM_SIZE,      1, "local memory one work-group may use") \
 XX(local_mem_dynamic_bytes, NUMBER, "B",   U64,  CL_DEVICE_LOCAL_MEM_SIZE,      1, "of it, as a __local argument") \
 XX(has_local_mem,        BOOL,   "",       SPECIAL, 0,                          1, "local memory is on chip, not in global memory") \
 XX(local_banks,          NUMBER, "1",      NONE, 0,                             1, "banks of local memory, 4 bytes wide") \
 XX(max_wg_size,          NUMBER, "1",      SIZE, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1, "largest work-group") \
 XX(max_wi_sizes,         LIST,   "1",      SIZES, CL_DEVICE_MAX_WORK_ITEM_SIZES, 1, "largest work-group per dimension") \
 XX(subgroup_width,       NUMBER, "1",      SPECIAL, 0,                          1, "sub-group, warp or wavefront width") \
 XX(registers_per_cu,     NUMBER, "1",      NONE, 0,                             1, "32-bit registers of a compute unit") \
 XX(registers_per_item,   NUMBER, "1",      NONE, 0,                             1, "32-bit registers of a work-item, at most") \
 XX(simd_per_cu_f32,      NUMBER, "1",      NONE, 0,                             1, "f32 FMAs a compute unit starts per clock") \
 XX(async_copy,           TEXT,   "",       NONE, 0,                             1, "copies to local memory that items do not wait for: how kernels use them") \
 XX(line_copy,            TEXT,   "",       NONE, 0,                             1, "likewise, a line of bytes by one instruction") \
 XX(block_read,           TEXT,   "",       NONE, 0,                             1, "reads of consecutive elements by a sub-group: how kernels have them") \
 XX(device_fence,         TEXT,   "",       NONE, 0,                             1, "a fence between work-groups: how kernels have it") \
 XX(lane_exchange,        TEXT,   "",       NONE, 0,                             1, "words passed from lane to lane of a sub-group: how kernels have them") \
 XX(unit_id,              TEXT,   "",       NONE, 0,                             1, "how a kernel determines its compute unit") \
 XX(dot,                  TEXT,   "",       SPECIAL, 0,                          1, "dot products of four bytes: how kernels use them") \
 XX(native_vector_f32,    NUMBER, "1",      U32,  CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 1, "floats in a native vector") \
 XX(mem_align_bytes,      NUMBER, "B",      SPECIAL, 0,                          1, "alignment of buffers and sub-buffers") \
 XX(max_arg_bytes,        NUMBER, "B",      SIZE, CL_DEVICE_MAX_PARAMETER_SIZE,  1, "all arguments of a kernel") \
 XX(max_const_bytes,      NUMBER, "B",      U64,  CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, 1, "largest constant buffer") \
 XX(timer_step_ns,        NUMBER, "ns",     SIZE, CL_DEVICE_PROFILING_TIMER_RESOLUTION, 1, "step of the event clock") \
 XX(timer_ok,             BOOL,   "",       NONE, 0,                             1, "the event clock agrees with the wall clock") \
 XX(host_unified,         BOOL,   "",       BOOL, CL_DEVICE_HOST_UNIFIED_MEMORY, 1, "host and device share memory") \
 XX(ecc,                  BOOL,   "",       BOOL, CL_DEVICE_ERROR_CORRECTION_SUPPORT, 1, "memory corrects errors") \
 XX(little_endian,        BOOL,   "",       BOOL, CL_DEVICE_ENDIAN_LITTLE,       1, "byte order is the usual one") \
 XX(has_compiler,         BOOL,   "",       BOOL, CL_DEVICE_COMPILER_AVAILABLE,  1, "can compile source") \
 XX(has_watchdog,         BOOL,   "",       NONE, 0,                             1, "long launches may be killed") \
 XX(finish_waits,         BOOL,   "",       NONE, 0,                             1, "clFinish waits for what was flushed as well") \
 XX(max_loop_turns,       NUMBER, "1",      NONE, 0,                             1, "iterations after which the driver ends a work-item's loop") \
 XX(has_f64,              BOOL,   "",       SPECIAL, 0,                          1, "double precision") \
 XX(has_fma,              BOOL,   "",       BITS, CL_DEVICE_SINGLE_FP_CONFIG,    CL_FP_FMA, "fma() of f32 in hardware") \
 XX(has_f16_arith,        BOOL,   "",       SPECIAL, 0,                          1, "half precision arithmetic") \
 XX(has_svm,              BOOL,   "",       SPECIAL, 0,                          1, "coarse-grained buffer SVM") \
 XX(has_subgroups,        BOOL,   "",       SPECIAL, 0,                          1, "sub-group functions") \
 XX(has_command_buffers,  BOOL,   "",       SPECIAL, 0,                          1, "command buffers that can be enqueued while they run") \
 XX(peak_f32_flop_per_s,  NUMBER, "flop/s", NONE, 0,                             1, "f32 FMA peak") \
 XX(peak_f16_flop_per_s,  NUMBER, "flop/s", NONE, 0,                             1, "f16 FMA peak") \
 XX(peak_f64_flop_per_s,  NUMBER, "flop/s", NONE, 0,                             1, "f64 FMA peak") \
 XX(peak_matrix_f16_flop_per_s, NUMBER, "flop/s", NONE, 0,                       1, "matrix engine peak, f16 into f32") \
 XX(peak_matrix_bf16_flop_per_s, NUMBER, "flop/s", NONE, 0,                      1, "matrix engine peak, bf16 into f32") \
 XX(peak_matrix_tf32_flop_per_s, NUMBER, "flop/s", NONE, 0,                      1, "matrix engine peak, f32 rounded to 11 bits") \
 XX(peak_matrix_i8_flop_per_s, NUMBER, "flop/s", NONE, 0,                        1, "matrix engine peak, i8 into i32") \
 XX(peak_matrix_f8_flop_per_s, NUMBER, "flop/s", NONE, 0,                        1, "matrix engine peak, 8-bit floats into f32") \
 XX(read_bytes_per_s,     NUMBER, "B/s",    NONE, 0,                             1, "global memory, read") \
 XX(write_bytes_per_s,    NUMBER, "B/s",    NONE, 0,                             1, "global memory, write; CPUs: past the caches") \
 XX(copy_bytes_per_s,     NUMBER, "B/s",    NONE, 0,                             1, "global memory, copy, both ways counted; CPUs: past the caches") \
 XX(llc_bytes_per_s,      NUMBER, "B/s",    NONE, 0,                             1, "copy inside the last-level cache") \
 XX(l1_bytes,             NUMBER, "B",      NONE, 0,                             1, "first cache of a compute unit") \
 XX(l1_ns,                NUMBER, "ns",     NONE, 0,                             1, "one dependent load from it") \
 XX(l1_bytes_per_s,       NUMBER, "B/s",    NONE, 0,                             1, "read from the first caches, all together") \
 XX(l2_bytes,             NUMBER, "B",      NONE, 0,                             1, "cache between the first and the last, where there is one") \
 XX(l2_ns,                NUMBER, "ns",     NONE, 0,                             1, "one dependent load from it") \
 XX(l2_bytes_per_s,       NUMBER, "B/s",    NONE, 0,                             1, "read from these caches, all together") \
 XX(llc_ns,               NUMBER, "ns",     NONE, 0,                             1, "one dependent load from the last-level cache") \
 XX(dram_ns,              NUMBER, "ns",     NONE, 0,                             1, "one dependent load from memory") \
 XX(tlb_bytes,            NUMBER, "B",      NONE, 0,                             1, "memory that the TLB covers") \
 XX(local_ns,             NUMBER, "ns",     NONE, 0,                             1, "one dependent load from local memory") \
 XX(local_bytes_per_s,    NUMBER, "B/s",    NONE, 0,                             1, "read from local memory, all units together") \
 XX(barrier_ns,           NUMBER, "ns",     NONE, 0,                             1, "one barrier of a full work-group") \
 XX(special_per_s,        NUMBER, "1/s",    NONE, 0,                             1, "f32 special functions, measured with native_exp2") \
 XX(atomic_per_s,         NUMBER, "1/s",    NONE, 0,                             1, "global atomic adds, each item its own word") \
 XX(atomic_same_per_s,    NUMBER, "1/s",    NONE, 0,                             1, "global atomic adds, all on one word") \
 XX(upload_bytes_per_s,   NUMBER, "B/s",    NONE, 0,                             1, "host to device, by the fastest method") \
 XX(download_bytes_per_s, NUMBER, "B/s",    NONE, 0,                             1, "device to host, by the fastest method") \
 XX(has_zero_copy,        BOOL,   "",       NONE, 0,                             1, "mapping a buffer moves no bytes") \
 XX(launch_ns,            NUMBER, "ns",     NONE, 0,                             1, "one launch of many, back to back") \
 XX(round_trip_ns,        NUMBER, "ns",     NONE, 0,                             1, "enqueue, finish, return")
/* clang-format on */

enum xl__fact_id {
#define XL__FACT_ENUM(name, kind, unit, ask, query, factor, help) XL__F_##name,
    XL__FACT_MAP(XL__FACT_ENUM)
#undef XL__FACT_ENUM
    XL__N_FACTS
};

/* One row of the list. */
struct xl__fact_info {
    const char *name;
    xl_fact_kind kind;
    const char *unit;
    enum xl__ask ask;
    cl_device_info query;
    double factor;
    const char *help;
};
extern const struct xl__fact_info xl__facts[XL__N_FACTS];
/* The fact of this name; XL__N_FACTS: there is none. */
XL__PRIVATE_API enum xl__fact_id xl__fact_find(const char *name);
/* Is it a rate or a time that only probes and vendor tables have? Device
 * profiles consist of such facts. */
XL__PRIVATE_API bool xl__fact_is_rate(enum xl__fact_id id);
/* Is the value of a number or boolean within the range of real devices? */
bool xl__fact_is_sane(enum xl__fact_id id, double value);

/* A query by its name in the OpenCL registry. */
struct xl__query {
    const char *name;
    cl_device_info query; /* or cl_platform_info */
    enum xl__ask ask;     /* the type of its result */
};
/* identify.c: the queries for facts of XL__ASK_SPECIAL but for the identity of
 * a card; ends with a NULL name. */
extern const struct xl__query xl__special_queries[];

/* cooperative.c: cl_khr_cooperative_matrix, by the tokens of its draft, which no
 * OpenCL header has yet (GE-37). */
enum {
    XL__Q_COOPERATIVE_VARIANTS = 0x1078, /* for the default sub-group */
    XL__Q_COOPERATIVE_ALIGN = 0x107A,    /* of a pointer, bytes */
    XL__Q_COOPERATIVE_STRIDE = 0x107B    /* its divisor, bytes */
};
/* Set l->cooperative to the products that kernels have code for: of f16 into
 * f32 and of i8 into i32, whose matrices in local memory begin where the driver
 * needs them to. None without the extension, or without OpenCL C 3.0. In
 * a listing a product is eight numbers, the words of the draft's struct. */
void xl__cooperative_query(struct xl__limits *l, const struct xl__asked *d);

/* One value of a fact. A probe may set value, source and note (with
 * xl__limits_measure()) while other threads read: each of them is then the old
 * or the new one. The rest is constant once the device is created. */
struct xl__answer {
    _Atomic(double) value; /* NaN: none; of a BOOL 0 or 1 */
    char *text;   /* owned; NULL: none */
    double list[8];
    unsigned n_list;
    _Atomic(xl_source) source; /* XL_UNKNOWN: no value */
    const char *_Atomic note;  /* static; a vendor-notes id */
};

/* Tiles, rows and columns, whose kernels the driver's compiler made slow or
 * too large for their groups. */
enum { XL__MOST_REFUSED = 2 };
struct xl__refused_tiles {
    unsigned n;
    int tile[XL__MOST_REFUSED][2];
};

enum { XL__COOPERATIVE_MOST = 8 };
struct xl__limits {
    struct xl__answer used[XL__N_FACTS]; /* the library uses these */
    struct xl__answer queried[XL__N_FACTS];
    struct xl__answer measured[XL__N_FACTS];
    /* Of the vendor table, static, or `cooperative`; ends with a NULL name.
     * NULL: none. */
    const xl_matrix_op *matrix_ops;
    /* As the driver states them; likewise. */
    xl_matrix_op cooperative[XL__COOPERATIVE_MOST + 1];
    struct xl__model model; /* of the vendor table */
    /* Of the variant that is planned, in a copy for that; of a device none. */
    struct xl__refused_tiles refused;
    /* Likewise, of a self-check's case: the most work-groups of a kernel whose
     * groups compute one tile after the other. 0: as many as units. */
    size_t case_groups;
};

/* The number in use; NaN when unknown; of a boolean 0, 1 or NaN. */
static inline double xl__num(const struct xl__limits *l, enum xl__fact_id id)
{
    return l->used[id].value;
}
/* The same; `otherwise` when unknown. */
XL__PRIVATE_API double xl__num_or(const struct xl__limits *l,
                                  enum xl__fact_id id, double otherwise);
/* A boolean in use; unknown is false. */
XL__PRIVATE_API bool xl__is(const struct xl__limits *l, enum xl__fact_id id);
/* A text in use; "" when unknown. */
XL__PRIVATE_API const char *xl__text(const struct xl__limits *l,
                                     enum xl__fact_id id);
/* The number in use as a size_t; `otherwise` when unknown or negative. */
XL__PRIVATE_API size_t xl__size_or(const struct xl__limits *l,
                                   enum xl__fact_id id, size_t otherwise);

/* Is this one of l->refused? Then it does not fit the device. */
bool xl__is_refused(const struct xl__limits *l, size_t rows, size_t cols);

/* The first matrix instruction that multiplies these types and has fragments
 * of this name; NULL: none. */
XL__PRIVATE_API const xl_matrix_op *
xl__find_matrix_op(const struct xl__limits *l, const char *fragments,
                   xl_dtype a, xl_dtype b);

/* Does the driver report the extension? */
XL__PRIVATE_API bool xl__has_extension(const struct xl__limits *l,
                                       const char *name);

/* Set all facts to unknown. */
void xl__limits_init(struct xl__limits *l);
void xl__limits_clear(struct xl__limits *l);
/* Copy all facts to *dst, which is initialised. Returns false without memory:
 * *dst then has some of them. */
bool xl__limits_copy(struct xl__limits *dst, const struct xl__limits *src);
/* Query all facts from the driver. A query that fails leaves its fact unknown;
 * it is an error only when all queries fail. */
xl_status xl__limits_query(struct xl__limits *l,
                           const struct xl__asked *device,
                           struct xl__error *e);
/* Set a fact to the driver's value, in `queried` and `used`, unless it is
 * outside the fact's plausible range. `note`: NULL or a vendor-notes id. */
void xl__limits_answer(struct xl__limits *l, enum xl__fact_id id, double value,
                       const char *note);
/* The same for a text, which is copied; NULL and "" are ignored. */
void xl__limits_answer_text(struct xl__limits *l, enum xl__fact_id id,
                            const char *text, const char *note);
/* Replace the number in use; the driver's value stays in `queried`. For vendor
 * tables; `note` is a vendor-notes id. NaN makes the fact unknown. */
void xl__limits_correct(struct xl__limits *l, enum xl__fact_id id,
                        double value, xl_source source, const char *note);
/* The same for a text, which is copied. */
void xl__limits_correct_text(struct xl__limits *l, enum xl__fact_id id,
                             const char *text, xl_source source,
                             const char *note);
/* Set a fact to a probe's result, in `measured` and `used`; with a note, in
 * `measured` only, if it contradicts what is stated of the device. Of
 * xl_device.seen only (device/device.h). */
XL__PRIVATE_API void xl__limits_measure(struct xl__limits *l,
                                        enum xl__fact_id id, double value);

#endif
