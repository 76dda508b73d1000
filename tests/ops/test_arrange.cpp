// Operations that move elements: pads, concatenations, gathers, scans. They are compared with plain loops over coordinates, for every dtype, with empty axes,
// axes of size 1 and no axes, with prologues and epilogues. numpy_programs.py and the golden cases compare each operation alone with NumPy.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>

#include "draws.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;
using sn::Index;
using sn::PadMode;

namespace {

const std::vector<DType> kTypes = {DType::float32, DType::float64, DType::int32, DType::int64, DType::bool_};
const std::vector<Shape> kShapes = {{1}, {7}, {0}, {3, 5}, {1, 1}, {0, 4}, {4, 0}, {6, 1, 33}, {2, 3, 4, 5}, {40, 70}};

void same(const Tensor& got, const Ref& expected, const std::string& what) {
  INFO(what);
  REQUIRE(got.shape() == expected.shape);
  CHECK(values(got) == expected.v);
}
void near(const Tensor& got, const Ref& expected, double tolerance, const std::string& what) {
  INFO(what);
  REQUIRE(got.shape() == expected.shape);
  const auto found = values(got);
  double worst = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (std::isnan(found[k]) && std::isnan(expected.v[k])) continue;
    const double error = std::fabs(found[k] - expected.v[k]) / (1 + std::fabs(expected.v[k]));
    worst = std::isnan(error) ? 1e9 : std::max(worst, error);
  }
  CHECK(worst <= tolerance);
}

bool fused() { return sn::options().fuse; }

}  // namespace

TEST_CASE("pads of views, views of pads and pads of pads, between other operations") {
  std::mt19937 rng(fresh_seed());
  for (int round = 0; round < 12 && !time_is_over(); ++round) {
    const auto [x, ref] = random_view(rng, random(rng, {3, 4, 6}, DType::float32, -2, 2));
    std::vector<std::pair<std::int64_t, std::int64_t>> widths(ref.shape.size(), {1, 2}), more(ref.shape.size(), {2, 0});
    const auto padded = [](const Ref& r, std::int64_t before, std::int64_t after, double value) {
      Shape shape = r.shape;
      for (auto& size : shape) size += before + after;
      return make(shape, [&](const Coords& at) {
        Coords from = at;
        for (std::size_t k = 0; k < at.size(); ++k) {
          from[k] -= before;
          if (from[k] < 0 || from[k] >= r.shape[k]) return value;
        }
        return r.v[flat(r.shape, from)];
      });
    };
    const Tensor y = sn::pad(sn::pad(x * 2.f, widths, PadMode::constant, 3) + 1.f, more, PadMode::constant, -1);
    const Ref y_ref = padded(map(padded(map(ref, [](double v) { return v * 2; }), 1, 2, 3), [](double v) { return static_cast<float>(v + 1.f); }), 2, 0, -1);
    near(y, y_ref, 1e-6, "pad of pad");
    const auto [z, z_ref] = random_view(rng, {y, y_ref});
    near(sn::abs(z), map(z_ref, [](double v) { return std::fabs(v); }), 1e-6, "view of pad");
    if (!z_ref.shape.empty())
      near(sn::sum(z, -1), sinter::testing::reduce(z_ref, {static_cast<std::int64_t>(z_ref.shape.size()) - 1}, 0, std::plus<double>()), 1e-5, "sum of it");
  }
}

TEST_CASE("a concatenation of ten tensors with its prologue and epilogue is one kernel; one of many tensors is correct") {
  std::mt19937 rng(fresh_seed());
  for (std::int64_t axis : {0, 1}) {
    std::vector<Tensor> parts;
    std::vector<Ref> refs;
    std::vector<double> expected;
    for (int k = 0; k < 10; ++k) {
      auto [x, ref] = random(rng, axis == 0 ? Shape{k + 1, 64} : Shape{30, 8 * k + 3}, DType::float32, -2, 2);
      parts.push_back(x * 2.f);
      refs.push_back(ref);
    }
    const Tensor y = sn::exp(sn::concatenate(parts, axis)) + 1.f;
    if (fused()) CHECK(launches(y) == 1);
    Shape shape = y.shape();
    near(y,
         make(shape,
              [&](const Coords& at) {
                Coords from = at;
                const auto k = static_cast<std::size_t>(axis);
                for (const Ref& ref : refs) {
                  if (from[k] < ref.shape[k]) return std::exp(2 * ref.v[flat(ref.shape, from)]) + 1;
                  from[k] -= ref.shape[k];
                }
                return -99.0;
              }),
         1e-6, "exp of concatenate");
  }
  std::vector<Tensor> many;
  std::vector<double> all;
  for (int k = 0; k < 300; ++k) {
    auto [x, ref] = random(rng, {1 + k % 3}, DType::int64, -99, 99);
    many.push_back(x);
    all.insert(all.end(), ref.v.begin(), ref.v.end());
  }
  CHECK(values(sn::concatenate(many)) == all);
}

TEST_CASE("pieces computed by different functions are joined along rows, along columns and in a triangle") {
  std::mt19937 rng(fresh_seed());
  for (const std::int64_t axis : {0, 1}) {
    const auto piece = [&](std::int64_t size) { return axis == 0 ? Shape{size, 37} : Shape{29, size}; };
    const std::int64_t sizes[] = {1 + static_cast<std::int64_t>(rng() % 70), 2, 1 + static_cast<std::int64_t>(rng() % 40)};
    const auto [a, a_ref] = random(rng, piece(sizes[0]), DType::float32, -2, 2);
    const auto [b, b_ref] = random(rng, piece(sizes[1]), DType::float32, -2, 2);
    const auto [c, c_ref] = random(rng, piece(sizes[2]), DType::float32, -2, 2);
    const Tensor joined = sn::concatenate({sn::tanh(a) * 2.f, sn::exp(b), sn::sin(c) - sn::erf(c)}, axis);
    const Ref &ra = a_ref, &rb = b_ref, &rc = c_ref;
    const auto at_place = [&, k = static_cast<std::size_t>(axis)](const Coords& at) {
      Coords from = at;
      if (from[k] < sizes[0]) return 2 * std::tanh(ra.v[flat(ra.shape, from)]);
      from[k] -= sizes[0];
      if (from[k] < sizes[1]) return std::exp(rb.v[flat(rb.shape, from)]);
      from[k] -= sizes[1];
      const double z = rc.v[flat(rc.shape, from)];
      return std::sin(z) - std::erf(z);
    };
    near(joined, make(joined.shape(), at_place), 1e-6, fmt::format("joined along {}", axis));
    near(sn::tril(sn::exp(joined)), make(joined.shape(), [&](const Coords& at) { return at[1] <= at[0] ? std::exp(at_place(at)) : 0.0; }), 1e-5,
         "a triangle of it");
    near(sn::sum(joined, {1}),
         make({joined.shape()[0]},
              [&](const Coords& at) {
                double sum = 0;
                for (std::int64_t j = 0; j < joined.shape()[1]; ++j) sum += at_place({at[0], j});
                return sum;
              }),
         1e-4, "its rows' sums");
  }
}

TEST_CASE("short rows of every length, and comparisons of positions with numbers far out of range") {
  std::mt19937 rng(fresh_seed());
  for (const DType dtype : sampled({DType::uint8, DType::int16, DType::float32, DType::float64, DType::bool_, DType::int64}))
    for (const std::int64_t n : on_gpu() ? std::vector<std::int64_t>{1, 33} : std::vector<std::int64_t>{1, 2, 7, 15, 16, 17, 31, 63, 64, 65, 100, 130}) {
      if (on_gpu() && dtype != DType::uint8 && dtype != DType::float32) continue;
      const std::string what = fmt::format("{}, {}", sn::name(dtype), n);
      const auto [x, ref] = random(rng, {3, n + 2}, dtype, 0, 9);
      const auto at = [&, &ref = ref](const Coords& c, std::int64_t shift) { return ref.v[static_cast<std::size_t>(c[0] * (n + 2) + c[1] + shift)]; };
      const auto part = [&, &x = x](std::int64_t shift) { return x.at({Slice{}, Slice{shift, n + shift}}); };
      same(sn::maximum(part(0), sn::maximum(part(1), part(2))), make({3, n}, [&](const Coords& c) { return std::max({at(c, 0), at(c, 1), at(c, 2)}); }), what);
      if (!is_bool(dtype) && !is_floating(dtype))  // masked lanes must not divide by zero
        same(sn::floor_divide(part(1), sn::maximum(part(2), sn::ones({}, dtype))),
             make({3, n}, [&](const Coords& c) { return std::floor(at(c, 1) / std::max(at(c, 2), 1.0)); }), what + ", divided");
      const Tensor place = sn::arange(n);
      for (const std::int64_t number :
           {std::int64_t{-3}, std::int64_t{0}, n / 2, n - 1, n, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        const Tensor limit = sn::full({}, number, DType::int64);
        const auto chosen = [&](const Tensor& condition, const std::function<bool(std::int64_t)>& holds, const char* name) {
          same(sn::where(condition, part(0), part(2)), make({3, n}, [&](const Coords& c) { return holds(c[1]) ? at(c, 0) : at(c, 2); }),
               fmt::format("{}: place {} {}", what, name, number));
        };
        chosen(place < limit, [&](std::int64_t k) { return k < number; }, "<");
        chosen(place <= limit, [&](std::int64_t k) { return k <= number; }, "<=");
        chosen(limit < place, [&](std::int64_t k) { return number < k; }, ">");
        chosen(limit <= place, [&](std::int64_t k) { return number <= k; }, ">=");
        chosen(place == limit, [&](std::int64_t k) { return k == number; }, "==");
        chosen(place != limit, [&](std::int64_t k) { return k != number; }, "!=");
        if (on_gpu()) break;
      }
    }
}

TEST_CASE("take, take_along_axis and indexing with a tensor") {
  std::mt19937 rng(fresh_seed());
  for (const DType dtype : sampled(kTypes))
    for (DType index_type : {DType::int64, DType::int32})
      for (const auto& [shape, places] :
           sampled(std::array{Shape{7}, Shape{1}, Shape{3, 5}, Shape{2, 3, 40}}, std::array{Shape{}, Shape{4}, Shape{0}, Shape{1, 3}, Shape{5, 2}}))
        for (std::size_t k = 0; k < shape.size(); ++k) {
          const auto [x, ref] = random(rng, shape, dtype, -9, 9);
          const auto [i, i_ref] = random(rng, places, index_type, static_cast<double>(-shape[k]), static_cast<double>(shape[k]));
          const Ref &r = ref, &ir = i_ref;
          Shape result(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(k));
          result.insert(result.end(), places.begin(), places.end());
          result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(k) + 1, shape.end());
          const Ref expected = make(result, [&](const Coords& at) {
            const auto place = static_cast<std::int64_t>(
                ir.v[flat(places, Coords(at.begin() + static_cast<std::ptrdiff_t>(k), at.begin() + static_cast<std::ptrdiff_t>(k + places.size())))]);
            Coords from(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(k));
            from.push_back(place < 0 ? place + shape[k] : place);
            from.insert(from.end(), at.begin() + static_cast<std::ptrdiff_t>(k + places.size()), at.end());
            return r.v[flat(shape, from)];
          });
          const std::string what = fmt::format("{} {} at {} axis {}", name(dtype), sn::to_string(shape), sn::to_string(places), k);
          same(sn::take(x, i, static_cast<std::int64_t>(k)), expected, what);
          same(sn::take(x, i, static_cast<std::int64_t>(k) - static_cast<std::int64_t>(shape.size())), expected, what + " from the end");
          if (dtype == DType::bool_) continue;
          // With prologue and epilogue, and a computed index.
          near(sn::take(x + x, i + 0, static_cast<std::int64_t>(k)) + 1, map(expected, [](double v) { return 2 * v + 1; }), 1e-6, what + " with work");
          std::vector<Index> index(k, Slice{});
          index.push_back(i);
          same(x.at(index), expected, what + " as an index");
        }
  for (const DType dtype : sampled(kTypes))
    for (const auto& [shape, places, axis] : std::vector<std::tuple<Shape, Shape, std::int64_t>>{
             {{7}, {3}, 0}, {{3, 5}, {3, 9}, 1}, {{3, 5}, {4, 5}, 0}, {{3, 5}, {1, 2}, -1}, {{1, 5}, {6, 2}, 1}, {{2, 3, 4}, {2, 0, 4}, 1}}) {
      const auto k = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
      const auto [x, ref] = random(rng, shape, dtype, -9, 9);
      const auto [i, i_ref] = random(rng, places, DType::int64, static_cast<double>(-shape[k]), static_cast<double>(shape[k]));
      const Ref &r = ref, &ir = i_ref;
      const Shape &s = shape, &p = places;
      Shape result;
      for (std::size_t n = 0; n < s.size(); ++n) result.push_back(n == k ? p[n] : std::max(s[n], p[n]));
      same(sn::take_along_axis(x, i, axis),
           make(result,
                [&](const Coords& at) {
                  Coords to = at, from = at;
                  for (std::size_t n = 0; n < at.size(); ++n) {
                    if (p[n] == 1) to[n] = 0;
                    if (s[n] == 1) from[n] = 0;
                  }
                  const auto place = static_cast<std::int64_t>(ir.v[flat(p, to)]);
                  from[k] = place < 0 ? place + s[k] : place;
                  return r.v[flat(s, from)];
                }),
           fmt::format("take_along_axis {} {} {}", sn::to_string(shape), sn::to_string(places), axis));
    }
  const Tensor x = sn::arange(5) * 10;
  const Tensor far = Tensor{-7, 12, 3};
  CHECK(values(sn::take(x, far, 0, sn::IndexMode::wrap)) == std::vector<double>{30, 20, 30});
  CHECK(values(sn::take(x, far, 0, sn::IndexMode::clip)) == std::vector<double>{0, 40, 30});
  CHECK(values(sn::take(x.reshape({5, 1}), Tensor{4, 0})) == std::vector<double>{40, 0});
  CHECK(values(x(Tensor{{1, 2}, {3, 4}})) == std::vector<double>{10, 20, 30, 40});
  CHECK(values(sn::take(sn::take(x, Tensor{4, 3, 2}, 0), Tensor{2, 0}, 0)) == std::vector<double>{20, 40});
  CHECK_THROWS_AS(sn::take(x, Tensor{0.5}, 0), sn::DTypeError);
  CHECK_THROWS_AS(sn::take(x, Tensor{true}, 0), sn::DTypeError);
  CHECK_THROWS_AS(sn::take(sn::ones({0}), Tensor{0}, 0), sn::IndexError);
  CHECK_THROWS_AS(sn::take_along_axis(x, Tensor{{0}}, 0), sn::ShapeError);
}

TEST_CASE("several tensors in one index are broadcast together") {
  std::mt19937 rng(fresh_seed());
  for (int round = 0; round < 4 && !time_is_over(); ++round) {
    const Shape shape{2 + static_cast<std::int64_t>(rng() % 4), 3, 5, 4};
    const auto [x, ref] = random_view(rng, random(rng, shape, DType::float32, -9, 9));
    if (ref.shape.size() != 4 || ref.v.empty() || ref.shape[1] < 2) continue;
    const Ref& r = ref;
    const auto drawn = [&](const Shape& places, std::size_t axis) {
      const auto size = static_cast<double>(ref.shape[axis]);
      return random(rng, places, DType::int64, -size, size);
    };
    const auto place = [&](const Ref& places, const Coords& at, std::size_t axis) {
      const auto index = static_cast<std::int64_t>(places.v[static_cast<std::size_t>(flat(places.shape, at))]);
      return index < 0 ? index + r.shape[axis] : index;
    };
    const auto [i, ri] = drawn({3, 1}, 1);
    const auto [j, rj] = drawn({4}, 2);
    const Ref &a = ri, &b = rj;
    // Adjacent index tensors keep their position.
    near(sn::exp(x)(Slice{}, i, j) * 2.f,
         make({r.shape[0], 3, 4, r.shape[3]},
              [&](const Coords& at) {
                return 2 * std::exp(r.v[static_cast<std::size_t>(flat(r.shape, {at[0], place(a, {at[1], 0}, 1), place(b, {at[2]}, 2), at[3]}))]);
              }),
         1e-5, "side by side");
    // If a slice separates index tensors, their axes move to the front. The same happens if a slice separates an index tensor from an integer.
    const auto [k, rk] = drawn({4}, 3);
    const Ref& c = rk;
    same(x(Slice{}, i, Slice{}, k),
         make({3, 4, r.shape[0], r.shape[2]},
              [&](const Coords& at) { return r.v[static_cast<std::size_t>(flat(r.shape, {at[2], place(a, {at[0], 0}, 1), at[3], place(c, {at[1]}, 3)}))]; }),
         "parted");
    same(x(0, Slice{}, j),
         make({4, r.shape[1], r.shape[3]},
              [&](const Coords& at) { return r.v[static_cast<std::size_t>(flat(r.shape, {0, at[1], place(b, {at[0]}, 2), at[2]}))]; }),
         "an integer first");
    same(x(Slice{}, 1, j),
         make({r.shape[0], 4, r.shape[3]},
              [&](const Coords& at) { return r.v[static_cast<std::size_t>(flat(r.shape, {at[0], 1, place(b, {at[1]}, 2), at[2]}))]; }),
         "an integer beside");
    if (fused()) CHECK(launches(sn::exp(x(Slice{}, i, j) + 1.f)) == 1);
  }
  const Tensor x = sn::arange(6).reshape({2, 3});
  CHECK(values(x(Tensor{1, 0}, Tensor{-1, 0})) == std::vector<double>{5, 0});
  CHECK(x(Tensor(sn::zeros({0}, DType::int64)), Tensor(sn::zeros({1}, DType::int64))).shape() == Shape{0});
  CHECK_THROWS_AS(x(Tensor{0, 1}, Tensor{0, 1, 2}), sn::ShapeError);
  for (const auto& [i, j, says] :
       std::vector<std::tuple<Tensor, Tensor, std::string>>{{Tensor{0, 2}, Tensor{0, 0}, "index 2 is out of bounds for axis 0 with size 2"},
                                                            {Tensor{0, 1}, Tensor{0, -4}, "index -4 is out of bounds for axis 1 with size 3"}})
    CHECK_THROWS_WITH_AS(sn::eval(x(i, j)), doctest::Contains(says.c_str()), sn::IndexError);
}

TEST_CASE("a gather at the position of a row's or column's extremum") {
  std::mt19937 rng(fresh_seed());
  for (const Shape& shape : {Shape{17, 8}, Shape{3, 17}, Shape{100, 3}, Shape{40, 70}, Shape{1, 1}, Shape{5, 300}})
    for (std::int64_t axis : {0, 1}) {
      const auto [x, ref] = random(rng, shape, DType::float32, -9, 9);
      const Tensor place = sn::argmin(x, axis, true);
      near(sn::take_along_axis(x, place, axis) - sn::min(x, axis, true), make({axis ? shape[0] : 1, axis ? 1 : shape[1]}, [](const Coords&) { return 0.0; }), 0,
           fmt::format("{} along {}", sn::to_string(shape), axis));
    }
}

TEST_CASE("an index out of range is an error that names the operation, the line, the index and the size, and later evaluations work") {
  std::mt19937 rng(fresh_seed());
  const auto message = [](const Tensor& t) -> std::string {
    try {
      sn::eval(t);
    } catch (const sn::IndexError& error) {
      return error.what();
    }
    return "no error";
  };
  for (std::int64_t bad : {5, -6, 1000000, -1000000})
    for (std::int64_t count : {1, 40, 3000}) {
      std::vector<std::int64_t> places(static_cast<std::size_t>(count), 2);
      places[places.size() / 2] = bad;
      const Tensor x = sn::arange(5), i = sn::from_span(places);
      const int line = __LINE__ + 1;
      const Tensor wrong = sn::exp(sn::take(x, i, 0) * 1.0) + 1;
      const std::string text = message(wrong);
      CHECK(text == fmt::format("take: index {} is out of bounds for axis 0 with size 5 at {}:{}", bad, __FILE__, line));
      CHECK(message(wrong) == text);  // a second evaluation fails in the same way
      CHECK(values(sn::take(x, i, 0, sn::IndexMode::clip)).size() == places.size());
    }
  // The same plan at another line names that line.
  const Tensor x = sn::arange(5);
  CHECK(message(x(Tensor{1, 7})).find(fmt::format(":{}", __LINE__)) != std::string::npos);
  CHECK(message(x(Tensor{1, 8})).find(fmt::format(":{}", __LINE__)) != std::string::npos);
  CHECK(message(sn::take_along_axis(x, Tensor{1, 7}, 0)).rfind("take_along_axis: index 7", 0) == 0);
  // A wrong index at a position that a pad hides is no error.
  CHECK(values(sn::pad(sn::take(x, Tensor{1, 2}, 0), {{1, 1}})) == std::vector<double>{0, 1, 2, 0});
  CHECK(message(sn::sum(sn::take(x, Tensor{0, -6}, 0))).find("index -6") != std::string::npos);
}

TEST_CASE("scans along every axis") {
  std::mt19937 rng(fresh_seed());
  using Scan = Tensor (*)(const sn::Arg&, std::optional<std::int64_t>);
  struct Row {
    const char* name;
    Scan scan;
    double (*combine)(double, double);
    bool keeps_type;
  };
  const Row rows[] = {
      {"cumsum", [](const sn::Arg& x, std::optional<std::int64_t> axis) { return sn::cumsum(x, axis); }, [](double a, double b) { return a + b; }, false},
      {"cumprod", [](const sn::Arg& x, std::optional<std::int64_t> axis) { return sn::cumprod(x, axis); }, [](double a, double b) { return a * b; }, false},
      {"cummax", sn::cummax, [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }, true},
      {"cummin", sn::cummin, [](double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }, true},
  };
  for (const Row& row : rows)
    for (const DType dtype : sampled(kTypes))
      for (const Shape& shape : sampled(kShapes)) {
        const bool product = row.name == std::string("cumprod");
        auto [x, ref] = random(rng, shape, dtype, product ? 0.9 : -9, product ? 1.1 : 9);
        const double tolerance = dtype == DType::float32 ? (sinter::testing::on_gpu() ? 1e-5 : 3e-6) : 1e-12;  // a block adds 32 elements at a time in float32
        const auto scanned = [&](const Ref& r, std::size_t k) {
          return make(r.shape, [&](const Coords& at) {
            Coords from = at;
            from[k] = 0;
            double total = r.v[flat(r.shape, from)];
            while (from[k]++ < at[k]) total = row.combine(total, r.v[flat(r.shape, from)]);
            return total;
          });
        };
        const std::string what = fmt::format("{} {} {}", row.name, name(dtype), sn::to_string(shape));
        for (std::size_t k = 0; k < shape.size(); ++k) {
          const Tensor y = row.scan(x, static_cast<std::int64_t>(k) - static_cast<std::int64_t>(shape.size()));
          CHECK(y.dtype() == (row.keeps_type || sn::is_floating(dtype) ? dtype : DType::int64));
          near(y, scanned(ref, k), tolerance, what);
          if (dtype == DType::bool_) continue;
          // The scan has a prologue, an epilogue, a sum of the same row, and a view of its result.
          const Tensor z = row.scan(x * 1, static_cast<std::int64_t>(k)) + sn::sum(x, static_cast<std::int64_t>(k), true) * 2;
          Ref sums = sinter::testing::reduce(ref, {static_cast<std::int64_t>(k)}, 0, std::plus<double>());
          sums.shape = shape;
          sums.shape[k] = 1;
          const Ref expected = zip(scanned(ref, k), sums, [](double a, double b) { return a + 2 * b; });
          near(z, expected, tolerance * 20, what + " with work");
          near(sn::flip(row.scan(x, static_cast<std::int64_t>(k))),
               make(shape,
                    [&, all = scanned(ref, k)](const Coords& at) {
                      Coords from = at;
                      for (std::size_t n = 0; n < at.size(); ++n) from[n] = shape[n] - 1 - at[n];
                      return all.v[flat(shape, from)];
                    }),
               tolerance, what + " flipped");
        }
        if (ref.v.size() < 200) near(row.scan(x, {}), scanned(Ref{{static_cast<std::int64_t>(ref.v.size())}, ref.v}, 0), tolerance, what + " flat");
      }
  CHECK(values(sn::cumsum(sn::full({}, 3.0))) == std::vector<double>{3});
  CHECK(sn::cumsum(sn::ones({3}, DType::int32), 0, DType::float32).dtype() == DType::float32);
  const Tensor nan = Tensor{1.0, std::nan(""), 3.0};
  CHECK(std::isnan(values(sn::cummax(nan))[2]));
  CHECK_THROWS_AS(sn::cumsum(sn::ones({3}), 1), sn::AxisError);
}

TEST_CASE("long scans of one row and of many rows are accurate") {
  std::mt19937 rng(fresh_seed());
  for (const Shape& shape : {Shape{400000}, Shape{3, 70000}, Shape{70000, 3}}) {
    const auto [x, ref] = random(rng, shape, DType::float32, -1, 1);
    const std::size_t k = shape[0] == 3 ? 1 : 0;
    const Tensor y = sn::cumsum(x, static_cast<std::int64_t>(k));
    const auto got = values(y);
    const std::int64_t step = k == 0 && shape.size() == 2 ? shape[1] : 1, rows = k == 0 && shape.size() == 2 ? shape[1] : k == 1 ? shape[0] : 1;
    double worst = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      double total = 0;
      for (std::int64_t i = 0; i < shape[k]; ++i) {
        const auto at = static_cast<std::size_t>(k == 1 ? row * shape[1] + i : row + i * step);
        total += ref.v[at];
        worst = std::max(worst, std::fabs(got[at] - total) / (1 + std::fabs(total)));
      }
    }
    CHECK(worst < 2e-5);
  }
}

TEST_CASE("every element type is concatenated, gathered and scanned") {
  std::mt19937 rng(fresh_seed());
  for (const auto& row : sampled(sn::kDTypes)) {
    const DType dtype = static_cast<DType>(&row - sn::kDTypes);
    const std::string what(name(dtype));
    auto made = random(rng, {2, 37}, DType::int32, 0, 2.99);  // sums are exact in the type of the computation
    const Tensor x = made.first.astype(dtype);
    std::vector<double>& v = made.second.v;
    if (dtype == DType::bool_)
      for (double& element : v) element = element != 0;
    same(sn::pad(x, {{0, 1}, {2, 3}}, PadMode::constant, 1),
         make({3, 42}, [&v](const Coords& at) { return at[0] < 2 && at[1] >= 2 && at[1] < 39 ? v[static_cast<std::size_t>(at[0] * 37 + at[1] - 2)] : 1; }),
         what);
    same(sn::concatenate({x, x}, 1), make({2, 74}, [&](const Coords& at) { return v[static_cast<std::size_t>(at[0] * 37 + at[1] % 37)]; }), what);
    same(sn::take(x, Tensor{36, -1, 0, 5}, 1),
         make({2, 4},
              [&](const Coords& at) {
                const std::int64_t places[] = {36, 36, 0, 5};
                return v[static_cast<std::size_t>(at[0] * 37 + places[at[1]])];
              }),
         what);
    const auto scanned = [&](bool sum) {
      return make({2, 37}, [&](const Coords& at) {
        double total = 0;
        for (std::int64_t k = 0; k <= at[1]; ++k) {
          const double next = v[static_cast<std::size_t>(at[0] * 37 + k)];
          total = sum ? total + next : std::max(total, next);
        }
        return total;
      });
    };
    const Tensor sums = sn::cumsum(x, 1);
    Ref rounded = scanned(true);  // rounded once if the type cannot represent the sum
    rounded.v = values(sn::from_span(rounded.v).astype(sums.dtype()));
    same(sums, rounded, what);
    same(sn::cummax(x, 1), scanned(false), what);
  }
}

TEST_CASE("empty buffers are never read") {
  const Tensor y = sn::from_span(std::vector<float>{}, Shape{3, 0}), z = sn::from_span(std::vector<float>{}, Shape{1, 0});
  CHECK(values(sn::sum(sn::softmax(y, 0))) == std::vector<double>{0});
  CHECK(std::isnan(values(sn::mean(sn::min(z, 0, true), 1))[0]));
  CHECK(values(sn::pad(z, {{0, 1}, {1, 1}}, PadMode::constant, 2)) == std::vector<double>(4, 2));
  CHECK(values(sn::ones({2})) == std::vector<double>(2, 1));  // the device still works
}
