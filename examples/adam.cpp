// Adam: trains a logistic regression, whose gradient is written by hand, with running means of the gradient and of its square.
#include "example.hpp"

namespace sn = sinter;

namespace {

// --- the program
sn::Tensor adam(const sn::Tensor& x, const sn::Tensor& y, int steps) {
  sn::Tensor w = sn::zeros({x.size(1)}, sn::DType::float32), m = w, v = w;
  for (int step = 1; step <= steps; ++step) {
    const sn::Tensor gradient = sn::matmul(x.T(), sn::sigmoid(sn::matmul(x, w)) - y) / x.size(0);
    m = 0.9f * m + 0.1f * gradient;
    v = 0.999f * v + 0.001f * sn::square(gradient);
    w -= 0.05f * (m / (1 - std::pow(0.9f, step))) / (sn::sqrt(v / (1 - std::pow(0.999f, step))) + 1e-8f);
    sn::eval(w, m, v);
  }
  return w;
}
// ---

std::vector<double> plain(const std::vector<float>& x, const std::vector<float>& y, std::size_t features, int steps) {
  std::vector<double> w(features), m(features), v(features);
  for (int step = 1; step <= steps; ++step) {
    std::vector<double> gradient(features);
    for (std::size_t row = 0; row < y.size(); ++row) {
      double z = 0;
      for (std::size_t k = 0; k < features; ++k) z += x[row * features + k] * w[k];
      const double error = 1 / (1 + std::exp(-z)) - y[row];
      for (std::size_t k = 0; k < features; ++k) gradient[k] += x[row * features + k] * error / static_cast<double>(y.size());
    }
    for (std::size_t k = 0; k < features; ++k) {
      m[k] = 0.9 * m[k] + 0.1 * gradient[k];
      v[k] = 0.999 * v[k] + 0.001 * gradient[k] * gradient[k];
      w[k] -= 0.05 * (m[k] / (1 - std::pow(0.9, step))) / (std::sqrt(v[k] / (1 - std::pow(0.999, step))) + 1e-8);
    }
  }
  return w;
}

int train(bool full) {
  const std::int64_t rows = full ? 20'000 : 500, features = full ? 200 : 12;
  const int steps = full ? 50 : 20;
  const sn::Tensor x = example::numbers({rows, features}, 1), truth = example::numbers({features}, 9);
  const sn::Tensor y = (sn::matmul(x, truth) > 0).astype(sn::DType::float32);
  const sn::Tensor w = example::measured([&] { return adam(x, y, steps); });
  example::Checks checks;
  checks.close<float, double>("weights against plain loops", w.data<float>(),
                              plain(x.to_vector<float>(), y.to_vector<float>(), static_cast<std::size_t>(features), steps), 1e-4);
  const double right = sn::mean(((sn::matmul(x, w) > 0) == (y > 0)).astype(sn::DType::float64)).item<double>();
  checks.holds("nine of ten rows are told right", right > 0.9);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return train(example::full_size(argc, argv)); });
}
