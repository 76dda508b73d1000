// The user's names for the parts of a plan: source lines, names of tensors, names of sizes. They come from the present recording.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/explain.hpp"
#include "sinter/engine.hpp"

namespace sinter::engine {

/// Consecutive lines of one file. `last` 0: `file` is a part of an expression or a node of a model, without lines.
struct Lines {
  std::string file;
  std::uint32_t first = 0, last = 0;
};

/// The values of a symbol for which a plan is valid if the other symbols do not change: from `low` to `high` in steps; `high` 0 means no limit.
struct SizeRange {
  std::int64_t low = 0, high = 0, step = 1;
};

class Origins {
 public:
  /// `shown`: the values of the symbols at which the plan is described (described_at); null: those for which it was made. `names` names some of these sizes.
  Origins(const Planned& plan, const std::vector<trace::NodeSite>& sites, const std::vector<std::int64_t>* shown = nullptr,
          const std::vector<std::pair<std::string, std::int64_t>>& names = {});

  /// Returns the lines of recorded nodes, file by file in order of appearance.
  std::vector<Lines> lines(std::span<const int> nodes) const;
  /// Returns "logreg.cpp:31-33, 36"; empty if no line is known.
  std::string lines_text(std::span<const int> nodes) const;
  /// Returns "x" or, for a leaf without a name, the line that recorded it: "load at train.py:3"; empty if neither is known.
  std::string value(int number) const;
  /// Returns the given name of a node, or an empty text.
  std::string label(int node) const;
  /// Returns a text such as "float32 (B, 1024)".
  std::string type(DType dtype, const Shape& shape) const;
  /// Returns "B" for a size with a name, else the plan's own name: "n0".
  std::vector<std::string> symbols() const;
  SizeRange range(std::size_t symbol) const;
  /// Describes the sizes for which the plan was made, the sizes for which it is valid, and those at which it is described if they are others.
  std::string sizes_text() const;

 private:
  bool known() const { return sites_.size() == plan_.recorded.size(); }
  std::string where(std::size_t symbol) const;
  std::string shown_text() const;

  const Planned& plan_;
  const std::vector<trace::NodeSite>& sites_;
  const std::vector<std::int64_t>& shown_;
  std::map<std::int64_t, std::string> names_;  // names of sizes
};

}  // namespace sinter::engine
