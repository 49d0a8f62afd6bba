/* SPDX-License-Identifier: Apache-2.0 */
/* Construction of steps: arguments, -D options, an epilogue. What does not fit
 * into the struct is recorded in it, and such a step is not built. */
#include "runtime/epilogue.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "runtime/tuned/tuned_sets.h"

static void append_arg(struct xl__step *s, struct xl__arg arg)
{
    if (s->n_args < XL__MAX_ARGS)
        s->args[s->n_args++] = arg;
    else
        s->exceeds = "arguments";
}

static double count_items(const struct xl__step *step)
{
    double items = 1;
    for (unsigned d = 0; d < step->dims; d++)
        items *= (double)step->global[d];
    return items;
}

bool xl__step_leads(const struct xl__step *step, const struct xl__step *than)
{
    if (step->external)
        return false;
    if (!than || step->is_aid != than->is_aid)
        return !than || than->is_aid;
    return count_items(step) > count_items(than);
}

void xl__plan_destroy(struct xl__plan *plan)
{
    while (plan) {
        struct xl__plan *next = plan->next;
        if (plan->own)
            plan->clear_own(plan->own);
        free(plan);
        plan = next;
    }
}

double xl__plan_est_ns(const struct xl__plan *plan)
{
    double ns = 0;
    for (; plan; plan = plan->next)
        ns += plan->est_ns;
    return ns;
}

xl_status xl__plan_check(const struct xl__plan *plan, struct xl__error *e)
{
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct xl__step *s = &plan->step[i];
        if (s->exceeds)
            return xl__error_set(e, XL_UNSUPPORTED,
                                 "%s has more %s than a step can hold",
                                 s->kernel, s->exceeds);
    }
    return XL_OK;
}

struct xl__step *xl__plan_add(struct xl__plan *p, const char *source,
                              const char *kernel, size_t items, size_t wg)
{
    struct xl__step *s = &p->step[p->n_steps++];
    s->source = source;
    s->kernel = kernel;
    s->dims = 1;
    s->global[0] = items;
    s->local[0] = wg;
    s->slice_dim = 0;
    return s;
}

void xl__step_set_3d(struct xl__step *s, size_t wg, size_t x, size_t y,
                     size_t z)
{
    s->dims = 3;
    s->local[0] = wg;
    s->local[1] = s->local[2] = 1;
    s->global[0] = xl__round_up(x, wg);
    s->global[1] = y;
    s->global[2] = z;
}

void xl__arg_mem(struct xl__step *s, unsigned slot)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_MEM, .slot = slot});
}

void xl__arg_value_f32(struct xl__step *s, unsigned slot)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_VALUE_F32, .slot = slot});
}

void xl__arg_value_f64(struct xl__step *s, unsigned slot)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_VALUE_F64, .slot = slot});
}

void xl__arg_value_i32(struct xl__step *s, unsigned slot)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_VALUE_I32, .slot = slot});
}

void xl__arg_value_i64(struct xl__step *s, unsigned slot)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_VALUE_I64, .slot = slot});
}

void xl__arg_value_u32(struct xl__step *s, unsigned slot)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_VALUE_U32, .slot = slot});
}

void xl__arg_value_u64(struct xl__step *s, unsigned slot)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_VALUE_U64, .slot = slot});
}

void xl__arg_u32(struct xl__step *s, size_t v)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_U32, .as.u = v});
}

void xl__arg_u64(struct xl__step *s, size_t v)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_U64, .as.u = v});
}

void xl__arg_f32(struct xl__step *s, double v)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_F32, .as.f = v});
}

void xl__arg_coords(struct xl__step *s, unsigned slot, size_t line,
                    uint32_t at, uint32_t at_line)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_COORDS,
                                   .slot = slot,
                                   .as.at = {at, at_line},
                                   .line = line});
}

void xl__arg_local(struct xl__step *s, size_t bytes)
{
    append_arg(s, (struct xl__arg){.kind = XL__ARG_LOCAL, .as.u = bytes});
}

void xl__arg_words(struct xl__step *s, size_t n)
{
    if (n > XL__MAX_WORDS)
        s->exceeds = "words of an argument";
    append_arg(s, (struct xl__arg){.kind = XL__ARG_WORDS, .as.u = n});
}

/* Appends at *end; what does not fit makes the step invalid. */
static void append_option(struct xl__step *s, size_t *end, const char *text)
{
    while (*text && *end + 1 < sizeof s->options)
        s->options[(*end)++] = *text++;
    if (*text)
        s->exceeds = "options";
    s->options[*end] = '\0';
}

void xl__step_add_option(struct xl__step *s, const char *option)
{
    size_t end = strlen(s->options);
    append_option(s, &end, " ");
    append_option(s, &end, option);
}

/* Without snprintf(), which takes most of the time of a plan. */
void xl__define(struct xl__step *s, const char *name, long value)
{
    char digits[3 * sizeof value + 1];
    size_t n = sizeof digits - 1, end = strlen(s->options);
    unsigned long rest =
        value < 0 ? 0 - (unsigned long)value : (unsigned long)value;
    digits[n] = '\0';
    do
        digits[--n] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        digits[--n] = '-';
    append_option(s, &end, " -D");
    append_option(s, &end, name);
    append_option(s, &end, "=");
    append_option(s, &end, digits + n);
}

void xl__define_all(struct xl__step *s, const struct xl__defined *all,
                    size_t n)
{
    for (size_t i = 0; i < n; i++)
        xl__define(s, all[i].name, (long)all[i].value);
}

void xl__define_choice(struct xl__step *s, const char *name,
                       const char *choice)
{
    size_t end = strlen(s->options);
    if (!*choice)
        return;
    append_option(s, &end, " -D");
    append_option(s, &end, name);
    append_option(s, &end, "_");
    for (; *choice; choice++) {
        const char letter[2] = {(char)toupper((unsigned char)*choice), '\0'};
        append_option(s, &end, letter);
    }
    append_option(s, &end, "=1");
}

void xl__define_dot(struct xl__step *s, const char *way)
{
    if (xl__streq(way, "khr"))
        xl__step_add_option(s, "-cl-std=CL3.0");
    xl__define_choice(s, "XL_DOT", way);
}

void xl__define_cooperative(struct xl__step *s, const xl_matrix_op *op)
{
    const struct xl__defined shape[] = {{"COOP_M", op->m},
                                        {"COOP_N", op->n},
                                        {"COOP_K", op->k},
                                        {"COOP_LANES", op->lanes}};
    xl__define_all(s, shape, sizeof shape / sizeof *shape);
    if (xl__streq(op->code, "cooperative"))
        xl__step_add_option(s, "-cl-std=CL3.0");
}

/* The dimensions of a kernel's rows and columns. */
static unsigned along_rows(bool swapped)
{
    return swapped ? XL__ALONG_COLS : XL__ALONG_ROWS;
}

static unsigned along_cols(bool swapped)
{
    return swapped ? XL__ALONG_ROWS : XL__ALONG_COLS;
}

static void define_of(struct xl__step *s, char letter, const char *along,
                      unsigned k, long value)
{
    char name[16];
    xl__strfmt(name, sizeof name, "%c%s%u", letter, along, k);
    xl__define(s, name, value);
}

/* Tensor k: its layout and the strides that this does not give (epilogue.h),
 * `from` being the value slot of the first of them. */
static void arg_view(struct xl__step *s, char letter, unsigned k,
                     const struct xl__epilogue_operand *o, unsigned from,
                     bool has_outer, bool swapped)
{
    enum { STRIDED = 2, ALIGNED };
    const unsigned rows = along_rows(swapped), cols = along_cols(swapped);
    const bool by_product = o->stride[XL__ALONG_BATCH] > 0 ||
                            (has_outer && o->stride[XL__ALONG_OUTER] > 0);
    const size_t step = o->stride[cols];
    define_of(s, letter, "", k,
              step > 1                     ? STRIDED
              : step == 1 && o->is_aligned ? ALIGNED
                                           : (long)step);
    define_of(s, letter, "I", k, o->stride[rows] > 0);
    define_of(s, letter, "Z", k, by_product);
    if (by_product)
        xl__arg_value_u64(s, from + XL__ALONG_BATCH);
    if (by_product && has_outer)
        xl__arg_value_u64(s, from + XL__ALONG_OUTER);
    if (o->stride[rows] > 0)
        xl__arg_value_u64(s, from + rows);
    if (step > 1)
        xl__arg_value_u64(s, from + cols);
}

unsigned xl__epilogue_fetched(const struct xl__epilogue_text *s, bool swapped)
{
    unsigned n = 0;
    for (unsigned k = 0; s && k < s->n_operands; k++) {
        const struct xl__epilogue_operand *o = &s->operand[k];
        n += xl__epilogue_is_fetched(o->dtype, o->is_scalar) &&
             o->stride[along_rows(swapped)] == 0 &&
             o->stride[along_cols(swapped)] > 0;
    }
    return n;
}

void xl__arg_epilogue(struct xl__step *s, const struct xl__epilogue_text *text,
                      unsigned mem, unsigned value, size_t inner, bool swapped)
{
    if (!text)
        return;
    const struct xl__hook_words *words = &xl__hook_words[text->hook];
    s->hook[text->hook] = text;
    xl__define(s, words->define, 1);
    if (inner > 0) {
        xl__define(s, "EO", 1);
        xl__arg_u64(s, inner);
    }
    for (unsigned k = 0; k < text->n_operands; k++) {
        const struct xl__epilogue_operand *o = &text->operand[k];
        const unsigned at = value + k * XL__EPILOGUE_VALUES + XL__EPILOGUE_AT;
        if (o->is_scalar) {
            if (o->dtype == XL_I32)
                xl__arg_value_i32(s, at);
            else
                xl__arg_value_f32(s, at);
            continue;
        }
        xl__arg_mem(s, mem + k);
        xl__arg_value_u64(s, at);
        arg_view(s, words->layout, k, o, at + XL__EPILOGUE_STRIDE, inner > 0,
                 swapped);
    }
}

/* Does an earlier step have the same source file? */
static bool is_repeated(const struct xl__plan *plan, unsigned i)
{
    for (unsigned k = 0; k < i; k++) {
        if (xl__streq(plan->step[k].source, plan->step[i].source))
            return true;
    }
    return false;
}

xl_status xl__plan_sources(const struct xl__tuned_sets *db,
                           const struct xl__plan *plan, char *out, size_t cap,
                           struct xl__error *e)
{
    xl_status status = XL_OK;
    struct xl__str list = {0};
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct xl__step *step = &plan->step[i];
        uint64_t hash = 0;
        /* External steps and generated text have no source file. */
        if (step->external || step->text || is_repeated(plan, i))
            continue;
        TRY(xl__tuned_source_hash(db, step->source, &hash, e));
        xl__str_printf(&list, "%s%s:%016llx", list.len > 0 ? " " : "",
                       step->source, (unsigned long long)hash);
    }
    if (list.broken)
        TRY(xl__error_set(e, XL_NO_MEMORY, "the sources of a plan"));
    if (list.len >= cap)
        TRY(xl__error_set(e, XL_OVERFLOW,
                          "the sources of a plan take %zu bytes, a tuned set "
                          "has room for %zu: %s",
                          list.len + 1, cap, xl__str_text(&list)));
    xl__strcpy(out, cap, xl__str_text(&list));
fail:
    xl__str_clear(&list);
    return status;
}
