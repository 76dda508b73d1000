#include "jit/forms/cpu/transposed_rows.hpp"

#include <algorithm>

namespace sinter::jit::forms::cpu {
namespace {

/// Rows whose computation has at least this cost, in units of one addition, are worth a transposition by themselves.
constexpr int kDear = 13;
/// The most accesses that are transposed, because each takes milliseconds to compile.
constexpr int kMostAccesses = 8;
/// The most points of a row; without mask registers, of a row that is stored or dear.
constexpr int kMostPoints = 63, kMostPointsOfDear = 47;

}  // namespace

/// Returns whether the access has neighbours along the row and a stride from row to row.
bool TransposedRows::is_transposed(const Access& access) const {
  const int stride = coefficient(nest_, access.index, next_row());
  return coefficient(nest_, access.index, row_axis()) == kOne && (stride >= 0 || stride == kOne) && itemsize(access.dtype) >= 2;
}

bool TransposedRows::transposable(const Stage& stage) const {
  if (!stage.checks.empty() || stage.first >= 0 || has_scan(nest_, stage)) return false;
  const auto readable = [&](int number) {
    const Instr& instr = nest_.instrs[number];
    if (instr.kind != Instr::Kind::load) return true;
    const Access& access = nest_.inputs[instr.input];
    if (instr.guard >= 0 || uses_values(nest_, access.index)) return false;
    const int along = coefficient(nest_, access.index, row_axis()), stride = coefficient(nest_, access.index, next_row());
    return is_transposed(access) || (along == kNone && stride != kIrregular) || (stride == kNone && along != kIrregular);
  };
  const auto writable = [&](const Store& s) { return s.guard < 0 && is_transposed(nest_.outputs[s.output]); };
  return std::all_of(stage.body.begin(), stage.body.end(), readable) && std::all_of(stage.stores.begin(), stage.stores.end(), writable);
}

/// Returns the points of a wide block: half a vector, so that two rows share it, or a short vector.
int TransposedRows::wide() const { return tree_lanes_ >= 8 ? tree_lanes_ / 2 : tree_lanes_; }

/// Stores of parts of cache lines take long. So rows must be read more often than written, or be dear; else, one block is the limit. Without mask registers the
/// rests of rows take much longer, so that all rows of more than a vector gain.
int TransposedRows::longest_transposed() const {
  const int lanes = tree_lanes_, planned = nest_.schedule.as<RowsForm>().short_rows;
  if (planned == 0 || lanes < 2 || lanes != native_lanes_ || nest_.rows != 1 || nest_.chunk_axis >= 0) return 0;
  int readings = 0, step = kMaxLanes;  // `step`: the points of the shortest step of a floating-point reduction
  for (const Stage& stage : nest_.stages) {
    if (!stage.row) continue;
    if (!transposable(stage)) return 0;
    ++readings;
    for (const Reduction& reduction : stage.reductions)
      if (is_floating(result(reduction).dtype)) step = std::min(step, row_lanes(nest_, stage));
  }
  const auto transposed = [&](const Access& access) { return is_transposed(access); };
  const auto accesses =
      std::count_if(nest_.inputs.begin(), nest_.inputs.end(), transposed) + std::count_if(nest_.outputs.begin(), nest_.outputs.end(), transposed);
  if (accesses > kMostAccesses) return 0;
  const bool dear = is_dear(), stores = stores_rows();
  if (dear && computes_half_vectors()) return 0;  // whole vectors compute the same along the rows
  int longest = 0, shorter = 0;                   // `shorter`: the limit of the lengths below those for which the kernel is planned
  for (const int limit : kShortRows)
    if (limit < planned) shorter = limit;
  if (!has_mask_registers()) {
    longest = std::min(step - 1, dear || stores ? kMostPointsOfDear : kMostPoints);
    shorter = std::max(shorter, lanes);
  } else if (planned % lanes != 0) {  // else the lengths fill their vectors
    const bool pays = dear || readings - (stores ? 1 : 0) > 1;
    if (pays) longest = stores ? std::min(step, 3 * lanes - 1) : std::min(2 * step, kMostPoints);  // tree_across() combines up to two steps
    else longest = readings > 1 ? wide() : 0;
  }
  return shorter < std::min(longest, planned) ? longest : 0;
}

bool TransposedRows::is_dear() const {
  int cost = 0;
  for (const Stage& stage : nest_.stages)
    if (stage.row) cost += cost_of(nest_, stage);
  return cost >= kDear;
}

bool TransposedRows::stores_rows() const {
  return std::any_of(nest_.stages.begin(), nest_.stages.end(), [](const Stage& stage) { return stage.row && !stage.stores.empty(); });
}

/// Returns whether the numbers of tree_lanes_ rows fill at most half a vector: argmax of float32 has 8 lanes, because its positions are int64.
bool TransposedRows::computes_half_vectors() const {
  int widest = 0;  // bytes of a number that is loaded, or computed in floating point
  for (const Stage& stage : nest_.stages) {
    if (!stage.row) continue;
    for (const int number : stage.body)
      if (const Instr& instr = nest_.instrs[number]; instr.kind == Instr::Kind::load || (instr.kind == Instr::Kind::op && is_floating(instr.dtype)))
        widest = std::max(widest, static_cast<int>(itemsize(instr.dtype)));
  }
  return widest > 0 && widest * tree_lanes_ < cpu_.vector_bytes;
}

E TransposedRows::fill_badly() const {
  const int lanes = tree_lanes_;
  const E points = sizes_[row_axis()], idle = whole(points + (lanes - 1), lanes) - points, most = longest_transposed();
  if (!has_mask_registers()) return lanes < points && points <= most;
  E badly = points < idle * (stores_rows() && !is_dear() ? 3 : 4);
  if (lanes < kMaxRowsAtOnce) {  // along the rows, whole vectors are computed four at a time, and places (argmax) fill seven of eight well
    const E idle_of_four = whole(points + (4 * lanes - 1), 4 * lanes) - points, longer = 2 * lanes < points;
    badly = badly || (is_dear() ? longer : longer && points < (computes_half_vectors() ? E(7 * lanes) : 4 * idle_of_four));
  }
  return E(wide()) <= points && points <= most && badly;
}

/// Calls inside(width) for blocks of so many points, where the row axis has the first of them: wide ones, and a narrow one for the last points, if that is
/// enough. The last two blocks may overlap.
template <class Inside> void TransposedRows::blocks(Inside inside) {
  const int wide = this->wide(), narrow = wide / 2;
  const E points = sizes_[row_axis()];
  branch({}, [&] {
    const E stop = int_let("wide_stop", whole(points + (wide - 1 - narrow), wide));
    loop("start", 0, stop, wide, [&](const E& start) {
      set_axis(row_axis(), minimum(start, points - wide));
      inside(wide);
    });
    branch(stop < points, [&] {
      set_axis(row_axis(), points - narrow);
      inside(narrow);
    });
  });
}

/// Calls at(place, line, lane) for each row of a block: the elements at the place belong to this line, from this lane on. Line k has the rows k, k + width, ...
template <class At> void TransposedRows::each_row(const Access& access, int width, At at) {
  const E first = index(access.index, 1), stride = number(along(access));
  for (int row = 0; row < tree_lanes_; ++row) at(memory(access).vector_at({first + stride * row}, width), row % width, row / width * width);
}

void TransposedRows::transposed_rows() {
  const int lanes = tree_lanes_;
  lane_axis_ = next_row();
  for (const Stage& stage : nest_.stages) {
    if (!stage.row) continue;
    for (const int number : stage.body)
      if (const Instr& instr = nest_.instrs[number]; instr.kind == Instr::Kind::load && is_transposed(nest_.inputs[instr.input])) inputs_[instr.input];
    for (const Store& s : stage.stores) outputs_[s.output];
  }
  const auto columns_of = [&, longest = longest_transposed()](const Access& access) {
    return registers(access.name + "_columns", {access.dtype, lanes}, longest);
  };
  for (auto& [input, columns] : inputs_) columns = columns_of(nest_.inputs[input]);
  for (auto& [output, columns] : outputs_) columns = columns_of(nest_.outputs[output]);
  blocks([&](int width) {
    for (const auto& [input, columns] : inputs_) {
      const Access& access = nest_.inputs[input];
      const Memory read = registers(access.name + "_read", access.dtype, width * lanes), lines = registers(access.name + "_lines", columns.type, width);
      each_row(access, width, [&](const E& from, int line, int lane) { store(read.vector_at({line * lanes + lane}, width), from); });
      for (int line = 0; line < width; ++line) store(lines.at({line}), read.vector_at({line * lanes}, lanes));
      const Memory square = transposed(access.name + "_square", lines, width);
      for (int line = 0; line < width; ++line) store(columns.at({axis(row_axis()) + line}), square.at({line}));
    }
  });
  for (const Stage& stage : nest_.stages) {
    if (stage.row) row_stage_across(stage);
    else body(stage, lanes);
  }
  blocks([&](int width) {
    for (const auto& [output, columns] : outputs_) {
      const Access& access = nest_.outputs[output];
      const Memory square = registers(access.name + "_square", columns.type, width);
      for (int line = 0; line < width; ++line) store(square.at({line}), columns.at({axis(row_axis()) + line}));
      const Memory lines = transposed(access.name + "_lines", square, width), written = registers(access.name + "_written", access.dtype, width * lanes);
      for (int line = 0; line < width; ++line) store(written.vector_at({line * lanes}, lanes), lines.at({line}));
      each_row(access, width, [&](const E& to, int line, int lane) { store(to, written.vector_at({line * lanes + lane}, width)); });
    }
  });
  inputs_.clear();
  outputs_.clear();
  lane_axis_ = nest_.lane_axis();
}

void TransposedRows::row_stage_across(const Stage& stage) {
  const int lanes = tree_lanes_;
  start_reductions(stage, lanes, lanes);
  for (const Reduction& reduction : stage.reductions)
    if (Parts& parts = parts_[reduction.result]; is_floating(result(reduction).dtype))  // the order decides sums' bits, and the sign of a largest zero
      parts.rest = registers(result(reduction).name + "_values", result(reduction).dtype, longest_transposed() * lanes);
  loop_over(row_axis(), 0, sizes_[row_axis()], 1, [&] {
    column_ = axis(row_axis());
    first_lane_ = int_let("first_lane", column_ * lanes);
    const auto known = std::exchange(loaded_, {});
    for (const auto& [input, columns] : inputs_) loaded_[input] = columns.at({column_});
    body(stage, lanes);
    loaded_ = known;
    first_lane_ = column_ = {};
  });
  for (const Reduction& reduction : stage.reductions) {
    const Parts& parts = parts_[reduction.result];
    value_[reduction.result] =
        let(result(reduction).name, {result(reduction).dtype, lanes}, parts.rest.name.empty() ? parts.step : tree_across(reduction, parts.rest));
  }
}

/// Combines the rows' values as Lowering::tree does: value i with value i + lanes / 2, then i + lanes / 4, ... Absent values would only add the neutral
/// element.
E TransposedRows::tree_across(const Reduction& reduction, const Memory& values) {
  const auto value = [&](const E& number) { return values.vector_at({number * tree_lanes_}, tree_lanes_); };
  const int certain = wide();  // a row has as many points
  const E left = var(result(reduction).name + "_left", DType::int64, sizes_[row_axis()]);
  for (int half = kMaxLanes / 2; half >= certain; half /= 2) {
    if (half >= longest_transposed()) continue;
    loop("number", 0, left - half, 1, [&](const E& number) { store(value(number), combined(reduction, value(number), value(number + half))); });
    store(left, minimum(left, half));
  }
  std::vector<E> all;
  for (int k = 0; k < certain; ++k) all.push_back(values.vector_at({k * tree_lanes_}, tree_lanes_));
  for (std::size_t half = all.size() / 2; half >= 1; half /= 2)
    for (std::size_t k = 0; k < half; ++k) all[k] = combined(reduction, all[k], all[k + half]);
  return combined(reduction, neutral(reduction), all[0]);
}

void TransposedRows::store_lanes(const Store& s, int lanes) {
  if (column_.empty()) Lowering::store_lanes(s, lanes);
  else store(outputs_.at(s.output).at({column_}), value_[s.value]);
}

E TransposedRows::persistent_place(int buffer, int lanes) {
  if (column_.empty()) return Lowering::persistent_place(buffer, lanes);
  return Memory{fmt::format("persistent{}", buffer), nest_.persistent[buffer]}.vector_at({column_ * lanes}, lanes);
}

}  // namespace sinter::jit::forms::cpu
