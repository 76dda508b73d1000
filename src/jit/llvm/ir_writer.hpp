// Writes textual LLVM IR: the body of one function at a time, over values of W lanes (<W x float>; one lane is a plain
// scalar). A bool is i1 in registers and one byte in memory. Operands of one lane are broadcast when they meet wider ones.
//
// An operation that takes more than a few instructions becomes a small internal function of the module, which the
// compiler inlines: the kernel itself stays one readable line per operation.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jit/compiler.hpp"
#include "sinter/dtype.hpp"

namespace sinter::jit::llvm {

struct Value {
  std::string ref;  // "%exp_12", or a literal
  DType dtype = DType::int64;
  int lanes = 1;
  bool literal = false;
};

/// "<16 x float>", "double", "<8 x i1>".
std::string type_name(DType dtype, int lanes);
/// The element type in memory: bools are i8 there.
std::string_view memory_type(DType dtype);
/// How intrinsics spell an element's type in their names: "f32", "i16".
std::string intrinsic_type(DType dtype);

/// What the functions of one text share: the helpers emitted so far, declarations, the processor.
class Module {
 public:
  explicit Module(const CpuTarget& cpu);
  bool has_fma() const { return fma_; }
  bool has_f16c() const { return f16c_; }
  /// Lanes of the processor's own conversion of float32 to int32, which gives the least integer where none fits; 0: it has no such one.
  int lanes_of_conversion() const { return lanes_of_conversion_; }
  void declare(const std::string& declaration) { declarations_.insert(declaration); }
  /// True the first time a helper's symbol is asked for.
  bool claim(const std::string& symbol) { return claimed_.insert(symbol).second; }
  void add_helper(const std::string& text) { helpers_ += text; }
  /// A helper of arithmetic, after those that it calls: "float @exp_f32(float %x)" and what is between its braces.
  void add_function(const std::string& symbol, const std::string& signature, const std::string& body) { functions_.push_back({symbol, signature, body}); }
  /// All of it, for a kernel's own text.
  std::string text(const std::string& kernel) const;

 private:
  struct Function {
    std::string symbol, signature, body;
  };
  /// Of each function whether it stays one, called from where it is used, rather than a copy at each place.
  std::vector<bool> called(const std::string& kernel) const;

  bool fma_, f16c_;
  int lanes_of_conversion_;
  std::set<std::string> declarations_, claimed_;
  std::string helpers_;
  std::vector<Function> functions_;
};

class Ir {
 public:
  /// flags: fast-math flags put on float arithmetic ("" for none).
  explicit Ir(Module& module, std::string flags = "") : module_(module), flags_(std::move(flags)) {}

  Module& module() { return module_; }
  /// Stem of the names of the values that follow.
  void set_name(std::string stem) { stem_ = std::move(stem); }
  /// Everything written: allocas first.
  std::string text() const { return allocas_ + body_; }

  // Literals; `like` gives the element type.
  Value integer(DType dtype, std::int64_t value);
  Value real(DType dtype, double value);
  /// Types that are only stored are integers here, and all bits 0 is their 0.
  Value zero(DType dtype) { return is_floating(dtype) && !is_storage_only(dtype) ? real(dtype, 0) : integer(dtype, 0); }
  Value number(DType dtype, double value);
  /// 0, 1, .. lanes-1 as int64.
  Value iota(int lanes);

  // One instruction each.
  Value emit(DType dtype, int lanes, const std::string& instruction);
  void line(const std::string& instruction) { body_ += "  " + instruction + "\n"; }
  Value broadcast(const Value& v, int lanes);
  Value lane(const Value& v, int lane);
  Value binary(const char* opcode, const Value& a, const Value& b);
  Value compare(const char* predicate, const Value& a, const Value& b);  // "fcmp olt"
  Value bitcast(const Value& v, DType to) { return convert("bitcast", v, to); }
  Value convert(const char* opcode, const Value& v, DType to);
  /// The same bits as a type that LLVM spells alike.
  static Value relabelled(Value v, DType to) {
    v.dtype = to;
    return v;
  }
  Value intrinsic(const char* name, const std::vector<Value>& args);
  Value fma(const Value& a, const Value& b, const Value& c);
  Value copysign(const Value& magnitude, const Value& sign) { return intrinsic("copysign", {magnitude, sign}); }
  Value any(const Value& mask);
  std::string alloca_of(DType dtype, int lanes, int count = 1);
  Value load(const std::string& pointer, DType dtype, int lanes);
  void store(const std::string& pointer, const Value& v);

  // Control flow. Labels are unique; a loop runs its body at least once and is entered behind a guard.
  std::string label(const char* stem) { return fresh(stem); }
  void begin_block(const std::string& label) {
    body_ += label + ":\n";
    block_ = label;
  }
  const std::string& block() const { return block_; }
  /// for (i = begin; i < end; i += step) body(i)
  void loop(const char* stem, const Value& begin, const Value& end, int step, const std::function<void(Value)>& body);
  /// The same, but the body returns the step, a value of its own.
  void loop(const char* stem, const Value& begin, const Value& end, const std::function<Value(Value)>& body);

  /// Calls the helper `name` on operands of one width, writing it first where it is new.
  using Body = std::function<Value(Ir&, const std::vector<Value>&)>;
  Value call(const std::string& name, std::vector<Value> args, const Body& body);
  /// Calls a math function of the library lane by lane: sinter_libm_NAME_f64.
  Value libm(const char* name, std::vector<Value> args);
  /// `fast`, but what the library computes where `mask` is set; the library is called only if any lane asks for it.
  Value or_libm(const Value& fast, const Value& mask, const char* name, const std::vector<Value>& args);

  // The table's `llvm` column.
  Value neg(const Value& a);
  Value abs(const Value& a);
  Value sign(const Value& a);
  Value floor(const Value& a) { return intrinsic("floor", {a}); }
  Value ceil(const Value& a) { return intrinsic("ceil", {a}); }
  Value rint(const Value& a) { return intrinsic("rint", {a}); }
  Value trunc(const Value& a) { return intrinsic("trunc", {a}); }
  Value sqrt(const Value& a) { return intrinsic("sqrt", {a}); }
  Value rsqrt(const Value& a) { return div(real(a.dtype, 1), sqrt(a)); }
  /// A row of SINTER_FUNCTION by its name.
  Value function(const char* name, int arity, const Value& a, const Value& b);
  Value isnan(const Value& a) { return compare("fcmp uno", a, a); }
  Value isinf(const Value& a);
  Value isfinite(const Value& a);
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
  Value extremum(const Value& a, const Value& b, bool least);
  Value truncated(const Value& a, DType to);
  Value converted_by_processor(const Value& a);  // float32 -> int32
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
