// One cache entry as bytes: encoding and decoding, no file system. Layout, in native byte order:
//
//   Header | key | metadata (JSON) | payload | checksum (XXH3-128 of everything before it)
//
// Nothing in a file is believed before the lengths add up to the file's own size and the checksum agrees.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/source.hpp"

namespace sinter::cache {

/// Part of every key and of every file: raise it when the layout below or the metadata changes. (A change of what is generated is in
/// the key by itself, see generator_id().) Files of another schema are never touched, so that two versions of sinter can share a directory.
inline constexpr std::uint32_t kSchema = 1;

/// Larger files are taken for damage: no kernel comes near, and a sparse file must not be able to claim all memory.
inline constexpr std::uint64_t kMaxEntryBytes = std::uint64_t{256} << 20;

/// XXH3-128 of bytes that come one after the other, as every file that sinter keeps ends with.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;
  void add(std::span<const std::uint8_t> bytes);
  std::array<std::uint8_t, 16> value() const;

 private:
  struct State;
  State* state_;
};
std::array<std::uint8_t, 16> checksum_of(std::span<const std::uint8_t> bytes);

/// The target that a key of key_text() names; empty for any other text.
std::string_view target_of(std::string_view key);

/// "<32 hex digits>.sinter", from the XXH3-128 hash of the key.
std::string entry_name(std::string_view key);
bool is_entry_name(std::string_view name);

std::vector<std::uint8_t> encode(std::string_view key, const jit::Binary& binary);

/// What a file says, as views into its bytes.
struct EntryView {
  enum class Status : std::uint8_t { good, corrupt, foreign_schema } status = Status::corrupt;
  std::string_view why;  // corrupt: what is wrong
  std::string_view key, metadata;
  std::span<const std::uint8_t> payload;
};
EntryView decode(std::span<const std::uint8_t> bytes);

/// The binary of a good entry; nothing if its metadata is not what encode() writes.
std::optional<jit::Binary> binary_of(const EntryView& entry);

}  // namespace sinter::cache
