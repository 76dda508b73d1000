// Tries many changed inputs, each in a process that may crash without ending the test.
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
#include <string>

#include "cases.hpp"

namespace sinter::testing {

/// Returns the number of mutations: SINTER_TEST_MUTATIONS, else the test's default.
inline long mutations_or(long usual) {
  const char* asked = std::getenv("SINTER_TEST_MUTATIONS");
  return asked ? std::atol(asked) : usual;
}

struct Outcomes {
  long done = 0, refused = 0, ran = 0;
};

/// The time and memory that one mutation may take, and the number of faults after which the rest is not tried.
struct Bounds {
  unsigned seconds = 60;
  std::uint64_t bytes = std::uint64_t{8} << 30;
  int faults = 20;
};

/// The part of the memory that a process of mutations shares with the test.
struct MutationReport {
  Outcomes outcomes;
  std::uint64_t current;  // the present mutation
  char subject[128];      // its source
  char what[256];         // message of an exception that is not sinter's
};
inline MutationReport* report_of_mutations = nullptr;
/// An attempt passes its source to this function, for the report of a fault.
inline void say_mutation(const std::string& subject) {
  if (report_of_mutations) std::snprintf(report_of_mutations->subject, sizeof report_of_mutations->subject, "%s", subject.c_str());
}

/// Calls attempt(seed) for `count` seeds from `first` on. An attempt may return or throw an Error. A signal, another exception, an InternalError or a timeout
/// fails the test, which prints the seed.
template <class Attempt> Outcomes try_mutations(long count, std::uint64_t first, Attempt attempt, const Bounds& bounds = {}) {
  using Shared = MutationReport;
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared{};
  report_of_mutations = &shared;
  int failures = 0;
  const auto enough = [&] { return shared.outcomes.done >= count || (shared.outcomes.done >= 100 && time_is_over()); };
  while (!enough() && failures < bounds.faults) {
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {                                                                                  // one process for many mutations
      for (const int number : {SIGSEGV, SIGFPE, SIGABRT, SIGILL, SIGBUS}) std::signal(number, SIG_DFL);  // the child must not print the test's report
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      const rlimit limit{bounds.bytes, bounds.bytes};
      setrlimit(RLIMIT_AS, &limit);
#endif
      for (int k = 0; k < 500 && !enough(); ++k) {
        shared.current = first + static_cast<std::uint64_t>(shared.outcomes.done++);
        shared.what[0] = 0;
        alarm(bounds.seconds);
        try {
          attempt(shared.current);
          ++shared.outcomes.ran;
        } catch (const InternalError& error) {
          std::snprintf(shared.what, sizeof shared.what, "%s", error.what());
          _exit(8);
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
    INFO("mutation ", shared.current, " ", std::string(shared.subject), ", signal ", WIFSIGNALED(status) ? WTERMSIG(status) : 0, ", exit ",
         WIFEXITED(status) ? WEXITSTATUS(status) : 0, " ", std::string(shared.what));
    CHECK(status == 0);
    failures += status != 0;
  }
  const Outcomes outcomes = shared.outcomes;
  munmap(memory, sizeof(Shared));
  MESSAGE(outcomes.done, " inputs: ", outcomes.refused, " refused, ", outcomes.ran, " taken");
  return outcomes;
}

}  // namespace sinter::testing
