// The "cubin" that the emulated NVRTC gives the emulated driver. It contains the real cubin, if there is a real compiler, and the source.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace cuda_emulator {

struct Container {
  int sm = 0;
  int registers = -1, stack_bytes = -1, shared_bytes = -1;
  int launch_bounds = 0;     // maximum number of threads of a block; 0: not given
  int is_ptx = 0;            // PTX, which the driver compiles for this architecture or a later one
  int compiler_version = 0;  // 13000
  int cluster = 0;           // blocks of a cluster; 0: not given
  std::string entry, source, cubin;
};

inline constexpr char kMagic[16] = "SINTEREMULATOR2";

inline void put(std::string& to, const std::string& text) {
  const std::uint64_t size = text.size();
  to.append(reinterpret_cast<const char*>(&size), sizeof(size));
  to += text;
}

/// The format: a magic number, the total size, eight numbers and three texts.
inline std::string pack(const Container& c) {
  std::string body;
  for (std::int64_t number : {c.sm, c.registers, c.stack_bytes, c.shared_bytes, c.launch_bounds, c.is_ptx, c.compiler_version, c.cluster})
    body.append(reinterpret_cast<const char*>(&number), sizeof(number));
  for (const std::string* text : {&c.entry, &c.source, &c.cubin}) put(body, *text);
  const std::uint64_t size = sizeof(kMagic) + sizeof(std::uint64_t) + body.size();
  std::string image(kMagic, sizeof(kMagic));
  image.append(reinterpret_cast<const char*>(&size), sizeof(size));
  return image + body;
}

/// Returns nothing for other bytes. The driver's interface passes no size, so the image holds its own.
inline std::optional<Container> unpack(const void* image) {
  const char* p = static_cast<const char*>(image);
  if (std::memcmp(p, kMagic, sizeof(kMagic)) != 0) return {};
  std::uint64_t size;
  std::memcpy(&size, p + sizeof(kMagic), sizeof(size));
  const char* const end = p + size;
  p += sizeof(kMagic) + sizeof(size);
  Container c;
  for (int* number : {&c.sm, &c.registers, &c.stack_bytes, &c.shared_bytes, &c.launch_bounds, &c.is_ptx, &c.compiler_version, &c.cluster}) {
    std::int64_t value;
    if (end - p < static_cast<std::ptrdiff_t>(sizeof(value))) return {};
    std::memcpy(&value, p, sizeof(value));
    *number = static_cast<int>(value);
    p += sizeof(value);
  }
  for (std::string* text : {&c.entry, &c.source, &c.cubin}) {
    std::uint64_t length;
    if (end - p < static_cast<std::ptrdiff_t>(sizeof(length))) return {};
    std::memcpy(&length, p, sizeof(length));
    p += sizeof(length);
    if (static_cast<std::uint64_t>(end - p) < length) return {};
    text->assign(p, length);
    p += length;
  }
  return c;
}

}  // namespace cuda_emulator
