// Products and norms. Each is composed of views and matmul, or is one fused reduction.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// Returns the sum of products along an axis; the other axes broadcast.
Tensor vecdot(const Arg& a, const Arg& b, std::int64_t axis = -1);
/// Returns result(i, j) = a(i) * b(j) for the flat tensors.
Tensor outer(const Arg& a, const Arg& b);
/// Sums products over the last axis of both; the result has all other axes of both.
Tensor inner(const Arg& a, const Arg& b);
/// Sums products over the last `axes` axes of a and the first of b.
Tensor tensordot(const Arg& a, const Arg& b, std::int64_t axes = 2);
/// Sums products over these axes of a and of b, pair by pair.
Tensor tensordot(const Arg& a, const Arg& b, const std::vector<std::int64_t>& axes_a, const std::vector<std::int64_t>& axes_b);
/// Evaluates subscripts as in einsum("ij,jk->ik", {a, b}): letters name axes, "..." stands for axes that broadcast, and axes that the result does not name are
/// summed. Operands are multiplied in pairs; the pair with the smallest product comes first. Throws ValueError for more than 64 operands.
Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& operands, Location where = Location::current());
template <std::derived_from<Tensor>... T> Tensor einsum(std::string_view subscripts, detail::First first, const T&... operands) {
  return einsum(subscripts, std::vector<Tensor>{first.tensor, operands...}, first.where);
}
Tensor kron(const Arg& a, const Arg& b);
/// Multiplies two matrices or more in the order that costs least; the first and the last may be vectors.
Tensor multi_dot(const std::vector<Tensor>& matrices, Location where = Location::current());
/// Returns the sum along a diagonal, in int64 or uint64 for bool and integers. It is NumPy's trace; sinter::trace is a namespace.
Tensor matrix_trace(const Arg& x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
/// Exchanges the last two axes.
Tensor matrix_transpose(const Arg& x);
/// Returns the product of n factors x, by squaring. A negative n gives the power -n of the inverse.
Tensor matrix_power(const Arg& x, std::int64_t n);
/// Returns the cross product of vectors of 3 numbers along an axis; the other axes broadcast.
Tensor cross(const Arg& a, const Arg& b, std::int64_t axis = -1);
/// Returns (sum |x|^ord)^(1/ord); ord may be 0 (the number of elements that are not 0), infinity (the largest) and -infinity (the smallest).
Tensor vector_norm(const Arg& x, const Axes& axes = {}, bool keepdims = false, double ord = 2);

/// Returns the distances (vector_norm) of the rows of a (.., n, d) to the rows of b (.., m, d): (.., n, m).
Tensor cdist(const Arg& a, const Arg& b, double ord = 2);

/// The order of a norm: a number, "fro" or "nuc".
class NormOrder {
 public:
  template <class Number>
    requires std::is_arithmetic_v<Number>
  NormOrder(Number number) : number_(static_cast<double>(number)) {}
  NormOrder(const char* name) : name_(name) {}
  std::optional<double> number() const { return number_; }  ///< nullopt for a name
  std::string_view name() const { return name_; }           ///< empty for a number

 private:
  std::optional<double> number_;
  std::string_view name_;
};

/// Returns a norm of the matrices in the last two axes: "fro" is the root of the sum of squares. 1 and -1 are the largest and the smallest sum of magnitudes in
/// a column; infinity and -infinity are those in a row. 2 and -2 are the largest and the smallest singular value; "nuc" is the sum of the singular values.
Tensor matrix_norm(const Arg& x, bool keepdims = false, NormOrder ord = "fro");
/// Follows NumPy's linalg.norm. Without `ord` it returns the root of the sum of squares. With `ord` it returns vector_norm if there is one axis, and
/// matrix_norm if there are two.
Tensor norm(const Arg& x, std::optional<NormOrder> ord = {}, const Axes& axes = {}, bool keepdims = false);

}  // namespace sinter
