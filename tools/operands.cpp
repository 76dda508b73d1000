#include "parser.hpp"

#include <algorithm>
#include <utility>

#include "table/complex_numbers.hpp"

namespace sinter::tools {

Value Parser::postfix() {
  Value value = primary();
  while (true) {
    if (peek().is(".")) value = attribute(std::move(value));
    else if (peek().is("[")) value = indexed(value);
    else if (peek().is("(")) value = called(value);
    else return value;
  }
}

Value Parser::primary() {
  const Token token = next();
  switch (token.kind) {
    case TokenKind::integer: return token.above_int64 ? Value{static_cast<std::uint64_t>(token.integer), token.offset} : Value{token.integer, token.offset};
    case TokenKind::floating: return {token.floating, token.offset};
    case TokenKind::imaginary: return complex_value({full({}, 0.0), full({}, token.floating)}, token.offset, true);
    case TokenKind::string: return strings(token);
    case TokenKind::name: return token.text == "lambda" ? nameless(token) : named(token);
    default: break;
  }
  if (token.is("...")) return {Ellipsis{}, token.offset};
  if (token.is("(")) return parenthesized(token);
  if (token.is("[")) return list(token);
  if (token.is("{")) return dictionary(token);
  unexpected(token);
}

Value Parser::parenthesized(const Token& opening) {
  if (accept(")")) return {Tuple{}, opening.offset};
  if (const std::size_t word = comprehension(")")) return comprehended(opening, word, ")");
  std::vector<std::string> written;
  Value first = item(written);
  if (!peek().is(",")) {
    expect(")", opening);
    return first;
  }
  Tuple items{std::move(first)};
  while (accept(",")) {
    if (peek().is(")")) break;
    items.push_back(item(written));
  }
  expect(")", opening);
  return tuple(std::move(items), opening.offset, std::move(written));
}

Value Parser::list(const Token& opening) {
  if (const std::size_t at = comprehension()) return comprehended(opening, at);
  Tuple items;
  std::vector<std::string> written;
  while (!peek().is("]")) {
    items.push_back(item(written));
    if (!accept(",")) break;
  }
  expect("]", opening);
  items.is_list = true;
  return tuple(std::move(items), opening.offset, std::move(written));
}

std::size_t Parser::comprehension(std::string_view close) const {
  int open = 1;
  for (std::size_t k = 0; peek(k).kind != TokenKind::end && open > 0; ++k) {
    if (open == 1 && peek(k).is(",") && close == ")") return 0;
    if (open == 1 && k > 0 && peek(k).kind == TokenKind::name && peek(k).text == "for") return at_ + k;
    open += opens(peek(k));
  }
  return 0;
}

Value Parser::comprehended(const Token& opening, std::size_t word, std::string_view close, bool of_pairs) {
  const Depth depth(*this);
  Comprehension made{.item = std::exchange(at_, word + 1), .word = word, .of_pairs = of_pairs};
  const Bindings before = scopes_.back();
  clause(made);
  for (const std::string& name : made.names) {  // which mean outside what they meant before
    scopes_.back().erase(name);
    if (const auto found = before.find(name); found != before.end()) scopes_.back().emplace(name, found->second);
  }
  at_ = made.item;
  int open = 0;
  while (open > 0 || !(peek().is("]") || peek().is(")") || peek().is("}"))) {
    if (peek().kind == TokenKind::end) break;
    open += opens(next());
  }
  expect(close, opening);
  written_.clear();
  made.items.is_list = true;
  return {std::move(made.items), opening.offset};
}

void Parser::add_names(const std::vector<Target>& targets, std::set<std::string>& names) {
  for (const Target& target : targets)
    if (target.inner.empty()) names.emplace(target.name.text);
    else add_names(target.inner, names);
}

void Parser::clause(Comprehension& made) {
  const Targets names = loop_names(tokens_[at_ - 1]);
  const std::vector<Value> values = items_of(disjunction());
  std::vector<std::size_t> conditions;
  while (is_word("if")) {
    next();
    conditions.push_back(at_);
    pass_over(until({"if"}));
  }
  const std::size_t inner = is_word("for") ? at_ + 1 : 0;  // of a further clause
  if (inner == 0 && !peek().is("]") && !peek().is(")") && !peek().is("}")) unexpected(peek());
  add_names(names.list, made.names);
  for (const Value& value : values) {
    name_item(names, value);
    const bool chosen = std::all_of(conditions.begin(), conditions.end(), [&](std::size_t condition) {
      at_ = condition;
      return truth(disjunction(), tokens_[made.word]);
    });
    if (!chosen) continue;
    at_ = inner != 0 ? inner : made.item;
    if (inner != 0) {
      clause(made);
      continue;
    }
    made.items.push_back(expression());
    if (made.of_pairs) {
      if (!accept(":")) unexpected(peek());
      made.items.push_back(expression());
    }
    if (at_ != made.word) unexpected(peek());
    if (++listed_ > 1000000) throw Fault{tokens_[made.word].offset, "lists made of others hold a million items at most; tensors hold more"};
  }
}

}  // namespace sinter::tools
