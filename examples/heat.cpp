// Heat spreads in a plate: a Jacobi step made of shifted slices replaces each point by the mean of its four neighbours. The plate is part of a periodic one
// and begins with a margin as wide as the number of steps; each step uses up one cell of it. So every step has another shape, and all of them use one kernel,
// since sizes are parameters.
#include <numbers>
#include <vector>

#include "example.hpp"

namespace sn = sinter;
using sn::Slice;

namespace {

constexpr std::int64_t kSize = 512;
constexpr int kSteps = 100;

// --- the program
sn::Tensor heat(sn::Tensor u, int steps) {
  const Slice inner{1, -1}, before{0, -2}, after{2, {}};  // the neighbours' mean on the interior: two rows and two columns less
  for (int k = 0; k < steps; ++k) {
    u = 0.25 * (u(before, inner) + u(after, inner) + u(inner, before) + u(inner, after));
    sn::eval(u);
  }
  return u;
}
// ---

void plain_step(const std::vector<double>& from, std::int64_t size, std::vector<double>& to) {
  double* out = to.data();
  for (std::int64_t i = 1; i + 1 < size; ++i) {
    const double *above = from.data() + (i - 1) * size, *row = above + size, *below = row + size;
    for (std::int64_t j = 1; j + 1 < size; ++j) *out++ = 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1]);
  }
}

/// Two standing waves over [-margin, kSize + margin) in both directions, scaled.
sn::Tensor waves(std::int64_t margin, double first, double second) {
  const double unit = 2 * std::numbers::pi / static_cast<double>(kSize);
  const auto t = unit * sn::arange(-margin, kSize + margin);
  const auto x = sn::expand_dims(t, 0), y = sn::expand_dims(t, 1);
  return first * (sn::sin(x) * sn::sin(2 * y)) + second * (sn::cos(7 * x) * sn::sin(9 * y));
}

int spread() {
  const auto start = waves(kSteps, 1, 0.25);
  sn::eval(start);
  std::printf("Heat, %d Jacobi steps down to %d x %d\n", kSteps, static_cast<int>(kSize), static_cast<int>(kSize));
  example::print_counters();

  sn::Tensor u;
  const auto compute = [&] { u = heat(start, kSteps); };
  sn::synchronize();  // kernels may still be compiled in the background
  const auto before = sn::counters();
  const double first = example::best_ms(1, compute);
  sn::synchronize();
  const auto after = sn::counters();
  const double warm = example::best_ms(3, compute);
  example::print_counters();
  example::measured([&] { return heat(start, kSteps); });

  std::vector<double> plain, next(static_cast<std::size_t>(start.size()));
  const double loop = example::best_ms(3, [&] {
    plain = start.to_vector<double>();
    for (int k = 0; k < kSteps; ++k) {
      plain_step(plain, kSize + 2 * (kSteps - k), next);
      plain.swap(next);
    }
  });
  plain.resize(static_cast<std::size_t>(kSize * kSize));
  const auto corner = static_cast<std::size_t>(kSize / 8 * kSize + kSize / 4);
  std::printf("  temperature at (%d, %d): %.6f\n", static_cast<int>(kSize / 8), static_cast<int>(kSize / 4), u.data<double>()[corner]);
  std::printf("  first run %.0f ms, then %.0f ms; plain loops %.0f ms: %.2f times as long\n", first, warm, loop, loop / warm);

  example::Checks checks;
  checks.close<double, double>("temperatures against plain loops", u.data<double>(), plain, 1e-13);
  // A step multiplies a wave of a and b periods by exactly (cos(a h) + cos(b h)) / 2.
  const double h = 2 * std::numbers::pi / static_cast<double>(kSize);
  const auto decay = [&](int a, int b) { return std::pow(0.5 * (std::cos(a * h) + std::cos(b * h)), kSteps); };
  const auto exact = waves(0, decay(1, 2), 0.25 * decay(7, 9));
  checks.close("temperatures against the exact decay", sn::max(sn::abs(u - exact)).item<double>(), 0, 1e-12);
  checks.holds("a hundred shapes compile one kernel at most", after.kernels_compiled - before.kernels_compiled <= 1 || !sn::options().fuse);
  return checks.exit_code();
}

}  // namespace

int main() { return example::run(spread); }
