// One hash for the computation of a recording: its operations, numbers, literals and contents. Nodes that were merged because two numbers happen to be equal
// have the hash that they would have separately. So a recording can be compared with the prediction of a plan's rules.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/hash.hpp"
#include "freeze/engine.hpp"
#include "trace/graph.hpp"

namespace sinter::freezing {

/// Hashes of contents. Each storage is read once.
class ContentHashes {
 public:
  /// Returns the hash of each leaf: of an input's number, or of the contents.
  std::vector<Hash128> of(const Leaves& leaves);

 private:
  const Hash128& of(const StoragePtr& storage);
  // A recording may create contents. These are not kept alive, and no new storage is mistaken for one that was freed.
  std::map<StoragePtr::weak_type, Hash128, std::owner_less<StoragePtr::weak_type>> known_;
};

/// Returns the hash of a graph with these literals, from the hashes of its leaves.
Hash128 hash_of(const trace::Graph& graph, const std::vector<std::uint64_t>& literals, const std::vector<Hash128>& leaves);

/// A graph whose numbers are computed again for other sizes.
class PredictedGraph {
 public:
  PredictedGraph(trace::Graph graph, std::vector<Hash128> leaves);
  /// Returns the hash of the graph with these symbols and literals.
  Hash128 at(const Values& values) const;

 private:
  trace::Graph graph_;
  std::vector<Hash128> leaves_;
  trace::SizeProgram numbers_;
};

}  // namespace sinter::freezing
