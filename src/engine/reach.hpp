// Where the steps of a plan read and write at the sizes of a call: for plans that came from a file, whose numbers nobody has made here.
#pragma once
#include <cstdint>
#include <span>

#include "engine/executable.hpp"

namespace sinter::engine {

/// Throws InternalError where a value's size is none: before the values are laid out.
void check_bytes(const Planned& planned, const std::vector<std::int64_t>& symbols);

/// The sizes of the leaves' contents, and what the results have to be.
struct ReachTerms {
  std::vector<std::int64_t> leaf_bytes;
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
};
/// Throws InternalError where a step would reach outside of its buffers. Reads at computed places and reads under a guard are not
/// checked here: the kernel's own code keeps them within the buffer.
void check_reach(const Executable& executable, const ReachTerms& terms);

}  // namespace sinter::engine
