// Settings: environment variables read once, and configure().
#pragma once
#include <cstdint>

#include "runtime/kind.hpp"
#include "sinter/engine.hpp"

namespace sinter::engine {

/// The settings that the environment asks for. A variable with a meaningless value is reported and left out.
Options options_from_environment();
/// Throws ValueError for a value out of range.
void check(const Options& options);
/// Which device the settings ask for. Throws ValueError naming the known ones.
struct Place {
  const runtime::Kind* kind;
  int ordinal = 0;
};
Place place_of(const Options& options);
/// Options::memory in bytes, 0 for no limit. Throws ValueError for what is no size.
std::uint64_t memory_limit_of(const Options& options);
/// Sets the level of sinter's logger.
void apply_log_level(const std::string& level);

}  // namespace sinter::engine
