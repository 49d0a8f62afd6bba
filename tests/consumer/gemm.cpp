// SPDX-License-Identifier: Apache-2.0
// The same from C++: crosslane's own queue and buffers, with f16 inputs.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <crosslane/crosslane.h>

namespace {

constexpr std::size_t m = 9, n = 20, k = 13;
constexpr std::uint16_t one = 0x3c00, two = 0x4000; // of binary16

bool run(xl_lib *lib)
{
    unsigned count = 0;
    xl_queue *queue = nullptr;
    if (xl_device_count(lib, &count) != XL_OK ||
        xl_queue_create(lib, xl_device_at(lib, 0), &queue) != XL_OK) {
        std::printf("%s\n", xl_lib_error(lib));
        return false;
    }
    std::vector<std::uint16_t> a(m * k, one), b(k * n, two);
    std::vector<float> c(m * n, -1.0f);
    cl_mem mem_a = nullptr, mem_b = nullptr, mem_c = nullptr;
    bool right =
        xl_buffer_create(queue, a.size() * sizeof a[0], &mem_a) == XL_OK &&
        xl_buffer_create(queue, b.size() * sizeof b[0], &mem_b) == XL_OK &&
        xl_buffer_create(queue, c.size() * sizeof c[0], &mem_c) == XL_OK &&
        xl_buffer_write(queue, mem_a, 0, a.data(), a.size() * sizeof a[0]) ==
            XL_OK &&
        xl_buffer_write(queue, mem_b, 0, b.data(), b.size() * sizeof b[0]) ==
            XL_OK;
    xl_gemm g = {XL_GEMM_INIT};
    g.m = m;
    g.n = n;
    g.k = k;
    g.alpha = 1.0;
    g.a = xl_mat_rows(mem_a, k, XL_F16);
    g.b = xl_mat_rows(mem_b, n, XL_F16);
    g.c = xl_mat_rows(mem_c, n, XL_F32);
    right = right && xl_gemm_run(queue, &g, nullptr) == XL_OK &&
            xl_buffer_read(queue, mem_c, 0, c.data(),
                           c.size() * sizeof c[0]) == XL_OK;
    if (!right)
        std::printf("%s\n", xl_error_detail(queue));
    for (float x : c)
        right = right && x == 2.0f * static_cast<float>(k);
    for (cl_mem mem : {mem_a, mem_b, mem_c})
        if (mem)
            clReleaseMemObject(mem);
    xl_queue_destroy(queue);
    return right;
}

} // namespace

int main()
{
    xl_lib *lib = nullptr;
    const bool right = xl_open(nullptr, &lib) == XL_OK && run(lib);
    xl_close(lib);
    std::printf("crosslane %s from C++: %s\n", xl_version(),
                right ? "right" : "wrong");
    return right && std::strcmp(xl_version(), XL_VERSION_TEXT) == 0
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
