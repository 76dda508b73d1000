// The engine's parts: the bounded map, and kernels over a cache with wrong content.
#include <doctest/doctest.h>
#include <spdlog/logger.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "engine/kernels.hpp"
#include "engine/lru.hpp"
#include "engine/retry.hpp"
#include "jit/identities.hpp"
#include "nest_builder.hpp"
#include "sinter/sinter.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using sinter::testing::NestBuilder;
namespace fs = std::filesystem;

namespace {

void need_compiler() { REQUIRE_MESSAGE(runtime::interpreting_kind().compiler(), "no LLVM was found: scripts/setup.sh installs it"); }

jit::LoopNest twice_plus_one(std::int64_t count) {
  NestBuilder b({count});
  b.stage(false);
  const int at = b.affine({1});
  const int x = b.load(DType::float32, at);
  b.store(b.op(trace::Op::add, {b.op(trace::Op::add, {x, x}), b.scalar(DType::float32)}), at);
  return b.nest;
}

engine::Target cpu_target() {
  engine::Target target;
  target.limits = fuse::cpu_limits();
  target.device = runtime::interpreting_kind().open(0);
  return target;
}

bool computes(engine::Kernels& kernels, const engine::Made& made, const jit::LoopNest& nest, const engine::Target& target) {
  std::vector<float> in{1, 2, 3, 4, 5}, out(5, -1);
  void* pointers[] = {in.data(), out.data()};
  const std::uint64_t one = std::bit_cast<std::uint32_t>(1.0f);
  target.device->launch(*kernels.current(made, nest, target), nest, {pointers, nest.ints, {&one, 1}});
  return out == std::vector<float>{3, 5, 7, 9, 11};
}

}  // namespace

TEST_CASE("the bounded map evicts the least recently used entry, and never the latest one") {
  engine::Lru<std::string, int> map(10);
  map.insert("a", 1, 4);
  map.insert("b", 2, 4);
  CHECK(*map.find("a") == 1);  // now b is the older one
  map.insert("c", 3, 4);
  CHECK(map.find("b") == nullptr);
  CHECK(*map.find("a") == 1);
  CHECK(*map.find("c") == 3);
  CHECK(map.cost() == 8);
  CHECK(map.insert("c", 9, 4) == 3);  // the first entry stays
  CHECK(map.cost() == 8);
  map.insert("huge", 4, 100);
  CHECK(map.size() == 1);
  CHECK(*map.find("huge") == 4);
  for (int k = 0; k < 1000; ++k) map.insert(std::to_string(k), k, 1);
  CHECK(map.size() == 10);
  for (int k = 990; k < 1000; ++k) CHECK(*map.find(std::to_string(k)) == k);
}

TEST_CASE("a valid entry that cannot be loaded is compiled again, once") {
  need_compiler();
  const testing::TemporaryFolder folder;
  const auto nest = twice_plus_one(5);
  const auto target = cpu_target();
  const auto run = [&](engine::Totals& totals) {
    engine::ForkGate gate;
    engine::Kernels kernels(totals, gate);
    kernels.configure({folder.path, std::uint64_t{1} << 30}, {});
    const auto made = kernels.make(nest, target, "");
    CHECK(!made.interpreted);
    CHECK(computes(kernels, made, nest, target));
    return made;
  };
  engine::Totals cold;
  const jit::Source source = run(cold).source();
  CHECK(cold.compiled == 1);
  // The checksum is right, but the entry is no machine code.
  cache::DiskCache cache({folder.path, std::uint64_t{1} << 30});
  auto binary = cache.load(source);
  REQUIRE(binary);
  binary->image.assign(300, 0x7f);
  cache.store(source, *binary);
  engine::Totals again;
  CHECK(run(again).origin == jit::Origin::compiled);
  CHECK(again.compiled == 1);
  CHECK(again.fallbacks == 0);
  engine::Totals warm;
  CHECK(run(warm).origin == jit::Origin::disk);
  CHECK(warm.compiled == 0);
}

TEST_CASE("a kernel is interpreted until its machine code is available") {
  need_compiler();
  const testing::TemporaryFolder folder;
  const auto nest = twice_plus_one(5);
  auto target = cpu_target();
  target.wait = false;
  engine::ForkGate gate;
  engine::Totals totals;
  auto& kernels = *new engine::Kernels(totals, gate);  // its thread keeps running
  kernels.configure({folder.path, std::uint64_t{1} << 30}, {});
  const auto made = kernels.make(nest, target, "");
  REQUIRE(made.later);
  CHECK(computes(kernels, made, nest, target));
  kernels.wait();
  CHECK(totals.compiled == 1);
  CHECK(kernels.current(made, nest, target) != made.kernel.get());
  CHECK(computes(kernels, made, nest, target));
  const auto next = kernels.make(nest, target, "");
  CHECK(!next.later);
  CHECK(totals.from_memory == 1);
  auto longer = nest;
  longer.ints[0] = 6;
  CHECK(kernels.make(longer, target, "").generated == next.generated);  // the sizes are parameters
  CHECK(totals.generated == 1);
}

namespace {

/// The environment of all tests says "fatal".
struct Faults {
  explicit Faults(const char* what) { setenv("SINTER_FAULTS", what, 1); }
  ~Faults() { before ? setenv("SINTER_FAULTS", before->c_str(), 1) : unsetenv("SINTER_FAULTS"); }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
  const std::optional<std::string> before = std::getenv("SINTER_FAULTS") ? std::optional<std::string>(std::getenv("SINTER_FAULTS")) : std::nullopt;
};

/// Returns the exit status of a process in which the planner fails, and which catches every exception and ignores warnings.
int status_after_fault(const char* faults) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const Faults set(faults);
    signal(SIGABRT, SIG_DFL);  // doctest's handler would report a crash
    logger().set_level(spdlog::level::off);
    try {
      engine::with_less_if_it_fails(cpu_target(), [](const engine::Target& with) {
        if (with.limits.fuse) throw InternalError("a circle that is planted");
        return 0;
      });
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("a failure inside the planner ends the process of a test, and no other process") {
  const int fatal = status_after_fault("fatal"), survived = status_after_fault("");
  CHECK(WIFSIGNALED(fatal));
  CHECK(WTERMSIG(fatal) == SIGABRT);
  CHECK(WIFEXITED(survived));
  CHECK(WEXITSTATUS(survived) == 0);
}

TEST_CASE("after a failure inside the planner, planning is tried without fusion") {
  const Faults planted("");
  engine::Target target = cpu_target();
  std::vector<bool> tried;
  const auto work = [&](const engine::Target& with) {
    tried.push_back(with.limits.fuse);
    if (with.limits.fuse) throw InternalError("a circle");
    return 7;
  };
  CHECK(engine::with_less_if_it_fails(target, work) == 7);
  CHECK(tried == std::vector<bool>{true, false});
  CHECK_THROWS_AS(engine::with_less_if_it_fails(target, [](const engine::Target&) -> int { throw InternalError("again"); }), InternalError);
  engine::Target other = cpu_target();  // an error of the user is thrown immediately
  CHECK_THROWS_AS(engine::with_less_if_it_fails(other, [](const engine::Target&) -> int { throw ShapeError("shapes"); }), ShapeError);
  CHECK(other.limits.fuse);
}

TEST_CASE("kinds of devices are found by name and by limits") {
  REQUIRE(runtime::find_kind("cpu"));
  REQUIRE(runtime::find_kind("cuda"));
  CHECK(runtime::find_kind("tpu") == nullptr);
  CHECK(&runtime::kind_of(fuse::cpu_limits()) == runtime::find_kind("cpu"));
  CHECK(&runtime::kind_of(fuse::cuda_limits(90)) == runtime::find_kind("cuda"));
  CHECK(runtime::interpreting_kind().name == "cpu");
  for (const runtime::Kind* kind : runtime::kinds()) CHECK(!kind->describe().empty());
}

namespace {

/// A device that simulates the host behind a slow connection: operands and results are copied, and a transfer waits until another one runs.
class Wired final : public runtime::Device {
 public:
  std::string name() const override { return "wired"; }
  std::string model() const override { return "wired"; }
  fuse::Limits limits() const override { return host_->limits(); }
  runtime::BufferPtr allocate(std::size_t bytes) override { return host_->allocate(bytes); }
  bool reads_host() const override { return false; }
  std::shared_ptr<void> host_memory(const runtime::BufferPtr&) override { return nullptr; }
  void upload(runtime::Buffer& to, const void* from, std::size_t bytes) override {
    meet();
    host_->upload(to, from, bytes);
  }
  void download(void* to, runtime::Buffer& from, std::size_t bytes) override {
    meet();
    host_->download(to, from, bytes);
  }
  void copy(runtime::Buffer& to, runtime::Buffer& from, std::size_t bytes) override { host_->copy(to, from, bytes); }
  runtime::KernelPtr load(const jit::LoopNest& nest, const jit::Binary& binary) override { return host_->load(nest, binary); }
  void launch(runtime::Kernel& kernel, const jit::LoopNest& nest, const runtime::Arguments& arguments) override { host_->launch(kernel, nest, arguments); }
  void call(const fuse::LibraryCall& call, std::span<void* const> pointers, const runtime::EpilogueKernel* epilogue) override {
    host_->call(call, pointers, epilogue);
  }
  void synchronize() override {}
  runtime::MemoryUse memory() const override { return host_->memory(); }
  void trim() override {}

  /// The number of transfers that met another running transfer.
  static inline std::atomic<int> met{0};

 private:
  static void meet() {
    static std::atomic<int> begun{0};
    const int partner = begun++ ^ 1;  // transfers meet in pairs
    for (int k = 0; k < 3000 && begun <= partner; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    met += begun > partner;
  }
  runtime::DevicePtr host_ = runtime::interpreting_kind().open(0);
};

[[maybe_unused]] const bool wired = runtime::register_kind({
    .name = "wired",
    .open = [](int) { return std::make_shared<Wired>(); },
    .describe = [] { return std::vector<std::string>{"wired"}; },
});

}  // namespace

TEST_CASE("transfers of different tensors do not wait for each other, and a device needs only its own folder") {
  Options options = sinter::options();
  options.device = "wired";
  options.cache_size = "0";
  configure(options);
  std::vector<std::vector<float>> results(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&results, t] {
      const Tensor x = from_span(std::vector<float>(100, static_cast<float>(t + 1)));
      results[static_cast<std::size_t>(t)] = (x * 2.0f).to_vector<float>();
    });
  for (auto& thread : threads) thread.join();
  options.device = "cpu";
  configure(options);
  CHECK(results[0] == std::vector<float>(100, 2.0f));
  CHECK(results[1] == std::vector<float>(100, 4.0f));
  CHECK(Wired::met == 4);  // two uploads and two downloads
}

TEST_CASE("the key of a kernel contains a hash of the sources that made it") {
  jit::Source source;
  const std::string without = cache::key_text(source);
  source.generator = jit::cpu_generator();
  CHECK(source.generator.size() > 32);
  CHECK(source.generator != jit::cuda_generator());
  CHECK(cache::key_text(source) != without);
}
