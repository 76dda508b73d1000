// Finds two threads of a block that use the same byte of shared memory, one of them writing, with no barrier between.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cuda_emulator {

class Races {
 public:
  /// Who makes an access, and how many barriers of the block and of its warp it has passed.
  struct Actor {
    unsigned thread;
    std::uint64_t barriers;
    unsigned warp_barriers;
  };

  void reset(std::size_t bytes) { bytes_.assign(bytes, {}); }

  /// Empty, or what is wrong: " reads shared byte 64, written by thread 32 with no barrier between".
  std::string access(std::size_t offset, std::size_t bytes, bool write, const Actor& actor) {
    // An array's elements are of one size: of a word it is enough to keep its first byte's book.
    const std::size_t step = (offset | bytes) % 4 == 0 ? 4 : 1;
    for (std::size_t i = offset; i < offset + bytes && i < bytes_.size(); i += step) {
      Byte& byte = bytes_[i];
      if (concurrent(byte.writer, actor)) return describe(i, write, byte.writer.thread, "written");
      if (write && concurrent(byte.reader, actor)) return describe(i, write, byte.reader.thread, "read");
      if (write && concurrent(byte.other_reader, actor)) return describe(i, write, byte.other_reader.thread, "read");
      if (write) {
        byte.writer = {actor, true};
      } else {
        // Two readers are enough to know of: any writer differs from one of them.
        if (byte.reader.known && byte.reader.thread != actor.thread) byte.other_reader = byte.reader;
        byte.reader = {actor, true};
      }
    }
    return {};
  }

 private:
  struct Access : Actor {
    Access() : Actor{} {}
    Access(const Actor& actor, bool is_known) : Actor(actor), known(is_known) {}
    bool known = false;
  };
  struct Byte {
    Access writer, reader, other_reader;
  };

  static bool concurrent(const Access& earlier, const Actor& now) {
    if (!earlier.known || earlier.thread == now.thread || earlier.barriers != now.barriers) return false;
    return earlier.thread / 32 != now.thread / 32 || earlier.warp_barriers == now.warp_barriers;
  }
  static std::string describe(std::size_t offset, bool write, unsigned other, const char* did) {
    return std::string(write ? " writes" : " reads") + " shared byte " + std::to_string(offset) + ", " + did + " by thread " +
           std::to_string(other) + " with no barrier between";
  }

  std::vector<Byte> bytes_;
};

}  // namespace cuda_emulator
