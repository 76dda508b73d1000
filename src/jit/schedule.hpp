// Schedule: how one kernel runs, as one plain value. choose.hpp makes it, from a kernel and a device's limits; the CUDA printer, the
// LLVM writer, the interpreter and the division between threads obey it and choose nothing themselves. What a kernel computes does
// not depend on it: on a CPU not a bit of the result, on CUDA the order in which the threads of a row are combined.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuse/limits.hpp"

namespace sinter::jit {

/// Lanes are the elements of a CPU's vectors, or a GPU's threads; neighbouring ones walk one axis.
enum class Form : std::uint8_t {
  pointwise,    // there are no rows; lanes walk the last parallel axis
  tiles,        // pointwise where lanes walk apart somewhere: blocks of the last two axes, transposed in registers or in shared memory
  rows,         // lanes walk the last row axis and share its reductions
  columns,      // lanes walk the last parallel axis, each down a row of its own
  contraction,  // CUDA: rows that are made of pairs (jit/contraction.hpp): squares of two parallel axes, accumulated in registers
  panels,       // CPU: columns, several rows read at once into a panel of accumulators in the first cache
};
std::string_view name(Form form);

struct Schedule {
  Form form = Form::pointwise;
  std::vector<int> axes;  // the order of the kernel's axes, parallel ones first; empty: as they come
  bool keep = false;      // values that a later pass over the row needs stay in persistent buffers; false: there are none, or they are computed again

  // CPU
  int unroll = 1;      // vectors of lanes at once, where lanes walk a parallel axis
  int tile = 64;       // tiles: points of the other axis, several cache lines of each strided stream
  int panel = 64;      // panels: vectors of accumulators, for each reduction
  int panel_rows = 4;  // panels: rows read at once
  int stream = 32;     // a kernel that writes more MiB leaves nothing useful in the cache: its stores go past it
  int workspace = 32;  // KiB of the first cache that the interpreter's tiles may take
  int grain = 32;      // thousands (1024) of cheap operations that are worth another thread
  int pieces = 4;      // of each thread: enough to even out their speeds

  // CUDA
  int vector = 1;             // elements a thread takes at once along the lanes' axis, in accesses of up to 16 bytes
  std::vector<int> singles;   // accesses, inputs first, that go element by element all the same: they start between vectors, or lie apart
  bool tail = false;          // pointwise: the last points may be fewer than a vector's
  int threads = 256;          // of a block; columns: 32 beside each other, the others share the rows
  int row_threads = 256;      // rows: threads that share one; 8, 16 or 32 (of a warp, several rows a block) or all
  int cluster = 1;            // rows that all threads of a block share: blocks that share one, each a part of it, as a cluster
  int row_steps = 0;          // rows: steps of a thread over its row, unrolled, so that persistent buffers are registers; 0: a loop, and shared memory
  bool whole = false;         // rows: every row has a point for each thread at every step
  int residents = 0;          // columns that are kept: blocks of a multiprocessor that registers are shared out for; 0: as many as there will be
  int side = 128;             // contraction: points of a block's square each way; a thread has a sixteenth of them
  int left = -1, right = -1;  // contraction: the axes along which either operand changes; threads beside each other walk the right one
  int blocks = 32;            // of the grid for each multiprocessor, at most
  bool wide_index = true;     // 64-bit indices

  bool lanes_along_rows() const { return form == Form::rows; }
  bool is_single(std::size_t access) const { return std::find(singles.begin(), singles.end(), static_cast<int>(access)) != singles.end(); }
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// "rows, vector=4, threads=256, row_threads=32, index=32": what matters for the form and the backend.
std::string to_string(const Schedule& schedule, fuse::Backend backend);

/// What is wished of a schedule: "vector=8", "form=columns, threads=128, axes=1.0". Whoever chooses takes what is possible for the
/// kernel at hand and the device, and chooses the rest as ever.
class Wish {
 public:
  Wish() = default;
  /// Throws ValueError for a field that is none, or no number.
  static Wish parse(std::string_view text);
  std::string text() const;
  bool empty() const { return fields_.empty(); }
  /// The wished value of a field, or `otherwise`.
  int number(std::string_view field, int otherwise) const;
  bool has(std::string_view field) const;
  /// Of "form": false when there is no such wish.
  bool form(Form& form) const;
  std::vector<int> axes() const;
  /// This wish and the other; where both name a field, the other's counts.
  Wish with(const Wish& other) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace sinter::jit
