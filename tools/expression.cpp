#include "expression.hpp"

#include <fmt/format.h>

#include "parser.hpp"

namespace sinter::tools {

Evaluated Parser::run() {
  for (const Token& token : tokens_)  // checked first, because a name that only a program can bind would be reported as unknown
    if (std::string advice = advice_on(token); !advice.empty()) throw Fault{token.offset, std::move(advice)};
  std::optional<Value> last;
  std::size_t offset = 0;
  bool assigns = true;
  for (;;) {
    while (peek().kind == TokenKind::separator) ++at_;
    if (peek().kind == TokenKind::end) break;
    if (!assigns) throw Fault{offset, "the value of this statement is lost; give it a name, name = …, or let it be the last statement"};
    offset = peek().offset;
    written_.clear();
    assigns = statement(last.emplace());
  }
  if (!last) throw Fault{0, "the expression is empty"};
  begin_ = 0;
  at_ = tokens_.size() - 1;
  Evaluated evaluated = recorded(0, [&] { return results(*last); });
  for (const Bindings* names : {&bindings_, static_cast<const Bindings*>(&assigned_)})
    for (const auto& [name, value] : *names)
      if (const auto* tensor = value.as<Tensor>()) evaluated.variables.insert_or_assign(name, *tensor);
  for (const auto& [name, value] : bindings_)
    if (!used_.contains(name)) evaluated.unused.push_back(name);
  return evaluated;
}

void Parser::expect(std::string_view symbol, const Token& opening) {
  if (accept(symbol)) return;
  if (at_end()) throw Fault{opening.offset, fmt::format("'{}' is never closed", opening.text)};
  unexpected(peek());
}

void Parser::unexpected(const Token& token) const {
  if (token.kind == TokenKind::end || token.kind == TokenKind::separator) throw Fault{token.offset, "an operand is missing here"};
  throw Fault{token.offset, fmt::format("unexpected {}'{}'", token.kind == TokenKind::string ? "string " : "", token.text)};
}

void Parser::refuse_unpacking() const {
  if (peek().is("*") || peek().is("**")) throw Fault{peek().offset, fmt::format("a list is unpacked by a program; {}", kPrograms)};
}

const char* Parser::part_read() const {
  constexpr std::size_t kMaxTokenLength = 4096;
  static auto& parts = *new std::set<std::string>;
  const std::size_t end = std::max(peek().offset, begin_);
  std::string part;
  for (const char c : text_.substr(begin_, std::min(end - begin_, kMaxTokenLength))) {
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!space) part += c;
    else if (!part.empty() && part.back() != ' ') part += ' ';
  }
  while (part.ends_with(' ')) part.pop_back();
  return parts.insert(std::move(part)).first->c_str();
}

std::string Parser::without_place(std::string message, const std::string& part) {
  if (const std::size_t at = part.empty() ? std::string::npos : message.rfind(" at " + part); at != std::string::npos) message.erase(at, part.size() + 4);
  return message;
}

std::string Parser::shown_at(std::size_t offset, std::string message, std::string_view function) const {
  for (const std::string_view space : {"random::", "fft::", " (random)"})  // converts to Python's spelling
    for (std::size_t at = 0; (at = message.find(space, at)) != std::string::npos;) message.erase(at, space.size());
  const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
  if (!function.empty() && end != std::string::npos && (message[end] == ':' || message.compare(end, 2, " (") == 0)) message.replace(0, end, function);
  return point_at(text_, offset, message);
}

Evaluated evaluate(std::string_view text, const Bindings& bindings) {
  try {
    return Parser(text, bindings).run();
  } catch (const Fault& fault) {
    throw ValueError(point_at(text, fault.offset, fault.message));
  }
}

}  // namespace sinter::tools
