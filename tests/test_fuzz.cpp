// Random programs: the same graph on this executor, fused; on the interpreter; and unfused. All must agree, and a CPU's two executors to
// the bit where they fuse alike. One seed is printed and may be given back as SINTER_TEST_SEED.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

#include "program.hpp"
#include "reference.hpp"

namespace sn = sinter;
using sn::DType;
using sn::Shape;
using sn::Tensor;

namespace {

// Records a random program over fresh leaves; the same seed records the same program.
std::vector<Tensor> program(std::uint32_t seed, DType dtype) {
  std::mt19937 rng(seed);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  const Shape base = [&] {
    const Shape shapes[] = {{37}, {16, 24}, {5, 7, 11}, {2, 3, 4, 6}, {1, 130}, {65, 1}, {3, 2100}};
    return shapes[pick(7)];
  }();
  const bool real = sn::is_floating(dtype);
  std::vector<Tensor> pool;
  for (int k = 0; k < 3; ++k) {
    Shape shape = base;
    if (k > 0)
      for (auto& size : shape)
        if (pick(3) == 0) size = 1;
    pool.push_back(sinter::testing::random(rng, shape, dtype, real ? -2 : -9, real ? 2 : 9).first);
  }
  const auto any = [&]() -> const Tensor& { return pool[pick(pool.size())]; };
  const auto fits = [](const Tensor& a, const Tensor& b) {
    const auto &x = a.shape(), &y = b.shape();
    for (std::size_t k = 1; k <= std::min(x.size(), y.size()); ++k)
      if (x[x.size() - k] != y[y.size() - k] && x[x.size() - k] != 1 && y[y.size() - k] != 1) return false;
    std::int64_t size = std::max(a.size(), b.size());
    return size < 200000;
  };
  const int steps = 4 + static_cast<int>(pick(30));
  for (int step = 0; step < steps; ++step) {
    const Tensor& a = any();
    const Tensor& b = any();
    const Tensor& other = fits(a, b) ? b : a;
    Tensor result;
    switch (pick(real ? 16 : 12)) {
      case 0: result = a + other; break;
      case 1: result = a - other; break;
      case 2: result = real ? sn::tanh(a) * other : (a * other) % 1000; break;
      case 3: result = sn::maximum(a, other); break;
      case 4: result = sn::where(a < other, a, other); break;
      case 5: result = a * 3 - 1; break;
      case 6: result = a.ndim() > 1 ? a.T() : -a; break;
      case 7: result = a.ndim() > 0 && a.size() > 0 ? a.at({sn::ellipsis, sn::Slice{{}, {}, -1}}) : a; break;
      case 8: result = a.reshape({-1}); break;
      case 9: {
        if (a.ndim() == 0 || a.size() == 0) { result = a; break; }
        const auto axis = static_cast<std::int64_t>(pick(static_cast<std::size_t>(a.ndim())));
        const bool keep = pick(2);
        result = pick(2) ? sn::max(a, axis, keep) : (real ? sn::mean(a, axis, keep) : sn::sum(a, axis, keep).astype(dtype) % 1000);
        break;
      }
      case 10: result = sn::minimum(sn::abs(a), 2); break;
      case 11: result = a.size() > 0 && a.ndim() > 0 ? sn::where(a > sn::min(a), a, other) : a; break;
      case 12: result = sn::exp(sn::minimum(a, 1)) + other; break;
      case 13: result = sn::sqrt(sn::abs(a) + 0.5) - other; break;
      case 14: result = a.ndim() > 0 && a.size() > 0 ? sn::softmax(a, -1) : a; break;
      default: result = a / (sn::square(other) + 1.0); break;
    }
    // Values stay small, so that differences stay comparable.
    if (real && pick(3) == 0) result = sn::tanh(result);
    pool.push_back(result);
  }
  std::vector<Tensor> outputs{pool.back()};
  for (std::size_t k = pick(3); k-- > 0;) outputs.push_back(any());
  return outputs;
}

std::vector<std::vector<double>> run(std::uint32_t seed, DType dtype, const sn::Options& options) {
  sn::configure(options);
  const auto outputs = program(seed, dtype);
  sn::eval(outputs);
  std::vector<std::vector<double>> all;
  for (const auto& t : outputs) all.push_back(sinter::testing::values(t));
  return all;
}

}  // namespace

TEST_CASE("random programs agree between executors and with the unfused run") {
  const sn::Options mine = sn::options();
  sn::Options oracle = mine, unfused = mine;
  oracle.device = "cpu";
  oracle.backend = "interpreter";
  oracle.fuse = false;
  unfused.fuse = false;
  sn::Options twin = mine;  // the CPU's other executor
  twin.backend = mine.backend == "llvm" ? "interpreter" : "llvm";
  const char* fixed = std::getenv("SINTER_TEST_SEED");
  const char* rounds = std::getenv("SINTER_FUZZ_ROUNDS");
  const std::uint32_t first = fixed ? static_cast<std::uint32_t>(std::strtoul(fixed, nullptr, 10)) : std::random_device{}();
  const int count = fixed ? 1 : rounds ? std::atoi(rounds) : sinter::testing::on_cuda() ? 6 : 60;
  const std::uint64_t compiled = sn::counters().kernels_launched;
  for (int k = 0; k < count; ++k) {
    const std::uint32_t seed = first + static_cast<std::uint32_t>(k);
    for (const DType dtype : {DType::float64, DType::float32, DType::int64, DType::int32}) {
      INFO("SINTER_TEST_SEED=" << seed << " dtype " << std::string(sn::name(dtype)));
      const auto want = run(seed, dtype, oracle), got = run(seed, dtype, mine);
      // The unfused run compiles one kernel per op: every fourth program.
      const auto apart = k % 4 == 0 ? run(seed, dtype, unfused) : got;
      if (!sinter::testing::on_cuda()) {
        const auto same_bits = run(seed, dtype, twin);
        REQUIRE(same_bits.size() == got.size());
        for (std::size_t o = 0; o < got.size(); ++o)
          for (std::size_t i = 0; i < got[o].size(); ++i) {
            const double x = got[o][i], y = same_bits[o][i];
            const bool equal = std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
            if (!equal) {
              INFO("output ", o, " element ", i, ": ", x, " on ", mine.backend, ", ", y, " on ", twin.backend);
              REQUIRE(equal);
            }
          }
      }
      sn::configure(mine);
      REQUIRE(got.size() == want.size());
      for (std::size_t o = 0; o < want.size(); ++o) {
        REQUIRE(got[o].size() == want[o].size());
        for (std::size_t i = 0; i < want[o].size(); ++i) {
          const double w = want[o][i];
          const double slack = dtype == DType::float64 ? 1e-9 : dtype == DType::float32 ? 2e-3 : 0;
          const bool same = (std::isnan(w) && std::isnan(got[o][i])) || std::abs(got[o][i] - w) <= slack * (1 + std::abs(w));
          const bool same_apart = (std::isnan(w) && std::isnan(apart[o][i])) || std::abs(apart[o][i] - w) <= slack * (1 + std::abs(w));
          if (!same || !same_apart) {
            CAPTURE(o);
            CAPTURE(i);
            CAPTURE(w);
            CAPTURE(got[o][i]);
            CAPTURE(apart[o][i]);
            REQUIRE(same);
            REQUIRE(same_apart);
          }
        }
      }
    }
  }
  CHECK(sn::counters().kernels_launched > compiled);
}

int main(int argc, char** argv) { return sinter::testing::run_tests(argc, argv); }
