#include "jit/forms/cpu/one_sided.hpp"

#include <algorithm>

namespace sinter::jit::forms::cpu {
namespace {

/// The minimum cost of operations, in additions, for which it pays to test whether any lane needs them.
constexpr int kWorthBranch = 12;
/// The cost of a load whose lanes are read one by one.
constexpr int kReadApart = 8;

int cost_of(const LoopNest& nest, const Instr& instr) {
  if (instr.kind == Instr::Kind::op) return trace::primitive(instr.op).cost;
  return instr.kind == Instr::Kind::load && walks_apart(nest, nest.inputs[static_cast<std::size_t>(instr.input)]) ? kReadApart : 1;
}

/// Returns for each instruction whether it is computed from indices and literals alone.
std::vector<char> found_by_place(const LoopNest& nest) {
  std::vector<char> found(nest.instrs.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Instr& instr = nest.instrs[k];
    found[k] = instr.kind == Instr::Kind::index || instr.kind == Instr::Kind::scalar || instr.kind == Instr::Kind::op;
    each_operand(nest, instr, [&](int operand) { found[k] &= found[static_cast<std::size_t>(operand)]; });
  }
  return found;
}

/// Returns for each instruction whether it is needed for any choice of every `where`: by the stage's outputs, by other stages, or because it is a scan.
std::vector<char> wanted_anyway(const LoopNest& nest, const Stage& stage) {
  std::vector<char> wanted(nest.instrs.size());
  const auto want = [&](int number) { wanted[static_cast<std::size_t>(number)] = 1; };
  each_wanted(nest, stage, want);
  for (const int number : stage.body)
    if (nest.instrs[static_cast<std::size_t>(number)].kind == Instr::Kind::scan) want(number);
  for (const Stage& other : nest.stages)
    if (&other != &stage) each_read(nest, other, want);
  return wanted;
}

}  // namespace

int OneSided::find(int where, int operand) const {
  for (std::size_t k = 1; k < sides.size(); ++k)
    if (sides[k].where == where && sides[k].operand == operand) return static_cast<int>(k);
  return -1;
}

OneSided one_sided(const LoopNest& nest, const Stage& stage) {
  OneSided found;
  found.sides.resize(1);
  found.of.assign(nest.instrs.size(), 0);
  const std::vector<char> by_place = found_by_place(nest), wanted = wanted_anyway(nest, stage);
  // Users are visited first, because a value belongs to the innermost side that contains all its users. A side is inside the side of its `where`, and has a
  // larger number.
  std::vector<int> outer{0}, of(nest.instrs.size(), -1);
  const auto use = [&](int number, int side) {
    int& here = of[static_cast<std::size_t>(number)];
    if (here < 0) here = side;
    while (here != side) (here > side ? here : side) = outer[static_cast<std::size_t>(std::max(here, side))];
  };
  for (auto number = stage.body.rbegin(); number != stage.body.rend(); ++number) {
    const auto v = static_cast<std::size_t>(*number);
    if (of[v] < 0 || wanted[v]) of[v] = 0;
    const Instr& instr = nest.instrs[v];
    if (instr.kind != Instr::Kind::op || instr.op != Op::where || !by_place[static_cast<std::size_t>(instr.args[0])]) {
      each_operand(nest, instr, [&](int operand) { use(operand, of[v]); });
      continue;
    }
    use(instr.args[0], of[v]);
    for (const int operand : {1, 2}) {
      found.sides.push_back({*number, operand});
      outer.push_back(of[v]);
      use(instr.args[operand], static_cast<int>(outer.size()) - 1);
    }
  }
  // A side for which a branch does not pay is computed together with its `where`.
  std::vector<int> cost(outer.size()), kept(outer.size());
  for (const int number : stage.body)
    cost[static_cast<std::size_t>(of[static_cast<std::size_t>(number)])] += cost_of(nest, nest.instrs[static_cast<std::size_t>(number)]);
  for (std::size_t side = outer.size() - 1; side > 0; --side) cost[static_cast<std::size_t>(outer[side])] += cost[side];
  std::vector<OneSided::Side> sides(1);
  for (std::size_t side = 1; side < outer.size(); ++side) {
    kept[side] = kept[static_cast<std::size_t>(outer[side])];
    if (cost[side] < kWorthBranch) continue;
    kept[side] = static_cast<int>(sides.size());
    sides.push_back(found.sides[side]);
  }
  found.sides = std::move(sides);
  for (const int number : stage.body) found.of[static_cast<std::size_t>(number)] = kept[static_cast<std::size_t>(of[static_cast<std::size_t>(number)])];
  return found;
}

}  // namespace sinter::jit::forms::cpu
