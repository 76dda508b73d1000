#include "freeze/staged_function.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "trace/site.hpp"

namespace sinter::freezing {
namespace {

using trace::fail;

/// Returns the beginning of texts about a stage: "if decide at main.cpp:3 is 4 times true and false: ". It is empty for a formula without decisions.
std::string prefix(const Stage& stage) {
  std::string text;
  const trace::Site* before = nullptr;
  for (std::size_t k = 0, times = 1; k < stage.asked.size(); k += times, times = 1) {
    const auto alike = [&](std::size_t other) {
      return stage.asked[other].where == stage.asked[k].where && stage.path.answers[other] == stage.path.answers[k];
    };
    while (k + times < stage.asked.size() && alike(k + times)) ++times;
    const trace::Site& site = stage.asked[k];
    const std::string asked = before && before->where == site.where ? "" : fmt::format("{} at {} is ", site.op, trace::to_string(site.where));
    text += fmt::format("{}{}{}{}", k == 0 ? "if " : " and ", asked, times > 1 ? fmt::format("{} times ", times) : "", static_cast<bool>(stage.path.answers[k]));
    before = &site;
  }
  return text.empty() ? text : text + ": ";
}

}  // namespace

std::unique_ptr<Stage> stage_after(const Stage& stage, bool answer) {
  auto after = std::make_unique<Stage>();
  after->asked = stage.asked;
  after->asked.push_back(stage.path.decision);
  after->path.answers = stage.path.answers;
  after->path.answers.push_back(answer);
  after->path.kept = stage.path.kept;
  return after;
}

StagedFunction::StagedFunction(Function::Formula formula, std::vector<InputSpec> specs, std::vector<std::string> names, Location where)
    : formula_(std::move(formula)), names_(std::move(names)) {
  if (!formula_) fail<ValueError>({"freeze", where}, "the formula is empty");
  first_ = std::make_unique<Stage>();
  const auto record = [this, path = &first_->path](std::vector<Tensor>& inputs) { return record_stage(formula_, *path, inputs); };
  first_->function = std::make_unique<FrozenFunction>(record, std::move(specs), where);
  if (!first_->decides()) check_count(*first_, where);
}

/// Every last stage gives the same number of results.
void StagedFunction::check_count(const Stage& last, Location where) {
  const std::size_t results = last.function->results();
  if (results_ != 0 && results != results_)
    fail<ValueError>({"freeze", where}, fmt::format("{}the formula gives {}; on another path it gives {}", prefix(last), counted(results, "tensor"), results_));
  if (names_.size() > results)
    fail<ValueError>({"freeze", where}, fmt::format("{} named, but the formula gives {}", counted(names_.size(), "output is", "outputs are"), results));
  while (names_.size() < results) names_.push_back(fmt::format("y{}", names_.size()));
  results_ = results;
}

/// Returns the stage after an answer. Makes it if the formula is there.
Stage& StagedFunction::next(Stage& stage, bool answer, Location where) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Stage>& after = stage.next[answer];
  if (after) return *after;
  std::unique_ptr<Stage> made = stage_after(stage, answer);
  if (!formula_) fail<ValueError>({"Function", where}, fmt::format("the file has no plan {}{}", prefix(*made), stage.missing[answer]));
  const auto record = [this, path = &made->path](std::vector<Tensor>& inputs) { return record_stage(formula_, *path, inputs); };
  made->function = std::make_unique<FrozenFunction>(record, inputs(), where);
  if (!made->decides()) check_count(*made, where);
  for (const auto& sizes : prepared_) made->function->prepare(sizes, where);
  after = std::move(made);
  return *after;
}

std::vector<Tensor> StagedFunction::call(const std::vector<Tensor>& inputs, Location where) {
  std::vector<Tensor> results = first_->function->call(inputs, where);
  if (!first_->decides()) return results;
  std::vector<Tensor> given = inputs;
  Stage* stage = first_.get();
  for (; stage->decides(); results = stage->function->call(given, where)) {
    const bool answer = results.front().item<bool>(where);
    given.insert(given.end(), std::make_move_iterator(results.begin() + 1), std::make_move_iterator(results.end()));
    stage = &next(*stage, answer, where);
  }
  const std::lock_guard lock(mutex_);
  called_ = stage->path.answers;
  return results;
}

void StagedFunction::prepare(const std::map<std::string, std::int64_t>& sizes, Location where) {
  first_->function->prepare(sizes, where);
  for (const Stage* stage : stages())
    if (stage != first_.get()) stage->function->prepare(sizes, where);
  const std::lock_guard lock(mutex_);
  prepared_.push_back(sizes);
}

const Stage& StagedFunction::complete(Location where) {
  if (!formula_) fail<ValueError>({"Function::save", where}, "the function was loaded; copy its file instead");
  std::vector<Stage*> list{first_.get()};
  for (std::size_t k = 0; k < list.size(); ++k)
    for (const bool answer : {true, false}) {
      if (!list[k]->decides()) continue;
      if (list.size() == kMaxStages) {
        list[k]->missing[answer] = fmt::format("a file has at most {}, and the formula has more paths", counted(kMaxStages, "stage"));
        continue;
      }
      try {
        list.push_back(&next(*list[k], answer, where));
      } catch (const InternalError&) {
        throw;
      } catch (const Error& error) {  // this branch cannot be planned
        list[k]->missing[answer] = error.what();
      }
    }
  return *first_;
}

/// Returns all stages, each before those that follow it.
std::vector<const Stage*> StagedFunction::stages() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Stage*> list{first_.get()};
  for (std::size_t k = 0; k < list.size(); ++k)
    for (const bool answer : {true, false})
      if (const Stage* after = list[k]->next[answer].get()) list.push_back(after);
  return list;
}

/// Returns the stages of the last call; without a call, those of the first path that is known.
std::vector<const Stage*> StagedFunction::called() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Stage*> way{first_.get()};
  while (way.back()->decides()) {
    const std::size_t k = way.size() - 1;
    const auto& next = way.back()->next;
    const Stage* after = next[k < called_.size() ? called_[k] : next[1] != nullptr].get();
    if (!after) break;
    way.push_back(after);
  }
  return way;
}

int StagedFunction::plans() const {
  int plans = 0;
  for (const Stage* stage : stages()) plans += stage->function->plans();
  return plans;
}

std::vector<FrozenFigures> StagedFunction::figures() const {
  std::vector<FrozenFigures> all;
  for (const Stage* stage : called()) {
    std::vector<FrozenFigures> here = stage->function->figures();
    if (all.empty()) {
      all = std::move(here);
      continue;
    }
    std::erase_if(all, [&](FrozenFigures& sum) {  // sizes with which this stage was not called
      const auto same = std::find_if(here.begin(), here.end(), [&](const FrozenFigures& one) { return one.sizes == sum.sizes; });
      if (same == here.end()) return true;
      sum.kernels += same->kernels, sum.library_calls += same->library_calls, sum.operations += same->operations;
      sum.bytes_moved += same->bytes_moved, sum.bytes_unfused += same->bytes_unfused;
      sum.arena_bytes = std::max(sum.arena_bytes, same->arena_bytes);
      sum.least_bytes = std::max(sum.least_bytes, same->least_bytes);
      sum.apart_bytes += same->apart_bytes;
      return false;
    });
  }
  return all;
}

std::vector<std::string> StagedFunction::serves() const {
  constexpr std::size_t kMostPaths = 8;
  std::vector<const Stage*> last = stages();
  std::erase_if(last, [](const Stage* stage) { return stage->decides(); });
  std::vector<std::string> all;
  std::map<std::string, int> paths;
  for (const Stage* stage : last)
    for (const std::string& plan : stage->function->serves()) {
      if (last.size() <= kMostPaths) all.push_back(prefix(*stage) + plan);
      else ++paths[plan];
    }
  for (const auto& [plan, count] : paths) all.push_back(fmt::format("on {} of {} paths: {}", count, last.size(), plan));
  return all;
}

bool StagedFunction::has_plan_for(const std::map<std::string, std::int64_t>& sizes) const {
  const std::vector<const Stage*> all = stages();
  return std::all_of(all.begin(), all.end(), [&](const Stage* stage) { return stage->function->has_plan_for(sizes); });
}

std::vector<std::string> StagedFunction::limits() const {
  std::vector<std::string> all;
  for (const Stage* stage : stages())
    for (const std::string& plan : stage->function->limits()) all.push_back(prefix(*stage) + plan);
  return all;
}

std::string StagedFunction::explain(const ExplainOptions& options) const {
  const std::vector<const Stage*> way = called();
  if (way.size() == 1 && !way[0]->decides()) return way[0]->function->explain(options);
  std::string text;
  std::vector<Explained> plans;
  ExplainOptions how = options;
  for (const Stage* stage : way) {
    if (options.format == Format::text) {
      const std::string when = prefix(*stage);
      text += fmt::format("{}{}{}{}", text.empty() ? "" : "\n", when, when.empty() ? "" : "\n", stage->function->explain(options));
      continue;
    }
    how.sizes = options.sizes;
    if (auto plan = stage->function->explained(how.sizes)) plans.push_back(std::move(*plan));
  }
  return options.format == Format::text ? text : explanation(plans, how);
}

}  // namespace sinter::freezing
