// Prints the loop language as CUDA C++.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "jit/c_like/printer.hpp"
#include "jit/compiler.hpp"
#include "jit/cuda/spelling.hpp"
#include "jit/forms/forms.hpp"

namespace sinter::jit {
namespace cuda {
namespace {

using loop::E, loop::Expr, loop::Stmt;
using Kind = Expr::Kind;

class Printer : public c_like::Printer {
 public:
  Printer(const loop::Kernel& kernel, Helpers& helpers) : c_like::Printer(kernel, helpers), helpers_(helpers) {}

 private:
  std::string signature() override {
    std::vector<std::string> parameters;
    for (const loop::Parameter& p : kernel_.parameters) {
      using P = loop::Parameter::Kind;
      parameters.push_back(
          fmt::format("{}{}{} {}", p.kind == P::output ? "" : "const ", helpers_.type(p.dtype), p.kind == P::number ? "" : "* __restrict__", p.name));
    }
    const std::string dimensions = kernel_.cluster > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", kernel_.cluster) : "";
    // Blocks of up to 256 threads need no bound: they fit with any number of registers (256 * 255 < 65536), and a bound would make ptxas spill a few registers
    // to fit more blocks on a multiprocessor.
    const int threads = kernel_.threads, residents = kernel_.residents;
    const std::string bounds = residents == 0 && threads <= 256 ? "" : fmt::format("__launch_bounds__({}, {}) ", threads, std::max(residents, 1));
    return fmt::format("extern \"C\" __global__ void {}{}{}(\n    {}) {{\n", dimensions, bounds, kernel_.name, fmt::join(parameters, ",\n    "));
  }

  std::pair<std::string, int> own(const Expr& e, const std::vector<std::string>& args) override {
    const auto call = [&](std::string_view function) { return std::pair(fmt::format("{}({})", function, fmt::join(args, ", ")), kAtom); };
    switch (e.kind) {
      case Kind::own:
        return {e.name == "thread_x" ? "threadIdx.x" : e.name == "thread_y" ? "threadIdx.y" : e.name == "block" ? "blockIdx.x" : "gridDim.x", kAtom};
      case Kind::multiply_add: return call(e.type.dtype == DType::float32 ? "fmaf" : "fma");
      case Kind::divisor: helpers_.divisor_type(e.type.dtype); return call("sn_make_divisor");
      case Kind::quotient: return call("sn_divide");
      case Kind::remote:
        helpers_.use_clusters();
        return {fmt::format("*(const {}*)sn_of_block(&{}, {})", helpers_.type(e.type.dtype), e.name, args[0]), kUnary};
      default:
        return {fmt::format("__shfl_{}sync(0xffffffffu, {}, {})",
                            e.kind == Kind::shuffle      ? ""
                            : e.kind == Kind::shuffle_up ? "up_"
                                                         : "xor_",
                            args[0], text(e.args[1])),
                kAtom};
    }
  }
  std::string pointed(const Expr& e) override { return (is_input(e.name) ? "const " : "") + type_text(e.type); }

  std::vector<std::string> own(const Stmt& s) override {
    using S = Stmt::Kind;
    switch (s.kind) {
      case S::shared: return {fmt::format("__shared__ {}{} {}{};", s.aligned ? "__align__(16) " : "", type_text(s.type), s.name, extents_text(s))};
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
  /// Arrays in dynamic shared memory follow one another, each rounded up to 16 bytes.
  std::vector<std::string> dynamic(const Stmt& s) {
    std::vector<std::string> lines;
    if (dynamic_end_.empty()) {
      lines.push_back("extern __shared__ __align__(16) unsigned char sn_shared[];");
      dynamic_end_ = first_dynamic(s, "threadIdx.x");
    }
    lines.push_back(dynamic_array(s, std::string(helpers_.type(s.type.dtype)), "unsigned char"));
    return lines;
  }

  Helpers& helpers_;
};

}  // namespace
}  // namespace cuda

Source generate_cuda(const LoopNest& nest, int sm) {
  const loop::Kernel kernel = forms::lower(nest, sm);
  Source source;
  source.target = fmt::format("sm_{}", sm);
  source.options = fmt::format("--gpu-architecture=sm_{} --std=c++17 {}", sm, nest.fast_math ? "--use_fast_math" : "--fmad=false");
  source.entry = nest.name;
  cuda::Helpers helpers(nest.fast_math, sm);
  source.text = cuda::Printer(kernel, helpers).kernel();
  return source;
}

}  // namespace sinter::jit
