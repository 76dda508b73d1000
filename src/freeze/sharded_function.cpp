#include "freeze/sharded_function.hpp"

#include <algorithm>

#include "freeze/frozen_function.hpp"
#include "ranks/partition.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"

namespace sinter::freezing {

using ranks::Sharding;
using trace::RecordedPtr;

namespace {

/// The shape and the sharding of a tensor; without a mesh the tensor is whole.
struct Lies {
  Shape shape;
  Sharding sharding;
  friend bool operator==(const Lies&, const Lies&) = default;
};
Lies lies(const RecordedPtr& node) { return {node->shape, node->spread ? node->spread->sharding : Sharding{}}; }

struct OfPlace {
  std::unique_ptr<ranks::Partition> partition;
  std::shared_ptr<FrozenFunction> function;
};

}  // namespace

struct ShardedFunction::Plan {
  std::vector<Lies> inputs, results;
  ranks::MeshPtr mesh;
  std::vector<OfPlace> places;
  std::mutex calling;  // exchanges are run once at a time
};

std::shared_ptr<ShardedFunction::Plan> ShardedFunction::make(const std::vector<InputSpec>& specs, const std::vector<Tensor>& inputs,
                                                             const trace::Site& site) const {
  const auto plan = std::make_shared<Plan>();
  for (const Tensor& input : inputs) plan->inputs.push_back(lies(input.node()));
  // The formula over global shapes. `parts`: the inputs' parts at the place with this number.
  const auto record = [&, plan = plan.get()](const std::vector<Tensor>& parts, std::size_t number) {
    std::vector<Tensor> given;
    for (std::size_t k = 0; k < specs.size(); ++k) {
      const Lies& input = plan->inputs[k];
      if (!input.sharding.mesh && !parts.empty()) {
        given.push_back(parts[k]);
        continue;
      }
      given.push_back(placeholder(input.shape, specs[k].dtype, site.where));
      set_name(given.back(), specs[k].name);
      if (!input.sharding.mesh) continue;
      std::vector<RecordedPtr> of_places(input.sharding.mesh->own_places().size());
      if (!parts.empty()) of_places[number] = parts[k].node();
      given.back().node()->spread = std::make_shared<ranks::Spread>(ranks::Spread{input.sharding, std::move(of_places), nullptr});
    }
    std::vector<RecordedPtr> results;
    for (const Tensor& result : formula_(given)) results.push_back(trace::node_of(site, result));
    return results;
  };
  const std::vector<RecordedPtr> first = record({}, 0);
  for (const std::vector<Lies>& all : {plan->inputs, [&] {
                                         std::vector<Lies> of_results;
                                         for (const RecordedPtr& result : first) of_results.push_back(lies(result));
                                         return of_results;
                                       }()})
    for (const Lies& one : all) {
      if (plan->mesh && one.sharding.mesh && one.sharding.mesh != plan->mesh)
        trace::fail<ShardingError>(site, "the inputs and results lie on two meshes; call ranks::unshard on some of them first");
      if (one.sharding.mesh) plan->mesh = one.sharding.mesh;
    }
  const std::vector<ranks::Place> places = plan->mesh->own_places();
  plan->places.resize(places.size());
  std::shared_ptr<ranks::Recording> global;
  for (std::size_t number = 0; number < places.size(); ++number) {
    std::vector<InputSpec> of_parts;
    for (std::size_t k = 0; k < specs.size(); ++k) {
      InputSpec& spec = of_parts.emplace_back(InputSpec{specs[k].dtype, {}, specs[k].name});
      const Lies& input = plan->inputs[k];
      for (const std::int64_t size : input.sharding.mesh ? ranks::shape_of(ranks::block_of(input.shape, input.sharding, places[number])) : input.shape)
        spec.shape.emplace_back(size);
    }
    OfPlace& here = plan->places[number];
    const auto of_place = [&](const std::vector<Tensor>& parts) {
      std::vector<RecordedPtr> results = record(parts, number);
      plan->results.clear();
      for (RecordedPtr& result : results) {
        if (!result->spread) result = ranks::resharded(site, result, {plan->mesh, std::vector<int>(result->shape.size(), ranks::kWhole)});
        plan->results.push_back(lies(result));
      }
      const auto recording = std::make_shared<ranks::Recording>(results);
      here.partition = std::make_unique<ranks::Partition>(*recording, places[number], true);
      if (number == 0) global = recording;
      std::vector<Tensor> local;
      for (const RecordedPtr& root : here.partition->roots()) local.emplace_back(root);
      return local;
    };
    // The function's sizes are fixed, so the formula is recorded only here.
    here.function = std::make_shared<FrozenFunction>(of_place, of_parts, site.where);
  }
  if (!plan->places.front().partition->exchanges().empty()) {
    const auto exchanging = plan->mesh->world->exchanging(global->description());
    global->compare();
  }
  return plan;
}

std::vector<Tensor> ShardedFunction::call(const std::vector<InputSpec>& specs, const std::vector<Tensor>& inputs, const trace::Site& site) {
  std::vector<RecordedPtr> pending;
  for (const Tensor& input : inputs)
    if (!input.node()->evaluated()) pending.push_back(input.node());
  if (!pending.empty()) trace::evaluate(pending);
  const auto fits = [&](const std::shared_ptr<Plan>& plan) {
    return std::equal(inputs.begin(), inputs.end(), plan->inputs.begin(), [](const Tensor& input, const Lies& known) { return lies(input.node()) == known; });
  };
  std::shared_ptr<Plan> plan;
  {
    const std::lock_guard lock(mutex_);
    auto found = std::find_if(plans_.begin(), plans_.end(), fits);
    if (found == plans_.end()) {
      constexpr std::size_t kMaxPlans = 64;
      found = plans_.insert(plans_.begin(), make(specs, inputs, site));
      if (plans_.size() > kMaxPlans) plans_.pop_back();
    }
    std::rotate(plans_.begin(), found, found + 1);
    plan = plans_.front();
  }
  const std::lock_guard calling(plan->calling);
  const bool has_exchanges = !plan->places.front().partition->exchanges().empty();
  const auto exchanging =
      has_exchanges ? plan->mesh->world->exchanging("a frozen function (" + trace::to_string(site.where) + ")") : std::unique_lock<std::mutex>();
  std::vector<std::vector<Tensor>> results(plan->places.size());
  ranks::on_each_place(plan->places.size(), [&](std::size_t number, const std::shared_ptr<ranks::Handover>& others) {
    std::vector<Tensor> parts;
    for (const Tensor& input : inputs) parts.push_back(input.node()->spread ? Tensor(input.node()->spread->parts[number]) : input);
    ranks::Exchanges& exchanges = plan->places[number].partition->exchanges();
    exchanges.meet(others);
    const ranks::Exchanges::Running running(&exchanges);
    results[number] = plan->places[number].function->call(parts, site.where);
  });
  std::vector<Tensor> all;
  for (std::size_t k = 0; k < plan->results.size(); ++k) {
    const Lies& result = plan->results[k];
    const RecordedPtr node = trace::make_data(site, results[0][k].dtype(), result.shape, nullptr);
    node->symbolic = false;
    node->spread = std::make_shared<ranks::Spread>(ranks::Spread{result.sharding, {}, nullptr});
    ranks::set_parts(*node, [&](std::size_t number) { return results[number][k].node(); });
    all.emplace_back(node);
  }
  return all;
}

std::shared_ptr<const FrozenFunction> ShardedFunction::last() const {
  const std::lock_guard lock(mutex_);
  return plans_.empty() ? nullptr : plans_.front()->places.front().function;
}

}  // namespace sinter::freezing
