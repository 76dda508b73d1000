// Generated CPU code: access patterns, loops, reductions, persistent buffers and chunks, on every instruction set of this processor.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "llvm_runner.hpp"
#include "nest_builder.hpp"
#include "seed.hpp"

using namespace sinter;
using namespace sinter::testing;

namespace {

std::vector<float> random_floats(std::size_t n, std::mt19937_64& random, double low = -2, double high = 2) {
  std::vector<float> v(n);
  for (float& x : v) x = static_cast<float>(std::uniform_real_distribution<double>(low, high)(random));
  return v;
}

struct Layout {
  std::int64_t row, column;  // strides; 0: broadcast
};

/// out[i, j] = a[layout] - b[layout]. The rest of the output array must stay poisoned.
template <class T> void check_layout(Layout a, Layout b, Layout out, std::int64_t m, std::int64_t n, std::mt19937_64& random) {
  NestBuilder builder({m, n});
  builder.stage(false);
  const DType dtype = dtype_of<T>;
  const int x = builder.load(dtype, builder.affine({a.row, a.column})), y = builder.load(dtype, builder.affine({b.row, b.column}));
  builder.store(builder.op(std::is_same_v<T, bool> ? Op::bitwise_xor : Op::subtract, {x, y}), builder.affine({out.row, out.column}));
  // There is space on both sides for strides of either sign.
  const std::int64_t middle = 400 * (m + 1) + 200 * (n + 1), size = 2 * middle;
  auto va = std::make_unique<T[]>(size), vb = std::make_unique<T[]>(size), got = std::make_unique<T[]>(size), expected = std::make_unique<T[]>(size);
  for (std::int64_t k = 0; k < size; ++k) va[k] = T(random() % 2), vb[k] = T(random() % 2), got[k] = expected[k] = T(1);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T p = va[middle + i * a.row + j * a.column], q = vb[middle + i * b.row + j * b.column];
      expected[middle + i * out.row + j * out.column] = std::is_same_v<T, bool> ? T(p != q) : T(p - q);
    }
  for (const jit::CpuTarget& cpu : cpu_levels()) {
    std::fill_n(got.get(), size, T(1));
    run(builder.nest, compile(builder.nest, cpu)->entry(), {va.get() + middle, vb.get() + middle, got.get() + middle}, {}, 2);
    CHECK(std::equal(got.get(), got.get() + size, expected.get()));
  }
}

enum class Lanes { parallel, row };

/// out[i] = reduction over k of x[i, k], vectorised along i or k.
jit::LoopNest reduction_nest(Op op, DType dtype, std::int64_t m, std::int64_t n, Lanes lanes) {
  NestBuilder b({m}, {n}, lanes == Lanes::row);
  b.stage(true);
  const int x = b.load(dtype, lanes == Lanes::row ? b.affine({n == 1 ? 2 : n, 1}) : b.affine({1, m == 1 ? 2 : m}));
  const int r = b.reduce(op, x);
  b.stage(false);
  b.store(r, b.affine({1, 0}));
  return b.nest;
}

template <class T> void check_reduction(Op op, std::int64_t m, std::int64_t n, Lanes lanes, std::mt19937_64& random) {
  jit::LoopNest nest = reduction_nest(op, dtype_of<T>, m, n, lanes);
  std::vector<T> x(static_cast<std::size_t>(2 * m * n + 2)), out(m + 1);
  for (T& v : x) v = static_cast<T>(op == Op::reduce_prod ? 0.75 + static_cast<int>(random() % 3) * 0.25 : static_cast<int>(random() % 2001) - 1000);
  const auto at = [&](std::int64_t i, std::int64_t k) -> T& { return lanes == Lanes::row ? x[i * (n == 1 ? 2 : n) + k] : x[i + k * (m == 1 ? 2 : m)]; };
  const bool ordered = op == Op::reduce_min || op == Op::reduce_max;
  if (std::is_floating_point_v<T> && ordered && m > 2 && n > 3) at(1, n / 2) = std::numeric_limits<T>::quiet_NaN(), at(2, n - 1) = T(NAN);
  for (const jit::CpuTarget& cpu : cpu_levels()) {
    std::fill(out.begin(), out.end(), T(77));
    run(nest, compile(nest, cpu)->entry(), {x.data(), out.data()}, {}, 3);
    CHECK(out[m] == T(77));
    for (std::int64_t i = 0; i < m; ++i) {
      double expected = op == Op::reduce_sum ? 0 : op == Op::reduce_prod ? 1 : static_cast<double>(at(i, 0)), magnitude = 1;
      for (std::int64_t k = 0; k < n; ++k) {
        const double v = static_cast<double>(at(i, k));
        magnitude += std::fabs(v);
        if (op == Op::reduce_sum) expected += v;
        else if (op == Op::reduce_prod) expected *= v;
        else if (std::isnan(v) || std::isnan(expected)) expected = NAN;
        else expected = op == Op::reduce_min ? std::min(expected, v) : std::max(expected, v);
      }
      INFO(trace::name(op), " ", name(dtype_of<T>), " ", m, "x", n, " lanes ", static_cast<int>(lanes), " row ", i, ": ", out[i], " for ", expected);
      if (std::isnan(expected)) CHECK(std::isnan(double(out[i])));
      else if (op == Op::reduce_prod) CHECK(std::fabs(double(out[i]) - expected) <= 1e-6 * n * std::fabs(expected));
      else CHECK(std::fabs(double(out[i]) - expected) <= (std::is_same_v<T, float> && !ordered ? 1e-7 * magnitude : 0));
    }
  }
}

/// Softmax along the rows: maximum; exp staged in a persistent buffer and summed; quotient.
jit::LoopNest softmax_nest(std::int64_t m, std::int64_t n, Lanes lanes) {
  NestBuilder b({m}, {n}, lanes == Lanes::row);
  const int index = lanes == Lanes::row ? b.affine({n + 1, 1}) : b.affine({1, m + 1});
  b.stage(true);
  const int peak = b.reduce(Op::reduce_max, b.load(DType::float32, index));
  b.stage(true);
  const int e = b.op(Op::exp, {b.op(Op::subtract, {b.load_again(0), peak})});
  const int buffer = b.keep(e);
  const int sum = b.reduce(Op::reduce_sum, e);
  b.stage(true);
  b.store(b.op(Op::divide, {b.persistent(buffer), sum}), index);
  b.nest.name = "softmax";
  return b.nest;
}

jit::LoopNest simple_nest(std::int64_t n) {
  NestBuilder b({n});
  b.stage(false);
  const int index = b.affine({1});
  b.store(b.op(Op::sin, {b.op(Op::add, {b.load(DType::float32, index), b.scalar(DType::float32)})}), index);
  b.nest.ops = {"sin(x + c): add sin"};
  b.nest.name = "map_add_sin";
  return b.nest;
}

}  // namespace

TEST_CASE("contiguous, strided, reversed and broadcast layouts of every operand") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  const Layout inputs[] = {{200, 1}, {1, 200}, {400, 2}, {-200, -1}, {0, 1}, {1, 0}, {0, 0}, {0, -3}};
  for (const Layout& a : inputs)
    for (const Layout& out : {Layout{200, 1}, Layout{1, 200}, Layout{-400, -2}})
      check_layout<float>(a, inputs[random() % 8], out, 1 + static_cast<std::int64_t>(random() % 5), 1 + static_cast<std::int64_t>(random() % 130), random);
  for (const Layout& a : {Layout{200, 1}, Layout{1, 200}, Layout{0, -3}}) {
    check_layout<bool>(a, inputs[random() % 8], {1, 200}, 5, 77, random);
    check_layout<double>(a, inputs[random() % 8], {200, 1}, 5, 77, random);
    check_layout<std::int32_t>(a, inputs[random() % 8], {-400, -2}, 5, 130, random);
    check_layout<std::int64_t>(a, inputs[random() % 8], {200, 1}, 3, 150, random);
  }
  check_layout<float>(inputs[0], inputs[0], inputs[0], 0, 10, random);
  check_layout<float>(inputs[0], inputs[0], inputs[0], 10, 0, random);
}

TEST_CASE("indices with divisions and remainders: a reshape of a transpose") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  for (std::int64_t n : {1, 5, 64, 141}) {
    // out[i, j] = a.T.reshape(m, n)[i, j] for a of shape (q, p), so a.T has shape (p, q). The flat index is used as a value, too.
    const std::int64_t m = 6, p = 2 * n, q = 3;
    NestBuilder b({m, n});
    const int flat = b.affine({n == 1 ? 7 : n, 1});
    if (n == 1) b.nest.ints.back() = 1;
    const int pq = b.parameter(q), stride = b.parameter(p);
    jit::Index index;
    index.terms.push_back({stride, -1, flat, kOne, pq});
    index.terms.push_back({kOne, -1, flat, pq, kNone});
    const int access = b.add(index);
    b.stage(false);
    b.store(b.load(DType::float32, access), flat);
    b.store(b.index_value(access), flat);
    const std::vector<float> a = random_floats(p * q, random);
    std::vector<float> out(m * n + 1, 9);
    std::vector<std::int64_t> places(m * n + 1, -5);
    for (const jit::CpuTarget& cpu : cpu_levels()) {
      run(b.nest, compile(b.nest, cpu)->entry(), {const_cast<float*>(a.data()), out.data(), places.data()}, {}, 2);
      for (std::int64_t f = 0; f < m * n; ++f) {
        const std::int64_t place = f % q * p + f / q;
        REQUIRE(places[f] == place);
        REQUIRE(out[f] == a[place]);
      }
      CHECK(out[m * n] == 9);
    }
  }
}

TEST_CASE("transposes are computed in tiles, for any size") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  for (const auto& [a, b, c] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1, 1, 1}, {1, 64, 70}, {3, 130, 37}, {2, 63, 16}}) {
    const std::int64_t plane = (b + 1) * (c + 1);
    for (const bool strided_output : {false, true}) {  // out[i, j, k] = in[i, k, j]
      NestBuilder builder({a, b, c});
      builder.stage(false);
      const int rows = builder.affine({plane, c + 1, 1}), columns = builder.affine({plane, 1, b + 1});
      builder.store(builder.load(DType::int32, strided_output ? rows : columns), strided_output ? columns : rows);
      const std::int64_t size = (a + 1) * plane;
      std::vector<std::int32_t> in(size), out(size), expected(size, -7);
      for (auto& v : in) v = static_cast<std::int32_t>(random() % 100000);
      for (std::int64_t i = 0; i < a; ++i)
        for (std::int64_t j = 0; j < b; ++j)
          for (std::int64_t k = 0; k < c; ++k) {
            const std::int64_t by_row = i * plane + j * (c + 1) + k, by_column = i * plane + j + k * (b + 1);
            expected[strided_output ? by_column : by_row] = in[strided_output ? by_row : by_column];
          }
      for (const jit::CpuTarget& cpu : cpu_levels())
        for (int shares : {1, 3, 7}) {
          std::fill(out.begin(), out.end(), -7);
          run(builder.nest, compile(builder.nest, cpu)->entry(), {in.data(), out.data()}, {}, shares);
          CHECK(out == expected);
        }
    }
  }
}

TEST_CASE("index values along the vectorised axis") {
  NEEDS_LLVM
  NestBuilder b({3, 100});
  b.stage(false);
  b.store(b.index_value(b.affine({1000, 7})), b.affine({100, 1}));
  b.store(b.index_value(b.affine({1, 0})), b.affine({100, 1}));
  for (const jit::CpuTarget& cpu : cpu_levels()) {
    std::vector<std::int64_t> x(300, -1), y(300, -1);
    run(b.nest, compile(b.nest, cpu)->entry(), {x.data(), y.data()}, {}, 2);
    for (int k = 0; k < 300; ++k) {
      REQUIRE(x[k] == k / 100 * 1000 + k % 100 * 7);
      REQUIRE(y[k] == k / 100);
    }
  }
}

TEST_CASE("values that only one side of a `where` needs are computed in a branch if its condition depends on positions") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  for (const bool by_place : {true, false})
    for (const bool nested : {false, true}) {
      const std::int64_t n = 1 + static_cast<std::int64_t>(random() % 300), first = static_cast<std::int64_t>(random() % 300),
                         second = static_cast<std::int64_t>(random() % 300);
      INFO(by_place, nested, " ", n, " ", first, " ", second);
      NestBuilder b({3, n});
      b.stage(false);
      const int at = b.index_value(b.affine({0, 1})), x = b.load(DType::float32, b.affine({n, 1})), y = b.load(DType::float32, b.affine({n, 1}));
      const auto before = [&](std::int64_t place) {
        jit::Index constant;
        constant.constant = b.parameter(place);
        return by_place ? b.op(Op::less, DType::bool_, {at, b.index_value(b.add(constant))}) : b.op(Op::less, DType::bool_, {x, y});
      };
      const int sine = b.op(Op::sin, DType::float32, {x}), cosine = b.op(Op::cos, DType::float32, {y}), both = b.op(Op::add, DType::float32, {sine, cosine});
      int other = b.op(Op::tanh, DType::float32, {b.op(Op::multiply, DType::float32, {x, y})});
      if (nested) other = b.op(Op::where, DType::float32, {before(second), other, cosine});  // both sides use the cosine
      b.store(b.op(Op::where, DType::float32, {before(first), both, other}), b.affine({n, 1}));
      CHECK((jit::generate_llvm(b.nest, cpu_levels().back()).text.find("label %side") != std::string::npos) == by_place);
      const auto vx = random_floats(3 * n, random), vy = random_floats(3 * n, random);
      for (const jit::CpuTarget& cpu : cpu_levels()) {
        std::vector<float> got(3 * n, -77.f);
        run(b.nest, compile(b.nest, cpu)->entry(), {const_cast<float*>(vx.data()), const_cast<float*>(vy.data()), got.data()}, {}, 2);
        for (std::int64_t k = 0; k < 3 * n; ++k) {
          const auto less = [&](std::int64_t place) { return by_place ? k % n < place : vx[k] < vy[k]; };
          const double p = vx[k], q = vy[k];
          const double expected = less(first) ? std::sin(p) + std::cos(q) : !nested || less(second) ? std::tanh(double(vx[k] * vy[k])) : std::cos(q);
          REQUIRE(std::fabs(got[k] - expected) <= 1e-6);
        }
      }
    }
}

TEST_CASE("reductions along rows and along columns") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  for (const Lanes lanes : {Lanes::row, Lanes::parallel})
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{5, 0}, {1, 1}, {4, 7}, {7, 16}, {131, 100}, {3, 1000}})
      for (Op op : {Op::reduce_sum, Op::reduce_prod, Op::reduce_min, Op::reduce_max}) {
        if (n == 0 && (op == Op::reduce_min || op == Op::reduce_max)) continue;
        check_reduction<float>(op, m, n, lanes, random);
        if (op == Op::reduce_prod && n > 16) continue;
        check_reduction<double>(op, m, n, lanes, random);
        if (op == Op::reduce_prod) continue;
        check_reduction<std::int32_t>(op, m, n, lanes, random);
        check_reduction<std::int64_t>(op, m, n, lanes, random);
      }
}

TEST_CASE("bool reductions: any and all") {
  NEEDS_LLVM
  for (const Lanes lanes : {Lanes::row, Lanes::parallel})
    for (Op op : {Op::reduce_max, Op::reduce_min}) {
      const std::int64_t m = 70, n = 70;
      const jit::LoopNest nest = reduction_nest(op, DType::bool_, m, n, lanes);
      auto x = std::make_unique<bool[]>(m * n), out = std::make_unique<bool[]>(m);
      const bool any = op == Op::reduce_max;
      std::fill_n(x.get(), m * n, !any);
      for (std::int64_t i = 0; i < m; i += 3) x[lanes == Lanes::row ? i * n + (i * 7) % n : i + (i * 7) % n * m] = any;
      for (const jit::CpuTarget& cpu : cpu_levels()) {
        run(nest, compile(nest, cpu)->entry(), {x.get(), out.get()}, {}, 2);
        for (std::int64_t i = 0; i < m; ++i) REQUIRE(out[i] == ((i % 3 == 0) == any));
      }
    }
}

TEST_CASE("softmax in one kernel with a persistent buffer, vectorised along rows or across them") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  for (const Lanes lanes : {Lanes::row, Lanes::parallel})
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 5}, {5, 1000}, {150, 33}}) {
      const jit::LoopNest nest = softmax_nest(m, n, lanes);
      const std::size_t size = static_cast<std::size_t>((m + 1) * (n + 1));
      std::vector<float> x = random_floats(size, random, -20, 20);
      const auto at = [&](std::int64_t i, std::int64_t k) { return static_cast<std::size_t>(lanes == Lanes::row ? i * (n + 1) + k : i + k * (m + 1)); };
      for (const jit::CpuTarget& cpu : cpu_levels()) {
        std::vector<float> once(size, -1), shared(size, -1);
        const auto code = compile(nest, cpu);
        run(nest, code->entry(), {x.data(), once.data()}, {});
        run(nest, code->entry(), {x.data(), shared.data()}, {}, 4);
        CHECK(std::memcmp(once.data(), shared.data(), size * sizeof(float)) == 0);  // the same bits for any division among threads
        for (std::int64_t i = 0; i < m; ++i) {
          double peak = -INFINITY, sum = 0;
          for (std::int64_t k = 0; k < n; ++k) peak = std::max(peak, double{x[at(i, k)]});
          for (std::int64_t k = 0; k < n; ++k) sum += std::exp(x[at(i, k)] - peak);
          for (std::int64_t k = 0; k < n; ++k) {
            const double expected = std::exp(x[at(i, k)] - peak) / sum;
            REQUIRE(std::fabs(once[at(i, k)] - expected) <= 4e-6 * expected);
          }
        }
      }
    }
}

TEST_CASE("columns that are stored along their rows: whole tiles are transposed, and the rest") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{5, 7}, {16, 16}, {70, 35}, {33, 130}}) {
    // out[i, k] = x[k, i] - sum of x[:, i]; a second output has the order of the input
    NestBuilder b({m}, {n});
    b.stage(true);
    const int sum = b.reduce(Op::reduce_sum, b.load(DType::float64, b.affine({1, m})));
    b.stage(true);
    const int less = b.op(Op::subtract, {b.load_again(0), sum});
    b.store(less, b.affine({n + 1, 1}));
    b.store(less, b.affine({1, m}));
    std::vector<double> x(m * n);
    for (double& v : x) v = static_cast<double>(random() % 100);
    for (const jit::CpuTarget& cpu : cpu_levels()) {
      std::vector<double> turned(m * (n + 1), -1), straight(m * n, -1);
      run(b.nest, compile(b.nest, cpu)->entry(), {x.data(), turned.data(), straight.data()}, {}, 2);
      for (std::int64_t i = 0; i < m; ++i) {
        double total = 0;
        for (std::int64_t k = 0; k < n; ++k) total += x[k * m + i];
        for (std::int64_t k = 0; k < n; ++k) {
          REQUIRE(turned[i * (n + 1) + k] == x[k * m + i] - total);
          REQUIRE(straight[k * m + i] == x[k * m + i] - total);
        }
        REQUIRE(turned[i * (n + 1) + n] == -1);
      }
    }
  }
}

TEST_CASE("values that do not change along the vectorised axis are computed before its loop") {
  NestBuilder b({50, 60});
  b.stage(false);
  const int root = b.op(Op::sqrt, {b.op(Op::add, {b.load(DType::float32, b.affine({1, 0})), b.scalar(DType::float32)})});
  b.store(b.op(Op::divide, {b.load(DType::float32, b.affine({60, 1})), root}), b.affine({60, 1}));
  const std::string text = jit::generate_llvm(b.nest, jit::host_cpu()).text;
  const std::size_t loop = text.find("\ninner"), call = text.find("@llvm.sqrt.f32");
  REQUIRE(loop != std::string::npos);
  CHECK(call < text.find("phi", loop));
  CHECK(text.find("@llvm.sqrt.v") == std::string::npos);
}

TEST_CASE("two row axes and two parallel axes") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  const std::int64_t a = 3, b = 5, c = 4, d = 37;  // out[i, j] = sum over k, l of x[i, k, j, l]
  for (const bool row_lanes : {true, false}) {
    NestBuilder builder({a, b}, {c, d}, row_lanes);
    builder.stage(true);
    const int r = builder.reduce(Op::reduce_sum, builder.load(DType::float64, builder.affine({c * b * d, d, b * d, 1})));
    builder.stage(false);
    builder.store(r, builder.affine({b, 1, 0, 0}));
    std::vector<double> x(a * b * c * d), out(a * b);
    for (double& v : x) v = static_cast<double>(random() % 1000);
    for (const jit::CpuTarget& cpu : cpu_levels()) {
      run(builder.nest, compile(builder.nest, cpu)->entry(), {x.data(), out.data()}, {}, 3);
      for (std::int64_t i = 0; i < a; ++i)
        for (std::int64_t j = 0; j < b; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < c; ++k)
            for (std::int64_t l = 0; l < d; ++l) sum += x[((i * c + k) * b + j) * d + l];
          REQUIRE(out[i * b + j] == sum);
        }
    }
  }
}

TEST_CASE("chunks, of which the last is shorter and further ones are empty, vectorised along any axis") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  for (const std::int64_t total : {1, 99, 100, 101, 345}) {
    const std::int64_t chunk = 100, chunks = 5;
    std::vector<double> x(total);
    for (double& v : x) v = static_cast<double>(random() % 1000);
    for (const bool row_lanes : {true, false}) {
      NestBuilder b({chunks}, {chunk}, row_lanes);
      b.stage(true);
      const int r = b.reduce(Op::reduce_sum, b.load(DType::float64, b.affine({chunk, 1})));
      b.stage(false);
      b.store(r, b.affine({1, 0}));
      b.chunks(0, total);
      for (const jit::CpuTarget& cpu : cpu_levels()) {
        std::vector<double> out(chunks, -1);
        run(b.nest, compile(b.nest, cpu)->entry(), {x.data(), out.data()}, {}, 2);
        for (std::int64_t k = 0; k < chunks; ++k) {
          const std::int64_t begin = std::min(total, k * chunk), end = std::min(total, begin + chunk);
          REQUIRE(out[k] == std::accumulate(x.begin() + begin, x.begin() + end, 0.0));
        }
      }
    }
  }
}

TEST_CASE("an output may overwrite an input") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  const jit::LoopNest nest = simple_nest(777);
  for (const jit::CpuTarget& cpu : cpu_levels()) {
    std::vector<float> x = random_floats(777, random), apart(777);
    const auto code = compile(nest, cpu);
    run(nest, code->entry(), {x.data(), apart.data()}, {scalar_bits(0.25f)});
    CHECK(std::fabs(apart[5] - std::sin(double{x[5] + 0.25f})) < 1e-7);
    run(nest, code->entry(), {x.data(), x.data()}, {scalar_bits(0.25f)});
    CHECK(x == apart);
  }
}

TEST_CASE("fast_math changes the source, and results stay close") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  jit::LoopNest nest = softmax_nest(4, 100, Lanes::row);
  const std::string accurate = jit::generate_llvm(nest, jit::host_cpu()).text;
  std::vector<float> x = random_floats(600, random), slow(600), fast(600);
  run(nest, compile(nest, jit::host_cpu())->entry(), {x.data(), slow.data()}, {});
  nest.fast_math = true;
  CHECK(jit::generate_llvm(nest, jit::host_cpu()).text != accurate);
  run(nest, compile(nest, jit::host_cpu())->entry(), {x.data(), fast.data()}, {});
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 100; ++k) REQUIRE(std::fabs(slow[i * 101 + k] - fast[i * 101 + k]) <= 1e-5 * slow[i * 101 + k]);
}

TEST_CASE("fast_math computes quotients and roots of zero, infinity and subnormal numbers") {
  NEEDS_LLVM
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0, inf, 1e-40f, 1e-45f, 3e38f, 1, 4, 0.01f};
  x.resize(40, 2);
  NestBuilder b({40});
  b.stage(false);
  const int index = b.affine({1});
  const int v = b.load(DType::float32, index), one = b.scalar(DType::float32);
  b.store(b.op(Op::rsqrt, {v}), index);
  b.store(b.op(Op::divide, {one, b.op(Op::sqrt, {v})}), index);
  b.store(b.op(Op::divide, {v, v}), index);
  b.nest.fast_math = true;
  for (const jit::CpuTarget& cpu : cpu_levels()) {
    std::vector<float> root(40), apart(40), ratio(40);
    run(b.nest, compile(b.nest, cpu)->entry(), {x.data(), root.data(), apart.data(), ratio.data()}, {scalar_bits(1.f)});
    CHECK((root[0] == inf && root[1] == 0 && apart[0] == inf && apart[1] == 0));
    for (int k = 2; k < 40; ++k) {
      const double expected = 1 / std::sqrt(static_cast<double>(x[k]));
      CHECK(std::fabs(root[k] - expected) <= 3e-7 * expected);
      CHECK(std::fabs(apart[k] - expected) <= 3e-7 * expected);
      CHECK(ratio[k] == 1);
    }
  }
}

TEST_CASE("the source is the same from run to run and for other sizes, and lists the fused operations") {
  const jit::CpuTarget cpu = jit::host_cpu();
  const jit::Source one = jit::generate_llvm(simple_nest(777), cpu), two = jit::generate_llvm(simple_nest(4), cpu);
  CHECK(one.text == two.text);
  CHECK(one.text.find("777") == std::string::npos);
  CHECK(one.text.find("sin(x + c): add sin") != std::string::npos);
  CHECK(one.entry == "map_add_sin");
  CHECK(one.target == "cpu:" + cpu.arch + " " + cpu.features);
  CHECK(jit::generate_llvm(softmax_nest(3, 4, Lanes::row), cpu).text == jit::generate_llvm(softmax_nest(300, 999, Lanes::row), cpu).text);
}
