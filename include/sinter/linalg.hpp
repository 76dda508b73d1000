// Products and norms, lowered to views, matmul or one fused reduction.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// The sum of products along an axis; the others broadcast.
Tensor vecdot(const Arg& a, const Arg& b, std::int64_t axis = -1);
/// Of the flat tensors: result(i, j) = a(i) * b(j).
Tensor outer(const Arg& a, const Arg& b);
/// Over the last axis of both, all others kept.
Tensor inner(const Arg& a, const Arg& b);
/// Over the last `axes` axes of a and the first of b.
Tensor tensordot(const Arg& a, const Arg& b, std::int64_t axes = 2);
/// Over these axes of a and of b, pair by pair.
Tensor tensordot(const Arg& a, const Arg& b, const std::vector<std::int64_t>& axes_a, const std::vector<std::int64_t>& axes_b);
/// einsum("ij,jk->ik", {a, b}): letters name axes, what the result does not name is summed; "..." stands for axes that broadcast.
/// Two operands at a time, those first whose product is smallest. ValueError for more than 64 operands.
Tensor einsum(std::string_view subscripts, const std::vector<Tensor>& operands, Location where = Location::current());
Tensor kron(const Arg& a, const Arg& b);
/// The product of two matrices or more, of which the first and the last may be vectors, in the order that costs least.
Tensor multi_dot(const std::vector<Tensor>& matrices, Location where = Location::current());
/// NumPy's trace, which is a namespace here: the sum along a diagonal; of bool and integers in int64 or uint64.
Tensor matrix_trace(const Arg& x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
/// The last two axes exchanged.
Tensor matrix_transpose(const Arg& x);
/// x @ x @ ... n times, by squaring; of the inverse for a negative n.
Tensor matrix_power(const Arg& x, std::int64_t n);
/// The cross product of vectors of 3 numbers along an axis; the others broadcast.
Tensor cross(const Arg& a, const Arg& b, std::int64_t axis = -1);
/// (sum |x|^ord)^(1/ord); ord may be 0 (elements that are not 0), infinity (the largest) and -infinity (the smallest).
Tensor vector_norm(const Arg& x, const Axes& axes = {}, bool keepdims = false, double ord = 2);

/// Which norm: a number, "fro" or "nuc".
class NormOrder {
 public:
  template <class Number>
    requires std::is_arithmetic_v<Number>
  NormOrder(Number number) : number_(static_cast<double>(number)) {}
  NormOrder(const char* name) : name_(name) {}
  std::optional<double> number() const { return number_; }
  std::string_view name() const { return name_; }  // where it is no number

 private:
  std::optional<double> number_;
  std::string_view name_;
};

/// Of the matrices in the last two axes: "fro", the root of the sum of squares; 1 and -1, the largest and smallest sum of a column's magnitudes;
/// infinity and -infinity, of a row's; 2 and -2, the largest and smallest singular value; "nuc", their sum.
Tensor matrix_norm(const Arg& x, bool keepdims = false, NormOrder ord = "fro");
/// As NumPy's linalg.norm: without `ord` the root of the sum of squares; else of one axis a vector's norm, of two a matrix's.
Tensor norm(const Arg& x, std::optional<NormOrder> ord = {}, const Axes& axes = {}, bool keepdims = false);

}  // namespace sinter
