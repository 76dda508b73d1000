// Reading what NVRTC and ptxas say.
#pragma once
#include <string>

#include "jit/source.hpp"

namespace sinter::jit::cuda {

/// Registers, spills, shared memory and stack from the log of a build with --ptxas-options=-v; -1 where it tells none.
ResourceReport parse_report(const std::string& log);

/// The numbered lines of the source around the first few errors that the log names ("name.cu(12): error: ...").
std::string source_around_errors(const std::string& text, const std::string& log);

}  // namespace sinter::jit::cuda
