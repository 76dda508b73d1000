// The layout of a tensor on the ranks of a mesh, as plain values. Which elements a rank has depends only on the global shape, the sharding and the mesh.
//
// A mesh axis has pieces, a multiple of its ranks. A tensor axis that is sharded along it is divided into as many pieces. A place is one piece along each mesh
// axis. An evaluation runs once for each place, exactly as if every place were a rank; a rank that has several places runs them on as many threads. So neither
// the computed parts nor the order of any sum depends on the number of ranks.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ranks/world.hpp"
#include "trace/record.hpp"

namespace sinter::ranks {

/// The piece along each mesh axis.
using Place = std::vector<int>;

class KnownPartitions;

struct MeshState {
  std::shared_ptr<WorldState> world;
  std::vector<MeshAxis> axes;
  std::shared_ptr<KnownPartitions> known = nullptr;  // partitions of earlier evaluations (partition.hpp)

  std::size_t count() const { return axes.size(); }
  /// Returns the places of a rank, or of all ranks, the last axis fastest.
  std::vector<Place> places_of(int rank) const;
  std::vector<Place> own_places() const { return places_of(world->rank); }
  std::vector<Place> all_places() const;
  int rank_of(const Place& place) const;
  /// Returns the place's number among those of its rank.
  int number_of(const Place& place) const;
};
using MeshPtr = std::shared_ptr<const MeshState>;

/// The mesh axis of each tensor axis, or kWhole.
inline constexpr int kWhole = -1;
struct Sharding {
  MeshPtr mesh;
  std::vector<int> axes;

  bool is_whole() const;
  /// Returns the tensor axis that is sharded along the mesh axis, or -1.
  int along(std::size_t mesh_axis) const;
  friend bool operator==(const Sharding&, const Sharding&) = default;
};
/// Names for messages: "float32 (4096@data, 1024)".
std::string to_string(DType dtype, const Shape& shape, const Sharding& sharding);
/// Returns the axes in the form of a program: "{"data", ""}".
std::string as_written(const Sharding& sharding);

/// A part of a sharded tensor: the piece along each mesh axis, or kWhole along a mesh axis that the sharding does not use. Places that differ only along such
/// axes have the same part.
using Part = std::vector<int>;
/// The elements begin <= i < end along each axis.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};
using Block = std::vector<Range>;
Range intersection(Range a, Range b);
Block intersection(const Block& a, const Block& b);
bool is_empty(const Block& block);
Shape shape_of(const Block& block);

Part part_of(const Sharding& sharding, const Place& place);
std::vector<Part> all_parts(const Sharding& sharding);
/// The length of a piece of an axis, and the number of pieces that have elements.
std::int64_t piece_length(const MeshState& mesh, int mesh_axis, std::int64_t size);
std::int64_t pieces_with_elements(const MeshState& mesh, int mesh_axis, std::int64_t size);
Block block_of(const Shape& shape, const Sharding& sharding, const Part& part);

/// The layout of a recorded value on the ranks. A value without a spread is unsharded and is not computed from sharded values.
struct Spread {
  Sharding sharding;
  std::vector<trace::RecordedPtr> parts;  // for each place of this rank; none before the value is evaluated
  trace::RecordedPtr whole;               // the same value on all ranks, once its elements were read
};

}  // namespace sinter::ranks
