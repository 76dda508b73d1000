// The commands for trained models: check, run, compile and explain; their output, files and errors.
#include <doctest/doctest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "draws.hpp"
#include "onnx_builder.hpp"
#include "run_command.hpp"
#include "seed.hpp"
#include "sinter/model.hpp"
#include "sinter/sinter.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using testing::floats;
using testing::OnnxBuilder;
using testing::Ran;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

/// Sets an environment variable for the commands while this object exists.
struct Variable {
  const char* name;
  std::optional<std::string> before;
  Variable(const char* variable, const std::string& value) : name(variable) {
    if (const char* old = getenv(name)) before = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before ? setenv(name, before->c_str(), 1) : unsetenv(name); }
};

Ran run(const std::string& arguments) {
  const auto [status, out] = testing::run_command("'" SINTER_COMMAND "' " + arguments);
  CHECK_MESSAGE(testing::false_plural(out).empty(), out);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out};
}

/// Returns the output on a terminal, including text that is overwritten.
Ran run_on_terminal(const std::vector<std::string>& words) {
  int terminal = -1;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(process >= 0);
  if (process == 0) {
    std::vector<char*> arguments{const_cast<char*>(SINTER_COMMAND)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  std::string out;
  char buffer[4096];
  for (ssize_t got; (got = read(terminal, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(got));
  int status = 0;
  waitpid(process, &status, 0);
  close(terminal);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out};
}

/// Writes a model for any batch: a convolution with a batch norm, and a classifier.
std::string saved(const TemporaryFolder& folder) {
  OnnxBuilder m;
  m.input("x", {-1, 3, 8, 8})
      .output("y")
      .constant("w", {16, 3, 3, 3}, floats(432))
      .constant("s", {16}, floats(16))
      .constant("v", {16}, std::vector<float>(16, 0.7f));
  m.node("Conv", {"x", "w"}, {"c"}, {{"pads", {1, 1, 1, 1}}})
      .node("BatchNormalization", {"c", "s", "s", "s", "v"}, {"b"})
      .node("Relu", {"b"}, {"r"})
      .node("Identity", {"r"}, {"i"});
  m.node("GlobalAveragePool", {"i"}, {"g"})
      .node("Flatten", {"g"}, {"f"})
      .constant("k", {16, 5}, floats(80))
      .node("MatMul", {"f", "k"}, {"m"})
      .node("Softmax", {"m"}, {"y"});
  return m.save(folder.path / "net.onnx");
}

double difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return max(absolute(a.astype(DType::float64) - b.astype(DType::float64))).item<double>();
}

}  // namespace

TEST_CASE("a model whose shapes depend on elements of an input is recorded at each of several runs") {
  const TemporaryFolder folder;
  OnnxBuilder m;
  m.input("x", {6}).input("sizes", {2}, 7).output("y").node("Reshape", {"x", "sizes"}, {"y"});
  save_npy(folder / "x.npy", from_span(floats(6)));
  save_npy(folder / "sizes.npy", from_span(std::vector<std::int64_t>{3, 2}));
  const Ran ran = run("run " + m.save(folder.path / "net.onnx") + " x=" + (folder / "x.npy") + " sizes=" + (folder / "sizes.npy") + " --time 3");
  INFO(ran.out);
  CHECK(ran.says("y  float32 (3, 2)"));
  CHECK(ran.says("(2 more)"));
  CHECK_FALSE(ran.says("freeze "));
}

TEST_CASE("a warmed model plans and compiles nothing at any of the sizes") {
  const TemporaryFolder folder;
  const std::string onnx = saved(folder);
  const Variable cache("SINTER_CACHE_DIR", folder / "cache"), plans("SINTER_KEEP_PLANS", "on");
  const Ran warm = run("cache warm " + onnx + " --size N=1,4");
  INFO(warm.out);
  CHECK(warm.status == 0);
  CHECK(warm.says("for 2 sets of sizes"));
  CHECK_FALSE(warm.says(" 0 plans made"));
  for (const char* size : {"N=1", "N=4"}) {
    const Ran ran = run("run " + onnx + " --random --size " + size + " --time 1");
    INFO(ran.out);
    CHECK(ran.says("   0 compiled, "));
  }
  CHECK(run("cache warm " + onnx + " --size N=1,4").says(" 0 plans made, "));
  CHECK(run("cache warm " + onnx + " --size N=4").says("for 1 set of sizes"));
  CHECK(run("cache warm " + onnx).says("the input x: float32[N, 3, 8, 8] needs a size: --size N=1"));
  CHECK(run("cache warm " + (folder / "missing.onnx")).status == 1);
  const Variable none("SINTER_CACHE_SIZE", "0");
  CHECK(run("cache warm " + onnx + " --size N=1").says("the disk cache is off"));
}

TEST_CASE("several models are checked in turn, and a bad model does not stop the checks of the others") {
  const TemporaryFolder folder;
  const std::string onnx = saved(folder);
  FILE* bad = fopen((folder / "bad.onnx").c_str(), "w");
  fputs("no model", bad);
  fclose(bad);
  const Ran checked = run("check " + (folder / "bad.onnx") + " " + onnx + " " + onnx);
  INFO(checked.out);
  CHECK(checked.status == 1);
  CHECK(checked.says("bad.onnx: "));
  CHECK(checked.says("net.onnx: sinter has every operator"));
  CHECK(checked.says("2 of 3 models can be run"));
  CHECK(run("check " + onnx + " " + onnx).status == 0);
  const Ran shown = run_on_terminal({"check", onnx, onnx});
  CHECK_MESSAGE(shown.says(" 50 %"), shown.out);
}

TEST_CASE("check, run, compile and explain") {
  const TemporaryFolder folder;
  const std::string onnx = saved(folder), plan = folder / "net.plan";
  const Model model = Model::load(onnx);

  const Ran checked = run("check " + onnx);
  INFO(checked.out);
  CHECK(checked.status == 0);
  CHECK(checked.says("input    x: float32[N, 3, 8, 8]"));
  CHECK(checked.says("nodes    8 in the file, 7 after the rewrites"));
  CHECK(checked.says("rewrite  remove_identity x 1"));
  CHECK(checked.says("sinter has every operator"));

  const Ran compiled = run("compile " + onnx + " -o " + plan + " --size N=1..9");
  INFO(compiled.out);
  REQUIRE(compiled.status == 0);
  CHECK(compiled.says("serves   N 2 to 65536"));
  CHECK(compiled.says("serves   N = 1"));
  CHECK(compiled.says("0 or 1"));
  const Ran plans = run("check " + plan);
  INFO(plans.out);
  CHECK(plans.says("serves   N 2 to 65536"));
  CHECK(plans.says("net.plan: 2 plans"));

  for (const std::int64_t batch : {1, 2, 5, 9, 16}) {
    const Tensor x = from_span(floats(static_cast<std::size_t>(batch * 192)), {batch, 3, 8, 8});
    save_npy(folder / "x.npy", x);
    const Tensor want = model({x})[0];
    for (const std::string& file : {onnx, plan}) {
      const Ran ran = run("run " + file + " x=" + (folder / "x.npy") + " -o " + (folder / "out"));
      INFO(ran.out);
      CHECK(ran.status == 0);
      CHECK(ran.says("y.npy"));
      CHECK(difference(load_npy(folder / "out/y.npy"), want) < 1e-5);
    }
  }
  // Without given sizes, the command compiles for a size of 1 and any others.
  const Ran unsaid = run("compile " + onnx + " -o " + plan);
  INFO(unsaid.out);
  REQUIRE(unsaid.status == 0);
  CHECK(unsaid.says("planned for N = 41 and 1, because no sizes were given: choose sizes by --size N=8"));
  for (const std::int64_t batch : {1, 3}) {
    save_npy(folder / "x.npy", from_span(floats(static_cast<std::size_t>(batch * 192)), {batch, 3, 8, 8}));
    REQUIRE(run("run " + plan + " x=" + (folder / "x.npy") + " -o " + (folder / "out")).status == 0);
    CHECK(difference(load_npy(folder / "out/y.npy"), model({load_npy(folder / "x.npy")})[0]) < 1e-5);
  }
  const Ran made_up = run("run " + plan + " --random");
  INFO(made_up.out);
  CHECK(made_up.says("float32 (41, 5)"));
  const Ran half = run("run " + onnx + " x=" + (folder / "x.npy") + " --precision float16 --time 2 -o " + (folder / "half"));
  INFO(half.out);
  CHECK(half.says("freeze "));
  CHECK(half.says("min "));
  const double off = difference(load_npy(folder / "half/y.npy"), model({load_npy(folder / "x.npy")})[0]);
  CHECK(off < 0.01);
  CHECK(off > 0);

  const Ran explained = run("explain " + onnx + " --size N=3");
  INFO(explained.out);
  CHECK(explained.status == 0);
  CHECK(explained.says("rewrite  remove_identity x 1"));
  CHECK(explained.says("steps compute"));
  CHECK(explained.says("with a launch for each operation"));
  CHECK(explained.says("split "));
}

TEST_CASE("messages use the singular for a count of one") {
  const TemporaryFolder folder;
  const Variable cache("SINTER_CACHE_DIR", folder / "cache");
  OnnxBuilder m;
  const std::string onnx = m.input("x", {-1, 4}).output("y").node("Relu", {"x"}, {"y"}).save(folder / "one.onnx"), plan = folder / "one.plan";
  CHECK(run("compile " + onnx + " -o " + plan + " --size N=41").says("plan     N=41 1 kernel, 0 library calls; "));
  CHECK(run("explain " + onnx + " --size N=41").says("launches 1 step computes 1 operation, 1.0 in each"));
  CHECK(run("run " + plan + " --random --explain").says("N=41: 1 kernel and 0 library calls; "));
  for (const char* arguments : {"cache list", "cache stats", "info", "kernels 'exp(x)' x=f32[9]", "eval 'exp(arange(3.))' --profile --explain",
                                "eval 'sort(arange(3.))' --explain --time 2", "eval 'arange(3.)' -o a.npy,b.npy", "cache clear"})
    run(arguments);  // run() checks the command's output
}

TEST_CASE("errors of the model commands") {
  const TemporaryFolder folder;
  const std::string onnx = saved(folder), plan = folder / "net.plan";
  REQUIRE(run("compile " + onnx + " -o " + plan + " --size N=1").status == 0);
  save_npy(folder / "x.npy", from_span(floats(384), {2, 3, 8, 8}));
  const auto refused = [&](const std::string& arguments, const std::string& what) {
    const Ran ran = run(arguments);
    INFO(arguments, "\n", ran.out);
    CHECK(ran.status != 0);
    CHECK(ran.says(what));
  };
  refused("run " + plan + " x=" + (folder / "x.npy"), "the file has no plan for N = 2; it has: N = 1");
  refused("run " + plan + " x=" + (folder / "x.npy"), "a size of 0 or 1 broadcasts");
  refused("run " + onnx + " z=" + (folder / "x.npy"), "x: float32[N, 3, 8, 8]");
  refused("run " + onnx, "x: float32[N, 3, 8, 8] is not given");
  for (const std::string name : {"net.onnx", "net.plan"})  // an unknown input is named, whether or not another one is missing
    for (const std::string rest : {"", " x=1", " --random"})
      refused("run " + (folder / name) + " y=1" + rest, name + " has no input 'y'; its inputs are x: float32[");
  CHECK(run("run " + onnx + " --random").says("float32 (41, 5)"));  // the size for compile
  for (const std::string size : {"N", "N=", "N=x", "N=3..1", "N=1..", "N=1,,2", "M=4"})
    refused("compile " + onnx + " -o " + plan + " --size " + size, size.substr(0, 1));
  refused("run " + onnx + " --random --size N=2 -o " + (folder / "none/of/these"), "there is no folder");
  CHECK(!fs::exists(folder / "none"));
  refused("run " + onnx + " --precision int8 --random --size N=1", "int8");
  refused("explain " + (folder / "none.onnx"), "none.onnx");
  refused("check " + (folder / "x.npy"), "x.npy");
}

TEST_CASE("each option of each command has an effect on a model and on a plan, or is refused") {
  const TemporaryFolder folder;
  const std::string onnx = saved(folder), plan = folder / "net.plan", since = folder / "since.json";
  REQUIRE(run("compile " + onnx + " -o " + plan + " --size N=2").status == 0);
  REQUIRE(run("run " + onnx + " --random --profile=json 2>/dev/null > " + since).status == 0);
  const std::string random = " --random --size N=2";
  struct Option {
    std::string name, value;
    bool plan = true;  // has an effect on a plan
  };
  const std::vector<Option> of_models = {
      {"--precision", "float16", false}, {"--no-rewrite", "", false}, {"--without", "fold_batch_norm", false}, {"--set", "x=" + (folder / "x.npy"), false}};
  const std::vector<Option> of_plans = {{"--device", "cpu"}, {"--html", folder / "p.html"}, {"--svg", folder / "p.svg"}, {"--dot", folder / "p.dot"}};
  std::map<std::string, std::vector<Option>> commands = {
      {"check", {}},
      {"run",
       {{"--output", folder / "out"},
        {"--backend", "interpreter"},
        {"--fuse", "off", false},
        {"--time", "2"},
        {"--random", ""},
        {"--size", "N=2"},
        {"--profile", ""},
        {"--since", since},
        {"--trace", folder / "trace.json"},
        {"--explain", ""},
        {"--guards", "--explain"}}},
      {"explain", {{"--json", ""}, {"--guards", ""}, {"--size", "N=2", false}}},
      {"compile", {{"--output", folder / "again.plan"}, {"--fuse", "off"}, {"--size", "N=3"}, {"--device", "cpu"}, {"--explain", ""}}}};
  save_npy(folder / "x.npy", from_span(floats(384), {2, 3, 8, 8}));
  for (auto& [command, options] : commands) {
    options.insert(options.end(), of_models.begin() + (command == "check" ? 1 : 0), of_models.end());
    if (command == "run" || command == "explain") options.insert(options.end(), of_plans.begin(), of_plans.end());
    // Checks that the lists contain every option.
    const std::string help = run(command + " --help").out;
    std::set<std::string> known{"--help"}, shown;
    for (const Option& option : options) known.insert(option.name);
    for (std::size_t at = 0; (at = help.find("--", at)) != std::string::npos;) {
      const std::size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
      const std::size_t line = help.rfind('\n', at) + 1;
      if (help.find_first_not_of(' ', line) == at || help[at - 1] == ',') shown.insert(help.substr(at, end - at));
      at = end;
    }
    CHECK_MESSAGE(shown == known, help);
    for (const Option& option : options)
      for (const std::string& file : {onnx, plan}) {
        const std::string arguments = command + " " + file +
                                      (command == "run"       ? option.name == "--set" ? " --random" : random
                                       : command == "compile" ? " -o " + (folder / "other.plan")
                                                              : "") +
                                      " " + option.name + " " + option.value;
        if ((option.name == "--output" || option.name == "--size" || option.name == "--random") && command != "explain") continue;  // tested below
        const Ran ran = run(arguments);
        INFO(arguments, "\n", ran.out);
        const bool takes = file == onnx || (option.plan && command != "compile");
        CHECK((ran.status == 0) == takes);
        if (!takes && command == "compile") CHECK(ran.says("net.plan is a plan file, which already holds its kernels"));
        else if (!takes) CHECK_MESSAGE((ran.says(option.name + " has no effect on ") && ran.says("give " + option.name + " to sinter compile")), ran.out);
      }
  }
  // Options that have an effect only together with another option, and sizes that no axis has.
  const auto refused = [&](const std::string& arguments, const std::string& what) {
    const Ran ran = run(arguments);
    INFO(arguments, "\n", ran.out);
    CHECK(ran.status == 1);
    CHECK(ran.says(what));
  };
  for (const std::string& file : {onnx, plan}) {
    refused("run " + file + " x=" + (folder / "x.npy") + " --size N=2", "--size N has no effect without --random");
    refused("run " + file + " --random --size N=2,3", "--size N: run takes one size");
    refused("run " + file + " --random --size M=2", "--size M: no input has a size of this name; the names are N");
    refused("run " + file + random + " --guards", "--guards has no effect without --explain");
    CHECK(run("run " + file + random + " --time 2").status == 0);
  }
  refused("eval 'arange(3) + 1' --guards", "--guards has no effect without --explain");
  refused("cache warm " + onnx + " --size N=1 --size M=2", "--size M: no input has a size of this name; the names are N");
  refused("cache warm " + plan, "net.plan is a plan file, which already holds its kernels");
}

TEST_CASE("a terminal shows the progress of compiling and erases it at the end; a log has no progress") {
  const TemporaryFolder folder;
  const std::string model = saved(folder), plan = folder / "shown.plan";
  const Ran shown = run_on_terminal({"compile", model, "-o", plan, "--size", "N=2"});
  CHECK(shown.status == 0);
  CHECK_MESSAGE(shown.says("compiling: 0 kernels"), shown.out);
  const std::size_t erased = shown.out.rfind("\r\033[K");
  REQUIRE(erased != std::string::npos);
  CHECK(shown.out.find("compiling", erased) == std::string::npos);
  CHECK(shown.out.find("wrote ", erased) != std::string::npos);
  const Ran logged = run("compile " + model + " -o " + plan + " --size N=2");
  CHECK(logged.status == 0);
  CHECK(!logged.says("compiling:"));
  CHECK(!logged.says("\033"));
}
