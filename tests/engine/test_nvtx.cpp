// The ranges that a profiler of NVIDIA receives: the work of the engine, and each step with the program's lines.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sinter/freeze.hpp>
#include <sinter/sinter.hpp>
#include <string>
#include <thread>
#include <vector>

#include "program.hpp"

using namespace sinter;

namespace {

std::vector<std::string> ranges() {
  using Ranges = const std::vector<std::string>* (*)(int*);
  static const auto of_tool = reinterpret_cast<Ranges>(dlsym(dlopen(NVTX_TOOL, RTLD_NOW), "nvtx_tool_ranges"));
  if (!of_tool) FAIL("the tool is not loaded");
  int unbalanced = -1;
  const std::vector<std::string> all = *of_tool(&unbalanced);
  CHECK(unbalanced == 0);
  return all;
}

int count(const std::vector<std::string>& all, const std::string& text, std::size_t from = 0) {
  return static_cast<int>(std::count_if(all.begin() + static_cast<std::ptrdiff_t>(from), all.end(),
                                        [&](const std::string& range) { return range.find(text) != std::string::npos; }));
}

std::vector<Tensor> formula(const std::vector<Tensor>& in) { return {softmax(exp(in[0] * 0.5f), -1), relu(matmul(in[0], transpose(in[0])) + 1.f)}; }

}  // namespace

TEST_CASE("each step is a range within its evaluation, named by kernel and lines") {
  const Tensor x = astype(random::uniform(random::Key(7), {64, 96}), DType::float32);
  sn::eval(x);
  for (int round = 0; round < 4; ++round) {  // a GPU replays kernels from the third on
    const std::size_t before = ranges().size();
    sn::eval(formula({x}));
    sn::synchronize();
    const std::vector<std::string> all = ranges();
    CHECK(count(all, "0 eval", before) + count(all, "0 evaluate", before) == 1);
    CHECK(count(all, ", from test_nvtx.cpp:", before) >= 1);
    if (sn::options().device == "cpu") CHECK(count(all, "1 matmul", before) == 1);
  }
  CHECK(count(ranges(), "plan") >= 1);
}

TEST_CASE("a frozen function's steps have the lines of its recording") {
  const Function frozen = freeze([](const std::vector<Tensor>& in) { return formula(in); }, {{DType::float32, {32, 48}}});
  const Tensor x = ones({32, 48}, DType::float32);
  sn::eval(x);
  const std::size_t before = ranges().size();
  frozen({x});
  sn::synchronize();
  CHECK(count(ranges(), ", from test_nvtx.cpp:", before) >= 1);
}

TEST_CASE("ranges of several threads, and of an evaluation that throws, end in order") {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int k = 1; k < 12; ++k) sn::eval(exp(arange(10 * k)) * static_cast<float>(t));
    });
  for (auto& thread : threads) thread.join();
  CHECK_THROWS_AS(sn::eval(take(arange(10), Tensor(astype(arange(100), DType::int64)), 0)), IndexError);
  ranges();
}

int main(int argc, char** argv) {
  setenv("NVTX_INJECTION64_PATH", NVTX_TOOL, 1);
  return testing::run_tests(argc, argv);
}
