#include "engine/executable.hpp"

#include <algorithm>
#include <map>

namespace sinter::engine {
namespace {

constexpr std::size_t kMaxResults = 4, kMaxShared = std::size_t{16} << 20;
/// The alignment of a GPU's allocator.
constexpr std::size_t kResultAlign = 256;

/// Assigns results to shared blocks, the largest first.
void share_blocks(Executable& executable, const Target& target) {
  auto& results = executable.results;
  if (results.size() > 1) std::stable_sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
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
  // Moments are counted: a library call and the epilogue on the pieces of its result are one.
  struct Value {
    int memory;                 // the value whose memory it uses
    int first = -1, last = -1;  // the moments at which its memory is needed
    std::size_t last_step = 0;
    bool read = false, wanted = false;
  };
  const std::size_t count = planned->values.size();
  std::vector<Value> values(count);
  for (std::size_t at = 0; at < count; ++at) values[at].memory = static_cast<int>(at);
  executable.cores = cores_of(*planned, executable.numbers);
  executable.library.reserve(planned->steps.size());
  std::vector<int> moments;  // the moment of each step
  moments.reserve(planned->steps.size());
  int moment = -1;
  for (std::size_t s = 0; s < planned->steps.size(); ++s) {
    const PlannedStep& step = planned->steps[s];
    if (!step.is_epilogue) ++moment;
    moments.push_back(moment);
    const auto core = std::find_if(executable.cores.begin(), executable.cores.end(), [&](const Core& one) { return one.step == s; });
    const auto needed = [&](const Value& value) {
      Value& owner = values[static_cast<std::size_t>(value.memory)];
      owner.last = moment;
      owner.last_step = s;
    };
    for (const int number : step.reads) {
      Value& value = values[static_cast<std::size_t>(number)];
      value.read = true;
      needed(value);
    }
    for (const int number : step.writes) {
      Value& value = values[static_cast<std::size_t>(number)];
      if (step.in_place >= 0 && !keep_all) {
        value.memory = values[static_cast<std::size_t>(step.in_place)].memory;
        executable.shared.emplace_back(number, value.memory);
      } else {
        value.first = core != executable.cores.end() ? moments[core->before] : moment;
      }
      needed(value);
    }
    executable.library.push_back(step.library ? fuse::bound(step.call, executable.numbers.data() + step.numbers) : fuse::LibraryCall{});
    // A kernel has no operands of a call, and a call no nest.
    fuse::each_offset(executable.library.back(), [&](const auto&, std::size_t at) { executable.offsets.push_back(step.numbers + at); });
    for (std::size_t k = 0; k < step.nest.inputs.size() + step.nest.outputs.size(); ++k) executable.offsets.push_back(step.numbers + step.nest.ints.size() + k);
    executable.buffers |= keep_all || (step.library ? !runs_on_device(step, target) : !kernels.current(step.made, step.nest, target));
  }
  for (const int output : planned->outputs)
    if (!planned->value(output).is_leaf()) values[static_cast<std::size_t>(values[static_cast<std::size_t>(output)].memory)].wanted = true;
  std::vector<Lifetime> lives;
  for (int number = 0; number < static_cast<int>(count); ++number) {
    const Value& value = values[static_cast<std::size_t>(number)];
    if (planned->value(number).is_leaf()) {
      if (value.read) executable.data.push_back(number);
    } else if (value.wanted) {
      if (planned->value(number).bytes >= 0)
        executable.results.push_back({number, 0, 0, std::max<std::size_t>(planned->bytes_of(number, executable.numbers), 1)});
    } else if (value.first >= 0) {
      lives.push_back({planned->bytes_of(number, executable.numbers), value.first, keep_all ? moment : value.last});
      executable.places.push_back({number, 0, lives.back().bytes, value.last_step});
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

/// Makes an executable of the same sizes that nobody runs at present read and write at the offsets of these symbols. Returns whether there was one; it is the
/// first of the entries then.
bool Recurring::move_one(const Planned& planned, const std::vector<std::int64_t>& symbols) {
  if (std::any_of(planned.outputs.begin(), planned.outputs.end(), [&](int output) { return planned.value(output).is_leaf(); })) return false;
  planned.program.evaluate(symbols, numbers_);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->executable.use_count() > 1) continue;
    { const auto other = entry->executable; }  // gives up a share of it as another thread did, and so sees all that this thread did before
    Executable& executable = *entry->executable;
    const auto is_offset = [&](std::size_t at) { return std::binary_search(executable.offsets.begin(), executable.offsets.end(), at); };
    bool same = executable.cores.empty() && executable.repeated.empty();
    for (std::size_t at = 0; same && at < numbers_.size(); ++at) same = numbers_[at] == executable.numbers[at] || is_offset(at);
    if (!same) continue;
    executable.symbols = symbols;
    executable.numbers = numbers_;
    for (std::size_t s = 0; s < executable.library.size(); ++s)
      fuse::each_offset(executable.library[s], [&](auto& operand, std::size_t at) { operand.offset = numbers_[planned.steps[s].numbers + at]; });
    std::rotate(entries_.begin(), entry, entry + 1);
    return true;
  }
  return false;
}

std::shared_ptr<const Executable> Recurring::at(const std::shared_ptr<const Planned>& planned, const std::vector<std::int64_t>& symbols, const Target& target,
                                                Kernels& kernels, const Check& check) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.executable->symbols == symbols; });
  if (found == entries_.end()) {
    // A device that repeats kernels has their addresses already.
    if (target.device->reads_host() && move_one(*planned, symbols)) {
      const Entry moved = std::move(entries_.front());
      entries_.erase(entries_.begin());  // one that fails the check must not be found again
      if (check) check(*moved.executable, Change::offsets);
      entries_.insert(entries_.begin(), moved);
      return moved.executable;
    }
    auto fresh = std::make_shared<Executable>(bound_executable(planned, symbols, target, kernels));
    if (check) check(*fresh, Change::all);
    if (entries_.size() == kRemembered) entries_.pop_back();
    entries_.insert(entries_.begin(), {std::move(fresh)});
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
