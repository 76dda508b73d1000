// The body of a kernel at one point: indices, memory accesses, and the operations of the table.
#include <fmt/format.h>

#include <algorithm>

#include "jit/llvm/kernel_writer.hpp"
#include "jit/reduction_order.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::llvm {

Value KernelWriter::value_of(const Instr& instr, int lanes) {
  switch (instr.kind) {
    case Instr::Kind::load: {
      const Access& access = nest_.inputs[instr.input];
      const bool varies = coefficient(nest_, access.index, nest_.lane_axis()) != kNone;
      if (instr.guard < 0 && (mask_.ref.empty() || !varies)) return load_access(access, lanes);
      Value guard = instr.guard < 0 ? mask_ : values_[instr.guard];
      if (instr.guard >= 0 && (varies || guard.lanes > 1)) guard = masked(guard);  // a single value for all lanes stays single: at least one lane is in range
      return load_guarded(access, guard, instr.fill < 0 ? ir_.zero(instr.dtype) : values_[instr.fill], lanes);
    }
    case Instr::Kind::scalar: return scalars_[instr.input];
    case Instr::Kind::persistent:
      if (!mask_.ref.empty()) return load_masked(persistent_pointer(instr.input, lanes), mask_, ir_.broadcast(ir_.zero(instr.dtype), lanes));
      return load_memory(persistent_pointer(instr.input, lanes), nest_.persistent[instr.input], lanes);
    case Instr::Kind::op: return apply(instr);
    case Instr::Kind::index: {
      const int along = coefficient(nest_, instr.input, nest_.lane_axis());
      if (along == kNone || lanes == 1) return index_value(instr.input, 1);
      if (along == kIrregular) return index_value(instr.input, lanes);
      return ir_.add(index_value(instr.input, 1), lane_offsets(along, lanes));
    }
    case Instr::Kind::reduced:
    case Instr::Kind::scan: break;
  }
  throw InternalError(fmt::format("{}: {} cannot be computed in a body", nest_.name, instr.name));
}

Value KernelWriter::apply(const Instr& instr) {
  // The table's `llvm` column uses these names.
  Ir& ir = ir_;
  const DType to = instr.dtype;
  const auto operand = [&](int k) { return instr.args[k] >= 0 ? values_[instr.args[k]] : Value{}; };
  const Value a = operand(0), b = operand(1), c = operand(2);
  (void)to;
  if (const Value compared = compare_lanes(instr); !compared.ref.empty()) return compared;
  switch (instr.op) {
#define SINTER_ELEMENTWISE(id, arity, accepts, result, rule, cost, identity, cuda_float, cuda_int, llvm, interpreter) \
  case Op::id: return llvm;
#include "trace/primitives.def"
    default: throw InternalError(fmt::format("{}: {} is not an elementwise op", nest_.name, trace::name(instr.op)));
  }
}

/// Compares lane numbers in a type in which they fill a register of at least 16 bytes. LLVM 19 widens a narrower comparison. If the comparison is in another
/// basic block, LLVM does not clear the added lanes of the mask, and a masked store with AVX-512 then writes beyond its last lane.
Value KernelWriter::lanes_below(const Value& count, int lanes) {
  const DType type = lanes <= 2 ? DType::int64 : lanes <= 4 ? DType::uint32 : lanes <= 8 ? DType::uint16 : DType::uint8;
  const Value zero = ir_.integer(DType::int64, 0), all = ir_.integer(DType::int64, lanes);
  const Value below = ir_.max(zero, ir_.min(count, all));
  const Value limit = ir_.broadcast(type == DType::int64 ? below : ir_.convert("trunc", below, type), lanes);
  std::string numbers;
  for (int lane = 0; lane < lanes; ++lane) numbers += fmt::format("{}{} {}", lane ? ", " : "", type_name(type, 1), lane);
  return ir_.compare("icmp ult", {fmt::format("<{}>", numbers), type, lanes, true}, limit);
}

Value KernelWriter::compare_lanes(const Instr& instr) {
  const bool less = instr.op == Op::less || instr.op == Op::less_equal, equal = instr.op == Op::equal || instr.op == Op::not_equal;
  if ((!less && !equal) || instr.operand != DType::int64) return {};
  const auto walks = [&](int k) {
    const Instr& arg = nest_.instrs[instr.args[k]];
    return arg.kind == Instr::Kind::index && coefficient(nest_, arg.input, nest_.lane_axis()) == kOne && values_[instr.args[k]].lanes > 1;
  };
  const int lane = walks(0) ? 0 : 1;
  if (!walks(lane) || values_[instr.args[1 - lane]].lanes > 1) return {};
  const int lanes = values_[instr.args[lane]].lanes;
  // Lane k is first + k. The number is clamped to 2^60, which is far from any index, so that `first` can be subtracted without overflow.
  const Value far = ir_.integer(DType::int64, std::int64_t{1} << 60), one = ir_.integer(DType::int64, 1);
  const Value number = ir_.max(ir_.neg(far), ir_.min(values_[instr.args[1 - lane]], far));
  const Value before = ir_.sub(number, index_value(nest_.instrs[instr.args[lane]].input, 1));  // number of lanes below it
  const auto below = [&] { return lanes_below(before, lanes); };
  const auto up_to = [&] { return lanes_below(ir_.add(before, one), lanes); };
  switch (instr.op) {
    case Op::less: return lane == 0 ? below() : ir_.bit_not(up_to());
    case Op::less_equal: return lane == 0 ? up_to() : ir_.bit_not(below());
    case Op::equal: return ir_.bit_and(up_to(), ir_.bit_not(below()));
    default: return ir_.bit_or(below(), ir_.bit_not(up_to()));
  }
}

// ---- indices

Value KernelWriter::index_value(int index, int lanes) {
  if (const auto found = indices_.find({index, lanes}); found != indices_.end()) return found->second;
  const Index& description = nest_.indices[index];
  // Terms of outer loops come first, so that their partial sums can move out of the inner loops.
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
      if (term.axis == nest_.lane_axis() && lanes > 1) v = ir_.add(v, ir_.iota(lanes));
    } else if (term.value >= 0) {
      v = lanes > 1 ? values_[term.value] : ir_.lane(values_[term.value], 0);
    } else {
      const bool wide = lanes > 1 && depends_on(nest_, term.inner, nest_.lane_axis());
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
  // Processors have no vector division of integers, but the truncated quotient of two doubles is exact below 2^52, which bounds every index. The bits of 2^52 +
  // x hold x, which gives the conversion in both directions.
  return ir_.call("index_divide", {a, b}, [](Ir& ir, const std::vector<Value>& x) {
    const Value bits = ir.integer(DType::int64, 0x4330000000000000), big = ir.real(DType::float64, 0x1p52);
    const auto to_double = [&](const Value& v) { return ir.sub(ir.bitcast(ir.bit_or(v, bits), DType::float64), big); };
    const Value quotient = ir.trunc(ir.div(to_double(x[0]), to_double(x[1])));
    return ir.bit_xor(ir.bitcast(ir.add(quotient, big), DType::int64), bits);
  });
}

/// Returns 0, s, 2s, ... for the coefficient s of the vector axis.
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
  if (!is_bool(dtype)) return ir_.emit(dtype, lanes, fmt::format("load {}, ptr {}, align {}", type_name(dtype, lanes), pointer.ref, itemsize(dtype)));
  const std::string type = lanes == 1 ? "i8" : fmt::format("<{} x i8>", lanes);
  const Value bytes = ir_.emit(dtype, lanes, fmt::format("load {}, ptr {}, align 1", type, pointer.ref));
  return ir_.emit(dtype, lanes, fmt::format("icmp ne {} {}, {}", type, bytes.ref, lanes == 1 ? "0" : "zeroinitializer"));
}

void KernelWriter::store_memory(const Value& pointer, const Value& value) {
  if (!is_bool(value.dtype)) {
    ir_.line(fmt::format("store {} {}, ptr {}, align {}", type_name(value.dtype, value.lanes), value.ref, pointer.ref, itemsize(value.dtype)));
    return;
  }
  const std::string type = value.lanes == 1 ? "i8" : fmt::format("<{} x i8>", value.lanes);
  const Value bytes = ir_.emit(value.dtype, value.lanes, fmt::format("zext {} {} to {}", type_name(value.dtype, value.lanes), value.ref, type));
  ir_.line(fmt::format("store {} {}, ptr {}, align 1", type, bytes.ref, pointer.ref));
}

Value KernelWriter::load_access(const Access& access, int lanes) {
  const Value& base = inputs_[&access - nest_.inputs.data()];
  const int along = coefficient(nest_, access.index, nest_.lane_axis());
  if (const auto tile = transposed_.find(static_cast<int>(&access - nest_.inputs.data())); tile != transposed_.end())
    return load_memory(tile->second, access.dtype, lanes);
  if (lanes == 1 || along == kNone || along == kOne)
    return load_memory(element_pointer(base, access.dtype, index_value(access.index, 1)), access.dtype, along == kNone ? 1 : lanes);
  if (along == kIrregular) return load_irregular(access, lanes);
  return load_strided(element_pointer(base, access.dtype, index_value(access.index, 1)), access.dtype, ints_[along], lanes);
}

/// Loads lanes whose index is linear unless a division or remainder in it wraps within the vector. In most vectors none does.
Value KernelWriter::load_irregular(const Access& access, int lanes) {
  const Value& base = inputs_[&access - nest_.inputs.data()];
  const Value one = ir_.integer(DType::int64, 1), last_lane = ir_.integer(DType::int64, lanes - 1);
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  const auto factor = [&](int number) { return number == kOne ? one : ints_[number]; };
  Value stride = ir_.integer(DType::int64, 0), linear = ir_.integer(DType::bool_, 1);
  for (const Index::Term& term : nest_.indices[access.index].terms) {
    Value slope = one;
    if (term.axis >= 0) {
      if (term.axis != nest_.lane_axis()) continue;
    } else if (term.value >= 0) {
      if (values_[term.value].lanes == 1) continue;
      linear = ir_.integer(DType::bool_, 0);
      break;
    } else {
      const int along = coefficient(nest_, term.inner, nest_.lane_axis());
      if (along == kNone) continue;
      if (along == kIrregular) {
        linear = ir_.integer(DType::bool_, 0);
        break;
      }
      slope = factor(along);
      if (term.div != kOne || term.mod != kNone) {
        const Value period = term.div != kOne ? ints_[term.div] : ints_[term.mod];
        const Value within = ir_.binary("urem", index_value(term.inner, 1), period);
        linear = ir_.bit_and(linear, ir_.compare("icmp ult", ir_.add(within, ir_.mul(last_lane, slope)), period));
        if (term.div != kOne) continue;  // every lane has the same quotient
      }
    }
    stride = ir_.add(stride, ir_.mul(slope, factor(term.coeff)));
  }
  const std::string together = ir_.label("linear"), apart = ir_.label("irregular"), done = ir_.label("loaded");
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", linear.ref, together, apart));
  ir_.begin_block(together);
  const Value fast = load_strided(first, access.dtype, stride, lanes);
  ir_.line("br label %" + done);
  ir_.begin_block(apart);
  const auto known = indices_;  // values computed in this block are not available after it
  const Value slow = load_lanes(element_pointer(base, access.dtype, ir_.broadcast(index_value(access.index, lanes), lanes)), access.dtype);
  indices_ = known;
  ir_.line("br label %" + done);
  ir_.begin_block(done);
  return ir_.emit(access.dtype, lanes, fmt::format("phi {} [ {}, %{} ], [ {}, %{} ]", type_name(access.dtype, lanes), fast.ref, together, slow.ref, apart));
}

// ---- guards: an element whose guard is false is accessed at an unused address; adjacent lanes are masked

Value KernelWriter::masked(const Value& guard) { return mask_.ref.empty() ? guard : ir_.bit_and(ir_.broadcast(guard, mask_.lanes), mask_); }

Value KernelWriter::or_nowhere(const Value& pointer, const Value& guard) {
  if (nowhere_.empty()) {
    ir_.set_name("nowhere");
    nowhere_ = ir_.alloca_of(DType::int64, kMaxLanes);  // room for a vector of any type
  }
  if (pointer.lanes == 1) return ir_.emit(DType::int64, 1, fmt::format("select i1 {}, ptr {}, ptr {}", guard.ref, pointer.ref, nowhere_));
  const int lanes = pointer.lanes;
  const Value none = element_pointer({nowhere_, DType::int64}, DType::int64, ir_.broadcast(ir_.integer(DType::int64, 0), lanes));
  return ir_.emit(DType::int64, lanes, fmt::format("select <{0} x i1> {1}, <{0} x ptr> {2}, <{0} x ptr> {3}", lanes, guard.ref, pointer.ref, none.ref));
}

/// Replaces the address if all lanes are masked. A masked access to an unmapped page takes hundreds of cycles. Such accesses occur when one part of a
/// concatenation is read at the positions of another.
Value KernelWriter::unless_masked(const Value& pointer, const Value& mask) {
  return mask.ref == mask_.ref ? pointer : or_nowhere(pointer, ir_.any(mask));  // the end of an axis leaves some lane
}

Value KernelWriter::lane_pointers(const Value& base, const Access& access, int lanes) {
  const int along = coefficient(nest_, access.index, nest_.lane_axis());
  if (along == kIrregular) return element_pointer(base, access.dtype, ir_.broadcast(index_value(access.index, lanes), lanes));
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  const Value none = ir_.integer(DType::int64, 0);
  return element_pointer(first, access.dtype, ir_.broadcast(along == kNone ? none : lane_offsets(along, lanes), lanes));
}

Value KernelWriter::load_guarded(const Access& access, const Value& guard, const Value& fill, int lanes) {
  const Value& base = inputs_[&access - nest_.inputs.data()];
  const int along = coefficient(nest_, access.index, nest_.lane_axis());
  if (lanes == 1 || (along == kNone && guard.lanes == 1)) {
    const Value pointer = element_pointer(base, access.dtype, index_value(access.index, 1));
    return ir_.select(guard, load_memory(or_nowhere(pointer, guard), access.dtype, 1), fill);
  }
  const Value wide = ir_.broadcast(fill, lanes);
  if (along == kOne) {
    const Value pointer = element_pointer(base, access.dtype, index_value(access.index, 1));
    if (guard.lanes == 1) return ir_.select(guard, load_memory(or_nowhere(pointer, guard), access.dtype, lanes), wide);
    return load_masked(unless_masked(pointer, guard), guard, wide);
  }
  const Value mask = ir_.broadcast(guard, lanes);
  return ir_.select(mask, load_lanes(or_nowhere(lane_pointers(base, access, lanes), mask), access.dtype), wide);
}

void KernelWriter::store_guarded(const Access& access, const Value& value, const Value& guard, int lanes) {
  const Value& base = outputs_[&access - nest_.outputs.data()];
  const int along = coefficient(nest_, access.index, nest_.lane_axis());
  if (lanes == 1 || (along == kNone && guard.lanes == 1)) {
    const Value pointer = element_pointer(base, access.dtype, index_value(access.index, 1));
    store_memory(or_nowhere(pointer, guard), ir_.lane(value, value.lanes - 1));
    return;
  }
  const Value wide = ir_.broadcast(value, lanes), mask = ir_.broadcast(guard, lanes);
  if (along == kOne) store_masked(unless_masked(element_pointer(base, access.dtype, index_value(access.index, 1)), mask), wide, mask);
  else store_lanes(or_nowhere(lane_pointers(base, access, lanes), mask), wide);
}

/// Reports a failed check. Failures are rare, so the failing lanes are searched behind a branch.
void KernelWriter::raise(const Check& check) {
  ir_.set_name(fmt::format("check{}", check.number));
  const Value failed = masked(ir_.bit_not(values_[check.condition]));
  const std::string tell = ir_.label("failed"), go_on = ir_.label("checked");
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.any(failed).ref, tell, go_on));
  ir_.begin_block(tell);
  const auto flag = [&](int place) { return element_pointer(flags_, DType::int64, ir_.integer(DType::int64, 2 * check.number + place)); };
  store_memory(flag(0), ir_.integer(DType::int64, 1));
  if (failed.lanes == 1) {
    store_memory(flag(1), ir_.lane(values_[check.value], 0));
  } else {
    const Value same = ir_.broadcast(ir_.integer(DType::int64, 0), failed.lanes);
    store_lanes(or_nowhere(element_pointer(flag(1), DType::int64, same), failed), ir_.broadcast(values_[check.value], failed.lanes));
  }
  ir_.line("br label %" + go_on);
  ir_.begin_block(go_on);
}

void KernelWriter::store_access(const Access& access, const Value& value, int lanes) {
  const Value& base = outputs_[&access - nest_.outputs.data()];
  const int along = coefficient(nest_, access.index, nest_.lane_axis());
  if (lanes == 1 || along == kNone) {  // all lanes write the same element, and the last lane's value stays
    const Value pointer = element_pointer(base, access.dtype, index_value(access.index, 1));
    store_memory(pointer, ir_.lane(value, value.lanes - 1));
    return;
  }
  const Value wide = ir_.broadcast(value, lanes);
  if (along == kIrregular) {
    store_lanes(element_pointer(base, access.dtype, index_value(access.index, lanes)), wide);
    return;
  }
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  if (along == kOne) store_wide(first, wide);
  else store_lanes(element_pointer(first, access.dtype, lane_offsets(along, lanes)), wide);
}

// ---- transposed tiles, streaming stores

bool KernelWriter::transposable(const Access& access, int lanes) const {
  return lanes > 1 && lanes == native_lanes_ && itemsize(access.dtype) >= 4 && !guarded_[&access - nest_.inputs.data()] &&
         coefficient(nest_, access.index, nest_.lane_axis()) >= 0 && coefficient(nest_, access.index, nest_.parallel - 2) == kOne;
}

void KernelWriter::load_transposed(const Access& access, const std::string& place, int lanes) {
  const Value& base = inputs_[&access - nest_.inputs.data()];
  const Value stride = ints_[coefficient(nest_, access.index, nest_.lane_axis())];
  ir_.set_name(access.name + ".rows");
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  std::vector<Value> rows;
  for (int k = 0; k < lanes; ++k)
    rows.push_back(load_memory(element_pointer(first, access.dtype, ir_.mul(stride, ir_.integer(DType::int64, k))), access.dtype, lanes));
  rows = transposed(std::move(rows));
  for (int k = 0; k < lanes; ++k) store_memory(element_pointer({place, DType::int64}, access.dtype, ir_.integer(DType::int64, k * lanes)), rows[k]);
}

bool KernelWriter::stored_by_tiles(const Access& access, int lanes) const { return lanes > 1 && lanes == native_lanes_ && lies_along_rows(nest_, access); }

void KernelWriter::store_transposed(const Access& access, const std::string& tile, int lanes) {
  const Value& base = outputs_[&access - nest_.outputs.data()];
  const Value stride = ints_[coefficient(nest_, access.index, nest_.lane_axis())];
  ir_.set_name(access.name);
  const Value first = element_pointer(base, access.dtype, index_value(access.index, 1));
  std::vector<Value> rows;
  for (int k = 0; k < lanes; ++k)
    rows.push_back(load_memory(element_pointer({tile, DType::int64}, access.dtype, ir_.integer(DType::int64, k * lanes)), access.dtype, lanes));
  rows = transposed(std::move(rows));
  for (int k = 0; k < lanes; ++k) store_wide(element_pointer(first, access.dtype, ir_.mul(stride, ir_.integer(DType::int64, k))), rows[k]);
}

/// Transposes rows. Interleaving row i with row i + lanes/2 moves the highest bit of the row number to the end of the column number, and the column's highest
/// bit to the end of the row number. When every bit has moved, rows are columns.
std::vector<Value> KernelWriter::transposed(std::vector<Value> rows) {
  const DType dtype = rows[0].dtype;
  const int lanes = rows[0].lanes;
  const std::string type = type_name(dtype, lanes);
  for (int bits = lanes; bits > 1; bits /= 2) {
    std::vector<Value> next;
    for (int k = 0; k < lanes; ++k) {
      std::string mask;
      for (int lane = 0; lane < lanes; ++lane) mask += fmt::format("{}i32 {}", lane ? ", " : "", k % 2 * (lanes / 2) + lane / 2 + lane % 2 * lanes);
      next.push_back(ir_.emit(
          dtype, lanes, fmt::format("shufflevector {0} {1}, {0} {2}, <{3} x i32> <{4}>", type, rows[k / 2].ref, rows[k / 2 + lanes / 2].ref, lanes, mask)));
    }
    rows = std::move(next);
  }
  return rows;
}

/// Stores neighbouring elements. If the kernel writes much and the address is aligned, the store bypasses the cache. In a tile neighbouring vectors are not
/// written one after the other, so each must be a whole cache line.
void KernelWriter::store_wide(const Value& pointer, const Value& value) {
  const auto bytes = static_cast<int>(itemsize(value.dtype)) * value.lanes;
  if (is_bool(value.dtype) || bytes < (tiled() ? 64 : cpu_.vector_bytes)) return store_memory(pointer, value);
  const std::string streamed = ir_.label("streamed"), cached = ir_.label("cached"), done = ir_.label("stored");
  const Value address = ir_.emit(DType::int64, 1, fmt::format("ptrtoint ptr {} to i64", pointer.ref));
  const Value past = ir_.eq(ir_.bit_and(address, stream_mask_), ir_.integer(DType::int64, 0));
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", past.ref, streamed, cached));
  ir_.begin_block(streamed);
  ir_.line(fmt::format("store {} {}, ptr {}, align {}, !nontemporal !0", type_name(value.dtype, value.lanes), value.ref, pointer.ref, cpu_.vector_bytes));
  ir_.line("br label %" + done);
  ir_.begin_block(cached);
  store_memory(pointer, value);
  ir_.line("br label %" + done);
  ir_.begin_block(done);
}

// ---- separate lanes: one element at a time, because processors' gathers and scatters are no faster, and some much slower

namespace {

std::string vector_of(std::string_view element, int lanes) { return fmt::format("<{} x {}>", lanes, element); }

/// Returns a shuffle's mask: f(0), f(1), ...
template <class F> std::string mask_of(int lanes, F f) {
  std::string mask;
  for (int k = 0; k < lanes; ++k) mask += fmt::format("{}i32 {}", k ? ", " : "", f(k));
  return fmt::format("<{} x i32> <{}>", lanes, mask);
}

/// Returns text that collects a vector from the elements at %at0, %at1, ...
std::string collect(std::string_view element, int lanes) {
  std::string text, vector = "poison";
  for (int k = 0; k < lanes; ++k) {
    text += fmt::format("  %e{0} = load {1}, ptr %at{0}\n  %v{0} = insertelement {2} {3}, {1} %e{0}, i64 {0}\n", k, element, vector_of(element, lanes), vector);
    vector = fmt::format("%v{}", k);
  }
  return text + fmt::format("  ret {} {}\n", vector_of(element, lanes), vector);
}

}  // namespace

namespace {

std::string mangled_memory(DType dtype) { return is_bool(dtype) ? "i8" : intrinsic_type(dtype); }

}  // namespace

/// Loads a contiguous vector. Lanes without their mask bit are not accessed.
Value KernelWriter::load_masked(const Value& pointer, const Value& mask, const Value& fill) {
  const int lanes = fill.lanes;
  const std::string type = vector_of(memory_type(fill.dtype), lanes);
  const std::string symbol = fmt::format("@llvm.masked.load.v{}{}.p0", lanes, mangled_memory(fill.dtype));
  module_.declare(fmt::format("declare {0} {1}(ptr, i32, <{2} x i1>, {0})", type, symbol, lanes));
  return as_value(ir_.emit(fill.dtype, lanes,
                           fmt::format("call {0} {1}(ptr {2}, i32 {3}, <{4} x i1> {5}, {0} {6})", type, symbol, pointer.ref, itemsize(fill.dtype), lanes,
                                       mask.ref, in_memory(fill))));
}

void KernelWriter::store_masked(const Value& pointer, const Value& value, const Value& mask) {
  const std::string type = vector_of(memory_type(value.dtype), value.lanes);
  const std::string symbol = fmt::format("@llvm.masked.store.v{}{}.p0", value.lanes, mangled_memory(value.dtype));
  module_.declare(fmt::format("declare void {1}({0}, ptr, i32, <{2} x i1>)", type, symbol, value.lanes));
  ir_.line(fmt::format("call void {}({} {}, ptr {}, i32 {}, <{} x i1> {})", symbol, type, in_memory(value), pointer.ref, itemsize(value.dtype), value.lanes,
                       mask.ref));
}

/// Returns the lanes in their memory form.
std::string KernelWriter::in_memory(const Value& value) {
  if (!is_bool(value.dtype)) return value.ref;
  return ir_.emit(value.dtype, value.lanes, fmt::format("zext <{0} x i1> {1} to <{0} x i8>", value.lanes, value.ref)).ref;
}

/// Loads elements a stride apart. Stride 2 selects from neighbours, stride -1 reverses neighbours.
Value KernelWriter::load_strided(const Value& first, DType dtype, const Value& stride, int lanes) {
  const std::string element(memory_type(dtype)), type = vector_of(element, lanes);
  const std::string symbol = fmt::format("@load_strided_{}x{}", lanes, element);
  if (module_.claim(symbol)) {
    std::string text = fmt::format("define internal {} {}(ptr %first, i64 %stride) alwaysinline #0 {{\nentry:\n", type, symbol);
    text += "  switch i64 %stride, label %strided [ i64 1, label %neighbours  i64 2, label %pairs  i64 -1, label %reversed ]\n";
    text += fmt::format("neighbours:\n  %all = load {0}, ptr %first, align {1}\n  ret {0} %all\n", type, itemsize(dtype));
    // The second half begins one element early, so that it ends with the last wanted element.
    text += fmt::format(
        "pairs:\n  %low = load {0}, ptr %first, align {1}\n  %middle = getelementptr {2}, ptr %first, i64 {3}\n"
        "  %high = load {0}, ptr %middle, align {1}\n  %picked = shufflevector {0} %low, {0} %high, {4}\n  ret {0} %picked\n",
        type, itemsize(dtype), element, lanes - 1, mask_of(lanes, [&](int k) { return 2 * k < lanes ? 2 * k : 2 * k + 1; }));
    text += fmt::format(
        "reversed:\n  %last = getelementptr {2}, ptr %first, i64 {3}\n  %ahead = load {0}, ptr %last, align {1}\n"
        "  %turned = shufflevector {0} %ahead, {0} poison, {4}\n  ret {0} %turned\n",
        type, itemsize(dtype), element, 1 - lanes, mask_of(lanes, [&](int k) { return lanes - 1 - k; }));
    text += "strided:\n";
    for (int k = 0; k < lanes; ++k) text += fmt::format("  %by{0} = mul i64 %stride, {0}\n  %at{0} = getelementptr {1}, ptr %first, i64 %by{0}\n", k, element);
    module_.add_helper(text + collect(element, lanes) + "}\n\n");
  }
  return as_value(ir_.emit(dtype, lanes, fmt::format("call {} {}(ptr {}, i64 {})", type, symbol, first.ref, stride.ref)));
}

Value KernelWriter::load_lanes(const Value& pointers, DType dtype) {
  const int lanes = pointers.lanes;
  const std::string element(memory_type(dtype)), type = vector_of(element, lanes);
  const std::string symbol = fmt::format("@load_lanes_{}x{}", lanes, element);
  if (module_.claim(symbol)) {
    std::string text = fmt::format("define internal {} {}(<{} x ptr> %pointers) alwaysinline #0 {{\nentry:\n", type, symbol, lanes);
    for (int k = 0; k < lanes; ++k) text += fmt::format("  %at{0} = extractelement <{1} x ptr> %pointers, i64 {0}\n", k, lanes);
    module_.add_helper(text + collect(element, lanes) + "}\n\n");
  }
  return as_value(ir_.emit(dtype, lanes, fmt::format("call {} {}(<{} x ptr> {})", type, symbol, lanes, pointers.ref)));
}

/// Stores in the order of the lanes: if two lanes write to one address, the later value stays.
void KernelWriter::store_lanes(const Value& pointers, const Value& value) {
  const int lanes = value.lanes;
  const std::string element(memory_type(value.dtype)), type = vector_of(element, lanes);
  const std::string symbol = fmt::format("@store_lanes_{}x{}", lanes, element);
  if (module_.claim(symbol)) {
    std::string text = fmt::format("define internal void {}(<{} x ptr> %pointers, {} %values) alwaysinline #0 {{\nentry:\n", symbol, lanes, type);
    for (int k = 0; k < lanes; ++k)
      text += fmt::format(
          "  %at{0} = extractelement <{1} x ptr> %pointers, i64 {0}\n  %e{0} = extractelement {2} %values, i64 {0}\n"
          "  store {3} %e{0}, ptr %at{0}\n",
          k, lanes, type, element);
    module_.add_helper(text + "  ret void\n}\n\n");
  }
  const std::string stored = in_memory(value);
  ir_.line(fmt::format("call void {}(<{} x ptr> {}, {} {})", symbol, lanes, pointers.ref, type, stored));
}

/// Returns loaded bytes as bits.
Value KernelWriter::as_value(const Value& loaded) {
  if (!is_bool(loaded.dtype)) return loaded;
  return ir_.emit(loaded.dtype, loaded.lanes, fmt::format("icmp ne <{} x i8> {}, zeroinitializer", loaded.lanes, loaded.ref));
}

Value KernelWriter::persistent_pointer(int buffer, int lanes) {
  Value row = axes_[nest_.parallel];
  for (int axis = nest_.parallel + 1; axis < nest_.axes(); ++axis) row = ir_.add(ir_.mul(row, ints_[axis]), axes_[axis]);
  if (!rows_are_lanes()) row = ir_.mul(row, ir_.integer(DType::int64, lanes));
  const Value offset = ir_.mul(persistent_stride_, ir_.integer(DType::int64, buffer));
  const Value base = ir_.emit(DType::int64, 1, fmt::format("getelementptr i8, ptr %scratch, i64 {}", offset.ref));
  return element_pointer(base, nest_.persistent[buffer], row);
}

}  // namespace sinter::jit::llvm
