/* SPDX-License-Identifier: Apache-2.0 */
/* The query is a function of the platform's; the answer of a listing's device
 * has its words as sizes. What is not a power of 2 fits no tile. */
#include "device/facts.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/numbers.h"
#include "device/cl_info.h"

/* cl_device_cooperative_matrix_variant_khr */
struct product {
    cl_uint m, n, k, a, b, c, result;
    cl_bool saturates;
};
enum { WORDS = 8, MOST_ASKED = 256 };
enum { COMPONENT_F16 = 0, COMPONENT_F32 = 1, COMPONENT_I8 = 3,
       COMPONENT_I32 = 5 };

typedef cl_int(CL_API_CALL info_function)(cl_device_id, cl_uint name,
                                          size_t input_size, const void *input,
                                          size_t cap, void *out, size_t *n);

static size_t ask_driver(const struct xl__asked *d, struct product *out)
{
    cl_platform_id platform;
    info_function *info = NULL;
    size_t bytes = 0;
    if (xl__device_bytes(d, CL_DEVICE_PLATFORM, &platform, sizeof platform) !=
        sizeof platform)
        return 0;
    void *found = clGetExtensionFunctionAddressForPlatform(
        platform, "clGetDeviceCooperativeMatrixInfoKHR");
    memcpy(&info, &found, sizeof info);
    if (!info ||
        info(d->id, XL__Q_COOPERATIVE_VARIANTS, 0, NULL, 0, NULL, &bytes) !=
            CL_SUCCESS ||
        bytes % sizeof *out != 0)
        return 0;
    bytes = xl__min_size(bytes, MOST_ASKED * sizeof *out);
    if (info(d->id, XL__Q_COOPERATIVE_VARIANTS, 0, NULL, bytes, out, NULL) !=
        CL_SUCCESS)
        return 0;
    return bytes / sizeof *out;
}

static size_t ask_listing(const struct xl__asked *d, struct product *out)
{
    size_t words[XL__COOPERATIVE_MOST * WORDS];
    unsigned n = 0;
    if (!xl__device_sizes(d, XL__Q_COOPERATIVE_VARIANTS, words,
                          sizeof words / sizeof *words, &n))
        return 0;
    for (unsigned i = 0; i + WORDS <= n; i += WORDS) {
        const size_t *w = words + i;
        out[i / WORDS] =
            (struct product){(cl_uint)w[0], (cl_uint)w[1], (cl_uint)w[2],
                             (cl_uint)w[3], (cl_uint)w[4], (cl_uint)w[5],
                             (cl_uint)w[6], (cl_bool)w[7]};
    }
    return n / WORDS;
}

/* A row; without a name: the kernels have no code for the product. `align`:
 * what places and strides in local memory are multiples of. */
static xl_matrix_op row_of(const struct product *p, size_t align)
{
    const bool is_half = p->a == COMPONENT_F16 && p->c == COMPONENT_F32;
    const bool is_byte = p->a == COMPONENT_I8 && p->c == COMPONENT_I32;
    const xl_dtype in = is_half ? XL_F16 : XL_I8;
    const size_t bytes = xl_dtype_bytes(in);
    if ((!is_half && !is_byte) || p->b != p->a || p->result != p->c ||
        p->saturates || !xl__is_power_of_two(p->m) ||
        !xl__is_power_of_two(p->n) || !xl__is_power_of_two(p->k) ||
        p->k * bytes % align != 0 || p->n * sizeof(float) % align != 0)
        return (xl_matrix_op){.name = NULL};
    return (xl_matrix_op){.name = "coop_mat",
                          .fragments = "cooperative",
                          .code = "cooperative",
                          .a = in,
                          .b = in,
                          .sum = is_half ? XL_F32 : XL_I32,
                          .m = p->m,
                          .n = p->n,
                          .k = p->k,
                          .n_most = p->n,
                          .note = "GE-37"};
}

void xl__cooperative_query(struct xl__limits *l, const struct xl__asked *d)
{
    struct product asked[MOST_ASKED];
    cl_uint pointer, stride;
    unsigned major = 0;
    size_t n = 0;
    if (!xl__has_extension(l, "cl_khr_cooperative_matrix") ||
        sscanf(xl__text(l, XL__F_cl_c_version), "OpenCL C %2u", &major) != 1 ||
        major < 3 || !xl__device_u32(d, XL__Q_COOPERATIVE_ALIGN, &pointer) ||
        !xl__device_u32(d, XL__Q_COOPERATIVE_STRIDE, &stride))
        return;
    const size_t most = xl__max_size(1, xl__max_size(pointer, stride));
    const size_t found = d->id ? ask_driver(d, asked) : ask_listing(d, asked);
    for (size_t i = 0; i < found && n < XL__COOPERATIVE_MOST; i++) {
        l->cooperative[n] = row_of(&asked[i], most);
        n += l->cooperative[n].name != NULL;
    }
    l->cooperative[n] = (xl_matrix_op){.name = NULL};
}
