// ONNX's own node tests (the folder onnx/backend/test/data/node of its Python package): each has a model of one operator, its inputs, and the expected outputs.
// Prints how many tests passed, were refused and failed, by operator.
//   onnx_conformance DIRECTORY [-v] [NAME...]
// NAME: only tests whose names begin with it. Exit code: 0, or 1 if any test failed or there are no tests.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "cases.hpp"
#include "onnx/graph.hpp"
#include "seed.hpp"
#include "sinter/model.hpp"
#include "sinter/sinter.hpp"

namespace fs = std::filesystem;
using namespace sinter;

namespace {

struct Count {
  int passed = 0, refused = 0, failed = 0;
};

std::vector<Tensor> tensors(const fs::path& directory, const char* kind) {
  std::vector<Tensor> list;
  for (int k = 0;; ++k) {
    const fs::path file = directory / fmt::format("{}_{}.pb", kind, k);
    if (!fs::exists(file)) return list;
    list.push_back(onnx::read_onnx_tensor(file.string()));
  }
}

/// Tests of the package with wrong expected values, and the reasons.
const std::map<std::string, std::string> kWrongData = {
    {"test_qlinearmatmul_2D_int8_float16", "the package's values wrap where the operator saturates"},
    {"test_qlinearmatmul_2D_int8_float32", "the package's values wrap where the operator saturates"},
    {"test_qlinearmatmul_3D_int8_float16", "the package's values wrap where the operator saturates"},
    {"test_qlinearmatmul_3D_int8_float32", "the package's values wrap where the operator saturates"},
};

/// Returns an empty text, or a description of the difference. The tolerances are those of ONNX's own runner.
std::string difference(const Tensor& result, const Tensor& expected) {
  if (result.dtype() != expected.dtype()) return fmt::format("{} instead of {}", name(result.dtype()), name(expected.dtype()));
  if (result.shape() != expected.shape()) return fmt::format("shape {} instead of {}", to_string(result.shape()), to_string(expected.shape()));
  const auto a = result.astype(DType::float64).to_vector<double>(), b = expected.astype(DType::float64).to_vector<double>();
  const bool integers = !is_floating(result.dtype());
  const double relative = is_storage_only(result.dtype()) ? 1e-2 : 1e-3;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (integers || !(std::fabs(a[i] - b[i]) <= 1e-6 + relative * std::fabs(b[i]))) return fmt::format("element {}: {} instead of {}", i, a[i], b[i]);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || !fs::is_directory(argv[1])) {
    fmt::print("no directory of ONNX's node tests was given: scripts/setup.sh --tests installs them\n");
    return 1;
  }
  bool verbose = false;
  std::vector<std::string> wanted;
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "-v") verbose = true;
    else wanted.emplace_back(argv[i]);
  }
  std::vector<fs::path> tests;
  for (const auto& entry : fs::directory_iterator(argv[1])) {
    const std::string test = entry.path().filename().string();
    if (wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& w) { return test.starts_with(w); })) tests.push_back(entry.path());
  }
  std::sort(tests.begin(), tests.end());
  std::shuffle(tests.begin(), tests.end(), std::mt19937(testing::test_seed()));

  std::map<std::string, Count> by_operator;
  std::map<std::string, int> reasons;
  Count all;
  for (const fs::path& test : tests) {
    if (testing::time_is_over() && all.passed > 0) break;
    const std::string name = test.filename().string();
    std::string op = name;
    std::string outcome;
    bool failed = false;
    try {
      if (const auto wrong = kWrongData.find(name); wrong != kWrongData.end()) throw ModelError(fmt::format("{}: {}", name, wrong->second));
      const onnx::Graph graph = onnx::read_onnx((test / "model.onnx").string());
      if (graph.nodes.size() == 1) op = graph.nodes[0].op;
      else op = "(several)";
      const Model loaded = Model::load((test / "model.onnx").string());
      for (int set = 0; fs::exists(test / fmt::format("test_data_set_{}", set)); ++set) {
        const fs::path data = test / fmt::format("test_data_set_{}", set);
        const std::vector<Tensor> results = loaded(tensors(data, "input")), expected = tensors(data, "output");
        eval(results);
        for (std::size_t k = 0; k < expected.size() && outcome.empty(); ++k) {
          outcome = difference(results.at(k), expected[k]);
          if (!outcome.empty()) outcome = fmt::format("output {}: {}", k, outcome), failed = true;
        }
      }
    } catch (const ModelError& error) {
      outcome = error.what();
      std::string reason = outcome.substr(outcome.find(": ") + 2);
      if (const auto colon = reason.find("): "); colon != std::string::npos) reason = reason.substr(colon + 3);
      if (const auto comma = reason.find(", which"); comma != std::string::npos) reason = reason.substr(0, comma);
      ++reasons[reason];
    } catch (const std::exception& error) {
      outcome = error.what();
      failed = true;
    }
    Count& count = by_operator[op];
    ++(outcome.empty() ? count.passed : failed ? count.failed : count.refused);
    ++(outcome.empty() ? all.passed : failed ? all.failed : all.refused);
    if (failed || (verbose && !outcome.empty())) fmt::print("{} {}: {}\n", failed ? "FAILED " : "refused", name, outcome);
  }
  fmt::print("\n{:<32} {:>7} {:>8} {:>7}\n", "operator", "passed", "refused", "failed");
  for (const auto& [op, count] : by_operator) fmt::print("{:<32} {:>7} {:>8} {:>7}\n", op, count.passed, count.refused, count.failed);
  fmt::print("{:<32} {:>7} {:>8} {:>7}\n\nreasons of refusals:\n", "all", all.passed, all.refused, all.failed);
  std::vector<std::pair<int, std::string>> ordered;
  for (const auto& [reason, count] : reasons) ordered.emplace_back(-count, reason);
  std::sort(ordered.begin(), ordered.end());
  for (const auto& [count, reason] : ordered) fmt::print("{:6}  {}\n", -count, reason);
  return all.failed ? 1 : 0;
}
