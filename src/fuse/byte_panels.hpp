// The pass lay_out_bytes: products of bytes by a matrix that is used again.
#pragma once
#include "fuse/passes.hpp"

namespace sinter::fuse {

/// The product of bytes in int32 whose right matrix is laid out once for all calls: in panels where the device multiplies them, else along the depth. Null
/// where the product is another one, or its right matrix is a new one each time.
trace::RecordedPtr multiplied_by_panels(const trace::Recorded& product, const trace::RecordedPtr& left, const trace::RecordedPtr& right, const Limits& limits,
                                        const RewriteOptions& options);

}  // namespace sinter::fuse
