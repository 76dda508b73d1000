// A profiler for NVTX, like Nsight Systems: it attaches to a program by the protocol of NVTX 3 and stores the program's ranges.
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Function = void (*)();
struct Callbacks {
  std::size_t bytes;
  int (*table_of)(int module, Function*** table, unsigned* size);
};

std::mutex mutex;
std::vector<std::string> ranges;                // "depth name", in order of their begin
std::map<std::thread::id, int> depths;          // open ranges of each thread
std::map<std::thread::id, int> unmatched_ends;  // ends without a begin

int push(const char* name) {
  const std::lock_guard lock(mutex);
  int& depth = depths[std::this_thread::get_id()];
  ranges.push_back(std::to_string(depth) + " " + name);
  return depth++;
}

int pop() {
  const std::lock_guard lock(mutex);
  int& depth = depths[std::this_thread::get_id()];
  if (depth == 0) ++unmatched_ends[std::this_thread::get_id()];
  return --depth;
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(const void* (*export_table)(std::uint32_t)) {
  const auto* callbacks = static_cast<const Callbacks*>(export_table(1));
  if (!callbacks || callbacks->bytes < sizeof(Callbacks) || !export_table(3) || export_table(99)) return 0;
  Function** table = nullptr;
  unsigned size = 0;
  for (const int module : {2, 3, 4, 5, 6})
    if (callbacks->table_of(module, &table, &size) != 1 || size < 7) return 0;
  if (callbacks->table_of(7, &table, &size) != 0 || callbacks->table_of(1, &table, &size) != 1 || size != 16) return 0;
  *table[9] = reinterpret_cast<Function>(push);
  *table[11] = reinterpret_cast<Function>(pop);
  return 1;
}

/// Returns the ranges so far, the number of open ranges, and the number of ends without a begin.
extern "C" const std::vector<std::string>* nvtx_tool_ranges(int* unbalanced) {
  const std::lock_guard lock(mutex);
  *unbalanced = static_cast<int>(unmatched_ends.size());
  for (const auto& [thread, depth] : depths) *unbalanced += depth != 0;
  return &ranges;
}
