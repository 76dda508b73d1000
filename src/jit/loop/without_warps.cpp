// Removes warps for devices that have none: shuffles and warp barriers become shared memory and barriers of the block.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "jit/loop/language.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::loop {
namespace {

using Kind = Expr::Kind;
constexpr int kWarp = 32;

bool is_shuffle(const E& e) { return e->kind == Kind::shuffle || e->kind == Kind::shuffle_up || e->kind == Kind::shuffle_xor; }

class Lowering {
 public:
  explicit Lowering(const Kernel& kernel) : threads_(kernel.threads), across_(kernel.across) {}

  std::vector<Stmt> lowered(std::vector<Stmt> body) {
    std::vector<Stmt> out;
    for (Stmt& s : body) {
      s.body = lowered(std::move(s.body));
      s.otherwise = lowered(std::move(s.otherwise));
      if (s.kind == Stmt::Kind::barrier && s.scope == Scope::warp) s.scope = Scope::block;
      if (s.kind == Stmt::Kind::let && is_shuffle(s.value)) exchange(std::move(s), out);
      else out.push_back(std::move(s));
    }
    return out;
  }
  const std::map<DType, Stmt>& arrays() const { return arrays_; }

 private:
  void exchange(Stmt let, std::vector<Stmt>& out) {
    const DType dtype = let.type.dtype;
    const Memory array{fmt::format("exchange_{}", name(dtype)), dtype};
    arrays_.try_emplace(dtype, Stmt{.kind = Stmt::Kind::shared, .type = dtype, .name = array.name, .extents = {threads_}});
    const E own = threads_ == across_ ? thread_x() : thread_y() * across_ + thread_x();
    const Stmt meet{.kind = Stmt::Kind::barrier, .scope = Scope::block};
    out.push_back({.kind = Stmt::Kind::store, .value = let.value->args[0], .target = array.at({own})});
    out.push_back(meet);
    let.value = array.at({other(*let.value, own)});
    out.push_back(std::move(let));
    out.push_back(meet);
  }
  static E other(const Expr& shuffle, const E& own) {
    const E lane = own & (kWarp - 1), by = cast(literal_as(shuffle.args[1], DType::uint32), DType::uint32);
    switch (shuffle.kind) {
      case Kind::shuffle_xor: return own ^ by;
      case Kind::shuffle_up: return select(lane >= by, own - by, own);
      default: return own - lane + by;
    }
  }

  int threads_, across_;
  std::map<DType, Stmt> arrays_;
};

}  // namespace

Kernel without_warps(Kernel kernel) {
  if (kernel.threads == 0) throw InternalError(fmt::format("kernel {} is a CPU's", kernel.name));
  Lowering lowering(kernel);
  kernel.body = lowering.lowered(std::move(kernel.body));
  for (const auto& [dtype, array] : lowering.arrays()) kernel.body.insert(kernel.body.begin(), array);
  verify(kernel);
  return kernel;
}

}  // namespace sinter::jit::loop
