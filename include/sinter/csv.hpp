// Tables of numbers as text.
#pragma once
#include <string>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

struct CsvOptions {
  /// Between the fields of a line; 0: the first of , ; tab that the first line has, else spaces.
  char delimiter = 0;
  enum class Header : std::uint8_t { find, yes, no } header = Header::find;  // find: a first line without a number
  DType dtype = DType::float64;
};

struct Csv {
  Tensor values;                   // (lines, fields)
  std::vector<std::string> names;  // of the fields, by the header line; empty without one
  /// The field of that name, a vector. Throws ValueError.
  Tensor column(const std::string& name, Location where = Location::current()) const;
};

/// Reads numbers: a line each, blank lines and those that begin with # left out (a first one with names is a header). An empty field is NaN, and
/// an IoError where the type has none. Fields may be quoted. Throws IoError naming the file and the line that is wrong.
Csv load_csv(const std::string& path, const CsvOptions& options = {}, Location where = Location::current());
/// Evaluates and writes a vector, as one field a line, or (lines, fields); each number in the fewest digits that give it again. `names`: a header
/// line. The file is replaced whole or not at all.
void save_csv(const std::string& path, const Tensor& tensor, const std::vector<std::string>& names = {}, char delimiter = ',',
              Location where = Location::current());

}  // namespace sinter
