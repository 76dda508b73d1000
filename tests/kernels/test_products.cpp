// Reductions over pairs on every executor, compared with float64: products of matrices in every layout, batched, of every type, with prologues and epilogues;
// distances of all pairs; convolutions. Some sizes fill tiles, others do not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "draws.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "sinter/freeze.hpp"

using namespace sinter::testing;

namespace {

std::pair<Tensor, Ref> drawn(const Shape& shape, DType dtype = DType::float32) { return random(numbers(), shape, dtype, -2, 2); }

/// Combines f(element of a, element of b) over the rows of a (m, k) and b (n, k).
Ref over_pairs(const Ref& a, const Ref& b, double start, const std::function<double(double, double)>& f, const std::function<double(double, double)>& combine) {
  return make({a.shape[0], b.shape[0]}, [&](const Coords& at) {
    double so_far = start;
    for (std::int64_t k = 0; k < a.shape[1]; ++k) so_far = combine(so_far, f(a.v[flat(a.shape, {at[0], k})], b.v[flat(b.shape, {at[1], k})]));
    return so_far;
  });
}
double times(double a, double b) { return a * b; }
double plus(double a, double b) { return a + b; }
Ref product(const Ref& a, const Ref& b) { return over_pairs(a, permute(b, {1, 0}), 0, times, plus); }

/// `scale`: the magnitude of the added terms.
void check(const Tensor& got, const Ref& want, double scale, double tolerance, const std::string& what) {
  REQUIRE(got.shape() == want.shape);
  const auto all = values(got);
  std::size_t wrong = 0, first = 0;
  for (std::size_t k = all.size(); k-- > 0;)
    if (!(std::abs(all[k] - want.v[k]) <= tolerance * scale)) ++wrong, first = k;
  INFO(what, ": ", wrong, " of ", all.size(), ", the first at ", first);
  if (wrong > 0) CHECK(all[first] == want.v[first]);
  CHECK(wrong == 0);
}
/// Returns the bound of the rounding error for a sum of `count` products of two numbers below 2.
double sum_scale(std::int64_t k) { return 4 * static_cast<double>(std::max<std::int64_t>(k, 1)); }

}  // namespace

TEST_CASE("views between a product, or a convolution, and the operations on it") {
  for (int round = 0; round < 12; ++round) {
    Shape batch;
    for (std::int64_t axes = pick(0, 2); axes > 0; --axes) batch.push_back(pick(1, 4));
    const std::int64_t m = pick(1, 40), n = pick(1, 40), k = pick(1, 30);
    const auto shape = [&](std::int64_t rows, std::int64_t columns) {
      Shape whole = batch;
      whole.insert(whole.end(), {rows, columns});
      return whole;
    };
    const DType dtype = round % 3 == 2 ? DType::float64 : DType::float32;
    const auto [a, ra] = drawn(shape(m, k), dtype);
    const auto [b, rb] = drawn(shape(k, n), dtype);
    const Ref whole = make(shape(m, n), [&, k = k](const Coords& at) {
      double sum = 0;
      Coords left = at, right = at;
      for (std::int64_t l = 0; l < k; ++l) {
        left.back() = l;
        right[right.size() - 2] = l;
        sum += ra.v[flat(ra.shape, left)] * rb.v[flat(rb.shape, right)];
      }
      return sum;
    });
    const Tensor y = sn::matmul(a, b);
    std::pair<Tensor, Ref> seen{y, whole};
    for (std::int64_t views = pick(1, 3); views > 0; --views) seen = random_view(numbers(), seen);
    const Ref want = map(seen.second, [](double v) { return std::max(v * 2 + 1, 0.); });
    check(sn::maximum(seen.first * 2.f + 1.f, 0.f), want, 2 * sum_scale(k), 1e-6, "views of a product");
    if (round % 2) check(y, whole, sum_scale(k), 1e-6, "the product itself");

    const auto [x, rx] = drawn({pick(1, 2), 3, pick(3, 12), pick(3, 12)});
    const auto [w, rw] = drawn({pick(1, 20), 3, 3, 3});
    const Tensor apart = sn::conv2d(x, w);
    std::pair<Tensor, Ref> part = {sn::conv2d(x, w), Ref{apart.shape(), values(apart)}};
    for (std::int64_t views = pick(1, 3); views > 0; --views) part = random_view(numbers(), part);
    check(sn::maximum(part.first * 2.f + 1.f, 0.f), map(part.second, [](double v) { return std::max(v * 2 + 1, 0.); }), 2 * sum_scale(27), 1e-6,
          "views of a convolution");
  }
}

TEST_CASE("products of matrices in every layout, with what comes before and after") {
  for ([[maybe_unused]] const std::int64_t round : sampled(integers(0, 3))) {
    const std::int64_t m = pick(1, 100), n = round % 2 ? 4 * pick(4, 33) : pick(1, 130), k = pick(1, 90);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const auto [a, ra] = drawn({m, k});
    const auto [b, rb] = drawn({k, n});
    const auto [at, rat] = drawn({k, m});
    const auto [bt, rbt] = drawn({n, k});
    const auto [bias, rbias] = drawn({n});
    const auto [rest, rrest] = drawn({m, n});
    const double scale = sum_scale(k);
    check(sn::matmul(a, b), product(ra, rb), scale, 1e-6, "a b");
    check(sn::matmul(at.T(), bt.T()), product(permute(rat, {1, 0}), permute(rbt, {1, 0})), scale, 1e-6, "a^T b^T");
    const Ref shifted = zip(product(ra, rb), rbias, plus);
    check(sn::maximum(sn::matmul(a, b) + bias, 0.f), map(shifted, [](double x) { return std::max(x, 0.); }), scale, 1e-6, "bias, relu");
    check(sn::gelu(sn::matmul(a, b) + bias) + rest, zip(map(shifted, [](double x) { return x / 2 * (1 + std::erf(x * std::sqrt(.5))); }), rrest, plus), scale,
          2e-6, "bias, gelu, residual");
    check((sn::matmul(sn::exp(a), b) * 2.f).T(),
          permute(map(product(map(ra, [](double x) { return std::exp(x); }), rb), [](double x) { return 2 * x; }), {1, 0}), 8 * scale, 1e-6,
          "of a function, transposed");
    // Two products with a common operand, and a slice of one of them.
    const Tensor first = sn::matmul(a, b), second = sn::matmul(a, bt.T() * 2.f);
    sn::eval(first, second);
    check(first, product(ra, rb), scale, 1e-6, "two of them, the first");
    check(second, map(product(ra, permute(rbt, {1, 0})), [](double x) { return 2 * x; }), 2 * scale, 1e-6, "two of them, the second");
    check(sn::matmul(a, b).at({Slice{m / 2, m}, Slice{}}) + 1.f,
          map(strided(product(ra, rb), {m - m / 2, n}, {m / 2, 0}, {1, 1}), [](double x) { return x + 1; }), scale, 1e-6, "half of it");
    check(sn::matmul(a.at({Slice{}, Slice{k - 1, {}, -1}}), b), product(strided(ra, {m, k}, {0, k - 1}, {1, -1}), rb), scale, 1e-6, "turned round");
    check(sn::matmul(sn::matmul(a, b), bt), product(product(ra, rb), rbt), scale * sum_scale(n), 1e-6, "twice");
    check(sn::sum(sn::matmul(a, b), 1), reduce(product(ra, rb), {1}, 0, plus), scale * static_cast<double>(n), 1e-6, "summed");
  }
}

TEST_CASE("products of every kind of type") {
  const std::int64_t m = pick(16, 70), n = pick(16, 70), k = pick(1, 60);
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::float64, 1e-14}, {DType::float16, 1e-3}, {DType::bfloat16, 1e-2}, {DType::int32, 0.}, {DType::int8, 0.}}) {
    const auto [a, ra] = drawn({m, k}, dtype);
    const auto [b, rb] = drawn({k, n}, dtype);
    check(sn::matmul(a, b), product(ra, rb), sum_scale(k), tolerance, std::string(sn::name(dtype)));
    if (tolerance > 0)
      check(sn::maximum(sn::matmul(a, b), sn::astype(sn::zeros({n}), dtype)), map(product(ra, rb), [](double x) { return std::max(x, 0.); }), sum_scale(k),
            tolerance, "relu");
  }
}

TEST_CASE("small products of long rows: on a GPU parts of the rows are tiles of their own, and are added up") {
  for (const std::int64_t round : sampled(integers(0, 2))) {
    const std::int64_t m = pick(16, 70), n = pick(16, 70), k = round == 0 ? 2048 : pick(513, 3000);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const auto [a, ra] = drawn({m, k});
    const auto [b, rb] = drawn({k, n});
    const auto [bias, rbias] = drawn({n});
    check(sn::matmul(a, b), product(ra, rb), sum_scale(k), 1e-6, "a b");
    check(sn::maximum(sn::matmul(a, b) + bias, 0.f), map(zip(product(ra, rb), rbias, plus), [](double x) { return std::max(x, 0.); }), sum_scale(k), 1e-6,
          "bias, relu");
    const Tensor ints = sn::astype(a, DType::int32);
    sn::eval(ints);
    const Ref rints = map(ra, [](double x) { return std::trunc(x); });
    check(sn::matmul(ints, ints.T()), product(rints, permute(rints, {1, 0})), 1, 0, "integers");
    if (on_gpu()) CHECK(launches(sn::matmul(ints, ints.T())) == 2);
    const auto [c, rc] = drawn({2, m, k}, DType::float64);
    const Ref want = make({2, m, m}, [&, m = m, k = k, &rc = rc](const Coords& at) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += rc.v[flat({2, m, k}, {at[0], at[1], i})] * rc.v[flat({2, m, k}, {at[0], at[2], i})];
      return sum;
    });
    check(sn::matmul(c, sn::swapaxes(c, 1, 2)), want, sum_scale(k), 1e-14, "a batch of doubles");
  }
}

TEST_CASE("batches of products, in which one operand may be a single matrix") {
  const std::int64_t batch = pick(2, 3), heads = pick(1, 3), m = pick(16, 40), n = pick(16, 40), k = pick(1, 40);
  const auto [a, ra] = drawn({batch, heads, m, k});
  const auto [b, rb] = drawn({heads, n, k});
  const Tensor got = sn::matmul(a, sn::swapaxes(b, 1, 2)) * 0.5f;
  const Ref want = make({batch, heads, m, n}, [&, &ra = ra, &rb = rb](const Coords& at) {
    double sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += ra.v[flat(ra.shape, {at[0], at[1], at[2], i})] * rb.v[flat(rb.shape, {at[1], at[3], i})];
    return sum / 2;
  });
  check(got, want, sum_scale(k), 1e-6, "batched");
  // The axis of the heads is moved between the others, as attention stores its result.
  check(sn::contiguous(sn::permute(got, {0, 2, 1, 3})), permute(want, {0, 2, 1, 3}), sum_scale(k), 1e-6, "stored by rows of all heads");
}

TEST_CASE("slices and transpositions of a product, alone, one of another, and before other operations") {
  for ([[maybe_unused]] const std::int64_t round : sampled(integers(0, 3))) {
    const std::int64_t batch = pick(1, 3), m = pick(1, 60), n = pick(1, 60), k = pick(1, 40);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const auto [a, ra] = drawn({batch, m, k});
    const auto [b, rb] = drawn({batch, k, n});
    const Ref ab = make({batch, m, n}, [&, k = k, &ra = ra, &rb = rb](const Coords& at) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) sum += ra.v[flat(ra.shape, {at[0], at[1], i})] * rb.v[flat(rb.shape, {at[0], i, at[2]})];
      return sum;
    });
    const double scale = sum_scale(k);
    const std::int64_t row = pick(0, m - 1), rows = pick(1, m - row), column = pick(0, n - 1), columns = pick(1, n - column), first = pick(0, batch - 1);
    const Slice some_rows{row, row + rows}, some_columns{column, column + columns};
    const auto part = [&](const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& start) { return strided(ab, shape, start, {1, 1, 1}); };
    const auto product_of = [&] { return sn::matmul(a, b); };
    check(product_of().at({Slice{}, some_rows}), part({batch, rows, n}, {0, row, 0}), scale, 1e-6, "rows");
    check(product_of().at({Slice{}, Slice{}, some_columns}), part({batch, m, columns}, {0, 0, column}), scale, 1e-6, "columns");
    check(product_of().at({Slice{first, batch}, some_rows, some_columns}), part({batch - first, rows, columns}, {first, row, column}), scale, 1e-6, "a part");
    check(product_of().at({Slice{}, Slice{m - 1, {}, -1}}), strided(ab, {batch, m, n}, {0, m - 1, 0}, {1, -1, 1}), scale, 1e-6, "from the last row");
    check(sn::contiguous(sn::swapaxes(product_of(), 1, 2)), permute(ab, {0, 2, 1}), scale, 1e-6, "transposed");
    check(sn::maximum(sn::swapaxes(product_of(), 1, 2).at({Slice{first, batch}, some_columns, some_rows}), 0.f),
          map(permute(part({batch - first, rows, columns}, {first, row, column}), {0, 2, 1}), [](double x) { return std::max(x, 0.); }), scale, 1e-6,
          "a part of the transposed one, relu");
    check(sn::swapaxes(product_of().at({Slice{}, some_rows}), 1, 2) * 2.f,
          map(permute(part({batch, rows, n}, {0, row, 0}), {0, 2, 1}), [](double x) { return 2 * x; }), 2 * scale, 1e-6, "rows, transposed, doubled");
    check(sn::matmul(sn::exp(a), b).at({first, row}) * 0.f + product_of().at({first, row}),
          make({n}, [&](const Coords& at) { return ab.v[flat(ab.shape, {first, row, at[0]})]; }), scale, 1e-6, "a row, of which a function is read too");
    CHECK(product_of().at({Slice{}, Slice{row, row}}).to_vector<float>().empty());
    const Tensor held = product_of();
    check(held.at({Slice{}, some_rows}) + 1.f, map(part({batch, rows, n}, {0, row, 0}), [](double x) { return x + 1; }), scale, 1e-6, "of a held one");
    check(held, ab, scale, 1e-6, "the held one");
    const auto whole = sn::astype(sn::matmul(sn::astype(a, DType::int32), sn::astype(b, DType::int32)), DType::float64);
    sn::eval(whole);
    const Tensor turned =
        sn::astype(sn::swapaxes(sn::matmul(sn::astype(a, DType::int32), sn::astype(b, DType::int32)), 1, 2).at({Slice{}, some_columns}), DType::float64);
    CHECK(turned.to_vector<double>() == sn::contiguous(sn::swapaxes(whole, 1, 2).at({Slice{}, some_columns})).to_vector<double>());
  }
}

TEST_CASE("distances of all pairs") {
  const std::int64_t m = pick(16, 80), n = pick(16, 80), k = pick(1, 40);
  const auto [x, rx] = drawn({m, k});
  const auto [y, ry] = drawn({n, k});
  const Tensor a = sn::expand_dims(x, 1), b = sn::expand_dims(y, 0);
  const Ref squares = over_pairs(rx, ry, 0, [](double p, double q) { return (p - q) * (p - q); }, plus);
  check(sn::sum((a - b) * (a - b), -1), squares, 4 * sum_scale(k), 1e-6, "squares");
  check(sn::sqrt(sn::sum(sn::square(a - b), -1)), map(squares, [](double d) { return std::sqrt(d); }), 4 * sum_scale(k), 1e-6, "euclidean");
  check(sn::min(sn::sum(sn::square(a - b), -1), 1),
        reduce(squares, {1}, std::numeric_limits<double>::infinity(), [](double p, double q) { return std::min(p, q); }), 4 * sum_scale(k), 1e-6,
        "of the nearest");
  check(sn::sum(sn::abs(a - b), -1), over_pairs(rx, ry, 0, [](double p, double q) { return std::abs(p - q); }, plus), sum_scale(k), 1e-6, "Manhattan");
  const double inf = std::numeric_limits<double>::infinity();
  check(sn::max(a + b, -1), over_pairs(rx, ry, -inf, plus, [](double p, double q) { return std::max(p, q); }), 4, 1e-6, "the largest sum");
  check(sn::min(sn::exp(a) * b, -1),
        over_pairs(map(rx, [](double p) { return std::exp(p); }), ry, inf, times, [](double p, double q) { return std::min(p, q); }), 16, 1e-6,
        "the least product of a function");
}

TEST_CASE("reductions over pairs in which a comparison selects one of two literals") {
  const std::int64_t m = pick(16, 80), n = pick(16, 80), k = pick(2, 40);
  const auto [x, rx] = drawn({m, k}, DType::int64);  // -2 to 2
  const Tensor places = sn::arange(n) - 2;
  const Tensor same = sn::expand_dims(x, 1) == sn::reshape(places, {1, n, 1});
  const auto counted = [&](double start, double yes, double no, double (*combine)(double, double)) {
    return make({m, n}, [&, start, yes, no, combine](const Coords& at) {
      double so_far = start;
      for (std::int64_t j = 0; j < k; ++j) so_far = combine(so_far, rx.v[flat(rx.shape, {at[0], j})] == static_cast<double>(at[1] - 2) ? yes : no);
      return so_far;
    });
  };
  const auto largest = [](double p, double q) { return std::max(p, q); };
  check(sn::max(sn::where(same, std::uint64_t{7}, std::uint64_t{3}), 2), counted(0, 7, 3, largest), 1, 0, "the larger of two literals");
  check(sn::sum(sn::where(same, 2.5f, -0.5f), 2), counted(0, 2.5, -0.5, plus), 1, 0, "a sum of two literals");
  check(sn::max(sn::where(same, std::int64_t{7}, std::int64_t{3}), 2) * std::int64_t{7} + std::int64_t{3},
        map(counted(0, 7, 3, largest), [](double v) { return v * 7 + 3; }), 1, 0, "literals behind the pass too");
}

TEST_CASE("convolutions with padding and strides") {
  const std::int64_t batch = 2, channels = pick(1, 5), filters = pick(16, 40), rows = pick(5, 8), columns = pick(16, 40), stride = pick(1, 2);
  const auto [x, rx] = drawn({batch, channels, rows, columns});
  const auto [w, rw] = drawn({filters, channels, 3, 3});
  const auto [bias, rbias] = drawn({filters});
  const std::int64_t high = (rows - 1) / stride + 1, wide = (columns - 1) / stride + 1;
  const Ref want = make({batch, filters, high, wide}, [&, &rx = rx, &rw = rw, &rbias = rbias](const Coords& at) {
    double sum = rbias.v[static_cast<std::size_t>(at[1])];
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 3; ++j) {
          const std::int64_t row = at[2] * stride + i - 1, column = at[3] * stride + j - 1;
          if (row < 0 || row >= rows || column < 0 || column >= columns) continue;
          sum += rx.v[flat(rx.shape, {at[0], c, row, column})] * rw.v[flat(rw.shape, {at[1], c, i, j})];
        }
    return std::max(sum, 0.);
  });
  check(sn::maximum(sn::conv(x, w, bias, {.stride = stride, .padding = 1}), 0.f), want, sum_scale(9 * channels), 1e-6, "conv");
}

TEST_CASE("infinities and NaN reach only their own results: the padding of a tile adds nothing") {
  const float inf = std::numeric_limits<float>::infinity();
  auto [a, ra] = drawn({33, 17});
  auto [b, rb] = drawn({17, 35});
  std::vector<float> with = a.to_vector<float>();
  with[5 * 17 + 3] = inf;
  with[7 * 17 + 2] = std::nanf("");
  const auto got = values(sn::matmul(sn::from_span(with, {33, 17}), b));
  for (std::int64_t i = 0; i < 33; ++i)
    for (std::int64_t j = 0; j < 35; ++j) {
      const double value = got[static_cast<std::size_t>(i * 35 + j)];
      CHECK((i == 7 ? std::isnan(value) : i == 5 ? !std::isfinite(value) : std::isfinite(value)));
    }
}

TEST_CASE("a GPU's library reads transposed, broadcast, shifted and 16-bit operands without copies, and explain names its method") {
  if (!on_gpu() || !std::getenv("SINTER_CUBLASLT") || std::getenv("SINTER_EMULATOR_EPILOGUES") || std::getenv("SINTER_EMULATOR_PRODUCTS")) return;
  const bool emulated = std::getenv("SINTER_CUDA_DRIVER") != nullptr;
  const auto one_call = [](const Tensor& x, std::int64_t kernels) {
    const auto before = sn::counters();
    sn::eval(x);
    const auto after = sn::counters();
    CHECK(after.library_calls - before.library_calls == 1);
    CHECK(after.host_calls == before.host_calls);
    CHECK(static_cast<std::int64_t>(after.kernels_launched - before.kernels_launched) == kernels);
  };
  const auto [a, ra] = drawn({2, 1, 19, 23});
  const auto [b, rb] = drawn({3, 31, 24});
  const Tensor shifted = sn::swapaxes(b, 1, 2).at({Slice{}, Slice{1, {}}, Slice{}});  // shape (3, 23, 31), beginning one element later
  const Tensor c = sn::matmul(a, shifted);
  one_call(c, 0);
  check(c,
        make({2, 3, 19, 31},
             [&, &ra = ra, &rb = rb](const Coords& at) {
               double sum = 0;
               for (std::int64_t k = 0; k < 23; ++k) sum += ra.v[flat(ra.shape, {at[0], 0, at[2], k})] * rb.v[flat(rb.shape, {at[1], at[3], k + 1})];
               return sum;
             }),
        sum_scale(23), 1e-6, "broadcast, turned, shifted");
  for (const DType half : sampled(std::array{DType::float16, DType::bfloat16})) {
    const auto [x, rx] = drawn({17, 40}, half);
    const auto [y, ry] = drawn({40, 26}, half);
    const Tensor product_of = sn::astype(sn::matmul(sn::astype(x, DType::float32), sn::astype(y, DType::float32)), DType::float32);
    one_call(product_of, 0);  // the library converts the operands
    check(product_of, product(rx, ry), sum_scale(40), 1e-6, "of 16 bits");
    one_call(sn::matmul(x * x, y) + y.at({Slice{0, 1}}), 2);  // a prologue, and an epilogue
  }
  // The library adds a row and rounds to 16 bits if the epilogue has no other operation. It gives the same bits as a kernel.
  const auto unfused = [](const auto& formula) {
    const WithOptions apart([](sn::Options& options) { options.fuse = false; });
    const Tensor x = formula();
    sn::eval(x);
    return values(x);
  };
  for (const DType dtype : sampled(std::array{DType::float32, DType::float16, DType::bfloat16})) {
    INFO(sn::name(dtype));
    const std::int64_t m = pick(1, 40), n = pick(2, 40), k = pick(1, 40);
    const auto [x, rx] = drawn({2, m, k}, dtype);
    const auto [y, ry] = drawn({k, n}, dtype);
    const auto [rows, rrows] = drawn({3, n}, dtype);
    const Tensor row = rows.at({1});  // begins after n elements, so it is not aligned
    const auto one_step = [&](const std::function<Tensor()>& formula, std::int64_t kernels, const char* what) {
      INFO(what);
      const Tensor got = formula();
      one_call(got, kernels);
      CHECK(got.dtype() == dtype);
      CHECK(values(got) == unfused(formula));
    };
    one_step([&, &x = x, &y = y] { return sn::matmul(x, y); }, 0, "a product");
    one_step(
        [&, &x = x, &y = y] {
          return sn::astype(sn::astype(sn::matmul(sn::astype(x, DType::float32), sn::astype(y, DType::float32)) + sn::astype(row, DType::float32), dtype),
                            dtype);
        },
        0, "a row added");
    one_step([&, &x = x, &y = y] { return sn::maximum(sn::matmul(x, y), sn::astype(sn::zeros({n}), dtype)) * sn::matmul(x, y); }, 1,
             "what follows is a kernel");
    if (dtype != DType::float32) one_step([&, &x = x, &y = y] { return sn::matmul(x, y) + row; }, 1, "the product is rounded before the row is added");
    // The library does not add the row if another operation reads the product, if the row has another type, or if it is not a row.
    const auto both = [&, &x = x, &y = y] {
      const Tensor product = sn::matmul(sn::astype(x, DType::float32), sn::astype(y, DType::float32));
      return sn::concatenate({product + sn::astype(row, DType::float32), product}, 1);
    };
    const Tensor twice = both();
    one_call(twice, 1);
    // Unfused, the operands are converted first, and the library of a real GPU adds products of float32 in another order.
    const auto alike = [&](const std::vector<double>& got, const std::vector<double>& want) {
      REQUIRE(got.size() == want.size());
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - want[i]) <= (emulated ? 0 : 1e-5) * sum_scale(k));
    };
    alike(values(twice), unfused(both));
    const auto columns = [&, &x = x, &y = y] {
      return sn::matmul(sn::astype(x, DType::float32), sn::astype(y, DType::float32)) + sn::astype(rows.at({Slice{0, 1}, Slice{0, 1}}), DType::float32);
    };
    const Tensor column = columns();
    one_call(column, 1);
    alike(values(column), unfused(columns));
  }
  {
    const auto [x, rx] = drawn({17, 40}, DType::bfloat16);
    const auto [y, ry] = drawn({40, 26}, DType::bfloat16);
    const Tensor product = sn::matmul(x, y);
    sn::eval(product);
    const std::string how = sn::explain(product);
    INFO(how);
    CHECK(how.find(", as bfloat16, from test_products.cpp:") != std::string::npos);
    CHECK(how.find(": bfloat16 (") != std::string::npos);  // for the sizes for which the plan was made
  }
  const auto [p, rp] = drawn({33, 40});
  const auto [q, rq] = drawn({40, 29});
  const Tensor exact = sn::matmul(p, q);
  one_call(exact, 0);
  check(exact, product(rp, rq), sum_scale(40), 1e-6, "float32 is no TF32");
  const std::string report = sn::explain(exact);
  if (emulated) {
    CHECK(report.find("library cuBLASLt (libcublaslt_emulator.so), float32, algorithm 20, tile 21, 1 splits, 4096 bytes of workspace (cuBLASLt 13.1.0)") !=
          std::string::npos);
  } else {
    CHECK(report.find("library cuBLASLt (") != std::string::npos);
  }
  const WithOptions fast([](sn::Options& options) { options.fast_math = true; });
  const Tensor rough = sn::matmul(p, q);
  sn::eval(rough);
  check(rough, product(rp, rq), sum_scale(40), 2e-3, "TF32, where fast_math asks for it");
  CHECK(values(rough) != values(exact));
}

// Even small weights stay in 16 bits. If they were converted to float32 once, a kernel would have to convert the other operand at every call.
TEST_CASE("a frozen product of 16-bit floats is one library call, with weights or with inputs") {
  if (!on_gpu() || !std::getenv("SINTER_CUBLASLT") || std::getenv("SINTER_EMULATOR_EPILOGUES") || std::getenv("SINTER_EMULATOR_PRODUCTS")) return;
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const auto [y, ry] = drawn({30, 21}, dtype);
    const auto [x, rx] = drawn({pick(2, 40), 30}, dtype);
    const sn::Function frozen =
        sn::freeze(sn::Function::Formula([&y = y](const std::vector<Tensor>& of) { return std::vector{sn::matmul(of[0], y)}; }), {{dtype, {"n", 30}}});
    check(frozen({x})[0], product(rx, ry), sum_scale(30), 1e-2, "16 bits");
    const auto before = sn::counters();
    const Tensor again = frozen({x})[0];
    const auto after = sn::counters();
    CHECK(after.library_calls - before.library_calls == 1);
    CHECK(after.kernels_launched == before.kernels_launched);
  }
}

// Tests recorded and frozen products, at the size for which a plan was made and at another size.
TEST_CASE("if a library has no algorithm for an epilogue or a product, a plan without it gives the same values") {
  const bool no_epilogues = std::getenv("SINTER_EMULATOR_EPILOGUES"), no_products = std::getenv("SINTER_EMULATOR_PRODUCTS");
  if (!no_epilogues && !no_products) return;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const auto [y, ry] = drawn({30, 21}, dtype);
    const auto [row, rrow] = drawn({21}, dtype);
    const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-2;
    const auto formula = [&, &y = y, &row = row](const std::vector<Tensor>& of) { return std::vector{sn::matmul(of[0], y) + row}; };
    const sn::Function frozen = sn::freeze(sn::Function::Formula(formula), {{dtype, {"n", 30}}});
    for (const std::int64_t rows : {19, 19, 33}) {
      const auto [x, rx] = drawn({rows, 30}, dtype);
      const Ref expected = zip(product(rx, ry), rrow, plus);
      check(sn::matmul(x, y), product(rx, ry), sum_scale(30), tolerance, "a product");
      check(formula({x})[0], expected, sum_scale(30), tolerance, "a row added");
      check(frozen({x})[0], expected, sum_scale(30), tolerance, "frozen");
      const auto before = sn::counters();
      const Tensor again = frozen({x})[0];
      const auto after = sn::counters();
      CHECK(after.library_calls - before.library_calls == (no_products ? 0 : 1));
      CHECK(after.kernels_launched - before.kernels_launched == 1);
      CHECK(after.host_calls == before.host_calls);
      CHECK(after.fallbacks == before.fallbacks);
      CHECK(after.plans_made == before.plans_made);
    }
  }
}
