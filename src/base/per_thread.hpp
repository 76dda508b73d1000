// An object for each thread that outlives the thread's other thread-local variables, because the destructor of a static object may evaluate a tensor after
// these were destroyed.
#pragma once

namespace sinter {

/// Returns the calling thread's T. It is freed when the thread ends; one that is made later (by static destructors) is never freed.
template <class T> T& per_thread() {
  thread_local T* value = nullptr;  // has no destructor, so that it can be read at any time
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
