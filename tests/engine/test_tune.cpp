// Tuned schedules: a process uses a schedule that another process measured, and explain reports it. Schedules that are damaged, or for another size, device or
// structure, are not used.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/engine.hpp"
#include "engine/tuned.hpp"
#include "jit/identities.hpp"
#include "sinter/sinter.hpp"
#include "sinter/tune.hpp"
#include "temporary_folder.hpp"

namespace fs = std::filesystem;
namespace sn = sinter;
using sn::Tensor;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A folder with its own cache, which this process uses too.
struct Sandbox : sn::testing::TemporaryFolder {
  sn::Options before = sn::options();

  Sandbox() {
    sn::Options options = before;
    options.cache_dir = (path / "cache").string();
    options.threads = 1;
    options.wait = true;
    sn::configure(options);
    sn::save_npy((path / "x.npy").string(), sn::reshape(sn::arange(300 * 500, sn::DType::float32), {300, 500}));
  }
  ~Sandbox() { sn::configure(before); }

  /// Returns the output of the command, which runs in a process of its own.
  std::string command(const std::string& arguments, const std::string& environment = "") const {
    const fs::path out = path / ".out";
    const std::string line = fmt::format("cd '{}' && SINTER_CACHE_DIR='{}' SINTER_THREADS=1 {} '{}' {} >'{}' 2>&1", path.string(), (path / "cache").string(),
                                         environment, SINTER_COMMAND, arguments, out.string());
    const int status = std::system(line.c_str());
    std::ifstream file(out);
    std::string said{std::istreambuf_iterator<char>(file), {}};
    CAPTURE(said);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    return said;
  }

  /// Stores `overrides` as the winner for this tensor's one kernel.
  void keep(const Tensor& y, const std::string& overrides) const {
    auto& engine = sn::engine::Engine::get();
    const auto at = engine.frozen_target();
    const auto scheduled = sn::engine::schedule_and_make(sn::trace::linearize({y.node()}).graph, at.target, at.how, engine.kernels());
    REQUIRE(scheduled.plan.steps.size() == 1);
    const auto chosen = sn::jit::lower(scheduled.plan.graph, scheduled.plan.steps[0].kernel, at.target.limits);
    const auto device = sn::runtime::find_kind("cpu")->open(0);
    device->set_threads(1);
    sn::cache::DiskCache disk({path / "cache", std::uint64_t{1} << 30});
    sn::engine::keep_tuned(disk, chosen, {device->model(), sn::jit::cpu_generator(), false}, sn::jit::ScheduleOverride::parse(overrides), 1.5);
  }
  Tensor x() const { return sn::load_npy((path / "x.npy").string()); }
};

}  // namespace

TEST_CASE("a tuned schedule that one process stored is used in the next, and explain shows it") {
  const Sandbox box;
  const std::string eval = "eval 'tanh(x) * 2 + x' x=x.npy -o y.npy --explain";
  const std::string before = box.command(eval);
  CHECK(contains(before, "unroll=4"));
  CHECK(!contains(before, "(tuned)"));
  const auto y = sn::load_npy((box.path / "y.npy").string()).to_vector<float>();
  CHECK(contains(box.command("cache stats"), "tuned    0\n"));
  CHECK(contains(box.command("cache tuned"), "no schedule is tuned"));

  const Tensor x = box.x();
  box.keep(sn::tanh(x) * 2 + x, "unroll=8");
  const std::string after = box.command(eval);
  CHECK(contains(after, "unroll=8"));
  CHECK(contains(after, "(tuned)"));
  CHECK(sn::load_npy((box.path / "y.npy").string()).to_vector<float>() == y);
  CHECK(contains(box.command(eval), "from disk"));  // the kernel's machine code is cached like any other
  CHECK(contains(box.command("cache stats"), "tuned    1\n"));
  CHECK(contains(box.command("cache tuned"), "unroll=8, 1.50 times as fast"));

  CHECK(!contains(box.command(eval, "SINTER_TUNED=off"), "(tuned)"));
  CHECK(!contains(box.command(eval, "SINTER_BACKEND=interpreter"), "(tuned)"));  // measured for machine code
  CHECK(!contains(box.command("eval 'tanh(x) * 2 - x' x=x.npy -o y.npy --explain"), "(tuned)"));
  CHECK(contains(box.command("eval 'tanh(x[:290]) * 2 + x[:290]' x=x.npy -o y.npy --explain"), "(tuned)"));  // a size of the same magnitude
  CHECK(!contains(box.command("eval 'tanh(x[:2]) * 2 + x[:2]' x=x.npy -o y.npy --explain"), "(tuned)"));     // a size of another magnitude
}

TEST_CASE("damaged or meaningless tuned schedules are ignored") {
  const Sandbox box;
  const std::string eval = "eval 'exp(x * 1e-6)' x=x.npy -o y.npy --explain";
  box.keep(sn::exp(box.x() * 1e-6), "unroll=8");
  CHECK(contains(box.command(eval), "(tuned)"));
  for (const auto& entry : fs::directory_iterator(box.path / "cache")) {
    if (entry.path().extension() != ".sinter") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(entry.path()) / 2));
    file.put('\x5a');
    file.put('\xa5');
  }
  const std::string damaged = box.command(eval);
  CHECK(!contains(damaged, "(tuned)"));
  CHECK(contains(damaged, "unroll=4"));
  CHECK(contains(box.command("cache stats"), "tuned    0\n"));  // gone

  box.keep(sn::exp(box.x() * 1e-6), "panel_rows=8");  // a pointwise kernel does not have this field
  const std::string same = box.command(eval);
  CHECK(!contains(same, "(tuned)"));
  CHECK(contains(same, "unroll=4"));
}

TEST_CASE("the command `tune` reports its results and stores only faster schedules") {
  const Sandbox box;
  for (const char* expression : {"softmax(x, axis=-1)", "x.T * 2"}) {
    CAPTURE(std::string(expression));
    const std::string said = box.command(fmt::format("tune '{}' x=x.npy", expression));
    CAPTURE(said);
    CHECK(contains(said, "   chosen  "));
    const bool kept = contains(said, "times as fast");
    CHECK(kept == contains(said, " stored in "));
    CHECK(kept != contains(said, "none that can be measured"));
    CHECK(contains(box.command(fmt::format("eval '{}' x=x.npy -o y.npy --explain", expression)), "(tuned)") == kept);
  }
  CHECK(contains(box.command("tune 'y * 2' y='f16[64,64]'"), "   chosen  pointwise"));  // elements in memory, and not in a file
}

TEST_CASE("after tune(), later plans of the process use the stored schedules and give the same results") {
  const Sandbox box;
  const Tensor x = box.x();
  const auto want = sn::softmax(x * 1e-3f, 0).to_vector<float>();
  double last = 0;
  const auto kernels = sn::tune({sn::softmax(x * 1e-3f, 0)}, [&](double done, std::string_view kernel) {
    CHECK(done >= last);
    CHECK(done <= 1);
    CHECK(!kernel.empty());
    last = done;
  });
  CHECK(last == 1);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].tried > 3);
  CHECK(kernels[0].stored == (kernels[0].best != kernels[0].chosen));
  CHECK(kernels[0].stored == (kernels[0].ratio < 1));
  const Tensor y = sn::softmax(x * 1e-3f, 0);
  CHECK(contains(sn::explain(y), "(tuned)") == kernels[0].stored);
  CHECK(y.to_vector<float>() == want);
  CHECK_THROWS_AS(sn::tune({y}), sn::ValueError);  // evaluated already
  CHECK_THROWS_AS(sn::tune({sn::placeholder({3}, sn::DType::float32) + 1}), sn::ValueError);
}
