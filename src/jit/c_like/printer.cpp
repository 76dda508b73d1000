#include "jit/c_like/printer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sinter/errors.hpp"

namespace sinter::jit::c_like {

using loop::E, loop::Expr, loop::Stmt;
using Kind = Expr::Kind;

std::string Printer::kernel() {
  if (kernel_.threads == 0) throw InternalError(fmt::format("kernel {} is a CPU's", kernel_.name));
  print(kernel_.body, 1);
  std::string notes;
  for (const std::string& note : kernel_.notes) notes += "// " + note + "\n";
  return notes + helpers_.text() + "\n" + signature() + text_ + "}\n";
}

std::string Printer::type_text(const loop::Type& type) {
  if (type.divisor) return helpers_.divisor_type(type.dtype);
  return type.width > 1 ? helpers_.vector_type(type.dtype, type.width) : std::string(helpers_.type(type.dtype));
}

bool Printer::is_input(const std::string& name) const {
  return std::any_of(kernel_.parameters.begin(), kernel_.parameters.end(),
                     [&](const loop::Parameter& p) { return p.name == name && p.kind == loop::Parameter::Kind::input; });
}

std::pair<std::string, int> Printer::special(const Expr& e) {
  std::vector<std::string> args;
  for (const E& a : e.args) args.push_back(text(a, kAtom));
  const auto spelled = [](std::string text) { return std::pair(std::move(text), 0); };
  switch (e.kind) {
    case Kind::element: return {fmt::format("{} ? {}{} : {}", text(e.guard, 2), e.name, index_text(e.args), text(e.fill, 1)), 1};
    case Kind::vector:  // an element's address (&a[i]) instead of a + i would make some of CUDA's kernels take more registers
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
    case Kind::neutral: return spelled(helpers_.neutral(e.op, e.type.dtype));
    case Kind::rounded: return spelled(helpers_.rounded(e.dtype, args[0]));
    default: return own(e, args);
  }
}

std::string Printer::extents_text(const Stmt& s) {
  std::string extents;
  for (const int extent : s.extents) extents += fmt::format("[{}]", extent);
  return extents;
}

std::vector<std::string> Printer::simple(const Stmt& s) {
  const auto type = [&] { return type_text(s.type); };
  switch (s.kind) {
    case Stmt::Kind::let: return {fmt::format("const {} {} = {};", type(), s.name, text(s.value))};
    case Stmt::Kind::var: return {fmt::format("{} {}{};", type(), s.name, s.value.empty() ? "" : " = " + text(s.value))};
    case Stmt::Kind::registers: {
      const std::vector<std::string> first(static_cast<std::size_t>(s.extents[0]), s.value.empty() ? "" : text(s.value));
      return {fmt::format("{} {}{}{};", type(), s.name, extents_text(s), s.value.empty() ? "" : fmt::format(" = {{{}}}", fmt::join(first, ", ")))};
    }
    default: return own(s);
  }
}

std::string Printer::dynamic_bytes(const Stmt& array) { return fmt::format("({} * {} + 15) / 16 * 16", text(array.extent, 10), itemsize(array.type.dtype)); }

std::string Printer::first_dynamic(const Stmt& s, const std::string& thread) {
  if (s.number == 0) return "sn_shared";
  std::string all;
  for (const Stmt& other : kernel_.body)
    if (other.kind == Stmt::Kind::dynamic) all += (all.empty() ? "" : " + ") + dynamic_bytes(other);
  return fmt::format("sn_shared + {} / {} * ({})", thread, s.number, all);
}

std::string Printer::dynamic_array(const Stmt& s, const std::string& pointer, const std::string& bytes) {
  std::string declaration = fmt::format("{0}* const {1} = ({0}*)({2});", pointer, s.name, dynamic_end_);
  dynamic_end_ = fmt::format("({}*){} + {}", bytes, s.name, dynamic_bytes(s));
  return declaration;
}

std::vector<std::string> Printer::loop_head(const Stmt& s) {
  if (s.binding == loop::Binding::unrolled || s.binding == loop::Binding::lanes) return {"#pragma unroll", "for "};
  return {"for "};
}

}  // namespace sinter::jit::c_like
