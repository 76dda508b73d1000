// Loops that never call eval give the same values as loops that do, with few kernels and few compilations.
#include <doctest/doctest.h>

#include <cmath>
#include <utility>

#include "../../bench/loops.hpp"
#include "program.hpp"

namespace {

struct Figures {
  double value;
  std::uint64_t kernels, made;
};

Figures figures(const sn::loops::Run& run, int steps, bool evaluating) {
  const auto before = sn::counters();
  const double value = run(steps, evaluating);
  const auto after = sn::counters();
  return {value, after.kernels_launched - before.kernels_launched,
          after.kernels_compiled + after.kernels_from_disk - before.kernels_compiled - before.kernels_from_disk};
}

// Compares the numbers of kernels of `steps` and of twice as many iterations. The difference is the cost of an iteration after the start of the loop.
void check_loop(const char* name, int steps, double launches_per_step, std::uint64_t kernels_made) {
  for (const auto& loop : sn::loops::all(900)) {
    if (loop.name != name) continue;
    CAPTURE(loop.name);
    const Figures with = figures(loop.run, steps, true), without = figures(loop.run, steps, false);
    CHECK(std::isfinite(with.value));
    CHECK(without.value == doctest::Approx(with.value).epsilon(1e-4));
    const Figures twice = figures(loop.run, 2 * steps, false);
    CHECK(static_cast<double>(twice.kernels - without.kernels) <= launches_per_step * steps + 8);
    CHECK(without.made <= kernels_made);
    CHECK(twice.made <= 8);  // the chunks repeat; only the rest at the end may need new plans
    return;
  }
  FAIL("no loop is called " << name);
}

// A loop over parts gives the same values with and without evaluations, and makes as many plans for many iterations as for few.
void check_parts(const char* name, int steps, std::uint64_t plans) {
  for (const auto& loop : sn::loops::all(900)) {
    if (loop.name != name) continue;
    CAPTURE(loop.name);
    CHECK(loop.run(steps, false) == doctest::Approx(loop.run(steps, true)).epsilon(1e-4));
    const auto before = sn::counters().plans_made;
    CHECK(loop.run(3 * steps, false) == doctest::Approx(loop.run(3 * steps, true)).epsilon(1e-4));
    CHECK(sn::counters().plans_made - before <= plans);
    return;
  }
  FAIL("no loop is called " << name);
}

int steps(int count) { return sinter::testing::on_gpu() ? count / 4 : count; }

}  // namespace

TEST_CASE("ten thousand additions: one kernel for every 128 ops") { check_loop("b = b + 0.02", steps(5000), 1.0 / 64, 8); }
TEST_CASE("Adam: three coupled values of a million parameters") { check_loop("Adam", steps(200), 0.5, 12); }
TEST_CASE("Mandelbrot: two coupled values") { check_loop("Mandelbrot", steps(200), 0.5, 12); }
TEST_CASE("heat: a stencil of slices, whose shape changes at every step") { check_loop("heat", steps(60), 1.1, 24); }
TEST_CASE("a loop that reads only a norm: a value that the user holds is computed once") { check_loop("convergence", steps(100), 3.1, 12); }
TEST_CASE("Lorenz: three coupled arrays") { check_loop("Lorenz", steps(200), 0.5, 12); }

TEST_CASE("a wave: the same line several times in an iteration") { check_loop("wave", steps(120), 2.1, 12); }
TEST_CASE("exchanged elements: a value that is read in two orders") { check_parts("exchanged", steps(120), 2); }
TEST_CASE("an LSTM: slices of a product's result") { check_loop("LSTM", steps(100), 2.1, 12); }
TEST_CASE("a state that is read now and then: a value that the user holds is computed once") { check_loop("asked now and then", steps(100), 0.5, 12); }

TEST_CASE("parts that are assigned from their neighbours") { check_parts("shifted parts", steps(120), 2); }
TEST_CASE("heat, with assignments in place") { check_parts("heat in place", steps(80), 4); }
TEST_CASE("a concatenation with the pieces in reverse order") { check_parts("rolled", steps(120), 4); }
TEST_CASE("loops that roll, eliminate, filter, walk at random, sort and concatenate") {
  for (const auto& [name, plans] :
       {std::pair{"roll", 4}, {"Gauss", 40}, {"filter", 4}, {"heat until still", 4}, {"random walk", 6}, {"bubble sort", 24}, {"growing", 24}})
    check_parts(name, steps(40), static_cast<std::uint64_t>(plans));
}
TEST_CASE("a loop over single elements") { check_parts("counted", steps(200), 16); }
