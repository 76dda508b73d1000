// Index algebra: where an element of a view lives, as an expression over a kernel's axes. This is what makes reshape,
// transpose, slice, flip and broadcast free: they are rewrites of these expressions, never copies.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/graph.hpp"

namespace sinter::fuse {

using sinter::to_string;  // of a Shape

/// constant + sum of coeff * (axis, or (inner / div) % mod). Terms are sorted, merged and never zero. Floor division; inner
/// expressions are never negative. mod 0 means no remainder.
struct IndexExpr {
  struct Term {
    std::int64_t coeff = 1;
    int axis = -1;
    std::shared_ptr<const IndexExpr> inner;
    std::int64_t div = 1, mod = 0;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms;

  static IndexExpr of(std::int64_t constant) { return {constant, {}}; }
  static IndexExpr of_axis(int axis) { return {0, {{1, axis, nullptr, 1, 0}}}; }
};
bool operator==(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator+(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator*(const IndexExpr& a, std::int64_t factor);
std::string to_string(const IndexExpr& expr);
bool depends_on(const IndexExpr& expr, int axis);
/// The axis if the expression is exactly that axis, else -1.
int pure_axis(const IndexExpr& expr);

/// One expression per dimension of a node.
using Map = std::vector<IndexExpr>;
std::string to_string(const Map& map);

/// Thrown by `through` when a reshape would be affine if this axis were two: (outer, inner of this size). The caller splits the
/// axis and starts again.
struct SplitAxis {
  int axis;
  std::int64_t inner;
};

/// The map of a view's input, given the map of the view (op reshape, permute, slice or broadcast).
/// `sizes` are the axis sizes. Throws SplitAxis when that helps and `may_split`.
Map through(const trace::Node& view, const Shape& input_shape, const Map& map, const std::vector<std::int64_t>& sizes,
            bool may_split);
/// Re-expresses coordinates over shape `from` as coordinates over shape `to` of as many elements.
Map reshape_map(const Map& map, const Shape& from, const Shape& to, const std::vector<std::int64_t>& sizes, bool may_split);
/// Row-major element number.
IndexExpr linear(const Map& map, const Shape& shape);
/// Replaces axis `axis` by inner_size * outer_axis + inner_axis.
IndexExpr substitute(const IndexExpr& expr, int axis, const IndexExpr& by);

}  // namespace sinter::fuse
