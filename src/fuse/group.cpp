// Builds one group: from its roots down through all nodes that can be computed at the same points. It pushes index maps through views until it reaches memory.
// Values that cannot be computed here are read from memory, and are reported as values to materialise.
#include "fuse/group.hpp"

#include <fmt/format.h>
#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/hash.hpp"
#include "fuse/arrange.hpp"
#include "fuse/costs.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::fuse {

using namespace costs;
namespace {

using trace::Op;

// The tables keep their memory from one group to the next.
class Builder {
 public:
  explicit Builder(const BuildContext& context) : context_(context), graph_(*context.graph), limits_(*context.limits) {}

  Built build(std::vector<Request> requests, Sizes sizes, int parallel, const Chunks& chunks) {
    requests_ = std::move(requests);
    row_dims_.clear();
    row_shape_.clear();
    for (int axis = parallel; axis < static_cast<int>(sizes.size()); ++axis) {
      row_dims_.push_back(IndexExpr::of_axis(axis));
      row_shape_.push_back(sizes[axis]);
    }
    kernel_.space = IndexSpace::current();
    kernel_.sizes = std::move(sizes);
    kernel_.parallel = parallel;
    kernel_.chunks = chunks;
    chunked_ = chunks.length > 0;
    narrowed_ = false;
    forced_.clear();
    for (int splits = 0;;) {
      may_split_ = !chunked_ && splits < kMaxSplits;  // a chunk's end is counted along one axis
      const Attempt attempt = evaluate();
      if (attempt == Attempt::complete) break;
      if (attempt == Attempt::narrowed) continue;
      ++splits;
      const auto by = split_axis(kernel_.sizes, kernel_.parallel, *split_);
      for (auto& dim : row_dims_) dim = substitute(dim, by);
      for (auto& request : requests_)
        for (auto& dim : request.dims) dim = substitute(dim, by);
    }
    settle();
    return result();
  }

 private:
  struct MapInfo {
    Map map;
    bool row = false;
    std::vector<int> values;  // computed values in the map: it belongs to a gather's source
    std::uint64_t axes = 0;   // axes along which these values change
    // The position in a buffer for this map and the last requested shape; most requests have the same shape.
    const Sizes* shape = nullptr;
    IndexExpr element;
  };
  struct Place {
    int node, map, guard;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& p) const {
      return mix(mix(static_cast<std::uint64_t>(p.node), static_cast<std::uint64_t>(p.guard + 1)), static_cast<std::uint64_t>(p.map));
    }
  };

  int intern(Map map) {
    const auto [known, fresh] = map_ids_.try_emplace(map, static_cast<int>(maps_.size()));
    const int id = known->second;
    if (fresh) {
      MapInfo info;
      for (const auto& expr : map) {
        info.row |= expr.axes() >> kernel_.parallel != 0;
        each_value(expr, [&](int number) {
          info.row |= kernel_.values[number].row;
          if (std::find(info.values.begin(), info.values.end(), number) != info.values.end()) return;
          info.values.push_back(number);
          info.axes |= axes_of(number);
        });
        info.axes |= expr.axes();
      }
      info.map = std::move(map);
      maps_.push_back(std::move(info));
    }
    return id;
  }

  // Returns the axes along which a value changes.
  std::uint64_t axes_of(int value) const {
    std::uint64_t axes = 0;
    each_below(value, [&](int, const Value& here) {
      if (here.kind == Value::Kind::load || here.kind == Value::Kind::index) axes |= here.index.axes();
      return true;
    });
    return axes;
  }

  // Returns whether an op is computed at the map's computed positions. For this, the op must have at least as many elements as there are positions.
  bool worth_gathering_at(int map, int id) const {
    Size places = 1;
    for (int axis = 0; axis < static_cast<int>(kernel_.sizes.size()); ++axis)
      if (maps_[map].axes >> axis & 1) places = places * kernel_.sizes[axis];
    return worth_gathering(graph_, id, places);
  }

  IndexExpr element_at(int map, int node) {
    const auto same = [](const Sizes& a, const Sizes& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Size& x, const Size& y) { return x.same(y); });
    };
    MapInfo& at = maps_[map];
    const Sizes& shape = graph_.nodes[node].shape;
    if (!at.shape || !same(*at.shape, shape)) {
      at.shape = &shape;
      at.element = linear(at.map, shape);
    }
    return at.element;
  }

  // ---- from the roots down ------------------------------------------------------------------------------------------------

  // Functions return this when an attempt to build the kernel has ended. The next attempt starts again with an axis split (split_), or with more nodes read
  // from memory (forced_).
  enum class Attempt : std::uint8_t { complete, split, narrowed };
  // A value that means that the attempt has ended.
  static constexpr int kEnded = -1;

  Attempt evaluate() {
    kernel_.values.clear();
    kernel_.roots.clear();
    kernel_.checks.clear();
    gathered_values_.clear();
    gathers_.clear();
    places_.clear();
    made_.clear();
    guard_ = padded_ = valid_ = -1;
    share_ = part_share_ = 1;
    in_range_ = false;
    memo_.clear();
    maps_.clear();
    map_ids_.clear();
    root_maps_.clear();
    occurrences_.clear();
    reasons_ = forced_;
    split_.reset();
    parts_.clear();
    for (const auto& request : requests_) {
      root_maps_[request.node] = intern(request.dims);
      if (request.part != 0) parts_[request.node] = part_of(request);
    }
    for (const auto& request : requests_) {
      const int map = root_maps_[request.node];
      const Part part = request.part != 0 ? parts_[request.node] : Part();
      const int value = eval_in(part, request.node, map);
      if (value == kEnded) return split_ ? Attempt::split : Attempt::narrowed;
      kernel_.roots.push_back({request.node, value, element_at(map, request.node), part.guard});
    }
    now_.resize(kernel_.values.size());
    for (std::size_t v = 0; v < now_.size(); ++v) now_[v] = static_cast<int>(v);
    return Attempt::complete;
  }

  int add(Value value, int map) {
    value.share = value.kind == Value::Kind::load ? share_ : share_ / part_share_;
    kernel_.values.push_back(std::move(value));
    places_.push_back({map, guard_});
    return static_cast<int>(kernel_.values.size()) - 1;
  }

  int need(int id, int map, SplitReason reason, std::string detail) {
    reasons_.try_emplace(id, Boundary{reason, std::move(detail)});
    return load(id, map);
  }

  // The points of the kernel at which a root is stored: where the guard holds, at this share of all points.
  struct Part {
    int guard = -1;
    double share = 1;
  };
  Part part_of(const Request& request) {
    Part part;
    for (std::size_t k = 0; k < request.dims.size(); ++k)
      if (request.part >> k & 1) within(request.dims[k], graph_.nodes[request.node].shape[k], part);
    return part;
  }

  // Narrows the part to the points at which a position lies in [0, size). Equal conditions are one value, whichever node asks.
  void within(const IndexExpr& at, const Size& size, Part& part) {
    const IndexRange possible = range(at, kernel_.sizes);
    const Size first = 0 - at.constant();
    const IndexExpr from = at + IndexExpr::of(first);
    if (possible.low < 0) part.guard = both(part.guard, make(Op::less_equal, DType::bool_, {index_value(IndexExpr::of(first)), index_value(from)}));
    if (possible.high >= size) part.guard = both(part.guard, make(Op::less, DType::bool_, {index_value(from), index_value(IndexExpr::of(first + size))}));
    if (at.has_values()) return;
    const Estimating estimate;
    part.share *= std::min(1.0, as_double(size) / as_double(possible.high - possible.low + 1));
  }

  // Computes a value where it is needed whatever else is visited: at the points of this part.
  int eval_in(const Part& part, int id, int map) {
    const Here here(*this, part.guard);
    padded_ = part.guard;
    valid_ = -1;
    share_ = part_share_ = part.share;
    return eval(id, map);
  }

  bool computed_here(int id, int map) const {
    const auto root = root_maps_.find(id);
    return root != root_maps_.end() && root->second == map;
  }

  // Returns whether a value that is read under a guard along the row is the same at all points of the row and exists there: a row's norm that a concatenation
  // reads.
  bool once_per_row(int id, int map) const {
    return kernel_.values[guard_].row && !maps_[map].row && in_range(maps_[map].map, graph_.nodes[id].shape, kernel_.sizes);
  }

  // Returns the points at which a value is computed: a root where it is stored, another value where it is needed, if this saves anything.
  Part part_for(int id, int map) const {
    if (computed_here(id, map)) {
      const auto part = parts_.find(id);
      return part == parts_.end() ? Part() : part->second;
    }
    return guard_ >= 0 && once_per_row(id, map) ? Part() : Part{guard_, share_};
  }

  bool read_from_memory(int id, int map) const {
    if (computed_here(id, map)) return false;
    return graph_.nodes[id].op == Op::data || (*context_.in_memory)[id] || root_maps_.contains(id) || reasons_.count(id);
  }

  // Returns the value or kEnded, like all functions that compute a value. Views are handled in a loop, because a chain of views may be as long as the graph.
  // Ops recurse, because their number in a kernel is bounded.
  int eval(int id, int map) {
    const Here here(*this, guard_of(map));
    const Place start{id, map, guard_};
    if (const auto found = memo_.find(start); found != memo_.end()) return found->second;
    bool spread = false;  // below a broadcast, or below windows that overlap
    while (trace::is_view(graph_.nodes[id].op) && !read_from_memory(id, map)) {
      const Node& view = graph_.nodes[id];
      const int input = view.inputs[0];
      Mapped mapped = through(view, graph_.nodes[input].shape, maps_[map].map, kernel_.sizes, may_split_);
      if ((split_ = mapped.split)) return kEnded;
      const int below = intern(std::move(mapped.map));
      if (const int count = divisions(maps_[below].map); count > kMaxDivisions && !computed_here(id, map)) {
        reasons_.try_emplace(
            id, Boundary{SplitReason::index_expression,
                         fmt::format("reading through the views would take {} divisions for each element; the limit is {}", count, kMaxDivisions)});
        break;
      }
      spread |= view.op == Op::broadcast || view.op == Op::windows;
      id = input;
      map = below;
    }
    guard_ = guard_of(map);
    const Place place{id, map, guard_};
    int value = -1;
    if (const Part part = part_for(id, map); part.guard != guard_) {
      value = eval_in(part, id, map);
    } else if (graph_.nodes[id].op == Op::constant) {  // one parameter for each use: equal literals must not change the structure
      const Node& node = graph_.nodes[id];
      value = add({Value::Kind::scalar, node.op, node.dtype, node.dtype, {}, id}, map);
      if (place == start) return value;
    } else if (const auto found = memo_.find(place); found != memo_.end()) {
      value = found->second;
    } else {
      value = compute(id, map);
      if (spread && value != kEnded) value = with_epilogue(id, map, value);
      memo_[place] = value;
    }
    memo_[start] = value;
    return value;
  }

  // If a reduction must be in memory, the elementwise operations on its result, up to the next broadcast, are computed with it. This moves the same bytes and
  // saves a kernel for the epilogue.
  int with_epilogue(int id, int map, int value) {
    const Node& epilogue = graph_.nodes[id];
    if (reasons_.empty() || kernel_.values[value].kind != Value::Kind::op || computed_here(id, map)) return value;
    std::vector<int> stack{value};
    std::vector<char> seen(kernel_.values.size());
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v]) continue;
      seen[v] = 1;
      const Value& below = kernel_.values[v];
      const auto reason = below.kind == Value::Kind::load ? reasons_.find(below.node) : reasons_.end();
      if (reason != reasons_.end() && reason->second.reason == SplitReason::reduction_dependency && trace::is_reduction(graph_.nodes[below.node].op) &&
          epilogue.elements == graph_.nodes[below.node].elements)
        return need(id, map, SplitReason::reduction_dependency, reason->second.detail);
      for (int arg : below.args) stack.push_back(arg);
    }
    return value;
  }

  int compute(int id, int map) {
    const Node& node = graph_.nodes[id];
    if (read_from_memory(id, map)) return load(id, map);
    if (!maps_[map].values.empty() && !worth_gathering_at(map, id))
      return need(id, map, SplitReason::gathered,
                  fmt::format("{} has {}, and is gathered at many more computed places", trace::name(node.op), counted(node.elements.hint(), "element")));
    if (trace::is_reduction(node.op)) return reduction(id, map);
    switch (node.op) {
      case Op::iota: {
        Value value{Value::Kind::index, node.op, node.dtype, node.dtype, {}, id, maps_[map].map[0]};
        value.row = maps_[map].row;
        value.cost = 1;
        take_operands(value, value.index, [](int number) { return number; });
        return add(std::move(value), map);
      }
      case Op::pad: return pad(id, map);
      case Op::gather: return gather(id, map);
      case Op::scan: return scan(id, map);
      case Op::contiguous:
        if (!computed_here(id, map)) return need(id, map, SplitReason::contiguous_copy, "contiguous() or materialize() asked for it in memory");
        return eval(node.inputs[0], map);
      default:
        if (trace::is_library(node.op)) return need(id, map, SplitReason::library_call, fmt::format("{} writes its result to memory", trace::name(node.op)));
        return elementwise(id, map);
    }
  }

  // `current`: the present numbers of the values that the map and the guard name.
  template <class Current> void make_load(Value& value, int id, int map, int guard, Current current) {
    const Node& node = graph_.nodes[id];
    const double share = value.share;
    value = {Value::Kind::load, node.op, node.dtype, node.dtype, {}, id, element_at(map, id)};
    value.share = share;
    value.row = maps_[map].row;
    // If there are no row points, nothing may be read, so the load must not be before the loop.
    value.row |= node.elements == 0 && kernel_.row_axes() > 0 && kernel_.row_points() == 0 && kernel_.parallel_points() > 0;
    value.cost = limits_.reread;
    take_operands(value, value.index, current);
    if (guard >= 0) depend_on(value, value.args[Value::kGuard] = current(guard));
  }

  int load(int id, int map) {
    Value value;
    make_load(value, id, map, guard_, [](int number) { return number; });
    return add(std::move(value), map);
  }

  // ---- guards, gathers, scans: values that decide where other values are read -------------------------------------------
  // While the kernel is built, a guard or an index names a value by its original number; now_ holds its present number.

  // Sets the guard under which the nodes below are visited, and restores the previous one at the end.
  struct Here {
    Here(Builder& builder, int guard)
        : of(builder), guard_before(of.guard_), padded_before(of.padded_), valid_before(of.valid_), share_before(of.share_), part_share_before(of.part_share_) {
      of.guard_ = guard;
    }
    ~Here() {
      of.guard_ = guard_before;
      of.padded_ = padded_before;
      of.valid_ = valid_before;
      of.share_ = share_before;
      of.part_share_ = part_share_before;
    }
    Here(const Here&) = delete;
    Here& operator=(const Here&) = delete;
    Builder& of;
    int guard_before, padded_before, valid_before;
    double share_before, part_share_before;
  };
  // A gather's source is read where the computed positions are valid. A value that is the same for all of them, such as a statistic of the row, is always read.
  int guard_of(int map) { return maps_[map].values.empty() ? padded_ : both(padded_, valid_); }

  void depend_on(Value& value, int operand) const {
    if (operand < 0) return;
    value.row |= kernel_.values[operand].row;
    value.ready = std::max(value.ready, kernel_.values[operand].ready);
  }
  // Makes the computed values of an index operands.
  template <class Current> void take_operands(Value& value, const IndexExpr& index, Current current) const {
    int place = Value::kIndexed;
    each_value(index, [&](int number) {
      if (place == Value::kIndexed + Value::kMaxIndexed)
        throw InternalError(fmt::format("scheduler: more than {} computed values find an element of %{}", Value::kMaxIndexed, value.node));
      depend_on(value, value.args[place++] = current(number));
    });
  }

  // Makes an op without a node of the graph, once for the same operands. Index arithmetic runs beside float arithmetic, so it costs nothing.
  int make(Op op, DType dtype, ValueArgs args) {
    const auto [found, fresh] = made_.try_emplace(std::tuple(op, args, 0), -1);
    if (!fresh) return found->second;
    Value value{Value::Kind::op, op, dtype, kernel_.values[args[op == Op::where ? 1 : 0]].dtype, args};
    for (int arg : args) depend_on(value, arg);
    return found->second = add(std::move(value), intern({}));
  }
  int index_value(const IndexExpr& index) {
    const auto [found, fresh] = made_.try_emplace(std::tuple(Op::iota, ValueArgs(), index.order()), -1);
    if (!fresh) return found->second;
    Value value{Value::Kind::index, Op::iota, DType::int64, DType::int64, {}, -1, index};
    value.row = index.axes() >> kernel_.parallel != 0;
    take_operands(value, index, [](int number) { return number; });
    return found->second = add(std::move(value), intern({}));
  }
  int both(int a, int b) {
    if (a < 0 || b < 0) return std::max(a, b);
    return make(Op::bitwise_and, DType::bool_, {a, b});
  }

  // Selects the first operand where its own indices are in range, the second elsewhere.
  int pad(int id, int map) {
    if (grows(id)) return kEnded;
    const Node& node = graph_.nodes[id];
    const Sizes& inside = graph_.nodes[node.inputs[0]].shape;
    Map below = maps_[map].map;
    Part part;
    for (std::size_t k = 0; k < inside.size(); ++k) {
      below[k] = below[k] + IndexExpr::of(-node.ints[2 * k]);
      const IndexRange possible = range(below[k], kernel_.sizes);
      if (possible.high < 0 || possible.low >= inside[k]) return eval(node.inputs[1], map);  // never
      within(below[k], inside[k], part);
    }
    const int below_map = intern(std::move(below));
    if (part.guard < 0) return eval(node.inputs[0], below_map);  // always
    const int fill = eval(node.inputs[1], map);
    if (fill == kEnded) return kEnded;
    int value, guard;
    {
      const Here here(*this, guard_);
      padded_ = both(padded_, part.guard);
      share_ *= part.share;
      guard = guard_of(below_map);
      value = eval(node.inputs[0], below_map);
    }
    if (value == kEnded) return kEnded;
    // A load can have a fill value if that value is computed before the load.
    Value& inner = kernel_.values[value];
    const Value& outer = kernel_.values[fill];
    if (inner.kind == Value::Kind::load && inner.args[Value::kGuard] == guard && guard == part.guard && fill < value && outer.row <= inner.row &&
        outer.ready <= inner.ready) {
      int& filled = inner.args[Value::kFill];
      if (filled < 0) filled = fill;
      if (filled == fill) return value;
    }
    Value chosen{Value::Kind::op, Op::where, node.dtype, node.dtype, {part.guard, value, fill}, maps_[map].values.empty() ? id : -1};
    for (int arg : chosen.args) depend_on(chosen, arg);
    chosen.cost = 1;
    return add(std::move(chosen), map);
  }

  int gather(int id, int map) {
    if (grows(id)) return kEnded;
    const Node& node = graph_.nodes[id];
    if (in_range_ && !node.made)
      return need(id, map, SplitReason::gathered, "a kernel that reduces ranges of a row cannot check the computed indices of a gather");
    const auto axis = static_cast<std::size_t>(node.axis(0));
    const int index = eval(node.inputs[1], map);
    if (index == kEnded) return kEnded;
    const auto constant = [&](const Size& value) { return index_value(IndexExpr::of(value)); };
    const int valid = both(make(Op::less_equal, DType::bool_, {constant(0), index}),
                           make(Op::less, DType::bool_, {index, constant(graph_.nodes[node.inputs[0]].shape[axis])}));
    // Positions whose values are not needed here need no check.
    int condition = valid;
    if (guard_ >= 0) condition = make(Op::bitwise_or, DType::bool_, {make(Op::bitwise_not, DType::bool_, {guard_}), valid});
    Map below = maps_[map].map;
    below[axis] = IndexExpr::of_value(index);
    const int below_map = intern(std::move(below));
    if (maps_[below_map].values.size() > Value::kMaxIndexed)
      return need(id, map, SplitReason::gathered, fmt::format("an element of the gathered value depends on more than {} computed indices", Value::kMaxIndexed));
    int value;
    {
      const Here here(*this, guard_);
      valid_ = both(valid_, valid);
      value = eval(node.inputs[0], below_map);
    }
    if (value == kEnded) return kEnded;
    if (maps_[map].values.empty()) gathers_.push_back({id, map});
    if (!node.made) kernel_.checks.push_back({condition, index, id});
    gathered_values_.push_back(value);
    return value;
  }

  // Returns the position along the chunked axis.
  IndexExpr chunk_point() const { return IndexExpr::of_axis(0) * kernel_.chunks.length + row_dims_.back(); }

  // Computes a scan if the kernel's row is the scanned axis, or a chunk of it, point by point.
  int scan(int id, int map) {
    const Node& node = graph_.nodes[id];
    const auto axis = static_cast<std::size_t>(node.axis(0));
    const Map& at = maps_[map].map;
    const auto walked = one_to_one(at, kernel_.sizes);
    const Size& length = node.shape[axis];
    bool fits = kernel_.row_axes() > 0 && walked && *walked == axes_between(kernel_.sizes, 0, static_cast<int>(kernel_.sizes.size()));
    fits = fits && (node.chunk > 0 ? kernel_.chunks.same({node.chunk, length}) && at[axis] == chunk_point()
                                   : !chunked_ && length == kernel_.row_points() && at[axis] == linear(row_dims_, row_shape_));
    for (std::size_t k = 0; fits && k < at.size(); ++k) fits = k == axis || at[k].axes() >> kernel_.parallel == 0;
    if (guard_ >= 0) fits = fits && !kernel_.values[guard_].row;
    if (!fits)
      return need(id, map, SplitReason::reduction_dependency,
                  fmt::format("the points that need a scan along axis {} of {} do not follow its rows in order", axis, to_string(node.shape)));
    Map start;
    for (std::size_t k = 0; k < at.size(); ++k)
      if (k != axis) start.push_back(at[k]);
    start.push_back(IndexExpr::of_axis(0));
    Value value{Value::Kind::scan, static_cast<Op>(node.axis(1)), node.dtype, node.dtype, {eval(node.inputs[0], map)}, id};
    if (value.args[0] == kEnded) return kEnded;
    if (node.chunk > 0 && (value.args[1] = eval(node.inputs[1], intern(std::move(start)))) == kEnded) return kEnded;
    for (const int arg : value.args)
      if (arg >= 0) value.ready = std::max(value.ready, kernel_.values[arg].ready);
    value.row = true;
    value.cost = kKeepCost;
    return add(std::move(value), map);
  }

  // A node that is reached with several maps (a stencil over a computed value) is computed once for each map, which may grow without end. Returns true if that
  // ends the attempt: the next one reads more from memory.
  bool grows(int id) {
    if (++occurrences_[id] < 2 || static_cast<int>(kernel_.values.size()) <= (narrowed_ ? 8 : 4) * context_.max_ops) return false;
    const auto nodes = std::exchange(narrowed_, true) ? std::vector<int>{id} : narrowest();
    for (int node : nodes) forced_.try_emplace(node, growth(node));
    return split_ || !nodes.empty();
  }

  Boundary growth(int id) const {
    return {SplitReason::recompute_cost, fmt::format("{} is needed at many offsets; with all of them the kernel would have more than {} ops",
                                                     trace::name(graph_.nodes[id].op), context_.max_ops)};
  }

  // Returns the nodes to read from memory so that the kernel has no more ops than allowed. They are chosen where the fewest values are live, as far below the
  // roots as possible. Users have larger numbers, so a node is visited when all its positions are known. Returns nothing if all ops fit, or if an axis must be
  // split first.
  std::vector<int> narrowest() {
    std::map<int, std::vector<int>, std::greater<>> open;  // node -> the maps with which it is needed
    const auto want = [&](int id, int map) {
      while (trace::is_view(graph_.nodes[id].op) && !read_from_memory(id, map)) {
        const int input = graph_.nodes[id].inputs[0];
        map = intern(through(graph_.nodes[id], graph_.nodes[input].shape, maps_[map].map, kernel_.sizes, false).map);
        id = input;
        if (divisions(maps_[map].map) > kMaxDivisions) return;
      }
      const Op op = graph_.nodes[id].op;
      const bool copied = op == Op::contiguous && !computed_here(id, map);
      if (read_from_memory(id, map) || op == Op::constant || op == Op::iota || copied || trace::is_library(op)) return;
      open[id].push_back(map);
    };
    for (const auto& request : requests_) want(request.node, root_maps_[request.node]);
    std::vector<int> best;
    for (int ops = 0; !open.empty();) {
      if (ops > 0 && (best.empty() || open.size() <= best.size())) {
        best.clear();
        for (const auto& [id, maps] : open)
          if (!root_maps_.contains(id)) best.push_back(id);
      }
      auto [id, maps] = std::move(*open.begin());
      open.erase(open.begin());
      std::sort(maps.begin(), maps.end());
      maps.erase(std::unique(maps.begin(), maps.end()), maps.end());
      if ((ops += static_cast<int>(maps.size())) > context_.max_ops) return best;
      const Node& node = graph_.nodes[id];
      for (int map : maps) {
        if (trace::is_reduction(node.op)) {
          auto inner = reduced_at(id, map);
          if (!inner) continue;
          if ((split_ = inner->split)) return {};
          want(node.inputs[0], intern(std::move(inner->map)));
        } else if (node.op == Op::gather) {
          want(node.inputs[1], map);
          if (!worth_gathering(graph_, node.inputs[0], node.elements)) continue;
          Map below = maps_[map].map;
          below[static_cast<std::size_t>(node.axis(0))] = IndexExpr::of_value(0);  // any value
          want(node.inputs[0], intern(std::move(below)));
        } else if (node.op == Op::pad) {
          Map below = maps_[map].map;
          for (std::size_t k = 0; k < below.size(); ++k) below[k] = below[k] + IndexExpr::of(-node.ints[2 * k]);
          want(node.inputs[0], intern(std::move(below)));
          want(node.inputs[1], map);
        } else {
          for (int input : node.inputs) want(input, map);
        }
      }
    }
    return {};
  }

  int elementwise(int id, int map) {
    if (grows(id)) return kEnded;
    const Node& node = graph_.nodes[id];
    Value value{Value::Kind::op, node.op, node.dtype, graph_.nodes[node.inputs.back()].dtype, {}, id};
    value.cost = trace::primitive(node.op).cost;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const int arg = eval(node.inputs[k], map);
      if (arg == kEnded) return kEnded;
      value.args[k] = arg;
      value.row |= kernel_.values[arg].row;
      value.ready = std::max(value.ready, kernel_.values[arg].ready);
    }
    return add(std::move(value), map);
  }

  // Returns whether each parallel point computes one chunk of the reduction.
  bool chunk_here(const Node& node, int map) const {
    const Map& at = maps_[map].map;
    if (!kernel_.chunks.same({node.chunk, graph_.nodes[node.inputs[0]].shape[static_cast<std::size_t>(node.axis(0))]}) || maps_[map].row) return false;
    const auto walked = one_to_one(at, kernel_.sizes);
    return walked && *walked == axes_between(kernel_.sizes, 0, kernel_.parallel) && at[node.chunks_axis()] == IndexExpr::of_axis(0) &&
           (guard_ < 0 || !kernel_.values[guard_].row);
  }

  // Returns the number of elements that a reduction combines to one.
  Size extent_of(const Node& node) const {
    Size extent = 1;
    for (int axis : node.axes()) extent = extent * graph_.nodes[node.inputs[0]].shape[static_cast<std::size_t>(axis)];
    return extent;
  }

  // Returns the points that a reduction combines, if this kernel's rows compute it; otherwise nothing.
  std::optional<Mapped> reduced_at(int id, int map) const {
    const Node& node = graph_.nodes[id];
    const Sizes& input = graph_.nodes[node.inputs[0]].shape;
    const Map& outer = maps_[map].map;
    Map inner(input.size());
    if (node.chunk > 0) {
      if (!chunk_here(node, map)) return std::nullopt;
      std::size_t left = node.chunks_first;
      for (std::size_t k = 0; k < input.size(); ++k) inner[k] = static_cast<int>(k) == node.axis(0) ? chunk_point() : outer[left++];
      return Mapped{std::move(inner)};
    }
    if (kernel_.row_axes() == 0 || extent_of(node) != kernel_.row_points()) return std::nullopt;
    Sizes reduced;
    for (int axis : node.axes()) reduced.push_back(input[static_cast<std::size_t>(axis)]);
    Mapped rows = reshape_map(row_dims_, row_shape_, reduced, kernel_.sizes, may_split_);
    if (rows.split) return rows;
    std::size_t left = 0, gone = 0;
    for (std::size_t k = 0; k < input.size(); ++k) {
      const bool is_reduced = gone < node.ints.size() && node.axis(gone) == static_cast<int>(k);
      inner[k] = is_reduced ? rows.map[gone++] : outer[left++];
    }
    return Mapped{std::move(inner)};
  }

  int reduction(int id, int map) {
    const Node& node = graph_.nodes[id];
    const Node& input = graph_.nodes[node.inputs[0]];
    const auto reduced = [&] {
      Sizes sizes;
      for (int axis : node.axes()) sizes.push_back(input.shape[static_cast<std::size_t>(axis)]);
      return to_string(sizes);
    };
    if (node.chunk > 0) {
      if (!chunk_here(node, map)) return need(id, map, SplitReason::parallelism, two_stage_detail(graph_, node));
    } else {
      if (maps_[map].row || (guard_ >= 0 && kernel_.values[guard_].row))
        return need(id, map, SplitReason::reduction_dependency,
                    fmt::format("{} over {} is needed at each point of a row; computing it there would repeat the work {} times", trace::name(node.op),
                                reduced(), kernel_.row_points()));
      // Each parallel point must compute one result, and no other point the same one.
      const auto walked = one_to_one(maps_[map].map, kernel_.sizes, [this](int value) { return axes_of(value); });
      const bool once = walked && *walked == axes_between(kernel_.sizes, 0, kernel_.parallel);
      if (kernel_.row_axes() == 0 || extent_of(node) != kernel_.row_points() || !once || chunked_)
        return need(id, map, SplitReason::reduction_dependency,
                    fmt::format("{} over {} gives {}; the kernel that reads them runs over {}{}", trace::name(node.op), reduced(),
                                counted(element_count(node.shape).hint(), "result"), counted(kernel_.parallel_points().hint(), "point"),
                                kernel_.row_axes() == 0 ? "" : fmt::format(", each with a row of {}", kernel_.row_points())));
    }
    Mapped inner = *reduced_at(id, map);
    if ((split_ = inner.split)) return kEnded;
    if (node.has_range()) return ranged(id, map, intern(std::move(inner.map)));
    const int source = eval(node.inputs[0], intern(std::move(inner.map)));
    if (source == kEnded) return kEnded;
    Value value{Value::Kind::reduced, node.op, node.dtype, node.dtype, {source}, id};
    value.ready = kernel_.values[source].ready + 1;
    value.cost = 1;
    apart_from_other_ranges(value, kernel_.values.size());
    return add(std::move(value), map);
  }

  // Moves a reduction to a later pass if one of the first `count` values combines another range of the row in its pass.
  void apart_from_other_ranges(Value& reduced, std::size_t count) const {
    const auto other_range = [&](const Value& other) {
      return other.kind == Value::Kind::reduced && other.ready == reduced.ready && (other.args[1] != reduced.args[1] || other.args[2] != reduced.args[2]);
    };
    const auto first = kernel_.values.begin();
    while (std::any_of(first, first + static_cast<std::ptrdiff_t>(count), other_range)) ++reduced.ready;
  }

  // Computes a reduction over a range of its row. Points outside the range cost nothing.
  int ranged(int id, int map, int inner) {
    const Node& node = graph_.nodes[id];
    Value value{Value::Kind::reduced, node.op, node.dtype, node.dtype, {}, id};
    for (const std::size_t k : {1, 2})
      if ((value.args[k] = eval(node.inputs[k], map)) == kEnded) return kEnded;
    const Here here(*this, guard_);
    {
      const Estimating estimate;
      share_ *= std::min(1.0, as_double(node.taken) / as_double(extent_of(node)));
    }
    const bool outer = std::exchange(in_range_, true);
    value.args[0] = eval(node.inputs[0], inner);
    in_range_ = outer;
    if (value.args[0] == kEnded) return kEnded;
    for (const std::size_t k : {0, 1, 2}) value.ready = std::max(value.ready, kernel_.values[value.args[k]].ready);
    ++value.ready;
    value.cost = 1;
    apart_from_other_ranges(value, kernel_.values.size());
    return add(std::move(value), map);
  }

  // ---- values that are better read from memory ----------------------------------------------------------------------

  // Each iteration changes one more node to a read from memory.
  void settle() {
    drop_unused();
    // A merged kernel is compared with the two kernels that it would replace. If it read a value from memory, a third kernel would be needed.
    while ((!context_.merged && read_what_is_dear()) || !choose_persistent() || !within_limits()) drop_unused();
  }

  void read(int node, Boundary boundary) {
    reasons_.try_emplace(node, std::move(boundary));
    for (std::size_t v = 0; v < kernel_.values.size(); ++v)
      if (Value& value = kernel_.values[v]; value.node == node && is_computed(value))
        make_load(value, node, places_[v].map, places_[v].guard, [&](int number) { return now_[number]; });
  }

  void drop_unused() {
    const int count = static_cast<int>(kernel_.values.size());
    std::vector<char> used(count);
    for (const auto& root : kernel_.roots) {
      used[root.value] = 1;
      if (root.guard >= 0) used[root.guard] = 1;
    }
    std::vector<char> checked(kernel_.checks.size());
    for (bool more = true; more;) {
      for (int v = count - 1; v >= 0; --v) {
        if (!used[v]) continue;
        for (int arg : kernel_.values[v].args)
          if (arg >= 0) used[arg] = 1;
        // If the value is read from memory later, the read uses this guard and this position.
        if (!is_computed(kernel_.values[v])) continue;
        if (places_[v].guard >= 0) used[now_[places_[v].guard]] = 1;
        for (const int number : maps_[places_[v].map].values) used[now_[number]] = 1;
      }
      more = false;
      for (std::size_t k = 0; k < checked.size(); ++k) {  // a gather is checked as long as a value needs it
        if (checked[k] || !used[gathered_values_[k]]) continue;
        used[kernel_.checks[k].condition] = used[kernel_.checks[k].value] = 1;
        checked[k] = 1;
        more = true;
      }
    }
    std::vector<int> moved(count, -1);
    int next = 0;
    for (int v = 0; v < count; ++v) {
      if (!used[v]) continue;
      Value value = std::move(kernel_.values[v]);
      value.ready = 0;
      if (value.kind == Value::Kind::op || value.kind == Value::Kind::reduced) value.row = false;
      for (int& arg : value.args) {
        if (arg < 0) continue;
        arg = moved[arg];
        const Value& operand = kernel_.values[arg];
        value.ready = std::max(value.ready, operand.ready + (value.kind == Value::Kind::reduced));
        value.row |= value.kind != Value::Kind::reduced && operand.row;
      }
      if (value.kind == Value::Kind::reduced) apart_from_other_ranges(value, static_cast<std::size_t>(next));
      moved[v] = next;
      places_[next] = places_[v];
      kernel_.values[next++] = std::move(value);
    }
    kernel_.values.resize(next);
    places_.resize(next);
    for (auto& root : kernel_.roots) {
      root.value = moved[root.value];
      if (root.guard >= 0) root.guard = moved[root.guard];
    }
    std::size_t left = 0;
    for (std::size_t k = 0; k < checked.size(); ++k) {
      if (!checked[k]) continue;
      const Check& check = kernel_.checks[k];
      gathered_values_[left] = moved[gathered_values_[k]];
      kernel_.checks[left++] = {moved[check.condition], moved[check.value], check.node};
    }
    kernel_.checks.resize(left);
    gathered_values_.resize(left);
    for (int& place : now_)
      if (place >= 0) place = moved[place];
    place_reductions();
  }

  // Returns the nodes that a row value reads at every row point.
  std::vector<int> row_loads(int value) const {
    std::vector<int> nodes;
    each_below(value, [&](int, const Value& here) {
      if (here.row && here.kind == Value::Kind::load) nodes.push_back(here.node);
      return here.row;
    });
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  // A reduction that could run in an early pass and whose result is needed late runs in the pass that already reads most of its values.
  void place_reductions() {
    const int count = static_cast<int>(kernel_.values.size()), passes = kernel_.passes();
    if (passes < 2 || has_ranges(kernel_)) return;  // the pass of a range does nothing else
    std::vector<int> latest(count, passes);         // passes that may end before the value is available
    for (const auto& root : kernel_.roots)
      if (const int pass = root_pass(kernel_, root); pass >= 0) latest[root.value] = std::min(latest[root.value], pass);
    for (const auto& check : kernel_.checks)
      if (kernel_.values[check.condition].row) latest[check.condition] = std::min(latest[check.condition], passes - 1);
    for (int v = count - 1; v >= 0; --v)
      for (int arg : kernel_.values[v].args)
        if (arg >= 0) latest[arg] = std::min(latest[arg], latest[v] - (kernel_.values[v].kind == Value::Kind::reduced));
    std::vector<std::vector<int>> reads(passes);
    std::vector<int> free;
    const auto add = [&](int pass, int value) {
      const auto loads = row_loads(value);
      reads[pass].insert(reads[pass].end(), loads.begin(), loads.end());
      std::sort(reads[pass].begin(), reads[pass].end());
    };
    for (const auto& root : kernel_.roots)
      if (const int pass = root_pass(kernel_, root); pass >= 0) add(pass, root.value);
    for (int v = 0; v < count; ++v) {
      const Value& value = kernel_.values[v];
      if (value.kind != Value::Kind::reduced) continue;
      if (value.ready == latest[v]) add(value.ready - 1, value.args[0]);
      else free.push_back(v);
    }
    if (free.empty()) return;
    for (int v = 0; v < count; ++v) {
      Value& value = kernel_.values[v];
      for (int arg : value.args)
        if (arg >= 0) value.ready = std::max(value.ready, kernel_.values[arg].ready + (value.kind == Value::Kind::reduced));
      if (!std::binary_search(free.begin(), free.end(), v)) continue;
      const auto loads = row_loads(value.args[0]);
      const int first = value.ready;
      std::size_t fewest = loads.size() + 1;
      for (int ready = first; ready <= latest[v]; ++ready) {
        std::vector<int> more;
        std::set_difference(loads.begin(), loads.end(), reads[ready - 1].begin(), reads[ready - 1].end(), std::back_inserter(more));
        if (more.size() >= fewest) continue;
        fewest = more.size();
        value.ready = ready;
      }
      add(value.ready - 1, value.args[0]);
    }
  }

  // Visits a value and all values below it, each once. If the visitor returns false, the values below are not visited.
  template <class Visit> void each_below(int value, Visit visit) const {
    ++walk_;
    seen_.resize(kernel_.values.size());
    stack_.assign(1, value);
    while (!stack_.empty()) {
      const int v = stack_.back();
      stack_.pop_back();
      if (v < 0 || seen_[v] == walk_) continue;
      seen_[v] = walk_;
      if (!visit(v, kernel_.values[v])) continue;
      for (int arg : kernel_.values[v].args) stack_.push_back(arg);
    }
  }

  // Returns the cost of computing a value from memory, counting each needed value once.
  double cone_cost(int value) const {
    double cost = 0;
    each_below(value, [&](int, const Value& here) {
      if (here.kind == Value::Kind::reduced) return false;
      cost += here.cost;
      return true;
    });
    return cost;
  }

  double elements_of(int node) const { return as_double(graph_.nodes[node].elements); }

  // Returns the time of a separate kernel for a node, estimated from the needs of one of its values here.
  double own_seconds(int value) const {
    const Value& here = kernel_.values[value];
    Work work{bytes_of(graph_, here.node), elements_of(here.node) * cone_cost(value)};
    std::vector<int> read;
    each_below(value, [&](int, const Value& below) {
      if (below.kind == Value::Kind::load) read.push_back(below.node);
      return true;
    });
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (int node : read) work.bytes += bytes_read(graph_, node, elements_of(here.node));
    return limits_.launch_seconds + work.seconds(limits_);
  }

  // A value below a broadcast is computed again at every repeated point, and a value that is reached with several maps once for each. This costs nothing as
  // long as it takes less time than the memory traffic.
  bool read_what_is_dear() {
    KernelWork here(graph_, kernel_, limits_);
    const Work now = here.all();
    if (now.ops / limits_.throughput <= now.bytes / limits_.bandwidth) return false;
    const int count = static_cast<int>(kernel_.values.size());
    std::vector<std::uint64_t> axes(count);
    std::vector<char> widened(count);  // whether a user needs the value at more points than it has
    tsl::robin_map<int, int> places;
    for (int v = 0; v < count; ++v) {
      const Value& value = kernel_.values[v];
      if (value.kind == Value::Kind::load || value.kind == Value::Kind::index) axes[v] = value.index.axes();
      for (int arg : value.args)
        if (arg >= 0) axes[v] |= axes[arg];
      for (int arg : value.args)
        if (arg >= 0 && axes[arg] != axes[v]) widened[arg] = 1;
      if (value.kind == Value::Kind::op && value.node >= 0) ++places[value.node];
    }
    std::vector<std::pair<double, int>> candidates;
    tsl::robin_set<int> met;  // all positions of a node cost the same, so the first one stands for all
    for (int v = 0; v < count; ++v) {
      const Value& value = kernel_.values[v];
      if (value.kind != Value::Kind::op || value.node < 0 || value.ready > 0 || is_root(kernel_, v) || root_maps_.contains(value.node)) continue;
      if (!widened[v] && places[value.node] < 2 && maps_[places_[v].map].values.empty()) continue;
      if (!met.insert(value.node).second) continue;
      if (const double cost = cone_cost(v); cost > kKeepCost) candidates.push_back({-cost, v});
    }
    std::sort(candidates.begin(), candidates.end());
    if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
    int best = -1;
    double largest = 0;
    for (const auto& [cost, v] : candidates) {
      const double own = own_seconds(v);
      if (now.seconds(limits_) - own <= largest) continue;
      const double saved = now.seconds(limits_) - here.reading(kernel_.values[v].node).seconds(limits_) - own;
      if (saved <= largest) continue;
      largest = saved;
      best = v;
    }
    if (best < 0) return false;
    const Value& value = kernel_.values[best];
    const int times = places[value.node];
    const double cost = cone_cost(best), own = own_seconds(best);
    read(value.node,
         {SplitReason::recompute_cost,
          times > 1
              ? fmt::format("{} is needed at {} different offsets, at cost {:.0f} each: computing it there takes {:.1f} us, storing and reading it {:.1f} us",
                            trace::name(value.op), times, cost, (largest + own) * 1e6, own * 1e6)
              : fmt::format(
                    "{:.0f} elements of cost {:.0f} are broadcast: computing them wherever they are read takes {:.1f} us, storing and reading them {:.1f} us",
                    elements_of(value.node), cost, (largest + own) * 1e6, own * 1e6)});
    return true;
  }

  bool lanes_go_along_rows() const {
    Kernel arranged = kernel_;
    arrange(graph_, arranged, limits_);
    return lanes_along_rows(graph_, arranged, limits_);
  }

  // Chooses the row values that a later pass reads from a persistent buffer, and where the buffers are. Returns false if a value is read from memory instead.
  bool choose_persistent() {
    kernel_.notes.clear();
    if (choose_staged(false)) {
      // A GPU's shared memory bounds how many rows a multiprocessor computes at once, so fewer bits are better wherever they are fewer bytes in all. The row
      // keeps its blocks: the memory that is left is for more of them.
      if (!limits_.row_bytes_are_hard || kernel_.staged.empty() || kernel_.staging.columns) return true;
      const std::int64_t wide = persistent_bytes(kernel_).hint();
      const int blocks = kernel_.staging.blocks;
      if (!choose_staged(true) || persistent_bytes(kernel_).hint() >= wide) return choose_staged(false);
      kernel_.staging.blocks = std::max(kernel_.staging.blocks, blocks);
      return true;
    }
    const std::vector<Staged> staged_values = kernel_.staged;
    const Size bytes = persistent_bytes(kernel_);
    if (!has_place() || !choose_staged(true)) return without_persistent(staged_values, bytes);
    kernel_.notes.push_back(fmt::format("stages {} a row instead of {}; the other values are computed again from the staged ones",
                                        counted(persistent_bytes(kernel_).hint(), "byte"), bytes));
    return true;
  }

  // Returns the value with the fewest bytes from which this value can be computed cheaply, if all other operands are constant over the row. An example is a
  // value that was rounded to fewer bits and then widened.
  int narrowest_source(int value) const {
    int best = value;
    double cost = 0;
    for (int v = value; kernel_.values[v].kind == Value::Kind::op;) {
      int below = -1;
      for (const int arg : kernel_.values[v].args) {
        if (arg < 0 || arg == below || !kernel_.values[arg].row) continue;
        if (below >= 0) return best;
        below = arg;
      }
      if (below < 0 || (cost += kernel_.values[v].cost) >= kKeepCost) return best;
      if (itemsize(kernel_.values[below].dtype) < itemsize(kernel_.values[best].dtype)) best = below;
      v = below;
    }
    return best;
  }

  // Chooses the row values that a later pass reads from a persistent buffer, in their own type or (`narrow`) in fewer bits. Returns whether they fit.
  bool choose_staged(bool narrow) {
    kernel_.staged.clear();
    kernel_.persistent.clear();
    kernel_.staging = {};
    const int passes = kernel_.passes();
    if (passes < 2 || has_ranges(kernel_)) return true;    // the pass of a range computes only its points
    std::vector<int> computed(kernel_.values.size(), -1);  // for each value: the first pass that computes it
    std::vector<int> last_read(kernel_.values.size(), -1);
    std::vector<char> staged(kernel_.values.size());
    for (int pass = 0; pass < passes; ++pass) {
      std::vector<int> stack;
      for (int v = 0; v < static_cast<int>(kernel_.values.size()); ++v) {
        const Value& value = kernel_.values[v];
        if (value.kind == Value::Kind::reduced && value.ready == pass + 1) stack.push_back(value.args[0]);
      }
      for (const auto& root : kernel_.roots)
        if (root_pass(kernel_, root) == pass) stack.push_back(root.value);
      for (const auto& check : kernel_.checks)
        if (kernel_.values[check.condition].ready == pass) stack.push_back(check.condition);
      std::vector<char> seen(kernel_.values.size());
      while (!stack.empty()) {
        const int v = stack.back();
        stack.pop_back();
        if (v < 0 || seen[v] || !kernel_.values[v].row) continue;
        seen[v] = 1;
        if (computed[v] >= 0 && computed[v] < pass && (staged[v] || row_cost(v, staged) >= kKeepCost)) {
          const int from = narrow && !staged[v] ? narrowest_source(v) : v;
          if (!staged[from]) kernel_.staged.push_back({from, -1});
          staged[from] = 1;
          last_read[from] = pass;
          if (from == v) continue;
        }
        if (computed[v] < 0) computed[v] = pass;
        for (int arg : kernel_.values[v].args) stack.push_back(arg);
      }
    }
    std::sort(kernel_.staged.begin(), kernel_.staged.end(),
              [&](const Staged& a, const Staged& b) { return std::pair(computed[a.value], a.value) < std::pair(computed[b.value], b.value); });
    std::vector<int> busy_until;  // for each persistent buffer: the last pass that reads its present value
    for (auto& [v, buffer] : kernel_.staged) {
      const DType dtype = kernel_.values[v].dtype;
      for (buffer = 0; buffer < static_cast<int>(busy_until.size()); ++buffer)
        if (kernel_.persistent[buffer] == dtype && busy_until[buffer] <= computed[v]) break;
      if (buffer == static_cast<int>(busy_until.size())) {
        kernel_.persistent.push_back(dtype);
        busy_until.push_back(0);
      }
      busy_until[buffer] = last_read[v];
    }
    if (kernel_.staged.empty()) return true;
    const bool columns = columns_keep(kernel_, limits_);
    const Estimating estimate(!limits_.row_bytes_are_hard);
    const int blocks = columns || lanes_go_along_rows()
                           ? blocks_of_row(limits_, persistent_bytes(kernel_), static_cast<int>(kernel_.persistent.size()), max_blocks_of_row(kernel_, limits_))
                           : 0;
    if (blocks > 0) kernel_.staging = {blocks, columns};
    return blocks > 0;
  }
  bool has_place() const { return columns_keep(kernel_, limits_) || lanes_go_along_rows(); }

  // If the buffers do not fit, a later pass computes the values again if this is cheaper than a round trip to memory. Otherwise one value is read from memory,
  // and the result is false.
  bool without_persistent(const std::vector<Staged>& staged_values, const Size& bytes) {
    const bool placed = has_place();
    const int passes = kernel_.passes(), max_blocks = max_blocks_of_row(kernel_, limits_);
    const Estimating estimate(!limits_.row_bytes_are_hard);
    const std::string places = fmt::format("{}{}", limits_.row_bytes, max_blocks > 1 ? fmt::format(" in each of {} blocks", max_blocks) : "");
    kernel_.staged.clear();
    kernel_.persistent.clear();
    const Work now = launched_work(graph_, kernel_, limits_);
    for (const auto& keep : staged_values) {
      const Value& value = kernel_.values[keep.value];
      if (value.kind != Value::Kind::op || value.node < 0 || value.ready > 0 || is_root(kernel_, keep.value) || root_maps_.contains(value.node)) continue;
      const Work with{now.bytes, now.ops + (passes - 1) * elements_of(value.node) * cone_cost(keep.value)};
      const double again = with.seconds(limits_) - now.seconds(limits_);
      const double trip = limits_.launch_seconds + 2 * bytes_of(graph_, value.node) / limits_.bandwidth;
      if (again <= trip) continue;
      const std::string space =
          placed ? fmt::format("the staged values of a row of {} need {}, but only {} fit", kernel_.row_points(), counted(bytes.hint(), "byte"), places)
                 : fmt::format("columns of {} are longer than threads can stage", kernel_.row_points());
      read(value.node, {limits_.row_bytes_are_hard ? SplitReason::shared_memory : SplitReason::row_too_long,
                        fmt::format("{}; computing the value again takes {:.1f} us, storing and reading it {:.1f} us", space, again * 1e6, trip * 1e6)});
      return false;
    }
    kernel_.notes.push_back(
        placed ? fmt::format("staging a row would need {}, but only {} fit: every pass reads the row again", counted(bytes.hint(), "byte"), places)
               : fmt::format("columns of {} are longer than threads can stage: every pass reads them again", kernel_.row_points()));
    return true;
  }

  double row_cost(int value, const std::vector<char>& staged) const {
    double cost = 0;
    each_below(value, [&](int v, const Value& here) {
      if (!here.row || (staged[v] && v != value)) return false;
      cost += here.cost;
      return true;
    });
    return cost;
  }

  bool within_limits() {
    const auto halve = [&](SplitReason reason, std::string detail) {
      const int node = halving_node(kernel_);
      if (node < 0 || root_maps_.contains(node)) return true;
      read(node, {reason, std::move(detail)});
      return false;
    };
    if (kernel_.ops() > context_.max_ops)
      return halve(SplitReason::kernel_size, fmt::format("the kernel would have {} ops; the limit is {}", kernel_.ops(), context_.max_ops));
    if (const int bytes = parameter_bytes(kernel_); bytes > limits_.parameter_bytes)
      return halve(SplitReason::parameters, fmt::format("the kernel would have {} bytes of parameters; the limit is {}", bytes, limits_.parameter_bytes));
    if (limits_.registers > 0)
      if (const int registers = estimated_registers(kernel_, 1); registers > limits_.registers)
        return halve(SplitReason::registers, fmt::format("a thread would need about {} registers at once; the limit is {}", registers, limits_.registers));
    return true;
  }

  Built result() {
    Built built;
    std::map<int, char> reported;
    for (const auto& [node, map] : gathers_) built.group.touches.push_back({node, maps_[map].map});
    for (std::size_t v = 0; v < kernel_.values.size(); ++v) {
      const Value& value = kernel_.values[v];
      if (value.kind != Value::Kind::load) continue;
      // Another kernel that reads the value at computed positions is not counted as its reader; the gather that reads it from memory is.
      if (value.args[Value::kIndexed] < 0) built.group.touches.push_back({value.node, maps_[places_[v].map].map});
      if (graph_.nodes[value.node].op == Op::data || (*context_.in_memory)[value.node] || root_maps_.contains(value.node)) continue;
      if (reported.emplace(value.node, 1).second) built.needed.push_back({value.node, reasons_.at(value.node)});
    }
    for (auto& value : kernel_.values)
      if (value.args[Value::kIndexed] >= 0 && value.kind != Value::Kind::op) value.index = with_values(value.index, now_);
    for (const auto& request : requests_) built.group.touches.push_back({request.node, request.dims});
    built.group.requests = std::move(requests_);
    std::vector<Value> values(kernel_.values.begin(), kernel_.values.end());  // releases unneeded memory
    std::swap(values, kernel_.values);
    built.group.kernel = std::exchange(kernel_, {});
    std::swap(values, kernel_.values);
    return built;
  }

  const BuildContext context_;
  const Graph& graph_;
  const Limits& limits_;
  std::vector<Request> requests_;
  Map row_dims_;  // the requested rows as expressions over the kernel's axes (which may be split further)
  Sizes row_shape_;
  Kernel kernel_;
  bool chunked_ = false, may_split_ = true;
  std::optional<SplitAxis> split_;  // the split that ended the attempt
  struct At {
    int map, guard;
  };
  std::vector<At> places_;                              // value -> the map with which it is computed, and its guard
  std::vector<int> now_;                                // value's original number -> its present one; -1: it no longer exists
  std::vector<std::pair<int, int>> gathers_;            // for each gather: the node, and the map of its result
  std::vector<int> gathered_values_;                    // check -> the value that it examines
  std::map<std::tuple<Op, ValueArgs, int>, int> made_;  // values without a node, by op and operands or by index
  int guard_ = -1;                                      // visited nodes are read where this value holds
  double share_ = 1;                                    // the share of the points where it holds, approximately
  double part_share_ = 1;                               // that of the part in which a root is stored: its operations run at all points
  bool in_range_ = false;                               // a reduction is visited that skips points of its row
  int padded_ = -1, valid_ = -1;                        // parts of this share that come from pads and from gathers
  std::vector<MapInfo> maps_;
  tsl::robin_map<Map, int, MapHash> map_ids_;
  tsl::robin_map<Place, int, PlaceHash> memo_;
  tsl::robin_map<int, int> root_maps_;
  tsl::robin_map<int, Part> parts_;  // of the roots that not every point stores
  tsl::robin_map<int, int> occurrences_;
  mutable std::vector<int> seen_, stack_;  // work space of each_below
  mutable int walk_ = 0;
  bool narrowed_ = false;            // an attempt has met too many positions
  std::map<int, Boundary> reasons_;  // nodes that are read from memory, and the reasons
  std::map<int, Boundary> forced_;   // nodes without which the kernel would grow without end
};

}  // namespace

std::string two_stage_detail(const Graph& graph, const Node& node) {
  const Node& input = graph.nodes[node.inputs[0]];
  return fmt::format(
      "reducing {} to {} would keep few workers busy; partial results of {} each are computed first", counted(element_count(input.shape).hint(), "element"),
      counted((element_count(node.shape) / std::max<Size>(node.shape[node.chunks_axis()], 1)).hint(), "result"), counted(Size(node.chunk).hint(), "element"));
}

struct GroupBuilder::Tables : Builder {
  using Builder::Builder;
};

GroupBuilder::GroupBuilder(const BuildContext& context) : context_(context), tables_(std::make_unique<Tables>(context)) {}
GroupBuilder::~GroupBuilder() = default;

Built GroupBuilder::build(std::vector<Request> requests, Sizes sizes, int parallel, const Chunks& chunks) {
  return tables_->build(std::move(requests), std::move(sizes), parallel, chunks);
}

}  // namespace sinter::fuse
