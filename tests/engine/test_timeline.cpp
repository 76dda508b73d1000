// The timeline's file has Chrome's format and names each step with the program's lines. Recording a timeline changes no result.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
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
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

json read(const fs::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

/// Checks the part of Chrome's "Trace Event Format" that is used: an object with an array of complete events, counters and names.
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
  // A viewer stacks the events of a line, so two events are nested or do not overlap.
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
  for (const char* kind : {"record", "evaluate", "key", "plan", "wait", "C"}) CHECK_MESSAGE(!kinds[kind].empty(), kind);
  CHECK(!kinds["library"].empty());
  std::vector<json> steps = kinds["kernel"];
  steps.insert(steps.end(), kinds["interpret"].begin(), kinds["interpret"].end());
  REQUIRE(!steps.empty());
  bool reported = false;
  for (const json& step : steps) {
    const json& args = step.at("args");
    CHECK(args.at("from").get<std::string>().find("test_timeline.cpp:") != std::string::npos);
    CHECK(args.at("bytes").get<double>() > 0);
    CHECK(args.at("GB/s").get<double>() == doctest::Approx(args.at("bytes").get<double>() / step.at("dur").get<double>() / 1e3).epsilon(0.02));
    reported |= args.contains("percent of measured bandwidth");
  }
  CHECK(reported);
  if (sn::options().backend == "interpreter") CHECK(kinds["kernel"].empty());
}

TEST_CASE("a timeline has the events of every thread during its lifetime, and no others") {
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

TEST_CASE("of processes that write the same file, one leaves its complete file") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "trace.json";
  sn::eval(arange(10) * 3.f);
  sn::synchronize();
  std::vector<pid_t> children;
  for (int k = 0; k < 4; ++k) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    Timeline timeline(path.string());
    for (int j = 0; j < 300 * (k + 1); ++j) sn::eval(arange(10) * 3.f);
    timeline.write();
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(by_kind(read(path))["evaluate"].size() % 300 == 0);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
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

namespace {

/// The form of to_json(Profile) that docs/measuring.md describes.
void check_profile(const json& profile) {
  REQUIRE(profile.at("schema") == 1);
  const auto check_kinds = [](const json& kinds, double seconds) {
    double sum = 0;
    for (const auto& [kind, of_kind] : kinds.items()) {
      CHECK(of_kind.get<double>() >= 0);
      sum += of_kind.get<double>();
    }
    CHECK(sum <= seconds * (1 + 1e-9));
  };
  check_kinds(profile.at("kinds"), profile.at("seconds"));
  check_kinds(profile.at("before").at("kinds"), profile.at("before").at("seconds"));
  for (const auto& [device, limits] : profile.at("limits").items())
    for (const auto& [name, limit] : limits.items()) CHECK((limit.is_null() || limit.get<double>() > 0));
  const auto check_figures = [](const json& figures) {
    CHECK(figures.at("runs").get<int>() > 0);
    CHECK(figures.at("seconds").get<double>() >= figures.at("fastest").get<double>());
    for (const char* figure : {"bytes", "operations", "of_bandwidth", "of_arithmetic"}) {
      CAPTURE(figure);
      CHECK((figures.at(figure).is_null() || figures.at(figure).get<double>() > 0));
    }
  };
  for (const json& step : profile.at("steps")) {
    CAPTURE(step.dump());
    check_figures(step);
    CHECK(step.at("kernel").is_string());
    CHECK(step.at("from").is_string());
    const std::string kind = step.at("kind");
    CHECK((kind == "kernel" || kind == "interpret" || kind == "library" || kind == "exchange"));
    REQUIRE(!step.at("sizes").empty());
    int runs = 0;
    for (const json& size : step.at("sizes")) {
      check_figures(size);
      CHECK(size.at("name").is_string());
      runs += size.at("runs").get<int>();
    }
    CHECK(step.at("runs") == runs);
  }
  for (const json& value : profile.at("computed_again")) CHECK((value.at("value").is_string() && value.at("times").get<int>() >= 2));
}

}  // namespace

TEST_CASE("a profile as text and JSON has lines, limits, kinds, and separately the time of planning") {
  const Tensor x = astype(random::uniform(random::Key(9), {300, 211}), DType::float32);
  sn::eval(x);
  Profile profile;
  const auto run = [&](const Tensor& of) {
    sn::eval(formula(log(of + 2.f)), matmul(of, transpose(of)));
    sn::synchronize();
  };
  run(x);
  CHECK(profile.kinds().contains("plan"));
  profile.restart();
  CHECK(profile.steps().empty());
  for (int k = 0; k < 3; ++k) run(x);
  const json report = json::parse(to_json(profile));
  check_profile(report);
  CHECK(report.at("before").at("kinds").contains("plan"));
  CHECK(!report.at("kinds").contains("plan"));
  REQUIRE(!report.at("steps").empty());
  for (const json& step : report.at("steps")) CHECK(step.at("from").get<std::string>().find("test_timeline.cpp:") != std::string::npos);
  const auto matmul = std::find_if(report.at("steps").begin(), report.at("steps").end(), [](const json& step) { return step.at("kind") == "library"; });
  REQUIRE(matmul != report.at("steps").end());
  CHECK(matmul->at("operations") == 3 * 2.0 * 300 * 300 * 211);
  CHECK(matmul->at("of_arithmetic").get<double>() > 0);
  CHECK(report.at("kinds").contains("library"));
  if (sn::options().backend == "interpreter") CHECK(report.at("kinds").contains("interpret"));
  const std::string text = to_string(profile);
  CHECK_MESSAGE(text.find("test_timeline.cpp:") != std::string::npos, text);
  CHECK_MESSAGE(text.find("\nbefore:  ") != std::string::npos, text);
}

TEST_CASE("equal kernels at several sizes are one entry, whose bytes and operations follow the sizes") {
  const Profile profile;
  constexpr std::int64_t kSizes[] = {3000, 4000, 5000};
  for (const std::int64_t n : kSizes) sn::eval(sqrt(astype(arange(n), DType::float32) * 3.f));
  sn::synchronize();
  const json report = json::parse(to_json(profile));
  check_profile(report);
  bool several = false;
  for (const json& step : report.at("steps")) {
    if (step.at("sizes").size() != std::size(kSizes)) continue;
    several = true;
    std::vector<double> bytes, operations;
    for (const json& size : step.at("sizes")) {
      bytes.push_back(size.at("bytes"));
      operations.push_back(size.at("operations").is_null() ? 0 : size.at("operations").get<double>());
    }
    for (auto* figures : {&bytes, &operations}) {
      std::sort(figures->begin(), figures->end());
      for (std::size_t k = 0; k < figures->size(); ++k)
        CHECK((*figures)[k] == doctest::Approx(figures->front() * static_cast<double>(kSizes[k]) / static_cast<double>(kSizes[0])));
    }
  }
  CHECK(several);
  CHECK(to_string(profile).find(" at 3 sizes") != std::string::npos);
}

TEST_CASE("a profile's bytes and shapes are those of explain, even if a plan serves other sizes") {
  const auto formulas = std::vector<std::function<Tensor(std::int64_t)>>{
      [](std::int64_t n) { return pad(full({n, 100}, 1.f), {{1, 1}, {1, 1}}); },
      [](std::int64_t n) { return matmul(full({n, 64}, 1.f), full({64, 48}, 2.f)) + full({n, 48}, 3.f); },  // an epilogue with an operand of its own
      [](std::int64_t n) { return softmax(full({n, 33}, 1.f), -1) * 2.f; },
      [](std::int64_t n) { return cumsum(full({n, 70}, 1.f), 0); },
      [](std::int64_t n) { return sort(full({n, 40}, 1.f), 1) * 2.f; },
  };
  for (std::size_t k = 0; k < formulas.size(); ++k)
    for (const std::int64_t n : {100, 132, 164}) {
      CAPTURE(k);
      CAPTURE(n);
      const Profile profile;
      const Tensor y = formulas[k](n);
      sn::eval(y);
      const json plan = json::parse(explain(y, Format::json));
      double bytes = 0;
      const std::vector<ProfiledStep> steps = profile.steps();
      for (const ProfiledStep& step : steps) bytes += step.bytes;
      CHECK(bytes == doctest::Approx(plan.at("bytes_moved").get<double>()));
      for (const json& kernel : plan.at("kernels")) {
        std::string written;
        for (const json& value : kernel.at("outputs"))
          written += (written.empty() ? "" : ", ") + value.at("dtype").get<std::string>() + to_string(value.at("shape").get<Shape>());
        const std::string name = kernel.at("name").get<std::string>(), whole = name + " " + written;
        CHECK(std::any_of(steps.begin(), steps.end(), [&](const ProfiledStep& step) { return step.name == whole || step.name.ends_with(", then " + name); }));
      }
    }
}

TEST_CASE("measuring the machine's limits is no part of a profile's time") {
  const Profile profile;
  sn::eval(arange(1000) * 2.f);
  const double before = profile.seconds();
  const auto start = std::chrono::steady_clock::now();
  profile.steps();
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(profile.seconds() - before <= std::max(0.5 * took, 0.05));
}

TEST_CASE("a held value that two evaluations compute is reported, and one that was evaluated is not") {
  const Tensor x = astype(random::uniform(random::Key(9), {40, 50}), DType::float32);
  sn::eval(x);
  const auto report = [&](bool evaluated) {
    const Profile profile;
    const Tensor held = exp(x) * x + 1.f;
    if (evaluated) sn::eval(held);
    sn::eval(sum(held, 0));
    sn::eval(sum(held, 1));
    check_profile(json::parse(to_json(profile)));
    return profile.computed_again();
  };
  CHECK(report(true).empty());
  const auto again = report(false);
  REQUIRE(again.size() == 1);
  CHECK(again[0].times == 2);
  CHECK_MESSAGE(again[0].value.find("float32 (40, 50), recorded at ") != std::string::npos, again[0].value);
  CHECK(again[0].value.find("test_timeline.cpp:") != std::string::npos);
}

TEST_CASE("profiles of several threads are separate, and an inner profile replaces the outer one") {
  const Tensor x = ones({64, 64});
  sn::eval(x);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Profile outer;
      {
        const Profile inner;
        for (int k = 0; k <= t; ++k) sn::eval(x * static_cast<float>(k) + 1.f);
        std::uint64_t runs = 0;
        for (const ProfiledStep& step : inner.steps()) runs += step.runs;
        CHECK(runs >= static_cast<std::uint64_t>(t + 1));
        check_profile(json::parse(to_json(inner)));
      }
      CHECK(outer.steps().empty());
      sn::eval(x * 7.f + 2.f);
      CHECK(!outer.steps().empty());
      CHECK(outer.kinds().contains("evaluate"));
    });
  for (auto& thread : threads) thread.join();
}

TEST_CASE("a child of fork does not change its parent's timeline") {
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
