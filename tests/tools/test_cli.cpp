// The `sinter` command as a user runs it: in a process of its own, with its exit code and the output of each stream. scripts/bad_input.sh gives it bad input.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "draws.hpp"
#include "run_command.hpp"
#include "seed.hpp"
#include "sinter/npy.hpp"
#include "sinter/ops.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace sinter;

namespace {

struct Outcome {
  int code = -1;
  std::string out, err;
};

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  REQUIRE(file.good());
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// A separate folder and cache, in which the command runs.
struct Sandbox : sinter::testing::TemporaryFolder {
  std::vector<std::string> environment{"SINTER_CACHE_DIR=" + (path / "cache").string()};

  Outcome run(std::vector<std::string> arguments, std::vector<std::string> more_environment = {}) const {
    const fs::path out = path / ".out", err = path / ".err";
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const int to = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), errors = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      if (to < 0 || errors < 0 || dup2(to, 1) < 0 || dup2(errors, 2) < 0 || chdir(path.c_str()) != 0) _exit(126);
      for (const char* name : {"SINTER_DEVICE", "SINTER_BACKEND", "SINTER_FUSE", "SINTER_DUMP", "SINTER_LOG", "SINTER_CACHE_SIZE"}) unsetenv(name);
      for (auto* list : {&environment, const_cast<const std::vector<std::string>*>(&more_environment)})
        for (const std::string& setting : *list) putenv(const_cast<char*>(setting.c_str()));
      std::vector<char*> argv{const_cast<char*>("sinter")};
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execv(SINTER_COMMAND, argv.data());
      _exit(127);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    Outcome outcome{.out = read_text(out), .err = read_text(err)};
    for (const std::string* text : {&outcome.out, &outcome.err}) CHECK_MESSAGE(sinter::testing::false_plural(*text).empty(), *text);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
    return outcome;
  }
  void save(const std::string& name, const Tensor& tensor) const { save_npy((path / name).string(), tensor); }
  Tensor load(const std::string& name) const { return load_npy((path / name).string()); }
};

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

/// softmax(gelu(x*s + b), axis=-1) in float64.
std::vector<double> reference_chain(const std::vector<float>& x, const std::vector<float>& s, double b) {
  std::vector<double> result(x.size());
  for (std::size_t row = 0; row < x.size() / s.size(); ++row) {
    double* out = result.data() + row * s.size();
    double largest = -INFINITY, sum = 0;
    for (std::size_t k = 0; k < s.size(); ++k) {
      const double u = static_cast<double>(x[row * s.size() + k]) * s[k] + b;
      out[k] = 0.5 * u * (1 + std::erf(u / std::sqrt(2.0)));
      largest = std::max(largest, out[k]);
    }
    for (std::size_t k = 0; k < s.size(); ++k) sum += out[k] = std::exp(out[k] - largest);
    for (std::size_t k = 0; k < s.size(); ++k) out[k] /= sum;
  }
  return result;
}

bool has_compiler(const Sandbox& box, const std::string& name) { return !contains(box.run({"info"}).out, fmt::format("{:<7} none found", name)); }

}  // namespace

TEST_CASE("--version and --help") {
  const Sandbox box;
  const Outcome version = box.run({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out == "sinter 0.2.0\n");
  const Outcome help = box.run({"--help"});
  CHECK(help.code == 0);
  CHECK(contains(help.out, "SINTER_DEVICE"));
  const Outcome eval_help = box.run({"eval", "--help"});
  CHECK(eval_help.code == 0);
  CHECK(contains(eval_help.out, " logsumexp"));
  CHECK_FALSE(fs::exists(box.path / "cache"));  // help creates no cache
}

TEST_CASE("eval prints arrays as NumPy does") {
  const Sandbox box;
  CHECK(box.run({"eval", "2**-1"}).out == "0.5\n");
  CHECK(box.run({"eval", "7//2"}).out == "3\n");
  CHECK(contains(box.run({"eval", "-x ** 2", "x=3"}).err, "write -- before an expression that starts with -: sinter eval -- '-x ** 2'"));
  CHECK(contains(box.run({"help", "np.sum"}).out, "sum(a, axis=…, dtype=…, *, keepdims=…"));
  CHECK(contains(box.run({"help", "np.linalg.trace"}).out, "linalg.trace(x, *, offset=…, dtype=…)"));
  CHECK(box.run({"eval", "[5]"}).out == "[5]\n");
  CHECK(box.run({"eval", "[[1,2],[3,4]]"}).out == "[[1 2]\n [3 4]]\n");
  CHECK(box.run({"eval", "[1,2,3][0]"}).out == "1\n");
  CHECK(box.run({"eval", "[arange(6).reshape(2, 3).sum(axis=0)]"}).out == "[[3 5 7]]\n");
  CHECK(box.run({"eval", "arange(6).reshape(2, 3) * n", "n=10"}).out == "[[ 0 10 20]\n [30 40 50]]\n");
  CHECK(box.run({"eval", "--", "-arange(3)"}).out == "[ 0 -1 -2]\n");
  CHECK(box.run({"eval", "arange(3) > 1"}).out == "[False False  True]\n");
}

TEST_CASE("eval reads files and agrees with float64 on every backend, fused and unfused") {
  const Sandbox box;
  const std::uint64_t seed = sinter::testing::fresh_seed();
  CAPTURE(seed);
  const std::vector<float> x = random_floats(64 * 96, seed), s = random_floats(96, seed + 1);
  box.save("x.npy", from_pointer(x.data(), {64, 96}));
  box.save("s.npy", from_pointer(s.data(), {96}));
  const std::vector<double> wanted = reference_chain(x, s, 0.25);
  write_text(box.path / "chain.txt", "u = x*s + b   # scale and shift\nsoftmax(gelu(u), axis=-1)\n");
  const std::vector<std::string> bindings = {"x=x.npy", "s=s.npy", "b=0.25", "-o", "y.npy"};
  const std::vector<std::vector<std::string>> ways = {{"eval", "softmax(gelu(x*s + b), axis=-1)"},
                                                      {"eval", "-f", "chain.txt"},
                                                      {"eval", "softmax(gelu(x*s + b), axis=-1)", "--backend", "interpreter"},
                                                      {"eval", "softmax(gelu(x*s + b), axis=-1)", "--fuse", "off"},
                                                      {"eval", "softmax(gelu(x*s + b), axis=-1)", "--device", "cpu", "--backend", "llvm", "--fuse", "on"}};
  for (std::vector<std::string> arguments : ways) {
    CAPTURE(fmt::format("{} {}", arguments[1], arguments.back()));
    arguments.insert(arguments.end(), bindings.begin(), bindings.end());
    box.save("y.npy", full({1}, -1.0));  // an old result must not pass for the new one
    const Outcome outcome = box.run(arguments);
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    CHECK(outcome.out == "");
    const Tensor y = box.load("y.npy");
    REQUIRE(y.shape() == Shape{64, 96});
    REQUIRE(y.dtype() == DType::float32);
    const std::vector<float> got = y.to_vector<float>();
    double worst = 0;
    for (std::size_t k = 0; k < got.size(); ++k) worst = std::max(worst, std::abs(got[k] - wanted[k]) / wanted[k]);
    CHECK(worst < 5e-6);
  }
}

TEST_CASE("several results are computed together, and printed or written to one file each") {
  const Sandbox box;
  box.save("x.npy", arange(12).reshape({3, 4}));
  const std::string expression = "y = x * 2 + 1; y, y[:, 0:2], y.sum(axis=1)";
  const Outcome printed = box.run({"eval", expression, "x=x.npy"});
  CHECK(printed.code == 0);
  CHECK(printed.out ==
        "y  int64 (3, 4)\n[[ 1  3  5  7]\n [ 9 11 13 15]\n [17 19 21 23]]\n"
        "y[:, 0:2]  int64 (3, 2)\n[[ 1  3]\n [ 9 11]\n [17 19]]\n"
        "y.sum(axis=1)  int64 (3,)\n[16 48 80]\n");
  CHECK(box.run({"eval", "x,", "x=5"}).out == "5\n");  // one result with a comma is printed as one result

  const Outcome written = box.run({"eval", expression, "x=x.npy", "-o", "a.npy,b.npy, c.npy", "--explain=json"});
  REQUIRE_MESSAGE(written.code == 0, written.err);
  CHECK(box.load("a.npy").to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23});
  CHECK(box.load("b.npy").to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 3, 9, 11, 17, 19});
  CHECK(box.load("b.npy").shape() == Shape{3, 2});
  CHECK(box.load("c.npy").to_vector<std::int64_t>() == std::vector<std::int64_t>{16, 48, 80});
  std::size_t outputs = 0;
  const auto explained = nlohmann::json::parse(written.out);
  for (const auto& kernel : explained.at("kernels")) outputs += kernel.at("outputs").size();
  CHECK(outputs == 3);

  const Outcome timed = box.run({"eval", expression, "x=x.npy", "-o", "a.npy,b.npy,c.npy", "--time", "3"});
  CHECK(timed.code == 0);
  CHECK(contains(timed.out, "2 more, "));

  const auto refused = [&](const std::string& files, const std::string& text, const std::string& says) {
    const Outcome outcome = box.run({"eval", text, "x=x.npy", "-o", files});
    CAPTURE(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.err, says));
  };
  refused("new.npy", "x, x + 1", "-o new.npy: 1 file for 2 results\n  x\n  x + 1\ngive each a file");
  refused("new.npy,n2.npy", "x + 1", "-o new.npy,n2.npy: 2 files for 1 result\n");
  refused("new.npy,", "x, x", "name is empty");
  refused("new.npy,new.npy", "x, x", "new.npy is named twice");
  CHECK_FALSE(fs::exists(box.path / "new.npy"));  // the error came before any result was written
}

TEST_CASE("a column of a CSV file is chosen by its name or number") {
  const Sandbox box;
  write_text(box.path / "t.csv", "time,temp\n0,20.5\n1,21.5\n");
  write_text(box.path / "plain.csv", "1,2,3\n4,5,6\n");
  CHECK(box.run({"eval", "t * 2", "t=t.csv:temp"}).out == "[41. 43.]\n");
  CHECK(box.run({"eval", "a + b", "a=t.csv:0", "b=plain.csv:2"}).out == "[3. 7.]\n");
  const Outcome unknown = box.run({"eval", "t", "t=t.csv:load"}), beyond = box.run({"eval", "t", "t=plain.csv:3"});
  CHECK(unknown.code == 1);
  CHECK(contains(unknown.err, "t.csv: there is no column 'load' in it; it has time, temp"));
  CHECK(beyond.code == 1);
  CHECK(contains(beyond.err, "it has no header, and columns 0 to 2"));
}

TEST_CASE("the command `kernels` plans several results together") {
  const Sandbox box;
  const Outcome outcome = box.run({"kernels", "y = a + b; y, y.sum(axis=1)", "a=f32[64,96]", "b=f32[64,96]", "--target", "cpu", "--json", "--dump", "k"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  const auto plan = nlohmann::json::parse(outcome.out);
  CHECK(plan.at("kernels").size() == 1);
  CHECK(plan.at("kernels")[0].at("outputs").size() == 2);
  CHECK(contains(outcome.err, "wrote k/"));
}

TEST_CASE("unused names are a warning on stderr, and the value is still computed") {
  const Sandbox box;
  const Outcome outcome = box.run({"eval", "a + 1", "a=2", "b=3"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "3\n");
  CHECK(outcome.err == "sinter: warning: 'b' is given but not used\n");
}

TEST_CASE("--explain, --dump and --time report the kernels, their sources and their times") {
  const Sandbox box;
  box.save("x.npy", astype(sin(arange(4096)), DType::float32));
  const Outcome json = box.run({"eval", "(x*2 + 1).reshape(64, 64).sum(axis=1)", "x=x.npy", "-o", "y.npy", "--explain=json"});
  REQUIRE_MESSAGE(json.code == 0, json.err);
  const auto parsed = nlohmann::json::parse(json.out);
  CHECK(parsed.at("kernels").size() == 1);
  CHECK(parsed.at("bytes_moved").get<double>() == 4096 * 4 + 64 * 4);
  CHECK(parsed.at("bytes_unfused").get<double>() > parsed.at("bytes_moved").get<double>());

  const Outcome text = box.run({"eval", "x*2 + 1", "x=x.npy", "--explain"});
  CHECK(text.code == 0);
  CHECK(text.out.starts_with("["));  // the value first
  CHECK(contains(text.out, "1 kernel on cpu"));
  CHECK(contains(text.out, "   work    "));
  CHECK(contains(text.out, "split   output wanted"));

  const Outcome dump = box.run({"eval", "x*2 + 1", "x=x.npy", "--dump", "kernels", "-o", "y.npy"});
  CHECK(dump.code == 0);
  CHECK(std::distance(fs::directory_iterator(box.path / "kernels"), {}) >= 1);
  for (const auto& item : fs::directory_iterator(box.path / "kernels")) CHECK(contains(dump.out, item.path().filename().string()));

  const Outcome time = box.run({"eval", "x*2 + 1", "x=x.npy", "--time", "4", "-o", "y.npy"});
  CHECK(time.code == 0);
  CHECK(contains(time.out, "first "));
  CHECK(contains(time.out, "median "));
  CHECK(contains(time.out, "GB/s"));
  CHECK(contains(time.out, "3 more, 32768 bytes moved"));

  const Outcome profile = box.run({"eval", "sum(x*2 + 1)", "x=x.npy", "--time", "4", "--profile", "-o", "y.npy"});
  CHECK(profile.code == 0);
  CHECK(contains(profile.out, "share"));
  CHECK(contains(profile.out, " 4 "));
  CHECK(contains(profile.out, "(outside the steps)"));
}

TEST_CASE("--profile=json is read by programs, and --since compares with an earlier profile") {
  const Sandbox box;
  box.save("x.npy", astype(sin(reshape(arange(4096), {64, 64})), DType::float32));
  const Outcome first = box.run({"eval", "softmax(x @ x, axis=-1)", "x=x.npy", "--profile=json"});
  REQUIRE_MESSAGE(first.code == 0, first.err);
  const auto report = nlohmann::json::parse(first.out);
  CHECK(report.at("schema") == 1);
  CHECK(report.at("steps").size() == 2);
  CHECK(report.at("steps")[0].at("runs") == 10);
  CHECK(report.at("before").at("kinds").contains("plan"));
  std::ofstream(box.path / "before.json") << first.out;
  const Outcome since = box.run({"eval", "softmax(x @ x + 1, axis=0)", "x=x.npy", "--since", "before.json", "-o", "y.npy"});
  REQUIRE_MESSAGE(since.code == 0, since.err);
  CHECK(contains(since.out, " new  "));
  CHECK(contains(since.out, " gone  "));
  CHECK(contains(since.out, " x  matmul (64, 64) (64, 64)"));
  CHECK(contains(since.out, ", from softmax(x @ x + 1, axis=0)"));
  const Outcome changed = box.run({"eval", "softmax(x @ x + 1, axis=0)", "x=x.npy", "--profile=json", "--since", "before.json"});
  std::map<std::string, int> changes;
  const auto all = nlohmann::json::parse(changed.out);
  for (const auto& one : all.at("changes")) ++changes[one.at("then").is_null() ? "new" : one.at("now").is_null() ? "gone" : "both"];
  CHECK(changes["new"] == 1);
  CHECK(changes["gone"] == 1);
  CHECK(changes["both"] == 1);
  for (const char* text : {"", "{}", "[1]", "no", "{\"schema\": 99, \"steps\": []}", "{\"schema\": 1}", "{\"schema\": 1, \"steps\": [1]}",
                           "{\"schema\": 1, \"steps\": [{\"kind\": \"kernel\", \"from\": 1, \"sizes\": [{\"name\": 3, \"fastest\": \"x\"}]}]}"}) {
    std::ofstream(box.path / "bad.json") << text;
    const Outcome bad = box.run({"eval", "x + 1", "x=x.npy", "--since", "bad.json"});
    CHECK(bad.code == 1);
    CHECK_MESSAGE(bad.out.empty(), bad.out);  // it is refused before anything is computed
    CHECK_MESSAGE(contains(bad.err, "--since bad.json: "), bad.err);
  }
  CHECK(box.run({"eval", "x + 1", "x=x.npy", "--since", "none.json"}).code == 1);
  CHECK(contains(box.run({"eval", "x + 1", "x=x.npy", "--since", "."}).err, "--since .: the file cannot be read"));
  // If JSON goes to stdout, all text for people goes to stderr.
  for (const std::vector<std::string>& beside :
       {std::vector<std::string>{"--time", "3"}, {"--dump", "sources"}, {"-o", "y.npy"}, {"--html", "y.html"}, {"--why", "a", "b"}})
    for (const char* json : {"--profile=json", "--explain=json"}) {
      std::vector<std::string> words = {"eval", "a = x + 1; b = a.sum(); b*2", "x=x.npy", json};
      words.insert(words.end(), beside.begin(), beside.end());
      const Outcome pure = box.run(words);
      CHECK_MESSAGE(nlohmann::json::accept(pure.out), json, " ", beside[0], ": ", pure.err);
    }
  CHECK(nlohmann::json::accept(box.run({"eval", "x + 1", "x=x.npy", "--profile=json", "--explain"}).out));
  CHECK(nlohmann::json::accept(box.run({"eval", "x + 1", "x=x.npy", "--profile", "--explain=json"}).out));
  CHECK(box.run({"eval", "x + 1", "x=x.npy", "--profile=json", "--explain=json"}).code == 1);
  CHECK(box.run({"eval", "x + 1", "x=x.npy", "--profile=xml"}).code == 2);
  const Outcome again = box.run({"eval", "1 + 2", "--profile"});
  CHECK(again.code == 0);
  CHECK(contains(again.out, "by kind: "));
}

TEST_CASE("--trace and SINTER_TRACE write a timeline") {
  const Sandbox box;
  const auto kinds = [&](const char* file) {
    std::ifstream in(box.path / file);
    std::set<std::string> found;
    const nlohmann::json all = nlohmann::json::parse(in);
    for (const auto& event : all.at("traceEvents")) found.insert(event.value("cat", ""));
    return found;
  };
  REQUIRE(box.run({"eval", "sum(arange(100)*2)", "--trace", "one.json"}).code == 0);
  CHECK(kinds("one.json").contains("evaluate"));
  REQUIRE(box.run({"eval", "sum(arange(100)*2)"}, {"SINTER_TRACE=two.json"}).code == 0);
  CHECK(kinds("two.json").contains("evaluate"));
  const Outcome both = box.run({"eval", "sum(arange(100)*2)", "--trace", "one.json"}, {"SINTER_TRACE=two.json"});
  CHECK(both.code != 0);
  CHECK(contains(both.err, "SINTER_TRACE"));
  REQUIRE(box.run({"eval", "1 + 1"}, {"SINTER_TRACE=missing/three.json"}).code == 0);
}

TEST_CASE("with SINTER_LOG=debug, the log says why a plan is made") {
  const Sandbox box;
  const std::vector<std::string> debug = {"SINTER_LOG=debug"};
  const Outcome made = box.run({"eval", "softmax(arange(64.)*2 + 1)", "-o", "y.npy"}, debug);
  REQUIRE(made.code == 0);
  CHECK(contains(made.err, "a plan is made for "));
  CHECK(contains(made.err, "no plan of this structure with these settings was in memory or on disk"));
  const Outcome again = box.run({"eval", "softmax(arange(64.)*2 + 1)", "-o", "y.npy"}, debug);
  CHECK(!contains(again.err, "a plan is made for "));
  CHECK_MESSAGE(contains(again.err, "1 plan for softmax (recorded at softmax(arange(64.)*2 + 1)) read from disk"), again.err);
  const Outcome larger = box.run({"eval", "softmax(arange(300000.)*2 + 1)", "-o", "y.npy"}, debug);
  CHECK(contains(larger.err, "1 plan of this structure is not valid for these sizes; the last one requires "));
  CHECK(contains(larger.err, "n0 was 64 and is 300000"));
}

TEST_CASE("a second process compiles nothing and maps no compiler") {
  const Sandbox box;
  REQUIRE(has_compiler(box, "llvm"));
  // The dynamic loader prints every library that it opens.
  const std::vector<std::string> loader = {"LD_DEBUG=files"};
  const std::vector<std::string> arguments = {"eval", "sqrt(arange(100)*2).sum()", "--explain=json", "-o", "y.npy"};
  const Outcome cold = box.run(arguments, loader), warm = box.run(arguments, loader);
  REQUIRE(cold.code == 0);
  REQUIRE(warm.code == 0);
  CHECK(contains(cold.err, "libLLVM"));  // the loader's output does name the compiler
  CHECK_FALSE(contains(warm.err, "libLLVM"));
  CHECK_FALSE(contains(warm.err, "libnvrtc"));
  CHECK(nlohmann::json::parse(cold.out).at("kernels")[0].at("origin") == "compiled");
  CHECK(nlohmann::json::parse(warm.out).at("kernels")[0].at("origin") == "disk");
  const Outcome info = box.run({"info"}, {"LD_DEBUG=files", "SINTER_OPENCL=off"});  // an OpenCL driver may bring an LLVM of its own
  CHECK(contains(info.out, "libLLVM"));
  CHECK_FALSE(contains(info.err, "calling init: /lib/x86_64-linux-gnu/libLLVM"));
  CHECK_FALSE(contains(info.err, "file=libLLVM"));
  CHECK_FALSE(contains(info.err, "libnvrtc"));
}

TEST_CASE("the command `kernels` plans and compiles for a target without data") {
  const Sandbox box;
  const std::vector<std::string> types = {"x=f32[4096,1024]", "s=f32[1024]", "b=f32[1024]"};
  REQUIRE(has_compiler(box, "llvm"));
  REQUIRE(has_compiler(box, "nvrtc"));
  for (const std::string target : {"cpu", "aarch64", "sm_90"}) {
    CAPTURE(target);
    std::vector<std::string> arguments = {"kernels", "softmax(gelu(x*s+b), axis=-1)", "--json", "--target", target};
    arguments.insert(arguments.end(), {"--dump", "k_" + target});
    arguments.insert(arguments.end(), types.begin(), types.end());
    const Outcome outcome = box.run(arguments);
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const auto plan = nlohmann::json::parse(outcome.out);
    CHECK(plan.at("kernels").size() == 1);
    CHECK(plan.at("device") == target);
    if (target == "sm_90") {
      CHECK(plan.at("kernels")[0].at("registers").get<int>() > 0);
      CHECK(plan.at("kernels")[0].at("spill_bytes").get<int>() == 0);
    }
    const bool cpu = target != "sm_90";
    const std::string part = target == "aarch64" ? "target triple = \"aarch64-unknown-linux-gnu\"" : cpu ? "define" : "__global__";
    bool found = false;
    for (const auto& item : fs::directory_iterator(box.path / ("k_" + target)))
      if (item.path().extension() == (cpu ? ".ll" : ".cu")) found |= contains(read_text(item.path()), part);
    CHECK(found);
  }
}

TEST_CASE("info --target prints the device model") {
  const Sandbox box;
  const Outcome h100 = box.run({"info", "--target", "sm_90"});
  CHECK(h100.code == 0);
  for (const char* part : {"sm                   90\n", "backend              cuda\n", "bandwidth            3350 GB/s\n"}) CHECK(contains(h100.out, part));
  const Outcome arm = box.run({"info", "--target", "aarch64"});
  for (const char* part : {"target               aarch64\n", "backend              cpu\n"}) CHECK(contains(arm.out, part));
  const Outcome none = box.run({"info", "--target", "sm_1"});
  CHECK(none.code == 1);
  CHECK(contains(none.err, "the known architectures are sm_75"));
}

TEST_CASE("info prints the version, the devices, the compilers and the cache") {
  const Sandbox box;
  const Outcome info = box.run({"info"});
  CHECK(info.code == 0);
  for (const char* part : {"sinter 0.2.0", "devices", "cpu ", "cuda", "compilers", "llvm", "nvrtc", "0 entries"}) CHECK(contains(info.out, part));
  CHECK(contains(info.out, (box.path / "cache").string()));
}

TEST_CASE("cache stats, verify and clear") {
  const Sandbox box;
  REQUIRE(has_compiler(box, "llvm"));
  CHECK(contains(box.run({"cache", "stats"}).out, "entries  0\n"));
  REQUIRE(box.run({"eval", "arange(10) * 2.5"}).code == 0);
  REQUIRE(box.run({"eval", "exp(arange(10))"}).code == 0);
  CHECK(contains(box.run({"cache", "stats"}).out, "entries  4\nplans    2\n"));  // two kernels, two plans
  const Outcome good = box.run({"cache", "verify"});
  CHECK(good.code == 0);
  CHECK(contains(good.out, "good 4, bad 0"));

  // One entry is truncated. verify finds and deletes it, and the next evaluation makes it again.
  fs::path victim;
  for (const auto& file : fs::directory_iterator(box.path / "cache"))
    if (file.path().extension() == ".sinter") victim = file.path();
  fs::resize_file(victim, fs::file_size(victim) / 2);
  const Outcome bad = box.run({"cache", "verify"});
  CHECK(bad.code == 1);
  CHECK(contains(bad.out, victim.filename().string()));
  CHECK(contains(bad.out, "good 3, bad 1"));
  CHECK_FALSE(fs::exists(victim));
  CHECK(box.run({"eval", "arange(10) * 2.5"}).code == 0);
  CHECK(box.run({"eval", "exp(arange(10))"}).code == 0);
  CHECK(contains(box.run({"cache", "clear"}).out, "deleted 4 entries"));
  CHECK(contains(box.run({"cache", "stats"}).out, "entries  0\n"));
}

/// Returns this column of the line that contains `name`.
std::string column(const std::string& table, const std::string& name, int number) {
  std::istringstream lines(table);
  for (std::string line, word; std::getline(lines, line);)
    if (contains(line, name)) {
      std::istringstream words(line);
      for (int k = 0; k <= number; ++k) words >> word;
      return word;
    }
  return {};
}

TEST_CASE("cache list and cache show print names, split reasons, hits and sources") {
  const Sandbox box;
  REQUIRE(has_compiler(box, "llvm"));
  CHECK(contains(box.run({"cache", "list"}).out, "0 entries"));
  const std::vector<std::string> formula = {"eval", "x = arange(300.).reshape(3, 100); (contiguous(exp(x))*2).sum(axis=1)"};
  REQUIRE(box.run(formula).code == 0);
  const std::string first = box.run({"cache", "list"}).out;
  CHECK(contains(first, "contiguous copy: contiguous() or materialize() asked"));
  CHECK(contains(first, "output wanted: the value was asked for"));
  const std::string key = column(first, "output wanted", 0), hits = column(first, "output wanted", 6);
  REQUIRE(box.run(formula).code == 0);
  const std::string again = column(box.run({"cache", "list"}).out, "output wanted", 6);
  if (hits == "-") CHECK(again == "-");  // no extended attributes here
  else CHECK(std::stoi(again) == std::stoi(hits) + 1);

  const Outcome shown = box.run({"cache", "show", key});
  CHECK(shown.code == 0);
  for (const char* part : {"why        output wanted", "what       kernel row_", "compiled   in", "target     cpu", "define "})
    CHECK(contains(shown.out, part));
  CHECK(contains(box.run({"cache", "show", column(first, "plan  ", 0)}).out, "2 steps"));
  CHECK(contains(box.run({"cache", "show", "zz"}).err, "no entry has a key that begins with 'zz'"));
  CHECK(contains(box.run({"cache", "show", ""}).err, "no entry has a key that begins with"));
}

TEST_CASE("exported entries are imported into another cache, where nothing is compiled") {
  const Sandbox box;
  REQUIRE(has_compiler(box, "llvm"));
  const std::vector<std::string> formula = {"eval", "exp(arange(300.)) * 2", "--time", "1"};
  REQUIRE(box.run(formula).code == 0);
  REQUIRE(box.run({"cache", "export", "entries"}).code == 0);
  const std::vector<std::string> other = {"SINTER_CACHE_DIR=" + (box.path / "other").string()};
  CHECK(contains(box.run({"cache", "import", "entries"}, other).out, "stored 3, already there 0, refused 0"));  // a kernel, its plan, the compiler's name
  CHECK(contains(box.run({"cache", "import", "entries"}, other).out, "stored 0, already there 3, refused 0"));
  CHECK(contains(box.run(formula, other).out, "0 compiled, 1 from disk"));

  // Damaged entries are refused one by one. For a truncated file, the error says where it ends.
  std::string bytes = read_text(box.path / "entries");
  bytes[bytes.size() - 1] = static_cast<char>(bytes.back() ^ 1);
  write_text(box.path / "damaged", bytes);
  const std::vector<std::string> third = {"SINTER_CACHE_DIR=" + (box.path / "third").string()};
  const Outcome damaged = box.run({"cache", "import", "damaged"}, third);
  CHECK(damaged.code == 1);
  CHECK(contains(damaged.out, "stored 2, already there 0, refused 1"));
  write_text(box.path / "short", bytes.substr(0, bytes.size() / 2));
  CHECK(contains(box.run({"cache", "import", "short"}, third).err, "the file ends within entry"));
  write_text(box.path / "huge", bytes.substr(0, 16) + std::string(8, '\x7f'));
  CHECK(contains(box.run({"cache", "import", "huge"}, third).err, "ends within entry 1"));
  write_text(box.path / "tiny", "sn");
  CHECK(contains(box.run({"cache", "import", "tiny"}, third).err, "was not written by"));
  CHECK(contains(box.run({"cache", "import", "."}, third).err, "cannot be read"));
  write_text(box.path / "text", "no such file");
  CHECK(contains(box.run({"cache", "import", "text"}, third).err, "was not written by"));
  CHECK(box.run({"cache", "import", "missing"}, third).code == 1);
  CHECK(contains(box.run({"cache", "export", "no/folder"}).err, "cannot be written"));
}

TEST_CASE("errors have the singular for one") {
  const Sandbox box;  // which checks each message
  for (const char* wrong : {"roll(arange(3), (1,), (0, 1))",
                            "sum(arange(3), axis=4)",
                            "arange(1).reshape(5)",
                            "moveaxis(arange(3), 0, (0, 1))",
                            "fft2(arange(3.))",
                            "arange(3)[0, 0]",
                            "zeros((1,)).reshape(2, -1)",
                            "einsum('i,i', arange(3))",
                            "einsum('ij', arange(3), eye(2))",
                            "multi_dot((eye(2),))",
                            "partition(arange(1), 4)",
                            "topk(arange(1), 4)",
                            "histogramdd(ones((4, 1)), [3, 4])",
                            "group_norm(ones((2, 1, 3)), 2)",
                            "rollaxis(arange(3), 0, 4)",
                            "delete(arange(1), array([True, False]))",
                            "transpose(arange(3), (0, 1))",
                            "as_strided(arange(3), (2, 2), (1,))",
                            "array([[1], [1, 2]])",
                            "max_pool2d(ones((2,)), 2)"})
    CHECK_MESSAGE(box.run({"eval", wrong}).code == 1, wrong);
}

TEST_CASE("files of statements: comments and several results, out of a file or the standard input") {
  const Sandbox box;
  const std::vector<float> values = random_floats(60, 11);
  box.save("x.npy", from_span(values, {12, 5}));
  write_text(box.path / "standard.txt", R"(# Columns of mean 0 and deviation 1.
mean = x.mean(axis=0, keepdims=True)

z = (x - mean) / np.std(x,
                        axis=0, keepdims=True)
z[np.abs(z) > 2] = 0    # outliers
z, mean
)");
  for (const std::vector<std::string>& how : {std::vector<std::string>{"eval", "@standard.txt"}, {"eval", "-f", "standard.txt"}}) {
    std::vector<std::string> arguments = how;
    arguments.insert(arguments.end(), {"x=x.npy", "-o", "z.npy,m.npy"});
    const Outcome done = box.run(arguments);
    CHECK_MESSAGE(done.code == 0, done.err);
    const auto z = box.load("z.npy").to_vector<float>(), m = box.load("m.npy").to_vector<float>();
    REQUIRE(z.size() == 60);
    REQUIRE(m.size() == 5);
    for (std::size_t c = 0; c < 5; ++c) {
      double mean = 0, squares = 0;
      for (std::size_t r = 0; r < 12; ++r) mean += values[5 * r + c] / 12.0;
      for (std::size_t r = 0; r < 12; ++r) squares += std::pow(values[5 * r + c] - mean, 2) / 12;
      CHECK(m[c] == doctest::Approx(mean).epsilon(1e-5));
      for (std::size_t r = 0; r < 12; ++r) {
        const double expected = (values[5 * r + c] - mean) / std::sqrt(squares);
        if (std::fabs(std::fabs(expected) - 2) > 1e-4) CHECK(z[5 * r + c] == doctest::Approx(std::fabs(expected) > 2 ? 0 : expected).epsilon(1e-4));
      }
    }
  }
  const Outcome unmarked = box.run({"eval", "standard.txt", "x=x.npy"});
  CHECK(unmarked.code == 2);
  CHECK(contains(unmarked.err, "standard.txt is a file; write @standard.txt"));
  std::string lengthy = "1";
  for (int k = 0; k < 3000; ++k) lengthy += " + 1";  // no file's name
  CHECK(box.run({"eval", lengthy}).out == "3001\n");
  const Outcome missing = box.run({"eval", "@none.txt"});
  CHECK(missing.code == 1);
  CHECK(contains(missing.err, "none.txt: the expression's file cannot be read"));
  write_text(box.path / "wrong.txt", "y = x + 1\ny @ y\n");
  const Outcome wrong = box.run({"eval", "@wrong.txt", "x=x.npy"});
  CHECK(wrong.code == 1);
  CHECK(contains(wrong.err, "(line 2)\n  y @ y\n    ^\n"));
  write_text(box.path / "program.txt", "import numpy as np\nfor k in range(3):\n  print(k)\n");
  const Outcome program = box.run({"eval", "@program.txt"});
  CHECK(program.code == 1);
  CHECK(program.err ==
        "sinter: error: 'import' belongs to a program; this command reads expressions, and python -c 'import sinter as np; …' runs programs (line 1)\n"
        "  import numpy as np\n  ^\n");
  CHECK(contains(box.run({"kernels", "[x for k in y]", "x=f32[3]"}).err, "'for' belongs to a program"));
}

TEST_CASE("help NAME prints a function's entry of the table, with the result of its example") {
  const Sandbox box;
  for (const std::vector<std::string>& how : {std::vector<std::string>{"help", "softmax"}, {"--help", "softmax"}, {"eval", "--help", "softmax"}}) {
    const Outcome help = box.run(how);
    CHECK(help.code == 0);
    CHECK(help.out ==
          "softmax(x, axis=…)\n  exp(x) divided by its sum along the axes, without overflow.\n  Composed of primitives: becomes part of the kernels around "
          "it.\n\n"
          "  $ sinter eval \"softmax(array([1., 2, 3]))\"\n  [0.09003057 0.24472847 0.66524096]\n");
  }
  CHECK(contains(box.run({"help", "cache", "export"}).out, "Usage: sinter cache export"));
  CHECK(contains(box.run({"help", "cache", "exprt"}).err, "there is no command 'cache exprt'"));
  CHECK(contains(box.run({"help", "transpose"}).out, "[[1 3]\n   [2 4]]"));
  CHECK(contains(box.run({"help", "concat"}).out, "also concatenate"));
  CHECK(contains(box.run({"help", "kernels"}).out, "--target"));
  const Outcome all = box.run({"help"});
  CHECK(all.code == 0);
  for (const char* part : {"  kernels     Plan, generate and compile", " logsumexp", "`sinter help NAME`"}) CHECK(contains(all.out, part));
  // Each command's examples are its own.
  const std::set<std::string> commands = {"eval", "kernels", "tune", "run", "check", "compile", "explain", "cache", "info", "help"};
  for (const std::string& command : commands) {
    const std::string text = box.run({"help", command}).out;
    const std::size_t from = text.find("Examples:\n");
    REQUIRE_MESSAGE((from != std::string::npos || !contains(all.out, "  " + command + " ")), command);
    if (from == std::string::npos) continue;  // a command of models, which were not built
    CHECK_MESSAGE(contains(text.substr(from), "  sinter " + command), command);
    for (const std::string& other : commands)
      if (other != command && !(command == "tune" && other == "cache"))
        CHECK_MESSAGE(!contains(text.substr(from), "  sinter " + other + " "), command, " shows ", other);
  }
  CHECK(contains(box.run({"functions"}).out, "\nabsolute(x)\tThe absolute value; for complex numbers (re, im), their length.\t"));
  CHECK(contains(box.run({"functions"}).out, "\nacos(x)\tThe angle in [0, pi] whose cosine is x.\tarccos\n"));
  const Outcome unknown = box.run({"help", "sofmax"});
  CHECK(unknown.code == 1);
  CHECK(contains(unknown.err, "unknown function 'sofmax': did you mean 'softmax'?"));
}

TEST_CASE("help says for every function whether it fuses, is a library call, or is computed when it is recorded") {
  const Sandbox box;
  std::map<std::string, std::string> roles;
  for (const auto& [role, names] : std::initializer_list<std::pair<const char*, const char*>>{
           {"A step of its own: a library call computes it, between kernels.",
            "add_along_axis add_at argpartition argsort cho_solve cholesky cond corrcoef det eigh eigvalsh fft fft2 fftn fill_diagonal hfft ifft ifft2 ifftn "
            "ihfft in1d "
            "inv irfft irfft2 irfftn isin lexsort matrix_rank median nanmedian nanpercentile nanquantile partition percentile permutation polyfit put "
            "put_along_axis qr quantile rfft rfft2 rfftn shuffle slogdet solve solve_triangular sort sort_complex stft svd svdvals tensorinv tensorsolve topk"},
           {"A step of its own: a library call computes it, between kernels; elementwise operations on its result can be its epilogue.",
            "conv conv1d conv2d conv3d conv_transpose conv_transpose1d conv_transpose2d conv_transpose3d cov dot inner linear lstsq matmul matrix_power matvec "
            "multi_dot pinv scaled_dot_product_attention tensordot vecmat"},
           {"Computed in part when it is recorded, by a library call: a step of its own, between kernels.",
            "bincount eig eigvals histogram histogram2d histogramdd intersect1d place roots setdiff1d setxor1d union1d unique unique_all unique_counts "
            "unique_inverse unique_values"},
           {"Computed in part when it is recorded, in steps of its own; the rest becomes part of the kernels around it.",
            "argwhere asarray_chkfinite compress digitize extract flatnonzero histogram_bin_edges nonzero polydiv real_if_close tril_indices tril_indices_from "
            "trim_zeros triu_indices triu_indices_from view"},
           {"A step of its own: its result is stored in memory.", "ascontiguousarray asfortranarray contiguous copy materialize"},
           {"Known when the formula is recorded: no kernel computes it.",
            "broadcast_shapes can_cast common_type finfo iinfo iscomplexobj isdtype isrealobj isscalar issubdtype min_scalar_type ndim promote_types "
            "result_type shape size"},
           {"Recorded, but takes no work: it is index algebra, or a known value.", "array asanyarray asarray flatten positive ravel real squeeze"},
       }) {
    std::istringstream words(names);
    for (std::string name; words >> name;) roles[name] = role;
  }
  std::istringstream text(box.run({"functions"}).out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  for (const std::string& line : sinter::testing::sampled(lines)) {
    const std::string name = line.substr(0, line.find('('));
    const auto found = roles.find(name);
    const std::string role = found == roles.end() ? "Composed of primitives: becomes part of the kernels around it." : found->second;
    const std::string help = box.run({"help", name}).out;
    CHECK_MESSAGE(contains(help, "\n  " + role + "\n"), help);
  }
}

TEST_CASE("named sizes appear in the plan and in its guards") {
  const Sandbox box;
  const Outcome named = box.run({"kernels", "softmax(x * B + y, axis=-1)", "x=f32[B,1000]", "y=f32[1000]", "--target", "cpu", "--guards"});
  CHECK_MESSAGE(named.code == 0, named.err);
  CHECK(named.err.empty());
  CHECK(contains(named.out, "planned for B = 1,024, valid for "));
  CHECK(contains(named.out, "1,000 (x axis 1), valid for "));
  CHECK(contains(named.out, "x float32 (B, 1000), y float32 (1000,) to float32 (B, 1000)"));
  CHECK(contains(named.out, "B <= "));
  CHECK(!contains(named.out, "1024, 1000"));
  const Outcome given = box.run({"kernels", "x.sum(axis=0)", "x=f64[B,T]", "B=70", "--target", "cpu", "--json"});
  const auto plan = nlohmann::json::parse(given.out).at("plans").at(0);
  CHECK(plan.at("sizes").at(0).at("value") == 70);
  CHECK(plan.at("guards").size() > 0);
  CHECK(box.run({"kernels", "x + y", "x=f32[B]", "y=f32[T]", "--target", "cpu"}).code == 1);  // two names are two different sizes
}

TEST_CASE("completion offers commands, options, their values, functions and files") {
  const Sandbox box;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = box.run({"completion", shell});
    CHECK(script.code == 0);
    write_text(box.path / (std::string("completion.") + shell), script.out);
  }
  CHECK(box.run({"completion", "tcsh"}).code == 2);
  write_text(box.path / "table.npy", "");
  // bash passes the words of the line; the last of them is to be completed.
  const auto offered = [&](const std::string& words) {
    const std::string script =
        fmt::format("cd '{}' && . ./completion.bash && COMP_WORDS=({}) && COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)) && _sinter && echo ${{COMPREPLY[@]}}",
                    box.path.string(), words);
    write_text(box.path / "ask.sh", script);
    FILE* pipe = popen(("bash '" + (box.path / "ask.sh").string() + "'").c_str(), "r");
    REQUIRE(pipe);
    std::string text(1 << 16, '\0');
    text.resize(fread(text.data(), 1, text.size(), pipe));
    CHECK(pclose(pipe) == 0);
    return text.substr(0, text.find('\n'));
  };
  CHECK(offered("sinter ev") == "eval");
  CHECK(offered("sinter cache v") == "verify");
  CHECK(offered("sinter eval --ba") == "--backend");
  CHECK(offered("sinter eval --backend l") == "llvm");
  CHECK(contains(offered("sinter kernels --target sm_9"), "sm_90"));
  CHECK(offered("sinter help softp") == "softplus");
  CHECK(offered("sinter eval \"'softmax(gel\"") == "softmax(gelu(");
  CHECK(offered("sinter eval x x = tab") == "table.npy");
  CHECK(offered("sinter eval x x =") == offered("sinter eval x x = ''"));
  CHECK(contains(offered("sinter eval @comp"), "@completion.bash"));
  CHECK(contains(offered("sinter eval -f comp"), "completion.bash"));
  // The other shells check the syntax of their scripts, if they are installed.
  CHECK(std::system(
            fmt::format("cd '{}' && {{ ! command -v zsh || zsh -n completion.zsh; }} && {{ ! command -v fish || fish -n completion.fish; }}", box.path.string())
                .c_str()) == 0);
}
