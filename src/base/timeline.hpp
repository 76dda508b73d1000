// The timeline records the work of each thread and device, as a file that Chrome and Perfetto show (docs/measuring.md). While none is recorded, a span tests
// one flag.
#pragma once
#include <atomic>
#include <string>
#include <utility>

namespace sinter::timeline {

extern constinit std::atomic<bool> recording;
inline bool on() { return recording.load(std::memory_order_relaxed); }

/// Records from now on, into memory; finish() writes the file. "%p" in the path becomes the process's number. False where a timeline is recorded already.
bool start(const std::string& path);
/// Throws IoError where the file cannot be written.
void finish();
/// A child of fork has none of its parent's.
void after_fork_in_child();
/// The name of the thread's line: "compiler".
void name_this_thread(const char* name);

/// The time from construction to destruction, or to stop(), as one part of this thread's line.
class Span {
 public:
  struct Event;
  explicit Span(const char* kind, const char* name = "") {
    if (on()) begin(kind, name);
  }
  ~Span() {
    if (event_) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  explicit operator bool() const { return event_ != nullptr; }
  // These do nothing while no timeline is recorded.
  void stop();
  void rename(const char* kind, std::string name);
  /// The span is shown on a line of this name, such as a stream's, and not on the thread's line.
  void on_line(std::string name);
  void add(const char* key, std::string text);
  void add(const char* key, double number);
  /// The time until now, or until stop().
  double seconds() const;

 private:
  void begin(const char* kind, const char* name);
  void end();
  Event* event_ = nullptr;
};

/// The value of a counter from now on.
void count(const char* name, double value);
/// An operation was recorded on this thread; the operations since the last evaluation are one span, which tell_recorded() ends.
void operation_recorded();
void tell_recorded();

}  // namespace sinter::timeline
