#include "freeze/size_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "trace/graph.hpp"

namespace sinter::freezing {
namespace {

/// Returns the products of sizes by sets of free axes, as in Multilinear.
template <class Number> std::vector<Number> products(const std::vector<std::int64_t>& free) {
  std::vector<Number> list{1};
  for (const std::int64_t size : free)
    for (std::size_t k = 0, count = list.size(); k < count; ++k) list.push_back(list[k] * static_cast<Number>(size));
  return list;
}

template <class Number> Number value(const Multilinear<Number>& rule, const std::vector<Number>& products) {
  Number sum = 0;
  for (std::size_t k = 0; k < rule.size(); ++k) sum += rule[k] * products[k];
  return sum;
}

/// The sizes of the free axes, in steps.
std::vector<std::int64_t> counts_of(const SizeRules& rules, const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> counts;
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (rules.held[k] < 0) counts.push_back(sizes[k] / rules.steps[k]);
  return counts;
}

/// The limit of a product of sizes: no size is larger, and sums of such products do not overflow.
constexpr double kMaxElements = 0x1p52;

}  // namespace

std::optional<Values> SizeRules::predict(const std::vector<std::int64_t>& sizes, std::string* reason) const {
  const auto refuse = [&](auto text) -> std::optional<Values> {
    if (reason) *reason = text();
    return {};
  };
  for (std::size_t k = 0; k < held.size(); ++k) {
    if (held[k] >= 0 && held[k] != sizes[k]) return refuse([&] { return why[k]; });
    if (held[k] < 0 && sizes[k] < 2) return refuse([] { return "a size of 0 or 1 broadcasts or is empty, which needs another plan"; });
    if (held[k] < 0 && sizes[k] % steps[k] != rests[k])
      return refuse([&] { return fmt::format("the plan is valid for every {}{} size, such as {}", steps[k], steps[k] == 2 ? "nd" : "th", first[k]); });
  }
  const auto counts = counts_of(*this, sizes);
  const auto real = products<double>(counts);
  if (*std::max_element(real.begin(), real.end()) > kMaxElements) return refuse([] { return "the sizes are too large together"; });
  const auto whole = products<std::int64_t>(counts);
  Values values;
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    values.symbols.push_back(value(symbols[k], whole));
    if (values.symbols.back() < lows[k])
      return refuse([&] {
        return fmt::format("a {} of the recording would be {}, which needs another plan", lows[k] == 1 ? "slice's start" : "size", values.symbols.back());
      });
  }
  for (const Unread& one : unread)
    if (value(one.left, whole) < 0) return refuse([&] { return fmt::format("{} would read beyond the end of its operand", one.of); });
  for (const auto& rule : gathered) values.gathered.push_back(value(rule, whole));
  for (const Literal& literal : literals)
    values.literals.push_back(literal.value.empty() ? literal.bits : trace::make_scalar(literal.dtype, value(literal.value, real)).bits());
  for (const auto& shape : shapes) {
    Shape& result = values.shapes.emplace_back();
    for (const auto& rule : shape) {
      result.push_back(value(rule, whole));
      if (result.back() < 0) return refuse([] { return "a result's size would be negative"; });
    }
  }
  return values;
}

std::optional<Values> SizeRules::at(const std::vector<std::int64_t>& sizes, std::string* reason) const {
  auto values = predict(sizes, reason);
  if (!values) return {};
  for (std::size_t k = 0; k < held.size(); ++k) {
    if (held[k] >= 0 || (sizes[k] >= first[k] && sizes[k] <= last[k])) continue;
    if (reason) *reason = why[k];
    return {};
  }
  for (const Pair& pair : meeting(values->symbols)) {
    if (may_meet(pair)) continue;
    if (reason)
      *reason = fmt::format(
          "two numbers of the recording, which differ at the planned sizes, are both {} here; the formula is not known to record the same operations there",
          values->symbols[static_cast<std::size_t>(pair.first)]);
    return {};
  }
  return values;
}

std::vector<std::int64_t> SizeRules::symbols_at(const std::vector<std::int64_t>& sizes) const {
  const auto whole = products<std::int64_t>(counts_of(*this, sizes));
  std::vector<std::int64_t> values;
  for (const auto& rule : symbols) values.push_back(value(rule, whole));
  return values;
}

std::vector<SizeRules::Pair> SizeRules::meeting(const std::vector<std::int64_t>& values) const {
  std::vector<int> order;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (lows[k] == 2) order.push_back(static_cast<int>(k));  // starts of slices are separate symbols
  const auto at = [&](int k) { return values[static_cast<std::size_t>(k)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return at(a) < at(b); });
  std::vector<Pair> pairs;
  for (auto one = order.begin(); one != order.end(); ++one)
    for (auto other = one + 1; other != order.end() && at(*other) == at(*one); ++other) pairs.emplace_back(*one, *other);
  return pairs;
}

std::vector<std::string> SizeRules::symbol_texts(const std::vector<std::string>& axes) const {
  std::vector<std::string> products{""};
  for (std::size_t axis = 0; axis < held.size(); ++axis)
    if (held[axis] < 0)
      for (std::size_t k = 0, count = products.size(); k < count; ++k)
        products.push_back(products[k] + (products[k].empty() ? "" : "*") + (steps[axis] == 1 ? axes[axis] : fmt::format("({}//{})", axes[axis], steps[axis])));
  std::vector<std::string> texts;
  for (const auto& rule : symbols) {
    std::string& text = texts.emplace_back();
    for (std::size_t k = rule.size(); k-- > 0;) {
      if (rule[k] == 0) continue;
      const std::int64_t magnitude = std::abs(rule[k]);
      text += text.empty() ? (rule[k] < 0 ? "-" : "") : rule[k] < 0 ? " - " : " + ";
      text += products[k].empty() ? fmt::format("{}", magnitude) : magnitude == 1 ? products[k] : fmt::format("{}*{}", magnitude, products[k]);
    }
    if (text.empty()) text = "0";
  }
  return texts;
}

std::vector<Sample::Unread> unread_of(const trace::Graph& graph, const std::vector<trace::NodeSite>& sites) {
  std::vector<Sample::Unread> unread;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const trace::Node& node = graph.nodes[id];
    if (node.inputs.empty()) continue;
    const trace::Sizes& operand = graph.nodes[static_cast<std::size_t>(node.inputs[0])].shape;
    for (const std::int64_t left : trace::elements_left(node, operand)) unread.push_back({left, {sites[id].called, sites[id].where}});
  }
  return unread;
}

namespace {

using Sizes = std::vector<std::int64_t>;

/// The numbers of a sample in a fixed order.
struct Numbers {
  std::vector<std::int64_t> whole;  // symbols, sizes of gathered axes, shapes, unread elements
  std::vector<double> real;         // literals
  bool fits(const Numbers& other) const { return whole.size() == other.whole.size() && real.size() == other.real.size(); }
  friend bool operator==(const Numbers&, const Numbers&) = default;
};

Numbers numbers_of(const Sample& sample) {
  Numbers numbers;
  numbers.whole = sample.values.symbols;
  numbers.whole.insert(numbers.whole.end(), sample.values.gathered.begin(), sample.values.gathered.end());
  for (const Shape& shape : sample.values.shapes) {
    numbers.whole.push_back(static_cast<std::int64_t>(shape.size()));
    numbers.whole.insert(numbers.whole.end(), shape.begin(), shape.end());
  }
  for (const Sample::Unread& unread : sample.unread) numbers.whole.push_back(unread.left);
  // A literal that is infinite or NaN cannot follow a size, so it counts as 0 here; agrees() compares the bits of all literals.
  for (const trace::Scalar& literal : sample.literals) numbers.real.push_back(std::isfinite(literal.as_double()) ? literal.as_double() : 0);
  return numbers;
}

/// Returns the numbers on the line through `at` and `next`, extrapolated to `distance` steps from `at`.
Numbers on_line(const Numbers& at, const Numbers& next, std::int64_t distance) {
  Numbers numbers = at;
  for (std::size_t k = 0; k < at.whole.size(); ++k) numbers.whole[k] += (next.whole[k] - at.whole[k]) * distance;
  for (std::size_t k = 0; k < at.real.size(); ++k)
    if (next.real[k] != at.real[k]) numbers.real[k] += (next.real[k] - at.real[k]) * static_cast<double>(distance);
  return numbers;
}

/// Converts values to coefficients in place. Value `set` is that at size from[k] + 1 for the free axes k in the set, and at from[k] for the others.
template <class Number> void to_coefficients(Multilinear<Number>& rule, const Sizes& from) {
  for (std::size_t bit = 1; bit < rule.size(); bit <<= 1)
    for (std::size_t set = 0; set < rule.size(); ++set)
      if (set & bit) rule[set] -= rule[set ^ bit];
  for (std::size_t axis = 0, bit = 1; bit < rule.size(); ++axis, bit <<= 1)
    for (std::size_t set = 0; set < rule.size(); ++set)
      if (!(set & bit)) rule[set] -= static_cast<Number>(from[axis]) * rule[set | bit];
}

class RuleFinder {
 public:
  using Record = std::function<std::optional<Sample>(const Sizes& sizes, bool& taken)>;
  RuleFinder(const Sizes& sizes, const std::vector<std::string>& axes, const Record& record) : sizes_(sizes), axes_(axes), record_(record), why_(sizes.size()) {
    bool taken = true;
    base_sample_ = record(sizes, taken).value();
    base_ = numbers_of(base_sample_);
  }

  SizeRules find(Sizes lows) {
    SizeRules rules;
    rules.lows = std::move(lows);
    rules.held = sizes_;
    rules.steps.assign(sizes_.size(), 1);
    rules.rests.assign(sizes_.size(), 0);
    rules.first.assign(sizes_.size(), 0);
    rules.last.assign(sizes_.size(), std::numeric_limits<std::int64_t>::max());
    Sizes from;
    std::vector<std::size_t> free;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
      if (free.size() == kMaxFreeAxes) {
        why_[axis] = fmt::format("{} names are dynamic already, which is the limit", kMaxFreeAxes);
        continue;
      }
      std::string why;  // the reason at neighbouring sizes
      for (std::int64_t step = 1; step <= kMaxStep; step *= 2) {
        if (step > 1 && sizes_[axis] < 2 * step) break;
        const auto start = straight_along(axis, step);
        if (start) {
          free.push_back(axis);
          from.push_back(*start);
          rules.steps[axis] = step;
          rules.rests[axis] = sizes_[axis] % step;
          corners_.insert(corners_.end(), {*start, *start + step});
          break;
        }
        if (step == 1) why = why_[axis];
        why_[axis] = why;
      }
    }
    std::vector<Numbers> corners;
    if (!free.empty() && corners_of(rules, free, from, corners)) {
      Sizes counted = from;
      for (std::size_t k = 0; k < free.size(); ++k) counted[k] /= rules.steps[free[k]];
      fill(rules, corners, counted);
      for (const std::size_t axis : free) rules.held[axis] = -1;
      rules.why = why_;
      if (agrees(rules, free, from)) return rules;
      rules.held = sizes_;
      rules.steps.assign(sizes_.size(), 1);
      rules.rests.assign(sizes_.size(), 0);
    }
    for (const std::size_t axis : free) why_[axis] = "together with the other names, the numbers of the recording are not sums of products of sizes";
    rules.why = why_;
    fill(rules, {base_}, {});
    return rules;
  }

 private:
  std::optional<Numbers> at(const Sizes& sizes, bool* structure_differs = nullptr) {
    bool taken = true;
    const auto sample = record_(sizes, taken);
    if (structure_differs) *structure_differs = taken && !sample;
    if (!sample) return {};
    Numbers numbers = numbers_of(*sample);
    if (numbers.fits(base_)) return numbers;
    if (structure_differs) *structure_differs = true;
    return {};
  }
  std::optional<Numbers> along(std::size_t axis, std::int64_t size, bool* structure_differs = nullptr) {
    Sizes sizes = sizes_;
    sizes[axis] = size;
    return at(sizes, structure_differs);
  }
  /// Returns whether the size equals a symbol, a planned size or a corner. Equal sizes are one symbol, so a different structure there proves nothing.
  bool is_number(std::int64_t size) const {
    const auto& symbols = base_sample_.values.symbols;
    const auto is_among = [&](const Sizes& list) { return std::find(list.begin(), list.end(), size) != list.end(); };
    return is_among(symbols) || is_among(sizes_) || is_among(corners_);
  }

  /// Describes a number that is not on the line through two others.
  std::string off_the_line(std::size_t axis, std::int64_t step, std::int64_t first, const Numbers& a, const Numbers& b, std::int64_t other,
                           const Numbers& there) const {
    const Numbers expected = on_line(a, b, (other - first) / step);
    for (std::size_t k = 0; k < there.whole.size(); ++k)
      if (expected.whole[k] != there.whole[k])
        return fmt::format("a number of the recording is {} at {} = {}, {} at {} and {} at {}, which is not a sum of products of sizes", a.whole[k],
                           axes_[axis], first, b.whole[k], first + step, there.whole[k], other);
    return fmt::format("a literal of the recording depends on {}, but not as a sum of products of sizes", axes_[axis]);
  }

  /// Looks for a line through all numbers of the recording at all tried sizes of the axis, which are whole steps from its own size. Returns the smaller of
  /// the two sizes, a step apart, that define the line. If there is no such line, returns nothing and sets why_[axis].
  std::optional<std::int64_t> straight_along(std::size_t axis, std::int64_t step) {
    const std::int64_t size = sizes_[axis];
    std::string& why = why_[axis];
    if (size < 2) {
      why = fmt::format("planned for {} = {}: a size of 0 or 1 broadcasts or is empty, so it has a plan of its own", axes_[axis], size);
      return {};
    }
    why = fmt::format(
        "the traced graph differs from that of {0} = {1} at neighbouring sizes, so the size is specialised; if {1} is a number of the model itself, plan for "
        "another size",
        axes_[axis], size);
    for (const std::int64_t way : {step, -step}) {  // larger sizes may be impossible, for example beyond the end of a table
      std::int64_t first = way > 0 ? size + step : size - 2 * step;
      while (first > 1 && (is_number(first) || is_number(first + step))) first += way;
      if (first < 2) continue;
      const auto a = along(axis, first), b = along(axis, first + step);
      if (!a || !b) continue;
      if (on_line(*a, *b, (size - first) / step) != base_) {
        why = off_the_line(axis, step, first, *a, *b, size, base_);
        return {};
      }
      std::int64_t others_at = 0;  // a larger size records other operations; two equal numbers can cause this, too, but not at all larger sizes
      bool same_beyond = false;
      for (const std::int64_t wanted :
           {first + 2 * step, first + 3 * step, first - step, 2 * size + 7, 3 * size + 64, size / 2, std::int64_t{3}, std::int64_t{2}}) {
        const std::int64_t other = wanted - wanted % step + size % step;
        if (other < 2) continue;
        bool structure_differs = false;
        const auto there = along(axis, other, &structure_differs);
        if (there && on_line(*a, *b, (other - first) / step) != *there) {
          why = off_the_line(axis, step, first, *a, *b, other, *there);
          return {};
        }
        if (other <= size) continue;
        same_beyond |= there.has_value();
        if (!there && structure_differs && !is_number(other) && others_at == 0) others_at = other;
      }
      if (others_at > 0 && !same_beyond) {
        why = fmt::format("at {} = {} the formula records other operations", axes_[axis], others_at);
        return {};
      }
      why.clear();
      return first;
    }
    return {};
  }

  bool corners_of(const SizeRules& rules, const std::vector<std::size_t>& free, const Sizes& from, std::vector<Numbers>& corners) {
    for (std::size_t set = 0; set < std::size_t{1} << free.size(); ++set) {
      Sizes sizes = sizes_;
      for (std::size_t k = 0; k < free.size(); ++k) sizes[free[k]] = from[k] + rules.steps[free[k]] * static_cast<std::int64_t>(set >> k & 1);
      auto numbers = at(sizes);
      if (!numbers) return false;
      corners.push_back(std::move(*numbers));
    }
    return true;
  }

  void fill(SizeRules& rules, const std::vector<Numbers>& corners, const Sizes& from) const {  // `from` counts in steps
    const auto whole = [&](std::size_t k) {
      Multilinear<std::int64_t> rule;
      for (const Numbers& corner : corners) rule.push_back(corner.whole[k]);
      to_coefficients(rule, from);
      return rule;
    };
    std::size_t next = 0;
    rules.symbols.clear();
    rules.gathered.clear();
    rules.shapes.clear();
    rules.literals.clear();
    rules.unread.clear();
    for (std::size_t k = 0; k < base_sample_.values.symbols.size(); ++k) rules.symbols.push_back(whole(next++));
    for (std::size_t k = 0; k < base_sample_.values.gathered.size(); ++k) rules.gathered.push_back(whole(next++));
    for (const Shape& shape : base_sample_.values.shapes) {
      ++next;  // number of following elements
      auto& sizes = rules.shapes.emplace_back();
      for (std::size_t k = 0; k < shape.size(); ++k) sizes.push_back(whole(next++));
    }
    for (const Sample::Unread& unread : base_sample_.unread) {
      auto left = whole(next++);
      const bool fixed = std::all_of(left.begin() + 1, left.end(), [](std::int64_t coeff) { return coeff == 0; });
      if (fixed || std::any_of(rules.unread.begin(), rules.unread.end(), [&](const SizeRules::Unread& known) { return known.left == left; })) continue;
      rules.unread.push_back({std::move(left), unread.of.where.line ? fmt::format("{} ({}:{})", unread.of.op, unread.of.where.file, unread.of.where.line)
                                                                    : std::string(unread.of.op)});
    }
    for (std::size_t k = 0; k < base_.real.size(); ++k) {
      const trace::Scalar& scalar = base_sample_.literals[k];
      SizeRules::Literal literal{scalar.dtype, scalar.bits(), {}};
      if (std::any_of(corners.begin(), corners.end(), [&](const Numbers& corner) { return corner.real[k] != base_.real[k]; })) {
        for (const Numbers& corner : corners) literal.value.push_back(corner.real[k]);
        to_coefficients(literal.value, from);
      }
      rules.literals.push_back(std::move(literal));
    }
  }

  /// Checks the rules at sizes from which they were not made.
  bool agrees(const SizeRules& rules, const std::vector<std::size_t>& free, const Sizes& from) {
    for (const std::int64_t further : {0, 2, 5}) {
      Sizes sizes = sizes_;
      for (std::size_t k = 0; further > 0 && k < free.size(); ++k) sizes[free[k]] = from[k] + rules.steps[free[k]] * (further + static_cast<std::int64_t>(k));
      bool taken = true;
      const auto sample = record_(sizes, taken);
      if (!sample) continue;
      if (const auto values = rules.predict(sizes); !values || *values != sample->values) return false;
    }
    return true;
  }

  const Sizes& sizes_;
  const std::vector<std::string>& axes_;
  const Record& record_;
  std::vector<std::string> why_;
  Sizes corners_;  // two sizes of each axis that is free so far; the corners of a further axis are recorded with them
  Sample base_sample_;
  Numbers base_;
};

}  // namespace

SizeRules find_rules(const std::vector<std::int64_t>& sizes, const std::vector<std::string>& axes, std::vector<std::int64_t> lows,
                     const RuleFinder::Record& record) {
  return RuleFinder(sizes, axes, record).find(std::move(lows));
}

}  // namespace sinter::freezing
