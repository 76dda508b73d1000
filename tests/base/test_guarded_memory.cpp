// Guarded memory finds every access outside a buffer. An access to the unmapped page ends the process; a nearer one changes a pattern, which is checked when
// the buffer is freed.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "base/guarded_memory.hpp"
#include "host_data_stub.hpp"

using namespace sinter;

namespace {

/// Runs `work` on a buffer in a child process, which then frees it. Returns 0, or the signal that ended the child.
template <class Work> int end_of(std::size_t bytes, Guard guard, Work work) {
  const pid_t child = fork();
  if (child == 0) {
    close(2);                                                                // hides the report of the child
    for (const int fault : {SIGSEGV, SIGABRT}) std::signal(fault, SIG_DFL);  // handlers of doctest and of sanitizers would end the child in another way
    auto* const buffer = static_cast<volatile unsigned char*>(allocate_guarded(bytes, guard));
    work(buffer);
    free_guarded(const_cast<unsigned char*>(buffer), bytes, guard);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

constexpr std::size_t kSizes[] = {0, 1, 7, 63, 64, 65, 300, 4032, 4095, 4096, 4097, 100000};

}  // namespace

TEST_CASE("all bytes of a buffer may be written, and it is aligned") {
  for (const Guard guard : {Guard::start, Guard::end})
    for (const std::size_t bytes : kSizes) {
      void* const buffer = allocate_guarded(bytes, guard);
      REQUIRE(buffer != nullptr);
      CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 64 == 0);
      std::memset(buffer, 0, bytes);
      free_guarded(buffer, bytes, guard);
    }
}

TEST_CASE("a write outside a buffer ends the process, at any offset in a page") {
  for (const Guard guard : {Guard::start, Guard::end})
    for (const std::size_t bytes : kSizes)
      for (const std::ptrdiff_t distance : {1, 2, 17, 64, 4096}) {
        INFO(static_cast<int>(guard), " ", bytes, " ", distance);
        const int behind = end_of(bytes, guard, [&](volatile unsigned char* buffer) { buffer[static_cast<std::ptrdiff_t>(bytes) + distance - 1] = 1; });
        CHECK((behind == SIGABRT || behind == SIGSEGV));
        const int before = end_of(bytes, guard, [&](volatile unsigned char* buffer) { buffer[-distance] = 1; });
        CHECK((before == SIGABRT || before == SIGSEGV));
        // On the side with the unmapped page even reads are found, from the next multiple of the alignment on.
        const std::ptrdiff_t outside = guard == Guard::end ? (static_cast<std::ptrdiff_t>(bytes) + 63) / 64 * 64 : -1;
        CHECK(end_of(bytes, guard, [&](volatile unsigned char* buffer) { static_cast<void>(buffer[outside]); }) == SIGSEGV);
      }
}

TEST_CASE("large memory asks for huge pages") {
  if (guarding() != Guard::none || !std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) return;
  const AlignedMemory memory = aligned_memory(std::size_t{8} << 20);
  const std::uintptr_t middle = reinterpret_cast<std::uintptr_t>(memory.get()) + (std::size_t{4} << 20);
  std::ifstream regions("/proc/self/smaps");
  std::string line, flags;
  bool inside = false;
  while (std::getline(regions, line)) {
    std::istringstream words(line);
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') inside = begin <= middle && middle < end;
    else if (inside && line.starts_with("VmFlags:")) flags = line + " ";
  }
  INFO(flags);
  CHECK(flags.find(" hg ") != std::string::npos);
}
