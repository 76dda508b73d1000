// Functions that record: operators, named functions with NumPy's names and rules, views, creation. Nothing here computes; eval() and data access do.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

// --- operators -----------------------------------------------------------------------------------------------------
// && and || are not overloaded: use logical_and, logical_or. Integer / integer gives float64, as in NumPy; % is NumPy's remainder (the divisor's sign).
Tensor operator+(const Arg& a, const Arg& b);
Tensor operator-(const Arg& a, const Arg& b);
Tensor operator*(const Arg& a, const Arg& b);
Tensor operator/(const Arg& a, const Arg& b);
Tensor operator%(const Arg& a, const Arg& b);
Tensor operator&(const Arg& a, const Arg& b);
Tensor operator|(const Arg& a, const Arg& b);
Tensor operator^(const Arg& a, const Arg& b);
Tensor operator<<(const Arg& a, const Arg& b);
Tensor operator>>(const Arg& a, const Arg& b);
Tensor operator==(const Arg& a, const Arg& b);
Tensor operator!=(const Arg& a, const Arg& b);
Tensor operator<(const Arg& a, const Arg& b);
Tensor operator<=(const Arg& a, const Arg& b);
Tensor operator>(const Arg& a, const Arg& b);
Tensor operator>=(const Arg& a, const Arg& b);
Tensor operator+(const Arg& x);
Tensor operator-(const Arg& x);
Tensor operator~(const Arg& x);
Tensor operator!(const Arg& x);     ///< logical_not
Tensor operator!(const Tensor& x);  ///< the same; without this overload, !x would call Tensor's operator bool

// --- arithmetic ------------------------------------------------------------------------------------------------------
Tensor add(const Arg& a, const Arg& b);
Tensor subtract(const Arg& a, const Arg& b);
Tensor multiply(const Arg& a, const Arg& b);
Tensor divide(const Arg& a, const Arg& b);
Tensor floor_divide(const Arg& a, const Arg& b);
Tensor remainder(const Arg& a, const Arg& b);
Tensor power(const Arg& a, const Arg& b);
Tensor pow(const Arg& a, const Arg& b);
Tensor minimum(const Arg& a, const Arg& b);
Tensor maximum(const Arg& a, const Arg& b);
Tensor atan2(const Arg& y, const Arg& x);
/// Returns sqrt(a * a + b * b), where neither square overflows or underflows.
Tensor hypot(const Arg& a, const Arg& b);
Tensor negative(const Arg& x);
Tensor positive(const Arg& x);
Tensor absolute(const Arg& x);
Tensor abs(const Arg& x);
Tensor sign(const Arg& x);
Tensor square(const Arg& x);
Tensor reciprocal(const Arg& x);
/// Returns the remainder as in C, with the sign of the dividend.
Tensor fmod(const Arg& a, const Arg& b);
/// Returns floor_divide and remainder.
std::pair<Tensor, Tensor> divmod(const Arg& a, const Arg& b);
/// Like minimum and maximum, but if one operand is NaN, they return the other one.
Tensor fmin(const Arg& a, const Arg& b);
Tensor fmax(const Arg& a, const Arg& b);
/// These take integers. The result is not negative, unless the type cannot hold it: as in NumPy, gcd(-128, 0) of int8 is -128.
Tensor gcd(const Arg& a, const Arg& b);
Tensor lcm(const Arg& a, const Arg& b);
/// Returns a + t * (b - a), exactly b where t is 1.
Tensor lerp(const Arg& a, const Arg& b, const Arg& t);
/// Returns minimum(maximum(x, low), high).
Tensor clip(const Arg& x, const Arg& low, const Arg& high);
Tensor where(const Arg& condition, const Arg& a, const Arg& b);
/// Returns for each element the first choice whose condition is true, or `otherwise`.
Tensor select(const std::vector<Tensor>& conditions, const std::vector<Tensor>& choices, const Arg& otherwise = 0);
/// Returns for each element the value of the last true condition, in x's type. One value more than conditions is the value of elements without a true
/// condition; without it they are 0.
Tensor piecewise(const Arg& x, const std::vector<Tensor>& conditions, const std::vector<Tensor>& values);
/// Returns 0 below 0, 1 above, and `at_zero` at 0.
Tensor heaviside(const Arg& x, const Arg& at_zero);
/// Replaces NaN and infinities; infinities become by default the largest and the least number of the type.
Tensor nan_to_num(const Arg& x, double nan = 0, std::optional<double> posinf = {}, std::optional<double> neginf = {});
Tensor astype(const Arg& x, DType dtype);

// --- rounding: integers are returned as they are ---------------------------------------------------------------------
Tensor floor(const Arg& x);
Tensor ceil(const Arg& x);
Tensor round(const Arg& x);  ///< half to even
Tensor rint(const Arg& x);   ///< the same, but integers become floating
Tensor trunc(const Arg& x);
/// Splits x into a fraction and a whole number, both with x's sign.
std::pair<Tensor, Tensor> modf(const Arg& x);

// --- parts of a floating number --------------------------------------------------------------------------------------
/// Returns the magnitude of a with the sign of b.
Tensor copysign(const Arg& a, const Arg& b);
/// Returns true if the sign bit is set, which it is for -0.0, too.
Tensor signbit(const Arg& x);
/// Returns the next number after a towards b.
Tensor nextafter(const Arg& a, const Arg& b);
/// Returns x * 2^n, rounded once.
Tensor ldexp(const Arg& x, const Arg& n);
/// Returns fraction and exponent with x = fraction * 2^exponent, the fraction in [1/2, 1) and the exponent an int32.
std::pair<Tensor, Tensor> frexp(const Arg& x);

// --- mathematics: as in NumPy, bool and 8-bit integers give float16, 16-bit integers float32, wider ones float64; sinc always gives float64 --
Tensor sqrt(const Arg& x);
Tensor rsqrt(const Arg& x);
Tensor exp(const Arg& x);
Tensor exp2(const Arg& x);
Tensor expm1(const Arg& x);
Tensor log(const Arg& x);
Tensor log2(const Arg& x);
Tensor log10(const Arg& x);
Tensor log1p(const Arg& x);
Tensor sin(const Arg& x);
Tensor cos(const Arg& x);
Tensor tan(const Arg& x);
Tensor asin(const Arg& x);
Tensor acos(const Arg& x);
Tensor atan(const Arg& x);
Tensor sinh(const Arg& x);
Tensor cosh(const Arg& x);
Tensor tanh(const Arg& x);
Tensor asinh(const Arg& x);
Tensor acosh(const Arg& x);
Tensor atanh(const Arg& x);
Tensor cbrt(const Arg& x);
Tensor erf(const Arg& x);
/// Returns 1 - erf(x), accurate also where the result is small.
Tensor erfc(const Arg& x);
/// Returns y with erf(y) = x.
Tensor erfinv(const Arg& x);
/// Returns the cumulative normal distribution at x: erfc(-x / sqrt(2)) / 2.
Tensor ndtr(const Arg& x);
/// Return log(|gamma(x)|), and the derivative of log(gamma(x)).
Tensor lgamma(const Arg& x);
Tensor digamma(const Arg& x);
/// Returns sin(pi x) / (pi x).
Tensor sinc(const Arg& x);
Tensor deg2rad(const Arg& x);
Tensor rad2deg(const Arg& x);
/// Returns log(exp(a) + exp(b)).
Tensor logaddexp(const Arg& a, const Arg& b);
/// Returns log2(2^a + 2^b).
Tensor logaddexp2(const Arg& a, const Arg& b);
Tensor isnan(const Arg& x);
Tensor isinf(const Arg& x);
Tensor isfinite(const Arg& x);

/// Tests |a - b| <= atol + rtol * |b|, or that both are the same infinity.
Tensor isclose(const Arg& a, const Arg& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
Tensor allclose(const Arg& a, const Arg& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

// --- comparison, logic, bits -----------------------------------------------------------------------------------------
Tensor equal(const Arg& a, const Arg& b);
Tensor not_equal(const Arg& a, const Arg& b);
Tensor less(const Arg& a, const Arg& b);
Tensor less_equal(const Arg& a, const Arg& b);
Tensor greater(const Arg& a, const Arg& b);
Tensor greater_equal(const Arg& a, const Arg& b);
Tensor logical_and(const Arg& a, const Arg& b);
Tensor logical_or(const Arg& a, const Arg& b);
Tensor logical_xor(const Arg& a, const Arg& b);
Tensor logical_not(const Arg& x);
Tensor bitwise_and(const Arg& a, const Arg& b);
Tensor bitwise_or(const Arg& a, const Arg& b);
Tensor bitwise_xor(const Arg& a, const Arg& b);
Tensor bitwise_not(const Arg& x);
Tensor left_shift(const Arg& a, const Arg& b);
Tensor right_shift(const Arg& a, const Arg& b);
/// Counts the 1 bits of an integer's magnitude, as uint8.
Tensor bitwise_count(const Arg& x);

// --- reductions ------------------------------------------------------------------------------------------------------
// Reductions cover all axes by default. sum and prod of bool and signed integers give int64, of unsigned ones uint64; mean, var, stddev, logsumexp of integers
// give float64. Floats of 8 and 16 bits accumulate in float32 and round once. A dtype converts the elements first, so that sum(x, 0, false, DType::float64)
// accumulates in float64.
Tensor sum(const Arg& x, const Axes& axes = {}, bool keepdims = false, std::optional<DType> dtype = {});
Tensor prod(const Arg& x, const Axes& axes = {}, bool keepdims = false, std::optional<DType> dtype = {});
Tensor min(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor max(const Arg& x, const Axes& axes = {}, bool keepdims = false);
// The second of two numbers would be an axis: use minimum(a, b) and maximum(a, b) to compare.
template <Element A, Element B> Tensor min(A, B) = delete;
template <Element A, Element B> Tensor max(A, B) = delete;
Tensor mean(const Arg& x, const Axes& axes = {}, bool keepdims = false, std::optional<DType> dtype = {});
/// Computes in two passes: first the mean, then the sum of (x - mean)^2 divided by n - ddof.
Tensor var(const Arg& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
/// NumPy's std; the name differs because of the namespace.
Tensor stddev(const Arg& x, const Axes& axes = {}, bool keepdims = false, int ddof = 0);
Tensor any(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Arg& x, const Axes& axes = {}, bool keepdims = false);
Tensor logsumexp(const Arg& x, const Axes& axes = {}, bool keepdims = false);

// --- scans combine each element with all before it along an axis; without an axis, they scan the flat tensor --------------------
// cumsum and cumprod give the types of sum and prod; a dtype converts first. All results from the first NaN on are NaN.
Tensor cumsum(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
Tensor cumprod(const Arg& x, std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {});
Tensor cummax(const Arg& x, std::optional<std::int64_t> axis = {});
Tensor cummin(const Arg& x, std::optional<std::int64_t> axis = {});

// --- views: index algebra inside the kernel that reads them ----------------------------------------------------------
Tensor reshape(const Arg& x, const Shape& shape);  ///< one size may be -1
template <std::integral... T>
  requires(sizeof...(T) > 1)
Tensor reshape(const Arg& x, T... sizes) {
  return reshape(x, Shape{static_cast<std::int64_t>(sizes)...});
}
Tensor transpose(const Arg& x);  ///< all axes reversed
Tensor transpose(const Arg& x, const std::vector<std::int64_t>& axes);
Tensor permute(const Arg& x, const std::vector<std::int64_t>& axes);  ///< the same as transpose(x, axes)
Tensor swapaxes(const Arg& x, std::int64_t axis1, std::int64_t axis2);
Tensor expand_dims(const Arg& x, const Axes& axes);
Tensor squeeze(const Arg& x, const Axes& axes = {});
Tensor broadcast_to(const Arg& x, const Shape& shape);
Tensor flip(const Arg& x, const Axes& axes = {});
Tensor slice(const Arg& x, const std::vector<Index>& index);  ///< x.at(index)
/// Makes a row-major copy when it is evaluated. Kernels that use the copy read it from memory, and never compute it themselves.
Tensor contiguous(const Arg& x);

// --- arranging: guarded reads inside the kernel that uses the result ---------------------------------------------------
enum class PadMode : std::uint8_t {
  constant,
  edge,       ///< the outermost element is repeated
  reflect,    ///< mirrored at the outermost element, which appears once
  symmetric,  ///< mirrored beyond the outermost element, which appears twice
  wrap,       ///< continued from the other end
};
/// Adds elements before and after along each axis; one pair serves all axes. `value`, a number or a tensor of one element, is cast to x's dtype. Throws
/// ShapeError for a tensor of more elements.
Tensor pad(const Arg& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, PadMode mode = PadMode::constant, const Arg& value = 0);
/// Adds `width` elements before and after along every axis: pad(x, 1).
template <std::integral T> Tensor pad(const Arg& x, T width, PadMode mode = PadMode::constant, const Arg& value = 0) {
  return pad(x, {{width, width}}, mode, value);
}
/// Joins along an axis, in the common type.
Tensor concatenate(const std::vector<Tensor>& parts, std::int64_t axis = 0, Location where = Location::current());
template <std::derived_from<Tensor>... T>
  requires(sizeof...(T) > 0)
Tensor concatenate(detail::First first, const T&... parts) {
  return concatenate({first.tensor, parts...}, 0, first.where);
}
/// Joins along a new axis.
Tensor stack(const std::vector<Tensor>& parts, std::int64_t axis = 0, Location where = Location::current());
template <std::derived_from<Tensor>... T>
  requires(sizeof...(T) > 0)
Tensor stack(detail::First first, const T&... parts) {
  return stack({first.tensor, parts...}, 0, first.where);
}
/// Shifts elements cyclically along axes, by a shift for each axis or one for all; without axes it shifts the flat tensor.
Tensor roll(const Arg& x, const std::vector<std::int64_t>& shifts, const Axes& axes = {});
/// Repeats the whole tensor along its last axes, and along new ones in front, as often as `repetitions` say.
Tensor tile(const Arg& x, const std::vector<std::int64_t>& repetitions);
/// Repeats each element `count` times; without an axis it uses the flat tensor.
Tensor repeat(const Arg& x, std::int64_t count, std::optional<std::int64_t> axis = {});
/// Replaces the elements above the k-th diagonal of the last two axes by zeros.
Tensor tril(const Arg& x, std::int64_t k = 0);
/// Replaces the elements below the k-th diagonal by zeros.
Tensor triu(const Arg& x, std::int64_t k = 0);
/// Returns ones on the k-th diagonal and zeros elsewhere; without `columns` the matrix is square.
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t k = 0, DType dtype = DType::float64, Location where = Location::current());
/// Returns the diagonal of two axes as the last axis of the result: a view.
Tensor diagonal(const Arg& x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
/// Returns a matrix with the vector x on its k-th diagonal; if x is a matrix, returns its k-th diagonal.
Tensor diag(const Arg& x, std::int64_t k = 0);

// --- elements at computed places ---------------------------------------------------------------------------------------
/// Says what happens to an index out of range. `raise` throws an IndexError with the op, the line, the index and the size when the value is computed; negative
/// indices down to -size count from the end. `wrap` takes the index modulo the size, and `clip` takes the nearest index in range.
enum class IndexMode : std::uint8_t { raise, wrap, clip };
/// Selects elements along an axis; the axes of the indices replace that axis in the result. Without an axis it selects from the flat tensor.
Tensor take(const Arg& x, const Arg& indices, std::optional<std::int64_t> axis = {}, IndexMode mode = IndexMode::raise);
/// Returns result[.., i, ..] = x[.., indices[.., i, ..], ..]; all other axes broadcast. Without an axis it uses the flat tensor.
Tensor take_along_axis(const Arg& x, const Arg& indices, std::optional<std::int64_t> axis = -1);
/// Returns the place of the largest element, int64: the first of equal ones, or the first NaN if there is one. Without an axis it uses the flat tensor.
Tensor argmax(const Arg& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);
Tensor argmin(const Arg& x, std::optional<std::int64_t> axis = {}, bool keepdims = false);

// --- linear algebra --------------------------------------------------------------------------------------------------
/// Multiplies matrices as NumPy does: 1-D operands are vectors, leading axes broadcast.
Tensor matmul(const Arg& a, const Arg& b);
/// Sums products over the last axis of a and the second to last of b (a vector's only axis) and keeps all other axes. A 0-d operand multiplies every element of
/// the other one.
Tensor dot(const Arg& a, const Arg& b);

// --- compositions ----------------------------------------------------------------------------------------------------
enum class Approximate : std::uint8_t { exact, tanh };
Tensor sigmoid(const Arg& x);
Tensor relu(const Arg& x);
Tensor gelu(const Arg& x, Approximate approximate = Approximate::exact);
Tensor silu(const Arg& x);
Tensor leaky_relu(const Arg& x, double negative_slope = 0.01);
/// Returns alpha * (exp(x) - 1) below 0.
Tensor elu(const Arg& x, double alpha = 1);
Tensor selu(const Arg& x);
/// Returns alpha * (exp(x / alpha) - 1) below 0.
Tensor celu(const Arg& x, double alpha = 1);
/// Returns log(1 + exp(x)).
Tensor softplus(const Arg& x);
/// Returns x * tanh(softplus(x)).
Tensor mish(const Arg& x);
Tensor hard_sigmoid(const Arg& x);
Tensor hard_swish(const Arg& x);
/// Returns the first half of an axis times the sigmoid of the second.
Tensor glu(const Arg& x, std::int64_t axis = -1);
/// Returns the silu of the first half of an axis times the second.
Tensor swiglu(const Arg& x, std::int64_t axis = -1);
Tensor softmax(const Arg& x, const Axes& axes = -1);
Tensor log_softmax(const Arg& x, const Axes& axes = -1);
/// Returns (x - mean) / sqrt(var + eps) * weight + bias over `axes`; an empty handle for weight or bias omits it.
Tensor layer_norm(const Arg& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5, const Axes& axes = -1);
/// Returns x / sqrt(mean(x^2) + eps) * weight.
Tensor rms_norm(const Arg& x, const Tensor& weight = {}, double eps = 1e-6, const Axes& axes = -1);

// --- creation --------------------------------------------------------------------------------------------------------
Tensor zeros(const Shape& shape, DType dtype = DType::float64, Location where = Location::current());
Tensor ones(const Shape& shape, DType dtype = DType::float64, Location where = Location::current());
/// By default the dtype is the C++ type of the value.
Tensor full(const Shape& shape, const Arg& value, std::optional<DType> dtype = {});
/// By default the dtype is int64 for integers, float32 when every floating bound is a float, float64 otherwise.
Tensor arange(const Arg& stop, std::optional<DType> dtype = {});
Tensor arange(const Arg& start, const Arg& stop, std::optional<DType> dtype = {});
Tensor arange(const Arg& start, const Arg& stop, const Arg& step, std::optional<DType> dtype = {});
/// By default the dtype is float32 when every floating bound is a float, float64 otherwise. If start or stop is a tensor, the points lie along a new first
/// axis.
Tensor linspace(const Arg& start, const Arg& stop, std::int64_t count = 50, bool endpoint = true, std::optional<DType> dtype = {});
/// Returns a tensor with a shape and a type but no value: it can be planned, explained and compiled for, but never evaluated.
Tensor placeholder(const Shape& shape, DType dtype, Location where = Location::current());

/// Copies elements into a tensor. Strides count elements and may be negative or zero; by default the layout is row-major.
Tensor from_pointer(const void* data, DType dtype, const Shape& shape, const std::vector<std::int64_t>& strides = {}, Location where = Location::current());
template <Element T>
Tensor from_pointer(const T* data, const Shape& shape, const std::vector<std::int64_t>& strides = {}, Location where = Location::current()) {
  return from_pointer(static_cast<const void*>(data), dtype_of<T>, shape, strides, where);
}

}  // namespace sinter
