// Settings: environment variables read once, and configure().
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kind.hpp"
#include "sinter/engine.hpp"

namespace sinter::engine {

/// Returns the settings of the environment. Reports and ignores a variable with an invalid value.
Options options_from_environment();
/// Describes each setting that differs, such as "fuse was on and is off".
std::vector<std::string> changes(const Options& before, const Options& after);
/// Throws ValueError for a value out of range.
void check(const Options& options);
/// The device that the settings select. Throws ValueError that names the known devices.
struct Place {
  const runtime::Kind* kind;
  int ordinal = 0;
};
Place place_of(const Options& options);
/// Returns Options::memory in bytes, 0 for no limit. Throws ValueError for a text that is not a size.
std::uint64_t memory_limit_of(const Options& options);
/// Sets the level of sinter's logger.
void apply_log_level(const std::string& level);

}  // namespace sinter::engine
