// .npy files, NumPy's format: magic, version, the header (a Python dict literal), the elements.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include "sinter/npy.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "io/file.hpp"
#include "io/npy_header.hpp"
#include "io/npy_stream.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace io;

NpyHeader read_header(Input& reader) {
  unsigned char start[8];
  if (reader.left() < sizeof start) reader.refuse("not an .npy file: shorter than its magic");
  reader.read(start, sizeof start, "the magic");
  if (std::memcmp(start, "PK\3\4", 4) == 0) reader.refuse("an archive (.npz), not an .npy file: load_npz() reads it");
  if (std::memcmp(start, "\x93NUMPY", 6) != 0) reader.refuse("not an .npy file: the magic is missing");
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    reader.refuse(fmt::format("format version {}.{} is unknown (1.0, 2.0 and 3.0 are read)", version, start[7]));
  }
  unsigned char length[4] = {0, 0, 0, 0};
  reader.read(length, version == 1 ? 2 : 4, "the header's length");
  const std::uint64_t bytes = length[0] | length[1] << 8 | length[2] << 16 | static_cast<std::uint64_t>(length[3]) << 24;
  constexpr std::uint64_t kMaxHeader = 1 << 20;
  if (bytes > kMaxHeader) reader.refuse(fmt::format("its header would have {}, which is too many", counted(bytes, "byte")));
  std::string text(bytes, '\0');
  reader.read(text.data(), bytes, "the header");
  try {
    return parse_npy_header(text);
  } catch (const IoError& e) {
    reader.refuse(e.what());
  }
}

void swap_bytes(unsigned char* data, std::uint64_t count, std::size_t item) {
  for (std::uint64_t i = 0; i < count; ++i, data += item) std::reverse(data, data + item);
}

/// Returns the number of elements, after a check that the file has all of them.
std::uint64_t count_of(const Input& reader, const NpyHeader& header) {
  const std::size_t item = itemsize(header.dtype);
  std::uint64_t count = 1;
  for (const std::int64_t size : header.shape) {
    if (size != 0 && count > (std::uint64_t{1} << 60) / static_cast<std::uint64_t>(size)) {
      reader.refuse(fmt::format("shape {} is too large", to_string(header.shape)));
    }
    count *= static_cast<std::uint64_t>(size);
  }
  if (count * item > reader.left()) {
    reader.refuse(fmt::format("truncated: shape {} of {} takes {}, but the file has only {} left", to_string(header.shape), name(header.dtype),
                              counted(count * item, "byte"), counted(reader.left(), "byte")));
  }
  return count;
}

}  // namespace

Tensor load_npy(const std::string& path, Location where) {
  const Site site = site_of("load_npy", where);
  Reader reader(site, path);
  return io::read_npy(site, reader);
}

Tensor io::read_npy(const Site& site, Input& reader) {
  const NpyHeader header = read_header(reader);
  const std::size_t item = itemsize(header.dtype);
  const std::uint64_t count = count_of(reader, header);
  auto storage = std::make_shared<Storage>();
  storage->bytes = count * item;
  storage->host = reader.allocate(storage->bytes);
  auto* elements = static_cast<unsigned char*>(storage->host.get());
  reader.read(elements, storage->bytes, "the elements");
  if (header.swap) swap_bytes(elements, count, item);
  if (is_bool(header.dtype)) {
    for (std::uint64_t i = 0; i < count; ++i) elements[i] = elements[i] != 0;
  }
  if (!header.fortran_order || header.shape.size() < 2) {
    return Tensor(make_data(site, header.dtype, header.shape, std::move(storage)));
  }
  std::vector<std::int64_t> strides(header.shape.size(), 1);
  for (std::size_t k = 1; k < strides.size(); ++k) strides[k] = strides[k - 1] * header.shape[k - 1];
  return from_pointer(elements, header.dtype, header.shape, strides, site.where);
}

Tensor map_npy(const std::string& path, Location where) {
  const Site site = site_of("map_npy", where);
  Reader reader(site, path);
  const NpyHeader header = read_header(reader);
  if (header.swap || is_bool(header.dtype))
    reader.refuse(header.swap ? "elements in the other byte order are not used in place; load_npy() converts them"
                              : "bool elements are not used in place; load_npy() makes sure that each is 0 or 1");
  auto storage = std::make_shared<Storage>();
  storage->bytes = count_of(reader, header) * itemsize(header.dtype);
  if (storage->bytes == 0) return load_npy(path, where);
  storage->host = reader.map(storage->bytes);
  if (!storage->host) reader.refuse("the elements do not start at a multiple of 64 bytes; load_npy() copies them");
  if (!header.fortran_order) return Tensor(make_data(site, header.dtype, header.shape, std::move(storage)));
  const Shape reversed(header.shape.rbegin(), header.shape.rend());
  return transpose(Tensor(make_data(site, header.dtype, reversed, std::move(storage))));
}

void save_npy(const std::string& path, const Tensor& tensor, Location where) {
  const Site site{"save_npy", where};
  const RecordedPtr& node = node_of(site, tensor);
  const NpyBytes bytes = npy_bytes(site, node);
  Writer writer(site, path);
  writer.write(bytes.header.data(), bytes.header.size());
  writer.write(bytes.elements, bytes.size);
  writer.finish();
}

NpyBytes io::npy_bytes(const Site& site, const RecordedPtr& node) {
  if (npy_code(node->dtype).empty()) {
    fail<DTypeError>(site, fmt::format("the .npy format has no {}; convert with astype(float32) first", name(node->dtype)));
  }
  const auto count = static_cast<std::size_t>(element_count(node->shape));
  return {npy_header_bytes({node->dtype, node->shape}), count != 0 ? host_data(node, site) : nullptr, count * itemsize(node->dtype)};
}

}  // namespace sinter
