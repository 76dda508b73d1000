// Faults of sinter's own that a program survives: a plan that fails inside is made again without fusion, a kernel that its compiler refuses is
// interpreted. The results are right, so a test has no other way to notice.
#pragma once
#include <string>

namespace sinter {

/// Warns. Where the environment says SINTER_FAULTS=fatal, as all tests do, the process ends by SIGABRT: an exception could be taken for an
/// expected one, and the warning may go where no test reads it.
void own_fault(const std::string& what);

}  // namespace sinter
