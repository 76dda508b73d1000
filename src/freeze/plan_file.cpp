#include "freeze/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "cache/entry.hpp"
#include "engine/plan_check.hpp"
#include "io/file.hpp"
#include "jit/identities.hpp"
#include "sinter/errors.hpp"

namespace sinter::freezing {
namespace {

constexpr std::array<char, 8> kMagic{'s', 'n', 'p', 'l', 'a', 'n', '\r', '\n'};
constexpr std::size_t kPage = 4096, kChecksumBytes = 16;

/// Returns the identities of the sources that make plans and of those that generate kernels.
std::string made_by(const Target& target) { return fmt::format("{}, {}", jit::planner(), target.kind().generator); }

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t schema = kPlanSchema, reserved = 0;
  std::uint64_t description_bytes = 0, contents_at = 0, contents_bytes = 0;
};
static_assert(sizeof(Header) == 40);

// --- the description: the contents of a file as plain values

struct Input {
  DType dtype{};
  std::string name;
  std::vector<std::pair<std::int64_t, std::string>> shape;
};

struct Place {  // a trace::GatherSite or CallSite
  std::string called, file;
  std::uint32_t line = 0;
  std::int64_t axis = 0;
};

struct Leaf {
  int input = -1;
  std::uint64_t at = 0, bytes = 0;  // in the contents, if the leaf is no input
};

struct StepKernel {
  jit::ResourceReport report;
  int entry = -1;  // its number; -1: a library call, or a kernel that is interpreted
};

struct FilePlan {
  std::vector<std::int64_t> sizes;
  SizeRules rules;
  std::vector<Leaf> leaves;
  std::vector<Place> gathers, calls;
  std::vector<DType> results;
  Planned planned;
  std::vector<StepKernel> kernels;
  std::vector<std::vector<StepKernel>> call_kernels;  // the call's kernels, for each step
};

struct FileStage {
  static constexpr std::uint32_t kFirst = ~std::uint32_t{0};
  std::uint32_t before = kFirst;                         // the number of the stage before, which precedes it in the list
  std::uint8_t turn_kind = 0, end_kind = 0;              // the turn that leads here, and where it ends
  std::uint64_t state = 0, counters = 0, collected = 0;  // see StagePath
  Place decision;
  std::vector<std::string> missing;  // see Stage
  std::uint64_t results = 0;
  std::vector<DType> further;
  std::vector<FilePlan> plans;

  Turn::Kind turn() const { return static_cast<Turn::Kind>(turn_kind); }
  End end() const { return static_cast<End>(end_kind); }
};

struct Description {
  std::string generator, target, note;
  std::vector<Input> inputs;
  std::vector<std::string> outputs;
  std::vector<FileStage> stages;
  std::vector<std::string> kernels;  // entries of the disk cache
};

// --- writing

/// Collects contents in order, each once.
class Contents {
 public:
  std::pair<std::uint64_t, std::uint64_t> add(const StoragePtr& storage, std::shared_ptr<void> host) {
    const auto [known, fresh] = places_.try_emplace(storage.get(), bytes_);
    if (fresh) {
      list_.push_back({std::move(host), storage->bytes});
      bytes_ += (storage->bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign;
    }
    return {known->second, storage->bytes};
  }
  std::uint64_t bytes() const { return bytes_; }
  template <class Write> void each(Write write) const {
    for (const auto& [host, bytes] : list_) write(host.get(), bytes, (kArenaAlign - bytes % kArenaAlign) % kArenaAlign);
  }

 private:
  std::map<const Storage*, std::uint64_t> places_;
  std::vector<std::pair<std::shared_ptr<void>, std::uint64_t>> list_;
  std::uint64_t bytes_ = 0;
};

template <class Site> Place place_of(const Site& site, std::int64_t axis) { return {site.called, site.where.file, site.where.line, axis}; }

FilePlan described(const FrozenPlan& plan, const runtime::Kind& kind, Contents& contents, std::map<std::string, int>& kernels) {
  FilePlan out{plan.sizes, *plan.rules, {}, {}, {}, plan.leaves->results, *plan.planned, {}, {}};
  const Leaves& leaves = *plan.leaves;
  for (std::size_t k = 0; k < leaves.inputs.size(); ++k) {
    Leaf leaf{leaves.inputs[k]};
    if (leaf.input < 0) std::tie(leaf.at, leaf.bytes) = contents.add(leaves.storages[k], Engine::get().host_contents(leaves.storages[k]));
    out.leaves.push_back(leaf);
  }
  for (const auto& site : leaves.gathers) out.gathers.push_back(place_of(site, site.axis));
  for (const auto& site : leaves.calls) out.calls.push_back(place_of(site, 0));
  const auto stored = [&](const Made& made) {
    StepKernel kernel{made.report};
    if (const std::string entry = Engine::get().kernels().entry_of(made, kind); !entry.empty())
      kernel.entry = kernels.try_emplace(entry, static_cast<int>(kernels.size())).first->second;
    return kernel;
  };
  for (const PlannedStep& step : plan.planned->steps) {
    out.kernels.push_back(step.library ? StepKernel() : stored(step.made));
    auto& of_call = out.call_kernels.emplace_back();
    for (const Made& made : step.call_kernels) of_call.push_back(stored(made));
  }
  return out;
}

// --- reading

/// Returns a name that is never freed, because recorded operations may point to it.
const char* interned(std::string text) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(std::move(text)).first->c_str();
}

/// Checks the numbers that a call uses without further checks: each must refer to an existing object.
void check(const FilePlan& plan, const FileStage& stage, const Description& all, std::size_t axes, std::uint64_t contents_bytes) {
  const SizeRules& rules = plan.rules;
  const std::size_t symbols = rules.symbols.size();
  std::size_t free = 0;
  require(plan.sizes.size() == axes && rules.held.size() == axes && rules.first.size() == axes && rules.last.size() == axes && rules.why.size() == axes,
          "the axes of a plan");
  require(rules.steps.size() == axes && rules.rests.size() == axes &&
              std::all_of(rules.steps.begin(), rules.steps.end(), [](std::int64_t step) { return step > 0 && step <= kMaxStep; }),
          "the axes of a plan");
  for (const std::int64_t size : rules.held) free += size < 0;
  require(free <= kMaxFreeAxes, "the axes of a plan");
  const auto rule = [&](const auto& one) { return one.size() == std::size_t{1} << free; };
  const auto all_rules = [&](const auto& list) { return std::all_of(list.begin(), list.end(), rule); };
  require(rules.lows.size() == symbols && all_rules(rules.symbols) && all_rules(rules.gathered) && rules.gathered.size() == plan.gathers.size(),
          "the rules of the sizes");
  for (const auto& shape : rules.shapes) require(all_rules(shape), "the rules of the sizes");
  for (const auto& [a, b] : rules.alike) require(a >= 0 && a < b && static_cast<std::size_t>(b) < symbols, "the rules of the sizes");
  for (const SizeRules::Unread& unread : rules.unread) require(rule(unread.left), "the rules of the sizes");
  for (const auto& literal : rules.literals) require(literal.value.empty() || rule(literal.value), "the rules of the sizes");
  require(rules.shapes.size() == stage.results + stage.further.size() && plan.results.size() == stage.results, "the results");
  require(stage.end() == End::results || (plan.results.front() == DType::bool_ && rules.shapes.front().empty()), "a decision");
  for (const Leaf& leaf : plan.leaves)
    require(leaf.input >= 0 ? static_cast<std::size_t>(leaf.input) < all.inputs.size() + stage.counters + stage.further.size()
                            : leaf.at <= contents_bytes && leaf.bytes <= contents_bytes - leaf.at && leaf.at % kArenaAlign == 0,
            "the contents");
  engine::check(plan.planned,
                {plan.leaves.size(), rules.literals.size(), plan.gathers.size(), plan.calls.size(), symbols, static_cast<std::size_t>(stage.results)});
  require(plan.kernels.size() == plan.planned.steps.size() && plan.call_kernels.size() == plan.planned.steps.size(), "a kernel");
  const auto is_there = [&](const StepKernel& kernel) { return kernel.entry < static_cast<int>(all.kernels.size()); };
  require(std::all_of(plan.kernels.begin(), plan.kernels.end(), is_there), "a kernel");
  for (const auto& of_call : plan.call_kernels) require(std::all_of(of_call.begin(), of_call.end(), is_there), "a kernel");
}

std::shared_ptr<const Leaves> leaves_of(const FilePlan& from, const std::shared_ptr<unsigned char>& contents) {
  auto leaves = std::make_shared<Leaves>();
  for (const Leaf& leaf : from.leaves) {
    leaves->inputs.push_back(leaf.input);
    StoragePtr storage;
    if (leaf.input < 0) {
      storage = std::make_shared<Storage>();
      storage->bytes = leaf.bytes;
      storage->host = {contents, contents.get() + leaf.at};
    }
    leaves->storages.push_back(std::move(storage));
  }
  for (const Place& at : from.gathers) leaves->gathers.push_back({interned(at.called), {interned(at.file), at.line}, at.axis, 0});
  for (const Place& at : from.calls) leaves->calls.push_back({interned(at.called), {interned(at.file), at.line}});
  leaves->results = from.results;
  return leaves;
}

/// Machine code for the steps of a file's plans.
class KernelsOfFile {
 public:
  KernelsOfFile(const std::vector<std::string>& entries, const Target& target) : target_(target), loaded_(entries.size()) {
    for (const std::string& entry : entries) {
      const auto view = cache::decode({reinterpret_cast<const std::uint8_t*>(entry.data()), entry.size()});
      require(view.status == cache::EntryView::Status::good, "a kernel");
      auto binary = cache::binary_of(view);
      require(binary.has_value(), "a kernel");
      binaries_.push_back(std::move(*binary));
      made_for_.emplace_back(cache::target_of(view.key));
    }
  }

  Made make(const PlannedStep& step, const StepKernel& kernel) {
    const runtime::Kind& kind = target_.kind();
    if (kernel.entry < 0 || target_.interpret) {
      Made made;
      made.interpreted = true;
      made.kernel = kind.interprets ? target_.device->load(step.nest, {}) : nullptr;
      return made;
    }
    if (target_name_.empty()) target_name_ = kind.generate(step.nest, target_.limits).target;
    if (auto made = loaded(kernel, step.nest)) return std::move(*made);
    return Engine::get().kernels().make(step.nest, target_, fuse::to_string(step.boundary));
  }

  /// Returns the kernels of a library call, or none if not all were compiled; the host then computes it.
  std::vector<Made> make(const fuse::LibraryCall& call, const std::vector<StepKernel>& kernels) {
    std::vector<Made> all;
    const runtime::Kind& kind = target_.kind();
    if (kernels.empty() || !kind.call_sources) return all;
    const std::vector<jit::Source> sources = kind.call_sources(call, target_.limits);
    require(sources.size() == kernels.size(), "the kernels of a library call");
    for (std::size_t k = 0; k < kernels.size(); ++k) {
      if (kernels[k].entry < 0) return {};
      if (target_name_.empty()) target_name_ = sources[k].target;
      auto made = loaded(kernels[k], nest_named(sources[k].entry));
      if (!made) return Engine::get().kernels().make_for(call, target_);
      made->generated = std::make_shared<const jit::Source>(sources[k]);
      all.push_back(std::move(*made));
    }
    return all;
  }

 private:
  /// Returns nothing for a kernel that was compiled for another machine and can be compiled for this one.
  std::optional<Made> loaded(const StepKernel& kernel, const jit::LoopNest& nest) {
    const auto number = static_cast<std::size_t>(kernel.entry);
    require(binaries_[number].entry == nest.name, "a kernel");
    const runtime::Kind& kind = target_.kind();
    if (made_for_[number] != target_name_) {
      if (kind.compiler()) return {};
      throw DeviceError(fmt::format("its kernels were compiled for {}, this is {}, and there is no {} to compile them again. {}", made_for_[number],
                                    target_name_, kind.compiler_name, kind.compiler_advice));
    }
    Made made;
    made.report = kernel.report;
    made.report.compile_ms = 0;
    made.origin = jit::Origin::disk;
    if (!loaded_[number]) loaded_[number] = target_.device->load(nest, binaries_[number]);
    made.kernel = loaded_[number];
    return made;
  }

  const Target& target_;
  std::string target_name_;  // the target of this machine, in the form of a kernel's source
  std::vector<jit::Binary> binaries_;
  std::vector<std::string> made_for_;
  std::vector<runtime::KernelPtr> loaded_;
};

std::shared_ptr<const Planned> planned_of(FilePlan& from, KernelsOfFile& kernels, const Target& target) {
  auto planned = std::make_shared<Planned>(std::move(from.planned));
  planned->limits = target.limits;
  for (std::size_t s = 0; s < planned->steps.size(); ++s)
    if (PlannedStep& step = planned->steps[s]; !step.library) {
      step.made = kernels.make(step, from.kernels[s]);
    } else {
      step.call_kernels = kernels.make(step.call, from.call_kernels[s]);
      if (target.kind().prepare_call) target.kind().prepare_call(step.call);
    }
  return planned;
}

/// Checks that the stages form a tree, and that each has the values to which its end refers. A call checks the values that stages give to each other.
void check_stages(const Description& all) {
  constexpr std::uint64_t kMaxCollected = 1 << 20;
  require(!all.stages.empty(), "the stages");
  for (std::size_t k = 0; k < all.stages.size(); ++k) {
    const FileStage& stage = all.stages[k];
    require(stage.turn_kind <= static_cast<int>(Turn::Kind::after) && stage.end_kind <= static_cast<int>(End::round), "the stages");
    require(!stage.plans.empty() && stage.missing.size() == std::tuple_size_v<decltype(Stage::missing)>, "the stages");
    require(stage.end() == End::results ? stage.results == all.outputs.size() : stage.results > stage.state, "the stages");
    require(stage.collected <= kMaxCollected, "the stages");
    if (stage.before == FileStage::kFirst) {
      require(stage.further.empty() && stage.counters == 0 && stage.end() != End::round, "the stages");
      continue;
    }
    require(k > 0 && stage.before < k, "the stages");
    const FileStage& before = all.stages[stage.before];
    const bool fits = stage.turn() == Turn::Kind::yes || stage.turn() == Turn::Kind::no ? before.end() == End::condition : before.end() == End::loop;
    require(fits && stage.counters == before.counters + (stage.turn() == Turn::Kind::after && before.collected > 0), "the stages");
    require(stage.turn() != Turn::Kind::after || stage.further.size() >= before.state, "the stages");
    if (stage.end() == End::round) {
      std::size_t into = k;  // the first stage of the round
      while (all.stages[into].before != FileStage::kFirst && all.stages[into].turn() != Turn::Kind::round) into = all.stages[into].before;
      require(all.stages[into].before != FileStage::kFirst && all.stages[all.stages[into].before].state == stage.state, "the stages");
    }
  }
}

StagedFunction::Loaded read(std::string_view file, const std::shared_ptr<unsigned char>& mapped) {
  require(file.size() >= sizeof(Header) + kChecksumBytes, "the file ends too early");
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  require(header.magic == kMagic, "it does not begin as a plan file does");
  require(header.schema == kPlanSchema, "its schema belongs to another version of sinter");
  const std::size_t end = file.size() - kChecksumBytes;
  require(header.description_bytes <= end - sizeof header && header.contents_at >= sizeof header + header.description_bytes && header.contents_at <= end &&
              header.contents_at % kPage == 0 && header.contents_bytes == end - header.contents_at,
          "its lengths contradict each other");
  const auto sum = cache::checksum_of({reinterpret_cast<const std::uint8_t*>(file.data()), end});
  require(std::memcmp(sum.data(), file.data() + end, kChecksumBytes) == 0, "its checksum is wrong");

  Description all;
  ArchiveReader reader(file.substr(sizeof header, header.description_bytes));
  reader(all.generator);
  reader(all.target);
  const Frozen at = Engine::get().frozen_target();
  if (all.target != at.target.limits.target) throw DeviceError(fmt::format("it was made for {}, the device is {}", all.target, at.target.limits.target));
  require(all.generator == made_by(at.target), "another version of sinter made it");
  reader(all.note, all.inputs, all.outputs, all.stages, all.kernels);
  require(reader.at_end(), "the description");
  check_stages(all);

  std::set<std::string> axes;
  std::vector<InputSpec> specs;
  for (const Input& input : all.inputs) {
    InputSpec& spec = specs.emplace_back();
    spec.dtype = input.dtype;
    spec.name = input.name;
    for (const auto& [size, axis] : input.shape) {
      require(size >= 0, "a size");
      spec.shape.emplace_back(axis, size);
      if (!axis.empty()) axes.insert(axis);
    }
  }
  KernelsOfFile kernels(all.kernels, at.target);
  const std::shared_ptr<unsigned char> contents(mapped, mapped.get() + header.contents_at);
  StagedFunction::Loaded loaded{{}, all.outputs, all.note};
  std::vector<Stage*> made;
  for (FileStage& from : all.stages) {
    std::vector<InputSpec> with_counters = specs;
    for (std::size_t loop = 0; loop < from.counters; ++loop) with_counters.push_back(counter_spec(loop));
    FrozenFunction::Loaded function{std::move(with_counters), static_cast<std::size_t>(from.results), from.further, {}, at};
    for (FilePlan& plan : from.plans) {
      check(plan, from, all, axes.size() + static_cast<std::size_t>(from.counters), header.contents_bytes);
      FrozenPlan& to = function.plans.emplace_back();
      to.sizes = plan.sizes;
      to.leaves = leaves_of(plan, contents);
      to.rules = std::move(plan.rules);
      to.planned = planned_of(plan, kernels, at.target);
    }
    const bool is_first = from.before == FileStage::kFirst;
    Stages& places = is_first ? loaded.first : made[from.before]->next[static_cast<std::size_t>(from.turn())];
    Stage* const place = places.emplace_back(is_first ? std::make_unique<Stage>() : stage_after(*made[from.before], from.turn())).get();
    place->path.end = from.end();
    place->path.state = static_cast<std::size_t>(from.state);
    place->path.counters = static_cast<std::size_t>(from.counters);
    place->path.round.collected = static_cast<std::size_t>(from.collected);
    place->path.decision = {interned(from.decision.called), {interned(from.decision.file), from.decision.line}};
    std::copy(from.missing.begin(), from.missing.end(), place->missing.begin());
    place->function = std::make_unique<FrozenFunction>(std::move(function));
    made.push_back(place);
  }
  return loaded;
}

}  // namespace

void save_plans(const std::string& path, StagedFunction& function, std::string_view note, const trace::Site& site) {
  const Stages& first = function.complete(site.where);
  Description all;
  all.note = note;
  const Target& target = function.at().target;
  all.generator = made_by(target);
  all.target = target.limits.target;
  for (const InputSpec& spec : function.inputs()) {
    Input& input = all.inputs.emplace_back();
    input.dtype = spec.dtype;
    input.name = spec.name;
    for (const AxisSize& axis : spec.shape) input.shape.emplace_back(axis.size, axis.name);
  }
  all.outputs = function.outputs();
  Contents contents;
  std::map<std::string, int> kernels;
  const ForkGate::Inside inside(Engine::fork_gate());
  const std::function<void(const Stage&, std::uint32_t, Turn::Kind)> add = [&](const Stage& stage, std::uint32_t before, Turn::Kind turn) {
    const auto number = static_cast<std::uint32_t>(all.stages.size());
    const StagePath& stage_path = stage.path;
    const Site& decision = stage_path.decision;
    FileStage to{before,
                 static_cast<std::uint8_t>(turn),
                 static_cast<std::uint8_t>(stage_path.end),
                 stage_path.state,
                 stage_path.counters,
                 stage_path.round.collected,
                 {decision.op, decision.where.file, decision.where.line, 0},
                 {stage.missing.begin(), stage.missing.end()},
                 stage.function->results(),
                 stage.function->further(),
                 {}};
    for (const FrozenPlan& plan : stage.function->plans_to_save(site)) to.plans.push_back(described(plan, target.kind(), contents, kernels));
    all.stages.push_back(std::move(to));
    for (std::size_t next = 0; next < stage.next.size(); ++next)
      for (const auto& after : stage.next[next]) add(*after, number, static_cast<Turn::Kind>(next));
  };
  for (const auto& stage : first) add(*stage, FileStage::kFirst, Turn::Kind::no);
  all.kernels.resize(kernels.size());
  for (const auto& [entry, number] : kernels) all.kernels[static_cast<std::size_t>(number)] = entry;
  ArchiveWriter description;
  description(all);
  Header header;
  header.description_bytes = description.bytes.size();
  header.contents_at = (sizeof header + description.bytes.size() + kPage - 1) / kPage * kPage;
  header.contents_bytes = contents.bytes();

  cache::Checksum sum;
  io::Writer writer(site, path);
  const auto write = [&](const void* from, std::size_t bytes) {
    sum.add({static_cast<const std::uint8_t*>(from), bytes});
    writer.write(from, bytes);
  };
  const std::string zeros(kPage, '\0');
  write(&header, sizeof header);
  write(description.bytes.data(), description.bytes.size());
  write(zeros.data(), header.contents_at - sizeof header - description.bytes.size());
  contents.each([&](const void* from, std::size_t bytes, std::size_t padding) {
    write(from, bytes);
    write(zeros.data(), padding);
  });
  const auto digest = sum.value();
  writer.write(digest.data(), digest.size());
  writer.finish();
}

StagedFunction::Loaded load_plans(const std::string& path, const trace::Site& site) {
  const ForkGate::Inside inside(Engine::fork_gate());
  io::Reader reader(site, path);
  if (reader.left() == 0) reader.refuse("the plan is empty");
  const std::size_t bytes = reader.left();
  const auto mapped = std::static_pointer_cast<unsigned char>(reader.map(bytes));
  try {
    return read({reinterpret_cast<const char*>(mapped.get()), bytes}, mapped);
  } catch (const Damaged& damaged) {
    reader.refuse(fmt::format("this plan file cannot be read: {}", damaged.what));
  } catch (const InternalError& error) {
    reader.refuse(fmt::format("this plan file cannot be read: {}", error.what()));
  } catch (const CompileError& error) {
    reader.refuse(fmt::format("this plan file cannot be read: {}", error.what()));
  } catch (const DeviceError& error) {
    trace::fail_on_device(site, error, fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace sinter::freezing
