// Divides a convolution of channels in blocks into tasks. A task is a band of output positions and a group of filters; it computes tiles whose sums stay in
// registers. A Kind gives the element types (floats, bytes) and the functions that compute a tile.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "base/per_thread.hpp"
#include "base/threads.hpp"
#include "kernels/convolutions/blocked_problem.hpp"
#include "kernels/epilogue.hpp"

namespace sinter::kernels {

template <class Kind> struct BlockedOperands {
  const typename Kind::Element* x;
  const typename Kind::Weight* weight;
  const typename Kind::Sum* bias;
  typename Kind::Element outside;  // the value of elements outside of x
  const float* scaling = nullptr;  // bytes only: a factor and a summand for each filter; null: the sums are the result
};

/// The number of positions of a task. The second-level cache holds their results and the elements that they read until all filters are computed.
inline constexpr std::int64_t kBand = 392;
/// The minimum and maximum number of multiply-adds of a task. Between these, each thread gets a few tasks, so that no thread waits long for the last task.
inline constexpr std::int64_t kMinTask = 1 << 17, kMaxTask = 1 << 20, kTasksOfThread = 6;
/// The minimum number of positions of a band, which is several tiles.
inline constexpr std::int64_t kMinBand = 56;
/// The minimum number of elements of a task that only moves them, or multiplies them by a few taps.
inline constexpr std::int64_t kMovedTask = 16 << 10;
/// The maximum number of blocks of channels times taps whose float weights, for the filters computed together, stay in the second-level cache.
inline constexpr std::int64_t kTapsTogether = 256;
/// An operand with at least this many elements does not stay in the last-level cache (or one core's share of it) from one step to the next.
inline constexpr std::int64_t kFar = 2 << 20;
/// The number of elements of the result in one piece for the epilogue, such that they are still in the first-level cache.
inline constexpr std::int64_t kPiece = 4 << 10;

/// A range of positions along an axis whose windows read x with the same taps [first, end).
struct Stretch {
  std::int64_t place, places, first, end;
};

inline std::vector<Stretch> stretches(const BlockedProblem& p, std::size_t axis) {
  std::vector<Stretch> all;
  for (std::int64_t place = 0; place < p.places[axis]; ++place) {
    const std::int64_t at = place * p.stride[axis] - p.before[axis], step = p.dilation[axis];
    const std::int64_t first = std::clamp<std::int64_t>(at < 0 ? (-at + step - 1) / step : 0, 0, p.taps[axis]);
    const std::int64_t end = std::clamp<std::int64_t>(at < p.size[axis] ? (p.size[axis] - 1 - at) / step + 1 : 0, first, p.taps[axis]);
    if (!all.empty() && all.back().first == first && all.back().end == end) ++all.back().places;
    else all.push_back({place, 1, first, end});
  }
  return all;
}

/// Returns memory of this thread for a piece. The memory stays in the second-level cache.
template <class Sum> Sum* buffer_of_thread(std::int64_t count) {
  auto& buffer = per_thread<std::vector<Sum>>();
  if (static_cast<std::int64_t>(buffer.size()) < count) buffer.resize(static_cast<std::size_t>(count));
  return buffer.data();
}

/// Computes a depthwise convolution. Taps that would read outside of x are skipped, so x needs no copy with padding.
template <class Kind>
void convolve_depthwise(const BlockedProblem& p, const BlockedOperands<Kind>& operands, typename Kind::Sum* result, int threads, const Epilogue& epilogue) {
  const auto* const x = operands.x;
  const auto* const weight = operands.weight;
  const auto* const bias = operands.bias;
  const std::vector<Stretch> across = Kind::kWholeLines ? std::vector<Stretch>{{0, p.places[1], 0, p.taps[1]}} : stretches(p, 1);
  std::vector<Stretch> of_line;  // by position along the first axis
  for (const Stretch& some : stretches(p, 0)) of_line.insert(of_line.end(), static_cast<std::size_t>(some.places), some);
  const std::int64_t rows = std::clamp<std::int64_t>(kPiece / (p.places[1] * kWide), 1, p.places[0]), bands = (p.places[0] + rows - 1) / rows;
  const auto convolve_band = [&](std::int64_t number) {
    const std::int64_t plane = number / bands, block = plane % p.blocks, row = p.places[0] * (number % bands) / bands,
                       end = p.places[0] * (number % bands + 1) / bands;
    typename Kind::DepthwiseTile tile{};
    typename Kind::Sum begin[kWide];
    const std::int64_t first_place = (plane * p.places[0] + row) * p.places[1] * kWide, count = (end - row) * p.places[1] * kWide;
    typename Kind::Sum* const piece = epilogue.elsewhere() ? buffer_of_thread<typename Kind::Sum>(count) : result + first_place;
    Kind::scale(tile, p, operands, block);
    tile.x_tap[0] = p.dilation[0] * p.size[1] * kWide, tile.x_tap[1] = p.dilation[1] * kWide;
    tile.x_place = p.stride[1] * kWide;
    tile.weight_row = p.taps[1] * kWide;
    for (std::int64_t line = row; line < end; ++line) {
      const Stretch& down = of_line[static_cast<std::size_t>(line)];
      tile.taps[0] = down.end - down.first;
      const std::int64_t x_row = plane * p.size[0] + line * p.stride[0] - p.before[0] + down.first * p.dilation[0];
      for (const Stretch& some : across) {
        tile.taps[1] = some.end - some.first;
        if constexpr (Kind::kWholeLines) {
          tile.x = x + x_row * p.size[1] * kWide;
          tile.column = -p.before[1], tile.columns = p.size[1];
        } else {
          tile.x = x + (x_row * p.size[1] + some.place * p.stride[1] - p.before[1] + some.first * p.dilation[1]) * kWide;
        }
        tile.weight = weight + ((block * p.taps[0] + down.first) * p.taps[1] + some.first) * kWide;
        tile.bias = Kind::with_left_out(p, weight + block * p.taps[0] * p.taps[1] * kWide, bias + block * kWide, operands.outside, down, some, begin);
        tile.places = some.places;
        tile.result = piece + ((line - row) * p.places[1] + some.place) * kWide;
        Kind::multiply(tile);
      }
    }
    if (epilogue) epilogue(first_place, first_place + count, epilogue.elsewhere() ? piece : nullptr);
  };
  const std::int64_t all = p.batch * p.blocks * bands, together = std::max<std::int64_t>(1, kMovedTask / (rows * p.places[1] * kWide));
  run_tasks(thread_count(threads), (all + together - 1) / together, [&](std::int64_t task) {
    for (std::int64_t band = task * together; band < std::min(all, (task + 1) * together); ++band) convolve_band(band);
  });
}

template <class Kind>
void convolve_dense(const BlockedProblem& p, const BlockedOperands<Kind>& operands, typename Kind::Sum* result, int threads, const Epilogue& epilogue) {
  using Weight = typename Kind::Weight;
  const auto* const x = operands.x;
  const bool padded = p.reads_outside();
  const std::int64_t lines = padded ? p.reach(0, p.places[0]) : p.size[0], columns = padded ? p.reach(1, p.places[1]) : p.size[1];
  const std::int64_t plane = lines * columns * p.inner, all_taps = p.taps[0] * p.taps[1];
  // Windows of one element that are adjacent in memory form one long row.
  const bool flat = all_taps == 1 && !padded && p.stride[0] == 1 && p.stride[1] == 1;
  const bool one_row = flat || p.places[0] == 1;  // bands then divide that row
  const std::int64_t rows = one_row ? 1 : p.places[0], row_places = flat ? p.places[0] * p.places[1] : p.places[1];
  const int threads_here = thread_count(threads);
  const std::int64_t work_of_place = (p.channels * p.inner * all_taps * kWide + Kind::kAtOnce - 1) / Kind::kAtOnce,
                     all_work = p.batch * rows * row_places * work_of_place * p.blocks;
  const std::int64_t worth = threads_here > 1 ? std::clamp(all_work / (threads_here * kTasksOfThread), kMinTask, kMaxTask) : kMaxTask;
  const std::int64_t fit = threads_here > 1 ? std::clamp(worth / (2 * work_of_place), kMinBand, kBand) : kBand;
  const std::int64_t rows_fit = std::max<std::int64_t>(1, fit / row_places), bands = one_row ? (row_places + fit - 1) / fit : (rows + rows_fit - 1) / rows_fit;
  const std::int64_t band_places = one_row ? (row_places + bands - 1) / bands : row_places, band_rows = one_row ? 1 : (rows + bands - 1) / bands;  // maximum
  const std::int64_t work_of_block = band_places * band_rows * work_of_place;
  const std::int64_t blocks = std::clamp<std::int64_t>((worth / std::max<std::int64_t>(work_of_block, 1) + 1) / 2 * 2, 2, p.blocks + p.blocks % 2);
  const std::int64_t groups = (p.blocks + blocks - 1) / blocks;
  const std::int64_t together = std::max<std::int64_t>(1, kTapsTogether * Kind::kAtOnce * kWide / p.inner / all_taps);
  const auto buffer = std::make_unique_for_overwrite<typename Kind::Element[]>(padded ? static_cast<std::size_t>(p.channels * plane) : 0);

  const std::int64_t image_size = p.channels * p.size[0] * p.size[1] * p.inner, images = padded ? 1 : p.batch;  // number of images at once
  // Threads divide the larger operand: the positions, each of which reads different elements, or the filters. All threads read the other operand.
  const bool by_filters = p.blocks * p.channels * all_taps * p.inner * kWide > images * image_size;
  for (std::int64_t first_image = 0; first_image < p.batch; first_image += images) {
    if (padded) {  // the copy is divided by rows, like the positions, or by channels if there are too few rows
      const std::int64_t wanted = std::max<std::int64_t>(1, p.channels * plane / kMovedTask);
      const bool by_rows = wanted <= lines || lines > p.channels;
      const std::int64_t parts = std::min(wanted, by_rows ? lines : p.channels);
      run_tasks(threads_here, parts, [&](std::int64_t part) {
        const std::int64_t line = by_rows ? lines * part / parts : 0, end = by_rows ? lines * (part + 1) / parts : lines;
        for (std::int64_t channel = by_rows ? 0 : p.channels * part / parts; channel < (by_rows ? p.channels : p.channels * (part + 1) / parts); ++channel)
          lay_out_padded(p, x + first_image * image_size + channel * p.size[0] * p.size[1] * p.inner, line, end - line, columns,
                         buffer.get() + channel * plane + line * columns * p.inner, operands.outside);
      });
    }
    run_tasks(threads_here, images * bands * groups, [&](std::int64_t task) {
      const std::int64_t group = by_filters ? task / (images * bands) : task % groups, image_band = by_filters ? task % (images * bands) : task / groups;
      const std::int64_t image = first_image + image_band / bands, band = image_band % bands, block = group * blocks;
      const Weight* const weight = operands.weight + image % p.groups * p.blocks * p.channels * all_taps * p.inner * kWide;
      const auto* const bias = operands.bias + image % p.groups * p.blocks * kWide;
      const typename Kind::Element* const from = padded ? buffer.get() : x + image * image_size;
      const std::int64_t row = one_row ? 0 : rows * band / bands, last_row = one_row ? 1 : rows * (band + 1) / bands;
      const std::int64_t place = one_row ? row_places * band / bands : 0, places = one_row ? row_places * (band + 1) / bands - place : row_places;
      const std::int64_t first = (row * row_places + place) * kWide, result_block = p.places[0] * p.places[1] * kWide;
      const std::int64_t count = (one_row ? places : (last_row - row) * row_places) * kWide, blocks_here = std::min(blocks, p.blocks - block);
      const std::int64_t from_block = epilogue.elsewhere() ? count : result_block;
      typename Kind::Sum* const piece =
          epilogue.elsewhere() ? buffer_of_thread<typename Kind::Sum>(blocks_here * count) : result + (image * p.blocks + block) * result_block + first;
      typename Kind::ConvTile tile{};
      tile.inner = p.inner;
      tile.far_x = flat && p.batch * image_size > kFar;
      tile.far_result = !epilogue.elsewhere() && p.batch * p.blocks * result_block > kFar;
      tile.taps[0] = p.taps[0], tile.taps[1] = p.taps[1];
      tile.x_channel = plane;
      tile.x_tap[0] = p.dilation[0] * columns * p.inner, tile.x_tap[1] = p.dilation[1] * p.inner;
      tile.x_place = p.stride[1] * p.inner;
      tile.weight_block = p.channels * all_taps * p.inner * kWide;
      tile.result_block = from_block;
      tile.places = places;
      tile.blocks = blocks_here;
      constexpr std::int64_t kLine = 64 / sizeof(Weight);
      // Meanwhile prefetches the weights of the next filters.
      const Weight* const next = weight + (block + tile.blocks) * tile.weight_block;
      const std::int64_t next_lines = std::min(blocks, p.blocks - block - tile.blocks) * tile.weight_block / kLine, parts = by_filters ? images * bands : 1;
      const std::int64_t part = by_filters ? image_band : 0, ahead = next_lines * part / parts, ahead_lines = next_lines * (part + 1) / parts - ahead;
      const std::int64_t calls = (last_row - row) * ((p.channels + together - 1) / together);
      std::int64_t call = 0;
      for (std::int64_t channel = 0; channel < p.channels; channel += together) {
        tile.channels = std::min(together, p.channels - channel);
        tile.weight = weight + block * tile.weight_block + channel * all_taps * p.inner * kWide;
        tile.bias = channel == 0 ? bias + block * kWide : nullptr;
        if (channel + tile.channels == p.channels) Kind::scale(tile, p, operands, block);
        for (std::int64_t line = row; line < last_row; ++line) {
          tile.x = from + channel * plane + (line * p.stride[0] * columns + place * p.stride[1]) * p.inner;
          tile.result = piece + (line - row) * row_places * kWide;
          tile.ahead = next + (ahead + ahead_lines * call / calls) * kLine;
          tile.ahead_lines = ahead_lines * (call + 1) / calls - ahead_lines * call / calls;
          Kind::multiply(tile);
          ++call;
        }
      }
      if (!epilogue) return;
      for (std::int64_t k = 0; k < tile.blocks; ++k) {
        const std::int64_t begin = (image * p.blocks + block + k) * result_block + first;
        epilogue(begin, begin + count, epilogue.elsewhere() ? piece + k * count : nullptr);
      }
    });
  }
}

}  // namespace sinter::kernels
