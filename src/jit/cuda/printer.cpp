// Prints the loop language as CUDA C++: one self-contained kernel and the helper functions that it calls. It knows the statements and no form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "jit/compiler.hpp"
#include "jit/cuda/spelling.hpp"
#include "jit/forms/forms.hpp"

namespace sinter::jit {
namespace cuda {
namespace {

using loop::E, loop::Expr, loop::Stmt;
using Kind = Expr::Kind;

class Printer : public loop::Printer {
 public:
  Printer(const loop::Kernel& kernel, bool fast_math, int sm) : kernel_(kernel), helpers_(fast_math, sm) {}

  std::string kernel() {
    print(kernel_.body, 1);
    std::string notes;
    for (const std::string& note : kernel_.notes) notes += "// " + note + "\n";
    return notes + helpers_.text() + "\n" + signature() + text_ + "}\n";
  }

 private:
  std::string signature() const {
    std::vector<std::string> parameters;
    for (const loop::Parameter& p : kernel_.parameters) {
      using P = loop::Parameter::Kind;
      parameters.push_back(
          fmt::format("{}{}{} {}", p.kind == P::output ? "" : "const ", cpp_type(p.dtype), p.kind == P::number ? "" : "* __restrict__", p.name));
    }
    const std::string dimensions = kernel_.cluster > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", kernel_.cluster) : "";
    // Blocks of up to 256 threads need no bound: they fit with any number of registers (256 * 255 < 65536), and a bound would make ptxas spill a few registers
    // to fit more blocks on a multiprocessor.
    const int threads = kernel_.threads, residents = kernel_.residents;
    const std::string bounds = residents == 0 && threads <= 256 ? "" : fmt::format("__launch_bounds__({}, {}) ", threads, std::max(residents, 1));
    return fmt::format("extern \"C\" __global__ void {}{}{}(\n    {}) {{\n", dimensions, bounds, kernel_.name, fmt::join(parameters, ",\n    "));
  }

  std::string type_text(const loop::Type& type) override {
    if (type.divisor) return helpers_.divisor_type(type.dtype);
    return type.width > 1 ? helpers_.vector_type(type.dtype, type.width) : std::string(cpp_type(type.dtype));
  }

  std::pair<std::string, int> special(const Expr& e) override {
    std::vector<std::string> args;
    for (const E& a : e.args) args.push_back(text(a, kAtom));
    const auto spelled = [](std::string text) { return std::pair(std::move(text), 0); };
    const auto call = [&](std::string_view function) { return std::pair(fmt::format("{}({})", function, fmt::join(args, ", ")), kAtom); };
    switch (e.kind) {
      case Kind::own:
        return {e.name == "thread_x" ? "threadIdx.x" : e.name == "thread_y" ? "threadIdx.y" : e.name == "block" ? "blockIdx.x" : "gridDim.x", kAtom};
      case Kind::element: return {fmt::format("{} ? {}{} : {}", text(e.guard, 2), e.name, index_text(e.args), text(e.fill, 1)), 1};
      case Kind::vector:  // an element's address (&a[i]) instead of a + i would make some kernels take more registers
        if (e.args.size() == 1) return {fmt::format("*({}*)({} + {})", pointed(e), e.name, text(e.args[0], 9)), kUnary};
        return {fmt::format("*({}*)&{}{}", pointed(e), e.name, index_text(e.args)), kUnary};
      case Kind::lane: return {fmt::format("{}.at[{}]", args[0], text(e.args[1])), kAtom};
      case Kind::cast: {
        const Expr& from = *e.args[0];
        if (from.kind == Kind::lane && is_storage_only(from.type.dtype) && e.type.dtype == DType::float32)
          return spelled(helpers_.widened(from.type.dtype, text(from.args[0], kAtom), text(from.args[1])));
        return {helpers_.cast(from.type.dtype, e.type.dtype, args[0]), is_bool(e.type.dtype) ? 0 : kUnary};
      }
      case Kind::primitive: args.resize(3); return spelled(helpers_.spell(e.op, e.args.back()->type.dtype, args[0], args[1], args[2]));
      case Kind::multiply_add: return call(e.type.dtype == DType::float32 ? "fmaf" : "fma");
      case Kind::neutral: return spelled(helpers_.neutral(e.op, e.type.dtype));
      case Kind::rounded: return spelled(helpers_.rounded(e.dtype, args[0]));
      case Kind::divisor: helpers_.divisor_type(e.type.dtype); return call("sn_make_divisor");
      case Kind::quotient: return call("sn_divide");
      case Kind::remote: helpers_.use_clusters(); return {fmt::format("*(const {}*)sn_of_block(&{}, {})", cpp_type(e.type.dtype), e.name, args[0]), kUnary};
      default:
        return {fmt::format("__shfl_{}sync(0xffffffffu, {}, {})",
                            e.kind == Kind::shuffle      ? ""
                            : e.kind == Kind::shuffle_up ? "up_"
                                                         : "xor_",
                            args[0], text(e.args[1])),
                kAtom};
    }
  }
  /// Returns the type by which a vector is read or written. An input is constant.
  std::string pointed(const Expr& e) {
    const bool constant = std::any_of(kernel_.parameters.begin(), kernel_.parameters.end(),
                                      [&](const loop::Parameter& p) { return p.name == e.name && p.kind == loop::Parameter::Kind::input; });
    return (constant ? "const " : "") + type_text(e.type);
  }

  std::vector<std::string> simple(const Stmt& s) override {
    using S = Stmt::Kind;
    const auto type = [&] { return type_text(s.type); };
    std::string extents;
    for (const int extent : s.extents) extents += fmt::format("[{}]", extent);
    switch (s.kind) {
      case S::let: return {fmt::format("const {} {} = {};", type(), s.name, text(s.value))};
      case S::var: return {fmt::format("{} {}{};", type(), s.name, s.value.empty() ? "" : " = " + text(s.value))};
      case S::registers: {
        const std::vector<std::string> first(static_cast<std::size_t>(s.extents[0]), s.value.empty() ? "" : text(s.value));
        return {fmt::format("{} {}{}{};", type(), s.name, extents, s.value.empty() ? "" : fmt::format(" = {{{}}}", fmt::join(first, ", ")))};
      }
      case S::shared: return {fmt::format("__shared__ {}{} {}{};", s.aligned ? "__align__(16) " : "", type(), s.name, extents)};
      case S::dynamic: return dynamic(s);
      case S::barrier:
        if (s.scope == loop::Scope::warp) return {"__syncwarp();"};
        if (s.scope == loop::Scope::block) return {"__syncthreads();"};
        helpers_.use_clusters();
        return {s.scope == loop::Scope::cluster_arrive ? "sn_cluster_arrive();" : "sn_cluster_wait();"};
      default:
        return {fmt::format("if ({} && atomicExch((unsigned long long*)flags + {}, 1ull) == 0) flags[{}] = {};", text(s.guard, 4), 2 * s.number,
                            2 * s.number + 1, text(s.value))};
    }
  }
  /// Arrays in dynamic shared memory follow one another, each rounded up to 16 bytes. The arrays of one group of threads follow those of the previous group.
  std::vector<std::string> dynamic(const Stmt& s) {
    const auto bytes = [&](const Stmt& array) { return fmt::format("({} * {} + 15) / 16 * 16", text(array.extent, 10), itemsize(array.type.dtype)); };
    std::vector<std::string> lines;
    if (dynamic_end_.empty()) {
      lines.push_back("extern __shared__ __align__(16) unsigned char sn_shared[];");
      dynamic_end_ = "sn_shared";
      std::string all;
      for (const Stmt& other : kernel_.body)
        if (other.kind == Stmt::Kind::dynamic) all += (all.empty() ? "" : " + ") + bytes(other);
      if (s.number > 0) dynamic_end_ += fmt::format(" + threadIdx.x / {} * ({})", s.number, all);
    }
    lines.push_back(fmt::format("{0}* const {1} = ({0}*)({2});", cpp_type(s.type.dtype), s.name, dynamic_end_));
    dynamic_end_ = fmt::format("(unsigned char*){} + {}", s.name, bytes(s));
    return lines;
  }

  std::vector<std::string> loop_head(const Stmt& s) override {
    if (s.binding == loop::Binding::unrolled || s.binding == loop::Binding::lanes) return {"#pragma unroll", "for "};
    return {"for "};
  }

  const loop::Kernel& kernel_;
  Helpers helpers_;
  std::string dynamic_end_;  // the address after the last dynamic array
};

}  // namespace
}  // namespace cuda

Source generate_cuda(const LoopNest& nest, int sm) {
  const loop::Kernel kernel = forms::lower(nest, sm);
  Source source;
  source.target = fmt::format("sm_{}", sm);
  source.options = fmt::format("--gpu-architecture=sm_{} --std=c++17 {}", sm, nest.fast_math ? "--use_fast_math" : "--fmad=false");
  source.entry = nest.name;
  source.text = cuda::Printer(kernel, nest.fast_math, sm).kernel();
  return source;
}

}  // namespace sinter::jit
