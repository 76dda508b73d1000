#include "parser.hpp"

#include <fmt/format.h>

#include <utility>

#include "format_spec.hpp"
#include "table/printing.hpp"
#include "scalars.hpp"
#include "sinter/creation.hpp"
#include "sinter/print.hpp"
#include "table/complex_numbers.hpp"
#include "text.hpp"

namespace sinter::tools {

std::string Parser::shown(const Value& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  return written(value);
}

std::string Parser::written(const Value& value) {
  if (const auto* text = value.as<std::string>()) return fmt::format("'{}'", *text);
  if (const auto* truth = value.as<bool>()) return *truth ? "True" : "False";
  if (const auto* integer = value.as<std::int64_t>()) return fmt::to_string(*integer);
  if (const auto* large = value.as<std::uint64_t>()) return fmt::to_string(*large);
  if (value.as<double>()) return to_string(full({}, operand(value, "print")));
  if (value.as<None>()) return "None";
  if (const auto* type = value.as<ComplexType>()) return std::string(complex_type_name(type->of_parts));
  if (const auto* dtype = value.as<DType>()) return std::string(name(*dtype));
  if (const auto* tensor = value.as<Tensor>()) return recorded(value.offset, [&] { return to_string(*tensor, printing_); });
  if (value.is_complex())
    return recorded(value.offset, [&] { return complex_text({*(*value.as<Tuple>())[0].as<Tensor>(), *(*value.as<Tuple>())[1].as<Tensor>()}, printing_); });
  if (const auto* dictionary = value.as<Dictionary>()) {
    std::string items;
    for (std::size_t k = 0; k < dictionary->keys.size(); ++k)
      items += fmt::format("{}{}{}", k == 0 ? "" : ", ", written(dictionary->keys[k]), dictionary->is_set ? "" : ": " + written(dictionary->values[k]));
    return dictionary->is_set && items.empty() ? "set()" : fmt::format("{{{}}}", items);
  }
  if (const auto* tuple = value.as<Tuple>()) {
    std::string items;
    for (const Value& item : *tuple) items += fmt::format("{}{}", items.empty() ? "" : ", ", written(item));
    return tuple->is_list ? fmt::format("[{}]", items) : fmt::format("({}{})", items, tuple->size() == 1 ? "," : "");
  }
  return fmt::format("<{}>", kind_name(value));
}

Value Parser::printed(const Token& name) {
  const std::vector<Argument> given = arguments({}).list;
  printed_ = true;
  if (!print_) return {None{}, name.offset};
  std::string line, separator = " ", end = "\n";
  for (const Argument& argument : given) {
    if (argument.keyword == "flush") continue;
    if (argument.keyword.empty()) continue;
    const auto* text = argument.value.as<std::string>();
    if (!text || (argument.keyword != "sep" && argument.keyword != "end"))
      throw Fault{argument.value.offset, "print() takes values, and sep= and end=, which are strings"};
    (argument.keyword == "sep" ? separator : end) = *text;
  }
  bool first = true;
  for (const Argument& argument : given) {
    if (!argument.keyword.empty()) continue;
    line += fmt::format("{}{}", std::exchange(first, false) ? "" : separator, shown(argument.value));
  }
  print_(line + end);
  return {None{}, name.offset};
}

std::string Parser::formatted(const Token& token) {
  const std::string_view text = token.text;
  std::string made;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      made += text[++at];
      continue;
    }
    if (c == '}') throw Fault{token.offset, "a '}' alone in this string; write }} for one"};
    if (c != '{') {
      const std::size_t end = c == '\\' ? std::min(text.find_first_of("{}", at + 1), text.size()) : at + 1;
      made += unescaped(text.substr(at, end - at));
      at = end - 1;
      continue;
    }
    int open = 0;
    std::size_t close = at + 1, colon = 0;
    for (; close < text.size() && (open > 0 || text[close] != '}'); ++close) {
      if (text[close] == '(' || text[close] == '[' || text[close] == '{') ++open;
      if (text[close] == ')' || text[close] == ']' || text[close] == '}') --open;
      if (text[close] == ':' && open == 0 && colon == 0) colon = close;
    }
    if (close == text.size()) throw Fault{token.offset, "a '{' of this string has no end"};
    std::string_view expression = text.substr(at + 1, (colon ? colon : close) - at - 1);
    const bool named = expression.ends_with('=');  // f'{x=}'
    if (named) made += expression;
    if (named) expression.remove_suffix(1);
    std::string format(colon ? text.substr(colon + 1, close - colon - 1) : "");
    for (std::size_t begin; (begin = format.find('{')) != std::string::npos;) {  // f'{x:{width}}'
      const std::size_t end = format.find('}', begin), place = static_cast<std::size_t>(text.data() - text_.data()) + colon + 1 + begin + 1;
      if (end == std::string::npos) throw Fault{token.offset, "a '{' of this string has no end"};
      format = format.substr(0, begin) + shown(inner(text_.substr(place, end - begin - 1), place)) + format.substr(end + 1);
    }
    made += in_format(inner(expression, static_cast<std::size_t>(expression.data() - text_.data())), format, token);
    at = close;
  }
  return made;
}

Value Parser::strings(const Token& first) {
  const auto read = [&](const Token& token) { return token.formatted ? formatted(token) : token.raw ? std::string(token.text) : unescaped(token.text); };
  std::string text = read(first);
  while (peek().kind == TokenKind::string) text += read(Token(next()));
  return {std::move(text), first.offset};
}

std::string Parser::percent(const std::string& text, const Value& values, std::size_t offset) {
  const Token token{.kind = TokenKind::string, .offset = offset};
  return percent_formatted(
      text, values, [&](const Value& value, const std::string& format) { return in_format(value, format, token); },
      [&](const Value& value) { return written(value); }, offset);
}

Value Parser::string_attribute(const std::string& text, const Token& name) {
  if (peek().is("(")) {
    const std::vector<Argument> given = arguments({}).list;
    if (name.text == "format")
      return {brace_formatted(
                  text, given, [&](const Value& value, const std::string& format) { return in_format(value, format, name); }, name.offset),
              name.offset};
    std::vector<Value> values;
    for (const Argument& argument : given) values.push_back(name.text == "join" && !argument.value.as<Tuple>() ? list_of(argument.value) : argument.value);
    if (auto value = string_method(text, name.text, values, name.offset)) return *std::move(value);
  }
  throw Fault{
      name.offset,
      fmt::format("a string has no method '{}' here; there are format, join, split, strip, replace, find, count, upper, lower, startswith and their kind",
                  name.text)};
}

Value Parser::inner(std::string_view expression_text, std::size_t offset) {
  const Depth depth(*this);
  const auto [found, added] = strings_.emplace(offset, tokens_.size());
  if (added)
    for (Token& token : tokenize(expression_text)) {
      token.offset += offset;
      tokens_.push_back(token);
    }
  const std::size_t back = std::exchange(at_, found->second);
  Value value = expressions();
  if (peek().kind != TokenKind::end) unexpected(peek());
  at_ = back;
  return value;
}

std::string Parser::in_format(const Value& given, const std::string& format, const Token& token) {
  if (format.empty()) return shown(given);
  if (given.is_complex() && complex_of(given, "").re.size() == 1) {  // both parts by the format, the second with its sign
    const Complex z = complex_of(given, "");
    const auto number = [&](const Tensor& part) { return numbers_of(reshape(part, Shape{}), token.offset); };
    const bool minus = *scalar_binary("<", number(z.im), {0.0}, token.offset).as<bool>();
    return in_format(number(z.re), format, token) + (minus ? "" : "+") + in_format(number(z.im), format, token) + "j";
  }
  const auto* tensor = given.as<Tensor>();
  const Value value = tensor && tensor->size() == 1 ? recorded(token.offset, [&] { return numbers_of(reshape(*tensor, Shape{}), given.offset); }) : given;
  if (const std::optional<std::string> text = by_format(value, format, [&] { return shown(value); })) return *text;
  throw Fault{token.offset, fmt::format("'{}' is no format of {}", format, kind_name(value))};
}

}  // namespace sinter::tools
