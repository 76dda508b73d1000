// Tests the limit on memory, and interrupts. After both the tensors are unchanged, and the process continues.
#include <doctest/doctest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "draws.hpp"
#include "program.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using Folder = sn::testing::TemporaryFolder;

namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

Tensor floats(std::int64_t count) { return sn::from_span(std::vector<float>(static_cast<std::size_t>(count), 1.5f)); }

/// Changes the limit on memory while this object exists.
struct Limit : sn::testing::WithOptions {
  explicit Limit(const std::string& memory) : WithOptions([&](sn::Options& options) { options.memory = memory; }) {}
};

template <class Work> std::string refused(Work work) {
  try {
    work();
  } catch (const sn::MemoryError& error) {
    return error.what();
  }
  return {};
}

/// Calls interrupt() from another thread after a while.
class Later {
 public:
  explicit Later(std::chrono::microseconds wait)
      : thread_([wait] {
          std::this_thread::sleep_for(wait);
          sn::interrupt();
        }) {}
  ~Later() { thread_.join(); }
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

 private:
  std::thread thread_;
};

/// A request that no evaluation has answered would stop the evaluation of the next test.
void answer_requests() {
  try {
    sn::eval(floats(3) + 1.0f);
  } catch (const sn::Interrupted&) {
  }
}

/// Several kernels, none of which is cheap.
Tensor long_work(const Tensor& x) {
  Tensor y = x;
  for (int k = 0; k < 20; ++k) y = sn::sin(sn::flip(sn::cumsum(y * 0.5f, 0), {0})) + x;
  return y;
}

}  // namespace

TEST_CASE("a result above the limit is a MemoryError with the bytes, the operation and the line; other tensors are unchanged") {
  const Tensor x = floats(1 << 20);  // 4 MiB
  sn::eval(x);
  const std::size_t held = sn::counters().bytes_now;
  {
    const Limit limit(std::to_string(held + 6 * kMegabyte));
    const Tensor y = x * 2.0f;
    sn::eval(y);
    const int line = __LINE__ + 1;
    const Tensor z = x + y;
    const std::string said = refused([&] { sn::eval(z); });
    INFO(said);
    CHECK(said.find(std::to_string(4 * kMegabyte)) != std::string::npos);
    CHECK(said.find("add") != std::string::npos);
    CHECK(said.find("test_limits.cpp:" + std::to_string(line)) != std::string::npos);
    CHECK(said.find("SINTER_MEMORY") != std::string::npos);
    CHECK(sn::sum(z).item<float>() == doctest::Approx(4.5 * (1 << 20)));  // a sum of these elements needs hardly any memory
    CHECK(y.to_vector<float>()[77] == 3.0f);
  }
  CHECK((x + 1.0f).to_vector<float>()[5] == 2.5f);
}

TEST_CASE("tensors from the user's data and from files count towards the limit") {
  const std::size_t held = sn::counters().bytes_now;
  const Folder folder;
  const std::string file = (folder.path / "x.npy").string();
  sn::save_npy(file, floats(1 << 20));
  const Limit limit(std::to_string(held + kMegabyte));
  CHECK_FALSE(refused([] { floats(1 << 20); }).empty());
  CHECK(floats(1 << 10).size() == 1 << 10);
  CHECK(refused([&] { sn::load_npy(file); }).find("x.npy") != std::string::npos);
}

TEST_CASE("intermediate values count while they are live, at random limits, and results that fit are correct") {
  const Tensor x = floats(1 << 16);  // 256 KiB
  sn::eval(x);
  const double expected = sn::sum(long_work(x)).item<float>();
  int refusals = 0, results = 0;
  for (int round = 0; round < 60; ++round) {
    const auto before = sn::counters().bytes_now;
    {
      const Limit limit(std::to_string(before + static_cast<std::size_t>(sn::testing::pick(0, 2 * static_cast<std::int64_t>(kMegabyte)))));
      const Tensor sum = sn::sum(long_work(x));
      try {
        const float value = sum.item<float>();
        CHECK(value == expected);
        ++results;
      } catch (const sn::MemoryError&) {
        ++refusals;
      }
    }
    CHECK(sn::counters().bytes_now <= before + kMegabyte);  // no memory is lost
  }
  CHECK(refusals > 0);
  CHECK(results > 0);
}

TEST_CASE("a result that no machine can hold is refused before any step runs") {
  const auto before = sn::counters().kernels_launched;
  const std::int64_t much = std::int64_t{1} << 42;
  CHECK_FALSE(refused([&] { sn::eval(sn::cumsum(sn::ones({much}), 0)); }).empty());
  CHECK_FALSE(refused([&] { sn::eval(sn::softmax(sn::zeros({much}), -1)); }).empty());
  CHECK(sn::counters().kernels_launched == before);
}

TEST_CASE("an invalid limit is refused, and an empty one is no limit") {
  sn::Options options = sn::options();
  options.memory = "plenty";
  CHECK_THROWS_AS(sn::configure(options), sn::ValueError);
  options.memory = "";
  sn::configure(options);
  CHECK(floats(1 << 22).size() == 1 << 22);
}

TEST_CASE("an interrupt at any time ends the evaluation; the tensor can be evaluated again") {
  const Tensor x = floats(1 << 15);
  sn::eval(x);
  const std::vector<float> expected = long_work(x).to_vector<float>();
  const auto began = std::chrono::steady_clock::now();
  sn::eval(long_work(x));
  const auto takes = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began).count();
  int stopped = 0;
  for (int round = 0; round < 40 || (stopped == 0 && round < 4000); ++round) {
    const Tensor y = long_work(x);
    {
      const Later later(std::chrono::microseconds(sn::testing::pick(0, takes)));
      try {
        sn::eval(y);
      } catch (const sn::Interrupted&) {
        ++stopped;
      }
    }
    answer_requests();
    CHECK(y.to_vector<float>() == expected);
  }
  CHECK(stopped > 0);
}

TEST_CASE("an interrupt between evaluations stops the next evaluation, and only that one") {
  sn::interrupt();
  sn::interrupt();
  CHECK_THROWS_AS(sn::eval(floats(10) * 2.0f), sn::Interrupted);
  CHECK((floats(10) * 2.0f).to_vector<float>()[3] == 3.0f);
}

TEST_CASE("a handled interrupt stops no later evaluation, on any thread") {
  for (const int threads : {1, 2, 3}) {
    const auto scope = sn::testing::with_threads(threads);
    sn::interrupt();
    CHECK_THROWS_AS(sn::eval(floats(10) * 2.0f), sn::Interrupted);
    const Tensor x = sn::sin(sn::arange(200000).reshape({200, 1000}) * 1.0), square = sn::sin(sn::arange(160000).reshape({400, 400}) * 1.0);
    const std::vector<float> rows = sn::astype(sn::sort(x, 1), DType::float32).to_vector<float>();  // tasks that start tasks
    CHECK(std::is_sorted(rows.begin(), rows.begin() + 1000));
    CHECK_NOTHROW(sn::eval(sn::argsort(x, 1), sn::topk(x, 5).first, sn::cumsum(x, 1), sn::matmul(square, square), sn::inv(square), sn::sum(x, {0})));
    CHECK_NOTHROW(sn::eval(sn::conv2d(x.reshape({1, 2, 100, 1000}), sn::ones({3, 2, 3, 3}, DType::float64))));
  }
}

TEST_CASE("one interrupt stops the evaluations of all threads") {
  std::atomic<int> running{0}, stopped{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      const Tensor x = floats(1 << 18);
      sn::eval(x);
      ++running;
      try {
        for (;;) sn::eval(long_work(x));
      } catch (const sn::Interrupted&) {
        ++stopped;
      }
    });
  while (running < 3) std::this_thread::yield();
  // An interrupt between two evaluations of a thread stops only the next one, so it is repeated.
  while (stopped < 3) {
    sn::interrupt();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  for (auto& thread : threads) thread.join();
  answer_requests();
}

#ifdef SINTER_COMMAND
namespace {

struct Ended {
  int status = 0;
  std::string out;
};

/// Runs the command in a separate process group and sends the group a signal after some time.
Ended run_and_signal(const fs::path& cache, const std::vector<std::string>& arguments, int number, std::chrono::microseconds wait) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  // No signal may run doctest's handler in the child: it allocates, and until fork() returns malloc's locks may be held there.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    setenv("SINTER_CACHE_DIR", cache.c_str(), 1);
    std::vector<char*> argv{const_cast<char*>(SINTER_COMMAND)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    alarm(60);  // this signal ends a command that does not end by itself
    execv(SINTER_COMMAND, argv.data());
    _exit(127);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(ends[1]);
  std::thread other([&] {
    std::this_thread::sleep_for(wait);
    if (number != 0) kill(child, number);
  });
  Ended ended;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) ended.out.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  other.join();
  waitpid(child, &ended.status, 0);
  return ended;
}

}  // namespace

TEST_CASE("Ctrl-C at any time ends a command with exit code 130 and leaves the cache intact") {
  const Folder folder;
  const fs::path cache = folder.path / "cache", out = folder.path / "y.npy";
  int interrupted = 0;
  std::uintmax_t bytes = 0;  // the output of a complete result
  // The first two rounds run without a signal; the first of them compiles. The signals of later rounds come within the time that the command took.
  std::chrono::microseconds whole{};
  for (int round = 0; round < 27; ++round) {
    std::string formula = "x = sin(arange(300000.)); x";
    for (int k = 0; k < 12; ++k)
      formula += " + flip(cumsum(x * " + std::to_string(sn::testing::pick(2, 1000000)) + ", axis=0) * " + std::string(static_cast<std::size_t>(k), '-') + "x)";
    const int number = round < 2 ? 0 : round % 5 == 4 ? SIGKILL : SIGINT;
    const auto start = std::chrono::steady_clock::now();
    const Ended ended =
        run_and_signal(cache, {"eval", formula, "-o", out.string()}, number, std::chrono::microseconds(round < 2 ? 0 : sn::testing::pick(0, whole.count())));
    if (round < 2) whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
    INFO(ended.out);
    const bool killed = WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == number;  // SIGINT: before the command has begun
    const bool done = WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0, stopped = WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 130;
    CHECK((killed || done || stopped));
    if (stopped) CHECK(ended.out.find("sinter: interrupted") != std::string::npos);
    interrupted += stopped;
    if (round < 2) bytes = fs::file_size(out);
#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer delivers signals late
    if (!done && number != SIGKILL) CHECK_FALSE(fs::exists(out));
#endif
    if (fs::exists(out)) CHECK(fs::file_size(out) == bytes);  // SIGKILL may come between the result and the command's end
    fs::remove(out);
    const Ended verified = run_and_signal(cache, {"cache", "verify"}, 0, {});
    INFO(verified.out);
    CHECK(WEXITSTATUS(verified.status) == 0);
  }
  CHECK(interrupted > 0);
}
#endif
