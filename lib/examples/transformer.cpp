// SPDX-License-Identifier: Apache-2.0
// A transformer block, x += attention(rms_norm(x)) W, x += gelu(rms_norm(x) U) D,
// on random weights. It is causal: another last token changes the last row alone.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>
#include <crosslane/crosslane.hpp>
constexpr std::size_t N = 48, D = 64, HEADS = 4, WIDE = 4 * D;
int main()
try {
    xl::Library lib;
    xl::Queue q(lib, lib.find_device("0"));
    const auto upload = [&](const std::vector<float> &v) {
        xl::Buffer b(q, v.size() * sizeof(float));
        q.write(b, 0, v.data(), v.size() * sizeof(float));
        return b;
    };
    std::mt19937 bits;
    std::normal_distribution<float> normal(0, 1.0f / 8);
    const auto random = [&](std::size_t n) {
        std::vector<float> v(n);
        std::generate(v.begin(), v.end(), [&] { return normal(bits); });
        return v;
    };
    const auto qkv_w = upload(random(D * 3 * D)), back = upload(random(D * D)),
               up = upload(random(D * WIDE)), down = upload(random(WIDE * D));
    const auto rows = [](auto &b, std::size_t cols) { return xl::rows(b, cols, XL_F32); };
    const auto head = [](auto &b, std::size_t at, std::size_t row) {
        return xl_heads{xl::Mem(b), at, {0, D / HEADS, row, 1}, XL_F32};
    };
    const auto run = [&](const std::vector<float> &in) {
        const xl::Buffer x = upload(in), y(q, N * D * 4), qkv(q, N * 3 * D * 4),
                         wide(q, N * WIDE * 4);
        auto norm = xl::Norm(XL_NORM_RMS, N, D).src(rows(x, D)).dst(rows(y, D));
        norm.run(q);
        xl::Gemm(N, 3 * D, D).a(rows(y, D)).b(rows(qkv_w, 3 * D)).c(rows(qkv, 3 * D)).run(q);
        xl::Attention(HEADS, N, N, D / HEADS).causal().q(head(qkv, 0, 3 * D))
            .k(head(qkv, D, 3 * D)).v(head(qkv, 2 * D, 3 * D)).o(head(y, 0, D)).run(q);
        xl::Gemm(N, D, D).a(rows(y, D)).b(rows(back, D)).c(rows(x, D)).beta(1).run(q);
        norm.run(q);
        xl::Gemm(N, WIDE, D).a(rows(y, D)).b(rows(up, WIDE)).c(rows(wide, WIDE))
            .epilogue("gelu(y)").run(q);
        xl::Gemm(N, D, WIDE).a(rows(wide, WIDE)).b(rows(down, D)).c(rows(x, D)).beta(1).run(q);
        std::vector<float> out(N * D);
        q.read(x, 0, out.data(), N * D * sizeof(float));
        return out;
    };
    auto in = random(N * D);
    const auto first = run(in);
    in.back() += 1;
    const auto second = run(in);
    const auto changed = std::mismatch(first.begin(), first.end(), second.begin()).first;
    const auto row = std::size_t(changed - first.begin()) / D;
    std::printf("row %zu of %zu is the first that changed\n", row, N);
    return row != N - 1;
} catch (const xl::Error &e) {
    return std::puts(e.what()), 1;
}
