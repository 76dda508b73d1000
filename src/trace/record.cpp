#include "trace/record.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/timeline.hpp"
#include "trace/build.hpp"
#include "trace/loops.hpp"

namespace sinter::trace {
namespace {

std::atomic<EvaluateHook> evaluate_hook{nullptr};
std::atomic<SpreadHook> spread_hook{nullptr};

/// Up to this depth destructors may recurse.
constexpr std::uint32_t kShallow = 64;

/// Drops operands without recursion: a node without other references drops its own operands first.
void drop(Operands operands) {
  std::vector<RecordedPtr> nodes;
  const auto add = [&](Operands& list) {
    for (RecordedPtr& node : list)
      if (node->depth > kShallow) nodes.push_back(std::move(node));
  };
  add(operands);
  while (!nodes.empty()) {
    const RecordedPtr node = std::move(nodes.back());
    nodes.pop_back();
    if (node.use_count() != 1) continue;
    Operands below;
    {
      std::lock_guard guard(node->lock);
      below = std::move(node->pending);
    }
    add(below);
  }
}

std::uint32_t depth_above(const Operands& inputs) {
  std::uint32_t below = 0;
  for (const RecordedPtr& input : inputs)
    if (input->depth > below && !input->evaluated()) below = input->depth;
  return below + 1;
}

/// Sums of bytes saturate at this value, because a sum that counts shared contents several times may grow without bound.
constexpr std::size_t kUncounted = std::size_t{1} << 62;

}  // namespace

Recorded::~Recorded() {
  if (depth > kShallow && !pending.empty()) drop(std::move(pending));
}

Operands Recorded::inputs() const {
  std::lock_guard guard(lock);
  return pending;
}

void Recorded::materialize(StoragePtr contents, std::shared_ptr<void> history) {
  Operands operands;
  {
    std::lock_guard guard(lock);
    // If two threads evaluate the node at the same time, the first result counts: its elements may already be in use.
    if (storage) return;
    storage = std::move(contents);
    made_by = std::move(history);
    operands = std::move(pending);
    known.store(true, std::memory_order_release);
  }
  if (depth > kShallow) drop(std::move(operands));
}

std::shared_ptr<void> Recorded::history() const {
  std::lock_guard guard(lock);
  return made_by;
}

namespace {

/// A node's `held` counts contents once for each read, so most large counts are too large, and an exact count is needed. The next exact count waits until as
/// many nodes are recorded as the last one visited operands (64 KiB that are read count as a node, too), and until those nodes read as many bytes as the last
/// count was below the limit.
thread_local constinit std::size_t nodes_owed = 0, bytes_owed = 0;

struct Held {
  std::size_t alone = 0;  // bytes of contents that would be freed with the node's recording: all their handles are operands in it
  std::size_t all = 0;    // bytes of all contents that it reads
};

Held held_by(const RecordedPtr& node) {
  std::vector<RecordedPtr> operands;  // copies, one for each use as an operand
  std::unordered_set<const Recorded*> seen;
  std::unordered_map<const Recorded*, long> uses;
  std::vector<const Recorded*> waiting{node.get()};
  while (!waiting.empty()) {
    const Recorded* next = waiting.back();
    waiting.pop_back();
    for (RecordedPtr& input : next->inputs()) {
      const Recorded* below = input.get();
      if (below->evaluated()) ++uses[below];
      else if (seen.insert(below).second) waiting.push_back(below);
      operands.push_back(std::move(input));
    }
  }
  nodes_owed = operands.size();
  std::unordered_set<const Storage*> alone, all;
  Held held;
  for (const RecordedPtr& operand : operands) {
    const auto found = uses.find(operand.get());
    if (found == uses.end()) continue;
    const StoragePtr storage = operand->result();
    if (all.insert(storage.get()).second) held.all += storage->bytes;
    // Each use accounts for two references: the operand and its copy here.
    if (operand.use_count() == 2 * found->second && alone.insert(storage.get()).second) held.alone += storage->bytes;
  }
  return held;
}

/// Evaluates the node if that frees much memory; otherwise counting starts again from the bytes that the node holds.
void bound_what_is_held(const RecordedPtr& node, EvaluateHook evaluate) {
  const Held held = held_by(node);
  bytes_owed = kMaxHeldBytes - std::min(kMaxHeldBytes, held.all);
  if (held.alone < kMaxHeldBytes) node->held = held.alone;
  else if (bytes_of(*node) >= held.alone) node->held = 0;  // the node's elements would take as much memory
  else evaluate({node});
}

}  // namespace

void set_evaluate_hook(EvaluateHook hook) { evaluate_hook = hook; }
void evaluate(const std::vector<RecordedPtr>& nodes) { evaluate_hook.load()(nodes); }
void set_spread_hook(SpreadHook hook) { spread_hook = hook; }

thread_local constinit bool WithinEvaluation::now = false;

void look_through(const Recorded& operand) {
  const EvaluateHook hook = evaluate_hook;
  if (operand.evaluated() || operand.symbolic || hook == nullptr || WithinEvaluation::now) return;
  for (const auto& piece : about_to_look()) hook(piece);
}

RecordedPtr record(RecordedPtr node, Operands&& inputs) {
  thread_local constinit std::uint64_t order = 0;
  bool is_spread = false;
  for (const RecordedPtr& input : inputs) {
    is_spread |= input->spread != nullptr;
    order = std::max(order, input->order);
    node->symbolic |= input->symbolic;
    const bool evaluated = input->evaluated();
    const std::size_t bytes = evaluated ? input->storage->bytes : input->held;
    if (!evaluated) node->depth = std::max(node->depth, input->depth);
    else {
      nodes_owed -= std::min(nodes_owed, bytes >> 16);
      bytes_owed -= std::min(bytes_owed, bytes);
    }
    node->held = bytes > kUncounted - node->held ? kUncounted : node->held + bytes;
  }
  if (is_spread && !node->spread) node->spread = spread_hook.load()(*node, inputs);
  if (timeline::on()) timeline::operation_recorded();
  ++node->depth;
  node->order = ++order;
  node->pending = std::move(inputs);
  const EvaluateHook hook = evaluate_hook;
  if (node->symbolic || hook == nullptr || WithinEvaluation::now) return node;
  if (const Pieces pieces = recorded(node); !pieces.empty()) {
    for (const auto& piece : pieces) hook(piece);
    const std::lock_guard guard(node->lock);
    node->depth = depth_above(node->pending);
  } else if (nodes_owed > 0) {
    --nodes_owed;
  } else if (bytes_owed == 0 && node->held >= kMaxHeldBytes) {
    bound_what_is_held(node, hook);
  }
  return node;
}

}  // namespace sinter::trace
