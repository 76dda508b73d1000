// A sample of the golden expressions (test_golden.cpp) with the first axis of every input sharded, on 1, 2, 4 and 8 ranks that are threads: the same bits on
// every number of ranks, and close to the result without shards. An expression that needs an unsharded input must throw a ShardingError on every number of
// ranks.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sinter/ranks.hpp>
#include <string>
#include <vector>

#include "expression.hpp"
#include "program.hpp"
#include "seed.hpp"
#include "split.hpp"
#include "table/functions.hpp"

namespace ranks = sinter::ranks;
using namespace sinter::testing;

namespace {

/// The results as bytes, or the name of the error.
struct Outcome {
  std::vector<Tensor> results;
  std::vector<std::vector<std::uint8_t>> bytes;
  std::string error;
  bool refused = false;
  bool operator==(const Outcome& other) const { return bytes == other.bytes && refused == other.refused && error.empty() == other.error.empty(); }
};

Outcome outcome(const std::string& expression, const sn::tools::Bindings& inputs) {
  Outcome made;
  try {
    made.results = sn::tools::evaluate(expression, inputs).results;
    sn::eval(made.results);
    for (const Tensor& result : made.results)
      sn::visit_storage(result.dtype(), [&]<class T>() {
        const std::vector<T> values = result.to_vector<T>();
        std::vector<std::uint8_t>& bytes = made.bytes.emplace_back(values.size() * sizeof(T));
        for (std::size_t k = 0; k < values.size(); ++k) {
          const T value = values[k];
          std::memcpy(bytes.data() + k * sizeof(T), &value, sizeof(T));
        }
      });
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
  std::ifstream file(std::string(SINTER_GOLDEN) + "/cases.txt");
  REQUIRE(file.is_open());
  const std::vector<std::uint8_t> bytes = sn::load_npy(std::string(SINTER_GOLDEN) + "/cases.npy").to_vector<std::uint8_t>();
  const char* asked = std::getenv("SINTER_GOLDEN_STRIDE");
  const auto stride = asked ? static_cast<std::uint32_t>(std::strtoul(asked, nullptr, 10)) : sn::options().backend == "llvm" ? 400u : 40u;
  const std::uint32_t first = test_seed() % stride;
  sn::tools::Bindings inputs;
  std::size_t at = 0;
  std::uint32_t number = 0;
  int carried = 0, refused = 0;
  for (std::string line; std::getline(file, line);) {
    const auto fields = split(line, '\t');
    if (fields[0] == "input") {
      Shape shape;
      if (fields[3] != "-")
        for (const std::string& size : split(fields[3], ',')) shape.push_back(std::stoll(size));
      sn::visit_storage(sn::tools::find_dtype(fields[2]).value(), [&]<class T>() {
        const auto count = static_cast<std::size_t>(sn::element_count(shape));
        std::unique_ptr<T[]> values(new T[count]);
        if (count > 0) std::memcpy(values.get(), bytes.data() + at, count * sizeof(T));
        at += count * sizeof(T);
        inputs.emplace(fields[1], sn::table::Value{sn::from_span(std::span<const T>(values.get(), count), shape)});
      });
      continue;
    }
    if (number++ % stride != first) continue;
    const std::string& expression = fields[1];
    CAPTURE(expression);
    const Outcome whole = outcome(expression, inputs);
    if (!whole.error.empty()) continue;
    std::vector<Outcome> outcomes;
    for (const int count : {1, 2, 4, 8}) {
      std::mutex mutex;
      ranks::run(count, [&](ranks::World world) {
        const ranks::Mesh mesh(world, {{"data", count}});
        sn::tools::Bindings sharded;
        for (const auto& [name, value] : inputs) {
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
