// Bodies under each other's gravity, in leapfrog steps.
#include "example.hpp"

namespace sn = sinter;
using sn::newaxis, sn::Slice;

namespace {

// --- the program
sn::Tensor acceleration(const sn::Tensor& x, const sn::Tensor& mass) {
  const sn::Tensor apart = x(newaxis) - x(Slice{}, newaxis);  // (n, n, 3): from each to each
  const sn::Tensor pull = mass * sn::power(sn::sum(apart * apart, -1) + 0.01, -1.5);
  return sn::sum(apart * pull(sn::ellipsis, newaxis), 1);
}

sn::Tensor orbit(sn::Tensor x, sn::Tensor v, const sn::Tensor& mass, double dt, int steps) {
  sn::Tensor a = acceleration(x, mass);
  for (int step = 0; step < steps; ++step) {
    v += a * (dt / 2);
    x += v * dt;
    a = acceleration(x, mass);
    v += a * (dt / 2);
    sn::eval(x, v, a);
  }
  return x;
}
// ---

std::vector<double> pulls(const std::vector<double>& x, const std::vector<double>& mass) {
  std::vector<double> a(x.size());
  for (std::size_t i = 0; i < mass.size(); ++i)
    for (std::size_t j = 0; j < mass.size(); ++j) {
      const double d[3] = {x[3 * j] - x[3 * i], x[3 * j + 1] - x[3 * i + 1], x[3 * j + 2] - x[3 * i + 2]};
      const double pull = mass[j] * std::pow(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01, -1.5);
      for (std::size_t k = 0; k < 3; ++k) a[3 * i + k] += d[k] * pull;
    }
  return a;
}

std::vector<double> plain(std::vector<double> x, std::vector<double> v, const std::vector<double>& mass, double dt, int steps) {
  auto a = pulls(x, mass);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      v[k] += a[k] * (dt / 2);
      x[k] += v[k] * dt;
    }
    a = pulls(x, mass);
    for (std::size_t k = 0; k < x.size(); ++k) v[k] += a[k] * (dt / 2);
  }
  return x;
}

int fly(bool full) {
  const std::int64_t n = full ? 512 : 40;
  const int steps = full ? 20 : 10;
  const sn::DType real = sn::DType::float64;
  const sn::Tensor x = example::numbers({n, 3}, 1, real), v = example::numbers({n, 3}, 7, real) * 0.1, mass = sn::abs(example::numbers({n}, 3, real)) / n;
  const sn::Tensor end = example::measured([&] { return orbit(x, v, mass, 0.01, steps); });
  example::Checks checks;
  checks.close<double, double>("places against plain loops", end.data<double>(),
                               plain(x.to_vector<double>(), v.to_vector<double>(), mass.to_vector<double>(), 0.01, steps), 1e-12);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return fly(example::full_size(argc, argv)); });
}
