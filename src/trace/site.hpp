// Who records, for messages and for the nodes' own memory of where they come from.
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

/// "layer_norm (add): shapes ... at main.cpp:12"
std::string message(const Site& site, const std::string& what);
template <class E> [[noreturn]] void fail(const Site& site, const std::string& what) { throw E(message(site, what)); }

/// A device's error with the user's line; one of memory stays one.
[[noreturn]] void fail_on_device(const Site& site, const DeviceError& error, const std::string& what);

/// While one lives, what is recorded on this thread is recorded on behalf of its function and line: a composition is written
/// with the public functions and still names itself. The outermost one counts.
class Scope {
 public:
  Scope(const char* op, Location where);
  ~Scope();
  Scope(const Scope&) = delete;
  const Site& site() const;

 private:
  Site site_;
  bool outermost_;
};

/// The site of a function called with these arguments: the scope's when there is one.
Site site_of(const char* op, Location where);

}  // namespace sinter::trace
