// Prints the loop language as LLVM IR. A name of `let` is an SSA value, a variable is an alloca, which becomes a register.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "jit/compiler.hpp"
#include "jit/forms/forms.hpp"
#include "jit/llvm/math.hpp"
#include "jit/llvm/memory.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace llvm {
namespace {

using loop::E, loop::Stmt;
using Kind = loop::Expr::Kind;

/// The flags for fast_math, which does not guarantee the sign of zero, and the rounding of products before they are added. Divisions and roots stay exact: the
/// processor's estimates of those turn 0, infinity and denormal numbers into NaN.
constexpr char kFastMath[] = "nsz contract";

class Printer {
 public:
  Printer(const loop::Kernel& kernel, const CpuTarget& cpu, bool fast_math)
      : kernel_(kernel), cpu_(cpu), module_(cpu), ir_(module_, fast_math ? kFastMath : ""), memory_(ir_), scopes_(1) {}

  std::string kernel() {
    for (const char* reserved : {"entry", "pointers", "ints", "scalars", "scratch", "outer_begin", "outer_end", "inner_begin", "inner_end"})
      ir_.label(reserved);
    parameters();
    print(kernel_.body);
    const Architecture& architecture = module_.architecture();
    std::string fence;  // makes streaming stores visible before the launch is reported as done
    if (!architecture.fence.empty()) {
      module_.declare(fmt::format("declare void {}()", architecture.fence));
      fence = fmt::format("  call void {}()\n", architecture.fence);
    }
    std::string text = fmt::format("; kernel {}\n", kernel_.name);
    for (const std::string& note : kernel_.notes) text += fmt::format("; fuses {}\n", note);
    text += fmt::format("target triple = \"{}\"\n\n", architecture.triple);
    text += fmt::format(
        "define void @{}(ptr %pointers, ptr %ints, ptr %scalars, ptr %scratch, i64 %outer_begin, i64 %outer_end, "
        "i64 %inner_begin, i64 %inner_end) #0 {{\nentry:\n{}{}  ret void\n}}\n\n{}",
        kernel_.name, ir_.text(), fence, module_.text(ir_.text()));
    const int bits = cpu_.vector_bytes * 8;
    text += fmt::format(
        "\nattributes #0 = {{ nounwind \"no-builtins\" \"target-cpu\"=\"{}\" \"target-features\"=\"{}\" "
        "\"prefer-vector-width\"=\"{}\" \"min-legal-vector-width\"=\"{}\" }}\n",
        architecture.processor, cpu_.features, bits, bits);
    return text + "!0 = !{i32 1}\n";  // the operand of !nontemporal
  }

 private:
  struct Name {
    enum class Kind : std::uint8_t { value, variable, memory } kind;
    Value value;  // its ref is the address of a variable or of memory
    loop::Type type;
  };

  [[noreturn]] void fail(std::string_view what) const { throw InternalError(fmt::format("CPU kernel {}: {}", kernel_.name, what)); }
  const Name& find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    fail(name + " is not declared");
  }
  void declare(const std::string& name, Name::Kind kind, const Value& value, const loop::Type& type) {
    scopes_.back().insert_or_assign(name, Name{kind, value, type});
  }

  void parameters() {
    std::map<std::string_view, std::size_t> slots;
    for (const loop::Parameter& p : kernel_.parameters) {
      using P = loop::Parameter::Kind;
      const char* const array = p.is_memory() ? "pointers" : p.kind == P::number ? "ints" : "scalars";
      ir_.set_name(p.name + ".at");
      const Value at = ir_.emit(DType::int64, 1, fmt::format("getelementptr i64, ptr %{}, i64 {}", array, slots[array]++));
      ir_.set_name(p.name);
      // A pointer is a value of which only the name is used. Its dtype does not matter.
      if (p.is_memory()) declare(p.name, Name::Kind::memory, ir_.emit(DType::int64, 1, fmt::format("load ptr, ptr {}", at.ref)), p.dtype);
      else declare(p.name, Name::Kind::value, memory_.load(at, p.dtype, 1), p.dtype);
    }
  }

  // ---- statements

  void print(const std::vector<Stmt>& statements) {
    for (const Stmt& s : statements) print(s);
  }
  void scope(const std::vector<Stmt>& statements) {
    scopes_.emplace_back();
    print(statements);
    scopes_.pop_back();
  }

  void print(const Stmt& s) {
    using S = Stmt::Kind;
    if (!s.name.empty()) ir_.set_name(s.name);
    switch (s.kind) {
      case S::let: return declare(s.name, Name::Kind::value, ir_.broadcast(value(s.value), s.type.width), s.type);
      case S::var: {
        const std::string place = ir_.alloca_of(s.type.dtype, s.type.width);
        if (!s.value.empty()) ir_.store(place, ir_.broadcast(value(s.value), s.type.width));
        return declare(s.name, Name::Kind::variable, {place, s.type.dtype, s.type.width}, s.type);
      }
      case S::registers: return registers(s);
      case S::dynamic: {
        // Each element has room for the widest, and each array begins at a cache line.
        const Value bytes = ir_.bit_and(ir_.add(ir_.mul(value(s.extent), integer(8)), integer(63)), integer(-64));
        declare(s.name, Name::Kind::memory, ir_.emit(DType::int64, 1, fmt::format("getelementptr i8, ptr %scratch, i64 {}", dynamic_end_.ref)), s.type);
        dynamic_end_ = ir_.add(dynamic_end_, bytes);
        return;
      }
      case S::store: return store(s);
      case S::loop: return loop(s);
      case S::branch: return s.guard.empty() ? scope(s.body) : branch(value(s.guard), s.body, s.otherwise);
      case S::check: return check(s);
      default: fail("a CPU has no such statement");
    }
  }

  void registers(const Stmt& s) {
    const int lanes = s.type.width;
    const Value array{ir_.array_of(s.type.dtype, s.extents[0] * lanes), DType::int64};
    declare(s.name, Name::Kind::memory, array, s.type);
    if (s.value.empty()) return;
    if (s.value->kind != Kind::transposed && s.value->kind != Kind::apart && s.value->kind != Kind::together) fail(s.name + " has a value");
    const std::vector<Value> from = vectors_of(s.value->name, s.extents[0]);
    const std::vector<Value> vectors = s.value->kind == Kind::transposed ? memory_.transposed(from)
                                       : s.value->kind == Kind::apart    ? memory_.apart(from)
                                                                         : memory_.together(from);
    for (std::size_t k = 0; k < vectors.size(); ++k) memory_.store(vector_pointer(array, s.type, static_cast<int>(k)), vectors[k]);
  }
  Value vector_pointer(const Value& array, const loop::Type& type, int k) { return memory_.element_pointer(array, type.dtype, integer(k * type.width)); }
  std::vector<Value> vectors_of(const std::string& name, int count) {
    const Name array = find(name);
    std::vector<Value> vectors;
    for (int k = 0; k < count; ++k) vectors.push_back(memory_.load(vector_pointer(array.value, array.type, k), array.type.dtype, array.type.width));
    return vectors;
  }

  void branch(const Value& when, const std::vector<Stmt>& body, const std::vector<Stmt>& otherwise) {
    const std::string then = ir_.label("then"), other = otherwise.empty() ? "" : ir_.label("else"), done = ir_.label("done");
    ir_.line(fmt::format("br i1 {}, label %{}, label %{}", when.ref, then, otherwise.empty() ? done : other));
    const auto part = [&](const std::string& label, const std::vector<Stmt>& statements) {
      ir_.begin_block(label);
      scope(statements);
      ir_.line("br label %" + done);
    };
    part(then, body);
    if (!otherwise.empty()) part(other, otherwise);
    ir_.begin_block(done);
  }

  void loop(const Stmt& s) {
    const auto iteration = [&](const Value& counter) {
      scopes_.emplace_back();
      declare(s.name, Name::Kind::value, counter, s.type);
      print(s.body);
      scopes_.pop_back();
      return value(s.step);
    };
    if (s.change != loop::Change::add || s.type.dtype != DType::int64) fail("a CPU's loops add to an int64");
    if (s.binding != loop::Binding::unrolled) {
      const Value first = value(s.first), end = value(s.end);
      return ir_.loop(s.name.c_str(), first, end, iteration);
    }
    for (std::int64_t i = s.first->number; i < s.end->number; i += s.step->number) iteration(integer(i));
  }

  void store(const Stmt& s) {
    const loop::Expr& target = *s.target;
    const int lanes = target.type.width;
    const Value stored = ir_.broadcast(value(s.value), lanes);
    if (target.kind == Kind::variable) return ir_.store(find(target.name).value.ref, stored);
    const Value guard = s.guard.empty() ? Value{} : value(s.guard);
    ir_.set_name(target.name);
    if (apart(target)) {
      const Value at = pointers(target);
      return memory_.store_lanes(s.guard.empty() ? at : memory_.or_nowhere(at, ir_.broadcast(guard, lanes)), stored);
    }
    const Value at = pointer(target);
    if (s.guard.empty()) return s.stream.empty() ? memory_.store(at, stored) : memory_.store_streamed(at, stored, value(s.stream), cpu_.vector_bytes);
    if (lanes == 1) return memory_.store(memory_.or_nowhere(at, guard), stored);
    const Value mask = ir_.broadcast(guard, lanes);
    memory_.store_masked(unless_masked(at, *s.guard, mask), stored, mask);
  }

  /// Reports a failed check. Failures are rare, so the failing lanes are searched behind a branch.
  void check(const Stmt& s) {
    ir_.set_name(fmt::format("check{}", s.number));
    const Value failed = value(s.guard), reported = value(s.value);
    const std::string tell = ir_.label("failed"), go_on = ir_.label("checked");
    ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.any(failed).ref, tell, go_on));
    ir_.begin_block(tell);
    const auto flag = [&](int place) { return memory_.element_pointer(find("flags").value, DType::int64, integer(2 * s.number + place)); };
    memory_.store(flag(0), integer(1));
    if (failed.lanes == 1) {
      memory_.store(flag(1), ir_.lane(reported, 0));
    } else {
      const Value same = memory_.element_pointer(flag(1), DType::int64, ir_.broadcast(integer(0), failed.lanes));
      memory_.store_lanes(memory_.or_nowhere(same, failed), ir_.broadcast(reported, failed.lanes));
    }
    ir_.line("br label %" + go_on);
    ir_.begin_block(go_on);
  }

  // ---- memory

  /// Returns whether the elements of a vector are not neighbours.
  static bool apart(const loop::Expr& e) { return e.kind == Kind::strided || (e.kind == Kind::element && e.args[0]->type.width > 1); }

  /// Returns the address of the first element.
  Value pointer(const loop::Expr& e) {
    const Name& memory = find(e.name);
    if (memory.kind != Name::Kind::memory || e.args.size() > (e.kind == Kind::strided ? 2U : 1U)) fail(e.name + " is no array of one dimension");
    return pointer(memory.value, memory.type, e.args[0]);
  }
  Value pointer(const Value& base, const loop::Type& type, const E& index) {
    // Addresses that differ in the second summand share the first.
    if (index->kind == Kind::binary && index->name == "+") return pointer(pointer(base, type, index->args[0]), type, index->args[1]);
    Value at = value(index);
    // SROA makes registers of an array whose indices are all literals.
    if (type.width > 1) at = at.literal ? integer(std::stoll(at.ref) * type.width) : ir_.mul(at, integer(type.width));
    return memory_.element_pointer(base, type.dtype, at);
  }
  /// Returns the address of each element.
  Value pointers(const loop::Expr& e) {
    if (e.kind == Kind::element) return pointer(e);
    const Value first = pointer(e), lanes = ir_.iota(e.type.width);
    if (e.args[1]->kind == Kind::literal && e.args[1]->number == 0)
      return memory_.element_pointer(first, e.type.dtype, ir_.broadcast(integer(0), e.type.width));
    return memory_.element_pointer(first, e.type.dtype, ir_.mul(lanes, value(e.args[1])));
  }

  /// Replaces the address if all lanes are masked. A masked access to an unmapped page takes hundreds of cycles. Such accesses occur when one part of a
  /// concatenation is read at the positions of another.
  Value unless_masked(const Value& pointer, const loop::Expr& guard, const Value& mask) {
    return guard.kind == Kind::some ? pointer : memory_.or_nowhere(pointer, ir_.any(mask));
  }

  /// Loads an element or elements. An element whose guard is false is read at an unused address; neighbouring lanes are masked.
  Value load(const loop::Expr& e) {
    const DType dtype = e.type.dtype;
    const int lanes = e.type.width;
    const Value guard = e.guard.empty() ? Value{} : value(e.guard), fill = e.guard.empty() ? Value{} : ir_.broadcast(value(e.fill), lanes);
    if (apart(e)) {
      if (e.guard.empty() && e.kind == Kind::strided) {
        const Value first = pointer(e);
        return memory_.load_strided(first, dtype, value(e.args[1]), lanes);
      }
      if (e.guard.empty()) return memory_.load_lanes(pointers(e), dtype);
      const Value mask = ir_.broadcast(guard, lanes);
      return ir_.select(mask, memory_.load_lanes(memory_.or_nowhere(pointers(e), mask), dtype), fill);
    }
    const Value at = pointer(e);
    if (e.guard.empty()) return memory_.load(at, dtype, lanes);
    if (guard.lanes == 1) return ir_.select(guard, memory_.load(memory_.or_nowhere(at, guard), dtype, lanes), fill);
    return memory_.load_masked(unless_masked(at, *e.guard, guard), guard, fill);
  }

  // ---- expressions

  Value integer(std::int64_t number) { return ir_.integer(DType::int64, number); }

  Value value(const E& expression) {
    const loop::Expr& e = *expression;
    const DType dtype = e.type.dtype;
    switch (e.kind) {
      case Kind::literal:
        return e.number == 0 ? ir_.zero(dtype) : is_floating(dtype) ? ir_.number(dtype, static_cast<double>(e.number)) : ir_.integer(dtype, e.number);
      case Kind::variable: {
        const Name& name = find(e.name);
        return name.kind == Name::Kind::variable ? ir_.load(name.value.ref, dtype, e.type.width) : name.value;
      }
      case Kind::own: return {"%" + e.name, DType::int64};
      case Kind::element:
      case Kind::vector:
      case Kind::strided: return load(e);
      case Kind::lane: return ir_.lane(value(e.args[0]), static_cast<int>(e.args[1]->number));
      case Kind::binary: {
        const Value a = value(e.args[0]), b = value(e.args[1]);
        return binary(e.name, a, b);
      }
      case Kind::invert: return ir_.bit_not(value(e.args[0]));
      case Kind::select: {
        const Value when = value(e.args[0]), yes = value(e.args[1]), no = value(e.args[2]);
        return ir_.select(when, yes, no);
      }
      case Kind::cast: return ir_.cast(value(e.args[0]), dtype);
      case Kind::primitive: return primitive(e);
      case Kind::quotient: {  // LLVM moves the reciprocal of the divisor out of loops
        const Value above = value(e.args[0]), divisor = value(e.args[1]->args[0]);
        return module_.has_fma() ? emit_quotient(ir_, above, divisor) : ir_.div(above, divisor);
      }
      case Kind::neutral: return neutral(e.op, dtype);
      case Kind::iota: return numbers(dtype, e.type.width);
      case Kind::lanes_below: return lanes_below(value(e.args[0]), e.type.width);
      case Kind::any: return ir_.any(value(e.args[0]));
      case Kind::some: return value(e.args[0]);
      case Kind::tree: return tree(e.op, value(e.args[0]), e.type.width);
      case Kind::trees: return trees(e.op, vectors_of(e.name, e.type.width));
      case Kind::prefix: return prefix(e.op, ir_.broadcast(value(e.args[0]), e.type.width));
      default: fail("a CPU has no such expression");
    }
  }

  Value binary(std::string_view symbol, const Value& a, const Value& b) {
    if (symbol == "+") return ir_.add(a, b);
    if (symbol == "-") return ir_.sub(a, b);
    if (symbol == "*") return ir_.mul(a, b);
    if (symbol == "/") return quotient(a, b);
    if (symbol == "%") return a.lanes == 1 ? ir_.binary("urem", a, b) : ir_.sub(a, ir_.mul(quotient(a, b), b));
    if (symbol == "&" || symbol == "&&") return ir_.bit_and(a, b);
    if (symbol == "||") return ir_.bit_or(a, b);
    if (symbol == "^") return ir_.bit_xor(a, b);
    if (symbol == "<") return ir_.lt(a, b);
    if (symbol == "<=") return ir_.le(a, b);
    if (symbol == ">") return ir_.lt(b, a);
    if (symbol == ">=") return ir_.le(b, a);
    return ir_.eq(a, b);
  }

  Value quotient(const Value& a, const Value& b) {
    if (a.lanes == 1) return ir_.binary("udiv", a, b);
    // Processors have no vector division of integers, but the truncated quotient of two doubles is exact below 2^52, which bounds every index. The bits of 2^52
    // + x hold x, which gives the conversion in both directions.
    return ir_.call("index_divide", {a, b}, [](Ir& ir, const std::vector<Value>& x) {
      const Value bits = ir.integer(DType::int64, 0x4330000000000000), big = ir.real(DType::float64, 0x1p52);
      const auto to_double = [&](const Value& v) { return ir.sub(ir.bitcast(ir.bit_or(v, bits), DType::float64), big); };
      const Value quotient = ir.trunc(ir.div(to_double(x[0]), to_double(x[1])));
      return ir.bit_xor(ir.bitcast(ir.add(quotient, big), DType::int64), bits);
    });
  }

  Value primitive(const loop::Expr& e) {
    const auto operand = [&](std::size_t k) { return k < e.args.size() ? value(e.args[k]) : Value{}; };
    const Value a = operand(0), b = operand(1), c = operand(2);
    return applied(ir_, e.op, e.type.dtype, a, b, c);
  }
  /// The table's `llvm` column uses the names of the parameters.
  Value applied(Ir& ir, trace::Op op, [[maybe_unused]] DType to, const Value& a, const Value& b, const Value& c) {
    switch (op) {
#define SINTER_ELEMENTWISE(id, arity, accepts, result, rule, cost, identity, cuda_float, cuda_int, llvm, interpreter) \
  case trace::Op::id: return llvm;
#include "trace/primitives.def"
      default: fail(fmt::format("{} is not an elementwise op", trace::name(op)));
    }
  }
  Value combined(trace::Op reduction, const Value& a, const Value& b) { return applied(ir_, trace::primitive(reduction).combine, a.dtype, a, b, {}); }

  Value neutral(trace::Op reduction, DType dtype) {
    if (reduction == trace::Op::reduce_sum) return ir_.zero(dtype);
    if (reduction == trace::Op::reduce_prod) return ir_.number(dtype, 1);
    const bool is_min = reduction == trace::Op::reduce_min;
    if (is_bool(dtype)) return ir_.integer(dtype, is_min);
    if (is_floating(dtype)) return ir_.real(dtype, is_min ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
    return visit_storage(dtype, [&]<class T>() {
      using limits = std::numeric_limits<T>;
      return ir_.integer(dtype, static_cast<std::int64_t>(is_min ? limits::max() : limits::lowest()));
    });
  }

  // ---- lanes

  /// Returns f(0), f(1), ... as a literal: "<i32 4, i32 5>".
  template <class F> static std::string listed(std::string_view type, int lanes, F f) {
    std::string list;
    for (int lane = 0; lane < lanes; ++lane) list += fmt::format("{}{} {}", lane ? ", " : "", type, f(lane));
    return fmt::format("<{}>", list);
  }
  static Value numbers(DType dtype, int lanes) {
    return {listed(type_name(dtype, 1), lanes, [](int lane) { return lane; }), dtype, lanes, true};
  }
  /// Returns the lanes from(0), from(1), ... of the vector. Those of `more`, if given, have the numbers after it.
  template <class F> Value shuffled(const Value& v, int lanes, F from, std::string_view more = "poison") {
    return ir_.emit(
        v.dtype, lanes,
        fmt::format("shufflevector {0} {1}, {0} {2}, <{3} x i32> {4}", type_name(v.dtype, v.lanes), v.ref, more, lanes, listed("i32", lanes, from)));
  }

  /// Compares lane numbers in a type in which they fill a register of at least 16 bytes. LLVM 19 widens a narrower comparison. If the comparison is in another
  /// basic block, LLVM does not clear the added lanes of the mask, and a masked store with AVX-512 then writes beyond its last lane.
  Value lanes_below(const Value& count, int lanes) {
    const DType type = lanes <= 2 ? DType::int64 : lanes <= 4 ? DType::uint32 : lanes <= 8 ? DType::uint16 : DType::uint8;
    const Value below = ir_.max(integer(0), ir_.min(count, integer(lanes)));
    const Value limit = ir_.broadcast(type == DType::int64 ? below : ir_.convert("trunc", below, type), lanes);
    return ir_.compare("icmp ult", numbers(type, lanes), limit);
  }

  /// Halves the vector until `lanes` are left.
  Value tree(trace::Op reduction, Value v, int lanes) {
    while (v.lanes > lanes) {
      const int half = v.lanes / 2;
      const auto part = [&](int first) { return half == 1 ? ir_.lane(v, first) : shuffled(v, half, [&](int lane) { return first + lane; }); };
      const Value low = part(0), high = part(half);
      v = combined(reduction, low, high);
    }
    return v;
  }

  /// Halves the rows in as many vectors, and joins two vectors' rows at each step.
  Value trees(trace::Op reduction, std::vector<Value> vectors) {
    for (int row = vectors[0].lanes; row > 1; row /= 2) {  // lanes of a row
      std::vector<Value> joined;
      for (std::size_t k = 0; k < vectors.size(); k += 2) {
        const auto halves = [&](int first) {
          return shuffled(vectors[k], vectors[k].lanes, [&](int lane) { return lane / (row / 2) * row + lane % (row / 2) + first; }, vectors[k + 1].ref);
        };
        const Value low = halves(0), high = halves(row / 2);
        joined.push_back(combined(reduction, low, high));
      }
      vectors = std::move(joined);
    }
    return vectors[0];
  }

  Value prefix(trace::Op reduction, Value v) {
    for (int distance = 1; distance < v.lanes; distance *= 2) {
      const Value more{listed("i1", v.lanes, [&](int lane) { return lane >= distance; }), DType::bool_, v.lanes, true};
      v = ir_.select(more, combined(reduction, shuffled(v, v.lanes, [&](int lane) { return (lane - distance) & (v.lanes - 1); }), v), v);
    }
    return v;
  }

  const loop::Kernel& kernel_;
  const CpuTarget& cpu_;
  Module module_;
  Ir ir_;
  Accesses memory_;
  std::vector<std::map<std::string, Name>> scopes_;
  Value dynamic_end_{"0", DType::int64, 1, true};  // offset after the last dynamic array
};

}  // namespace
}  // namespace llvm

Source generate_llvm(const LoopNest& nest, const CpuTarget& cpu) {
  Source source;
  source.target = fmt::format("cpu:{} {}", cpu.arch, cpu.features);
  source.options = "O2 pic vectors=explicit";
  source.entry = nest.name;
  source.text = llvm::Printer(forms::lower(nest, cpu), cpu, nest.fast_math).kernel();
  return source;
}

}  // namespace sinter::jit
