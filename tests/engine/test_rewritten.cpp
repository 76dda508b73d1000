// Graph passes: random networks give the same results with and without passes, and packed weights always belong to the present elements.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <thread>

#include "draws.hpp"
#include "passes.hpp"
#include "program.hpp"
#include "sinter/freeze.hpp"
#include "sinter/sinter.hpp"

using namespace sinter;
using testing::pick;

namespace {

Tensor drawn(const Shape& shape, float magnitude) { return testing::random_tensor(shape, -magnitude, magnitude); }

Tensor bytes(const Shape& shape, DType dtype) {
  const Tensor made = (drawn(shape, 127) + (dtype == DType::uint8 ? 128.f : 0.f)).astype(dtype);
  eval(made);
  return made;
}

/// A network: a list of operations, each on earlier results.
class Network {
 public:
  Network() {
    const std::int64_t channels = pick(0, 1) ? pick(1, 5) : 8 * pick(1, 6);
    input = {pick(1, 3), channels, pick(6, 13), pick(6, 13)};
    shapes_.push_back(input);
    for (std::int64_t count = pick(4, 12); count > 0; --count) grow();
    while (convolutions_ < 2) convolve(shapes_.size() - 1);
  }

  std::vector<Tensor> operator()(const Tensor& x) const {
    std::vector<Tensor> values{x};
    for (const auto& step : steps_) values.push_back(step(values));
    return {values.back(), values[values.size() / 2]};
  }
  Shape input;
  std::string text;

 private:
  using Values = std::vector<Tensor>;
  void add(const std::string& name, const Shape& shape, std::function<Tensor(const Values&)> step) {
    text += name + " -> " + to_string(shape) + "; ";
    shapes_.push_back(shape);
    steps_.push_back(std::move(step));
  }

  void convolve(std::size_t at) {
    const Shape& in = shapes_[at];
    const std::int64_t channels = in[1], taps = pick(0, 2) ? std::min<std::int64_t>({3, in[2], in[3]}) : 1;
    std::int64_t groups = 1, filters = pick(0, 1) ? pick(3, 40) : 16 * pick(1, 3);
    if (pick(0, 3) == 0) groups = filters = channels;
    else if (pick(0, 4) == 0 && channels % 4 == 0) groups = 4, filters = 4 * pick(1, 9);
    const Tensor w = drawn({filters, channels / groups, taps, taps}, 1.5f / static_cast<float>(std::sqrt(channels / groups * taps * taps)));
    const Tensor bias = pick(0, 1) ? drawn({filters}, 1) : Tensor();
    const ConvOptions how{.padding = taps / 2, .groups = groups};
    ++convolutions_;
    const auto places = [&](std::int64_t size) { return size + 2 * (taps / 2) - taps + 1; };
    add("conv", {in[0], filters, places(in[2]), places(in[3])}, [=](const Values& v) { return conv2d(v[at], w, bias, how); });
  }

  void grow() {
    const std::size_t at = static_cast<std::size_t>(pick(std::max<std::int64_t>(0, std::ssize(shapes_) - 3), std::ssize(shapes_) - 1));
    const Shape shape = shapes_[at];
    const std::int64_t channels = shape[1];
    switch (pick(0, 14)) {
      case 0:
      case 1:
      case 2: return convolve(at);
      case 3: return add("relu", shape, [=](const Values& v) { return relu(v[at]); });
      case 4: return add("silu", shape, [=](const Values& v) { return silu(v[at]); });
      case 5: {
        const Tensor mean = drawn({channels}, 1), variance = abs(drawn({channels}, 1)) + 0.3f, weight = drawn({channels}, 1), bias = drawn({channels}, 1);
        return add("batch_norm", shape, [=](const Values& v) { return batch_norm(v[at], mean, variance, weight, bias, 1e-5); });
      }
      case 6: {  // for the zeros that fill up a block, this is 0 / 0
        const Tensor by = abs(drawn({channels, 1, 1}, 1)) + 0.5f;
        return add("divide", shape, [=](const Values& v) { return v[at] / by; });
      }
      case 7: return add("log", shape, [=](const Values& v) { return log(abs(v[at]) + drawn_once(channels)); });
      case 8: {
        for (std::size_t other = shapes_.size(); other-- > 0;)
          if (other != at && shapes_[other] == shape) return add("sum of two", shape, [=](const Values& v) { return v[at] + v[other]; });
        return add("scaled by places", shape, [=](const Values& v) { return v[at] * sigmoid(mean(v[at], {1}, true)); });
      }
      case 9: return add("gate", shape, [=](const Values& v) { return v[at] * sigmoid(mean(v[at], {2, 3}, true)); });
      case 10: {
        if (std::min(shape[2], shape[3]) < 3) return convolve(at);
        const bool is_max = pick(0, 1);
        return add(is_max ? "max_pool" : "avg_pool", {shape[0], channels, (shape[2] - 1) / 2 + 1, (shape[3] - 1) / 2 + 1}, [=](const Values& v) {
          const PoolOptions how{.stride = PerAxis(2), .padding = 1};
          return is_max ? max_pool2d(v[at], 3, how) : avg_pool2d(v[at], 3, how);
        });
      }
      case 11: {
        const Shape joined{shape[0], 2 * channels, shape[2], shape[3]};
        return add("concatenate", joined, [=](const Values& v) { return concatenate({v[at], relu(v[at])}, 1); });
      }
      case 12: {  // its filters are phases
        if (shape[2] > 12) return convolve(at);
        const std::int64_t filters = 8 * pick(1, 4);
        const Tensor w = drawn({channels, filters, 2, 2}, 1.f / static_cast<float>(std::sqrt(channels)));
        return add("conv_transpose", {shape[0], filters, 2 * shape[2], 2 * shape[3]},
                   [=](const Values& v) { return conv_transpose2d(v[at], w, {}, {.stride = 2}); });
      }
      case 13: {
        const std::int64_t first = pick(0, channels - 1), count = pick(1, channels - first);
        return add("slice", {shape[0], count, shape[2], shape[3]}, [=](const Values& v) { return v[at](Slice{}, Slice{first, first + count}); });
      }
      default: {
        const std::int64_t parts = channels % 2 == 0 ? 2 : 1;
        return add("shuffle", shape, [=](const Values& v) {
          const Tensor apart = reshape(v[at], {v[at].shape()[0], parts, channels / parts, shape[2], shape[3]});
          return reshape(permute(apart, {0, 2, 1, 3, 4}), {v[at].shape()[0], channels, shape[2], shape[3]});
        });
      }
    }
  }
  static Tensor drawn_once(std::int64_t channels) { return full({channels, 1, 1}, 0.5f); }

  std::vector<Shape> shapes_;
  std::vector<std::function<Tensor(const Values&)>> steps_;
  int convolutions_ = 0;
};

void check_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    REQUIRE(got[k].shape() == want[k].shape());
    const auto a = got[k].to_vector<float>(), b = want[k].to_vector<float>();
    float largest = 1e-3f, worst = 0;
    for (const float x : b) largest = std::max(largest, std::fabs(x));
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::isfinite(a[i]) ? std::fabs(a[i] - b[i]) : 1e30f);
    CHECK(worst <= 1e-4f * largest);
  }
}

}  // namespace

TEST_CASE("random networks give the same values with and without passes, evaluated and frozen") {
  for (int round = 0; round < (testing::on_gpu() ? 2 : 12) && !testing::time_is_over(); ++round) {
    const Network network;
    INFO(network.text);
    const Tensor x = drawn(network.input, 1);
    const auto want = testing::as_recorded([&] { return network(x); });
    check_near(network(x), want);
    std::vector<AxisSize> sizes{{"batch", network.input[0]}};
    for (std::size_t axis = 1; axis < 4; ++axis) sizes.emplace_back(network.input[axis]);
    const Function frozen = freeze([&](const std::vector<Tensor>& in) { return network(in[0]); }, {{DType::float32, sizes, "x"}});
    check_near(frozen({x}), want);
    Shape more = network.input;
    more[0] += 3;
    const Tensor longer = drawn(more, 1);
    check_near(frozen({longer}), testing::as_recorded([&] { return network(longer); }));
  }
}

TEST_CASE("convolutions and products of bytes give the same bits with and without passes, for any zero points") {
  for (int round = 0; round < (testing::on_gpu() ? 2 : 12) && !testing::time_is_over(); ++round) {
    const DType x_type = pick(0, 1) ? DType::uint8 : DType::int8, w_type = pick(0, 1) ? DType::int8 : DType::uint8;
    const auto wide = [](const Tensor& t) { return t.astype(DType::int32); };
    const std::int64_t channels = pick(1, 40), filters = pick(1, 40);
    const bool depthwise = pick(0, 2) == 0;
    const Tensor x = bytes({2, channels, 7, 9}, x_type), w = bytes({depthwise ? channels : filters, depthwise ? 1 : channels, 3, 3}, w_type);
    const std::int32_t x_zero = static_cast<std::int32_t>(pick(0, 1) * pick(0, 100)), w_zero = static_cast<std::int32_t>(pick(0, 1) * pick(0, 100));
    const ConvOptions how{.stride = pick(1, 2), .padding = pick(0, 1), .groups = depthwise ? channels : 1};
    const auto sums = [&](const Tensor& given) { return conv2d(wide(given) - x_zero, wide(w) - w_zero, {}, how); };
    const auto network = [&](const Tensor& given) { return std::vector<Tensor>{sums(given), relu(sums(given).astype(DType::float32) * 0.25f + 1.f)}; };
    INFO(channels, " to ", filters, " zeros ", x_zero, " ", w_zero, depthwise ? " depthwise" : "", " ", name(x_type), " by ", name(w_type));
    const auto want = testing::as_recorded([&] { return network(x); });
    const Function frozen = freeze([&](const std::vector<Tensor>& in) { return network(in[0]); }, {{x_type, {2, channels, 7, 9}, "x"}});
    for (const auto& got : {network(x), frozen({x})}) {
      CHECK(got[0].to_vector<std::int32_t>() == want[0].to_vector<std::int32_t>());
      CHECK(got[1].to_vector<float>() == want[1].to_vector<float>());
    }
    const std::int64_t rows = pick(1, 20), depth = pick(1, 70), columns = pick(1, 50);
    const Tensor a = bytes({rows, depth}, x_type), b = bytes({columns, depth}, w_type);
    const auto product = [&](const Tensor& given) { return matmul(wide(given), wide(b.T())); };
    const auto exact = testing::as_recorded([&] { return std::vector<Tensor>{product(a)}; })[0].to_vector<std::int32_t>();
    CHECK(product(a).to_vector<std::int32_t>() == exact);
    CHECK(freeze([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{product(in[0])}; }, {{x_type, {rows, depth}, "a"}})({a})[0]
              .to_vector<std::int32_t>() == exact);
  }
}

TEST_CASE("weights are packed once, and again after they are written") {
  if (!testing::convolves_in_blocks()) return;
  const Tensor x = drawn({2, 32, 9, 9}, 1), after = drawn({32, 32, 1, 1}, 0.3f);
  Tensor w = drawn({32, 32, 3, 3}, 0.1f);
  const auto network = [&] { return std::vector<Tensor>{conv2d(relu(conv2d(x, w, {}, {.padding = 1})), after)}; };
  const auto launches_of = [&] {
    const Counters before = counters();
    eval(network());
    const Counters now = counters();
    return now.kernels_launched + now.library_calls - before.kernels_launched - before.library_calls;
  };
  CHECK(explain(network()).find("passes  block_channels 2") != std::string::npos);
  const auto first = launches_of(), second = launches_of();
  CHECK(second <= first);
  CHECK(launches_of() == second);
  const auto old = network()[0].to_vector<float>();
  const Tensor held = w;
  w(0, 0) = 3.f;  // recorded: `held` keeps the old elements
  check_near(network(), testing::as_recorded(network));
  CHECK(conv2d(relu(conv2d(x, held, {}, {.padding = 1})), after).to_vector<float>() == old);
  eval(w);
  for (int round = 0; round < 3; ++round) {
    w(Slice{round, round + 1}, 1) = static_cast<float>(round);  // written in place, if nobody else holds the elements
    check_near(network(), testing::as_recorded(network));
  }
  Tensor b = bytes({64, 48}, DType::int8);
  const Tensor a = bytes({3, 64}, DType::uint8);
  for (int round = 0; round < 3; ++round) {
    const auto product = [&] { return std::vector<Tensor>{matmul(a.astype(DType::int32), b.astype(DType::int32))}; };
    CHECK(product()[0].to_vector<std::int32_t>() == testing::as_recorded(product)[0].to_vector<std::int32_t>());
    b(round) = 7;
  }
}

TEST_CASE("factors and offsets of channels are folded into weights once, and again after one of the tensors is written") {
  if (!testing::convolves_in_blocks()) return;
  const Tensor x = drawn({2, 32, 9, 9}, 1), w = drawn({24, 32, 3, 3}, 0.1f), after = drawn({32, 24, 1, 1}, 0.3f);
  Tensor mean = drawn({24}, 1), variance = abs(drawn({24}, 1)) + 0.3f, scale = drawn({24}, 1);
  eval({mean, variance, scale});
  float factor = 1;
  const auto network = [&] { return std::vector<Tensor>{conv2d(relu(batch_norm(conv2d(x, w), mean, variance, scale * factor, {}, 1e-5)), after)}; };
  const auto folds = [&] { return explain(network()).find("fold_channels") != std::string::npos; };
  const auto calls_of = [&] {
    const Counters before = counters();
    eval(network());
    const Counters now = counters();
    return now.kernels_launched + now.library_calls - before.kernels_launched - before.library_calls;
  };
  check_near(network(), testing::as_recorded(network));
  const auto again = calls_of();
  CHECK(calls_of() == again);
  for (Tensor* const written : {&variance, &scale, &mean}) {
    (*written)(3) = 0.7f;
    check_near(network(), testing::as_recorded(network));
  }
  CHECK(folds());
  // Factors that differ in each evaluation are not folded into weights every time.
  for (int round = 0; round < 8; ++round) {
    factor += 0.25f;
    check_near(network(), testing::as_recorded(network));
  }
  CHECK_FALSE(folds());
  factor = 1;
  CHECK(folds());
}

TEST_CASE("several threads evaluate with weights that nobody has packed yet") {
  const Tensor x = drawn({1, 32, 12, 12}, 1), w = drawn({48, 32, 3, 3}, 0.1f), v = drawn({16, 48, 1, 1}, 0.1f);
  const auto network = [&] { return conv2d(conv2d(x, w, {}, {.padding = 1}), v); };
  std::vector<std::vector<float>> results(4);
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = network().to_vector<float>(); });
  }
  for (const auto& result : results) CHECK(result == results[0]);
  check_near({from_span(results[0])}, {from_span(testing::as_recorded([&] { return std::vector<Tensor>{network()}; })[0].to_vector<float>())});
}

TEST_CASE("explain_boundary uses the plan with its passes, or the recording if a pass merged the two values") {
  const Tensor x = drawn({1, 16, 8, 8}, 1), w = drawn({16, 16, 3, 3}, 1), bias = drawn({16}, 1);
  const Tensor first = conv2d(x, w), active = relu(first), second = conv2d(active, w), shifted = conv2d(x, w, bias);
  CHECK(explain_boundary(first, active, {second}).size() > 0);
  CHECK(explain_boundary(active, second).size() > 0);
  CHECK(explain_boundary(shifted, conv2d(relu(shifted), w)).size() > 0);
}

TEST_CASE("passes are left out by name") {
  if (!testing::convolves_in_blocks()) return;
  const auto report = [](const std::string& without) {
    const auto scope = testing::without_passes(without);
    const Tensor x = drawn({1, 16, 8, 8}, 1), w = drawn({16, 16, 3, 3}, 1);
    return explain(conv2d(conv2d(x, w), w));
  };
  CHECK(report("").find("passes  block_channels 2") != std::string::npos);
  for (const char* without : {"block_channels", "lay_out_bytes,block_channels", "all"}) CHECK(report(without).find("conv_blocked") == std::string::npos);
  CHECK(report("lay_out_bytes").find("conv_blocked") != std::string::npos);
  CHECK_THROWS_WITH_AS(report("no_such_pass"), doctest::Contains("block_channels, fold_channels"), ValueError);
}
