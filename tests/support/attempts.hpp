// Makes calls with arbitrary arguments, each in a process that may end. A call must give results that can be computed, or throw one of sinter's exceptions.
// It fails if it ends the process, runs too long, or throws another exception.
#pragma once
#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sinter/sinter.hpp>
#include <string>
#include <typeinfo>
#include <vector>

namespace sinter::testing {

/// Returns a number from the environment.
inline std::size_t number(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Shared {
  std::size_t next, computed, refused, failures;
  char what[400];
};

inline void report(Shared& shared, const std::string& what) { std::snprintf(shared.what, sizeof shared.what, "%s", what.c_str()); }

/// Results with at most this many elements are computed. Larger ones are only recorded, and their shapes are checked.
inline constexpr std::int64_t kMaxElements = 200000;

inline std::string type_of(const std::exception& e) { return std::string(typeid(e).name()) + ": " + e.what(); }

/// Makes the call that the text describes and returns its results.
using Attempt = std::vector<Tensor> (*)(const std::string& call);

/// Returns the fault of a call, or an empty text if the call gives results or throws one of sinter's exceptions.
inline std::string fault_of(const std::string& call, Attempt attempt, Shared& shared) {
  try {
    std::vector<Tensor> small;
    for (const Tensor& result : attempt(call)) {
      if (std::any_of(result.shape().begin(), result.shape().end(), [](std::int64_t size) { return size < 0; }))
        return "a shape of " + to_string(result.shape());
      double elements = 1;
      for (const std::int64_t size : result.shape()) elements *= static_cast<double>(size);
      if (elements > 0x1p62) return "more than 2^62 elements: " + to_string(result.shape());
      if (elements <= static_cast<double>(kMaxElements)) small.push_back(result);
    }
    eval(small);
    ++shared.computed;
  } catch (const InternalError& e) {
    return std::string("InternalError: ") + e.what();
  } catch (const Error&) {
    ++shared.refused;
  } catch (const std::exception& e) {
    return type_of(e);
  } catch (...) {
    return "an object that is not a std::exception";
  }
  return {};
}

inline constexpr double kSeconds = 3;  // processor time for one call
inline void limit_time(double seconds) {
  const auto of = [](double s) {
    return itimerval{{0, 0}, {static_cast<time_t>(s), static_cast<suseconds_t>((s - static_cast<double>(static_cast<time_t>(s))) * 1e6)}};
  };
  const itimerval cpu = of(seconds), wall = of(15 * seconds);
  setitimer(ITIMER_PROF, &cpu, nullptr);
  setitimer(ITIMER_REAL, &wall, nullptr);
}

/// Returns the text that was written since the last call.
inline std::string said(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), 0);
  if (pread(file, text.data(), text.size(), 0) < 0 || ftruncate(file, 0) != 0) return "";
  lseek(file, 0, SEEK_SET);
  return text;
}

/// Runs attempts until one fails, all are done, or one ends the process.
[[noreturn]] inline void child(const std::vector<std::string>& calls, Attempt attempt, Shared& shared) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers reserve terabytes of addresses
  const rlimit memory{std::size_t{6} << 30, std::size_t{6} << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGTERM}) std::signal(number, SIG_DFL);  // instead of doctest's handlers
  const int errors = memfd_create("errors", 0);
  dup2(errors, 2);
  while (shared.next < calls.size()) {
    limit_time(kSeconds);
    std::string fault = fault_of(calls[shared.next], attempt, shared);
    if (const std::string text = said(errors); fault.empty() && text.find("failed inside") != std::string::npos) fault = text;
    if (!fault.empty()) {
      report(shared, fault);
      _exit(1);
    }
    ++shared.next;
  }
  _exit(0);
}

inline std::string end_of(int status) {
  if (!WIFSIGNALED(status)) return "the process ended with " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM) return "it ran too long";
  return strsignal(WTERMSIG(status));
}

struct Tried {
  std::size_t calls = 0, computed = 0, refused = 0, failures = 0;
};

/// Makes the calls, counts their outcomes and prints the failed ones.
inline void run(const std::vector<std::string>& calls, Attempt attempt, Tried& tried) {
  static auto* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Shared& shared = *static_cast<Shared*>(memory);
  shared = {};
  while (shared.next < calls.size()) {
    shared.what[0] = 0;
    std::fflush(nullptr);
    const pid_t id = fork();
    REQUIRE(id >= 0);
    if (id == 0) child(calls, attempt, shared);
    int status = 0;
    REQUIRE(waitpid(id, &status, 0) == id);
    if (shared.next == calls.size()) break;
    ++tried.failures;
    std::printf("%s\n    %s\n", calls[shared.next].c_str(), shared.what[0] != 0 ? shared.what : end_of(status).c_str());
    ++shared.next;
  }
  tried.calls += calls.size();
  tried.computed += shared.computed;
  tried.refused += shared.refused;
}

}  // namespace sinter::testing
