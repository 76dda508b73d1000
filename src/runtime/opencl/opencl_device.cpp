#include "runtime/opencl/opencl_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/guarded_memory.hpp"
#include "base/log.hpp"
#include "base/memory_limit.hpp"
#include "jit/cuda/geometry.hpp"
#include "runtime/opencl/devices.hpp"
#include "runtime/poison.hpp"
#include "sinter/counted.hpp"

namespace sinter::runtime::opencl {
namespace {

/// One device in this process: its queue, its pool of memory, and its errors. Buffers and kernels share its ownership.
class Gpu {
 public:
  explicit Gpu(int ordinal) : name_(fmt::format("opencl:{}", ordinal)), found_(find(ordinal)), context_(found_.context()) {
    Result r = result::success;
    queue_ = make_queue(context_, found_.id, &r);
    check(r, [] { return "making a queue"; });
    log().debug("{}: {}, driver {}", name_, found_.name, found_.driver);
  }
  ~Gpu() {
    driver().finish(queue_);
    release_idle();
    release_queue(queue_);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const std::string& name() const { return name_; }
  const Found& found() const { return found_; }
  Context context() const { return context_; }
  Queue queue() const { return queue_; }
  bool lost() const { return lost_; }
  MemoryUse memory() const { return {now_.load(), peak_.load()}; }
  void reset_peak() { peak_ = now_.load(); }

  /// Turns any result but success into a DeviceError. The message names the action that failed.
  template <class Doing> void check(Result r, const Doing& doing) {
    if (r == result::success) return;
    std::string message = fmt::format("{}: {}: {}", name_, doing(), describe(r));
    if (r == result::device_not_available || r == result::out_of_resources || r == result::failed_event) {
      lost_ = true;
      message += "; the device is lost to this process: continue on the CPU (device \"cpu\"), or restart the process";
    }
    if (r == result::out_of_memory || r == result::out_of_host_memory) throw MemoryError(message);
    throw DeviceError(message);
  }
  void finish(const char* doing = "waiting for it") {
    check(driver().finish(queue_), [&] { return doing; });
  }

  /// Freed memory is used for the next request of its size immediately, because the queue runs in order, so that earlier users are done before later ones
  /// begin.
  void* allocate(std::size_t bytes) {
    if (driver().ended) throw DeviceError(name_ + ": the process is ending, and the driver may be gone; evaluate before main() returns");
    claim_memory(bytes, name_.c_str());
    void* memory = nullptr;
    if (guarded()) {
      memory = allocate_guarded(bytes, guarding());
    } else {
      const std::scoped_lock lock(mutex_);
      if (auto& list = idle_[rounded(bytes)]; !list.empty()) {
        memory = list.back();
        list.pop_back();
        idle_bytes_ -= rounded(bytes);
      } else if (memory = driver().allocate(context_, kReadWrite, rounded(bytes), 0); !memory) {
        driver().finish(queue_);
        release_idle();
        memory = driver().allocate(context_, kReadWrite, rounded(bytes), 0);
      }
    }
    if (!memory) {
      release_memory(bytes);
      throw MemoryError(fmt::format("{}: no memory for {} ({} of {} are in use); free tensors that are no longer needed, or compute in smaller pieces", name_,
                                    counted(bytes, "byte"), now_.load(), found_.memory));
    }
    const std::size_t now = now_ += bytes;
    for (std::size_t peak = peak_; peak < now && !peak_.compare_exchange_weak(peak, now);) {
    }
    return memory;
  }
  void release(void* memory, std::size_t bytes) noexcept {
    now_ -= bytes;
    release_memory(bytes);
    if (guarded()) {
      driver().finish(queue_);
      return free_guarded(memory, bytes, guarding());
    }
    const std::scoped_lock lock(mutex_);
    idle_[rounded(bytes)].push_back(memory);
    idle_bytes_ += rounded(bytes);
    if (idle_bytes_ <= found_.memory / 4) return;
    driver().finish(queue_);
    release_idle();
  }
  void trim() {
    finish("giving pooled memory back");
    const std::scoped_lock lock(mutex_);
    release_idle();
  }

 private:
  static const Found& find(int ordinal) {
    const auto& all = devices();
    if (all.empty()) throw DeviceError(fmt::format("the OpenCL loader {} finds no device: install a driver, such as pocl-opencl-icd for CPUs", driver().path));
    if (ordinal < 0 || ordinal >= static_cast<int>(all.size()))
      throw DeviceError(fmt::format("opencl:{} does not exist: there {} opencl:0{}", ordinal, all.size() == 1 ? "is only" : "are",
                                    all.size() == 1 ? "" : fmt::format(" to opencl:{}", all.size() - 1)));
    const Found& found = all[static_cast<std::size_t>(ordinal)];
    if (!found.unusable.empty()) throw DeviceError(fmt::format("opencl:{}, {}, cannot be used: {}", ordinal, found.name, found.unusable));
    return found;
  }
  /// On a CPU the kernels use host memory, so tests can guard it.
  bool guarded() const { return found_.cpu && guarding() != Guard::none; }
  /// Each power of two has four sizes, so at most a quarter of a block is unused.
  static std::size_t rounded(std::size_t bytes) {
    const std::size_t step = std::max<std::size_t>(std::bit_floor(std::max<std::size_t>(bytes, 1)) / 4, 256);
    return std::max<std::size_t>((bytes + step - 1) / step, 1) * step;
  }
  void release_idle() noexcept {
    for (auto& [bytes, list] : idle_) {
      for (void* memory : list) driver().free(context_, memory);
      list.clear();
    }
    idle_bytes_ = 0;
  }

  const std::string name_;
  const Found& found_;
  const Context context_;
  Queue queue_ = nullptr;
  std::atomic<bool> lost_{false};
  std::atomic<std::size_t> now_{0}, peak_{0};
  std::mutex mutex_;  // guards the members below
  std::map<std::size_t, std::vector<void*>> idle_;
  std::size_t idle_bytes_ = 0;
};
using GpuPtr = std::shared_ptr<Gpu>;

class ClBuffer : public Buffer {
 public:
  ClBuffer(GpuPtr gpu, std::size_t bytes) : gpu_(std::move(gpu)), bytes_(bytes), memory_(gpu_->allocate(bytes)) {}
  ~ClBuffer() override { gpu_->release(memory_, bytes_); }
  ClBuffer(const ClBuffer&) = delete;
  ClBuffer& operator=(const ClBuffer&) = delete;
  void* data() override { return memory_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  GpuPtr gpu_;
  std::size_t bytes_;
  void* memory_;
};

class ClKernel : public Kernel {
 public:
  ClKernel(GpuPtr gpu, const jit::LoopNest& nest, const jit::Binary& binary)
      : gpu_(std::move(gpu)), name_(binary.entry), used_ints_(jit::cuda::used_ints(nest)) {
    const Driver& api = driver();
    const DeviceId id = gpu_->found().id;
    const std::size_t size = binary.image.size();
    const unsigned char* image = binary.image.data();
    Result status = result::success, r = result::success;
    program_ = api.program_of_binary(gpu_->context(), 1, &id, &size, &image, &status, &r);
    if (program_ && status == result::success && r == result::success) r = api.build(program_, 1, &id, "", nullptr, nullptr);
    if (r == result::success && status == result::success) kernel_ = api.create_kernel(program_, name_.c_str(), &r);
    if (kernel_) return;
    if (program_) api.release_program(program_);
    throw CompileError(fmt::format("{}: kernel {} cannot be loaded: {}", gpu_->name(), name_, describe(status != result::success ? status : r)));
  }
  ~ClKernel() override {
    driver().release_kernel(kernel_);
    driver().release_program(program_);
  }
  ClKernel(const ClKernel&) = delete;
  ClKernel& operator=(const ClKernel&) = delete;

  void launch(const jit::LoopNest& nest, const Arguments& arguments) {
    // A CPU runs the items of a work-group one after another. Each computes one point or row: neighbours that loop over distant points would share no cache
    // line.
    const int units = gpu_->found().cpu ? std::numeric_limits<int>::max() : gpu_->found().limits.units;
    const jit::cuda::Geometry g = jit::cuda::geometry(nest, arguments.ints, units);
    if (g.grid == 0) return;
    if (g.shared > gpu_->found().local_bytes)
      throw DeviceError(fmt::format("{}: kernel {} needs {} bytes of local memory for a row; a work-group has at most {}", gpu_->name(), name_, g.shared,
                                    gpu_->found().local_bytes));
    const Driver& api = driver();
    const auto doing = [&] { return fmt::format("launching kernel {} ({} work-groups of {}x{} items)", name_, g.grid, g.block_x, g.block_y); };
    const std::scoped_lock lock(mutex_);
    unsigned next = 0;
    for (void* pointer : arguments.pointers) gpu_->check(api.pointer_argument(kernel_, next++, pointer), doing);
    for (const int used : used_ints_) gpu_->check(api.argument(kernel_, next++, nest.schedule.wide_index ? 8 : 4, &arguments.ints[used]), doing);
    for (std::size_t i = 0; i < nest.scalars.size(); ++i)
      gpu_->check(api.argument(kernel_, next++, itemsize(nest.scalars[i].dtype), &arguments.scalars[i]), doing);
    if (!nest.persistent.empty() && nest.schedule.steps().count == 0)
      gpu_->check(api.argument(kernel_, next++, std::max<std::size_t>(g.shared, 16), nullptr), doing);
    const std::size_t all[] = {std::size_t{g.grid} * g.block_x, g.block_y}, group[] = {g.block_x, g.block_y};
    gpu_->check(api.launch(gpu_->queue(), kernel_, 2, nullptr, all, group, 0, nullptr, nullptr), doing);
    gpu_->check(api.flush(gpu_->queue()), doing);
    // pocl compiles a kernel in a thread of its own when it is launched first. If the process ended meanwhile, the compiler's static objects would be gone.
    if (gpu_->found().cpu && !std::exchange(launched_, true)) gpu_->finish("running a kernel for the first time");
  }

 private:
  GpuPtr gpu_;
  const std::string name_;
  const std::vector<int> used_ints_;
  Program program_ = nullptr;
  KernelHandle kernel_ = nullptr;
  bool launched_ = false;
  std::mutex mutex_;  // held from the first argument to the launch, which reads them
};

class ClDevice : public Device {
 public:
  explicit ClDevice(int ordinal) : gpu_(std::make_shared<Gpu>(ordinal)) {}

  std::string name() const override { return gpu_->name(); }
  std::string model() const override {
    return fmt::format("{}, {} compute units, driver {}", gpu_->found().name, gpu_->found().limits.units, gpu_->found().driver);
  }
  fuse::Limits limits() const override { return gpu_->found().limits; }
  BufferPtr allocate(std::size_t bytes) override {
    const auto buffer = std::make_shared<ClBuffer>(gpu_, bytes);
    if (poisoning()) upload(*buffer, std::vector<unsigned char>(bytes, kPoison).data(), bytes);
    return buffer;
  }
  void upload(Buffer& to, const void* from, std::size_t bytes) override { move(to.data(), from, bytes, true, "to it"); }
  void download(void* to, Buffer& from, std::size_t bytes) override { move(to, from.data(), bytes, true, "from it"); }
  void copy(Buffer& to, Buffer& from, std::size_t bytes) override { move(to.data(), from.data(), bytes, false, "within it"); }
  bool reads_host() const override { return false; }
  std::shared_ptr<void> host_memory(const BufferPtr&) override { return nullptr; }
  KernelPtr load(const jit::LoopNest& nest, const jit::Binary& binary) override {
    if (binary.image.empty()) throw DeviceError(fmt::format("{}: kernel {} has no binary", name(), binary.entry));
    return std::make_shared<ClKernel>(gpu_, nest, binary);
  }
  void launch(Kernel& kernel, const jit::LoopNest& nest, const Arguments& arguments) override { static_cast<ClKernel&>(kernel).launch(nest, arguments); }
  void call(const fuse::LibraryCall& call, std::span<void* const>, const EpilogueKernel*) override {
    throw InternalError(fmt::format("{}: no library computes {} here", name(), fuse::to_string(call)));
  }
  void synchronize() override { gpu_->finish(); }
  MemoryUse memory() const override { return gpu_->memory(); }
  void reset_peak() override { gpu_->reset_peak(); }
  bool lost() const override { return gpu_->lost(); }
  void trim() override { gpu_->trim(); }

 private:
  void move(void* to, const void* from, std::size_t bytes, bool wait, const char* where) {
    if (bytes == 0) return;
    gpu_->check(driver().copy(gpu_->queue(), wait, to, from, bytes, 0, nullptr, nullptr),
                [&] { return fmt::format("copying {} {}", counted(bytes, "byte"), where); });
  }
  GpuPtr gpu_;
};

}  // namespace

DevicePtr open(int ordinal) { return std::make_shared<ClDevice>(ordinal); }

}  // namespace sinter::runtime::opencl
