// The user's function and line, for messages and for the nodes.
#pragma once
#include <string>

#include "sinter/errors.hpp"
#include "sinter/tensor.hpp"
#include "trace/graph.hpp"

namespace sinter::trace {

/// The function the user called and the line that called it.
struct Site {
  const char* op = "";
  Location where;
  const char* part = "";  // the primitive at work, when `op` is a composition
};

/// Returns "main.cpp:12", or the file alone if there are no lines in it.
std::string to_string(const Location& where);
/// Returns "layer_norm (add): shapes ... at main.cpp:12".
std::string message(const Site& site, const std::string& what);
template <class E> [[noreturn]] void fail(const Site& site, const std::string& what) { throw E(message(site, what)); }

/// Throws a device's error again with the user's line; a MemoryError remains a MemoryError.
[[noreturn]] void fail_on_device(const Site& site, const DeviceError& error, const std::string& what);

/// While a Scope exists, everything that this thread records has its function and line, so that nodes of a composition name the composed function. If several
/// live, the outermost one counts. A Scope with an empty name sets only the line.
class Scope {
 public:
  Scope(const char* op, Location where);
  ~Scope();
  Scope(const Scope&) = delete;
  const Site& site() const;

 private:
  Site site_;
  const Site* const before_;
};

/// Returns the site of a function called with these arguments, or the scope's site if there is a scope.
Site site_of(const char* op, Location where);

}  // namespace sinter::trace
