#include "ranks/world.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "base/beside_library.hpp"
#include "base/interrupt.hpp"

namespace sinter::ranks {
namespace {

constexpr std::size_t kText = 240;
constexpr int kGatherTag = 32767;

thread_local std::shared_ptr<WorldState> of_thread;

double timeout() {
  const char* text = std::getenv("SINTER_RANKS_TIMEOUT");
  if (text == nullptr || *text == 0) return 300;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != 0 || !(seconds > 0)) throw ValueError(fmt::format("SINTER_RANKS_TIMEOUT={}: a number of seconds above 0 is expected", text));
  return seconds;
}

std::shared_ptr<Transport> open_module(const std::string& file) {
  // MPI opens modules, which look for MPI's symbols among the global ones.
  void* const module = dlopen(beside_library(file).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr)
    throw RankError(
        fmt::format("init: the module that moves bytes between ranks does not open: {}. It is built where CMake finds MPI (libopenmpi-dev, or "
                    "libmpich-dev); SINTER_RANKS=off runs one rank without it",
                    dlerror()));
  const auto open = reinterpret_cast<OpenTransport>(dlsym(module, "sinter_transport"));
  if (open == nullptr) throw RankError(fmt::format("init: {} has no function sinter_transport", file));
  try {
    return std::shared_ptr<Transport>(open(), [](Transport*) {});  // used until the process ends
  } catch (const std::exception& error) {
    throw RankError(fmt::format("init: {}", error.what()));
  }
}

/// Returns whether a launcher of Open MPI, MPICH or SLURM's PMI started this process with others.
bool started_by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

std::weak_ptr<WorldState> the_world;  // the process's world, which the handler below uses

[[noreturn]] void end_all_ranks() {
  std::string what = "an unknown exception";
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  if (const auto world = the_world.lock())
    world->transport->abort(fmt::format("sinter: rank {} of {} ended by an exception: {}", world->rank, world->size, what).c_str());
  std::abort();
}

std::shared_ptr<WorldState> world_of_process() {
  const char* set = std::getenv("SINTER_RANKS");
  const std::string how = set != nullptr ? set : "";
  if (how == "off" || (how.empty() && !started_by_mpirun())) return std::make_shared<WorldState>(nullptr);
  auto world = std::make_shared<WorldState>(open_module(how.empty() || how == "mpi" ? "libsinter_mpi.so" : how));
  the_world = world;
  std::set_terminate(end_all_ranks);
  return world;
}

}  // namespace

int World::rank() const { return state_->rank; }
int World::size() const { return state_->size; }
void World::abort(const std::string& message) const {
  if (state_->transport) state_->transport->abort(message.c_str());
}

World init() {
  if (of_thread) return World(of_thread);
  static const auto& world = *new std::shared_ptr<WorldState>(world_of_process());
  return World(world);
}

std::shared_ptr<WorldState> world_of_thread() { return of_thread; }
int rank_of_thread() { return of_thread ? of_thread->rank : 0; }
InWorld::InWorld(std::shared_ptr<WorldState> world) : before_(std::exchange(of_thread, std::move(world))) {}
InWorld::~InWorld() { of_thread = before_; }

void WorldState::receive(int peer, int tag, std::span<std::byte> to, const std::string& what) const {
  const double seconds = timeout();
  try {
    if (transport->receive(peer, tag, to.data(), to.size(), seconds, stop_if_interrupted)) return;
  } catch (const Error&) {
    throw;  // it was interrupted
  } catch (const std::runtime_error& error) {
    throw RankError(fmt::format("rank {} waits for rank {} in {}: {}", rank, peer, what, error.what()));
  }
  throw RankError(
      fmt::format("rank {} has waited {} s for rank {} in {}. All ranks compute a sharded value together: a rank that reads, prints or evaluates such a "
                  "value alone would wait forever. Evaluate the value on all ranks; if the other rank is only slow, raise SINTER_RANKS_TIMEOUT",
                  rank, seconds, peer, what));
}

std::unique_lock<std::mutex> WorldState::exchanging(const std::string& what) const {
  if (size == 1) return {};
  std::unique_lock lock(exchanging_, std::try_to_lock);
  if (!lock)
    throw RankError(
        fmt::format("two threads of rank {} exchange elements of sharded values at the same time, one of them in {}. All ranks must run their "
                    "exchanges in one order: evaluate sharded values in one thread of each rank",
                    rank, what));
  return lock;
}

// Bruck's algorithm: after step k each rank has the texts of 2^k ranks, its own first.
std::vector<std::string> WorldState::gather(const std::string& text, const std::string& what) const {
  begin_interruptible();
  std::vector<std::byte> all(kText * static_cast<std::size_t>(size));
  std::memcpy(all.data(), text.data(), std::min(text.size(), kText - 1));
  for (int known = 1; known < size; known *= 2) {
    const std::size_t bytes = kText * static_cast<std::size_t>(std::min(known, size - known));
    transport->send((rank - known + size) % size, kGatherTag, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(bytes)});
    receive((rank + known) % size, kGatherTag, {all.data() + kText * static_cast<std::size_t>(known), bytes}, what);
  }
  std::vector<std::string> texts;
  for (int k = 0; k < size; ++k) texts.emplace_back(reinterpret_cast<const char*>(all.data()) + kText * static_cast<std::size_t>((k - rank + size) % size));
  return texts;
}

}  // namespace sinter::ranks
