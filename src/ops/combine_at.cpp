// NumPy's ufunc.at for any function of two arguments: values for the same index are combined in order.
#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "ops/masks.hpp"
#include "ops/recording.hpp"
#include "ops/scatter.hpp"
#include "sinter/indexing.hpp"
#include "sinter/ops.hpp"
#include "trace/host_access.hpp"

namespace sinter {

using namespace ops;

namespace {

using Numbers = std::vector<std::int64_t>;

Tensor vector_of(const Numbers& numbers) { return from_span(numbers); }
Tensor rows_at(const Tensor& x, const Numbers& rows) { return take(x, vector_of(rows), 0); }

/// Combines the values for the same index with each other, neighbours first, until each index has one value; then combines these with x.
Tensor in_pairs(Tensor x, Tensor values, Numbers places, const detail::Combiner& f) {
  while (std::adjacent_find(places.begin(), places.end()) != places.end()) {
    Numbers first, second, rest;
    std::vector<std::uint8_t> two;
    for (std::size_t k = 0; k < places.size(); ++k) {
      const bool paired = k + 1 < places.size() && places[k] == places[k + 1];
      first.push_back(static_cast<std::int64_t>(k));
      rest.push_back(places[k]);
      two.push_back(paired);
      second.push_back(static_cast<std::int64_t>(k += paired));
    }
    const Tensor left = rows_at(values, first), both = f(left, rows_at(values, second));
    values = where(expand_dims(from_span(two).astype(DType::bool_), 1), both, left.astype(both.dtype()));
    places = std::move(rest);
  }
  x(vector_of(places)) = f(rows_at(x, places), values);
  return x;
}

/// Combines one value for each index in every pass.
Tensor one_by_one(const Site& site, Tensor x, const Tensor& values, const Numbers& places, const detail::Combiner& f) {
  constexpr std::size_t kMaxRounds = 1000;
  std::vector<Numbers> rounds;
  std::size_t turn = 0;
  for (std::size_t k = 0; k < places.size(); ++k) {
    turn = k > 0 && places[k] == places[k - 1] ? turn + 1 : 0;
    if (turn == kMaxRounds) fail<ValueError>(site, fmt::format("more than {} values for one index would be combined one after the other", kMaxRounds));
    if (turn == rounds.size()) rounds.emplace_back();
    rounds[turn].push_back(static_cast<std::int64_t>(k));
  }
  for (const Numbers& round : rounds) {
    Numbers at;
    for (const std::int64_t k : round) at.push_back(places[static_cast<std::size_t>(k)]);
    x(vector_of(at)) = f(rows_at(x, at), rows_at(values, round));
  }
  return x;
}

}  // namespace

Tensor detail::combine_at(const Arg& arg, const std::vector<Index>& given, const Arg& by, Combining how, const Combiner& f) {
  const Scope scope("combine_at", arg.where());
  const Site& site = scope.site();
  const Tensor x(as_node(site, arg));
  std::vector<const Index*> list;
  for (const Index& i : given) list.push_back(&i);
  const std::vector<Index> index = without_masks(site, x.shape(), list);
  // An index is the number of an element, or of a whole slice if the index expression selects only on the leading axes.
  const bool leading =
      std::all_of(index.begin(), index.end(), [](const Index& i) { return i.kind() == Index::Kind::integer || i.kind() == Index::Kind::places; });
  const std::size_t used = leading ? std::min(index.size(), x.shape().size()) : x.shape().size();
  const auto middle = x.shape().begin() + static_cast<std::ptrdiff_t>(used);
  const Shape rows(x.shape().begin(), middle), row(middle, x.shape().end());
  const Tensor numbers = Tensor(make_reshape(site, make_iota(site, element_count(rows)), rows)).at(index, site.where);
  Shape part = numbers.shape();
  part.insert(part.end(), row.begin(), row.end());
  const std::int64_t count = numbers.size(), columns = element_count(row);
  const Tensor values = reshape(broadcast_to(by, part), {count, columns});
  if (values.size() == 0) return x;
  const auto* const first = static_cast<const std::int64_t*>(host_data(numbers.node(), site));
  Numbers order(static_cast<std::size_t>(count)), places;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return first[a] < first[b]; });
  for (const std::int64_t k : order) places.push_back(first[k]);
  const Tensor matrix = reshape(x, {element_count(rows), columns}), sorted = rows_at(values, order);
  return reshape(how == Combining::in_pairs ? in_pairs(matrix, sorted, places, f) : one_by_one(site, matrix, sorted, places, f), x.shape());
}

}  // namespace sinter
