// Devices that execute the loop language itself: CUDA's and OpenCL's plans and kernels without their drivers and compilers, with every access checked. A test
// uses them by preloading this library (LD_PRELOAD), SINTER_DEVICE=cuda or opencl, and SINTER_BACKEND=interpreter. SINTER_LOOPS_SM is the architecture for cuda
// (90).
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "executor.hpp"
#include "jit/compiler.hpp"
#include "jit/cuda/geometry.hpp"
#include "jit/forms/forms.hpp"
#include "jit/identities.hpp"
#include "runtime/kind.hpp"

namespace sinter::runtime {
namespace {

/// The buffers of a device by their addresses.
class Memory {
 public:
  void* take(std::size_t bytes) {
    void* const data = std::aligned_alloc(256, (std::max<std::size_t>(bytes, 1) + 255) / 256 * 256);
    if (data == nullptr) throw DeviceError(fmt::format("no memory for {} bytes", bytes));
    std::memset(data, 0xa5, bytes);
    const std::lock_guard lock(mutex_);
    buffers_[static_cast<std::byte*>(data)] = bytes;
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    return data;
  }
  void give_back(void* data) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = buffers_.find(static_cast<std::byte*>(data));
      now_ -= found->second;
      buffers_.erase(found);
    }
    std::free(data);
  }
  std::vector<std::span<std::byte>> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::span<std::byte>> list;
    for (const auto& [data, bytes] : buffers_) list.emplace_back(data, bytes);
    return list;
  }
  MemoryUse use() const {
    const std::lock_guard lock(mutex_);
    return {now_, peak_};
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    peak_ = now_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::byte*, std::size_t> buffers_;
  std::size_t now_ = 0, peak_ = 0;
};

class LoopBuffer final : public Buffer {
 public:
  LoopBuffer(std::shared_ptr<Memory> memory, std::size_t bytes) : memory_(std::move(memory)), data_(memory_->take(bytes)), bytes_(bytes) {}
  ~LoopBuffer() override { memory_->give_back(data_); }
  LoopBuffer(const LoopBuffer&) = delete;
  LoopBuffer& operator=(const LoopBuffer&) = delete;
  void* data() override { return data_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<Memory> memory_;
  void* data_;
  std::size_t bytes_;
};

struct LoopKernel final : Kernel {
  explicit LoopKernel(jit::loop::Kernel in_loops) : loops(std::move(in_loops)) {}
  const jit::loop::Kernel loops;
};

class LoopDevice final : public Device {
 public:
  LoopDevice(std::string name, fuse::Limits limits) : name_(std::move(name)), limits_(std::move(limits)) { limits_.sorts_by_digits = false; }

  std::string name() const override { return name_; }
  std::string model() const override { return fmt::format("{}, whose loops are executed", limits_.target); }
  fuse::Limits limits() const override { return limits_; }
  BufferPtr allocate(std::size_t bytes) override { return std::make_shared<LoopBuffer>(memory_, bytes); }
  void upload(Buffer& to, const void* from, std::size_t bytes) override { move(to.data(), from, bytes); }
  void download(void* to, Buffer& from, std::size_t bytes) override { move(to, from.data(), bytes); }
  void copy(Buffer& to, Buffer& from, std::size_t bytes) override { move(to.data(), from.data(), bytes); }
  bool reads_host() const override { return false; }
  std::shared_ptr<void> host_memory(const BufferPtr&) override { return nullptr; }
  KernelPtr load(const jit::LoopNest& nest, const jit::Binary&) override {
    jit::loop::Kernel loops = jit::forms::lower(nest, limits_.sm);
    return std::make_shared<LoopKernel>(limits_.warps ? std::move(loops) : jit::loop::without_warps(std::move(loops)));
  }
  void launch(Kernel& kernel, const jit::LoopNest& nest, const Arguments& arguments) override {
    const jit::cuda::Geometry geometry = jit::cuda::geometry(nest, arguments.ints, limits_.units);
    test::LoopLaunch launch;
    launch.blocks = geometry.grid;
    launch.buffers = memory_->all();
    for (void* const pointer : arguments.pointers) launch.pointers.push_back(static_cast<std::byte*>(pointer));
    for (const int used : jit::cuda::used_ints(nest)) launch.numbers.push_back(static_cast<std::uint64_t>(arguments.ints[static_cast<std::size_t>(used)]));
    launch.numbers.insert(launch.numbers.end(), arguments.scalars.begin(), arguments.scalars.end());
    try {
      test::execute(static_cast<LoopKernel&>(kernel).loops, launch);
    } catch (const test::LoopFault& fault) {  // ends the process, because a test might expect and catch an exception
      fmt::print(stderr, "FAULT: {}\n{}\n", fault.what(), jit::loop::to_string(static_cast<LoopKernel&>(kernel).loops));
      std::abort();
    }
  }
  void call(const fuse::LibraryCall&, std::span<void* const>, const EpilogueKernel*) override {
    throw InternalError(name_ + ": no library computes a call here");
  }
  void synchronize() override {}
  MemoryUse memory() const override { return memory_->use(); }
  void reset_peak() override { memory_->reset_peak(); }
  void trim() override {}

 private:
  static void move(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  const std::string name_;
  fuse::Limits limits_;
  const std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
};

Kind kind(std::string_view name, fuse::Backend backend, const char* generator) {
  return {.name = name,
          .backend = backend,
          .numbered = true,
          .interprets = true,
          .generator = generator,
          .compiler_name = "none",
          .compiler_advice = "the loops are executed",
          .open =
              [backend, name](int ordinal) {
                const char* const sm = std::getenv("SINTER_LOOPS_SM");
                return std::make_shared<LoopDevice>(fmt::format("{}:{}", name, ordinal),
                                                    backend == fuse::Backend::opencl ? fuse::opencl_limits() : fuse::cuda_limits(sm ? std::atoi(sm) : 90));
              },
          .find_compiler = [] { return jit::CompilerPtr(); },
          .generate =
              [](const jit::LoopNest& nest, const fuse::Limits& limits) {
                return limits.backend == fuse::Backend::opencl ? jit::generate_opencl(nest, limits) : jit::generate_cuda(nest, limits.sm);
              },
          .same_bits = [](const jit::LoopNest&) { return false; },
          .strings = [](const jit::LoopNest&, const jit::Source& source, jit::Compiler*,
                        bool) { return std::vector<std::pair<std::string, std::string>>{{".loops", source.text}}; },
          .describe = [] { return std::vector<std::string>(); }};
}

[[maybe_unused]] const bool cuda = register_kind(kind("cuda", fuse::Backend::cuda, jit::cuda_generator()));
[[maybe_unused]] const bool opencl = register_kind(kind("opencl", fuse::Backend::opencl, jit::opencl_generator()));

}  // namespace
}  // namespace sinter::runtime
