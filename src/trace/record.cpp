#include "trace/record.hpp"

#include <mutex>
#include <utility>

#include "trace/build.hpp"
#include "trace/loops.hpp"

namespace sinter::trace {
namespace {

std::atomic<EvaluateHook> evaluate_hook{nullptr};

/// Drops a chain without recursion: what nobody else holds gives up its own operands first.
void drop(std::vector<RecordedPtr> nodes) {
  while (!nodes.empty()) {
    const RecordedPtr node = std::move(nodes.back());
    nodes.pop_back();
    if (node.use_count() != 1) continue;
    std::lock_guard guard(node->lock);
    for (RecordedPtr& input : node->pending) nodes.push_back(std::move(input));
    node->pending.clear();
  }
}

std::uint32_t depth_above(const std::vector<RecordedPtr>& inputs) {
  std::uint32_t below = 0;
  for (const RecordedPtr& input : inputs)
    if (input->depth > below && input->result() == nullptr) below = input->depth;
  return below + 1;
}

/// Below this depth destructors may recurse.
constexpr std::uint32_t kShallow = 64;

}  // namespace

Recorded::~Recorded() {
  if (depth > kShallow && !pending.empty()) drop(std::move(pending));
}

std::vector<RecordedPtr> Recorded::inputs() const {
  std::lock_guard guard(lock);
  return pending;
}

StoragePtr Recorded::result() const {
  std::lock_guard guard(lock);
  return storage;
}

void Recorded::materialize(StoragePtr contents, std::shared_ptr<void> history) {
  std::vector<RecordedPtr> operands;
  {
    std::lock_guard guard(lock);
    // Of two threads that evaluated it at the same time the first one counts: its elements may have been handed out already.
    if (storage) return;
    storage = std::move(contents);
    made_by = std::move(history);
    operands.swap(pending);
  }
  drop(std::move(operands));
}

std::shared_ptr<void> Recorded::history() const {
  std::lock_guard guard(lock);
  return made_by;
}

void set_evaluate_hook(EvaluateHook hook) { evaluate_hook = hook; }

RecordedPtr record(RecordedPtr node, std::vector<RecordedPtr> inputs) {
  for (const RecordedPtr& input : inputs) node->symbolic |= input->symbolic;
  node->depth = depth_above(inputs);
  node->pending = std::move(inputs);
  const EvaluateHook hook = evaluate_hook;
  if (node->symbolic || hook == nullptr) return node;
  if (const auto now = recorded(node); !now.empty()) {
    hook(now);
    node->depth = depth_above(node->inputs());
  }
  return node;
}

}  // namespace sinter::trace
