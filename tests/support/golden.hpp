// Reads the golden expressions (tests/golden/cases.txt and cases.npy, written by cases.py beside them).
#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <sinter/sinter.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "expression.hpp"
#include "table/functions.hpp"

namespace sinter::testing {

/// NumPy's result: a view of the bytes of cases.npy.
struct Expected {
  DType dtype;
  Shape shape;
  const std::uint8_t* bytes;
};

struct GoldenCase {
  std::string function, expression, tolerance;
  std::vector<Expected> expected;
};

class GoldenCases {
 public:
  explicit GoldenCases(const std::string& folder) : file_(folder + "/cases.txt"), bytes_(load_npy(folder + "/cases.npy").to_vector<std::uint8_t>()) {
    REQUIRE(file_.is_open());
  }
  /// The inputs of the present expression.
  const tools::Bindings& inputs() const { return inputs_; }
  /// Reads the next expression; returns false after the last one.
  bool next(GoldenCase& next) {
    for (std::string line; std::getline(file_, line);) {
      std::vector<std::string> fields;
      std::istringstream stream(line);
      for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
      if (fields[0] == "input") {
        const Expected e = expected(fields[2], fields[3]);
        inputs_.insert_or_assign(fields[1], table::Value{from_pointer(e.bytes, e.dtype, e.shape)});
        continue;
      }
      next = {fields[0], fields[1], fields[2], {}};
      for (std::size_t k = 3; k + 1 < fields.size(); k += 2) next.expected.push_back(expected(fields[k], fields[k + 1]));
      return true;
    }
    CHECK(at_ == bytes_.size());
    return false;
  }

 private:
  Expected expected(const std::string& dtype, const std::string& shape) {
    Expected e{tools::find_dtype(dtype).value(), {}, nullptr};
    std::istringstream sizes(shape == "-" ? "" : shape);
    for (std::string size; std::getline(sizes, size, ',');) e.shape.push_back(std::stoll(size));
    e.bytes = bytes_.data() + at_;
    at_ += static_cast<std::size_t>(element_count(e.shape)) * itemsize(e.dtype);
    REQUIRE(at_ <= bytes_.size());
    return e;
  }

  std::ifstream file_;
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
  tools::Bindings inputs_;
};

}  // namespace sinter::testing
