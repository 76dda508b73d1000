// Tensor: a counted handle to a recorded operation, and the small types that its operations take.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <limits>
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
struct Handle;
}

class Arg;
class Index;
class Part;
class Rows;

/// A C++ type that can be an element of tensors: bool, integers, the narrow floats of sinter/half.hpp, float, double.
template <class T>
concept Element = (std::is_arithmetic_v<T> && !std::is_same_v<T, long double>) || Narrow<T>;

/// The axes a function works on: Axes{} means all of them, -1 the last, {0, 2} two of them. An empty vector means none.
class Axes {
 public:
  Axes() = default;
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Axes(T axis) : all_(false), list_{static_cast<std::int64_t>(axis)} {}
  Axes(std::initializer_list<std::int64_t> axes) : all_(axes.size() == 0), list_(axes) {}
  Axes(std::vector<std::int64_t> axes) : all_(false), list_(std::move(axes)) {}
  bool all() const { return all_; }
  const std::vector<std::int64_t>& list() const { return list_; }  ///< the axes; empty for all

 private:
  bool all_ = true;
  std::vector<std::int64_t> list_;
};

/// A contiguous range of elements: std::vector<float>, std::array, std::span. Text is not one.
template <class R>
concept Elements = requires { typename R::value_type; } && Element<typename R::value_type> && !std::is_same_v<typename R::value_type, char> &&
                   requires(const R& range) { std::span(range); };

namespace detail {
/// An item of a list of numbers of several C++ types: {1, 2.5}, {1.0, NAN}.
struct Number;
}  // namespace detail

/// An n-dimensional array whose value is computed when it is needed. A Tensor is a counted reference to one immutable
/// recorded operation: copies are cheap, `auto t = a + b;` never dangles, assignment re-binds the handle.
/// A default-constructed Tensor is empty: every operation on it throws ValueError.
///
/// NumPy's methods of arrays are methods here, too; each is the free function of the same name with this tensor first.
class Tensor {
 public:
  Tensor() noexcept;
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other) & noexcept;
  Tensor& operator=(Tensor&& other) & noexcept;
  ~Tensor();
  explicit Tensor(trace::Handle node) noexcept;  ///< for use inside sinter (trace/record.hpp)

  /// Holds one number: 0-d, of the number's C++ type.
  template <Element E> Tensor(E value, Location where = Location::current());
  /// Copies nested lists: Tensor x = {{1.f, 2.f}, {3.f, 4.f}}. The element type is the C++ type of the values; values of several types are promoted to one
  /// type. Braces always list values: Tensor{2, 3} holds 2 and 3; Tensor::zeros({2, 3}) has that shape.
  template <Element E> Tensor(std::initializer_list<E> values, Location where = Location::current());
  template <Element E> Tensor(std::initializer_list<std::initializer_list<E>> values, Location where = Location::current());
  template <Element E> Tensor(std::initializer_list<std::initializer_list<std::initializer_list<E>>> values, Location where = Location::current());
  template <Element E>
  Tensor(std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<E>>>> values, Location where = Location::current());
  Tensor(std::initializer_list<detail::Number> values, Location where = Location::current());
  Tensor(std::initializer_list<std::initializer_list<detail::Number>> values, Location where = Location::current());

  static Tensor zeros(const Shape& shape, DType dtype = DType::float64, Location where = Location::current());
  static Tensor ones(const Shape& shape, DType dtype = DType::float64, Location where = Location::current());
  static Tensor full(const Shape& shape, const Arg& value, std::optional<DType> dtype = {});

  const Shape& shape() const;
  int ndim() const { return static_cast<int>(shape().size()); }
  std::int64_t size() const { return element_count(shape()); }
  std::int64_t size(int axis, Location where = Location::current()) const;  ///< elements along an axis; negative axes count from the end
  DType dtype() const;                                                      ///< the type of the elements
  bool empty_handle() const;                                                ///< true for an empty handle: default-constructed, it refers to no tensor

  // --- methods of NumPy's arrays
  Tensor T(Location where = Location::current()) const;   ///< reverses all axes
  Tensor mT(Location where = Location::current()) const;  ///< exchanges the last two axes
  std::int64_t itemsize() const { return static_cast<std::int64_t>(sinter::itemsize(dtype())); }
  std::int64_t nbytes() const { return size() * itemsize(); }  ///< bytes of all elements
  Tensor reshape(const Shape& shape, Location where = Location::current()) const;
  template <std::integral... N> Tensor reshape(const Index& first, N... sizes) const;  ///< x.reshape(2, 6)
  Tensor ravel(Location where = Location::current()) const;
  Tensor flatten(Location where = Location::current()) const;
  Tensor squeeze(const Axes& axes = {}, Location where = Location::current()) const;
  Tensor transpose(Location where = Location::current()) const;
  Tensor transpose(const std::vector<std::int64_t>& axes, Location where = Location::current()) const;
  Tensor swapaxes(std::int64_t axis1, std::int64_t axis2, Location where = Location::current()) const;
  Tensor diagonal(std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1, Location where = Location::current()) const;
  Tensor repeat(std::int64_t count, std::optional<std::int64_t> axis = {}, Location where = Location::current()) const;
  Tensor take(const Arg& indices, std::optional<std::int64_t> axis = {}, Location where = Location::current()) const;
  Tensor compress(const Arg& condition, std::optional<std::int64_t> axis = {}, Location where = Location::current()) const;
  std::vector<Tensor> nonzero(Location where = Location::current()) const;
  Tensor astype(DType dtype, Location where = Location::current()) const;
  Tensor view(DType dtype, Location where = Location::current()) const;  ///< the same bytes as another type
  Tensor copy(Location where = Location::current()) const;               ///< the same as contiguous()
  Tensor clip(const Arg& low, const Arg& high, Location where = Location::current()) const;
  Tensor round(Location where = Location::current()) const;
  Tensor round(int decimals, Location where = Location::current()) const;
  Tensor dot(const Arg& other, Location where = Location::current()) const;
  Tensor sum(const Axes& axes = {}, bool keepdims = false, std::optional<DType> dtype = {}, Location where = Location::current()) const;
  Tensor prod(const Axes& axes = {}, bool keepdims = false, std::optional<DType> dtype = {}, Location where = Location::current()) const;
  Tensor min(const Axes& axes = {}, bool keepdims = false, Location where = Location::current()) const;
  Tensor max(const Axes& axes = {}, bool keepdims = false, Location where = Location::current()) const;
  Tensor mean(const Axes& axes = {}, bool keepdims = false, std::optional<DType> dtype = {}, Location where = Location::current()) const;
  Tensor var(const Axes& axes = {}, bool keepdims = false, int ddof = 0, Location where = Location::current()) const;
  Tensor stddev(const Axes& axes = {}, bool keepdims = false, int ddof = 0, Location where = Location::current()) const;
  Tensor any(const Axes& axes = {}, bool keepdims = false, Location where = Location::current()) const;
  Tensor all(const Axes& axes = {}, bool keepdims = false, Location where = Location::current()) const;
  Tensor argmax(std::optional<std::int64_t> axis = {}, bool keepdims = false, Location where = Location::current()) const;
  Tensor argmin(std::optional<std::int64_t> axis = {}, bool keepdims = false, Location where = Location::current()) const;
  Tensor cumsum(std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {}, Location where = Location::current()) const;
  Tensor cumprod(std::optional<std::int64_t> axis = {}, std::optional<DType> dtype = {}, Location where = Location::current()) const;
  Tensor trace(std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1, Location where = Location::current()) const;
  Tensor argsort(std::optional<std::int64_t> axis = -1, bool descending = false, Location where = Location::current()) const;
  Tensor argpartition(std::int64_t kth, std::optional<std::int64_t> axis = -1, Location where = Location::current()) const;
  Tensor searchsorted(const Arg& values, Location where = Location::current()) const;
  // Methods that change an array in NumPy re-bind this handle; other handles keep the old value. sinter::sort(x) returns a sorted tensor.
  void sort(std::int64_t axis = -1, Location where = Location::current()) &;
  void partition(std::int64_t kth, std::int64_t axis = -1, Location where = Location::current()) &;
  void fill(const Arg& value) &;  ///< every element becomes the value
  void put(const Arg& indices, const Arg& values, Location where = Location::current()) &;

  /// Indexes as NumPy does, by integers (which drop an axis), Slice{start, stop, step}, newaxis, ellipsis, and tensors of integers, which broadcast against
  /// each other. Indexing never copies. On a named handle it returns a Part, which is a Tensor and can be assigned to: x(0) = y, x(Slice{0, 2}) += 5.f, x(mask)
  /// = 0.f.
  Tensor operator()(const Index& i0) const&;
  Tensor operator()(const Index& i0, const Index& i1) const&;
  Tensor operator()(const Index& i0, const Index& i1, const Index& i2) const&;
  Tensor operator()(const Index& i0, const Index& i1, const Index& i2, const Index& i3) const&;
  Tensor operator()(const Index& i0, const Index& i1, const Index& i2, const Index& i3, const Index& i4) const&;
  Tensor operator[](const Index& i0) const&;
  Tensor at(const std::vector<Index>& index, Location where = Location::current()) const&;  ///< the same with a list of indices
  Part operator()(const Index& i0) &;
  Part operator()(const Index& i0, const Index& i1) &;
  Part operator()(const Index& i0, const Index& i1, const Index& i2) &;
  Part operator()(const Index& i0, const Index& i1, const Index& i2, const Index& i3) &;
  Part operator()(const Index& i0, const Index& i1, const Index& i2, const Index& i3, const Index& i4) &;
  Part operator[](const Index& i0) &;
  Part at(const std::vector<Index>& index, Location where = Location::current()) &;  ///< the same with a list of indices
  /// Iterate over the first axis: for (Tensor row : x).
  Rows begin(Location where = Location::current()) const;
  Rows end(Location where = Location::current()) const;  ///< after the last row

  /// Compound assignment re-binds this handle; other handles keep the old value. As in NumPy, the shape and the element type do not change: a result of a
  /// higher kind (i += 0.5 on integers) throws DTypeError, and a larger result throws ShapeError.
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

  /// Evaluates the tensor and returns its elements, row-major. E is the C++ type of dtype(), or a type that holds all values of that type (float64 for
  /// float32). Integers also convert to any other type of numbers, if it holds the values that the tensor has. Otherwise the function throws DTypeError;
  /// convert with astype first.
  template <Element E> std::vector<E> to_vector(Location where = Location::current()) const;
  template <Element E> void copy_to(std::span<E> out, Location where = Location::current()) const;  ///< out.size() must be size()
  template <Element E> E item(Location where = Location::current()) const;                          ///< the only element
  /// Evaluates the tensor and returns whether its only element is not zero, as in Python's `if x:`. Throws ShapeError for several elements: use any(x) or
  /// all(x).
  explicit operator bool() const;
  /// Returns the elements without a copy: E must be the C++ type of dtype(). The span is valid while this handle lives and is not re-bound.
  template <Element E> std::span<const E> data(Location where = Location::current()) const&;
  template <Element E> std::span<const E> data(Location where = Location::current()) const&& = delete;

  auto& node() const;  ///< for use inside sinter (trace/record.hpp)

 private:
  friend class Part;
  /// Holds a std::shared_ptr, constructed in trace/record.cpp, because including `<memory>` here took a fifth of the time that sinter.hpp takes to compile.
  alignas(void*) unsigned char held_[2 * sizeof(void*)];
};

namespace detail {
/// Evaluates the tensor and returns the host address of its elements, whose type must be `wanted`. Errors name `function`.
const void* host_address(const Tensor& tensor, DType wanted, const char* function, Location where);
/// Copies the elements and converts them to `wanted`, as to_vector does. Throws ShapeError unless there are `count` elements.
void copy_elements(const Tensor& tensor, void* out, DType wanted, std::int64_t count, const char* function, Location where);
/// Copies the only element and returns true if it is selected from an evaluated tensor in host memory, so that no kernel has to run.
bool copy_selected(const Tensor& tensor, void* out);
[[noreturn]] void refuse_shape(const Shape& shape, const char* why, const char* function, Location where);
}  // namespace detail

namespace detail {
/// The first of several operands, with the line of the call.
struct First {
  First(const Tensor& operand, Location line = Location::current()) : tensor(operand), where(line) {}
  const Tensor& tensor;
  Location where;
};
}  // namespace detail

/// Copies a contiguous range. The shape must have as many elements as the range; one of its sizes may be -1.
Tensor from_bytes(const void* data, DType dtype, std::size_t count, const Shape& shape, Location where);
template <class Range> Tensor from_span(const Range& range, const Shape& shape = {-1}, Location where = Location::current()) {  /// Copies a vector or an array.
  std::span elements(range);
  return from_bytes(elements.data(), dtype_of<typename decltype(elements)::value_type>, elements.size(), shape, where);
}

/// An operand: a tensor, a C++ scalar, a contiguous range or a braced list of scalars. Scalars are weak as in NumPy 2: they take the tensor's dtype unless
/// their kind (bool < integer < floating) is higher. Then an integer becomes int64, and a floating scalar keeps its C++ type: 1.f is float32, 1.0 is float64.
/// An Arg is made implicitly at the call and remembers the caller's file and line. It refers to its tensor, so it is a parameter type and must not be stored.
class Arg {
 public:
  enum class Kind : std::uint8_t { tensor, boolean, integer, floating, too_large };

  Arg(const Tensor& tensor, Location where = Location::current()) : tensor_(&tensor), where_(where) {}
  template <Element T> Arg(T value, Location where = Location::current()) : where_(where), native_(dtype_of<T>) {
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

  /// Copies a range: x + std::vector{1.f, 2.f}. Leave out `room`: it holds the copy for as long as the call that receives the Arg.
  template <Elements R> Arg(const R& values, Location where = Location::current(), Tensor&& room = Tensor())
      : Arg(room = from_span(values, {-1}, where), where) {}
  /// Takes a braced list, as Tensor does: sn::dot(x, {0.2, 0.8}). Leave out `room`, as above.
  template <Element E> Arg(std::initializer_list<E> values, Location where = Location::current(), Tensor&& room = Tensor())
      : Arg(room = Tensor(values, where), where) {}
  template <Element E> Arg(std::initializer_list<std::initializer_list<E>> values, Location where = Location::current(), Tensor&& room = Tensor())
      : Arg(room = Tensor(values, where), where) {}
  Arg(std::initializer_list<detail::Number> values, Location where = Location::current(), Tensor&& room = Tensor())
      : Arg(room = Tensor(values, where), where) {}
  Arg(std::initializer_list<std::initializer_list<detail::Number>> values, Location where = Location::current(), Tensor&& room = Tensor())
      : Arg(room = Tensor(values, where), where) {}

  Kind kind() const { return kind_; }                       ///< the form of the operand
  bool is_tensor() const { return kind_ == Kind::tensor; }  ///< false for a number
  const Tensor& tensor() const { return *tensor_; }         ///< valid only if is_tensor()
  std::int64_t integer() const { return integer_; }         ///< the value of a bool or an integer; of too_large, the bits of its std::uint64_t
  double floating() const { return floating_; }             ///< the value of a floating scalar
  double as_double() const {                                /// Converts a number of any kind.
    if (kind_ == Kind::too_large) return static_cast<double>(static_cast<std::uint64_t>(integer_));
    return kind_ == Kind::floating ? floating_ : static_cast<double>(integer_);
  }
  DType native() const { return native_; }  ///< the C++ type of a scalar
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

/// Python's start:stop:step. Each may be omitted: Slice{}, Slice{1, {}, 2}, Slice{{}, {}, -1}.
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
  enum class Kind : std::uint8_t { integer, slice, inserted, rest, places };  ///< inserted: newaxis; rest: ellipsis; places: a tensor
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  Index(T i, Location where = Location::current()) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(i)), where_(where) {}
  Index(Slice slice, Location where = Location::current()) : kind_(Kind::slice), slice_(slice), where_(where) {}
  Index(NewAxis, Location where = Location::current()) : kind_(Kind::inserted), where_(where) {}
  Index(Ellipsis, Location where = Location::current()) : kind_(Kind::rest), where_(where) {}
  /// Selects by a tensor. A bool tensor selects the places where it is true, which evaluates it. An integer tensor replaces the axis by the tensor's axes, as
  /// take() does. Several integer tensors are read side by side: x(i, j)[k] = x(i[k], j[k]). If a slice lies between two of them, their axes come first in the
  /// result, as in NumPy; an integer counts as a tensor for this rule.
  Index(const Tensor& places, Location where = Location::current()) : kind_(Kind::places), places_(places), where_(where) {}
  template <Elements R> Index(const R& places, Location where = Location::current()) : Index(from_span(places, {-1}, where), where) {}
  /// Lists places in braces: x({0, 2}) is NumPy's x[[0, 2]], and x(0, 2) its x[0, 2].
  template <Element E> Index(std::initializer_list<E> places, Location where = Location::current()) : Index(Tensor(places, where), where) {}

  Kind kind() const { return kind_; }                ///< the form of the index
  std::int64_t integer() const { return integer_; }  ///< valid only for Kind::integer
  const Tensor& places() const { return places_; }   ///< valid only for Kind::places: integers or a mask
  const Slice& slice() const { return slice_; }      ///< valid only for Kind::slice
  Location where() const { return where_; }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  Slice slice_;
  Tensor places_;
  Location where_;
};

/// A part of a named handle. It is a Tensor with the present elements. As long as the part has no name itself, it can be assigned to: `x(0) = y` gives x a new
/// value in which that part is y, broadcast and cast to x's type as NumPy does (a float into integers is a DTypeError). Other handles keep the old value. `auto
/// row = x(0)` is a handle of its own: assigning to it re-binds it and leaves x alone.
/// With a bool tensor, x(mask) selects the elements where the mask is true, or slices over the axes that the mask lacks. Their number is known only when the
/// mask is computed. So reading x(mask) evaluates the mask. Assigning one value for all selected elements does not evaluate it; assigning a tensor with a value
/// for each selected element does. If the index has tensors of integers, the last value for a place counts, as in NumPy: x(i) += 1 adds 1 once even where i
/// names a place several times. add_at (sinter/indexing.hpp) adds each time.
class Part : public Tensor {
 public:
  Part(const Part&) = default;
  Part(Part&&) noexcept = default;
  using Tensor::operator=;
  Part& operator=(const Part&) & = default;
  Part& operator=(Part&&) & noexcept = default;
  void operator=(const Arg& value) &&;
  void operator=(const Part& value) &&;
  template <Element E> void operator=(std::initializer_list<E> values) && { std::move(*this) = Tensor(values, where_); }

  /// Selects a part of the part: x(0)(1) = y assigns to x. Throws ValueError if the first index has tensors of integers: in NumPy such an index makes a copy,
  /// and x would stay unchanged.
  using Tensor::operator(), Tensor::operator[];
  Part operator()(const Index& i0) &&;
  Part operator()(const Index& i0, const Index& i1) &&;
  Part operator()(const Index& i0, const Index& i1, const Index& i2) &&;
  Part operator[](const Index& i0) &&;

  using Tensor::operator+=, Tensor::operator-=, Tensor::operator*=, Tensor::operator/=, Tensor::operator%=, Tensor::operator&=, Tensor::operator|=,
      Tensor::operator^=, Tensor::operator<<=, Tensor::operator>>=;
  void operator+=(const Arg& other) &&;
  void operator-=(const Arg& other) &&;
  void operator*=(const Arg& other) &&;
  void operator/=(const Arg& other) &&;
  void operator%=(const Arg& other) &&;
  void operator&=(const Arg& other) &&;
  void operator|=(const Arg& other) &&;
  void operator^=(const Arg& other) &&;
  void operator<<=(const Arg& other) &&;
  void operator>>=(const Arg& other) &&;

 private:
  friend class Tensor;
  Part(Tensor& whole, std::vector<Index> index, Location where);
  Part(Part& outer, std::vector<Index> index, Location where);
  void assign(const char* op, const Arg& value);
  void update(const char* op, Tensor (*function)(const Arg&, const Arg&), const Arg& other);
  void replace(const char* op, Tensor whole);

  Tensor* whole_;
  Part* outer_ = nullptr;  ///< the enclosing part, where the whole is itself a part of a tensor
  std::vector<Index> index_;
  Location where_;
};

/// An iterator over the first axis.
class Rows {
 public:
  using iterator_category = std::input_iterator_tag;
  using iterator_concept = std::input_iterator_tag;
  using value_type = Tensor;
  using difference_type = std::int64_t;
  using pointer = void;
  using reference = Tensor;

  Rows() = default;
  Rows(Tensor tensor, std::int64_t at, Location where) : tensor_(std::move(tensor)), at_(at), where_(where) {}
  Tensor operator*() const { return tensor_.at({Index(at_, where_)}, where_); }
  Rows& operator++() {
    ++at_;
    return *this;
  }
  Rows operator++(int) { return {tensor_, at_++, where_}; }
  bool operator==(const Rows& other) const { return at_ == other.at_; }

 private:
  Tensor tensor_;
  std::int64_t at_ = 0;
  Location where_;  // the loop's line
};

/// Evaluates the tensor and writes it as NumPy prints an array: aligned columns, 8 digits, "..." above 1000 elements.
std::string to_string(const Tensor& tensor, Location where = Location::current());
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

namespace detail {

/// Flattens one nested list, records the sizes per axis and rejects ragged lists while values are appended.
class ListReader {
 public:
  ListReader(DType dtype, int ndim, Location where);
  void open(int level, std::size_t count);  ///< begins a list of `count` items at nesting level `level`
  void append(const void* values, std::size_t count);
  Tensor finish();

 private:
  DType dtype_;
  Shape shape_;
  std::vector<unsigned char> bytes_;
  Location where_;
};

template <class T> void read_list(ListReader& reader, int level, std::initializer_list<T> list) {
  reader.open(level, list.size());
  if constexpr (Element<T>) {
    reader.append(list.begin(), list.size());
  } else {
    for (const auto& item : list) read_list(reader, level + 1, item);
  }
}
template <class T, class List> Tensor from_list(int ndim, const List& list, Location where) {
  ListReader reader(dtype_of<T>, ndim, where);
  read_list(reader, 0, list);
  return reader.finish();
}
Tensor from_number(const Arg& value);

struct Number {
  template <Element T> Number(T number) : value(number) {}
  Arg value;
};

}  // namespace detail

template <Element E> Tensor::Tensor(E value, Location where) : Tensor(detail::from_number(Arg(value, where))) {}
template <Element E> Tensor::Tensor(std::initializer_list<E> v, Location where) : Tensor(detail::from_list<E>(1, v, where)) {}
template <Element E> Tensor::Tensor(std::initializer_list<std::initializer_list<E>> v, Location where) : Tensor(detail::from_list<E>(2, v, where)) {}
template <Element E> Tensor::Tensor(std::initializer_list<std::initializer_list<std::initializer_list<E>>> v, Location where)
    : Tensor(detail::from_list<E>(3, v, where)) {}
template <Element E> Tensor::Tensor(std::initializer_list<std::initializer_list<std::initializer_list<std::initializer_list<E>>>> v, Location where)
    : Tensor(detail::from_list<E>(4, v, where)) {}

template <std::integral... N> Tensor Tensor::reshape(const Index& first, N... sizes) const {
  return reshape(Shape{first.integer(), static_cast<std::int64_t>(sizes)...}, first.where());
}
template <Element E> std::vector<E> Tensor::to_vector(Location where) const {
  if (empty_handle() || dtype() == dtype_of<E> || is_bool(dtype_of<E>)) {  // host_address refuses an empty handle
    const E* first = static_cast<const E*>(detail::host_address(*this, dtype_of<E>, "to_vector", where));
    return std::vector<E>(first, first + size());
  }
  std::vector<E> elements(static_cast<std::size_t>(size()));
  if constexpr (!std::is_same_v<E, bool>) detail::copy_elements(*this, elements.data(), dtype_of<E>, size(), "to_vector", where);
  return elements;
}
template <Element E> void Tensor::copy_to(std::span<E> out, Location where) const {
  detail::copy_elements(*this, out.data(), dtype_of<E>, static_cast<std::int64_t>(out.size()), "copy_to", where);
}
template <Element E> E Tensor::item(Location where) const {
  E value;
  detail::copy_elements(*this, &value, dtype_of<E>, 1, "item", where);
  return value;
}
template <Element E> std::span<const E> Tensor::data(Location where) const& {
  return {static_cast<const E*>(detail::host_address(*this, dtype_of<E>, "data", where)), static_cast<std::size_t>(size())};
}

}  // namespace sinter
