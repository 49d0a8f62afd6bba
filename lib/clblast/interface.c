/* SPDX-License-Identifier: Apache-2.0 */
/* CLBlast's routines, under their names in C and in C++. A function of C++
 * takes its arguments as the one of C does: enums are ints, half is an
 * unsigned short. So each is one function with two names. Those of C++ are the
 * templates' instances, mangled by the Itanium ABI for a size_t of unsigned
 * long. Source: clblast_c.h and clblast.h of CLBlast 1.5 (interface only).
 *
 * products.def and vectors.def have a row for each routine and are included once
 * for each type. */
#include <string.h>

#include "base/half.h"
#include "clblast/operations.h"

/* Operands among parameters, and as arguments. */
#define MATRIX(x) cl_mem x##_buffer, size_t x##_offset, size_t x##_ld
#define VECTOR(x) cl_mem x##_buffer, size_t x##_offset, size_t x##_inc
#define MEMORY(x) cl_mem x##_buffer, size_t x##_offset
#define QUEUE cl_command_queue *queue, cl_event *event
#define OF_MATRIX(x) x##_buffer, x##_offset, x##_ld
#define OF_VECTOR(x) x##_buffer, x##_offset, x##_inc
#define OF_MEMORY(x) x##_buffer, x##_offset
#define WINDOWS                                                               \
    size_t channels, size_t height, size_t width, size_t kernel_h,            \
        size_t kernel_w, size_t pad_h, size_t pad_w, size_t stride_h,         \
        size_t stride_w, size_t dilation_h, size_t dilation_w
#define OF_WINDOWS                                                            \
    channels, height, width, kernel_h, kernel_w, pad_h, pad_w, stride_h,      \
        stride_w, dilation_h, dilation_w

/* One routine: its name in C, that in C++ as mangled, parameters, and the same
 * as arguments; last what serves it. */
#define ROUTINE(...) ROUTINE_EXPANDED(__VA_ARGS__)
#define ROUTINE_EXPANDED(c_name, mangled, parameters, arguments, ...)         \
    extern __typeof__(c_name) cxx_##c_name __asm__(mangled)                   \
        __attribute__((alias(#c_name)));                                      \
    CLBlastStatusCode c_name parameters                                       \
    {                                                                         \
        static struct xl__routine self = {.name = #c_name, mangled};          \
        struct xl__routine_call call;                                         \
        xl_status status = xl__routine_begin(&call, &self, queue, event);     \
        if (status == XL_OK)                                                  \
            status = __VA_ARGS__;                                             \
        if (xl__routine_end(&call, status))                                   \
            return (CLBlastStatusCode)status;                                 \
        __typeof__(&c_name) behind;                                           \
        /* ISO C has no cast from an object's to a function's address. */     \
        void *found = xl__routine_behind(&self);                              \
        memcpy(&behind, &found, sizeof behind);                               \
        return behind ? behind arguments : CLBlastNotImplemented;             \
    }

#define JOIN(a, b, c) JOIN_EXPANDED(a, b, c)
#define JOIN_EXPANDED(a, b, c) a##b##c
#define NAME(routine) JOIN(CLBlast, LETTER, routine)
#define INDEX_NAME(routine) JOIN(CLBlasti, LETTER, routine)
#define MANGLED(routine, parameters)                                          \
    "_ZN7clblast" routine "I" CXX_LETTER "EENS_10StatusCodeE" parameters      \
    "PP17_cl_command_queuePP9_cl_event"

/* The template's type T: its letters in C and C++, its elements, its values.
 */
#define LETTER S
#define CXX_LETTER "f"
#define T float
#define DTYPE XL_F32
#define VALUE(x) (double)(x)
#include "clblast/products.def"
#include "clblast/vectors.def"
#undef LETTER
#undef CXX_LETTER
#undef T
#undef DTYPE

#define LETTER D
#define CXX_LETTER "d"
#define T double
#define DTYPE XL_F64
#include "clblast/products.def"
#include "clblast/vectors.def"
#undef LETTER
#undef CXX_LETTER
#undef T
#undef DTYPE
#undef VALUE

#define LETTER H
#define CXX_LETTER "t"
#define T cl_half
#define DTYPE XL_F16
#define VALUE(x) (double)xl__f16_to_f32(x)
#include "clblast/products.def"
#include "clblast/vectors.def"
