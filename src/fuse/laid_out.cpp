#include "fuse/laid_out.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>

#include "base/hash.hpp"
#include "trace/build.hpp"

namespace sinter::fuse {
namespace {

using trace::Op;
using trace::RecordedPtr;

/// A view of contents: the contents, and the views as words.
struct View {
  StoragePtr contents;
  std::vector<std::uint64_t> words;
};

std::optional<View> view_of(RecordedPtr node) {
  View view;
  const auto add = [&](std::uint64_t word) { view.words.push_back(word); };
  for (;;) {
    add(static_cast<std::uint64_t>(node->dtype) << 8 | node->shape.size());
    for (const std::int64_t size : node->shape) add(static_cast<std::uint64_t>(size));
    if (node->evaluated()) {
      view.contents = node->storage;
      return view;
    }
    const trace::Operands operands = node->inputs();
    if (operands.empty() || !(trace::is_view(node->op) || node->op == Op::pad)) return {};
    add(static_cast<std::uint64_t>(node->op));
    for (const std::int64_t number : node->ints) add(static_cast<std::uint64_t>(number));
    if (operands.size() == 2) {  // a pad whose surroundings are one number
      if (operands[1]->op != Op::constant) return {};
      add(operands[1]->scalar.bits());
    }
    node = operands[0];
  }
}

struct LaidOut {
  struct Entry {
    std::string name;
    std::vector<std::uint64_t> view;
    RecordedPtr made;
  };
  std::vector<Entry> entries;  // guarded by the storage's lock
};

RecordedPtr found(const Storage& storage, const View& view, std::string_view name) {
  const auto known = std::static_pointer_cast<LaidOut>(storage.laid_out);
  if (!known) return nullptr;
  const auto at =
      std::find_if(known->entries.begin(), known->entries.end(), [&](const LaidOut::Entry& entry) { return entry.name == name && entry.view == view.words; });
  return at == known->entries.end() ? nullptr : at->made;
}

}  // namespace

bool is_lasting(const RecordedPtr& operand) { return view_of(operand).has_value(); }

RecordedPtr laid_out(const RecordedPtr& operand, std::string_view name, const std::function<RecordedPtr()>& make, const Evaluate& evaluate) {
  const auto view = view_of(operand);
  if (!view) return make();
  Storage& storage = *view->contents;
  {
    const std::lock_guard lock(storage.lock);
    if (RecordedPtr known = found(storage, *view, name)) return known;
  }
  const RecordedPtr made = make();
  evaluate({made});
  if (made->result() == view->contents) return made;  // a storage that refers to itself would never be freed
  // Only the contents of the node are stored, because the node remembers how it was computed.
  const RecordedPtr contents = trace::make_data({made->called, made->where}, made->dtype, made->shape, made->result());
  const std::lock_guard lock(storage.lock);
  if (RecordedPtr known = found(storage, *view, name)) return known;
  if (!storage.laid_out) storage.laid_out = std::make_shared<LaidOut>();
  std::static_pointer_cast<LaidOut>(storage.laid_out)->entries.push_back({std::string(name), view->words, contents});
  return contents;
}

}  // namespace sinter::fuse
