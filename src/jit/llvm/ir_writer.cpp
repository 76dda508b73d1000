#include "jit/llvm/ir_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <type_traits>

#include "base/hash.hpp"
#include "jit/llvm/math.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::llvm {
namespace {

/// Returns a type as intrinsics' names spell it: "f32", "v16f32".
std::string mangled(DType dtype, int lanes) { return lanes == 1 ? intrinsic_type(dtype) : fmt::format("v{}{}", lanes, intrinsic_type(dtype)); }

int widest(const std::vector<Value>& values) {
  int lanes = 1;
  for (const Value& v : values) lanes = std::max(lanes, v.lanes);
  return lanes;
}

}  // namespace

std::string type_name(DType dtype, int lanes) { return lanes == 1 ? std::string(traits(dtype).llvm) : fmt::format("<{} x {}>", lanes, traits(dtype).llvm); }

std::string_view memory_type(DType dtype) { return is_bool(dtype) ? "i8" : traits(dtype).llvm; }

std::string intrinsic_type(DType dtype) {
  if (!is_floating(dtype) || is_storage_only(dtype)) return std::string(traits(dtype).llvm);
  return fmt::format("f{}", 8 * itemsize(dtype));
}

Module::Module(const CpuTarget& cpu) : architecture_(architecture_of(cpu.arch)), fma_(architecture_.has_fma(cpu)), vector_bytes_(cpu.vector_bytes) {}

const Instruction* Module::instruction(Task task, DType operands, int lanes) const {
  const Instruction* widest = nullptr;
  for (const Instruction& one : architecture_.instructions)
    if (one.task == task && one.operands == operands && one.lanes <= std::min(lanes, vector_bytes_ / static_cast<int>(itemsize(operands)))) widest = &one;
  return widest;
}

// Decides by size. A call makes the kernel only 1 to 3 percent slower (sin, tanh, lgamma: even if called, the vectors of one function hide each other's
// latency). Each inlined copy costs compile time, especially if basic blocks become long.
std::vector<bool> Module::called(const std::string& kernel) const {
  constexpr std::int64_t kLinesOfCopies = 1000;
  const auto sites = [](const std::string& text, const std::string& symbol) {
    std::int64_t count = 0;
    for (std::size_t at = text.find(symbol + "("); at != std::string::npos; at = text.find(symbol + "(", at + 1)) ++count;
    return count;
  };
  const std::size_t n = functions_.size();
  std::vector<std::int64_t> lines(n), uses(n);  // lines of a function with those of its callees; number of copies
  for (std::size_t f = 0; f < n; ++f) {
    lines[f] = std::count(functions_[f].body.begin(), functions_[f].body.end(), '\n');
    for (std::size_t callee = 0; callee < f; ++callee) lines[f] += sites(functions_[f].body, functions_[callee].symbol) * lines[callee];
  }
  std::vector<bool> called(n, false);
  for (std::size_t f = n; f-- > 0;) {
    uses[f] = sites(kernel, functions_[f].symbol);
    for (std::size_t caller = f + 1; caller < n; ++caller)
      uses[f] += sites(functions_[caller].body, functions_[f].symbol) * (called[caller] ? 1 : uses[caller]);
    called[f] = uses[f] > 1 && uses[f] * lines[f] > kLinesOfCopies;
  }
  return called;
}

std::string Module::text(const std::string& kernel) const {
  std::string text = helpers_;
  const std::vector<bool> called = this->called(kernel);
  for (std::size_t f = 0; f < functions_.size(); ++f)
    text += fmt::format("define internal {} {} #0 {{\nentry:\n{}}}\n\n", functions_[f].signature, called[f] ? "noinline" : "alwaysinline", functions_[f].body);
  for (const std::string& declaration : declarations_) text += declaration + "\n";
  return text;
}

// ---- literals and single instructions

Value Ir::integer(DType dtype, std::int64_t value) {
  if (is_bool(dtype)) return {value ? "true" : "false", dtype, 1, true};
  const int unused = 64 - 8 * static_cast<int>(itemsize(dtype));  // sign-extends a literal of the type
  value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
  return {fmt::format("{}", value), dtype, 1, true};
}

Value Ir::real(DType dtype, double value) {
  // LLVM writes a float as the hexadecimal bits of the double of the same value.
  if (dtype == DType::float32) value = static_cast<float>(value);
  return {fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value)), dtype, 1, true};
}

Value Ir::number(DType dtype, double value) { return is_floating(dtype) ? real(dtype, value) : integer(dtype, static_cast<std::int64_t>(value)); }

Value Ir::iota(int lanes) {
  if (lanes == 1) return integer(DType::int64, 0);
  std::string text = "<";
  for (int i = 0; i < lanes; ++i) text += fmt::format("{}i64 {}", i ? ", " : "", i);
  return {text + ">", DType::int64, lanes, true};
}

std::string Ir::fresh(const std::string& stem) {
  const int n = names_[stem]++;
  return n == 0 ? stem : fmt::format("{}.{}", stem, n);
}

Value Ir::emit(DType dtype, int lanes, const std::string& instruction) {
  Value v{"%" + fresh(stem_), dtype, lanes};
  line(v.ref + " = " + instruction);
  return v;
}

Value Ir::broadcast(const Value& v, int lanes) {
  if (v.lanes == lanes) return v;
  if (v.lanes != 1) throw InternalError(fmt::format("cannot widen {} lanes to {}", v.lanes, lanes));
  const std::string wide = type_name(v.dtype, lanes), narrow = type_name(v.dtype, 1);
  if (v.literal)
    return {fmt::format("shufflevector ({0} insertelement ({0} poison, {1} {2}, i64 0), {0} poison, <{3} x i32> "
                        "zeroinitializer)",
                        wide, narrow, v.ref, lanes),
            v.dtype, lanes, true};
  const Value first = emit(v.dtype, lanes, fmt::format("insertelement {} poison, {} {}, i64 0", wide, narrow, v.ref));
  return emit(v.dtype, lanes, fmt::format("shufflevector {0} {1}, {0} poison, <{2} x i32> zeroinitializer", wide, first.ref, lanes));
}

Value Ir::lane(const Value& v, int lane) {
  if (v.lanes == 1) return v;
  return emit(v.dtype, 1, fmt::format("extractelement {} {}, i64 {}", type_name(v.dtype, v.lanes), v.ref, lane));
}

Value Ir::binary(const char* opcode, const Value& a, const Value& b) {
  const int lanes = std::max(a.lanes, b.lanes);
  const Value x = broadcast(a, lanes), y = broadcast(b, lanes);
  return emit(a.dtype, lanes, fmt::format("{} {} {}, {}", opcode, type_name(a.dtype, lanes), x.ref, y.ref));
}

Value Ir::compare(const char* predicate, const Value& a, const Value& b) {
  Value v = binary(predicate, a, b);
  v.dtype = DType::bool_;
  return v;
}

Value Ir::convert(const char* opcode, const Value& v, DType to) {
  return emit(to, v.lanes, fmt::format("{} {} {} to {}", opcode, type_name(v.dtype, v.lanes), v.ref, type_name(to, v.lanes)));
}

Value Ir::intrinsic(const char* name, const std::vector<Value>& args) {
  const int lanes = widest(args);
  const DType dtype = args[0].dtype;
  const std::string type = type_name(dtype, lanes);
  const std::string symbol = fmt::format("@llvm.{}.{}", name, mangled(dtype, lanes));
  std::string types, operands;
  for (const Value& arg : args) {
    const Value wide = broadcast(arg, lanes);
    types += fmt::format("{}{}", types.empty() ? "" : ", ", type);
    operands += fmt::format("{}{} {}", operands.empty() ? "" : ", ", type, wide.ref);
  }
  module_.declare(fmt::format("declare {} {}({})", type, symbol, types));
  return emit(dtype, lanes, fmt::format("call {} {}({})", type, symbol, operands));
}

Value Ir::fma(const Value& a, const Value& b, const Value& c) { return module_.has_fma() ? intrinsic("fma", {a, b, c}) : add(mul(a, b), c); }

std::optional<Value> Ir::by_processor(Task task, const std::vector<Value>& args) {
  const int lanes = widest(args);
  const Instruction* const by = module_.instruction(task, args[0].dtype, lanes);
  if (!by) return {};
  const int width = by->lanes;
  const std::string from = type_name(by->operands, width), to = type_name(by->result, width), whole = type_name(by->operands, lanes);
  std::string types;
  for (std::size_t k = 0; k < args.size(); ++k) types += (k ? ", " : "") + from;
  module_.declare(fmt::format("declare {} {}({}{})", to, by->symbol, types, by->parameters));
  const auto places = [](int first, int count) {
    std::string list;
    for (int k = 0; k < count; ++k) list += fmt::format("{}i32 {}", k ? ", " : "", first + k);
    return fmt::format("<{} x i32> <{}>", count, list);
  };
  std::vector<Value> parts;
  for (int first = 0; first < lanes; first += width) {
    std::string operands;
    for (const Value& arg : args) {
      Value part = arg.lanes == width ? arg : broadcast(arg, lanes);
      if (part.lanes != width)
        part = emit(by->operands, width, fmt::format("shufflevector {} {}, {} poison, {}", whole, part.ref, whole, places(first, width)));
      operands += fmt::format("{}{} {}", operands.empty() ? "" : ", ", from, part.ref);
    }
    parts.push_back(emit(by->result, width, fmt::format("call {} {}({}{})", to, by->symbol, operands, by->arguments)));
  }
  while (parts.size() > 1) {  // join pairs
    std::vector<Value> joined;
    for (std::size_t k = 0; k < parts.size(); k += 2) {
      const int half = parts[k].lanes;
      const std::string type = type_name(by->result, half);
      joined.push_back(
          emit(by->result, 2 * half, fmt::format("shufflevector {} {}, {} {}, {}", type, parts[k].ref, type, parts[k + 1].ref, places(0, 2 * half))));
    }
    parts = std::move(joined);
  }
  return parts[0];
}

template <class T> Value Ir::lookup(const T (&table)[8], const Value& n) {
  const DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  if (const Instruction* const by = module_.instruction(Task::permute, n.dtype, n.lanes)) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    std::string words;  // a wider instruction reads more bits of n, and finds the table again
    for (int k = 0; k < by->lanes; ++k) words += fmt::format("{}{} {}", k ? ", " : "", type_name(n.dtype, 1), std::bit_cast<Bits>(table[k % 8]));
    return bitcast(*by_processor(Task::permute, {{fmt::format("<{}>", words), n.dtype, by->lanes, true}, n}), dtype);
  }
  const std::string element = type_name(dtype, 1), symbol = fmt::format("@table_{:x}", hash128(std::as_bytes(std::span(table))).a);
  std::string numbers;
  for (const T number : table) numbers += fmt::format("{}{} {}", numbers.empty() ? "" : ", ", element, real(dtype, number).ref);
  module_.declare(fmt::format("{} = private unnamed_addr constant [8 x {}] [{}]", symbol, element, numbers));
  const Value place = bit_and(n, integer(n.dtype, 7));
  Value all{"poison", dtype, n.lanes, true};
  for (int k = 0; k < n.lanes; ++k) {
    const Value index = lane(place, k);
    const Value address = emit(DType::int64, 1, fmt::format("getelementptr inbounds {}, ptr {}, {} {}", element, symbol, type_name(n.dtype, 1), index.ref));
    const Value number = load(address.ref, dtype, 1);
    if (n.lanes == 1) return number;
    all = emit(dtype, n.lanes, fmt::format("insertelement {} {}, {} {}, i64 {}", type_name(dtype, n.lanes), all.ref, element, number.ref, k));
  }
  return all;
}
template Value Ir::lookup(const float (&table)[8], const Value& n);
template Value Ir::lookup(const double (&table)[8], const Value& n);

Value Ir::any(const Value& mask) {
  if (mask.lanes == 1) return mask;
  const std::string type = type_name(DType::bool_, mask.lanes);
  const std::string symbol = fmt::format("@llvm.vector.reduce.or.{}", mangled(DType::bool_, mask.lanes));
  module_.declare(fmt::format("declare i1 {}({})", symbol, type));
  return emit(DType::bool_, 1, fmt::format("call i1 {}({} {})", symbol, type, mask.ref));
}

std::string Ir::alloca_of(DType dtype, int lanes, int count) {
  const std::string ref = "%" + fresh(stem_);
  allocas_ += fmt::format("  {} = alloca {}, i64 {}\n", ref, type_name(dtype, lanes), count);
  return ref;
}

std::string Ir::array_of(DType dtype, int count) {
  const std::string ref = "%" + fresh(stem_);
  allocas_ += fmt::format("  {} = alloca [{} x {}], align 64\n", ref, count, memory_type(dtype));
  return ref;
}

Value Ir::load(const std::string& pointer, DType dtype, int lanes) {
  return emit(dtype, lanes, fmt::format("load {}, ptr {}", type_name(dtype, lanes), pointer));
}

void Ir::store(const std::string& pointer, const Value& v) { line(fmt::format("store {} {}, ptr {}", type_name(v.dtype, v.lanes), v.ref, pointer)); }

// ---- control flow and helpers

void Ir::loop(const char* stem, const Value& begin, const Value& end, int step, const std::function<void(Value)>& body) {
  loop(stem, begin, end, [&](const Value& i) {
    body(i);
    return integer(DType::int64, step);
  });
}

void Ir::loop(const char* stem, const Value& begin, const Value& end, const std::function<Value(Value)>& body) {
  // The loop is rotated, so that LLVM can hoist invariants without testing whether the loop runs at all.
  const std::string head = label(stem), latch = head + ".next", exit = head + ".end", before = block_;
  const std::string counter = fmt::format("%{}.i", head);
  line(fmt::format("%{}.runs = icmp slt i64 {}, {}", head, begin.ref, end.ref));
  line(fmt::format("br i1 %{0}.runs, label %{0}, label %{1}", head, exit));
  begin_block(head);
  line(fmt::format("{} = phi i64 [ {}, %{} ], [ {}.next, %{} ]", counter, begin.ref, before, counter, latch));
  const Value step = body({counter, DType::int64, 1});
  line(fmt::format("br label %{}", latch));
  begin_block(latch);
  line(fmt::format("{0}.next = add nsw i64 {0}, {1}", counter, step.ref));
  line(fmt::format("{0}.more = icmp slt i64 {0}.next, {1}", counter, end.ref));
  line(fmt::format("br i1 {}.more, label %{}, label %{}", counter, head, exit));
  begin_block(exit);
}

Value Ir::call(const std::string& name, std::vector<Value> args, const Body& body) {
  const int lanes = widest(args);
  const std::string symbol = fmt::format("@{}_{}{}", name, is_unsigned(args[0].dtype) ? "u" : "", mangled(args[0].dtype, lanes));
  static const char* const kNames[] = {"%x", "%y", "%z"};
  std::vector<Value> parameters;
  std::string declared, operands;
  for (std::size_t i = 0; i < args.size(); ++i) {
    args[i] = broadcast(args[i], lanes);
    const std::string type = type_name(args[i].dtype, lanes);
    parameters.push_back({kNames[i], args[i].dtype, lanes});
    declared += fmt::format("{}{} {}", i ? ", " : "", type, kNames[i]);
    operands += fmt::format("{}{} {}", i ? ", " : "", type, args[i].ref);
  }
  const std::string result = type_name(args[0].dtype, lanes);
  if (module_.claim(symbol)) {
    Ir inner(module_);
    const Value v = inner.broadcast(body(inner, parameters), lanes);
    module_.add_function(symbol, fmt::format("{} {}({})", result, symbol, declared), fmt::format("{}  ret {} {}\n", inner.text(), result, v.ref));
  }
  return emit(args[0].dtype, lanes, fmt::format("call {} {}({})", result, symbol, operands));
}

Value Ir::libm(const char* name, std::vector<Value> args) {
  const int lanes = widest(args);
  const DType dtype = args[0].dtype;
  const std::string symbol = fmt::format("@sinter_libm_{}_{}", name, mangled(dtype, 1));
  std::string types, operands, first;
  for (const Value& arg : args) {
    const std::string place = alloca_of(dtype, lanes);
    store(place, broadcast(arg, lanes));
    if (first.empty()) first = place;
    types += "ptr, ";
    operands += fmt::format("ptr {}, ", place);
  }
  module_.declare(fmt::format("declare void {}({}i64)", symbol, types));
  line(fmt::format("call void {}({}i64 {})", symbol, operands, lanes));
  return load(first, dtype, lanes);
}

Value Ir::rarely(const Value& when, const Value& usual, const std::function<Value()>& instead) {
  const std::string slow = label("slow"), done = label("done"), before = block_;
  line(fmt::format("br i1 {}, label %{}, label %{}", when.ref, slow, done));
  begin_block(slow);
  const Value other = instead();
  const std::string from = block_;
  line(fmt::format("br label %{}", done));
  begin_block(done);
  return emit(usual.dtype, usual.lanes,
              fmt::format("phi {} [ {}, %{} ], [ {}, %{} ]", type_name(usual.dtype, usual.lanes), usual.ref, before, other.ref, from));
}

Value Ir::or_libm(const Value& fast, const Value& mask, const char* name, const std::vector<Value>& args) {
  return rarely(any(mask), fast, [&] { return select(mask, libm(name, args), fast); });
}

Value Ir::function(const char* name, int arity, const Value& a, const Value& b) {
  const std::vector<Value> args = arity == 1 ? std::vector{a} : std::vector{a, b};
  return call(name, args, [name](Ir& ir, const std::vector<Value>& x) { return emit_function(ir, name, x); });
}

// ---- primitives

Value Ir::arithmetic(const char* floating, const char* integral, const char* boolean, const Value& a, const Value& b) {
  if (is_bool(a.dtype)) return binary(boolean, a, b);
  if (!is_floating(a.dtype)) return binary(integral, a, b);
  return binary(flags_.empty() ? floating : fmt::format("{} {}", floating, flags_).c_str(), a, b);
}

Value Ir::ordered(const char* order, const Value& a, const Value& b) {
  const char* kind = is_floating(a.dtype) ? "fcmp o" : is_bool(a.dtype) || is_unsigned(a.dtype) ? "icmp u" : "icmp s";
  return compare(fmt::format("{}{}", kind, order).c_str(), a, b);
}

Value Ir::extremum(const Value& a, const Value& b, bool is_min) {
  if (is_bool(a.dtype)) return binary(is_min ? "and" : "or", a, b);
  const Value chosen = select(is_min ? lt(a, b) : lt(b, a), a, b);
  // If either side is NaN, the comparison is false and chooses b. So only a NaN in a has to be handled.
  return is_floating(a.dtype) ? select(isnan(a), a, chosen) : chosen;
}

Value Ir::select(const Value& condition, const Value& a, const Value& b) {
  const int lanes = std::max({condition.lanes, a.lanes, b.lanes});
  const Value c = condition.lanes == 1 ? condition : broadcast(condition, lanes);
  const Value x = broadcast(a, lanes), y = broadcast(b, lanes);
  const std::string type = type_name(a.dtype, lanes);
  return emit(a.dtype, lanes, fmt::format("select {} {}, {} {}, {} {}", type_name(DType::bool_, c.lanes), c.ref, type, x.ref, type, y.ref));
}

Value Ir::neg(const Value& a) {
  if (!is_floating(a.dtype)) return binary("sub", integer(a.dtype, 0), a);
  return emit(a.dtype, a.lanes, fmt::format("fneg {} {}", type_name(a.dtype, a.lanes), a.ref));
}

Value Ir::abs(const Value& a) {
  if (is_bool(a.dtype)) return a;
  if (is_floating(a.dtype)) return intrinsic("fabs", {a});
  return select(lt(a, zero(a.dtype)), neg(a), a);
}

Value Ir::sign(const Value& a) {
  const Value zero = this->zero(a.dtype);
  const Value one = number(a.dtype, 1), minus_one = number(a.dtype, -1);
  const Value signed_one = select(lt(zero, a), one, select(lt(a, zero), minus_one, zero));
  return is_floating(a.dtype) ? select(isnan(a), a, signed_one) : signed_one;
}

Value Ir::isinf(const Value& a) { return compare("fcmp oeq", intrinsic("fabs", {a}), real(a.dtype, std::numeric_limits<double>::infinity())); }

Value Ir::isfinite(const Value& a) { return compare("fcmp olt", intrinsic("fabs", {a}), real(a.dtype, std::numeric_limits<double>::infinity())); }

Value Ir::cast(const Value& a, DType to) {
  const DType from = a.dtype;
  if (from == to) return a;
  if (is_storage_only(from)) return from_storage(a);
  if (is_storage_only(to)) return to_storage(a, to);
  if (is_bool(to)) return ne(a, zero(from));
  if (is_bool(from)) return convert(is_floating(to) ? "uitofp" : "zext", a, to);
  if (is_floating(from) && is_floating(to)) return convert(itemsize(to) > itemsize(from) ? "fpext" : "fptrunc", a, to);
  if (is_floating(to)) return convert(is_unsigned(from) ? "uitofp" : "sitofp", a, to);
  if (is_floating(from)) return to_integer(a, to);
  if (itemsize(to) == itemsize(from)) return relabelled(a, to);
  return convert(itemsize(to) < itemsize(from) ? "trunc" : is_unsigned(from) ? "zext" : "sext", a, to);
}

Value Ir::truncated(const Value& a, DType to) {
  const DType from = a.dtype;
  // Values out of range, including NaN, give the least integer, like the processor's conversion instruction. In IR they would give poison.
  const bool narrow = to == DType::int32;
  if (narrow && from == DType::float32)
    if (const std::optional<Value> converted = by_processor(Task::to_int32, {a})) return *converted;
  const double limit = narrow ? 0x1p31 : 0x1p63;
  const bool fraction_below = narrow && from == DType::float64;  // -2147483648.5 truncates into range
  const Value above = fraction_below ? compare("fcmp ogt", a, real(from, -limit - 1)) : compare("fcmp oge", a, real(from, -limit));
  const Value fits = binary("and", above, compare("fcmp olt", a, real(from, limit)));
  const Value converted = convert("fptosi", select(fits, a, real(from, 0)), to);
  return select(fits, converted, integer(to, narrow ? INT32_MIN : INT64_MIN));
}

/// Converts through int32, or through int64 for unsigned and wider types, and wraps around. uint64's upper half is shifted into int64.
Value Ir::to_integer(const Value& a, DType to) {
  if (to == DType::uint64) {
    const Value half = real(a.dtype, 0x1p63), high = compare("fcmp oge", a, half);
    const Value low_half = truncated(select(high, binary("fsub", a, half), a), DType::int64);
    return relabelled(binary("xor", low_half, select(high, integer(DType::int64, INT64_MIN), integer(DType::int64, 0))), to);
  }
  const bool narrow = itemsize(to) < 4 || to == DType::int32;
  return cast(truncated(a, narrow ? DType::int32 : DType::int64), to);
}

// ---- the narrow floating types, as in sinter/half.hpp

Value Ir::from_storage(const Value& a) {
  constexpr DType U = DType::uint32;
  const auto u = [&](std::int64_t value) { return integer(U, value); };
  if (a.dtype == DType::float16 && module_.architecture().converts_half) {
    const std::string half = a.lanes == 1 ? "half" : fmt::format("<{} x half>", a.lanes);
    const Value bits = emit(a.dtype, a.lanes, fmt::format("bitcast {} {} to {}", type_name(a.dtype, a.lanes), a.ref, half));
    return emit(DType::float32, a.lanes, fmt::format("fpext {} {} to {}", half, bits.ref, type_name(DType::float32, a.lanes)));
  }
  const FloatFormat f = float_format(a.dtype);
  const Value bits = convert("zext", a, U);
  if (f.rebias() == 0) return bitcast(binary("shl", bits, u(f.shift())), DType::float32);
  const Value sign = binary("shl", binary("and", bits, u(f.sign())), u(32 - f.bits())), code = binary("and", bits, u(f.sign() - 1));
  const Value size = binary("shl", code, u(f.shift()));
  const Value nan = f.keeps_payload() ? binary("or", size, u(0x7fc00000)) : u(0x7fc00000);
  const Value special = f.finite_only ? nan : select(compare("icmp ugt", code, u(f.overflow())), nan, u(0x7f800000));
  const Value shifted = bitcast(binary("add", size, u(f.normal_as_float())), DType::float32);
  const Value subnormal = bitcast(binary("fsub", shifted, real(DType::float32, std::bit_cast<float>(f.normal_as_float()))), U);
  const Value finite = select(compare("icmp uge", code, u(f.normal())), binary("add", size, u(f.rebias())), subnormal);
  return bitcast(binary("or", select(compare("icmp uge", code, u(f.overflow())), special, finite), sign), DType::float32);
}

Value Ir::to_storage(const Value& a, DType to) {
  constexpr DType U = DType::uint32;
  const auto u = [&](std::int64_t value) { return integer(U, value); };
  const Value x = a.dtype == DType::float64 ? round_to_odd(a) : a;
  if (to == DType::float16 && module_.architecture().converts_half) {
    const std::string half = a.lanes == 1 ? "half" : fmt::format("<{} x half>", a.lanes);
    const Value rounded = emit(to, a.lanes, fmt::format("fptrunc {} {} to {}", type_name(DType::float32, a.lanes), x.ref, half));
    return emit(to, a.lanes, fmt::format("bitcast {} {} to {}", half, rounded.ref, type_name(to, a.lanes)));
  }
  const FloatFormat f = float_format(to);
  const Value bits = bitcast(x, U);
  const Value sign = binary("and", binary("lshr", bits, u(32 - f.bits())), u(f.sign())), size = binary("and", bits, u(0x7fffffff));
  const Value odd = binary("and", binary("lshr", size, u(f.shift())), u(1));
  const Value raised = binary("add", binary("add", size, u((1 << (f.shift() - 1)) - 1)), odd);
  Value finite = binary("lshr", f.rebias() == 0 ? raised : binary("sub", raised, u(f.rebias())), u(f.shift()));
  if (f.rebias() != 0) {
    const Value shifted = binary("fadd", bitcast(size, DType::float32), real(DType::float32, std::bit_cast<float>(f.rounder())));
    finite = select(compare("icmp ult", size, u(f.normal_as_float())), binary("sub", bitcast(shifted, U), u(f.rounder())), finite);
    finite = select(compare("icmp ult", finite, u(f.overflow())), finite, u(f.overflow()));
  }
  const Value payload = binary("and", binary("lshr", size, u(f.shift())), u(f.sign() - 1));
  const Value nan = f.keeps_payload() ? binary("or", payload, u(f.nan())) : u(f.nan());
  return convert("trunc", binary("or", select(isnan(x), nan, finite), sign), to);
}

Value Ir::round_to_odd(const Value& a) {
  constexpr DType U = DType::uint32;
  const Value nearest = convert("fptrunc", a, DType::float32), back = convert("fpext", nearest, DType::float64);
  const Value away = compare("fcmp ogt", intrinsic("fabs", {back}), intrinsic("fabs", {a}));
  const Value bits = bitcast(nearest, U), towards_zero = binary("sub", bits, convert("zext", away, U));
  const Value odd = binary("or", towards_zero, integer(U, 1));
  return bitcast(select(compare("fcmp one", back, a), odd, bits), DType::float32);
}

Value Ir::shl(const Value& a, const Value& b) {
  const Value width = integer(a.dtype, static_cast<std::int64_t>(itemsize(a.dtype) * 8));
  return select(compare("icmp ult", b, width), binary("shl", a, b), integer(a.dtype, 0));
}

Value Ir::shr(const Value& a, const Value& b) {
  const std::int64_t bits = static_cast<std::int64_t>(itemsize(a.dtype) * 8);
  const Value amount = select(compare("icmp ult", b, integer(a.dtype, bits)), b, integer(a.dtype, bits - 1));
  if (!is_unsigned(a.dtype)) return binary("ashr", a, amount);
  return select(compare("icmp ult", b, integer(a.dtype, bits)), binary("lshr", a, amount), integer(a.dtype, 0));
}

Value Ir::philox(const Value& counter, const Value& key) {
  return call("philox", {counter, key}, [](Ir& ir, const std::vector<Value>& x) { return emit_philox(ir, x[0], x[1]); });
}
Value Ir::floor_divide(const Value& a, const Value& b) {
  return call("floor_divide", {a, b}, [](Ir& ir, const std::vector<Value>& x) { return emit_floor_divide(ir, x[0], x[1]); });
}

Value Ir::remainder(const Value& a, const Value& b) {
  return call("remainder", {a, b}, [](Ir& ir, const std::vector<Value>& x) { return emit_remainder(ir, x[0], x[1]); });
}

Value Ir::pow(const Value& a, const Value& b) {
  if (is_floating(a.dtype)) return function("power", 2, a, b);
  return call("ipow", {a, b}, [](Ir& ir, const std::vector<Value>& x) { return emit_integer_power(ir, x[0], x[1]); });
}

Value Ir::gcd(const Value& a, const Value& b) {
  return call("gcd", {a, b}, [](Ir& ir, const std::vector<Value>& x) { return emit_gcd(ir, x[0], x[1]); });
}

}  // namespace sinter::jit::llvm
