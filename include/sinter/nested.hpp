// Conversions from and to vectors of vectors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "sinter/ops.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

namespace detail {
template <class T> struct Nested {
  using element = T;
  static constexpr std::size_t depth = 0;
};
template <class T> struct Nested<std::vector<T>> {
  using element = typename Nested<T>::element;
  static constexpr std::size_t depth = 1 + Nested<T>::depth;
};

template <class T> void sizes_of(const T&, Shape&) {}
template <class T> void sizes_of(const std::vector<T>& list, Shape& shape) {
  shape.push_back(static_cast<std::int64_t>(list.size()));
  if (!list.empty()) sizes_of(list.front(), shape);
}
/// Visits the innermost vectors in order; returns false for a ragged list.
template <class T, class Put> bool walk(const std::vector<T>& list, const Shape& shape, std::size_t axis, Put put) {
  if (static_cast<std::int64_t>(list.size()) != shape[axis]) return false;
  if constexpr (Nested<T>::depth == 0) {
    put(list);
    return true;
  } else {
    for (const T& item : list)
      if (!walk(item, shape, axis + 1, put)) return false;
    return true;
  }
}
template <class T, class E> T nested(const E*& next, const Shape& shape, std::size_t axis) {
  if constexpr (Nested<T>::depth == 0) {
    return *next++;
  } else {
    T list;
    list.reserve(static_cast<std::size_t>(shape[axis]));
    for (std::int64_t k = 0; k < shape[axis]; ++k) list.push_back(nested<typename T::value_type>(next, shape, axis + 1));
    return list;
  }
}
}  // namespace detail

/// Copies vectors of vectors into a tensor with an axis for each level. Throws ShapeError for a ragged list.
template <class T> Tensor from_nested(const std::vector<T>& list, Location where = Location::current()) {
  using E = typename detail::Nested<T>::element;
  constexpr std::size_t depth = 1 + detail::Nested<T>::depth;
  Shape shape;
  detail::sizes_of(list, shape);
  shape.resize(depth, 0);  ///< sizes below an empty list
  std::vector<std::conditional_t<std::is_same_v<E, bool>, std::uint8_t, E>> flat;
  if (!detail::walk(list, shape, 0, [&](const std::vector<E>& row) { flat.insert(flat.end(), row.begin(), row.end()); }))
    detail::refuse_shape(shape, "is that of the first items, and others differ: the nested vectors are ragged", "from_nested", where);
  const Tensor tensor = from_span(flat, shape, where);
  return std::is_same_v<E, bool> ? tensor.astype(DType::bool_, where) : tensor;
}

/// Evaluates the tensor and returns vectors of vectors with a level for each axis: to_nested<std::vector<std::vector<float>>>(x).
template <class T> T to_nested(const Tensor& tensor, Location where = Location::current()) {
  using E = typename detail::Nested<T>::element;
  if (tensor.shape().size() != detail::Nested<T>::depth)
    detail::refuse_shape(tensor.shape(), "has another number of axes than the vectors are deep", "to_nested", where);
  if constexpr (std::is_same_v<E, bool>) {
    const std::vector<std::uint8_t> flat = tensor.astype(DType::uint8, where).template to_vector<std::uint8_t>(where);
    const std::uint8_t* next = flat.data();
    return detail::nested<T>(next, tensor.shape(), 0);
  } else {
    const std::vector<E> flat = tensor.template to_vector<E>(where);
    const E* next = flat.data();
    return detail::nested<T>(next, tensor.shape(), 0);
  }
}

}  // namespace sinter
