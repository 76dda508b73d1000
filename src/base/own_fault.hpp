// Internal faults that a program survives: a plan that fails is made again without fusion, a kernel that its compiler refuses is interpreted. The results are
// right, so a test has no other way to notice.
#pragma once
#include <string>

namespace sinter {

/// Logs a warning. With SINTER_FAULTS=fatal, as in all tests, the process ends by SIGABRT instead: a test could mistake an exception for an expected one, and
/// could miss the warning.
void own_fault(const std::string& what);

}  // namespace sinter
