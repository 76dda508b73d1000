// Differences, reductions composed of others, quantiles, histograms and covariance. The nan-variants skip NaN; if all elements are NaN, their mean, extremes
// and quantiles are NaN.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// Returns x[i + 1] - x[i] along an axis; for bool, whether the two differ. This is done `n` times; throws ValueError for n above 4096.
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
/// Returns sum(x * weights) / sum(weights); an empty handle means equal weights. Weights have x's shape; if `axes` is one axis, they may be a vector along it.
Tensor average(const Arg& x, const Axes& axes = {}, const Tensor& weights = {}, bool keepdims = false);
/// Returns the integral by the trapezoidal rule, at points dx apart.
Tensor trapezoid(const Arg& y, double dx = 1, std::int64_t axis = -1);
/// Does the same at the points x, which have y's shape or are a vector along the axis.
Tensor trapezoid(const Arg& y, const Tensor& x, std::int64_t axis = -1);
/// These are the Array API's names of cumsum and cumprod; without an axis the tensor has to be a vector. include_initial puts 0 in front of the sums, and 1 in
/// front of the products.
Tensor cumulative_sum(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {}, bool include_initial = false);
Tensor cumulative_prod(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {}, bool include_initial = false);
/// These are cumsum, with NaN treated as 0, and cumprod, with NaN treated as 1. Without an axis they scan the flat tensor.
Tensor nancumsum(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
Tensor nancumprod(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
/// Returns log(cumsum(exp(x))) without overflow. It combines pairs of elements in log2(n) passes, each at twice the distance of the pass before (Hillis and
/// Steele, CACM 29, 1986).
Tensor logcumsumexp(const Arg& x, std::optional<std::int64_t> axis = {});

/// Says how a quantile is interpolated between two elements. The methods are NumPy's: those of Hyndman and Fan (The American Statistician 50, 1996) and four
/// more. Between a finite and an infinite element the result is the infinite one, as in NumPy's median; between both infinities it is NaN. (NumPy's quantile,
/// nanquantile, percentile and nanpercentile give NaN for such elements.)
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
/// Sorts the elements over the axes, and returns the value that a fraction q of them, in [0, 1], does not exceed. If q is a tensor, it is evaluated, and its
/// axes come first in the result. The result is NaN if an element is NaN. Methods that choose an element return x's type. The other methods give float64 for
/// integers, and as in NumPy the dtype of a tensor q takes part in promotion.
Tensor quantile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor nanquantile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
/// Return quantile(x, q / 100).
Tensor percentile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor nanpercentile(const Arg& x, const Arg& q, const Axes& axes = {}, QuantileMethod method = QuantileMethod::linear, bool keepdims = false);
Tensor median(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmedian(const Arg& x, const Axes& axes = {}, bool keepdims = false);

/// Returns the covariances of variables over n observations. The variables are the rows of x, or its columns if rowvar is false; y holds further variables, and
/// an empty handle adds none. A covariance is the sum of products of deviations from the means, divided by n - ddof; ddof is 1 by default, and 0 with `bias`.
/// `frequencies` says how often each observation counts, `weights` how important it is. The result is float64, as in NumPy.
Tensor cov(const Arg& x, const Tensor& y = {}, bool rowvar = true, bool bias = false, std::optional<int> ddof = {}, const Tensor& frequencies = {},
           const Tensor& weights = {});
/// Returns each element of cov(x) divided by the standard deviations of its two variables, clipped to [-1, 1].
Tensor corrcoef(const Arg& x, const Tensor& y = {}, bool rowvar = true);

/// Returns the slope along an axis: by central differences, and at the ends by one-sided differences of order `edge_order`, which is 1 or 2. If `spacing` is a
/// number, it is the distance between points; if it is a vector, it holds their positions.
Tensor gradient(const Arg& f, std::int64_t axis = -1, const Arg& spacing = 1, int edge_order = 1);
/// Interpolates linearly at x between the points (xp, fp). xp must ascend, unless a period is given. Below xp the result is `left`, above xp it is `right`; by
/// default these are the first and the last element of fp. The result is float64.
Tensor interp(const Arg& x, const Arg& xp, const Arg& fp, std::optional<double> left = {}, std::optional<double> right = {}, std::optional<double> period = {});

/// Counts how often each number from 0 to the largest appears in a vector of integers. The result is int64 and has at least minlength elements. With weights,
/// it is the float64 sum of the weights of each number. Evaluates x.
Tensor bincount(const Arg& x, const Tensor& weights = {}, std::int64_t minlength = 0);

struct Histogram {
  Tensor counts, edges;
};
/// Returns the number of elements in each bin as int64, or the sum of their weights in the weights' type. A bin includes its left edge; the last bin includes
/// both edges. With `density` the result is scaled so that its integral is 1. The bins divide `range` into `bins` equal parts. Without a range, x is evaluated,
/// and the bins reach from its least to its largest element.
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
  const std::optional<std::pair<double, double>>& range() const { return range_; }  ///< the lowest and highest edge; nullopt: the least and largest element
  const Tensor& edges() const { return edges_; }                                    ///< an empty handle if the number of bins is given

 private:
  std::int64_t count_ = 0;
  std::optional<std::pair<double, double>> range_;
  Tensor edges_;
};
struct Histogram2d {
  Tensor counts, x_edges, y_edges;
};
/// Counts pairs of numbers in float64. The first axis of the counts belongs to x, the second to y.
Histogram2d histogram2d(const Arg& x, const Arg& y, const Bins& x_bins = 10, const Bins& y_bins = 10, const Tensor& weights = {}, bool density = false);
struct HistogramDd {
  Tensor counts;
  std::vector<Tensor> edges;
};
/// Counts points, which are the rows of a matrix, in float64. The counts have an axis for each column of the matrix. If `bins` has one element, it serves all
/// columns.
HistogramDd histogramdd(const Arg& points, const std::vector<Bins>& bins = {10}, const Tensor& weights = {}, bool density = false);

}  // namespace sinter
