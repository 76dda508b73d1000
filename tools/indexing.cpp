#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parser.hpp"
#include "sinter/shapes.hpp"
#include "table/arguments.hpp"

namespace sinter::tools {
namespace {

std::optional<std::int64_t> slice_end(const Value& value) {
  if (value.as<None>()) return std::nullopt;
  if (is_whole_number(value)) return whole_number(value);
  throw Fault{value.offset, fmt::format("a slice takes integers, not {}", kind_name(value))};
}

Slice slice_of(const std::vector<Value>& ends) { return {slice_end(ends[0]), slice_end(ends[1]), ends.size() > 2 ? slice_end(ends[2]) : std::nullopt}; }

/// Indexes a tuple by one integer or slice. As in Python, ends of a slice beyond the tuple are its ends.
Value of_tuple(const Tuple& tuple, const std::vector<Index>& index, std::size_t offset) {
  const auto size = static_cast<std::int64_t>(tuple.size());
  const std::string_view kind = tuple.is_list ? "a list" : "a tuple";
  if (index.size() == 1 && index[0].kind() == Index::Kind::slice) {
    const Slice& slice = index[0].slice();
    const std::int64_t step = slice.step.value_or(1), lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
    if (step == 0) throw Fault{offset, "a slice's step cannot be 0"};
    const auto end = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
      return !given ? otherwise : std::clamp(*given < 0 ? *given + size : *given, lowest, highest);
    };
    const std::int64_t start = end(slice.start, step < 0 ? highest : lowest), stop = end(slice.stop, step < 0 ? lowest : highest);
    Tuple part;
    part.is_list = tuple.is_list;
    for (std::int64_t k = start; step < 0 ? k > stop : k < stop; k += step) {
      part.push_back(tuple[static_cast<std::size_t>(k)]);
      if (step > size || step < -size) break;  // the next position would be outside, and perhaps outside of 64 bits
    }
    return {std::move(part), offset};
  }
  const bool place = index.size() == 1 && index[0].kind() == Index::Kind::places && is_whole_number({index[0].places(), offset});
  if (!place && (index.size() != 1 || index[0].kind() != Index::Kind::integer)) throw Fault{offset, fmt::format("{} is indexed by one integer or slice", kind)};
  const std::int64_t given = place ? whole_number({index[0].places(), offset}) : index[0].integer(), i = given < 0 ? given + size : given;
  if (i < 0 || i >= size) throw Fault{offset, fmt::format("index {} is out of range for {} of {}", given, kind, size)};
  return {tuple[static_cast<std::size_t>(i)].is, offset};
}

}  // namespace

std::vector<Parser::Subscript> Parser::subscripts(const Token& opening) {
  std::vector<Subscript> items;
  const std::size_t begin = begin_;
  const auto end = [&] { return peek().is(":") || peek().is(",") || peek().is("]") ? Value{None{}, peek().offset} : binary(); };
  while (!peek().is("]")) {
    if (peek().is(",")) unexpected(peek());
    Subscript subscript{.ends = {end()}};
    while (subscript.ends.size() < 3 && accept(":")) {
      subscript.range = true;
      subscript.ends.push_back(end());
    }
    items.push_back(std::move(subscript));
    if (!accept(",")) break;
  }
  if (items.empty() && peek().is("]")) throw Fault{peek().offset, "an index is missing here"};
  expect("]", opening);
  begin_ = begin;
  return items;
}

std::vector<Index> Parser::indexes(const Token& opening) {
  const std::vector<Subscript> items = subscripts(opening);
  std::vector<Index> index;
  if (items.size() == 1 && !items[0].range) return indices_of(items[0].ends[0]);
  for (const Subscript& item : items) index.push_back(item.range ? Index(slice_of(item.ends), Location{}) : index_of(item.ends[0]));
  return index;
}

Value Parser::indexed(const Value& value) {
  const Token opening = next();
  const std::vector<Index> index = indexes(opening);
  const auto at = [&](const Tensor& tensor) { return Value{recorded(opening.offset, [&] { return tensor.at(index, Location{}); }), opening.offset}; };
  if (const auto* tensor = value.as<Tensor>()) return at(*tensor);
  const auto* tuple = value.as<Tuple>();
  if (!tuple) throw Fault{opening.offset, fmt::format("{} cannot be indexed", kind_name(value))};
  if (!value.is_complex()) return of_tuple(*tuple, index, opening.offset);
  Tuple parts;
  parts.is_complex = true;
  for (const Value& part : *tuple) parts.push_back(at(*part.as<Tensor>()));
  return {std::move(parts), opening.offset};
}

Value Parser::as_index(const Token& name) {
  const Token opening = next();
  Tuple index;
  for (Subscript& item : subscripts(opening)) index.push_back(item.range ? Value{slice_of(item.ends), item.ends[0].offset} : std::move(item.ends[0]));
  return index.size() == 1 && name.text == "s_" ? index.front() : Value{std::move(index), opening.offset};
}

Value Parser::grid(const Token& name) {
  const Token opening = next();
  std::vector<Argument> items;
  bool ranges = true;
  for (Subscript& item : subscripts(opening)) {
    const std::size_t offset = item.ends[0].offset;
    ranges &= item.range;
    if (item.range && item.ends[0].as<None>()) item.ends[0].is = std::int64_t{0};
    if (item.range && item.ends[1].as<None>()) throw Fault{offset, fmt::format("a range of {} is start:stop or start:stop:step", name.text)};
    std::vector<Argument> ends;
    for (Value& end : item.ends) ends.push_back({{}, std::move(end)});
    items.push_back({{}, item.range ? recorded(offset, [&] { return call(*find_function("arange"), std::move(ends), offset); }) : ends[0].value});
  }
  return recorded(opening.offset, [&]() -> Value {
    if (name.text == "mgrid" || name.text == "ogrid") {
      if (!ranges) throw Fault{opening.offset, fmt::format("{} takes ranges, as {}[0:3, 0:4]", name.text, name.text)};
      if (items.size() == 1) return items[0].value;
      if (name.text == "ogrid") return call(*find_function("ix_"), std::move(items), opening.offset);
      items.push_back({"indexing", {std::string("ij"), opening.offset}});
      return {array_of(call(*find_function("meshgrid"), std::move(items), opening.offset), name.text), opening.offset};
    }
    Tuple parts;
    for (const Argument& item : items) parts.push_back({atleast_1d(array_of(item.value, name.text)), item.value.offset});
    return call(*find_function(name.text == "r_" ? "concatenate" : "column_stack"), {{{}, {std::move(parts), opening.offset}}}, opening.offset);
  });
}

}  // namespace sinter::tools
