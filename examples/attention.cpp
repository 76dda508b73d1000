// Causal attention of several heads: each position of a sequence attends to the positions up to it.
#include "example.hpp"

namespace sn = sinter;

namespace {

// --- the program
sn::Tensor attention(const sn::Tensor& q, const sn::Tensor& k, const sn::Tensor& v) {
  const std::int64_t n = q.size(-2);
  const sn::Tensor scores = sn::matmul(q, sn::matrix_transpose(k)) / std::sqrt(static_cast<float>(q.size(-1)));
  const sn::Tensor seen = sn::expand_dims(sn::arange(n), 1) >= sn::arange(n);
  return sn::matmul(sn::softmax(sn::where(seen, scores, -INFINITY), -1), v);
}
// ---

std::vector<double> plain(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v, std::size_t heads, std::size_t n,
                          std::size_t d) {
  std::vector<double> out(q.size());
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t i = 0; i < n; ++i) {
      const float* row = q.data() + (h * n + i) * d;
      std::vector<double> weights(i + 1);
      double largest = -INFINITY, total = 0;
      for (std::size_t j = 0; j <= i; ++j) {
        for (std::size_t c = 0; c < d; ++c) weights[j] += row[c] * k[(h * n + j) * d + c] / std::sqrt(static_cast<double>(d));
        largest = std::max(largest, weights[j]);
      }
      for (double& weight : weights) total += weight = std::exp(weight - largest);
      for (std::size_t j = 0; j <= i; ++j)
        for (std::size_t c = 0; c < d; ++c) out[(h * n + i) * d + c] += weights[j] / total * v[(h * n + j) * d + c];
    }
  return out;
}

int attend(bool full) {
  const std::int64_t heads = full ? 8 : 2, n = full ? 512 : 20, d = full ? 64 : 8;
  const sn::Tensor q = example::numbers({heads, n, d}, 1), k = example::numbers({heads, n, d}, 2), v = example::numbers({heads, n, d}, 3);
  const sn::Tensor out = example::measured([&] { return attention(q, k, v); });
  example::Checks checks;
  const auto size = [](std::int64_t m) { return static_cast<std::size_t>(m); };
  checks.close<float, double>("against plain loops", out.data<float>(),
                              plain(q.to_vector<float>(), k.to_vector<float>(), v.to_vector<float>(), size(heads), size(n), size(d)), 1e-5);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return attend(example::full_size(argc, argv)); });
}
