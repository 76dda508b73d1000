// Profiling: the time that evaluations spend in each step. sinter.hpp does not include this header.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// All runs of a fused kernel or a library call at the same sizes.
struct ProfiledStep {
  std::string name;    ///< "matmul float32 [8, 512] x [512, 64]", or the kernel's name and the sizes of its outputs
  std::string kernel;  ///< the name without sizes: equal kernels at several sizes share it
  std::string kind;    ///< "kernel", "interpret", "library", "exchange" (between ranks)
  std::string from;    ///< the lines of the program, or the nodes of the model, that it computes; empty if not known
  bool library = false;
  std::uint64_t runs = 0;
  double seconds = 0;                          ///< the time of all runs
  double fastest = 0;                          ///< the time of the fastest run, in seconds: about that of a run on an idle machine
  double bytes = 0;                            ///< moved by all runs: as explain() counts for a kernel; operands and result of a library call
  double operations = 0;                       ///< in all runs: an addition counts 1, a function its cost in additions; 0 if not known
  double of_bandwidth = 0, of_arithmetic = 0;  ///< rate of the fastest run divided by the measured limit: 0.5 is half; 0 if not known
};

/// A value that a handle holds and that was computed several times, because the evaluation that computed it first did not store it.
struct ComputedAgain {
  std::string value;        ///< "exp float32 (1000, 1000), recorded at program.cpp:12"
  std::uint64_t times = 0;  ///< how often it was computed
};

/// Times each step of the evaluations and frozen calls of this thread, from construction to destruction. If a second Profile is made meanwhile, it takes over
/// until its destruction. Each step waits for the device, so the whole is slower than without profiling.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Begins to count anew. The time until now, in which plans were made and kernels compiled, is reported separately.
  void restart();

  /// Returns the steps, the longest total time first. The first call measures the limits of the devices that ran, by copies of large arrays and products of
  /// matrices.
  std::vector<ProfiledStep> steps() const;
  /// Returns the time since construction, or since restart().
  double seconds() const;
  /// Returns how many seconds of that time each kind of work took. The kinds have the names of a timeline's spans: "plan", "compile", "kernel". The remaining
  /// time is the program's own.
  std::map<std::string, double> kinds() const;
  /// Returns the values that were computed several times, and would have been computed once if eval() had been called before their first use.
  std::vector<ComputedAgain> computed_again() const;

  struct Times;

 private:
  friend std::string to_json(const Profile& profile);
  friend std::string to_string(const Profile& profile, int most);
  std::unique_ptr<Times> times_;
};

/// Writes a table of the first `most` kernels with their shares of the time, then the time of the remaining steps, and that of all other work (recording,
/// planning, compiling, the program itself).
std::string to_string(const Profile& profile, int most = 25);
/// Writes the whole profile as JSON (docs/measuring.md).
std::string to_json(const Profile& profile);

/// Records what all threads do, from construction until write() or destruction, and writes it as a file that Chrome (chrome://tracing) and ui.perfetto.dev
/// show: recording, keys, plans, compiles, copies, and each kernel and library call with the program's lines, bytes and rate. On a GPU it waits for each step,
/// so the program is slower. "%p" in the path becomes the process's number. Only one Timeline may exist at a time: a second one throws ValueError.
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
