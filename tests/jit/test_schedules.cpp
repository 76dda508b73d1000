// Schedules: every schedule of a kernel gives its result, and on a CPU the same bits. The formulas run with the chosen schedule and then with each candidate,
// on the executor that the environment names. The reference is the interpreter with one kernel per op.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <regex>
#include <set>

#include "engine/engine.hpp"
#include "jit/lower.hpp"
#include "program.hpp"

namespace jit = sinter::jit;
using namespace sinter::testing;

namespace {

Tensor evaluated(Tensor x) {
  sn::eval(x);
  return x;
}

struct Formula {
  const char* name;
  Shape shape;
  std::function<std::vector<Tensor>(const Tensor& x)> of;  // x: float32
};

std::vector<Formula> formulas() {
  const auto one = [](auto f) { return [f](const Tensor& x) { return std::vector<Tensor>{f(x)}; }; };
  const auto bytes = [](const Tensor& x) { return sn::astype(sn::round(x * 25.f), DType::int8); };
  const auto row = [](const Tensor& x) { return sn::arange(0, x.shape().back(), 1, DType::float32) * 0.01f; };
  return {
      {"pointwise", {37, 53}, one([](const Tensor& x) { return sn::exp(x) * 2.f + x; })},
      {"pointwise, whole vectors", {64, 128}, one([](const Tensor& x) { return sn::tanh(x) - x * x; })},
      {"bytes",
       {48, 64},
       [=](const Tensor& x) {
         const Tensor b = evaluated(bytes(x));
         return std::vector<Tensor>{sn::where(b > 3, b, -b)};
       }},
      {"halves",
       {40, 72},
       [](const Tensor& x) {
         const Tensor h = evaluated(sn::astype(x, DType::float16));
         return std::vector<Tensor>{sn::abs(h) + h * h};
       }},
      {"transposed", {41, 96}, one([](const Tensor& x) { return x.T() * 2.f + 1.f; })},
      {"permuted", {5, 24, 32}, one([=](const Tensor& x) { return sn::permute(x, {2, 0, 1}) + 1.f; })},
      {"broadcast", {33, 64}, one([=](const Tensor& x) { return sn::maximum(x * row(x), 0.f); })},
      {"rows", {29, 117}, one([](const Tensor& x) { return sn::sum(x * x, -1); })},
      {"long rows", {2, 9004}, one([](const Tensor& x) { return sn::sum(sn::exp(x), -1); })},
      {"columns", {117, 64}, one([](const Tensor& x) { return sn::sum(x * x, 0); })},
      {"several columns", {65, 36}, [](const Tensor& x) { return std::vector<Tensor>{sn::sum(x, 0), sn::max(x, 0), x - sn::mean(x, 0)}; }},
      {"integer rows",
       {31, 84},
       [=](const Tensor& x) {
         const Tensor b = evaluated(bytes(x));
         return std::vector<Tensor>{sn::max(b, 1), sn::sum(b, 0)};
       }},
      {"softmax", {21, 132}, one([](const Tensor& x) { return sn::softmax(x, -1); })},
      {"softmax of columns", {90, 40}, one([](const Tensor& x) { return sn::softmax(x, 0); })},
      {"normalised long columns",
       {70, 1100},
       [](const Tensor& x) {
         const Tensor middle = sn::mean(x, 0), y = (x - middle) / sn::sqrt(sn::var(x, 0) + 1e-5f);
         return std::vector<Tensor>{y, sn::where(middle > 0.f, sn::max(y, 0), middle), sn::max(x, 0)};
       }},
      {"places in columns", {130, 75}, [](const Tensor& x) { return std::vector<Tensor>{sn::argmax(x, 0), x / sn::sum(sn::absolute(x), 0)}; }},
      {"variance of many rows", {4200, 19}, one([](const Tensor& x) { return sn::var(x, 0); })},
      {"layer norm", {19, 256}, one([=](const Tensor& x) { return sn::layer_norm(x, row(x), row(x) + 1.f); })},
      {"scan of rows", {12, 301}, one([](const Tensor& x) { return sn::cumsum(x * 2.f, 1) + 1.f; })},
      {"scan of columns", {50, 33}, one([](const Tensor& x) { return sn::cumsum(x, 0); })},
      {"gather", {60, 44}, one([](const Tensor& x) { return sn::take(x, sn::arange(0, 30, 1, DType::int64) * 2, 0) * 3.f; })},
      {"row and points",
       {27, 64},
       [](const Tensor& x) {
         const Tensor y = sn::exp(x);
         return std::vector<Tensor>{y, y / sn::sum(y, -1, true), sn::sum(y, -1)};
       }},
  };
}

std::vector<std::vector<double>> numbers(const std::vector<Tensor>& results) {
  std::vector<std::vector<double>> all;
  for (const Tensor& y : results) all.push_back(sn::astype(y, DType::float64).to_vector<double>());
  return all;
}

void use(const sn::Options& options, const std::string& schedule) {
  sn::Options with = options;
  with.schedule = schedule;
  sn::configure(with);
}

}  // namespace

TEST_CASE("every candidate schedule gives the same result, and on a CPU the same bits") {
  const sn::Options options = sn::options();
  sn::Options plain = options;
  plain.device = "cpu";
  plain.backend = "interpreter";
  plain.fuse = false;
  std::size_t tried = 0;
  std::set<std::string> schedules;
  const std::vector<Formula> chosen = shuffled(formulas());
  std::size_t formulas_tried = 0;
  for (const Formula& formula : chosen) {
    if (formulas_tried > 0 && time_is_over()) break;
    ++formulas_tried;
    CAPTURE(std::string(formula.name));
    std::vector<float> data(static_cast<std::size_t>(sn::element_count(formula.shape)));
    std::normal_distribution<float> normal;
    for (float& value : data) value = normal(numbers());
    const auto results = [&] {
      auto all = formula.of(sn::reshape(sn::from_span(data), formula.shape));
      sn::eval(all);
      return all;
    };
    sn::configure(plain);
    const auto want = numbers(results());
    use(options, "");
    const auto unasked = numbers(results());

    // The schedule overrides of all kernels of the plan.
    auto recorded = formula.of(sn::reshape(sn::from_span(data), formula.shape));
    std::vector<sn::trace::RecordedPtr> nodes;
    for (const Tensor& y : recorded) nodes.push_back(y.node());
    auto& engine = sn::engine::Engine::get();
    const auto at = engine.frozen_target();
    const auto scheduled = sn::engine::schedule_and_make(sn::trace::linearize(nodes).graph, at.target, at.how, engine.kernels());
    std::set<std::string> all;
    for (const auto& step : scheduled.plan.steps) {
      if (step.kind != sn::fuse::Step::Kind::kernel) continue;
      for (const auto& candidate : jit::candidates(scheduled.plan.graph, step.kernel, at.target.limits)) {
        all.insert(candidate.overrides.text());
        schedules.insert(jit::to_string(candidate.lowered.nest.schedule, at.target.limits.backend));
      }
    }
    CHECK(all.size() > 1);
    for (const std::string& overrides : all) {
      CAPTURE(overrides);
      use(options, overrides);
      const auto got = numbers(results());
      ++tried;
      REQUIRE(got.size() == want.size());
      for (std::size_t k = 0; k < got.size(); ++k) {
        REQUIRE(got[k].size() == want[k].size());
        if (!on_gpu()) CHECK(std::memcmp(got[k].data(), unasked[k].data(), got[k].size() * sizeof(double)) == 0);
        double largest = 1;
        for (const double w : want[k]) largest = std::max(largest, std::abs(w));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got[k].size(); ++i) wrong += !(std::abs(got[k][i] - want[k][i]) <= 1e-5 * largest);
        CHECK(wrong == 0);
      }
    }
  }
  sn::configure(options);
  MESSAGE(tried << " runs of " << schedules.size() << " schedules");
  CHECK(schedules.size() > formulas_tried);
  if (formulas_tried == chosen.size()) CHECK(schedules.size() > 20);
}

TEST_CASE("explain shows the schedule, and that an override asked for it") {
  const sn::Options options = sn::options();
  const auto text = [&](const std::string& overrides) {
    use(options, overrides);
    const Tensor x = sn::zeros({64, 64});
    std::string said = sn::explain(sn::exp(x + sn::arange(0, 64, 1, DType::float32)));
    sn::configure(options);
    return said;
  };
  const std::string overrides = on_gpu() ? "threads=128" : "unroll=8";
  CHECK(text("").find("   runs    pointwise, ") != std::string::npos);
  CHECK(text("").find("(as asked)") == std::string::npos);
  CHECK(text(overrides).find(overrides) != std::string::npos);
  CHECK(text(overrides).find("(as asked)") != std::string::npos);
  CHECK(text("panel_rows=2").find("(as asked)") == std::string::npos);  // a pointwise kernel ignores this field
}

TEST_CASE("a schedule override is read, written and refused") {
  CHECK(jit::ScheduleOverride::parse("form=columns, threads=128,axes=1.0").text() == "form=columns,threads=128,axes=1.0");
  CHECK(jit::ScheduleOverride::parse(" ").empty());
  CHECK(jit::ScheduleOverride::parse("vector=4,threads=64").with(jit::ScheduleOverride::parse("vector=2")).text() == "threads=64,vector=2");
  for (const char* bad : {"vectors=4", "vector", "vector=", "vector=x", "vector=-1", "form=round", "axes=1,0", "axes=1..0", "vector=4,", "unroll=999999",
                          "vector=0", "threads=16", "keep=2"}) {
    CAPTURE(std::string(bad));
    CHECK_THROWS_AS(jit::ScheduleOverride::parse(bad), sn::ValueError);
    sn::Options options = sn::options();
    options.schedule = bad;
    CHECK_THROWS_AS(sn::configure(options), sn::ValueError);
  }
}

TEST_CASE("every field has limits, which overrides and plans keep, and a row in the documents") {
  std::ifstream in(SINTER_SCHEDULES_MD);
  const std::string document{std::istreambuf_iterator<char>(in), {}};
  for (const jit::Field& field : jit::fields()) {
    CAPTURE(std::string(field.name));
    CHECK(std::regex_search(document, std::regex(fmt::format("\\n\\| ([a-z_]+, )?{}(, [a-z_]+)? \\| ", field.name))));
    const auto refuses = [&](std::int64_t value) {
      try {
        return jit::ScheduleOverride::parse(fmt::format("{}={}", field.name, value)).empty();
      } catch (const sn::ValueError&) {
        return true;
      }
    };
    CHECK(refuses(field.min) != field.is(jit::Field::asked));
    CHECK(refuses(field.max) != field.is(jit::Field::asked));
    CHECK(refuses(field.min - 1));
    CHECK(refuses(std::int64_t{field.max} + 1));
    for (const int tried : field.tried) CHECK(!refuses(tried));
  }
  for (const bool of_rows : {false, true}) {
    const auto refused = [&](auto change) {
      jit::LoopNest nest;
      nest.parallel = 2;
      nest.rows = of_rows;
      nest.ints = {8, 8, 8};
      if (of_rows) nest.schedule.form = jit::ColumnsForm();
      change(nest.schedule);
      try {
        jit::verify(nest);
      } catch (const sn::InternalError&) {
        return true;
      }
      return false;
    };
    CHECK(!refused([](jit::Schedule&) {}));
    CHECK(refused([](jit::Schedule& s) { s.vector = 3; }));
    CHECK(refused([](jit::Schedule& s) { s.threads = 33; }));
    CHECK(refused([](jit::Schedule& s) { s.axes = {0, -1}; }));
    CHECK(refused([](jit::Schedule& s) { s.pieces = 0; }));
    CHECK(refused([](jit::Schedule& s) { s.form = jit::PanelsForm{.panel = 1 << 20}; }));
    CHECK(refused([](jit::Schedule& s) { s.form = jit::RowsForm{.cluster = 3, .steps = {}}; }));
    CHECK(refused([](jit::Schedule& s) { s.form = jit::RowsForm{.steps = {33, false}}; }));
    CHECK(refused([](jit::Schedule& s) { s.form = jit::ColumnsForm{.steps = {0, true}}; }));
    CHECK(refused([](jit::Schedule& s) { s.form = jit::ContractionForm{.left = 0, .right = 2}; }));
    CHECK(refused([](jit::Schedule& s) { s.form = jit::PointwiseForm{.tail = true}; }));
    CHECK(refused([](jit::Schedule& s) { s.form = jit::TilesForm{.tile = 0}; }));
    CHECK(refused([](jit::Schedule& s) { s.form = jit::TilesForm(); }) == of_rows);
  }
}

TEST_CASE("vectors are as wide as a thread reads at once") {
  const auto limits = sn::fuse::cuda_limits(90);
  const auto vector_of = [&](DType dtype, const Shape& shape) {
    const Tensor y = sn::abs(sn::placeholder(shape, dtype));
    const auto planned = sn::engine::Engine::get().histories_of({y.node()}, "sm_90").front().planned;
    REQUIRE(planned);
    return planned->steps[0].nest.schedule.vector;
  };
  CHECK(vector_of(DType::int8, {4096, 64}) == 16);
  CHECK(vector_of(DType::float16, {4096, 64}) == 8);
  CHECK(vector_of(DType::float32, {4096, 64}) == 4);
  CHECK(vector_of(DType::float64, {4096, 64}) == 2);
  // The points along one axis may end within a vector. Rows that start at unaligned addresses are computed element by element.
  CHECK(vector_of(DType::int8, {3, 4, 5}) == 16);
  CHECK(vector_of(DType::float16, {3, 5}) == 8);
}
