// An object for each thread that outlives the thread's other thread-locals: a tensor may be evaluated in the destructor of a static
// object, when the main thread's thread-locals are gone.
#pragma once

namespace sinter {

/// The calling thread's T. Freed when the thread ends; one that is made after that (static destructors) is left to the system.
template <class T> T& per_thread() {
  thread_local T* value = nullptr;  // has no destructor, so that it can be asked at any time
  struct Reaper {
    ~Reaper() {
      delete value;
      value = nullptr;
    }
  };
  thread_local Reaper reaper;
  if (!value) {
    value = new T;
    static_cast<void>(reaper);
  }
  return *value;
}

}  // namespace sinter
