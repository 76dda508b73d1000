#include <fmt/format.h>

#include <utility>

#include "numbers.hpp"
#include "parser.hpp"
#include "table/complex_numbers.hpp"

namespace sinter::tools {
namespace {

/// Returns the name of a result: its part of the expression, shortened to one line, without a trailing comment.
std::string label_of(std::string_view text) {
  constexpr std::size_t kMaxLabel = 60;
  std::string label;
  for (const char c : text.substr(0, text.find('#'))) {
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!space) label += c;
    else if (!label.empty() && label.back() != ' ') label += ' ';
  }
  while (label.ends_with(' ')) label.pop_back();
  if (label.size() <= kMaxLabel) return label;
  label.resize(kMaxLabel);
  while (!label.empty() && (static_cast<unsigned char>(label.back()) & 0xc0) == 0x80) label.pop_back();  // removes an incomplete UTF-8 character
  return label + "…";
}

/// Computes Python's + and * for tuples and lists: x.shape + (1,), (2,) * 3.
Tuple joined(std::string_view symbol, const Value& left, const Value& right, std::size_t offset) {
  const Tuple *a = left.as<Tuple>(), *b = right.as<Tuple>();
  const auto* count = (a ? right : left).as<std::int64_t>();
  if (symbol == "+" && a && b && a->is_list == b->is_list) {
    Tuple both = *a;
    both.insert(both.end(), b->begin(), b->end());
    return both;
  }
  if (symbol != "*" || !(a || b) || !count)
    throw Fault{offset, fmt::format("{} takes tensors and numbers, not {}; array(…) makes a tensor", symbol, kind_name(a || !b ? left : right))};
  constexpr std::size_t kMaxItems = 1 << 20;
  const Tuple& items = a ? *a : *b;
  if (*count > 0 && !items.empty() && static_cast<std::uint64_t>(*count) > kMaxItems / items.size())
    throw Fault{offset, "the repeated list is too long; repeat() and tile() work on tensors"};
  Tuple many;
  many.is_list = items.is_list;
  for (std::int64_t k = 0; !items.empty() && k < *count; ++k) many.insert(many.end(), items.begin(), items.end());
  return many;
}

}  // namespace

Value Parser::expressions() {
  const std::size_t offset = peek().offset;
  std::vector<std::string> written;
  Value first = item(written);
  if (!peek().is(",")) return first;
  Tuple items{std::move(first)};
  while (accept(",") && !at_end()) items.push_back(item(written));
  return tuple(std::move(items), offset, std::move(written));
}

Value Parser::item(std::vector<std::string>& written) {
  const std::size_t begin = peek().offset;
  Value value = binary();
  written.push_back(label_of(text_.substr(begin, peek().offset - begin)));
  return value;
}

Value Parser::tuple(Tuple items, std::size_t offset, std::vector<std::string> written) {
  written_at_ = offset;
  written_ = std::move(written);
  return {std::move(items), offset};
}

Value Parser::binary(int loosest) {
  const std::size_t begin = peek().offset;
  Value left = unary();
  while (const Operator* row = find_operator(peek())) {
    if (row->strength < loosest) break;
    const Token symbol = next();
    const Value right = binary(row->strength + 1);
    begin_ = begin;
    left = apply(*row, symbol.offset, left, right);
    if (const Operator* other = find_operator(peek()); row->strength == kComparison && other && other->strength == kComparison)
      throw Fault{peek().offset, "comparisons cannot be chained; write (a < b) & (b < c)"};
  }
  return left;
}

Value Parser::apply(const Operator& row, std::size_t offset, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return number_binary(row.symbol, left, right, offset);
  if (left.as<DType>() && right.as<DType>() && (row.symbol == "==" || row.symbol == "!="))
    return {(*left.as<DType>() == *right.as<DType>()) == (row.symbol == "=="), offset};
  const bool tensors = left.as<Tensor>() || right.as<Tensor>();
  if (left.is_complex() || right.is_complex() || (tensors && (holds_complex(left) || holds_complex(right))))
    return recorded(offset, [&] { return complex_binary(row.symbol, left, right, offset); });
  if (!tensors) return {joined(row.symbol, left, right, offset), offset};
  const auto array = [](const Value& value) { return value.as<Tuple>() ? Value{array_of(value, "array"), value.offset} : value; };
  const Value a = array(left), b = array(right);
  const Arg x = operand(a, row.symbol), y = operand(b, row.symbol);
  return {recorded(offset, [&] { return row.record(x, y); }), offset};
}

Value Parser::unary() {
  const Depth depth(*this);
  const Token token = peek();
  if (!token.is("-") && !token.is("+") && !token.is("~")) return power_of();
  next();
  const Value x = unary();
  begin_ = token.offset;
  if (x.is_number()) return number_unary(token.text, x, token.offset);
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
  const std::size_t begin = peek().offset;
  Value base = postfix();
  if (!peek().is("**")) return base;
  const Token symbol = next();
  const Value exponent = unary();
  begin_ = begin;
  return apply(kPower, symbol.offset, base, exponent);
}

}  // namespace sinter::tools
