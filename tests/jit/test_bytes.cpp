// Figures: explain's bytes moved by a kernel are the bytes that it accesses. The interpreter runs each kernel with every schedule for a CPU and for a GPU, and
// records its reads and writes. An element counts once for each pass over the rows.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "fuse/schedule.hpp"
#include "jit/lower.hpp"
#include "kernel_count.hpp"
#include "runtime/host/interpreter.hpp"
#include "sinter/ops.hpp"
#include "trace/structural_key.hpp"

namespace sn = sinter;
namespace jit = sinter::jit;
using sn::DType;
using sn::Index;
using sn::Shape;
using sn::Slice;
using sn::Tensor;

namespace {

class Touched final : public sn::runtime::AccessLog {
 public:
  explicit Touched(const jit::LoopNest& nest) : nest_(nest) {}
  void read(int stage, int input, std::int64_t element) override { add(nest_.stages[stage].row ? stage : -1, nest_.inputs[input], element); }
  void written(int, int output, std::int64_t element) override { add(kWritten, nest_.outputs[output], element); }
  double bytes() const {
    double bytes = 0;
    for (const auto& [place, elements] : touched_) bytes += static_cast<double>(elements.size()) * size_.at(place.second);
    return bytes;
  }

 private:
  static constexpr int kWritten = -2;
  void add(int pass, const jit::Access& access, std::int64_t element) {
    size_[access.buffer] = static_cast<double>(sn::itemsize(access.dtype));
    touched_[{pass, access.buffer}].insert(element + access.offset);
  }
  const jit::LoopNest& nest_;
  std::map<std::pair<int, int>, std::set<std::int64_t>> touched_;  // (pass, buffer) -> elements
  std::map<int, double> size_;
};

double touched(const sn::fuse::Graph& graph, const jit::LoopNest& nest) {
  std::map<int, std::vector<char>> memory;
  std::vector<void*> pointers;
  for (const auto* accesses : {&nest.inputs, &nest.outputs})
    for (const auto& access : *accesses) {
      auto& bytes = memory[access.buffer];
      bytes.resize(static_cast<std::size_t>(element_count(graph.nodes[access.buffer].shape).hint()) * sn::itemsize(access.dtype) + 64);
    }
  for (const auto* accesses : {&nest.inputs, &nest.outputs})
    for (const auto& access : *accesses)
      pointers.push_back(memory[access.buffer].data() + access.offset * static_cast<std::int64_t>(sn::itemsize(access.dtype)));
  const std::vector<std::uint64_t> scalars(nest.scalars.size());
  std::int64_t outer = 1, inner = 1;
  for (int axis = 0; axis < nest.parallel; ++axis) (axis == nest.lane_axis() ? inner : outer) *= nest.ints[axis];
  Touched log(nest);
  sn::runtime::Interpreter(nest).run({pointers, nest.ints, scalars}, 0, outer, 0, inner, &log);
  return log.bytes();
}

Tensor in(Shape shape, DType dtype = DType::float32) { return sn::placeholder(shape, dtype); }

struct Formula {
  const char* name;
  std::function<std::vector<Tensor>()> of;
};

const std::vector<Formula>& formulas() {
  static const std::vector<Formula> all = {
      {"pointwise",
       [] {
         const Tensor x = in({40, 50});
         return std::vector{sn::exp(x) + x * 2.f};
       }},
      {"a row for all", [] { return std::vector{in({40, 48}) + in({48})}; }},
      {"a column for all", [] { return std::vector{in({40, 48}) * in({40, 1})}; }},
      {"outer product", [] { return std::vector{in({40, 1}) * in({1, 70})}; }},
      {"transposed", [] { return std::vector{in({33, 20}).T() * 2.f}; }},
      {"every second", [] { return std::vector{in({40, 50})(Slice{0, 40, 2}, Slice{1, 50, 2}) * 2.f}; }},
      {"with itself turned",
       [] {
         const Tensor x = in({24, 24});
         return std::vector{x + x.T()};
       }},
      {"neighbours",
       [] {
         const Tensor x = in({200});
         return std::vector{x(Slice{1, 200}) - x(Slice{0, 199})};
       }},
      {"padded", [] { return std::vector{sn::concatenate({in({10, 8}), in({6, 8})}, 0) * 2.f}; }},
      {"row sums",
       [] {
         const Tensor x = in({30, 70});
         return std::vector{sn::sum(x * x, -1)};
       }},
      {"column sums",
       [] {
         const Tensor x = in({70, 30});
         return std::vector{sn::sum(x * x, 0), sn::max(x, 0)};
       }},
      {"softmax", [] { return std::vector{sn::softmax(in({12, 90}), -1)}; }},
      {"softmax of columns", [] { return std::vector{sn::softmax(in({90, 12}), 0)}; }},
      {"softmax of long rows", [] { return std::vector{sn::softmax(in({2, 150000}), -1)}; }},
      {"layer norm", [] { return std::vector{sn::layer_norm(in({9, 64}), in({64}), in({64}))}; }},
      {"variance and points",
       [] {
         const Tensor x = in({20, 65});
         return std::vector{sn::var(x, -1), x - sn::mean(x, -1, true)};
       }},
      {"a second input in the last pass",
       [] {
         const Tensor x = in({16, 40});
         return std::vector{in({16, 40}) * sn::sum(x, -1, true) + x};
       }},
      {"the same rows for two",
       [] {
         const Tensor x = in({16, 40});
         return std::vector{(x - sn::max(x, -1, true)) * x};
       }},
      {"scan", [] { return std::vector{sn::cumsum(in({7, 130}), 1) * 2.f}; }},
      {"halves", [] { return std::vector{sn::softmax(in({8, 64}, DType::float16), -1)}; }},
  };
  return all;
}

void check_on(const sn::fuse::Limits& limits) {
  int passes = 0, kernels = 0;
  for (const Formula& formula : formulas()) {
    CAPTURE(std::string(formula.name));
    const auto plan = sn::testing::plan_of(formula.of(), limits);
    for (const auto& step : plan.steps) {
      if (step.kind != sn::fuse::Step::Kind::kernel) continue;
      ++kernels;
      for (const auto& candidate : jit::candidates(plan.graph, step.kernel, limits)) {
        const jit::LoopNest& nest = candidate.lowered.nest;
        CAPTURE(jit::to_string(nest));
        CAPTURE(candidate.overrides.text());
        for (const auto& stage : nest.stages) passes += stage.row;
        CHECK(candidate.lowered.moved.now() == touched(plan.graph, nest));
      }
    }
  }
  CHECK(passes > kernels);
}

}  // namespace

TEST_CASE("a kernel of a CPU moves the bytes that its plan states") {
  sn::fuse::Limits limits = sn::fuse::cpu_limits();
  limits.cached_bytes = 0;  // each pass counts
  check_on(limits);
}

TEST_CASE("a CPU reads a row or a column that its cache keeps once, and a longer one in each pass") {
  const auto limits = sn::fuse::cpu_limits();
  const auto moved = [&](const Tensor& y) {
    const auto plan = sn::testing::plan_of({y}, limits);
    REQUIRE(plan.steps.size() == 1);
    return jit::lower(plan.graph, plan.steps[0].kernel, limits).moved.now();
  };
  const Tensor rows = in({64, 1024}), columns = in({1024, 64});
  CHECK(moved(sn::softmax(rows, -1)) == 2.0 * 64 * 1024 * 4);
  CHECK(moved(sn::softmax(columns, 0)) == 2.0 * 64 * 1024 * 4);
  const std::int64_t longer = limits.cached_bytes / 4 + 1;
  const Tensor x = in({512, longer});
  CHECK(moved(x - sn::max(x, -1, true)) == 3.0 * 512 * static_cast<double>(longer) * 4);
}

TEST_CASE("a kernel of a GPU moves the bytes that its plan states") {
  sn::fuse::Limits limits = sn::fuse::cuda_limits(90);
  limits.cache_bytes = 0;  // each pass counts
  check_on(limits);
}

TEST_CASE("a CPU's lanes lie across the columns of a stack, which are one element wide, and along pieces of rows") {
  const auto limits = sn::fuse::cpu_limits();
  const auto tiles = [&](const Tensor& y) {
    const auto plan = sn::testing::plan_of({y}, limits);
    REQUIRE(plan.steps.size() == 1);
    return jit::lower(plan.graph, plan.steps[0].kernel, limits).nest.schedule.is<jit::TilesForm>();
  };
  for (const int columns : {2, 4, 9, 20}) {
    std::vector<Tensor> all;
    for (int k = 0; k < columns; ++k) all.push_back(in({5000}));
    CHECK(tiles(sn::stack(all, 1)));
  }
  CHECK_FALSE(tiles(sn::concatenate({in({5000, 4}), in({5000, 4})}, 1)));
  CHECK_FALSE(tiles(sn::concatenate({in({500, 64}), in({500, 3})}, 1)));
}

TEST_CASE("a GPU reads a long column in each pass; it stages a row or a short column and reads it once") {
  const auto limits = sn::fuse::cuda_limits(90);
  const auto moved = [&](const Tensor& y) {
    const auto plan = sn::testing::plan_of({y}, limits);
    REQUIRE(plan.steps.size() == 1);
    return jit::lower(plan.graph, plan.steps[0].kernel, limits).moved.now();
  };
  const double once = 64.0 * 65536 * 4;
  const Tensor tall = in({1500, 65536});
  CHECK(moved(tall - sn::mean(tall, 0)) == 3 * once * 1500 / 64);
  CHECK(moved(sn::softmax(in({64, 65536}), 0)) == 2 * once);
  CHECK(moved(sn::softmax(in({65536, 64}), -1)) == 2 * once);
}

TEST_CASE("a column that a GPU does not stage is read twice, not three times, for a result at every point after two reductions") {
  const auto limits = sn::fuse::cuda_limits(90);
  for (const std::int64_t height : {513, 600, 1024, 1025, 4000}) {
    CAPTURE(height);
    const Tensor x = in({height, 65536});
    const double once = 65536.0 * 4 * static_cast<double>(height);
    for (const Tensor& y : {sn::softmax(x, 0), (x - sn::mean(x, 0)) / sn::sqrt(sn::var(x, 0) + 1.f)}) {
      const auto plan = sn::testing::plan_of({y}, limits);
      CHECK(sn::testing::bytes_moved(plan) < 3.1 * once);
    }
  }
}
