#include "words.hpp"

#include <fmt/format.h>

#include <limits>
#include <numbers>
#include <utility>

#include "sinter/ops.hpp"

namespace sinter::tools {
namespace {

// clang-format off
constexpr Operator kOperators[] = {
    {"==", kComparison, equal},
    {"!=", kComparison, not_equal},
    {"<", kComparison, less},
    {"<=", kComparison, less_equal},
    {">", kComparison, greater},
    {">=", kComparison, greater_equal},
    {"|", kOr, bitwise_or, &Tensor::operator|=, &Part::operator|=},
    {"^", kXor, bitwise_xor, &Tensor::operator^=, &Part::operator^=},
    {"&", kAnd, bitwise_and, &Tensor::operator&=, &Part::operator&=},
    {"<<", kShift, left_shift, &Tensor::operator<<=, &Part::operator<<=},
    {">>", kShift, right_shift, &Tensor::operator>>=, &Part::operator>>=},
    {"+", kSum, add, &Tensor::operator+=, &Part::operator+=},
    {"-", kSum, subtract, &Tensor::operator-=, &Part::operator-=},
    {"*", kProduct, multiply, &Tensor::operator*=, &Part::operator*=},
    {"/", kProduct, divide, &Tensor::operator/=, &Part::operator/=},
    {"%", kProduct, remainder, &Tensor::operator%=, &Part::operator%=},
    {"//", kProduct, floor_divide},
    {"@", kProduct, matmul},
};
// clang-format on

/// Looks up a word in a list with spaces around each word.
bool holds(std::string_view list, std::string_view word) { return list.find(fmt::format(" {} ", word)) != std::string_view::npos; }

}  // namespace

const Operator kPower = {"**", 0, power};

const Operator* find_update(const Token& token) {
  if (token.kind != TokenKind::symbol || token.text.size() < 2 || !token.text.ends_with('=')) return nullptr;
  const std::string_view symbol = token.text.substr(0, token.text.size() - 1);
  if (symbol == kPower.symbol) return &kPower;
  for (const Operator& row : kOperators)
    if (row.strength > kComparison && row.symbol == symbol) return &row;
  return nullptr;
}

const Operator* find_operator(const Token& token) {
  if (token.kind == TokenKind::symbol)
    for (const Operator& row : kOperators)
      if (row.symbol == token.text) return &row;
  return nullptr;
}

const std::vector<Constant>& constants() {
  static const std::vector<Constant> table = {
      {"True", {true}},
      {"False", {false}},
      {"None", {None{}}},
      {"newaxis", {None{}}},
      {"pi", {std::numbers::pi}},
      {"e", {std::numbers::e}},
      {"euler_gamma", {std::numbers::egamma}},
      {"inf", {std::numeric_limits<double>::infinity()}},
      {"nan", {std::numeric_limits<double>::quiet_NaN()}},
  };
  return table;
}

std::string_view find_kind(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"floating", "real floating"}, {"inexact", "real floating"},        {"integer", "integral"},
      {"number", "numeric"},         {"signedinteger", "signed integer"}, {"unsignedinteger", "unsigned integer"}};
  for (const auto& [word, kind] : kinds)
    if (word == name) return kind;
  return {};
}

std::string advice_on(const Token& token) {
  const std::string_view word = token.text;
  if (token.is("&&") || token.is("||") || token.is("!")) return fmt::format("'{}' is written '{}' here", word, token.is("!") ? "~" : word.substr(0, 1));
  if (token.is(":=")) return "a name is assigned to by a statement of its own: name = …";
  if (token.is("{") || token.is("}")) return fmt::format("dictionaries and sets belong to a program; {}", kPrograms);
  if (token.kind != TokenKind::name) return {};
  if (word == "and") return "'and' does not work on arrays; write (a) & (b)";
  if (word == "or") return "'or' does not work on arrays; write (a) | (b)";
  if (word == "not") return "'not' does not work on arrays; write ~(a) or logical_not(a)";
  if (word == "in") return "'in' is written isin(a, b) or any(a == b) here";
  if (word == "if" || word == "else" || word == "elif")
    return fmt::format("where(condition, a, b) chooses element by element; '{}' belongs to a program: {}", word, kPrograms);
  constexpr std::string_view reserved =
      " as assert async await break class continue def del except finally for from global import is lambda nonlocal pass raise return try while with yield ";
  if (!holds(reserved, word)) return {};
  return fmt::format("'{}' belongs to a program; {}", word, kPrograms);
}

std::string advice_on_name(std::string_view name) {
  constexpr std::string_view others =
      " append apply_along_axis binary_repr chr default_rng dict enumerate errstate exec extend filter format fromfunction getattr hasattr input isinstance "
      "item "
      "iter len list map math ndenumerate ndindex open ord print range repr reversed set seterr set_printoptions slice sorted str tolist tuple type vectorize "
      "zip ";
  if (!holds(others, name)) return {};
  return fmt::format("'{}' is Python's and belongs to a program; {}", name, kPrograms);
}

}  // namespace sinter::tools
