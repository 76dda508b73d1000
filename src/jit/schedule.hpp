// Schedule: a plain value that says how one kernel runs: what every form has, and one form with its own fields. choose.hpp makes it from a kernel and a
// device's limits. The forms (jit/forms), the interpreter and the division between threads obey it and choose nothing themselves. Results do not depend on it:
// on a CPU not a single bit does, on CUDA only the order in which the threads of a row are combined.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "fuse/limits.hpp"

namespace sinter::jit {

/// A thread's steps over its row, unrolled, with persistent buffers in registers.
struct Steps {
  int count = 0;       // 0: a loop, and shared memory
  bool whole = false;  // every row has a point for each thread at every step
};

/// There are no rows; vectorised along the last parallel axis.
struct PointwiseForm {
  static constexpr std::string_view kName = "pointwise";
  int unroll = 1;     // CPU: vectors at once
  bool tail = false;  // GPU: the last points may be fewer than a vector
};

/// The most points of a short axis that are taken apart in registers.
inline constexpr int kMaxThin = 8;

/// Pointwise with a stride along the lanes somewhere: blocks of the last two axes, transposed in registers or in shared memory.
struct TilesForm {
  static constexpr std::string_view kName = "tiles";
  int tile = 64;  // CPU: points of the other axis, several cache lines of each strided stream
  int thin = 0;   // CPU: the points of the other axis, if they are so few that vectors of several lanes' points are taken apart in registers; 0: they are not
};

/// Vectorised along the last row axis; the lanes share its reductions.
struct RowsForm {
  static constexpr std::string_view kName = "rows";
  int row_threads = 256;  // GPU: threads that share a row; 8, 16 or 32 (of a warp; a block has several rows) or all threads of the block
  int cluster = 1;        // GPU, with all threads of a block on one row: blocks that share the row as a cluster, each a part of it
  Steps steps;            // GPU
  int short_rows = 0;     // CPU: rows of up to so many points may be transposed in groups
};

/// The values of short_rows. Kernels of a group of lengths have one text; lengths of more than 16 share plans, too.
inline constexpr int kShortRows[] = {8, 12, 16, 47, 63};

/// Vectorised along the last parallel axis; each lane has a row of its own. On a GPU 32 threads of a block are adjacent, the others share the rows.
struct ColumnsForm {
  static constexpr std::string_view kName = "columns";
  int unroll = 1;     // CPU: vectors at once
  int thin = 0;       // CPU: as for tiles, the points of the last row axis
  Steps steps;        // GPU
  int residents = 0;  // GPU, with steps: blocks for whose registers a multiprocessor must have room; 0: no such bound
};

/// GPU: rows over pairs (jit/contraction.hpp), in tiles of two parallel axes, accumulated in registers.
struct ContractionForm {
  static constexpr std::string_view kName = "contraction";
  int side = 128;             // of a block's tile in points; a thread has a sixteenth of it each way
  int left = -1, right = -1;  // the axes along which either operand changes; adjacent threads lie along the right axis
};

/// CPU: columns, with several rows read at once into a panel of accumulators in the first-level cache.
struct PanelsForm {
  static constexpr std::string_view kName = "panels";
  int panel = 64;      // vectors of accumulators, for each reduction
  int panel_rows = 8;  // rows read at once, if they are long
};

/// Lanes are the elements of a CPU's vectors, or a GPU's threads. A nest is vectorised along one axis.
using Form = std::variant<PointwiseForm, TilesForm, RowsForm, ColumnsForm, ContractionForm, PanelsForm>;
inline std::string_view name(const Form& form) {
  return std::visit([](const auto& f) { return f.kName; }, form);
}

struct Schedule {
  Form form;
  std::vector<int> axes;  // the order of the kernel's axes, parallel ones first; empty: unchanged
  bool keep = false;      // values that a later pass over the row needs are cached in persistent buffers; false: there are none, or they are computed again

  // CPU
  int stream = 32;     // a kernel that writes at least so many MiB uses streaming stores, because it leaves nothing useful in the cache
  int workspace = 32;  // KiB of the first-level cache that the interpreter's tiles may take
  int grain = 32;      // units of 1024 cheap operations that are worth another thread
  int pieces = 4;      // pieces for each thread: enough to balance differences in their speed

  // GPU
  int vector = 1;            // elements that a thread takes at once along the lanes' axis, in accesses of up to 16 bytes
  std::vector<int> singles;  // accesses, inputs first, that are not vectorised: they start within vectors, or their elements are not adjacent
  int threads = 256;         // of a block
  int blocks = 32;           // maximum number of blocks of the grid for each multiprocessor
  bool wide_index = true;    // 64-bit indices

  template <class F> bool is() const { return std::holds_alternative<F>(form); }
  template <class F> F& as() { return std::get<F>(form); }
  template <class F> const F& as() const { return std::get<F>(form); }
  bool lanes_along_rows() const { return is<RowsForm>(); }
  bool is_single(std::size_t access) const { return std::find(singles.begin(), singles.end(), static_cast<int>(access)) != singles.end(); }
  /// Returns the form's steps; a form without gives none.
  Steps steps() const { return is<RowsForm>() ? as<RowsForm>().steps : is<ColumnsForm>() ? as<ColumnsForm>().steps : Steps(); }
  int unroll() const { return is<PointwiseForm>() ? as<PointwiseForm>().unroll : is<ColumnsForm>() ? as<ColumnsForm>().unroll : 1; }
  /// Returns the number of blocks that share a row.
  int cluster() const { return is<RowsForm>() ? as<RowsForm>().cluster : 1; }
};

/// Returns the fields that matter for the form and the backend: "rows, vector=4, threads=256, row_threads=32, index=32".
std::string to_string(const Schedule& schedule, fuse::Backend backend);

/// A field of schedules, in texts, overrides and plans.
struct Field {
  enum class On : std::uint8_t { both, cpu, gpu };
  enum Trait : std::uint8_t {
    asked = 1,   // an override may have it
    quiet = 2,   // texts omit the least value, which is the usual one; of a list the ascending order
    list = 4,    // numbers with dots between them
    powers = 8,  // the values are powers of two
    warps = 16,  // the values are multiples of 32
  };
  std::string_view name;
  On on;
  int traits;
  int min, max;
  std::vector<int> (*values)(const Schedule&);  // none if the schedule's form does not have the field
  std::initializer_list<int> tried = {};        // by alternatives(), apart from the chosen value

  bool is(Trait trait) const { return (traits & trait) != 0; }
};
/// Every field, in the order of texts.
std::span<const Field> fields();
/// Returns a field whose value is outside of its limits: "threads=100"; empty if there is none.
std::string impossible_field(const Schedule& schedule);

/// A schedule override: "vector=8", "form=columns, threads=128, axes=1.0". The chooser obeys the fields that are possible for the kernel and the device, and
/// decides all others itself.
class ScheduleOverride {
 public:
  /// Reads an override. Throws ValueError for an unknown field or a value that is no number.
  static ScheduleOverride parse(std::string_view text);
  std::string text() const;
  bool empty() const { return fields_.empty(); }
  bool has(std::string_view field) const { return value(field) != nullptr; }
  template <class F> bool asks_for() const { return has("form") && *value("form") == F::kName; }
  /// Returns the overriding values of a field; none if this override does not have it.
  std::vector<int> numbers(std::string_view field) const;
  int number(std::string_view field, int otherwise) const { return has(field) ? numbers(field)[0] : otherwise; }
  /// Joins this override and the other. Where both have a field, the other's value counts.
  ScheduleOverride with(const ScheduleOverride& other) const;

 private:
  const std::string* value(std::string_view field) const;

  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace sinter::jit
