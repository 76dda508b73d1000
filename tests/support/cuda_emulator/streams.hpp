// Runs streams in the least favourable order. Work on a stream starts only when a thread waits for it. Then the streams take turns in a random order,
// restricted only by the recorded events. So a missing wait shows.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace cuda_emulator {

/// Each recording starts a new generation. The event has happened when its last generation is done.
struct Event {
  std::uint64_t recorded = 0, done = 0;
  std::chrono::steady_clock::time_point at{};
};
using EventPtr = std::shared_ptr<Event>;

struct Stream {
  struct Work {
    std::function<void()> run;
    EventPtr after;  // an event with its generation; the work may not begin earlier
    std::uint64_t turn = 0;
    bool ready() const { return !after || after->done >= turn; }
  };
  std::deque<Work> queue;
};

class Streams {
 public:
  explicit Streams(std::uint64_t seed) : random_(seed) {}

  Stream* open() { return all_.emplace_back(std::make_unique<Stream>()).get(); }
  void close(Stream* stream) {
    drain(*stream);
    std::erase_if(all_, [&](const auto& s) { return s.get() == stream; });
  }
  void put(Stream& on, std::function<void()> work) {
    on.queue.push_back({std::move(work), nullptr, 0});
    if (on.queue.size() > kLongest) drain(on);
  }
  void record(Stream& on, const EventPtr& event) {
    put(on, [event, turn = ++event->recorded] {
      event->done = turn;
      event->at = std::chrono::steady_clock::now();
    });
  }
  void wait(Stream& on, const EventPtr& event) {
    on.queue.push_back({[] {}, event, event->recorded});
  }

  void drain(const Stream& stream) {
    while (!stream.queue.empty()) step();
  }
  void drain(const Event& event) {
    while (event.done < event.recorded) step();
  }
  void drain() {
    for (const auto& stream : all_) drain(*stream);
  }

 private:
  static constexpr std::size_t kLongest = 1024;  // a real driver's queue is finite, too

  void step() {
    std::vector<Stream*> ready;
    for (const auto& stream : all_)
      if (!stream->queue.empty() && stream->queue.front().ready()) ready.push_back(stream.get());
    // At least one stream is ready: a stream waits only for events that were recorded earlier.
    Stream& chosen = *ready[random_() % ready.size()];
    const Stream::Work work = std::move(chosen.queue.front());
    chosen.queue.pop_front();
    work.run();
  }

  std::vector<std::unique_ptr<Stream>> all_;
  std::mt19937_64 random_;
};

}  // namespace cuda_emulator
