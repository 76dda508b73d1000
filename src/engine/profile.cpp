#include "engine/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/per_thread.hpp"
#include "engine/origins.hpp"
#include "sinter/errors.hpp"

namespace sinter {
namespace {

struct Current {
  Profile::Times* times = nullptr;
};
Profile::Times*& mine() { return per_thread<Current>().times; }

double seconds_since(Profile::Times::Clock::time_point start) { return std::chrono::duration<double>(Profile::Times::Clock::now() - start).count(); }

/// "softmax float32[32, 128]": with the sizes of the values that it writes; with their bytes if the present sizes are not those of the plan.
std::string name_of(const engine::Planned& planned, std::size_t s, std::span<const std::int64_t> numbers, bool& as_planned) {
  std::vector<std::string> written;
  as_planned = true;
  for (const int value : planned.steps[s].writes) {
    const auto& result = planned.value(value);
    const std::size_t bytes = planned.bytes_of(value, numbers);
    const bool same = bytes == static_cast<std::size_t>(element_count(result.shape)) * itemsize(result.dtype);
    as_planned &= same;
    written.push_back(same ? fmt::format("{}{}", name(result.dtype), to_string(result.shape)) : fmt::format("{} of {} bytes", name(result.dtype), bytes));
  }
  return fmt::format("{} {}", planned.steps[s].nest.name, fmt::join(written, ", "));
}

double bytes_of(const fuse::LibraryCall& call) {
  double bytes = static_cast<double>(element_count(call.shape)) * static_cast<double>(itemsize(call.stored));
  for (const auto& operand : call.operands) bytes += static_cast<double>(element_count(operand.shape)) * static_cast<double>(itemsize(operand.dtype));
  return bytes;
}

}  // namespace

Profile::Times* Profile::Times::current() { return mine(); }

void Profile::Times::stop(const engine::Planned& planned, std::size_t s, const fuse::LibraryCall* call, std::span<const std::int64_t> numbers,
                          std::string_view part) {
  const double took = seconds_since(started);
  bool as_planned = true;
  std::string name = call ? fuse::to_string(*call) : name_of(planned, s, numbers, as_planned);
  if (!part.empty()) name += fmt::format(", {}", part);
  if (call && s + 1 < planned.steps.size() && planned.steps[s + 1].follows) name += ", then " + planned.steps[s + 1].nest.name;
  ProfiledStep& step = steps[name];
  step.name = name;
  step.library = call != nullptr;
  step.fastest = step.runs == 0 ? took : std::min(step.fastest, took);
  ++step.runs;
  step.seconds += took;
  if (call) step.bytes += bytes_of(*call);
  else if (as_planned && part != "rims") step.bytes += planned.steps[s].bytes_moved;
}

Profile::Profile() : times_(std::make_unique<Times>()) {
  times_->before = mine();
  mine() = times_.get();
}

Profile::~Profile() {
  Times** link = &mine();
  while (*link && *link != times_.get()) link = &(*link)->before;
  if (*link) *link = times_->before;
}

std::vector<ProfiledStep> Profile::steps() const {
  std::vector<ProfiledStep> all;
  for (const auto& [name, step] : times_->steps) all.push_back(step);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return all;
}

double Profile::seconds() const { return seconds_since(times_->made); }

namespace engine {

void tell_step(timeline::Span& span, const Planned& planned, std::size_t s, const fuse::LibraryCall* call, std::span<const std::int64_t> numbers,
               const History* history, const runtime::Device& device, double bandwidth) {
  const PlannedStep& step = planned.steps[s];
  double bytes = 0;
  if (call) {
    const bool exchange = call->op == trace::Op::send_part || call->op == trace::Op::receive_part;
    span.rename(exchange ? "exchange" : "library", fuse::to_string(*call));
    bytes = bytes_of(*call);
  } else {
    const bool interpreted = step.made.interpreted || (step.made.later && !step.made.ready.kernel.load());
    bool as_planned = true;
    span.add("writes", name_of(planned, s, numbers, as_planned));
    span.rename(interpreted ? "interpret" : "kernel", step.nest.name);
    if (as_planned) bytes = step.bytes_moved;
  }
  if (history)
    if (const std::string lines = Origins(planned, history->sites).lines_text(step.computes); !lines.empty()) span.add("from", lines);
  if (!device.reads_host()) span.on_line(device.name() + ", the stream");
  if (bytes <= 0) return;
  const double rate = bytes / std::max(span.seconds(), 1e-9);
  span.add("bytes", bytes);
  span.add("GB/s", rate / 1e9);
  if (bandwidth > 0) span.add("percent of measured bandwidth", 100 * rate / bandwidth);
}

}  // namespace engine

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
  const auto line = [&](double seconds, std::string_view runs, std::string_view fastest, std::string_view rate, std::string_view what) {
    return fmt::format("{:6.1f} % {:10.3f} ms {:>7} {:>10} {:>10}  {}\n", 100 * seconds / whole, 1e3 * seconds, runs, fastest, rate, what);
  };
  std::string text = fmt::format("{:>8} {:>13} {:>7} {:>10} {:>10}  {}\n", "share", "time", "runs", "fastest us", "GB/s", "step");
  double told = 0, rest = 0;
  std::uint64_t runs = 0;
  int lines = 0, more = 0;
  for (const ProfiledStep& step : profile.steps()) {
    if (lines++ >= most) {
      rest += step.seconds, runs += step.runs;
      ++more;
      continue;
    }
    told += step.seconds;
    text += line(step.seconds, fmt::format("{}", step.runs), fmt::format("{:.1f}", 1e6 * step.fastest),
                 step.bytes > 0 ? fmt::format("{:.1f}", step.bytes / step.seconds / 1e9) : "-", step.name);
  }
  if (more > 0) text += line(rest, fmt::format("{}", runs), "", "", fmt::format("({} further steps)", more));
  return text + line(std::max(whole - told - rest, 0.0), "", "", "", "(beside the steps)");
}

}  // namespace sinter
