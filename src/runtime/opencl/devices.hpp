// The OpenCL devices of this machine, each with the context to which its programs and its memory belong.
#pragma once
#include <string>
#include <vector>

#include "fuse/limits.hpp"
#include "runtime/opencl/driver.hpp"

namespace sinter::runtime::opencl {

struct Found {
  DeviceId id = nullptr;
  std::string name, driver;
  bool cpu = false;
  std::size_t memory = 0, local_bytes = 0;
  fuse::Limits limits;
  std::string unusable;  // the reason why sinter cannot run on it, if there is one

  /// Returns its context, which is made at the first call and never released. Throws DeviceError.
  Context context() const;
};

/// Lists the devices by ordinal, GPUs first and CPUs last. The list is made once and never freed. Throws DeviceError if there is no loader.
const std::vector<Found>& devices();

}  // namespace sinter::runtime::opencl
