// Spans: the time in which a thread or device does one thing. A timeline writes them as a file that Chrome and Perfetto show, tools of NVIDIA receive them as
// NVTX ranges, and a profile sums them (docs/measuring.md). While none of these listens, a span tests one number.
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

/// Records from now on, into memory; finish() writes the file. "%p" in the path becomes the process's number. False where a timeline is recorded already.
bool start(const std::string& path);
/// Throws IoError where the file cannot be written.
void finish();
/// A child of fork has none of its parent's.
void after_fork_in_child();
/// The name of the thread's line: "compiler".
void name_this_thread(const char* name);

/// The seconds of each kind of span, without those of the spans inside.
using Sums = std::map<std::string_view, double>;
/// From now on the spans of this thread that begin are added there too; null: nowhere. Returns the place before.
Sums* sum_into(Sums* sums);

/// The time from construction to destruction, or to stop(), as one part of this thread's line. The spans of a thread are nested.
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

  /// Returns whether a timeline records it.
  explicit operator bool() const;
  // These do nothing while nobody listens.
  void stop();
  void rename(const char* kind, std::string name);
  /// In the sums of a profile, its time is the outer span's.
  void count_outside();
  /// The span is shown on a line of this name, such as a stream's, and not on the thread's line.
  void on_line(std::string name);
  void add(const char* key, std::string text);
  void add(const char* key, double number);
  /// Adds the number as percent of the limit of this name.
  void add_percent(const char* key, double number, std::string limit);
  /// The time until now, or until stop().
  double seconds() const;

 private:
  void begin(const char* kind, const char* name);
  void end();
  Event* event_ = nullptr;
};

/// A limit of a device. It is measured when the timeline ends, so that measuring is no part of it; 0: unknown.
void add_limit(const std::string& name, std::function<double()> measure);
/// The value of a counter from now on.
void count(const char* name, double value);
/// An operation was recorded on this thread; the operations since the last evaluation are one span, which report_recorded() ends.
void operation_recorded();
void report_recorded();

}  // namespace sinter::timeline
