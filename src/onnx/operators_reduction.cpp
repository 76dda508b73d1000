// Operators over axes: reductions, scans, softmax and similar ones.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "onnx/call.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

Axes all_axes(int rank) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// Computes a reduction whose axes are an attribute in older versions and an input in newer ones. The result keeps the type.
template <class F> Results reduced(const Call& c, F&& reduce) {
  const Tensor& x = c.tensor(0);
  const bool keepdims = c.integer("keepdims", 1) != 0;
  const auto axes = c.axes("axes", 1);
  Axes over = all_axes(x.ndim());
  if (axes && !axes->empty()) over = *axes;
  else if (c.integer("noop_with_empty_axes", 0) != 0) over = std::vector<std::int64_t>{};
  const Tensor result = reduce(c[0], over, keepdims);
  return {result.dtype() == x.dtype() ? result : astype(c.at_node(result), x.dtype())};
}

Tensor squares(const Call& c, const Arg& x) {
  return square(astype(x, is_floating(c.tensor(0).dtype()) ? traits(c.tensor(0).dtype()).compute : c.tensor(0).dtype()));
}

/// Returns the position of the extremum; of several equal elements, the first or the last.
template <Tensor (*place)(const Arg&, std::optional<std::int64_t>, bool)> Results extremum(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t axis = c.axis(c.integer("axis", 0), x.ndim());
  const bool keepdims = c.integer("keepdims", 1) != 0;
  if (c.integer("select_last_index", 0) == 0) return {place(c[0], axis, keepdims)};
  const Tensor mirrored = flip(c[0], axis);
  return {subtract(x.size(static_cast<int>(axis)) - 1, c.at_node(place(c.at_node(mirrored), axis, keepdims)))};
}

Results cum_sum(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<std::int64_t> given = c.values(1);
  if (given.size() != 1) c.refuse("the axis has to be one number");
  const std::int64_t axis = c.axis(given[0], x.ndim());
  const bool reverse = c.integer("reverse", 0) != 0;
  Tensor in = reverse ? flip(c[0], axis) : x;
  if (c.integer("exclusive", 0) != 0) {
    std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(x.ndim()));
    widths[static_cast<std::size_t>(axis)] = {1, 0};
    std::vector<Index> all(static_cast<std::size_t>(x.ndim()), Index(Slice{}));
    all[static_cast<std::size_t>(axis)] = Slice{0, x.size(static_cast<int>(axis))};
    in = std::as_const(in = pad(c.at_node(in), widths)).at(all, c.where());
  }
  Tensor out = cumsum(c.at_node(in), axis, x.dtype());
  return {reverse ? flip(c.at_node(out), axis) : out};
}

/// Returns the axes. Before opset 13, all axes from `axis` on were treated as one.
Axes normalised_axes(const Call& c) {
  const int rank = c.tensor(0).ndim();
  if (c.opset() >= 13) return c.axis(c.integer("axis", -1), rank);
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = c.integer("axis", 1) == rank ? rank : c.axis(c.integer("axis", 1), rank); axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Results hardmax(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int rank = x.ndim();
  Tensor flat = x;
  std::int64_t axis = c.opset() >= 13 ? c.axis(c.integer("axis", -1), rank) : 1;
  if (c.opset() < 13) {
    const std::int64_t first = c.axis(c.integer("axis", 1), rank);
    std::int64_t rows = 1;
    for (int i = 0; i < first; ++i) rows *= x.size(i);
    flat = reshape(c[0], {rows, -1});
  }
  const Tensor place = argmax(c.at_node(flat), axis, true);
  Shape along(static_cast<std::size_t>(flat.ndim()), 1);
  along[static_cast<std::size_t>(axis)] = flat.size(static_cast<int>(axis));
  const Tensor numbers = reshape(arange(Arg(flat.size(static_cast<int>(axis)), c.where())), along);
  return {reshape(c.at_node(astype(c.at_node(equal(place, numbers)), x.dtype())), x.shape())};
}

/// Returns the least (or greatest) value of the type.
Tensor extreme_value(const Call& c, DType dtype, bool lowest) {
  return visit_storage(dtype, [&]<class T>() -> Tensor {
    if constexpr (std::is_integral_v<T>) return full({}, Arg(lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max(), c.where()), dtype);
    else return full({}, Arg(lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity(), c.where()), dtype);
  });
}

/// For an empty operand, the maximum is the least value of the type, and the minimum the greatest.
template <Tensor (*reduce)(const Arg&, const Axes&, bool)> Results extreme(const Call& c, bool largest) {
  return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) {
    const Tensor& t = x.tensor();
    bool nothing = false;
    for (const std::int64_t axis : axes.list()) nothing |= t.size(static_cast<int>(c.axis(axis, t.ndim()))) == 0;
    if (!nothing || t.dtype() == DType::bool_) return reduce(x, axes, keep);
    return full(sum(x, axes, keep).shape(), c.at_node(extreme_value(c, t.dtype(), largest)));
  });
}

const Operator kReductionRows[] = {
    {"ArgMax", {1, 1}, extremum<argmax>},
    {"ArgMin", {1, 1}, extremum<argmin>},
    {"CumSum", {2, 2}, cum_sum},
    {"Hardmax", {1, 1}, hardmax},
    {"LogSoftmax", {1, 1}, [](const Call& c) -> Results { return {log_softmax(c[0], normalised_axes(c))}; }},
    {"ReduceL1", {1, 2}, [](const Call& c) { return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) { return sum(absolute(x), axes, keep); }); }},
    {"ReduceL2",
     {1, 2},
     [](const Call& c) { return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) { return sqrt(sum(squares(c, x), axes, keep)); }); }},
    {"ReduceLogSum", {1, 2}, [](const Call& c) { return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) { return log(sum(x, axes, keep)); }); }},
    {"ReduceLogSumExp", {1, 2}, [](const Call& c) { return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) { return logsumexp(x, axes, keep); }); }},
    {"ReduceMax", {1, 2}, [](const Call& c) { return extreme<max>(c, true); }},
    {"ReduceMean", {1, 2}, [](const Call& c) { return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) { return mean(x, axes, keep); }); }},
    {"ReduceMin", {1, 2}, [](const Call& c) { return extreme<min>(c, false); }},
    {"ReduceProd", {1, 2}, [](const Call& c) { return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) { return prod(x, axes, keep); }); }},
    {"ReduceSum", {1, 2}, [](const Call& c) { return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) { return sum(x, axes, keep); }); }},
    {"ReduceSumSquare",
     {1, 2},
     [](const Call& c) { return reduced(c, [&](const Arg& x, const Axes& axes, bool keep) { return sum(squares(c, x), axes, keep); }); }},
    {"Softmax", {1, 1}, [](const Call& c) -> Results { return {softmax(c[0], normalised_axes(c))}; }},
};

}  // namespace

std::span<const Operator> reduction_operators() { return kReductionRows; }

}  // namespace sinter::onnx
