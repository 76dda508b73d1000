// siglongjmp leaves a fiber's stack for the launch's own, which a fortified longjmp takes for corruption.
#undef _FORTIFY_SOURCE
#include "launch.hpp"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "races.hpp"

namespace cuda_emulator {
namespace {

namespace context = boost::context::detail;

constexpr unsigned kWarp = 32;
constexpr std::size_t kStackBytes = 64 << 10, kPage = 4096;
constexpr int kPoison = 0xff;

/// A stack with a closed page below it. Kept for later launches.
class Stack {
 public:
  Stack() {
    void* p = mmap(nullptr, kStackBytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<char*>(p);
    mprotect(base_, kPage, PROT_NONE);
  }
  char* top() const { return base_ + kPage + kStackBytes; }
  bool owns(const void* p) const { return p >= base_ + kPage && p < top(); }

 private:
  char* base_;
};

struct Fiber {
  enum class State { ready, at_barrier, at_warp, done };
  State state = State::ready;
  context::fcontext_t where = nullptr;  // null: not begun
  Index3 thread{};
  unsigned number = 0;
  unsigned mask = 0;  // at_warp: the lanes waited for
};

struct Warp {
  unsigned long long values[2][kWarp];  // of two shuffles in turn: a lane may be one ahead of the others
  unsigned turn[kWarp] = {};
  unsigned arrived = 0;
  unsigned epoch = 0;  // warp barriers passed
};

class Launch {
 public:
  Launch(const HostModule& module, const LaunchShape& shape, void** parameters, Memory& memory)
      : module_(module), shape_(shape), parameters_(parameters), memory_(memory) {}

  Outcome run(std::string* message);

  [[noreturn]] void fail(Outcome outcome, const std::string& what) {
    outcome_ = outcome;
    message_ = what;
    siglongjmp(escape_, 1);
  }
  void barrier();
  void warp_barrier(unsigned mask);
  unsigned long long shuffle(unsigned mask, unsigned long long value, int source);
  void access(const void* address, std::size_t bytes, bool write);
  std::string place() const;

 private:
  void run_plain_block();
  void run_block();
  void poison_shared();
  void check_shared_end();
  bool pass(unsigned count, std::uint64_t seed);
  void wait();
  void meet_warp(unsigned mask);
  [[noreturn]] void deadlock();
  static void body(context::transfer_t from);

  unsigned threads() const { return shape_.block.x * shape_.block.y * shape_.block.z; }
  Index3 coordinates(unsigned number) const {
    return {number % shape_.block.x, number / shape_.block.x % shape_.block.y, number / shape_.block.x / shape_.block.y};
  }

  const HostModule& module_;
  const LaunchShape& shape_;
  void** parameters_;
  Memory& memory_;
  HostModule::Shared shared_;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  Fiber* current_ = nullptr;
  context::fcontext_t scheduler_ = nullptr;
  unsigned at_barrier_ = 0;
  std::uint64_t barriers_ = 0;  // passed by the block
  Races races_;
  sigjmp_buf escape_;
  Outcome outcome_ = Outcome::done;
  std::string message_;
};

Launch* running = nullptr;
thread_local bool launching = false;  // on this host thread

std::vector<Stack>& stacks() {
  static std::vector<Stack>& kept = *new std::vector<Stack>;
  return kept;
}

void on_signal(int number, siginfo_t* info, void*) {
  if (!launching) {  // another thread's own fault: let it have its effect
    signal(number, SIG_DFL);
    return;
  }
  char text[160];
  std::snprintf(text, sizeof(text), "%s at address %p", number == SIGFPE ? "an arithmetic trap" : "an access that the host refuses",
                info->si_addr);
  running->fail(number == SIGFPE ? Outcome::failed : Outcome::illegal_address, text);
}

/// Catches the signals of a wild kernel while it runs.
class Signals {
 public:
  Signals() {
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    for (int i = 0; i < 3; ++i) sigaction(kCaught[i], &action, &old_[i]);
  }
  ~Signals() {
    for (int i = 0; i < 3; ++i) sigaction(kCaught[i], &old_[i], nullptr);
  }
  Signals(const Signals&) = delete;

 private:
  static constexpr int kCaught[3] = {SIGSEGV, SIGBUS, SIGFPE};
  struct sigaction old_[3];
};

std::string Launch::place() const {
  const Hooks& h = *hooks();
  char text[128];
  std::snprintf(text, sizeof(text), "block (%u, %u), thread (%u, %u)", h.block.x, h.block.y, h.thread.x, h.thread.y);
  return text;
}

void Launch::poison_shared() {
  if (!shared_.begin) return;
  if (!shared_.dynamic) {
    std::memset(shared_.begin, kPoison, shared_.end - shared_.begin);
    return;
  }
  // All but the part of the dynamic array that the launch did not ask for; its first bytes are watched.
  unsigned char* const dynamic_end = shared_.dynamic + kLargestDynamicShared;
  std::memset(shared_.begin, kPoison, shared_.dynamic - shared_.begin);
  std::memset(shared_.dynamic, kPoison, std::min(shape_.dynamic_shared + 256, kLargestDynamicShared));
  std::memset(dynamic_end, kPoison, shared_.end - dynamic_end);
}

void Launch::check_shared_end() {
  if (!shared_.dynamic) return;
  for (std::size_t i = shape_.dynamic_shared; i < std::min(shape_.dynamic_shared + 256, kLargestDynamicShared); ++i)
    if (shared_.dynamic[i] != kPoison)
      fail(Outcome::illegal_address, "a write past the " + std::to_string(shape_.dynamic_shared) + " bytes of dynamic shared memory");
}

void Launch::access(const void* address, std::size_t bytes, bool write) {
  // The likely places first: threadIdx and its like, shared memory, the kernel's arrays.
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto* p = static_cast<const unsigned char*>(address);
  const auto* hook = reinterpret_cast<const unsigned char*>(hooks());
  if (p >= hook && p < hook + sizeof(Hooks)) return;
  if (p >= shared_.begin && p < shared_.end) {
    const bool dynamic = shared_.dynamic && p >= shared_.dynamic && p < shared_.dynamic + kLargestDynamicShared;
    if (dynamic && p + bytes > shared_.dynamic + shape_.dynamic_shared)
      fail(Outcome::illegal_address, place() + (write ? " writes" : " reads") + " past the " + std::to_string(shape_.dynamic_shared) +
                                         " bytes of dynamic shared memory");
    if (!current_) return;  // no thread waits for another: nothing is shared
    const Races::Actor actor{current_->number, barriers_, warps_[current_->number / kWarp].epoch};
    // What the launch did not ask for is left out of the count, so that the book of accesses stays small.
    const bool behind = shared_.dynamic && p >= shared_.dynamic + kLargestDynamicShared;
    const std::size_t offset = p - shared_.begin - (behind ? kLargestDynamicShared - shape_.dynamic_shared : 0);
    const std::string race = races_.access(offset, bytes, write, actor);
    if (!race.empty()) fail(Outcome::failed, place() + race);
    return;
  }
  // A thread's own variables: on its fiber's stack, or above this call on the launch's.
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (current_ ? stacks()[current_->number].owns(address) : at >= here && at - here < kStackBytes) return;
  if (memory_.contains(at, bytes) || module_.owns(address)) return;
  char text[128];
  std::snprintf(text, sizeof(text), " %s %zu bytes at %p, outside every allocation of the device", write ? "writes" : "reads", bytes,
                address);
  fail(Outcome::illegal_address, place() + text);
}

void Launch::body(context::transfer_t from) {
  running->scheduler_ = from.fctx;
  for (;;) {
    running->module_.call(running->parameters_);
    running->current_->state = Fiber::State::done;
    running->wait();
  }
}

/// Gives the turn back to the scheduler; returns when this fiber is resumed, maybe for another block.
void Launch::wait() { scheduler_ = context::jump_fcontext(scheduler_, nullptr).fctx; }

void Launch::barrier() {
  if (!current_) return;
  current_->state = Fiber::State::at_barrier;
  ++at_barrier_;
  wait();
}

/// Waits until every lane of the mask is here.
void Launch::meet_warp(unsigned mask) {
  const unsigned lane = current_->number % kWarp, first = current_->number - lane;
  Warp& warp = warps_[first / kWarp];
  if (!(mask >> lane & 1)) fail(Outcome::failed, place() + " is not in the mask of its own shuffle or warp barrier");
  current_->mask = mask;
  warp.arrived |= 1u << lane;
  if ((warp.arrived & mask) != mask) {
    current_->state = Fiber::State::at_warp;
    return wait();
  }
  for (unsigned l = 0; l < kWarp && first + l < fibers_.size(); ++l) {
    if (!(mask >> l & 1)) continue;
    if (fibers_[first + l].mask != mask) fail(Outcome::failed, place() + " and another lane give different masks");
    fibers_[first + l].state = Fiber::State::ready;
  }
  warp.arrived &= ~mask;
}

void Launch::warp_barrier(unsigned mask) {
  if (!current_) return;
  const unsigned lane = current_->number % kWarp;
  Warp& warp = warps_[current_->number / kWarp];
  // The last to come raises the epoch: those who waited went before it, in their own stretch.
  if (((warp.arrived | 1u << lane) & mask) == mask) ++warp.epoch;
  meet_warp(mask);
}

unsigned long long Launch::shuffle(unsigned mask, unsigned long long value, int source) {
  if (!current_) return value;
  const unsigned lane = current_->number % kWarp;
  Warp& warp = warps_[current_->number / kWarp];
  const unsigned turn = warp.turn[lane]++ & 1;
  warp.values[turn][lane] = value;
  meet_warp(mask);
  if (source < 0 || source >= static_cast<int>(kWarp)) return value;
  if (!(mask >> source & 1)) fail(Outcome::failed, place() + " asks for the value of a lane outside the shuffle's mask");
  return warp.values[turn][source];
}

void Launch::deadlock() {
  unsigned waiting = 0, shuffling = 0, done = 0;
  for (const Fiber& fiber : fibers_) {
    waiting += fiber.state == Fiber::State::at_barrier;
    shuffling += fiber.state == Fiber::State::at_warp;
    done += fiber.state == Fiber::State::done;
  }
  fail(Outcome::failed, "block (" + std::to_string(hooks()->block.x) + "): barrier " + std::to_string(barriers_ + 1) + " is reached by " +
                            std::to_string(waiting) + " of " + std::to_string(threads()) + " threads; " + std::to_string(shuffling) +
                            " wait in a shuffle, " + std::to_string(done) + " have ended");
}

/// One turn for each thread that can go on, in an order drawn from the seed. False when there was none.
bool Launch::pass(unsigned count, std::uint64_t seed) {
  seed = (seed + 1) * 0x9e3779b97f4a7c15u;
  unsigned stride = static_cast<unsigned>(seed >> 40) % count | 1;
  while (std::gcd(stride, count) != 1) stride += 2;
  const unsigned start = static_cast<unsigned>(seed >> 20) % count;
  bool progress = false;
  for (unsigned i = 0; i < count; ++i) {
    Fiber& fiber = fibers_[(start + static_cast<std::uint64_t>(i) * stride) % count];
    if (fiber.state != Fiber::State::ready) continue;
    progress = true;
    current_ = &fiber;
    hooks()->thread = fiber.thread;
    if (!fiber.where) fiber.where = context::make_fcontext(stacks()[fiber.number].top(), kStackBytes, &Launch::body);
    fiber.where = context::jump_fcontext(fiber.where, nullptr).fctx;
  }
  current_ = nullptr;
  return progress;
}

void Launch::run_block() {
  const unsigned count = threads();
  poison_shared();
  for (Fiber& fiber : fibers_) fiber.state = Fiber::State::ready;
  for (Warp& warp : warps_) warp.arrived = 0;
  at_barrier_ = 0;
  for (std::uint64_t turn = 0;; ++turn) {
    const bool progress = pass(count, hooks()->block.x * 977 + turn);
    if (at_barrier_ == count) {
      for (Fiber& fiber : fibers_) fiber.state = Fiber::State::ready;
      at_barrier_ = 0;
      ++barriers_;
    } else if (!progress) {
      if (std::all_of(fibers_.begin(), fibers_.end(), [](const Fiber& f) { return f.state == Fiber::State::done; })) break;
      deadlock();
    }
  }
  ++barriers_;  // nothing is shared from block to block
  check_shared_end();
}

void Launch::run_plain_block() {
  poison_shared();
  for (unsigned i = 0; i < threads(); ++i) {
    hooks()->thread = coordinates(i);
    module_.call(parameters_);
  }
  check_shared_end();
}

Outcome Launch::run(std::string* message) {
  const bool fibers = module_.synchronises();
  if (fibers) {
    if (stacks().size() < threads()) stacks().resize(threads());
    fibers_.resize(threads());
    warps_.resize((threads() + kWarp - 1) / kWarp);
    for (unsigned i = 0; i < threads(); ++i) {
      fibers_[i].thread = coordinates(i);
      fibers_[i].number = i;
    }
  }
  hooks()->block_size = shape_.block;
  hooks()->grid_size = shape_.grid;
  shared_ = module_.shared();
  races_.reset(shared_.end - shared_.begin - (shared_.dynamic ? kLargestDynamicShared - shape_.dynamic_shared : 0));

  const Memory::Open open(memory_);
  const Signals signals;
  running = this;
  launching = true;
  if (sigsetjmp(escape_, 1) == 0) {
    for (unsigned z = 0; z < shape_.grid.z; ++z)
      for (unsigned y = 0; y < shape_.grid.y; ++y)
        for (unsigned x = 0; x < shape_.grid.x; ++x) {
          hooks()->block = {x, y, z};
          if (fibers) run_block();
          else run_plain_block();
        }
  }
  running = nullptr;
  launching = false;
  *message = message_;
  return outcome_;
}

}  // namespace

Hooks* hooks() {
  static Hooks only{{},
                    {},
                    {},
                    {},
                    [] { running->barrier(); },
                    [](unsigned mask) { running->warp_barrier(mask); },
                    [](unsigned mask, unsigned long long value, int source) { return running->shuffle(mask, value, source); },
                    [](const void* address, unsigned long bytes, bool write) { running->access(address, bytes, write); }};
  return &only;
}

Outcome run_launch(const HostModule& module, const LaunchShape& shape, void** parameters, Memory& memory, std::string* message) {
  Launch launch(module, shape, parameters, memory);
  return launch.run(message);
}

}  // namespace cuda_emulator
