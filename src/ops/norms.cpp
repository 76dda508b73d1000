// Norms over channels and their groups.
#include <fmt/format.h>

#include "ops/composed.hpp"
#include "sinter/counted.hpp"
#include "sinter/nn.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Reshapes a vector of one number per channel so that it broadcasts along x's second axis, in the compute type.
Tensor of_channels(const Site& site, const Tensor& x, const Tensor& numbers, const char* what) {
  const Shape& shape = node_of(site, numbers)->shape;
  if (shape != Shape{x.shape()[1]})
    fail<ShapeError>(site,
                     fmt::format("{} of shape {} for {} of x of shape {}", what, to_string(shape), counted(x.shape()[1], "channel"), to_string(x.shape())));
  Shape along(x.shape().size(), 1);
  along[1] = x.shape()[1];
  return reshape(astype(numbers, x.dtype()), along);
}

Composed with_channels(const Site& site, const Arg& x) {
  const Composed held = floating(site, x);
  if (held.values.ndim() < 2) fail<ShapeError>(site, fmt::format("x of shape {} is not (batch, channels, spatial axes..)", to_string(held.values.shape())));
  return held;
}

Tensor scaled(const Site& site, Tensor y, const Tensor& weight, const Tensor& bias) {
  if (!weight.empty_handle()) y = y * of_channels(site, y, weight, "weight");
  if (!bias.empty_handle()) y = y + of_channels(site, y, bias, "bias");
  return y;
}

}  // namespace

Tensor batch_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight, const Tensor& bias, double eps) {
  const Scope scope("batch_norm", x.where());
  const Site& site = scope.site();
  const Composed norm = with_channels(site, x);
  // There is one factor and one term per channel. They are computed once, however large x is, and a library's epilogue can take them.
  Tensor scale = rsqrt(of_channels(site, norm.values, running_var, "running_var") + eps);
  if (!weight.empty_handle()) scale = scale * of_channels(site, norm.values, weight, "weight");
  Tensor shift = -of_channels(site, norm.values, running_mean, "running_mean") * scale;
  if (!bias.empty_handle()) shift = shift + of_channels(site, norm.values, bias, "bias");
  return norm(norm.values * scale + shift);
}

Tensor group_norm(const Arg& x, std::int64_t num_groups, const Tensor& weight, const Tensor& bias, double eps) {
  const Scope scope("group_norm", x.where());
  const Site& site = scope.site();
  const Composed norm = with_channels(site, x);
  const Shape& shape = norm.values.shape();
  if (num_groups < 1 || shape[1] % num_groups != 0) fail<ValueError>(site, fmt::format("{} groups do not divide {}", num_groups, counted(shape[1], "channel")));
  Shape apart{shape[0], num_groups, shape[1] / num_groups};
  apart.insert(apart.end(), shape.begin() + 2, shape.end());
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(apart.size()); ++axis) axes.push_back(axis);
  const Tensor y = reshape(layer_norm(reshape(norm.values, apart), {}, {}, eps, Axes(axes)), shape);
  return norm(scaled(site, y, weight, bias));
}

Tensor instance_norm(const Arg& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Scope scope("instance_norm", x.where());
  const Site& site = scope.site();
  const Composed norm = with_channels(site, x);
  if (norm.values.ndim() < 3) fail<ShapeError>(site, fmt::format("x of shape {} has no spatial axes", to_string(norm.values.shape())));
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 2; axis < norm.values.ndim(); ++axis) axes.push_back(axis);
  return norm(scaled(site, layer_norm(norm.values, {}, {}, eps, Axes(axes)), weight, bias));
}

Tensor local_response_norm(const Arg& x, std::int64_t size, double alpha, double beta, double k) {
  const Scope scope("local_response_norm", x.where());
  const Site& site = scope.site();
  const Composed norm = with_channels(site, x);
  if (size < 1) fail<ValueError>(site, fmt::format("size of {}; it must be at least 1", size));
  std::vector<std::pair<std::int64_t, std::int64_t>> around(norm.values.shape().size(), {0, 0});
  const std::int64_t channels = norm.values.shape()[1], before = std::min(size / 2, channels),
                     after = std::min((size - 1) / 2, channels);  // all values beyond the channels are 0
  around[1] = {before, after};
  const RecordedPtr neighbours = make_windows(site, pad(square(norm.values), around).node(), 1, channels, 1, before + 1 + after, 1);
  return norm(norm.values / power(sum(Tensor(neighbours), -1) / static_cast<double>(size) * alpha + k, beta));
}

}  // namespace sinter
