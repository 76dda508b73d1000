#include "freeze/staged_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"

namespace sinter::freezing {
namespace {

using trace::fail;

std::size_t number(Turn::Kind kind) { return static_cast<std::size_t>(kind); }

/// Returns the kinds of turns at the end of a stage.
std::vector<Turn::Kind> turns_at(const Stage& stage) {
  if (stage.path.end == End::condition) return {Turn::Kind::yes, Turn::Kind::no};
  if (stage.path.end == End::loop) return {Turn::Kind::round, Turn::Kind::after};
  return {};
}

/// Returns the beginning of texts about a stage, "if decide at main.cpp:3 is 4 times true and false: ". It is empty for a formula without decisions.
std::string prefix(const Stage& stage) {
  constexpr std::string_view kTexts[] = {"is false", "is true", "runs a round", "has ended"};
  const std::vector<Turn>& turns = stage.path.turns;
  std::string text, before;
  for (std::size_t k = 0, times = 1; k < turns.size(); k += times, times = 1) {
    const auto asked = [&](std::size_t at) { return fmt::format("{} at {}", stage.asked[at].op, trace::to_string(stage.asked[at].where)); };
    const std::string here = asked(k);
    while (k + times < turns.size() && asked(k + times) == here && turns[k + times].kind == turns[k].kind) ++times;
    text += fmt::format("{}{}{}{}", k == 0 ? "if " : " and ", here == before ? "" : here + " ", kTexts[number(turns[k].kind)],
                        times > 1 ? fmt::format(" {} times", times) : "");
    before = here;
  }
  return text.empty() ? text : text + ": ";
}

}  // namespace

namespace {

constexpr std::int64_t kUsualRounds = 5;
constexpr std::string_view kRoundsOfLoop = "rounds of loop ";

}  // namespace

InputSpec counter_spec(std::size_t loop) {
  const std::string name = fmt::format("{}{}", kRoundsOfLoop, loop + 1);
  return {DType::bool_, {AxisSize(name, kUsualRounds)}, name};
}

std::unique_ptr<Stage> stage_after(const Stage& stage, Turn::Kind turn) {
  auto after = std::make_unique<Stage>();
  after->asked = stage.asked;
  after->asked.push_back(stage.path.decision);
  after->path.turns = stage.path.turns;
  after->path.turns.push_back({turn});
  after->path.kept = stage.path.kept;
  after->path.counters = stage.path.counters;
  return after;
}

StagedFunction::StagedFunction(Function::Formula formula, std::vector<InputSpec> specs, std::vector<std::string> names, Location where)
    : formula_(std::move(formula)), names_(std::move(names)) {
  if (!formula_) fail<ValueError>({"freeze", where}, "the formula is empty");
  usual_ = &make(nullptr, Turn::Kind::no, specs, where);
}

/// All paths give the same number of results.
void StagedFunction::check_count(const Stage& last, Location where) {
  const std::size_t results = last.function->results();
  if (results_ != 0 && results != results_)
    fail<ValueError>({"freeze", where}, fmt::format("{}the formula gives {}; on another path it gives {}", prefix(last), counted(results, "tensor"), results_));
  if (names_.size() > results)
    fail<ValueError>({"freeze", where}, fmt::format("{} named, but the formula gives {}", counted(names_.size(), "output is", "outputs are"), results));
  while (names_.size() < results) names_.push_back(fmt::format("y{}", names_.size()));
  results_ = results;
}

/// Returns the specs of the inputs of the stages after a turn, without the values that earlier stages hand on.
std::vector<InputSpec> StagedFunction::specs_after(const Stage* before, Turn::Kind turn) const {
  std::vector<InputSpec> specs = inputs();
  if (!before) return specs;
  const std::size_t counters = before->path.counters + (turn == Turn::Kind::after && before->path.round.collected > 0);
  for (std::size_t loop = 0; loop < counters; ++loop) specs.push_back(counter_spec(loop));
  return specs;
}

/// Makes another stage after a turn, planned first for the sizes in the specs.
Stage& StagedFunction::make(Stage* before, Turn::Kind turn, const std::vector<InputSpec>& specs, Location where) {
  auto made = before ? stage_after(*before, turn) : std::make_unique<Stage>();
  if (before && before->path.end == End::loop) {
    made->path.turns.back().through = before->path.round.turns;
    if (turn == Turn::Kind::after) made->path.counters += before->path.round.collected > 0;
  }
  const auto record = [this, path = &made->path](std::vector<Tensor>& inputs) { return record_stage(formula_, *path, inputs); };
  made->function = std::make_unique<FrozenFunction>(record, specs, where);
  if (made->path.end == End::results) check_count(*made, where);
  return *stages_at(before, turn).emplace_back(std::move(made));
}

/// Returns the stage after a turn with which the work, a function of a FrozenFunction, succeeds. If the formula makes other decisions for the sizes of the work
/// in all known stages, makes another one for the sizes in the specs.
template <class Work> Stage& StagedFunction::try_stages(Stage* before, Turn::Kind turn, const std::vector<InputSpec>& specs, const Work& work, Location where) {
  std::string why;
  std::size_t tried = 0;
  const auto try_known = [&]() -> Stage* {
    for (;; ++tried) {
      Stage* stage;
      {
        const std::lock_guard lock(mutex_);
        const Stages& known = stages_at(before, turn);
        if (tried == known.size()) return nullptr;
        stage = known[tried].get();
      }
      try {
        work(*stage->function);
        return stage;
      } catch (const OtherDecisions&) {
      } catch (const ShapeError& error) {  // a file has no plan for these sizes in this stage
        if (formula_) throw;
        if (why.empty()) why = error.what();
      }
    }
  };
  if (Stage* const stage = try_known()) return *stage;
  if (!formula_) {
    if (!why.empty()) throw ShapeError(why);
    fail<ValueError>({"Function", where}, fmt::format("the file has no plan {}{}", prefix(*stage_after(*before, turn)), before->missing[number(turn)]));
  }
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (tried == stages_at(before, turn).size()) make(before, turn, specs, where);
    }
    if (Stage* const stage = try_known()) return *stage;
  }
}

/// The values that a call has computed between its stages.
struct StagedFunction::Run {
  const std::vector<Tensor>& inputs;
  std::vector<Tensor> counters = {}, introduced = {}, kept = {};
  std::vector<const Stage*> stages = {};

  std::vector<Tensor> given() const {
    std::vector<Tensor> all = inputs;
    for (const auto* list : {&counters, &introduced, &kept}) all.insert(all.end(), list->begin(), list->end());
    return all;
  }
};

namespace {

/// Returns the values of all rounds in one tensor; an empty handle if there was no round.
Tensor stacked(const std::vector<Tensor>& rounds, Location where) {
  if (rounds.empty()) return {};
  Shape shape = rounds.front().shape();
  shape.insert(shape.begin(), std::ssize(rounds));
  const DType dtype = rounds.front().dtype();
  std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(shape)) * itemsize(dtype));
  std::byte* to = bytes.data();
  for (const Tensor& round : rounds) {
    const std::size_t count = static_cast<std::size_t>(round.nbytes());
    std::memcpy(to, detail::host_address(round, dtype, "loop", where), count);
    to += count;
  }
  return from_bytes(bytes.data(), dtype, static_cast<std::size_t>(element_count(shape)), shape, where);
}

}  // namespace

/// Runs the rounds of a loop from its first state, and then adds the last state and the collected values to the inputs of the stages behind it.
void StagedFunction::run_loop(Stage& stage, std::vector<Tensor> state, Run& run, Location where) {
  const std::size_t size = stage.path.state;
  std::vector<std::vector<Tensor>> collected(stage.path.round.collected);
  std::int64_t rounds = 0;
  bool go = state.front().item<bool>(where);
  state.erase(state.begin());
  for (; go; ++rounds) {
    Run within = run;
    within.introduced.push_back(from_bytes(&rounds, DType::int64, 1, Shape{}, where));
    within.introduced.insert(within.introduced.end(), state.begin(), state.end());
    std::vector<Tensor> made = this->run(&stage, Turn::Kind::round, within, where);
    if (made.size() != 1 + size + collected.size())
      fail<ShapeError>(stage.path.decision, fmt::format("one round collects {}, another {}", counted(collected.size(), "value"), made.size() - 1 - size));
    go = made.front().item<bool>(where);
    for (std::size_t k = 0; k < collected.size(); ++k) collected[k].push_back(std::move(made[1 + size + k]));
    std::move(made.begin() + 1, made.begin() + 1 + static_cast<std::ptrdiff_t>(size), state.begin());
  }
  run.introduced.insert(run.introduced.end(), state.begin(), state.end());
  if (collected.empty()) return;
  const std::vector<std::byte> counter(static_cast<std::size_t>(rounds));  // only its length counts
  run.counters.push_back(from_bytes(counter.data(), DType::bool_, counter.size(), {rounds}, where));
  for (const auto& list : collected) run.introduced.push_back(stacked(list, where));
}

/// Runs the stages after a turn up to the end of the formula or of the round, and returns its results.
std::vector<Tensor> StagedFunction::run(Stage* before, Turn::Kind turn, Run& run, Location where) {
  for (;;) {
    const std::vector<Tensor> given = run.given();
    std::vector<InputSpec> specs = specs_after(before, turn);
    for (std::size_t k = 0; k < specs.size() && k < given.size(); ++k)
      for (std::size_t axis = 0; axis < specs[k].shape.size() && axis < given[k].shape().size(); ++axis) specs[k].shape[axis].size = given[k].shape()[axis];
    std::vector<Tensor> results;
    Stage& stage = try_stages(before, turn, specs, [&](FrozenFunction& function) { results = function.call(given, where); }, where);
    run.stages.push_back(&stage);
    if (!stage.path.decides()) return results;
    const auto kept = results.begin() + 1 + static_cast<std::ptrdiff_t>(stage.path.state);
    run.kept.insert(run.kept.end(), std::make_move_iterator(kept), std::make_move_iterator(results.end()));
    results.erase(kept, results.end());
    turn = Turn::Kind::after;
    if (stage.path.end == End::condition) turn = results.front().item<bool>(where) ? Turn::Kind::yes : Turn::Kind::no;
    else run_loop(stage, std::move(results), run, where);
    before = &stage;
  }
}

std::vector<Tensor> StagedFunction::call(const std::vector<Tensor>& inputs, Location where) {
  if (!usual_->path.decides() && (formula_ || first_.size() == 1)) {
    try {
      return usual_->function->call(inputs, where);
    } catch (const OtherDecisions&) {  // the formula decides for these sizes
    }
  }
  Run run{inputs};
  std::vector<Tensor> results = this->run(nullptr, Turn::Kind::no, run, where);
  const std::lock_guard lock(mutex_);
  called_ = std::move(run.stages);
  return results;
}

namespace {

/// Returns the sizes without the rounds of loops that a function with these inputs does not follow.
NamedSizes known_sizes(NamedSizes sizes, const std::vector<InputSpec>& specs) {
  std::erase_if(sizes, [&](const auto& size) {
    return size.first.starts_with(kRoundsOfLoop) && std::none_of(specs.begin(), specs.end(), [&](const InputSpec& spec) { return spec.name == size.first; });
  });
  return sizes;
}

/// Returns the sizes with each set of numbers of rounds that need plans of their own: several, none, one, and the number among the sizes, if there is one; for
/// more than three loops, one of them at a time.
std::vector<NamedSizes> with_rounds(const NamedSizes& sizes, std::size_t counters) {
  std::vector<NamedSizes> all{sizes};
  for (std::size_t loop = 0; loop < counters; ++loop) all[0].insert_or_assign(counter_spec(loop).name, kUsualRounds);
  for (std::size_t loop = 0; loop < counters; ++loop) {
    const std::string name = counter_spec(loop).name;
    std::set<std::int64_t> numbers{0, 1};
    if (const auto given = sizes.find(name); given != sizes.end()) numbers.insert(given->second);
    numbers.erase(kUsualRounds);
    const std::size_t others = counters <= 3 ? all.size() : 1;
    for (std::size_t k = 0; k < others; ++k)
      for (const std::int64_t rounds : numbers) {
        all.push_back(all[k]);
        all.back()[name] = rounds;
      }
  }
  return all;
}

}  // namespace

/// Plans the stages after a turn for these sizes.
void StagedFunction::prepare_stages(Stage* before, Turn::Kind turn, const NamedSizes& sizes, Location where) {
  const std::vector<InputSpec> specs = specs_after(before, turn);
  for (const NamedSizes& all : with_rounds(known_sizes(sizes, specs), specs.size() - inputs().size())) {
    std::vector<InputSpec> at = specs;
    for (InputSpec& spec : at)
      for (AxisSize& axis : spec.shape)
        if (const auto found = all.find(axis.name); found != all.end()) axis.size = found->second;
    try {
      try_stages(before, turn, at, [&](FrozenFunction& function) { function.prepare(all, where); }, where);
    } catch (const OtherDecisions&) {  // for these sizes the formula does not come here
    }
  }
}

void StagedFunction::prepare(const NamedSizes& sizes, Location where) {
  prepare_stages(nullptr, Turn::Kind::no, sizes, where);
  {
    const std::lock_guard lock(mutex_);
    prepared_.push_back(sizes);
  }
  if (formula_ && usual_->path.decides()) complete(where);
}

const Stages& StagedFunction::complete(Location where) {
  if (!formula_) fail<ValueError>({"Function::save", where}, "the function was loaded; copy its file instead");
  NamedSizes usual;
  for (const InputSpec& spec : inputs())
    for (const AxisSize& axis : spec.shape)
      if (!axis.name.empty()) usual.emplace(axis.name, axis.size);
  std::vector<NamedSizes> sizes{usual};
  {
    const std::lock_guard lock(mutex_);
    for (NamedSizes one : prepared_) {
      one.insert(usual.begin(), usual.end());  // names that were left out
      sizes.push_back(std::move(one));
    }
  }
  std::size_t count = stages().size();
  bool ends = false;
  std::string first_missing;
  std::vector<Stage*> list;
  for (const auto& stage : first_) list.push_back(stage.get());
  for (std::size_t k = 0; k < list.size(); ++k) {
    ends |= list[k]->path.end == End::results;
    for (const Turn::Kind turn : turns_at(*list[k])) {
      const Stages& after = list[k]->next[number(turn)];
      std::string& missing = list[k]->missing[number(turn)];
      const std::size_t before = after.size();
      missing = fmt::format("save() adds stages up to {}, and the formula has more; call the function on such a path before it is saved", kMaxStages);
      for (const NamedSizes& one : sizes) {
        if (after.empty() && count >= kMaxStages) break;
        try {
          prepare_stages(list[k], turn, one, where);
        } catch (const InternalError&) {
          throw;
        } catch (const Interrupted&) {
          throw;
        } catch (const std::exception& error) {        // this path cannot be planned for these sizes
          const std::string_view text = error.what();  // of a Python function, a traceback and the error
          missing = text.substr(text.rfind('\n') + 1);
        }
      }
      count += after.size() - before;
      if (after.empty() && first_missing.empty()) first_missing = missing;
      for (const auto& stage : after) list.push_back(stage.get());
    }
  }
  if (!ends) fail<ShapeError>({"Function::save", where}, fmt::format("no path through the formula can be planned: {}", first_missing));
  return first_;
}

/// Returns all stages, each before those that follow it.
std::vector<const Stage*> StagedFunction::stages() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Stage*> list;
  for (const auto& stage : first_) list.push_back(stage.get());
  for (std::size_t k = 0; k < list.size(); ++k)
    for (const Stages& after : list[k]->next)
      for (const auto& stage : after) list.push_back(stage.get());
  return list;
}

/// Returns the stages of the last call, without a call those of the first known path, and those of the first known path through a round of each loop.
std::vector<const Stage*> StagedFunction::called() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Stage*> way;
  const auto first_of = [](const Stages& stages) { return stages.empty() ? nullptr : stages.front().get(); };
  const auto next_of = [&](const Stage& stage) -> const Stage* {
    for (const Turn::Kind kind : turns_at(stage))
      if (const Stage* const next = kind == Turn::Kind::round ? nullptr : first_of(stage.next[number(kind)])) return next;
    return nullptr;
  };
  const auto add = [&](const auto& self, const Stage* stage) -> void {
    way.push_back(stage);
    if (stage->path.end != End::loop) return;
    for (const Stage* within = first_of(stage->next[number(Turn::Kind::round)]); within; within = next_of(*within)) self(self, within);
  };
  if (!called_.empty())
    for (const Stage* stage : called_) add(add, stage);
  else
    for (const Stage* stage = usual_; stage; stage = next_of(*stage)) add(add, stage);
  return way;
}

namespace {

bool is_counter(const Stage& stage, const std::string& axis) {
  for (std::size_t loop = 0; loop < stage.path.counters; ++loop)
    if (counter_spec(loop).name == axis) return true;
  return false;
}

}  // namespace

int StagedFunction::plans() const {
  int plans = 0;
  for (const Stage* stage : stages()) plans += stage->function->plans();
  return plans;
}

std::vector<FrozenFigures> StagedFunction::figures() const {
  std::vector<FrozenFigures> all;
  for (const Stage* stage : called()) {
    std::vector<FrozenFigures> here = stage->function->figures();
    for (FrozenFigures& one : here) std::erase_if(one.sizes, [&](const auto& size) { return is_counter(*stage, size.first); });
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

/// Returns the stages that give results, with the text of serves() for each of their plans; of many paths only one with each text.
std::vector<StagedFunction::Served> StagedFunction::served() const {
  constexpr std::size_t kMostPaths = 8;
  std::vector<const Stage*> last = stages();
  std::erase_if(last, [](const Stage* stage) { return stage->path.end != End::results; });
  std::vector<Served> all;
  std::map<std::string, int> paths;
  for (const Stage* stage : last) {
    const std::vector<std::string>& plans = stage->function->serves();
    for (std::size_t plan = 0; plan < plans.size(); ++plan)
      if (++paths[plans[plan]] == 1 || last.size() <= kMostPaths) all.push_back({stage, plan, plans[plan]});
  }
  for (auto& [stage, plan, text] : all)
    text = last.size() <= kMostPaths ? prefix(*stage) + text : fmt::format("on {} of {} paths: {}", paths[text], last.size(), text);
  return all;
}

std::vector<std::string> StagedFunction::serves() const {
  std::vector<std::string> all;
  for (Served& one : served()) all.push_back(std::move(one.text));
  return all;
}

std::vector<std::string> StagedFunction::missing() const {
  std::vector<std::string> all;
  if (formula_) return all;
  for (const Stage* stage : stages())
    for (const Turn::Kind turn : turns_at(*stage))
      if (stage->next[number(turn)].empty()) all.push_back(prefix(*stage_after(*stage, turn)) + stage->missing[number(turn)]);
  return all;
}

std::vector<std::string> StagedFunction::limits() const {
  std::vector<std::string> all;
  for (const Served& one : served()) all.push_back(one.stage->function->limits()[one.plan]);
  return all;
}

bool StagedFunction::has_plan_for(const NamedSizes& sizes) const {
  const std::lock_guard lock(mutex_);
  const auto served = [](const auto& self, const Stages& stages, const NamedSizes& at) -> bool {
    const auto serves = [&](const std::unique_ptr<Stage>& stage) {
      if (!stage->function->has_plan_for(known_sizes(at, stage->function->inputs()))) return false;
      return std::all_of(stage->next.begin(), stage->next.end(), [&](const Stages& after) {
        if (after.empty()) return true;
        NamedSizes next = at;
        bool all = self(self, after, next);
        if (after.front()->path.counters > stage->path.counters)
          for (const std::int64_t rounds : {0, 1}) {
            next[counter_spec(stage->path.counters).name] = rounds;
            all = all && self(self, after, next);
          }
        return all;
      });
    };
    return std::any_of(stages.begin(), stages.end(), serves);
  };
  return served(served, first_, sizes);
}

std::string StagedFunction::explain(const ExplainOptions& options) const {
  if (!usual_->path.decides() && stages().size() == 1) return usual_->function->explain(options);
  std::string text;
  std::vector<Explained> plans;
  ExplainOptions how = options;
  for (const Stage* stage : called()) {
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
