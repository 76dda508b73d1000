// Differences, and reductions composed of others. The nan-variants leave NaN out; of nothing but NaN their mean and extremes are NaN.
#pragma once
#include <cstdint>
#include <optional>

#include "sinter/tensor.hpp"

namespace sinter {

/// x[i + 1] - x[i] along an axis, `n` times; of bool, whether they differ.
Tensor diff(const Arg& x, std::int64_t n = 1, std::int64_t axis = -1);
/// max - min
Tensor ptp(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor count_nonzero(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nansum(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanprod(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmin(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmax(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmean(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanvar(const Arg& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Tensor nanstd(const Arg& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
/// sum(x * weights) / sum(weights); an empty handle weighs all the same. Weights are of x's shape, or a vector along the one axis.
Tensor average(const Arg& x, const Axes& axes = {}, const Tensor& weights = {}, bool keepdims = false);
/// The integral by the trapezoidal rule, at points dx apart.
Tensor trapezoid(const Arg& y, double dx = 1, std::int64_t axis = -1);
/// At the points x, of y's shape or a vector along the axis.
Tensor trapezoid(const Arg& y, const Tensor& x, std::int64_t axis = -1);
/// The Array API's name of cumsum and cumprod; without an axis the tensor has to be a vector.
Tensor cumulative_sum(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
Tensor cumulative_prod(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});

}  // namespace sinter
