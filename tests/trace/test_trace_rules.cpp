// Types of weak scalars and compositions, shapes compared with NumPy, and the message of each error. NumPy 2.4 printed the tables. A letter is a type
// (numpy.dtype.char); x means that NumPy raises an error. test_dtypes.cpp tests the types of pairs of tensors.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>

#include "host_data_stub.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
using sn::DType;
using sn::Shape;
using sn::Tensor;

namespace {

constexpr std::pair<char, DType> kLetters[] = {{'?', DType::bool_},   {'b', DType::int8},    {'i', DType::int32},  {'l', DType::int64},
                                               {'e', DType::float16}, {'f', DType::float32}, {'d', DType::float64}};
DType of_letter(char c) {
  return std::find_if(std::begin(kLetters), std::end(kLetters), [&](const auto& row) { return row.first == c; })->second;
}
constexpr std::string_view kTypes = "?ilfd";

template <class Call> char type_letter(Call call) {
  try {
    const DType dtype = call().dtype();
    return std::find_if(std::begin(kLetters), std::end(kLetters), [&](const auto& row) { return row.second == dtype; })->first;
  } catch (const sn::DTypeError&) {
    return 'x';
  }
}
Tensor data(char letter, const Shape& shape = {3}) { return sn::placeholder(shape, of_letter(letter)); }

using Unary = Tensor (*)(const sn::Arg&);
using Binary = Tensor (*)(const sn::Arg&, const sn::Arg&);

template <class E, class Call> std::string thrown(Call call) {
  try {
    call();
  } catch (const E& e) {
    return e.what();
  } catch (const sn::Error& e) {
    return std::string("another exception: ") + e.what();
  }
  return "nothing was thrown";
}
/// Checks the message, and that it names a line of the statement that recorded.
template <class E, class Call> void says(Call call, const std::string& what, int line = __builtin_LINE()) {
  const std::string text = thrown<E>(call);
  const std::string place = std::string(" at ") + __FILE__ + ":";
  const auto end = text.rfind(place);
  CAPTURE(text);
  REQUIRE(end != std::string::npos);
  CHECK(text.substr(0, end) == what);
  CHECK(std::abs(std::stoi(text.substr(end + place.size())) - line) <= 4);
}

}  // namespace

TEST_CASE("types of binary functions, tensors and weak scalars") {
  struct Row {
    const char* name;
    Binary call;
    std::string_view tensors;  // five rows of five letters, separated by blanks
    std::string_view scalars;  // with true, 2 and 2.5
  };
  const Row rows[] = {
      {"add", sn::add, "?ilfd iildd llldd fddfd ddddd", "?ld iid lld fff ddd"},
      {"subtract", sn::subtract, "xilfd iildd llldd fddfd ddddd", "xld iid lld fff ddd"},
      {"multiply", sn::multiply, "?ilfd iildd llldd fddfd ddddd", "?ld iid lld fff ddd"},
      {"divide", sn::divide, "dddfd ddddd ddddd fddfd ddddd", "ddd ddd ddd fff ddd"},
      {"floor_divide", sn::floor_divide, "bilfd iildd llldd fddfd ddddd", "bld iid lld fff ddd"},
      {"remainder", sn::remainder, "bilfd iildd llldd fddfd ddddd", "bld iid lld fff ddd"},
      {"power", sn::power, "bilfd iildd llldd fddfd ddddd", "bld iid lld fff ddd"},
      {"minimum", sn::minimum, "?ilfd iildd llldd fddfd ddddd", "?ld iid lld fff ddd"},
      {"maximum", sn::maximum, "?ilfd iildd llldd fddfd ddddd", "?ld iid lld fff ddd"},
      {"atan2", sn::atan2, "eddfd ddddd ddddd fddfd ddddd", "edd ddd ddd fff ddd"},
      {"bitwise_and", sn::bitwise_and, "?ilxx iilxx lllxx xxxxx xxxxx", "?lx iix llx xxx xxx"},
      {"left_shift", sn::left_shift, "bilxx iilxx lllxx xxxxx xxxxx", "blx iix llx xxx xxx"},
      {"less", sn::less, "????? ????? ????? ????? ?????", "??? ??? ??? ??? ???"},
      {"equal", sn::equal, "????? ????? ????? ????? ?????", "??? ??? ??? ??? ???"},
      {"logical_and", sn::logical_and, "????? ????? ????? ????? ?????", "??? ??? ??? ??? ???"},
      {"where", [](const sn::Arg& a, const sn::Arg& b) { return sn::where(data('?'), a, b); }, "?ilfd iildd llldd fddfd ddddd", "?ld iid lld fff ddd"},
  };
  for (const Row& row : rows) {
    for (std::size_t a = 0; a < 5; ++a) {
      const Tensor x = data(kTypes[a]);
      for (std::size_t b = 0; b < 5; ++b) {
        CAPTURE(row.name);
        CAPTURE(kTypes[a]);
        CAPTURE(kTypes[b]);
        CHECK(type_letter([&] { return row.call(x, data(kTypes[b])); }) == row.tensors[6 * a + b]);
      }
      CAPTURE(row.name);
      CAPTURE(kTypes[a]);
      CHECK(type_letter([&] { return row.call(x, true); }) == row.scalars[4 * a]);
      CHECK(type_letter([&] { return row.call(x, 2); }) == row.scalars[4 * a + 1]);
      // A C++ float is float32 where NumPy's float would make it float64.
      CHECK(type_letter([&] { return row.call(x, 2.5f); }) == (row.scalars[4 * a + 2] == 'd' && kTypes[a] != 'd' ? 'f' : row.scalars[4 * a + 2]));
      CHECK(type_letter([&] { return row.call(x, 2.5); }) == row.scalars[4 * a + 2]);
      CHECK(type_letter([&] { return row.call(2.5, x); }) == row.scalars[4 * a + 2]);
    }
  }
}

TEST_CASE("types of unary functions and reductions") {
  struct Row {
    const char* name;
    std::function<Tensor(const Tensor&)> call;
    std::string_view types;
  };
  const auto function = [](Unary f) { return [f](const Tensor& x) { return f(x); }; };
  const Row rows[] = {
      {"negative", function(sn::negative), "xilfd"},
      {"absolute", function(sn::absolute), "?ilfd"},
      {"sign", function(sn::sign), "xilfd"},
      {"floor", function(sn::floor), "?ilfd"},
      {"ceil", function(sn::ceil), "?ilfd"},
      {"trunc", function(sn::trunc), "?ilfd"},
      {"round", function(sn::round), "?ilfd"},
      {"sqrt", function(sn::sqrt), "eddfd"},
      {"exp", function(sn::exp), "eddfd"},
      {"tanh", function(sn::tanh), "eddfd"},
      {"isnan", function(sn::isnan), "?????"},
      {"isfinite", function(sn::isfinite), "?????"},
      {"bitwise_not", function(sn::bitwise_not), "?ilxx"},
      {"logical_not", function(sn::logical_not), "?????"},
      {"sum", [](const Tensor& x) { return sn::sum(x); }, "lllfd"},
      {"prod", [](const Tensor& x) { return sn::prod(x); }, "lllfd"},
      {"min", [](const Tensor& x) { return sn::min(x); }, "?ilfd"},
      {"max", [](const Tensor& x) { return sn::max(x); }, "?ilfd"},
      {"mean", [](const Tensor& x) { return sn::mean(x); }, "dddfd"},
      {"var", [](const Tensor& x) { return sn::var(x); }, "dddfd"},
      {"stddev", [](const Tensor& x) { return sn::stddev(x); }, "dddfd"},
      {"any", [](const Tensor& x) { return sn::any(x); }, "?????"},
      {"all", [](const Tensor& x) { return sn::all(x); }, "?????"},
      {"softmax", [](const Tensor& x) { return sn::softmax(x); }, "dddfd"},
      {"sum as float64", [](const Tensor& x) { return sn::sum(x, 0, false, DType::float64); }, "ddddd"},
      {"matmul", [](const Tensor& x) { return sn::matmul(x, x); }, "?ilfd"},
  };
  for (const Row& row : rows) {
    for (std::size_t a = 0; a < 5; ++a) {
      CAPTURE(row.name);
      CAPTURE(kTypes[a]);
      CHECK(type_letter([&] { return row.call(data(kTypes[a])); }) == row.types[a]);
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
  CHECK(sn::where(data('?'), 1.f, 0.f).dtype() == DType::float32);
  CHECK(sn::where(data('?'), 1.f, 0.0).dtype() == DType::float64);
  CHECK((data('?') * 1.5f).dtype() == DType::float32);
  CHECK((data('f') * 1.5).dtype() == DType::float32);
  CHECK(sn::exp(1.f).dtype() == DType::float32);
  CHECK(sn::linspace(0.f, 1.f, 5).dtype() == DType::float32);
  CHECK(sn::linspace(0.f, 1, 5).dtype() == DType::float32);
  CHECK(sn::linspace(0.f, 1.0, 5).dtype() == DType::float64);
  CHECK(sn::linspace(0.f, 1.f, 5, true, DType::int32).dtype() == DType::int32);
  CHECK(Tensor(1.5f).dtype() == DType::float32);
  CHECK(Tensor(2).dtype() == DType::int32);
}

TEST_CASE("shapes") {
  const Tensor x = data('f', {2, 3, 4});
  CHECK((x + data('f', {3, 1})).shape() == Shape{2, 3, 4});
  CHECK((data('f', {5, 1}) + data('f', {6})).shape() == Shape{5, 6});
  CHECK((data('f', {0, 1}) + data('f', {4})).shape() == Shape{0, 4});
  CHECK((data('f', {}) + data('f', {})).shape() == Shape{});
  CHECK(sn::where(data('?', {4, 1}), data('f', {3}), 1).shape() == Shape{4, 3});
  CHECK(sn::sum(x).shape() == Shape{});
  CHECK(sn::sum(x, {0, -1}).shape() == Shape{3});
  CHECK(sn::sum(x, {0, -1}, true).shape() == Shape{1, 3, 1});
  CHECK(sn::sum(x, std::vector<std::int64_t>{}).shape() == Shape{2, 3, 4});
  CHECK(sn::max(data('f', {0, 3}), 1).shape() == Shape{0});
  CHECK(sn::any(data('f', {2, 0}), 1).shape() == Shape{2});
  CHECK(sn::logsumexp(x, 1).shape() == Shape{2, 4});
  CHECK(sn::reshape(x, {4, -1}).shape() == Shape{4, 6});
  CHECK(sn::reshape(x, {-1}).shape() == Shape{24});
  CHECK(sn::reshape(data('f', {0, 3}), {3, -1}).shape() == Shape{3, 0});
  CHECK(x.T().shape() == Shape{4, 3, 2});
  CHECK(sn::permute(x, {1, -1, 0}).shape() == Shape{3, 4, 2});
  CHECK(sn::expand_dims(x, {0, -1}).shape() == Shape{1, 2, 3, 4, 1});
  CHECK(sn::squeeze(data('f', {1, 3, 1})).shape() == Shape{3});
  CHECK(sn::squeeze(data('f', {1, 3, 1}), -1).shape() == Shape{1, 3});
  CHECK(sn::broadcast_to(data('f', {3, 1}), {2, 3, 5}).shape() == Shape{2, 3, 5});
  CHECK(x(0).shape() == Shape{3, 4});
  CHECK(x(-1, 2, 3).shape() == Shape{});
  CHECK(x(sn::ellipsis, 0).shape() == Shape{2, 3});
  CHECK(x(sn::newaxis, sn::Slice{1, {}, {}}, sn::ellipsis, sn::newaxis).shape() == Shape{1, 1, 3, 4, 1});
  CHECK(sn::arange(10).shape() == Shape{10});
  CHECK(sn::arange(10, 0, -3).shape() == Shape{4});
  CHECK(sn::arange(0, 1, 0.3).shape() == Shape{4});
  CHECK(sn::arange(5, 0).shape() == Shape{0});
  CHECK(sn::linspace(0, 1, 0).shape() == Shape{0});
}

TEST_CASE("slices clamp their bounds as in Python") {
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
  const Tensor x = data('f', {10});
  for (const Row& row : rows) {
    const Tensor y = x(row.slice);
    CAPTURE(row.start);
    CAPTURE(row.step);
    REQUIRE(y.shape() == Shape{row.count});
    if (y.node() == x.node() || row.count == 0) continue;  // the result is x itself, or a literal without elements
    CHECK(y.node()->ints == std::vector{row.start, row.step});
  }
}

TEST_CASE("matmul shapes") {
  const auto shape = [](const Shape& a, const Shape& b) { return sn::matmul(data('f', a), data('f', b)).shape(); };
  CHECK(shape({3}, {3}) == Shape{});
  CHECK(shape({2, 3}, {3}) == Shape{2});
  CHECK(shape({3}, {3, 4}) == Shape{4});
  CHECK(shape({2, 3}, {3, 4}) == Shape{2, 4});
  CHECK(shape({5, 1, 2, 3}, {7, 3, 4}) == Shape{5, 7, 2, 4});
  CHECK(shape({5, 2, 3}, {3}) == Shape{5, 2});
  CHECK(shape({2, 0}, {0, 4}) == Shape{2, 4});
  CHECK(thrown<sn::ShapeError>([&] { shape({2, 3}, {4, 3}); }).find("(2, 3) and (4, 3): the inner sizes 3 and 4 differ") != std::string::npos);
  CHECK_THROWS_AS(sn::matmul(data('f', {2, 3}), 2), sn::ShapeError);
}

TEST_CASE("each error names the mistake, the user's line and a remedy") {
  const Tensor f = data('f', {3, 4}), i = data('i', {3}), b = data('?', {3});
  says<sn::ShapeError>([&] { f + data('f', {5}); }, "add: shapes (3, 4) and (5,) do not broadcast (axis -1: 4 against 5)");
  says<sn::ShapeError>([&] { f > data('f', {5}); }, "greater: shapes (3, 4) and (5,) do not broadcast (axis -1: 4 against 5)");
  says<sn::DTypeError>([&] { b - b; }, "subtract: not supported for bool and bool; use bitwise_xor (^) or logical_xor");
  says<sn::DTypeError>([&] { f & 1; },
                       "bitwise_and: not supported for float32 and an integer literal; it works on integers and bool: "
                       "convert with astype first");
  says<sn::ValueError>([&] { data('b') + 200; }, "add: integer literal 200 is out of bounds for int8; convert the tensor with astype(int64) first");
  says<sn::ValueError>([&] { i + 3000000000; }, "add: integer literal 3000000000 is out of bounds for int32; convert the tensor with astype(int64) first");
  CHECK((i < 3000000000).dtype() == DType::bool_);  // a comparison is valid
  says<sn::ValueError>([&] { sn::pow(i, -1); }, "power: integers to negative integer powers are not allowed (int32 ** -1); make one of them floating");
  says<sn::AxisError>([&] { sn::sum(f, 2); }, "sum: axis 2 is out of bounds for 2 axes (use -2 to 1)");
  says<sn::AxisError>([&] { sn::sum(f, {0, -2}); }, "sum: axis 0 is given twice");
  says<sn::ValueError>([&] { sn::max(data('f', {0, 3}), 0); }, "max: shape (0, 3) has no elements to reduce, and max needs at least one");
  says<sn::ShapeError>([&] { sn::reshape(f, {5, -1}); }, "reshape: cannot reshape (3, 4) (12 elements) into (5, -1): the -1 has no size that fits");
  says<sn::ShapeError>([&] { f.reshape({7}); }, "reshape: cannot reshape (3, 4) (12 elements) into (7,) (7 elements)");
  says<sn::IndexError>([&] { f(3); }, "index: index 3 is out of bounds for axis 0 with size 3");
  says<sn::AxisError>([&] { f(0, 0, 0); }, "index: 3 indices for shape (3, 4) with 2 axes");
  says<sn::ValueError>([&] { f(sn::Slice{0, 1, 0}); }, "index: a slice step cannot be zero");
  says<sn::ShapeError>([&] { sn::layer_norm(f, data('f', {5})); }, "layer_norm (multiply): shapes (3, 4) and (5,) do not broadcast (axis -1: 4 against 5)");
  says<sn::ValueError>([&] { f + Tensor(); }, "add: an empty Tensor handle was passed; assign it a value first");
  says<sn::ShapeError>([&] { sn::squeeze(f, 0); }, "squeeze: axis 0 of shape (3, 4) has size 3, not 1");
  says<sn::ShapeError>([&] { sn::broadcast_to(f, {4}); }, "broadcast_to: shape (3, 4) does not broadcast to (4,): sizes match from the last axis on, or are 1");
  says<sn::ShapeError>([&] { sn::zeros({-1}); }, "zeros: shape (-1,) has a negative size");
  CHECK(thrown<sn::ShapeError>([&] { data('f', {1LL << 40, 1}) + data('f', {1, 1LL << 40}); }).find("2^62 bytes") != std::string::npos);
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
  CHECK(thrown<sn::ValueError>([&] { i * 18446744073709551615u; }).find("18446744073709551615 is out of bounds") != std::string::npos);
  CHECK_THROWS_AS(sn::permute(f, {0}), sn::AxisError);
  CHECK_THROWS_AS(sn::permute(f, {0, 0}), sn::AxisError);
  CHECK_THROWS_AS(f(sn::ellipsis, sn::ellipsis), sn::AxisError);
  CHECK_THROWS_AS(sn::arange(0., std::numeric_limits<double>::infinity()), sn::ValueError);
}
