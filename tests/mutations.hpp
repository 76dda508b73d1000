// Many changed inputs, each tried in a process that may fall over without taking the test with it.
#pragma once
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sinter/errors.hpp>

namespace sinter::testing {

/// How many: SINTER_TEST_MUTATIONS, else as the test says.
inline long mutations_or(long usual) {
  const char* asked = std::getenv("SINTER_TEST_MUTATIONS");
  return asked ? std::atol(asked) : usual;
}

struct Outcomes {
  long done = 0, refused = 0, ran = 0;
};

/// Calls attempt(seed) for `count` seeds from `first` on: it may throw an Error, or return. A signal, another exception, and a minute without an end fail
/// the test, which names the seed.
template <class Attempt> Outcomes try_mutations(long count, std::uint64_t first, Attempt attempt) {
  struct Shared {
    Outcomes outcomes;
    std::uint64_t current;  // the mutation under way
    char what[256];         // of an exception that is none of ours
  };
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared{};
  int failures = 0;
  while (shared.outcomes.done < count && failures < 20) {
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {  // a process for many mutations
      for (const int number : {SIGSEGV, SIGFPE, SIGABRT, SIGILL, SIGBUS}) std::signal(number, SIG_DFL);  // the test's own report is for the test
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      const rlimit most{std::uint64_t{8} << 30, std::uint64_t{8} << 30};
      setrlimit(RLIMIT_AS, &most);
#endif
      for (int k = 0; k < 500 && shared.outcomes.done < count; ++k) {
        shared.current = first + static_cast<std::uint64_t>(shared.outcomes.done++);
        alarm(60);
        try {
          attempt(shared.current);
          ++shared.outcomes.ran;
        } catch (const Error&) {
          ++shared.outcomes.refused;
        } catch (const std::exception& error) {
          std::snprintf(shared.what, sizeof shared.what, "%s", error.what());
          _exit(9);
        }
      }
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(process, &status, 0) == process);
    INFO("mutation ", shared.current, ", signal ", WIFSIGNALED(status) ? WTERMSIG(status) : 0, ", exit ", WIFEXITED(status) ? WEXITSTATUS(status) : 0, " ", shared.what);
    CHECK(status == 0);
    failures += status != 0;
  }
  const Outcomes outcomes = shared.outcomes;
  munmap(memory, sizeof(Shared));
  MESSAGE(outcomes.done, " inputs: ", outcomes.refused, " refused, ", outcomes.ran, " taken");
  return outcomes;
}

}  // namespace sinter::testing
