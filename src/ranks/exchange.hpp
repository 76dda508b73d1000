// In an exchange each place sends elements of its part of a value to the places that need them; two library calls send and receive them. Every rank derives
// from global shapes which elements each place sends to which place, so ranks negotiate nothing.
//
// The calls' attributes: the exchange's number in its evaluation, the number of elements of the result, the bytes that the place sends to other ranks or
// receives from them, the number of places at the other end, the kind with the mesh axis and the call, packed by `label`, and a hash of the sizes of the
// place's parts. Those before the hash are for explain and for the choice of cores (engine/overlap.hpp). The hash is part of the structural key: a plan for
// other sizes may sum in another order, and ranks may have met different sizes before.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ranks/sharding.hpp"
#include "trace/site.hpp"

namespace sinter::ranks {

/// Returns the elements of an operand that a part of the result needs.
using Wanted = std::function<Block(const Part&)>;

struct Exchange {
  Shape shape;  // the global shape of the value that is sent
  std::size_t item = 0;
  Sharding from, to;
  Wanted wanted;  // its argument is a part of `to`
  trace::Site site;
  std::string kind;
  /// If several places have the same part, the first of them sends to all, because parts that were computed separately may differ in the last bit.
  bool from_first = false;

  /// Returns what a place sends: the receiving places and the elements.
  std::vector<std::pair<Place, Block>> sent(const Place& place) const;
  /// Returns what a place receives: the sending places and the elements.
  std::vector<std::pair<Place, Block>> received(const Place& place) const;
  /// Returns the place that sends a part to a receiver.
  Place sender(const Part& part, const Place& receiver) const;
  /// Returns a text such as "all_gather of (8@data, 37) for sum at train.cpp:12".
  std::string description() const;
};

/// Holds the messages between the places of one rank during an evaluation, and whether one of the places has failed. A message wakes only its receiver.
class Handover {
 public:
  explicit Handover(std::size_t places) : boxes_(places) {}
  using Key = std::pair<std::size_t, int>;  // the exchange, the number of the sending place
  void give(int receiver, Key key, std::vector<std::byte> bytes);
  std::vector<std::byte> take(int receiver, Key key);
  /// Ends the waits of the other places.
  void fail();

 private:
  struct Box {
    std::mutex mutex;
    std::condition_variable news;
    std::map<Key, std::vector<std::byte>> waiting;
    bool failed = false;
  };
  std::vector<Box> boxes_;
};

/// An exchange from the view of one place. It does not refer to a mesh, so a mesh can store it.
struct Moves {
  std::size_t item = 0;
  Block own, wanted;
  std::vector<std::pair<Place, Block>> sent, received;  // with the other place
  std::int64_t label = 0;
  std::string description;
};

/// The exchanges of one evaluation, for one place. The calls of the plan find them by number.
class Exchanges {
 public:
  Exchanges(MeshPtr mesh, Place place) : mesh_(std::move(mesh)), place_(std::move(place)) {}
  /// Uses the exchanges of an earlier evaluation.
  using Known = std::shared_ptr<const std::vector<Moves>>;
  Exchanges(MeshPtr mesh, Place place, Known all) : mesh_(std::move(mesh)), place_(std::move(place)), known_(std::move(all)) {}
  std::size_t add(const Exchange& exchange);
  bool empty() const { return all().empty(); }
  const Known& known();
  void meet(std::shared_ptr<Handover> others) { others_ = std::move(others); }
  /// Returns the attributes of a call of the exchange.
  enum class Call : std::uint8_t { start, finish };
  std::vector<std::int64_t> attributes(std::size_t number, Call call, std::int64_t elements, std::uint64_t sizes) const;
  /// Returns the attributes of a call that sends nothing.
  static std::vector<std::int64_t> no_exchange(std::uint64_t sizes);

  void send(std::span<const std::int64_t> ints, const std::byte* elements);
  void receive(std::span<const std::int64_t> ints, std::byte* elements);

  /// Returns the exchanges of the evaluation that runs on this thread.
  static Exchanges& running();
  static bool are_running();
  class Running {
   public:
    explicit Running(Exchanges* now);
    ~Running();
    Running(const Running&) = delete;

   private:
    Exchanges* const before_;
  };

 private:
  const std::vector<Moves>& all() const { return known_ ? *known_ : added_; }

  const MeshPtr mesh_;
  const Place place_;
  std::vector<Moves> added_;
  Known known_;
  std::shared_ptr<Handover> others_;
};

/// Visits the runs of elements of `which` that are contiguous in the memory of both blocks: their offsets and their length, in bytes.
void for_each_run(const Block& which, const Block& a, const Block& b, std::size_t item,
                  const std::function<void(std::size_t, std::size_t, std::size_t)>& visit);

/// Returns whether the elements of a call come from other ranks or go to them.
bool is_far(std::span<const std::int64_t> ints);
/// Describes a call by its attributes: "all_gather over data: 4.1 kB to each of 3 ranks".
std::string description(std::span<const std::int64_t> ints);

}  // namespace sinter::ranks
