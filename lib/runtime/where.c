/* SPDX-License-Identifier: Apache-2.0 */
/* A sub-buffer names its parent and its place there; OpenCL 1.2 allows no
 * sub-buffer of a sub-buffer, so one step up is enough. */
#include "runtime/where.h"

#include <stdint.h>

#include "device/cl_info.h"

xl_status xl__where_bytes(xl_mem mem, size_t *bytes, struct xl__error *e)
{
    xl_status status = XL_OK;
    *bytes = SIZE_MAX;
    if (mem.buf)
        CL_TRY(e, clGetMemObjectInfo(mem.buf, CL_MEM_SIZE, sizeof *bytes,
                                     bytes, NULL));
fail:
    return status;
}

xl_status xl__where(xl_mem mem, struct xl__where *out, struct xl__error *e)
{
    xl_status status = XL_OK;
    cl_mem parent = NULL;
    *out = (struct xl__where){mem.buf, 0, SIZE_MAX};
    if (!mem.buf) {
        out->begin = (size_t)(uintptr_t)mem.svm;
        return XL_OK;
    }
    TRY(xl__where_bytes(mem, &out->bytes, e));
    CL_TRY(e, clGetMemObjectInfo(mem.buf, CL_MEM_ASSOCIATED_MEMOBJECT,
                                 sizeof parent, &parent, NULL));
    if (!parent)
        return XL_OK;
    out->root = parent;
    CL_TRY(e, clGetMemObjectInfo(mem.buf, CL_MEM_OFFSET, sizeof out->begin,
                                 &out->begin, NULL));
fail:
    return status;
}

void xl__where_release(cl_mem mem)
{
    if (mem)
        clReleaseMemObject(mem);
}
