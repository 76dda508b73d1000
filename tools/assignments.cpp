#include "parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dictionaries.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "table/complex_numbers.hpp"

namespace sinter::tools {
namespace {

/// A list of Python's integers for a part of integers: it has no type of its own.
bool whole_numbers(const Value& value, DType dtype) {
  if (!is_integer(dtype) || is_bool(dtype)) return false;
  if (value.as<std::int64_t>()) return true;
  const auto* items = value.as<Tuple>();
  return items && !items->empty() && std::all_of(items->begin(), items->end(), [&](const Value& item) { return whole_numbers(item, dtype); });
}

/// What stands in a part of truth values is one: NumPy's b[0] = 1.
Value as_truths(const Value& value) {
  if (value.is_number()) return {operand(value, "=").as_double() != 0, value.offset};
  return value.as<Tensor>() ? Value{astype(*value.as<Tensor>(), DType::bool_), value.offset} : value;
}

bool ends_targets(const Token& token) { return token.is("=") || token.is(")") || token.is("]") || token.is_word("in"); }

}  // namespace

std::optional<Token> Parser::changed_in_place() const {
  const auto one_of = [](std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::size_t at = 0;  // the last name before the parenthesis
  while (peek(at).kind == TokenKind::name && peek(at + 1).is(".")) at += 2;
  if (peek(at).kind != TokenKind::name || !peek(at + 1).is("(")) return std::nullopt;
  const bool module = is_word("np") || is_word("numpy");
  const bool method = at == 2 && !module;
  const bool ufunc = at >= 2 && peek(at).text == "at" && find_function(peek(at - 2).text);
  std::size_t end = at + 1;
  for (int open = 0; peek(end).kind != TokenKind::end; ++end)
    if ((open += opens(peek(end))) == 0) break;
  if (peek(end + 1).kind != TokenKind::separator && peek(end + 1).kind != TokenKind::end) return std::nullopt;  // a part of something
  if (method && !ufunc) return one_of(peek(at).text, {"fill", "partition", "put", "resize", "sort"}) ? std::optional(peek()) : std::nullopt;
  if (!ufunc && !one_of(peek(at).text, {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask", "shuffle"})) return std::nullopt;
  return peek(at + 2).kind == TokenKind::name && (peek(at + 3).is(",") || peek(at + 3).is(")")) ? std::optional(peek(at + 2)) : std::nullopt;
}

std::optional<std::size_t> Parser::targets_end(std::size_t at, int depth) const {
  if (depth > 50) return std::nullopt;
  for (;;) {
    if (peek(at).is("*")) ++at;
    if (peek(at).is("(") || peek(at).is("[")) {
      const std::optional<std::size_t> close = targets_end(at + 1, depth + 1);
      if (!close || opens(peek(*close)) >= 0) return std::nullopt;
      at = *close + 1;
    } else if (peek(at).kind == TokenKind::name) {
      at = target_end(at);
    } else {
      return std::nullopt;
    }
    if (!peek(at).is(",")) return at;
    if (ends_targets(peek(++at))) return at;
  }
}

Parser::Target Parser::target() {
  Target one;
  one.rest = accept("*");
  const Token first = one.name = next();
  if (first.is("(") || first.is("[")) {
    Targets inner = targets();
    expect(first.is("(") ? ")" : "]", first);
    if (first.is("(") && !inner.several && !one.rest) return std::move(inner.list.front());  // (a) = 1
    one.inner = std::move(inner.list);
    return one;
  }
  if (first.kind != TokenKind::name) unexpected(first);
  check_assignable(first);
  while (peek().is("[")) {
    const Token opening = next();
    one.parts.push_back({at_, opening});
    for (int open = 1; open > 0;) {
      if (peek().kind == TokenKind::end || peek().kind == TokenKind::separator) throw Fault{opening.offset, "'[' is never closed"};
      open += opens(peek());
      pass_over(1);
    }
  }
  return one;
}

Parser::Targets Parser::targets() {
  Targets made;
  do {
    if (!made.list.empty() && ends_targets(peek())) break;
    made.list.push_back(target());
    made.several |= peek().is(",");
  } while (accept(","));
  const auto rest = [](const Target& target) { return target.rest; };
  if (std::count_if(made.list.begin(), made.list.end(), rest) > (made.several ? 1 : 0))
    throw Fault{made.list.front().name.offset, "one name among several takes the rest: a, *rest = …"};
  return made;
}

Value Parser::assignment() {
  std::vector<Targets> all;
  for (auto end = targets_end(); end && peek(*end).is("="); end = targets_end()) {
    Targets one = targets();
    if (!one.several && !one.list.front().inner.empty()) {  // (a, b) = …
      one.list = std::vector<Target>(one.list.front().inner);
      one.several = true;
    }
    one.equals = next().offset;
    all.push_back(std::move(one));
  }
  const Value value = expressions();
  Value worth;
  for (const Targets& targets : all) worth = assign_all(targets, value);
  return worth;
}

Value Parser::assign_all(const Targets& targets, Value value) {
  const Target& first = targets.list.front();
  if (!targets.several) {
    if (written_at_ == value.offset && first.parts.empty()) written_at_ = first.name.offset;
    value.offset = first.name.offset;
    assign_target(first, value, targets.equals);
    return first.parts.empty() ? value : Value{variable(first.name.text)->is, first.name.offset};
  }
  value.is = assign_each(targets.list, value, targets.equals);
  written_.clear();
  written_at_ = value.offset;
  for (const Target& target : targets.list)
    if (target.inner.empty()) written_.emplace_back(target.name.text);  // else, and where one takes the rest, the results have no names
  return value;
}

void Parser::assign_target(const Target& target, const Value& value, std::size_t equals) {
  if (!target.inner.empty()) assign_each(target.inner, value, equals);
  else if (target.parts.empty()) assign(target.name, value);
  else change(target, {.offset = equals, .by = value});
}

Tuple Parser::assign_each(const std::vector<Target>& list, const Value& value, std::size_t equals) {
  if (value.is_complex() && complex_of(value, "").re.ndim() > 0 && complex_of(value, "").re.shape()[0] == 2 && list.size() == 2)
    throw Fault{value.offset, "a pair (re, im) of two rows could be taken apart in two ways; write z.real, z.imag or z[0], z[1]"};
  const auto rest = std::find_if(list.begin(), list.end(), [](const Target& target) { return target.rest; });
  const std::size_t before = static_cast<std::size_t>(rest - list.begin()), behind = rest == list.end() ? 0 : list.size() - before - 1, count = before + behind;
  const auto* tuple = value.as<Tuple>();
  const auto* tensor = value.as<Tensor>();
  const std::optional<std::size_t> size = tuple                          ? std::optional(tuple->size())
                                          : tensor && tensor->ndim() > 0 ? std::optional(static_cast<std::size_t>(tensor->shape()[0]))
                                                                         : std::nullopt;
  if (!size || (rest == list.end() ? *size != count : *size < count))
    throw Fault{list.front().name.offset, fmt::format("{} name{} given {}", list.size(), list.size() == 1 ? " is" : "s are",
                                                      !tuple ? std::string(kind_name(value)) : fmt::format("a tuple of {}", tuple->size()))};
  Tuple items;
  if (tuple) items = *tuple;
  else
    for (const Tensor& slice : unstack(*tensor, 0, Location{})) items.push_back({slice, value.offset});
  for (std::size_t k = 0; k < before; ++k) assign_target(list[k], items[k], equals);
  if (rest == list.end()) return items;
  const auto left = items.begin() + static_cast<std::ptrdiff_t>(before), end = items.end() - static_cast<std::ptrdiff_t>(behind);
  Tuple others;
  others.assign(left, end);
  others.is_list = true;
  assign_target({.name = rest->name, .parts = rest->parts, .inner = rest->inner}, {std::move(others), value.offset}, equals);
  for (std::size_t k = 0; k < behind; ++k) assign_target(list[before + 1 + k], items[items.size() - behind + k], equals);
  return items;
}

Value Parser::change(const Target& target, const Change& change) {
  const Value* before = variable(target.name.text);
  if (!before) unknown(target.name, /*variables=*/true);
  Value after{with_part(*before, target, 0, change).is, target.name.offset};
  assign(target.name, after);
  return after;
}

Value Parser::with_part(const Value& whole, const Target& target, std::size_t level, const Change& change) {
  const std::size_t opening = target.parts[level].opening.offset;
  const bool last = level + 1 == target.parts.size();
  const auto changed_item = [&](const Value& item) { return !last ? with_part(item, target, level + 1, change) : changed_value(item, change); };
  if (const auto* known = whole.as<Dictionary>(); known && !known->is_set) {
    const std::size_t back = std::exchange(at_, target.parts[level].at);
    const Value key = key_of(expressions());
    at_ = back;
    Dictionary after = *known;
    put(after, key, last && !change.update && !change.append ? change.by : changed_item(tools::item_of(*known, key, opening)));
    return {std::move(after), whole.offset};
  }
  const std::vector<Index> index = indexes(target.parts[level]);
  if (const auto* items = whole.as<Tuple>(); items && items->is_list) {
    if (index.size() != 1 || (index[0].kind() != Index::Kind::integer && !is_place(index[0])))
      throw Fault{opening, "an item of a list is assigned to, by one integer"};
    Tuple list = *items;
    Value& item = list[place_in(list, index, opening)];
    item = changed_item(item);
    return {std::move(list), whole.offset};
  }
  if (change.append) throw Fault{opening, fmt::format("{} has no append(); a list has", kind_name(whole))};
  if (whole.is_complex()) return recorded(change.offset, [&] { return with_complex_part(whole, index, target, level, change); });
  const auto* before = whole.as<Tensor>();
  if (!before) throw Fault{opening, fmt::format("a part of {} cannot be assigned to", kind_name(whole))};
  Tensor after = *before;
  if (!last) {
    if (std::any_of(index.begin(), index.end(), [](const Index& i) { return i.kind() == Index::Kind::places && !is_place(i); }))
      throw Fault{opening, "what tensors of places choose is a copy, and the assignment to a part of it would be lost; write all of it as one index"};
    const Value part{recorded(opening, [&] { return std::as_const(after).at(index, Location{}); }), opening};
    const Value changed = with_part(part, target, level + 1, change);
    recorded(change.offset, [&] { after.at(index, Location{}) = *changed.as<Tensor>(); });
    return {after, whole.offset};
  }
  const bool weak = change.by.as<Tuple>() && !change.update && whole_numbers(change.by, after.dtype());
  const Value given =
      weak ? call(*find_function("asarray"), {{{}, change.by}, {"dtype", {after.dtype(), change.offset}}}, change.offset) : beside_tensor(change.by);
  const Value value = is_bool(after.dtype()) && !change.update ? as_truths(given) : given;
  const Arg by = operand(value, change.update ? change.update->symbol : "=");
  recorded(change.offset, [&] {
    if (!change.update) after.at(index, Location{}) = by;
    else if (change.update->update_part) (after.at(index, Location{}).*change.update->update_part)(by);
    else after.at(index, Location{}) = change.update->record(std::as_const(after).at(index, Location{}), by);
  });
  return {after, whole.offset};
}

std::vector<Index> Parser::indexes(const Target::Part& part) {
  const std::size_t back = std::exchange(at_, part.at);
  std::vector<Index> index = indexes(part.opening);
  at_ = back;
  return index;
}

Value Parser::changed_value(const Value& before, const Change& change) {
  if (change.append) return with_items(before, change);
  return change.update ? updated(*change.update, change.offset, before, change.by) : change.by;
}
Value Parser::with_items(const Value& before, const Change& change) {
  const auto* list = before.as<Tuple>();
  if (!list || !list->is_list) throw Fault{change.offset, fmt::format("{} has no append(); a list has", kind_name(before))};
  Tuple longer = *list;
  if (*change.append == Append::item) longer.push_back(change.by);
  else
    for (const Value& item : items_of(change.by)) longer.push_back(item);
  return {std::move(longer), before.offset};
}

Value Parser::with_complex_part(const Value& whole, const std::vector<Index>& index, const Target& target, std::size_t level, const Change& change) {
  const std::size_t opening = target.parts[level].opening.offset;
  Complex after = complex_of(whole, "");
  const Value part = complex_value({std::as_const(after.re).at(index, Location{}), std::as_const(after.im).at(index, Location{})}, opening);
  const bool last = level + 1 == target.parts.size();
  const Value by = !last           ? with_part(part, target, level + 1, change)
                   : change.update ? complex_binary(change.update->symbol, part, change.by, change.offset)
                                   : change.by;
  const Complex numbers = complex_of(by.is_number() ? Value{full({}, operand(by, "="), after.re.dtype()), by.offset} : by, "=");
  after.re.at(index, Location{}) = numbers.re;
  after.im.at(index, Location{}) = numbers.im;
  return complex_value(after, whole.offset);
}

Value Parser::appended() {
  const Token name = peek();
  const Target to = target();
  next();
  const bool whole = next().text == "extend";
  const std::vector<Argument> given = arguments({}).list;
  if (given.size() != 1 || !given[0].keyword.empty()) throw Fault{name.offset, whole ? "extend() takes a list" : "append() takes one value"};
  if (!to.parts.empty()) {
    change(to, {.offset = name.offset, .by = given[0].value, .append = whole ? Append::items : Append::item});
    return {None{}, name.offset};
  }
  Bindings& scope = scopes_.back().contains(name.text) ? scopes_.back() : scopes_.front();
  auto& list = std::get<Tuple>(scope.find(name.text)->second.is);
  if (!whole) list.push_back(given[0].value);
  else
    for (const Value& item : items_of(given[0].value)) list.push_back(item);
  return {None{}, name.offset};
}

void Parser::deleted() {
  const Token word = next();
  const Target to = target();
  const Value* before = variable(to.name.text);
  if (!before) unknown(to.name, /*variables=*/true);
  if (to.parts.empty()) {
    if (scopes_.back().erase(std::string(to.name.text)) == 0) throw Fault{word.offset, fmt::format("'{}' is no name of this function", to.name.text)};
    return;
  }
  const auto* known = before->as<Dictionary>();
  const auto* list = before->as<Tuple>();
  if (to.parts.size() > 1 || !(known || (list && list->is_list))) throw Fault{word.offset, "del takes a name, an item of a list or of a dictionary"};
  if (list) {
    Tuple rest = *list;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(place_in(rest, indexes(to.parts[0]), to.parts[0].opening.offset)));
    return assign(to.name, {std::move(rest), to.name.offset});
  }
  const std::size_t back = std::exchange(at_, to.parts[0].at);
  const Value key = key_of(expressions());
  at_ = back;
  Dictionary rest = *known;
  const auto place = static_cast<std::ptrdiff_t>(place_of(rest, key));
  if (place == static_cast<std::ptrdiff_t>(rest.keys.size())) throw Fault{to.parts[0].opening.offset, "there is no such key in the dictionary"};
  rest.keys.erase(rest.keys.begin() + place);
  if (!rest.is_set) rest.values.erase(rest.values.begin() + place);
  assign(to.name, {std::move(rest), to.name.offset});
}

Value Parser::changed() {
  const Token name = *changed_in_place();
  if (!variable(name.text)) unknown(name, /*variables=*/true);
  Value value = expressions();
  assign(name, value);
  return value;
}

void Parser::assign(const Token& name, Value value) { scopes_.back().insert_or_assign(std::string(name.text), std::move(value)); }

Value Parser::update() {
  const Token name = next();
  check_assignable(name);
  const Value* before = variable(name.text);
  if (!before) unknown(name, /*variables=*/true);
  const Token symbol = next();
  Value value = updated(*find_update(symbol), symbol.offset, *before, expressions());
  assign(name, value);
  return value;
}

Value Parser::updated(const Operator& row, std::size_t offset, const Value& before, const Value& by) {
  const auto* tensor = before.as<Tensor>();
  if (!tensor || !row.update) return apply(row, offset, before, by);
  const Value other = beside_tensor(by);
  const Arg operand = tools::operand(other, row.symbol);
  Tensor after = *tensor;
  recorded(offset, [&] { return (after.*row.update)(operand); });
  return {after, offset};
}

std::size_t Parser::target_end(std::size_t at) const {
  std::size_t end = at + 1;
  int open = 0;
  for (std::size_t k = end; (open > 0 || peek(k).is("[")) && peek(k).kind != TokenKind::end && peek(k).kind != TokenKind::separator; ++k)
    if ((open += opens(peek(k))) == 0) end = k + 1;
  return end;
}

Value Parser::update_part() {
  const Target to = target();
  if (const Value* before = variable(to.name.text); !before) unknown(to.name, /*variables=*/true);
  const Token symbol = next();
  return change(to, {find_update(symbol), symbol.offset, expressions()});
}

}  // namespace sinter::tools
