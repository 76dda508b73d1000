// Checks of an evaluation: kernels that take elements at computed places raise flags for places that are out of range, and read
// nothing there. The flags are read when all is launched, before any result counts: a value that is wrong is never handed out.
#pragma once
#include <functional>
#include <vector>

#include "device/executor.hpp"
#include "engine/planned.hpp"

namespace sinter::engine {

class Checks {
 public:
  /// `graph`: as recorded now, since a plan serves other lines of the program too.
  Checks(const trace::Graph& graph, device::DevicePtr device) : graph_(graph), device_(std::move(device)) {}

  /// Launches a step that has checks, with flags of its own.
  void launch(const PlannedStep& step, const std::function<void(const device::BufferPtr& flags)>& launch_with);
  /// Waits for the flags; throws IndexError for one that is raised.
  void verify();

 private:
  struct Pending {
    const PlannedStep* step;
    device::BufferPtr flags;
  };
  const trace::Graph& graph_;
  device::DevicePtr device_;
  std::vector<Pending> pending_;
};

}  // namespace sinter::engine
