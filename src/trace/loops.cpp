#include "trace/loops.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/hash.hpp"
#include "trace/structural_key.hpp"

namespace sinter::trace {
namespace {

constexpr int kQuiet = 32;                  // this many nodes after an evaluation by the user are not registered here
constexpr int kWindow = 128;                // minimum number of nodes, and of their depth, for a search for iterations
constexpr std::int64_t kMinIterations = 4;  // minimum number of iterations of a known loop before it counts as found again, because one may be incomplete
constexpr int kLost = 4;                    // after this many windows without the place, its loop counts as ended
constexpr std::size_t kFirstSweep = 512;    // number of nodes that are registered before destroyed ones are removed

/// The number of nodes since the last evaluation by the user. Nodes are registered only after there are many. The counter has no destructor, so that it can be
/// read at any time.
thread_local constinit int quiet = 0;

// Threads end and static objects are destroyed in any order; recording after that has no loop detection.
thread_local bool over = false;

class Loop {
 public:
  ~Loop() { over = true; }

  Pieces recorded(const RecordedPtr& node) {
    nodes_.push_back(node);
    if (nodes_.size() >= sweep_at_) sweep();
    if (node->depth >= kMaxPendingDepth) return finish_piece(node, true);  // no loop was found, but memory must stay bounded
    ++since_evaluation_;
    if (place_ == 0) {
      const bool window_is_full = since_evaluation_ >= look_at_ && node->depth >= kWindow;
      return window_is_full || is_known_loop(*node) ? look(node) : Pieces{};
    }
    if (std::exchange(iteration_is_over_, is_place(*node)) && is_last_of_piece()) return finish_piece(node, false);
    if (since_evaluation_ - seen_at_ > kLost * kWindow) place_ = 0, look_at_ = since_evaluation_ + kWindow;
    return {};
  }

  Pieces about_to_look() { return place_ != 0 && std::exchange(iteration_is_over_, false) && is_last_of_piece() ? finish_piece(nullptr, false) : Pieces{}; }

  void evaluation_asked() {
    since_evaluation_ = 0;
    look_at_ = kWindow - kQuiet;
    place_ = 0;
    for (Known& loop : found_before_) loop.times = 0;
  }

 private:
  // A loop that was found before, and how often its place occurred since the last evaluation.
  struct Known {
    std::uint64_t place = 0;
    PlaceLike like;
    std::int64_t each = 1, times = 0;
  };

  // Returns whether a known loop runs again: its place occurred often enough to find the loop, and a piece is complete. The place may occur several times per
  // iteration, at most `each` times.
  bool is_known_loop(const Recorded& node) {
    for (Known& loop : found_before_)
      if (loop.like.may_be(node) && place_of(node) == loop.place) return ++loop.times == std::min(kMinIterations * loop.each, loop.each + kWindow / 4);
    return false;
  }

  void remember() {
    const auto same = std::find_if(found_before_.begin(), found_before_.end(), [&](const Known& loop) { return loop.place == place_; });
    const auto last = same == found_before_.end() ? std::prev(same) : same;
    std::rotate(found_before_.begin(), last, std::next(last));  // the latest loop first
    found_before_.front() = {place_, like_, each_, 0};
  }

  // Searches for iterations in the nodes that the user holds and in `node`, which has no handle yet. Complete iterations are evaluated immediately.
  Pieces look(const RecordedPtr& node) {
    std::vector<RecordedPtr> roots = held();
    roots.push_back(node);
    Traversal traversal;
    traversal.walk(roots);
    DetectedLoop found = find_loop(traversal.pending(), reach_of(traversal.pending()));
    place_ = found.place;
    like_ = found.like;
    each_ = found.each;
    iteration_is_over_ = is_place(*node);
    times_ = found.since - iteration_is_over_;
    seen_at_ = since_evaluation_;
    look_at_ = 2 * since_evaluation_;
    if (place_ != 0) remember();
    return std::move(found.pieces);
  }

  // Counts a completed iteration.
  bool is_last_of_piece() {
    seen_at_ = since_evaluation_;
    return ++times_ % each_ == 0;
  }

  bool is_place(const Recorded& node) const { return like_.may_be(node) && place_of(node) == place_; }

  // Returns the node's place among the known nodes; the next free one for a new node.
  std::uint32_t number(const Recorded* node, const std::vector<RecordedPtr>& nodes) {
    return known_.find_or_add(mix(0, reinterpret_cast<std::uintptr_t>(node) >> 4), static_cast<std::uint32_t>(nodes.size()),
                              [&](std::uint32_t k) { return nodes[k].get() == node; });
  }

  // Returns the unevaluated nodes that the user holds, among the registered nodes and their operands.
  std::vector<RecordedPtr> held() {
    std::vector<RecordedPtr> nodes;
    std::vector<long> references;  // references other than the user's
    nodes.reserve(nodes_.size());
    references.reserve(nodes_.size());
    known_.clear();
    const auto add = [&](RecordedPtr node) {
      nodes.push_back(std::move(node));
      references.push_back(1);
    };
    for (const auto& weak : nodes_)
      if (RecordedPtr node = weak.lock(); node && !node->evaluated() && number(node.get(), nodes) == nodes.size()) add(std::move(node));
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const Recorded& node = *nodes[at];
      std::lock_guard guard(node.lock);
      for (const RecordedPtr& input : node.pending) {
        if (input->op == Op::constant || input->evaluated()) continue;
        const std::uint32_t below = number(input.get(), nodes);
        if (below == nodes.size()) add(input);
        ++references[below];
      }
    }
    std::size_t kept = 0;
    for (std::size_t at = 0; at < nodes.size(); ++at)
      if (nodes[at].use_count() > references[at]) nodes[kept++] = std::move(nodes[at]);
    nodes.resize(kept);
    return nodes;
  }

  void sweep() {
    std::erase_if(nodes_, [](const std::weak_ptr<Recorded>& weak) {
      const RecordedPtr node = weak.lock();
      return !node || node->evaluated();
    });
    sweep_at_ = std::max(kFirstSweep, 2 * nodes_.size());
  }

  // Returns the nodes that the user holds, and with `with_node` the node itself, which has no handle yet.
  Pieces finish_piece(const RecordedPtr& node, bool with_node) {
    Pieces pieces(1);
    std::vector<RecordedPtr>& piece = pieces.front();
    std::vector<RecordedPtr> all = held();
    known_.clear();
    for (RecordedPtr& held : all) {
      while (is_view(held->op) && !held->evaluated()) {  // use the node of which it is a view, so that the view stays free
        const Operands inputs = held->inputs();
        if (inputs.empty()) break;
        held = inputs.front();
      }
      if (held->evaluated() || held->op == Op::data || held == node) continue;
      const auto fresh = static_cast<std::uint32_t>(piece.size());  // several views may have the same base
      if (number(held.get(), piece) == fresh) piece.push_back(std::move(held));
    }
    nodes_.clear();
    since_evaluation_ = seen_at_ = 0;
    look_at_ = kWindow;
    if (node) {
      if (with_node || piece.empty()) piece.push_back(node);
      nodes_.push_back(node);  // the node belongs to the next piece
      since_evaluation_ = 1;
    }
    return piece.empty() ? Pieces{} : pieces;
  }

  std::vector<std::weak_ptr<Recorded>> nodes_;  // nodes of this thread in the order of recording
  NumberIndex known_;
  std::size_t sweep_at_ = kFirstSweep;
  std::int64_t since_evaluation_ = 0;        // nodes since the last evaluation
  std::int64_t look_at_ = kWindow - kQuiet;  // nodes since then before the next search
  std::uint64_t place_ = 0;                  // the place that ends an iteration
  PlaceLike like_;
  bool iteration_is_over_ = false;  // true after the last node of an iteration
  std::int64_t each_ = 1, times_ = 0, seen_at_ = 0;
  std::array<Known, 4> found_before_;
};

thread_local Loop loop;

}  // namespace

Pieces recorded(const RecordedPtr& node) {
  if (quiet < kQuiet) {
    ++quiet;
    if (node->depth < kMaxPendingDepth) return {};
  }
  return over ? Pieces{} : loop.recorded(node);
}
Pieces about_to_look() { return quiet < kQuiet || over ? Pieces{} : loop.about_to_look(); }
void evaluation_asked() {
  if (quiet == kQuiet && !over) loop.evaluation_asked();
  quiet = 0;
}

bool worth_storing(const Recorded& node, bool held) {
  static SpinLock lock;
  static auto& computed_again = *new std::unordered_set<std::uint64_t>;  // lines whose results were computed again; never destroyed, because static tensors may
                                                                         // outlive it
  static std::atomic<bool> any{false};
  const bool again = held ? node.computed.exchange(true, std::memory_order_relaxed) : node.computed.load(std::memory_order_relaxed);
  if (!again && !(held && any.load(std::memory_order_relaxed))) return false;
  std::lock_guard guard(lock);
  if (!again) return computed_again.contains(place_of(node));
  computed_again.insert(place_of(node));
  any = true;
  return held;
}

}  // namespace sinter::trace
