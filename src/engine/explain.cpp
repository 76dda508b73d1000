#include "engine/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace sinter::engine {
namespace {

std::string describe(const PlannedValue& value) { return fmt::format("{} {}", name(value.dtype), to_string(value.shape)); }

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

std::string bytes_text(double bytes) {
  if (bytes < 1e4) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e7) return fmt::format("{:.1f} KB", bytes / 1e3);
  if (bytes < 1e10) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.1f} GB", bytes / 1e9);
}

std::string listed(const Planned& plan, const std::vector<int>& values) {
  std::string text;
  for (int value : values) text += (text.empty() ? "" : ", ") + describe(plan.value(value));
  return text.empty() ? "nothing" : text;
}

// A kernel that reads a view of a value, and not all of it, says what: "float32 (2, 6) of (4, 6)". Inputs that an earlier step wrote say which:
// "float32 (4, 4) of step 1".
std::string inputs_text(const Planned& plan, const PlannedStep& step, const std::map<int, std::size_t>& writer) {
  std::string text;
  for (std::size_t k = 0; k < step.reads.size(); ++k) {
    const PlannedValue& value = plan.value(step.reads[k]);
    const bool in_part = !step.library && !step.parts[k].empty();
    text += (text.empty() ? "" : ", ") +
            (in_part ? fmt::format("{} {} of {}", name(value.dtype), to_string(step.parts[k]), to_string(value.shape)) : describe(value));
    if (const auto found = writer.find(step.reads[k]); found != writer.end()) text += fmt::format(" of step {}", found->second);
  }
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

// What the schedule keeps between the passes over a row.
std::string kept_text(const PlannedStep& step, const fuse::Limits& limits) {
  const jit::LoopNest& nest = step.nest;
  if (nest.persistent.empty()) return {};
  const std::string kept = fmt::format("keeps {} value{} of a row between passes", step.kept, step.kept == 1 ? "" : "s");
  if (nest.schedule.row_steps > 0)
    return kept + (nest.schedule.cluster > 1 ? fmt::format(", in registers of the {} blocks of a cluster", nest.schedule.cluster) : ", in registers");
  std::int64_t points = 1, bytes = 0;
  for (int axis = nest.parallel; axis < nest.axes(); ++axis) points *= nest.ints[static_cast<std::size_t>(axis)];
  for (DType dtype : nest.persistent) bytes += points * static_cast<std::int64_t>(itemsize(dtype));
  if (nest.schedule.cluster == 1) return fmt::format("{}, in {} of at most {} bytes", kept, bytes, limits.row_bytes);
  return fmt::format("{}, in {} bytes over the {} blocks of a cluster, at most {} each", kept, bytes, nest.schedule.cluster, limits.row_bytes);
}

runtime::Launch launch_of(const PlannedStep& step, const fuse::Limits& limits) {
  const auto& launch = runtime::kind_of(limits).launch;
  return launch ? launch(step.nest, limits) : runtime::Launch{};
}

// Of a block: what the compiler placed, and what a launch adds.
int shared_bytes(const PlannedStep& step, const fuse::Limits& limits) {
  return std::max(step.made.report.shared_bytes, 0) + launch_of(step, limits).shared_bytes;
}

// Bytes of what neighbouring lanes find apart from each other.
std::int64_t bytes_apart(const Planned& plan, const jit::LoopNest& nest) {
  const bool tiles = nest.schedule.form == jit::Form::tiles;
  const std::vector<int> inputs = tiles ? jit::turnable_inputs(nest) : std::vector<int>(), outputs = tiles ? jit::turnable_outputs(nest) : std::vector<int>();
  const auto turned = [&](const jit::Access& access) {
    return std::any_of(inputs.begin(), inputs.end(), [&](int input) { return &nest.inputs[static_cast<std::size_t>(input)] == &access; }) ||
           std::any_of(outputs.begin(), outputs.end(), [&](int output) { return &nest.outputs[static_cast<std::size_t>(output)] == &access; });
  };
  std::int64_t bytes = 0;
  const bool gathers = nest.schedule.form == jit::Form::contraction;  // what it reads is brought along whichever axis it lies
  for (const auto* accesses : {&nest.inputs, &nest.outputs})
    for (const jit::Access& access : *accesses) {
      if (gathers && accesses == &nest.inputs) continue;
      const PlannedValue& value = plan.value(access.buffer);
      if (jit::walks_apart(nest, access) && !turned(access)) bytes += element_count(value.shape) * static_cast<std::int64_t>(itemsize(value.dtype));
    }
  return bytes;
}

// "multiply, add x3, exp": in order of first appearance.
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

// "planned for n0=100, n1=300; holds where n0 > 16, ...": what of the sizes the plan's decisions took for granted.
std::string holds_text(const Planned& plan) {
  if (plan.symbols.empty()) return "";
  std::vector<std::string> guards = plan.program.guards(plan.symbols), symbols;
  for (std::size_t k = 0; k < plan.symbols.size(); ++k) symbols.push_back(fmt::format("{}={}", plan.symbols[k], plan.sizes[k]));
  const std::string planned = fmt::format("planned for {}", fmt::join(symbols, ", "));
  if (guards.empty()) return planned + "; holds for all sizes\n";
  constexpr std::size_t kMost = 12;
  const std::size_t more = guards.size() > kMost ? guards.size() - kMost : 0;
  guards.resize(guards.size() - more);
  return fmt::format("{}; holds where {}{}\n", planned, fmt::join(guards, ", "), more ? fmt::format(" and {} more", more) : "");
}

std::string text_of(const Told& told) {
  const History& history = told.history;
  const int kernels = history.kernels, calls = history.calls;
  if (kernels + calls == 0) return "nothing to compute: the value is in memory\n";
  std::string text =
      fmt::format("{} kernel{}{} on {}, {} moved", kernels, kernels == 1 ? "" : "s",
                  calls ? fmt::format(" and {} library call{}", calls, calls == 1 ? "" : "s") : "", history.device, bytes_text(history.bytes_moved));
  if (history.bytes_unfused > history.bytes_moved)
    text += fmt::format("; one kernel per op would move {} ({:.1f}x)", bytes_text(history.bytes_unfused), history.bytes_unfused / history.bytes_moved);
  text += "\n";
  const auto& known = told.planned;
  if (!known) return text + "the plan itself has left memory; record the formula again to see its kernels\n";
  const Planned& plan = *known;
  const auto library = runtime::kind_of(plan.limits).library;
  text += holds_text(plan);
  std::map<int, std::size_t> writer;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    const std::string inputs = inputs_text(plan, step, writer);
    for (int value : step.writes) writer[value] = s + 1;
    if (step.library) {
      text += fmt::format("{}. {}\n   in      {}\n   out     {}\n   moves   {}\n", s + 1, fuse::to_string(step.call), inputs, listed(plan, step.writes),
                          bytes_text(step.bytes_moved));
      const bool here = fuse::has_library(plan.limits, step.call.op, step.call.dtype);
      if (library && here) text += fmt::format("   library {}\n", library(step.call));
      if (s + 1 < plan.steps.size() && plan.steps[s + 1].follows) text += fmt::format("   epilogue step {} runs on each piece of the result\n", s + 2);
      else if (!step.alone.empty()) text += fmt::format("   epilogue none: {}\n", step.alone);
      if (!here) text += "   runs    on the host, which has a library for it: the operands are brought there, the result taken back\n";
      text += fmt::format("   ends    {}\n", fuse::to_string(step.cut));
      continue;
    }
    const Made& made = step.made;
    const std::string ops = ops_text(step.nest.ops);
    text += fmt::format("{}. {}\n", s + 1, step.nest.name);
    text += fmt::format("   ops     {}\n", !ops.empty() ? ops : step.reads.empty() ? "fill" : "copy");
    text += fmt::format("   in      {}\n   out     {}\n", inputs, listed(plan, step.writes));
    text += fmt::format("   moves   {}", bytes_text(step.bytes_moved));
    if (step.bytes_unfused > step.bytes_moved) text += fmt::format(" (one kernel per op: {})", bytes_text(step.bytes_unfused));
    text += fmt::format("\n   runs    {}{}\n", jit::to_string(step.nest.schedule, plan.limits.backend), origin_text(step));
    if (const runtime::Launch launch = launch_of(step, plan.limits); launch.blocks > 0)
      text += fmt::format("   launch  {} block{} of {} threads\n", launch.blocks, launch.blocks == 1 ? "" : "s", launch.threads);
    if (step.follows) text += fmt::format("   note    epilogue of step {}: runs on each piece of its result{}\n", s, step.in_place >= 0 ? ", in place" : "");
    if (const std::string kept = kept_text(step, plan.limits); !kept.empty()) text += fmt::format("   note    {}\n", kept);
    for (const auto& note : step.notes) text += fmt::format("   note    {}\n", note);
    if (made.report.registers >= 0)
      text += fmt::format("   uses    {} registers, {} bytes of shared memory, {} bytes spilled\n", made.report.registers, shared_bytes(step, plan.limits),
                          std::max(made.report.spill_bytes, 0));
    text += fmt::format("   binary  {}\n   ends    {}\n", binary_text(made, history.reused), fuse::to_string(step.cut));
  }
  return text;
}

// The sizes that the plan was made with, and what of them its decisions took for granted.
nlohmann::json sizes_of(const Planned& plan) {
  auto sizes = nlohmann::json::array();
  for (std::size_t k = 0; k < plan.symbols.size(); ++k) sizes.push_back({{"name", plan.symbols[k]}, {"value", plan.sizes[k]}});
  return {{"sizes", sizes}, {"guards", plan.program.guards(plan.symbols)}};
}

// Appends the steps of one evaluation.
void add_steps(const Told& told, nlohmann::json& kernels, nlohmann::json& calls) {
  using nlohmann::json;
  if (!told.planned) return;
  const Planned& plan = *told.planned;
  const std::size_t before = kernels.size() + calls.size();
  std::map<int, std::size_t> writer;  // of a value: the step
  const auto described = [&](const std::vector<int>& values) {
    json list = json::array();
    for (int value : values) {
      list.push_back({{"dtype", std::string(name(plan.value(value).dtype))}, {"shape", plan.value(value).shape}});
      if (const auto found = writer.find(value); found != writer.end()) list.back()["of_step"] = found->second;
    }
    return list;
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    const json read = described(step.reads), written = described(step.writes);
    for (const int value : step.writes) writer[value] = before + s;
    json entry{{"step", before + s},
               {"inputs", read},
               {"outputs", written},
               {"cut", {{"reason", std::string(fuse::name(step.cut.reason))}, {"detail", step.cut.detail}}},
               {"bytes_moved", step.bytes_moved},
               {"bytes_unfused", step.bytes_unfused}};
    if (step.library) {
      entry["name"] = fuse::to_string(step.call);
      const bool here = fuse::has_library(plan.limits, step.call.op, step.call.dtype);
      entry["on_host"] = !here;
      if (const auto& library = runtime::kind_of(plan.limits).library; library && here) entry["library"] = library(step.call);
      entry["epilogue"] = s + 1 < plan.steps.size() && plan.steps[s + 1].follows ? json(before + s + 1) : json();
      calls.push_back(entry);
      continue;
    }
    const Made& made = step.made;
    const auto figure_or_null = [](int figure) { return figure < 0 ? json() : json(figure); };
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
    entry["origin"] = origin_name(made, told.history.reused);
    entry["compile_ms"] = told.history.reused ? 0 : made.report.compile_ms;
    entry["notes"] = step.notes;
    if (!made.why_interpreted.empty()) entry["why_interpreted"] = made.why_interpreted;
    kernels.push_back(entry);
  }
}

}  // namespace

std::string explain_text(const std::vector<Told>& evaluations) {
  if (evaluations.size() == 1) return text_of(evaluations[0]);
  std::string text;
  for (std::size_t k = 0; k < evaluations.size(); ++k)
    text += fmt::format("{}evaluation {} of {}: {}", k > 0 ? "\n" : "", k + 1, evaluations.size(), text_of(evaluations[k]));
  return text;
}

std::string explain_json(const std::vector<Told>& evaluations) {
  using nlohmann::json;
  json kernels = json::array(), calls = json::array(), plans = json::array();
  std::vector<std::string> devices;
  bool in_memory = true;
  double bytes_moved = 0, bytes_unfused = 0;
  for (const Told& told : evaluations) {
    const History& history = told.history;
    add_steps(told, kernels, calls);
    if (told.planned) plans.push_back(sizes_of(*told.planned));
    if (std::find(devices.begin(), devices.end(), history.device) == devices.end()) devices.push_back(history.device);
    in_memory &= told.planned != nullptr || history.kernels + history.calls == 0;
    bytes_moved += history.bytes_moved;
    bytes_unfused += history.bytes_unfused;
  }
  return json{{"device", fmt::format("{}", fmt::join(devices, ", "))},
              {"kernels", kernels},
              {"library_calls", calls},
              {"plans", plans},
              {"plan_in_memory", in_memory},
              {"bytes_moved", bytes_moved},
              {"bytes_unfused", bytes_unfused}}
      .dump(2);
}

}  // namespace sinter::engine
