// Reductions: their parts, and their combination in the order of jit/reduction_order.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "jit/llvm/kernel_writer.hpp"
#include "jit/reduction_order.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::llvm {

int KernelWriter::row_width(const Stage& stage) const {
  const bool ordered = std::any_of(stage.reductions.begin(), stage.reductions.end(),
                                   [&](const Reduction& reduction) { return is_floating(nest_.instrs[reduction.result].dtype); });
  const int step = row_lanes(nest_, stage);
  return ordered ? std::min(step, body_lanes(nest_, stage)) : step;
}

/// Declares the parts. `width` lanes are computed at once; a reduction that does not round has only these lanes.
void KernelWriter::start_reductions(const Stage& stage, int lanes, int width) {
  if (stage.reductions.empty()) return;
  ir_.set_name("steps");
  steps_ = ir_.alloca_of(DType::int64, 1);
  ir_.store(steps_, ir_.integer(DType::int64, 0));
  for (const Reduction& reduction : stage.reductions) {
    const Instr& result = nest_.instrs[reduction.result];
    const bool sliced = width < lanes && is_floating(result.dtype);
    const Value start = ir_.broadcast(neutral(reduction), sliced ? lanes : width);
    std::string levels;  // memory of all levels of a sliced step
    if (sliced) {
      ir_.set_name(result.name + ".parts");
      levels = ir_.alloca_of(result.dtype, lanes, 3);
    }
    int level = 0;
    const auto part = [&](const char* name) {
      ir_.set_name(fmt::format("{}.{}", result.name, name));
      std::string place =
          sliced ? element_pointer({levels, DType::int64}, result.dtype, ir_.integer(DType::int64, level++ * lanes)).ref : ir_.alloca_of(result.dtype, width);
      ir_.store(place, start);
      return place;
    };
    Parts& parts = parts_[reduction.result] = {start.lanes, sliced, part("step"), "", "", ""};
    if (!rounds(reduction.op, result.dtype)) continue;
    parts.block = part("block");
    parts.run = part("run");
  }
}

/// Adds a body's values to the parts: all lanes, or those from first_lane_ on, which stay in memory until combine_rest.
void KernelWriter::combine_values(const Stage& stage, int lanes) {
  for (const Reduction& reduction : stage.reductions) {
    const Instr& result = nest_.instrs[reduction.result];
    const Parts& parts = parts_[reduction.result];
    const Value value = ir_.broadcast(values_[reduction.value], lanes);
    ir_.set_name(result.name);
    if (parts.sliced) {
      const Value place = element_pointer({parts.step, DType::int64}, result.dtype, slice_);
      const Value before = load_memory(place, result.dtype, lanes), after = combine(reduction, before, value);
      store_memory(place, mask_.ref.empty() ? after : ir_.select(mask_, after, before));
    } else if (first_lane_.ref.empty()) {
      const Value before = ir_.load(parts.step, result.dtype, lanes), after = combine(reduction, before, value);
      ir_.store(parts.step, mask_.ref.empty() ? after : ir_.select(mask_, after, before));
    } else store_memory(element_pointer({parts.memory, DType::int64}, result.dtype, first_lane_), value);
  }
}

void KernelWriter::end_step(const Stage& stage) {
  bool blocks = false;
  for (const Reduction& reduction : stage.reductions) blocks |= !parts_[reduction.result].block.empty();
  if (!blocks) return;
  ir_.set_name("steps");
  const Value steps = ir_.add(ir_.load(steps_, DType::int64, 1), ir_.integer(DType::int64, 1));
  ir_.store(steps_, steps);
  const auto every = [&](int number, const char* what, const std::function<void()>& body) {
    const std::string then = ir_.label(what), done = ir_.label("counted");
    const Value in_part = ir_.bit_and(steps, ir_.integer(DType::int64, number - 1));
    ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.eq(in_part, ir_.integer(DType::int64, 0)).ref, then, done));
    ir_.begin_block(then);
    body();
    ir_.line("br label %" + done);
    ir_.begin_block(done);
  };
  every(kBlockSteps, "end_block", [&] {
    end_block(stage);
    every(kRunSteps, "end_run", [&] { end_run(stage); });
  });
}

void KernelWriter::end_block(const Stage& stage) {
  for (const Reduction& reduction : stage.reductions) {
    const Parts& parts = parts_[reduction.result];
    if (!parts.block.empty()) move_part(reduction, parts.step, parts.block);
  }
}

void KernelWriter::end_run(const Stage& stage) {
  for (const Reduction& reduction : stage.reductions) {
    const Parts& parts = parts_[reduction.result];
    if (!parts.block.empty()) move_part(reduction, parts.block, parts.run);
  }
}

/// Combines a part into the next larger one, and starts the part again.
void KernelWriter::move_part(const Reduction& reduction, const std::string& from, const std::string& to) {
  const Instr& result = nest_.instrs[reduction.result];
  const int lanes = parts_[reduction.result].lanes;
  ir_.set_name(result.name);
  ir_.store(to, combine(reduction, ir_.load(to, result.dtype, lanes), ir_.load(from, result.dtype, lanes)));
  ir_.store(from, ir_.broadcast(neutral(reduction), lanes));
}

void KernelWriter::finish_reductions(const Stage& stage) {
  end_block(stage);
  end_run(stage);
  for (const Reduction& reduction : stage.reductions) {
    const Instr& result = nest_.instrs[reduction.result];
    const Parts& parts = parts_[reduction.result];
    ir_.set_name(result.name);
    const Value total = ir_.load(parts.run.empty() ? parts.step : parts.run, result.dtype, parts.lanes);
    values_[reduction.result] = rows_are_lanes() ? horizontal(reduction, total) : total;
  }
}

void KernelWriter::start_rest(const Stage& stage) {
  for (const Reduction& reduction : stage.reductions) {
    const Instr& result = nest_.instrs[reduction.result];
    if (parts_[reduction.result].sliced) continue;
    ir_.set_name(result.name + ".rest");
    parts_[reduction.result].memory = ir_.alloca_of(is_bool(result.dtype) ? DType::int32 : result.dtype, 1, parts_[reduction.result].lanes);
  }
}

/// Combines the last, shorter step, whose first `count` lanes are in memory.
void KernelWriter::combine_rest(const Stage& stage, const Value& count) {
  const auto waits = [&](const Reduction& reduction) { return !parts_[reduction.result].sliced; };
  const auto some = std::find_if(stage.reductions.begin(), stage.reductions.end(), waits);
  if (some == stage.reductions.end()) return;
  const int lanes = parts_[some->result].lanes;
  std::string numbers;
  for (int k = 0; k < lanes; ++k) numbers += fmt::format("{}i32 {}", k ? ", " : "", k);
  const Value number = lanes == 1 ? ir_.integer(DType::int32, 0) : Value{fmt::format("<{}>", numbers), DType::int32, lanes, true};
  ir_.set_name("in_rest");
  const Value there = ir_.lt(number, ir_.convert("trunc", count, DType::int32));
  for (const Reduction& reduction : stage.reductions) {
    const Instr& result = nest_.instrs[reduction.result];
    const Parts& parts = parts_[reduction.result];
    if (!waits(reduction)) continue;
    ir_.set_name(result.name);
    const Value before = ir_.load(parts.step, result.dtype, lanes), rest = load_memory({parts.memory, DType::int64}, result.dtype, lanes);
    ir_.store(parts.step, ir_.select(there, combine(reduction, before, rest), before));
  }
}

/// Returns whether no later element can change the results.
Value KernelWriter::decided(const Stage& stage) {
  Value all;
  for (const Reduction& reduction : stage.reductions) {
    const Parts& parts = parts_[reduction.result];
    const Value part = ir_.load(parts.step, nest_.instrs[reduction.result].dtype, parts.lanes);
    const int bound = bound_of_first_place(nest_, reduction);
    const Value any = ir_.any(bound >= 0 ? ir_.lt(part, values_[bound]) : reduction.op == Op::reduce_max ? part : ir_.bit_not(part));
    all = all.ref.empty() ? any : ir_.bit_and(all, any);
  }
  return all;
}

Value KernelWriter::combine(const Reduction& reduction, const Value& a, const Value& b) {
  switch (reduction.op) {
    case Op::reduce_sum: return ir_.add(a, b);
    case Op::reduce_prod: return ir_.mul(a, b);
    case Op::reduce_min: return ir_.min(a, b);
    case Op::reduce_max: return ir_.max(a, b);
    default: throw InternalError(fmt::format("{} is not a reduction", trace::name(reduction.op)));
  }
}

Value KernelWriter::neutral(const Reduction& reduction) {
  const DType dtype = nest_.instrs[reduction.result].dtype;
  if (reduction.op == Op::reduce_sum) return ir_.zero(dtype);
  if (reduction.op == Op::reduce_prod) return ir_.number(dtype, 1);
  const bool is_min = reduction.op == Op::reduce_min;
  if (is_bool(dtype)) return ir_.integer(dtype, is_min);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (is_floating(dtype)) return ir_.real(dtype, is_min ? kInf : -kInf);
  return visit_storage(dtype, [&]<class T>() {
    using limits = std::numeric_limits<T>;
    return ir_.integer(dtype, static_cast<std::int64_t>(is_min ? limits::max() : limits::lowest()));
  });
}

/// Halves the vector until one lane is left. The tree is fixed.
Value KernelWriter::horizontal(const Reduction& reduction, Value v) {
  while (v.lanes > 1) {
    const int half = v.lanes / 2;
    const auto part = [&](int first) {
      std::string mask;
      for (int i = 0; i < half; ++i) mask += fmt::format("{}i32 {}", i ? ", " : "", first + i);
      const std::string type = type_name(v.dtype, v.lanes);
      if (half == 1) return ir_.lane(v, first);
      return ir_.emit(v.dtype, half, fmt::format("shufflevector {0} {1}, {0} poison, <{2} x i32> <{3}>", type, v.ref, half, mask));
    };
    const Value low = part(0), high = part(half);
    v = combine(reduction, low, high);
  }
  return v;
}

}  // namespace sinter::jit::llvm
