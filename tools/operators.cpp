#include "parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dictionaries.hpp"
#include "scalars.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"

namespace sinter::tools {
namespace {

/// x.shape == (3, 4): tuples of numbers.
bool equal_tuples(const Tuple& a, const Tuple& b) {
  const auto same = [](const Value& x, const Value& y) {
    if (x.as<Tuple>() && y.as<Tuple>()) return equal_tuples(*x.as<Tuple>(), *y.as<Tuple>());
    for (const Value* value : {&x, &y})
      if (!value->is_number()) throw Fault{value->offset, fmt::format("tuples with {} are not compared; array_equal() compares tensors", kind_name(*value))};
    return *scalar_binary("==", x, y, x.offset).as<bool>();
  };
  return a.is_list == b.is_list && a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
}

/// Python's + and * of tuples and lists: x.shape + (1,), (2,) * 3.
Tuple joined(std::string_view symbol, const Value& left, const Value& right, std::size_t offset) {
  const Tuple *a = left.as<Tuple>(), *b = right.as<Tuple>();
  if (symbol == "+" && a && b && a->is_list == b->is_list) {
    Tuple both = *a;
    both.insert(both.end(), b->begin(), b->end());
    return both;
  }
  const auto* count = (a ? right : left).as<std::int64_t>();
  if (symbol == "*" && (a || b) && count) {
    constexpr std::size_t kMost = 1 << 20;
    const Tuple& items = a ? *a : *b;
    if (items.empty() || *count <= 0) {
      Tuple none;
      none.is_list = items.is_list;
      return none;
    }
    if (static_cast<std::uint64_t>(*count) > kMost / items.size()) throw Fault{offset, "the repeated list is too long; repeat() and tile() work on tensors"};
    Tuple many;
    many.is_list = items.is_list;
    for (std::int64_t k = 0; k < *count; ++k) many.insert(many.end(), items.begin(), items.end());
    return many;
  }
  const Value& other = a || !b ? left : right;
  throw Fault{offset, fmt::format("{} takes tensors and numbers, not {}; array(…) makes a tensor", symbol, kind_name(other))};
}

}  // namespace

Value Parser::inversion() {
  if (!is_word("not")) return binary(kLoosest);
  const Depth depth(*this);
  const Token word = next();
  const Value x = inversion();
  if (const Tensor* tensor = x.as<Tensor>(); tensor && tensor->size() == 1) return {logical_not(*tensor), word.offset};
  return {!truth(x, word), word.offset};
}

bool Parser::truth(const Value& value, const Token& word) {
  if (value.is_number()) return operand(value, word.text).as_double() != 0;
  if (value.as<None>()) return false;
  if (const auto* text = value.as<std::string>()) return !text->empty();
  if (const auto* dictionary = value.as<Dictionary>()) return !dictionary->keys.empty();
  if (value.is_complex()) {
    const Complex z = complex_of(value, word.text);
    return truth({logical_or(z.re != 0, z.im != 0), value.offset}, word);
  }
  if (const auto* tuple = value.as<Tuple>()) return !tuple->empty();
  const auto* tensor = value.as<Tensor>();
  if (!tensor) throw Fault{word.offset, fmt::format("'{}' asks whether {} is true", word.text, kind_name(value))};
  if (tensor->size() != 1) throw Fault{word.offset, std::string(advice_on_word(word.text))};
  return recorded(word.offset, [&] { return astype(*tensor, DType::bool_).item<bool>(Location{}); });
}

Value Parser::connected(const Token& word, const Value& left, const Value& right) {
  const bool both = word.text == "and";
  const auto condition = [](const Value& value) {
    return value.as<bool>() || (value.as<Tensor>() && value.as<Tensor>()->size() == 1 && is_bool(value.as<Tensor>()->dtype()));
  };
  if ((left.as<Tensor>() || right.as<Tensor>()) && condition(left) && condition(right)) {
    const Arg a = operand(left, word.text), b = operand(right, word.text);
    return {both ? logical_and(a, b) : logical_or(a, b), word.offset};
  }
  if (right.as<Tensor>() && right.as<Tensor>()->size() != 1) truth(right, word);  // which refuses it
  return truth(left, word) == both ? right : left;
}

Value Parser::binary(int loosest) {
  Value left = unary();
  while (loosest <= kComparison && (is_word("in") || is_word("is") || (is_word("not") && peek(1).is_word("in")))) left = membership(left);
  while (const Operator* row = find_operator(peek())) {
    if (row->strength < loosest) break;
    const Token symbol = next();
    const Value right = binary(row->strength + 1);
    left = apply(*row, symbol.offset, left, right);
    if (row->strength == kComparison) return chained(std::move(left), right);
  }
  return left;
}

Value Parser::membership(const Value& left) {
  const Token word = next();
  bool negated = word.text == "not";
  if (negated) next();
  if (word.text == "is") {
    if (is_word("not")) next(), negated = true;
    const Value right = binary(kComparison + 1);
    const bool both = left.as<None>() && right.as<None>(), truths = left.as<bool>() && right.as<bool>() && *left.as<bool>() == *right.as<bool>();
    const bool types = left.as<DType>() && right.as<DType>() && *left.as<DType>() == *right.as<DType>();
    if (!right.as<None>() && !right.as<bool>() && !right.as<DType>())
      throw Fault{word.offset, "'is' asks for None, True, False or a dtype; values are compared by =="};
    return {(both || truths || types) != negated, word.offset};
  }
  const Value right = binary(kComparison + 1);
  if (const auto* tensor = right.as<Tensor>()) {
    const Arg x = operand(left, "in");
    const Tensor found = recorded(word.offset, [&] { return any(equal(*tensor, x)); });
    return {negated ? logical_not(found) : found, word.offset};
  }
  if (const auto* dictionary = right.as<Dictionary>()) return {(place_of(*dictionary, key_of(left)) < dictionary->keys.size()) != negated, word.offset};
  if (const auto *text = right.as<std::string>(), *part = left.as<std::string>(); text && part)
    return {(text->find(*part) != std::string::npos) != negated, word.offset};
  const auto* list = right.as<Tuple>();
  if (!list || right.is_complex()) throw Fault{word.offset, fmt::format("'in' looks into a list or a tensor, not into {}", kind_name(right))};
  const auto same = [&](const Value& item) {
    if (left.as<std::string>() || item.as<std::string>())
      return left.as<std::string>() && item.as<std::string>() && *left.as<std::string>() == *item.as<std::string>();
    if (left.as<Tuple>() || item.as<Tuple>())
      return left.as<Tuple>() && item.as<Tuple>() && truth(apply(*find_operator({.kind = TokenKind::symbol, .text = "=="}), word.offset, left, item), word);
    if (left.as<DType>() || item.as<DType>()) return left.as<DType>() && item.as<DType>() && *left.as<DType>() == *item.as<DType>();
    if (left.as<None>() || item.as<None>()) return left.as<None>() && item.as<None>();
    return truth(apply(*find_operator({.kind = TokenKind::symbol, .text = "=="}), word.offset, left, item), word);
  };
  return {std::any_of(list->begin(), list->end(), same) != negated, word.offset};
}

Value Parser::chained(Value left, Value middle) {
  for (const Operator* row = find_operator(peek()); row && row->strength == kComparison; row = find_operator(peek())) {
    const Token symbol = next();
    for (const Value* side : {&left, &middle})
      if (side->as<Tensor>() && side->as<Tensor>()->size() != 1) throw Fault{symbol.offset, "comparisons of arrays cannot be chained; write (a < b) & (b < c)"};
    const Value right = binary(kComparison + 1);
    Token word = symbol;
    word.text = "and";
    left = connected(word, left, apply(*row, symbol.offset, middle, right));
    middle = right;
  }
  return left;
}

Value Parser::apply(const Operator& row, std::size_t offset, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return scalar_binary(row.symbol, left, right, offset);
  if (const auto *a = left.as<ComplexType>(), *b = right.as<ComplexType>();
      (a || b) && (left.as<DType>() || right.as<DType>() || (a && b)) && (row.symbol == "==" || row.symbol == "!="))
    return {(a && b && a->of_parts == b->of_parts) == (row.symbol == "=="), offset};
  if (left.as<DType>() && right.as<DType>() && row.strength == kComparison && (row.symbol == "==" || row.symbol == "!="))
    return {(*left.as<DType>() == *right.as<DType>()) == (row.symbol == "=="), offset};
  if (left.as<Tuple>() && right.as<Tuple>() && !left.is_complex() && !right.is_complex() && (row.symbol == "==" || row.symbol == "!="))
    return {equal_tuples(*left.as<Tuple>(), *right.as<Tuple>()) == (row.symbol == "=="), offset};
  if (left.is_complex() || right.is_complex() || ((left.as<Tensor>() || right.as<Tensor>()) && (holds_complex(left) || holds_complex(right))))
    return recorded(offset, [&] { return complex_binary(row.symbol, left, right, offset); });
  if (left.as<std::string>() && row.symbol == "%") return {percent(*left.as<std::string>(), right, offset), offset};
  if (const auto *text = left.as<std::string>(), *other = right.as<std::string>(); (text || other) && row.symbol == "*")
    if (const Value& times = text ? right : left; is_whole_number(times)) {
      const std::int64_t count = whole_number(times);
      if (count > 1 << 20) throw Fault{offset, "the repeated string is too long"};
      std::string many;
      for (std::int64_t k = 0; k < count; ++k) many += text ? *text : *other;
      return {std::move(many), offset};
    }
  if (const auto *a = left.as<Dictionary>(), *b = right.as<Dictionary>(); a && b && (row.symbol == "==" || row.symbol == "!=")) {
    bool same = a->is_set == b->is_set && a->keys.size() == b->keys.size();
    for (std::size_t k = 0; same && k < a->keys.size(); ++k) {
      const std::size_t place = place_of(*b, a->keys[k]);
      same =
          place < b->keys.size() && (a->is_set || truth(apply(row, offset, a->values[k], b->values[place]), Token{.text = row.symbol}) == (row.symbol == "=="));
    }
    return {same == (row.symbol == "=="), offset};
  }
  if (left.as<std::string>() && right.as<std::string>() && row.strength == kComparison) {
    const int order = left.as<std::string>()->compare(*right.as<std::string>());
    const std::string_view symbol = row.symbol;
    return {symbol == "=="   ? order == 0
            : symbol == "!=" ? order != 0
            : symbol == "<"  ? order < 0
            : symbol == "<=" ? order <= 0
            : symbol == ">"  ? order > 0
                             : order >= 0,
            offset};
  }
  if (left.as<std::string>() && right.as<std::string>()) {
    if (row.symbol == "+") return {*left.as<std::string>() + *right.as<std::string>(), offset};
    if (row.symbol == "==" || row.symbol == "!=") return {(*left.as<std::string>() == *right.as<std::string>()) == (row.symbol == "=="), offset};
  }
  if ((left.as<None>() || right.as<None>()) && (row.symbol == "==" || row.symbol == "!="))
    return {(left.as<None>() && right.as<None>()) == (row.symbol == "=="), offset};
  if (!left.as<Tensor>() && !right.as<Tensor>()) return {joined(row.symbol, left, right, offset), offset};
  const Value a = beside_tensor(left), b = beside_tensor(right);
  const Arg x = operand(a, row.symbol), y = operand(b, row.symbol);
  return {recorded(offset, [&] { return row.record(x, y); }), offset};
}

Value Parser::beside_tensor(const Value& value) { return value.as<Tuple>() ? Value{array_of(value, "array"), value.offset} : value; }

Value Parser::unary() {
  const Depth depth(*this);
  const Token token = peek();
  if (!token.is("-") && !token.is("+") && !token.is("~")) return power_of();
  next();
  const Value x = unary();
  if (x.is_number()) return scalar_unary(token.text, x, token.offset);
  if (x.is_complex() && !token.is("~")) {
    const Complex z = complex_of(x, token.text);
    return recorded(token.offset, [&] { return complex_value(token.is("-") ? -z : z, token.offset, x.as<Tuple>()->is_weak); });
  }
  const Arg argument = operand(x, token.text);
  return {recorded(token.offset, [&] { return token.is("-")   ? negative(argument)
                                              : token.is("+") ? positive(argument)
                                                              : bitwise_not(argument); }),
          token.offset};
}

Value Parser::power_of() {
  Value base = postfix();
  if (!peek().is("**")) return base;
  const Token symbol = next();
  const Value exponent = unary();
  return apply(kPower, symbol.offset, base, exponent);
}

}  // namespace sinter::tools
