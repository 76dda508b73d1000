// The table of an expression's symbols and words: operators, constants, and words of Python that belong to programs.
#pragma once
#include <string>
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

/// Returns the message about a word or a symbol that expressions do not have; empty for others.
std::string advice_on(const Token& token);
/// Returns the message about a function of Python's own, as range and print; empty for other names.
std::string advice_on_name(std::string_view name);

}  // namespace sinter::tools
