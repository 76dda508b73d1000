// Access from a handle to its contents; recording declares it, the engine defines it.
#pragma once
#include <cstddef>
#include <memory>

#include "trace/record.hpp"
#include "trace/site.hpp"

namespace sinter::trace {

/// Returns the address of the node's elements in host memory, contiguous and row-major; evaluates and downloads as needed. It is valid while the node exists
/// (the memory is its Storage's `host`). Throws ValueError for a node that depends on a placeholder; errors name `site`.
const void* host_data(const RecordedPtr& node, const Site& site);

/// Elements in host memory, contiguous and row-major, and what keeps them there.
struct HostPart {
  std::shared_ptr<void> held;
  const std::byte* elements = nullptr;
};
/// Returns the elements of a node that is not evaluated, if slices and reshapes select consecutive elements of an evaluated node in host memory, such as rows
/// of a matrix. Otherwise `held` is null.
HostPart part_of_evaluated(const RecordedPtr& node);

}  // namespace sinter::trace
