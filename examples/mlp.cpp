// A network of one hidden layer learns handwritten digits: forward pass, gradients and updates, all written by hand.
//   mlp IMAGES.npy LABELS.npy
#include <Eigen/Core>
#include <random>
#include <string>
#include <vector>

#include "example.hpp"
#include "sinter/eigen.hpp"

namespace sn = sinter;
using sn::Slice;

namespace {

constexpr int kHidden = 64, kClasses = 10, kSteps = 150;
constexpr float kRate = 0.5f, kMomentum = 0.9f;

struct Network {
  sn::Tensor w1, b1, w2, b2;
  sn::Tensor forward(const sn::Tensor& x, sn::Tensor* hidden = nullptr) const {
    auto h = sn::relu(sn::matmul(x, w1) + b1);
    if (hidden) *hidden = h;
    return sn::matmul(h, w2) + b2;
  }
};

/// Returns the network after one update of each tensor: momentum' = momentum * kMomentum - kRate * gradient; value' = value + momentum'.
void descend(sn::Tensor& value, sn::Tensor& momentum, const sn::Tensor& gradient) {
  momentum = kMomentum * momentum - kRate * gradient;
  value = value + momentum;
}

/// The mean cross-entropy at the start of the step.
sn::Tensor train_step(Network& net, Network& momentum, const sn::Tensor& x, const sn::Tensor& target) {
  const float n = static_cast<float>(x.size(0));
  sn::Tensor h;
  auto logits = net.forward(x, &h);
  auto loss = -sn::sum(sn::log_softmax(logits) * target) / n;
  auto d_logits = (sn::softmax(logits) - target) / n;
  auto d_h = sn::where(h > 0.f, sn::matmul(d_logits, net.w2.T()), 0.f);
  auto w2 = sn::matmul(h.T(), d_logits), b2 = sn::sum(d_logits, 0);
  auto w1 = sn::matmul(x.T(), d_h), b1 = sn::sum(d_h, 0);
  descend(net.w1, momentum.w1, w1);
  descend(net.b1, momentum.b1, b1);
  descend(net.w2, momentum.w2, w2);
  descend(net.b2, momentum.b2, b2);
  sn::eval(net.w1, net.b1, net.w2, net.b2, momentum.w1, momentum.b1, momentum.w2, momentum.b2, loss);
  return loss;
}

/// The same network in Eigen, in any precision.
template <class T> struct EigenNetwork {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Row = Eigen::Matrix<T, 1, Eigen::Dynamic>;
  Matrix w1, w2, m1, m2;
  Row b1, b2, c1, c2;

  T train_step(const Matrix& x, const Matrix& target) {
    const T n = static_cast<T>(x.rows()), rate = T(kRate), momentum = T(kMomentum);
    const Matrix h = ((x * w1).rowwise() + b1).cwiseMax(T(0));
    Matrix p = (h * w2).rowwise() + b2;
    p.colwise() -= p.rowwise().maxCoeff().eval();
    const auto log_sum = p.array().exp().rowwise().sum().log().eval();
    const Matrix log_p = p.array().colwise() - log_sum;
    const T loss = -(log_p.array() * target.array()).sum() / n;
    const Matrix d = (log_p.array().exp().matrix() - target) / n;
    const Matrix d_h = ((d * w2.transpose()).array() * (h.array() > T(0)).template cast<T>()).matrix();
    m2 = momentum * m2 - rate * (h.transpose() * d);
    c2 = momentum * c2 - rate * d.colwise().sum();
    m1 = momentum * m1 - rate * (x.transpose() * d_h);
    c1 = momentum * c1 - rate * d_h.colwise().sum();
    w1 += m1, b1 += c1, w2 += m2, b2 += c2;
    return loss;
  }
};

template <class T> EigenNetwork<T> to_eigen(const Network& net) {
  EigenNetwork<T> out;
  out.w1 = sn::to_eigen<Eigen::MatrixXf>(net.w1).template cast<T>();
  out.w2 = sn::to_eigen<Eigen::MatrixXf>(net.w2).template cast<T>();
  out.b1 = sn::to_eigen<Eigen::VectorXf>(net.b1).transpose().template cast<T>();
  out.b2 = sn::to_eigen<Eigen::VectorXf>(net.b2).transpose().template cast<T>();
  out.m1.setZero(out.w1.rows(), out.w1.cols()), out.m2.setZero(out.w2.rows(), out.w2.cols());
  out.c1.setZero(out.b1.size()), out.c2.setZero(out.b2.size());
  return out;
}

/// Returns the share of rows whose largest logit is that of the true class.
float accuracy(const Network& net, const sn::Tensor& x, const sn::Tensor& target) {
  auto logits = net.forward(x);
  auto right = sn::sum(logits * target, -1) >= sn::max(logits, -1);
  return sn::mean(sn::astype(right, sn::DType::float32)).item<float>();
}

int learn(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s IMAGES.npy LABELS.npy\n", argv[0]);
    return 2;
  }
  const auto images = sn::load_npy(argv[1]), labels = sn::load_npy(argv[2]);
  // Grey levels are stored as uint8; the network computes in float32.
  const auto grey = images.to_vector<std::uint8_t>();
  const auto x = sn::from_span(std::vector<float>(grey.begin(), grey.end()), images.shape()) / 16.f;
  const auto target = sn::astype(sn::expand_dims(labels, 1) == sn::arange(kClasses), sn::DType::float32);
  const std::int64_t count = x.size(0), training = count * 5 / 6;
  const auto train_x = x(Slice{0, training}), test_x = x(Slice{training, {}});
  const auto train_t = target(Slice{0, training}), test_t = target(Slice{training, {}});
  sn::eval(train_x, test_x, train_t, test_t);

  std::mt19937 random(42);
  const auto draw = [&](std::int64_t rows, std::int64_t columns) {
    std::normal_distribution<float> normal(0, std::sqrt(2.f / static_cast<float>(rows)));
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (auto& value : values) value = normal(random);
    return sn::from_span(values, sn::Shape{rows, columns});
  };
  constexpr auto f32 = sn::DType::float32;
  const std::int64_t inputs = x.size(1);
  const Network start{draw(inputs, kHidden), sn::zeros({kHidden}, f32), draw(kHidden, kClasses), sn::zeros({kClasses}, f32)};
  const Network rest{sn::zeros({inputs, kHidden}, f32), sn::zeros({kHidden}, f32), sn::zeros({kHidden, kClasses}, f32), sn::zeros({kClasses}, f32)};

  std::printf("MLP %d-%d-%d on %d digits, %d held out\n", static_cast<int>(inputs), kHidden, kClasses, static_cast<int>(training),
              static_cast<int>(count - training));
  Network net = start, momentum = rest;
  auto reference = to_eigen<double>(start);
  const auto eigen_x = sn::to_eigen<Eigen::MatrixXf>(train_x), eigen_t = sn::to_eigen<Eigen::MatrixXf>(train_t);
  const EigenNetwork<double>::Matrix x64 = eigen_x.cast<double>(), t64 = eigen_t.cast<double>();

  example::Checks checks;
  const double before = accuracy(net, test_x, test_t);
  double seconds = 0, last = 0, last_reference = 0;
  for (int k = 0; k < kSteps; ++k) {
    sn::Tensor loss;
    const double ms = example::best_ms(1, [&] { loss = train_step(net, momentum, train_x, train_t); });
    if (k > 0) seconds += ms / 1e3;  // the first step compiles
    last = loss.item<float>();
    last_reference = reference.train_step(x64, t64);
    if (k == 0 || (k + 1) % 50 == 0) std::printf("  step %3d: loss %.5f (float64: %.5f)\n", k + 1, last, last_reference);
    if (k == 4) {
      const auto w1 = net.w1.to_vector<float>();
      checks.close<float, double>("weights after five steps against float64", w1, std::span<const double>(reference.w1.data(), w1.size()), 1e-5);
    }
  }
  example::print_counters();

  auto eigen = to_eigen<float>(start);
  const EigenNetwork<float>::Matrix x32 = eigen_x, t32 = eigen_t;
  const double eigen_seconds = example::best_ms(1,
                                                [&] {
                                                  for (int k = 1; k < kSteps; ++k) eigen.train_step(x32, t32);
                                                }) /
                               1e3;
  const double after = accuracy(net, test_x, test_t);
  std::printf("  held-out digits recognised: %.1f%% untrained, %.1f%% trained\n", 100 * before, 100 * after);
  std::printf("  %d steps took %.0f ms; in Eigen on one thread %.0f ms: %.2f times as long\n", kSteps - 1, 1e3 * seconds, 1e3 * eigen_seconds,
              eigen_seconds / seconds);
  checks.close("last loss against float64", last, last_reference, 1e-4);
  checks.holds("more than 90% are recognised", after > 0.9);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return learn(argc, argv); });
}
