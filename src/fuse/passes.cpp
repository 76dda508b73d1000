#include "fuse/passes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fuse/block_bytes.hpp"
#include "fuse/block_channels.hpp"
#include "fuse/byte_panels.hpp"
#include "fuse/unrolled.hpp"
#include "sinter/errors.hpp"

namespace sinter::fuse {
namespace {

enum PassNumber : std::uint8_t { kBlockChannels, kFoldChannels, kBlockBytes, kScaleBytes, kLayOutBytes, kUnrollRecurrence };
constexpr Pass kPasses[] = {
    {"block_channels", "convolutions of float32, and operations after them that keep channels separate, have their channels in blocks",
     &Limits::channel_blocks},
    {"fold_channels", "a factor or summand for each channel of a convolution's result becomes part of its weights", &Limits::fold_channels},
    {"block_bytes", "convolutions of 8-bit numbers minus zero points multiply bytes, with their channels in blocks", &Limits::block_bytes},
    {"scale_bytes", "factors and summands of such a convolution's sums become part of its call", &Limits::scale_bytes},
    {"lay_out_bytes", "a matrix of bytes that several products read is laid out as the device reads it fastest", &Limits::lay_out_bytes},
    {"unroll_recurrence", "the steps of a recurrent layer, which the device's libraries cannot compute in one call, are operations of their own",
     &Limits::unroll_recurrence},
    {"overlap", "exchanges between ranks start early and finish late; meanwhile kernels compute the parts that need no other rank", &Limits::overlap},
};

bool is_recurrence(Op op) { return op == Op::recurrence || op == Op::ragged_recurrence || op == Op::byte_recurrence; }

/// Returns whether a pass may change the node itself.
bool is_changed(const Recorded& node, const Limits& limits) {
  return (node.op == Op::conv && limits.channel_blocks && node.dtype == DType::float32) ||
         (node.op == Op::conv && limits.block_bytes && node.dtype == DType::int32) ||
         (node.op == Op::matmul && limits.lay_out_bytes && node.dtype == DType::int32) || (is_recurrence(node.op) && limits.unroll_recurrence);
}

/// The rewritten forms of a recorded node.
struct NodeForms {
  RecordedPtr plain;                     // null for a value in blocks until it is needed in the recorded order
  std::optional<InBlocks> blocked = {};  // for a convolution's result: nothing until another node reads it, because later operations may become part of it
  std::optional<BlockedConvolution> conv = {};  // the convolution that has this result
  std::optional<ByteConvolution> bytes = {};    // the convolution of bytes that has this result
  const char* label = "";

  bool is_blocked() const { return blocked || conv || bytes; }
};

/// An operation with the operands that it had when it was first seen. (Another thread may evaluate it meanwhile.) In lists, operands precede users.
struct Operation {
  RecordedPtr node;
  Operands operands;  // empty: a leaf
};

class RecordingRewriter {
 public:
  RecordingRewriter(const Limits& limits, const RewriteOptions& options) : limits_(limits), options_(options) {}

  Rewritten run(const std::vector<RecordedPtr>& roots) {
    const std::vector<Operation> operations = in_order(roots);
    if (std::none_of(operations.begin(), operations.end(), [&](const Operation& operation) { return is_changed(*operation.node, limits_); }))
      return {roots, {}, options_.followed};
    find_wanted(operations);
    for (const Operation& operation : operations) {
      NodeForms& made = values_.emplace(operation.node.get(), value_of(operation)).first->second;
      made.label = operation.node->label;
      if (made.blocked && *made.label) made.blocked->node->label = made.label;
    }
    Rewritten result;
    for (const RecordedPtr& root : roots) result.roots.push_back(plain(root));
    for (const RecordedPtr& node : options_.followed) {
      const bool known = values_.contains(node.get());
      result.followed.push_back(known && value(*node).blocked ? value(*node).blocked->node : plain(node));
    }
    for (std::size_t k = 0; k < std::size(kPasses); ++k)
      if (counts_[k] > 0) result.counts.push_back({std::string(kPasses[k].name), counts_[k]});
    return result;
  }

 private:
  std::vector<Operation> in_order(const std::vector<RecordedPtr>& roots) {
    struct Frame {
      Operation operation;
      std::size_t next = 0;
    };
    std::vector<Operation> order;
    std::vector<Frame> stack;
    const auto enter = [&](const RecordedPtr& node) {
      if (++uses_[node.get()] == 1) stack.push_back({{node, node->inputs()}, 0});
    };
    for (const RecordedPtr& root : roots) {
      enter(root);
      while (!stack.empty()) {
        Frame& top = stack.back();
        if (top.next < top.operation.operands.size()) {
          enter(RecordedPtr(top.operation.operands[top.next++]));
          continue;
        }
        order.push_back(std::move(top.operation));
        stack.pop_back();
      }
    }
    return order;
  }

  /// Finds values that a later convolution would read in blocks, through operations that keep channels separate.
  void find_wanted(const std::vector<Operation>& operations) {
    if (!limits_.channel_blocks) return;
    for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation) {
      const auto& [node, operands] = *operation;
      if (operands.empty()) continue;
      if (node->op == Op::conv) {
        if (reads_blocks(*node, options_)) wanted_.insert(operands[0].get());
      } else if (wanted_.contains(node.get()) && !trace::is_library(node->op)) {
        for (const RecordedPtr& each : operands) wanted_.insert(each.get());
      }
    }
  }

  NodeForms& value(const Recorded& node) {
    NodeForms& value = values_.at(&node);
    if (value.is_blocked() && !value.blocked) {
      const trace::Scope scope(node.called, node.where);
      value.blocked = value.conv ? recorded(*value.conv, options_) : recorded(*value.bytes, options_);
      if (*value.label) value.blocked->node->label = value.label;
    }
    return value;
  }

  const RecordedPtr& plain(const RecordedPtr& node) {
    if (!values_.contains(node.get())) return node;  // a pass made the node
    NodeForms& known = value(*node);
    if (!known.plain) known.plain = unblock({node->called, node->where}, *known.blocked);
    return known.plain;
  }

  NodeForms value_of(const Operation& operation) {
    const auto& [node, operands] = operation;
    if (operands.empty()) return {node};
    const trace::Scope scope(node->called, node->where);
    if (node->op == Op::conv && limits_.channel_blocks) {
      const NodeForms& x = value(*operands[0]);
      if (auto conv = convolution_in_blocks(*node, operand(operands[0], x), plain(operands[1]), wanted_.contains(node.get()), options_)) {
        ++counts_[kBlockChannels];
        return {.conv = std::move(conv)};
      }
    }
    if (node->op == Op::conv && limits_.block_bytes)
      if (auto conv = convolution_of_bytes(*node, known_, options_)) {
        ++counts_[kBlockBytes];
        return {.bytes = std::move(conv)};
      }
    if (node->op == Op::matmul && limits_.lay_out_bytes)
      if (RecordedPtr product = multiplied_by_panels(*node, plain(operands[0]), plain(operands[1]), limits_, options_)) {
        ++counts_[kLayOutBytes];
        return {product};
      }
    if (is_recurrence(node->op) && limits_.unroll_recurrence) {
      std::vector<RecordedPtr> recorded;
      for (const RecordedPtr& each : operands) recorded.push_back(plain(each));
      if (RecordedPtr states = unrolled(*node, recorded)) {
        ++counts_[kUnrollRecurrence];
        return {states};
      }
    }
    if (std::any_of(operands.begin(), operands.end(), [&](const RecordedPtr& each) { return values_.at(each.get()).is_blocked(); })) {
      if (RecordedPtr reduced = over_channels(*node, operands)) return {reduced};
      if (auto conv = folded(*node, operands)) {
        ++counts_[kFoldChannels];
        return {.conv = std::move(conv)};
      }
      if (auto conv = scaled(*node, operands)) {
        ++counts_[kScaleBytes];
        return {.bytes = std::move(conv)};
      }
      std::vector<BlockedOperand> all;
      for (const RecordedPtr& each : operands) all.push_back(operand(each, value(*each)));
      if (auto blocked = in_blocks(*node, all)) return {nullptr, std::move(blocked)};
    }
    Operands changed = operands;
    bool same = true;
    for (RecordedPtr& each : changed) {
      const RecordedPtr& now = plain(each);
      same &= now == each;
      each = now;
    }
    return {same ? node : trace::with_operands(*node, std::move(changed))};
  }

  static BlockedOperand operand(const RecordedPtr& node, const NodeForms& value) {
    return {node->shape, value.blocked ? &*value.blocked : nullptr, value.plain};
  }

  /// Returns the minimum or maximum over whole blocks. Such a reduction may be computed in any order.
  RecordedPtr over_channels(const Recorded& node, const Operands& operands) {
    if (node.op != Op::reduce_max && node.op != Op::reduce_min) return nullptr;
    return min_or_max(node, *value(*operands[0]).blocked);
  }

  /// Absorbs an operation on the sums of a convolution of bytes that no other node reads.
  std::optional<ByteConvolution> scaled(const Recorded& node, const Operands& operands) {
    if (!limits_.scale_bytes || (node.op != Op::cast && node.op != Op::add && node.op != Op::multiply)) return {};
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Recorded& result = *operands[k];
      const NodeForms& of = values_.at(&result);
      if (!of.bytes || uses_.at(&result) != 1) continue;
      if (auto conv = followed(*of.bytes, node, operands.size() == 2 ? plain(operands[1 - k]) : nullptr)) return conv;
    }
    return {};
  }

  /// Absorbs a sum, difference or product of a convolution's result, which no other node reads, and a number for each channel.
  std::optional<BlockedConvolution> folded(const Recorded& node, const Operands& operands) {
    if (!limits_.fold_channels || (node.op != Op::add && node.op != Op::multiply && node.op != Op::subtract)) return {};
    for (std::size_t k = 0; k < (node.op == Op::subtract ? 1 : 2); ++k) {
      const Recorded& result = *operands[k];
      const NodeForms& of = values_.at(&result);
      if (!of.conv || uses_.at(&result) != 1) continue;
      if (auto conv = absorbed(*of.conv, node.op, plain(operands[1 - k]), options_)) return conv;
    }
    return {};
  }

  const Limits& limits_;
  const RewriteOptions& options_;
  const Known known_{[this](const RecordedPtr& each) { return operand(each, value(*each)); }, [this](const RecordedPtr& each) { return plain(each); }};
  std::unordered_map<const Recorded*, int> uses_;
  std::unordered_set<const Recorded*> wanted_;
  std::unordered_map<const Recorded*, NodeForms> values_;
  std::array<int, std::size(kPasses)> counts_{};
};

}  // namespace

std::span<const Pass> passes() { return kPasses; }

Limits without_passes(Limits limits, std::string_view names) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    if (name == "all") {
      for (const Pass& pass : kPasses) limits.*pass.pays = false;
      continue;
    }
    const auto found = std::find_if(std::begin(kPasses), std::end(kPasses), [&](const Pass& pass) { return pass.name == name; });
    if (found == std::end(kPasses)) {
      std::vector<std::string_view> known;
      for (const Pass& pass : kPasses) known.push_back(pass.name);
      throw ValueError(fmt::format("no pass is called '{}'; the passes are {}", name, fmt::join(known, ", ")));
    }
    limits.*found->pays = false;
  }
  return limits;
}

bool may_be_rewritten(std::span<const trace::Pending> operations, const Limits& limits) {
  return std::any_of(operations.begin(), operations.end(), [&](const trace::Pending& operation) { return is_changed(**operation.handle, limits); });
}

Rewritten rewritten(const std::vector<RecordedPtr>& roots, const Limits& limits, const RewriteOptions& options) {
  const trace::WithinEvaluation scope;
  return RecordingRewriter(limits, options).run(roots);
}

}  // namespace sinter::fuse
