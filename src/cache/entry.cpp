#include "cache/entry.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "cache/disk_cache.hpp"

namespace sinter::cache {
namespace {

constexpr std::string_view kSuffix = ".sinter";
constexpr char kMagic[8] = {'s', 'i', 'n', 't', 'e', 'r', '\r', '\n'};

struct Header {
  char magic[8];
  std::uint32_t schema;
  std::uint32_t reserved;  // 0
  std::uint64_t key_bytes, metadata_bytes, payload_bytes;
};
static_assert(sizeof(Header) == 40);

void append(std::vector<std::uint8_t>& to, const void* from, std::size_t bytes) {
  const auto* p = static_cast<const std::uint8_t*>(from);
  to.insert(to.end(), p, p + bytes);
}

EntryView corrupt(std::string_view why) { return {.status = EntryView::Status::corrupt, .why = why}; }

}  // namespace

struct Checksum::State {
  XXH3_state_t* hash = XXH3_createState();
  ~State() { XXH3_freeState(hash); }
};
Checksum::Checksum() : state_(new State) { XXH3_128bits_reset(state_->hash); }
Checksum::~Checksum() { delete state_; }
void Checksum::add(std::span<const std::uint8_t> bytes) { XXH3_128bits_update(state_->hash, bytes.data(), bytes.size()); }
std::array<std::uint8_t, 16> Checksum::value() const {
  const XXH128_hash_t sum = XXH3_128bits_digest(state_->hash);
  std::array<std::uint8_t, 16> result;
  std::memcpy(result.data(), &sum, sizeof sum);
  return result;
}

std::array<std::uint8_t, 16> checksum_of(std::span<const std::uint8_t> bytes) {
  return std::bit_cast<std::array<std::uint8_t, 16>>(hash128(std::as_bytes(bytes)));
}

namespace {

struct Field {
  std::string_view name;
  std::string jit::Source::*member;
};
constexpr Field kFields[] = {{"target", &jit::Source::target},   {"compiler", &jit::Source::compiler}, {"generator", &jit::Source::generator},
                             {"options", &jit::Source::options}, {"entry", &jit::Source::entry},       {"text", &jit::Source::text}};

std::string key_start() { return fmt::format("sinter kernel, schema {}\n", kSchema); }

/// Removes "NAME LENGTH\n...\n" from the front of the text and returns the field. Returns nullopt if the text does not begin with this field.
std::optional<std::string_view> take_field(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ' ') return std::nullopt;
  text.remove_prefix(name.size() + 1);
  std::size_t length = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || stop == text.data() + text.size() || *stop != '\n') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  if (length >= text.size() || text[length] != '\n') return std::nullopt;
  const std::string_view field = text.substr(0, length);
  text.remove_prefix(length + 1);
  return field;
}

}  // namespace

std::string key_text(const jit::Source& source) {
  // Every field follows its length, so that moving a boundary between two fields changes the text.
  std::string key = key_start();
  for (const auto& [name, member] : kFields) key += fmt::format("{} {}\n{}\n", name, (source.*member).size(), source.*member);
  return key;
}

std::optional<jit::Source> source_in(std::string_view key) {
  if (!key.starts_with(key_start())) return std::nullopt;
  key.remove_prefix(key_start().size());
  jit::Source source;
  for (const auto& [name, member] : kFields) {
    const auto field = take_field(key, name);
    if (!field) return std::nullopt;
    source.*member = *field;
  }
  return key.empty() ? std::optional(std::move(source)) : std::nullopt;
}

std::string_view target_of(std::string_view key) {
  const std::size_t end = key.find('\n');
  if (end == std::string_view::npos) return {};
  key.remove_prefix(end + 1);
  return take_field(key, kFields[0].name).value_or(std::string_view());
}

std::string entry_name(std::string_view key) {
  const Hash128 hash = hash128(std::as_bytes(std::span(key)));
  return fmt::format("{:016x}{:016x}{}", hash.b, hash.a, kSuffix);
}

bool is_entry_name(std::string_view name) {
  return name.size() == 32 + kSuffix.size() && name.ends_with(kSuffix) && name.substr(0, 32).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::vector<std::uint8_t> encode(std::string_view key, const jit::Binary& binary) {
  const nlohmann::json metadata = {
      {"entry", binary.entry},
      {"note", binary.note},
      {"registers", binary.report.registers},
      {"spill_bytes", binary.report.spill_bytes},
      {"shared_bytes", binary.report.shared_bytes},
      {"stack_bytes", binary.report.stack_bytes},
      {"compile_ms", binary.report.compile_ms},
  };
  // A note may quote a compiler's log, whose bytes need not be UTF-8.
  const std::string text = metadata.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);

  Header header{.schema = kSchema, .key_bytes = key.size(), .metadata_bytes = text.size(), .payload_bytes = binary.image.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(sizeof header + key.size() + text.size() + binary.image.size() + sizeof(Hash128));
  append(bytes, &header, sizeof header);
  append(bytes, key.data(), key.size());
  append(bytes, text.data(), text.size());
  append(bytes, binary.image.data(), binary.image.size());
  const Hash128 sum = hash128(std::as_bytes(std::span(bytes)));
  append(bytes, &sum, sizeof sum);
  return bytes;
}

EntryView decode(std::span<const std::uint8_t> bytes) {
  Header header;
  if (bytes.size() < sizeof header + sizeof(Hash128)) return corrupt("truncated");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return corrupt("not a sinter cache entry");
  if (header.schema != kSchema) return {.status = EntryView::Status::foreign_schema};

  // Each length is compared with the rest of the file, so that no sum can wrap around.
  std::size_t left = bytes.size() - sizeof header - sizeof(Hash128);
  for (const std::uint64_t length : {header.key_bytes, header.metadata_bytes, header.payload_bytes}) {
    if (length > left) return corrupt("truncated");
    left -= length;
  }
  if (left != 0) return corrupt("longer than its header says");

  Hash128 sum;
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  if (sum != hash128(std::as_bytes(bytes.first(bytes.size() - sizeof sum)))) return corrupt("wrong checksum");

  const char* text = reinterpret_cast<const char*>(bytes.data()) + sizeof header;
  return {.status = EntryView::Status::good,
          .key = {text, header.key_bytes},
          .metadata = {text + header.key_bytes, header.metadata_bytes},
          .payload = bytes.subspan(sizeof header + header.key_bytes + header.metadata_bytes, header.payload_bytes)};
}

std::optional<jit::Binary> binary_of(const EntryView& entry) {
  const auto json = nlohmann::json::parse(entry.metadata, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  bool good = true;
  const auto text = [&](const char* name) -> std::string {
    const auto it = json.find(name);
    if (it != json.end() && it->is_string()) return it->get<std::string>();
    good = false;
    return {};
  };
  const auto count = [&](const char* name) -> int {
    const auto it = json.find(name);
    if (it != json.end() && it->is_number_integer()) {
      const auto value = it->get<std::int64_t>();
      if (value >= -1 && value <= std::numeric_limits<int>::max()) return static_cast<int>(value);
    }
    good = false;
    return -1;
  };
  const auto time = json.find("compile_ms");
  good = time != json.end() && time->is_number();

  jit::Binary binary;
  binary.entry = text("entry");
  binary.note = text("note");
  binary.report.registers = count("registers");
  binary.report.spill_bytes = count("spill_bytes");
  binary.report.shared_bytes = count("shared_bytes");
  binary.report.stack_bytes = count("stack_bytes");
  if (!good) return std::nullopt;
  binary.report.compile_ms = time->get<double>();
  binary.image.assign(entry.payload.begin(), entry.payload.end());
  binary.origin = jit::Origin::disk;
  return binary;
}

}  // namespace sinter::cache
