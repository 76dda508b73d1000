#include "fuse/align.hpp"

#include "fuse/costs.hpp"

#include <algorithm>

namespace sinter::fuse {

using namespace costs;
namespace {

// Returns the expression divided by a number that divides all its terms.
std::optional<IndexExpr> exactly_divided(const IndexExpr& expr, Size by) {
  if (by == 1) return expr;
  if (expr.constant() % by != 0) return std::nullopt;
  std::vector<IndexTerm> terms = expr.terms();
  for (auto& term : terms) {
    if (term.coeff % by != 0) return std::nullopt;
    term.coeff = term.coeff / by;
  }
  return IndexSpace::current()->intern(expr.constant() / by, std::move(terms));
}

class Aligner {
 public:
  Aligner(const Graph& graph, const Group& host, const Group& guest)
      : graph_(graph), host_(host), guest_(guest), chunks_(host.kernel.chunks), sizes_(host.kernel.sizes), parallel_(host.kernel.parallel) {}

  std::optional<Aligned> run(bool within) {
    within_ = within;
    if (guest_.kernel.row_axes() > 0 && static_cast<int>(sizes_.size()) == parallel_) return std::nullopt;
    if (guest_.kernel.chunks.length > 0 && !chunks_.same(guest_.kernel.chunks)) return std::nullopt;
    if (!within && !as_many_points()) return std::nullopt;
    for (int splits = 0;; ++splits) {
      may_split_ = chunks_.length == 0 && splits < kMaxSplits;
      std::optional<SplitAxis> split;
      auto aligned = attempt(split);
      if (!split) return aligned;
      const auto by = split_axis(sizes_, parallel_, *split);
      if (!requests_) {
        requests_ = host_.requests;
        touches_ = host_.touches;
      }
      for (auto& request : *requests_)
        for (auto& dim : request.dims) dim = substitute(dim, by);
      for (auto& touch : touches_)
        for (auto& dim : touch.at) dim = substitute(dim, by);
    }
  }

  std::optional<Aligned> beside_each_other() const {
    const Kernel& guest = guest_.kernel;
    if (guest.parallel != parallel_ || hints(guest.sizes) != hints(sizes_) || guest.chunks.length.hint() != chunks_.length.hint()) return std::nullopt;
    // This comparison records a guard for equal sizes that are different expressions.
    if (!chunks_.same(guest.chunks) || !std::equal(sizes_.begin(), sizes_.end(), guest.sizes.begin())) return std::nullopt;
    return joined(identity_map(sizes_.size()));
  }

  // Needs no guard, although it reads the present sizes: two kernels instead of one are right at any size.
  static std::uint64_t points(const Kernel& kernel, int first, int last) {
    std::uint64_t points = 1;
    for (int axis = first; axis < last; ++axis) points *= static_cast<std::uint64_t>(kernel.sizes[static_cast<std::size_t>(axis)].hint());
    return points;
  }

 private:
  bool as_many_points() const {
    const Kernel &ours = host_.kernel, &theirs = guest_.kernel;
    if (chunks_.length.hint() > 0) return true;  // the last chunk may be shorter
    const int all = static_cast<int>(ours.sizes.size()), all_theirs = static_cast<int>(theirs.sizes.size());
    const std::uint64_t at_parallel = points(ours, 0, ours.parallel), in_rows = points(ours, ours.parallel, all);
    if (theirs.row_axes() > 0) return points(theirs, 0, theirs.parallel) == at_parallel && points(theirs, theirs.parallel, all_theirs) == in_rows;
    const std::uint64_t there = points(theirs, 0, all_theirs);
    return there == at_parallel || there == at_parallel * in_rows;
  }

  // Returns nothing, and sets `split`, if an axis of the host must be split first; so does solve().
  std::optional<Aligned> attempt(std::optional<SplitAxis>& split) const {
    int pairs = 0;
    for (const auto& theirs : guest_.touches)
      for (const auto& ours : requests_ ? touches_ : host_.touches) {
        if (ours.node != theirs.node) continue;
        if (++pairs > kMaxPairs) return std::nullopt;
        if (within_) {
          if (auto axes = solve(ours, theirs, split))
            if (auto aligned = within(*axes)) return aligned;
        } else {
          if (auto axes = as_they_are(ours, theirs)) return joined(*axes);
          if (auto axes = solve(ours, theirs, split); axes && same_points(*axes, sizes_, guest_.kernel.sizes)) return joined(*axes);
        }
        if (split) return std::nullopt;
      }
    return std::nullopt;
  }

  // Given the guest's axes as expressions over the host's: joins the groups if the points of one are a box within the points of the other.
  std::optional<Aligned> within(std::vector<IndexExpr> axes) const {
    Sizes ours = sizes_, theirs = guest_.kernel.sizes;
    std::vector<IndexExpr> host_axes = identity_map(ours.size());
    std::vector<IndexExpr> guest_axes = axes;
    std::uint64_t longer = 0, shorter = 0;  // axes of the host to be made longer, and those along which the guest is shorter
    for (std::size_t g = 0; g < axes.size(); ++g) {
      const auto& terms = axes[g].terms();
      if (terms.size() != 1 || terms[0].axis < 0 || !terms[0].coeff.same(1)) continue;  // it must be all of the points along its axes
      const auto axis = static_cast<std::size_t>(terms[0].axis);
      const Size first = axes[g].constant();  // the guest's point at the host's first
      if (first.same(0) && theirs[g].same(ours[axis])) continue;
      if (chunks_.length > 0 && (axis == 0 || static_cast<int>(axis) >= parallel_)) return std::nullopt;
      if (first >= 0 && first + ours[axis] <= theirs[g]) {
        longer |= std::uint64_t{1} << axis;
        host_axes[axis] = host_axes[axis] + IndexExpr::of(0 - first);
        ours[axis] = theirs[g];
        guest_axes[g] = IndexExpr::of_axis(static_cast<int>(axis));
      } else if (first <= 0 && theirs[g] - first <= ours[axis]) {
        shorter |= std::uint64_t{1} << axis;
        theirs[g] = ours[axis];
      } else {
        return std::nullopt;
      }
      axes[g] = IndexExpr::of_axis(static_cast<int>(axis));
    }
    if ((longer == 0) == (shorter == 0) || !same_points(axes, ours, theirs)) return std::nullopt;
    Aligned result{ours, parallel_, requests_ ? requests_ : host_.requests, guest_.requests, axes, chunks_};
    const auto over = [&](std::vector<Request>& requests, const std::vector<IndexExpr>& by, std::uint64_t narrow) {
      return std::all_of(requests.begin(), requests.end(), [&](Request& request) {
        for (auto& dim : request.dims) dim = substitute(dim, by);
        return mark_parts(request, narrow);
      });
    };
    if (!over(*result.host, host_axes, longer) || !over(result.guest, guest_axes, shorter)) return std::nullopt;
    return result;
  }

  // Marks the dimensions by which a request's points along these axes are told. Returns false if an axis is not a dimension of its own.
  static bool mark_parts(Request& request, std::uint64_t narrow) {
    std::uint64_t told = 0;
    for (std::size_t k = 0; k < request.dims.size(); ++k) {
      const IndexExpr& dim = request.dims[k];
      if ((dim.axes() & narrow) == 0) continue;
      if (dim.terms().size() != 1 || dim.terms()[0].axis < 0 || !dim.terms()[0].coeff.same(1) || k >= 64 || (told & dim.axes()) != 0) return false;
      told |= dim.axes();
      request.part |= std::uint64_t{1} << k;
    }
    return told == narrow;
  }

  Aligned joined(const std::vector<IndexExpr>& axes) const {
    Aligned result{sizes_, parallel_, requests_, {}, axes, chunks_};
    for (const auto& request : guest_.requests) {
      Request here{request.node, {}, request.part};
      for (const auto& dim : request.dims) here.dims.push_back(substitute(dim, axes));
      result.guest.push_back(std::move(here));
    }
    return result;
  }

  // For two kernels over equal axes that compute an element's position by the same expression: maps axis to axis.
  std::optional<std::vector<IndexExpr>> as_they_are(const Touch& ours, const Touch& theirs) const {
    if (!(ours.at == theirs.at) || !over_equal_axes()) return std::nullopt;
    std::uint64_t met = 0;
    for (const IndexExpr& at : theirs.at) met |= at.axes();
    if ((met & axes_between(sizes_, 0, static_cast<int>(sizes_.size()))) != axes_between(sizes_, 0, static_cast<int>(sizes_.size()))) return std::nullopt;
    return identity_map(sizes_.size());
  }
  bool over_equal_axes() const {
    const Kernel& guest = guest_.kernel;
    if (guest.sizes.size() != sizes_.size() || guest.parallel != parallel_ || !chunks_.same(guest.chunks)) return false;
    return std::equal(sizes_.begin(), sizes_.end(), guest.sizes.begin(), [](const Size& a, const Size& b) { return a.same(b); });
  }

  // Returns the guest's axes as expressions over the host's, from two index maps of the same element.
  std::optional<std::vector<IndexExpr>> solve(const Touch& ours, const Touch& theirs, std::optional<SplitAxis>& split) const {
    const auto& sizes = guest_.kernel.sizes;
    if (chunked_host())
      if (auto axes = solve_chunked(ours, theirs)) return axes;
    std::vector<std::optional<IndexExpr>> axes(sizes.size());
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      if (sizes[axis] == 1) axes[axis] = IndexExpr::of(0);
    for (std::size_t k = 0; k < theirs.at.size(); ++k) {
      const IndexExpr& there = theirs.at[k];
      std::vector<const IndexTerm*> digits;
      for (const auto& term : there.terms()) {
        if (term.axis < 0) return std::nullopt;
        if (sizes[term.axis] != 1) digits.push_back(&term);
      }
      if (digits.empty()) {
        if (!(ours.at[k] == there)) return std::nullopt;
        continue;
      }
      if (digits.size() == 1) {
        if (!within_ && ours.at[k].constant() != there.constant()) return std::nullopt;  // the points differ
        const auto place = exactly_divided(ours.at[k] + IndexExpr::of(0 - there.constant()), digits[0]->coeff);
        auto& axis = axes[digits[0]->axis];
        if (!place || (axis && !(*axis == *place))) return std::nullopt;
        axis = place;
        continue;
      }
      // The most significant digit comes first; each digit weighs as much as all values of the lower digits.
      std::sort(digits.begin(), digits.end(), [](const IndexTerm* a, const IndexTerm* b) { return a->coeff > b->coeff; });
      Sizes radix;
      Size count = 1;
      for (std::size_t d = digits.size(); d-- > 0;) {
        if (digits[d]->coeff != digits.back()->coeff * count) return std::nullopt;
        count = count * sizes[digits[d]->axis];
        radix.insert(radix.begin(), sizes[digits[d]->axis]);
      }
      const auto flat = exactly_divided(ours.at[k] + IndexExpr::of(0 - there.constant()), digits.back()->coeff);
      if (!flat) return std::nullopt;
      const Mapped mapped = reshape_map({*flat}, {count}, radix, sizes_, may_split_);
      if ((split = mapped.split)) return std::nullopt;
      const Map& places = mapped.map;
      for (std::size_t d = 0; d < digits.size(); ++d) {
        auto& axis = axes[digits[d]->axis];
        if (axis && !(*axis == places[d])) return std::nullopt;
        axis = places[d];
      }
    }
    std::vector<IndexExpr> all;
    for (const auto& axis : axes) {
      if (!axis) return std::nullopt;
      all.push_back(*axis);
    }
    return all;
  }

  // A chunked host counts elements, so the guest must visit the same elements in that order.
  std::optional<std::vector<IndexExpr>> solve_chunked(const Touch& ours, const Touch& theirs) const {
    const Sizes& shape = graph_.nodes[ours.node].shape;
    const auto& sizes = guest_.kernel.sizes;
    if (guest_.kernel.row_axes() > 0 || parallel_ != 1 || graph_.nodes[ours.node].elements != chunks_.total) return std::nullopt;
    const IndexExpr flat = IndexExpr::of_axis(0) * chunks_.length + IndexExpr::of_axis(1);
    if (!(linear(ours.at, shape) == flat) || !(linear(theirs.at, shape) == linear(identity_map(sizes.size()), sizes))) return std::nullopt;
    if (guest_.kernel.parallel_points() != chunks_.total) return std::nullopt;
    return reshape_map({flat}, {chunks_.total}, sizes, sizes_, false).map;
  }

  bool chunked_host() const { return chunks_.length > 0 && guest_.kernel.chunks.length == 0; }

  // Returns whether the guest's axes, given as expressions over the host's, visit all points. `ours` and `theirs`: the sizes of the axes of host and guest.
  bool same_points(const std::vector<IndexExpr>& axes, const Sizes& ours, const Sizes& theirs) const {
    if (chunked_host()) return same_points_in_chunks(axes, ours, theirs);
    const auto walked = one_to_one(axes, ours);
    if (!walked || !fills(axes, ours, theirs)) return false;
    const int all = static_cast<int>(ours.size());
    Size points = 1, points_there = 1;  // no point is left out either
    for (int axis = 0; axis < all; ++axis)
      if (*walked >> axis & 1) points = points * ours[axis];
    for (const auto& size : theirs) points_there = points_there * size;
    if (points != points_there) return false;
    const std::uint64_t parallel = axes_between(ours, 0, parallel_), rows = axes_between(ours, parallel_, all);
    if (guest_.kernel.row_axes() == 0) return *walked == (parallel | rows) || *walked == parallel;
    // Row axes must map to row axes.
    std::uint64_t outer = 0;
    for (int axis = 0; axis < guest_.kernel.parallel; ++axis) outer |= axes[axis].axes();
    std::uint64_t ones = 0;
    for (int axis = 0; axis < all; ++axis) ones |= ours[axis] == 1 ? std::uint64_t{1} << axis : 0;
    return *walked == (parallel | rows) && (outer & ~ones) == parallel;
  }

  // Returns whether some of the guest's axes, in their order, are the digits of the position along the chunked axis, while its other axes are the host's other
  // axes. The last chunk may be shorter, so the position counts as one axis.
  bool same_points_in_chunks(const std::vector<IndexExpr>& axes, const Sizes& ours, const Sizes& theirs) const {
    const int rows = static_cast<int>(ours.size()) - 1;
    if (guest_.kernel.row_axes() > 0 || rows != parallel_) return false;
    const std::uint64_t chunked = std::uint64_t{1} | std::uint64_t{1} << rows;
    Map digits, others;
    Sizes radix, beside;
    for (std::size_t axis = 0; axis < theirs.size(); ++axis) {
      const bool digit = (axes[axis].axes() & chunked) != 0;
      (digit ? digits : others).push_back(axes[axis]);
      (digit ? radix : beside).push_back(theirs[axis]);
    }
    if (!(linear(digits, radix) == IndexExpr::of_axis(0) * chunks_.length + IndexExpr::of_axis(rows)) || element_count(radix) != chunks_.total) return false;
    const auto walked = one_to_one(others, ours);
    return walked && *walked == axes_between(ours, 1, parallel_) && fills(others, ours, beside);
  }

  // Returns whether the coordinates cover exactly the range from 0 to each size.
  static bool fills(const Map& map, const Sizes& ours, const Sizes& sizes) {
    for (std::size_t axis = 0; axis < map.size(); ++axis) {
      Size last = 0;
      for (const auto& term : map[axis].terms()) {
        if (term.coeff < 0) return false;
        last = last + term.coeff * (ours[term.axis] - 1);
      }
      if (map[axis].constant() != 0 || last != sizes[axis] - 1) return false;
    }
    return true;
  }

  const Graph& graph_;
  const Group& host_;
  const Group& guest_;
  const Chunks chunks_;
  Sizes sizes_;
  int parallel_;
  std::optional<std::vector<Request>> requests_;  // the host's requests over the split axes, and its accesses; nothing while the host is unchanged
  std::vector<Touch> touches_;
  bool may_split_ = true, within_ = false;
};

}  // namespace

std::optional<Aligned> align(const Graph& graph, const Group& host, const Group& guest) { return Aligner(graph, host, guest).run(false); }

bool may_lie_within(const Kernel& a, const Kernel& b) {
  if (a.chunks.length.hint() > 0 || b.chunks.length.hint() > 0) return true;
  const auto all = [](const Kernel& kernel) { return Aligner::points(kernel, 0, static_cast<int>(kernel.sizes.size())); };
  const auto parallel = [](const Kernel& kernel) { return Aligner::points(kernel, 0, kernel.parallel); };
  return all(a) != all(b) && all(a) != parallel(b) && parallel(a) != all(b);
}

std::optional<Aligned> align_within(const Graph& graph, const Group& host, const Group& guest) { return Aligner(graph, host, guest).run(true); }

std::optional<Aligned> align_beside(const Graph& graph, const Group& host, const Group& guest) { return Aligner(graph, host, guest).beside_each_other(); }

}  // namespace sinter::fuse
