// Promise 1 for sizes and slice offsets: a size that meets a plan's guards plans nothing, generates nothing and compiles nothing,
// and its results are right.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "program.hpp"
#include "reference.hpp"

namespace {

struct Case {
  const char* name;
  std::function<Tensor(int)> record;  // the formula at size or offset number k
  std::function<double(int k, std::int64_t element)> expected;
  int plans, compiles;  // the maximum for all hundred sizes or offsets together
};

// Element (i, j) of the inputs.
float value(std::int64_t i, std::int64_t j) { return static_cast<float>((i * 7 + j * 3) % 11) / 8.f - 0.5f; }

Tensor matrix(std::int64_t rows, std::int64_t columns) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) values.push_back(value(i, j));
  return sn::from_span(values, sn::Shape{rows, columns});
}

double softmax(std::int64_t row, std::int64_t columns, std::int64_t j) {
  double sum = 0;
  for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(value(row, c)));
  return std::exp(static_cast<double>(value(row, j))) / sum;
}

double column_sum(std::int64_t first, std::int64_t rows, std::int64_t j) {
  double sum = 0;
  for (std::int64_t i = first; i < first + rows; ++i) sum += static_cast<double>(value(i, j)) * 2;
  return sum;
}

double relu_product(std::int64_t row, std::int64_t j) {
  double sum = 1;
  for (std::int64_t k = 0; k < 24; ++k) sum += static_cast<double>(value(row, k)) * static_cast<double>(value(k, j));
  return std::max(sum, 0.0);
}

}  // namespace

TEST_CASE("a hundred sizes and a hundred offsets of a formula are planned and compiled once or twice") {
  const int count = sinter::testing::on_gpu() ? 12 : 100;
  const Tensor big = matrix(100 * 8 + 8, 24), right = matrix(24, 10);
  const auto rows = [&](int k) { return big(Slice{k * 8, k * 8 + 8}); };
  const Case cases[] = {
      {"pointwise sizes", [](int k) { return sn::tanh(matrix(50 + k, 24) * 2.f) + 1.f; },
       [](int, std::int64_t e) { return std::tanh(2 * static_cast<double>(value(e / 24, e % 24))) + 1; }, 4, 2},
      {"row sizes", [](int k) { return sn::softmax(matrix(20 + k, 40 + k), -1); },
       [](int k, std::int64_t e) { return softmax(e / (40 + k), 40 + k, e % (40 + k)); }, 6, 3},
      {"column sizes", [](int k) { return sn::sum(matrix(500 + k, 24) * 2.f, 0); }, [](int k, std::int64_t e) { return column_sum(0, 500 + k, e); }, 6, 3},
      {"product with an epilogue, sizes", [](int k) { return sn::maximum(sn::matmul(matrix(50 + k, 24), matrix(24, 10)) + 1.f, 0.f); },
       [](int, std::int64_t e) { return relu_product(e / 10, e % 10); }, 6, 4},
      {"pointwise offsets", [&](int k) { return sn::tanh(rows(k) * 2.f) + 1.f; },
       [](int k, std::int64_t e) { return std::tanh(2 * static_cast<double>(value(k * 8 + e / 24, e % 24))) + 1; }, 2, 2},
      {"row offsets", [&](int k) { return sn::softmax(rows(k), -1); }, [](int k, std::int64_t e) { return softmax(k * 8 + e / 24, 24, e % 24); }, 2, 2},
      {"column offsets", [&](int k) { return sn::sum(rows(k) * 2.f, 0); }, [](int k, std::int64_t e) { return column_sum(k * 8, 8, e); }, 2, 2},
      {"neighbouring offsets", [&](int k) { return big(Slice{k * 8 + 1, k * 8 + 8}) - big(Slice{k * 8, k * 8 + 7}) * 2.f; },
       [](int k, std::int64_t e) { return static_cast<double>(value(k * 8 + 1 + e / 24, e % 24)) - 2 * static_cast<double>(value(k * 8 + e / 24, e % 24)); }, 2,
       2},
      {"product with an epilogue, offsets", [&](int k) { return sn::maximum(sn::matmul(rows(k), right) + 1.f, 0.f); },
       [](int k, std::int64_t e) { return relu_product(k * 8 + e / 10, e % 10); }, 2, 3},
  };
  for (const Case& c : cases) {
    INFO(std::string(c.name));
    const auto before = sn::counters();
    for (int k = 0; k < count; ++k) {
      CAPTURE(k);
      const auto got = c.record(k).to_vector<float>();
      std::int64_t wrong = 0;
      for (std::size_t e = 0; e < got.size(); ++e) wrong += !(std::abs(static_cast<double>(got[e]) - c.expected(k, static_cast<std::int64_t>(e))) < 1e-4);
      REQUIRE(wrong == 0);
    }
    const auto after = sn::counters();
    // Accesses of 16 bytes on CUDA need multiples of 4; other sizes have plans and kernels of their own.
    const auto times = static_cast<std::uint64_t>(sinter::testing::on_gpu() ? 3 : 1);
    CHECK(after.plans_made - before.plans_made <= times * static_cast<std::uint64_t>(c.plans));
    CHECK(after.kernels_compiled - before.kernels_compiled <= times * static_cast<std::uint64_t>(c.compiles));
    CHECK(after.plans_made > before.plans_made);
  }
}

TEST_CASE("explain says for which sizes a plan is valid") {
  const std::string text = sn::explain(sn::softmax(sn::placeholder({100, 300}, sn::DType::float32), -1));
  CHECK(text.find("planned for 100 rows of 300; valid for ") != std::string::npos);
}
