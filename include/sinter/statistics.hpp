// Differences, reductions composed of others, quantiles, histograms and covariance. The nan-variants skip NaN; if all elements are NaN, their mean, extremes
// and quantiles are NaN.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// Returns x[i + 1] - x[i] along an axis, `n` times, at most 4096 (ValueError); for bool, whether the two differ.
Tensor diff(const Arg& x, std::int64_t n = 1, std::int64_t axis = -1);
/// Returns the differences of the flat tensor.
Tensor ediff1d(const Arg& x);
/// Returns max - min.
Tensor ptp(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor count_nonzero(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nansum(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanprod(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmin(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmax(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmean(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanvar(const Arg& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Tensor nanstd(const Arg& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
/// Returns sum(x * weights) / sum(weights); an empty handle means equal weights. Weights have x's shape, or are a vector along the one axis.
Tensor average(const Arg& x, const Axes& axes = {}, const Tensor& weights = {}, bool keepdims = false);
/// Returns the integral by the trapezoidal rule, at points dx apart.
Tensor trapezoid(const Arg& y, double dx = 1, std::int64_t axis = -1);
/// Does the same at the points x, which have y's shape or are a vector along the axis.
Tensor trapezoid(const Arg& y, const Tensor& x, std::int64_t axis = -1);
/// The Array API's names of cumsum and cumprod; without an axis the tensor has to be a vector. include_initial puts 0 (1) in front.
Tensor cumulative_sum(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {}, bool include_initial = false);
Tensor cumulative_prod(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {}, bool include_initial = false);
/// cumsum and cumprod that treat NaN as 0 and as 1; without an axis they scan the flat tensor.
Tensor nancumsum(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
Tensor nancumprod(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
/// Returns the logarithm of the sum of exp of each element and all before it. It combines pairs at doubled distances (Hillis and Steele, CACM 29, 1986) in
/// log2(n) passes, so that no range overflows.
Tensor logcumsumexp(const Arg& x, std::optional<std::int64_t> axis = {});

/// The interpolation of a quantile between two elements: NumPy's methods, those of Hyndman and Fan (The American Statistician 50, 1996) and four more. Between
/// a finite and an infinite element the result is the infinite one, as in NumPy's median; between both infinities it is NaN. (NumPy's quantile, nanquantile,
/// percentile and nanpercentile give NaN for such elements.)
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
/// Sorts and returns the value that a fraction q, in [0, 1], of the elements over the axes does not exceed. Integers give float64, except for methods that
/// choose an element. A tensor q is evaluated; its axes come first in the result. As in NumPy its dtype takes part in promotion, except for methods that choose
/// an element. The result is NaN if an element is NaN.
Tensor quantile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor nanquantile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
/// Return quantile(x, q / 100).
Tensor percentile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor nanpercentile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor median(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmedian(const Arg& x, const Axes& axes = {}, bool keepdims = false);

/// Returns the covariance of variables, the rows of x (with rowvar false, its columns), over their observations: the sum of products of deviations from the
/// means, divided by n - ddof; ddof is 1 by default, and 0 with `bias`. An empty y adds no variables. Frequencies count an observation several times, weights
/// scale its importance. The result is float64, as in NumPy.
Tensor cov(const Arg& x, const Tensor& y = {}, bool rowvar = true, bool bias = false, std::optional<int> ddof = {}, const Tensor& frequencies = {},
           const Tensor& weights = {});
/// Returns cov(x) divided by the standard deviations of both variables, within [-1, 1].
Tensor corrcoef(const Arg& x, const Tensor& y = {}, bool rowvar = true);

/// Returns the slope along an axis by central differences; at the ends by one-sided differences of order `edge_order`, 1 or 2. Points are `spacing` apart, or
/// lie at the vector `spacing`.
Tensor gradient(const Arg& f, std::int64_t axis = -1, const Arg& spacing = 1, int edge_order = 1);
/// Interpolates linearly at x between the points (xp, fp), xp ascending. Outside it returns `left` and `right`, by default the first and the last of fp. With a
/// period, xp need not ascend. The result is float64.
Tensor interp(const Arg& x, const Arg& xp, const Arg& fp, std::optional<double> left = {}, std::optional<double> right = {}, std::optional<double> period = {});

/// Counts how often each number from 0 on appears in a vector of integers, int64; with weights it sums them, float64. The result reaches to the largest number
/// and has at least minlength elements. Evaluates x.
Tensor bincount(const Arg& x, const Tensor& weights = {}, std::int64_t minlength = 0);

struct Histogram {
  Tensor counts, edges;
};
/// Counts the elements of each bin, int64, or sums their weights in the weights' type. A bin includes its left edge; the last bin includes both. With `density`
/// the integral is 1. `bins` equal bins cover `range`; by default that is from the least to the largest element, which evaluates x.
Histogram histogram(const Arg& x, std::int64_t bins = 10, std::optional<std::pair<double, double>> range = {}, const Tensor& weights = {},
                    bool density = false);
/// Does the same between ascending edges, which it evaluates.
Histogram histogram(const Arg& x, const Tensor& edges, const Tensor& weights = {}, bool density = false);
Tensor histogram_bin_edges(const Arg& x, std::int64_t bins = 10, std::optional<std::pair<double, double>> range = {});
/// The bins along one axis: a number of equal ones over a range (by default from the least to the largest element), or ascending edges.
class Bins {
 public:
  Bins(std::int64_t count, std::optional<std::pair<double, double>> range = {}) : count_(count), range_(range) {}
  Bins(const Tensor& edges) : edges_(edges) {}
  std::int64_t count() const { return count_; }                                     ///< number of bins
  const std::optional<std::pair<double, double>>& range() const { return range_; }  ///< the lowest and highest edge; nullopt: those of the elements
  const Tensor& edges() const { return edges_; }                                    ///< an empty handle if the number of bins is given

 private:
  std::int64_t count_ = 0;
  std::optional<std::pair<double, double>> range_;
  Tensor edges_;
};
struct Histogram2d {
  Tensor counts, x_edges, y_edges;
};
/// Counts pairs of numbers in float64; the first axis is x's.
Histogram2d histogram2d(const Arg& x, const Arg& y, const Bins& x_bins = 10, const Bins& y_bins = 10, const Tensor& weights = {}, bool density = false);
struct HistogramDd {
  Tensor counts;
  std::vector<Tensor> edges;
};
/// Counts points, the rows of a matrix, in float64: the counts have an axis for each of its columns. One element of `bins` serves all columns.
HistogramDd histogramdd(const Arg& points, const std::vector<Bins>& bins = {10}, const Tensor& weights = {}, bool density = false);

}  // namespace sinter
