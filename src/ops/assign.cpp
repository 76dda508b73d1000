// Assignment to a handle in place, and to a part of it. The handle gets a new value that reads the part from the assigned value and the rest from the old
// value: a pad, which is a guarded read inside the kernel that uses it.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ops/in_place.hpp"
#include "ops/masks.hpp"
#include "ops/recording.hpp"
#include "ops/scatter.hpp"
#include "ops/selection.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

using Binary = Tensor (*)(const Arg&, const Arg&);

/// Checks that the assigned value has the elements' kind or a lower one: NumPy's same_kind.
void check_kind(const Site& site, DType given, DType dtype) {
  if (!same_kind(given, dtype))
    fail<DTypeError>(site, fmt::format("{} cannot take the place of {}; convert one of them with astype first", name(given), name(dtype)));
}
RecordedPtr cast_in_place(const Site& site, const RecordedPtr& value, DType dtype) {
  check_kind(site, value->dtype, dtype);
  return make_cast(site, value, dtype);
}

Tensor& in_place(Tensor& x, const char* op, Binary function, const Arg& other) {
  const Site site = site_of(op, other.where());
  const RecordedPtr whole = node_of(site, x);
  const Tensor result = function(Arg(x, other.where()), other);
  if (result.shape() != whole->shape)
    fail<ShapeError>(
        site, fmt::format("shape {} does not fit in place of {}; write x = x + y for a larger result", to_string(result.shape()), to_string(whole->shape)));
  return x = Tensor(cast_in_place(site, result.node(), whole->dtype));
}

bool broadcasts(const Shape& given, const Shape& part) {
  if (given.size() > part.size()) return false;
  for (std::size_t k = 0; k < given.size(); ++k)
    if (given[k] != 1 && given[k] != part[part.size() - given.size() + k]) return false;
  return true;
}

/// Removes leading axes of size 1 that the part lacks.
Shape without_axes_in_front(Shape shape, const Shape& part) {
  while (shape.size() > part.size() && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

/// Returns the shape without such leading axes. Throws ShapeError if it does not broadcast to the part.
Shape fitting_shape(const Site& site, const Shape& given, const Shape& part) {
  Shape shape = without_axes_in_front(given, part);
  if (!broadcasts(shape, part))
    fail<ShapeError>(site, fmt::format("shape {} does not broadcast to {}, the shape of the assigned part", to_string(given), to_string(part)));
  return shape;
}

}  // namespace

RecordedPtr ops::fitted(const Site& site, const Arg& value, DType dtype, const Shape& part) {
  if (!value.is_tensor()) {
    using Kind = Arg::Kind;
    const bool integer = value.kind() == Kind::integer || value.kind() == Kind::too_large;  // any integer type that can represent the number accepts it
    check_kind(site, integer ? is_bool(dtype) ? DType::int64 : dtype : value.native(), dtype);
    return make_constant(site, literal(site, value, dtype), part);
  }
  const RecordedPtr node = cast_in_place(site, node_of(site, value.tensor()), dtype);
  return make_broadcast(site, make_reshape(site, node, fitting_shape(site, node->shape, part)), part);
}

namespace {

/// The range along axis k where a pad puts its first operand.
struct Range {
  std::int64_t begin, end;
  friend bool operator==(const Range&, const Range&) = default;
};
Range range_of(const Shape& shape, const std::vector<std::int64_t>& around, std::size_t k) { return {around[2 * k], shape[k] - around[2 * k + 1]}; }

/// Records a pad that places the value inside the whole. After a loop that assigns to one row after another, every element would test the pads of all rows. So
/// sixteen adjacent parts of one size are joined to one piece, and sixteen such pieces to a larger one.
RecordedPtr put(const Site& site, RecordedPtr value, RecordedPtr whole, std::vector<std::int64_t> around) {
  constexpr std::size_t kGroup = 16;
  const Shape shape = whole->shape;
  for (;;) {
    // Collects earlier pads that differ from this one along one axis only, such that each part is adjacent to the next, all in one direction.
    std::vector<RecordedPtr> pieces{value};  // in reverse order of their assignment
    std::optional<std::size_t> axis;
    bool forwards = true;
    Range last{}, all{};
    RecordedPtr under = whole;
    while (pieces.size() < kGroup && under->op == Op::pad && under->shape == shape) {
      const Operands operands = under->inputs();
      if (operands.empty()) break;  // evaluated
      const std::vector<std::int64_t>& other = under->ints;
      bool fits = true;
      for (std::size_t k = 0; fits && k < shape.size(); ++k) {
        const Range here = range_of(shape, other, k), mine = range_of(shape, around, k);
        if (here == mine && axis != k) continue;
        if (!axis) {
          axis = k;
          last = all = mine;
          forwards = here.end == mine.begin;
        }
        fits = axis == k && here.end - here.begin == mine.end - mine.begin && (forwards ? here.end == last.begin : here.begin == last.end);
        last = here;
      }
      if (!fits || !axis) break;
      pieces.push_back(operands[0]);
      under = operands[1];
    }
    if (pieces.size() < kGroup) return make_pad(site, value, whole, std::move(around));
    const std::size_t k = *axis;
    all = {std::min(all.begin, last.begin), std::max(all.end, last.end)};
    if (forwards) std::reverse(pieces.begin(), pieces.end());
    Shape joined = value->shape;
    joined[k] = all.end - all.begin;
    RecordedPtr group = make_constant(site, make_scalar_int(value->dtype, 0), joined);
    for (std::size_t n = 0; n < kGroup; ++n) {
      std::vector<std::int64_t> beside(2 * shape.size(), 0);
      beside[2 * k] = static_cast<std::int64_t>(n) * value->shape[k];
      beside[2 * k + 1] = joined[k] - beside[2 * k] - value->shape[k];
      group = make_pad(site, pieces[n], group, std::move(beside));
    }
    around[2 * k] = all.begin;
    around[2 * k + 1] = shape[k] - all.end;
    value = std::move(group);
    whole = std::move(under);
  }
}

/// Replaces a strided block of the whole; the value has the block's shape.
RecordedPtr replaced(const Site& site, const RecordedPtr& whole, std::vector<std::int64_t> start_step, RecordedPtr value) {
  const Shape block = value->shape;
  const std::size_t rank = block.size();
  if (element_count(block) == 0) return whole;
  // Negative steps are reversed, so that all steps go forward.
  std::vector<std::int64_t> turn(2 * rank), starts(rank), steps(rank);
  Shape window(rank, 0);  // from the first to the last element
  bool dense = true;
  for (std::size_t k = 0; k < rank; ++k) {
    std::int64_t start = start_step[2 * k], step = block[k] == 1 ? 1 : start_step[2 * k + 1];
    turn[2 * k] = step < 0 ? block[k] - 1 : 0;
    turn[2 * k + 1] = step < 0 ? -1 : 1;
    if (step < 0) start += (block[k] - 1) * step, step = -step;
    starts[k] = start;
    steps[k] = step;
    window[k] = (block[k] - 1) * step + 1;
    dense &= step == 1;
  }
  value = make_slice(site, value, std::move(turn), block);
  std::vector<std::int64_t> around(2 * rank);
  for (std::size_t k = 0; k < rank; ++k) around[2 * k] = starts[k], around[2 * k + 1] = whole->shape[k] - starts[k] - window[k];
  if (!dense) {
    // Replaces every step-th element of the window. The window is padded to whole steps and reshaped to (count, step); then the first column is replaced, and
    // the result is cropped to the window.
    std::vector<std::int64_t> read(2 * rank, 1), filling(2 * rank, 0), columns(4 * rank, 0), region(2 * rank, 1);
    Shape full(rank), apart, column;
    for (std::size_t k = 0; k < rank; ++k) {
      read[2 * k] = starts[k];
      region[2 * k] = 0;
      full[k] = block[k] * steps[k];
      filling[2 * k + 1] = full[k] - window[k];
      apart.insert(apart.end(), {block[k], steps[k]});
      column.insert(column.end(), {block[k], 1});
      columns[4 * k + 3] = steps[k] - 1;
    }
    check_shape(site, full, value->dtype);
    const RecordedPtr old = make_slice(site, whole, std::move(read), window);
    const RecordedPtr filled = make_pad(site, old, make_constant(site, make_scalar_int(value->dtype, 0), full), std::move(filling));
    const RecordedPtr mixed = make_pad(site, make_reshape(site, value, column), make_reshape(site, filled, apart), std::move(columns));
    value = make_slice(site, make_reshape(site, mixed, full), std::move(region), window);
  }
  return put(site, value, whole, std::move(around));
}

bool is_mask(const std::vector<Index>& index) {
  return index.size() == 1 && index[0].kind() == Index::Kind::places && !index[0].places().empty_handle() && is_bool(index[0].places().dtype());
}

/// Returns the mask over the leading axes of a shape, with axes of size 1 for the others.
Tensor over_all_axes(const Site& site, const Tensor& mask, const Shape& shape) {
  check_mask(site, mask.shape(), shape);
  Shape wide = mask.shape();
  wide.resize(shape.size(), 1);
  return Tensor(make_reshape(site, mask.node(), wide));
}

/// Returns the shape of one element that a mask selects: a value of this shape can be assigned to all of them.
Shape one_selected(const Tensor& mask, const Shape& whole) { return Shape(whole.begin() + mask.ndim(), whole.end()); }

/// Returns the elements where the mask is true. They are gathered when they are read, not before.
Tensor unread(const Tensor& whole, const Tensor& mask, Location where) {
  const Site site = site_of("index", where);
  check_mask(site, mask.shape(), node_of(site, whole)->shape);
  return Tensor(make_unread(site, whole.node(), mask.node()));
}

/// Writes x(i, j) = 2 in place where that is possible. An invalid value is left to the recording, which reports it.
bool written(const Site& site, Tensor& whole, const Selection& block, const Arg& value) {
  const DType dtype = whole.dtype();
  if (!value.is_tensor()) return write_in_place(site, whole, block, fitted(site, value, dtype, {}));
  const RecordedPtr& elements = node_of(site, value.tensor());
  return elements->dtype == dtype && broadcasts(without_axes_in_front(elements->shape, block.result), block.result) &&
         write_in_place(site, whole, block, elements);
}

/// Does the same for x(i, j) += 2.
bool updated(const Site& site, Tensor& whole, const Selection& block, Binary function, const Arg& number) {
  const DType dtype = whole.dtype();
  const Op op = function == add ? Op::add : function == subtract ? Op::subtract : function == multiply ? Op::multiply : Op::divide;
  const bool integer = number.kind() == Arg::Kind::integer;
  if (op == Op::divide && (function != divide || !is_floating(dtype))) return false;
  if (!(integer || (number.kind() == Arg::Kind::floating && is_floating(dtype))) || !fits(number, dtype)) return false;
  return update_in_place(site, whole, block, op, literal(site, number, dtype));
}

std::vector<const Index*> addresses(const std::vector<Index>& index) {
  std::vector<const Index*> list;
  for (const Index& i : index) list.push_back(&i);
  return list;
}

bool has_places(const std::vector<Index>& index) {
  return std::any_of(index.begin(), index.end(), [](const Index& i) { return i.kind() == Index::Kind::places; });
}

}  // namespace

Part::Part(Tensor& whole, std::vector<Index> index, Location where)
    : Tensor(is_mask(index) ? unread(whole, index[0].places(), where) : std::as_const(whole).at(index, where)),
      whole_(&whole),
      index_(std::move(index)),
      where_(where) {}

Part::Part(Part& outer, std::vector<Index> index, Location where) : Part(static_cast<Tensor&>(outer), std::move(index), where) { outer_ = &outer; }

void Part::assign(const char* op, const Arg& value) {
  const Site site = site_of(op, value.where());
  static_cast<Tensor&>(*this) = Tensor();  // the old value of the part is not needed
  const RecordedPtr& whole = node_of(site, *whole_);
  if (is_mask(index_)) {
    const Tensor& mask = index_[0].places();
    const Tensor wide = over_all_axes(site, mask, whole->shape);
    if (!broadcasts(shape_of(site, value), one_selected(mask, whole->shape))) {  // the value has one element for each true element of the mask
      return replace(op, Tensor(make_scatter(site, Op::scatter, whole, without_masks(site, whole->shape, addresses(index_)), value)));
    }
    const Tensor chosen(fitted(site, value, whole->dtype, one_selected(mask, whole->shape)));
    return replace(op, where(Arg(wide, site.where), chosen, Tensor(whole)));
  }
  if (has_places(index_)) {
    const std::vector<Index> index = without_masks(site, whole->shape, addresses(index_));
    if (!outer_ && scatter_in_place(site, *whole_, index, value)) return;
    return replace(op, Tensor(make_scatter(site, Op::scatter, node_of(site, *whole_), index, value)));
  }
  Selection selection = selected(site, whole->shape, addresses(index_));
  if (!outer_ && written(site, *whole_, selection, value)) return;
  const RecordedPtr block = make_reshape(site, fitted(site, value, whole->dtype, selection.result), selection.sliced);
  replace(op, Tensor(replaced(site, whole, std::move(selection.start_step), block)));
}

void Part::replace(const char* op, Tensor whole) {
  if (outer_) {
    if (has_places(outer_->index_))
      fail<ValueError>({op, where_},
                       "indexing with tensors makes a copy, and an assignment to a part of the copy would be lost; write one index instead of two");
    outer_->assign(op, Arg(whole, where_));
  }
  *whole_ = std::move(whole);
}

void Part::update(const char* op, Binary function, const Arg& other) {
  const Site site = site_of(op, other.where());
  const bool by_mask = is_mask(index_);
  if (const RecordedPtr& whole = node_of(site, *whole_); !outer_ && !other.is_tensor() && !has_places(index_) && (whole->evaluated() || whole->op == Op::pad)) {
    static_cast<Tensor&>(*this) = Tensor();
    if (updated(site, *whole_, selected(site, whole->shape, addresses(index_)), function, other)) return;
    static_cast<Tensor&>(*this) = std::as_const(*whole_).at(index_, where_);
  }
  const Shape each = by_mask ? one_selected(index_[0].places(), node_of(site, *whole_)->shape) : Shape();
  const Shape given = without_axes_in_front(shape_of(site, other), each);
  if (!by_mask || !broadcasts(given, each)) {  // the operand has one value for each true element, so the mask is evaluated to count these
    const Tensor value = function(Arg(*this, other.where()), other);
    return assign(op, Arg(value, other.where()));
  }
  const Tensor whole(node_of(site, *whole_));
  const Tensor wide = over_all_axes(site, index_[0].places(), whole.shape());
  const Tensor fitting = other.is_tensor() ? other.tensor().reshape(given, site.where) : Tensor();
  const Tensor changed = function(Arg(whole, other.where()), other.is_tensor() ? Arg(fitting, other.where()) : other);
  replace(op, where(Arg(wide, site.where), Tensor(cast_in_place(site, changed.node(), whole.dtype())), whole));
}

void Part::operator=(const Arg& value) && { assign("assign", value); }
void Part::operator=(const Part& value) && { assign("assign", Arg(value, where_)); }
void Part::operator+=(const Arg& other) && { update("add", add, other); }
void Part::operator-=(const Arg& other) && { update("subtract", subtract, other); }
void Part::operator*=(const Arg& other) && { update("multiply", multiply, other); }
void Part::operator/=(const Arg& other) && { update("divide", divide, other); }
void Part::operator%=(const Arg& other) && { update("remainder", remainder, other); }
void Part::operator&=(const Arg& other) && { update("bitwise_and", bitwise_and, other); }
void Part::operator|=(const Arg& other) && { update("bitwise_or", bitwise_or, other); }
void Part::operator^=(const Arg& other) && { update("bitwise_xor", bitwise_xor, other); }
void Part::operator<<=(const Arg& other) && { update("left_shift", left_shift, other); }
void Part::operator>>=(const Arg& other) && { update("right_shift", right_shift, other); }

Part Tensor::operator()(const Index& a) & { return {*this, {a}, a.where()}; }
Part Tensor::operator()(const Index& a, const Index& b) & { return {*this, {a, b}, a.where()}; }
Part Tensor::operator()(const Index& a, const Index& b, const Index& c) & { return {*this, {a, b, c}, a.where()}; }
Part Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d) & { return {*this, {a, b, c, d}, a.where()}; }
Part Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e) & { return {*this, {a, b, c, d, e}, a.where()}; }
Part Tensor::operator[](const Index& a) & { return {*this, {a}, a.where()}; }
Part Part::operator()(const Index& a) && { return {*this, {a}, a.where()}; }
Part Part::operator()(const Index& a, const Index& b) && { return {*this, {a, b}, a.where()}; }
Part Part::operator()(const Index& a, const Index& b, const Index& c) && { return {*this, {a, b, c}, a.where()}; }
Part Part::operator[](const Index& a) && { return {*this, {a}, a.where()}; }
Part Tensor::at(const std::vector<Index>& index, Location where) & { return {*this, index, where}; }

Tensor& Tensor::operator+=(const Arg& other) & { return in_place(*this, "add", add, other); }
Tensor& Tensor::operator-=(const Arg& other) & { return in_place(*this, "subtract", subtract, other); }
Tensor& Tensor::operator*=(const Arg& other) & { return in_place(*this, "multiply", multiply, other); }
Tensor& Tensor::operator/=(const Arg& other) & { return in_place(*this, "divide", divide, other); }
Tensor& Tensor::operator%=(const Arg& other) & { return in_place(*this, "remainder", remainder, other); }
Tensor& Tensor::operator&=(const Arg& other) & { return in_place(*this, "bitwise_and", bitwise_and, other); }
Tensor& Tensor::operator|=(const Arg& other) & { return in_place(*this, "bitwise_or", bitwise_or, other); }
Tensor& Tensor::operator^=(const Arg& other) & { return in_place(*this, "bitwise_xor", bitwise_xor, other); }
Tensor& Tensor::operator<<=(const Arg& other) & { return in_place(*this, "left_shift", left_shift, other); }
Tensor& Tensor::operator>>=(const Arg& other) & { return in_place(*this, "right_shift", right_shift, other); }

}  // namespace sinter
