#include "runtime/cuda/cuda_device.hpp"

#include <fmt/format.h>

#include <mutex>
#include <vector>

#include "base/once.hpp"
#include "runtime/cuda/cublaslt.hpp"
#include "runtime/cuda/digits.hpp"
#include "runtime/cuda/gpu.hpp"
#include "runtime/cuda/kernel.hpp"
#include "runtime/cuda/replay.hpp"
#include "runtime/cuda/staging.hpp"
#include "runtime/poison.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime {
namespace cuda {
namespace {

class CudaBuffer : public Buffer {
 public:
  CudaBuffer(std::shared_ptr<Gpu> gpu, std::size_t bytes) : gpu_(std::move(gpu)), bytes_(bytes), address_(gpu_->allocate(bytes)) {}
  ~CudaBuffer() override { gpu_->release(address_, bytes_); }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  void* data() override { return reinterpret_cast<void*>(address_); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<Gpu> gpu_;
  std::size_t bytes_;
  Address address_;
};

/// Returns the table's row of the architecture (or of the nearest one before it), corrected by the GPU's own properties.
fuse::Limits limits_of(const CudaInfo& info, int cluster) {
  fuse::Limits limits = fuse::cuda_limits(fuse::nearest_known_sm(info.sm));
  limits.target = fmt::format("sm_{}", info.sm);
  limits.sm = info.sm;
  if (info.sm_count > 0) limits.units = info.sm_count;
  if (info.shared_bytes > 0) limits.row_bytes = info.shared_bytes - fuse::kPartsBytes;
  limits.cluster = cluster;
  limits.products = !cublaslt_file().empty();
  // A kernel may have 32,764 bytes of parameters from CUDA 12.1 on, and 4,096 before (CUDA C++ Programming Guide).
  if (info.driver_version >= 12010 && info.sm >= 70) limits.parameter_bytes = 32764;
  return limits;
}

class CudaDeviceImpl : public CudaDevice, public Repeats {
 public:
  explicit CudaDeviceImpl(int ordinal) : gpu_(std::make_shared<Gpu>(ordinal)) {}

  std::string name() const override { return gpu_->name(); }
  std::string model() const override { return fmt::format("{}, sm_{}, {} multiprocessors", gpu_->info().name, gpu_->info().sm, gpu_->info().sm_count); }
  const CudaInfo& info() const override { return gpu_->info(); }
  MemoryUse memory() const override { return gpu_->memory(); }
  void reset_peak() override { gpu_->reset_peak(); }
  void trim() override { gpu_->trim(); }
  bool lost() const override { return gpu_->lost(); }
  fuse::Limits limits() const override { return cuda::limits_of(gpu_->info(), gpu_->max_cluster()); }
  bool reads_host() const override { return false; }
  std::shared_ptr<void> host_memory(const BufferPtr&) override { return nullptr; }
  BufferPtr allocate(std::size_t bytes) override {
    const auto buffer = std::make_shared<CudaBuffer>(gpu_, bytes);
    if (poisoning()) upload(*buffer, std::vector<unsigned char>(bytes, kPoison).data(), bytes);
    return buffer;
  }

  void upload(Buffer& to, const void* from, std::size_t bytes) override {
    if (bytes > 0) staging_.upload(address(to, bytes), from, bytes);
  }
  void download(void* to, Buffer& from, std::size_t bytes) override {
    if (bytes > 0) staging_.download(to, address(from, bytes), bytes);
  }
  void copy(Buffer& to, Buffer& from, std::size_t bytes) override {
    if (bytes == 0) return;
    gpu_->use();
    gpu_->check(gpu_->api().copy_on_device(address(to, bytes), address(from, bytes), bytes, gpu_->stream()),
                [&] { return fmt::format("copying {} within the device", counted(bytes, "byte")); });
  }
  void synchronize() override { gpu_->synchronize(); }

  KernelPtr load(const jit::LoopNest& nest, const jit::Binary& binary) override {
    if (binary.image.empty()) throw DeviceError(fmt::format("{}: kernel {} has no binary", name(), binary.entry));
    return std::make_shared<CudaKernel>(gpu_, nest, binary);
  }
  void launch(Kernel& kernel, const jit::LoopNest& nest, const Arguments& arguments) override { static_cast<CudaKernel&>(kernel).launch(nest, arguments); }
  ReplayPtr prepare(std::span<const RepeatedLaunch> launches) override { return std::make_shared<CudaReplay>(gpu_, launches); }
  void call(const fuse::LibraryCall& call, std::span<void* const> pointers, const EpilogueKernel* epilogue) override {
    if (!fuse::has_library(limits(), call.op, call.dtype) || epilogue)
      throw InternalError(fmt::format("{}: no library computes {} here", name(), fuse::to_string(call)));
    products().multiply(call, pointers);
  }
  std::size_t call_by(const fuse::LibraryCall& call, std::span<Kernel* const> kernels, std::span<void* const> pointers) override {
    return call_by_digits(*gpu_, call, kernels, pointers);
  }
  void expect(const fuse::LibraryCall& call) override {
    if (!fuse::by_digits(call.op) && fuse::has_library(limits(), call.op, call.dtype)) products().expect(call);
  }
  CudaFunctionInfo function_info(Kernel& kernel) const override { return static_cast<CudaKernel&>(kernel).info(); }

  const std::shared_ptr<Gpu>& gpu() const { return gpu_; }

 private:
  Products& products() {
    products_opened_([&] { products_ = std::make_unique<Products>(*gpu_); });
    return *products_;
  }
  static Address address(Buffer& buffer, std::size_t bytes) {
    if (bytes > buffer.bytes()) throw InternalError(fmt::format("a copy of {} on a buffer of {}", counted(bytes, "byte"), buffer.bytes()));
    return reinterpret_cast<Address>(buffer.data());
  }
  std::shared_ptr<Gpu> gpu_;
  Staging staging_{gpu_};
  Once products_opened_;  // called at the first product
  std::unique_ptr<Products> products_;
};

}  // namespace
}  // namespace cuda

std::vector<CudaInfo> list_cuda(std::string* why_none) {
  std::vector<CudaInfo> list;
  try {
    const cuda::Driver& api = cuda::driver();
    int count = 0;
    if (const cuda::Result r = api.device_count(&count)) throw DeviceError(api.describe(r));
    for (int ordinal = 0; ordinal < count; ++ordinal) list.push_back(cuda::device_info(api, ordinal));
    if (list.empty() && why_none) *why_none = fmt::format("the CUDA driver {} finds no GPU", api.path);
  } catch (const Error& error) {
    if (why_none) *why_none = error.what();
  }
  return list;
}

int cuda_driver_version() noexcept { return cuda::driver_version(); }

std::shared_ptr<CudaDevice> open_cuda(int ordinal) { return std::make_shared<cuda::CudaDeviceImpl>(ordinal); }

struct EventTimer::State {
  std::shared_ptr<cuda::Gpu> gpu;
  cuda::Event begin = nullptr, end = nullptr;

  explicit State(std::shared_ptr<cuda::Gpu> on) : gpu(std::move(on)) {
    gpu->use();
    for (cuda::Event* event : {&begin, &end}) gpu->check(gpu->api().event_create(event, 0), "making a timer");
  }
  ~State() {
    if (!gpu->enter()) return;
    for (cuda::Event event : {begin, end})
      if (event) gpu->api().event_destroy(event);
  }
};

EventTimer::EventTimer(CudaDevice& device) : state_(std::make_unique<State>(static_cast<cuda::CudaDeviceImpl&>(device).gpu())) {}
EventTimer::~EventTimer() = default;

void EventTimer::start() {
  cuda::Gpu& gpu = *state_->gpu;
  gpu.use();
  gpu.check(gpu.api().event_record(state_->begin, gpu.stream()), "starting a timer");
}

double EventTimer::stop() {
  cuda::Gpu& gpu = *state_->gpu;
  gpu.use();
  gpu.check(gpu.api().event_record(state_->end, gpu.stream()), "stopping a timer");
  gpu.check(gpu.api().event_synchronize(state_->end), "waiting for it");
  float ms = 0;
  gpu.check(gpu.api().event_elapsed(&ms, state_->begin, state_->end), "reading a timer");
  return ms;
}

}  // namespace sinter::runtime
