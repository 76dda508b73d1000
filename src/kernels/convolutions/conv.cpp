#include "kernels/convolutions/conv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/per_thread.hpp"
#include "base/threads.hpp"
#include "kernels/products/matmul.hpp"
#include "sinter/errors.hpp"
#include "trace/library.hpp"

namespace sinter::kernels {
namespace {

// The output positions (columns of a product) of a tile, and the maximum number of its elements of windows that are laid out at once: they stay in a core's L2.
constexpr std::int64_t kTilePlaces = 384, kPackedElements = 1 << 17;
/// The minimum number of filters (rows of a product) of a piece, and the number of pieces that keeps several threads busy: fewer tiles than that are divided by
/// filters.
constexpr std::int64_t kMinFilters = 32, kPieces = 8;
/// The assumed number of convolutions of a program. They share the time that opening the library of products takes.
constexpr double kConvolutions = 8;
/// The number of elements of windows that a thread lays out at a time.
constexpr std::int64_t kLaidOut = 32 << 10;
/// If a filter of a depthwise convolution takes fewer multiply-adds than this, several filters are one task.
constexpr std::int64_t kConvTask = 64 << 10;
/// If a channel has at least this many filters, they are computed as the rows of a product, and not tap by tap.
constexpr std::int64_t kRowsOfProduct = 16;
/// The number of elements of x that are laid out for a band of lines of a depthwise convolution.
constexpr std::int64_t kBandElements = 16 << 10;

/// The call with three spatial axes. Axes that the call lacks, and those of one element, come first and have size 1: so lines are long.
struct Problem {
  std::int64_t batch, groups, channels, filters;  // channels and filters of one group
  std::int64_t size[3] = {1, 1, 1}, taps[3] = {1, 1, 1}, places[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, before[3] = {0, 0, 0};
  std::int64_t x_batch, x_channel, x_stride[3] = {0, 0, 0};  // in elements
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
    for (std::size_t axis = how.axes(), k = 3; axis-- > 0;) {
      if (x.shape[axis + 2] == 1 && weight.shape[axis + 2] == 1 && call.shape[axis + 2] == 1 && how.before[axis] == 0) continue;
      --k;
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
  bool is_depthwise() const { return channels == 1 && filters < kRowsOfProduct; }
  double multiply_adds() const {
    return static_cast<double>(batch) * static_cast<double>(groups) * static_cast<double>(filters) * static_cast<double>(depth()) *
           static_cast<double>(all_places);
  }
  /// Describes all windows of one image. The caller sets the positions and rows.
  Windows windows() const {
    Windows all{};
    all.x_channel = x_channel;
    for (int k = 0; k < 3; ++k) {
      all.size[k] = size[k], all.taps[k] = taps[k], all.places[k] = places[k], all.x_stride[k] = x_stride[k];
      all.stride[k] = stride[k], all.dilation[k] = dilation[k], all.before[k] = before[k];
    }
    return all;
  }
  /// Returns whether every window is one element and the windows are adjacent: x itself is then the matrix.
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

/// Returns the elements of an operand in row-major order. The elements are copied to `copy` if memory has another order.
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

/// Computes a depthwise convolution by bands of lines: a core's first caches hold a band and the elements it reads.
void depthwise(const Problem& p, DType dtype, const char* x, const char* weight, char* result, std::int64_t bytes, int threads, const Epilogue& epilogue) {
  DepthwisePlane any{};
  std::int64_t reach[3];
  for (int k = 0; k < 3; ++k) {
    reach[k] = (p.taps[k] - 1) * p.dilation[k];
    any.size[k] = p.size[k], any.places[k] = p.places[k], any.x_stride[k] = p.x_stride[k], any.stride[k] = p.stride[k], any.before[k] = p.before[k];
    any.length[k] = p.places[k] + reach[k] / p.stride[k];
    any.phases[k] = std::min(p.stride[k], reach[k] + 1);
  }
  const std::int64_t all_phases = any.phases[0] * any.phases[1] * any.phases[2];
  // A band consists of lines. A volume is divided into bands only if it is one plane.
  const std::int64_t line = all_phases * any.length[2], max_lines = p.places[0] == 1 && any.length[0] == 1
                                                                        ? std::max<std::int64_t>(1, kBandElements / line - reach[1] / p.stride[1])
                                                                        : p.places[1];
  const std::int64_t bands = (p.places[1] + max_lines - 1) / max_lines, lines = (p.places[1] + bands - 1) / bands;
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
  const std::int64_t laid_out = any.length[0] * any.length[1] * any.length[2], capacity = all_phases * laid_out * bytes + kDepthwiseSlack;

  const std::int64_t filters = p.groups * p.filters, pieces = p.batch * filters * bands, work = p.all_taps * p.all_places / bands;
  const std::int64_t each = std::max<std::int64_t>(1, kConvTask / std::max<std::int64_t>(work, 1));
  run_tasks(thread_count(threads), (pieces + each - 1) / each, [&](std::int64_t task) {
    auto& memory = per_thread<std::vector<char>>();
    memory.assign(static_cast<std::size_t>(capacity), 0);
    memory.resize(static_cast<std::size_t>(capacity + laid_out * bytes + kDepthwiseSlack));
    DepthwisePlane one = any;
    one.padded = memory.data();
    one.sums = memory.data() + capacity;
    std::int64_t before = -1;  // the band whose padding is in the memory now
    for (std::int64_t piece = task * each; piece < std::min(pieces, (task + 1) * each); ++piece) {
      const std::int64_t plane = piece / bands, band = piece % bands, image = plane / filters, filter = plane % filters, first = band * lines;
      if (bands > 1 && before >= 0 && before != band) std::fill_n(memory.data(), capacity, 0);
      before = band;
      one.places[1] = std::min(lines, p.places[1] - first);
      one.before[1] = p.before[1] - first * p.stride[1];
      one.x = x + (image * p.x_batch + filter / p.filters * p.x_channel) * bytes;
      one.weight = weight + filter * p.all_taps * bytes;
      const std::int64_t begin = plane * p.all_places + first * p.places[2], count = p.places[0] * one.places[1] * p.places[2];
      one.result = result + begin * bytes;
      host_blocks().depthwise(dtype, one);
      if (epilogue) epilogue(begin, begin + count);
    }
  });
}

/// Computes a matrix product for each image and group: the weights times the windows, which are laid out side by side. The pieces for threads depend only on
/// shapes. If there are many tiles of positions, a piece lays out one tile, which stays in its core's caches, and computes all filters. If there are few tiles,
/// all threads first lay out all windows, and a piece computes some filters, so that no window is laid out twice.
template <class Word> void products(const Problem& p, DType dtype, const Word* x, const Word* weight, Word* result, int threads, const Epilogue& epilogue) {
  const std::int64_t depth = p.depth(), places = p.all_places, tiles = (places + kTilePlaces - 1) / kTilePlaces;
  const std::int64_t matrices = p.batch * p.groups;
  const bool as_it_is = p.is_product(), each_its_own = matrices * tiles >= kPieces;
  const std::int64_t wanted = each_its_own ? 1 : std::max<std::int64_t>(1, kPieces / tiles);
  const std::int64_t rows = std::max(std::min(kMinFilters, p.filters), (p.filters + wanted - 1) / wanted), row_blocks = (p.filters + rows - 1) / rows;
  const BlockProduct by = block_product(dtype, kConvolutions * p.multiply_adds());

  struct Piece {
    std::int64_t matrix, begin, width, filter, rows;
  };
  const auto block_of = [&](const Piece& piece) {
    MatmulBlock product{};
    product.rows = piece.rows;
    product.columns = piece.width;
    product.depth = depth;
    product.a = weight + (piece.matrix % p.groups * p.filters + piece.filter) * depth;
    product.a_leading = depth;
    product.c = result + (piece.matrix * p.filters + piece.filter) * places + piece.begin;
    product.c_leading = places;
    return product;
  };
  const auto done = [&](const Piece& piece) {
    if (!epilogue) return;
    const std::int64_t first = (piece.matrix * p.filters + piece.filter) * places + piece.begin;
    if (piece.width == places) return epilogue(first, first + piece.rows * places);
    for (std::int64_t row = 0; row < piece.rows; ++row) epilogue(first + row * places, first + row * places + piece.width);
  };
  const auto read_by = [&](std::int64_t matrix) { return x + matrix / p.groups * p.x_batch + matrix % p.groups * p.channels * p.x_channel; };
  const auto piece_of = [&](std::int64_t matrix, std::int64_t tile, std::int64_t block) {
    return Piece{matrix, tile * kTilePlaces, std::min(kTilePlaces, places - tile * kTilePlaces), block * rows, std::min(rows, p.filters - block * rows)};
  };
  const auto lay_out = [&](std::int64_t matrix, std::int64_t begin, std::int64_t end, std::int64_t row_begin, std::int64_t row_end, Word* to) {
    Windows windows = p.windows();
    windows.x = read_by(matrix);
    windows.begin = begin, windows.end = end;
    windows.row_begin = row_begin, windows.row_end = row_end;
    windows.to = to;
    host_blocks().lay_out(windows, sizeof(Word));
  };

  if (each_its_own && !as_it_is) {
    run_tasks(thread_count(threads), matrices * tiles, [&](std::int64_t task) {
      const Piece piece = piece_of(task / tiles, task % tiles, 0);
      MatmulBlock product = block_of(piece);
      const Word* const rows_of_weight = static_cast<const Word*>(product.a);
      const std::int64_t max_depth = std::max<std::int64_t>(1, std::min(depth, kPackedElements / piece.width));
      auto& packed = per_thread<std::vector<Word>>();
      packed.resize(static_cast<std::size_t>(max_depth * piece.width));
      product.b = packed.data();
      product.b_leading = piece.width;
      for (std::int64_t at = 0; at < depth; at += max_depth) {
        product.depth = std::min(max_depth, depth - at);
        lay_out(piece.matrix, piece.begin, piece.begin + piece.width, at, at + product.depth, packed.data());
        product.a = rows_of_weight + at;
        product.accumulate = at > 0;
        multiply(by, dtype, product);
      }
      done(piece);
    });
    return;
  }
  const auto packed = std::make_unique_for_overwrite<Word[]>(as_it_is ? 0 : static_cast<std::size_t>(depth * places));
  const std::int64_t together = as_it_is ? matrices : 1;  // matrices whose pieces are distributed at once
  for (std::int64_t matrix = 0; matrix < matrices; matrix += together) {
    if (!as_it_is) {
      const std::int64_t some = std::max<std::int64_t>(1, kLaidOut / places);
      run_tasks(thread_count(threads), (depth + some - 1) / some,
                [&](std::int64_t task) { lay_out(matrix, 0, places, task * some, std::min(depth, (task + 1) * some), packed.get() + task * some * places); });
    }
    run_tasks(thread_count(threads), together * tiles * row_blocks, [&](std::int64_t task) {
      const Piece piece = piece_of(matrix + task / row_blocks / tiles, task / row_blocks % tiles, task % row_blocks);
      MatmulBlock product = block_of(piece);
      product.b = (as_it_is ? read_by(piece.matrix) : packed.get()) + piece.begin;
      product.b_leading = as_it_is ? p.x_channel : places;
      multiply(by, dtype, product);
      done(piece);
    });
  }
}

template <class Word> void convolve_words(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue) {
  const Problem p(call);
  std::vector<Word> copy;
  const Word* const x = static_cast<const Word*>(pointers[0]) + call.operands[0].offset;
  const Word* const weight = in_order(call.operands[1], pointers[1], copy);
  Word* const result = static_cast<Word*>(pointers[2]);
  if (p.is_depthwise())
    depthwise(p, call.dtype, reinterpret_cast<const char*>(x), reinterpret_cast<const char*>(weight), reinterpret_cast<char*>(result), sizeof(Word), threads,
              epilogue);
  else products(p, call.dtype, x, weight, result, threads, epilogue);
}

}  // namespace

void convolve(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue) {
  if (!host_blocks().multiply(call.dtype, MatmulBlock{})) throw DTypeError(fmt::format("conv: {} is not supported; cast the operands first", name(call.dtype)));
  if (element_count(call.shape) == 0) return;
  if (itemsize(call.dtype) == 4) convolve_words<std::uint32_t>(call, pointers, threads, epilogue);
  else convolve_words<std::uint64_t>(call, pointers, threads, epilogue);
}

std::string who_convolves(const fuse::LibraryCall& call) {
  const Problem p(call);
  if (p.is_depthwise()) return fmt::format("loops over taps ({})", host_blocks().instruction_set);
  return fmt::format("{}, {}", p.is_product() ? "a matrix product" : "implicit GEMM", block_product(call.dtype, kConvolutions * p.multiply_adds()).name());
}

}  // namespace sinter::kernels
