/* SPDX-License-Identifier: Apache-2.0 */
/* Typed queries, and names of OpenCL codes. A driver may reject a query,
 * return a result of another size, or a string with any bytes. So both return
 * code and size are checked, and bytes that are invalid in a terminal or a
 * JSON file are escaped as \xNN. */
#include "device/cl_info.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "device/listing.h"

#define CODES(XX)                                                             \
    XX(0, SUCCESS)                                                            \
    XX(-1, DEVICE_NOT_FOUND)                                                  \
    XX(-2, DEVICE_NOT_AVAILABLE)                                              \
    XX(-3, COMPILER_NOT_AVAILABLE)                                            \
    XX(-4, MEM_OBJECT_ALLOCATION_FAILURE)                                     \
    XX(-5, OUT_OF_RESOURCES)                                                  \
    XX(-6, OUT_OF_HOST_MEMORY)                                                \
    XX(-7, PROFILING_INFO_NOT_AVAILABLE)                                      \
    XX(-8, MEM_COPY_OVERLAP)                                                  \
    XX(-9, IMAGE_FORMAT_MISMATCH)                                             \
    XX(-10, IMAGE_FORMAT_NOT_SUPPORTED)                                       \
    XX(-11, BUILD_PROGRAM_FAILURE)                                            \
    XX(-12, MAP_FAILURE)                                                      \
    XX(-13, MISALIGNED_SUB_BUFFER_OFFSET)                                     \
    XX(-14, EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                        \
    XX(-15, COMPILE_PROGRAM_FAILURE)                                          \
    XX(-16, LINKER_NOT_AVAILABLE)                                             \
    XX(-17, LINK_PROGRAM_FAILURE)                                             \
    XX(-18, DEVICE_PARTITION_FAILED)                                          \
    XX(-19, KERNEL_ARG_INFO_NOT_AVAILABLE)                                    \
    XX(-30, INVALID_VALUE)                                                    \
    XX(-31, INVALID_DEVICE_TYPE)                                              \
    XX(-32, INVALID_PLATFORM)                                                 \
    XX(-33, INVALID_DEVICE)                                                   \
    XX(-34, INVALID_CONTEXT)                                                  \
    XX(-35, INVALID_QUEUE_PROPERTIES)                                         \
    XX(-36, INVALID_COMMAND_QUEUE)                                            \
    XX(-37, INVALID_HOST_PTR)                                                 \
    XX(-38, INVALID_MEM_OBJECT)                                               \
    XX(-39, INVALID_IMAGE_FORMAT_DESCRIPTOR)                                  \
    XX(-40, INVALID_IMAGE_SIZE)                                               \
    XX(-41, INVALID_SAMPLER)                                                  \
    XX(-42, INVALID_BINARY)                                                   \
    XX(-43, INVALID_BUILD_OPTIONS)                                            \
    XX(-44, INVALID_PROGRAM)                                                  \
    XX(-45, INVALID_PROGRAM_EXECUTABLE)                                       \
    XX(-46, INVALID_KERNEL_NAME)                                              \
    XX(-47, INVALID_KERNEL_DEFINITION)                                        \
    XX(-48, INVALID_KERNEL)                                                   \
    XX(-49, INVALID_ARG_INDEX)                                                \
    XX(-50, INVALID_ARG_VALUE)                                                \
    XX(-51, INVALID_ARG_SIZE)                                                 \
    XX(-52, INVALID_KERNEL_ARGS)                                              \
    XX(-53, INVALID_WORK_DIMENSION)                                           \
    XX(-54, INVALID_WORK_GROUP_SIZE)                                          \
    XX(-55, INVALID_WORK_ITEM_SIZE)                                           \
    XX(-56, INVALID_GLOBAL_OFFSET)                                            \
    XX(-57, INVALID_EVENT_WAIT_LIST)                                          \
    XX(-58, INVALID_EVENT)                                                    \
    XX(-59, INVALID_OPERATION)                                                \
    XX(-60, INVALID_GL_OBJECT)                                                \
    XX(-61, INVALID_BUFFER_SIZE)                                              \
    XX(-62, INVALID_MIP_LEVEL)                                                \
    XX(-63, INVALID_GLOBAL_WORK_SIZE)                                         \
    XX(-64, INVALID_PROPERTY)                                                 \
    XX(-65, INVALID_IMAGE_DESCRIPTOR)                                         \
    XX(-66, INVALID_COMPILER_OPTIONS)                                         \
    XX(-67, INVALID_LINKER_OPTIONS)                                           \
    XX(-68, INVALID_DEVICE_PARTITION_COUNT)                                   \
    XX(-69, INVALID_PIPE_SIZE)                                                \
    XX(-70, INVALID_DEVICE_QUEUE)                                             \
    XX(-71, INVALID_SPEC_ID)                                                  \
    XX(-72, MAX_SIZE_RESTRICTION_EXCEEDED)                                    \
    XX(-1001, PLATFORM_NOT_FOUND_KHR)

const char *xl__cl_name(cl_int code)
{
#define NAME(value, name)                                                     \
    case value:                                                               \
        return "CL_" #name;
    switch (code) {
        CODES(NAME)
    default:
        return NULL;
    }
#undef NAME
}

xl_status xl__cl_check(struct xl__error *e, cl_int code, const char *call,
                       const char *file, int line)
{
    const char *name;
    if (code == CL_SUCCESS)
        return XL_OK;
    name = xl__cl_name(code);
    return xl__error_set(e, code, "%s (%d) from %s at %s:%d",
                         name ? name : "unknown code", code, call, file, line);
}

enum {
    ROOM = 64,             /* larger than any scalar, to detect a wrong size */
    MAX_SIZES = 32,        /* values of a list that are read */
    MAX_TEXT = 1024 * 1024 /* a longer string is not plausible */
};

static cl_int ask(const struct xl__asked *d, cl_device_info q, size_t cap,
                  void *out, size_t *n)
{
    return d->id ? clGetDeviceInfo(d->id, q, cap, out, n)
                 : xl__listed_answer(d->listed, q, cap, out, n);
}

size_t xl__device_bytes(const struct xl__asked *d, cl_device_info q, void *out,
                        size_t cap)
{
    size_t got = 0;
    if (ask(d, q, cap, out, &got) != CL_SUCCESS || got > cap)
        return 0;
    return got;
}

static bool query_scalar(const struct xl__asked *d, cl_device_info q,
                         void *out, size_t bytes)
{
    unsigned char raw[ROOM];
    if (xl__device_bytes(d, q, raw, sizeof raw) != bytes)
        return false;
    memcpy(out, raw, bytes);
    return true;
}

bool xl__device_u32(const struct xl__asked *d, cl_device_info q, cl_uint *out)
{
    return query_scalar(d, q, out, sizeof *out);
}

bool xl__device_u64(const struct xl__asked *d, cl_device_info q, cl_ulong *out)
{
    return query_scalar(d, q, out, sizeof *out);
}

bool xl__device_size(const struct xl__asked *d, cl_device_info q, size_t *out)
{
    return query_scalar(d, q, out, sizeof *out);
}

bool xl__device_sizes(const struct xl__asked *d, cl_device_info q, size_t *out,
                      unsigned cap, unsigned *n)
{
    size_t raw[MAX_SIZES];
    size_t bytes = xl__device_bytes(d, q, raw, sizeof raw);
    if (bytes == 0 || bytes % sizeof *raw)
        return false;
    *n = (unsigned)xl__min_size(bytes / sizeof *raw, cap);
    memcpy(out, raw, *n * sizeof *raw);
    return true;
}

/* Length of the UTF-8 sequence at `s` of a printable character; 0 when there
 * is none. Table 3-7 of the Unicode standard. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    static const struct {
        unsigned char first, last, second_lo, second_hi;
        size_t length;
    } forms[] = {
        {0x20, 0x7e, 0, 0, 1},       {0xc2, 0xc2, 0xa0, 0xbf, 2},
        {0xc3, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        size_t n = forms[f].length;
        if (*s < forms[f].first || *s > forms[f].last)
            continue;
        if (n > left)
            return 0;
        if (n > 1 && (s[1] < forms[f].second_lo || s[1] > forms[f].second_hi))
            return 0;
        for (size_t i = 2; i < n; i++)
            if (s[i] < 0x80 || s[i] > 0xbf)
                return 0;
        return n;
    }
    return 0;
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Trims and escapes the first `cap` bytes of a driver's string; NULL when
 * empty. */
static char *escape_text(const char *raw, size_t cap)
{
    const unsigned char *s = (const unsigned char *)raw;
    const unsigned char *zero = memchr(s, 0, cap);
    size_t n = zero ? (size_t)(zero - s) : cap;
    struct xl__str out = {0};
    while (n && is_blank(s[n - 1]))
        n--;
    while (n && is_blank(*s)) {
        s++;
        n--;
    }
    for (size_t i = 0; i < n;) {
        size_t length = utf8_length(s + i, n - i);
        if (length)
            xl__str_add_n(&out, (const char *)s + i, length);
        else
            xl__str_printf(&out, "\\x%02x", s[i]);
        i += length ? length : 1;
    }
    return n ? xl__str_steal(&out) : NULL;
}

char *xl__device_text(const struct xl__asked *d, cl_device_info q)
{
    size_t bytes = 0, got = 0;
    char *raw = NULL, *text = NULL;
    if (ask(d, q, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0 ||
        bytes > MAX_TEXT)
        return NULL;
    raw = xl__calloc(bytes, 1);
    if (raw && ask(d, q, bytes, raw, &got) == CL_SUCCESS)
        text = escape_text(raw, bytes);
    free(raw);
    return text;
}

char *xl__platform_text(cl_platform_id p, cl_platform_info q)
{
    size_t bytes = 0, got = 0;
    char *raw = NULL, *text = NULL;
    if (clGetPlatformInfo(p, q, 0, NULL, &bytes) != CL_SUCCESS || bytes == 0 ||
        bytes > MAX_TEXT)
        return NULL;
    raw = xl__calloc(bytes, 1);
    if (raw && clGetPlatformInfo(p, q, bytes, raw, &got) == CL_SUCCESS)
        text = escape_text(raw, bytes);
    free(raw);
    return text;
}

char *xl__device_platform_text(const struct xl__asked *d, cl_platform_info q)
{
    cl_platform_id platform;

    if (!d->id)
        return xl__device_text(d, q);
    if (xl__device_bytes(d, CL_DEVICE_PLATFORM, &platform, sizeof platform) !=
        sizeof platform)
        return NULL;
    return xl__platform_text(platform, q);
}
