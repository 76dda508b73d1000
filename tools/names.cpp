#include "parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "scalars.hpp"
#include "sinter/random.hpp"
#include "sinter/whole.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"
#include "table/ufuncs.hpp"
#include "text.hpp"

namespace sinter::tools {
namespace {

bool takes_key(const Function& function) { return function.parameters.find(" key") != std::string_view::npos; }

}  // namespace

Value Parser::named(const Token& token) {
  if (token.text == "math" && peek().is(".") && !variable(token.text)) {
    next();
    return of_math(next());
  }
  if ((token.text == "np" || token.text == "numpy") && peek().is(".") && !variable(token.text)) {
    const auto member = [&] {
      next();
      const Token name = next();
      if (name.kind != TokenKind::name) unexpected(name);
      return name;
    };
    Token name = member(), module;
    while (peek().is(".") && (name.text == "linalg" || name.text == "random" || name.text == "fft" || name.text == "lib" || name.text == "stride_tricks")) {
      module = name;
      name = member();
    }
    if (peek().is("(") && (name.text == "default_rng" || name.text == "RandomState")) return new_generator(name);
    if (peek().is("("))
      if (const Function* function = find_member(module.text, name.text)) return call_of(*function, name, {});
    return meaning(name, /*variables=*/false);
  }
  return meaning(token, /*variables=*/true);
}

Value Parser::of_math(const Token& name) {
  if (!peek().is("(")) {
    if (peek().is(",") || peek().is(")") || peek().is("]")) {
      const auto constant = std::find_if(constants().begin(), constants().end(), [&](const Constant& row) { return row.name == name.text; });
      if (constant == constants().end() && name.text != "tau") return {Callable{.math = name.text}, name.offset};  // handed to another one
    }
    if (name.text == "tau") return {2 * std::numbers::pi, name.offset};
    for (const Constant& constant : constants())
      if (constant.name == name.text && constant.value.as<double>()) return {constant.value.is, name.offset};
    throw Fault{name.offset, fmt::format("math has no number '{}'", name.text)};
  }
  return scalar_function(name.text, numbers_given(arguments({}).list, name.offset), name.offset);
}

std::vector<Value> Parser::numbers_given(const std::vector<Argument>& given, std::size_t offset) {
  std::vector<Value> numbers;
  for (const Argument& argument : given) {
    const Tensor* tensor = argument.value.as<Tensor>();
    numbers.push_back(tensor && tensor->size() == 1 ? recorded(offset, [&] { return numbers_of(reshape(*tensor, Shape{}), offset); }) : argument.value);
  }
  return numbers;
}

Value Parser::drawn(const Callable& callable, const Token& method) {
  const Function* function = find_member("random", method.text);
  if (!function || !peek().is("(") || !takes_key(*function))
    throw Fault{
        method.offset,
        fmt::format("a generator of random numbers has no method '{}'; there are random, normal, uniform, integers, choice, permutation, shuffle and others",
                    method.text)};
  Generator& generator = generators_[callable.number];
  const auto key = static_cast<std::int64_t>(random::Key(generator.seed).fold_in(generator.calls++).bits());
  std::vector<Argument> given = arguments({}).list;
  given.push_back({"key", {key, method.offset}});
  return recorded(method.offset, [&] { return call_with_keywords(*function, given, method.offset); }, function->name);
}

Value Parser::new_generator(const Token& name) {
  const std::vector<Argument> given = arguments({}).list;
  const auto* seed = given.size() == 1 ? given[0].value.as<std::int64_t>() : nullptr;
  if (!seed) throw Fault{name.offset, fmt::format("{}() takes a seed here: no numbers are drawn that another run would not draw", name.text)};
  generators_.push_back({static_cast<std::uint64_t>(*seed), 0});
  return {Callable{generators_.size() - 1, nullptr, true}, name.offset};
}

const Value* Parser::variable(std::string_view name) {
  for (const Bindings* scope : {&scopes_.back(), &scopes_.front()})
    if (const auto found = scope->find(name); found != scope->end()) return &found->second;
  const auto found = bindings_.find(name);
  if (found == bindings_.end()) return nullptr;
  used_.insert(found->first);
  return &found->second;
}

Value Parser::meaning(const Token& token, bool variables) {
  if (variables) {
    if (const Value* value = variable(token.text)) return {value->is, token.offset};
  }
  for (const Constant& constant : constants())
    if (constant.name == token.text) return {constant.value.is, token.offset};
  if (peek().is("("))
    if (const Function* function = find_function(token.text)) return call_of(*function, token, {}, variables);
  if (peek().is("(") && (token.text == "apply_along_axis" || token.text == "fromfunction" || token.text == "vectorize")) {
    std::vector<Argument> given = arguments({}).list;
    if (const auto value = of_functions(token, given)) return *value;
    throw Fault{token.offset, fmt::format("{0}() takes a function first: {0}({1})", token.text,
                                          token.text == "vectorize"      ? "f"
                                          : token.text == "fromfunction" ? "f, shape"
                                                                         : "f, axis, array")};
  }
  if (variables && peek().is("("))
    if (auto value = of_python(token)) return *std::move(value);
  if (peek().is("(") && (token.text == "set_printoptions" || token.text == "seterr")) return settings(token);
  if (variables && peek().is("(") && (token.text == "int" || token.text == "float") && !peek(1).is(")")) return as_python(token);
  if (const auto of_parts = token.text.size() > 2 ? find_complex_type(token.text) : std::nullopt) return {ComplexType{*of_parts}, token.offset};
  if (const auto dtype = find_dtype(token.text)) return {*dtype, token.offset};
  if (peek().is("[") && (token.text == "s_" || token.text == "index_exp")) return as_index(token);
  if (peek().is("[") && (token.text == "mgrid" || token.text == "ogrid" || token.text == "r_" || token.text == "c_")) return grid(token);
  if (const Function* function = find_function(token.text)) {
    if (peek().is(".") && is_ufunc_method(peek(1).text) && peek(2).is("(")) {
      next();
      const Token method = next();
      const Given given = arguments({});
      Value value = recorded(method.offset, [&] { return call_ufunc_method(*function, method.text, given.list, method.offset); });
      if (given.out) assign(*given.out, value);
      return value;
    }
    if (peek().is(",") || peek().is(")") || peek().is("]")) return {Callable{0, function}, token.offset};  // handed to another one
    throw Fault{token.offset, fmt::format("'{}' is a function; call it: {}(…)", token.text, token.text)};
  }
  if (!variables)
    if (const std::string_view kind = find_kind(token.text); !kind.empty()) return {std::string(kind), token.offset};
  if (const std::string_view advice = advice_on_word(token.text); !advice.empty()) throw Fault{token.offset, std::string(advice)};
  unknown(token, variables);
}

std::optional<Value> Parser::of_python(const Token& token) {
  const std::string_view name = token.text;
  if (name == "print") return printed(token);
  if (name == "dict" || name == "set") return made_dictionary(token);
  constexpr std::string_view others[] = {"bin", "bool", "chr", "filter", "hex", "isinstance", "map", "oct", "ord", "repr", "sorted", "str"};
  if (std::find(std::begin(others), std::end(others), name) == std::end(others)) return std::nullopt;
  std::vector<Argument> given = arguments({}).list;
  const auto positional =
      static_cast<std::size_t>(std::count_if(given.begin(), given.end(), [](const Argument& argument) { return argument.keyword.empty(); }));
  const auto needs = [&](std::size_t least, std::size_t most, std::string_view what) {
    if (positional < least || positional > most || (name != "sorted" && positional < given.size()))
      throw Fault{token.offset, fmt::format("{}() takes {}", name, what)};
  };
  const auto whole = [&]() -> std::int64_t {
    needs(1, 1, "an integer");
    if (!is_whole_number(given[0].value)) throw Fault{given[0].value.offset, fmt::format("{}() takes an integer, not {}", name, kind_name(given[0].value))};
    return whole_number(given[0].value);
  };
  if (name == "str" || name == "repr") {
    if (name == "str" && given.empty()) return Value{std::string(), token.offset};
    needs(1, 1, "one value");
    return Value{name == "str" ? shown(given[0].value) : written(given[0].value), token.offset};
  }
  if (name == "bool") {  // of a tensor recorded, as float(x)
    needs(0, 1, "one value");
    if (given.empty()) return Value{false, token.offset};
    if (!given[0].value.as<Tensor>()) return Value{truth(given[0].value, token), token.offset};
    given.push_back({"dtype", {DType::bool_, token.offset}});
    return recorded(token.offset, [&] { return call(*find_function("astype"), std::move(given), token.offset); });
  }
  if (name == "ord") {
    needs(1, 1, "one character");
    const auto* text = given[0].value.as<std::string>();
    if (!text || text->size() != 1) throw Fault{token.offset, "ord() takes one character, of ASCII"};
    return Value{static_cast<std::int64_t>(static_cast<unsigned char>(text->front())), token.offset};
  }
  if (name == "chr") {
    const std::int64_t code = whole();
    if (code < 0 || code > 127) throw Fault{token.offset, "chr() takes codes of ASCII, 0 to 127"};
    return Value{std::string(1, static_cast<char>(code)), token.offset};
  }
  if (name == "hex" || name == "bin" || name == "oct") {
    const std::int64_t number = whole();
    const std::uint64_t size = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    const std::string_view sign = number < 0 ? "-" : "";
    return Value{name == "hex"   ? fmt::format("{}0x{:x}", sign, size)
                 : name == "bin" ? fmt::format("{}0b{:b}", sign, size)
                                 : fmt::format("{}0o{:o}", sign, size),
                 token.offset};
  }
  if (name == "isinstance") throw Fault{token.offset, "types of values are not asked for here; x.dtype is a tensor's"};
  if (name == "map" || name == "filter") {
    needs(2, name == "map" ? 8 : 2, "a function and lists");
    const auto* callable = given[0].value.as<Callable>();
    if (!callable) throw Fault{given[0].value.offset, fmt::format("{}() takes a function first; of types and methods write a list: [int(x) for x in …]", name)};
    std::vector<std::vector<Value>> lists;
    std::size_t count = std::numeric_limits<std::size_t>::max();
    for (std::size_t k = 1; k < given.size(); ++k) {
      lists.push_back(items_of(given[k].value));
      count = std::min(count, lists.back().size());
    }
    Tuple made;
    made.is_list = true;
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<Argument> each;
      for (const auto& list : lists) each.push_back({{}, list[k]});
      Value value = invoke(*callable, each, token.offset);
      if (name == "map") made.push_back(std::move(value));
      else if (truth(value, token)) made.push_back(lists[0][k]);
    }
    return Value{std::move(made), token.offset};
  }
  needs(1, 1, "a list, key= and reverse=");
  return sorted(token, given);
}

Value Parser::sorted(const Token& token, const std::vector<Argument>& given) {
  const std::vector<Value> items = items_of(given[0].value);
  std::vector<Value> keys = items;
  bool reverse = false;
  for (const Argument& argument : given) {
    if (argument.keyword.empty()) continue;
    const auto* callable = argument.value.as<Callable>();
    if (argument.keyword == "reverse") reverse = truth(argument.value, token);
    else if (argument.keyword == "key" && callable)
      for (Value& key : keys) key = invoke(*callable, {{{}, key}}, token.offset);
    else if (!argument.value.as<None>()) throw Fault{argument.value.offset, "sorted() takes a list, key=, which is a function, and reverse="};
  }
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::function<bool(const Value&, const Value&)> before = [&](const Value& a, const Value& b) {
    if (const auto *x = a.as<std::string>(), *y = b.as<std::string>(); x && y) return *x < *y;
    if (const auto *x = a.as<Tuple>(), *y = b.as<Tuple>(); x && y) return std::lexicographical_compare(x->begin(), x->end(), y->begin(), y->end(), before);
    return truth(apply(*find_operator({.kind = TokenKind::symbol, .text = "<"}), token.offset, a, b), token);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return reverse ? before(keys[b], keys[a]) : before(keys[a], keys[b]); });
  Tuple made;
  made.is_list = true;
  for (const std::size_t k : order) made.push_back(items[k]);
  return {std::move(made), token.offset};
}

Value Parser::as_python(const Token& token) {
  const bool whole = token.text == "int";
  std::vector<Argument> list = arguments({}).list;
  if (list.size() == 1 && list[0].keyword.empty()) {
    const Value& value = list[0].value;
    if (value.as<double>() && whole) {
      if (const auto integer = detail::whole(*value.as<double>())) return {*integer, token.offset};
      throw Fault{value.offset, fmt::format("{} does not fit in an integer of 64 bits", *value.as<double>())};
    }
    if (value.as<bool>() && whole) return {std::int64_t{*value.as<bool>()}, token.offset};
    if (value.is_number()) return whole ? Value{value.is, token.offset} : Value{operand(value, token.text).as_double(), token.offset};
    if (const auto* text = value.as<std::string>()) {
      const std::string digits = *string_method(*text, "strip", {}, value.offset)->as<std::string>();
      std::int64_t integer = 0;
      double number = 0;
      const char *begin = digits.data() + (digits.starts_with('+') ? 1 : 0), *end = digits.data() + digits.size();
      const auto read = whole ? std::from_chars(begin, end, integer) : std::from_chars(begin, end, number);
      if (begin == end || read.ec != std::errc() || read.ptr != end)
        throw Fault{value.offset, fmt::format("'{}' is no {}", *text, whole ? "integer" : "number")};
      return whole ? Value{integer, token.offset} : Value{number, token.offset};
    }
  }
  list.push_back({"dtype", {whole ? DType::int64 : DType::float64, token.offset}});
  return recorded(token.offset, [&] { return call(*find_function("astype"), std::move(list), token.offset); });
}

Value Parser::settings(const Token& token) {
  for (const Argument& argument : arguments({}).list) {
    if (token.text == "seterr") continue;
    const auto* number = argument.value.as<std::int64_t>();
    const auto* truth = argument.value.as<bool>();
    if (argument.keyword == "precision" && number) printing_.precision = static_cast<int>(*number);
    else if (argument.keyword == "threshold" && number) printing_.threshold = *number;
    else if (argument.keyword == "edgeitems" && number) printing_.edgeitems = *number;
    else if (argument.keyword == "linewidth" && number) printing_.linewidth = static_cast<int>(*number);
    else if (argument.keyword == "suppress" && truth) printing_.suppress = *truth;
    else throw Fault{argument.value.offset, "set_printoptions() takes precision, threshold, edgeitems, linewidth and suppress by keyword"};
  }
  return {None{}, token.offset};
}

void Parser::unknown(const Token& token, bool variables) const {
  std::vector<std::string_view> known;
  if (variables) {
    for (const auto& [name, value] : bindings_) known.push_back(name);
    for (const Bindings* scope : {&scopes_.back(), &scopes_.front()})
      for (const auto& [name, value] : *scope) known.push_back(name);
  }
  for (const Function& function : functions()) known.push_back(function.name);
  for (const Constant& constant : constants()) known.push_back(constant.name);
  if (token.text == "complex256" || token.text == "object" || token.text == "str" || token.text == "longdouble")
    throw Fault{token.offset, fmt::format("'{}' is not an element type here; known are bool, int32, int64, float32 and float64", token.text)};
  const std::string near = nearest(token.text, known);
  const bool call = peek().is("(");
  throw Fault{token.offset, fmt::format("unknown {} '{}'{}", call ? "function" : "name", token.text,
                                        !near.empty() ? fmt::format(": did you mean {}?", near)
                                        : call        ? "; sinter eval --help lists the functions"
                                                      : fmt::format("; give it a value on the command line: {}=…", token.text))};
}

}  // namespace sinter::tools
