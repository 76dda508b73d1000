// A span is the time in which a thread or device does one thing. A timeline writes spans to a file that Chrome and Perfetto show, tools of NVIDIA receive them
// as NVTX ranges, and a profile adds their times (docs/measuring.md). If none of these is active, a span costs one test of a number.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace sinter::timeline {

/// The listeners: bits, and a unit for each profile.
inline constexpr unsigned kFile = 1, kRanges = 2, kProfile = 4;
extern constinit std::atomic<unsigned> listeners;
/// Returns whether a timeline is recorded.
inline bool on() { return (listeners.load(std::memory_order_relaxed) & kFile) != 0; }
/// Returns whether a tool receives ranges.
inline bool ranges() { return (listeners.load(std::memory_order_relaxed) & kRanges) != 0; }
/// Opens the tool that the environment names, if it names one.
void attach_tools();

/// Begins to record into memory; finish() writes the file. "%p" in the path becomes the process's number. Returns false if a timeline is recorded already.
bool start(const std::string& path);
/// Writes the file. Throws IoError if it cannot be written.
void finish();
/// Is called in a child of fork: discards the parent's timeline and profiles.
void after_fork_in_child();
/// Sets the name of the thread's line, such as "compiler".
void name_this_thread(const char* name);

/// The seconds of each kind of span, without those of the spans inside.
using Sums = std::map<std::string_view, double>;
/// Later spans of this thread are also added to these sums; null: to none. Returns the previous sums.
Sums* sum_into(Sums* sums);

/// A span from its construction to its destruction or to stop(), on this thread's line. The spans of a thread are nested.
class Span {
 public:
  struct Event;
  explicit Span(const char* kind, const char* name = "") {
    if (listeners.load(std::memory_order_relaxed) != 0) begin(kind, name);
  }
  ~Span() {
    if (event_) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  /// Returns whether a timeline records the span.
  explicit operator bool() const;
  // These functions do nothing if no timeline, tool or profile is active.
  void stop();
  void rename(const char* kind, std::string name);
  /// In the sums of a profile, its time counts as time of the outer span.
  void count_outside();
  /// The span is shown on a line of this name, such as a stream's, and not on the thread's line.
  void on_line(std::string name);
  void add(const char* key, std::string text);
  void add(const char* key, double number);
  /// Adds the number as percent of the limit of this name.
  void add_percent(const char* key, double number, std::string limit);
  /// Returns the time from the construction until now, or until stop().
  double seconds() const;

 private:
  void begin(const char* kind, const char* name);
  void end();
  Event* event_ = nullptr;
};

/// Adds a limit of a device. It is measured when the timeline ends, so that the measurement is not recorded. `measure` returns 0 if the limit is unknown.
void add_limit(const std::string& name, std::function<double()> measure);
/// Sets the value of a counter.
void count(const char* name, double value);
/// Is called when this thread records an operation. The operations since the last evaluation are one span, which report_recorded() ends.
void operation_recorded();
void report_recorded();

}  // namespace sinter::timeline
