#include "engine/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/boundary.hpp"
#include "engine/origins.hpp"
#include "engine/overlap.hpp"
#include "engine/picture.hpp"
#include "sinter/counted.hpp"

namespace sinter::engine {
namespace {

const char* origin_name(const Made& made, bool reused) {
  if (made.later) return "interpreted first";
  if (made.interpreted) return "interpreted";
  if (reused) return "memory";
  switch (made.origin) {
    case jit::Origin::memory: return "memory";
    case jit::Origin::disk: return "disk";
    case jit::Origin::compiled: return "compiled";
  }
  return "?";
}

/// Returns a number with at most one digit after the point, and its unit's prefix.
std::pair<std::string, const char*> scaled(double number) {
  if (number < 1e4) return {fmt::format("{:.0f}", number), ""};
  if (number < 1e7) return {fmt::format("{:.1f}", number / 1e3), "K"};
  if (number < 1e10) return {fmt::format("{:.1f}", number / 1e6), "M"};
  return {fmt::format("{:.1f}", number / 1e9), "G"};
}

std::string bytes_text(double bytes) {
  const auto [number, prefix] = scaled(bytes);
  return fmt::format("{} {}B", number, prefix);
}

/// Returns a text such as "42.1 M operations, 1.3 a byte".
std::string work_text(const PlannedStep& step) {
  const auto [number, prefix] = scaled(step.operations);
  const std::string operations = *prefix ? fmt::format("{} {} operations", number, prefix) : counted(std::llround(step.operations), "operation");
  if (step.bytes_moved <= 0) return operations;
  const double rate = step.operations / step.bytes_moved;
  return rate < 10 ? fmt::format("{}, {:.2g} a byte", operations, rate) : fmt::format("{}, {:.0f} a byte", operations, rate);
}

// Names the values that a step reads or writes. If a kernel reads a view of a part of a value, the text says so: "float32 (2, 6) of (4, 6)". For a value of an
// earlier step it names the step: "float32 (4, 4) of step 1".
std::string values_text(const Planned& plan, const Origins& origins, const std::vector<int>& values, const std::vector<Shape>& parts,
                        const std::map<int, std::size_t>& writer) {
  constexpr std::size_t kMaxShown = 8;
  std::string text;
  for (std::size_t k = 0; k < values.size() && k < kMaxShown; ++k) {
    const PlannedValue& value = plan.value(values[k]);
    const std::string name = origins.value(values[k]);
    text += text.empty() ? "" : ", ";
    if (!name.empty()) text += name + (name.find(' ') == std::string::npos ? " " : ": ");
    const bool in_part = k < parts.size() && !parts[k].empty();
    text += in_part ? fmt::format("{} of {}", origins.type(value.dtype, parts[k]), to_string(value.shape)) : origins.type(value.dtype, value.shape);
    if (const auto found = writer.find(values[k]); found != writer.end()) text += fmt::format(" of step {}", found->second);
  }
  if (values.size() > kMaxShown) text += fmt::format(" and {} more", values.size() - kMaxShown);
  return text.empty() ? "nothing" : text;
}

std::string binary_text(const Made& made, bool reused) {
  if (made.later) return "compiled in the background, interpreted until then";
  if (made.interpreted) return "none: interpreted" + (made.why_interpreted.empty() ? "" : ", " + made.why_interpreted);
  if (reused || made.origin == jit::Origin::memory) return "from memory";
  if (made.origin == jit::Origin::disk) return "from disk";
  return fmt::format("compiled in {:.1f} ms", made.report.compile_ms);
}

const char* origin_text(const PlannedStep& step) {
  switch (step.schedule_from) {
    case PlannedStep::From::chosen: return "";
    case PlannedStep::From::asked: return " (as asked)";
    case PlannedStep::From::tuned: return " (tuned)";
  }
  return "?";
}

// Describes the values that the schedule stages between passes over a row.
std::string staging_text(const PlannedStep& step, const fuse::Limits& limits) {
  const jit::LoopNest& nest = step.nest;
  if (nest.persistent.empty()) return {};
  const std::string staging = fmt::format("stages {} of a row on chip between passes", counted(step.staged, "value"));
  const int cluster = nest.schedule.cluster();
  if (nest.schedule.steps().count > 0) return staging + (cluster > 1 ? fmt::format(", in registers of the {} blocks of a cluster", cluster) : ", in registers");
  std::int64_t points = 1, bytes = 0;
  for (int axis = nest.parallel; axis < nest.axes(); ++axis) points *= nest.ints[static_cast<std::size_t>(axis)];
  for (DType dtype : nest.persistent) bytes += points * static_cast<std::int64_t>(itemsize(dtype));
  if (cluster == 1) return fmt::format("{}, in {} of at most {} bytes", staging, bytes, limits.row_bytes);
  return fmt::format("{}, in {} over the {} blocks of a cluster, at most {} each", staging, counted(bytes, "byte"), cluster, limits.row_bytes);
}

/// Describes the decisions inside a kernel, one per line.
std::vector<std::string> notes_of(const Planned& plan, std::size_t s) {
  const PlannedStep& step = plan.steps[s];
  std::vector<std::string> notes;
  if (step.is_epilogue)
    notes.push_back(fmt::format("this is the epilogue of step {}: it runs on each piece of that step's result{}", s, step.in_place >= 0 ? ", in place" : ""));
  if (std::string staging = staging_text(step, plan.limits); !staging.empty()) notes.push_back(std::move(staging));
  notes.insert(notes.end(), step.notes.begin(), step.notes.end());
  return notes;
}

runtime::Launch launch_of(const PlannedStep& step, const fuse::Limits& limits) {
  const auto& launch = runtime::kind_of(limits).launch;
  return launch ? launch(step.nest, limits) : runtime::Launch{};
}

// Returns the shared memory of a block: the part that the compiler reports, and the part that a launch adds.
int shared_bytes(const PlannedStep& step, const fuse::Limits& limits) {
  return std::max(step.made.report.shared_bytes, 0) + launch_of(step, limits).shared_bytes;
}

// Returns the bytes that neighbouring lanes access at addresses that are not contiguous.
std::int64_t bytes_apart(const Planned& plan, const jit::LoopNest& nest) {
  const bool tiles = nest.schedule.is<jit::TilesForm>();
  const std::vector<int> inputs = tiles ? jit::turnable_inputs(nest) : std::vector<int>(), outputs = tiles ? jit::turnable_outputs(nest) : std::vector<int>();
  const auto turned = [&](const jit::Access& access) {
    return std::any_of(inputs.begin(), inputs.end(), [&](int input) { return &nest.inputs[static_cast<std::size_t>(input)] == &access; }) ||
           std::any_of(outputs.begin(), outputs.end(), [&](int output) { return &nest.outputs[static_cast<std::size_t>(output)] == &access; });
  };
  std::int64_t bytes = 0;
  const bool gathers = nest.schedule.is<jit::ContractionForm>();  // tiles are loaded first, along whichever axis the operand is contiguous
  for (const auto* accesses : {&nest.inputs, &nest.outputs})
    for (const jit::Access& access : *accesses) {
      if (gathers && accesses == &nest.inputs) continue;
      const PlannedValue& value = plan.value(access.buffer);
      if (jit::walks_apart(nest, access) && !turned(access)) bytes += element_count(value.shape) * static_cast<std::int64_t>(itemsize(value.dtype));
    }
  return bytes;
}

// Lists operations such as "multiply, add x3, exp", in order of first appearance.
std::string ops_text(const std::vector<std::string>& ops) {
  std::vector<std::pair<std::string, int>> counted;
  for (const auto& op : ops) {
    auto found = std::find_if(counted.begin(), counted.end(), [&](const auto& c) { return c.first == op; });
    if (found == counted.end()) counted.push_back({op, 1});
    else ++found->second;
  }
  std::string text;
  for (const auto& [op, times] : counted) text += (text.empty() ? "" : ", ") + op + (times > 1 ? fmt::format(" x{}", times) : "");
  return text;
}

std::string guards_text(const Planned& plan, const Origins& origins) {
  if (plan.symbols.empty()) return "";
  const std::vector<std::string> names = origins.symbols(), guards = plan.program.guards(names);
  std::vector<std::string> planned;
  for (std::size_t k = 0; k < names.size(); ++k) planned.push_back(fmt::format("{} = {}", names[k], plan.sizes[k]));
  return fmt::format("guards  {}: {}\n", fmt::join(planned, ", "),
                     guards.empty() ? "none, so the plan is valid for all sizes" : fmt::format("{}", fmt::join(guards, ", ")));
}

/// Returns a line such as "passes  block_channels 3, fold_channels 6".
std::string passes_text(const Planned& plan) {
  std::vector<std::string> counts;
  for (const trace::PassCount& pass : plan.passes) counts.push_back(fmt::format("{} {}", pass.name, pass.count));
  return counts.empty() ? "" : fmt::format("passes  {}\n", fmt::join(counts, ", "));
}

std::string resources_text(const jit::ResourceReport& report) {
  if (report.registers < 0) return {};
  return fmt::format("; {}, {} of shared memory, {} spilled", counted(report.registers, "register"), counted(std::max(report.shared_bytes, 0), "byte"),
                     counted(std::max(report.spill_bytes, 0), "byte"));
}

/// Returns whether the device computes the call. A device without kernels for sorts by digits leaves these to the host (Engine::call).
bool has_implementation(const fuse::Limits& limits, const fuse::LibraryCall& call) {
  const bool needs_kernels = !limits.library_calls && fuse::by_digits(call.op);
  return fuse::has_library(limits, call.op, call.dtype) && (!needs_kernels || runtime::kind_of(limits).call_sources);
}

std::string heading(std::size_t number, const std::string& name, const std::string& lines) {
  return fmt::format("{}. {}{}\n", number, name, lines.empty() ? "" : ", from " + lines);
}

/// Returns a line for each reason why neighbours of step `s` are other steps, at most kMaxShown. A split reason is not printed again.
std::string apart_text(const Planned& plan, std::size_t s, const std::vector<Apart>& neighbours) {
  constexpr std::size_t kMaxShown = 3;
  const auto same = [](const fuse::Boundary& a, const fuse::Boundary& b) { return a.reason == b.reason && a.detail == b.detail; };
  std::vector<std::pair<std::string, std::vector<int>>> reasons;  // and the numbers of the steps
  for (const Apart& one : neighbours) {
    std::string why = fuse::to_string(one.why);
    if (same(one.why, plan.steps[s].boundary)) why = "the same reason";
    else if (same(one.why, plan.steps[static_cast<std::size_t>(one.step)].boundary)) why = fmt::format("{}, its split reason", fuse::name(one.why.reason));
    auto known = std::find_if(reasons.begin(), reasons.end(), [&](const auto& reason) { return reason.first == why; });
    if (known == reasons.end()) known = reasons.insert(known, {why, {}});
    known->second.push_back(one.step + 1);
  }
  std::string text;
  std::size_t more = 0;
  for (std::size_t k = 0; k < reasons.size(); ++k) {
    const auto& [why, steps] = reasons[k];
    if (k < kMaxShown) text += fmt::format("   apart   from {} {}: {}\n", steps.size() > 1 ? "steps" : "step", fmt::join(steps, ", "), why);
    else more += steps.size();
  }
  if (more > 0) text += fmt::format("   apart   from {}\n", counted(more, "more step"));
  return text;
}

std::string text_of(const Explained& explained, const ExplainOptions& options) {
  const History& history = explained.history;
  const int kernels = history.kernels, calls = history.calls;
  if (kernels + calls == 0) return "nothing to compute: the value is in memory\n";
  std::string text = fmt::format("{}{} on {}", counted(kernels, "kernel"), calls ? " and " + counted(calls, "library call") : "", history.device);
  const auto& known = explained.planned;
  if (!known) return text + "\nthe plan itself is no longer in memory; record the formula again to see its kernels\n";
  const Planned& plan = *known;
  text += fmt::format(", {} moved", bytes_text(plan.bytes_moved));
  if (plan.bytes_unfused > plan.bytes_moved)
    text += fmt::format("; one kernel per operation would move {} ({:.1f}x)", bytes_text(plan.bytes_unfused), plan.bytes_unfused / plan.bytes_moved);
  text += "\n";
  const Origins origins(plan, *history.sites, &history.sizes, options.sizes);
  const auto library = runtime::kind_of(plan.limits).library;
  text += passes_text(plan) + origins.sizes_text();
  if (options.guards) text += guards_text(plan, origins);
  const std::vector<Core> cores = cores_at(plan, history.sizes);
  const std::vector<std::vector<Apart>> apart = apart_from_neighbours(plan);
  std::map<int, std::size_t> writer;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    const bool starts = step.library && fuse::starts_exchange(step.call.op), finishes = step.library && fuse::finishes_exchange(step.call.op);
    const std::string inputs = starts     ? values_text(plan, origins, {step.call.operands[0].node}, {}, writer)
                               : finishes ? "other places"
                                          : values_text(plan, origins, step.reads, step.parts, writer);
    const std::string outputs = starts ? "other places" : values_text(plan, origins, step.writes, {}, {});
    for (int value : step.writes) writer[value] = s + 1;
    text += heading(s + 1, step.library ? fuse::to_string(step.call) : step.nest.name, origins.lines_text(step.computes));
    const std::string moves = fmt::format("   moves   {}: {} to {}", bytes_text(step.bytes_moved), inputs, outputs);
    const std::string work = step.operations >= 1 ? fmt::format("   work    {}\n", work_text(step)) : "";
    const std::string split = fmt::format("   split   {}\n{}", fuse::to_string(step.boundary), apart_text(plan, s, apart[s]));
    if (step.library) {
      text += moves + "\n" + work;
      const bool here = has_implementation(plan.limits, step.call);
      if (library && here) text += fmt::format("   library {}\n", library(step.call));
      for (const Made& made : step.call_kernels)
        text += fmt::format("   kernel  {}{}; {}\n", made.source().entry, resources_text(made.report), binary_text(made, history.reused));
      if (s + 1 < plan.steps.size() && plan.steps[s + 1].is_epilogue) text += fmt::format("   epilogue step {} runs on each piece of the result\n", s + 2);
      else if (!step.alone.empty()) text += fmt::format("   epilogue none: {}\n", step.alone);
      if (!here)
        text += "   runs    on the host, because the device has no library for it: the operands are copied to the host, and the result is copied back\n";
      text += split;
      continue;
    }
    const Made& made = step.made;
    const std::string ops = ops_text(step.nest.ops);
    text += fmt::format("   ops     {}\n", !ops.empty() ? ops : step.reads.empty() ? "fill" : "copy");
    text += moves;
    if (step.bytes_unfused > step.bytes_moved) text += fmt::format("; one kernel per operation: {}", bytes_text(step.bytes_unfused));
    text += "\n" + work;
    text += fmt::format("   runs    {}{}", jit::to_string(step.nest.schedule, plan.limits.backend), origin_text(step));
    if (const runtime::Launch launch = launch_of(step, plan.limits); launch.blocks > 0)
      text += fmt::format("; {} of {} threads", counted(launch.blocks, "block"), launch.threads);
    jit::ResourceReport report = made.report;
    report.shared_bytes = shared_bytes(step, plan.limits);
    text += resources_text(report);
    text += fmt::format("; {}\n", binary_text(made, history.reused));
    for (const auto& note : notes_of(plan, s)) text += fmt::format("   note    {}\n", note);
    for (const Core& core : cores)
      if (core.step == s) text += fmt::format("   overlap the points {} run before step {} waits for other ranks\n", points_text(core.points), core.before + 1);
    text += split;
  }
  return text;
}

// Describes the plan without its steps: sizes, the recorded graph, the values in memory with their live ranges, and refused merges.
nlohmann::json plan_json(const Explained& explained) {
  using nlohmann::json;
  const Planned& plan = *explained.planned;
  const Origins origins(plan, *explained.history.sites, &explained.history.sizes);
  json sizes = json::array(), nodes = json::array(), values = json::array(), refused = json::array();
  for (std::size_t k = 0; k < plan.symbols.size(); ++k) {
    const SizeRange range = origins.range(k);
    sizes.push_back(
        {{"name", plan.symbols[k]}, {"value", plan.sizes[k]}, {"low", range.low}, {"high", range.high == 0 ? json() : json(range.high)}, {"step", range.step}});
  }
  const bool sites = explained.history.sites->size() == plan.recorded.size();
  for (std::size_t id = 0; id < plan.recorded.size(); ++id) {
    const PlannedNode& node = plan.recorded[id];
    json entry{{"op", std::string(trace::name(node.op))}, {"dtype", std::string(name(node.dtype))}, {"shape", node.shape}, {"inputs", node.inputs}};
    if (node.leaf >= 0) entry["leaf"] = node.leaf;
    if (sites) {
      const trace::NodeSite& site = (*explained.history.sites)[id];
      if (*site.label) entry["name"] = site.label;
      entry["called"] = site.called;
      if (*site.where.file) entry["file"] = site.where.file, entry["line"] = site.where.line;
    }
    nodes.push_back(std::move(entry));
  }
  std::vector<int> first(plan.values.size(), -1), last(plan.values.size(), -1);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    for (const int value : plan.steps[s].writes) first[static_cast<std::size_t>(value)] = static_cast<int>(s);
    for (const auto* list : {&plan.steps[s].reads, &plan.steps[s].writes})
      for (const int value : *list) last[static_cast<std::size_t>(value)] = static_cast<int>(s);
  }
  for (std::size_t v = 0; v < plan.values.size(); ++v) {
    const PlannedValue& value = plan.values[v];
    const bool output = std::find(plan.outputs.begin(), plan.outputs.end(), static_cast<int>(v)) != plan.outputs.end();
    values.push_back({{"name", origins.value(static_cast<int>(v))},
                      {"dtype", std::string(name(value.dtype))},
                      {"shape", value.shape},
                      {"bytes", static_cast<std::int64_t>(itemsize(value.dtype)) * element_count(value.shape)},
                      {"node", value.node},
                      {"leaf", value.is_leaf()},
                      {"output", output},
                      {"first", first[v]},
                      {"last", last[v]}});
  }
  for (const fuse::Refusal& refusal : plan.refused)
    refused.push_back({{"steps", {refusal.a, refusal.b}},
                       {"reason", std::string(fuse::name(refusal.why.reason))},
                       {"detail", refusal.why.detail},
                       {"remedy", std::string(fuse::remedy(refusal.why.reason))}});
  json passes = json::object();
  for (const trace::PassCount& pass : plan.passes) passes[pass.name] = pass.count;
  return {{"passes", passes}, {"sizes", sizes}, {"guards", plan.program.guards(plan.symbols)}, {"nodes", nodes}, {"values", values}, {"refused", refused}};
}

// Appends the steps of one evaluation.
void add_steps(const Explained& explained, std::size_t number, nlohmann::json& kernels, nlohmann::json& calls) {
  using nlohmann::json;
  if (!explained.planned) return;
  const Planned& plan = *explained.planned;
  const Origins origins(plan, *explained.history.sites, &explained.history.sizes);
  const std::size_t before = kernels.size() + calls.size();
  const std::vector<Core> cores = cores_at(plan, explained.history.sizes);
  const std::vector<std::vector<Apart>> apart = apart_from_neighbours(plan);
  std::map<int, std::size_t> writer;  // value -> the step that writes it
  const auto described = [&](const std::vector<int>& values) {
    json list = json::array();
    for (int value : values) {
      list.push_back({{"dtype", std::string(name(plan.value(value).dtype))}, {"shape", plan.value(value).shape}, {"value", value}});
      if (const std::string called = origins.value(value); !called.empty()) list.back()["name"] = called;
      if (const auto found = writer.find(value); found != writer.end()) list.back()["of_step"] = found->second;
    }
    return list;
  };
  const auto figure_or_null = [](int figure) { return figure < 0 ? json() : json(figure); };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    const json read = described(step.reads), written = described(step.writes);
    for (const int value : step.writes) writer[value] = before + s;
    json lines = json::array(), neighbours = json::array();
    for (const Apart& one : apart[s])
      neighbours.push_back({{"step", before + static_cast<std::size_t>(one.step)},
                            {"reason", std::string(fuse::name(one.why.reason))},
                            {"detail", one.why.detail},
                            {"remedy", std::string(fuse::remedy(one.why.reason))}});
    for (const Lines& one : origins.lines(step.computes)) lines.push_back({{"file", one.file}, {"first", one.first}, {"last", one.last}});
    json entry{{"step", before + s},
               {"plan", number},
               {"lines", lines},
               {"lines_text", origins.lines_text(step.computes)},
               {"computes", step.computes},
               {"inputs", read},
               {"outputs", written},
               {"boundary",
                {{"reason", std::string(fuse::name(step.boundary.reason))},
                 {"detail", step.boundary.detail},
                 {"remedy", std::string(fuse::remedy(step.boundary.reason))}}},
               {"apart_from", neighbours},
               {"bytes_moved", step.bytes_moved},
               {"bytes_unfused", step.bytes_unfused},
               {"operations", step.operations > 0 || !step.library ? json(step.operations) : json()}};
    if (step.library) {
      entry["name"] = fuse::to_string(step.call);
      const bool here = has_implementation(plan.limits, step.call);
      entry["on_host"] = !here;
      if (const auto& library = runtime::kind_of(plan.limits).library; library && here) entry["library"] = library(step.call);
      entry["kernels"] = json::array();
      for (const Made& made : step.call_kernels)
        entry["kernels"].push_back({{"name", made.source().entry},
                                    {"registers", figure_or_null(made.report.registers)},
                                    {"spill_bytes", figure_or_null(made.report.spill_bytes)},
                                    {"origin", origin_name(made, explained.history.reused)},
                                    {"compile_ms", explained.history.reused ? 0 : made.report.compile_ms}});
      entry["epilogue"] = s + 1 < plan.steps.size() && plan.steps[s + 1].is_epilogue ? json(before + s + 1) : json();
      calls.push_back(entry);
      continue;
    }
    const Made& made = step.made;
    entry["name"] = step.nest.name;
    entry["ops"] = step.nest.ops;
    entry["registers"] = figure_or_null(made.report.registers);
    entry["spill_bytes"] = figure_or_null(made.report.spill_bytes);
    entry["shared_bytes"] = made.report.shared_bytes < 0 ? json() : json(shared_bytes(step, plan.limits));
    entry["schedule"] = jit::to_string(step.nest.schedule, plan.limits.backend);
    entry["schedule_tuned"] = step.schedule_from == PlannedStep::From::tuned;
    if (const runtime::Launch launch = launch_of(step, plan.limits); launch.blocks > 0)
      entry["launch"] = {{"blocks", launch.blocks}, {"threads", launch.threads}};
    entry["bytes_apart"] = bytes_apart(plan, step.nest);
    entry["origin"] = origin_name(made, explained.history.reused);
    entry["compile_ms"] = explained.history.reused ? 0 : made.report.compile_ms;
    entry["notes"] = notes_of(plan, s);
    for (const Core& core : cores)
      if (core.step == s) entry["core"] = {{"points", core.points}, {"before_step", before + core.before}};
    if (!made.why_interpreted.empty()) entry["why_interpreted"] = made.why_interpreted;
    kernels.push_back(entry);
  }
}

}  // namespace

Explained::Explained(History of, std::shared_ptr<const Planned> plan) : history(std::move(of)), planned(std::move(plan)) {
  if (planned && planned->sizes != history.sizes) planned = std::make_shared<const Planned>(described_at(*planned, history.sizes));
}

std::string explain_text(const std::vector<Explained>& evaluations, const ExplainOptions& options) {
  if (evaluations.size() == 1) return text_of(evaluations[0], options);
  std::string text;
  for (std::size_t k = 0; k < evaluations.size(); ++k)
    text += fmt::format("{}evaluation {} of {}: {}", k > 0 ? "\n" : "", k + 1, evaluations.size(), text_of(evaluations[k], options));
  return text;
}

nlohmann::json explain_json(const std::vector<Explained>& evaluations) {
  using nlohmann::json;
  json kernels = json::array(), calls = json::array(), plans = json::array();
  std::vector<std::string> devices;
  bool in_memory = true;
  double bytes_moved = 0, bytes_unfused = 0;
  for (const Explained& explained : evaluations) {
    const History& history = explained.history;
    add_steps(explained, plans.size(), kernels, calls);
    if (explained.planned) plans.push_back(plan_json(explained));
    if (std::find(devices.begin(), devices.end(), history.device) == devices.end()) devices.push_back(history.device);
    in_memory &= explained.planned != nullptr || history.kernels + history.calls == 0;
    if (explained.planned) {
      bytes_moved += explained.planned->bytes_moved;
      bytes_unfused += explained.planned->bytes_unfused;
    }
  }
  return {{"schema", kExplainSchema},
          {"device", fmt::format("{}", fmt::join(devices, ", "))},
          {"kernels", kernels},
          {"library_calls", calls},
          {"plans", plans},
          {"plan_in_memory", in_memory},
          {"bytes_moved", bytes_moved},
          {"bytes_unfused", bytes_unfused}};
}

std::vector<std::string> source_notes(const Explained& explained, const PlannedStep& step) {
  const Planned& plan = *explained.planned;
  const Origins origins(plan, *explained.history.sites, &explained.history.sizes);
  std::vector<std::string> notes;
  if (const std::string lines = origins.lines_text(step.computes); !lines.empty()) notes.push_back("from " + lines);
  for (const auto& [accesses, prefix] : {std::pair(&step.nest.inputs, "in"), std::pair(&step.nest.outputs, "out")})
    for (std::size_t k = 0; k < accesses->size(); ++k) {
      const PlannedValue& value = plan.value((*accesses)[k].buffer);
      const std::string name = origins.value((*accesses)[k].buffer);
      notes.push_back(fmt::format("{}{} is {}{}", prefix, k, name.empty() ? "" : name + ": ", origins.type(value.dtype, value.shape)));
    }
  std::vector<std::string> sizes;
  for (std::size_t k = 0; k < step.nest.ints.size(); ++k) sizes.push_back(fmt::format("s{} = {}", k, step.nest.ints[k]));
  if (!sizes.empty()) notes.push_back(fmt::format("planned for {}", fmt::join(sizes, ", ")));
  if (!step.nest.scalars.empty()) notes.push_back("c0, c1, .. are the literals, in the order of the operations");
  if (const runtime::Launch launch = launch_of(step, plan.limits); launch.blocks > 0)
    notes.push_back(fmt::format("launched as {} of {} threads", counted(launch.blocks, "block"), launch.threads));
  return notes;
}

std::string explanation(const std::vector<Explained>& evaluations, const ExplainOptions& options) {
  switch (options.format) {
    case Format::text: return explain_text(evaluations, options);
    case Format::json: return explain_json(evaluations).dump(2);
    case Format::html: return picture_html(evaluations);
    case Format::svg: return picture_svg(evaluations);
    case Format::dot: return picture_dot(evaluations);
  }
  return {};
}

}  // namespace sinter::engine
