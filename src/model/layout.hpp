// How values lie while a graph is recorded: as the model says, or with their channels in blocks (sinter/blocked.hpp), which is how a CPU convolves
// fastest. A value stays in blocks from one node to the next as long as the nodes take it so.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/call.hpp"
#include "sinter/blocked.hpp"

namespace sinter::model {

/// A value as it lies.
struct Laid {
  Tensor tensor;               // empty: left out, or a sequence
  std::int64_t channels = -1;  // of a tensor in blocks; -1: it lies as the model says
  std::shared_ptr<const std::vector<Tensor>> sequence = {};  // of a value that is a list of tensors

  bool in_blocks() const { return channels >= 0; }
  /// As the model says.
  Tensor plain() const;
};

/// Decides for each node, when its operands are known.
class Layouts {
 public:
  /// The node on what lies in blocks, or so that its result does. Nothing: it is to be recorded as the model says. Either way `why` says the reason.
  std::optional<std::vector<Laid>> record(const Graph& graph, const Node& node, const Operator& op, std::span<const Laid> operands, const ReadIntegers& read,
                                          std::string& why) const;

 private:
  struct Filters {
    Tensor weight, bias;
  };
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::string, FilterLayout>, Filters> filters_;  // laid out, by the convolution's result

  std::optional<Laid> convolve(const Graph& graph, const Node& node, std::span<const Laid> operands, const ReadIntegers& read, std::string& why) const;
};

}  // namespace sinter::model
