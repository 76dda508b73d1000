#include "engine/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.hpp"
#include "base/per_thread.hpp"
#include "engine/engine.hpp"
#include "engine/measured.hpp"
#include "engine/origins.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "trace/site.hpp"

namespace sinter {
namespace engine {
namespace {

std::string lines_of(const Planned& planned, std::span<const int> nodes, const std::vector<trace::NodeSite>* sites) {
  return sites ? Origins(planned, *sites).lines_text(nodes) : std::string();
}

std::string with_lines(const std::string& name, const std::string& lines) { return lines.empty() ? name : fmt::format("{}, from {}", name, lines); }

const PlannedStep& step_of(const RanStep& ran) { return ran.planned.steps[ran.step]; }

const char* kind_of(const RanStep& ran) {
  if (ran.call) return ran.call->op == trace::Op::send_part || ran.call->op == trace::Op::receive_part ? "exchange" : "library";
  const Made& made = step_of(ran).made;
  return made.interpreted || (made.later && !made.ready.kernel.load()) ? "interpret" : "kernel";
}

/// Returns a text such as "float32(32, 128)" for the present sizes.
std::string written_by(const RanStep& ran) {
  std::vector<std::string> written;
  for (const int number : step_of(ran).writes) {
    const PlannedValue& value = ran.planned.value(number);
    const auto sizes = ran.figures.subspan(static_cast<std::size_t>(value.figure), value.shape.size());
    written.push_back(fmt::format("{}{}", name(value.dtype), to_string(Shape(sizes.begin(), sizes.end()))));
  }
  return fmt::format("{}", fmt::join(written, ", "));
}

/// Returns the kernel that runs on the pieces of a library call's result, or null if there is none.
const PlannedStep* epilogue_of(const RanStep& ran) {
  const auto& steps = ran.planned.steps;
  return ran.call && ran.step + 1 < steps.size() && steps[ran.step + 1].is_epilogue ? &steps[ran.step + 1] : nullptr;
}

/// Counts the bytes in the same way as explain().
double bytes_moved(const RanStep& ran) {
  const PlannedStep* const epilogue = epilogue_of(ran);
  return engine::bytes_of(step_of(ran).moved, ran.figures) + (epilogue ? engine::bytes_of(epilogue->moved, ran.figures) : 0);
}

DType computes_in(const RanStep& ran) {
  if (ran.call) return ran.call->dtype == DType::float64 ? DType::float64 : DType::float32;
  const auto& instrs = step_of(ran).nest.instrs;
  return std::any_of(instrs.begin(), instrs.end(), [](const jit::Instr& instr) { return instr.dtype == DType::float64; }) ? DType::float64 : DType::float32;
}

}  // namespace

std::string title_of(const RanStep& ran) {
  return with_lines(ran.call ? fuse::to_string(*ran.call) : step_of(ran).nest.name, lines_of(ran.planned, step_of(ran).computes, ran.sites));
}

std::string title_of(const Planned& planned, std::size_t first, std::size_t last, const std::vector<trace::NodeSite>* sites) {
  std::vector<int> nodes;
  for (std::size_t s = first; s < last; ++s) nodes.insert(nodes.end(), planned.steps[s].computes.begin(), planned.steps[s].computes.end());
  return with_lines(last - first == 1 ? planned.steps[first].nest.name : fmt::format("{} kernels", last - first), lines_of(planned, nodes, sites));
}

void report_step(timeline::Span& span, const RanStep& ran, int threads) {
  span.rename(kind_of(ran), span && ran.call ? fuse::to_string(*ran.call) : step_of(ran).nest.name);
  if (!span) return;
  if (*ran.part) span.add("part", ran.part);
  if (!ran.call) span.add("writes", written_by(ran));
  if (const std::string lines = lines_of(ran.planned, step_of(ran).computes, ran.sites); !lines.empty()) span.add("from", lines);
  if (!ran.device->reads_host()) span.on_line(ran.device->name() + ", the stream");
  const double bytes = bytes_moved(ran), rate = bytes / std::max(span.seconds(), 1e-9);
  span.add("bytes", bytes);
  span.add("GB/s", rate / 1e9);
  const std::string limit = ran.device->name();
  span.add_percent("percent of measured bandwidth", rate, limit);
  timeline::add_limit(limit, [device = ran.device, threads] {
    const ForkGate::Inside inside(Engine::fork_gate());
    return measured_bandwidth(*device, threads);
  });
}

void report_computed_again(const trace::Recorded& node) {
  const char* label = node.label.load(std::memory_order_relaxed);
  const std::string where = *node.where.file ? fmt::format(", recorded at {}", trace::to_string(node.where)) : "";
  const std::string value = fmt::format("{} {} {}{}", *label ? label : node.called, name(node.dtype), to_string(node.shape), where);
  log().debug("a handle holds {}, and yet it was computed twice; call eval() on it before its first use (it is stored from now on)", value);
  if (Profile::Times* const profile = Profile::Times::current()) profile->again[value] += 2;
}

}  // namespace engine

namespace {

constexpr std::size_t kMaxText = 120;  // maximum length of the list of lines of a step

struct Current {
  Profile::Times* times = nullptr;
};
Profile::Times*& mine() { return per_thread<Current>().times; }

double seconds_since(Profile::Times::Clock::time_point start) { return std::chrono::duration<double>(Profile::Times::Clock::now() - start).count(); }

/// The sums of a kernel's steps at all sizes.
struct Group {
  ProfiledStep all;
  std::vector<ProfiledStep> sizes;
};

std::vector<Group> grouped(const Profile& profile) {
  std::vector<Group> groups;
  for (const ProfiledStep& step : profile.steps()) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) { return known.all.kernel == step.kernel && known.all.kind == step.kind; });
    if (group == groups.end()) {
      groups.push_back({step, {step}});
      continue;
    }
    ProfiledStep& all = group->all;
    all.runs += step.runs, all.seconds += step.seconds, all.bytes += step.bytes, all.operations += step.operations;
    if (all.from.size() < kMaxText && all.from.find(step.from) == std::string::npos) all.from += "; " + step.from;
    for (double ProfiledStep::*part : {&ProfiledStep::of_bandwidth, &ProfiledStep::of_arithmetic}) all.*part = std::max(all.*part, step.*part);
    all.fastest = std::min(all.fastest, step.fastest);
    group->sizes.push_back(step);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.all.seconds > b.all.seconds; });
  return groups;
}

/// Returns a text such as "plan 3.1 ms, compile 129.4 ms", the longest first.
std::string kinds_text(const timeline::Sums& kinds, double whole) {
  std::vector<std::pair<double, std::string>> sorted;
  double rest = whole;
  for (const auto& [kind, seconds] : kinds) {
    sorted.emplace_back(-seconds, kind);
    rest -= seconds;
  }
  sorted.emplace_back(-std::max(rest, 0.0), "the program");
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> parts;
  for (const auto& [seconds, kind] : sorted) parts.push_back(fmt::format("{} {:.3f} ms", kind, -1e3 * seconds));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

Profile::Times* Profile::Times::current() { return mine(); }

void Profile::Times::add(const engine::RanStep& ran, double took, int threads) {
  const engine::PlannedStep& planned = ran.planned.steps[ran.step];
  std::string name = ran.call ? fuse::to_string(*ran.call) : fmt::format("{} {}", planned.nest.name, engine::written_by(ran));
  if (*ran.part) name += fmt::format(", {}", ran.part);
  const engine::PlannedStep* const epilogue = engine::epilogue_of(ran);
  const std::string then = epilogue ? ", then " + epilogue->nest.name : "";
  Step& step = steps[{engine::kind_of(ran), name + then}];
  ProfiledStep& profiled = step.profiled;
  if (profiled.runs == 0) {
    profiled.name = name + then;
    profiled.kernel = (ran.call ? fmt::format("{} {}", trace::name(ran.call->op), sinter::name(ran.call->dtype)) : planned.nest.name) + then;
    profiled.kind = engine::kind_of(ran);
    profiled.library = ran.call != nullptr;
    profiled.fastest = took;
    step.device = ran.device;
    step.dtype = engine::computes_in(ran);
    step.threads = threads;
  }
  if (const std::string lines = engine::lines_of(ran.planned, planned.computes, ran.sites);
      profiled.from.size() < kMaxText && profiled.from.find(lines) == std::string::npos)
    profiled.from += (profiled.from.empty() ? "" : "; ") + lines;
  profiled.fastest = std::min(profiled.fastest, took);
  ++profiled.runs;
  profiled.seconds += took;
  if (std::string_view(ran.part) == "rims") return;  // the core's figures are those of the whole step
  profiled.bytes += engine::bytes_moved(ran);
  profiled.operations += ran.call ? engine::operations_of(*ran.call) : engine::bytes_of(planned.arithmetic, ran.figures);
}

Profile::Profile() : times_(std::make_unique<Times>()) {
  times_->before = std::exchange(mine(), times_.get());
  times_->sums_before = timeline::sum_into(&times_->kinds);
  timeline::listeners += timeline::kProfile;
}

Profile::~Profile() {
  timeline::listeners -= timeline::kProfile;
  Times** link = &mine();
  if (*link == times_.get()) timeline::sum_into(times_->sums_before);
  while (*link && *link != times_.get()) link = &(*link)->before;
  if (*link) *link = times_->before;
}

void Profile::restart() {
  times_->start_seconds += seconds();
  for (const auto& [kind, seconds] : times_->kinds) times_->start_kinds[kind] += seconds;
  times_->kinds.clear();
  times_->steps.clear();
  times_->made = Times::Clock::now();
}

std::vector<ProfiledStep> Profile::steps() const {
  const engine::ForkGate::Inside inside(engine::Engine::fork_gate());
  timeline::Sums* const sums = timeline::sum_into(nullptr);  // the time of measuring does not count
  const auto start = Times::Clock::now();
  std::vector<ProfiledStep> all;
  for (const auto& [key, step] : times_->steps) {
    ProfiledStep& profiled = all.emplace_back(step.profiled);
    const double runs = static_cast<double>(profiled.runs) * std::max(profiled.fastest, 1e-9);
    const double bandwidth = engine::measured_bandwidth(*step.device, step.threads), arithmetic = engine::measured_arithmetic(*step.device, step.dtype);
    if (bandwidth > 0) profiled.of_bandwidth = profiled.bytes / runs / bandwidth;
    if (arithmetic > 0) profiled.of_arithmetic = profiled.operations / runs / arithmetic;
  }
  timeline::sum_into(sums);
  times_->made += Times::Clock::now() - start;
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return all;
}

double Profile::seconds() const { return seconds_since(times_->made); }

std::map<std::string, double> Profile::kinds() const { return {times_->kinds.begin(), times_->kinds.end()}; }

std::vector<ComputedAgain> Profile::computed_again() const {
  std::vector<ComputedAgain> all;
  for (const auto& [value, times] : times_->again) all.push_back({value, times});
  return all;
}

Timeline::Timeline(std::string_view path) {
  if (!timeline::start(std::string(path))) throw ValueError("timeline: a timeline is being recorded already; end it first, or unset SINTER_TRACE");
}

void Timeline::write() {
  if (std::exchange(written_, true)) return;
  timeline::finish();
}

Timeline::~Timeline() {
  try {
    write();
  } catch (const Error& error) {
    log().warn("{}", error.what());
  }
}

std::string to_string(const Profile& profile, int most) {
  const double whole = profile.seconds();
  const Profile::Times& times = *profile.times_;
  const auto line = [&](double seconds, std::string_view what, const ProfiledStep* step = nullptr, std::uint64_t runs = 0) {
    const auto per_cent = [](double part) { return part > 0 ? fmt::format("{:.0f} %", 100 * part) : "-"; };
    const double of_fastest = step ? static_cast<double>(step->runs) * step->fastest : 0;
    return fmt::format("{:6.1f} % {:10.3f} ms {:>7} {:>10} {:>8} {:>9} {:>10}  {}\n", 100 * seconds / whole, 1e3 * seconds,
                       runs > 0 ? std::to_string(runs) : "", step ? fmt::format("{:.1f}", 1e6 * step->fastest) : "",
                       !step             ? ""
                       : step->bytes > 0 ? fmt::format("{:.1f}", step->bytes / of_fastest / 1e9)
                                         : "-",
                       step ? per_cent(step->of_bandwidth) : "", step ? per_cent(step->of_arithmetic) : "", what);
  };
  const auto named = [](const ProfiledStep& step, const std::string& name) {
    return fmt::format("{}{}{}", step.kind == "interpret" ? "(interpreted) " : "", name, step.from.empty() ? "" : ", from " + step.from);
  };
  std::string text =
      fmt::format("{:>8} {:>13} {:>7} {:>10} {:>8} {:>9} {:>10}  {}\n", "share", "time", "runs", "fastest us", "GB/s", "bandwidth", "arithmetic", "step");
  double shown = 0, rest = 0;
  std::uint64_t runs = 0;
  int lines = 0, more = 0;
  for (const auto& [all, sizes] : grouped(profile)) {
    shown += all.seconds;
    if (lines++ >= most) {
      rest += all.seconds, runs += all.runs;
      more += static_cast<int>(sizes.size());
      continue;
    }
    if (sizes.size() == 1) {
      text += line(all.seconds, named(all, all.name), &all, all.runs);
      continue;
    }
    text += line(all.seconds, named(all, fmt::format("{} at {} sizes", all.kernel, sizes.size())), nullptr, all.runs);
    for (const ProfiledStep& step : sizes) text += line(step.seconds, "  " + step.name, &step, step.runs);
  }
  if (more > 0) text += line(rest, fmt::format("({})", counted(more, "further step")), nullptr, runs);
  text += line(std::max(whole - shown, 0.0), "(outside the steps)");
  text += fmt::format("by kind: {}\n", kinds_text(times.kinds, whole));
  if (times.start_seconds > 0) text += fmt::format("before:  {}\n", kinds_text(times.start_kinds, times.start_seconds));
  for (const ComputedAgain& again : profile.computed_again())
    text += fmt::format("warning: a handle holds {1}, and yet it was computed {0} times; call eval() on it before its first use\n", again.times, again.value);
  return text;
}

std::string to_json(const Profile& profile) {
  using nlohmann::json;
  constexpr int kSchema = 1;
  const double whole = profile.seconds();
  const Profile::Times& times = *profile.times_;
  const auto known = [](double number) { return number > 0 ? json(number) : json(); };
  const auto figures = [&](const ProfiledStep& step) {
    return json{{"runs", step.runs},
                {"seconds", step.seconds},
                {"fastest", step.fastest},
                {"bytes", known(step.bytes)},
                {"operations", known(step.operations)},
                {"of_bandwidth", known(step.of_bandwidth)},
                {"of_arithmetic", known(step.of_arithmetic)}};
  };
  json steps = json::array(), again = json::array(), limits = json::object();
  for (const auto& [all, sizes] : grouped(profile)) {
    json step = figures(all);
    step.update({{"kernel", all.kernel}, {"kind", all.kind}, {"from", all.from}, {"sizes", json::array()}});
    for (const ProfiledStep& one : sizes) {
      step["sizes"].push_back(figures(one));
      step["sizes"].back()["name"] = one.name;
    }
    steps.push_back(std::move(step));
  }
  for (const auto& [key, step] : times.steps) {
    json& limit = limits[step.device->name()];
    limit["bandwidth"] = known(engine::measured_bandwidth(*step.device, step.threads));
    limit[std::string(name(step.dtype))] = known(engine::measured_arithmetic(*step.device, step.dtype));
  }
  for (const ComputedAgain& one : profile.computed_again()) again.push_back({{"value", one.value}, {"times", one.times}});
  const auto kinds = [](const timeline::Sums& sums) { return json(std::map<std::string, double>(sums.begin(), sums.end())); };
  return json{{"schema", kSchema},
              {"seconds", whole},
              {"kinds", kinds(times.kinds)},
              {"before", {{"seconds", times.start_seconds}, {"kinds", kinds(times.start_kinds)}}},
              {"limits", limits},
              {"steps", steps},
              {"computed_again", again}}
      .dump(2);
}

}  // namespace sinter
