// Where the time of evaluations goes, step by step. Not part of sinter.hpp.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sinter {

/// A fused kernel or a library call with its sizes: all its runs together.
struct ProfiledStep {
  std::string name;  // "matmul float32 [8, 512] x [512, 64]", or the kernel's name and the sizes of what it writes
  bool library = false;
  std::uint64_t runs = 0;
  double seconds = 0;  // of all runs
  double fastest = 0;  // of one run, in seconds: what it takes where nothing else runs
  double bytes = 0;    // of all runs: what explain() says it moves, operands and result of a library call; 0 where the plan was made at other sizes
};

/// Times each step of the evaluations and the frozen functions' calls that this thread asks for, from its making to its end; one that is made
/// meanwhile takes over until it ends. A device is waited for after each step, so the whole is slower than without.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The most time first.
  std::vector<ProfiledStep> steps() const;
  /// From its making until now.
  double seconds() const;

  struct Times;

 private:
  std::unique_ptr<Times> times_;
};

/// A table of the first `most` steps, each with its share of the time, and what is left: of further steps, and of everything beside them
/// (recording, planning, compiling, the program's own work).
std::string to_string(const Profile& profile, int most = 25);

}  // namespace sinter
