// Executable: a plan bound to sizes. It holds the plan's numbers, the memory plan, and the launches that are the same from one run to the next. Evaluations,
// replayed evaluations and frozen functions all run one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
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
    int value;
    std::ptrdiff_t offset;
  };
  std::vector<Pointer> pointers;  // of all launches
  std::vector<int> constants;     // likewise, as PlannedStep::constants
  runtime::ReplayPtr replay;
};

struct Executable {
  std::shared_ptr<const Planned> planned;
  std::vector<std::int64_t> numbers;
  std::vector<fuse::LibraryCall> library;  // by step; empty for kernels
  std::vector<int> data;                   // values that are leaves and that steps read
  struct Place {
    int value;
    std::size_t offset, bytes;
    std::size_t last;  // step that needs it
  };
  std::vector<Place> places;                // of what lies in the arena
  std::vector<std::pair<int, int>> shared;  // a value, and the value whose memory it takes
  Arena arena;
  struct Result {
    int value;
    std::size_t block, offset, bytes;
  };
  std::vector<Result> results;      // of what is wanted and has elements, each once, if it is no leaf
  std::vector<std::size_t> blocks;  // bytes of the memory that results lie in
  std::vector<Repeated> repeated;   // in the order of the steps
  bool keeps_all = false;           // every value keeps its memory until the end of a run
  bool buffers = false;             // what lies in the arena has a handle of its own: the host computes some step in the device's stead, or it is kept
};

/// The plan at these values of its symbols. On a device whose memory the host does not read, results share blocks: up to four, none of
/// less than half the largest's size, of 16 MiB together. One that outlives the others so holds at most seven times its own size.
/// `keep_all`: every value keeps its memory until the end of a run.
Executable bound_executable(std::shared_ptr<const Planned> planned, const std::vector<std::int64_t>& symbols, const Target& target, Kernels& kernels,
                            bool keep_all = false);
/// Prepares the kernels that can be repeated, where the device does that.
void prepare_repeats(Executable& executable, const Target& target, Kernels& kernels);

/// The sizes that a plan was lately evaluated at. Kernels are prepared to be repeated when sizes come the second time.
class Recurring {
 public:
  /// `check` is called with an executable that is new.
  std::shared_ptr<const Executable> at(const std::shared_ptr<const Planned>& planned, const std::vector<std::int64_t>& symbols, const Target& target,
                                       Kernels& kernels, const std::function<void(const Executable&)>& check = {});

 private:
  static constexpr std::size_t kRemembered = 4;
  struct Entry {
    std::vector<std::int64_t> symbols;
    std::shared_ptr<const Executable> executable;
    bool repeats = false;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  // the latest first
};

}  // namespace sinter::engine
