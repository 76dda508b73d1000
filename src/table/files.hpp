// The files that values come from and go to: what a name's ending means.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter::table {

/// FILE.npy, FILE.npz:NAME, FILE.safetensors:NAME (the name may be left out where the file has one tensor), FILE.csv, FILE.tsv, FILE.png, FILE.ppm,
/// FILE.pgm; of another name an .npy file. Throws IoError.
Tensor load_file(const std::string& text);
/// True if the text has an ending that load_file knows: it is meant as a file even where there is none.
bool is_file_name(const std::string& text);

/// True for an archive, which takes several results.
bool is_archive(const std::string& path);
/// Writes by the name's ending; without one as .npy.
void save_file(const std::string& path, const Tensor& tensor);
void save_archive(const std::string& path, std::span<const Tensor> tensors, const std::vector<std::string>& names);

}  // namespace sinter::table
