// SPDX-License-Identifier: Apache-2.0
// An application that uses crosslane.hpp with OpenCL's C handles, as C++17 and
// C++20. multiply() is the C++ example of README.md.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <crosslane/crosslane.hpp>

void multiply(xl::Queue &q, cl_mem a, cl_mem b, cl_mem c, std::size_t m,
              std::size_t n, std::size_t k, xl::Event &done);

namespace {

constexpr std::size_t m = 33, n = 65, k = 17;

using Floats = std::vector<float>;

void expect(bool is_right, const std::string &what)
{
    if (!is_right)
        throw std::runtime_error("wrong: " + what);
}

template <class F> void expect_error(xl_status status, const char *text, F f)
{
    try {
        f();
    } catch (const xl::Error &e) {
        expect(e.status() == status && std::strstr(e.what(), text),
               std::string("error: ") + e.what());
        expect(!std::strncmp(e.what(), xl_status_name(status),
                             std::strlen(xl_status_name(status))),
               "an error begins with its status");
        return;
    }
    throw std::runtime_error(std::string("no error: ") + text);
}

// Small integers over 8, so each sum is exact in f32.
Floats fill(std::size_t count, std::size_t step)
{
    Floats x(count);
    for (std::size_t i = 0; i < count; i++)
        x[i] = static_cast<float>(i * step % 31) / 8.0f - 2.0f;
    return x;
}

xl::Buffer upload(xl::Queue &q, const Floats &x)
{
    xl::Buffer mem(q, x.size() * sizeof x[0]);
    q.write(mem, 0, x.data(), x.size() * sizeof x[0]);
    return mem;
}

Floats download(xl::Queue &q, const xl::Buffer &mem, std::size_t count)
{
    Floats x(count);
    q.read(mem, 0, x.data(), count * sizeof x[0]);
    return x;
}

// relu(sum of a[i][l] b[l][j] + bias[j]) in double.
double product(const float *a, const float *b, const Floats &bias,
               std::size_t i, std::size_t j)
{
    double sum = bias.empty() ? 0 : static_cast<double>(bias[j]);
    for (std::size_t l = 0; l < k; l++)
        sum += static_cast<double>(a[i * k + l]) *
               static_cast<double>(b[l * n + j]);
    return bias.empty() || sum > 0 ? sum : 0;
}

void check_product(const float *a, const float *b, const float *c,
                   const Floats &bias, const char *what)
{
    for (std::size_t i = 0; i < m; i++)
        for (std::size_t j = 0; j < n; j++)
            expect(std::fabs(product(a, b, bias, i, j) -
                             static_cast<double>(c[i * n + j])) < 1e-4,
                   what);
}

xl::Gemm describe(const xl::Mem &a, const xl::Mem &b, const xl::Mem &c)
{
    return xl::Gemm(m, n, k)
        .a(xl::rows(a, k, XL_F32))
        .b(xl::rows(b, n, XL_F32))
        .c(xl::rows(c, n, XL_F32));
}

void run_gemm(xl::Queue &q)
{
    const Floats a = fill(4 * m * k, 7), b = fill(2 * k * n, 11);
    const Floats bias = fill(n, 3), zeros(4 * m * n, -1.0f);
    const xl::Buffer mem_a = upload(q, a), mem_b = upload(q, b),
                     mem_bias = upload(q, bias), mem_c = upload(q, zeros);
    xl::Event done, first;
    multiply(q, mem_a.get(), mem_b.get(), mem_c.get(), m, n, k, done);
    done.wait();
    check_product(a.data(), b.data(), download(q, mem_c, m * n).data(), {},
                  "multiply()");

    // Two rows of two products; those of a row share B. With an epilogue.
    xl::Gemm g = describe(mem_a, mem_b, mem_c);
    g.batch(4, 2 * m * k, k * n, 2 * m * n)
        .batch_inner(2, m * k, 0, m * n)
        .epilogue("relu(y + bias)",
                  {{"bias", xl::tensor(mem_bias, XL_F32, {n})}})
        .accuracy(XL_ACCURACY_FULL);
    const xl::Buffer scratch(q, g.workspace_bytes(q) + 128);
    const std::vector<xl::Event> none;
    g.workspace(scratch).run(
        q, xl::Sync().wait(done, none).done(done).first(first));
    expect(done && first, "events are returned");
    Floats c(4 * m * n);
    xl::Event copied;
    q.enqueue_read(mem_c, 0, c.data(), c.size() * sizeof c[0],
                   xl::Sync().wait(done).done(copied));
    copied.wait();
    for (std::size_t z = 0; z < 4; z++)
        check_product(&a[z * m * k], &b[z / 2 * k * n], &c[z * m * n], bias,
                      "a batch along two axes");

    // A group: the second product, and 2 A B + C at listed offsets.
    q.enqueue_write(mem_c, 0, zeros.data(), zeros.size() * sizeof zeros[0]);
    const cl_ulong a_at[] = {0}, b_at[] = {k * n}, c_at[] = {2 * m * n};
    xl::run_group(q, {describe(mem_a, mem_b, mem_c),
                      describe(mem_a, mem_b, mem_c)
                          .alpha(2)
                          .beta(1)
                          .batch_at(1, a_at, b_at, c_at)});
    c = download(q, mem_c, 4 * m * n);
    check_product(a.data(), b.data(), c.data(), {}, "a group, first");
    for (std::size_t i = 0; i < m * n; i++)
        c[i] = (c[2 * m * n + i] + 1) / 2;
    check_product(a.data(), &b[k * n], c.data(), {}, "a group, second");

    // A copy of a builder refers to numbers of its own: one row of two.
    q.enqueue_write(mem_c, 0, zeros.data(), zeros.size() * sizeof zeros[0]);
    const std::uint32_t used[] = {9, 1, 0};
    const xl::Buffer mem_used(q, sizeof used);
    q.write(mem_used, 0, used, sizeof used);
    xl::Gemm some = describe(mem_a, mem_b, mem_c);
    {
        xl::Gemm original = describe(mem_a, mem_b, mem_c);
        original.batch(2, m * k, k * n, m * n).batch_rows(mem_used, 1);
        some = original;
    }
    some.run(q);
    c = download(q, mem_c, 4 * m * n);
    for (std::size_t i = 0; i < 4 * m * n; i++)
        expect(i < n ? std::fabs(product(a.data(), b.data(), {}, 0, i) -
                                 static_cast<double>(c[i])) < 1e-4
                     : std::fabs(static_cast<double>(c[i]) + 1) < 1e-9,
               "rows of each product");

    // Offsets in device memory: the second product's C before the first one's.
    const std::uint64_t at[] = {0, 0, 0, k * n, m * n, 0};
    const xl::Buffer mem_at(q, sizeof at);
    q.write(mem_at, 0, at, sizeof at);
    some = describe(mem_a, mem_b, mem_c).batch_at(2, mem_at);
    some.beta(0).run(q);
    c = download(q, mem_c, 4 * m * n);
    check_product(a.data(), b.data(), &c[m * n], {}, "offsets, first");
    check_product(a.data(), &b[k * n], c.data(), {}, "offsets, second");

    const auto choices = describe(mem_a, mem_b, mem_c).explain(q);
    expect(!choices.empty() && choices[0].chosen, "explain()");
    expect(choices.size() == q.device().variants("gemm").size(), "variants");
}

void run_conv(xl::Queue &q)
{
    // 2 images of 3 x 5 x 6, 4 filters of 3 x 3 x 3, padded by 1.
    const Floats in = fill(2 * 3 * 30, 5), w = fill(4 * 27, 13);
    const xl::Buffer mem_in = upload(q, in), mem_w = upload(q, w);
    xl::Conv conv;
    conv.in(xl::images(mem_in, XL_NCHW, XL_F32), 2, 3, 5, 6)
        .filters(xl::filters(mem_w, XL_KCRS, XL_F32), 4, 3, 3)
        .groups(1)
        .stride(2, 1)
        .dilation(1, 1)
        .pad(1, 1, 1, 1);
    const auto size = conv.out_size();
    expect(size.first == 3 && size.second == 6, "out_size()");
    const xl::Buffer mem_out(q, 2 * 4 * 18 * sizeof(float));
    conv.out(xl::images(mem_out, XL_NCHW, XL_F32)).epilogue("y * 2").run(q);
    const Floats out = download(q, mem_out, 2 * 4 * 18);
    for (std::size_t i = 0; i < out.size(); i++) {
        const std::size_t x = i % 6, y = i / 6 % 3, f = i / 18 % 4, z = i / 72;
        double sum = 0;
        for (std::size_t t = 0; t < 27; t++) {
            const std::size_t s = x + t % 3, r = 2 * y + t / 3 % 3;
            if (s >= 1 && s <= 6 && r >= 1 && r <= 5)
                sum += static_cast<double>(w[f * 27 + t]) *
                       static_cast<double>(
                           in[z * 90 + t / 9 * 30 + (r - 1) * 6 + s - 1]);
        }
        expect(std::fabs(2 * sum - static_cast<double>(out[i])) < 1e-4,
               "a convolution");
    }
}

void run_softmax(xl::Queue &q)
{
    const Floats x = fill(m * n, 7), mask = fill(n, 3);
    const xl::Buffer from = upload(q, x), mem_mask = upload(q, mask),
                     to(q, m * n * sizeof(float));
    xl_mat repeated = xl::rows(mem_mask, n, XL_F32);
    repeated.row_stride = 0;
    xl::Softmax(m, n)
        .src(xl::rows(from, n, XL_F32))
        .dst(xl::rows(to, n, XL_F32))
        .scale(0.5)
        .mask(repeated)
        .run(q);
    const Floats y = download(q, to, m * n);
    const auto weight = [&](std::size_t i, std::size_t j) {
        return std::exp(0.5 * static_cast<double>(x[i * n + j]) +
                        static_cast<double>(mask[j]));
    };
    for (std::size_t i = 0; i < m; i++) {
        double sum = 0;
        for (std::size_t j = 0; j < n; j++)
            sum += weight(i, j);
        for (std::size_t j = 0; j < n; j++)
            expect(std::fabs(weight(i, j) / sum -
                             static_cast<double>(y[i * n + j])) < 1e-5,
                   "a softmax");
    }
    xl::Softmax(m, n)
        .src(xl::rows(from, n, XL_F32))
        .dst(xl::rows(to, n, XL_F32))
        .prologue("0.5 * x + mask",
                  {{"mask", xl::tensor(mem_mask, XL_F32, {n})}})
        .epilogue("y * s", {{"s", 4.0}})
        .run(q);
    const Floats four = download(q, to, m * n);
    xl::Softmax(m, n)
        .src(xl::rows(from, n, XL_F32))
        .dst(xl::rows(to, n, XL_F32))
        .scale(0.5)
        .mask(repeated)
        .log()
        .run(q);
    const Floats logs = download(q, to, m * n);
    for (std::size_t i = 0; i < m * n; i++) {
        expect(std::fabs(4 * static_cast<double>(y[i]) -
                         static_cast<double>(four[i])) < 1e-4,
               "a softmax with a prologue and an epilogue");
        expect(std::fabs(std::exp(static_cast<double>(logs[i])) -
                         static_cast<double>(y[i])) < 1e-5,
               "the logarithm of a softmax");
    }
}

void run_norm(xl::Queue &q)
{
    const Floats x = fill(m * n, 7), gain = fill(n, 3);
    const xl::Buffer from = upload(q, x), mem_gain = upload(q, gain),
                     to(q, m * n * sizeof(float)),
                     twice(q, m * n * sizeof(float));
    xl::Norm(XL_NORM_RMS, m, n)
        .src(xl::rows(from, n, XL_F32))
        .residual(xl::rows(from, n, XL_F32))
        .sum(xl::rows(twice, n, XL_F32))
        .dst(xl::rows(to, n, XL_F32))
        .scale(xl::rows(mem_gain, n, XL_F32))
        .eps(0.25)
        .run(q);
    const Floats y = download(q, to, m * n), sum = download(q, twice, m * n);
    for (std::size_t i = 0; i < m; i++) {
        double squares = 0;
        for (std::size_t j = 0; j < n; j++)
            squares += std::pow(2 * static_cast<double>(x[i * n + j]), 2);
        const double factor =
            1 / std::sqrt(squares / static_cast<double>(n) + 0.25);
        for (std::size_t j = 0; j < n; j++) {
            const double twice_x = 2 * static_cast<double>(x[i * n + j]);
            expect(std::fabs(twice_x - static_cast<double>(sum[i * n + j])) <
                       1e-6,
                   "the stored sum of a norm");
            expect(std::fabs(twice_x * factor * static_cast<double>(gain[j]) -
                             static_cast<double>(y[i * n + j])) < 1e-4,
                   "a norm");
        }
    }
}

// Weights of int8 that are the numbers themselves: scales of 1.
void run_qgemm(xl::Queue &q)
{
    constexpr std::size_t depth = 32, rows = 4;
    const Floats x = fill(m * depth, 7);
    const std::vector<signed char> w(rows * depth, 2);
    const std::vector<unsigned short> one(rows, 0x3c00);
    const xl::Buffer from = upload(q, x), to(q, m * rows * sizeof(float)),
                     blocks(q, w.size()), scales(q, 2 * rows);
    q.write(blocks, 0, w.data(), w.size());
    q.write(scales, 0, one.data(), 2 * rows);
    xl_qmat weights{};
    weights.shape = {XL_INT8, rows, depth, 0, 0};
    weights.blocks.buf = blocks.get();
    weights.scales.buf = scales.get();
    const xl::Buffer plain(q, rows * depth * sizeof(float));
    xl::Qconvert(XL_DEQUANTISE, xl::rows(plain, depth, XL_F32), weights).run(q);
    expect(download(q, plain, rows * depth) == Floats(rows * depth, 2.0f),
           "the values of quantised weights");
    xl::Qgemm(m, weights)
        .a(xl::rows(from, depth, XL_F32))
        .c(xl::rows(to, rows, XL_F32))
        .activations(XL_ACTIVATIONS_AS_GIVEN)
        .epilogue("y + 1")
        .run(q);
    const Floats y = download(q, to, m * rows);
    for (std::size_t i = 0; i < m; i++) {
        double sum = 1;
        for (std::size_t l = 0; l < depth; l++)
            sum += 2 * static_cast<double>(x[i * depth + l]);
        expect(std::fabs(sum - static_cast<double>(y[i * rows])) < 1e-4,
               "a product with quantised weights");
    }
    const xl::Buffer gain = upload(q, Floats(depth, 3.0f));
    xl::Qgemm(m, weights)
        .a(xl::rows(from, depth, XL_F32))
        .c(xl::rows(to, rows, XL_F32))
        .rms_norm(xl::rows(gain, depth, XL_F32), 0.5)
        .run(q);
    double sum = 0, squares = 0;
    for (std::size_t l = 0; l < depth; l++) {
        sum += 6 * static_cast<double>(x[l]);
        squares += static_cast<double>(x[l]) * static_cast<double>(x[l]);
    }
    sum /= std::sqrt(squares / depth + 0.5);
    expect(std::fabs(sum - static_cast<double>(download(q, to, 1)[0])) < 1e-4,
           "a product of normed rows");
    xl::Qgemm(m, weights)
        .a(xl::rows(from, depth, XL_F32))
        .c(xl::rows(to, rows / 2, XL_F32))
        .pair()
        .epilogue("y - y2 + 1")
        .run(q);
    expect(download(q, to, m * (rows / 2)) == Floats(m * (rows / 2), 1.0f),
           "products of a pair of equal matrices");
}

// One token at position 1, rotated by one radian and appended.
void run_rotary(xl::Queue &q)
{
    const Floats x = {1, 0}, zeros(4);
    const xl::Buffer from = upload(q, x), to(q, sizeof(float) * 2),
                     cache = upload(q, zeros), values = upload(q, zeros);
    const auto view = [](const xl::Buffer &b) {
        xl_heads h{};
        h.mem.buf = b.get();
        return h;
    };
    xl::Rotary(1, 1, 2, 2)
        .q(view(from), view(to))
        .k(view(from), view(cache))
        .v(view(from), view(values))
        .base(100)
        .run(q);
    const Floats turned = download(q, to, 2), rows = download(q, cache, 4),
                 copied = download(q, values, 4);
    expect(std::fabs(turned[0] - std::cos(1.0F)) < 1e-6F &&
               std::fabs(turned[1] - std::sin(1.0F)) < 1e-6F,
           "a rotary embedding");
    xl::Rotary(1, 1, 2, 2)
        .q(view(from), view(to))
        .k(view(from), view(cache))
        .norms(view(from), view(from))
        .run(q);
    expect(std::fabs(download(q, to, 2)[0] -
                     std::sqrt(2.0F) * std::cos(1.0F)) < 1e-4F,
           "a rotary embedding of a normed row");
    expect(rows[0] == 0 && rows[2] == turned[0] && copied[2] == 1 &&
               copied[3] == 0,
           "the rows of a cache");
}

// The sums of a gradient over its rows, and the gradient of bias.
void run_gradients(xl::Queue &q)
{
    const Floats x = fill(m * n, 7), g = fill(m * n, 5);
    const xl::Buffer from = upload(q, x), grad = upload(q, g),
                     to(q, m * n * sizeof(float)), bias(q, n * sizeof(float));
    xl::Softmax(m, n)
        .src(xl::rows(from, n, XL_F32))
        .dst(xl::rows(to, n, XL_F32))
        .log()
        .backward(xl::rows(grad, n, XL_F32))
        .run(q);
    const Floats of_log = download(q, to, m * n);
    xl::Norm(XL_NORM_LAYER, m, n)
        .src(xl::rows(from, n, XL_F32))
        .dst(xl::rows(to, n, XL_F32))
        .backward(xl::rows(grad, n, XL_F32))
        .grad_bias(xl::rows(bias, n, XL_F32))
        .run(q);
    const Floats of_norm = download(q, to, m * n), sums = download(q, bias, n);
    for (std::size_t i = 0; i < m; i++) {
        double sum = 0, all = 0;
        for (std::size_t j = 0; j < n; j++) {
            all += static_cast<double>(g[i * n + j]);
            sum += static_cast<double>(of_norm[i * n + j]);
        }
        expect(std::fabs(sum) < 1e-3, "the gradient of a layer norm");
        expect(std::fabs(static_cast<double>(g[i * n]) -
                         std::exp(static_cast<double>(x[i * n])) * all -
                         static_cast<double>(of_log[i * n])) < 1e-3,
               "the gradient of a log-softmax");
    }
    double sum = 0;
    for (std::size_t i = 0; i < m; i++)
        sum += static_cast<double>(g[i * n]);
    expect(std::fabs(sum - static_cast<double>(sums[0])) < 1e-4,
           "the gradient of bias");
}

// One head of d columns, causal, with a sink of 0 and log-sum-exp.
void run_attention(xl::Queue &q)
{
    constexpr std::size_t d = 8, rows = 11;
    const Floats x = fill(rows * d, 7), y = fill(rows * d, 3);
    const Floats v = fill(rows * d, 5);
    const xl::Buffer mem_q = upload(q, x), mem_k = upload(q, y),
                     mem_v = upload(q, v), sink = upload(q, Floats(1, 0.0f)),
                     out(q, rows * d * sizeof(float)),
                     sums(q, rows * sizeof(float));
    const auto heads = [](const xl::Buffer &mem) {
        xl_heads view{};
        view.mem.buf = mem.get();
        view.dtype = XL_F32;
        return view;
    };
    xl::Attention(1, rows, rows, d)
        .q(heads(mem_q))
        .k(heads(mem_k))
        .v(heads(mem_v))
        .o(heads(out))
        .sinks(heads(sink))
        .lse(heads(sums))
        .scale(0.5)
        .causal()
        .prologue("x + s", {{"s", 0.25}})
        .run(q);
    const Floats o = download(q, out, rows * d), lse = download(q, sums, rows);
    for (std::size_t i = 0; i < rows; i++) {
        double sum = 1, first = 0;
        for (std::size_t j = 0; j <= i; j++) {
            double s = 0.25;
            for (std::size_t c = 0; c < d; c++)
                s += 0.5 * static_cast<double>(x[i * d + c]) *
                     static_cast<double>(y[j * d + c]);
            sum += std::exp(s);
            first += std::exp(s) * static_cast<double>(v[j * d]);
        }
        expect(std::fabs(first / sum - static_cast<double>(o[i * d])) < 1e-4,
               "an attention");
        expect(std::fabs(std::log(sum) - static_cast<double>(lse[i])) < 1e-4,
               "its log-sum-exp");
    }
}

// Two sequences packed, of two rows and of one, each of which sees itself.
void run_packed_attention(xl::Queue &q)
{
    constexpr std::size_t d = 4, rows = 3;
    const Floats x = fill(rows * d, 8);
    const std::vector<std::int32_t> starts = {0, 2, 3};
    const xl::Buffer mem = upload(q, x), out(q, rows * d * sizeof(float)),
                     list(q, starts.size() * sizeof starts[0]);
    q.write(list.get(), 0, starts.data(), starts.size() * sizeof starts[0]);
    const auto heads = [](const xl::Buffer &of, xl_dtype dtype) {
        xl_heads view{};
        view.mem.buf = of.get();
        view.dtype = dtype;
        return view;
    };
    xl_sequences packed{};
    packed.kind = XL_ROWS_PACKED;
    packed.numbers = heads(list, XL_I32);
    packed.n_total = rows;
    xl::Attention(1, 2, 2, d)
        .batch(2)
        .q(heads(mem, XL_F32))
        .k(heads(mem, XL_F32))
        .v(heads(mem, XL_F32))
        .o(heads(out, XL_F32))
        .q_rows(packed)
        .kv_rows(packed)
        .causal()
        .run(q);
    const Floats o = download(q, out, rows * d);
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}})
        expect(std::fabs(o[i * d] - x[i * d]) < 1e-6f, "packed sequences");
}

// Weights of a row have the sum 1: for a gradient of o that is 1 everywhere,
// those of v have the sum `rows` in each column, and those of q are 0.
void run_attention_gradients(xl::Queue &q)
{
    constexpr std::size_t d = 8, rows = 11;
    const Floats x = fill(rows * d, 7), v(rows * d, 0.5f);
    const xl::Buffer mem = upload(q, x), mem_v = upload(q, v),
                     ones = upload(q, Floats(rows * d, 1.0f)),
                     out(q, rows * d * sizeof(float)),
                     sums(q, rows * sizeof(float)),
                     to_q(q, rows * d * sizeof(float)),
                     to_k(q, rows * d * sizeof(float)),
                     to_v(q, rows * d * sizeof(float));
    const auto heads = [](const xl::Buffer &of) {
        xl_heads view{};
        view.mem.buf = of.get();
        view.dtype = XL_F32;
        return view;
    };
    xl::Attention a(1, rows, rows, d);
    a.q(heads(mem)).k(heads(mem)).v(heads(mem_v)).o(heads(out));
    a.lse(heads(sums)).causal().run(q);
    a.backward(heads(ones), heads(to_q), heads(to_k), heads(to_v)).run(q);
    const Floats of_q = download(q, to_q, rows * d),
                 of_v = download(q, to_v, rows * d);
    double sum = 0;
    for (std::size_t i = 0; i < rows; i++) {
        sum += static_cast<double>(of_v[i * d]);
        expect(std::fabs(static_cast<double>(of_q[i * d])) < 1e-4,
               "the gradient of q");
    }
    expect(std::fabs(sum - static_cast<double>(rows)) < 1e-4,
           "the gradient of v");
}

void run_expr(xl::Queue &q)
{
    const Floats x = fill(m * n, 7);
    const xl::Buffer from = upload(q, x), to(q, m * n * sizeof(float));
    xl::Args args{{"x", xl::tensor(from, XL_F32, {m, n})},
                  {"out", xl::tensor(to, XL_F32, {m, n})},
                  {"a", 2.0},
                  {"b", 3}};
    const char *text = "out = x * a + b";
    std::promise<xl::Expr> compiled;
    xl::Expr::compile_async(
        q, text, args, [&](xl_status status, const char *, xl::Expr e) {
            if (status == XL_OK)
                compiled.set_value(std::move(e));
            throw std::runtime_error("dropped");
        });
    const xl::Expr e = compiled.get_future().get();
    for (const double a : {2.0, -0.5}) {
        e.run(q, args.set({"a", a}));
        const Floats out = download(q, to, m * n);
        for (std::size_t i = 0; i < m * n; i++)
            expect(std::fabs(static_cast<double>(x[i]) * a + 3 -
                             static_cast<double>(out[i])) < 1e-5,
                   "an expression");
    }
    unsigned kernels = 0;
    e.kernels(q, args, [&](const xl_expr_kernel &) { kernels++; });
    expect(kernels == 1 && !e.explain(q, args).empty(), "kernels()");
    expect(e.workspace_bytes(q, args) == 0, "workspace_bytes()");
    try {
        e.kernels(q, args, [](const xl_expr_kernel &) { throw 7; });
        expect(false, "an exception of a callback is thrown");
    } catch (int thrown) {
        expect(thrown == 7, "the exception of a callback");
    }
    expect_error(XL_BAD_ARGUMENT, "1:10",
                 [&] { xl::Expr(q, "out = x +* a", args); });
    expect(xl::expr_result(q, "s = sum(x, axis=1)",
                           xl::Args{{"x", xl::tensor(from, XL_F32, {m, n})}},
                           "s")
                   .size[0] == m,
           "expr_result()");

    xl::Terms t;
    t.assign("out", t.reduce("sum", t.call("*", {t.name("x"), t.number(2)}),
                             {-1}));
    const xl::Args sums{{"x", xl::tensor(from, XL_F32, {m, n})},
                        {"out", xl::tensor(to, XL_F32, {m, 1})}};
    xl::Expr(q, t, sums).run(q, sums);
    const Floats out = download(q, to, m);
    for (std::size_t i = 0; i < m; i++) {
        double sum = 0;
        for (std::size_t j = 0; j < n; j++)
            sum += 2 * static_cast<double>(x[i * n + j]);
        expect(std::fabs(sum - static_cast<double>(out[i])) < 1e-3, "terms");
    }
}

// A product that is recorded, replayed, and recorded again.
void run_record(xl::Queue &q)
{
    const Floats a = fill(m * k, 7), other = fill(m * k, 5),
                 b = fill(k * n, 11), zeros(m * n, -1.0f);
    const xl::Buffer mem_a = upload(q, a), mem_other = upload(q, other),
                     mem_b = upload(q, b), mem_c = upload(q, zeros);
    const xl::Gemm g = describe(mem_a, mem_b, mem_c);
    xl::Record record(q);
    record.add(0, [&] { g.run(q); });
    expect(record.size() == 1 && download(q, mem_c, m * n) == zeros,
           "a recorded call does not run");
    xl::Event done;
    record.replay(xl::Sync().done(done));
    done.wait();
    check_product(a.data(), b.data(), download(q, mem_c, m * n).data(), {},
                  "replay()");
    record.set_mem(mem_a, mem_other);
    record.replay();
    check_product(other.data(), b.data(), download(q, mem_c, m * n).data(), {},
                  "set_mem()");
    record.add(0, [&] { g.run(q); });
    record.replay();
    check_product(a.data(), b.data(), download(q, mem_c, m * n).data(), {},
                  "a call that is recorded again");
    expect_error(XL_BAD_ARGUMENT, "", [&] { record.add(2, [] {}); });
}

// Callbacks, errors, and calls of the library.
void run_others(xl::Library &lib, xl::Queue &q)
{
    const xl::Gemm views = describe(nullptr, nullptr, nullptr);
    std::promise<xl_status> ended;
    views.prepare_async(
        q,
        [&](xl_status status, const char *) {
            ended.set_value(status);
            throw std::runtime_error("dropped");
        },
        m + 3);
    expect(ended.get_future().get() == XL_OK, "prepare_async()");
    std::promise<std::string> failed;
    xl::Gemm(m, 0, k).prepare_async(q, [&](xl_status, const char *message) {
        failed.set_value(message);
    });
    expect(!failed.get_future().get().empty(), "a failure has a message");
    views.prepare_async(q, {});
    views.prepare(q);
    views.prepare_range(q, m + 1);

    xl::Gemm wrong(m, 0, k);
    expect_error(XL_BAD_SHAPE, " n ", [&] { wrong.run(q); });
    cl_event untouched = nullptr;
    expect_error(XL_BAD_SHAPE, "",
                 [&] { wrong.run(q, xl::Sync().done(untouched)); });
    expect(!untouched, "a call that fails returns no event");
    expect_error(XL_NO_DEVICE, "no such card",
                 [&] { lib.find_device("no such card"); });
    expect_error(XL_IO, "/no/such/file",
                 [&] { lib.cache_import("/no/such/file"); });
    expect_error(XL_BAD_ARGUMENT, "", [&] { q.device().fact("no such"); });

    static_assert(!std::is_copy_constructible_v<xl::Queue> &&
                      !std::is_copy_assignable_v<xl::Queue>,
                  "handles are moved");
    xl_queue *const handle = q.get();
    xl::Queue moved = std::move(q);
    expect(moved.get() == handle && !q, "a queue is moved");
    expect_error(XL_BAD_ARGUMENT, "", [&] { views.prepare(q); });
    q = std::move(moved);
    expect(q.get() == handle && !moved, "a queue is moved back");
    xl::Queue beside(lib, q), made(lib, lib.devices().at(0));
    expect(beside.context() == q.context(), "a queue beside another");
    made = std::move(beside);

    const xl_cache_copy copy = lib.cache_export("programs.xlpf");
    expect(copy.n_copied > 0, "cache_export()");
    expect(lib.cache_import("programs.xlpf").n_known == copy.n_copied,
           "cache_import()");
    unsigned entries = 0;
    lib.cache_list([&](const xl_cache_entry &) { entries++; });
    expect(entries == lib.cache_stats().n_entries, "cache_list()");
    q.set_scratch_limit(1 << 20);
    q.trim();
    made.trim();
    expect(lib.trim().n_selections > 0, "trim()");
    q.finish();
}

void run(cl_command_queue native)
{
    xl::Options options;
    options.use_clblast = false;
    options.cache_dir = "cache_of_classes";
    std::string said;
    xl::Library opened(options, [&](xl_log_level, const char *text) {
        said += text;
        throw std::runtime_error("dropped");
    });
    xl::Library lib = std::move(opened);
    xl::Queue q(lib, native);
    expect(q.cl() == native && !opened.get(), "the queue is wrapped");
    run_gemm(q);
    run_conv(q);
    run_softmax(q);
    run_norm(q);
    run_qgemm(q);
    run_rotary(q);
    run_gradients(q);
    run_attention(q);
    run_packed_attention(q);
    run_attention_gradients(q);
    run_expr(q);
    run_record(q);
    run_others(lib, q);
}

} // namespace

int main()
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int err = clGetPlatformIDs(1, &platform, nullptr);
    if (err == CL_SUCCESS)
        err =
            clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    if (err != CL_SUCCESS)
        return EXIT_FAILURE;
    cl_context context =
        clCreateContext(nullptr, 1, &device, nullptr, nullptr, &err);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &err);
    int exit_code = EXIT_SUCCESS;
    try {
        run(queue);
        std::printf("classes: right\n");
    } catch (const std::exception &e) {
        std::printf("classes: %s\n", e.what());
        exit_code = EXIT_FAILURE;
    }
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return exit_code;
}
