/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that an application fills begin with their size, so that a later
 * library can append members. An initialiser beside each one sets it and makes
 * all else 0, which is every optional member's default:
 *
 *   const xl_gemm g = {XL_GEMM_INIT, .m = m, .n = n};     C11, C++20
 *   xl_gemm g = {XL_GEMM_INIT};                           C11, C++11 and later
 *   g.m = m;
 *
 * A call takes the descriptor of an application that was built with older
 * headers, whose size is less: members that it lacks are 0. It takes that of
 * newer headers as long as the members that the library lacks are 0. Any other
 * size, such as 0 where the initialiser was left out, is XL_BAD_ARGUMENT.
 * Structs within descriptors, such as xl_mat, have no size and do not grow
 * within a soname. */
#ifndef CROSSLANE_SIZED_H
#define CROSSLANE_SIZED_H

#include <stddef.h>

#include <crosslane/status.h>

#if defined(__cplusplus) && !defined(__cpp_designated_initializers)
#define XL_SIZED(type) sizeof(type)
#else
#define XL_SIZED(type) .size = sizeof(type)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** A member of a public struct, as this library was compiled. Bindings of
 *  languages that do not read headers make their structs from these, or compare
 *  theirs. */
typedef struct xl_member {
    const char *in;       ///< the struct's name: "xl_gemm"
    size_t in_bytes;      ///< the struct's size
    const char *name;     ///< "alpha"
    const char *type;     ///< as in the header, "double", "const xl_sizes *";
                          ///< of an array that of an element; "(*)": a
                          ///< function
    size_t offset, bytes; ///< in the struct; of an array, of all elements
} xl_member;

/** Member @p i of all public structs, those of a struct one after another in
 *  the order of its header; NULL past the last. Static. */
XL_API const xl_member *xl_member_at(unsigned i);

#ifdef __cplusplus
}
#endif
#endif
