// The Mandelbrot set: counts the steps of z = z^2 + c after which each point has left the circle of radius 2.
#include "example.hpp"

namespace sn = sinter;
using sn::newaxis, sn::Slice;

namespace {

// --- the program
sn::Tensor mandelbrot(std::int64_t height, std::int64_t width, int steps) {
  const sn::Tensor cr = sn::linspace(-2.0, 0.5, width), ci = sn::linspace(-1.25, 1.25, height)(Slice{}, newaxis);
  sn::Tensor zr = sn::zeros({height, width}), zi = zr, count = sn::zeros({height, width}, sn::DType::int32);
  for (int step = 0; step < steps; ++step) {
    const sn::Tensor inside = zr * zr + zi * zi <= 4;
    const sn::Tensor next = zr * zr - zi * zi + cr;
    zi = sn::where(inside, 2 * zr * zi + ci, zi);
    zr = sn::where(inside, next, zr);
    count = count + inside;
  }
  return count;
}
// ---

std::vector<int> plain(std::int64_t height, std::int64_t width, int steps, const std::vector<double>& cr, const std::vector<double>& ci) {
  std::vector<int> counts;
  for (std::int64_t i = 0; i < height; ++i)
    for (std::int64_t j = 0; j < width; ++j) {
      double x = 0, y = 0;
      int count = 0;
      for (; count < steps && x * x + y * y <= 4; ++count) {
        const double next = x * x - y * y + cr[static_cast<std::size_t>(j)];
        y = 2 * x * y + ci[static_cast<std::size_t>(i)];
        x = next;
      }
      counts.push_back(count);
    }
  return counts;
}

int draw(bool full) {
  const std::int64_t height = full ? 1000 : 60, width = full ? 1000 : 90;
  const int steps = full ? 100 : 50;
  const sn::Tensor counts = example::measured([&] { return mandelbrot(height, width, steps); });
  const auto expected = plain(height, width, steps, sn::linspace(-2.0, 0.5, width).to_vector<double>(), sn::linspace(-1.25, 1.25, height).to_vector<double>());
  // At the edge of the set a fused multiply-add may move a point out a step earlier.
  const auto got = counts.data<std::int32_t>();
  std::size_t others = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) others += got[k] != expected[k];
  example::Checks checks;
  std::printf("  %zu of %zu points differ from plain loops\n", others, expected.size());
  checks.holds("counts are those of plain loops", others * 500 <= expected.size());
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return draw(example::full_size(argc, argv)); });
}
