// Ends the use of a compiler's library at the end of the process. The library's static objects are destroyed first. Objects that existed when the library was
// opened are destroyed later, and their destructors may still evaluate. Then the library must not be used, and kernels are interpreted.
#pragma once
#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "sinter/errors.hpp"

namespace sinter::jit {

/// One lock for each library; `Library` is the library's tag.
template <class Library> class UntilExit {
 public:
  /// Must be called right after the library was opened. Another compiler of the process may open the same library again.
  static void opened() {
    [[maybe_unused]] static const int once = std::atexit([] { in_use().lock(); });  // runs before the destructors of objects that existed before
  }
  /// Returns a lock to hold during calls of the library. Throws CompileError when the process ends.
  static std::shared_lock<std::shared_mutex> inside(std::string_view library, const std::string& entry) {
    std::shared_lock lock(in_use(), std::try_to_lock);
    if (!lock) throw CompileError(fmt::format("kernel {}: {} can no longer be used, because the process is ending", entry, library));
    return lock;
  }

 private:
  static std::shared_mutex& in_use() {
    static auto& mutex = *new std::shared_mutex;
    return mutex;
  }
};

}  // namespace sinter::jit
