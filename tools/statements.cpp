#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parser.hpp"
#include "sinter/creation.hpp"
#include "sinter/engine.hpp"
#include "sinter/shapes.hpp"
#include "table/complex_numbers.hpp"

namespace sinter::tools {
namespace {

/// Returns whether a list is one array: its items have one shape. Another list is several results, as a tuple is.
bool is_array(const Value& value) {
  if (!value.as<Tuple>() || !value.as<Tuple>()->is_list) return false;
  try {
    array_of(value, "array");
    return true;
  } catch (const Fault&) {
    return false;
  }
}

Tensor result_of(const Value& value) {
  if (const auto* tensor = value.as<Tensor>()) return *tensor;
  if (value.is_number()) return full({}, operand(value, ""));
  if (is_array(value)) return array_of(value, "array");
  if (const auto* tuple = value.as<Tuple>();
      tuple && !tuple->empty() && std::all_of(tuple->begin(), tuple->end(), [](const Value& item) { return item.is_number(); }))
    return array_of(value, "array");  // x, x.shape
  throw Fault{value.offset, value.as<Tuple>() ? "a result is a tuple within a tuple; write the results one after another"
                                              : fmt::format("the result is {}, not a tensor or a number", kind_name(value))};
}

/// Converts a value for assignment to a part. The elements of a bool array stay bools, as for NumPy's b[0] = 1. A list of integers gets the part's integer
/// type.
Value fitting(const Value& by, DType dtype) {
  const Value value = by.as<Tuple>() ? Value{array_of(by, "array"), by.offset} : by;
  const auto* tensor = value.as<Tensor>();
  if (is_bool(dtype)) return tensor ? Value{astype(*tensor, dtype), by.offset} : Value{operand(value, "=").as_double() != 0, by.offset};
  const bool integers = by.as<Tuple>() && is_integer(tensor->dtype()) && is_integer(dtype) && tensor->size() > 0;
  return integers ? call(*find_function("asarray"), {{{}, by}, {"dtype", {dtype, by.offset}}}, by.offset) : value;
}

}  // namespace

bool Parser::statement(Value& value) {
  const std::size_t first = at_;
  std::vector<std::size_t> equals;  // every =, += and similar outside of brackets
  int open = 0;
  for (std::size_t k = at_; tokens_[k].kind != TokenKind::separator && tokens_[k].kind != TokenKind::end; ++k) {
    const Token& token = tokens_[k];
    if (token.is("(") || token.is("[")) ++open;
    if (token.is(")") || token.is("]")) --open;
    if (open == 0 && (token.is("=") || find_update(token))) equals.push_back(k);
  }
  if (!equals.empty()) at_ = equals.back() + 1;
  value = expressions();
  if (!at_end()) unexpected(peek());
  if (equals.empty()) return false;
  const std::size_t end = std::exchange(at_, first);
  const Value by = value;
  const bool renames = equals.back() + 2 == end;  // after y = x the value still has the name x
  for (const std::size_t place : equals) {
    const Operator* update = find_update(tokens_[place]);
    bool several = false;
    const std::vector<Target> list = targets(place, several);
    if (update && (several || equals.size() > 1)) unexpected(tokens_[place]);
    if (!several) {
      value = assign(list.front(), by, update, tokens_[place].offset);
      if (const auto* tensor = value.as<Tensor>(); tensor && !renames) set_name(*tensor, list.front().name.text);
    } else {
      const Tuple items = taken_apart(by, list);
      for (std::size_t k = 0; k < list.size(); ++k) assign(list[k], items[k], nullptr, tokens_[place].offset);
      value = {items, by.offset};
      written_at_ = by.offset;
      written_.clear();
      for (const Target& target : list) written_.emplace_back(target.name.text);
    }
    at_ = place + 1;
  }
  at_ = end;
  return true;
}

std::vector<Parser::Target> Parser::targets(std::size_t end, bool& several) {
  std::vector<Target> list;
  do {
    if (!list.empty() && at_ == end) break;
    refuse_unpacking();
    Target target{.name = next(), .part = {}};
    const Token& name = target.name;
    if (name.kind != TokenKind::name) unexpected(name);
    if (name.text == "None" || name.text == "True" || name.text == "False")
      throw Fault{name.offset, fmt::format("'{}' has a meaning of its own and cannot be assigned to", name.text)};
    if (peek().is("[")) {
      const Token opening = next();
      target.part = indexes(opening);
    }
    list.push_back(std::move(target));
    several |= peek().is(",");
  } while (accept(","));
  if (at_ != end) throw Fault{peek().offset, "the left side of an assignment is a name, or one part of it such as name[1:3]"};
  return list;
}

Tuple Parser::taken_apart(const Value& value, const std::vector<Target>& list) const {
  if (value.is_complex() && complex_of(value, "").re.ndim() > 0 && complex_of(value, "").re.shape()[0] == 2 && list.size() == 2)
    throw Fault{value.offset, "a pair (re, im) of two rows could be taken apart in two ways; write z.real, z.imag or z[0], z[1]"};
  const auto* tuple = value.as<Tuple>();
  const auto* tensor = value.as<Tensor>();
  const bool fits = tuple ? tuple->size() == list.size() : tensor && tensor->ndim() > 0 && tensor->shape()[0] == static_cast<std::int64_t>(list.size());
  if (!fits)
    throw Fault{list.front().name.offset, fmt::format("{} name{} given {}", list.size(), list.size() == 1 ? " is" : "s are",
                                                      !tuple ? std::string(kind_name(value)) : fmt::format("a tuple of {}", tuple->size()))};
  Tuple items;
  if (tuple) items.assign(tuple->begin(), tuple->end());
  else
    for (const Tensor& slice : unstack(*tensor, 0, Location{})) items.push_back({slice, value.offset});
  return items;
}

Value Parser::assign(const Target& target, const Value& by, const Operator* update, std::size_t offset) {
  const Value* before = update || target.part ? variable(target.name.text) : nullptr;
  if (!before && (update || target.part)) unknown(target.name, false);
  Value after = by;
  begin_ = target.name.offset;
  if (target.part) {
    after = with_part(*before, *target.part, by, update, offset);
  } else if (const auto* tensor = update ? before->as<Tensor>() : nullptr; tensor && update->update) {
    const Value other = by.as<Tuple>() ? Value{array_of(by, "array"), by.offset} : by;
    const Arg operand = tools::operand(other, update->symbol);
    Tensor changed = *tensor;
    recorded(offset, [&] { return (changed.*update->update)(operand); });
    after = {changed, offset};
  } else if (update) {
    after = apply(*update, offset, *before, by);
  }
  assigned_.insert_or_assign(std::string(target.name.text), after);
  return after;
}

Value Parser::with_part(const Value& whole, const std::vector<Index>& part, const Value& by, const Operator* update, std::size_t offset) {
  const auto at = [&](const Tensor& x) { return std::as_const(x).at(part, Location{}); };
  if (whole.is_complex())
    return recorded(offset, [&] {
      Complex after = complex_of(whole, "");
      const Value value = update ? complex_binary(update->symbol, complex_value({at(after.re), at(after.im)}, offset), by, offset) : by;
      const Complex numbers = complex_of(value.is_number() ? Value{full({}, operand(value, "="), after.re.dtype()), by.offset} : value, "=");
      after.re.at(part, Location{}) = numbers.re;
      after.im.at(part, Location{}) = numbers.im;
      return complex_value(after, whole.offset);
    });
  const auto* before = whole.as<Tensor>();
  if (!before) throw Fault{offset, fmt::format("a part of {} cannot be assigned to", kind_name(whole))};
  Tensor after = *before;
  const Value value = update ? by.as<Tuple>() ? Value{array_of(by, "array"), by.offset} : by : recorded(offset, [&] { return fitting(by, after.dtype()); });
  const Arg operand = tools::operand(value, update ? update->symbol : "=");
  recorded(offset, [&] {
    if (!update) after.at(part, Location{}) = operand;
    else if (update->update_part) (after.at(part, Location{}).*update->update_part)(operand);
    else after.at(part, Location{}) = update->record(at(after), operand);
  });
  return {after, whole.offset};
}

Evaluated Parser::results(const Value& last) const {
  if (last.as<None>()) throw Fault{last.offset, "the last statement gives no result"};
  const auto* tuple = last.as<Tuple>();
  if (!tuple || is_array(last)) return {{result_of(last)}, {"result"}, {}, {}};
  if (tuple->empty()) throw Fault{last.offset, "the result is an empty tuple"};
  Evaluated evaluated;
  const bool written_here = written_at_ == last.offset && written_.size() == tuple->size();
  for (std::size_t k = 0; k < tuple->size(); ++k) {
    const std::string label = last.is_complex() ? k == 0 ? "real" : "imag" : written_here ? written_[k] : fmt::format("result {}", k + 1);
    const Value& item = (*tuple)[k];
    const Tuple one{item}, &parts = item.is_complex() ? *item.as<Tuple>() : one;  // results of eig
    for (std::size_t part = 0; part < parts.size(); ++part) {
      evaluated.results.push_back(result_of(parts[part]));
      evaluated.labels.push_back(parts.size() == 1 ? label : fmt::format("{} {}", label, part == 0 ? "real" : "imag"));
    }
  }
  return evaluated;
}

}  // namespace sinter::tools
