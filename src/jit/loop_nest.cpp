#include "jit/loop_nest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sinter/errors.hpp"

namespace sinter::jit {
namespace {

std::string axis_name(const LoopNest& nest, int axis) { return axis < nest.parallel ? fmt::format("p{}", axis) : fmt::format("r{}", axis - nest.parallel); }
std::string parameter(int number) { return fmt::format("s{}", number); }

std::string to_string(const LoopNest& nest, const Index& index) {
  std::string text;
  for (const auto& term : index.terms) {
    if (!text.empty()) text += " + ";
    if (term.coeff != kOne) text += parameter(term.coeff) + "*";
    if (term.axis >= 0) {
      text += axis_name(nest, term.axis);
    } else if (term.value >= 0) {
      text += nest.instrs[term.value].name;
    } else {
      std::string inner = fmt::format("i{}", term.inner);
      if (term.div != kOne) inner += "/" + parameter(term.div);
      if (term.mod != kNone) inner += "%" + parameter(term.mod);
      text += "(" + inner + ")";
    }
  }
  if (index.constant != kNone) text += (text.empty() ? "" : " + ") + parameter(index.constant);
  return text.empty() ? "0" : text;
}

std::string access_text(const LoopNest& nest, const Access& access) { return fmt::format("{}[{}]", access.name, to_string(nest, nest.indices[access.index])); }

std::string instr_text(const LoopNest& nest, const Instr& instr) {
  const auto arg = [&](int k) -> const std::string& { return nest.instrs[instr.args[k]].name; };
  switch (instr.kind) {
    case Instr::Kind::load: {
      const std::string text = access_text(nest, nest.inputs[instr.input]);
      if (instr.guard < 0) return text;
      return fmt::format("{} if {} else {}", text, nest.instrs[instr.guard].name, instr.fill < 0 ? "0" : nest.instrs[instr.fill].name);
    }
    case Instr::Kind::scan: return fmt::format("scan {}({}{})", trace::name(instr.op), arg(0), instr.args[1] < 0 ? "" : " from " + arg(1));
    case Instr::Kind::scalar: return fmt::format("c{}", instr.input);
    case Instr::Kind::index: return to_string(nest, nest.indices[instr.input]);
    case Instr::Kind::persistent: return fmt::format("persistent{}", instr.input);
    case Instr::Kind::reduced: return "(reduced)";
    case Instr::Kind::op: break;
  }
  std::string text = fmt::format("{}(", trace::name(instr.op));
  for (int k = 0; k < 3 && instr.args[k] >= 0; ++k) text += (k ? ", " : "") + arg(k);
  return text + ")";
}

[[noreturn]] void broken(const LoopNest& nest, const std::string& what) { throw InternalError(fmt::format("loop nest {}: {}", nest.name, what)); }

}  // namespace

std::string to_string(const LoopNest& nest) {
  std::string text = fmt::format("nest {}\n", nest.name);
  for (const auto& op : nest.ops) text += fmt::format("  # {}\n", op);
  for (const auto& access : nest.inputs) text += fmt::format("  input  {} {}\n", name(access.dtype), access_text(nest, access));
  for (const auto& access : nest.outputs) text += fmt::format("  output {} {}\n", name(access.dtype), access_text(nest, access));
  for (std::size_t k = 0; k < nest.indices.size(); ++k) {
    bool used = false;
    for (const auto& index : nest.indices)
      for (const auto& term : index.terms) used |= term.inner == static_cast<int>(k);
    if (used) text += fmt::format("  index  i{} = {}\n", k, to_string(nest, nest.indices[k]));
  }
  for (std::size_t k = 0; k < nest.scalars.size(); ++k) text += fmt::format("  scalar {} c{}\n", name(nest.scalars[k].dtype), k);
  for (std::size_t k = 0; k < nest.persistent.size(); ++k) text += fmt::format("  persistent {} persistent{}[row]\n", name(nest.persistent[k]), k);
  std::string axes;
  for (int axis = 0; axis < nest.parallel; ++axis) axes += fmt::format("{}{} < s{}", axis ? ", " : "", axis_name(nest, axis), axis);
  text += fmt::format("  parallel {}   # lanes along {}\n", axes, axis_name(nest, nest.lane_axis()));
  axes.clear();
  for (int axis = nest.parallel; axis < nest.axes(); ++axis) {
    axes += fmt::format("{}{} < s{}", axes.empty() ? "" : ", ", axis_name(nest, axis), axis);
    if (nest.chunk_axis >= 0 && axis == nest.chunk_row)
      axes += fmt::format(" while {}*s{} + {} < s{}", axis_name(nest, nest.chunk_axis), axis, axis_name(nest, axis), nest.chunk_total);
  }
  for (const auto& stage : nest.stages) {
    std::string indent = "    ";
    if (stage.row) {
      text += fmt::format("    for {}{}\n", axes,
                          stage.first < 0 ? "" : fmt::format(" from {} up to {}", nest.instrs[stage.first].name, nest.instrs[stage.end].name));
      indent += "  ";
    }
    for (int id : stage.body)
      text += fmt::format("{}{} {} = {}\n", indent, name(nest.instrs[id].dtype), nest.instrs[id].name, instr_text(nest, nest.instrs[id]));
    for (const auto& keep : stage.keeps) text += fmt::format("{}persistent{} = {}\n", indent, keep.buffer, nest.instrs[keep.value].name);
    for (const auto& reduction : stage.reductions)
      text += fmt::format("{}{} {} = {}({})\n", indent, name(nest.instrs[reduction.result].dtype), nest.instrs[reduction.result].name,
                          trace::name(reduction.op), nest.instrs[reduction.value].name);
    for (const auto& check : stage.checks)
      text += fmt::format("{}check{} {} of {}\n", indent, check.number, nest.instrs[check.condition].name, nest.instrs[check.value].name);
    for (const auto& store : stage.stores)
      text += fmt::format("{}{} = {}{}\n", indent, access_text(nest, nest.outputs[store.output]), nest.instrs[store.value].name,
                          store.guard < 0 ? "" : " if " + nest.instrs[store.guard].name);
  }
  return text;
}

namespace {

/// Throws InternalError unless the types of the instruction and of its operands, which are in range, are those that its op computes with. A type of another
/// size would let a loop write behind a buffer.
void check_types(const LoopNest& nest, const Instr& instr) {
  if (instr.kind == Instr::Kind::index && instr.dtype != DType::int64) broken(nest, instr.name + " is an index, but no int64");
  if (instr.kind != Instr::Kind::op) return;
  const trace::Primitive& op = trace::primitive(instr.op);
  if (instr.op != Op::cast && (is_storage_only(instr.operand) || is_storage_only(instr.dtype)))
    broken(nest, fmt::format("{} computes in {}, which is only stored", instr.name, name(instr.operand)));
  if ((trace::dtype_class(instr.operand) & op.accepts) == 0) broken(nest, fmt::format("{} does not compute with {}", instr.name, name(instr.operand)));
  for (int k = 0; k < op.arity; ++k) {
    const DType takes = instr.op == Op::where && k == 0 ? DType::bool_ : instr.operand, gets = nest.instrs[instr.args[k]].dtype;
    if (gets != takes) broken(nest, fmt::format("{} takes {}, not {}", instr.name, name(takes), name(gets)));
  }
  const DType gives = op.result == trace::Result::boolean ? DType::bool_ : instr.operand;
  if (instr.op != Op::cast && instr.dtype != gives) broken(nest, fmt::format("{} gives {}, not {}", instr.name, name(gives), name(instr.dtype)));
}

}  // namespace

void verify(const LoopNest& nest) {
  const int instrs = static_cast<int>(nest.instrs.size());
  if (nest.parallel < 1 || nest.rows < 0) broken(nest, "needs a parallel axis");
  if (static_cast<int>(nest.ints.size()) < nest.axes()) broken(nest, "an axis has no size");
  const Schedule& schedule = nest.schedule;
  if (const std::string field = impossible_field(schedule); !field.empty()) broken(nest, "its schedule has " + field);
  if ((nest.rows == 0) != (schedule.is<PointwiseForm>() || schedule.is<TilesForm>())) broken(nest, "does not have the form of its schedule");
  if (schedule.is<PointwiseForm>() && schedule.as<PointwiseForm>().tail && nest.parallel > 1)
    broken(nest, "only points along a single axis may end within a vector");
  const Steps steps = schedule.steps();
  if (steps.whole && steps.count == 0) broken(nest, "only rows cached in registers have a fixed number of steps");
  if (schedule.is<TilesForm>() && nest.parallel < 2) broken(nest, "tiles have two axes");
  if (const auto* pairs = std::get_if<ContractionForm>(&schedule.form);
      pairs && (pairs->left == pairs->right || std::max(pairs->left, pairs->right) >= nest.parallel))
    broken(nest, "a contraction needs two parallel axes");
  if (nest.chunk_axis >= 0 && (nest.chunk_axis >= nest.parallel || nest.chunk_row < nest.parallel || nest.chunk_row >= nest.axes() || nest.chunk_total < 0 ||
                               nest.chunk_total >= static_cast<int>(nest.ints.size())))
    broken(nest, "the chunked axes are out of range");
  const auto check_int = [&](int number, const char* what) {
    if (number < kNone || number >= static_cast<int>(nest.ints.size())) broken(nest, fmt::format("{} is out of range", what));
  };
  for (std::size_t k = 0; k < nest.indices.size(); ++k) {
    for (const auto& term : nest.indices[k].terms) {
      check_int(term.coeff, "a coefficient");
      check_int(term.div, "a divisor");
      check_int(term.mod, "a modulus");
      if ((term.axis >= 0) + (term.inner >= 0) + (term.value >= 0) != 1) broken(nest, "a term must refer to one of: an axis, an index, a value");
      if (term.axis >= nest.axes()) broken(nest, "a term's axis is out of range");
      if (term.value >= instrs) broken(nest, "a term's value is out of range");
      if (term.value >= 0 && nest.instrs[term.value].dtype != DType::int64) broken(nest, "a term's value is not an int64");
      if (term.inner >= static_cast<int>(k)) broken(nest, "an index refers to a later one");
    }
    check_int(nest.indices[k].constant, "a constant");
  }
  for (const auto* accesses : {&nest.inputs, &nest.outputs})
    for (const auto& access : *accesses)
      if (access.index < 0 || access.index >= static_cast<int>(nest.indices.size())) broken(nest, "an access has no index");

  for (const Instr& instr : nest.instrs) {  // including instructions that are in no body
    const bool computed = instr.kind == Instr::Kind::op || instr.kind == Instr::Kind::scan;
    const int arity = instr.kind == Instr::Kind::scan                                    ? 2
                      : instr.kind == Instr::Kind::op && trace::is_elementwise(instr.op) ? trace::primitive(instr.op).arity
                                                                                         : 0;
    for (int k = 0; k < 3; ++k)
      if (instr.args[k] < -1 || instr.args[k] >= instrs || (instr.args[k] >= 0 && k >= arity)) broken(nest, instr.name + " has operands that it does not take");
    if (instr.kind == Instr::Kind::op && !trace::is_elementwise(instr.op)) broken(nest, instr.name + " is not computed element by element");
    const std::size_t of = instr.kind == Instr::Kind::load         ? nest.inputs.size()
                           : instr.kind == Instr::Kind::scalar     ? nest.scalars.size()
                           : instr.kind == Instr::Kind::index      ? nest.indices.size()
                           : instr.kind == Instr::Kind::persistent ? nest.persistent.size()
                                                                   : 0;
    if (!computed && instr.kind != Instr::Kind::reduced && (instr.input < 0 || static_cast<std::size_t>(instr.input) >= of))
      broken(nest, instr.name + " reads an operand that does not exist");
    const bool loads = instr.kind == Instr::Kind::load;
    if (instr.guard < -1 || instr.guard >= instrs || instr.fill < -1 || instr.fill >= instrs || (!loads && (instr.guard >= 0 || instr.fill >= 0)))
      broken(nest, instr.name + " has a guard that does not exist");
  }
  if (nest.checks < 0) broken(nest, "a negative number of checks");
  // 0: not defined; 1: belongs to a parallel point, visible to later stages; 2: belongs to the current row stage
  std::vector<char> state(instrs, 0);
  std::vector<char> staged(nest.persistent.size(), 0);
  for (const auto& stage : nest.stages) {
    if (stage.lanes < 0 || stage.lanes > 64 || (stage.lanes & (stage.lanes - 1)) != 0) broken(nest, "a stage's lanes are not a power of two");
    if (stage.row && nest.rows == 0) broken(nest, "a row stage without row axes");
    const auto use = [&](int id, const char* by) {
      if (id < 0 || id >= instrs || !state[id]) broken(nest, fmt::format("{} uses a value that is not defined here", by));
    };
    const auto use_as = [&](int id, DType dtype, const char* by) {
      use(id, by);
      if (nest.instrs[id].dtype != dtype) broken(nest, fmt::format("{} takes {}, not {}", by, name(dtype), name(nest.instrs[id].dtype)));
    };
    const auto use_index = [&](int index, const char* by) { each_index_value(nest, index, [&](int id) { use(id, by); }); };
    for (int id : stage.body) {
      if (id < 0 || id >= instrs) broken(nest, "a body's instruction is out of range");
      const Instr& instr = nest.instrs[id];
      if (instr.row != stage.row) broken(nest, instr.name + " stands in a stage of the other kind");
      switch (instr.kind) {
        case Instr::Kind::load:
          if (instr.input < 0 || instr.input >= static_cast<int>(nest.inputs.size())) broken(nest, instr.name + ": no such input");
          if (instr.dtype != nest.inputs[instr.input].dtype) broken(nest, instr.name + " has another dtype than its input");
          use_index(nest.inputs[instr.input].index, instr.name.c_str());
          if (instr.guard >= 0) use_as(instr.guard, DType::bool_, "a guard");
          if (instr.fill >= 0) use_as(instr.fill, instr.dtype, "a fill");
          if (instr.fill >= 0 && instr.guard < 0) broken(nest, instr.name + " has a fill and no guard");
          break;
        case Instr::Kind::scalar:
          if (instr.input < 0 || instr.input >= static_cast<int>(nest.scalars.size())) broken(nest, instr.name + ": no such scalar");
          if (instr.dtype != nest.scalars[instr.input].dtype) broken(nest, instr.name + " has another dtype than its literal");
          break;
        case Instr::Kind::index:
          if (instr.input < 0 || instr.input >= static_cast<int>(nest.indices.size())) broken(nest, instr.name + ": no such index");
          use_index(instr.input, instr.name.c_str());
          break;
        case Instr::Kind::scan:
          if (!stage.row || steps.count > 0) broken(nest, instr.name + ": only row stages scan, in a loop");
          if (!trace::is_reduction(instr.op)) broken(nest, instr.name + ": a scan combines as a reduction does");
          use_as(instr.args[0], instr.dtype, "a scan");
          if (instr.args[1] < 0) break;
          use_as(instr.args[1], trace::scan_carry(instr.op, instr.dtype), "the initial value of a scan");
          if (nest.instrs[instr.args[1]].row) broken(nest, instr.name + ": a scan must not start from a value of its rows");
          break;
        case Instr::Kind::persistent:
          if (instr.input < 0 || instr.input >= static_cast<int>(nest.persistent.size()) || !staged[instr.input] || !stage.row)
            broken(nest, instr.name + ": the persistent buffer holds nothing here");
          if (instr.dtype != nest.persistent[instr.input]) broken(nest, instr.name + " has another dtype than its persistent buffer");
          break;
        case Instr::Kind::reduced: broken(nest, instr.name + ": a reduction's result is not computed in a body");
        case Instr::Kind::op:
          for (int k = 0; k < trace::primitive(instr.op).arity; ++k) use(instr.args[k], instr.name.c_str());
          break;
      }
      check_types(nest, instr);
      state[id] = stage.row ? 2 : 1;
    }
    for (const auto& keep : stage.keeps) use(keep.value, "a persistent buffer");
    for (const auto& store : stage.stores) {
      use(store.value, "a store");
      if (store.output < 0 || store.output >= static_cast<int>(nest.outputs.size())) broken(nest, "a store has no output");
      if (nest.instrs[store.value].dtype != nest.outputs[store.output].dtype) broken(nest, "a store has another dtype than its output");
      use_index(nest.outputs[store.output].index, "a store");
      if (store.guard >= 0) use_as(store.guard, DType::bool_, "a guard");
    }
    for (const auto& check : stage.checks) {
      use_as(check.condition, DType::bool_, "a check");
      use_as(check.value, DType::int64, "a check");
      if (check.number < 0 || check.number >= nest.checks) broken(nest, "a check has no flag");
    }
    if (!stage.row && (!stage.keeps.empty() || !stage.reductions.empty())) broken(nest, "only row stages stage values and reduce");
    if ((stage.first < 0) != (stage.end < 0)) broken(nest, "a range has two ends");
    if (stage.first >= 0) {
      for (const int bound : {stage.first, stage.end}) {
        use_as(bound, DType::int64, "a range");
        if (nest.instrs[bound].row) broken(nest, "the range of a row belongs to its parallel point");
      }
      if (!stage.row || nest.rows != 1 || nest.chunk_axis >= 0 || !stage.stores.empty() || !stage.keeps.empty() || !stage.checks.empty() ||
          has_scan(nest, stage))
        broken(nest, "only a row that is reduced has a range");
    }
    for (const auto& reduction : stage.reductions) {
      use(reduction.value, "a reduction");
      if (!trace::is_reduction(reduction.op)) broken(nest, "a reduction by an op that is not a reduction");
      if (reduction.result < 0 || reduction.result >= instrs || nest.instrs[reduction.result].kind != Instr::Kind::reduced)
        broken(nest, "a reduction without a result");
      if (nest.instrs[reduction.result].dtype != nest.instrs[reduction.value].dtype) broken(nest, "a reduction's result has another dtype than its values");
    }
    for (const auto& keep : stage.keeps)
      if (keep.buffer < 0 || keep.buffer >= static_cast<int>(nest.persistent.size())) broken(nest, "no such persistent buffer");
      else if (nest.instrs[keep.value].dtype != nest.persistent[keep.buffer]) broken(nest, "a persistent buffer has another dtype than its value");
    if (stage.row)
      for (int id : stage.body) state[id] = 0;
    for (const auto& keep : stage.keeps) staged.at(keep.buffer) = 1;
    for (const auto& reduction : stage.reductions) state.at(reduction.result) = 1;
  }
}

namespace {

/// Returns whether the value changes along the axis.
bool value_depends_on(const LoopNest& nest, int value, int axis) {
  std::vector<int> stack{value};
  std::vector<char> seen(nest.instrs.size());
  while (!stack.empty()) {
    const int id = stack.back();
    stack.pop_back();
    if (seen[id]) continue;
    seen[id] = 1;
    const Instr& instr = nest.instrs[id];
    if (!instr.row && axis >= nest.parallel) continue;  // one value for all rows
    if (instr.kind == Instr::Kind::persistent || instr.kind == Instr::Kind::reduced) return true;
    if (instr.kind == Instr::Kind::scan && axis >= nest.parallel) return true;
    const int index = instr.kind == Instr::Kind::load ? nest.inputs[instr.input].index : instr.kind == Instr::Kind::index ? instr.input : -1;
    std::vector<int> indices;
    if (index >= 0) indices.push_back(index);
    for (std::size_t k = 0; k < indices.size(); ++k)
      for (const Index::Term& term : nest.indices[indices[k]].terms) {
        if (term.axis == axis) return true;
        if (term.inner >= 0) indices.push_back(term.inner);
      }
    each_operand(nest, instr, [&](int operand) { stack.push_back(operand); });
  }
  return false;
}

}  // namespace

bool depends_on(const LoopNest& nest, int index, int axis) { return coefficient(nest, index, axis) != kNone; }

int coefficient(const LoopNest& nest, int index, int axis) {
  int found = kNone;
  for (const auto& term : nest.indices[index].terms) {
    int here = kNone;
    if (term.axis == axis) here = term.coeff;
    else if (term.inner >= 0 && depends_on(nest, term.inner, axis)) here = kIrregular;
    else if (term.value >= 0 && value_depends_on(nest, term.value, axis)) here = kIrregular;
    if (here == kNone) continue;
    found = found == kNone ? here : kIrregular;
  }
  return found;
}

bool walks_apart(const LoopNest& nest, const Access& access) {
  const int along = coefficient(nest, access.index, nest.lane_axis());
  return along != kNone && along != kOne;
}

namespace {
bool lies_along_tiles(const LoopNest& nest, const Access& a) {
  return walks_apart(nest, a) && coefficient(nest, a.index, nest.lane_axis() - 1) == kOne && !uses_values(nest, a.index);
}
}  // namespace

std::vector<int> turnable_inputs(const LoopNest& nest) {
  std::vector<int> inputs;
  if (nest.parallel < 2 || nest.rows > 0) return inputs;
  for (int input = 0; input < static_cast<int>(nest.inputs.size()); ++input) {
    const Access& a = nest.inputs[static_cast<std::size_t>(input)];
    const bool always = std::all_of(nest.instrs.begin(), nest.instrs.end(),
                                    [&](const Instr& instr) { return instr.kind != Instr::Kind::load || instr.input != input || instr.guard < 0; });
    if (always && lies_along_tiles(nest, a)) inputs.push_back(input);
  }
  return inputs;
}

std::vector<int> turnable_outputs(const LoopNest& nest) {
  std::vector<int> outputs;
  if (nest.parallel < 2 || nest.rows > 0) return outputs;
  for (int output = 0; output < static_cast<int>(nest.outputs.size()); ++output) {
    int stores = 0;
    for (const Stage& stage : nest.stages)
      for (const Store& store : stage.stores)
        if (store.output == output) stores += store.guard < 0 ? 1 : 2;
    if (stores == 1 && lies_along_tiles(nest, nest.outputs[static_cast<std::size_t>(output)])) outputs.push_back(output);
  }
  return outputs;
}

bool lies_along_rows(const LoopNest& nest, const Access& output) {
  const int number = static_cast<int>(&output - nest.outputs.data());
  for (const Stage& stage : nest.stages)
    for (const Store& store : stage.stores)
      if (store.output == number && store.guard >= 0) return false;
  return nest.rows > 0 && !nest.schedule.lanes_along_rows() && !is_bool(output.dtype) && nest.chunk_axis != nest.lane_axis() &&
         coefficient(nest, output.index, nest.lane_axis()) >= 0 && coefficient(nest, output.index, nest.axes() - 1) == kOne;
}

bool uses_values(const LoopNest& nest, int index) {
  bool used = false;
  each_index_value(nest, index, [&](int) { used = true; });
  return used;
}

bool has_scan(const LoopNest& nest, const Stage& stage) {
  return std::any_of(stage.body.begin(), stage.body.end(), [&](int id) { return nest.instrs[id].kind == Instr::Kind::scan; });
}

}  // namespace sinter::jit
