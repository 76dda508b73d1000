// What the user calls the parts of a plan: source lines, tensors' names, sizes' names. All of it comes from the present recording.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/explain.hpp"
#include "sinter/engine.hpp"

namespace sinter::engine {

/// Consecutive lines of one file. `last` 0: `file` is no file with lines, but a part of an expression or a node of a model.
struct Lines {
  std::string file;
  std::uint32_t first = 0, last = 0;
};

/// Values of one symbol that a plan serves while the other symbols keep theirs: from `low` to `high` in steps; no end where `high` is 0.
struct SizeRange {
  std::int64_t low = 0, high = 0, step = 1;
};

class Origins {
 public:
  Origins(const Planned& plan, const std::vector<trace::NodeSite>& sites, const std::vector<std::pair<std::string, std::int64_t>>& sizes = {});

  /// The lines of recorded nodes, file by file in order of appearance.
  std::vector<Lines> lines(std::span<const int> nodes) const;
  /// "logreg.cpp:31-33, 36"; empty where nothing is known.
  std::string lines_text(std::span<const int> nodes) const;
  /// "x", or for a leaf without a name the place where it was recorded: "load at train.py:3"; empty where neither is known.
  std::string value(int number) const;
  /// The name that a node was given; empty for none.
  std::string label(int node) const;
  /// "float32 (B, 1024)"
  std::string type(DType dtype, const Shape& shape) const;
  /// "B" where the size has a name, else the plan's own: "n0".
  std::vector<std::string> symbols() const;
  SizeRange range(std::size_t symbol) const;
  /// Which sizes the plan was made for and serves, in words.
  std::string sizes_text() const;

 private:
  bool known() const { return sites_.size() == plan_.recorded.size(); }
  std::string where(std::size_t symbol) const;

  const Planned& plan_;
  const std::vector<trace::NodeSite>& sites_;
  std::map<std::int64_t, std::string> names_;  // of sizes
};

}  // namespace sinter::engine
