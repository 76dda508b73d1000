#include "runtime/host/interpreter.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/per_thread.hpp"
#include "jit/reduction_order.hpp"
#include "runtime/host/interpreter_program.hpp"
#include "runtime/host/scratch.hpp"

namespace sinter::runtime {

using jit::Index;
using jit::Instr;
using jit::kNone;
using jit::kOne;
using jit::LoopNest;

namespace {

/// The maximum number of bytes of persistent buffers for a tile of lanes, if each lane is a separate row.
constexpr std::int64_t kPersistentBudget = 256 << 10;

/// Memory of one thread, reused from run to run.
struct Workspace {
  Scratch scratch;
  std::vector<std::int64_t> axis, base, slope;
  std::vector<const void*> values;
};

}  // namespace

// One run: the position on each axis, and the address of each value.
class Interpreter::Frame {
 public:
  Frame(const Program& program, const Arguments& arguments, AccessLog* log) : p_(program), nest_(program.nest), arguments_(arguments), log_(log) {
    for (int axis = nest_.parallel; axis < nest_.axes(); ++axis) row_points_ *= ints(axis);
    lanes_ = p_.lanes;
    if (!p_.lanes_are_rows && p_.persistent_bytes * row_points_ > 0)
      lanes_ = std::clamp<std::int64_t>(kPersistentBudget / (p_.persistent_bytes * row_points_), 16, lanes_);
    persistent_lanes_ = p_.lanes_are_rows ? 1 : lanes_;
    Workspace& workspace = per_thread<Workspace>();
    const std::int64_t fixed = p_.tiles * kTileBytes + p_.cells * 8;
    tiles_ =
        workspace.scratch.reserve(static_cast<std::size_t>(fixed + row_points_ * persistent_lanes_ * 8 * static_cast<std::int64_t>(nest_.persistent.size())));
    cells_ = tiles_ + p_.tiles * kTileBytes;
    persistent_ = cells_ + p_.cells * 8;
    workspace.axis.assign(nest_.axes(), 0);
    workspace.base.assign(nest_.indices.size(), 0);
    workspace.slope.assign(nest_.indices.size(), 0);
    workspace.values.assign(nest_.instrs.size(), nullptr);
    axis_ = workspace.axis.data();
    base_ = workspace.base.data();
    slope_ = workspace.slope.data();
    values_ = workspace.values.data();
  }

  void run(std::int64_t outer_begin, std::int64_t outer_end, std::int64_t inner_begin, std::int64_t inner_end) {
    const int outer_axes = p_.lanes_are_rows ? nest_.parallel : nest_.parallel - 1;
    std::int64_t rest = outer_begin;
    for (int axis = outer_axes - 1; axis >= 0; --axis) {
      axis_[axis] = rest % ints(axis);
      rest /= ints(axis);
    }
    for (std::int64_t outer = outer_begin; outer < outer_end; ++outer) {
      if (p_.lanes_are_rows) {
        n_ = 1;
        run_point();
      } else {
        for (std::int64_t begin = inner_begin; begin < inner_end; begin += lanes_) {
          axis_[nest_.lane_axis()] = begin;
          n_ = std::min(lanes_, inner_end - begin);
          run_point();
        }
      }
      advance(0, outer_axes);
    }
  }

 private:
  using StageProgram = Program::StageProgram;
  using Step = Program::Step;
  using Walk = Program::Walk;

  std::int64_t ints(int number) const { return arguments_.ints[number]; }
  std::int64_t factor(int number) const { return number == kOne ? 1 : ints(number); }
  char* tile(int place) const { return tiles_ + place * kTileBytes; }
  char* cell(int place) const { return cells_ + place * 8; }
  char* place(const Program::Value& value) const { return value.varying ? tile(value.place) : cell(value.place); }
  /// Returns an address in a persistent buffer. A buffer has 8 bytes for each value of any type, but adjacent values are as close as their type allows.
  char* persistent(int number, std::int64_t row) const {
    return persistent_ + row_points_ * persistent_lanes_ * 8 * number + row * persistent_lanes_ * bytes(nest_.persistent[number]);
  }
  static int bytes(DType dtype) { return static_cast<int>(itemsize(dtype)); }

  /// Advances the axes [first, last) like an odometer. Returns false if it wrapped around.
  bool advance(int first, int last) {
    for (int axis = last - 1; axis >= first; --axis) {
      if (++axis_[axis] < ints(axis)) return true;
      axis_[axis] = 0;
    }
    return false;
  }

  void run_point() {
    for (std::size_t k = 0; k < p_.stages.size(); ++k) {
      stage_ = static_cast<int>(k);
      if (p_.stages[k].row) run_rows(p_.stages[k], nest_.stages[k]);
      else run_body(p_.stages[k], nest_.stages[k]);
    }
  }

  void run_rows(const StageProgram& program, const jit::Stage& stage) {
    const std::int64_t point_lanes = n_;
    const std::int64_t parts = p_.lanes_are_rows ? program.row_lanes : point_lanes;
    for (const auto& fold : program.folds)
      for (int place : {fold.step, fold.block, fold.run})
        if (place >= 0) fold.kernels.start(parts, tile(place));
    for (const auto& scan : program.scans) start(scan, p_.lanes_are_rows ? 1 : point_lanes);
    steps_ = 0;
    const int first = nest_.parallel, last = p_.lanes_are_rows ? nest_.axes() - 1 : nest_.axes();
    const std::int64_t first_extent = first_row_extent();
    std::fill(axis_ + first, axis_ + nest_.axes(), 0);
    row_ = 0;
    for (bool more = row_points_ > 0 && first_extent > 0; more; more = advance(first, last) && (last == first || axis_[first] < first_extent)) {
      if (p_.lanes_are_rows) {
        const int inner = nest_.lane_axis();
        const std::int64_t extent = inner == first ? first_extent : ints(inner);
        for (std::int64_t begin = 0; begin < extent; begin += p_.lanes) {
          axis_[inner] = begin;
          n_ = std::min(p_.lanes, extent - begin);
          run_body(program, stage);
          row_ += n_;
          if (decided(program, stage, parts)) break;
        }
        axis_[inner] = 0;
      } else {
        n_ = lanes_in_row(point_lanes);
        if (n_ > 0) run_body(program, stage);
        ++row_;
      }
      if (decided(program, stage, parts)) break;
    }
    n_ = point_lanes;
    for (const auto& fold : program.folds) finish(fold, parts);
  }

  // ---- reductions, in the order of jit/reduction_order.hpp

  /// Adds the tile's values to the reductions of this row stage.
  void combine(const StageProgram& program) {
    if (!p_.lanes_are_rows) {
      for (const auto& fold : program.folds) fold.kernels.combine(n_, n_, as_tile(fold.value, 0), tile(fold.step));
      end_steps(program, 1, n_);
      return;
    }
    const std::int64_t lanes = program.row_lanes;
    for (std::int64_t first = 0; first < n_;) {
      const std::int64_t steps = jit::kBlockSteps - steps_ % jit::kBlockSteps;  // up to the end of the block
      const std::int64_t count = std::min(steps * lanes, n_ - first);
      for (const auto& fold : program.folds) {
        const auto* values = static_cast<const char*>(as_tile(fold.value, 0));
        fold.kernels.combine(count, lanes, values + first * p_.values[fold.value].bytes, tile(fold.step));
      }
      end_steps(program, (count + lanes - 1) / lanes, lanes);
      first += count;
    }
  }
  void end_steps(const StageProgram& program, std::int64_t steps, std::int64_t parts) {
    steps_ += steps;
    if (steps_ % jit::kBlockSteps != 0) return;
    for (const auto& fold : program.folds) {
      if (fold.block < 0) continue;
      move_part(fold, parts, fold.step, fold.block);
      if (steps_ % jit::kRunSteps == 0) move_part(fold, parts, fold.block, fold.run);
    }
  }
  /// Combines parts into the next larger ones, and starts the parts again.
  void move_part(const Program::Fold& fold, std::int64_t parts, int from, int to) {
    fold.kernels.combine(parts, parts, tile(from), tile(to));
    fold.kernels.start(parts, tile(from));
  }
  void finish(const Program::Fold& fold, std::int64_t parts) {
    if (fold.block >= 0) {
      move_part(fold, parts, fold.step, fold.block);
      move_part(fold, parts, fold.block, fold.run);
    }
    char* total = tile(fold.block >= 0 ? fold.run : fold.step);
    const Program::Value& value = p_.values[fold.result];
    if (p_.lanes_are_rows)
      for (std::int64_t half = parts / 2; half > 0; half /= 2) fold.kernels.combine(half, half, total + half * value.bytes, total);
    char* out = place(value);
    std::memcpy(out, total, n_ * value.bytes);
    values_[fold.result] = out;
  }

  /// Returns whether no later element of the row can change the stage's results.
  bool decided(const StageProgram& program, const jit::Stage& stage, std::int64_t parts) const {
    if (!program.may_end_early) return false;
    for (std::size_t k = 0; k < program.folds.size(); ++k) {
      const char* part = tile(program.folds[k].step);
      const int bound = program.folds[k].bound;
      const int deciding = stage.reductions[k].op == jit::Op::reduce_max;
      bool known = false;
      if (bound >= 0) known = p_.lanes_are_rows && found_before(part, parts, *static_cast<const std::int64_t*>(values_[bound]));
      else if (p_.lanes_are_rows) known = std::memchr(part, deciding, parts) != nullptr;
      else known = std::memchr(part, 1 - deciding, parts) == nullptr;
      if (!known) return false;
    }
    return true;
  }

  static bool found_before(const char* parts, std::int64_t count, std::int64_t bound) {
    const auto* places = reinterpret_cast<const std::int64_t*>(parts);
    return std::any_of(places, places + count, [&](std::int64_t place) { return place < bound; });
  }

  void start(const Program::Scan& scan, std::int64_t lanes) {
    const int from = nest_.instrs[scan.instr].args[1];
    if (from < 0) return scan.kernels.start(lanes, tile(scan.place));
    const Program::Value& value = p_.values[from];
    if (value.varying) std::memcpy(tile(scan.place), values_[from], lanes * value.bytes);
    else fill(value.bytes, lanes, values_[from], tile(scan.place));
  }

  /// Returns the first row axis' extent, without the part after the end of the last chunk.
  std::int64_t first_row_extent() const {
    const std::int64_t size = ints(nest_.parallel);
    if (nest_.chunk_axis < 0) return size;
    return std::clamp<std::int64_t>(ints(nest_.chunk_total) - axis_[nest_.chunk_axis] * size, 0, size);
  }
  /// Returns how many lanes have this row, when chunks are lanes: the chunks before the one that ends early.
  std::int64_t lanes_in_row(std::int64_t lanes) const {
    if (nest_.chunk_axis != nest_.lane_axis()) return lanes;
    const std::int64_t size = ints(nest_.chunk_row), row = axis_[nest_.chunk_row];
    const std::int64_t chunks = (ints(nest_.chunk_total) - row + size - 1) / size;
    return std::clamp<std::int64_t>(chunks - axis_[nest_.lane_axis()], 0, lanes);
  }

  void run_body(const StageProgram& program, const jit::Stage& stage) {
    for (int index : program.indices) evaluate(index);
    for (const Step& step : program.steps) {
      if (step.index >= 0) evaluate(step.index);
      else execute(program, step);
    }
    if (program.row) combine(program);
    for (const auto& keep : stage.keeps) {
      const int size = bytes(nest_.persistent[keep.buffer]);
      if (p_.values[keep.value].varying) std::memcpy(persistent(keep.buffer, row_), values_[keep.value], n_ * size);
      else fill(size, n_, values_[keep.value], persistent(keep.buffer, row_));
    }
    for (const auto& put : stage.stores) store(put);
    for (const auto& check : stage.checks) raise(check);
  }

  /// Sets the flag of a failed check. Several threads may find that the same check failed; the value of any of them is stored.
  void raise(const jit::Check& check) const {
    const bool varying = p_.values[check.condition].varying;
    const auto* holds = static_cast<const std::uint8_t*>(values_[check.condition]);
    const auto* failed = static_cast<const std::uint8_t*>(std::memchr(holds, 0, varying ? n_ : 1));
    if (!failed) return;
    const auto* value = static_cast<const std::int64_t*>(values_[check.value]);
    auto* flags = static_cast<std::int64_t*>(arguments_.pointers[nest_.inputs.size() + nest_.outputs.size()]) + 2 * check.number;
    std::atomic_ref(flags[0]).store(1, std::memory_order_relaxed);
    std::atomic_ref(flags[1]).store(value[p_.values[check.value].varying ? failed - holds : 0], std::memory_order_relaxed);
  }

  /// Returns a + b * c modulo 2^64. A computed position may be any number until its check has failed.
  static std::int64_t wrapping_sum(std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b) * static_cast<std::uint64_t>(c));
  }

  void evaluate(int number) {
    const Index& index = nest_.indices[number];
    std::int64_t base = index.constant == kNone ? 0 : ints(index.constant), slope = 0;
    for (const auto& term : index.terms) {
      const std::int64_t coeff = factor(term.coeff);
      if (term.axis >= 0) {
        base += coeff * axis_[term.axis];
        if (term.axis == nest_.lane_axis()) slope += coeff;
      } else if (term.value >= 0) {
        if (!p_.values[term.value].varying) base = wrapping_sum(base, coeff, *static_cast<const std::int64_t*>(values_[term.value]));
      } else if (p_.walks[term.inner] == Walk::constant) {
        std::int64_t value = base_[term.inner] / factor(term.div);
        if (term.mod != kNone) value %= factor(term.mod);
        base += coeff * value;
      } else if (adds_linearly(term)) {
        base += coeff * base_[term.inner];
        slope += coeff * slope_[term.inner];
      }
    }
    base_[number] = base;
    slope_[number] = slope;
    if (p_.walks[number] != Walk::irregular) return;
    auto* out = irregular(number);
    for (std::int64_t k = 0; k < n_; ++k) out[k] = base + k * slope;
    for (const auto& term : index.terms)
      if (term.value >= 0 && p_.values[term.value].varying) {
        const auto* values = static_cast<const std::int64_t*>(values_[term.value]);
        const std::int64_t coeff = factor(term.coeff);
        for (std::int64_t k = 0; k < n_; ++k) out[k] = wrapping_sum(out[k], coeff, values[k]);
      } else if (term.inner >= 0 && p_.walks[term.inner] != Walk::constant && !adds_linearly(term)) add_irregular(term, out);
  }
  bool adds_linearly(const Index::Term& term) const { return p_.walks[term.inner] == Walk::linear && term.div == kOne && term.mod == kNone; }
  std::int64_t* irregular(int index) const { return reinterpret_cast<std::int64_t*>(tile(p_.irregular_tile[index])); }

  void add_irregular(const Index::Term& term, std::int64_t* out) const {
    const std::int64_t coeff = factor(term.coeff), div = factor(term.div);
    const std::int64_t mod = term.mod == kNone ? INT64_MAX : factor(term.mod);
    if (p_.walks[term.inner] == Walk::irregular) {
      const std::int64_t* inner = irregular(term.inner);
      for (std::int64_t k = 0; k < n_; ++k) out[k] += coeff * (inner[k] / div % mod);
    } else if (slope_[term.inner] == 1) {  // counting avoids the divisions
      std::int64_t within = base_[term.inner] % div, value = base_[term.inner] / div % mod;
      for (std::int64_t k = 0; k < n_; ++k) {
        out[k] += coeff * value;
        if (++within == div) {
          within = 0;
          if (++value == mod) value = 0;
        }
      }
    } else {
      std::int64_t inner = base_[term.inner];
      for (std::int64_t k = 0; k < n_; ++k, inner += slope_[term.inner]) out[k] += coeff * (inner / div % mod);
    }
  }

  void execute(const StageProgram& program, const Step& step) {
    const Instr& instr = nest_.instrs[step.instr];
    const Program::Value& value = p_.values[step.instr];
    const void*& result = values_[step.instr];
    switch (instr.kind) {
      case Instr::Kind::load: return load(step, instr, value);
      case Instr::Kind::scalar: result = &arguments_.scalars[instr.input]; return;
      case Instr::Kind::index: {
        auto* out = reinterpret_cast<std::int64_t*>(place(value));
        result = out;
        if (!value.varying) *out = base_[instr.input];
        else if (p_.walks[instr.input] == Walk::irregular) std::memcpy(out, irregular(instr.input), n_ * sizeof *out);
        else
          for (std::int64_t k = 0; k < n_; ++k) out[k] = base_[instr.input] + k * slope_[instr.input];
        return;
      }
      case Instr::Kind::persistent: result = persistent(instr.input, row_); return;
      case Instr::Kind::reduced: return;
      case Instr::Kind::scan: {
        const auto& scan = *std::find_if(program.scans.begin(), program.scans.end(), [&](const auto& s) { return s.instr == step.instr; });
        const void* values = as_tile(step.args[0], 0);
        char* out = place(value);
        if (p_.lanes_are_rows) scan.kernels.row(n_, program.scan_lanes, values, tile(scan.place), out);
        else scan.kernels.lanes(n_, values, tile(scan.place), out);
        result = out;
        return;
      }
      case Instr::Kind::op: {
        const void* operands[3] = {};
        for (int k = 0; k < 3 && step.args[k] >= 0; ++k) operands[k] = step.expand[k] ? as_tile(step.args[k], k) : values_[step.args[k]];
        char* out = place(value);
        step.kernel(value.varying ? n_ : 1, operands, out);
        result = out;
        return;
      }
    }
  }

  enum class Lanes : std::uint8_t { all, none, some };
  /// Returns the number of the tile's lanes for which a guard is true (guard -1: there is none, so all lanes count).
  Lanes lanes_of(int guard) const {
    if (guard < 0) return Lanes::all;
    const auto* holds = static_cast<const std::uint8_t*>(values_[guard]);
    if (!p_.values[guard].varying) return *holds ? Lanes::all : Lanes::none;
    if (!std::memchr(holds, 0, n_)) return Lanes::all;
    return std::memchr(holds, 1, n_) ? Lanes::some : Lanes::none;
  }
  /// Returns the positions of an access, one for each lane.
  const std::int64_t* places(int index) const {
    if (p_.walks[index] == Walk::irregular) return irregular(index);
    auto* out = reinterpret_cast<std::int64_t*>(tile(p_.scratch_tile + 1));
    for (std::int64_t k = 0; k < n_; ++k) out[k] = base_[index] + k * slope_[index];
    return out;
  }

  void load(const Step& step, const Instr& instr, const Program::Value& value) {
    const int index = nest_.inputs[instr.input].index;
    const char* from = static_cast<const char*>(arguments_.pointers[instr.input]);
    const bool neighbours = !value.varying || (p_.walks[index] == Walk::linear && slope_[index] == 1);
    const Lanes lanes = lanes_of(instr.guard);
    if (log_) each_element(index, value.varying, instr.guard, lanes, [&](std::int64_t element) { log_->read(stage_, instr.input, element); });
    if (neighbours && step.in_place && lanes == Lanes::all) {
      values_[step.instr] = from + base_[index] * value.bytes;
      return;
    }
    char* out = place(value);
    if (lanes != Lanes::all) load_filled(instr, value, lanes, from, out);
    else if (neighbours) std::memcpy(out, from + base_[index] * value.bytes, (value.varying ? n_ : 1) * value.bytes);
    else if (p_.walks[index] == Walk::irregular) gather(value.bytes, n_, from, irregular(index), out);
    else gather(value.bytes, n_, from, base_[index], slope_[index], out);
    values_[step.instr] = out;
  }

  /// Visits the positions of an access, in the lanes whose guard is true.
  template <class Visit> void each_element(int index, bool several, int guard, Lanes lanes, Visit visit) const {
    if (lanes == Lanes::none) return;
    const auto* holds = lanes == Lanes::some ? static_cast<const std::uint8_t*>(values_[guard]) : nullptr;
    for (std::int64_t k = 0; k < (several ? n_ : 1); ++k)
      if (!holds || holds[k]) visit(p_.walks[index] == Walk::irregular ? irregular(index)[k] : base_[index] + k * slope_[index]);
  }

  void load_filled(const Instr& instr, const Program::Value& value, Lanes lanes, const char* from, char* out) {
    static constexpr std::int64_t kZero = 0;
    const std::int64_t n = value.varying ? n_ : 1;
    if (instr.fill >= 0 && p_.values[instr.fill].varying) std::memcpy(out, values_[instr.fill], n * value.bytes);
    else fill(value.bytes, n, instr.fill >= 0 ? values_[instr.fill] : &kZero, out);
    if (lanes == Lanes::some)
      gather(value.bytes, n, from, places(nest_.inputs[instr.input].index), static_cast<const std::uint8_t*>(values_[instr.guard]), out);
  }

  void store(const jit::Store& put) {
    const int index = nest_.outputs[put.output].index, size = p_.values[put.value].bytes;
    char* to = static_cast<char*>(arguments_.pointers[nest_.inputs.size() + put.output]);
    const bool varying = p_.values[put.value].varying;
    const Lanes lanes = lanes_of(put.guard);
    if (lanes == Lanes::none) return;
    if (log_) {
      const bool several = varying || p_.walks[index] != Walk::constant;
      each_element(index, several, put.guard, lanes, [&](std::int64_t element) { log_->written(stage_, put.output, element); });
    }
    if (lanes == Lanes::some) {
      scatter(size, n_, as_tile(put.value, 0), to, places(index), static_cast<const std::uint8_t*>(values_[put.guard]));
    } else if (p_.walks[index] == Walk::irregular) {
      scatter(size, n_, as_tile(put.value, 0), to, irregular(index));
    } else if (slope_[index] != 1) {
      scatter(size, n_, as_tile(put.value, 0), to, base_[index], slope_[index]);
    } else if (varying) {
      std::memmove(to + base_[index] * size, values_[put.value], n_ * size);
    } else {
      fill(size, n_, values_[put.value], to + base_[index] * size);
    }
  }

  /// Returns the value's tile. A single value is repeated in scratch tile `k`.
  const void* as_tile(int id, int k) const {
    if (p_.values[id].varying || n_ == 1) return values_[id];
    char* out = tile(p_.scratch_tile + k);
    fill(p_.values[id].bytes, n_, values_[id], out);
    return out;
  }

  const Program& p_;
  const LoopNest& nest_;
  const Arguments& arguments_;
  AccessLog* const log_;
  int stage_ = 0;
  char *tiles_ = nullptr, *cells_ = nullptr, *persistent_ = nullptr;
  std::int64_t *axis_ = nullptr, *base_ = nullptr, *slope_ = nullptr;
  const void** values_ = nullptr;
  std::int64_t row_points_ = 1;
  std::int64_t lanes_ = 0;             // number of lanes of a tile of parallel points
  std::int64_t persistent_lanes_ = 1;  // elements of a persistent buffer at one row point
  std::int64_t n_ = 1;                 // elements of the current tile
  std::int64_t steps_ = 0;             // number of elements that the current row stage's reductions have combined
  std::int64_t row_ = 0;               // row-major number of the tile's first row point
};

Interpreter::Interpreter(const LoopNest& nest) : program_(std::make_unique<Program>(nest)) {}
Interpreter::~Interpreter() = default;
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;

void Interpreter::run(const Arguments& arguments, std::int64_t outer_begin, std::int64_t outer_end, std::int64_t inner_begin, std::int64_t inner_end,
                      AccessLog* log) const {
  if (outer_begin >= outer_end || inner_begin >= inner_end) return;
  Frame(*program_, arguments, log).run(outer_begin, outer_end, inner_begin, inner_end);
}

}  // namespace sinter::runtime
