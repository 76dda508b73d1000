// Reading and writing tables of numbers as text.
#pragma once
#include <string>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

struct CsvOptions {
  /// The separator of fields; 0 selects the first comma, semicolon or tab of the first line, or spaces if the line has none of them.
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

/// Reads one row per line. Blank lines and lines that begin with # are skipped (the last one before the numbers is a header if it names each field). An empty
/// field is NaN, or an IoError if the dtype has no NaN. Fields may be quoted. Throws IoError naming the file and the faulty line.
Csv load_csv(const std::string& path, const CsvOptions& options = {}, Location where = Location::current());
/// Evaluates and writes a vector, one field per line, or (lines, fields); each number has the fewest digits that read back to it. `names` adds a header line.
/// The file is replaced as a whole or not at all.
void save_csv(const std::string& path, const Tensor& tensor, const std::vector<std::string>& names = {}, char delimiter = ',',
              Location where = Location::current());

}  // namespace sinter
