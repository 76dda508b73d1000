#include "trace/loops.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include "trace/hash.hpp"

namespace sinter::trace {
namespace {

constexpr int kHistory = 1024;            // ops remembered; a round may be half as long
constexpr int kFirstAnchor = 32;          // nodes without an evaluation before a loop is looked for
constexpr std::size_t kMaxSurvey = 4096;  // nodes looked at for each op of one round
constexpr std::size_t kFirstSweep = 512;  // nodes registered before those that are gone are swept out

// Where and what: equal for the same op of the next round.
std::uint64_t signature(const Recorded& node) {
  std::uint64_t hash = mix(reinterpret_cast<std::uintptr_t>(node.where.file), node.where.line);
  hash = mix(hash, static_cast<std::uint64_t>(node.op) << 8 | static_cast<std::uint64_t>(node.dtype));
  return mix(hash, node.shape.size());  // not the sizes: a stencil uses up its margin
}

/// Nodes since the last evaluation that the user asked for: until they are many, nothing is remembered of them. Has no destructor, so
/// that it can be asked at any time.
thread_local constinit int quiet = 0;

// Threads end and static objects are destroyed in an order of their own; recording goes on without loops then.
thread_local bool over = false;

class Loop {
 public:
  ~Loop() { over = true; }

  std::vector<RecordedPtr> recorded(const RecordedPtr& node) {
    nodes_.push_back(node);
    if (nodes_.size() >= sweep_at_) sweep();
    if (node->depth >= kMaxPendingDepth) return cut(node, true);  // no loop was seen, but it must not go on for ever
    if (!is_elementwise(node->op) && !is_reduction(node->op)) return {};
    signatures_[static_cast<std::size_t>(count_ % kHistory)] = signature(*node);
    ++count_;
    ++watched_;
    ++since_cut_;
    if (period_ == 0) {
      look_for_period(node->depth);
      return {};
    }
    if (!repeats(count_ - 1, period_)) {
      forget();
      return {};
    }
    const std::int64_t place = count_ % period_;
    if (surveyed_ < period_) {  // one round is watched to find where the fewest values are held
      ++surveyed_;
      if (nodes_.size() > kMaxSurvey) surveyed_ = period_;
      else if (const auto held = held_by_user(alive(), 1).size(); held < fewest_) {
        fewest_ = held;
        place_ = place;
      }
      return {};
    }
    if (place != place_ || since_cut_ + period_ <= kLoopOps) return {};
    return cut(node, false);
  }

  void evaluation_asked() {
    since_cut_ = kFirstAnchor;  // are not seen here
    watched_ = 0;
    forget();
  }

 private:
  bool repeats(std::int64_t at, std::int64_t distance) const {
    return signatures_[static_cast<std::size_t>(at % kHistory)] == signatures_[static_cast<std::size_t>((at - distance) % kHistory)];
  }

  void forget() {
    period_ = 0;
    anchor_ = -1;
  }

  // The op at the anchor comes round again, waiting for what came before, and the ops since are those before it.
  void look_for_period(std::uint32_t depth) {
    const std::int64_t last = count_ - 1;
    if (anchor_ < 0 || last - anchor_ >= kHistory / 2) {
      anchor_ = last;
      anchor_depth_ = depth;
      return;
    }
    const std::int64_t distance = last - anchor_;
    if (!repeats(last, distance) || depth <= anchor_depth_ || watched_ < 2 * distance) return;
    for (std::int64_t k = 1; k < distance; ++k)
      if (!repeats(last - k, distance)) return;
    period_ = distance;
    surveyed_ = 0;
    place_ = count_ % period_;
    fewest_ = std::numeric_limits<std::size_t>::max();
  }

  std::vector<RecordedPtr> alive() const {
    std::vector<RecordedPtr> alive;
    for (const auto& weak : nodes_)
      if (RecordedPtr node = weak.lock(); node && !node->evaluated()) alive.push_back(std::move(node));
    return alive;
  }

  void sweep() {
    std::erase_if(nodes_, [](const std::weak_ptr<Recorded>& weak) {
      const RecordedPtr node = weak.lock();
      return !node || node->evaluated();
    });
    sweep_at_ = std::max(kFirstSweep, 2 * nodes_.size());
  }

  // What the user holds; the node itself is held by nobody yet.
  std::vector<RecordedPtr> cut(const RecordedPtr& node, bool with_node) {
    since_cut_ = 0;
    std::vector<RecordedPtr> cut;
    std::unordered_set<const Recorded*> known{node.get()};
    for (RecordedPtr held : held_by_user(alive(), 1)) {
      while (is_view(held->op) && !held->evaluated()) {  // the memory behind it: a view stays free
        const Operands inputs = held->inputs();
        if (inputs.empty()) break;
        held = inputs.front();
      }
      if (!held->evaluated() && held->op != Op::data && known.insert(held.get()).second) cut.push_back(std::move(held));
    }
    if (with_node || cut.empty()) cut.push_back(node);
    else since_cut_ = 1;  // the node belongs to the next piece
    return cut;
  }

  std::vector<std::weak_ptr<Recorded>> nodes_;  // of this thread, in the order of recording
  std::size_t sweep_at_ = kFirstSweep;
  std::vector<std::uint64_t> signatures_ = std::vector<std::uint64_t>(kHistory);
  std::int64_t count_ = 0, watched_ = 0;        // ops: all, and since the user last asked for an evaluation
  std::int64_t since_cut_ = kFirstAnchor;       // and since the last evaluation
  std::int64_t anchor_ = -1, period_ = 0;
  std::uint32_t anchor_depth_ = 0;
  std::int64_t surveyed_ = 0, place_ = 0;
  std::size_t fewest_ = 0;
};

thread_local Loop loop;

}  // namespace

std::vector<RecordedPtr> recorded(const RecordedPtr& node) {
  if (quiet < kFirstAnchor) {
    ++quiet;
    if (node->depth < kMaxPendingDepth) return {};
  }
  return over ? std::vector<RecordedPtr>{} : loop.recorded(node);
}
void evaluation_asked() {
  if (quiet == kFirstAnchor && !over) loop.evaluation_asked();
  quiet = 0;
}

bool worth_storing(const Recorded& node) {
  static SpinLock lock;
  static auto& computed_again = *new std::unordered_set<std::uint64_t>;  // lines whose results were; static tensors may outlive order
  static std::atomic<bool> any{false};
  const bool again = node.computed.exchange(true, std::memory_order_relaxed);
  if (!again && !any.load(std::memory_order_relaxed)) return false;
  std::lock_guard guard(lock);
  if (!again) return computed_again.contains(signature(node));
  computed_again.insert(signature(node));
  any = true;
  return true;
}

std::vector<RecordedPtr> held_by_user(const std::vector<RecordedPtr>& nodes, long counted) {
  std::unordered_map<const Recorded*, long> references;
  references.reserve(nodes.size());
  for (const auto& node : nodes) references.emplace(node.get(), counted);
  for (const auto& node : nodes)
    for (const auto& input : node->inputs())
      if (const auto found = references.find(input.get()); found != references.end()) ++found->second;
  std::vector<RecordedPtr> held;
  for (const auto& node : nodes)
    if (node.use_count() > references.at(node.get())) held.push_back(node);
  return held;
}

}  // namespace sinter::trace
