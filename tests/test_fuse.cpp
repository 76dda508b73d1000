// The scheduler on hand-built graphs: how many kernels, and the stated reason for each.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "fuse/schedule.hpp"
#include "fuse/walk.hpp"
#include "graph_builder.hpp"
#include "jit/lower.hpp"
#include "trace/record.hpp"

using namespace sinter;
using fuse::CutReason;
using fuse::Limits;
using fuse::Plan;
using sinter::testing::GraphBuilder;
using trace::Op;

namespace {

Plan plan_of(const trace::Graph& graph, const Limits& limits = fuse::cpu_limits()) {
  const auto prepared = fuse::prepare(graph, limits);
  Plan plan = fuse::schedule(prepared, limits);
  for (const auto& step : plan.steps) {
    if (step.kind != fuse::Step::Kind::kernel) continue;
    INFO(trace::to_string(plan.graph));
    const auto nest = jit::lower(plan.graph, step.kernel, limits);  // verifies
    CHECK(jit::to_string(nest).size() > 0);
  }
  return plan;
}

int kernels(const Plan& plan) {
  int count = 0;
  for (const auto& step : plan.steps) count += step.kind == fuse::Step::Kind::kernel;
  return count;
}

bool has_cut(const Plan& plan, CutReason reason) {
  for (const auto& step : plan.steps)
    if (step.cut().reason == reason && !step.cut().detail.empty()) return true;
  return false;
}

}  // namespace

TEST_CASE("a chain over broadcast operands is one kernel, and the literal is a parameter") {
  GraphBuilder g;
  const int x = g.data({4096, 1024}), s = g.data({1024});
  const int y = g.op(Op::multiply, {x, g.broadcast(s, {4096, 1024})});
  const int z = g.op(Op::add, {y, g.literal(0.5, {4096, 1024})});
  const auto graph = g.done({g.op(Op::tanh, {z})});
  const Plan plan = plan_of(graph);
  REQUIRE(kernels(plan) == 1);
  CHECK(plan.steps[0].cut().reason == CutReason::output_wanted);
  CHECK(plan.steps[0].kernel.row_axes() == 0);
  const auto nest = jit::lower(plan.graph, plan.steps[0].kernel, fuse::cpu_limits());
  CHECK(nest.scalars.size() == 1);
  CHECK(nest.parallel == 2);
  CHECK(plan.bytes_moved == doctest::Approx(4096.0 * 1024 * 4 * 2 + 4096));
}

TEST_CASE("neighbouring axes of one layout merge into one") {
  GraphBuilder g;
  const int x = g.data({16, 32, 64}), y = g.data({16, 32, 64});
  const auto graph = g.done({g.op(Op::add, {x, y})});
  const Plan plan = plan_of(graph);
  const auto nest = jit::lower(plan.graph, plan.steps[0].kernel, fuse::cpu_limits());
  CHECK(nest.parallel == 1);
  CHECK(nest.ints == std::vector<std::int64_t>{16 * 32 * 64});
}

TEST_CASE("softmax is one kernel of three passes; its exponential is kept, not computed again") {
  GraphBuilder g;
  const auto graph = g.done({g.softmax(g.data({4096, 1024}))});
  for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
    const Plan plan = plan_of(graph, limits);
    REQUIRE(kernels(plan) == 1);
    const auto& kernel = plan.steps[0].kernel;
    CHECK(kernel.passes() == 3);
    CHECK(kernel.row_axes() == 1);
    CHECK(kernel.kept.size() >= 1);
    CHECK(kernel.slots.size() == 1);  // what is kept never lives at the same time
  }
}

TEST_CASE("variance of rows is one kernel; of everything it is cut for parallelism") {
  const auto variance = [](Shape shape, std::vector<std::int64_t> axes) {
    GraphBuilder g;
    const int x = g.data(shape);
    std::int64_t count = 1;
    for (auto axis : axes) count *= shape[axis];
    const int sum = g.reduce(Op::reduce_sum, x, axes);
    const int mean = g.op(Op::divide, {sum, g.literal(static_cast<double>(count), g.shape(sum))});
    Shape kept = shape;
    for (auto axis : axes) kept[axis] = 1;
    const int centred = g.op(Op::subtract, {x, g.broadcast(g.reshape(mean, kept), shape)});
    return g.done({g.reduce(Op::reduce_sum, g.op(Op::multiply, {centred, centred}), axes)});
  };
  const Plan rows = plan_of(variance({512, 768}, {1}));
  CHECK(kernels(rows) == 1);
  CHECK(rows.steps[0].kernel.passes() == 2);
  const Plan all = plan_of(variance({2048, 1024}, {0, 1}));
  CHECK(kernels(all) == 4);  // two stages of the mean, two of the squares; the division is an epilogue
  CHECK(has_cut(all, CutReason::parallelism));
  CHECK(has_cut(all, CutReason::reduction_dependency));
}

TEST_CASE("a reduction takes its producers and its epilogue") {
  GraphBuilder g;
  const int x = g.data({300, 500});
  const int sum = g.reduce(Op::reduce_sum, g.op(Op::exp, {x}), {1});
  const auto graph = g.done({g.op(Op::log, {sum})});
  const Plan plan = plan_of(graph);
  CHECK(kernels(plan) == 1);
  CHECK(plan.steps[0].cut().reason == CutReason::output_wanted);
}

TEST_CASE("two reductions of different rows cannot share a kernel") {
  GraphBuilder g;
  const int a = g.reduce(Op::reduce_sum, g.data({300, 500}), {1}), b = g.reduce(Op::reduce_sum, g.data({300, 70}), {1});
  const Plan plan = plan_of(g.done({g.op(Op::divide, {a, b})}));
  CHECK(kernels(plan) == 2);
  CHECK(has_cut(plan, CutReason::reduction_dependency));
}

TEST_CASE("what is computed from a reduction before it is spread again is its epilogue, not a kernel") {
  GraphBuilder g;
  const int x = g.data({1797, 64});
  const int sum = g.reduce(Op::reduce_sum, x, {0});
  const int mean = g.op(Op::divide, {sum, g.literal(1797, {64})});
  const int centred = g.op(Op::subtract, {x, g.broadcast(mean, {1797, 64})});
  const Plan plan = plan_of(g.done({g.softmax(centred)}));
  CHECK(kernels(plan) == 2);
  CHECK(has_cut(plan, CutReason::reduction_dependency));
}

TEST_CASE("siblings over the same input are one kernel with several outputs") {
  GraphBuilder g;
  const int x = g.data({300, 500});
  const int low = g.reduce(Op::reduce_min, x, {1}), high = g.reduce(Op::reduce_max, x, {1});
  const Plan plan = plan_of(g.done({low, high}));
  REQUIRE(kernels(plan) == 1);
  CHECK(plan.steps[0].kernel.roots.size() == 2);
  CHECK(plan.steps[0].kernel.passes() == 1);
}

TEST_CASE("an output that another output uses at every point is stored on the way") {
  GraphBuilder g;
  const int x = g.data({1000});
  const int u = g.op(Op::exp, {x});
  const Plan plan = plan_of(g.done({u, g.op(Op::sqrt, {u})}));
  REQUIRE(kernels(plan) == 1);
  CHECK(plan.steps[0].kernel.roots.size() == 2);
}

TEST_CASE("work under a broadcast is not repeated when a round trip is cheaper") {
  const auto plan_for = [](std::int64_t rows) {
    GraphBuilder g;
    const int x = g.data({rows, 1024}), b = g.data({1024});
    const int heavy = g.op(Op::erf, {g.op(Op::tanh, {g.op(Op::exp, {b})})});
    return plan_of(g.done({g.op(Op::add, {x, g.broadcast(heavy, {rows, 1024})})}));
  };
  const Plan many = plan_for(4096), few = plan_for(2);
  CHECK(kernels(many) == 2);
  CHECK(has_cut(many, CutReason::recompute_cost));
  CHECK(kernels(few) == 1);
}

TEST_CASE("long formulas are cut by size, and a loop's pieces are the same kernel") {
  GraphBuilder g;
  int b = g.data({1000});
  for (int k = 0; k < 1024; ++k) b = g.op(Op::add, {b, g.literal(0.02, {1000})});
  const Plan plan = plan_of(g.done({b}));
  CHECK(kernels(plan) == 8);
  CHECK(has_cut(plan, CutReason::kernel_size));
  std::set<std::string> texts;
  for (const auto& step : plan.steps) texts.insert(jit::to_string(jit::lower(plan.graph, step.kernel, fuse::cpu_limits())));
  CHECK(texts.size() == 1);
}

TEST_CASE("a stencil of a stencil is not computed again at every offset without end") {
  GraphBuilder g;
  int u = g.data({2048, 2048});
  std::int64_t n = 2048;
  for (int step = 0; step < 12; ++step) {
    n -= 2;
    const auto shifted = [&](std::int64_t i, std::int64_t j) { return g.view(Op::slice, u, {n, n}, {i, 1, j, 1}); };
    int sum = g.op(Op::add, {shifted(0, 1), shifted(2, 1)});
    sum = g.op(Op::add, {sum, shifted(1, 0)});
    sum = g.op(Op::add, {sum, shifted(1, 2)});
    u = g.op(Op::multiply, {sum, g.literal(0.25, {n, n})});
  }
  const Plan plan = plan_of(g.done({u}));
  CHECK(kernels(plan) >= 2);
  CHECK(kernels(plan) <= 12);
  CHECK(has_cut(plan, CutReason::recompute_cost));
}

TEST_CASE("views are never kernels of their own") {
  GraphBuilder g;
  const int x = g.data({64, 96});
  const int turned = g.permute(x, {1, 0});                               // (96, 64)
  const int flat = g.reshape(turned, {96 * 64});                         // needs a transpose to be flat: index algebra
  const int flipped = g.view(Op::slice, flat, {96 * 64}, {96 * 64 - 1, -1});
  const Plan plan = plan_of(g.done({g.op(Op::exp, {flipped})}));
  REQUIRE(kernels(plan) == 1);
  const auto& kernel = plan.steps[0].kernel;
  CHECK(kernel.ops() == 1);
}

TEST_CASE("a reshape that no axis order expresses falls back to division, still in one kernel") {
  GraphBuilder g;
  const int x = g.data({6, 10});
  const int turned = g.permute(x, {1, 0});
  const int odd = g.reshape(turned, {4, 15});
  const Plan plan = plan_of(g.done({g.op(Op::exp, {odd})}));
  CHECK(kernels(plan) == 1);
}

TEST_CASE("a reshape of what lies contiguous is the same memory") {
  GraphBuilder g;
  const int x = g.data({6, 10});
  const Plan plan = plan_of(g.done({g.reshape(g.op(Op::exp, {x}), {60}), g.reshape(x, {3, 20})}));
  CHECK(kernels(plan) == 1);
  CHECK(plan.aliases.size() == 2);
}

TEST_CASE("matmul is a library step between kernels; a transposed operand needs no copy") {
  GraphBuilder g;
  const int x = g.op(Op::exp, {g.data({64, 32})}), w = g.permute(g.data({48, 32}), {1, 0});
  const int y = g.matmul(x, w);
  const Plan plan = plan_of(g.done({g.op(Op::tanh, {y})}));
  CHECK(kernels(plan) == 2);
  REQUIRE(plan.steps.size() == 3);
  CHECK(plan.steps[1].kind == fuse::Step::Kind::library);
  CHECK(plan.steps[1].call.operands[1].strides == std::vector<std::int64_t>{1, 32});
  CHECK(plan.steps[0].cut().reason == CutReason::library_call);
  // A device without a library computes it as one kernel with its neighbours.
  CHECK(kernels(plan_of(g.graph, fuse::cuda_limits(90))) >= 1);
}

TEST_CASE("a row that fits nowhere is read again or cut, and says so") {
  GraphBuilder g;
  const std::int64_t n = 1 << 20;
  const auto graph = g.done({g.softmax(g.op(Op::tanh, {g.op(Op::exp, {g.data({512, n})})}))});
  const Plan plan = plan_of(graph);
  CHECK(has_cut(plan, CutReason::row_too_long));
  const Plan cuda = plan_of(graph, fuse::cuda_limits(90));
  CHECK((has_cut(cuda, CutReason::shared_memory) || !cuda.steps.back().kernel.notes.empty()));
}

TEST_CASE("parameters and registers cut kernels of a small target") {
  GraphBuilder g;
  int sum = g.data({4096});
  for (int k = 0; k < 59; ++k) sum = g.op(Op::add, {sum, g.op(Op::multiply, {g.data({4096}), g.literal(k, {4096})})});
  const auto graph = g.done({sum});
  Limits few_parameters = fuse::cuda_limits(90);
  few_parameters.parameter_bytes = 600;
  CHECK(has_cut(plan_of(graph, few_parameters), CutReason::parameters));

  GraphBuilder h;  // many values alive at once: all are needed again after all were computed
  std::vector<int> alive;
  for (int k = 0; k < 40; ++k) alive.push_back(h.op(Op::exp, {h.data({4096})}));
  int total = alive[0];
  for (int k = 1; k < 40; ++k) total = h.op(Op::add, {total, alive[k]});
  for (int k = 0; k < 40; ++k) total = h.op(Op::multiply, {total, alive[k]});
  Limits few_registers = fuse::cuda_limits(90);
  few_registers.registers = 48;
  CHECK(has_cut(plan_of(h.done({total}), few_registers), CutReason::registers));
}

TEST_CASE("without fusion every op is a kernel, and says so") {
  GraphBuilder g;
  Limits limits = fuse::cpu_limits();
  limits.fuse = false;
  const Plan plan = plan_of(g.done({g.softmax(g.data({64, 128}))}), limits);
  CHECK(kernels(plan) == 5);
  CHECK(has_cut(plan, CutReason::fuse_off));
}

TEST_CASE("a plan of many steps in a row is made (a cubic scheduler would take minutes)") {
  GraphBuilder g;
  Limits limits = fuse::cpu_limits();
  limits.fuse = false;
  constexpr int kSteps = 1500;
  int x = g.data({8});
  for (int i = 0; i < kSteps; ++i) x = g.op(Op::sin, {x});
  const auto prepared = fuse::prepare(g.done({x}), limits);
  const Plan plan = fuse::schedule(prepared, limits);
  CHECK(kernels(plan) == kSteps);
}

TEST_CASE("a kernel never merges with a sibling that needs its result through others") {
  GraphBuilder g;
  const int x = g.data({4096, 4096});
  const int s = g.op(Op::add, {x, g.view(Op::broadcast, g.reduce(Op::reduce_sum, x, {0, 1}), {4096, 4096})});
  const int m = g.reduce(Op::reduce_max, g.op(Op::exp, {s}), {0, 1});  // reads x over the same points as the first sum
  const Plan plan = plan_of(g.done({m}));
  std::set<int> written;
  for (const auto& step : plan.steps) {
    for (int id : step.reads()) CHECK((plan.graph.nodes[id].op == Op::data || written.count(id) == 1));
    for (int id : step.writes()) written.insert(id);
  }
  CHECK(written.count(plan.graph.outputs[0]) == 1);
}

TEST_CASE("a value that several kernels would compute is put in memory when that is cheaper") {
  GraphBuilder g;
  const int x = g.data({2048, 2048});
  const int heavy = g.op(Op::erf, {g.op(Op::tanh, {g.op(Op::exp, {x})})});
  const Plan plan = plan_of(g.done({g.reduce(Op::reduce_sum, heavy, {0}), g.reduce(Op::reduce_max, heavy, {1})}));
  CHECK(has_cut(plan, CutReason::recompute_cost));
  CHECK(kernels(plan) == 3);
}

TEST_CASE("the schedule is the same every time") {
  GraphBuilder g;
  const int x = g.data({512, 512});
  const auto graph = g.done({g.softmax(x), g.reduce(Op::reduce_sum, x, {0})});
  const auto text = [&] {
    std::string all;
    const Plan plan = plan_of(graph);
    for (const auto& step : plan.steps) all += jit::to_string(jit::lower(plan.graph, step.kernel, fuse::cpu_limits())) + fuse::to_string(step.cut());
    return all;
  };
  CHECK(text() == text());
}
namespace sinter::trace { const void* host_data(const std::shared_ptr<Recorded>&) { return nullptr; } }
