/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the language: functions, operators, constants and types. */
#ifndef XL_EXPR_FUNCTIONS_H
#define XL_EXPR_FUNCTIONS_H

#include "expr/language/tree.h"

struct xl__function {
    const char *name;
    enum xl__op_class cls;
    enum xl__expr_op op; /* when row is XL__ROW_NONE */
    enum xl__row_function row;
    unsigned n_args;
};

/* Find the function or operator of this name that takes n_args; another one of
 * the same name when none does; NULL when the name is unknown. */
const struct xl__function *xl__function_find(const char *name, size_t len,
                                             unsigned n_args);
/* Does the function take axis=? */
bool xl__function_has_axes(const struct xl__function *f);

/* Find pi, inf, nan, true or false; *out is a node without a location. False:
 * the name is none of them. */
bool xl__constant_find(const char *name, size_t len,
                       struct xl__tree_node *out);

/* The types that expressions compute with, for messages that end in " or
 * bool".
 */
#define XL__EXPR_TYPES "f64, f32, f16, bf16, i64, i32, i8, u32, u16, u8"
bool xl__is_expr_type(xl_dtype dtype);
/* The types of a bound scalar. */
#define XL__SCALAR_TYPES "f64, f32, i64 or i32"
bool xl__is_scalar_type(xl_dtype dtype);
/* Find one of them by its name. */
bool xl__type_find(const char *name, size_t len, xl_dtype *out);

/* Is the name transpose, permute or reshape? */
bool xl__is_view_function(const char *name, size_t len);

/* Is the name None, a new axis of a slice? */
bool xl__is_none(const char *name, size_t len);

/* Is the name reserved by the language, so that it cannot be bound or
 * assigned? */
bool xl__is_reserved(const char *name, size_t len);

/* What to write instead of a function of NumPy, torch or C that has another
 * name here, or none: "clamp(x, low, high)" for clip. NULL: unknown. */
const char *xl__function_instead(const char *name, size_t len);
/* The function whose name is nearest to a misspelt one, for a hint; NULL when
 * none is near. Static. */
const char *xl__nearest_function(const char *name, size_t len);

#endif
