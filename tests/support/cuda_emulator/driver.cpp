// A stand-in for libcuda: one device, whose kernels run on the host when a thread waits for them. Errors appear as on a GPU: the calls that wait for a launch
// report its error, and all later calls report it again.
//   SINTER_EMULATOR_GPU       T4, A100, L4, H100 (unless set), B200 and the others of gpus.hpp, an architecture (sm_80), or "none" for no GPU
//   SINTER_EMULATOR_DRIVER    the CUDA version that the driver serves, 13000 unless set
//   SINTER_EMULATOR_LOSE      n: the n-th kernel that runs loses the device
//   SINTER_EMULATOR_MEMORY    bytes of device memory, 2 GiB unless set
//   SINTER_EMULATOR_DEVICES   the number of devices, up to 8, each with a context; they share memory and streams, but a kernel runs only in its own context
//   SINTER_EMULATOR_POOLS     0: no stream-ordered memory
//   SINTER_EMULATOR_GRAPHS    0: no graphs
//   SINTER_EMULATOR_CLUSTERS  0: no clusters
//   SINTER_EMULATOR_GPC       the number of multiprocessors that are near enough to each other for a cluster, 16 unless set
//   SINTER_EMULATOR_CHECKS    off: accesses of memory are not checked (accesses far outside still hit inaccessible pages)
//   SINTER_EMULATOR_CACHE     a folder that stores compiled kernels
//   SINTER_EMULATOR_CXX       the host compiler
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "gpus.hpp"
#include "host_module.hpp"
#include "launch.hpp"
#include "memory.hpp"
#include "streams.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

struct CUctx_st {};

namespace {

using namespace cuda_emulator;

// CUresult and the attributes' numbers, from the CUDA Driver API reference.
enum Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kNotFound = 500,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kInvalidClusterSize = 912,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
  kNotReady = 600,
  kNotSupported = 801,
};
struct ErrorText {
  int result;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kInvalidClusterSize, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

constexpr int kSharedWithoutAsking = 48 << 10;
constexpr int kRegisters = 65536, kMaxThreads = 1024;

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

struct Device {
  const GpuModel& model;
  Memory memory;
  Streams streams{seed()};
  int sticky = kSuccess;  // the error of a launch, which every later call repeats
  int contexts = 0;
  std::int64_t until_lost = std::atoll(setting("SINTER_EMULATOR_LOSE", "0").c_str());
  Device(const GpuModel& m, std::size_t bytes) : model(m), memory(bytes) {}
};

std::recursive_mutex mutex;
bool initialised = false;
// Nothing is destroyed at exit, because destructors of static objects may still compute.
Device* device = nullptr;  // null: a machine with no GPU

thread_local CUctx_st* current = nullptr;  // null or a context of a device

int driver_version() { return std::atoi(setting("SINTER_EMULATOR_DRIVER", "13000").c_str()); }

int device_count() { return device ? std::atoi(setting("SINTER_EMULATOR_DEVICES", "1").c_str()) : 0; }
bool is_gpu(int ordinal) { return ordinal >= 0 && ordinal < device_count(); }

/// Returns the maximum number of threads of a block of the kernel.
int max_threads(const Container& c) {
  const int by_registers = c.registers > 0 ? std::min(kMaxThreads, kRegisters / c.registers / 32 * 32) : kMaxThreads;
  return c.launch_bounds > 0 ? std::min(by_registers, c.launch_bounds) : by_registers;
}

/// Returns the state that every call on a context needs.
int ready() {
  if (!initialised) return kNotInitialized;
  if (!current) return kInvalidContext;
  return device->sticky;
}

}  // namespace

#define LOCKED const std::scoped_lock lock(mutex)
#define NEED_CONTEXT \
  LOCKED;            \
  if (int r = ready()) return r

struct CUstream_st : Stream {};
struct CUmemPoolHandle_st {
  std::uint64_t threshold = 0;
};
struct CUevent_st {
  EventPtr event = std::make_shared<Event>();
};
struct CUfunc_st {
  std::shared_ptr<HostModule> module;
  int dynamic_shared;  // the maximum that a launch may request
  CUctx_st* context;   // the module's memory
};
struct CUmod_st {
  std::shared_ptr<HostModule> host;
  CUfunc_st function;
};

namespace {
constexpr int kMaxDevices = 8;
CUctx_st the_contexts[kMaxDevices];
CUmemPoolHandle_st the_default_pool;
}  // namespace

EXPORT int cuInit(unsigned) {
  LOCKED;
  if (initialised) return device ? kSuccess : kNoDevice;
  initialised = true;
  const std::string wanted = setting("SINTER_EMULATOR_GPU", "H100");
  for (const GpuModel& model : kGpuModels)
    if (!device && (model.name == wanted || "sm_" + std::to_string(model.sm) == wanted))
      device = new Device(model, std::strtoull(setting("SINTER_EMULATOR_MEMORY", "2147483648").c_str(), nullptr, 10));
  if (!device && wanted != "none") std::fprintf(stderr, "cuda emulator: no GPU %s\n", wanted.c_str());
  return device ? kSuccess : kNoDevice;
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = driver_version();
  return kSuccess;
}
EXPORT int cuGetErrorName(int result, const char** name) {
  for (const ErrorText& e : kErrors)
    if (e.result == result) return *name = e.name, kSuccess;
  return *name = nullptr, kInvalidValue;
}
EXPORT int cuGetErrorString(int result, const char** text) {
  for (const ErrorText& e : kErrors)
    if (e.result == result) return *text = e.text, kSuccess;
  return *text = nullptr, kInvalidValue;
}

EXPORT int cuDeviceGetCount(int* count) {
  LOCKED;
  *count = device_count();
  return initialised ? kSuccess : kNotInitialized;
}
EXPORT int cuDeviceGet(int* ordinal, int number) {
  LOCKED;
  *ordinal = number;
  return is_gpu(number) ? kSuccess : kInvalidDevice;
}
EXPORT int cuDeviceGetName(char* name, int size, int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  std::snprintf(name, size, "emulated %s", device->model.name.data());
  return kSuccess;
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  *bytes = device->memory.capacity();
  return kSuccess;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  const GpuModel& gpu = device->model;
  switch (attribute) {
    case 1: *value = kMaxThreads; break;
    case 8: *value = kSharedWithoutAsking; break;
    case 10: *value = 32; break;
    case 12: *value = kRegisters; break;
    case 16: *value = gpu.multiprocessors; break;
    case 39: *value = gpu.threads_sm; break;
    case 81: *value = gpu.shared_sm; break;
    case 82: *value = kRegisters; break;
    case 75: *value = gpu.sm / 10; break;
    case 76: *value = gpu.sm % 10; break;
    case 97: *value = gpu.shared_opt_in; break;
    case 120: *value = gpu.sm >= 90 && setting("SINTER_EMULATOR_CLUSTERS", "1") == "1"; break;
    case 115: *value = setting("SINTER_EMULATOR_POOLS", "1") == "1"; break;
    default: return kInvalidValue;
  }
  return kSuccess;
}

EXPORT int cuDevicePrimaryCtxRetain(CUctx_st** context, int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  if (device->sticky) return device->sticky;
  ++device->contexts;
  *context = &the_contexts[ordinal % kMaxDevices];
  return kSuccess;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  if (device->contexts == 0) return kInvalidContext;
  --device->contexts;
  return kSuccess;
}
EXPORT int cuCtxSetCurrent(CUctx_st* context) {
  LOCKED;
  if (context && (!device || device->contexts == 0)) return kInvalidContext;
  current = context;
  return kSuccess;
}

EXPORT int cuStreamCreate(CUstream_st** stream, unsigned) {
  NEED_CONTEXT;
  *stream = static_cast<CUstream_st*>(device->streams.open());
  return kSuccess;
}
EXPORT int cuStreamDestroy_v2(CUstream_st* stream) {
  LOCKED;
  device->streams.close(stream);
  return kSuccess;
}
EXPORT int cuStreamSynchronize(CUstream_st* stream) {
  NEED_CONTEXT;
  device->streams.drain(*stream);
  return device->sticky;
}
EXPORT int cuStreamWaitEvent(CUstream_st* stream, CUevent_st* event, unsigned) {
  NEED_CONTEXT;
  device->streams.wait(*stream, event->event);
  return kSuccess;
}
EXPORT int cuCtxSynchronize() {
  NEED_CONTEXT;
  device->streams.drain();
  return device->sticky;
}

EXPORT int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  NEED_CONTEXT;
  if (bytes == 0) return kInvalidValue;
  *address = device->memory.allocate(bytes);
  return *address ? kSuccess : kOutOfMemory;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  NEED_CONTEXT;
  device->streams.drain();  // drain() waits for all work that may use the memory
  return device->memory.release(address) ? kSuccess : kInvalidValue;
}
EXPORT int cuDeviceGetDefaultMemPool(CUmemPoolHandle_st** pool, int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  *pool = &the_default_pool;
  return kSuccess;
}
EXPORT int cuMemPoolCreate(CUmemPoolHandle_st** pool, const void*) {
  NEED_CONTEXT;
  *pool = new CUmemPoolHandle_st;
  return kSuccess;
}
EXPORT int cuMemPoolDestroy(CUmemPoolHandle_st* pool) {
  LOCKED;
  if (pool == &the_default_pool) return kInvalidValue;
  delete pool;
  return kSuccess;
}
EXPORT int cuMemPoolSetAttribute(CUmemPoolHandle_st* pool, int attribute, void* value) {
  if (attribute != 4) return kInvalidValue;
  std::memcpy(&pool->threshold, value, sizeof(pool->threshold));
  return kSuccess;
}
EXPORT int cuMemPoolGetAttribute(CUmemPoolHandle_st* pool, int attribute, void* value) {
  if (attribute != 4) return kInvalidValue;
  std::memcpy(value, &pool->threshold, sizeof(pool->threshold));
  return kSuccess;
}
EXPORT int cuMemPoolTrimTo(CUmemPoolHandle_st*, std::size_t) { return kSuccess; }
EXPORT int cuMemAllocFromPoolAsync(unsigned long long* address, std::size_t bytes, CUmemPoolHandle_st*, CUstream_st* stream) {
  NEED_CONTEXT;
  if (setting("SINTER_EMULATOR_POOLS", "1") != "1") return kNotSupported;
  if (bytes == 0) return kInvalidValue;
  *address = device->memory.allocate(bytes);
  if (!*address) {  // memory that the stream frees before this becomes available
    device->streams.drain(*stream);
    *address = device->memory.allocate(bytes);
  }
  return *address ? kSuccess : kOutOfMemory;
}
EXPORT int cuMemFreeAsync(unsigned long long address, CUstream_st* stream) {
  NEED_CONTEXT;
  if (!device->memory.contains(address, 1)) return kInvalidValue;
  device->streams.put(*stream, [address] { device->memory.release(address); });
  return kSuccess;
}

namespace {
std::map<const char*, std::size_t> pinned;
bool is_pinned(const char* begin, std::size_t bytes) {
  const auto after = pinned.upper_bound(begin);
  if (after == pinned.begin()) return false;
  const auto& [start, size] = *std::prev(after);
  return begin + bytes <= start + size;
}
}  // namespace
EXPORT int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  NEED_CONTEXT;
  if (setting("SINTER_EMULATOR_PINNED", "1") == "0") return kNotSupported;
  *memory = std::malloc(bytes);
  if (!*memory) return kOutOfMemory;
  std::memset(*memory, 0xa5, bytes);
  pinned[static_cast<const char*>(*memory)] = bytes;
  return kSuccess;
}
EXPORT int cuMemFreeHost(void* memory) {
  NEED_CONTEXT;
  device->streams.drain();
  if (pinned.erase(static_cast<const char*>(memory)) == 0) return kInvalidValue;
  std::free(memory);
  return kSuccess;
}
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, CUstream_st* stream) {
  NEED_CONTEXT;
  if (!device->memory.contains(to, bytes)) return kInvalidValue;
  const auto* begin = static_cast<const char*>(from);
  if (is_pinned(begin, bytes)) {  // pinned memory is read when the stream reaches the copy
    device->streams.put(*stream, [=] {
      const Memory::Open open(device->memory, to);
      std::memcpy(reinterpret_cast<void*>(to), begin, bytes);
      device->memory.fill(to, bytes);
    });
    return kSuccess;
  }
  // If the memory is not pinned, the driver copies it before the call returns.
  device->streams.put(*stream, [to, staged = std::vector<char>(begin, begin + bytes)] {
    const Memory::Open open(device->memory, to);
    std::memcpy(reinterpret_cast<void*>(to), staged.data(), staged.size());
    device->memory.fill(to, staged.size());
  });
  return kSuccess;
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, CUstream_st* stream) {
  NEED_CONTEXT;
  if (!device->memory.contains(from, bytes)) return kInvalidValue;
  device->streams.put(*stream, [=] {
    const Memory::Open open(device->memory, from);
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  });
  return kSuccess;
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, CUstream_st* stream) {
  NEED_CONTEXT;
  if (!device->memory.contains(to, bytes) || !device->memory.contains(from, bytes)) return kInvalidValue;
  device->streams.put(*stream, [=] {
    const Memory::Open open(device->memory);
    std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    device->memory.fill(to, bytes);
  });
  return kSuccess;
}

// Functions for the stand-ins of other libraries. They ask whether bytes are on the device, and enqueue work that writes bytes.
EXPORT bool cuda_emulator_contains(unsigned long long address, std::size_t bytes) {
  LOCKED;
  return device && device->memory.contains(address, bytes);
}
EXPORT void cuda_emulator_run(CUstream_st* stream, const std::function<void()>& work, unsigned long long written, std::size_t bytes) {
  LOCKED;
  device->streams.put(*stream, [=] {
    const Memory::Open open(device->memory);
    work();
    device->memory.fill(written, bytes);
  });
}

EXPORT int cuModuleLoadData(CUmod_st** module, const void* image) {
  NEED_CONTEXT;
  const auto container = unpack(image);
  if (!container) return kInvalidImage;
  const int sm = device->model.sm;
  if (container->is_ptx) {  // the driver compiles PTX, unless its language version or its target is too new
    if (container->compiler_version > driver_version()) return kUnsupportedPtxVersion;
    if (container->sm > sm) return kInvalidPtx;
  } else {
    // A cubin runs on GPUs of its own major version and the same or a higher minor version, with drivers of the compiler's major version or later.
    if (container->sm / 10 != sm / 10 || container->sm > sm) return kNoBinaryForGpu;
    if (container->compiler_version / 1000 > driver_version() / 1000) return kInvalidImage;
  }
  std::string why_not;
  std::shared_ptr<HostModule> host = HostModule::load(*container, hooks(), &why_not);
  if (!host) {
    std::fprintf(stderr, "cuda emulator: %s\n", why_not.c_str());
    return kInvalidImage;
  }
  *module = new CUmod_st{host, {host, kSharedWithoutAsking - std::max(container->shared_bytes, 0), current}};
  return kSuccess;
}
EXPORT int cuModuleUnload(CUmod_st* module) {
  LOCKED;
  delete module;
  return kSuccess;
}
EXPORT int cuModuleGetFunction(CUfunc_st** function, CUmod_st* module, const char* name) {
  NEED_CONTEXT;
  if (module->host->container().entry != name) return kNotFound;
  *function = &module->function;
  return kSuccess;
}

EXPORT int cuFuncGetAttribute(int* value, int attribute, CUfunc_st* function) {
  NEED_CONTEXT;
  const Container& c = function->module->container();
  switch (attribute) {
    case 0: *value = max_threads(c); break;
    case 1: *value = std::max(c.shared_bytes, 0); break;
    case 3: *value = std::max(c.stack_bytes, 0); break;
    case 4: *value = std::max(c.registers, 0); break;
    case 8: *value = function->dynamic_shared; break;
    default: return kInvalidValue;
  }
  return kSuccess;
}
EXPORT int cuFuncSetAttribute(CUfunc_st* function, int attribute, int value) {
  NEED_CONTEXT;
  const int fixed = std::max(function->module->container().shared_bytes, 0);
  if (attribute != 8 || value < 0 || value + fixed > device->model.shared_opt_in) return kInvalidValue;
  function->dynamic_shared = value;
  return kSuccess;
}

namespace {

unsigned cluster_of(const CUfunc_st& function) { return static_cast<unsigned>(std::max(function.module->container().cluster, 1)); }

/// Returns how many clusters can run at once. The blocks of a cluster run on neighbouring multiprocessors, each of which has room for some blocks.
int active_clusters(const CUfunc_st& function, const LaunchShape& shape) {
  const Container& c = function.module->container();
  const GpuModel& gpu = device->model;
  const int threads = static_cast<int>(shape.block.x * shape.block.y * shape.block.z), warps = (threads + 31) / 32;
  const int registers = std::max((std::max(c.registers, 0) * 32 + 255) / 256 * 256 * warps, 1),
            shared = static_cast<int>(shape.dynamic_shared) + std::max(c.shared_bytes, 0) + 1024;
  const int resident = std::min({gpu.threads_sm / std::max(threads, 1), kRegisters / registers, gpu.shared_sm / shared});
  const int near = std::atoi(setting("SINTER_EMULATOR_GPC", "16").c_str());
  return gpu.multiprocessors / near * (near * resident / static_cast<int>(std::max(shape.cluster, 1u)));
}

/// Returns why a GPU would refuse the launch, with more detail than a GPU gives.
int refused(const CUfunc_st& function, const LaunchShape& shape) {
  const Container& c = function.module->container();
  const auto why = [&](const std::string& text) {
    std::fprintf(stderr, "cuda emulator: kernel %s: the launch is refused: %s\n", c.entry.c_str(), text.c_str());
  };
  const std::uint64_t threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  const Index3 &grid = shape.grid, &block = shape.block;
  if (threads == 0 || threads > kMaxThreads || block.z > 64 || grid.x == 0 || grid.x > 0x7fffffffu || grid.y == 0 || grid.y > 65535 || grid.z == 0 ||
      grid.z > 65535)
    return why(to_string("a grid of", grid) + " blocks of" + to_string("", block) + " threads"), kInvalidValue;
  if (c.launch_bounds > 0 && threads > static_cast<std::uint64_t>(c.launch_bounds))
    return why(std::to_string(threads) + " threads a block, its launch bounds promise at most " + std::to_string(c.launch_bounds)), kInvalidValue;
  const int fixed = std::max(c.shared_bytes, 0);
  if (shape.dynamic_shared > static_cast<std::size_t>(function.dynamic_shared))
    return why(std::to_string(shape.dynamic_shared) + " bytes of dynamic shared memory beside " + std::to_string(fixed) + " static ones, the kernel may have " +
               std::to_string(function.dynamic_shared) + " unless its attribute is set"),
           kInvalidValue;
  const unsigned cluster = shape.cluster;
  if (cluster > 1 && (device->model.sm < 90 || cluster > 8 || grid.x % cluster != 0))
    return why("clusters of " + std::to_string(cluster) + " blocks, of" + to_string("", grid) + ", on sm_" + std::to_string(device->model.sm)),
           kInvalidClusterSize;
  if (cluster > 1 && active_clusters(function, shape) == 0)
    return why("there is no room for a cluster of " + std::to_string(cluster) + " blocks"), kInvalidClusterSize;
  // Registers are allocated to warps in units of 256.
  const std::uint64_t warp_registers = (std::max(c.registers, 0) * 32 + 255) / 256 * 256, warps = (threads + 31) / 32;
  if (warp_registers * warps > kRegisters)
    return why(std::to_string(c.registers) + " registers in each of " + std::to_string(threads) + " threads"), kOutOfResources;
  return kSuccess;
}

/// Returns the bytes of each parameter.
using Cells = std::vector<std::vector<std::uint64_t>>;

void run(const std::shared_ptr<HostModule>& module, const LaunchShape& shape, Cells cells) {
  if (device->sticky) return;
  std::vector<void*> parameters;
  for (auto& cell : cells) parameters.push_back(cell.data());
  std::string message;
  Outcome outcome = run_launch(*module, shape, parameters.data(), device->memory, &message);
  if (device->until_lost > 0 && --device->until_lost == 0) outcome = Outcome::illegal_address, message = "it loses the device, as it was asked to";
  if (outcome == Outcome::done) return;
  std::fprintf(stderr, "cuda emulator: kernel %s: %s\n", module->container().entry.c_str(), message.c_str());
  device->sticky = outcome == Outcome::illegal_address ? kIllegalAddress : outcome == Outcome::misaligned_address ? kMisalignedAddress : kLaunchFailed;
}

}  // namespace

namespace {

// Reads the parameters now, although the kernel runs later.
Cells read_parameters(const CUfunc_st& function, void** parameters) {
  const std::vector<unsigned>& sizes = function.module->parameter_sizes();
  Cells cells(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    cells[i].resize((sizes[i] + 7) / 8);
    std::memcpy(cells[i].data(), parameters[i], sizes[i]);
  }
  return cells;
}

}  // namespace

EXPORT int cuLaunchKernel(CUfunc_st* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned dynamic_shared, CUstream_st* stream, void** parameters, void** extra) {
  NEED_CONTEXT;
  if (extra) return kInvalidValue;
  if (function->context != current) return kInvalidContext;
  const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared, cluster_of(*function)};
  if (const int r = refused(*function, shape)) return r;
  device->streams.put(*stream, [module = function->module, shape, cells = read_parameters(*function, parameters)] { run(module, shape, cells); });
  if (setting("CUDA_LAUNCH_BLOCKING", "0") == "1") device->streams.drain(*stream);
  return device->sticky;
}

// CUlaunchConfig. Its attributes could describe clusters, but the kernel's text already does.
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared;
  CUstream_st* stream;
  void* attributes;
  unsigned attribute_count;
};
EXPORT int cuOccupancyMaxActiveClusters(int* count, CUfunc_st* function, const LaunchConfig* config) {
  NEED_CONTEXT;
  const unsigned cluster = cluster_of(*function);
  if (config->attribute_count != 0 || cluster < 2 || config->grid_x % cluster != 0) return kInvalidValue;
  if (config->dynamic_shared > static_cast<unsigned>(function->dynamic_shared)) return kInvalidValue;
  *count = active_clusters(
      *function, {{config->grid_x, config->grid_y, config->grid_z}, {config->block_x, config->block_y, config->block_z}, config->dynamic_shared, cluster});
  return kSuccess;
}

// Graphs of kernels. An instance has its own parameters, which are read when they are set. Its kernels run in any order that the graph allows.
struct CUgraph_st;
struct CUgraphNode_st {
  CUgraph_st* graph;
  std::size_t number;
};
namespace {
struct GraphKernel {
  std::shared_ptr<HostModule> module;
  LaunchShape shape;
  Cells cells;
  std::vector<std::size_t> after;
};
struct KernelNodeParams {  // CUDA_KERNEL_NODE_PARAMS_v1
  CUfunc_st* function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared;
  void **parameters, **extra;
};
}  // namespace
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  std::vector<GraphKernel> kernels;
};
struct CUgraphExec_st {
  CUgraph_st* graph;
  std::vector<GraphKernel> kernels;
};

namespace {

std::mt19937_64 graph_order{seed() + 1};

int set_kernel(GraphKernel& kernel, const KernelNodeParams& from) {
  if (!from.function || from.extra) return kInvalidValue;
  const LaunchShape shape{{from.grid_x, from.grid_y, from.grid_z}, {from.block_x, from.block_y, from.block_z}, from.dynamic_shared, cluster_of(*from.function)};
  if (const int r = refused(*from.function, shape)) return r;
  kernel.module = from.function->module;
  kernel.shape = shape;
  kernel.cells = read_parameters(*from.function, from.parameters);
  return kSuccess;
}

}  // namespace

EXPORT int cuGraphCreate(CUgraph_st** graph, unsigned flags) {
  NEED_CONTEXT;
  if (setting("SINTER_EMULATOR_GRAPHS", "1") != "1") return kNotSupported;
  if (flags != 0) return kInvalidValue;
  *graph = new CUgraph_st;
  return kSuccess;
}
EXPORT int cuGraphDestroy(CUgraph_st* graph) {
  LOCKED;
  delete graph;
  return kSuccess;
}
EXPORT int cuGraphAddKernelNode(CUgraphNode_st** node, CUgraph_st* graph, CUgraphNode_st* const* after, std::size_t count, const KernelNodeParams* parameters) {
  NEED_CONTEXT;
  GraphKernel kernel;
  for (std::size_t k = 0; k < count; ++k) {
    if (after[k]->graph != graph) return kInvalidValue;
    kernel.after.push_back(after[k]->number);
  }
  if (const int r = set_kernel(kernel, *parameters)) return r;
  *node = graph->nodes.emplace_back(new CUgraphNode_st{graph, graph->kernels.size()}).get();
  graph->kernels.push_back(std::move(kernel));
  return kSuccess;
}
EXPORT int cuGraphInstantiateWithFlags(CUgraphExec_st** exec, CUgraph_st* graph, unsigned long long flags) {
  NEED_CONTEXT;
  if (flags != 0) return kInvalidValue;
  *exec = new CUgraphExec_st{graph, graph->kernels};
  return kSuccess;
}
EXPORT int cuGraphExecKernelNodeSetParams(CUgraphExec_st* exec, CUgraphNode_st* node, const KernelNodeParams* parameters) {
  NEED_CONTEXT;
  if (node->graph != exec->graph) return kInvalidValue;
  return set_kernel(exec->kernels[node->number], *parameters);
}
EXPORT int cuGraphLaunch(CUgraphExec_st* exec, CUstream_st* stream) {
  NEED_CONTEXT;
  const std::vector<GraphKernel>& kernels = exec->kernels;
  std::vector<bool> put(kernels.size());
  for (std::size_t count = 0; count < kernels.size(); ++count) {
    std::vector<std::size_t> ready;
    for (std::size_t k = 0; k < kernels.size(); ++k)
      if (!put[k] && std::all_of(kernels[k].after.begin(), kernels[k].after.end(), [&](std::size_t other) { return put[other]; })) ready.push_back(k);
    const std::size_t chosen = ready[graph_order() % ready.size()];
    put[chosen] = true;
    device->streams.put(*stream, [kernel = kernels[chosen]] { run(kernel.module, kernel.shape, kernel.cells); });
  }
  if (setting("CUDA_LAUNCH_BLOCKING", "0") == "1") device->streams.drain(*stream);
  return device->sticky;
}
EXPORT int cuGraphExecDestroy(CUgraphExec_st* exec) {
  LOCKED;
  delete exec;
  return kSuccess;
}

EXPORT int cuEventCreate(CUevent_st** event, unsigned) {
  NEED_CONTEXT;
  *event = new CUevent_st;
  return kSuccess;
}
EXPORT int cuEventDestroy_v2(CUevent_st* event) {
  LOCKED;
  delete event;
  return kSuccess;
}
EXPORT int cuEventRecord(CUevent_st* event, CUstream_st* stream) {
  NEED_CONTEXT;
  device->streams.record(*stream, event->event);
  return kSuccess;
}
EXPORT int cuEventSynchronize(CUevent_st* event) {
  NEED_CONTEXT;
  device->streams.drain(*event->event);
  return device->sticky;
}
EXPORT int cuEventElapsedTime(float* ms, CUevent_st* begin, CUevent_st* end) {
  NEED_CONTEXT;
  if (begin->event->done < begin->event->recorded || end->event->done < end->event->recorded) return kNotReady;
  *ms = std::chrono::duration<float, std::milli>(end->event->at - begin->event->at).count();
  return kSuccess;
}
