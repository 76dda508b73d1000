// What a kernel's body does at one point: indices, memory, and one operation of the table after the other.
#include <fmt/format.h>

#include <algorithm>

#include "jit/llvm/kernel_writer.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::llvm {

Value KernelWriter::value_of(const Instr& instr, int lanes) {
  switch (instr.kind) {
    case Instr::Kind::load:
      if (instr.guard < 0) return load_access(nest_.inputs[instr.input], lanes);
      return load_guarded(nest_.inputs[instr.input], values_[instr.guard], instr.fill < 0 ? ir_.zero(instr.dtype) : values_[instr.fill],
                          lanes);
    case Instr::Kind::scalar:
      return scalars_[instr.input];
    case Instr::Kind::slot:
      return load_memory(slot_pointer(instr.input, lanes), nest_.slots[instr.input], lanes);
    case Instr::Kind::op:
      return apply(instr);
    case Instr::Kind::index: {
      const int along = coefficient(nest_, instr.input, nest_.vector_axis);
      if (along == kNone || lanes == 1) return index_value(instr.input, 1);
      if (along == kIrregular) return index_value(instr.input, lanes);
      return ir_.add(index_value(instr.input, 1), lane_offsets(along, lanes));
    }
    case Instr::Kind::reduced:
    case Instr::Kind::scan:
      break;
  }
  throw InternalError(fmt::format("{}: {} cannot be computed in a body", nest_.name, instr.name));
}

Value KernelWriter::apply(const Instr& instr) {
  // The names the table's `llvm` column is written in.
  Ir& ir = ir_;
  const DType to = instr.dtype;
  const auto operand = [&](int k) { return instr.args[k] >= 0 ? values_[instr.args[k]] : Value{}; };
  const Value a = operand(0), b = operand(1), c = operand(2);
  (void)to;
  switch (instr.op) {
#define SINTER_ELEMENTWISE(id, arity, accepts, result, rule, cost, identity, cuda_float, cuda_int, llvm, interpreter) \
  case Op::id:                                                                                                        \
    return llvm;
#define SINTER_REDUCTION(...)
#define SINTER_STRUCTURAL(...)
#include "trace/primitives.def"
#undef SINTER_ELEMENTWISE
#undef SINTER_REDUCTION
#undef SINTER_STRUCTURAL
    default:
      throw InternalError(fmt::format("{}: {} is not an elementwise op", nest_.name, trace::name(instr.op)));
  }
}

// ---- indices

Value KernelWriter::index_value(int index, int lanes) {
  if (const auto found = indices_.find({index, lanes}); found != indices_.end()) return found->second;
  const Index& description = nest_.indices[index];
  // Terms of outer loops first: their partial sums then move out of the inner loops.
  std::vector<Index::Term> terms = description.terms;
  const auto depth = [&](const Index::Term& term) {
    if (term.axis >= 0) return term.axis;
    if (term.value >= 0) return nest_.axes();
    int deepest = -1;
    for (int axis = 0; axis < nest_.axes(); ++axis)
      if (depends_on(nest_, term.inner, axis)) deepest = axis;
    return deepest;
  };
  std::stable_sort(terms.begin(), terms.end(), [&](const auto& a, const auto& b) { return depth(a) < depth(b); });

  Value sum;
  const auto add = [&](const Value& v) { sum = sum.ref.empty() ? v : ir_.add(sum, v); };
  if (description.constant >= 0) add(ints_[description.constant]);
  if (description.constant == kOne) add(ir_.integer(DType::int64, 1));
  for (const Index::Term& term : terms) {
    Value v;
    if (term.axis >= 0) {
      v = axes_[term.axis];
      if (term.axis == nest_.vector_axis && lanes > 1) v = ir_.add(v, ir_.iota(lanes));
    } else if (term.value >= 0) {
      v = values_[term.value];
    } else {
      const bool wide = lanes > 1 && depends_on(nest_, term.inner, nest_.vector_axis);
      v = index_value(term.inner, wide ? lanes : 1);
      if (term.div >= 0) v = divide_index(v, ints_[term.div]);
      if (term.mod >= 0) v = ir_.sub(v, ir_.mul(divide_index(v, ints_[term.mod]), ints_[term.mod]));
    }
    if (term.coeff >= 0) v = ir_.mul(v, ints_[term.coeff]);
    add(v);
  }
  if (sum.ref.empty()) sum = ir_.integer(DType::int64, 0);
  indices_[{index, lanes}] = sum;
  return sum;
}

Value KernelWriter::divide_index(const Value& a, const Value& b) {
  if (a.lanes == 1) return ir_.binary("udiv", a, b);
  // Processors divide no vectors of integers, but the truncated quotient of two doubles is exact below 2^52, which
  // bounds every index. The bits of 2^52 + x hold x: a conversion both ways.
  return ir_.call("index_divide", {a, b}, [](Ir& ir, const std::vector<Value>& x) {
    const Value bits = ir.integer(DType::int64, 0x4330000000000000), big = ir.real(DType::float64, 0x1p52);
    const auto to_double = [&](const Value& v) { return ir.sub(ir.bitcast(ir.bit_or(v, bits), DType::float64), big); };
    const Value quotient = ir.trunc(ir.div(to_double(x[0]), to_double(x[1])));
    return ir.bit_xor(ir.bitcast(ir.add(quotient, big), DType::int64), bits);
  });
}

/// 0, s, 2s, ... for the coefficient s of the vector axis.
Value KernelWriter::lane_offsets(int along, int lanes) {
  const Value lane = ir_.iota(lanes);
  return along >= 0 ? ir_.mul(lane, ints_[along]) : lane;
}

// ---- memory

Value KernelWriter::element_pointer(const Value& base, DType dtype, const Value& index) {
  const std::string i = fmt::format("{} {}", type_name(DType::int64, index.lanes), index.ref);
  return ir_.emit(DType::int64, index.lanes, fmt::format("getelementptr {}, ptr {}, {}", memory_type(dtype), base.ref, i));
}

Value KernelWriter::load_memory(const Value& pointer, DType dtype, int lanes) {
  if (!is_bool(dtype))
    return ir_.emit(dtype, lanes, fmt::format("load {}, ptr {}, align {}", type_name(dtype, lanes), pointer.ref, itemsize(dtype)));
  const std::string type = lanes == 1 ? "i8" : fmt::format("<{} x i8>", lanes);
  const Value bytes = ir_.emit(dtype, lanes, fmt::format("load {}, ptr {}, align 1", type, pointer.ref));
  return ir_.emit(dtype, lanes, fmt::format("icmp ne {} {}, {}", type, bytes.ref, lanes == 1 ? "0" : "zeroinitializer"));
}

void KernelWriter::store_memory(const Value& pointer, const Value& value) {
  if (!is_bool(value.dtype)) {
    ir_.line(
        fmt::format("store {} {}, ptr {}, align {}", type_name(value.dtype, value.lanes), value.ref, pointer.ref, itemsize(value.dtype)));
    return;
  }
  const std::string type = value.lanes == 1 ? "i8" : fmt::format("<{} x i8>", value.lanes);
  const Value bytes =
      ir_.emit(value.dtype, value.lanes, fmt::format("zext {} {} to {}", type_name(value.dtype, value.lanes), value.ref, type));
  ir_.line(fmt::format("store {} {}, ptr {}, align 1", type, bytes.ref, pointer.ref));
}

Value KernelWriter::load_access(const Access& access, int lanes) {
  const Value& base = inputs_[&access - nest_.inputs.data()];
  const int along = coefficient(nest_, access.index, nest_.vector_axis);
  if (const auto square = transposed_.find(static_cast<int>(&access - nest_.inputs.data())); square != transposed_.end())
    return load_memory(square->second, access.dtype, lanes);
  if (lanes == 1 || along == kNone || along == kOne)
    return load_memory(element_pointer(base, access.dtype, index_value(access.index, 1)), access.dtype, along == kNone ? 1 : lanes);
  if (along == kIrregular) return gather(element_pointer(base, access.dtype, index_value(access.index, lanes)), access.dtype);
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  return gather(element_pointer(first, access.dtype, lane_offsets(along, lanes)), access.dtype);
}

// ---- guards: a single element goes to and from an address of no meaning where its guard is false, lanes are masked

Value KernelWriter::or_nowhere(const Value& pointer, const Value& guard) {
  if (nowhere_.empty()) {
    ir_.set_name("nowhere");
    nowhere_ = ir_.alloca_of(DType::int64, 1);
  }
  return ir_.emit(DType::int64, 1, fmt::format("select i1 {}, ptr {}, ptr {}", guard.ref, pointer.ref, nowhere_));
}

Value KernelWriter::lane_pointers(const Value& base, const Access& access, int lanes) {
  const int along = coefficient(nest_, access.index, nest_.vector_axis);
  if (along == kIrregular) return element_pointer(base, access.dtype, ir_.broadcast(index_value(access.index, lanes), lanes));
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  const Value none = ir_.integer(DType::int64, 0);
  return element_pointer(first, access.dtype, ir_.broadcast(along == kNone ? none : lane_offsets(along, lanes), lanes));
}

Value KernelWriter::load_guarded(const Access& access, const Value& guard, const Value& fill, int lanes) {
  const Value& base = inputs_[&access - nest_.inputs.data()];
  const int along = coefficient(nest_, access.index, nest_.vector_axis);
  if (lanes == 1 || (along == kNone && guard.lanes == 1)) {
    const Value pointer = element_pointer(base, access.dtype, index_value(access.index, 1));
    return ir_.select(guard, load_memory(or_nowhere(pointer, guard), access.dtype, 1), fill);
  }
  const Value wide = ir_.broadcast(fill, lanes), mask = ir_.broadcast(guard, lanes);
  const std::string lanes_read = fmt::format("<{} x i1> {}", lanes, mask.ref);
  if (along == kOne) return load_masked(element_pointer(base, access.dtype, index_value(access.index, 1)), lanes_read, wide);
  return gather_masked(lane_pointers(base, access, lanes), lanes_read, wide);
}

void KernelWriter::store_guarded(const Access& access, const Value& value, const Value& guard, int lanes) {
  const Value& base = outputs_[&access - nest_.outputs.data()];
  const int along = coefficient(nest_, access.index, nest_.vector_axis);
  if (lanes == 1 || (along == kNone && guard.lanes == 1)) {
    const Value pointer = element_pointer(base, access.dtype, index_value(access.index, 1));
    store_memory(or_nowhere(pointer, guard), ir_.lane(value, value.lanes - 1));
    return;
  }
  const Value wide = ir_.broadcast(value, lanes), mask = ir_.broadcast(guard, lanes);
  const std::string written = fmt::format("<{} x i1> {}", lanes, mask.ref);
  if (along == kOne) store_masked(element_pointer(base, access.dtype, index_value(access.index, 1)), wide, written);
  else scatter_masked(lane_pointers(base, access, lanes), wide, written);
}

/// Failures are rare: the lanes that fail are looked for behind a branch.
void KernelWriter::raise(const Check& check) {
  ir_.set_name(fmt::format("check{}", check.number));
  const Value failed = ir_.bit_not(values_[check.condition]);
  const std::string tell = ir_.label("failed"), go_on = ir_.label("checked");
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.any(failed).ref, tell, go_on));
  ir_.begin_block(tell);
  const auto flag = [&](int place) { return element_pointer(flags_, DType::int64, ir_.integer(DType::int64, 2 * check.number + place)); };
  store_memory(flag(0), ir_.integer(DType::int64, 1));
  if (failed.lanes == 1) {
    store_memory(flag(1), ir_.lane(values_[check.value], 0));
  } else {
    const Value same = ir_.broadcast(ir_.integer(DType::int64, 0), failed.lanes);
    scatter_masked(element_pointer(flag(1), DType::int64, same), ir_.broadcast(values_[check.value], failed.lanes),
                   fmt::format("<{} x i1> {}", failed.lanes, failed.ref));
  }
  ir_.line("br label %" + go_on);
  ir_.begin_block(go_on);
}

void KernelWriter::store_access(const Access& access, const Value& value, int lanes) {
  const Value& base = outputs_[&access - nest_.outputs.data()];
  const int along = coefficient(nest_, access.index, nest_.vector_axis);
  if (lanes == 1 || along == kNone) {  // every lane writes the one element: the last one stays
    const Value pointer = element_pointer(base, access.dtype, index_value(access.index, 1));
    store_memory(pointer, ir_.lane(value, value.lanes - 1));
    return;
  }
  const Value wide = ir_.broadcast(value, lanes);
  if (along == kIrregular) {
    scatter(element_pointer(base, access.dtype, index_value(access.index, lanes)), wide);
    return;
  }
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  if (along == kOne) store_wide(first, wide);
  else scatter(element_pointer(first, access.dtype, lane_offsets(along, lanes)), wide);
}

// ---- squares, stores past the cache

bool KernelWriter::transposable(const Access& access, int lanes) const {
  return lanes > 1 && lanes == native_lanes_ && !is_bool(access.dtype) && !guarded_[&access - nest_.inputs.data()] && coefficient(nest_, access.index, nest_.vector_axis) >= 0 &&
         coefficient(nest_, access.index, nest_.parallel - 2) == kOne;
}

void KernelWriter::load_transposed(const Access& access, const std::string& place, int lanes) {
  const Value& base = inputs_[&access - nest_.inputs.data()];
  const Value stride = ints_[coefficient(nest_, access.index, nest_.vector_axis)];
  ir_.set_name(access.name + ".rows");
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  std::vector<Value> rows;
  for (int k = 0; k < lanes; ++k)
    rows.push_back(load_memory(element_pointer(first, access.dtype, ir_.mul(stride, ir_.integer(DType::int64, k))), access.dtype, lanes));
  // Interleaving row i with row i + lanes/2 moves the highest bit of the row number to the end of the column number and the column's
  // highest to the end of the row number. When every bit has moved, rows are columns.
  const std::string type = type_name(access.dtype, lanes);
  for (int bits = lanes; bits > 1; bits /= 2) {
    std::vector<Value> next;
    for (int k = 0; k < lanes; ++k) {
      std::string mask;
      for (int lane = 0; lane < lanes; ++lane)
        mask += fmt::format("{}i32 {}", lane ? ", " : "", k % 2 * (lanes / 2) + lane / 2 + lane % 2 * lanes);
      next.push_back(ir_.emit(access.dtype, lanes, fmt::format("shufflevector {0} {1}, {0} {2}, <{3} x i32> <{4}>", type, rows[k / 2].ref,
                                                               rows[k / 2 + lanes / 2].ref, lanes, mask)));
    }
    rows = std::move(next);
  }
  for (int k = 0; k < lanes; ++k)
    store_memory(element_pointer({place, DType::int64}, access.dtype, ir_.integer(DType::int64, k * lanes)), rows[k]);
}

/// Neighbouring elements, past the cache where the kernel writes much and the place is aligned. In a tile neighbouring vectors are not
/// written one after the other, so each has to be a whole cache line.
void KernelWriter::store_wide(const Value& pointer, const Value& value) {
  const auto bytes = static_cast<int>(itemsize(value.dtype)) * value.lanes;
  if (is_bool(value.dtype) || bytes < (tiled() ? 64 : cpu_.vector_bytes)) return store_memory(pointer, value);
  const std::string streamed = ir_.label("streamed"), cached = ir_.label("cached"), done = ir_.label("stored");
  const Value address = ir_.emit(DType::int64, 1, fmt::format("ptrtoint ptr {} to i64", pointer.ref));
  const Value past = ir_.eq(ir_.bit_and(address, stream_mask_), ir_.integer(DType::int64, 0));
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", past.ref, streamed, cached));
  ir_.begin_block(streamed);
  ir_.line(fmt::format("store {} {}, ptr {}, align {}, !nontemporal !0", type_name(value.dtype, value.lanes), value.ref, pointer.ref,
                       cpu_.vector_bytes));
  ir_.line("br label %" + done);
  ir_.begin_block(cached);
  store_memory(pointer, value);
  ir_.line("br label %" + done);
  ir_.begin_block(done);
}

namespace {

/// How intrinsics spell the element type in memory.
std::string_view mangled_memory(DType dtype) {
  return dtype == DType::float32 ? "f32" : dtype == DType::float64 ? "f64" : memory_type(dtype);
}
constexpr char kAllTrue[] =
    "<{0} x i1> shufflevector (<{0} x i1> insertelement (<{0} x i1> poison, i1 true, i64 0), <{0} x i1> poison, "
    "<{0} x i32> zeroinitializer)";

}  // namespace

Value KernelWriter::gather(const Value& pointers, DType dtype) {
  return gather_masked(pointers, fmt::format(kAllTrue, pointers.lanes), {"poison", dtype, pointers.lanes});
}

Value KernelWriter::gather_masked(const Value& pointers, const std::string& mask, const Value& fill) {
  const int lanes = pointers.lanes;
  const std::string type = fmt::format("<{} x {}>", lanes, memory_type(fill.dtype));
  const std::string symbol = fmt::format("@llvm.masked.gather.v{0}{1}.v{0}p0", lanes, mangled_memory(fill.dtype));
  module_.declare(fmt::format("declare {0} {1}(<{2} x ptr>, i32, <{2} x i1>, {0})", type, symbol, lanes));
  return from_memory(fill.dtype, lanes,
                     fmt::format("call {0} {1}(<{2} x ptr> {3}, i32 {4}, {5}, {0} {6})", type, symbol, lanes, pointers.ref,
                                 itemsize(fill.dtype), mask, in_memory(fill)));
}

Value KernelWriter::load_masked(const Value& pointer, const std::string& mask, const Value& fill) {
  const int lanes = fill.lanes;
  const std::string type = fmt::format("<{} x {}>", lanes, memory_type(fill.dtype));
  const std::string symbol = fmt::format("@llvm.masked.load.v{}{}.p0", lanes, mangled_memory(fill.dtype));
  module_.declare(fmt::format("declare {0} {1}(ptr, i32, <{2} x i1>, {0})", type, symbol, lanes));
  return from_memory(fill.dtype, lanes,
                     fmt::format("call {0} {1}(ptr {2}, i32 {3}, {4}, {0} {5})", type, symbol, pointer.ref, itemsize(fill.dtype), mask,
                                 in_memory(fill)));
}

/// The lanes that a call reads, as they are in registers.
Value KernelWriter::from_memory(DType dtype, int lanes, const std::string& call) {
  const Value loaded = ir_.emit(dtype, lanes, call);
  if (!is_bool(dtype)) return loaded;
  return ir_.emit(dtype, lanes, fmt::format("icmp ne <{} x {}> {}, zeroinitializer", lanes, memory_type(dtype), loaded.ref));
}
/// The lanes as they are in memory.
std::string KernelWriter::in_memory(const Value& value) {
  if (!is_bool(value.dtype) || value.ref == "poison") return value.ref;
  return ir_.emit(value.dtype, value.lanes, fmt::format("zext <{0} x i1> {1} to <{0} x {2}>", value.lanes, value.ref, memory_type(value.dtype)))
      .ref;
}

void KernelWriter::store_masked(const Value& pointer, const Value& value, const std::string& mask) {
  const std::string type = fmt::format("<{} x {}>", value.lanes, memory_type(value.dtype));
  const std::string symbol = fmt::format("@llvm.masked.store.v{}{}.p0", value.lanes, mangled_memory(value.dtype));
  module_.declare(fmt::format("declare void {1}({0}, ptr, i32, <{2} x i1>)", type, symbol, value.lanes));
  ir_.line(fmt::format("call void {}({} {}, ptr {}, i32 {}, {})", symbol, type, in_memory(value), pointer.ref, itemsize(value.dtype), mask));
}

void KernelWriter::scatter(const Value& pointers, const Value& value) {
  scatter_masked(pointers, value, fmt::format(kAllTrue, value.lanes));
}

void KernelWriter::scatter_masked(const Value& pointers, const Value& value, const std::string& mask) {
  const int lanes = value.lanes;
  const std::string type = fmt::format("<{} x {}>", lanes, memory_type(value.dtype));
  const std::string symbol = fmt::format("@llvm.masked.scatter.v{0}{1}.v{0}p0", lanes, mangled_memory(value.dtype));
  module_.declare(fmt::format("declare void {1}({0}, <{2} x ptr>, i32, <{2} x i1>)", type, symbol, lanes));
  ir_.line(fmt::format("call void {}({} {}, <{} x ptr> {}, i32 {}, {})", symbol, type, in_memory(value), lanes, pointers.ref,
                       itemsize(value.dtype), mask));
}

Value KernelWriter::slot_pointer(int slot, int lanes) {
  Value row = axes_[nest_.parallel];
  for (int axis = nest_.parallel + 1; axis < nest_.axes(); ++axis) row = ir_.add(ir_.mul(row, ints_[axis]), axes_[axis]);
  if (!rows_are_lanes()) row = ir_.mul(row, ir_.integer(DType::int64, lanes));
  const Value offset = ir_.mul(slot_stride_, ir_.integer(DType::int64, slot));
  const Value base = ir_.emit(DType::int64, 1, fmt::format("getelementptr i8, ptr %scratch, i64 {}", offset.ref));
  return element_pointer(base, nest_.slots[slot], row);
}

}  // namespace sinter::jit::llvm
