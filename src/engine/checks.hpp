// Checks of an evaluation: kernels that take elements at computed positions raise flags for positions out of range, and read nothing there. The flags are read
// after all launches and before any result counts, so a wrong value is never returned.
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
  /// `gathers`: as recorded for this evaluation, because a plan serves other lines of the program too. The caller keeps them alive.
  Checks(std::span<const trace::GatherSite> gathers, const runtime::DevicePtr& device) : gathers_(gathers), device_(device) {}

  /// Launches a step with checks, and gives it flags of its own.
  void launch(const PlannedStep& step, const std::function<void(const runtime::BufferPtr& flags)>& launch_with);
  /// Waits for the flags. Throws IndexError if one is raised.
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
