// The header of an .npy file, text to value and back.
#pragma once
#include <string>
#include <string_view>

#include "sinter/tensor.hpp"

namespace sinter::io {

struct NpyHeader {
  DType dtype{};
  Shape shape;
  bool fortran_order = false;
  bool swap = false;  // the elements are in the other byte order than this machine's
};

/// Parses the dict literal. Throws IoError saying what is wrong; what it names as a shape is not negative but may be huge.
NpyHeader parse_npy_header(std::string_view text);
/// Magic, version, length and padded dict: all that stands before the elements. Version 1 unless the shape is too long.
std::string npy_header_bytes(const NpyHeader& header);

}  // namespace sinter::io
