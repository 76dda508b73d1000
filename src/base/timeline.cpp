#include "base/timeline.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/log.hpp"
#include "base/nvtx.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::timeline {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constinit std::atomic<unsigned> listeners{0};

struct Span::Event {
  const char* kind;
  std::string name, line;
  Clock::time_point begin, end;  // end: Clock's epoch while the span is open
  int thread;
  bool recorded = true, ranged = false;  // the timeline records it; a tool shows it as a range
  Event* outer = nullptr;
  Sums* sums = nullptr;
  Clock::duration inside{};  // the time of the spans nested in it
  bool apart = true;         // its time is summed under its own kind
  json args = json::object();
  const char* percent = "";  // the name of `rate` in percent of the limit
  double rate = 0;
  std::string limit;
};

namespace {

constexpr std::size_t kMaxEvents = 1 << 20;
constexpr int kFirstLine = 1 << 30;  // lines that are not threads are numbered from here, beyond all thread IDs

thread_local constinit const char* thread_name = nullptr;
struct Recorded {
  Clock::time_point first, last;
  std::uint64_t count = 0;
};
thread_local constinit Recorded recorded{};
thread_local constinit Span::Event* innermost = nullptr;
thread_local constinit Sums* sums = nullptr;

}  // namespace

struct Recorder {
  struct Counted {
    const char* name;
    Clock::time_point at;
    double value;
  };
  std::mutex mutex;
  std::string path;
  int process = 0;
  Clock::time_point start;
  std::vector<std::unique_ptr<Span::Event>> events;
  std::vector<Counted> counts;
  std::map<int, std::string> threads;
  std::map<std::string, std::function<double()>> measures;
  std::map<std::string, double> limits;  // the limits that were measured
  std::size_t lost = 0;

  void measure() {
    std::map<std::string, std::function<double()>> all;
    {
      const std::lock_guard lock(mutex);
      all.swap(measures);
    }
    for (const auto& [name, measure] : all) {
      const double limit = measure();
      const std::lock_guard lock(mutex);
      limits[name] = limit;
    }
  }

  void add(std::unique_ptr<Span::Event> event) {
    const std::lock_guard lock(mutex);
    if (!on() || event->begin < start) return;
    if (thread_name) threads.try_emplace(event->thread, thread_name);
    if (events.size() < kMaxEvents) events.push_back(std::move(event));
    else ++lost;
  }

  double microseconds(Clock::time_point at) const { return std::chrono::duration<double, std::micro>(at - start).count(); }

  /// Writes an object of Chrome's "Trace Event Format": complete events (X), counters (C) and names (M).
  void write() {
    // Several processes may use the same name, so each writes a separate file and renames it. A pipe or a terminal is written directly.
    std::error_code error;
    const bool direct = std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
    const std::string written = direct ? path : fmt::format("{}.{}", path, process);
    std::ofstream file(written, std::ios::binary);
    const char* separator = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
    const auto put = [&](json event) {
      event["pid"] = process;
      file << std::exchange(separator, ",\n") << event.dump(-1, ' ', false, json::error_handler_t::replace);
    };
    std::map<std::string, int> lines;
    threads.try_emplace(process, "main");
    put({{"ph", "M"}, {"name", "process_name"}, {"tid", process}, {"args", {{"name", "sinter"}}}});
    for (const auto& event : events) {
      int line = event->thread;
      if (!event->line.empty()) {
        line = lines.try_emplace(event->line, kFirstLine + static_cast<int>(lines.size())).first->second;
        threads.try_emplace(line, event->line);
      } else {
        threads.try_emplace(line, fmt::format("thread {}", line));
      }
      if (const auto limit = limits.find(event->limit); limit != limits.end() && limit->second > 0)
        event->args[event->percent] = 100 * event->rate / limit->second;
      put({{"ph", "X"},
           {"cat", event->kind},
           {"name", event->name.empty() ? event->kind : event->name},
           {"ts", microseconds(event->begin)},
           {"dur", microseconds(event->end) - microseconds(event->begin)},
           {"tid", line},
           {"args", event->args}});
    }
    for (const Counted& one : counts) put({{"ph", "C"}, {"name", one.name}, {"ts", microseconds(one.at)}, {"tid", process}, {"args", {{"value", one.value}}}});
    for (const auto& [thread, name] : threads) put({{"ph", "M"}, {"name", "thread_name"}, {"tid", thread}, {"args", {{"name", name}}}});
    file << "\n]}\n";
    file.close();
    if (file && !direct) std::filesystem::rename(written, path, error);
    if (!file || error) {
      if (!direct) std::filesystem::remove(written, error);
      throw IoError(fmt::format("timeline: '{}' cannot be written", path));
    }
    if (lost > 0) log().warn("timeline: {} holds the first {} events; {} more are left out", path, events.size(), lost);
  }
};

namespace {

// This object is never destroyed, because destructors of static objects may still evaluate.
Recorder*& recorder() {
  static Recorder* made = new Recorder;
  return made;
}

std::string with_process(std::string path) {
  if (const std::size_t at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  return path;
}

/// Records from the loading of the library to the end of the process. A process without events writes no file, so that a program's children keep its file.
const bool from_environment = [] {
  const char* path = std::getenv("SINTER_TRACE");
  if (!path || !*path || !start(path)) return false;
  std::atexit([] {
    if (!on() || recorder()->events.empty()) return;
    try {
      finish();
    } catch (const Error& error) {
      log().warn("{}", error.what());
    }
  });
  return true;
}();

}  // namespace

bool start(const std::string& path) {
  Recorder& all = *recorder();
  const std::lock_guard lock(all.mutex);
  if (on()) return false;
  all.path = with_process(path);
  all.process = getpid();
  all.events.clear();
  all.counts.clear();
  all.measures.clear();
  all.limits.clear();
  all.lost = 0;
  all.start = Clock::now();
  listeners |= kFile;
  return true;
}

void finish() {
  Recorder& all = *recorder();
  if (!on()) return;  // in a child of fork
  all.measure();
  const std::lock_guard lock(all.mutex);
  if (!on()) return;
  listeners &= ~kFile;
  all.write();
}

void after_fork_in_child() {
  listeners &= ~kFile;
  recorder() = new Recorder;  // another thread of the parent may hold the lock of the old one
}

void name_this_thread(const char* name) { thread_name = name; }

void attach_tools() {
  if (nvtx::attach()) listeners |= kRanges;
}

Sums* sum_into(Sums* place) { return std::exchange(sums, place); }

Span::operator bool() const { return event_ && event_->recorded; }

void Span::begin(const char* kind, const char* name) {
  event_ = new Event{kind, name, {}, Clock::now(), {}, gettid(), on(), ranges(), innermost, sums};
  innermost = event_;
  if (event_->ranged) nvtx::push(*name ? name : kind);
}
void Span::stop() {
  if (!event_ || event_->end != Clock::time_point()) return;
  event_->end = Clock::now();
  if (event_->ranged) nvtx::pop();
  innermost = event_->outer;
  if (innermost && event_->apart) innermost->inside += event_->end - event_->begin;
}
void Span::end() {
  stop();
  std::unique_ptr<Event> event(event_);
  if (event->apart && event->sums && event->sums == sums)
    (*sums)[event->kind] += std::chrono::duration<double>(event->end - event->begin - event->inside).count();
  if (event->recorded) recorder()->add(std::move(event));
}
void Span::rename(const char* kind, std::string name) {
  if (!event_) return;
  event_->kind = kind;
  event_->name = std::move(name);
}
void Span::count_outside() {
  if (event_) event_->apart = false;
}
void Span::on_line(std::string name) {
  if (event_) event_->line = std::move(name);
}
void Span::add(const char* key, std::string text) {
  if (event_) event_->args[key] = std::move(text);
}
void Span::add(const char* key, double number) {
  if (event_) event_->args[key] = number;
}
void Span::add_percent(const char* key, double number, std::string limit) {
  if (!event_) return;
  event_->percent = key;
  event_->rate = number;
  event_->limit = std::move(limit);
}
double Span::seconds() const {
  if (!event_) return 0;
  return std::chrono::duration<double>((event_->end == Clock::time_point() ? Clock::now() : event_->end) - event_->begin).count();
}

void add_limit(const std::string& name, std::function<double()> measure) {
  // At the end of a process the limits are measured before its devices close: atexit runs later registrations first.
  static const bool at_exit = [] {
    std::atexit([] {
      if (on()) recorder()->measure();
    });
    return true;
  }();
  (void)at_exit;
  Recorder& all = *recorder();
  const std::lock_guard lock(all.mutex);
  if (!all.limits.contains(name)) all.measures.try_emplace(name, std::move(measure));
}

void count(const char* name, double value) {
  if (!on()) return;
  Recorder& all = *recorder();
  const std::lock_guard lock(all.mutex);
  if (all.counts.size() < kMaxEvents) all.counts.push_back({name, Clock::now(), value});
}

void operation_recorded() {
  recorded.last = Clock::now();
  if (recorded.count++ == 0) recorded.first = recorded.last;
}

void report_recorded() {
  if (recorded.count == 0) return;
  auto event =
      std::unique_ptr<Span::Event>(new Span::Event{"record", "record " + counted(recorded.count, "operation"), "", recorded.first, recorded.last, gettid()});
  recorded.count = 0;
  recorder()->add(std::move(event));
}

}  // namespace sinter::timeline
