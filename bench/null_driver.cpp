// A CUDA driver that does nothing and counts its calls, so that the remaining time of a launch is the host's. SINTER_CUDA_DRIVER names it. Like a driver's
// pool, it reuses the memory that was freed last.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CALL(name, ...) \
  EXPORT int name(__VA_ARGS__) { return ++calls, 0; }

namespace {

std::atomic<std::uint64_t> calls{0};
std::mutex mutex;
unsigned long long next_address = 1ull << 40;                  // never touched
std::map<unsigned long long, std::size_t> sizes;               // of the allocations
std::map<std::size_t, std::vector<unsigned long long>> freed;  // by size

}  // namespace

/// Returns the number of driver calls so far.
EXPORT std::uint64_t null_driver_calls() { return calls; }

EXPORT int cuDriverGetVersion(int* version) { return ++calls, *version = 13000, 0; }
EXPORT int cuGetErrorName(int, const char** name) { return *name = "", 0; }
EXPORT int cuGetErrorString(int, const char** text) { return *text = "", 0; }
EXPORT int cuDeviceGetCount(int* count) { return ++calls, *count = 1, 0; }
EXPORT int cuDeviceGetName(char* name, int size, int) {
  ++calls;
  std::strncpy(name, "null", static_cast<std::size_t>(size));
  return 0;
}
EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return ++calls, *bytes = std::size_t{80} << 30, 0; }
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  ++calls;
  *value = attribute == 16 ? 132 : attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? 232448 : 1;  // an H100
  return 0;
}
EXPORT int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  ++calls;
  bytes = (bytes + 511) / 512 * 512;
  const std::scoped_lock lock(mutex);
  if (auto& free = freed[bytes]; !free.empty()) {
    *address = free.back();
    free.pop_back();
    return 0;
  }
  *address = next_address;
  sizes[*address] = bytes;
  next_address += bytes;
  return 0;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  ++calls;
  const std::scoped_lock lock(mutex);
  freed[sizes.at(address)].push_back(address);
  return 0;
}
EXPORT int cuMemFreeAsync(unsigned long long address, void*) { return cuMemFree_v2(address); }
EXPORT int cuMemAllocFromPoolAsync(unsigned long long* address, std::size_t bytes, void*, void*) { return cuMemAlloc_v2(address, bytes); }
EXPORT int cuMemAllocAsync(unsigned long long* address, std::size_t bytes, void*) { return cuMemAlloc_v2(address, bytes); }
EXPORT int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) { return ++calls, *memory = std::malloc(bytes), *memory ? 0 : 2; }
EXPORT int cuMemFreeHost(void* memory) { return ++calls, std::free(memory), 0; }
EXPORT int cuFuncGetAttribute(int* value, int, void*) { return ++calls, *value = 0, 0; }
EXPORT int cuCtxPopCurrent_v2(void** context) { return ++calls, *context = nullptr, 0; }

EXPORT int cuMemPoolCreate(void** pool, const void*) { return ++calls, *pool = &calls, 0; }
EXPORT int cuDeviceGetDefaultMemPool(void** pool, int) { return ++calls, *pool = &calls, 0; }

CALL(cuInit, unsigned)
CALL(cuDeviceGet, int*, int)
CALL(cuDevicePrimaryCtxRetain, void**, int)
CALL(cuDevicePrimaryCtxRelease_v2, int)
CALL(cuCtxPushCurrent_v2, void*)
CALL(cuCtxSetCurrent, void*)
CALL(cuStreamCreate, void**, unsigned)
CALL(cuStreamDestroy_v2, void*)
CALL(cuStreamSynchronize, void*)
CALL(cuStreamWaitEvent, void*, void*, unsigned)
CALL(cuMemcpyHtoDAsync_v2, unsigned long long, const void*, std::size_t, void*)
CALL(cuMemcpyDtoHAsync_v2, void*, unsigned long long, std::size_t, void*)
CALL(cuMemcpyDtoDAsync_v2, unsigned long long, unsigned long long, std::size_t, void*)
CALL(cuModuleLoadData, void**, const void*)
CALL(cuModuleUnload, void*)
CALL(cuModuleGetFunction, void**, void*, const char*)
CALL(cuFuncSetAttribute, void*, int, int)
CALL(cuLaunchKernel, void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**)
CALL(cuEventCreate, void**, unsigned)
CALL(cuEventDestroy_v2, void*)
CALL(cuEventRecord, void*, void*)
CALL(cuEventSynchronize, void*)
CALL(cuEventElapsedTime, float*, void*, void*)
CALL(cuMemPoolDestroy, void*)
CALL(cuMemPoolSetAttribute, void*, int, void*)
CALL(cuMemPoolTrimTo, void*, std::size_t)
CALL(cuGraphCreate, void**, unsigned)
CALL(cuGraphDestroy, void*)
CALL(cuGraphAddKernelNode, void**, void*, void* const*, std::size_t, const void*)
CALL(cuGraphExecKernelNodeSetParams, void*, void*, const void*)
CALL(cuGraphLaunch, void*, void*)
CALL(cuGraphExecDestroy, void*)
EXPORT int cuGraphInstantiateWithFlags(void** exec, void*, unsigned long long) { return ++calls, *exec = &calls, 0; }
