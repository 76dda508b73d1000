// Kernels for architectures that this machine lacks: NVRTC compiles representative formulas for every known target. Tests ptxas's reports, the split of a
// kernel after a measured spill, and that nvcc compiles the dumped sources.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "draws.hpp"
#include "engine/planned.hpp"
#include "graph_builder.hpp"
#include "sinter/sinter.hpp"
#include "temporary_folder.hpp"

namespace sn = sinter;
namespace fs = std::filesystem;
using nlohmann::json;
using sinter::testing::GraphBuilder;
using sn::DType;
using sn::Shape;
using sn::Tensor;
using sn::trace::Op;

namespace {

void need_nvrtc() { REQUIRE_MESSAGE(sn::runtime::find_kind("cuda")->compiler(), "no NVRTC was found: scripts/setup.sh --tests installs one"); }

/// The nvcc of $CUDA_HOME, else on PATH, else in the toolkit's usual place; empty when there is none.
std::string find_nvcc() {
  const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  const std::string path = variable("CUDA_HOME") + "/bin:" + variable("PATH") + ":/usr/local/cuda/bin";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path candidate = fs::path(path.substr(begin, end - begin)) / "nvcc";
    if (end > begin && access(candidate.c_str(), X_OK) == 0) return candidate.string();
    begin = end + 1;
  }
  return {};
}

Tensor f32(const Shape& shape) { return sn::placeholder(shape, DType::float32); }

struct Formula {
  const char* name;
  std::function<std::vector<Tensor>()> record;
  int kernels;  // on every CUDA target
};

Tensor gelu_softmax() { return sn::softmax(sn::gelu(f32({4096, 1024}) * f32({1024}) + f32({1024})), -1); }

Tensor twenty_ops() {
  const Tensor x = f32({1000003}), y = f32({1000003});
  const Tensor a = sn::tanh(x * 0.5f + y), b = sn::exp(-(a * a)) - y * 0.25f, c = sn::sqrt(b * b + 1.5f);
  const Tensor d = sn::sin(c) * sn::cos(a) + sn::log(c + 2.f), e = sn::maximum(d, x) / (c + sn::abs(y) + 1.f);
  return sn::minimum(e, 4.f);
}

std::vector<Formula> formulas() {
  const auto one = [](auto record) { return [record] { return std::vector<Tensor>{record()}; }; };
  return {
      {"softmax of gelu", one(gelu_softmax), 1},
      {"layer_norm over 8192 columns", one([] { return sn::layer_norm(f32({2048, 8192}), f32({8192}), f32({8192})); }), 1},
      {"softmax of gelu, then layer_norm, over 8192 columns",
       one([] { return sn::layer_norm(sn::softmax(sn::gelu(f32({512, 8192}) * f32({8192}) + f32({8192})), -1)); }), 1},
      {"20 pointwise ops", one(twenty_ops), 1},
      {"column sums", one([] { return sn::sum(f32({4096, 1024}) * 2.f, 0); }), 2},  // 1024 columns give too few blocks, so pieces are reduced first
      {"column sums of few columns", one([] { return sn::sum(f32({1 << 20, 16}) * 2.f, 0); }), 2},
      {"column maxima of a wide matrix", one([] { return sn::max(f32({64, 1 << 20}), 0); }), 1},
      {"sum of everything", one([] { return sn::sum(sn::square(f32({4096, 1024}))); }), 2},
      {"variance of everything", one([] { return sn::var(f32({4096, 1024})); }), 2},
      {"variance of rows", one([] { return sn::var(f32({4096, 1024}), -1); }), 1},
      {"transposed read", one([] { return sn::exp(f32({2048, 1024}).T()) + f32({1024, 2048}); }), 1},
      {"transposed read into a softmax", one([] { return sn::softmax(f32({2048, 1024}).T(), -1); }),
       3},  // maxima and sums of pieces, their merge, and the elementwise result
      {"flipped, stepped and offset slices", one([] {
         const Tensor x = f32({2050, 1026});
         return sn::flip(x(sn::Slice{1, -1}, sn::Slice{1, -1}), 1) + x(sn::Slice{2, {}}, sn::Slice{{}, 1024});
       }),
       1},
      {"integers", one([] {
         const Tensor a = sn::placeholder({100000}, DType::int32), b = sn::placeholder({100000}, DType::int32);
         return (a / (b + 1)).astype(DType::int64) * 3 + (a % 7) + ((a << 2) ^ b);
       }),
       1},
      {"sum of 64-bit integers", one([] { return sn::sum(sn::placeholder({512, 4096}, DType::int64) + 1, -1); }), 1},
      {"booleans", one([] {
         const Tensor a = sn::placeholder({100000}, DType::bool_), b = f32({100000});
         return sn::where((a & (b < 0.5f)) | (b != b), b, -b);
       }),
       1},
      {"any and all",
       [] {
         const Tensor x = f32({4096, 512});
         return std::vector<Tensor>{sn::any(x > 3.f, -1), sn::all(x > -3.f, -1)};
       },
       1},
      {"doubles", one([] {
         const Tensor x = sn::placeholder({4096, 512}, DType::float64);
         return sn::softmax(sn::log(sn::exp(x) + 1.0) * sn::erf(x), -1);
       }),
       1},
      {"matmul, bias, gelu", one([] { return sn::gelu(sn::matmul(f32({512, 256}), f32({256, 384})) + f32({384})); }), 1},
      {"where and comparisons", one([] {
         const Tensor x = f32({1000, 700}), y = f32({700});
         return sn::where(x > y, x - y, sn::where(x == y, 0.f, y * 2.f)) * (x >= 0.f).astype(DType::float32);
       }),
       1},
      {"iota", one([] { return sn::sin(sn::arange(100000).astype(DType::float32) * 0.01f); }), 1},
      {"several outputs over one input",
       [] {
         const Tensor x = f32({4096, 1000});
         return std::vector<Tensor>{sn::min(x, -1), sn::max(x, -1), sn::sum(x, -1)};
       },
       1},
  };
}

json explained(const std::vector<Tensor>& tensors, const std::string& target) { return json::parse(sn::explain(tensors, sn::Format::json, target)); }

}  // namespace

TEST_SUITE_BEGIN("nvrtc");

TEST_CASE("every formula compiles for every architecture in as few kernels as expected, and none spills") {
  need_nvrtc();
  const sn::testing::TemporaryFolder folder;
  sn::Options options = sn::options();
  options.cache_dir = folder / "cache";
  sn::configure(options);
  for (const auto& [formula, target] : sn::testing::sampled(formulas(), std::array{"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"})) {
    CAPTURE(std::string(formula.name));
    {
      CAPTURE(std::string(target));
      const json plan = explained(formula.record(), target);
      CHECK(plan["device"] == target);
      CHECK(plan["kernels"].size() == static_cast<std::size_t>(formula.kernels));
      for (const auto& kernel : plan["kernels"]) {
        CAPTURE(kernel.dump());
        REQUIRE(!kernel.contains("why_interpreted"));
        CHECK(kernel["registers"].get<int>() > 0);
        CHECK(kernel["registers"].get<int>() <= 255);
        CHECK(kernel["spill_bytes"] == 0);
        CHECK(kernel["boundary"]["reason"] != "measured spill");
      }
    }
  }
}

TEST_CASE("a kernel that spills is split again until none spills, and the result is cached") {
  need_nvrtc();
  const sn::testing::TemporaryFolder folder;
  // Every value is used again after the sum of all of them, and none is cheap to compute twice.
  constexpr int kAlive = 270;
  GraphBuilder g;
  const int x = g.data({1 << 20});
  std::vector<int> alive;
  for (int k = 0; k < kAlive; ++k) alive.push_back(g.op(Op::exp, {g.op(Op::multiply, {x, g.literal(0.01 * (k + 1), {1 << 20})})}));
  int total = alive[0];
  for (int k = 1; k < kAlive; ++k) total = g.op(Op::add, {total, alive[k]});
  for (int k = 0; k < kAlive; ++k) total = g.op(Op::multiply, {total, alive[k]});
  const auto graph = g.done({total});

  sn::engine::Target target;
  target.limits = sn::fuse::cuda_limits(90);
  target.limits.registers = target.limits.max_ops = 1 << 20;  // the estimates split nothing; only the compiler's report decides
  const auto plan = [&](sn::engine::Totals& totals) {
    sn::engine::ForkGate gate;
    sn::engine::Kernels kernels(totals, gate);
    kernels.configure({folder / "cache", std::uint64_t{1} << 30}, {});
    return sn::engine::make_plan(graph, target, {}, kernels);
  };
  const auto reasons = [](const sn::engine::Planned& planned) {
    std::vector<std::string> texts;
    for (const auto& step : planned.steps) texts.push_back(sn::fuse::to_string(step.boundary));
    return texts;
  };
  sn::engine::Totals cold, warm;
  const auto first = plan(cold);
  REQUIRE(first->steps.size() >= 2);
  CHECK(cold.compiled > first->steps.size());  // the kernels of the plan, and those that spilled
  CHECK(cold.fallbacks == 0);
  for (const auto& step : first->steps) {
    CAPTURE(step.nest.name);
    CHECK(step.made.report.registers > 0);
    CHECK(step.made.report.spill_bytes == 0);
  }
  const std::regex figures("measured spill: as one kernel, \\w+ used \\d+ registers and spilled [1-9]\\d* bytes");
  for (std::size_t s = 0; s + 1 < first->steps.size(); ++s) CHECK(std::regex_match(reasons(*first)[s], figures));
  CHECK(first->steps.back().boundary.reason == sn::fuse::SplitReason::output_wanted);

  const auto second = plan(warm);
  CHECK(warm.compiled == 0);
  CHECK(warm.from_disk == cold.compiled);
  CHECK(reasons(*second) == reasons(*first));
  REQUIRE(second->steps.size() == first->steps.size());
  for (std::size_t s = 0; s < first->steps.size(); ++s) CHECK(second->steps[s].made.source().text == first->steps[s].made.source().text);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("nvcc");

TEST_CASE("every dumped kernel compiles alone with nvcc") {
  const std::string nvcc = find_nvcc();
  REQUIRE_MESSAGE(!nvcc.empty(), "no nvcc was found: scripts/setup.sh --tests installs one");
  const sn::testing::TemporaryFolder folder;
  sn::Options options = sn::options();
  options.cache_dir = folder / "cache";
  sn::configure(options);
  std::set<std::string> sources;
  for (const auto& formula : formulas())
    for (const auto& path : sn::dump_kernels(formula.record(), folder / "kernels", "sm_90"))
      if (path.ends_with(".cu")) sources.insert(path);
  REQUIRE(sources.size() >= formulas().size());
  for (const auto& source : sn::testing::sampled(sources)) {
    CAPTURE(source);
    const std::string log = folder / "log";
    const int status = std::system(fmt::format("'{}' -arch=sm_90 -cubin -o '{}' '{}' >'{}' 2>&1", nvcc, folder / "cubin", source, log).c_str());
    std::ifstream lines(log);
    CAPTURE(std::string(std::istreambuf_iterator<char>(lines), {}));
    CHECK(status == 0);
  }
}

TEST_SUITE_END();
