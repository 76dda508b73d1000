// A GPU as a device: memory, modules and launches through the CUDA Driver API, opened at run time.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/executor.hpp"

namespace sinter::runtime {

struct CudaInfo {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int sm = 0;        // 90
  int sm_count = 0;
  std::size_t memory = 0;  // bytes
  int driver_version = 0;  // the CUDA version that the driver serves, such as 13000
  int shared_bytes = 0;    // maximum shared memory that a block may request
  bool clusters = false;   // blocks can run as clusters
};

/// The resources of a loaded kernel that the driver reports.
struct CudaFunctionInfo {
  int registers = 0;
  int local_bytes = 0;  // stack and spills of one thread
  int static_shared = 0;
  int max_threads = 0;  // maximum number of threads that a block of the kernel may have
};

/// Lists the GPUs of this machine, by ordinal. Never throws; `why_none` receives the reason when the list is empty.
std::vector<CudaInfo> list_cuda(std::string* why_none = nullptr);

/// Returns the CUDA version that the driver serves (13000), or 0 without a driver. Does not touch a GPU.
int cuda_driver_version() noexcept;

class CudaDevice : public Device {
 public:
  virtual const CudaInfo& info() const = 0;
  virtual CudaFunctionInfo function_info(Kernel& kernel) const = 0;
};

/// Opens a GPU. Throws DeviceError if there is no driver (with the files that were tried), no GPU, or no such ordinal.
std::shared_ptr<CudaDevice> open_cuda(int ordinal);

/// Measures the time of the work launched on a device between start() and stop(), by the device's own clock.
class EventTimer {
 public:
  explicit EventTimer(CudaDevice& device);
  ~EventTimer();
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  void start();
  /// Waits for the launches since start() and returns their milliseconds.
  double stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sinter::runtime
