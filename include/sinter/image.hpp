// Images as tensors: PNG where sinter was built with libpng, and the binary PPM and PGM formats always.
#pragma once
#include <string>

#include "sinter/tensor.hpp"

namespace sinter {

/// uint8 or uint16, as the file has it: (height, width) for gray, else (height, width, channels): gray and alpha, RGB, RGBA. A palette becomes its
/// colours; less than 8 bits become 8. The content tells the format. Throws IoError naming the file and what is wrong with it, ValueError for a
/// PNG where sinter was built without libpng.
Tensor load_image(const std::string& path, Location where = Location::current());
/// Evaluates and writes uint8 or uint16 of such a shape; the name's ending tells the format: .png, .ppm (RGB), .pgm (gray). Other types are a
/// DTypeError: astype(clip(round(x), 0, 255), uint8) says what becomes of numbers out of range. The file is replaced whole or not at all.
void save_image(const std::string& path, const Tensor& image, Location where = Location::current());

}  // namespace sinter
