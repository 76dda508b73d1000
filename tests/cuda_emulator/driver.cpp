// A stand-in for libcuda: one device, whose kernels run on the host at once. Errors appear as on a GPU: what goes wrong
// in a launch is told by the calls after it, and stays.
//   SINTER_EMULATOR_SM      architecture, 90 unless set; "none" for a machine with no GPU
//   SINTER_EMULATOR_MEMORY  bytes of device memory, 2 GiB unless set
//   SINTER_EMULATOR_POOLS   0: no stream-ordered memory
//   SINTER_EMULATOR_CHECKS  off: accesses of memory are not checked (wild ones still meet closed pages)
//   SINTER_EMULATOR_CACHE   a folder that keeps compiled kernels; SINTER_EMULATOR_CXX: the host compiler
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host_module.hpp"
#include "launch.hpp"
#include "memory.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

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
  kNotFound = 500,
  kIllegalAddress = 700,
  kOutOfResources = 701,
  kLaunchFailed = 719,
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
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

struct Architecture {
  int sm, multiprocessors, shared_opt_in;
};
constexpr Architecture kArchitectures[] = {{75, 40, 65536},   {80, 108, 166912},  {86, 84, 101376},  {89, 128, 101376},
                                           {90, 132, 232448}, {100, 148, 232448}, {120, 170, 101376}};
constexpr int kSharedWithoutAsking = 48 << 10;
constexpr int kRegisters = 65536, kMostThreads = 1024;

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

struct Device {
  Architecture architecture{};
  Memory memory;
  int sticky = kSuccess;  // what a launch came to: every later call says it again
  int contexts = 0;
  Device(Architecture a, std::size_t bytes) : architecture(a), memory(bytes) {}
};

std::recursive_mutex mutex;
bool initialised = false;
// Nothing is destroyed at exit: the destructors of static objects may still compute.
Device* device = nullptr;  // null: a machine with no GPU

thread_local std::vector<void*>& contexts = *new std::vector<void*>;  // the one context, as often as it was pushed

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

bool is_gpu(int ordinal) { return device && ordinal == 0; }

/// The state every call on a context needs.
int ready() {
  if (!initialised) return kNotInitialized;
  if (contexts.empty()) return kInvalidContext;
  return device->sticky;
}

}  // namespace

#define LOCKED const std::scoped_lock lock(mutex)
#define NEED_CONTEXT \
  LOCKED;            \
  if (int r = ready()) return r

struct CUctx_st {};
struct CUstream_st {};
struct CUmemPoolHandle_st {};
struct CUevent_st {
  std::chrono::steady_clock::time_point at{};
};
struct CUfunc_st {
  HostModule* module;
  int dynamic_shared = kSharedWithoutAsking;
};
struct CUmod_st {
  std::unique_ptr<HostModule> host;
  CUfunc_st function;
};

namespace {
CUctx_st the_context;
CUmemPoolHandle_st the_pool;
}  // namespace

EXPORT int cuInit(unsigned) {
  LOCKED;
  if (initialised) return device ? kSuccess : kNoDevice;
  initialised = true;
  const std::string sm = setting("SINTER_EMULATOR_SM", "90");
  for (const Architecture& a : kArchitectures)
    if (std::to_string(a.sm) == sm)
      device = new Device(a, std::strtoull(setting("SINTER_EMULATOR_MEMORY", "2147483648").c_str(), nullptr, 10));
  if (!device && sm != "none") std::fprintf(stderr, "cuda emulator: no architecture sm_%s\n", sm.c_str());
  return device ? kSuccess : kNoDevice;
}
EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
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
  *count = device ? 1 : 0;
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
  std::snprintf(name, size, "emulated sm_%d", device->architecture.sm);
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
  const Architecture& a = device->architecture;
  switch (attribute) {
    case 1:
      *value = kMostThreads;
      break;
    case 8:
      *value = kSharedWithoutAsking;
      break;
    case 10:
      *value = 32;
      break;
    case 12:
      *value = kRegisters;
      break;
    case 16:
      *value = a.multiprocessors;
      break;
    case 75:
      *value = a.sm / 10;
      break;
    case 76:
      *value = a.sm % 10;
      break;
    case 97:
      *value = a.shared_opt_in;
      break;
    case 115:
      *value = setting("SINTER_EMULATOR_POOLS", "1") == "1";
      break;
    default:
      return kInvalidValue;
  }
  return kSuccess;
}

EXPORT int cuDevicePrimaryCtxRetain(CUctx_st** context, int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  if (device->sticky) return device->sticky;
  ++device->contexts;
  *context = &the_context;
  return kSuccess;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  if (device->contexts == 0) return kInvalidContext;
  --device->contexts;
  return kSuccess;
}
EXPORT int cuCtxPushCurrent_v2(CUctx_st* context) {
  LOCKED;
  if (!context || !device || device->contexts == 0) return kInvalidContext;
  contexts.push_back(context);
  return kSuccess;
}
EXPORT int cuCtxPopCurrent_v2(CUctx_st** context) {
  LOCKED;
  if (contexts.empty()) return kInvalidContext;
  *context = static_cast<CUctx_st*>(contexts.back());
  contexts.pop_back();
  return kSuccess;
}

EXPORT int cuStreamCreate(CUstream_st** stream, unsigned) {
  NEED_CONTEXT;
  *stream = new CUstream_st;
  return kSuccess;
}
EXPORT int cuStreamDestroy_v2(CUstream_st* stream) {
  LOCKED;
  delete stream;
  return kSuccess;
}
EXPORT int cuStreamSynchronize(CUstream_st*) {
  NEED_CONTEXT;
  return kSuccess;
}

EXPORT int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  NEED_CONTEXT;
  if (bytes == 0) return kInvalidValue;
  *address = device->memory.allocate(bytes);
  return *address ? kSuccess : kOutOfMemory;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  NEED_CONTEXT;
  return device->memory.release(address) ? kSuccess : kInvalidValue;
}
EXPORT int cuDeviceGetDefaultMemPool(CUmemPoolHandle_st** pool, int ordinal) {
  LOCKED;
  if (!is_gpu(ordinal)) return kInvalidDevice;
  *pool = &the_pool;
  return kSuccess;
}
EXPORT int cuMemPoolSetAttribute(CUmemPoolHandle_st* pool, int attribute, void*) {
  return pool == &the_pool && attribute == 4 ? kSuccess : kInvalidValue;
}
EXPORT int cuMemPoolTrimTo(CUmemPoolHandle_st* pool, std::size_t) { return pool == &the_pool ? kSuccess : kInvalidValue; }
EXPORT int cuMemAllocAsync(unsigned long long* address, std::size_t bytes, CUstream_st*) {
  if (setting("SINTER_EMULATOR_POOLS", "1") != "1") return kNotSupported;
  return cuMemAlloc_v2(address, bytes);
}
EXPORT int cuMemFreeAsync(unsigned long long address, CUstream_st*) { return cuMemFree_v2(address); }

EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, CUstream_st*) {
  NEED_CONTEXT;
  if (!device->memory.contains(to, bytes)) return kInvalidValue;
  const Memory::Open open(device->memory, to);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, CUstream_st*) {
  NEED_CONTEXT;
  if (!device->memory.contains(from, bytes)) return kInvalidValue;
  const Memory::Open open(device->memory, from);
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, CUstream_st*) {
  NEED_CONTEXT;
  if (!device->memory.contains(to, bytes) || !device->memory.contains(from, bytes)) return kInvalidValue;
  const Memory::Open open(device->memory);
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

EXPORT int cuModuleLoadData(CUmod_st** module, const void* image) {
  NEED_CONTEXT;
  const auto container = unpack(image);
  if (!container) return kInvalidImage;
  // A cubin runs on GPUs of its own major version and no lower minor one.
  const int sm = device->architecture.sm;
  if (container->sm / 10 != sm / 10 || container->sm > sm) return kNoBinaryForGpu;
  std::string why_not;
  auto host = HostModule::load(*container, hooks(), &why_not);
  if (!host) {
    std::fprintf(stderr, "cuda emulator: %s\n", why_not.c_str());
    return kInvalidImage;
  }
  HostModule* const loaded = host.get();
  *module = new CUmod_st{std::move(host), {loaded}};
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
    case 0:
      *value = c.registers > 0 ? std::min(kMostThreads, kRegisters / c.registers / 32 * 32) : kMostThreads;
      break;
    case 1:
      *value = std::max(c.shared_bytes, 0);
      break;
    case 3:
      *value = std::max(c.stack_bytes, 0);
      break;
    case 4:
      *value = std::max(c.registers, 0);
      break;
    case 8:
      *value = function->dynamic_shared;
      break;
    default:
      return kInvalidValue;
  }
  return kSuccess;
}
EXPORT int cuFuncSetAttribute(CUfunc_st* function, int attribute, int value) {
  NEED_CONTEXT;
  const int fixed = std::max(function->module->container().shared_bytes, 0);
  if (attribute != 8 || value < 0 || value + fixed > device->architecture.shared_opt_in) return kInvalidValue;
  function->dynamic_shared = value;
  return kSuccess;
}

EXPORT int cuLaunchKernel(CUfunc_st* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned dynamic_shared, CUstream_st*, void** parameters, void** extra) {
  NEED_CONTEXT;
  const Container& c = function->module->container();
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  if (extra || threads == 0 || threads > kMostThreads || grid_x == 0 || grid_x > 0x7fffffffu || grid_y == 0 || grid_y > 65535 ||
      grid_z == 0 || grid_z > 65535)
    return kInvalidValue;
  if (static_cast<int>(dynamic_shared) > function->dynamic_shared) return kInvalidValue;
  if (c.registers > 0 && c.registers * threads > kRegisters) return kOutOfResources;

  const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_shared};
  std::string message;
  const Outcome outcome = run_launch(*function->module, shape, parameters, device->memory, &message);
  if (outcome == Outcome::done) return kSuccess;
  std::fprintf(stderr, "cuda emulator: kernel %s: %s\n", c.entry.c_str(), message.c_str());
  device->sticky = outcome == Outcome::illegal_address ? kIllegalAddress : kLaunchFailed;
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
EXPORT int cuEventRecord(CUevent_st* event, CUstream_st*) {
  NEED_CONTEXT;
  event->at = now();
  return kSuccess;
}
EXPORT int cuEventSynchronize(CUevent_st*) {
  NEED_CONTEXT;
  return kSuccess;
}
EXPORT int cuEventElapsedTime(float* ms, CUevent_st* begin, CUevent_st* end) {
  NEED_CONTEXT;
  *ms = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return kSuccess;
}
