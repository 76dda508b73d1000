// A library that uses thread-local variables of libstdc++.
#include <mutex>

extern "C" int use_call_once() {
  static std::once_flag once;
  int calls = 0;
  std::call_once(once, [&] { ++calls; });
  return calls;
}
