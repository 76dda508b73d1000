#include "freeze/frozen_function.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/reach.hpp"
#include "engine/retry.hpp"
#include "freeze/decisions.hpp"
#include "freeze/served_sizes.hpp"
#include "fuse/passes.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"
#include "sinter/ranks.hpp"
#include "trace/build.hpp"
#include "trace/for_any_size.hpp"

namespace sinter::freezing {
namespace {

using trace::fail;
using trace::Site;

Site site_at(Location where) { return {"Function", where}; }

/// Names an input in messages: "x: float32[n]", or "input 2: float32[n]" if it has no name.
std::string called(const InputSpec& spec, std::size_t number) {
  return spec.name.empty() ? fmt::format("input {}: {}", number, to_string(spec)) : to_string(spec);
}

bool has_spread(const std::vector<trace::RecordedPtr>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node && node->spread; });
}

}  // namespace

FrozenFunction::FrozenFunction(Recorder formula, std::vector<InputSpec> specs, Location where)
    : formula_(std::move(formula)), inputs_(std::move(specs)), at_(Engine::get().frozen_target()) {
  name_axes(where);
  const Recording recording = record(usual_, where);
  for (std::size_t k = inputs_.size(); k < recording.placeholders.size(); ++k) further_.push_back(recording.placeholders[k]->dtype);
  shards_ = has_spread(recording.results);
  if (!shards_) {  // else the plan is made at the first call, for the parts of the inputs on this rank
    std::vector<std::vector<trace::RecordedPtr>> others = record_otherwise(where);
    if (others.empty()) others.push_back(recording.results);
    parts_.choose(recording.results, others);
  }
  results_ = recording.results.size();
  if (!shards_) bound_for(usual_, where);
}

FrozenFunction::FrozenFunction(Loaded loaded)
    : inputs_(std::move(loaded.specs)),
      results_(loaded.results),
      further_(std::move(loaded.further)),
      at_(std::move(loaded.at)),
      plans_(std::move(loaded.plans)),
      plan_count_(static_cast<int>(plans_.size())) {
  name_axes({});
}

void FrozenFunction::name_axes(Location where) {
  for (const InputSpec& spec : inputs_) {
    auto& numbers = numbers_.emplace_back();
    for (const AxisSize& axis : spec.shape) {
      if (axis.size < 0) fail<ValueError>({"freeze", where}, fmt::format("{}: a size is negative", to_string(spec)));
      numbers.push_back(axis_number(axis.name));
      if (axis.name.empty() || numbers.back() < axes_.size()) continue;
      axes_.push_back(axis.name);
      usual_.push_back(axis.size);
    }
  }
}

std::size_t FrozenFunction::axis_number(const std::string& axis) const {
  return static_cast<std::size_t>(std::find(axes_.begin(), axes_.end(), axis) - axes_.begin());
}

/// Reads the sizes of the named axes from the inputs, which must fit their specs.
void FrozenFunction::sizes_of(const std::vector<Tensor>& given, Location where, AxisSizes& sizes) const {
  if (given.size() != inputs_.size() + further_.size())
    fail<ValueError>(site_at(where), fmt::format("{} given; the function takes {}", counted(given.size(), "input is", "inputs are"), inputs_.size()));
  sizes.assign(axes_.size(), -1);
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const InputSpec& spec = inputs_[k];
    const Tensor& tensor = given[k];
    if (tensor.empty_handle()) fail<ValueError>(site_at(where), fmt::format("{} is given an empty tensor", called(spec, k)));
    if (tensor.dtype() != spec.dtype) fail<DTypeError>(site_at(where), fmt::format("{} is given {}", called(spec, k), name(tensor.dtype())));
    const Shape& shape = tensor.shape();
    bool fits = shape.size() == spec.shape.size();
    for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
      if (spec.shape[axis].name.empty()) {
        fits = shape[axis] == spec.shape[axis].size;
        continue;
      }
      std::int64_t& size = sizes[numbers_[k][axis]];
      if (size >= 0 && size != shape[axis])
        fail<ShapeError>(site_at(where),
                         fmt::format("{} is given the shape {}, where {} is {} already", called(spec, k), to_string(shape), spec.shape[axis].name, size));
      size = shape[axis];
    }
    if (!fits) fail<ShapeError>(site_at(where), fmt::format("{} is given the shape {}", called(spec, k), to_string(shape)));
  }
}

std::vector<Tensor> FrozenFunction::placeholders(const AxisSizes& sizes, Location where) const {
  std::vector<Tensor> all;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    Shape shape;
    for (std::size_t axis = 0; axis < inputs_[k].shape.size(); ++axis)
      shape.push_back(inputs_[k].shape[axis].name.empty() ? inputs_[k].shape[axis].size : sizes[numbers_[k][axis]]);
    all.push_back(placeholder(shape, inputs_[k].dtype, where));
    set_name(all.back(), inputs_[k].name);
  }
  return all;
}

Recording FrozenFunction::record(const AxisSizes& sizes, Location where) const {
  Recording recording;
  std::vector<Tensor> inputs = placeholders(sizes, where);
  const trace::ForAnySize all;
  for (const Tensor& result : formula_(inputs)) recording.results.push_back(trace::node_of(site_at(where), result));
  for (const Tensor& one : inputs) recording.placeholders.push_back(one.node());
  if (recording.results.empty()) fail<ValueError>(site_at(where), "the formula returns no tensor");
  if (has_spread(recording.results)) return recording;
  fuse::Rewritten made = fuse::rewritten(recording.results, at_.target.limits, {.frozen = true, .evaluate = {}});
  recording.results = std::move(made.roots);
  recording.passes = std::move(made.counts);
  parts_.fill(recording.results);
  return recording;
}

// Layouts depend on sizes: a part of the recording may differ at larger sizes, and be the same at smaller ones. A formula may refuse some sizes. It may need
// even sizes, equal ones, or a single one. So first all sizes are changed; then those that are equal are changed together, and the others keep their sizes if
// the formula refuses every change.
std::vector<std::vector<trace::RecordedPtr>> FrozenFunction::record_otherwise(Location where) const {
  std::vector<std::vector<trace::RecordedPtr>> others;
  if (axes_.empty()) return others;
  constexpr std::pair<std::int64_t, std::int64_t> kChanges[] = {{1, 1}, {2, 0}, {2, 3}, {4, 0}};  // a factor and a summand
  const auto changed = [](std::int64_t size, std::int64_t times, std::int64_t more) { return std::max<std::int64_t>(size, 2) * times + more; };
  const auto accepts = [&](const AxisSizes& sizes) {
    try {
      others.push_back(record(sizes, where).results);
      return true;
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {  // the formula refuses these sizes
      return false;
    }
  };
  AxisSizes smaller;
  for (const std::int64_t size : usual_) smaller.push_back(size < 4 ? size + 1 : size / 2);
  accepts(smaller);
  for (const auto& [times, more] : kChanges) {
    AxisSizes sizes = usual_;
    for (std::size_t k = 0; k < sizes.size(); ++k) sizes[k] = changed(sizes[k], times, more * static_cast<std::int64_t>(k + 1));
    if (accepts(sizes)) return others;
  }
  if (!others.empty()) return others;
  AxisSizes accepted = usual_;
  for (const std::int64_t size : std::set(usual_.begin(), usual_.end()))
    for (const auto& [times, more] : kChanges) {
      AxisSizes sizes = accepted;
      for (std::size_t k = 0; k < sizes.size(); ++k)
        if (usual_[k] == size) sizes[k] = changed(size, times, more);
      if (!accepts(sizes)) continue;
      accepted = std::move(sizes);
      break;
    }
  if (others.size() > 1) others.erase(others.begin(), others.end() - 1);  // the last one has all accepted changes
  return others;
}

PlannerInput FrozenFunction::planner_input(const Recording& recording, Location where) const {
  if (has_spread(recording.results))
    fail<ShardingError>(site_at(where), "the formula shards its values, so it is planned for their parts when it is called; it cannot be prepared or saved");
  trace::Traversal walked;
  std::vector<trace::RecordedPtr> results = recording.results;
  walked.walk(results);
  walked.finish(results, false);
  PlannerInput made;
  made.graph = walked.graph();
  made.graph.passes = recording.passes;
  std::vector<trace::NodeSite> sites = walked.sites();
  walked.release();
  made.structure = walked.key();
  made.values.symbols = walked.symbols();
  made.values.literals = walked.literals();
  auto leaves = std::make_shared<Leaves>();
  leaves->storages = walked.leaves();
  leaves->gathers = walked.gathers();
  leaves->calls = walked.calls();
  leaves->sites = std::move(sites);
  for (std::size_t k = 0; k < leaves->storages.size(); ++k) {
    int input = -1;
    if (!leaves->storages[k]) {
      const auto found =
          std::find_if(recording.placeholders.begin(), recording.placeholders.end(), [&](const auto& node) { return node.get() == walked.identities()[k]; });
      if (found == recording.placeholders.end()) fail<ValueError>(site_at(where), "the formula reads a placeholder that is not one of its inputs");
      input = static_cast<int>(found - recording.placeholders.begin());
    }
    leaves->inputs.push_back(input);
  }
  for (const auto& gather : leaves->gathers) made.values.gathered.push_back(gather.size);
  for (const auto& result : recording.results) {
    made.values.shapes.push_back(result->shape);
    leaves->results.push_back(result->dtype);
  }
  for (std::size_t k = inputs_.size(); k < recording.placeholders.size(); ++k) made.values.shapes.push_back(recording.placeholders[k]->shape);
  made.leaves = std::move(leaves);
  return made;
}

std::shared_ptr<const Bound> FrozenFunction::bind_recorded(const AxisSizes& sizes, Location where) {
  const PlannerInput made = planner_input(record(sizes, where), where);
  if (made.leaves->results.size() != results_)
    fail<ValueError>(site_at(where),
                     fmt::format("the formula gives {} now, but gave {} when it was frozen", counted(made.leaves->results.size(), "tensor"), results_));
  const auto bind = [&](const std::shared_ptr<const Planned>& planned) {
    if (planned->loaded) return bind_checked({made.structure, sizes, planned, {}, made.leaves}, made.values, sizes, site_at(where));
    auto bound = bind_plan(planned, made.leaves, made.values, at_.target, Engine::get().kernels());
    Engine::get().expect_calls(*bound, at_.target);
    return bound;
  };
  for (auto known = plans_.rbegin(); known != plans_.rend(); ++known) {
    if (known->structure != made.structure || !known->planned->holds(made.values.symbols)) continue;
    try {
      return bind(known->planned);
    } catch (const runtime::NoAlgorithm&) {  // the library has no algorithm at these sizes
    }
  }
  return with_less_if_it_fails(at_.target, [&](const Target& target) {
    const auto planned = Engine::get().plan_to_keep(made.graph, made.structure, made.values, *made.leaves, {target, at_.how});
    auto bound = bind(planned);
    plans_.push_back({made.structure, sizes, planned, {}, nullptr});
    ++plan_count_;
    return bound;
  });
}

/// Returns the values that a plan from a file needs at these sizes. Returns nothing if the plan is not valid at these sizes, or, with `estimates`, if sinter
/// would have made another plan for them. Then sets `reason` if it is not null.
std::optional<Values> FrozenFunction::served(const FrozenPlan& plan, const AxisSizes& sizes, bool estimates, std::string* reason) const {
  auto values = plan.rules->at(sizes, reason);
  if (!values || plan.planned->holds(values->symbols, estimates)) return values;
  if (reason) *reason = fmt::format("the plan needs {}", plan.planned->program.unmet(values->symbols, plan.rules->symbol_texts(axes_), estimates));
  return {};
}

/// Binds a plan from a file. The file is not trusted, so everything is checked.
std::shared_ptr<const Bound> FrozenFunction::bind_checked(const FrozenPlan& plan, const Values& values, const AxisSizes& sizes, const Site& site) const {
  const auto results = static_cast<std::ptrdiff_t>(results_);
  ReachTerms terms{{}, plan.leaves->results, {values.shapes.begin(), values.shapes.begin() + results}};
  for (std::size_t leaf = 0; leaf < plan.leaves->inputs.size(); ++leaf) {
    if (plan.leaves->inputs[leaf] < 0) {
      terms.leaf_bytes.push_back(static_cast<std::int64_t>(plan.leaves->storages[leaf]->bytes));
      continue;
    }
    const auto input = static_cast<std::size_t>(plan.leaves->inputs[leaf]);
    if (input >= inputs_.size()) {
      const std::size_t number = input - inputs_.size();
      terms.leaf_bytes.push_back(element_count(values.shapes[results_ + number]) * static_cast<std::int64_t>(itemsize(further_[number])));
      continue;
    }
    std::int64_t bytes = static_cast<std::int64_t>(itemsize(inputs_[input].dtype));
    for (std::size_t axis = 0; axis < inputs_[input].shape.size(); ++axis)
      bytes *= inputs_[input].shape[axis].name.empty() ? inputs_[input].shape[axis].size : sizes[numbers_[input][axis]];
    terms.leaf_bytes.push_back(bytes);
  }
  try {
    check_bytes(*plan.planned, values.symbols);
    auto bound = bind_plan(plan.planned, plan.leaves, values, at_.target, Engine::get().kernels());
    check_reach(bound->executable, terms);
    Engine::get().expect_calls(*bound, at_.target);
    return bound;
  } catch (const InternalError& error) {
    fail<IoError>(site, fmt::format("the plan that was read cannot be run: {}", error.what()));
  }
}

// Chooses the plan that sinter would have made for these sizes. If the file has none, chooses among the plans that are valid at these sizes the one that was
// made for the nearest sizes. A plan is skipped if this device's library cannot compute its products: the file has no formula from which another plan could be
// made.
std::shared_ptr<const Bound> FrozenFunction::bind_loaded(const AxisSizes& sizes, Location where) const {
  std::string lacking;
  const auto bind = [&](const FrozenPlan& plan, bool estimates) -> std::shared_ptr<const Bound> {
    const auto values = served(plan, sizes, estimates);
    if (!values) return nullptr;
    try {
      return bind_checked(plan, *values, sizes, site_at(where));
    } catch (const runtime::NoAlgorithm& error) {
      lacking = error.what();
      return nullptr;
    }
  };
  for (const FrozenPlan& plan : plans_)
    if (auto bound = bind(plan, true)) return bound;
  const auto far = [&](const FrozenPlan* plan) {
    double ratio = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k)
      ratio += std::abs(std::log(static_cast<double>(std::max<std::int64_t>(sizes[k], 1)) / static_cast<double>(std::max<std::int64_t>(plan->sizes[k], 1))));
    return ratio;
  };
  std::vector<const FrozenPlan*> nearest;
  for (const FrozenPlan& plan : plans_) nearest.push_back(&plan);
  std::stable_sort(nearest.begin(), nearest.end(), [&](const FrozenPlan* a, const FrozenPlan* b) { return far(a) < far(b); });
  for (const FrozenPlan* plan : nearest)
    if (auto bound = bind(*plan, false)) return bound;
  if (!lacking.empty())
    fail<DeviceError>(
        site_at(where),
        fmt::format("the file's plan uses a library for a product that no library computes on {}: {}. Freeze the formula and save it again on this device, or "
                    "anywhere with SINTER_CUBLASLT=off, so that generated kernels compute the product",
                    at_.target.device->name(), lacking));
  std::vector<std::string> asked;
  for (std::size_t k = 0; k < axes_.size(); ++k) asked.push_back(fmt::format("{} = {}", axes_[k], sizes[k]));
  std::string reason;
  (void)served(*nearest[0], sizes, false, &reason);
  fail<ShapeError>(site_at(where), fmt::format("the file has no plan for {}; it has: {}. The nearest plan: {}. Make the file again with these sizes prepared",
                                               fmt::join(asked, ", "), fmt::join(serves(), "; "), reason));
}

namespace {

/// The range of sizes of one named axis that a plan serves, while the other axes have the sizes for which it was made.
struct ServedSizes {
  std::int64_t first = 0, last = 0;
  std::int64_t step = 1;     // between neighbouring sizes
  std::string below, above;  // why the range ends there
};

std::string to_string(const std::string& axis, const ServedSizes& sizes) {
  const std::string by = sizes.step == 1 ? "" : fmt::format(" by {}", sizes.step);
  return sizes.first == sizes.last ? fmt::format("{} = {}", axis, sizes.first) : fmt::format("{} {} to {}{}", axis, sizes.first, sizes.last, by);
}

/// Returns the last size from `size` towards `end`, in whole steps, such that the guards hold at this size and at all sizes before it. Far from `size`, where
/// guards only limit the use of memory, if the guards hold at two sizes, they are assumed to hold between them.
template <class Holds> std::int64_t last_towards(std::int64_t size, std::int64_t end, std::int64_t step, Holds holds) {
  constexpr std::int64_t kOneByOne = 4096;
  const std::int64_t way = end < size ? -step : step, steps = (end - size) / way;
  std::int64_t good = 0;
  while (good < std::min(steps, kOneByOne) && holds(size + (good + 1) * way, nullptr)) ++good;
  if (good < kOneByOne) return size + good * way;
  for (std::int64_t bad = steps + 1; bad - good > 1;) {
    const std::int64_t middle = good + (bad - good) / 2;
    (holds(size + middle * way, nullptr) ? good : bad) = middle;
  }
  return size + good * way;
}

template <class Holds> ServedSizes served_around(std::int64_t size, std::int64_t step, std::int64_t end, Holds holds) {
  ServedSizes served{last_towards(size, size % step, step, holds), last_towards(size, std::max(size, end), step, holds), step, {}, {}};
  if (served.first >= step) holds(served.first - step, &served.below);
  holds(served.last + step, &served.above);
  return served;
}

}  // namespace

/// Describes the sizes that a plan serves: "batch 4 to 7, seq = 16".
std::string FrozenFunction::served_by(const FrozenPlan& plan) const {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    const auto holds = [&](std::int64_t size, std::string* reason) {
      AxisSizes sizes = plan.sizes;
      sizes[k] = size;
      return served(plan, sizes, false, reason).has_value();
    };
    names.push_back(to_string(axes_[k], served_around(plan.sizes[k], plan.rules->steps[k], plan.rules->last[k], holds)));
  }
  return names.empty() ? "no sizes to choose" : fmt::format("{}", fmt::join(names, ", "));
}

const std::vector<std::string>& FrozenFunction::serves() const {
  described_([&] {
    for (const FrozenPlan& plan : plans_)
      if (plan.rules) serves_.push_back(served_by(plan));  // a plan without rules is not from a file: the formula is planned for any size
  });
  return serves_;
}

std::vector<std::string> FrozenFunction::limits() const {
  std::vector<std::string> all;
  for (const FrozenPlan& plan : plans_) {
    if (!plan.rules) continue;
    std::string text;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      const auto sizes_with = [&](std::int64_t size) {
        AxisSizes sizes = plan.sizes;
        sizes[k] = size;
        return sizes;
      };
      const std::int64_t step = plan.rules->steps[k];
      const std::int64_t end = plan.rules->last[k];
      const auto any = served_around(plan.sizes[k], step, end,
                                     [&](std::int64_t size, std::string* reason) { return served(plan, sizes_with(size), false, reason).has_value(); });
      const auto best = served_around(plan.sizes[k], step, end,
                                      [&](std::int64_t size, std::string* reason) { return served(plan, sizes_with(size), true, reason).has_value(); });
      text += fmt::format("{}{}: planned for {}", text.empty() ? "" : "\n", axes_[k], plan.sizes[k]);
      if (best.first < best.last && (best.first != any.first || best.last != any.last))
        text += fmt::format(", and {} to {} would get the same plan", best.first, best.last);
      if (any.first >= step) text += fmt::format("; not {}", any.first - step);
      if (any.first >= step && any.below != any.above) text += fmt::format(": {}", any.below);
      text += fmt::format("{} {}: {}", any.first >= step && any.below == any.above ? " and not" : "; not", any.last + step, any.above);
    }
    all.push_back(text);
  }
  return all;
}

std::shared_ptr<const Bound> FrozenFunction::bound_for(const AxisSizes& sizes, Location where) {
  const auto find = [&]() -> std::shared_ptr<const Bound> {
    const std::lock_guard lock(mutex_);
    const auto found = bound_at_.find(sizes);
    if (found == bound_at_.end()) return nullptr;
    bound_.splice(bound_.begin(), bound_, found->second);
    return bound_.front().bound;
  };
  if (auto known = find()) return known;
  const std::lock_guard one(making_);
  if (auto known = find()) return known;  // another thread has made the plan meanwhile
  constexpr std::size_t kMaxOthers = 4096;
  {
    const std::lock_guard lock(mutex_);
    if (others_.contains(sizes)) throw OtherDecisions("");  // recorded before
  }
  std::shared_ptr<const Bound> made;
  try {
    made = formula_ ? bind_recorded(sizes, where) : bind_loaded(sizes, where);
  } catch (const OtherDecisions&) {
    const std::lock_guard lock(mutex_);
    if (others_.size() < kMaxOthers) others_.insert(sizes);
    throw;
  }
  // A sequence that grows has other sizes at each step, and the next one has them again. Recording them anew would take longer than the step.
  constexpr std::size_t kManyBound = 1024, kFewBound = 64, kManySteps = 1 << 16;
  const std::size_t most = std::clamp(kManySteps / std::max<std::size_t>(made->executable.planned->steps.size(), 1), kFewBound, kManyBound);
  const std::lock_guard lock(mutex_);
  bound_.push_front({sizes, made});
  bound_at_[sizes] = bound_.begin();
  while (bound_.size() > most) {
    bound_at_.erase(bound_.back().sizes);
    bound_.pop_back();
  }
  return made;
}

std::vector<Tensor> FrozenFunction::call(const std::vector<Tensor>& given, Location where) {
  AxisSizes sizes;
  sizes_of(given, where, sizes);
  std::vector<trace::RecordedPtr> nodes;
  nodes.reserve(given.size());
  for (const Tensor& tensor : given) nodes.push_back(tensor.node());
  sharded_last_ = shards_ || has_spread(nodes);
  if (sharded_last_) {
    if (!formula_) fail<ShardingError>(site_at(where), "a loaded function takes no sharded inputs; call it with ranks::local of them");
    return sharded_.call(inputs_, given, site_at(where));
  }
  const std::shared_ptr<const Bound> bound = bound_for(sizes, where);
  for (std::size_t k = 0; k < further_.size(); ++k) {
    const Tensor& tensor = given[inputs_.size() + k];
    const Shape& shape = bound->shapes[results_ + k];
    if (tensor.empty_handle() && element_count(shape) == 0)
      nodes[inputs_.size() + k] = trace::make_data(site_at(where), further_[k], shape, trace::host_storage(site_at(where), 0));
    else if (tensor.empty_handle() || tensor.dtype() != further_[k] || tensor.shape() != shape)
      fail<InternalError>(site_at(where), fmt::format("number {} of the values between two plans does not have the shape {}", k, to_string(shape)));
  }
  std::vector<StoragePtr> contents = Engine::get().call(*bound, at_, nodes, site_at(where));
  std::vector<Tensor> results;
  results.reserve(contents.size());
  for (std::size_t k = 0; k < contents.size(); ++k)
    results.emplace_back(trace::make_data(site_at(where), bound->leaves->results[k], bound->shapes[k], std::move(contents[k]), bound->history));
  return results;
}

AxisSizes FrozenFunction::all_sizes(const std::map<std::string, std::int64_t>& given, Location where) const {
  AxisSizes sizes = usual_;
  for (const auto& [axis, size] : given) {
    const std::size_t number = axis_number(axis);
    if (number == axes_.size())
      fail<ValueError>(site_at(where),
                       fmt::format("no input has an axis '{}' (named axes: {})", axis, axes_.empty() ? "none" : fmt::format("{}", fmt::join(axes_, ", "))));
    if (size < 0) fail<ValueError>(site_at(where), fmt::format("the size {} of '{}' is negative", size, axis));
    sizes[number] = size;
  }
  return sizes;
}

bool FrozenFunction::has_plan_for(const std::map<std::string, std::int64_t>& given) const {
  const AxisSizes sizes = all_sizes(given, {});
  return formula_ || std::any_of(plans_.begin(), plans_.end(), [&](const FrozenPlan& plan) { return served(plan, sizes, false).has_value(); });
}

void FrozenFunction::prepare(const std::map<std::string, std::int64_t>& given, Location where) {
  const AxisSizes sizes = all_sizes(given, where);
  const auto bound = bound_for(sizes, where);
  const std::lock_guard one(making_);
  const auto made_for = [&](const FrozenPlan& plan) { return plan.sizes == sizes; };
  if (!formula_ || std::any_of(plans_.begin(), plans_.end(), made_for) || std::any_of(prepared_.begin(), prepared_.end(), made_for)) return;
  prepared_.push_back(*std::find_if(plans_.begin(), plans_.end(), [&](const FrozenPlan& plan) { return plan.planned == bound->executable.planned; }));
  prepared_.back().sizes = sizes;
}

std::vector<FrozenFigures> FrozenFunction::figures() const {
  if (const auto part = sharded_last_ ? sharded_.last() : nullptr) return part->figures();
  std::vector<FrozenFigures> all;
  constexpr std::size_t kShown = 64;
  const std::lock_guard lock(mutex_);
  for (const BoundAt& one : bound_) {
    if (all.size() == kShown) break;
    FrozenFigures& figures = all.emplace_back();
    for (std::size_t k = 0; k < axes_.size(); ++k) figures.sizes[axes_[k]] = one.sizes[k];
    const Planned& planned = *one.bound->executable.planned;
    for (const PlannedStep& step : planned.steps) {
      ++(step.library ? figures.library_calls : figures.kernels);
      figures.operations += step.library ? 1 : std::max(static_cast<int>(step.nest.ops.size()), 1);
    }
    const PlannedBytes bytes = bytes_at(planned, one.bound->executable.symbols);
    figures.bytes_moved = bytes.moved;
    figures.bytes_unfused = bytes.unfused;
    const Arena& arena = one.bound->executable.arena;
    figures.arena_bytes = arena.bytes;
    figures.least_bytes = arena.lower_bound;
    figures.apart_bytes = arena.sum;
  }
  return all;
}

std::string FrozenFunction::explain(const ExplainOptions& options) const {
  if (const auto part = sharded_last_ ? sharded_.last() : nullptr) return part->explain(options);
  std::string text;
  if (options.format == Format::text)
    for (const FrozenFigures& one : figures()) {
      std::vector<std::string> sizes;
      for (const auto& [axis, size] : one.sizes) sizes.push_back(fmt::format("{}={}", axis, size));
      text += fmt::format("{}{}{} and {}; intermediate values take {} (at least {} are live at once; without reuse they would take {})\n",
                          fmt::join(sizes, " "), sizes.empty() ? "" : ": ", counted(one.kernels, "kernel"), counted(one.library_calls, "library call"),
                          counted(one.arena_bytes, "byte"), one.least_bytes, one.apart_bytes);
    }
  ExplainOptions how = options;
  const std::optional<Explained> last = explained(how.sizes);
  return last ? text + explanation({*last}, how) : text;
}

std::optional<Explained> FrozenFunction::explained(std::vector<std::pair<std::string, std::int64_t>>& names) const {
  std::shared_ptr<const Planned> planned;
  std::shared_ptr<const Leaves> leaves;
  std::vector<std::int64_t> symbols;
  {
    const std::lock_guard lock(mutex_);
    const AxisSizes* sizes = nullptr;
    if (!bound_.empty()) {
      const Executable& executable = bound_.front().bound->executable;
      planned = executable.planned, leaves = bound_.front().bound->leaves, symbols = executable.symbols, sizes = &bound_.front().sizes;
    } else if (!formula_) {
      planned = plans_.front().planned, leaves = plans_.front().leaves, symbols = planned->sizes, sizes = &plans_.front().sizes;
    }
    for (std::size_t k = 0; sizes && k < axes_.size(); ++k)
      if ((*sizes)[k] > 1) names.emplace_back(axes_[k], (*sizes)[k]);
  }
  if (!planned) return {};
  std::vector<trace::NodeSite> sites = leaves->sites;
  if (sites.empty()) {  // loaded from a file: only the inputs' names are known
    sites.resize(planned->recorded.size(), {"", {}, ""});
    for (std::size_t id = 0; id < planned->recorded.size(); ++id)
      if (const int leaf = planned->recorded[id].leaf; leaf >= 0)
        if (const int input = leaves->inputs[static_cast<std::size_t>(leaf)]; input >= 0 && input < std::ssize(inputs_))
          sites[id].label = inputs_[static_cast<std::size_t>(input)].name.c_str();
  }
  History history(planned, false, at_.target.device->name(), std::move(symbols), std::make_shared<const std::vector<trace::NodeSite>>(std::move(sites)));
  return Explained{std::move(history), planned};
}

const Looked* FrozenFunction::look_at(const AxisSizes& sizes, LookedAt& looked, const Site& site) const {
  const auto [at, added] = looked.at.try_emplace(sizes);
  if (!added) return at->second.get();
  try {
    PlannerInput made = planner_input(record(sizes, site.where), site.where);
    auto look = std::make_unique<Looked>();
    look->structure = made.structure;
    const auto leaves = looked.contents.of(*made.leaves);
    Words contents;
    for (const Hash128& leaf : leaves) contents.add(leaf);
    look->contents = contents.hash();
    look->whole = hash_of(made.graph, made.values.literals, leaves);
    look->sample = {std::move(made.values), {}, unread_of(made.graph, made.leaves->sites)};
    for (const trace::Node& node : made.graph.nodes)
      if (node.op == trace::Op::constant) look->sample.literals.push_back(node.scalar);
    at->second = std::move(look);
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {  // the formula refuses these sizes
  }
  return at->second.get();
}

namespace {

/// Returns how many sizes narrow() tries of each kind: as many as together record about 32,768 nodes, but at least 24 and at most 512.
std::size_t effort_for(const trace::Graph& graph) {
  return std::clamp<std::size_t>((std::size_t{1} << 15) / std::max<std::size_t>(graph.nodes.size(), 1), 24, 512);
}

/// Returns the least values of symbols: 2 for sizes, 1 for starts of slices.
std::vector<std::int64_t> lows_of(const std::vector<std::string>& symbols) {
  std::vector<std::int64_t> lows;
  for (const std::string& symbol : symbols) lows.push_back(symbol.front() == 'n' ? 2 : 1);
  return lows;
}

}  // namespace

/// Derives from a few recordings the rules that compute a plan's numbers from the sizes. Returns nothing if the formula does not record this structure again.
std::optional<SizeRules> FrozenFunction::rules_of(const trace::StructuralKey& structure, const AxisSizes& sizes, std::vector<std::int64_t> lows,
                                                  LookedAt& looked, const Site& site) const {
  const Looked* again = look_at(sizes, looked, site);
  if (!again || again->structure != structure) return {};
  return find_rules(sizes, axes_, std::move(lows), [&](const AxisSizes& other, bool& taken) -> std::optional<Sample> {
    const Looked* made = look_at(other, looked, site);
    taken = made != nullptr;
    if (!made || made->structure != structure || made->contents != again->contents) return {};
    return made->sample;
  });
}

/// Returns the plan in the form that a file stores: with the leaves of this recording, and with the rules that compute its numbers.
FrozenPlan FrozenFunction::with_rules(const FrozenPlan& plan, const PlannerInput& recorded, LookedAt& looked, const Site& site) const {
  FrozenPlan to = plan;
  to.rules = rules_of(plan.structure, plan.sizes, lows_of(plan.planned->symbols), looked, site);
  to.leaves = recorded.leaves;
  const PredictedGraph predicted(recorded.graph, looked.contents.of(*recorded.leaves));
  const auto look = [&](const AxisSizes& sizes) {
    const auto values = to.rules->predict(sizes);
    if (!values) return Look::refused;
    const Looked* made = look_at(sizes, looked, site);
    return made && made->whole == predicted.at(*values) ? Look::same : Look::other;
  };
  if (!to.rules || look(plan.sizes) != Look::same)
    fail<ValueError>(site, "the formula does not record the same operations each time, so its plans cannot be stored in a file");
  narrow(*to.rules, plan.sizes, axes_, effort_for(recorded.graph), look);
  return to;
}

namespace {

std::int64_t next_prime(std::int64_t number) {
  const auto is_prime = [](std::int64_t n) {
    for (std::int64_t by = 2; by * by <= n; ++by)
      if (n % by == 0) return false;
    return true;
  };
  do ++number;
  while (!is_prime(number));
  return number;
}

std::size_t held_sizes(const SizeRules& rules) {
  return static_cast<std::size_t>(std::count_if(rules.held.begin(), rules.held.end(), [](std::int64_t size) { return size > 1; }));
}

}  // namespace

namespace {

/// Returns nearby sizes that differ from each other and, probably, from the constants of the formula. The first are primes. The others are whole steps of 32
/// away from the planned sizes, for axes whose sizes count in steps.
std::vector<AxisSizes> sizes_near(const AxisSizes& planned) {
  constexpr int kPrimes = 4, kBySteps = 3;
  constexpr std::int64_t kStep = 32;
  std::vector<AxisSizes> all;
  AxisSizes sizes = planned;
  for (int tried = 0; tried < kPrimes; ++tried) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (planned[k] < 2) continue;
      do sizes[k] = next_prime(sizes[k]);
      while (std::count(sizes.begin(), sizes.end(), sizes[k]) > 1);
    }
    all.push_back(sizes);
  }
  if (std::none_of(planned.begin(), planned.end(), [](std::int64_t size) { return size >= kStep; })) return all;
  sizes = planned;
  std::int64_t steps = 1;  // primes
  for (int tried = 0; tried < kBySteps; ++tried) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (planned[k] < 2) continue;
      do sizes[k] = planned[k] < kStep ? next_prime(sizes[k]) : planned[k] + kStep * (steps = next_prime(steps));
      while (std::count(sizes.begin(), sizes.end(), sizes[k]) > 1);
    }
    all.push_back(sizes);
  }
  return all;
}

}  // namespace

/// Returns a plan that was made for nearby sizes and also serves the given sizes. If a size equals another number of the formula (a batch of 4 and 4 blocks of
/// channels), both are one symbol, and the plan is specialised to this size; the nearby sizes differ from all other numbers. Returns nothing if no such plan
/// has more dynamic axes.
std::optional<FrozenPlan> FrozenFunction::nearby(const FrozenPlan& plan, LookedAt& looked, const Site& site) const {
  std::optional<FrozenPlan> best;
  const auto holds_fewer = [&](const SizeRules& rules) { return held_sizes(rules) < held_sizes(*(best ? best->rules : plan.rules)); };
  for (const AxisSizes& sizes : sizes_near(plan.sizes)) {
    try {
      const PlannerInput made = planner_input(record(sizes, site.where), site.where);
      const auto rules = rules_of(made.structure, sizes, lows_of(trace::symbolic(made.graph).space->symbol_names()), looked,
                                  site);  // checked before planning, which takes longest
      if (!rules || !holds_fewer(*rules) || !rules->predict(plan.sizes)) continue;
      const FrozenPlan other = with_rules(
          {made.structure, sizes, Engine::get().plan_to_keep(made.graph, made.structure, made.values, *made.leaves, at_), {}, nullptr}, made, looked, site);
      if (!served(other, plan.sizes, false) || !holds_fewer(*other.rules)) continue;
      best = other;
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {  // the formula refuses these sizes
      continue;
    }
    if (held_sizes(*best->rules) == 0) break;
  }
  return best;
}

std::vector<FrozenPlan> FrozenFunction::plans_to_save(const Site& site) {
  if (plan_count_ == 0) (void)bound_for(usual_, site.where);  // throws the reason if there can be no plan
  const std::lock_guard one(making_);
  std::vector<FrozenPlan> saved;
  LookedAt looked;
  const auto save = [&](const FrozenPlan& plan) {
    const FrozenPlan here = with_rules(plan, planner_input(record(plan.sizes, site.where), site.where), looked, site);
    std::optional<FrozenPlan> general;
    if (held_sizes(*here.rules) > 0) general = nearby(here, looked, site);
    // If the general plan is the one that sinter would make for these sizes, `here` is not saved. Then an already saved plan may replace the general one only
    // if it serves these sizes, too.
    const bool apart = !general || !served(*general, plan.sizes, true);
    if (apart) saved.push_back(here);
    if (general && std::none_of(saved.begin(), saved.end(), [&](const FrozenPlan& known) {
          return known.structure == general->structure && served(known, general->sizes, true) && (apart || served(known, plan.sizes, false));
        }))
      saved.push_back(std::move(*general));
  };
  for (const FrozenPlan& plan : plans_) save(plan);
  for (const FrozenPlan& plan : prepared_)
    if (std::none_of(saved.begin(), saved.end(), [&](const FrozenPlan& known) { return served(known, plan.sizes, false).has_value(); })) save(plan);
  return saved;
}

}  // namespace sinter::freezing
