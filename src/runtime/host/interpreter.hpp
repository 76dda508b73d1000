// The interpreter runs a loop nest without compiling it, one tile of neighbouring elements at a time. It is the fallback without a compiler, and the oracle
// with which tests compare generated code.
#pragma once
#include <cstdint>
#include <memory>

#include "runtime/executor.hpp"

namespace sinter::runtime {

/// Receives the elements that an interpreted kernel reads and writes, with the stage that does so.
class AccessLog {
 public:
  virtual ~AccessLog() = default;
  /// `element`: of the nest's input or output with this number, counted from the input's or output's pointer.
  virtual void read(int stage, int input, std::int64_t element) = 0;
  virtual void written(int stage, int output, std::int64_t element) = 0;
};

class Interpreter {
 public:
  /// Prepares the nest's structure; sizes and literals are arguments of each run. Throws InternalError for a malformed nest.
  explicit Interpreter(const jit::LoopNest& nest);
  ~Interpreter();
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;

  /// Runs the points of these ranges, which mean the same as in jit::CpuEntry. Thread-safe.
  void run(const Arguments& arguments, std::int64_t outer_begin, std::int64_t outer_end, std::int64_t inner_begin, std::int64_t inner_end,
           AccessLog* log = nullptr) const;

 private:
  struct Program;
  class Frame;
  std::unique_ptr<const Program> program_;
};

}  // namespace sinter::runtime
