#include "freeze/constant_parts.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_set>

#include "freeze/engine.hpp"

namespace sinter::freezing {
namespace {

using trace::Op;
using trace::Recorded;
using trace::RecordedPtr;

/// A node that depends on no placeholder. Nodes with equal hashes have equal elements.
struct Value {
  Hash128 hash;
  std::size_t bytes_read = 0;  // bytes of the contents from which it is computed; a part that is read twice counts twice
};
using NodeValues = std::unordered_map<const Recorded*, Value>;

/// Adds the hash of the contents, and returns their bytes.
std::size_t add_contents(Words& words, const StoragePtr& storage) {
  constexpr std::size_t kFew = 256;
  words.add(storage->bytes);
  if (storage->bytes <= kFew && storage->host) words.add(std::string_view(static_cast<const char*>(storage->host.get()), storage->bytes));
  else words.add(std::bit_cast<std::uintptr_t>(storage.get()));
  return storage->bytes;
}

/// The constant parts: data about every node below the results that depends on no placeholder.
NodeValues values_of(const std::vector<RecordedPtr>& results) {
  NodeValues values;
  std::unordered_set<const Recorded*> seen;
  std::vector<RecordedPtr> waiting(results.begin(), results.end());
  while (!waiting.empty()) {
    const RecordedPtr node = waiting.back();
    const trace::Operands inputs = node->inputs();
    if (seen.insert(node.get()).second && !node->evaluated()) {
      waiting.insert(waiting.end(), inputs.begin(), inputs.end());
      continue;
    }
    waiting.pop_back();
    if (node->symbolic || values.contains(node.get())) continue;
    Words words;
    std::size_t bytes_read = 0;
    const auto& shape = node->shape;
    words.add(static_cast<std::uint64_t>(node->dtype) << 8 | shape.size() << 16);
    for (const std::int64_t size : shape) words.add(static_cast<std::uint64_t>(size));
    if (node->evaluated()) {
      bytes_read = add_contents(words, node->storage);
    } else {
      words.add(static_cast<std::uint64_t>(node->op) + 1);
      words.add(node->op == Op::constant ? node->scalar.bits() : 0);
      for (const std::int64_t number : node->ints) words.add(static_cast<std::uint64_t>(number));
      for (const RecordedPtr& input : inputs) {
        const Value& operand = values.at(input.get());
        words.add(operand.hash);
        bytes_read += operand.bytes_read;
      }
    }
    values.emplace(node.get(), Value{words.hash(), bytes_read});
  }
  return values;
}

/// Visits nodes from the results down. `visit` returns whether to go on below.
template <class Visit> void descend(const std::vector<RecordedPtr>& results, Visit visit) {
  std::unordered_set<const Recorded*> seen;
  std::vector<RecordedPtr> waiting(results.begin(), results.end());
  while (!waiting.empty()) {
    const RecordedPtr node = std::move(waiting.back());
    waiting.pop_back();
    if (node->evaluated() || !seen.insert(node.get()).second || !visit(node)) continue;
    for (const RecordedPtr& input : node->inputs()) waiting.push_back(input);
  }
}

constexpr std::size_t kSmall = std::size_t{64} << 10;

/// Returns whether a conversion to a longer type is repeated in each call and not computed once. Its readers then read fewer bytes, and products of bytes read
/// the stored bytes. A conversion of few elements is computed once, unless a library takes 16 bits, because the library would then need the other operand in
/// the longer type, too.
bool is_left(const Recorded& node, bool products) {
  if (node.op != Op::cast) return false;
  const DType from = node.inputs()[0]->dtype;
  return itemsize(node.dtype) > itemsize(from) && (bytes_of(node) > kSmall || (products && is_storage_only(from) && node.shape.size() > 1));
}

/// Returns whether a value is worth storing: views, numbers and positions are not.
bool is_computed(const Recorded& node, bool products) {
  return !is_left(node, products) && !node.symbolic && !trace::is_view(node.op) && node.op != Op::constant && node.op != Op::iota && node.op != Op::data;
}

/// Finds operands of library calls that are views without strides, such as a reshape of a transposed tensor: each call would copy them.
std::unordered_set<const Recorded*> laid_out_anew(const std::vector<RecordedPtr>& results, bool products) {
  std::unordered_set<const Recorded*> views;
  descend(results, [&](const RecordedPtr& node) {
    if (trace::primitive(node->op).kind != trace::OpKind::library) return true;
    for (const RecordedPtr& operand : node->inputs()) {
      bool shaped = false, anew = false;
      RecordedPtr at = operand;
      for (; !at->symbolic && !at->evaluated() && trace::is_view(at->op); at = at->inputs()[0]) {
        anew |= shaped && (at->op == Op::permute || at->op == Op::slice);
        shaped |= at->op == Op::reshape;
      }
      if (anew && (at->evaluated() || !is_left(*at, products))) views.insert(operand.get());
    }
    return true;
  });
  return views;
}

}  // namespace

void ConstantParts::choose(const std::vector<RecordedPtr>& results, const std::vector<std::vector<RecordedPtr>>& others) {
  const NodeValues values = values_of(results);
  std::unordered_set<Hash128> equal;
  for (const auto& other : others)
    for (const auto& [node, value] : values_of(other)) equal.insert(value.hash);
  const auto anew = laid_out_anew(results, products_);
  std::vector<RecordedPtr> chosen;
  descend(results, [&](const RecordedPtr& node) {
    if (!is_computed(*node, products_) && !anew.contains(node.get())) return true;
    const Value& value = values.at(node.get());
    const std::size_t bytes = bytes_of(*node);
    if (!equal.contains(value.hash) || (bytes > kSmall && bytes > 4 * value.bytes_read)) return true;
    chosen.push_back(node);
    return false;
  });
  descend(chosen, [&](const RecordedPtr& node) {
    for (const RecordedPtr& input : node->inputs())
      if (input->evaluated()) read_.push_back(input->storage);
    return true;
  });
  Engine::get().evaluate(chosen, {"freeze", {}}, false);
  for (const RecordedPtr& node : chosen) contents_.emplace(values.at(node.get()).hash, node->storage);
}

void ConstantParts::fill(const std::vector<RecordedPtr>& results) const {
  if (contents_.empty()) return;
  const NodeValues values = values_of(results);
  const auto anew = laid_out_anew(results, products_);
  descend(results, [&](const RecordedPtr& node) {
    if (!is_computed(*node, products_) && !anew.contains(node.get())) return true;
    const auto found = contents_.find(values.at(node.get()).hash);
    if (found == contents_.end()) return true;
    node->materialize(found->second, nullptr);
    return false;
  });
}

}  // namespace sinter::freezing
