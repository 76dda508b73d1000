// Filters an image: a Gaussian blur in two passes, the length of the gradient, and the edges that follow from it.
#include "example.hpp"

namespace sn = sinter;
using sn::Slice;

namespace {

// --- the program
sn::Tensor along(const sn::Tensor& x, std::int64_t axis, const std::vector<float>& taps) {
  const auto reach = static_cast<std::int64_t>(taps.size()) / 2;
  const sn::Tensor wide = sn::pad(x,
                                  {axis == 0 ? std::pair(reach, reach) : std::pair<std::int64_t, std::int64_t>(0, 0),
                                   axis == 1 ? std::pair(reach, reach) : std::pair<std::int64_t, std::int64_t>(0, 0)},
                                  sn::PadMode::edge);
  sn::Tensor sum = sn::zeros(x.shape(), x.dtype());
  for (std::int64_t k = 0; k <= 2 * reach; ++k) {
    const Slice shifted{k, k + x.size(static_cast<int>(axis))};
    sum = sum + taps[static_cast<std::size_t>(k)] * (axis == 0 ? wide(shifted) : wide(Slice{}, shifted));
  }
  return sum;
}

sn::Tensor edges(const sn::Tensor& image) {
  const std::vector<float> gauss{1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f}, slope{-1, 0, 1}, smooth{1, 2, 1};
  const sn::Tensor blurred = along(along(image, 0, gauss), 1, gauss);
  const sn::Tensor steep = sn::hypot(along(along(blurred, 0, smooth), 1, slope), along(along(blurred, 0, slope), 1, smooth));
  return sn::where(steep > 2 * sn::mean(steep), 1.f, 0.f);
}
// ---

std::vector<double> plain_along(const std::vector<double>& x, std::int64_t height, std::int64_t width, bool down, const std::vector<double>& taps) {
  std::vector<double> out(x.size());
  const auto reach = static_cast<std::int64_t>(taps.size()) / 2;
  for (std::int64_t i = 0; i < height; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      for (std::int64_t k = -reach; k <= reach; ++k) {
        const std::int64_t r = down ? std::clamp<std::int64_t>(i + k, 0, height - 1) : i, c = down ? j : std::clamp<std::int64_t>(j + k, 0, width - 1);
        out[static_cast<std::size_t>(i * width + j)] += taps[static_cast<std::size_t>(k + reach)] * x[static_cast<std::size_t>(r * width + c)];
      }
  return out;
}

int filter(bool full) {
  const std::int64_t height = full ? 1080 : 60, width = full ? 1920 : 75;
  const sn::Tensor image = example::numbers({height, width}, 1);
  const sn::Tensor out = example::measured([&] { return edges(image); });

  const std::vector<double> gauss{1 / 16., 4 / 16., 6 / 16., 4 / 16., 1 / 16.}, slope{-1, 0, 1}, smooth{1, 2, 1};
  const auto pass = [&](const std::vector<double>& x, bool down, const std::vector<double>& taps) { return plain_along(x, height, width, down, taps); };
  const auto blurred = pass(pass(image.to_vector<double>(), true, gauss), false, gauss);
  const auto dx = pass(pass(blurred, true, smooth), false, slope), dy = pass(pass(blurred, true, slope), false, smooth);
  double mean = 0;
  for (std::size_t k = 0; k < dx.size(); ++k) mean += std::hypot(dx[k], dy[k]) / static_cast<double>(dx.size());
  const auto got = out.data<float>();
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < dx.size(); ++k) {
    const double steep = std::hypot(dx[k], dy[k]);
    if (std::fabs(steep - 2 * mean) > 1e-4 * mean) wrong += (got[k] == 1) != (steep > 2 * mean);  // closer to the threshold, rounding decides
  }
  example::Checks checks;
  checks.holds("edges are those of plain loops", wrong == 0);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return filter(example::full_size(argc, argv)); });
}
