#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "parser.hpp"
#include "sinter/types.hpp"
#include "table/complex_numbers.hpp"
#include "table/ufuncs.hpp"

namespace sinter::tools {
namespace {

/// Returns attributes such as finfo(dtype).eps and iinfo(dtype).max.
Value limit(DType dtype, const Token& name) {
  const std::string_view text = name.text;
  if (text == "bits") return {static_cast<std::int64_t>(8 * itemsize(dtype)), name.offset};
  if (text == "dtype") return {dtype, name.offset};
  if (is_floating(dtype)) {
    const FloatInfo info = finfo(dtype, Location{});
    const std::pair<std::string_view, double> numbers[] = {{"eps", info.eps},
                                                           {"min", info.min},
                                                           {"max", info.max},
                                                           {"smallest_normal", info.smallest_normal},
                                                           {"tiny", info.smallest_normal},
                                                           {"smallest_subnormal", info.smallest_subnormal}};
    for (const auto& [word, number] : numbers)
      if (word == text) return {number, name.offset};
  } else {
    const IntegerInfo info = iinfo(dtype, Location{});
    if (text == "min") return {info.min, name.offset};
    if (text == "max" && info.max > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {info.max, name.offset};
    if (text == "max") return {static_cast<std::int64_t>(info.max), name.offset};
  }
  throw Fault{name.offset, fmt::format("the limits of {} have no '{}'; they have bits, dtype, min, max{}", sinter::name(dtype), text,
                                       is_floating(dtype) ? ", eps, smallest_normal, smallest_subnormal" : "")};
}

bool is_module(std::string_view name) {
  constexpr std::string_view names[] = {"fft", "lib", "linalg", "np", "numpy", "random", "stride_tricks"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

Value Parser::postfix() {
  const std::size_t begin = begin_ = peek().offset;
  Value value = primary();
  while (true) {
    begin_ = begin;
    if (peek().is(".")) value = attribute(value);
    else if (peek().is("[")) value = indexed(value);
    else if (peek().is("(")) value = converted(value);
    else return value;
  }
}

Value Parser::primary() {
  const Token token = next();
  switch (token.kind) {
    case TokenKind::integer: return token.above_int64 ? Value{static_cast<std::uint64_t>(token.integer), token.offset} : Value{token.integer, token.offset};
    case TokenKind::floating: return {token.floating, token.offset};
    case TokenKind::imaginary: return complex_value({full({}, 0.0), full({}, token.floating)}, token.offset, true);
    case TokenKind::string: return {std::string(token.text), token.offset};
    case TokenKind::name: return named(token);
    default: break;
  }
  if (token.is("...")) return {Ellipsis{}, token.offset};
  if (token.is("(")) return list_until(")", token);
  if (token.is("[")) return list_until("]", token);
  unexpected(token);
}

Value Parser::list_until(std::string_view close, const Token& opening) {
  Tuple items;
  items.is_list = close == "]";
  std::vector<std::string> written;
  while (!peek().is(close)) {
    items.push_back(item(written));
    if (peek().is(close) && items.size() == 1 && !items.is_list) {  // an expression in parentheses, not a tuple
      next();
      return items.front();
    }
    if (!accept(",")) break;
  }
  expect(close, opening);
  return tuple(std::move(items), opening.offset, std::move(written));
}

const Value* Parser::variable(std::string_view name) {
  if (const auto found = assigned_.find(name); found != assigned_.end()) return &found->second;
  const auto found = bindings_.find(name);
  if (found == bindings_.end()) return nullptr;
  used_.insert(found->first);
  return &found->second;
}

Value Parser::named(Token name) {
  std::string_view module;
  bool qualified = false;
  while (is_module(name.text) && peek().is(".") && (qualified || !variable(name.text))) {
    module = name.text;
    next();
    name = next();
    qualified = true;
    if (name.kind != TokenKind::name) unexpected(name);
  }
  if (const Value* value = qualified ? nullptr : variable(name.text)) return {value->is, name.offset};
  for (const Constant& constant : constants())
    if (constant.name == name.text) return {constant.value.is, name.offset};
  const Function* function = qualified ? find_member(module, name.text) : find_function(name.text);
  if (function && peek().is("(")) return call_of(*function, name);
  if (const auto of_parts = name.text.size() > 2 ? find_complex_type(name.text) : std::nullopt) return {ComplexType{*of_parts}, name.offset};
  if (const auto dtype = find_dtype(name.text)) return {*dtype, name.offset};
  if (peek().is("[") && (name.text == "s_" || name.text == "index_exp")) return as_index(name);
  if (peek().is("[") && (name.text == "mgrid" || name.text == "ogrid" || name.text == "r_" || name.text == "c_")) return grid(name);
  if (function && peek().is(".") && is_ufunc_method(peek(1).text) && peek(2).is("(")) {
    next();
    const Token method = next();
    const std::vector<Argument> given = arguments();
    return recorded(method.offset, [&] { return call_ufunc_method(*function, method.text, given, method.offset); });
  }
  if (function) throw Fault{name.offset, fmt::format("'{}' is a function; call it: {}(…)", name.text, name.text)};
  if (const std::string_view kind = find_kind(name.text); qualified && !kind.empty()) return {std::string(kind), name.offset};
  unknown(name, qualified);
}

void Parser::unknown(const Token& name, bool qualified) const {
  if (std::string advice = advice_on_name(name.text); !advice.empty()) throw Fault{name.offset, std::move(advice)};
  if (name.text == "complex256" || name.text == "object" || name.text == "longdouble")
    throw Fault{name.offset, fmt::format("'{}' is not an element type here; write one such as int64, float32 or bool", name.text)};
  std::vector<std::string_view> known;
  for (const Bindings* names : {&bindings_, &assigned_})
    for (const auto& [word, value] : *names)
      if (!qualified) known.push_back(word);
  for (const Function& function : functions()) known.push_back(function.name);
  for (const Constant& constant : constants()) known.push_back(constant.name);
  const std::string near = nearest(name.text, known);
  const bool call = peek().is("(");
  throw Fault{name.offset, fmt::format("unknown {} '{}'{}", call ? "function" : "name", name.text,
                                       !near.empty() ? fmt::format(": did you mean {}?", near)
                                       : call        ? "; sinter eval --help lists the functions"
                                                     : fmt::format("; give it a value on the command line: {}=…", name.text))};
}

std::vector<Argument> Parser::arguments(std::vector<Argument> list) {
  const std::size_t begin = begin_;
  const Token opening = next();
  while (!peek().is(")")) {
    Argument argument;
    refuse_unpacking();
    if (peek().kind == TokenKind::name && peek(1).is("=")) {
      argument.keyword = next().text;
      next();
    } else if (!list.empty() && !list.back().keyword.empty()) {
      throw Fault{peek().offset, "a positional argument follows a keyword argument"};
    }
    argument.value = binary();
    list.push_back(std::move(argument));
    if (!accept(",")) break;
  }
  expect(")", opening);
  begin_ = begin;
  return list;
}

Value Parser::call_of(const Function& function, const Token& name, std::vector<Argument> first) {
  const bool method = !first.empty();
  std::vector<Argument> list = arguments(std::move(first));
  if (method && function.name == "compress" && list.size() > 1) {  // the only method whose tensor is the second parameter of the function
    if (list[1].keyword.empty()) std::swap(list[0].value, list[1].value);
    else list[0].keyword = "a";
  }
  return recorded(name.offset, [&] { return call_with_keywords(function, std::move(list), name.offset); }, function.name);
}

Value Parser::converted(const Value& type) {
  if (!type.as<DType>() && !type.as<ComplexType>()) throw Fault{peek().offset, fmt::format("{} cannot be called", kind_name(type))};
  std::vector<Argument> list = arguments();
  list.push_back({"dtype", type});
  return recorded(type.offset, [&] { return call(*find_function("astype"), std::move(list), type.offset); });
}

Value Parser::attribute(const Value& value) {
  next();
  const Token name = next();
  if (name.kind != TokenKind::name) unexpected(name);
  const std::string_view word = name.text;
  if (const auto* limits = value.as<Limits>()) return limit(limits->dtype, name);
  const bool complex = value.is_complex();
  const auto* tensor = complex ? value.as<Tuple>()->front().as<Tensor>() : value.as<Tensor>();
  if (!tensor) throw Fault{name.offset, fmt::format("{} has no attribute '{}'", kind_name(value), word)};
  const Function* function = find_function(word);
  if (function && peek().is("(")) return call_of(*function, name, {{{}, value}});
  for (const auto& [attribute, same] : {std::pair<std::string_view, std::string_view>{"T", "transpose"},
                                        {"mT", "matrix_transpose"},
                                        {"flat", "ravel"},
                                        {"real", "real"},
                                        {"imag", "imag"},
                                        {"shape", "shape"},
                                        {"ndim", "ndim"},
                                        {"size", "size"}})
    if (word == attribute) return recorded(name.offset, [&] { return Value{call(*find_function(same), {{{}, value}}, name.offset).is, name.offset}; });
  const std::int64_t bytes = (complex ? 2 : 1) * static_cast<std::int64_t>(itemsize(tensor->dtype()));
  if (word == "dtype") return complex ? Value{ComplexType{tensor->dtype()}, name.offset} : Value{tensor->dtype(), name.offset};
  if (word == "itemsize") return {bytes, name.offset};
  if (word == "nbytes") return {tensor->size() * bytes, name.offset};
  if (function) throw Fault{name.offset, fmt::format("'{}' is a method; call it: .{}(…)", word, word)};
  if (std::string advice = advice_on_name(word); !advice.empty()) throw Fault{name.offset, std::move(advice)};
  std::vector<std::string_view> known{"T", "mT", "flat", "ndim", "size", "itemsize", "nbytes", "dtype", "shape", "real", "imag"};
  for (const Function& row : functions()) known.push_back(row.name);
  const std::string near = nearest(word, known);
  throw Fault{name.offset, fmt::format("a tensor has no attribute '{}'{}", word, near.empty() ? "" : fmt::format(": did you mean {}?", near))};
}

}  // namespace sinter::tools
