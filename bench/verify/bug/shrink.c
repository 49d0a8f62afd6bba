/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/bug/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "verify/bug/source.h"

enum { MOST_BUILDS = 60 }; /* of one program */

struct shrinking {
    struct session *s;
    const struct bug *b;
    struct record *call;
    size_t program;         /* which is made smaller */
    const char *options;    /* of its build, without macros */
    size_t result, n_bytes; /* the wrong buffer */
    unsigned char *expected, *now;
    unsigned n_builds;
};

/* -- a call again ----------------------------------------------------------
 */

static cl_program create(struct shrinking *w, const char *text)
{
    cl_int code;
    cl_program p = clCreateProgramWithSource(xl_queue_context(w->call->q), 1,
                                             &text, NULL, &code);
    return code == CL_SUCCESS ? p : NULL;
}

static bool compile(struct shrinking *w, cl_program p)
{
    const cl_device_id device = xl_device_cl(w->b->dev);
    progress_step(w->s, "smaller source");
    w->n_builds++;
    return clBuildProgram(p, 1, &device, w->options, NULL, NULL) == CL_SUCCESS;
}

static cl_program build(struct shrinking *w, const char *text)
{
    cl_program p = create(w, text);
    if (p && !compile(w, p)) {
        clReleaseProgram(p);
        p = NULL;
    }
    return p;
}

static cl_int enqueue(const struct record *r, const struct recorded_launch *x,
                      cl_program program, const cl_mem *mem)
{
    cl_int code;
    cl_kernel k = clCreateKernel(program, x->kernel, &code);
    if (code != CL_SUCCESS)
        return code;
    for (cl_uint i = 0; code == CL_SUCCESS && i < x->n_args; i++) {
        const struct recorded_arg *a = &r->arg[x->first_arg + i];
        const void *value = a->kind == ARG_WORDS    ? (void *)&r->word[a->at]
                            : a->kind == ARG_BUFFER ? (const void *)&mem[a->at]
                                                    : NULL;
        code = clSetKernelArg(k, i, a->bytes, value);
    }
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(
            xl_queue_cl(r->q), k, x->dims, x->offset, x->global,
            x->local[0] > 0 ? x->local : NULL, 0, NULL, NULL);
    clReleaseKernel(k);
    return code;
}

/* Run the launches on buffers of their own, with `program` for the one that is
 * made smaller; w->now is the result. */
static bool replay(struct shrinking *w, cl_program program)
{
    const struct record *r = w->call;
    cl_int code = CL_SUCCESS;
    cl_mem *mem = xl__calloc(r->n_buffers, sizeof *mem);
    for (size_t i = 0; mem && code == CL_SUCCESS && i < r->n_buffers; i++)
        mem[i] =
            clCreateBuffer(xl_queue_context(r->q), CL_MEM_COPY_HOST_PTR,
                           r->buffer[i].bytes, r->buffer[i].before, &code);
    for (size_t i = 0; mem && code == CL_SUCCESS && i < r->n_launches; i++) {
        const size_t at = r->launch[i].program;
        code = enqueue(r, &r->launch[i],
                       at == w->program ? program : r->program[at].cl, mem);
    }
    if (mem && code == CL_SUCCESS)
        code = clEnqueueReadBuffer(xl_queue_cl(r->q), mem[w->result], CL_TRUE,
                                   0, w->n_bytes, w->now, 0, NULL, NULL);
    (void)clFinish(xl_queue_cl(r->q));
    for (size_t i = 0; mem && i < r->n_buffers; i++)
        if (mem[i])
            clReleaseMemObject(mem[i]);
    const bool has_run = mem && code == CL_SUCCESS;
    free(mem);
    return has_run;
}

static bool is_same(struct shrinking *w, cl_program program)
{
    return replay(w, program) && memcmp(w->now, w->expected, w->n_bytes) == 0;
}

static bool text_is_same(struct shrinking *w, const struct xl__str *text)
{
    cl_program p = text->broken ? NULL : build(w, xl__str_text(text));
    const bool is = p && is_same(w, p);
    if (p)
        clReleaseProgram(p);
    return is;
}

/* -- smaller ---------------------------------------------------------------
 */

/* Take in what the compiler lacks, build by build; the text is in *out,
 * whether it can be built or not. */
static void reach(struct shrinking *w, struct source_parts *p,
                  struct xl__str *out)
{
    for (bool is_more = true; is_more;) {
        char *log = NULL;
        xl__str_reset(out);
        source_reach(p, out);
        cl_program program = create(w, xl__str_text(out));
        if (program && !compile(w, program))
            log = build_text(program, xl_device_cl(w->b->dev),
                             CL_PROGRAM_BUILD_LOG);
        if (program)
            clReleaseProgram(program);
        is_more = log && source_want(p, log) > 0 && w->n_builds < MOST_BUILDS;
        free(log);
    }
}

/* Parts without a name, calls of macros above all, stay only where the result
 * needs them. */
static void drop_unnamed(struct shrinking *w, struct source_parts *p)
{
    for (size_t i = p->n; i-- > 0 && w->n_builds < MOST_BUILDS;) {
        struct xl__str text = {0};
        if (p->at[i].name || session_stopped(w->s))
            continue;
        p->at[i].is_wanted = false;
        source_reach(p, &text);
        p->at[i].is_wanted = !text_is_same(w, &text);
        xl__str_clear(&text);
    }
}

/* *text without what its kernels do not reach, if the result is the same. */
static void shrink_parts(struct shrinking *w, struct xl__str *text)
{
    struct source_parts parts = {.n = 0};
    struct xl__str smaller = {0};
    if (source_split(xl__str_text(text), &parts)) {
        for (size_t i = 0; i < w->call->n_launches; i++)
            if (w->call->launch[i].program == w->program)
                (void)source_want(&parts, w->call->launch[i].kernel);
        reach(w, &parts, &smaller);
        if (text_is_same(w, &smaller)) {
            drop_unnamed(w, &parts);
            xl__str_reset(&smaller);
            source_reach(&parts, &smaller);
        }
    }
    source_clear(&parts); /* they are of *text */
    if (smaller.len > 0 && text_is_same(w, &smaller)) {
        const struct xl__str larger = *text;
        *text = smaller;
        smaller = larger;
    }
    xl__str_clear(&smaller);
}

/* *text without the branches that the compiler does not take; false: the
 * compiler does not state them. */
static bool resolve(struct shrinking *w, const char *text, struct xl__str *out)
{
    struct xl__str bare = {0}, marked = {0};
    char *names = NULL;
    source_strip(text, &bare);
    source_mark(xl__str_text(&bare), &marked);
    cl_program p = marked.broken ? NULL : build(w, xl__str_text(&marked));
    if (p) {
        names = program_text(p, CL_PROGRAM_KERNEL_NAMES);
        clReleaseProgram(p);
    }
    if (names)
        source_take(xl__str_text(&bare), names, out);
    free(names);
    xl__str_clear(&marked);
    xl__str_clear(&bare);
    return out->len > 0;
}

static void shrink_program(struct shrinking *w)
{
    struct recorded_program *p = &w->call->program[w->program];
    char *rest;
    struct xl__str text = {0}, options = {0}, smaller = {0};
    bug_program_text(w->b, w->program, &text);
    bug_program_options(w->b, w->program, &options);
    w->options = xl__str_text(&options);
    w->n_builds = 0;
    if (!text.broken && !options.broken &&
        resolve(w, xl__str_text(&text), &smaller) &&
        text_is_same(w, &smaller) && (rest = xl__strdup(w->options))) {
        shrink_parts(w, &smaller);
        free(p->source);
        free(p->options);
        p->n_bytes = smaller.len;
        p->source = xl__str_steal(&smaller);
        p->options = rest;
    }
    xl__str_clear(&smaller);
    xl__str_clear(&options);
    xl__str_clear(&text);
}

void bug_shrink_sources(struct session *s, struct record *call,
                        const struct bug *b)
{
    struct shrinking w = {.s = s, .b = b, .call = call};
    w.result = record_find(call, b->found->first.mem);
    w.n_bytes = call->buffer[w.result].bytes;
    w.expected = xl__calloc(w.n_bytes, 1);
    w.now = xl__calloc(w.n_bytes, 1);
    w.program = call->n_programs; /* none */
    if (w.expected && w.now && replay(&w, NULL)) {
        memcpy(w.expected, w.now, w.n_bytes);
        for (w.program = 0; w.program < call->n_programs; w.program++)
            if (!call->program[w.program].binary &&
                is_same(&w, call->program[w.program].cl))
                shrink_program(&w);
    }
    free(w.expected);
    free(w.now);
}
