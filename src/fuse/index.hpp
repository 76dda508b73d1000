// An index expression gives the position of a view's element as a formula over a kernel's axes. So reshape, transpose, slice, flip and broadcast are free: they
// rewrite the expressions and never copy.
//
// An expression is hash-consed: equal expressions of one space are the same object, compared by identity, and common parts are stored once. Each has one
// canonical form (see div_mod), so that a thousand composed reshapes and transposes stay as small as one if mixed-radix arithmetic allows it. Otherwise
// `divisions` gives the size of the expression.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fuse/graph.hpp"

namespace sinter::fuse {

struct IndexNode;
struct IndexTerm;

/// constant + sum of coeff * factor. A factor is an axis, a computed value, or (inner / div) % mod. Terms are sorted, merged and never zero. An IndexExpr is a
/// small handle, which is valid as long as its space exists.
class IndexExpr {
 public:
  IndexExpr();  // the expression 0
  static IndexExpr of(const Size& constant);
  static IndexExpr of_axis(int axis);
  /// Returns an int64 value of the kernel, given by its number.
  static IndexExpr of_value(int value);

  const Size& constant() const;
  const std::vector<IndexTerm>& terms() const;
  /// Returns a bit for each axis on which the expression depends.
  std::uint64_t axes() const;
  /// Returns the number of distinct divisions and remainders, which is the cost of computing the expression.
  int divisions() const;
  /// Returns whether the expression contains computed values.
  bool has_values() const;
  /// Returns the expression's number in the order of creation in its space, which is the same from run to run.
  int order() const;

  friend bool operator==(const IndexExpr&, const IndexExpr&) = default;

 private:
  friend class IndexSpace;
  explicit IndexExpr(const IndexNode* node) : node_(node) {}
  const IndexNode* node_;
};

struct IndexTerm {
  Size coeff = 1;
  int axis = -1;          // >= 0: the factor is this axis
  int value = -1;         // >= 0: the factor is this computed value
  IndexExpr inner;        // otherwise (inner / div) % mod; the inner expression is never negative
  Size div = 1, mod = 0;  // mod: the constant 0 for no remainder
  bool divides() const { return axis < 0 && value < 0; }
  bool whole() const { return mod.same(0); }  // no remainder
};

struct IndexNode {
  Size constant = 0;
  std::vector<IndexTerm> terms;
  std::uint64_t axes = 0;  // a bit for each axis on which it depends
  int divisions = 0;
  int order = 0;
  bool values = false;  // it contains computed values
};

/// Owns the expressions of one plan. New expressions go to the space of the innermost Scope of the thread.
class IndexSpace {
 public:
  IndexSpace();
  IndexSpace(const IndexSpace&) = delete;
  IndexSpace& operator=(const IndexSpace&) = delete;
  IndexExpr intern(const Size& constant, std::vector<IndexTerm> terms);
  std::size_t size() const { return nodes_.size(); }

  /// While this object exists, a space is the thread's current one.
  class Scope {
   public:
    explicit Scope(std::shared_ptr<IndexSpace> space);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<IndexSpace> before_;
  };
  /// Returns the thread's space. If no Scope is open, makes a new one.
  static const std::shared_ptr<IndexSpace>& current();

 private:
  std::deque<IndexNode> nodes_;  // a deque, because addresses must stay valid
  std::unordered_multimap<std::uint64_t, const IndexNode*> known_;
};

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator*(const IndexExpr& a, const Size& factor);
std::string to_string(const IndexExpr& expr);
bool depends_on(const IndexExpr& expr, int axis);
/// Calls `visit` for every computed value in the expression, each once.
void each_value(const IndexExpr& expr, const std::function<void(int value)>& visit);
/// Returns the axis if the expression is exactly an axis, else -1.
int pure_axis(const IndexExpr& expr);
/// Returns the axis' coefficient outside of any division.
Size direct_coefficient(const IndexExpr& expr, int axis);
/// Returns the smallest and the largest value of an expression.
struct IndexRange {
  Size low, high;
};
IndexRange range(const IndexExpr& expr, const Sizes& sizes);
/// Returns the expression with new numbers for computed values: value v becomes numbers[v].
IndexExpr with_values(const IndexExpr& expr, const std::vector<int>& numbers);
/// Returns (expr / div) % mod in canonical form; mod 0 means no remainder. The expression must not be negative. `sizes`: of the kernel's axes.
IndexExpr div_mod(const IndexExpr& expr, const Size& div, const Size& mod, const Sizes& sizes);

/// One expression per dimension of a node.
using Map = std::vector<IndexExpr>;
/// Returns whether each position of a map is inside a shape at all points; false if this depends on a computed value.
bool in_range(const Map& map, const Sizes& shape, const Sizes& sizes);
std::string to_string(const Map& map);
struct MapHash {
  std::size_t operator()(const Map& map) const;
};
/// Returns the largest number of divisions of an expression of the map.
int divisions(const Map& map);

/// An axis that becomes two: (outer, inner of this size).
struct SplitAxis {
  int axis;
  Size inner;
};
/// A map, or no map and the split that would make a reshape affine. In the second case the caller splits the axis and starts again.
struct Mapped {
  Map map;
  std::optional<SplitAxis> split = {};
};

/// Returns the map of a view's input, given the map of the view (op reshape, permute, slice or broadcast). `sizes`: of the axes. An axis is split only if
/// `may_split`.
Mapped through(const Node& view, const Sizes& input_shape, const Map& map, const Sizes& sizes, bool may_split);
/// Converts coordinates over shape `from` to coordinates over shape `to` with as many elements.
Mapped reshape_map(const Map& map, const Sizes& from, const Sizes& to, const Sizes& sizes, bool may_split);
/// Returns the axes themselves as coordinates.
Map identity_map(std::size_t axes);
/// Returns the number of the element in row-major order.
IndexExpr linear(const Map& map, const Sizes& shape);
/// Replaces every axis k by by[k], which must have the same range.
IndexExpr substitute(const IndexExpr& expr, const std::vector<IndexExpr>& by);
/// Returns whether the expression treats axis `axis` and the next one, of this size, as one axis.
bool walks_as_one(const IndexExpr& expr, int axis, const Size& inner_size);

}  // namespace sinter::fuse
