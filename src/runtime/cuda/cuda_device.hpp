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
  int driver_version = 0;  // 13000: the CUDA version that the driver serves
  int shared_bytes = 0;    // shared memory a block may ask for
  bool clusters = false;   // blocks can run as clusters
};

/// What the device made of a loaded kernel.
struct CudaFunctionInfo {
  int registers = 0;
  int local_bytes = 0;  // stack and spills of a thread
  int static_shared = 0;
  int max_threads = 0;  // threads a block of it may have
};

/// The GPUs of this machine, by ordinal. Never throws; `why_none` receives the reason when the list is empty.
std::vector<CudaInfo> list_cuda(std::string* why_none = nullptr);

/// The CUDA version that the driver serves (13000), 0 without a driver. No GPU is touched.
int cuda_driver_version() noexcept;

class CudaDevice : public Device {
 public:
  virtual const CudaInfo& info() const = 0;
  virtual CudaFunctionInfo function_info(Kernel& kernel) const = 0;
};

/// Throws DeviceError: no driver (and what was tried), no GPU, ordinal out of range.
std::shared_ptr<CudaDevice> open_cuda(int ordinal);

/// Times what is launched on a device between start() and stop(), by the device's own clock.
class EventTimer {
 public:
  explicit EventTimer(CudaDevice& device);
  ~EventTimer();
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  void start();
  /// Waits for the launches since start(); milliseconds.
  double stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sinter::runtime
