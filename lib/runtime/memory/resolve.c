/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of operands. OpenCL allows no sub-buffer of a sub-buffer, so the
 * parent of one is the root. Memory that the application provides
 * (CL_MEM_USE_HOST_PTR) is a region of the host's address space, as SVM is:
 * its alignment is that of its address, and two buffers over it can overlap.
 * Everything else begins at a multiple of 128 bytes, which OpenCL guarantees
 * (CL_DEVICE_MEM_BASE_ADDR_ALIGN). */
#include "runtime/memory/resolve.h"

#include "base/alloc.h"
#include "device/cl_info.h"

/* -- buffers -------------------------------------------------------------- */

/* The entry of a buffer, or the one that it may take. */
static struct xl__met_buffer *find_entry(struct xl__memory *m, cl_mem mem)
{
    enum { PROBES = 8, TOP_BITS = 56 };
    const size_t first =
        (size_t)((uint64_t)(uintptr_t)mem * UINT64_C(0x9E3779B97F4A7C15) >>
                 TOP_BITS);
    for (size_t i = 0; i < PROBES; i++) {
        struct xl__met_buffer *x = &m->met[(first + i) % XL__MET_BUFFERS];
        if (x->mem == mem || !x->mem)
            return x;
    }
    return &m->met[first % XL__MET_BUFFERS];
}

/* The buffer that owns the bytes of `now->mem`, with its flags, and the offset
 * in it. */
static xl_status find_owner(struct xl__memory *m, struct xl__met_buffer *now,
                            struct xl__region *r, struct xl__error *e)
{
    xl_status status = XL_OK;
    const cl_mem mem = now->mem;
    struct xl__met_buffer *met = find_entry(m, mem);
    cl_context context = NULL;
    cl_mem parent = NULL;
    if (met->mem == mem && met->bytes == now->bytes &&
        met->flags == now->flags && !m->has_sub_buffers)
        return XL_OK;
    CL_TRY(e, clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof context, &context,
                                 NULL));
    if (context != m->context)
        TRY(xl__error_set(e, XL_BAD_ARGUMENT,
                          "the buffer of %s belongs to another cl_context "
                          "than the queue; create it in xl_queue_context()",
                          r->name));
    CL_TRY(e, clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT,
                                 sizeof parent, &parent, NULL));
    if (!parent) {
        *met = *now;
        return XL_OK;
    }
    m->has_sub_buffers = true;
    now->mem = parent;
    CL_TRY(e, clGetMemObjectInfo(mem, CL_MEM_OFFSET, sizeof r->base, &r->base,
                                 NULL));
    CL_TRY(e, clGetMemObjectInfo(parent, CL_MEM_FLAGS, sizeof now->flags,
                                 &now->flags, NULL));
fail:
    return status;
}

static xl_status locate_buffer(struct xl__memory *m, cl_mem mem,
                               struct xl__region *r, size_t *bytes,
                               struct xl__error *e)
{
    xl_status status = XL_OK;
    struct xl__met_buffer now = {.mem = mem};
    void *host = NULL;
    CL_TRY(e, clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof now.bytes,
                                 &now.bytes, NULL));
    CL_TRY(e, clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof now.flags,
                                 &now.flags, NULL));
    *bytes = now.bytes;
    TRY(find_owner(m, &now, r, e));
    if (now.flags & CL_MEM_USE_HOST_PTR)
        CL_TRY(e, clGetMemObjectInfo(now.mem, CL_MEM_HOST_PTR, sizeof host,
                                     &host, NULL));
    r->root = host ? NULL : now.mem;
    r->base += (size_t)(uintptr_t)host;
fail:
    return status;
}

xl_status xl__region_locate(struct xl__memory *m, xl_mem mem,
                            struct xl__region *r, struct xl__error *e)
{
    xl_status status = XL_OK;
    size_t bytes = SIZE_MAX; /* of SVM */
    if (!mem.buf == !mem.svm)
        return xl__error_set(
            e, XL_BAD_ARGUMENT, "%s has %s; set exactly one of buf and svm",
            r->name,
            mem.buf ? "both a buffer and an SVM pointer" : "no memory");
    if (mem.svm)
        r->base = (size_t)(uintptr_t)mem.svm;
    else
        TRY(locate_buffer(m, mem.buf, r, &bytes, e));
    m->most_bytes = xl__max_size(m->most_bytes, mem.svm ? r->end : bytes);
    if (mem.bytes > bytes)
        TRY(xl__error_set(e, XL_BUFFER_TOO_SMALL,
                          "%s states %zu bytes (xl_mem.bytes), and its "
                          "buffer has %zu",
                          r->name, mem.bytes, bytes));
    if (mem.bytes > 0)
        bytes = mem.bytes;
    if (r->end > bytes)
        TRY(xl__error_set(e, XL_BUFFER_TOO_SMALL,
                          "%s needs %zu bytes from the start of its memory, "
                          "which has %zu",
                          r->name, r->end, bytes));
    if (r->base % r->elem_bytes != 0)
        TRY(xl__error_set(e, XL_BAD_ARGUMENT,
                          "%s: the address of its memory is not a multiple of "
                          "%zu bytes, the size of %s",
                          r->name, r->elem_bytes, xl_dtype_name(r->dtype)));
    if (!xl__add(r->base, r->begin, &r->begin) ||
        !xl__add(r->base, r->end, &r->end))
        TRY(xl__error_set(e, XL_OVERFLOW,
                          "%s: its addresses do not fit in 64 bits", r->name));
    r->is_located = true;
fail:
    return status;
}

xl_status xl__operand_locate(struct xl__memory *m, unsigned i, xl_mem mem,
                             bool must_have, struct xl__error *e)
{
    if (!must_have && !mem.buf && !mem.svm)
        return XL_OK;
    return xl__region_locate(m, mem, &m->operand[i], e);
}

size_t xl__operands_largest(const struct xl__memory *m)
{
    size_t most = m->most_bytes;
    for (unsigned i = 0; i < m->n; i++) {
        if (!m->operand[i].is_located)
            most = xl__max_size(most, m->operand[i].end);
    }
    return most;
}

/* -- overlap -------------------------------------------------------------- */

static xl_status fail_overlap(const struct xl__region *a,
                              const struct xl__region *b, const char *remedy,
                              struct xl__error *e)
{
    return xl__error_set(e, XL_OVERLAP,
                         "%s overlaps %s: bytes %zu to %zu and %zu to %zu of "
                         "the same memory; %s",
                         a->name, b->name, a->begin, a->end, b->begin, b->end,
                         remedy);
}

xl_status xl__regions_check_apart(const struct xl__region *written,
                                  const struct xl__region *x,
                                  struct xl__error *e)
{
    if (xl__regions_are_disjoint(written, x) ||
        (x->may_be_result && !x->is_written &&
         xl__regions_are_same_view(written, x)))
        return XL_OK;
    return fail_overlap(written, x,
                        x->is_written ? "both are written"
                        : x->may_be_result
                            ? "what is written must be disjoint from it or "
                              "the same view"
                            : "what is written must be disjoint from it",
                        e);
}

xl_status xl__operands_check_apart(const struct xl__memory *m,
                                   struct xl__error *e)
{
    xl_status status = XL_OK;
    for (unsigned i = 0; i < m->n; i++) {
        if (!m->operand[i].is_written || !m->operand[i].is_located)
            continue;
        for (unsigned k = 0; k < m->n; k++) {
            if (k != i && m->operand[k].is_located)
                TRY(xl__regions_check_apart(&m->operand[i], &m->operand[k],
                                            e));
        }
    }
fail:
    return status;
}

xl_status xl__operands_check_workspace(struct xl__memory *m, xl_mem mem,
                                       size_t bytes, struct xl__error *e)
{
    enum { ALIGNED = 128 };
    xl_status status = XL_OK;
    struct xl__region r;
    const xl_tensor view = {
        .n_dims = 1, .size = {bytes}, .stride = {1}, .dtype = XL_U8};
    if (bytes == 0 || (!mem.buf && !mem.svm))
        return XL_OK;
    TRY(xl__region_init(&r, "the workspace", &view, e));
    TRY(xl__region_locate(m, mem, &r, e));
    if (r.base % ALIGNED != 0)
        TRY(xl__error_set(e, XL_BAD_ARGUMENT,
                          "the address of the workspace is not a multiple of "
                          "%d bytes",
                          ALIGNED));
    for (unsigned i = 0; i < m->n; i++) {
        if (m->operand[i].is_located &&
            !xl__regions_are_disjoint(&m->operand[i], &r))
            TRY(fail_overlap(&m->operand[i], &r,
                             "give the workspace memory of its own", e));
    }
fail:
    return status;
}
