// Ranks that are threads of one process: a message is moved into its receiver's queue.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "ranks/world.hpp"
#include "sinter/counted.hpp"

namespace sinter::ranks {
namespace {

/// The messages that were sent to a rank and not yet received, by sender and tag. A message wakes only the thread that waits for it.
struct Box {
  struct Queue {
    std::condition_variable news;
    std::deque<std::vector<std::byte>> messages;
  };
  std::mutex mutex;
  std::map<std::pair<int, int>, Queue> queues;
};

struct Post {
  explicit Post(int ranks) : boxes(static_cast<std::size_t>(ranks)), endings(static_cast<std::size_t>(ranks)) {}

  std::vector<Box> boxes;
  std::mutex mutex;                  // guards the members below
  std::vector<std::string> endings;  // how a rank ended; empty while it runs
  std::string failure;               // the first exception's message

  void end(int rank, const std::string& failed) {
    {
      const std::lock_guard lock(mutex);
      endings[static_cast<std::size_t>(rank)] = failed.empty() ? "it has ended without taking part in this" : "it ended by an exception: " + failed;
      if (failure.empty() && !failed.empty()) failure = fmt::format("rank {} ended by an exception: {}", rank, failed);
    }
    for (Box& box : boxes) {
      const std::lock_guard lock(box.mutex);
      for (auto& [key, queue] : box.queues) queue.news.notify_all();
    }
  }
  /// Returns why the rank will send nothing more, or an empty text if it still may.
  std::string why_not(int rank) {
    const std::lock_guard lock(mutex);
    return failure.empty() ? endings[static_cast<std::size_t>(rank)] : failure;
  }
};

class Threads final : public Transport {
 public:
  Threads(std::shared_ptr<Post> post, int rank) : post_(std::move(post)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(post_->boxes.size()); }

  void send(int peer, int tag, std::vector<std::byte> bytes) override {
    Box& box = post_->boxes[static_cast<std::size_t>(peer)];
    const std::lock_guard lock(box.mutex);
    Box::Queue& queue = box.queues[{rank_, tag}];
    queue.messages.push_back(std::move(bytes));
    queue.news.notify_all();
  }

  bool receive(int peer, int tag, std::byte* to, std::size_t bytes, double seconds, void (*meanwhile)()) override {
    Box& box = post_->boxes[static_cast<std::size_t>(rank_)];
    std::unique_lock lock(box.mutex);
    auto& [news, waiting] = box.queues[{peer, tag}];
    std::string why;
    const auto over = [&] { return !waiting.empty() || !(why = post_->why_not(peer)).empty(); };
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    while (!news.wait_until(lock, std::min(end, Clock::now() + std::chrono::milliseconds(50)), over)) {
      meanwhile();
      if (Clock::now() >= end) return false;
    }
    if (waiting.empty()) throw std::runtime_error(why);
    const std::vector<std::byte> message = std::move(waiting.front());
    waiting.pop_front();
    if (message.size() != bytes) throw std::runtime_error(fmt::format("a message of {} came, but {} were expected", counted(message.size(), "byte"), bytes));
    std::memcpy(to, message.data(), bytes);
    return true;
  }

  void abort(const char*) override {}

 private:
  const std::shared_ptr<Post> post_;
  const int rank_;
};

}  // namespace

void run(int ranks, const std::function<void(World)>& program) {
  if (ranks < 1 || ranks > 1024) throw ValueError(fmt::format("run: {} ranks; 1 to 1024 can run as threads", ranks));
  const auto post = std::make_shared<Post>(ranks);
  std::mutex mutex;
  std::exception_ptr first;
  const auto work = [&](int rank) {
    const auto world = std::make_shared<WorldState>(std::make_shared<Threads>(post, rank));
    const InWorld in_world(world);
    std::string failed;
    try {
      program(World(world));
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      try {
        throw;
      } catch (const std::exception& error) {
        failed = error.what();
      } catch (...) {
        failed = "an unknown exception";
      }
    }
    post->end(rank, failed);
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks; ++rank) threads.emplace_back(work, rank);
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace sinter::ranks
