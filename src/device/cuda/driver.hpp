// The part of the CUDA Driver API that sinter calls, declared here so that building needs no CUDA toolkit, and found in
// the driver's library at run time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

extern "C" {
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;
}

namespace sinter::device::cuda {

using Result = int;
using Ordinal = int;  // CUdevice
using Context = CUctx_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Pool = CUmemPoolHandle_st*;
using Address = unsigned long long;  // CUdeviceptr

// Values of the API's enumerations, from the CUDA Driver API reference.
namespace result {
inline constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, no_device = 100, invalid_image = 200, no_binary_for_gpu = 209, not_found = 500,
                        illegal_address = 700, launch_out_of_resources = 701, launch_timeout = 702, illegal_instruction = 715,
                        misaligned_address = 716, launch_failed = 719, not_supported = 801, unknown = 999;
}
namespace attribute {  // CUdevice_attribute
inline constexpr int multiprocessor_count = 16, compute_major = 75, compute_minor = 76, shared_opt_in = 97, memory_pools = 115;
}
namespace function_attribute {  // CUfunction_attribute
inline constexpr int max_threads = 0, static_shared = 1, local_bytes = 3, registers = 4, max_dynamic_shared = 8;
}
inline constexpr int kPoolReleaseThreshold = 4;    // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
inline constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

// SINTER_DRIVER(member, exported symbol, parameters): every function is required but those marked optional below.
#define SINTER_DRIVER_FUNCTIONS(required, optional)                                                                                        \
  required(init, "cuInit", (unsigned)) required(driver_version, "cuDriverGetVersion", (int*)) required(                                    \
      error_name, "cuGetErrorName", (Result, const char**)) required(error_string, "cuGetErrorString", (Result, const char**))             \
      required(device_count, "cuDeviceGetCount", (int*)) required(device_get, "cuDeviceGet", (Ordinal*, int)) required(                    \
          device_name, "cuDeviceGetName", (char*, int, Ordinal)) required(device_memory, "cuDeviceTotalMem_v2", (std::size_t*, Ordinal))   \
          required(device_attribute, "cuDeviceGetAttribute", (int*, int, Ordinal))                                                         \
              required(context_retain, "cuDevicePrimaryCtxRetain", (Context*, Ordinal)) required(                                          \
                  context_release, "cuDevicePrimaryCtxRelease_v2", (Ordinal)) required(context_push, "cuCtxPushCurrent_v2", (Context))     \
                  required(context_pop, "cuCtxPopCurrent_v2", (Context*)) required(stream_create, "cuStreamCreate", (Stream*, unsigned))   \
                      required(stream_destroy, "cuStreamDestroy_v2", (Stream))                                                             \
                          required(stream_synchronize, "cuStreamSynchronize", (Stream)) required(                                          \
                              memory_allocate, "cuMemAlloc_v2", (Address*, std::size_t)) required(memory_free, "cuMemFree_v2", (Address))  \
                              required(copy_to_device, "cuMemcpyHtoDAsync_v2", (Address, const void*, std::size_t, Stream))                \
                                  required(copy_to_host, "cuMemcpyDtoHAsync_v2", (void*, Address, std::size_t, Stream))                    \
                                      required(copy_on_device, "cuMemcpyDtoDAsync_v2", (Address, Address, std::size_t, Stream)) required(  \
                                          module_load, "cuModuleLoadData", (Module*, const void*)) required(module_unload,                 \
                                                                                                            "cuModuleUnload", (Module))    \
                                          required(module_function, "cuModuleGetFunction", (Function*, Module, const char*)) required(     \
                                              function_attribute, "cuFuncGetAttribute", (int*, int, Function))                             \
                                              required(function_set_attribute, "cuFuncSetAttribute", (Function, int, int)) required(       \
                                                  launch, "cuLaunchKernel",                                                                \
                                                  (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, \
                                                   void**, void**)) required(event_create, "cuEventCreate", (Event*, unsigned))            \
                                                  required(event_destroy, "cuEventDestroy_v2", (Event))                                    \
                                                      required(event_record, "cuEventRecord", (Event, Stream))                             \
                                                          required(event_synchronize, "cuEventSynchronize", (Event))                       \
                                                              required(event_elapsed, "cuEventElapsedTime", (float*, Event, Event))        \
                                                                  optional(pool_default, "cuDeviceGetDefaultMemPool", (Pool*, Ordinal))    \
                                                                      optional(pool_set, "cuMemPoolSetAttribute", (Pool, int, void*))      \
                                                                          optional(pool_trim, "cuMemPoolTrimTo", (Pool, std::size_t))      \
                                                                              optional(pool_allocate, "cuMemAllocAsync",                   \
                                                                                       (Address*, std::size_t, Stream))                    \
                                                                                  optional(pool_free, "cuMemFreeAsync", (Address, Stream))

struct Driver {
#define SINTER_DRIVER_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  SINTER_DRIVER_FUNCTIONS(SINTER_DRIVER_MEMBER, SINTER_DRIVER_MEMBER)
#undef SINTER_DRIVER_MEMBER
  std::string path;  // the file or soname that was opened

  /// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
  std::string describe(Result r) const;
};

/// Opens the driver once for the process: $SINTER_CUDA_DRIVER (a file), else libcuda.so.1 wherever the system finds it,
/// and initialises it. Throws DeviceError saying what was tried.
const Driver& driver();

}  // namespace sinter::device::cuda
