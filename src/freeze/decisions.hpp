// Decisions: conditions, and numbers of rounds, that are known only when a formula's plan runs. Such a formula is recorded once for each path through it.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sinter/errors.hpp"
#include "sinter/freeze.hpp"
#include "trace/record.hpp"
#include "trace/site.hpp"

namespace sinter::freezing {

using trace::RecordedPtr;
using trace::Site;

/// The way that a recording takes at a decision: no and yes at a condition; into a round of a loop, or behind the loop.
struct Turn {
  enum class Kind : std::uint8_t { no, yes, round, after };
  Kind kind{};
  std::optional<std::vector<Turn>> through = {};  // at a loop: turns that lead through a round to its end, once they are known; see Decisions
  friend bool operator==(const Turn&, const Turn&) = default;
};

/// Thrown for sizes with which a formula makes other decisions than with those of its first recording.
struct OtherDecisions : ValueError {
  using ValueError::ValueError;
};

/// Where a recording ends.
enum class End : std::uint8_t { results, condition, loop, round };

/// Runs a loop outside of a formula that is being frozen.
LoopResults run_loop(const Loop& loop, const Site& site);

/// While an object of this class exists, decisions on this thread take their turns from a path, in order.
class Decisions {
 public:
  /// `rounds`: the number of rounds of each loop behind which the path goes and that collects values, in order. `through`: for a loop at the end of the path,
  /// turns that lead through a round to its end. A round is recorded along such turns to find what it collects, and what it reads that no round changes.
  Decisions(const std::vector<Turn>& path, const std::vector<std::int64_t>& rounds, const std::vector<Turn>* through = nullptr)
      : path_(path), rounds_(rounds), through_(through), before_(now) {
    now = this;
  }
  ~Decisions() { now = before_; }
  Decisions(const Decisions&) = delete;
  /// Returns the object that exists on this thread; null if there is none.
  static Decisions* current() { return now; }

  /// Returns the answer to a condition, a bool of shape () that is computed from the node `of` for the call at `site`. Asked again about the same node, gives
  /// the same answer. Throws Undecided if the path is at its end.
  bool answer(const RecordedPtr& of, const RecordedPtr& condition, const Site& site);
  /// Implements sinter::loop(). Throws Undecided if the path is at its end, and at the end of a round.
  LoopResults loop(const Loop& loop, const Site& site);

  /// Returns for each decision so far the values that a stage which ends there computes: the condition, or whether there is a first round, the first state, and
  /// the values that rounds read and do not change.
  const std::vector<std::vector<RecordedPtr>>& decided() const { return decided_; }
  /// Returns the inputs that the turns have added: the number of the round and its state, or the last state and the collected values.
  const std::vector<Tensor>& introduced() const { return introduced_; }
  End end() const { return end_; }
  /// Returns the results of a round.
  const std::vector<Tensor>& round_results() const { return round_results_; }
  /// Returns the call that asked last.
  const Site& last() const { return last_; }
  /// Returns the number of tensors in the state of the loop at which, or in a round of which, the recording ends.
  std::size_t state() const { return state_; }

 private:
  [[noreturn]] void finish(End end, std::size_t state = 0);
  const Turn* turn(std::vector<RecordedPtr> values, const Site& site);
  Tensor introduce(const Shape& shape, DType dtype, const char* name);

  static inline thread_local constinit Decisions* now = nullptr;
  const std::vector<Turn>& path_;
  const std::vector<std::int64_t>& rounds_;
  const std::vector<Turn>* through_;
  Decisions* const before_;
  std::vector<std::pair<RecordedPtr, bool>> answered_;
  std::vector<std::vector<RecordedPtr>> decided_;
  std::vector<Tensor> introduced_, round_results_;
  End end_ = End::results;
  bool ended_ = false;
  Site last_;
  std::size_t state_ = 0, collecting_ = 0;
};

}  // namespace sinter::freezing
