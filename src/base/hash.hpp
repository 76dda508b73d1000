// Hashes that are the same in every run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

/// Computes one step of the hash of a small table: a multiplication and a shift.
inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

/// A hash wide enough to identify the hashed content.
struct Hash128 {
  std::uint64_t a = 0, b = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

/// Returns whether both sequences of words are equal.
inline bool same_words(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// Computes XXH3.
std::uint64_t hash64(std::span<const std::uint64_t> words);
Hash128 hash128(std::span<const std::byte> bytes);

/// A sequence of numbers and texts, and the hash of all of them.
class Words {
 public:
  void add(std::uint64_t word) { words_.push_back(word); }
  void add(const Hash128& hash) { words_.insert(words_.end(), {hash.a, hash.b}); }
  void add(std::string_view text);
  Hash128 hash() const { return hash128(std::as_bytes(std::span(words_))); }
  const std::vector<std::uint64_t>& all() const { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace sinter

template <> struct std::hash<sinter::Hash128> {
  std::size_t operator()(const sinter::Hash128& value) const { return value.a ^ value.b; }
};
