// A frozen function in a file, and back. Layout, in native byte order:
//
//   Header | description (archive.hpp) | contents of the leaves, from a multiple of 4096 bytes on | checksum (XXH3-128 of everything before it)
//
// The description has the plans in the form in which they run: loop nests, library calls, the program of the sizes, and each kernel as an entry of the disk
// cache (key, report, machine code, checksum). The checksum finds damage, not forgery. A plan is machine code, so its source must be trusted like that of a
// program. Reading maps the file, and the leaves' contents stay in the mapping.
#pragma once
#include <string>
#include <string_view>

#include "freeze/staged_function.hpp"

namespace sinter::freezing {

/// Raise this number when the description changes in a way that archive.hpp or the generator's id does not show.
inline constexpr std::uint32_t kPlanSchema = 6;

/// Throws IoError.
void save_plans(const std::string& path, StagedFunction& function, std::string_view note, const trace::Site& site);
/// Throws IoError for a file that is damaged or of another version of sinter. Throws DeviceError for plans of another device, or of another machine if there
/// is no compiler to make them for this one.
StagedFunction::Loaded load_plans(const std::string& path, const trace::Site& site);

}  // namespace sinter::freezing
