#include "engine/tuned.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "base/log.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {
namespace {

jit::Source key_of(const jit::LoopNest& nest, const TuningPlace& place) {
  jit::Source key;
  key.target = fmt::format("{}{}", cache::kTunedTarget, place.device);
  key.options = fmt::format("{}{}", place.interpreted ? "interpreted " : "", nest.fast_math ? "fast_math" : "");
  key.entry = nest.name;
  key.text = jit::to_string(nest);
  key.generator = place.generator;
  return key;
}

// Returns the order of magnitude of the sizes, like the guards of estimates: "2^17 points, rows of 2^9".
std::string size_class(const jit::Lowered& lowered) {
  const auto power = [&](int first, int last) {
    fuse::Size points = 1;
    for (int axis = first; axis < last; ++axis) points = points * lowered.ints[static_cast<std::size_t>(axis)];
    const double value = fuse::as_double(points);
    int log = 4;
    for (double high = 16; high < value && log < 60; high *= 16) log += 4;
    return log;
  };
  const jit::LoopNest& nest = lowered.nest;
  const int points = power(0, nest.parallel);
  return nest.rows == 0 ? fmt::format("up to 2^{} points", points)
                        : fmt::format("up to 2^{} points, rows up to 2^{}", points, power(nest.parallel, nest.axes()));
}

// Size class -> schedule override, one for each line.
using OverridesBySize = std::map<std::string, std::string>;

OverridesBySize overrides_in(const jit::Binary& entry) {
  std::istringstream lines(std::string(entry.image.begin(), entry.image.end()));
  OverridesBySize by_size;
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t colon = line.find(": "); colon != std::string::npos) by_size[line.substr(0, colon)] = line.substr(colon + 2);
  return by_size;
}

}  // namespace

std::optional<jit::ScheduleOverride> tuned_override(cache::DiskCache& disk, const jit::Lowered& chosen, const TuningPlace& place) {
  const auto entry = disk.load(key_of(chosen.nest, place));
  if (!entry) return std::nullopt;
  const OverridesBySize by_size = overrides_in(*entry);
  const auto found = by_size.find(size_class(chosen));
  if (found == by_size.end()) return std::nullopt;
  try {
    return jit::ScheduleOverride::parse(found->second);
  } catch (const ValueError& error) {
    log().info("{}: the stored tuned schedule cannot be used: {}", chosen.nest.name, error.what());
    return std::nullopt;
  }
}

void keep_tuned(cache::DiskCache& disk, const jit::Lowered& chosen, const TuningPlace& place, const jit::ScheduleOverride& overrides, double gain) {
  const jit::Source key = key_of(chosen.nest, place);
  OverridesBySize by_size;
  jit::Binary entry;
  if (const auto known = disk.load(key)) {
    by_size = overrides_in(*known);
    entry.note = known->note + "\n";
  }
  const std::string sizes = size_class(chosen);
  by_size[sizes] = overrides.text();
  std::string text;
  for (const auto& [size, value] : by_size) text += fmt::format("{}: {}\n", size, value);
  entry.entry = chosen.nest.name;
  entry.image.assign(text.begin(), text.end());
  entry.note += fmt::format("{}, {}: {}, {:.2f} times as fast", chosen.nest.name, sizes, overrides.text(), gain);
  disk.store(key, entry);
  disk.remember(cache::kTuningMark, std::to_string(1 + std::strtoull(tuning_mark(disk).c_str(), nullptr, 10)));
}

std::string tuning_mark(cache::DiskCache& disk) { return disk.recall(cache::kTuningMark).value_or(""); }

}  // namespace sinter::engine
