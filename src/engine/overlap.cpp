#include "engine/overlap.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "ranks/exchange.hpp"
#include "runtime/kind.hpp"

namespace sinter::engine {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

class Cores {
 public:
  Cores(const Planned& planned, std::span<const std::int64_t> numbers) : planned_(planned), numbers_(numbers), writer_(planned.values.size(), kNone) {
    for (std::size_t s = 0; s < planned.steps.size(); ++s)
      for (const int value : planned.steps[s].writes) writer_[static_cast<std::size_t>(value)] = s;
  }

  std::vector<Core> all() const {
    std::vector<Core> cores;
    for (std::size_t s = 0; s < planned_.steps.size(); ++s)
      if (Core core = of(s); !core.points.empty()) cores.push_back(std::move(core));
    return cores;
  }

 private:
  bool finishes(std::size_t s) const { return s != kNone && planned_.steps[s].library && fuse::finishes_exchange(planned_.steps[s].call.op); }

  Core of(std::size_t s) const {
    const PlannedStep& step = planned_.steps[s];
    if (step.library || step.is_epilogue || step.nest.checks > 0) return {};
    std::size_t ready = 0, before = kNone;
    for (const int value : step.reads)
      if (const std::size_t by = writer_[static_cast<std::size_t>(value)]; by != kNone && !finishes(by)) ready = std::max(ready, by + 1);
    bool far = false;  // elements of other ranks
    for (const int value : step.reads) {
      const std::size_t by = writer_[static_cast<std::size_t>(value)];
      if (!finishes(by) || by < ready) continue;
      before = std::min(before, by);
      far |= ranks::is_far(planned_.steps[by].call.ints);
    }
    if (!far) return {};
    const auto ints = numbers_.subspan(step.numbers, step.nest.ints.size());
    const auto late = [&](const jit::Access& access) {
      const std::size_t by = writer_[static_cast<std::size_t>(access.buffer)];
      return finishes(by) && by >= before;
    };
    jit::Box points = jit::points_without(step.nest, ints, late);
    // Different code computes the end of a row and its whole vectors. For elementwise kernels both give the same bits.
    const int lanes = step.nest.lane_axis();
    if (!points.empty() && step.nest.rows > 0 && lanes < step.nest.parallel &&
        points[static_cast<std::size_t>(lanes)] != std::pair<std::int64_t, std::int64_t>(0, ints[static_cast<std::size_t>(lanes)]))
      return {};
    return {s, before, std::move(points)};
  }

  const Planned& planned_;
  const std::span<const std::int64_t> numbers_;
  std::vector<std::size_t> writer_;
};

}  // namespace

std::vector<Core> cores_of(const Planned& planned, std::span<const std::int64_t> numbers) {
  return planned.limits.overlap && runtime::kind_of(planned.limits).launches_parts ? Cores(planned, numbers).all() : std::vector<Core>{};
}

std::vector<Core> cores_at(const Planned& planned, const std::vector<std::int64_t>& symbols) {
  std::vector<std::int64_t> numbers;
  planned.program.evaluate(symbols, numbers);
  return cores_of(planned, numbers);
}

std::string points_text(const jit::Box& points) {
  std::vector<std::string> ranges;
  for (const auto& [begin, end] : points) ranges.push_back(fmt::format("{}:{}", begin, end));
  return fmt::format("[{}]", fmt::join(ranges, ", "));
}

}  // namespace sinter::engine
