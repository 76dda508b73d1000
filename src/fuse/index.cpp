#include "fuse/index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "base/hash.hpp"
#include "base/per_thread.hpp"
#include "sinter/errors.hpp"

namespace sinter::fuse {
namespace {

using trace::Op;

// ---- canonical sums -------------------------------------------------------------------------------------------------------

// The order of terms: axes by number, then computed values, then divisions in the order in which their inner expressions were made.
std::pair<int, int> kind_of(const IndexTerm& term) {
  if (term.axis >= 0) return {0, term.axis};
  if (term.value >= 0) return {1, term.value};
  return {2, term.inner.order()};
}

bool before(const IndexTerm& a, const IndexTerm& b) {
  const auto x = kind_of(a), y = kind_of(b);
  if (x != y) return x < y;
  if (!a.div.same(b.div)) return a.div.before(b.div);
  return a.mod.before(b.mod);
}

bool same_factor(const IndexTerm& a, const IndexTerm& b) { return kind_of(a) == kind_of(b) && a.div.same(b.div) && a.mod.same(b.mod); }

// Returns whether a and b differ by a multiple of d at every point.
bool equal_modulo(const IndexExpr& a, const IndexExpr& b, const Size& d) {
  if ((a.constant() - b.constant()) % d != 0) return false;
  auto x = a.terms().begin(), y = b.terms().begin();
  while (x != a.terms().end() || y != b.terms().end()) {
    const bool take_x = x != a.terms().end() && (y == b.terms().end() || !before(*y, *x));
    const bool take_y = y != b.terms().end() && (x == a.terms().end() || !before(*x, *y));
    const Size difference = (take_x ? x->coeff : Size(0)) - (take_y ? y->coeff : Size(0));
    if (difference % d != 0) return false;
    x += take_x;
    y += take_y;
  }
  return true;
}

// c * ((x / d) % m) + c * m * ((x / (d * m)) % n) = c * ((x / d) % (m * n)): joins two neighbouring digits of x. Without n the result is c * (x / d), which is
// c * x for d = 1.
bool join_digits(std::vector<IndexTerm>& terms, Size& constant) {
  for (auto low = terms.begin(); low != terms.end(); ++low) {
    if (!low->divides() || low->whole()) continue;
    for (auto high = terms.begin(); high != terms.end(); ++high) {
      if (high == low || !high->divides()) continue;
      if (high->div != low->div * low->mod || high->coeff != low->coeff * low->mod) continue;
      // Multiples of d * m were dropped from the low digit's number.
      if (high->inner != low->inner && !equal_modulo(high->inner, low->inner, high->div)) continue;
      low->inner = high->inner;
      low->mod = high->whole() ? Size(0) : low->mod * high->mod;
      const IndexTerm joined = *low;
      terms.erase(high);
      if (joined.div.same(1) && joined.whole()) {
        std::erase_if(terms, [&](const IndexTerm& t) { return same_factor(t, joined); });
        constant += joined.coeff * joined.inner.constant();
        for (IndexTerm term : joined.inner.terms()) {
          term.coeff *= joined.coeff;
          terms.push_back(term);
        }
      }
      return true;
    }
  }
  return false;
}

IndexExpr sum_of(Size constant, std::vector<IndexTerm> terms) {
  do {
    std::sort(terms.begin(), terms.end(), before);
    std::size_t count = 0;
    for (const auto& term : terms) {
      if (count > 0 && same_factor(terms[count - 1], term)) terms[count - 1].coeff += term.coeff;
      else terms[count++] = term;
    }
    terms.resize(count);
    std::erase_if(terms, [](const IndexTerm& t) { return t.coeff == 0; });
  } while (join_digits(terms, constant));
  return IndexSpace::current()->intern(constant, std::move(terms));
}

// Visits the expression and all expressions inside it, each once.
void each_inner(const IndexExpr& expr, const std::function<void(const IndexExpr&)>& visit) {
  std::vector<IndexExpr> stack{expr};
  std::set<int> seen;
  while (!stack.empty()) {
    const IndexExpr at = stack.back();
    stack.pop_back();
    if (!seen.insert(at.order()).second) continue;
    visit(at);
    for (const auto& term : at.terms())
      if (term.divides()) stack.push_back(term.inner);
  }
}

std::uint64_t identity(const Size& size) {
  return size.node() ? static_cast<std::uint64_t>(size.node()->id) << 1 | 1 : static_cast<std::uint64_t>(size.hint()) << 1;
}

// ---- ranges ---------------------------------------------------------------------------------------------------------------

using Range = IndexRange;

Size floor_div(const Size& a, const Size& b) {
  if (a >= 0) return a < b ? Size(0) : a / b;
  return -((b - 1 - a) / b);
}

// Returns whether the whole range is between two neighbouring multiples of d.
bool same_period(const Range& r, const Size& d) {
  if (r.low >= 0) return r.high < d || (!r.low.same(0) && floor_div(r.low, d) == floor_div(r.high, d));
  return floor_div(r.low, d) == floor_div(r.high, d);
}

// Splits expr = d * quotient + rest, where rest has the terms that d does not divide.
struct Divided {
  IndexExpr quotient, rest;
};
Divided divided(const IndexExpr& expr, const Size& d) {
  std::vector<IndexTerm> quotient, rest;
  for (auto term : expr.terms()) {
    if (term.coeff % d != 0) {
      rest.push_back(term);
      continue;
    }
    term.coeff /= d;
    quotient.push_back(term);
  }
  const Size constant = floor_div(expr.constant(), d);
  return {sum_of(constant, std::move(quotient)), sum_of(expr.constant() - constant * d, std::move(rest))};
}

IndexExpr division(const IndexExpr& inner, const Size& div, const Size& mod) {
  if (div.same(1) && mod.same(0)) return inner;
  IndexTerm term;
  term.inner = inner;
  term.div = div;
  term.mod = mod;
  return sum_of(0, {term});
}

// Returns the digits if expr = g * high + low with 0 <= low < g.
std::optional<Divided> digits_at(const IndexExpr& expr, const Size& g, const Sizes& sizes) {
  Divided parts = divided(expr, g);
  const Range low = range(parts.rest, sizes);
  if (low.low < 0 || low.high >= g) return std::nullopt;
  return parts;
}

// Returns a common divisor; 1 if none is known.
Size common_divisor(const Size& a, const Size& b) {
  if (a.is_constant() && b.is_constant()) return std::gcd(a.hint(), b.hint());
  return a > 1 && b % a == 0 ? a : Size(1);
}

// Returns the largest coefficient that divides d and at which the expression's low digits can be separated.
std::optional<std::pair<Size, Divided>> low_digits(const IndexExpr& expr, const Size& d, const Sizes& sizes) {
  Sizes candidates;
  for (const auto& term : expr.terms())
    if (Size g = common_divisor(term.coeff, d); !g.same(1)) candidates.push_back(std::move(g));
  std::stable_sort(candidates.begin(), candidates.end(), [](const Size& a, const Size& b) { return a.hint() > b.hint(); });
  for (const Size& g : candidates)
    if (auto parts = digits_at(expr, g, sizes)) return std::pair(g, std::move(*parts));
  return std::nullopt;
}

// If an axis of `rest` extends beyond d, splitting that axis at d makes flat / d and flat % d affine.
std::optional<SplitAxis> split_for(const IndexExpr& rest, const Size& d, const Sizes& sizes) {
  for (const auto& term : rest.terms()) {
    if (term.axis < 0 || term.coeff < 0) return std::nullopt;
    const Size& size = sizes[term.axis];
    if (term.coeff * (size - 1) < d) continue;
    if (d % term.coeff != 0) return std::nullopt;
    const Size inner = d / term.coeff;
    if (size % inner != 0 || inner == 1 || inner == size) return std::nullopt;
    return SplitAxis{term.axis, inner};
  }
  return std::nullopt;
}

// Adds the multiple of d that makes expr nonnegative.
IndexExpr not_negative(const IndexExpr& expr, const Size& d, const Sizes& sizes) {
  const Range r = range(expr, sizes);
  return r.low < 0 ? expr + IndexExpr::of(-floor_div(r.low, d) * d) : expr;
}

// Writes more + x / d as (d * more + x) / d: one division, so that all digits of a number have one inner expression.
struct Flattened {
  IndexExpr inner;
  Size div;
};
std::optional<Flattened> flattened(const IndexExpr& expr) {
  for (const auto& term : expr.terms()) {
    if (!term.divides() || !term.whole() || !term.coeff.same(1)) continue;
    IndexTerm negated = term;
    negated.coeff = -1;
    const IndexExpr more = expr + sum_of(0, {negated});
    return Flattened{more * term.div + term.inner, term.div};
  }
  return std::nullopt;
}

// Returns the term of an expression that consists of (x / d) % m alone.
const IndexTerm* lone_division(const IndexExpr& expr) {
  if (!expr.constant().same(0) || expr.terms().size() != 1) return nullptr;
  const IndexTerm& only = expr.terms()[0];
  return only.divides() && only.coeff.same(1) && !only.whole() ? &only : nullptr;
}

// If an axis may be split, `split` receives the split that makes the result affine; the returned value is then meaningless. Null: no axis is split.
using Split = std::optional<SplitAxis>*;

IndexExpr remainder(const IndexExpr& expr, const Size& mod, const Sizes& sizes, Split split);

// Returns expr / div, rounded down.
IndexExpr quotient(const IndexExpr& expr, const Size& div, const Sizes& sizes, Split split) {
  if (div == 1) return expr;
  auto [whole, rest] = divided(expr, div);
  const Range r = range(rest, sizes);
  if (const Size shift = -floor_div(r.low, div); !shift.same(0)) {  // inner expressions are never negative
    rest = rest + IndexExpr::of(shift * div);
    whole = whole + IndexExpr::of(-shift);
  }
  if (same_period(r, div)) return whole;
  if (split && (*split = split_for(rest, div, sizes))) return {};
  if (auto flat = flattened(rest)) return whole + quotient(flat->inner, flat->div * div, sizes, nullptr);
  if (const IndexTerm* only = lone_division(rest); only && only->mod % div == 0)  // ((x / d) % m) / div
    return whole + remainder(quotient(only->inner, only->div * div, sizes, nullptr), only->mod / div, sizes, nullptr);
  if (auto low = low_digits(rest, div, sizes)) return whole + quotient(low->second.quotient, div / low->first, sizes, split);
  return whole + division(rest, div, 0);
}

// Returns expr % mod, which is never negative.
IndexExpr remainder(const IndexExpr& expr, const Size& mod, const Sizes& sizes, Split split) {
  if (mod == 1) return IndexExpr::of(0);
  IndexExpr rest = divided(expr, mod).rest;
  const Range r = range(rest, sizes);
  rest = rest + IndexExpr::of(-floor_div(r.low, mod) * mod);
  if (same_period(r, mod)) return rest;
  if (split && (*split = split_for(rest, mod, sizes))) return {};
  if (auto flat = flattened(rest)) return division(not_negative(divided(flat->inner, flat->div * mod).rest, flat->div * mod, sizes), flat->div, mod);
  if (const IndexTerm* only = lone_division(rest); only && only->mod % mod == 0)  // ((x / d) % m) % mod
    return remainder(quotient(only->inner, only->div, sizes, nullptr), mod, sizes, nullptr);
  if (auto low = low_digits(rest, mod, sizes)) return remainder(low->second.quotient, mod / low->first, sizes, split) * low->first + low->second.rest;
  return division(rest, 1, mod);
}

// Joined digits may allow rules that single digits did not, so each division is made again until nothing changes.
IndexExpr tidied(IndexExpr expr, const Sizes& sizes) {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds && expr.divisions() > 0; ++round) {
    std::vector<IndexTerm> plain;
    IndexExpr again = IndexExpr::of(expr.constant());
    for (const auto& term : expr.terms()) {
      if (term.divides()) again = again + div_mod(term.inner, term.div, term.mod, sizes) * term.coeff;
      else plain.push_back(term);
    }
    again = again + sum_of(0, std::move(plain));
    if (again == expr) break;
    expr = again;
  }
  return expr;
}

}  // namespace

// ---- the space ------------------------------------------------------------------------------------------------------------

namespace {
std::shared_ptr<IndexSpace>& current_space() { return per_thread<std::shared_ptr<IndexSpace>>(); }
}  // namespace

IndexSpace::IndexSpace() { nodes_.emplace_back(); }  // order 0 belongs to 0

IndexSpace::Scope::Scope(std::shared_ptr<IndexSpace> space) : before_(std::move(current_space())) { current_space() = std::move(space); }
IndexSpace::Scope::~Scope() { current_space() = std::move(before_); }

const std::shared_ptr<IndexSpace>& IndexSpace::current() {
  auto& space = current_space();
  if (!space) space = std::make_shared<IndexSpace>();
  return space;
}

IndexExpr IndexSpace::intern(const Size& constant, std::vector<IndexTerm> terms) {
  if (constant.same(0) && terms.empty()) return {};
  std::uint64_t hash = mix(0, identity(constant));
  for (const auto& term : terms) {
    hash = mix(hash, identity(term.coeff));
    hash = mix(hash, static_cast<std::uint64_t>(term.axis) << 32 ^ static_cast<std::uint64_t>(term.value));
    if (!term.divides()) continue;
    hash = mix(hash, static_cast<std::uint64_t>(term.inner.order()));
    hash = mix(mix(hash, identity(term.div)), identity(term.mod));
  }
  const auto [first, last] = known_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const IndexNode& node = *known->second;
    if (node.constant.same(constant) && node.terms.size() == terms.size() &&
        std::equal(terms.begin(), terms.end(), node.terms.begin(),
                   [](const IndexTerm& a, const IndexTerm& b) { return a.coeff.same(b.coeff) && same_factor(a, b); }))
      return IndexExpr(&node);
  }
  IndexNode& node = nodes_.emplace_back();
  node.constant = constant;
  node.order = static_cast<int>(nodes_.size()) - 1;
  for (const auto& term : terms) {
    if (term.axis >= 64) throw InternalError(fmt::format("index: a kernel of more than 64 axes ({})", term.axis));
    if (term.axis >= 0) node.axes |= std::uint64_t{1} << term.axis;
    if (term.divides()) node.axes |= term.inner.node_->axes;
    node.values |= term.value >= 0 || (term.divides() && term.inner.node_->values);
  }
  node.terms = std::move(terms);
  if (std::any_of(node.terms.begin(), node.terms.end(), [](const IndexTerm& t) { return t.divides(); })) {
    std::set<std::tuple<int, std::uint64_t, std::uint64_t>> distinct;
    each_inner(IndexExpr(&node), [&](const IndexExpr& at) {
      for (const auto& term : at.terms())
        if (term.divides()) distinct.insert({term.inner.order(), identity(term.div), identity(term.mod)});
    });
    node.divisions = static_cast<int>(distinct.size());
  }
  known_.emplace(hash, &node);
  return IndexExpr(&node);
}

// The expression 0 belongs to every space, because it is used very often.
IndexExpr::IndexExpr() {
  static const IndexNode* const zero = new IndexNode;  // never destroyed
  node_ = zero;
}
IndexExpr IndexExpr::of(const Size& constant) { return IndexSpace::current()->intern(constant, {}); }
IndexExpr IndexExpr::of_axis(int axis) {
  IndexTerm term;
  term.axis = axis;
  return IndexSpace::current()->intern(0, {term});
}
IndexExpr IndexExpr::of_value(int value) {
  IndexTerm term;
  term.value = value;
  return IndexSpace::current()->intern(0, {term});
}
const Size& IndexExpr::constant() const { return node_->constant; }
const std::vector<IndexTerm>& IndexExpr::terms() const { return node_->terms; }
std::uint64_t IndexExpr::axes() const { return node_->axes; }
int IndexExpr::divisions() const { return node_->divisions; }
bool IndexExpr::has_values() const { return node_->values; }
int IndexExpr::order() const { return node_->order; }

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b) {
  if (b == IndexExpr()) return a;
  if (a == IndexExpr()) return b;
  if (b.terms().empty()) return IndexSpace::current()->intern(a.constant() + b.constant(), a.terms());
  std::vector<IndexTerm> terms = a.terms();
  terms.insert(terms.end(), b.terms().begin(), b.terms().end());
  return sum_of(a.constant() + b.constant(), std::move(terms));
}

IndexExpr operator*(const IndexExpr& a, const Size& factor) {
  if (factor.same(1)) return a;
  std::vector<IndexTerm> terms = a.terms();
  for (auto& term : terms) term.coeff *= factor;
  return sum_of(a.constant() * factor, std::move(terms));
}

// Prints an expression with names for shared parts: "3*i2 + a0 where i2 = (5*a0+a1)/7%3".
std::string to_string(const IndexExpr& expr) {
  std::string where;
  std::set<int> named;
  const std::function<std::string(const IndexExpr&)> sum = [&](const IndexExpr& of) {
    std::string text = !of.constant().same(0) || of.terms().empty() ? to_string(of.constant()) : "";
    for (const auto& term : of.terms()) {
      if (!text.empty()) text += " + ";
      if (!term.coeff.same(1)) text += to_string(term.coeff) + "*";
      if (term.axis >= 0) text += fmt::format("a{}", term.axis);
      else if (term.value >= 0) text += fmt::format("v{}", term.value);
      else {
        const bool small = term.inner.divisions() == 0;
        if (!small && named.insert(term.inner.order()).second) {
          const std::string inner = sum(term.inner);
          where += fmt::format("{}i{} = {}", where.empty() ? " where " : ", ", term.inner.order(), inner);
        }
        text += small ? "(" + sum(term.inner) + ")" : fmt::format("i{}", term.inner.order());
        if (!term.div.same(1)) text += "/" + to_string(term.div);
        if (!term.whole()) text += "%" + to_string(term.mod);
      }
    }
    return text;
  };
  const std::string text = sum(expr);
  return text + where;
}

bool depends_on(const IndexExpr& expr, int axis) { return expr.axes() >> axis & 1; }

void each_value(const IndexExpr& expr, const std::function<void(int)>& visit) {
  if (!expr.has_values()) return;
  std::set<int> values;
  each_inner(expr, [&](const IndexExpr& at) {
    for (const auto& term : at.terms())
      if (term.value >= 0 && values.insert(term.value).second) visit(term.value);
  });
}

int pure_axis(const IndexExpr& expr) {
  if (expr.constant() != 0 || expr.terms().size() != 1 || expr.terms()[0].coeff != 1) return -1;
  return expr.terms()[0].axis;
}

Size direct_coefficient(const IndexExpr& expr, int axis) {
  for (const auto& term : expr.terms())
    if (term.axis == axis) return term.coeff;
  return 0;
}

// Divisions are nested at most as deep as a map's limit (group.cpp) allows.
IndexRange range(const IndexExpr& expr, const Sizes& sizes) {
  IndexRange r{expr.constant(), expr.constant()};
  for (const auto& term : expr.terms()) {
    IndexRange t{0, 0};
    if (term.axis >= 0) {
      t.high = sizes[term.axis] > 0 ? sizes[term.axis] - 1 : Size(0);
    } else if (term.value >= 0) {
      t = {0, INT32_MAX};  // the code that computes the value keeps it within its dimension
    } else {
      // The remainder alone bounds the term; the inner expression need not be examined.
      if (term.whole()) t.high = range(term.inner, sizes).high / term.div;
      else t.high = term.mod - 1;
    }
    const bool falling = term.coeff < 0;
    r.low += (falling ? t.high : t.low) * term.coeff;
    r.high += (falling ? t.low : t.high) * term.coeff;
  }
  return r;
}

bool in_range(const Map& map, const Sizes& shape, const Sizes& sizes) {
  // Below a pad an expression may be negative, and a division of it then has no meaning.
  const std::function<bool(const IndexExpr&)> divides_naturals = [&](const IndexExpr& expr) {
    return std::all_of(expr.terms().begin(), expr.terms().end(),
                       [&](const IndexTerm& term) { return !term.divides() || (range(term.inner, sizes).low >= 0 && divides_naturals(term.inner)); });
  };
  for (std::size_t k = 0; k < map.size(); ++k) {
    if (map[k].has_values() || !divides_naturals(map[k])) return false;
    const IndexRange at = range(map[k], sizes);
    if (at.low < 0 || at.high >= shape[k]) return false;
  }
  return true;
}

IndexExpr div_mod(const IndexExpr& expr, const Size& div, const Size& mod, const Sizes& sizes) {
  const IndexExpr divided = quotient(expr, div, sizes, nullptr);
  return mod.same(0) ? divided : remainder(divided, mod, sizes, nullptr);
}

std::string to_string(const Map& map) {
  std::string text;
  for (const auto& expr : map) text += (text.empty() ? "" : ", ") + to_string(expr);
  return text;
}

std::size_t MapHash::operator()(const Map& map) const {
  std::uint64_t hash = map.size();
  for (const auto& expr : map) hash = mix(hash, static_cast<std::uint64_t>(expr.order()));
  return hash;
}

int divisions(const Map& map) {
  int largest = 0;
  for (const auto& expr : map) largest = std::max(largest, expr.divisions());
  return largest;
}

// ---- views ----------------------------------------------------------------------------------------------------------------

Map identity_map(std::size_t axes) {
  Map map;
  for (std::size_t axis = 0; axis < axes; ++axis) map.push_back(IndexExpr::of_axis(static_cast<int>(axis)));
  return map;
}

IndexExpr linear(const Map& map, const Sizes& shape) {
  if (divisions(map) == 0) {  // there is nothing to join
    std::vector<IndexTerm> terms;
    Size constant = 0, stride = 1;
    for (std::size_t k = shape.size(); k-- > 0;) {
      for (IndexTerm term : map[k].terms()) {
        term.coeff *= stride;
        terms.push_back(term);
      }
      constant += map[k].constant() * stride;
      stride *= shape[k];
    }
    return sum_of(constant, std::move(terms));
  }
  IndexExpr flat;
  Size stride = 1;
  for (int k = static_cast<int>(shape.size()) - 1; k >= 0; --k) {
    flat = flat + map[k] * stride;
    stride *= shape[k];
  }
  return flat;
}

Mapped reshape_map(const Map& map, const Sizes& from, const Sizes& to, const Sizes& sizes, bool may_split) {
  Mapped mapped{Map(to.size())};
  Map& result = mapped.map;
  const Split split = may_split ? &mapped.split : nullptr;
  // Walks both shapes from the left in the smallest groups with equal products; coordinates mix only inside a group.
  std::size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    const std::size_t f0 = f, t0 = t;
    Size nf = f < from.size() ? from[f++] : Size(1), nt = t < to.size() ? to[t++] : Size(1);
    while (nf != nt) {
      if (nf < nt && f < from.size()) nf *= from[f++];
      else if (t < to.size()) nt *= to[t++];
      else break;
    }
    // A single pair of equal sizes is copied, even with size 1, so that an axis of size 1 stays.
    if (f - f0 == 1 && t - t0 == 1) {
      result[t0] = map[f0];
      continue;
    }
    if (nt == 0) continue;  // no elements, no coordinates
    const Sizes part(from.begin() + f0, from.begin() + f);
    const IndexExpr flat = tidied(linear(Map(map.begin() + f0, map.begin() + f), part), sizes);
    Size stride = 1;
    for (std::size_t k = t; k-- > t0;) {
      if (to[k] != 1) {
        result[k] = quotient(flat, stride, sizes, split);
        // The leading dimension needs no remainder, because the quotient is below its size.
        if (k != t0 && !mapped.split) result[k] = remainder(result[k], to[k], sizes, split);
        if (mapped.split) return mapped;
      }
      stride *= to[k];
    }
  }
  return mapped;
}

Mapped through(const Node& view, const Sizes& input_shape, const Map& map, const Sizes& sizes, bool may_split) {
  Map result(input_shape.size());
  switch (view.op) {
    case Op::permute:
      for (std::size_t k = 0; k < map.size(); ++k) result[static_cast<std::size_t>(view.ints[k].hint())] = map[k];
      return {std::move(result)};
    case Op::slice:
      for (std::size_t k = 0; k < map.size(); ++k) result[k] = map[k] * view.ints[2 * k + 1] + IndexExpr::of(view.ints[2 * k]);
      return {std::move(result)};
    case Op::broadcast: {
      const std::size_t lead = view.shape.size() - input_shape.size();
      for (std::size_t k = 0; k < input_shape.size(); ++k) result[k] = input_shape[k] == 1 && view.shape[lead + k] != 1 ? IndexExpr::of(0) : map[lead + k];
      return {std::move(result)};
    }
    case Op::windows: {
      const auto axis = static_cast<std::size_t>(view.axis(0));
      for (std::size_t k = 0; k < input_shape.size(); ++k) result[k] = map[k];
      result[axis] = map[axis] * view.ints[1] + map.back() * view.ints[2];
      return {std::move(result)};
    }
    case Op::reshape: return reshape_map(map, view.shape, input_shape, sizes, may_split);
    default: throw InternalError(fmt::format("{} is not a view", trace::name(view.op)));
  }
}

// ---- rewriting axes -------------------------------------------------------------------------------------------------------

IndexExpr substitute(const IndexExpr& expr, const std::vector<IndexExpr>& by) {
  if (expr.axes() == 0) return expr;
  if (const IndexTerm& only = expr.terms()[0]; expr.terms().size() == 1 && only.axis >= 0 && only.coeff.same(1) && expr.constant().same(0))
    return by[static_cast<std::size_t>(only.axis)];
  std::unordered_map<int, IndexExpr> done;
  const std::function<IndexExpr(const IndexExpr&)> rewrite = [&](const IndexExpr& of) {
    if (const auto found = done.find(of.order()); found != done.end()) return found->second;
    Size constant = of.constant();
    std::vector<IndexTerm> terms;
    for (auto term : of.terms()) {
      if (term.axis >= 0) {
        const IndexExpr& with = by[term.axis];
        constant += term.coeff * with.constant();
        for (auto part : with.terms()) {
          part.coeff *= term.coeff;
          terms.push_back(part);
        }
      } else {
        if (term.divides()) term.inner = rewrite(term.inner);
        terms.push_back(term);
      }
    }
    const IndexExpr result = sum_of(constant, std::move(terms));
    done.emplace(of.order(), result);
    return result;
  };
  return rewrite(expr);
}

IndexExpr with_values(const IndexExpr& expr, const std::vector<int>& numbers) {
  std::vector<IndexTerm> terms = expr.terms();
  for (auto& term : terms) {
    if (term.value >= 0) term.value = numbers[static_cast<std::size_t>(term.value)];
    if (term.divides()) term.inner = with_values(term.inner, numbers);
  }
  return sum_of(expr.constant(), std::move(terms));
}

bool walks_as_one(const IndexExpr& expr, int axis, const Size& inner_size) {
  bool all = true;
  each_inner(expr, [&](const IndexExpr& at) { all = all && direct_coefficient(at, axis) == direct_coefficient(at, axis + 1) * inner_size; });
  return all;
}

}  // namespace sinter::fuse
