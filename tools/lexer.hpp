// Splits the text of an expression into tokens, as Python does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/fault.hpp"

namespace sinter::tools {

using namespace table;

/// The end of messages about Python keywords that expressions do not support.
inline constexpr std::string_view kPrograms = "this command reads expressions, and python -c 'import sinter as np; …' runs programs";

enum class TokenKind : std::uint8_t { name, integer, floating, imaginary, string, symbol, separator, end };

struct Token {
  TokenKind kind{};
  std::size_t offset = 0;  // bytes from the start of the text
  std::string_view text;   // the source text; for a string, without its quotes
  std::int64_t integer = 0;
  bool above_int64 = false;  // the integer has the bits of a std::uint64_t
  double floating = 0;       // the number; 2 for 2j

  bool is(std::string_view symbol) const { return kind == TokenKind::symbol && text == symbol; }
};

/// Comments and spaces are removed; `;` and newlines outside brackets are separators; the last token is `end`. Throws Fault.
std::vector<Token> tokenize(std::string_view text);

/// Returns the message, the line of `text` that contains `offset`, and a caret under its column.
std::string point_at(std::string_view text, std::size_t offset, std::string_view message);

}  // namespace sinter::tools
