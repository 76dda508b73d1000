#include "kernels/convolutions/winograd_conv.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/per_thread.hpp"
#include "base/threads.hpp"
#include "kernels/products/matmul.hpp"

namespace sinter::kernels {
namespace {

/// The numbers of elements of transformed tiles, and of their sums, that are computed together. The second-level cache holds both.
constexpr std::int64_t kTransformed = 200 << 10, kSums = 64 << 10;
/// The minimum number of bands per thread. If there are fewer, threads divide the filters, too.
constexpr std::int64_t kBandsOfThread = 4;

// Memory of one thread, reused from call to call.
struct Padded : std::vector<float> {};
struct Transformed : std::vector<float> {};
struct Sums : std::vector<float> {};
template <class Memory> float* with_capacity(std::int64_t elements) {
  auto& memory = per_thread<Memory>();
  if (std::ssize(memory) < elements) memory.resize(static_cast<std::size_t>(elements));
  return memory.data();
}

/// The number of rows of tiles that are computed together.
struct Band {
  std::int64_t image, row, rows;
};

struct Tiles {
  std::int64_t rows, columns, x_columns;  // number of columns of padded x that a row of tiles reads

  explicit Tiles(const BlockedProblem& p) : rows((p.places[0] + 1) / 2), columns((p.places[1] + 1) / 2), x_columns(2 * columns + 2) {}
  std::int64_t of(const Band& band) const { return band.rows * columns; }
};

/// Transforms a block of channels. The tiles of a position are adjacent, and positions are `position` elements apart.
void transform_input(const BlockedProblem& p, const Tiles& tiles, const Band& band, std::int64_t channel, const float* x, float* to, std::int64_t position) {
  const std::int64_t lines = 2 * band.rows + 2, line = tiles.x_columns * kWide;
  float* const padded = with_capacity<Padded>(lines * line);
  lay_out_padded(p, x + (band.image * p.channels + channel) * p.size[0] * p.size[1] * kWide, 2 * band.row, lines, tiles.x_columns, padded);
  for (std::int64_t row = 0; row < band.rows; ++row)
    host_blocks().winograd_input({padded + 2 * row * line, to + row * tiles.columns * kWide, tiles.columns, line, position});
}

/// Computes the blocks of filters [block, block + blocks): first the products of each element of the transformed tiles, then the outputs.
void multiply(const BlockedProblem& p, const Tiles& tiles, const Band& band, std::int64_t block, std::int64_t blocks, const float* transformed,
              const float* weight, const float* zeros, const float* bias, float* result, const Epilogue& epilogue) {
  const std::int64_t count = tiles.of(band), plane = count * kWide, weights = p.channels * kWide * kWide;
  float* const sums = with_capacity<Sums>(kWinogradPositions * blocks * plane);
  for (std::int64_t position = 0; position < kWinogradPositions; ++position) {
    ConvTile tile{};
    tile.x = transformed + position * p.channels * plane;
    tile.weight = weight + (position * p.blocks + block) * weights;
    tile.bias = zeros;
    tile.result = sums + position * blocks * plane;
    tile.places = count, tile.blocks = blocks;
    tile.channels = p.channels, tile.inner = kWide;
    tile.taps[0] = tile.taps[1] = 1;
    tile.x_channel = plane, tile.x_place = kWide;
    tile.weight_block = weights, tile.result_block = plane;
    if (position + 1 < kWinogradPositions) tile.ahead = weight + ((position + 1) * p.blocks + block) * weights, tile.ahead_lines = blocks * weights / kWide;
    host_blocks().conv_tile(tile);
  }
  const std::int64_t rows = std::min(2 * band.rows, p.places[0] - 2 * band.row), line = p.places[1] * kWide;
  for (std::int64_t k = 0; k < blocks; ++k) {
    const std::int64_t begin = ((band.image * p.blocks + block + k) * p.places[0] + 2 * band.row) * line;
    for (std::int64_t row = 0; row < band.rows; ++row)
      host_blocks().winograd_output({sums + k * plane + row * tiles.columns * kWide, bias + (block + k) * kWide, result + begin + 2 * row * line, p.places[1],
                                     std::min<std::int64_t>(2, rows - 2 * row), blocks * plane, line});
    if (epilogue) epilogue(begin, begin + rows * line);
  }
}

}  // namespace

void convolve_winograd(const BlockedProblem& p, const float* x, const float* weight, const float* bias, float* result, int threads, const Epilogue& epilogue) {
  const Tiles tiles(p);
  const int threads_here = thread_count(threads);
  const std::int64_t row_elements = kWinogradPositions * p.channels * tiles.columns * kWide;  // number of elements of a transformed row of tiles
  const std::int64_t rows_fit = std::clamp<std::int64_t>(kTransformed / row_elements, 1, tiles.rows), bands = (tiles.rows + rows_fit - 1) / rows_fit;
  const auto band_of = [&](std::int64_t number) {
    const std::int64_t row = tiles.rows * (number % bands) / bands;
    return Band{number / bands, row, tiles.rows * (number % bands + 1) / bands - row};
  };
  const std::int64_t max_tiles = (tiles.rows + bands - 1) / bands * tiles.columns;
  const std::int64_t all_bands = p.batch * bands, fit = kSums / (kWinogradPositions * kWide * max_tiles);
  const std::int64_t share = threads_here == 1 ? fit : p.blocks * all_bands / (kBandsOfThread * threads_here);  // keeps all threads busy
  const std::int64_t together = std::clamp<std::int64_t>(std::min(fit, share) / 2 * 2, 2, p.blocks + p.blocks % 2);
  const std::int64_t groups = (p.blocks + together - 1) / together;
  const std::vector<float> zeros(static_cast<std::size_t>(together * kWide));
  const auto multiply_group = [&](const Band& band, std::int64_t group, const float* transformed) {
    multiply(p, tiles, band, group * together, std::min(together, p.blocks - group * together), transformed, weight, zeros.data(), bias, result, epilogue);
  };
  if (threads_here == 1 || all_bands >= kBandsOfThread * threads_here) {
    run_tasks(threads_here, all_bands, [&](std::int64_t task) {
      const Band band = band_of(task);
      const std::int64_t plane = tiles.of(band) * kWide;
      float* const transformed = with_capacity<Transformed>(kWinogradPositions * p.channels * plane);
      for (std::int64_t channel = 0; channel < p.channels; ++channel)
        transform_input(p, tiles, band, channel, x, transformed + channel * plane, p.channels * plane);
      for (std::int64_t group = 0; group < groups; ++group) multiply_group(band, group, transformed);
    });
    return;
  }
  // There are few bands: tasks transform all of them first, by blocks of channels, then multiply by groups of filters.
  const std::int64_t band_elements = row_elements * ((tiles.rows + bands - 1) / bands);
  const auto transformed = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(all_bands * band_elements));
  run_tasks(threads_here, all_bands * p.channels, [&](std::int64_t task) {
    const Band band = band_of(task / p.channels);
    const std::int64_t plane = tiles.of(band) * kWide, channel = task % p.channels;
    transform_input(p, tiles, band, channel, x, transformed.get() + task / p.channels * band_elements + channel * plane, p.channels * plane);
  });
  run_tasks(threads_here, all_bands * groups,
            [&](std::int64_t task) { multiply_group(band_of(task % all_bands), task / all_bands, transformed.get() + task % all_bands * band_elements); });
}

}  // namespace sinter::kernels
