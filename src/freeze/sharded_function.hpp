// A frozen formula over sharded values. For each sharding of its inputs, and for each place of this rank, there is a frozen function of the inputs' parts,
// which the partition pass makes from the formula over global shapes.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "sinter/freeze.hpp"
#include "trace/site.hpp"

namespace sinter::freezing {

class FrozenFunction;
using Recorder = std::function<std::vector<Tensor>(std::vector<Tensor>& inputs)>;

class ShardedFunction {
 public:
  explicit ShardedFunction(const Recorder& formula) : formula_(formula) {}
  std::vector<Tensor> call(const std::vector<InputSpec>& specs, const std::vector<Tensor>& inputs, const trace::Site& site);
  /// Returns the function of the first place that was called last; null before a call.
  std::shared_ptr<const FrozenFunction> last() const;

 private:
  struct Plan;
  std::shared_ptr<Plan> make(const std::vector<InputSpec>& specs, const std::vector<Tensor>& inputs, const trace::Site& site) const;

  const Recorder& formula_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Plan>> plans_;  // the most recently called one first
};

}  // namespace sinter::freezing
