#include "engine/placed.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace sinter::engine {
namespace {

constexpr std::size_t kMostResults = 4, kMostShared = std::size_t{16} << 20;
/// What a GPU's allocator aligns to.
constexpr std::size_t kResultAlign = 256;

/// Memory for what is wanted, the largest first.
void share_blocks(Placed& placed, const Target& target) {
  auto& results = placed.results;
  std::stable_sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::size_t inside = 0, largest = 0;
  for (auto& result : results) {
    const std::size_t offset = placed.blocks.empty() ? 0 : (placed.blocks.back() + kResultAlign - 1) / kResultAlign * kResultAlign;
    const bool joins =
        !target.device->reads_host() && inside > 0 && inside < kMostResults && 2 * result.bytes >= largest && offset + result.bytes <= kMostShared;
    if (!joins) {
      placed.blocks.push_back(0);
      inside = 0;
      largest = result.bytes;
    }
    ++inside;
    result.block = placed.blocks.size() - 1;
    result.offset = joins ? offset : 0;
    placed.blocks.back() = result.offset + result.bytes;
  }
}

}  // namespace

void place(Placed& placed, std::shared_ptr<const Planned> planned, const std::vector<std::int64_t>& symbols, const Target& target) {
  planned->program.evaluate(symbols, placed.numbers);
  // A library call and what runs on the pieces of its result are one moment.
  const auto& steps = planned->steps;
  const std::size_t nodes = planned->plan.graph.nodes.size();
  std::vector<int> memory(nodes), first(nodes, -1), last(nodes, -1);
  std::iota(memory.begin(), memory.end(), 0);
  int moment = -1;
  std::set<int> read;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (!steps[s].follows) ++moment;
    for (const int node : steps[s].reads) {
      if (planned->plan.graph.nodes[static_cast<std::size_t>(node)].op == trace::Op::data) read.insert(node);
      last[static_cast<std::size_t>(memory[static_cast<std::size_t>(node)])] = moment;
    }
    for (const int node : steps[s].writes) {
      const auto at = static_cast<std::size_t>(node);
      if (steps[s].in_place >= 0) {
        memory[at] = memory[static_cast<std::size_t>(steps[s].in_place)];
        placed.shared.emplace_back(node, memory[at]);
      } else {
        first[at] = moment;
      }
      last[static_cast<std::size_t>(memory[at])] = moment;
    }
    const bool library = planned->plan.steps[s].kind == fuse::Step::Kind::library;
    placed.library.push_back(library ? fuse::bound(planned->plan.steps[s].call, placed.numbers.data() + steps[s].numbers) : fuse::LibraryCall{});
  }
  std::set<int> wanted;
  for (const int output : planned->outputs)
    if (planned->plan.graph.nodes[static_cast<std::size_t>(output)].op != trace::Op::data) wanted.insert(memory[static_cast<std::size_t>(output)]);
  placed.data.assign(read.begin(), read.end());
  for (const int node : wanted)
    if (planned->bytes[static_cast<std::size_t>(node)] >= 0)
      placed.results.push_back({node, 0, 0, std::max<std::size_t>(planned->bytes_of(node, placed.numbers), 1)});
  share_blocks(placed, target);
  std::vector<Lifetime> lives;
  for (std::size_t node = 0; node < nodes; ++node) {
    if (first[node] < 0 || wanted.contains(static_cast<int>(node))) continue;
    lives.push_back({planned->bytes_of(static_cast<int>(node), placed.numbers), first[node], last[node]});
    placed.places.push_back({static_cast<int>(node), 0, lives.back().bytes});
  }
  placed.arena = lay_out(lives);
  for (std::size_t k = 0; k < lives.size(); ++k) placed.places[k].offset = placed.arena.offsets[k];
  placed.planned = std::move(planned);
}

namespace {

/// What steps have to wait for: those before them that write what they read or write, or read what they write. Values in the arena are the
/// same memory where their places overlap.
class Dependences {
 public:
  explicit Dependences(const Placed& placed) {
    for (const auto& place : placed.places) places_[place.node] = &place;
    for (const auto& [node, with] : placed.shared) memory_[node] = with;
  }

  /// The number of the step that is added, and what it waits for, but for what those wait for themselves.
  std::vector<std::size_t> add(const PlannedStep& step) {
    std::vector<std::size_t> after;
    std::vector<bool> earlier(steps_.size());
    for (std::size_t other = steps_.size(); other-- > 0;) {
      if (earlier[other] || !depends(step, *steps_[other].step)) continue;
      after.push_back(other);
      earlier[other] = true;
      for (std::size_t k = 0; k < other; ++k) earlier[k] = earlier[k] || steps_[other].earlier[k];
    }
    steps_.push_back({&step, std::move(earlier)});
    return after;
  }

 private:
  struct Step {
    const PlannedStep* step;
    std::vector<bool> earlier;  // what it waits for, directly or not
  };
  bool same_memory(int a, int b) const {
    const auto root = [&](int node) {
      const auto found = memory_.find(node);
      return found == memory_.end() ? node : found->second;
    };
    a = root(a), b = root(b);
    if (a == b) return true;
    const auto x = places_.find(a), y = places_.find(b);
    if (x == places_.end() || y == places_.end()) return false;
    return x->second->offset < y->second->offset + y->second->bytes && y->second->offset < x->second->offset + x->second->bytes;
  }
  bool touch(const std::vector<int>& a, const std::vector<int>& b) const {
    return std::any_of(a.begin(), a.end(), [&](int x) { return std::any_of(b.begin(), b.end(), [&](int y) { return same_memory(x, y); }); });
  }
  bool depends(const PlannedStep& later, const PlannedStep& earlier) const {
    return touch(later.reads, earlier.writes) || touch(later.writes, earlier.writes) || touch(later.writes, earlier.reads);
  }

  std::map<int, const Placed::Place*> places_;
  std::map<int, int> memory_;
  std::vector<Step> steps_;
};

}  // namespace

void repeat(Placed& placed, const Target& target, Kernels& kernels) {
  const Planned& planned = *placed.planned;
  const auto kernel_of = [&](std::size_t s) -> runtime::Kernel* {
    return planned.plan.steps[s].kind == fuse::Step::Kind::kernel ? kernels.current(planned.steps[s].made, planned.steps[s].nest, target) : nullptr;
  };
  const auto can = [&](std::size_t s) { return kernel_of(s) && planned.steps[s].gathers.empty() && !planned.steps[s].follows; };
  const std::size_t count = planned.steps.size();
  for (std::size_t s = 0; s < count; ++s) {
    const fuse::Step& step = planned.plan.steps[s];
    placed.on_host |= step.kind == fuse::Step::Kind::library ? !fuse::has_library(target.limits, step.call.op, step.call.dtype) : kernel_of(s) == nullptr;
  }
  auto* const device = dynamic_cast<runtime::Repeats*>(target.device.get());
  if (!device) return;
  for (std::size_t first = 0, last; first < count; first = last) {
    last = first + 1;
    if (!can(first)) continue;
    while (last < count && can(last)) ++last;
    Repeated repeated;
    repeated.first = first;
    repeated.last = last;
    std::vector<runtime::RepeatedLaunch> launches;
    Dependences dependences(placed);
    for (std::size_t s = first; s < last; ++s) {
      const PlannedStep& step = planned.steps[s];
      const jit::LoopNest& nest = step.nest;
      const auto ints = std::span<const std::int64_t>(placed.numbers).subspan(step.numbers, nest.ints.size());
      if (std::find(ints.begin(), ints.begin() + nest.parallel, 0) != ints.begin() + nest.parallel) continue;  // nothing to write
      const std::int64_t* offset = ints.data() + ints.size();
      for (const auto* accesses : {&nest.inputs, &nest.outputs})
        for (const auto& access : *accesses) repeated.pointers.push_back({access.buffer, *offset++ * static_cast<std::ptrdiff_t>(itemsize(access.dtype))});
      repeated.constants.insert(repeated.constants.end(), step.constants.begin(), step.constants.end());
      launches.push_back({*kernel_of(s), nest, ints, nest.inputs.size() + nest.outputs.size(), dependences.add(step)});
    }
    if (launches.empty()) continue;
    repeated.launches = launches.size();
    repeated.replay = device->prepare(launches);
    placed.repeated.push_back(std::move(repeated));
  }
}

std::shared_ptr<const Placed> Recurring::at(const std::shared_ptr<const Planned>& planned, const std::vector<std::int64_t>& symbols, const Target& target,
                                            Kernels& kernels) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.symbols == symbols; });
  if (found == entries_.end()) {
    if (entries_.size() == kRemembered) entries_.pop_back();
    entries_.insert(entries_.begin(), {symbols, nullptr});
    return nullptr;
  }
  std::rotate(entries_.begin(), found, found + 1);
  Entry& entry = entries_.front();
  if (!entry.placed) {
    auto placed = std::make_shared<Placed>();
    place(*placed, planned, symbols, target);
    repeat(*placed, target, kernels);
    entry.placed = std::move(placed);
  }
  return entry.placed;
}

}  // namespace sinter::engine
