// The loop language: the kernels that forms write are verified, printed and parsed again as the same kernels. Hand-written and mutated kernels that break a
// rule are refused.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <regex>
#include <set>

#include "engine/engine.hpp"
#include "fuse/schedule.hpp"
#include "jit/compiler.hpp"
#include "jit/forms/forms.hpp"
#include "jit/lower.hpp"
#include "kernel_count.hpp"
#include "llvm_masks.hpp"
#include "loop_reader.hpp"
#include "sinter/nn.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
namespace jit = sinter::jit;
namespace loop = sinter::jit::loop;
using sinter::test::LoopReader;
using sn::DType;
using sn::Tensor;

namespace {

/// Returns the kernels of a formula's plan for a device, with every schedule.
std::vector<jit::LoopNest> nests(const std::vector<Tensor>& results, const sn::fuse::Limits& limits) {
  const auto plan = sn::testing::plan_of(results, limits);
  std::vector<jit::LoopNest> all;
  for (const auto& step : plan.steps)
    if (step.kind == sn::fuse::Step::Kind::kernel)
      for (auto& candidate : jit::candidates(plan.graph, step.kernel, limits)) all.push_back(std::move(candidate.lowered.nest));
  return all;
}

Tensor make(DType dtype, const sn::Shape& shape) { return sn::placeholder(shape, dtype); }

std::vector<std::vector<Tensor>> formulas(DType t) {
  const Tensor x = make(t, {4096, 1024}), odd = make(t, {37, 1001}), w = make(t, {1024}), flat = make(t, {(1 << 20) + 1});
  return {{sn::gelu(x * w) + x},
          {flat * 2 + 1},
          {odd.T() * 2 + sn::permute(odd, {1, 0})},
          {sn::softmax(x, -1)},
          {sn::softmax(odd, -1)},
          {sn::layer_norm(x, w, w)},
          {sn::softmax(x, 0)},
          {sn::sum(odd, 0), sn::max(odd, 0)},
          {sn::argmax(x, -1), sn::any(x > 0, 1)},
          {sn::cumsum(x, -1)},
          {sn::cumsum(odd, 0)},
          {sn::softmax(make(t, {64, 100001}), -1)},
          {sn::take(x, make(DType::int64, {77}), 0) * 3},
          {sn::concatenate({x, x * x}, 0)},
          {sn::sum(sn::square(sn::expand_dims(make(t, {500, 48}), 1) - make(t, {500, 48})), -1)},
          {sn::max_pool2d(make(t, {2, 3, 32, 32}), 2)}};
}

/// Calls visit(statement) for each statement, the inner ones included.
template <class Visit> void each_statement(std::vector<loop::Stmt>& body, const Visit& visit) {
  for (loop::Stmt& s : body) {
    visit(s);
    each_statement(s.body, visit);
  }
}

void refuses(const std::string& text, std::string_view reason) {
  CAPTURE(text);
  const loop::Kernel kernel = LoopReader::read(text);
  try {
    loop::verify(kernel);
    FAIL("it is verified");
  } catch (const sn::InternalError& error) {
    CHECK_MESSAGE(std::string(error.what()).find(reason) != std::string::npos, error.what());
  }
}

std::string kernel_of(const std::string& body, const std::string& head = "") {
  return fmt::format("kernel k: 256 threads, 256 across{}\n  input float32 in0\n  output float32 out0\n  number int32 s0\n{{\n{}\n}}\n", head, body);
}

/// Reads a kernel back as it was printed, and returns its text.
std::string read_back(const loop::Kernel& kernel) {
  const std::string text = loop::to_string(kernel);
  CAPTURE(text);
  const loop::Kernel read = LoopReader::read(text);
  REQUIRE(loop::to_string(read) == text);
  REQUIRE(sinter::test::same(kernel, read));
  loop::verify(read);
  return text;
}

}  // namespace

TEST_CASE("every form is read back as it was printed, in every way that it can run") {
  std::set<std::string_view> forms;
  std::size_t count = 0;
  for (const DType t : {DType::float32, DType::bfloat16, DType::float64})
    for (const int sm : {75, 90})
      for (const auto& formula : formulas(t)) {
        for (const jit::LoopNest& nest : nests(formula, sn::fuse::cuda_limits(sm))) {
          const loop::Kernel kernel = jit::forms::lower(nest, sm);
          read_back(kernel);
          forms.insert(name(nest.schedule.form));
          ++count;
        }
      }
  MESSAGE(count << " kernels");
  CHECK(forms.size() == 5);
}

TEST_CASE("every form of a CPU is read back as it was printed, in every way that it can run") {
  std::set<std::string_view> forms;
  std::string all;
  for (const DType t : {DType::float32, DType::bfloat16, DType::float64})
    for (const jit::CpuTarget& cpu : {sn::testing::avx512_level(), jit::plainest_cpu("aarch64")})
      for (const auto& formula : formulas(t))
        for (const jit::LoopNest& nest : nests(formula, sn::fuse::cpu_limits())) {
          const loop::Kernel kernel = jit::forms::lower(nest, cpu);
          const std::string text = read_back(kernel);
          CHECK_THROWS_AS(loop::without_warps(kernel), sn::InternalError);
          forms.insert(name(nest.schedule.form));
          all += text;
        }
  CHECK(forms.size() == 5);
  for (const char* part :
       {"iota(", "lanes_below(", "any(", "some(", "tree(", "prefix(", "transposed(", " by ", "} else {", " streamed ", "dynamic ", "check 0"})
    CHECK_MESSAGE(all.find(part) != std::string::npos, part);
}

TEST_CASE("a device without warps gets shared memory and barriers of the block instead of shuffles") {
  std::set<std::string_view> forms;
  std::size_t lowered = 0;
  for (const DType t : {DType::float32, DType::float64})
    for (const auto& formula : formulas(t))
      for (const jit::LoopNest& nest : nests(formula, sn::fuse::opencl_limits())) {
        const loop::Kernel kernel = jit::forms::lower(nest, 0), without = loop::without_warps(kernel);
        const std::string before = loop::to_string(kernel), text = loop::to_string(without);
        CAPTURE(text);
        CHECK(text.find("shuffle") == std::string::npos);
        CHECK(text.find("barrier warp") == std::string::npos);
        lowered += before.find("shuffle") != std::string::npos;
        if (before.find("shuffle") == std::string::npos) CHECK(before == text);
        CHECK(sinter::test::same(without, LoopReader::read(text)));
        CHECK(jit::generate_opencl(nest, sn::fuse::opencl_limits()).text.find("kernel void") != std::string::npos);
        forms.insert(name(nest.schedule.form));
      }
  CHECK(forms.size() == 5);
  CHECK(lowered > 20);
  // The warps have different numbers of iterations, so their threads cannot meet at a barrier of the block.
  const loop::Kernel alone =
      LoopReader::read(kernel_of("for grid (uint32 p = block * 8 + thread_x / 32; p < 9; p += 8) {\nlet float32 a = shuffle_xor(in0[0], 1);\nout0[p] = a;\n}"));
  loop::verify(alone);
  CHECK_THROWS_AS(loop::without_warps(alone), sn::InternalError);
}

TEST_CASE("a kernel without a declaration, or with a barrier that some threads miss, is refused") {
  std::size_t lacking = 0, divergent = 0;
  for (const auto& formula : formulas(DType::float32))
    for (const jit::LoopNest& nest : nests(formula, sn::fuse::cuda_limits(90))) {
      const loop::Kernel whole = jit::forms::lower(nest, 90);
      // Removes one declaration at a time. Each printed declaration is used, so each removal is an error.
      std::size_t statements = 0;
      loop::Kernel counted = whole;
      each_statement(counted.body, [&](loop::Stmt&) { ++statements; });
      for (std::size_t k = 0; k < statements; k += 7) {
        loop::Kernel broken = whole;
        std::size_t at = 0;
        std::string name;
        each_statement(broken.body, [&](loop::Stmt& s) {
          if (at++ == k && s.kind <= loop::Stmt::Kind::dynamic) name = std::exchange(s.name, "elsewhere");
        });
        std::size_t others = 0;  // the same name in different scopes
        each_statement(broken.body, [&](loop::Stmt& s) { others += s.name == name; });
        const std::string text = loop::to_string(broken);
        if (name.empty() || others > 0 || !std::regex_search(text, std::regex("\\b" + name + "\\b"))) continue;
        CAPTURE(text);
        CHECK_THROWS_AS(loop::verify(broken), sn::InternalError);
        ++lacking;
      }
      loop::Kernel diverging = whole;
      bool found = false;
      each_statement(diverging.body, [&](loop::Stmt& s) {
        if (found || s.kind != loop::Stmt::Kind::barrier) return;
        found = true;
        loop::Stmt branch{.kind = loop::Stmt::Kind::branch, .guard = loop::thread_x() < loop::E(7)};
        branch.body = {s};
        s = branch;
      });
      if (!found) continue;
      CHECK_THROWS_AS(loop::verify(diverging), sn::InternalError);
      ++divergent;
    }
  MESSAGE(lacking << " kernels without a declaration, " << divergent << " with a barrier in a branch");
  CHECK(lacking > 100);
  CHECK(divergent > 10);
}

TEST_CASE("each rule of the language is checked") {
  const auto accepts = [](const std::string& body) { CHECK_NOTHROW(loop::verify(LoopReader::read(kernel_of(body)))); };
  accepts("if (thread_x < 1) {\nout0[0] = in0[s0];\n}\nbarrier block;");
  // The quotient of the thread's number is the same for all threads of a warp, and any function of the block's number is the same for all threads of a block.
  accepts("for grid (uint32 p = block * 8 + shuffle(thread_x / 32, 0); p < 9; p += blocks * 8) {\nlet float32 a = shuffle_xor(in0[p], 1);\n}");
  accepts("for grid (uint32 p = block; p < 9; p += blocks) {\nbarrier block;\n}");
  accepts("shared float32 m[4];\nif (m[1] < in0[0]) {\nbarrier block;\n}");

  constexpr std::string_view alone = "not all threads";
  refuses(kernel_of("if (thread_x < 1) {\nbarrier block;\n}"), alone);
  refuses(kernel_of("for threads (uint32 i = thread_x; i < 9; i += 256) {\nbarrier block;\n}"), alone);
  refuses(kernel_of("for grid (uint32 p = block * 8 + thread_x / 32; p < 9; p += 8) {\nbarrier block;\n}"), alone);
  refuses(kernel_of("if (thread_x < 7) {\nlet float32 a = shuffle_xor(in0[0], 1);\n}"), alone);
  refuses(kernel_of("for serial (int32 i = 0; i < s0; i += 1) {\nif (in0[thread_x] < out0[0]) break;\nbarrier block;\n}"), alone);
  // Some threads leave the loop after the barrier, so they are missing at the next one.
  refuses(kernel_of("for serial (int32 i = 0; i < s0; i += 1) {\nbarrier block;\nif (in0[thread_x] < out0[0]) break;\n}"), alone);
  refuses(kernel_of("var int32 v = 0;\nfor serial (int32 i = 0; i < v; i += 1) {\nbarrier block;\nv = int32(thread_x);\n}"), alone);
  refuses(kernel_of("for grid (uint32 p = block; p < 9; p += blocks) {\nbarrier cluster_wait;\n}", ", clusters of 2"), alone);
  refuses(kernel_of("barrier cluster_wait;"), "without clusters");

  refuses(kernel_of("let float32 a = in0[0];\na = in0[1];"), "constant");
  refuses(kernel_of("in0[0] = out0[0];"), "constant");
  refuses(kernel_of("let float32 a = s0;"), "gets int32");
  refuses(kernel_of("let bool b = less(in0[0], s0);"), "less");
  refuses(kernel_of("out0[0] = add(in0[0]);"), "on 1 operands");
  refuses(kernel_of("out0[0] = in0[0] + in0[1];"), "+ of float32");
  refuses(kernel_of("out0[0].x4 = in0[0].x2;"), "out0");
  refuses(kernel_of("out0[0] = in0[0][1];"), "2 indices");
  refuses(kernel_of("out0[0] = in0[in0[0]];"), "not an integer");
  refuses(kernel_of("registers float32 r[4];\nout0[0] = r[4];"), "no element 4");
  refuses(kernel_of("registers float32 r[4];\nout0[0].x2 = r[3].x2;"), "no element 3");
  refuses(kernel_of("let int32 a = 1;\nlet int32 a = 2;"), "twice");
  refuses(kernel_of("shared float32 m;\nout0[0] = remote(m, 0);"), "of a cluster");
  refuses(kernel_of("if (s0) {\nout0[0] = in0[0];\n}"), "not a bool");
  refuses(kernel_of("break;"), "outside of any loop");
  refuses(kernel_of("out0[0] = quotient(in0[0], in0[1]);"), "is not prepared");
  refuses(kernel_of("dynamic float32 d[thread_x];"), "the launch does not know");

  // Vectors are a CPU's, threads a GPU's.
  const auto on_cpu = [](const std::string& body) {
    return fmt::format("kernel k: vectors\n  input float32 in0\n  output float32 out0\n  number int64 s0\n  literal float32 c0\n{{\n{}\n}}\n", body);
  };
  const auto accepts_on_cpu = [&](const std::string& body) { CHECK_NOTHROW(loop::verify(LoopReader::read(on_cpu(body)))); };
  accepts_on_cpu("out0[s0 by -3].x4 = add(in0[iota(int64x4) * s0 when lanes_below(4, s0) else c0], in0[1]);");
  accepts_on_cpu("if (any(less(in0[outer_begin].x4, c0))) {\nout0[0] = tree(reduce_max, in0[0].x4);\n} else {\nout0[0].x4 = prefix(reduce_sum, in0[0].x4);\n}");
  accepts_on_cpu("registers float32x4 a[4];\nregisters float32x4 b[4] = transposed(a);\nout0[0].x4 = b[2] streamed s0;");
  refuses(on_cpu("registers float32x4 a[3];\nregisters float32x4 b[3] = transposed(a);"), "no square");
  refuses(on_cpu("let float32x8 a = add(in0[0].x4, in0[0].x8);"), "other widths");
  refuses(on_cpu("out0[0].x4 = in0[0].x8;"), "out0");
  refuses(on_cpu("out0[0] = in0[0].x4;"), "out0");
  refuses(on_cpu("if (less(in0[0].x4, c0)) {\n}"), "a condition");
  refuses(on_cpu("if (lanes_below(4, s0)) out0[0].x8 = in0[0].x8;"), "a condition");
  refuses(on_cpu("if (any(in0[0].x4)) {\n}"), "a condition");
  refuses(on_cpu("barrier block;"), "a CPU's kernel has a barrier");
  refuses(on_cpu("shared float32 m;"), "a CPU's kernel has shared memory");
  refuses(on_cpu("out0[thread_x] = c0;"), "a CPU's kernel has thread_x");
  refuses(on_cpu("out0[0] = shuffle_xor(in0[0], 1);"), "a CPU's kernel has a shuffle");
  refuses(kernel_of("out0[outer_begin] = in0[0];"), "a GPU's kernel has outer_begin");
  refuses(kernel_of("out0[0] = tree(reduce_max, in0[0].x4);"), "a GPU's kernel has");
  refuses(kernel_of("let float32x4 a = add(in0[0].x4, in0[0].x4);"), "a GPU's kernel has arithmetic of vectors");
  refuses(kernel_of("out0[0 by 2].x4 = in0[0].x4;"), "a GPU's kernel has strided vectors");
}
