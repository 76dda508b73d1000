// The header of an .npy file: conversion from text to a value and back.
#pragma once
#include <string>
#include <string_view>

#include "sinter/tensor.hpp"

namespace sinter::io {

struct NpyHeader {
  DType dtype{};
  Shape shape;
  bool fortran_order = false;
  bool swap = false;  // true: the byte order of the elements is not this machine's
};

/// Returns the format's code of a type; empty for a type without one. bfloat16 has the code that NumPy writes for ml_dtypes.bfloat16.
std::string_view npy_code(DType dtype);
/// Parses the dict literal. Throws IoError with the fault; the sizes of the shape are not negative but may be huge.
NpyHeader parse_npy_header(std::string_view text);
/// Returns the bytes before the elements: magic, version, length and padded dict. The version is 1 unless the shape is too long.
std::string npy_header_bytes(const NpyHeader& header);

}  // namespace sinter::io
