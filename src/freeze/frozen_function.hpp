// Implements sinter::Function: the formula, its plans, and the executables for the sizes of its calls.
#pragma once
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/once.hpp"
#include "freeze/constant_parts.hpp"
#include "freeze/engine.hpp"
#include "freeze/recording_hash.hpp"
#include "freeze/sharded_function.hpp"
#include "freeze/size_rules.hpp"
#include "sinter/freeze.hpp"

namespace sinter::freezing {

/// The sizes of the named axes, in order of their first appearance.
using AxisSizes = std::vector<std::int64_t>;

/// Records a formula on placeholders of its inputs. It may append placeholders of further inputs, whose shapes follow from those of the others; they are always
/// the same in number and in type. A call gives further inputs after the others.
using Recorder = std::function<std::vector<Tensor>(std::vector<Tensor>& inputs)>;

/// The formula, recorded on placeholders of some sizes.
struct Recording {
  std::vector<trace::RecordedPtr> placeholders, results;
  std::vector<trace::PassCount> passes;
};

/// A recording in the form that planning takes, and the values that bind its plan.
struct PlannerInput {
  trace::Graph graph;
  trace::StructuralKey structure;
  Values values;
  std::shared_ptr<const Leaves> leaves;
};

/// The facts about one recording of the formula; the rules of plans are derived from them.
struct Looked {
  trace::StructuralKey structure;
  Hash128 contents;  // contents of the leaves
  Hash128 whole;     // see recording_hash.hpp
  Sample sample;
};
/// Recordings by sizes, each made once; null for sizes that the formula refuses.
struct LookedAt {
  std::map<AxisSizes, std::unique_ptr<const Looked>> at;
  ContentHashes contents;
};

struct FrozenPlan {
  trace::StructuralKey structure;
  AxisSizes sizes;  // the sizes for which the plan was made
  std::shared_ptr<const Planned> planned;
  // For a plan from a file, whose formula cannot be recorded again:
  std::optional<SizeRules> rules;
  std::shared_ptr<const Leaves> leaves;
};

class FrozenFunction {
 public:
  FrozenFunction(Recorder formula, std::vector<InputSpec> specs, Location where);
  /// The parts of a function from a plan file.
  struct Loaded {
    std::vector<InputSpec> specs;
    std::size_t results = 0;
    std::vector<DType> further;
    std::vector<FrozenPlan> plans;
    Frozen at;
  };
  explicit FrozenFunction(Loaded loaded);

  /// Computes the formula of the inputs and the further inputs. A further input without elements may be an empty handle.
  std::vector<Tensor> call(const std::vector<Tensor>& inputs, Location where);
  void prepare(const std::map<std::string, std::int64_t>& sizes, Location where);
  int plans() const { return plan_count_; }
  std::vector<FrozenFigures> figures() const;
  const std::vector<std::string>& serves() const;
  /// Returns whether a call with these sizes has a plan in the file, or can get one from the formula.
  bool has_plan_for(const std::map<std::string, std::int64_t>& sizes) const;
  std::vector<std::string> limits() const;
  std::string explain(const ExplainOptions& options) const;
  /// Returns the plan that was called last, for explain(), and appends the sizes of the named axes to `sizes`.
  std::optional<Explained> explained(std::vector<std::pair<std::string, std::int64_t>>& sizes) const;

  const std::vector<InputSpec>& inputs() const { return inputs_; }
  std::size_t results() const { return results_; }
  /// Returns the types of the further inputs.
  const std::vector<DType>& further() const { return further_; }
  const Frozen& at() const { return at_; }
  /// Returns the plans with rules for their sizes, as a file stores them. Records the formula at other sizes to find the rules.
  std::vector<FrozenPlan> plans_to_save(const trace::Site& site);

 private:
  struct BoundAt {
    AxisSizes sizes;
    std::shared_ptr<const Bound> bound;
  };

  void name_axes(Location where);
  AxisSizes all_sizes(const std::map<std::string, std::int64_t>& given, Location where) const;
  std::size_t axis_number(const std::string& axis) const;
  void sizes_of(const std::vector<Tensor>& given, Location where, AxisSizes& sizes) const;
  std::vector<Tensor> placeholders(const AxisSizes& sizes, Location where) const;
  Recording record(const AxisSizes& sizes, Location where) const;
  /// Returns the results of recordings at other sizes, as far as the formula accepts them.
  std::vector<std::vector<trace::RecordedPtr>> record_otherwise(Location where) const;
  PlannerInput planner_input(const Recording& recording, Location where) const;
  std::shared_ptr<const Bound> bound_for(const AxisSizes& sizes, Location where);
  std::shared_ptr<const Bound> bind_recorded(const AxisSizes& sizes, Location where);
  const Looked* look_at(const AxisSizes& sizes, LookedAt& looked, const trace::Site& site) const;
  std::optional<SizeRules> rules_of(const trace::StructuralKey& structure, const AxisSizes& sizes, std::vector<std::int64_t> lows, LookedAt& looked,
                                    const trace::Site& site) const;
  FrozenPlan with_rules(const FrozenPlan& plan, const PlannerInput& recorded, LookedAt& looked, const trace::Site& site) const;
  std::optional<FrozenPlan> nearby(const FrozenPlan& plan, LookedAt& looked, const trace::Site& site) const;
  std::optional<Values> served(const FrozenPlan& plan, const AxisSizes& sizes, bool estimates, std::string* reason = nullptr) const;
  std::string served_by(const FrozenPlan& plan) const;
  std::shared_ptr<const Bound> bind_checked(const FrozenPlan& plan, const Values& values, const AxisSizes& sizes, const trace::Site& site) const;
  std::shared_ptr<const Bound> bind_loaded(const AxisSizes& sizes, Location where) const;

  Recorder formula_;  // empty if the function was loaded
  std::vector<InputSpec> inputs_;
  std::size_t results_ = 0;
  std::vector<DType> further_;
  std::vector<std::string> axes_;                  // the names of the axes
  std::vector<std::vector<std::size_t>> numbers_;  // input -> axis -> number of its name; unspecified for an axis without a name
  AxisSizes usual_;                                // the sizes of the specs
  ShardedFunction sharded_{formula_};
  bool shards_ = false;                    // whether the formula itself shards values
  std::atomic<bool> sharded_last_{false};  // whether the last call was of sharded values
  Frozen at_;
  ConstantParts parts_{at_.target.limits.products};
  std::mutex making_;  // held while a plan is made; guards plans_
  std::vector<FrozenPlan> plans_;
  std::vector<FrozenPlan> prepared_;  // sizes for which one of plans_ was prepared; the plans in a file must serve these, too
  std::atomic<int> plan_count_{0};
  mutable Once described_;  // a file's plans do not change, so serves_ is made once, when it is first requested
  mutable std::vector<std::string> serves_;
  mutable std::mutex mutex_;  // guards bound_ and others_
  std::list<BoundAt> bound_;  // the most recently called first
  std::map<AxisSizes, std::list<BoundAt>::iterator> bound_at_;
  std::set<AxisSizes> others_;  // sizes with other decisions
};

}  // namespace sinter::freezing
