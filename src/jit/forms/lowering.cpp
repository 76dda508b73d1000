#include "jit/forms/lowering.hpp"

#include <algorithm>

#include "sinter/errors.hpp"

namespace sinter::jit::forms {

using Kind = Expr::Kind;
using loop::cast;

loop::Kernel lower(const LoopNest& nest, int sm) {
  loop::Kernel kernel = std::visit([&](const auto& form) { return lower(nest, form, sm); }, nest.schedule.form);
  loop::verify(kernel);
  return kernel;
}

loop::Kernel lower(const LoopNest& nest, const PanelsForm&, int) {
  throw InternalError(fmt::format("CUDA kernel {}: only the CPU has the form 'panels'", nest.name));
}

Lowering::Lowering(const LoopNest& nest, int sm)
    : nest_(nest),
      schedule_(nest.schedule),
      width_(nest.schedule.vector),
      index_(nest.schedule.wide_index ? DType::int64 : DType::int32),
      count_(nest.schedule.wide_index ? DType::int64 : DType::uint32),
      sm_(sm),
      value_(nest.instrs.size()),
      across_(nest.schedule.threads) {}

void Lowering::fail(std::string_view what) const { throw InternalError(fmt::format("CUDA kernel {}: {}", nest_.name, what)); }

loop::Kernel Lowering::write(std::string note) {
  jit::verify(nest_);
  check();

  body();
  loop::Kernel kernel;
  kernel.name = nest_.name;
  kernel.notes = nest_.ops;
  for (std::string& op : kernel.notes)  // each of these characters would end or extend a comment
    std::replace_if(op.begin(), op.end(), [](char c) { return c == '\n' || c == '\r' || c == '\\'; }, ' ');
  kernel.notes.push_back(note + (width_ > 1 ? fmt::format("; vectors of {}", width_) : ""));
  using P = loop::Parameter::Kind;
  for (const Access& a : nest_.inputs) kernel.parameters.push_back({a.name, a.dtype, P::input});
  for (const Access& a : nest_.outputs) kernel.parameters.push_back({a.name, a.dtype, P::output});
  if (nest_.checks > 0) kernel.parameters.push_back({"flags", DType::int64, P::output});
  for (int i : cuda::used_ints(nest_)) kernel.parameters.push_back({fmt::format("s{}", i), index_, P::number});
  for (std::size_t i = 0; i < nest_.scalars.size(); ++i) kernel.parameters.push_back({fmt::format("c{}", i), nest_.scalars[i].dtype, P::number});
  kernel.threads = schedule_.threads;
  kernel.across = across_;
  kernel.residents = residents_;
  kernel.cluster = cluster();
  kernel.body = std::move(out_);
  return kernel;
}

// ---- statements

Memory Lowering::shared(std::string name, DType dtype, std::vector<int> extents, bool aligned) {
  add({.kind = Stmt::Kind::shared, .type = dtype, .name = name, .extents = std::move(extents), .aligned = aligned});
  return {std::move(name), dtype};
}

// ---- axes and indices

E Lowering::index(int which, bool per_lane) const {
  const Index& x = nest_.indices[which];
  E sum;
  const auto plus = [&](const E& e) { sum = sum.empty() ? e : sum + e; };
  for (const Index::Term& term : x.terms) {
    E factor;
    if (term.axis >= 0) {
      factor = per_lane && term.axis == nest_.lane_axis() ? axis(term.axis) + lane() : axis(term.axis);
    } else if (term.value >= 0) {
      factor = cast(value_[term.value], index_);
    } else {
      const bool named = !(per_lane && depends_on(nest_, term.inner, nest_.lane_axis()));
      factor = named && index_names_.count(term.inner) ? loop::variable(fmt::format("i{}", term.inner), index_) : index(term.inner, per_lane);
      if (term.div != kOne) factor = factor / number(term.div);
      if (term.mod != kNone) factor = factor % number(term.mod);
    }
    plus(term.coeff != kOne ? factor * number(term.coeff) : factor);
  }
  if (x.constant != kNone) plus(number(x.constant));
  return !sum.empty() ? sum : as(0, index_);
}

bool Lowering::moves_along_rows(int number) const {
  for (int a = nest_.parallel; a < nest_.axes(); ++a)
    if (depends_on(nest_, number, a)) return true;
  return false;
}

void Lowering::name_inner(int number, bool row, std::vector<int>& named) {
  for (const Index::Term& term : nest_.indices[number].terms) {
    if (term.inner < 0) continue;
    name_inner(term.inner, row, named);
    if (uses_values(nest_, term.inner)) continue;  // the values that it uses are not computed yet
    if (moves_along_rows(term.inner) != row || index_names_.count(term.inner)) continue;
    let(fmt::format("i{}", term.inner), index_, index(term.inner, false));
    index_names_.insert(term.inner);
    named.push_back(term.inner);
  }
}

void Lowering::name_point_indices(const Stage& stage) {
  std::vector<int> named;
  each_index(stage, [&](int number) { name_inner(number, false, named); });
}

bool Lowering::is_used(int a, const Stage& stage) const {
  bool used = false;
  each_index(stage, [&](int number) { used |= depends_on(nest_, number, a); });
  return used;
}
bool Lowering::is_used(int a) const {
  return a == nest_.chunk_axis || std::any_of(nest_.stages.begin(), nest_.stages.end(), [&](const Stage& stage) { return is_used(a, stage); });
}

std::vector<int> Lowering::axes_between(int first, int end) {
  std::vector<int> axes;
  for (int a = first; a < end; ++a) axes.push_back(a);
  return axes;
}
void Lowering::unflatten_point() {
  unflatten(counted("point"), axes_between(0, nest_.parallel), [&](int a) { return is_used(a); });
}
void Lowering::unflatten_row(const Stage& stage) {
  unflatten(counted("row"), axes_between(nest_.parallel, nest_.axes()), [&](int a) { return is_used(a, stage); });
}

void Lowering::count_points() {
  E product = count_of(0);
  for (int a = 1; a < nest_.parallel; ++a) product = product * count_of(a);
  let("points", count_, product);
}

void Lowering::count_row_points() {
  E product;
  if (nest_.chunk_axis >= 0) {
    const E left = let("left", index_, number(nest_.chunk_total) - axis(nest_.chunk_axis) * number(nest_.chunk_row)), largest = number(nest_.chunk_row);
    product = cast(let("cut", index_, select(left < largest, select(left > 0, left, 0), largest)), count_);
  } else {
    product = count_of(nest_.parallel);
  }
  for (int a = nest_.parallel + 1; a < nest_.axes(); ++a) product = product * count_of(a);
  let("row_points", count_, product);
}

// ---- bodies

void Lowering::name_divisors(const Stage& stage, bool literals) {
  for (const int id : stage.body) {
    const Instr& quotient = nest_.instrs[id];
    if (quotient.kind != Instr::Kind::op || quotient.op != Op::divide || nest_.fast_math || is_storage_only(quotient.dtype)) continue;
    const int by = quotient.args[1];
    const Instr& divisor = nest_.instrs[by];
    const bool literal = divisor.kind == Instr::Kind::scalar;
    if (literal != literals || divisors_.count(by)) continue;
    if (!literal && (divisor.row || !stage.row || std::find(stage.body.begin(), stage.body.end(), by) != stage.body.end())) continue;
    const std::string name = literal ? fmt::format("c{}_divisor", divisor.input) : divisor.name + "_divisor";
    const Type type(quotient.dtype, 1, true);
    const auto prepared = [&] {
      return loop::make(Kind::divisor, type, {literal ? loop::variable(fmt::format("c{}", divisor.input), divisor.dtype) : value_[by]});
    };
    if (!literal && lanes_of_divisors_) {
      const Memory all = registers(name, type, width_);
      lanes(true, [&] { store(all.at({lane()}), prepared()); });
      divisors_[by] = all.at({lane()});
    } else {
      divisors_[by] = let(name, type, prepared());
    }
  }
}
void Lowering::name_literal_divisors(bool of_points) {
  for (const Stage& stage : nest_.stages)
    if (stage.row || of_points) name_divisors(stage, true);
}

Stage Lowering::all_stages() const {
  Stage all;
  for (const Stage& stage : nest_.stages) {
    if (stage.row) continue;
    all.body.insert(all.body.end(), stage.body.begin(), stage.body.end());
    all.stores.insert(all.stores.end(), stage.stores.begin(), stage.stores.end());
    all.checks.insert(all.checks.end(), stage.checks.begin(), stage.checks.end());
  }
  return all;
}

bool Lowering::is_vector(const Store& store) const {
  const int index = nest_.outputs[store.output].index;
  return is_vector(index) && !uses_values(nest_, index) && !schedule_.is_single(nest_.inputs.size() + store.output);
}

E Lowering::staged_place(bool per_lane) const {
  if (!in_registers()) return cluster() > 1 ? counted("row") - counted("own_first") : counted("row");
  const E step = loop::variable("step", DType::int32);
  return per_lane ? step * width_ + lane() : step;
}

/// Declares the values that a vector stage reads before its lanes: whole vectors, and values that all lanes share. Elements at guarded and computed positions
/// are read later.
void Lowering::load_ahead(const Stage& stage) {
  for (int id : stage.body) {
    const Instr& instr = nest_.instrs[id];
    if (instr.kind == Instr::Kind::persistent) {
      value_[id] = in_registers()
                       ? persistent(instr.input).at({staged_place(true)})
                       : loop::lane_of(let(instr.name, {instr.dtype, width_}, persistent(instr.input).vector_at({staged_place(false)}, width_)), lane());
    } else if (instr.kind == Instr::Kind::load) {
      const Access& input = nest_.inputs[instr.input];
      const Memory from{input.name, input.dtype};
      if (instr.guard >= 0 || uses_values(nest_, input.index)) continue;
      if (is_vector(input.index) && !schedule_.is_single(instr.input))
        value_[id] = loop::lane_of(let(instr.name, {input.dtype, width_}, from.vector_at({index(input.index, false)}, width_)), lane());
      else if (!depends_on(nest_, input.index, nest_.lane_axis())) value_[id] = let(instr.name, instr.dtype, from.at({index(input.index, false)}));
    }
  }
}

E Lowering::scanned(const Instr& instr) { fail(fmt::format("{} has no row", instr.name)); }

E Lowering::expression(const Instr& instr, bool per_lane) {
  switch (instr.kind) {
    case Instr::Kind::load: {
      if (const auto found = loaded_.find(instr.input); found != loaded_.end()) return found->second;
      const Access& input = nest_.inputs[instr.input];
      const E element = Memory{input.name, input.dtype}.at({index(input.index, per_lane)});
      return instr.guard < 0 ? element : loop::guarded(element, value_[instr.guard], instr.fill < 0 ? E(0) : value_[instr.fill]);
    }
    case Instr::Kind::index: return cast(index(instr.input, per_lane), DType::int64);
    case Instr::Kind::persistent: {  // in a scan, the thread of the row's last element may be changing it
      const E element = persistent(instr.input).at({staged_place(false)});
      return scanning_ && !in_registers() ? loop::guarded(element, counts_, 0) : element;
    }
    case Instr::Kind::scan: return scanned(instr);
    case Instr::Kind::op: break;
    default: fail(fmt::format("{} has no expression", instr.name));
  }
  std::vector<E> args;
  for (int k = 0; k < trace::primitive(instr.op).arity; ++k) args.push_back(value_[instr.args[k]]);
  if (instr.op == Op::cast) {
    // Handles values that are rounded to 16 bits and used as float32 again.
    const Instr& narrow = nest_.instrs[instr.args[0]];
    if (is_storage_only(instr.operand) && instr.dtype == DType::float32 && narrow.kind == Instr::Kind::op && narrow.op == Op::cast &&
        narrow.operand == DType::float32)
      return Expr{.kind = Kind::rounded, .type = DType::float32, .dtype = instr.operand, .args = {value_[narrow.args[0]]}};
    return cast(args[0], instr.dtype);
  }
  if (const auto divisor = divisors_.find(instr.args[1]); instr.op == Op::divide && divisor != divisors_.end())
    return loop::make(Kind::quotient, instr.dtype, {args[0], divisor->second});
  return loop::primitive(instr.op, instr.dtype, std::move(args));
}

void Lowering::compute(const Stage& stage, bool per_lane) {
  for (int id : stage.body) {
    const Instr& instr = nest_.instrs[id];
    if (instr.kind == Instr::Kind::scalar) {
      value_[id] = loop::variable(fmt::format("c{}", instr.input), instr.dtype);
      continue;
    }
    if (per_lane && instr.kind != Instr::Kind::op && !value_[id].empty()) continue;  // it was loaded before the lanes
    if (keeps_arrays(stage)) {
      const E element = Memory{instr.name, instr.dtype}.at({lane()});
      store(element, expression(instr, per_lane));
      value_[id] = element;
    } else if (instr.kind == Instr::Kind::scan) {
      value_[id] = expression(instr, per_lane);
    } else {
      value_[id] = let(instr.name, instr.dtype, expression(instr, per_lane));
    }
  }
}

void Lowering::stage_body(const Stage& stage, const E& owner) {
  std::vector<int> named;
  if (stage.row) each_index(stage, [&](int number) { name_inner(number, true, named); });
  const bool per_lane = stage_has_lanes(stage);
  if (per_lane) load_ahead(stage);
  if (keeps_arrays(stage))
    for (int id : stage.body)
      if (value_[id].empty() && nest_.instrs[id].kind != Instr::Kind::scalar) registers(nest_.instrs[id].name, nest_.instrs[id].dtype, width_);
  std::map<int, E> stores, keeps;  // vectors that the lanes fill
  std::map<int, E> whole;          // for each vector with a guard: whether all lanes store
  std::map<int, Memory> guards;    // whether each lane does
  if (per_lane) {
    for (const Store& s : stage.stores)
      if (const Access& output = nest_.outputs[s.output]; is_vector(s)) {
        stores[s.output] = var(output.name + "_at", {output.dtype, width_});
        if (s.guard < 0) continue;
        whole[s.output] = var(output.name + "_whole", DType::bool_, loop::literal_as(1, DType::bool_));
        guards[s.output] = registers(output.name + "_if", DType::bool_, width_);
      }
    if (!in_registers())
      for (const PersistentStore& keep : stage.keeps)
        keeps[keep.buffer] = var(fmt::format("persistent{}_at", keep.buffer), {nest_.persistent[keep.buffer], width_});
  }
  const auto put = [&](const Store& s, bool at_lane) {
    const Access& output = nest_.outputs[s.output];
    const auto moved = stored_.find(s.output);
    if (moved != stored_.end()) return store(moved->second, value_[s.value]);
    store(Memory{output.name, output.dtype}.at({index(output.index, at_lane)}), value_[s.value], owner && (s.guard >= 0 ? value_[s.guard] : E()));
  };
  lanes(per_lane, [&] {
    compute(stage, per_lane);
    // One of the threads that find a bad value reports it. A thread past the last point reports none.
    for (const Check& check : stage.checks)
      add({.kind = Stmt::Kind::check, .value = value_[check.value], .guard = owner && !value_[check.condition], .number = check.number});
    for (const Reduction& reduction : stage.reductions) {
      const Memory part{result(reduction).name + "_part", result(reduction).dtype};
      const E own = width_ == 1 ? loop::variable(part.name, part.type) : part.at({per_lane ? lane() : E(0)});
      store(own, combined(reduction, own, value_[reduction.value]), counts_);
    }
    for (const PersistentStore& keep : stage.keeps)
      store(keeps.count(keep.buffer) ? loop::lane_of(keeps[keep.buffer], lane()) : persistent(keep.buffer).at({staged_place(per_lane)}), value_[keep.value],
            scanning_ ? counts_ : E());
    if (!per_lane) return;
    for (const Store& s : stage.stores) {
      if (!stores.count(s.output)) {
        put(s, true);
        continue;
      }
      store(loop::lane_of(stores[s.output], lane()), value_[s.value]);
      if (s.guard < 0) continue;
      store(guards[s.output].at({lane()}), value_[s.guard]);
      store(whole[s.output], whole[s.output] && value_[s.guard]);
    }
  });
  for (const auto& [buffer, vector] : keeps) store(persistent(buffer).vector_at({staged_place(false)}, width_), vector);
  for (const Store& s : stage.stores) {
    const Access& output = nest_.outputs[s.output];
    if (!per_lane) put(s, false);
    if (!per_lane || !stores.count(s.output)) continue;
    const Memory to{output.name, output.dtype};
    store(to.vector_at({index(output.index, false)}, width_), stores[s.output], owner && (s.guard >= 0 ? whole[s.output] : E()));
    if (s.guard >= 0)
      lanes(true, [&] {
        store(to.at({index(output.index, true)}), loop::lane_of(stores[s.output], lane()), owner && !whole[s.output] && guards[s.output].at({lane()}));
      });
  }
  for (int number : named) index_names_.erase(number);
}

}  // namespace sinter::jit::forms
