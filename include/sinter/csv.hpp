// Reading and writing tables of numbers as text.
#pragma once
#include <string>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

struct CsvOptions {
  /// The separator of fields. 0 selects the comma, semicolon or tab that comes first in the first line, or spaces if the line has none of them.
  char delimiter = 0;
  enum class Header : std::uint8_t { find, yes, no } header = Header::find;  ///< find: a first line without a number is a header
  DType dtype = DType::float64;
};

struct Csv {
  Tensor values;                   ///< (lines, fields)
  std::vector<std::string> names;  ///< names of the fields, from the header line; empty without a header line
  /// Returns the field with that name, a vector. Throws ValueError for an unknown name.
  Tensor column(const std::string& name, Location where = Location::current()) const;
};

/// Reads one row per line. Blank lines and lines that begin with # are skipped; but if the last such line before the numbers names each field, it is a header.
/// An empty field is NaN; if the dtype has no NaN, it throws IoError. Fields may be quoted. Throws IoError naming the file and the faulty line.
Csv load_csv(const std::string& path, const CsvOptions& options = {}, Location where = Location::current());
/// Evaluates the tensor and writes it. A vector gives one field per line; a matrix has shape (lines, fields). Each number is written with the fewest digits
/// that give the same number when they are read. `names` adds a header line. The file is replaced as a whole or not at all.
void save_csv(const std::string& path, const Tensor& tensor, const std::vector<std::string>& names = {}, char delimiter = ',',
              Location where = Location::current());

}  // namespace sinter
