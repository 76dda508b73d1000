// Reading and writing RGB pictures: binary PPM always, PNG where libpng is at hand.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace example {

struct Picture {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // height * width * 3
};

/// The name's ending decides. Throws sinter::IoError.
Picture read_picture(const std::string& path);
void write_picture(const std::string& path, const Picture& picture);

}  // namespace example
