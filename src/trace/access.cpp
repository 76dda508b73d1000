// A handle's properties, and its contents.
#include <fmt/format.h>

#include "sinter/tensor.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter {

using namespace trace;

const Shape& Tensor::shape() const { return node_of({"shape", {}}, *this)->shape; }
DType Tensor::dtype() const { return node_of({"dtype", {}}, *this)->dtype; }
std::int64_t Tensor::size(int axis) const {
  return shape()[static_cast<std::size_t>(checked_axis({"size", {}}, axis, ndim()))];
}

const void* Tensor::host(DType wanted, const char* function) const {
  const RecordedPtr& node = node_of({function, {}}, *this);
  if (node->dtype != wanted) {
    fail<DTypeError>({function, {}}, fmt::format("the tensor holds {}, not {}; convert it first with astype", name(node->dtype), name(wanted)));
  }
  return host_data(node);
}

void Tensor::check_count(std::size_t count, const char* function) const {
  if (static_cast<std::int64_t>(count) == size()) return;
  fail<ShapeError>({function, {}}, fmt::format("shape {} has {} elements, not {}", to_string(shape()), size(), count));
}

}  // namespace sinter
