// Size: a number that scheduling computes with, known today and a symbol for tomorrow. Shapes, strides, loop bounds, bytes and
// launch numbers are polynomials over symbols (and quotients and remainders of polynomials). A comparison is answered for today's
// values and leaves a guard, unless the answer is the same for all values. So a plan that was made with sizes holds for every
// size that meets its guards, and a run binds numbers instead of planning again.
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

namespace sinter::fuse {

struct SizeNode;
class SizeSpace;

class Size {
 public:
  Size(std::int64_t value = 0) : hint_(value) {}
  /// Today's value. What is decided by it leaves no guard: for printing, and where any answer is right.
  std::int64_t hint() const { return hint_; }
  bool is_constant() const { return node_ == nullptr; }
  /// The same expression, not only the same value today; leaves no guard.
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
/// Towards zero, as int64's; the divisor is not zero.
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

/// Today's value, guarded to be exactly that.
inline std::int64_t exactly(const Size& size) {
  (void)(size == size.hint());
  return size.hint();
}
/// For estimates: today's value, guarded to its order of magnitude (a factor of 16).
double as_double(const Size& size);

/// While one lives, what the thread compares decides what is faster, not what is right: the guards are estimates (Guard::estimate), which a plan may miss
/// where no better one can be made.
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
/// Today's values.
std::vector<std::int64_t> hints(const Sizes& sizes);

/// A polynomial: coefficients by monomials, which are sorted lists of atoms.
struct SizeNode {
  SizeSpace* space = nullptr;
  int id = -1;
  std::map<std::vector<int>, std::int64_t> terms;
  std::optional<std::int64_t> low, high;  // bounds for all values of the symbols, where there are any
  mutable bool estimated = false;         // its order of magnitude is guarded already
};

/// What a polynomial is made of: a symbol, or a quotient or remainder of two sizes.
struct SizeAtom {
  enum class Kind : std::uint8_t { symbol, quotient, remainder };
  Kind kind = Kind::symbol;
  Size a, b;                        // quotient, remainder
  bool exact = false;               // quotient: a is a multiple of b, by a guard
  int symbol = -1;                  // symbol: its number
  std::string name;                 // symbol: "n0"
  std::optional<std::int64_t> low;  // a lower bound, not negative; none where the value may be
  std::int64_t hint = 0;
};

/// A condition on the symbols: what a decision took for granted.
struct Guard {
  enum class Kind : std::uint8_t { zero, not_zero, positive, not_positive };
  Size size;
  Kind kind;
  bool estimate = false;  // a plan for sizes that do not meet it is right, and may be slower than another
};

/// Owns the expressions and guards of one plan. Not thread-safe; immutable once closed.
class SizeSpace {
 public:
  SizeSpace() = default;
  SizeSpace(const SizeSpace&) = delete;
  SizeSpace& operator=(const SizeSpace&) = delete;

  /// The next symbol, never below `low`.
  Size symbol(std::string name, std::int64_t hint, std::int64_t low);
  const std::vector<Guard>& guards() const { return guards_; }
  std::vector<std::string> symbol_names() const;
  /// Today's values.
  std::vector<std::int64_t> symbol_values() const;
  /// No further guards: the plan is made.
  void close() { closed_ = true; }

  // For the operators.
  using Terms = std::map<std::vector<int>, std::int64_t>;
  Size polynomial(Terms terms);
  Size atom(SizeAtom atom);
  const SizeAtom& atom(int number) const { return atoms_[static_cast<std::size_t>(number)]; }
  void guard(const Size& size, Guard::Kind kind);
  /// Whether a guard says that it is 0; what is made of that needs the guard, if it was an estimate.
  bool is_zero(const Size& size);
  /// What an operation gave for the same operands before: planning asks the same few things over and over.
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
    Asked asked{};  // operation 0: none
    Size size;
  };
  std::size_t place_of(const Asked& asked) const;
  std::vector<Answer> answers_;  // open addressing: as many as a power of two
  std::size_t answered_ = 0;
  std::vector<Guard> guards_;
  std::map<std::pair<int, int>, std::size_t> guarded_;  // a polynomial and a kind -> which of the guards
  int symbols_ = 0;
  bool closed_ = false;
};

/// Sizes made ready to be computed from the symbols' values many times.
class SizeProgram {
 public:
  SizeProgram() = default;
  SizeProgram(const SizeSpace& space, const Sizes& outputs);
  /// Whether the space's guards hold for these values of the symbols: all of them, or all that are no estimates.
  bool holds(const std::vector<std::int64_t>& symbols, bool estimates = true) const;
  /// The first of the guards in question that does not hold, with the symbols by these names; empty if all hold.
  std::string unmet(const std::vector<std::int64_t>& symbols, const std::vector<std::string>& names, bool estimates = true) const;
  /// All guards, with the symbols by these names: "n0 > 16".
  std::vector<std::string> guards(const std::vector<std::string>& names) const;
  /// The outputs' values.
  void evaluate(const std::vector<std::int64_t>& symbols, std::vector<std::int64_t>& outputs) const;

  /// Every part, for who keeps the program in a file.
  auto tied() { return std::tie(monomials_, factors_, divisions_, guard_divisions_, symbols_, checks_, outputs_, places_); }
  /// Of a program that a file gave: whether it can be run on this many symbols, and gives this many numbers.
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
  std::vector<int> place_;            // while compiling: atom -> its place
  std::vector<Monomial> monomials_;
  std::vector<int> factors_;
  std::vector<Division> divisions_;  // in an order in which they can be computed; those that guards need first
  std::size_t guard_divisions_ = 0;
  std::vector<std::pair<int, int>> symbols_;  // (place, symbol)
  std::vector<Check> checks_;
  std::vector<Polynomial> outputs_;
  int places_ = 0;
};

}  // namespace sinter::fuse

/// As today's value.
template <> struct fmt::formatter<sinter::fuse::Size> : fmt::formatter<std::int64_t> {
  template <class Context> auto format(const sinter::fuse::Size& size, Context& context) const {
    return fmt::formatter<std::int64_t>::format(size.hint(), context);
  }
};
