// Differences, and reductions composed of others; quantiles, histograms, covariance. The nan-variants leave NaN out; of nothing but NaN
// their mean, extremes and quantiles are NaN.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// x[i + 1] - x[i] along an axis, `n` times, at most 4096 (ValueError); of bool, whether they differ.
Tensor diff(const Arg& x, std::int64_t n = 1, std::int64_t axis = -1);
/// The differences of the flat tensor.
Tensor ediff1d(const Arg& x);
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
/// include_initial puts the sum (product) of nothing in front.
Tensor cumulative_sum(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {}, bool include_initial = false);
Tensor cumulative_prod(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {}, bool include_initial = false);
/// Of NaN as 0 (1); without an axis of the flat tensor.
Tensor nancumsum(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
Tensor nancumprod(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
/// The logarithm of the sum of exp of each element and all before it, over pairs at doubled distances (Hillis and Steele, CACM 29, 1986),
/// so that no range is too wide: log2(n) passes.
Tensor logcumsumexp(const Arg& x, std::optional<std::int64_t> axis = {});

/// Between a finite and an infinite element lies the infinite one, as in NumPy's median; between both infinities NaN. (Of such elements
/// NumPy's quantile, which its nanquantile, percentile and nanpercentile are, is NaN.)
/// How a quantile lies between two elements: NumPy's methods, those of Hyndman and Fan (The American Statistician 50, 1996) and four more.
enum class QuantileMethod : std::uint8_t {
  linear,
  lower,
  higher,
  midpoint,
  nearest,
  inverted_cdf,
  averaged_inverted_cdf,
  closest_observation,
  interpolated_inverted_cdf,
  hazen,
  weibull,
  median_unbiased,
  normal_unbiased,
};
/// What a part q, in [0, 1], of the elements over the axes does not exceed; of integers in float64, but for the methods that choose an element. A tensor of q,
/// which is evaluated, gives its axes in front and takes part in the type, as in NumPy, but for the methods that choose. NaN where an element is NaN. Sorts.
Tensor quantile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor nanquantile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
/// quantile(x, q / 100)
Tensor percentile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor nanpercentile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor median(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmedian(const Arg& x, const Axes& axes = {}, bool keepdims = false);

/// The covariance of variables, the rows of x (with rowvar false, its columns), over their observations: the sum of products of distances
/// from the means, divided by n - ddof; ddof is 1, with `bias` 0, where it is not given. An empty y adds no variables. Frequencies count an
/// observation several times, weights make it more important. float64, as NumPy.
Tensor cov(const Arg& x, const Tensor& y = {}, bool rowvar = true, bool bias = false, std::optional<int> ddof = {}, const Tensor& frequencies = {},
           const Tensor& weights = {});
/// cov(x) divided by the standard deviations of both variables, within [-1, 1].
Tensor corrcoef(const Arg& x, const Tensor& y = {}, bool rowvar = true);

/// The slope along an axis, from neighbours on both sides; at the ends from one side, of edge_order 1 or 2. Points are `spacing` apart, or
/// lie at the vector `spacing`.
Tensor gradient(const Arg& f, std::int64_t axis = -1, const Arg& spacing = 1, int edge_order = 1);
/// At x, the straight lines between the points (xp, fp), xp ascending; outside `left` and `right`, the first and the last of fp where these
/// are not given. With a period, xp need not ascend. float64.
Tensor interp(const Arg& x, const Arg& xp, const Arg& fp, std::optional<double> left = {}, std::optional<double> right = {}, std::optional<double> period = {});

/// How often each number from 0 on is met in a vector of integers, int64; with weights their sums, float64. As many as the largest number
/// asks for, at least minlength. Evaluates x.
Tensor bincount(const Arg& x, const Tensor& weights = {}, std::int64_t minlength = 0);

struct Histogram {
  Tensor counts, edges;
};
/// How many elements lie in each bin, int64, or the sum of their weights in the weights' type; a bin holds its left edge, the last one both.
/// With `density`, so that the integral is 1. `bins` equal bins cover `range`; without one, from the least to the largest element, which
/// evaluates x.
Histogram histogram(const Arg& x, std::int64_t bins = 10, std::optional<std::pair<double, double>> range = {}, const Tensor& weights = {},
                    bool density = false);
/// Between edges, which ascend. Evaluates them.
Histogram histogram(const Arg& x, const Tensor& edges, const Tensor& weights = {}, bool density = false);
Tensor histogram_bin_edges(const Arg& x, std::int64_t bins = 10, std::optional<std::pair<double, double>> range = {});
/// The bins along one axis: so many equal ones over a range (without one, from the least to the largest element), or between edges that ascend.
class Bins {
 public:
  Bins(std::int64_t count, std::optional<std::pair<double, double>> range = {}) : count_(count), range_(range) {}
  Bins(const Tensor& edges) : edges_(edges) {}
  std::int64_t count() const { return count_; }
  const std::optional<std::pair<double, double>>& range() const { return range_; }
  const Tensor& edges() const { return edges_; }  // an empty handle where they are counted

 private:
  std::int64_t count_ = 0;
  std::optional<std::pair<double, double>> range_;
  Tensor edges_;
};
struct Histogram2d {
  Tensor counts, x_edges, y_edges;
};
/// Of pairs of numbers; counts are float64, along x first.
Histogram2d histogram2d(const Arg& x, const Arg& y, const Bins& x_bins = 10, const Bins& y_bins = 10, const Tensor& weights = {}, bool density = false);
struct HistogramDd {
  Tensor counts;
  std::vector<Tensor> edges;
};
/// Of points, the rows of a matrix: an axis of counts for each of its columns. One element of `bins` serves all columns. float64.
HistogramDd histogramdd(const Arg& points, const std::vector<Bins>& bins = {10}, const Tensor& weights = {}, bool density = false);

}  // namespace sinter
