// Tests the library at the end of a process, in static destructors, after forks, without threads, and with compiles in the background. Each role runs in a
// separate process.
#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "program.hpp"
#include "run_command.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using sn::testing::Ran;
using sn::testing::run_command;

namespace {

std::string self;  // this program's path

Ran run_role(const std::string& role, const std::string& environment = "") { return run_command("env " + environment + " " + self + " --role=" + role); }

struct Folder : sn::testing::TemporaryFolder {
  std::string cache() const { return "SINTER_CACHE_DIR=" + path.string(); }
};

bool on_llvm() { return !sn::testing::on_gpu() && sn::options().backend == "llvm"; }

Tensor ramp(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k % 1000) * 0.001f;
  return sn::from_span(values);
}

std::string figure(const std::string& text, const std::string& key) {
  const auto at = text.find(key + "=");
  if (at == std::string::npos) return "";
  const auto start = at + key.size() + 1;
  return text.substr(start, text.find_first_of(" \n", start) - start);
}

// ---- at the end ------------------------------------------------------------------------------------------------------------

// This object is constructed before the library is used, so it is destroyed after all objects that the library makes on first use.
struct AtExit {
  Tensor kept;
  bool asked = false;
  ~AtExit() {
    if (!asked) return;
    try {
      evaluate();
    } catch (const sn::DeviceError& error) {
      std::printf("%s\n", error.what());
    }
    std::fflush(stdout);
  }
  void evaluate() const {
    const Tensor known = sn::exp(kept) + 1.0f;                                       // the plan exists
    const Tensor fresh = sn::softmax(sn::tanh(kept.reshape({500, 20}) * 3.0f), -1);  // this plan has to be made
    const Tensor product = sn::matmul(fresh, fresh.T());
    double sum = 0;
    for (float v : product.to_vector<float>()) sum += v;
    std::printf("known=%.4f sum=%.2f rows=%.4f\n", known.to_vector<float>()[999], sum, sn::sum(fresh).item<float>());
  }
} at_exit;

int role_static() {
  at_exit.kept = ramp(10000);
  at_exit.asked = true;
  sn::eval(sn::exp(at_exit.kept) + 1.0f);
  return 0;
}

// ---- forks -----------------------------------------------------------------------------------------------------------------

int forks(int times) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t)
    others.emplace_back([&stop, t] {
      for (int k = 0; !stop; ++k) {
        const Tensor x = ramp(60000 + t);
        sn::eval(sn::sum(sn::sqrt(x + static_cast<float>(k % 7)) * 2.0f), sn::explain(x).empty() ? x : x * 2.0f);
      }
    });
  int hung = 0, wrong = 0;
  for (int k = 0; k < times; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);  // this signal ends a child that hangs
      const Tensor y = sn::sum(ramp(70000).reshape({70, 1000}) * static_cast<float>(k + 1), -1);
      _exit(std::abs(y.to_vector<float>()[3] - 499.5 * (k + 1)) < 0.1 * (k + 1) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) ++hung;
    else wrong += WEXITSTATUS(status) != 0;
  }
  stop = true;
  for (auto& other : others) other.join();
  std::printf("hung=%d wrong=%d\n", hung, wrong);
  return 0;
}

// ---- threads ---------------------------------------------------------------------------------------------------------------

int role_few_threads() {
  sn::eval(ramp(10) + 1.0f);  // opens the libraries
  const rlimit none{1, 1};
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || (geteuid() == 0 && setuid(64321) != 0)) return sn::testing::kSkipped;
  const Tensor x = ramp(4'000'000);
  std::printf("sum=%.1f\n", sn::sum(sn::sqrt(x) * sn::sqrt(x)).item<float>());
  std::printf("again=%.1f\n", sn::sum(x * 2.0f).item<float>());
  return 0;
}

int role_many_threads() {
  const Tensor x = ramp(4'000'000);
  std::printf("sum=%.1f\n", sn::sum(sn::sqrt(x) * sn::sqrt(x)).item<float>());
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) std::printf("kilobytes=%ld\n", std::atol(line.c_str() + 6));
  return 0;
}

// ---- compiles that nobody waits for -------------------------------------------------------------------------------------------

Tensor formula(const Tensor& x) { return sn::tanh(x * 1.5f + 0.25f) / (sn::sqrt(x + 2.0f) - sn::mean(x * x)) + sn::exp(x); }

int role_at_once() {
  const Tensor x = ramp(100000);
  const Tensor first = formula(x);
  sn::eval(first);
  const bool behind = sn::explain(first).find("interpreted until then") != std::string::npos;
  const auto once = first.to_vector<float>();
  sn::synchronize();
  const auto then = formula(x).to_vector<float>();
  const auto c = sn::counters();
  std::printf("behind=%d compiled=%d disk=%d same=%d\n", behind, int(c.kernels_compiled), int(c.kernels_from_disk),
              std::memcmp(once.data(), then.data(), once.size() * sizeof(float)) == 0);
  return 0;
}

int role_short() {  // the process ends as soon as it has the result
  const Tensor x = ramp(1000);
  std::printf("value=%a\n", formula(x).to_vector<float>()[500]);
  const auto c = sn::counters();
  std::printf("compiled=%d disk=%d fallbacks=%d\n", int(c.kernels_compiled), int(c.kernels_from_disk), int(c.fallbacks));
  return 0;
}

const std::map<std::string, std::function<int()>> roles = {
    {"static", role_static},
    {"fork", [] { return forks(100); }},
    {"first_fork", [] { return forks(1); }},
    {"few_threads", role_few_threads},
    {"many_threads", role_many_threads},
    {"at_once", role_at_once},
    {"short", role_short},
};

}  // namespace

TEST_CASE("the destructor of a static object can evaluate known and new formulas") {
  const Folder folder;
  for (int run = 0; run < 8; ++run) {
    // The first run compiles. If the compiler has been removed, a later run interprets and does not crash.
    const Ran ran = run_role("static", folder.cache() + " SINTER_THREADS=4");
    CAPTURE(ran.out);
    REQUIRE(ran.status == 0);
    if (sn::testing::on_gpu() && ran.out.find("the process is ending") != std::string::npos) continue;  // the driver's own static objects have been destroyed
    CHECK(ran.out.find("known=3.7156") != std::string::npos);
    CHECK(std::strtod(figure(ran.out, "rows").c_str(), nullptr) == doctest::Approx(500).epsilon(1e-4));
  }
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer does not support a child of fork that starts threads
TEST_CASE("a child of fork can evaluate, whatever other threads were doing") {
  if (sn::testing::on_gpu()) return;  // a CUDA context does not outlive a fork
  const Ran ran = run_role("fork", "SINTER_THREADS=3 SINTER_LOG=error");
  CAPTURE(ran.out);
  CHECK(ran.status == 0);
  CHECK(figure(ran.out, "hung") == "0");
  CHECK(figure(ran.out, "wrong") == "0");
}

TEST_CASE("the first fork may happen during the first evaluation") {
  if (sn::testing::on_gpu()) return;
  for (int run = 0; run < 20; ++run) {
    const Ran ran = run_role("first_fork", "SINTER_THREADS=3 SINTER_LOG=error");
    CAPTURE(ran.out);
    REQUIRE(ran.out.find("hung=0 wrong=0") != std::string::npos);
  }
}

#endif

TEST_CASE("if threads cannot be started, the others do the work, and one warning is logged") {
  if (sn::testing::on_gpu()) return;
  const Ran ran = run_role("few_threads", "SINTER_THREADS=8 SINTER_CACHE_SIZE=0 SINTER_WAIT=on");
  if (WIFEXITED(ran.status) && WEXITSTATUS(ran.status) == sn::testing::kSkipped) {
    MESSAGE("SKIPPED: the number of processes cannot be limited here");
    return;
  }
  CAPTURE(ran.out);
  CHECK(ran.status == 0);
  CHECK(std::strtod(figure(ran.out, "sum").c_str(), nullptr) == doctest::Approx(1998000).epsilon(1e-4));
  CHECK(std::strtod(figure(ran.out, "again").c_str(), nullptr) == doctest::Approx(3996000).epsilon(1e-4));
  const auto warned = ran.out.find("threads could be started");
  CHECK(warned != std::string::npos);
  CHECK(ran.out.find("threads could be started", warned + 1) == std::string::npos);
}

TEST_CASE("an absurd number of threads is reduced") {
  const Ran ran = run_role("many_threads", "SINTER_THREADS=2147483647");
  CAPTURE(ran.out);
  CHECK(ran.status == 0);
  CHECK(std::strtod(figure(ran.out, "sum").c_str(), nullptr) == doctest::Approx(1998000).epsilon(1e-4));
  CHECK(std::atol(figure(ran.out, "kilobytes").c_str()) < 1'000'000);
}

TEST_CASE("batches that only a recording holds are counted and released") {
  // 16 MiB each, half a gigabyte together. pocl takes many minutes to compile a kernel with 60 inputs, as more and smaller batches would need.
  constexpr int kBatches = 30;
  constexpr std::int64_t kElements = 4 << 20;
  const std::vector<float> batch(kElements, 0.5f);
  sn::reset_peak();
  const auto before = sn::counters().bytes_now;
  Tensor sum = sn::zeros({}, DType::float32);
  for (int k = 0; k < 3; ++k) sum += sn::sum(sn::from_span(batch));
  CHECK(sn::counters().bytes_now - before >= 3 * kElements * 4);  // memory of recorded operands is counted
  for (int k = 3; k < kBatches; ++k) sum += sn::sum(sn::from_span(batch));
  CHECK(sn::counters().bytes_peak - before < (300u << 20) * (sn::testing::on_gpu() ? 2 : 1));
  CHECK(sum.item<float>() == doctest::Approx(0.5 * kElements * kBatches).epsilon(1e-4));
  // Data that the user holds does not cause an evaluation.
  const Tensor large = sn::from_span(std::vector<float>(70 << 20, 1.0f));
  const auto launched = sn::counters().kernels_launched;
  const Tensor waits = sn::sum(large * 2.0f + large);
  CHECK(sn::counters().kernels_launched == launched);
  CHECK(sn::explain(waits).find("moved") != std::string::npos);
}

TEST_CASE("a first result does not wait for the compiler if the interpreter gives the same bits") {
  if (!on_llvm()) return;
  const Folder folder;
  const Ran first = run_role("at_once", folder.cache() + " SINTER_WAIT=off");
  CAPTURE(first.out);
  REQUIRE(first.status == 0);
  CHECK(figure(first.out, "behind") == "1");
  CHECK(std::atoi(figure(first.out, "compiled").c_str()) >= 1);
  CHECK(figure(first.out, "same") == "1");
  const Ran second = run_role("at_once", folder.cache() + " SINTER_WAIT=off");
  CHECK(figure(second.out, "behind") == "0");
  CHECK(figure(second.out, "compiled") == "0");
  CHECK(figure(second.out, "disk") == figure(first.out, "compiled"));
  const Folder other;
  CHECK(figure(run_role("at_once", other.cache() + " SINTER_WAIT=on").out, "behind") == "0");
}

TEST_CASE("a process that ends immediately still stores its kernel in the cache") {
  if (!on_llvm()) return;
  for (int round = 0; round < 5; ++round) {
    const Folder folder;
    const Ran first = run_role("short", folder.cache() + " SINTER_WAIT=off");
    CAPTURE(first.out);
    REQUIRE(first.status == 0);
    CHECK(figure(first.out, "disk") == "0");
    const Ran second = run_role("short", folder.cache() + " SINTER_WAIT=off");
    CHECK(std::atoi(figure(second.out, "disk").c_str()) >= 1);
    CHECK(figure(second.out, "compiled") == "0");
    CHECK(figure(second.out, "value") == figure(first.out, "value"));
  }
}

TEST_CASE("a warm cache works after the compiler was removed") {
  if (!on_llvm()) return;
  const Folder folder;
  const Ran cold = run_role("short", folder.cache() + " SINTER_WAIT=on");
  const std::string kernels = figure(cold.out, "compiled");
  REQUIRE(std::atoi(kernels.c_str()) >= 1);
  const Ran warm = run_role("short", folder.cache() + " SINTER_WAIT=on SINTER_LLVM=/nonexistent/libLLVM.so");
  CAPTURE(warm.out);
  CHECK(warm.status == 0);
  CHECK(figure(warm.out, "disk") == kernels);
  CHECK(figure(warm.out, "fallbacks") == "0");
  CHECK(figure(warm.out, "value") == figure(cold.out, "value"));
  // A damaged note is ignored.
  std::ofstream(folder.path / "compiler-cpu", std::ios::binary) << "nonsense";
  const Ran lost = run_role("short", folder.cache() + " SINTER_WAIT=on SINTER_LLVM=/nonexistent/libLLVM.so");
  CAPTURE(lost.out);
  CHECK(lost.status == 0);
  CHECK(figure(lost.out, "fallbacks") == kernels);
  CHECK(figure(lost.out, "value") == figure(cold.out, "value"));
}

TEST_CASE("the user can call trim and synchronize") {
  sn::eval(ramp(3'000'000) * 2.0f);
  sn::synchronize();
  sn::trim();
  CHECK((ramp(10) + 1.0f).to_vector<float>()[3] == doctest::Approx(1.003f));
}

int main(int argc, char** argv) {
  self = fs::read_symlink("/proc/self/exe").string();
  const std::string role = argc > 1 ? argv[1] : "";
  if (role.rfind("--role=", 0) == 0) return roles.at(role.substr(7))();
  return sinter::testing::run_tests(argc, argv);
}
