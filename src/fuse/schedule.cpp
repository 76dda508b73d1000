#include "fuse/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "fuse/costs.hpp"
#include "fuse/group.hpp"
#include "fuse/merge.hpp"
#include "fuse/rewrite.hpp"
#include "fuse/segments.hpp"
#include "sinter/errors.hpp"

namespace sinter::fuse {

using namespace costs;
namespace {

using trace::Op;

bool computes(const Node& node) { return trace::is_elementwise(node.op) || trace::is_reduction(node.op) || node.op == Op::scan; }

bool finds(const Node& node) { return node.op == Op::gather || node.op == Op::pad; }

class Scheduler {
 public:
  Scheduler(Graph graph, const Limits& limits, const Forced& forced) : limits_(limits) {
    plan_.graph = std::move(graph);
    boundaries_ = forced;
  }

  Plan run() {
    if (limits_.fuse) split_long_formulas(graph(), limits_.max_ops, boundaries_);
    else split_everywhere();
    find_reductions();
    std::set<int> work = outputs();
    if (limits_.fuse && limits_.products && limits_.product_epilogues) round_in_library();
    for (int round = 1;; ++round) {
      group(std::move(work));
      if (!limits_.fuse) break;
      if (round > 1)
        for (work = take_circles_apart(); !work.empty(); work = take_circles_apart()) group(std::move(work));
      merge();
      if (round == kMaxRounds) break;
      work = store_repeated_work();
      if (work.empty()) break;
    }
    make_steps();
    account();
    keep_refusals();
    return std::move(plan_);
  }

 private:
  const Graph& graph() const { return plan_.graph; }
  const Node& node(int id) const { return plan_.graph.nodes[id]; }

  void split_everywhere() {
    for (int id = 0; id < static_cast<int>(graph().nodes.size()); ++id)
      if (computes(node(id))) boundaries_.try_emplace(id, Boundary{SplitReason::fuse_off, "one kernel per op"});
  }

  void find_reductions() {
    reduces_.assign(graph().nodes.size(), 0);
    for (std::size_t id = 0; id < reduces_.size(); ++id) {
      const Node& n = graph().nodes[id];
      reduces_[id] = trace::is_reduction(n.op) || n.op == Op::scan;
      for (int input : n.inputs) reduces_[id] |= reduces_[input];
    }
  }

  // ---- grouping: users first, so that the values to materialise are known before their kernels are built ------------------

  // The values at a segment boundary end their kernels at slightly different ops, so a merged kernel may have more ops.
  BuildContext context(int max_ops, bool merged) const { return {&plan_.graph, &limits_, &in_memory_, &reduces_, max_ops, merged}; }

  // Returns the values that must be in memory from the start.
  std::set<int> outputs() {
    const std::size_t count = graph().nodes.size();
    in_memory_.assign(count, 0);
    of_library_.assign(count, 0);
    uses_.assign(count, 0);
    for (const Node& n : graph().nodes)
      for (int input : n.inputs) ++uses_[input];
    for (int output : graph().outputs) ++uses_[output];
    wanted_.assign(count, 0);
    done_.assign(count, 0);
    std::set<int> work;
    for (const auto& [id, boundary] : boundaries_) in_memory_[id] = 1;
    for (int output : graph().outputs) {
      const int base = alias_base(output);
      if (base != output) plan_.aliases[output] = base;
      if (node(base).op == Op::data || node(base).elements == 0) continue;  // there is nothing to compute
      wanted_[base] = 1;
      work.insert(base);
      if (computes(node(base)) || finds(node(base))) in_memory_[base] = 1;  // other kernels read it, and merging comes later
    }
    return work;
  }

  // Builds a group for each node of the work, and for each node without a group that these read.
  void group(std::set<int> work) {
    while (!work.empty()) {
      const int id = *std::prev(work.end());
      work.erase(std::prev(work.end()));
      if (std::exchange(done_[id], 1)) continue;
      if (const auto call = call_for(id)) {
        calls_.push_back(prepare_call(*call, id, work));
        in_memory_[id] = of_library_[id] = 1;
        continue;
      }
      Group group = grouped(id, work);
      in_memory_[id] = 1;
      for (const auto& value : group.kernel.values)
        if (value.kind == Value::Kind::load && node(value.node).op != Op::data && !done_[value.node]) work.insert(value.node);
      group.kernel.boundary = boundary_of(id);
      groups_.push_back(std::move(group));
    }
  }

  Group grouped(int id, std::set<int>& work) {
    for (;;) {
      Domain domain = choose_domain(builder_.context(), id);
      const bool rows = static_cast<int>(domain.sizes.size()) > domain.parallel;
      Built built = builder_.build({{id, std::move(domain.dims)}}, std::move(domain.sizes), domain.parallel, domain.chunks);
      for (const auto& needed : built.needed) {
        if (needed.node == id) throw InternalError(fmt::format("scheduler: %{} needs itself", id));
        put_in_memory(needed.node, needed.boundary, work);
      }
      // Rows were chosen for a reduction. If the reduction is read from memory after all, other axes may be better.
      const auto& values = built.group.kernel.values;
      const bool reduces =
          std::any_of(values.begin(), values.end(), [](const Value& v) { return v.kind == Value::Kind::reduced || v.kind == Value::Kind::scan; });
      if (!rows || reduces || built.needed.empty()) return std::move(built.group);
    }
  }

  Boundary boundary_of(int id) const {
    if (auto found = boundaries_.find(id); found != boundaries_.end()) return found->second;
    if (trace::is_reduction(node(id).op) && node(id).chunk != 0) return {SplitReason::parallelism, two_stage_detail(graph(), node(id))};
    if (wanted_[id]) return {SplitReason::output_wanted, "the value was asked for"};
    return {SplitReason::library_call, "a library call takes it from memory"};
  }

  void put_in_memory(int id, const Boundary& boundary, std::set<int>& work) {
    if (in_memory_[id]) throw InternalError(fmt::format("scheduler: %{} is in memory already and needed there again", id));
    in_memory_[id] = 1;
    work.insert(id);
    if (!trace::is_library(node(id).op)) boundaries_.try_emplace(id, boundary);
  }

  // A reshape (or contiguous copy) of a contiguous value in memory is the same memory.
  int alias_base(int id) {
    if (alias_.empty()) {
      alias_.resize(graph().nodes.size());
      for (std::size_t k = 0; k < alias_.size(); ++k) {
        const Node& n = graph().nodes[k];
        alias_[k] = n.op == Op::reshape || n.op == Op::contiguous ? alias_[n.inputs[0]] : static_cast<int>(k);
      }
    }
    return alias_[id];
  }

  // ---- library calls ------------------------------------------------------------------------------------------------

  // A library call that computes a value in memory: the op, and what its library does to the result before it stores it.
  struct Call {
    int op;
    std::optional<PlannedOperand> row;  // a row that is added to each row of a product
  };

  PlannedCall prepare_call(const Call& from, int result, std::set<int>& work) {
    const Node& n = node(from.op);
    PlannedCall call{n.op, n.dtype, node(result).dtype, from.row.has_value(), result, n.call, n.shape, {}, hints(n.ints)};
    const bool as_stored = reads_as_stored(n) != n.dtype || reads_bytes(n);
    for (int input : n.inputs) call.operands.push_back(operand(n.op, input, as_stored, work));
    if (from.row) {
      if (node(from.row->node).op != Op::data) work.insert(from.row->node);
      call.operands.push_back(*from.row);
    }
    return call;
  }

  // Returns the type that both operands of a product have before conversion, if a GPU's library reads that type; otherwise the product's type.
  DType reads_as_stored(const Node& product) const {
    if (!limits_.products || product.op != Op::matmul) return product.dtype;
    const DType left = before_conversion(product, 0);
    return left == before_conversion(product, 1) ? left : product.dtype;
  }
  // For products on a CPU: returns whether both operands are bytes, of either signedness, before conversion.
  bool reads_bytes(const Node& product) const {
    return limits_.library_calls && product.op == Op::matmul && before_conversion(product, 0) != product.dtype &&
           before_conversion(product, 1) != product.dtype;
  }
  // Returns the type of an operand that the library reads before conversion; otherwise the product's type.
  DType before_conversion(const Node& product, std::size_t k) const {
    const int id = product.inputs[k], from = through_views(id);
    return converts(from) && (id == from || in_place(product.op, id, true)) ? node(node(from).inputs[0]).dtype : product.dtype;
  }

  // If a product is only converted to its operands' 16-bit type, stores it in that type: this has half the bytes and gives the same bits.
  void round_in_library() {
    for (int id = 0; id < static_cast<int>(graph().nodes.size()); ++id)
      if (node(id).op == Op::cast && !in_memory_[id] && rounds_product(id)) {
        in_memory_[id] = 1;
        boundaries_.try_emplace(id, Boundary{SplitReason::library_call, fmt::format("the library rounds the product to {}", name(node(id).dtype))});
      }
  }
  bool is_products_own(int id) const {
    return node(id).op == Op::matmul && uses_[id] == 1 && !in_memory_[id] && has_library(limits_, Op::matmul, node(id).dtype);
  }
  bool rounds_product(int id) const {
    const int product = node(id).inputs[0];
    return is_products_own(product) && multiplies_into(node(id).dtype, node(product).dtype) && reads_as_stored(node(product)) == node(id).dtype;
  }

  // Returns a library op, or a product with a row added, rounding, or both, if no other node reads the values between. A kernel that adds and rounds would give
  // the same bits.
  std::optional<Call> call_for(int id) const {
    if (trace::is_library(node(id).op)) return Call{id, {}};
    if (!limits_.fuse || !limits_.products || !limits_.product_epilogues) return {};
    const DType stored = node(id).dtype;
    if (node(id).op == Op::cast && rounds_product(id)) return Call{node(id).inputs[0], {}};
    int sum = id;
    if (node(id).op == Op::cast) {
      sum = node(id).inputs[0];
      if (uses_[sum] != 1 || in_memory_[sum] || !multiplies_into(stored, node(sum).dtype)) return {};
    }
    if (node(sum).op != Op::add || node(sum).dtype != DType::float32) return {};
    for (const int k : {0, 1}) {
      const int product = node(sum).inputs[static_cast<std::size_t>(k)], other = node(sum).inputs[static_cast<std::size_t>(1 - k)];
      if (!is_products_own(product)) continue;
      if (stored != DType::float32 && reads_as_stored(node(product)) != stored) continue;
      if (auto row = row_of(other, stored)) return Call{product, std::move(row)};
    }
    return {};
  }

  // Returns the row in memory, of this type, that each row of the value repeats.
  std::optional<PlannedOperand> row_of(int id, DType stored) const {
    const auto found = affine(id, stored != node(id).dtype);
    if (!found || found->dtype != stored || !(node(found->node).op == Op::data || in_memory_[found->node])) return {};
    const std::size_t last = found->shape.size() - 1;
    for (std::size_t axis = 0; axis < last; ++axis)
      if (!(found->shape[axis] == 1 || found->strides[axis] == 0)) return {};
    if (!(found->strides[last] == 1)) return {};
    return PlannedOperand{found->node, stored, found->offset, {found->shape[last]}, {1}};
  }
  int through_views(int id) const {
    while (trace::is_view(node(id).op) && !in_memory_[id]) id = node(id).inputs[0];
    return id;
  }
  bool converts(int id) const {
    if (node(id).op != Op::cast || in_memory_[id]) return false;
    const DType stored = node(node(id).inputs[0]).dtype;
    return limits_.library_calls ? multiplies_bytes_into(stored, node(id).dtype) : multiplies_into(stored, node(id).dtype);
  }

  // Returns the operand as strides over memory, if only views are between and the library reads such strides. Otherwise the operand, or its value before
  // conversion, is materialised.
  PlannedOperand operand(Op op, int id, bool as_stored, std::set<int>& work) {
    if (const auto found = in_place(op, id, as_stored)) {
      need_for_library(op, found->node, work);
      return *found;
    }
    if (as_stored && converts(id)) id = node(id).inputs[0];
    need_for_library(op, id, work);
    return {id, node(id).dtype, 0, node(id).shape, row_major_strides(node(id).shape)};
  }

  std::optional<PlannedOperand> in_place(Op op, int id, bool as_stored) const {
    auto found = affine(id, as_stored);
    if (found && !reads_layout(op, found->shape, found->strides)) found.reset();
    return found;
  }

  std::optional<PlannedOperand> affine(int id, bool as_stored) const {
    const Sizes shape = node(id).shape;
    Map map = identity_map(shape.size());
    int base = id;
    while ((trace::is_view(node(base).op) && !in_memory_[base]) || (as_stored && converts(base))) {
      const int input = node(base).inputs[0];
      if (trace::is_view(node(base).op)) map = through(node(base), node(input).shape, map, shape, false).map;
      base = input;
    }
    const IndexExpr flat = linear(map, node(base).shape);
    Sizes strides(shape.size(), 0);
    bool affine = true;
    for (const auto& term : flat.terms()) {
      if (term.axis < 0) affine = false;
      else strides[term.axis] = term.coeff;
    }
    const bool in_memory = node(base).op == Op::data || trace::is_library(node(base).op) || in_memory_[base] || computes(node(base));
    if (!affine || !in_memory) return std::nullopt;
    return PlannedOperand{base, node(base).dtype, flat.constant(), shape, strides};
  }

  void need_for_library(Op op, int id, std::set<int>& work) {
    if (node(id).op == Op::data) return;
    if (!in_memory_[id]) put_in_memory(id, {SplitReason::library_call, fmt::format("{} takes its operands from memory", trace::name(op))}, work);
    work.insert(id);  // it may have been split off before any kernel needed it
  }

  static Sizes row_major_strides(const Sizes& shape) {
    Sizes strides(shape.size(), 1);
    for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
    return strides;
  }

  // ---- merging ------------------------------------------------------------------------------------------------------

  std::vector<FixedStep> fixed_steps() const {
    std::vector<FixedStep> calls;
    for (const auto& call : calls_) {
      FixedStep fixed{{}, call.node};
      if (limits_.overlap && starts_exchange(call.op)) fixed.exchange = FixedStep::Exchange::starts;
      if (limits_.overlap && finishes_exchange(call.op)) fixed.exchange = FixedStep::Exchange::finishes;
      for (const auto& operand : call.operands) fixed.reads.push_back(operand.node);
      calls.push_back(std::move(fixed));
    }
    return calls;
  }

  void merge() {
    const std::vector<FixedStep> calls = fixed_steps();
    merge_groups({&merged_builder_, &in_memory_, &wanted_, &calls, &refused_}, groups_);
  }

  bool rounds_in_order(int id) const {
    const Node& n = node(id);
    return is_floating(n.dtype) && (n.op == Op::reduce_sum || n.op == Op::reduce_prod || n.op == Op::scan);
  }

  // Materialises a value that several kernels compute for themselves, if this is cheaper. If such values form a chain, only the last one is examined, because
  // the others are then computed once. The groups that computed it are dissolved; all other groups are final. Returns the nodes that the dissolved groups
  // wrote.
  std::set<int> store_repeated_work() {
    struct Computed {
      int node;
      std::size_t group;
    };
    std::vector<Computed> computed;                          // values that a group computes and does not write
    std::vector<std::size_t> written(graph().nodes.size());  // number of the last group that writes each node, from 1 on
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const auto& root : groups_[g].kernel.roots) written[root.node] = g + 1;
      for (const auto& value : groups_[g].kernel.values)
        if (computes_node(value) && written[value.node] != g + 1) computed.push_back({value.node, g});
    }
    const auto order = [](const Computed& c) { return std::pair(c.node, c.group); };
    std::sort(computed.begin(), computed.end(), [&](const Computed& x, const Computed& y) { return order(x) < order(y); });
    computed.erase(std::unique(computed.begin(), computed.end(), [&](const Computed& x, const Computed& y) { return order(x) == order(y); }), computed.end());
    std::vector<int> times(graph().nodes.size());
    for (const auto& [id, group] : computed) ++times[id];
    for (int& count : times) count = count < 2 ? 0 : count;
    // If the order of a sum belongs to its kernel, two kernels may compute different bits. No element might then equal the maximum that another kernel found.
    std::vector<char> ordered(graph().nodes.size());
    for (const auto& [id, group] : computed) ordered[id] = !limits_.one_order && rounds_in_order(id) && (times[id] > 0 || written[id] > 0);
    for (const auto& [id, reason] : boundaries_) times[id] = 0;
    std::vector<char> last(graph().nodes.size());
    for (const auto& group : groups_)
      for (const auto& value : group.kernel.values)
        for (int arg : value.args) {
          const int below = arg < 0 ? -1 : group.kernel.values[arg].node;
          if (below >= 0 && times[below] > (value.node < 0 ? 0 : times[value.node])) last[below] = 1;
        }
    std::vector<char> apart(groups_.size());
    std::vector<std::unique_ptr<KernelWork>> works(groups_.size());
    const auto work_of = [&](std::size_t g) -> KernelWork& {
      if (!works[g]) works[g] = std::make_unique<KernelWork>(graph(), groups_[g].kernel, limits_);
      return *works[g];
    };
    for (auto end = computed.end(); end != computed.begin();) {  // the groups of each node, the last node first
      const int id = std::prev(end)->node;
      auto begin = end;
      while (begin != computed.begin() && std::prev(begin)->node == id) --begin;
      const auto users = std::span(begin, end);
      end = begin;
      if (ordered[id]) {
        boundaries_.try_emplace(id, Boundary{SplitReason::recompute_cost, "two kernels would sum it in different orders"});
        for (const auto& user : users) apart[user.group] = 1;
        continue;
      }
      if (!last[id] || std::all_of(users.begin(), users.end(), [&](const Computed& user) { return groups_[user.group].settled; })) continue;
      double total_seconds = 0;
      for (const auto& user : users) total_seconds += work_of(user.group).all().seconds(limits_);
      // Returns the time and the bytes that the users save if they read the node. One kernel continues to compute it, and one kernel may compute more.
      const auto saved_by = [&](int read) {
        double seconds = 0, bytes = 0, smallest = 0, fewest = 0;
        for (const auto& user : users) {
          KernelWork& kernel = work_of(user.group);
          const Work all = kernel.all(), rest = kernel.reading(read);
          const double here = all.seconds(limits_) - rest.seconds(limits_), fewer = all.bytes - rest.bytes;
          const bool first = user.group == users.front().group;
          seconds += here;
          bytes += fewer;
          smallest = first ? here : std::min(smallest, here);
          fewest = first ? fewer : std::min(fewest, fewer);
        }
        return std::pair(seconds - smallest, bytes - fewest);
      };
      const auto trip = [&](int read) { return limits_.launch_seconds + bytes_of(read) / limits_.bandwidth; };
      // The operand of a conversion to a longer type has fewer bytes, so storing it may pay even if storing the result does not.
      const int operand = lengthens(graph(), node(id)) ? node(id).inputs[0] : id;
      const int stored = computes(node(operand)) && !in_memory_[operand] ? operand : id;
      if (total_seconds <= trip(stored)) continue;
      double saved = saved_by(id).first;
      if (saved <= trip(id)) {
        const auto [seconds, bytes] = saved_by(stored);
        if (stored == id || seconds <= trip(stored) || bytes <= bytes_of(stored)) continue;
        saved = seconds;
      }
      boundaries_[stored] = {SplitReason::recompute_cost,
                             fmt::format("{} kernels would each compute it: computing it again takes {:.1f} us, storing and reading it {:.1f} us", users.size(),
                                         saved * 1e6, trip(stored) * 1e6)};
      for (const auto& user : users) apart[user.group] = 1;
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) groups_[g].settled = !apart[g];
    return take_apart(apart);
  }

  // After more values were materialised, a final group with several results may read a value that depends on another of its results. Such groups depend on each
  // other and are dissolved. Groups with one result cannot depend on themselves.
  std::set<int> take_circles_apart() {
    const std::vector<FixedStep> calls = fixed_steps();
    const std::vector<int> order = step_order(graph(), groups_, calls);
    if (order.size() == groups_.size() + calls.size()) return {};
    std::vector<char> apart(groups_.size());
    for (std::size_t g = 0; g < groups_.size(); ++g) apart[g] = groups_[g].kernel.roots.size() > 1;
    for (const int step : order)
      if (step >= 0) apart[static_cast<std::size_t>(step)] = 0;
    return take_apart(apart);
  }

  // Returns the nodes that the dissolved groups wrote, which need new groups.
  std::set<int> take_apart(const std::vector<char>& apart) {
    std::set<int> work;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!apart[g]) continue;
      for (const auto& value : groups_[g].kernel.values)  // nodes that were no longer stored after merging become separate, too
        if (computes_node(value) && boundaries_.contains(value.node)) in_memory_[value.node] = 1;
      for (const auto& root : groups_[g].kernel.roots) {
        done_[root.node] = 0;
        work.insert(root.node);
      }
      groups_[g] = {};
    }
    std::erase_if(groups_, [](const Group& group) { return group.requests.empty(); });
    if (!work.empty()) forget_hidden(work);
    return work;
  }

  // A value that is no longer stored after merging is not available for new kernels. Their groups compute it, or another group computes it once more.
  void forget_hidden(const std::set<int>& work) {
    std::vector<char> there(graph().nodes.size());
    for (const Group& group : groups_)
      for (const auto& root : group.kernel.roots) there[root.node] = 1;
    for (int id = 0; id < static_cast<int>(there.size()); ++id) {
      if (!done_[id] || there[id] || of_library_[id]) continue;
      done_[id] = 0;
      if (!boundaries_.contains(id) && !work.contains(id)) in_memory_[id] = 0;
    }
  }

  // ---- the plan -----------------------------------------------------------------------------------------------------

  void make_steps() {
    plan_.steps.reserve(groups_.size() + calls_.size());
    const std::vector<int> order = step_order(graph(), groups_, fixed_steps());
    if (order.size() != groups_.size() + calls_.size()) throw InternalError("scheduler: the steps depend on each other in a circle");
    for (const int number : order) {
      Step& step = plan_.steps.emplace_back();
      if (number < 0) {
        step.kind = Step::Kind::library;
        step.call = std::move(calls_[static_cast<std::size_t>(-1 - number)]);
        step.kernel.boundary = {SplitReason::library_call, fmt::format("a library computes {}", trace::name(step.call.op))};
        continue;
      }
      step.kernel = std::move(groups_[static_cast<std::size_t>(number)].kernel);
      for (const auto& root : step.kernel.roots)  // each value in memory has a split reason
        if (const auto boundary = boundaries_.find(root.node); boundary != boundaries_.end() && step.kernel.roots.size() > 1)
          step.kernel.notes.push_back(
              fmt::format("stores {} {}; split reason: {}", trace::name(node(root.node).op), to_string(node(root.node).shape), to_string(boundary->second)));
    }
    std::vector<Group>().swap(groups_);
  }

  double bytes_of(int id) const { return fuse::bytes_of(graph(), id); }

  // Counts the bytes of a library call and of the epilogue in its library: the values between are not moved.
  void account_call(Step& step) {
    step.computes = {step.call.node};
    while (!trace::is_library(node(step.computes.back()).op)) step.computes.push_back(product_below(step.computes.back()));
    if (starts_exchange(step.call.op)) {  // the elements that are sent to other ranks, or received from all places
      step.moved.add(1, step.call.ints[2]);
      return;
    }
    step.moved = traffic_of(graph(), step.call.node);
    if (finishes_exchange(step.call.op)) return;
    std::map<int, Traffic> parts;  // of each node that is read
    for (const PlannedOperand& operand : step.call.operands) {
      Size part = 1;
      for (std::size_t axis = 0; axis < operand.shape.size(); ++axis)
        if (!operand.strides[axis].same(0)) part *= operand.shape[axis];
      parts[operand.node].add(static_cast<double>(itemsize(operand.dtype)), part);
    }
    for (auto& [id, part] : parts) step.moved.add_reading(graph(), id, std::move(part));
    if (const int id = step.computes.back(); !limits_.library_calls && by_digits(node(id).op) && has_library(limits_, node(id).op, node(id).dtype)) {
      const Size& items = node(node(id).inputs[0]).elements;
      step.passes.add(bytes_by_digits(todays(step.call)) / std::max(as_double(items), 1.0), items);
      step.moved.add(step.passes);
    }
  }
  int product_below(int id) const {
    const auto& inputs = node(id).inputs;
    const bool second = inputs.size() == 2 && node(inputs[0]).op != Op::matmul;
    return inputs[second ? 1 : 0];
  }

  void account() {
    for (Step& step : plan_.steps) {
      if (step.kind == Step::Kind::library) {
        account_call(step);
        continue;
      }
      step.moved = traffic(graph(), step.kernel, limits_);
      for (const auto& value : step.kernel.values)
        if (value.kind != Value::Kind::load && value.node >= 0) step.computes.push_back(value.node);
    }
  }

  // Keeps the refused merges between steps of the plan. A node of a refused merge may now be in another kernel.
  void keep_refusals() {
    std::vector<int> step_of(graph().nodes.size(), -1);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      for (const int id : plan_.steps[s].computes) step_of[id] = static_cast<int>(s);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      for (const int id : plan_.steps[s].writes()) step_of[id] = static_cast<int>(s);
    std::map<std::pair<int, int>, Boundary> last;
    for (Refusal& refusal : refused_) {
      const auto [a, b] = std::minmax(step_of[refusal.a], step_of[refusal.b]);
      if (a >= 0 && a != b) last[{a, b}] = std::move(refusal.why);
    }
    for (auto& [pair, why] : last) plan_.refused.push_back({pair.first, pair.second, std::move(why)});
  }

  Limits limits_;
  Forced boundaries_;
  Plan plan_;
  std::vector<char> in_memory_, wanted_, reduces_, done_;
  std::vector<char> of_library_;  // computed by a call
  std::vector<int> uses_;         // as an operand or an output
  std::vector<int> alias_;
  std::vector<Group> groups_;
  std::vector<PlannedCall> calls_;
  std::vector<Refusal> refused_;
  GroupBuilder builder_{context(limits_.max_ops, false)}, merged_builder_{context(limits_.max_ops + limits_.max_ops / 2, true)};
};

}  // namespace

Plan schedule(Graph prepared, const Limits& limits, const Forced& forced) {
  const IndexSpace::Scope scope(std::make_shared<IndexSpace>());
  return Scheduler(std::move(prepared), limits, forced).run();
}

Graph prepare(const Graph& recorded, const Limits& limits) {
  Graph graph = trace::symbolic(recorded);
  if (limits.fuse) graph = move_views_into_products(std::move(graph), limits);
  if (!limits.library_calls) graph = expand_library_calls(std::move(graph), limits);
  graph = merge_dependent_reductions(drop_unit_reductions(std::move(graph)), limits);
  graph = split_scans(std::move(graph), limits);
  return limits.one_order ? split_reductions(std::move(graph), limits) : fill_multiprocessors(std::move(graph), limits);
}

std::vector<int> Step::writes() const {
  if (kind == Kind::library) return {call.node};
  std::vector<int> nodes;
  for (const auto& root : kernel.roots) nodes.push_back(root.node);
  return nodes;
}

std::vector<int> Step::reads() const {
  std::vector<int> nodes;
  if (kind == Kind::library)
    for (const auto& operand : call.operands) nodes.push_back(operand.node);
  for (const auto& value : kernel.values)
    if (value.kind == Value::Kind::load) nodes.push_back(value.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace sinter::fuse
