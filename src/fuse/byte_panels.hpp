// The pass lay_out_bytes: packs the right matrix of products of bytes if later calls use it again.
#pragma once
#include "fuse/passes.hpp"

namespace sinter::fuse {

/// Returns the product of bytes in int32 with its right matrix laid out once for all calls: in panels if the device multiplies them, else along the depth.
/// Returns null for another product, or if the right matrix differs in each call.
trace::RecordedPtr multiplied_by_panels(const trace::Recorded& product, const trace::RecordedPtr& left, const trace::RecordedPtr& right, const Limits& limits,
                                        const RewriteOptions& options);

}  // namespace sinter::fuse
