// SPDX-License-Identifier: Apache-2.0
// An expression built call by call, without text, from C++: the mean of the
// squares of each row.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <crosslane/crosslane.h>

namespace {

constexpr std::size_t rows = 5, cols = 64;

xl_binding bound(const char *name, cl_mem mem, const std::size_t (&size)[2])
{
    xl_binding b = {};
    b.name = name;
    b.tensor = xl_tensor_dense(mem, XL_F32, 2, size);
    return b;
}

xl_status compile(xl_queue *q, const xl_expr_args &args, xl_expr **out)
{
    xl_terms *t = nullptr;
    const xl_status made = xl_terms_create(&t);
    if (made != XL_OK)
        return made;
    const xl_term x[2] = {xl_term_name(t, "x"), xl_term_name(t, "x")};
    const int last = -1;
    xl_term_assign(t, "out",
                   xl_term_reduce(t, "mean", xl_term_call(t, "*", x, 2),
                                  &last, 1));
    const xl_status status = xl_expr_compile_terms(q, t, &args, out);
    xl_terms_destroy(t);
    return status;
}

bool run(xl_queue *q)
{
    // Row i holds +-(i + 1), so its mean square is exact.
    std::vector<float> x(rows * cols), out(rows, -1.0f);
    for (std::size_t i = 0; i < x.size(); i++)
        x[i] = static_cast<float>(i / cols + 1) * (i % 2 ? -1.0f : 1.0f);
    cl_mem from = nullptr, to = nullptr;
    const std::size_t bytes = x.size() * sizeof x[0];
    bool right = xl_buffer_create(q, bytes, &from) == XL_OK &&
                 xl_buffer_create(q, rows * sizeof out[0], &to) == XL_OK &&
                 xl_buffer_write(q, from, 0, x.data(), bytes) == XL_OK;
    const std::size_t full[2] = {rows, cols}, column[2] = {rows, 1};
    const xl_binding names[2] = {bound("x", from, full),
                                 bound("out", to, column)};
    xl_expr_args args = {XL_EXPR_ARGS_INIT};
    args.bindings = names;
    args.n_bindings = 2;
    xl_expr *e = nullptr;
    right = right && compile(q, args, &e) == XL_OK &&
            xl_expr_run(q, e, &args, nullptr) == XL_OK &&
            xl_buffer_read(q, to, 0, out.data(), rows * sizeof out[0]) ==
                XL_OK;
    if (!right)
        std::printf("%s\n", xl_error_detail(q));
    for (std::size_t i = 0; i < rows; i++) {
        const float want = static_cast<float>((i + 1) * (i + 1));
        right = right && std::fabs(out[i] - want) <= 1e-5f * want;
    }
    xl_expr_destroy(e);
    for (cl_mem mem : {from, to})
        if (mem)
            clReleaseMemObject(mem);
    return right;
}

} // namespace

int main()
{
    xl_lib *lib = nullptr;
    xl_queue *q = nullptr;
    unsigned count = 0;
    const bool right = xl_open(nullptr, &lib) == XL_OK &&
                       xl_device_count(lib, &count) == XL_OK &&
                       xl_queue_create(lib, xl_device_at(lib, 0), &q) ==
                           XL_OK &&
                       run(q);
    xl_queue_destroy(q);
    xl_close(lib);
    std::printf("an expression from C++: %s\n", right ? "right" : "wrong");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
