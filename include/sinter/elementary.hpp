// Small functions of NumPy, each of which is one expression of other functions.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/ops.hpp"

namespace sinter {

/// Rounds to a number of decimals, half to even, as NumPy does: x * 10^d is rounded and divided by 10^d. Negative numbers of decimals round to tens, hundreds,
/// ...
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
/// Returns one bool: whether shapes and elements are equal. With equal_nan, NaN equals NaN.
Tensor array_equal(const Arg& a, const Arg& b, bool equal_nan = false);
/// These are argmax and argmin without NaN. If all elements are NaN, they return the first place, where NumPy raises an exception.
Tensor nanargmax(const Arg& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);
Tensor nanargmin(const Arg& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);

/// Returns the sum of products of the flat tensors.
Tensor vdot(const Arg& a, const Arg& b);
/// matvec multiplies matrices by vectors, vecmat vectors by matrices; the other axes broadcast.
Tensor matvec(const Arg& a, const Arg& x);
Tensor vecmat(const Arg& x, const Arg& a);

}  // namespace sinter
