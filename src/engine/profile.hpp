// The facts that run_steps reports about its steps to a sinter::Profile, to the timeline and to tools that receive ranges.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/timeline.hpp"
#include "engine/explain.hpp"
#include "sinter/profile.hpp"

namespace sinter {

namespace engine {

/// A step that is running or has run.
struct RanStep {
  const Planned& planned;
  std::size_t step;
  const fuse::LibraryCall* call;              // with the present sizes; null for a kernel
  const char* part;                           // "core" or "rims" of a kernel whose core overlaps with exchanges; "" for a whole step
  std::span<const std::int64_t> figures;      // of the plan for the present sizes
  const std::vector<trace::NodeSite>* sites;  // null if the recording is not known
  const runtime::DevicePtr& device;
};

/// Returns a title such as "softmax_8f2a, from program.cpp:12-14", for a step or for kernels that are launched together.
std::string title_of(const RanStep& ran);
std::string title_of(const Planned& planned, std::size_t first, std::size_t last, const std::vector<trace::NodeSite>* sites);
/// Adds to the span of a completed step its kind, its name, the user's lines, its bytes, and its rate against the device's bandwidth.
void report_step(timeline::Span& span, const RanStep& ran, int threads);
/// Reports a held value that is computed a second time to the log and to this thread's profile.
void report_computed_again(const trace::Recorded& node);

}  // namespace engine

struct Profile::Times {
  using Clock = std::chrono::steady_clock;

  /// Returns the calling thread's object; null if there is no Profile.
  static Times* current();
  /// Adds a run of a step. `threads`: the number of the host's threads, for the measured limits.
  void add(const engine::RanStep& ran, double seconds, int threads);

  struct Step {
    ProfiledStep profiled;
    runtime::DevicePtr device;
    DType dtype{};  // the type of the step's arithmetic, which sets its arithmetic limit
    int threads = 1;
  };
  std::map<std::pair<std::string, std::string>, Step> steps;  // by kind and name
  std::map<std::string, std::uint64_t> again;                 // values that were computed again, and how often they were computed
  timeline::Sums kinds, start_kinds;                          // seconds since `made`, without and with those before restart()
  double start_seconds = 0;
  Clock::time_point made = Clock::now();
  Times* before = nullptr;  // the object that this one replaced
  timeline::Sums* sums_before = nullptr;
};

}  // namespace sinter
