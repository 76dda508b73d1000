// Shardings as plain values, and the sharding rule of each primitive.
#include <doctest/doctest.h>

#include "host_data_stub.hpp"
#include "ranks/sharding.hpp"

using namespace sinter;
using namespace sinter::ranks;

TEST_CASE("the blocks of all parts contain each element once") {
  const auto world = std::make_shared<WorldState>(nullptr);
  for (const int pieces : {1, 2, 3, 8})
    for (const std::int64_t n : {1, 2, 7, 8, 9, 64, 100}) {
      const auto mesh = std::make_shared<MeshState>(MeshState{world, {{"a", 1, pieces}, {"b", 1, 2}}});
      const Sharding sharding{mesh, {1, kWhole, 0}};
      const Shape shape{5, 3, n};
      std::vector<int> seen(static_cast<std::size_t>(5 * 3 * n));
      for (const ranks::Part& part : all_parts(sharding)) {
        const Block block = block_of(shape, sharding, part);
        for (std::int64_t i = block[0].begin; i < block[0].end; ++i)
          for (std::int64_t j = block[1].begin; j < block[1].end; ++j)
            for (std::int64_t k = block[2].begin; k < block[2].end; ++k) ++seen[static_cast<std::size_t>((i * 3 + j) * n + k)];
      }
      CHECK(seen == std::vector<int>(seen.size(), 1));
    }
}
