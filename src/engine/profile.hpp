// What run_steps tells of its steps while a sinter::Profile is there.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "engine/planned.hpp"
#include "sinter/profile.hpp"

namespace sinter {

struct Profile::Times {
  using Clock = std::chrono::steady_clock;

  /// The calling thread's; null where no Profile is.
  static Times* current();

  void start() { started = Clock::now(); }
  /// Step s has run, and its device is done. `call`: its numbers, of a library call.
  void stop(const engine::Planned& planned, std::size_t s, const fuse::LibraryCall* call, std::span<const std::int64_t> numbers);

  std::map<std::string, ProfiledStep> steps;
  Clock::time_point made = Clock::now(), started;
  Times* before = nullptr;  // the one that this one took over from
};

}  // namespace sinter
