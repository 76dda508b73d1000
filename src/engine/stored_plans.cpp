#include "engine/stored_plans.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "jit/identities.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {
namespace {

jit::Source source_of(const StoredPlanKey& key, std::size_t ordinal) {
  jit::Source source;
  source.target = fmt::format("{}{}", cache::kPlanTarget, key.target->limits.target);
  source.generator = fmt::format("{}, {}", jit::planner(), key.target->kind().generator);
  source.options = fmt::format("{}\ninterpret {}\nfast_math {}\nschedule {}\ntuned {}\nplan {}", to_string(key.target->limits), key.target->interpret,
                               key.how->lowering.fast_math, key.how->lowering.overrides.text(), key.how->tuned ? key.tunings : "off", ordinal);
  source.entry = "plan";
  source.text.assign(reinterpret_cast<const char*>(key.structure.data()), key.structure.size_bytes());
  return source;
}

/// A plan, and the compiler's reports on its kernels, on which its decisions are based.
struct StoredPlan {
  Planned planned;
  std::vector<jit::ResourceReport> reports;
};

std::shared_ptr<const Planned> plan_in(const jit::Binary& entry, const StoredPlanKey& key, const PlanTerms& terms, Kernels& kernels) {
  StoredPlan stored;
  ArchiveReader reader({reinterpret_cast<const char*>(entry.image.data()), entry.image.size()});
  reader(stored);
  require(reader.at_end() && stored.reports.size() == stored.planned.steps.size(), "the plan");
  check(stored.planned, terms);
  auto planned = std::make_shared<Planned>(std::move(stored.planned));
  planned->limits = key.target->limits;
  planned->loaded = true;
  for (std::size_t s = 0; s < planned->steps.size(); ++s) {
    PlannedStep& step = planned->steps[s];
    if (step.library) {
      step.call_kernels = kernels.make_for(step.call, *key.target);
      continue;
    }
    step.made = kernels.make(step.nest, *key.target, to_string(step.boundary));
    if (step.made.report.spill_bytes > std::max(stored.reports[s].spill_bytes, 0))
      return nullptr;  // for another compiler, which may make the scheduler split the kernel in another way
  }
  return planned;
}

/// Returns null if there is no such plan, or none that is intact and can run here.
std::shared_ptr<const Planned> load_plan(const StoredPlanKey& key, std::size_t ordinal, const PlanTerms& terms, Kernels& kernels) {
  const auto disk = kernels.disk();
  const jit::Source source = source_of(key, ordinal);
  const auto entry = disk->load(source);
  if (!entry) return nullptr;
  try {
    return plan_in(*entry, key, terms, kernels);
  } catch (const Damaged& damaged) {
    log().warn("a plan in the cache is damaged and is made again: {}", damaged.what);
  } catch (const InternalError& error) {
    log().warn("a plan in the cache is damaged and is made again: {}", error.what());
  } catch (const runtime::NoClusterSpace&) {
    return nullptr;  // the device now has room only for smaller clusters
  }
  disk->discard(source);
  return nullptr;
}

}  // namespace

std::vector<std::shared_ptr<const Planned>> load_plans(const StoredPlanKey& key, const PlanTerms& terms, Kernels& kernels,
                                                       const std::function<bool(const Planned&)>& enough) {
  std::vector<std::shared_ptr<const Planned>> plans;
  while (key.how->keep_plans && plans.size() < kMaxStoredPlans) {
    auto planned = load_plan(key, plans.size(), terms, kernels);
    if (!planned) break;
    plans.push_back(std::move(planned));
    if (enough && enough(*plans.back())) break;
  }
  return plans;
}

void store_plan(const StoredPlanKey& key, std::size_t ordinal, const Planned& planned, cache::DiskCache& disk) {
  StoredPlan stored{planned, {}};
  for (const PlannedStep& step : planned.steps) stored.reports.push_back(step.made.report);
  ArchiveWriter writer;
  writer(stored);
  jit::Binary entry;
  entry.entry = "plan";
  entry.note = fmt::format("{}, {} moved:", counted(planned.steps.size(), "step"), counted(static_cast<std::int64_t>(planned.bytes_moved), "byte"));
  for (const PlannedStep& step : planned.steps) entry.note += fmt::format(" {}", step.library ? trace::name(step.call.op) : std::string_view(step.nest.name));
  entry.image.assign(writer.bytes.begin(), writer.bytes.end());
  disk.store(source_of(key, ordinal), entry);
}

}  // namespace sinter::engine
