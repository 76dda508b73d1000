// A Fault is an exception with the message for invalid arguments of a call.
#pragma once
#include <cstddef>
#include <string>

namespace sinter::table {

/// `offset` is the position of the argument's value in the text from which it was read, if any. The caller converts a Fault to an error.
struct Fault {
  std::size_t offset;
  std::string message;
  bool of_kind = false;  // wrong kind or wrong number of arguments: Python's TypeError
};

}  // namespace sinter::table
