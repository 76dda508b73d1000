// Checks of an evaluation: kernels that take elements at computed places raise flags for places that are out of range, and read
// nothing there. The flags are read when all is launched, before any result counts: a value that is wrong is never handed out.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "engine/planned.hpp"
#include "runtime/executor.hpp"
#include "trace/outline.hpp"

namespace sinter::engine {

class Checks {
 public:
  /// `gathers`: as recorded now, since a plan serves other lines of the program too; the caller keeps them.
  Checks(std::span<const trace::GatherSite> gathers, const runtime::DevicePtr& device) : gathers_(gathers), device_(device) {}

  /// Launches a step that has checks, with flags of its own.
  void launch(const PlannedStep& step, const std::function<void(const runtime::BufferPtr& flags)>& launch_with);
  /// Waits for the flags; throws IndexError for one that is raised.
  void verify();

 private:
  struct Pending {
    const PlannedStep* step;
    runtime::BufferPtr flags;
  };
  const std::span<const trace::GatherSite> gathers_;
  const runtime::DevicePtr& device_;
  std::vector<Pending> pending_;
};

}  // namespace sinter::engine
