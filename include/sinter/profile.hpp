// Profiling: the time that evaluations spend in each step. sinter.hpp does not include this header.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// The sum over all runs of a fused kernel or a library call at some sizes.
struct ProfiledStep {
  std::string name;    ///< "matmul float32 [8, 512] x [512, 64]", or the kernel's name and the sizes of its outputs
  std::string kernel;  ///< the name without sizes: equal kernels at several sizes share it
  std::string kind;    ///< "kernel", "interpret", "library", "exchange" (between ranks)
  std::string from;    ///< the program's lines that it computes, or nodes of a model; empty where they are not known
  bool library = false;
  std::uint64_t runs = 0;
  double seconds = 0;                          ///< of all runs
  double fastest = 0;                          ///< of the fastest run, in seconds: about the time of a run while nothing else runs
  double bytes = 0;                            ///< of all runs: a kernel's bytes moved by explain(), a library call's operands and result
  double operations = 0;                       ///< of all runs: an addition counts 1, a function its cost in additions; 0 if it is not known
  double of_bandwidth = 0, of_arithmetic = 0;  ///< the fastest run's part of the measured limits: 0.5 is half; 0 if it is not known
};

/// A value that is held, was computed by an earlier evaluation that did not store it, and was computed once more.
struct ComputedAgain {
  std::string value;        ///< "exp float32 (1000, 1000), recorded at program.cpp:12"
  std::uint64_t times = 0;  ///< how often it was computed
};

/// Times each step of the evaluations and frozen calls of this thread, from construction to destruction. A Profile that is made inside another one takes over
/// until it ends. Each step waits for the device, so the whole is slower than without profiling.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Counts from now on. The time so far, in which plans were made and kernels compiled, is reported separately.
  void restart();

  /// Returns the steps, the longest total time first. The first call measures the limits of the devices that ran: a copy of large arrays, and products of
  /// matrices.
  std::vector<ProfiledStep> steps() const;
  /// Returns the time since construction, or since restart().
  double seconds() const;
  /// Returns the seconds of that time in each kind of work, as the spans of a timeline name them: "plan", "compile", "kernel". The rest is the program's own.
  std::map<std::string, double> kinds() const;
  /// Returns values that eval() would have saved from being computed again.
  std::vector<ComputedAgain> computed_again() const;

  struct Times;

 private:
  friend std::string to_json(const Profile& profile);
  friend std::string to_string(const Profile& profile, int most);
  std::unique_ptr<Times> times_;
};

/// Writes a table of the first `most` kernels with their shares of the time, then the time of further steps, and of all other work (recording, planning,
/// compiling, the program itself).
std::string to_string(const Profile& profile, int most = 25);
/// Writes all of it as JSON (docs/measuring.md).
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
