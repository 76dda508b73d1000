// Products of matrices of bytes into int32, compared with sums in int64: every pair of types, any layout, sizes that fill no vector, extreme values whose sums
// exceed 2^31. The library reads the bytes without conversion, and any number of threads gives the same bits.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "draws.hpp"
#include "ops/blocked.hpp"
#include "program.hpp"
#include "sinter/freeze.hpp"

using namespace sinter;

namespace {

using testing::numbers;
using testing::pick;

/// Returns random bytes. With `extreme`, only the smallest and the largest value.
Tensor bytes(const Shape& shape, bool is_signed, bool extreme) {
  const auto draw = [&]<class T>(T) {
    std::vector<T> list(static_cast<std::size_t>(element_count(shape)));
    for (T& x : list) x = static_cast<T>(extreme ? std::numeric_limits<T>::min() + (pick(0, 1) ? 255 : 0) : std::numeric_limits<T>::min() + pick(0, 255));
    return from_span(list, shape);
  };
  return is_signed ? draw(std::int8_t{}) : draw(std::uint8_t{});
}

/// (batch, m, k) x (batch, k, n), modulo 2^32.
std::vector<std::int32_t> reference(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b, std::int64_t batch, std::int64_t m, std::int64_t k,
                                    std::int64_t n) {
  std::vector<std::int32_t> c;
  for (std::int64_t e = 0; e < batch; ++e)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += static_cast<std::int64_t>(a[static_cast<std::size_t>((e * m + i) * k + l)]) * b[static_cast<std::size_t>((e * k + l) * n + j)];
        c.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
      }
  return c;
}

Tensor wide(const Tensor& x) { return x.astype(DType::int32); }

void check(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n, bool a_signed, bool b_signed, bool extreme = false) {
  const bool a_across = pick(0, 1), b_across = pick(0, 1);  // column-major
  const Tensor a0 = bytes(a_across ? Shape{batch, k, m} : Shape{batch, m, k}, a_signed, extreme),
               b0 = bytes(b_across ? Shape{batch, n, k} : Shape{batch, k, n}, b_signed, extreme);
  const Tensor a = a_across ? permute(a0, {0, 2, 1}) : a0, b = b_across ? permute(b0, {0, 2, 1}) : b0;
  INFO(fmt::format("batch {} m {} k {} n {} {} {} across {} {}", batch, m, k, n, a_signed ? "int8" : "uint8", b_signed ? "int8" : "uint8", a_across, b_across));
  const auto want = reference(wide(a).to_vector<std::int32_t>(), wide(b).to_vector<std::int32_t>(), batch, m, k, n);
  CHECK(matmul(wide(a), wide(b)).to_vector<std::int32_t>() == want);
  const auto shifted = (matmul(wide(a), wide(b)) + 3).to_vector<std::int32_t>();  // the addition is an epilogue
  for (std::size_t i = 0; i < want.size(); ++i) REQUIRE(static_cast<std::uint32_t>(shifted[i]) == static_cast<std::uint32_t>(want[i]) + 3u);
}

/// Returns whether the product read its operands without conversion, or the right one from panels.
bool multiplies_bytes(const Tensor& product) {
  const std::string report = explain(product);
  return report.find("bytes as they are stored") != std::string::npos || report.find("matmul_panels") != std::string::npos;
}

}  // namespace

TEST_CASE("products of bytes agree with their definition") {
  const bool on_cpu = options().device == "cpu";  // the emulated device is slow
  for (const bool a_signed : {false, true})
    for (const bool b_signed : {false, true}) {
      for (int i = 0; i < (on_cpu ? 8 : 1); ++i) check(pick(1, 3), pick(1, 70), pick(1, 200), pick(1, 70), a_signed, b_signed);
      check(2, 1, 64, 1, a_signed, b_signed);
      if (!on_cpu) continue;
      check(1, 67, 130, 533, a_signed, b_signed);
      check(1, 5, 40000, 3, a_signed, b_signed, true);
    }
}

TEST_CASE("slices, broadcast matrices, products of products, and bytes together with int32") {
  const Tensor a = bytes({3, 20, 50}, false, false), b = bytes({1, 50, 31}, true, false);
  const auto ints = [](const Tensor& x) { return wide(x).to_vector<std::int32_t>(); };
  const Tensor repeated = broadcast_to(b, {3, 50, 31}).copy();
  CHECK(matmul(wide(a), wide(b)).to_vector<std::int32_t>() == reference(ints(a), ints(repeated), 3, 20, 50, 31));
  const Tensor part = slice(a, {Slice{}, Slice{1, 20, 3}, Slice{5, 45}}), rows = slice(b, {Slice{}, Slice{5, 45}});
  CHECK(matmul(wide(part), wide(rows)).to_vector<std::int32_t>() == reference(ints(part.copy()), ints(broadcast_to(rows, {3, 40, 31}).copy()), 3, 7, 40, 31));
  const Tensor flipped = flip(b, {1});
  CHECK(matmul(wide(a), wide(flipped)).to_vector<std::int32_t>() == reference(ints(a), ints(broadcast_to(flipped, {3, 50, 31}).copy()), 3, 20, 50, 31));
  // An operand that strides cannot describe is materialised as bytes.
  const Tensor heads = bytes({2, 6, 9, 16}, true, false), joined = reshape(permute(heads, {0, 2, 1, 3}), {2, 9, 96}), weights = bytes({96, 40}, true, false);
  const Tensor product = matmul(wide(joined), wide(weights));
  if (options().device == "cpu" && options().fuse) CHECK(multiplies_bytes(product));
  CHECK(product.to_vector<std::int32_t>() == reference(ints(joined.copy()), ints(broadcast_to(weights, {2, 96, 40}).copy()), 2, 9, 96, 40));
  const Tensor whole = arange(50 * 31).astype(DType::int32).reshape({50, 31});
  CHECK(matmul(wide(slice(a, {0})), whole).to_vector<std::int32_t>() == reference(ints(slice(a, {0}).copy()), whole.to_vector<std::int32_t>(), 1, 20, 50, 31));
  CHECK(matmul(wide(slice(a, {0})) - 7, wide(slice(b, {0}))).to_vector<std::int32_t>() ==
        reference((wide(slice(a, {0})) - 7).to_vector<std::int32_t>(), ints(slice(b, {0}).copy()), 1, 20, 50, 31));
  CHECK(matmul(wide(zeros({4, 0}, DType::int8)), wide(zeros({0, 5}, DType::int8))).to_vector<std::int32_t>() == std::vector<std::int32_t>(20, 0));
}

TEST_CASE("products read bytes without conversion, even in a frozen function") {
  const Tensor a = bytes({64, 300}, false, false), b = bytes({300, 400}, true, false);
  const Tensor c = matmul(wide(a), wide(b));
  const bool on_cpu = options().device == "cpu";
  if (on_cpu && options().fuse) CHECK(multiplies_bytes(c));
  const Function f = freeze([&](const Tensor& x) { return matmul(wide(x), wide(b)) + 1; }, {{DType::uint8, {64, 300}, "a"}});
  CHECK(f({a})[0].to_vector<std::int32_t>() == (c + 1).to_vector<std::int32_t>());
}

TEST_CASE("a product with a matrix in panels") {
  const bool on_cpu = options().device == "cpu";
  const auto ints = [](const Tensor& x) { return wide(x).to_vector<std::int32_t>(); };
  for (int i = 0; i < (on_cpu ? 12 : 2); ++i) {
    const std::int64_t batch = pick(1, 3), m = pick(1, 40), k = pick(1, 150), n = pick(1, 80);
    INFO(fmt::format("batch {} m {} k {} n {}", batch, m, k, n));
    const bool across = pick(0, 1);
    const Tensor x0 = bytes(across ? Shape{batch, k, m} : Shape{batch, m, k}, false, pick(0, 3) == 0), x = across ? permute(x0, {0, 2, 1}) : x0,
                 w = bytes({k, n}, true, false);
    const auto want = reference(ints(x.copy()), ints(broadcast_to(w, {batch, k, n}).copy()), batch, m, k, n);
    const Tensor panels = byte_panels(w);
    CHECK(panels.shape() == Shape{(n + 15) / 16, (k + 3) / 4, 16, 4});
    const Tensor y = matmul_panels(x, panels, n);
    if (on_cpu && options().fuse) CHECK(explain(y).find("right matrix in panels") != std::string::npos);
    CHECK(y.dtype() == DType::int32);
    REQUIRE(y.shape() == Shape{batch, m, n});
    CHECK(y.to_vector<std::int32_t>() == want);
    const auto shifted = (matmul_panels(x, panels, n) + arange(n).astype(DType::int32)).to_vector<std::int32_t>();  // the addition is an epilogue
    for (std::size_t at = 0; at < want.size(); ++at) REQUIRE(shifted[at] == want[at] + static_cast<std::int32_t>(at % static_cast<std::size_t>(n)));
    const Function f = freeze([&](const Tensor& given) { return matmul_panels(given, byte_panels(w), n) - 5; }, {{DType::uint8, {batch, m, k}, "x"}});
    CHECK(f({x.copy()})[0].to_vector<std::int32_t>() == (y - 5).to_vector<std::int32_t>());
  }
  const Tensor panels = byte_panels(bytes({10, 20}, true, false));
  CHECK(matmul_panels(zeros({0, 10}, DType::uint8), panels, 20).shape() == Shape{0, 20});
  CHECK_THROWS_AS(byte_panels(bytes({10, 20}, false, false)), DTypeError);
  CHECK_THROWS_AS(byte_panels(bytes({2, 10, 20}, true, false)), ShapeError);
  CHECK_THROWS_AS(matmul_panels(bytes({3, 10}, true, false), panels, 20), DTypeError);
  CHECK_THROWS_AS(matmul_panels(bytes({3, 10}, false, false), panels, 33), ShapeError);
  CHECK_THROWS_AS(matmul_panels(bytes({3, 13}, false, false), panels, 20), ShapeError);
  CHECK_THROWS_AS(matmul_panels(bytes({10}, false, false), panels, 20), ShapeError);
}

TEST_CASE("any number of threads gives the same bits") {
  if (options().device != "cpu") return;
  const Tensor a = bytes({2, 90, 301}, true, false), b = bytes({301, 600}, true, false);
  std::vector<std::vector<std::int32_t>> results;
  for (const int threads : {1, 3, 8}) {
    const auto scope = testing::with_threads(threads);
    results.push_back(matmul(wide(a), wide(b)).to_vector<std::int32_t>());
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}
