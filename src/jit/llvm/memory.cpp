#include "jit/llvm/memory.hpp"

#include <fmt/format.h>

#include "jit/reduction_order.hpp"

namespace sinter::jit::llvm {
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

std::string mangled_memory(DType dtype) { return is_bool(dtype) ? "i8" : intrinsic_type(dtype); }

}  // namespace

Value Accesses::element_pointer(const Value& base, DType dtype, const Value& index) {
  const std::string i = fmt::format("{} {}", type_name(DType::int64, index.lanes), index.ref);
  return ir_.emit(DType::int64, index.lanes, fmt::format("getelementptr {}, ptr {}, {}", memory_type(dtype), base.ref, i));
}

Value Accesses::load(const Value& pointer, DType dtype, int lanes) {
  if (!is_bool(dtype)) return ir_.emit(dtype, lanes, fmt::format("load {}, ptr {}, align {}", type_name(dtype, lanes), pointer.ref, itemsize(dtype)));
  const std::string type = lanes == 1 ? "i8" : fmt::format("<{} x i8>", lanes);
  const Value bytes = ir_.emit(dtype, lanes, fmt::format("load {}, ptr {}, align 1", type, pointer.ref));
  return ir_.emit(dtype, lanes, fmt::format("icmp ne {} {}, {}", type, bytes.ref, lanes == 1 ? "0" : "zeroinitializer"));
}

void Accesses::store(const Value& pointer, const Value& value) {
  if (!is_bool(value.dtype)) {
    ir_.line(fmt::format("store {} {}, ptr {}, align {}", type_name(value.dtype, value.lanes), value.ref, pointer.ref, itemsize(value.dtype)));
    return;
  }
  const std::string type = value.lanes == 1 ? "i8" : fmt::format("<{} x i8>", value.lanes);
  const Value bytes = ir_.emit(value.dtype, value.lanes, fmt::format("zext {} {} to {}", type_name(value.dtype, value.lanes), value.ref, type));
  ir_.line(fmt::format("store {} {}, ptr {}, align 1", type, bytes.ref, pointer.ref));
}

Value Accesses::or_nowhere(const Value& pointer, const Value& guard) {
  if (nowhere_.empty()) {
    ir_.set_name("nowhere");
    nowhere_ = ir_.alloca_of(DType::int64, kMaxLanes);  // room for a vector of any type
  }
  if (pointer.lanes == 1) return ir_.emit(DType::int64, 1, fmt::format("select i1 {}, ptr {}, ptr {}", guard.ref, pointer.ref, nowhere_));
  const int lanes = pointer.lanes;
  const Value none = element_pointer({nowhere_, DType::int64}, DType::int64, ir_.broadcast(ir_.integer(DType::int64, 0), lanes));
  return ir_.emit(DType::int64, lanes, fmt::format("select <{0} x i1> {1}, <{0} x ptr> {2}, <{0} x ptr> {3}", lanes, guard.ref, pointer.ref, none.ref));
}

Value Accesses::load_masked(const Value& pointer, const Value& mask, const Value& fill) {
  const int lanes = fill.lanes;
  const std::string type = vector_of(memory_type(fill.dtype), lanes);
  const std::string symbol = fmt::format("@llvm.masked.load.v{}{}.p0", lanes, mangled_memory(fill.dtype));
  module_.declare(fmt::format("declare {0} {1}(ptr, i32, <{2} x i1>, {0})", type, symbol, lanes));
  return as_value(ir_.emit(fill.dtype, lanes,
                           fmt::format("call {0} {1}(ptr {2}, i32 {3}, <{4} x i1> {5}, {0} {6})", type, symbol, pointer.ref, itemsize(fill.dtype), lanes,
                                       mask.ref, in_memory(fill))));
}

void Accesses::store_masked(const Value& pointer, const Value& value, const Value& mask) {
  const std::string type = vector_of(memory_type(value.dtype), value.lanes);
  const std::string symbol = fmt::format("@llvm.masked.store.v{}{}.p0", value.lanes, mangled_memory(value.dtype));
  module_.declare(fmt::format("declare void {1}({0}, ptr, i32, <{2} x i1>)", type, symbol, value.lanes));
  ir_.line(fmt::format("call void {}({} {}, ptr {}, i32 {}, <{} x i1> {})", symbol, type, in_memory(value), pointer.ref, itemsize(value.dtype), value.lanes,
                       mask.ref));
}

/// Returns the lanes in their memory form.
std::string Accesses::in_memory(const Value& value) {
  if (!is_bool(value.dtype)) return value.ref;
  return ir_.emit(value.dtype, value.lanes, fmt::format("zext <{0} x i1> {1} to <{0} x i8>", value.lanes, value.ref)).ref;
}

Value Accesses::load_strided(const Value& first, DType dtype, const Value& stride, int lanes) {
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

Value Accesses::load_lanes(const Value& pointers, DType dtype) {
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

void Accesses::store_lanes(const Value& pointers, const Value& value) {
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
Value Accesses::as_value(const Value& loaded) {
  if (!is_bool(loaded.dtype)) return loaded;
  return ir_.emit(loaded.dtype, loaded.lanes, fmt::format("icmp ne <{} x i8> {}, zeroinitializer", loaded.lanes, loaded.ref));
}

void Accesses::store_streamed(const Value& pointer, const Value& value, const Value& bits, int aligned) {
  const std::string streamed = ir_.label("streamed"), cached = ir_.label("cached"), done = ir_.label("stored");
  const Value address = ir_.emit(DType::int64, 1, fmt::format("ptrtoint ptr {} to i64", pointer.ref));
  const Value past = ir_.eq(ir_.bit_and(address, bits), ir_.integer(DType::int64, 0));
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", past.ref, streamed, cached));
  ir_.begin_block(streamed);
  ir_.line(fmt::format("store {} {}, ptr {}, align {}, !nontemporal !0", type_name(value.dtype, value.lanes), value.ref, pointer.ref, aligned));
  ir_.line("br label %" + done);
  ir_.begin_block(cached);
  store(pointer, value);
  ir_.line("br label %" + done);
  ir_.begin_block(done);
}

/// Transposes squares of as many neighbouring lanes as there are rows. Interleaving row i with row i + count/2 moves the highest bit of the row number to the
/// end of the column number, and the column's highest bit to the end of the row number. When every bit has moved, rows are columns.
std::vector<Value> Accesses::transposed(std::vector<Value> rows) {
  const DType dtype = rows[0].dtype;
  const int lanes = rows[0].lanes, count = static_cast<int>(rows.size());
  const std::string type = type_name(dtype, lanes);
  for (int bits = count; bits > 1; bits /= 2) {
    std::vector<Value> next;
    for (int k = 0; k < count; ++k) {
      const std::string mask = mask_of(lanes, [&](int lane) { return lane / count * count + k % 2 * (count / 2) + lane % count / 2 + lane % 2 * lanes; });
      next.push_back(ir_.emit(dtype, lanes, fmt::format("shufflevector {0} {1}, {0} {2}, {3}", type, rows[k / 2].ref, rows[k / 2 + count / 2].ref, mask)));
    }
    rows = std::move(next);
  }
  return rows;
}

std::vector<Value> Accesses::apart(const std::vector<Value>& vectors) {
  const int count = static_cast<int>(vectors.size()), lanes = vectors[0].lanes;
  return picked(vectors, [&](int number, int lane) { return std::pair{(number + lane * count) / lanes, (number + lane * count) % lanes}; });
}
std::vector<Value> Accesses::together(const std::vector<Value>& vectors) {
  const int count = static_cast<int>(vectors.size()), lanes = vectors[0].lanes;
  return picked(vectors, [&](int number, int lane) { return std::pair{(number * lanes + lane) % count, (number * lanes + lane) / count}; });
}

/// Returns as many vectors, where from(vector, lane) is the vector and the lane of an element.
std::vector<Value> Accesses::picked(const std::vector<Value>& vectors, const std::function<std::pair<int, int>(int, int)>& from) {
  const DType dtype = vectors[0].dtype;
  const int count = static_cast<int>(vectors.size()), lanes = vectors[0].lanes;
  const std::string type = type_name(dtype, lanes);
  std::vector<Value> all;
  for (int number = 0; number < count; ++number) {
    Value taken = vectors[0];
    for (int k = 0; k < count; k += k == 0 ? 2 : 1) {  // the first shuffle takes two vectors, and each further one adds a vector
      const Value& next = vectors[static_cast<std::size_t>(k == 0 ? std::min(1, count - 1) : k)];
      const std::string mask = mask_of(lanes, [&](int lane) {
        const auto [vector, place] = from(number, lane);
        if (k == 0) return vector == 1 ? lanes + place : vector == 0 ? place : lane;
        return vector == k ? lanes + place : lane;
      });
      taken = ir_.emit(dtype, lanes, fmt::format("shufflevector {0} {1}, {0} {2}, {3}", type, taken.ref, next.ref, mask));
    }
    all.push_back(taken);
  }
  return all;
}

}  // namespace sinter::jit::llvm
