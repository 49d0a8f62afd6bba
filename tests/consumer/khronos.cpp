// SPDX-License-Identifier: Apache-2.0
// An application with the objects of Khronos's opencl.hpp: they are passed to
// crosslane.hpp as they are.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <vector>

#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>

#include <crosslane/crosslane.hpp>

namespace {

constexpr std::size_t n = 37;

// C = A A + bias, then its rows' softmax, each with events.
void run(const cl::Context &context, const cl::CommandQueue &queue)
{
    std::vector<float> a(n * n), bias(n), out(n * n);
    for (std::size_t i = 0; i < n * n; i++)
        a[i] = static_cast<float>(i * 7 % 31) / 16.0f - 1.0f;
    for (std::size_t i = 0; i < n; i++)
        bias[i] = static_cast<float>(i % 5);
    const cl::Buffer mem_a(context, a.begin(), a.end(), true);
    const cl::Buffer mem_bias(context, bias.begin(), bias.end(), true);
    const cl::Buffer mem_c(context, CL_MEM_READ_WRITE,
                           out.size() * sizeof out[0]);

    xl::Library lib;
    xl::Queue q(lib, queue);
    cl::UserEvent start(context);
    std::vector<cl::Event> wait{start}, done(1);
    xl::Gemm(n, n, n)
        .a(xl::rows(mem_a, n, XL_F32))
        .b(xl::rows(mem_a, n, XL_F32))
        .c(xl::rows(mem_c, n, XL_F32))
        .epilogue("y + bias", {{"bias", xl::tensor(mem_bias, XL_F32, {n})}})
        .run(q, xl::Sync().wait(wait).done(done[0]));
    const xl_mat rows = xl::rows(mem_c, n, XL_F32);
    xl::Softmax(n, n).src(rows).dst(rows).run(
        q, xl::Sync().wait(done, start).done(done[0]));
    start.setStatus(CL_COMPLETE);
    queue.enqueueReadBuffer(mem_c, CL_TRUE, 0, out.size() * sizeof out[0],
                            out.data(), &done);

    for (std::size_t i = 0; i < n; i++) {
        std::vector<double> y(n);
        double largest = -1e300, sum = 0;
        for (std::size_t j = 0; j < n; j++) {
            y[j] = static_cast<double>(bias[j]);
            for (std::size_t l = 0; l < n; l++)
                y[j] += static_cast<double>(a[i * n + l]) *
                        static_cast<double>(a[l * n + j]);
            largest = std::fmax(largest, y[j]);
        }
        for (double &x : y)
            sum += x = std::exp(x - largest);
        for (std::size_t j = 0; j < n; j++)
            if (!(std::fabs(y[j] / sum - static_cast<double>(out[i * n + j])) <
                  1e-4))
                throw std::runtime_error("a wrong element");
    }

    // From crosslane to opencl.hpp: memory taken over, a context shared.
    const cl::Buffer taken(xl::Buffer(q, 64).release());
    if (taken.getInfo<CL_MEM_SIZE>() != 64 ||
        taken.getInfo<CL_MEM_CONTEXT>()() != q.context() ||
        cl::Context(q.context(), true)() != context())
        throw std::runtime_error("a wrong handle");
}

} // namespace

int main()
{
    try {
        const cl::Context context(CL_DEVICE_TYPE_ALL);
        run(context,
            cl::CommandQueue(
                context, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
        std::printf("opencl.hpp: right\n");
        return EXIT_SUCCESS;
    } catch (const std::exception &e) {
        std::printf("opencl.hpp: %s\n", e.what());
        return EXIT_FAILURE;
    }
}
