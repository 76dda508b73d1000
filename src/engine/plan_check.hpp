// Checks a plan that came from a file, before anything relies on it.
#pragma once
#include <cstddef>
#include <string_view>

#include "engine/archive.hpp"

namespace sinter::engine {

/// The numbers of things that a plan's numbers may name.
struct PlanTerms {
  std::size_t leaves, literals, gathers, calls, symbols, outputs;
};

/// Throws Damaged if a number of the plan names nothing, if a step reads a value that is not there, or if a nest is invalid.
void check(const Planned& plan, const PlanTerms& terms);

inline void require(bool good, std::string_view what) {
  if (!good) throw Damaged{what};
}

}  // namespace sinter::engine
