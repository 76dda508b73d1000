// The operations between the matrix products of a transformer block: bias, gelu, residual and layer_norm, as one kernel that reads each row once.
#include <Eigen/Core>
#include <random>
#include <string>
#include <vector>

#include "example.hpp"
#include "sinter/eigen.hpp"

namespace sn = sinter;

namespace {

using Rows = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::Array<float, 1, Eigen::Dynamic>;

struct Block {
  Rows x, residual;
  Row bias, weight, shift;
};

/// Makes one pass over memory for each operation, as library code without fusion does.
Rows eigen_passes(const Block& b, float eps) {
  Rows biased = b.x.rowwise() + b.bias;
  Rows gelu = 0.5f * biased * (1 + (biased * std::sqrt(0.5f)).unaryExpr([](float v) { return std::erf(v); }));
  Rows sum = b.residual + gelu;
  const Eigen::ArrayXf mean = sum.rowwise().mean();
  Rows centred = sum.colwise() - mean;
  const Eigen::ArrayXf scale = (centred.square().rowwise().mean() + eps).rsqrt();
  Rows normal = centred.colwise() * scale;
  return (normal.rowwise() * b.weight).rowwise() + b.shift;
}

std::vector<double> reference(const Block& b, double eps) {
  const auto rows = b.x.rows(), columns = b.x.cols();
  std::vector<double> out(static_cast<std::size_t>(rows * columns));
  for (Eigen::Index i = 0; i < rows; ++i) {
    double* row = out.data() + i * columns;
    double mean = 0, variance = 0;
    for (Eigen::Index j = 0; j < columns; ++j) {
      const double v = static_cast<double>(b.x(i, j)) + b.bias(j);
      row[j] = b.residual(i, j) + 0.5 * v * (1 + std::erf(v * std::sqrt(0.5)));
      mean += row[j] / static_cast<double>(columns);
    }
    for (Eigen::Index j = 0; j < columns; ++j) variance += (row[j] - mean) * (row[j] - mean) / static_cast<double>(columns);
    for (Eigen::Index j = 0; j < columns; ++j) row[j] = (row[j] - mean) / std::sqrt(variance + eps) * b.weight(j) + b.shift(j);
  }
  return out;
}

int normalise() {
  const Eigen::Index tokens = 2048, width = 1024;
  const float eps = 1e-5f;
  std::mt19937 random(2017);
  std::normal_distribution<float> normal;
  const auto draw = [&](Eigen::Index rows, Eigen::Index columns, float mean, float spread) {
    Rows values(rows, columns);
    for (Eigen::Index k = 0; k < values.size(); ++k) values.data()[k] = mean + spread * normal(random);
    return values;
  };
  const Block block{draw(tokens, width, 0, 1), draw(tokens, width, 0, 1), draw(1, width, 0, 0.1f), draw(1, width, 1, 0.1f), draw(1, width, 0, 0.1f)};
  const auto x = sn::from_eigen(block.x), residual = sn::from_eigen(block.residual), bias = sn::from_eigen(block.bias), weight = sn::from_eigen(block.weight),
             shift = sn::from_eigen(block.shift);

  sn::Tensor y;
  const auto compute = [&] {
    y = sn::layer_norm(residual + sn::gelu(x + bias), weight, shift, eps);
    sn::eval(y);
  };
  std::printf("Transformer block, %d tokens of width %d\n", static_cast<int>(tokens), static_cast<int>(width));
  const auto before = sn::counters();
  const double first = example::best_ms(1, compute);
  const auto kernels = sn::counters().kernels_launched - before.kernels_launched;
  const double warm = example::best_ms(10, compute);
  example::print_counters();
  std::printf("%s", sn::explain(y).c_str());

  Rows passes;
  const double eigen = example::best_ms(3, [&] { passes = eigen_passes(block, eps); });
  std::printf("  first call %.1f ms, then %.2f ms; Eigen, one pass for each operation, %.1f ms: %.1f times as long\n", first, warm, eigen, eigen / warm);

  example::Checks checks;
  const auto expected = reference(block, eps);
  checks.close<float, double>("normalised rows against float64", y.data<float>(), expected, 2e-5);
  checks.close<float, double>("Eigen's passes against float64", std::span<const float>(passes.data(), expected.size()), expected, 2e-5);
  checks.holds("one kernel does it all", kernels == 1 || !sn::options().fuse);
  return checks.exit_code();
}

}  // namespace

int main() { return example::run(normalise); }
