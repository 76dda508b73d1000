#include "engine/executable.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace sinter::engine {
namespace {

constexpr std::size_t kMaxResults = 4, kMaxShared = std::size_t{16} << 20;
/// The alignment of a GPU's allocator.
constexpr std::size_t kResultAlign = 256;

/// Assigns results to shared blocks, the largest first.
void share_blocks(Executable& executable, const Target& target) {
  auto& results = executable.results;
  std::stable_sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  std::size_t inside = 0, largest = 0;
  for (auto& result : results) {
    const std::size_t offset = executable.blocks.empty() ? 0 : (executable.blocks.back() + kResultAlign - 1) / kResultAlign * kResultAlign;
    const bool joins = !target.device->reads_host() && inside > 0 && inside < kMaxResults && 2 * result.bytes >= largest && offset + result.bytes <= kMaxShared;
    if (!joins) {
      executable.blocks.push_back(0);
      inside = 0;
      largest = result.bytes;
    }
    ++inside;
    result.block = executable.blocks.size() - 1;
    result.offset = joins ? offset : 0;
    executable.blocks.back() = result.offset + result.bytes;
  }
}

}  // namespace

Executable bound_executable(std::shared_ptr<const Planned> planned, const std::vector<std::int64_t>& symbols, const Target& target, Kernels& kernels,
                            bool keep_all) {
  Executable executable;
  executable.symbols = symbols;
  planned->program.evaluate(symbols, executable.numbers);
  // A library call and the epilogue on the pieces of its result count as one moment.
  const std::size_t count = planned->values.size();
  std::vector<int> memory(count), first(count, -1), last(count, -1);
  std::vector<std::size_t> last_step(count);
  std::iota(memory.begin(), memory.end(), 0);
  std::vector<char> read(count), wanted(count);
  executable.cores = cores_of(*planned, executable.numbers);
  std::vector<int> moments;  // the moment of each step
  int moment = -1;
  for (std::size_t s = 0; s < planned->steps.size(); ++s) {
    const PlannedStep& step = planned->steps[s];
    if (!step.is_epilogue) ++moment;
    moments.push_back(moment);
    const auto core = std::find_if(executable.cores.begin(), executable.cores.end(), [&](const Core& one) { return one.step == s; });
    const auto needed = [&](std::size_t at) {
      last[static_cast<std::size_t>(memory[at])] = moment;
      last_step[static_cast<std::size_t>(memory[at])] = s;
    };
    for (const int value : step.reads) {
      const auto at = static_cast<std::size_t>(value);
      read[at] = 1;
      needed(at);
    }
    for (const int value : step.writes) {
      const auto at = static_cast<std::size_t>(value);
      if (step.in_place >= 0 && !keep_all) {
        memory[at] = memory[static_cast<std::size_t>(step.in_place)];
        executable.shared.emplace_back(value, memory[at]);
      } else {
        first[at] = core != executable.cores.end() ? moments[core->before] : moment;
      }
      needed(at);
    }
    executable.library.push_back(step.library ? fuse::bound(step.call, executable.numbers.data() + step.numbers) : fuse::LibraryCall{});
    executable.buffers |= keep_all || (step.library ? !runs_on_device(step, target) : !kernels.current(step.made, step.nest, target));
  }
  for (const int output : planned->outputs)
    if (!planned->value(output).is_leaf()) wanted[static_cast<std::size_t>(memory[static_cast<std::size_t>(output)])] = 1;
  std::vector<Lifetime> lives;
  for (int value = 0; value < static_cast<int>(count); ++value) {
    const auto at = static_cast<std::size_t>(value);
    if (planned->value(value).is_leaf()) {
      if (read[at]) executable.data.push_back(value);
    } else if (wanted[at]) {
      if (planned->value(value).bytes >= 0) executable.results.push_back({value, 0, 0, std::max<std::size_t>(planned->bytes_of(value, executable.numbers), 1)});
    } else if (first[at] >= 0) {
      lives.push_back({planned->bytes_of(value, executable.numbers), first[at], keep_all ? moment : last[at]});
      executable.places.push_back({value, 0, lives.back().bytes, last_step[at]});
    }
  }
  share_blocks(executable, target);
  executable.arena = lay_out(lives);
  for (std::size_t k = 0; k < lives.size(); ++k) executable.places[k].offset = executable.arena.offsets[k];
  executable.keeps_all = keep_all;
  executable.planned = std::move(planned);
  return executable;
}

namespace {

/// Finds the dependences of steps: earlier steps that write a value that they read or write, or that read a value that they write. Values in the arena depend
/// on each other if their places overlap.
class Dependences {
 public:
  explicit Dependences(const Executable& executable) {
    for (const auto& place : executable.places) places_[place.value] = &place;
    for (const auto& [node, with] : executable.shared) memory_[node] = with;
  }

  /// Adds a step. Returns the steps on which it depends directly.
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
    std::vector<bool> earlier;  // all earlier steps on which it depends
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

  std::map<int, const Executable::Place*> places_;
  std::map<int, int> memory_;
  std::vector<Step> steps_;
};

}  // namespace

void prepare_repeats(Executable& executable, const Target& target, Kernels& kernels) {
  const Planned& planned = *executable.planned;
  const auto kernel_of = [&](std::size_t s) -> runtime::Kernel* {
    const PlannedStep& step = planned.steps[s];
    return step.library ? nullptr : kernels.current(step.made, step.nest, target);
  };
  const auto can = [&](std::size_t s) { return kernel_of(s) && planned.steps[s].gathers.empty() && !planned.steps[s].is_epilogue; };
  const std::size_t count = planned.steps.size();
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
    Dependences dependences(executable);
    for (std::size_t s = first; s < last; ++s) {
      const PlannedStep& step = planned.steps[s];
      const jit::LoopNest& nest = step.nest;
      const auto ints = std::span<const std::int64_t>(executable.numbers).subspan(step.numbers, nest.ints.size());
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
    executable.repeated.push_back(std::move(repeated));
  }
}

std::shared_ptr<const Executable> Recurring::at(const std::shared_ptr<const Planned>& planned, const std::vector<std::int64_t>& symbols, const Target& target,
                                                Kernels& kernels, const std::function<void(const Executable&)>& check) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.symbols == symbols; });
  if (found == entries_.end()) {
    auto fresh = std::make_shared<Executable>(bound_executable(planned, symbols, target, kernels));
    if (check) check(*fresh);
    if (entries_.size() == kRemembered) entries_.pop_back();
    entries_.insert(entries_.begin(), {symbols, std::move(fresh)});
    return entries_.front().executable;
  }
  std::rotate(entries_.begin(), found, found + 1);
  Entry& entry = entries_.front();
  if (!std::exchange(entry.repeats, true)) {
    auto again = std::make_shared<Executable>(*entry.executable);
    prepare_repeats(*again, target, kernels);
    entry.executable = std::move(again);
  }
  return entry.executable;
}

}  // namespace sinter::engine
