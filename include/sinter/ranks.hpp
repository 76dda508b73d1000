// Arrays over several ranks. A rank is a process, or a thread of one process. Every rank runs the same program and records the same operations on global
// shapes; a sharded tensor has only a part of its elements on each rank. sinter.hpp does not include this header. docs/ranks.md is the guide.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sinter/errors.hpp"
#include "sinter/named.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// Thrown for an operation whose operands' shardings do not fit. The message names the operation, the operands, and a call that solves the problem.
struct ShardingError : Error {
  using Error::Error;
};
/// Thrown if ranks record different operations, if other ranks wait too long for a rank, or if a rank has ended.
struct RankError : Error {
  using Error::Error;
};

}  // namespace sinter

namespace sinter::ranks {

struct WorldState;
struct MeshState;

/// The ranks that run the program, and the number of this rank.
class World {
 public:
  explicit World(std::shared_ptr<WorldState> state) : state_(std::move(state)) {}
  int rank() const;  ///< the number of this rank, from 0
  int size() const;  ///< the number of ranks
  /// Ends the processes of all ranks with this message. It does not end the ranks of run(). Bindings call it when an exception leaves a rank's program.
  void abort(const std::string& message) const;
  const std::shared_ptr<WorldState>& state() const { return state_; }  ///< for use inside sinter

 private:
  std::shared_ptr<WorldState> state_;
};

/// Returns the world of the ranks that `mpirun` started; without `mpirun`, a world of one rank; inside run(), the ranks of that call. SINTER_RANKS chooses what
/// moves the bytes: mpi, off (one rank), or the file of another module. Throws RankError if MPI's module is missing or does not start.
World init();

/// Runs `program` on `ranks` threads, each of which is a rank. Returns when all have ended. The first exception of a rank is thrown again by run(), and ends
/// the other ranks when they next wait.
void run(int ranks, const std::function<void(World)>& program);

/// An axis of a mesh, with `size` ranks. A tensor axis that is sharded along it is divided into `pieces`, a multiple of `size`. Each rank computes its pieces
/// separately, so that results have the same bits on every number of ranks that divides the pieces. If `pieces` is 0, it is chosen: 8 if the mesh has one axis,
/// 4 if it has several, raised to the next multiple of `size`.
struct MeshAxis {
  std::string name;
  int size = 1;
  int pieces = 0;
};

/// The ranks of a world arranged along named axes; the number of a rank changes fastest along the last axis. Copies stand for the same mesh.
class Mesh {
 public:
  /// Throws ValueError if the product of the sizes is not the number of ranks, or if a name is missing or repeated.
  Mesh(const World& world, std::vector<MeshAxis> axes, Location where = Location::current());
  const std::vector<MeshAxis>& axes() const;                                ///< names and sizes
  World world() const;                                                      ///< the ranks that the mesh arranges
  const std::shared_ptr<const MeshState>& state() const { return state_; }  ///< for use inside sinter

 private:
  std::shared_ptr<const MeshState> state_;
};

/// Returns the tensor with axis k sharded along the mesh axis axes[k]; an empty name leaves the axis whole. If the tensor is whole, each rank takes its own
/// part, which costs nothing; if it is sharded in another way, elements are sent. Axis k of n elements is divided into pieces of ceil(n / pieces) elements; the
/// last pieces may be empty.
Tensor shard(const Arg& x, const Mesh& mesh, const std::vector<std::string>& axes);
/// Returns the tensor with all elements on every rank.
Tensor unshard(const Arg& x);
/// Returns the name of the mesh axis along which each axis is sharded; the name is empty for a whole axis.
std::vector<std::string> sharding(const Tensor& x, Location where = Location::current());
/// Returns this rank's elements as a tensor of its own. All ranks evaluate x together.
Tensor local(const Tensor& x, Location where = Location::current());
/// Returns dtype, shape and sharding as text: "float32 (4096@data, 1024)".
std::string describe(const Tensor& x, Location where = Location::current());

/// Loads an .npy file. If the file's elements can be mapped, each rank reads only its own part.
Tensor load_npy(const std::string& path, const Mesh& mesh, const std::vector<std::string>& axes, Location where = Location::current());
/// Writes one .npy file from all ranks; each rank writes its own part. The function returns when the file is complete.
void save_npy(const std::string& path, const Tensor& x, Location where = Location::current());

/// Loads the tensors of a safetensors file. axes[name] gives the mesh axes of a tensor, and each rank reads only its part of it; tensors that axes does not
/// name are whole on every rank.
NamedTensors load_safetensors(const std::string& path, const Mesh& mesh, const std::map<std::string, std::vector<std::string>>& axes,
                              Location where = Location::current());
/// Writes one safetensors file from all ranks; each rank writes its own parts. Returns when the file is complete.
void save_safetensors(const std::string& path, const NamedTensors& tensors, Location where = Location::current());

}  // namespace sinter::ranks
