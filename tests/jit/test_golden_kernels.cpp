// Golden kernels: the loop nests and sources of thirty kernels, planned for any CPU, for sm_90 and for OpenCL, compared with the files of tests/golden/kernels.
// A file contains the nests and the sources of both GPUs. The helper functions and the LLVM IR are long, so of these it contains the names, the number of each
// instruction, and a hash. Nothing is compiled. After an intended change,
//   SINTER_GOLDEN=renew ctest --test-dir build/release -R '^test_golden_kernels$'
// writes the files again, and `git diff` shows what the change did to each kernel.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "jit/compiler.hpp"
#include "jit/lower.hpp"
#include "kernel_count.hpp"
#include "llvm_masks.hpp"
#include "sinter/nn.hpp"
#include "sinter/ops.hpp"
#include "sinter/random.hpp"
#include "sinter/sorting.hpp"
#include "sinter/statistics.hpp"

using namespace sinter;

namespace {

struct Formula {
  std::string name;
  std::vector<Tensor> results;
};

std::vector<Formula> formulas() {
  const auto of = [](DType dtype) { return std::pair(placeholder({4096, 1024}, dtype), placeholder({4096, 1024}, dtype)); };
  const auto [x, y] = of(DType::float32);
  const auto [d, e] = of(DType::float64);
  const auto [h, k] = of(DType::bfloat16);
  const auto [i, j] = of(DType::int32);
  const Tensor w = placeholder({1024}, DType::float32), cube = placeholder({64, 32, 128}, DType::float32);
  const Tensor places = placeholder({500}, DType::int64);
  return {
      {"add", {x + y}},
      {"add_bfloat16", {h + k}},
      {"add_float64", {d + e}},
      {"assign_row", {concatenate({y(Slice{0, 1}), x(Slice{1, {}})}, 0)}},
      {"axpy", {2.5f * x + y}},
      {"broadcast", {x * w + w}},
      {"cast", {astype(x, DType::int8)}},
      {"column_sum", {sum(x, 0)}},
      {"compare", {where(x > y, x - y, 0.f)}},
      {"cumsum", {cumsum(x, 1)}},
      {"divide_integers", {floor_divide(i, j)}},
      {"exp", {exp(x)}},
      {"gather", {take(x, places, 0)}},
      {"gather_columns", {take(x, places, 1) * 2.f}},
      {"half_scale", {h * 0.5f}},
      {"mask_to_count", {sum(x > 0.f, 1)}},
      {"max_rows", {max(x, 1)}},
      {"mean", {mean(x)}},
      {"minimum_integers", {minimum(i, j)}},
      {"pad", {pad(x, {{1, 1}, {2, 0}})}},
      {"permute", {contiguous(permute(cube, {2, 0, 1}))}},
      {"random", {random::uniform(7, {4096}, DType::float32)}},
      {"relu_sum", {sum(relu(x), 1)}},
      {"slice_step", {x(Slice{}, Slice{{}, {}, 2}) + 1.f}},
      {"softmax", {softmax(x, -1)}},
      {"sum_all", {sum(x)}},
      {"sum_integers", {sum(i, 1)}},
      {"transpose", {contiguous(x.T())}},
      {"two_results", {x + y, x - y}},
      {"variance", {var(x, 1)}},
  };
}

/// Returns how often each instruction occurs in LLVM's text, such as "br 3, fadd 2, load 4".
std::string instructions(const std::string& text) {
  static const std::regex instruction(R"(^  (?:%[\w.]+ = )?(?:tail )?([a-z]\w*))");
  std::map<std::string, int> counts;
  std::istringstream lines(text);
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_search(line, found, instruction)) ++counts[found[1]];
  std::vector<std::string> shown;
  for (const auto& [name, count] : counts) shown.push_back(fmt::format("{} {}", name, count));
  return fmt::format("{}", fmt::join(shown, ", "));
}

/// Returns the kernel itself, and the names of the functions and types before it.
std::pair<std::string, std::string> parted(const std::string& text, const std::string& first_words) {
  const std::size_t begin = text.find(first_words);
  REQUIRE(begin != std::string::npos);
  static const std::regex helper(R"((?:^|\n)(?!//)[^\n]*?(sn_\w+)[ (;][^\n]*)");
  const std::string before = text.substr(0, begin);
  std::set<std::string> names;
  for (std::sregex_iterator at(before.begin(), before.end(), helper), end; at != end; ++at) names.insert((*at)[1]);
  return {text.substr(begin), fmt::format("{}", fmt::join(names, " "))};
}

std::string hash_of(const std::string& text) {
  const Hash128 hash = hash128(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}{:016x}", hash.a, hash.b);
}

/// Returns the nest's text without its name, which contains a hash that depends on the device, and without its list of operations, which the body repeats.
std::string body_of(const jit::LoopNest& nest) {
  std::istringstream lines(jit::to_string(nest));
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("nest ") && !line.starts_with("  # ")) text += line + "\n";
  return text;
}

std::string golden(const std::vector<Tensor>& results) {
  std::string text;
  for (const fuse::Limits& limits : {fuse::cpu_limits(), fuse::cuda_limits(90), fuse::opencl_limits()}) {
    const fuse::Plan plan = testing::plan_of(results, limits);
    for (const fuse::Step& step : plan.steps) {
      REQUIRE(step.kind == fuse::Step::Kind::kernel);
      const jit::LoopNest nest = jit::lower(plan.graph, step.kernel, limits).nest;
      const std::string body = body_of(nest);
      text += fmt::format("== {} {}: {}\n", limits.target, nest.name, jit::to_string(nest.schedule, limits.backend));
      text += text.find(body) == std::string::npos ? body : "  the nest above\n";
      if (limits.backend == fuse::Backend::cpu) {
        for (const auto& [name, cpu] : {std::pair("AVX-512", testing::avx512_level()), std::pair("NEON", jit::plainest_cpu("aarch64"))}) {
          const std::string llvm = jit::generate_llvm(nest, cpu).text;
          text += fmt::format("-- LLVM IR for {}, {}: {}\n", name, hash_of(llvm), instructions(llvm));
        }
      } else {
        const bool cuda = limits.backend == fuse::Backend::cuda;
        const std::string source = cuda ? jit::generate_cuda(nest, limits.sm).text : jit::generate_opencl(nest, limits).text;
        const auto [kernel, helpers] = parted(source, cuda ? "extern \"C\" __global__" : "__attribute__((reqd_work_group_size");
        text += fmt::format("-- {}, {}{}{}\n{}", cuda ? "CUDA C++" : "OpenCL C", hash_of(source), helpers.empty() ? "" : ", with ", helpers, kernel);
      }
    }
  }
  return text;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("nests and sources agree with the golden files") {
  const std::filesystem::path folder = SINTER_GOLDEN_KERNELS;
  const char* mode = std::getenv("SINTER_GOLDEN");
  const bool renew = mode && std::string(mode) == "renew";
  if (renew) std::filesystem::remove_all(folder), std::filesystem::create_directories(folder);
  std::set<std::string> names;
  for (const Formula& formula : formulas()) {
    const std::string now = golden(formula.results);
    const std::filesystem::path path = folder / (formula.name + ".txt");
    names.insert(path.filename());
    if (renew) std::ofstream(path, std::ios::binary) << now;
    CAPTURE(formula.name);
    CHECK_MESSAGE(read(path) == now, "this kernel has changed; if it should, renew the files (the first lines of this test's source) and look at git diff");
  }
  CHECK(names.size() == 30);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) CHECK_MESSAGE(names.contains(entry.path().filename()), entry.path());
}
