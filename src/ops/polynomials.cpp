// Polynomials: vectors of coefficients, the highest power first, as NumPy's poly1d functions have them.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/signal.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace ops;

Tensor coefficients(const Site& site, const Arg& x) {
  Tensor p(as_node(site, x));
  if (p.ndim() == 0) p = reshape(p, {1});
  if (p.ndim() != 1) fail<ShapeError>(site, fmt::format("coefficients are a vector, not of shape {}", to_string(p.shape())));
  return p;
}
std::vector<double> numbers(const Site& site, const Tensor& x) {
  const Tensor wide = astype(x, DType::float64);
  const auto* first = static_cast<const double*>(host_data(wide.node(), site));
  return {first, first + x.size()};
}
/// Pads both vectors to the length of the longer one.
Tensor of_one_length(const Site& site, const Arg& a, const Arg& b, Tensor (*f)(const Arg&, const Arg&)) {
  const Tensor p = coefficients(site, a), q = coefficients(site, b);
  const std::int64_t size = std::max(p.size(), q.size());
  return f(pad(p, {{size - p.size(), 0}}), pad(q, {{size - q.size(), 0}}));
}
void check_times(const Site& site, std::int64_t times) {
  if (times < 0 || times > 1000) fail<ValueError>(site, fmt::format("computed {} times; it must be from 0 to 1000", times));
}

constexpr std::int64_t kMaxRoots = 1000;

}  // namespace

Tensor polyval(const Arg& coefficients, const Arg& arg) {
  const Scope scope("polyval", coefficients.where());
  const Tensor p(as_node(scope.site(), coefficients)), x(as_node(scope.site(), arg));
  if (p.ndim() != 1) fail<ShapeError>(scope.site(), fmt::format("coefficients are a vector, not of shape {}", to_string(p.shape())));
  check_parts(scope.site(), p.size(), "coefficients");
  Tensor y = zeros(x.shape(), x.dtype());
  for (std::int64_t k = 0; k < p.size(); ++k) y = y * x + p(k);
  return y;
}
Tensor polyfit(const Arg& arg, const Arg& values, std::int64_t degree) {
  const Scope scope("polyfit", arg.where());
  const Site& site = scope.site();
  const Tensor x = astype(Tensor(as_node(site, arg)), DType::float64), y = astype(Tensor(as_node(site, values)), DType::float64);
  if (x.ndim() != 1 || y.ndim() < 1 || y.ndim() > 2 || y.size(0) != x.size() || x.size() == 0)
    fail<ShapeError>(site, fmt::format("points of shapes {} and {}", to_string(x.shape()), to_string(y.shape())));
  if (degree < 0) fail<ValueError>(site, fmt::format("a degree of {}", degree));
  const Tensor column = broadcast_to(expand_dims(x, 1), {x.size(), degree});
  const Tensor powers = flip(cumprod(concatenate({ones({x.size(), 1}), column}, 1), 1), 1);
  const Tensor scale = sqrt(sum(square(powers), 0));
  const double cut = static_cast<double>(x.size()) * std::numeric_limits<double>::epsilon();
  const Tensor found = lstsq(powers / scale, y.ndim() == 1 ? expand_dims(y, 1) : y, cut).x / expand_dims(scale, 1);
  return y.ndim() == 1 ? squeeze(found, 1) : found;
}

Tensor polyadd(const Arg& a, const Arg& b) {
  const Scope scope("polyadd", a.where());
  return of_one_length(scope.site(), a, b, add);
}
Tensor polysub(const Arg& a, const Arg& b) {
  const Scope scope("polysub", a.where());
  return of_one_length(scope.site(), a, b, subtract);
}
Tensor polymul(const Arg& a, const Arg& b) {
  // Leading zeros stay, unlike in NumPy: to drop them, recording would have to evaluate the operands to know the size of the product.
  const Scope scope("polymul", a.where());
  return convolve(coefficients(scope.site(), a), coefficients(scope.site(), b));
}
std::pair<Tensor, Tensor> polydiv(const Arg& a, const Arg& b) {
  const Scope scope("polydiv", a.where());
  const Site& site = scope.site();
  const std::array operands{&a, &b};
  const DType common = common_type(site, operands), type = is_floating(common) ? common : DType::float64;
  Tensor rest = astype(coefficients(site, a), type);
  const Tensor by = astype(coefficients(site, b), type);
  if (rest.size() == 0 || by.size() == 0) fail<ShapeError>(site, "a polynomial without coefficients");
  check_parts(site, rest.size() - by.size(), "coefficients of a quotient");
  std::vector<Tensor> quotient;
  for (std::int64_t k = 0; k + by.size() <= rest.size(); ++k) {
    quotient.push_back(rest(Slice{k, k + 1}) / by(Slice{0, 1}));
    rest = rest - pad(quotient.back() * by, {{k, rest.size() - by.size() - k}});
  }
  // The remainder has a lower degree; NumPy drops leading coefficients that are nearly 0.
  const std::vector<double> left = numbers(site, rest);
  std::size_t zeros_in_front = 0;
  while (zeros_in_front + 1 < left.size() && std::fabs(left[zeros_in_front]) <= 1e-8) ++zeros_in_front;
  return {quotient.empty() ? zeros({1}, type, site.where) : concatenate(quotient), rest(Slice{static_cast<std::int64_t>(zeros_in_front), {}})};
}
Tensor polyder(const Arg& p, std::int64_t times) {
  const Scope scope("polyder", p.where());
  check_times(scope.site(), times);
  Tensor q = coefficients(scope.site(), p);
  for (; times > 0 && q.size() > 0; --times) q = std::as_const(q)(Slice{0, q.size() - 1}) * arange(q.size() - 1, 0, -1);
  return q;
}
Tensor polyint(const Arg& p, std::int64_t times, const Arg& constants) {
  const Scope scope("polyint", p.where());
  check_times(scope.site(), times);
  Tensor q = coefficients(scope.site(), p), k = coefficients(scope.site(), constants);
  if (k.size() != 1 && k.size() < times)
    fail<ShapeError>(scope.site(), fmt::format("{} constants for {} integrations; give one, or one for each", k.size(), times));
  for (std::int64_t n = 0; n < times; ++n) {
    const Tensor raised = q / arange(q.size(), 0, -1);
    q = concatenate({raised, astype(std::as_const(k)(Slice{k.size() == 1 ? 0 : n, k.size() == 1 ? 1 : n + 1}), raised.dtype())});
  }
  return q;
}

Tensor poly(const Arg& x) {
  const Scope scope("poly", x.where());
  const Tensor given(as_node(scope.site(), x));
  if (given.ndim() == 2) return poly(eigvals(given)).re;
  return poly(Complex{given, {}}).re;
}
Complex poly(const ComplexArg& roots) {
  const Scope scope("poly", roots.where());
  const Tensor re = coefficients(scope.site(), roots.re());
  const bool real = roots.im().empty_handle();
  if (re.size() > kMaxRoots) fail<ValueError>(scope.site(), fmt::format("{}; at most {} are multiplied", counted(re.size(), "root"), kMaxRoots));
  const Tensor im = real ? Tensor() : coefficients(scope.site(), roots.im());
  Complex p{ones({1}, is_floating(re.dtype()) ? re.dtype() : DType::float64), {}};
  if (!real) p.im = zeros({1}, p.re.dtype());
  // Multiplies by (x - root): the coefficients one power higher, less root times the coefficients.
  const auto times = [](const Tensor& q, const Tensor& part) { return pad(q * part, {{1, 0}}); };
  const auto higher = [](const Tensor& q) { return pad(q, {{0, 1}}); };
  for (std::int64_t k = 0; k < re.size(); ++k) {
    const Tensor a = std::as_const(re)(k);
    if (real) {
      p.re = higher(p.re) - times(p.re, a);
      continue;
    }
    const Tensor b = std::as_const(im)(k);
    p = {higher(p.re) - (times(p.re, a) - times(p.im, b)), higher(p.im) - (times(p.re, b) + times(p.im, a))};
  }
  return p;
}
Complex roots(const Arg& arg) {
  const Scope scope("roots", arg.where());
  const Site& site = scope.site();
  const Tensor given = coefficients(site, arg), p = is_floating(given.dtype()) ? given : astype(given, DType::float64);
  const std::vector<double> values = numbers(site, p);
  const auto is_zero = [](double value) { return value == 0; };
  const auto first = std::find_if_not(values.begin(), values.end(), is_zero);
  if (first == values.end()) return {zeros({0}, p.dtype()), zeros({0}, p.dtype())};
  const std::int64_t begin = first - values.begin(), at_zero = std::find_if_not(values.rbegin(), values.rend(), is_zero) - values.rbegin();
  const std::int64_t degree = p.size() - begin - at_zero - 1;
  Complex found{zeros({0}, p.dtype()), zeros({0}, p.dtype())};
  if (degree > 0) {  // the eigenvalues of the companion matrix
    const Tensor row = -p(Slice{begin + 1, begin + 1 + degree}) / p(begin);
    found = eigvals(concatenate({expand_dims(row, 0), eye(degree, {}, 0, p.dtype())(Slice{0, degree - 1})}));
  }
  const Tensor none = zeros({at_zero}, p.dtype());
  return {concatenate({found.re, none}), concatenate({found.im, none})};
}

}  // namespace sinter
