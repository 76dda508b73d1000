#include "lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace sinter::tools {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

// Longer symbols are first, so that the first match is the right one.
constexpr std::array<std::string_view, 48> kSymbols = {
    "...", "**=", "//=", "<<=", ">>=", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=", "&&", "||",
    ":=",  "+",   "-",   "*",   "/",   "%",  "@",  "&",  "|",  "^",  "~",  "<",  ">",  "=",  "(",  ")",  "[",  "]",  "{",  "}",  ",",  ".",  ":",  "!"};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    tokens_.push_back({.kind = TokenKind::end, .offset = text_.size()});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void step() {
    const char c = peek();
    if (c == '\n' || c == ';') {
      if (c == ';' || brackets_ == 0) push(TokenKind::separator, 1);
      else ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\n' ? 2 : 3;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (is_name_start(c)) {
      std::size_t length = 1;
      while (is_name(peek(length))) ++length;
      if (peek(length) == '\'' || peek(length) == '"')
        throw Fault{at_, fmt::format("a string with '{}' before it belongs to a program; {}", text_.substr(at_, length), kPrograms)};
      push(TokenKind::name, length);
    } else if (c == '\'' || c == '"') {
      string();
    } else {
      symbol();
    }
  }

  void push(TokenKind kind, std::size_t length) {
    tokens_.push_back({.kind = kind, .offset = at_, .text = text_.substr(at_, length)});
    at_ += length;
  }

  void symbol() {
    for (const std::string_view symbol : kSymbols) {
      if (!text_.substr(at_).starts_with(symbol)) continue;
      if (symbol == "(" || symbol == "[" || symbol == "{") ++brackets_;
      if ((symbol == ")" || symbol == "]" || symbol == "}") && brackets_ > 0) --brackets_;
      return push(TokenKind::symbol, symbol.size());
    }
    std::size_t length = 1;  // a whole UTF-8 character
    while ((static_cast<unsigned char>(peek(length)) & 0xC0) == 0x80) ++length;
    const auto c = static_cast<unsigned char>(peek());
    if (c < 0x20 || c == 0x7f || (c >= 0x80 && length == 1)) throw Fault{at_, fmt::format("unexpected byte 0x{:02x}; an expression is text", c)};
    throw Fault{at_, fmt::format("unexpected character '{}'", text_.substr(at_, length))};
  }

  void string() {
    std::size_t close = at_ + 1;
    while (close < text_.size() && text_[close] != peek() && text_[close] != '\n') ++close;
    if (close >= text_.size() || text_[close] == '\n') throw Fault{at_, "this string has no end"};
    tokens_.push_back({.kind = TokenKind::string, .offset = at_, .text = text_.substr(at_ + 1, close - at_ - 1)});
    at_ = close + 1;
  }

  void number() {
    std::size_t length = 0;
    std::string digits;  // the digits without underscores
    const auto take = [&] { digits += peek(length++); };
    const auto take_digits = [&] {
      while (is_digit(peek(length)) || (peek(length) == '_' && is_digit(peek(length + 1))))
        if (peek(length) == '_') ++length;
        else take();
    };
    Token token{.kind = TokenKind::integer, .offset = at_};
    int base = 10;
    const char prefix = static_cast<char>(peek(1) | 0x20);
    if (peek() == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
      base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2;
      length = 2;
      while (is_name(peek(length)))
        if (peek(length) == '_') ++length;
        else take();
    } else {
      take_digits();
      if (peek(length) == '.') {
        token.kind = TokenKind::floating;
        take();
        take_digits();
      }
      const std::size_t sign = peek(length + 1) == '+' || peek(length + 1) == '-' ? 1 : 0;
      if ((peek(length) | 0x20) == 'e' && is_digit(peek(length + 1 + sign))) {
        token.kind = TokenKind::floating;
        for (std::size_t i = 0; i <= sign; ++i) take();
        take_digits();
      }
    }
    token.text = text_.substr(at_, length);
    if (token.kind == TokenKind::floating) {
      token.floating = std::strtod(digits.c_str(), nullptr);
    } else {
      std::uint64_t bits = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, base);
      token.integer = static_cast<std::int64_t>(bits);
      token.above_int64 = token.integer < 0;
      if (error == std::errc::result_out_of_range)
        throw Fault{at_, fmt::format("{} does not fit in 64 bits; write it with a decimal point for a float", token.text)};
      if (error != std::errc() || end != digits.data() + digits.size()) throw Fault{at_, fmt::format("'{}' is not a number", token.text)};
    }
    if ((peek(length) | 0x20) == 'j' && !is_name(peek(length + 1)) && base == 10) {
      if (token.kind == TokenKind::integer) token.floating = std::strtod(digits.c_str(), nullptr);
      token.kind = TokenKind::imaginary;
      token.text = text_.substr(at_, ++length);
    }
    if (is_name_start(peek(length)))
      throw Fault{at_ + length, fmt::format("a name follows the number {} without an operator; a product is written {}*…", token.text, token.text)};
    tokens_.push_back(token);
    at_ += length;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int brackets_ = 0;
  std::vector<Token> tokens_;
};

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

std::string point_at(std::string_view text, std::size_t offset, std::string_view message) {
  constexpr std::size_t kBefore = 60, kWidth = 100;
  offset = std::min(offset, text.size());
  const std::size_t newline_before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t line_start = newline_before == std::string_view::npos ? 0 : newline_before + 1;
  const std::size_t line_end = std::min(text.find('\n', line_start), text.size());
  std::string_view line = text.substr(line_start, line_end - line_start);
  std::size_t column = offset - line_start;

  std::string before, after;
  if (column > kBefore) {  // shortens a long line to the surroundings of the place
    std::size_t cut = column - kBefore;
    while (cut < column && continues_character(line[cut])) ++cut;
    line.remove_prefix(cut);
    column -= cut;
    before = "...";
  }
  if (line.size() > kWidth) {
    std::size_t keep = kWidth;
    while (keep > column && continues_character(line[keep])) --keep;
    line = line.substr(0, keep);
    after = "...";
  }
  std::string shown = before + std::string(line) + after;
  std::replace_if(shown.begin(), shown.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, ' ');
  std::size_t indent = before.size();
  for (const char c : line.substr(0, std::min(column, line.size()))) indent += !continues_character(c);

  const auto lines_before = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(line_start), '\n');
  const bool one_line = text.substr(0, text.find_last_not_of(" \t\r\n") + 1).find('\n') == std::string_view::npos;
  const std::string place = one_line ? "" : fmt::format(" (line {})", lines_before + 1);
  return fmt::format("{}{}\n  {}\n  {:>{}}", message, place, shown, "^", indent + 1);
}

}  // namespace sinter::tools
