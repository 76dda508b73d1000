// Checks a plan that came from a file, before anything relies on it.
#pragma once
#include <cstddef>
#include <string_view>

#include "engine/archive.hpp"

namespace sinter::engine {

/// How many there are of what a plan's numbers name.
struct PlanTerms {
  std::size_t leaves, literals, gathers, calls, symbols, outputs;
};

/// Throws Damaged where one of the plan's numbers names nothing, a step reads what is not there, or a nest is broken.
void check(const Planned& plan, const PlanTerms& terms);

inline void require(bool good, std::string_view what) {
  if (!good) throw Damaged{what};
}

}  // namespace sinter::engine
