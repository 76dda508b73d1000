#include "parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dictionaries.hpp"
#include "scalars.hpp"
#include "sinter/shapes.hpp"
#include "table/ufuncs.hpp"

namespace sinter::tools {

void Parser::define() {
  const Token def = next();
  Definition function;
  function.within = calls_.back();
  function.name = next();
  if (function.name.kind != TokenKind::name) unexpected(function.name);
  check_assignable(function.name);
  const Token opening = peek();
  if (!accept("(")) throw Fault{opening.offset, "a function is defined as def name(parameter, other=value): …"};
  parameters(function);
  expect(")", opening);
  if (peek().is("-") && peek(1).is(">")) next(), next(), pass_over(until({}));  // -> type
  if (!peek().is(":")) throw Fault{peek().offset, "':' is missing here; a function is defined as def name(parameter, other=value): …"};
  function.body = block(def);
  if (peek().kind != TokenKind::end && peek().kind != TokenKind::separator) --at_;  // the line's end, which ends the statement
  functions_.push_back(std::move(function));
  assign(functions_.back().name, {Callable{functions_.size() - 1, nullptr}, functions_.back().name.offset});
}

Parser::Parameter Parser::parameter(const Definition& function, bool keyword_only) {
  const bool rest = accept("*"), named_rest = !rest && accept("**");
  const Token name = next();
  if (name.kind != TokenKind::name) unexpected(name);
  check_assignable(name);
  for (const Parameter& other : function.parameters)
    if (other.name == name.text) throw Fault{name.offset, fmt::format("{}() has two parameters '{}'", function.name.text, name.text)};
  if (!function.nameless && accept(":")) pass_over(until({}));  // a type
  if (rest || named_rest) return {name.text, std::nullopt, named_rest, rest, named_rest};
  if (accept("=")) return {name.text, expression(), keyword_only};
  if (!keyword_only && !function.parameters.empty() && function.parameters.back().otherwise)
    throw Fault{name.offset, fmt::format("'{}' without a value follows a parameter that has one", name.text)};
  return {name.text, std::nullopt, keyword_only};
}

void Parser::parameters(Definition& function) {
  const std::string_view end = function.nameless ? ":" : ")";
  bool keyword_only = false;
  while (!peek().is(end)) {
    if (peek().is("/") && !function.parameters.empty()) next();
    else if (peek().is("*") && peek(1).is(",")) next(), keyword_only = true;
    else function.parameters.push_back(parameter(function, keyword_only)), keyword_only |= function.parameters.back().rest;
    if (!accept(",")) break;
  }
}

Value Parser::nameless(const Token& word) {
  Definition function;
  function.name = word;
  function.nameless = true;
  function.within = calls_.back();
  parameters(function);
  if (!peek().is(":")) unexpected(peek());
  next();
  function.begin = at_;
  int open = 0;
  for (; peek().kind != TokenKind::end && peek().kind != TokenKind::separator; ++at_) {
    if (open == 0 && (peek().is(",") || opens(peek()) < 0)) break;
    open += opens(peek());
  }
  if (at_ == function.begin) unexpected(peek());
  functions_.push_back(std::move(function));
  return {Callable{functions_.size() - 1, nullptr}, word.offset};
}

const Bindings& Parser::around(const Definition& function) const {
  for (std::size_t k = scopes_.size(); function.within != 0 && k-- > 1;)
    if (calls_[k] == function.within) return scopes_[k];
  return function.around;
}

Value Parser::invoke(Definition& function, const std::vector<Argument>& given, const Token& name) {
  constexpr std::size_t kMost = 100;
  if (calls_.size() > kMost) throw Fault{name.offset, fmt::format("{} calls within each other are the most", kMost)};
  const Depth depth(*this);
  Bindings scope = bound(function, given, name);
  for (const auto& [around, value] : around(function)) scope.emplace(around, value);
  const std::size_t back = std::exchange(at_, function.begin), defined = functions_.size();
  std::optional<Value> result;
  try {
    scopes_.push_back(std::move(scope));
    calls_.push_back(++last_call_);
    if (function.nameless) {
      result = expression();
    } else {
      const Block body = function.body;
      const Flow flow = run_block(body);
      if (flow == Flow::broken || flow == Flow::continued) throw Fault{tokens_[body.begin].offset, "break and continue stand in a loop"};
      result = flow == Flow::returned ? *std::exchange(returned_, std::nullopt) : Value{None{}, name.offset};
    }
  } catch (const Fault& fault) {
    throw ValueError(called_here(name, point_at(text_, fault.offset, fault.message)));
  } catch (const Error&) {
    rethrow([&](const char* what) { return called_here(name, what); });
  }
  for (std::size_t k = defined; k < functions_.size(); ++k)  // which may outlive this call
    if (functions_[k].within == calls_.back()) functions_[k].around = scopes_.back();
  scopes_.pop_back();
  calls_.pop_back();
  at_ = back;
  written_.clear();
  result->offset = name.offset;
  return *std::move(result);
}

Value Parser::invoke(const Callable& callable, const std::vector<Argument>& given, std::size_t offset) {
  if (!callable.math.empty()) return scalar_function(callable.math, numbers_given(given, offset), offset);
  if (callable.function) return recorded(offset, [&] { return call_with_keywords(*callable.function, given, offset); }, callable.function->name);
  Token name = functions_[callable.number].name;
  name.offset = offset;
  return invoke(functions_[callable.number], given, name);
}

std::optional<Value> Parser::of_functions(const Token& name, std::vector<Argument>& list) {
  const auto callable = [&](std::size_t k) { return k < list.size() ? list[k].value.as<Callable>() : nullptr; };
  const std::size_t offset = name.offset;
  if (name.text == "vectorize" && callable(0) && list.size() == 1) return list[0].value;
  if (name.text == "fromfunction" && callable(0) && list.size() > 1) {
    std::vector<Argument> places;
    const Value grid = call(*find_function("indices"), {{{}, list[1].value}}, offset);
    for (const Tensor& along : unstack(*grid.as<Tensor>(), 0, Location{}))
      places.push_back({{}, {list.size() > 2 ? along : astype(along, DType::float64), offset}});
    return invoke(*callable(0), places, offset);
  }
  if (name.text == "apply_along_axis" && callable(0) && list.size() == 3 && list[1].value.as<std::int64_t>())
    return along_axis(*callable(0), *list[1].value.as<std::int64_t>(), array_of(list[2].value, name.text), offset);
  if (name.text == "piecewise" && list.size() == 3) {
    const Tuple* values = list[2].value.as<Tuple>();
    if (!values) return std::nullopt;
    Tuple computed;
    for (const Value& value : *values) computed.push_back(value.as<Callable>() ? invoke(*value.as<Callable>(), {list[0]}, value.offset) : value);
    list[2].value.is = std::move(computed);
  }
  return std::nullopt;
}

Value Parser::along_axis(const Callable& callable, std::int64_t axis, const Tensor& x, std::size_t offset) {
  const Tensor last = recorded(offset, [&] { return moveaxis(x, axis, -1); });
  const std::int64_t size = last.shape().back(), count = size == 0 ? 0 : last.size() / size;
  if (count == 0 || count > 4096) throw Fault{offset, fmt::format("apply_along_axis() takes from 1 to 4096 vectors, not {}", count)};
  std::vector<Tensor> results;
  for (const Tensor& vector : unstack(reshape(last, Shape{count, size}), 0, Location{}))
    results.push_back(array_of(invoke(callable, {{{}, {vector, offset}}}, offset), "apply_along_axis"));
  return recorded(offset, [&]() -> Value {
    const Tensor all = stack(results, 0, Location{});
    Shape shape(last.shape().begin(), last.shape().end() - 1);
    shape.insert(shape.end(), results[0].shape().begin(), results[0].shape().end());
    const std::int64_t place = axis < 0 ? axis + x.ndim() : axis;
    std::vector<std::int64_t> from, to;
    for (int k = 0; k < results[0].ndim(); ++k) from.push_back(x.ndim() - 1 + k), to.push_back(place + k);
    return {moveaxis(reshape(all, shape), from, to), offset};
  });
}

Bindings Parser::bound(const Definition& function, const std::vector<Argument>& given, const Token& call) const {
  Bindings scope;
  const auto& parameters = function.parameters;
  const auto fault = [&](std::size_t offset, std::string_view what) {
    std::string takes;
    bool keywords = false;
    for (const Parameter& parameter : parameters) {
      const bool star = parameter.keyword_only && !parameter.named_rest && !std::exchange(keywords, true);
      keywords |= parameter.rest;
      takes += fmt::format("{}{}{}{}", takes.empty() ? "" : ", ",
                           star                   ? "*, "
                           : parameter.rest       ? "*"
                           : parameter.named_rest ? "**"
                                                  : "",
                           parameter.name, parameter.otherwise ? "=…" : "");
    }
    return Fault{offset, fmt::format("{}() {}; it takes {}", call.text, what, takes.empty() ? "nothing" : takes)};
  };
  const auto named = std::find_if(parameters.begin(), parameters.end(), [](const Parameter& parameter) { return parameter.keyword_only || parameter.rest; });
  const auto by_position = static_cast<std::size_t>(named - parameters.begin());
  std::optional<Tuple> rest;
  if (named != parameters.end() && named->rest) rest.emplace();
  std::optional<Dictionary> other_keywords;
  if (!parameters.empty() && parameters.back().named_rest) other_keywords.emplace();
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Argument& argument = given[k];
    std::size_t at = k;
    if (!argument.keyword.empty())
      for (at = 0; at < parameters.size() && (parameters[at].name != argument.keyword || parameters[at].rest || parameters[at].named_rest);) ++at;
    const std::size_t last = argument.keyword.empty() ? by_position : parameters.size();
    if (at >= last && argument.keyword.empty() && rest) {
      rest->push_back(argument.value);
      continue;
    }
    if (at >= last && !argument.keyword.empty() && other_keywords) {
      put(*other_keywords, {std::string(argument.keyword), argument.value.offset}, argument.value);
      continue;
    }
    if (at >= last)
      throw fault(argument.value.offset, argument.keyword.empty() ? "is given too many arguments" : fmt::format("has no parameter '{}'", argument.keyword));
    if (!scope.emplace(parameters[at].name, argument.value).second) throw fault(argument.value.offset, fmt::format("is given '{}' twice", parameters[at].name));
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.rest) scope.insert_or_assign(std::string(parameter.name), Value{*rest, call.offset});
    if (parameter.named_rest) scope.insert_or_assign(std::string(parameter.name), Value{*other_keywords, call.offset});
    if (scope.contains(parameter.name)) continue;
    if (!parameter.otherwise) throw fault(call.offset, fmt::format("needs '{}'", parameter.name));
    scope.emplace(parameter.name, *parameter.otherwise);
  }
  return scope;
}

std::string Parser::called_here(const Token& name, std::string_view what) const {
  constexpr std::string_view kHere = "() is called here";
  std::size_t levels = 0;  // of a function that calls itself a few are enough
  for (std::size_t at = 0; (at = what.find(kHere, at)) != std::string_view::npos; at += kHere.size()) ++levels;
  if (levels >= 4) return std::string(what);
  return fmt::format("{}\n{}", what, point_at(text_, name.offset, fmt::format("{}() is called here", name.text)));
}

void Parser::check_assignable(const Token& name) const {
  if (const std::string_view advice = advice_on_word(name.text); !advice.empty()) throw Fault{name.offset, std::string(advice)};
  for (const Constant& constant : constants())
    if (constant.name == name.text && (constant.value.as<bool>() || name.text == "None"))
      throw Fault{name.offset, fmt::format("'{}' has a meaning of its own and cannot be assigned to", name.text)};
}

}  // namespace sinter::tools
