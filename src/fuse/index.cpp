#include "fuse/index.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sinter/errors.hpp"

namespace sinter::fuse {
namespace {

using Term = IndexExpr::Term;
using trace::Op;

bool same_factor(const Term& a, const Term& b) {
  if (a.axis != b.axis || a.div != b.div || a.mod != b.mod) return false;
  return a.axis >= 0 || *a.inner == *b.inner;
}

bool before(const Term& a, const Term& b) {
  // Axes first, in order; irregular terms after, in order of appearance (stable sort).
  const int ka = a.axis >= 0 ? a.axis : 1 << 30, kb = b.axis >= 0 ? b.axis : 1 << 30;
  return ka < kb;
}

IndexExpr normalized(IndexExpr expr) {
  std::stable_sort(expr.terms.begin(), expr.terms.end(), before);
  std::vector<Term> merged;
  for (auto& term : expr.terms) {
    auto twin = std::find_if(merged.begin(), merged.end(), [&](const Term& t) { return same_factor(t, term); });
    if (twin != merged.end()) twin->coeff += term.coeff;
    else merged.push_back(std::move(term));
  }
  std::erase_if(merged, [](const Term& t) { return t.coeff == 0; });
  expr.terms = std::move(merged);
  return expr;
}

struct Range { std::int64_t low, high; };  // inclusive

Range range(const IndexExpr& expr, const std::vector<std::int64_t>& sizes) {
  Range r{expr.constant, expr.constant};
  for (const auto& term : expr.terms) {
    Range t{0, 0};
    if (term.axis >= 0) {
      t.high = std::max<std::int64_t>(sizes[term.axis] - 1, 0);
    } else {
      t = range(*term.inner, sizes);
      t.low /= term.div;
      t.high /= term.div;
      if (term.mod && t.high >= term.mod) t = {0, term.mod - 1};
    }
    r.low += std::min(t.low * term.coeff, t.high * term.coeff);
    r.high += std::max(t.low * term.coeff, t.high * term.coeff);
  }
  return r;
}

// flat = quotient * d + rest, where rest collects what d does not divide.
void divide_terms(const IndexExpr& flat, std::int64_t d, IndexExpr& quotient, IndexExpr& rest) {
  quotient.constant = flat.constant / d;
  rest.constant = flat.constant % d;
  for (const auto& term : flat.terms) {
    if (term.coeff % d == 0) {
      quotient.terms.push_back(term);
      quotient.terms.back().coeff /= d;
    } else {
      rest.terms.push_back(term);
    }
  }
}

// If an axis of `rest` reaches over d, cutting that axis at d makes flat / d and flat % d affine.
std::optional<SplitAxis> split_for(const IndexExpr& rest, std::int64_t d, const std::vector<std::int64_t>& sizes) {
  for (const auto& term : rest.terms) {
    if (term.axis < 0 || term.coeff < 0) return std::nullopt;
    const std::int64_t size = sizes[term.axis];
    if (term.coeff * (size - 1) < d) continue;
    if (d % term.coeff) return std::nullopt;
    const std::int64_t inner = d / term.coeff;
    if (size % inner || inner == 1 || inner == size) return std::nullopt;
    return SplitAxis{term.axis, inner};
  }
  return std::nullopt;
}

// (flat / div) % mod with mod 0 for none.
IndexExpr div_mod(const IndexExpr& flat, std::int64_t div, std::int64_t mod, const std::vector<std::int64_t>& sizes,
                  bool may_split) {
  if (div > 1) {
    IndexExpr quotient, rest;
    divide_terms(flat, div, quotient, rest);
    const Range r = range(rest, sizes);
    if (r.low >= 0 && r.high < div) return div_mod(quotient, 1, mod, sizes, may_split);
    if (may_split)
      if (auto split = split_for(rest, div, sizes)) throw *split;
  } else {
    const Range r = range(flat, sizes);
    if (mod == 0 || (r.low >= 0 && r.high < mod)) return flat;
    IndexExpr quotient, rest;
    divide_terms(flat, mod, quotient, rest);
    const Range rr = range(rest, sizes);
    if (rr.low >= 0 && rr.high < mod) return rest;
    if (may_split)
      if (auto split = split_for(rest, mod, sizes)) throw *split;
  }
  const Range r = range(flat, sizes);
  if (mod && r.high / div < mod) mod = 0;
  return {0, {{1, -1, std::make_shared<const IndexExpr>(flat), div, mod}}};
}

}  // namespace

bool operator==(const IndexExpr& a, const IndexExpr& b) {
  if (a.constant != b.constant || a.terms.size() != b.terms.size()) return false;
  for (std::size_t k = 0; k < a.terms.size(); ++k)
    if (a.terms[k].coeff != b.terms[k].coeff || !same_factor(a.terms[k], b.terms[k])) return false;
  return true;
}

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b) {
  IndexExpr sum = a;
  sum.constant += b.constant;
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  return normalized(std::move(sum));
}

IndexExpr operator*(const IndexExpr& a, std::int64_t factor) {
  IndexExpr product = a;
  product.constant *= factor;
  for (auto& term : product.terms) term.coeff *= factor;
  return normalized(std::move(product));
}

std::string to_string(const IndexExpr& expr) {
  std::string text = fmt::format("{}", expr.constant);
  for (const auto& term : expr.terms) {
    if (term.axis >= 0) text += fmt::format("+{}*a{}", term.coeff, term.axis);
    else text += fmt::format("+{}*(({})/{}%{})", term.coeff, to_string(*term.inner), term.div, term.mod);
  }
  return text;
}

std::string to_string(const Map& map) {
  std::string text;
  for (const auto& expr : map) text += to_string(expr) + ",";
  return text;
}

bool depends_on(const IndexExpr& expr, int axis) {
  for (const auto& term : expr.terms)
    if (term.axis == axis || (term.inner && depends_on(*term.inner, axis))) return true;
  return false;
}

int pure_axis(const IndexExpr& expr) {
  if (expr.constant != 0 || expr.terms.size() != 1 || expr.terms[0].coeff != 1) return -1;
  return expr.terms[0].axis;
}

IndexExpr linear(const Map& map, const Shape& shape) {
  IndexExpr flat;
  std::int64_t stride = 1;
  for (int k = static_cast<int>(shape.size()) - 1; k >= 0; --k) {
    flat = flat + map[k] * stride;
    stride *= shape[k];
  }
  return flat;
}

Map reshape_map(const Map& map, const Shape& from, const Shape& to, const std::vector<std::int64_t>& sizes, bool may_split) {
  Map result(to.size());
  // Walk both shapes from the left in the smallest groups of equal products; only inside a group do coordinates mix.
  std::size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    const std::size_t f0 = f;
    std::size_t t0 = t;
    std::int64_t nf = f < from.size() ? from[f++] : 1, nt = t < to.size() ? to[t++] : 1;
    while (nf != nt) {
      if (nf < nt && f < from.size()) nf *= from[f++];
      else if (t < to.size()) nt *= to[t++];
      else break;
    }
    // A lone pair passes through unchanged (sizes of 1 too, so that a size of 1 keeps its axis).
    if (f - f0 == 1 && t - t0 == 1) {
      result[t0] = map[f0];
      continue;
    }
    if (nt == 0) {  // no element, no coordinates
      for (; t0 < t; ++t0) result[t0] = IndexExpr::of(0);
      continue;
    }
    const Shape part(from.begin() + f0, from.begin() + f);
    const IndexExpr flat = linear(Map(map.begin() + f0, map.begin() + f), part);
    std::int64_t stride = 1;
    for (std::size_t k = t; k-- > t0;) {
      // The leading dimension needs no remainder: the quotient is below its size already.
      result[k] = to[k] == 1 ? IndexExpr::of(0) : div_mod(flat, stride, k == t0 ? 0 : to[k], sizes, may_split);
      stride *= to[k];
    }
  }
  return result;
}

Map through(const trace::Node& view, const Shape& input_shape, const Map& map, const std::vector<std::int64_t>& sizes,
            bool may_split) {
  Map result(input_shape.size());
  switch (view.op) {
    case Op::permute:
      for (std::size_t k = 0; k < map.size(); ++k) result[view.ints[k]] = map[k];
      return result;
    case Op::slice:
      for (std::size_t k = 0; k < map.size(); ++k)
        result[k] = map[k] * view.ints[2 * k + 1] + IndexExpr::of(view.ints[2 * k]);
      return result;
    case Op::broadcast: {
      const std::size_t lead = view.shape.size() - input_shape.size();
      for (std::size_t k = 0; k < input_shape.size(); ++k)
        result[k] = input_shape[k] == 1 && view.shape[lead + k] != 1 ? IndexExpr::of(0) : map[lead + k];
      return result;
    }
    case Op::reshape: return reshape_map(map, view.shape, input_shape, sizes, may_split);
    default: throw InternalError(fmt::format("{} is not a view", trace::name(view.op)));
  }
}

IndexExpr substitute(const IndexExpr& expr, int axis, const IndexExpr& by) {
  IndexExpr result = IndexExpr::of(expr.constant);
  for (const auto& term : expr.terms) {
    if (term.axis == axis) {
      result = result + by * term.coeff;
    } else {
      Term copy = term;
      if (copy.inner) copy.inner = std::make_shared<const IndexExpr>(substitute(*copy.inner, axis, by));
      result = result + IndexExpr{0, {copy}};
    }
  }
  return result;
}

}  // namespace sinter::fuse
