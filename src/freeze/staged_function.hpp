// A formula with decisions, as a tree of frozen functions: each computes a stage of the formula, and its condition chooses the next. Without decisions the tree
// is one function.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "freeze/frozen_function.hpp"
#include "freeze/staged_recording.hpp"

namespace sinter::freezing {

struct Stage {
  StagePath path;
  std::vector<trace::Site> asked;  // where each answer of the path was asked for
  std::unique_ptr<FrozenFunction> function;
  std::array<std::unique_ptr<Stage>, 2> next;  // by answer
  std::array<std::string, 2> missing;          // by answer: why the file of a loaded function has no next stage

  bool decides() const { return path.decides; }
};

/// Returns the stage after an answer, without its function.
std::unique_ptr<Stage> stage_after(const Stage& stage, bool answer);

class StagedFunction {
 public:
  /// Implements freeze().
  StagedFunction(Function::Formula formula, std::vector<InputSpec> specs, std::vector<std::string> names, Location where);
  /// The contents of a plan file.
  struct Loaded {
    std::unique_ptr<Stage> first;
    std::vector<std::string> names;
    std::string note;
  };
  explicit StagedFunction(Loaded loaded) : names_(std::move(loaded.names)), note_(std::move(loaded.note)), first_(std::move(loaded.first)) {}

  std::vector<Tensor> call(const std::vector<Tensor>& inputs, Location where);
  void prepare(const std::map<std::string, std::int64_t>& sizes, Location where);
  int plans() const;
  std::vector<FrozenFigures> figures() const;
  std::vector<std::string> serves() const;
  bool has_plan_for(const std::map<std::string, std::int64_t>& sizes) const;
  std::vector<std::string> limits() const;
  std::string explain(const ExplainOptions& options) const;

  const std::vector<InputSpec>& inputs() const { return first_->function->inputs(); }
  const std::vector<std::string>& outputs() const { return names_; }
  const std::string& note() const { return note_; }
  const Frozen& at() const { return first_->function->at(); }
  /// Returns the first stage, for a file. Makes the stages after both answers of every decision, up to kMaxStages in all; where one cannot be made, the reason is
  /// stored.
  const Stage& complete(Location where);

 private:
  static constexpr std::size_t kMaxStages = 64;

  Stage& next(Stage& stage, bool answer, Location where);
  std::vector<const Stage*> stages() const;
  std::vector<const Stage*> called() const;
  void check_count(const Stage& last, Location where);

  Function::Formula formula_;  // empty if the function was loaded
  std::vector<std::string> names_;
  std::size_t results_ = 0;  // the number of results; 0 before a last stage was made
  std::string note_;
  std::unique_ptr<Stage> first_;
  mutable std::mutex mutex_;  // guards the tree, and what follows
  std::vector<std::map<std::string, std::int64_t>> prepared_;
  std::vector<bool> called_;  // the answers of the last call
};

}  // namespace sinter::freezing
