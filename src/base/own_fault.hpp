// Internal faults that a program survives: a plan that fails is made again without fusion, and a kernel that its compiler refuses is interpreted. The results
// are correct, so a test could not notice such faults otherwise.
#pragma once
#include <string>

namespace sinter {

/// Logs a warning. With SINTER_FAULTS=fatal, as in all tests, the process ends by SIGABRT instead, because a test could mistake an exception for an expected
/// one and could miss the warning.
void own_fault(const std::string& what);

}  // namespace sinter
