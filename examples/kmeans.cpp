// k-means: each point in a plane belongs to the nearest of k centres, and each centre moves to the mean of its points.
#include "example.hpp"

namespace sn = sinter;
using sn::newaxis, sn::Slice;

namespace {

// --- the program
sn::Tensor kmeans(const sn::Tensor& points, sn::Tensor centres, int steps) {
  const std::int64_t k = centres.size(0);
  for (int step = 0; step < steps; ++step) {
    const sn::Tensor apart = sn::sum(sn::square(points(Slice{}, newaxis) - centres(newaxis)), -1);
    const sn::Tensor mine = (sn::argmin(apart, 1)(Slice{}, newaxis) == sn::arange(k)).astype(points.dtype());
    centres = sn::matmul(mine.T(), points) / sn::maximum(sn::sum(mine, 0)(Slice{}, newaxis), 1);
    sn::eval(centres);
  }
  return centres;
}
// ---

std::vector<double> plain(const std::vector<float>& points, std::vector<double> centres, int steps) {
  const std::size_t n = points.size() / 2, k = centres.size() / 2;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> sums(2 * k), counts(k);
    for (std::size_t p = 0; p < n; ++p) {
      std::size_t best = 0;
      double smallest = INFINITY;
      for (std::size_t c = 0; c < k; ++c) {
        const double dx = points[2 * p] - centres[2 * c], dy = points[2 * p + 1] - centres[2 * c + 1];
        if (dx * dx + dy * dy < smallest) smallest = dx * dx + dy * dy, best = c;
      }
      sums[2 * best] += points[2 * p];
      sums[2 * best + 1] += points[2 * p + 1];
      counts[best] += 1;
    }
    for (std::size_t c = 0; c < k; ++c)
      for (std::size_t d = 0; d < 2; ++d) centres[2 * c + d] = sums[2 * c + d] / std::max(counts[c], 1.0);
  }
  return centres;
}

int cluster(bool full) {
  const std::int64_t n = full ? 200'000 : 3000, k = 16;
  const int steps = full ? 20 : 4;
  const sn::Tensor points = example::numbers({n, 2}, 1), start = points(Slice{0, k});
  const sn::Tensor centres = example::measured([&] { return kmeans(points, start, steps); });
  example::Checks checks;
  const auto first = start.to_vector<double>();
  // Rounding may move a point half way between two centres to the other one, so a few of many points may differ.
  checks.close<float, double>("centres against plain loops", centres.data<float>(), plain(points.to_vector<float>(), first, steps), full ? 1e-3 : 1e-4);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return cluster(example::full_size(argc, argv)); });
}
