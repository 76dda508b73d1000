// Small functions of NumPy's that are one expression of others.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/ops.hpp"

namespace sinter {

/// To so many decimals, half to even, as NumPy: x * 10^d rounded and divided again. Negative ones round to tens, hundreds, ...
Tensor round(const Arg& x, int decimals);
/// Towards zero: trunc.
Tensor fix(const Arg& x);
/// How far the next number lies, away from 0.
Tensor spacing(const Arg& x);
/// clip and bitwise_count, by the names that PyTorch and others have for them.
Tensor clamp(const Arg& x, const Arg& low, const Arg& high);
Tensor popcount(const Arg& x);
/// power in float64 at least.
Tensor float_power(const Arg& a, const Arg& b);
Tensor isposinf(const Arg& x);
Tensor isneginf(const Arg& x);
/// Whether shapes and elements are equal: one bool; equal_nan takes NaN for equal to itself.
Tensor array_equal(const Arg& a, const Arg& b, bool equal_nan = false);
/// argmax and argmin that leave NaN out; of nothing but NaN the first place (NumPy raises).
Tensor nanargmax(const Arg& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);
Tensor nanargmin(const Arg& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);

/// The product of the flat tensors, summed.
Tensor vdot(const Arg& a, const Arg& b);
/// Matrices times vectors, vectors times matrices; the other axes broadcast.
Tensor matvec(const Arg& a, const Arg& x);
Tensor vecmat(const Arg& x, const Arg& a);

}  // namespace sinter
