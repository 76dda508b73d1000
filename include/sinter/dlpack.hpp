// Tensors exchanged with other libraries by DLPack 1.x, without a copy where that is possible. Opt-in: sinter.hpp does not include it.
//
// The structures are those of the protocol's C interface, in sinter's words, so that nothing of dlpack.h is needed; a program that has it casts:
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
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

struct Version {
  std::uint32_t major, minor;
};
inline constexpr std::uint64_t kReadOnly = 1, kCopied = 2;  // flags

/// DLManagedTensorVersioned: a Python capsule's "dltensor_versioned".
struct Versioned {
  Version version;
  void* manager;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  View tensor;
};
/// DLManagedTensor, of before version 1: a capsule's "dltensor". It cannot say that the elements may only be read.
struct Unversioned {
  View tensor;
  void* manager;
  void (*deleter)(Unversioned*);
};

/// Evaluates, waits until the elements are there for any stream, and shares them, row-major and read-only: a tensor is a value. With `copy` the
/// consumer gets elements of its own, and may write. Whoever takes it calls its deleter once.
Versioned* to_versioned(const Tensor& tensor, bool copy = false, Location where = Location::current());
/// A copy, since the consumer may write.
Unversioned* to_unversioned(const Tensor& tensor, Location where = Location::current());

/// Takes it over: its deleter is called when nobody needs the elements any more, and for elements on a GPU when everything that reads them is done.
/// The elements are used where they are if their strides are those of a contiguous array with its axes in some order, on the CPU or on a GPU of
/// this process; else they are copied. Nobody may write them meanwhile; a stream that does is waited for before.
/// Throws, and leaves it to the caller: DTypeError for elements that sinter has not, DeviceError for another device, ValueError for what is malformed or
/// of another major version.
Tensor from_dlpack(Versioned* managed, Location where = Location::current());
Tensor from_dlpack(Unversioned* managed, Location where = Location::current());

}  // namespace sinter::dlpack
