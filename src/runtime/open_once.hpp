// Opens the functions of a driver's library once for the process.
#pragma once
#include <mutex>

namespace sinter::runtime {

/// Returns what `open` returns at its first call that does not throw. It is never freed, because buffers may outlive every static object.
template <class Driver, Driver (*open)()> const Driver& open_once() {
  static std::mutex mutex;
  static Driver* opened = nullptr;
  const std::scoped_lock lock(mutex);
  if (!opened) opened = new Driver(open());
  return *opened;
}

}  // namespace sinter::runtime
