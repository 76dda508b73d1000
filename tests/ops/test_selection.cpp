// Masks, index tensors, and additions at computed indices, compared with plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

std::mt19937 rng{fresh_seed()};

Tensor random_places(std::int64_t count, std::int64_t size, std::vector<std::int64_t>& list, bool negative = true) {
  list.clear();
  for (std::int64_t k = 0; k < count; ++k) list.push_back(static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(size)));
  std::vector<std::int64_t> given = list;
  for (std::int64_t& place : given)
    if (negative && rng() % 3 == 0) place -= size;
  return sn::from_span(given);
}

}  // namespace

TEST_CASE("reading and assigning the elements that a mask selects") {
  for (const Shape& shape : {Shape{40}, Shape{6, 7}, Shape{3, 4, 5}}) {
    const auto [x, rx] = random(rng, shape, DType::float32, -1, 1);
    const auto [mask, rm] = random(rng, shape, DType::bool_, 0, 1);
    std::vector<double> want;
    for (std::size_t k = 0; k < rx.v.size(); ++k)
      if (rm.v[k] != 0) want.push_back(rx.v[k]);
    CHECK(values(x(mask)) == want);
    CHECK(values(sn::extract(mask, x)) == want);
    Tensor y = x;
    const Tensor part = y(mask);  // the value of y now, even if y changes later
    y(mask) = 7.f;
    CHECK(values(part) == want);
    CHECK(values(y) == zip(rx, rm, [](double v, double m) { return m != 0 ? 7 : v; }).v);
    CHECK(y(mask).shape() == Shape{static_cast<std::int64_t>(want.size())});
    y(mask) = part * 2.f;  // one for each element
    CHECK(values(y) == zip(rx, rm, [](double v, double m) { return m != 0 ? v * 2 : v; }).v);
    Tensor bound = part;
    bound = y(mask);
    CHECK(values(bound + 0.f) == values(sn::abs(part) * 2.f * sn::sign(part)));
  }
  Tensor x = sn::arange(12).reshape({3, 4});
  const Tensor rows{true, false, true}, columns{false, true, true, false};
  CHECK(values(x(rows)) == std::vector<double>{0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(values(x(Slice{}, columns)) == std::vector<double>{1, 2, 5, 6, 9, 10});
  CHECK(values(x(rows, 1)) == std::vector<double>{1, 9});
  CHECK(values(x(rows, columns)) == std::vector<double>{1, 10});
  CHECK(values(x(x > 100)).empty());
  CHECK(x(x > 100).dtype() == DType::int64);
  CHECK(values(sn::sum(x(x > 6))) == std::vector<double>{45});
  x(Slice{}, columns) = 0;
  CHECK(values(x) == std::vector<double>{0, 0, 0, 3, 4, 0, 0, 7, 8, 0, 0, 11});
  says<sn::ShapeError>([&] { x(Tensor{true, false}) + 1; }, "index: a mask of shape (2,) does not fit shape (3, 4)");
  const Tensor unknown = sn::placeholder({3}, DType::float32);
  CHECK_THROWS_AS(sn::eval(x(unknown > 0)), sn::ValueError);
}

TEST_CASE("assignment by a mask evaluates nothing") {
  Tensor x = sn::arange(10.f);
  for (int step = 0; step < 5; ++step) {
    x(x > 3.f) = 0.f;
    x(x < 1.f) += 1.f;
  }
  if (sn::options().fuse) CHECK(launches(x) == 1);
  CHECK(values(x) == std::vector<double>{1, 1, 2, 3, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("assigned at integers: the last one counts") {
  for (int d = 0; d < sn::kDTypeCount; ++d) {
    const auto type = static_cast<DType>(d);
    if (on_gpu() && d % 4 != 1) continue;
    CAPTURE(sn::name(type));
    std::vector<std::int64_t> list;
    auto [x, rx] = random(rng, {9, 3}, type, 0, 50);
    const auto [v, rv] = random(rng, {14, 3}, type, 0, 50);
    const Tensor places = random_places(14, 9, list), before = x;
    Ref want = rx;
    for (std::size_t k = 0; k < list.size(); ++k)
      for (std::size_t c = 0; c < 3; ++c) want.v[static_cast<std::size_t>(list[k]) * 3 + c] = rv.v[k * 3 + c];
    x(places) = v;
    CHECK(values(x) == want.v);
    CHECK(values(before) == rx.v);
    for (std::size_t k = 0; k < list.size(); ++k) want.v[static_cast<std::size_t>(list[k]) * 3 + 1] = 1;
    x(places, 1) = type == DType::bool_ ? Tensor(true) : Tensor(1).astype(type);
    CHECK(values(x) == want.v);
  }
  Tensor x = sn::zeros({4, 5}, DType::int64);
  x(Tensor{0, 2}, Slice{1, 4}) = sn::arange(6).reshape({2, 3});
  CHECK(values(x) == std::vector<double>{0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 4, 5, 0, 0, 0, 0, 0, 0});
  x(Tensor{1, 1, 3}) += 1;  // once
  CHECK(values(sn::sum(x, 1)) == std::vector<double>{3, 5, 12, 5});
  x(Slice{}, Tensor{4, 4}) = Tensor{7, 8};
  CHECK(values(x(Slice{}, 4)) == std::vector<double>{8, 8, 8, 8});
  x(Tensor{{0}, {1}}, Tensor{{0, 1}}) = Tensor{{1, 2}, {3, 4}};
  CHECK(values(x(Slice{0, 2}, Slice{0, 2})) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("index arrays that count along an axis, alone or together with others") {
  for (int round = 0; round < 24 && !time_is_over(); ++round) {
    // Each of three indices changes along one of three axes of the common shape, which two of them may share.
    const auto draw = [&](std::int64_t below) { return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(below)); };
    const Shape rows{1 + draw(4), 1 + draw(4), 1 + draw(4)};
    Shape common{1 + draw(4), 1 + draw(4), 1 + draw(4)};
    std::array<std::size_t, 3> along{};
    std::array<bool, 3> counts{};
    for (std::size_t k = 0; k < 3; ++k) {
      along[k] = static_cast<std::size_t>(draw(3));
      counts[k] = draw(3) > 0 && std::count(along.begin(), along.begin() + static_cast<std::ptrdiff_t>(k), along[k]) == 0;
      if (counts[k]) common[along[k]] = rows[k];
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (std::count(along.begin(), along.end(), axis) == 0) common[axis] = 1;
    std::vector<sn::Index> index;
    std::array<std::vector<std::int64_t>, 3> lists;
    for (std::size_t k = 0; k < 3; ++k) {
      Shape shape(3, 1);
      shape[along[k]] = common[along[k]];
      Tensor places = counts[k] ? sn::arange(rows[k]) : random_places(common[along[k]], rows[k], lists[k]);
      for (std::int64_t i = 0; counts[k] && i < rows[k]; ++i) lists[k].push_back(i);
      if (draw(3) == 0) places = sn::astype(places, draw(2) == 0 ? DType::int32 : DType::int8);
      if (draw(4) == 0) sn::eval(places);
      if (draw(4) == 0) {
        places = sn::flip(places);
        std::reverse(lists[k].begin(), lists[k].end());
      }
      index.emplace_back(places.reshape(draw(2) == 0 ? shape : Shape(shape.begin() + (along[k] > 0), shape.end())));
    }
    CAPTURE(round);
    CAPTURE(sn::to_string(rows));
    CAPTURE(sn::to_string(common));
    Shape whole = rows, part = common;
    whole.push_back(2);
    part.push_back(2);
    const auto [x, rx] = random(rng, whole, DType::int32, 0, 50);
    const auto [v, rv] = random(rng, part, DType::int32, 0, 50);
    std::vector<double> sums = rx.v, last = rx.v;
    std::size_t from = 0;
    for (std::int64_t i = 0; i < common[0]; ++i)
      for (std::int64_t j = 0; j < common[1]; ++j)
        for (std::int64_t l = 0; l < common[2]; ++l) {
          const std::array<std::int64_t, 3> at{i, j, l};
          std::int64_t row = 0;
          for (std::size_t k = 0; k < 3; ++k) row = row * rows[k] + lists[k][static_cast<std::size_t>(at[along[k]])];
          for (std::int64_t c = 0; c < 2; ++c, ++from) {
            sums[static_cast<std::size_t>(row * 2 + c)] += rv.v[from];
            last[static_cast<std::size_t>(row * 2 + c)] = rv.v[from];
          }
        }
    CHECK(values(sn::add_at(x, index, v)) == sums);
    Tensor assigned = x;
    assigned.at(index) = v;
    CHECK(values(assigned) == last);
  }
}

TEST_CASE("combinations at integer indices: values for one index are combined in order, on any number of threads") {
  for (int d = 0; d < sn::kDTypeCount; ++d) {
    const auto type = static_cast<DType>(d);
    if (on_gpu() && d % 4 != 1) continue;
    CAPTURE(sn::name(type));
    std::vector<std::int64_t> list;
    const auto [x, rx] = random(rng, {8, 2}, type, 0, 4);
    const auto [v, rv] = random(rng, {40, 2}, type, 0, 4);
    const Tensor places = random_places(40, 8, list);
    Ref want = rx;
    for (std::size_t k = 0; k < list.size(); ++k)
      for (std::size_t c = 0; c < 2; ++c) want.v[static_cast<std::size_t>(list[k]) * 2 + c] += rv.v[k * 2 + c];
    const auto found = values(sn::add_at(x, places, v));
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double w = type == DType::bool_ ? want.v[k] != 0 : want.v[k];
      CHECK(std::abs(found[k] - w) <= (is_floating(type) ? 4 * sn::finfo(type).eps * (1 + w) : 0));
    }
    const auto factors = random(rng, {40, 2}, type, 0, 2);  // integers do not overflow
    const auto check = [&](const char* name, const Tensor& got, const Ref& values_at, const auto& f, double within) {
      CAPTURE(name);
      Ref all = rx;
      for (std::size_t k = 0; k < list.size(); ++k)
        for (std::size_t c = 0; c < 2; ++c) {
          double& at = all.v[static_cast<std::size_t>(list[k]) * 2 + c];
          at = f(at, values_at.v[k * 2 + c]);
        }
      const auto numbers = values(got);
      for (std::size_t k = 0; k < numbers.size(); ++k) CHECK(std::abs(numbers[k] - all.v[k]) <= within * all.v[k]);
    };
    check(
        "multiply_at", sn::multiply_at(x, {places}, factors.first), factors.second, [](double a, double b) { return a * b; },
        is_floating(type) ? 40 * sn::finfo(type).eps : 0);
    check("minimum_at", sn::minimum_at(x, {places}, v), rv, [](double a, double b) { return std::min(a, b); }, 0);
    check("maximum_at", sn::maximum_at(x, {places}, v), rv, [](double a, double b) { return std::max(a, b); }, 0);
  }
  {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Tensor x{1., nan, 3.}, v{nan, 2., 5., 1.}, places{0, 1, 2, 2};
    for (const Tensor& got : {sn::maximum_at(x, {places}, v), sn::minimum_at(x, {places}, v)}) {
      const auto numbers = values(got);
      CHECK((std::isnan(numbers[0]) && std::isnan(numbers[1]) && !std::isnan(numbers[2])));
    }
  }
  if (on_gpu()) return;
  const int n = 300000, size = 1000;
  std::vector<std::int64_t> list;
  const Tensor places = random_places(n, size, list, false), v = random(rng, {n}, DType::float32, -1, 1).first;
  const auto numbers = v.to_vector<float>();
  std::vector<float> want(size);
  for (int k = 0; k < n; ++k) want[static_cast<std::size_t>(list[static_cast<std::size_t>(k)])] += numbers[static_cast<std::size_t>(k)];
  for (const int threads : {1, 2, 5}) {
    const auto scope = with_threads(threads);
    CHECK(sn::add_at(sn::zeros({size}, DType::float32), places, v).to_vector<float>() == want);  // the same bits as a loop
    const Tensor wide = sn::add_at(sn::zeros({3, size}, DType::float32), sn::zeros({n / size}, DType::int64), v.reshape({-1, size}));
    Tensor by_loop = sn::zeros({size}, DType::float32);
    for (int k = 0; k < n / size; ++k) by_loop += v.reshape({-1, size})(k);
    CHECK(wide(0).to_vector<float>() == by_loop.to_vector<float>());
    const auto in_order = [&](float from, const auto& f) {
      std::vector<float> made(size, from);
      for (int k = 0; k < n; ++k) {
        float& at = made[static_cast<std::size_t>(list[static_cast<std::size_t>(k)])];
        at = f(at, numbers[static_cast<std::size_t>(k)]);
      }
      return made;
    };
    const auto constant = [&](float number) { return sn::full({size}, number); };
    CHECK(sn::multiply_at(constant(1.5f), {places}, v).to_vector<float>() == in_order(1.5f, [](float a, float b) { return a * b; }));
    CHECK(sn::maximum_at(constant(.2f), {places}, v).to_vector<float>() == in_order(.2f, [](float a, float b) { return std::max(a, b); }));
    CHECK(sn::minimum_at(constant(.8f), {places}, v).to_vector<float>() == in_order(.8f, [](float a, float b) { return std::min(a, b); }));
    for (const DType type : {DType::uint8, DType::int64, DType::bool_}) {  // threads may add up their sums in parts
      const Tensor added = sn::floor(v * 100).astype(DType::int32).astype(type), start = sn::arange(size).astype(type);
      const auto one_by_one = added.astype(DType::int64).to_vector<std::int64_t>();
      std::vector<std::int64_t> sums = start.astype(DType::int64).to_vector<std::int64_t>();
      for (int k = 0; k < n; ++k) sums[static_cast<std::size_t>(list[static_cast<std::size_t>(k)])] += one_by_one[static_cast<std::size_t>(k)];
      CHECK(sn::array_equal(sn::add_at(start, places, added), sn::from_span(sums).astype(type)).item<bool>());
    }
    Tensor last = sn::zeros({size}, DType::float32);
    last(places) = v;
    std::vector<float> written(size);
    for (int k = 0; k < n; ++k) written[static_cast<std::size_t>(list[static_cast<std::size_t>(k)])] = numbers[static_cast<std::size_t>(k)];
    CHECK(last.to_vector<float>() == written);
  }
}

TEST_CASE("reductions at integer indices combine values in pairs or in order") {
  std::vector<std::int64_t> list;
  for (const std::int64_t count : {1, 7, 60}) {
    const Tensor places = random_places(count, 9, list);
    const auto [x, rx] = random(rng, {9, 3}, DType::float64, 0.5, 2);
    const auto [v, rv] = random(rng, {count, 3}, DType::float64, 0.5, 2);
    const auto loop = [&](const auto& f) {
      std::vector<double> want = rx.v;
      for (std::size_t k = 0; k < list.size(); ++k)
        for (std::size_t c = 0; c < 3; ++c) {
          double& at = want[static_cast<std::size_t>(list[k]) * 3 + c];
          at = f(at, rv.v[k * 3 + c]);
        }
      return want;
    };
    const auto same = [&](const Tensor& got, const std::vector<double>& want, double within) {
      REQUIRE(got.shape() == Shape{9, 3});
      const auto found = values(got);
      for (std::size_t k = 0; k < want.size(); ++k) REQUIRE(std::fabs(found[k] - want[k]) <= within * std::fabs(want[k]));
    };
    same(sn::combine_at(x, places, v, sn::maximum), loop([](double a, double b) { return std::max(a, b); }), 0);
    same(sn::combine_at(x, places, v, sn::minimum), loop([](double a, double b) { return std::min(a, b); }), 0);
    same(sn::combine_at(x, places, v, sn::multiply), loop([](double a, double b) { return a * b; }), 1e-13);
    same(sn::combine_at(x, places, v, sn::divide, sn::Combining::one_by_one), loop([](double a, double b) { return a / b; }), 1e-14);
    same(sn::combine_at(x, places, v, sn::subtract, sn::Combining::one_by_one), loop([](double a, double b) { return a - b; }), 1e-11);
    same(sn::combine_at(x, places, 2., [](const Tensor& a, const Tensor& b) { return a + b; }), loop([](double a, double) { return a + 2; }), 1e-14);
  }
  // Cases: two axes, a mask, a slice next to index tensors, bits.
  const Tensor x = sn::combine_at(sn::zeros({3, 4}, DType::int32), std::vector<sn::Index>{Tensor{0, 2, 0}, Tensor{1, 3, 1}}, Tensor{5, 7, 9}, sn::bitwise_or);
  CHECK(values(x) == std::vector<double>{0, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7});
  const Tensor y = sn::combine_at(sn::ones({2, 3}), std::vector<sn::Index>{Slice{}, Tensor{0, 0, 2}}, 3., sn::multiply);
  CHECK(values(y) == std::vector<double>{9, 1, 3, 9, 1, 3});
  CHECK(values(sn::combine_at(sn::arange(4.), Tensor{true, false, true, false}, 5., sn::maximum)) == std::vector<double>{5, 1, 5, 3});
  CHECK(values(sn::combine_at(sn::zeros({3}), {1, 1, 0}, Tensor{4., 6., 5.}, sn::maximum)) == std::vector<double>{5, 6, 0});
  CHECK(sn::combine_at(sn::zeros({0}), sn::zeros({0}, DType::int64), 1., sn::maximum).size() == 0);
  says<sn::DTypeError>([&] { sn::combine_at(sn::zeros({3}, DType::int32), {0}, 0.5, sn::maximum); },
                       "combine_at (assign): float64 cannot take the place of int32; convert one of them with astype first");
  says<sn::ValueError>([&] { sn::combine_at(sn::zeros({3}), sn::zeros({1001}, DType::int64), 1., sn::divide, sn::Combining::one_by_one); },
                       "combine_at: more than 1000 values for one index would be combined one after the other");
}

TEST_CASE("diagonals, triangles, grids and choices") {
  const auto filled = [](std::int64_t rows, std::int64_t columns, bool wrap) { return values(sn::fill_diagonal(sn::zeros({rows, columns}), {1., 2.}, wrap)); };
  CHECK(filled(2, 3, false) == std::vector<double>{1, 0, 0, 0, 2, 0});
  CHECK(filled(5, 2, false) == std::vector<double>{1, 0, 0, 2, 0, 0, 0, 0, 0, 0});
  CHECK(filled(5, 2, true) == std::vector<double>{1, 0, 0, 2, 0, 0, 1, 0, 0, 2});
  const Tensor cube = sn::fill_diagonal(sn::zeros({3, 3, 3}), 4);
  CHECK(values(cube(0, 0)) == std::vector<double>{4, 0, 0});
  CHECK(sn::sum(cube).item<double>() == 12);
  CHECK(values(cube(sn::diag_indices(3, 3)[0], sn::diag_indices(3, 3)[1], sn::diag_indices(3, 3)[2])) == std::vector<double>{4, 4, 4});
  for (const std::int64_t k : {-1, 0, 2}) {
    const Tensor x = random(rng, {4, 6}, DType::float32, 1, 2).first;
    const auto lower = sn::tril_indices(4, k, 6), upper = sn::triu_indices(4, k, 6);
    CHECK(std::fabs(sn::sum(x(lower[0], lower[1])).item<double>() - sn::sum(sn::tril(x, k)).item<double>()) < 1e-4);
    CHECK(std::fabs(sn::sum(x(upper[0], upper[1])).item<double>() - sn::sum(sn::triu(x, k)).item<double>()) < 1e-4);
  }
  const Tensor x = sn::arange(20).reshape({4, 5});
  const auto grid = sn::ix_({Tensor{2, 0}, Tensor{true, false, false, true, true}});
  CHECK(values(x(grid[0], grid[1])) == std::vector<double>{10, 13, 14, 0, 3, 4});
  CHECK(values(sn::choose({0, 1, 1, 0}, {Tensor{1, 2, 3, 4}, Tensor{-1}})) == std::vector<double>{1, -1, -1, 4});
  CHECK(values(sn::choose({-1, 5}, {Tensor{7}, Tensor{8}}, sn::IndexMode::clip)) == std::vector<double>{7, 8});
  CHECK(values(sn::choose({-1, 4}, {Tensor{7}, Tensor{8}}, sn::IndexMode::wrap)) == std::vector<double>{8, 7});
  says<sn::ShapeError>([&] { sn::fill_diagonal(sn::zeros({3}), 1); }, "fill_diagonal: shape (3,) has no diagonal: it takes at least two axes");
  says<sn::ShapeError>([&] { sn::fill_diagonal(sn::zeros({2, 2, 3}), 1); },
                       "fill_diagonal: shape (2, 2, 3): if there are more than two axes, all must have one size");
  says<sn::ShapeError>([&] { sn::ix_({x}); }, "ix_: shape (4, 5) is not that of a vector");
  says<sn::DTypeError>([&] { sn::choose({0.5}, {x}); }, "choose: choices are numbered by integers, not float64");
}

TEST_CASE("histograms over several axes") {
  const auto [p, rp] = random(rng, {300, 2}, DType::float64, -1, 1);
  const auto [w, rw] = random(rng, {300}, DType::float64, 0, 2);
  const sn::HistogramDd h = sn::histogramdd(p, {sn::Bins(4, std::pair(-0.8, 0.8)), Tensor{-1., -0.25, 0., 1.}}, w);
  std::vector<double> want(12);
  for (std::size_t k = 0; k < 300; ++k) {
    const double a = rp.v[2 * k], b = rp.v[2 * k + 1];
    if (a < -0.8 || a > 0.8) continue;
    const auto row = static_cast<std::size_t>(std::min(3.0, std::floor((a + 0.8) / 0.4))), column = static_cast<std::size_t>(b < -0.25 ? 0 : b < 0 ? 1 : 2);
    want[row * 3 + column] += rw.v[k];
  }
  const auto got = values(h.counts);
  REQUIRE(h.counts.shape() == Shape{4, 3});
  for (std::size_t k = 0; k < want.size(); ++k) CHECK(std::fabs(got[k] - want[k]) < 1e-9);
  const sn::Histogram2d density = sn::histogram2d(p(Slice{}, 0), p(Slice{}, 1), 3, 5, {}, true);
  const Tensor areas = sn::outer(sn::diff(density.x_edges), sn::diff(density.y_edges));
  CHECK(std::fabs(sn::sum(density.counts * areas).item<double>() - 1) < 1e-12);
  says<sn::ValueError>([&] { sn::histogramdd(p, {2, 3, 4}); }, "histogramdd: 3 bins for points of 2 numbers; give one, or one for each");
  says<sn::ShapeError>([&] { sn::histogramdd(w); }, "histogramdd: points are the rows of a matrix, not of shape (300,)");
}

TEST_CASE("isin of many integers that are close together, far apart or at the limits of their type") {
  for (int d = 0; d < sn::kDTypeCount; ++d) {
    const auto type = static_cast<DType>(d);
    if (!is_integer(type) || (on_gpu() && d % 3 != 0)) continue;
    CAPTURE(sn::name(type));
    const auto count = static_cast<std::int64_t>(rng() % 3000) + 1;
    const Tensor bits = sn::random::bits(sn::random::Key(rng()), {on_gpu() ? 4100 : 20000}, DType::uint64),
                 others = sn::random::bits(sn::random::Key(rng()), {on_gpu() ? 9 : count}, DType::uint64);
    const auto smallest = sn::iinfo(type).min;
    for (const std::uint64_t range : {std::uint64_t{100}, std::uint64_t{20000}, std::uint64_t{1} << 40}) {
      if (on_gpu() && range > 100) continue;
      // Ranges that begin at the type's least number or end at its greatest.
      for (const std::uint64_t from : {std::uint64_t{0}, sn::iinfo(type).max - static_cast<std::uint64_t>(smallest) - range + 1}) {
        if (itemsize(type) < 8 && range > sn::iinfo(type).max) continue;
        const auto made = [&](const Tensor& x) { return (x % range + from + static_cast<std::uint64_t>(smallest)).astype(type); };
        const Tensor x = made(bits), y = made(others);
        const auto of_x = x.astype(DType::uint64).to_vector<std::uint64_t>(), of_y = y.astype(DType::uint64).to_vector<std::uint64_t>();
        const std::set<std::uint64_t> there(of_y.begin(), of_y.end());
        std::vector<double> want;
        for (const std::uint64_t number : of_x) want.push_back(there.contains(number));
        CHECK(values(sn::isin(x, y)) == want);
        CHECK(values(sn::isin(x.reshape({-1, 2}), y, true).ravel() == false) == want);
      }
    }
  }
}

TEST_CASE("gathers of gathers, and concatenations with them") {
  const auto before = sn::counters().fallbacks;
  sn::eval(sn::ones({3}) + sn::arange(3));
  const bool has_compiler = sn::counters().fallbacks == before;
  for (const std::int64_t width : {1, 4, 5, 35}) {
    const auto [y, ry] = random(rng, {5, width}, DType::float32, -3, 3);
    const auto row = [&, &values = ry.v](std::int64_t k) { return std::vector<double>(values.begin() + k * width, values.begin() + (k + 1) * width); };
    const auto rows = [&](const std::vector<std::int64_t>& list) {
      std::vector<double> all;
      for (const std::int64_t k : list)
        for (const double v : row(k)) all.push_back(v);
      return all;
    };
    const Tensor some{-4, 3}, places{0, 1, 2, 0};
    const Tensor t = sn::take(y, some, 0), joined = sn::concatenate({t, y}), maxima = sn::cummax(t, 0);
    sn::eval(joined, maxima);
    CHECK(values(joined) == rows({1, 3, 0, 1, 2, 3, 4}));
    std::vector<double> larger = rows({1, 3});
    const auto columns = static_cast<std::size_t>(width);
    for (std::size_t k = 0; k < columns; ++k) larger[columns + k] = std::max(larger[k], larger[columns + k]);
    CHECK(values(maxima) == larger);
    CHECK(values(sn::take(y, sn::take(places, places), 0)) == rows({0, 1, 2, 0}));
    CHECK(values(sn::take(y, sn::take(places, places) - 5, 0)) == rows({0, 1, 2, 0}));
    CHECK(values(y.at({places.at({places > 0})})) == rows({1, 2}));
    CHECK(values(sn::take(joined, sn::take(places + 3, sn::concatenate({places, some})), 0)) == rows({1, 2, 3, 1, 1, 1}));
  }
  for (const DType dtype : {DType::int32, DType::int64, DType::float32})
    CHECK(sn::searchsorted(sn::astype(Tensor{1, 2, 3}, dtype), sn::full({}, 2).astype(dtype)).item<std::int64_t>() == 1);
  if (has_compiler) CHECK(sn::counters().fallbacks == before);
}

TEST_CASE("searchsorted and interp with tables of every length") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const std::int64_t n : {1, 2, 3, 4, 7, 11, 12, 13, 16, 17, 31, 32, 33, 100}) {
    if (on_gpu() && n != 13) continue;
    CAPTURE(n);
    std::vector<double> table, heights, x{nan, inf, -inf, 0.0, -0.0};
    for (std::int64_t k = 0; k < n; ++k)
      table.push_back(std::round(std::normal_distribution<double>(0, 8)(rng))), heights.push_back(std::normal_distribution<double>()(rng));
    std::sort(table.begin(), table.end());
    for (int k = 0; k < 60; ++k) x.push_back(std::round(std::normal_distribution<double>(0, 16)(rng)) / 2);
    // NaN is larger than all numbers and equal to itself.
    const auto before = [](double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; };
    for (const std::int64_t missing : {std::int64_t{0}, n / 2}) {
      std::vector<double> list(table.begin(), table.end() - missing);
      list.resize(table.size(), nan);
      std::vector<double> first, last;
      for (const double v : x) {
        first.push_back(static_cast<double>(std::lower_bound(list.begin(), list.end(), v, before) - list.begin()));
        last.push_back(static_cast<double>(std::upper_bound(list.begin(), list.end(), v, before) - list.begin()));
      }
      CHECK(values(sn::searchsorted(sn::from_span(list), sn::from_span(x))) == first);
      CHECK(values(sn::searchsorted(sn::from_span(list), sn::from_span(x), sn::Side::right)) == last);
    }
    table.erase(std::unique(table.begin(), table.end()), table.end());
    heights.resize(table.size());
    const Tensor given = sn::from_span(x), points = sn::from_span(table), h = sn::from_span(heights);
    const auto plain = values(sn::interp(given, points, h)), ended = values(sn::interp(given, points, h, -100., 100.));
    for (std::size_t k = 0; k < x.size(); ++k) {
      CAPTURE(x[k]);
      const auto at = static_cast<std::size_t>(std::upper_bound(table.begin(), table.end(), x[k]) - table.begin());
      if (std::isnan(x[k])) CHECK((std::isnan(plain[k]) && std::isnan(ended[k])));
      else if (at == 0) CHECK((plain[k] == heights.front() && ended[k] == -100));
      else if (at == table.size()) CHECK((plain[k] == heights.back() && ended[k] == (x[k] > table.back() ? 100 : heights.back())));
      else {
        const double share = (x[k] - table[at - 1]) / (table[at] - table[at - 1]);
        CHECK(plain[k] == doctest::Approx(heights[at - 1] + share * (heights[at] - heights[at - 1])).epsilon(1e-12).scale(1));
        CHECK(plain[k] == ended[k]);
      }
    }
  }
}

TEST_CASE("selections between other operations, of views") {
  for (int round = 0; round < (on_gpu() ? 2 : 8) && !time_is_over(); ++round) {
    const auto [x, rx] = random_view(rng, random(rng, {5, 6}, DType::float64, -3, 3));
    const std::int64_t n = x.ndim() == 0 ? 1 : x.size(0);
    if (x.size() == 0 || x.ndim() == 0) continue;
    std::vector<std::int64_t> list;
    const Tensor places = random_places(7, n, list);
    const Tensor y = sn::add_at(x * 2., places * 1, x(0) + 1.);
    Ref want = map(rx, [](double v) { return v * 2; });
    const std::size_t columns = rx.v.size() / static_cast<std::size_t>(n);
    for (const std::int64_t place : list)
      for (std::size_t c = 0; c < columns; ++c) want.v[static_cast<std::size_t>(place) * columns + c] += rx.v[c] + 1;
    const Tensor sum = sn::sum(y), turned = sn::transpose(y) - 1.;
    sn::eval(sum, turned);
    const auto found = values(y);
    double total = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      CHECK(found[k] == doctest::Approx(want.v[k]).epsilon(1e-12).scale(1));
      total += want.v[k];
    }
    CHECK(values(sum)[0] == doctest::Approx(total).epsilon(1e-9).scale(1));
    CHECK(values(sn::transpose(turned) + 1.)[0] == doctest::Approx(want.v[0]).epsilon(1e-9).scale(1));
  }
}

TEST_CASE("indices out of range, and wrong shapes and types, are errors") {
  Tensor x = sn::zeros({3, 4});
  says<sn::IndexError>([&] { sn::eval(sn::add_at(x, Tensor{0, 3}, 1.)); }, "add_at: index 3 is out of bounds for axis 0 with size 3");
  says<sn::IndexError>([&] { sn::eval(sn::add_at(x, {Tensor{0, 1}, Tensor{-5, 0}}, 1.)); }, "add_at: index -5 is out of bounds for axis 1 with size 4");
  says<sn::IndexError>([&] { sn::eval(sn::add_along_axis(x, Tensor{{9}}, 1., 1)); }, "add_along_axis: index 9 is out of bounds for axis 1 with size 4");
  says<sn::IndexError>([&] { sn::eval(sn::put_along_axis(x, Tensor{{9}}, 1., 1)); }, "put_along_axis: index 9 is out of bounds for axis 1 with size 4");
  says<sn::ShapeError>([&] { sn::add_at(x, Tensor{0, 1}, sn::zeros({3})); }, "add_at: shape (3,) does not broadcast to (2, 4), the shape of the assigned part");
  says<sn::DTypeError>([&] { sn::add_at(sn::arange(3), Tensor{0}, 0.5); },
                       "add_at: float64 cannot take the place of int64; convert one of them with astype first");
  says<sn::DTypeError>([&] { sn::add_at(x, Tensor{0.5}, 1.); }, "add_at (index): indices are integers, not float64");
  says<sn::ShapeError>([&] { sn::put_along_axis(x, Tensor{0}, 1., 1); },
                       "put_along_axis: shape (3, 4) is written with indices of shape (1,): both need as many axes");
  says<sn::ValueError>([&] { sn::bincount(Tensor{1, -2}); }, "bincount: -2 is negative: there is no such bin");
  says<sn::ValueError>([&] { sn::histogram(x, Tensor{1, 0}); }, "histogram: edges must ascend");
  says<sn::ValueError>([&] { sn::histogram(sn::log(x)); }, "histogram: bins from -inf to -inf are not finite");
  says<sn::ValueError>([&] { sn::quantile(x, 1.5); }, "quantile: 1.5 is not in [0, 1]");
  says<sn::ValueError>([&] { sn::percentile(x, Tensor{50, 101}); }, "percentile: 101 is not in [0, 100]");
  // Next to a point of infinite height the line starts at the finite point. Between two points of infinite height there is no line.
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor four{0, 1, 2, 3};
  CHECK(values(sn::interp(Tensor{0.5, 1.5, 2.0, 2.5, 3.0}, four, Tensor{0., 1., inf, 3.})) == std::vector<double>{0.5, inf, inf, inf, 3});
  CHECK(values(sn::interp(Tensor{1.5, 2.5}, four, Tensor{0., 1., inf, inf})) == std::vector<double>{inf, inf});
  CHECK(values(sn::interp(Tensor{0.5, 1.5}, four, Tensor{-inf, -inf, 1., 3.})) == std::vector<double>{-inf, -inf});
  says<sn::ShapeError>([&] { sn::interp(x, Tensor{1, 2}, Tensor{1}); }, "interp: xp and fp are vectors of one length, at least 1, not of shapes (2,) and (1,)");
  says<sn::ShapeError>([&] { sn::gradient(sn::zeros({1})); }, "gradient: a gradient of edge_order 1 needs 2 elements, axis -1 has 1");
}

TEST_CASE("histograms with elements on the edges of bins") {
  const Tensor x = sn::arange(100) / 10.;
  const auto [counts, edges] = sn::histogram(x, 10, std::pair(0., 10.));
  CHECK(values(counts) == std::vector<double>(10, 10));
  CHECK(values(edges) == values(sn::linspace(0., 10., 11)));
  CHECK(values(sn::histogram(x, edges).counts) == std::vector<double>(10, 10));
  CHECK(values(sn::histogram(Tensor{0., 10., std::nan("")}, 10, std::pair(0., 10.)).counts) == std::vector<double>{1, 0, 0, 0, 0, 0, 0, 0, 0, 1});
}

TEST_CASE("logcumsumexp of values of any magnitude") {
  auto [x, rx] = random(rng, {3, 50}, DType::float64, -900, 900);
  const auto found = values(sn::logcumsumexp(x, 1));
  for (std::size_t row = 0; row < 3; ++row) {
    double sum = -INFINITY;
    for (std::size_t k = row * 50; k < row * 50 + 50; ++k) {
      const double high = std::max(sum, rx.v[k]);
      sum = high + std::log(std::exp(sum - high) + std::exp(rx.v[k] - high));
      CHECK(found[k] == doctest::Approx(sum).epsilon(1e-12));
    }
  }
}

// A GPU sorts this many indices by digits. It adds the values for one index to each other first, and then to the old value.
TEST_CASE("values for many indices are combined in order on every device") {
  std::mt19937 own{fresh_seed()};
  constexpr std::int64_t rows = 30000, count = 28000;
  for (const std::int64_t columns : {1, 3}) {
    CAPTURE(columns);
    std::vector<std::int64_t> index;
    std::vector<float> value, start(static_cast<std::size_t>(rows * columns));
    for (float& s : start) s = std::uniform_real_distribution<float>(-1, 1)(own);
    std::vector<float> sums = start, last = start, alone(start.size()), largest = start, least = start, products = start;
    for (std::int64_t k = 0; k < count; ++k) {
      // A few indices have many values, most have none or one.
      index.push_back(static_cast<std::int64_t>(own() % (own() % 4 == 0 ? 50 : rows)));
      for (std::int64_t c = 0; c < columns; ++c) {
        value.push_back(std::uniform_real_distribution<float>(-1, 1)(own));
        const auto at = static_cast<std::size_t>(index.back() * columns + c);
        sums[at] += value.back();
        alone[at] += value.back();
        last[at] = value.back();
        largest[at] = std::max(largest[at], value.back());
        least[at] = std::min(least[at], value.back());
        products[at] *= value.back();
      }
    }
    if (on_gpu())
      for (std::size_t at = 0; at < sums.size(); ++at) sums[at] = start[at] + alone[at];
    const Tensor places = sn::from_span(index), given = sn::reshape(sn::from_span(value), {count, columns}),
                 x = sn::reshape(sn::from_span(start), {rows, columns});
    CHECK(sn::reshape(sn::add_at(x, sn::Index(places - rows), given), {-1}).to_vector<float>() == sums);
    CHECK(sn::reshape(sn::add_at(x, sn::Index(places), given + 0.f) * 2, {-1}).to_vector<float>() ==
          sn::reshape(sn::from_span(sums) * 2, {-1}).to_vector<float>());
    CHECK(sn::reshape(sn::maximum_at(x, {places}, given), {-1}).to_vector<float>() == largest);
    CHECK(sn::reshape(sn::minimum_at(x, {places}, given + 0.f), {-1}).to_vector<float>() == least);
    const auto multiplied = sn::reshape(sn::multiply_at(x, {places}, given), {-1}).to_vector<float>();
    int wrong = 0;
    for (std::size_t at = 0; at < products.size(); ++at) wrong += !(std::abs(multiplied[at] - products[at]) <= 1e-4f * std::abs(products[at]) + 1e-30f);
    CHECK(wrong == 0);
    Tensor assigned = x;
    assigned(places) = given;
    CHECK(sn::reshape(assigned, {-1}).to_vector<float>() == last);
    const Tensor whole = sn::astype(sn::floor(given * 100), DType::int16);
    const auto wide = sn::add_at(sn::zeros({rows, columns}, DType::int64), sn::Index(places), sn::astype(whole, DType::int64));
    CHECK(sn::all(sn::add_at(sn::zeros({rows, columns}, DType::int16), sn::Index(places), whole) == sn::astype(wide, DType::int16)).item<bool>());
    // The gathered positions are checked, even if the sum is over ranges.
    const Tensor table = sn::reshape(sn::from_span(start), {rows, columns});
    CHECK(sn::reshape(sn::add_at(x, sn::Index(places), sn::take(table, places, 0)), {-1}).size(0) == rows * columns);
    index[7] = rows;
    CHECK_THROWS_AS(sn::eval(sn::add_at(x, sn::Index(places), sn::take(table, sn::from_span(index), 0))), sn::IndexError);
  }
}
