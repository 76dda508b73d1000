// The results of a merged kernel agree with float64: cases with random sizes, on every executor.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

std::mt19937 rng{fresh_seed()};

std::int64_t between(std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(high - low + 1)); }
int rounds(int count) { return on_gpu() ? 2 : count; }

std::pair<Tensor, Ref> input(const Shape& shape) { return random(rng, shape, DType::float32, -2, 2); }

double plus(double a, double b) { return a + b; }
double minus(double a, double b) { return a - b; }
double times(double a, double b) { return a * b; }

// Evaluates all results at once and compares each. Returns the number of kernels that ran.
std::uint64_t check(const std::vector<std::pair<Tensor, Ref>>& results, double tolerance = 2e-5) {
  std::vector<Tensor> tensors;
  for (const auto& [tensor, want] : results) tensors.push_back(tensor);
  const auto before = sn::counters().kernels_launched;
  sn::eval(tensors);
  const auto launched = sn::counters().kernels_launched - before;
  for (std::size_t r = 0; r < results.size(); ++r) {
    const auto& want = results[r].second;
    CAPTURE(r);
    REQUIRE(results[r].first.shape() == want.shape);
    const auto got = values(results[r].first);
    for (std::size_t k = 0; k < got.size(); ++k) {
      CAPTURE(k);
      REQUIRE(got[k] == doctest::Approx(want.v[k]).epsilon(tolerance).scale(1));
    }
  }
  return launched;
}

struct Norm {
  Ref mean, rstd, y;
};
Norm norm_of(const Ref& x, const Ref& w, const Ref& b) {
  const auto n = static_cast<double>(x.shape.back());
  const auto last = static_cast<std::int64_t>(x.shape.size()) - 1;
  Shape kept = x.shape;
  kept.back() = 1;
  const auto average = [&](const Ref& v) {
    Ref m = map(reduce(v, {last}, 0, plus), [&](double s) { return s / n; });
    m.shape = kept;
    return m;
  };
  const Ref mean = average(x), centred = zip(x, mean, minus);
  const Ref rstd = map(average(zip(centred, centred, times)), [](double v) { return 1 / std::sqrt(v + 1e-5); });
  return {mean, rstd, zip(zip(zip(centred, rstd, times), w, times), b, plus)};
}

}  // namespace

TEST_CASE("a layer norm and its statistics") {
  for (int k = 0; k < rounds(6); ++k) {
    const Shape shape{between(1, 40), between(2, 300)};
    const auto [x, rx] = input(shape);
    const auto [w, rw] = input({shape[1]});
    const auto [b, rb] = input({shape[1]});
    const Norm want = norm_of(rx, rw, rb);
    const Tensor mean = sn::mean(x, 1, true), centred = x - mean, rstd = sn::rsqrt(sn::mean(centred * centred, 1, true) + 1e-5f);
    CHECK(check({{centred * rstd * w + b, want.y}, {mean, want.mean}, {rstd / 7.f, map(want.rstd, [](double v) { return v / 7; })}}, 1e-4) == 1);
  }
}

TEST_CASE("a row reduction and a pointwise result over the same rows, where the row axis is last or first") {
  for (int k = 0; k < rounds(8); ++k) {
    const Shape shape{between(1, 70), between(1, 200)};
    const std::int64_t axis = k % 2;
    const auto [x, rx] = input(shape);
    const Tensor relu = sn::maximum(x, 0.f);
    const Ref want = map(rx, [](double v) { return std::max(v, 0.0); });
    CHECK(check({{sn::sum(relu, axis), reduce(want, {axis}, 0, plus)},
                 {relu <= 0.f, map(want, [](double v) { return v <= 0; })},
                 {relu.T() * 2.f, permute(map(want, [](double v) { return v * 2; }), {1, 0})}}) == 1);
  }
}

TEST_CASE("the kernel of the partial sums stores the pointwise result, too, up to the shorter last chunk") {
  for (int k = 0; k < rounds(4); ++k) {
    const Shape shape = k % 2 ? Shape{between(700, 800), between(300, 400)} : Shape{between(200000, 300000)};
    const auto [x, rx] = input(shape);
    const Tensor g = x * x + 1.f, q = sn::rint(g * 20.f);
    const Ref want = map(rx, [](double v) { return static_cast<double>(static_cast<float>(v) * static_cast<float>(v) + 1.f); });
    std::vector<Tensor> both{q, sn::sum(g)};
    const auto before = sn::counters().kernels_launched;
    sn::eval(both);
    CHECK(sn::counters().kernels_launched - before == 2);
    const auto got = values(q);
    for (std::size_t i = 0; i < got.size(); ++i)
      if (std::abs(got[i] - want.v[i] * 20) > 0.5001) FAIL("element " << i << " of " << sn::to_string(shape) << ": " << got[i] << " for " << want.v[i] * 20);
    double sum = 0;
    for (double v : want.v) sum += v;
    CHECK(values(both[1])[0] == doctest::Approx(sum).epsilon(1e-5));
  }
}

TEST_CASE("the position of each row's minimum, and the sum of these elements") {
  for (int k = 0; k < rounds(4); ++k) {
    const Shape shape{between(2, 60), between(2, 150)};
    const auto [x, rx] = input(shape);
    const Tensor smallest = sn::min(x, 1, true), places = sn::arange(shape[1]);
    const Tensor first = sn::min(sn::where(x == smallest, places, std::int64_t{1} << 40), 1);
    const Ref low = reduce(rx, {1}, 1e9, [](double a, double b) { return std::min(a, b); });
    const Ref place = make({shape[0]}, [&](const Coords& at) {
      std::int64_t j = 0;
      while (rx.v[static_cast<std::size_t>(at[0] * shape[1] + j)] != low.v[static_cast<std::size_t>(at[0])]) ++j;
      return static_cast<double>(j);
    });
    CHECK(check({{first, place}, {sn::sum(smallest), reduce(low, {0}, 0, plus)}}) == 2);
  }
}

TEST_CASE("a gather computes only the selected points of an elementwise value, of a row's statistics and of another gather") {
  for (int k = 0; k < rounds(4); ++k) {
    const std::int64_t n = between(3, 90), m = between(2, 200), few = between(1, 6);
    const auto [x, rx] = input({n, m});
    const auto [w, rw] = input({m});
    const auto places = [](const Shape& shape, std::int64_t below) { return random(rng, shape, DType::int64, 0, static_cast<double>(below)); };
    const auto [along, ralong] = places({n, few}, m);
    const auto [rows, rrows] = places({few}, n);
    const auto [again, ragain] = places({3}, few);
    const auto at = [&, m = m](std::int64_t row, std::int64_t column) { return rx.v[static_cast<std::size_t>(row * m + column)]; };
    const Ref lse = map(reduce(map(rx, [](double v) { return std::exp(v); }), {1}, 0, plus), [](double v) { return std::log(v); });
    const Ref taken = make({n, few}, [&, few = few](const Coords& c) {
      const auto column = static_cast<std::int64_t>(ralong.v[static_cast<std::size_t>(c[0] * few + c[1])]);
      return at(c[0], column) - lse.v[static_cast<std::size_t>(c[0])];
    });
    const Ref mapped = make({few, m}, [&](const Coords& c) {
      return at(static_cast<std::int64_t>(rrows.v[static_cast<std::size_t>(c[0])]), c[1]) * rw.v[static_cast<std::size_t>(c[1])];
    });
    const Ref twice = make({3, m}, [&](const Coords& c) {
      const auto row = static_cast<std::size_t>(ragain.v[static_cast<std::size_t>(c[0])]);
      return at(static_cast<std::int64_t>(rrows.v[row]), c[1]) + 1;
    });
    const Tensor part = sn::take(x * w, rows, 0);
    check({{sn::take_along_axis(sn::log_softmax(x, 1), along, 1), taken},
           {part, mapped},
           {sn::sum(part, 1), reduce(mapped, {1}, 0, plus)},
           {sn::take(sn::take(x + 1.f, rows, 0), again, 0), twice}});
    const Tensor wrong = sn::take_along_axis(sn::log_softmax(x, 1), sn::full({n, 1}, m), 1);
    CHECK_THROWS_AS(values(wrong), sn::IndexError);
  }
}

TEST_CASE("a gather of rows that were reduced or normalised reads the selected rows alone") {
  for (int k = 0; k < rounds(6); ++k) {
    const std::int64_t n = between(16, 90), m = between(2, 200), few = between(1, 8), wide = between(1, 2);  // no more rows than there are
    const auto [x, rx] = input({n, m});
    const auto [rows, rrows] = random(rng, {few, wide}, DType::int64, -static_cast<double>(n), static_cast<double>(n));
    const auto row_of = [&, n = n, wide = wide](const Coords& c) {
      const auto row = static_cast<std::int64_t>(rrows.v[static_cast<std::size_t>(c[0] * wide + c[1])]);
      return row < 0 ? row + n : row;
    };
    const auto at = [&, m = m](std::int64_t row, std::int64_t column) { return rx.v[static_cast<std::size_t>(row * m + column)]; };
    const auto total = [&, m = m](std::int64_t row) {
      double sum = 0;
      for (std::int64_t j = 0; j < m; ++j) sum += std::exp(at(row, j));
      return sum;
    };
    const auto sums = [x = x] { return sn::sum(sn::exp(x), 1); };  // nobody holds a value that is computed whole
    const auto soft = [x = x] { return sn::softmax(x, 1); };
    const Ref rsums = make({few, wide}, [&](const Coords& c) { return total(row_of(c)); }),
              rsoft = make({few, wide, m}, [&](const Coords& c) { return std::exp(at(row_of(c), c[2])) / total(row_of(c)); });
    CHECK(check({{sn::take(sums(), rows, 0), rsums}}) == 1);
    CHECK(check({{sn::take(soft(), rows, 0) * 2.f, map(rsoft, [](double v) { return 2 * v; })}}) == 1);
    const Tensor whole = sums();
    check({{sn::take(whole, rows, 0), rsums}, {whole, make({n}, [&](const Coords& c) { return total(c[0]); })}});  // also wanted whole
    check({{sn::sum(sn::take(soft(), rows, 0), 2), make({few, wide}, [](const Coords&) { return 1.0; })}});
    CHECK_THROWS_AS(values(sn::take(sums(), sn::full({2}, n), 0)), sn::IndexError);
  }
}

TEST_CASE("a row's norm is used through pads and concatenations along any axis, and at repeated positions") {
  for (int k = 0; k < rounds(6); ++k) {
    const std::int64_t a = between(1, 5), b = between(1, 7), m = 2 * between(1, 70), half = m / 2, cut = between(0, m);
    const auto [x, rx] = input({a, b, m});
    const auto [w, rw] = input({a, b, m});
    const Tensor norm = x * sn::rsqrt(sn::mean(x * x, 2, true) + 0.1f);
    const auto scale = [&, m = m](const Coords& c) {
      double squares = 0;
      for (std::int64_t j = 0; j < m; ++j) squares += std::pow(rx.v[static_cast<std::size_t>((c[0] * b + c[1]) * m + j)], 2);
      return 1 / std::sqrt(squares / static_cast<double>(m) + 0.1);
    };
    const auto at = [&](std::int64_t i, std::int64_t j, std::int64_t l) { return rx.v[static_cast<std::size_t>((i * b + j) * m + l)] * scale({i, j}); };
    const Ref rnorm = make({a, b, m}, [&](const Coords& c) { return at(c[0], c[1], c[2]); });
    const auto part = [&](std::int64_t from, std::int64_t to) { return Tensor(norm(sn::Slice{}, sn::Slice{}, sn::Slice{from, to})); };
    const Tensor rotated = sn::concatenate({-part(half, m), part(0, half)}, 2);
    const Ref rrotated =
        make({a, b, m}, [&, half = half](const Coords& c) { return c[2] < half ? -at(c[0], c[1], c[2] + half) : at(c[0], c[1], c[2] - half); });
    check({{norm * w + rotated, zip(zip(rnorm, rw, times), rrotated, plus)}});
    const Tensor uneven = sn::concatenate({part(cut, m), part(0, cut)}, 2);  // an empty piece, or pieces of any length
    check({{uneven, make({a, b, m}, [&, m = m, cut = cut](const Coords& c) { return at(c[0], c[1], (c[2] + cut) % m); })}});
    // The rows are padded, too, so that guarded rows do not exist; and the results are permuted.
    const auto inside = [&, a = a, b = b, m = m](std::int64_t i, std::int64_t j, std::int64_t l) {
      return i >= 0 && i < a && j >= 0 && j < b && l >= 0 && l < m ? at(i, j, l) : 3.0;
    };
    check({{sn::pad(norm, {{1, 2}, {0, 3}, {2, 1}}, sn::PadMode::constant, 3.f),
            make({a + 3, b + 3, m + 3}, [&](const Coords& c) { return inside(c[0] - 1, c[1], c[2] - 2); })},
           {sn::pad(sn::transpose(norm, {1, 2, 0}), {{0, 0}, {4, 0}, {1, 0}}, sn::PadMode::constant, 3.f),
            make({b, m + 4, a + 1}, [&](const Coords& c) { return inside(c[2] - 1, c[0], c[1] - 4); })},
           {sn::pad(sn::reshape(norm, {a * b, m}), {{2, 0}, {0, 0}}, sn::PadMode::constant, 3.f),
            make({a * b + 2, m}, [&, b = b](const Coords& c) { return c[0] < 2 ? 3.0 : inside((c[0] - 2) / b, (c[0] - 2) % b, c[1]); })},
           {sn::pad(sn::reshape(norm, {a, b * m}), {{0, 0}, {m, 0}}, sn::PadMode::constant, 3.f),
            make({a, b * m + m}, [&, m = m](const Coords& c) { return c[1] < m ? 3.0 : inside(c[0], c[1] / m - 1, c[1] % m); })}});
    // The positions repeat elements: up to twice as many positions as elements, and more.
    for (const std::int64_t many : {m, m + 3, 2 * m, 3 * m}) {
      const auto [places, rplaces] = random(rng, {many}, DType::int64, 0, static_cast<double>(m));
      const auto [again, ragain] = random(rng, {many + 1}, DType::int64, 0, static_cast<double>(many));
      const auto column = [&](std::int64_t l) { return static_cast<std::int64_t>(rplaces.v[static_cast<std::size_t>(l)]); };
      check({{sn::take(norm, places, 2), make({a, b, many}, [&](const Coords& c) { return at(c[0], c[1], column(c[2])); })}});
      check({{sn::take(sn::take(sn::exp(x), places, 2), again, 2), make({a, b, many + 1}, [&, m = m](const Coords& c) {
                const std::int64_t l = column(static_cast<std::int64_t>(ragain.v[static_cast<std::size_t>(c[2])]));
                return std::exp(rx.v[static_cast<std::size_t>((c[0] * b + c[1]) * m + l)]);
              })}});
    }
  }
}

TEST_CASE("an elementwise value with its sum over columns of any length; statistics of channels that are last in memory and first in the view") {
  for (int k = 0; k < rounds(3); ++k) {
    const Shape shape{between(1, 4), between(17, 40), between(17, 40), between(5, 70)};
    const auto [x, rx] = input(shape);
    const auto [y, ry] = input(shape);
    const Tensor t = x * y;
    const Ref rt = zip(rx, ry, times);
    check({{t, rt}, {sn::sum(t, {0, 1, 2}), reduce(rt, {0, 1, 2}, 0, plus)}}, 2e-4);
    const auto n = static_cast<double>(shape[0] * shape[1] * shape[2]);
    const Tensor seen = sn::transpose(x, {0, 3, 1, 2});
    const Ref rseen = permute(rx, {0, 3, 1, 2});
    const Ref mean = map(reduce(rseen, {0, 2, 3}, 0, plus), [&](double v) { return v / n; });
    Ref spread = mean;
    spread.shape = {1, shape[3], 1, 1};
    const Ref squares = map(zip(rseen, spread, minus), [](double v) { return v * v; });
    const Ref variance = map(reduce(squares, {0, 2, 3}, 0, plus), [&](double v) { return v / n; });
    check({{sn::mean(seen, {0, 2, 3}), mean}, {sn::var(seen, {0, 2, 3}), variance}}, 2e-4);
  }
}

TEST_CASE("layer norm backward") {
  for (int k = 0; k < rounds(3); ++k) {
    const Shape shape{between(2, 50), between(2, 90)};
    const auto n = static_cast<double>(shape[1]);
    const auto [x, rx] = input(shape);
    const auto [dy, rdy] = input(shape);
    const auto [w, rw] = input({shape[1]});
    const Tensor centred = x - sn::mean(x, 1, true), rstd = sn::rsqrt(sn::mean(centred * centred, 1, true) + 1e-5f), xhat = centred * rstd, dxhat = dy * w;
    const Tensor dx = (dxhat - sn::mean(dxhat, 1, true) - xhat * sn::mean(dxhat * xhat, 1, true)) * rstd;
    const Norm norm = norm_of(rx, Ref{{1}, {1}}, Ref{{1}, {0}});
    const Ref rdxhat = zip(rdy, rw, times);
    const auto average = [&](const Ref& v) {
      Ref m = map(reduce(v, {1}, 0, plus), [&](double s) { return s / n; });
      m.shape.push_back(1);
      return m;
    };
    const Ref inner = zip(zip(rdxhat, average(rdxhat), minus), zip(norm.y, average(zip(rdxhat, norm.y, times)), times), minus);
    check({{dx, zip(inner, norm.rstd, times)},
           {sn::sum(dy * xhat, 0), reduce(zip(rdy, norm.y, times), {0}, 0, plus)},
           {sn::sum(dy, 0), reduce(rdy, {0}, 0, plus)}},
          1e-3);
  }
}

TEST_CASE("slices of row results, split and merged axes, axes of size 1") {
  for (int k = 0; k < rounds(4); ++k) {
    const std::int64_t a = between(1, 9), b = between(1, 6), c = between(1, 20);
    const auto [x, rx] = input({a, b * c});
    const auto [w, rw] = input({b * c});
    const Ref split{{a, b, c}, rx.v};
    const Ref e = map(split, [](double v) { return std::exp(v); });
    Ref total = reduce(e, {2}, 0, plus);
    total.shape.push_back(1);
    Ref soft = zip(e, total, [](double p, double q) { return p / q; });
    const Tensor s = sn::softmax(x.reshape({a, b, c}), -1);
    const Ref first = strided(soft, {a, 1, c}, {0, 0, 0}, {1, 1, 1}), one = strided(soft, {a, b, 1}, {0, 0, c - 1}, {1, 1, 1});
    check({{s(sn::Slice{}, sn::Slice{0, 1}), first}, {s(sn::Slice{}, sn::Slice{}, sn::Slice{c - 1, c}), one}});
    soft.shape = {a, b * c};
    CHECK(check({{sn::softmax(x.reshape({a, b, c}), -1).reshape({a, b * c}) * w, zip(soft, rw, times)}}) == 1);
    CHECK(check({{sn::sum(x.reshape({a, 1, b * c}), 1), rx}}) <= 1);
  }
}

// A result beside what pads and joins make of it, and beside its slices: they are stored at a part of one kernel's points.
TEST_CASE("a result is stored beside its slices and its paddings") {
  for (int k = 0; k < rounds(8); ++k) {
    const std::int64_t n = between(2, 40), m = between(2, 70), before = between(0, 5), after = between(0, 5), top = between(0, 3);
    const std::int64_t from = between(0, m - 2), to = between(from + 1, m), row = between(0, n - 1);
    const auto [x, rx] = input({n, m});
    const auto [w, rw] = input({n, m});
    const auto [z, rz] = input({n, m + after});
    const Tensor t = x * w + 1.f;
    const Ref rt = map(zip(rx, rw, times), [](double v) { return v + 1; });
    const auto padded = [&, n = n, m = m](const Ref& of, double fill) {
      return make({n + top, m + before + after}, [&, fill](const Coords& c) {
        const std::int64_t i = c[0] - top, j = c[1] - before;
        return i >= 0 && j >= 0 && j < m ? of.v[static_cast<std::size_t>(i * m + j)] : fill;
      });
    };
    const auto sliced = [&, n = n, m = m](const Ref& of, std::int64_t first, std::int64_t j, std::int64_t end) {
      return strided(of, {n - first, end - j}, {first, j}, {1, 1});
    };
    const auto pad = [&](const Tensor& of, float fill) { return sn::pad(of, {{top, 0}, {before, after}}, sn::PadMode::constant, fill); };
    const auto slice = [&](const Tensor& of, std::int64_t first, std::int64_t j, std::int64_t end) {
      return Tensor(of(sn::Slice{first, {}}, sn::Slice{j, end}));
    };
    const auto twice = [](double v) { return v * 2; };
    // One kernel, whichever of the two is larger, and for the larger ones of larger ones.
    CHECK(check({{t, rt}, {pad(t, 3), padded(rt, 3)}}) == 1);
    CHECK(check({{t, rt}, {slice(t, row, from, to) * 2.f, map(sliced(rt, row, from, to), twice)}}) == 1);
    check({{t, rt}, {pad(t, 3) * 2.f, map(padded(rt, 3), twice)}, {slice(t, row, 0, to), sliced(rt, row, 0, to)}});
    const Tensor wide = sn::pad(pad(t, 3), {{0, 1}, {2, 0}});
    check({{t, rt}, {pad(t, 3), padded(rt, 3)}, {wide, make({n + top + 1, m + before + after + 2}, [&, n = n, m = m](const Coords& c) {
                                                   if (c[0] == n + top || c[1] < 2) return 0.0;
                                                   return padded(rt, 3).v[static_cast<std::size_t>(c[0] * (m + before + after) + c[1] - 2)];
                                                 })}});
    // Seen in another order or shape, flipped, joined with another value.
    check({{t, rt}, {sn::pad(t.T(), {{1, 0}, {0, 2}}, sn::PadMode::constant, 3.f), make({m + 1, n + 2}, [&, n = n, m = m](const Coords& c) {
                       return c[0] >= 1 && c[1] < n ? rt.v[static_cast<std::size_t>(c[1] * m + c[0] - 1)] : 3.0;
                     })}});
    check({{t, rt}, {sn::pad(sn::flip(t, {1}), {{0, 0}, {0, 2}}), make({n, m + 2}, [&, m = m](const Coords& c) {
                       return c[1] < m ? rt.v[static_cast<std::size_t>(c[0] * m + m - 1 - c[1])] : 0.0;
                     })}});
    check({{t, rt}, {sn::concatenate({t * 2.f, z}, 1), make({n, 2 * m + after}, [&, m = m](const Coords& c) {
                       return c[1] < m ? rt.v[static_cast<std::size_t>(c[0] * m + c[1])] * 2 : rz.v[static_cast<std::size_t>(c[0] * (m + after) + c[1] - m)];
                     })}});
    const Tensor seen = sn::reshape(t, {1, n, m});
    check({{t, rt}, {sn::pad(seen, {{1, 0}, {0, 0}, {before, after}}), make({2, n, m + before + after}, [&, m = m](const Coords& c) {
                       const std::int64_t j = c[2] - before;
                       return c[0] == 1 && j >= 0 && j < m ? rt.v[static_cast<std::size_t>(c[1] * m + j)] : 0.0;
                     })}});
    // Beside sums over either axis.
    check({{t, rt}, {sn::sum(t, 1), reduce(rt, {1}, 0, plus)}, {pad(t, 3), padded(rt, 3)}, {slice(t, 0, from, m), sliced(rt, 0, from, m)}}, 1e-4);
    check({{t, rt}, {sn::sum(t, 0), reduce(rt, {0}, 0, plus)}, {pad(t, 3), padded(rt, 3)}, {slice(t, row, from, m), sliced(rt, row, from, m)}}, 1e-4);
    // A softmax, whose rows are padded and cut.
    const Ref e = map(rx, [](double v) { return std::exp(v); });
    Ref total = reduce(e, {1}, 0, plus);
    total.shape.push_back(1);
    const Ref rs = zip(e, total, [](double p, double q) { return p / q; });
    const Tensor s = sn::softmax(x, 1);
    check({{s, rs}, {pad(s, 3), padded(rs, 3)}, {slice(s, row, from, to), sliced(rs, row, from, to)}});
  }
}

TEST_CASE("partial sums of columns beside the map and its padding") {
  for (int k = 0; k < rounds(2); ++k) {
    const std::int64_t n = between(9000, 12000), m = between(17, 40), after = between(1, 5);
    const auto [x, rx] = input({n, m});
    const Tensor t = x * 2.f;
    const Ref rt = map(rx, [](double v) { return v * 2; });
    check({{t, rt},
           {sn::sum(t, 0), reduce(rt, {0}, 0, plus)},
           {sn::pad(t, {{0, 0}, {0, after}}),
            make({n, m + after}, [&, m = m](const Coords& c) { return c[1] < m ? rt.v[static_cast<std::size_t>(c[0] * m + c[1])] : 0.0; })}},
          2e-4);
  }
}
