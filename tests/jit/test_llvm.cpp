// Generated CPU code: branches, persistent buffers, fast_math and the text, on every instruction level this processor has. test_nest and test_arithmetic
// compare accesses, reductions and scans with the interpreter.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "jit/forms/forms.hpp"
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

enum class Lanes { parallel, row };

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

TEST_CASE("what one side of a where alone needs is behind a branch where places decide; else it is not") {
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
      CHECK((jit::loop::to_string(jit::forms::lower(b.nest, cpu_levels().back())).find("if (any(") != std::string::npos) == by_place);
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

TEST_CASE("softmax in one kernel, through a persistent buffer, lanes along rows and across them") {
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

TEST_CASE("short axes that lie between the lanes are taken apart in registers, and put together") {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  const auto test = [&]<class T>(DType type, T, std::vector<std::int64_t> sizes) {
    std::map<std::string, std::shared_ptr<jit::LoadedCode>> compiled;  // by text, of which sizes are no part
    const auto entry = [&](const jit::LoopNest& nest, const jit::CpuTarget& cpu) {
      jit::verify(nest);
      const jit::Source source = jit::generate_llvm(nest, cpu);
      auto& code = compiled[source.text + cpu.features];
      if (!code) code = jit::load_object(llvm_compiler()->compile(source));
      return code->entry();
    };
    for (const std::int64_t m : sizes)
      for (const std::int64_t n : {5, 16, 37, 100})
        for (const std::int64_t gap : {0, 1})                // with gaps between the lanes' points nothing is taken apart
          for (const int thin : {static_cast<int>(m), 3}) {  // nor if the schedule is for another size
            INFO(name(type), ", ", m, " points of ", n, " lanes, gap ", gap, ", thin ", thin);
            // out[i, k, j] = x[i, j, k] + v[k] * w[j]; two sums over k; with the values below all are exact
            const std::int64_t step = m + gap, block = n * step + 5;
            std::vector<T> x(static_cast<std::size_t>(2 * block)), v(static_cast<std::size_t>(m)), w(static_cast<std::size_t>(n));
            for (auto* list : {&x, &v, &w})
              for (T& value : *list) value = static_cast<T>(random() % 8);
            const auto x_at = [&](std::int64_t i, std::int64_t j, std::int64_t k) { return x[static_cast<std::size_t>(i * block + j * step + k)]; };
            NestBuilder points({2, m, n}), rows({2, n}, {m});
            points.nest.schedule.form = jit::TilesForm{64, std::min(thin, jit::kMaxThin)};
            rows.nest.schedule.form = jit::ColumnsForm{.thin = std::min(thin, jit::kMaxThin)};
            points.stage(false);
            const int turned = points.op(Op::multiply, {points.load(type, points.affine({0, 1, 0})), points.load(type, points.affine({0, 0, 1}))});
            const int sum = points.op(Op::add, {points.load(type, points.affine({block, 1, step})), turned});
            points.store(sum, points.affine({block, 1, step}));
            points.store(sum, points.affine({m * n, n, 1}));
            rows.stage(true);
            const int of = rows.load(type, rows.affine({block, step, 1}));
            const int total = rows.reduce(Op::reduce_sum, of), largest = rows.reduce(Op::reduce_max, of);
            rows.stage(true);
            rows.store(rows.op(Op::subtract, {rows.load_again(0), largest}), rows.affine({block, step, 1}));
            rows.stage(false);
            rows.store(total, rows.affine({n, 1}));
            for (const jit::CpuTarget& cpu : cpu_levels())
              for (const int shares : {1, 3}) {
                std::vector<T> dense(x.size(), T(77)), turned_out(static_cast<std::size_t>(2 * m * n + 1), T(77)), less(dense),
                    sums(static_cast<std::size_t>(2 * n + 1), T(77));
                run(points.nest, entry(points.nest, cpu), {v.data(), w.data(), x.data(), dense.data(), turned_out.data()}, {}, shares);
                run(rows.nest, entry(rows.nest, cpu), {x.data(), less.data(), sums.data()}, {}, shares);
                std::vector<T> want_dense(x.size(), T(77)), want_turned(turned_out.size(), T(77)), want_less(want_dense), want_sums(sums.size(), T(77));
                for (std::int64_t i = 0; i < 2; ++i)
                  for (std::int64_t j = 0; j < n; ++j) {
                    T all{}, most{};
                    for (std::int64_t k = 0; k < m; ++k) {
                      const auto at = static_cast<std::size_t>(i * block + j * step + k);
                      want_dense[at] = want_turned[static_cast<std::size_t>((i * m + k) * n + j)] =
                          static_cast<T>(x_at(i, j, k) + v[static_cast<std::size_t>(k)] * w[static_cast<std::size_t>(j)]);
                      all = static_cast<T>(all + x_at(i, j, k));
                      most = std::max(most, x_at(i, j, k));
                    }
                    for (std::int64_t k = 0; k < m; ++k) want_less[static_cast<std::size_t>(i * block + j * step + k)] = static_cast<T>(x_at(i, j, k) - most);
                    want_sums[static_cast<std::size_t>(i * n + j)] = all;
                  }
                REQUIRE(dense == want_dense);
                REQUIRE(turned_out == want_turned);
                REQUIRE(less == want_less);
                REQUIRE(sums == want_sums);
              }
          }
  };
  test(DType::float32, float(), {2, 3, 4, 5, 6, 7, jit::kMaxThin, jit::kMaxThin + 1});
  test(DType::float64, double(), {2, 5});
  test(DType::int8, std::int8_t(), {3});
}

TEST_CASE_TEMPLATE("short rows are transposed in groups, with the bits of rows one by one", T, float, double, std::int32_t) {
  NEEDS_LLVM
  std::mt19937_64 random(fresh_seed());
  const DType type = std::is_same_v<T, float> ? DType::float32 : std::is_same_v<T, double> ? DType::float64 : DType::int32;
  std::map<std::tuple<int, bool, bool, int>, std::shared_ptr<jit::LoadedCode>> compiled;  // sizes are no part of the text
  const auto entry = [&](jit::LoopNest nest, int short_rows, bool places, bool half, const jit::CpuTarget& cpu) {
    auto& code = compiled[{short_rows, places, half, cpu.vector_bytes}];
    if (code) return code->entry();
    nest.schedule = jit::choose_for_cpu(nest, jit::ScheduleOverride::parse(fmt::format("short_rows={}", short_rows)));
    jit::verify(nest);
    const bool transposes = jit::loop::to_string(jit::forms::lower(nest, cpu)).find("transposed(") != std::string::npos;
    if (short_rows == 0 || short_rows == 47) CHECK(transposes == (short_rows > 0));
    code = jit::load_object(llvm_compiler()->compile(jit::generate_llvm(nest, cpu)));
    return code->entry();
  };
  for (const std::int64_t n : sampled<std::int64_t>({3, 4, 5, 7, 8, 9, 11, 12, 15, 16, 17, 19, 23, 24, 25, 31, 33, 40, 46, 47, 48, 50}))
    for (const std::int64_t m : {2, 7, 8, 16, 37})
      for (const std::int64_t gap : {0, 3}) {
        const bool places = (n + m) % 3 == 0, half = std::is_same_v<T, float> && (n + gap) % 2 == 0;  // int64 has half as many lanes
        INFO(name(type), ", ", m, " rows of ", n, ", gap ", gap, ", places ", places, ", half ", half);
        // Rows of x times weights and a number of the row; a kept value, which is summed; results along the rows, and one for each row.
        const std::int64_t step = n + gap, block = m * step + 5;
        NestBuilder b({2, m}, {n}, true);
        b.stage(true);
        const DType stored = half ? DType::float16 : type;
        const auto converted = [&](int value, DType to) { return half ? b.cast(value, to) : value; };
        const int row = b.affine({block, step, 1}), x = converted(b.load(stored, row), type), w = b.load(type, b.affine({0, 0, 1})),
                  y = b.load(type, b.affine({m, 1}));
        const int product = b.op(Op::multiply, {x, w}), sum = b.reduce(Op::reduce_sum, b.op(Op::add, {product, y})), peak = b.reduce(Op::reduce_max, x);
        b.stage(false);
        const int middle = b.op(Op::subtract, {sum, peak});
        b.stage(true);
        const int off = b.op(Op::subtract, {converted(b.load_again(0), type), middle});
        int kept = b.op(Op::multiply, {off, off});
        if (places) kept = b.op(Op::add, {kept, b.cast(b.index_value(b.affine({0, 0, 1})), type)});
        const int buffer = b.keep(kept), total = b.reduce(Op::reduce_sum, kept);
        b.store(converted(off, stored), row);
        b.stage(true);
        b.store(b.op(Op::subtract, {b.persistent(buffer), total}), b.affine({m * n, n, 1}));
        b.stage(false);
        b.store(total, b.affine({m, 1}));
        b.store(peak, b.affine({m, 1}));
        const auto some = [&](std::int64_t count) {
          std::vector<T> values(static_cast<std::size_t>(count));
          for (T& value : values)
            value = static_cast<T>(std::is_integral_v<T> ? static_cast<double>(random() % 100) : std::uniform_real_distribution<double>(-2, 2)(random));
          return values;
        };
        std::vector<T> vx = some(2 * block), vw = some(n), vy = some(2 * m);
        if constexpr (!std::is_integral_v<T>)
          for (T& value : vx)
            if (random() % 256 == 0) value = random() % 2 ? T(-0.0) : std::numeric_limits<T>::infinity();
        std::vector<std::uint16_t> halves(vx.size());
        for (std::uint16_t& value : halves) value = static_cast<std::uint16_t>(random() & 0xBBFF);  // less than 1
        for (std::int64_t k = 0; k < 2 * block; ++k)
          if (k / step % 4 == 1) {  // zeros of either sign, among which the order decides which one is the largest
            halves[static_cast<std::size_t>(k)] = static_cast<std::uint16_t>(random() & 0x8000);
            vx[static_cast<std::size_t>(k)] = random() % 2 ? T(0) : -T(0);
          }
        for (const jit::CpuTarget& cpu : cpu_levels()) {
          const auto results = [&](int short_rows, int shares) {
            const T mark(77);
            std::vector<std::uint16_t> half_in_place(halves);
            std::vector<T> in_place(vx), dense(static_cast<std::size_t>(2 * m * n + 1), mark), totals(static_cast<std::size_t>(2 * m + 1), mark), peaks(totals);
            // The first result takes the place of the input: rows are read before they are written, and nothing between them is written.
            void* const of_rows = half ? static_cast<void*>(half_in_place.data()) : in_place.data();
            run(b.nest, entry(b.nest, short_rows, places, half, cpu), {of_rows, vw.data(), vy.data(), of_rows, dense.data(), totals.data(), peaks.data()}, {},
                shares);
            CHECK(dense.back() == mark);
            CHECK(totals.back() == mark);
            CHECK(peaks.back() == mark);
            for (const std::uint16_t value : half_in_place) in_place.push_back(static_cast<T>(value));
            in_place.insert(in_place.end(), dense.begin(), dense.end());
            in_place.insert(in_place.end(), totals.begin(), totals.end());
            in_place.insert(in_place.end(), peaks.begin(), peaks.end());
            return in_place;
          };
          const std::vector<T> want = results(0, 1);
          for (const int shares : {1, 3})
            for (const int short_rows : {12, 47, 63}) {
              const std::vector<T> got = results(short_rows, shares);
              std::size_t wrong = 0;
              for (std::size_t k = 0; k < want.size(); ++k)
                wrong += std::memcmp(&got[k], &want[k], sizeof(T)) != 0 && !(got[k] != got[k] && want[k] != want[k]);
              REQUIRE(wrong == 0);
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
  const std::size_t loop = text.find("\np1"), call = text.find("@llvm.sqrt.f32");
  REQUIRE(loop != std::string::npos);
  CHECK(call < text.find("phi", loop));
  CHECK(text.find("@llvm.sqrt.v") == std::string::npos);
}

TEST_CASE("an output may take the place of an input") {
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

TEST_CASE_TEMPLATE("quotients by one number have a division's bits on every processor", T, float, double) {
  NEEDS_LLVM
  using limits = std::numeric_limits<T>;
  std::mt19937_64 random(fresh_seed());
  const auto any = [&] {
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> bits = static_cast<decltype(bits)>(random());
    return std::bit_cast<T>(bits);
  };
  std::vector<T> x{
      T(0),          -T(0),         1, 3, T(-0.1), limits::infinity(), -limits::infinity(), limits::quiet_NaN(), limits::denorm_min(), limits::min(),
      limits::max(), -limits::max()};
  std::vector<T> divisors = x;
  while (x.size() < 999) x.push_back(x.size() % 2 ? any() : std::uniform_real_distribution<T>(-4, 4)(random));
  for (int k = 0; k < 40; ++k) divisors.push_back(any());
  NestBuilder b({static_cast<std::int64_t>(x.size())});
  b.stage(false);
  const int index = b.affine({1});
  b.store(b.op(Op::divide, {b.load(dtype_of<T>, index), b.scalar(dtype_of<T>)}), index);
  for (const jit::CpuTarget& cpu : cpu_levels()) {
    const auto code = compile(b.nest, cpu);
    for (const T divisor : divisors) {
      std::vector<T> quotients(x.size());
      run(b.nest, code->entry(), {x.data(), quotients.data()}, {scalar_bits(divisor)});
      for (std::size_t k = 0; k < x.size(); ++k) {
        const T want = x[k] / divisor;
        INFO(x[k], " / ", divisor, " gives ", quotients[k], " with vectors of ", cpu.vector_bytes, " bytes");
        REQUIRE((std::isnan(want) ? std::isnan(quotients[k]) : std::memcmp(&want, &quotients[k], sizeof want) == 0));
      }
    }
  }
}

TEST_CASE("the source is the same from run to run and for other sizes, and lists the fused operations") {
  const jit::CpuTarget cpu = jit::host_cpu();
  const jit::Source one = jit::generate_llvm(simple_nest(13579), cpu), two = jit::generate_llvm(simple_nest(4), cpu);
  CHECK(one.text == two.text);
  CHECK(one.text.find("13579") == std::string::npos);
  CHECK(one.text.find("sin(x + c): add sin") != std::string::npos);
  CHECK(one.entry == "map_add_sin");
  CHECK(one.target == "cpu:" + cpu.arch + " " + cpu.features);
  CHECK(jit::generate_llvm(softmax_nest(3, 4, Lanes::row), cpu).text == jit::generate_llvm(softmax_nest(300, 999, Lanes::row), cpu).text);
}
