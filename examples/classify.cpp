// Image classification: a picture through a trained convolutional network.
//   classify MODEL.onnx PICTURE.png [LABELS.txt]
// prints the five likeliest classes. The network takes (batch, 3, 224, 224), as torchvision's do. bench/make_models.py writes some with random weights, whose
// classes mean nothing.
#include <fmt/format.h>

#include <fstream>
#include <sinter/freeze_model.hpp>
#include <sinter/image.hpp>
#include <sinter/model.hpp>
#include <sinter/nn.hpp>
#include <sinter/sinter.hpp>
#include <string>
#include <vector>

namespace sn = sinter;

namespace {

/// Turns (rows, columns[, channels]) of bytes into (1, 3, 224, 224): scales the shorter side to 256, takes the middle, and normalises each channel by
/// ImageNet's mean and deviation.
sn::Tensor prepared(const sn::Tensor& picture) {
  sn::Tensor x = picture.astype(sn::DType::float32) / 255.f;
  if (x.ndim() == 2) x = sn::stack({x, x, x}, -1);
  x = sn::permute(x(sn::Slice{}, sn::Slice{}, sn::Slice{0, 3}), {2, 0, 1});
  const std::int64_t rows = x.size(1), columns = x.size(2), shorter = std::min(rows, columns);
  const std::int64_t height = rows * 256 / shorter, width = columns * 256 / shorter;
  x = sn::resize(sn::expand_dims(x, 0), {height, width}, {.mode = sn::Interpolation::linear});
  const std::int64_t top = (height - 224) / 2, left = (width - 224) / 2;
  x = x(sn::Slice{}, sn::Slice{}, sn::Slice{top, top + 224}, sn::Slice{left, left + 224});
  const sn::Tensor mean = sn::reshape(sn::Tensor{0.485f, 0.456f, 0.406f}, {3, 1, 1}), deviation = sn::reshape(sn::Tensor{0.229f, 0.224f, 0.225f}, {3, 1, 1});
  return (x - mean) / deviation;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "classify MODEL.onnx PICTURE.png [LABELS.txt]\n");
    return 2;
  }
  try {
    const sn::Model model = sn::Model::load(argv[1]);
    const sn::Function network = sn::freeze(model, {{"batch", {1}}});
    const sn::Tensor scores = sn::softmax(network({prepared(sn::load_image(argv[2]))})[0], -1)(0);
    const auto [likeliest, classes] = sn::topk(scores, 5);
    std::vector<std::string> labels;
    if (argc > 3) {
      std::ifstream file(argv[3]);
      for (std::string line; std::getline(file, line);) labels.push_back(line);
    }
    const auto chances = likeliest.to_vector<float>();
    const auto numbers = classes.to_vector<std::int64_t>();
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const auto number = static_cast<std::size_t>(numbers[k]);
      fmt::print("{:5.1f} %  {}\n", 100 * chances[k], number < labels.size() ? labels[number] : fmt::format("class {}", number));
    }
  } catch (const sn::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
