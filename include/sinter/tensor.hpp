// Tensor: a counted handle on what was recorded, and the small types that its operations take.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/dtype.hpp"
#include "sinter/errors.hpp"
#include "sinter/location.hpp"
#include "sinter/shape.hpp"

namespace sinter {

namespace trace {
struct Recorded;
}

class Arg;
class Index;

/// A C++ type that is an element of tensors: bool, integers, half, bfloat16, float, double.
template <class T>
concept Element = (std::is_arithmetic_v<T> && !std::is_same_v<T, long double>) || std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

/// An n-dimensional array whose value is computed when it is needed. A Tensor is a counted reference to one immutable
/// recorded operation: copies are cheap, `auto t = a + b;` never dangles, assignment re-binds the handle.
/// A default-constructed Tensor is empty: every operation on it throws ValueError.
/// Only a named handle is assigned to: `x(0) += 5.f` would re-bind a temporary and change nothing, so it does not compile.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  ~Tensor() = default;
  explicit Tensor(std::shared_ptr<trace::Recorded> node) : node_(std::move(node)) {}

  /// From nested lists: Tensor x = {{1.f, 2.f}, {3.f, 4.f}}; the element type is the C++ type of the values.
  template <Element E> Tensor(std::initializer_list<E> values);
  template <Element E> Tensor(std::initializer_list<std::initializer_list<E>> values);
  template <Element E> Tensor(std::initializer_list<std::initializer_list<std::initializer_list<E>>> values);
  template <Element E>
  Tensor(std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<E>>>> values);

  const Shape& shape() const;
  int ndim() const { return static_cast<int>(shape().size()); }
  std::int64_t size() const { return element_count(shape()); }
  std::int64_t size(int axis) const;  ///< elements along an axis; negative axes count from the end
  DType dtype() const;
  bool empty_handle() const { return node_ == nullptr; }

  Tensor T(Location where = Location::current()) const;  ///< all axes reversed
  Tensor reshape(const Shape& shape, Location where = Location::current()) const;
  Tensor astype(DType dtype, Location where = Location::current()) const;

  /// Indexing as in NumPy: integers drop an axis, Slice{start, stop, step}, newaxis, ellipsis, and one tensor of integers; never copies.
  Tensor operator()(const Index& i0) const;
  Tensor operator()(const Index& i0, const Index& i1) const;
  Tensor operator()(const Index& i0, const Index& i1, const Index& i2) const;
  Tensor operator()(const Index& i0, const Index& i1, const Index& i2, const Index& i3) const;
  Tensor operator()(const Index& i0, const Index& i1, const Index& i2, const Index& i3, const Index& i4) const;
  Tensor at(const std::vector<Index>& index, Location where = Location::current()) const;

  /// Compound assignment re-binds this handle; other handles keep the old value.
  Tensor& operator+=(const Arg& other) &;
  Tensor& operator-=(const Arg& other) &;
  Tensor& operator*=(const Arg& other) &;
  Tensor& operator/=(const Arg& other) &;
  Tensor& operator%=(const Arg& other) &;
  Tensor& operator&=(const Arg& other) &;
  Tensor& operator|=(const Arg& other) &;
  Tensor& operator^=(const Arg& other) &;
  Tensor& operator<<=(const Arg& other) &;
  Tensor& operator>>=(const Arg& other) &;

  /// The elements, row-major. Evaluates. E must be the C++ type of dtype(): DTypeError otherwise (astype converts).
  template <Element E> std::vector<E> to_vector() const;
  template <Element E> void copy_to(std::span<E> out) const;  ///< out.size() must be size()
  template <Element E> E item() const;                        ///< the only element
  template <Element E> std::span<const E> data() const&;      ///< valid while this handle lives and is not re-bound
  template <Element E> std::span<const E> data() const&& = delete;

  const std::shared_ptr<trace::Recorded>& node() const { return node_; }

 private:
  friend class Arg;
  /// Host address of the contents as `wanted`; evaluates.
  const void* host(DType wanted, const char* function) const;
  void check_count(std::size_t count, const char* function) const;

  std::shared_ptr<trace::Recorded> node_;
};

/// An operand: a tensor or a C++ scalar. Scalars are weak as in NumPy 2: they take the tensor's dtype unless their kind
/// (bool < integer < floating) is higher. Made implicitly at the call, it remembers the caller's file and line. It refers
/// to its tensor: a parameter type, not something to keep.
class Arg {
 public:
  enum class Kind : std::uint8_t { tensor, boolean, integer, floating, too_large };

  Arg(const Tensor& tensor, Location where = Location::current()) : tensor_(&tensor), where_(where) {}
  template <Element T>
  Arg(T value, Location where = Location::current()) : where_(where), native_(dtype_of<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      kind_ = Kind::boolean;
      integer_ = value;
    } else if constexpr (std::is_integral_v<T>) {
      kind_ = Kind::integer;
      integer_ = static_cast<std::int64_t>(value);
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) kind_ = Kind::too_large;
      }
    } else {
      kind_ = Kind::floating;
      floating_ = static_cast<double>(value);
    }
  }

  Kind kind() const { return kind_; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  const Tensor& tensor() const { return *tensor_; }
  std::int64_t integer() const { return integer_; }     // boolean, integer; too_large: the bits of a std::uint64_t
  double floating() const { return floating_; }         // floating
  double as_double() const {
    if (kind_ == Kind::too_large) return static_cast<double>(static_cast<std::uint64_t>(integer_));
    return kind_ == Kind::floating ? floating_ : static_cast<double>(integer_);
  }
  DType native() const { return native_; }              // the C++ type of a scalar
  Location where() const { return where_; }

 private:
  union {
    const Tensor* tensor_;
    std::int64_t integer_;
    double floating_;
  };
  Location where_;
  Kind kind_ = Kind::tensor;
  DType native_ = DType::float64;
};

/// The axes a function works on: Axes{} is all of them, -1 the last, {0, 2} two of them. An empty vector is none.
class Axes {
 public:
  Axes() = default;
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Axes(T axis) : all_(false), list_{static_cast<std::int64_t>(axis)} {}
  Axes(std::initializer_list<std::int64_t> axes) : all_(axes.size() == 0), list_(axes) {}
  Axes(std::vector<std::int64_t> axes) : all_(false), list_(std::move(axes)) {}
  bool all() const { return all_; }
  const std::vector<std::int64_t>& list() const { return list_; }

 private:
  bool all_ = true;
  std::vector<std::int64_t> list_;
};

/// Python's start:stop:step; each may be left out: Slice{}, Slice{1, {}, 2}, Slice{{}, {}, -1}.
struct Slice {
  std::optional<std::int64_t> start = {}, stop = {}, step = {};
};
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis newaxis{};
inline constexpr Ellipsis ellipsis{};

/// One position of an index expression.
class Index {
 public:
  enum class Kind : std::uint8_t { integer, slice, inserted, rest, places };  // inserted: newaxis; rest: ellipsis; places: a tensor
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Index(T i, Location where = Location::current())
      : kind_(Kind::integer), integer_(static_cast<std::int64_t>(i)), where_(where) {}
  Index(Slice slice, Location where = Location::current()) : kind_(Kind::slice), slice_(slice), where_(where) {}
  Index(NewAxis, Location where = Location::current()) : kind_(Kind::inserted), where_(where) {}
  Index(Ellipsis, Location where = Location::current()) : kind_(Kind::rest), where_(where) {}
  /// Integers: the axis is replaced by the tensor's axes, as take() does. One position of an index may be a tensor.
  Index(const Tensor& places, Location where = Location::current()) : kind_(Kind::places), places_(places), where_(where) {}

  Kind kind() const { return kind_; }
  std::int64_t integer() const { return integer_; }
  const Tensor& places() const { return places_; }
  const Slice& slice() const { return slice_; }
  Location where() const { return where_; }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  Slice slice_;
  Tensor places_;
  Location where_;
};

/// As NumPy prints an array (evaluates): aligned columns, 8 digits, "..." above 1000 elements.
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

namespace detail {

/// One nested list, flattened: sizes per axis, checked for raggedness while values are appended.
class ListReader {
 public:
  explicit ListReader(DType dtype, int ndim);
  void open(int level, std::size_t count);  // a list of `count` items at nesting level `level`
  void append(const void* values, std::size_t count);
  Tensor finish();

 private:
  DType dtype_;
  Shape shape_;
  std::vector<unsigned char> bytes_;
};

template <class T> void read_list(ListReader& reader, int level, std::initializer_list<T> list) {
  reader.open(level, list.size());
  if constexpr (Element<T>) {
    reader.append(list.begin(), list.size());
  } else {
    for (const auto& item : list) read_list(reader, level + 1, item);
  }
}
template <class T, class List> Tensor from_list(int ndim, const List& list) {
  ListReader reader(dtype_of<T>, ndim);
  read_list(reader, 0, list);
  return reader.finish();
}

}  // namespace detail

template <Element E> Tensor::Tensor(std::initializer_list<E> v) : Tensor(detail::from_list<E>(1, v)) {}
template <Element E>
Tensor::Tensor(std::initializer_list<std::initializer_list<E>> v) : Tensor(detail::from_list<E>(2, v)) {}
template <Element E>
Tensor::Tensor(std::initializer_list<std::initializer_list<std::initializer_list<E>>> v)
    : Tensor(detail::from_list<E>(3, v)) {}
template <Element E>
Tensor::Tensor(std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<E>>>> v)
    : Tensor(detail::from_list<E>(4, v)) {}

template <Element E> std::vector<E> Tensor::to_vector() const {
  const E* first = static_cast<const E*>(host(dtype_of<E>, "to_vector"));
  return std::vector<E>(first, first + size());
}
template <Element E> void Tensor::copy_to(std::span<E> out) const {
  check_count(out.size(), "copy_to");
  const E* first = static_cast<const E*>(host(dtype_of<E>, "copy_to"));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = first[i];
}
template <Element E> E Tensor::item() const {
  check_count(1, "item");
  return *static_cast<const E*>(host(dtype_of<E>, "item"));
}
template <Element E> std::span<const E> Tensor::data() const& {
  return {static_cast<const E*>(host(dtype_of<E>, "data")), static_cast<std::size_t>(size())};
}

}  // namespace sinter
