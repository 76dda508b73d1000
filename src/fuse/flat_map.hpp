// A hash map in two arrays: entries in the order of their making, and where they are. Many are made for each plan, most of them small.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.hpp"

namespace sinter::fuse {

struct HashNumber {
  std::size_t operator()(std::uint64_t number) const { return mix(0, number); }
};

template <class Key, class Value, class Hash = HashNumber> class FlatMap {
 public:
  /// The key's value, null where there is none; valid until the next insertion.
  Value* find(const Key& key) {
    if (entries_.empty()) return nullptr;
    const std::int32_t entry = places_[place_of(key)];
    return entry < 0 ? nullptr : &entries_[static_cast<std::size_t>(entry)].second;
  }
  const Value* find(const Key& key) const { return const_cast<FlatMap*>(this)->find(key); }
  bool contains(const Key& key) const { return find(key) != nullptr; }
  /// The key's value, made from `value` if it is new, and whether it is.
  std::pair<Value*, bool> try_emplace(const Key& key, Value value) {
    if (2 * (entries_.size() + 1) > places_.size()) grow();
    std::int32_t& entry = places_[place_of(key)];
    const bool fresh = entry < 0;
    if (fresh) {
      entry = static_cast<std::int32_t>(entries_.size());
      entries_.emplace_back(key, std::move(value));
    }
    return {&entries_[static_cast<std::size_t>(entry)].second, fresh};
  }
  Value& operator[](const Key& key) { return *try_emplace(key, Value{}).first; }
  void clear() {
    entries_.clear();
    places_.assign(places_.size(), -1);
  }

 private:
  std::size_t place_of(const Key& key) const {
    const std::size_t last = places_.size() - 1;
    std::size_t place = Hash{}(key)&last;
    while (places_[place] >= 0 && !(entries_[static_cast<std::size_t>(places_[place])].first == key)) place = (place + 1) & last;
    return place;
  }
  void grow() {
    places_.assign(places_.empty() ? 16 : 2 * places_.size(), -1);
    for (std::size_t entry = 0; entry < entries_.size(); ++entry) places_[place_of(entries_[entry].first)] = static_cast<std::int32_t>(entry);
  }

  std::vector<std::pair<Key, Value>> entries_;
  std::vector<std::int32_t> places_;  // as many as a power of two; -1: free
};

}  // namespace sinter::fuse
