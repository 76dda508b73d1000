// A user's program over an installed sinter; its exit code says whether the result is right.
#include <cmath>
#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;

int main() {
  const sn::Tensor x = {{1.f, 2.f, 3.f}, {-1.f, 0.f, 1.f}};
  const sn::Tensor y = sn::softmax(x * 2.f + 1.f, -1);
  const double want = std::exp(4.0) / (1 + std::exp(2.0) + std::exp(4.0));
  const auto got = y.to_vector<float>();
  std::printf("sinter %s: %.7f, expected %.7f\n%s", std::string(sn::version()).c_str(), got[2], want, sn::explain(y).c_str());
  try {
    sn::eval(x + sn::zeros({4}, sn::DType::float32));
    return 2;
  } catch (const sn::ShapeError&) {  // the library's exception types can be caught here
  }
  return std::abs(got[2] - want) < 1e-6 && std::abs(got[5] - want) < 1e-6 && std::abs(got[0] + got[1] + got[2] - 1) < 1e-6 ? 0 : 1;
}
