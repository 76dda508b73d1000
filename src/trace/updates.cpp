#include "trace/updates.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace sinter::trace {
namespace {

constexpr std::size_t kGroup = 16;  // pieces that are joined at once; shorter chains stay as they are

struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};
/// Where along axis k a pad puts its first operand.
Range range_of(const Node& pad, std::size_t k) { return {pad.ints[2 * k], pad.shape[k] - pad.ints[2 * k + 1]}; }

/// Elements [begin, end) of the result along the chain's axis: those of `node` from `from` on.
struct Piece {
  Range range;
  int node;
  std::int64_t from;
};

class Balancer {
 public:
  explicit Balancer(Graph& graph) : old_(graph.nodes), graph_(graph), uses_(old_.size(), 0), new_(old_.size(), -1) {}

  /// False when there is no chain that is long enough; nothing is changed then.
  bool run() {
    for (const Node& node : old_)
      for (const int input : node.inputs) ++uses_[at(input)];
    for (const int output : graph_.outputs) ++uses_[at(output)];
    std::map<int, Chain> chains;  // by their last pad
    std::vector<bool> inside(old_.size(), false);
    for (int id = static_cast<int>(old_.size()); id-- > 0;) {
      if (inside[at(id)]) continue;
      Chain chain = chain_from(id);
      if (chain.pads.size() <= kGroup) continue;
      for (const int pad : chain.pads) inside[at(pad)] = true;
      chains.emplace(id, std::move(chain));
    }
    if (chains.empty()) return false;
    for (int id = 0; id < static_cast<int>(old_.size()); ++id) {
      const auto chain = chains.find(id);
      if (chain != chains.end()) {
        new_[at(id)] = joined(chain->second);
      } else if (!inside[at(id)]) {
        Node node = old_[at(id)];
        for (int& input : node.inputs) input = new_[at(input)];
        new_[at(id)] = add(std::move(node));
      }
    }
    for (int& output : graph_.outputs) output = new_[at(output)];
    graph_.nodes = std::move(nodes_);
    return true;
  }

 private:
  /// Pads from the last to the first, each over the next and over nothing else, that differ along one axis alone.
  struct Chain {
    std::vector<int> pads;
    std::size_t axis = 0;
  };

  static std::size_t at(int id) { return static_cast<std::size_t>(id); }

  Chain chain_from(int id) const {
    Chain chain;
    std::optional<std::size_t> axis;
    for (; old_[at(id)].op == Op::pad; id = old_[at(id)].inputs[1]) {
      const Node& pad = old_[at(id)];
      if (!chain.pads.empty()) {
        if (uses_[at(id)] != 1) break;
        const Node& last = old_[at(chain.pads.front())];
        bool fits = true;
        for (std::size_t k = 0; fits && k < pad.shape.size(); ++k) {
          if (range_of(pad, k) == range_of(last, k) || axis == k) continue;
          fits = !axis;
          axis = k;
        }
        if (!fits) break;
      }
      chain.pads.push_back(id);
    }
    chain.axis = axis.value_or(0);
    return chain;
  }

  int add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }
  /// A node with the type, line and name of another.
  Node like(const Node& other, Op op, Shape shape) const {
    Node node;
    node.op = op;
    node.dtype = other.dtype;
    node.scalar.dtype = other.dtype;
    node.shape = std::move(shape);
    node.called = other.called;
    node.where = other.where;
    return node;
  }
  int sliced(const Node& maker, int from, const std::vector<Range>& ranges) {
    Shape shape;
    std::vector<std::int64_t> start_step;
    for (const Range& range : ranges) {
      shape.push_back(range.size());
      start_step.insert(start_step.end(), {range.begin, 1});
    }
    if (shape == nodes_[at(from)].shape) return from;
    Node node = like(maker, Op::slice, std::move(shape));
    node.inputs = {from};
    node.ints = std::move(start_step);
    return add(std::move(node));
  }

  int joined(const Chain& chain) {
    const Node last = old_[at(chain.pads.front())];
    const std::size_t rank = last.shape.size(), axis = chain.axis;
    const int under = new_[at(old_[at(chain.pads.back())].inputs[1])];
    // The later a pad, the more of it is seen: what it covers along the axis is no longer free.
    std::vector<Piece> pieces;
    std::map<std::int64_t, std::int64_t> open{{0, last.shape[axis]}};  // begin -> end
    for (const int id : chain.pads) {
      const Range range = range_of(old_[at(id)], axis);
      auto next = open.upper_bound(range.begin);
      if (next != open.begin()) --next;
      while (next != open.end() && next->first < range.end) {
        const Range free{next->first, next->second}, seen{std::max(free.begin, range.begin), std::min(free.end, range.end)};
        if (seen.size() <= 0) {
          ++next;
          continue;
        }
        next = open.erase(next);
        if (free.begin < seen.begin) open.emplace(free.begin, seen.begin);
        if (seen.end < free.end) next = open.emplace(seen.end, free.end).first;
        pieces.push_back({seen, new_[at(old_[at(id)].inputs[0])], seen.begin - range.begin});
      }
    }
    // All of it lies in one band: the whole along the axis, and what the pads have in common along the others.
    std::vector<Range> band;
    for (std::size_t k = 0; k < rank; ++k) band.push_back(k == axis ? Range{0, last.shape[k]} : range_of(last, k));
    for (const auto& [begin, end] : open) {
      std::vector<Range> ranges = band;
      ranges[axis] = {begin, end};
      pieces.push_back({{begin, end}, sliced(last, under, ranges), 0});
    }
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.range.begin < b.range.begin; });
    for (Piece& piece : pieces) {
      std::vector<Range> ranges;
      for (const std::int64_t size : nodes_[at(piece.node)].shape) ranges.push_back({0, size});
      ranges[axis] = {piece.from, piece.from + piece.range.size()};
      piece.node = sliced(last, piece.node, ranges);
    }
    while (pieces.size() > 1) pieces = grouped(last, pieces, band, axis);
    if (nodes_[at(pieces.front().node)].shape == last.shape) return pieces.front().node;
    Node whole = like(last, Op::pad, last.shape);
    whole.inputs = {pieces.front().node, under};
    for (std::size_t k = 0; k < rank; ++k) whole.ints.insert(whole.ints.end(), {band[k].begin, last.shape[k] - band[k].end});
    return add(std::move(whole));
  }

  std::vector<Piece> grouped(const Node& last, const std::vector<Piece>& pieces, const std::vector<Range>& band, std::size_t axis) {
    std::vector<Piece> groups;
    for (std::size_t begin = 0; begin < pieces.size(); begin += kGroup) {
      const std::size_t end = std::min(begin + kGroup, pieces.size());
      const Range range{pieces[begin].range.begin, pieces[end - 1].range.end};
      Shape shape;
      for (const Range& side : band) shape.push_back(side.size());
      shape[axis] = range.size();
      int group = add(like(last, Op::constant, shape));
      for (std::size_t k = begin; k < end; ++k) {
        Node pad = like(last, Op::pad, shape);
        pad.inputs = {pieces[k].node, group};
        pad.ints.assign(2 * shape.size(), 0);
        pad.ints[2 * axis] = pieces[k].range.begin - range.begin;
        pad.ints[2 * axis + 1] = range.end - pieces[k].range.end;
        group = end - begin == 1 ? pieces[k].node : add(std::move(pad));
      }
      groups.push_back({range, group, 0});
    }
    return groups;
  }

  const std::vector<Node>& old_;
  Graph& graph_;
  std::vector<int> uses_, new_;
  std::vector<Node> nodes_;
};

}  // namespace

void balance_updates(Graph& graph) {
  // A grid that was assigned to element by element is chains of chains: a row each.
  while (Balancer(graph).run()) {
  }
}

}  // namespace sinter::trace
