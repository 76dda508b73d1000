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

/// Evaluates the tensor, waits until every stream can read the elements, and shares them in row-major order. They are read-only, because a tensor is a value.
/// With `copy` the consumer gets a copy, which it may write. The consumer calls the deleter once.
Versioned* to_versioned(const Tensor& tensor, bool copy = false, Location where = Location::current());
/// Does the same without flags. It always returns a copy, because this structure cannot say that elements are read-only.
Unversioned* to_unversioned(const Tensor& tensor, Location where = Location::current());

/// Returns a tensor of these elements and takes ownership of them. sinter calls the deleter when no tensor needs the elements any more; on a GPU, when every
/// kernel that reads them is done. The elements are used in place if they lie on the CPU or on a GPU of this process, and if they are contiguous in some order
/// of the axes; otherwise they are copied. Nobody may write the elements meanwhile. If a stream still writes them, wait for it before the call. If the function
/// throws, the caller keeps the ownership: DTypeError for elements of a type that sinter lacks, DeviceError for another device, ValueError for a malformed
/// tensor or another major version.
Tensor from_dlpack(Versioned* managed, Location where = Location::current());
Tensor from_dlpack(Unversioned* managed, Location where = Location::current());

}  // namespace sinter::dlpack
