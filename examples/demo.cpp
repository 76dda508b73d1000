// The main job on a real file: writes a formula, explains what was fused, compares with Eigen in double, and times it. If it runs twice with one cache
// folder, the second run compiles nothing (scripts/demo.sh does that).
//   demo FILE.npy [DUMP_FOLDER]     FILE: two axes, any of sinter's element types
#include <Eigen/Core>
#include <fstream>
#include <iostream>
#include <sinter/eigen.hpp>
#include <sstream>

#include "example.hpp"

namespace sn = sinter;

namespace {

// Elements of any type become float32 here.
sn::Tensor load_float32(const std::string& path) {
  const sn::Tensor file = sn::load_npy(path);
  if (file.dtype() != sn::DType::uint8) return file.astype(sn::DType::float32);
  const auto bytes = file.to_vector<std::uint8_t>();
  return sn::from_span(std::vector<float>(bytes.begin(), bytes.end()), file.shape());
}

// Standardised columns, then a gate and a softmax along each row.
sn::Tensor formula(const sn::Tensor& x) {
  const sn::Tensor u = (x - sn::mean(x, 0)) / (sn::stddev(x, 0) + 1.0f);
  return sn::softmax(sn::gelu(u * 1.5f + 0.25f), -1);
}

Eigen::ArrayXXd reference(const Eigen::ArrayXXd& x) {
  const Eigen::ArrayXXd centred = x.rowwise() - x.colwise().mean();
  const Eigen::Array<double, 1, Eigen::Dynamic> deviation = (centred.square().colwise().mean()).sqrt();
  const Eigen::ArrayXXd v = (centred.rowwise() / (deviation + 1)) * 1.5 + 0.25;
  const Eigen::ArrayXXd gated = v.unaryExpr([](double t) { return 0.5 * t * (1 + std::erf(t / std::sqrt(2.0))); });
  const Eigen::ArrayXXd e = (gated.colwise() - gated.rowwise().maxCoeff()).exp();
  return e.colwise() / e.rowwise().sum();
}

int demo(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: demo FILE.npy [DUMP_FOLDER]\n");
    return 2;
  }
  const sn::Tensor x = load_float32(argv[1]);
  std::printf("%s: %s of %s\n\n", argv[1], std::string(sn::name(x.dtype())).c_str(), sn::to_string(x.shape()).c_str());

  sn::Tensor y = formula(x);  // recorded, not computed
  const double first = example::best_ms(1, [&] { sn::eval(y); });
  std::cout << "softmax(gelu(standardised * 1.5 + 0.25)) =\n" << y << "\n\n" << sn::explain(y) << "\n";

  if (argc > 2) {
    std::string longest;
    for (const auto& path : sn::dump_kernels(y, argv[2])) {
      std::printf("wrote %s\n", path.c_str());
      if (path.ends_with(".nest")) longest = path;
    }
    std::ifstream file(longest);
    std::stringstream text;
    text << file.rdbuf();
    std::printf("\nthe last kernel as a loop nest:\n%s\n", text.str().c_str());
  }

  const Eigen::ArrayXXd plain = sn::to_eigen<Eigen::ArrayXXd>(x.astype(sn::DType::float64));
  Eigen::ArrayXXd expected;
  const double eigen = example::best_ms(20, [&] { expected = reference(plain); });
  const double again = example::best_ms(20, [&] { sn::eval(formula(x)); });
  const auto c = sn::counters();
  std::printf("first evaluation %.2f ms (%d compiled, %d from disk), then %.3f ms; Eigen in double %.3f ms\n", first, static_cast<int>(c.kernels_compiled),
              static_cast<int>(c.kernels_from_disk), again, eigen);
  example::Checks checks;
  const Eigen::ArrayXXd got = sn::to_eigen<Eigen::ArrayXXd>(y.astype(sn::DType::float64));
  checks.holds("has Eigen's shape", got.rows() == expected.rows() && got.cols() == expected.cols());
  // Logits reach 20 here, so rounding in float32 gives them, and the largest probabilities, an error of a few 1e-5.
  checks.close("against Eigen in double", (got - expected).abs().maxCoeff(), 0.0, 1e-4);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return demo(argc, argv); });
}
