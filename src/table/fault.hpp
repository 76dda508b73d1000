// A fault: the message for arguments that a call does not take.
#pragma once
#include <cstddef>
#include <string>

namespace sinter::table {

/// `offset` is that of the argument's value: its place in the text that it was read from, where there is such a text. Who calls makes an error of it.
struct Fault {
  std::size_t offset;
  std::string message;
  bool of_kind = false;  // an argument of the wrong kind, too many or too few: Python's TypeError
};

}  // namespace sinter::table
