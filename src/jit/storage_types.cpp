#include "jit/storage_types.hpp"

#include <map>

#include <fmt/format.h>

namespace sinter::jit {
namespace {

class Widening {
 public:
  explicit Widening(LoopNest& nest) : nest_(nest) {}

  void run() {
    for (Stage& stage : nest_.stages) {
      std::vector<int> body;
      body.swap(stage.body);
      stage_ = &stage;
      here_ = everywhere_;
      for (const int id : body) add(id);
      if (!stage.row) everywhere_ = here_;
    }
  }

 private:
  void add(int id) {
    const Instr instr = nest_.instrs[id];
    if (instr.kind != Instr::Kind::op || direct(instr)) {
      stage_->body.push_back(id);
      return;
    }
    Instr wide = instr;
    for (int& arg : wide.args)
      if (arg >= 0) arg = widened(arg);
    wide.operand = traits(instr.operand).compute;
    if (is_storage_only(instr.dtype)) {
      // Integers of up to 32 bits become doubles, so that they round once.
      wide.dtype = traits(instr.dtype).compute;
      if (instr.op == Op::cast && is_integer(instr.operand) && itemsize(instr.operand) > 2) wide.dtype = DType::float64;
      wide.name += "_wide";
      const int computed = wide.dtype == wide.operand && instr.op == Op::cast ? wide.args[0] : emit(wide);
      nest_.instrs[id] = cast(computed, instr.dtype, instr.name);
    } else {
      nest_.instrs[id] = wide;
    }
    stage_->body.push_back(id);
  }

  /// Returns whether executors compute the instruction directly.
  static bool direct(const Instr& instr) {
    if (!is_storage_only(instr.operand) && !is_storage_only(instr.dtype)) return true;
    if (instr.op != Op::cast) return false;
    return is_storage_only(instr.operand) ? instr.dtype == DType::float32 : is_floating(instr.operand);
  }

  int widened(int id) {
    const DType narrow = nest_.instrs[id].dtype, wide = traits(narrow).compute;
    if (narrow == wide) return id;
    if (const auto found = here_.find(id); found != here_.end()) return found->second;
    return here_[id] = emit(cast(id, wide, fmt::format("{}_as_{}_{}", nest_.instrs[id].name, name(wide), nest_.instrs.size())));
  }

  Instr cast(int id, DType to, std::string name) const {
    Instr cast;
    cast.kind = Instr::Kind::op;
    cast.op = Op::cast;
    cast.operand = nest_.instrs[id].dtype;
    cast.dtype = to;
    cast.args[0] = id;
    cast.row = stage_->row;
    cast.name = std::move(name);
    return cast;
  }

  int emit(Instr instr) {
    nest_.instrs.push_back(std::move(instr));
    stage_->body.push_back(static_cast<int>(nest_.instrs.size()) - 1);
    return stage_->body.back();
  }

  LoopNest& nest_;
  Stage* stage_ = nullptr;
  std::map<int, int> here_, everywhere_;  // a value -> the same value in its wider type
};

}  // namespace

void compute_in_wider_types(LoopNest& nest) { Widening(nest).run(); }

}  // namespace sinter::jit
