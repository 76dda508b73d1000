// Convolutions of bytes with channels in blocks, compared exactly with their definition in 64 bits, for any value outside x; their epilogues; any number of
// threads.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "draws.hpp"
#include "ops/blocked.hpp"
#include "program.hpp"

using namespace sinter;

namespace {

using testing::pick;

template <class T> std::vector<T> bytes(std::int64_t count, std::int64_t low, std::int64_t high) {
  std::vector<T> list(static_cast<std::size_t>(count));
  for (T& x : list) x = static_cast<T>(pick(low, high));
  return list;
}

struct Case {
  std::int64_t batch, channels, filters, size[2], taps[2], stride[2], dilation[2], before[2], after[2];
  ByteFilterLayout layout;
  bool depthwise() const { return layout == ByteFilterLayout::depthwise; }
  std::int64_t places(int axis) const { return (size[axis] + before[axis] + after[axis] - (taps[axis] - 1) * dilation[axis] - 1) / stride[axis] + 1; }
  ConvOptions options() const {
    return {.stride = std::vector<std::int64_t>{stride[0], stride[1]},
            .padding = std::vector<std::pair<std::int64_t, std::int64_t>>{{before[0], after[0]}, {before[1], after[1]}},
            .dilation = std::vector<std::int64_t>{dilation[0], dilation[1]}};
  }
  std::string text() const {
    return fmt::format("batch {} channels {} filters {} size {}x{} taps {}x{} stride {},{} dilation {},{} before {},{} after {},{} layout {}", batch, channels,
                       filters, size[0], size[1], taps[0], taps[1], stride[0], stride[1], dilation[0], dilation[1], before[0], before[1], after[0], after[1],
                       static_cast<int>(layout));
  }
};

Case random_case(ByteFilterLayout layout) {
  Case c{};
  c.layout = layout;
  c.batch = pick(1, 2), c.channels = pick(1, layout == ByteFilterLayout::few ? 4 : 50), c.filters = c.depthwise() ? c.channels : pick(1, 70);
  for (int axis = 0; axis < 2; ++axis) {
    c.taps[axis] = pick(1, 4), c.stride[axis] = pick(1, 3), c.dilation[axis] = pick(1, 2);
    c.before[axis] = pick(0, 3), c.after[axis] = pick(0, 3);
    const std::int64_t smallest = std::max<std::int64_t>(1, (c.taps[axis] - 1) * c.dilation[axis] + 1 - c.before[axis] - c.after[axis]);
    c.size[axis] = pick(smallest, smallest + 20);
  }
  return c;
}

/// The low 32 bits, because int32 sums wrap.
std::vector<std::int32_t> reference(const Case& c, const std::vector<std::uint8_t>& x, const std::vector<std::int8_t>& w,
                                    const std::vector<std::int32_t>& start, std::uint8_t outside) {
  std::vector<std::int32_t> y;
  const std::int64_t each = c.depthwise() ? 1 : c.channels;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t f = 0; f < c.filters; ++f)
      for (std::int64_t i = 0; i < c.places(0); ++i)
        for (std::int64_t j = 0; j < c.places(1); ++j) {
          std::int64_t sum = start[static_cast<std::size_t>(f)];
          for (std::int64_t k = 0; k < each; ++k)
            for (std::int64_t a = 0; a < c.taps[0]; ++a)
              for (std::int64_t b = 0; b < c.taps[1]; ++b) {
                const std::int64_t row = i * c.stride[0] + a * c.dilation[0] - c.before[0], column = j * c.stride[1] + b * c.dilation[1] - c.before[1];
                const bool there = row >= 0 && row < c.size[0] && column >= 0 && column < c.size[1];
                const std::int64_t channel = c.depthwise() ? f : k;
                const std::int64_t element = there ? x[static_cast<std::size_t>(((n * c.channels + channel) * c.size[0] + row) * c.size[1] + column)] : outside;
                sum += element * w[static_cast<std::size_t>(((f * each + k) * c.taps[0] + a) * c.taps[1] + b)];
              }
          y.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
        }
  return y;
}

Tensor in_blocks(const Case& c, const Tensor& x) {
  if (c.layout == ByteFilterLayout::few) return block_few_channels(x);
  return c.channels == 1 ? pad(block_channels(x), {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, kChannelBlock - 1}}) : block_channels(x);
}

/// `x_low`, `w_low`: all bytes have the smallest value, so that the products are as large as possible.
void check(const Case& c, std::int64_t x_low = 0, std::int64_t w_low = -128, std::int64_t w_high = 127) {
  INFO(c.text());
  const std::int64_t each = c.depthwise() ? 1 : c.channels, filled = (c.filters + 15) / 16 * 16;
  const auto x = bytes<std::uint8_t>(c.batch * c.channels * c.size[0] * c.size[1], x_low, 255);
  const auto w = bytes<std::int8_t>(c.filters * each * c.taps[0] * c.taps[1], w_low, w_high);
  auto start = bytes<std::int32_t>(filled, -(1 << 30), 1 << 30);
  const auto outside = static_cast<std::uint8_t>(pick(0, 3) == 0 ? 0 : pick(0, 255));
  const bool from_zero = pick(0, 2) == 0;
  if (from_zero) start.assign(start.size(), 0);
  const Tensor y = conv2d_bytes(in_blocks(c, from_span(x, {c.batch, c.channels, c.size[0], c.size[1]})),
                                block_byte_filters(from_span(w, {c.filters, each, c.taps[0], c.taps[1]}), c.layout), from_zero ? Tensor() : from_span(start),
                                outside == 0 ? Tensor() : from_span(std::vector<std::uint8_t>{outside}), c.options());
  CHECK(y.dtype() == DType::int32);
  REQUIRE(y.shape() == Shape{c.batch, filled / 16, c.places(0), c.places(1), kChannelBlock});
  const auto want = reference(c, x, w, start, outside);
  CHECK(unblock_channels(y, c.filters).to_vector<std::int32_t>() == want);

  const auto numbers_of = [&](double low, double high) {
    std::vector<float> list(static_cast<std::size_t>(filled));
    for (float& number : list) number = static_cast<float>(std::uniform_real_distribution<double>(low, high)(testing::numbers()));
    return list;
  };
  const auto scale = numbers_of(1e-3, 1), shift = numbers_of(-1e3, 1e3);
  const bool shifted = pick(0, 2) > 0;
  const Tensor z =
      conv2d_bytes_scaled(in_blocks(c, from_span(x, {c.batch, c.channels, c.size[0], c.size[1]})),
                          block_byte_filters(from_span(w, {c.filters, each, c.taps[0], c.taps[1]}), c.layout), from_zero ? Tensor() : from_span(start),
                          from_span(std::vector<std::uint8_t>{outside}), from_span(scale), shifted ? from_span(shift) : Tensor(), c.options());
  const auto got = unblock_channels(z, c.filters).to_vector<float>();
  REQUIRE(got.size() == want.size());
  std::size_t other = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t f = i / static_cast<std::size_t>(c.places(0) * c.places(1)) % static_cast<std::size_t>(c.filters);
    const volatile float product = static_cast<float>(want[i]) * scale[f];  // rounded here, so that the compiler cannot contract the operations
    other += got[i] != product + (shifted ? shift[f] : 0.f);
  }
  CHECK(other == 0);
}

}  // namespace

TEST_CASE("convolutions of bytes agree with their definition to the last bit") {
  for (int i = 0; i < 12; ++i) check(random_case(ByteFilterLayout::blocked));
  for (int i = 0; i < 8; ++i) check(random_case(ByteFilterLayout::few));
  for (int i = 0; i < 12; ++i) check(random_case(ByteFilterLayout::depthwise));
}

TEST_CASE("the largest products do not saturate, and sums wrap") {
  check({1, 64, 32, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, ByteFilterLayout::blocked}, 255, -128, -128);
  check({1, 64, 32, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, ByteFilterLayout::blocked}, 255, 127, 127);
  check({1, 40, 40, {9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, ByteFilterLayout::depthwise}, 255, -128, -128);
}

TEST_CASE("windows of one element, long sums in several parts, many output positions, and columns") {
  check({1, 64, 48, {300, 1}, {5, 1}, {2, 1}, {1, 1}, {2, 0}, {2, 0}, ByteFilterLayout::blocked});
  check({1, 3, 32, {300, 1}, {7, 1}, {1, 3}, {2, 1}, {3, 0}, {3, 0}, ByteFilterLayout::few});
  check({1, 40, 40, {300, 1}, {5, 1}, {1, 1}, {1, 1}, {2, 0}, {1, 0}, ByteFilterLayout::depthwise});
  check({1, 64, 48, {23, 19}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, ByteFilterLayout::blocked});
  check({2, 64, 33, {23, 19}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, ByteFilterLayout::blocked});
  check({1, 2048, 17, {3, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, ByteFilterLayout::blocked});
  check({1, 3, 32, {40, 40}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, ByteFilterLayout::few});
  check({1, 16, 16, {70, 90}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, ByteFilterLayout::depthwise});
  check({1, 16, 16, {2, 2}, {5, 5}, {1, 1}, {2, 2}, {9, 9}, {9, 9}, ByteFilterLayout::depthwise});  // some windows are entirely outside x
}

TEST_CASE("an epilogue gives the same values on pieces and on the whole result, for any number of threads") {
  const auto x = bytes<std::uint8_t>(2 * 64 * 33 * 29, 0, 255);
  const auto rest = bytes<std::uint8_t>(2 * 64 * 33 * 29, 0, 255);
  for (const ByteFilterLayout layout : {ByteFilterLayout::blocked, ByteFilterLayout::depthwise}) {
    const std::int64_t each = layout == ByteFilterLayout::depthwise ? 1 : 64;
    const auto w = bytes<std::int8_t>(64 * each * 9, -128, 127);
    std::vector<std::vector<std::uint8_t>> results;
    std::vector<std::int32_t> sums;
    for (const int threads : {1, 3, 8}) {
      const auto scope = testing::with_threads(threads);
      const Tensor y =
          conv2d_bytes(block_channels(from_span(x, {2, 64, 33, 29})), block_byte_filters(from_span(w, {64, each, 3, 3}), layout), {}, {}, {.padding = 1});
      const Tensor residual = astype(block_channels(from_span(rest, {2, 64, 33, 29})), DType::float32) * 0.5f;
      results.push_back(astype(clip(rint(astype(y, DType::float32) * 0.01f + residual), 0, 255), DType::uint8).to_vector<std::uint8_t>());
      if (threads == 1) sums = y.to_vector<std::int32_t>();
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
    const Tensor residual = astype(block_channels(from_span(rest, {2, 64, 33, 29})), DType::float32) * 0.5f;
    const auto apart =
        astype(clip(rint(astype(from_span(sums, residual.shape()), DType::float32) * 0.01f + residual), 0, 255), DType::uint8).to_vector<std::uint8_t>();
    CHECK(results[0] == apart);
  }
}

TEST_CASE("empty tensors, and wrong shapes and types") {
  const Tensor w = zeros({32, 16, 3, 3}, DType::int8), x = zeros({1, 1, 5, 5, 16}, DType::uint8);
  const Tensor blocked = block_byte_filters(w, ByteFilterLayout::blocked);
  CHECK(blocked.shape() == Shape{2, 1, 3, 3, 4, 16, 4});
  CHECK(conv2d_bytes(zeros({0, 1, 5, 5, 16}, DType::uint8), blocked, {}, {}).shape() == Shape{0, 2, 3, 3, 16});
  CHECK_THROWS_AS(conv2d_bytes(x.astype(DType::int8), blocked, {}, {}), DTypeError);
  CHECK_THROWS_AS(conv2d_bytes(x, w, {}, {}), ShapeError);
  CHECK_THROWS_AS(conv2d_bytes(x, blocked, zeros({32}, DType::float32), {}), DTypeError);
  CHECK_THROWS_AS(conv2d_bytes(x, blocked, zeros({31}, DType::int32), {}), ShapeError);
  CHECK_THROWS_AS(conv2d_bytes(x, blocked, {}, zeros({2}, DType::uint8)), ShapeError);
  CHECK_THROWS_AS(conv2d_bytes(x, blocked, {}, zeros({1}, DType::int8)), DTypeError);
  CHECK_THROWS_AS(conv2d_bytes(x, blocked, {}, {}, {.dilation = 3}), ShapeError);
  CHECK_THROWS_AS(conv2d_bytes_scaled(x, blocked, {}, {}, {}, {}), ShapeError);
  CHECK_THROWS_AS(conv2d_bytes_scaled(x, blocked, {}, {}, ones({16}, DType::float32), {}), ShapeError);
  CHECK_THROWS_AS(conv2d_bytes_scaled(x, blocked, {}, {}, ones({32}, DType::float64), {}), DTypeError);
  CHECK(conv2d_bytes_scaled(zeros({0, 1, 5, 5, 16}, DType::uint8), blocked, {}, {}, ones({32}, DType::float32), {}).shape() == Shape{0, 2, 3, 3, 16});
  CHECK_THROWS_AS(block_byte_filters(w.astype(DType::uint8), ByteFilterLayout::blocked), DTypeError);
  CHECK_THROWS_AS(block_byte_filters(w, ByteFilterLayout::depthwise), ShapeError);
  CHECK_THROWS_AS(block_byte_filters(w, ByteFilterLayout::few), ShapeError);
  CHECK_THROWS_AS(block_few_channels(zeros({1, 5, 3, 3}, DType::uint8)), ShapeError);
}
