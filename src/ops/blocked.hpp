// Blocked channels: the layout with which a CPU convolves fastest. The channels of a block are adjacent in memory, so that one vector holds the channels of a
// position. Graph passes record these functions (fuse/passes.hpp).
#pragma once
#include <cstdint>

#include "sinter/nn.hpp"
#include "sinter/tensor.hpp"
#include "trace/library.hpp"

namespace sinter {

/// Converts (batch, channels, rows, columns) to (batch, ceil(channels / 16), rows, columns, 16), a view; zeros fill the last block. A single channel, which
/// broadcasts, stays single, even in operations with blocked tensors: (batch, 1, rows, columns, 1). It is convolved as a plane. Throws ShapeError for other
/// ranks.
Tensor block_channels(const Arg& x);
/// Converts back to (batch, channels, rows, columns). Throws ShapeError if the number of channels does not fit the blocks.
Tensor unblock_channels(const Arg& x, std::int64_t channels);

/// Converts filters (filters, channels / groups, rows, columns) to the layout that conv2d_blocked reads. The result is a view: compute it once. Zeros fill the
/// blocks.
/// - blocked: (filters / 16, channels / 16, rows, columns, 16 channels, 16 filters), for x in blocks
/// - planes: (filters / 16, channels, rows, columns, 16 filters), for x that is not blocked and has few channels
/// - depthwise: (channels / 16, rows, columns, 16), for filters that read only their own channel, for x in blocks
/// - winograd: (16, filters / 16, channels / 16, 16 channels, 16 filters), for 3x3 taps and x in blocks: transformed for minimal filtering, F(2x2, 3x3).
///   It multiplies 4/9 as often, with about the same rounding; if an element of x is infinite, all 2x2 results of the tiles that contain it are NaN.
enum class FilterLayout : std::uint8_t { blocked, planes, depthwise, winograd };
Tensor block_filters(const Arg& filters, FilterLayout layout);

/// Computes conv2d of float32 in blocks: (batch, filters / 16, rows, columns, 16). `filters` come from block_filters; `bias` is (filters,) padded to whole
/// blocks, or empty. Filters read all channels, only their own (depthwise), or, for `blocked` ones, those of their group: `how.groups` divides the blocks of
/// channels and of filters; for other filters it is ignored. Winograd filters need stride and dilation 1. It is one library call of the CPU; for a GPU the
/// host computes it. Throws DTypeError for other types, ShapeError for shapes that do not fit.
Tensor conv2d_blocked(const Arg& x, const Tensor& filters, const Tensor& bias, const ConvOptions& how = {});

// --- bytes -------------------------------------------------------------------------------------------------------------

/// Converts up to four channels: (batch, channels, rows, columns) -> (batch, 1, rows, columns, 4), a view; zeros stand for missing channels.
Tensor block_few_channels(const Arg& x);

/// Converts filters of int8, (filters, channels / groups, rows, columns), to the layout that conv2d_bytes reads. The result is a view: compute it once. Zeros
/// fill the blocks. Four channels are adjacent for each filter, because processors multiply four at a time.
/// - blocked: (filters / 16, channels / 16, rows, columns, 4, 16 filters, 4 channels), for x in blocks
/// - few: (filters / 16, 1, rows, columns, 1, 16 filters, 4 channels), for x of few channels
/// - depthwise: (channels / 16, rows, columns, 16), for filters that read only their own channel, for x in blocks
enum class ByteFilterLayout : std::uint8_t { blocked, few, depthwise };
Tensor block_byte_filters(const Arg& filters, ByteFilterLayout layout);

/// Computes the sums of a convolution of uint8 in blocks with filters of int8, in int32, exact modulo 2^32: (batch, filters / 16, rows, columns, 16). The
/// padding of x has the value `outside`, one uint8; empty means 0. Sums begin with `start`, int32 (filters,) padded to whole blocks; empty means 0. It is one
/// library call of the CPU; for a GPU the host computes it. Throws DTypeError for other types, ShapeError for shapes that do not fit.
Tensor conv2d_bytes(const Arg& x, const Tensor& filters, const Tensor& start, const Tensor& outside, const ConvOptions& how = {});
/// Dequantises the sums: converts each to float32, multiplies by its filter's scale and adds the shift, rounded every time. Both are float32 (filters,) like
/// `start`; an empty shift is 0.
Tensor conv2d_bytes_scaled(const Arg& x, const Tensor& filters, const Tensor& start, const Tensor& outside, const Tensor& scale, const Tensor& shift,
                           const ConvOptions& how = {});

/// Converts a matrix of int8, (k, n), to the layout that matmul_panels reads: (n / 16, k / 4, 16 columns, 4 rows), filled with zeros. It is a view: compute it
/// once.
Tensor byte_panels(const Arg& matrix);
/// Multiplies uint8 (..., m, k) by the `columns` columns of a matrix in panels, in int32, exact modulo 2^32: (..., m, columns). It is one library call of the
/// CPU; for a GPU the host computes it. Throws DTypeError for other types, ShapeError for shapes that do not fit.
Tensor matmul_panels(const Arg& x, const Tensor& panels, std::int64_t columns);

}  // namespace sinter
