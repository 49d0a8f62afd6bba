/* SPDX-License-Identifier: Apache-2.0 */
/* The host program of a report: what was recorded as tables, then the code
 * that runs them, which is the same in all reports. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/bug/folder.h"

/* -- C ---------------------------------------------------------------------
 */

/* A string literal. */
static void add_string(struct xl__str *out, const char *text)
{
    xl__str_add(out, "\"");
    for (; *text; text++)
        xl__str_printf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c",
                       *text);
    xl__str_add(out, "\"");
}

static void add_real(struct xl__str *out, double x)
{
    if (isfinite(x))
        xl__str_printf(out, "%.17g", x);
    else
        xl__str_add(out, isnan(x) ? "NAN" : x > 0 ? "INFINITY" : "-INFINITY");
}

/* The elements of a table, several on a line. */
struct filler {
    struct xl__str *out;
    size_t line; /* where it begins */
};

static void fill(struct filler *f, const char *text)
{
    enum { WIDTH = 138 };
    if (f->out->len - f->line + strlen(text) + 2 > WIDTH) {
        xl__str_add(f->out, "\n   ");
        f->line = f->out->len - 3;
    }
    xl__str_printf(f->out, " %s,", text);
}

static struct filler begin_table(struct xl__str *out, const char *declaration)
{
    xl__str_printf(out, "static const %s[] = {\n   ", declaration);
    return (struct filler){out, out->len - 3};
}

static void end_table(struct xl__str *out)
{
    xl__str_add(out, "};\n");
}

/* -- the tables ------------------------------------------------------------
 */

static void add_programs(const struct bug *b, struct xl__str *out)
{
    struct filler f =
        begin_table(out, "struct { const char *file; int is_binary; "
                         "const char *options; } program");
    for (size_t i = 0; i < b->call->n_programs; i++) {
        char name[BUG_NAME_CAP];
        struct xl__str row = {0}, options = {0};
        bug_program_file(b, i, name);
        bug_program_options(b, i, &options);
        xl__str_printf(&row, "{\"%s\", %d, ", name,
                       b->call->program[i].binary != NULL);
        add_string(&row, xl__str_text(&options));
        xl__str_add(&row, "}");
        fill(&f, xl__str_text(&row));
        xl__str_clear(&row);
        xl__str_clear(&options);
    }
    end_table(out);
}

static void add_buffers(const struct bug *b, struct xl__str *out)
{
    char row[96];
    struct filler f = begin_table(
        out, "struct { size_t bytes; int is_filled; unsigned long long fill; }"
             " buffer");
    for (size_t i = 0; i < b->call->n_buffers; i++) {
        uint64_t word;
        const struct recorded_buffer *x = &b->call->buffer[i];
        const bool is_filled = recorded_is_filled(x, &word);
        snprintf(row, sizeof row, "{%zu, %d, 0x%" PRIx64 "}", x->bytes,
                 is_filled, is_filled ? word : 0);
        fill(&f, row);
    }
    end_table(out);
}

/* Values of up to 8 bytes are in the row itself, on a host that stores the
 * lowest byte first. */
static void add_arguments(const struct bug *b, struct xl__str *out)
{
    static const char kinds[] = {'w', 'b', 'l', '0'};
    char row[96];
    struct filler f = begin_table(out, "unsigned long long word");
    fill(&f, "0");
    for (size_t i = 0; i < b->call->n_args; i++) {
        const struct recorded_arg *a = &b->call->arg[i];
        if (a->kind != ARG_WORDS || a->bytes <= sizeof(uint64_t))
            continue;
        for (size_t k = 0; k * sizeof(uint64_t) < a->bytes; k++) {
            snprintf(row, sizeof row, "0x%" PRIx64, b->call->word[a->at + k]);
            fill(&f, row);
        }
    }
    end_table(out);
    size_t n_words = 1;
    f = begin_table(out, "struct { char kind; /* a value, words, a buffer, "
                         "local memory, no buffer */\n"
                         "    size_t bytes; unsigned long long at; } arg");
    for (size_t i = 0; i < b->call->n_args; i++) {
        const struct recorded_arg *a = &b->call->arg[i];
        const bool is_words = a->kind == ARG_WORDS;
        const bool is_value = is_words && a->bytes <= sizeof(uint64_t);
        const uint64_t at = is_value   ? b->call->word[a->at]
                            : is_words ? n_words
                                       : a->at;
        snprintf(row, sizeof row, "{'%c', %zu, %" PRIu64 "}",
                 is_value ? 'v' : kinds[a->kind], a->bytes, at);
        fill(&f, row);
        if (is_words && !is_value)
            n_words += (a->bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    }
    if (b->call->n_args == 0)
        fill(&f, "{'0', 0, 0}");
    end_table(out);
}

static void add_sizes(struct xl__str *out, const size_t size[3])
{
    xl__str_printf(out, ", {%zu, %zu, %zu}", size[0], size[1], size[2]);
}

static void add_launches(const struct bug *b, struct xl__str *out)
{
    struct filler f = begin_table(
        out, "struct { size_t program; const char *kernel; cl_uint dims; "
             "size_t offset[3], global[3], local[3], first_arg; "
             "cl_uint n_args; }\nlaunch");
    for (size_t i = 0; i < b->call->n_launches; i++) {
        struct xl__str row = {0};
        const struct recorded_launch *x = &b->call->launch[i];
        xl__str_printf(&row, "{%zu, \"%s\", %u", x->program, x->kernel,
                       x->dims);
        add_sizes(&row, x->offset);
        add_sizes(&row, x->global);
        add_sizes(&row, x->local);
        xl__str_printf(&row, ", %zu, %zu}", x->first_arg, x->n_args);
        fill(&f, xl__str_text(&row));
        xl__str_clear(&row);
    }
    end_table(out);
}

/* -- the wrong element -----------------------------------------------------
 */

/* How the host reads an element; a type of its own is decoded. */
static const char *element_type(xl_dtype dtype)
{
    switch (dtype) {
    case XL_F64:
        return "double";
    case XL_I32:
        return "int";
    case XL_I8:
        return "signed char";
    case XL_F32:
        return "float";
    case XL_F16:
    case XL_BF16:
    case XL_U16:
        return "unsigned short";
    case XL_I64:
        return "long long";
    case XL_U32:
        return "unsigned";
    default:
        return "unsigned char";
    }
}

static const char decode[] =
    "static double decode(unsigned bits, int exponent, int mantissa)\n"
    "{\n"
    "    const int most = (1 << exponent) - 1, e = (int)(bits >> mantissa) & "
    "most;\n"
    "    const unsigned m = bits & ((1u << mantissa) - 1);\n"
    "    const double x = e == most ? (m ? (double)NAN : (double)INFINITY)\n"
    "        : ldexp(m + (e ? 1u << mantissa : 0u), (e ? e : 1) - most / 2 - "
    "mantissa);\n"
    "    return bits >> (exponent + mantissa) & 1 ? -x : x;\n"
    "}\n";

static void add_element(const struct bug *b, struct xl__str *out)
{
    const struct wrong_element *e = &b->found->first;
    const char *type = element_type(e->dtype);
    const bool is_narrow = e->dtype == XL_F16 || e->dtype == XL_BF16;
    if (is_narrow)
        xl__str_add(out, decode);
    xl__str_printf(out,
                   "typedef %s element;\n"
                   "static double value(const void *bytes)\n"
                   "{\n    element x;\n"
                   "    return memcpy(&x, bytes, sizeof x), %s;\n}\n",
                   type,
                   e->dtype == XL_F16    ? "decode(x, 5, 10)"
                   : e->dtype == XL_BF16 ? "decode(x, 8, 7)"
                                         : "(double)x");
    xl__str_printf(out,
                   "static const struct { size_t buffer, at; int is_outside; "
                   "double expected, tolerance; } wrong = {%zu, %zu, %d, ",
                   record_find(b->call, e->mem), e->at, e->is_outside);
    add_real(out, e->expected);
    xl__str_add(out, ", ");
    add_real(out, e->tol);
    xl__str_add(out, "};\n");
}

void bug_host_program(const struct bug *b, struct xl__str *out)
{
    xl_fact name;
    xl__str_add(
        out,
        "/* Runs kernels whose result was wrong, and looks at one element: "
        "README.txt. The exit code is\n"
        " * 1 where it is wrong, 0 where it is right, 2 where the program "
        "cannot run. */\n"
        "#define CL_TARGET_OPENCL_VERSION 120\n"
        "#include <CL/cl.h>\n#include <math.h>\n#include <stdio.h>\n"
        "#include <stdlib.h>\n#include <string.h>\n"
        "#define COUNT(table) (sizeof(table) / sizeof *(table))\n"
        "#define CREATE(p, c, d, n, t) ((p).is_binary ? "
        "clCreateProgramWithBinary(c, 1, d, n, t, 0, 0) \\\n"
        "                               : clCreateProgramWithSource(c, 1, t, "
        "n, 0))\n"
        "static const char device_name[] = ");
    if (xl_device_fact(b->dev, "name", XL_UNKNOWN, &name) != XL_OK)
        name.text = NULL;
    add_string(out, name.text ? name.text : "");
    xl__str_add(out, ";\n");
    add_programs(b, out);
    add_buffers(b, out);
    add_arguments(b, out);
    add_launches(b, out);
    add_element(b, out);
    xl__str_add(out, (const char *)bug_texts[0].text);
}
