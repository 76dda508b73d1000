// Shadow memory records for each element of a piece of memory its last writer and some readers. It finds races: two threads use the same bytes, one of them
// writes, and nothing orders the two uses.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <new>

namespace cuda_emulator {

/// One use of memory: the thread, and the epoch in which it happened. An epoch begins with each block and each barrier. Epochs never repeat, so an epoch
/// identifies the block and the launch, too.
class Use {
 public:
  Use() = default;
  Use(std::uint64_t epoch, unsigned thread, unsigned warp_barriers, bool atomic)
      : bits_(epoch << 24 | std::uint64_t{thread & 0x3ff} << 14 | (warp_barriers & 0x1fff) << 1 | (atomic ? 1 : 0)) {}
  bool known() const { return bits_ != 0; }
  std::uint64_t epoch() const { return bits_ >> 24; }
  unsigned thread() const { return bits_ >> 14 & 0x3ff; }
  unsigned warp_barriers() const { return bits_ >> 1 & 0x1fff; }
  bool atomic() const { return bits_ & 1; }
  bool operator==(const Use& other) const { return bits_ == other.bits_; }

 private:
  std::uint64_t bits_ = 0;  // of zeroed memory: no use yet
};

/// Uses from this epoch on belong to the present launch, or to its present block. For blocks of a cluster, which take turns, `Order` decides.
struct Now {
  std::uint64_t launch = 0, block = 0;
  Use use;
  bool in_cluster = false;
};

class ShadowMemory {
 public:
  explicit ShadowMemory(std::size_t bytes) : bytes_(bytes) { cells_ = make(count()); }
  ~ShadowMemory() { std::free(cells_); }
  ShadowMemory(const ShadowMemory&) = delete;
  ShadowMemory& operator=(const ShadowMemory&) = delete;

  struct Conflict {
    Use with;  // unknown: no conflict
    bool wrote = false;
    std::size_t at = 0;  // byte
  };
  /// Records an access. `order.before(use)` says whether a fence and an atomic order a use by another block before this one; in a cluster it is asked about
  /// every use, and `order.same_block(use)` says whether the use was by the present block.
  template <class Order> Conflict note(std::size_t offset, std::size_t bytes, bool write, const Now& now, const Order& order) {
    while ((offset | bytes) % unit_ != 0) refine();
    for (std::size_t i = offset / unit_; i < (offset + bytes) / unit_; ++i) {
      Cell& cell = cells_[i];
      if (write ? cell.writer == now.use : cell.reader == now.use) continue;
      if (clash(cell.writer, now, order)) return {cell.writer, true, i * unit_};
      if (write) {
        for (const Use& reader : {cell.reader, cell.other_reader, cell.earlier_block})
          if (clash(reader, now, order)) return {reader, false, i * unit_};
        cell.writer = now.use;
      } else {
        // One reader of another block and two of this one are enough: any writer differs from one of them.
        if (now.in_cluster ? cell.reader.epoch() >= now.launch && !order.same_block(cell.reader) : cell.reader.epoch() < now.block)
          cell.earlier_block = cell.reader;
        else if (cell.reader.thread() != now.use.thread()) cell.other_reader = cell.reader;
        cell.reader = now.use;
      }
    }
    return {};
  }

  /// Returns the first byte of the range that no kernel wrote since epoch `since`; its end if all are written.
  std::size_t unwritten(std::size_t offset, std::size_t bytes, std::uint64_t since) const {
    for (std::size_t at = offset; at < offset + bytes; at += unit_)
      if (const Use& writer = cells_[at / unit_].writer; !writer.known() || writer.epoch() < since) return at;
    return offset + bytes;
  }

 private:
  struct Cell {
    Use writer, reader, other_reader, earlier_block;
  };

  template <class Order> static bool clash(const Use& earlier, const Now& now, const Order& order) {
    if (earlier.epoch() < now.launch || (earlier.atomic() && now.use.atomic())) return false;
    if (now.in_cluster || earlier.epoch() < now.block) return !order.before(earlier);
    if (earlier.epoch() != now.use.epoch() || earlier.thread() == now.use.thread()) return false;
    return earlier.thread() / 32 != now.use.thread() / 32 || earlier.warp_barriers() == now.use.warp_barriers();
  }

  std::size_t count() const { return (bytes_ + unit_ - 1) / unit_; }
  static Cell* make(std::size_t count) {
    // Memory that the system clears, and that takes space only where it is used.
    auto* cells = static_cast<Cell*>(std::calloc(count ? count : 1, sizeof(Cell)));
    if (!cells) throw std::bad_alloc();
    return cells;
  }
  /// Memory is recorded by words until a smaller access comes.
  void refine() {
    const std::size_t coarse = count();
    unit_ /= 2;
    Cell* const finer = make(count());
    for (std::size_t i = 0; i < coarse; ++i)
      for (std::size_t half = 2 * i; half < 2 * i + 2 && half < count(); ++half) finer[half] = cells_[i];
    std::free(cells_);
    cells_ = finer;
  }

  std::size_t bytes_, unit_ = 4;
  Cell* cells_;
};

}  // namespace cuda_emulator
