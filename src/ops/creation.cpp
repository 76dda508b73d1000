// Creation of tensors, and copies from memory.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/adopt.hpp"
#include "sinter/counted.hpp"
#include "sinter/creation.hpp"
#include "sinter/ops.hpp"
#include "sinter/types.hpp"

namespace sinter {
namespace {

using namespace ops;

Tensor filled(const Site& site, const Shape& shape, Scalar value) {
  check_shape(site, shape, value.dtype);
  return Tensor(make_constant(site, value, shape));
}

/// Copies a strided block, innermost axis last.
void gather(std::byte* out, const std::byte* in, std::size_t item, const Shape& shape, const std::vector<std::int64_t>& strides) {
  const std::int64_t count = element_count(shape);
  std::vector<std::int64_t> at(shape.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i, out += item) {
    std::memcpy(out, in + offset * static_cast<std::int64_t>(item), item);
    for (std::size_t k = shape.size(); k-- > 0;) {
      offset += strides[k];
      if (++at[k] < shape[k]) break;
      offset -= strides[k] * shape[k];
      at[k] = 0;
    }
  }
}

DType arange_type(const Site& site, const Arg& start, const Arg& stop, const Arg& step) {
  DType type = DType::bool_;
  for (const Arg* x : {&start, &stop, &step}) {
    if (x->kind() == Arg::Kind::floating) type = promote(site, type, x->native());
  }
  return is_bool(type) ? DType::int64 : type;
}

Tensor ranged(const Arg& start, const Arg& stop, const Arg& step, std::optional<DType> dtype) {
  const Site site = site_of("arange", stop.where());
  for (const Arg* x : {&start, &stop, &step}) {
    if (x->is_tensor()) fail<ValueError>(site, "start, stop and step are numbers, not tensors; item() reads one from a tensor");
  }
  const DType computed = arange_type(site, start, stop, step);
  const DType type = dtype.value_or(computed);
  if (step.as_double() == 0) fail<ValueError>(site, "the step cannot be zero");
  std::int64_t count = 0;
  if (computed == DType::int64) {
    const auto first = literal(site, start, computed).i, last = literal(site, stop, computed).i;
    const auto by = literal(site, step, computed).i;
    using U = std::uint64_t;
    const U length = by > 0 ? (last > first ? U(last) - U(first) : 0) : (first > last ? U(first) - U(last) : 0);
    const U stride = by > 0 ? U(by) : U{0} - U(by);
    count = length == 0 ? 0 : static_cast<std::int64_t>(std::min<U>((length - 1) / stride + 1, U{1} << 62));
  } else {
    const double length = std::ceil((stop.as_double() - start.as_double()) / step.as_double());
    if (!(std::fabs(length) < 0x1p62)) {
      fail<ValueError>(site, fmt::format("{} to {} by {} is not a range of fewer than 2^62 elements", start.as_double(), stop.as_double(), step.as_double()));
    }
    count = whole(site, std::max(length, 0.0), "the number of elements");
  }
  check_shape(site, {count}, type);
  const Scope scope("arange", stop.where());
  const Tensor steps{make_iota(scope.site(), count)};
  if (computed != DType::int64 && !is_floating(type)) {
    // As in NumPy, the first two elements are rounded to integers, and their difference is the step.
    const std::int64_t first = whole(site, start.as_double(), "start"), second = whole(site, start.as_double() + step.as_double(), "start + step");
    return astype(add(multiply(steps, second - first), first), type);
  }
  // The range is computed in int64 or float64 and rounded once, so that float32 does not accumulate errors.
  const DType wide = computed == DType::int64 ? DType::int64 : DType::float64;
  return astype(add(multiply(astype(steps, wide), step), start), type);
}

/// Computes linspace between tensors: the points are along a new first axis.
Tensor between(const Site& site, const Arg& from, const Arg& to, std::int64_t count, bool endpoint, std::optional<DType> wanted) {
  if (count < 0) fail<ValueError>(site, fmt::format("the count {} is negative", count));
  const std::array bounds{&from, &to};
  const DType dtype = wanted.value_or(operand_type(Op::divide, site, bounds));
  constexpr DType wide = DType::float64;
  const Tensor start = from.is_tensor() ? astype(from, wide) : full({}, from, wide), stop = to.is_tensor() ? astype(to, wide) : full({}, to, wide);
  const Tensor distance = subtract(stop, start);
  Shape shape(static_cast<std::size_t>(distance.ndim()) + 1, 1);
  shape[0] = count;
  const std::int64_t intervals = endpoint ? count - 1 : count;
  const Tensor i = reshape(astype(Tensor(make_iota(site, count)), wide), shape);
  if (intervals <= 0) return astype(add(multiply(i, distance), start), dtype);
  Tensor points = add(multiply(i, divide(distance, static_cast<double>(intervals))), start);
  if (endpoint) points = sinter::where(equal(i, static_cast<double>(intervals)), stop, points);  // the last one is exact
  return astype(is_integer(dtype) ? floor(points) : points, dtype);
}

Tensor filled_like(const char* function, const Arg& x, std::optional<DType> dtype, std::int64_t value) {
  const Site site = site_of(function, x.where());
  const RecordedPtr like = as_node(site, x);
  return filled(site, like->shape, make_scalar_int(dtype.value_or(like->dtype), value));
}

}  // namespace

Tensor zeros(const Shape& shape, DType dtype, Location where) { return filled(site_of("zeros", where), shape, make_scalar_int(dtype, 0)); }
Tensor ones(const Shape& shape, DType dtype, Location where) { return filled(site_of("ones", where), shape, make_scalar_int(dtype, 1)); }
Tensor empty(const Shape& shape, DType dtype, Location where) { return filled(site_of("empty", where), shape, make_scalar_int(dtype, 0)); }
Tensor empty_like(const Arg& x, std::optional<DType> dtype) { return filled_like("empty_like", x, dtype, 0); }
Tensor zeros_like(const Arg& x, std::optional<DType> dtype) { return filled_like("zeros_like", x, dtype, 0); }
Tensor ones_like(const Arg& x, std::optional<DType> dtype) { return filled_like("ones_like", x, dtype, 1); }
Tensor full_like(const Arg& x, const Arg& value, std::optional<DType> dtype) {
  const Scope scope("full_like", x.where());
  const RecordedPtr like = as_node(scope.site(), x);
  return full(like->shape, value, dtype.value_or(like->dtype));
}

Tensor full(const Shape& shape, const Arg& value, std::optional<DType> dtype) {
  const Site site = site_of("full", value.where());
  if (value.is_tensor()) return broadcast_to(dtype ? astype(value, *dtype) : value.tensor(), shape);
  const DType type = dtype.value_or(value.native());
  if (value.kind() == Arg::Kind::integer && !fits(value, type))
    fail<OverflowError>(site, fmt::format("{} is out of bounds for {}; choose a wider dtype", value.integer(), name(type)));
  return filled(site, shape, literal(site, value, type));
}

Tensor arange(const Arg& stop, std::optional<DType> dtype) { return ranged(Arg(0, stop.where()), stop, Arg(1, stop.where()), dtype); }
Tensor arange(const Arg& start, const Arg& stop, std::optional<DType> dtype) { return ranged(start, stop, Arg(1, stop.where()), dtype); }
Tensor arange(const Arg& start, const Arg& stop, const Arg& step, std::optional<DType> dtype) { return ranged(start, stop, step, dtype); }

Tensor linspace(const Arg& from, const Arg& to, std::int64_t count, bool endpoint, std::optional<DType> wanted) {
  const Scope scope("linspace", from.where());
  if (from.is_tensor() || to.is_tensor()) return between(scope.site(), from, to, count, endpoint, wanted);
  const double start = from.as_double(), stop = to.as_double();
  const std::array bounds{&from, &to};
  const DType dtype = wanted.value_or(operand_type(Op::divide, scope.site(), bounds));
  if (count < 0) fail<ValueError>(scope.site(), fmt::format("the count {} is negative", count));
  check_shape(scope.site(), {count}, DType::float64);
  const std::int64_t intervals = endpoint ? count - 1 : count;
  if (intervals <= 0) return filled(scope.site(), {count}, make_scalar(DType::float64, start)).astype(dtype);
  const Tensor i = astype(Tensor(make_iota(scope.site(), count)), DType::float64);
  Tensor points = add(multiply(i, (stop - start) / static_cast<double>(intervals)), start);
  if (endpoint) points = sinter::where(equal(i, static_cast<double>(intervals)), stop, points);  // the last one is exact
  return astype(is_integer(dtype) ? floor(points) : points, dtype);
}

Tensor placeholder(const Shape& shape, DType dtype, Location where) {
  const Site site = site_of("placeholder", where);
  check_shape(site, shape, dtype);
  return Tensor(make_data(site, dtype, shape, nullptr));
}

Tensor from_pointer(const void* data, DType dtype, const Shape& shape, const std::vector<std::int64_t>& strides, Location where) {
  const Site site = site_of("from_pointer", where);
  check_shape(site, shape, dtype);
  if (!strides.empty() && strides.size() != shape.size()) {
    fail<ShapeError>(site, fmt::format("{} for shape {}", counted(strides.size(), "stride"), to_string(shape)));
  }
  const auto bytes = static_cast<std::size_t>(element_count(shape)) * itemsize(dtype);
  if (data == nullptr && bytes != 0) fail<ValueError>(site, "the pointer is null");
  StoragePtr storage = host_storage(site, bytes);
  if (strides.empty()) {
    if (bytes != 0) std::memcpy(storage->host.get(), data, bytes);
  } else {
    gather(static_cast<std::byte*>(storage->host.get()), static_cast<const std::byte*>(data), itemsize(dtype), shape, strides);
  }
  return Tensor(make_data(site, dtype, shape, std::move(storage)));
}

Tensor from_bytes(const void* data, DType dtype, std::size_t count, const Shape& shape, Location where) {
  const Site site = site_of("from_span", where);
  const Shape wanted = completed_shape(site, {static_cast<std::int64_t>(count)}, shape);
  check_shape(site, wanted, dtype);
  if (element_count(wanted) != static_cast<std::int64_t>(count)) {
    fail<ShapeError>(site, fmt::format("{} not fill shape {}", counted(count, "element does", "elements do"), to_string(wanted)));
  }
  return from_pointer(data, dtype, wanted, {}, where);
}

Tensor adopt_memory(std::shared_ptr<const void> owner, const void* data, DType dtype, const Shape& shape, Location where) {
  const Site site = site_of("adopt_memory", where);
  check_shape(site, shape, dtype);
  if (element_count(shape) == 0) return zeros(shape, dtype, where);
  if (data == nullptr) fail<ValueError>(site, "the pointer is null");
  if (reinterpret_cast<std::uintptr_t>(data) % itemsize(dtype) != 0) fail<ValueError>(site, fmt::format("the pointer is not aligned to {}", name(dtype)));
  auto storage = std::make_shared<Storage>();
  storage->bytes = static_cast<std::size_t>(element_count(shape)) * itemsize(dtype);
  // The memory is only read.
  storage->host = std::const_pointer_cast<void>(std::shared_ptr<const void>(std::move(owner), data));
  return Tensor(make_data(site, dtype, shape, std::move(storage)));
}

Tensor adopt_host(std::shared_ptr<void> memory, DType dtype, const Shape& shape, Location where) {
  void* const data = memory.get();
  const Tensor adopted = adopt_memory(std::move(memory), data, dtype, shape, where);
  if (const StoragePtr& storage = adopted.node()->storage) storage->own = true;
  return adopted;
}

namespace detail {

ListReader::ListReader(DType dtype, int ndim, Location where) : dtype_(dtype), shape_(static_cast<std::size_t>(ndim), -1), where_(where) {}

void ListReader::open(int level, std::size_t count) {
  std::int64_t& size = shape_[static_cast<std::size_t>(level)];
  if (size == -1) size = static_cast<std::int64_t>(count);
  if (size != static_cast<std::int64_t>(count)) {
    fail<ShapeError>({"Tensor", where_}, fmt::format("the nested lists are ragged: axis {} has {}, then {}", level, counted(size, "item"), count));
  }
}
void ListReader::append(const void* values, std::size_t count) {
  const auto* first = static_cast<const unsigned char*>(values);
  bytes_.insert(bytes_.end(), first, first + count * itemsize(dtype_));
}
Tensor ListReader::finish() {
  for (std::int64_t& size : shape_) size = size == -1 ? 0 : size;  // the sizes of the lists inside an empty list are unknown
  return from_pointer(bytes_.data(), dtype_, shape_, {}, where_);
}

Tensor from_number(const Arg& value) { return full({}, value); }

}  // namespace detail

namespace {

/// Collects numbers of several C++ types in their common type.
class MixedReader {
 public:
  MixedReader(std::size_t rows, Location where) : site_{"Tensor", where}, rows_(rows) {}

  void row(std::initializer_list<detail::Number> numbers) {
    if (columns_ == kUnknown) columns_ = numbers.size();
    if (columns_ != numbers.size())
      fail<ShapeError>(site_, fmt::format("the nested lists are ragged: axis 1 has {}, then {}", counted(columns_, "item"), numbers.size()));
    for (const detail::Number& number : numbers) values_.push_back(&number.value);
  }
  Tensor finish(bool nested) const {
    DType dtype = values_.empty() ? DType::float64 : values_.front()->native();
    for (const Arg* value : values_) dtype = promote(site_, dtype, value->native());
    std::vector<std::byte> bytes(values_.size() * itemsize(dtype));
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::uint64_t bits = literal(site_, *values_[i], dtype).bits();
      std::memcpy(bytes.data() + i * itemsize(dtype), &bits, itemsize(dtype));
    }
    const auto columns = static_cast<std::int64_t>(columns_ == kUnknown ? 0 : columns_);
    return from_pointer(bytes.data(), dtype, nested ? Shape{static_cast<std::int64_t>(rows_), columns} : Shape{columns}, {}, site_.where);
  }

 private:
  static constexpr std::size_t kUnknown = ~std::size_t{0};
  Site site_;
  std::size_t rows_, columns_ = kUnknown;
  std::vector<const Arg*> values_;
};

Tensor mixed_list(std::initializer_list<detail::Number> values, Location where) {
  MixedReader reader(1, where);
  reader.row(values);
  return reader.finish(false);
}
Tensor mixed_lists(std::initializer_list<std::initializer_list<detail::Number>> values, Location where) {
  MixedReader reader(values.size(), where);
  for (const auto& row : values) reader.row(row);
  return reader.finish(true);
}

}  // namespace

Tensor::Tensor(std::initializer_list<detail::Number> values, Location where) : Tensor(mixed_list(values, where)) {}
Tensor::Tensor(std::initializer_list<std::initializer_list<detail::Number>> values, Location where) : Tensor(mixed_lists(values, where)) {}

}  // namespace sinter
