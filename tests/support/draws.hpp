// Random numbers of a test program: one sequence.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>
#include <tuple>
#include <type_traits>
#include <vector>

#include "cases.hpp"
#include "seed.hpp"

namespace sinter::testing {

std::mt19937& numbers();
/// Returns an integer, both bounds included.
std::int64_t pick(std::int64_t low, std::int64_t high);
/// Returns the integers from `low` to `high`, both included.
std::vector<std::int64_t> integers(std::int64_t low, std::int64_t high);
/// Returns the list in a random order. A test that stops when time_is_over() then tries other elements each time.
template <class List> List shuffled(List list) {
  std::shuffle(list.begin(), list.end(), numbers());
  return list;
}

/// A list in a random order. A loop over it ends early when time_is_over(), but not before the first element.
template <class T> class Sampled {
 public:
  explicit Sampled(std::vector<T> list) : list_(shuffled(std::move(list))) {}
  struct End {};
  struct Iterator {
    typename std::vector<T>::const_iterator at, end;
    bool first = true;
    decltype(auto) operator*() const { return *at; }
    void operator++() { ++at, first = false; }
    bool operator!=(End) const { return at != end && (first || !time_is_over()); }
  };
  Iterator begin() const { return {list_.begin(), list_.end()}; }
  End end() const { return {}; }

 private:
  std::vector<T> list_;
};
/// Returns the elements of a list so, or the combinations of an element of each list, as tuples: for (const auto& [dtype, size] : sampled(dtypes, sizes)).
template <class List, class... Lists> auto sampled(const List& list, const Lists&... others) {
  using First = std::decay_t<decltype(*std::begin(list))>;
  if constexpr (sizeof...(others) == 0) {
    return Sampled<First>(std::vector<First>(std::begin(list), std::end(list)));
  } else {
    std::vector<std::tuple<First, std::decay_t<decltype(*std::begin(others))>...>> all;
    const auto combine = [&](const auto& self, const auto& chosen, const auto& next, const auto&... rest) -> void {
      for (const auto& element : next) {
        const auto longer = std::tuple_cat(chosen, std::tuple(element));
        if constexpr (sizeof...(rest) == 0) all.push_back(longer);
        else self(self, longer, rest...);
      }
    };
    combine(combine, std::tuple<>(), list, others...);
    return Sampled(std::move(all));
  }
}
template <class T> auto sampled(std::initializer_list<T> list) { return Sampled<T>(std::vector<T>(list)); }
std::vector<float> floats(std::size_t count, float low = -1, float high = 1);

}  // namespace sinter::testing
