// Search among embeddings: finds the three of many vectors that are most similar to each question, by the cosine.
#include "example.hpp"

namespace sn = sinter;
using sn::newaxis, sn::Slice;

namespace {

// --- the program
sn::Tensor nearest(const sn::Tensor& questions, const sn::Tensor& documents, int count) {
  const auto unit = [](const sn::Tensor& x) { return x / sn::sqrt(sn::sum(sn::square(x), -1, true)); };
  sn::Tensor alike = sn::matmul(unit(questions), unit(documents).T());
  std::vector<sn::Tensor> found;
  for (int k = 0; k < count; ++k) {
    found.push_back(sn::argmax(alike, 1));
    alike = sn::where(found.back()(Slice{}, newaxis) == sn::arange(documents.size(0)), -2.f, alike);
  }
  return sn::stack(found, 1);
}
// ---

int search(bool full) {
  const std::int64_t questions = full ? 200 : 8, documents = full ? 20'000 : 300, width = full ? 256 : 24;
  const sn::Tensor q = example::numbers({questions, width}, 1), d = example::numbers({documents, width}, 5);
  const sn::Tensor found = example::measured([&] { return nearest(q, d, 3); });

  const auto a = q.to_vector<double>(), b = d.to_vector<double>();
  const auto n = static_cast<std::size_t>(width);
  const auto cosine = [&](std::size_t i, std::size_t j) {
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t k = 0; k < n; ++k) {
      ab += a[i * n + k] * b[j * n + k];
      aa += a[i * n + k] * a[i * n + k];
      bb += b[j * n + k] * b[j * n + k];
    }
    return ab / std::sqrt(aa * bb);
  };
  const auto got = found.to_vector<std::int64_t>();
  double worst = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(questions); ++i) {
    std::vector<double> all;
    for (std::size_t j = 0; j < static_cast<std::size_t>(documents); ++j) all.push_back(cosine(i, j));
    std::vector<double> best = all;
    std::partial_sort(best.begin(), best.begin() + 3, best.end(), std::greater<>());
    for (std::size_t k = 0; k < 3; ++k) worst = std::max(worst, std::fabs(all[static_cast<std::size_t>(got[3 * i + k])] - best[k]));
  }
  example::Checks checks;
  checks.close("cosines of the three found against plain loops", worst, 0, 1e-6);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] { return search(example::full_size(argc, argv)); });
}
