// An LSTM cell over a sequence: four gates come from one product, and a state and an output are carried from step to step.
#include "example.hpp"

namespace sn = sinter;

namespace {

// --- the program
sn::Tensor lstm(const sn::Tensor& x, const sn::Tensor& w, const sn::Tensor& u, const sn::Tensor& b) {
  sn::Tensor h = sn::zeros({x.size(1), u.size(0)}, x.dtype()), c = h;
  for (std::int64_t t = 0; t < x.size(0); ++t) {
    const auto gates = sn::split(sn::matmul(x(t), w) + sn::matmul(h, u) + b, 4, 1);
    c = sn::sigmoid(gates[1]) * c + sn::sigmoid(gates[0]) * sn::tanh(gates[2]);
    h = sn::sigmoid(gates[3]) * sn::tanh(c);
    sn::eval(h, c);
  }
  return h;
}
// ---

std::vector<double> plain(const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& u, const std::vector<float>& b, std::size_t steps,
                          std::size_t batch, std::size_t inputs, std::size_t hidden) {
  std::vector<double> h(batch * hidden), c(batch * hidden);
  const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
  for (std::size_t t = 0; t < steps; ++t) {
    auto next = h;
    for (std::size_t n = 0; n < batch; ++n) {
      std::vector<double> gates(b.begin(), b.end());
      for (std::size_t g = 0; g < 4 * hidden; ++g) {
        for (std::size_t k = 0; k < inputs; ++k) gates[g] += x[(t * batch + n) * inputs + k] * w[k * 4 * hidden + g];
        for (std::size_t k = 0; k < hidden; ++k) gates[g] += h[n * hidden + k] * u[k * 4 * hidden + g];
      }
      for (std::size_t k = 0; k < hidden; ++k) {
        double& state = c[n * hidden + k];
        state = sigmoid(gates[hidden + k]) * state + sigmoid(gates[k]) * std::tanh(gates[2 * hidden + k]);
        next[n * hidden + k] = sigmoid(gates[3 * hidden + k]) * std::tanh(state);
      }
    }
    h = next;
  }
  return h;
}

int read(bool full) {
  const std::int64_t steps = full ? 50 : 6, batch = full ? 64 : 3, inputs = full ? 128 : 5, hidden = full ? 256 : 7;
  const sn::Tensor x = example::numbers({steps, batch, inputs}, 1), w = example::numbers({inputs, 4 * hidden}, 2) * 0.1f,
                   u = example::numbers({hidden, 4 * hidden}, 3) * 0.1f, b = example::numbers({4 * hidden}, 4);
  sn::eval(w, u);
  const sn::Tensor h = example::measured([&] { return lstm(x, w, u, b); });
  example::Checks checks;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  checks.close<float, double>(
      "outputs against plain loops", h.data<float>(),
      plain(x.to_vector<float>(), w.to_vector<float>(), u.to_vector<float>(), b.to_vector<float>(), size(steps), size(batch), size(inputs), size(hidden)),
      1e-4);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return read(example::full_size(argc, argv)); });
}
