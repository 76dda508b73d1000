// Assignment to a part of a handle changes this handle and no other. Compared with plain loops, on every executor.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "seed.hpp"

using namespace sinter::testing;
using sn::Index;

namespace {

const std::vector<DType> kTypes = {DType::float32, DType::float64, DType::int32, DType::int64, DType::uint8, DType::float16, DType::bool_};

/// A random index into a shape, with its selection: a start and a step for each axis, and the shape of the part.
struct Selected {
  std::vector<Index> index;
  Coords start, step;
  Shape block, part;
};
Selected random_index(std::mt19937& rng, const Shape& shape) {
  const auto pick = [&](std::int64_t n) { return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(n)); };
  Selected s;
  const std::size_t named = static_cast<std::size_t>(pick(static_cast<std::int64_t>(shape.size()) + 1));
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::int64_t size = shape[k];
    std::int64_t start = 0, step = 1, count = size;
    if (k < named) {
      if (pick(5) == 0) {
        s.index.push_back(sn::newaxis);
        s.part.push_back(1);
      }
      const std::int64_t first = pick(size), stride = 1 + pick(3);
      if (pick(3) == 0) {
        s.index.push_back(pick(2) ? first : first - size);
        s.start.push_back(first);
        s.step.push_back(1);
        s.block.push_back(1);
        continue;
      }
      const bool back = pick(2);
      start = first;
      step = back ? -stride : stride;
      count = back ? first / stride + 1 : (size - first + stride - 1) / stride;
      s.index.push_back(back ? Slice{first, {}, -stride} : Slice{first, {}, stride});
    }
    s.start.push_back(start);
    s.step.push_back(step);
    s.block.push_back(count);
    s.part.push_back(count);
  }
  return s;
}

/// Replaces the part of a reference; the value has as many elements as the block.
Ref with_part(Ref x, const Selected& s, const std::vector<double>& value) {
  std::size_t next = 0;
  each(s.block, [&](const Coords& at) {
    Coords to(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) to[k] = s.start[k] + at[k] * s.step[k];
    x.v[static_cast<std::size_t>(flat(x.shape, to))] = value[next++];
  });
  return x;
}

}  // namespace

TEST_CASE("assignment to any part of any view, of a tensor, a broadcast tensor or a number") {
  std::mt19937 rng(fresh_seed());
  for (int round = 0; round < (on_gpu() ? 30 : 200) && !time_is_over(); ++round) {
    const DType dtype = kTypes[rng() % kTypes.size()];
    const double low = is_unsigned(dtype) || is_bool(dtype) ? 0 : -50, high = is_bool(dtype) ? 1 : 50;
    auto [x, ref] = random_view(rng, random(rng, {3, 4, 6}, dtype, low, high));
    if (ref.v.empty() || ref.shape.empty()) continue;
    if (rng() % 2 && !is_bool(dtype)) x = x + 0, ref = map(ref, [](double v) { return v; });
    const Tensor before = x;
    const Ref old = ref;
    for (int write = 1 + static_cast<int>(rng() % 3); write-- > 0;) {
      const Selected s = random_index(rng, ref.shape);
      Shape given = s.part;
      if (rng() % 3 == 0)
        for (auto& size : given) size = rng() % 2 ? 1 : size;
      if (rng() % 3 == 0) given.insert(given.begin(), 1);
      if (rng() % 4 == 0) given.clear();
      auto [value, value_ref] = random(rng, given, dtype, low, high);
      if (given.size() > s.part.size()) value_ref.shape.erase(value_ref.shape.begin());
      x.at(s.index) = value;
      ref = with_part(ref, s, broadcast(value_ref, s.part).v);
    }
    INFO(name(dtype), " ", sn::to_string(ref.shape));
    REQUIRE(x.dtype() == dtype);
    REQUIRE(x.shape() == ref.shape);
    CHECK(values(x) == ref.v);
    CHECK(values(before) == old.v);
  }
}

TEST_CASE("compound assignment to a part") {
  Tensor x = sn::arange(12.f).reshape({3, 4});
  const Tensor other = x;
  x(0) += 5.f;
  x(Slice{1, {}}, -1) *= Tensor{2.f, 3.f};
  x[1] -= 1;
  x(sn::ellipsis, Slice{{}, {}, -2}) /= 2;
  CHECK(values(x) == std::vector<double>{5, 3, 7, 4, 3, 2, 5, 6.5, 8, 4.5, 10, 16.5});
  CHECK(values(other) == values(sn::arange(12.f)));
  Tensor bits = Tensor{1, 2, 3, 4};
  bits(Slice{0, 2}) <<= 2;
  bits(3) |= 3;
  bits(2) ^= 1;
  bits(0) &= 4;
  bits(1) %= 5;
  bits(1) >>= 1;
  CHECK(values(bits) == std::vector<double>{4, 1, 2, 7});
  x(1) = x(0);  // assigns one part to another
  x(2) = {1.f, 2.f, 3.f, 4.f};
  x(0, 0) = 7;
  CHECK(values(x) == std::vector<double>{7, 3, 7, 4, 5, 3, 7, 4, 1, 2, 3, 4});
}

TEST_CASE("a value that was read earlier does not change, and a named part is a separate handle") {
  Tensor x = Tensor::zeros({4, 2}, DType::float32);
  const Tensor first = x(0) + 1;
  auto row = x(0);
  x(0) = 3.f;
  row = row + 2;
  row += 1;
  CHECK(values(first) == std::vector<double>{1, 1});
  CHECK(values(row) == std::vector<double>{3, 3});
  CHECK(values(x) == std::vector<double>{3, 3, 0, 0, 0, 0, 0, 0});
  x(Slice{1, 3}) = x(Slice{0, 2}) + 1;  // reads the part that it replaces
  CHECK(values(x) == std::vector<double>{3, 3, 4, 4, 1, 1, 0, 0});
}

TEST_CASE("assignment by masks") {
  std::mt19937 rng(fresh_seed());
  for (int round = 0; round < 20; ++round) {
    auto [x, ref] = random_view(rng, random(rng, {5, 4, 3}, DType::float32, -2, 2));
    if (ref.shape.empty() || ref.v.empty()) continue;
    Tensor y = x;
    y(y < 0.f) = 0.f;
    y(y > 1.f) += 10;
    CHECK(values(y) == map(ref, [](double v) { return v < 0 ? 0 : v > 1 ? static_cast<float>(v + 10) : v; }).v);
    CHECK(values(x) == ref.v);
  }
  Tensor x = sn::arange(6).reshape({3, 2});
  const Tensor rows{true, false, true};
  x(rows) = Tensor{7, 8};
  CHECK(values(x) == std::vector<double>{7, 8, 2, 3, 7, 8});
  x[rows] *= 2;
  CHECK(values(x) == std::vector<double>{14, 16, 2, 3, 14, 16});
  x(rows) = Tensor{{1, 2}, {3, 4}};  // one slice for each true element
  CHECK(values(x) == std::vector<double>{1, 2, 2, 3, 3, 4});
  CHECK(values(sn::sum(x(rows))) == std::vector<double>{10});
  x(rows) += Tensor{{10, 20}, {30, 40}};
  CHECK(values(x) == std::vector<double>{11, 22, 2, 3, 33, 44});
  x(rows) -= Tensor{{{1, 2}}};  // one value for all of them
  CHECK(values(x) == std::vector<double>{10, 20, 2, 3, 32, 42});
  x(rows) *= Tensor{{1}, {2}};
  CHECK(values(x) == std::vector<double>{10, 20, 2, 3, 64, 84});
  says<sn::ShapeError>([&] { x(rows) += sn::arange(3); }, "add: shapes (2, 2) and (3,) do not broadcast (axis -1: 2 against 3)");
  says<sn::DTypeError>([&] { x(rows) += Tensor{{0.5}, {0.5}}; }, "add: float64 cannot take the place of int64; convert one of them with astype first");
  says<sn::ShapeError>([&] { x(rows) = sn::arange(3); }, "assign: shape (3,) does not broadcast to (2, 2), the shape of the assigned part");
  says<sn::ShapeError>([&] { x(Tensor{true, false}) = 0; }, "index: a mask of shape (2,) does not fit shape (3, 2)");
}

TEST_CASE("assignment of one value to each element that a mask selects") {
  std::mt19937 rng(fresh_seed());
  for (int round = 0; round < 12; ++round) {
    const auto [x, ref] = random_view(rng, random(rng, {5, 4, 3}, DType::float64, -2, 2));
    const double smallest = round % 4 == 0 ? 3 : -1 + 0.5 * (round % 4);  // round 0 selects none
    std::vector<double> want = ref.v, operands;
    for (double& v : want)
      if (v > smallest) operands.push_back(std::uniform_real_distribution(0.5, 2.0)(rng));
    const Tensor y = sn::from_pointer(operands.data(), {static_cast<std::int64_t>(operands.size())});
    const auto changed = [&](auto f) {
      std::vector<double> all = ref.v;
      std::size_t n = 0;
      for (double& v : all)
        if (v > smallest) v = f(v, operands[n++]);
      return all;
    };
    const Tensor mask = x > smallest;
    Tensor sum = x, difference = x, product = x, quotient = x, own = x;
    sum(mask) += y;
    difference(mask) -= y;
    product(mask) *= y;
    quotient(mask) /= y;
    own(own > smallest) += own(own > smallest);
    CHECK(values(sum) == changed([](double a, double b) { return a + b; }));
    CHECK(values(difference) == changed([](double a, double b) { return a - b; }));
    CHECK(values(product) == changed([](double a, double b) { return a * b; }));
    CHECK(values(quotient) == changed([](double a, double b) { return a / b; }));
    CHECK(values(own) == changed([](double a, double) { return a + a; }));
    CHECK(values(x) == ref.v);
  }
}

TEST_CASE("types and shapes that do not fit are errors") {
  Tensor i = sn::arange(6).reshape({2, 3}), f = Tensor::ones({2, 3}, DType::float32), b = Tensor{true, false}, u = Tensor::zeros({3}, DType::uint8);
  says<sn::DTypeError>([&] { i(0) = 0.5; }, "assign: float64 cannot take the place of int64; convert one of them with astype first");
  says<sn::DTypeError>([&] { i(0) += 0.5f; }, "add: float32 cannot take the place of int64; convert one of them with astype first");
  says<sn::DTypeError>([&] { i += 0.5; }, "add: float64 cannot take the place of int64; convert one of them with astype first");
  says<sn::DTypeError>([&] { i /= 2; }, "divide: float64 cannot take the place of int64; convert one of them with astype first");
  says<sn::DTypeError>([&] { b += 1; }, "add: int64 cannot take the place of bool; convert one of them with astype first");
  says<sn::DTypeError>([&] { b(0) = 1; }, "assign: int64 cannot take the place of bool; convert one of them with astype first");
  says<sn::DTypeError>([&] { u += Tensor{std::int8_t{1}}; }, "add: int16 cannot take the place of uint8; convert one of them with astype first");
  says<sn::ValueError>([&] { u(0) = 300; }, "assign: integer literal 300 is out of bounds for uint8; convert the tensor with astype(int64) first");
  says<sn::ShapeError>([&] { f(0) = Tensor::ones({2}); }, "assign: shape (2,) does not broadcast to (3,), the shape of the assigned part");
  says<sn::ShapeError>([&] { f(0) += Tensor::ones({2, 3}); }, "add: shape (2, 3) does not broadcast to (3,), the shape of the assigned part");
  says<sn::ShapeError>([&] { f += Tensor::ones({4, 2, 3}); }, "add: shape (4, 2, 3) does not fit in place of (2, 3); write x = x + y for a larger result");
  says<sn::IndexError>([&] { f(2) = 0; }, "index: index 2 is out of bounds for axis 0 with size 2");
  Tensor g = f;
  g(Tensor{0, 5}) = 0;
  says<sn::IndexError>([&] { sn::eval(g); }, "assign: index 5 is out of bounds for axis 0 with size 2");
  i(0) = Tensor{std::int8_t{1}, std::int8_t{2}, std::int8_t{3}};
  f += 0.5;
  f(1) = Tensor{1.5, 2.5, 3.5};  // float64 into float32: of the same kind
  f(0) = true;
  CHECK(f.dtype() == DType::float32);
  CHECK(i.dtype() == DType::int64);
  CHECK(values(i) == std::vector<double>{1, 2, 3, 3, 4, 5});
  CHECK(values(f) == std::vector<double>{1, 1, 1, 1.5, 2.5, 3.5});
}

TEST_CASE("many assignments to rows, columns, elements and overlapping parts take linear time") {
  std::mt19937 rng(fresh_seed());
  const int n = on_gpu() ? 60 : 1000;
  Tensor rows = Tensor::zeros({n, 7}, DType::float32);
  for (int i = 0; i < n; ++i) rows(i) = sn::arange(7.f) * static_cast<float>(i);
  CHECK(values(rows) == make({n, 7}, [](const Coords& at) { return static_cast<double>(at[0] * at[1]); }).v);

  Tensor columns = Tensor::zeros({5, 90}, DType::float64);  // backwards, with a step
  for (int j = 89; j >= 0; j -= 2) columns(sn::ellipsis, j) = j;
  CHECK(values(columns) == make({5, 90}, [](const Coords& at) { return at[1] % 2 ? static_cast<double>(at[1]) : 0.0; }).v);

  Tensor grid = Tensor::zeros({12, 30}, DType::int32);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 30; ++j) grid(i, j) = 100 * i + j;
  CHECK(values(grid) == make({12, 30}, [](const Coords& at) { return static_cast<double>(100 * at[0] + at[1]); }).v);

  auto [x, ref] = random(rng, {200}, DType::float64, -1, 1);
  for (int write = 0; write < 150; ++write) {
    const std::int64_t begin = static_cast<std::int64_t>(rng() % 190), end = begin + 1 + static_cast<std::int64_t>(rng() % 10);
    x(Slice{begin, end}) = static_cast<double>(write);
    for (std::int64_t k = begin; k < end; ++k) ref.v[static_cast<std::size_t>(k)] = write;
  }
  CHECK(values(x) == ref.v);

  Tensor walk = Tensor::zeros({n}, DType::float64);  // each element depends on the one before
  walk(0) = 1;
  for (int i = 1; i < n; ++i) walk(i) = walk(i - 1) * 0.5 + 1;
  double expected = 1;
  for (int i = 1; i < n; ++i) expected = expected * 0.5 + 1;
  CHECK(walk(n - 1).item<double>() == expected);

  if (!sn::options().fuse || on_gpu()) return;
  const auto kernels_for = [](int count) {
    Tensor y = Tensor::zeros({count, 4}, DType::float32);
    std::vector<Tensor> values;
    for (int i = 0; i < count; ++i) values.push_back(sn::from_span(std::vector<float>{1, 2, 3, static_cast<float>(i)}));
    for (int i = 0; i < count; ++i) y(i) = values[static_cast<std::size_t>(i)];
    return launches(y);
  };
  const auto thousand = kernels_for(1000);
  CHECK(thousand <= 100);
  CHECK(kernels_for(2000) <= 3 * thousand);
}

TEST_CASE("assignment to a part of a part changes the whole") {
  Tensor x = sn::arange(24.f).reshape({2, 3, 4});
  const Tensor before = x, row = x[1];
  x(0)(1) = 50.f;
  x[1][2](Slice{1, 3}) = {60.f, 61.f};
  x(Slice{}, Slice{1, {}})(0, 0)(3) += 100.f;
  x[1][0](x[1][0] > 13.f) = -1.f;
  std::vector<float> expected(24);
  for (int k = 0; k < 24; ++k) expected[static_cast<std::size_t>(k)] = static_cast<float>(k);
  for (const int k : {4, 5, 6, 7}) expected[static_cast<std::size_t>(k)] = 50;
  expected[21] = 60, expected[22] = 61, expected[7] += 100, expected[14] = expected[15] = -1;
  CHECK(x.to_vector<float>() == expected);
  CHECK(before(0, 1, 0).item<float>() == 4);
  CHECK(row(2, 1).item<float>() == 21);
  CHECK(x[0][1][3].item<float>() == 150);  // read, not assigned to
  says<sn::ValueError>([&] { x({0, 1})(0) = 0.f; },
                       "assign: indexing with tensors makes a copy, and an assignment to a part of the copy would be lost; write one index instead of two");
  CHECK(x.to_vector<float>() == expected);
}

TEST_CASE("one element has a truth value; several elements are an error") {
  const Tensor x = sn::arange(6), y = sn::arange(6) + 0;
  CHECK((sn::allclose(x, y) ? true : false));
  CHECK((!sn::allclose(x, y + 1) ? true : false));
  int count = 0;
  for (Tensor n = 5; n > 0; n -= 2) ++count;
  CHECK(count == 3);
  CHECK((x.sum() && x(0) + 1 ? true : false));
  says<sn::ShapeError>(
      [&] {
        if (x == y) ++count;
      },
      "operator bool: shape (6,) has 6 elements, not 1: any() or all() of them?");
  CHECK_THROWS_AS(static_cast<bool>(Tensor()), sn::ValueError);
}

TEST_CASE("an assignment is fused into the kernel that reads its result") {
  Tensor x = sn::from_span(std::vector<float>(1000, 2.f), {10, 100});
  x(Slice{2, 5}, Slice{0, 50}) = 1.f;
  x(0) += 3.f;
  const Tensor y = sn::sum(sn::exp(x) * 2.f, 1);
  const auto launched = launches(y);
  if (sn::options().fuse) CHECK(launched == 1);
  const double e2 = std::exp(2.0), e1 = std::exp(1.0), e5 = std::exp(5.0);
  const auto got = values(y);
  for (int i = 0; i < 10; ++i) {
    const double want = 2 * (i == 0 ? 100 * e5 : i >= 2 && i < 5 ? 50 * e1 + 50 * e2 : 100 * e2);
    CHECK(std::fabs(got[static_cast<std::size_t>(i)] - want) <= 1e-5 * want);
  }
}
