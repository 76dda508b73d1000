// Checks of an evaluation: kernels that gather elements at computed positions set flags for positions out of range, and read nothing there. The flags are read
// after all launches and before any result is returned, so a wrong value is never returned.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "engine/planned.hpp"
#include "runtime/executor.hpp"
#include "trace/structural_key.hpp"

namespace sinter::engine {

class Checks {
 public:
  /// `gathers` come from the recording of this evaluation, because the plan may have been made for other lines of the program. The caller keeps them alive.
  Checks(std::span<const trace::GatherSite> gathers, const runtime::DevicePtr& device) : gathers_(gathers), device_(device) {}

  /// Launches a step with checks and with separate flags.
  void launch(const PlannedStep& step, const std::function<void(const runtime::BufferPtr& flags)>& launch_with);
  /// Waits for the flags. Throws IndexError if one is set.
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
