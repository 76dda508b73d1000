// Executable: a plan bound to sizes. It has the plan's numbers, the memory plan, and the launches that are the same in every run. Evaluations, repeated
// evaluations and frozen functions all run executables.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/arena.hpp"
#include "engine/overlap.hpp"
#include "engine/planned.hpp"
#include "runtime/replay.hpp"

namespace sinter::engine {

/// Consecutive kernels that the device repeats together.
struct Repeated {
  std::size_t first = 0, last = 0;  // range [first, last) of the steps
  std::size_t launches = 0;         // number of kernels that write something
  struct Pointer {
    int value;
    std::ptrdiff_t offset;
  };
  std::vector<Pointer> pointers;  // pointers of all launches
  std::vector<int> constants;     // constants of all launches, as in PlannedStep::constants
  runtime::ReplayPtr replay;
};

struct Executable {
  std::shared_ptr<const Planned> planned;
  std::vector<std::int64_t> symbols, numbers;  // the sizes, and the plan's numbers for them
  std::vector<std::size_t> offsets;            // which of the numbers are offsets of accesses to buffers, ascending
  std::vector<fuse::LibraryCall> library;      // by step; empty for kernels
  std::vector<int> data;                       // leaves that steps read
  struct Place {
    int value;
    std::size_t offset, bytes;
    std::size_t last;  // last step that needs it
  };
  std::vector<Place> places;                // places of the values in the arena
  std::vector<std::pair<int, int>> shared;  // a value, and the value whose memory it uses
  Arena arena;
  struct Result {
    int value;
    std::size_t block, offset, bytes;
  };
  std::vector<Result> results;      // requested values that have elements and are not leaves, each once
  std::vector<std::size_t> blocks;  // sizes of the blocks for results
  std::vector<Repeated> repeated;   // in the order of the steps
  std::vector<Core> cores;          // cores of kernels that begin while elements from other ranks are being received
  /// The elements that a step accesses in the buffer of a value, before its offset, which is one of the numbers, is added.
  struct Reached {
    int value;
    std::int64_t first, last;
    std::size_t offset, itemsize;
  };
  std::vector<Reached> reached;  // of a plan from a file (engine/reach.hpp); otherwise empty
  bool keeps_all = false;        // every value keeps its memory until the end of a run
  bool buffers = false;          // values in the arena have separate handles, because the host computes a step for the device, or because keep_all is set
};

/// Binds the plan to these values of its symbols. On a device whose memory the host does not read, results share blocks: up to four results, none smaller than
/// half of the largest, together at most 16 MiB. So a result that outlives the others keeps at most seven times its own size allocated. `keep_all`: every value
/// keeps its memory until the end of a run.
Executable bound_executable(std::shared_ptr<const Planned> planned, const std::vector<std::int64_t>& symbols, const Target& target, Kernels& kernels,
                            bool keep_all = false);
/// Prepares kernels for repetition, if the device can repeat them.
void prepare_repeats(Executable& executable, const Target& target, Kernels& kernels);

/// The sizes at which a plan was recently evaluated. When sizes occur for the second time, kernels are prepared for repetition.
class Recurring {
 public:
  enum class Change : std::uint8_t { all, offsets };
  /// Calls `check` with a new executable, and with one of which only the offsets changed: a loop over the rows of an array reads each at another offset.
  using Check = std::function<void(Executable&, Change)>;
  std::shared_ptr<const Executable> at(const std::shared_ptr<const Planned>& planned, const std::vector<std::int64_t>& symbols, const Target& target,
                                       Kernels& kernels, const Check& check = {});

 private:
  static constexpr std::size_t kRemembered = 4;
  struct Entry {
    std::shared_ptr<Executable> executable;
    bool repeats = false;
  };
  bool move_one(const Planned& planned, const std::vector<std::int64_t>& symbols);

  std::mutex mutex_;
  std::vector<Entry> entries_;         // the most recent first
  std::vector<std::int64_t> numbers_;  // of the present call; kept for its memory
};

}  // namespace sinter::engine
