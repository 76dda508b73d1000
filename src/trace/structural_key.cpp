#include "trace/structural_key.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/hash.hpp"
#include "trace/loops.hpp"

namespace sinter::trace {
namespace {

static_assert(kMaxArity == 4);  // two words of two numbers

// Writes the numbers of a node into the key: a constant by its value, a symbol by its number.
struct NumberWriter {
  StructuralKey& key;
  std::vector<std::int64_t>& symbols;
  void constant(std::int64_t value) { key.push_back(static_cast<std::uint64_t>(value) << 2); }
  void symbol(int number, std::int64_t value, SymbolNumbers::Of of) {
    key.push_back(static_cast<std::uint64_t>(number) << 2 | (of == SymbolNumbers::Of::start ? 2 : 1));
    if (number == static_cast<int>(symbols.size())) symbols.push_back(value);
  }
  void last_of(std::size_t) { key.push_back(3); }
  void more(std::int64_t distance) { key.push_back(static_cast<std::uint64_t>(distance)); }
};

}  // namespace

void NumberIndex::clear() {
  count_ = 0;
  if (++epoch_ != 0) return;
  std::fill(slots_.begin(), slots_.end(), Slot{});
  epoch_ = 1;
}

void NumberIndex::grow() {
  std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.epoch != epoch_) continue;
    std::size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].epoch == epoch_) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }
}

// The walk holds the locks of the operations that it has visited, so that their operands stay. Two threads may each hold a lock that the other needs. Then this
// thread releases all its locks and begins again.
void Traversal::walk(const std::vector<RecordedPtr>& roots) {
  for (int tries = 0;; ++tries) {
    clear();
    try {
      walk_once(roots);
      break;
    } catch (const Conflict&) {
      release();
      if (tries < 8) std::this_thread::yield();
      else std::this_thread::sleep_for(std::chrono::microseconds(std::min(tries, 100) * (1 + (reinterpret_cast<std::uintptr_t>(this) >> 6) % 7)));
    } catch (...) {
      release();
      throw;
    }
  }
}

void Traversal::finish(std::vector<RecordedPtr>& roots, bool keep) {
  if (keep) keep_more(roots);
  if (!slices_.empty()) numbers_.starts(slices_, [](std::size_t) {}, NumberWriter{key_, symbols_});
  key_.push_back(outputs_.size());
  key_.insert(key_.end(), outputs_.begin(), outputs_.end());
}

// Walks depth first and without recursion, so that no chain is too long.
void Traversal::walk_once(const std::vector<RecordedPtr>& roots) {
  for (const RecordedPtr& root : roots) {
    const std::uint32_t at = enter(root);
    while (!stack_.empty()) {
      const std::size_t top = stack_.size() - 1;
      const Recorded& node = *stack_[top].node;
      if (const std::uint32_t next = stack_[top].next; next < node.pending.size()) {
        stack_[top].next = next + 1;
        const std::uint32_t input = enter(node.pending[next]);
        ++visited_[input].uses;
        stack_[top].inputs[next] = input;
        continue;
      }
      const Frame& frame = stack_[top];
      Visited& visited = visited_[frame.visited];
      visited.pending = static_cast<std::int32_t>(pending_.size());
      Pending& operation = pending_.emplace_back();
      operation.handle = visited.handle;
      Entry& entry = entries_.emplace_back();
      entry.node = &node;
      entry.op = node.op;
      operation.arity = entry.arity = frame.next;
      for (std::uint32_t k = 0; k < frame.next; ++k) {
        const Visited& input = visited_[frame.inputs[k]];
        operation.inputs[k] = input.pending;
        entry.inputs[k / 2] |= static_cast<std::uint64_t>(input.id + 1) << (32 * (k % 2));
      }
      visited.id = number_last();
      stack_.pop_back();
    }
    if (const std::int32_t operation = visited_[at].pending; operation != Pending::kLeaf) pending_[static_cast<std::size_t>(operation)].asked = true;
    outputs_.push_back(visited_[at].id);
  }
}

// Returns the number of a node in visited_. A leaf is complete immediately; a new operation is locked and stays pending until its operands are visited.
std::uint32_t Traversal::enter(const RecordedPtr& handle) {
  const Recorded& node = *handle;
  const auto fresh = static_cast<std::uint32_t>(visited_.size());
  const std::uint32_t known =
      seen_.find_or_add(mix(0, reinterpret_cast<std::uintptr_t>(&node) >> 4), fresh, [&](std::uint32_t at) { return visited_[at].handle->get() == &node; });
  if (known != fresh) return known;
  visited_.emplace_back().handle = &handle;
  int leaf = -1;
  if (node.op != Op::constant) {
    bool evaluated = node.evaluated();
    if (!evaluated && node.op != Op::data) {
      if (!node.lock.try_lock()) throw Conflict{};
      evaluated = node.evaluated();  // may have changed
      if (!evaluated) {
        locked_.push_back(&node);
        Frame& frame = stack_.emplace_back();
        frame.node = &node;
        frame.visited = fresh;
        return fresh;
      }
      node.lock.unlock();
    }
    leaf = static_cast<int>(evaluated ? leaf_of(node.storage.get(), node.storage) : leaf_of(&node, nullptr));
  }
  Entry& entry = entries_.emplace_back();
  entry.node = &node;
  entry.leaf = leaf;
  entry.op = leaf < 0 ? Op::constant : Op::data;
  if (leaf < 0) entry.bits = node.scalar.bits();
  visited_[fresh].id = number_last();
  return fresh;
}

std::uint32_t Traversal::leaf_of(const void* identity, const StoragePtr& storage) {
  const auto fresh = static_cast<std::uint32_t>(identities_.size());
  const std::uint32_t leaf =
      known_leaves_.find_or_add(mix(0, reinterpret_cast<std::uintptr_t>(identity) >> 4), fresh, [&](std::uint32_t at) { return identities_[at] == identity; });
  if (leaf == fresh) {
    identities_.push_back(identity);
    leaves_.push_back(storage);
  }
  return leaf;
}

void Traversal::add_shape(const ShapePtr& shape) {
  for (const ShapeWords& known : shapes_)
    if (known.shape == shape.get()) {
      for (std::size_t k = 0; k < known.count; ++k) key_.push_back(key_[known.begin + k]);
      return;
    }
  const std::size_t begin = key_.size();
  numbers_.sizes(*shape, NumberWriter{key_, symbols_});
  shapes_[next_shape_++ % shapes_.size()] = {shape.get(), begin, key_.size() - begin};
}

// Returns the number of the last entry in the graph. If an equal entry exists, returns that entry's number and removes the last one.
std::uint32_t Traversal::number_last() {
  const Entry& entry = entries_.back();
  const Recorded& node = *entry.node;
  const bool operation = entry.arity > 0;
  const std::size_t ints = operation ? node.ints.size() : 0;
  const std::uint64_t head = static_cast<std::uint64_t>(entry.op) | static_cast<std::uint64_t>(node.dtype) << 8 |
                             static_cast<std::uint64_t>(entry.arity) << 16 | static_cast<std::uint64_t>(node.shape.size()) << 24 |
                             static_cast<std::uint64_t>(ints) << 44;

  // Products that do not depend on each other, so that the processor can compute them in parallel, are added.
  constexpr std::uint64_t kHead = 0x9fb21c651e98df25u, kFirst = 0xd6e8feb86659fd93u, kSecond = 0xa0761d6478bd642fu, kLeaf = 0xe7037ed1a0b428dbu;
  std::uint64_t value = head * kHead + entry.inputs[0] * kFirst + entry.inputs[1] * kSecond + static_cast<std::uint64_t>(entry.leaf + 1) * kLeaf;
  for (const std::int64_t size : node.shape) value = value * kFirst + static_cast<std::uint64_t>(size);
  value = mix(value, entry.bits);
  for (std::size_t k = 0; k < ints; ++k) value = mix(value, static_cast<std::uint64_t>(node.ints[k]));
  const auto fresh = static_cast<std::uint32_t>(entries_.size() - 1);
  const std::uint32_t known = values_.find_or_add(value, fresh, [&](std::uint32_t at) {
    const Entry& other = entries_[at];
    return other.op == entry.op && other.node->dtype == node.dtype && other.leaf == entry.leaf && other.bits == entry.bits &&
           other.inputs[0] == entry.inputs[0] && other.inputs[1] == entry.inputs[1] && (&other.node->shape == &node.shape || other.node->shape == node.shape) &&
           (!operation || other.node->ints == node.ints);
  });
  if (known != fresh) {
    entries_.pop_back();
    return known;
  }
  key_.push_back(head);
  key_.push_back(operation ? entry.inputs[0] : static_cast<std::uint64_t>(entry.leaf + 1));
  if (entry.arity > 2) key_.push_back(entry.inputs[1]);
  add_shape(node.shape_owner);
  if (entry.op == Op::constant) literals_.push_back(entry.bits);
  if (is_library(entry.op)) calls_.push_back({node.called, node.where});
  if (ints > 0) {
    const Shape& operand = entries_[entry.input(0)].node->shape;
    numbers_.ints(entry.op, node.ints, NumberWriter{key_, symbols_});
    if (entry.op == Op::slice) slices_.push_back({entry.input(0), &operand, &node.ints});
    if (entry.op == Op::gather) gathers_.push_back({node.called, node.where, node.ints[0], operand[static_cast<std::size_t>(node.ints[0])]});
  }
  return fresh;
}

// Adds roots for values that are computed here, held outside of the graph, and likely to be needed again, so that they are stored. Operands come before users,
// so if a line was computed a second time below, a held value of this line above is stored immediately. The result of a library call or a scan is in memory in
// any case, and is stored the first time. Holding a view counts as holding its operand.
void Traversal::keep_more(std::vector<RecordedPtr>& roots) {
  computed_again_.clear();
  held_.assign(pending_.size(), 0);
  for (const Visited& visited : visited_)
    if (visited.pending != Pending::kLeaf) held_[static_cast<std::size_t>(visited.pending)] = visited.handle->use_count() > visited.uses;
  for (std::size_t k = pending_.size(); k-- > 0;) {  // users before operands
    const Pending& view = pending_[k];
    if (held_[k] && !view.asked && is_view((*view.handle)->op) && view.inputs[0] != Pending::kLeaf) held_[static_cast<std::size_t>(view.inputs[0])] = 1;
  }
  std::vector<RecordedPtr> kept;
  for (auto visited = visited_.rbegin(); visited != visited_.rend(); ++visited) {
    if (visited->pending == Pending::kLeaf) continue;
    const Recorded& node = **visited->handle;
    const auto number = static_cast<std::size_t>(visited->pending);
    if (pending_[number].asked) continue;
    const bool step = is_step(node.op), held = held_[number] != 0;
    if (!step && !is_elementwise(node.op) && !is_reduction(node.op) && node.op != Op::gather && node.op != Op::pad) continue;
    const bool again = held && node.computed.load(std::memory_order_relaxed);
    if (step ? !held : !worth_storing(node, held)) continue;
    if (again) computed_again_.push_back(&node);
    kept.push_back(*visited->handle);
    outputs_.push_back(visited->id);
  }
  roots.insert(roots.end(), kept.begin(), kept.end());
}

Graph Traversal::graph() const {
  Graph graph;
  graph.leaves = static_cast<int>(leaves_.size());
  graph.outputs.assign(outputs_.begin(), outputs_.end());
  graph.nodes.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    const Recorded& from = *entry.node;
    Node& node = graph.nodes.emplace_back();
    node.op = entry.op;
    node.dtype = from.dtype;
    node.shape = sizes_of(from.shape);
    node.scalar.dtype = from.dtype;
    node.leaf = entry.leaf;
    if (entry.op == Op::constant) node.scalar = from.scalar;
    if (entry.arity > 0) node.ints = sizes_of(from.ints);
    for (std::size_t k = 0; k < entry.arity; ++k) node.inputs.push_back(static_cast<int>(entry.input(k)));
  }
  return graph;
}

std::vector<NodeSite> Traversal::sites() const {
  std::vector<NodeSite> sites;
  sites.reserve(entries_.size());
  for (const Entry& entry : entries_) sites.push_back({entry.node->called, entry.node->where, entry.node->label.load(std::memory_order_relaxed)});
  return sites;
}

bool Traversal::was_recorded_at(std::span<const NodeSite> sites) const {
  return std::equal(entries_.begin(), entries_.end(), sites.begin(), sites.end(), [](const Entry& entry, const NodeSite& site) {
    const Recorded& node = *entry.node;
    return node.where.line == site.where.line && node.where.file == site.where.file && node.called == site.called &&
           node.label.load(std::memory_order_relaxed) == site.label;
  });
}

int Traversal::number_of(const Recorded& node) const {
  for (const Visited& visited : visited_)
    if (visited.handle->get() == &node) return static_cast<int>(visited.id);
  return -1;
}

// Unlocks in reverse order: a node's user was locked before the node and holds it. If the user were unlocked first, it could drop its operands while they are
// still locked here.
void Traversal::release() {
  for (auto node = locked_.rbegin(); node != locked_.rend(); ++node) (*node)->lock.unlock();
  locked_.clear();
}

void Traversal::clear() {
  release();
  visited_.clear();
  stack_.clear();
  pending_.clear();
  entries_.clear();
  outputs_.clear();
  identities_.clear();
  seen_.clear();
  values_.clear();
  known_leaves_.clear();
  numbers_.clear();
  shapes_ = {};
  key_.clear();
  symbols_.clear();
  leaves_.clear();
  literals_.clear();
  gathers_.clear();
  calls_.clear();
  slices_.clear();
}

Linear linearize(std::vector<RecordedPtr> roots) {
  Traversal traversal;
  traversal.walk(roots);
  traversal.finish(roots, false);
  return {traversal.graph(), traversal.leaves()};
}

}  // namespace sinter::trace
