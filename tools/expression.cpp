#include "expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parser.hpp"
#include "sinter/creation.hpp"

namespace sinter::tools {
namespace {

/// Part of the expression on one line, shortened, without the comment that may follow it: what a result is called.
std::string label_of(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string label;
  for (const char c : text.substr(0, text.find('#'))) {
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!space) label += c;
    else if (!label.empty() && label.back() != ' ') label += ' ';
  }
  while (label.ends_with(' ')) label.pop_back();
  if (label.size() <= kMost) return label;
  label.resize(kMost);
  while (!label.empty() && (static_cast<unsigned char>(label.back()) & 0xc0) == 0x80) label.pop_back();  // a character cut in two
  return label + "…";
}

/// A list of what is of one shape; other lists are several results, as tuples are.
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

}  // namespace

Evaluated Parser::run() {
  std::optional<Value> last;
  std::size_t offset = 0;
  for (skip_separators(); peek().kind != TokenKind::end; skip_separators()) {
    offset = peek().offset;
    const Flow flow = step(last);
    if (flow != Flow::next) throw Fault{offset, flow == Flow::returned ? std::string(advice_on_word("return")) : "this stands in a loop: for k in range(n): …"};
  }
  Evaluated evaluated;
  if (!last || last->as<None>()) {
    if (!printed_) throw Fault{offset, tokens_.size() == 1 ? "the expression is empty" : "the last statement gives no result"};
  } else if (const auto* tuple = last->as<Tuple>(); tuple && !is_array(*last)) {
    if (tuple->empty()) throw Fault{last->offset, "the result is an empty tuple"};
    const bool written_here = written_at_ == last->offset && written_.size() == tuple->size();
    for (std::size_t k = 0; k < tuple->size(); ++k) {
      const std::string label = last->is_complex() ? k == 0 ? "real" : "imag" : written_here ? written_[k] : fmt::format("result {}", k + 1);
      const Value& item = (*tuple)[k];
      const Tuple one{item}, &parts = item.is_complex() ? *item.as<Tuple>() : one;  // eig's results
      for (std::size_t part = 0; part < parts.size(); ++part) {
        evaluated.results.push_back(result_of(parts[part]));
        evaluated.labels.push_back(parts.size() == 1 ? label : fmt::format("{} {}", label, part == 0 ? "real" : "imag"));
      }
    }
  } else {
    evaluated.results.push_back(result_of(*last));
    evaluated.labels.push_back("result");
  }
  for (const auto& [name, value] : bindings_)
    if (!used_.contains(name)) evaluated.unused.push_back(name);
  return evaluated;
}

void Parser::end_statement() const {
  if (peek().kind != TokenKind::separator && peek().kind != TokenKind::end) unexpected(peek());
}

void Parser::expect(std::string_view symbol, const Token& opening) {
  if (accept(symbol)) return;
  if (peek().kind == TokenKind::end || peek().kind == TokenKind::separator) throw Fault{opening.offset, fmt::format("'{}' is never closed", opening.text)};
  unexpected(peek());
}

void Parser::unexpected(const Token& token) const {
  if (token.kind == TokenKind::end || token.kind == TokenKind::separator) throw Fault{token.offset, "an operand is missing here"};
  if (token.kind == TokenKind::name)
    if (const std::string_view advice = advice_on_word(token.text); !advice.empty()) throw Fault{token.offset, std::string(advice)};
  if (token.is("=")) throw Fault{token.offset, "only a plain name can be assigned to; a comparison is written =="};
  if (token.is("&&") || token.is("||") || token.is("!"))
    throw Fault{token.offset, fmt::format("'{}' is written '{}' here", token.text, token.is("!") ? "~" : token.text.substr(0, 1))};
  if (find_update(token)) throw Fault{token.offset, fmt::format("'{}' stands after a plain name or a part of it", token.text)};
  throw Fault{token.offset, fmt::format("unexpected {}'{}'", token.kind == TokenKind::string ? "string " : "", token.text)};
}

std::string Parser::shown_at(std::size_t offset, std::string message, std::string_view function) const {
  for (const std::string_view space : {"DType::", "random::", "fft::", " (random)"})  // Python's spelling
    for (std::size_t at = 0; (at = message.find(space, at)) != std::string::npos;) message.erase(at, space.size());
  constexpr std::string_view kNumbers = " are C++ numbers; read one from a tensor with item<T>()";
  if (const std::size_t at = message.find(kNumbers); at != std::string::npos) message.replace(at, kNumbers.size(), " are numbers, not tensors");
  // Of what a function of the table is composed of, the place is no line of the user's.
  if (const std::size_t place = message.rfind("tools/"), from = message.rfind(" at ", place);
      place != std::string::npos && from != std::string::npos && message.find(' ', place) == std::string::npos)
    message.erase(from);
  const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
  if (!function.empty() && end != std::string::npos && (message[end] == ':' || message.compare(end, 2, " (") == 0)) message.replace(0, end, function);
  return point_at(text_, offset, message);
}

Value Parser::expressions() {
  const std::size_t offset = peek().offset;
  std::vector<std::string> written;
  Value first = item(written);
  if (!peek().is(",")) return first;
  Tuple items{std::move(first)};
  while (accept(",")) {
    if (peek().kind == TokenKind::separator || peek().kind == TokenKind::end) break;
    items.push_back(item(written));
  }
  return tuple(std::move(items), offset, std::move(written));
}

Value Parser::item(std::vector<std::string>& written) {
  const std::size_t begin = peek().offset;
  Value value = expression();
  written.push_back(label_of(text_.substr(begin, peek().offset - begin)));
  return value;
}

Value Parser::tuple(Tuple items, std::size_t offset, std::vector<std::string> written) {
  written_at_ = offset;
  written_ = std::move(written);
  return {std::move(items), offset};
}

Value Parser::expression() {
  const std::size_t before = until({"if"});
  if (!peek(before).is_word("if")) return disjunction();
  const Depth depth(*this);
  const std::size_t first = at_;
  pass_over(before);
  const std::size_t condition = at_;
  const Token word = next();
  const bool holds = truth(disjunction(), word);
  if (!is_word("else")) throw Fault{word.offset, "a conditional is written a if condition else b"};
  next();
  if (!holds) return expression();
  const std::size_t other = std::exchange(at_, first);
  Value value = disjunction();
  if (at_ != condition) unexpected(peek());
  at_ = other;
  pass_over(until({}));
  return value;
}

Value Parser::disjunction() {
  Value left = conjunction();
  while (is_word("or")) {
    const Token word = next();
    if (decided(left, word)) pass_over(until({"or", "if", "else"}));
    else left = connected(word, left, conjunction());
  }
  return left;
}

Value Parser::conjunction() {
  Value left = inversion();
  while (is_word("and")) {
    const Token word = next();
    if (decided(left, word)) pass_over(until({"and", "or", "if", "else"}));
    else left = connected(word, left, inversion());
  }
  return left;
}

std::size_t Parser::until(std::initializer_list<std::string_view> words) const {
  int open = 0;
  for (std::size_t k = 0;; ++k) {
    const Token& token = peek(k);
    if (token.kind == TokenKind::end) return k;
    if (open == 0) {
      if (token.kind == TokenKind::separator || token.is(",") || token.is(":") || token.is("=") || token.is_word("for")) return k;
      if (std::any_of(words.begin(), words.end(), [&](std::string_view word) { return token.is_word(word); })) return k;
    }
    open += opens(token);
    if (open < 0) return k;
  }
}

void Parser::pass_over(std::size_t count) {
  for (const std::size_t end = at_ + count; at_ < end; ++at_)
    if (const auto found = bindings_.find(peek().text); peek().kind == TokenKind::name && found != bindings_.end()) used_.insert(found->first);
}

Evaluated evaluate(std::string_view text, const Bindings& bindings, const std::function<void(const std::string&)>& print) {
  try {
    return Parser(text, bindings, print).run();
  } catch (const Fault& fault) {
    throw ValueError(point_at(text, fault.offset, fault.message));
  }
}

}  // namespace sinter::tools
