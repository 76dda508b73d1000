// Writes LLVM IR as text: the body of one function at a time, over values of W lanes (<W x float>; one lane is a plain scalar). A bool is i1 in registers and
// one byte in memory. An operand of one lane is broadcast if the other operand is wider.
// An operation of more than a few instructions becomes a small internal function of the module, which the compiler inlines. So the kernel itself has one
// readable line for each operation.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "jit/llvm/architecture.hpp"
#include "sinter/dtype.hpp"

namespace sinter::jit::llvm {

struct Value {
  std::string ref;  // such as "%exp_12", or a literal
  DType dtype = DType::int64;
  int lanes = 1;
  bool literal = false;
};

/// Returns the type's name: "<16 x float>", "double", "<8 x i1>".
std::string type_name(DType dtype, int lanes);
/// Returns the name of the element type in memory, where bools are i8.
std::string_view memory_type(DType dtype);
/// Returns an element's type as intrinsics' names spell it: "f32", "i16".
std::string intrinsic_type(DType dtype);

/// The state that all functions of one text share: the helpers emitted so far, the declarations, the processor.
class Module {
 public:
  explicit Module(const CpuTarget& cpu);
  const Architecture& architecture() const { return architecture_; }
  bool has_fma() const { return fma_; }
  /// Returns whether vectors of 64-bit integers are converted to float64 and multiplied, as by AVX-512.
  bool converts_int64() const { return vector_bytes_ == 64; }
  /// Returns the processor's instruction for at most this many lanes, or null if it has none.
  const Instruction* instruction(Task task, DType operands, int lanes) const;
  void declare(const std::string& declaration) { declarations_.insert(declaration); }
  /// Returns true the first time a helper's symbol is requested.
  bool claim(const std::string& symbol) { return claimed_.insert(symbol).second; }
  void add_helper(const std::string& text) { helpers_ += text; }
  /// Adds an arithmetic helper after its callees: the signature "float @exp_f32(float %x)" and the text between its braces.
  void add_function(const std::string& symbol, const std::string& signature, const std::string& body) { functions_.push_back({symbol, signature, body}); }
  /// Returns the text of all helpers and declarations for a kernel's text.
  std::string text(const std::string& kernel) const;

 private:
  struct Function {
    std::string symbol, signature, body;
  };
  /// Returns for each function whether its uses call it; otherwise it is inlined at each use.
  std::vector<bool> called(const std::string& kernel) const;

  const Architecture& architecture_;
  bool fma_;
  int vector_bytes_;
  std::set<std::string> declarations_, claimed_;
  std::string helpers_;
  std::vector<Function> functions_;
};

class Ir {
 public:
  /// flags: fast-math flags of float arithmetic ("" for none).
  explicit Ir(Module& module, std::string flags = "") : module_(module), flags_(std::move(flags)) {}

  Module& module() { return module_; }
  /// Sets the stem of the names of the next values.
  void set_name(std::string stem) { stem_ = std::move(stem); }
  /// Returns all text written so far, allocas first.
  std::string text() const { return allocas_ + body_; }

  // Literals. `like` gives the element type.
  Value integer(DType dtype, std::int64_t value);
  Value real(DType dtype, double value);
  /// Returns 0. Types that are only stored are integers here, with all bits 0 for 0.
  Value zero(DType dtype) { return is_floating(dtype) && !is_storage_only(dtype) ? real(dtype, 0) : integer(dtype, 0); }
  Value number(DType dtype, double value);
  /// Returns 0, 1, .. lanes-1 as int64.
  Value iota(int lanes);

  // Each of these writes one instruction.
  Value emit(DType dtype, int lanes, const std::string& instruction);
  void line(const std::string& instruction) { body_ += "  " + instruction + "\n"; }
  Value broadcast(const Value& v, int lanes);
  Value lane(const Value& v, int lane);
  Value binary(const char* opcode, const Value& a, const Value& b);
  Value compare(const char* predicate, const Value& a, const Value& b);  // such as "fcmp olt"
  Value bitcast(const Value& v, DType to) { return convert("bitcast", v, to); }
  Value convert(const char* opcode, const Value& v, DType to);
  /// Returns the same bits under another dtype that has the same LLVM type.
  static Value relabelled(Value v, DType to) {
    v.dtype = to;
    return v;
  }
  Value intrinsic(const char* name, const std::vector<Value>& args);
  Value fma(const Value& a, const Value& b, const Value& c);
  Value copysign(const Value& magnitude, const Value& sign) { return intrinsic("copysign", {magnitude, sign}); }
  /// Computes a task with one instruction for each group of lanes, or returns nullopt if the processor has none. An argument with the instruction's lanes is
  /// the same for all groups.
  std::optional<Value> by_processor(Task task, const std::vector<Value>& args);
  /// Returns the numbers of the table, float or double, that the low bits of n name.
  template <class T> Value lookup(const T (&table)[8], const Value& n);
  std::optional<Value> ldexp(const Value& x, const Value& n) { return by_processor(Task::ldexp, {x, n}); }
  std::optional<Value> logarithm_limits(const Value& result, const Value& x) { return by_processor(Task::logarithm_limits, {result, x}); }
  Value any(const Value& mask);
  std::string alloca_of(DType dtype, int lanes, int count = 1);
  /// Returns the address of an array in memory, which begins at a cache line.
  std::string array_of(DType dtype, int count);
  Value load(const std::string& pointer, DType dtype, int lanes);
  void store(const std::string& pointer, const Value& v);

  // Control flow. Labels are unique. A loop tests its condition after the body, and a guard before it skips an empty range.
  std::string label(const char* stem) { return fresh(stem); }
  void begin_block(const std::string& label) {
    body_ += label + ":\n";
    block_ = label;
  }
  const std::string& block() const { return block_; }
  /// Writes for (i = begin; i < end; i += step) body(i).
  void loop(const char* stem, const Value& begin, const Value& end, int step, const std::function<void(Value)>& body);
  /// Writes the same with a step that the body returns as a value.
  void loop(const char* stem, const Value& begin, const Value& end, const std::function<Value(Value)>& body);

  /// Calls the helper `name` on operands of one width, and writes the helper before its first call.
  using Body = std::function<Value(Ir&, const std::vector<Value>&)>;
  Value call(const std::string& name, std::vector<Value> args, const Body& body);
  /// Calls a math function of the library, sinter_libm_NAME_f64, lane by lane.
  Value libm(const char* name, std::vector<Value> args);
  /// Returns `usual`, or, if the condition holds, what is written behind a branch.
  Value rarely(const Value& when, const Value& usual, const std::function<Value()>& instead);
  /// Returns `fast`, but for lanes of `mask` the library's result. The library is called only if some lane needs it.
  Value or_libm(const Value& fast, const Value& mask, const char* name, const std::vector<Value>& args);

  // Functions that the table's `llvm` column uses.
  Value neg(const Value& a);
  Value abs(const Value& a);
  Value sign(const Value& a);
  Value floor(const Value& a) { return intrinsic("floor", {a}); }
  Value ceil(const Value& a) { return intrinsic("ceil", {a}); }
  Value rint(const Value& a) { return intrinsic("rint", {a}); }
  Value trunc(const Value& a) { return intrinsic("trunc", {a}); }
  Value sqrt(const Value& a) { return intrinsic("sqrt", {a}); }
  Value rsqrt(const Value& a) { return div(real(a.dtype, 1), sqrt(a)); }
  /// Calls the function of a row of SINTER_FUNCTION by its name.
  Value function(const char* name, int arity, const Value& a, const Value& b);
  Value isnan(const Value& a) { return compare("fcmp uno", a, a); }
  Value isinf(const Value& a);
  Value isfinite(const Value& a);
  Value bit_count(const Value& a) { return intrinsic("ctpop", {a}); }
  Value bit_not(const Value& a) { return binary("xor", a, integer(a.dtype, -1)); }
  Value cast(const Value& a, DType to);
  Value add(const Value& a, const Value& b) { return arithmetic("fadd", "add", "or", a, b); }
  Value sub(const Value& a, const Value& b) { return arithmetic("fsub", "sub", "xor", a, b); }
  Value mul(const Value& a, const Value& b) { return arithmetic("fmul", "mul", "and", a, b); }
  Value div(const Value& a, const Value& b) { return arithmetic("fdiv", is_unsigned(a.dtype) ? "udiv" : "sdiv", "and", a, b); }
  Value floor_divide(const Value& a, const Value& b);
  Value remainder(const Value& a, const Value& b);
  Value pow(const Value& a, const Value& b);
  Value gcd(const Value& a, const Value& b);
  Value min(const Value& a, const Value& b) { return extremum(a, b, true); }
  Value max(const Value& a, const Value& b) { return extremum(a, b, false); }
  Value bit_and(const Value& a, const Value& b) { return binary("and", a, b); }
  Value bit_or(const Value& a, const Value& b) { return binary("or", a, b); }
  Value bit_xor(const Value& a, const Value& b) { return binary("xor", a, b); }
  Value shl(const Value& a, const Value& b);
  Value shr(const Value& a, const Value& b);
  Value philox(const Value& counter, const Value& key);
  Value eq(const Value& a, const Value& b) { return compare(is_floating(a.dtype) ? "fcmp oeq" : "icmp eq", a, b); }
  Value ne(const Value& a, const Value& b) { return compare(is_floating(a.dtype) ? "fcmp une" : "icmp ne", a, b); }
  Value lt(const Value& a, const Value& b) { return ordered("lt", a, b); }
  Value le(const Value& a, const Value& b) { return ordered("le", a, b); }
  Value select(const Value& condition, const Value& a, const Value& b);

 private:
  std::string fresh(const std::string& stem);
  Value arithmetic(const char* floating, const char* integral, const char* boolean, const Value& a, const Value& b);
  Value ordered(const char* order, const Value& a, const Value& b);
  Value extremum(const Value& a, const Value& b, bool is_min);
  Value truncated(const Value& a, DType to);
  Value to_integer(const Value& a, DType to);
  Value from_storage(const Value& a);  // to float32
  Value to_storage(const Value& a, DType to);
  Value round_to_odd(const Value& a);  // float64 to float32

  Module& module_;
  std::string flags_, stem_ = "v", block_ = "entry";
  std::string allocas_, body_;
  std::map<std::string, int> names_;
};

}  // namespace sinter::jit::llvm
