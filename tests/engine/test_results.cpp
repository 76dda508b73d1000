// Enumerates programs with two results: an operation y of every kind, and every view z of y. Both are requested in either order, or with more work, a view of
// the view, or a reduction of the view. Shapes include empty axes, axes of size 1 and no axes. The reference is plain C++ in float64; memory is poisoned
// (SINTER_POISON), so that an element that nothing computes shows.
//
// A default run draws a random sample, which SINTER_TEST_SEED repeats. SINTER_TEST_STRIDE=1 runs all programs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;
using sn::Index;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A value as a tensor and as the reference's array, with its NumPy expression.
struct Value {
  Tensor tensor;
  Ref ref;
  std::string text;
};

using Fold = double (*)(double, double);
double plus(double a, double b) { return a + b; }
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

Ref kept(Ref r, const Shape& before, std::size_t axis) {
  Shape shape = before;
  shape[axis] = 1;
  return {shape, std::move(r.v)};
}
Ref along(const Ref& x, std::size_t axis, double start, Fold f) { return kept(reduce(x, {static_cast<std::int64_t>(axis)}, start, f), x.shape, axis); }
std::vector<std::int64_t> reversed_axes(std::size_t rank) {
  std::vector<std::int64_t> axes;
  for (std::size_t k = rank; k-- > 0;) axes.push_back(static_cast<std::int64_t>(k));
  return axes;
}

/// Small whole numbers from 1 on: sums are exact in every dtype, and no value is that of poisoned memory.
Value leaf(std::mt19937& rng, const Shape& shape, DType dtype, const char* name) {
  const auto [tensor, ref] = random(rng, shape, dtype, 1, 6);
  if (!sn::is_floating(dtype)) return {tensor, ref, name};
  const Ref whole = map(ref, [](double v) { return std::floor(v); });
  return {sn::floor(tensor), whole, name};
}

// --- the kinds of y -------------------------------------------------------------------------------------------------------------

struct Operands {
  Value a, b, row;  // row broadcasts along the leading axes
  DType dtype;
};

std::vector<Value> results(const Operands& in) {
  const auto& [a, b, row, dtype] = in;
  const std::size_t rank = a.ref.shape.size();
  const bool computes = dtype != DType::bool_;  // bool has no arithmetic
  const auto real = [&](const Value& x) { return sn::astype(x.tensor, DType::float64); };
  std::vector<Value> list;
  const auto add = [&](Tensor t, Ref r, std::string text) { list.push_back({std::move(t), std::move(r), std::move(text)}); };

  add(a.tensor, a.ref, "a");
  if (computes) {
    add(a.tensor + b.tensor, zip(a.ref, b.ref, plus), "a + b");
    add(a.tensor * row.tensor, zip(a.ref, row.ref, std::multiplies<double>()), "a * row");
  }
  add(a.tensor < b.tensor, zip(a.ref, b.ref, [](double x, double y) { return double(x < y); }), "a < b");
  add(
      sn::where(a.tensor == b.tensor, a.tensor, row.tensor),
      [&] {
        Ref out = a.ref;
        const Ref wide = broadcast(row.ref, a.ref.shape);
        for (std::size_t k = 0; k < out.v.size(); ++k)
          if (a.ref.v[k] != b.ref.v[k]) out.v[k] = wide.v[k];
        return out;
      }(),
      "where(a == b, a, row)");
  add(sn::exp(real(a)), map(a.ref, [](double v) { return std::exp(v); }), "exp(a)");
  add(sn::astype(a.tensor, DType::int32), a.ref, "a.astype(int32)");
  add(sn::contiguous(sn::transpose(sn::maximum(a.tensor, b.tensor))), permute(zip(a.ref, b.ref, larger), reversed_axes(rank)), "contiguous(maximum(a, b).T)");
  add(sn::transpose(sn::minimum(a.tensor, b.tensor)), permute(zip(a.ref, b.ref, smaller), reversed_axes(rank)), "minimum(a, b).T");
  const auto count = static_cast<std::int64_t>(a.ref.v.size());
  Ref counted{a.ref.shape, {}};
  for (std::int64_t k = 0; k < count; ++k) counted.v.push_back(static_cast<double>(k));
  add(sn::arange(count).reshape(a.ref.shape), counted, "arange(n).reshape(shape)");
  add(sn::full(a.ref.shape, 3, dtype == DType::bool_ ? DType::int64 : dtype), map(a.ref, [](double) { return 3.0; }), "full(shape, 3)");

  std::vector<std::int64_t> every = reversed_axes(rank);
  add(sn::sum(a.tensor), reduce(a.ref, every, 0, plus), "sum(a)");
  if (!a.ref.v.empty()) add(sn::max(a.tensor), reduce(a.ref, every, -kInfinity, larger), "max(a)");
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto k = static_cast<std::int64_t>(axis);
    add(sn::sum(a.tensor, k), reduce(a.ref, {k}, 0, plus), fmt::format("sum(a, {})", axis));
    if (a.ref.shape[axis] > 0) add(sn::min(a.tensor, k, true), along(a.ref, axis, kInfinity, smaller), fmt::format("min(a, {}, keepdims)", axis));
    if (computes) add(a.tensor + sn::sum(b.tensor, k, true), zip(a.ref, along(b.ref, axis, 0, plus), plus), fmt::format("a + sum(b, {}, keepdims)", axis));
    if (computes) {
      Ref so_far = a.ref;
      std::int64_t step = 1;
      for (std::size_t after = axis + 1; after < rank; ++after) step *= a.ref.shape[after];
      for (std::size_t at = 0; at < so_far.v.size(); ++at)
        if (static_cast<std::int64_t>(at) / step % a.ref.shape[axis] > 0) so_far.v[at] += so_far.v[at - static_cast<std::size_t>(step)];
      add(sn::cumsum(a.tensor, k), so_far, fmt::format("cumsum(a, {})", axis));
    }
    if (a.ref.shape[axis] > 0) {
      const Ref top = along(a.ref, axis, -kInfinity, larger);
      const Ref e = map(zip(a.ref, top, std::minus<double>()), [](double v) { return std::exp(v); });
      add(sn::logsumexp(real(a), k, true), zip(top, map(along(e, axis, 0, plus), [](double v) { return std::log(v); }), plus),
          fmt::format("logsumexp(a, {}, keepdims)", axis));
      const Ref places = make(top.shape, [&](const Coords& at) {
        Coords from = at;
        while (a.ref.v[flat(a.ref.shape, from)] != top.v[flat(top.shape, at)]) ++from[axis];
        return static_cast<double>(from[axis]);
      });
      add(sn::argmax(a.tensor, k, true), places, fmt::format("argmax(a, {}, keepdims)", axis));
      add(sn::softmax(real(a), k), zip(e, along(e, axis, 0, plus), std::divides<double>()), fmt::format("softmax(a, {})", axis));
      const double n = static_cast<double>(a.ref.shape[axis]);
      const Ref mean = map(along(a.ref, axis, 0, plus), [&](double v) { return v / n; });
      add(real(a) - sn::mean(real(a), k, true), zip(a.ref, mean, std::minus<double>()), fmt::format("a - mean(a, {}, keepdims)", axis));
    }
  }
  if (computes && rank == 2) {
    const Ref product = make({a.ref.shape[0], b.ref.shape[0]}, [&](const Coords& at) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.ref.shape[1]; ++k) sum += a.ref.v[flat(a.ref.shape, {at[0], k})] * b.ref.v[flat(b.ref.shape, {at[1], k})];
      return sum;
    });
    add(sn::matmul(a.tensor, b.tensor.T()), product, "a @ b.T");
    add(
        sn::matmul(a.tensor + 1, b.tensor.T()) * 2,
        [&] {
          Ref out = product;
          each(out.shape, [&](const Coords& at) {
            for (std::int64_t k = 0; k < b.ref.shape[1]; ++k) out.v[flat(out.shape, at)] += b.ref.v[flat(b.ref.shape, {at[1], k})];
          });
          return map(out, [](double v) { return 2 * v; });
        }(),
        "((a + 1) @ b.T) * 2");
  }
  return list;
}

// --- every view of y -----------------------------------------------------------------------------------------------------------

/// y[start:start+count*step:step] along one axis, which the integer index drops.
Value cut(const Value& y, std::size_t axis, const Slice& slice, std::int64_t start, std::int64_t step, std::int64_t count, const char* text,
          bool dropped = false) {
  Shape shape = y.ref.shape;
  Coords starts(shape.size(), 0), steps(shape.size(), 1);
  shape[axis] = count;
  starts[axis] = start;
  steps[axis] = step;
  Ref ref = strided(y.ref, shape, starts, steps);
  std::vector<Index> index(axis, Slice{});
  if (dropped) {
    index.push_back(start);
    ref.shape.erase(ref.shape.begin() + static_cast<long>(axis));
  } else {
    index.push_back(slice);
  }
  std::string at;
  for (std::size_t k = 0; k < axis; ++k) at += ":, ";
  return {y.tensor.at(index), std::move(ref), fmt::format("{}[{}{}]", y.text, at, text)};
}

std::vector<Value> views(const Value& y) {
  const Shape& shape = y.ref.shape;
  const std::size_t rank = shape.size();
  std::vector<Value> list;
  const auto add = [&](Tensor t, Ref r, const char* text) { list.push_back({std::move(t), std::move(r), fmt::format("{}{}", y.text, text)}); };
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t n = shape[axis];
    const auto slice = [&](const Slice& s, std::int64_t start, std::int64_t step, std::int64_t count, const char* text) {
      list.push_back(cut(y, axis, s, start, step, count, text));
    };
    slice({0, 2}, 0, 1, std::min<std::int64_t>(n, 2), "0:2");
    slice({1, {}}, std::min<std::int64_t>(n, 1), 1, std::max<std::int64_t>(n - 1, 0), "1:");
    slice({{}, {}, 2}, 0, 2, (n + 1) / 2, "::2");
    slice({{}, {}, -1}, std::max<std::int64_t>(n - 1, 0), -1, n, "::-1");
    slice({-1, {}, -2}, std::max<std::int64_t>(n - 1, 0), -2, (n + 1) / 2, "-1::-2");
    slice({-2, {}}, std::max<std::int64_t>(n - 2, 0), 1, std::min<std::int64_t>(n, 2), "-2:");
    slice({1, 1}, 0, 1, 0, "1:1");
    if (n > 0) {
      list.push_back(cut(y, axis, {}, 0, 1, 1, "0", true));
      list.push_back(cut(y, axis, {}, n - 1, 1, 1, fmt::format("{}", n - 1).c_str(), true));
    }
  }
  const auto count = static_cast<std::int64_t>(y.ref.v.size());
  add(y.tensor.reshape({count}), {{count}, y.ref.v}, ".reshape(n)");
  if (count % 2 == 0) add(y.tensor.reshape({2, count / 2}), {{2, count / 2}, y.ref.v}, ".reshape(2, n / 2)");
  if (count % 2 == 0) add(y.tensor.reshape({count / 2, 2}).T(), permute(Ref{{count / 2, 2}, y.ref.v}, {1, 0}), ".reshape(n / 2, 2).T");
  add(sn::transpose(y.tensor), permute(y.ref, reversed_axes(rank)), ".T");
  if (rank == 3) add(sn::permute(y.tensor, {1, 0, 2}), permute(y.ref, {1, 0, 2}), ".permute(1, 0, 2)");
  Shape wide = shape;
  wide.insert(wide.begin(), 2);
  add(sn::broadcast_to(y.tensor, wide), broadcast(y.ref, wide), ".broadcast_to(2, ...)");
  if (rank > 0 && shape.back() == 1) {
    wide = shape;
    wide.back() = 3;
    add(sn::broadcast_to(y.tensor, wide), broadcast(y.ref, wide), ".broadcast_to(..., 3)");
  }
  Coords starts, steps(rank, -1);
  for (auto n : shape) starts.push_back(n - 1);
  add(sn::flip(y.tensor), count == 0 ? y.ref : strided(y.ref, shape, starts, steps), ".flip()");
  Shape narrow;
  for (auto n : shape)
    if (n != 1) narrow.push_back(n);
  add(sn::squeeze(y.tensor), {narrow, y.ref.v}, ".squeeze()");
  Shape more = shape;
  more.push_back(1);
  add(y.tensor.at({sn::ellipsis, sn::newaxis}), {more, y.ref.v}, "[..., None]");
  return list;
}

// --- the wanted results ----------------------------------------------------------------------------------------------------

constexpr int kForms = 10;
/// Returns set number `form` of requested results of y and its view z.
std::vector<Value> wanted(int form, const Value& y, const Value& z, std::mt19937& rng) {
  // Arithmetic in a dtype that has one and is wide enough for the sums.
  const auto wide = [](const Value& v) { return v.tensor.dtype() == DType::bool_ ? sn::astype(v.tensor, DType::int64) : v.tensor; };
  const auto worked = [&](const Value& v) {
    return Value{wide(v) * 2 + 1, map(v.ref, [](double x) { return 2 * x + 1; }), fmt::format("({}) * 2 + 1", v.text)};
  };
  const auto total = [&](const Value& v) {
    const std::size_t rank = v.ref.shape.size();
    if (rank == 0 || rng() % 3 == 0) return Value{sn::sum(wide(v)), reduce(v.ref, reversed_axes(rank), 0, plus), fmt::format("sum({})", v.text)};
    const auto axis = static_cast<std::int64_t>(rng() % rank);
    return Value{sn::sum(wide(v), axis), reduce(v.ref, {axis}, 0, plus), fmt::format("sum({}, {})", v.text, axis)};
  };
  const auto view = [&](const Value& v) {
    auto list = views(v);
    return list[rng() % list.size()];
  };
  switch (form) {
    case 0: return {y, z};
    case 1: return {z, y};
    case 2: return {y, worked(z)};
    case 3: return {worked(z), y};
    case 4: return {y, z, total(z)};
    case 5: return {total(z), y, worked(z)};
    case 6: return {y, view(z), z};
    case 7: return {worked(view(z)), z, y};
    case 8: return {worked(y), worked(z), total(y)};
    default: {
      // An operation on a view of an operation; y itself is not requested.
      const Value deep = worked(view(worked(z)));
      return {deep, worked(z), worked(view(y))};
    }
  }
}

std::string describe(const std::vector<Value>& list) {
  std::string text;
  for (const Value& v : list) text += (text.empty() ? "" : "; ") + v.text;
  return text;
}

/// Returns a description of an error in the evaluated values, or an empty text if there is none.
std::string difference(const std::vector<Value>& list) {
  for (std::size_t r = 0; r < list.size(); ++r) {
    const auto& [tensor, ref, text] = list[r];
    if (tensor.shape() != ref.shape) return fmt::format("result {} has shape {}, not {}", r, sn::to_string(tensor.shape()), sn::to_string(ref.shape));
    const auto got = values(tensor);
    const double slack = tensor.dtype() == DType::float32 ? 1e-5 : 1e-12;
    for (std::size_t k = 0; k < got.size(); ++k)
      if (!(std::abs(got[k] - ref.v[k]) <= slack * (1 + std::abs(ref.v[k])))) return fmt::format("result {} is {} at {}, not {}", r, got[k], k, ref.v[k]);
  }
  return {};
}

const Shape kShapes[] = {{},     {0},       {1},       {5},       {0, 3},    {3, 0},    {1, 1},    {1, 4},  {4, 1},
                         {3, 4}, {2, 3, 4}, {1, 3, 1}, {2, 0, 3}, {3, 1, 2}, {1, 1, 6}, {2, 2, 2}, {3, 70}, {70, 3}};
constexpr DType kTypes[] = {DType::float32, DType::int32, DType::float64, DType::bool_, DType::int64};

std::uint32_t seed() { return test_seed(); }

/// Returns n if one in n programs runs on this executor. Compiling a kernel takes a thousand times as long as interpreting it.
std::uint32_t stride() {
  if (const char* given = std::getenv("SINTER_TEST_STRIDE")) return static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
  const bool interpreted = sn::options().backend == "interpreter";
  if (on_gpu()) return interpreted ? 41 : 601;
  return interpreted ? 5 : 97;
}

}  // namespace

TEST_CASE("an operation's result and any view of it can both be results") {
  const std::uint32_t start = seed(), step = stride();
  MESSAGE("SINTER_TEST_SEED=" << start << ", one in " << step);
  std::uint32_t number = 0, ran = 0;
  int wrong = 0;
  for (const Shape& shape : sinter::testing::shuffled(std::vector(std::begin(kShapes), std::end(kShapes)))) {
    const std::size_t rank = shape.size();
    const auto make_operands = [&](std::mt19937& rng, DType dtype) {
      const Shape last(shape.begin() + static_cast<long>(rank == 0 ? 0 : rank - 1), shape.end());
      return Operands{leaf(rng, shape, dtype, "a"), leaf(rng, shape, dtype, "b"), leaf(rng, last, dtype, "row"), dtype};
    };
    std::mt19937 count_rng(0);
    const std::size_t kinds = results(make_operands(count_rng, DType::float32)).size();
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      const std::size_t view_count = views(results(make_operands(count_rng, DType::float32))[kind]).size();
      for (std::size_t view = 0; view < view_count; ++view)
        for (int form = 0; form < kForms; ++form) {
          if ((number++ + start) % step != 0 || (ran > 0 && sinter::testing::time_is_over())) continue;
          std::mt19937 rng(start + number);
          const DType dtype = kTypes[rng() % 5];
          const auto list = results(make_operands(rng, dtype));
          const Value& y = list[kind % list.size()];
          const auto seen = views(y);
          const auto program = wanted(form, y, seen[view % seen.size()], rng);
          ++ran;
          INFO("shape " << sn::to_string(shape) << " " << std::string(sn::name(dtype)) << ": " << describe(program));
          std::string problem;
          try {
            std::vector<Tensor> tensors;
            for (const Value& v : program) tensors.push_back(v.tensor);
            sn::eval(tensors);
            problem = difference(program);
          } catch (const std::exception& error) {
            problem = error.what();
          }
          if (!problem.empty() && ++wrong <= 20)
            MESSAGE("shape " << sn::to_string(shape) << " " << std::string(sn::name(dtype)) << ": " << describe(program) << ": " << problem);
        }
    }
  }
  MESSAGE(ran << " of " << number << " programs ran");
  CHECK((ran > 100 || sinter::testing::time_is_over()));
  CHECK(wrong == 0);
}

TEST_CASE("a result and a part of it are both computed completely") {
  std::mt19937 rng(seed());
  const auto a = random(rng, {3, 4}, DType::float32, 1, 6), b = random(rng, {3, 4}, DType::float32, 1, 6);
  const Ref sum = zip(a.second, b.second, plus);
  for (const std::int64_t k : {0, 1, 3, 4}) {
    const Tensor y = a.first + b.first, z = y(Slice{}, Slice{0, k});
    sn::eval(y, z);
    CHECK(difference({{y, map(sum, [](double v) { return static_cast<float>(v); }), "y"}}) == "");
    CHECK(z.shape() == Shape{3, k});
  }
}

TEST_CASE("an empty tensor and a sum over an empty axis") {
  const Tensor y = sn::zeros({0, 2, 3}, DType::float64) + sn::sum(sn::zeros({3, 2, 0}, DType::float64));
  CHECK(y.shape() == Shape{0, 2, 3});
  CHECK(y.to_vector<double>().empty());
  const Tensor rows = sn::from_span(std::vector<float>{}, Shape{3, 0});
  CHECK(sn::sum(sn::softmax(rows, 0)).item<float>() == 0);
  const Tensor columns = sn::from_span(std::vector<float>{}, Shape{1, 0});
  CHECK(std::isnan(sn::mean(sn::min(columns, 0, true), 1).to_vector<float>()[0]));
}
