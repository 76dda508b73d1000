// Finds shared libraries as files and identifies their builds without loading them. A warm process needs the compiler's identity for its cache keys, and must
// not load the compiler for it.
#pragma once
#include <string>
#include <vector>

namespace sinter::jit {

/// Returns the file of a shared library, or "" when there is none. Loads nothing.
///   env_var: the name of an environment variable; if it is set, its value is the file or "off". If that file is missing, nothing is found (with a warning).
///   patterns: file name globs, "libLLVM.so.*". In the first directory that has a match, the highest version wins.
///   extra_dirs: searched after LD_LIBRARY_PATH and before the system's own directories. Globs are allowed.
///   minimum, maximum: accepted major versions, the first number in the file name ("libLLVM-19.so.1" and "libLLVM.so.19.1"). 0: any.
std::string find_library(const char* env_var, const std::vector<std::string>& patterns, const std::vector<std::string>& extra_dirs = {}, int minimum = 0,
                         int maximum = 0);

/// Returns a library file's identity without loading it: the file name of the real path, and the GNU build id (or size and mtime).
std::string library_identity(const std::string& path);

}  // namespace sinter::jit
