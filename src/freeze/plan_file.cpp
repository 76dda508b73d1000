#include "freeze/plan_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "cache/entry.hpp"
#include "freeze/archive.hpp"
#include "io/file.hpp"
#include "jit/identities.hpp"
#include "sinter/errors.hpp"

namespace sinter::freezing {
namespace {

constexpr std::array<char, 8> kMagic{'s', 'n', 'p', 'l', 'a', 'n', '\r', '\n'};
constexpr std::size_t kPage = 4096, kChecksumBytes = 16;

/// The identity of what made a plan and the kernels in it.
std::string made_by(const Target& target) { return fmt::format("{}, {}", jit::planner(), target.kind().generator); }

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t schema = kPlanSchema, reserved = 0;
  std::uint64_t description_bytes = 0, contents_at = 0, contents_bytes = 0;
};
static_assert(sizeof(Header) == 40);

// --- the description: what a file says, as plain values

struct Input {
  DType dtype{};
  std::string name;
  std::vector<std::pair<std::int64_t, std::string>> shape;
  auto tied() { return std::tie(dtype, name, shape); }
};

struct Place {  // a trace::GatherSite or CallSite
  std::string called, file;
  std::uint32_t line = 0;
  std::int64_t axis = 0;
  auto tied() { return std::tie(called, file, line, axis); }
};

struct Leaf {
  int input = -1;
  std::uint64_t at = 0, bytes = 0;  // of the contents, where it is no input
  auto tied() { return std::tie(input, at, bytes); }
};

struct GraphNode {
  trace::Op op{};
  DType dtype{};
  Shape shape;
  int leaf = -1;
  auto tied() { return std::tie(op, dtype, shape, leaf); }
};

struct FileStep {
  bool library = false;
  fuse::LibraryCall call;  // library
  jit::LoopNest nest;      // kernel
  jit::ResourceReport report;
  int kernel = -1;  // number of its entry; -1: it is interpreted
  std::string cut;
  std::vector<int> constants, gathers, reads, writes, last_reads;
  std::uint64_t numbers = 0;
  bool follows = false;
  int in_place = -1;
  double bytes_moved = 0, bytes_unfused = 0;
  auto tied() {
    return std::tie(library, call, nest, report, kernel, cut, constants, gathers, reads, writes, last_reads, numbers, follows, in_place, bytes_moved,
                    bytes_unfused);
  }
};

struct Literal {
  DType dtype{};
  std::uint64_t bits = 0;
  Multilinear<double> value;
  auto tied() { return std::tie(dtype, bits, value); }
};

struct Room {
  Multilinear<std::int64_t> left;
  std::string of;
  auto tied() { return std::tie(left, of); }
};

struct FilePlan {
  std::vector<std::int64_t> sizes, held, by, rests, first, last, lows;
  std::vector<std::string> why;
  std::vector<SizeRules::Pair> alike;
  std::vector<Multilinear<std::int64_t>> symbols, gathered;
  std::vector<Literal> literals;
  std::vector<std::vector<Multilinear<std::int64_t>>> shapes;
  std::vector<Room> room;
  std::vector<Leaf> leaves;
  std::vector<Place> gathers, calls;
  std::vector<DType> results;
  std::vector<GraphNode> nodes;
  std::vector<FileStep> steps;
  std::vector<trace::Scalar> made;
  std::vector<int> bytes, outputs;
  double bytes_moved = 0, bytes_unfused = 0;
  fuse::SizeProgram program;
  std::string explanation;
  auto tied() {
    return std::tie(sizes, held, by, rests, first, last, lows, why, alike, symbols, gathered, literals, shapes, room, leaves, gathers, calls, results, nodes,
                    steps, made, bytes, outputs, bytes_moved, bytes_unfused, program, explanation);
  }
};

struct Description {
  std::string generator, target;
  std::vector<Input> inputs;
  std::vector<std::string> outputs;
  std::vector<FilePlan> plans;
  std::vector<std::string> kernels;  // entries of the disk cache
  auto tied() { return std::tie(generator, target, inputs, outputs, plans, kernels); }
};

// --- writing

/// Contents one after the other, each once.
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
  const Planned& planned = *plan.planned;
  FilePlan out;
  out.sizes = plan.sizes;
  const SizeRules& rules = *plan.rules;
  out.held = rules.held;
  out.by = rules.steps;
  out.rests = rules.rests;
  out.first = rules.first;
  out.last = rules.last;
  out.lows = rules.lows;
  out.why = rules.why;
  out.alike = rules.alike;
  out.symbols = rules.symbols;
  out.gathered = rules.gathered;
  for (const auto& literal : rules.literals) out.literals.push_back({literal.dtype, literal.bits, literal.value});
  out.shapes = rules.shapes;
  for (const auto& room : rules.room) out.room.push_back({room.left, room.of});
  const Leaves& leaves = *plan.leaves;
  for (std::size_t k = 0; k < leaves.inputs.size(); ++k) {
    Leaf leaf{leaves.inputs[k]};
    if (leaf.input < 0) std::tie(leaf.at, leaf.bytes) = contents.add(leaves.storages[k], Engine::get().host_contents(leaves.storages[k]));
    out.leaves.push_back(leaf);
  }
  for (const auto& site : leaves.gathers) out.gathers.push_back(place_of(site, site.axis));
  for (const auto& site : leaves.calls) out.calls.push_back(place_of(site, 0));
  out.results = leaves.results;
  for (const auto& node : planned.plan.graph.nodes) out.nodes.push_back({node.op, node.dtype, fuse::hints(node.shape), node.leaf});
  for (std::size_t s = 0; s < planned.steps.size(); ++s) {
    const fuse::Step& step = planned.plan.steps[s];
    const PlannedStep& made = planned.steps[s];
    FileStep& to = out.steps.emplace_back();
    to.library = step.kind == fuse::Step::Kind::library;
    if (to.library) {
      to.call = fuse::bound(step.call, fuse::hints(fuse::numbers_of(step.call)).data());
    } else {
      to.nest = made.nest;
      if (const std::string entry = Engine::get().kernels().entry_of(made.made, kind); !entry.empty())
        to.kernel = kernels.try_emplace(entry, static_cast<int>(kernels.size())).first->second;
    }
    to.report = made.made.report;
    to.cut = fuse::to_string(step.cut());
    to.constants = made.constants;
    to.gathers = made.gathers;
    to.reads = made.reads;
    to.writes = made.writes;
    to.last_reads = made.last_reads;
    to.numbers = made.numbers;
    to.follows = made.follows;
    to.in_place = made.in_place;
    to.bytes_moved = step.bytes_moved;
    to.bytes_unfused = step.bytes_unfused;
  }
  out.made = planned.made;
  out.bytes = planned.bytes;
  out.outputs = planned.outputs;
  out.bytes_moved = planned.plan.bytes_moved;
  out.bytes_unfused = planned.plan.bytes_unfused;
  out.program = planned.program;
  out.explanation = plan.explanation;
  return out;
}

// --- reading

/// Names that recorded operations point to for ever.
const char* kept(std::string text) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return names.insert(std::move(text)).first->c_str();
}

void require(bool good, std::string_view what) {
  if (!good) throw Damaged{what};
}

bool all_below(const std::vector<int>& list, std::size_t count) {
  return std::all_of(list.begin(), list.end(), [&](int k) { return k >= 0 && static_cast<std::size_t>(k) < count; });
}

bool all_below_or_none(const std::vector<int>& list, std::size_t count) {
  return std::all_of(list.begin(), list.end(), [&](int k) { return k < 0 || static_cast<std::size_t>(k) < count; });
}

/// What a call will take for granted: every number names something that is there.
void check(const FilePlan& plan, const Description& all, std::size_t axes, std::uint64_t contents_bytes) {
  const std::size_t nodes = plan.nodes.size(), symbols = plan.symbols.size();
  std::size_t free = 0;
  require(plan.sizes.size() == axes && plan.held.size() == axes && plan.first.size() == axes && plan.last.size() == axes && plan.why.size() == axes,
          "the axes of a plan");
  require(plan.by.size() == axes && plan.rests.size() == axes &&
              std::all_of(plan.by.begin(), plan.by.end(), [](std::int64_t step) { return step > 0 && step <= kMaxStep; }),
          "the axes of a plan");
  for (const std::int64_t size : plan.held) free += size < 0;
  require(free <= kMaxFreeAxes, "the axes of a plan");
  const auto rule = [&](const auto& one) { return one.size() == std::size_t{1} << free; };
  const auto all_rules = [&](const auto& list) { return std::all_of(list.begin(), list.end(), rule); };
  require(plan.lows.size() == symbols && all_rules(plan.symbols) && all_rules(plan.gathered) && plan.gathered.size() == plan.gathers.size(),
          "the rules of the sizes");
  for (const auto& shape : plan.shapes) require(all_rules(shape), "the rules of the sizes");
  for (const auto& [a, b] : plan.alike) require(a >= 0 && a < b && static_cast<std::size_t>(b) < symbols, "the rules of the sizes");
  for (const Room& room : plan.room) require(rule(room.left), "the rules of the sizes");
  for (const auto& literal : plan.literals) require(literal.value.empty() || rule(literal.value), "the rules of the sizes");
  require(plan.shapes.size() == all.outputs.size() && plan.results.size() == all.outputs.size() && plan.outputs.size() == all.outputs.size(), "the results");
  require(all_below(plan.outputs, nodes) && plan.bytes.size() == nodes, "the results");
  for (const Leaf& leaf : plan.leaves)
    require(leaf.input >= 0 ? static_cast<std::size_t>(leaf.input) < all.inputs.size()
                            : leaf.at <= contents_bytes && leaf.bytes <= contents_bytes - leaf.at && leaf.at % kArenaAlign == 0,
            "the contents");
  for (const GraphNode& node : plan.nodes)
    require(node.op != trace::Op::data || (node.leaf >= 0 && static_cast<std::size_t>(node.leaf) < plan.leaves.size()), "a node");
  std::size_t numbers = 0;
  std::vector<char> there(nodes);  // in memory, as far as the steps have come
  for (std::size_t node = 0; node < nodes; ++node) there[node] = plan.nodes[node].op == trace::Op::data;
  const auto lists = [](const std::vector<int>& list, int node) { return std::find(list.begin(), list.end(), node) != list.end(); };
  for (const FileStep& step : plan.steps) {
    require(step.numbers == numbers, "the numbers of a step");
    require(all_below(step.reads, nodes) && all_below(step.writes, nodes) && all_below(step.last_reads, nodes) && step.in_place < static_cast<int>(nodes),
            "what a step reads");
    require(all_below(step.constants, plan.literals.size() + plan.made.size()) && all_below(step.gathers, plan.gathers.size()), "what a step takes");
    if (step.library) {
      require(!step.follows && trace::is_library(step.call.op), "a library call");
      numbers += step.call.shape.size();
      require(step.call.node >= 0 && static_cast<std::size_t>(step.call.node) < nodes && step.call.call < static_cast<int>(plan.calls.size()) &&
                  !step.call.operands.empty(),
              "a library call");
      require(lists(step.writes, step.call.node) && step.call.operands.size() == static_cast<std::size_t>(trace::primitive(step.call.op).arity) + step.call.row,
              "a library call");
      require(!step.call.row || step.call.op == trace::Op::matmul, "a library call");
      require(plan.nodes[static_cast<std::size_t>(step.call.node)].dtype == step.call.stored, "a library call");
      for (const auto& operand : step.call.operands) {
        require(operand.node >= 0 && static_cast<std::size_t>(operand.node) < nodes && operand.shape.size() == operand.strides.size(), "a library call");
        require(lists(step.reads, operand.node) && plan.nodes[static_cast<std::size_t>(operand.node)].dtype == operand.dtype, "what a step reads");
        numbers += 1 + 2 * operand.shape.size();
      }
    } else {
      const jit::LoopNest& nest = step.nest;
      jit::verify(nest);
      require(step.constants.size() == nest.scalars.size() && static_cast<int>(step.gathers.size()) == nest.checks, "what a step takes");
      require(step.kernel < static_cast<int>(all.kernels.size()), "a kernel");
      for (const auto* accesses : {&nest.inputs, &nest.outputs})
        for (const auto& access : *accesses) {
          require(access.buffer >= 0 && static_cast<std::size_t>(access.buffer) < nodes, "what a step reads");
          require(lists(accesses == &nest.inputs ? step.reads : step.writes, access.buffer) &&
                      plan.nodes[static_cast<std::size_t>(access.buffer)].dtype == access.dtype,
                  "what a step reads");
        }
      require(!step.follows || (nest.rows == 0 && nest.checks == 0 && nest.schedule.form == jit::Form::pointwise), "a step that follows another");
      numbers += nest.ints.size() + nest.inputs.size() + nest.outputs.size();
    }
    for (const int node : step.reads) require(there[static_cast<std::size_t>(node)], "what a step reads is not there");
    require(step.in_place < 0 || there[static_cast<std::size_t>(step.in_place)], "what a step takes the memory of is not there");
    for (const int node : step.writes) {
      require(plan.nodes[static_cast<std::size_t>(node)].op != trace::Op::data, "a step writes over what it was given");
      there[static_cast<std::size_t>(node)] = 1;
    }
  }
  for (const int output : plan.outputs)
    require(there[static_cast<std::size_t>(output)] || plan.bytes[static_cast<std::size_t>(output)] < 0, "a result that no step writes");
  std::size_t sized = 0;
  for (const int number : plan.bytes) {
    require(number < 0 || (static_cast<std::size_t>(number) >= numbers), "the sizes of the values");
    sized += number >= 0;
  }
  require(plan.program.sound(symbols, numbers + sized) && all_below_or_none(plan.bytes, numbers + sized), "the program of the sizes");
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    require(!plan.steps[s].follows || (s > 0 && plan.steps[s - 1].library && fuse::comes_in_pieces(plan.steps[s - 1].call.op)), "a step that follows another");
    for (const int node : plan.steps[s].writes) require(plan.bytes[static_cast<std::size_t>(node)] >= 0, "the sizes of the values");
  }
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
  for (const Place& at : from.gathers) leaves->gathers.push_back({kept(at.called), {kept(at.file), at.line}, at.axis, 0});
  for (const Place& at : from.calls) leaves->calls.push_back({kept(at.called), {kept(at.file), at.line}});
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

  Made make(const FileStep& step) {
    const runtime::Kind& kind = target_.kind();
    if (step.kernel < 0 || target_.interpret) {
      Made made;
      made.interpreted = true;
      made.kernel = kind.interprets ? target_.device->load(step.nest, {}) : nullptr;
      return made;
    }
    const auto number = static_cast<std::size_t>(step.kernel);
    require(binaries_[number].entry == step.nest.name, "a kernel");
    if (target_name_.empty()) target_name_ = kind.generate(step.nest, target_.limits).target;
    if (made_for_[number] == target_name_) {
      Made made;
      made.report = step.report;
      made.report.compile_ms = 0;
      made.origin = jit::Origin::disk;
      if (!loaded_[number]) loaded_[number] = target_.device->load(step.nest, binaries_[number]);
      made.kernel = loaded_[number];
      return made;
    }
    if (!kind.compiler())
      throw DeviceError(fmt::format("its kernels were compiled for {}, this is {}, and there is no {} to compile them again. {}", made_for_[number],
                                    target_name_, kind.compiler_name, kind.compiler_advice));
    return Engine::get().kernels().make(step.nest, target_, step.cut);
  }

 private:
  const Target& target_;
  std::string target_name_;  // of this machine, as a kernel's source has it
  std::vector<jit::Binary> binaries_;
  std::vector<std::string> made_for_;
  std::vector<runtime::KernelPtr> loaded_;
};

std::shared_ptr<const Planned> planned_of(FilePlan& from, KernelsOfFile& kernels, const Target& target) {
  auto planned = std::make_shared<Planned>();
  for (const GraphNode& node : from.nodes) {
    fuse::Node& to = planned->plan.graph.nodes.emplace_back();
    to.op = node.op;
    to.dtype = node.dtype;
    to.shape = fuse::sizes_of(node.shape);
    to.leaf = node.leaf;
  }
  for (FileStep& step : from.steps) {
    fuse::Step& to = planned->plan.steps.emplace_back();
    to.kind = step.library ? fuse::Step::Kind::library : fuse::Step::Kind::kernel;
    to.bytes_moved = step.bytes_moved;
    to.bytes_unfused = step.bytes_unfused;
    to.follows = step.follows;
    if (step.library) to.call = fuse::planned(step.call);
    PlannedStep& made = planned->steps.emplace_back();
    if (!step.library) made.made = kernels.make(step);
    made.nest = std::move(step.nest);
    made.constants = std::move(step.constants);
    made.gathers = std::move(step.gathers);
    made.reads = std::move(step.reads);
    made.writes = std::move(step.writes);
    made.last_reads = std::move(step.last_reads);
    made.numbers = step.numbers;
    made.follows = step.follows;
    made.in_place = step.in_place;
  }
  planned->plan.bytes_moved = from.bytes_moved;
  planned->plan.bytes_unfused = from.bytes_unfused;
  planned->made = std::move(from.made);
  planned->bytes = std::move(from.bytes);
  planned->outputs = std::move(from.outputs);
  planned->limits = target.limits;
  planned->program = std::move(from.program);
  return planned;
}

FrozenFunction::Loaded read(std::string_view file, const std::shared_ptr<unsigned char>& mapped) {
  require(file.size() >= sizeof(Header) + kChecksumBytes, "it ends too soon");
  Header header;
  std::memcpy(&header, file.data(), sizeof header);
  require(header.magic == kMagic, "it does not begin as a plan does");
  require(header.schema == kPlanSchema, "its schema is of another sinter");
  const std::size_t end = file.size() - kChecksumBytes;
  require(header.description_bytes <= end - sizeof header && header.contents_at >= sizeof header + header.description_bytes && header.contents_at <= end &&
              header.contents_at % kPage == 0 && header.contents_bytes == end - header.contents_at,
          "its lengths do not add up");
  const auto sum = cache::checksum_of({reinterpret_cast<const std::uint8_t*>(file.data()), end});
  require(std::memcmp(sum.data(), file.data() + end, kChecksumBytes) == 0, "its checksum is wrong");

  Description all;
  ArchiveReader reader(file.substr(sizeof header, header.description_bytes));
  reader(all.generator);
  reader(all.target);
  FrozenFunction::Loaded loaded;
  loaded.at = Engine::get().frozen_target();
  if (all.target != loaded.at.target.limits.target)
    throw DeviceError(fmt::format("it was made for {}, the device is {}", all.target, loaded.at.target.limits.target));
  require(all.generator == made_by(loaded.at.target), "it is of another version of sinter");
  reader(all.inputs, all.outputs, all.plans, all.kernels);
  require(reader.at_end() && !all.plans.empty(), "the description");

  std::set<std::string> axes;
  for (const Input& input : all.inputs) {
    InputSpec& spec = loaded.specs.emplace_back();
    spec.dtype = input.dtype;
    spec.name = input.name;
    for (const auto& [size, axis] : input.shape) {
      require(size >= 0, "a size");
      spec.shape.emplace_back(axis, size);
      if (!axis.empty()) axes.insert(axis);
    }
  }
  loaded.names = all.outputs;
  KernelsOfFile kernels(all.kernels, loaded.at.target);
  const std::shared_ptr<unsigned char> contents(mapped, mapped.get() + header.contents_at);
  for (FilePlan& plan : all.plans) {
    check(plan, all, axes.size(), header.contents_bytes);
    FrozenPlan& to = loaded.plans.emplace_back();
    to.sizes = plan.sizes;
    to.leaves = leaves_of(plan, contents);
    SizeRules rules{plan.held, plan.by, plan.rests, plan.why, plan.first, plan.last, plan.lows, plan.symbols, plan.gathered, {}, plan.shapes, {}, plan.alike};
    for (const Room& room : plan.room) rules.room.push_back({room.left, room.of});
    for (const Literal& literal : plan.literals) rules.literals.push_back({literal.dtype, literal.bits, literal.value});
    to.rules = std::move(rules);
    to.explanation = std::move(plan.explanation);
    to.planned = planned_of(plan, kernels, loaded.at.target);
  }
  return loaded;
}

}  // namespace

void save_plans(const std::string& path, FrozenFunction& function, const trace::Site& site) {
  Description all;
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
  for (const FrozenPlan& plan : function.plans_to_save(site)) all.plans.push_back(described(plan, target.kind(), contents, kernels));
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

FrozenFunction::Loaded load_plans(const std::string& path, const trace::Site& site) {
  const ForkGate::Inside inside(Engine::fork_gate());
  io::Reader reader(site, path);
  if (reader.left() == 0) reader.refuse("the plan is empty");
  const std::size_t bytes = reader.left();
  const auto mapped = std::static_pointer_cast<unsigned char>(reader.map(bytes));
  try {
    return read({reinterpret_cast<const char*>(mapped.get()), bytes}, mapped);
  } catch (const Damaged& damaged) {
    reader.refuse(fmt::format("this is no plan that can be read: {}", damaged.what));
  } catch (const InternalError& error) {
    reader.refuse(fmt::format("this is no plan that can be read: {}", error.what()));
  } catch (const CompileError& error) {
    reader.refuse(fmt::format("this is no plan that can be read: {}", error.what()));
  } catch (const DeviceError& error) {
    trace::fail_on_device(site, error, fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace sinter::freezing
