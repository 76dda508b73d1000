// The recording columns of the records of library calls (trace/library_calls.def), and their attributes.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sinter/recurrent.hpp"
#include "trace/graph.hpp"

namespace sinter {

/// The number of channels in a block (ops/blocked.hpp).
inline constexpr std::int64_t kChannelBlock = 16;

}  // namespace sinter

namespace sinter::trace {

/// The operands and attributes of a library call.
struct CallTerms {
  std::span<const Shape> shapes;
  std::span<const DType> dtypes;
  std::span<const std::int64_t> ints;
};
/// Returns whether a call with these terms reads only its operands' elements and writes only its result's.
bool library_takes(Op op, const CallTerms& terms);

/// Returns the result's shape for operands of these shapes, which library_takes() has accepted.
Shape library_shape(Op op, std::span<const Shape> operands, std::span<const std::int64_t> ints);
/// Returns the result's dtype for a first operand of this dtype.
DType library_dtype(Op op, DType first);

/// The attributes of conv: x (batch, channels, places..), weight (filters, channels / groups, taps..) -> (batch, filters, places..), cross-correlated along 1
/// to 3 spatial axes. Filter f reads only the channels of its group, number f / (filters / groups). All attributes except `groups` have one number for each
/// axis; x is zero outside. conv_blocked has the same attributes, with 2 axes, and groups of whole blocks if filters read several channels. Its operands are x
/// and filters as in ops/blocked.hpp, and the initial value of each filter's sums. conv_bytes has one more operand, the value of x outside. conv_bytes_scaled
/// has another one, (2, filters): the factor of each filter's sums, and the number that is then added.
struct Convolution {
  std::int64_t groups = 1;
  std::vector<std::int64_t> stride, dilation, before, after;

  std::size_t axes() const { return stride.size(); }
  /// Returns the number of windows along an axis of this size; less than 1 if none fits.
  std::int64_t places(std::size_t axis, std::int64_t size, std::int64_t taps) const;

  std::vector<std::int64_t> ints() const;
  static Convolution of(std::span<const std::int64_t> ints);
};

/// Returns false for negative padding.
bool pads_nothing_away(const Convolution& how);

/// Returns whether filters of a conv_blocked with this number of groups fit x: they have as many channels, in a layout of ops/blocked.hpp.
bool filters_read(const Shape& x, const Shape& filters, std::int64_t groups);

/// Returns whether these are the panels (ops/blocked.hpp) of a matrix with these numbers of rows and columns. The attribute of matmul_panels is the number of
/// columns.
bool panels_hold(const Shape& panels, std::int64_t depth, std::int64_t columns);

/// The attributes of recurrence, ragged_recurrence and byte_recurrence (sinter/recurrent.hpp). The operands are x, weights and start; the result is the states
/// after each step, then the final ones. ragged_recurrence also takes the sequences' lengths. The weights of byte_recurrence are (3, gates * size): the factor,
/// the zero point and the bias of each sum. Its fourth operand is the 8-bit numbers, (size, gates * size).
struct Recurrence {
  Cell cell = Cell::rnn_tanh;
  bool backwards = false;

  std::int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru || cell == Cell::gru_reset_after ? 3 : 1; }
  std::int64_t states() const { return cell == Cell::lstm ? 2 : 1; }
  /// Return whether operands of these shapes fit recurrence or ragged_recurrence, and byte_recurrence.
  bool takes(std::span<const Shape> operands) const;
  bool takes_bytes(std::span<const Shape> operands) const;
  /// Returns the rows of the weights that belong to the inputs: none if x has their sums.
  static std::int64_t rows_of_inputs(const Shape& weights, const Shape& start) { return weights[0] - (start[2] + 1); }

  std::vector<std::int64_t> ints() const { return {static_cast<std::int64_t>(cell), backwards}; }
  /// Returns nullopt if these are not the attributes of a recurrence.
  static std::optional<Recurrence> of(std::span<const std::int64_t> ints);
};

}  // namespace sinter::trace
