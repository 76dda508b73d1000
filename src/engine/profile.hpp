// The facts that run_steps reports about its steps while a sinter::Profile lives.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/timeline.hpp"
#include "engine/explain.hpp"
#include "sinter/profile.hpp"

namespace sinter {

struct Profile::Times {
  using Clock = std::chrono::steady_clock;

  /// Returns the calling thread's object; null if there is no Profile.
  static Times* current();

  void start() { started = Clock::now(); }
  /// Notes that step s has run and its device has finished. `call`: the numbers of a library call.
  void stop(const engine::Planned& planned, std::size_t s, const fuse::LibraryCall* call, std::span<const std::int64_t> numbers, std::string_view part);

  std::map<std::string, ProfiledStep> steps;
  Clock::time_point made = Clock::now(), started;
  Times* before = nullptr;  // the object that this one replaced
};

namespace engine {
/// Adds to the span of step s, which has run: its kind and name, the user's lines, its bytes and its rate beside the device's bandwidth. `history` is null if
/// the recording is not known.
void tell_step(timeline::Span& span, const Planned& planned, std::size_t s, const fuse::LibraryCall* call, std::span<const std::int64_t> numbers,
               const History* history, const runtime::Device& device, double bandwidth);
}  // namespace engine

}  // namespace sinter
