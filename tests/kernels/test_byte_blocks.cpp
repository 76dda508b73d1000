// Blocks of products of bytes, and whole products, on each instruction set of this processor, compared with the definition.
#include <doctest/doctest.h>

#include <mutex>
#include <random>
#include <vector>

#include "kernels/products/byte_panel.hpp"
#include "kernels/products/byte_product.hpp"
#include "seed.hpp"

using namespace sinter::kernels;

TEST_CASE("every instruction set gives the same products of bytes") {
  std::vector<ByteBlockFn> all{&byte_block_baseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) all.push_back(&byte_block_avx2);
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) all.push_back(&byte_block_vnni);
#endif
  std::mt19937 rng(5);
  const auto any = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng); };
  for (int i = 0; i < 200; ++i) {
    const std::int64_t rows = any(1, 10), columns = any(1, 70), depth = any(1, 200), left_step = depth + any(0, 5), right_step = depth + any(0, 5),
                       c_step = columns + any(0, 3);
    std::vector<char> left(static_cast<std::size_t>((rows - 1) * left_step + depth)), right(static_cast<std::size_t>((columns - 1) * right_step + depth));
    for (auto* list : {&left, &right})
      for (char& x : *list) x = static_cast<char>(any(-128, 127));
    const bool left_signed = any(0, 1) > 0, right_signed = any(0, 1) > 0;
    const auto number = [](char x, bool is_signed) {
      return is_signed ? std::int64_t{static_cast<signed char>(x)} : std::int64_t{static_cast<unsigned char>(x)};
    };
    for (const ByteBlockFn multiply : all) {
      std::vector<std::int32_t> c(static_cast<std::size_t>(rows * c_step), 77);
      multiply({left.data(), right.data(), c.data(), rows, columns, depth, left_step, right_step, c_step, left_signed, right_signed});
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < c_step; ++column) {
          std::int64_t want = column < columns ? 0 : 77;
          for (std::int64_t k = 0; column < columns && k < depth; ++k)
            want += number(left[static_cast<std::size_t>(row * left_step + k)], left_signed) *
                    number(right[static_cast<std::size_t>(column * right_step + k)], right_signed);
          REQUIRE(c[static_cast<std::size_t>(row * c_step + column)] == want);
        }
    }
  }
}

TEST_CASE("every instruction set gives the same products of matrices of bytes, and reports each element once") {
  std::vector<ByteBlocks> all{{"baseline", &byte_block_baseline, nullptr}, {"baseline's panels", &byte_block_baseline, &kBytePanelsBaseline}};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) all.push_back({"avx2", &byte_block_avx2, nullptr});
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    all.push_back({"vnni", &byte_block_vnni, &kBytePanelsVnni});
#endif
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto any = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng); };
  struct Sizes {
    std::int64_t m, n, k;
  };
  std::vector<Sizes> sizes{{300, 40, 70}, {9, 37, 2100}, {30, 33, 4097}, {9, 800, 64}, {100, 1600, 130}, {1, 20, 5}, {14, 32, 4}, {15, 16, 3}, {28, 17, 1}};
  for (int i = 0; i < 40; ++i) sizes.push_back({any(1, 60), any(1, 100), any(1, 150)});
  for (const auto& [m, n, k] : sizes) {
    const std::vector<std::int64_t> batch = any(0, 2) ? std::vector<std::int64_t>{any(1, 2)} : std::vector<std::int64_t>{any(1, 3), any(1, 2)};
    std::vector<char> bytes[2];
    const auto drawn = [&](std::vector<char>& list, std::int64_t rows, std::int64_t columns) {
      ByteOperand operand{{}, any(0, 1) > 0};
      operand.matrix.transposed = any(0, 1) > 0;
      operand.matrix.leading = (operand.matrix.transposed ? rows : columns) + any(0, 3);
      const std::int64_t matrix = operand.matrix.leading * (operand.matrix.transposed ? columns : rows);
      std::int64_t step = matrix;
      for (std::size_t axis = batch.size(); axis-- > 0;) {
        const bool repeated = any(0, 3) == 0;
        operand.matrix.batch_strides.insert(operand.matrix.batch_strides.begin(), repeated ? 0 : step);
        if (!repeated) step *= batch[axis];
      }
      list.resize(static_cast<std::size_t>(step));
      const bool extreme = any(0, 3) == 0;  // sums that would overflow 16 bits
      for (char& x : list) x = static_cast<char>(extreme ? (operand.is_signed ? -128 : 255) : any(-128, 127));
      operand.matrix.data = list.data();
      return operand;
    };
    const ByteOperand a = drawn(bytes[0], m, k), b = drawn(bytes[1], k, n);
    const auto number = [](const ByteOperand& operand, const std::vector<std::int64_t>& at, std::int64_t row, std::int64_t column) {
      const MatmulOperand& matrix = operand.matrix;
      std::int64_t place = matrix.transposed ? column * matrix.leading + row : row * matrix.leading + column;
      for (std::size_t axis = 0; axis < at.size(); ++axis) place += at[axis] * matrix.batch_strides[axis];
      const char x = static_cast<const char*>(matrix.data)[place];
      return operand.is_signed ? std::int64_t{static_cast<signed char>(x)} : std::int64_t{static_cast<unsigned char>(x)};
    };
    std::vector<std::int32_t> want;
    std::vector<std::int64_t> at(batch.size());
    std::int64_t elements = 1;
    for (const std::int64_t size : batch) elements *= size;
    for (std::int64_t element = 0; element < elements; ++element) {
      std::int64_t left = element;
      for (std::size_t axis = batch.size(); axis-- > 0; left /= batch[axis]) at[axis] = left % batch[axis];
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          std::int64_t sum = 0;
          for (std::int64_t l = 0; l < k; ++l) sum += number(a, at, i, l) * number(b, at, l, j);
          want.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
        }
    }
    for (const ByteBlocks& blocks : all)
      for (const int threads : {1, 3}) {
        INFO(blocks.name, " ", threads, " threads, m ", m, " n ", n, " k ", k, " turned ", a.matrix.transposed, b.matrix.transposed, " signed ", a.is_signed,
             b.is_signed);
        std::vector<std::int32_t> c(want.size(), 77), calls(want.size(), 0), then(want.size());
        std::mutex mutex;
        const Epilogue epilogue(
            [&](std::int64_t begin, std::int64_t end, const void*) {
              const std::lock_guard lock(mutex);
              for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) ++calls[i], then[i] = c[i];
            },
            false);
        multiply_bytes(a, b, c.data(), batch, m, n, k, threads, epilogue, blocks);
        REQUIRE(c == want);
        REQUIRE(then == want);
        REQUIRE(calls == std::vector<std::int32_t>(want.size(), 1));
      }
  }
}

TEST_CASE("a matrix in panels gives the same product as the matrix itself") {
  std::vector<const BytePanels*> all{&kBytePanelsBaseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) all.push_back(&kBytePanelsVnni);
#endif
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto any = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng); };
  struct Sizes {
    std::int64_t m, n, k;
  };
  std::vector<Sizes> sizes{{1, 1000, 40}, {9, 37, 2100}, {30, 50, 4097}, {300, 40, 70}, {52, 900, 130}, {14, 16, 4}, {15, 17, 3}};
  for (int i = 0; i < 30; ++i) sizes.push_back({any(1, 60), any(1, 100), any(1, 150)});
  for (const auto& [m, n, k] : sizes) {
    INFO("m ", m, " n ", n, " k ", k);
    const bool extreme = any(0, 3) == 0;
    std::vector<std::uint8_t> a(static_cast<std::size_t>(m * k));
    for (std::uint8_t& x : a) x = static_cast<std::uint8_t>(extreme ? 255 : any(0, 255));
    const std::int64_t fours = (k + 3) / 4;
    std::vector<std::int8_t> b(static_cast<std::size_t>(k * n)), panels(static_cast<std::size_t>((n + 15) / 16 * fours * 64), 0);
    for (std::int64_t row = 0; row < k; ++row)
      for (std::int64_t column = 0; column < n; ++column) {
        const auto x = static_cast<std::int8_t>(extreme ? -128 : any(-128, 127));
        b[static_cast<std::size_t>(row * n + column)] = x;
        panels[static_cast<std::size_t>(((column / 16 * fours + row / 4) * 16 + column % 16) * 4 + row % 4)] = x;
      }
    std::vector<std::int32_t> want;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::int32_t sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += std::int32_t{a[static_cast<std::size_t>(i * k + l)]} * std::int32_t{b[static_cast<std::size_t>(l * n + j)]};
        want.push_back(sum);
      }
    for (const BytePanels* by : all)
      for (const int threads : {1, 4}) {
        INFO(by->name, " ", threads, " threads");
        std::vector<std::int32_t> c(want.size() + 1, 77);  // nothing is written after the result
        multiply_laid_bytes(a.data(), panels.data(), c.data(), m, n, k, threads, {}, *by);
        CHECK(c.back() == 77);
        c.pop_back();
        REQUIRE(c == want);
      }
  }
}
