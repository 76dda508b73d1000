#include "onnx/sequences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

using List = std::vector<Tensor>;

const List& list_of(const Call& c, std::span<const NodeValue> operands, std::size_t k) {
  if (k >= operands.size() || !operands[k].sequence) c.refuse(fmt::format("input {} has to be a sequence", k));
  return *operands[k].sequence;
}

std::vector<NodeValue> made(List list) { return {{Tensor(), std::make_shared<const List>(std::move(list))}}; }

/// Returns a position in the list. `one_more`: the position after the last element is valid too.
std::size_t place(const Call& c, std::size_t input, const List& list, bool one_more) {
  const std::vector<std::int64_t> numbers = c.values(input);
  if (numbers.size() != 1) c.refuse(fmt::format("input {} has to be one number", input));
  const auto size = static_cast<std::int64_t>(list.size());
  const std::int64_t at = numbers[0] < 0 ? numbers[0] + size : numbers[0];
  if (at < 0 || at >= size + (one_more ? 1 : 0)) c.refuse(fmt::format("index {} is out of bounds for a sequence of {}", numbers[0], size));
  return static_cast<std::size_t>(at);
}

std::vector<NodeValue> construct(const Call& c, std::span<const NodeValue> operands) {
  if (operands.empty()) c.refuse("no tensors are given");
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (c.tensor(k).dtype() != c.tensor(0).dtype())
      c.refuse(fmt::format("tensors of {} and {} cannot be in one sequence", name(c.tensor(0).dtype()), name(c.tensor(k).dtype())));
  return made(c.tensors());
}

std::vector<NodeValue> insert(const Call& c, std::span<const NodeValue> operands) {
  List list = list_of(c, operands, 0);
  const std::size_t at = c.has(2) ? place(c, 2, list, true) : list.size();
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), c.tensor(1));
  return made(std::move(list));
}

std::vector<NodeValue> erase(const Call& c, std::span<const NodeValue> operands) {
  List list = list_of(c, operands, 0);
  if (list.empty()) c.refuse("the sequence is empty");
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(c.has(1) ? place(c, 1, list, false) : list.size() - 1));
  return made(std::move(list));
}

std::vector<NodeValue> split(const Call& c, std::span<const NodeValue>) {
  const Tensor& x = c.tensor(0);
  const std::int64_t axis = c.axis(c.integer("axis", 0), x.ndim()), size = x.size(static_cast<int>(axis));
  const bool keeps = !c.has(1) && c.integer("keepdims", 1) != 0, single = !c.has(1);
  const auto check_parts = [&](std::int64_t parts) {
    constexpr std::int64_t kMaxParts = 1'000'000;
    if (parts > kMaxParts) c.refuse(fmt::format("a sequence of {}; the limit is {}", sinter::counted(parts, "part"), kMaxParts));
  };
  if (!c.has(1)) check_parts(size);
  std::vector<std::int64_t> lengths(c.has(1) ? 0 : static_cast<std::size_t>(size), 1);
  if (c.has(1)) {
    const std::vector<std::int64_t> given = c.values(1);
    if (c.tensor(1).ndim() == 0) {  // pieces of this many elements; the last piece has the rest
      if (given[0] <= 0) c.refuse(fmt::format("parts of {}", sinter::counted(given[0], "element")));
      check_parts(size / given[0]);
      for (std::int64_t at = 0; at < size; at += given[0]) lengths.push_back(std::min(given[0], size - at));
    } else {
      lengths = given;
    }
  }
  List parts;
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > size - at) c.refuse(fmt::format("parts of {} elements do not add up to an axis of {}", to_string(lengths), size));
    std::vector<Index> index(static_cast<std::size_t>(axis), Index(Slice{}));
    index.push_back(single && !keeps ? Index(at) : Index(Slice{at, at + length}));
    parts.push_back(x.at(index, c.where()));
    at += length;
  }
  if (at != size) c.refuse(fmt::format("parts of {} elements do not add up to an axis of {}", to_string(lengths), size));
  return made(std::move(parts));
}

std::vector<NodeValue> join(const Call& c, std::span<const NodeValue> operands) {
  const List& list = list_of(c, operands, 0);
  if (list.empty()) c.refuse("the sequence is empty, so its result has no shape");
  const std::int64_t axis = c.integer("axis");
  return {{c.integer("new_axis", 0) != 0 ? stack(list, axis, c.where()) : concatenate(list, axis, c.where())}};
}

const SequenceOperator kRows[] = {
    {"ConcatFromSequence", {1, 1}, join},
    {"Identity", {1, 1}, [](const Call&, std::span<const NodeValue> operands) { return std::vector<NodeValue>{operands[0]}; }},
    {"SequenceAt",
     {2, 2},
     [](const Call& c, std::span<const NodeValue> operands) {
       const List& list = list_of(c, operands, 0);
       return std::vector<NodeValue>{{list[place(c, 1, list, false)]}};
     }},
    {"SequenceConstruct", {1, kAny}, construct},
    {"SequenceEmpty", {0, 0}, [](const Call&, std::span<const NodeValue>) { return made({}); }},
    {"SequenceErase", {1, 2}, erase},
    {"SequenceInsert", {2, 3}, insert},
    {"SequenceLength",
     {1, 1},
     [](const Call& c, std::span<const NodeValue> operands) {
       return std::vector<NodeValue>{{full({}, Arg(static_cast<std::int64_t>(list_of(c, operands, 0).size()), c.where()))}};
     }},
    {"SplitToSequence", {1, 2}, split},
};

}  // namespace

const SequenceOperator* find_sequence_operator(std::string_view name) {
  const auto found = std::find_if(std::begin(kRows), std::end(kRows), [&](const SequenceOperator& row) { return row.name == name; });
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace sinter::onnx
