/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/expr/text/random_statements.h"

#include <string.h>

#include "lib/expr/text/expr_bind.h"

enum { MAX_DEPTH = 4 };

/* Names that are read; all broadcast with one another. */
static const char *const leaves[] = {"x",
                                     "y",
                                     "z",
                                     "w",
                                     "u",
                                     "h",
                                     "k",
                                     "a",
                                     "n",
                                     "x",
                                     "y",
                                     "2",
                                     "0.5",
                                     "3",
                                     "s[:4,:4]",
                                     "s[4:,4:]",
                                     "s[::2,1::2]",
                                     "s[1::2,4:]",
                                     "permute(x, 2, 1, 0)",
                                     "permute(y, 0, 2, 1)",
                                     "rand(7)",
                                     "w[k - 4]",
                                     "v[n]",
                                     "h[:, :, k[0, 0] - 2]",
                                     "(h * 2)[::-1, k[1, 2]]",
                                     "v[0]",
                                     "v[2]"};
static const char *const unary[] = {"-",      "abs(", "sqrt(abs(1)+", "exp(-",
                                    "floor(", "sin(", "gelu(",        "relu("};
static const char *const binary[] = {" + ", " - ", " * ", " / ", " * "};
static const char *const reductions[] = {
    "sum(",    "mean(",   "var(",       "max(",   "min(",
    "argmin(", "argmax(", "logsumexp(", "norm2(", "softmax("};
static const char *const full[] = {"x * ", "h + ", "k - ", "y / 2 + "};
/* Views of a value with three dimensions: before and after it. */
static const char *const views[][2] = {
    {"(", ")[::-1, :, ::-1]"},
    {"permute(", ", 1, 2, 0)"},
    {"reshape(permute(", ", 2, 1, 0), 4, 4, 4)"},
    {"reshape((", ")[..., None], 1, -1)[0, :4]"},
    {"(", ")[1, 2:3, None]"}};
static const char *const axes[] = {"", ", axis=-1", ", axis=0", ", axis=1",
                                   ", axis=(0,2)"};
/* What is assigned, and how much of it. */
static const char *const targets[] = {
    "x = ",          "p = ",  "o = ",       "s[:4,:4] = ", "s[4:,4:] = ",
    "s[::2,::2] = ", "o8 = ", "oi = cast(", "q = sum(x *", "r = max(y +",
    "t1 = ",         "t2 = ", "t1 = ",      "y = "};
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define PICK(rng, a) ((a)[xl__rng_below(rng, COUNT(a))])

static void random_term(struct xl__rng *r, unsigned depth, unsigned n_temps,
                        struct xl__str *out)
{
    const uint64_t kind = depth == 0 ? 0 : xl__rng_below(r, 11);
    if (kind < 2 && n_temps > 0 && xl__rng_below(r, 2)) {
        xl__str_printf(out, "t%u", (unsigned)xl__rng_below(r, n_temps) + 1);
    } else if (kind < 2) {
        xl__str_add(out, PICK(r, leaves));
    } else if (kind < 4) {
        const char *f = PICK(r, unary);
        xl__str_printf(out, "(%s", f);
        random_term(r, depth - 1, n_temps, out);
        xl__str_add(out, strchr(f, '(') ? "))" : ")");
    } else if (kind < 8) {
        xl__str_add(out, "(");
        random_term(r, depth - 1, n_temps, out);
        xl__str_add(out, PICK(r, binary));
        random_term(r, depth - 1, n_temps, out);
        xl__str_add(out, ")");
    } else if (kind == 10) {
        const char *const *view = PICK(r, views);
        xl__str_printf(out, "%s%s", view[0], PICK(r, full));
        random_term(r, depth - 1, n_temps, out);
        xl__str_add(out, view[1]);
    } else {
        const char *f = PICK(r, reductions);
        /* With all three dimensions, so that every axis exists. */
        xl__str_printf(out, "%s%s", f, PICK(r, full));
        random_term(r, depth - 1, n_temps, out);
        xl__str_add(out, f[1] == 'o' ? "" : PICK(r, axes));
        xl__str_add(out, ")");
    }
}

void random_statements_text(struct xl__rng *r, struct xl__str *out)
{
    const uint64_t n = 1 + xl__rng_below(r, 5);
    unsigned n_temps = 0;
    for (uint64_t i = 0; i < n; i++) {
        const char *to = PICK(r, targets);
        if (to[0] == 't')
            to = n_temps == 0 ? "t1 = " : "t2 = ";
        xl__str_add(out, to);
        random_term(r, MAX_DEPTH, n_temps, out);
        xl__str_add(out, strstr(to, "cast") ? ", i32)"
                         : to[0] == 'q'     ? ", axis=1)"
                         : to[0] == 'r'     ? ", axis=(0,2))"
                                            : "");
        xl__str_add(out, "; ");
        n_temps = to[0] == 't' ? (to[1] == '1' ? 1 : 2) : n_temps;
    }
    xl__str_add(out, "o = x * 2 + ");
    random_term(r, MAX_DEPTH, n_temps, out);
}

/* A bound name that the text does not use is an error, so it is left out. */
void random_statements_bind(struct xl__rng *r, const char *text,
                            struct xl__signature *s)
{
    static const char *const specs[] = {
        "x:f32[4,4,4]", "y:f32[4,4,4]",  "z:f32[4,1,4]",  "w:f32[4]",
        "u:f32[4,4,1]", "h:f16[4,4,4]",  "k:i32[4,4,4]",  "a:f32",
        "n:i32",        "s:f32[8,8,4]",  "v:f32[3,4]",    "p:f32[4,4,4]",
        "o:f32[4,4,4]", "o8:f16[4,4,4]", "oi:i32[4,4,4]", "q:f32[4,1,4]",
        "r:f32[1,4,1]"};
    struct xl__str spec = {0};
    for (size_t i = 0; i < COUNT(specs); i++) {
        const size_t len = strcspn(specs[i], ":");
        const char *at = text;
        while ((at = strchr(at, specs[i][0])) != NULL) {
            const bool starts = at == text || !strchr("abcdefghijklmnopqrst"
                                                      "uvwxyz128",
                                                      at[-1]);
            if (starts && strncmp(at, specs[i], len) == 0 &&
                (at[len] == 0 ||
                 !strchr("abcdefghijklmnopqrstuvwxyz128(", at[len])))
                break;
            at++;
        }
        if (at)
            xl__str_printf(&spec, "%s%s", spec.len ? " " : "", specs[i]);
    }
    test_bind(xl__str_text(&spec), s);
    for (unsigned i = 1; i < s->n; i++)
        if (memcmp(s->b[i].size, s->b[0].size, sizeof s->b[i].size) == 0 &&
            s->b[i].dtype == s->b[0].dtype && xl__rng_below(r, 4) == 0)
            s->b[i].same_as = 0;
    xl__str_clear(&spec);
}
