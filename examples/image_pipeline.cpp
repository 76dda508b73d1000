// Develops a photograph: tone curve, unsharp mask made of shifted slices, vignette, statistics.
//   image_pipeline IN.png|IN.ppm [OUT.png|OUT.ppm]
#include <string>
#include <vector>

#include "example.hpp"

namespace sn = sinter;
using sn::Slice;

namespace {

constexpr float kAmount = 0.8f;    // of sharpening
constexpr float kFalloff = 0.45f;  // of the vignette, at the corners

/// An S-curve: shadows darker, highlights lighter.
sn::Tensor tone_curve(const sn::Tensor& x) { return 0.5f * x + 0.5f * (x * x * (3 - 2 * x)); }

/// Returns x + amount * (x - blurred), where blurred is the 3 x 3 binomial blur, without the border of one pixel.
sn::Tensor unsharp(const sn::Tensor& x) {
  const auto shifted = [&](int dy, int dx) {
    const auto along = [](int d) { return Slice{1 + d, d == 1 ? std::optional<std::int64_t>{} : d - 1}; };
    return x(along(dy), along(dx));
  };
  auto blurred = 4.f * shifted(0, 0);
  for (int d : {-1, 1}) blurred = blurred + 2.f * (shifted(0, d) + shifted(d, 0)) + shifted(d, -1) + shifted(d, 1);
  return shifted(0, 0) + kAmount * (shifted(0, 0) - blurred / 16.f);
}

/// Returns light that falls off with the squared distance from the centre, of shape (height, width, 1).
sn::Tensor vignette(std::int64_t height, std::int64_t width) {
  const auto centred = [](std::int64_t n) { return sn::astype(sn::arange(n), sn::DType::float32) / (0.5f * static_cast<float>(n - 1)) - 1.f; };
  auto y = sn::expand_dims(centred(height), {1, 2}), x = sn::expand_dims(centred(width), {0, 2});
  return 1.f - (0.5f * kFalloff) * (x * x + y * y);
}

/// Returns three channels of any kind of picture: gray is repeated, alpha is dropped.
sn::Tensor colours(const sn::Tensor& image) {
  const bool gray = image.ndim() == 2 || image.size(2) < 3;
  const sn::Tensor channels = image.ndim() == 2 ? sn::expand_dims(image, 2) : image(sn::ellipsis, Slice{0, gray ? 1 : 3});
  return sn::broadcast_to(channels, {image.size(0), image.size(1), 3});
}

std::vector<double> reference(const sn::Tensor& picture) {
  const auto h = picture.size(0), w = picture.size(1);
  const auto pixels = picture.to_vector<std::uint8_t>();
  const auto toned = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
    const double v = pixels[static_cast<std::size_t>((y * w + x) * 3 + c)] / 255.0;
    return 0.5 * v + 0.5 * (v * v * (3 - 2 * v));
  };
  const double weights[3] = {1, 2, 1};
  std::vector<double> out;
  for (std::int64_t y = 1; y + 1 < h; ++y)
    for (std::int64_t x = 1; x + 1 < w; ++x)
      for (std::int64_t c = 0; c < 3; ++c) {
        double blurred = 0;
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) blurred += weights[dy + 1] * weights[dx + 1] * toned(y + dy, x + dx, c) / 16;
        const double sharp = toned(y, x, c) + 0.8 * (toned(y, x, c) - blurred);
        const double v = 2.0 * static_cast<double>(y - 1) / static_cast<double>(h - 3) - 1,
                     u = 2.0 * static_cast<double>(x - 1) / static_cast<double>(w - 3) - 1;
        out.push_back(std::clamp(sharp * (1 - 0.225 * (u * u + v * v)), 0.0, 1.0));
      }
  return out;
}

int develop(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s IN.png|IN.ppm [OUT.png|OUT.ppm]\n", argv[0]);
    return 2;
  }
  const sn::Tensor picture = colours(sn::load_image(argv[1]));
  if (picture.dtype() != sn::DType::uint8) throw sn::ValueError("a picture of 8 bits a channel is needed");
  const std::int64_t height = picture.size(0), width = picture.size(1);
  if (width < 4 || height < 4) throw sn::ValueError("a picture of 4 x 4 pixels or more is needed");
  sn::eval(picture);

  sn::Tensor out, bytes, mean, spread, brightest, clipped;
  const auto compute = [&] {
    auto toned = tone_curve(picture / 255.f);
    out = sn::clip(unsharp(toned) * vignette(height - 2, width - 2), 0.f, 1.f);
    bytes = sn::astype(sn::round(out * 255.f), sn::DType::uint8);
    mean = sn::mean(out, {0, 1});
    spread = sn::stddev(out, {0, 1});
    brightest = sn::max(out);
    clipped = sn::mean(sn::astype(out >= 1.f, sn::DType::float32));
    sn::eval(out, bytes, mean, spread, brightest, clipped);
  };
  std::printf("Image pipeline, %s: %d x %d\n", argv[1], static_cast<int>(width), static_cast<int>(height));
  const double first = example::best_ms(1, compute), warm = example::best_ms(10, compute);
  example::print_counters();

  std::vector<double> expected;
  const double loop = example::best_ms(3, [&] { expected = reference(picture); });
  const auto means = mean.to_vector<float>(), spreads = spread.to_vector<float>();
  std::printf("  red %.3f +- %.3f, green %.3f +- %.3f, blue %.3f +- %.3f; brightest %.3f, %.2f%% clipped\n", means[0], spreads[0], means[1], spreads[1],
              means[2], spreads[2], brightest.item<float>(), 100 * clipped.item<float>());
  std::printf("  first call %.1f ms, then %.2f ms; plain loops in float64 %.1f ms: %.1f times as long\n", first, warm, loop, loop / warm);

  const std::string target = argc > 2 ? argv[2] : "developed.ppm";
  sn::save_image(target, bytes);
  std::printf("  wrote %s\n", target.c_str());

  example::Checks checks;
  checks.close<float, double>("pixels against float64", out.data<float>(), expected, 2e-6);
  double sums[3] = {}, squares[3] = {};
  for (std::size_t k = 0; k < expected.size(); ++k) sums[k % 3] += expected[k];
  const double count = static_cast<double>(expected.size()) / 3;
  for (std::size_t k = 0; k < expected.size(); ++k) squares[k % 3] += std::pow(expected[k] - sums[k % 3] / count, 2);
  for (int c = 0; c < 3; ++c) {
    checks.close("mean of a channel", means[static_cast<std::size_t>(c)], sums[c] / count, 2e-6);
    checks.close("standard deviation of a channel", spreads[static_cast<std::size_t>(c)], std::sqrt(squares[c] / count), 2e-6);
  }
  checks.holds("the picture written reads back the same", sn::all(sn::load_image(target) == bytes).item<bool>());
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return develop(argc, argv); });
}
