// Images as tensors: PNG if sinter was built with libpng; the binary PPM and PGM formats always.
#pragma once
#include <string>

#include "sinter/tensor.hpp"

namespace sinter {

/// Returns uint8 or uint16, as the file has them. A gray image has shape (height, width); gray with alpha, RGB and RGBA have shape (height, width, channels). A
/// palette's indices become its colours; samples of fewer than 8 bits become 8 bits. The format is recognised by the content, not by the name. Throws IoError
/// naming the file and the fault, ValueError for a PNG if sinter was built without libpng.
Tensor load_image(const std::string& path, Location where = Location::current());
/// Evaluates the tensor and writes it; it must be uint8 or uint16, of one of these shapes. The name's ending selects the format: .png, .ppm (RGB), .pgm (gray).
/// Other types throw DTypeError: convert with astype(clip(round(x), 0, 255), uint8). The file is replaced as a whole or not at all.
void save_image(const std::string& path, const Tensor& image, Location where = Location::current());

}  // namespace sinter
