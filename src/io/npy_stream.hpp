// A tensor as the bytes of an .npy file, which is a separate file or a member of an archive.
#pragma once
#include <cstddef>
#include <string>

#include "io/file.hpp"
#include "trace/record.hpp"

namespace sinter::io {

/// Reads magic, header and elements. Throws IoError through the input's refuse().
Tensor read_npy(const Site& site, Input& input);

struct NpyBytes {
  std::string header;    // all bytes before the elements
  const void* elements;  // valid while the node exists; null if there are no elements
  std::size_t size;      // bytes of the elements
};
/// Evaluates the node. Throws DTypeError for a type that the format lacks.
NpyBytes npy_bytes(const Site& site, const RecordedPtr& node);

}  // namespace sinter::io
