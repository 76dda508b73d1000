// A formula with decisions, as a tree of frozen functions: each computes a stage of the formula, and its condition chooses the next. Without decisions the tree
// is one function. Where a formula makes other decisions for some sizes of its inputs, these have stages of their own.
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

struct Stage;
/// The stages after the same turns, for sizes with different decisions.
using Stages = std::vector<std::unique_ptr<Stage>>;

struct Stage {
  StagePath path;
  std::vector<Site> asked;  // the decision of each turn of the path
  std::unique_ptr<FrozenFunction> function;
  std::array<Stages, 4> next;          // by the kind of turn
  std::array<std::string, 4> missing;  // why the file of a loaded function has no next stage
};

using NamedSizes = std::map<std::string, std::int64_t>;

/// Returns the spec of the input that counts the rounds of a loop: it has an element for each round.
InputSpec counter_spec(std::size_t loop);
/// Returns the stage after a turn, without its function.
std::unique_ptr<Stage> stage_after(const Stage& stage, Turn::Kind turn);

class StagedFunction {
 public:
  /// Implements freeze().
  StagedFunction(Function::Formula formula, std::vector<InputSpec> specs, std::vector<std::string> names, Location where);
  /// The contents of a plan file.
  struct Loaded {
    Stages first;
    std::vector<std::string> names;
    std::string note;
  };
  explicit StagedFunction(Loaded loaded)
      : names_(std::move(loaded.names)), note_(std::move(loaded.note)), first_(std::move(loaded.first)), usual_(first_.front().get()) {}

  std::vector<Tensor> call(const std::vector<Tensor>& inputs, Location where);
  void prepare(const std::map<std::string, std::int64_t>& sizes, Location where);
  int plans() const;
  std::vector<FrozenFigures> figures() const;
  std::vector<std::string> serves() const;
  bool has_plan_for(const std::map<std::string, std::int64_t>& sizes) const;
  std::vector<std::string> missing() const;
  std::vector<std::string> limits() const;
  std::string explain(const ExplainOptions& options) const;

  const std::vector<InputSpec>& inputs() const { return usual_->function->inputs(); }
  const std::vector<std::string>& outputs() const { return names_; }
  const std::string& note() const { return note_; }
  const Frozen& at() const { return usual_->function->at(); }
  /// Returns the first stages, for a file. Makes the stages after all turns of every decision, as long as there are fewer than kMaxStages; where one is not
  /// made, the reason is stored. Throws it if no path leads to results.
  const Stages& complete(Location where);

 private:
  static constexpr std::size_t kMaxStages = 32;
  struct Run;

  Stages& stages_at(Stage* before, Turn::Kind turn) { return before ? before->next[static_cast<std::size_t>(turn)] : first_; }
  Stage& make(Stage* before, Turn::Kind turn, const std::vector<InputSpec>& specs, Location where);
  template <class Work> Stage& try_stages(Stage* before, Turn::Kind turn, const std::vector<InputSpec>& specs, const Work& work, Location where);
  std::vector<InputSpec> specs_after(const Stage* before, Turn::Kind turn) const;
  void prepare_stages(Stage* before, Turn::Kind turn, const NamedSizes& sizes, Location where);
  std::vector<Tensor> run(Stage* before, Turn::Kind turn, Run& run, Location where);
  void run_loop(Stage& stage, std::vector<Tensor> state, Run& run, Location where);
  std::vector<const Stage*> stages() const;
  std::vector<const Stage*> called() const;
  struct Served {
    const Stage* stage;
    std::size_t plan;  // its number among those of the stage
    std::string text;
  };
  std::vector<Served> served() const;
  void check_count(const Stage& last, Location where);

  Function::Formula formula_;  // empty if the function was loaded
  std::vector<std::string> names_;
  std::size_t results_ = 0;  // the number of results; 0 before a last stage was made
  std::string note_;
  Stages first_;
  Stage* usual_ = nullptr;    // the first of first_, which stays the same
  mutable std::mutex mutex_;  // guards the tree, and what follows
  std::vector<NamedSizes> prepared_;
  std::vector<const Stage*> called_;  // the stages of the last call, without those within rounds
};

}  // namespace sinter::freezing
