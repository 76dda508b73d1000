// The executor of the loop language (support/loop_device) finds each kind of fault, in hand-written kernels and in kernels without their barriers, and finds
// none in correct kernels.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "draws.hpp"
#include "jit/cuda/geometry.hpp"
#include "jit/forms/forms.hpp"
#include "jit/lower.hpp"
#include "kernel_count.hpp"
#include "loop_device/executor.hpp"
#include "loop_reader.hpp"
#include "sinter/nn.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
namespace jit = sinter::jit;
namespace loop = sinter::jit::loop;
using sinter::test::LoopFault;
using sinter::test::LoopLaunch;
using sn::Tensor;

namespace {

/// Runs two blocks of 64 threads, with 128 numbers in in0 and out0. Returns the fault, or nothing.
std::string fault_of(const std::string& body) {
  const loop::Kernel kernel = sinter::test::LoopReader::read(
      fmt::format("kernel k: 64 threads, 64 across\n  input float32 in0\n  output float32 out0\n  number int32 s0\n{{\n{}\n}}\n", body));
  alignas(16) float in[128], out[128];
  std::fill_n(in, 128, 1.5f);
  LoopLaunch launch{.blocks = 2, .numbers = {128}};
  for (float* const memory : {in, out}) {
    launch.pointers.push_back(reinterpret_cast<std::byte*>(memory));
    launch.buffers.push_back(std::as_writable_bytes(std::span(memory, 128)));
  }
  std::sort(launch.buffers.begin(), launch.buffers.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
  try {
    sinter::test::execute(kernel, launch);
    return {};
  } catch (const LoopFault& fault) {
    return fault.what();
  }
}

void finds(const std::string& body, std::string_view fault) {
  CAPTURE(body);
  const std::string found = fault_of(body);
  CHECK_MESSAGE(found.find(fault) != std::string::npos, found);
}

/// Returns how many statements of this kind were removed.
int remove_barriers(std::vector<loop::Stmt>& body) {
  int removed = static_cast<int>(std::erase_if(body, [](const loop::Stmt& s) { return s.kind == loop::Stmt::Kind::barrier; }));
  for (loop::Stmt& s : body) removed += remove_barriers(s.body);
  return removed;
}

/// Returns the kernels of a formula with every schedule, each with memory for its buffers, which is filled with ones.
struct Runnable {
  jit::LoopNest nest;
  loop::Kernel kernel;
  std::map<int, std::vector<std::int64_t>> memory;  // by buffer; int64 for its alignment
  void execute() {
    LoopLaunch launch;
    launch.blocks = jit::cuda::geometry(nest, nest.ints, 4).grid;
    for (const auto* accesses : {&nest.inputs, &nest.outputs})
      for (const jit::Access& access : *accesses)
        launch.pointers.push_back(reinterpret_cast<std::byte*>(memory[access.buffer].data()) +
                                  access.offset * static_cast<std::int64_t>(sn::itemsize(access.dtype)));
    for (auto& [buffer, words] : memory) launch.buffers.push_back(std::as_writable_bytes(std::span(words)));
    std::sort(launch.buffers.begin(), launch.buffers.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
    for (const int used : jit::cuda::used_ints(nest)) launch.numbers.push_back(static_cast<std::uint64_t>(nest.ints[static_cast<std::size_t>(used)]));
    launch.numbers.insert(launch.numbers.end(), nest.scalars.size(), 0);
    sinter::test::execute(kernel, launch);
  }
};
std::vector<Runnable> runnable(const std::vector<Tensor>& results, const sn::fuse::Limits& limits) {
  const auto plan = sn::testing::plan_of(results, limits);
  std::vector<Runnable> all;
  for (const auto& step : plan.steps) {
    if (step.kind != sn::fuse::Step::Kind::kernel) continue;
    for (auto& candidate : jit::candidates(plan.graph, step.kernel, limits)) {
      Runnable& one = all.emplace_back();
      one.nest = std::move(candidate.lowered.nest);
      one.kernel = jit::forms::lower(one.nest, limits.sm);
      if (!limits.warps) one.kernel = loop::without_warps(std::move(one.kernel));
      for (const auto* accesses : {&one.nest.inputs, &one.nest.outputs})
        for (const jit::Access& access : *accesses)
          one.memory[access.buffer].assign(
              static_cast<std::size_t>(element_count(plan.graph.nodes[access.buffer].shape).hint()) * sn::itemsize(access.dtype) / 8 + 1, 0);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("each kind of fault is found") {
  const std::string share = "shared float32 a[64];\na[thread_x] = in0[block * 64 + thread_x];\n", store = "out0[block * 64 + thread_x] = ";
  CHECK(fault_of(share + "barrier block;\n" + store + "a[63 - thread_x];") == "");
  finds(share + store + "a[63 - thread_x];", "without a barrier between them");
  finds(share + "barrier warp;\n" + store + "a[63 - thread_x];", "without a barrier between them");
  CHECK(fault_of(share + "barrier warp;\n" + store + "a[thread_x ^ 1];") == "");
  finds("shared float32 a[64];\nif (thread_x < 63) a[thread_x] = in0[thread_x];\nbarrier block;\n" + store + "a[63 - thread_x];", "that no thread has written");
  finds("registers float32 r[4];\nr[0] = in0[thread_x];\n" + store + "r[1];", "which it has not written");
  finds("registers float32 r[4] = in0[0];\n" + store + "r[thread_x];", "of 4 elements");
  finds(store + "in0[block * 64 + thread_x + 1];", "reads in0[128], which is outside of its buffer");
  finds("out0[block * 64 + thread_x - 1] = in0[0];", "which is outside of its buffer");
  finds("out0[thread_x] = in0[0];", "without a barrier between them");
  finds("if (block == 0) out0[thread_x / 2] = in0[0];", "without a barrier between them");
  finds("let float32x4 v = in0[thread_x].x4;\n" + store + "v.at[0];", "which is not aligned");
  finds("if (thread_x < 40) {\nbarrier block;\n}\n" + store + "in0[0];", "reach a barrier");
  finds("let int32 zero = int32(thread_x) - int32(thread_x);\n" + store + "in0[int32(thread_x) / zero];", "by zero");
}

TEST_CASE("the kernels of a plan have no fault, and have one without their barriers") {
  int kernels = 0, with_barriers = 0;
  for (const std::string& target : sinter::testing::sampled(std::vector<std::string>{"sm_75", "sm_90", "opencl"})) {
    const Tensor wide = sn::placeholder({3, 2100}, sn::DType::float32), tall = sn::placeholder({130, 40}, sn::DType::float32),
                 few = sn::placeholder({70, 12}, sn::DType::float32);
    for (const std::vector<Tensor>& formula : std::vector<std::vector<Tensor>>{{sn::softmax(wide, -1)},
                                                                               {sn::sum(tall, 0), sn::max(tall, 0)},
                                                                               {sn::softmax(tall, 0)},
                                                                               {tall.T() * 2 + 1},
                                                                               {sn::cumsum(wide, -1)},
                                                                               {sn::gelu(wide) + wide},
                                                                               {sn::layer_norm(tall)},
                                                                               {sn::sum(sn::square(sn::expand_dims(few, 1) - sn::expand_dims(few, 0)), -1)}})
      for (Runnable& one : runnable(formula, sn::fuse::limits_of(target))) {
        INFO(target, "\n", loop::to_string(one.kernel));
        CHECK_NOTHROW(one.execute());
        ++kernels;
        if (remove_barriers(one.kernel.body) == 0) continue;
        CHECK_THROWS_AS(one.execute(), LoopFault);
        ++with_barriers;
      }
  }
  MESSAGE(kernels << " kernels, " << with_barriers << " with barriers");
  CHECK(with_barriers > 20);
}
