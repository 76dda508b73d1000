// The table of symbols and words in expressions: operators, constants, and Python keywords that only programs can use.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lexer.hpp"
#include "table/value.hpp"

namespace sinter::tools {

using namespace table;

/// Precedence of the binary operators, as in Python. Unary + - ~ bind tighter than all of these, and ** binds tighter still.
enum Strength : int { kLoosest = 1, kComparison = 1, kOr, kXor, kAnd, kShift, kSum, kProduct };

struct Operator {
  std::string_view symbol;
  int strength;
  Tensor (*record)(const Arg&, const Arg&);
  Tensor& (Tensor::*update)(const Arg&)& = nullptr;    // for x += y; null: computed as x = x + y
  void (Part::*update_part)(const Arg&) && = nullptr;  // x[0] += y
};
extern const Operator kPower;

/// Returns the binary operator of a token, or null. The operator ** is kPower instead.
const Operator* find_operator(const Token& token);
/// Returns the operator of `x += y` and its kind, or null.
const Operator* find_update(const Token& token);

struct Constant {
  std::string_view name;
  Value value;
};
const std::vector<Constant>& constants();

/// Returns the kind of types np.floating, np.integer, ... in the spelling of isdtype(); empty for another word.
std::string_view find_kind(std::string_view name);

/// Returns the message about a word or symbol that expressions do not have, or an empty text.
std::string advice_on(const Token& token);
/// Returns the message about a function of Python itself, such as range or print, or an empty text.
std::string advice_on_name(std::string_view name);

}  // namespace sinter::tools
