// Files with values. The ending of the name selects the format.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter::table {

/// Loads FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME (the name may be omitted if the file has a single tensor), FILE.csv, FILE.tsv, FILE.png, FILE.ppm or
/// FILE.pgm; any other name counts as an .npy file. Throws IoError.
Tensor load_file(const std::string& text);
/// Returns true if the text has an ending that load_file knows. Such a text means a file even if the file does not exist.
bool is_file_name(const std::string& text);

/// Returns true for an archive, which holds several results.
bool is_archive(const std::string& path);
/// Writes in the format that the ending of the name selects; without an ending, as .npy.
void save_file(const std::string& path, const Tensor& tensor);
void save_archive(const std::string& path, std::span<const Tensor> tensors, const std::vector<std::string>& names);

}  // namespace sinter::table
