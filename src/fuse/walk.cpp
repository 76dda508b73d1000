// Builds one kernel: from its roots down through everything that may be computed at the same points, pushing index maps through
// the views it meets, until it reaches memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "fuse/kernel.hpp"
#include "fuse/walk.hpp"
#include "sinter/errors.hpp"

namespace sinter::fuse {
namespace {

using trace::Graph;
using trace::Node;
using trace::Op;

constexpr int kMaxSplits = 8;
// Distinct divisions and remainders of one element's index: beyond this, a copy through memory is cheaper than computing it.
constexpr int kMaxDivisions = 12;
// A value that costs less than this is computed again in a later pass; a slot costs about a store and a load.
constexpr double kKeepCost = 4;

struct NeedsMemory { Demand demand; };

class Walker {
 public:
  Walker(const WalkContext& context, const std::vector<RootRequest>& requests, const Shape& parallel, const Shape& row)
      : context_(context), graph_(*context.graph), limits_(*context.limits), requests_(requests), parallel_(parallel), row_(row) {
    kernel_.parallel = static_cast<int>(parallel.size());
    for (auto size : parallel) kernel_.sizes.push_back(size);
    for (auto size : row) kernel_.sizes.push_back(size);
    for (int axis = 0; axis < static_cast<int>(kernel_.sizes.size()); ++axis) dims_.push_back(IndexExpr::of_axis(axis));
  }

  WalkResult run() {
    // A chunk is counted along one row axis; cut in two, the last chunk's end would not be a bound of either part.
    const bool chunked = std::any_of(requests_.begin(), requests_.end(), [&](const RootRequest& r) { return graph_.nodes[r.node].chunk > 0; });
    for (int splits = 0;; ++splits) {
      try {
        may_split_ = !chunked && splits < kMaxSplits;
        build();
        return {std::move(kernel_), std::nullopt};
      } catch (const SplitAxis& split) {
        split_axis(split);
      } catch (NeedsMemory& needs) {
        return {{}, std::move(needs.demand)};
      }
    }
  }

 private:
  // ---- maps, interned: most nodes share their consumer's ------------------------------------------------------------

  struct MapInfo {
    Map map;
    std::vector<char> axes;  // which axes it depends on
    bool row = false;
    std::int64_t distinct = 1;  // points of the axes it depends on
  };

  int intern(Map map) {
    auto [found, fresh] = map_ids_.try_emplace(map, static_cast<int>(maps_.size()));
    if (fresh) {
      MapInfo info;
      info.axes.resize(kernel_.sizes.size());
      std::vector<int> values;
      for (const auto& expr : map) each_value(expr, [&](int value) { values.push_back(value); });
      for (int value : values) info.row |= kernel_.values[value].row;
      if (!values.empty()) info.distinct = kernel_.parallel_points() * (info.row ? kernel_.row_points() : 1);
      for (int axis = 0; axis < static_cast<int>(kernel_.sizes.size()); ++axis)
        for (const auto& expr : map)
          if (depends_on(expr, axis)) {
            info.axes[axis] = 1;
            info.row |= axis >= kernel_.parallel;
            if (values.empty()) info.distinct *= kernel_.sizes[axis];
            break;
          }
      info.map = std::move(map);
      maps_.push_back(std::move(info));
    }
    return found->second;
  }

  // Every dimension is one axis of its own and no axis of the level is left out.
  bool covers_all(int map_id, std::int64_t points) const {
    const MapInfo& info = maps_[map_id];
    std::set<int> seen;
    std::int64_t covered = 1;
    for (const auto& expr : info.map) {
      if (expr.terms().empty() && expr.constant() == 0) continue;
      // A dimension over a split axis is inner * outer + inner axis: several axes, each once.
      if (expr.constant() != 0) return false;
      for (const auto& term : expr.terms()) {
        if (term.axis < 0 || term.coeff < 0 || !seen.insert(term.axis).second) return false;
        covered *= kernel_.sizes[term.axis];
      }
    }
    return covered == points;
  }

  // ---- the walk -------------------------------------------------------------------------------------------------------

  void build() {
    kernel_.values.clear();
    kernel_.roots.clear();
    kernel_.checks.clear();
    memo_.clear();
    made_.clear();
    guard_ = -1;
    gathered_ = false;
    maps_.clear();
    map_ids_.clear();
    root_maps_.clear();
    occurrences_.clear();
    for (const auto& request : requests_) {
      Map map;
      const Shape& shape = graph_.nodes[request.node].shape;
      for (std::size_t k = 0; k < shape.size(); ++k)
        map.push_back(request.axes[k] < 0 ? IndexExpr::of(0) : dims_[request.axes[k]]);
      root_maps_[request.node] = intern(std::move(map));
    }
    for (const auto& request : requests_) {
      const int map = root_maps_[request.node];
      const int value = eval(request.node, map);
      kernel_.roots.push_back({request.node, value, linear(maps_[map].map, graph_.nodes[request.node].shape)});
    }
    for (const auto& [node, map] : absorbed_in_order_) {
      const int value = eval(node, map);
      kernel_.roots.push_back({node, value, linear(maps_[map].map, graph_.nodes[node].shape)});
    }
    absorbed_in_order_.clear();
    choose_slots();
    check_limits();
  }

  int add(Value value) {
    kernel_.values.push_back(std::move(value));
    return static_cast<int>(kernel_.values.size()) - 1;
  }

  [[noreturn]] void demand(int node, CutReason reason, std::string detail) {
    throw NeedsMemory{{node, {reason, std::move(detail)}}};
  }

  int eval(int id, int map) {
    const Node& node = graph_.nodes[id];
    if (node.op == Op::constant) {  // one parameter per use: equal literals must not change the structure
      Value value{Value::Kind::scalar, node.op, node.dtype, node.dtype, {}, id};
      return add(std::move(value));
    }
    const auto root = root_maps_.find(id);
    if (root != root_maps_.end() && root->second == map && guard_ >= 0) {  // it is computed at every point anyway
      const Here everywhere(*this, -1, false);
      return eval(id, map);
    }
    const auto key = std::tuple(id, map, guard_);
    if (auto found = memo_.find(key); found != memo_.end()) return found->second;
    const int value = compute(id, map);
    memo_[key] = value;
    return value;
  }

  int compute(int id, int map) {
    const Node& node = graph_.nodes[id];
    const auto root = root_maps_.find(id);
    const bool is_root = root != root_maps_.end() && root->second == map;
    if (!is_root) {
      if (node.op == Op::data || (*context_.materialized)[id] || root != root_maps_.end()) return load(id, map);
      if ((*context_.absorbable)[id]) {
        const bool at_rows = maps_[map].row;
        const std::int64_t points = kernel_.parallel_points() * (at_rows ? kernel_.row_points() : 1);
        // Its own elements count too: a kernel over a slice of it does not compute all of it.
        if (guard_ >= 0 || element_count(node.shape) != points || !covers_all(map, points)) return load(id, map);
        root_maps_[id] = map;
        absorbed_in_order_.push_back({id, map});
      }
    }
    if (trace::is_view(node.op)) return view(id, map);
    if (gathered_ && node.op != Op::iota && node.op != Op::pad)
      demand(id, CutReason::gathered, fmt::format("{} is gathered at computed places", trace::name(node.op)));
    if (trace::is_reduction(node.op)) return reduction(id, map);
    switch (node.op) {
      case Op::iota: {
        Value value{Value::Kind::index, node.op, node.dtype, node.dtype, {}, id, maps_[map].map[0]};
        value.row = maps_[map].row;
        value.cost = 1;
        take_operands(value, maps_[map].map[0]);
        return add(std::move(value));
      }
      case Op::pad: return pad(id, map);
      case Op::gather: return gather(id, map);
      case Op::scan: return scan(id, map);
      case Op::contiguous:
        if (!is_root) demand(id, CutReason::contiguous_copy, "a contiguous copy was asked for");
        return eval(node.inputs[0], map);
      case Op::matmul: demand(id, CutReason::library_call, "matmul gives its result in memory");
      default: return elementwise(id, map);
    }
  }

  int load(int id, int map) {
    const Node& node = graph_.nodes[id];
    Value value{Value::Kind::load, node.op, node.dtype, node.dtype, {}, id, linear(maps_[map].map, node.shape)};
    value.row = maps_[map].row;
    // Nothing can be read where there are no row points: it must not stand before the loop that never runs.
    value.row |= element_count(node.shape) == 0 && kernel_.row_axes() > 0 && kernel_.row_points() == 0 && kernel_.parallel_points() > 0;
    value.cost = limits_.is_cuda() ? 6 : 1;  // the memory behind it: a CPU re-reads a row from L2, a GPU from far away
    take_operands(value, value.index);
    value.args[Value::kGuard] = guard_;
    depend_on(value, guard_);
    return add(std::move(value));
  }

  // ---- guards, gathers, scans: values that a kernel computes to find others ------------------------------------------------

  // Under which guard, and for whom, the walk looks at what follows; as before when it ends.
  struct Here {
    Here(Walker& walker, int guard, bool gathered) : of(walker), guard_before(of.guard_), gathered_before(of.gathered_) {
      of.guard_ = guard;
      of.gathered_ = gathered;
    }
    ~Here() {
      of.guard_ = guard_before;
      of.gathered_ = gathered_before;
    }
    Here(const Here&) = delete;
    Walker& of;
    int guard_before;
    bool gathered_before;
  };

  void depend_on(Value& value, int operand) const {
    if (operand < 0) return;
    value.row |= kernel_.values[operand].row;
    value.ready = std::max(value.ready, kernel_.values[operand].ready);
  }
  // The computed values of an index become operands.
  void take_operands(Value& value, const IndexExpr& index) {
    int place = Value::kIndexed;
    each_value(index, [&](int operand) {
      if (place == Value::kIndexed + Value::kMaxIndexed)
        demand(value.node, CutReason::gathered, fmt::format("more than {} computed values would find an element", Value::kMaxIndexed));
      value.args[place++] = operand;
      depend_on(value, operand);
    });
  }

  // An op of the walk's own, made once for the same operands. `node`: whose business it is.
  int make(int node, Op op, DType dtype, Operands args) {
    const auto [found, fresh] = made_.try_emplace(std::tuple(op, args, 0), -1);
    if (!fresh) return found->second;
    Value value{Value::Kind::op, op, dtype, kernel_.values[args[op == Op::where ? 1 : 0]].dtype, args, node};
    for (int arg : args) depend_on(value, arg);
    value.cost = 1;
    return found->second = add(std::move(value));
  }
  int index_value(int node, const IndexExpr& index) {
    const auto [found, fresh] = made_.try_emplace(std::tuple(Op::iota, Operands(), index.order()), -1);
    if (!fresh) return found->second;
    Value value{Value::Kind::index, Op::iota, DType::int64, DType::int64, {}, node, index};
    for (int axis = kernel_.parallel; axis < static_cast<int>(kernel_.sizes.size()); ++axis) value.row |= depends_on(index, axis);
    take_operands(value, index);
    value.cost = 1;
    return found->second = add(std::move(value));
  }
  int both(int node, int a, int b) {
    if (a < 0 || b < 0) return std::max(a, b);
    return make(node, Op::bitwise_and, DType::bool_, {a, b});
  }

  // The first operand where its own indices are in range, the second elsewhere.
  int pad(int id, int map) {
    const Node& node = graph_.nodes[id];
    const Shape& inside = graph_.nodes[node.inputs[0]].shape;
    Map below = maps_[map].map;
    int within = -1;
    for (std::size_t k = 0; k < inside.size(); ++k) {
      const IndexExpr at = below[k];
      const std::int64_t low = node.ints[2 * k], high = low + inside[k];
      below[k] = at + IndexExpr::of(-low);
      const IndexRange possible = range(at, kernel_.sizes);
      if (possible.high < low || possible.low >= high) return eval(node.inputs[1], map);  // never
      const auto constant = [&](std::int64_t value) { return index_value(id, IndexExpr::of(value)); };
      if (possible.low < low) within = both(id, within, make(id, Op::less_equal, DType::bool_, {constant(low), index_value(id, at)}));
      if (possible.high >= high) within = both(id, within, make(id, Op::less, DType::bool_, {index_value(id, at), constant(high)}));
    }
    const int below_map = intern(std::move(below));
    if (within < 0) return eval(node.inputs[0], below_map);  // always
    const int fill = eval(node.inputs[1], map), guard = both(id, guard_, within);
    const Here here(*this, guard, gathered_);
    const int value = eval(node.inputs[0], below_map);
    // A load fills by itself, where the fill is computed before it.
    Value& inner = kernel_.values[value];
    const Value& outer = kernel_.values[fill];
    if (inner.kind == Value::Kind::load && inner.args[Value::kGuard] == guard && fill < value && outer.row <= inner.row && outer.ready <= inner.ready) {
      int& filled = inner.args[Value::kFill];
      if (filled < 0) filled = fill;
      if (filled == fill) return value;
    }
    return make(id, Op::where, node.dtype, {within, value, fill});
  }

  int gather(int id, int map) {
    const Node& node = graph_.nodes[id];
    const std::size_t axis = static_cast<std::size_t>(node.ints[0]);
    int index;
    {
      const Here here(*this, guard_, false);
      index = eval(node.inputs[1], map);
    }
    const auto constant = [&](std::int64_t value) { return index_value(id, IndexExpr::of(value)); };
    const int valid = both(id, make(id, Op::less_equal, DType::bool_, {constant(0), index}),
                           make(id, Op::less, DType::bool_, {index, constant(graph_.nodes[node.inputs[0]].shape[axis])}));
    // What is not wanted here is not wrong either.
    int condition = valid;
    if (guard_ >= 0) condition = make(id, Op::bitwise_or, DType::bool_, {make(id, Op::bitwise_not, DType::bool_, {guard_}), valid});
    kernel_.checks.push_back({condition, index, id});
    Map below = maps_[map].map;
    below[axis] = IndexExpr::of_value(index);
    const int below_map = intern(std::move(below));
    const Here here(*this, both(id, guard_, valid), true);
    return eval(node.inputs[0], below_map);
  }

  // Computed where the kernel's row is the scanned axis, point by point.
  int scan(int id, int map) {
    const Node& node = graph_.nodes[id];
    const std::size_t axis = static_cast<std::size_t>(node.ints[0]);
    const Map& at = maps_[map].map;
    bool fits = kernel_.row_axes() > 0 && !kernel_.chunk && node.shape[axis] == kernel_.row_points() &&
                element_count(node.shape) == kernel_.parallel_points() * kernel_.row_points() &&
                at[axis] == linear(Map(dims_.begin() + static_cast<long>(parallel_.size()), dims_.end()), row_);
    for (std::size_t k = 0; fits && k < at.size(); ++k)
      for (int row = kernel_.parallel; k != axis && row < static_cast<int>(kernel_.sizes.size()); ++row) fits &= !depends_on(at[k], row);
    if (guard_ >= 0) fits &= !kernel_.values[guard_].row;
    if (!fits)
      demand(id, CutReason::reduction_dependency,
             fmt::format("a scan along axis {} of {} is needed at other points than along its own rows, in order", axis, to_string(node.shape)));
    const int source = eval(node.inputs[0], map);
    Value value{Value::Kind::scan, static_cast<Op>(node.ints[1]), node.dtype, node.dtype, {source}, id};
    value.row = true;
    value.ready = kernel_.values[source].ready;
    value.cost = kKeepCost;
    return add(std::move(value));
  }

  int view(int id, int map) {
    const Node& node = graph_.nodes[id];
    const int input = node.inputs[0];
    const int below = intern(through(node, graph_.nodes[input].shape, maps_[map].map, kernel_.sizes, may_split_));
    if (const int count = divisions(maps_[below].map); count > kMaxDivisions)
      demand(id, CutReason::index_expression,
             fmt::format("reading through it would take {} divisions for each element against a limit of {}", count, kMaxDivisions));
    if (node.op != Op::broadcast) return eval(input, below);
    try {
      const int value = eval(input, below);
      check_amplification(value, below);
      return value;
    } catch (NeedsMemory& needs) {
      move_past_epilogue(needs.demand, input);
      throw;
    }
  }

  // A reduction that has to be in memory takes with it what is computed from it element by element before it is spread again: the
  // same bytes, and no kernel for the epilogue alone.
  void move_past_epilogue(Demand& demanded, int spread) const {
    const Node& reduction = graph_.nodes[demanded.node];
    if (demanded.cut.reason != CutReason::reduction_dependency || !trace::is_reduction(reduction.op)) return;
    while (trace::is_view(graph_.nodes[spread].op) && graph_.nodes[spread].op != Op::broadcast) spread = graph_.nodes[spread].inputs[0];
    const Node& epilogue = graph_.nodes[spread];
    if (!trace::is_elementwise(epilogue.op) || (*context_.materialized)[spread] || root_maps_.count(spread)) return;
    if (element_count(epilogue.shape) == element_count(reduction.shape)) demanded.node = spread;
  }

  int elementwise(int id, int map) {
    const Node& node = graph_.nodes[id];
    Value value{Value::Kind::op, node.op, node.dtype, graph_.nodes[node.inputs.back()].dtype, {}, id};
    value.cost = trace::primitive(node.op).cost;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const int arg = eval(node.inputs[k], map);
      value.args[k] = arg;
      value.row |= kernel_.values[arg].row;
      value.ready = std::max(value.ready, kernel_.values[arg].ready);
    }
    const int result = add(std::move(value));
    check_repetition(id, result);
    return result;
  }

  int reduction(int id, int map) {
    const Node& node = graph_.nodes[id];
    const Node& input = graph_.nodes[node.inputs[0]];
    const bool is_root = root_maps_.count(id) && root_maps_[id] == map;
    Shape reduced;
    for (auto axis : node.ints) reduced.push_back(input.shape[axis]);
    Map inner(input.shape.size());
    if (node.chunk > 0) {
      if (!is_root) demand(id, CutReason::parallelism, two_stage_detail(graph_, node));
      kernel_.chunk = node.chunk;
      kernel_.chunk_total = reduced[0];
      const Map& outer = maps_[map].map;
      std::size_t kept = 0;
      for (std::size_t k = 0; k < input.shape.size(); ++k)
        inner[k] = static_cast<std::int64_t>(k) == node.ints[0] ? outer.back() * node.chunk + dims_.back() : outer[kept++];
    } else {
      const std::int64_t results = element_count(node.shape), extent = element_count(reduced);
      if (maps_[map].row || (guard_ >= 0 && kernel_.values[guard_].row))
        demand(id, CutReason::reduction_dependency,
               fmt::format("{} over {} is needed at points along the rows themselves; computing it there would repeat it {} times",
                           trace::name(node.op), to_string(reduced), kernel_.row_points()));
      if (kernel_.row_axes() == 0 || extent != kernel_.row_points() || results != kernel_.parallel_points() || kernel_.chunk)
        demand(id, CutReason::reduction_dependency,
               fmt::format("{} over {} gives {} results; its consumer runs over {} points in rows of {}", trace::name(node.op),
                           to_string(reduced), results, kernel_.parallel_points(), kernel_.row_points()));
      const Map rows = reshape_map(Map(dims_.begin() + static_cast<long>(parallel_.size()), dims_.end()), row_, reduced, kernel_.sizes,
                                   may_split_);
      std::size_t kept = 0, gone = 0;
      for (std::size_t k = 0; k < input.shape.size(); ++k) {
        const bool is_reduced = gone < node.ints.size() && node.ints[gone] == static_cast<std::int64_t>(k);
        inner[k] = is_reduced ? rows[gone++] : maps_[map].map[kept++];
      }
    }
    const int source = eval(node.inputs[0], intern(std::move(inner)));
    Value value{Value::Kind::reduced, node.op, node.dtype, node.dtype, {source}, id};
    value.ready = kernel_.values[source].ready + 1;
    value.cost = 1;
    return add(std::move(value));
  }

  // ---- cost decisions -------------------------------------------------------------------------------------------------

  // Cost of computing a value from memory, each value it needs counted once.
  double cone_cost(int value) const {
    double cost = 0;
    std::vector<char> seen(kernel_.values.size());
    std::vector<int> stack{value};
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v]) continue;
      seen[v] = 1;
      const Value& here = kernel_.values[v];
      if (here.kind == Value::Kind::reduced) continue;
      cost += here.cost;
      for (int arg : here.args) stack.push_back(arg);
    }
    return cost;
  }

  double round_trip_seconds(double elements, DType dtype) const {
    return limits_.launch_seconds + 2 * elements * static_cast<double>(itemsize(dtype)) / limits_.bandwidth;
  }

  // A value below a broadcast is computed again at every repeated point.
  void check_amplification(int value, int map) {
    const Value& here = kernel_.values[value];
    if (here.kind != Value::Kind::op || here.ready > 0) return;
    const auto points = static_cast<double>(kernel_.parallel_points() * (here.row ? kernel_.row_points() : 1));
    const auto distinct = static_cast<double>(std::max<std::int64_t>(maps_[map].distinct, 1));
    if (distinct <= 1 || points <= distinct) return;
    const double cost = cone_cost(value);
    if (cost <= kKeepCost) return;
    const double again = (points - distinct) * cost / limits_.throughput, trip = round_trip_seconds(distinct, here.dtype);
    if (again > trip)
      demand(here.node, CutReason::recompute_cost,
             fmt::format("{:.0f} elements of cost {:.0f} would be computed {:.0f} times each: {:.1f} us against {:.1f} us through memory",
                         distinct, cost, points / distinct, again * 1e6, trip * 1e6));
  }

  // A node met under several index maps (a stencil over a computed value) is computed once per map.
  void check_repetition(int id, int value) {
    const int times = ++occurrences_[id];
    const int ops = static_cast<int>(kernel_.values.size());
    if (times < 2) return;
    const Node& node = graph_.nodes[id];
    const double elements = static_cast<double>(element_count(node.shape));
    const double cost = cone_cost(value);
    const double again = (times - 1) * elements * cost / limits_.throughput, trip = round_trip_seconds(elements, node.dtype);
    if ((cost > kKeepCost && again > trip) || ops > 4 * limits_.max_ops)
      demand(id, CutReason::recompute_cost,
             fmt::format("{} is needed at {} different offsets, cost {:.0f} each time: {:.1f} us against {:.1f} us through memory",
                         trace::name(node.op), times, cost, again * 1e6, trip * 1e6));
  }

  // Which row values a later pass reads from a slot. Without room for them the later pass computes them again, if that is cheaper
  // than a round trip to memory; else the value is cut out.
  void choose_slots() {
    kernel_.kept.clear();
    kernel_.slots.clear();
    kernel_.notes.clear();
    const int passes = kernel_.passes();
    if (passes < 2) return;
    std::vector<int> computed(kernel_.values.size(), -1);  // first pass that computes it
    std::vector<int> last_read(kernel_.values.size(), -1);
    std::vector<char> kept(kernel_.values.size());
    for (int pass = 0; pass < passes; ++pass) {
      std::vector<int> stack;
      for (int v = 0; v < static_cast<int>(kernel_.values.size()); ++v) {
        const Value& value = kernel_.values[v];
        if (value.kind == Value::Kind::reduced && value.ready == pass + 1) stack.push_back(value.args[0]);
      }
      for (const auto& root : kernel_.roots)
        if (root_pass(kernel_, root) == pass) stack.push_back(root.value);
      std::vector<char> seen(kernel_.values.size());
      while (!stack.empty()) {
        const int v = stack.back();
        stack.pop_back();
        if (v < 0 || seen[v] || !kernel_.values[v].row) continue;
        seen[v] = 1;
        if (computed[v] >= 0 && computed[v] < pass && (kept[v] || row_cost(v, kept) >= kKeepCost)) {
          if (!kept[v]) kernel_.kept.push_back({v, -1});
          kept[v] = 1;
          last_read[v] = pass;
          continue;
        }
        if (computed[v] < 0) computed[v] = pass;
        for (int arg : kernel_.values[v].args) stack.push_back(arg);
      }
    }
    std::sort(kernel_.kept.begin(), kernel_.kept.end(),
              [&](const Kept& a, const Kept& b) { return std::pair(computed[a.value], a.value) < std::pair(computed[b.value], b.value); });
    std::vector<int> busy_until;  // per slot: the last pass that reads what it holds
    for (auto& [v, slot] : kernel_.kept) {
      const DType dtype = kernel_.values[v].dtype;
      for (slot = 0; slot < static_cast<int>(busy_until.size()); ++slot)
        if (kernel_.slots[slot] == dtype && busy_until[slot] <= computed[v]) break;
      if (slot == static_cast<int>(busy_until.size())) {
        kernel_.slots.push_back(dtype);
        busy_until.push_back(0);
      }
      busy_until[slot] = last_read[v];
    }
    double bytes = 0;
    for (auto dtype : kernel_.slots) bytes += static_cast<double>(itemsize(dtype)) * static_cast<double>(kernel_.row_points());
    if (bytes <= static_cast<double>(limits_.row_bytes)) {
      if (!kernel_.kept.empty())
        kernel_.notes.push_back(fmt::format("keeps {} value{} of a row between passes, in {:.0f} of at most {} bytes", kernel_.kept.size(),
                                            kernel_.kept.size() == 1 ? "" : "s", bytes, limits_.row_bytes));
      return;
    }
    for (const auto& keep : kernel_.kept) {
      const Value& value = kernel_.values[keep.value];
      if (value.kind != Value::Kind::op || value.ready > 0) continue;
      const double elements = static_cast<double>(element_count(graph_.nodes[value.node].shape));
      const double again = (passes - 1) * elements * cone_cost(keep.value) / limits_.throughput;
      const double trip = round_trip_seconds(elements, value.dtype);
      if (again > trip)
        demand(value.node, limits_.is_cuda() ? CutReason::shared_memory : CutReason::row_too_long,
               fmt::format("a row of {} needs {:.0f} bytes kept against {}; computing it again costs {:.1f} us, a round trip {:.1f} us",
                           kernel_.row_points(), bytes, limits_.row_bytes, again * 1e6, trip * 1e6));
    }
    kernel_.kept.clear();
    kernel_.slots.clear();
    kernel_.notes.push_back(fmt::format("a row would need {:.0f} bytes against {}: every pass reads it again", bytes, limits_.row_bytes));
  }

  double row_cost(int value, const std::vector<char>& kept) const {
    double cost = 0;
    std::vector<char> seen(kernel_.values.size());
    std::vector<int> stack{value};
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v] || !kernel_.values[v].row || (kept[v] && v != value)) continue;
      seen[v] = 1;
      cost += kernel_.values[v].cost;
      for (int arg : kernel_.values[v].args) stack.push_back(arg);
    }
    return cost;
  }

  void check_limits() {
    if (requests_.size() == 1 && kernel_.ops() > limits_.max_ops) {
      const int node = halving_node(kernel_);
      if (node >= 0)
        demand(node, CutReason::kernel_size, fmt::format("{} ops against a limit of {}", kernel_.ops(), limits_.max_ops));
    }
    const int bytes = parameter_bytes(kernel_);
    if (bytes > limits_.parameter_bytes) {
      const int node = halving_node(kernel_);
      if (node >= 0)
        demand(node, CutReason::parameters, fmt::format("{} bytes of kernel parameters against {}", bytes, limits_.parameter_bytes));
    }
    if (limits_.is_cuda()) {
      const int registers = live_registers(kernel_, 1);
      if (registers > limits_.registers) {
        const int node = halving_node(kernel_);
        if (node >= 0)
          demand(node, CutReason::registers, fmt::format("about {} registers live at once against {}", registers, limits_.registers));
      }
    }
  }

  void split_axis(const SplitAxis& split) {
    std::vector<IndexExpr> by;
    for (int axis = 0; axis < static_cast<int>(kernel_.sizes.size()); ++axis)
      by.push_back(IndexExpr::of_axis(axis <= split.axis ? axis : axis + 1));
    by[split.axis] = by[split.axis] * split.inner + IndexExpr::of_axis(split.axis + 1);
    for (auto& dim : dims_) dim = substitute(dim, by);
    const std::int64_t size = kernel_.sizes[split.axis];
    kernel_.sizes[split.axis] = size / split.inner;
    kernel_.sizes.insert(kernel_.sizes.begin() + split.axis + 1, split.inner);
    if (split.axis < kernel_.parallel) ++kernel_.parallel;
    absorbed_in_order_.clear();
  }

  const WalkContext& context_;
  const Graph& graph_;
  const Limits& limits_;
  const std::vector<RootRequest>& requests_;
  const Shape parallel_, row_;
  Map dims_;  // the domain's dimensions over the kernel's axes (which splits refine)
  Kernel kernel_;
  bool may_split_ = true;
  std::vector<MapInfo> maps_;
  std::unordered_map<Map, int, MapHash> map_ids_;
  std::map<std::tuple<int, int, int>, int> memo_;  // by node, map and guard
  std::map<std::tuple<Op, Operands, int>, int> made_;  // the walk's own values: by op and operands, or by index
  int guard_ = -1;         // what is met is read where this value holds
  bool gathered_ = false;  // what is met is wanted at computed places
  std::map<int, int> root_maps_;
  std::vector<std::pair<int, int>> absorbed_in_order_;
  std::map<int, int> occurrences_;
};

}  // namespace

std::string two_stage_detail(const Graph& graph, const Node& node) {
  const Node& input = graph.nodes[node.inputs[0]];
  return fmt::format("{} elements to {} results would keep few workers busy; partial results of {} elements first",
                     element_count(input.shape), element_count(node.shape) / std::max<std::int64_t>(node.shape.back(), 1), node.chunk);
}

WalkResult walk(const WalkContext& context, const std::vector<RootRequest>& roots, const Shape& parallel, const Shape& row) {
  return Walker(context, roots, parallel, row).run();
}

std::int64_t Kernel::parallel_points() const {
  std::int64_t points = 1;
  for (int axis = 0; axis < parallel; ++axis) points *= sizes[axis];
  return points;
}
std::int64_t Kernel::row_points() const {
  std::int64_t points = 1;
  for (std::size_t axis = parallel; axis < sizes.size(); ++axis) points *= sizes[axis];
  return points;
}

bool has_scan(const Kernel& kernel) {
  return std::any_of(kernel.values.begin(), kernel.values.end(), [](const Value& v) { return v.kind == Value::Kind::scan; });
}

int root_pass(const Kernel& kernel, const Root& root) {
  // A root whose index walks the rows is stored in a row pass, any other after the passes it waits for.
  for (int axis = kernel.parallel; axis < static_cast<int>(kernel.sizes.size()); ++axis)
    if (depends_on(root.index, axis)) return kernel.values[root.value].ready;
  return -1;
}

int Kernel::passes() const {
  int passes = 0;
  for (const auto& value : values)
    if (value.kind == Value::Kind::reduced) passes = std::max(passes, value.ready);
  for (const auto& root : roots) passes = std::max(passes, root_pass(*this, root) + 1);
  return passes;
}

int Kernel::ops() const {
  return static_cast<int>(std::count_if(values.begin(), values.end(), [](const Value& v) {
    return v.kind == Value::Kind::op || v.kind == Value::Kind::reduced || v.kind == Value::Kind::scan;
  }));
}

int parameter_bytes(const Kernel& kernel) {
  int loads = 0, scalars = 0;
  for (const auto& value : kernel.values) {
    loads += value.kind == Value::Kind::load;
    scalars += value.kind == Value::Kind::scalar;
  }
  const int accesses = loads + static_cast<int>(kernel.roots.size());
  // A pointer each, up to one stride per further axis, the axis sizes, 8 bytes per literal.
  const int axes = static_cast<int>(kernel.sizes.size());
  return accesses * 8 + (axes > 1 ? accesses * 8 * (axes - 1) : 0) + axes * 8 + scalars * 8;
}

int live_registers(const Kernel& kernel, int vector) {
  const int count = static_cast<int>(kernel.values.size());
  std::vector<int> last_use(count, -1);
  for (int v = 0; v < count; ++v)
    for (int arg : kernel.values[v].args)
      if (arg >= 0) last_use[arg] = v;
  for (const auto& root : kernel.roots) last_use[root.value] = std::max(last_use[root.value], root.value);
  int live = 0, most = 0;
  std::vector<int> weight(count);
  for (int v = 0; v < count; ++v) {
    const Value& value = kernel.values[v];
    if (value.kind == Value::Kind::scalar) continue;  // read from the parameter bank
    weight[v] = (itemsize(value.dtype) == 8 ? 2 : 1) * vector;
    live += weight[v];
    most = std::max(most, live);
    std::set<int> ended;
    for (int arg : value.args)
      if (arg >= 0 && last_use[arg] == v) ended.insert(arg);
    for (int arg : ended) live -= weight[arg];
    if (last_use[v] <= v) live -= weight[v];
  }
  return most + 24;  // addresses, indices and what the compiler needs for itself
}

int halving_node(const Kernel& kernel) {
  // Ops in the cone of each value; the op nearest to half of the total that depends on no reduction and is no root.
  const int total = kernel.ops();
  int best = -1, best_distance = 1 << 30;
  for (int v = 0; v < static_cast<int>(kernel.values.size()); ++v) {
    const Value& value = kernel.values[v];
    if (value.kind != Value::Kind::op || value.ready > 0) continue;
    if (std::any_of(kernel.roots.begin(), kernel.roots.end(), [&](const Root& r) { return r.node == value.node; })) continue;
    std::set<int> cone;
    std::vector<int> stack{v};
    while (!stack.empty()) {
      const int u = stack.back();
      stack.pop_back();
      if (u < 0 || !cone.insert(u).second) continue;
      for (int arg : kernel.values[u].args) stack.push_back(arg);
    }
    const auto ops = static_cast<int>(std::count_if(cone.begin(), cone.end(), [&](int u) { return kernel.values[u].kind == Value::Kind::op; }));
    if (ops < 2 || std::abs(2 * ops - total) >= best_distance) continue;
    best = value.node;
    best_distance = std::abs(2 * ops - total);
  }
  return best;
}

double bytes_moved(const Graph& graph, const Kernel& kernel) {
  std::map<int, double> read;
  for (const auto& value : kernel.values) {
    if (value.kind != Value::Kind::load) continue;
    double elements = 1;
    for (int axis = 0; axis < static_cast<int>(kernel.sizes.size()); ++axis)
      if (depends_on(value.index, axis)) elements *= static_cast<double>(kernel.sizes[axis]);
    if (value.args[Value::kIndexed] >= 0)
      elements = static_cast<double>(kernel.parallel_points() * (value.row ? kernel.row_points() : 1));
    read[value.node] += elements;
  }
  double bytes = 0;
  for (const auto& [node, elements] : read)
    bytes += std::min(elements, static_cast<double>(element_count(graph.nodes[node].shape))) *
             static_cast<double>(itemsize(graph.nodes[node].dtype));
  for (const auto& root : kernel.roots)
    bytes += static_cast<double>(element_count(graph.nodes[root.node].shape)) *
             static_cast<double>(itemsize(graph.nodes[root.node].dtype));
  return bytes;
}

}  // namespace sinter::fuse
