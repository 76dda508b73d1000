// Tests the text of explain() about lines, names, sizes and boundaries, and that none of it is part of a plan.
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sinter/control.hpp>
#include <sinter/freeze.hpp>
#include <sinter/sinter.hpp>
#include <thread>

#include "program.hpp"
#include "seed.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using namespace sinter::testing;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

Tensor numbers(Shape shape, std::uint64_t key) {
  const Tensor x = astype(random::uniform(random::Key(key), shape), DType::float32);
  sn::eval(x);
  return x;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
std::string here(int line) { return "test_explain.cpp:" + std::to_string(line); }

json explained(const std::vector<Tensor>& tensors, const std::string& target = "") { return json::parse(sn::explain(tensors, Format::json, target)); }

// Kernels for GPUs are planned and not compiled.
[[maybe_unused]] const int no_nvrtc = setenv("SINTER_NVRTC", "off", 1);

/// Returns the kernels and library calls in their order.
std::vector<json> steps_of(const json& plan) {
  std::vector<json> steps(plan.at("kernels").size() + plan.at("library_calls").size());
  for (const char* list : {"kernels", "library_calls"})
    for (const json& step : plan.at(list)) steps[step.at("step").get<std::size_t>()] = step;
  return steps;
}

/// Returns the text of each step.
std::vector<std::string> parts_of(const std::string& text, std::size_t steps) {
  std::vector<std::string> parts;
  std::size_t at = text.find("\n1. ");
  for (std::size_t s = 1; s <= steps; ++s) {
    REQUIRE(at != std::string::npos);
    const std::size_t end = text.find("\n" + std::to_string(s + 1) + ". ", at + 1);
    parts.push_back(text.substr(at, end == std::string::npos ? end : end + 1 - at));
    at = end;
  }
  return parts;
}

/// Records random operations on matrices, some of which separate kernels compute, and names their results.
std::vector<Tensor> random_program(std::mt19937& rng, int operations) {
  std::vector<Tensor> values{sn::placeholder({48, 48}, DType::float32), sn::placeholder({48, 48}, DType::float32)};
  for (int k = 0; k < operations; ++k) {
    const auto any = [&] { return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(rng)]; };
    switch (std::uniform_int_distribution<int>(0, 8)(rng)) {
      case 0: values.push_back(any() * any()); break;
      case 1: values.push_back(exp(-abs(any()))); break;
      case 2: values.push_back(any() - mean(any(), -1, true)); break;
      case 3: values.push_back(any() + sum(any(), 0)); break;
      case 4: values.push_back(flip(any(), 1) - any().T()); break;
      case 5: values.push_back(cumsum(any(), 1)); break;
      case 6: values.push_back(softmax(any(), 0)); break;
      case 7: values.push_back(sn::sort(any(), 1)); break;
      default: values.push_back(sn::matmul(any(), any())); break;
    }
    sn::set_name(values.back(), "v" + std::to_string(values.size()));
  }
  return values;
}

/// Records the same structure at another line.
Tensor formula(const Tensor& x, Location where) { return exp(Arg(multiply(Arg(x, where), Arg(2.f, where)), where)); }

}  // namespace

TEST_CASE("a kernel is explained with the lines that recorded it") {
  const Tensor x = numbers({300, 70}, 1);
  const Tensor scaled = x * 3.f;
  const int line = __LINE__ - 1;
  const Tensor shifted = exp(scaled) + 1.f;

  const Tensor y = tanh(shifted);
  const std::string text = sn::explain(y);
  if (sn::options().fuse) CHECK(contains(text, "from " + here(line) + ", " + std::to_string(line + 2) + ", " + std::to_string(line + 4) + "\n"));
  const json plan = explained({y});
  std::set<int> lines;
  for (const json& kernel : plan.at("kernels"))
    for (const json& one : kernel.at("lines"))
      for (int k = one.at("first"); k <= one.at("last"); ++k) lines.insert(k);
  CHECK(lines == std::set<int>{line, line + 2, line + 4});
  CHECK(contains(text, here(line)));
}

TEST_CASE("a gather counts its points or its whole source as read, whichever is less at the present sizes") {
  if (!sn::options().fuse) return;                        // then separate kernels compute the index
  for (const std::int64_t rows : {34, 60, 36, 64, 34}) {  // one plan serves all
    CAPTURE(rows);
    const Tensor x = numbers({rows, 8}, 5), places = sn::arange(50) % rows, y = sn::take(x, places, 0) * 2.f;
    sn::eval(places);
    const double bytes = explained({y}).at("bytes_moved");
    CHECK(bytes == static_cast<double>(std::min<std::int64_t>(50, rows) * 8 * 4 + 50 * 8 + 50 * 8 * 4));
    sn::eval(y);
  }
}

TEST_CASE("every recorded operation names the user's file, even inside compositions") {
  const Tensor x = numbers({6, 8}, 5), places = Tensor{0, 2, -1};
  const sn::Complex z{numbers({4}, 6), numbers({4}, 7)};
  Tensor assigned = x, added = x, masked = x;
  assigned(places) = 5.0;
  added(places, 1) += 2.0;
  masked(x > 0.5f) *= sn::ones({1}, DType::float32);
  std::vector<Tensor> values = {
      x(places),
      x(places, places),
      x(Slice{1, 4}, places),
      x.at({places, 0}),
      take(x, places, 1, sn::IndexMode::wrap),
      assigned,
      added,
      masked,
      sn::sin(z).re,
      sn::cos(z).im,
      sn::tan(z).re,
      sn::asinh(z).im,
      sn::atan(z).re,
      sn::sinh(z).im,
      sn::expm1(z).re,
      sn::put(x, places, 1.f),
      sn::softmax(x, -1),
      sn::stddev(x, 0),
      sn::median(x, 1),
      sn::pad(x, {{1, 2}, {0, 1}}, sn::PadMode::reflect),
      sn::sort(x, 0),
      sn::cumsum(x, 1),
      sn::interp(x, numbers({5}, 1), numbers({5}, 2)),
      sn::digitize(x, sn::linspace(0, 1, 4)),
      sn::roll(x, 1, 0),
      sn::gelu(sn::matmul(x.T(), x)),
  };
  for (const Tensor row : x) values.push_back(row);
  for (std::size_t k = 0; k < values.size(); ++k) {
    CAPTURE(k);
    for (const json& plan : explained({values[k]}).at("plans"))
      for (const json& node : plan.at("nodes")) {
        CAPTURE(node.dump());
        CHECK((!node.contains("file") || node.at("file").get<std::string>().ends_with("test_explain.cpp")));
      }
  }
}

TEST_CASE("source lines come from the present recording and are part of no plan, source or key") {
  const Tensor x = numbers({211, 37}, 2);
  const Location first{"one.cpp", 10}, second{"two.cpp", 20};
  Tensor a = formula(x, first);
  sn::eval(a);
  sn::synchronize();
  Tensor named = numbers({211, 37}, 3);
  const auto before = sn::counters();
  for (int k = 0; k < 6; ++k) {
    const Location where = k % 2 == 0 ? second : first;
    Tensor b = formula(x, where);
    const std::string planned = sn::explain(b);
    CHECK(contains(planned, k % 2 == 0 ? "from two.cpp:20" : "from one.cpp:10"));
    sn::eval(b);
    CHECK(contains(sn::explain(b), k % 2 == 0 ? "from two.cpp:20" : "from one.cpp:10"));
  }
  sn::set_name(named, "weights");
  Tensor c = formula(named, first);
  CHECK(contains(sn::explain(c), "weights float32 (211, 37) to "));
  CHECK(contains(sn::explain(a), "from one.cpp:10"));  // the evaluated tensor is explained as it was computed
  const auto after = sn::counters();
  CHECK(after.plans_made == before.plans_made);
  CHECK(after.sources_generated == before.sources_generated);

  // The sources are equal except for the comments at their top.
  const auto strings = [](const Tensor& tensor) {
    const TemporaryFolder made;
    const fs::path folder = made.path;
    std::string all;
    for (const std::string& path : sn::dump_kernels(tensor, folder.string())) {
      std::ifstream file(path);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      CHECK(contains(text, "from "));
      CHECK(contains(text, "in0 is "));
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (!line.starts_with("# ") && !line.starts_with("; ") && !line.starts_with("// ")) all += line + "\n";
        at = end + 1;
      }
    }
    return all;
  };
  const std::string one = strings(formula(x, first));
  const bool same = one == strings(formula(named, second));
  CHECK(same);
  const bool named_there = contains(one, "one.cpp") || contains(one, "weights");
  CHECK(!named_there);
}

TEST_CASE("threads that record at different lines get explanations with their own lines") {
  const Tensor x = numbers({64, 33}, 4);
  sn::eval(formula(x, {"warm.cpp", 1}));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  static const char* const files[] = {"a.cpp", "b.cpp", "c.cpp", "d.cpp"};
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned k = 1; k < 60; ++k) {
        Tensor y = formula(x, {files[t], k});
        sn::eval(y);
        wrong += !contains(sn::explain(y), std::string("from ") + files[t] + ":" + std::to_string(k) + "\n");
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("inputs are shown with their names, or with the line that recorded them") {
  const Tensor x = sn::placeholder({40, 50}, DType::float32), y = sn::placeholder({50}, DType::float32);
  const int line = __LINE__ - 1;
  sn::set_name(x, "images");
  const std::string text = sn::explain(exp(x) + y);
  CHECK(contains(text, "images float32 (40, 50)"));
  CHECK(contains(text, "placeholder at " + here(line) + ": float32 (50,)"));
  sn::set_name(x, "pictures");
  CHECK(contains(sn::explain(exp(x) + y), "pictures float32 (40, 50)"));
  CHECK_THROWS_AS(sn::set_name(Tensor(), "none"), sn::ValueError);

  const Function f = sn::freeze([](const Tensor& q, const Tensor& k) { return softmax(sn::matmul(q, k.T()), -1); },
                                {{DType::float32, {"batch", 64}, "queries"}, {DType::float32, {24, 64}, "keys"}});
  f({numbers({9, 64}, 5), numbers({24, 64}, 6)});
  const std::string frozen = f.explain();
  CHECK(contains(frozen, "queries float32 (batch, 64)"));
  CHECK(contains(frozen, "keys float32 (24, 64)"));
  CHECK(contains(frozen, "from test_explain.cpp:"));
  const TemporaryFolder made;
  const fs::path folder = made.path;
  f.save((folder / "f.plan").string());
  const Function loaded = Function::load((folder / "f.plan").string());
  loaded({numbers({9, 64}, 5), numbers({24, 64}, 6)});
  CHECK(contains(loaded.explain(), "queries float32 ("));
  CHECK(!contains(loaded.explain(), "test_explain.cpp"));
  CHECK(json::parse(loaded.explain({.format = Format::json})).at("kernels").size() > 0);
}

TEST_CASE("the sizes that a plan serves are reported correctly") {
  if (!sn::options().fuse) return;
  const Tensor x = sn::placeholder({100, 300}, DType::float32);
  const json sizes = explained({softmax(x, -1)}).at("plans")[0].at("sizes");
  REQUIRE(sizes.size() == 2);
  CHECK(sizes[0].at("value") == 100);
  // Inside the range the plan is found again; just outside it another plan is made.
  const auto made = [](std::int64_t rows, std::int64_t columns) {
    const auto before = sn::counters().plans_made;
    (void)sn::explain(softmax(sn::placeholder({rows, columns}, DType::float32), -1));
    return sn::counters().plans_made - before;
  };
  const std::int64_t low = sizes[0].at("low"), high = sizes[0].at("high");
  CHECK(low <= 100);
  CHECK(high >= 100);
  for (const std::int64_t rows : {low, high, (low + high) / 2})
    if (rows != 300) CHECK(made(rows, 300) == 0);
  CHECK(made(high + 1, 300) == 1);
  if (low > 2) CHECK(made(low - 1, 300) == 1);
  const std::string report = sn::explain({softmax(x, -1)}, {.guards = true, .sizes = {{"batch", 100}}});
  CHECK(contains(report, "planned for batch = 100, valid for "));
  CHECK(contains(report, "guards  batch = 100, n1 = 300: "));
  CHECK(!contains(sn::explain(softmax(x, -1)), "guards"));
}

TEST_CASE("a plan that serves other sizes is described at the sizes of each evaluation") {
  if (!sn::options().fuse) return;
  const Tensor w = sn::placeholder({300, 200}, DType::float32);
  const std::vector<std::function<Tensor(const Tensor&)>> formulas{
      [](const Tensor& x) { return softmax(x, -1); },
      [](const Tensor& x) { return x * 2.f + sn::mean(x, 0); },
      [](const Tensor& x) { return sn::concatenate({exp(x), sn::tanh(x)}, 1); },
      [](const Tensor& x) { return sn::sum(sn::transpose(x)(sn::Slice{0, 7}), -1); },
      [&](const Tensor& x) { return sn::relu(sn::matmul(x, w)); },
  };
  for (std::size_t f = 0; f < formulas.size(); ++f) {
    CAPTURE(f);
    const auto at = [&](std::int64_t rows) { return explained({formulas[f](sn::placeholder({rows, 300}, DType::float32))}); };
    const json made = at(100);
    const std::int64_t low = made.at("plans")[0].at("sizes")[0].at("low"), high = made.at("plans")[0].at("sizes")[0].at("high");
    for (const bool which : {false, true}) {
      const std::int64_t rows = which ? high : (low + 100) / 2;
      if (rows == 300 || rows == 200) continue;
      CAPTURE(rows);
      const auto before = sn::counters().plans_made;
      const json reused = at(rows);
      REQUIRE(sn::counters().plans_made == before);
      // Plans with other settings are separate, so this setting, which has no other effect here, makes sure that a plan is made for these sizes.
      const sn::Options usual = sn::options();
      sn::Options other = usual;
      other.tuned = which;
      other.fast_math = true;
      sn::configure(other);
      const json fresh = at(rows);
      sn::configure(usual);
      REQUIRE(sn::counters().plans_made == before + 1);
      CHECK(reused.at("bytes_moved") == fresh.at("bytes_moved"));
      CHECK(reused.at("bytes_unfused") == fresh.at("bytes_unfused"));
      for (const char* list : {"kernels", "library_calls"})
        for (std::size_t k = 0; k < fresh.at(list).size(); ++k)
          for (const char* field : {"inputs", "outputs", "bytes_moved", "bytes_unfused"}) CHECK(reused.at(list)[k].at(field) == fresh.at(list)[k].at(field));
      CHECK(reused.at("plans")[0].at("nodes") == fresh.at("plans")[0].at("nodes"));
      // The axis is found, and the user's name is given, by the sizes of this evaluation.
      const std::string report = sn::explain({formulas[f](sn::placeholder({rows, 300}, DType::float32))}, {.sizes = {{"batch", rows}}});
      CHECK(contains(report, "planned for batch = 100, valid for "));
      CHECK(contains(report, "shown for " + std::to_string(rows) + " instead of 100\n"));
      CHECK(report.find("batch", report.find("   moves   ")) != std::string::npos);
    }
  }
}

TEST_CASE("explain_boundary says why two values are in one kernel or in two") {
  const Tensor x = sn::placeholder({500, 640}, DType::float32), w = sn::placeholder({640, 90}, DType::float32);
  sn::set_name(x, "x");
  const Tensor h = exp(x), z = h * 2.f, product = sn::matmul(z, w), y = softmax(product, -1);
  if (sn::options().fuse) CHECK(contains(sn::explain_boundary(h, z), "are computed by one step, step 1"));
  const std::string library = sn::explain_boundary(z, y);
  CHECK(contains(library, "is computed by step"));
  CHECK(contains(library, "library"));
  CHECK(contains(library, "   change  "));
  CHECK(contains(sn::explain_boundary(x, h), "x float32 (500, 640)"));
  CHECK(contains(sn::explain_boundary(x, h), "is an input"));
  const json report = json::parse(sn::explain_boundary(z, y, {}, {.format = Format::json}));
  CHECK(report.at("schema") == 1);
  CHECK(report.at("together") == false);
  CHECK(report.at("reasons").size() >= 1);

  // Two reductions along different axes of one input read the same and run over other points.
  const Tensor rows = sum(x, 1), columns = sum(x, 0);
  const std::string apart = sn::explain_boundary(rows, columns);
  CHECK(contains(apart, "siblings"));
  if (sn::options().fuse) CHECK(contains(apart, "were tried as one kernel and refused: "));

  // Chunks of a long sum are added first.
  const Tensor numbers_of_row = sn::placeholder({3000000}, DType::float32);
  CHECK(contains(sn::explain_boundary(sn::sort(numbers_of_row), sum(numbers_of_row)), "is computed by steps 2, 3"));

  Tensor done = sqrt(x - x);
  const Tensor data = numbers({20}, 7), first = exp(data);
  sn::eval(first);
  CHECK_THROWS_WITH_AS(sn::explain_boundary(first, first + 1.f), doctest::Contains("evaluated already"), sn::ValueError);
  CHECK_THROWS_AS(sn::explain_boundary(Tensor(), first), sn::ValueError);
}

TEST_CASE("the JSON is consistent: every number refers to an object in it, for any recording") {
  std::mt19937 rng(fresh_seed());
  int looked_at = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<Tensor> values{numbers({24, 32}, 8), numbers({24, 32}, 9)};
    for (int k = 0; k < 12; ++k) {
      const auto any = [&] { return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(rng)]; };
      switch (std::uniform_int_distribution<int>(0, 5)(rng)) {
        case 0: values.push_back(any() * any()); break;
        case 1: values.push_back(exp(-abs(any()))); break;
        case 2: values.push_back(any() - mean(any(), -1, true)); break;
        case 3: values.push_back(any() + sum(any(), 0)); break;
        case 4: values.push_back(flip(any(), 1)); break;
        default: values.push_back(sn::matmul(any(), sn::matmul(any().T(), any()) * 0.01f)); break;
      }
    }
    const json plan = explained({values.back(), values[5]});
    CHECK(plan.at("schema") == 1);
    if (plan.at("plans").size() != 1) continue;  // loop detection evaluated the first iterations
    ++looked_at;
    const json& one = plan.at("plans")[0];
    const auto nodes = one.at("nodes").size(), steps = plan.at("kernels").size() + plan.at("library_calls").size(), held = one.at("values").size();
    std::set<std::size_t> numbered, computed;
    for (const char* kind : {"kernels", "library_calls"})
      for (const json& step : plan.at(kind)) {
        numbered.insert(step.at("step").get<std::size_t>());
        CHECK(step.at("lines").size() > 0);
        CHECK(!step.at("boundary").at("remedy").get<std::string>().empty());
        CHECK(step.at("computes").size() > 0);
        for (const std::size_t node : step.at("computes")) {
          CHECK(node < nodes);
          computed.insert(node);
        }
        for (const char* list : {"inputs", "outputs"})
          for (const json& value : step.at(list)) CHECK(value.at("value").get<std::size_t>() < held);
      }
    CHECK(numbered.size() == steps);
    for (std::size_t id = 0; id < nodes; ++id) {
      const json& node = one.at("nodes")[id];
      for (const std::size_t input : node.at("inputs")) CHECK(input < id);
      CHECK(node.at("file").get<std::string>().ends_with("test_explain.cpp"));
      const auto op = node.at("op").get<std::string>();
      if (op == "multiply" || op == "exp" || op == "reduce_sum" || op == "matmul") CHECK_MESSAGE(computed.contains(id), op);
    }
    for (const json& value : one.at("values")) CHECK(value.at("first").get<int>() <= value.at("last").get<int>());
    for (const json& refused : one.at("refused")) CHECK(refused.at("steps")[0].get<std::size_t>() < refused.at("steps")[1].get<std::size_t>());
  }
  CHECK(looked_at > 4);
}

TEST_CASE("materialize ends a kernel for any value and changes no element") {
  const Tensor x = numbers({40, 70}, 1), w = numbers({70, 30}, 2);
  const auto same = [](const Tensor& a, const Tensor& b) { return all(equal(a, b)).item<bool>(); };
  const std::vector<std::pair<const char*, std::function<Tensor()>>> values = {
      {"pointwise", [&] { return exp(x) * 2.f; }},
      {"a view", [&] { return (x * 2.f).T(); }},
      {"a slice", [&] { return (x + 1.f)(Slice{3, 30, 2}); }},
      {"a reduction", [&] { return sum(x, 1, true); }},
      {"of no element", [&] { return x(Slice{0, 0}) * 2.f; }},
      {"an epilogue", [&] { return gelu(matmul(x, w)); }},
  };
  for (const auto& [name, value] : values) {
    CAPTURE(name);
    CHECK(same(sn::materialize(value()) + 1.f, value() + 1.f));
    if (!sn::options().fuse || value().size() == 0) continue;
    const std::size_t before = explained({sqrt(value() + 1.f)}).at("kernels").size();
    const Tensor kept = sn::materialize(value());
    const Tensor y = sqrt(kept + 1.f);
    const json plan = explained({y});
    CHECK(plan.at("kernels").size() == before + 1);
    CHECK(contains(sn::explain_boundary(kept, y), "contiguous copy: contiguous() or materialize() asked for it in memory"));
  }
  CHECK(same(sn::materialize(x), x));
  CHECK(same(sn::materialize(sn::materialize(x * 2.f)), x * 2.f));
  CHECK(sn::materialize(3.f).item<float>() == 3.f);
}

TEST_CASE("fused() computes with one kernel, or throws the reason before anything runs") {
  const Tensor x = numbers({512, 768}, 1), w = numbers({768, 64}, 2);
  const Counters before = sn::counters();
  const Tensor y = sn::fused([&] { return softmax(x * 2.f, -1); });
  if (sn::options().fuse) CHECK(sn::counters().kernels_launched == before.kernels_launched + 1);
  CHECK(all(equal(y, softmax(x * 2.f, -1))).item<bool>());

  // Tests several results, a product with its epilogue, and an evaluated tensor.
  CHECK(sn::fused([&] { return std::vector<Tensor>{exp(x), exp(x) + 1.f}; }).size() == 2);
  CHECK(sn::fused([&] { return gelu(matmul(x, w)); }).shape() == Shape{512, 64});
  CHECK(sn::fused([&] { return x; }).shape() == x.shape());
  CHECK(sn::fused([&] { return std::vector<Tensor>{}; }).empty());
  CHECK_THROWS_AS(sn::fused([&] { return Tensor(); }), ValueError);
  if (!sn::options().fuse) {  // without fusion, fused() does not check the number of kernels
    CHECK(sn::fused([&] { return materialize(exp(x)) + 1.f; }).shape() == x.shape());
    return;
  }

  const std::vector<std::pair<const char*, std::function<Tensor()>>> several = {
      {"contiguous copy", [&] { return sn::materialize(exp(x)) + 1.f; }},
      {"different points", [&] { return sum(x, 0) + sum(sum(x, 1)); }},
      {"library call", [&] { return sum(matmul(x, w), 0); }},
  };
  for (const auto& [reason, formula] : several) {
    const auto launched = sn::counters().kernels_launched;
    std::string message;
    const int line = __LINE__ + 2;
    try {
      sn::fused(formula);
    } catch (const FusionError& error) {
      message = error.what();
    }
    CHECK_MESSAGE(contains(message, "fused: the formula is not one kernel at"), message);
    CHECK_MESSAGE(contains(message, here(line)), message);
    CHECK_MESSAGE(contains(message, reason), message);
    CHECK_MESSAGE(contains(message, "step 2, "), message);
    CHECK(sn::counters().kernels_launched == launched);  // nothing ran
    CHECK(formula().shape().size() < 3);                 // the value can still be computed without fused()
    sn::eval(formula());
  }
}

TEST_CASE("each step says why it is apart from its neighbours, in the text as in the JSON, and explain_boundary gives it the same number") {
  std::mt19937 rng(fresh_seed());
  for (const char* target : {"", "sm_90", "sm_80"})
    for (int round = 0; round < 3; ++round) {
      CAPTURE(std::string(target));
      const std::vector<Tensor> values = random_program(rng, 12);
      const std::vector<Tensor> wanted{values.back(), values[6], values[9], values[11]};
      const json plan = explained(wanted, target);
      const std::vector<json> steps = steps_of(plan);
      const std::string text = sn::explain(wanted, {.target = target});
      CAPTURE(text);
      const std::vector<std::string> parts = parts_of(text, steps.size());
      const auto values_of = [&](std::size_t s, const char* list) {
        std::set<int> all;
        for (const json& value : steps[s].at(list)) all.insert(value.at("value").get<int>());
        return all;
      };
      const auto share = [](const std::set<int>& a, const std::set<int>& b) {
        return std::any_of(a.begin(), a.end(), [&](int value) { return b.contains(value); });
      };
      const auto is_call = [&](std::size_t s) { return steps[s].contains("library") || steps[s].contains("epilogue"); };
      const auto is_epilogue = [&](std::size_t s, std::size_t t) { return steps[s].value("epilogue", json()) == json(t); };
      std::set<std::string> named;  // the first step that stores a part of a value has its number
      for (std::size_t s = 0; s < steps.size(); ++s) {
        CAPTURE(s);
        const json& boundary = steps[s].at("boundary");
        std::set<std::size_t> told;
        std::set<std::string> reasons;
        for (const json& apart : steps[s].at("apart_from")) {
          const auto t = apart.at("step").get<std::size_t>();
          REQUIRE(t < steps.size());
          CHECK(t != s);
          CHECK(told.insert(t).second);
          CHECK((share(values_of(s, "outputs"), values_of(t, "inputs")) || share(values_of(t, "outputs"), values_of(s, "inputs")) ||
                 share(values_of(s, "inputs"), values_of(t, "inputs"))));
          CHECK(!apart.at("remedy").get<std::string>().empty());
          const std::string reason = apart.at("reason"), detail = apart.at("detail");
          std::string why = detail.empty() ? reason : reason + ": " + detail;
          const auto is_split_reason_of = [&](std::size_t k) {
            return steps[k].at("boundary").at("reason") == reason && steps[k].at("boundary").at("detail") == detail;
          };
          if (is_split_reason_of(s)) why = "the same reason";
          else if (is_split_reason_of(t)) why = reason + ", its split reason";
          if (reasons.insert(why).second && reasons.size() <= 3) CHECK_MESSAGE(contains(parts[s], ": " + why + "\n"), why);
        }
        CHECK((is_call(s) ? told.empty() : true));
        CHECK(contains(parts[s], "   apart   from ") == !told.empty());
        if (!sn::options().fuse) CHECK(told.empty());  // the split reason says it
        const json& operations = steps[s].at("operations");
        CHECK(contains(parts[s], "   work    ") == (!operations.is_null() && operations >= 1));
        for (const json& value : steps[s].at("outputs"))
          if (const std::string name = value.value("name", ""); name.starts_with("v") && named.insert(name).second) {
            const Tensor& a = values[std::stoul(name.substr(1)) - 1];
            const json report = json::parse(sn::explain_boundary(a, values.back(), wanted, {.format = Format::json, .target = target}));
            CHECK(report.at("steps")[0] == s);
            CHECK(contains(sn::explain_boundary(a, values.back(), wanted, {.target = target}), "step " + std::to_string(s + 1)));
          }
        if (!sn::options().fuse) continue;
        for (std::size_t t = 0; t < steps.size(); ++t) {
          const bool reads = share(values_of(t, "outputs"), values_of(s, "inputs")), read = share(values_of(s, "outputs"), values_of(t, "inputs"));
          if (is_call(s) || is_epilogue(t, s) || (!reads && !read)) continue;
          CHECK((told.contains(t) || (read && boundary.at("reason") != "output wanted")));
        }
        // The step that read the same value last is a neighbour, too.
        for (const int value : values_of(s, "inputs"))
          for (std::size_t t = s; t-- > 0;)
            if (values_of(t, "inputs").contains(value)) {
              CHECK((is_call(s) || is_epilogue(t, s) || told.contains(t)));
              break;
            }
      }
    }
}

TEST_CASE("an operation that kernels compute in parts counts as one that reads its operands once and writes its result once") {
  if (!sn::options().fuse) return;
  std::mt19937 rng(fresh_seed());
  const auto size = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng); };
  const auto holder = [](const Shape& shape, DType dtype = DType::float32) { return sn::placeholder(shape, dtype); };
  for (int round = 0; round < 2; ++round) {
    const std::int64_t b = size(2, 5), m = size(2, 90), k = size(2, 90), n = size(2, 90), groups = size(1, 3), side = size(7, 20), taps = size(1, 5);
    const Tensor left = holder({b, m, k}), right = holder({b, k, n}), same = holder({k, k}), image = holder({b, 4 * groups, side, side}, DType::float64),
                 filters = holder({2 * groups, 4, taps, taps}, DType::float64), rows = holder({m, n}), longest = holder({2, 400000});
    const std::vector<std::pair<const char*, std::pair<Tensor, std::vector<Tensor>>>> operations = {
        {"product", {sn::matmul(left, right), {left, right}}},
        {"product of a matrix with itself", {sn::matmul(same, same.T()), {same}}},
        {"convolution", {sn::conv2d(image, filters, {}, {.groups = groups}), {image, filters}}},
        {"sort", {sn::sort(rows, 1), {rows}}},
        {"argsort", {sn::argsort(rows, 1), {rows}}},
        {"long sum", {sum(longest, 1), {longest}}},
        {"long scan", {cumsum(longest, 1), {longest}}},
    };
    for (const auto& [name, formula] : operations)
      for (const char* target : {"", "sm_90", "sm_80", "opencl"}) {
        const auto& [result, operands] = formula;
        const auto bytes = [](const Tensor& x) { return static_cast<double>(x.size()) * static_cast<double>(itemsize(x.dtype())); };
        double all = bytes(result);
        for (const Tensor& operand : operands) all += bytes(operand);
        const json plan = explained({result}, target);
        CAPTURE(name);
        CAPTURE(target);
        CAPTURE(plan.dump(1));
        CHECK(plan.at("bytes_unfused") == all);
      }
    // What a scatter compares is recorded as further operations.
    const Tensor places = holder({k}, DType::int64);
    const std::vector<Tensor> scatters{sn::add_at(rows, places % m, holder({k, n})), sn::put_along_axis(rows, holder({m, 3}, DType::int64), holder({m, 3}), 1),
                                       sn::logsumexp(longest, 1), sn::matmul(astype(holder({m, k}, DType::bfloat16), DType::float32), holder({k, n}))};
    for (const Tensor& scatter : scatters) {
      const double bytes = explained({scatter}).at("bytes_unfused");
      for (const char* target : {"sm_90", "sm_80", "opencl"}) CHECK(explained({scatter}, target).at("bytes_unfused") == bytes);
    }
  }
}
