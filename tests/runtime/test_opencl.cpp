// OpenCL: sinter's functions give the same bits as on the CPU, a device without float64 refuses it, and a device that cannot be opened is an error. Other
// suites run on the device, too (the tests whose names end with _opencl). Without an OpenCL device the test cases that need one print a message.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/engine.hpp"
#include "jit/compiler.hpp"
#include "jit/lower.hpp"
#include "kernel_count.hpp"
#include "runtime/kind.hpp"
#include "seed.hpp"
#include "sinter/sinter.hpp"
#include "trace/build.hpp"
#include "with_options.hpp"

namespace sn = sinter;
using namespace sinter::testing;
using sn::DType;
using sn::Tensor;
using sn::trace::Op;

namespace {

/// While this object exists, evaluations run on the device.
struct On : sn::testing::WithOptions {
  explicit On(const char* device) : WithOptions([&](sn::Options& options) { options.device = device; }) {}
};

bool has_device() {
  const bool has = sn::runtime::find_kind("opencl")->compiler() != nullptr;
  if (!has) MESSAGE("there is no OpenCL device");
  return has;
}

/// Returns numbers of every exponent and sign, special numbers, and pairs of moderate magnitude.
template <class T> std::vector<T> numbers(std::mt19937_64& random, std::size_t count) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<T> all = {T(0),
                        -T(0),
                        T(1),
                        T(-1),
                        T(0.5),
                        T(2),
                        std::numeric_limits<T>::infinity(),
                        -std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN(),
                        std::numeric_limits<T>::denorm_min(),
                        std::numeric_limits<T>::max(),
                        T(1e7),
                        T(-5e6),
                        T(171.5),
                        T(-3)};
  std::normal_distribution<double> modest(0, 4);
  while (all.size() < count) all.push_back(all.size() % 2 ? std::bit_cast<T>(static_cast<Bits>(random())) : static_cast<T>(modest(random)));
  return all;
}

template <class T> void check_functions() {
  std::mt19937_64 random(fresh_seed());
  constexpr std::size_t kCount = 5000;
  const std::vector<T> a = numbers<T>(random, kCount);
  std::vector<T> b = numbers<T>(random, kCount);
  std::shuffle(b.begin(), b.end(), random);
  const std::vector<Op> ops = {
#define SINTER_FUNCTION(id, ...) Op::id,
#include "trace/primitives.def"
      Op::power, Op::rsqrt, Op::sqrt, Op::divide, Op::floor_divide, Op::remainder, Op::rint, Op::minimum, Op::copysign};
  const auto compute = [&] {
    const Tensor x = sn::from_span(a), y = sn::from_span(b);
    std::vector<Tensor> results;
    for (const Op op : ops) {
      const bool two = sn::trace::primitive(op).arity == 2;
      results.emplace_back(
          sn::trace::Handle{sn::trace::make_elementwise({}, op, two ? sn::trace::Operands{x.node(), y.node()} : sn::trace::Operands{x.node()})});
    }
    sn::eval(results);
    std::vector<std::vector<T>> all;
    for (const Tensor& r : results) all.push_back(r.to_vector<T>());
    return all;
  };
  const auto expected = compute();
  const On device("opencl");
  const auto found = compute();
  CHECK(sn::counters().fallbacks == 0);
  for (std::size_t k = 0; k < ops.size(); ++k) {
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      // The driver computes sin, cos and tan of large arguments.
      const bool large = (ops[k] == Op::sin || ops[k] == Op::cos || ops[k] == Op::tan) && std::abs(a[i]) >= (sizeof(T) == 4 ? 4e6 : 1.6e6);
      const T e = expected[k][i], f = found[k][i];
      const bool same = (std::isnan(e) && std::isnan(f)) || std::memcmp(&e, &f, sizeof e) == 0 ||
                        (large && std::abs(e - f) <= 4 * std::abs(e) * std::numeric_limits<T>::epsilon());
      if (!same && wrong++ == 0) first = i;
    }
    CHECK_MESSAGE(wrong == 0, fmt::format("{}: {} of {} differ, {} and {}: {} instead of {}", sn::trace::name(ops[k]), wrong, kCount, a[first], b[first],
                                          found[k][first], expected[k][first]));
  }
}

}  // namespace

TEST_CASE("functions of float32 give the same bits as on the CPU") {
  if (has_device()) check_functions<float>();
}
TEST_CASE("functions of float64 give the same bits as on the CPU") {
  if (has_device()) check_functions<double>();
}

TEST_CASE("a device without float64 refuses kernels that compute in it, and no others") {
  sn::fuse::Limits limits = sn::fuse::opencl_limits();
  limits.float64 = false;
  const auto generate = [&](const Tensor& y) {
    for (const auto& step : plan_of({y}, limits).steps) sn::jit::generate_opencl(sn::jit::lower(plan_of({y}, limits).graph, step.kernel, limits).nest, limits);
  };
  const Tensor x = sn::placeholder({100}, DType::float32), d = sn::placeholder({100}, DType::float64), h = sn::placeholder({100}, DType::float16);
  CHECK_NOTHROW(generate(sn::tanh(sn::exp(x)) + sn::log(x)));
  CHECK_NOTHROW(generate(h * 2.f + sn::sum(h)));
  CHECK_THROWS_AS(generate(sn::sin(x)), sn::DeviceError);
  CHECK_THROWS_AS(generate(d + 1), sn::DeviceError);
}

TEST_CASE("explain and counters() agree on which library calls the host computes") {
  if (!has_device()) return;
  const On device("opencl");
  const Tensor x = sn::random::uniform(sn::random::Key(1), {100000}), m = sn::random::uniform(sn::random::Key(2), {8, 8}),
               places = sn::astype(sn::argsort(x), DType::int64);
  sn::eval(x, m, places);
  Tensor put = sn::zeros({100000});
  put.at({places}) = x;
  for (const Tensor& result : {sn::sort(x), sn::argsort(x), sn::inv(m), sn::svdvals(m), put, sn::matmul(m, m)}) {
    const auto before = sn::counters();
    sn::eval(result);
    const auto after = sn::counters();
    std::uint64_t on_host = 0;
    const std::string text = sn::explain({result}, sn::Format::json), mark = "\"on_host\": true";
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; ++at) ++on_host;
    CHECK(on_host == after.host_calls - before.host_calls);
    CHECK((sn::explain({result}).find("on the host, because the device has no library for it") != std::string::npos) == (on_host > 0));
  }
}

TEST_CASE("a device that does not exist is an error") {
  CHECK_THROWS_AS(On("opencl:99"), sn::DeviceError);
  CHECK_THROWS_AS(On("opencl:x"), sn::ValueError);
}

TEST_CASE("memory is counted, released and reused") {
  if (!has_device()) return;
  const On device("opencl");
  const sn::runtime::DevicePtr opened = sn::runtime::find_kind("opencl")->open(0);
  const auto first = opened->allocate(1000);
  CHECK(opened->memory().now == 1000);
  std::vector<unsigned char> bytes(1000), back(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  opened->upload(*first, bytes.data(), bytes.size());
  auto second = opened->allocate(1000);
  opened->copy(*second, *first, 1000);
  opened->download(back.data(), *second, 1000);
  CHECK(back == bytes);
  second = nullptr;
  CHECK(opened->memory().now == 1000);
  CHECK(opened->memory().peak == 2000);
  opened->trim();
  CHECK_THROWS_AS(opened->allocate(std::size_t{1} << 60), sn::MemoryError);
  CHECK(opened->memory().now == 1000);
}
