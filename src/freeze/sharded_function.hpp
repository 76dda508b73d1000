// A frozen formula over values that lie on several ranks. For each way in which its inputs lie there is a plan for each place of this rank: a frozen function
// of the inputs' parts, made by the partition pass from the formula over global shapes.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "sinter/freeze.hpp"
#include "trace/site.hpp"

namespace sinter::freezing {

class FrozenFunction;

class ShardedFunction {
 public:
  explicit ShardedFunction(const Function::Formula& formula) : formula_(formula) {}
  std::vector<Tensor> call(const std::vector<InputSpec>& specs, const std::vector<Tensor>& inputs, const trace::Site& site);
  /// Returns the function of the first place that was called last; null before a call.
  std::shared_ptr<const FrozenFunction> last() const;

 private:
  struct Plan;
  std::shared_ptr<Plan> make(const std::vector<InputSpec>& specs, const std::vector<Tensor>& inputs, const trace::Site& site) const;

  const Function::Formula& formula_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Plan>> plans_;  // the one called last first
};

}  // namespace sinter::freezing
