// The promises of the design, each as a test that reads the counters or looks at the process from outside.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sinter/sinter.hpp>
#include <sstream>
#include <thread>

#include "program.hpp"
#include "run_command.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using sn::testing::Ran;
using sn::testing::run_command;

namespace {

std::string self;  // this program's path

Tensor random_tensor(const sn::Shape& shape, std::uint32_t seed = 1) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(sn::element_count(shape)));
  for (float& v : values) v = normal(rng);
  return sn::from_pointer(values.data(), shape);
}

bool compiles() { return sn::options().device != "cpu" || sn::options().backend == "llvm"; }

struct Difference {
  sn::Counters before = sn::counters();
  sn::Counters now() const {
    sn::Counters c = sn::counters();
    c.kernels_launched -= before.kernels_launched;
    c.kernels_compiled -= before.kernels_compiled;
    c.kernels_from_disk -= before.kernels_from_disk;
    c.plans_made -= before.plans_made;
    c.plans_reused -= before.plans_reused;
    c.library_calls -= before.library_calls;
    c.fallbacks -= before.fallbacks;
    return c;
  }
  /// New kernels, compiled or from an earlier run's cache.
  std::uint64_t made() const { return now().kernels_compiled + now().kernels_from_disk; }
};

// Runs a role of this program (see main) in a separate process with additional environment variables.
Ran run_child(const std::string& role, const std::vector<std::string>& environment) {
  std::string command;
  for (const auto& variable : environment) command += variable + " ";
  return run_command("env " + command + self + " --role=" + role);
}

int role_warm() {
  const Tensor x = random_tensor({64, 256}), s = random_tensor({256}, 2);
  const Tensor y = sn::softmax(sn::gelu(x * s + 0.5f), -1);
  sn::eval(y);
  const Tensor z = sn::matmul(y, x.T());
  sn::eval(z);
  double sum = 0;
  for (float v : z.data<float>()) sum += v;
  bool compiler = false;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) compiler |= line.find("libLLVM") != std::string::npos || line.find("nvrtc") != std::string::npos;
  const auto c = sn::counters();
  std::printf("compiled=%d disk=%d fallbacks=%d mapped=%d sum=%a\n", int(c.kernels_compiled), int(c.kernels_from_disk), int(c.fallbacks), compiler, sum);
  std::printf("%s\n", sn::explain(y).c_str());
  return 0;
}

int role_bits() {
  const Tensor x = random_tensor({300007}), m = random_tensor({129, 1025}, 3);
  std::uint64_t hash = 1469598103934665603ull;
  for (const Tensor& t : {sn::sum(x), sn::mean(m, 0), sn::sum(m, 1), sn::softmax(m, 0), sn::layer_norm(m), sn::matmul(m, m.T()), sn::sum(m)}) {
    for (float v : t.data<float>()) {
      std::uint32_t bits;
      std::memcpy(&bits, &v, 4);
      hash = (hash ^ bits) * 1099511628211ull;
    }
  }
  std::printf("bits=%llx\n", static_cast<unsigned long long>(hash));
  return 0;
}

std::string word(const std::string& text, const std::string& key) {
  const auto at = text.find(key + "=");
  if (at == std::string::npos) return "";
  const auto start = at + key.size() + 1;
  return text.substr(start, text.find_first_of(" \n", start) - start);
}

}  // namespace

TEST_CASE("1: a thousand literals and fifty sizes of one formula make one kernel") {
  const Tensor x = random_tensor({1000});
  const Difference difference;
  for (int k = 0; k < 1000; ++k) {
    const float s = 0.37f + 0.0005f * static_cast<float>(k);  // never 1, because x*1 is x, which is another formula
    const Tensor y = sn::tanh(x * s + (2 - s));
    sn::eval(y);
    if (k % 250 == 0) CHECK(y.to_vector<float>()[7] == doctest::Approx(std::tanh(x.to_vector<float>()[7] * s + (2 - s))).epsilon(1e-6));
  }
  CHECK(difference.now().plans_reused >= 998);
  for (int n = 1; n <= 50; ++n) {
    const Tensor y = sn::tanh(random_tensor({n * 37}) * 0.25f + 1.5f);
    sn::eval(y);
  }
  // On CUDA a size that is no multiple of four has other accesses.
  if (compiles()) CHECK(difference.made() <= (sn::options().device == "cpu" ? 1 : 2));
}

TEST_CASE("1: fifty sizes of a row kernel and of a broadcast make one kernel each") {
  const Difference rows;
  for (int n = 1; n <= 50; ++n) sn::eval(sn::softmax(random_tensor({16 + n, 40 * n + 100}), -1));
  const auto row_kernels = rows.made();
  const Difference broadcasts;
  for (int n = 2; n <= 50; ++n) sn::eval(random_tensor({n, 30 + n}) * random_tensor({30 + n}));
  // On CUDA a plan depends on more: on the alignment for 16-byte accesses, and on whether a warp or a block computes a row.
  const bool cuda = sn::options().device != "cpu";
  if (compiles()) CHECK(row_kernels <= (cuda ? 8 : 1));
  if (compiles()) CHECK(broadcasts.made() <= (cuda ? 4 : 1));
}

TEST_CASE("2: views are no kernels of their own") {
  const Tensor x = random_tensor({24, 36});
  const Difference difference;
  const Tensor y =
      sn::exp(sn::flip(x.T()(sn::Slice{{}, {}, 2}, sn::Slice{1, 20}).reshape({-1}).reshape({19, 18}), 0)) + sn::broadcast_to(x(0, sn::Slice{0, 18}), {19, 18});
  sn::eval(y);
  CHECK(difference.now().kernels_launched == 1);
  const auto values = x.to_vector<float>();
  const auto got = y.to_vector<float>();
  for (int i = 0; i < 19; ++i)
    for (int j = 0; j < 18; ++j) {
      const int flat = (18 - i) * 18 + j, row = flat / 19, column = flat % 19;  // of the (18, 19) slice of the transpose
      REQUIRE(got[i * 18 + j] == doctest::Approx(std::exp(values[(column + 1) * 36 + row * 2]) + values[j]).epsilon(1e-6));
    }
}

TEST_CASE("3: ten thousand recorded steps compile at most two kernels in bounded memory") {
  sn::reset_peak();
  const auto start = sn::counters().bytes_now;
  Tensor b = sn::from_span(std::vector<float>(10000, 1.0f));
  const Difference difference;
  for (int k = 0; k < 10000; ++k) b = b + 0.02f;
  sn::eval(b);
  CHECK(b.to_vector<float>()[0] == doctest::Approx(201).epsilon(1e-3));
  if (compiles()) CHECK(difference.made() <= 2);
  CHECK(sn::counters().bytes_peak - start < 10 * 40000);
}

TEST_CASE("4 and 5: every kernel has a split reason, with the figures of the decision") {
  const Tensor x = random_tensor({2048, 1024});
  const Tensor y = (x - sn::mean(x)) / sn::stddev(x);
  const std::string json = sn::explain(y, sn::Format::json);
  for (const char* field : {"\"kernels\"", "\"name\"", "\"ops\"", "\"inputs\"", "\"outputs\"", "\"boundary\"", "\"registers\"", "\"spill_bytes\"",
                            "\"shared_bytes\"", "\"origin\"", "\"compile_ms\"", "\"library_calls\"", "\"bytes_moved\"", "\"bytes_unfused\""})
    CHECK_MESSAGE(json.find(field) != std::string::npos, field);
  const std::string text = sn::explain(y);
  CHECK(text.find("parallelism: reducing 2097152 elements") != std::string::npos);
  CHECK(text.find("output wanted") != std::string::npos);
}

TEST_CASE("4: tensors that were evaluated separately are explained together") {
  const Tensor x = random_tensor({50, 60}), a = sn::exp(x) * 2.f;
  sn::eval(a);
  const Tensor b = sn::sum(a * a, 0), c = sn::tanh(b), d = a - 1.f;
  sn::eval(b);
  sn::eval(c, d);
  const std::string text = sn::explain({a, b, c, d, x, a});
  for (const char* part : {"evaluation 1 of 3", "evaluation 3 of 3", "exp", "reduce_sum", "tanh", "subtract"}) CHECK(text.find(part) != std::string::npos);
  CHECK(sn::explain({a, a}) == sn::explain(a));
  CHECK(sn::explain({c, d}) == sn::explain(c));
  CHECK(sn::explain({a, a + 3.f}).find("evaluation 2 of 2") != std::string::npos);  // the second formula is planned here
  const sn::testing::TemporaryFolder folder;
  CHECK(sn::dump_kernels({a, b}, folder / "both").size() > std::max(sn::dump_kernels(a, folder / "a").size(), sn::dump_kernels(b, folder / "b").size()));
}

TEST_CASE("6: a warm process compiles nothing, maps no compiler, and still has the split reasons") {
  if (!compiles()) return;
  const sn::testing::TemporaryFolder folder;
  fs::permissions(folder.path, fs::perms::owner_all);
  const Ran cold = run_child("warm", {"SINTER_CACHE_DIR=" + folder.path.string()});
  INFO(cold.out);
  REQUIRE(cold.status == 0);
  CHECK(std::stoi(word(cold.out, "compiled")) >= 1);
  const Ran warm = run_child("warm", {"SINTER_CACHE_DIR=" + folder.path.string()});
  INFO(warm.out);
  REQUIRE(warm.status == 0);
  CHECK(word(warm.out, "compiled") == "0");
  CHECK(word(warm.out, "disk") == word(cold.out, "compiled"));
  if (!sn::options().device.starts_with("opencl")) CHECK(word(warm.out, "mapped") == "0");  // pocl is built on LLVM
  CHECK(word(warm.out, "fallbacks") == "0");
  CHECK(word(warm.out, "sum") == word(cold.out, "sum"));
  CHECK(warm.out.find("from disk") != std::string::npos);
  CHECK(warm.out.find("split   output wanted") != std::string::npos);
}

TEST_CASE("7: sources are self-contained, have one entry point and are the same from run to run") {
  const sn::testing::TemporaryFolder folder;
  const Tensor x = sn::placeholder({4092, 1036}, DType::float32), s = sn::placeholder({1036}, DType::float32);
  const auto build = [&] { return sn::softmax(sn::gelu(x * s + s), -1); };
  std::map<std::string, std::string> first;
  for (const char* target : {"sm_75", "sm_90", "cpu"}) {
    for (int round = 0; round < 2; ++round) {
      const auto paths = sn::dump_kernels(build(), folder / std::to_string(round), target);
      REQUIRE(!paths.empty());
      for (const auto& path : paths) {
        std::ifstream file(path);
        std::stringstream text;
        text << file.rdbuf();
        CHECK(text.str().find("#include") == std::string::npos);
        if (path.ends_with(".cu")) {
          const std::string source = text.str();
          const std::regex entry("extern \"C\" __global__");
          CHECK(std::distance(std::sregex_iterator(source.begin(), source.end(), entry), {}) == 1);
          const std::string code = std::regex_replace(source, std::regex("//[^\n]*\n"), "");  // comments name the sizes planned for
          CHECK(code.find("1036") == std::string::npos);
          CHECK(code.find("4092") == std::string::npos);
        }
        const std::string key = target + fs::path(path).filename().string();
        if (round == 0) first[key] = text.str();
        else CHECK(first[key] == text.str());
      }
    }
  }
}

TEST_CASE("8: results have the same bits on one thread and on many, and from run to run") {
  const std::string one = word(run_child("bits", {"SINTER_THREADS=1"}).out, "bits");
  CHECK(!one.empty());
  CHECK(word(run_child("bits", {"SINTER_THREADS=2"}).out, "bits") == one);
  CHECK(word(run_child("bits", {"SINTER_THREADS=7"}).out, "bits") == one);
}

TEST_CASE("9: a missing compiler, a broken one and an unusable cache are survived with a warning") {
  if (sn::options().device != "cpu" || !compiles()) return;
  const sn::testing::TemporaryFolder folder;
  const std::string cache = "SINTER_CACHE_DIR=" + (folder / "cache");
  const Ran missing = run_child("warm", {cache, "SINTER_LLVM=/nonexistent/libLLVM.so"});
  CAPTURE(missing.out);
  CHECK(missing.status == 0);
  CHECK(missing.out.find("interpreted") != std::string::npos);
  CHECK(missing.out.find("warning") != std::string::npos);
  std::ofstream(folder / "libLLVM.so.19.1") << "this is no library";
  const Ran broken = run_child("warm", {cache, "SINTER_LLVM=" + (folder / "libLLVM.so.19.1")});
  CAPTURE(broken.out);
  CHECK(broken.status == 0);
  CHECK(broken.out.find("interpreted") != std::string::npos);
  std::ofstream(folder / "file") << "x";
  const Ran no_cache = run_child("warm", {"SINTER_CACHE_DIR=" + (folder / "file")});
  CAPTURE(no_cache.out);
  CHECK(no_cache.status == 0);
  CHECK(no_cache.out.find("warning") != std::string::npos);
  const std::string good = word(run_child("warm", {cache}).out, "sum");
  CHECK(std::strtod(word(missing.out, "sum").c_str(), nullptr) == doctest::Approx(std::strtod(good.c_str(), nullptr)).epsilon(1e-4));
  CHECK(word(no_cache.out, "sum") == good);
}

TEST_CASE("9: misuse is a typed exception that names the operation, the shapes and the line, and the process continues") {
  const Tensor a = sn::zeros({3, 4}), b = sn::zeros({5});
  try {
    const Tensor c = a + b;
    FAIL("no exception");
  } catch (const sn::ShapeError& error) {
    const std::string text = error.what();
    CHECK(text.find("add") != std::string::npos);
    CHECK(text.find("(3, 4)") != std::string::npos);
    CHECK(text.find("(5,)") != std::string::npos);
    CHECK(text.find("test_promises.cpp:") != std::string::npos);
  }
  CHECK_THROWS_AS(sn::sum(a, 2), sn::AxisError);
  CHECK_THROWS_AS(sn::eval(sn::placeholder({3}, DType::float32) + 1), sn::ValueError);
  CHECK_THROWS_AS(sn::eval(Tensor{}), sn::ValueError);
  sn::Options wrong = sn::options();
  wrong.device = "tpu";
  CHECK_THROWS_AS(sn::configure(wrong), sn::ValueError);
  CHECK((a + 1.0).to_vector<double>()[0] == 1);
}

TEST_CASE("10: a chain of twelve thousand views is planned, explained and forgotten") {
  for (const bool evaluated : {false, true}) {
    const Tensor x = evaluated ? random_tensor({30, 40}) : sn::placeholder({30, 40}, DType::float32);
    Tensor y = x;
    for (int k = 0; k < 12001; ++k) y = sn::flip(y, 0).T();
    CHECK(sn::explain(y).find("1 kernel") != std::string::npos);
    if (!evaluated) continue;
    CHECK(y.to_vector<float>() == sn::flip(x, 0).T().to_vector<float>());  // four of them record no operation
  }
}

TEST_CASE("11: threads record and evaluate over shared tensors") {
  const Tensor x = random_tensor({5000});
  const Tensor shared = sn::exp(x);  // not evaluated yet, because several threads are to evaluate it at once
  const auto want = (sn::exp(x) * 3.0f).to_vector<float>();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 30; ++k) {
        const Tensor y = shared * static_cast<float>(t + 1) + (shared * static_cast<float>(2 - t));
        const auto got = y.to_vector<float>();
        for (std::size_t i = 0; i < got.size(); i += 97) wrong += std::abs(got[i] - want[i]) > 1e-5f * std::abs(want[i]);
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("recorded literals, reused plans and one launch for repeated formulas") {
  const Tensor x = random_tensor({256, 64});
  sn::eval(sn::log_softmax(x * 2.0f));
  const Difference difference;
  sn::eval(sn::log_softmax(random_tensor({256, 64}, 9) * 5.0f));
  CHECK(difference.now().plans_made == 0);
  CHECK(difference.now().plans_reused == 1);
  CHECK(difference.now().kernels_launched == 1);
  CHECK(difference.made() == 0);
}

TEST_CASE("with fuse=off there is one kernel per operation, and the values are the same") {
  const Tensor x = random_tensor({65, 33});
  const auto fused = sn::softmax(x).to_vector<float>();
  const sn::testing::WithOptions off([](sn::Options& options) { options.fuse = false; });
  const Difference difference;
  const auto unfused = sn::softmax(x).to_vector<float>();
  CHECK(difference.now().kernels_launched == 5);
  for (std::size_t k = 0; k < fused.size(); ++k) REQUIRE(fused[k] == doctest::Approx(unfused[k]).epsilon(1e-6));
}

int main(int argc, char** argv) {
  self = fs::read_symlink("/proc/self/exe").string();
  if (argc > 1 && std::string(argv[1]) == "--role=warm") return role_warm();
  if (argc > 1 && std::string(argv[1]) == "--role=bits") return role_bits();
  return sinter::testing::run_tests(argc, argv);
}
