// What every device offers the engine: memory, and running a plan's steps on it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "fuse/limits.hpp"
#include "jit/loop_nest.hpp"
#include "jit/source.hpp"
#include "kernels/refused.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime {

/// Memory of one device; freed (returned to the device's pool) with the last reference.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* data() = 0;  // an address on the device
  virtual std::size_t bytes() const = 0;
};
using BufferPtr = std::shared_ptr<Buffer>;

/// A kernel that is ready to run: loaded machine code, a loaded module, or nothing but the nest (interpreter).
class Kernel {
 public:
  virtual ~Kernel() = default;
};
using KernelPtr = std::shared_ptr<Kernel>;

/// pointers: inputs then outputs, in the nest's order, offsets already added; then the flags of checks where there are any. scalars: 8 bytes each.
struct Arguments {
  std::span<void* const> pointers;
  std::span<const std::int64_t> ints;
  std::span<const std::uint64_t> scalars;
};

/// The device's limits were too good: they are other ones from now on, by which is to be planned again.
class NoRoom : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

using kernels::Refused;

/// What a library throws that cannot compute a call, though it computes others like it.
class NoAlgorithm : public DeviceError {
 public:
  NoAlgorithm(const std::string& what, bool of_more) : DeviceError(what), of_more_(of_more) {}
  /// Whether more than the product was asked for: a row to add, or to round.
  bool of_more() const { return of_more_; }

 private:
  bool of_more_;
};

/// A kernel that runs on each piece of a library call's result as soon as it is there. Its points are the elements of that result, in order.
struct Follower {
  Kernel& kernel;
  const jit::LoopNest& nest;
  Arguments arguments;
};

/// Bytes of a device's memory in use, as the counters show it.
struct MemoryUse {
  std::size_t now = 0, peak = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;  // "cpu", "cuda:0"
  /// What decides how fast it is, as words: the processor, and how much of it is used.
  virtual std::string model() const = 0;
  virtual fuse::Limits limits() const = 0;
  virtual void set_threads(int) {}                    // threads of the host that may work at once, 0: every core
  virtual BufferPtr allocate(std::size_t bytes) = 0;  // throws DeviceError when there is no more
  virtual void upload(Buffer& to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, Buffer& from, std::size_t bytes) = 0;  // waits for earlier launches
  virtual void copy(Buffer& to, Buffer& from, std::size_t bytes) = 0;
  /// Whether kernels and calls take the host's memory as it is.
  virtual bool reads_host() const = 0;
  /// A buffer's memory for the host, which lives as long as the pointer does; null where the host cannot read it.
  virtual std::shared_ptr<void> host_memory(const BufferPtr& buffer) = 0;
  /// Throws CompileError for a binary that is damaged or not for this device, NoRoom where the device cannot run it as its limits had promised, DeviceError
  /// when there is no memory for it.
  virtual KernelPtr load(const jit::LoopNest& nest, const jit::Binary& binary) = 0;
  virtual void launch(Kernel& kernel, const jit::LoopNest& nest, const Arguments& arguments) = 0;
  /// pointers: the operands' buffers from their start, then the result's. Throws Refused, NoAlgorithm. With a follower, of which there are only for ops that
  /// come in pieces, it has run when this returns.
  virtual void call(const fuse::LibraryCall& call, std::span<void* const> pointers, const Follower* follower) = 0;
  /// Throws NoAlgorithm for a call that would, wherever its operands lie.
  virtual void expect(const fuse::LibraryCall&) {}
  virtual void synchronize() = 0;
  virtual MemoryUse memory() const = 0;
  virtual void reset_peak() {}                 // from now on, memory().peak counts from memory().now
  virtual bool lost() const { return false; }  // nothing more runs on it, for good
  virtual void trim() = 0;                     // give pooled memory back
  virtual void before_fork() {}                // holds still what a child of fork will use, until after_fork
  virtual void after_fork() {}
};
using DevicePtr = std::shared_ptr<Device>;

}  // namespace sinter::runtime
