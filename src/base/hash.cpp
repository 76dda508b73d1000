#include "base/hash.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace sinter {

std::uint64_t hash64(std::span<const std::uint64_t> words) { return XXH3_64bits(words.data(), words.size_bytes()); }

Hash128 hash128(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

void Words::add(std::string_view text) {
  const std::size_t at = words_.size();
  words_.resize(at + 1 + (text.size() + 7) / 8);
  words_[at] = text.size();
  if (!text.empty()) std::memcpy(&words_[at + 1], text.data(), text.size());
}

}  // namespace sinter
