// Arrays over several processes. Every rank runs the same program and records the same operations on global shapes; a sharded tensor has only a part of its
// elements on each rank. sinter.hpp does not include this header. docs/ranks.md is the guide.
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

/// Thrown for an operation whose operands' shardings do not fit. The message names the op, the operands, and the call that solves it.
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

/// All ranks that run the program, and the number of this one.
class World {
 public:
  explicit World(std::shared_ptr<WorldState> state) : state_(std::move(state)) {}
  int rank() const;  ///< the number of this process, from 0
  int size() const;  ///< number of processes
  /// Ends the processes of all ranks with this message; has no effect on ranks of run(). Bindings call it when an exception leaves a rank's program.
  void abort(const std::string& message) const;
  const std::shared_ptr<WorldState>& state() const { return state_; }  ///< for use inside sinter

 private:
  std::shared_ptr<WorldState> state_;
};

/// Returns the ranks that `mpirun` started; a world of one rank without it; inside of run(), the ranks of that call. SINTER_RANKS: mpi, off, or the file of a
/// module that moves the bytes. Throws RankError if MPI's module is missing or does not start.
World init();

/// Runs `program` on this many threads, each of which is a rank. Returns when all have ended. The first exception of a rank is thrown again, and ends the other
/// ranks when they wait.
void run(int ranks, const std::function<void(World)>& program);

/// An axis of a mesh of `size` ranks. A tensor axis that is sharded along it is divided into `pieces`, a multiple of `size`. Each rank computes its pieces one
/// by one, so that results have the same bits on every number of ranks that divides the pieces. 0 stands for 8 pieces if the mesh has one axis and for 4 if it
/// has several, raised to the next multiple of `size`.
struct MeshAxis {
  std::string name;
  int size = 1;
  int pieces = 0;
};

/// The ranks of a world arranged along named axes, the last axis fastest. A copy is the same mesh.
class Mesh {
 public:
  /// Throws ValueError if the product of the sizes is not the number of ranks, or a name is missing or repeated.
  Mesh(const World& world, std::vector<MeshAxis> axes, Location where = Location::current());
  const std::vector<MeshAxis>& axes() const;                                ///< names and sizes
  World world() const;                                                      ///< the processes that it arranges
  const std::shared_ptr<const MeshState>& state() const { return state_; }  ///< for use inside sinter

 private:
  std::shared_ptr<const MeshState> state_;
};

/// Returns the tensor with axis k sharded along the mesh axis axes[k]; an empty name leaves the axis whole. If the tensor is whole, each rank takes its part
/// for free; if it is sharded in another way, elements are sent. Axis k of n elements is divided into pieces of ceil(n / pieces); the last ones may be empty.
Tensor shard(const Arg& x, const Mesh& mesh, const std::vector<std::string>& axes);
/// Returns the tensor with all elements on every rank.
Tensor unshard(const Arg& x);
/// Returns the mesh axis of each axis; empty names for axes that are whole.
std::vector<std::string> sharding(const Tensor& x, Location where = Location::current());
/// Returns this rank's elements as a tensor of its own. All ranks evaluate x together.
Tensor local(const Tensor& x, Location where = Location::current());
/// "float32 (4096@data, 1024)".
std::string describe(const Tensor& x, Location where = Location::current());

/// Loads an .npy file. If the file's elements can be mapped, each rank reads only its own part.
Tensor load_npy(const std::string& path, const Mesh& mesh, const std::vector<std::string>& axes, Location where = Location::current());
/// Writes one .npy file from all ranks, each its own part. Returns when the file is complete.
void save_npy(const std::string& path, const Tensor& x, Location where = Location::current());

/// Loads the tensors of a safetensors file. axes[name] gives the mesh axes of a tensor, of which each rank reads only its part; the others are whole on every
/// rank.
NamedTensors load_safetensors(const std::string& path, const Mesh& mesh, const std::map<std::string, std::vector<std::string>>& axes,
                              Location where = Location::current());
/// Writes one safetensors file from all ranks, each its own parts. Returns when the file is complete.
void save_safetensors(const std::string& path, const NamedTensors& tensors, Location where = Location::current());

}  // namespace sinter::ranks
