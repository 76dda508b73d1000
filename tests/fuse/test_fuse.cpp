// The scheduler on hand-built graphs: checks the number of kernels and the split reason of each.
#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <set>

#include "fuse/group.hpp"
#include "fuse/schedule.hpp"
#include "graph_builder.hpp"
#include "jit/lower.hpp"
#include "trace/record.hpp"
#include "trace/site.hpp"

using namespace sinter;
using fuse::Limits;
using fuse::Plan;
using fuse::SplitReason;
using sinter::testing::GraphBuilder;
using trace::Op;

namespace {

Plan plan_of(const trace::Graph& graph, const Limits& limits = fuse::cpu_limits()) {
  const auto prepared = fuse::prepare(graph, limits);
  Plan plan = fuse::schedule(prepared, limits);
  for (const auto& step : plan.steps) {
    if (step.kind != fuse::Step::Kind::kernel) continue;
    INFO(fuse::to_string(plan.graph));
    const auto nest = jit::lower(plan.graph, step.kernel, limits).nest;  // also verifies the plan
    CHECK(jit::to_string(nest).size() > 0);
  }
  return plan;
}

int kernels(const Plan& plan) {
  int count = 0;
  for (const auto& step : plan.steps) count += step.kind == fuse::Step::Kind::kernel;
  return count;
}

bool has_split(const Plan& plan, SplitReason reason) {
  for (const auto& step : plan.steps)
    if (step.boundary().reason == reason && !step.boundary().detail.empty()) return true;
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
  CHECK(plan.steps[0].boundary().reason == SplitReason::output_wanted);
  CHECK(plan.steps[0].kernel.row_axes() == 0);
  const auto nest = jit::lower(plan.graph, plan.steps[0].kernel, fuse::cpu_limits()).nest;
  CHECK(nest.scalars.size() == 1);
  CHECK(nest.parallel == 2);
  CHECK(plan.steps[0].moved.now() == doctest::Approx(4096.0 * 1024 * 4 * 2 + 4096));
}

TEST_CASE("neighbouring axes of one layout merge into one") {
  GraphBuilder g;
  const int x = g.data({16, 32, 64}), y = g.data({16, 32, 64});
  const auto graph = g.done({g.op(Op::add, {x, y})});
  const Plan plan = plan_of(graph);
  const auto nest = jit::lower(plan.graph, plan.steps[0].kernel, fuse::cpu_limits()).nest;
  CHECK(nest.parallel == 1);
  CHECK(nest.ints == std::vector<std::int64_t>{16 * 32 * 64});
}

TEST_CASE("softmax is one kernel of three passes; its exponential is staged, not computed again") {
  GraphBuilder g;
  const auto graph = g.done({g.softmax(g.data({4096, 1024}))});
  for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
    const Plan plan = plan_of(graph, limits);
    REQUIRE(kernels(plan) == 1);
    const auto& kernel = plan.steps[0].kernel;
    CHECK(kernel.passes() == 3);
    CHECK(kernel.row_axes() == 1);
    CHECK(kernel.staged.size() >= 1);
    CHECK(kernel.persistent.size() == 1);  // the staged values never live at the same time
  }
}

TEST_CASE("the variance of rows is one kernel; the variance of all elements reads memory once, in chunks") {
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
  CHECK(kernels(all) <= 3);  // one kernel computes each chunk's sum and squares in one pass over memory, the others merge these
  CHECK(has_split(all, SplitReason::parallelism));
}

TEST_CASE("a reduction takes its producers and its epilogue") {
  GraphBuilder g;
  const int x = g.data({300, 500});
  const int sum = g.reduce(Op::reduce_sum, g.op(Op::exp, {x}), {1});
  const auto graph = g.done({g.op(Op::log, {sum})});
  const Plan plan = plan_of(graph);
  CHECK(kernels(plan) == 1);
  CHECK(plan.steps[0].boundary().reason == SplitReason::output_wanted);
}

TEST_CASE("two reductions of different rows cannot share a kernel") {
  GraphBuilder g;
  const int a = g.reduce(Op::reduce_sum, g.data({300, 500}), {1}), b = g.reduce(Op::reduce_sum, g.data({300, 70}), {1});
  const Plan plan = plan_of(g.done({g.op(Op::divide, {a, b})}));
  CHECK(kernels(plan) == 2);
  CHECK(has_split(plan, SplitReason::reduction_dependency));
}

TEST_CASE("operations on a reduction's result before it is broadcast are its epilogue, not a kernel") {
  GraphBuilder g;
  const int x = g.data({1797, 64});
  const int sum = g.reduce(Op::reduce_sum, x, {0});
  const int mean = g.op(Op::divide, {sum, g.literal(1797, {64})});
  const int centred = g.op(Op::subtract, {x, g.broadcast(mean, {1797, 64})});
  const Plan plan = plan_of(g.done({g.softmax(centred)}));
  CHECK(kernels(plan) == 2);
  CHECK(has_split(plan, SplitReason::reduction_dependency));
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

TEST_CASE("an output that another output uses at every point is stored by the same kernel") {
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
  CHECK(has_split(many, SplitReason::recompute_cost));
  CHECK(kernels(few) == 1);
}

TEST_CASE("long formulas are split by size, and a loop's pieces are the same kernel") {
  GraphBuilder g;
  int b = g.data({1000});
  for (int k = 0; k < 1024; ++k) b = g.op(Op::add, {b, g.literal(0.02, {1000})});
  const Plan plan = plan_of(g.done({b}));
  CHECK(kernels(plan) == 8);
  CHECK(has_split(plan, SplitReason::kernel_size));
  std::set<std::string> texts;
  for (const auto& step : plan.steps) texts.insert(jit::to_string(jit::lower(plan.graph, step.kernel, fuse::cpu_limits()).nest));
  CHECK(texts.size() == 1);
}

TEST_CASE("a stencil of a stencil is not recomputed at every offset without limit") {
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
  CHECK(has_split(plan, SplitReason::recompute_cost));
}

TEST_CASE("views are never kernels of their own") {
  GraphBuilder g;
  const int x = g.data({64, 96});
  const int turned = g.permute(x, {1, 0});        // (96, 64)
  const int flat = g.reshape(turned, {96 * 64});  // the values differ by a transpose, which index expressions describe
  const int flipped = g.view(Op::slice, flat, {96 * 64}, {96 * 64 - 1, -1});
  const Plan plan = plan_of(g.done({g.op(Op::exp, {flipped})}));
  REQUIRE(kernels(plan) == 1);
  const auto& kernel = plan.steps[0].kernel;
  CHECK(kernel.ops() == 1);
}

TEST_CASE("a reshape that no order of axes expresses uses divisions, still in one kernel") {
  GraphBuilder g;
  const int x = g.data({6, 10});
  const int turned = g.permute(x, {1, 0});
  const int odd = g.reshape(turned, {4, 15});
  const Plan plan = plan_of(g.done({g.op(Op::exp, {odd})}));
  CHECK(kernels(plan) == 1);
}

TEST_CASE("a reshape of a contiguous value is the same memory") {
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
  CHECK(plan.steps[1].call.operands[1].strides == fuse::Sizes{1, 32});
  CHECK(plan.steps[0].boundary().reason == SplitReason::library_call);
  // A device without a library computes the product in one kernel with its neighbours.
  CHECK(kernels(plan_of(g.graph, fuse::cuda_limits(90))) >= 1);
}

TEST_CASE("a row that cannot be staged is read again or split, with a reason") {
  GraphBuilder g;
  const std::int64_t n = 1 << 20;
  const int dear = g.op(Op::tanh, {g.op(Op::exp, {g.data({512, n})})});
  const int sum = g.reduce(Op::reduce_sum, dear, {1});
  const auto graph = g.done({g.op(Op::divide, {dear, g.broadcast(g.reshape(sum, {512, 1}), {512, n})})});
  const Plan plan = plan_of(graph);
  CHECK(has_split(plan, SplitReason::row_too_long));
  Limits nothing_behind = fuse::cpu_limits();
  nothing_behind.row_bytes_are_hard = true;
  CHECK(has_split(plan_of(graph, nothing_behind), SplitReason::shared_memory));
  const Plan cuda = plan_of(graph, fuse::cuda_limits(90));
  CHECK((has_split(cuda, SplitReason::shared_memory) || !cuda.steps.back().kernel.notes.empty()));
}

TEST_CASE("a kernel carries where its values are staged") {
  const auto staging = [](const sinter::Shape& shape, int axis, int values, const Limits& limits) {
    GraphBuilder g;
    const int x = g.data(shape);
    sinter::Shape narrow = shape;
    narrow[static_cast<std::size_t>(axis)] = 1;
    std::vector<int> all;
    for (int k = 0; k < values; ++k) all.push_back(g.op(Op::exp, {g.op(Op::multiply, {x, g.literal(k + 1, shape)})}));
    int sum = all[0], product = all[0];
    for (int k = 1; k < values; ++k) sum = g.op(Op::add, {sum, all[k]}), product = g.op(Op::multiply, {product, all[k]});
    const int total = g.broadcast(g.reshape(g.reduce(Op::reduce_sum, sum, {axis}), narrow), shape);
    const Plan plan = plan_of(g.done({g.op(Op::divide, {product, total})}), limits);
    REQUIRE(kernels(plan) == 1);
    const fuse::Kernel& kernel = plan.steps[0].kernel;
    CHECK(kernel.persistent.empty() == (kernel.staging == fuse::Staging{}));
    return kernel.staging;
  };
  const Limits h100 = fuse::cuda_limits(90);
  CHECK(staging({4096, 1000}, 1, 1, fuse::cpu_limits()) == fuse::Staging{1, true});
  CHECK(staging({4096, 4096}, 1, 1, h100) == fuse::Staging{1, false});
  CHECK(staging({4096, 65536}, 1, 1, h100).blocks > 1);
  CHECK(staging({4096, 1000}, 1, 30, h100).blocks == 1);
  CHECK(staging({4096, 2000}, 1, 30, h100).blocks > 1);
  CHECK(staging({512, 4096}, 0, 1, h100) == fuse::Staging{1, true});
  CHECK(staging({1000, 4096}, 0, 1, h100) == fuse::Staging{});
}

TEST_CASE("parameters and registers split kernels of a small target") {
  GraphBuilder g;
  int sum = g.data({4096});
  for (int k = 0; k < 59; ++k) sum = g.op(Op::add, {sum, g.op(Op::multiply, {g.data({4096}), g.literal(k, {4096})})});
  const auto graph = g.done({sum});
  Limits few_parameters = fuse::cuda_limits(90);
  few_parameters.parameter_bytes = 600;
  CHECK(has_split(plan_of(graph, few_parameters), SplitReason::parameters));

  GraphBuilder h;  // many values are alive at once, because each is needed again after all of them were computed
  std::vector<int> alive;
  for (int k = 0; k < 40; ++k) alive.push_back(h.op(Op::exp, {h.data({4096})}));
  int total = alive[0];
  for (int k = 1; k < 40; ++k) total = h.op(Op::add, {total, alive[k]});
  for (int k = 0; k < 40; ++k) total = h.op(Op::multiply, {total, alive[k]});
  Limits few_registers = fuse::cuda_limits(90);
  few_registers.registers = 48;
  CHECK(has_split(plan_of(h.done({total}), few_registers), SplitReason::registers));
}

TEST_CASE("a device model is printed with one property per line") {
  CHECK(to_string(fuse::cpu_limits()).find("one_order            true\n") != std::string::npos);
  CHECK(to_string(fuse::cuda_limits(90)).find("one_order            false\n") != std::string::npos);
  CHECK(to_string(fuse::cuda_limits(80)) != to_string(fuse::cuda_limits(90)));
}

TEST_CASE("without fusion every operation is a kernel, with a reason") {
  GraphBuilder g;
  Limits limits = fuse::cpu_limits();
  limits.fuse = false;
  const Plan plan = plan_of(g.done({g.softmax(g.data({64, 128}))}), limits);
  CHECK(kernels(plan) == 5);
  CHECK(has_split(plan, SplitReason::fuse_off));
}

TEST_CASE("a plan of many dependent steps is made quickly (a cubic scheduler would take minutes)") {
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

TEST_CASE("a kernel never merges with a sibling that depends on it through other kernels") {
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

TEST_CASE("a value that several kernels would compute is materialised if that is cheaper") {
  GraphBuilder g;
  const int x = g.data({2048, 2048});
  const int heavy = g.op(Op::erf, {g.op(Op::tanh, {g.op(Op::exp, {x})})});
  const Plan plan = plan_of(g.done({g.reduce(Op::reduce_sum, heavy, {0}), g.reduce(Op::reduce_max, heavy, {1})}));
  CHECK(kernels(plan) == 2);  // the kernel that reduces in the order of memory stores the value, too
  CHECK(plan.steps[0].kernel.roots.size() == 2);
  CHECK(plan.steps[1].reads() == std::vector<int>{heavy});
  CHECK(plan.steps[0].kernel.notes.back().find("recompute cost") != std::string::npos);
}

TEST_CASE("the schedule is the same every time") {
  GraphBuilder g;
  const int x = g.data({512, 512});
  const auto graph = g.done({g.softmax(x), g.reduce(Op::reduce_sum, x, {0})});
  const auto text = [&] {
    std::string all;
    const Plan plan = plan_of(graph);
    for (const auto& step : plan.steps) all += jit::to_string(jit::lower(plan.graph, step.kernel, fuse::cpu_limits()).nest) + fuse::to_string(step.boundary());
    return all;
  };
  CHECK(text() == text());
}
namespace sinter::trace {
const void* host_data(const std::shared_ptr<Recorded>&, const Site&) { return nullptr; }
}  // namespace sinter::trace

// ---- groups over the same points, on every target -------------------------------------------------------------------------

namespace {

struct Norm {
  int mean, rstd, y;
};  // bytes per row

// The recording of layer_norm: mean and variance keep their axis with size 1.
Norm layer_norm(GraphBuilder& g, int x, int w, int b) {
  const Shape like = g.shape(x);
  const auto last = static_cast<std::int64_t>(like.size()) - 1;
  Shape kept = like;
  kept.back() = 1;
  const auto average = [&](int v) {
    return g.op(Op::divide, {g.reshape(g.reduce(Op::reduce_sum, v, {last}), kept), g.literal(static_cast<double>(like.back()), kept)});
  };
  const int mean = average(x);
  const int centred = g.op(Op::subtract, {x, g.broadcast(mean, like)});
  const int variance = average(g.op(Op::multiply, {centred, centred}));
  const int rstd = g.op(Op::rsqrt, {g.op(Op::add, {variance, g.literal(1e-5, kept)})});
  const int scaled = g.op(Op::multiply, {g.op(Op::multiply, {centred, g.broadcast(rstd, like)}), g.broadcast(w, like)});
  return {mean, rstd, g.op(Op::add, {scaled, g.broadcast(b, like)})};
}

std::string steps_text(const Plan& plan) {
  std::string text = fuse::to_string(plan.graph);
  for (const auto& step : plan.steps) {
    text += "step reads";
    for (int id : step.reads()) text += " %" + std::to_string(id);
    text += " writes";
    for (int id : step.writes()) text += " %" + std::to_string(id);
    text += " since " + fuse::to_string(step.boundary()) + "\n";
  }
  return text;
}

// Returns the number of kernels, which must be the same on the CPU and on an H100. Also checks that the order of each plan's steps is valid.
template <class Record> int kernels_everywhere(Record record) {
  int count = -1;
  std::string plans;
  for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
    GraphBuilder g;
    const Plan plan = plan_of(g.done(record(g)), limits);
    plans += steps_text(plan);
    std::set<int> written;
    for (const auto& step : plan.steps) {
      for (int id : step.reads()) CHECK((plan.graph.nodes[id].op == Op::data || written.count(id) == 1));
      for (int id : step.writes()) CHECK(written.insert(id).second);
    }
    for (int output : plan.graph.outputs) {
      const int base = plan.aliases.count(output) ? plan.aliases.at(output) : output;
      CHECK((plan.graph.nodes[base].op == Op::data || written.count(base) == 1));
    }
    if (count < 0) count = kernels(plan);
    INFO(plans);
    CHECK(kernels(plan) == count);
  }
  return count;
}

}  // namespace

TEST_CASE("a reduction's results are computed once each, even if another domain has as many points") {
  GraphBuilder g;
  const int s = g.softmax(g.data({512, 512, 512}));
  const Plan plan = plan_of(g.done({g.reshape(g.view(Op::slice, s, {512, 1, 512}, {0, 1, 0, 1, 0, 1}), {512, 512})}));
  REQUIRE(kernels(plan) == 1);
  CHECK(plan.steps[0].kernel.parallel_points() == 512);  // only the requested rows
  CHECK(plan.steps[0].kernel.row_points() == 512);
}

TEST_CASE("axes of size 1, splits and merges of axes make no difference") {
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const int x = g.data({32, 128});
          const int flat = g.reduce(Op::reduce_sum, g.op(Op::exp, {x}), {1});
          const int kept = g.reduce(Op::reduce_max, g.op(Op::sqrt, {g.reshape(x, {32, 128, 1})}), {1});
          return std::vector<int>{flat, kept};
        }) == 1);
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const int s = g.softmax(g.reshape(g.data({64, 768}), {64, 12, 64}));
          return std::vector<int>{g.op(Op::multiply, {g.reshape(s, {64, 768}), g.broadcast(g.data({768}), {64, 768})})};
        }) == 1);
  CHECK(kernels_everywhere([](GraphBuilder& g) {  // no reduction at all
          return std::vector<int>{g.op(Op::exp, {g.reduce(Op::reduce_sum, g.op(Op::sqrt, {g.data({64, 1, 3})}), {1})})};
        }) == 1);
  CHECK(kernels_everywhere([](GraphBuilder& g) {  // the same points, one of them flat
          const int x = g.data({64, 768});
          return std::vector<int>{g.op(Op::exp, {g.reshape(x, {64 * 768})}), g.op(Op::sqrt, {x})};
        }) == 1);
}

TEST_CASE("a layer norm's statistics are outputs of its kernel") {
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const Norm n = layer_norm(g, g.data({1024, 768}), g.data({768}), g.data({768}));
          return std::vector<int>{n.y, g.op(Op::divide, {n.rstd, g.literal(768, {1024, 1})})};
        }) == 1);
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const Norm n = layer_norm(g, g.data({1024, 768}), g.data({768}), g.data({768}));
          return std::vector<int>{n.mean, n.rstd, n.y};
        }) == 1);
}

TEST_CASE("a row kernel computes only the slice of its result that is needed") {
  for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
    GraphBuilder g;
    const Norm n = layer_norm(g, g.data({1024, 768}), g.data({768}), g.data({768}));
    const Plan plan = plan_of(g.done({g.view(Op::slice, n.y, {1024, 1}, {0, 1, 0, 1})}), limits);
    REQUIRE(kernels(plan) == 1);
    CHECK(plan.steps[0].kernel.passes() == 2);  // the mean, the variance; the result once a row
  }
}

TEST_CASE("a pointwise kernel joins a row kernel that reads the same values") {
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const int x = g.data({256, 512});
          const int relu = g.op(Op::maximum, {x, g.literal(0, {256, 512})});
          const int mean = g.op(Op::divide, {g.reduce(Op::reduce_sum, relu, {1}), g.literal(512, {256})});
          return std::vector<int>{mean, g.op(Op::less_equal, {relu, g.literal(0, {256, 512})})};
        }) == 1);
  CHECK(kernels_everywhere([](GraphBuilder& g) {  // a reduction over the first axis
          const int x = g.data({256, 512});
          const int relu = g.op(Op::maximum, {x, g.literal(0, {256, 512})});
          return std::vector<int>{g.reduce(Op::reduce_sum, relu, {0}), g.op(Op::less_equal, {relu, g.literal(0, {256, 512})})};
        }) == 1);
}

TEST_CASE("a pointwise result and the sum of all its elements are two kernels: partial sums, then their sum") {
  // Row lengths that divide a chunk, and others.
  for (const Shape& shape : {Shape{1000, 1000}, Shape{2048, 2048}, Shape{1000000}, Shape{64, 16384}, Shape{30, 60, 600}})
    CHECK(kernels_everywhere([&](GraphBuilder& g) {
            const int power = g.op(Op::power, {g.data(shape), g.literal(2.2, shape)});
            const std::vector<std::int64_t> axes = {0, 1, 2};
            const int sum = g.reduce(Op::reduce_sum, power, {axes.begin(), axes.begin() + static_cast<long>(shape.size())});
            return std::vector<int>{g.op(Op::rint, {g.op(Op::multiply, {power, g.literal(255, shape)})}), sum};
          }) == 2);
}

TEST_CASE("a row result that another kernel needs is a second output of the row kernel") {
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const Shape shape{4096, 256};
          const int x = g.data(shape);
          const int smallest = g.reduce(Op::reduce_min, x, {1});
          const int is_smallest = g.op(Op::equal, {x, g.spread(smallest, shape)});
          const int place = g.broadcast(g.data({256}), shape);
          const int first = g.reduce(Op::reduce_min, g.op(Op::where, {is_smallest, place, g.literal(1e9, shape)}), {1});
          return std::vector<int>{first, g.reduce(Op::reduce_sum, smallest, {0})};
        }) == 2);
}

TEST_CASE("layer norm backward is a row kernel and a column kernel") {
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const Shape shape{128, 768}, kept{128, 1};
          const int x = g.data(shape), dy = g.data(shape), w = g.data({768});
          const auto average = [&](int v) { return g.op(Op::divide, {g.reshape(g.reduce(Op::reduce_sum, v, {1}), kept), g.literal(768, kept)}); };
          const int centred = g.op(Op::subtract, {x, g.broadcast(average(x), shape)});
          const int variance = average(g.op(Op::multiply, {centred, centred}));
          const int rstd = g.op(Op::rsqrt, {g.op(Op::add, {variance, g.literal(1e-5, kept)})});
          const int xhat = g.op(Op::multiply, {centred, g.broadcast(rstd, shape)});
          const int dxhat = g.op(Op::multiply, {dy, g.broadcast(w, shape)});
          const int a = average(dxhat), b = average(g.op(Op::multiply, {dxhat, xhat}));
          const int inner = g.op(Op::subtract, {g.op(Op::subtract, {dxhat, g.broadcast(a, shape)}), g.op(Op::multiply, {xhat, g.broadcast(b, shape)})});
          const int dx = g.op(Op::multiply, {inner, g.broadcast(rstd, shape)});
          return std::vector<int>{dx, g.reduce(Op::reduce_sum, g.op(Op::multiply, {dy, xhat}), {0}), g.reduce(Op::reduce_sum, dy, {0})};
        }) == 2);
}

TEST_CASE("training layer norm with a dropout mask is one kernel") {
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const Shape shape{4096, 768};
          const int mask = g.data(shape), x = g.data(shape), residual = g.data(shape);
          const int dropped = g.op(Op::multiply, {g.op(Op::multiply, {x, mask}), g.literal(1 / 0.9, shape)});
          const int sum = g.op(Op::add, {residual, dropped});
          const Norm n = layer_norm(g, sum, g.data({768}), g.data({768}));
          return std::vector<int>{sum, n.mean, n.rstd, n.y};
        }) == 1);
}

TEST_CASE("arithmetic that takes less time than its memory traffic is computed again") {
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const Shape wide{128, 1152, 7, 7}, gate{128, 1152, 1, 1};
          const int e = g.op(Op::exp, {g.op(Op::negative, {g.data(gate)})});
          const int sigmoid = g.op(Op::divide, {g.literal(1, gate), g.op(Op::add, {e, g.literal(1, gate)})});
          return std::vector<int>{g.op(Op::multiply, {g.broadcast(sigmoid, wide), g.data(wide)})};
        }) == 1);
  for (const Shape& parameters : {Shape{64, 1, 1}, Shape{56}})
    CHECK(kernels_everywhere([&](GraphBuilder& g) {  // batch norm, inference
            const Shape wide{5, 64, 56, 56};
            const int rstd = g.op(Op::divide, {g.literal(1, parameters), g.op(Op::sqrt, {g.op(Op::add, {g.data(parameters), g.literal(1e-5, parameters)})})});
            const int centred = g.op(Op::subtract, {g.data(wide), g.broadcast(g.data(parameters), wide)});
            return std::vector<int>{g.op(Op::multiply, {g.op(Op::multiply, {centred, g.broadcast(rstd, wide)}), g.broadcast(g.data(parameters), wide)})};
          }) == 1);
}

TEST_CASE("coupled values of a short loop are one kernel with several outputs") {
  CHECK(kernels_everywhere([](GraphBuilder& g) {
          const Shape shape{400, 600};
          const int cr = g.data(shape), ci = g.data(shape);
          int zr = g.literal(0, shape), zi = g.literal(0, shape), count = g.literal(0, shape);
          for (int step = 0; step < 8; ++step) {
            const int rr = g.op(Op::multiply, {zr, zr}), ii = g.op(Op::multiply, {zi, zi});
            const int inside = g.op(Op::less, {g.op(Op::add, {rr, ii}), g.literal(4, shape)});
            count = g.op(Op::where, {inside, g.op(Op::add, {count, g.literal(1, shape)}), count});
            const int next = g.op(Op::add, {g.op(Op::subtract, {rr, ii}), cr});
            zi = g.op(Op::add, {g.op(Op::multiply, {g.op(Op::multiply, {zr, zi}), g.literal(2, shape)}), ci});
            zr = next;
          }
          return std::vector<int>{zr, zi, count};
        }) == 1);
}

TEST_CASE("a long formula with several live values is split into few parts of equal length") {
  GraphBuilder g;
  const Shape shape{100000};
  int p = g.data(shape), m = g.data(shape), v = g.data(shape);
  for (int step = 0; step < 40; ++step) {  // about 20 ops each
    const int gradient = g.op(Op::subtract, {g.op(Op::multiply, {p, g.literal(2, shape)}), g.literal(1, shape)});
    m = g.op(Op::add, {g.op(Op::multiply, {m, g.literal(0.9, shape)}), g.op(Op::multiply, {gradient, g.literal(0.1, shape)})});
    v = g.op(Op::add,
             {g.op(Op::multiply, {v, g.literal(0.999, shape)}), g.op(Op::multiply, {g.op(Op::multiply, {gradient, gradient}), g.literal(0.001, shape)})});
    const int update = g.op(Op::divide, {m, g.op(Op::add, {g.op(Op::sqrt, {v}), g.literal(1e-8, shape)})});
    p = g.op(Op::subtract, {p, g.op(Op::multiply, {update, g.literal(0.01, shape)})});
  }
  const Plan plan = plan_of(g.done({p, m, v}));
  int ops = 0;
  for (const auto& node : plan.graph.nodes) ops += trace::is_elementwise(node.op);
  CHECK(kernels(plan) <= ops / 128 + 2);
  int computed = 0;
  for (const auto& step : plan.steps) computed += step.kernel.ops();
  CHECK(computed <= ops * 5 / 4);
}

TEST_CASE("a hundred outputs of one input are built at once, in few kernels") {
  GraphBuilder g;
  const Shape shape{64, 32};
  const int x = g.data(shape);
  std::vector<int> outputs;
  for (int k = 0; k < 100; ++k) outputs.push_back(g.op(Op::sqrt, {g.op(Op::multiply, {x, g.literal(k, shape)})}));
  const Plan plan = plan_of(g.done(outputs));
  CHECK(kernels(plan) <= 2);
  std::size_t roots = 0;
  for (const auto& step : plan.steps) roots += step.kernel.roots.size();
  CHECK(roots == 100);
}

TEST_CASE("a stencil of stencils is split between its steps, and each step is computed once at each point") {
  GraphBuilder g;
  int x = g.data({100000});
  for (int step = 0; step < 30; ++step) {
    const std::int64_t n = g.shape(x)[0] - 2;
    const auto part = [&](std::int64_t start) { return g.view(Op::slice, x, {n}, {start, 1}); };
    x = g.op(Op::add, {g.op(Op::add, {part(0), part(2)}), part(1)});
  }
  const Plan plan = plan_of(g.done({x}));
  // Step k has 2 ops at 2k + 1 points, so 8 steps have 128 ops.
  CHECK(kernels(plan) >= 4);
  for (const auto& step : plan.steps) {
    CHECK(step.kernel.roots.size() == 1);
    int loads = 0;
    for (const auto& value : step.kernel.values) loads += value.kind == fuse::Value::Kind::load;
    CHECK(loads <= 17);
    CHECK(step.kernel.ops() <= fuse::cpu_limits().max_ops);
  }
}

TEST_CASE("a concatenation of too many pieces materialises some of them, and the whole at most once") {
  GraphBuilder g;
  const auto join = [&](const std::vector<int>& pieces) {
    std::int64_t rows = 0, before = 0;
    for (int piece : pieces) rows += g.shape(piece)[0];
    int all = g.literal(0, {rows, 8});
    for (int piece : pieces) {
      trace::Node pad;
      pad.op = Op::pad;
      pad.shape = {rows, 8};
      pad.inputs = {piece, all};
      const std::int64_t size = g.shape(piece)[0];
      pad.ints = {before, rows - before - size, 0, 0};
      before += size;
      all = g.push(pad);
    }
    return all;
  };
  std::vector<int> pieces;
  for (int k = 0; k < 16; ++k) {
    std::vector<int> group;
    for (int p = 0; p < 16; ++p) group.push_back(g.op(Op::negative, {g.data({4 + p, 8})}));
    pieces.push_back(join(group));
  }
  const Plan plan = plan_of(g.done({join(pieces)}));
  int whole = 0;  // the kernel stores the result and at most one intermediate value
  for (const auto& step : plan.steps)
    for (const auto& root : step.kernel.roots)
      whole += plan.graph.nodes[root.node].elements.hint() * 8 >= plan.graph.nodes[plan.graph.outputs[0]].elements.hint();
  CHECK(whole <= 2);
}
