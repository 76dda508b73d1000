// Repeated launches, for devices on which preparing a launch costs more than the launch itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/executor.hpp"

namespace sinter::runtime {

/// A launch that is repeated: the parts that are the same each time.
struct RepeatedLaunch {
  Kernel& kernel;
  const jit::LoopNest& nest;
  std::span<const std::int64_t> ints;
  std::size_t pointers = 0;        // number of its pointers; it has as many scalars as the nest
  std::vector<std::size_t> after;  // numbers of the earlier launches for which it must wait
};

/// Launches that were prepared once. Any number of threads may run a Replay.
class Replay {
 public:
  virtual ~Replay() = default;
  /// Runs all launches. pointers, scalars: those of all launches, in order. Returns true if all were a single launch of a graph.
  virtual bool run(std::span<void* const> pointers, std::span<const std::uint64_t> scalars) = 0;
};
using ReplayPtr = std::shared_ptr<Replay>;

/// The additional interface of a device that can repeat launches.
class Repeats {
 public:
  virtual ~Repeats() = default;
  /// Prepares launches. Each launch writes something. Kernels and nests must live as long as the replay.
  virtual ReplayPtr prepare(std::span<const RepeatedLaunch> launches) = 0;
};

}  // namespace sinter::runtime
