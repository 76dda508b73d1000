// Profiling: the time that evaluations spend in each step. sinter.hpp does not include this header.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The sum over all runs of a fused kernel or a library call at some sizes.
struct ProfiledStep {
  std::string name;  ///< "matmul float32 [8, 512] x [512, 64]", or the kernel's name and the sizes of its outputs
  bool library = false;
  std::uint64_t runs = 0;
  double seconds = 0;  ///< of all runs
  double fastest = 0;  ///< of the fastest run, in seconds: about the time of a run while nothing else runs
  double bytes = 0;    ///< of all runs: a kernel's bytes moved by explain(), a library call's operands and result; 0 where the plan was made at other sizes
};

/// Times each step of the evaluations and frozen calls of this thread, from construction to destruction. A Profile that is made inside another one takes over
/// until it ends. Each step waits for the device, so the whole is slower than without profiling.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Returns the steps, the longest total time first.
  std::vector<ProfiledStep> steps() const;
  /// Returns the time since construction.
  double seconds() const;

  struct Times;

 private:
  std::unique_ptr<Times> times_;
};

/// Writes a table of the first `most` steps with their shares of the time, then the time of further steps, and of all other work (recording, planning,
/// compiling, the program itself).
std::string to_string(const Profile& profile, int most = 25);

/// Records what all threads do, from construction until write() or destruction, and writes it as a file that Chrome (chrome://tracing) and ui.perfetto.dev
/// show: recording, keys, plans, compiles, copies, and each kernel and library call with the program's lines, bytes and rate. On a GPU each step is waited for,
/// so the whole is slower. "%p" in the path becomes the process's number. Only one Timeline may exist at a time: a second one throws ValueError.
/// SINTER_TRACE=FILE records a whole process.
class Timeline {
 public:
  explicit Timeline(std::string_view path);
  /// Writes the file, unless write() did; a file that cannot be written is a warning.
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Throws IoError when the file cannot be written.
  void write();

 private:
  bool written_ = false;
};

}  // namespace sinter
