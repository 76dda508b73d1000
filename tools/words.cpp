#include "words.hpp"

#include <limits>
#include <numbers>
#include <utility>

#include "sinter/ops.hpp"

namespace sinter::tools {
namespace {

constexpr Operator kOperators[] = {{"==", kComparison, equal}, {"!=", kComparison, not_equal}, {"<", kComparison, less}, {"<=", kComparison, less_equal},
                                   {">", kComparison, greater}, {">=", kComparison, greater_equal},
                                   {"|", kOr, bitwise_or, &Tensor::operator|=, &Part::operator|= },
                                    {"^", kXor, bitwise_xor, &Tensor::operator^=, &Part::operator^= },
                                     {"&", kAnd, bitwise_and, &Tensor::operator&=, &Part::operator&= },
                                      {"<<", kShift, left_shift, &Tensor::operator<<=, &Part::operator<<= },
                                       {">>", kShift, right_shift, &Tensor::operator>>=, &Part::operator>>= },
                                        {"+", kSum, add, &Tensor::operator+=, &Part::operator+= },
                                         {"-", kSum, subtract, &Tensor::operator-=, &Part::operator-= },
                                          {"*", kProduct, multiply, &Tensor::operator*=, &Part::operator*= },
                                           {"/", kProduct, divide, &Tensor::operator/=, &Part::operator/= },
                                            {
                                                "%",
                                                kProduct,
                                                remainder,
                                                &Tensor::operator%=,
                                                &Part::operator%= },
                                                {"//", kProduct, floor_divide},
                                                {"@", kProduct, matmul},
                                           };

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

std::string_view advice_on_word(std::string_view word) {
  if (word == "and") return "'and' does not work on arrays; write (a) & (b)";
  if (word == "or") return "'or' does not work on arrays; write (a) | (b)";
  if (word == "not") return "'not' does not work on arrays; write ~(a) or logical_not(a)";
  if (word == "if" || word == "else" || word == "elif") return "a condition is one truth value; where(condition, a, b) chooses element by element";
  if (word == "for" || word == "while") return "a loop begins a statement: for k in range(n): …";
  if (word == "lambda") return "a nameless function is written lambda x: …";
  if (word == "def") return "a function is defined at the start of a statement: def f(x): return …";
  if (word == "return") return "return belongs into a function: def f(x): return …";
  if (word == "import" || word == "from") return "nothing can be imported but numpy and math, whose functions are here by themselves";
  if (word == "in" || word == "is" || word == "pass" || word == "break" || word == "continue" || word == "assert" || word == "raise" || word == "with" ||
      word == "try" || word == "except" || word == "del")
    return "this word has a meaning of its own";
  if (word == "global" || word == "nonlocal" || word == "class" || word == "yield")
    return "only expressions, assignments, functions, loops and conditions are understood here";
  return {};
}

}  // namespace sinter::tools
