// One cache entry as bytes: encoding and decoding, without the file system. Layout, in native byte order:
//
//   Header | key | metadata (JSON) | payload | checksum (XXH3-128 of everything before it)
//
// A file's contents are used only after its lengths add up to its own size and the checksum agrees.
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

/// The schema is part of every key and of every file: raise it when the layout below or the metadata changes. (A change of the generated code changes the key
/// itself, see generator_id().) Files of another schema are never touched, so that two versions of sinter can share a directory.
inline constexpr std::uint32_t kSchema = 1;

/// The limit of a file's size. Larger files count as damaged, because no kernel is nearly as large and a sparse file must not take all memory.
inline constexpr std::uint64_t kMaxEntryBytes = std::uint64_t{256} << 20;

/// Computes XXH3-128 of bytes that arrive in pieces; every file that sinter stores ends with it.
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

/// Returns the source from which key_text() made this key; nullopt for any other text.
std::optional<jit::Source> source_in(std::string_view key);
/// Returns the target in a key of key_text(); empty for any other text.
std::string_view target_of(std::string_view key);

/// Returns "<32 hex digits>.sinter", from the XXH3-128 hash of the key.
std::string entry_name(std::string_view key);
bool is_entry_name(std::string_view name);

std::vector<std::uint8_t> encode(std::string_view key, const jit::Binary& binary);

/// The contents of a file, as views into its bytes.
struct EntryView {
  enum class Status : std::uint8_t { good, corrupt, foreign_schema } status = Status::corrupt;
  std::string_view why;  // the fault of a corrupt file
  std::string_view key, metadata;
  std::span<const std::uint8_t> payload;
};
EntryView decode(std::span<const std::uint8_t> bytes);

/// Returns the binary of a good entry; nullopt if encode() did not write its metadata.
std::optional<jit::Binary> binary_of(const EntryView& entry);

}  // namespace sinter::cache
