// Declarations of the functions of OpenCL that sinter calls. Building needs no OpenCL, because the functions are looked up in the ICD loader at run time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

extern "C" {
struct _cl_platform_id;
struct _cl_device_id;
struct _cl_context;
struct _cl_command_queue;
struct _cl_program;
struct _cl_kernel;
struct _cl_event;
}

namespace sinter::runtime::opencl {

using Result = std::int32_t;
using Platform = _cl_platform_id*;
using DeviceId = _cl_device_id*;
using Context = _cl_context*;
using Queue = _cl_command_queue*;
using Program = _cl_program*;
using KernelHandle = _cl_kernel*;
using Event = _cl_event*;
using Flags = std::uint64_t;

// Values of the API's enumerations, from the OpenCL 3.0 specification.
namespace result {
inline constexpr Result success = 0, device_not_available = -2, out_of_memory = -4, out_of_resources = -5, out_of_host_memory = -6, build_failed = -11,
                        failed_event = -14, invalid_binary = -42, no_platform = -1001;
}
namespace device_info {
inline constexpr unsigned type = 0x1000, units = 0x1002, work_group = 0x1004, address_bits = 0x100D, max_allocation = 0x1010, parameter_bytes = 0x1017,
                          single_config = 0x101B, cache_bytes = 0x101E, memory = 0x101F, local_bytes = 0x1023, compiler = 0x1028, name = 0x102B,
                          driver_version = 0x102D, double_config = 0x1032, svm = 0x1053;
}
inline constexpr Flags kCpu = 1 << 1, kGpu = 1 << 2, kAnyDevice = 0xFFFFFFFF;
inline constexpr Flags kCoarseSvm = 1 << 0, kRoundsQuotients = 1 << 7, kReadWrite = 1 << 0;
inline constexpr unsigned kBinarySizes = 0x1165, kBinaries = 0x1166, kBuildLog = 0x1183;

// row(member, exported symbol, parameters) for functions that return a result.
// clang-format off
#define SINTER_OPENCL_FUNCTIONS(row) \
  row(platforms, "clGetPlatformIDs", (unsigned, Platform*, unsigned*))                                                                        \
  row(devices, "clGetDeviceIDs", (Platform, Flags, unsigned, DeviceId*, unsigned*))                                                           \
  row(device_info, "clGetDeviceInfo", (DeviceId, unsigned, std::size_t, void*, std::size_t*))                                                 \
  row(release_queue, "clReleaseCommandQueue", (Queue))                                                                                        \
  row(build, "clBuildProgram", (Program, unsigned, const DeviceId*, const char*, void (*)(Program, void*), void*))                            \
  row(program_info, "clGetProgramInfo", (Program, unsigned, std::size_t, void*, std::size_t*))                                                \
  row(build_info, "clGetProgramBuildInfo", (Program, DeviceId, unsigned, std::size_t, void*, std::size_t*))                                   \
  row(release_program, "clReleaseProgram", (Program))                                                                                         \
  row(release_kernel, "clReleaseKernel", (KernelHandle))                                                                                      \
  row(argument, "clSetKernelArg", (KernelHandle, unsigned, std::size_t, const void*))                                                         \
  row(pointer_argument, "clSetKernelArgSVMPointer", (KernelHandle, unsigned, const void*))                                                    \
  row(launch, "clEnqueueNDRangeKernel", (Queue, KernelHandle, unsigned, const std::size_t*, const std::size_t*, const std::size_t*, unsigned, const Event*, Event*)) \
  row(copy, "clEnqueueSVMMemcpy", (Queue, unsigned, void*, const void*, std::size_t, unsigned, const Event*, Event*))                         \
  row(flush, "clFlush", (Queue))                                                                                                              \
  row(finish, "clFinish", (Queue))
// clang-format on

struct Driver {
#define SINTER_OPENCL_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  SINTER_OPENCL_FUNCTIONS(SINTER_OPENCL_MEMBER)
#undef SINTER_OPENCL_MEMBER
  Context (*create_context)(const std::intptr_t*, unsigned, const DeviceId*, void (*)(const char*, const void*, std::size_t, void*), void*, Result*) = nullptr;
  Queue (*create_queue)(Context, DeviceId, const std::uint64_t*, Result*) = nullptr;
  Program (*program_of_source)(Context, unsigned, const char**, const std::size_t*, Result*) = nullptr;
  Program (*program_of_binary)(Context, unsigned, const DeviceId*, const std::size_t*, const unsigned char**, Result*, Result*) = nullptr;
  KernelHandle (*create_kernel)(Program, const char*, Result*) = nullptr;
  void* (*allocate)(Context, Flags, std::size_t, unsigned) = nullptr;
  void (*free)(Context, void*) = nullptr;
  std::string path;    // the file or soname that was opened
  bool ended = false;  // the process is ending: drivers may have destroyed their static objects, and every function refuses
};

/// Describes a result: "CL_OUT_OF_RESOURCES (-5)".
std::string describe(Result r);

/// Makes a queue. Its last work is awaited before the process ends.
Queue make_queue(Context context, DeviceId device, Result* result);
void release_queue(Queue queue);

/// From the moment when the process destroys the static objects that exist now, no queue has work and every function refuses. Is called when the drivers have
/// been loaded.
void refuse_at_exit();

/// Opens the ICD loader once for the process: the file that $SINTER_OPENCL names, else libOpenCL.so.1 wherever the system finds it. Throws DeviceError.
const Driver& driver();

}  // namespace sinter::runtime::opencl
