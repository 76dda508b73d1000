// While a formula is recorded for several sizes, it has to record the same for each of them.
#pragma once

namespace sinter::trace {

/// While one lives, what this thread records does not follow from what the sizes at hand happen to allow: indices with a start or an end, of tensors whose
/// contents are known, are slices even where they take all (a formula that reads the first `n` rows of a table of 512 is the same with n = 512), and small
/// assignments are recorded rather than written.
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
