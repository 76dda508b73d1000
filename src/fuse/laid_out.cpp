#include "fuse/laid_out.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/hash.hpp"
#include "trace/build.hpp"

namespace sinter::fuse {
namespace {

using trace::Op;
using trace::RecordedPtr;

/// The maximum number of words that describe a formula, and the maximum number of formulas of one storage that are not views.
constexpr std::size_t kMaxWords = 256, kMaxFormulas = 4;

/// A formula of evaluated memory: the storages that it reads, and its operations as words.
struct Formula {
  std::vector<StoragePtr> contents;
  std::vector<std::uint64_t> words;
  bool is_view = true;
};

bool describe(const RecordedPtr& node, Formula& formula) {
  const auto add = [&](std::uint64_t word) { formula.words.push_back(word); };
  if (formula.words.size() > kMaxWords) return false;
  add(static_cast<std::uint64_t>(node->dtype) << 8 | node->shape.size());
  for (const std::int64_t size : node->shape) add(static_cast<std::uint64_t>(size));
  if (node->evaluated()) {
    add(static_cast<std::uint64_t>(Op::data));
    formula.contents.push_back(node->storage);
    return true;
  }
  add(static_cast<std::uint64_t>(node->op));
  for (const std::int64_t number : node->ints) add(static_cast<std::uint64_t>(number));
  if (node->op == Op::constant) {
    add(node->scalar.bits());
    return true;
  }
  const trace::Operands operands = node->inputs();
  const bool moves = trace::is_view(node->op) || (node->op == Op::pad && operands.size() == 2 && operands[1]->op == Op::constant);
  if (operands.empty() || !(moves || trace::is_elementwise(node->op))) return false;
  formula.is_view &= moves;
  return std::all_of(operands.begin(), operands.end(), [&](const RecordedPtr& operand) { return describe(operand, formula); });
}

std::optional<Formula> formula_of(const RecordedPtr& node) {
  Formula formula;
  if (node->symbolic || !describe(node, formula) || formula.contents.empty()) return {};
  return formula;
}

/// The values that were computed from a storage and, for formulas, from further storages.
struct LaidOut {
  struct Entry {
    std::string name;
    std::vector<std::uint64_t> words;
    std::vector<std::weak_ptr<LaidOut>> others;  // the records of the other storages; they expire when such a storage is written
    RecordedPtr made;
  };
  std::vector<Entry> entries;  // guarded by the storage's lock
  std::size_t formulas = 0;    // number of formulas that are not views for which there was an entry
};
using LaidOutPtr = std::shared_ptr<LaidOut>;

/// Returns the values that were computed from the storage. The storage's lock must be held.
LaidOutPtr known_of(Storage& storage) {
  if (!storage.laid_out) storage.laid_out = std::make_shared<LaidOut>();
  return std::static_pointer_cast<LaidOut>(storage.laid_out);
}

/// A formula, and the records of the storages that it reads.
struct Place {
  Formula formula;
  std::vector<LaidOutPtr> others;

  explicit Place(Formula of) : formula(std::move(of)) {
    for (std::size_t k = 1; k < formula.contents.size(); ++k) {
      const std::lock_guard lock(formula.contents[k]->lock);
      others.push_back(known_of(*formula.contents[k]));
    }
  }
  Storage& storage() const { return *formula.contents.front(); }
  bool is(const LaidOut::Entry& entry) const {
    return entry.words == formula.words &&
           std::equal(entry.others.begin(), entry.others.end(), others.begin(), others.end(), [](const auto& a, const auto& b) { return a.lock() == b; });
  }
  /// Returns the formula's value with this name, or with any name if it is empty. The storage's lock must be held.
  RecordedPtr found(std::string_view name) const {
    for (const LaidOut::Entry& entry : known_of(storage())->entries)
      if ((name.empty() || entry.name == name) && is(entry)) return entry.made;
    return nullptr;
  }
};

}  // namespace

bool is_lasting(const RecordedPtr& operand, const RewriteOptions& options) {
  if (options.frozen) return !operand->symbolic;
  const auto formula = formula_of(operand);
  return formula && formula->is_view;
}

bool is_computed_once(const RecordedPtr& operand, const RewriteOptions& options) {
  if (options.frozen) return !operand->symbolic;
  auto formula = formula_of(operand);
  if (!formula || formula->is_view) return formula.has_value();
  const Place place(std::move(*formula));
  const std::lock_guard lock(place.storage().lock);
  return known_of(place.storage())->formulas < kMaxFormulas || place.found({});
}

RecordedPtr laid_out(const RecordedPtr& operand, std::string_view name, const std::function<RecordedPtr()>& make, const RewriteOptions& options) {
  auto formula = options.frozen ? std::nullopt : formula_of(operand);
  if (!formula) return make();
  const Place place(std::move(*formula));
  Storage& storage = place.storage();
  {
    const std::lock_guard lock(storage.lock);
    if (RecordedPtr known = place.found(name)) return known;
  }
  const RecordedPtr made = make();
  options.evaluate({made});
  const auto& read = place.formula.contents;
  if (std::find(read.begin(), read.end(), made->result()) != read.end()) return made;  // a storage that refers to itself would never be freed
  // Only the contents of the node are stored, because the node remembers how it was computed.
  const RecordedPtr contents = trace::make_data({made->called, made->where}, made->dtype, made->shape, made->result());
  const std::lock_guard lock(storage.lock);
  if (RecordedPtr known = place.found(name)) return known;
  const LaidOutPtr known = known_of(storage);
  std::erase_if(known->entries, [](const LaidOut::Entry& entry) {
    return std::any_of(entry.others.begin(), entry.others.end(), [](const auto& other) { return other.expired(); });
  });
  if (!place.formula.is_view && !place.found({})) ++known->formulas;
  known->entries.push_back({std::string(name), place.formula.words, {place.others.begin(), place.others.end()}, contents});
  return contents;
}

}  // namespace sinter::fuse
