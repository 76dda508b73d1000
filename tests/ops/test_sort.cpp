// Sorts, compared with the standard library, for every dtype, axis and layout, with prologues and epilogues.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

std::mt19937 rng{fresh_seed()};

/// Returns the sorted positions of the elements along an axis: equal elements stay in order, NaN is last. With `descending` the order is reversed.
Ref places(const Ref& x, std::size_t axis, bool descending = false) {
  Ref out = x;
  Shape lines = x.shape;
  lines[axis] = 1;
  each(lines, [&](const Coords& first) {
    if (x.shape[axis] == 0) return;
    std::vector<double> line, order;
    Coords at = first;
    for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis]) {
      line.push_back(x.v[static_cast<std::size_t>(flat(x.shape, at))]);
      order.push_back(static_cast<double>(at[axis]));
    }
    const auto before = [&](double i, double j) {
      const double a = line[static_cast<std::size_t>(i)], b = line[static_cast<std::size_t>(j)];
      return std::isnan(a) ? false : std::isnan(b) || a < b;
    };
    if (descending) std::stable_sort(order.begin(), order.end(), [&](double i, double j) { return before(j, i); });
    else std::stable_sort(order.begin(), order.end(), before);
    for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis]) out.v[static_cast<std::size_t>(flat(x.shape, at))] = order[static_cast<std::size_t>(at[axis])];
  });
  return out;
}
Ref at_places(const Ref& x, const Ref& places, std::size_t axis) {
  return make(places.shape, [&](const Coords& at) {
    Coords from = at;
    from[axis] = static_cast<std::int64_t>(places.v[static_cast<std::size_t>(flat(places.shape, at))]);
    return x.v[static_cast<std::size_t>(flat(x.shape, from))];
  });
}
Ref sorted(const Ref& x, std::size_t axis) { return at_places(x, places(x, axis), axis); }

void same(const Tensor& got, const Ref& want) {
  REQUIRE(got.shape() == want.shape);
  const auto found = values(got);
  for (std::size_t k = 0; k < found.size(); ++k) {
    CAPTURE(k);
    REQUIRE((found[k] == want.v[k] || (std::isnan(found[k]) && std::isnan(want.v[k]))));
  }
}

}  // namespace

TEST_CASE("argsort keeps the order of equal elements, up and down") {
  for (int d = 0; d < sn::kDTypeCount; ++d)
    for (const Shape& shape : {Shape{1}, Shape{41}, Shape{0}, Shape{5, 0}, Shape{6, 21}, Shape{3, 1, 8}}) {
      if (on_gpu() && (d % 4 != 3 || shape != Shape{6, 21})) continue;
      const auto [x, rx] = random(rng, shape, static_cast<DType>(d), 0, 9);
      CAPTURE(sn::name(x.dtype()));
      CAPTURE(sn::to_string(shape));
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        for (const bool descending : {false, true}) {
          if (on_gpu() && descending) continue;
          const Ref order = places(rx, axis, descending);
          const Tensor found = sn::argsort(x, static_cast<std::int64_t>(axis), descending);
          CHECK(found.dtype() == DType::int64);
          same(found, order);
          same(sn::sort(x, static_cast<std::int64_t>(axis), descending), at_places(rx, order, axis));
        }
    }
}

TEST_CASE("long rows are sorted by digits and many short rows in lanes, for every dtype, special values and any number of threads") {
  if (on_gpu()) return;
  for (int d = 0; d < sn::kDTypeCount; ++d) {
    const auto type = static_cast<DType>(d);
    for (const Shape& shape : {Shape{512}, Shape{3, 700}, Shape{300000}, Shape{37, 6}, Shape{4, 3, 97}, Shape{9, 256}, Shape{5, 257}}) {
      CAPTURE(sn::name(type));
      CAPTURE(sn::to_string(shape));
      auto [x, rx] = random(rng, shape, type, is_floating(type) ? -1e4 : -100, is_floating(type) ? 1e4 : 100);
      if (is_floating(type)) {  // NaN, infinities and zeros of both signs among them
        const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
        const double specials[] = {nan, -nan, inf, -inf, 0.0, -0.0};
        for (std::size_t k = 0; k < rx.v.size(); ++k)
          if (rng() % 5 == 0) rx.v[k] = specials[rng() % 6];
        x = sn::from_span(rx.v, shape).astype(type);
        rx.v = values(x);
      } else if (!is_bool(type) && sn::itemsize(type) > 1) {                                                     // all digits
        const DType drawn = type == DType::int64 ? DType::int32 : type == DType::uint64 ? DType::uint32 : type;  // a type whose values a double can represent
        x = sn::random::bits(sn::random::Key(rng()), shape, drawn).astype(type);
        rx.v = values(x);
      }
      const std::size_t axis = shape.size() - 1;
      const Ref order = places(rx, axis), want = at_places(rx, order, axis);
      for (const int threads : {1, 3, 4}) {
        const auto scope = with_threads(threads);
        same(sn::argsort(x), order);
        const Tensor found = sn::sort(x);
        same(found, want);
        if (is_floating(type)) {
          const auto signs = values(sn::signbit(found));
          for (std::size_t k = 0; k < signs.size(); ++k)
            if (want.v[k] == 0) REQUIRE((signs[k] != 0) == std::signbit(want.v[k]));
        }
      }
    }
  }
}

TEST_CASE("topk gives the largest and the smallest elements") {
  const auto [x, rx] = random(rng, {4, 30}, DType::float32, -5, 5);
  for (const bool largest : {true, false})
    for (const std::int64_t count : {0, 1, 7, 30}) {
      if (on_gpu() && (count != 7 || !largest)) continue;
      const auto [found, order] = sn::topk(x, count, 1, largest);
      Ref want = places(rx, 1, largest), cut = make({4, count}, [&](const Coords& at) { return want.v[static_cast<std::size_t>(at[0] * 30 + at[1])]; });
      same(order, cut);
      same(found, at_places(rx, cut, 1));
    }
  CHECK_THROWS_WITH_AS(sn::topk(x, 31), doctest::Contains("topk: 31 of 30 elements along axis -1"), sn::ValueError);
  CHECK_THROWS_WITH_AS(sn::partition(x, 30), doctest::Contains("partition: kth = 30 is out of bounds for 30 elements"), sn::ValueError);
}

TEST_CASE("topk of long rows: every dtype, any axis, many equal elements, with NaN as the largest") {
  for (int d = 0; d < sn::kDTypeCount; ++d)
    for (const Shape& shape : {Shape{40}, Shape{5, 200}, Shape{150, 3}, Shape{20000}}) {
      if (on_gpu() && (d % 4 != 3 || sn::element_count(shape) > 1000)) continue;
      const auto type = static_cast<DType>(d);
      const double wide = rng() % 2 == 0 ? 4 : 100;
      auto [x, rx] = random(rng, shape, type, type == DType::bool_ || is_unsigned(type) ? 0 : -wide, wide);
      if (is_floating(type) && rng() % 2 == 0) {
        for (double& v : rx.v)
          if (rng() % 7 == 0) v = rng() % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : -0.0;
        x = sn::from_span(rx.v, shape).astype(type);
      }
      CAPTURE(sn::name(type));
      CAPTURE(sn::to_string(shape));
      const std::size_t axis = shape.size() > 1 && shape[0] > shape[1] ? 0 : shape.size() - 1;
      for (const bool largest : {true, false}) {
        const auto count = static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(shape[axis] / 8)) + 1;
        CAPTURE(count);
        const auto [found, order] = sn::topk(x, count, static_cast<std::int64_t>(axis), largest);
        const Ref all = places(rx, axis, largest);
        Shape some = shape;
        some[axis] = count;
        const Ref want = make(some, [&](const Coords& at) { return all.v[static_cast<std::size_t>(flat(shape, at))]; });
        same(order, want);
        same(found, make(some, [&](const Coords& at) {
               Coords from = at;
               from[axis] = static_cast<std::int64_t>(want.v[static_cast<std::size_t>(flat(some, at))]);
               return rx.v[static_cast<std::size_t>(flat(shape, from))];
             }));
      }
    }
}

TEST_CASE("sorted in the midst of a program, through views") {
  for (int round = 0; round < 4; ++round) {
    const auto [x, rx] = random_view(rng, random(rng, {4, 9, 6}, DType::float64, -3, 3));
    const std::size_t axis = rng() % rx.shape.size();
    const Tensor s = sn::sort(x * 2. + 1., static_cast<std::int64_t>(axis));
    const Ref want = sorted(map(rx, [](double v) { return v * 2 + 1; }), axis);
    same(s - 1., map(want, [](double v) { return v - 1; }));
    same(sn::sort(x, static_cast<std::int64_t>(axis)), sorted(rx, axis));
    const Tensor back = sn::flip(s, static_cast<std::int64_t>(axis)), sum = sn::sum(s);
    sn::eval(back, sum);
    double total = 0;
    for (double v : want.v) total += v;
    CHECK(values(sum)[0] == doctest::Approx(total).epsilon(1e-9).scale(1));
    same(sn::sort(back, static_cast<std::int64_t>(axis)), want);
  }
}

TEST_CASE("errors name the operation") {
  CHECK_THROWS_WITH_AS(sn::sort(Tensor{1.f, 2.f}, 1), doctest::Contains("sort"), sn::AxisError);
  CHECK_THROWS_AS(sn::sort(sn::full({}, 1.f)), sn::AxisError);
}

// A GPU sorts this many elements by digits; for fewer it compares all pairs.
TEST_CASE("long rows") {
  for (const DType dtype : {static_cast<DType>(rng() % sn::kDTypeCount), DType::float32})
    for (const Shape& shape : {Shape{26000}, Shape{2, 21000}}) {
      if (on_gpu() && (dtype == DType::float32) != (shape.size() == 2)) continue;
      const auto [made, rx] = random(rng, shape, dtype, 0, 50);
      auto v = rx.v;
      if (sn::is_floating(dtype))
        for (std::size_t k = 0; k < v.size(); k += 1 + rng() % 40) v[k] = k % 3 == 0 ? std::nan("") : k % 3 == 1 ? -0.0 : 0.0;
      const Ref wanted{shape, v};
      const Tensor x = sn::astype(sn::reshape(sn::from_span(v), shape), dtype);
      CAPTURE(sn::name(dtype));
      const std::size_t axis = shape.size() - 1;
      same(sn::sort(x), sorted(wanted, axis));
      same(sn::argsort(x), places(wanted, axis));
      same(sn::argsort(x, -1, true), places(wanted, axis, true));
      if (shape.size() == 2) same(sn::permute(sn::sort(sn::permute(x, {1, 0}), 0), {1, 0}), sorted(wanted, axis));
    }
}
