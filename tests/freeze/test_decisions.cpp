// Formulas with decisions: if (decide(condition)). A frozen one agrees with the formula on every path, live and from a file, at other sizes, in threads.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <thread>

#include "called.hpp"
#include "program.hpp"
#include "says.hpp"
#include "seed.hpp"
#include "sinter/freeze.hpp"
#include "sinter/linalg.hpp"
#include "temporary_folder.hpp"

using namespace sinter;
using testing::called;
using testing::random_tensor;

namespace {

void check_near(const Tensor& got, const Tensor& want, double tolerance = 2e-5) {
  REQUIRE(got.shape() == want.shape());
  REQUIRE(got.dtype() == want.dtype());
  CHECK(all(abs(got.astype(DType::float64) - want.astype(DType::float64)) <= tolerance * (1 + abs(want.astype(DType::float64)))).item<bool>());
}

// On a GPU a plan serves fewer sizes and numbers of rounds than on the CPU, so that a file may lack one.
void check_same(const Function& frozen, const Function::Formula& formula, const std::vector<Tensor>& inputs) {
  const auto got = called(frozen, inputs), want = formula(inputs);
  CHECK((testing::on_gpu() || !got.empty()));
  if (got.empty()) return;
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k) check_near(got[k], want[k]);
}

/// Draws a formula of two matrices (n, 6) and (6, 6) with conditions of each kind: on inputs, on elementwise work, on products, reductions and scans; nested,
/// one after another, and within a loop of at most three rounds.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : seed_(seed) {}
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    std::mt19937_64 random(seed_);
    std::vector<Tensor> values{inputs[0], matmul(inputs[0], inputs[1])};
    const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
    const auto any = [&] { return values[draw(values.size())]; };
    const auto work = [&] {
      const Tensor a = any(), b = any();
      switch (draw(8)) {
        case 0: return a + b;
        case 1: return tanh(a) * 0.5f;
        case 2: return matmul(a, inputs[1]);
        case 3: return softmax(a, -1);
        case 4: return cumsum(a, 1) * 0.25f;
        case 5: return a - mean(b, {0}, true);
        case 6: return where(b > 0.0123f, a, -a);
        default: return flip(a, {1}) * b;
      }
    };
    const auto condition = [&] {  // no comparison of sums that are 0 but for rounding, such as those of x - mean(x): another order decides otherwise
      const Tensor a = any();
      switch (draw(4)) {
        case 0: return sum(a) > 0.0371f;
        case 1: return a(0, 0) > 0.1f;
        case 2: return astype(argmax(a(0)), DType::int64) % 2 == 1;
        default: return any_of(a);
      }
    };
    for (int k = 0; k < 3; ++k) {
      values.push_back(work());
      const Tensor chosen = condition();
      const Tensor yes = work(), no = work();  // drawn on both paths, so that the paths have the same formulas later
      switch (draw(3)) {
        case 0: values.push_back(decide(chosen) ? yes : no); break;
        case 1:
          if (decide(chosen)) values.push_back(decide(sum(yes) > 0.3f) ? yes * 2 : no + yes);
          else values.push_back(no);
          break;
        default: {
          Tensor v = yes;
          for (int round = 0; round < 3 && decide(sum(v) > -1); ++round) v = matmul(v, inputs[1]) - 0.125f;
          values.push_back(v);
        }
      }
    }
    return {values.back(), work(), sum(values[values.size() - 2], {0})};
  }

 private:
  static Tensor any_of(const Tensor& a) { return any(a > 1.5f); }
  std::uint64_t seed_;
};

}  // namespace

TEST_CASE("drawn formulas with decisions agree with their frozen functions on the paths of random inputs, at other sizes and from a file") {
  const testing::TemporaryFile file("drawn.plan");
  for (int round = 0; round < 8; ++round) {
    const std::uint32_t seed = testing::fresh_seed();
    CAPTURE(seed);
    const Drawn formula(seed);
    const Function frozen = freeze(Function::Formula(formula), {{DType::float32, {AxisSize("n", 5), 6}, "x"}, {DType::float32, {6, 6}, "w"}});
    const auto inputs = [](std::int64_t n) { return std::vector<Tensor>{random_tensor({n, 6}), random_tensor({6, 6}) * 0.4f}; };
    std::vector<std::vector<Tensor>> called;
    for (int k = 0; k < 6; ++k) check_same(frozen, formula, called.emplace_back(inputs(k < 4 ? 5 : 9)));
    frozen.save(file.path);
    const Function loaded = Function::load(file.path);
    CHECK(loaded.outputs() == frozen.outputs());
    for (int k = 0; k < 4; ++k) check_same(loaded, formula, called[static_cast<std::size_t>(k)]);
    for (int k = 0; k < 4; ++k) try {
        check_same(loaded, formula, inputs(5));
      } catch (const ValueError& error) {  // a path that was not called, beyond the limit of a file
        CHECK(loaded.missing().size() > 0);
        CHECK(std::string(error.what()).find("save() adds stages up to 32") != std::string::npos);
      }
  }
}

namespace {

/// A product, a decision on its sum, and two branches that read it.
std::vector<Tensor> branching(const std::vector<Tensor>& inputs) {
  const Tensor y = relu(matmul(inputs[0], inputs[1]));
  if (decide(sum(y) > 3)) return {y * 2};
  return {y - 1};
}
const std::vector<InputSpec> kMatrices{{DType::float32, {AxisSize("n", 5), 6}, "x"}, {DType::float32, {6, 7}, "w"}};

}  // namespace

TEST_CASE("a product before a decision is computed once, and a warm call plans and compiles nothing") {
  const testing::TemporaryFile file("branching.plan");
  const Function frozen = freeze(Function::Formula(branching), kMatrices);
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  for (const Function& f : {frozen, loaded})
    for (const float scale : {1.f, -1.f}) {
      const std::vector<Tensor> inputs{full({5, 6}, 0.5f), full({6, 7}, scale)};
      eval(inputs);
      (void)f(inputs);
      const Counters before = counters();
      const Tensor y = f(inputs)[0];
      const Counters after = counters();
      CHECK(after.plans_made == before.plans_made);
      CHECK(after.kernels_compiled == before.kernels_compiled);
      check_near(y, branching(inputs)[0]);
      const std::string text = f.explain();
      INFO(text);
      CHECK(text.find("decide at ") != std::string::npos);
      CHECK(text.find(scale > 0 ? " is true" : " is false") != std::string::npos);
      const std::size_t branch = text.rfind("decide at ");
      CHECK(text.substr(0, branch).find("float32 (n, 6)") != std::string::npos);
      CHECK(text.substr(branch).find("(n, 6)") == std::string::npos);  // the branch reads the product, not its operands
    }
  CHECK(frozen.plans() == 3);
  CHECK(loaded.serves().size() == 2);
}

TEST_CASE("decide outside of a frozen formula computes its condition") {
  CHECK(decide(Tensor{1.f, 2.f}(1) > 1));
  CHECK_FALSE(decide(full({1, 1}, 0)));
  CHECK(decide(full({}, 0.5f)));
  testing::says<ShapeError>([] { (void)decide(zeros({2})); }, "decide: a condition is one element; this has the shape (2,)");
  CHECK_THROWS_WITH_AS((void)decide(placeholder({}, DType::bool_)), doctest::Contains("placeholder"), ValueError);
}

TEST_CASE("paths that give other numbers of tensors are refused; sizes that make other decisions have stages of their own") {
  const std::vector<InputSpec> specs{{DType::float32, {AxisSize("n", 5)}, "x"}};
  const Function one_or_two = freeze(Function::Formula([](const std::vector<Tensor>& x) {
                                       if (decide(x[0](0) > 0)) return std::vector<Tensor>{x[0]};
                                       return std::vector<Tensor>{x[0], x[0] + 1};
                                     }),
                                     specs);
  CHECK(one_or_two({full({5}, 1.f)}).size() == 1);
  CHECK_THROWS_WITH_AS(one_or_two({full({5}, -1.f)}), doctest::Contains("is false: the formula gives 2 tensors; on another path it gives 1"), ValueError);
  const Function by_size = freeze([](const Tensor& x) { return x.size() > 7 && decide(x(0) > 0) ? x + 1 : x * 2; }, specs);
  check_near(by_size({full({6}, 1.f)})[0], full({6}, 2.f));
  const testing::TemporaryFile file("by_size.plan");
  for (const std::int64_t size : {8, 9, 6}) by_size.prepare({{"n", size}});
  by_size.save(file.path);
  const Function loaded = Function::load(file.path);
  for (const Function& f : {by_size, loaded})
    for (const std::int64_t size : {5, 6, 8, 9})
      for (const float first : {1.f, -1.f}) check_near(f({full({size}, first)})[0], size > 7 && first > 0 ? full({size}, 2.f) : full({size}, 2 * first));
}

TEST_CASE("a branch that is refused is refused by the call that takes it, live and from a file") {
  const testing::TemporaryFile file("refused.plan");
  const Function frozen = freeze([](const Tensor& x) { return decide(x(0) > 0) ? x + 1 : x + zeros({3}); }, {{DType::float32, {5}, "x"}});
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  for (const Function& f : {frozen, loaded}) {
    check_near(f({full({5}, 1.f)})[0], full({5}, 2.f));
    CHECK_THROWS_WITH_AS(f({full({5}, -1.f)}), doctest::Contains("shapes (5,) and (3,)"), Error);
    check_near(f({full({5}, 1.f)})[0], full({5}, 2.f));
  }
  CHECK_THROWS_WITH_AS(loaded({full({5}, -1.f)}), doctest::Contains("the file has no plan if decide at "), ValueError);
}

TEST_CASE("a loop of decisions runs as often as its condition says; a file has a limited number of stages") {
  const testing::TemporaryFile file("loop.plan");
  const Function::Formula doubled = [](const std::vector<Tensor>& inputs) {
    Tensor x = inputs[0];
    while (decide(sum(x) < 100)) x = matmul(x, inputs[1]);
    return std::vector<Tensor>{x};
  };
  const Function frozen = freeze(doubled, {{DType::float32, {2, 3}, "x"}, {DType::float32, {3, 3}, "w"}});
  const Tensor twice = astype(eye(3), DType::float32) * 2;
  for (const float start : {200.f, 10.f, 1.f}) check_same(frozen, doubled, {full({2, 3}, start), twice});
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  for (const float start : {200.f, 1.f, 1e-2f}) check_same(loaded, doubled, {full({2, 3}, start), twice});
  const std::vector<Tensor> longer{full({2, 3}, 1e-15f), twice};
  check_same(frozen, doubled, longer);
  CHECK_THROWS_WITH_AS(loaded(longer), doctest::Contains("save() adds stages up to 32"), ValueError);
}

TEST_CASE("sizes that were prepared are planned on paths that are found later") {
  const Function frozen = freeze(Function::Formula(branching), kMatrices);
  frozen.prepare({{"n", 9}});
  CHECK(frozen.has_plan_for({{"n", 9}}));
  const testing::TemporaryFile file("prepared.plan");
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  CHECK(loaded.has_plan_for({{"n", 9}}));
  for (const float scale : {1.f, -1.f}) check_same(loaded, branching, {full({9, 6}, 0.5f), full({6, 7}, scale)});
}

TEST_CASE("threads that take different paths for the first time at once") {
  const Function frozen = freeze(Function::Formula(branching), kMatrices);
  std::vector<std::thread> threads;
  std::vector<Tensor> got(8);
  const auto inputs = [](std::size_t k) { return std::vector<Tensor>{full({k % 3 == 0 ? 5 : 9, 6}, 0.5f), full({6, 7}, k % 2 ? 1.f : -1.f)}; };
  for (std::size_t k = 0; k < got.size(); ++k) threads.emplace_back([&, k] { got[k] = frozen(inputs(k))[0]; });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t k = 0; k < got.size(); ++k) check_near(got[k], branching(inputs(k))[0]);
}

namespace {

/// A loop with a limit, a condition on its state, a decision within the round, values that it collects, and a product that it reads.
std::vector<Tensor> looping(const std::vector<Tensor>& inputs) {
  const Tensor& x = inputs[0];
  const Tensor y = tanh(matmul(x, inputs[1]));
  const auto body = [&](const Tensor& round, const std::vector<Tensor>& state) {
    const Tensor grown = decide(max(state[0]) > 2) ? state[0] * 1.25f + 1 : state[0] * 2 + y;
    return LoopRound{sum(abs(grown)) < 1000, {grown, state[1] + round}, {sum(grown, {1}), round * 2}};
  };
  const LoopResults ran = loop({.go = sum(abs(x)) < 1000, .most = inputs[2], .state = {x, full({}, 7, DType::int64)}, .body = body});
  return {ran.state[0] + y, ran.state[1], ran.collected[0] * 2, ran.collected[1]};
}
const std::vector<InputSpec> kLooping{{DType::float32, {AxisSize("n", 5), 6}, "x"}, {DType::float32, {6, 6}, "w"}, {DType::int64, {}, "most"}};

}  // namespace

TEST_CASE("a loop in a frozen function runs as often as its condition and its limit say, live and from a file") {
  const testing::TemporaryFile file("looping.plan");
  const Function frozen = freeze(Function::Formula(looping), kLooping);
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  std::size_t most_rounds = 0;
  for (const Function& f : {frozen, loaded})
    for (const std::int64_t n : {5, 9})
      for (const std::int64_t most : {0, 1, 2, 3, 40, 1000})
        for (const float scale : {1.f, 1e-3f, 1e5f}) {
          const std::vector<Tensor> inputs{random_tensor({n, 6}) * scale, random_tensor({6, 6}) * 0.4f, full({}, most, DType::int64)};
          CAPTURE(n);
          CAPTURE(most);
          CAPTURE(scale);
          const auto got = called(f, inputs), want = looping(inputs);
          CHECK((testing::on_gpu() || !got.empty()));
          if (got.empty()) continue;
          for (std::size_t k = 0; k < want.size(); ++k) check_near(got[k], want[k], 1e-4);
          most_rounds = std::max(most_rounds, static_cast<std::size_t>(got[2].shape()[0]));
        }
  CHECK(most_rounds > 8);
  const std::string text = loaded.explain();
  INFO(text);
  CHECK(text.find("loop at ") != std::string::npos);
  CHECK(text.find(" runs a round") != std::string::npos);
  CHECK(text.find(" has ended") != std::string::npos);
}

TEST_CASE("a loop of a thousand rounds has one plan for a round, and a warm call plans and compiles nothing") {
  const testing::TemporaryFile file("long.plan");
  const Function::Formula halving = [](const std::vector<Tensor>& inputs) {
    const auto body = [&](const Tensor&, const std::vector<Tensor>& state) {
      return LoopRound{full({}, true), {state[0] * 0.5f + inputs[1]}, {max(state[0])}};
    };
    const LoopResults ran = loop({.go = full({}, true), .most = inputs[2], .state = {inputs[0]}, .body = body});
    return std::vector<Tensor>{ran.state[0], ran.collected[0]};
  };
  const Function frozen = freeze(halving, {{DType::float32, {AxisSize("n", 5)}, "x"}, {DType::float32, {AxisSize("n", 5)}, "b"}, {DType::int64, {}, "most"}});
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  CHECK(loaded.plans() <= 8);
  const auto inputs = [](std::int64_t rounds) { return std::vector<Tensor>{random_tensor({7}), random_tensor({7}), full({}, rounds, DType::int64)}; };
  (void)loaded(inputs(1000));
  const std::vector<Tensor> given = inputs(1000);
  eval(given);
  const Counters before = counters();
  const std::vector<Tensor> got = loaded(given);
  const Counters after = counters();
  CHECK(after.plans_made == before.plans_made);
  CHECK(after.kernels_compiled == before.kernels_compiled);
  check_near(got[0], given[1] * 2, 1e-4);
  CHECK(got[1].shape() == Shape{1000});
}

TEST_CASE("loops within rounds of loops, one after another, and within branches") {
  const testing::TemporaryFile file("nested.plan");
  const Function::Formula nested = [](const std::vector<Tensor>& inputs) {
    const Tensor rounds = astype(inputs[0](0), DType::int64);
    const auto inner = [&](const Tensor& x, const Tensor& most) {
      const auto body = [&](const Tensor& round, const std::vector<Tensor>& state) {
        return LoopRound{full({}, true), {state[0] + round * 0.25f}, {state[0](0)}};
      };
      return loop({.go = full({}, true), .most = most, .state = {x}, .body = body});
    };
    const auto outer = [&](const Tensor& round, const std::vector<Tensor>& state) {
      const LoopResults ran = inner(state[0], round + 1);
      return LoopRound{max(ran.state[0]) < 30, {ran.state[0] * 1.5f}, {sum(ran.collected[0])}};
    };
    const LoopResults first = loop({.go = full({}, true), .most = rounds, .state = {inputs[0]}, .body = outer});
    if (decide(sum(first.state[0]) > 20)) return std::vector<Tensor>{first.state[0], first.collected[0]};
    const LoopResults second = inner(first.state[0], rounds + 2);
    return std::vector<Tensor>{second.state[0], concatenate({first.collected[0], second.collected[0]}, 0)};
  };
  const Function frozen = freeze(nested, {{DType::float32, {4}, "x"}});
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  for (const Function& f : {frozen, loaded})
    for (const float start : {0.f, 1.f, 2.f, 3.f, 5.f, 9.f}) check_same(f, nested, {full({4}, start)});
}

TEST_CASE("loops outside of frozen functions, and loops that are refused") {
  const auto count = [](const Tensor& go, std::optional<Tensor> most) {
    return loop({.go = go, .most = most, .state = {full({}, 0, DType::int64)}, .body = [](const Tensor& round, const std::vector<Tensor>& state) {
                   return LoopRound{round < 6, {state[0] + 2}, {full({3}, 1.f) * round}};
                 }});
  };
  CHECK(count(full({}, true), {}).state[0].item<std::int64_t>() == 14);
  CHECK(count(full({}, true), full({}, 3)).state[0].item<std::int64_t>() == 6);
  CHECK(count(full({}, true), full({}, 3)).collected[0].shape() == Shape{3, 3});
  CHECK(count(full({}, false), {}).collected[0].shape() == Shape{0, 3});
  const auto grows = [](const std::vector<Tensor>& inputs) {
    const auto body = [](const Tensor&, const std::vector<Tensor>& state) { return LoopRound{sum(state[0]) < 9, {concatenate({state[0], state[0]}, 0)}}; };
    return loop({.go = sum(inputs[0]) < 9, .state = {inputs[0]}, .body = body}).state;
  };
  CHECK_THROWS_WITH_AS(grows({full({2}, 1.f)}), doctest::Contains("number 0 of the state is float32 (2,), but becomes float32 (4,) in a round"), ShapeError);
  CHECK_THROWS_WITH_AS(freeze(Function::Formula(grows), {{DType::float32, {2}, "x"}}), doctest::Contains("number 0 of the state is float32 (2,)"), ShapeError);
  CHECK_THROWS_WITH_AS(loop({.go = full({}, true), .state = {}, .body = {}}), doctest::Contains("loop: the body is empty"), ValueError);
}

TEST_CASE("values that are computed in another way for other sizes, before a decision") {
  const testing::TemporaryFile file("median.plan");
  const Function::Formula centred = [](const std::vector<Tensor>& x) {
    const Tensor middle = median(x[0]), first = cumsum(x[0] % 3, 0)(Slice(0, x[0].size() / 2 + 1));
    const Tensor centre = x[0].size() == 5 ? max(first) : middle;
    return std::vector<Tensor>{decide(centre > 0) ? x[0] - middle * centre : x[0] + sum(first)};
  };
  const Function frozen = freeze(centred, {{DType::float32, {AxisSize("n", 4)}, "x"}});
  for (const std::int64_t size : {4, 5, 6, 1, 2, 7, 3, 0}) {
    if (size == 0) continue;
    for (int k = 0; k < 4; ++k) check_same(frozen, centred, {random_tensor({size})});
  }
  for (const std::int64_t size : {5, 6, 1}) frozen.prepare({{"n", size}});
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  for (const std::int64_t size : {4, 5, 6, 1})
    for (int k = 0; k < 4; ++k) check_same(loaded, centred, {random_tensor({size})});
}

TEST_CASE("a decision on what a loop has collected, for no round, one, and more") {
  const testing::TemporaryFile file("collected.plan");
  const Function::Formula formula = [](const std::vector<Tensor>& inputs) {
    const auto body = [](const Tensor&, const std::vector<Tensor>& state) { return LoopRound{full({}, true), {state[0] * 0.5f}, {sum(state[0])}}; };
    const LoopResults ran = loop({.go = full({}, true), .most = inputs[1], .state = {inputs[0]}, .body = body});
    const Tensor total = sum(ran.collected[0]);
    return std::vector<Tensor>{decide(total > 3) ? ran.state[0] - total : ran.state[0] + 1};
  };
  const Function frozen = freeze(formula, {{DType::float32, {AxisSize("n", 4)}, "x"}, {DType::int64, {}, "most"}});
  frozen.prepare({{"n", 1}});
  frozen.prepare({{"n", 6}, {"rounds of loop 1", 9}});
  frozen.save(file.path);
  const Function loaded = Function::load(file.path);
  CHECK(loaded({full({6}, 2.f), full({}, 9, DType::int64)}).size() == 1);  // on every device
  CHECK(loaded.has_plan_for({{"n", 6}, {"rounds of loop 1", 9}}));
  CHECK(loaded.missing().empty());
  CHECK(loaded.has_plan_for({{"n", 1}}));
  for (const Function& f : {frozen, loaded})
    for (const std::int64_t n : {1, 4, 6})
      for (const std::int64_t most : {0, 1, 2, 9})
        for (const float start : {0.01f, 2.f}) check_same(f, formula, {full({n}, start), full({}, most, DType::int64)});
}

TEST_CASE("what a formula throws in a branch is thrown by the call that takes the branch; what changes between recordings is refused") {
  const Function frozen = freeze(Function::Formula([](const std::vector<Tensor>& x) -> std::vector<Tensor> {
                                   if (decide(x[0](0) > 1)) throw std::runtime_error("diverged");
                                   if (decide(x[0](0) > 0.5f)) throw 42;
                                   return {x[0] * 2};
                                 }),
                                 {{DType::float32, {3}, "x"}});
  check_near(frozen({full({3}, 0.f)})[0], full({3}, 0.f));
  CHECK_THROWS_WITH_AS(frozen({full({3}, 2.f)}), doctest::Contains("diverged"), std::runtime_error);
  CHECK_THROWS_AS(frozen({full({3}, 0.75f)}), int);
  check_near(frozen({full({3}, 0.25f)})[0], full({3}, 0.5f));
  int calls = 0;
  CHECK_THROWS_WITH_AS(freeze([&](const Tensor& x) { return decide(sum(x) > ++calls) ? x + 1 : x; }, {{DType::float32, {3}, "x"}}),
                       doctest::Contains("the condition is not the same each time that the formula is recorded"), ValueError);
}

TEST_CASE("rounds that collect other values on another path are refused, and a round may loop over decide()") {
  const auto collecting = [](int way) {
    return [way](const std::vector<Tensor>& inputs) {
      const auto body = [&](const Tensor& round, const std::vector<Tensor>& state) {
        if (decide(state[0](0) < 1)) return LoopRound{round < 4, {state[0] + 1}, {state[0]}};
        if (way == 0) return LoopRound{round < 4, {state[0] + 1}, {}};
        return LoopRound{round < 4, {state[0] + 1}, {way == 1 ? sum(state[0]) : astype(state[0], DType::int32)}};
      };
      const LoopResults ran = loop({.go = sum(inputs[0]) < 9, .state = {inputs[0]}, .body = body});
      std::vector<Tensor> results = ran.state;
      results.insert(results.end(), ran.collected.begin(), ran.collected.end());
      return results;
    };
  };
  for (const int way : {0, 1, 2}) {
    const Function::Formula formula = collecting(way);
    CHECK_THROWS_AS(formula({full({2}, 0.f)}), ShapeError);
    CHECK_THROWS_AS(freeze(formula, {{DType::float32, {2}, "x"}})({full({2}, 0.f)}), ShapeError);
  }
  const Function::Formula doubling = [](const std::vector<Tensor>& inputs) {
    const auto body = [](const Tensor& round, const std::vector<Tensor>& state) {
      Tensor x = state[0];
      while (!decide(max(x) > 4)) x = x * 2;
      return LoopRound{round < 2, {x * 0.25f}};
    };
    return loop({.go = full({}, true), .state = {inputs[0]}, .body = body}).state;
  };
  check_same(freeze(doubling, {{DType::float32, {3}, "x"}}), doubling, {full({3}, 1.5f)});
  CHECK_THROWS_WITH_AS(loop({.go = zeros({2}), .state = {}, .body = [](const Tensor&, const std::vector<Tensor>&) { return LoopRound{}; }}),
                       doctest::Contains("loop: `go` has to be one element"), ShapeError);
}

TEST_CASE("a chain of cheap work between decisions is computed once") {
  const Function::Formula chain = [](const std::vector<Tensor>& inputs) {
    Tensor x = inputs[0];
    for (int round = 0; round < 12 && decide(max(x) > 1e-6f); ++round) x = tanh(x) * 0.5f;
    return std::vector<Tensor>{x};
  };
  const Function frozen = freeze(chain, {{DType::float32, {1000}, "x"}});
  check_same(frozen, chain, {full({1000}, 1.f)});
  const nlohmann::json explained = nlohmann::json::parse(frozen.explain({.format = Format::json}));
  for (const auto& kernel : explained["kernels"]) CHECK(kernel["ops"].size() <= 6);
}
