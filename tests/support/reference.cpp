#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace sinter::testing {

std::int64_t flat(const Shape& shape, const Coords& at) {
  std::int64_t index = 0;
  for (std::size_t k = 0; k < shape.size(); ++k) index = index * shape[k] + at[k];
  return index;
}
void each(const Shape& shape, const std::function<void(const Coords&)>& visit) {
  if (element_count(shape) == 0) return;
  Coords at(shape.size(), 0);
  for (;;) {
    visit(at);
    std::size_t k = shape.size();
    while (k > 0 && ++at[k - 1] == shape[k - 1]) at[--k] = 0;
    if (k == 0) return;
  }
}
Ref make(const Shape& shape, const std::function<double(const Coords&)>& value) {
  Ref out{shape, {}};
  out.v.reserve(static_cast<std::size_t>(element_count(shape)));
  each(shape, [&](const Coords& at) { out.v.push_back(value(at)); });
  return out;
}
Ref permute(const Ref& x, const std::vector<std::int64_t>& axes) {
  Shape shape;
  for (auto axis : axes) shape.push_back(x.shape[axis]);
  return make(shape, [&](const Coords& at) {
    Coords from(at.size());
    for (std::size_t k = 0; k < axes.size(); ++k) from[axes[k]] = at[k];
    return x.v[flat(x.shape, from)];
  });
}
Ref strided(const Ref& x, const Shape& shape, const Coords& start, const Coords& step) {
  return make(shape, [&](const Coords& at) {
    Coords from(at.size());
    for (std::size_t k = 0; k < at.size(); ++k) from[k] = start[k] + at[k] * step[k];
    return x.v[flat(x.shape, from)];
  });
}
Ref broadcast(const Ref& x, const Shape& shape) {
  const std::size_t lead = shape.size() - x.shape.size();
  return make(shape, [&](const Coords& at) {
    Coords from(x.shape.size());
    for (std::size_t k = 0; k < from.size(); ++k) from[k] = x.shape[k] == 1 ? 0 : at[lead + k];
    return x.v[flat(x.shape, from)];
  });
}
Ref map(const Ref& x, const std::function<double(double)>& f) {
  Ref out = x;
  for (double& value : out.v) value = f(value);
  return out;
}
Ref zip(const Ref& a, const Ref& b, const std::function<double(double, double)>& f) {
  Shape shape;
  const std::size_t rank = std::max(a.shape.size(), b.shape.size());
  for (std::size_t k = 0; k < rank; ++k) {
    const auto size = [&](const Ref& r) { return k + r.shape.size() < rank ? 1 : r.shape[k + r.shape.size() - rank]; };
    shape.push_back(size(a) == 1 ? size(b) : size(a));
  }
  const Ref wide_a = broadcast(a, shape), wide_b = broadcast(b, shape);
  Ref out{shape, {}};
  for (std::size_t k = 0; k < wide_a.v.size(); ++k) out.v.push_back(f(wide_a.v[k], wide_b.v[k]));
  return out;
}
Ref reduce(const Ref& x, const std::vector<std::int64_t>& axes, double start, const std::function<double(double, double)>& f) {
  const auto gone = [&](std::size_t k) { return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(k)) != axes.end(); };
  Shape shape;
  for (std::size_t k = 0; k < x.shape.size(); ++k)
    if (!gone(k)) shape.push_back(x.shape[k]);
  Ref out{shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), start)};
  each(x.shape, [&](const Coords& at) {
    Coords to;
    for (std::size_t k = 0; k < at.size(); ++k)
      if (!gone(k)) to.push_back(at[k]);
    double& cell = out.v[flat(shape, to)];
    cell = f(cell, x.v[flat(x.shape, at)]);
  });
  return out;
}
std::vector<double> values(const Tensor& t) {
  std::vector<double> out;
  visit_storage(t.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {  // the raw byte: poisoned memory is neither false nor true
      for (std::byte b : std::as_bytes(t.data<bool>())) out.push_back(std::to_integer<int>(b));
    } else {
      for (const T value : t.data<T>()) out.push_back(static_cast<double>(value));
    }
  });
  return out;
}
std::pair<Tensor, Ref> random(std::mt19937& rng, const Shape& shape, DType dtype, double low, double high) {
  std::uniform_real_distribution<double> real(low, high);
  Ref ref{shape, {}};
  const auto count = static_cast<std::size_t>(element_count(shape));
  for (std::size_t k = 0; k < count; ++k) {
    double value = real(rng);
    if (!is_floating(dtype)) value = std::floor(value);
    if (is_bool(dtype)) value = value > (low + high) / 2;
    ref.v.push_back(value);
  }
  return visit_storage(dtype, [&]<class T>() -> std::pair<Tensor, Ref> {
    const auto memory = std::make_unique<T[]>(count + 1);
    for (std::size_t k = 0; k < count; ++k) {
      memory[k] = static_cast<T>(ref.v[k]);
      ref.v[k] = static_cast<double>(memory[k]);
    }
    return {from_pointer(memory.get(), shape), ref};
  });
}
std::pair<Tensor, Ref> random_view(std::mt19937& rng, std::pair<Tensor, Ref> x) {
  const auto pick = [&](std::int64_t n) { return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(n)); };
  for (int k = static_cast<int>(pick(4)); k-- > 0;) {
    auto& [tensor, ref] = x;
    const std::size_t rank = ref.shape.size();
    switch (pick(4)) {
      case 0: {
        std::vector<std::int64_t> axes(rank);
        for (std::size_t a = 0; a < rank; ++a) axes[a] = static_cast<std::int64_t>(a);
        std::shuffle(axes.begin(), axes.end(), rng);
        x = {sinter::permute(tensor, axes), permute(ref, axes)};
        break;
      }
      case 1: {
        if (rank == 0 || ref.v.empty()) break;
        std::vector<Index> index;
        Shape shape;
        Coords start, step;
        for (auto size : ref.shape) {
          const bool back = pick(2);
          const std::int64_t stride = 1 + pick(3), first = pick(size);
          const std::int64_t count = back ? first / stride + 1 : (size - first + stride - 1) / stride;
          index.push_back(back ? Slice{first, {}, -stride} : Slice{first, {}, stride});
          shape.push_back(count);
          start.push_back(first);
          step.push_back(back ? -stride : stride);
        }
        x = {tensor.at(index), strided(ref, shape, start, step)};
        break;
      }
      case 2: {
        if (rank > 3 || ref.v.size() > 5000) break;
        Shape shape{1 + pick(4)};
        for (auto size : ref.shape) shape.push_back(size == 1 ? 1 + pick(5) : size);
        x = {broadcast_to(tensor, shape), broadcast(ref, shape)};
        break;
      }
      default: {
        if (rank == 0) break;
        Shape shape{-1};
        if (rank > 1) {
          shape = ref.shape;
          const auto at = static_cast<std::size_t>(pick(static_cast<std::int64_t>(rank) - 1));
          shape[at] *= shape[at + 1];
          shape.erase(shape.begin() + static_cast<long>(at) + 1);
        } else if (ref.shape[0] % 2 == 0) {
          shape = {ref.shape[0] / 2, 2};
        } else {
          shape = ref.shape;
        }
        const Tensor turned = tensor.reshape(shape);
        x = {turned, Ref{turned.shape(), ref.v}};
      }
    }
  }
  return x;
}

}  // namespace sinter::testing
