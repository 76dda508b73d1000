// Size: a number that scheduling computes with. It has a value for the present call and a symbolic expression for later calls. Shapes, strides, loop bounds,
// bytes and launch numbers are polynomials over symbols (and quotients and remainders of polynomials). A comparison is answered for the present values and
// leaves a guard, unless the answer is the same for all values. So a plan is valid for every size that meets its guards, and a run binds numbers instead of
// planning again.
//
// The idea of hints and guards is that of PyTorch's dynamic shapes (SymInt and ShapeEnv).
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sinter::trace {

struct SizeNode;
class SizeSpace;

class Size {
 public:
  Size(std::int64_t value = 0) : hint_(value) {}
  /// Returns the present value. A decision by it leaves no guard, so it may be used only for printing and for decisions that are correct either way.
  std::int64_t hint() const { return hint_; }
  bool is_constant() const { return node_ == nullptr; }
  /// Returns whether both are the same expression, not only the same present value; leaves no guard.
  bool same(const Size& other) const { return node_ == other.node_ && hint_ == other.hint_; }
  /// A total order of expressions that is the same from run to run; leaves no guard.
  bool before(const Size& other) const;
  const SizeNode* node() const { return node_; }

 private:
  friend class SizeSpace;
  Size(std::int64_t hint, const SizeNode* node) : hint_(hint), node_(node) {}
  std::int64_t hint_;
  const SizeNode* node_ = nullptr;  // null: a constant
};

Size operator+(const Size& a, const Size& b);
Size operator-(const Size& a, const Size& b);
Size operator*(const Size& a, const Size& b);
/// Divides towards zero, like int64; the divisor must not be zero.
Size operator/(const Size& a, const Size& b);
Size operator%(const Size& a, const Size& b);
inline Size operator-(const Size& a) { return Size(0) - a; }
inline Size& operator+=(Size& a, const Size& b) { return a = a + b; }
inline Size& operator-=(Size& a, const Size& b) { return a = a - b; }
inline Size& operator*=(Size& a, const Size& b) { return a = a * b; }
inline Size& operator/=(Size& a, const Size& b) { return a = a / b; }
bool operator==(const Size& a, const Size& b);
bool operator<(const Size& a, const Size& b);
inline bool operator!=(const Size& a, const Size& b) { return !(a == b); }
inline bool operator>(const Size& a, const Size& b) { return b < a; }
inline bool operator<=(const Size& a, const Size& b) { return !(b < a); }
inline bool operator>=(const Size& a, const Size& b) { return !(a < b); }
std::string to_string(const Size& size);

/// Returns the present value, and leaves a guard that the size has exactly this value.
inline std::int64_t exactly(const Size& size) {
  (void)(size == size.hint());
  return size.hint();
}
/// Returns whether the size is a multiple of `of`, which is not 0. Only the answer yes leaves a guard, so both answers must lead to correct plans.
inline bool is_known_multiple(const Size& size, const Size& of) { return of.hint() != 0 && size.hint() % of.hint() == 0 && size % of == 0; }
/// Returns the present value for estimates, and leaves a guard on its order of magnitude (a factor of 16).
double as_double(const Size& size);

/// While an Estimating exists, comparisons of this thread only decide which way is faster. Their guards are estimates (Guard::estimate), which need not be true
/// if no better plan can be made.
class Estimating {
 public:
  explicit Estimating(bool on = true);
  ~Estimating();
  Estimating(const Estimating&) = delete;
  Estimating& operator=(const Estimating&) = delete;

 private:
  bool before_;
};

using Sizes = std::vector<Size>;
Size element_count(const Sizes& shape);
Sizes sizes_of(const std::vector<std::int64_t>& numbers);
/// Returns the present values.
std::vector<std::int64_t> hints(const Sizes& sizes);

/// A polynomial: coefficients by monomials, which are sorted lists of atoms.
struct SizeNode {
  SizeSpace* space = nullptr;
  int id = -1;
  std::map<std::vector<int>, std::int64_t> terms;
  std::optional<std::int64_t> low, high;  // bounds for all values of the symbols, if there are any
  mutable bool estimated = false;         // there is already a guard on its order of magnitude
};

/// A part of a polynomial: a symbol, or a quotient or remainder of two sizes.
struct SizeAtom {
  enum class Kind : std::uint8_t { symbol, quotient, remainder };
  Kind kind = Kind::symbol;
  Size a, b;                        // quotient, remainder
  bool exact = false;               // quotient: a guard says that a is a multiple of b
  int symbol = -1;                  // symbol: its number
  std::string name;                 // symbol: "n0"
  std::optional<std::int64_t> low;  // a nonnegative lower bound; none if the value may be negative
  std::int64_t hint = 0;
};

/// A condition on the symbols that a decision relied on.
struct Guard {
  enum class Kind : std::uint8_t { zero, not_zero, positive, not_positive };
  Size size;
  Kind kind;
  bool estimate = false;  // for sizes that do not meet it, the plan is correct, but another may be faster
};

/// Owns the expressions and guards of one plan. Not thread-safe; immutable once closed.
class SizeSpace {
 public:
  SizeSpace() = default;
  SizeSpace(const SizeSpace&) = delete;
  SizeSpace& operator=(const SizeSpace&) = delete;

  /// Returns the next symbol, which is never below `low`.
  Size symbol(std::string name, std::int64_t hint, std::int64_t low);
  const std::vector<Guard>& guards() const { return guards_; }
  std::vector<std::string> symbol_names() const;
  /// Returns the symbols' present values.
  std::vector<std::int64_t> symbol_values() const;
  /// Forbids further guards: the plan is made.
  void close() { closed_ = true; }

  // The operators use these functions.
  using Terms = std::map<std::vector<int>, std::int64_t>;
  Size polynomial(Terms terms);
  Size atom(SizeAtom atom);
  const SizeAtom& atom(int number) const { return atoms_[static_cast<std::size_t>(number)]; }
  void guard(const Size& size, Guard::Kind kind);
  /// Returns whether a guard says that the size is 0. If that guard was an estimate, it becomes a condition.
  bool is_zero(const Size& size);
  /// The result of an earlier operation on the same operands, because planning repeats the same few operations.
  struct Asked {
    char operation;
    int a, b;           // ids of polynomials, -1 for constants
    std::int64_t x, y;  // the constants
    friend bool operator==(const Asked&, const Asked&) = default;
  };
  const Size* answered(const Asked& asked) const;
  void remember(const Asked& asked, const Size& answer);

 private:
  void cancel(Terms& terms) const;
  std::deque<SizeNode> nodes_;
  std::vector<SizeAtom> atoms_;
  std::map<Terms, const SizeNode*> known_;
  std::map<std::tuple<int, int, std::int64_t, int, std::int64_t>, int> known_atoms_;
  struct Answer {
    Asked asked{};  // operation 0: the entry is empty
    Size size;
  };
  std::size_t place_of(const Asked& asked) const;
  std::vector<Answer> answers_;  // a hash table with open addressing, whose size is a power of two
  std::size_t answered_ = 0;
  std::vector<Guard> guards_;
  std::map<std::pair<int, int>, std::size_t> guarded_;  // a polynomial and a kind -> number of the guard
  int symbols_ = 0;
  bool closed_ = false;
};

/// Sizes compiled to a program that computes them from the symbols' values, for many uses.
class SizeProgram {
 public:
  SizeProgram() = default;
  /// `guarded`: includes the guards of the space; otherwise holds() is always true.
  SizeProgram(const SizeSpace& space, const Sizes& outputs, bool guarded = true);
  /// Returns whether the space's guards hold for these values of the symbols: all of them, or all except estimates.
  bool holds(const std::vector<std::int64_t>& symbols, bool estimates = true) const;
  /// Returns the first of these guards that does not hold, with these names for the symbols; an empty text if all hold.
  std::string unmet(const std::vector<std::int64_t>& symbols, const std::vector<std::string>& names, bool estimates = true) const;
  /// Returns all guards, with these names for the symbols: "n0 > 16".
  std::vector<std::string> guards(const std::vector<std::string>& names) const;
  std::size_t outputs() const { return outputs_.size(); }
  /// Computes the values of the outputs.
  void evaluate(const std::vector<std::int64_t>& symbols, std::vector<std::int64_t>& outputs) const;

  /// Returns all members, for storing the program in a file.
  auto tied() { return std::tie(monomials_, factors_, divisions_, guard_divisions_, symbols_, checks_, outputs_, places_); }
  /// For a program from a file: returns whether it can run on this many symbols and gives this many numbers.
  bool sound(std::size_t symbols, std::size_t outputs) const;

 private:
  struct Monomial {  // factors_[first, first + count)
    std::int64_t coeff;
    int first, count;
    auto tied() { return std::tie(coeff, first, count); }
  };
  struct Polynomial {  // monomials_[first, first + count)
    int first = 0, count = 0;
    auto tied() { return std::tie(first, count); }
  };
  struct Division {
    int atom;
    bool remainder;
    Polynomial a, b;
    auto tied() { return std::tie(atom, remainder, a, b); }
  };
  struct Check {
    Polynomial polynomial;
    Guard::Kind kind;
    bool estimate;
    auto tied() { return std::tie(polynomial, kind, estimate); }
  };
  const Check* first_unmet(const std::vector<std::int64_t>& symbols, bool estimates) const;
  std::vector<std::pair<std::string, std::int64_t>> summands_of(const Polynomial& polynomial, const std::vector<std::string>& names) const;
  Polynomial add(const Size& size);
  void need(const Size& size);
  std::int64_t value(const Polynomial& polynomial, const std::int64_t* atoms) const;
  void divide(std::size_t count, std::int64_t* atoms) const;
  const SizeSpace* space_ = nullptr;  // while compiling
  std::vector<int> place_;            // while compiling: place of each atom
  std::vector<Monomial> monomials_;
  std::vector<int> factors_;
  std::vector<Division> divisions_;  // in a valid order; those that guards need come first
  std::size_t guard_divisions_ = 0;
  std::vector<std::pair<int, int>> symbols_;  // (place, symbol)
  std::vector<Check> checks_;
  std::vector<Polynomial> outputs_;
  int places_ = 0;
};

}  // namespace sinter::trace

/// Formats the present value.
template <> struct fmt::formatter<sinter::trace::Size> : fmt::formatter<std::int64_t> {
  template <class Context> auto format(const sinter::trace::Size& size, Context& context) const {
    return fmt::formatter<std::int64_t>::format(size.hint(), context);
  }
};
