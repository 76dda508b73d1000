#include "parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dictionaries.hpp"
#include "sinter/shapes.hpp"
#include "table/arguments.hpp"
#include "text.hpp"

namespace sinter::tools {
namespace {

/// Python's slice of a tuple: ends beyond it are its ends.
Tuple part_of(const Tuple& tuple, const Slice& slice, const Token& opening) {
  const auto size = static_cast<std::int64_t>(tuple.size());
  const std::int64_t step = slice.step.value_or(1), lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
  if (step == 0) throw Fault{opening.offset, "a slice's step cannot be 0"};
  const auto end = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    return !given ? otherwise : std::clamp(*given < 0 ? *given + size : *given, lowest, highest);
  };
  const std::int64_t start = end(slice.start, step < 0 ? highest : lowest), stop = end(slice.stop, step < 0 ? lowest : highest);
  Tuple part;
  part.is_list = tuple.is_list;
  for (std::int64_t k = start; step < 0 ? k > stop : k < stop; k += step) {
    part.push_back(tuple[static_cast<std::size_t>(k)]);
    if (step > size || step < -size) break;  // the next would be beyond, and may be beyond 64 bits
  }
  return part;
}

}  // namespace

Value Parser::grid(const Token& name) {
  const Token opening = next();
  std::vector<Value> items;
  std::vector<Tensor> ranges;
  while (!peek().is("]")) {
    const std::size_t offset = peek().offset;
    std::optional<Value> start;
    if (!peek().is(":")) start = expression();
    if (!peek().is(":")) {
      items.push_back(*start);
    } else {
      std::vector<Argument> ends{{{}, start.value_or(Value{std::int64_t{0}, offset})}};
      for (next(); !peek().is("]") && !peek().is(","); accept(":")) ends.push_back({{}, expression()});
      if (ends.size() < 2 || ends.size() > 3) throw Fault{offset, fmt::format("a range of {} is start:stop or start:stop:step", name.text)};
      items.push_back(recorded(offset, [&] { return call(*find_function("arange"), std::move(ends), offset); }));
      ranges.push_back(*items.back().as<Tensor>());
    }
    if (!accept(",")) break;
  }
  expect("]", opening);
  if (items.empty()) throw Fault{opening.offset, "an index is missing here"};
  return recorded(opening.offset, [&]() -> Value {
    if (name.text == "mgrid" || name.text == "ogrid") {
      if (ranges.size() != items.size()) throw Fault{opening.offset, fmt::format("{} takes ranges, as {}[0:3, 0:4]", name.text, name.text)};
      if (ranges.size() == 1) return {ranges[0], opening.offset};
      const std::string_view make = name.text == "mgrid" ? "meshgrid" : "ix_";
      std::vector<Argument> each;
      for (Value& item : items) each.push_back({{}, std::move(item)});
      if (make == "meshgrid") each.push_back({"indexing", {std::string("ij"), opening.offset}});
      Value grids = call(*find_function(make), std::move(each), opening.offset);
      return make == "ix_" ? grids : Value{array_of(grids, name.text), opening.offset};
    }
    Tuple parts;
    for (const Value& item : items) parts.push_back({atleast_1d(array_of(item, name.text)), item.offset});
    return call(*find_function(name.text == "r_" ? "concatenate" : "column_stack"), {{{}, {std::move(parts), opening.offset}}}, opening.offset);
  });
}

Value Parser::as_index(const Token& name) {
  const Token opening = next();
  Tuple items;
  bool several = name.text == "index_exp";
  while (!peek().is("]")) {
    if (peek().is(":")) items.push_back({slice_from(std::nullopt).slice(), opening.offset});
    else if (Value value = expression(); peek().is(":")) items.push_back({slice_from(slice_end(value)).slice(), value.offset});
    else items.push_back(std::move(value));
    if (!accept(",")) break;
    several = true;
  }
  if (items.empty()) throw Fault{opening.offset, "an index is missing here"};
  expect("]", opening);
  if (!several) return items.front();
  return {std::move(items), opening.offset};
}

std::vector<Index> Parser::indexes(const Token& opening) {
  std::vector<Index> index;
  const bool whole = peek().is("(") && peek(1).is(")") && peek(2).is("]");  // x[()]
  if (whole) next(), next(), index.emplace_back(ellipsis, Location{});
  while (!whole && !peek().is("]")) {
    index_item(index);
    if (!accept(",")) break;
  }
  if (index.empty() && peek().is("]")) throw Fault{peek().offset, "an index is missing here"};
  expect("]", opening);
  return index;
}

Value Parser::indexed(const Value& value) {
  const Token opening = next();
  if (const auto* dictionary = value.as<Dictionary>()) {
    const Value key = expressions();
    expect("]", opening);
    return {tools::item_of(*dictionary, key, opening.offset).is, opening.offset};
  }
  if (const auto* text = value.as<std::string>()) {
    const Tuple all = characters(*text, opening.offset);
    const std::vector<Index> index = indexes(opening);
    if (index.size() != 1 || index[0].kind() != Index::Kind::slice) return {all[place_in(all, index, opening.offset)].is, opening.offset};
    std::string part;
    for (const Value& character : part_of(all, index[0].slice(), opening)) part += *character.as<std::string>();
    return {std::move(part), opening.offset};
  }
  const std::vector<Index> index = indexes(opening);
  if (const auto* tuple = value.as<Tuple>()) {
    if (value.is_complex()) {  // both parts
      Tuple parts;
      parts.is_complex = true;
      for (const Value& part : *tuple)
        parts.push_back({recorded(opening.offset, [&] { return std::as_const(*part.as<Tensor>()).at(index, Location{}); }), opening.offset});
      return {std::move(parts), opening.offset};
    }
    if (index.size() == 1 && index[0].kind() == Index::Kind::slice) return {part_of(*tuple, index[0].slice(), opening), opening.offset};
    return {(*tuple)[place_in(*tuple, index, opening.offset)].is, opening.offset};
  }
  const auto* tensor = value.as<Tensor>();
  if (!tensor) throw Fault{opening.offset, fmt::format("{} cannot be indexed", kind_name(value))};
  return {recorded(opening.offset, [&] { return tensor->at(index, Location{}); }), opening.offset};
}

bool Parser::is_place(const Index& index) { return index.kind() == Index::Kind::places && index.places().ndim() == 0 && is_integer(index.places().dtype()); }

std::size_t Parser::place_in(const Tuple& tuple, const std::vector<Index>& index, std::size_t offset) {
  if (index.size() != 1 || (index[0].kind() != Index::Kind::integer && !is_place(index[0])))
    throw Fault{offset, fmt::format("{} is indexed by one integer or slice", tuple.is_list ? "a list" : "a tuple")};
  const std::int64_t given = is_place(index[0]) ? whole_number({index[0].places(), offset}) : index[0].integer();
  const auto size = static_cast<std::int64_t>(tuple.size());
  const std::int64_t i = given < 0 ? given + size : given;
  if (i < 0 || i >= size) throw Fault{offset, fmt::format("index {} is out of range for {} of {}", given, tuple.is_list ? "a list" : "a tuple", size)};
  return static_cast<std::size_t>(i);
}

std::optional<std::int64_t> Parser::slice_part() {
  if (peek().is(":") || peek().is(",") || peek().is("]")) return std::nullopt;
  const Value value = expression();
  return slice_end(value);
}

std::optional<std::int64_t> Parser::slice_end(const Value& value) {
  if (value.as<None>()) return std::nullopt;
  if (is_whole_number(value)) return whole_number(value);
  throw Fault{value.offset, fmt::format("a slice takes integers, not {}", kind_name(value))};
}

void Parser::index_item(std::vector<Index>& index) {
  if (peek().is(":")) {
    index.push_back(slice_from(std::nullopt));
    return;
  }
  const Value value = expression();
  if (peek().is(":")) {
    index.push_back(slice_from(slice_end(value)));
    return;
  }
  const Tuple* tuple = value.as<Tuple>();
  if (tuple && !tuple->is_list && index.empty() && peek().is("]")) {  // x[(1, 2)] is x[1, 2]
    if (tuple->empty()) index.emplace_back(ellipsis, Location{});
    for (const Value& item : *tuple) index.push_back(index_of(item));
    return;
  }
  index.push_back(index_of(value));
}

Index Parser::index_of(const Value& value) {
  const Location nowhere{};
  if (const auto* i = value.as<std::int64_t>()) return {*i, nowhere};
  if (value.as<None>()) return {newaxis, nowhere};
  if (value.as<Ellipsis>()) return {ellipsis, nowhere};
  if (const auto* slice = value.as<Slice>()) return {*slice, nowhere};
  if (!value.as<Tensor>() && !value.as<Tuple>()) throw Fault{value.offset, fmt::format("an index cannot be {}", kind_name(value))};
  const Tensor places = array_of(value, "array");
  return {value.as<Tuple>() && places.size() == 0 ? astype(places, DType::int64) : places, nowhere};
}

Index Parser::slice_from(std::optional<std::int64_t> start) {
  Slice slice{.start = start};
  next();
  slice.stop = slice_part();
  if (accept(":")) slice.step = slice_part();
  return Index(slice, Location{});
}

}  // namespace sinter::tools
