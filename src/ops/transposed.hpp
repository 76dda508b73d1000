// A transposed convolution as a convolution of stride 1 whose filters are the phases of the result.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/recording.hpp"
#include "sinter/nn.hpp"
#include "sinter/tensor.hpp"
#include "trace/library.hpp"

namespace sinter::ops {

/// Throws ShapeError for strides that make more phases of the filters than memory can hold.
void check_phases(const Site& site, std::int64_t filters, const std::vector<std::int64_t>& stride);

/// weight (channels, filters / groups, taps..) as filters of the convolution: (groups * phases * filters, channels / groups, taps of a phase..).
/// Place q before cropping is stride * i + tap. Of phase r = q % stride it is the sum over m of x[q / stride - m] * weight[r + stride * m]: a convolution
/// with the taps of the phase in reverse; where the stride is 1 they are apart as they were, else zeros lie between. All phases are filters of one convolution,
/// with as many taps each: of a group, those of the first phase come first.
Tensor filters_of_phases(const Tensor& weight, std::int64_t groups, const std::vector<std::int64_t>& stride, const std::vector<std::int64_t>& dilation);

/// What goes into that convolution, and what becomes of its result.
class TransposedConvolution {
 public:
  /// Of x (batch, channels, places..) and weight (channels, filters / groups, taps..), whose channels fit and whose groups divide them. Throws ShapeError
  /// where no place would be left, ValueError for options that say nothing.
  TransposedConvolution(const Site& site, const ConvTransposeOptions& given, const Shape& x, const Shape& weight);

  Convolution how;
  std::vector<std::int64_t> stride, dilation;  // of the transposed one
  /// What of x is read; it may be in blocks.
  Tensor read(const Tensor& x) const;
  /// Of all phases, over all axes.
  std::int64_t phases() const;
  /// What the convolution gave, its phases put together and cropped: (batch, filters, places..).
  Tensor together(const Tensor& windows) const;
  /// The same where filters, without groups, lie in blocks: (batch, phases * blocks, places.., side by side) -> (batch, blocks, places.., side by side).
  Tensor together_in_blocks(const Tensor& windows) const;

 private:
  struct Axis {
    std::int64_t read_begin, read_end;  // of x
    std::int64_t crop, places;          // of the result
  };
  Tensor together(const Tensor& windows, std::int64_t groups, std::int64_t filters, std::size_t side_by_side) const;

  std::int64_t groups_, filters_;  // of a group
  std::vector<Axis> axes_;
};

}  // namespace sinter::ops
