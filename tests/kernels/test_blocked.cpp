// Convolutions with channels in blocks, compared with loops in float64; layouts and their inverses; prologues and epilogues; any number of threads.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "draws.hpp"
#include "ops/blocked.hpp"
#include "program.hpp"

using namespace sinter;
using testing::random_tensor;

namespace {

using testing::numbers;
using testing::pick;

struct Case {
  std::int64_t batch, channels, filters, size[2], taps[2], stride[2], dilation[2], before[2], after[2];
  bool depthwise;
  std::int64_t groups = 1;  // groups of whole blocks
  std::int64_t places(int axis) const { return (size[axis] + before[axis] + after[axis] - (taps[axis] - 1) * dilation[axis] - 1) / stride[axis] + 1; }
  ConvOptions options() const {
    return {.stride = std::vector<std::int64_t>{stride[0], stride[1]},
            .padding = std::vector<std::pair<std::int64_t, std::int64_t>>{{before[0], after[0]}, {before[1], after[1]}},
            .dilation = std::vector<std::int64_t>{dilation[0], dilation[1]},
            .groups = groups};
  }
  std::string text() const {
    return fmt::format("batch {} channels {} filters {} size {}x{} taps {}x{} stride {},{} dilation {},{} before {},{} after {},{}{} groups {}", batch,
                       channels, filters, size[0], size[1], taps[0], taps[1], stride[0], stride[1], dilation[0], dilation[1], before[0], before[1], after[0],
                       after[1], depthwise ? " depthwise" : "", groups);
  }
};

Case random_case(bool depthwise, std::int64_t max_channels) {
  Case c{};
  c.depthwise = depthwise;
  c.batch = pick(1, 2), c.channels = pick(1, max_channels), c.filters = depthwise ? c.channels : pick(1, 70);
  for (int axis = 0; axis < 2; ++axis) {
    c.taps[axis] = pick(1, 4), c.stride[axis] = pick(1, 3), c.dilation[axis] = pick(1, 2);
    c.before[axis] = pick(0, 3), c.after[axis] = pick(0, 3);
    const std::int64_t smallest = std::max<std::int64_t>(1, (c.taps[axis] - 1) * c.dilation[axis] + 1 - c.before[axis] - c.after[axis]);
    c.size[axis] = pick(smallest, smallest + 20);
  }
  return c;
}

Case random_tiles(std::int64_t max_channels) {
  Case c{};
  c.batch = pick(1, 3), c.channels = pick(2, max_channels), c.filters = pick(1, 70);
  for (int axis = 0; axis < 2; ++axis) {
    c.taps[axis] = 3, c.stride[axis] = c.dilation[axis] = 1;
    c.before[axis] = pick(0, 3), c.after[axis] = pick(0, 3);
    c.size[axis] = pick(std::max<std::int64_t>(1, 3 - c.before[axis] - c.after[axis]), 30);
  }
  return c;
}

/// Computes the convolution by its definition, in float64.
std::vector<double> reference(const Case& c, const std::vector<float>& x, const std::vector<float>& w, const std::vector<float>& bias) {
  std::vector<double> y;
  const std::int64_t each = c.depthwise ? 1 : c.channels / c.groups;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t f = 0; f < c.filters; ++f)
      for (std::int64_t i = 0; i < c.places(0); ++i)
        for (std::int64_t j = 0; j < c.places(1); ++j) {
          double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(f)];
          for (std::int64_t k = 0; k < each; ++k)
            for (std::int64_t a = 0; a < c.taps[0]; ++a)
              for (std::int64_t b = 0; b < c.taps[1]; ++b) {
                const std::int64_t row = i * c.stride[0] + a * c.dilation[0] - c.before[0], column = j * c.stride[1] + b * c.dilation[1] - c.before[1];
                if (row < 0 || row >= c.size[0] || column < 0 || column >= c.size[1]) continue;
                const std::int64_t channel = c.depthwise ? f : f / (c.filters / c.groups) * each + k;
                sum += static_cast<double>(x[static_cast<std::size_t>(((n * c.channels + channel) * c.size[0] + row) * c.size[1] + column)]) *
                       static_cast<double>(w[static_cast<std::size_t>(((f * each + k) * c.taps[0] + a) * c.taps[1] + b)]);
              }
          y.push_back(sum);
        }
  return y;
}

Tensor up_to_blocks(const Tensor& bias) {
  const std::int64_t more = (kChannelBlock - bias.size() % kChannelBlock) % kChannelBlock;
  return pad(bias, {{0, more}});
}

void check_near(const Tensor& got, const std::vector<double>& want, std::int64_t terms, const Case& c) {
  const auto values = got.to_vector<float>();
  REQUIRE(values.size() == want.size());
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::isfinite(values[i]) ? std::fabs(static_cast<double>(values[i]) - want[i]) : 1e300);
  INFO(c.text());
  CHECK(worst <= 1e-6 * std::sqrt(static_cast<double>(terms)) + 1e-7 * static_cast<double>(terms));
}

void check(const Case& c, FilterLayout layout) {
  const std::int64_t each = c.depthwise ? 1 : c.channels / c.groups;
  const Tensor x = random_tensor({c.batch, c.channels, c.size[0], c.size[1]}), w = random_tensor({c.filters, each, c.taps[0], c.taps[1]});
  const Tensor bias = pick(0, 2) == 0 ? Tensor() : random_tensor({c.filters});
  const Tensor y = conv2d_blocked(
      layout == FilterLayout::planes ? x : pad(block_channels(x), {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, c.channels == 1 ? kChannelBlock - 1 : 0}}),
      block_filters(w, layout), bias.empty_handle() ? bias : up_to_blocks(bias), c.options());
  CHECK(y.shape() == Shape{c.batch, (c.filters + kChannelBlock - 1) / kChannelBlock, c.places(0), c.places(1), kChannelBlock});
  const auto want = reference(c, x.to_vector<float>(), w.to_vector<float>(), bias.empty_handle() ? std::vector<float>() : bias.to_vector<float>());
  check_near(unblock_channels(y, c.filters), want, each * c.taps[0] * c.taps[1] + 1, c);
}

}  // namespace

TEST_CASE("unblock_channels is the inverse of block_channels, and blocks are filled up with 0") {
  for (const std::int64_t channels : {1, 2, 15, 16, 17, 40}) {
    const Tensor x = random_tensor({2, channels, 3, 5});
    const Tensor blocked = block_channels(x);
    CHECK(blocked.shape() == (channels == 1 ? Shape{2, 1, 3, 5, 1} : Shape{2, (channels + 15) / 16, 3, 5, 16}));
    CHECK(unblock_channels(blocked, channels).to_vector<float>() == x.to_vector<float>());
    if (channels == 40) CHECK(sum(absolute(slice(blocked, {Slice{}, 2, Slice{}, Slice{}, Slice{8, 16}}))).item<float>() == 0.f);
  }
  const Tensor x = random_tensor({1, 32, 4, 4});
  CHECK(unblock_channels(relu(block_channels(x)), 20).to_vector<float>() == relu(slice(x, {Slice{}, Slice{0, 20}})).to_vector<float>());
}

TEST_CASE("convolutions in blocks agree with their definition") {
  for (int i = 0; i < 12; ++i) check(random_case(false, 50), FilterLayout::blocked);
  for (int i = 0; i < 8; ++i) check(random_case(false, 4), FilterLayout::planes);
  for (int i = 0; i < 12; ++i) check(random_case(true, 50), FilterLayout::depthwise);
}

TEST_CASE("windows of one element, long sums in several parts, and many output positions") {
  check({1, 64, 48, {23, 19}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false}, FilterLayout::blocked);
  check({2, 480, 17, {3, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}, FilterLayout::blocked);
  check({1, 16, 32, {30, 41}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, false}, FilterLayout::blocked);
  check({1, 3, 32, {40, 40}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, false}, FilterLayout::planes);
  check({1, 16, 16, {70, 90}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, true}, FilterLayout::depthwise);
}

TEST_CASE("depthwise filters do not read outside x: short lines, windows longer than a line, and an infinite weight there") {
  for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 14, 17})
    for (const std::int64_t stride : {1, 2}) {
      check({2, 40, 40, {width, width}, {5, 5}, {stride, stride}, {1, 1}, {2, 2}, {2, 2}, true}, FilterLayout::depthwise);
      check({1, 17, 17, {3, width}, {3, 5}, {1, stride}, {1, 3}, {1, 6}, {1, 6}, true}, FilterLayout::depthwise);
    }
  std::vector<float> w(16 * 9, 1.f);
  for (std::size_t filter = 0; filter < 16; ++filter) w[filter * 9] = INFINITY;
  const Tensor y = conv2d_blocked(block_channels(full({1, 16, 7, 7}, 1.f)), block_filters(from_span(w, {16, 1, 3, 3}), FilterLayout::depthwise), Tensor(),
                                  {.padding = std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 1}}});
  const auto values = unblock_channels(y, 16).to_vector<float>();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const bool left_out = k % 49 < 7 || k % 7 == 0;
    CHECK(std::isfinite(values[k]) == left_out);
  }
}

TEST_CASE("groups of whole blocks agree with their definition, with and without padding") {
  for (int i = 0; i < 12; ++i) {
    Case c = random_case(false, 1);
    c.groups = pick(2, 4);
    c.channels = c.groups * kChannelBlock * pick(1, 2), c.filters = c.groups * kChannelBlock * pick(1, 3);
    check(c, FilterLayout::blocked);
  }
  check({2, 64, 128, {13, 11}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false, 4}, FilterLayout::blocked);
}

TEST_CASE("one row or column of output positions of any length is divided among threads") {
  for (int i = 0; i < 16; ++i) {
    Case c = random_case(i % 4 == 2, i % 4 == 3 ? 4 : 50);
    const int one = i / 8, other = 1 - one;
    c.size[one] = c.taps[one] = c.stride[one] = c.dilation[one] = 1, c.before[one] = c.after[one] = 0;
    c.size[other] = pick((c.taps[other] - 1) * c.dilation[other] + 1, 2000);
    if (i % 4 == 1) c.groups = 2, c.channels = 32, c.filters = 96;
    check(c, i % 4 == 2 ? FilterLayout::depthwise : i % 4 == 3 ? FilterLayout::planes : FilterLayout::blocked);
  }
}

TEST_CASE("3x3 convolutions in tiles agree with their definition: odd sizes, few and many positions, any padding") {
  for (int i = 0; i < 20; ++i) check(random_tiles(60), FilterLayout::winograd);
  check({1, 2, 1, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}, FilterLayout::winograd);
  check({1, 33, 17, {1, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}, FilterLayout::winograd);
  check({2, 320, 40, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}, FilterLayout::winograd);
  check({1, 64, 64, {57, 55}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}, FilterLayout::winograd);
  check({1, 32, 16, {4, 700}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false}, FilterLayout::winograd);
}

TEST_CASE("prologues and epilogues fuse, even with several results and residuals") {
  const Tensor x = random_tensor({2, 24, 9, 11}), w = random_tensor({24, 24, 3, 3}), v = random_tensor({24, 1, 3, 3}), bias = random_tensor({24});
  const ConvOptions how{.padding = 1};
  const Tensor packed = block_filters(w, FilterLayout::blocked), alone = block_filters(v, FilterLayout::depthwise), start = up_to_blocks(bias);
  const Tensor blocked = relu(block_channels(x) * 2.f);
  const Tensor y = relu(conv2d_blocked(blocked, packed, start, how));
  const Tensor tiled = relu(conv2d_blocked(blocked, block_filters(w, FilterLayout::winograd), start, how)) + blocked;
  const Tensor z = clip(conv2d_blocked(y, alone, start, how), 0.f, 6.f) + blocked;
  const Tensor pooled = mean(z, {2, 3}, true);
  eval(y, z, pooled, tiled);
  const Tensor plain = relu(x * 2.f);
  const Tensor y2 = relu(conv2d(plain, w, bias, how));
  const Tensor z2 = clip(conv2d(y2, v, bias, {.padding = 1, .groups = 24}), 0.f, 6.f) + plain;
  const auto near = [](const Tensor& got, const Tensor& want) { CHECK(max(absolute(got - want)).item<float>() < 1e-4f); };
  near(unblock_channels(y, 24), y2);
  near(unblock_channels(tiled, 24), y2 + plain);
  near(unblock_channels(z, 24), z2);
  near(unblock_channels(pooled, 24), mean(z2, {2, 3}, true));
}

TEST_CASE("any number of threads gives the same bits") {
  for (const FilterLayout layout : {FilterLayout::blocked, FilterLayout::depthwise, FilterLayout::winograd}) {
    const bool depthwise = layout == FilterLayout::depthwise;
    const Tensor x = random_tensor({2, 64, 33, 29}), w = random_tensor({64, depthwise ? 1 : 64, 3, 3});
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 3, 8}) {
      const auto scope = testing::with_threads(threads);
      results.push_back(conv2d_blocked(block_channels(x), block_filters(w, layout), {}, {.padding = 1}).to_vector<float>());
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
  for (const std::int64_t rows : {1, 30}) {  // with groups, and one long row
    const Tensor x = random_tensor({2, 64, rows, rows == 1 ? 3000 : 29}), w = random_tensor({96, 32, rows == 1 ? 1 : 3, 3});
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 7}) {
      const auto scope = testing::with_threads(threads);
      results.push_back(
          conv2d_blocked(block_channels(x), block_filters(w, FilterLayout::blocked), {}, {.padding = {rows == 1 ? 0 : 1, 1}, .groups = 2}).to_vector<float>());
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("empty tensors, and wrong shapes and types") {
  const Tensor w = zeros({32, 16, 3, 3}, DType::float32);
  CHECK(conv2d_blocked(zeros({0, 1, 5, 5, 16}, DType::float32), block_filters(w, FilterLayout::blocked), {}).shape() == Shape{0, 2, 3, 3, 16});
  const Tensor x = zeros({1, 1, 5, 5, 16}, DType::float32);
  CHECK_THROWS_AS(conv2d_blocked(x.astype(DType::float64), block_filters(w, FilterLayout::blocked), {}), DTypeError);
  CHECK_THROWS_AS(conv2d_blocked(x, w, {}), ShapeError);
  CHECK_THROWS_AS(conv2d_blocked(x, block_filters(w, FilterLayout::planes), {}), ShapeError);
  CHECK(conv2d_blocked(zeros({0, 1, 5, 5, 16}, DType::float32), block_filters(w, FilterLayout::winograd), {}).shape() == Shape{0, 2, 3, 3, 16});
  CHECK_THROWS_AS(conv2d_blocked(x, block_filters(w, FilterLayout::winograd), {}, {.stride = 2}), ValueError);
  CHECK_THROWS_AS(conv2d_blocked(x, block_filters(w, FilterLayout::winograd), {}, {.dilation = 2}), ValueError);
  CHECK_THROWS_AS(conv2d_blocked(x, block_filters(zeros({32, 40, 3, 3}, DType::float32), FilterLayout::winograd), {}), ShapeError);
  CHECK_THROWS_AS(block_filters(zeros({32, 16, 1, 3}, DType::float32), FilterLayout::winograd), ShapeError);
  CHECK_THROWS_AS(conv2d_blocked(x, block_filters(w, FilterLayout::blocked), zeros({31}, DType::float32)), ShapeError);
  CHECK_THROWS_AS(conv2d_blocked(x, block_filters(w, FilterLayout::blocked), {}, {.dilation = 3}), ShapeError);
  // Groups must consist of whole blocks.
  const Tensor two = zeros({1, 2, 5, 5, 16}, DType::float32);
  CHECK(conv2d_blocked(two, block_filters(w, FilterLayout::blocked), {}, {.groups = 2}).shape() == Shape{1, 2, 3, 3, 16});
  CHECK_THROWS_AS(conv2d_blocked(two, block_filters(w, FilterLayout::blocked), {}, {.groups = 3}), ShapeError);
  CHECK_THROWS_AS(conv2d_blocked(two, block_filters(w, FilterLayout::blocked), {}), ShapeError);
  CHECK_THROWS_AS(conv2d_blocked(x, block_filters(w, FilterLayout::blocked), {}, {.groups = 0}), ShapeError);
  CHECK_THROWS_AS(unblock_channels(x, 17), ShapeError);
  CHECK_THROWS_AS(block_channels(x), ShapeError);
  CHECK_THROWS_AS(block_filters(w, FilterLayout::depthwise), ShapeError);
}
