#include "jit/forms/cpu/lowering.hpp"

#include <algorithm>

#include "jit/forms/forms.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::forms {

loop::Kernel lower(const LoopNest& nest, const CpuTarget& cpu) {
  loop::Kernel kernel = std::visit([&](const auto& form) { return cpu::lower(nest, form, cpu); }, nest.schedule.form);
  loop::verify(kernel);
  return kernel;
}

namespace cpu {
namespace {

using Kind = Expr::Kind;
using loop::literal;

/// The number of values of a persistent buffer at each row point, if the kernel is vectorised along a parallel axis. It is part of the calling convention.
constexpr int kPersistentLanes = 64;

E iota(int lanes) { return loop::make(Kind::iota, {DType::int64, lanes}, {}); }

}  // namespace

loop::Kernel lower(const LoopNest& nest, const ContractionForm&, const CpuTarget&) {
  throw InternalError(fmt::format("CPU kernel {}: only a GPU has the form 'contraction'", nest.name));
}

Lowering::Lowering(const LoopNest& nest, const CpuTarget& cpu)
    : nest_(nest),
      cpu_(cpu),
      along_rows_(nest.schedule.lanes_along_rows()),
      lane_axis_(nest.lane_axis()),
      native_lanes_(std::min(kPersistentLanes, cpu.vector_bytes / widest_element(nest))),
      whole_vector_(cpu.vector_bytes),
      value_(nest.instrs.size()),
      hoisted_(nest.instrs.size()) {
  for (int a = 0; a < nest.axes(); ++a) sizes_.push_back(number(a));
}

loop::Kernel Lowering::write() {
  loop::Kernel kernel;
  kernel.name = nest_.name;
  kernel.threads = 0;
  kernel.notes = nest_.ops;
  for (std::string& op : kernel.notes) std::replace(op.begin(), op.end(), '\n', ' ');
  using P = loop::Parameter::Kind;
  for (const Access& a : nest_.inputs) kernel.parameters.push_back({a.name, a.dtype, P::input});
  for (const Access& a : nest_.outputs) kernel.parameters.push_back({a.name, a.dtype, P::output});
  if (nest_.checks > 0) kernel.parameters.push_back({"flags", DType::int64, P::output});
  for (std::size_t k = 0; k < nest_.ints.size(); ++k) kernel.parameters.push_back({fmt::format("s{}", k), DType::int64, P::number});
  for (std::size_t k = 0; k < nest_.scalars.size(); ++k) kernel.parameters.push_back({fmt::format("c{}", k), nest_.scalars[k].dtype, P::literal});

  E stored;
  for (const Access& output : nest_.outputs) {
    E bytes = literal(static_cast<std::int64_t>(itemsize(output.dtype)), DType::int64);
    for (int a = 0; a < nest_.axes(); ++a)
      if (depends_on(nest_, output.index, a)) bytes = bytes * number(a);
    stored = stored.empty() ? bytes : stored + bytes;
  }
  stored = int_let("stored", stored.empty() ? literal(0, DType::int64) : stored);
  // A store to an address with none of these bits set bypasses the cache.
  const E within_vector = int_let("within_vector", cpu_.vector_bytes - 1);
  int_let("stream", loop::select(literal(static_cast<std::int64_t>(nest_.schedule.stream) << 20, DType::int64) <= stored, within_vector, -1));
  for (int a = nest_.parallel; a < nest_.axes(); ++a) row_points_ = a == nest_.parallel ? sizes_[a] : row_points_ * sizes_[a];
  if (!nest_.persistent.empty()) {
    const E extent = int_let("persistent_points", row_points_ * (along_rows_ ? rows_at_once() : E(kPersistentLanes)));
    for (std::size_t k = 0; k < nest_.persistent.size(); ++k)
      add({.kind = Stmt::Kind::dynamic, .type = nest_.persistent[k], .name = fmt::format("persistent{}", k), .extent = extent});
  }
  // An empty range must not reach the divisions by sizes, which may be zero.
  branch(loop::bound("outer_begin") < loop::bound("outer_end"), [&] { outer_loop(); });
  kernel.body = std::move(out_);
  return kernel;
}

void Lowering::outer_loop() {
  const int outer = outer_axes();
  E rest = loop::bound("outer_begin");
  for (int a = outer - 1; a >= 0; --a) {
    var(axis_name(a) + "_counter", DType::int64, a == 0 ? rest : rest % sizes_[a]);
    if (a > 0) rest = let(axis_name(a) + "_rest", DType::int64, rest / sizes_[a]);
  }
  const E step = outer_step();
  loop("outer", loop::bound("outer_begin"), loop::bound("outer_end"), step, [&](const E&) {
    for (int a = 0; a < outer; ++a) set_axis(a, loop::variable(axis_name(a) + "_counter", DType::int64));
    outer_point();
    advance_outer_axes(step);
  });
}

/// Adds the step to the last outer axis and carries. The step ends exactly at that axis' end.
void Lowering::advance_outer_axes(const E& step) {
  E carry = step;
  for (int a = outer_axes() - 1; a >= 0; --a) {
    const E next = let(axis_name(a) + "_next", DType::int64, axis(a) + carry), counter = loop::variable(axis_name(a) + "_counter", DType::int64);
    if (a == 0) return store(counter, next);
    const E full = let(axis_name(a) + "_full", DType::bool_, next == sizes_[a]);
    store(counter, loop::select(full, literal(0, DType::int64), next));
    carry = loop::cast(full, DType::int64);
  }
}

void Lowering::point(int lanes) {
  if (nest_.chunk_axis >= 0) clip_rows();
  for (const Stage& stage : nest_.stages) {
    if (stage.row) row_stage(stage, lanes);
    else body(stage, lanes);
  }
}

/// Limits the rows to this point's chunk. The last chunk may be shorter, or empty.
void Lowering::clip_rows() {
  const E full = number(nest_.chunk_row);
  sizes_[nest_.chunk_row] = int_let("chunk_rows", maximum(minimum(full, number(nest_.chunk_total) - axis(nest_.chunk_axis) * full), 0));
}

void Lowering::row_stage(const Stage&, int) { throw InternalError(fmt::format("CPU kernel {}: its form has no rows", nest_.name)); }

// ---- bodies

void Lowering::body(const Stage& stage, int lanes) {
  const auto known = one_sided_.try_emplace(&stage).first;
  if (known->second.of.empty()) known->second = one_sided(nest_, stage);
  side(stage, known->second, 0, lanes);
  for (const PersistentStore& keep : stage.keeps) store(persistent_place(keep.buffer, lanes), value_[keep.value], points());
  for (const Store& s : stage.stores) {
    if (s.guard < 0 && mask_.empty()) {
      store_lanes(s, lanes);
      continue;
    }
    const Access& access = nest_.outputs[s.output];
    const E guard = s.guard >= 0 ? masked(value_[s.guard]) : points();
    store_last(place(access, lanes, guard->type.width > 1), value_[s.value], guard);
  }
  for (const Check& check : stage.checks)
    add({.kind = Stmt::Kind::check, .value = value_[check.value], .guard = masked(!value_[check.condition]), .number = check.number});
  combine_values(stage, lanes);
}

/// Computes the values that only this side needs; for side 0, all values that are not computed behind a branch.
void Lowering::side(const Stage& stage, const OneSided& sided, int side_number, int lanes) {
  for (const int number : stage.body) {
    if (hoisted_[number] || sided.of[number] != side_number) continue;
    const Instr& instr = nest_.instrs[number];
    for (const int operand : {1, 2}) {
      const int inner = sided.find(number, operand);
      if (inner < 0 || hoisted_[instr.args[operand]]) continue;
      const E condition = operand == 1 ? value_[instr.args[0]] : !value_[instr.args[0]], wanted = condition->type.width > 1 ? masked(condition) : condition;
      E& value = value_[instr.args[operand]];
      const auto known = indices_;
      Stmt taken{.kind = Stmt::Kind::branch, .guard = wanted->type.width > 1 ? loop::make(Kind::any, DType::bool_, {wanted}) : wanted};
      taken.body = collected([&] { side(stage, sided, inner, lanes); });
      indices_ = known;
      const E chosen = var(nest_.instrs[instr.args[operand]].name + "_side", value->type, 0);
      taken.body.push_back({.kind = Stmt::Kind::store, .value = value, .target = chosen});
      add(std::move(taken));
      value = chosen;
    }
    value_[number] = named(instr, instr.kind == Instr::Kind::scan ? scan(number, lanes) : value_of(instr, lanes));
  }
}

E Lowering::value_of(const Instr& instr, int lanes) {
  switch (instr.kind) {
    case Instr::Kind::load: return load(instr, lanes);
    case Instr::Kind::scalar: return loop::variable(fmt::format("c{}", instr.input), instr.dtype);
    case Instr::Kind::persistent: {
      const E values = persistent_place(instr.input, lanes);
      return mask_.empty() ? values : loop::guarded(values, points(), 0);
    }
    case Instr::Kind::index: {
      const int along = coefficient(nest_, instr.input, lane_axis_);
      if (along == kNone || lanes == 1) return index(instr.input, 1);
      if (along == kIrregular) return index(instr.input, lanes);
      return index(instr.input, 1) + (along >= 0 ? iota(lanes) * number(along) : iota(lanes));
    }
    case Instr::Kind::op: break;
    default: throw InternalError(fmt::format("{}: {} cannot be computed in a body", nest_.name, instr.name));
  }
  if (const E compared = compare_lanes(instr); !compared.empty()) return compared;
  std::vector<E> args;
  for (int k = 0; k < trace::primitive(instr.op).arity; ++k) args.push_back(value_[instr.args[k]]);
  if (instr.op == Op::cast) return loop::cast(args[0], instr.dtype);
  if (by_divisor_ && instr.op == Op::divide && is_floating(instr.dtype) && !is_storage_only(instr.dtype) && args[0]->type.width > 1 && args[1]->type.width == 1)
    return loop::make(Kind::quotient, args[0]->type, {args[0], loop::make(Kind::divisor, {instr.dtype, 1, true}, {args[1]})});
  return loop::primitive(instr.op, instr.dtype, std::move(args));
}

/// Compares the index along the vector axis with one number, by the number of lanes below it. Returns no expression for any other instruction.
E Lowering::compare_lanes(const Instr& instr) {
  const bool less = instr.op == Op::less || instr.op == Op::less_equal, equal = instr.op == Op::equal || instr.op == Op::not_equal;
  if ((!less && !equal) || instr.operand != DType::int64) return {};
  const auto walks = [&](int k) {
    const Instr& arg = nest_.instrs[instr.args[k]];
    return arg.kind == Instr::Kind::index && coefficient(nest_, arg.input, lane_axis_) == kOne && value_[instr.args[k]]->type.width > 1;
  };
  const int lane = walks(0) ? 0 : 1;
  if (!walks(lane) || value_[instr.args[1 - lane]]->type.width > 1) return {};
  const int lanes = value_[instr.args[lane]]->type.width;
  // Lane k is first + k. The number is clamped to 2^60, which is far from any index, so that `first` can be subtracted without overflow.
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  const E number = maximum(minimum(value_[instr.args[1 - lane]], literal(kFar, DType::int64)), literal(-kFar, DType::int64));
  const E before = let(instr.name + "_before", DType::int64, number - index(nest_.instrs[instr.args[lane]].input, 1));
  const auto lanes_below = [&](const E& count) { return loop::make(Kind::lanes_below, {DType::bool_, lanes}, {count}); };
  const E below = lanes_below(before), up_to = lanes_below(before + 1);
  switch (instr.op) {
    case Op::less: return lane == 0 ? below : !up_to;
    case Op::less_equal: return lane == 0 ? up_to : !below;
    case Op::equal: return up_to && !below;
    default: return below || !up_to;
  }
}

// ---- indices

E Lowering::index(int which, int lanes) {
  if (const auto found = indices_.find({which, lanes}); found != indices_.end()) return found->second;
  const Index& description = nest_.indices[which];
  // Terms of outer loops come first, so that their partial sums can move out of the inner loops.
  std::vector<Index::Term> terms = description.terms;
  const auto depth = [&](const Index::Term& term) {
    if (term.axis >= 0) return term.axis;
    if (term.value >= 0) return nest_.axes();
    int deepest = -1;
    for (int a = 0; a < nest_.axes(); ++a)
      if (depends_on(nest_, term.inner, a)) deepest = a;
    return deepest;
  };
  std::stable_sort(terms.begin(), terms.end(), [&](const auto& a, const auto& b) { return depth(a) < depth(b); });

  E sum;
  const auto plus = [&](const E& e) { sum = sum.empty() ? e : sum + e; };
  if (description.constant != kNone) plus(number(description.constant));
  for (const Index::Term& term : terms) {
    E factor;
    if (term.axis >= 0) {
      factor = axis(term.axis);
      if (term.axis == lane_axis_ && lanes > 1) factor = factor + iota(lanes);
    } else if (term.value >= 0) {
      factor = value_[term.value];
      if (lanes == 1 && factor->type.width > 1) factor = loop::lane_of(factor, 0);
    } else {
      factor = index(term.inner, lanes > 1 && depends_on(nest_, term.inner, lane_axis_) ? lanes : 1);
      if (term.div != kOne) factor = factor / number(term.div);
      if (term.mod != kNone) factor = factor % number(term.mod);
    }
    plus(term.coeff != kOne ? factor * number(term.coeff) : factor);
  }
  if (sum.empty()) sum = literal(0, DType::int64);
  const bool named = sum->kind == Kind::variable || sum->kind == Kind::literal;
  if (!named) sum = let(lanes > 1 ? fmt::format("i{}_lanes", which) : fmt::format("i{}", which), sum->type, sum);
  return indices_[{which, lanes}] = sum;
}

// ---- memory

E Lowering::place(const Access& access, int lanes, bool apart) {
  const int along = this->along(access);
  const E at = index(access.index, along == kIrregular ? lanes : 1);
  if (lanes == 1 || (along == kNone && !apart) || at->type.width > 1) return memory(access).at({at});
  if (along == kOne) return memory(access).vector_at({at}, lanes);
  return memory(access).strided_at(at, along >= 0 ? number(along) : E(0), lanes);
}

bool Lowering::has_masked_accesses() const {
  const auto masks = [&](const Access& access) {
    const int along = this->along(access);
    return along == kNone || (along == kOne && (has_mask_registers() || itemsize(access.dtype) >= 4));
  };
  return std::all_of(nest_.inputs.begin(), nest_.inputs.end(), masks) && std::all_of(nest_.outputs.begin(), nest_.outputs.end(), masks);
}

E Lowering::load(const Instr& instr, int lanes) {
  if (const auto found = loaded_.find(instr.input); found != loaded_.end()) return found->second;
  const Access& access = nest_.inputs[instr.input];
  const bool varies = along(access) != kNone;
  E guard = instr.guard >= 0 ? value_[instr.guard] : E();
  if (!guard.empty() && (varies || guard->type.width > 1)) guard = masked(guard);  // a single value stays single: at least one lane is in range
  else if (guard.empty() && varies) guard = points();
  if (guard.empty()) return lanes > 1 && along(access) == kIrregular ? load_irregular(instr, lanes) : place(access, lanes);
  const E from = place(access, lanes, guard->type.width > 1), fill = instr.fill < 0 ? E(0) : value_[instr.fill];
  if (fill->type.width > from->type.width) return loop::select(guard, loop::guarded(from, guard, 0), fill);
  return loop::guarded(from, guard, fill);
}

/// Loads lanes whose index is linear unless a division or remainder in it wraps within the vector. In most vectors none does.
E Lowering::load_irregular(const Instr& instr, int lanes) {
  const Access& access = nest_.inputs[instr.input];
  const E first = index(access.index, 1);
  E stride, linear;
  for (const Index::Term& term : nest_.indices[access.index].terms) {
    E slope = number(kOne);
    if (term.axis >= 0) {
      if (term.axis != lane_axis_) continue;
    } else if (term.value >= 0) {
      if (value_[term.value]->type.width == 1) continue;
      return place(access, lanes);
    } else {
      const int along = coefficient(nest_, term.inner, lane_axis_);
      if (along == kNone) continue;
      if (along == kIrregular) return place(access, lanes);
      slope = number(along);
      if (term.div != kOne || term.mod != kNone) {
        const E period = number(term.div != kOne ? term.div : term.mod),
                last = index(term.inner, 1) % period + (along == kOne ? E(lanes - 1) : slope * (lanes - 1));
        linear = linear && loop::cast(last, DType::uint64) < loop::cast(period, DType::uint64);  // a negative slope may lead below zero
        if (term.div != kOne) continue;                                                          // every lane has the same quotient
      }
    }
    const E step = term.coeff == kOne ? slope : slope * number(term.coeff);
    stride = stride.empty() ? step : stride + step;
  }
  const E together = memory(access).strided_at(first, stride.empty() ? E(0) : stride, lanes);
  if (linear.empty()) return together;
  const E loaded = var(instr.name, {access.dtype, lanes});
  branch(linear, [&] { store(loaded, together); }, [&] { store(loaded, place(access, lanes)); });
  return loaded;
}

void Lowering::store_lanes(const Store& s, int lanes) {
  const Access& access = nest_.outputs[s.output];
  const E target = place(access, lanes);
  if (target->kind == Kind::vector) store_wide(target, value_[s.value]);
  else store_last(target, value_[s.value]);
}

void Lowering::store_wide(const E& target, const E& value) {
  store(target, value);
  const auto bytes = static_cast<int>(itemsize(target->type.dtype)) * target->type.width;
  if (!is_bool(target->type.dtype) && bytes >= whole_vector_) out_.back().stream = loop::variable("stream", DType::int64);
}

E Lowering::persistent_place(int buffer, int lanes) {
  E point = axis(nest_.parallel);
  for (int a = nest_.parallel + 1; a < nest_.axes(); ++a) point = point * number(a) + axis(a);
  point = along_rows_ ? row_at_once() * row_points_ + point : point * lanes;
  return Memory{fmt::format("persistent{}", buffer), nest_.persistent[buffer]}.vector_at({point}, lanes);
}

}  // namespace cpu
}  // namespace sinter::jit::forms
