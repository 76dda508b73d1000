// Small functions of NumPy that are one expression of others.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/ops.hpp"

namespace sinter {

/// Rounds to a number of decimals, half to even, as NumPy: x * 10^d is rounded and divided. Negative decimals round to tens, hundreds, ...
Tensor round(const Arg& x, int decimals);
/// Rounds towards zero: trunc.
Tensor fix(const Arg& x);
/// Returns the distance to the next number away from 0.
Tensor spacing(const Arg& x);
/// Other names of clip and bitwise_count, as in PyTorch and other libraries.
Tensor clamp(const Arg& x, const Arg& low, const Arg& high);
Tensor popcount(const Arg& x);
/// Computes power in float64 at least.
Tensor float_power(const Arg& a, const Arg& b);
Tensor isposinf(const Arg& x);
Tensor isneginf(const Arg& x);
/// Returns one bool: whether shapes and elements are equal; equal_nan treats NaN as equal to itself.
Tensor array_equal(const Arg& a, const Arg& b, bool equal_nan = false);
/// argmax and argmin that skip NaN; if all elements are NaN they return the first place (NumPy raises).
Tensor nanargmax(const Arg& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);
Tensor nanargmin(const Arg& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);

/// Returns the sum of products of the flat tensors.
Tensor vdot(const Arg& a, const Arg& b);
/// Multiply matrices by vectors, and vectors by matrices; the other axes broadcast.
Tensor matvec(const Arg& a, const Arg& x);
Tensor vecmat(const Arg& x, const Arg& a);

}  // namespace sinter
