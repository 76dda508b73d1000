#include "parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "scalars.hpp"
#include "sinter/whole.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"
#include "table/ufuncs.hpp"

namespace sinter::tools {

namespace {

bool is_decomposition(std::string_view name) {
  constexpr std::string_view names[] = {"cholesky",         "eig", "eigh",    "eigvals",   "eigvalsh",   "inv", "lstsq", "matrix_power", "pinv", "solve",
                                        "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}
/// Of a matrix that a decomposition refuses it is known when that is computed, and except waits for it.
bool compute(const Value& value) {
  if (const auto* items = value.as<Tuple>()) return std::all_of(items->begin(), items->end(), compute);
  if (const auto* tensor = value.as<Tensor>()) all(*tensor == 0).item<bool>(Location{});
  return true;
}

}  // namespace

Parser::Given Parser::arguments(std::vector<Argument> list) {
  const Token opening = next();
  std::optional<Token> out;
  while (!peek().is(")")) {
    Argument argument;
    if (peek().kind == TokenKind::name && peek(1).is("=")) {
      argument.keyword = next().text;
      next();
    } else if (!list.empty() && !list.back().keyword.empty() && !peek().is("**")) {
      throw Fault{peek().offset, "a positional argument follows a keyword argument"};
    }
    if (argument.keyword.empty() && peek().is("*")) {  // f(*list)
      next();
      for (const Value& item : items_of(expression())) list.push_back({{}, item});
      if (!accept(",")) break;
      continue;
    }
    if (argument.keyword.empty() && accept("**")) {  // f(**names)
      const Value given = expression();
      const auto* names = given.as<Dictionary>();
      if (!names || names->is_set) throw Fault{given.offset, fmt::format("** hands on a dictionary of keywords, not {}", kind_name(given))};
      for (std::size_t k = 0; k < names->keys.size(); ++k) {
        const auto* keyword = names->keys[k].as<std::string>();
        if (!keyword) throw Fault{given.offset, "keywords are strings"};
        list.push_back({keywords_.emplace_back(*keyword), names->values[k]});
      }
      if (!accept(",")) break;
      continue;
    }
    if (list.empty() && argument.keyword.empty())
      if (const std::size_t at = comprehension(")")) {  // sum(x for x in …)
        list.push_back({{}, comprehended(opening, at, ")")});
        return {std::move(list), out};
      }
    if (argument.keyword == "out" && peek().kind == TokenKind::name && (peek(1).is(",") || peek(1).is(")")) && variable(peek().text)) out = peek();
    argument.value = expression();
    list.push_back(std::move(argument));
    if (!accept(",")) break;
  }
  expect(")", opening);
  return {std::move(list), out};
}

Value Parser::call_of(const Function& function, const Token& name, std::vector<Argument> first, bool bare) {
  const bool method = !first.empty();
  auto [list, out] = arguments(std::move(first));
  if (const auto value = of_functions(name, list)) return *value;
  if (bare)
    if (const auto value = of_numbers(function, list, name.offset)) return *value;
  if (method && function.name == "compress" && list.size() > 1) {  // the one method whose tensor comes second in the function
    if (list[1].keyword.empty()) std::swap(list[0].value, list[1].value);
    else list[0].keyword = "a";
  }
  Value value = recorded(name.offset, [&, list = std::move(list)] { return call_with_keywords(function, list, name.offset); }, function.name);
  if (out) assign(*out, value);
  if (attempts_ > 0 && is_decomposition(function.name)) recorded(name.offset, [&] { return compute(value); });
  return value;
}

std::optional<Value> Parser::of_numbers(const Function& function, const std::vector<Argument>& list, std::size_t offset) {
  const std::string_view name = function.name;
  for (const Argument& argument : list)
    if (!argument.keyword.empty()) return std::nullopt;
  if (name == "sum" && list.size() == 1) {
    const Tuple* items = list[0].value.as<Tuple>();
    if (items && items->empty()) return Value{std::int64_t{0}, offset};
    if (!items || !items->is_list || !items->front().as<Tensor>() || items->front().as<Tensor>()->ndim() == 0) return std::nullopt;
    const auto plus = [&](const Value& a, const Value& b) { return apply(*find_operator({.kind = TokenKind::symbol, .text = "+"}), offset, a, b); };
    Value total = is_bool(items->front().as<Tensor>()->dtype()) ? plus({std::int64_t{0}, offset}, items->front()) : items->front();  // truths are counted
    for (std::size_t k = 1; k < items->size(); ++k) total = plus(total, (*items)[k]);
    return total;
  }
  const auto scalar = [](const Argument& argument) {
    return argument.value.is_number() || (argument.value.as<Tensor>() && argument.value.as<Tensor>()->ndim() == 0);
  };
  if ((name == "max" || name == "min") && list.size() > 1 && std::all_of(list.begin(), list.end(), scalar) &&
      std::any_of(list.begin(), list.end(), [](const Argument& argument) { return argument.value.as<Tensor>(); })) {
    Value best = list[0].value;
    for (std::size_t k = 1; k < list.size(); ++k) best = call(*find_function(name == "max" ? "maximum" : "minimum"), {{{}, best}, {{}, list[k].value}}, offset);
    return best;
  }
  for (const Argument& argument : list)
    if (!argument.value.is_number()) return std::nullopt;
  if (name == "abs" && list.size() == 1)
    return *scalar_binary("<", list[0].value, {std::int64_t{0}}, offset).as<bool>() ? scalar_unary("-", list[0].value, offset)
                                                                                    : scalar_unary("+", list[0].value, offset);
  if (name == "round" && !list.empty() && list[0].value.as<double>()) {
    const double x = *list[0].value.as<double>();
    const std::int64_t digits = list.size() > 1 ? whole_number(list[1].value) : 0;
    if (!std::isfinite(x) || digits < 0 || digits > 300) return std::nullopt;
    const double rounded = std::strtod(fmt::format("{:.{}f}", x, digits).c_str(), nullptr);
    if (list.size() > 1) return Value{rounded, offset};
    const auto integer = detail::whole(rounded);
    return integer ? std::optional<Value>({*integer, offset}) : std::nullopt;
  }
  if ((name != "max" && name != "min") || list.size() < 2) return std::nullopt;
  Value best = list[0].value;
  for (const Argument& argument : list)
    if (*scalar_binary(name == "max" ? ">" : "<", argument.value, best, offset).as<bool>()) best = argument.value;
  return Value{best.is, offset};
}

/// complex(1, 2), np.complex64(x); of one number one of Python's.
Value Parser::made_complex(DType of_parts, std::size_t offset) {
  const std::vector<Argument> given = arguments({}).list;
  if (given.empty() || given.size() > 2 || std::any_of(given.begin(), given.end(), [](const Argument& argument) { return !argument.keyword.empty(); }))
    throw Fault{offset, "complex() takes a real part and an imaginary part"};
  return recorded(offset, [&] {
    const auto numbers = [&](const Argument& argument) {
      return argument.value.is_number() ? full({}, operand(argument.value, "complex"), of_parts) : astype(array_of(argument.value, "complex"), of_parts);
    };
    const bool weak = std::all_of(given.begin(), given.end(), [](const Argument& argument) { return argument.value.is_number(); });
    if (given.size() == 2) return complex_value({numbers(given[0]), numbers(given[1])}, offset, weak);
    const Complex z = complex_of(given[0].value.is_number() ? Value{numbers(given[0]), offset} : given[0].value, "complex");
    return complex_value({astype(z.re, of_parts), astype(z.im, of_parts)}, offset, weak);
  });
}

Value Parser::called(const Value& value) {
  if (const auto* callable = value.as<Callable>()) return invoke(*callable, arguments({}).list, value.offset);
  if (const auto* type = value.as<ComplexType>()) return made_complex(type->of_parts, value.offset);
  const auto* dtype = value.as<DType>();
  if (!dtype) throw Fault{peek().offset, fmt::format("{} cannot be called", kind_name(value))};
  std::vector<Argument> list = arguments({}).list;
  list.push_back({"dtype", {*dtype, value.offset}});
  return recorded(value.offset, [&] { return call(*find_function("astype"), std::move(list), value.offset); });
}

}  // namespace sinter::tools
