// The layers of a network with weights of 16 bits: they take half the memory, and the arithmetic is float32.
#include "example.hpp"

namespace sn = sinter;

namespace {

// --- the program
sn::Tensor network(const sn::Tensor& x, const std::vector<sn::Tensor>& weights) {
  sn::Tensor y = x;
  for (const sn::Tensor& w : weights) y = sn::rms_norm(y + sn::gelu(sn::matmul(y, w.astype(sn::DType::float32))));
  return y;
}
// ---

int infer(bool full) {
  const std::int64_t rows = full ? 256 : 6, width = full ? 512 : 24;
  const sn::Tensor x = example::numbers({rows, width}, 1);
  std::vector<sn::Tensor> weights;
  for (int layer = 0; layer < 4; ++layer) weights.push_back((example::numbers({width, width}, 10 + layer) * 0.05f).astype(sn::DType::float16));
  sn::eval(weights);
  const sn::Tensor out = example::measured([&] { return network(x, weights); });

  std::vector<double> y = x.to_vector<double>();
  const auto n = static_cast<std::size_t>(width);
  for (const sn::Tensor& weight : weights) {
    const auto w = weight.to_vector<double>();
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      std::vector<double> next(n);
      double squares = 0;
      for (std::size_t c = 0; c < n; ++c) {
        double z = 0;
        for (std::size_t k = 0; k < n; ++k) z += y[r * n + k] * w[k * n + c];
        next[c] = y[r * n + c] + 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
        squares += next[c] * next[c];
      }
      for (std::size_t c = 0; c < n; ++c) y[r * n + c] = next[c] / std::sqrt(squares / static_cast<double>(n) + 1e-6);
    }
  }
  example::Checks checks;
  checks.close<float, double>("against plain loops in double", out.data<float>(), y, 1e-4);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return infer(example::full_size(argc, argv)); });
}
