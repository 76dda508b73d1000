// Channels in blocks: the layout in which a processor convolves fastest. The channels of a block lie side by side, so that a vector holds a
// place's channels. Not part of sinter.hpp; models are laid out so by themselves.
#pragma once
#include <cstdint>

#include "sinter/nn.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

inline constexpr std::int64_t kChannelBlock = 16;

/// (batch, channels, rows, columns) -> (batch, ceil(channels / 16), rows, columns, 16), a view; zeros stand for the channels that fill the last block.
/// A single channel, which broadcasts, stays one: (batch, 1, rows, columns, 1), beside others in blocks; it is convolved as it is, by planes. Throws ShapeError
/// for other ranks.
Tensor block_channels(const Arg& x);
/// Back to (batch, channels, rows, columns). Throws ShapeError where the blocks do not hold as many.
Tensor unblock_channels(const Arg& x, std::int64_t channels);

/// Filters (filters, channels / groups, rows, columns) as conv2d_blocked reads them, a view; compute it once. What fills blocks is 0.
/// - blocked: (filters / 16, channels / 16, rows, columns, 16 channels, 16 filters), for x in blocks
/// - planes: (filters / 16, channels, rows, columns, 16 filters), for x as it is, of few channels
/// - depthwise: (channels / 16, rows, columns, 16), of filters that read one channel each, their own, for x in blocks
/// - winograd: (16, filters / 16, channels / 16, 16 channels, 16 filters), of 3x3 taps, for x in blocks: transformed for minimal filtering, F(2x2, 3x3).
///   The convolution multiplies 4/9 as often, and rounds about as well; an infinite element of x makes NaN of all the 2x2 places of a tile that it is in.
enum class FilterLayout : std::uint8_t { blocked, planes, depthwise, winograd };
Tensor block_filters(const Arg& filters, FilterLayout layout);

/// True where the present device convolves faster in blocks: a CPU with vectors of 32 bytes.
bool convolves_in_blocks();

/// conv2d of float32 in blocks: (batch, filters / 16, rows, columns, 16). `filters` come from block_filters; `bias` is (filters,) with the filters that
/// fill the last block, or empty. Filters read all channels, or their own (depthwise), or, of `blocked` ones, those of their group: `how.groups` divides
/// the blocks of channels and of filters; of other filters it is not read. Winograd's have stride and dilation 1. One library call, of the CPU;
/// for a GPU the host computes it. Throws DTypeError for other types, ShapeError for what does not fit.
Tensor conv2d_blocked(const Arg& x, const Tensor& filters, const Tensor& bias, const ConvOptions& how = {});

/// Filters (channels, filters, rows, columns) of a transposed convolution, as `blocked` filters of a convolution whose filters are the phases of the
/// result, stride[0] * stride[1] times as many, those of the first phase first. A view; compute it once.
Tensor block_transposed_filters(const Arg& weight, const PerAxis& stride, const PerAxis& dilation = 1);
/// conv_transpose2d of float32 in blocks. `filters` come from block_transposed_filters with the stride and dilation of `how`, from (channels, count, rows,
/// columns) whose last two are `kernel_size`; `bias` is that of the phases' filters with those that fill the last block, or empty; how.groups is not read. The
/// result is in blocks where `count` is whole blocks, else (batch, count, rows, columns). Throws as conv2d_blocked and conv_transpose2d do.
Tensor conv_transpose2d_blocked(const Arg& x, const Tensor& filters, const Tensor& bias, std::int64_t count, const PerAxis& kernel_size,
                                const ConvTransposeOptions& how = {});

// --- bytes -------------------------------------------------------------------------------------------------------------

/// Few channels, up to four: (batch, channels, rows, columns) -> (batch, 1, rows, columns, 4), a view; zeros stand for those that are not there.
Tensor block_few_channels(const Arg& x);

/// Filters of int8, (filters, channels / groups, rows, columns), as conv2d_bytes reads them, a view; compute it once. What fills blocks is 0. Four channels
/// lie side by side for each filter, as processors multiply them.
/// - blocked: (filters / 16, channels / 16, rows, columns, 4, 16 filters, 4 channels), for x in blocks
/// - few: (filters / 16, 1, rows, columns, 1, 16 filters, 4 channels), for x of few channels
/// - depthwise: (channels / 16, rows, columns, 16), of filters that read one channel each, their own, for x in blocks
enum class ByteFilterLayout : std::uint8_t { blocked, few, depthwise };
Tensor block_byte_filters(const Arg& filters, ByteFilterLayout layout);

/// The sums of a convolution of uint8 in blocks with filters of int8, in int32, exact modulo 2^32: (batch, filters / 16, rows, columns, 16). Outside of it
/// x is `outside`, one uint8, or 0 where that is empty. Sums begin with `start`, int32 (filters,) with those that fill the last block, or 0 where it is empty.
/// One library call, of the CPU; for a GPU the host computes it. Throws DTypeError for other types, ShapeError for what does not fit.
Tensor conv2d_bytes(const Arg& x, const Tensor& filters, const Tensor& start, const Tensor& outside, const ConvOptions& how = {});
/// What the sums stand for: each converted to float32, times its filter's scale, and the shift added, rounded every time. Both are float32 (filters,) as
/// `start` is; no shift is 0.
Tensor conv2d_bytes_scaled(const Arg& x, const Tensor& filters, const Tensor& start, const Tensor& outside, const Tensor& scale, const Tensor& shift,
                           const ConvOptions& how = {});

/// A matrix of int8, (k, n), as matmul_panels reads it, a view; compute it once: (n / 16, k / 4, 16 columns, 4 rows), what fills the last ones is 0.
Tensor byte_panels(const Arg& matrix);
/// True where the present device multiplies faster by panels: a CPU with VNNI.
bool multiplies_panels();
/// uint8 (..., m, k) times the `columns` columns of a matrix in panels, in int32, exact modulo 2^32: (..., m, columns). One library call, of the CPU; for a
/// GPU the host computes it. Throws DTypeError for other types, ShapeError for what does not fit.
Tensor matmul_panels(const Arg& x, const Tensor& panels, std::int64_t columns);

}  // namespace sinter
