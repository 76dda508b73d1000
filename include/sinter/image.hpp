// Images as tensors: PNG if sinter was built with libpng; the binary PPM and PGM formats always.
#pragma once
#include <string>

#include "sinter/tensor.hpp"

namespace sinter {

/// Returns uint8 or uint16, as in the file: (height, width) for gray, else (height, width, channels): gray and alpha, RGB, RGBA. A palette becomes its colours;
/// fewer than 8 bits become 8. The content determines the format. Throws IoError naming the file and the fault, ValueError for a PNG if sinter was built
/// without libpng.
Tensor load_image(const std::string& path, Location where = Location::current());
/// Evaluates and writes uint8 or uint16 of such a shape; the name's ending selects the format: .png, .ppm (RGB), .pgm (gray). Other types throw DTypeError:
/// convert with astype(clip(round(x), 0, 255), uint8). The file is replaced as a whole or not at all.
void save_image(const std::string& path, const Tensor& image, Location where = Location::current());

}  // namespace sinter
