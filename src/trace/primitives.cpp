#include "trace/primitives.hpp"

#include <iterator>

namespace sinter::trace {
namespace {

constexpr Primitive elementwise(Op op, std::string_view name, int arity, int accepts, Result result, TypeRule rule, int cost, Identity identity,
                                std::string_view cuda_float, std::string_view cuda_int) {
  return {op, name, OpKind::elementwise, arity, accepts, result, rule, cost, identity, cuda_float, cuda_int, op, false};
}
constexpr Primitive reduction(Op op, std::string_view name, Op combine, bool empty_ok) {
  return {op, name, OpKind::reduction, 1, 7, Result::same, TypeRule::special, 1, Identity::none, "", "", combine, empty_ok};
}
constexpr Primitive structural(Op op, std::string_view name, int arity, OpKind kind = OpKind::structural) {
  return {op, name, kind, arity, 7, Result::same, TypeRule::special, 0, Identity::none, "", "", op, false};
}

constexpr int F = accepts::F, I = accepts::I, B = accepts::B;
}  // namespace

constexpr Primitive kPrimitives[] = {
#define SINTER_ELEMENTWISE(id, arity, acc, result, rule, cost, identity, cf, ci, llvm, interp) \
  elementwise(Op::id, #id, arity, acc, Result::result, TypeRule::rule, cost, Identity::identity, cf, ci),
#define SINTER_REDUCTION(id, combine, empty) reduction(Op::id, #id, Op::combine, empty),
#define SINTER_STRUCTURAL(id, arity, sharding) structural(Op::id, #id, arity),
#define SINTER_LIBRARY(id, arity, ...) structural(Op::id, #id, arity, OpKind::library),
#include "trace/primitives.def"
};

static_assert([] {
  for (const Primitive& row : kPrimitives)
    if (row.arity > kMaxArity) return false;
  return true;
}());

int primitive_count() { return static_cast<int>(std::size(kPrimitives)); }

}  // namespace sinter::trace
