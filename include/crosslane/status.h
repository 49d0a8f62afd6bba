/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes. Every fallible call returns an xl_status: XL_OK (0) or a
 * negative code. -7000 ... -7099 are ours; any other negative number is the
 * driver's own, passed through unchanged, so the integer alone
 * distinguishes them. CLBlast's codes are mapped to ours; the original code is
 * in the detail. */
#ifndef CROSSLANE_STATUS_H
#define CROSSLANE_STATUS_H

#ifndef XL_API
#if defined(__GNUC__) && !defined(_WIN32)
#define XL_API __attribute__((visibility("default")))
#else
#define XL_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int xl_status;

/* The only list of codes: the enum, xl_status_name() and xl_status_text() are
 * generated from it. */
/* clang-format off */
#define XL_STATUS_MAP(XX)                                                     \
    XX(OK,                   0, "success")                                    \
    XX(BAD_ARGUMENT,     -7000, "an argument is NULL or out of range")        \
    XX(BAD_SHAPE,        -7001, "a size is zero or the shapes do not agree")  \
    XX(BUFFER_TOO_SMALL, -7002, "a buffer is smaller than its shape")         \
    XX(UNSUPPORTED,      -7003, "the device lacks a feature that is needed")  \
    XX(BUILD_FAILED,     -7004, "the OpenCL compiler rejected a kernel")      \
    XX(NO_MEMORY,        -7005, "out of host memory")                         \
    XX(IO,               -7006, "a file could not be read or written")        \
    XX(UNTRUSTED,        -7007, "every variant failed its self-check")        \
    XX(OVERLAP,          -7008, "the result overlaps itself or an input")     \
    XX(OVERFLOW,         -7009, "a size does not fit in 64 bits")             \
    XX(BAD_SCALAR,       -7010, "a scalar has no value of its type")          \
    XX(NO_PLATFORM,      -7011, "no OpenCL driver was found")                 \
    XX(NO_DEVICE,        -7012, "no such device")                             \
    XX(AMBIGUOUS,        -7013, "more than one device matches")               \
    XX(CORRUPT,          -7014, "a file is damaged")                          \
    XX(NO_SPACE,         -7015, "the disk is full")                           \
    XX(CANCELLED,        -7016, "stopped on request")                         \
    XX(WRONG_RESULT,     -7017, "a result differs from the reference")
/* clang-format on */

#define XL_STATUS_ENUM(name, value, text) XL_##name = value,
enum { XL_STATUS_MAP(XL_STATUS_ENUM) XL_STATUS_LAST = -7099 };

/** "XL_BAD_SHAPE", "CL_OUT_OF_RESOURCES", or "unknown status". Static. */
XL_API const char *xl_status_name(xl_status status);

/** One line of English for @p status. Static. */
XL_API const char *xl_status_text(xl_status status);

#ifdef __cplusplus
}
#endif
#endif
