// The timeline's file is Chrome's format, names what ran with the program's lines, and changes nothing of what is computed.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sinter/profile.hpp>
#include <sinter/sinter.hpp>
#include <thread>

#include "program.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using namespace sinter::testing;
namespace sn = sinter;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

json read(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

/// Chrome's "Trace Event Format" as far as it is used: an object with an array of complete events, counters and names.
void check_format(const json& file) {
  REQUIRE(file.is_object());
  REQUIRE(file.at("traceEvents").is_array());
  std::map<std::int64_t, std::vector<std::pair<double, double>>> lines;
  std::set<std::int64_t> named;
  for (const json& event : file.at("traceEvents")) {
    CAPTURE(event.dump());
    REQUIRE(event.at("name").is_string());
    REQUIRE(event.at("pid") == getpid());
    REQUIRE(event.at("tid").is_number_integer());
    REQUIRE(event.at("args").is_object());
    const std::string phase = event.at("ph");
    if (phase == "M") {
      REQUIRE(event.at("args").at("name").is_string());
      if (event.at("name") == "thread_name") named.insert(event.at("tid").get<std::int64_t>());
      continue;
    }
    REQUIRE(event.at("ts").get<double>() >= 0);
    if (phase == "C") {
      REQUIRE(event.at("args").at("value").get<double>() >= 0);
      continue;
    }
    REQUIRE(phase == "X");
    REQUIRE(event.at("cat").is_string());
    REQUIRE(event.at("dur").get<double>() >= 0);
    lines[event.at("tid")].emplace_back(event.at("ts"), event.at("ts").get<double>() + event.at("dur").get<double>());
  }
  // A viewer stacks the events of a line: one is inside another, or apart from it.
  for (auto& [line, spans] : lines) {
    CHECK(named.contains(line));
    std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; });
    std::vector<double> open;
    for (const auto& [begin, end] : spans) {
      while (!open.empty() && open.back() <= begin + 1e-3) open.pop_back();
      if (!open.empty()) CHECK(end <= open.back() + 1e-3);
      open.push_back(end);
    }
  }
}

std::map<std::string, std::vector<json>> by_kind(const json& file) {
  std::map<std::string, std::vector<json>> kinds;
  for (const json& event : file.at("traceEvents")) kinds[event.value("cat", event.at("ph").get<std::string>())].push_back(event);
  return kinds;
}

Tensor formula(const Tensor& x) { return softmax(exp(x * 0.5f) + 1.f, -1); }

}  // namespace

TEST_CASE("the steps of an evaluation with their lines, bytes and rates") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "trace.json";
  const Tensor x = astype(random::uniform(random::Key(7), {257, 131}), DType::float32);
  sn::eval(x);
  const std::string without = to_string(formula(x));
  std::string with, product;
  {
    Timeline timeline(path.string());
    CHECK_THROWS_AS(Timeline((folder.path / "other.json").string()), ValueError);
    with = to_string(formula(x));
    Tensor y = x + 2.f;
    sn::eval(matmul(transpose(y), y));
    sn::synchronize();
  }
  CHECK(with == without);
  const json file = read(path);
  check_format(file);
  auto kinds = by_kind(file);
  for (const char* kind : {"record", "evaluate", "key", "plan", "wait", "measure", "C"}) CHECK_MESSAGE(!kinds[kind].empty(), kind);
  CHECK(!kinds["library"].empty());
  std::vector<json> steps = kinds["kernel"];
  steps.insert(steps.end(), kinds["interpret"].begin(), kinds["interpret"].end());
  REQUIRE(!steps.empty());
  bool told = false;
  for (const json& step : steps) {
    const json& args = step.at("args");
    CHECK(args.at("from").get<std::string>().find("test_timeline.cpp:") != std::string::npos);
    CHECK(args.at("bytes").get<double>() > 0);
    CHECK(args.at("GB/s").get<double>() == doctest::Approx(args.at("bytes").get<double>() / step.at("dur").get<double>() / 1e3).epsilon(0.02));
    told |= args.contains("percent of measured bandwidth");
  }
  CHECK(told);
  if (sn::options().backend == "interpreter") CHECK(kinds["kernel"].empty());
}

TEST_CASE("a timeline holds what happens during its life alone, in every thread") {
  const TemporaryFolder folder;
  const Tensor x = astype(arange(1000), DType::float32);
  sn::eval(formula(reshape(x, {10, 100})));
  sn::synchronize();
  const fs::path empty = folder.path / "empty.json", full = folder.path / "full.json";
  { Timeline timeline(empty.string()); }
  CHECK(by_kind(read(empty))["evaluate"].empty());
  {
    Timeline timeline(full.string());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int k = 0; k < 20; ++k) sn::eval(formula(reshape(x, {10, 100})) * static_cast<float>(k));
      });
    for (auto& thread : threads) thread.join();
    timeline.write();
    sn::eval(x + 1.f);
  }
  const json file = read(full);
  check_format(file);
  std::set<std::int64_t> threads;
  int evaluations = 0;
  auto kinds = by_kind(file);
  for (const json& event : kinds["evaluate"]) threads.insert(event.at("tid").get<std::int64_t>()), ++evaluations;
  CHECK(threads.size() == 4);
  CHECK(evaluations == 80);
}

TEST_CASE("a file that cannot be written is an error, and the next timeline is whole") {
  const TemporaryFolder folder;
  {
    Timeline timeline((folder.path / "missing" / "trace.json").string());
    sn::eval(arange(10) * 3.f);
    CHECK_THROWS_AS(timeline.write(), IoError);
  }
  Timeline timeline((folder.path / "with-%p.json").string());
  sn::eval(arange(10) * 3.f);
  timeline.write();
  check_format(read(folder.path / ("with-" + std::to_string(getpid()) + ".json")));
}

TEST_CASE("a child of fork leaves its parent's timeline alone") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "trace.json";
  sn::eval(arange(10) * 3.f);
  sn::synchronize();
  {
    Timeline timeline(path.string());
    const pid_t child = fork();
    if (child == 0) {
      sn::eval(arange(10) * 3.f);
      timeline.write();
      _exit(fs::exists(path) ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    sn::eval(arange(10) * 3.f);
  }
  CHECK(by_kind(read(path))["evaluate"].size() == 1);
}

int main(int argc, char** argv) { return run_tests(argc, argv); }
