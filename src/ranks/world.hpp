// The ranks of a program, as seen from one of them.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ranks/transport.hpp"
#include "sinter/ranks.hpp"

namespace sinter::ranks {

struct WorldState {
  explicit WorldState(std::shared_ptr<Transport> by)
      : transport(std::move(by)), rank(transport ? transport->rank() : 0), size(transport ? transport->size() : 1) {}

  const std::shared_ptr<Transport> transport;  // null for a single rank
  const int rank, size;

  /// Waits for a message up to SINTER_RANKS_TIMEOUT seconds, 300 unless set. Throws a RankError that names the message that did not arrive.
  void receive(int peer, int tag, std::span<std::byte> to, const std::string& what) const;
  /// Must exist during an exchange. Throws RankError if another thread of this rank has one, because the order of the threads' exchanges could differ between
  /// ranks.
  std::unique_lock<std::mutex> exchanging(const std::string& what) const;
  /// Sends every rank's text, truncated to 240 bytes, to all ranks. Returns the texts in the order of ranks.
  std::vector<std::string> gather(const std::string& text, const std::string& what) const;

 private:
  mutable std::mutex exchanging_;
};

/// If ranks are threads, the world for which this thread works, else null; and the number of its rank, else 0.
std::shared_ptr<WorldState> world_of_thread();
int rank_of_thread();
/// Sets the world of ranks that are threads, for a thread that works for this rank; init() returns it.
class InWorld {
 public:
  explicit InWorld(std::shared_ptr<WorldState> world);
  ~InWorld();
  InWorld(const InWorld&) = delete;

 private:
  const std::shared_ptr<WorldState> before_;
};

}  // namespace sinter::ranks
