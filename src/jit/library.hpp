// Shared libraries as files: finding one and telling which build it is, without loading it. A warm process needs the
// compiler's identity for its cache keys, and must not map the compiler to get it.
#pragma once
#include <string>
#include <vector>

namespace sinter::jit {

/// The file of a shared library, or "" when there is none. Nothing is loaded.
///   env_var: names a variable that, when set, holds the file itself, or "off"; if that file is missing nothing is found (warned).
///   patterns: file name globs, "libLLVM.so.*"; in the first directory that has a match the highest version wins.
///   extra_dirs: searched after LD_LIBRARY_PATH and before the system's own directories; globs are allowed.
///   minimum, maximum: major versions taken, the first number in the file name ("libLLVM-19.so.1" and "libLLVM.so.19.1"); 0: any.
std::string find_library(const char* env_var, const std::vector<std::string>& patterns, const std::vector<std::string>& extra_dirs = {}, int minimum = 0,
                         int maximum = 0);

/// A library file's identity without loading it: file name of the real path plus GNU build id (or size and mtime).
std::string library_identity(const std::string& path);

}  // namespace sinter::jit
