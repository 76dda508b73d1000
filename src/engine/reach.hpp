// Finds where the steps of a plan read and write at the sizes of a call. It is for plans from files, whose numbers are not trusted.
#pragma once
#include <cstdint>
#include <span>

#include "engine/executable.hpp"

namespace sinter::engine {

/// Throws InternalError if the size of a value is invalid. Is called before memory is planned.
void check_bytes(const Planned& planned, const std::vector<std::int64_t>& symbols);

/// The sizes of the leaves' contents, and the required sizes of the results.
struct ReachTerms {
  std::vector<std::int64_t> leaf_bytes;
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
};
/// Throws InternalError if a step would access memory outside of its buffers; returns all accesses otherwise. Reads at computed positions and guarded reads are
/// not checked here, because the kernel's own code keeps them within the buffer.
std::vector<Executable::Reached> check_reach(const Executable& executable, const ReachTerms& terms);

/// Checks executable.reached again, because offsets changed.
void check_offsets(const Executable& executable, const std::vector<std::int64_t>& leaf_bytes);

}  // namespace sinter::engine
