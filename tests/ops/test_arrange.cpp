// Operations that move elements: pads, concatenations, gathers, scans. They are compared with plain loops over coordinates, for every dtype, with empty axes,
// axes of size 1 and no axes, with prologues and epilogues. numpy_programs.py and the golden cases compare each operation alone with NumPy.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "draws.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;
using sn::PadMode;

namespace {

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

TEST_CASE("flat views of matrices, read forwards and backwards, in steps and by positions") {
  std::mt19937 rng(fresh_seed());
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(rng); };
  for (int round = 0; round < 20 && !time_is_over(); ++round)
    for (const DType dtype : sampled({DType::int8, DType::uint16, DType::int32, DType::float32, DType::float64, DType::bool_})) {
      const std::int64_t rows = pick(2, 40), columns = pick(2, 70), left = pick(0, columns - 1), width = pick(1, columns - left);
      const auto [x, ref] = random(rng, {rows, columns}, dtype, 0, 9);
      const bool turned = round % 2 == 0;
      const Tensor part = x.at({Slice{}, Slice{left, left + width}}), flat_part = sn::reshape(turned ? sn::transpose(part) : part, {-1});
      const auto element = [&, &ref = ref](std::int64_t k) {
        return ref.v[static_cast<std::size_t>(turned ? k % rows * columns + left + k / rows : k / width * columns + left + k % width)];
      };
      for (const std::int64_t step : {-1, -2, -7, 3}) {
        const std::int64_t count = (rows * width - 1) / std::abs(step) + 1, first = step < 0 ? rows * width - 1 : 0;
        const std::string what = fmt::format("{} [{}, {}:{}], turned {}, step {}", sn::name(dtype), rows, left, left + width, turned, step);
        const Tensor view = flat_part.at({Slice{first, {}, step}});
        same(sn::maximum(view, view), make({count}, [&](const Coords& c) { return element(first + c[0] * step); }), what);
        const auto [positions, where] = random(rng, {pick(1, 90)}, DType::int64, 0, static_cast<double>(count - 1));
        same(sn::take(view, positions),
             make(where.shape,
                  [&, &where = where](const Coords& c) { return element(first + static_cast<std::int64_t>(where.v[static_cast<std::size_t>(c[0])]) * step); }),
             what + ", by positions");
      }
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

TEST_CASE("rows of every length, reduced with their neighbours between other operations, of which nothing beside the rows is used") {
  std::mt19937 rng(fresh_seed());
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(rng); };
  for (int round = 0; round < 60 && !time_is_over(); ++round)
    for (const DType dtype : sampled({DType::float32, DType::float64, DType::int32, DType::int8})) {
      const std::int64_t batch = pick(1, 3), rows = pick(1, 40), n = pick(1, round % 3 == 0 ? 140 : 40);
      const bool real = is_floating(dtype), backwards = round % 2 == 0;
      const auto [inside, ref] = random(rng, {batch, rows, n}, dtype, -2, 2);
      const auto [factor, factors] = random(rng, {rows}, dtype, -2, 2);
      const auto [shift, shifts] = random(rng, {batch, 1}, dtype, -2, 2);
      const Tensor edge = real ? sn::full({batch, rows, 2}, std::numeric_limits<double>::quiet_NaN(), dtype) : sn::full({batch, rows, 2}, 100, dtype);
      Tensor wide = sn::concatenate({edge, inside, edge}, 2);
      sn::eval(wide);
      const Tensor x = backwards ? wide.at({Slice{}, Slice{}, Slice{n + 1, 1, -1}}) : wide.at({Slice{}, Slice{}, Slice{2, n + 2}});
      const auto reduced = [&, &ref = ref](const Coords& c, double start, const std::function<double(double, double)>& f) {
        double result = start;
        for (std::int64_t k = 0; k < n; ++k) result = f(result, ref.v[static_cast<std::size_t>((c[0] * rows + c[1]) * n + k)]);
        return result;
      };
      const auto at = [](const Ref& r, std::int64_t k) { return r.v[static_cast<std::size_t>(k)]; };
      const std::string what = fmt::format("{} [{}, {}, {}], backwards {}", sn::name(dtype), batch, rows, n, backwards);
      const double tolerance = dtype == DType::float32 ? 1e-5 : 1e-12;
      near(sn::sum((x - sn::expand_dims(shift, 2)) * x, {2}) * factor,
           make({batch, rows},
                [&, &factors = factors, &shifts = shifts](const Coords& c) {
                  return at(factors, c[1]) * reduced(c, 0, [&](double sum, double v) { return sum + (v - at(shifts, c[0])) * v; });
                }),
           tolerance * static_cast<double>(n), what + ", sum");
      same(sn::transpose(sn::max(x, {2})) + sn::transpose(sn::min(x, {2})),
           make({rows, batch},
                [&](const Coords& c) {
                  const Coords row{c[1], c[0]};
                  const double most = reduced(row, -1e9, [](double a, double b) { return std::max(a, b); });
                  const double sum = most + reduced(row, 1e9, [](double a, double b) { return std::min(a, b); });
                  return dtype == DType::float32 ? static_cast<double>(static_cast<float>(sum)) : sum;
                }),
           what + ", extremes");
      if (!real || on_gpu()) continue;  // a GPU's sums have an order that depends on the kernel
      Tensor stored = sn::exp(inside);
      sn::eval(stored);
      same(sn::sum(sn::exp(inside), {2}), Ref{{batch, rows}, values(sn::sum(stored, {2}))}, what + ", stored first");
    }
}

TEST_CASE("matrices that are joined, summed over the joint, and joined again, along every axis") {
  std::mt19937 rng(fresh_seed());
  for (const std::int64_t axis : {0, 1, 2}) {
    std::vector<std::pair<Tensor, Ref>> parts;
    for (int k = 0; k < 8; ++k) parts.push_back(random(rng, {2, 2}, DType::float64, -2, 2));
    const auto joined = [&](std::size_t k) {
      return sn::sum(sn::concatenate({sn::expand_dims(parts[2 * k].first, axis), sn::expand_dims(parts[2 * k + 1].first, axis)}, axis), {axis});
    };
    const Tensor all = sn::concatenate({sn::concatenate({joined(0), joined(1)}, 1), sn::concatenate({joined(2), joined(3)}, 1)}, 0);
    same(all,
         make({4, 4},
              [&](const Coords& c) {
                const auto k = static_cast<std::size_t>(c[0] / 2 * 2 + c[1] / 2), at = static_cast<std::size_t>(c[0] % 2 * 2 + c[1] % 2);
                return parts[2 * k].second.v[at] + parts[2 * k + 1].second.v[at];
              }),
         fmt::format("axis {}", axis));
  }
}

TEST_CASE("what is looked up stays in one kernel, and what cannot be looked up is refused") {
  std::mt19937 rng(fresh_seed());
  const Tensor wide = random(rng, {4, 3, 5, 4}, DType::float32, -9, 9).first;
  if (fused()) CHECK(launches(sn::exp(wide(Slice{}, Tensor{{0}, {2}, {-1}}, Tensor{1, 4, 0, 3}) + 1.f)) == 1);
  const Tensor line = sn::arange(5) * 10;
  CHECK_THROWS_AS(sn::take(line, Tensor{0.5}, 0), sn::DTypeError);
  CHECK_THROWS_AS(sn::take(line, Tensor{true}, 0), sn::DTypeError);
  CHECK_THROWS_AS(sn::take(sn::ones({0}), Tensor{0}, 0), sn::IndexError);
  CHECK_THROWS_AS(sn::take_along_axis(line, Tensor{{0}}, 0), sn::ShapeError);
  const Tensor x = sn::arange(6).reshape({2, 3});
  CHECK(values(x(Tensor{1, 0}, Tensor{-1, 0})) == std::vector<double>{5, 0});
  CHECK(x(Tensor(sn::zeros({0}, DType::int64)), Tensor(sn::zeros({1}, DType::int64))).shape() == Shape{0});
  CHECK_THROWS_AS(x(Tensor{0, 1}, Tensor{0, 1, 2}), sn::ShapeError);
  for (const auto& [i, j, says] :
       std::vector<std::tuple<Tensor, Tensor, std::string>>{{Tensor{0, 2}, Tensor{0, 0}, "index 2 is out of bounds for axis 0 with size 2"},
                                                            {Tensor{0, 1}, Tensor{0, -4}, "index -4 is out of bounds for axis 1 with size 3"}})
    CHECK_THROWS_WITH_AS(sn::eval(x(i, j)), doctest::Contains(says.c_str()), sn::IndexError);
}

TEST_CASE("an index out of range names the op, the line, the index and the size, and everything goes on") {
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

TEST_CASE("long scans, of one row and of many, are accurate") {
  std::mt19937 rng(fresh_seed());
  for (const Shape& shape : {Shape{400000}, Shape{3, 70000}, Shape{70000, 3}}) {
    const auto [x, ref] = random(rng, shape, DType::float32, -1, 1);
    const std::size_t k = shape[0] == 3 ? 1 : 0;
    const Tensor y = sn::cumsum(x, static_cast<std::int64_t>(k));
    const auto got = values(y);
    const std::int64_t step = k == 0 && shape.size() == 2 ? shape[1] : 1, rows = k == 0 && shape.size() == 2 ? shape[1] : k == 1 ? shape[0] : 1;
    double worst = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      double total = 0, largest = 1;  // a total near zero has the rounding errors of those before it
      for (std::int64_t i = 0; i < shape[k]; ++i) {
        const auto at = static_cast<std::size_t>(k == 1 ? row * shape[1] + i : row + i * step);
        total += ref.v[at];
        largest = std::max(largest, std::fabs(total));
        worst = std::max(worst, std::fabs(got[at] - total) / largest);
      }
    }
    CHECK(worst < 2e-6);
  }
}

TEST_CASE("nothing is read from empty buffers") {
  const Tensor y = sn::from_span(std::vector<float>{}, Shape{3, 0}), z = sn::from_span(std::vector<float>{}, Shape{1, 0});
  CHECK(values(sn::sum(sn::softmax(y, 0))) == std::vector<double>{0});
  CHECK(std::isnan(values(sn::mean(sn::min(z, 0, true), 1))[0]));
  CHECK(values(sn::pad(z, {{0, 1}, {1, 1}}, PadMode::constant, 2)) == std::vector<double>(4, 2));
  CHECK(values(sn::ones({2})) == std::vector<double>(2, 1));  // the device still works
}

TEST_CASE("rows of every length that are read several times, with values of each row in between") {
  std::mt19937 rng(fresh_seed());
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution(low, high)(rng); };
  for (int round = 0; round < 60 && !time_is_over(); ++round)
    for (const DType dtype : sampled({DType::float32, DType::float64, DType::bfloat16, DType::int32, DType::int8})) {
      const std::int64_t batch = pick(1, 3), rows = pick(1, round % 2 == 0 ? 20 : 100), n = pick(1, round % 3 == 0 ? 140 : 40), tables = pick(1, 5);
      const std::string what = fmt::format("{} [{}, {}, {}]", sn::name(dtype), batch, rows, n);
      const double tolerance = (dtype == DType::bfloat16 ? 2e-2 : dtype == DType::float32 ? 1e-5 : 1e-12) * static_cast<double>(n);
      const auto [x, xs] = random(rng, {batch, rows, n}, dtype, -3, 3);
      const auto [table, entries] = random(rng, {tables, n}, dtype, -3, 3);
      const auto [which, numbers] = random(rng, {batch, rows}, DType::int64, 0, static_cast<double>(tables) - 1);
      // Each reference function gets the elements of one row.
      using Row = std::vector<double>;
      const auto by_row = [&](const Shape& shape, const std::function<double(const Row&, std::int64_t)>& f, const Ref& of) {
        return make(shape, [&](const Coords& c) {
          const auto first = of.v.begin() + (c[0] * rows + c[1]) * n;
          return f(Row(first, first + n), c.size() > 2 ? c[2] : 0);
        });
      };
      const auto most = [](const Row& row) { return *std::max_element(row.begin(), row.end()); };
      const auto least = [](const Row& row) { return *std::min_element(row.begin(), row.end()); };
      const Tensor high = sn::max(x, {2}, true), low = sn::min(x, {2}, true);
      const Shape whole{batch, rows, n}, each_row{batch, rows};

      same(sn::argmax(x, 2),
           by_row(
               each_row, [&](const Row& r, std::int64_t) { return double(std::max_element(r.begin(), r.end()) - r.begin()); }, xs),
           what + ", place of the largest");
      const Tensor one = sn::ones({}, dtype);
      near(sn::sum(sn::where(high > one, x - low, high - x), {2}),
           by_row(
               each_row,
               [&](const Row& r, std::int64_t) {
                 double sum = 0;
                 for (const double v : r) sum += most(r) > 1 ? v - least(r) : most(r) - v;
                 return sum;
               },
               xs),
           tolerance, what + ", a condition of the row");
      const Tensor taken = sn::take(table, which, 0);
      const Ref chosen = make(whole, [&, &numbers = numbers, &entries = entries](const Coords& c) {
        return entries.v[static_cast<std::size_t>(numbers.v[static_cast<std::size_t>(c[0] * rows + c[1])]) * static_cast<std::size_t>(n) +
                         static_cast<std::size_t>(c[2])];
      });
      near((taken - sn::max(taken, {2}, true)) * low,
           make(whole,
                [&, &xs = xs](const Coords& c) {
                  const auto row = [&](const Ref& r) { return Row(r.v.begin() + (c[0] * rows + c[1]) * n, r.v.begin() + (c[0] * rows + c[1] + 1) * n); };
                  return (row(chosen)[static_cast<std::size_t>(c[2])] - most(row(chosen))) * least(row(xs));
                }),
           tolerance, what + ", rows of a table");
      near(sn::cumsum(x - high, 2),
           by_row(
               whole,
               [&](const Row& r, std::int64_t last) {
                 double sum = 0;
                 for (std::int64_t k = 0; k <= last; ++k) sum += r[static_cast<std::size_t>(k)] - most(r);
                 return sum;
               },
               xs),
           tolerance, what + ", running sums");
      // The rows of the transposed view have two axes.
      near(sn::max(sn::transpose(x, {1, 0, 2}) - sn::min(x, {0, 2}).reshape({rows, 1, 1}), {1, 2}),
           make({rows},
                [&, &xs = xs](const Coords& c) {
                  Row all;
                  for (std::int64_t b = 0; b < batch; ++b)
                    for (std::int64_t k = 0; k < n; ++k) all.push_back(xs.v[static_cast<std::size_t>((b * rows + c[0]) * n + k)]);
                  return most(all) - least(all);
                }),
           tolerance, what + ", rows of two axes");
      if (!is_floating(dtype) || dtype == DType::bfloat16 || on_gpu()) continue;  // a GPU's sums have an order that depends on the kernel
      Tensor stored = sn::exp(x - high);
      sn::eval(stored);
      const Ref alone{each_row, values(sn::sum(stored, {2}))};
      same(sn::sum(sn::exp(x - high), {2}), alone, what + ", stored first");
      const Tensor powers = sn::exp(x - high), sum = sn::sum(powers, {2}), smallest = sn::min(powers, {2});
      sn::eval({powers, sum, smallest});
      same(sum, alone, what + ", stored by the same kernel");
    }
}
