#include "trace/known_shapes.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/per_thread.hpp"

namespace sinter::trace {
namespace {

constexpr std::size_t kPlaces = 64;  // slots; each holds the latest shape whose hash ends with its number
struct Known {
  std::array<ShapePtr, kPlaces> shapes;
};

}  // namespace

ShapePtr shared_shape(std::span<const std::int64_t> sizes) {
  std::uint64_t hash = sizes.size();
  for (const std::int64_t size : sizes) hash = mix(hash, static_cast<std::uint64_t>(size));
  ShapePtr& known = per_thread<Known>().shapes[hash % kPlaces];
  if (!known || !std::equal(known->begin(), known->end(), sizes.begin(), sizes.end())) known = std::make_shared<const Shape>(sizes.begin(), sizes.end());
  return known;
}

}  // namespace sinter::trace
