// Declarations of the functions of the CUDA Driver API that sinter calls. Building needs no CUDA toolkit, because the functions are looked up in the driver's
// library at run time.
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
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
}

namespace sinter::runtime::cuda {

using Result = int;
using Ordinal = int;  // CUdevice
using Context = CUctx_st*;
using Module = CUmod_st*;
using Function = CUfunc_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Pool = CUmemPoolHandle_st*;
using Graph = CUgraph_st*;
using GraphNode = CUgraphNode_st*;
using GraphExec = CUgraphExec_st*;
using Address = unsigned long long;  // CUdeviceptr

// Values of the API's enumerations, from the CUDA Driver API reference.
namespace result {
inline constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, deinitialized = 4, no_device = 100, invalid_image = 200, invalid_context = 201,
                        no_binary_for_gpu = 209, invalid_ptx = 218, jit_compiler_not_found = 221, unsupported_ptx_version = 222, jit_compilation_disabled = 223,
                        not_found = 500, illegal_address = 700, launch_out_of_resources = 701, launch_timeout = 702, illegal_instruction = 715,
                        misaligned_address = 716, launch_failed = 719, not_supported = 801, invalid_cluster_size = 912, unknown = 999;
}
namespace attribute {  // CUdevice_attribute
inline constexpr int multiprocessor_count = 16, compute_major = 75, compute_minor = 76, shared_opt_in = 97, memory_pools = 115, cluster_launch = 120;
}
namespace function_attribute {  // CUfunction_attribute
inline constexpr int max_threads = 0, static_shared = 1, local_bytes = 3, registers = 4, max_dynamic_shared = 8;
}
inline constexpr int kPoolReleaseThreshold = 4;    // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
inline constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventWithoutTime = 2;   // CU_EVENT_DISABLE_TIMING

// row(member, exported symbol, parameters). Every driver has the first list. CUDA 11.2 added memory pools, 11.4 this way to make a graph, and 11.8 clusters. (A
// kernel's source declares its cluster size, which cuLaunchKernel and graphs obey.)
// clang-format off
#define SINTER_DRIVER_FUNCTIONS(row) \
  row(init, "cuInit", (unsigned))                                                                                                         \
  row(driver_version, "cuDriverGetVersion", (int*))                                                                                       \
  row(error_name, "cuGetErrorName", (Result, const char**))                                                                               \
  row(error_string, "cuGetErrorString", (Result, const char**))                                                                           \
  row(device_count, "cuDeviceGetCount", (int*))                                                                                           \
  row(device_get, "cuDeviceGet", (Ordinal*, int))                                                                                         \
  row(device_name, "cuDeviceGetName", (char*, int, Ordinal))                                                                              \
  row(device_memory, "cuDeviceTotalMem_v2", (std::size_t*, Ordinal))                                                                      \
  row(device_attribute, "cuDeviceGetAttribute", (int*, int, Ordinal))                                                                     \
  row(context_retain, "cuDevicePrimaryCtxRetain", (Context*, Ordinal))                                                                    \
  row(context_release, "cuDevicePrimaryCtxRelease_v2", (Ordinal))                                                                         \
  row(context_set, "cuCtxSetCurrent", (Context))                                                                                          \
  row(stream_create, "cuStreamCreate", (Stream*, unsigned))                                                                               \
  row(stream_destroy, "cuStreamDestroy_v2", (Stream))                                                                                     \
  row(stream_synchronize, "cuStreamSynchronize", (Stream))                                                                                \
  row(stream_wait, "cuStreamWaitEvent", (Stream, Event, unsigned))                                                                        \
  row(memory_allocate, "cuMemAlloc_v2", (Address*, std::size_t))                                                                          \
  row(memory_free, "cuMemFree_v2", (Address))                                                                                             \
  row(copy_to_device, "cuMemcpyHtoDAsync_v2", (Address, const void*, std::size_t, Stream))                                                \
  row(copy_to_host, "cuMemcpyDtoHAsync_v2", (void*, Address, std::size_t, Stream))                                                        \
  row(copy_on_device, "cuMemcpyDtoDAsync_v2", (Address, Address, std::size_t, Stream))                                                    \
  row(module_load, "cuModuleLoadData", (Module*, const void*))                                                                            \
  row(module_unload, "cuModuleUnload", (Module))                                                                                          \
  row(module_function, "cuModuleGetFunction", (Function*, Module, const char*))                                                           \
  row(function_attribute, "cuFuncGetAttribute", (int*, int, Function))                                                                    \
  row(function_set_attribute, "cuFuncSetAttribute", (Function, int, int))                                                                 \
  row(launch, "cuLaunchKernel", (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**)) \
  row(event_create, "cuEventCreate", (Event*, unsigned))                                                                                  \
  row(event_destroy, "cuEventDestroy_v2", (Event))                                                                                        \
  row(event_record, "cuEventRecord", (Event, Stream))                                                                                     \
  row(event_synchronize, "cuEventSynchronize", (Event))                                                                                   \
  row(event_elapsed, "cuEventElapsedTime", (float*, Event, Event))                                                                        
#define SINTER_DRIVER_POOL_FUNCTIONS(row) \
  row(pool_create, "cuMemPoolCreate", (Pool*, const PoolProperties*))                  \
  row(pool_destroy, "cuMemPoolDestroy", (Pool))                                        \
  row(pool_set, "cuMemPoolSetAttribute", (Pool, int, void*))                           \
  row(pool_trim, "cuMemPoolTrimTo", (Pool, std::size_t))                               \
  row(pool_allocate, "cuMemAllocFromPoolAsync", (Address*, std::size_t, Pool, Stream)) \
  row(pool_free, "cuMemFreeAsync", (Address, Stream))                                  
#define SINTER_DRIVER_HOST_FUNCTIONS(row) \
  row(host_allocate, "cuMemHostAlloc", (void**, std::size_t, unsigned)) \
  row(host_free, "cuMemFreeHost", (void*))
#define SINTER_DRIVER_CLUSTER_FUNCTIONS(row) \
  row(active_clusters, "cuOccupancyMaxActiveClusters", (int*, Function, const LaunchShape*))
#define SINTER_DRIVER_GRAPH_FUNCTIONS(row) \
  row(graph_create, "cuGraphCreate", (Graph*, unsigned))                                                                    \
  row(graph_destroy, "cuGraphDestroy", (Graph))                                                                             \
  row(graph_add_kernel, "cuGraphAddKernelNode", (GraphNode*, Graph, const GraphNode*, std::size_t, const KernelNode*))      \
  row(graph_instantiate, "cuGraphInstantiateWithFlags", (GraphExec*, Graph, unsigned long long))                            \
  row(graph_set_kernel, "cuGraphExecKernelNodeSetParams", (GraphExec, GraphNode, const KernelNode*))                        \
  row(graph_launch, "cuGraphLaunch", (GraphExec, Stream))                                                                   \
  row(graph_exec_destroy, "cuGraphExecDestroy", (GraphExec))
// clang-format on

/// CUmemPoolProps.
struct PoolProperties {
  int allocation_type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED: on the device
  int handle_types = 0;
  int location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  Ordinal location = 0;
  void* security_attributes = nullptr;
  std::size_t max_bytes = 0;  // no limit except the device's
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

/// CUDA_KERNEL_NODE_PARAMS_v1.
struct KernelNode {
  Function function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1, block_x = 1, block_y = 1, block_z = 1, shared = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

/// CUlaunchConfig.
struct LaunchShape {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1, block_x = 1, block_y = 1, block_z = 1, shared = 0;
  Stream stream = nullptr;
  void* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct Driver {
#define SINTER_DRIVER_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  SINTER_DRIVER_FUNCTIONS(SINTER_DRIVER_MEMBER)
  SINTER_DRIVER_POOL_FUNCTIONS(SINTER_DRIVER_MEMBER)
  SINTER_DRIVER_HOST_FUNCTIONS(SINTER_DRIVER_MEMBER)
  SINTER_DRIVER_CLUSTER_FUNCTIONS(SINTER_DRIVER_MEMBER)
  SINTER_DRIVER_GRAPH_FUNCTIONS(SINTER_DRIVER_MEMBER)
#undef SINTER_DRIVER_MEMBER
  std::string path;  // the file or soname that was opened

  /// Returns whether the driver has all of the graph functions.
  bool has_graphs() const;
  /// Describes a result: "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory".
  std::string describe(Result r) const;
};

/// Opens the driver once for the process and initialises it: the file that $SINTER_CUDA_DRIVER names, else libcuda.so.1 wherever the system finds it. Throws
/// DeviceError with the list of files it tried.
const Driver& driver();

/// Returns the CUDA version that the driver serves, without initialising it, or 0 when there is none.
int driver_version() noexcept;

}  // namespace sinter::runtime::cuda
