#include "trace/size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/hash.hpp"
#include "base/per_thread.hpp"
#include "sinter/errors.hpp"

namespace sinter::trace {
namespace {

using Terms = SizeSpace::Terms;

SizeSpace* space_of(const Size& a, const Size& b) {
  if (a.node()) return a.node()->space;
  return b.node() ? b.node()->space : nullptr;
}

Terms terms_of(const Size& size) {
  if (size.node()) return size.node()->terms;
  if (size.hint() == 0) return {};
  return {{{}, size.hint()}};
}

// Returns a lower bound of a polynomial's value; nothing if a negative coefficient prevents one.
std::optional<std::int64_t> min_value(const SizeSpace& space, const Terms& terms) {
  std::int64_t sum = 0;
  for (const auto& [monomial, coeff] : terms) {
    if (!monomial.empty() && coeff < 0) return std::nullopt;
    std::int64_t product = coeff;
    for (int atom : monomial) {
      if (!space.atom(atom).low) return std::nullopt;
      product *= *space.atom(atom).low;
    }
    sum += product;
  }
  return sum;
}

Terms negated(Terms terms) {
  for (auto& [monomial, coeff] : terms) coeff = -coeff;
  return terms;
}

// Returns the quotient if every term of `a` is a multiple of the single term of `b`.
std::optional<Terms> exact_quotient(const Terms& a, const Terms& b) {
  if (b.size() != 1) return a == b ? std::optional<Terms>(Terms{{{}, 1}}) : std::nullopt;
  const auto& [divisor, by] = *b.begin();
  Terms result;
  for (const auto& [monomial, coeff] : a) {
    if (coeff % by != 0 || !std::includes(monomial.begin(), monomial.end(), divisor.begin(), divisor.end())) return std::nullopt;
    std::vector<int> rest;
    std::set_difference(monomial.begin(), monomial.end(), divisor.begin(), divisor.end(), std::back_inserter(rest));
    result[rest] = coeff / by;
  }
  return result;
}

struct Estimates {
  bool on = false;
};
bool& estimating() { return per_thread<Estimates>().on; }

// Returns the result of an operation on these operands, computed once; a comparison once as an estimate and once as a condition.
template <class Compute> Size answer(char operation, SizeSpace& space, const Size& a, const Size& b, Compute compute) {
  const auto id = [](const Size& size) { return size.node() ? size.node()->id : -1; };
  const auto constant = [](const Size& size) { return size.node() ? 0 : size.hint(); };
  const SizeSpace::Asked asked{operation, id(a), id(b), constant(a), constant(b)};
  if (const Size* known = space.answered(asked)) return *known;
  const Size result = compute();
  space.remember(asked, result);
  return result;
}

Size divided(const Size& a, const Size& b, SizeAtom::Kind kind) {
  const Estimating nothing(false);  // the bounds of a quotient rely on these guards
  if (b == 0) throw InternalError(fmt::format("size: {} is divided by zero", to_string(a)));
  const bool quotient = kind == SizeAtom::Kind::quotient;
  SizeSpace* space = space_of(a, b);
  if (!space) return quotient ? a.hint() / b.hint() : a.hint() % b.hint();
  if (a.is_constant() && a.hint() == 0) return 0;
  const Terms dividend = terms_of(a), divisor = terms_of(b);
  if (auto exact = exact_quotient(dividend, divisor)) return quotient ? space->polynomial(std::move(*exact)) : Size(0);
  SizeAtom atom;
  atom.kind = kind;
  atom.a = a;
  atom.b = b;
  atom.exact = quotient && space->is_zero(a % b);
  if (a >= 0 && b > 0) atom.low = 0;  // from now on this is a guard
  atom.hint = quotient ? a.hint() / b.hint() : a.hint() % b.hint();
  return space->atom(std::move(atom));
}

// Returns whether a is below b for all values of the symbols, judged by the two operands' own bounds.
bool surely_below(const Size& a, const Size& b) {
  const auto high = a.node() ? a.node()->high : a.hint(), low = b.node() ? b.node()->low : b.hint();
  return high && low && *high < *low;
}
bool surely_not_above(const Size& a, const Size& b) {
  const auto high = a.node() ? a.node()->high : a.hint(), low = b.node() ? b.node()->low : b.hint();
  return high && low && *high <= *low;
}

}  // namespace

bool Size::before(const Size& other) const {
  const int x = node_ ? node_->id : -1, y = other.node_ ? other.node_->id : -1;
  return std::pair(x, hint_) < std::pair(y, other.hint_);
}

Size operator+(const Size& a, const Size& b) {
  SizeSpace* space = space_of(a, b);
  if (!space) return a.hint() + b.hint();
  if (a.same(0)) return b;
  if (b.same(0)) return a;
  return answer('+', *space, a, b, [&] {
    Terms terms = terms_of(a);
    for (const auto& [monomial, coeff] : terms_of(b)) terms[monomial] += coeff;
    return space->polynomial(std::move(terms));
  });
}

Size operator-(const Size& a, const Size& b) { return a + b * Size(-1); }

Size operator*(const Size& a, const Size& b) {
  SizeSpace* space = space_of(a, b);
  if (!space) return a.hint() * b.hint();
  if (a.same(1)) return b;
  if (b.same(1)) return a;
  return answer('*', *space, a, b, [&] {
    Terms terms;
    const Terms x = terms_of(a), y = terms_of(b);
    for (const auto& [m, c] : x)
      for (const auto& [n, d] : y) {
        std::vector<int> product;
        std::merge(m.begin(), m.end(), n.begin(), n.end(), std::back_inserter(product));
        terms[product] += c * d;
      }
    return space->polynomial(std::move(terms));
  });
}

Size operator/(const Size& a, const Size& b) {
  SizeSpace* space = space_of(a, b);
  if (!space) return divided(a, b, SizeAtom::Kind::quotient);
  return answer('/', *space, a, b, [&] { return divided(a, b, SizeAtom::Kind::quotient); });
}
Size operator%(const Size& a, const Size& b) {
  SizeSpace* space = space_of(a, b);
  if (!space) return divided(a, b, SizeAtom::Kind::remainder);
  return answer('%', *space, a, b, [&] { return divided(a, b, SizeAtom::Kind::remainder); });
}

bool operator==(const Size& a, const Size& b) {
  if (a.same(b)) return true;
  SizeSpace* space = space_of(a, b);
  if (!space) return false;
  if (surely_below(a, b) || surely_below(b, a)) return false;
  return answer(estimating() ? 'e' : '=', *space, a, b, [&]() -> Size {
           const Size difference = a - b;
           if (difference.is_constant()) return difference.hint() == 0;
           const Terms& terms = difference.node()->terms;
           if (const auto low = min_value(*space, terms); low && *low > 0) return 0;
           if (const auto low = min_value(*space, negated(terms)); low && *low > 0) return 0;
           const bool equal = difference.hint() == 0;
           space->guard(difference, equal ? Guard::Kind::zero : Guard::Kind::not_zero);
           return equal;
         }).hint() != 0;
}

bool operator<(const Size& a, const Size& b) {
  SizeSpace* space = space_of(a, b);
  if (!space) return a.hint() < b.hint();
  if (surely_below(a, b)) return true;
  if (surely_not_above(b, a)) return false;
  return answer(estimating() ? 'l' : '<', *space, a, b, [&]() -> Size {
           const Size difference = b - a;
           if (difference.is_constant()) return difference.hint() > 0;
           const Terms& terms = difference.node()->terms;
           if (const auto low = min_value(*space, terms); low && *low > 0) return 1;
           if (const auto low = min_value(*space, negated(terms)); low && *low >= 0) return 0;
           const bool positive = difference.hint() > 0;
           space->guard(difference, positive ? Guard::Kind::positive : Guard::Kind::not_positive);
           return positive;
         }).hint() != 0;
}

Estimating::Estimating(bool on) : before_(std::exchange(estimating(), on)) {}
Estimating::~Estimating() { estimating() = before_; }

double as_double(const Size& size) {
  const std::int64_t value = size.hint();
  if (!size.is_constant() && !size.node()->estimated) {
    const Estimating estimate;
    size.node()->estimated = true;
    constexpr std::int64_t kFactor = 16;
    std::int64_t high = kFactor;
    while (high < value && high < INT64_MAX / kFactor) high *= kFactor;
    if (high > kFactor) (void)(size > high / kFactor);
    (void)(size <= high);
  }
  return static_cast<double>(value);
}

Size element_count(const Sizes& shape) {
  for (const Size& size : shape)
    if (size.is_constant() && size.hint() == 0) return 0;
  Size count = 1;
  for (const Size& size : shape) count *= size;
  return count;
}

Sizes sizes_of(const std::vector<std::int64_t>& numbers) { return {numbers.begin(), numbers.end()}; }

std::vector<std::int64_t> hints(const Sizes& sizes) {
  std::vector<std::int64_t> numbers;
  for (const Size& size : sizes) numbers.push_back(size.hint());
  return numbers;
}

namespace {

// A summand of a polynomial: a product of atoms (empty for 1), and its coefficient.
using Summand = std::pair<std::string, std::int64_t>;

std::string sum_of(const std::vector<Summand>& summands) {
  std::string text;
  // The constant comes last: "n0*n1 - 4".
  for (const bool constant : {false, true})
    for (const auto& [product, coeff] : summands) {
      if (product.empty() != constant) continue;
      const std::int64_t magnitude = coeff < 0 ? -coeff : coeff;
      text += text.empty() ? (coeff < 0 ? "-" : "") : coeff < 0 ? " - " : " + ";
      text += constant ? fmt::format("{}", magnitude) : magnitude == 1 ? product : fmt::format("{}*{}", magnitude, product);
    }
  return text.empty() ? "0" : text;
}

std::string in_parentheses(const std::string& sum) { return sum.find(' ') == std::string::npos ? sum : "(" + sum + ")"; }
std::string division_of(const std::string& a, bool remainder, const std::string& b) {
  return fmt::format("({} {} {})", in_parentheses(a), remainder ? '%' : '/', in_parentheses(b));
}

std::string condition_of(std::vector<Summand> summands, Guard::Kind kind) {
  // A constant is written on the other side: "n0 > 4", not "n0 - 4 > 0".
  std::int64_t right = 0;
  std::erase_if(summands, [&](const Summand& summand) {
    if (summand.first.empty()) right -= summand.second;
    return summand.first.empty();
  });
  const bool turn = std::all_of(summands.begin(), summands.end(), [](const Summand& summand) { return summand.second < 0; });
  if (turn) {
    for (auto& [product, coeff] : summands) coeff = -coeff;
    right = -right;
  }
  const char* sign = "";
  switch (kind) {
    case Guard::Kind::zero: sign = "=="; break;
    case Guard::Kind::not_zero: sign = "!="; break;
    case Guard::Kind::positive: sign = turn ? "<" : ">"; break;
    case Guard::Kind::not_positive: sign = turn ? ">=" : "<="; break;
  }
  return fmt::format("{} {} {}", sum_of(summands), sign, right);
}

std::string text_of(const SizeSpace& space, int number) {
  const SizeAtom& atom = space.atom(number);
  if (atom.kind == SizeAtom::Kind::symbol) return atom.name;
  return division_of(to_string(atom.a), atom.kind == SizeAtom::Kind::remainder, to_string(atom.b));
}

std::vector<Summand> summands_of(const Size& size) {
  std::vector<Summand> summands;
  for (const auto& [monomial, coeff] : size.node()->terms) {
    std::string product;
    for (const int atom : monomial) product += (product.empty() ? "" : "*") + text_of(*size.node()->space, atom);
    summands.push_back({std::move(product), coeff});
  }
  return summands;
}

}  // namespace

std::string to_string(const Size& size) { return size.is_constant() ? fmt::format("{}", size.hint()) : sum_of(summands_of(size)); }

// Returns the slot of an answer, or the free slot for it.
std::size_t SizeSpace::place_of(const Asked& asked) const {
  const auto bits = [](auto part) { return static_cast<std::uint64_t>(part); };
  std::uint64_t hash = mix(bits(asked.operation) ^ bits(asked.y) << 8, (bits(asked.a) << 32) ^ (bits(asked.b) & 0xffffffffu));
  hash = mix(hash, bits(asked.x));
  const std::size_t last = answers_.size() - 1;
  std::size_t place = static_cast<std::size_t>(hash) & last;
  while (answers_[place].asked.operation && !(answers_[place].asked == asked)) place = (place + 1) & last;
  return place;
}

const Size* SizeSpace::answered(const Asked& asked) const {
  if (answers_.empty()) return nullptr;
  const Answer& found = answers_[place_of(asked)];
  return found.asked.operation ? &found.size : nullptr;
}

void SizeSpace::remember(const Asked& asked, const Size& answer) {
  if (2 * answered_ >= answers_.size()) {
    std::vector<Answer> before(std::max<std::size_t>(64, answers_.size() * 2));
    before.swap(answers_);
    for (const Answer& known : before)
      if (known.asked.operation) answers_[place_of(known.asked)] = known;
  }
  answers_[place_of(asked)] = {asked, answer};
  ++answered_;
}

// ---- the space ------------------------------------------------------------------------------------------------------------

Size SizeSpace::symbol(std::string name, std::int64_t hint, std::int64_t low) {
  SizeAtom atom;
  atom.symbol = symbols_++;
  atom.name = std::move(name);
  atom.low = low;
  atom.hint = hint;
  atoms_.push_back(std::move(atom));
  return polynomial({{{static_cast<int>(atoms_.size()) - 1}, 1}});
}

std::vector<std::string> SizeSpace::symbol_names() const {
  std::vector<std::string> names;
  for (const auto& atom : atoms_)
    if (atom.kind == SizeAtom::Kind::symbol) names.push_back(atom.name);
  return names;
}

std::vector<std::int64_t> SizeSpace::symbol_values() const {
  std::vector<std::int64_t> values;
  for (const auto& atom : atoms_)
    if (atom.kind == SizeAtom::Kind::symbol) values.push_back(atom.hint);
  return values;
}

Size SizeSpace::atom(SizeAtom atom) {
  const auto part = [](const Size& size) { return std::pair(size.node() ? size.node()->id : -1, size.node() ? 0 : size.hint()); };
  const auto [ai, ah] = part(atom.a);
  const auto [bi, bh] = part(atom.b);
  const auto [known, fresh] = known_atoms_.try_emplace({static_cast<int>(atom.kind), ai, ah, bi, bh}, static_cast<int>(atoms_.size()));
  if (fresh) atoms_.push_back(std::move(atom));
  return polynomial({{{known->second}, 1}});
}

// (a / b) * b equals a if b divides a, so a stride is the same expression after an axis was split and merged again.
void SizeSpace::cancel(Terms& terms) const {
  const auto cancels = [&](const std::vector<int>& monomial, std::int64_t coeff) -> std::optional<Terms> {
    for (std::size_t k = 0; k < monomial.size(); ++k) {
      const SizeAtom& quotient = atoms_[static_cast<std::size_t>(monomial[k])];
      if (!quotient.exact) continue;
      const Terms divisor = terms_of(quotient.b);
      if (divisor.size() != 1) continue;
      std::vector<int> others = monomial;
      others.erase(others.begin() + static_cast<long>(k));
      const auto rest = exact_quotient({{others, coeff}}, divisor);
      if (!rest) continue;
      const auto& [factors, by] = *rest->begin();
      Terms product;
      for (const auto& [m, c] : terms_of(quotient.a)) {
        std::vector<int> merged;
        std::merge(m.begin(), m.end(), factors.begin(), factors.end(), std::back_inserter(merged));
        product[merged] += c * by;
      }
      return product;
    }
    return std::nullopt;
  };
  for (auto term = terms.begin(); term != terms.end();) {
    const auto product = cancels(term->first, term->second);
    if (!product) {
      ++term;
      continue;
    }
    terms.erase(term);
    for (const auto& [monomial, coeff] : *product) terms[monomial] += coeff;
    term = terms.begin();  // the new terms may cancel further
  }
}

Size SizeSpace::polynomial(Terms terms) {
  cancel(terms);
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  std::int64_t hint = 0;
  for (const auto& [monomial, coeff] : terms) {
    std::int64_t product = coeff;
    for (int atom : monomial) product *= atoms_[static_cast<std::size_t>(atom)].hint;
    hint += product;
  }
  const auto [known, fresh] = known_.try_emplace(terms, nullptr);
  if (fresh) {
    SizeNode& node = nodes_.emplace_back();
    node.space = this;
    node.id = static_cast<int>(nodes_.size()) - 1;
    node.low = min_value(*this, terms);
    if (const auto low = min_value(*this, negated(terms))) node.high = -*low;
    node.terms = std::move(terms);
    known->second = &node;
  }
  return Size(hint, known->second);
}

bool SizeSpace::is_zero(const Size& size) {
  if (!size.node()) return size.hint() == 0;
  const auto found = guarded_.find({size.node()->id, static_cast<int>(Guard::Kind::zero)});
  if (found == guarded_.end()) return false;
  guards_[found->second].estimate = false;
  return true;
}

void SizeSpace::guard(const Size& size, Guard::Kind kind) {
  if (closed_) return;
  const auto [known, fresh] = guarded_.try_emplace({size.node()->id, static_cast<int>(kind)}, guards_.size());
  if (fresh) guards_.push_back({size, kind, estimating()});
  else guards_[known->second].estimate &= estimating();
}

// ---- programs -------------------------------------------------------------------------------------------------------------

SizeProgram::SizeProgram(const SizeSpace& space, const Sizes& outputs, bool guarded) : space_(&space) {
  for (const Guard& guard : guarded ? space.guards() : std::vector<Guard>()) {
    need(guard.size);
    checks_.push_back({add(guard.size), guard.kind, guard.estimate});
  }
  guard_divisions_ = divisions_.size();
  for (const Size& size : outputs) {
    need(size);
    outputs_.push_back(add(size));
  }
  space_ = nullptr;
  place_.clear();
}

// Assigns a slot to every atom of the size, inner atoms first.
void SizeProgram::need(const Size& size) {
  if (size.is_constant()) return;
  for (const auto& [monomial, coeff] : size.node()->terms)
    for (int number : monomial) {
      if (static_cast<int>(place_.size()) <= number) place_.resize(static_cast<std::size_t>(number) + 1, -1);
      if (place_[static_cast<std::size_t>(number)] >= 0) continue;
      const SizeAtom& atom = space_->atom(number);
      if (atom.kind == SizeAtom::Kind::symbol) {
        symbols_.push_back({places_, atom.symbol});
      } else {
        need(atom.a);
        need(atom.b);
        const Polynomial a = add(atom.a), b = add(atom.b);
        divisions_.push_back({places_, atom.kind == SizeAtom::Kind::remainder, a, b});
      }
      place_[static_cast<std::size_t>(number)] = places_++;
    }
}

SizeProgram::Polynomial SizeProgram::add(const Size& size) {
  Polynomial polynomial{static_cast<int>(monomials_.size()), 0};
  for (const auto& [monomial, coeff] : terms_of(size)) {
    monomials_.push_back({coeff, static_cast<int>(factors_.size()), static_cast<int>(monomial.size())});
    for (int atom : monomial) factors_.push_back(place_[static_cast<std::size_t>(atom)]);
    ++polynomial.count;
  }
  return polynomial;
}

std::int64_t SizeProgram::value(const Polynomial& polynomial, const std::int64_t* atoms) const {
  std::uint64_t sum = 0;  // the numbers of a file are arbitrary, and wrap around
  for (int k = polynomial.first; k < polynomial.first + polynomial.count; ++k) {
    auto product = static_cast<std::uint64_t>(monomials_[static_cast<std::size_t>(k)].coeff);
    const int first = monomials_[static_cast<std::size_t>(k)].first, count = monomials_[static_cast<std::size_t>(k)].count;
    for (int f = first; f < first + count; ++f) product *= static_cast<std::uint64_t>(atoms[factors_[static_cast<std::size_t>(f)]]);
    sum += product;
  }
  return static_cast<std::int64_t>(sum);
}

void SizeProgram::divide(std::size_t count, std::int64_t* atoms) const {
  for (std::size_t k = 0; k < count; ++k) {
    const Division& division = divisions_[k];
    const std::int64_t a = value(division.a, atoms), b = value(division.b, atoms);
    const bool sensible = b != 0 && b != -1;  // a guard says whether b may be 0
    atoms[division.atom] = sensible ? (division.remainder ? a % b : a / b) : 0;
  }
}

namespace {
struct Atoms {
  std::vector<std::int64_t> values;
};
std::int64_t* workspace(int places) {
  auto& values = per_thread<Atoms>().values;
  if (static_cast<int>(values.size()) < places) values.resize(static_cast<std::size_t>(places));
  return values.data();
}
}  // namespace

const SizeProgram::Check* SizeProgram::first_unmet(const std::vector<std::int64_t>& symbols, bool estimates) const {
  std::int64_t* atoms = workspace(places_);
  for (const auto& [place, symbol] : symbols_) atoms[place] = symbols[static_cast<std::size_t>(symbol)];
  divide(guard_divisions_, atoms);
  for (const Check& check : checks_) {
    if (check.estimate && !estimates) continue;
    const std::int64_t sign = value(check.polynomial, atoms);
    switch (check.kind) {
      case Guard::Kind::zero:
        if (sign != 0) return &check;
        break;
      case Guard::Kind::not_zero:
        if (sign == 0) return &check;
        break;
      case Guard::Kind::positive:
        if (sign <= 0) return &check;
        break;
      case Guard::Kind::not_positive:
        if (sign > 0) return &check;
        break;
    }
  }
  return nullptr;
}

std::vector<Summand> SizeProgram::summands_of(const Polynomial& polynomial, const std::vector<std::string>& names) const {
  const auto text_of = [&](int place) {
    for (const auto& [at, symbol] : symbols_)
      if (at == place) return in_parentheses(names[static_cast<std::size_t>(symbol)]);
    for (const Division& division : divisions_)
      if (division.atom == place) return division_of(sum_of(summands_of(division.a, names)), division.remainder, sum_of(summands_of(division.b, names)));
    return std::string("?");
  };
  std::vector<Summand> summands;
  for (int k = polynomial.first; k < polynomial.first + polynomial.count; ++k) {
    const Monomial& monomial = monomials_[static_cast<std::size_t>(k)];
    std::string product;
    for (int f = monomial.first; f < monomial.first + monomial.count; ++f)
      product += (product.empty() ? "" : "*") + text_of(factors_[static_cast<std::size_t>(f)]);
    summands.push_back({std::move(product), monomial.coeff});
  }
  return summands;
}

bool SizeProgram::holds(const std::vector<std::int64_t>& symbols, bool estimates) const { return !first_unmet(symbols, estimates); }

std::string SizeProgram::unmet(const std::vector<std::int64_t>& symbols, const std::vector<std::string>& names, bool estimates) const {
  const Check* check = first_unmet(symbols, estimates);
  return check ? condition_of(summands_of(check->polynomial, names), check->kind) : "";
}

std::vector<std::string> SizeProgram::guards(const std::vector<std::string>& names) const {
  std::vector<std::string> texts;
  for (const Check& check : checks_) texts.push_back(condition_of(summands_of(check.polynomial, names), check.kind));
  return texts;
}

void SizeProgram::evaluate(const std::vector<std::int64_t>& symbols, std::vector<std::int64_t>& outputs) const {
  std::int64_t* atoms = workspace(places_);
  for (const auto& [place, symbol] : symbols_) atoms[place] = symbols[static_cast<std::size_t>(symbol)];
  divide(divisions_.size(), atoms);
  outputs.resize(outputs_.size());
  for (std::size_t k = 0; k < outputs_.size(); ++k) outputs[k] = value(outputs_[k], atoms);
}

bool SizeProgram::sound(std::size_t symbols, std::size_t outputs) const {
  const auto within = [](int first, int count, std::size_t size) {
    return first >= 0 && count >= 0 && static_cast<std::size_t>(first) + static_cast<std::size_t>(count) <= size;
  };
  const auto place = [&](int at) { return at >= 0 && at < places_; };
  const auto polynomial = [&](const Polynomial& p) { return within(p.first, p.count, monomials_.size()); };
  const auto all = [](const auto& list, auto good) { return std::all_of(list.begin(), list.end(), good); };
  return outputs_.size() == outputs && guard_divisions_ <= divisions_.size() && places_ >= 0 &&
         static_cast<std::size_t>(places_) <= symbols_.size() + divisions_.size() &&
         all(monomials_, [&](const Monomial& m) { return within(m.first, m.count, factors_.size()); }) && all(factors_, place) &&
         all(divisions_, [&](const Division& d) { return place(d.atom) && polynomial(d.a) && polynomial(d.b); }) &&
         all(symbols_, [&](const auto& s) { return place(s.first) && s.second >= 0 && static_cast<std::size_t>(s.second) < symbols; }) &&
         all(checks_, [&](const Check& c) { return polynomial(c.polynomial) && c.kind <= Guard::Kind::not_positive; }) && all(outputs_, polynomial);
}

}  // namespace sinter::trace
