// siglongjmp switches from a fiber's stack to the launch's stack. A fortified longjmp would treat this as corruption.
#undef _FORTIFY_SOURCE
#include "launch.hpp"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "shadow_memory.hpp"

namespace cuda_emulator {
namespace {

namespace context = boost::context::detail;

constexpr unsigned kWarp = 32;
constexpr std::size_t kStackBytes = 64 << 10, kPage = 4096;
constexpr int kPoison = 0xff;

/// A stack with an inaccessible page below it. Stacks are reused by later launches.
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
  enum class State { ready, at_barrier, at_warp, at_cluster, done };
  State state = State::ready;
  context::fcontext_t where = nullptr;  // null: the fiber has not begun
  Index3 thread{};
  unsigned number = 0;
  unsigned mask = 0;  // at_warp: the lanes for which it waits
  unsigned line = 0;  // at_barrier: the line in the kernel's text
  // For a block in a cluster: how often it arrived and waited at the cluster's barrier, and its present epoch.
  unsigned arrivals = 0, waits = 0;
  std::uint64_t epoch = 0;
};

struct Warp {
  unsigned long long values[2][kWarp];  // for two consecutive shuffles: a lane may be one shuffle ahead of the others
  unsigned turn[kWarp] = {};
  unsigned arrived = 0;
  unsigned epoch = 0;  // number of warp barriers passed
};

/// A running block, alone or in a cluster: its threads, and a copy of its shared memory while another block of the cluster runs.
struct Block {
  std::uint64_t number = 0;
  std::uint64_t seed = 0;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  unsigned at_barrier = 0;
  unsigned barriers = 0;                 // number of barriers passed
  std::unique_ptr<ShadowMemory> shadow;  // shadow memory of its shared memory
  std::unique_ptr<unsigned char[]> image;
  std::map<std::array<unsigned, 3>, std::uint64_t> epochs;  // for a cluster: epochs by barriers, arrivals and waits
  bool ended() const {
    return std::all_of(fibers.begin(), fibers.end(), [](const Fiber& f) { return f.state == Fiber::State::done; });
  }
};

/// An epoch of a launch of clusters: its block, and the barriers that the block's threads had passed.
struct Stretch {
  std::uint64_t block = 0;
  unsigned barriers = 0, arrivals = 0, waits = 0;
};

/// Counts the epochs of all launches: each block and each barrier of a block begins one.
std::uint64_t epochs = 0;
std::uint64_t launches = 0;

/// The order between blocks of one launch: a fence followed by an atomic in one block, then an atomic on the same word followed by a fence in another.
class Ordering {
 public:
  void start_block() { fences_ = std::make_shared<std::vector<Use>>(), acquired_.clear(); }
  void fence(const Use& by) { fences_->push_back(by); }
  void atomic(std::uintptr_t word, const Use& by) {
    auto& releases = released_[word];
    for (const Release& release : releases) acquired_.push_back({release, by});
    releases.push_back({fences_, fences_->size(), by});
  }
  /// Returns whether a use by an earlier block comes before the present access.
  bool before(const Use& earlier, const Use& now) const {
    for (const Acquire& acquire : acquired_) {
      const bool seen = std::any_of(fences_->begin(), fences_->end(), [&](const Use& f) { return sequenced(acquire.by, f) && sequenced(f, now); });
      const Release& release = acquire.from;
      const auto released = [&](const Use& f) { return sequenced(earlier, f) && sequenced(f, release.by); };
      if (seen && std::any_of(release.fences->begin(), release.fences->begin() + static_cast<std::ptrdiff_t>(release.count), released)) return true;
    }
    return false;
  }

 private:
  using Fences = std::shared_ptr<std::vector<Use>>;
  struct Release {
    Fences fences;      // fences of its block
    std::size_t count;  // number of operations before it
    Use by;
  };
  struct Acquire {
    Release from;
    Use by;
  };
  /// Returns whether two uses are by one block, the first recorded before the second.
  static bool sequenced(const Use& first, const Use& second) {
    return first.epoch() < second.epoch() || (first.epoch() == second.epoch() && first.thread() == second.thread());
  }

  Fences fences_;
  std::vector<Acquire> acquired_;
  std::map<std::uintptr_t, std::vector<Release>> released_;
};

class Launch {
 public:
  Launch(const HostModule& module, const LaunchShape& shape, void** parameters, Memory& memory)
      : module_(module),
        shape_(shape),
        parameters_(parameters),
        memory_(memory),
        cluster_(shape.cluster),
        block_(&cluster_[0]),
        in_cluster_(module.clusters()) {}

  Outcome run(std::string* message);

  [[noreturn]] void fail(Outcome outcome, const std::string& what) {
    outcome_ = outcome;
    message_ = what;
    siglongjmp(escape_, 1);
  }
  void barrier(unsigned line);
  void warp_barrier(unsigned mask);
  unsigned long long shuffle(unsigned mask, unsigned long long value, int source);
  void access(const void* address, std::size_t bytes, bool write);
  void atomic(const void* address, std::size_t bytes);
  void fence() { ordering_.fence(use()); }
  void misaligned(const void* address, std::size_t alignment, const char* type, bool write, unsigned line);
  void cluster_arrive();
  void cluster_wait();
  const void* of_block(const void* own, unsigned rank);
  std::string place() const;

 private:
  Use use(bool atomic = false) const {
    return {in_cluster_ && current_ ? current_->epoch : epochs, number_, current_ ? block_->warps[number_ / kWarp].epoch : 0, atomic};
  }
  Now now(bool atomic) const { return {launch_begin_, block_begin_, use(atomic), in_cluster_}; }
  const Stretch& stretch(const Use& use) const { return stretches_[use.epoch() - launch_begin_]; }
  bool same_block(const Use& a, const Use& b) const { return stretch(a).block == stretch(b).block; }
  bool ordered_in_cluster(const Use& earlier, const Use& now) const;
  /// Answers questions of the shadow memory about an earlier use.
  struct Order {
    const Launch& launch;
    const Use now;
    bool shared;
    bool before(const Use& earlier) const;
    bool same_block(const Use& other) const { return launch.same_block(other, now); }
  };
  std::string name_of(const Use& use) const;
  void begin_block(std::uint64_t number);
  std::uint64_t epoch_of(const Fiber& fiber);
  void switch_to(Block& block);
  template <class Visit> void each_used_region(Visit visit) const;
  void global_access(std::uintptr_t at, std::size_t bytes, bool write, bool atomic);
  void shared_access(Block& of, std::size_t at, const void* address, std::size_t bytes, bool write, bool atomic);
  bool in_shared(const unsigned char* p) const { return p >= shared_.begin && p < shared_.end; }
  void run_plain_block();
  void run_block();
  void run_cluster(std::uint64_t first);
  bool advance();
  void poison_shared();
  void check_shared_end();
  bool pass(unsigned count, std::uint64_t seed);
  void wait();
  void meet_warp(unsigned mask);
  [[noreturn]] void deadlock();
  [[noreturn]] void cluster_deadlock();
  static void body(context::transfer_t from);

  unsigned threads() const { return shape_.block.x * shape_.block.y * shape_.block.z; }
  Index3 coordinates(unsigned number) const { return unflatten(number, shape_.block); }
  static Index3 unflatten(std::uint64_t number, const Index3& size) {
    return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y), static_cast<unsigned>(number / size.x / size.y)};
  }

  const HostModule& module_;
  const LaunchShape& shape_;
  void** parameters_;
  Memory& memory_;
  HostModule::Shared shared_;
  std::vector<Block> cluster_;       // the blocks that run together: one block, or the blocks of a cluster by rank
  Block* block_ = nullptr;           // the block that runs now
  const bool in_cluster_;            // the blocks may wait for each other
  std::uint64_t cluster_begin_ = 0;  // the epoch at which the cluster began
  unsigned arrived_ = 0, met_ = 0;   // threads at the cluster's barrier, and how often all threads have met there
  std::vector<Stretch> stretches_;   // for a launch of clusters, by epoch
  Fiber* current_ = nullptr;
  context::fcontext_t scheduler_ = nullptr;
  std::uint64_t turn_ = 0;
  unsigned number_ = 0;  // number of the running thread
  std::uint64_t launch_begin_ = 0, block_begin_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> blocks_;  // first epoch and number of each block, in the order in which they ran
  Ordering ordering_;                                            // order between blocks (the blocks of a cluster count as one)
  sigjmp_buf escape_;
  Outcome outcome_ = Outcome::done;
  std::string message_;
};

Launch* running = nullptr;
thread_local bool launching = false;  // whether this host thread runs a launch

std::vector<Stack>& stacks() {
  static std::vector<Stack>& kept = *new std::vector<Stack>;
  return kept;
}

void on_signal(int number, siginfo_t* info, void*) {
  if (!launching) {  // a fault of another thread has its usual effect
    signal(number, SIG_DFL);
    return;
  }
  char text[160];
  std::snprintf(text, sizeof(text), "%s at address %p", number == SIGFPE ? "an arithmetic trap" : "an access that the host refuses", info->si_addr);
  running->fail(number == SIGFPE ? Outcome::failed : Outcome::illegal_address, text);
}

/// Returns a seed that differs for each launch of the process, and is the same in each run with the same process seed.
std::uint64_t launch_seed() { return seed() * 0x9e3779b97f4a7c15u + launches; }

/// Catches the signals of a faulty kernel while it runs.
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

std::string hexadecimal(std::uintptr_t address) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%zx", static_cast<std::size_t>(address));
  return text;
}

std::string Launch::place() const { return to_string("block", hooks()->block) + ", " + to_string("thread", hooks()->thread); }

/// Describes a thread: "thread (3, 0, 0)", with its block if that is another one.
std::string Launch::name_of(const Use& use) const {
  const std::string thread = to_string("thread", coordinates(use.thread()));
  if (in_cluster_) return stretch(use).block == block_->number ? thread : to_string("block", unflatten(stretch(use).block, shape_.grid)) + ", " + thread;
  if (use.epoch() >= block_begin_) return thread;
  auto at = std::upper_bound(blocks_.begin(), blocks_.end(), std::pair{use.epoch(), ~std::uint64_t{0}});
  return to_string("block", unflatten((--at)->second, shape_.grid)) + ", " + thread;
}

/// Calls visit(offset, bytes) for all of shared memory except the part of the dynamic array that the launch did not request. The first bytes of that part are
/// watched too.
template <class Visit> void Launch::each_used_region(Visit visit) const {
  if (!shared_.begin) return;
  const std::size_t all = static_cast<std::size_t>(shared_.end - shared_.begin);
  if (!shared_.dynamic) return visit(std::size_t{0}, all);
  const std::size_t dynamic = static_cast<std::size_t>(shared_.dynamic - shared_.begin), behind = dynamic + kLargestDynamicShared;
  visit(std::size_t{0}, dynamic + std::min(shape_.dynamic_shared + 256, kLargestDynamicShared));
  visit(behind, all - behind);
}

void Launch::poison_shared() {
  each_used_region([&](std::size_t at, std::size_t bytes) { std::memset(shared_.begin + at, kPoison, bytes); });
}

/// Switches to a block of the cluster: copies its shared memory to the place where the kernel expects any block's.
void Launch::switch_to(Block& block) {
  if (&block != block_) {
    each_used_region([&](std::size_t at, std::size_t bytes) {
      std::memcpy(block_->image.get() + at, shared_.begin + at, bytes);
      std::memcpy(shared_.begin + at, block.image.get() + at, bytes);
    });
    block_ = &block;
  }
  hooks()->block = unflatten(block.number, shape_.grid);
}

void Launch::check_shared_end() {
  if (!shared_.dynamic) return;
  for (std::size_t i = shape_.dynamic_shared; i < std::min(shape_.dynamic_shared + 256, kLargestDynamicShared); ++i)
    if (shared_.dynamic[i] != kPoison)
      fail(Outcome::illegal_address, "a write past the " + std::to_string(shape_.dynamic_shared) + " bytes of dynamic shared memory");
}

void Launch::access(const void* address, std::size_t bytes, bool write) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto* p = static_cast<const unsigned char*>(address);
  if (memory_.is_device(at)) return global_access(at, bytes, write, false);
  if (in_shared(p)) return shared_access(*block_, static_cast<std::size_t>(p - shared_.begin), p, bytes, write, false);
  for (Block& other : cluster_)
    if (&other != block_ && in_cluster_ && p >= other.image.get() && p < other.image.get() + (shared_.end - shared_.begin)) {
      if (current_->waits == 0)
        fail(Outcome::failed, place() + " uses shared memory of " + to_string("block", unflatten(other.number, shape_.grid)) + " at " + hexadecimal(at) +
                                  ", which the cluster has not met yet to know begun");
      if (other.ended())
        fail(Outcome::illegal_address,
             place() + " uses shared memory of " + to_string("block", unflatten(other.number, shape_.grid)) + " at " + hexadecimal(at) + ", which has ended");
      return shared_access(other, static_cast<std::size_t>(p - other.image.get()), address, bytes, write, false);
    }
  // Returns whether an access is of threadIdx or a similar variable, or of a thread's local variables. These are on its fiber's stack, or above this call on
  // the launch's stack.
  const auto* hook = reinterpret_cast<const unsigned char*>(hooks());
  if (p >= hook && p < hook + sizeof(Hooks)) return;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (current_ ? stacks()[static_cast<std::size_t>(block_ - cluster_.data()) * threads() + number_].owns(address) : at >= here && at - here < kStackBytes)
    return;
  if (module_.owns(address)) return;
  global_access(at, bytes, write, false);
}

void Launch::atomic(const void* address, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at % bytes != 0) misaligned(address, bytes, "an atomic's word", true, 0);
  const auto* p = static_cast<const unsigned char*>(address);
  for (bool write : {false, true})
    if (in_shared(p)) shared_access(*block_, static_cast<std::size_t>(p - shared_.begin), p, bytes, write, true);
    else global_access(at, bytes, write, true);
  ordering_.atomic(at, use(true));
}

void Launch::misaligned(const void* address, std::size_t alignment, const char* type, bool write, unsigned line) {
  fail(Outcome::misaligned_address, place() + (write ? " writes " : " reads ") + type + " at " + hexadecimal(reinterpret_cast<std::uintptr_t>(address)) +
                                        ", which is no multiple of " + std::to_string(alignment) + " bytes" +
                                        (line ? " (line " + std::to_string(line) + ")" : ""));
}

void Launch::global_access(std::uintptr_t at, std::size_t bytes, bool write, bool atomic) {
  const auto described = [&](const std::string& more) {
    return place() + (write ? " writes " : " reads ") + std::to_string(bytes) + " bytes at " + hexadecimal(at) + more;
  };
  Memory::Block* const block = memory_.find(at, bytes);
  if (!block) fail(Outcome::illegal_address, described(", outside every allocation of the device" + memory_.nearest(at)));
  const std::size_t offset = at - block->address;
  if (!block->shadow) block->shadow = std::make_unique<ShadowMemory>(block->bytes);
  const auto conflict = block->shadow->note(offset, bytes, write, now(atomic), Order{*this, use(atomic), false});
  const auto byte = [&](std::size_t i) { return "byte " + std::to_string(i) + " of an array of " + std::to_string(block->bytes); };
  if (conflict.with.known())
    fail(Outcome::failed, described(": " + byte(conflict.at) + ", " + (conflict.wrote ? "written" : "read") + " by " + name_of(conflict.with) +
                                    ((in_cluster_ ? !same_block(conflict.with, use()) : conflict.with.epoch() < block_begin_) ? " of the same launch"
                                                                                                                              : " with no barrier between")));
  if (write) return;
  const std::size_t unwritten = block->shadow->unwritten(offset, bytes, 0);
  if (unwritten == offset + bytes) return;
  for (const auto& [begin, end] : block->filled)
    if (offset >= begin && offset + bytes <= end) return;
  fail(Outcome::failed, described(": " + byte(unwritten) + ", which nobody has written"));
}

/// `at`: offset from the beginning of the block's shared memory.
void Launch::shared_access(Block& of, std::size_t at, const void* address, std::size_t bytes, bool write, bool atomic) {
  const auto described = [&](const std::string& more) {
    const std::string whose = &of == block_ ? "" : " of " + to_string("block", unflatten(of.number, shape_.grid));
    return place() + (write ? " writes " : " reads ") + std::to_string(bytes) + " bytes" + whose + " at " +
           hexadecimal(reinterpret_cast<std::uintptr_t>(address)) + more;
  };
  const std::size_t begin = shared_.dynamic ? static_cast<std::size_t>(shared_.dynamic - shared_.begin) : 0;
  if (shared_.dynamic && at >= begin && at < begin + kLargestDynamicShared && at + bytes > begin + shape_.dynamic_shared)
    fail(Outcome::illegal_address, described(", past the " + std::to_string(shape_.dynamic_shared) + " bytes of dynamic shared memory"));
  // Memory that the launch did not request is not recorded, so that the shadow memory stays small.
  const bool behind = shared_.dynamic && at >= begin + kLargestDynamicShared;
  const std::size_t offset = at - (behind ? kLargestDynamicShared - shape_.dynamic_shared : 0);
  const auto conflict = of.shadow->note(offset, bytes, write, now(atomic), Order{*this, use(atomic), true});
  if (conflict.with.known())
    fail(Outcome::failed, described(": shared byte " + std::to_string(conflict.at) + ", " + (conflict.wrote ? "written" : "read") + " by " +
                                    name_of(conflict.with) + " with no barrier between"));
  if (write) return;
  if (const std::size_t unwritten = of.shadow->unwritten(offset, bytes, cluster_begin_); unwritten < offset + bytes)
    fail(Outcome::failed, described(": shared byte " + std::to_string(unwritten) + ", which no thread of the block has written"));
}

bool Launch::Order::before(const Use& earlier) const {
  // Another block's shared memory is different memory, so earlier uses of it count as ordered.
  if (earlier.epoch() < launch.cluster_begin_ || !launch.in_cluster_) return shared || launch.ordering_.before(earlier, now);
  return launch.ordered_in_cluster(earlier, now) || (!launch.same_block(earlier, now) && launch.ordering_.before(earlier, now));
}

/// For two uses by blocks of the present cluster: returns whether a barrier of the cluster, or of their common block or warp, lies between them.
bool Launch::ordered_in_cluster(const Use& earlier, const Use& now) const {
  const Stretch &then = stretch(earlier), &here = stretch(now);
  if (then.arrivals < here.waits) return true;
  if (then.block != here.block) return false;
  if (earlier.thread() == now.thread() || then.barriers < here.barriers) return true;
  return earlier.thread() / kWarp == now.thread() / kWarp && earlier.warp_barriers() != now.warp_barriers();
}

/// Returns the epoch that a thread of the present block has reached.
std::uint64_t Launch::epoch_of(const Fiber& fiber) {
  const auto [found, fresh] = block_->epochs.try_emplace({block_->barriers, fiber.arrivals, fiber.waits}, 0);
  if (fresh) {
    found->second = ++epochs;
    stretches_.push_back({block_->number, block_->barriers, fiber.arrivals, fiber.waits});
  }
  return found->second;
}

void Launch::cluster_arrive() {
  if (!current_) return;
  if (current_->arrivals != current_->waits) fail(Outcome::failed, place() + " arrives at the cluster's barrier again and has not waited there");
  ++current_->arrivals;
  current_->epoch = epoch_of(*current_);
  if (++arrived_ < threads() * cluster_.size()) return;
  arrived_ = 0;
  ++met_;
  for (Block& block : cluster_)
    for (Fiber& fiber : block.fibers)
      if (fiber.state == Fiber::State::at_cluster) fiber.state = Fiber::State::ready;
}

void Launch::cluster_wait() {
  if (!current_) return;
  if (current_->arrivals == current_->waits) fail(Outcome::failed, place() + " waits at the cluster's barrier, where it has not arrived");
  if (met_ < current_->arrivals) {
    current_->state = Fiber::State::at_cluster;
    wait();
  }
  ++current_->waits;
  current_->epoch = epoch_of(*current_);
}

const void* Launch::of_block(const void* own, unsigned rank) {
  const auto* p = static_cast<const unsigned char*>(own);
  if (!in_shared(p))
    fail(Outcome::illegal_address, place() + " maps " + hexadecimal(reinterpret_cast<std::uintptr_t>(own)) + ", which is not in its shared memory");
  if (rank >= cluster_.size())
    fail(Outcome::illegal_address, place() + " asks for block " + std::to_string(rank) + " of a cluster of " + std::to_string(cluster_.size()));
  return &cluster_[rank] == block_ ? p : cluster_[rank].image.get() + (p - shared_.begin);
}

void Launch::body(context::transfer_t from) {
  running->scheduler_ = from.fctx;
  for (;;) {
    running->module_.call(running->parameters_);
    running->current_->state = Fiber::State::done;
    running->wait();
  }
}

/// Returns control to the scheduler. Continues when this fiber is resumed, perhaps for another block.
void Launch::wait() { scheduler_ = context::jump_fcontext(scheduler_, nullptr).fctx; }

void Launch::barrier(unsigned line) {
  if (!current_) return;
  current_->state = Fiber::State::at_barrier;
  current_->line = line;
  ++block_->at_barrier;
  wait();
}

/// Waits until every lane of the mask arrives.
void Launch::meet_warp(unsigned mask) {
  const unsigned lane = current_->number % kWarp, first = current_->number - lane;
  Warp& warp = block_->warps[first / kWarp];
  if (!(mask >> lane & 1)) fail(Outcome::failed, place() + " is not in the mask of its own shuffle or warp barrier");
  current_->mask = mask;
  warp.arrived |= 1u << lane;
  if ((warp.arrived & mask) != mask) {
    current_->state = Fiber::State::at_warp;
    return wait();
  }
  for (unsigned l = 0; l < kWarp && first + l < block_->fibers.size(); ++l) {
    if (!(mask >> l & 1)) continue;
    if (block_->fibers[first + l].mask != mask) fail(Outcome::failed, place() + " and another lane give different masks");
    block_->fibers[first + l].state = Fiber::State::ready;
  }
  warp.arrived &= ~mask;
}

void Launch::warp_barrier(unsigned mask) {
  if (!current_) return;
  const unsigned lane = current_->number % kWarp;
  Warp& warp = block_->warps[current_->number / kWarp];
  // The last lane to arrive raises the epoch, because the waiting threads still belong to the earlier one.
  if (((warp.arrived | 1u << lane) & mask) == mask) ++warp.epoch;
  meet_warp(mask);
}

unsigned long long Launch::shuffle(unsigned mask, unsigned long long value, int source) {
  if (!current_) return value;
  const unsigned lane = current_->number % kWarp;
  Warp& warp = block_->warps[current_->number / kWarp];
  const unsigned turn = warp.turn[lane]++ & 1;
  warp.values[turn][lane] = value;
  meet_warp(mask);
  if (source < 0 || source >= static_cast<int>(kWarp)) return value;
  if (!(mask >> source & 1)) fail(Outcome::failed, place() + " asks for the value of a lane outside the shuffle's mask");
  return warp.values[turn][source];
}

void Launch::deadlock() {
  unsigned waiting = 0, shuffling = 0, done = 0;
  const Fiber* missing = nullptr;
  for (const Fiber& fiber : block_->fibers) {
    waiting += fiber.state == Fiber::State::at_barrier;
    shuffling += fiber.state == Fiber::State::at_warp;
    done += fiber.state == Fiber::State::done;
    if (!missing && fiber.state != Fiber::State::at_barrier) missing = &fiber;
  }
  fail(Outcome::failed, to_string("block", hooks()->block) + ": barrier " + std::to_string(block_->barriers + 1) + " is reached by " + std::to_string(waiting) +
                            " of " + std::to_string(threads()) + " threads, not by " + to_string("thread", missing->thread) + "; " + std::to_string(shuffling) +
                            " wait in a shuffle, " + std::to_string(done) + " have ended");
}

/// Runs each thread that can continue once, in an order drawn from the seed. Returns false if no thread could.
bool Launch::pass(unsigned count, std::uint64_t seed) {
  seed = (seed + 1) * 0x9e3779b97f4a7c15u;
  unsigned stride = static_cast<unsigned>(seed >> 40) % count | 1;
  while (std::gcd(stride, count) != 1) stride += 2;
  const unsigned start = static_cast<unsigned>(seed >> 20) % count;
  bool progress = false;
  for (unsigned i = 0; i < count; ++i) {
    Fiber& fiber = block_->fibers[(start + static_cast<std::uint64_t>(i) * stride) % count];
    if (fiber.state != Fiber::State::ready) continue;
    progress = true;
    current_ = &fiber;
    number_ = fiber.number;
    hooks()->thread = fiber.thread;
    if (!fiber.where)
      fiber.where =
          context::make_fcontext(stacks()[static_cast<std::size_t>(block_ - cluster_.data()) * threads() + fiber.number].top(), kStackBytes, &Launch::body);
    fiber.where = context::jump_fcontext(fiber.where, nullptr).fctx;
  }
  current_ = nullptr;
  return progress;
}

void Launch::cluster_deadlock() {
  for (Block& block : cluster_) {
    switch_to(block);
    const auto stuck = [](const Fiber& f) { return f.state == Fiber::State::at_barrier || f.state == Fiber::State::at_warp; };
    if (std::any_of(block.fibers.begin(), block.fibers.end(), stuck)) deadlock();
  }
  for (Block& block : cluster_)
    for (const Fiber& fiber : block.fibers)
      if (fiber.arrivals <= met_)
        fail(Outcome::failed, to_string("block", unflatten(block.number, shape_.grid)) + ", " + to_string("thread", fiber.thread) +
                                  " does not reach the cluster's barrier " + std::to_string(met_ + 1) + ", where " + std::to_string(arrived_) + " of " +
                                  std::to_string(threads() * cluster_.size()) + " threads are");
  deadlock();
}

void Launch::begin_block(std::uint64_t number) {
  block_->number = number;
  hooks()->block = unflatten(number, shape_.grid);
  block_->seed = number * 977 + launch_seed();
  for (Fiber& fiber : block_->fibers) fiber.state = Fiber::State::ready, fiber.arrivals = fiber.waits = 0;
  for (Warp& warp : block_->warps) warp.arrived = 0;
  block_->at_barrier = block_->barriers = 0;
  poison_shared();
  if (!in_cluster_) {
    block_begin_ = cluster_begin_ = ++epochs;
    blocks_.emplace_back(block_begin_, number);
    ordering_.start_block();
    return;
  }
  block_->epochs.clear();
  for (Fiber& fiber : block_->fibers) fiber.epoch = epoch_of(fiber);
}

/// Runs the block's threads until all of them wait or have ended. Returns false if none could continue.
bool Launch::advance() {
  const unsigned count = threads();
  for (bool any = false;; any = true) {
    const bool progress = pass(count, block_->seed + turn_++);
    if (block_->at_barrier == count) {
      const std::vector<Fiber>& fibers = block_->fibers;
      for (const Fiber& fiber : fibers)
        if (fiber.line != fibers[0].line)
          fail(Outcome::failed, to_string("block", hooks()->block) + ": " + to_string("thread", fiber.thread) + " waits at the barrier of line " +
                                    std::to_string(fiber.line) + ", " + to_string("thread", fibers[0].thread) + " at that of line " +
                                    std::to_string(fibers[0].line));
      block_->at_barrier = 0;
      ++block_->barriers;
      if (!in_cluster_) ++epochs;
      for (Fiber& fiber : block_->fibers) {
        fiber.state = Fiber::State::ready;
        if (in_cluster_) fiber.epoch = epoch_of(fiber);
      }
    } else if (!progress) {
      return any;
    }
  }
}

void Launch::run_block() {
  advance();
  if (!block_->ended()) deadlock();
  check_shared_end();
}

/// Runs the blocks of a cluster in turns, each time in another order, each block until all of its threads wait.
void Launch::run_cluster(std::uint64_t first) {
  cluster_begin_ = block_begin_ = epochs + 1;
  ordering_.start_block();
  arrived_ = met_ = 0;
  std::vector<Block*> order;
  for (Block& block : cluster_) {
    switch_to(block);
    begin_block(first + order.size());
    order.push_back(&block);
  }
  std::mt19937_64 random(launch_seed() + first);
  for (bool progress = true; progress;) {
    progress = false;
    std::shuffle(order.begin(), order.end(), random);
    for (Block* block : order) {
      if (block->ended()) continue;
      switch_to(*block);
      progress |= advance();
      if (block->ended()) check_shared_end();
    }
  }
  if (!std::all_of(cluster_.begin(), cluster_.end(), [](const Block& block) { return block.ended(); })) cluster_deadlock();
}

void Launch::run_plain_block() {
  for (unsigned i = 0; i < threads(); ++i) {
    number_ = i;
    hooks()->thread = coordinates(i);
    module_.call(parameters_);
  }
  check_shared_end();
}

Outcome Launch::run(std::string* message) {
  const bool fibers = module_.synchronises();
  hooks()->block_size = shape_.block;
  hooks()->grid_size = shape_.grid;
  shared_ = module_.shared();
  const std::size_t shared_bytes = static_cast<std::size_t>(shared_.end - shared_.begin);
  if (fibers && stacks().size() < cluster_.size() * threads()) stacks().resize(cluster_.size() * threads());
  for (Block& block : cluster_) {
    block.shadow = std::make_unique<ShadowMemory>(shared_bytes - (shared_.dynamic ? kLargestDynamicShared - shape_.dynamic_shared : 0));
    if (in_cluster_) block.image.reset(new unsigned char[shared_bytes]);
    if (!fibers) continue;
    block.fibers.resize(threads());
    block.warps.resize((threads() + kWarp - 1) / kWarp);
    for (unsigned i = 0; i < threads(); ++i) {
      block.fibers[i].thread = coordinates(i);
      block.fibers[i].number = i;
    }
  }
  launch_begin_ = epochs + 1;
  // On a GPU, blocks and clusters run in any order.
  std::vector<std::uint64_t> order(std::uint64_t{shape_.grid.x} * shape_.grid.y * shape_.grid.z / cluster_.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(launch_seed()));

  const Memory::Open open(memory_);
  const Signals signals;
  running = this;
  launching = true;
  if (sigsetjmp(escape_, 1) == 0) {
    for (std::uint64_t number : order) {
      if (in_cluster_) {
        run_cluster(number * cluster_.size());
        continue;
      }
      begin_block(number);
      if (fibers) run_block();
      else run_plain_block();
    }
  }
  running = nullptr;
  launching = false;
  *message = message_;
  if (outcome_ != Outcome::done) *message += " [SINTER_EMULATOR_SEED=" + std::to_string(seed()) + "]";
  return outcome_;
}

}  // namespace

std::string to_string(const char* what, const Index3& i) {
  return std::string(what) + " (" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")";
}

std::uint64_t seed() {
  static const std::uint64_t chosen = [] {
    const char* given = std::getenv("SINTER_EMULATOR_SEED");
    return given && *given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  }();
  return chosen;
}

Hooks* hooks() {
  static Hooks only{{},
                    {},
                    {},
                    {},
                    [](unsigned line) { running->barrier(line); },
                    [](unsigned mask) { running->warp_barrier(mask); },
                    [](unsigned mask, unsigned long long value, int source) { return running->shuffle(mask, value, source); },
                    [](const void* address, unsigned long bytes, bool write) { running->access(address, bytes, write); },
                    [](const void* address, unsigned long bytes) { running->atomic(address, bytes); },
                    [] { running->fence(); },
                    [](const void* address, unsigned long alignment, const char* type, bool write, unsigned line) {
                      running->misaligned(address, alignment, type, write, line);
                    },
                    [](const char* type, long long index, unsigned line) {
                      running->fail(Outcome::illegal_address, running->place() + " takes element " + std::to_string(index) + " of an array " + type +
                                                                  " (line " + std::to_string(line) + ")");
                    },
                    [] { running->cluster_arrive(); },
                    [] { running->cluster_wait(); },
                    [](const void* own, unsigned rank) { return running->of_block(own, rank); }};
  return &only;
}

Outcome run_launch(const HostModule& module, const LaunchShape& shape, void** parameters, Memory& memory, std::string* message) {
  ++launches;
  Launch launch(module, shape, parameters, memory);
  return launch.run(message);
}

}  // namespace cuda_emulator
