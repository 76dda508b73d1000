// An image of bytes: makes it grey with a gamma, stretches it to the full range, and blends it with the colours; integers go in and come out.
#include "example.hpp"

namespace sn = sinter;
using sn::newaxis;

namespace {

// --- the program
sn::Tensor develop(const sn::Tensor& image) {
  const sn::Tensor grey = sn::sum(image * sn::Tensor{0.299f, 0.587f, 0.114f}, -1);
  const sn::Tensor low = sn::min(grey), high = sn::max(grey);
  const sn::Tensor stretched = 255 * sn::sqrt((grey - low) / (high - low));
  const sn::Tensor mixed = 0.75f * image + 0.25f * stretched(sn::ellipsis, newaxis);
  return sn::clip(sn::round(mixed), 0, 255).astype(sn::DType::uint8);
}
// ---

int show(bool full) {
  const std::int64_t height = full ? 1080 : 50, width = full ? 1920 : 70;
  const sn::Tensor image = ((example::numbers({height, width, 3}, 1) + 1) * 127.5f).astype(sn::DType::uint8);
  sn::eval(image);
  const sn::Tensor out = example::measured([&] { return develop(image); });

  const auto bytes = image.to_vector<std::uint8_t>();
  std::vector<double> grey;
  for (std::size_t k = 0; k < bytes.size(); k += 3) grey.push_back(0.299 * bytes[k] + 0.587 * bytes[k + 1] + 0.114 * bytes[k + 2]);
  const auto [low, high] = std::minmax_element(grey.begin(), grey.end());
  int largest = 0;
  const auto got = out.to_vector<std::uint8_t>();
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    const double expected = std::nearbyint(0.75 * bytes[k] + 0.25 * 255 * std::sqrt((grey[k / 3] - *low) / (*high - *low)));
    largest = std::max(largest, std::abs(static_cast<int>(got[k]) - static_cast<int>(expected)));
  }
  example::Checks checks;
  checks.close("bytes against plain loops in double", largest, 0, 1);  // float32 may round a half to the other side
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return show(example::full_size(argc, argv)); });
}
