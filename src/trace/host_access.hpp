// Access from a handle to its contents; recording declares it, the engine defines it.
#pragma once
#include "trace/record.hpp"
#include "trace/site.hpp"

namespace sinter::trace {

/// Returns the address of the node's elements in host memory, contiguous and row-major; evaluates and downloads as needed. It is valid while the node exists
/// (the memory is its Storage's `host`). Throws ValueError for a node that depends on a placeholder; errors name `site`.
const void* host_data(const RecordedPtr& node, const Site& site);

}  // namespace sinter::trace
