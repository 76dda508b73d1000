// Messages over MPI, which starts the processes and moves the bytes; it adds no numbers. The program may initialise MPI itself, or leave this to init().
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "ranks/transport.hpp"

namespace sinter::ranks {
namespace {

void expect(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(what) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

/// The maximum number of bytes of one message of MPI, whose counts are ints.
constexpr std::size_t kMaxMessage = std::size_t{1} << 30;

class Mpi final : public Transport {
 public:
  Mpi() {
    int running = 0;
    expect(MPI_Initialized(&running), "MPI_Initialized");
    if (!running) {
      int given = 0;
      expect(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given), "MPI_Init_thread");
    }
    // The program's messages are never mixed with the library's, and errors are returned as codes.
    expect(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(ranks_, &rank_);
    MPI_Comm_size(ranks_, &size_);
    owner_ = !running;
    the_one = this;
    std::atexit([] { the_one->finish(); });
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int peer, int tag, std::vector<std::byte> bytes) override {
    const std::lock_guard lock(mutex_);
    sending_.remove_if([](Sending& sending) {
      int done = 0;
      return MPI_Testall(static_cast<int>(sending.requests.size()), sending.requests.data(), &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS || done != 0;
    });
    Sending& sending = sending_.emplace_back();
    sending.bytes = std::move(bytes);
    in_pieces(sending.bytes.size(), [&](std::size_t at, int count) {
      expect(MPI_Isend(sending.bytes.data() + at, count, MPI_BYTE, peer, tag, ranks_, &sending.requests.emplace_back()), "MPI_Isend");
    });
  }

  bool receive(int peer, int tag, std::byte* to, std::size_t bytes, double seconds, void (*meanwhile)()) override {
    std::unique_lock lock(mutex_);
    std::vector<MPI_Request> requests;
    const auto give_up = [&] {
      for (MPI_Request& request : requests) MPI_Cancel(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
      late_ = true;
    };
    in_pieces(bytes, [&](std::size_t at, int count) { expect(MPI_Irecv(to + at, count, MPI_BYTE, peer, tag, ranks_, &requests.emplace_back()), "MPI_Irecv"); });
    std::vector<MPI_Status> states(requests.size());
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    // At first tests often, because messages of a small program arrive within microseconds. Later yields the core to other threads.
    for (int looks = 0;; ++looks) {
      int done = 0;
      expect(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, states.data()), "a message");
      if (done) break;
      lock.unlock();
      if (looks >= 20000) std::this_thread::sleep_for(std::chrono::microseconds(50));
      else if (looks >= 200) std::this_thread::yield();
      try {
        if (looks % 1000 == 999) meanwhile();
      } catch (...) {
        lock.lock();
        give_up();
        throw;
      }
      lock.lock();
      if (std::chrono::steady_clock::now() > end) {
        give_up();
        return false;
      }
    }
    std::size_t received = 0;
    for (const MPI_Status& state : states) {
      int count = 0;
      MPI_Get_count(&state, MPI_BYTE, &count);
      received += static_cast<std::size_t>(count);
    }
    if (received != bytes)
      throw std::runtime_error("a message of " + std::to_string(received) + " bytes came, but " + std::to_string(bytes) + " were expected");
    return true;
  }

  void abort(const char* message) override {
    std::fprintf(stderr, "%s\n", message);
    std::fflush(nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // mpirun may end before it has forwarded the latest output
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

 private:
  struct Sending {
    std::vector<std::byte> bytes;
    std::vector<MPI_Request> requests;
  };

  template <class Visit> static void in_pieces(std::size_t bytes, Visit visit) {
    for (std::size_t at = 0; at < bytes; at += kMaxMessage) visit(at, static_cast<int>(std::min(kMaxMessage, bytes - at)));
  }

  /// Is called at the end of the program. If a rank did not answer, MPI_Finalize would wait for it, too.
  void finish() {
    int over = 0;
    MPI_Finalized(&over);
    if (over || !owner_) return;
    if (late_) abort("sinter: the program ends, and a rank that was waited for never came");
    for (Sending& sending : sending_) MPI_Waitall(static_cast<int>(sending.requests.size()), sending.requests.data(), MPI_STATUSES_IGNORE);
    MPI_Finalize();
  }

  static inline Mpi* the_one = nullptr;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool owner_ = false, late_ = false;
  std::mutex mutex_;  // MPI is called by one thread at a time; a rank that evaluates several places has as many threads
  std::list<Sending> sending_;
};

}  // namespace
}  // namespace sinter::ranks

extern "C" __attribute__((visibility("default"))) sinter::ranks::Transport* sinter_transport() { return new sinter::ranks::Mpi; }
