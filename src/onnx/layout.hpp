// How values lie while a graph is recorded: as the model says, or with their channels in blocks (sinter/blocked.hpp), which is how a CPU convolves
// fastest. A value stays in blocks from one node to the next as long as the nodes take it so.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onnx/call.hpp"
#include "onnx/windows.hpp"
#include "sinter/blocked.hpp"

namespace sinter::onnx {

/// A value as it lies.
struct Laid {
  Tensor tensor;                                             // empty: left out, or a sequence
  std::int64_t channels = -1;                                // of a tensor in blocks; -1: it lies as the model says
  std::shared_ptr<const std::vector<Tensor>> sequence = {};  // of a value that is a list of tensors
  std::size_t axes = 2;                                      // of places, of a tensor in blocks: where it is one, the rows are 1

  bool in_blocks() const { return channels >= 0; }
  /// As the model says.
  Tensor plain() const;
};

/// How a convolution reads x in blocks, or planes of it as they are.
struct BlockedWindows {
  std::int64_t channels;
  bool depthwise, planes;
  std::int64_t groups, joined;  // groups whose channels and filters are whole blocks, each of so many of the model's, side by side
  Windows how;
};
/// Nothing, and why: blocks are not for this one.
std::optional<BlockedWindows> blocked_windows(const Call& call, const Laid& x, const Shape& weight, std::string& why);

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
  mutable std::map<std::pair<std::string, FilterLayout>, Filters> filters_;  // by the convolution's result
  Filters laid_out(const std::string& result, FilterLayout layout, const std::function<Filters()>& make) const;

  // Of int8, with the sums of each filter's, and their zero points where there are any; int32, with the filters that fill the last block.
  struct ByteFilters {
    Tensor weight, sums, zero, ones;  // ones: a filter that adds up what the others read, beside zero points
  };
  mutable std::map<std::pair<std::string, ByteFilterLayout>, ByteFilters> byte_filters_;

  std::optional<Laid> convolve_bytes(const Graph& graph, const Node& node, std::span<const Laid> operands, const ReadIntegers& read, std::string& why) const;
  std::optional<Laid> convolve(const Graph& graph, const Node& node, std::span<const Laid> operands, const ReadIntegers& read, std::string& why) const;
  std::optional<Laid> convolve_transposed(const Graph& graph, const Node& node, std::span<const Laid> operands, const ReadIntegers& read,
                                          std::string& why) const;
};

}  // namespace sinter::onnx
