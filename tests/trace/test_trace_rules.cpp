// Types that C++ numbers give, slices, and the message of each misuse. Types and shapes of tensors are NumPy's by golden expressions (test_golden).
#include <doctest/doctest.h>

#include <array>
#include <limits>

#include "host_data_stub.hpp"
#include "says.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
using sinter::testing::says;
using sn::DType;
using sn::Shape;
using sn::Tensor;

namespace {

Tensor data(DType dtype, const Shape& shape = {3}) { return sn::placeholder(shape, dtype); }

}  // namespace

TEST_CASE("a C++ float beside a tensor of a lower kind gives float32, a double float64, on either side") {
  using Binary = Tensor (*)(const sn::Arg&, const sn::Arg&);
  const Binary calls[] = {sn::add,     sn::divide, sn::floor_divide,
                          sn::minimum, sn::power,  [](const sn::Arg& a, const sn::Arg& b) { return sn::where(data(DType::bool_), a, b); }};
  for (const Binary call : calls)
    for (const DType dtype : {DType::bool_, DType::int32, DType::int64, DType::float32, DType::float64}) {
      CAPTURE(sn::name(dtype));
      const bool floating = sn::is_floating(dtype);
      for (const bool right : {false, true}) {
        const Tensor x = data(dtype);
        CHECK((right ? call(x, 2.5f) : call(2.5f, x)).dtype() == (floating ? dtype : DType::float32));
        CHECK((right ? call(x, 2.5) : call(2.5, x)).dtype() == (floating ? dtype : DType::float64));
      }
    }
}

TEST_CASE("types of created tensors") {
  CHECK(sn::zeros({2}).dtype() == DType::float64);
  CHECK(sn::full({2}, 1.f).dtype() == DType::float32);
  CHECK(sn::full({2}, true).dtype() == DType::bool_);
  CHECK(sn::full({2}, 1, DType::float32).dtype() == DType::float32);
  CHECK(sn::arange(5).dtype() == DType::int64);
  CHECK(sn::arange(0.f, 1.f, 0.25f).dtype() == DType::float32);
  CHECK(sn::arange(0, 1, 0.25).dtype() == DType::float64);
  CHECK(sn::arange(3, DType::int32).dtype() == DType::int32);
  CHECK(sn::linspace(0, 1, 5).dtype() == DType::float64);
  CHECK((Tensor(sn::add(1, 2))).dtype() == DType::int64);
  CHECK(sn::add(1, 2.5).dtype() == DType::float64);
  CHECK(sn::add(1, 2.5f).dtype() == DType::float32);
  CHECK(sn::add(1.f, 2.5).dtype() == DType::float64);
  CHECK(sn::where(data(DType::bool_), 1.f, 0.f).dtype() == DType::float32);
  CHECK(sn::where(data(DType::bool_), 1.f, 0.0).dtype() == DType::float64);
  CHECK((data(DType::bool_) * 1.5f).dtype() == DType::float32);
  CHECK((data(DType::float32) * 1.5).dtype() == DType::float32);
  CHECK(sn::exp(1.f).dtype() == DType::float32);
  CHECK(sn::linspace(0.f, 1.f, 5).dtype() == DType::float32);
  CHECK(sn::linspace(0.f, 1, 5).dtype() == DType::float32);
  CHECK(sn::linspace(0.f, 1.0, 5).dtype() == DType::float64);
  CHECK(sn::linspace(0.f, 1.f, 5, true, DType::int32).dtype() == DType::int32);
  CHECK(Tensor(1.5f).dtype() == DType::float32);
  CHECK(Tensor(2).dtype() == DType::int32);
}

TEST_CASE("slices clamp as Python's do") {
  struct Row {
    sn::Slice slice;
    std::int64_t start, step, count;  // of slice.indices(10), as a range
  };
  const auto none = std::nullopt;
  const Row rows[] = {
      {{none, none, none}, 0, 1, 10},
      {{2, 8, 3}, 2, 3, 2},
      {{-3, none, none}, 7, 1, 3},
      {{none, -3, none}, 0, 1, 7},
      {{none, none, -1}, 9, -1, 10},
      {{8, 2, -2}, 8, -2, 3},
      {{100, none, -4}, 9, -4, 3},
      {{-100, 100, 2}, 0, 2, 5},
      {{5, 5, none}, 0, 1, 0},
      {{8, 2, none}, 0, 1, 0},
      {{none, -100, -1}, 9, -1, 10},
      {{3, none, INT64_MAX}, 3, 1, 1},
      {{none, none, INT64_MIN}, 9, 1, 1},
  };
  const Tensor x = data(DType::float32, {10});
  for (const Row& row : rows) {
    const Tensor y = x(row.slice);
    CAPTURE(row.start);
    CAPTURE(row.step);
    REQUIRE(y.shape() == Shape{row.count});
    if (y.node() == x.node() || row.count == 0) continue;  // the result is x itself, or a literal without elements
    CHECK(y.node()->ints == std::vector{row.start, row.step});
  }
}

TEST_CASE("each misuse says what, where and what to do") {
  const Tensor f = data(DType::float32, {3, 4}), i = data(DType::int32, {3}), b = data(DType::bool_, {3});
  says<sn::ShapeError>([&] { f + data(DType::float32, {5}); }, "add: shapes (3, 4) and (5,) do not broadcast (axis -1: 4 against 5)");
  says<sn::ShapeError>([&] { f > data(DType::float32, {5}); }, "greater: shapes (3, 4) and (5,) do not broadcast (axis -1: 4 against 5)");
  says<sn::DTypeError>([&] { b - b; }, "subtract: not supported for bool and bool; use bitwise_xor (^) or logical_xor");
  says<sn::DTypeError>([&] { f & 1; },
                       "bitwise_and: not supported for float32 and an integer literal; it works on integers and bool: "
                       "convert with astype first");
  says<sn::ValueError>([&] { data(DType::int8) + 200; }, "add: integer literal 200 is out of bounds for int8; convert the tensor with astype(int64) first");
  says<sn::ValueError>([&] { i + 3000000000; }, "add: integer literal 3000000000 is out of bounds for int32; convert the tensor with astype(int64) first");
  CHECK((i < 3000000000).dtype() == DType::bool_);  // a comparison is valid
  says<sn::ValueError>([&] { sn::pow(i, -1); }, "power: integers to negative integer powers are not allowed (int32 ** -1); make one of them floating");
  says<sn::ShapeError>([&] { sn::matmul(f, f); }, "matmul: shapes (3, 4) and (3, 4): the inner sizes 4 and 3 differ");
  CHECK_THROWS_AS(sn::matmul(f, 2), sn::ShapeError);
  says<sn::AxisError>([&] { sn::sum(f, 2); }, "sum: axis 2 is out of bounds for 2 axes (use -2 to 1)");
  says<sn::AxisError>([&] { sn::sum(f, {0, -2}); }, "sum: axis 0 is given twice");
  says<sn::ValueError>([&] { sn::max(data(DType::float32, {0, 3}), 0); }, "max: shape (0, 3) has no elements to reduce, and max needs at least one");
  says<sn::ShapeError>([&] { sn::reshape(f, {5, -1}); }, "reshape: cannot reshape (3, 4) (12 elements) into (5, -1): the -1 has no size that fits");
  says<sn::ShapeError>([&] { f.reshape({7}); }, "reshape: cannot reshape (3, 4) (12 elements) into (7,) (7 elements)");
  says<sn::IndexError>([&] { f(3); }, "index: index 3 is out of bounds for axis 0 with size 3");
  says<sn::AxisError>([&] { f(0, 0, 0); }, "index: 3 indices for shape (3, 4) with 2 axes");
  says<sn::ValueError>([&] { f(sn::Slice{0, 1, 0}); }, "index: a slice step cannot be zero");
  says<sn::ShapeError>([&] { sn::layer_norm(f, data(DType::float32, {5})); },
                       "layer_norm (multiply): shapes (3, 4) and (5,) do not broadcast (axis -1: 4 against 5)");
  says<sn::ValueError>([&] { f + Tensor(); }, "add: an empty Tensor handle was passed; assign it a value first");
  says<sn::ShapeError>([&] { sn::squeeze(f, 0); }, "squeeze: axis 0 of shape (3, 4) has size 3, not 1");
  says<sn::ShapeError>([&] { sn::broadcast_to(f, {4}); }, "broadcast_to: shape (3, 4) does not broadcast to (4,): sizes match from the last axis on, or are 1");
  says<sn::ShapeError>([&] { sn::zeros({-1}); }, "zeros: shape (-1,) has a negative size");
  CHECK_THROWS_WITH_AS(data(DType::float32, {1LL << 40, 1}) + data(DType::float32, {1, 1LL << 40}), doctest::Contains("2^62 bytes"), sn::ShapeError);
  says<sn::ValueError>([&] { sn::full({2}, 3e9, DType::int32); }, "full: 3000000000 does not fit in int32; choose a floating dtype");
  CHECK_THROWS_AS(sn::full({2}, std::numeric_limits<double>::quiet_NaN(), DType::int64), sn::ValueError);
  CHECK_THROWS_AS(sn::full({2}, 0x1p63, DType::int64), sn::ValueError);
  CHECK(sn::full({2}, -2147483648.5, DType::int32).dtype() == DType::int32);  // after truncation, as in a cast, the value fits
  says<sn::AxisError>([&] { (void)f.size(2); }, "size: axis 2 is out of bounds for 2 axes (use -2 to 1)");
  says<sn::ShapeError>([&] { Tensor{{1, 2}, {3}}; }, "Tensor: the nested lists are ragged: axis 1 has 2 items, then 1");
  says<sn::ShapeError>([&] { Tensor{{1, 2.5}, {3}}; }, "Tensor: the nested lists are ragged: axis 1 has 2 items, then 1");
  says<sn::DTypeError>([&] { +b; }, "positive: not supported for bool; convert with astype(int32) or another type first");
  says<sn::AxisError>([&] { f.mean(3); }, "mean: axis 3 is out of bounds for 2 axes (use -2 to 1)");
  says<sn::AxisError>([&] { f.swapaxes(0, 2); }, "swapaxes: axis 2 is out of bounds for 2 axes (use -2 to 1)");
  says<sn::ShapeError>([&] { f.clip(0, 1).reshape({5}); }, "reshape: cannot reshape (3, 4) (12 elements) into (5,) (5 elements)");
  says<sn::ShapeError>([&] { sn::from_span(std::array<float, 6>{}, {4}); }, "from_span: cannot reshape (6,) (6 elements) into (4,) (4 elements)");
  says<sn::ValueError>([&] { sn::arange(0, 1, 0); }, "arange: the step cannot be zero");
  CHECK_THROWS_WITH_AS(i * 18446744073709551615u, doctest::Contains("18446744073709551615 is out of bounds"), sn::ValueError);
  CHECK_THROWS_AS(sn::arange(1e300, 1e300 + 1, 1.0, DType::int64), sn::ValueError);
  CHECK_THROWS_AS(sn::permute(f, {0}), sn::AxisError);
  CHECK_THROWS_AS(sn::permute(f, {0, 0}), sn::AxisError);
  CHECK_THROWS_AS(f(sn::ellipsis, sn::ellipsis), sn::AxisError);
  CHECK_THROWS_AS(sn::arange(0., std::numeric_limits<double>::infinity()), sn::ValueError);
}
