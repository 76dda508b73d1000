// The header of a safetensors file: eight bytes with the length of the JSON text, then the text. https://github.com/huggingface/safetensors
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "io/file.hpp"
#include "sinter/tensor.hpp"

namespace sinter::io {

/// A tensor of a file. Its elements are at begin <= byte < end after the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype{};
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

/// Reads the header. Returns the entries in the order of their elements, which do not overlap. Throws IoError naming the fault.
std::vector<SafetensorsEntry> read_safetensors_header(Reader& reader);

/// The bytes before the elements, and the entries in the order of their elements: the widest types first, so that all elements are aligned.
struct SafetensorsHeader {
  std::string bytes;
  std::vector<SafetensorsEntry> entries;
};
/// Makes the header of these tensors, and sets their positions. Throws DTypeError and ValueError for types and names that the format does not have.
SafetensorsHeader safetensors_header(const Site& site, std::vector<SafetensorsEntry> tensors);

}  // namespace sinter::io
