// Rows that are too long for one pass of one worker: scans in two stages. Against plain loops in float64, with work before and
// after, over views, with as few kernels and the same bits wherever they run.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "program.hpp"
#include "reference.hpp"

namespace sn = sinter;
using namespace sinter::testing;
using sn::DType;
using sn::Shape;
using sn::Slice;
using sn::Tensor;

namespace {

std::mt19937 rng{std::random_device{}()};

std::int64_t kernels_of(const Tensor& x) {
  const auto before = sn::counters().kernels_launched;
  sn::eval(x);
  return static_cast<std::int64_t>(sn::counters().kernels_launched - before);
}

void near(const Tensor& got, const Ref& want, double tolerance, const std::string& what) {
  INFO(what);
  REQUIRE(got.shape() == want.shape);
  const auto found = values(got);
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (std::isnan(found[k]) && std::isnan(want.v[k])) continue;
    CAPTURE(k);
    REQUIRE(std::fabs(found[k] - want.v[k]) <= tolerance * (1 + std::fabs(want.v[k])));
  }
}

Ref scanned(Ref x, std::size_t axis, double (*combine)(double, double)) {
  std::int64_t step = 1;
  for (std::size_t k = axis + 1; k < x.shape.size(); ++k) step *= x.shape[k];
  for (std::size_t at = 0; at < x.v.size(); ++at)
    if (static_cast<std::int64_t>(at) / step % x.shape[axis] > 0) x.v[at] = combine(x.v[at - static_cast<std::size_t>(step)], x.v[at]);
  return x;
}
double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }

/// As the same program evaluated by the interpreter, bit for bit.
template <class Program>
void same_bits(Program program) {
  if (on_cuda()) return;
  const auto options = sn::options();
  auto interpreted = options;
  interpreted.backend = "interpreter";
  interpreted.threads = 3;
  const auto bytes = [](const Tensor& x) {
    const auto v = values(x);
    return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof v[0]);
  };
  const std::string here = bytes(program());
  sn::configure(interpreted);
  const std::string there = bytes(program());
  sn::configure(options);
  CHECK(here == there);
}

}  // namespace

TEST_CASE("long scans of few rows, with work before and after, in any layout") {
  const struct { Shape shape; std::size_t axis; } cases[] = {{{140001}, 0}, {{2, 131072}, 1}, {{131500, 2}, 0}};
  for (const auto& [shape, axis] : cases)
    for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::bool_}) {
      if (on_cuda() && dtype != DType::float32 && axis != 0) continue;  // emulated
      const std::string what = fmt::format("{} {}", sn::name(dtype), sn::to_string(shape));
      auto [x, ref] = random(rng, shape, dtype, -1, 1);
      const auto k = static_cast<std::int64_t>(axis);
      const double tolerance = dtype == DType::float32 ? 3e-5 : 1e-11;
      near(sn::cumsum(x, k), scanned(ref, axis, plus), tolerance, what);
      near(sn::cummax(x, k), scanned(ref, axis, larger), 0, what);
      near(sn::cummin(x, k), scanned(ref, axis, smaller), 0, what);
      if (dtype == DType::bool_) continue;
      const Tensor y = sn::cumsum(x * 2, k) + x;
      CHECK(kernels_of(y) == 3);  // totals, their scan, the chunks with what comes before and after
      near(y, zip(scanned(map(ref, [](double v) { return 2 * v; }), axis, plus), ref, plus), 4 * tolerance, what + " with work");
    }
}

TEST_CASE("long scans of views, products and NaN") {
  auto [x, ref] = random(rng, {140000, 2}, DType::float32, -1, 1);
  // A row taken from the end, every second element of a column: the result of a flipped column read back flipped.
  const Ref column = make({140000}, [&, &ref = ref](const Coords& at) { return ref.v[static_cast<std::size_t>(2 * (139999 - at[0]) + 1)]; });
  near(sn::cumsum(x.at({Slice{{}, {}, -1}, 1})), scanned(column, 0, plus), 3e-5, "flipped column");
  const Ref scan = scanned(column, 0, plus);
  near(sn::cumsum(x.at({Slice{{}, {}, -1}, 1})).at({Slice{1, {}, 3}}), make({46667}, [&](const Coords& at) { return scan.v[static_cast<std::size_t>(1 + 3 * at[0])]; }),
       3e-5, "every third of a scan");
  const auto [f, fref] = random(rng, {150000}, DType::float32, 0.99, 1.01);
  near(sn::cumprod(f), scanned(fref, 0, times), 1e-3, "product");
  const Tensor nan = sn::where(sn::equal(sn::arange(150000), 70000), std::nan(""), f);
  const auto found = values(sn::cummin(nan));
  CHECK((!std::isnan(found[69999]) && std::isnan(found[70000]) && std::isnan(found[149999])));
  // Two scans of one tensor, and the same bits from every executor and any number of threads.
  same_bits([&, &x = x] { return sn::cumsum(x.at({Slice{}, 0})) * sn::cummax(x.at({Slice{}, 0})); });
}

int main(int argc, char** argv) { return sinter::testing::run_tests(argc, argv); }
