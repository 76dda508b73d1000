#include "ops/masks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/once.hpp"
#include "ops/gathers.hpp"
#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/indexing.hpp"
#include "sinter/ops.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace ops {
namespace {

struct Unread : Recorded {
  Unread(const Site& by, RecordedPtr x, RecordedPtr where_true) : Recorded(x->shape_owner), site(by), whole(std::move(x)), mask(std::move(where_true)) {
    unread = true;
  }
  const Site site;
  Once once;
  RecordedPtr whole, mask, elements;
};

}  // namespace

}  // namespace ops

/// Evaluates and returns the elements; declared in trace/record.hpp.
const trace::RecordedPtr& trace::read(const RecordedPtr& unread) {
  auto& part = static_cast<ops::Unread&>(*unread);
  part.once([&] {
    part.elements = ops::selected_by(part.site, part.whole, part.mask);
    part.whole.reset();
    part.mask.reset();
  });
  return part.elements;
}

namespace ops {

RecordedPtr make_unread(const Site& site, const RecordedPtr& x, const RecordedPtr& mask) { return std::make_shared<Unread>(site, x, mask); }

RecordedPtr places_of_trues(const Site& site, const RecordedPtr& x) {
  const RecordedPtr mask = make_cast(site, x, DType::bool_);
  const std::int64_t n = element_count(mask->shape);
  if (n == 0) return make_constant(site, make_scalar_int(DType::int64, 0), Shape{0});
  const auto* trues = static_cast<const bool*>(host_data(mask, site));
  const std::int64_t count = std::count(trues, trues + n, true);
  if (count == 0) return make_constant(site, make_scalar_int(DType::int64, 0), Shape{0});
  StoragePtr storage = host_storage(site, static_cast<std::size_t>(count) * sizeof(std::int64_t));
  auto* place = static_cast<std::int64_t*>(storage->host.get());
  const auto* const end = place + count;
  for (std::int64_t k = 0; place != end; ++k) {  // without a branch that the processor could mispredict
    *place = k;
    place += trues[k];
  }
  return make_data(site, DType::int64, {count}, std::move(storage));
}

std::vector<Tensor> indices_of(const Site& site, const RecordedPtr& places, const Shape& shape) {
  std::vector<Tensor> indices(shape.size());
  if (shape.size() == 1) return {Tensor(places)};
  Tensor rest(places);
  for (std::size_t k = shape.size(); k-- > 0;) {
    const std::int64_t size = std::max<std::int64_t>(shape[k], 1);
    indices[k] = k == 0 ? rest : remainder(Arg(rest, site.where), size);
    if (k > 0) rest = floor_divide(Arg(rest, site.where), size);
  }
  return indices;
}

void check_mask(const Site& site, const Shape& mask, const Shape& shape) {
  if (mask.size() > shape.size() || !std::equal(mask.begin(), mask.end(), shape.begin()))
    fail<ShapeError>(site, fmt::format("a mask of shape {} does not fit shape {}", to_string(mask), to_string(shape)));
}

RecordedPtr selected_by(const Site& site, const RecordedPtr& x, const RecordedPtr& mask) {
  check_mask(site, mask->shape, x->shape);
  const RecordedPtr places = places_of_trues(site, mask);
  Shape rows{element_count(mask->shape)};
  rows.insert(rows.end(), x->shape.begin() + static_cast<std::ptrdiff_t>(mask->shape.size()), x->shape.end());
  return make_take(site, make_reshape(site, x, rows), places, 0);
}

std::vector<Index> without_masks(const Site& site, const Shape& shape, std::span<const Index* const> index) {
  std::vector<Index> result;
  const auto axes_of = [](const Index& i) -> std::size_t {
    if (i.kind() == Index::Kind::places) return is_bool(i.places().dtype()) ? i.places().shape().size() : 1;
    return i.kind() == Index::Kind::integer || i.kind() == Index::Kind::slice;
  };
  std::size_t used = 0, axis = 0;
  for (const Index* i : index) used += axes_of(*i);
  for (const Index* i : index) {
    if (i->kind() == Index::Kind::rest) {
      axis += shape.size() - std::min(used, shape.size());
    } else if (i->kind() == Index::Kind::places && is_bool(i->places().dtype())) {
      const RecordedPtr& mask = i->places().node();
      check_mask(site, mask->shape, Shape(shape.begin() + static_cast<std::ptrdiff_t>(std::min(axis, shape.size())), shape.end()));
      for (const Tensor& places : indices_of(site, places_of_trues(site, mask), mask->shape)) result.emplace_back(places, i->where());
      axis += axes_of(*i);
      continue;
    } else {
      axis += axes_of(*i);
    }
    result.push_back(*i);
  }
  return result;
}

}  // namespace ops

using namespace ops;

std::vector<Tensor> nonzero(const Arg& x) {
  const Scope scope("nonzero", x.where());
  const RecordedPtr node = as_node(scope.site(), x);
  if (node->shape.empty()) fail<ShapeError>(scope.site(), "a 0-d tensor has no axis to give indices of; use flatnonzero");
  return indices_of(scope.site(), places_of_trues(scope.site(), node), node->shape);
}

Tensor flatnonzero(const Arg& x) {
  const Scope scope("flatnonzero", x.where());
  return Tensor(places_of_trues(scope.site(), as_node(scope.site(), x)));
}

Tensor argwhere(const Arg& x) {
  const Scope scope("argwhere", x.where());
  const RecordedPtr node = as_node(scope.site(), x), places = places_of_trues(scope.site(), node);
  if (node->shape.empty()) return zeros({element_count(places->shape), 0}, DType::int64);
  return stack(indices_of(scope.site(), places, node->shape), 1);
}

Tensor compress(const Arg& condition, const Arg& x, std::optional<std::int64_t> axis) {
  const Scope scope("compress", condition.where());
  const Site& site = scope.site();
  const RecordedPtr chosen = as_node(site, condition);
  RecordedPtr node = as_node(site, x);
  if (!axis) node = make_reshape(site, node, {element_count(node->shape)});
  if (chosen->shape.size() != 1) fail<ShapeError>(site, fmt::format("the condition is a vector, not of shape {}", to_string(chosen->shape)));
  const std::int64_t along = checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(node->shape.size()));
  const std::int64_t size = node->shape[static_cast<std::size_t>(along)];
  const RecordedPtr places = places_of_trues(site, chosen);
  if (chosen->shape[0] <= size) return Tensor(make_take(site, node, places, along));
  return take(Tensor(node), Tensor(places), along);  // a true element beyond the axis is an index out of range
}

Tensor extract(const Arg& condition, const Arg& x) {
  const Scope scope("extract", condition.where());
  const Site& site = scope.site();
  const RecordedPtr chosen = as_node(site, condition), node = as_node(site, x);
  return compress(Tensor(make_reshape(site, chosen, {element_count(chosen->shape)})), Tensor(node));
}

namespace {

/// Returns the indices; one that is out of range throws IndexError when it is computed.
Tensor within(const Tensor& indices, std::int64_t size) { return indices.size() == 0 ? indices : take(arange(size), indices); }

}  // namespace

std::vector<Tensor> unravel_index(const Arg& indices, const Shape& shape) {
  const Scope scope("unravel_index", indices.where());
  return indices_of(scope.site(), as_node(scope.site(), Arg(within(Tensor(as_node(scope.site(), indices)), element_count(shape)))), shape);
}

Tensor ravel_multi_index(const std::vector<Tensor>& indices, const Shape& shape, Location where) {
  const Scope scope("ravel_multi_index", where);
  if (indices.size() != shape.size() || shape.empty())
    fail<ShapeError>(scope.site(), fmt::format("{} for shape {}", counted(indices.size(), "index", "indices"), to_string(shape)));
  Tensor flat = within(indices[0], shape[0]);
  for (std::size_t k = 1; k < shape.size(); ++k) flat = flat * shape[k] + within(indices[k], shape[k]);
  return flat;
}

}  // namespace sinter
