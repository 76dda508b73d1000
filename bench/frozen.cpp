// Measures the cost of a call of a frozen function beside the same formula recorded anew, on one thread. The tensors are so small that the steps cost
// nothing: chains of 1 to 64 steps, each a kernel, and small multilayer perceptrons.
//   bench_frozen
#include <fmt/format.h>

#include <functional>
#include <vector>

#include "bench.hpp"
#include "sinter/freeze.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
using sn::Tensor;

namespace {

/// Each step is a kernel of its own.
Tensor chain(Tensor x, int steps) {
  for (int k = 0; k < steps; ++k) x = sn::contiguous(sn::transpose(x) * 0.5f);
  return x;
}

struct Layer {
  Tensor weight, bias;
};
Tensor perceptron(Tensor x, const std::vector<Layer>& layers) {
  for (const Layer& layer : layers) x = sn::relu(sn::matmul(x, layer.weight) + layer.bias);
  return x;
}

double fastest(const std::function<void()>& work) {
  std::vector<double> rounds;
  constexpr int kTimes = 200;
  for (int round = 0; round < 60; ++round)
    rounds.push_back(bench::seconds([&] {
                       for (int k = 0; k < kTimes; ++k) work();
                     }) /
                     kTimes * 1e6);
  return bench::minimum(rounds);
}

struct Measured {
  int steps;
  double frozen;
};

Measured report(const char* name, const sn::Function& function, const std::function<Tensor(const Tensor&)>& formula, const Tensor& x) {
  function(x);
  sn::eval(formula(x));
  const double frozen = fastest([&] { function(x); }), recorded = fastest([&] { sn::eval(formula(x)); });
  const sn::FrozenFigures figures = function.figures().front();
  const int steps = figures.kernels + figures.library_calls;
  fmt::print("{:24} {:3} steps  {:8.2f} us frozen  {:8.2f} us recorded ({:4.1f}x)  {:6} bytes of intermediate values, at least {}, {} without reuse\n", name,
             steps, frozen, recorded, recorded / frozen, figures.arena_bytes, figures.least_bytes, figures.apart_bytes);
  return {steps, frozen};
}

}  // namespace

int main() {
  sn::Options options = sn::options();
  options.threads = 1;
  options.wait = true;
  sn::configure(options);
  const Tensor x = sn::reshape(sn::astype(sn::arange(16), sn::DType::float32), {4, 4});
  sn::eval(x);
  std::vector<Measured> measured;
  for (const int steps : {1, 2, 4, 8, 16, 32, 64})
    measured.push_back(report(
        fmt::format("chain of {}", steps).c_str(), sn::freeze([=](const Tensor& t) { return chain(t, steps); }, {{sn::DType::float32, {4, 4}}}),
        [=](const Tensor& t) { return chain(t, steps); }, x));
  const Measured &first = measured.front(), &last = measured.back();
  const double step = (last.frozen - first.frozen) / (last.steps - first.steps);
  fmt::print("a step {:.3f} us, the rest of a call {:.2f} us\n", step, first.frozen - step * first.steps);
  for (const int depth : {2, 8}) {
    std::vector<Layer> layers;
    for (int k = 0; k < depth; ++k) layers.push_back({x * 0.1f, x(0)});
    for (const Layer& layer : layers) sn::eval(layer.weight, layer.bias);
    report(
        fmt::format("perceptron of {} layers", depth).c_str(),
        sn::freeze([=](const Tensor& t) { return perceptron(t, layers); }, {{sn::DType::float32, {"n", 4}}}),
        [=](const Tensor& t) { return perceptron(t, layers); }, x);
  }
}
