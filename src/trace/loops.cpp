#include "trace/loops.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "base/hash.hpp"
#include "trace/outline.hpp"

namespace sinter::trace {
namespace {

constexpr int kQuiet = 32;                 // nodes after an evaluation that was asked for of which nothing is remembered
constexpr int kWindow = 128;               // nodes, and their depth, before rounds are looked for
constexpr std::int64_t kFewestRounds = 4;  // of a loop that is looked for again: one may be there in part
constexpr int kLost = 4;                   // windows in which a place does not come round any more
constexpr std::size_t kFirstSweep = 512;   // nodes registered before those that are gone are swept out

/// Nodes since the last evaluation that the user asked for: until they are many, nothing is remembered of them. Has no destructor, so
/// that it can be asked at any time.
thread_local constinit int quiet = 0;

// Threads end and static objects are destroyed in an order of their own; recording goes on without loops then.
thread_local bool over = false;

class Loop {
 public:
  ~Loop() { over = true; }

  Pieces recorded(const RecordedPtr& node) {
    nodes_.push_back(node);
    if (nodes_.size() >= sweep_at_) sweep();
    if (node->depth >= kMaxPendingDepth) return cut(node, true);  // no loop was seen, but it must not go on for ever
    ++since_cut_;
    if (place_ == 0) {
      const bool window_is_full = since_cut_ >= look_at_ && node->depth >= kWindow;
      return window_is_full || comes_again(*node) ? look(node) : Pieces{};
    }
    if (std::exchange(round_is_over_, is_place(*node)) && is_last_of_piece()) return cut(node, false);
    if (since_cut_ - seen_at_ > kLost * kWindow) place_ = 0, look_at_ = since_cut_ + kWindow;
    return {};
  }

  Pieces about_to_look() { return place_ != 0 && std::exchange(round_is_over_, false) && is_last_of_piece() ? cut(nullptr, false) : Pieces{}; }

  void evaluation_asked() {
    since_cut_ = 0;
    look_at_ = kWindow - kQuiet;
    place_ = 0;
    for (Known& loop : found_before_) loop.times = 0;
  }

 private:
  // A loop that was found once, and how often its place came since the last evaluation.
  struct Known {
    std::uint64_t place = 0;
    PlaceLike like;
    std::int64_t each = 1, times = 0;
  };

  // A loop that runs again is looked for as soon as it is there often enough to be found, and a piece is whole. Its place may come several
  // times a round, at most `each` times.
  bool comes_again(const Recorded& node) {
    for (Known& loop : found_before_)
      if (loop.like.may_be(node) && place_of(node) == loop.place) return ++loop.times == std::min(kFewestRounds * loop.each, loop.each + kWindow / 4);
    return false;
  }

  void remember() {
    const auto same = std::find_if(found_before_.begin(), found_before_.end(), [&](const Known& loop) { return loop.place == place_; });
    const auto last = same == found_before_.end() ? std::prev(same) : same;
    std::rotate(found_before_.begin(), last, std::next(last));  // the latest first
    found_before_.front() = {place_, like_, each_, 0};
  }

  // For rounds in what the user holds, and in the node, which nobody holds yet. Those that are whole are evaluated at once.
  Pieces look(const RecordedPtr& node) {
    std::vector<RecordedPtr> roots = held();
    roots.push_back(node);
    Outline outline;
    outline.walk(roots);
    Rounds found = find_rounds(outline.pending(), reach_of(outline.pending()));
    place_ = found.place;
    like_ = found.like;
    each_ = found.each;
    round_is_over_ = is_place(*node);
    times_ = found.since - round_is_over_;
    seen_at_ = since_cut_;
    look_at_ = 2 * since_cut_;
    if (place_ != 0) remember();
    return std::move(found.pieces);
  }

  // Counts a round that is over.
  bool is_last_of_piece() {
    seen_at_ = since_cut_;
    return ++times_ % each_ == 0;
  }

  bool is_place(const Recorded& node) const { return like_.may_be(node) && place_of(node) == place_; }

  // Its place among the nodes that are known; the next one if it is new.
  std::uint32_t number(const Recorded* node, const std::vector<RecordedPtr>& nodes) {
    return known_.find_or_add(mix(0, reinterpret_cast<std::uintptr_t>(node) >> 4), static_cast<std::uint32_t>(nodes.size()),
                              [&](std::uint32_t k) { return nodes[k].get() == node; });
  }

  // What the user holds of what is not evaluated: of the nodes that are remembered and of what they wait for.
  std::vector<RecordedPtr> held() {
    std::vector<RecordedPtr> nodes;
    std::vector<long> references;  // besides the user's
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

  // What the user holds; the node itself, if there is one, is held by nobody yet.
  Pieces cut(const RecordedPtr& node, bool with_node) {
    Pieces pieces(1);
    std::vector<RecordedPtr>& cut = pieces.front();
    std::vector<RecordedPtr> all = held();
    known_.clear();
    for (RecordedPtr& held : all) {
      while (is_view(held->op) && !held->evaluated()) {  // the memory behind it: a view stays free
        const Operands inputs = held->inputs();
        if (inputs.empty()) break;
        held = inputs.front();
      }
      if (held->evaluated() || held->op == Op::data || held == node) continue;
      const auto fresh = static_cast<std::uint32_t>(cut.size());  // views may have a base in common
      if (number(held.get(), cut) == fresh) cut.push_back(std::move(held));
    }
    nodes_.clear();
    since_cut_ = seen_at_ = 0;
    look_at_ = kWindow;
    if (node) {
      if (with_node || cut.empty()) cut.push_back(node);
      nodes_.push_back(node);  // it belongs to the next piece
      since_cut_ = 1;
    }
    return cut.empty() ? Pieces{} : pieces;
  }

  std::vector<std::weak_ptr<Recorded>> nodes_;  // of this thread, in the order of recording
  NumberIndex known_;
  std::size_t sweep_at_ = kFirstSweep;
  std::int64_t since_cut_ = 0;               // nodes since the last evaluation
  std::int64_t look_at_ = kWindow - kQuiet;  // nodes since then before the next look
  std::uint64_t place_ = 0;                  // where a round ends
  PlaceLike like_;
  bool round_is_over_ = false;  // with the last node
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
  static auto& computed_again = *new std::unordered_set<std::uint64_t>;  // lines whose results were; static tensors may outlive order
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
