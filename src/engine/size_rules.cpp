#include "engine/size_rules.hpp"

#include <bit>

#include "trace/graph.hpp"

namespace sinter::engine {
namespace {

/// By sets of free axes, as Multilinear: the products of their sizes.
template <class Number> std::vector<Number> products(const std::vector<std::int64_t>& free) {
  std::vector<Number> list{1};
  for (const std::int64_t size : free)
    for (std::size_t k = 0, count = list.size(); k < count; ++k) list.push_back(list[k] * static_cast<Number>(size));
  return list;
}

template <class Number> Number value(const Multilinear<Number>& rule, const std::vector<Number>& products) {
  Number sum = 0;
  for (std::size_t k = 0; k < rule.size(); ++k) sum += rule[k] * products[k];
  return sum;
}

}  // namespace

std::optional<Values> SizeRules::at(const std::vector<std::int64_t>& sizes) const {
  std::vector<std::int64_t> free;
  for (std::size_t k = 0; k < held.size(); ++k) {
    if (held[k] >= 0 && held[k] != sizes[k]) return {};
    if (held[k] < 0 && sizes[k] < 2) return {};  // nothing, and one, are structures of their own
    if (held[k] < 0) free.push_back(sizes[k]);
  }
  const auto whole = products<std::int64_t>(free);
  const auto real = products<double>(free);
  Values values;
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    values.symbols.push_back(value(symbols[k], whole));
    if (values.symbols.back() < lows[k]) return {};
  }
  for (const auto& rule : gathered) values.gathered.push_back(value(rule, whole));
  for (const Literal& literal : literals) values.literals.push_back(literal.value.empty() ? literal.bits : trace::make_scalar(literal.dtype, value(literal.value, real)).bits());
  for (const auto& shape : shapes) {
    Shape& result = values.shapes.emplace_back();
    for (const auto& rule : shape) {
      result.push_back(value(rule, whole));
      if (result.back() < 0) return {};
    }
  }
  return values;
}

}  // namespace sinter::engine
