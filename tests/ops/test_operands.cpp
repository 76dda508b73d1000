// Wrong operands of functions that the command does not have, or has in fewer forms than C++. Up to three valid operands are replaced by others of any shape,
// type and value, SINTER_ARGUMENTS_PAIRS times for each function.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sinter/decompositions.hpp>
#include <sinter/recurrent.hpp>
#include <string>
#include <vector>
#include "ops/blocked.hpp"

#include "attempts.hpp"
#include "cases.hpp"
#include "says.hpp"
#include "seed.hpp"

namespace sn = sinter;
using namespace sinter::testing;
using sn::DType;
using sn::Shape;
using sn::Tensor;

namespace {

struct Operands {
  std::vector<Tensor> tensors;
  std::vector<std::int64_t> integers;
};
using Results = std::vector<Tensor>;
struct Function {
  const char* name;
  Operands (*right)();
  Results (*call)(const Operands&);
};

Tensor made(const Shape& shape, DType dtype = DType::float32) { return sn::ones(shape, dtype); }
template <class Enum> Enum named(std::int64_t number, Enum last) {
  return static_cast<Enum>(std::clamp<std::int64_t>(number, 0, static_cast<std::int64_t>(last)));
}

const Function kFunctions[] = {
    {"pad", [] { return Operands{{made({2, 3}), made({})}, {1, 2}}; },
     [](const Operands& o) { return Results{sn::pad(o.tensors[0], {{o.integers[0], o.integers[1]}}, sn::PadMode::constant, o.tensors[1])}; }},
    {"pad by another mode", [] { return Operands{{made({2, 3}), made({1})}, {1, 2, 0, 1, 0}}; },
     [](const Operands& o) {
       return Results{
           sn::pad(o.tensors[0], {{o.integers[0], o.integers[1]}, {o.integers[2], o.integers[3]}}, named(o.integers[4], sn::PadMode::wrap), o.tensors[1])};
     }},
    {"block_channels", [] { return Operands{{made({1, 3, 4, 4})}, {}}; }, [](const Operands& o) { return Results{sn::block_channels(o.tensors[0])}; }},
    {"unblock_channels", [] { return Operands{{made({1, 1, 4, 4, 16})}, {3}}; },
     [](const Operands& o) { return Results{sn::unblock_channels(o.tensors[0], o.integers[0])}; }},
    {"block_filters", [] { return Operands{{made({16, 16, 3, 3})}, {0}}; },
     [](const Operands& o) { return Results{sn::block_filters(o.tensors[0], named(o.integers[0], sn::FilterLayout::winograd))}; }},
    {"conv2d_blocked", [] { return Operands{{made({1, 1, 6, 6, 16}), made({1, 1, 3, 3, 16, 16}), made({16})}, {1, 0, 1, 1}}; },
     [](const Operands& o) {
       return Results{sn::conv2d_blocked(o.tensors[0], o.tensors[1], o.tensors[2], {o.integers[0], o.integers[1], o.integers[2], o.integers[3]})};
     }},
    {"conv2d_blocked by minimal filtering", [] { return Operands{{made({1, 1, 6, 6, 16}), made({16, 1, 1, 16, 16}), made({16})}, {1, 0, 1, 1}}; },
     [](const Operands& o) {
       return Results{sn::conv2d_blocked(o.tensors[0], o.tensors[1], o.tensors[2], {o.integers[0], o.integers[1], o.integers[2], o.integers[3]})};
     }},
    {"block_byte_filters", [] { return Operands{{made({16, 16, 3, 3}, DType::int8)}, {0}}; },
     [](const Operands& o) { return Results{sn::block_byte_filters(o.tensors[0], named(o.integers[0], sn::ByteFilterLayout::depthwise))}; }},
    {"conv2d_bytes",
     [] {
       return Operands{{made({1, 1, 6, 6, 16}, DType::uint8), made({1, 1, 3, 3, 4, 16, 4}, DType::int8), made({16}, DType::int32), made({1}, DType::uint8)},
                       {1, 0, 1}};
     },
     [](const Operands& o) {
       return Results{sn::conv2d_bytes(o.tensors[0], o.tensors[1], o.tensors[2], o.tensors[3], {o.integers[0], o.integers[1], o.integers[2]})};
     }},
    {"conv2d_bytes_scaled",
     [] {
       return Operands{{made({1, 1, 6, 6, 16}, DType::uint8), made({1, 1, 3, 3, 4, 16, 4}, DType::int8), made({16}, DType::int32), made({1}, DType::uint8),
                        made({16}), made({16})},
                       {1, 0, 1}};
     },
     [](const Operands& o) {
       return Results{sn::conv2d_bytes_scaled(o.tensors[0], o.tensors[1], o.tensors[2], o.tensors[3], o.tensors[4], o.tensors[5],
                                              {o.integers[0], o.integers[1], o.integers[2]})};
     }},
    {"block_few_channels", [] { return Operands{{made({1, 3, 4, 4}, DType::uint8)}, {}}; },
     [](const Operands& o) { return Results{sn::block_few_channels(o.tensors[0])}; }},
    {"byte_panels", [] { return Operands{{made({5, 7}, DType::int8)}, {}}; }, [](const Operands& o) { return Results{sn::byte_panels(o.tensors[0])}; }},
    {"matmul_panels", [] { return Operands{{made({2, 5}, DType::uint8), sn::byte_panels(made({5, 7}, DType::int8))}, {7}}; },
     [](const Operands& o) { return Results{sn::matmul_panels(o.tensors[0], o.tensors[1], o.integers[0])}; }},
    {"recurrence", [] { return Operands{{made({3, 2, 16}), made({5, 16}), made({2, 2, 4})}, {4}}; },
     [](const Operands& o) { return Results{sn::recurrence(named(o.integers[0], sn::Cell::lstm), o.tensors[0], o.tensors[1], o.tensors[2])}; }},
    {"byte_recurrence", [] { return Operands{{made({3, 2, 16}), made({16}), made({2, 2, 4}), made({4, 16}, DType::uint8), made({16})}, {4}}; },
     [](const Operands& o) {
       const sn::ByteWeights weights{o.tensors[3], o.tensors[1], o.tensors[4], o.tensors[1]};
       return Results{sn::recurrence(named(o.integers[0], sn::Cell::lstm), o.tensors[0], weights, o.tensors[2])};
     }},
    {"ragged_recurrence", [] { return Operands{{made({3, 2, 12}), made({5, 12}), made({1, 2, 4}), made({2}, DType::int64)}, {2}}; },
     [](const Operands& o) {
       return Results{sn::recurrence(named(o.integers[0], sn::Cell::lstm), o.tensors[0], o.tensors[1], o.tensors[2], true, o.tensors[3])};
     }},
    {"ragged_recurrence of inputs", [] { return Operands{{made({3, 2, 6}), made({12, 12}), made({1, 2, 4}), made({2}, DType::int64)}, {2}}; },
     [](const Operands& o) {
       return Results{sn::recurrence(named(o.integers[0], sn::Cell::lstm), o.tensors[0], o.tensors[1], o.tensors[2], true, o.tensors[3])};
     }},
    {"resize", [] { return Operands{{made({1, 1, 4, 4}), made({2})}, {3, 5, 1, 1, 0}}; },
     [](const Operands& o) {
       sn::ResizeOptions how;
       how.mode = named(o.integers[2], sn::Interpolation::cubic);
       how.antialias = o.integers[3] > 1;
       how.coordinates = named(o.integers[4], sn::Coordinates::tf_crop_and_resize);
       if (o.tensors[1].ndim() == 1) how.scales = sn::astype(o.tensors[1], DType::float64).to_vector<double>();
       const double end = how.scales.empty() ? 0 : how.scales[0];
       if (how.coordinates == sn::Coordinates::tf_crop_and_resize) how.region = {{0, 1}, {end, 1}};
       return Results{sn::resize(o.tensors[0], {o.integers[0], o.integers[1]}, how)};
     }},
    {"assignment to a part", [] { return Operands{{made({3, 4}), made({4})}, {1, 0, 2}}; },
     [](const Operands& o) {
       Tensor x = o.tensors[0];
       x(o.integers[0]) = o.tensors[1];
       x(sn::Slice{o.integers[1], o.integers[2]}) = o.tensors[1];
       return Results{x};
     }},
    {"random::Key::split", [] { return Operands{{}, {3}}; },
     [](const Operands& o) { return Results{Tensor(static_cast<std::int64_t>(sn::random::Key(7).split(static_cast<std::size_t>(o.integers[0])).size()))}; }},
    {"random::loggamma", [] { return Operands{{made({3})}, {3}}; },
     [](const Operands& o) { return Results{sn::random::loggamma(sn::random::Key(7), {o.integers[0]}, o.tensors[0])}; }},
    {"combine_at", [] { return Operands{{made({4}), sn::astype(made({2}), DType::int64), made({2})}, {}}; },
     [](const Operands& o) {
       return Results{sn::combine_at(o.tensors[0], sn::Index(o.tensors[1]), o.tensors[2], [](const Tensor& a, const Tensor& b) { return sn::maximum(a, b); })};
     }},
    {"batch_norm", [] { return Operands{{made({2, 3, 4}), made({3}), made({3}), made({3}), made({3})}, {}}; },
     [](const Operands& o) { return Results{sn::batch_norm(o.tensors[0], o.tensors[1], o.tensors[2], o.tensors[3], o.tensors[4])}; }},
    {"scaled_dot_product_attention", [] { return Operands{{made({2, 3, 4}), made({2, 5, 4}), made({2, 5, 6}), made({3, 5})}, {}}; },
     [](const Operands& o) {
       sn::AttentionOptions how;
       how.mask = o.tensors[3];
       return Results{sn::scaled_dot_product_attention(o.tensors[0], o.tensors[1], o.tensors[2], how)};
     }},
};

constexpr std::int64_t kIntegers[] = {
    0, 1, -1, 2, 3, 4, 7, 17, -5, 100, std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{1} << 62, -(std::int64_t{1} << 62), INT64_MAX, INT64_MIN};

Tensor any_tensor(std::mt19937& rng) {
  static const Shape shapes[] = {{},
                                 {0},
                                 {1},
                                 {2},
                                 {3},
                                 {16},
                                 {0, 3},
                                 {2, 3},
                                 {4, 4},
                                 {2, 3, 4},
                                 {1, 1, 4, 4},
                                 {16, 16, 3, 3},
                                 {1, 1, 1, 1, 16},
                                 {1, 0, 4, 4, 16},
                                 {1, 1, 3, 3, 16, 16},
                                 {1, 1, 1, 1, 1, 1, 1}};
  const auto dtype = static_cast<DType>(rng() % sn::kDTypeCount);
  const Shape& shape = shapes[rng() % std::size(shapes)];
  if (rng() % 12 == 0) return {};
  if (rng() % 3 == 0 && sn::is_floating(dtype)) return sn::full(shape, rng() % 2 ? NAN : -INFINITY, dtype);
  return sn::full(shape, rng() % 2 ? 1 : 100, dtype);
}

/// Describes an attempt as "name/seed".
Results called(const std::string& call) {
  const std::size_t slash = call.rfind('/');
  const Function& function = *std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const Function& f) { return f.name == call.substr(0, slash); });
  std::mt19937 rng(static_cast<std::uint32_t>(std::stoul(call.substr(slash + 1))));
  Operands operands = function.right();
  const std::size_t tensors = operands.tensors.size(), all = tensors + operands.integers.size();
  for (std::size_t k = rng() % 4; k > 0; --k) {
    const std::size_t at = rng() % all;
    if (at >= tensors) operands.integers[at - tensors] = kIntegers[rng() % std::size(kIntegers)];
    else if (rng() % 4 == 0 && !operands.tensors[at].empty_handle())
      operands.tensors[at] = sn::astype(operands.tensors[at], static_cast<DType>(rng() % sn::kDTypeCount));
    else operands.tensors[at] = any_tensor(rng);
  }
  return function.call(operands);
}

}  // namespace

TEST_CASE("wrong operands give a result or one of sinter's exceptions") {
  const std::size_t times = 20 * number("SINTER_ARGUMENTS_PAIRS", 4);
  std::mt19937 rng(test_seed());
  Tried tried;
  std::vector<std::string> calls;
  for (const Function& function : kFunctions)
    for (std::size_t k = 0; k < times; ++k) calls.push_back(function.name + std::string("/") + std::to_string(rng()));
  run(calls, called, tried);
  MESSAGE(std::size(kFunctions) << " functions: " << tried.calls << " calls, " << tried.computed << " computed, " << tried.refused << " refused, "
                                << tried.failures << " failed");
  CHECK(tried.failures == 0);
  CHECK(tried.calls == tried.computed + tried.refused + tried.failures);
  CHECK(tried.computed > tried.calls / 10);
}

TEST_CASE("the value that pads a tensor must be one element") {
  const Tensor x = made({2, 3});
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1, 1}})
    CHECK(sn::pad(x, {{1, 0}, {0, 0}}, sn::PadMode::constant, sn::full(shape, 7)).to_vector<float>()[0] == 7);
  CHECK(sn::pad(made({}), {}, sn::PadMode::constant, made({1})).to_vector<float>()[0] == 1);
  says<sn::ShapeError>([&] { sn::pad(x, {{1, 1}}, sn::PadMode::constant, made({5})); },
                       "pad: a value of shape (5,); it must be a number, or a tensor of one element");
  says<sn::ShapeError>([&] { sn::pad(x, {{1, 1}}, sn::PadMode::constant, made({0})); },
                       "pad: a value of shape (0,); it must be a number, or a tensor of one element");
  says<sn::ShapeError>([&] { sn::pad(x, {{1, 1}}, sn::PadMode::constant, made({4, 5})); },
                       "pad: a value of shape (4, 5); it must be a number, or a tensor of one element");
}

TEST_CASE("numbers that no integer can represent are refused, or saturate as in NumPy") {
  const auto tries = [](double p, DType dtype = DType::int64) {
    return sn::astype(sn::random::geometric(sn::random::Key(7), {64}, p, dtype), DType::int64).to_vector<std::int64_t>();
  };
  for (const double p : {1e-300, 5e-324}) CHECK(tries(p) == std::vector<std::int64_t>(64, INT64_MAX));
  const auto all_in = [](const std::vector<std::int64_t>& numbers, std::int64_t low, std::int64_t high) {
    return std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t n) { return n >= low && n <= high; });
  };
  CHECK(all_in(tries(1e-18), 1, INT64_MAX));
  CHECK(all_in(tries(1e-3, DType::int8), 1, 127));
  CHECK(tries(1e-9, DType::int8) == std::vector<std::int64_t>(64, 127));
  CHECK(tries(1e-9, DType::uint16) == std::vector<std::int64_t>(64, 65535));
  const Tensor x = made({1, 1, 4});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double scale : {std::nan(""), kInfinity, 1e300, -kInfinity, -1e300, 1e19})
    CHECK_THROWS_AS(sn::interpolate(x, {.scale_factor = {scale}}), sn::Error);
  says<sn::ValueError>([&] { sn::interpolate(x, {.scale_factor = {NAN}}); }, "interpolate: a size times scale_factor is nan, which is not a 64-bit integer");
  says<sn::ValueError>([&] { sn::arange(NAN, 5., 1., DType::int64); }, "arange: nan to 5 by 1 is not a range of fewer than 2^62 elements");
  CHECK_THROWS_AS(sn::random::binomial(sn::random::Key(7), {3}, INT64_MAX, 0.5), sn::ValueError);
}

TEST_CASE("errors state the true limits") {
  const Tensor x = made({1, 4, 6});
  const std::int64_t many = std::int64_t{1} << 32;
  says<sn::ValueError>([&] { sn::max_pool(x, many); }, "max_pool: kernel_size of 4294967296; it must be from 1 to 2^31");
  says<sn::ValueError>([&] { sn::max_pool(x, 2, {.padding = many}); }, "max_pool: padding of 4294967296 and 4294967296; it must be from 0 to 2^31");
  says<sn::ShapeError>([&] { sn::conv1d(x, made({2, 4, 3}), {}, {.padding = 1 << 20}); },
                       "conv1d: padding of 1048576 and 1048576 around axis 2 of shape (1, 4, 6); it must be at most 65545");
  says<sn::ValueError>([&] { sn::array_split(x, many); }, "array_split: 4294967296 sections; one call records at most 1048576");
  says<sn::ValueError>([&] { sn::adaptive_avg_pool(x, std::int64_t{1} << 31); },
                       "adaptive_avg_pool: 2147483648 windows of several sizes; one call records at most 65536");
  says<sn::ValueError>([&] { sn::einsum("i,i", std::vector<Tensor>(3001, made({2}))); }, "einsum: 3001 operands; one call records at most 64");
  says<sn::ValueError>([&] { sn::pixel_shuffle(made({1, 4, 2, 2}), many); }, "pixel_shuffle: upscale_factor of 4294967296; it must be from 1 to 1048576");
  says<sn::LinAlgError>([&] { sn::eigvals(sn::full({2, 2}, NAN)).re.to_vector<double>(); },
                        "eigvals: the matrix of shape (2, 2) has infinities or NaN among its elements", 3);
  CHECK(sn::local_response_norm(x, many).shape() == Shape{1, 4, 6});
  CHECK(sn::allclose(sn::local_response_norm(x, 100, 1.0), x / sn::power(1.0 + 0.04, 0.75), 1e-6, 1e-6).item<bool>());
  CHECK(sn::tri(3, {}, INT64_MAX).to_vector<double>() == std::vector<double>(9, 1));
  CHECK(sn::tri(3, {}, INT64_MIN).to_vector<double>() == std::vector<double>(9, 0));
  CHECK(sn::diagonal(made({3, 3}), INT64_MIN).size() == 0);
}

int main(int argc, char** argv) { return run_cases(argc, argv); }
