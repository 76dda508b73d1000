#include "engine/reach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sinter/errors.hpp"

namespace sinter::engine {
namespace {

using jit::kNone;
using jit::kOne;
__extension__ typedef __int128 Wide;  // wide enough for every sum or product of a few int64

constexpr Wide kMaxNumber = std::int64_t{1} << 56;

struct Range {
  Wide low = 0, high = 0;
};

[[noreturn]] void refuse(std::string_view what) { throw InternalError(fmt::format("a step of the plan {}", what)); }

Wide within_reason(Wide value) {
  if (value > kMaxNumber || value < -kMaxNumber) refuse("has numbers beyond any memory");
  return value;
}

Range scaled(const Range& range, Wide by) {
  const Wide a = within_reason(range.low * by), b = within_reason(range.high * by);
  return {std::min(a, b), std::max(a, b)};
}

/// Examines the accesses of one kernel.
class Walk {
 public:
  Walk(const jit::LoopNest& nest, const std::int64_t* numbers) : nest_(nest), numbers_(numbers) {
    for (int axis = 0; axis < nest.axes(); ++axis) {
      if (numbers[axis] < 0) refuse("has an axis of a negative size");
      (axis < nest.parallel ? empty_ : empty_rows_) |= numbers[axis] == 0;
    }
    for (const jit::Index& index : nest.indices) ranges_.push_back(of(index));
  }

  /// Returns whether no point is computed; a row stage computes none if its rows are empty.
  bool empty(bool row) const { return empty_ || (row && empty_rows_); }

  /// Returns the range of an index; nothing if it contains computed values.
  const std::optional<Range>& range(int index) const { return ranges_[static_cast<std::size_t>(index)]; }

  Wide parallel_points() const {
    Wide points = 1;
    for (int axis = 0; axis < nest_.parallel; ++axis) points = within_reason(points * numbers_[axis]);
    return points;
  }

 private:
  std::optional<Range> of(const jit::Index& at) const {  // inner indices are examined first
    Range sum;
    bool computed = false;
    if (at.constant != kNone) sum = scaled({1, 1}, number(at.constant));
    const bool chunked = nest_.chunk_axis >= 0 && walks_chunks(at);
    for (const jit::Index::Term& term : at.terms) {
      Range one;
      if (term.value >= 0) {
        computed = true;
        continue;
      }
      if (chunked && term.axis == nest_.chunk_axis) continue;  // examined below, together with the position in the chunk
      if (chunked && term.axis == nest_.chunk_row) {
        one = {0, number(nest_.chunk_total) - 1};
      } else if (term.axis >= 0) {
        one = {0, std::max<std::int64_t>(numbers_[term.axis] - 1, 0)};
      } else {
        const auto& inner = range(term.inner);
        const std::int64_t div = number(term.div);
        if (div <= 0 || (term.mod != kNone && number(term.mod) <= 0)) refuse("divides by a number that is not positive");
        if (term.mod != kNone) one = {0, number(term.mod) - 1};
        else if (!inner) computed = true;
        else one = {inner->low / div, inner->high / div};
      }
      const Range part = scaled(one, number(term.coeff));
      sum = {within_reason(sum.low + part.low), within_reason(sum.high + part.high)};
    }
    return computed ? std::nullopt : std::optional(sum);
  }

  std::int64_t number(int parameter) const { return parameter == kOne ? 1 : numbers_[parameter]; }

  /// Returns whether the index counts along the chunked axis: the chunk's number times its length, plus the position in the chunk.
  bool walks_chunks(const jit::Index& index) const {
    std::int64_t chunk = 0, row = 0;
    for (const jit::Index::Term& term : index.terms) {
      if (term.axis == nest_.chunk_axis) chunk += number(term.coeff);
      if (term.axis == nest_.chunk_row) row += number(term.coeff);
    }
    return row != 0 && static_cast<Wide>(row) * numbers_[nest_.chunk_row] == chunk;
  }

  const jit::LoopNest& nest_;
  const std::int64_t* numbers_;
  bool empty_ = false, empty_rows_ = false;
  std::vector<std::optional<Range>> ranges_;
};

std::int64_t bytes_of(const Executable& executable, const std::vector<std::int64_t>& leaf_bytes, std::size_t number) {
  const PlannedValue& value = executable.planned->values[number];
  if (value.is_leaf()) return leaf_bytes[static_cast<std::size_t>(value.leaf)];
  return value.bytes >= 0 ? executable.numbers[static_cast<std::size_t>(value.bytes)] : -1;
}

void check_inside(const Executable::Reached& reached, std::int64_t offset, std::int64_t bytes) {
  if (Wide{reached.first} + offset < 0 || (Wide{reached.last} + offset + 1) * static_cast<Wide>(reached.itemsize) > bytes)
    refuse("reaches outside of its buffers");
}

class Checker {
 public:
  Checker(const Executable& executable, const ReachTerms& terms) : executable_(executable), planned_(*executable.planned) {
    for (std::size_t k = 0; k < planned_.values.size(); ++k) bytes_.push_back(bytes_of(executable, terms.leaf_bytes, k));
    for (std::size_t k = 0; k < planned_.outputs.size(); ++k) {
      Wide bytes = static_cast<Wide>(itemsize(terms.dtypes[k]));
      for (const std::int64_t size : terms.shapes[k]) bytes = within_reason(bytes * size);
      if (bytes < 0 || bytes > std::max<std::int64_t>(bytes_[static_cast<std::size_t>(planned_.outputs[k])], 0))
        refuse("leaves a result shorter than its shape");
    }
  }

  /// Returns all accesses.
  std::vector<Executable::Reached> run() {
    for (const auto& [node, with] : executable_.shared) {
      written(with);
      if (bytes_[static_cast<std::size_t>(node)] > bytes_[static_cast<std::size_t>(with)]) refuse("takes the memory of a smaller value");
    }
    for (std::size_t s = 0; s < planned_.steps.size(); ++s) {
      if (planned_.steps[s].library) call(executable_.library[s], planned_.steps[s].numbers);
      else kernel(planned_.steps[s], planned_.steps[s].is_epilogue ? &executable_.library[s - 1] : nullptr);
    }
    return std::move(reached_);
  }

 private:
  const std::int64_t* numbers() const { return executable_.numbers.data(); }

  /// The places are within reason. `offset`: the number of the offset.
  void inside(int node, const Range& places, std::size_t offset, DType dtype) {
    reached_.push_back({node, static_cast<std::int64_t>(places.low), static_cast<std::int64_t>(places.high), offset, itemsize(dtype)});
    check_inside(reached_.back(), executable_.numbers[offset], bytes_[static_cast<std::size_t>(node)]);
  }

  /// A step may write only values of the plan, but no input and no constant, which may be mapped from the file.
  void written(int node) const {
    if (planned_.value(node).is_leaf()) refuse("writes over its input");
  }

  void kernel(const PlannedStep& step, const fuse::LibraryCall* followed) {
    const jit::LoopNest& nest = step.nest;
    const std::int64_t* ints = numbers() + step.numbers;
    const std::size_t offsets = step.numbers + nest.ints.size();
    const Walk walk(nest, ints);
    std::vector<bool> bare(nest.inputs.size());  // inputs that are read at every point without a guard
    for (const jit::Instr& instr : nest.instrs)
      if (instr.kind == jit::Instr::Kind::load && instr.guard < 0 && !walk.empty(instr.row)) bare[static_cast<std::size_t>(instr.input)] = true;
    if (followed && walk.parallel_points() != element_count(followed->shape)) refuse("follows a call of other points");
    if (walk.empty(false)) return;
    Wide largest = 0;
    for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
      if (!bare[k]) continue;
      const auto& places = walk.range(nest.inputs[k].index);
      if (!places) refuse("reads at computed places without a guard");
      inside(nest.inputs[k].buffer, *places, offsets + k, nest.inputs[k].dtype);
    }
    std::vector<bool> guarded(nest.outputs.size(), true);  // outputs that every point that writes them guards
    for (const jit::Stage& stage : nest.stages)
      for (const jit::Store& store : stage.stores)
        if (store.guard < 0 && !walk.empty(stage.row)) guarded[static_cast<std::size_t>(store.output)] = false;
    for (std::size_t k = 0; k < nest.outputs.size(); ++k) {
      const jit::Access& out = nest.outputs[k];
      const auto& places = walk.range(out.index);
      if (!places) refuse("writes at computed places");
      written(out.buffer);
      if (!guarded[k]) inside(out.buffer, *places, offsets + nest.inputs.size() + k, out.dtype);
      largest = std::max<Wide>(largest, bytes_[static_cast<std::size_t>(out.buffer)]);
    }
    if (!walk.empty(true) && walk.parallel_points() > largest) refuse("computes more points than it has room for");
  }

  void call(const fuse::LibraryCall& call, std::size_t numbers) {
    written(call.node);
    fuse::each_offset(call, [&](const fuse::LibraryOperand& operand, std::size_t at) {
      Range places;
      bool empty = false;
      for (std::size_t k = 0; k < operand.shape.size(); ++k) {
        if (operand.shape[k] < 0) refuse("has an operand of a negative size");
        empty |= operand.shape[k] == 0;
        const Range part = scaled({0, static_cast<Wide>(operand.shape[k]) - 1}, operand.strides[k]);
        places = {within_reason(places.low + part.low), within_reason(places.high + part.high)};
      }
      if (!empty) inside(operand.node, places, numbers + at, operand.dtype);
    });
    if (!fuse::is_sound(call)) refuse(fmt::format("calls a library in a way that it does not allow: {}", fuse::to_string(call)));
    Wide elements = 1;
    for (const std::int64_t size : call.shape) elements = within_reason(elements * size);
    if (elements * static_cast<Wide>(itemsize(call.stored)) > bytes_[static_cast<std::size_t>(call.node)]) refuse("reaches outside of its buffers");
  }

  const Executable& executable_;
  const Planned& planned_;
  std::vector<std::int64_t> bytes_;  // size of each node in memory
  std::vector<Executable::Reached> reached_;
};

}  // namespace

void check_bytes(const Planned& planned, const std::vector<std::int64_t>& symbols) {
  std::vector<std::int64_t> numbers;
  planned.program.evaluate(symbols, numbers);
  for (const PlannedValue& value : planned.values)
    if (value.bytes >= 0 && (numbers[static_cast<std::size_t>(value.bytes)] < 0 || numbers[static_cast<std::size_t>(value.bytes)] > kMaxNumber))
      refuse("writes a value of no size");
}

std::vector<Executable::Reached> check_reach(const Executable& executable, const ReachTerms& terms) { return Checker(executable, terms).run(); }

void check_offsets(const Executable& executable, const std::vector<std::int64_t>& leaf_bytes) {
  for (const Executable::Reached& reached : executable.reached)
    check_inside(reached, executable.numbers[reached.offset], bytes_of(executable, leaf_bytes, static_cast<std::size_t>(reached.value)));
}

}  // namespace sinter::engine
