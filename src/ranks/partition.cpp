#include "ranks/partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.hpp"
#include "ranks/rules.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/library.hpp"

namespace sinter::ranks {

using trace::Op;
using trace::Recorded;
using trace::RecordedPtr;
using trace::Site;

namespace {

Site site_of(const Recorded& node) { return {node.called, node.where}; }

std::int64_t elements_of(const Block& block) { return element_count(shape_of(block)); }

Block hull(Block a, const Block& b) {
  if (is_empty(a)) return b;
  if (is_empty(b)) return a;
  for (std::size_t k = 0; k < a.size(); ++k) a[k] = {std::min(a[k].begin, b[k].begin), std::max(a[k].end, b[k].end)};
  return a;
}

/// Returns whether the bits of the result depend on the order in which a kernel combines elements.
bool has_order(const Recorded& node) { return is_floating(node.dtype) && (trace::is_reduction(node.op) || node.op == Op::scan); }

/// Returns the elements `wanted` of a node that has the elements `has`.
RecordedPtr part_within(const Site& site, const RecordedPtr& node, const Block& has, const Block& wanted) {
  std::vector<std::int64_t> start_step;
  for (std::size_t k = 0; k < has.size(); ++k) start_step.insert(start_step.end(), {is_empty(wanted) ? 0 : wanted[k].begin - has[k].begin, 1});
  return trace::make_slice(site, node, std::move(start_step), shape_of(wanted));
}

trace::Operands as_operands(const std::vector<RecordedPtr>& nodes) {
  const auto copy = [&](std::size_t k) { return RecordedPtr(nodes[k]); };
  switch (nodes.size()) {
    case 1: return trace::Operands(copy(0));
    case 2: return trace::Operands(copy(0), copy(1));
    case 3: return trace::Operands(copy(0), copy(1), copy(2));
    default: return trace::Operands(copy(0), copy(1), copy(2), copy(3));
  }
}

Wanted blocks_of(const Shape& shape, const Sharding& sharding) {
  return [shape, sharding](const Part& part) { return block_of(shape, sharding, part); };
}

/// A value that has parts: a node of the global graph, or partial results, which are a tensor with an axis of pieces.
struct Source {
  Site site;
  Shape shape;
  DType dtype{};
  Sharding sharding;
  RecordedPtr part;
  Wanted computed = {};  // the elements that `part` has, if the sharding does not say so
  Block block(const Place& place) const { return computed ? computed(part_of(sharding, place)) : block_of(shape, sharding, place); }
};

/// Records the node's op over parts. Returns `block` of its result, computed from the blocks `wanted` of its operands.
RecordedPtr computed(const Recorded& node, const Block& block, const std::vector<RecordedPtr>& parts, const std::vector<Block>& wanted) {
  const Site site = site_of(node);
  const Shape shape = shape_of(block);
  if (element_count(shape) == 0) return trace::make_constant(site, trace::make_scalar_int(node.dtype, 0), shape);
  const std::vector<std::int64_t>& ints = node.ints;
  if (node.op == Op::cast) return trace::make_cast(site, parts[0], node.dtype);
  if (trace::is_elementwise(node.op)) return trace::make_elementwise(site, node.op, as_operands(parts));
  if (trace::is_reduction(node.op)) return trace::make_reduction(site, node.op, parts[0], ints);
  switch (node.op) {
    case Op::contiguous: return parts[0];
    case Op::reshape: return trace::make_reshape(site, parts[0], shape);
    case Op::permute: return trace::make_permute(site, parts[0], ints);
    case Op::broadcast: return trace::make_broadcast(site, parts[0], shape);
    case Op::slice: {
      std::vector<std::int64_t> start_step = ints;
      for (std::size_t k = 0; k < block.size(); ++k) start_step[2 * k] += block[k].begin * ints[2 * k + 1] - wanted[0][k].begin;
      return trace::make_slice(site, parts[0], std::move(start_step), shape);
    }
    case Op::windows: {
      const auto axis = static_cast<std::size_t>(ints[0]);
      return trace::make_windows(site, parts[0], axis, shape[axis], ints[1], shape.back(), ints[2]);
    }
    case Op::pad: {
      if (is_empty(wanted[0])) return parts[1];
      std::vector<std::int64_t> around;
      for (std::size_t k = 0; k < block.size(); ++k) {
        const std::int64_t begin = wanted[0][k].begin + ints[2 * k], end = wanted[0][k].end + ints[2 * k];
        around.insert(around.end(), {begin - block[k].begin, block[k].end - end});
      }
      return trace::make_pad(site, parts[0], parts[1], std::move(around));
    }
    case Op::gather: return trace::make_gather(site, parts[0], parts[1], ints[0]);
    case Op::scan: return trace::make_scan(site, static_cast<Op>(ints[1]), parts[0], ints[0]);
    case Op::conv: {
      if (is_empty(wanted[0])) return trace::make_constant(site, trace::make_scalar_int(node.dtype, 0), shape);
      trace::Convolution how = trace::Convolution::of(ints);
      for (std::size_t k = 0; k < how.axes(); ++k) {
        if (block[k + 2].size() == node.shape[k + 2]) continue;  // the block has every position of this axis, so it reads the whole operand with its padding
        const std::int64_t first = block[k + 2].begin * how.stride[k] - how.before[k];
        const std::int64_t taps = wanted[1][k + 2].size();
        const std::int64_t last = (block[k + 2].end - 1) * how.stride[k] - how.before[k] + (taps - 1) * how.dilation[k];
        how.before[k] = wanted[0][k + 2].begin - first;
        how.after[k] = last + 1 - wanted[0][k + 2].end;
      }
      return trace::make_library(site, node.op, as_operands(parts), how.ints());
    }
    default: return trace::make_library(site, node.op, as_operands(parts), ints);
  }
}

}  // namespace

class Partition::Pass {
 public:
  Pass(Partition& partition, const Recording& recording, const Place& place, bool frozen)
      : out_(partition),
        mesh_(recording.mesh_),
        place_(place),
        number_(static_cast<std::size_t>(mesh_->number_of(place))),
        frozen_(frozen),
        recording_(recording),
        nodes_(recording.nodes_),
        inputs_(recording.inputs_),
        carried_(nodes_.size()),
        wants_(nodes_.size()) {
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const RecordedPtr& node = nodes_[k];
      const Sharding sharding = node->spread ? node->spread->sharding : whole(*node);
      for (const std::int64_t size : shape_of(block_of(node->shape, sharding, place_))) sizes_ = mix(sizes_, static_cast<std::uint64_t>(size));
      sources_.push_back({site_of(*node), node->shape, node->dtype, sharding, nullptr});
      if (node->spread && !inputs_[k].empty()) carried_[k] = carry(*node, operands_of(inputs_[k], site_of(*node)), &node->spread->sharding);
    }
    const std::vector<RecordedPtr>& roots = recording.roots_;
    std::unordered_set<const Recorded*> asked;
    for (const RecordedPtr& root : roots) asked.insert(root.get());
    for (std::size_t k = nodes_.size(); k-- > 0;) {
      if (asked.contains(nodes_[k].get()) || !compute_where_wanted(k)) bring_together(k);
      note_wants(k);
    }
    for (std::size_t k = 0; k < nodes_.size(); ++k) sources_[k].part = part_of_node(k);
    for (const RecordedPtr& root : roots) out_.local_.push_back(sources_[static_cast<std::size_t>(recording_.number_of(root))].part);
    if (!started_) started_ = linked(Site{"ranks", {}}, Op::send_part, nothing(DType::int64, Shape{1}), nullptr, Exchanges::no_exchange(sizes_));
    if (finished_) out_.local_.push_back(finished_);
    if (started_ != finished_start_) out_.local_.push_back(started_);
  }

 private:
  Sharding whole(const Recorded& node) const { return {mesh_, std::vector<int>(node.shape.size(), kWhole)}; }

  // --- elements from other ranks

  bool is_at_hand(const Source& source, const Sharding& to, const Wanted& wanted) const {
    for (const int axis : source.sharding.axes)
      if (axis != kWhole && to.along(static_cast<std::size_t>(axis)) < 0) return false;
    const std::vector<Part> parts = all_parts(to);
    return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
      const Block block = wanted(part);
      return is_empty(block) || intersection(block, block_of(source.shape, source.sharding, part)) == block;
    });
  }

  // Elements of one value that several users need with the same sharding. One exchange moves them for all users if that moves no more than one exchange per
  // user.
  struct Bringing {
    std::vector<int> axes;  // axes of the mesh, in order
    std::vector<Wanted> wanted;
    RecordedPtr part;  // null until the exchange is recorded
    Block all(const Part& of) const {
      Block block = wanted[0](of);
      for (std::size_t k = 1; k < wanted.size(); ++k) block = hull(std::move(block), wanted[k](of));
      return block;
    }
  };

  static std::vector<int> used_axes(const Sharding& to) {
    std::vector<int> axes = to.axes;
    std::erase(axes, kWhole);
    std::sort(axes.begin(), axes.end());
    return axes;
  }

  /// Returns whether parts of `to` are sharded along the same axes as the source's parts, so that a rank already has most of the elements that it needs.
  static bool lies_beside(const Sharding& from, const Sharding& to) {
    for (std::size_t axis = 0; axis < from.axes.size(); ++axis)
      if (from.axes[axis] != kWhole && (axis >= to.axes.size() || to.axes[axis] != from.axes[axis])) return false;
    return used_axes(from) == used_axes(to);
  }

  /// The purpose for which a node needs an operand.
  struct Want {
    std::size_t node = 0, operand = 0;
    Sharding work;
    Wanted elements;
  };

  void note_wants(std::size_t k) {
    const Carried& carried = carried_[k];
    for (std::size_t i = 0; i < carried.wanted.size(); ++i)
      if (const int found = recording_.number_of(inputs_[k][i]); found >= 0)
        wants_[static_cast<std::size_t>(found)].push_back({k, i, carried.work(), carried.wanted[i]});
  }

  bool all_at_hand(std::size_t k) const {
    return std::all_of(wants_[k].begin(), wants_[k].end(), [&](const Want& want) { return is_at_hand(sources_[k], want.work, want.elements); });
  }

  /// Users may need elements outside of their place's part of a value. If the value is cheap, each place computes these elements itself, and elements of the
  /// operands are exchanged instead, which other values often need, too. So a step of a stencil has one exchange, followed by one kernel.
  bool compute_where_wanted(std::size_t k) {
    Carried& carried = carried_[k];
    if (carried.needs.empty() || wants_[k].empty() || all_at_hand(k)) return false;
    const auto axes = used_axes(carried.result);
    for (const Want& want : wants_[k])
      if (used_axes(want.work) != axes) return false;
    const auto blocks = std::make_shared<std::map<Part, Block>>();
    std::int64_t limit = 0, all = 0;
    for (const Part& part : all_parts(carried.result)) {
      constexpr std::int64_t kFew = 4096;  // computing this many elements takes less time than sending them
      const std::int64_t own = elements_of(block_of(nodes_[k]->shape, carried.result, part));
      Block& block = (*blocks)[part] = wants_[k][0].elements(part);
      for (std::size_t i = 1; i < wants_[k].size(); ++i) block = hull(std::move(block), wants_[k][i].elements(part));
      limit += own + own / 4 + kFew;
      all += elements_of(block);
    }
    if (all > limit) return false;
    sources_[k].computed = [blocks](const Part& part) { return blocks->at(part); };
    for (std::size_t i = 0; i < carried.needs.size(); ++i)
      carried.wanted[i] = [blocks, need = carried.needs[i]](const Part& part) { return need(blocks->at(part)); };
    for (const std::int64_t size : shape_of(sources_[k].block(place_))) sizes_ = mix(sizes_, static_cast<std::uint64_t>(size));
    return true;
  }

  /// Groups the elements that users need and that a place lacks, so that one exchange moves those of a group.
  void bring_together(std::size_t k) {
    std::vector<Bringing>& all = bringing_[k];
    for (const Want& want : wants_[k]) {
      if (is_at_hand(sources_[k], want.work, want.elements)) continue;
      const auto axes = used_axes(want.work);
      const std::vector<Part> parts = all_parts(want.work);
      const auto joins = [&](const Bringing& other) {
        return other.axes == axes && std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
                 const Block before = other.all(part), more = want.elements(part);
                 return elements_of(hull(before, more)) <= elements_of(before) + elements_of(more);
               });
      };
      auto group = std::find_if(all.begin(), all.end(), joins);
      if (group == all.end()) group = all.insert(all.end(), Bringing{axes, {}, {}});
      group->wanted.push_back(want.elements);
      places_[{want.node, want.operand}] = static_cast<std::size_t>(group - all.begin());
    }
  }

  /// Returns the elements of operand i that node k needs.
  RecordedPtr operand_part(std::size_t k, std::size_t i) {
    const RecordedPtr& input = inputs_[k][i];
    const Sharding work = carried_[k].work();
    const Block wanted = carried_[k].wanted[i](part_of(work, place_));
    const Site site = site_of(*nodes_[k]);
    const int found = recording_.number_of(input);
    if (found < 0) return part_within(site, input, block_of(input->shape, whole(*input), {}), wanted);
    const auto number = static_cast<std::size_t>(found);
    const Source& source = sources_[number];
    const auto place = places_.find({k, i});
    if (place == places_.end()) return part_within(site, source.part, source.block(place_), wanted);
    Bringing& bringing = bringing_[number][place->second];
    const Wanted all = [bringing](const Part& part) { return bringing.all(part); };
    if (!bringing.part) bringing.part = lies_beside(source.sharding, work) ? with_rims(source, work, all, site) : brought(source, work, all, site);
    return part_within(site, bringing.part, all(part_of(work, place_)), wanted);
  }

  /// Returns a part extended by elements of its neighbours; only these elements are sent. The needed elements are a middle, which the place has, and a lower
  /// and an upper rim along each sharded axis. The rims of a later axis cover only the middle of the earlier axes.
  RecordedPtr with_rims(const Source& source, const Sharding& to, const Wanted& wanted, const Site& site) {
    enum Side : std::uint8_t { lower, middle, upper };
    const auto side = [source_shape = source.shape, from = source.sharding, wanted](const Part& part, std::size_t axis, Side which) {
      Block block = wanted(part);
      const Block own = block_of(source_shape, from, part);
      for (std::size_t k = 0; k < axis; ++k) block[k] = intersection(block[k], own[k]);
      if (which == lower) block[axis] = intersection(block[axis], Range{0, own[axis].begin});
      else if (which == upper) block[axis] = intersection(block[axis], Range{own[axis].end, source_shape[axis]});
      else block[axis] = intersection(block[axis], own[axis]);
      return block;
    };
    const std::vector<Part> all = all_parts(to);
    std::vector<std::array<RecordedPtr, 3>> pieces(source.shape.size());
    for (std::size_t axis = 0; axis < pieces.size(); ++axis) {
      if (source.sharding.axes[axis] == kWhole) continue;
      for (const Side which : {lower, upper}) {
        const Wanted rim = [side, axis, which](const Part& part) { return side(part, axis, which); };
        if (!std::all_of(all.begin(), all.end(), [&](const Part& part) { return is_empty(rim(part)); }))
          pieces[axis][which] = brought(source, to, rim, site, false, "halo");
      }
    }
    const trace::Scope scope(site.op, site.where);
    const Block middles = side(part_of(to, place_), pieces.size() - 1, middle);
    RecordedPtr part = part_within(site, source.part, block_of(source.shape, source.sharding, place_), middles);
    for (std::size_t axis = pieces.size(); axis-- > 0;) {
      pieces[axis][middle] = part;
      std::vector<Tensor> joined;
      for (const RecordedPtr& piece : pieces[axis])
        if (piece && element_count(piece->shape) > 0) joined.push_back(Tensor(piece));
      if (joined.size() > 1) part = concatenate(joined, static_cast<std::int64_t>(axis), site.where).node();
      else if (joined.size() == 1) part = joined[0].node();
    }
    return part;
  }

  /// Records an exchange: sends elements of the place's part, and receives the elements that the place needs.
  RecordedPtr brought(const Source& source, const Sharding& to, const Wanted& wanted, const Site& site, bool from_first = false,
                      const char* kind = "all_to_all") {
    if (from_first) kind = "broadcast_from";
    if (used_axes(to).size() < used_axes(source.sharding).size())
      kind = elements_of(wanted(all_parts(to)[0])) < element_count(source.shape) ? "broadcast_from" : "all_gather";
    const std::size_t number = out_.exchanges_.add({source.shape, itemsize(source.dtype), source.sharding, to, wanted, site, kind, from_first});
    started_ = linked(site, Op::send_part, element_count(source.part->shape) > 0 ? source.part : nothing(source.dtype, Shape{1}), started_,
                      out_.exchanges_.attributes(number, Exchanges::Call::start, 1, sizes_));
    const Shape shape = shape_of(wanted(part_of(to, place_)));
    if (element_count(shape) == 0) return nothing(source.dtype, shape);
    finished_ = linked(site, Op::receive_part, started_, finished_, out_.exchanges_.attributes(number, Exchanges::Call::finish, element_count(shape), sizes_));
    finished_start_ = started_;
    return trace::make_reshape(site, finished_, shape);
  }

  /// Returns a call that runs after `before`, if there is one: an operand that it does not read.
  RecordedPtr linked(const Site& site, Op op, const RecordedPtr& operand, const RecordedPtr& before, std::vector<std::int64_t> ints) const {
    RecordedPtr call = trace::make_library(site, op, trace::Operands(RecordedPtr(operand), RecordedPtr(before ? before : operand)), std::move(ints));
    if (frozen_) call->symbolic = true;
    return call;
  }
  static RecordedPtr nothing(DType dtype, Shape shape) { return trace::make_constant(Site{"ranks", {}}, trace::make_scalar_int(dtype, 0), std::move(shape)); }

  // --- the operations

  RecordedPtr part_of_node(std::size_t k) {
    const RecordedPtr& node = nodes_[k];
    if (!node->spread) return copied(k);
    const Carried& carried = carried_[k];
    if (carried.wanted.empty()) return node->spread->parts[number_];
    if (node->op == Op::scan && carried.result.axes[static_cast<std::size_t>(node->ints[0])] != kWhole) return settled(k, scanned(k));
    std::vector<RecordedPtr> operands;
    std::vector<Block> wanted;
    for (std::size_t i = 0; i < carried.wanted.size(); ++i) {
      operands.push_back(operand_part(k, i));
      wanted.push_back(carried.wanted[i](part_of(carried.work(), place_)));
    }
    const RecordedPtr part = computed(*node, sources_[k].block(place_), operands, wanted);
    return carried.combined.empty() ? settled(k, part) : combined(k, part);
  }

  /// Returns whether several places compute the same part.
  bool repeats(const Sharding& work) const {
    for (std::size_t axis = 0; axis < mesh_->count(); ++axis)
      if (mesh_->axes[axis].pieces > 1 && work.along(axis) < 0) return true;
    return false;
  }

  /// The order in which a kernel sums depends on its other operations, and so on the place. If several places compute a sum, one of them sends it to all.
  RecordedPtr settled(std::size_t k, const RecordedPtr& part) {
    const Sharding& lies = carried_[k].result;
    if (!has_order(*nodes_[k]) || !repeats(carried_[k].work())) return part;
    return brought({site_of(*nodes_[k]), nodes_[k]->shape, nodes_[k]->dtype, lies, part}, lies, blocks_of(nodes_[k]->shape, lies), site_of(*nodes_[k]), true);
  }

  /// Copies an unsharded value that is not evaluated, only for this place, because the plans of one place must not depend on values that another place has
  /// computed.
  RecordedPtr copied(std::size_t k) {
    const Recorded& node = *nodes_[k];
    std::vector<RecordedPtr> operands;
    for (const RecordedPtr& input : inputs_[k]) {
      const int found = recording_.number_of(input);
      operands.push_back(found < 0 ? input : sources_[static_cast<std::size_t>(found)].part);
    }
    auto copy = std::make_shared<Recorded>(node.shape_owner);
    copy->op = node.op;
    copy->dtype = node.dtype;
    copy->ints = node.ints;
    copy->scalar = node.scalar;
    copy->where = node.where;
    copy->called = node.called;
    const RecordedPtr part = trace::record(std::move(copy), as_operands(operands));
    const Sharding lies = whole(node);
    if (!frozen_ || !has_order(node) || !repeats(lies)) return part;
    return brought({site_of(node), node.shape, node.dtype, lies, part}, lies, blocks_of(node.shape, lies), site_of(node), true);
  }

  /// Returns the size of the operands' axis that is reduced along a mesh axis.
  std::int64_t reduced_size(std::size_t k, int mesh_axis) const {
    for (const RecordedPtr& input : inputs_[k]) {
      if (!input->spread) continue;
      const int axis = input->spread->sharding.along(static_cast<std::size_t>(mesh_axis));
      if (axis >= 0) return input->shape[static_cast<std::size_t>(axis)];
    }
    throw InternalError("no operand is sharded along the axis that is reduced");
  }

  /// Combines the values t[0], t[1], ... along the first axis as a tree that depends only on their number.
  RecordedPtr tree(const Site& site, Op combine, const RecordedPtr& values) {
    const std::int64_t count = values->shape[0];
    const auto range = [&](std::int64_t begin, std::int64_t end) {
      Block has, wanted;
      for (const std::int64_t size : values->shape) has.push_back({0, size});
      wanted = has;
      wanted[0] = {begin, end};
      return part_within(site, values, has, wanted);
    };
    if (count == 1) return trace::make_reshape(site, values, Shape(values->shape.begin() + 1, values->shape.end()));
    std::int64_t half = 1;
    while (2 * half < count) half *= 2;
    if (2 * half == count) return tree(site, combine, trace::make_elementwise(site, combine, trace::Operands(range(0, half), range(half, count))));
    return trace::make_elementwise(site, combine, trace::Operands(tree(site, combine, range(0, half)), tree(site, combine, range(half, count))));
  }

  /// Combines along the first axes, one for each mesh axis that is combined.
  RecordedPtr summed(const Site& site, Op combine, RecordedPtr values, std::size_t axes) {
    for (; axes > 0; --axes) {
      if (element_count(values->shape) > 0) values = tree(site, combine, values);
      else values = trace::make_constant(site, trace::make_scalar_int(values->dtype, 0), Shape(values->shape.begin() + 1, values->shape.end()));
    }
    return values;
  }

  /// Every rank would combine a large result from all pieces. Instead the result is sharded along one of its whole axes: each rank combines one share, and the
  /// shares are gathered. This moves as many bytes as a reduction around a ring, and keeps the order of the tree.
  static Sharding deals(const Shape& shape, std::size_t bytes, const Sharding& result, const std::vector<int>& combined) {
    constexpr std::size_t kLarge = std::size_t{1} << 16;
    if (combined.size() != 1 || bytes < kLarge) return {};
    Sharding dealt = result;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (dealt.axes[axis] != kWhole || shape[axis] < dealt.mesh->axes[static_cast<std::size_t>(combined[0])].pieces) continue;
      dealt.axes[axis] = combined[0];
      return dealt;
    }
    return {};
  }

  /// Brings the partial results of all pieces to every part of the result, and combines them. An unsharded result is divided as a flat row of its elements,
  /// which has enough elements for any number of ranks.
  RecordedPtr combined(std::size_t k, const RecordedPtr& partial) {
    const Recorded& node = *nodes_[k];
    const Carried& carried = carried_[k];
    const Site site = site_of(node);
    const bool flat = carried.result.is_whole() && !node.shape.empty();
    const Sharding result = flat ? Sharding{carried.result.mesh, {kWhole}} : carried.result;
    const Shape result_shape = flat ? Shape{element_count(node.shape)} : node.shape;
    const Op combine = trace::is_reduction(node.op) ? trace::primitive(node.op).combine : Op::add;
    const std::size_t more = carried.combined.size();
    // Returns the partial results as one tensor: first an axis of pieces for each mesh axis that is combined, then the axes of the result.
    Source source{site, {}, node.dtype, {carried.result.mesh, carried.combined}, nullptr};
    for (const int axis : carried.combined) source.shape.push_back(pieces_with_elements(*carried.result.mesh, axis, reduced_size(k, axis)));
    source.shape.insert(source.shape.end(), result_shape.begin(), result_shape.end());
    source.sharding.axes.insert(source.sharding.axes.end(), result.axes.begin(), result.axes.end());
    const Shape shape = shape_of(block_of(source.shape, source.sharding, place_));
    source.part =
        element_count(shape) == 0 ? trace::make_constant(site, trace::make_scalar_int(node.dtype, 0), shape) : trace::make_reshape(site, partial, shape);
    const auto summed_for = [&](const Sharding& to) {
      Sharding lies{to.mesh, std::vector<int>(more, kWhole)};
      lies.axes.insert(lies.axes.end(), to.axes.begin(), to.axes.end());
      return summed(site, combine, brought(source, to, blocks_of(source.shape, lies), site, repeats(carried.work())), more);
    };
    const Sharding dealt = deals(result_shape, trace::bytes_of(node), result, carried.combined);
    const RecordedPtr all =
        !dealt.mesh ? summed_for(result) : brought({site, result_shape, node.dtype, dealt, summed_for(dealt)}, result, blocks_of(result_shape, result), site);
    return flat ? trace::make_reshape(site, all, node.shape) : all;
  }

  /// Scans each part, then combines it with the total of the parts before it.
  RecordedPtr scanned(std::size_t k) {
    const Recorded& node = *nodes_[k];
    const Sharding& sharding = carried_[k].result;
    const Site site = site_of(node);
    const auto axis = static_cast<std::size_t>(node.ints[0]);
    const auto reduction = static_cast<Op>(node.ints[1]);
    const DType carry = trace::scan_carry(reduction, node.dtype);
    RecordedPtr part = trace::make_scan(site, reduction, trace::make_cast(site, operand_part(k, 0), carry), node.ints[0]);
    const Block all = block_of(part->shape, whole(*part), {});
    Block last = all;
    last[axis].begin = std::max<std::int64_t>(last[axis].end - 1, 0);
    Source totals{site, node.shape, carry, sharding, part_within(site, part, all, last)};
    totals.shape[axis] = pieces_with_elements(*sharding.mesh, sharding.axes[axis], node.shape[axis]);
    // Returns all totals along the scanned axis; along the other axes, only the elements of the place's part.
    Sharding lies = sharding;
    lies.axes[axis] = kWhole;
    const RecordedPtr gathered = brought(totals, sharding, blocks_of(totals.shape, lies), site, repeats(sharding), "all_gather");
    const int piece = place_[static_cast<std::size_t>(sharding.axes[axis])];
    if (piece > 0 && element_count(part->shape) > 0) {
      const Block has = block_of(totals.shape, lies, place_);
      Block before = has;
      before[axis] = {piece - 1, piece};
      const RecordedPtr start = part_within(site, trace::make_scan(site, reduction, gathered, node.ints[0]), has, before);
      part = trace::make_elementwise(site, trace::primitive(reduction).combine,
                                     trace::Operands(trace::make_broadcast(site, start, part->shape), RecordedPtr(part)));
    }
    return trace::make_cast(site, part, node.dtype);
  }

  Partition& out_;
  const MeshPtr& mesh_;
  const Place place_;
  const std::size_t number_;  // the place's number on its rank
  const bool frozen_;
  const Recording& recording_;
  const std::vector<RecordedPtr>& nodes_;
  const std::vector<trace::Operands>& inputs_;
  std::vector<Carried> carried_;  // leaves have no operands here
  std::vector<Source> sources_;
  std::vector<std::vector<Want>> wants_;
  std::unordered_map<std::size_t, std::vector<Bringing>> bringing_;  // parts by the number of the value
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> places_;
  RecordedPtr started_, finished_, finished_start_;  // the last start and the last finish of an exchange, and the start of that finish
  std::uint64_t sizes_ = 0;                          // a hash
};

Partition::Partition(const Recording& recording, const Place& place, bool frozen) : exchanges_(recording.mesh(), place) {
  const trace::WithinEvaluation within;
  Pass(*this, recording, place, frozen);
}

// Evaluated values are leaves.
Recording::Recording(std::vector<RecordedPtr> roots, bool keep)
    : roots_(std::move(roots)), mesh_(roots_.front()->spread->sharding.mesh), asked_(roots_.size()) {
  std::uint64_t of_mesh = mesh_->count();
  for (const MeshAxis& axis : mesh_->axes) of_mesh = mix(mix(of_mesh, static_cast<std::uint64_t>(axis.size)), static_cast<std::uint64_t>(axis.pieces));
  hashes_.push_back(of_mesh);
  struct Frame {
    RecordedPtr node;
    trace::Operands inputs;
    std::size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](const RecordedPtr& node) {
    if (numbers_.contains(node.get()) || (!node->spread && (node->evaluated() || node->inputs().empty()))) return;
    numbers_.emplace(node.get(), -1);
    stack.push_back({node, node->inputs(), 0});
  };
  for (const RecordedPtr& root : roots_) {
    enter(root);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.inputs.size()) {
        const RecordedPtr input = top.inputs[top.next++];
        enter(input);
        continue;
      }
      add(top.node, std::move(top.inputs));
      stack.pop_back();
    }
  }
  std::unordered_set<const Recorded*> asked;
  for (const RecordedPtr& root : roots_) asked.insert(root.get());
  for (std::size_t k = 0; keep && k < nodes_.size(); ++k)
    if (is_kept(k) && !asked.contains(nodes_[k].get())) roots_.push_back(nodes_[k]);
}

void Recording::add(const RecordedPtr& node, trace::Operands inputs) {
  numbers_[node.get()] = static_cast<int>(nodes_.size());
  nodes_.push_back(node);
  uses_.push_back(0);
  std::uint64_t hash = hashes_.back();
  const auto say = [&](std::uint64_t word) { hash = mix(hash, word); };
  if (node->spread) {
    for (const std::uint64_t word : {static_cast<std::uint64_t>(node->op), static_cast<std::uint64_t>(node->dtype), static_cast<std::uint64_t>(inputs.size())})
      say(word);
    for (const std::int64_t size : node->shape) say(static_cast<std::uint64_t>(size));
    for (const std::int64_t number : node->ints) say(static_cast<std::uint64_t>(number));
    for (const int axis : node->spread->sharding.axes) say(static_cast<std::uint64_t>(axis + 1));
  }
  for (const RecordedPtr& input : inputs) {
    const auto [found, fresh] = numbers_.emplace(input.get(), -1 - static_cast<int>(leaves_.size()));
    if (fresh) leaves_.push_back(input);
    const int number = found->second;
    if (number >= 0) ++uses_[static_cast<std::size_t>(number)];
    if (!node->spread) continue;
    if (input->spread) say(spread_numbers_[static_cast<std::size_t>(number)]);
    else say(input->op == Op::constant ? input->scalar.bits() : 0);
  }
  if (node->spread) hashes_.push_back(hash);
  spread_numbers_.push_back(operations());
  inputs_.push_back(std::move(inputs));
}

/// Returns whether the user holds an intermediate value that was computed before; it is then stored. The answer is the same on all ranks, because it does not
/// depend on other evaluations of a rank.
bool Recording::is_kept(std::size_t k) const {
  const RecordedPtr& node = nodes_[k];
  if (!node->spread || node->evaluated() || trace::is_view(node->op)) return false;
  // Other references than the user's: nodes_, the operand lists of the node's users, and the copies of these lists here.
  if (node.use_count() <= 1 + 2 * static_cast<long>(uses_[k])) return false;
  return node->computed.exchange(true, std::memory_order_relaxed);
}

/// Describes the mesh as 0, operations from 1.
std::string Recording::described(std::size_t operation) const {
  if (operation == 0) {
    std::string axes;
    for (const MeshAxis& axis : mesh_->axes) axes += fmt::format("{}{} in {} pieces", axes.empty() ? "" : ", ", axis.name, axis.pieces);
    return "a mesh of " + axes;
  }
  if (operation > operations()) return "nothing more";
  std::size_t k = 0;
  while (spread_numbers_[k] < operation) ++k;
  const Recorded& node = *nodes_[k];
  if (inputs_[k].empty()) return to_string(node.dtype, node.shape, node.spread->sharding);
  std::string literals;
  for (const RecordedPtr& input : inputs_[k])
    if (input->op == Op::constant) literals += fmt::format(" with {}", input->scalar.as_double());
  return fmt::format("{}{} to {} at {}", node.called, literals, to_string(node.dtype, node.shape, node.spread->sharding), trace::to_string(node.where));
}

std::string Recording::description() const {
  const Recorded& last = *roots_.front();
  return fmt::format("{}{}", last.called, *last.where.file ? fmt::format(" ({}:{})", last.where.file, last.where.line) : "");
}

bool Recording::compare() {
  const WorldState& world = *mesh_->world;
  if (world.size == 1) return false;
  const std::string what = fmt::format("{}, {} operations", description(), operations());
  std::uint64_t asked = hashes_.back(), kept = 0;
  for (std::size_t k = 0; k < roots_.size(); ++k) {
    std::uint64_t& hash = k < asked_ ? asked : kept;
    hash = mix(hash, spread_numbers_[static_cast<std::size_t>(number_of(roots_[k]))]);
  }
  const std::string before = "the comparison before " + what;
  const auto all = world.gather(fmt::format("{:016x}{:016x}{:016x}{}", asked, kept, operations(), what), before);
  const auto differs = [&](std::size_t from) {
    return std::find_if(all.begin(), all.end(), [&](const std::string& text) { return text.compare(from, 16, all[0], from, 16) != 0; });
  };
  if (const auto other = differs(0); other != all.end()) {
    // All ranks get the same answers, so all search in the same way for the first operation that differs.
    const auto rank = static_cast<std::size_t>(other - all.begin());
    const auto count = [](const std::string& text) { return static_cast<std::size_t>(std::stoull(text.substr(32, 16), nullptr, 16)); };
    std::size_t first = 0, end = std::min(count(all[0]), count(*other)) + 1;
    while (first < end) {
      const std::size_t middle = (first + end) / 2;
      const auto answers = world.gather(fmt::format("{:x}", hashes_[std::min(middle, operations())]), before);
      if (answers[0] == answers[rank]) first = middle + 1;
      else end = middle;
    }
    const auto words = world.gather(described(first), before);
    try {
      world.gather("", before);  // a rank that ends here ends the waits of the others, which must have received the difference before
    } catch (const RankError&) {
    }
    const std::string difference = words[0] == words[rank] ? "" : fmt::format(" The first difference: {} and {}.", words[0], words[rank]);
    throw RankError(
        fmt::format("the ranks have not recorded the same: rank 0 evaluates {}; rank {} evaluates {}.{} Every rank must record and evaluate the same "
                    "operations on sharded values in the same order",
                    all[0].substr(48), rank, other->substr(48), difference));
  }
  if (differs(16) == all.end()) return false;
  roots_.resize(asked_);
  return true;
}

std::vector<RecordedPtr> Recording::leaves(std::size_t number) const {
  std::vector<RecordedPtr> all = leaves_;
  for (std::size_t k = 0; k < nodes_.size(); ++k)
    if (nodes_[k]->spread && inputs_[k].empty()) all.push_back(nodes_[k]->spread->parts[number]);
  return all;
}

std::vector<std::uint64_t> Recording::key() const {
  std::vector<std::uint64_t> words;
  const auto say = [&](auto word) {
    if constexpr (std::is_pointer_v<decltype(word)>) words.push_back(reinterpret_cast<std::uintptr_t>(word));
    else words.push_back(static_cast<std::uint64_t>(word));
  };
  const auto say_shape = [&](const Recorded& node) {
    say(node.dtype);
    say(node.shape.size());
    for (const std::int64_t size : node.shape) say(size);
  };
  const auto say_op = [&](const Recorded& node) {
    say(node.op);
    say(node.ints.size());
    for (const std::int64_t number : node.ints) say(number);
    if (node.op == Op::constant) say(node.scalar.bits());
  };
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    const Recorded& node = *nodes_[k];
    say_shape(node);
    say(node.spread != nullptr);
    if (node.spread)
      for (const int axis : node.spread->sharding.axes) say(axis);
    say(inputs_[k].size());
    if (inputs_[k].empty()) continue;
    say_op(node);
    say(node.called);
    say(node.where.file);
    say(node.where.line);
    for (const RecordedPtr& input : inputs_[k]) say(number_of(input));
  }
  for (const RecordedPtr& root : roots_) say(number_of(root));
  for (std::size_t number = 0; number < mesh_->own_places().size(); ++number) {
    std::unordered_map<const Recorded*, std::size_t> seen;
    for (const RecordedPtr& leaf : leaves(number)) {
      const auto [same, fresh] = seen.emplace(leaf.get(), seen.size());
      say(same->second);
      if (!fresh) continue;
      say_shape(*leaf);
      say_op(*leaf);
    }
  }
  return words;
}

/// A partition as a list of operations, each with the numbers of its operands among the leaves and the operations before it.
struct KnownPartition {
  struct Step {
    RecordedPtr like;  // a copy of the node without operands
    std::vector<std::size_t> operands;
  };
  std::size_t leaves = 0;
  std::vector<Step> steps;
  std::vector<std::size_t> roots;
  Exchanges::Known exchanges;
};

class KnownPartitions {
 public:
  using All = std::shared_ptr<const std::vector<KnownPartition>>;  // for each place of the rank

  All find(const std::vector<std::uint64_t>& key) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t hash = hash64(key);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.hash == hash && same_words(entry.key, key); });
    if (found == entries_.end()) return nullptr;
    std::rotate(entries_.begin(), found, found + 1);
    return entries_.front().all;
  }

  /// Removes the least recently used partitions, so that memory stays bounded.
  void add(std::vector<std::uint64_t> key, All all) {
    constexpr std::size_t kMaxEntries = 64, kMaxSteps = std::size_t{1} << 16;
    const std::lock_guard lock(mutex_);
    ++made_;
    entries_.insert(entries_.begin(), {hash64(key), std::move(key), std::move(all)});
    if (entries_.size() > kMaxEntries) entries_.pop_back();
    std::size_t steps = 0;
    std::erase_if(entries_, [&](const Entry& entry) {
      std::size_t here = 0;
      for (const KnownPartition& partition : *entry.all) here += partition.steps.size();
      if (steps + here > kMaxSteps) return true;
      steps += here;
      return false;
    });
  }

  std::size_t made() const {
    const std::lock_guard lock(mutex_);
    return made_;
  }

  static KnownPartition known(Partition& partition, const std::vector<RecordedPtr>& leaves) {
    KnownPartition made{leaves.size(), {}, {}, partition.exchanges_.known()};
    std::unordered_map<const Recorded*, std::size_t> numbers;
    for (std::size_t k = 0; k < leaves.size(); ++k) numbers.emplace(leaves[k].get(), k);
    std::vector<std::pair<RecordedPtr, std::size_t>> stack;  // a node, and how many of its operands were visited
    for (const RecordedPtr& root : partition.local_) {
      if (!numbers.contains(root.get())) stack.emplace_back(root, 0);
      while (!stack.empty()) {
        const RecordedPtr node = stack.back().first;
        const trace::Operands inputs = node->inputs();
        if (node->evaluated()) throw InternalError("a partition holds elements that are no leaf of its graph");
        if (std::size_t& next = stack.back().second; next < inputs.size()) {
          const RecordedPtr& input = inputs[next++];
          if (!numbers.contains(input.get())) stack.emplace_back(input, 0);
          continue;
        }
        stack.pop_back();
        if (!numbers.emplace(node.get(), leaves.size() + made.steps.size()).second) continue;
        const auto like = std::make_shared<Recorded>(node->shape_owner);
        like->op = node->op;
        like->dtype = node->dtype;
        like->ints = node->ints;
        like->scalar = node->scalar;
        like->where = node->where;
        like->called = node->called;
        KnownPartition::Step& step = made.steps.emplace_back(KnownPartition::Step{like, {}});
        for (const RecordedPtr& input : inputs) step.operands.push_back(numbers.at(input.get()));
      }
      made.roots.push_back(numbers.at(root.get()));
    }
    return made;
  }

  /// Records the operations of a known partition over other leaves.
  static Partition recorded(const KnownPartition& known, std::vector<RecordedPtr> leaves, const MeshPtr& mesh, const Place& place) {
    const trace::WithinEvaluation within;
    std::vector<RecordedPtr>& values = leaves;
    for (const auto& [like, operands] : known.steps) {
      if (like->op == Op::constant) {
        values.push_back(trace::make_constant(site_of(*like), like->scalar, like->shape_owner));
        continue;
      }
      std::vector<RecordedPtr> inputs;
      for (const std::size_t operand : operands) inputs.push_back(values[operand]);
      values.push_back(trace::with_operands(*like, inputs.empty() ? trace::Operands() : as_operands(inputs)));
    }
    std::vector<RecordedPtr> roots;
    for (const std::size_t root : known.roots) roots.push_back(values[root]);
    return {std::move(roots), Exchanges(mesh, place, known.exchanges)};
  }

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::vector<std::uint64_t> key;
    All all;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // the most recently used first
  std::size_t made_ = 0;
};

std::shared_ptr<KnownPartitions> no_partitions() { return std::make_shared<KnownPartitions>(); }
std::size_t partitions_made(const MeshState& mesh) { return mesh.known->made(); }

namespace {

/// Returns the sums of whole values that sharded values depend on. Each rank evaluates these sums in advance and separately, so that all have the same bits.
std::vector<RecordedPtr> whole_sums(const std::vector<RecordedPtr>& roots) {
  std::vector<RecordedPtr> sums, waiting = roots;
  std::unordered_set<const Recorded*> seen;
  while (!waiting.empty()) {
    const RecordedPtr node = std::move(waiting.back());
    waiting.pop_back();
    if (node->evaluated() || !seen.insert(node.get()).second) continue;
    if (!node->spread && has_order(*node)) {
      sums.push_back(node);
      continue;
    }
    for (const RecordedPtr& input : node->inputs()) waiting.push_back(input);
  }
  return sums;
}

}  // namespace

void evaluate_parts(const std::vector<RecordedPtr>& roots, const Evaluate& evaluate) {
  const MeshPtr mesh = roots.front()->spread->sharding.mesh;
  const std::vector<Place> places = mesh->own_places();
  if (const std::vector<RecordedPtr> sums = whole_sums(roots); !sums.empty()) {
    Exchanges none(mesh, places[0]);
    const Exchanges::Running running(&none);
    evaluate(sums);
  }
  Recording recording(roots, true);
  std::vector<std::uint64_t> key = recording.key();
  KnownPartitions::All known = mesh->known->find(key);
  std::vector<std::unique_ptr<Partition>> partitions(places.size());
  const auto partition = [&](std::size_t number) {
    partitions[number] = std::make_unique<Partition>(known ? KnownPartitions::recorded((*known)[number], recording.leaves(number), mesh, places[number])
                                                           : Partition(recording, places[number]));
  };
  partition(0);
  const bool exchanges = !partitions[0]->exchanges().empty();
  const auto exchanging = exchanges ? mesh->world->exchanging(recording.description()) : std::unique_lock<std::mutex>();
  if (exchanges && recording.compare()) {
    key = recording.key();
    known = mesh->known->find(key);
    partition(0);
  }
  std::vector<KnownPartition> made(known ? 0 : places.size());
  on_each_place(places.size(), [&](std::size_t number, const std::shared_ptr<Handover>& others) {
    if (number > 0) partition(number);
    Partition& here = *partitions[number];
    if (!known) made[number] = KnownPartitions::known(here, recording.leaves(number));
    here.exchanges().meet(others);
    const Exchanges::Running running(&here.exchanges());
    evaluate(here.roots());
  });
  if (!known) mesh->known->add(std::move(key), std::make_shared<const std::vector<KnownPartition>>(std::move(made)));
  const std::vector<RecordedPtr>& wanted = recording.roots();
  for (std::size_t k = 0; k < wanted.size(); ++k) set_parts(*wanted[k], [&](std::size_t number) { return partitions[number]->roots()[k]; });
}

void on_each_place(std::size_t count, const std::function<void(std::size_t, const std::shared_ptr<Handover>&)>& work) {
  const auto others = std::make_shared<Handover>(count);
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&](std::size_t number) {
    try {
      work(number, others);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      others->fail();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t number = 1; number < count; ++number)
    threads.emplace_back([&, number, world = world_of_thread()] {
      const InWorld in_world(world);
      guarded(number);
    });
  guarded(0);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

void set_parts(Recorded& node, const std::function<RecordedPtr(std::size_t)>& part) {
  Spread& spread = *node.spread;
  const std::vector<Place> places = spread.sharding.mesh->own_places();
  for (std::size_t number = 0; number < places.size(); ++number) {
    // Places that share a part have the same elements, so one copy is stored.
    const Part mine = part_of(spread.sharding, places[number]);
    std::size_t same = 0;
    while (part_of(spread.sharding, places[same]) != mine) ++same;
    spread.parts.push_back(same < number ? spread.parts[same] : part(number));
  }
  // The parts have the elements. The size is the global one, so that recording decides in the same way on all ranks.
  auto storage = std::make_shared<Storage>();
  storage->bytes = trace::bytes_of(node);
  node.materialize(std::move(storage), spread.parts.front()->history());
}

std::vector<std::vector<RecordedPtr>> by_mesh(std::span<const RecordedPtr> nodes) {
  std::vector<std::vector<RecordedPtr>> groups;
  std::vector<MeshPtr> meshes;
  for (const RecordedPtr& node : nodes) {
    if (!node->spread) continue;
    const MeshPtr& mesh = node->spread->sharding.mesh;
    const auto at = static_cast<std::size_t>(std::find(meshes.begin(), meshes.end(), mesh) - meshes.begin());
    if (at == meshes.size()) {
      meshes.push_back(mesh);
      groups.emplace_back();
    }
    groups[at].push_back(node);
  }
  return groups;
}

Place own_place(const RecordedPtr& node) { return node->spread->sharding.mesh->own_places().front(); }

RecordedPtr resharded(const Site& site, const RecordedPtr& node, Sharding to) {
  if (node->spread && node->spread->sharding == to) return node;
  auto result = std::make_shared<Recorded>(node->shape_owner);
  result->op = Op::contiguous;
  result->dtype = node->dtype;
  result->called = site.op;
  result->where = site.where;
  result->spread = std::make_shared<Spread>(Spread{std::move(to), {}, nullptr});
  return trace::record(std::move(result), trace::Operands(RecordedPtr(node)));
}

const RecordedPtr& whole_of(const RecordedPtr& node) {
  if (!node->spread || node->spread->sharding.is_whole()) return node;
  if (!node->spread->whole) node->spread->whole = resharded(site_of(*node), node, {node->spread->sharding.mesh, std::vector<int>(node->shape.size(), kWhole)});
  return node->spread->whole;
}

}  // namespace sinter::ranks
