// Convolutions, expressed by a library call.
#include <array>

#include <fmt/format.h>

#include "ops/per_axis.hpp"
#include "ops/recording.hpp"
#include "ops/transposed.hpp"
#include "sinter/counted.hpp"
#include "sinter/nn.hpp"
#include "sinter/ops.hpp"
#include "trace/library.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Returns the type in which a library convolves a type.
DType convolved_type(const Site& site, DType t) {
  if (is_bool(t)) fail<DTypeError>(site, "bool tensors cannot be convolved; cast them first");
  if (is_floating(t)) return traits(t).compute;
  return itemsize(t) <= 4 ? DType::int32 : DType::int64;  // integers wrap: the low bits of the wider product are the narrow product
}

/// The operands x and weight with a batch axis, and whether x had one.
struct Convolved {
  RecordedPtr x, weight;
  std::size_t axes;
  bool batched;
  DType type, result;  // types of the computation and of the result
};
Convolved convolved(const Site& site, const Arg& x, const Tensor& weight, std::size_t axes) {
  const RecordedPtr data = as_node(site, x), taps = node_of(site, weight);
  const std::size_t rank = taps->shape.size();
  if (axes == 0) axes = rank < 3 || rank > 5 ? 0 : rank - 2;
  if (axes == 0 || rank != axes + 2)
    fail<ShapeError>(site, fmt::format("weight of shape {}; expected (filters, channels, taps..), {} axes", to_string(taps->shape),
                                       axes == 0 ? std::string("3 to 5") : std::to_string(axes + 2)));
  if (data->shape.size() != rank && data->shape.size() != rank - 1)
    fail<ShapeError>(site, fmt::format("x of shape {} for weight of shape {}; x must have {}, or {} without a batch", to_string(data->shape),
                                       to_string(taps->shape), counted(rank, "axis", "axes"), rank - 1));
  const Tensor held(data);
  const Arg held_arg(held);
  const Arg weight_arg(weight);
  const std::array operands{&held_arg, &weight_arg};
  const DType result = common_type(site, operands), type = convolved_type(site, result);
  Convolved both{make_cast(site, data, type), make_cast(site, taps, type), axes, data->shape.size() == rank, type, result};
  if (!both.batched) {
    Shape shape{1};
    shape.insert(shape.end(), data->shape.begin(), data->shape.end());
    both.x = make_reshape(site, both.x, shape);
  }
  return both;
}

/// Records the library call, or zeros if there is no product to sum.
RecordedPtr make_conv(const Site& site, const RecordedPtr& x, const RecordedPtr& weight, const Convolution& how) {
  const std::array<Shape, 2> shapes{x->shape, weight->shape};
  const Shape shape = library_shape(Op::conv, shapes, how.ints());
  check_shape(site, shape, x->dtype);
  if (element_count(x->shape) == 0 || element_count(weight->shape) == 0) return make_constant(site, make_scalar_int(x->dtype, 0), shape);
  return make_library(site, Op::conv, {x, weight}, how.ints());
}

/// Adds each filter's bias, removes an added batch axis and converts to the result's type.
Tensor finished(const Site& site, RecordedPtr y, const Convolved& both, const Tensor& bias) {
  DType result = both.result;
  if (!bias.empty_handle()) {
    const std::int64_t filters = y->shape[1];
    if (bias.shape() != Shape{filters}) fail<ShapeError>(site, fmt::format("bias of shape {} for {}", to_string(bias.shape()), counted(filters, "filter")));
    Shape along(y->shape.size(), 1);
    along[1] = filters;
    y = add(Tensor(y), reshape(astype(bias, both.type), along)).node();
    if (is_floating(bias.dtype())) result = promote(site, result, bias.dtype());
  }
  if (!both.batched) y = make_reshape(site, y, Shape(y->shape.begin() + 1, y->shape.end()));
  return Tensor(make_cast(site, y, result));
}

void check_groups(const Site& site, std::int64_t groups, std::int64_t channels, std::int64_t divided, const char* what) {
  if (groups < 1) fail<ValueError>(site, counted(groups, "group"));
  if (channels % groups != 0 || divided % groups != 0)
    fail<ShapeError>(site, fmt::format("{} groups do not divide {} and {} {}", groups, counted(channels, "channel"), divided, what));
}

Tensor convolution(const char* name, std::size_t axes, const Arg& x, const Tensor& weight, const Tensor& bias, const ConvOptions& given) {
  const Scope scope(name, x.where());
  const Site& site = scope.site();
  const Convolved both = convolved(site, x, weight, axes);
  const Shape &in = both.x->shape, &taps = both.weight->shape;
  check_groups(site, given.groups, in[1], taps[0], "filters");
  if (taps[1] != in[1] / given.groups)
    fail<ShapeError>(site, fmt::format("weight of shape {} reads {} where x of shape {} has {}{}", to_string(taps), counted(taps[1], "channel"), to_string(in),
                                       in[1] / given.groups, given.groups > 1 ? " in each group" : ""));
  Convolution how = convolution_of(site, given, in, std::span(taps).subspan(2));
  how.groups = given.groups;
  return finished(site, make_conv(site, both.x, both.weight, how), both, bias);
}

Tensor transposed(const char* name, std::size_t axes, const Arg& x, const Tensor& weight, const Tensor& bias, const ConvTransposeOptions& given) {
  const Scope scope(name, x.where());
  const Site& site = scope.site();
  const Convolved both = convolved(site, x, weight, axes);
  const Shape &in = both.x->shape, &taps = both.weight->shape;
  check_groups(site, given.groups, in[1], taps[0], "rows of weight");
  if (taps[0] != in[1])
    fail<ShapeError>(site,
                     fmt::format("weight of shape {} reads {} where x of shape {} has {}", to_string(taps), counted(taps[0], "channel"), to_string(in), in[1]));
  const TransposedConvolution as(site, given, in, taps);
  const Tensor windows(
      make_conv(site, as.read(Tensor(both.x)).node(), filters_of_phases(Tensor(both.weight), given.groups, as.stride, as.dilation).node(), as.how));
  return finished(site, as.together(windows).node(), both, bias);
}

}  // namespace

Tensor conv(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvOptions& how) { return convolution("conv", 0, x, weight, bias, how); }
Tensor conv1d(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvOptions& how) { return convolution("conv1d", 1, x, weight, bias, how); }
Tensor conv2d(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvOptions& how) { return convolution("conv2d", 2, x, weight, bias, how); }
Tensor conv3d(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvOptions& how) { return convolution("conv3d", 3, x, weight, bias, how); }
Tensor conv_transpose(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvTransposeOptions& how) {
  return transposed("conv_transpose", 0, x, weight, bias, how);
}
Tensor conv_transpose1d(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvTransposeOptions& how) {
  return transposed("conv_transpose1d", 1, x, weight, bias, how);
}
Tensor conv_transpose2d(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvTransposeOptions& how) {
  return transposed("conv_transpose2d", 2, x, weight, bias, how);
}
Tensor conv_transpose3d(const Arg& x, const Tensor& weight, const Tensor& bias, const ConvTransposeOptions& how) {
  return transposed("conv_transpose3d", 3, x, weight, bias, how);
}

Tensor unfold(const Arg& x, const PerAxis& kernel_size, const PerAxis& dilation, const Padding& padding, const PerAxis& stride) {
  const Scope scope("unfold", x.where());
  const Site& site = scope.site();
  RecordedPtr node = as_node(site, x);
  if (node->shape.size() != 3 && node->shape.size() != 4)
    fail<ShapeError>(site, fmt::format("x of shape {}; expected (batch, channels, rows, columns)", to_string(node->shape)));
  const bool batched = node->shape.size() == 4;
  if (!batched) node = expand_dims(Tensor(node), 0).node();
  const auto taps = per_axis(site, "kernel_size", kernel_size, 2, 1), apart = per_axis(site, "dilation", dilation, 2, 1),
             step = per_axis(site, "stride", stride, 2, 1);
  const auto widths = per_axis(site, padding, 2);
  const Tensor padded = pad(Tensor(node), {{0, 0}, {0, 0}, widths[0], widths[1]});
  RecordedPtr windows = padded.node();
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t space = windows->shape[axis + 2] - (taps[axis] - 1) * apart[axis] - 1;
    if (space < 0) fail<ShapeError>(site, fmt::format("{} taps, {} apart, do not fit into shape {}", taps[axis], apart[axis], to_string(padded.shape())));
    windows = make_windows(site, windows, axis + 2, space / step[axis] + 1, step[axis], taps[axis], apart[axis]);
  }
  const Shape columns{windows->shape[0], windows->shape[1] * taps[0] * taps[1], windows->shape[2] * windows->shape[3]};
  const RecordedPtr turned = make_permute(site, windows, {0, 1, 4, 5, 2, 3});
  return Tensor(make_reshape(site, turned, batched ? columns : Shape{columns[1], columns[2]}));
}

Tensor linear(const Arg& x, const Tensor& weight, const Tensor& bias) {
  const Scope scope("linear", x.where());
  const Shape& shape = node_of(scope.site(), weight)->shape;
  if (shape.size() != 2 && shape.size() != 1) fail<ShapeError>(scope.site(), fmt::format("weight of shape {}; expected (out, in)", to_string(shape)));
  const Tensor product = matmul(x, shape.size() == 1 ? weight : transpose(weight));
  return bias.empty_handle() ? product : product + bias;
}

}  // namespace sinter
