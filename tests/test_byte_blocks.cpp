// The blocks of products of bytes, each instruction set that this processor has against the plainest.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "device/host/byte_product.hpp"

using namespace sinter::device;

TEST_CASE("every instruction set multiplies bytes alike") {
  std::vector<ByteBlockFn> all{&byte_block_baseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) all.push_back(&byte_block_avx2);
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) all.push_back(&byte_block_vnni);
#endif
  std::mt19937 rng(5);
  const auto any = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng); };
  for (int i = 0; i < 200; ++i) {
    const std::int64_t rows = any(1, 10), columns = any(1, 70), depth = any(1, 200), left_step = depth + any(0, 5), right_step = depth + any(0, 5), c_step = columns + any(0, 3);
    std::vector<char> left(static_cast<std::size_t>((rows - 1) * left_step + depth)), right(static_cast<std::size_t>((columns - 1) * right_step + depth));
    for (auto* list : {&left, &right})
      for (char& x : *list) x = static_cast<char>(any(-128, 127));
    const bool left_signed = any(0, 1) > 0, right_signed = any(0, 1) > 0;
    const auto number = [](char x, bool is_signed) { return is_signed ? std::int64_t{static_cast<signed char>(x)} : std::int64_t{static_cast<unsigned char>(x)}; };
    for (const ByteBlockFn multiply : all) {
      std::vector<std::int32_t> c(static_cast<std::size_t>(rows * c_step), 77);
      multiply({left.data(), right.data(), c.data(), rows, columns, depth, left_step, right_step, c_step, left_signed, right_signed});
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < c_step; ++column) {
          std::int64_t want = column < columns ? 0 : 77;
          for (std::int64_t k = 0; column < columns && k < depth; ++k)
            want += number(left[static_cast<std::size_t>(row * left_step + k)], left_signed) * number(right[static_cast<std::size_t>(column * right_step + k)], right_signed);
          REQUIRE(c[static_cast<std::size_t>(row * c_step + column)] == want);
        }
    }
  }
}
