// Frozen functions: the results of a call agree with float64 loops and with the recorded formula. Named sizes, work that is done once, memory and threads are
// tested, too.
#include <doctest/doctest.h>

#include <barrier>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "draws.hpp"
#include "program.hpp"
#include "sinter/freeze.hpp"
#include "sinter/profile.hpp"

using namespace sinter;
using testing::random_tensor;

namespace {

void check_near(const Tensor& got, const Tensor& want, double tolerance = 1e-5) {
  REQUIRE(got.shape() == want.shape());
  REQUIRE(got.dtype() == want.dtype());
  const auto a = got.astype(DType::float64).to_vector<double>(), b = want.astype(DType::float64).to_vector<double>();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::isnan(a[i]) || std::isnan(b[i])) worst = std::max(worst, std::isnan(a[i]) == std::isnan(b[i]) ? 0 : 1e300);  // the mean of no elements
    else worst = std::max(worst, std::fabs(a[i] - b[i]) / (1 + std::fabs(b[i])));
  CHECK(worst <= tolerance);
}

/// Checks that a call of the frozen formula gives the same results as the formula.
void check_same(const Function& frozen, const Function::Formula& formula, const std::vector<Tensor>& inputs) {
  const auto got = frozen(inputs), want = formula(inputs);
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k) check_near(got[k], want[k]);
}

}  // namespace

TEST_CASE("a frozen function records each of many sizes once") {
  int recorded = 0;
  const Function frozen = freeze(
      [&](const std::vector<Tensor>& in) {
        ++recorded;
        return std::vector<Tensor>{concatenate({in[0], in[0] + 1.f}, 0)};
      },
      {{DType::float32, {AxisSize("n", 5)}, "x"}});
  for (const bool again : {false, true}) {
    const int before = recorded;
    for (std::int64_t n = 1; n <= 200; ++n) {
      const Tensor x = full({n}, static_cast<float>(n));
      const std::vector<Tensor> got = frozen({x});
      REQUIRE(got[0].shape() == Shape{2 * n});
      CHECK(got[0](-1).item<float>() == static_cast<float>(n + 1));
    }
    if (again) CHECK(recorded == before);
  }
}

TEST_CASE("a frozen formula agrees with loops in float64, and a call records, plans and compiles nothing") {
  const std::vector<float> wv = random_tensor({6, 5}).to_vector<float>(), bv = random_tensor({5}).to_vector<float>();
  const Tensor w = from_span(wv, {6, 5}), b = from_span(bv);
  const Function f = freeze([=](const Tensor& x) { return softmax(tanh(matmul(x, w) + b), -1); }, {{DType::float32, {7, 6}, "x"}});
  CHECK(f.plans() == 1);
  CHECK(to_string(f.inputs()[0]) == "x: float32[7, 6]");
  CHECK(f.outputs() == std::vector<std::string>{"y0"});
  for (int round = 0; round < 3; ++round) {
    const Tensor x = random_tensor({7, 6});
    eval(x);
    const Counters before = counters();
    const Tensor y = f(x)[0];
    const Counters after = counters();
    CHECK(after.plans_made == before.plans_made);
    CHECK(after.guards_checked == before.guards_checked);
    CHECK(after.sources_generated == before.sources_generated);
    const auto xv = x.to_vector<float>(), got = y.to_vector<float>();
    for (std::size_t i = 0; i < 7; ++i) {
      double row[5], sum = 0;
      for (std::size_t j = 0; j < 5; ++j) {
        double dot = bv[j];
        for (std::size_t k = 0; k < 6; ++k) dot += static_cast<double>(xv[i * 6 + k]) * wv[k * 5 + j];
        sum += row[j] = std::exp(std::tanh(dot));
      }
      for (std::size_t j = 0; j < 5; ++j) CHECK(got[i * 5 + j] == doctest::Approx(row[j] / sum).epsilon(1e-5));
    }
  }
}

TEST_CASE("results have separate memory, even if they are inputs, views, constants or the same value twice") {
  const Tensor c = random_tensor({3, 4});
  const auto formula = [&](const std::vector<Tensor>& in) {
    const Tensor y = in[0] + in[1], s = sum(y, 0);
    return std::vector<Tensor>{y, y(Slice{0, 2}), in[0], transpose(y), s, y, exp(c), reshape(y, {12}), full({2}, 3.f), in[1](1)};
  };
  const Function f = freeze(formula, {{DType::float32, {3, 4}}, {DType::float32, {3, 4}}});
  const Tensor a = random_tensor({3, 4}), b = random_tensor({3, 4});
  const auto first = f({a, b});
  std::vector<std::vector<float>> kept;
  for (const Tensor& t : first) kept.push_back(t.to_vector<float>());
  check_same(f, formula, {a, b});
  const auto second = f({random_tensor({3, 4}), random_tensor({3, 4})});
  eval(second);
  for (std::size_t k = 0; k < first.size(); ++k) CHECK(first[k].to_vector<float>() == kept[k]);
  // A result is an operand like any other, also of the function itself.
  check_near(f({first[0], second[0]})[0], first[0] + second[0]);
}

TEST_CASE("inputs that are parts of an evaluated array") {
  const Function twice = freeze([](const Tensor& x) { return x * 2.f; }, {{DType::float32, {{"n", 7}}}});
  const Function both = freeze([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0], in[0] + in[1]}; },
                               {{DType::float32, {{"n", 7}}}, {DType::float32, {{"n", 7}}}});
  const Tensor whole = random_tensor({4, 6, 5});
  eval(whole);
  const auto below = [](std::int64_t limit) { return static_cast<std::int64_t>(testing::numbers()() % static_cast<std::uint64_t>(limit)); };
  const auto part = [&] {
    Tensor x = whole;
    for (std::int64_t ops = 1 + below(3); ops > 0; --ops) {
      const auto rank = static_cast<std::int64_t>(x.shape().size());
      switch (below(4)) {
        case 0: x = reshape(x, {-1}); break;
        case 1:
          x = permute(x, [&] {
            std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
            for (std::int64_t k = 0; k < rank; ++k) axes[static_cast<std::size_t>((k + 1) % rank)] = k;
            return axes;
          }());
          break;
        default: {  // mostly whole axes and steps of 1, so that elements are often consecutive
          std::vector<Index> indices;
          for (const std::int64_t size : x.shape()) {
            const std::int64_t first = below(3) ? 0 : below(size), last = below(2) ? size : first + 1 + below(size - first);
            if (below(8)) indices.emplace_back(Slice{first, last, 1 + (below(6) == 0)});
            else indices.emplace_back(Slice{last - 1, first == 0 ? std::nullopt : std::optional(first - 1), -1});
          }
          x = x.at(indices);
        }
      }
    }
    return reshape(x, {-1});
  };
  const auto launched = [&](const Tensor& x) {
    const Counters before = counters();
    eval(twice(x));
    return counters().kernels_launched - before.kernels_launched;
  };
  if (!testing::on_gpu()) {
    CHECK(launched(whole(1)(2)) == 1);  // consecutive elements are read where they are
    CHECK(launched(reshape(whole(Slice{1, 3}), {-1})) == 1);
    CHECK(launched(whole(1)(ellipsis, 2)) == 2);
  }
  for (int round = 0; round < 60; ++round) {
    const Tensor x = part(), y = random_tensor({x.size(0)});
    const auto got = twice(x)[0].to_vector<float>();
    const auto results = both({x, y});
    eval(results);
    const auto numbers = x.to_vector<float>(), others = y.to_vector<float>();
    CHECK(results[0].to_vector<float>() == numbers);
    for (std::size_t k = 0; k < numbers.size(); ++k) CHECK((got[k] == numbers[k] * 2 && results[1].to_vector<float>()[k] == numbers[k] + others[k]));
  }
}

TEST_CASE("parts that depend on no input are computed once") {
  const Tensor w = random_tensor({64, 64}), gain = random_tensor({64});
  const auto formula = [=](const std::vector<Tensor>& in) {
    const Tensor weights = softmax(w, -1) * (1.f + gain);  // two kernels at least, if it were computed
    return std::vector<Tensor>{in[0] * weights};
  };
  const Function f = freeze(formula, {{DType::float32, {64, 64}}});
  const Tensor x = random_tensor({64, 64});
  check_same(f, formula, {x});
  const Counters before = counters();
  eval(f({x}));
  CHECK(counters().kernels_launched - before.kernels_launched == 1);
}

TEST_CASE("parts that depend on no input are computed once, even if the formula refuses most sizes") {
  const Tensor w = random_tensor({64, 64}), gain = random_tensor({64});
  const auto formula = [=](const std::vector<Tensor>& in) {
    if (in[0].size(0) != in[1].size(0)) throw ShapeError("both need one size");
    const Tensor weights = softmax(w, -1) * (1.f + gain);
    return std::vector<Tensor>{reshape(in[0], {-1, 1, 64}) * weights, in[1]};  // the second axis has to be 64
  };
  const Function f = freeze(formula, {{DType::float32, {{"n", 5}, {"length", 64}}}, {DType::float32, {{"m", 5}}}});
  for (const std::int64_t n : {5, 3}) {
    const std::vector<Tensor> inputs{random_tensor({n, 64}), random_tensor({n})};
    check_same(f, formula, inputs);
    const Counters before = counters();
    eval(f(inputs));
    CHECK(counters().kernels_launched - before.kernels_launched == 1);
  }
}

TEST_CASE("weights are laid out once, even if larger sizes need another layout") {
  const Tensor w = random_tensor({32, 32, 3, 3});  // from 64 positions on, convolutions with these filters are computed in tiles
  const auto formula = [=](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{conv2d(relu(conv2d(in[0], w, {}, {.padding = 1})), w, {}, {.padding = 1})};
  };
  const Function sized = freeze(formula, {{DType::float32, {1, 32, 7, 7}}});
  const Function named = freeze(formula, {{DType::float32, {1, 32, {"n", 7}, {"n", 7}}}});
  const Tensor x = random_tensor({1, 32, 7, 7});
  const auto launched = [&](const Function& f) {
    check_same(f, formula, {x});
    const Counters before = counters();
    eval(f({x}));
    return counters().kernels_launched - before.kernels_launched;
  };
  CHECK(launched(named) == launched(sized));
}

TEST_CASE("weights in a layout that strides cannot describe are laid out once") {
  const Tensor w = random_tensor({6, 4, 4, 4});  // a transposed convolution of four phases, for which the filters are reordered
  const auto formula = [=](const std::vector<Tensor>& in) { return std::vector<Tensor>{conv_transpose2d(in[0], w, {}, {.stride = 2, .padding = 1})}; };
  const Function f = freeze(formula, {{DType::float32, {2, 6, 5, 7}}});
  const Tensor x = random_tensor({2, 6, 5, 7});
  check_same(f, formula, {x});
  if (testing::on_gpu()) return;  // on a GPU this is no library call
  eval(f({x}));
  const Counters before = counters();
  eval(f({x}));
  const auto frozen = counters().kernels_launched - before.kernels_launched;
  const Counters recorded = counters();
  eval(formula({x}));
  CHECK(frozen < counters().kernels_launched - recorded.kernels_launched);
}

TEST_CASE("explain shows the kernels of a call's results, with the bytes at its sizes") {
  const Tensor w = random_tensor({8});
  const Function f = freeze([=](const std::vector<Tensor>& in) { return std::vector<Tensor>{softmax(in[0] * w, -1)}; }, {{DType::float32, {"n", 8}}});
  for (const std::int64_t n : {40, 7, 40}) {
    const std::string of_results = explain(f({random_tensor({n, 8})})), of_function = f.explain();
    CAPTURE(of_results);
    CHECK(of_results.find("ops ") != std::string::npos);
    CHECK(of_function.find(of_results.substr(0, of_results.find('\n'))) != std::string::npos);  // the kernels, and the bytes at these sizes
  }
}

TEST_CASE("constant parts that depend on a size have the right value for each size") {
  const Tensor table = random_tensor({50, 8});
  const auto formula = [=](const std::vector<Tensor>& in) {
    const std::int64_t n = in[0].size(0);
    const Tensor places = exp(table(Slice{0, n})), wave = sin(arange(n).astype(DType::float32)), fixed = cos(table);
    return std::vector<Tensor>{in[0] * places + reshape(wave, {n, 1}) + fixed(0), in[0].mean({0})};
  };
  const Function f = freeze(formula, {{DType::float32, {"n", 8}}});
  for (const std::int64_t n : {40, 7, 41, 1, 2, 50, 40, 0, 12}) check_same(f, formula, {random_tensor({n, 8})});
}

TEST_CASE("known sizes of named axes only bind numbers, new ones are planned once") {
  const Tensor w = random_tensor({8, 8});
  const auto formula = [=](const std::vector<Tensor>& in) {
    const std::int64_t batch = in[0].size(0), seq = in[0].size(1);
    const Tensor h = matmul(reshape(in[0], {batch * seq, 8}), w);
    const Tensor s = softmax(matmul(in[0], swapaxes(in[0], 1, 2)) + reshape(in[1], {batch, 1, seq}), -1);
    return std::vector<Tensor>{reshape(h, {batch, seq, 8}) + matmul(s, in[0]), flip(in[1], 1)};
  };
  const Function f = freeze(formula, {{DType::float32, {"batch", {"seq", 24}, 8}, "x"}, {DType::float32, {"batch", "seq"}, "mask"}});
  const auto inputs = [&](std::int64_t batch, std::int64_t seq) { return std::vector<Tensor>{random_tensor({batch, seq, 8}), random_tensor({batch, seq})}; };
  for (const auto& [batch, seq] : {std::pair<std::int64_t, std::int64_t>{40, 24}, {3, 24}, {3, 5}, {1, 5}, {5, 1}, {8, 8}, {2, 9}, {0, 4}, {12, 16}, {3, 24}})
    check_same(f, formula, inputs(batch, seq));
  CHECK(f.plans() < 10);  // some of these sizes share one
  const int plans = f.plans();
  const auto made = counters().plans_made;
  for (const auto& [batch, seq] : {std::pair<std::int64_t, std::int64_t>{8, 8}, {0, 4}, {3, 24}, {40, 24}}) eval(f(inputs(batch, seq)));
  CHECK(f.plans() == plans);
  CHECK(counters().plans_made == made);
}

TEST_CASE("inputs that differ from their description are refused") {
  const Function f = freeze([](const Tensor& x, const Tensor& y) { return x + y; }, {{DType::float32, {"n", 3}, "x"}, {DType::float32, {"n", 1}, "y"}});
  const Tensor x = random_tensor({4, 3}), y = random_tensor({4, 1});
  CHECK_NOTHROW(f(x, y));
  CHECK_THROWS_WITH_AS(f({x}), doctest::Contains("1 input is given; the function takes 2"), ValueError);
  CHECK_THROWS_WITH_AS(f(x, random_tensor({5, 1})), doctest::Contains("y: float32[n, 1]"), ShapeError);
  CHECK_THROWS_WITH_AS(f(x, random_tensor({4})), doctest::Contains("test_freeze.cpp"), ShapeError);
  CHECK_THROWS_AS(f(x, random_tensor({4, 2})), ShapeError);
  CHECK_THROWS_WITH_AS(f(x.astype(DType::float64), y), doctest::Contains("float64"), DTypeError);
  CHECK_THROWS_AS(f(x, Tensor()), ValueError);
  CHECK_THROWS_AS(f(x, placeholder({4, 1}, DType::float32)), ValueError);
  CHECK_THROWS_AS(Function()({x}), ValueError);
  CHECK_THROWS_AS(freeze([](const Tensor& t) { return t; }, {}), ValueError);
  CHECK_THROWS_AS(freeze(Function::Formula(), {}), ValueError);
  CHECK_THROWS_WITH_AS(f.prepare({{"m", 3}}), doctest::Contains("'m'"), ValueError);
  const Tensor other = placeholder({3}, DType::float32);
  CHECK_THROWS_AS(freeze([&](const Tensor& t) { return t + other; }, {{DType::float32, {3}}}), ValueError);
}

TEST_CASE("an index out of range is reported with the present size and the line of the gather") {
  const Function f = freeze([](const Tensor& x, const Tensor& i) { return take(x, i, 0) * 2.f; }, {{DType::float32, {"n", 3}}, {DType::int64, {4}}});
  const Tensor good = from_span(std::vector<std::int64_t>{0, 1, -1, 2}), bad = from_span(std::vector<std::int64_t>{0, 1, 9, 2});
  const Tensor x = random_tensor({9, 3});
  check_near(f(x, good)[0], take(x, good, 0) * 2.f);
  CHECK_THROWS_WITH_AS(f(x, bad), doctest::Contains("index 9 is out of bounds for axis 0 with size 9"), IndexError);
  CHECK_NOTHROW(f(random_tensor({10, 3}), bad));
}

TEST_CASE("library calls with epilogues, and calls that fail") {
  const Tensor k = random_tensor({4, 3, 3, 3}), scale = random_tensor({4, 1, 1});
  const auto formula = [=](const std::vector<Tensor>& in) {
    const Tensor y = relu(conv(in[0], k, {}, {.padding = 1}) * scale);
    return std::vector<Tensor>{y + max_pool(y, 3, {.stride = 1, .padding = 1})};
  };
  const Function f = freeze(formula, {{DType::float32, {"n", 3, 9, 10}}});
  for (const std::int64_t n : {2, 40, 1, 3}) check_same(f, formula, {random_tensor({n, 3, 9, 10})});
  const Function solved = freeze([](const Tensor& a, const Tensor& b) { return solve(a, b) + 1.0; }, {{DType::float64, {3, 3}}, {DType::float64, {3, 2}}});
  const Tensor a = random_tensor({3, 3}).astype(DType::float64) + 3.0 * eye(3), b = random_tensor({3, 2}).astype(DType::float64);
  check_near(solved(a, b)[0], solve(a, b) + 1.0, 1e-9);
  CHECK_THROWS_AS(eval(solved(zeros({3, 3}), b)), LinAlgError);
}

TEST_CASE("intermediate values share one block") {
  const auto formula = [](const Tensor& x) {
    Tensor y = x;
    for (int k = 0; k < 6; ++k) y = contiguous(transpose(exp(y) * 0.1f));
    return y;
  };
  const Function f = freeze(formula, {{DType::float32, {64, 64}}});
  const FrozenFigures figures = f.figures().front();
  CHECK(figures.kernels >= 2);
  CHECK(figures.least_bytes <= figures.arena_bytes);
  CHECK(figures.arena_bytes <= figures.apart_bytes);
  CHECK(f.explain().find("live at once") != std::string::npos);
  const Tensor x = random_tensor({64, 64});
  check_near(f(x)[0], formula(x));
}

TEST_CASE("many threads call one function, at known sizes and at new ones") {
  const Tensor w = random_tensor({16, 16});
  const auto formula = [=](const std::vector<Tensor>& in) {
    const Tensor h = tanh(matmul(in[0], w));
    return std::vector<Tensor>{softmax(matmul(h, w), -1), sum(h, 1)};
  };
  const Function f = freeze(formula, {{DType::float32, {"n", 16}}});
  constexpr int kThreads = 4, kRounds = 12;
  struct Case {
    Tensor x;
    std::vector<float> want;
  };
  std::vector<Case> cases;
  for (const std::int64_t n : {1, 3, 40, 41, 64}) {
    const Tensor x = random_tensor({n, 16});
    cases.push_back({x, formula({x})[0].to_vector<float>()});
  }
  std::barrier start(kThreads);
  std::mutex mutex;
  int wrong = 0;
  std::string failure;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        for (int round = 0; round < kRounds; ++round) {
          const Case& one = cases[static_cast<std::size_t>(round * (t + 1)) % cases.size()];
          const auto got = f({one.x})[0].to_vector<float>();
          bool same = got.size() == one.want.size();
          for (std::size_t i = 0; same && i < got.size(); ++i) same = std::fabs(got[i] - one.want[i]) < 1e-5f;
          const std::lock_guard lock(mutex);
          wrong += !same;
        }
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        failure = error.what();
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(failure.empty());
  CHECK(wrong == 0);
}

TEST_CASE("a profile has each step that ran during its lifetime, with its own times") {
  const Tensor w = random_tensor({64, 48});
  const auto formula = [w](const std::vector<Tensor>& in) { return std::vector<Tensor>{softmax(in[0], -1), relu(matmul(in[0], w) + 1.f)}; };
  const Function frozen = freeze(formula, {{DType::float32, {32, 64}}});
  const Tensor x = random_tensor({32, 64});
  frozen({x});
  const auto runs_of = [](const Profile& profile) {
    std::uint64_t runs = 0;
    for (const ProfiledStep& step : profile.steps()) runs += step.runs;
    return runs;
  };
  const Profile outer;
  {
    const Profile profile;
    const Counters before = counters();
    for (int i = 0; i < 3; ++i) frozen({x});
    const Counters after = counters();
    const auto steps = profile.steps();
    double total = 0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      CHECK(steps[k].runs % 3 == 0);
      CHECK(steps[k].seconds > 0);
      CHECK(steps[k].bytes > 0);
      CHECK(steps[k].fastest > 0);
      CHECK(static_cast<double>(steps[k].runs) * steps[k].fastest <= steps[k].seconds * (1 + 1e-9));
      if (k > 0) CHECK(steps[k].seconds <= steps[k - 1].seconds);
      total += steps[k].seconds;
    }
    CHECK(total <= profile.seconds());
    // An epilogue is a part of its call.
    CHECK(runs_of(profile) ==
          after.kernels_launched - before.kernels_launched + after.library_calls - before.library_calls - (after.epilogues - before.epilogues));
    CHECK(to_string(profile).find(steps[0].name) != std::string::npos);
    CHECK(to_string(profile, 1).find("further step") != std::string::npos);
    CHECK(runs_of(outer) == 0);
  }
  eval(x + 1.f);
  CHECK(runs_of(outer) == 1);
  const Function another = freeze([](const Tensor& y) { return y * 2.f; }, {{DType::float32, {"n"}}});
  another({random_tensor({7})});
  CHECK(runs_of(outer) == 2);
}
