#include "ranks/rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "trace/library.hpp"

namespace sinter::ranks {
namespace {

using trace::Op;
using trace::Recorded;

struct Terms {
  const Recorded& node;
  std::span<const Operand> operands;
  const MeshPtr& mesh;

  const Shape& shape(std::size_t k) const { return operands[k].node->shape; }
  const std::vector<int>& axes(std::size_t k) const { return operands[k].sharding.axes; }
  const std::string& axis_name(int axis) const { return mesh->axes[static_cast<std::size_t>(axis)].name; }

  [[noreturn]] void fail(const std::string& why, const std::string& mend) const {
    std::string text;
    for (const Operand& operand : operands) text += (text.empty() ? "" : " and ") + to_string(operand.node->dtype, operand.node->shape, operand.sharding);
    trace::Site site{node.called, node.where, trace::name(node.op).data()};
    trace::fail<ShardingError>(site, fmt::format("{}: {}; {}", text, why, mend));
  }
  /// Fails if this axis of the operand, which the op needs whole, is sharded.
  void want_whole(std::size_t operand, std::size_t axis, const char* why) const {
    if (axes(operand)[axis] == kWhole) return;
    Sharding whole = operands[operand].sharding;
    whole.axes[axis] = kWhole;
    constexpr const char* kOrdinals[] = {"first", "second", "third", "fourth"};
    const std::string it = operands.size() == 1 ? "it" : fmt::format("the {} operand", kOrdinals[operand]);
    fail(fmt::format("{}, and axis {} {}is sharded along {}", why, axis, operands.size() == 1 ? "" : "of " + it + " ", axis_name(axes(operand)[axis])),
         whole.is_whole() ? fmt::format("call ranks::unshard on {} first", it)
                          : fmt::format("call ranks::shard(x, mesh, {}) on {} first", as_written(whole), it));
  }
  /// Returns the mesh axis of an axis that two operands share. One of the two operands may be unsharded along it; each rank then takes its part of that
  /// operand.
  int zipped(int a, int b, const char* what, std::size_t axis) const {
    if (a == kWhole || b == kWhole || a == b) return std::max(a, b);
    fail(fmt::format("{} {} is sharded along {} here and along {} there", what, axis, axis_name(a), axis_name(b)),
         "call ranks::shard on one of them first, with the mesh axes of the other");
  }
};

Wanted blocks(const Shape& shape, Sharding sharding) {
  return [shape, sharding = std::move(sharding)](const Part& part) { return block_of(shape, sharding, part); };
}

/// The result of a rule: the mesh axes of the result, and the mesh axes along which each operand is needed.
Carried answer(const Terms& terms, std::vector<int> result, const std::vector<std::vector<int>>& needs, std::vector<int> combined = {}) {
  Carried carried{{terms.mesh, std::move(result)}, std::move(combined), {}, {}};
  for (std::size_t k = 0; k < needs.size(); ++k) carried.wanted.push_back(blocks(terms.shape(k), {terms.mesh, needs[k]}));
  return carried;
}

/// The result of a rule for an op that can compute any block of its result.
Carried block_by_block(const Terms& terms, std::vector<int> result, std::vector<std::function<Block(const Block&)>> needs) {
  Carried carried{{terms.mesh, std::move(result)}, {}, {}, std::move(needs)};
  for (const auto& need : carried.needs)
    carried.wanted.push_back([need, own = blocks(terms.node.shape, carried.result)](const Part& part) { return need(own(part)); });
  return carried;
}
Block same_block(const Block& block) { return block; }

Carried elementwise(const Terms& terms) {
  std::vector<int> axes = terms.axes(0);
  for (std::size_t k = 1; k < terms.operands.size(); ++k)
    for (std::size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = terms.zipped(axes[axis], terms.axes(k)[axis], "axis", axis);
  return block_by_block(terms, axes, std::vector<std::function<Block(const Block&)>>(terms.operands.size(), same_block));
}

Carried reduction(const Terms& terms) {
  std::vector<int> result, combined;
  for (std::size_t axis = 0; axis < terms.axes(0).size(); ++axis) {
    const bool reduced = std::find(terms.node.ints.begin(), terms.node.ints.end(), static_cast<std::int64_t>(axis)) != terms.node.ints.end();
    if (!reduced) result.push_back(terms.axes(0)[axis]);
    else if (terms.axes(0)[axis] != kWhole) combined.push_back(terms.axes(0)[axis]);
  }
  return answer(terms, result, {terms.axes(0)}, combined);
}

// The `sharding` column.

Carried no_operands(const Terms&) { throw InternalError("a value without operands is whole on every rank"); }
Carried as_operand(const Terms& terms) { return answer(terms, terms.axes(0), {terms.axes(0)}); }

/// A reshape pairs groups of axes with equal numbers of elements. The leftmost axis of a group keeps its sharding if the pieces end at the same elements.
Carried leading_factor(const Terms& terms) {
  const Shape &from = terms.shape(0), &to = terms.node.shape;
  std::vector<int> result(to.size(), kWhole);
  for (std::size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    const std::size_t first_i = i, first_j = j;
    std::int64_t of_from = i < from.size() ? from[i++] : 1, of_to = j < to.size() ? to[j++] : 1;
    while (of_from != of_to) {
      if (of_from < of_to) of_from *= from[i++];
      else of_to *= to[j++];
    }
    std::int64_t outer = 1, inner = of_from;
    for (std::size_t k = first_i; k < i; ++k) {
      inner /= from[k];
      const int axis = terms.axes(0)[k];
      if (axis != kWhole) {
        std::size_t target = first_j;
        while (target < j && to[target] == 1 && from[k] != 1) ++target;
        const bool leftmost = outer == 1 && target < j;
        if (!leftmost || piece_length(*terms.mesh, axis, from[k]) * inner != piece_length(*terms.mesh, axis, to[target]) * (of_to / to[target]))
          terms.fail(fmt::format("a reshape to {} moves elements of axis {}, sharded along {}, between ranks", sinter::to_string(to), k, terms.axis_name(axis)),
                     "call ranks::unshard on it first, or choose sizes that the mesh's pieces divide");
        result[target] = axis;
      }
      outer *= from[k];
    }
  }
  return answer(terms, result, {terms.axes(0)});
}

Carried permuted(const Terms& terms) {
  std::vector<int> result;
  for (const std::int64_t axis : terms.node.ints) result.push_back(terms.axes(0)[static_cast<std::size_t>(axis)]);
  return block_by_block(terms, result, {[axes = terms.node.ints](const Block& block) {
                          Block wanted(block.size());
                          for (std::size_t k = 0; k < block.size(); ++k) wanted[static_cast<std::size_t>(axes[k])] = block[k];
                          return wanted;
                        }});
}

Carried grown(const Terms& terms) {
  const std::size_t more = terms.node.shape.size() - terms.shape(0).size();
  std::vector<int> result(more, kWhole);
  for (std::size_t k = 0; k < terms.shape(0).size(); ++k) {
    if (terms.shape(0)[k] != terms.node.shape[k + more]) terms.want_whole(0, k, "an axis of size 1 that is repeated must be on every rank");
    result.push_back(terms.axes(0)[k]);
  }
  return block_by_block(terms, result, {[from = terms.shape(0), to = terms.node.shape, more](const Block& block) {
                          Block wanted;
                          for (std::size_t k = 0; k < from.size(); ++k) wanted.push_back(from[k] == to[k + more] ? block[k + more] : Range{0, from[k]});
                          return wanted;
                        }});
}

/// A slice of a sharded axis is sharded like an axis of the slice's size. A slice of one element is sent to all ranks.
Carried dealt_slice(const Terms& terms) {
  const Shape from = terms.shape(0), to = terms.node.shape;
  const std::vector<std::int64_t> start_step = terms.node.ints;
  std::vector<int> result = terms.axes(0);
  for (std::size_t k = 0; k < to.size(); ++k)
    if (to[k] == 1 && from[k] != 1) result[k] = kWhole;
  return block_by_block(terms, result, {[from, start_step, given = terms.axes(0)](Block wanted) {
                          for (std::size_t k = 0; k < wanted.size(); ++k) {
                            Range& range = wanted[k];
                            if (given[k] == kWhole) range = {0, from[k]};
                            else if (range.size() > 0) {
                              const std::int64_t first = start_step[2 * k] + range.begin * start_step[2 * k + 1],
                                                 last = start_step[2 * k] + (range.end - 1) * start_step[2 * k + 1];
                              range = {std::min(first, last), std::max(first, last) + 1};
                            }
                          }
                          return wanted;
                        }});
}

Carried halo_of_windows(const Terms& terms) {
  std::vector<int> result = terms.axes(0);
  result.push_back(kWhole);
  Carried carried{{terms.mesh, result}, {}, {}, {}};
  const auto axis = static_cast<std::size_t>(terms.node.ints[0]);
  carried.wanted.push_back([axis, to = terms.node.shape, from = terms.shape(0), ints = terms.node.ints, lies = carried.result](const Part& part) {
    Block wanted = block_of(to, lies, part);
    Range& range = wanted[axis];
    if (lies.axes[axis] == kWhole) range = {0, from[axis]};
    else if (range.size() > 0) range = {range.begin * ints[1], (range.end - 1) * ints[1] + (to.back() - 1) * ints[2] + 1};
    wanted.pop_back();
    return wanted;
  });
  return carried;
}

Carried halo_of_pad(const Terms& terms) {
  std::vector<int> result;
  for (std::size_t k = 0; k < terms.axes(0).size(); ++k) result.push_back(terms.zipped(terms.axes(0)[k], terms.axes(1)[k], "axis", k));
  return block_by_block(terms, result,
                        {[from = terms.shape(0), ints = terms.node.ints](Block wanted) {
                           for (std::size_t k = 0; k < wanted.size(); ++k) {
                             const Range inside{wanted[k].begin - ints[2 * k], wanted[k].end - ints[2 * k]};
                             wanted[k] = intersection(Range{0, from[k]}, inside);
                             if (wanted[k].size() == 0) wanted[k] = {};
                           }
                           return wanted;
                         },
                         same_block});
}

Carried whole_table(const Terms& terms) {
  const auto axis = static_cast<std::size_t>(terms.node.ints[0]);
  terms.want_whole(0, axis, "the table of a gather must be whole along the axis of the indices");
  std::vector<int> result;
  for (std::size_t k = 0; k < terms.axes(0).size(); ++k) result.push_back(terms.zipped(terms.axes(0)[k], terms.axes(1)[k], "axis", k));
  std::vector<int> table = result;
  table[axis] = kWhole;
  return answer(terms, result, {table, result});
}

/// Each part is scanned, and starts from the totals of the parts before it (partition.cpp).
Carried totals(const Terms& terms) { return answer(terms, terms.axes(0), {terms.axes(0)}); }

/// All axes except the last ones may be sharded.
Carried batches(const Terms& terms, std::size_t last, const char* why) {
  const std::size_t leading = terms.shape(0).size() - last;
  std::vector<int> result(terms.node.shape.size(), kWhole);
  for (std::size_t k = 0; k < terms.operands.size(); ++k) {
    for (std::size_t axis = 0; axis < leading; ++axis) result[axis] = terms.zipped(result[axis], terms.axes(k)[axis], "axis", axis);
    for (std::size_t axis = leading; axis < terms.shape(k).size(); ++axis) terms.want_whole(k, axis, why);
  }
  std::vector<std::vector<int>> needs;
  for (const Operand& operand : terms.operands) {
    needs.emplace_back(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(leading));
    needs.back().resize(operand.node->shape.size(), kWhole);
  }
  return answer(terms, result, needs);
}
Carried rows(const Terms& terms) { return batches(terms, 1, "each row must be whole on a rank"); }
Carried matrices(const Terms& terms) { return batches(terms, 2, "each matrix must be whole on a rank"); }
Carried all_whole(const Terms& terms) {
  for (std::size_t k = 0; k < terms.operands.size(); ++k)
    for (std::size_t axis = 0; axis < terms.axes(k).size(); ++axis) terms.want_whole(k, axis, "the operation needs all elements on a rank");
  return batches(terms, terms.shape(0).size(), "");
}

/// A scatter of rows: only the columns may be sharded.
Carried columns(const Terms& terms) {
  terms.want_whole(0, 0, "a scatter may change each row, so all must be on a rank");
  terms.want_whole(1, 0, "every rank needs the places of all rows");
  terms.want_whole(2, 0, "every rank needs all scattered rows");
  const int axis = terms.zipped(terms.axes(0)[1], terms.axes(2)[1], "axis", 1);
  return answer(terms, {kWhole, axis}, {{kWhole, axis}, {kWhole}, {kWhole, axis}});
}

/// (b.., i, k), (b.., k, j): b, i and j may be sharded; partial products are combined over k.
Carried factors_of_product(const Terms& terms) {
  const std::vector<int>&a = terms.axes(0), &b = terms.axes(1);
  const std::size_t rank = a.size();
  std::vector<int> result(rank), left(rank), right(rank), combined;
  for (std::size_t k = 0; k + 2 < rank; ++k) result[k] = left[k] = right[k] = terms.zipped(a[k], b[k], "axis", k);
  result[rank - 2] = left[rank - 2] = a[rank - 2];
  result[rank - 1] = right[rank - 1] = b[rank - 1];
  const int inner = left[rank - 1] = right[rank - 2] = terms.zipped(a[rank - 1], b[rank - 2], "the summed axis, of the left operand", rank - 1);
  if (inner != kWhole) combined.push_back(inner);
  return answer(terms, result, {left, right}, combined);
}

/// The batch may be sharded, and the filters if they form one group. Partial sums are combined over channels. Halos are exchanged along the spatial axes.
Carried channels_and_halo(const Terms& terms) {
  const trace::Convolution how = trace::Convolution::of(terms.node.ints);
  const std::vector<int>&x = terms.axes(0), &filters = terms.axes(1);
  if (how.groups != 1) {
    terms.want_whole(0, 1, "channels in groups must be whole");
    terms.want_whole(1, 0, "filters in groups must be whole");
    terms.want_whole(1, 1, "channels in groups must be whole");
  }
  for (std::size_t axis = 2; axis < filters.size(); ++axis) terms.want_whole(1, axis, "a filter must be whole");
  const int channels = terms.zipped(x[1], filters[1], "the channels, axis", 1);
  std::vector<int> result = x, of_filters(filters.size(), kWhole), combined;
  result[1] = of_filters[0] = filters[0];
  of_filters[1] = channels;
  if (channels != kWhole) combined.push_back(channels);
  Carried carried = answer(terms, result, {}, combined);
  Sharding lies = carried.result;
  lies.axes[1] = channels;
  Shape places = terms.node.shape;
  places[1] = terms.shape(0)[1];
  carried.wanted.push_back([how, lies, places, from = terms.shape(0), taps = terms.shape(1)](const Part& part) {
    Block wanted = block_of(places, lies, part);
    for (std::size_t k = 0; k < how.axes(); ++k) {
      Range& range = wanted[k + 2];
      if (lies.axes[k + 2] == kWhole) range = {0, from[k + 2]};
      else if (range.size() > 0) {
        const std::int64_t first = range.begin * how.stride[k] - how.before[k];
        const std::int64_t last = (range.end - 1) * how.stride[k] - how.before[k] + (taps[k + 2] - 1) * how.dilation[k];
        range = intersection(Range{0, from[k + 2]}, Range{first, last + 1});
        if (range.size() == 0) range = {};
      }
    }
    return wanted;
  });
  carried.wanted.push_back(blocks(terms.shape(1), {terms.mesh, of_filters}));
  return carried;
}

Carried apply(const Terms& terms) {
  switch (terms.node.op) {
#define SINTER_ELEMENTWISE(id, ...) \
  case Op::id: return elementwise(terms);
#define SINTER_REDUCTION(id, ...) \
  case Op::id: return reduction(terms);
#define SINTER_STRUCTURAL(id, arity, sharding) \
  case Op::id: return sharding(terms);
#include "trace/primitives.def"
  }
  throw InternalError("no primitive");
}

std::shared_ptr<Spread> spread_of(const Recorded& node, const trace::Operands& inputs) {
  const std::vector<Operand> operands = operands_of(inputs, {node.called, node.where});
  return std::make_shared<Spread>(Spread{carry(node, operands).result, {}, nullptr});
}

}  // namespace

Sharding Carried::work() const {
  Sharding all = result;
  all.axes.insert(all.axes.end(), combined.begin(), combined.end());
  return all;
}

std::vector<Operand> operands_of(const trace::Operands& inputs, const trace::Site& site) {
  MeshPtr mesh;
  for (const auto& input : inputs) {
    if (!input->spread) continue;
    if (mesh && mesh != input->spread->sharding.mesh)
      trace::fail<ShardingError>(site, "the operands lie on two meshes; call ranks::unshard on one of them, or shard both on one mesh");
    mesh = input->spread->sharding.mesh;
  }
  std::vector<Operand> operands;
  for (const auto& input : inputs)
    operands.push_back({input.get(), input->spread ? input->spread->sharding : Sharding{mesh, std::vector<int>(input->shape.size(), kWhole)}});
  return operands;
}

Carried carry(const Recorded& node, std::span<const Operand> operands, const Sharding* as) {
  const Terms terms{node, operands, as != nullptr ? as->mesh : operands[0].sharding.mesh};
  if (node.op == Op::contiguous && as != nullptr) return answer(terms, as->axes, {as->axes});
  Carried carried = apply(terms);
  const Sharding work = carried.work();
  for (std::size_t k = 0; k < work.axes.size(); ++k)
    if (work.axes[k] != kWhole && work.along(static_cast<std::size_t>(work.axes[k])) != static_cast<int>(k))
      terms.fail(fmt::format("two axes of the result would be sharded along {}", terms.axis_name(work.axes[k])),
                 "call ranks::unshard on one of them first, or shard it along another mesh axis");
  return carried;
}

void watch_recording() { trace::set_spread_hook(spread_of); }

}  // namespace sinter::ranks
