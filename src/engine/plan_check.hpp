// Checks a plan that came from a file, before anything relies on it.
#pragma once
#include <cstddef>
#include <string_view>

#include "engine/archive.hpp"

namespace sinter::engine {

/// The numbers of objects to which a plan's numbers may refer.
struct PlanTerms {
  std::size_t leaves, literals, gathers, calls, symbols, outputs;
};

/// Throws Damaged if a number of the plan refers to no object, if a step reads a value that is not in memory, or if a nest is invalid.
void check(const Planned& plan, const PlanTerms& terms);

inline void require(bool good, std::string_view what) {
  if (!good) throw Damaged{what};
}

}  // namespace sinter::engine
