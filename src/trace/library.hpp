// The recording columns of the records of library calls (trace/library_calls.def), and their attributes.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sinter/recurrent.hpp"
#include "trace/graph.hpp"

namespace sinter::trace {

/// The operands and attributes of a library call.
struct CallTerms {
  std::span<const Shape> shapes;
  std::span<const DType> dtypes;
  std::span<const std::int64_t> ints;
};
/// Whether a call with these terms reads its operands' elements and writes its result's, and nothing else.
bool library_takes(Op op, const CallTerms& terms);

/// The result's shape for operands of these shapes, which library_takes() has accepted.
Shape library_shape(Op op, std::span<const Shape> operands, std::span<const std::int64_t> ints);
/// The result's dtype, where the first operand is of this one.
DType library_dtype(Op op, DType first);

/// The attributes of conv: x (batch, channels, places..), weight (filters, channels / groups, taps..) -> (batch, filters, places..),
/// cross-correlated along 1 to 3 axes of places. Filter f reads the channels of its group alone: those of number f / (filters / groups).
/// Numbers but `groups` are one for each axis; x is zero outside.
/// Those of conv_blocked are the same, along 2 axes, with groups of whole blocks where filters read several channels: x, filters and result as in
/// sinter/blocked.hpp, and what sums begin with for each filter. Those of conv_bytes too, where behind what sums begin with lies what x is outside.
/// conv_bytes_scaled has one more, (2, filters): what each filter's sums are multiplied with, and what is added then.
struct Convolution {
  std::int64_t groups = 1;
  std::vector<std::int64_t> stride, dilation, before, after;

  std::size_t axes() const { return stride.size(); }
  /// What the windows of an axis of this size give; below 1 where not one fits.
  std::int64_t places(std::size_t axis, std::int64_t size, std::int64_t taps) const;

  std::vector<std::int64_t> ints() const;
  static Convolution of(std::span<const std::int64_t> ints);
};

/// Whether filters of a conv_blocked, in so many groups, read x: as many channels as there are, laid out as sinter/blocked.hpp says.
bool filters_read(const Shape& x, const Shape& filters, std::int64_t groups);

/// Whether these are the panels (sinter/blocked.hpp) of a matrix of so many rows and columns. The attribute of matmul_panels is the columns.
bool panels_hold(const Shape& panels, std::int64_t depth, std::int64_t columns);

/// The attributes of recurrence (sinter/recurrent.hpp): x, weights, start -> the states after each step, then the last ones.
struct Recurrence {
  Cell cell = Cell::rnn_tanh;
  bool backwards = false;

  std::int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru || cell == Cell::gru_reset_after ? 3 : 1; }
  std::int64_t states() const { return cell == Cell::lstm ? 2 : 1; }
  bool takes(std::span<const Shape> operands) const;

  std::vector<std::int64_t> ints() const { return {static_cast<std::int64_t>(cell), backwards}; }
  /// Nothing where these are no such attributes.
  static std::optional<Recurrence> of(std::span<const std::int64_t> ints);
};

}  // namespace sinter::trace
