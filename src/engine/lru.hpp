// A map of bounded size. When it is full, it drops the least recently used entries. It is not thread-safe.
#pragma once
#include <cstddef>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace sinter::engine {

template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>> class Lru {
 public:
  /// `capacity` bounds the sum of the costs of all entries, in the caller's unit.
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}

  /// Returns null if there is no such key. The found entry becomes the most recently used one.
  template <class Like> Value* find(const Like& key) {
    const auto found = map_.find(key);
    if (found == map_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second.place);
    return &found->second.value;
  }
  /// Returns the key's entry, and adds `value` if there is none. Other entries may be dropped to make room.
  Value& insert(const Key& key, Value value, std::size_t cost) {
    if (Value* present = find(key)) return *present;
    const auto [added, fresh] = map_.try_emplace(key, Entry{std::move(value), cost, {}});
    order_.push_front(&added->first);
    added->second.place = order_.begin();
    cost_ += cost;
    while (cost_ > capacity_ && order_.size() > 1) {
      const auto last = map_.find(*order_.back());
      cost_ -= last->second.cost;
      order_.pop_back();
      map_.erase(last);
      ++evicted_;
    }
    return added->second.value;
  }
  /// Sets the key's entry to `value`.
  void replace(const Key& key, Value value, std::size_t cost) {
    if (const auto found = map_.find(key); found != map_.end()) {
      cost_ -= found->second.cost;
      order_.erase(found->second.place);
      map_.erase(found);
    }
    insert(key, std::move(value), cost);
  }
  std::size_t size() const { return map_.size(); }
  std::size_t cost() const { return cost_; }
  /// Returns the number of entries that were dropped to make room.
  std::size_t evicted() const { return evicted_; }

 private:
  struct Entry {
    Value value;
    std::size_t cost;
    typename std::list<const Key*>::iterator place;
  };
  std::size_t capacity_, cost_ = 0, evicted_ = 0;
  std::unordered_map<Key, Entry, Hash, Equal> map_;  // its keys stay in place
  std::list<const Key*> order_;                      // most recently used first
};

}  // namespace sinter::engine
