#include "runtime/opencl/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <tuple>

#include "runtime/open_once.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime::opencl {
namespace {

/// Opens the loader, which is never closed.
Driver open_driver() {
  const char* file = std::getenv("SINTER_OPENCL");
  Driver api;
  api.path = file && *file ? file : "libOpenCL.so.1";
  if (api.path == "off") throw DeviceError("SINTER_OPENCL is off");
  void* library = dlopen(api.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    throw DeviceError(fmt::format("no OpenCL: {}. Install an ICD loader (ocl-icd-libopencl1) and a driver, or name the loader's library in SINTER_OPENCL",
                                  why ? why : api.path));
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) throw DeviceError(fmt::format("{} has no {}: it is not a loader for OpenCL 2.0 or later", api.path, name));
  };
#define SINTER_OPENCL_FIND(member, symbol, parameters) find(api.member, symbol);
  SINTER_OPENCL_FUNCTIONS(SINTER_OPENCL_FIND)
#undef SINTER_OPENCL_FIND
  find(api.create_context, "clCreateContext");
  find(api.create_queue, "clCreateCommandQueueWithProperties");
  find(api.program_of_source, "clCreateProgramWithSource");
  find(api.program_of_binary, "clCreateProgramWithBinary");
  find(api.create_kernel, "clCreateKernel");
  find(api.allocate, "clSVMAlloc");
  find(api.free, "clSVMFree");
  return api;
}

struct Queues {
  std::mutex mutex;
  std::set<Queue> all;
};
Queues& queues() {
  static Queues& queues = *new Queues;
  return queues;
}

/// Makes no handle; the last argument is the address of the result.
template <class Handle, class... Arguments> Handle* refused(Arguments... arguments) {
  *std::get<sizeof...(arguments) - 1>(std::tuple(arguments...)) = result::device_not_available;
  return nullptr;
}

}  // namespace

std::string describe(Result r) {
  struct Named {
    Result code;
    const char* name;
  };
  static constexpr Named kNames[] = {{-1, "CL_DEVICE_NOT_FOUND"},         {-2, "CL_DEVICE_NOT_AVAILABLE"},
                                     {-3, "CL_COMPILER_NOT_AVAILABLE"},   {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
                                     {-5, "CL_OUT_OF_RESOURCES"},         {-6, "CL_OUT_OF_HOST_MEMORY"},
                                     {-11, "CL_BUILD_PROGRAM_FAILURE"},   {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
                                     {-30, "CL_INVALID_VALUE"},           {-42, "CL_INVALID_BINARY"},
                                     {-46, "CL_INVALID_KERNEL_NAME"},     {-51, "CL_INVALID_ARG_SIZE"},
                                     {-52, "CL_INVALID_KERNEL_ARGS"},     {-54, "CL_INVALID_WORK_GROUP_SIZE"},
                                     {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};
  for (const Named& named : kNames)
    if (named.code == r) return fmt::format("{} ({})", named.name, r);
  return fmt::format("OpenCL error {}", r);
}

const Driver& driver() { return open_once<Driver, open_driver>(); }

Queue make_queue(Context context, DeviceId device, Result* result) {
  const Queue queue = driver().create_queue(context, device, nullptr, result);
  const std::scoped_lock lock(queues().mutex);
  if (queue) queues().all.insert(queue);
  return queue;
}
void release_queue(Queue queue) {
  {
    const std::scoped_lock lock(queues().mutex);
    queues().all.erase(queue);
  }
  driver().release_queue(queue);
}

void refuse_at_exit() {
  std::atexit([] {
    Driver& api = const_cast<Driver&>(driver());
    const std::scoped_lock lock(queues().mutex);
    for (const Queue queue : queues().all) api.finish(queue);
    api.ended = true;
#define SINTER_OPENCL_REFUSE(member, symbol, parameters) api.member = [](auto...) -> Result { return result::device_not_available; };
    SINTER_OPENCL_FUNCTIONS(SINTER_OPENCL_REFUSE)
#undef SINTER_OPENCL_REFUSE
    api.create_context = refused;
    api.create_queue = refused;
    api.program_of_source = refused;
    api.program_of_binary = refused;
    api.create_kernel = refused;
    api.allocate = [](Context, Flags, std::size_t, unsigned) -> void* { return nullptr; };
    api.free = [](Context, void*) {};
  });
}

}  // namespace sinter::runtime::opencl
