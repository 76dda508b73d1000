#include "jit/points.hpp"

#include <algorithm>
#include <limits>

namespace sinter::jit {
namespace {

/// The smallest and the largest value of an integer or a condition over a box of points.
struct Interval {
  std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  bool known() const { return low > std::numeric_limits<std::int64_t>::min() && high < std::numeric_limits<std::int64_t>::max(); }
};
constexpr Interval kEither{0, 1};

/// Evaluates conditions over a box.
class Over {
 public:
  Over(const LoopNest& nest, std::span<const std::int64_t> ints, const Box& box) : nest_(nest), ints_(ints), box_(box) {}

  Interval value(int id) const {
    const Instr& instr = nest_.instrs[static_cast<std::size_t>(id)];
    if (instr.kind == Instr::Kind::index) return index(instr.input);
    if (instr.kind != Instr::Kind::op) return is_bool(instr.dtype) ? kEither : Interval{};
    const auto arg = [&](std::size_t k) { return value(instr.args[k]); };
    const auto ordered = [&](const Interval& a, const Interval& b, bool equal) {  // a < b, or a <= b
      if (!a.known() || !b.known()) return kEither;
      const auto less = [&](std::int64_t x, std::int64_t y) { return std::int64_t{equal ? x <= y : x < y}; };
      return Interval{less(a.high, b.low), less(a.low, b.high)};
    };
    switch (instr.op) {
      case Op::less: return ordered(arg(0), arg(1), false);
      case Op::less_equal: return ordered(arg(0), arg(1), true);
      case Op::bitwise_and: {
        if (!is_bool(instr.dtype)) return {};
        const Interval a = arg(0), b = arg(1);
        return {std::min(a.low, b.low), std::min(a.high, b.high)};
      }
      case Op::bitwise_or: {
        if (!is_bool(instr.dtype)) return {};
        const Interval a = arg(0), b = arg(1);
        return {std::max(a.low, b.low), std::max(a.high, b.high)};
      }
      default: return is_bool(instr.dtype) ? kEither : Interval{};
    }
  }

 private:
  std::int64_t number(int parameter) const { return parameter == kOne ? 1 : ints_[static_cast<std::size_t>(parameter)]; }

  Interval index(int id) const {
    const Index& at = nest_.indices[static_cast<std::size_t>(id)];
    Interval sum{0, 0};
    if (at.constant != kNone) sum.low = sum.high = number(at.constant);
    for (const Index::Term& term : at.terms) {
      Interval one;
      if (term.axis >= nest_.parallel) one = {0, number(term.axis) - 1};
      else if (term.axis >= 0) one = {box_[static_cast<std::size_t>(term.axis)].first, box_[static_cast<std::size_t>(term.axis)].second - 1};
      else if (term.inner >= 0) {
        one = index(term.inner);
        if (!one.known()) return {};
        if (const std::int64_t div = number(term.div); div > 1) one = {one.low / div, one.high / div};
        if (term.mod != kNone) {
          const std::int64_t mod = number(term.mod);
          one = one.low / mod == one.high / mod ? Interval{one.low % mod, one.high % mod} : Interval{0, mod - 1};
        }
      }
      if (!one.known()) return {};
      const std::int64_t a = one.low * number(term.coeff), b = one.high * number(term.coeff);
      sum.low += std::min(a, b);
      sum.high += std::max(a, b);
    }
    return sum;
  }

  const LoopNest& nest_;
  const std::span<const std::int64_t> ints_;
  const Box& box_;
};

}  // namespace

Box all_points(const LoopNest& nest, std::span<const std::int64_t> ints) {
  Box box;
  for (int axis = 0; axis < nest.parallel; ++axis) box.emplace_back(0, ints[static_cast<std::size_t>(axis)]);
  return box;
}

std::vector<Box> outside(const Box& all, const Box& box) {
  std::vector<Box> boxes;
  Box rest = all;
  for (std::size_t axis = 0; axis < all.size(); ++axis) {
    for (const auto& side : {std::pair(all[axis].first, box[axis].first), std::pair(box[axis].second, all[axis].second)}) {
      if (side.first >= side.second) continue;
      boxes.push_back(rest);
      boxes.back()[axis] = side;
    }
    rest[axis] = box[axis];
  }
  return boxes;
}

Box points_without(const LoopNest& nest, std::span<const std::int64_t> ints, const std::function<bool(const Access&)>& input) {
  std::vector<int> guards;
  for (const Instr& instr : nest.instrs) {
    if (instr.kind != Instr::Kind::load || !input(nest.inputs[static_cast<std::size_t>(instr.input)])) continue;
    if (instr.guard < 0) return {};
    guards.push_back(instr.guard);
  }
  const Box all = all_points(nest, ints);
  Box box;
  for (const auto& [begin, end] : all) {
    if (begin == end) return {};
    box.emplace_back((begin + end) / 2, (begin + end) / 2 + 1);
  }
  const auto reads_none = [&](const Box& points) {
    const Over over(nest, ints, points);
    return std::all_of(guards.begin(), guards.end(), [&](int guard) { return over.value(guard).high == 0; });
  };
  if (!reads_none(box)) return {};
  // A larger box does not read fewer inputs, so the position of each side is found by bisection.
  for (std::size_t axis = 0; axis < box.size(); ++axis) {
    const auto grow = [&](std::int64_t& side, std::int64_t farthest) {
      std::int64_t good = side, bad = farthest + (farthest > side ? 1 : -1);
      while (good + 1 != bad && good - 1 != bad) {
        side = good + (bad - good) / 2;
        (reads_none(box) ? good : bad) = side;
      }
      side = good;
    };
    grow(box[axis].first, all[axis].first);
    grow(box[axis].second, all[axis].second);
  }
  return box;
}

}  // namespace sinter::jit
