// Tiles of convolutions of bytes on each instruction set of this processor, compared with the definition.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/convolutions/conv_bytes.hpp"
#include "seed.hpp"

using namespace sinter::kernels;

namespace {

std::vector<const ByteTiles*> tiles_here() {
  std::vector<const ByteTiles*> all{&kByteTilesBaseline};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) all.push_back(&kByteTilesAvx2);
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) all.push_back(&kByteTilesVnni);
#endif
  return all;
}

template <class T> std::vector<T> drawn(std::mt19937& rng, std::int64_t count, std::int64_t low, std::int64_t high) {
  std::vector<T> list(static_cast<std::size_t>(count));
  for (T& x : list) x = static_cast<T>(std::uniform_int_distribution<std::int64_t>(low, high)(rng));
  return list;
}

std::vector<float> reals(std::mt19937& rng, std::int64_t count) {
  std::vector<float> list(static_cast<std::size_t>(count));
  for (float& x : list) x = std::uniform_real_distribution<float>(-2, 2)(rng);
  return list;
}

}  // namespace

TEST_CASE("every instruction set gives the same convolutions of bytes") {
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto any = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng); };
  for (int i = 0; i < 100; ++i) {
    ByteConvTile t{};
    t.inner = any(0, 1) ? 16 : 4, t.channels = any(1, 5), t.blocks = any(1, 3), t.places = any(1, 31), t.taps[0] = any(1, 3), t.taps[1] = any(1, 3);
    t.x_place = t.inner * any(1, 2), t.x_tap[1] = t.inner, t.x_tap[0] = t.places * t.x_place + t.taps[1] * t.inner, t.x_channel = t.x_tap[0] * (t.taps[0] + 1);
    t.weight_block = t.channels * t.taps[0] * t.taps[1] * t.inner * 16, t.result_block = t.places * 16;
    const auto x = drawn<std::uint8_t>(rng, t.channels * t.x_channel, 0, 255);
    const auto weight = drawn<std::int8_t>(rng, t.blocks * t.weight_block, -128, 127);
    const auto bias = drawn<std::int32_t>(rng, t.blocks * 16, -1000000, 1000000),
               before = drawn<std::int32_t>(rng, t.blocks * t.result_block, -1000000, 1000000);
    const std::vector<float> scale = reals(rng, t.blocks * 16), shift = reals(rng, t.blocks * 16);
    t.x = x.data(), t.weight = weight.data(), t.bias = any(0, 1) ? bias.data() : nullptr;
    for (const ByteTiles* tiles : tiles_here()) {
      INFO(tiles->name);
      std::vector<std::int32_t> result = before;
      t.result = result.data();
      tiles->conv(t);
      for (std::int64_t block = 0; block < t.blocks; ++block)
        for (std::int64_t place = 0; place < t.places; ++place)
          for (std::int64_t f = 0; f < 16; ++f) {
            const auto at = static_cast<std::size_t>(block * t.result_block + place * 16 + f);
            std::int64_t want = t.bias ? bias[static_cast<std::size_t>(block * 16 + f)] : before[at];
            for (std::int64_t channel = 0; channel < t.channels; ++channel)
              for (std::int64_t row = 0; row < t.taps[0]; ++row)
                for (std::int64_t column = 0; column < t.taps[1]; ++column)
                  for (std::int64_t k = 0; k < t.inner; ++k)
                    want += std::int64_t{x[static_cast<std::size_t>(channel * t.x_channel + row * t.x_tap[0] + column * t.x_tap[1] + place * t.x_place + k)]} *
                            weight[static_cast<std::size_t>(block * t.weight_block +
                                                            (((channel * t.taps[0] + row) * t.taps[1] + column) * (t.inner / 4) + k / 4) * 64 + f * 4 + k % 4)];
            REQUIRE(result[at] == want);
          }
      // The same sums with a scale and a shift; each operation rounds.
      const std::vector<std::int32_t> sums = result;
      std::vector<float> floats(sums.size());
      result = before;
      t.result = reinterpret_cast<std::int32_t*>(std::memcpy(floats.data(), before.data(), before.size() * 4));
      t.scale = scale.data(), t.shift = shift.data();
      tiles->conv(t);
      t.scale = t.shift = nullptr;
      for (std::size_t at = 0; at < floats.size(); ++at) {
        const std::size_t filter = at / static_cast<std::size_t>(t.result_block) * 16 + at % 16;
        const volatile float product = static_cast<float>(sums[at]) * scale[filter];
        REQUIRE(floats[at] == product + shift[filter]);
      }
    }
  }
}

TEST_CASE("every instruction set gives the same depthwise convolutions of bytes") {
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto any = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng); };
  for (int i = 0; i < 100; ++i) {
    ByteDepthwiseTile t{};
    t.places = any(1, 30), t.taps[0] = any(0, 5), t.taps[1] = any(0, 5), t.x_place = 16 * any(1, 2), t.x_tap[1] = 16 * any(1, 2);
    t.x_tap[0] = t.places * t.x_place + 5 * t.x_tap[1], t.weight_row = 16 * (t.taps[1] + any(0, 1));
    const auto x = drawn<std::uint8_t>(rng, t.x_tap[0] * (t.taps[0] + 1), 0, 255);
    const auto weight = drawn<std::int8_t>(rng, t.weight_row * t.taps[0] + 16, -128, 127);
    const auto bias = drawn<std::int32_t>(rng, 16, -1000000, 1000000);
    const std::vector<float> scale = reals(rng, 16), shift = reals(rng, 16);
    t.x = x.data(), t.weight = weight.data(), t.bias = bias.data();
    for (const ByteTiles* tiles : tiles_here()) {
      INFO(tiles->name);
      std::vector<std::int32_t> result(static_cast<std::size_t>(t.places * 16), 77);
      t.result = result.data();
      tiles->depthwise(t);
      std::vector<float> floats(result.size());
      t.result = reinterpret_cast<std::int32_t*>(floats.data());
      t.scale = scale.data(), t.shift = shift.data();
      tiles->depthwise(t);
      t.scale = t.shift = nullptr;
      for (std::size_t at = 0; at < floats.size(); ++at) {
        const volatile float product = static_cast<float>(result[at]) * scale[at % 16];
        REQUIRE(floats[at] == product + shift[at % 16]);
      }
      for (std::int64_t place = 0; place < t.places; ++place)
        for (std::int64_t f = 0; f < 16; ++f) {
          std::int64_t want = bias[static_cast<std::size_t>(f)];
          for (std::int64_t row = 0; row < t.taps[0]; ++row)
            for (std::int64_t column = 0; column < t.taps[1]; ++column)
              want += std::int64_t{x[static_cast<std::size_t>(row * t.x_tap[0] + column * t.x_tap[1] + place * t.x_place + f)]} *
                      weight[static_cast<std::size_t>(row * t.weight_row + column * 16 + f)];
          REQUIRE(result[static_cast<std::size_t>(place * 16 + f)] == want);
        }
    }
  }
}
