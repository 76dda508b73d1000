// Neural network layers with PyTorch's names and order of arguments. x is (batch, channels, spatial axes..), with 1 to 3 spatial axes, or the same without the
// batch. All floating types are accepted; those of 8 and 16 bits are computed in float32 and rounded once. Wrong shapes throw ShapeError, wrong numbers
// ValueError, wrong types DTypeError.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// One number for all spatial axes, or one for each: 2, or {2, 1}.
class PerAxis {
 public:
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  PerAxis(T all) : list_{static_cast<std::int64_t>(all)} {}
  PerAxis(std::initializer_list<std::int64_t> each) : list_(each) {}
  PerAxis(std::vector<std::int64_t> each) : list_(std::move(each)) {}
  const std::vector<std::int64_t>& list() const { return list_; }  ///< one number for all axes, or one for each

 private:
  std::vector<std::int64_t> list_;
};

/// The padding of the spatial axes: 1 (on both sides of every axis), {1, 2} (one number for each axis), or {{0, 1}, {0, 1}} (before and after each axis).
/// same() pads so that a convolution keeps the size, for which its stride must be 1, and so that a pool gives ceil(size / stride). If the padding of an axis is
/// odd, the extra element is added at the end.
class Padding {
 public:
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Padding(T all) : widths_{{static_cast<std::int64_t>(all), static_cast<std::int64_t>(all)}} {}
  Padding(std::initializer_list<std::int64_t> each) : Padding(std::vector<std::int64_t>(each)) {}
  Padding(const std::vector<std::int64_t>& each) {
    for (const std::int64_t width : each) widths_.emplace_back(width, width);
  }
  Padding(std::vector<std::pair<std::int64_t, std::int64_t>> before_after) : widths_(std::move(before_after)) {}
  Padding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> before_after) : widths_(before_after) {}
  static Padding same() {  /// Pads as described above.
    Padding padding(0);
    padding.same_ = true;
    return padding;
  }
  const std::vector<std::pair<std::int64_t, std::int64_t>>& widths() const { return widths_; }  ///< before and after, for each axis or for all
  bool is_same() const { return same_; }                                                        ///< true for same()

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> widths_;
  bool same_ = false;
};

// --- convolutions ----------------------------------------------------------------------------------------------------

struct ConvOptions {
  PerAxis stride = 1;
  Padding padding = 0;
  PerAxis dilation = 1;
  std::int64_t groups = 1;
};
/// Returns the cross-correlation: weight (filters, channels / groups, taps..), bias (filters,) -> (batch, filters, spatial axes..). Integers are convolved in
/// int32 or int64. The convolution is a library call, and takes an epilogue if the library supports one. A CPU computes 3x3 taps of stride 1 over many channels
/// and positions in tiles of 2x2 positions. An infinity in x, or a number near the largest of the type, then makes a whole tile NaN. If groups do not fill 16
/// channels, the tiles of neighbouring groups become NaN, too. See docs/models.md.
Tensor conv(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& how = {});
/// These call conv after they check the number of spatial axes.
Tensor conv1d(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& how = {});
Tensor conv2d(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& how = {});
Tensor conv3d(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& how = {});

struct ConvTransposeOptions {
  PerAxis stride = 1;
  Padding padding = 0;
  PerAxis output_padding = 0;
  std::int64_t groups = 1;
  PerAxis dilation = 1;
};
/// Returns the transpose of conv as a linear map: weight (channels, filters / groups, taps..). The result's size along an axis is (size - 1) * stride -
/// (padding before + padding after) + dilation * (taps - 1) + output_padding + 1. It is computed as one convolution of stride 1: with a stride s, every s-th
/// element of the result is one phase, and each phase has filters of its own. Taps that a phase lacks are zeros, so an infinity of x may cause NaN where no tap
/// reads it.
Tensor conv_transpose(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const ConvTransposeOptions& how = {});
Tensor conv_transpose1d(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const ConvTransposeOptions& how = {});
Tensor conv_transpose2d(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const ConvTransposeOptions& how = {});
Tensor conv_transpose3d(const Arg& x, const Tensor& weight, const Tensor& bias = {}, const ConvTransposeOptions& how = {});

/// Returns the windows of a convolution as columns: (batch, channels, rows, columns) -> (batch, channels * taps, windows).
Tensor unfold(const Arg& x, const PerAxis& kernel_size, const PerAxis& dilation = 1, const Padding& padding = 0, const PerAxis& stride = 1);
/// Returns x @ weight.T + bias; weight is (out, in).
Tensor linear(const Arg& x, const Tensor& weight, const Tensor& bias = {});

// --- pools reduce as many of the last axes as kernel_size has numbers, or as the function's name says; one number stands for all spatial
// axes: max_pool(x, 2) of (batch, channels, rows, columns) is max_pool2d(x, 2) --------------------------------------------------------------

struct PoolOptions {
  std::optional<PerAxis> stride = {};  ///< by default the kernel's size
  Padding padding = 0;
  PerAxis dilation = 1;
  bool ceil_mode = false;         ///< true: a last window that begins inside x may extend beyond the end
  bool count_include_pad = true;  ///< true: averages count the padding
  std::optional<std::int64_t> divisor_override = {};
};
Tensor max_pool(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how = {});  ///< ShapeError if a window exceeds its axis by more than 65536
Tensor avg_pool(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how = {});  ///< the mean of each window
/// Returns (sum |x|^p)^(1/p).
Tensor lp_pool(const Arg& x, double p, const PerAxis& kernel_size, const PoolOptions& how = {});
Tensor max_pool1d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how = {});
Tensor max_pool2d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how = {});
Tensor max_pool3d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how = {});
Tensor avg_pool1d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how = {});
Tensor avg_pool2d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how = {});
Tensor avg_pool3d(const Arg& x, const PerAxis& kernel_size, const PoolOptions& how = {});
/// Returns the mean of each of n windows along an axis, n being the output size. Window i begins at floor(i * size / n) and ends before ceil((i + 1) * size /
/// n). Throws ValueError if an axis has more than 65536 windows and they differ in size.
Tensor adaptive_avg_pool(const Arg& x, const PerAxis& output_size);
Tensor adaptive_max_pool(const Arg& x, const PerAxis& output_size);  ///< the largest element of the same windows
/// These reduce all spatial axes, which stay as axes of size 1.
Tensor global_avg_pool(const Arg& x);
Tensor global_max_pool(const Arg& x);

// --- norms; an empty handle leaves out weight or bias --------------------------------------------------------------------

/// Normalises by running statistics, at inference: (x - mean) / sqrt(var + eps) * weight + bias for each channel.
Tensor batch_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
/// Normalises by the mean and variance of each group of channels.
Tensor group_norm(const Arg& x, std::int64_t num_groups, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
/// Normalises by the mean and variance of each channel.
Tensor instance_norm(const Arg& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
/// Returns x / (k + alpha * the mean of squares of `size` neighbouring channels)^beta.
Tensor local_response_norm(const Arg& x, std::int64_t size, double alpha = 1e-4, double beta = 0.75, double k = 1);

// --- attention and embeddings -------------------------------------------------------------------------------------------------------

struct AttentionOptions {
  Tensor mask = {};                  ///< bool: true takes part; floating: added to the scores
  bool is_causal = false;            ///< true: a query attends only to keys up to its own index
  std::optional<double> scale = {};  ///< by default 1 / sqrt(the last axis)
  bool enable_gqa = false;           ///< true: keys and values have fewer heads than queries; several heads of the queries share one head of them
};
/// Returns softmax(query @ key.T * scale + mask) @ value over the last two axes; the axes before are batches and heads.
Tensor scaled_dot_product_attention(const Arg& query, const Tensor& key, const Tensor& value, const AttentionOptions& how = {});
/// Returns the rows of weight that the indices name.
Tensor embedding(const Arg& indices, const Tensor& weight);
/// Returns 1 at each index and 0 elsewhere, along a new last axis; int64 by default.
Tensor one_hot(const Arg& indices, std::int64_t num_classes, DType dtype = DType::int64);

// --- sizes ----------------------------------------------------------------------------------------------------------------------------

enum class Interpolation : std::uint8_t { nearest, linear, cubic };
/// The rule that maps a position in the result to a position in x, with ONNX's names.
enum class Coordinates : std::uint8_t { half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, tf_crop_and_resize };
enum class NearestRounding : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
struct ResizeOptions {
  Interpolation mode = Interpolation::nearest;
  Coordinates coordinates = Coordinates::half_pixel;
  NearestRounding rounding = NearestRounding::round_prefer_floor;
  double cubic_a = -0.75;
  bool exclude_outside = false;                        ///< cubic, antialias: true gives positions outside of x no weight; false repeats the outermost element
  std::vector<double> scales = {};                     ///< one for each resized axis; by default the new size divided by the old one
  bool antialias = false;                              ///< linear, cubic: if the result is smaller, each element is a mean over all positions that it covers
  std::vector<std::pair<double, double>> region = {};  ///< tf_crop_and_resize: the part of each axis that is read; 0 is its first position, 1 its last
  double extrapolation_value = 0;                      ///< tf_crop_and_resize: the value at positions outside of x
};
/// Resizes the last axes of x to these sizes.
Tensor resize(const Arg& x, const std::vector<std::int64_t>& sizes, const ResizeOptions& how = {});
/// Options as in PyTorch: `mode` is "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic" or "area"; set `size` or `scale_factor`.
struct InterpolateOptions {
  std::vector<std::int64_t> size = {};  ///< one number serves all axes
  std::vector<double> scale_factor = {};
  std::string_view mode = "nearest";
  bool align_corners = false;
  bool antialias = false;  ///< bilinear and bicubic
};
Tensor interpolate(const Arg& x, const InterpolateOptions& how);
/// These rearrange (batch, channels * r * r, rows, columns) to (batch, channels, rows * r, columns * r), and back. r is from 1 to 2^20.
Tensor pixel_shuffle(const Arg& x, std::int64_t upscale_factor);
Tensor pixel_unshuffle(const Arg& x, std::int64_t downscale_factor);

// --- activations besides those of sinter/ops.hpp -----------------------------------------------------------------------------------------

/// Returns x where x is not negative, and x times the weight of its channel elsewhere; weight has one number in all, or one for each channel.
Tensor prelu(const Arg& x, const Tensor& weight);
Tensor relu6(const Arg& x);
Tensor hardtanh(const Arg& x, double min_val = -1, double max_val = 1);
/// Returns x where x is above the threshold, and `value` elsewhere.
Tensor threshold(const Arg& x, double threshold, double value);
/// Returns x / (1 + |x|).
Tensor softsign(const Arg& x);
/// Returns log(sigmoid(x)).
Tensor logsigmoid(const Arg& x);
/// Returns x - tanh(x).
Tensor tanhshrink(const Arg& x);
/// Returns x where |x| > lambda, and 0 elsewhere.
Tensor hardshrink(const Arg& x, double lambda = 0.5);
/// Moves x by lambda towards 0, at most to 0.
Tensor softshrink(const Arg& x, double lambda = 0.5);

}  // namespace sinter
