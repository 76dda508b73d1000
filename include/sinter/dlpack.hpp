// Exchanges tensors with other libraries by DLPack 1.x, without a copy where that is possible. Opt-in: sinter.hpp does not include this header.
//
// The structures are those of the protocol's C interface under sinter's names, so that dlpack.h is not needed. A program that has it casts:
// reinterpret_cast<DLManagedTensorVersioned*>(dlpack::to_versioned(x)). https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once
#include <cstdint>

#include "sinter/tensor.hpp"

namespace sinter::dlpack {

enum class DeviceType : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
struct Device {
  DeviceType type;
  std::int32_t id;
};

enum class Code : std::uint8_t {
  signed_integer = 0,
  unsigned_integer = 1,
  floating = 2,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  float8_e4m3 = 8,
  float8_e4m3fn = 10,
  float8_e5m2 = 12
};
struct ElementType {
  Code code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

/// DLTensor
struct View {
  void* data;
  Device device;
  std::int32_t ndim;
  ElementType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: row-major
  std::uint64_t byte_offset;
};

struct Version {
  std::uint32_t major, minor;
};
inline constexpr std::uint64_t kReadOnly = 1, kCopied = 2;  ///< flags

/// DLManagedTensorVersioned: a Python capsule's "dltensor_versioned".
struct Versioned {
  Version version;
  void* manager;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  View tensor;
};
/// DLManagedTensor, from before version 1: a capsule's "dltensor". It has no flag for read-only elements.
struct Unversioned {
  View tensor;
  void* manager;
  void (*deleter)(Unversioned*);
};

/// Evaluates the tensor, waits until every stream can read the elements, and shares them, row-major and read-only, because a tensor is a value. With `copy` the
/// consumer gets elements of its own and may write them. The consumer calls the deleter once.
Versioned* to_versioned(const Tensor& tensor, bool copy = false, Location where = Location::current());
/// Returns a copy, because the consumer may write.
Unversioned* to_unversioned(const Tensor& tensor, Location where = Location::current());

/// Takes ownership: the deleter is called when nobody needs the elements any more, and for elements on a GPU when every kernel that reads them is done. The
/// elements are used in place if their strides are those of a contiguous array with its axes in some order, on the CPU or on a GPU of this process; otherwise
/// they are copied. Nobody may write them meanwhile; the caller first waits for streams that write them. Throws, and leaves the ownership with
/// the caller: DTypeError for elements that sinter does not have, DeviceError for another device, ValueError for a malformed tensor or another major version.
Tensor from_dlpack(Versioned* managed, Location where = Location::current());
Tensor from_dlpack(Unversioned* managed, Location where = Location::current());

}  // namespace sinter::dlpack
