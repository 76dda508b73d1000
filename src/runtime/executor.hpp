// The interface of a device for the engine: memory, and execution of a plan's steps.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "fuse/limits.hpp"
#include "jit/points.hpp"
#include "jit/source.hpp"
#include "kernels/refused.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime {

/// Memory of one device. It returns to the device's pool with the last reference.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* data() = 0;  // an address on the device
  virtual std::size_t bytes() const = 0;
};
using BufferPtr = std::shared_ptr<Buffer>;

/// A kernel that is ready to run: loaded machine code, a loaded module, or only the nest (interpreter).
class Kernel {
 public:
  virtual ~Kernel() = default;
};
using KernelPtr = std::shared_ptr<Kernel>;

/// pointers: inputs then outputs, in the nest's order, with their offsets added; then the checks' flags if the nest has checks. scalars: 8 bytes each.
struct Arguments {
  std::span<void* const> pointers;
  std::span<const std::int64_t> ints;
  std::span<const std::uint64_t> scalars;
};

/// Thrown if the device cannot run a kernel that its limits allow. The limits are corrected before the exception is thrown, and the caller plans again with
/// them.
class NoClusterSpace : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

using kernels::Refused;

/// Thrown when a library cannot compute a call, although it computes others like it.
class NoAlgorithm : public DeviceError {
 public:
  NoAlgorithm(const std::string& what, bool of_more) : DeviceError(what), of_more_(of_more) {}
  /// Returns whether the call asked for more than a product: to add a row, or to round.
  bool of_more() const { return of_more_; }

 private:
  bool of_more_;
};

/// An epilogue kernel that runs on each piece of a library call's result as soon as the piece is complete. Its points are the result's elements, in order.
struct EpilogueKernel {
  Kernel& kernel;
  const jit::LoopNest& nest;
  Arguments arguments;
};

/// The bytes of a device's memory in use, for the counters.
struct MemoryUse {
  std::size_t now = 0, peak = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "cpu", "cuda:0"
  /// Describes in words the properties that decide the device's speed: the processor, and how much of it is used.
  virtual std::string model() const = 0;
  virtual fuse::Limits limits() const = 0;
  virtual void set_threads(int) {}                    // threads of the host that may work at once; 0 means every core
  virtual BufferPtr allocate(std::size_t bytes) = 0;  // throws DeviceError if there is no more memory
  virtual void upload(Buffer& to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, Buffer& from, std::size_t bytes) = 0;  // waits for earlier launches
  virtual void copy(Buffer& to, Buffer& from, std::size_t bytes) = 0;
  /// Returns whether kernels and library calls read the host's memory directly.
  virtual bool reads_host() const = 0;
  /// Returns a buffer's memory for the host, valid as long as the pointer exists, or null if the host cannot read it.
  virtual std::shared_ptr<void> host_memory(const BufferPtr& buffer) = 0;
  /// Loads a binary. Throws CompileError if it is damaged or not for this device, NoClusterSpace if the device has no room for its clusters although its limits
  /// allow them, and DeviceError if there is no memory for it.
  virtual KernelPtr load(const jit::LoopNest& nest, const jit::Binary& binary) = 0;
  virtual void launch(Kernel& kernel, const jit::LoopNest& nest, const Arguments& arguments) = 0;
  /// Runs a kernel at the points of a box, if the kind launches parts.
  virtual void launch_part(Kernel&, const jit::LoopNest&, const Arguments&, const jit::Box&) { throw InternalError("the device launches no parts"); }
  /// Runs a library call. pointers: the starts of the operands' buffers, then of the result's. Throws Refused, NoAlgorithm. An epilogue, which only ops with
  /// results in pieces may have, has run when this returns.
  virtual void call(const fuse::LibraryCall& call, std::span<void* const> pointers, const EpilogueKernel* epilogue) = 0;
  /// Runs a library call by the kernels of Kind::call_sources, in their order. Returns how many it launched.
  virtual std::size_t call_by(const fuse::LibraryCall&, std::span<Kernel* const>, std::span<void* const>) {
    throw InternalError(name() + ": no kernels compute a library call here");
  }
  /// Throws NoAlgorithm for a call that call() cannot compute at any addresses of its operands.
  virtual void expect(const fuse::LibraryCall&) {}
  virtual void synchronize() = 0;
  virtual MemoryUse memory() const = 0;
  virtual void reset_peak() {}                 // memory().peak counts from memory().now again
  virtual bool lost() const { return false; }  // true: the device never runs anything again
  virtual void trim() = 0;                     // returns pooled memory to the system
  virtual void before_fork() {}                // until after_fork(), data that a child of fork will use does not change
  virtual void after_fork() {}
};
using DevicePtr = std::shared_ptr<Device>;

}  // namespace sinter::runtime
