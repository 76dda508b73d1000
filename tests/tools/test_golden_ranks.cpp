// A sample of the golden expressions (test_golden.cpp) with the first axis of every input sharded, on 1, 2, 4 and 8 ranks that are threads: the same bits on
// every number of ranks, and close to the result without shards. An expression that needs an unsharded input must throw a ShardingError on every number of
// ranks.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <mutex>
#include <sinter/ranks.hpp>
#include <string>
#include <vector>

#include "bytes_of.hpp"
#include "golden.hpp"
#include "program.hpp"
#include "seed.hpp"

namespace ranks = sinter::ranks;
using namespace sinter::testing;

namespace {

/// The results as bytes, or the name of the error.
struct Outcome {
  std::vector<Tensor> results;
  std::vector<std::vector<std::byte>> bytes;
  std::string error;
  bool refused = false;
  bool operator==(const Outcome& other) const { return bytes == other.bytes && refused == other.refused && error.empty() == other.error.empty(); }
};

Outcome outcome(const std::string& expression, const sn::tools::Bindings& inputs) {
  Outcome made;
  try {
    made.results = sn::tools::evaluate(expression, inputs).results;
    sn::eval(made.results);
    for (const Tensor& result : made.results) made.bytes.push_back(bytes_of(result));
  } catch (const sn::ShardingError& error) {
    made = {{}, {}, error.what(), true};
  } catch (const sn::Error& error) {
    made = {{}, {}, error.what(), false};
  }
  return made;
}

/// Returns the largest difference, relative to the largest number.
double difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return INFINITY;
  const auto x = a.astype(DType::float64).to_vector<double>(), y = b.astype(DType::float64).to_vector<double>();
  double difference = 0, largest = 1;
  for (const double value : y)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k]))) continue;
    const double off = std::abs(x[k] - y[k]) / largest;
    difference = off <= difference ? difference : off;
  }
  return difference;
}

}  // namespace

TEST_CASE("golden expressions with the first axis sharded") {
  GoldenCases cases(SINTER_GOLDEN);
  const char* asked = std::getenv("SINTER_GOLDEN_STRIDE");
  const auto stride = asked ? static_cast<std::uint32_t>(std::strtoul(asked, nullptr, 10)) : sn::options().backend == "llvm" ? 400u : 40u;
  const std::uint32_t first = test_seed() % stride;
  std::uint32_t number = 0;
  int carried = 0, refused = 0;
  for (GoldenCase next; cases.next(next);) {
    if (number++ % stride != first) continue;
    const std::string& expression = next.expression;
    CAPTURE(expression);
    const Outcome whole = outcome(expression, cases.inputs());
    if (!whole.error.empty()) continue;
    std::vector<Outcome> outcomes;
    for (const int count : {1, 2, 4, 8}) {
      std::mutex mutex;
      ranks::run(count, [&](ranks::World world) {
        const ranks::Mesh mesh(world, {{"data", count}});
        sn::tools::Bindings sharded;
        for (const auto& [name, value] : cases.inputs()) {
          const Tensor& input = *value.as<Tensor>();
          std::vector<std::string> axes(input.shape().size());
          if (!axes.empty()) axes[0] = "data";
          sharded.emplace(name, sn::table::Value{axes.empty() ? input : ranks::shard(input, mesh, axes)});
        }
        Outcome mine = outcome(expression, sharded);
        if (count == 1 && mine.error.empty())
          for (std::size_t k = 0; k < whole.results.size(); ++k) CHECK(difference(mine.results[k], whole.results[k]) <= 0.02);
        mine.results.clear();
        const std::lock_guard lock(mutex);
        outcomes.push_back(std::move(mine));
      });
    }
    for (const Outcome& other : outcomes) {
      INFO(outcomes[0].error, " and ", other.error);
      CHECK(other == outcomes[0]);
      CHECK((other.error.empty() || other.refused));
    }
    ++(outcomes[0].refused ? refused : carried);
  }
  fmt::print("{} expressions were carried, {} need an input whole\n", carried, refused);
  CHECK(carried > refused);
}
