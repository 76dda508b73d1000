// Launches that come again, for devices where working each out anew costs more than it does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executor.hpp"

namespace sinter::runtime {

/// A launch that is made again and again: all that is the same each time.
struct RepeatedLaunch {
  Kernel& kernel;
  const jit::LoopNest& nest;
  std::span<const std::int64_t> ints;
  std::size_t pointers = 0;        // how many it takes; scalars are as many as the nest has
  std::vector<std::size_t> after;  // the launches before it that it has to wait for
};

/// Launches that were worked out once. Any number of threads may run it.
class Replay {
 public:
  virtual ~Replay() = default;
  /// pointers, scalars: those of all launches, one after the other. True if all of it was one launch of a graph.
  virtual bool run(std::span<void* const> pointers, std::span<const std::uint64_t> scalars) = 0;
};
using ReplayPtr = std::shared_ptr<Replay>;

/// What a device is beside a Device if it repeats launches.
class Repeats {
 public:
  virtual ~Repeats() = default;
  /// Each launch writes something. Kernels and nests live as long as the replay.
  virtual ReplayPtr prepare(std::span<const RepeatedLaunch> launches) = 0;
};

}  // namespace sinter::runtime
