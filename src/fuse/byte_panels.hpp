// The pass lay_out_bytes: products of bytes with a matrix that is used again.
#pragma once
#include "fuse/passes.hpp"

namespace sinter::fuse {

/// Returns the product of bytes in int32 with its right matrix laid out once for all calls: in panels if the device multiplies them, else along the depth. Null
/// for another product, or if the right matrix is new each time.
trace::RecordedPtr multiplied_by_panels(const trace::Recorded& product, const trace::RecordedPtr& left, const trace::RecordedPtr& right, const Limits& limits,
                                        const RewriteOptions& options);

}  // namespace sinter::fuse
