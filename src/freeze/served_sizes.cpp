#include "freeze/served_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>

namespace sinter::freezing {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kOneByOne = 64, kFarthest = 65536;
constexpr int kMaxTries = 200;

/// Sizes on which programs tend to branch.
const Sizes& round_numbers() {
  static const Sizes list = [] {
    Sizes numbers;
    for (std::int64_t k = 2; k <= kFarthest; k *= 2) numbers.insert(numbers.end(), {k, k / 2 * 3});
    for (std::int64_t k = 10; k <= kFarthest; k *= 10) numbers.insert(numbers.end(), {k, 2 * k, 5 * k});
    return numbers;
  }();
  return list;
}

/// Interpolates between two numbers by ratio: `part` is from 0 to 1.
std::int64_t between(std::int64_t low, std::int64_t high, double part) {
  const double at = std::exp(std::lerp(std::log1p(static_cast<double>(low)), std::log1p(static_cast<double>(high)), part)) - 1;
  return std::clamp(static_cast<std::int64_t>(std::llround(at)), low, high);
}

/// The sizes of a name, counted in its steps. `own` is the plan's size, between `low` and `high`.
struct Range {
  std::size_t axis;
  std::int64_t step, rest, own, low, high;
  std::int64_t size(std::int64_t count) const { return count * step + rest; }
  std::int64_t count(std::int64_t size) const { return std::clamp((size - rest) / step, low, high); }
  double octaves() const { return std::log2(static_cast<double>(high + 1) / static_cast<double>(low + 1)); }
};

class Narrowing {
 public:
  Narrowing(SizeRules& rules, const Sizes& sizes, std::size_t effort, const std::function<Look(const Sizes&)>& look)
      : rules_(rules), sizes_(sizes), effort_(static_cast<std::int64_t>(effort)), look_(look) {
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (rules.held[axis] >= 0) continue;
      const std::int64_t step = rules.steps[axis], rest = rules.rests[axis], own = sizes[axis] / step;
      const std::int64_t lowest = rest >= 2 ? 0 : (2 - rest + step - 1) / step;
      names_.push_back({axis, step, rest, own, std::min(lowest, own), std::max(kFarthest / step, own)});
    }
  }

  void run() {
    for (Range& name : names_) alone(name);
    meet();
    for (int tries = 0; const auto other = somewhere_else(); ++tries) {
      if (tries < kMaxTries) end_before(*other);
      else
        for (Range& name : names_) name.low = name.high = name.own;
    }
    for (const Range& name : names_) {
      rules_.first[name.axis] = name.size(name.low);
      rules_.last[name.axis] = name.size(name.high);
    }
  }

 private:
  using Counts = std::vector<std::int64_t>;                           // by free name
  enum class Found : std::uint8_t { same, other, refused, unclear };  // unclear: two numbers are equal, so the plan is not run at these sizes
  using Visit = std::function<void(const Counts&)>;

  Sizes sizes_at(const Counts& counts) const {
    Sizes sizes = sizes_;
    for (std::size_t k = 0; k < counts.size(); ++k) sizes[names_[k].axis] = names_[k].size(counts[k]);
    return sizes;
  }
  Counts own() const {
    Counts counts;
    for (const Range& name : names_) counts.push_back(name.own);
    return counts;
  }
  bool inside(const Counts& counts) const {
    for (std::size_t k = 0; k < counts.size(); ++k)
      if (counts[k] < names_[k].low || counts[k] > names_[k].high) return false;
    return true;
  }

  struct Seen {
    Look look;
    std::vector<SizeRules::Pair> meeting;
  };
  Found at(const Counts& counts) {
    const auto [known, fresh] = seen_.try_emplace(counts);
    Seen& seen = known->second;
    if (fresh) {
      const Sizes sizes = sizes_at(counts);
      seen.look = look_(sizes);
      if (seen.look != Look::refused) seen.meeting = rules_.meeting(rules_.symbols_at(sizes));
      if (seen.look == Look::same)
        for (const auto& pair : seen.meeting)
          if (!rules_.may_meet(pair)) rules_.alike.push_back(pair);
    }
    if (seen.look == Look::same) return Found::same;
    if (seen.look == Look::refused) return Found::refused;
    return std::all_of(seen.meeting.begin(), seen.meeting.end(), [&](const auto& pair) { return rules_.may_meet(pair); }) ? Found::other : Found::unclear;
  }

  // --- each name alone

  /// Returns the farthest count from the plan's own towards `end` such that this count and all tried counts in between are the same or unclear.
  template <class At> static std::int64_t farthest(const Range& name, std::int64_t end, const Counts& stops, At at) {
    const std::int64_t way = end < name.own ? -1 : 1;
    std::int64_t good = name.own;
    for (std::int64_t here = name.own; here != end;) {
      const bool near = std::abs(here - name.own) < kOneByOne || here <= kOneByOne;
      std::int64_t next = here + way * (near ? 1 : std::max<std::int64_t>(1, here / 16));
      for (const std::int64_t stop : stops)
        if ((stop - here) * way > 0 && (next - stop) * way > 0) next = stop;
      if ((next - end) * way > 0) next = end;
      const Found found = at(next);
      if (found == Found::other || found == Found::refused) {
        while (std::abs(next - good) > 1) {
          const std::int64_t middle = good + (next - good) / 2;
          (at(middle) == Found::same ? good : next) = middle;
        }
        return good;
      }
      here = next;
      if (found == Found::same) good = next;
    }
    return good;
  }

  void alone(Range& name) {
    Counts counts = own();
    std::int64_t& count = counts[static_cast<std::size_t>(&name - names_.data())];
    const auto at_count = [&](std::int64_t requested) {
      count = requested;
      return at(counts);
    };
    Counts stops;
    for (const std::int64_t size : round_numbers()) stops.push_back(name.count(size));
    for (const std::int64_t size : sizes_) stops.push_back(name.count(size));
    const std::int64_t low = farthest(name, name.low, stops, at_count), high = farthest(name, name.high, stops, at_count);
    name.low = low;
    name.high = high;
  }

  /// Tries sizes at which two numbers of the recording become equal by changing one name, while the others are as planned or at their lowest.
  void meet() {
    Counts lowest;
    for (const Range& name : names_) lowest.push_back(name.low);
    for (const Counts& from : {own(), lowest})
      for (std::size_t k = 0; k < names_.size(); ++k) {
        Counts counts = from;
        const auto symbols_at = [&](std::int64_t count) {
          counts[k] = count;
          return rules_.symbols_at(sizes_at(counts));
        };
        const Sizes first = symbols_at(names_[k].low), next = symbols_at(names_[k].low + 1);
        for (int b = 0; b < static_cast<int>(first.size()); ++b)
          for (int a = 0; a < b; ++a) {
            const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
            const std::int64_t apart = first[j] - first[i], nearer = apart - (next[j] - next[i]);
            if (!rules_.are_sizes({a, b}) || rules_.may_meet({a, b}) || nearer == 0 || apart % nearer != 0) continue;
            counts[k] = names_[k].low + apart / nearer;
            if (inside(counts)) at(counts);
          }
      }
  }

  // --- all names together

  /// Finds sizes within all ranges at which the formula records something else.
  std::optional<Counts> somewhere_else() {
    std::optional<Counts> other;
    const Visit visit = [&](const Counts& counts) {
      if (other || !inside(counts)) return;
      const Counts reached = reachable(counts);
      if (at(reached) == Found::other) other = reached;
    };
    corners(visit);
    edges(visit);
    double all = 1;
    for (const Range& name : names_) all *= static_cast<double>(name.high - name.low + 1);
    if (all <= 4 * static_cast<double>(effort_)) {
      everywhere(visit);
    } else {
      pairs(visit);
      if (names_.size() > 2) smallest(visit);
      anywhere(visit);
    }
    for (const auto& [counts, seen] : seen_)  // unclear sizes become clear when two numbers are known to become equal without another change
      if (!other && inside(counts) && at(counts) == Found::other) other = counts;
    return other;
  }

  /// Returns these counts, or the last ones before them that the rules allow.
  Counts reachable(Counts counts) const {
    const auto allowed = [&](const Counts& at) { return rules_.predict(sizes_at(at)).has_value(); };
    if (allowed(counts)) return counts;
    for (Counts good = own();;) {
      Counts middle = good;
      for (std::size_t k = 0; k < good.size(); ++k) middle[k] += (counts[k] - good[k]) / 2;
      if (middle == good) return good;
      (allowed(middle) ? good : counts) = middle;
    }
  }

  /// If numbers are equal at a corner, this says nothing about neighbouring sizes, so the next counts inwards are tried, too.
  void corners(const Visit& visit) const {
    for (std::size_t set = 0; set < std::size_t{1} << names_.size(); ++set) {
      Counts corner;
      for (std::size_t k = 0; k < names_.size(); ++k) corner.push_back(set >> k & 1 ? names_[k].high : names_[k].low);
      visit(corner);
      for (std::size_t k = 0; k < names_.size(); ++k) {
        Counts beside = corner;
        beside[k] += set >> k & 1 ? -1 : 1;
        visit(beside);
      }
    }
  }

  /// Visits sizes along each name, with the others at their lowest or at their highest.
  void edges(const Visit& visit) const {
    for (const bool high : {false, true})
      for (std::size_t k = 0; k < names_.size(); ++k) {
        Counts counts;
        for (const Range& name : names_) counts.push_back(high ? name.high : name.low);
        const std::int64_t many = std::max<std::int64_t>(effort_ / 4, 2);
        for (std::int64_t part = 0; part <= many; ++part) {
          counts[k] = between(names_[k].low, names_[k].high, static_cast<double>(part) / static_cast<double>(many));
          visit(counts);
        }
      }
  }

  void everywhere(const Visit& visit) const {
    Counts counts;
    for (const Range& name : names_) counts.push_back(name.low);
    for (std::size_t k = 0; k < names_.size();) {
      visit(counts);
      for (k = 0; k < names_.size() && ++counts[k] > names_[k].high; ++k) counts[k] = names_[k].low;
    }
  }

  /// Visits the smallest sizes of all names together. Some remainders of a product of sizes occur only if all names differ from the plan.
  void smallest(const Visit& visit) const {
    const auto side = static_cast<std::int64_t>(std::pow(static_cast<double>(effort_), 1 / static_cast<double>(names_.size())) + 1e-9);
    Counts step(names_.size(), 0);
    for (std::size_t k = 0; k < names_.size();) {
      Counts counts;
      for (std::size_t j = 0; j < names_.size(); ++j) counts.push_back(names_[j].low + step[j]);
      visit(counts);
      for (k = 0; k < names_.size() && ++step[k] == side; ++k) step[k] = 0;
    }
  }

  /// For each pair of names, with the others as planned, visits all of the smallest sizes, and sizes that are equal, neighbours, or the double of each other.
  void pairs(const Visit& visit) const {
    const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(effort_)));
    for (std::size_t j = 0; j < names_.size(); ++j)
      for (std::size_t k = 0; k < j; ++k) {
        const Range &one = names_[j], &two = names_[k];
        Counts counts = own();
        const auto visit_both = [&](std::int64_t a, std::int64_t b) {
          counts[j] = a;
          counts[k] = b;
          visit(counts);
        };
        for (std::int64_t a = 0; a < side; ++a)
          for (std::int64_t b = 0; b < side; ++b) visit_both(one.low + a, two.low + b);
        const std::int64_t first = std::max(one.size(one.low), two.size(two.low)), last = std::max(first, std::min(one.size(one.high), two.size(two.high)));
        const std::int64_t many = std::max<std::int64_t>(effort_ / 16, 2);
        for (std::int64_t part = 0; part <= many; ++part) {
          const std::int64_t size = between(first, last, static_cast<double>(part) / static_cast<double>(many));
          for (const auto& [a, b] : {std::pair{size, size}, {size, size + 1}, {size + 1, size}, {size, 2 * size}, {2 * size, size}})
            visit_both(one.count(a), two.count(b));
        }
      }
  }

  /// Visits sizes with each name at an end of its range, as planned, or in between.
  void anywhere(const Visit& visit) const {
    std::minstd_rand numbers(1);
    const auto draw = [&](int below) { return static_cast<int>(numbers() / 8 % static_cast<unsigned>(below)); };
    for (std::int64_t drawn = 0; drawn < effort_; ++drawn) {
      Counts counts;
      for (const Range& name : names_) {
        const int where = draw(8);
        const double part = static_cast<double>(numbers()) / static_cast<double>(std::minstd_rand::max());
        counts.push_back(where == 0 ? name.low : where == 1 ? name.high : where == 2 ? name.own : between(name.low, name.high, part));
      }
      visit(counts);
    }
  }

  /// Ends the range of one name between the plan's own size and `other`, where the formula changes. If the change depends on several names, chooses the name
  /// whose range loses the fewest sizes.
  void end_before(Counts other) {
    for (std::size_t k = 0; k < names_.size(); ++k) {  // names on which the change does not depend are as planned
      Counts without = other;
      without[k] = names_[k].own;
      if (at(without) == Found::other) other = without;
    }
    Range* ended = nullptr;
    Range best{};
    for (std::size_t k = 0; k < names_.size(); ++k) {
      if (other[k] == names_[k].own) continue;
      Counts at_other = other;
      std::int64_t good = names_[k].own;
      while (std::abs(at_other[k] - good) > 1) {
        Counts middle = at_other;
        middle[k] = good + (at_other[k] - good) / 2;
        if (at(middle) == Found::other) at_other = middle;
        else good = middle[k];
      }
      Range range = names_[k];
      (other[k] < range.own ? range.low : range.high) = good;
      if (ended && names_[k].octaves() - range.octaves() >= ended->octaves() - best.octaves()) continue;
      ended = &names_[k];
      best = range;
    }
    *ended = best;
  }

  SizeRules& rules_;
  const Sizes& sizes_;
  const std::int64_t effort_;
  const std::function<Look(const Sizes&)>& look_;
  std::vector<Range> names_;
  std::map<Counts, Seen> seen_;
};

}  // namespace

void narrow(SizeRules& rules, const Sizes& sizes, const std::vector<std::string>& axes, std::size_t effort, const std::function<Look(const Sizes&)>& look) {
  Narrowing(rules, sizes, effort, look).run();
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (rules.held[axis] < 0)
      rules.why[axis] = fmt::format(
          "the formula is known to record the same operations for {} from {} to {}{}; outside this range it records other operations, throws, or was not tried",
          axes[axis], rules.first[axis], rules.last[axis], rules.steps[axis] == 1 ? "" : fmt::format(", by {}", rules.steps[axis]));
}

}  // namespace sinter::freezing
