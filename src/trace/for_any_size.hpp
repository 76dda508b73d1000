// A scope in which a formula that is recorded for several sizes records the same operations for each of them.
#pragma once

namespace sinter::trace {

/// While a ForAnySize exists, recording on this thread does not depend on special properties of the present sizes. Indices with a start or an end, on tensors
/// whose contents are known, are recorded as slices even if they select the whole axis: a formula that reads the first `n` rows of a table of 512 is the same
/// with n = 512. Small assignments are recorded and not written in place.
class ForAnySize {
 public:
  ForAnySize() { ++depth(); }
  ~ForAnySize() { --depth(); }
  ForAnySize(const ForAnySize&) = delete;
  ForAnySize& operator=(const ForAnySize&) = delete;
  static bool recording() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local constinit int count = 0;
    return count;
  }
};

}  // namespace sinter::trace
