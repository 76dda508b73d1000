// A square plate whose rim is kept cold: Jacobi steps of the heat equation, each point becoming the mean of its neighbours.
#include <numbers>
#include <vector>

#include "example.hpp"

namespace sn = sinter;
using sn::Slice;

namespace {

constexpr std::int64_t kSize = 512;
constexpr int kSteps = 200;
constexpr int kStepsPerEval = 4;

/// The neighbours at distance `by` along an axis, the first following the last: NumPy's roll, as a view. The array is repeated
/// and a window of its own size is taken; only the index of a read changes.
sn::Tensor rolled(const sn::Tensor& u, int axis, std::int64_t by) {
  const std::int64_t n = u.size(axis);
  sn::Shape twice = u.shape(), folded = u.shape();
  twice.insert(twice.begin() + axis, 2);
  folded[static_cast<std::size_t>(axis)] *= 2;
  const auto repeated = sn::reshape(sn::broadcast_to(sn::expand_dims(u, axis), twice), folded);
  const Slice window{n - by, 2 * n - by};
  return axis == 0 ? repeated(window) : repeated(Slice{}, window);
}

/// One step on the interior; the rim keeps its value.
sn::Tensor step(const sn::Tensor& u, const sn::Tensor& inside) {
  auto neighbours = rolled(u, 0, 1) + rolled(u, 0, kSize - 1) + rolled(u, 1, 1) + rolled(u, 1, kSize - 1);
  return sn::where(inside, 0.25 * neighbours, u);
}

void plain_step(const std::vector<double>& from, std::vector<double>& to) {
  for (std::int64_t i = 1; i + 1 < kSize; ++i)
    for (std::int64_t j = 1; j + 1 < kSize; ++j) {
      const auto at = static_cast<std::size_t>(i * kSize + j);
      to[at] = 0.25 * (from[at - kSize] + from[at + kSize] + from[at - 1] + from[at + 1]);
    }
}

int cool() {
  // The slowest mode of the plate: each Jacobi step multiplies it by cos(pi / (n - 1)), exactly.
  const double h = std::numbers::pi / static_cast<double>(kSize - 1);
  auto ramp = sn::sin(sn::arange(kSize) * h);
  const auto start = sn::expand_dims(ramp, 1) * sn::expand_dims(ramp, 0) + 0.25 * sn::sin(7 * h * sn::expand_dims(sn::arange(kSize), 1)) * sn::sin(9 * h * sn::arange(kSize));
  const auto position = sn::arange(kSize);
  const auto within = (position > 0) & (position < kSize - 1);
  const auto inside = sn::expand_dims(within, 1) & sn::expand_dims(within, 0);
  sn::eval(start, inside);
  std::printf("Heat, %d Jacobi steps on %d x %d\n", kSteps, static_cast<int>(kSize), static_cast<int>(kSize));
  example::print_counters();

  sn::Tensor u;
  const auto compute = [&] {
    u = start;
    for (int k = 0; k < kSteps; ++k) {
      u = step(u, inside);
      if ((k + 1) % kStepsPerEval == 0) sn::eval(u);
    }
    sn::eval(u);
  };
  const double first = example::best_ms(1, compute), warm = example::best_ms(2, compute);
  example::print_counters();

  std::vector<double> a, b;
  const double loop = example::best_ms(2, [&] {
    a = b = start.to_vector<double>();
    for (int k = 0; k < kSteps; ++k) {
      plain_step(a, b);
      std::swap(a, b);
    }
  });
  const std::int64_t middle = kSize / 2 * kSize + kSize / 2;
  std::printf("  in the middle: %.6f at the start, %.6f now\n", start.data<double>()[static_cast<std::size_t>(middle)],
              u.data<double>()[static_cast<std::size_t>(middle)]);
  std::printf("  first run %.0f ms, then %.0f ms; plain loops %.0f ms: %.2f times as long\n", first, warm, loop, loop / warm);

  example::Checks checks;
  checks.close<double, double>("temperatures against plain loops", u.data<double>(), a, 1e-13);
  const double slow = std::pow(std::cos(h), kSteps), fast = std::pow(0.5 * (std::cos(7 * h) + std::cos(9 * h)), kSteps);
  auto exact = slow * (sn::expand_dims(ramp, 1) * sn::expand_dims(ramp, 0)) +
               fast * 0.25 * sn::sin(7 * h * sn::expand_dims(sn::arange(kSize), 1)) * sn::sin(9 * h * sn::arange(kSize));
  checks.close("temperatures against the exact decay", sn::max(sn::abs(u - exact)).item<double>(), 0, 1e-12);
  return checks.exit_code();
}

}  // namespace

int main() { return example::run(cool); }
