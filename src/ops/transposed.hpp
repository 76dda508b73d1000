// Expresses a transposed convolution as a convolution of stride 1 whose filters are the phases of the result.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/recording.hpp"
#include "sinter/nn.hpp"
#include "sinter/tensor.hpp"
#include "trace/library.hpp"

namespace sinter::ops {

/// Throws ShapeError for strides whose phases need more filters than memory can hold.
void check_phases(const Site& site, std::int64_t filters, const std::vector<std::int64_t>& stride);

/// Converts weight (channels, filters / groups, taps..) to filters of the convolution: (groups * phases * filters, channels / groups, taps of a phase..).
/// Before cropping, position q of the result is stride * i + tap. In phase r = q % stride it is the sum over m of x[q / stride - m] * weight[r + stride * m],
/// which is a convolution with the taps of the phase in reverse order. A dilation stays a dilation if the stride is 1; otherwise zeros are inserted between the
/// taps. All phases are filters of one convolution with equally many taps: within a group, those of the first phase come first.
Tensor filters_of_phases(const Tensor& weight, std::int64_t groups, const std::vector<std::int64_t>& stride, const std::vector<std::int64_t>& dilation);

/// The operands of that convolution, and the conversion of its result.
class TransposedConvolution {
 public:
  /// Takes the shapes of x (batch, channels, places..) and weight (channels, filters / groups, taps..); the caller has checked channels and groups. Throws
  /// ShapeError if the result would be empty, ValueError for invalid options.
  TransposedConvolution(const Site& site, const ConvTransposeOptions& given, const Shape& x, const Shape& weight);

  Convolution how;
  std::vector<std::int64_t> stride, dilation;  // options of the transposed convolution
  /// Returns the part of x that is read.
  Tensor read(const Tensor& x) const;
  /// Interleaves the phases of the convolution's result and crops them: (batch, filters, places..).
  Tensor together(const Tensor& windows) const;

 private:
  struct Axis {
    std::int64_t read_begin, read_end;  // range of x
    std::int64_t crop, places;          // cropped and remaining positions of the result
  };

  std::int64_t groups_, filters_;  // per group
  std::vector<Axis> axes_;
};

}  // namespace sinter::ops
