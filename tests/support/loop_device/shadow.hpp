// Shadow memory: which thread last wrote and read each element, and when. Two accesses of one element, at least one a write, are a race unless a barrier of
// both threads lies between them.
#pragma once
#include <cstdint>

namespace sinter::test {

/// The state of a thread at an access: its position in the grid, and how many barriers of each kind it has passed.
struct Moment {
  std::int64_t thread = -1;  // in the grid
  std::int64_t warp = -1, block = -1, cluster = -1;
  std::uint32_t after_warp = 0, after_block = 0, after_cluster = 0;
};

class ShadowCell {
 public:
  bool written() const { return write_.thread >= 0; }
  /// Returns whether the access races with an earlier one.
  bool read(const Moment& now) {
    const bool race = written() && !ordered(write_, now);
    // Stores the latest reader since the last write. A number of this reader (thread, block, cluster) is kSeveral if an earlier reader had another number.
    Moment reader = now;
    if (read_.thread != -1 && read_.thread != now.thread) reader.thread = kSeveral;
    if (read_.warp != -1 && read_.warp != now.warp) reader.warp = kSeveral;
    if (read_.block != -1 && read_.block != now.block) reader.block = kSeveral;
    if (read_.cluster != -1 && read_.cluster != now.cluster) reader.cluster = kSeveral;
    read_ = reader;
    return race;
  }
  bool write(const Moment& now) {
    const bool race = (written() && !ordered(write_, now)) || (read_.thread != -1 && !ordered(read_, now));
    write_ = now;
    read_ = {};
    return race;
  }

 private:
  static constexpr std::int64_t kSeveral = -2;
  static bool ordered(const Moment& before, const Moment& now) {
    return before.thread == now.thread || (before.warp == now.warp && before.after_warp != now.after_warp) ||
           (before.block == now.block && before.after_block != now.after_block) || (before.cluster == now.cluster && before.after_cluster != now.after_cluster);
  }
  Moment write_, read_;
};

}  // namespace sinter::test
