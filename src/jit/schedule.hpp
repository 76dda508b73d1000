// Schedule: a plain value that says how one kernel runs. choose.hpp makes it from a kernel and a device's limits. A GPU's forms, the LLVM writer, the
// interpreter and the division between threads obey it and choose nothing themselves. Results do not depend on it: on a CPU not a single bit does, on CUDA only
// the order in which the threads of a row are combined.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuse/limits.hpp"

namespace sinter::jit {

/// Lanes are the elements of a CPU's vectors, or a GPU's threads. A nest is vectorised along one axis.
enum class Form : std::uint8_t {
  pointwise,    // there are no rows; vectorised along the last parallel axis
  tiles,        // pointwise with a stride along the lanes somewhere: blocks of the last two axes, transposed in registers or in shared memory
  rows,         // vectorised along the last row axis; the lanes share its reductions
  columns,      // vectorised along the last parallel axis; each lane has a row of its own
  contraction,  // CUDA: rows over pairs (jit/contraction.hpp), in tiles of two parallel axes, accumulated in registers
  panels,       // CPU: columns, with several rows read at once into a panel of accumulators in the first-level cache
};
std::string_view name(Form form);

struct Schedule {
  Form form = Form::pointwise;
  std::vector<int> axes;  // the order of the kernel's axes, parallel ones first; empty: unchanged
  bool keep = false;      // values that a later pass over the row needs are cached in persistent buffers; false: there are none, or they are computed again

  // CPU
  int unroll = 1;      // vectors at once, if vectorised along a parallel axis
  int tile = 64;       // tiles: points of the other axis, several cache lines of each strided stream
  int panel = 64;      // panels: vectors of accumulators, for each reduction
  int panel_rows = 4;  // panels: rows read at once
  int stream = 32;     // a kernel that writes at least so many MiB uses streaming stores, because it leaves nothing useful in the cache
  int workspace = 32;  // KiB of the first-level cache that the interpreter's tiles may take
  int grain = 32;      // units of 1024 cheap operations that are worth another thread
  int pieces = 4;      // pieces for each thread: enough to balance differences in their speed

  // CUDA
  int vector = 1;             // elements that a thread takes at once along the lanes' axis, in accesses of up to 16 bytes
  std::vector<int> singles;   // accesses, inputs first, that are not vectorised: they start within vectors, or their elements are not adjacent
  bool tail = false;          // pointwise: the last points may be fewer than a vector
  int threads = 256;          // of a block; columns: 32 are adjacent, the others share the rows
  int row_threads = 256;      // rows: threads that share a row; 8, 16 or 32 (of a warp; a block has several rows) or all threads of the block
  int cluster = 1;            // rows form with all threads of a block on one row: blocks that share the row as a cluster, each a part of it
  int row_steps = 0;          // rows, columns: unrolled steps of a thread over its row, with persistent buffers in registers; 0: a loop, and shared memory
  bool whole = false;         // rows, columns with row_steps: every row has a point for each thread at every step
  int residents = 0;          // columns with row_steps: blocks for whose registers a multiprocessor must have room; 0: no such bound
  int side = 128;             // contraction: the side of a block's tile in points; a thread has a sixteenth of it each way
  int left = -1, right = -1;  // contraction: the axes along which either operand changes; adjacent threads lie along the right axis
  int blocks = 32;            // maximum number of blocks of the grid for each multiprocessor
  bool wide_index = true;     // 64-bit indices

  bool lanes_along_rows() const { return form == Form::rows; }
  bool is_single(std::size_t access) const { return std::find(singles.begin(), singles.end(), static_cast<int>(access)) != singles.end(); }
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Returns the fields that matter for the form and the backend: "rows, vector=4, threads=256, row_threads=32, index=32".
std::string to_string(const Schedule& schedule, fuse::Backend backend);

/// A schedule override: "vector=8", "form=columns, threads=128, axes=1.0". The chooser obeys the fields that are possible for the kernel and the device, and
/// decides all others itself.
class ScheduleOverride {
 public:
  ScheduleOverride() = default;
  /// Reads an override. Throws ValueError for an unknown field or a value that is no number.
  static ScheduleOverride parse(std::string_view text);
  std::string text() const;
  bool empty() const { return fields_.empty(); }
  /// Returns the overriding value of a field, or `otherwise`.
  int number(std::string_view field, int otherwise) const;
  bool has(std::string_view field) const;
  /// Reads the field "form". Returns false when the override does not have it.
  bool form(Form& form) const;
  std::vector<int> axes() const;
  /// Joins this override and the other. Where both have a field, the other's value counts.
  ScheduleOverride with(const ScheduleOverride& other) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace sinter::jit
