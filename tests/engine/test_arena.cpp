// The memory plan: no two values that are alive at the same time overlap, and the block is at least as large as all values that are alive at once.
#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "engine/arena.hpp"
#include "seed.hpp"

using namespace sinter::engine;

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign; }

void check(const std::vector<Lifetime>& values) {
  const Arena arena = lay_out(values);
  REQUIRE(arena.offsets.size() == values.size());
  std::size_t end = 0, sum = 0, largest = 0;
  int moments = 0;
  for (std::size_t a = 0; a < values.size(); ++a) {
    CHECK(arena.offsets[a] % kArenaAlign == 0);
    end = std::max(end, arena.offsets[a] + aligned(values[a].bytes));
    sum += aligned(values[a].bytes);
    moments = std::max(moments, values[a].last + 1);
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = values[a].first <= values[b].last && values[b].first <= values[a].last;
      const bool over = arena.offsets[a] < arena.offsets[b] + values[b].bytes && arena.offsets[b] < arena.offsets[a] + values[a].bytes;
      CHECK_FALSE((together && over));
    }
  }
  for (int moment = 0; moment < moments; ++moment) {
    std::size_t alive = 0;
    for (const Lifetime& value : values)
      if (value.first <= moment && moment <= value.last) alive += aligned(value.bytes);
    largest = std::max(largest, alive);
  }
  CHECK(arena.bytes == end);
  CHECK(arena.sum == sum);
  CHECK(arena.lower_bound == largest);
  CHECK(arena.bytes >= largest);
}

}  // namespace

TEST_CASE("values with overlapping live ranges have separate memory, others share it") {
  CHECK(lay_out({}).bytes == 0);
  const Arena chain = lay_out({{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}});  // each step reads the value of the step before
  CHECK(chain.bytes == 2048);
  CHECK(chain.sum == 4096);
  CHECK(lay_out({{64, 0, 0}, {0, 0, 5}, {64, 5, 5}}).bytes == 64);
  check({{100, 0, 3}, {200, 1, 1}, {300, 2, 2}, {100, 1, 3}});
}

TEST_CASE("random live ranges") {
  const unsigned seed = sinter::testing::test_seed();
  INFO("SINTER_TEST_SEED=", seed);
  std::mt19937 rng(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> values(static_cast<std::size_t>(pick(0, 40)));
    for (Lifetime& value : values) {
      value.first = pick(0, 30);
      value.last = value.first + pick(0, pick(0, 1) ? 4 : 20);
      value.bytes = static_cast<std::size_t>(pick(0, 5000));
    }
    check(values);
  }
}
