// A tensor as the bytes of an .npy file, which stands alone or in an archive.
#pragma once
#include <cstddef>
#include <string>

#include "io/file.hpp"
#include "trace/record.hpp"

namespace sinter::io {

/// Reads magic, header and elements. Throws IoError by the input's refuse().
Tensor read_npy(const Site& site, Input& input);

struct NpyBytes {
  std::string header;    // all that stands before the elements
  const void* elements;  // valid while the node lives; null where there are none
  std::size_t size;      // of the elements
};
/// Evaluates. Throws DTypeError for a type that the format has not.
NpyBytes npy_bytes(const Site& site, const RecordedPtr& node);

}  // namespace sinter::io
