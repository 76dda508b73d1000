// Decisions: conditions of a formula whose values are known only when its plan runs. Such a formula is recorded once for each path of answers.
#pragma once
#include <vector>

#include "sinter/freeze.hpp"
#include "trace/record.hpp"
#include "trace/site.hpp"

namespace sinter::freezing {

using trace::RecordedPtr;
using trace::Site;

/// While an object of this class exists, decisions on this thread take their answers from a path, in order.
class Decisions {
 public:
  explicit Decisions(const std::vector<bool>& path) : path_(path), before_(now) { now = this; }
  ~Decisions() { now = before_; }
  Decisions(const Decisions&) = delete;
  /// Returns the object that exists on this thread; null if there is none.
  static Decisions* current() { return now; }

  /// Returns the answer to a condition, a bool of shape () that is computed from the node `of` for the call at `site`. Asked again about the same node, gives the same answer. Throws
  /// Undecided if the path is at its end.
  bool answer(const RecordedPtr& of, const RecordedPtr& condition, const Site& site) {
    for (std::size_t k = 0; k < asked_.size(); ++k)
      if (asked_[k] == of) return path_[k];
    asked_.push_back(of);
    last_ = site;
    conditions_.push_back(condition);
    if (asked_.size() > path_.size()) throw Undecided{};
    return path_[asked_.size() - 1];
  }
  /// Returns the conditions of the decisions so far, the last of which may lack an answer.
  const std::vector<RecordedPtr>& conditions() const { return conditions_; }
  /// Returns the call that asked last.
  const Site& last() const { return last_; }

 private:
  static inline thread_local constinit Decisions* now = nullptr;
  const std::vector<bool>& path_;
  Decisions* const before_;
  std::vector<RecordedPtr> asked_, conditions_;
  Site last_;
};

}  // namespace sinter::freezing
