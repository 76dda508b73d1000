// Measures each kernel's candidates against its chosen schedule, with the values of one evaluation. The two schedules are timed directly after each other, many
// times. The result is the median of the ratios.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/log.hpp"
#include "engine/checks.hpp"
#include "engine/engine.hpp"
#include "engine/tuned.hpp"
#include "sinter/errors.hpp"
#include "sinter/ranks.hpp"

namespace sinter::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRoundSeconds = 1e-3;  // minimum duration of one measurement
constexpr double kWorthKeeping = 0.97;  // part of the chosen schedule's time; a smaller difference is noise
constexpr int kRounds = 9, kLastRounds = 25;

struct Runner {
  PlannedStep step;
  jit::ScheduleOverride overrides;
  std::vector<double> ratios;  // ratio to the chosen schedule's time in each round
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double share_below(const std::vector<double>& values, double limit) {
  const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v < limit; });
  return static_cast<double>(below) / static_cast<double>(values.size());
}

}  // namespace

std::vector<TunedKernel> Engine::tune(const std::vector<trace::RecordedPtr>& roots, const std::function<void(double, std::string_view)>& progress) {
  const ForkGate::Inside inside(fork_gate());
  Workspace work;
  for (const auto& root : roots)
    if (root && !root->evaluated()) work.roots.push_back(root);
  if (work.roots.empty()) throw ValueError("tune: the tensors are evaluated already, so no kernel computes them; record them again");
  for (const auto& root : work.roots)
    if (root->spread)
      trace::fail<ShardingError>({"tune", root->where}, "sharded values are not tuned; tune the same formula of a rank's part, ranks::local(x)");
  work.traversal.walk(work.roots);
  const fuse::Rewritten made = finish_traversal(work.traversal, work.roots, false, setup().target);
  const trace::Graph graph = work.traversal.graph();
  work.traversal.release();
  for (const auto& leaf : work.traversal.leaves())
    if (!leaf) throw ValueError("tune: the value depends on a placeholder, which has a shape but no data");
  Setup now = setup();
  now.target.wait = true;
  if (const std::string why = kernels_.disk()->disabled_reason(); !why.empty())
    throw ValueError(fmt::format("tune: the schedules cannot be stored, because the disk cache is off: {}", why));

  // A separate plan for the present sizes alone, without tuned schedules.
  const PlanOptions how{now.how.lowering, false, false};
  const Scheduled scheduled = schedule_and_make(graph, now.target, how, kernels_);
  const std::shared_ptr<const Planned> planned = scheduled.planned;
  run_recorded(bound_executable(planned, work.traversal.symbols(), now.target, kernels_, /*keep_all=*/true), now.target, work);
  const auto& device = now.target.device;
  const TuningPlace place{device->model(), now.target.kind().generator, now.target.interpret};

  std::vector<TunedKernel> all;
  std::size_t kernels = 0;
  for (const fuse::Step& step : scheduled.plan.steps) kernels += step.kind == fuse::Step::Kind::kernel;
  for (const fuse::Step& step : scheduled.plan.steps) {
    if (step.kind != fuse::Step::Kind::kernel) continue;
    auto candidates = jit::candidates(scheduled.plan.graph, step.kernel, planned->limits, how.lowering);
    const jit::Lowered chosen = candidates.front().lowered;
    const auto report_progress = [&](double part) {
      if (progress) progress((static_cast<double>(all.size()) + part) / static_cast<double>(kernels), chosen.nest.name);
    };
    report_progress(0);
    const auto make = [&](const jit::Lowered& lowered) {
      PlannedStep planned_step = make_step(scheduled.ordinals, step, lowered, now.target, kernels_);
      for (auto* accesses : {&planned_step.nest.inputs, &planned_step.nest.outputs})
        for (auto& access : *accesses) access.buffer = scheduled.values.at(access.buffer);
      return planned_step;
    };
    // Returns the kernel's numbers for the present sizes, in the form in which a launch takes them.
    std::vector<std::int64_t> today;
    const auto numbers_of = [&](const jit::LoopNest& nest) -> std::span<const std::int64_t> {
      today = nest.ints;
      for (const auto* accesses : {&nest.inputs, &nest.outputs})
        for (const auto& access : *accesses) today.push_back(access.offset);
      return today;
    };
    runtime::BufferPtr flags;
    if (chosen.nest.checks > 0) flags = device->allocate(16 * static_cast<std::size_t>(chosen.nest.checks));
    const auto seconds = [&](const PlannedStep& tried, int times) {
      work.numbers = numbers_of(tried.nest);
      device->synchronize();
      const auto start = Clock::now();
      for (int k = 0; k < times; ++k) launch(tried, now.target, work, flags);
      device->synchronize();
      return std::chrono::duration<double>(Clock::now() - start).count() / times;
    };
    const PlannedStep base = make(chosen);
    std::vector<Runner> runners;
    const auto enter = [&](const jit::ScheduleOverride& overrides, const jit::Lowered& lowered) {
      Runner runner{{}, overrides, {}};
      try {
        runner.step = make(lowered);
      } catch (const runtime::NoClusterSpace&) {
        return;
      }
      const bool as_base =
          runner.step.made.interpreted == base.made.interpreted && runner.step.made.report.spill_bytes <= std::max(base.made.report.spill_bytes, 0);
      if (runner.step.made.kernel && as_base) runners.push_back(std::move(runner));
    };
    for (std::size_t k = 1; k < candidates.size(); ++k) {
      // Whether stores that bypass the cache pay depends on the next reader, and there is none here.
      if (candidates[k].overrides.has("stream")) continue;
      enter(candidates[k].overrides, candidates[k].lowered);
      report_progress(0.3 * static_cast<double>(k) / static_cast<double>(candidates.size()));
    }
    seconds(base, 1);
    const int times = std::clamp(static_cast<int>(kRoundSeconds / std::max(seconds(base, 1), 1e-7)), 1, 10000);
    const auto race = [&](std::vector<Runner>& runners_now, int rounds, double from, double to) {
      for (int round = 0; round < rounds; ++round) {
        for (Runner& runner : runners_now) {
          if (round == 3 && median(runner.ratios) > 1.15) continue;
          if (round > 3 && static_cast<int>(runner.ratios.size()) < round) continue;  // it was slower in an earlier round
          const bool first = (round & 1) != 0;
          const double before = first ? 0 : seconds(base, times), own = seconds(runner.step, times);
          runner.ratios.push_back(own / (first ? seconds(base, times) : before));
        }
        report_progress(from + (to - from) * (round + 1) / rounds);
      }
      std::erase_if(runners_now, [&](const Runner& runner) { return static_cast<int>(runner.ratios.size()) < rounds; });
      std::sort(runners_now.begin(), runners_now.end(), [](const Runner& a, const Runner& b) { return median(a.ratios) < median(b.ratios); });
    };
    TunedKernel result{chosen.nest.name, jit::to_string(chosen.nest.schedule, planned->limits.backend), {}, 1, static_cast<int>(runners.size()), false};
    result.best = result.chosen;
    race(runners, kRounds, 0.3, 0.7);
    std::erase_if(runners, [](const Runner& runner) { return median(runner.ratios) >= kWorthKeeping; });
    if (!runners.empty()) {
      // Combines the best candidate with each of the next ones, because their gains may add up.
      std::vector<Runner> last{runners.front()};
      const std::size_t next = std::min<std::size_t>(runners.size(), 4);
      const std::vector<Runner> singles(runners.begin(), runners.begin() + static_cast<std::ptrdiff_t>(next));
      runners.clear();
      for (std::size_t k = 1; k < singles.size(); ++k) {
        jit::LowerOptions both = how.lowering;
        both.overrides = singles[k].overrides.with(singles[0].overrides);
        enter(both.overrides, jit::lower(scheduled.plan.graph, step.kernel, planned->limits, both));
      }
      for (Runner& runner : runners) last.push_back(std::move(runner));
      // Measures the finalists from the start, so that an earlier lucky measurement does not count.
      for (Runner& runner : last) runner.ratios.clear();
      race(last, kLastRounds, 0.7, 1);
      if (!last.empty() && median(last.front().ratios) < kWorthKeeping && share_below(last.front().ratios, 1) >= 0.8) {
        const Runner& best = last.front();
        result.best = jit::to_string(best.step.nest.schedule, planned->limits.backend);
        result.ratio = median(best.ratios);
        result.stored = true;
        keep_tuned(*kernels_.disk(), chosen, place, best.overrides, 1 / result.ratio);
        log().debug("{}: {} takes {:.3f} of the time", result.name, best.overrides.text(), result.ratio);
      }
    }
    report_progress(1);
    all.push_back(std::move(result));
  }
  if (std::any_of(all.begin(), all.end(), [](const TunedKernel& kernel) { return kernel.stored; })) kernels_.tuned();
  return all;
}

}  // namespace sinter::engine
