// Prints the loop language as OpenCL C 1.2.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "jit/c_like/printer.hpp"
#include "jit/compiler.hpp"
#include "jit/forms/forms.hpp"
#include "jit/opencl/functions.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace opencl {
namespace {

using loop::E, loop::Expr, loop::Stmt;
using Kind = Expr::Kind;

constexpr c_like::Dialect kDialect = {"OpenCL", "", false, false, "long", "L", "ul", "as_int", "as_float", "INFINITY", "as_double(0x7ff0000000000000L)"};

class Helpers : public c_like::Helpers {
 public:
  explicit Helpers(bool fast_math) : c_like::Helpers(kDialect), fast_math_(fast_math) {}

  std::string_view type(DType dtype) const override { return type_name(dtype); }
  /// A quotient by a prepared divisor is a division.
  std::string divisor_type(DType dtype) override { return std::string(type_name(dtype)); }
  std::string text() const override { return (fast_math_ ? "" : "#pragma OPENCL FP_CONTRACT OFF\n") + c_like::Helpers::text(); }

 private:
  std::string own_text(std::string_view name, DType dtype) const override {
    return is_floating(dtype) && !is_storage_only(dtype) ? opencl::function_text(name, dtype) : "";
  }
  /// The functions are sinter's, because the standard allows errors of up to 16 ULP.
  std::string column(trace::Op op, DType operand) const override {
    const std::string helper = op == trace::Op::power ? "sn_pow" : fmt::format("sn_{}", trace::name(op));
    if (!is_floating(operand) || op == trace::Op::product_rest || opencl::function_text(helper, operand).empty()) return c_like::Helpers::column(op, operand);
    return fmt::format("{}({})", helper, trace::primitive(op).arity == 1 ? "{0}" : "{0}, {1}");
  }
  std::string vector_text(const std::string& name, std::size_t bytes, DType dtype, int width) const override {
    return fmt::format("typedef struct __attribute__((aligned({}))) {{ {} at[{}]; }} {};\n", bytes, type_name(dtype), width, name);
  }

  bool fast_math_;
};

bool any_of(const std::vector<Stmt>& body, const std::function<bool(const Stmt&)>& wanted) {
  return std::any_of(body.begin(), body.end(), [&](const Stmt& s) { return wanted(s) || any_of(s.body, wanted); });
}

class Printer : public c_like::Printer {
 public:
  using c_like::Printer::Printer;

 private:
  std::string signature() override {
    std::vector<std::string> parameters;
    for (const loop::Parameter& p : kernel_.parameters) {
      using P = loop::Parameter::Kind;
      parameters.push_back(p.kind == P::number ? fmt::format("const {} {}", type_name(p.dtype), p.name)
                                               : fmt::format("global {}{}* restrict {}", p.kind == P::input ? "const " : "", type_name(p.dtype), p.name));
    }
    if (!dynamic_end_.empty()) parameters.push_back("local uchar* restrict sn_shared");
    return fmt::format("__attribute__((reqd_work_group_size({}, {}, 1)))\nkernel void {}(\n    {}) {{\n", kernel_.across, kernel_.threads / kernel_.across,
                       kernel_.name, fmt::join(parameters, ",\n    "));
  }

  std::pair<std::string, int> own(const Expr& e, const std::vector<std::string>& args) override {
    switch (e.kind) {
      case Kind::own:
        return {e.name == "thread_x"   ? "(uint)get_local_id(0)"
                : e.name == "thread_y" ? "(uint)get_local_id(1)"
                : e.name == "block"    ? "(uint)get_group_id(0)"
                                       : "(uint)get_num_groups(0)",
                kUnary};
      case Kind::multiply_add: return {fmt::format("fma({})", fmt::join(args, ", ")), kAtom};
      case Kind::divisor: return {args[0], kAtom};
      case Kind::quotient: return {fmt::format("{} / {}", args[0], args[1]), 10};
      default: throw InternalError(fmt::format("kernel {}: OpenCL has neither shuffles nor clusters", kernel_.name));
    }
  }
  std::string pointed(const Expr& e) override {
    const auto of_block = [&](const Stmt& s) { return s.name == e.name && (s.kind == Stmt::Kind::shared || s.kind == Stmt::Kind::dynamic); };
    const bool parameter = std::any_of(kernel_.parameters.begin(), kernel_.parameters.end(), [&](const loop::Parameter& p) { return p.name == e.name; });
    return (parameter ? is_input(e.name) ? "global const " : "global " : any_of(kernel_.body, of_block) ? "local " : "") + type_text(e.type);
  }

  std::vector<std::string> own(const Stmt& s) override {
    using S = Stmt::Kind;
    switch (s.kind) {
      case S::shared: return {fmt::format("local {} {}{}{};", type_text(s.type), s.name, extents_text(s), s.aligned ? " __attribute__((aligned(16)))" : "")};
      case S::dynamic:
        if (dynamic_end_.empty()) dynamic_end_ = first_dynamic(s, "(uint)get_local_id(0)");
        return {dynamic_array(s, fmt::format("local {}", type_name(s.type.dtype)), "local uchar")};
      case S::barrier:
        if (s.scope != loop::Scope::block) throw InternalError(fmt::format("kernel {}: OpenCL has barriers of blocks alone", kernel_.name));
        return {"barrier(CLK_LOCAL_MEM_FENCE);"};
      default:  // the flag is a 64-bit number; testing its lower half is enough
        return {fmt::format("if ({} && atomic_xchg((volatile global int*)flags + {}, 1) == 0) flags[{}] = {};", text(s.guard, 4), 4 * s.number,
                            2 * s.number + 1, text(s.value))};
    }
  }
};

/// Throws if the source, apart from its first comments, computes in float64 and the device does not support it.
void check_float64(const LoopNest& nest, std::string_view text, const fuse::Limits& limits) {
  while (text.starts_with("//")) text.remove_prefix(text.find('\n') + 1);
  if (limits.float64 || text.find("double") == std::string_view::npos) return;
  throw DeviceError(
      fmt::format("kernel {} ({}) computes in float64, in its values or inside a function such as sin or pow, and the device '{}' does not: "
                  "compute it on the device cpu, or in float32 without such functions",
                  nest.name, fmt::join(nest.ops, "; "), limits.target));
}

}  // namespace
}  // namespace opencl

Source generate_opencl(const LoopNest& nest, const fuse::Limits& limits) {
  const loop::Kernel kernel = loop::without_warps(forms::lower(nest, 0));
  opencl::Helpers helpers(nest.fast_math);
  Source source;
  source.target = limits.target;
  source.options = fmt::format("-cl-std=CL1.2 -w{}{}{}", limits.rounds_quotients ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                               limits.float64 ? "" : " -cl-single-precision-constant", nest.fast_math ? " -cl-mad-enable" : "");
  source.entry = nest.name;
  source.text = opencl::Printer(kernel, helpers).kernel();
  opencl::check_float64(nest, source.text, limits);
  return source;
}

}  // namespace sinter::jit
