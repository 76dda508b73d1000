// What the symbols and words of an expression mean: operators, constants, and words of Python that are not in this language.
#pragma once
#include <string_view>
#include <vector>

#include "lexer.hpp"
#include "table/value.hpp"

namespace sinter::tools {

using namespace table;

/// Binding strength of the binary operators, Python's order. Unary + - ~ bind tighter than all of these, ** tighter still.
enum Strength : int { kLoosest = 1, kComparison = 1, kOr, kXor, kAnd, kShift, kSum, kProduct };

struct Operator {
  std::string_view symbol;
  int strength;
  Tensor (*record)(const Arg&, const Arg&);
  Tensor& (Tensor::*update)(const Arg&)& = nullptr;    // x += y; null: as x = x + y
  void (Part::*update_part)(const Arg&) && = nullptr;  // x[0] += y
};
extern const Operator kPower;

/// The binary operator of a token; null for another one. ** is kPower.
const Operator* find_operator(const Token& token);
/// The operator of `x += y` and its kind; null for another token.
const Operator* find_update(const Token& token);

struct Constant {
  std::string_view name;
  Value value;
};
const std::vector<Constant>& constants();

/// np.floating, np.integer, ...: the kind of types as isdtype() calls it; empty for another word.
std::string_view find_kind(std::string_view name);

/// What to write instead of a word of Python that is not in this language; empty for other words.
std::string_view advice_on_word(std::string_view word);

}  // namespace sinter::tools
