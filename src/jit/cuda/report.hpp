// Parsing of the logs of NVRTC and ptxas.
#pragma once
#include <string>

#include "jit/source.hpp"

namespace sinter::jit::cuda {

/// Reads registers, spills, shared memory and stack from the log of a build with --ptxas-options=-v. A figure that the log lacks is -1.
ResourceReport parse_report(const std::string& log);

/// Returns the numbered lines of the source around the first few errors that the log names ("name.cu(12): error: ...").
std::string source_around_errors(const std::string& text, const std::string& log);

}  // namespace sinter::jit::cuda
