#include "parser.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sinter/shapes.hpp"
#include "table/complex_numbers.hpp"
#include "text.hpp"

namespace sinter::tools {

Parser::Form Parser::form() {
  const std::optional<std::size_t> end = targets_end();
  if (end && peek(*end).is("=")) return Form::assignment;
  if (peek().kind != TokenKind::name) return Form::expression;
  if (is_word("def")) return Form::definition;
  if (is_word("import") || is_word("from")) return Form::import;
  if (peek(1).is(".") && (peek(2).is_word("append") || peek(2).is_word("extend")) && peek(3).is("("))
    if (const Value* value = variable(peek().text); value && value->as<Tuple>() && value->as<Tuple>()->is_list) return Form::appended;
  if (const std::size_t end_of_part = target_end(0); end_of_part > 1 && peek(end_of_part).is(".") &&
                                                     (peek(end_of_part + 1).is_word("append") || peek(end_of_part + 1).is_word("extend")) &&
                                                     peek(end_of_part + 2).is("("))
    return Form::appended;
  if (is_word("del")) return Form::deletion;
  if (find_update(peek(1))) return Form::update;
  if (peek(1).is("[") && find_update(peek(target_end(0)))) return Form::part;
  return changed_in_place() ? Form::changed : Form::expression;
}

std::optional<Value> Parser::statement() {
  written_.clear();
  std::optional<Value> value;
  switch (form()) {
    case Form::definition: define(); break;
    case Form::import: is_word("from") ? import_names() : import_module(); break;
    case Form::part: value = update_part(); break;
    case Form::update: value = update(); break;
    case Form::assignment: value = assignment(); break;
    case Form::appended: value = appended(); break;
    case Form::deletion: deleted(); break;
    case Form::changed: value = changed(); break;
    case Form::expression: value = expressions(); break;
  }
  end_statement();
  return value;
}

Parser::Flow Parser::step(std::optional<Value>& value) {
  if (peek().kind == TokenKind::name) {
    if (is_word("for")) return value.reset(), loop_over();
    if (is_word("while")) return value.reset(), loop_while();
    if (is_word("if")) return value.reset(), choice();
    if (is_word("with")) return value.reset(), with_settings();
    if (is_word("try")) return value.reset(), attempt();
    if (is_word("assert")) {
      asserted();
      value.reset();
      return Flow::next;
    }
    if (is_word("raise")) raised();
    if (is_word("return") && scopes_.size() > 1) {
      const Token word = next();
      returned_ = peek().kind == TokenKind::separator || peek().kind == TokenKind::end ? Value{None{}, word.offset} : expressions();
      end_statement();
      return Flow::returned;
    }
    if (is_word("break") || is_word("continue") || is_word("pass")) {
      const Token word = next();
      end_statement();
      value.reset();
      return word.text == "break" ? Flow::broken : word.text == "continue" ? Flow::continued : Flow::next;
    }
  }
  value = statement();
  return Flow::next;
}

Parser::Block Parser::block(const Token& word) {
  const Token colon = next();
  if (!colon.is(":")) throw Fault{colon.offset, fmt::format("':' is missing here; the statements under '{}' follow it", word.text)};
  Block block;
  block.own_line = peek().kind != TokenKind::separator && peek().kind != TokenKind::end;
  if (!block.own_line) skip_separators();
  const std::string_view outside = indentation(word);
  block.begin = at_;
  block.indentation = indentation(peek());
  if (!block.own_line && (peek().kind == TokenKind::end || block.indentation.size() <= outside.size()))
    throw Fault{word.offset, fmt::format("the lines under '{}' are missing; indent them", word.text)};
  bool returns = false;  // a function's line ends with its return
  for (; peek().kind != TokenKind::end; ++at_) {
    if (block.own_line && peek().kind == TokenKind::separator && (returns || peek().text == "\n")) break;
    returns |= word.text == "def" && is_word("return");
    if (block.own_line || peek().kind == TokenKind::separator || !begins_line(at_)) continue;
    if (indentation(peek()).size() <= outside.size()) break;
    if (indentation(peek()).size() < block.indentation.size())
      throw Fault{peek().offset, fmt::format("this line is not indented as the others under '{}'", word.text)};
  }
  block.end = at_;
  return block;
}

Parser::Flow Parser::run_block(const Block& block) {
  at_ = block.begin;
  for (skip_separators(); at_ < block.end; skip_separators()) {
    if (!block.own_line && begins_line(at_) && indentation(peek()) != block.indentation)
      throw Fault{peek().offset, "this line is indented otherwise than the ones before it"};
    std::optional<Value> value;
    const bool unused = scopes_.size() > 1 && peek().kind != TokenKind::string && !is_word("print") && is_plain_expression();
    if (unused) throw Fault{peek().offset, "this value is not used; a function gives what it returns"};
    if (const Flow flow = step(value); flow != Flow::next) return flow;
  }
  at_ = block.end;
  return Flow::next;
}

bool Parser::is_plain_expression() {
  for (const std::string_view word : {"for", "while", "if", "with", "try", "assert", "raise", "return", "break", "continue", "pass"})
    if (is_word(word)) return false;
  return form() == Form::expression && !(peek().is_word("np") && (peek(2).is_word("seterr") || peek(2).is_word("set_printoptions"))) && !calls_text();
}

bool Parser::calls_text() {
  if (peek().kind != TokenKind::name || !peek(1).is("(")) return false;
  const Value* value = variable(peek().text);
  return value && value->as<Callable>() && !value->as<Callable>()->function;
}

void Parser::skip(const Block& block) {
  at_ = block.begin;
  pass_over(block.end - block.begin);
}

Parser::Flow Parser::loop_over() {
  const Depth depth(*this);
  const Token word = next();
  const Targets names = loop_names(word);
  const Value over = expressions();
  const Block body = block(word);
  const std::size_t end = body.end;
  for (const Value& value : items_of(over)) {
    name_item(names, value);
    const Flow flow = run_block(body);
    if (flow == Flow::broken) return loop_end(word, end, true);
    if (flow == Flow::returned) return flow;
  }
  return loop_end(word, end, false);
}

Parser::Targets Parser::loop_names(const Token& word) {
  const std::optional<std::size_t> end = targets_end();
  if (!end || !peek(*end).is_word("in")) throw Fault{word.offset, "a loop is written for name in range(n): …"};
  Targets names = targets();
  names.equals = next().offset;
  return names;
}

std::vector<Value> Parser::items_of(const Value& over) {
  if (over.is_complex()) return complex_slices(over, over.offset);
  if (const auto* tuple = over.as<Tuple>()) return *tuple;
  if (const auto* dictionary = over.as<Dictionary>()) return dictionary->keys;
  if (const auto* text = over.as<std::string>()) return characters(*text, over.offset);
  const auto* tensor = over.as<Tensor>();
  if (!tensor) throw Fault{over.offset, fmt::format("this goes over a list, range(n) or a tensor's first axis, not {}", kind_name(over))};
  std::vector<Value> items;
  for (const Tensor& slice : recorded(over.offset, [&] { return unstack(*tensor, 0, Location{}); })) items.push_back({slice, over.offset});
  return items;
}

Value Parser::list_of(const Value& over) {
  Tuple list;
  for (Value& item : items_of(over)) list.push_back(std::move(item));
  list.is_list = true;
  return {std::move(list), over.offset};
}

void Parser::name_item(const Targets& names, const Value& value) {
  if (names.several) assign_each(names.list, value, names.equals);
  else assign_target(names.list.front(), value, names.equals);
}

Parser::Flow Parser::loop_while() {
  const Depth depth(*this);
  const Token word = next();
  const std::size_t condition = at_;
  for (;;) {
    at_ = condition;
    const bool holds = truth(expression(), word);
    const Block body = block(word);
    if (!holds) {
      skip(body);
      return loop_end(word, body.end, false);
    }
    const std::size_t end = body.end;
    const Flow flow = run_block(body);
    if (flow == Flow::returned) return flow;
    at_ = end;
    if (flow == Flow::broken) return loop_end(word, end, true);
  }
}

Parser::Flow Parser::loop_end(const Token& word, std::size_t end, bool broken) {
  at_ = end;
  std::size_t ahead = 0;
  while (peek(ahead).kind == TokenKind::separator) ++ahead;
  if (!peek(ahead).is_word("else") || indentation(peek(ahead)) != indentation(word)) return Flow::next;
  at_ += ahead;
  const Block body = block(next());
  if (broken) return skip(body), Flow::next;
  const std::size_t end_of_else = body.end;
  const Flow flow = run_block(body);
  if (flow == Flow::next) at_ = end_of_else;
  return flow;
}

Parser::Flow Parser::choice() {
  const Depth depth(*this);
  std::optional<Block> chosen;
  Token word = next();
  for (;;) {
    if (word.text == "else") {
      const Block body = block(word);
      if (!chosen) chosen = body;
      else skip(body);
      break;
    }
    bool holds = false;
    if (chosen) pass_over(until({}));
    else holds = truth(expression(), word);
    const Block body = block(word);
    if (holds) chosen = body;
    else skip(body);
    at_ = body.end;
    std::size_t ahead = 0;
    while (peek(ahead).kind == TokenKind::separator) ++ahead;
    const Token& other = peek(ahead);
    if (!(other.is_word("elif") || other.is_word("else")) || indentation(other) != indentation(word)) break;
    at_ += ahead;
    word = next();
  }
  const std::size_t end = at_;
  const Flow flow = chosen ? run_block(*chosen) : Flow::next;
  if (flow == Flow::next) at_ = end;
  return flow;
}

Parser::Flow Parser::with_settings() {
  const Token word = next();
  const std::size_t settings = at_;
  if (!(peek(2).is_word("errstate") && peek(3).is("("))) throw Fault{word.offset, "with is known with np.errstate(…) alone"};
  while (!peek().is(":") && peek().kind != TokenKind::separator && peek().kind != TokenKind::end) ++at_;
  if (at_ == settings) unexpected(peek());
  const Block body = block(word);
  const std::size_t end = body.end;
  const Flow flow = run_block(body);
  if (flow == Flow::next) at_ = end;
  return flow;
}

void Parser::raised() {
  const Token word = next(), type = next();
  if (type.kind != TokenKind::name || !peek().is("(")) throw Fault{word.offset, "an error is raised by raise ValueError('…')"};
  std::string message;
  for (const Argument& argument : arguments({}).list) message += (message.empty() ? "" : ", ") + shown(argument.value);
  raised_ = {std::string(type.text), message};
  throw Fault{word.offset, fmt::format("{}: {}", type.text, message)};
}

Parser::Flow Parser::attempt() {
  const Depth depth(*this);
  const Token word = next();
  const Block body = block(word);
  std::size_t end = body.end;
  // What follows at the same indentation.
  const auto another = [&](std::initializer_list<std::string_view> words) {
    at_ = end;
    skip_separators();
    return indentation(peek()) == indentation(word) && std::any_of(words.begin(), words.end(), [&](std::string_view name) { return is_word(name); });
  };
  const std::size_t scopes = scopes_.size();
  std::optional<Raised> fault;
  Flow flow = Flow::next;
  raised_.reset();
  const int attempts = attempts_++;
  try {
    flow = run_block(body);
  } catch (const Fault& error) {
    fault = raised_.value_or(Raised{error.message.find(" by zero;") == std::string::npos ? "" : "ZeroDivisionError", error.message});
  } catch (const Error& error) {
    const std::string_view message = error.what();
    fault = raised_.value_or(Raised{"", std::string(message.substr(0, std::min(message.find('\n'), message.find(" (line "))))});
  }
  attempts_ = attempts;
  scopes_.resize(scopes);
  calls_.resize(scopes);
  bool open = fault.has_value();
  const auto taken = [&](const Block& chosen, bool run) {
    end = chosen.end;
    if (run) flow = run_block(chosen);
    else skip(chosen);
  };
  while (another({"except"})) {
    const Token clause = next();
    const bool here = (peek().is(":") || catches(clause, open ? fault->type : "")) && open;
    if (is_word("as")) {
      next();
      const Token name = next();
      if (here) assign(name, {fault->message, name.offset});
    }
    const Block handler = block(clause);
    if (here) open = false;
    taken(handler, here);
  }
  if (another({"else"})) {
    const Token clause = next();
    taken(block(clause), !fault && flow == Flow::next);
  }
  if (another({"finally"})) {
    const Token clause = next();
    const Flow before = flow;
    taken(block(clause), true);
    if (flow == Flow::next) flow = before;
  }
  if (open) {
    raised_ = fault;
    throw Fault{word.offset, fault->type.empty() ? fault->message : fmt::format("{}: {}", fault->type, fault->message)};
  }
  if (flow == Flow::next) at_ = end;
  return flow;
}

/// Whether a clause's types are the one that was raised; what is found wrong here has no type of Python's, and any of them fits.
bool Parser::catches(const Token& word, std::string_view type) {
  bool fits = false;
  for (; !peek().is(":") && !is_word("as"); next()) {
    if (peek().kind == TokenKind::end || peek().kind == TokenKind::separator) unexpected(word);
    if (peek().kind != TokenKind::name) continue;
    const std::string_view name = peek().text;
    const bool any = name == "Exception" || name == "BaseException",
               never = name == "RuntimeError" || name == "AssertionError" || name == "StopIteration" || name == "NotImplementedError";
    fits |= any || name == type || (type.empty() && !never);
  }
  return fits;
}

void Parser::asserted() {
  const Token word = next();
  const Value condition = expression();
  std::string message = "this does not hold";
  const bool holds = truth(condition, word);
  if (accept(",")) {
    if (holds) pass_over(until({}));
    else message = shown(expression());
  }
  end_statement();
  if (holds) return;
  raised_ = {"AssertionError", message};
  throw Fault{word.offset, fmt::format("assert: {}", message)};
}

void Parser::import_module() {
  const Token statement = next();
  do {
    const Token word = next();
    const bool math = word.is_word("math");
    if (!word.is_word("numpy") && !math) throw Fault{statement.offset, std::string(advice_on_word("import"))};
    if (!math && is_word("as")) {
      next();
      if (!is_word("np")) throw Fault{peek().offset, "numpy goes by the names numpy and np"};
      next();
    }
  } while (accept(","));
}

/// from math import sqrt, pi; from numpy.linalg import norm as length
void Parser::import_names() {
  const Token word = next(), root = next();
  std::string_view module;
  for (; accept("."); next()) module = peek().text;
  if (!(root.is_word("math") || root.is_word("numpy")) || !is_word("import")) throw Fault{word.offset, std::string(advice_on_word("import"))};
  next();
  const bool in_brackets = accept("(");
  do {
    const Token name = next();
    if (name.is("*")) continue;  // they are here by themselves
    if (name.kind != TokenKind::name) unexpected(name);
    Value value{None{}, name.offset};
    const auto constant = std::find_if(constants().begin(), constants().end(), [&](const Constant& row) { return row.name == name.text; });
    if (constant != constants().end()) value = constant->value;
    else if (root.is_word("math")) value = {Callable{.math = name.text}, name.offset};
    else if (const Function* function = find_member(module, name.text)) value = {Callable{0, function}, name.offset};
    else if (const auto dtype = find_dtype(name.text)) value = {*dtype, name.offset};
    else unknown(name, /*variables=*/false);
    Token as = name;
    if (is_word("as")) next(), as = next();
    check_assignable(as);
    assign(as, value);
  } while (accept(",") && !peek().is(")"));
  if (in_brackets && !accept(")")) unexpected(peek());
}

std::string_view Parser::indentation(const Token& token) const {
  const std::size_t line = token.offset == 0 ? std::string_view::npos : text_.rfind('\n', token.offset - 1);
  const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
  const std::string_view before = text_.substr(begin, token.offset - begin);
  return before.substr(0, before.find_first_not_of(" \t"));
}

}  // namespace sinter::tools
