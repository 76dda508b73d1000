#include "device/host/conv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "device/host/matmul.hpp"
#include "device/host/threads.hpp"
#include "sinter/errors.hpp"
#include "trace/library.hpp"
#include "trace/per_thread.hpp"

namespace sinter::device {
namespace {

// A tile: places (columns of a product), and what of the windows is laid out for them at once. 128K elements stay in a core's L2.
constexpr std::int64_t kTilePlaces = 384, kPackedElements = 1 << 17;
/// Filters (rows of a product) that a tile is taken by where there are few tiles: as many pieces keep some threads busy.
constexpr std::int64_t kLeastFilters = 32, kPieces = 32;
/// Multiply-adds of one filter, below which several filters of a depthwise convolution are one task.
constexpr std::int64_t kWorthTask = 64 << 10;
/// Elements that a band of a depthwise convolution's lines lays out.
constexpr std::int64_t kBandElements = 16 << 10;

/// The call with three axes of places; those that it lacks come first, with one place each.
struct Problem {
  std::int64_t batch, groups, channels, filters;  // channels and filters of one group
  std::int64_t size[3] = {1, 1, 1}, taps[3] = {1, 1, 1}, places[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, before[3] = {0, 0, 0};
  std::int64_t x_batch, x_channel, x_stride[3] = {0, 0, 0};  // strides, in elements
  std::int64_t all_taps = 1, all_places = 1;

  explicit Problem(const fuse::LibraryCall& call) {
    const auto how = trace::Convolution::of(call.ints);
    const auto &x = call.operands[0], &weight = call.operands[1];
    batch = x.shape[0];
    groups = how.groups;
    filters = weight.shape[0] / groups;
    channels = weight.shape[1];
    x_batch = x.strides[0];
    x_channel = x.strides[1];
    const std::size_t axes = how.axes();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::size_t k = 3 - axes + axis;
      size[k] = x.shape[axis + 2];
      taps[k] = weight.shape[axis + 2];
      places[k] = call.shape[axis + 2];
      stride[k] = how.stride[axis];
      dilation[k] = how.dilation[axis];
      before[k] = how.before[axis];
      x_stride[k] = x.strides[axis + 2];
      all_taps *= taps[k];
      all_places *= places[k];
    }
  }
  std::int64_t depth() const { return channels * all_taps; }
  bool is_depthwise() const { return channels == 1; }
  double multiply_adds() const {
    return static_cast<double>(batch) * static_cast<double>(groups) * static_cast<double>(filters) * static_cast<double>(depth()) * static_cast<double>(all_places);
  }
  /// The result's lines are as long as x's, which lie one after the other, and windows move by one place.
  bool keeps_lines() const {
    return places[0] == 1 && size[0] == 1 && taps[0] == 1 && before[0] == 0 && stride[1] == 1 && stride[2] == 1 && places[2] == size[2] && x_stride[2] == 1 &&
           x_stride[1] == size[2];
  }
  /// Every window is one element, and they lie one after the other: x is the matrix.
  bool is_product() const {
    bool same = all_taps == 1;
    std::int64_t next = 1;
    for (int k = 2; k >= 0; --k) {
      same &= stride[k] == 1 && before[k] == 0 && size[k] == places[k] && (size[k] == 1 || x_stride[k] == next);
      next *= size[k];
    }
    return same && (x_channel >= all_places || channels == 1);
  }
};

/// Places [begin, end) where all lines keep their length and lie one after the other: all of x moved by `shift`, but for the ends of lines,
/// where a window reaches over.
template <class Word> Word* shifted_lines(const Problem& p, const Word* x, std::int64_t shift, std::int64_t first, std::int64_t begin, std::int64_t end, Word* to) {
  const std::int64_t width = p.size[2], from = std::clamp(-shift, begin, end), until = std::clamp(p.size[1] * width - shift, from, end);
  std::fill_n(to, from - begin, Word{0});
  std::copy_n(x + from + shift, until - from, to + (from - begin));
  std::fill_n(to + (until - begin), end - until, Word{0});
  // Of each line the places below -first, and from width - first on.
  const std::int64_t over = std::min(std::abs(first), width), column = first < 0 ? 0 : width - over;
  if (over > 0)
    for (std::int64_t line = begin / width; line * width < end; ++line) {
      const std::int64_t low = std::clamp(line * width + column, begin, end), high = std::clamp(line * width + column + over, low, end);
      std::fill_n(to + (low - begin), high - low, Word{0});
    }
  return to + (end - begin);
}

/// Rows [depth_begin, depth_end) of the matrix of windows, at places [begin, end): row (channel, tap), column place. `x` is the first
/// element that the group reads of an image. Elements are moved as words of their size.
template <class Word>
void lay_out(const Problem& p, const Word* x, std::int64_t depth_begin, std::int64_t depth_end, std::int64_t begin, std::int64_t end, Word* to) {
  for (std::int64_t row = depth_begin; row < depth_end; ++row) {
    const std::int64_t tap = row % p.all_taps;
    const std::int64_t kx = tap % p.taps[2], ky = tap / p.taps[2] % p.taps[1], kz = tap / p.taps[2] / p.taps[1];
    const Word* const channel = x + row / p.all_taps * p.x_channel;
    const std::int64_t first = kx * p.dilation[2] - p.before[2];  // what place 0 of a line reads
    if (p.keeps_lines()) {
      to = shifted_lines(p, channel, (ky * p.dilation[1] - p.before[1]) * p.size[2] + first, first, begin, end, to);
      continue;
    }
    for (std::int64_t place = begin; place < end;) {
      const std::int64_t ox = place % p.places[2], count = std::min(p.places[2] - ox, end - place), line = place / p.places[2];
      const std::int64_t y = line % p.places[1] * p.stride[1] + ky * p.dilation[1] - p.before[1];
      const std::int64_t z = line / p.places[1] * p.stride[0] + kz * p.dilation[0] - p.before[0];
      place += count;
      if (y < 0 || y >= p.size[1] || z < 0 || z >= p.size[0]) {
        to = std::fill_n(to, count, Word{0});
        continue;
      }
      // The places of [ox, ox + count) that read within the line.
      const std::int64_t s = p.stride[2], last = p.size[2] - 1 - first;
      const std::int64_t from = std::clamp<std::int64_t>(first < 0 ? (-first + s - 1) / s : 0, ox, ox + count);
      const std::int64_t until = std::clamp<std::int64_t>(last < 0 ? 0 : last / s + 1, from, ox + count);
      to = std::fill_n(to, from - ox, Word{0});
      if (from < until) {
        const Word* read = channel + z * p.x_stride[0] + y * p.x_stride[1] + (first + from * s) * p.x_stride[2];
        const std::int64_t step = s * p.x_stride[2];
        if (step == 1) to = std::copy_n(read, until - from, to);
        else
          for (std::int64_t k = from; k < until; ++k, read += step) *to++ = *read;
      }
      to = std::fill_n(to, ox + count - until, Word{0});
    }
  }
}

/// The elements of an operand one after the other; in `copy` where they do not lie so already.
template <class Word> const Word* in_order(const fuse::LibraryOperand& operand, const void* buffer, std::vector<Word>& copy) {
  const Word* const start = static_cast<const Word*>(buffer) + operand.offset;
  std::int64_t count = 1;
  bool lies_so = true;
  for (std::size_t k = operand.shape.size(); k-- > 0; count *= operand.shape[k]) lies_so &= operand.shape[k] == 1 || operand.strides[k] == count;
  if (lies_so) return start;
  copy.resize(static_cast<std::size_t>(count));
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t at = 0, rest = flat;
    for (std::size_t k = operand.shape.size(); k-- > 0; rest /= operand.shape[k]) at += rest % operand.shape[k] * operand.strides[k];
    copy[static_cast<std::size_t>(flat)] = start[at];
  }
  return copy.data();
}

/// A band of lines at a time, as many as a core's first caches hold with what they read.
void depthwise(const Problem& p, DType dtype, const char* x, const char* weight, char* result, std::int64_t bytes, int threads,
               const Finished& finished) {
  DepthwisePlane any{};
  std::int64_t reach[3];
  for (int k = 0; k < 3; ++k) {
    reach[k] = (p.taps[k] - 1) * p.dilation[k];
    any.size[k] = p.size[k], any.places[k] = p.places[k], any.x_stride[k] = p.x_stride[k], any.stride[k] = p.stride[k], any.before[k] = p.before[k];
    any.length[k] = p.places[k] + reach[k] / p.stride[k];
    any.phases[k] = std::min(p.stride[k], reach[k] + 1);
  }
  const std::int64_t all_phases = any.phases[0] * any.phases[1] * any.phases[2];
  // Bands are of lines; of a volume only where it is one plane.
  const std::int64_t line = all_phases * any.length[2], most = p.places[0] == 1 && any.length[0] == 1 ? std::max<std::int64_t>(1, kBandElements / line - reach[1] / p.stride[1]) : p.places[1];
  const std::int64_t bands = (p.places[1] + most - 1) / most, lines = (p.places[1] + bands - 1) / bands;
  any.places[1] = lines;
  any.length[1] = lines + reach[1] / p.stride[1];
  std::vector<std::int64_t> offsets;
  for (std::int64_t kz = 0; kz < p.taps[0]; ++kz)
    for (std::int64_t ky = 0; ky < p.taps[1]; ++ky)
      for (std::int64_t kx = 0; kx < p.taps[2]; ++kx) {
        const std::int64_t at[3] = {kz * p.dilation[0], ky * p.dilation[1], kx * p.dilation[2]};
        std::int64_t phase = 0, place = 0;
        for (int k = 0; k < 3; ++k) phase = phase * any.phases[k] + at[k] % p.stride[k], place = place * any.length[k] + at[k] / p.stride[k];
        offsets.push_back(phase * any.length[0] * any.length[1] * any.length[2] + place);
      }
  any.taps = p.all_taps;
  any.offsets = offsets.data();
  const std::int64_t laid_out = any.length[0] * any.length[1] * any.length[2], room = all_phases * laid_out * bytes + kDepthwiseSlack;

  const std::int64_t filters = p.groups * p.filters, pieces = p.batch * filters * bands, work = p.all_taps * p.all_places / bands;
  const std::int64_t each = std::max<std::int64_t>(1, kWorthTask / std::max<std::int64_t>(work, 1));
  run_tasks(thread_count(threads), (pieces + each - 1) / each, [&](std::int64_t task) {
    auto& memory = per_thread<std::vector<char>>();
    memory.assign(static_cast<std::size_t>(room), 0);
    memory.resize(static_cast<std::size_t>(room + laid_out * bytes + kDepthwiseSlack));
    DepthwisePlane one = any;
    one.padded = memory.data();
    one.sums = memory.data() + room;
    std::int64_t before = -1;  // the band whose padding is laid out
    for (std::int64_t piece = task * each; piece < std::min(pieces, (task + 1) * each); ++piece) {
      const std::int64_t plane = piece / bands, band = piece % bands, image = plane / filters, filter = plane % filters, first = band * lines;
      if (bands > 1 && before >= 0 && before != band) std::fill_n(memory.data(), room, 0);
      before = band;
      one.places[1] = std::min(lines, p.places[1] - first);
      one.before[1] = p.before[1] - first * p.stride[1];
      one.x = x + (image * p.x_batch + filter / p.filters * p.x_channel) * bytes;
      one.weight = weight + filter * p.all_taps * bytes;
      const std::int64_t begin = plane * p.all_places + first * p.places[2], count = p.places[0] * one.places[1] * p.places[2];
      one.result = result + begin * bytes;
      host_blocks().depthwise(dtype, one);
      if (finished) finished(begin, begin + count);
    }
  });
}

template <class Word>
void products(const Problem& p, DType dtype, const Word* x, const Word* weight, Word* result, int threads, const Finished& finished) {
  const std::int64_t depth = p.depth(), places = p.all_places, tiles = (places + kTilePlaces - 1) / kTilePlaces;
  const std::int64_t outer = p.batch * p.groups * tiles, wanted = std::max<std::int64_t>(1, kPieces / outer);
  const std::int64_t rows = std::max(std::min(kLeastFilters, p.filters), (p.filters + wanted - 1) / wanted);
  const std::int64_t row_blocks = (p.filters + rows - 1) / rows;
  const bool as_it_is = p.is_product();
  const BlockProduct by = block_product(dtype, p.multiply_adds());
  run_tasks(thread_count(threads), outer * row_blocks, [&](std::int64_t task) {
    const std::int64_t block = task % row_blocks, tile = task / row_blocks % tiles, group = task / row_blocks / tiles % p.groups;
    const std::int64_t image = task / row_blocks / tiles / p.groups;
    const std::int64_t begin = tile * kTilePlaces, width = std::min(kTilePlaces, places - begin), filter = block * rows;
    const Word* const from = x + image * p.x_batch + group * p.channels * p.x_channel;
    MatmulBlock product{};
    product.rows = std::min(rows, p.filters - filter);
    product.columns = width;
    product.a_leading = depth;
    product.c_leading = places;
    const std::int64_t first = ((image * p.groups + group) * p.filters + filter) * places + begin;
    product.c = result + first;
    const auto done = [&] {
      if (!finished) return;
      if (width == places) return finished(first, first + product.rows * places);
      for (std::int64_t row = 0; row < product.rows; ++row) finished(first + row * places, first + row * places + width);
    };
    const Word* const rows_of_weight = weight + (group * p.filters + filter) * depth;
    if (as_it_is) {
      product.a = rows_of_weight;
      product.b = from + begin;
      product.b_leading = p.x_channel;
      product.depth = depth;
      multiply(by, dtype, product);
      return done();
    }
    const std::int64_t piece = std::max<std::int64_t>(1, std::min(depth, kPackedElements / width));
    auto& packed = per_thread<std::vector<Word>>();
    packed.resize(static_cast<std::size_t>(piece * width));
    for (std::int64_t at = 0; at < depth; at += piece) {
      product.depth = std::min(piece, depth - at);
      lay_out(p, from, at, at + product.depth, begin, begin + width, packed.data());
      product.a = rows_of_weight + at;
      product.b = packed.data();
      product.b_leading = width;
      product.accumulate = at > 0;
      multiply(by, dtype, product);
    }
    done();
  });
}

template <class Word> void convolve_words(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Finished& finished) {
  const Problem p(call);
  std::vector<Word> copy;
  const Word* const x = static_cast<const Word*>(pointers[0]) + call.operands[0].offset;
  const Word* const weight = in_order(call.operands[1], pointers[1], copy);
  Word* const result = static_cast<Word*>(pointers[2]);
  if (p.is_depthwise())
    depthwise(p, call.dtype, reinterpret_cast<const char*>(x), reinterpret_cast<const char*>(weight), reinterpret_cast<char*>(result), sizeof(Word), threads, finished);
  else products(p, call.dtype, x, weight, result, threads, finished);
}

}  // namespace

void convolve(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Finished& finished) {
  if (!host_blocks().multiply(call.dtype, MatmulBlock{})) throw DTypeError(fmt::format("conv: no convolution of {}; cast it first", name(call.dtype)));
  if (element_count(call.shape) == 0) return;
  if (itemsize(call.dtype) == 4) convolve_words<std::uint32_t>(call, pointers, threads, finished);
  else convolve_words<std::uint64_t>(call, pointers, threads, finished);
}

std::string who_convolves(const fuse::LibraryCall& call) {
  const Problem p(call);
  if (p.is_depthwise()) return fmt::format("loops over taps ({})", host_blocks().instruction_set);
  return fmt::format("{}, {}", p.is_product() ? "a matrix product" : "windows side by side", block_product(call.dtype, p.multiply_adds()).name);
}

}  // namespace sinter::device
