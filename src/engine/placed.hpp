// A plan at certain sizes: its numbers, where its values lie in memory, and the launches that are the same from one run to the next. No lookup
// by structure, no memory for each value: a run puts what is read in its place and goes through the steps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/arena.hpp"
#include "engine/planned.hpp"
#include "runtime/replay.hpp"

namespace sinter::engine {

/// Kernels that come one after the other, with nothing between them that is not a kernel, as the device repeats them.
struct Repeated {
  std::size_t first = 0, last = 0;  // of the steps, [first, last)
  std::size_t launches = 0;         // those that have something to write
  struct Pointer {
    int node;
    std::ptrdiff_t offset;
  };
  std::vector<Pointer> pointers;  // of all launches
  std::vector<int> constants;     // likewise, as PlannedStep::constants
  runtime::ReplayPtr replay;
};

struct Placed {
  std::shared_ptr<const Planned> planned;
  std::vector<std::int64_t> numbers;
  std::vector<fuse::LibraryCall> library;  // by step; empty for kernels
  std::vector<int> data;                   // nodes of leaves that steps read
  struct Place {
    int node;
    std::size_t offset, bytes;
  };
  std::vector<Place> places;                // of what lies in the arena
  std::vector<std::pair<int, int>> shared;  // a node, and the node whose memory it takes
  Arena arena;
  struct Result {
    int node;
    std::size_t block, offset, bytes;
  };
  std::vector<Result> results;      // of what is wanted and has elements, each once, if it is no leaf
  std::vector<std::size_t> blocks;  // bytes of the memory that results lie in
  std::vector<Repeated> repeated;   // in the order of the steps
  bool on_host = false;             // the host computes some step in the device's stead
};

/// The plan at these values of its symbols. On a device whose memory the host does not read, results share blocks: up to four, none of
/// less than half the largest's size, of 16 MiB together. One that outlives the others so holds at most seven times its own size.
void place(Placed& placed, std::shared_ptr<const Planned> planned, const std::vector<std::int64_t>& symbols, const Target& target);
/// Prepares the kernels that can be repeated, where the device does that.
void repeat(Placed& placed, const Target& target, Kernels& kernels);

/// The sizes that a plan was lately evaluated at: the second time it is placed there.
class Recurring {
 public:
  /// Null at the first time.
  std::shared_ptr<const Placed> at(const std::shared_ptr<const Planned>& planned, const std::vector<std::int64_t>& symbols, const Target& target,
                                   Kernels& kernels);

 private:
  static constexpr std::size_t kRemembered = 4;
  struct Entry {
    std::vector<std::int64_t> symbols;
    std::shared_ptr<const Placed> placed;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  // the latest first
};

}  // namespace sinter::engine
